"""Read a bank from TOML, and say by file and line what keeps it from being one.

This module refuses what cannot be built at all: unknown keys, wrong types, a place without a
preposition, an activity at a place that is not there. Whether the wording is good is another
question, see ``check.py``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path

from pydantic import ValidationError

from contextbias.bench.bank import Activity, Axis, Bank, Phrase, Place, Role, Source
from contextbias.bench.form import (
    ActivityTable,
    AxisTable,
    BankTable,
    ChecksTable,
    EverydayTable,
    HeadTable,
    PlaceTable,
    RoleTable,
    Table,
)
from contextbias.bench.language import (
    LANGUAGE_FILE,
    Language,
    indefinite_article,
    load_language,
    load_language_file,
    words_of,
)
from contextbias.config import RESERVED_NAMES
from contextbias.errors import BankError, nearest
from contextbias.ids import bytes_sha256
from contextbias.schema import DIMENSIONS

_TABLES: dict[str, type[Table]] = {
    "bank": HeadTable,
    "everyday": EverydayTable,
    "roles": RoleTable,
    "places": PlaceTable,
    "activities": ActivityTable,
    "axes": AxisTable,
    "checks": ChecksTable,
}


_HASH_LENGTH = 8


def load_bank(name_or_path: str | Path = "contextbench") -> Bank:
    """Load a bank that ships with the package, by name, or one's own, by path.

    Args:
        name_or_path: ``contextbench``, or a TOML file in the same form.

    Raises:
        BankError: There is no such bank or file, or it is not a bank; the message names file and
            line where it can.
    """
    shipped = shipped_banks()
    if str(name_or_path) in shipped:
        return _parse(Source(f"{name_or_path}.toml", _shipped_text(str(name_or_path))))
    bank = _parse(Source(str(name_or_path), _read_text(Path(name_or_path), shipped)))
    text = bank.source.text
    if bank.name in shipped and _shipped_text(bank.name) == text:
        return bank
    return replace(bank, content=bytes_sha256(text.encode())[:_HASH_LENGTH])


def parse_bank(text: str, path: str) -> Bank:
    """Make a bank of the text of a TOML file.

    Args:
        text: The file's content.
        path: What messages call it; a language file stands beside it.

    Raises:
        BankError: As `load_bank` does.
    """
    return _parse(Source(path, text))


def split_place(language: Language, text: str) -> tuple[str, str, str] | None:
    """Cut ``in an ice cream parlor`` into preposition, article (may be empty) and name.

    Returns:
        None where it does not begin with a preposition of the language, or has no name.
    """
    for preposition in language.prepositions:
        rest = text.removeprefix(f"{preposition} ")
        if rest != text and words_of(rest):
            first, _, name = rest.partition(" ")
            if first in language.articles and words_of(name):
                return preposition, first, name
            return preposition, "", rest
    return None


def _shipped_text(name: str) -> str:
    return files("contextbias.bench").joinpath("data", f"{name}.toml").read_text("utf-8")


@cache
def shipped_banks() -> tuple[str, ...]:
    """Names of the banks that ship with the package."""
    text = files("contextbias.bench").joinpath("data", "banks.toml").read_text("utf-8")
    return tuple(tomllib.loads(text)["banks"])


def _read_text(path: Path, shipped: Sequence[str]) -> str:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        known = f"give a bank that ships ({', '.join(shipped)}), or the path of a TOML file"
        near = nearest(path.name, list(shipped))
        raise BankError(
            f"there is no bank {str(path)!r}", f"{near} Or {known}" if near else known
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        why = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else error.strerror
        raise BankError(f"the bank {str(path)!r} cannot be read: {why}") from None


def _parse(source: Source) -> Bank:
    try:
        table = BankTable.model_validate(tomllib.loads(source.text))
    except tomllib.TOMLDecodeError as error:
        raise BankError(f"{source.path} is not TOML: {error}") from None
    except ValidationError as error:
        raise _structure_error(source, error) from None
    language = _language(source, table.bank.language)
    roles = [role for i, r in enumerate(table.roles) for role in _forms(source, language, i, r)]
    bank = Bank(
        name=table.bank.name,
        version=table.bank.version,
        licence=table.bank.licence,
        seed=table.bank.seed,
        language=language,
        phrasings=tuple(table.bank.phrasings),
        further_phrasings=tuple(table.bank.further_phrasings),
        tags=table.tags,
        places=tuple(
            _place(source, language, p.text, tags=tuple(p.tags)) for p in table.everyday.places
        ),
        activities=tuple(
            Activity(a.text, tuple(a.at), tuple(a.names), tuple(a.tags))
            for a in table.everyday.activities
        ),
        axes=tuple(
            Axis(a.name, tuple(Phrase(value) for value in a.values), tuple(a.names))
            for a in table.axes
        ),
        roles=_names_once(source, roles),
        source=source,
        allowed=tuple(
            sorted((" ".join(p.split()) for p in table.checks.allow), key=len, reverse=True)
        ),
    )
    _check_references(bank)
    return bank


def _language(source: Source, code: str) -> Language:
    try:
        if code.endswith(LANGUAGE_FILE):
            return load_language_file(Path(source.path).parent / code)
        return load_language(code)
    except BankError as error:
        line = source.line(table="bank", value=code)
        raise BankError(f"{source.at(line)}: {error.problem}", error.fix) from None


def _structure_error(source: Source, error: ValidationError) -> BankError:
    """Turn the leading finding of the validator into a message that names the line."""
    found = error.errors()
    # A misspelt key is unknown and leaves another one missing; the first says what to do.
    first = next((e for e in found if e["type"] == "extra_forbidden"), found[0])
    where = first["loc"]
    line = _line_of(source, where)
    path = ".".join(part for part in where if isinstance(part, str))
    if first["type"] == "extra_forbidden":
        table = next((_TABLES[p] for p in reversed(where[:-1]) if p in _TABLES), BankTable)
        hint = nearest(str(where[-1]), list(table.model_fields))
        return BankError(f"{source.at(line)}: unknown key {path!r}", hint or "take it out")
    wordless = first["type"] == "string_pattern_mismatch"
    what = f"{first['input']!r} has no word" if wordless else first["msg"].lower()
    return BankError(f"{source.at(line)}: {path}: {what}")


def _line_of(source: Source, where: Sequence[str | int]) -> int:
    """The line of a value, or of the nearest table or key around it that is there."""
    table, *path = where
    index = path.pop(0) if table in ("roles", "axes") and path else 0
    rows = source.text.splitlines()
    at = source.line(table=str(table), index=int(index)) - 1
    for part in path:
        if isinstance(part, int):
            inside = [i for i in range(at + 1, len(rows)) if rows[i].lstrip().startswith("{")]
            at = inside[part] if rows[at].rstrip().endswith("[") and part < len(inside) else at
        else:
            at = _row_of_key(rows, at, part)
    return at + 1


def _row_of_key(rows: Sequence[str], start: int, key: str) -> int:
    """The first row from `start` that sets `key` before the next table begins, else `start`."""
    for i in range(start, len(rows)):
        row = rows[i].strip()
        if i > start and row.startswith("["):
            break
        if row.partition("=")[0].strip() == key:
            return i
    return start


def _place(
    source: Source,
    language: Language,
    text: str,
    *,
    role: int | None = None,
    tags: tuple[str, ...] = (),
) -> Place:
    parts = split_place(language, text)
    if parts is not None:
        return Place(text, *parts, tags)
    line = source.role(role, text)
    raise BankError(
        f"{source.at(line)}: the place {text!r} is not a preposition and a name",
        "write it as the sentence has it, such as 'in a park'",
    )


def _forms(source: Source, language: Language, index: int, table: RoleTable) -> list[Role]:
    """One role for each form of its noun."""
    role = _role(source, language, index, table)
    if table.form and table.forms:
        line = source.role(index, table.form)
        raise BankError(f"{source.at(line)}: {table.name!r} has form and forms", "take one out")
    if not table.forms:
        return [_spoken(source, language, role, table.form or table.name)]
    return [
        replace(
            _spoken(source, language, role, form),
            name=f"{table.name} ({gender})",
            gender=gender,
            names=language.form_names.get(gender, ()),
        )
        for gender, form in table.forms.items()
    ]


def _spoken(source: Source, language: Language, role: Role, form: str) -> Role:
    """The role as a sentence has it; the article may stand before the form."""
    first, _, rest = form.partition(" ")
    if first in language.articles and rest:
        return replace(role, article=first, form=rest)
    article = indefinite_article(language, form)
    if article is None:
        line = source.role(role.entry, form)
        raise BankError(
            f"{source.at(line)}: the article of {form!r} is not known",
            f"write it before the form, such as {language.articles[0]!r}",
        )
    return replace(role, article=article, form=form)


def _role(source: Source, language: Language, index: int, table: RoleTable) -> Role:
    places = tuple(_place(source, language, text, role=index) for text in table.places)
    everywhere = tuple(place.name for place in places)
    activities = tuple(
        Activity(a.text, tuple(a.at) or everywhere, tuple(a.names)) for a in table.activities
    )
    for activity in activities:
        _known(source, activity.at, everywhere, "place of this role", role=index)
        _known(source, activity.names, list(DIMENSIONS), "dimension", role=index)
    if not any(places[0].name in activity.at for activity in activities):
        line = source.role(index, table.places[0])
        raise BankError(
            f"{source.at(line)}: no activity of {table.name!r} fits its first place, "
            f"{places[0].name!r}",
            "put a place first at which one of the activities can happen",
        )
    _check_name(source, index, table.name)
    return Role(
        name=table.name,
        form=table.name,
        article="",
        soc=table.soc,
        places=places,
        activities=activities,
        work=frozenset(table.work),
        avoid=frozenset(table.avoid),
        entry=index,
    )


def _check_name(source: Source, index: int, name: str) -> None:
    """A role's name stands in tables, paths and ``--roles a,b``."""
    line = source.role(index, name)
    if name.lower() in RESERVED_NAMES:
        problem = f"the role name {name!r} has a meaning of its own in the tables"
        raise BankError(f"{source.at(line)}: {problem}", "take another name")
    if "," in name or name != " ".join(name.split()) or not name.isprintable():
        problem = f"the role name {name!r} has a comma, stray spaces or what cannot be printed"
        raise BankError(f"{source.at(line)}: {problem}", "take them out")


