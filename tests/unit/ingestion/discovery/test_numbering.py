"""Every lesson gets a position: from its path, its front matter, the book's rules, or by counting."""

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from bookwise.domain.books import Audience, LessonPosition
from bookwise.ingestion.discovery.facts import Facts, facts_from
from bookwise.ingestion.discovery.names import is_slug, label, natural_key, number_prefix, one_line, slug, stem
from bookwise.ingestion.discovery.numbering import Numbering, Unplaced, audience_of, number_lessons
from bookwise.ingestion.discovery.path_claims import claim_from_path
from bookwise.ingestion.discovery.profile import BookProfile, completed

FREE = BookProfile()
ROBOTICS = completed(BookProfile(), "physical-ai-robotics")


def numbered(*paths: str, profile: BookProfile = FREE, **facts: Facts) -> Numbering:
    """The numbering of these lessons in this order; facts by the name of their file."""
    lessons = [
        Unplaced(source_file=path, path=path, facts=facts.get(stem(path).replace("-", "_"), Facts())) for path in paths
    ]
    return number_lessons(lessons, profile)


def triples(numbering: Numbering) -> list[tuple[str, int, int]]:
    positions = [one.position for one in numbering.positions.values()]
    return [(position.module, position.chapter, position.lesson) for position in positions]


@pytest.mark.parametrize(
    ("path", "module", "chapter", "lesson"),
    [
        ("module-1-ros2/chapter-3-x/02-y.md", "ros2", 3, 2),
        ("Module_1_ROS2/Chapter 3 - X/2. Y.md", "ros2", 3, 2),
        ("module-1-ros2/chapter-3-x/lesson-4.md", "ros2", 3, 4),
        ("module-1-ros2/chapter-3-x/lesson-4/index.md", "ros2", 3, 4),
        ("module-2-gazebo-unity/week-6-lesson-1-setup.md", "gazebo-unity", 6, 1),
        ("module_1/week3/05_x.md", "module-1", 3, 5),
        ("part-2/ch03/07-x.md", "part-2", 3, 7),
        ("course/module-1-ros2/chapter-3/02-y.md", "ros2", 3, 2),
        ("01-ros2/02-nodes/03-x.md", "ros2", 2, 3),
        ("01-intro/02-setup.md", "intro", 1, 2),
        ("ch04-01-what.md", None, 4, 1),
        ("ch03/02-x.md", None, 3, 2),
        ("chapter-3/3.2-x.md", None, 3, 2),
        ("chapter-3/01-2-wheel-robots.md", None, 3, 1),
        ("3.2-x.md", None, 3, 2),
        ("03-02-x.md", None, 3, 2),
        ("week-1-2-foundations.md", None, 1, None),
        ("02-y.md", None, None, 2),
        ("02-3d-printing.md", None, None, 2),
        ("1973-oil-crisis.md", None, None, None),
        ("2024-02-29-news.md", None, None, None),
        ("0027bff8d2a891ff.md", None, None, None),
        ("part-time-work.md", None, None, None),
        ("channels.md", None, None, None),
        ("lecture.md", None, None, None),
        ("x.md", None, None, None),
        (".md", None, None, None),
        ("module-1-ros2.md", "ros2", None, None),
    ],
)
def test_a_path_states_the_position_of_its_lesson(
    path: str, module: str | None, chapter: int | None, lesson: int | None
) -> None:
    claim = claim_from_path(path)
    assert (claim.module, claim.chapter, claim.lesson) == (module, chapter, lesson)


def test_a_numbered_folder_is_a_module_when_it_holds_chapters_itself() -> None:
    result = numbered("01-basics/index.md", "01-basics/01-setup/index.md", "01-basics/01-setup/02-x.md")
    assert triples(result) == [("basics", 0, 0), ("basics", 1, 0), ("basics", 1, 2)]
    assert not result.warnings


def test_numbers_of_the_front_matter_come_first_then_the_path_then_rules() -> None:
    profile = BookProfile.model_validate(
        {
            "rules": [
                {"path": "**/b.md", "module": "late", "chapter": 9, "lesson": 9},
                {"path": "**", "lesson": 5},
            ]
        }
    )
    result = numbered(
        "chapter-2/a.md",
        "b.md",
        "chapter-4/c.md",
        profile=profile,
        a=Facts(module="own", chapter=7, lesson=3),
        c=Facts(module="own"),
    )
    assert triples(result) == [("own", 7, 3), ("late", 9, 9), ("own", 4, 5)]
    assert all(one.is_given for one in result.positions.values())


