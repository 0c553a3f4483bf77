"""Lesson → chunks of about 400 tokens, cut by section. Code blocks and tables stay whole where possible."""

import hashlib
import itertools
import re
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from bookwise.domain.books import Block, Chunk, Lesson, LessonFile, Locator, Section
from bookwise.text.sentences import split_sentences

#: Part of the recipe: change it whenever the same lesson could give other chunks. Books are then re-ingested.
CHUNKER_VERSION = "2"

# Fixed by the data model (docs/books.md, "Chunks" and "Ids"):
NAMESPACE = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
TARGET_TOKENS = 400
TOKENS_PER_WORD = 1.3
MIN_CHARACTERS = 10

# Chosen by us; not tuned on the benchmark sets:
LIMIT_TOKENS = 600  #: 1.5 × the target, so that most programs and tables of a book stay in one piece
OVERLAP_SHARE = 0.15  #: of the target: 60 tokens, two or three sentences
SMALL_TOKENS = 60  #: as much as the overlap: below it, a last chunk would mostly repeat the one before it
CHARACTERS_PER_TOKEN = 6  #: for texts with few spaces; an English word with its space has about six characters
WORD_CHARACTERS_MAX = 600  #: a longer word (minified code, encoded data) is cut

_LIST_ITEM = re.compile(r"(?m)^(?=(?:[-*+]|\d{1,9}[.)])\s)")
_WORD = re.compile(rf"\s*\S{{1,{WORD_CHARACTERS_MAX}}}\s*?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkOptions:
    """Sizes in tokens, estimated as words × 1.3."""

    target: int = TARGET_TOKENS  #: a chunk is filled up to this size
    limit: int = LIMIT_TOKENS  #: the largest code block or table that stays whole; a larger one is cut at line ends
    overlap: float = OVERLAP_SHARE  #: share of the target that two neighbouring chunks of a section have in common
    small: int = SMALL_TOKENS  #: a last chunk up to this size is merged into the one before it

    @property
    def recipe(self) -> str:
        return f"chunk:{CHUNKER_VERSION}:{self.target}:{self.limit}:{self.overlap}:{self.small}"


@dataclass(frozen=True, slots=True)
class _ChunkPart:
    """A sentence, a list item, or a whole code block or table, with the white space after it."""

    text: str
    size: float
    repeatable: bool  #: may be repeated as overlap: prose only, never code


def words_in(text: str) -> int:
    """The number of words."""
    return len(text.split())


def tokens_in(text: str) -> int:
    """The estimated number of tokens, at least 1."""
    return max(1, round(words_in(text) * TOKENS_PER_WORD))


def content_hash(text: str) -> str:
    """SHA-256 of the text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def lesson_id(file: LessonFile) -> str:
    """The id of the lesson (`parent_doc_id` of its chunks)."""
    return str(uuid.uuid5(NAMESPACE, f"{file.key}:parent"))


def chunk_id(file: LessonFile, digest: str, occurrence: int) -> str:
    """The id of a chunk. When a lesson repeats a text, the second chunk gets the suffix `:1`, the third `:2`, …"""
    suffix = f":{occurrence}" if occurrence else ""
    return str(uuid.uuid5(NAMESPACE, f"{file.key}:{digest[:16]}{suffix}"))


def chunk(lesson: Lesson, options: ChunkOptions, *, revision: str, now: datetime) -> tuple[Chunk, ...]:
    """The lesson's chunks in reading order; each one knows the ids of its neighbours."""
    drafts = _join_fragments(
        [(section, text) for section in _sections_with_text(lesson.sections) for text in _texts(section, options)]
    )
    occurrences: Counter[str] = Counter()
    chunks: list[Chunk] = []
    for index, (section, text) in enumerate(drafts):
        digest = content_hash(text)
        chunks.append(
            Chunk(
                id=chunk_id(lesson.file, digest, occurrences[digest]),
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
        occurrences[digest] += 1
    return _link(chunks)


def embedding_text(lesson: Lesson, section: Section, text: str) -> str:
    """The text that is embedded: the title path, then the chunk's text."""
    return "\n".join((" > ".join((lesson.title, *section.heading_path)), text))


def _link(chunks: list[Chunk]) -> tuple[Chunk, ...]:
    ids = [None, *(c.id for c in chunks), None]
    return tuple(replace(c, prev_id=ids[i], next_id=ids[i + 2]) for i, c in enumerate(chunks))


def _locator(lesson: Lesson, section: Section) -> Locator:
    file = lesson.file
    return Locator(
        book_id=file.book_id,
        module=file.position.module,
        chapter=file.position.chapter,
        lesson=file.position.lesson,
        source_file=file.source_file,
        page_title=lesson.title,
        url=f"{file.url}#{section.anchor}" if file.url and section.anchor else file.url,
        anchor=section.anchor,
        section_title=section.title,
        heading_path=section.heading_path,
        breadcrumb=file.breadcrumb,
    )


def _sections_with_text(sections: Iterable[Section]) -> Iterator[Section]:
    """Moves the heading of a section without text into the next section."""
    headings: tuple[Block, ...] = ()
    last: Section | None = None
    for section in sections:
        last = section
        if all(block.kind == "heading" for block in section.blocks):
            headings += section.blocks
            continue
        yield replace(section, blocks=headings + section.blocks)
        headings = ()
    if headings and last is not None:
        yield replace(last, blocks=headings)


def _join_fragments(drafts: list[tuple[Section, str]]) -> list[tuple[Section, str]]:
    """Merges a text below the minimum into the one before it; the first text into the one after it."""
    joined: list[tuple[Section, str]] = []
    for section, text in drafts:
        if joined and min(len(text), len(joined[-1][1])) < MIN_CHARACTERS:
            previous_section, previous = joined.pop()
            owner = previous_section if len(previous) >= MIN_CHARACTERS else section
            joined.append((owner, f"{previous}\n\n{text}"))
        else:
            joined.append((section, text))
    return [draft for draft in joined if len(draft[1]) >= MIN_CHARACTERS]


def _texts(section: Section, options: ChunkOptions) -> list[str]:
    parts = [part for block in section.blocks for part in _parts(block, options)]
    groups = _merge_small_tail(_pack(parts, options), options)
    return [text for text in ("".join(part.text for part in group).strip() for group in groups) if text]


def _pack(parts: list[_ChunkPart], options: ChunkOptions) -> list[list[_ChunkPart]]:
    """Groups parts into chunks of about the target size."""
    groups: list[list[_ChunkPart]] = []
    current: list[_ChunkPart] = []
    size = 0.0
    new_parts = 0  # parts of the current group that are not overlap
    for part in parts:
        if new_parts and size + part.size > options.target and not _is_heading_only(current):
            groups.append(current)
            current = _overlap(current, part, options)
            size, new_parts = sum(p.size for p in current), 0
        current.append(part)
        size, new_parts = size + part.size, new_parts + 1
    return [*groups, current] if new_parts else groups


def _is_heading_only(group: list[_ChunkPart]) -> bool:
    return len(group) == 1 and group[0].text.startswith("#") and group[0].text.strip().count("\n") == 0


def _overlap(group: list[_ChunkPart], upcoming: _ChunkPart, options: ChunkOptions) -> list[_ChunkPart]:
    """The last sentences of a finished chunk, as many as leave room for the next part."""
    room = min(options.target * options.overlap, options.target - upcoming.size)
    tail: list[_ChunkPart] = []
    for part in reversed(group[1:]):
        room -= part.size
        if room < 0 or not part.repeatable:
            break
        tail.insert(0, part)
    return tail


def _merge_small_tail(groups: list[list[_ChunkPart]], options: ChunkOptions) -> list[list[_ChunkPart]]:
    """Merges a small last chunk into the one before it, unless that one would exceed the limit."""
    if len(groups) < 2:
        return groups
    *rest, previous, last = groups
    new_parts = last[_overlap_length(previous, last) :]
    size = sum(part.size for part in new_parts)
    if size > options.small or sum(part.size for part in previous) + size > options.limit:
        return groups
    return [*rest, previous + new_parts]


def _overlap_length(previous: list[_ChunkPart], last: list[_ChunkPart]) -> int:
    """The number of parts at the start of `last` that are also the end of `previous`."""
    for count in range(min(len(previous), len(last)), 0, -1):
        if all(a is b for a, b in zip(previous[-count:], last[:count], strict=True)):
            return count
    return 0


def _part(text: str, *, repeatable: bool) -> _ChunkPart:
    # Text with few spaces (minified code, some scripts) is measured by its characters.
    by_characters = sum(map(len, text.split())) / CHARACTERS_PER_TOKEN
    return _ChunkPart(text, max(words_in(text) * TOKENS_PER_WORD, by_characters), repeatable)


def _parts(block: Block, options: ChunkOptions) -> Iterator[_ChunkPart]:
    match block.kind:
        case "code" | "table":
            yield from _whole_or_lines(block, options)
        case "list":
            yield from _prose(_LIST_ITEM.split(block.text), options)
        case _:
            yield from _prose([block.text], options)


def _prose(texts: Iterable[str], options: ChunkOptions) -> Iterator[_ChunkPart]:
    sentences = [sentence for text in texts for sentence in split_sentences(text)]
    for sentence in sentences:
        for shard in _shards(sentence, options):
            yield _part(shard, repeatable=True)
    if sentences:
        yield _ChunkPart("\n\n", 0.0, True)


def _shards(text: str, options: ChunkOptions) -> Iterator[str]:
    """Cuts a sentence that is larger than the target between words, and a very long word anywhere."""
    if _part(text, repeatable=True).size <= options.target:
        yield text
        return
    room = options.target / 2  # two shards fill one chunk
    shard, size = "", 0.0
    for word in _WORD.findall(text) or [text]:
        added = _part(word, repeatable=True).size
        if shard and size + added > room:
            yield shard
            shard, size = "", 0.0
        shard, size = shard + word, size + added
    rest = text[len(text.rstrip()) :]
    yield shard + rest


def _whole_or_lines(block: Block, options: ChunkOptions) -> Iterator[_ChunkPart]:
    """The block as one part; above the limit, as several parts that each repeat its frame."""
    whole = _part(block.text + "\n\n", repeatable=False)
    if whole.size <= options.limit:
        yield whole
        return
    head, lines, foot = _split_frame(block)
    frame = _part(head + foot, repeatable=False).size
    rows: list[str] = []
    size = frame
    for line in itertools.chain.from_iterable(_line_shards(line, options) for line in lines):
        added = _part(line, repeatable=False).size
        if rows and size + added > options.target:
            yield _part(head + "".join(rows) + foot + "\n\n", repeatable=False)
            rows, size = [], frame
        rows.append(line)
        size += added
    if rows:
        yield _part(head + "".join(rows) + foot + "\n\n", repeatable=False)


def _line_shards(line: str, options: ChunkOptions) -> Iterator[str]:
    for shard in _shards(line, options):
        yield shard if shard.endswith("\n") else shard + "\n"


def _split_frame(block: Block) -> tuple[str, list[str], str]:
    """The block as (head, lines, foot). Each part of a cut block repeats head and foot: the fence or table header."""
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
