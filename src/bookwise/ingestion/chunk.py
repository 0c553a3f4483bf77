"""Lesson → chunks: by section, about 400 tokens each, never through a code block or a table."""

import hashlib
import itertools
import re
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from bookwise.domain.books import Block, Chunk, Lesson, LessonFile, Locator, Section

CHUNKER_VERSION = "1"
NAMESPACE = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
TOKENS_PER_WORD = 1.3
MIN_CHARACTERS = 10

_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"')\]]*\s+(?=[\"'(\[*_`]*[A-Z0-9])|\n(?=\s*\n)")
_LIST_ITEM = re.compile(r"(?m)^(?=(?:[-*+]|\d{1,9}[.)])\s)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkOptions:
    """Sizes in tokens, estimated as words × 1.3."""

    target: int = 400  #: a chunk is filled up to here
    limit: int = 600  #: one code block or table may fill a chunk up to here; beyond, it is cut at line ends
    overlap: float = 0.15  #: share of the target repeated between two chunks of one section
    small: int = 60  #: a last chunk below this joins the one before it

    @property
    def recipe(self) -> str:
        return f"chunk:{CHUNKER_VERSION}:{self.target}:{self.limit}:{self.overlap}:{self.small}"


@dataclass(frozen=True, slots=True)
class _ChunkPart:
    """A sentence, a list item, or a whole code block or table, with the white space that follows it."""

    text: str
    size: float
    repeatable: bool  #: may be repeated as overlap: prose, never code


def words_in(text: str) -> int:
    return len(text.split())


def tokens_in(text: str) -> int:
    return max(1, round(words_in(text) * TOKENS_PER_WORD))


def content_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def lesson_id(file: LessonFile) -> str:
    return str(uuid.uuid5(NAMESPACE, f"{file.key}:parent"))


def chunk_id(file: LessonFile, digest: str, occurrence: int) -> str:
    """Seed 003's id; the second, third … chunk with the same text in one lesson gets `:1`, `:2` …"""
    suffix = f":{occurrence}" if occurrence else ""
    return str(uuid.uuid5(NAMESPACE, f"{file.key}:{digest[:16]}{suffix}"))


def chunk(lesson: Lesson, options: ChunkOptions, *, revision: str, now: datetime) -> tuple[Chunk, ...]:
    """The lesson's chunks in reading order, chained to each other."""
    drafts = _join_fragments(
        [(section, text) for section in _with_bodies(lesson.sections) for text in _texts(section, options)]
    )
    seen: Counter[str] = Counter()
    chunks: list[Chunk] = []
    for index, (section, text) in enumerate(drafts):
        digest = content_hash(text)
        chunks.append(
            Chunk(
                id=chunk_id(lesson.file, digest, seen[digest]),
                text=text,
                locator=_locator(lesson, section),
                audience=lesson.file.audience,
                lesson_id=lesson_id(lesson.file),
                revision=revision,
                index=index,
                total=len(drafts),
                prev_id=None,
                next_id=None,
                content_hash=digest,
                file_hash=lesson.file.file_hash,
                word_count=words_in(text),
                token_count=tokens_in(text),
                char_count=len(text),
                embedding_text=embedding_text(lesson, section, text),
                created_at=now,
                updated_at=now,
            )
        )
        seen[digest] += 1
    return _chained(chunks)


def embedding_text(lesson: Lesson, section: Section, text: str) -> str:
    """What the embedder reads: the title path, then the text."""
    return "\n".join((" > ".join((lesson.title, *section.heading_path)), text))


def _chained(chunks: list[Chunk]) -> tuple[Chunk, ...]:
    ids = [None, *(c.id for c in chunks), None]
    return tuple(replace(c, prev_id=ids[i], next_id=ids[i + 2]) for i, c in enumerate(chunks))


def _locator(lesson: Lesson, section: Section) -> Locator:
    file = lesson.file
    return Locator(
        book_id=file.book_id,
        module=file.place.module,
        chapter=file.place.chapter,
        lesson=file.place.lesson,
        source_file=file.source_file,
        page_title=lesson.title,
        url=f"{file.url}#{section.anchor}" if file.url and section.anchor else file.url,
        anchor=section.anchor,
        section_title=section.title,
        heading_path=section.heading_path,
        breadcrumb=file.breadcrumb,
    )


def _with_bodies(sections: Iterable[Section]) -> Iterator[Section]:
    """Sections that are a bare heading give their heading to the section that follows."""
    carried: tuple[Block, ...] = ()
    last: Section | None = None
    for section in sections:
        last = section
        if all(block.kind == "heading" for block in section.blocks):
            carried += section.blocks
            continue
        yield replace(section, blocks=carried + section.blocks)
        carried = ()
    if carried and last is not None:
        yield replace(last, blocks=carried)


def _join_fragments(drafts: list[tuple[Section, str]]) -> list[tuple[Section, str]]:
    """A text too short to stand alone joins the one before it, or the first one the one after it."""
    joined: list[tuple[Section, str]] = []
    for section, text in drafts:
        if joined and min(len(text), len(joined[-1][1])) < MIN_CHARACTERS:
            before_section, before = joined.pop()
            kept = before_section if len(before) >= MIN_CHARACTERS else section
            joined.append((kept, f"{before}\n\n{text}"))
        else:
            joined.append((section, text))
    return [draft for draft in joined if len(draft[1]) >= MIN_CHARACTERS]


def _texts(section: Section, options: ChunkOptions) -> list[str]:
    pieces = [piece for block in section.blocks for piece in _pieces(block, options)]
    packed = _merge_small_tail(_pack(pieces, options), options)
    return [text for text in ("".join(p.text for p in group).strip() for group in packed) if text]


def _pack(pieces: list[_ChunkPart], options: ChunkOptions) -> list[list[_ChunkPart]]:
    groups: list[list[_ChunkPart]] = []
    current: list[_ChunkPart] = []
    size = 0.0
    fresh = 0  # pieces of the current group that are not overlap
    for piece in pieces:
        if fresh and size + piece.size > options.target and not _only_heading(current):
            groups.append(current)
            current = _overlap(current, piece, options)
            size, fresh = sum(p.size for p in current), 0
        current.append(piece)
        size, fresh = size + piece.size, fresh + 1
    return [*groups, current] if fresh else groups


def _only_heading(group: list[_ChunkPart]) -> bool:
    return len(group) == 1 and group[0].text.startswith("#") and group[0].text.strip().count("\n") == 0


def _overlap(group: list[_ChunkPart], upcoming: _ChunkPart, options: ChunkOptions) -> list[_ChunkPart]:
    """The last sentences of a finished chunk, as long as they leave room for what comes next."""
    room = min(options.target * options.overlap, options.target - upcoming.size)
    kept: list[_ChunkPart] = []
    for piece in reversed(group[1:]):
        room -= piece.size
        if room < 0 or not piece.repeatable:
            break
        kept.insert(0, piece)
    return kept


def _merge_small_tail(groups: list[list[_ChunkPart]], options: ChunkOptions) -> list[list[_ChunkPart]]:
    """A last chunk that is small joins the one before it, where the limit allows."""
    if len(groups) < 2:
        return groups
    *rest, before, last = groups
    repeated = _repeated(before, last)
    added = last[repeated:]
    size = sum(p.size for p in added)
    if size > options.small or sum(p.size for p in before) + size > options.limit:
        return groups
    return [*rest, before + added]


def _repeated(before: list[_ChunkPart], after: list[_ChunkPart]) -> int:
    """How many pieces at the head of `after` are the very pieces at the tail of `before`."""
    for count in range(min(len(before), len(after)), 0, -1):
        if all(a is b for a, b in zip(before[-count:], after[:count], strict=True)):
            return count
    return 0


def _piece(text: str, *, repeatable: bool) -> _ChunkPart:
    # A text with few blanks (minified code, other scripts) counts by its characters instead.
    dense = sum(map(len, text.split())) / 6
    return _ChunkPart(text, max(words_in(text) * TOKENS_PER_WORD, dense), repeatable)


def _pieces(block: Block, options: ChunkOptions) -> Iterator[_ChunkPart]:
    match block.kind:
        case "code" | "table":
            yield from _whole_or_lines(block, options)
        case "list":
            yield from _prose(_LIST_ITEM.split(block.text), options)
        case _:
            yield from _prose([block.text], options)


def _prose(parts: Iterable[str], options: ChunkOptions) -> Iterator[_ChunkPart]:
    texts = [sentence for part in parts if part for sentence in _sentences(part)]
    for number, text in enumerate(texts):
        ending = "\n\n" if number == len(texts) - 1 else ""
        for shard in _shards(text, options):
            yield _piece(shard, repeatable=True)
        if ending:
            yield _ChunkPart(ending, 0.0, True)


def _sentences(text: str) -> list[str]:
    """Cut after sentence ends; every character stays."""
    cuts = [0, *(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]
    return [text[a:b] for a, b in itertools.pairwise(cuts) if b > a]


def _shards(text: str, options: ChunkOptions) -> Iterator[str]:
    """A sentence beyond the target is cut at blanks, and where there are none, at characters."""
    if _piece(text, repeatable=True).size <= options.target:
        yield text
        return
    room = options.target / 2
    shard, size = "", 0.0
    for word in re.findall(r"\s*\S{1,600}\s*?", text) or [text]:
        added = _piece(word, repeatable=True).size
        if shard and size + added > room:
            yield shard
            shard, size = "", 0.0
        shard, size = shard + word, size + added
    rest = text[len(text.rstrip()) :]
    yield shard + rest


def _whole_or_lines(block: Block, options: ChunkOptions) -> Iterator[_ChunkPart]:
    whole = _piece(block.text + "\n\n", repeatable=False)
    if whole.size <= options.limit:
        yield whole
        return
    head, lines, foot = _framed(block)
    frame = _piece(head + foot, repeatable=False).size
    part: list[str] = []
    size = frame
    for line in itertools.chain.from_iterable(_line_shards(line, options) for line in lines):
        added = _piece(line, repeatable=False).size
        if part and size + added > options.target:
            yield _piece(head + "".join(part) + foot + "\n\n", repeatable=False)
            part, size = [], frame
        part.append(line)
        size += added
    if part:
        yield _piece(head + "".join(part) + foot + "\n\n", repeatable=False)


def _line_shards(line: str, options: ChunkOptions) -> Iterator[str]:
    for shard in _shards(line, options):
        yield shard if shard.endswith("\n") else shard + "\n"


def _framed(block: Block) -> tuple[str, list[str], str]:
    """What each part of a cut block repeats before and after its lines: the fence, or the table's head."""
    lines = block.text.rstrip("\n").split("\n")
    if block.kind == "table":
        count = 2 if len(lines) > 1 and set(lines[1].strip()) <= set("|-: +=") else 0
        return "".join(f"{line}\n" for line in lines[:count]), lines[count:], ""
    opening = lines[0].lstrip()
    if opening.startswith(("```", "~~~")):
        fence = opening[: len(opening) - len(opening.lstrip(opening[0]))]
        closed = lines[-1].strip().startswith(fence) and len(lines) > 1
        return f"{lines[0]}\n", lines[1:-1] if closed else lines[1:], fence
    return "", lines, ""
