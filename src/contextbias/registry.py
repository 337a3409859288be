"""Backends by name: imported only when used, so that a missing extra harms nobody else.

Other packages add theirs by the entry-point groups ``contextbias.generators`` and
``contextbias.readers``: the entry point is a class that is called with the options of study.toml.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from contextbias.errors import ConfigError, MissingPart, nearest, pip_install


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a backend lives and which extra of contextbias brings what it needs."""

    target: str
    """``module:object``."""
    extra: str | None = None
    """Name of the extra, if it needs more than the core."""


GENERATORS = {
    "command": Entry("contextbias.generate.command:CommandGenerator"),
    "openai_images": Entry("contextbias.generate.openai_images:OpenAIImages", extra="openai"),
    "simulated": Entry("contextbias.generate.simulated:SimulatedGenerator"),
    "diffusers": Entry("contextbias.generate.diffusers:DiffusersGenerator", extra="diffusers"),
}
"""Built-in generators. ``folder`` brings in existing images and is known to the pipeline."""

READERS = {
    "simulated": Entry("contextbias.extract.simulated:SimulatedReader"),
    "local": Entry("contextbias.extract.local:LocalReader", extra="local"),
    "openai": Entry("contextbias.extract.openai:OpenAIReader", extra="openai"),
    "transformers": Entry(
        "contextbias.extract.transformers:TransformersReader", extra="transformers"
    ),
}
"""Built-in readers."""


def load_generator(name: str, options: dict[str, Any], *, folder: Path | None = None) -> Any:
    """Build the generator `name` (see generate/protocol.py) from its options.

    Args:
        name: Registered name.
        options: Those of study.toml.
        folder: The study's folder. It is given to a class that has ``in_folder = True``, as the
            argument `folder`: paths in its options are relative to it.

    Raises:
        ConfigError: No such backend, or it refuses an option.
        MissingPart: What it needs is not installed.
    """
    found = _load("generator", GENERATORS, name)
    return found(options, folder=folder) if getattr(found, "in_folder", False) else found(options)


def load_reader(name: str, options: dict[str, Any]) -> Any:
    """Build the reader `name` (see extract/protocol.py) from its options; raises as above."""
    return _load("reader", READERS, name)(options)


def names(kind: str) -> list[str]:
    """Names of all backends of a kind (``generator`` or ``reader``), built in and added."""
    built_in = GENERATORS if kind == "generator" else READERS
    added = {point.name for point in entry_points(group=f"contextbias.{kind}s")}
    return sorted(set(built_in) | added | ({"folder"} if kind == "generator" else set()))


def _load(kind: str, built_in: dict[str, Entry], name: str) -> Any:
    entry = built_in.get(name)
    if entry is None:
        for point in entry_points(group=f"contextbias.{kind}s", name=name):
            return point.load()
        hint = nearest(name, names(kind)) or f"known: {', '.join(names(kind))}"
        raise ConfigError(f"there is no {kind} backend {name!r}", hint)
    module, _, attribute = entry.target.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        if entry.extra is None or (error.name or "").startswith("contextbias"):
            raise
        raise MissingPart(
            f"the {kind} backend {name!r} needs {error.name}, which is not installed",
            pip_install(f"contextbias[{entry.extra}]"),
        ) from None
