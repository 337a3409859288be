"""What `contextbias validate` asks: prompts for the labels that a study shows, and their study.

The prompts are a study of their own inside the folder, ``STUDY/validation``: it is stopped, gone on
with and paid for like any other, and no table or number of the study itself can meet its images.
Prompts that were made once stay, whatever the study shows later.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contextbias.bench.explicit import BASE, Explicit, Shares, explicit_prompts, frames_of
from contextbias.config import StudyConfig, load_config
from contextbias.errors import ConfigError, InputError
from contextbias.files import unreadable, write_atomic
from contextbias.guards import CONFIG_FILE
from contextbias.pipeline.selection import Wanted
from contextbias.places import is_url
from contextbias.schema.wording import Named, verifiable

if TYPE_CHECKING:
    from contextbias.store import Study

FOLDER = "validation"
"""Where the prompts with a known truth, their images and readings are, in the study's folder."""

PROMPTS_FILE = "prompts.json"
"""The prompts, in the form of any prompt list; ``names`` says what is known of each."""

PROMPTS, IMAGES = 220, 10
"""Prompts, and images of each by each generator, where nothing else is said: the paper's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much is asked; None: as much as before, or the paper's numbers."""

    prompts: int | None = None
    """How many prompts."""
    images: int | None = None
    """Images of each, by each generator."""
    context_free: bool = False
    """No prompt that is made now names a place."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """The files of a validation study."""

    prompts: tuple[Explicit, ...]
    """Every prompt, in the order in which they were made."""
    files: dict[str, bytes]
    """Name -> content."""
    asked: int
    """How many were asked for; more than there are where the study's labels give no more."""


def prepare(study: Study, size: Size, *, home: str = os.pardir) -> Prepared:
    """Say what will be asked; nothing is written.

    Args:
        study: The study whose generators and readers are looked at.
        size: How much.
        home: The study's folder, seen from the folder of the result.

    Raises:
        ConfigError: Nothing in study.toml draws, or nothing reads.
        InputError: The study has no attributes, or none that a prompt can name.
    """
    wanted = Wanted(study)
    if not wanted.drawn:
        raise ConfigError(
            f"no generator of {study.root} draws, so there is nobody to ask for known labels",
            "validate a study whose [[generators]] make images",
        )
    if not study.config.readers:
        raise ConfigError("study.toml names no reader", "add a [[readers]] section")
    folder = study.root / FOLDER
    known = known_prompts(folder)
    asked = size.prompts or len(known) or PROMPTS
    prompts = _prompts(wanted, known, asked, context_free=size.context_free)
    images = size.images
    if images is None:
        config = folder / CONFIG_FILE
        images = load_config(config).study.images_per_prompt if config.is_file() else IMAGES
    files = {
        PROMPTS_FILE: _listed(prompts),
        CONFIG_FILE: _config_text(study.config, wanted, images, home).encode(),
    }
    return Prepared(tuple(prompts), files, asked)


def is_there(folder: Path, prepared: Prepared) -> bool:
    """Whether the files of a validation study are as they are wanted."""
    return all(
        (folder / name).is_file() and (folder / name).read_bytes() == data
        for name, data in prepared.files.items()
    )


def put(folder: Path, prepared: Prepared) -> None:
    """Write the files of a validation study, those that are not there as they should be."""
    for name, data in prepared.files.items():
        if not (folder / name).is_file() or (folder / name).read_bytes() != data:
            write_atomic(folder / name, data)


def study_of(folder: Path) -> Path | None:
    """The study that a folder is the validation of; None where it is none."""
    around = folder.resolve().parent
    is_one = folder.resolve().name == FOLDER and (folder / PROMPTS_FILE).is_file()
    return around if is_one and (around / CONFIG_FILE).is_file() else None


def known_prompts(folder: Path) -> list[Explicit]:
    """The prompts that a validation study has; none where there is none.

    Raises:
        InputError: The file is not as it was written.
    """
    path = folder / PROMPTS_FILE
    if not path.is_file():
        return []
    try:
        return [_explicit(entry) for entry in json.loads(path.read_text("utf-8"))]
    except OSError as error:
        raise unreadable(path, error) from None
    except (ValueError, TypeError, KeyError):
        raise InputError(
            f"{path} is not a list of prompts that name a label",
            "put it back as it was, or delete the folder validation to begin again",
        ) from None


def _prompts(
    wanted: Wanted, known: list[Explicit], count: int, *, context_free: bool
) -> list[Explicit]:
    """Those that are there, and as many more as are asked for and the study's labels give."""
    if count <= len(known):
        return known
    frames = frames_of(wanted.prompts)
    if not frames:
        raise InputError(
            "explicit prompts are English sentences, and no prompt of this study begins with "
            '"a photo of"',
            "validate its generators and readers in a study of the bank contextbench",
        )
    made = explicit_prompts(
        shares_of(wanted),
        frames,
        count + len(known),
        can_tell=_Told(wanted),
        context_free=context_free,
    )
    there = {(each.role, each.named) for each in known}
    new = [each for each in made if (each.role, each.named) not in there]
    return [*known, *new[: count - len(known)]]


