"""The patterns that show what a question asks for. Each is searched for in the sentences that ask, whatever their case.

General rules of English, none made for a single question; compared with the readers' questions and with samples of the
other sets (docs/benchmarks.md, Readers). No pattern repeats a repetition, so the longest question takes milliseconds.
"""

import re
from typing import Literal, TypeAlias

QuestionKind: TypeAlias = Literal[
    "definition",
    "how-to",
    "steps",
    "list",
    "difference",
    "why",
    "code",
    "command",
    "value",
    "table",
    "yes-no",
    "troubleshooting",
    "keyword",
    "other",
]
ValueKind: TypeAlias = Literal["number", "time", "person", "place", "any"]

#: The name of a language in a question → its name in the info line of a code block.
CODE_LANGUAGES = {
    "bash": "bash",
    "c": "c",
    "c++": "cpp",
    "cmake": "cmake",
    "cpp": "cpp",
    "css": "css",
    "dockerfile": "dockerfile",
    "html": "html",
    "java": "java",
    "javascript": "javascript",
    "js": "javascript",
    "json": "json",
    "latex": "latex",
    "py": "python",
    "python": "python",
    "rs": "rust",
    "rust": "rust",
    "sh": "bash",
    "shell": "bash",
    "sql": "sql",
    "toml": "toml",
    "ts": "typescript",
    "typescript": "typescript",
    "xml": "xml",
    "yaml": "yaml",
    "yml": "yaml",
}

_OPENING = r"^\W*(?:(?:so|and|but|ok|okay|hi|hello|please|then|now)\b[\s,]*)*"
_REQUEST = rf"{_OPENING}(?:(?:can|could|would) you (?:please )?)?(?:please )?"
_I = r"(?:i|we|you|one|my \w+|our \w+)"
_QUESTION_WORD = r"(?:what|how|why|when|where|which|who)"
_AUXILIARY = (
    r"(?:is|are|was|were|do|does|did|can|could|will|would|should|may|must|has|have|had)(?:n['’]t)?"
    r"(?! you (?:please )?(?:show|list|give|explain|tell|describe|write|help|recommend))"
)
_PREPOSITION = r"(?:of|in|for|to|on|by|with|at|from|about|if)"
#: A word that looks like a plural noun: `which attributes …`, not `what happens …`.
_PLURAL = (
    r"(?!(?:is|was|does|has|this|these|those|happens|means|makes|causes|counts|comes|goes|gives|takes|gets|needs|always"
    r"|us|its|as|thus)\b)\w{2,}[^sui\W]s"
)
_LIST_NOUN = (
    r"(?:types|kinds|ways|options|methods|parts|components|reasons|advantages|disadvantages|benefits|drawbacks|features"
    r"|levels|layers|modes|stages|rules|tools|formats|ingredients|requirements|things|conditions|examples)"
)
_VALUE_NOUN = (
    r"(?:default|maximum|minimum|max|min|name|number|value|size|limit|port|version|price|length|title|amount|rate"
    r"|percentage|total|average|highest|lowest|largest|smallest|longest|oldest|latest)"
)
_CODE_NOUN = r"(?:code|functions?|scripts?|snippets?|lines?|class|classes|programs?|config|configuration|examples?)"
_LANGUAGE = "(?:" + "|".join(map(re.escape, sorted(CODE_LANGUAGES, key=len, reverse=True))) + r")(?!\w)"
#: Verbs that begin a request without a question word: `install Gazebo`, `turn a folder into a project`.
_VERB = (
    r"(?:activate|add|avoid|build|call|change|check|clean|configure|connect|control|convert|copy|create|debug|delete"
    r"|deploy|disable|download|enable|estimate|export|find|format|generate|get|handle|implement|import|install|launch"
    r"|let|limit|load|make|measure|merge|move|open|override|parse|plot|print|publish|put|read|record|redirect|remove"
    r"|rename|replace|reset|restrict|return|run|save|see|send|serve|set|simulate|solve|sort|split|start|stop|store"
    r"|subscribe|switch|test|train|turn|undo|uninstall|update|upgrade|upload|use|validate|verify|view|visualize|wait)"
)
_FAILURE = (
    r"(?:crash(?:es|ed|ing)?|fail(?:s|ed|ing)|hangs|hung|freezes|froze|dies|died|breaks|broke|stuck|complains|refuses"
    r"|aborts|panics|(?:is|gets|got|was) (?:killed|stuck|cut off|rejected|denied|ignored|lost))"
)
_DOES_NOT = r"(?:do|does|did|is|are|ca|can|could|wo|will|was|has)(?:n['’]t|nt|not| not| never)"
_WORKS = (
    r"(?:work|start|run|find|load|show|connect|build|compile|respond|open|appear|move|receive|see|found|recognized|let)"
)
#: A failure is stated, not asked for: `who led them after Braddock died?` asks for something else.
_STATEMENT = rf"^(?!.*\b(?:what(?! if)|which|who|whom)\b|\W*(?:how|where)\b|{_AUXILIARY} \w+ error\b).*"

