"""The transcript in the README is what the program prints."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.docs.pages import DEMO, README, ROOT, snippets
from tests.support.copies import copy_folder
from tests.support.program import PROGRAM

COMMAND = re.compile(r"^\$ bookwise (.+)\n((?:(?!^\$ ).*\n)*)", re.MULTILINE)
DURATION = re.compile(r"(\s+in)?\s+[\d.]+ (ms|s|min)\b")  #: an ingest of less than a second shows none
#: The last of three sections to see also: two are equally near, and the last bits of a vector decide.
LAST_RELATED = re.compile(r"(See also:\n(?:.+\n +http.+\n){2})(.+\n +http.+\n)")
SCORE = re.compile(r"\b[01]\.\d\d\b")
TOLERANCE = 0.02  #: of a score: processors differ in the last bits of a vector


def transcript() -> list[tuple[str, str]]:
    """(arguments, output) of each command in the README's only console block."""
    (text,) = snippets("console", [README])
    return COMMAND.findall(text)


def output_of(arguments: str, data: Path) -> str:
    environment = {"BOOKWISE_DATA_DIR": str(data), "HOME": os.environ.get("HOME", str(data))}
    command = [PROGRAM, *shlex.split(arguments)]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout


def normalised(output: str) -> str:
    """Without what differs between runs or processors: durations, scores, a near tie, and where a line is wrapped."""
    output = LAST_RELATED.sub(r"\1RELATED\n", output)
    return " ".join(SCORE.sub("SCORE", DURATION.sub("", output)).split())


def scores(output: str) -> list[float]:
    return [float(score) for score in SCORE.findall(output)]


@pytest.mark.slow
def test_the_transcript_in_the_readme_is_real(tmp_path: Path, sample_vectors: Path) -> None:
    copy_folder(sample_vectors, tmp_path / "data")
    for arguments, expected in transcript():
        output = output_of(arguments, tmp_path / "data")
        assert normalised(output) == normalised(expected), (
            f"The README must show this:\n$ bookwise {arguments}\n{output}"
        )
        assert scores(output) == pytest.approx(scores(expected), abs=TOLERANCE), output


def test_the_transcript_shows_an_ingest_an_answer_and_a_refusal() -> None:
    (ingest, _), (ask, answer), (refused, refusal) = transcript()
    assert ingest.startswith("ingest ")
    assert ask.startswith("ask ")
    assert "[1]" in answer
    assert "couldn't find" in refusal
    for arguments in (ask, refused):
        assert shlex.split(arguments)[1] in DEMO.read_text(encoding="utf-8"), "the demo shows the same"


def test_only_durations_scores_and_wrapping_may_differ() -> None:
    assert normalised("confidence high (0.92) · 13 ms\n") == normalised("confidence  high\n(0.93) · 7 ms")
    assert normalised("233 chunks in 11 s.\n") == normalised("233 chunks.\n")
    assert normalised("A node is active. [3]") != normalised("A node is active. [4]")
    related = [f"Section {name}\n    https://book.example#{name}\n" for name in "abcd"]
    a, b, c, d = (
        "See also:\n" + "".join(related[n] for n in order) for order in ((0, 1, 2), (0, 1, 3), (0, 2, 1), (0, 1))
    )
    assert normalised(a) == normalised(b)
    assert len({normalised(text) for text in (a, c, d)}) == 3
