"""Paths, front matter and rules → the position (module, chapter, lesson) of every lesson."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bookwise.domain.books import Audience, LessonPosition
from bookwise.domain.jobs import UnreadableFile
from bookwise.ingestion.discovery.facts import NO_FACTS, Facts
from bookwise.ingestion.discovery.globs import matches
from bookwise.ingestion.discovery.path_claims import PathClaim, branching_folders, claim_from_path
from bookwise.ingestion.discovery.profile import NUMBER_MAX, PROFILE_FILE, BookProfile, Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Unplaced:
    """A lesson in reading order that has no position yet."""

    source_file: str
    path: str  #: inside the folder of lessons
    facts: Facts = NO_FACTS
    group: str = ""  #: the chapter that the navigation puts it in
    leads_group: bool = False  #: it is the page of that chapter itself
    is_readable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered:
    """The position of a lesson."""

    position: LessonPosition
    is_given: bool  #: the book states it, and no other lesson claims it; False: counted


@dataclass(slots=True)
class Numbering:
    """The positions of a book's lessons, by source file."""

    positions: dict[str, Numbered] = field(default_factory=dict)
    unreadable: list[UnreadableFile] = field(default_factory=list)
    extra_modules: list[str] = field(default_factory=list)  #: used, but not listed by the book
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class _NumberDraft:
    """A position that may be incomplete; numbers that are None are counted later."""

    source_file: str
    module: str
    is_module_given: bool
    is_extra_module: bool  #: the module is not one of those the book lists
    chapter: int | None
    lesson: int | None
    group: str
    leads_group: bool
    is_readable: bool

    @property
    def is_complete(self) -> bool:
        return self.is_module_given and self.chapter is not None and self.lesson is not None


def number_lessons(lessons: Sequence[Unplaced], profile: BookProfile) -> Numbering:
    """A position for every lesson. An unreadable lesson keeps the position its path claims, so that a broken edit
    moves no other lesson."""
    branching = branching_folders(lesson.path for lesson in lessons)
    drafts = [_draft(lesson, claim_from_path(lesson.path, branching), profile) for lesson in lessons]
    chapters = _chapters(drafts, profile.chapter_max)
    numbers = _lessons(drafts, chapters, profile.lesson_max)
    extra = _extra_modules(drafts)
    warnings = [*_extra_module_warnings(extra, profile), *_metadata_warnings(lessons, profile)]
    result = Numbering(extra_modules=list(extra), warnings=warnings)
    for draft in drafts:
        name = draft.source_file
        position = LessonPosition(module=draft.module, chapter=chapters[name], lesson=numbers[name])
        result.positions[name] = Numbered(position=position, is_given=draft.is_complete)
        result.unreadable.extend(_out_of_range(draft, profile))
    _keep_first_claimants(result)
    return result


def audience_of(source_file: str, facts: Facts, profile: BookProfile) -> Audience:
    """The audience of a lesson: from its front matter, else from the rules, else from the book's defaults."""
    rules = _rules_for(source_file, profile)
    default = profile.audience
    tier = next((rule.hardware_tier for rule in rules if rule.hardware_tier), default.hardware_tier)
    level = next((rule.proficiency_level for rule in rules if rule.proficiency_level), default.proficiency_level)
    layer = next((rule.layer for rule in rules if rule.layer), default.layer)
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
    # A number in the front matter is about this lesson alone; the path may be inherited from its folder.
    facts_numbers = _allowed_numbers(lesson.facts, profile)
    chapters = [facts_numbers[0], path.chapter, *(rule.chapter for rule in rules)]
    lessons = [facts_numbers[1], path.lesson, *(rule.lesson for rule in rules)]
    if path.is_overview:
        lessons.append(0)
        chapters.append(None if path.chapter_folder or lesson.group else 0)
    names = [module for module in modules if module]
    stated = next((match for module in names if (match := _match_module(module, profile))), None)
    module = stated or _match_module(path.suggested_module or "", profile)
    extra = None if module else next(iter([*names, path.suggested_module]), None)
    return _NumberDraft(
        source_file=lesson.source_file,
        module=module or extra or profile.default_module,
        is_module_given=stated is not None or (bool(profile.modules) and module is not None),
        is_extra_module=extra is not None,
        chapter=next((n for n in chapters if n is not None), None),
        lesson=next((n for n in lessons if n is not None), None),
        group=path.chapter_folder or lesson.group,
        leads_group=lesson.leads_group and not path.chapter_folder,
        is_readable=lesson.is_readable,
    )


