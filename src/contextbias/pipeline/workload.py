"""What is still to be done in a study, and what it will take: a section for each backend."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from statistics import fmean, median
from typing import Any

from contextbias.config import BackendSection
from contextbias.engines.devices import cores, seats_of
from contextbias.errors import MissingPart
from contextbias.extract.protocol import FINISHED
from contextbias.extract.work import reading_id
from contextbias.forecast import Forecast
from contextbias.ids import content_hash
from contextbias.pipeline.labels import label_work
from contextbias.pipeline.model_labels import MODEL as LABELS_BY_MODEL
from contextbias.pipeline.paid import READINGS_A_BATCH
from contextbias.pipeline.selection import Wanted
from contextbias.pipeline.sessions import in_batches, informed
from contextbias.places import is_url
from contextbias.progress import counted
from contextbias.registry import load_reader
from contextbias.store import STORE_FILE, Study
from contextbias.tables import OK, ImageRow
from contextbias.worklist import ERROR, pending

_SAMPLE = 200  # files that are looked at to tell how large the others will be
_NO_ACCELERATOR = {"cpu", "mps"}


def workload(wanted: Wanted) -> dict[str, Any]:
    """Sections of generators, readers and a language model that labels, and what the disk needs.

    Returns:
        ``sections``: stage, name, backend, wanted, done, pending, workers, wall_seconds (with all
        workers), the fields of `forecast.Forecast` for what is pending, ``affordable`` (how many
        of these the budget is enough for) and ``budget_words``. ``disk``: bytes that are expected
        to be added, and that are free. Nothing is spent, and nothing is changed.
    """
    images = wanted.images()
    sections = [_of_generator(wanted, section, images) for section in wanted.drawn]
    sections += [_of_folder(section, images) for section in wanted.folders]
    coming = sum(section["pending"] for section in sections)
    pixels = _pixels(images, sections)
    readable = [image for image in images if image.status == OK]
    sections += [
        _of_reader(wanted.study, section, readable, coming, pixels)
        for section in wanted.study.config.readers
    ]
    to_read = sum(section["pending"] for section in sections if section["stage"] == "extract")
    sections += _of_labels(wanted, to_read)
    return {"sections": sections, "disk": _disk(wanted.study, sections)}


def _disk(study: Study, sections: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Bytes that are expected to be added and that are free, where images are kept.

    Of images at a URL nothing lies on this disk, as far as they are not fetched.
    """
    place = study.config.run.images
    away = place is not None and is_url(place)
    sizes = [s["size"] for s in sections if s["size"] and not (away and s["stage"] == "generate")]
    folder = study.root if place is None or away else study.root / Path(place).expanduser()
    there = next(each for each in (folder, *folder.parents) if each.exists())
    return {"expected": sum(sizes), "free": shutil.disk_usage(there).free}


def _of_generator(
    wanted: Wanted, section: BackendSection, images: Sequence[ImageRow]
) -> dict[str, Any]:
    study = wanted.study
    orders = wanted.orders(section)
    ids = [order.job.image_id for order in orders]
    left = [
        orders[position].job
        for position, _ in pending(
            ids, study.attempts("images"), attempts=study.config.run.attempts
        )
    ]
    backend = informed(wanted.backend_of(section), study, "images", section.name)
    forecast = backend.plan(left) if left and hasattr(backend, "plan") else Forecast()
    mine = [i for i in images if i.generator == section.name and i.status == OK]
    forecast = _measured(forecast, len(left), [i.seconds for i in mine], "finished image")
    if mine and {i.provenance.get("device") for i in mine} & _NO_ACCELERATOR:
        forecast = replace(forecast, accelerator_seconds=None)
    if mine and left and (size := _file_size(study, mine)):
        forecast = replace(forecast, size=round(size * len(left)))
    counts = (len(orders), len(orders) - len(left), len(left))
    return _section("generate", section, counts, forecast, _workers(study, backend, len(left)))


def _of_folder(section: BackendSection, images: Sequence[ImageRow]) -> dict[str, Any]:
    there = sum(image.generator == section.name for image in images)
    note = "images that exist already; `run` takes in what the folder holds"
    return _section("generate", section, (there, there, 0), Forecast(notes=(note,)), 1)


