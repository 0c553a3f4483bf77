"""A Sphinx project is read, and nothing of it is run."""

from pathlib import Path

import pytest

from tests.support.folders import found, names, rules, urls


def test_the_configuration_is_read_and_never_run(tmp_path: Path) -> None:
    config = (
        "import os\nopen('was-run', 'w')\nproject = 'ROS'\nproject = f'{x}'\npattern = '\\d'\n"
        "html_baseurl = 'https://s.example/'\nexclude_patterns = ['old/*', 5]\nraise SystemExit\n"
    )
    site = found(
        tmp_path,
        {
            "source/conf.py": config,
            "source/index.rst": "I",
            "source/b/index.rst": "B",
            "source/b/a.rst": "A",
            "source/b/_note.rst": "N",
            "source/old/x.rst": "X",
            "README.md": "R",
        },
    )
    assert (site.site, site.title, site.base_url) == ("sphinx", "ROS", "https://s.example/")
    assert names(site) == ["source/index.rst", "source/b/index.rst", "source/b/a.rst"]
    assert urls(site)["source/b/a.rst"] == "https://s.example/b/a.html"
    assert rules(site) == {
        "source/b/_note.rst": "partial",
        "source/old/x.rst": "excluded",
        "README.md": "not-a-lesson",
    }
    assert not list(tmp_path.rglob("was-run"))


@pytest.mark.parametrize("config", ["def (", "(" * 5000, "x" * 10 + "\x0c\t!"])
def test_a_damaged_configuration_loses_only_the_title(tmp_path: Path, config: str) -> None:
    site = found(tmp_path, {"conf.py": config, "index.rst": "I"})
    assert (site.site, names(site)) == ("sphinx", ["index.rst"])
    assert "conf.py was ignored" in site.warnings[0]


def test_a_folder_of_mostly_rst_is_sphinx(tmp_path: Path) -> None:
    site = found(tmp_path, {"s/index.rst": "I", "s/a/x.rst": "X", "s/a/_y.rst": "Y", "README.md": "R"})
    assert site.site == "sphinx"
    assert names(site) == ["s/index.rst", "s/a/x.rst"]
    assert site.files[1].breadcrumb == ("A",)
