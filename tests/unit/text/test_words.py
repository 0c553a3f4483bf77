"""Words that carry meaning are found in one spelling."""

import pytest

from bookwise.text.words import content_words, is_content_word, stem, words


@pytest.mark.parametrize(
    "family",
    [
        ("install", "installs", "installed", "installing", "installation", "installations"),
        ("run", "runs", "running", "runner", "runners"),
        ("publish", "publishes", "published", "publishing", "publisher", "publishers"),
        ("subscribe", "subscribes", "subscribed", "subscribing", "subscriber"),
        ("node", "nodes", "node's", "node’s", "Node", "NODES"),
        ("create", "creates", "created", "creating", "creator"),
        ("dependency", "dependencies"),
        ("move", "moves", "moved", "moving", "movement", "movements"),
        ("organize", "organizes", "organized", "organizing"),
        ("box", "boxes"),
    ],
)
def test_the_forms_of_one_word_have_one_stem(family: tuple[str, ...]) -> None:
    assert len({stem(word) for word in family}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [("nodes", "notes"), ("class", "clay"), ("process", "progress"), ("topic", "top"), ("service", "server")],
)
def test_different_words_keep_different_stems(one: str, other: str) -> None:
    assert stem(one) != stem(other)


@pytest.mark.parametrize("word", ["class", "less", "ros2", "42", "c", "as", "ion", "café"])
def test_short_words_numbers_and_double_s_stay_as_they_are(word: str) -> None:
    assert stem(word) == word


def test_a_stem_has_no_stem_of_its_own_that_would_part_it_from_its_family() -> None:
    assert stem(stem("publishers")) == stem("publishers")


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("create_publisher", {"create_publisher", "creat", "publish"}),
        ("MultiThreadedExecutor", {"multithreadedexecutor", "multi", "thread", "execut"}),
        ("use_sim_time", {"use_sim_time", "sim", "tim"}),
        ("std_msgs/msg/String", {"std_msgs/msg/string", "std", "msg", "str"}),
        ("setup.bash", {"setup.bash", "setup", "bash"}),
        ("HTTPServer", {"httpserver", "http", "serv"}),
        ("ROS2", {"ros2", "ros", "2"}),
        ("real-time", {"real-time", "real", "tim"}),
    ],
)
def test_a_name_is_found_as_a_whole_and_by_its_parts(name: str, parts: set[str]) -> None:
    assert parts <= content_words(name)


def test_words_come_in_the_order_of_the_text() -> None:
    assert words("Nodes publish messages") == [stem("nodes"), stem("publish"), stem("messages")]


def test_stop_words_and_single_letters_carry_nothing() -> None:
    assert content_words("What is the difference between these and those, or a b c?") == frozenset()


@pytest.mark.parametrize("word", ["owner", "owners", "note", "notes", "notion", "butter", "letter", "letters", "outer"])
def test_a_word_that_only_looks_like_a_form_of_a_stop_word_carries_meaning(word: str) -> None:
    assert content_words(word) == {stem(word)}


def test_such_a_word_and_its_plural_are_still_one() -> None:
    assert stem("notes") == stem("note")
    assert stem("owners") == stem("owner")


@pytest.mark.parametrize("word", ["getting", "using", "lets", "called", "makes", "meaning"])
def test_the_forms_of_a_stop_word_carry_nothing(word: str) -> None:
    assert content_words(word) == frozenset()


def test_what_is_real_can_be_told_from_what_is_simulated() -> None:
    assert stem("real") in content_words("a real robot")


def test_single_digits_carry_meaning() -> None:
    assert content_words("the 2 of us") == {"2"}
    assert is_content_word("7")
    assert not is_content_word("x")


def test_words_of_other_scripts_are_words() -> None:
    assert content_words("Узлы обмениваются сообщениями") == {"узлы", "обмениваются", "сообщениями"}
    assert content_words("Größe Größen") == {"groß", "großen"}


@pytest.mark.parametrize("text", ["", "   ", "... --- !!!", "`` ** __"])
def test_text_without_words_has_none(text: str) -> None:
    assert words(text) == []


def test_a_contraction_is_one_word() -> None:
    assert words("don't") == words("DON'T")
    assert len(words("robot's")) == 1


def test_letters_with_marks_do_not_part_a_word() -> None:
    assert words("Bäckerei_Öffnung") == words("Backerei_Offnung")
    assert len(words("Bäckerei")) == 1


@pytest.mark.parametrize("spelling", ["Hervé", "Herve", "Herve\u0301"])
def test_a_name_is_found_with_and_without_its_marks(spelling: str) -> None:
    assert words(spelling) == [stem("Herve")]
