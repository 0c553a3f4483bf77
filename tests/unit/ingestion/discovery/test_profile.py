"""bookwise.toml says what a book is, or says exactly what is wrong."""

from pathlib import Path

import pytest

from bookwise.domain.books import Audience, Calibration, Module
from bookwise.domain.errors import InvalidInput, Misconfigured
from bookwise.ingestion.discovery.profile import BookProfile, checked_book_id, completed, read_profile
from tests.support.folders import open_folder, without_privileges, written

WHOLE = """
exclude = ["drafts/**"]

[book]
id = "robots"
title = "Robots"
base_url = "https://robots.example/docs/"
docs = "./lessons/"
language = "pt-BR"

[defaults]
hardware_tier = 2
proficiency_level = "B1"
layer = "L3"
module = "arms"

[[modules]]
name = "arms"
title = "Arms"
aliases = ["manipulators"]

[limits]
chapter_max = 30
lesson_max = 40
max_file_bytes = 2048

[[rules]]
path = "lessons/labs/**"
chapter = 3
lesson = 0
hardware_tier = 4

[calibration]
knots = [[0.1, 0.0], [0.5, 0.6], [0.9, 1]]

[[questions]]
id = "q1"
kind = "follow-up"
text = "And how do I create one?"
history = ["What is a node?"]
lesson = "lessons/nodes.md"
section = "nodes"
"""


def profile_of(tmp_path: Path, toml: str | bytes) -> BookProfile:
    return read_profile(written(tmp_path, {"bookwise.toml": toml}))


def complaint_about(tmp_path: Path, toml: str | bytes) -> str:
    with pytest.raises(Misconfigured) as caught:
        profile_of(tmp_path, toml)
    assert str(tmp_path / "bookwise.toml") in caught.value.message
    assert caught.value.advice
    return caught.value.message


def test_a_book_without_a_profile_has_the_defaults(tmp_path: Path) -> None:
    profile = read_profile(tmp_path)
    assert profile == BookProfile()
    assert profile.audience == Audience(hardware_tier=1, proficiency_level="A2", layer="L1")
    assert (profile.book.language, profile.default_module) == ("en", "main")
    assert (profile.chapter_max, profile.lesson_max, profile.fitted("any")) == (None, None, None)


def test_every_key_of_a_profile_is_read(tmp_path: Path) -> None:
    profile = profile_of(tmp_path, WHOLE)
    assert (profile.book.id, profile.book.docs, profile.book.language) == ("robots", "lessons", "pt-BR")
    assert profile.module_list == (Module(name="arms", title="Arms", aliases=("manipulators",)),)
    assert profile.audience == Audience(hardware_tier=2, proficiency_level="B1", layer="L3")
    assert (profile.chapter_max, profile.lesson_max, profile.limits.max_file_bytes) == (30, 40, 2048)
    assert profile.fitted("any") == Calibration(knots=((0.1, 0.0), (0.5, 0.6), (0.9, 1.0)))
    assert profile.rules[0].chapter == 3
    assert profile.questions[0].history == ("What is a node?",)
    assert profile.exclude == ("drafts/**",)


def test_a_profile_cannot_be_changed(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="frozen"):
        profile_of(tmp_path, WHOLE).book.title = "Other"


QUESTION = '[[questions]]\nid="q"\nkind="answerable"\ntext="abc"\nlesson="x"\n'