#: The first kind with a pattern that is found counts.
_KINDS: tuple[tuple[QuestionKind, tuple[str, ...]], ...] = (
    (
        "why",
        (
            rf"{_OPENING}why\b",
            r"^how come\b",
            rf"{_OPENING}what(?:'s| is| are)(?: the)? (?:reason|point|purpose|motivation|rationale)",
        ),
    ),
    (
        "troubleshooting",
        (
            r"\bhow (?:do|can|to|should)(?: (?:i|we|you))? (?:fix|solve|resolve|debug|troubleshoot)\b",
            r"\berror\[\w+\]:|(?:error|exception):|\btraceback\b",
            r"(?:^|[,.;:-] ?|\b(?:and|but|when|then) )(?:i|we) (?:get|got|receive|keep getting) (?:an?|the|this|no)\b",
            r"\b(?:gives?|throws?|returns?|shows?|answers|prints) (?:me |with )?(?:an? |some |the )?(?:\w+ )?errors?\b",
            r"\b(?:gets?|got|returns?|answers?|responds?)(?: with)? (?:an? )?[45]\d\d\b",
            r"\bpermission denied\b",
            r"\bwhat(?:'s| is| am i doing| went) wrong\b|\bwhat now\b",
        ),
    ),
    (
        "difference",
        (
            r"\bdifferen(?:ces?|tiate)\b|\bdiffers?\b|\bdistinguish\w*\b",
            r"\bdifferent (?:from|than|to|between)\b|\b(?:what|what's|what is|how is|how are) different\b",
            r"\bcompar(?:e|ed|ing)\b|\bcomparison (?:of|between|with)\b|\bversus\b|\bvs\b|\bpros and cons\b",
            r"\bbetter than\b|\brather than\b|\binstead of\b",
            r"^(?:when|which|what(?! if)).{0,60}\bor\b(?! more)|\bor\b.{0,60}\bwhat changes\b",
            r"\bwhen (?:to use )?which\b|^when\b.{1,60}\bwhen\b",
        ),
    ),
    (
        "steps",
        (
            r"\bstep[ -]by[ -]step\b|\bwalk me through\b|\bin (?:what|which) order\b",
            r"\b(?:what|which)(?: are)?(?: the)?(?: \w+)? steps\b|\bsteps (?:to|for|of|are)\b",
            r"\bwhat(?:'s| is) the (?:procedure|process|workflow) (?:for|to)\b",
        ),
    ),
    ("code", (r"\b(?:snippet|boilerplate|skeleton|(?:sample|example) code|code (?:sample|example))\b",)),
    (
        "command",
        (
            r"\b(?:which|what)(?:'s| is)?(?: the| an?)?(?: \w+)? command\b(?! line)|\b(?:which|what) commands\b",
            r"(?<!\bin )\bcommand (?:that|to|for|which)\b|\bone-?liner\b",
            rf"\bwhat (?:do|must|should|can) {_I} (?:have to |need to )?(?:type|run|enter)\b",
        ),
    ),
    ("how-to", (rf"{_REQUEST}(?:show|tell|explain(?: to)?|teach)(?: me)? how\b",)),
    (
        "code",
        (
            rf"{_REQUEST}(?:show|give|write)(?: me)?\b(?!.*\b(?:list|table|overview|summary|reasons?|names?)\b)",
            rf"\b{_LANGUAGE} {_CODE_NOUN} (?:for|that|to|which|of|with|in)\b|^{_LANGUAGE}\s*:",
            r"\bcode (?:for|that|to)\b",
            rf"\bwhat (?:do|must|should|can|does) {_I} (?:have to |need to )?(?:put|write|add)\b",
        ),
    ),
    ("table", (r"\b(?:as|in|into|of) (?:a |the )?table\b|\btable (?:of|with)\b",)),
    (
        "how-to",
        (
            rf"\bhow (?:do|can|should|would|could|must|might) {_I}\b|\bhow to\b",
            rf"^(?:only |just )?{_VERB}\b(?!.{{0,60}}\?$)",
            rf"^(?:only |just )?(?!{_AUXILIARY}\b|{_QUESTION_WORD}\b|{_PREPOSITION}\b|(?:name|list|describe|explain)\b)"
            r"[a-z]+(?:[^\Ws]|ss) (?:an?|the|my|our|all|every|each) (?!.*\?$)",  # any verb: `ferment the dough`
            rf"\bwhat (?:do|must|should|can) {_I} (?:(?:have|need) to )?(?:do|set|change|install)\b",
            rf"\bwhere (?:can|do|should) {_I} (?:{_VERB}|find)\b|[,.;] can (?:i|we) {_VERB}\b",
            r"\b(?:is there|any) (?:an? |\w+ )?way (?:to|of)\b",
            r"(?:^|[.;,] )(?:i|we) (?:want|need|would like|am trying|are trying|try) to\b",
        ),
    ),
    (
        "value",
        (
            r"\bdefault [\w-]+(?: \w+)?(?: (?:of|for|in) .{1,60})?\??$",
            rf"\b(?:what|which)(?:'s| is| was) the {_VALUE_NOUN}\b",
            r"\b(?:what|which)\b.{1,80}\b(?:called|named|name)\??$|^name an?\b",
        ),
    ),
    ("definition", (rf"{_OPENING}what are (?!the |some |all |its |their )[^\s,]+(?: [^\s,]+){{0,3}}\s*$",)),
    (
        "list",
        (
            r"\b(?:what|which) (?:are|were)\b|\bwhat else\b",
            r"\b(?:what|which) (?:the )?(?:two|three|four|five|six) \w+",
            rf"{_REQUEST}(?:list|enumerate|(?:show|give)(?: me)? (?:the |a |all )?(?:list|names|overview))\b",
            r"\bname (?:the|all|some|two|three|four|five|\d)\b",
            rf"\b(?:what|which) (?:\w+ ){{0,3}}{_LIST_NOUN}\b",
            rf"^(?:(?:all|the|some|possible|available) )?(?:\w+ )?{_LIST_NOUN} {_PREPOSITION}\b",
            rf"{_OPENING}(?:\w+ ){{0,2}}(?:what|which)"
            rf"(?: (?!{_AUXILIARY}\b|{_PREPOSITION}\b|(?:the|an?|makes)\b)\w+){{0,3}}? {_PLURAL}\b",
            rf"^(?!.*\?)(?:\w+ ){{0,2}}{_PLURAL} (?:every|that|of|for|from|in|i|we|you) \w+",
            rf"\bwhat (?:do|must|should) {_I} need\b|\bwhat is (?:needed|required)\b",
        ),
    ),
    (
        "why",
        (
            r"\bwhy(?:\?|$)|\bwhy (?:do|does|is|are|should|would|did|was|were|can)\b",
            r"\bwhat (?:causes?|is the cause)\b|\bfor what (?:reason|purpose)\b",
        ),
    ),
    (
        "definition",
        (
            rf"{_OPENING}(?:what|who)(?:'s| is| are| was| were)(?: exactly)? (?:an? |the )?\S+(?: \S+){{0,3}}\s*$",
            rf"{_OPENING}what(?:'s| is| are) an? \S+(?:\s+\S+){{0,8}}\s*$",
            rf"{_REQUEST}define\b|\bdefinition\b|^(?:explain|describe)\b|^tell me about\b|\bwhat is meant by\b",
            r"\bwhat (?:exactly )?(?:does|do) .{1,60} (?:mean|stand for|do)\b|\bmeaning(?: of\b|\s*\??$)",
            r"\bwhat (?:exactly )?counts as\b",
            rf"^\W*(?!{_AUXILIARY}|{_QUESTION_WORD}\b)(?:[\w+#./-]+ ){{0,2}}[\w+#./-]+\s*\?$",  # `REP?`
        ),
    ),
    (
        "troubleshooting",
        (
            rf"{_STATEMENT}\b{_FAILURE}\b",
            rf"{_STATEMENT}\b{_DOES_NOT} {_WORKS}\w*\b",
            rf"{_STATEMENT}\b(?:receive|get|see|show|print)s? (?:no|nothing)\b",
            rf"{_STATEMENT}\b(?:not|nothing is|no longer) (?:working|found|recognized|showing|responding)\b",
            rf"{_STATEMENT}\b(?:out of memory|segfault|timed out)\b",
            rf"{_STATEMENT}\b(?:errors?|problems?|issues?|conflicts?) (?:with|after|when|while|right after|on)\b",
            rf"{_STATEMENT}\berror\b",
        ),
    ),
    ("yes-no", (rf"{_OPENING}{_AUXILIARY}\s",)),
    ("value", (rf"{_OPENING}(?:\w+ )?(?:what|which) (?!(?:{_AUXILIARY}|if|about|happens)\b)\w+",)),
    ("keyword", (r"^\W*(?:[\w+#./:@-]+[\s,]+){0,2}[\w+#./:@-]+\W*$",)),
)
_VALUES: tuple[tuple[ValueKind, str], ...] = (
    (
        "number",
        r"\bhow (?:many|much|long|far|fast|large|big|old|tall|high|often|quickly|late|early|soon|deep|heavy|wide)\b",
    ),
    ("number", r"\bwhat (?:percentage|percent|number|amount|share|rate|size|port|version)\b"),
    (
        "time",
        r"\bwhen (?:did|was|were|is|does|do|will|has)\b|\b(?:what|which) (?:year|century|date|day|month|decade)\b",
    ),
    ("person", r"^\W*(?:who|whom|whose)\b|\b(?:what|which) (?:person|king|queen|author|scientist)\b"),
    ("place", r"\bwhere (?:is|are|was|were|did|do|does|can)\b|\b(?:what|which) (?:country|city|state|place|region)\b"),
)

KIND_PATTERNS = tuple((kind, re.compile("|".join(patterns), re.IGNORECASE)) for kind, patterns in _KINDS)
VALUE_PATTERNS = tuple((value, re.compile(pattern, re.IGNORECASE)) for value, pattern in _VALUES)
#: The named group that matches holds the name of a language.
CODE_LANGUAGE = re.compile(
    rf"\b(?:in|using|with|as) (?P<in>{_LANGUAGE})|^\W*(?P<first>{_LANGUAGE})\s*:"
    rf"|(?<![\w./])(?P<of>{_LANGUAGE}) (?:\w+ )?(?:{_CODE_NOUN}|files?)\b|\w\.(?P<file>toml|xml|ya?ml|json|py|rs|sh)\b",
    re.IGNORECASE,
)
