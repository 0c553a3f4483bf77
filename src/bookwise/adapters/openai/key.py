"""An API key and its base URL → an error when the key cannot be valid there."""

from pydantic import SecretStr

from bookwise.adapters.embedders.service_settings import host_beside, service_key
from bookwise.domain.errors import Misconfigured

OWN_URL = "https://api.openai.com/v1"
KEY_SETTING = "OPENAI_API_KEY"
URL_SETTING = "OPENAI_BASE_URL"
KEY_START = "sk-"
KEY_LENGTH_MIN = 40


def require_key(key: SecretStr, base_url: str) -> None:
    """OpenAI's own keys have a known form; other services accept any key that is valid in a header."""
    service_key(key, KEY_SETTING)
    secret = key.get_secret_value()
    if not host_beside(base_url, OWN_URL) and not (secret.startswith(KEY_START) and len(secret) >= KEY_LENGTH_MIN):
        raise Misconfigured(
            f"{KEY_SETTING} is not an OpenAI key: those have at least {KEY_LENGTH_MIN} characters, {KEY_START} first.",
            advice=f"Set {KEY_SETTING} to your key, or {URL_SETTING} to the service the key belongs to.",
        )
