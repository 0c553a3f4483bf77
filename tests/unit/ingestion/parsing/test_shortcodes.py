"""Shortcodes of Hugo are rendered where it is obvious, else dropped; never shown raw."""

import pytest

from bookwise.ingestion.parsing.shortcodes import without_shortcodes
from tests.support.parsed import shown, texts


@pytest.mark.parametrize(
    ("source", "shown_texts"),
    [
        ('See [nodes]({{< relref "nodes.md#top" >}}).', ["See [nodes](nodes.md#top)."]),
        ('<a href="{{< ref "nodes.md" >}}">nodes</a>', ["nodes"]),
        ('See [nodes][n].\n\n[n]: {{< ref "nodes.md" >}}', ["See [nodes][n].", "[n]: nodes.md"]),
        ('See {{< ref "missing.md" >}} and {{% relref path="gone" %}}.', ["See  and ."]),
        ('{{< figure src="a.png" title="An arm" caption="It moves" >}}', ["An arm. It moves"]),
        ("{{< note >}}Mind the gap{{< /note >}}", ["Note:", "Mind the gap"]),
        ('{{% notice tip "Read this" %}}\nText\n{{% /notice %}}', ["Tip: Read this", "Text"]),
        ('{{% alert title="Hot" color="warning" %}}\nText\n{{% /alert %}}', ["Warning: Hot", "Text"]),
        ('{{< tabs "os" >}}{{< tab "macOS" >}}\nUse brew\n{{< /tab >}}{{< /tabs >}}', ["macOS:", "Use brew"]),
        ("A {{< unknown a=1 >}}word{{< /unknown >}} stays", ["A word stays"]),
        ("Video: {{< youtube w7Ft2ymGmfc >}}", ["Video:"]),
        ('A {{< glossary_tooltip text="pod" term_id="pod" >}}.', ["A pod."]),
        ("A {{< comment >}}hidden {{< x >}}{{< /comment >}}B", ["A B"]),
        ("{{< x `raw >` >}}A", ["A"]),
        ("Write {{</* note */>}}.", ["Write {{< note >}}."]),
    ],
)
def test_a_shortcode_becomes_what_the_page_shows(source: str, shown_texts: list[str]) -> None:
    assert texts(source, site="hugo") == shown_texts


def test_highlighted_code_is_code() -> None:
    text = '{{< highlight python "linenos=table" >}}\nx = 1\n{{< /highlight >}}\nText'
    assert shown(text, site="hugo") == [("code", "```python\n\nx = 1\n\n```"), ("text", "Text")]


def test_other_sites_have_no_shortcodes() -> None:
    assert texts("Write {{< note >}}.", site="mkdocs") == ["Write {{< note >}}."]


def test_a_hostile_text_costs_no_more_than_a_long_one() -> None:
    text = "{{< a " * 200_000
    assert without_shortcodes(text) == text
    assert len(without_shortcodes("{{< a >}}" * 100_000)) < 10
