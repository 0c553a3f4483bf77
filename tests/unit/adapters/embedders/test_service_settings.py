"""What a setting says of a service becomes what a request can use."""

import pytest
from pydantic import SecretStr

from bookwise.adapters.embedders.service_settings import host_beside, service_key, service_url
from bookwise.domain.errors import Misconfigured

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "text",
    [
        "",
        "api.example/v1",
        "ftp://api.example",
        "https://",
        "https://me:secret@api.example",
        "http://[x",
        "http://x:70000",
        "http://x:y",
    ],
)
async def test_an_address_nothing_can_be_sent_to_is_a_setting_to_mend(text: str) -> None:
    with pytest.raises(Misconfigured, match="TEST_BASE_URL is not the address of a service") as caught:
        service_url(text, "TEST_BASE_URL")
    assert "secret" not in caught.value.message


async def test_an_address_is_kept_without_its_last_slash() -> None:
    assert service_url(" https://API.example:443/v1/ ", "TEST_BASE_URL") == "https://api.example/v1"
    assert host_beside("https://api.example/v1", "https://api.example/v1") == ""
    assert host_beside("https://other.example/v1", "https://api.example/v1") == ":other.example"


@pytest.mark.parametrize("key", ["", "two words", "line\n", "schlüssel", "tab\t"])
async def test_a_key_that_cannot_be_sent_is_named_by_its_setting_only(key: str) -> None:
    with pytest.raises(Misconfigured, match="TEST_API_KEY") as caught:
        service_key(SecretStr(key), "TEST_API_KEY")
    assert not key or key not in caught.value.message