def test_a_fact_has_one_wording_or_several(tmp_path: Path) -> None:
    (question,) = profile_of(tmp_path, QUESTION + 'contains=["80 %", ["a", "b"]]\navoid=["c"]\ntype="value"').questions
    assert (question.contains, question.avoid, question.type) == ((("80 %",), ("a", "b")), ("c",), "value")
    assert BookProfile.model_validate_json(BookProfile(questions=(question,)).model_dump_json()).questions == (
        question,
    )


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        (QUESTION + 'contains="80"', "questions[1].contains: Input should be a list, such as"),
        (QUESTION + 'contains=["80", 90]', "questions[1].contains[2]: Input should be a text or a list of wordings"),
        (QUESTION + "contains=[[]]", "questions[1].contains[1]: Input should be a text or a list of wordings"),
        (QUESTION + 'contains=["80", "* _"]', "contains[2][1]: Input should contain a letter or a digit (found '* _')"),
        (QUESTION + 'avoid="80"', "questions[1].avoid: Input should be a list, such as"),
        (QUESTION + 'avoid=["80"]', "questions[1]: avoid needs contains: add the facts"),
        (QUESTION + 'type="How to"', "questions[1].type: String should match pattern"),
        (
            '[[questions]]\nid="q"\nkind="near-miss"\ntext="abc"\ncontains=["80"]',
            "questions[1]: remove contains: a question of kind near-miss must be refused",
        ),
        ('[book]\ntitel = "x"', "unknown key book.titel; did you mean title?"),
        ('[shelf]\nx = "x"', "unknown key shelf; allowed keys: book, defaults, modules"),
        ('[[rules]]\npath = "x"\ntier = 1', "unknown key rules[1].tier; "),
        ('[[questions]]\nid="q"\nkind="answerable"\ntext="abc"\nanswer="x"', "questions[1].answer"),
        (
            "[limits]\nchapter_max = -1",
            "limits.chapter_max: Input should be greater than or equal to 0 (found -1)",
        ),
        ('[limits]\nchapter_max = "20"', "limits.chapter_max: Input should be a valid integer (found '20')"),
        ("[limits]\nmax_file_bytes = 10", "greater than or equal to 1024"),
        ("[defaults]\nhardware_tier = 5", "defaults.hardware_tier: Input should be 1, 2, 3 or 4 (found 5)"),
        ("[defaults]\nhardware_tier = true", "defaults.hardware_tier: Input should be a number"),
        ('[defaults]\nproficiency_level = "D1"', "'A1', 'A2', 'B1', 'B2', 'C1' or 'C2' (found 'D1')"),
        ('[defaults]\nlayer = "L5"', "'L1', 'L2', 'L3' or 'L4'"),
        ('[[rules]]\npath = "x"\nlayer = 1', "rules[1].layer: Input should be 'L1'"),
        ("[[rules]]\nchapter = 1", "rules[1].path: Field required"),
        ('[book]\nid = "../x"', "book.id: String should match pattern"),
        ('[book]\nid = "A.b"', "book.id: "),
        ('[book]\nbase_url = "javascript:alert(1)"', "book.base_url: Input should start with http"),
        ('[book]\nbase_url = "https://"', "book.base_url: Input should start with http"),
        ('[book]\nbase_url = "http://[x"', "book.base_url: Input should start with http"),
        ('[book]\ndocs = "../other"', "book.docs: Input should be a folder inside the book"),
        ('[book]\ndocs = "/etc"', "book.docs: Input should be a folder inside the book"),
        ('[book]\nlanguage = "English"', "book.language: "),
        ("[calibration]\nknots = [[0, 0]]", "calibration.knots: "),
        ("[calibration]\nknots = [[0, 0], [0, 1]]", "strengths must increase"),
        ("[calibration]\nknots = [[0, 0.5], [1, 0.4]]", "similarities must not decrease"),
        ("[calibration]\nknots = [[0, 0], [1, 1.5]]", "between 0 and 1"),
        (
            '[[questions]]\nid="q"\nkind="answerable"\ntext="abc"',
            "questions[1]: a question of kind answerable needs",
        ),
        ('[[questions]]\nid="q"\nkind="follow-up"\ntext="abc"\nlesson="x"', "needs history"),
        (
            '[[questions]]\nid="q"\nkind="riddle"\ntext="abc"',
            "'answerable', 'follow-up', 'off-topic' or 'near-miss'",
        ),
        (
            '[[modules]]\nname="a"\n[[modules]]\nname="b"\naliases=["a"]',
            "modules: each name may be used once, but a",
        ),
        ('[defaults]\nmodule="c"\n[[modules]]\nname="a"', "defaults.module should be one of the modules: a"),
        ("exclude = [1]", "exclude[1]: Input should be a valid string"),
        ("[book", "it is not valid TOML: "),
        (b"[book]\ntitle = '\xff'", "not valid UTF-8"),
        ("x = " + "[" * 100_000, "nested too deeply"),
        ("#" * (1024 * 1024 + 1), "the limit is 1,048,576"),
    ],
)
def test_a_wrong_profile_is_named_with_file_key_and_what_is_allowed(
    tmp_path: Path, toml: str | bytes, said: str
) -> None:
    assert said in complaint_about(tmp_path, toml)


