"""The checksum of a chunk covers everything that is stored with it."""

import hashlib

import pytest

from bookwise.adapters.qdrant.schema import CHECKSUM, to_chunk, to_payload
from tests.support.builders import chunks, embedded

PAYLOAD = to_payload(embedded(chunks("loops", "r1", "A loop repeats."), (1.0, 0.0))[0])


@pytest.mark.parametrize("field", sorted(PAYLOAD))
def test_a_change_of_any_field_is_noticed(field: str) -> None:
    assert to_chunk(PAYLOAD) is not None
    assert to_chunk(PAYLOAD | {field: "changed"}) is None
    without = {name: value for name, value in PAYLOAD.items() if name != field}
    assert (to_chunk(without) is not None) == (field == CHECKSUM), "chunks of earlier releases have no checksum"


def test_another_text_with_its_own_hash_is_noticed() -> None:
    other = {"text": "A loop ends.", "content_hash": hashlib.sha256(b"A loop ends.").hexdigest()}
    assert to_chunk(PAYLOAD | other) is None


def test_a_chunk_with_the_checksum_of_an_earlier_release_is_shown() -> None:
    earlier = {name: value for name, value in PAYLOAD.items() if name != CHECKSUM} | {"checksum": 1}
    assert to_chunk(earlier) is not None
    assert to_chunk(earlier | {"text": "changed"}) is None
