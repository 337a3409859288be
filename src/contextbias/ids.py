"""Identity: canonical JSON, content hashes, and the seed of each image.

An id is computed from what decides the result, before the work is done. So resuming a study is a
set difference, and adding a role, a model or a seed runs only what is missing.
"""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

SEED_BITS = 31
"""Seeds stay below 2**31, the largest range that every backend accepts."""


def canonical_json(value: Any) -> str:
    """Serialise `value` to the one JSON text that stands for it: sorted keys, no spaces, UTF-8."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def storable_text(text: str) -> str:
    """A text that UTF-8 can hold: half a surrogate pair becomes its escape, ``\\ud83d``."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def storable(value: Any) -> Any:
    """What a backend or a service said, made into JSON that `canonical_json` takes.

    Texts as by `storable_text`; numbers that are not finite, and whatever JSON does not know,
    become a text: what was paid for is kept rather than lost for one odd value in it.
    """
    if isinstance(value, str):
        return storable_text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, dict):
        return {storable_text(str(name)): storable(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [storable(each) for each in value]
    return storable_text(str(value))


def content_hash(value: Any, *, length: int = 20) -> str:
    """Hash a JSON value: the first `length` hex digits of SHA-256 over its canonical text."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:length]


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, 64 hex digits."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def bytes_sha256(data: bytes) -> str:
    """SHA-256 of `data`, 64 hex digits."""
    return hashlib.sha256(data).hexdigest()


def image_seed(study_seed: int, role: str, replicate: int, prompt_id: str | None = None) -> int:
    """Derive the seed of one image.

    Args:
        study_seed: The seed in study.toml.
        role: The role's name.
        replicate: 0 for the first image of a prompt, 1 for the second, …
        prompt_id: None for paired seeds (the same for every prompt of the role, in every condition
            and generator: common random numbers); the prompt's id for independent ones.

    Returns:
        A whole number in [0, 2**31).
    """
    key = ["seed", study_seed, role, replicate] + ([prompt_id] if prompt_id is not None else [])
    digest = hashlib.sha256(canonical_json(key).encode()).digest()
    return int.from_bytes(digest[:8], "big") % (1 << SEED_BITS)
