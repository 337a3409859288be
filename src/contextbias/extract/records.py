"""Records that another program made: per-image JSON of the released code, or JSONL of our own form.

A record of the released code is one file an image::

    {"image": {"image_id": …, "file_path": …, "source_model": …},
     "cohorts": {"scene_appearance": {…}, "camera": {…}, "objects": {"items": […]},
                 "people": {"persons": [{…, "clothing": [{"clothing_garment": …}]}]}}}

A line of our own form names what the image shows and holds a record of schema/records.py::

    {"generator": "SDXL", "role": "nurse", "condition": "CA-U", "prompt": "…", "seed": 7,
     "path": "1.png", "record": {…}}

Only ``record`` is required; a failed reading has ``status`` and ``reason`` in its place. What is
off schema in a record is a reading with status ``invalid``, as with any other reader; a file that
is no record at all is an error that names it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from contextbias.errors import InputError, nearest
from contextbias.extract.frequencies import ConditionOf, Place, find_files, place_in_layout
from contextbias.schema import CODEBOOK_VERSION, check_record
from contextbias.schema.released import record_of_released
from contextbias.tables import FILTERED, OK

DESCRIPTIONS = "descriptions"
"""Folder of the per-image records of a prompt."""

FIELDS = (
    "generator", "role", "condition", "prompt", "seed", "path", "image_id", "status", "reason",
    "record", "schema_version",
)  # fmt: skip
"""What a line of our own form may name; anything else is kept, and not looked at."""

_LINES = (".jsonl", ".ndjson")
_STATUSES = (OK, "refused", FILTERED, "truncated", "invalid", "corrupt", "error")


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """One image and what was said about it."""

    where: str
    """File, and line where there are several, for messages."""
    name: str
    """What tells the image from the others of its prompt."""
    generator: str
    """Which generator made it."""
    role: str
    """Which role."""
    condition: str
    """Which condition."""
    prompt: str
    """The prompt or its short name; may be empty."""
    seed: int | None
    """Its seed, if it is known."""
    image_id: str | None
    """Which image of the study, where the line says so."""
    path: Path | None
    """The image's file, where it is there."""
    status: str
    """Status of the reading."""
    reason: str | None
    """Why not ``ok``, in words."""
    record: dict[str, Any] | None
    """A record of schema version 1; None unless ``ok``."""
    raw: dict[str, Any] = field(default_factory=dict)
    """The untouched record."""


def read_descriptions(root: Path, condition_of: ConditionOf) -> list[Described]:
    """Read the ``descriptions`` folders of the released layout.

    Args:
        root: The layout's root, or any folder of it down to a role's.
        condition_of: Reads a condition folder's name.

    Returns:
        One for each file, sorted by path; none where there is none.

    Raises:
        InputError: A file is no such record, or stands elsewhere than in the layout.
    """

    def placed(path: Path) -> Place:
        return place_in_layout(root, path.parent.parent, condition_of)

    files = find_files(root, lambda p: p.suffix == ".json" and p.parent.name == DESCRIPTIONS)
    return [released_record(path, placed(path), condition_of) for path in files]


def read_records(source: Path, condition_of: ConditionOf) -> list[Described]:
    """Read records of either form.

    Args:
        source: A ``.jsonl`` file of our own form, a ``.json`` file of the released, or a folder of
            such files.
        condition_of: Reads a condition's name.

    Raises:
        InputError: Nothing there, or a file or line that is no record.
    """
    if source.is_file():
        files = [source]
    else:
        files = find_files(source, lambda path: path.suffix.lower() in (".json", *_LINES))
    found: list[Described] = []
    for path in files:
        if path.suffix.lower() in _LINES:
            found += _lines(path, condition_of)
        elif path.suffix.lower() == ".json":
            place = _place_or_none(source, path, condition_of)
            found.append(released_record(path, place, condition_of))
    if not found:
        raise InputError(
            f"{source} has no record", "give .json files of the released form, or a .jsonl file"
        )
    return found


def released_record(path: Path, place: Place | None, condition_of: ConditionOf) -> Described:
    """Read one record of the released form.

    Args:
        path: Its file.
        place: What the folders above it say; None to go by the record's own ``image.file_path``
            and ``image.source_model``.
        condition_of: Reads a condition's name.

    Raises:
        InputError: Not such a record, or nothing says what its image shows.
    """
    content = _object(path)
    image = content.get("image")
    cohorts = content.get("cohorts")
    if not isinstance(image, dict) or not isinstance(cohorts, dict):
        lacks = "image" if not isinstance(image, dict) else "cohorts"
        raise InputError(
            f"{path} is no record of the released form: it has no object {lacks!r}",
            "see docs/imports.md for the form, or leave the file out",
        )
    file_path = _text(image.get("file_path"))
    told = place or _place_of_image(path, file_path, _text(image.get("source_model")), condition_of)
    record, faults = record_of_released(cohorts)
    faults = [*faults, *check_record(record)]
    name = _text(image.get("image_id")) or path.stem
    return Described(
        where=str(path),
        name=name,
        generator=told.generator,
        role=told.role,
        condition=told.condition,
        prompt=told.prompt,
        seed=_seed_of(name),
        image_id=None,
        path=_image_beside(path, file_path),
        status="invalid" if faults else OK,
        reason="; ".join(faults[:5]) or None,
        record=None if faults else record,
        raw={"released": content},
    )


