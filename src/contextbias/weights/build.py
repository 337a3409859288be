"""Build weight files that no package holds in the form that the reader loads."""

from __future__ import annotations

from collections.abc import Callable

from contextbias.weights.efficientnet import map_model

_BUILDERS: dict[str, Callable[[bytes], bytes]] = {"efficientnet-lite0": map_model}


def build(name: str, member: bytes) -> bytes:
    """The file that the reader loads, from the package's.

    Args:
        name: The table's ``build``.
        member: The package's file, its hash already checked.

    Raises:
        KeyError: There is no such way to build a file.
        UnsafeCheckpoint: The file is no checkpoint of plain tensors.
    """
    return _BUILDERS[name](member)