def _of_reader(
    study: Study,
    section: BackendSection,
    readable: Sequence[ImageRow],
    coming: int,
    pixels: tuple[int, int] | None,
) -> dict[str, Any]:
    total = len(readable) + coming
    try:
        backend = load_reader(section.backend, dict(section.options))
    except MissingPart as error:
        forecast = Forecast(notes=(str(error),))
        return _section("extract", section, (total, 0, total), forecast, 1)
    backend = informed(backend, study, "readings", section.name)
    fingerprint = content_hash([section.backend, backend.settings()])
    ids = [reading_id(section.name, fingerprint, i.image_id, i.sha256 or "") for i in readable]
    known, attempts = study.attempts("readings"), study.config.run.attempts
    left = coming + sum(1 for _ in pending(ids, known, attempts=attempts))
    forecast = backend.plan(left, pixels) if left and hasattr(backend, "plan") else Forecast()
    if left and known:
        mine = set(ids)
        # An error is asked for again, and says nothing about what an answer takes.
        finished = [
            reading
            for reading in study.readings()
            if reading.reading_id in mine and reading.status != ERROR
        ]
        if len(finished) >= FINISHED and hasattr(backend, "plan_after"):
            forecast = backend.plan_after(left, [(r.raw, r.seconds) for r in finished])
        else:
            seconds = [reading.seconds for reading in finished if reading.status == OK]
            forecast = _measured(forecast, left, seconds, "finished reading")
        store = (study.root / STORE_FILE).stat().st_size
        forecast = replace(forecast, size=round(store / len(known) * left))
    if left and getattr(backend, "takes_batches", False) and (sent := in_batches(study)):
        verb = "is" if sent == 1 else "are"
        note = f"{counted(sent, 'request')} of this study {verb} in batches: --batch collects them"
        forecast = replace(forecast, notes=(*forecast.notes, note))
    workers = _workers(study, backend, left, batch_size=READINGS_A_BATCH)
    return _section("extract", section, (total, total - left, left), forecast, workers)


def _of_labels(wanted: Wanted, to_read: int) -> list[dict[str, Any]]:
    """The section of the language model that labels terms, where study.toml names one."""
    found = label_work(wanted, to_read)
    if found is None:
        return []
    section = BackendSection.model_construct(
        name=str(wanted.study.config.canonicalise.model["model"]), backend=LABELS_BY_MODEL
    )
    counts = (found.wanted, found.wanted - found.pending, found.pending)
    return [_section("canonicalise", section, counts, found.forecast, 1)]


def _section(
    stage: str,
    section: BackendSection,
    counts: tuple[int, int, int],
    forecast: Forecast,
    workers: int,
) -> dict[str, Any]:
    seconds = forecast.seconds
    return {
        "stage": stage,
        "name": section.name,
        "backend": section.backend,
        **dict(zip(("wanted", "done", "pending"), counts, strict=True)),
        "workers": workers,
        "wall_seconds": None if seconds is None else seconds / workers,
        **asdict(forecast),
        "affordable": forecast.affordable(counts[2]),
        "budget_words": forecast.budget_words(counts[2]),
    }


def _measured(forecast: Forecast, left: int, seconds: Sequence[float], what: str) -> Forecast:
    """Seconds that finished items took, in the place of what the backend expects."""
    if not seconds or not left:
        return forecast
    basis = f"from {counted(len(seconds), what)}"
    measured = fmean(seconds) * left
    on_accelerator = None if forecast.accelerator_seconds is None else measured
    return replace(forecast, seconds=measured, accelerator_seconds=on_accelerator, basis=basis)


def _file_size(study: Study, images: Sequence[ImageRow]) -> float:
    """Bytes of an image and of what lies beside it, from some of them; 0 where none is here."""
    sizes = []
    for image in images[:: -(-len(images) // _SAMPLE)]:
        path = study.files.path(str(image.path))
        beside = path.parent.glob(f"{path.stem}.*")
        sizes.append(sum(file.stat().st_size for file in beside))
    return fmean(sizes)


def _pixels(
    images: Sequence[ImageRow], sections: Sequence[dict[str, Any]]
) -> tuple[int, int] | None:
    """Usual width and height: what generators say of what comes, else of what there is."""
    coming: list[tuple[int, int]] = [
        section["pixels"] for section in sections if section["pixels"] is not None
    ]
    if coming:
        return max(coming)
    known = [(i.width, i.height) for i in images if i.width is not None and i.height is not None]
    if not known:
        return None
    return round(median(w for w, _ in known)), round(median(h for _, h in known))


def _workers(study: Study, backend: Any, pending: int, *, batch_size: int = 1) -> int:
    """How many there will be on this machine; of a cluster that runs, nothing is known here.

    Args:
        study: Whose.
        backend: A generator or a reader.
        pending: Items that are to be done: there are no more workers than batches.
        batch_size: Of a backend that does not say it.
    """
    run = study.config.run
    if backend.parallel == "stream":
        return max(1, min(getattr(backend, "concurrency", 1), pending))
    if backend.parallel == "none":
        return 1
    seats = run.workers or cores()
    if backend.parallel == "devices":
        seats = len(seats_of(None if run.devices == "auto" else run.devices))
    batches = -(-pending // max(1, getattr(backend, "batch_size", batch_size)))
    return max(1, min(seats, batches))
