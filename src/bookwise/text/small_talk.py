"""Message → whether it is small talk, which needs no search."""

import re

_SMALL_TALK_MAX = 100  #: characters

_GREETING = r"hi|hello|hey|hiya|howdy|greetings|good (?:morning|afternoon|evening|night|day)|nice to meet you|welcome"
_THANKS = r"thanks|thank you|thank u|thx|ty|cheers|many thanks|(?:i )?appreciate (?:it|that|the help|your help)"
_PRAISE = (
    r"ok|okay|great|cool|nice|perfect|awesome|excellent|wonderful|amazing|brilliant|lovely|good(?: job| work| one)?"
    r"|well done|got it|i see|i understand|understood|(?:that )?makes sense|that helps|that helped"
    r"|(?:(?:that|it) (?:was|is) )?(?:(?:very|really|so) )?(?:helpful|useful)|no problem"
    r"|you(?: a)?re (?:great|welcome|awesome)"
)
_GOODBYE = (
    r"bye|goodbye|see you(?: later| soon)?|have a (?:nice|good|great) (?:day|one|evening|weekend|time)"
    r"|no thanks|no thank you"
)
_ABOUT_BOOKWISE = (
    r"how are you(?: doing)?(?: today)?|how is it going|hows it going|whats up|who are you|what are you"
    r"|what(?: i)?s your name|who (?:made|built|created) you|what can you do"
    r"|are you (?:an? )?(?:bot|robot|human|real|ai|person|chatbot|machine)"
)
_PREFIX = r"well|oh|ah|wow|so|and|yes|yeah|no|sure"
_SUFFIX = (
    r"there|everyone|all|again|(?:so|very) much|a lot"
    r"|for (?:your|the|all the|all your) (?:help|answer|answers|time|explanation)"
    r"|that is all|thats all|for now|today|my friend|bookwise"
)
_CORE = f"{_GREETING}|{_THANKS}|{_PRAISE}|{_GOODBYE}|{_ABOUT_BOOKWISE}"
_SMALL_TALK = re.compile(rf"(?:(?:{_PREFIX}) )*(?:{_CORE})(?: (?:{_CORE}|{_SUFFIX}))*")
_NOT_LETTERS = re.compile(r"[\W_]+")


def is_small_talk(text: str) -> bool:
    """Returns whether a message is only a greeting, thanks, praise, a goodbye or a question about Bookwise itself."""
    if len(text) > _SMALL_TALK_MAX:
        return False
    plain = _NOT_LETTERS.sub(" ", re.sub(r"['’]", "", text.lower())).strip()
    return _SMALL_TALK.fullmatch(plain) is not None
