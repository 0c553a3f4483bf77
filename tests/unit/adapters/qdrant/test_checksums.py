"""The checksum of a chunk covers everything that is stored with it."""

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