def _allowed_numbers(facts: Facts, profile: BookProfile) -> tuple[int | None, int | None]:
    """The chapter and lesson number of the front matter, without those that this book does not allow."""
    chapter = None if _exceeds(facts.chapter, profile.chapter_max) else facts.chapter
    return chapter, None if _exceeds(facts.lesson, profile.lesson_max) else facts.lesson


def _exceeds(number: int | None, top: int | None) -> bool:
    return number is not None and top is not None and number > top


def _metadata_warnings(lessons: Sequence[Unplaced], profile: BookProfile) -> list[str]:
    """The values in the front matter of each lesson that were ignored."""
    warnings = []
    for lesson in lessons:
        problems = list(lesson.facts.problems)
        for what, number, top in (
            ("chapter", lesson.facts.chapter, profile.chapter_max),
            ("lesson", lesson.facts.lesson, profile.lesson_max),
        ):
            if _exceeds(number, top):
                problems.append(f"{what} is {number}; allowed in this book: 0 to {top}.")
        warnings += [f"{lesson.source_file}: {problem} The value was ignored." for problem in problems]
    return warnings


def _match_module(module: str, profile: BookProfile) -> str | None:
    """The listed module with this name or alias, or with one of its words; any name if the book lists no modules."""
    if not profile.modules:
        return module or None
    for listed in profile.modules:
        if module == listed.name or module in listed.aliases:
            return listed.name
    words = set(module.split("-"))
    matches = [m.name for m in profile.modules if words & {m.name, *m.aliases}]
    return matches[0] if len(matches) == 1 else None


def _extra_modules(drafts: Sequence[_NumberDraft]) -> dict[str, list[str]]:
    """The modules that the book does not list → their lessons."""
    extra: dict[str, list[str]] = defaultdict(list)
    for draft in drafts:
        if draft.is_extra_module:
            extra[draft.module].append(draft.source_file)
    return extra


def _extra_module_warnings(extra: dict[str, list[str]], profile: BookProfile) -> list[str]:
    listed = ", ".join(module.name for module in profile.modules)
    return [
        f"{module!r} is not one of the book's modules ({listed}). It became an extra module with {_counted(files)}. "
        f"To change this, add it to [[modules]] in {PROFILE_FILE}, as a module or as an alias."
        for module, files in extra.items()
    ]


def _counted(files: Sequence[str]) -> str:
    return f"1 lesson, {files[0]}" if len(files) == 1 else f"{len(files)} lessons, from {files[0]} on"


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
    """The chapter numbers: as stated, 0 for lessons outside any chapter, else counted from the highest stated one."""
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
        draft.source_file: _at_most(counted.get((draft.module, draft.group), 0), top)
        if draft.chapter is None
        else draft.chapter
        for draft in drafts
    }


def _lessons(drafts: Sequence[_NumberDraft], chapters: dict[str, int], top: int | None) -> dict[str, int]:
    """The lesson numbers: as stated, 0 for the page of a chapter, else counted from the highest stated one."""
    last: dict[tuple[str, int], int] = defaultdict(int)
    for draft in drafts:
        key = (draft.module, chapters[draft.source_file])
        last[key] = max(last[key], draft.lesson or 0)
    numbers: dict[str, int] = {}
    for draft in drafts:
        key = (draft.module, chapters[draft.source_file])
        if draft.lesson is None and not draft.leads_group:
            last[key] += 1
            numbers[draft.source_file] = _at_most(last[key], top)
        else:
            numbers[draft.source_file] = draft.lesson or 0
    return numbers


def _at_most(number: int, top: int | None) -> int:
    """The number, at most `top`: a counted number never makes a lesson unreadable."""
    return number if top is None else min(number, top)


def _keep_first_claimants(result: Numbering) -> None:
    """Of several lessons that claim the same position, only the first by path keeps it as given."""
    claimed: dict[LessonPosition, str] = {}
    for name in sorted(result.positions):
        numbered = result.positions[name]
        if not numbered.is_given:
            continue
        first = claimed.setdefault(numbered.position, name)
        if first != name:
            position = numbered.position
            result.positions[name] = replace(numbered, is_given=False)
            result.warnings.append(
                f"{name} claims the same position as {first} ({position.module}, chapter {position.chapter}, lesson "
                f"{position.lesson}). Its ids are derived from its path instead."
            )
