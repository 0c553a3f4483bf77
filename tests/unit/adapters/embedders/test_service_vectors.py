"""What a service sends becomes vectors that can be trusted, or an error that names the text."""

import itertools
import math

import pytest

from bookwise.adapters.embedders.service_vectors import unit_vector
from bookwise.domain.errors import EmbedderUnavailable
from tests.support.embedding_services import failure, payload, service
from tests.support.scripted_http import Reply, Request, answering

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ([1.0], "of 1 numbers instead of 2"),
        ([1.0, 2.0, 3.0], "of 3 numbers instead of 2"),
        ([float("nan"), 1.0], "with a number that is not finite"),
        ([float("inf"), 1.0], "with a number that is not finite"),
        ([0.0, 0], "of zeros"),
        (["1", "2"], "values that are not numbers"),
        ([1.0, None], "values that are not numbers"),
        ([[1.0], [2.0]], "values that are not numbers"),
        ([[1.0], 2.0], "values that are not numbers"),
        ([True, False], "values that are not numbers"),
        ([10**400, 1], "values that are not numbers"),
        ({"0": 1.0}, "that is not a list"),
        (None, "that is not a list"),
    ],
)
async def test_a_vector_that_cannot_be_used_names_its_text(row: object, fault: str) -> None:
    good = [1.0, 0.0]
    replies = [Reply(json=[good, good]), Reply(json=[good, row])]

    def answer(request: Request) -> Reply:
        return replies["last" in request.json["texts"]]

    async with answering(answer) as server, service(server.url, batch_texts=2) as client:
        with pytest.raises(EmbedderUnavailable, match=r"for text 4 of 4") as caught:
            await client.vectors(["a", "b", "c", "last"], payload)
    assert fault in caught.value.message


@pytest.mark.parametrize("numbers", [[3e200, 4e200], [3e-320, 4e-320], [3, 4], [-(2**63), 0]])
async def test_a_vector_of_any_length_becomes_a_unit_vector(numbers: list[object]) -> None:
    assert math.isclose(math.hypot(*unit_vector(numbers, 2)), 1.0, rel_tol=1e-12)


@pytest.mark.parametrize("count", [0, 1, 3])
async def test_another_number_of_vectors_than_texts_is_refused(count: int) -> None:
    error = await failure(Reply(json=[[1.0, 0.0]] * count), texts=["a", "b"])
    assert f"{count} vectors for 2 texts" in error.message


@pytest.mark.parametrize(
    "body",
    [b"<html>gateway</html>", b"", b'{"error": 1}', b"\xff\xfe", b"[" * 100_000, b'[1e5, "'],
    ids=["html", "nothing", "no list", "no text", "deeply nested", "half"],
)
async def test_an_answer_that_holds_no_vectors_is_refused_at_once(body: bytes) -> None:
    error = await failure(Reply(body=body))
    assert "returned an invalid response" in error.message
    assert "TEST_BASE_URL" in error.advice


async def test_an_endless_answer_is_cut_off() -> None:
    error = await failure(Reply(body=itertools.repeat(b" " * 65_536)))
    assert "more than 1,048,640 bytes" in error.message
