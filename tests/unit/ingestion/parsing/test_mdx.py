"""MDX, and Docusaurus' Markdown → blocks: components go, their children stay."""

from tests.support.parsed import anchors, blocks, lesson, paths, shown, texts

MDX = {"site": "docusaurus", "format": "mdx"}


def test_imports_and_exports_go() -> None:
    text = """
        import Tabs from '@theme/Tabs';
        import {
          A,
          B,
        } from "./parts";
        import './style.css'
        export const answer = 42;

        export const Card = ({title}) => {
          const braces = "}";

          return <b>{title}</b>;
        };

        # Title

        import your data first, then export it.
        """
    assert texts(text, **MDX) == ["# Title", "import your data first, then export it."]


def test_an_export_whose_brackets_never_close_ends_at_a_blank_line() -> None:
    assert texts("export const a = {\n  b: 1,\n\n# Title\n\nText\n", **MDX) == ["# Title", "Text"]


def test_statements_inside_code_or_other_markdown_stay() -> None:
    assert texts("```js\nimport a from 'a';\n```\n", **MDX) == ["```js\nimport a from 'a';\n```"]
    assert texts("import a from 'a';\n", site="mkdocs") == ["import a from 'a';"]


def test_tabs_keep_their_content_with_the_label_before_it() -> None:
    text = """
        <Tabs groupId="os">
          <TabItem value="apt" label="Debian" default>

          Run `apt`.

          ```bash
          sudo apt install x
          ```

          </TabItem>
          <TabItem
            value="brew"
            attributes={{className: styles.red, note: "}"}}
          >
            Run `brew`.
          </TabItem>
          <TabItem value="win">One line.</TabItem>
        </Tabs>
        """
    assert shown(text, **MDX) == [
        ("text", "Debian:"),
        ("text", "Run `apt`."),
        ("code", "```bash\nsudo apt install x\n```"),
        ("text", "brew:"),
        ("text", "Run `brew`."),
        ("text", "win: One line."),
    ]


def test_components_go_and_their_children_stay() -> None:
    text = """
        <Box className="wide" render={() => <b>x</b>}>

        ## Inside

        Text with <Highlight color="#fff">coloured *words*</Highlight> and <Icon name="a" />.

        </Box>
        <>
        Fragment
        </>
        <Admonition type="tip" title="Did you know">Yes</Admonition>
        """
    assert texts(text, **MDX) == [
        "## Inside",
        "Text with coloured *words* and .",
        "Fragment",
        "Tip: Did you know Yes",
    ]
    assert paths(text, **MDX) == [("Inside",)]


def test_comments_go_in_both_forms() -> None:
    text = "A {/* x */} B\n\n{/* over\n\ntwo paragraphs */}\n\n<!-- html -->\n\nC\n\n```js\n{/* kept */}\n```\n"
    assert texts(text, **MDX) == ["A  B", "C", "```js\n{/* kept */}\n```"]


def test_expressions_in_the_text_stay_and_those_that_are_a_paragraph_go() -> None:
    text = "Version {siteConfig.version} of{' '}{\"this\"}.\n\n{items.map((i) => (\n  <li>{i}</li>\n))}\n\nEnd\n"
    assert texts(text, **MDX) == ["Version {siteConfig.version} of this.", "End"]


def test_a_brace_without_end_is_text() -> None:
    assert texts("{ open\n\n{/* open\n\ntext\n", **MDX) == ["{ open", "{/* open", "text"]


def test_lines_that_hold_more_than_tags_are_paragraphs() -> None:
    text = "{/* a */} <Icon />\n\n<Open a={1\n\n<Icon /> {/* open\n\n<Icon /> words <Icon/>\n"
    assert texts(text, **MDX) == ["<Open a={1", "{/* open", "words"]


def test_indentation_makes_no_code_in_mdx() -> None:
    assert shown("<div>\n\n      deep *text*\n\n      - a\n      - b\n\n</div>\n", **MDX) == [
        ("text", "deep *text*"),
        ("list", "- a\n- b"),
    ]


def test_docusaurus_reads_markdown_as_mdx_and_a_folder_does_not() -> None:
    text = "<Card a={1}>\n\ntext {/* x */}\n\n</Card>\n"
    assert texts(text, site="docusaurus") == ["text"]
    assert texts(text, site="folder")[0] == "<Card a={1}>"
    assert texts(text, site="folder", format="mdx") == ["text"]


def test_a_fence_that_only_hides_mdx_is_unwrapped() -> None:
    text = "```mdx-code-block\nimport A from 'a';\n\n<A>\n\nText\n\n</A>\n```\n"
    assert texts(text, **MDX) == ["Text"]


def test_headings_with_ids_in_comments() -> None:
    assert anchors("## Ein Titel {/* #a-title */}\n", **MDX) == ["a-title"]


def test_comparisons_and_generic_types_in_text_survive() -> None:
    assert texts("a < b and c > d, `Map<K, V>`\n", **MDX) == ["a < b and c > d, `Map<K, V>`"]


def test_tags_inside_tables_and_lists_go() -> None:
    table = "| a | b |\n|---|---|\n| <b>x</b> | {/* no */}y |\n"
    assert shown(table, **MDX) == [("table", "| a | b |\n|---|---|\n| x | y |")]
    items = "- <Icon/> item\n\n  {/* no */}\n  <Note>\n  more\n  </Note>\n"
    assert shown(items, **MDX) == [("list", "- item\n\n  more")]


def test_the_title_comes_from_the_first_heading_and_has_no_fragment() -> None:
    found = lesson("import A from 'a';\n\n# Title\n\nText\n\n## Part\n", **MDX)
    assert found.title == "Title"
    assert [(s.heading_path, s.anchor) for s in found.sections] == [((), ""), (("Part",), "part")]


def test_mermaid_and_other_code_is_untouched() -> None:
    source = "```mermaid\ngraph TD\n  A-->B\n```"
    (block,) = blocks(f"{source}\n", **MDX)
    assert (block.text, block.language) == (source, "mermaid")


def test_a_quiz_is_not_prose() -> None:
    text = """
        # Nodes

        Before

        <Quiz
          questions={[
            { question: "What is a node?", options: ["A wheel", "A process"] },

            { question: "Blank lines are allowed", options: [] },
          ]}
        />

        <ChapterQuiz title="Check">
          <Question>Is a node a wheel?</Question>

          - Yes, it is a wheel

          ```
          <Quiz
          ```
        </ChapterQuiz> After

        A `<Quiz />` is a component.
        """
    assert texts(text, **MDX) == ["# Nodes", "Before", "After", "A `<Quiz />` is a component."]


def test_a_very_long_quiz_ends_with_its_tag() -> None:
    questions = "".join(f'    {{ question: "Number {n}?", answer: "{n}" }},\n' for n in range(1000))
    text = f"Before\n\n<Quiz\n  questions={{[\n{questions}  ]}}\n/>\n\nAfter\n"
    assert texts(text, **MDX) == ["Before", "After"]


def test_a_quiz_that_never_ends_hides_nothing_else() -> None:
    assert texts("<Quiz>\n\nText\n", **MDX) == ["Text"]
    assert texts("<QuizResult>\nText\n</Other>\n", **MDX) == ["Text"]
