"""Messages for callers do not tell where files are."""

import pytest

from bookwise.api.hidden_paths import hide_paths

SOURCE = "/srv/My Books/clone/docs"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"The folder {SOURCE} could not be updated", "The folder docs could not be updated"),
        (f"There is no folder {SOURCE}.", "There is no folder docs."),
        ("cannot lock '/srv/My Books/clone/.git/index.lock'", "cannot lock '.git/index.lock'"),
        ("cannot lock /srv/My Books: no", "cannot lock My Books: no"),
        ("The database /var/lib/bookwise/bookwise.db is damaged", "The database bookwise.db is damaged"),
        ("`git -C /var/lib/clone/ pull`", "`git -C clone pull`"),
        (
            "unable to access 'http://127.0.0.1:1/owner/book.git/': no",
            "unable to access 'http://127.0.0.1:1/owner/book.git/': no",
        ),
        ("ssh://git@server.example/srv/book.git", "ssh://git@server.example/srv/book.git"),
        ("docs/first.md is a link and/or a device", "docs/first.md is a link and/or a device"),
        ("/srv/My Books/clone/docs-old is not docs", "docs-old is not docs"),
        ("", ""),
    ],
)
def test_the_last_name_of_a_path_is_enough(text: str, shown: str) -> None:
    assert hide_paths(text, SOURCE, "https://book.example/srv") == shown
