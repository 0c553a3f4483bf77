"""What makes an answer useful: the facts it contains."""

from dataclasses import replace

import pytest

from bookwise.domain.answers import Answer, Blocked, Interrupted, Refused
from bookwise.evaluation.usefulness import flat, usefulness_of
from tests.support.answers import answered, blocked, interrupted, refused

FACTS = (("colcon build",), ("src", "source folder"), ("source install/setup.bash",), ("mkdir -p",))


def answer(text: str) -> Answer:
    return replace(answered(), text=text)


@pytest.mark.parametrize(
    ("text", "useful", "complete", "missing"),
    [
        (
            "Make `mkdir -p ws/src`, run colcon build, then source install/setup.bash.",
            True, True, (),
        ),
        ("Put it into the source folder and run colcon build.", True, False, ("source install/setup.bash", "mkdir -p")),
        ("Run colcon build.", False, False, ("src", "source install/setup.bash", "mkdir -p")),
        ("Workspaces are folders.", False, False, tuple(fact[0] for fact in FACTS)),
    ],
)  # fmt: skip
def test_half_of_the_facts_make_an_answer_useful_and_all_make_it_complete(
    text: str, useful: bool, complete: bool, missing: tuple[str, ...]
) -> None:
    found = usefulness_of(answer(text), FACTS)
    assert (found.useful, found.complete, found.missing) == (useful, complete, missing)


def test_case_white_space_and_emphasis_do_not_matter() -> None:
    assert flat("**Colcon**  `build`\n now") == "colcon build now"
    found = usefulness_of(
        answer("Run **Colcon\n  build**, see `use_sim_time`."), (("`colcon` build",), ("use_sim_time",))
    )
    assert found.complete


def test_a_text_to_avoid_makes_an_answer_useless() -> None:
    found = usefulness_of(answer("Run colcon build, never Sudo  pip."), (("colcon build",),), ("sudo pip", "catkin"))
    assert (found.useful, found.complete, found.missing, found.unwanted) == (False, False, (), ("sudo pip",))


@pytest.mark.parametrize("other", [refused(0.5), interrupted(0.9), blocked()])
def test_only_an_answer_contains_facts(other: Refused | Interrupted | Blocked) -> None:
    found = usefulness_of(replace(other, text="Run colcon build."), (("colcon build",),))
    assert (found.useful, found.missing) == (False, ("colcon build",))


def test_without_facts_nothing_is_useful() -> None:
    found = usefulness_of(answered(), ())
    assert (found.share, found.useful, found.complete) == (0.0, False, False)
