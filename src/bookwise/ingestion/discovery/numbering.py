"""Paths, front matter and rules → module, chapter and lesson number of every lesson."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bookwise.domain.books import Audience, LessonPosition
from bookwise.domain.jobs import UnreadableFile
from bookwise.ingestion.discovery.facts import NO_FACTS, Facts
from bookwise.ingestion.discovery.globs import matches
from bookwise.ingestion.discovery.path_claims import PathClaim, branching_folders, claim_from_path
from bookwise.ingestion.discovery.profile import NUMBER_MAX, BookProfile, Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Unplaced:
    """A lesson in reading order, before it has a place."""

    source_file: str
    path: str  #: inside the folder of lessons
    facts: Facts = NO_FACTS
    group: str = ""  #: the chapter a navigation puts it in
    leads_group: bool = False  #: it is that chapter's own first lesson
    is_readable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered:
    """A lesson's place, and whether it was given and claimed by no other."""

    position: LessonPosition
    is_given: bool


@dataclass(slots=True)
class Numbering:
    """The places of a book's lessons, by source file."""

    positions: dict[str, Numbered] = field(default_factory=dict)
    unreadable: list[UnreadableFile] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class _NumberDraft:
    """A place with holes: None is filled by counting."""

    source_file: str
    module: str
    is_module_given: bool
    unknown_module: str | None  #: named, but not one of the book's modules
    chapter: int | None
    lesson: int | None
    group: str
    leads_group: bool
    is_readable: bool

    @property
    def is_complete(self) -> bool:
        return self.is_module_given and self.chapter is not None and self.lesson is not None


def number_lessons(lessons: Sequence[Unplaced], profile: BookProfile) -> Numbering:
    """A place for every lesson. One that cannot be read still holds the place its path claims, so that a
    broken edit moves no other lesson."""
    branching = branching_folders(lesson.path for lesson in lessons)
    drafts = [_draft(lesson, claim_from_path(lesson.path, branching), profile) for lesson in lessons]
    chapters = _chapters(drafts, profile.chapter_max)
    numbers = _lessons(drafts, chapters, profile.lesson_max)
    result = Numbering(warnings=_unknown_modules(drafts, profile))
    for draft in drafts:
        name = draft.source_file
        place = LessonPosition(module=draft.module, chapter=chapters[name], lesson=numbers[name])
        result.positions[name] = Numbered(position=place, is_given=draft.is_complete)
        result.unreadable.extend(_out_of_range(draft, profile))
    _keep_first_claimants(result)
    return result


def audience_of(source_file: str, facts: Facts, profile: BookProfile) -> Audience:
    """Front matter, then rules, then the book's defaults."""
    rules = _rules_for(source_file, profile)
    usual = profile.audience
    tier = next((rule.hardware_tier for rule in rules if rule.hardware_tier), usual.hardware_tier)
    level = next((rule.proficiency_level for rule in rules if rule.proficiency_level), usual.proficiency_level)
    layer = next((rule.layer for rule in rules if rule.layer), usual.layer)
    return Audience(
        hardware_tier=facts.hardware_tier or tier,
        proficiency_level=facts.proficiency_level or level,
        layer=facts.layer or layer,
    )


def _rules_for(source_file: str, profile: BookProfile) -> list[Rule]:
    return [rule for rule in profile.rules if matches(rule.path, source_file)]


def _draft(lesson: Unplaced, path: PathClaim, profile: BookProfile) -> _NumberDraft:
    rules = _rules_for(lesson.source_file, profile)
    modules = [path.module, lesson.facts.module, *(rule.module for rule in rules)]
    chapters = [path.chapter, lesson.facts.chapter, *(rule.chapter for rule in rules)]
    lessons = [path.lesson, lesson.facts.lesson, *(rule.lesson for rule in rules)]
    if path.is_overview:
        lessons.append(0)
        chapters.append(None if path.chapter_folder or lesson.group else 0)
    named = [module for module in modules if module]
    given = next((known for module in named if (known := _known(module, profile))), None)
    module = given or _known(path.suggested_module or "", profile)
    return _NumberDraft(
        source_file=lesson.source_file,
        module=module or profile.default_module,
        is_module_given=given is not None or (bool(profile.modules) and module is not None),
        unknown_module=None if module else next(iter([*named, path.suggested_module]), None),
        chapter=next((n for n in chapters if n is not None), None),
        lesson=next((n for n in lessons if n is not None), None),
        group=path.chapter_folder or lesson.group,
        leads_group=lesson.leads_group and not path.chapter_folder,
        is_readable=lesson.is_readable,
    )


