"""Text → its numbers, in figures or words, each with its unit."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from bookwise.text.words import is_content_word, words

_NUMERALS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
nineteen twenty
"""
_LARGE_NUMERALS = {
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "seventy": 70,
    "eighty": 80,
    "ninety": 90,
    "dozen": 12,
    "hundred": 100,
    "thousand": 1_000,
    "million": 1_000_000,
    "billion": 1_000_000_000,
}
_NUMBER_WORDS = {word: number for number, word in enumerate(_NUMERALS.split())} | _LARGE_NUMERALS

#: What is measured, then one group per unit: its size, and its spellings. A single letter is a unit in this case only.
_UNITS = """
time 1e-9 ns nanosecond; 1e-6 us µs microsecond; 1e-3 ms msec millisecond; 1 s sec second; 60 min minute; \
3600 h hr hour; 86400 day; 604800 week; 2629800 month; 31557600 year
frequency 1 hz hertz; 1e3 khz kilohertz; 1e6 mhz megahertz; 1e9 ghz gigahertz
data 1 byte; 1e3 kb kib kilobyte; 1e6 mb mib megabyte; 1e9 gb gib gigabyte; 1e12 tb tib terabyte
bits 1 bit; 1e3 kbit kilobit; 1e6 mbit megabit; 1e9 gbit gigabit
length 1e-6 µm micrometre micrometer; 1e-3 mm millimetre millimeter; 1e-2 cm centimetre centimeter; 1 m metre meter; \
1e3 km kilometre kilometer; 0.0254 inch inches; 0.3048 ft foot feet; 1609.34 mi mile
mass 1e-6 mg milligram; 1e-3 g gram; 1 kg kilogram; 1e3 ton tonne; 0.4536 lb pound
angle 1 ° deg degree; 57.29578 rad radian
share 1 % percent
power 1e-3 milliwatt; 1 W watt; 1e3 kw kilowatt
voltage 1e-3 mv millivolt; 1 V volt; 1e3 kv kilovolt
current 1e-3 ma milliamp milliampere; 1 A amp ampere
force 1 N newton; 1e3 kn kilonewton
dollars 1 $ usd dollar
euros 1 € eur euro
"""
_SHORTEST_PLURAL = 3  #: letters of a unit that can have an s: `secs`, but `ms` are no metres


def _unit_table() -> dict[str, tuple[str, float]]:
    table = {}
    for line in _UNITS.strip().splitlines():
        kind, _, groups = line.partition(" ")
        for group in groups.split(";"):
            size, *spellings = group.split()
            plurals = [spelling + "s" for spelling in spellings if len(spelling) >= _SHORTEST_PLURAL]
            table.update(dict.fromkeys([*spellings, *plurals], (kind, float(size))))
    return table


_UNIT_TABLE = _unit_table()
_FIGURES = re.compile(
    r"(?P<money>[$€]\s?)?(?<![\w.,])(?P<number>\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)*)(?!\d)"
    r"(?:[\s-]?(?P<unit>[A-Za-zµ°%€]+))?"
)
_IN_WORDS = re.compile(rf"\b(?P<number>{'|'.join(_NUMBER_WORDS)})\b(?:[\s-](?P<unit>[a-z%]+))?", re.IGNORECASE)
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
_COUNTED_MAX = 40  #: characters after a number that name what it counts
_DIGITS = 6  #: significant ones of a measure, so that 0.1 + 0.2 is 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A number in a text, and what it measures or counts."""

    number: str  #: in figures: `1000` for `1,000`, `4` for `four`
    measure: tuple[str, str] | None  #: kind and size of what it measures: `("time", "0.5")` for `500 ms`
    counted: frozenset[str]  #: content words among the two that follow
    in_words: bool
    start: int

    def equals(self, other: Self) -> bool:
        """Returns whether both are the same, in any unit. A number without a unit equals the same one with a unit."""
        if self.measure and other.measure:
            return self.measure == other.measure
        return self.number == other.number

    def counts_like(self, other: Self) -> bool:
        """Returns whether both count the same thing."""
        return bool(self.counted & other.counted)


def quantities(text: str) -> list[Quantity]:
    """Returns every number of a text in order. A digit inside a word, as in `x86`, is none."""
    return sorted([*_in_figures(text), *_in_words(text)], key=lambda quantity: quantity.start)


def in_figures(word: str) -> str | None:
    """Returns `3` for `three`, `7` for `7th`; None for other words."""
    if word in _NUMBER_WORDS:
        return str(_NUMBER_WORDS[word])
    ordinal = _ORDINAL.fullmatch(word)
    return ordinal.group(1) if ordinal else None


def unit(spelling: str) -> tuple[str, float] | None:
    """Returns what a unit measures, and its size; None for other words."""
    if len(spelling) == 1:
        return _UNIT_TABLE.get(spelling)
    return _UNIT_TABLE.get(spelling.lower())


def _in_figures(text: str) -> Iterator[Quantity]:
    for match in _FIGURES.finditer(text):
        number = match["number"].replace(",", "")
        measured = unit((match["money"] or "").strip() or match["unit"] or "")
        yield Quantity(
            number=_plain(number),
            measure=_measure(number, measured),
            counted=_counted(text, match.end("number")),
            in_words=False,
            start=match.start("number"),
        )


def _in_words(text: str) -> Iterator[Quantity]:
    for match in _IN_WORDS.finditer(text):
        number = str(_NUMBER_WORDS[match["number"].lower()])
        yield Quantity(
            number=number,
            measure=_measure(number, unit(match["unit"] or "")),
            counted=_counted(text, match.end("number")),
            in_words=True,
            start=match.start(),
        )


def _counted(text: str, end: int) -> frozenset[str]:
    return frozenset(word for word in words(text[end : end + _COUNTED_MAX])[:2] if is_content_word(word))


def _plain(number: str) -> str:
    """Returns `2` for `2.0`; a version such as `3.10.1` stays as it is."""
    return f"{float(number):.12g}" if number.count(".") < 2 else number


def _measure(number: str, measured: tuple[str, float] | None) -> tuple[str, str] | None:
    if measured is None or number.count(".") > 1:
        return None
    kind, size = measured
    return kind, f"{float(number) * size:.{_DIGITS}g}"