def test_many_wrong_keys_are_reported_together(tmp_path: Path) -> None:
    message = complaint_about(tmp_path, "[book]\n" + "\n".join(f"k{i} = 1" for i in range(8)))
    assert message.count("unknown key") == 5
    assert message.endswith("and 3 more")


def test_a_profile_that_leads_out_of_the_book_is_not_read(tmp_path: Path) -> None:
    secret = written(tmp_path, {"secret.toml": "[book]\nid = 'secret'", "book/x.md": "x"}) / "secret.toml"
    (tmp_path / "book" / "bookwise.toml").symlink_to(secret)
    with pytest.raises(Misconfigured, match="outside the book's folder"):
        read_profile(tmp_path / "book")


def test_a_profile_without_read_permission_is_reported() -> None:
    with open_folder() as root:
        written(root, {"bookwise.toml": ""})
        (root / "bookwise.toml").chmod(0)
        with without_privileges(), pytest.raises(Misconfigured, match="No permission to read"):
            read_profile(root)


def test_a_folder_in_place_of_a_profile_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bookwise.toml").mkdir()
    with pytest.raises(Misconfigured, match="not a regular file"):
        read_profile(tmp_path)


def test_a_dot_names_the_root_as_the_folder_of_lessons(tmp_path: Path) -> None:
    assert profile_of(tmp_path, '[book]\ndocs = "."').book.docs == ""


def test_the_default_book_knows_its_modules_and_limits() -> None:
    profile = completed(BookProfile(), "physical-ai-robotics")
    assert [module.name for module in profile.modules] == ["intro", "ros2", "gazebo", "isaac", "vla"]
    assert profile.modules[2].aliases == ("simulation",)
    assert (profile.chapter_max, profile.lesson_max, profile.default_module) == (20, 15, "intro")


def test_an_author_is_trusted_more_than_what_is_known_of_the_default_book(tmp_path: Path) -> None:
    own = profile_of(tmp_path, '[[modules]]\nname = "own"')
    assert completed(own, "physical-ai-robotics") is own
    assert own.default_module == "own"
    other = profile_of(tmp_path, '[defaults]\nmodule = "vla"')
    assert completed(other, "physical-ai-robotics").default_module == "vla"
    assert completed(other, "another-book") is other


def test_a_book_with_modules_has_the_usual_limits(tmp_path: Path) -> None:
    profile = profile_of(tmp_path, '[limits]\nchapter_max = 99\n[[modules]]\nname = "a"')
    assert (profile.chapter_max, profile.lesson_max) == (99, 15)


@pytest.mark.parametrize("book_id", ["a", "physical-ai-robotics", "0-9", "x" * 64])
def test_a_safe_id_is_itself(book_id: str) -> None:
    assert checked_book_id(book_id) == book_id


@pytest.mark.parametrize("book_id", ["", "..", "a/b", "a.b", "-a", "A", "ä", "a\n", "x" * 65, "a b", "a\x00"])
def test_an_unsafe_id_is_refused(book_id: str) -> None:
    with pytest.raises(InvalidInput, match="is not a valid book id"):
        checked_book_id(book_id)


def test_a_calibration_holds_for_the_embedder_it_was_fitted_with(tmp_path: Path) -> None:
    profile = profile_of(tmp_path, '[calibration]\nembedder = "one"\nknots = [[0, 0], [1, 1]]\n')
    assert profile.fitted("one") == Calibration(knots=((0.0, 0.0), (1.0, 1.0)))
    assert profile.fitted("another") is None