class _Told:
    """Whether any reader can tell a label of a dimension."""

    def __init__(self, wanted: Wanted) -> None:
        asked = {section.name for section in wanted.study.config.readers}
        self._readable = [r.readable for r in wanted.reader_rows.values() if r.reader in asked]

    def __call__(self, dimension: str, label: str) -> bool:
        return any(
            dimension in readable and ((labels := readable[dimension]) is None or label in labels)
            for readable in self._readable
        )


def shares_of(wanted: Wanted) -> Shares:
    """The labels that each role shows, the most frequent first, as the first reader reads them.

    Counted are images, of all generators and conditions, by their most prominent person.

    Raises:
        InputError: The study has no attributes.
    """
    import polars as pl

    study = wanted.study
    attributes = study.scan_attributes()
    if attributes is None:
        raise InputError(f"{study.root} has no attributes", "run the study first")
    facts = (
        attributes.filter(
            pl.col("label").is_not_null(),
            pl.col("person").fill_null(0) == 0,
            pl.col("dimension").is_in(verifiable()),
        )
        .group_by("reader", "role", "dimension", "label")
        .agg(images=pl.col("image_id").n_unique())
        .collect()
    )
    read = set(facts["reader"])
    first = next((s.name for s in study.config.readers if s.name in read), None)
    rows = facts.filter(pl.col("reader") == first).sort(
        "role", "dimension", pl.col("images"), "label", descending=[False, False, True, False]
    )
    found: dict[tuple[str, str], list[str]] = {}
    for role, dimension, label in rows.select("role", "dimension", "label").iter_rows():
        found.setdefault((role, dimension), []).append(label)
    return found


# ---- the files


def _listed(prompts: Iterable[Explicit]) -> bytes:
    entries = [_entry(each) for each in prompts]
    return (json.dumps(entries, indent=1, ensure_ascii=False) + "\n").encode()


def _entry(each: Explicit) -> dict[str, Any]:
    named = each.named
    entry = {
        "role": each.role,
        "condition": each.condition,
        "prompt": each.text,
        "base": BASE,
        "variant": each.variant,
        "location": each.location,
        "prompted": [named.dimension],
        "names": {
            "dimension": named.dimension,
            "label": named.label,
            "present": named.present,
        },
    }
    return {key: value for key, value in entry.items() if value is not None}


def _explicit(entry: dict[str, Any]) -> Explicit:
    names = entry["names"]
    return Explicit(
        role=str(entry["role"]),
        condition=str(entry["condition"]),
        location=entry.get("location"),
        text=str(entry["prompt"]),
        named=Named(str(names["dimension"]), str(names["label"]), bool(names["present"])),
    )


def _config_text(config: StudyConfig, wanted: Wanted, images: int, home: str) -> str:
    """The study.toml of the known prompts: the same generators and readers."""
    study = {
        **config.study.model_dump(),
        "name": f"{config.study.name}: known prompts",
        "images_per_prompt": images,
        # Intervals and tests take prompts for independent of each other. With the seeds of a role
        # in common, what a seed decides (how a person appears, how hard the picture is to read)
        # comes back in prompt after prompt, and is taken for a difference in errors.
        "seeds": "independent",
    }
    run = config.run.model_dump(exclude_none=True)
    if config.run.images is not None:
        run["images"] = _place(config.run.images, home)
    lines = [
        "# Made by `contextbias validate`: prompts that name a label, for the generators and",
        "# readers of the study around it. Change that study's study.toml, not this one.",
        "version = 1",
        *_table("[study]", study),
        *_table("[bench]", {"bank": PROMPTS_FILE}),
        *_table("[run]", run),
    ]
    for section in wanted.drawn:
        options = dict(section.options)
        if getattr(wanted.backend_of(section), "in_folder", False):
            options["cwd"] = os.path.join(home, str(options.get("cwd", ".")))  # noqa: PTH118 - a text
        lines += _table("[[generators]]", section.model_dump() | {"options": options})
    for section in config.readers:
        lines += _table("[[readers]]", section.model_dump())
    return "\n".join(lines) + "\n"


def _place(images: str, home: str) -> str:
    """A place of its own inside the place of the study's images."""
    if is_url(images) or Path(images).expanduser().is_absolute():
        return f"{images.rstrip('/')}/{FOLDER}"
    return f"{home}/{images}/{FOLDER}"


def _table(head: str, values: dict[str, Any]) -> list[str]:
    return ["", head, *(f"{key} = {_toml(value)}" for key, value in values.items())]


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        inside = ", ".join(f"{json.dumps(str(k))} = {_toml(v)}" for k, v in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def named_by(prompts: Sequence[Explicit]) -> dict[tuple[str, str, str], Named]:
    """(role, condition, text) -> what the prompt names."""
    return {(each.role, each.condition, each.text): each.named for each in prompts}
