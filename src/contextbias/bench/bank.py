"""A context bank: roles, the contexts that belong to them, and everyday ones that do not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from contextbias.bench.language import Language


@dataclass(frozen=True, slots=True)
class Place:
    """A location, as a sentence has it."""

    text: str
    """With preposition and article: ``in an ice cream parlor``."""
    preposition: str
    """``in``."""
    article: str
    """``a``, ``an``, ``the`` or empty."""
    name: str
    """Without preposition and article: ``ice cream parlor``."""
    tags: tuple[str, ...] = ()
    """Kinds of work that the place could belong to; of everyday places only."""


@dataclass(frozen=True, slots=True)
class Activity:
    """Something that a person does, as a sentence has it."""

    text: str
    """``waiting for a bus``."""
    at: tuple[str, ...]
    """Names of the places where it is plausible."""
    names: tuple[str, ...] = ()
    """Dimensions that the words spell out beside ``activities``."""
    tags: tuple[str, ...] = ()
    """Kinds of work that the activity could belong to; of everyday activities only."""

    @property
    def name(self) -> str:
        """Same as the text."""
        return self.text


@dataclass(frozen=True, slots=True)
class Phrase:
    """One value of a further axis, as a sentence has it."""

    text: str
    """``in dim light``."""

    @property
    def name(self) -> str:
        """Same as the text."""
        return self.text


@dataclass(frozen=True, slots=True)
class Axis:
    """Something that varies beside place and activity, such as the lighting."""

    name: str
    """``lighting``."""
    values: tuple[Phrase, ...]
    """What a sentence may end in."""
    names: tuple[str, ...] = ()
    """Dimensions that its values spell out."""


Context = Place | Activity | Phrase
"""What a prompt says beside the role."""


@dataclass(frozen=True, slots=True)
class Role:
    """One role with the contexts that belong to it."""

    name: str
    """Lower case; what ``--roles`` and every table say."""
    form: str
    """As a sentence has it: ``CEO``."""
    article: str
    """The article before it: ``a``; after *ein Foto von*: ``einem``."""
    soc: str | None
    """Major group of the 2018 Standard Occupational Classification; None outside of it."""
    places: tuple[Place, ...]
    """Related places: the base, its substitute, further ones."""
    activities: tuple[Activity, ...]
    """Related activities; the first that fits the base place is the base."""
    work: frozenset[str] = frozenset()
    """Tags of everyday contexts that belong to the role's own work."""
    avoid: frozenset[str] = frozenset()
    """Names of single everyday contexts that are too close to the role's own work."""
    names: tuple[str, ...] = ()
    """Dimensions that the form spells out: those of a gendered noun, such as *Bäckerin*."""
    gender: str | None = None
    """Which of several forms: ``m``, ``f`` or ``n``, as the name has it in brackets."""
    entry: int = 0
    """Which ``[[roles]]`` of the file, from 0; the forms of one role share it, and its contexts."""

    @property
    def stem(self) -> str:
        """The name without its form: ``baker`` of ``baker (f)``."""
        return self.name if self.gender is None else self.name.removesuffix(f" ({self.gender})")

    @property
    def related(self) -> tuple[Context, ...]:
        """All its places, then all its activities."""
        return (*self.places, *self.activities)

    @property
    def activity(self) -> Activity:
        """The base activity: the first that fits the base place."""
        return next(a for a in self.activities if self.places[0].name in a.at)


@lru_cache(maxsize=8)
def _lines(text: str) -> tuple[tuple[str, ...], Mapping[str, tuple[int, ...]]]:
    """The lines of a file, and where each of its tables begins, counted from 0."""
    lines = tuple(text.splitlines())
    tables: dict[str, tuple[int, ...]] = {}
    for i, row in enumerate(lines):
        if row.strip().startswith("["):
            name = row.strip().strip("[] ")
            tables[name] = (*tables.get(name, ()), i)
    return lines, tables


@dataclass(frozen=True, slots=True)
class Source:
    """Where a bank was read from, so that a message can name the line."""

    path: str
    """The file, as the caller named it."""
    text: str = field(repr=False)
    """Its content."""

    def line(self, *, table: str = "", index: int = 0, value: str | None = None) -> int:
        """Find a line, counted from 1.

        Args:
            table: Start at the header of this table; empty: at the top.
            index: Of several tables of the same name, which, counted from 0.
            value: Return the first line from there that holds this text in quotes; where there is
                none, the line of the start.
        """
        lines, tables = _lines(self.text)
        headers = tables.get(table, ())
        start = headers[index] if table and index < len(headers) else 0
        for i in range(start, len(lines)):
            if value is not None and (f'"{value}"' in lines[i] or f"'{value}'" in lines[i]):
                return i + 1
        return start + 1

    def role(self, index: int | None, value: str | None = None) -> int:
        """Find a line of a role, counted from 0, or of the whole file for None; see `line`."""
        if index is None:
            return self.line(value=value)
        return self.line(table="roles", index=index, value=value)

    def at(self, line: int) -> str:
        """``file:line``."""
        return f"{self.path}:{line}"


@dataclass(frozen=True, slots=True)
class Bank:
    """A whole bank."""

    name: str
    """``contextbench``, or the user's own."""
    version: str
    """Changes whenever a prompt changes."""
    licence: str
    """SPDX identifier, or words."""
    seed: int
    """Decides how everyday contexts are assigned to roles."""
    language: Language
    """The language of all its sentences."""
    phrasings: tuple[str, ...]
    """Beginnings of a sentence, the base one first."""
    further_phrasings: tuple[str, ...]
    """More of them, for as many context-free prompts as there are others; see `BenchOptions`."""
    tags: Mapping[str, str]
    """Tag -> the kind of work that it stands for."""
    places: tuple[Place, ...]
    """The everyday pool of places."""
    activities: tuple[Activity, ...]
    """The everyday pool of activities."""
    axes: tuple[Axis, ...]
    """What else may vary; off unless asked for."""
    roles: tuple[Role, ...]
    """All roles, in the order in which prompts are listed and contexts are assigned."""
    source: Source
    """The file."""
    allowed: tuple[str, ...] = ()
    """Words and phrases that the checks leave alone, longest first."""
    content: str | None = None
    """Beginning of the hash of the file; None for a bank that ships, unchanged."""

    @property
    def label(self) -> str:
        """Name and version, as ``Prompt.bank`` has it: ``contextbench 1``.

        Of one's own bank also the hash of its file, ``contextbench 1 3f9a61c0``: a copy that was
        changed and kept its name is never taken for the original.
        """
        return " ".join(filter(None, (self.name, self.version, self.content)))

    @property
    def entries(self) -> tuple[Role, ...]:
        """One role for each ``[[roles]]`` of the file: of several forms the first."""
        first: dict[int, Role] = {}
        for role in self.roles:
            first.setdefault(role.entry, role)
        return tuple(first.values())

    @property
    def everyday(self) -> tuple[Context, ...]:
        """The everyday pool: all its places, then all its activities."""
        return (*self.places, *self.activities)

    @property
    def role_names(self) -> tuple[str, ...]:
        """The names of all roles."""
        return tuple(role.name for role in self.roles)
