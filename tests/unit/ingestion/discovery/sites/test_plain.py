"""A plain folder is read as people count."""

from pathlib import Path

from bookwise.ingestion.discover import read_lesson
from bookwise.ingestion.parse import parse
from tests.support.folders import BASE, found, names, rules, urls


def test_lessons_come_as_people_count(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "10-x.md": "1",
        "2-x.md": "2",
        "README.md": "3",
        "b/lesson10.rst": "4",
        "b/lesson9.ipynb": "{}",
        "b/index.mdx": "6",
        "A.markdown": "7",
        "B.MD": "8",
    }
    site = found(tmp_path, files)
    assert site.site == "folder"
    assert names(site) == [
        "README.md",
        "2-x.md",
        "10-x.md",
        "A.markdown",
        "b/index.mdx",
        "b/lesson9.ipynb",
        "b/lesson10.rst",
        "B.MD",
    ]
    assert {file.format for file in site.files} == {"markdown", "mdx", "rst", "notebook"}


def test_papers_of_the_project_are_no_lessons(tmp_path: Path) -> None:
    papers = [
        "LICENSE.md",
        "license.md",
        "sub/CHANGELOG.md",
        "code-of-conduct.md",
        "lesson-template.md",
        "sub/_template.mdx",
        "sub/.hidden.md",
        "page.html",
    ]
    files: dict[str, str | bytes] = {name: name for name in [*papers, "a.md", "sub/Contributing.rst", ".md"]}
    site = found(tmp_path, files | {"data.csv": "x", "sub/templates.md": "t", "notes.txt": "x"})
    assert rules(site) == dict.fromkeys(papers, "not-a-lesson")
    assert names(site) == [".md", "a.md", "sub/Contributing.rst", "sub/templates.md"]


def test_addresses_have_no_extension(tmp_path: Path) -> None:
    site = found(
        tmp_path,
        {
            "bookwise.toml": f'[book]\nbase_url = "{BASE}"\nlanguage = "en"',
            "a/b c.md": "1",
            "a/index.md": "2",
            "a/d.md": "---\nslug: e\n---\n",
            "a/f.md": "---\nslug: /g\n---\n",
        },
    )
    assert urls(site) == {
        "a/b c.md": BASE + "a/b%20c",
        "a/index.md": BASE + "a/",
        "a/d.md": BASE + "a/e",
        "a/f.md": BASE + "g",
    }


def test_a_site_that_holds_few_of_the_lessons_is_not_the_book(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {f"{number}.md": f"{number}" for number in range(5)}
    site = found(tmp_path, files | {"examples/site/mkdocs.yml": "", "examples/site/docs/x.md": "x"})
    assert site.site == "folder"
    assert len(site.files) == 6


def test_partials_and_summaries_are_no_lessons_of_their_own(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a.md": "1",
        "_partial.mdx": "2",
        "a.summary.md": "3",
        "part/_index.md": "4",
        "_posts/b.md": "5",
    }
    site = found(tmp_path, files)
    assert rules(site) == {"_partial.mdx": "partial", "a.summary.md": "not-a-lesson"}
    assert names(site) == ["_posts/b.md", "a.md", "part/_index.md"]


def test_a_repository_of_readmes_gives_lessons_and_nothing_of_its_program(tmp_path: Path) -> None:
    lessons = ["README.md", "1-intro/README.md", "2-nodes/README.md", "2-nodes/tests/README.md", "docs/faq.md"]
    others = [
        "LICENSE.md",
        "CHANGELOG.md",
        ".github/ISSUE.md",
        "node_modules/x/README.md",
        "tests/README.md",
        "vendor/y/README.md",
    ]
    files: dict[str, str | bytes] = {name: f"# {name}\n" for name in [*lessons, *others]}
    site = found(tmp_path, files | {"package.json": "{}", "src/main.js": "x"})
    assert names(site) == lessons
    assert rules(site) == dict.fromkeys(
        ["LICENSE.md", "CHANGELOG.md", ".github/", "node_modules/", "tests/", "vendor/"], "not-a-lesson"
    )


def test_a_chapter_about_tests_is_read_where_there_is_no_program(tmp_path: Path) -> None:
    assert names(found(tmp_path, {"a.md": "1", "tests/b.md": "2"})) == ["a.md", "tests/b.md"]


def test_a_folder_of_html_pages_is_the_export_of_a_generator(tmp_path: Path) -> None:
    page = "<title>T</title><nav>Menu</nav><main><h1>{0}</h1><p>Text of {0}.</p></main><footer>Made with X</footer>"
    files: dict[str, str | bytes] = {
        "bookwise.toml": f'[book]\nbase_url = "{BASE}"',
        "README.md": "How to deploy",
        "index.html": page.format("Start"),
        "guide/setup.html": page.format("Setup"),
        "guide/index.html": page.format("Guide"),
        "404.html": page.format("Not found"),
        "search.html": page.format("Search"),
        "_static/x.css": "",
    }
    site = found(tmp_path, files)
    assert urls(site) == {
        "index.html": BASE,
        "guide/index.html": BASE + "guide/",
        "guide/setup.html": BASE + "guide/setup.html",
    }
    assert rules(site) == dict.fromkeys(["404.html", "search.html", "README.md"], "not-a-lesson")
    setup = next(file for file in site.files if file.source_file == "guide/setup.html")
    lesson = parse(setup, read_lesson(tmp_path, setup))
    assert [block.text for section in lesson.sections for block in section.blocks] == ["# Setup", "Text of Setup."]
