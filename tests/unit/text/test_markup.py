"""The words of a question, without its markup."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwise.text.markup import without_markup


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("<img src=x onerror='window.pwned = 1'> Who won the cup?", "Who won the cup?"),
        ("<script>alert('xss')</script>What is a node?", "What is a node?"),
        ("&lt;script&gt;alert(1)&lt;/script&gt; robots", "robots"),
        ("foo <b>bar</b>baz<br/>end", "foo bar baz end"),
        ("<!-- hidden -->seen", "seen"),
        ("a broken <img src=q onerror=1", "a broken"),
        ("# Title\n- **Calibrate** the `lidar`\n1. _now_", "Title Calibrate the lidar now"),
        ("see [the docs](https://x.example/z 'title') and https://a.example/c?d=e", "see the docs and"),
        ("![a picture](data:image/png;base64,AAAA) of it", "a picture of it"),
        ("```py\nimport os\n``` fix it", "fix it"),
        ("fix it ```py\nimport os", "fix it"),
        ("How do I use vector<int> here?", "How do I use vector<int> here?"),
        ("is a < b and c > d?", "is a < b and c > d?"),
        ("my_node_name and 2*3*4", "my_node_name and 2*3*4"),
        ("", ""),
    ],
)
def test_markup_is_removed_and_words_stay(typed: str, words: str) -> None:
    assert without_markup(typed) == words


@given(st.text(max_size=300))
def test_any_text_can_be_read(typed: str) -> None:
    assert len(without_markup(typed)) <= 2 * len(typed)
