"""Which revision of its model a generator's images were made by, as the rows tell it.

Weights can be replaced in their folder, and a branch can move, while the settings stay the same.
"""

from __future__ import annotations

from collections.abc import Iterable

from contextbias.tables import ImageRow


def revisions(rows: Iterable[ImageRow], fingerprint: str) -> tuple[str, ...]:
    """Revisions that rows with these settings name, sorted; none where the backend tells none.

    Args:
        rows: Images of one generator.
        fingerprint: Of its settings.
    """
    return tuple(sorted({r for row in rows if row.generator_fingerprint == fingerprint
                         and (r := _revision(row)) is not None}))  # fmt: skip


def mixed(rows: Iterable[ImageRow]) -> dict[str, dict[str, int]]:
    """Generators whose images come from more than one revision -> revision -> images."""
    found: dict[tuple[str, str], dict[str, int]] = {}
    for row in rows:
        revision = _revision(row)
        if revision is not None:
            counted = found.setdefault((row.generator, row.generator_fingerprint), {})
            counted[revision] = counted.get(revision, 0) + 1
    return {name: counted for (name, _), counted in found.items() if len(counted) > 1}


def _revision(row: ImageRow) -> str | None:
    """None for a row without a picture: nothing was loaded, or nothing came of it."""
    value = row.provenance.get("revision")
    return value if row.path is not None and isinstance(value, str) else None
