"""Text of a reader → the same text without e-mail addresses and keys."""

import re

EMAIL_MASK, KEY_MASK = "[e-mail]", "[key]"

_EMAIL = re.compile(r"[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}")
#: Keys of well-known services and of Bookwise itself, by their prefix; and the value after `Bearer`.
_NAMED_KEY = re.compile(
    r"(?<![A-Za-z0-9])(?:bw_|sk-|pk_|rk_|gh[opsu]_|github_pat_|glpat-|xox[abprs]-|AKIA|AIza|hf_)[A-Za-z0-9_-]{12,}"
    r"|(?<=[Bb]earer )[A-Za-z0-9._~+/=-]{12,}"
)
_TOKEN = re.compile(r"(?<![A-Za-z0-9_/+-])[A-Za-z0-9_+-]{32,}={0,2}(?![A-Za-z0-9_/+-])")


def mask(text: str) -> str:
    """The text with each e-mail address and each key replaced. A long random word counts as a key."""
    text = _NAMED_KEY.sub(KEY_MASK, _EMAIL.sub(EMAIL_MASK, text))
    return _TOKEN.sub(lambda token: KEY_MASK if _is_random(token.group()) else token.group(), text)


def _is_random(token: str) -> bool:
    """Letters and digits mixed. A long name of a function has few digits, a UUID in four parts is an id and no key."""
    digits = sum(map(str.isdigit, token))
    is_uuid = re.fullmatch(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", token)
    return not is_uuid and digits >= 4 and len(token) - digits >= 4