def test_front_matter_is_trusted_more_than_rules() -> None:
    profile = BookProfile.model_validate({"rules": [{"path": "**", "module": "rule", "chapter": 1, "lesson": 1}]})
    result = numbered("x.md", profile=profile, x=Facts(module="own", chapter=2, lesson=2))
    assert triples(result) == [("own", 2, 2)]


def test_a_sidebar_position_is_never_a_lesson_number() -> None:
    result = numbered("module-1-a/chapter-1/x.md", x=Facts(sidebar_position=9.0))
    assert triples(result) == [("a", 1, 1)]
    assert not result.positions["module-1-a/chapter-1/x.md"].is_given


def test_overviews_are_lesson_zero_of_their_chapter_and_chapter_zero_of_their_module() -> None:
    result = numbered(
        "module-1-a/README.md",
        "module-1-a/chapter-2/index.md",
        "module-1-a/chapter-3/Overview.mdx",
        "index.md",
    )
    assert triples(result) == [("a", 0, 0), ("a", 2, 0), ("a", 3, 0), ("main", 0, 0)]
    assert [one.is_given for one in result.positions.values()] == [True, True, True, False]


def test_an_overview_may_number_itself() -> None:
    assert triples(numbered("module-1-a/index.md", index=Facts(chapter=4, lesson=2))) == [("a", 4, 2)]


def test_lessons_without_numbers_are_counted_in_reading_order() -> None:
    result = numbered("basics/loops/while.md", "basics/loops/for.md", "basics/types/int.md", "basics/why.md", "end.md")
    assert triples(result) == [
        ("basics", 1, 1),
        ("basics", 1, 2),
        ("basics", 2, 1),
        ("basics", 0, 1),
        ("main", 0, 1),
    ]
    assert not any(one.is_given for one in result.positions.values())


def test_counting_goes_on_after_the_given_numbers() -> None:
    result = numbered("module-1-a/extras/x.md", "module-1-a/chapter-7/notes.md", "module-1-a/chapter-7/03-y.md")
    assert triples(result) == [("a", 8, 1), ("a", 7, 4), ("a", 7, 3)]


def test_a_chapter_folder_without_number_is_no_module() -> None:
    result = numbered("chapter_preliminaries/index.md", "chapter_preliminaries/ndarray.md", "chapter_rnn/a.md")
    assert triples(result) == [("main", 1, 0), ("main", 1, 1), ("main", 2, 1)]


def test_the_chapters_of_a_navigation_are_counted() -> None:
    lessons = [
        Unplaced(source_file="a.md", path="a.md"),
        Unplaced(source_file="b.md", path="b.md", group="1", leads_group=True),
        Unplaced(source_file="c.md", path="c.md", group="1"),
        Unplaced(source_file="d.md", path="d.md", group="2"),
    ]
    assert triples(number_lessons(lessons, FREE)) == [
        ("main", 0, 1),
        ("main", 1, 0),
        ("main", 1, 1),
        ("main", 2, 1),
    ]


def test_the_first_of_several_claimants_keeps_the_position() -> None:
    result = numbered("module-1-a/chapter-1/02-z.md", "module-1-a/chapter-1/02-b.md")
    assert [one.is_given for one in result.positions.values()] == [False, True]
    assert result.warnings == [
        "module-1-a/chapter-1/02-z.md claims the same position as module-1-a/chapter-1/02-b.md "
        "(a, chapter 1, lesson 2). Its ids are derived from its path instead."
    ]


def test_an_unreadable_lesson_keeps_its_position_and_moves_no_other() -> None:
    def with_readable(value: bool) -> Numbering:
        lessons = [
            Unplaced(source_file=f"m/{name}.md", path=f"m/{name}.md", is_readable=value or name != "b")
            for name in "abc"
        ]
        return number_lessons(lessons, FREE)

    assert with_readable(True).positions == with_readable(False).positions


def test_aliases_and_longer_names_lead_to_the_books_own_modules() -> None:
    result = numbered(
        "module-2-simulation/chapter-1/01-a.md",
        "module-2-gazebo-unity/chapter-2/01-b.md",
        "ros2/chapter-1/01-c.md",
        profile=ROBOTICS,
    )
    assert triples(result) == [("gazebo", 1, 1), ("gazebo", 2, 1), ("ros2", 1, 1)]
    assert all(one.is_given for one in result.positions.values())
    assert not result.warnings


