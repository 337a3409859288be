"""Time from readings to attributes: 66,240 JSON records by default.

    python perf/canonicalise.py [READINGS]

The records are what the simulated study of perf/study.py would have been read as. Last line:
`canonicalise READINGS SECONDS MB`; above it the seconds of parsing the JSON, of canonicalising, and
of the processor.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import polars as pl
import study

from contextbias.canonicalise import pass_through, to_attributes
from contextbias.schema import DIMENSIONS, empty_person, empty_record
from contextbias.tables import ImageRow, ReaderRow, ReadingRow


def main() -> None:
    """Print seconds and the memory's high mark."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 66_240
    images, texts = _records(number)
    reader = ReaderRow(
        reader="reader", fingerprint="f", backend="b", settings={},
        readable=dict.fromkeys(DIMENSIONS),
    )  # fmt: skip
    start, cpu = time.perf_counter(), time.process_time()
    readings = [_reading(image, text) for image, text in zip(images, texts, strict=True)]
    middle = time.perf_counter()
    frame = to_attributes(images, readings, [reader], pass_through(readings))
    end = time.perf_counter()
    status = Path("/proc/self/status").read_text("utf-8").splitlines()
    high = int(next(line for line in status if line.startswith("VmHWM")).split()[1]) / 1000
    print(f"{frame.height} facts; CPU {time.process_time() - cpu:.2f} s")
    print(f"JSON {middle - start:.2f} s, attributes {end - middle:.2f} s")
    print(f"canonicalise {len(readings)} {end - start:.2f} {high:.0f}")


def _records(number: int) -> tuple[list[ImageRow], list[str]]:
    """Images and their records as text, in the order of the file."""
    images: list[ImageRow] = []
    texts: list[str] = []
    for part in study.attributes(10):
        for rows in part.partition_by("image_id", maintain_order=True):
            if len(images) == number:
                return images, texts
            images.append(_image(rows.row(0, named=True)))
            texts.append(json.dumps(_record(rows)))
    return images, texts


def _record(rows: pl.DataFrame) -> dict[str, object]:
    answers: dict[str, object] = {}
    for name, label, reason in rows.select("dimension", "label", "missing_reason").iter_rows():
        if DIMENSIONS[name].kind == "one":
            answers[name] = label or reason
        elif label is not None:
            answers.setdefault(name, []).append(label)  # type: ignore[attr-defined]
        else:
            answers[name] = [] if reason == "empty" else "unknown"
    record = empty_record()
    nobody = "no_person" in answers.values()
    person = empty_person()
    for name, answer in answers.items():
        holder = person if DIMENSIONS[name].per_person else record[DIMENSIONS[name].cohort]
        holder[name] = answer
    record["people"] = [] if nobody else [person]
    return record


def _image(row: dict[str, object]) -> ImageRow:
    names = ("image_id", "prompt_id", "generator", "role", "condition", "variant", "seed")
    fields = {name: row[name] for name in names}
    return ImageRow(
        **fields, attempt=1, generator_fingerprint="f", replicate=0, status="ok", reason=None,
        path=row["image_path"], sha256=row["image_id"], width=1, height=1, seconds=0.0,
        created_at="", provenance={},
    )  # type: ignore[arg-type]  # fmt: skip


def _reading(image: ImageRow, text: str) -> ReadingRow:
    return ReadingRow(
        reading_id=image.image_id, attempt=1, image_id=image.image_id, reader="reader",
        reader_fingerprint="f", schema_version="1", status="ok", reason=None,
        record=json.loads(text), raw={}, seconds=0.0, created_at="",
    )  # fmt: skip


if __name__ == "__main__":
    main()