def _place_or_none(source: Path, path: Path, condition_of: ConditionOf) -> Place | None:
    if path.parent.name != DESCRIPTIONS or source == path:
        return None
    try:
        return place_in_layout(source, path.parent.parent, condition_of)
    except InputError:
        return None


def _place_of_image(
    path: Path, file_path: str, source_model: str, condition_of: ConditionOf
) -> Place:
    """What the image's own path says: condition folder, role, prompt, file."""
    parts = PurePosixPath(file_path.replace("\\", "/")).parts
    for at, part in enumerate(parts[:-3]):
        condition = condition_of(part)
        if condition is not None and source_model:
            return Place(
                source=source_model,
                generator=source_model,
                condition=condition,
                role=parts[at + 1].replace("_", " ").strip().lower(),
                prompt="/".join(parts[at + 2 : -1]),
            )
    raise InputError(
        f"{path} does not say what its image shows: image.file_path is {file_path!r}, "
        f"image.source_model {source_model!r}",
        "give CONDITION/ROLE/PROMPT/FILE and a model, or lay the files out as the released ones",
    )


def _image_beside(path: Path, file_path: str) -> Path | None:
    """The image's file, if it is in the folder of its prompt or where its path says."""
    if not file_path:
        return None
    relative = Path(*PurePosixPath(file_path.replace("\\", "/")).parts)
    folders = list(path.parents)[:6]
    candidates = [path.parent.parent / relative.name, *(folder / relative for folder in folders)]
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def _seed_of(name: str) -> int | None:
    """``image_0_seed_444940`` -> 444940."""
    digits = name.rpartition("seed_")[2]
    return int(digits) if "seed_" in name and _is_seed(digits) else None


def _is_seed(digits: str) -> bool:
    return digits.isascii() and digits.isdigit() and int(digits) < 2**63


# ---- our own form


def _lines(path: Path, condition_of: ConditionOf) -> list[Described]:
    found = []
    for number, text in enumerate(_decoded(path).split("\n"), start=1):
        if text.strip():
            found.append(_line(path, number, text, condition_of))
    return found


def _line(path: Path, number: int, text: str, condition_of: ConditionOf) -> Described:
    where = f"{path}, line {number}"
    try:
        content = json.loads(text)
    except ValueError as error:
        raise InputError(f"{where} is not JSON: {error}", "write one object a line") from None
    if not isinstance(content, dict):
        raise InputError(f"{where} is not an object", 'write {"record": {...}}')
    status = _status(where, content)
    condition = _text(content.get("condition")) or "CF"
    named = condition_of(condition)
    if named is None:
        raise InputError(f"{where}: unknown condition {condition!r}", "write CF, CA-R or CA-U")
    faults = check_record(content.get("record")) if status == OK else []
    seed = content.get("seed")
    if seed is not None and not (isinstance(seed, int) and _is_seed(str(seed))):
        raise InputError(f"{where}: the seed {seed!r} is not a whole number from 0", "correct it")
    file = _text(content.get("path"))
    beside = path.parent / file if file else None
    return Described(
        where=where,
        name=_text(content.get("image_id")) or file or f"line {number}",
        generator=_text(content.get("generator")) or "images",
        role=(_text(content.get("role")) or "all").lower(),
        condition=named,
        prompt=_text(content.get("prompt")),
        seed=seed,
        image_id=_text(content.get("image_id")) or None,
        path=beside if beside is not None and beside.is_file() else None,
        status="invalid" if faults else status,
        reason="; ".join(faults[:5]) or _text(content.get("reason")) or None,
        record=content["record"] if status == OK and not faults else None,
        raw={"line": content},
    )


def _status(where: str, content: dict[str, Any]) -> str:
    status = _text(content.get("status")) or OK
    if status not in _STATUSES:
        hint = nearest(status, list(_STATUSES)) or f"known: {', '.join(_STATUSES)}"
        raise InputError(f"{where}: unknown status {status!r}", hint)
    if status == OK and "record" not in content:
        misspelt = [name for name in content if nearest(name, ["record"])]
        hint = f"did you mean 'record' in the place of {misspelt[0]!r}" if misspelt else ""
        raise InputError(f"{where} has no record", hint or 'write {"record": {...}}')
    version = content.get("schema_version", CODEBOOK_VERSION)
    if str(version) != CODEBOOK_VERSION:
        raise InputError(
            f"{where} is of schema version {version!r}; this program knows {CODEBOOK_VERSION}",
            "bring it to this version first",
        )
    return status


# ---- files


def _object(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(_decoded(path))
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path}, line {error.lineno}: not JSON ({error.msg})", "correct the file, or remove it"
        ) from None
    if not isinstance(content, dict):
        raise InputError(f"{path} is a JSON {type(content).__name__}", "it has to be an object")
    return content


def _decoded(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"cannot read {path}: {reason}", "check its permissions") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 (byte {error.start})", "save it as UTF-8") from None


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
