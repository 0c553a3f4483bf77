"""Word → the words that say the opposite, in the prose of technical books."""

from collections import defaultdict
from functools import lru_cache

from bookwise.text.words import stem

#: Each line has one pair of meanings. A word on one side is an opposite of every word on the other side.
_PAIRS = """
more greater / less fewer lower smaller
most / least fewest
many several multiple numerous / few single
much / little
all every everything everyone always / none nothing nobody never
always usually often frequently / never rarely seldom
before / after
previous prior preceding / next following subsequent
earlier sooner / later
early / late
first initial / last final
above over exceed / below under beneath
maximum max upper longest largest highest / minimum min lower shortest smallest lowest
high higher highest tall / low lower lowest
large larger largest big bigger biggest huge great / small smaller smallest tiny little minor
long longer longest / short shorter shortest brief
fast faster fastest quick quicker quickest quickly rapid rapidly / slow slower slowest slowly
good better best well / bad worse worst poor badly poorly
strong stronger strongest / weak weaker weakest
hard harder hardest difficult complicated complex / easy easier easiest simple simpler simplest trivial
heavy heavier / light lighter lightweight
hot hotter warm / cold colder cool
wide wider broad / narrow narrower
deep deeper / shallow shallower
near nearer close closer closest nearest / far farther further distant farthest furthest
cheap cheaper cheapest inexpensive / expensive costly dear
old older oldest / new newer newest young younger recent latest modern
rich richer / poor poorer
dense / sparse
full / empty
increase grow rise raise gain improve expand / decrease shrink fall reduce drop lose decline lower diminish worsen
enlarge accelerate strengthen / shrink slow weaken
add append insert attach / remove delete drop detach subtract
install installation / uninstall remove removal
plus / minus
multiply / divide
start begin launch / stop end finish halt terminate
open / close closed
enable enabled allow permit activate / disable disabled forbid forbidden prohibit deny block prevent deactivate disallow
accept accepted / reject rejected refuse decline
include included including contain / exclude excluded excluding omit lack
create build construct / destroy delete
allocate / free deallocate release
lock / unlock
load / unload
send sent transmit emit / receive received
publish publisher / subscribe subscriber subscription
client / server
producer / consumer
read reader / write writer
input / output
upload / download
push / pull
encode encoder / decode decoder
encrypt / decrypt
serialize / deserialize
compress / decompress
show shown display visible / hide hidden invisible
succeed success successful pass passes / fail failed failure
buy buyer / sell seller
supply / demand
profit / loss
import / export
true / false
correct right / incorrect wrong
up upward upwards / down downward downwards
left / right
front forward forwards / back backward backwards
top / bottom
inside internal inner within / outside external outer
horizontal / vertical
row / column
ascending / descending
parent ancestor / child children descendant
leader / follower
upstream / downstream
local / global remote
private / public
static / dynamic
constant fixed / variable
signed / unsigned
synchronous synchronously sync blocking / asynchronous asynchronously async nonblocking non-blocking
sequential sequentially serial / parallel concurrent concurrently
manual manually / automatic automatically
explicit explicitly / implicit implicitly
required mandatory necessary compulsory obligatory / optional unnecessary
same identical equal alike / different differ unequal distinct
similar / different dissimilar
common / rare uncommon
general / specific
abstract / concrete
relative / absolute
positive / negative
active / passive inactive
lazy lazily / eager eagerly
safe safely / unsafe dangerous
able / unable
likely / unlikely
even / odd
complete whole entire / incomplete partial
accurate precise exact exactly / inaccurate imprecise approximate approximately
continuous / discrete
deterministic / random stochastic nondeterministic
convex / concave
numerator / denominator
important / unimportant irrelevant
useful helpful / harmful
advantage benefit / disadvantage drawback
strength / weakness
real physical actual / virtual simulated simulation
wired / wireless
online / offline
open-loop / closed-loop
enter / exit leave
both / neither
together / apart separately
join merge combine / split separate divide
agree / disagree
wrap / unwrap
pack / unpack
borrow borrowed / own owned
compile-time / runtime run-time
find found discover / lose lost miss
move change / stay remain
absent missing / present
exclusive / inclusive
incoming / outgoing
past former / future
background / foreground
upgrade / downgrade
keep preserve / discard lose
basic / advanced
inherit / override
ascend / descend
expand / collapse
maximize / minimize
overestimate / underestimate
overflow / underflow
""".strip()


def _table() -> dict[str, frozenset[str]]:
    table: defaultdict[str, set[str]] = defaultdict(set)
    for line in _PAIRS.splitlines():
        left, right = ([stem(word) for word in side.split()] for side in line.split("/"))
        for word in left:
            table[word].update(right)
        for word in right:
            table[word].update(left)
    return {word: frozenset(others - {word}) for word, others in table.items()}


_TABLE = _table()
_PREFIXES = ("un", "non", "non-", "in", "im", "ir", "il", "dis", "mis")
_SHORTEST_ROOT = 5  #: letters after a prefix: `undefined`, but `import` is not the opposite of `port`


@lru_cache(maxsize=16_384)
def opposites(word: str) -> frozenset[str]:
    """Returns what would be an opposite of a stemmed word: listed ones, and itself with or without a negative prefix or
    ending. They are stemmed, too, and need not exist."""
    prefixed = [prefix + word for prefix in _PREFIXES if len(word) >= _SHORTEST_ROOT]
    roots = [word.removeprefix(prefix) for prefix in _PREFIXES if word.startswith(prefix)]
    endings = [
        word.removesuffix(end) + other for end, other in (("less", "ful"), ("ful", "less")) if word.endswith(end)
    ]
    return _TABLE.get(word, frozenset()).union(prefixed, endings, (r for r in roots if len(r) >= _SHORTEST_ROOT))
