"""A plain folder is read as people count."""

from pathlib import Path

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