def test_a_folder_that_is_none_of_the_modules_becomes_a_module_and_not_the_default_one() -> None:
    result = numbered("module-9-cooking/chapter-1/01-a.md", "cooking/b.md", "setup/c.md", "d.md", profile=ROBOTICS)
    assert triples(result) == [("cooking", 1, 1), ("cooking", 0, 1), ("setup", 0, 1), ("intro", 0, 1)]
    assert not any(one.is_given for one in result.positions.values())
    assert result.extra_modules == ["cooking", "setup"]


def test_a_folder_that_is_none_of_the_modules_is_reported_with_the_modules_and_what_to_do() -> None:
    result = numbered("module-9-cooking/chapter-1/01-a.md", "cooking/b.md", "d.md", profile=ROBOTICS)
    assert result.warnings == [
        "'cooking' is not one of the book's modules (intro, ros2, gazebo, isaac, vla). It became an extra module with "
        "2 lessons, from module-9-cooking/chapter-1/01-a.md on. To change this, add it to [[modules]] in "
        "bookwise.toml, as a module or as an alias."
    ]


def test_a_module_that_the_author_does_not_list_is_treated_the_same() -> None:
    profile = BookProfile.model_validate({"modules": [{"name": "water"}], "defaults": {"module": "water"}})
    result = numbered("water/a.md", "appendix/b.md", "c.md", profile=profile, c=Facts(module="glossary"))
    assert [position[0] for position in triples(result)] == ["water", "appendix", "glossary"]
    assert result.extra_modules == ["appendix", "glossary"]


def test_a_book_that_lists_no_modules_has_no_extra_ones() -> None:
    result = numbered("water/a.md", "appendix/b.md")
    assert [position[0] for position in triples(result)] == ["water", "appendix"]
    assert (result.extra_modules, result.warnings) == ([], [])


def test_front_matter_may_name_the_module_that_the_path_fails_to_name() -> None:
    result = numbered("module-9-cooking/chapter-1/01-a.md", profile=ROBOTICS, **{"01_a": Facts(module="vla")})
    assert triples(result) == [("vla", 1, 1)]
    assert not result.warnings


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (
            "module-1-ros2/chapter-21/01-a.md",
            "chapter number is 21; in this book it must be between 0 and 20",
        ),
        (
            "module-1-ros2/chapter-1/16-a.md",
            "lesson number is 16; in this book it must be between 0 and 15",
        ),
    ],
)
def test_a_number_outside_the_books_range_is_refused_with_the_range(path: str, said: str) -> None:
    result = number_lessons([Unplaced(source_file=path, path=path)], ROBOTICS)
    [broken] = result.unreadable
    assert (broken.source_file, broken.reason) == (path, "number-out-of-range")
    assert said in broken.message


def test_a_book_without_modules_takes_any_number() -> None:
    assert not numbered("chapter-999/999-a.md").unreadable


def test_a_number_of_the_front_matter_outside_the_books_range_is_ignored_with_a_warning() -> None:
    result = numbered("module-1-ros2/chapter-2/x.md", profile=ROBOTICS, x=Facts(chapter=21, lesson=3))
    assert triples(result) == [("ros2", 2, 3)]
    assert not result.unreadable
    assert result.warnings == [
        "module-1-ros2/chapter-2/x.md: chapter is 21; allowed in this book: 0 to 20. The value was ignored."
    ]


def test_counted_numbers_stay_in_range() -> None:
    result = numbered(*(f"ros2/c{chapter}/x.md" for chapter in range(30)), profile=ROBOTICS)
    assert max(position[1] for position in triples(result)) == 20
    assert not result.unreadable
    result = numbered(*(f"ros2/{lesson}x.md" for lesson in range(30)), profile=ROBOTICS)
    assert max(position[2] for position in triples(result)) == 15


def test_an_audience_comes_from_front_matter_then_rules_then_defaults() -> None:
    profile = BookProfile.model_validate(
        {
            "defaults": {"hardware_tier": 2, "proficiency_level": "C1", "layer": "L4"},
            "rules": [
                {"path": "labs/**", "hardware_tier": 3},
                {"path": "**", "hardware_tier": 4, "proficiency_level": "B2"},
            ],
        }
    )
    assert audience_of("labs/x.md", Facts(layer="L2"), profile) == Audience(
        hardware_tier=3, proficiency_level="B2", layer="L2"
    )
    assert audience_of("x.md", Facts(hardware_tier=1), profile) == Audience(
        hardware_tier=1, proficiency_level="B2", layer="L4"
    )