def _names_once(source: Source, roles: Sequence[Role]) -> tuple[Role, ...]:
    seen: dict[str, int] = {}
    for role in roles:
        if role.name in seen:
            first = source.role(seen[role.name])
            raise BankError(
                f"{source.at(source.role(role.entry))}: the role {role.name!r} is there already, "
                f"in line {first}",
                "take one of the two out",
            )
        seen[role.name] = role.entry
    return tuple(roles)


def _check_references(bank: Bank) -> None:
    """Every name that an entry refers to is there."""
    places = [place.name for place in bank.places]
    contexts = places + [activity.name for activity in bank.activities]
    for place in bank.places:
        _known(bank.source, place.tags, list(bank.tags), "tag in [tags]")
    for activity in bank.activities:
        _known(bank.source, activity.at, places, "everyday place")
        _known(bank.source, activity.names, list(DIMENSIONS), "dimension")
        _known(bank.source, activity.tags, list(bank.tags), "tag in [tags]")
        if not activity.at:
            line = bank.source.line(value=activity.text)
            raise BankError(
                f"{bank.source.at(line)}: the activity {activity.text!r} has no place",
                "list the everyday places where it is plausible: at = [...]",
            )
    for role in bank.entries:
        _known(bank.source, role.work, list(bank.tags), "tag in [tags]", role=role.entry)
        _known(bank.source, role.avoid, contexts, "everyday context", role=role.entry)
    for axis in bank.axes:
        _known(bank.source, axis.names, list(DIMENSIONS), "dimension")


def _known(
    source: Source,
    given: Iterable[str],
    known: Sequence[str],
    what: str,
    *,
    role: int | None = None,
) -> None:
    for word in sorted(given):
        if word not in known:
            line = source.role(role, word)
            raise BankError(
                f"{source.at(line)}: {word!r} is no {what}",
                nearest(word, list(known)) or f"known are {', '.join(known)}",
            )
