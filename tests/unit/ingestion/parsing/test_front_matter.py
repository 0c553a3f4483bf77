"""Front matter → facts and body; hostile front matter fails at once."""

import time
from datetime import date

import pytest

from bookwise.domain.errors import BadLesson
from bookwise.ingestion.parsing.front_matter import MAX_CHARACTERS, split_front_matter


def refused(text: str) -> str:
    """The message with which front matter is refused, quickly."""
    began = time.thread_time()
    with pytest.raises(BadLesson) as caught:
        split_front_matter(text)
    assert time.thread_time() - began < 1
    assert caught.value.reason == "front-matter"
    assert caught.value.advice
    return caught.value.message


def test_yaml_between_dashes_becomes_facts() -> None:
    text = "---\ntitle: Loops\ndate: 2024-05-01\nposition: 2.5\ntags: [a, b]\nslug: null\n---\n# Loops\n"
    facts, body, taken = split_front_matter(text)
    assert facts == {
        "title": "Loops",
        "date": date(2024, 5, 1),
        "position": 2.5,
        "tags": ["a", "b"],
        "slug": None,
    }
    assert body == "# Loops\n"
    assert taken == 7


def test_toml_between_pluses_becomes_facts() -> None:
    facts, body, taken = split_front_matter('+++\ntitle = "Loops"\nweight = 3\n+++\nText\n')
    assert (facts, body, taken) == ({"title": "Loops", "weight": 3}, "Text\n", 4)


def test_jupytext_front_matter_is_ordinary_yaml() -> None:
    text = "---\njupytext:\n  text_representation:\n    format_name: myst\nkernelspec:\n  name: python3\n---\n\n# A\n"
    facts, body, _ = split_front_matter(text)
    assert facts["kernelspec"] == {"name": "python3"}
    assert body == "\n# A\n"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# A\n",
        "\n---\na: 1\n---\n",
        " ---\na: 1\n---\n",
        "---\nThis is a thematic break.\n",
        "---",
        "----\na: 1\n----\n",
        "+++\ntitle = 1\n",
        "---a\n---\n",
    ],
)
def test_a_text_without_closed_front_matter_is_all_body(text: str) -> None:
    assert split_front_matter(text) == ({}, text, 0)


@pytest.mark.parametrize("text", ["---\n---\nBody", "---\n\n# only a comment\n---\nBody", "---  \n...  \nBody"])
def test_empty_front_matter_has_no_facts(text: str) -> None:
    facts, body, taken = split_front_matter(text)
    assert facts == {}
    assert body == "Body"
    assert taken == text.count("\n")


def test_front_matter_may_end_with_the_file() -> None:
    assert split_front_matter("---\na: 1\n---") == ({"a": 1}, "", 3)


@pytest.mark.parametrize("yaml", ["- a\n- b", "just words", "42"])
def test_front_matter_must_be_a_mapping(yaml: str) -> None:
    assert "key: value" in refused(f"---\n{yaml}\n---\n")


def test_an_alias_bomb_fails_before_it_is_built() -> None:
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    assert "aliases" in refused("---\n" + "\n".join(lines) + "\n---\n")


def test_an_honest_alias_is_followed() -> None:
    facts, _, _ = split_front_matter("---\na: &x {b: 1}\nc: *x\nd:\n  <<: *x\n  e: 2\n---\n")
    assert facts == {"a": {"b": 1}, "c": {"b": 1}, "d": {"b": 1, "e": 2}}


@pytest.mark.parametrize(
    "yaml",
    [
        "a: &a [*a]",
        "a: *nowhere",
        "a: " + "[" * 5000,
        "a: " + "[" * 30 + "]" * 30,
        "a: {b: 1, b: 2}",
        "a: 1\na: 2",
        "a: !!python/object/apply:os.system [ls]",
        "a: !custom x",
        "a: !!binary x",
        "a: [1, 2",
        "a: 2024-13-45",
        "a: 0x_",
        "a: " + "9" * 5000,
        "? [a]\n: b",
        'a: "\\ud800',
        "a: \x07",
        "\n".join(f"k{n}: v" for n in range(6000)),
    ],
)
def test_hostile_or_broken_yaml_is_refused(yaml: str) -> None:
    refused(f"---\n{yaml}\n---\n")


def test_a_repeated_key_is_named_with_its_line() -> None:
    message = refused("---\ntitle: A\ntags: []\ntitle: B\n---\n")
    assert "'title'" in message
    assert "line 4" in message


@pytest.mark.parametrize("toml", ["a = ", "a = 1\na = 2", "a = " + "[" * 3000, "just words"])
def test_broken_toml_is_refused(toml: str) -> None:
    refused(f"+++\n{toml}\n+++\n")


def test_front_matter_has_a_limit() -> None:
    assert "longer" in refused(f"---\na: {'x' * MAX_CHARACTERS}\n---\n")


def test_only_the_lines_up_to_the_closing_one_are_read() -> None:
    began = time.thread_time()
    facts, body, _ = split_front_matter("---\na: 1\n---\n" + "text\n" * 1_000_000)
    assert facts == {"a": 1}
    assert len(body) == 5_000_000
    assert time.thread_time() - began < 0.5


def test_keys_that_are_not_text_become_text() -> None:
    assert split_front_matter("---\n7: a\ntrue: b\n---\n")[0] == {"7": "a", "True": "b"}