@pytest.mark.parametrize(
    ("front_matter", "facts"),
    [
        ({"title": "  A\n title\x07 "}, Facts(title="A title")),
        ({"title": 1.5}, Facts(title="1.5")),
        ({"title": ["x"], "slug": {"a": 1}, "id": True}, Facts()),
        ({"chapter": "3", "lesson": " 04 "}, Facts(chapter=3, lesson=4)),
        ({"chapter": "Basics", "lesson": 1.5}, Facts()),
        ({"chapter": True}, Facts()),
        ({"module": 2}, Facts(module="module-2")),
        ({"module": "ROS 2!"}, Facts(module="ros-2")),
        ({"sidebar_position": float("nan")}, Facts()),
        ({"sidebar_position": 10**400}, Facts()),
        ({"sidebar_position": 2}, Facts(sidebar_position=2.0)),
        ({"draft": True, "unlisted": True}, Facts(is_draft=True, is_unlisted=True)),
        ({"draft": "true"}, Facts()),
        ({"hardware_tier": "2", "proficiency_level": " b1", "layer": "l2"},
         Facts(hardware_tier=2, proficiency_level="B1", layer="L2")),
        ({"hardware_tier": None, "layer": None}, Facts()),
        ({"headless": True}, Facts(is_draft=True)),
        ({"build": {"render": "never"}}, Facts(is_draft=True)),
        ({"date": "2024-05-03T10:00:00Z", "weight": 3}, Facts(published_on=date(2024, 5, 3), weight=3.0)),
        ({"date": datetime(2024, 5, 3, 10, tzinfo=UTC)}, Facts(published_on=date(2024, 5, 3))),
        ({"date": "soon"}, Facts()),
    ],
)  # fmt: skip
def test_facts_are_of_known_types(front_matter: dict[str, object], facts: Facts) -> None:
    assert facts_from(front_matter) == facts


@pytest.mark.parametrize(
    ("front_matter", "said"),
    [
        ({"hardware_tier": 5}, "hardware_tier is 5; allowed: 1, 2, 3, 4."),
        ({"chapter": -1}, "chapter is -1; allowed: 0 to 1,000,000."),
        ({"lesson": 10**5000}, "lesson is too large; allowed: 0 to 1,000,000."),
        ({"proficiency_level": "A2-B1"}, "proficiency_level is 'A2-B1'; allowed: A1, A2, B1, B2, C1, C2."),
        ({"hardware_tier": True}, "hardware_tier is True; allowed"),
        ({"proficiency_level": "D1"}, "proficiency_level is 'D1'; allowed: A1, A2, B1, B2, C1, C2."),
        ({"layer": 2}, "layer is 2; allowed: L1, L2, L3, L4."),
        ({"layer": [["x"] * 1000] * 1000}, "layer is a list; allowed"),
    ],
)
def test_a_value_that_is_not_allowed_is_named_with_those_that_are(front_matter: dict[str, object], said: str) -> None:
    facts = facts_from(front_matter)
    assert replace(facts, problems=()) == Facts()
    [problem] = facts.problems
    assert said in problem


@pytest.mark.parametrize(
    ("text", "made"),
    [("Robots & Arms", "robots-arms"), ("Überblick", "uberblick"), ("--a--", "a"), ("x" * 80, "x" * 64)],
)
def test_a_slug_keeps_what_can_be_read(text: str, made: str) -> None:
    assert slug(text) == made


def test_names_without_latin_letters_get_different_slugs() -> None:
    made = {slug("机器人"), slug("手臂"), slug("..")}
    assert len(made) == 3
    assert all(is_slug(one) for one in made)


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("01-setup", (1, "setup")),
        ("3. arms", (3, "arms")),
        ("2021-08-21-x", (None, "2021-08-21-x")),
        ("8.0-x", (None, "8.0-x")),
        ("12", (None, "12")),
        ("setup", (None, "setup")),
    ],
)
def test_a_number_prefix_is_neither_a_date_nor_a_version(name: str, prefix: tuple[int | None, str]) -> None:
    assert number_prefix(name) == prefix


def test_names_sort_as_people_count() -> None:
    assert sorted(["10-x", "2-x", "B", "a", "1-x"], key=natural_key) == ["1-x", "2-x", "10-x", "a", "B"]


def test_labels_and_lines_are_clean() -> None:
    assert label("01-robot_arms") == "Robot arms"
    assert one_line("a\x00\x1b[31m b" + "c" * 900, 10) == "a [31m bcc"
    assert one_line(5) == ""


def test_positions_are_values() -> None:
    assert numbered("x.md").positions["x.md"].position == LessonPosition(module="main", chapter=0, lesson=1)
