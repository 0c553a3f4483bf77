"""Translations are told from lessons whose folder only looks like a language."""

import pytest

from bookwise.ingestion.discovery.mirrors import language_of, translations


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("fr", "fr"),
        ("pt-BR", "pt"),
        ("zh_Hant", "zh"),
        ("go", ""),
        ("src", ""),
        ("FR", ""),
        ("docs", ""),
        ("", ""),
    ],
)
def test_languages_have_known_codes(name: str, language: str) -> None:
    assert language_of(name) == language


def test_editions_side_by_side_are_mirrors_of_the_books_own() -> None:
    names = ["docs/en/a.md", "docs/en/b.md", "docs/de/a.md", "docs/de/nur-deutsch.md", "docs/ja/b.md"]
    assert translations(names, "en") == {
        "docs/de/a.md": "docs/en/a.md",
        "docs/de/nur-deutsch.md": "",
        "docs/ja/b.md": "docs/en/b.md",
    }
    assert set(translations(names, "de")) == {"docs/en/a.md", "docs/en/b.md"}


def test_a_language_folder_among_the_lessons_it_repeats_is_a_mirror() -> None:
    names = ["a.md", "b.md", "x/c.md", "fr/a.md", "fr/b.md", "fr/x/c.md"]
    assert set(translations(names, "en")) == {"fr/a.md", "fr/b.md", "fr/x/c.md"}


def test_a_topic_that_looks_like_a_language_stays() -> None:
    assert translations(["index.md", "ml/index.md", "ml/svm.md", "vi/modes.md", "it/index.md"], "en") == {}


def test_the_only_edition_is_no_mirror() -> None:
    assert translations(["docs/de/a.md", "docs/de/b.md"], "en") == {}
    assert translations(["i18n/de/a.md"], "en") == {}


@pytest.mark.parametrize("folder", ["i18n", "translations", "locales"])
def test_folders_of_translations_hold_translations(folder: str) -> None:
    names = ["docs/a.md", f"{folder}/fr/plugin/current/a.md", f"{folder}/intro.md", f"{folder}/en/x.md"]
    assert set(translations(names, "en")) == {f"{folder}/fr/plugin/current/a.md"}


def test_endings_name_languages_too() -> None:
    names = ["a.md", "a.fr.md", "b.en.md", "b.pt-BR.md", "c.fr.md", "d.min.md", "a.en.md"]
    assert translations(names, "en") == {"a.fr.md": "a.md", "b.pt-BR.md": "b.en.md"}