def _known(module: str, profile: BookProfile) -> str | None:
    """The book's own name for a module; any name will do when the book lists none."""
    if not profile.modules:
        return module or None
    for listed in profile.modules:
        if module == listed.name or module in listed.aliases:
            return listed.name
    words = set(module.split("-"))
    near = [m.name for m in profile.modules if words & {m.name, *m.aliases}]
    return near[0] if len(near) == 1 else None


def _unknown_modules(drafts: Sequence[_NumberDraft], profile: BookProfile) -> list[str]:
    strays: dict[str, list[str]] = defaultdict(list)
    for draft in drafts:
        if draft.unknown_module:
            strays[draft.unknown_module].append(draft.source_file)
    listed = ", ".join(module.name for module in profile.modules)
    return [
        f"{stray!r} is not one of the book's modules ({listed}): {len(files)} lessons, from {files[0]} on, "
        f"were taken under {profile.default_module!r}."
        for stray, files in strays.items()
    ]


def _out_of_range(draft: _NumberDraft, profile: BookProfile) -> list[UnreadableFile]:
    for what, number, top in (
        ("chapter", draft.chapter, profile.chapter_max),
        ("lesson", draft.lesson, profile.lesson_max),
    ):
        largest = NUMBER_MAX if top is None else top
        if draft.is_readable and number is not None and not 0 <= number <= largest:
            message = f"Its {what} number is {number}; in this book it must be between 0 and {largest}."
            reason = "number-out-of-range"
            return [UnreadableFile(source_file=draft.source_file, reason=reason, message=message)]
    return []


def _chapters(drafts: Sequence[_NumberDraft], top: int | None) -> dict[str, int]:
    """Given chapter numbers; 0 for lessons beside the chapters; the rest counted on after the given ones."""
    last: dict[str, int] = defaultdict(int)
    for draft in drafts:
        last[draft.module] = max(last[draft.module], draft.chapter or 0)
    counted: dict[tuple[str, str], int] = {}
    for draft in drafts:
        key = (draft.module, draft.group)
        if draft.chapter is None and draft.group and key not in counted:
            last[draft.module] += 1
            counted[key] = last[draft.module]
    return {
        draft.source_file: _capped(counted.get((draft.module, draft.group), 0), top)
        if draft.chapter is None
        else draft.chapter
        for draft in drafts
    }


def _lessons(drafts: Sequence[_NumberDraft], chapters: dict[str, int], top: int | None) -> dict[str, int]:
    """Given lesson numbers; 0 for the head of a chapter; the rest counted on after the given ones."""
    last: dict[tuple[str, int], int] = defaultdict(int)
    for draft in drafts:
        key = (draft.module, chapters[draft.source_file])
        last[key] = max(last[key], draft.lesson or 0)
    numbers: dict[str, int] = {}
    for draft in drafts:
        key = (draft.module, chapters[draft.source_file])
        if draft.lesson is None and not draft.leads_group:
            last[key] += 1
            numbers[draft.source_file] = _capped(last[key], top)
        else:
            numbers[draft.source_file] = draft.lesson or 0
    return numbers


def _capped(number: int, top: int | None) -> int:
    """Counted numbers never make a lesson unreadable, and never leave the book's range."""
    return number if top is None else min(number, top)


def _keep_first_claimants(result: Numbering) -> None:
    claimed: dict[LessonPosition, str] = {}
    for name in sorted(result.positions):
        numbered = result.positions[name]
        if not numbered.is_given:
            continue
        first = claimed.setdefault(numbered.position, name)
        if first != name:
            place = numbered.position
            result.positions[name] = replace(numbered, is_given=False)
            result.warnings.append(
                f"{name} claims the same place as {first} ({place.module}, chapter {place.chapter}, lesson "
                f"{place.lesson}); its ids are derived from its path instead."
            )
