"""Rows as stages make them, for the tests of what keeps and measures rows."""

from __future__ import annotations

from typing import Any

from contextbias.tables import (
    FrequencyRow,
    GeneratorRow,
    ImageRow,
    Prompt,
    ReaderRow,
    ReadingRow,
)


def prompt(prompt_id: str = "p1", **fields: Any) -> Prompt:
    defaults: dict[str, Any] = {
        "role": "nurse",
        "condition": "CA-R",
        "base": "rel-place",
        "variant": "phrasing-1",
        "location": "hospital ward",
        "activity": None,
        "text": "a photo of a nurse in a hospital ward",
        "prompted": ("items",),
        "bank": "test-1",
    }
    return Prompt(prompt_id=prompt_id, **(defaults | fields))


def generator(name: str = "g", fingerprint: str = "f1") -> GeneratorRow:
    return GeneratorRow(
        generator=name, fingerprint=fingerprint, backend="simulated", settings={"a": [1, 2]}
    )


def reader(name: str = "r", fingerprint: str = "f1") -> ReaderRow:
    readable: dict[str, tuple[str, ...] | None] = {"mood": None, "framing": ("tight", "wide")}
    return ReaderRow(
        reader=name, fingerprint=fingerprint, backend="simulated", settings={}, readable=readable
    )


def image(image_id: str = "i1", attempt: int = 1, **fields: Any) -> ImageRow:
    defaults: dict[str, Any] = {
        "prompt_id": "p1",
        "generator": "g",
        "generator_fingerprint": "f1",
        "role": "nurse",
        "condition": "CA-R",
        "variant": "rel-place/phrasing-1",
        "seed": 5,
        "replicate": 0,
        "status": "ok",
        "reason": None,
        "path": f"images/{image_id}.png",
        "sha256": "0" * 64,
        "width": 8,
        "height": 8,
        "seconds": 0.5,
        "created_at": "2026-01-01T00:00:00+00:00",
        "provenance": {"host": "here"},
    }
    return ImageRow(image_id=image_id, attempt=attempt, **(defaults | fields))


def reading(reading_id: str = "d1", attempt: int = 1, **fields: Any) -> ReadingRow:
    defaults: dict[str, Any] = {
        "image_id": "i1",
        "reader": "r",
        "reader_fingerprint": "f1",
        "schema_version": "1",
        "status": "ok",
        "reason": None,
        "record": {"people": []},
        "raw": {"box": [0.1, 0.2]},
        "seconds": 0.5,
        "created_at": "2026-01-01T00:00:00+00:00",
    }
    return ReadingRow(reading_id=reading_id, attempt=attempt, **(defaults | fields))


def frequency(frequency_id: str = "q1", **fields: Any) -> FrequencyRow:
    defaults: dict[str, Any] = {
        "attempt": 1,
        "reader": "released",
        "generator": "Flux",
        "source": "study_Flux",
        "role": "nurse",
        "condition": "CF",
        "prompt_id": "p1",
        "variant": "a_photo",
        "images": 10,
        "counts": (("scene_appearance", "mood", "calm", 7),),
        "sha256": "s1",
        "created_at": "2026-01-01T00:00:00+00:00",
    }
    return FrequencyRow(frequency_id=frequency_id, **(defaults | fields))
