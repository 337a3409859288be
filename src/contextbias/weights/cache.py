"""Where weight files lie, and whether they are the right ones."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from contextbias.errors import MissingPart
from contextbias.ids import file_sha256
from contextbias.weights.table import WeightFile, select

STATES = {
    "present": "there, with the right hash",
    "missing": "not fetched yet",
    "damaged": "there, but not the file that was asked for; fetch replaces it",
}
"""What ``models list`` says about a file."""


@dataclass(frozen=True, slots=True)
class WeightState:
    """One weight file and what the cache holds of it."""

    weight: WeightFile
    """The row of the table."""
    path: Path
    """Where the file is, or would be."""
    state: str
    """One of STATES."""


def weights_folder(folder: Path | None = None) -> Path:
    """The folder that holds the weight files.

    Args:
        folder: Taken as it is when given.

    Returns:
        `folder`, else ``$CONTEXTBIAS_CACHE/weights``, else ``$XDG_CACHE_HOME/contextbias/weights``,
        else ``~/.cache/contextbias/weights``. It need not exist.
    """
    if folder is not None:
        return folder
    own = os.environ.get("CONTEXTBIAS_CACHE")
    if own:
        return Path(own).expanduser() / "weights"
    shared = os.environ.get("XDG_CACHE_HOME")
    base = Path(shared) if shared else Path.home() / ".cache"
    return base / "contextbias" / "weights"


def states(names: Sequence[str] = (), folder: Path | None = None) -> list[WeightState]:
    """What the cache holds of the weight files called `names` (all of them for no names)."""
    where = weights_folder(folder)
    return [_state(weight, where / weight.file) for weight in select(names)]


def require(names: Sequence[str], folder: Path | None = None) -> dict[str, Path]:
    """Paths of weight files that are present and have the right hash.

    Raises:
        MissingPart: One or more are missing or damaged; one message with the command to run.
    """
    found = states(names, folder)
    lacking = [
        f"{entry.weight.name} ({entry.state})" for entry in found if entry.state != "present"
    ]
    if lacking:
        where = weights_folder(folder)
        option = f" --dir {where}" if folder is not None else ""
        raise MissingPart(
            f"model weights are not in {where}: {', '.join(lacking)}",
            f"run 'contextbias models fetch{option}' once; nothing is downloaded later",
        )
    return {entry.weight.name: entry.path for entry in found}


def _state(weight: WeightFile, path: Path) -> WeightState:
    if not path.is_file():
        return WeightState(weight, path, "missing")
    right = path.stat().st_size == weight.size and file_sha256(path) == weight.sha256
    return WeightState(weight, path, "present" if right else "damaged")
