"""The stages that cost nothing: canonicalise, measure, report. Each is rewritten whole, or left.

A stage compares what it was made from with what is there now, the program's own definitions among
it, and does nothing when it is the same.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from contextbias.config import Preset
from contextbias.errors import InputError, nearest
from contextbias.ids import content_hash
from contextbias.pipeline.definitions import definitions
from contextbias.pipeline.labels import known_mapping, mapping_of, say_changes
from contextbias.pipeline.model_labels import MODEL
from contextbias.pipeline.options import Done, Options
from contextbias.pipeline.people import drawable_images, people_answers, people_fingerprint
from contextbias.pipeline.repeats import repeats_fingerprint, write_repeats
from contextbias.pipeline.selection import Wanted
from contextbias.pipeline.validation import known_answers, known_fingerprint
from contextbias.schema import CODEBOOK_VERSION
from contextbias.store import MAPPING_FILE, Study
from contextbias.tables import ImageRow, ReadingRow

if TYPE_CHECKING:
    import polars as pl

    from contextbias.canonicalise import LabelMapping


_MEASURED = ("attributes", "planted", "label_counts", "repeats")


def canonicalise(wanted: Wanted, options: Options) -> Done:
    """Turn readings into attributes, and counted answers into label counts.

    Raises:
        InputError: There is neither.
    """
    from contextbias.canonicalise import to_attributes

    study = wanted.study
    images = wanted.images()
    readings = wanted.readings(images)
    if not readings and not study.counts()["frequencies"]:
        raise InputError(f"{study.root} has no reading", "run the extract stage first")
    if study.config.canonicalise.mapping == MODEL:
        _refuse_edited(study)  # before anything is paid for
    mapping = mapping_of(study, readings, options.progress)
    counted = _label_counts(study, mapping)
    again = write_repeats(wanted, images, mapping)
    beside = [f"{counted:,} counted answers"] if counted else []
    beside += [f"{again:,} facts of further readings"] if again else []
    fingerprint = _attributes_fingerprint(wanted, images, readings, mapping.content_hash)
    if study.fingerprint("attributes") == fingerprint:
        return Done("canonicalise", counted + again, ", ".join(beside) or "nothing to do")
    frame = to_attributes(images, readings, list(wanted.reader_rows.values()), mapping)
    _refuse_edited(study)
    say_changes(study, mapping, options.progress.say)
    study.write_attributes(frame, fingerprint, mapping.to_json())
    note = ", ".join([f"{frame.height:,} facts", *beside])
    return Done("canonicalise", frame.height + counted + again, note)


def _label_counts(study: Study, mapping: LabelMapping) -> int:
    """Write what came counted, where it is not there as it should be; returns how many rows."""
    from contextbias.canonicalise.frequencies import label_counts

    fingerprint = _label_counts_fingerprint(study, mapping.content_hash)
    if fingerprint == study.fingerprint("label_counts"):
        return 0
    frame = label_counts(study.frequencies(), mapping)
    study.write_label_counts(frame, fingerprint or "")
    return frame.height


def _label_counts_fingerprint(study: Study, mapping: str) -> str | None:
    """What the label counts are made from; None when nothing came counted."""
    rows = [[frequency_id, attempt] for frequency_id, attempt, *_ in study.counted()]
    if not rows:
        return None
    return content_hash([*_made("label_counts"), CODEBOOK_VERSION, mapping, rows])


def _refuse_edited(study: Study) -> None:
    """Do not write over a mapping that somebody has worked on."""
    from contextbias.canonicalise import LabelMapping

    data = study.mapping()
    if data is None:
        return
    path = study.root / MAPPING_FILE
    try:
        if LabelMapping.from_json(data, where=str(path)).to_json() == data:
            return
    except InputError:
        pass
    raise InputError(
        f"{path} was changed by hand, and would be written over",
        "to use it, copy it beside study.toml and name it under [canonicalise] mapping; "
        "then delete it where it is",
    )


def _attributes_fingerprint(
    wanted: Wanted, images: list[ImageRow], readings: list[ReadingRow], mapping: str
) -> str:
    rows = [[i.image_id, i.attempt, i.status, i.path, i.variant] for i in images]
    read = [[r.reading_id, r.attempt, r.status] for r in readings]
    readers = [row.fingerprint for row in wanted.known_readers.values()]
    return content_hash([*_made("attributes"), CODEBOOK_VERSION, mapping, readers, rows, read])


def _made(table: str) -> list[Any]:
    """What begins each fingerprint: which table, and what the program understands by it."""
    return [table, definitions(table)]


def measure(wanted: Wanted, options: Options) -> Done:
    """Turn attributes into estimates.

    Raises:
        InputError: There are no attributes.
    """
    from contextbias.measure import measure_lazily

    study = wanted.study
    attributes = study.scan_attributes()
    if attributes is None or study.fingerprint("attributes") is None:
        seen = "has no attributes" if attributes is None else "has attributes that were changed"
        raise InputError(f"{study.root} {seen}", "run the canonicalise stage first")
    _check_codebook(study)
    if not _is_current(wanted):
        _say_older("attributes", options)
    settings = _settings(study, options.preset)
    fingerprint = _estimates_fingerprint(study, settings)
    if study.fingerprint("estimates") == fingerprint:
        return Done("measure", 0, "nothing to do")
    readable = {row.reader: row.readable for row in wanted.reader_rows.values()}
    estimates = measure_lazily(
        attributes,
        _planted(study),
        readable=readable,
        label_counts=study.label_counts(),
        repeats=study.repeats(),
        judged=people_answers(study.root, study.mapping()),
        drawable=drawable_images(study.root, wanted.images),
        known=known_answers(study.root, study.mapping()),
        prompts=prompts_frame(wanted),
        codebook=CODEBOOK_VERSION,
        **settings | {"shares": _shares(wanted, options)},
    )
    number = study.write_estimates(estimates, fingerprint)
    return Done("measure", number, f"{number:,} estimates")


def prompts_frame(wanted: Wanted) -> pl.DataFrame | None:
    """What is known of the prompts; None for a study of images that came without any."""
    import polars as pl

    prompts = wanted.known_prompts()
    if not prompts:
        return None
    plain = ("prompt_id", "base", "location", "activity")
    columns = {name: [getattr(prompt, name) for prompt in prompts] for name in plain}
    return pl.DataFrame(
        columns | {"prompted": [list(prompt.prompted) for prompt in prompts]},
        schema={**dict.fromkeys(plain, pl.String), "prompted": pl.List(pl.String)},
    )


def _check_codebook(study: Study) -> None:
    """Refuse attributes of another codebook: their labels would be counted as this one's."""
    mapping = own_mapping(study)
    if mapping is not None and mapping.codebook != CODEBOOK_VERSION:
        raise InputError(
            f"the attributes of {study.root} are of codebook {mapping.codebook!r}, and this "
            f"version has {CODEBOOK_VERSION!r}",
            "run the canonicalise stage first",
        )


def stale(wanted: Wanted) -> list[str]:
    """Derived files that are there, but of earlier rows or settings; in the order of the stages."""
    study = wanted.study
    now = {
        "estimates": _estimates_fingerprint(study, _settings(study, other_preset(study))),
        "report": _report_fingerprint(study),
    }
    found = [] if _is_current(wanted) else ["attributes"]
    for name, fingerprint in now.items():
        # What was made from a stale file is stale, whatever its own fingerprint says.
        if found or study.fingerprint(name) != fingerprint:
            found.append(name)
    return [name for name in found if study.fingerprint(name) is not None]


def other_preset(study: Study) -> str | None:
    """The preset that the estimates were made with, where study.toml says another one.

    None where they are those of study.toml, or older than the attributes or its other settings.
    """
    known = study.fingerprint("estimates")
    if known is None or known == _estimates_fingerprint(study, _settings(study, None)):
        return None
    made = (
        p for p in get_args(Preset) if known == _estimates_fingerprint(study, _settings(study, p))
    )
    return next(made, None)


def _settings(study: Study, preset: str | None) -> dict[str, Any]:
    settings = study.config.measure.model_dump() | {"seed": study.config.study.seed}
    settings["shares"] = _shares_hash(study)
    return settings if preset is None else settings | {"preset": preset}


def _shares_hash(study: Study) -> str | None:
    """Hash of the table of reference shares; None without one."""
    name = study.config.measure.shares
    if name is None:
        return None
    try:
        return sha256((study.root / name).read_bytes()).hexdigest()
    except OSError:
        return "unreadable"  # reading it says why


def _shares(wanted: Wanted, options: Options) -> pl.DataFrame | None:
    """The table of reference shares, if the study has one; says what of it cannot be used."""
    from contextbias.measure.shares import read_shares

    name = wanted.study.config.measure.shares
    if name is None:
        return None
    path = wanted.study.root / name
    shares = read_shares(path)
    known = {image.role for image in wanted.images()}
    known |= {role for *_, role in wanted.study.counted()}
    unused = [role for role in shares["role"].unique(maintain_order=True) if role not in known]
    if len(unused) == shares["role"].n_unique():
        raise InputError(
            f"{path} has shares of no role of this study: {unused[0]!r}",
            nearest(unused[0], sorted(known)) or f"its roles are {', '.join(sorted(known))}",
        )
    if unused:
        options.progress.say(f"shares of roles that the study lacks: {', '.join(unused)}")
    return _as_counted(shares, own_mapping(wanted.study), path)


def _as_counted(shares: pl.DataFrame, mapping: LabelMapping | None, path: Path) -> pl.DataFrame:
    """Shares with the labels under which the study counts what was read."""
    import polars as pl

    if mapping is None:
        return shares
    pairs = shares.select("dimension", "label").iter_rows()
    labels = pl.Series("canonical", [mapping.canonical(*pair) for pair in pairs], dtype=pl.String)
    spelt = shares.with_columns(labels)
    keys = ["role", "dimension", "canonical"]
    twice = spelt.filter(spelt.select(keys).is_duplicated()).sort(keys)
    if not twice.is_empty():
        first, second = twice["label"].head(2)
        role, dimension, label = twice.select(keys).row(0)
        raise InputError(
            f"{path}: {first!r} and {second!r} of {role}, {dimension} are one label in this study, "
            f"{label!r}",
            "keep one of them",
        )
    return spelt.with_columns(label="canonical").select(shares.columns)


def _estimates_fingerprint(study: Study, settings: dict[str, Any]) -> str:
    sources = [study.fingerprint(name) for name in _MEASURED]
    answers = people_fingerprint(study.root)
    known = known_fingerprint(study.root)
    return content_hash([*_made("estimates"), settings, sources, answers, known])


def _report_fingerprint(study: Study) -> str:
    sources = [study.fingerprint("estimates"), study.fingerprint("attributes")]
    config = study.config.model_dump(mode="json", exclude={"run"})
    return content_hash([*_made("report"), sources, config])


def _say_older(name: str, options: Options) -> None:
    options.progress.say(
        f"the {name} are older than the readings or study.toml: "
        "`contextbias run` brings everything up to date"
    )


def _are_estimates_current(study: Study) -> bool:
    """Whether the estimates are what measure would make now, with whichever preset."""
    settings = _settings(study, other_preset(study))
    return study.fingerprint("estimates") == _estimates_fingerprint(study, settings)


def _is_current(wanted: Wanted) -> bool:
    """Whether the attributes are what canonicalise would make now."""
    images = wanted.images()
    readings = wanted.readings(images)
    mapping = known_mapping(wanted.study, readings)
    if mapping is None:
        return False
    study, key = wanted.study, mapping.content_hash
    now = {
        "attributes": _attributes_fingerprint(wanted, images, readings, key),
        "label_counts": _label_counts_fingerprint(study, key),
        "repeats": repeats_fingerprint(wanted, images, key),
    }
    return all(study.fingerprint(name) == fingerprint for name, fingerprint in now.items())


def _planted(study: Study) -> pl.DataFrame | None:
    from contextbias.canonicalise import canonical_planted

    frame = study.planted()
    mapping = own_mapping(study)
    return None if frame is None or mapping is None else canonical_planted(frame, mapping)


def own_mapping(study: Study) -> LabelMapping | None:
    """The mapping that the attributes were made with; None where there are none."""
    from contextbias.canonicalise import LabelMapping

    data = study.mapping()
    return None if data is None else LabelMapping.from_json(data, where=MAPPING_FILE)


def report(wanted: Wanted, options: Options) -> Done:
    """Write the report.

    Raises:
        InputError: There are no estimates.
    """
    from contextbias.report import inputs_of, render

    study = wanted.study
    estimates = study.estimates()
    if estimates is None or study.fingerprint("estimates") is None:
        seen = "has no estimates" if estimates is None else "has estimates that were changed"
        raise InputError(f"{study.root} {seen}", "run the measure stage first")
    if not _is_current(wanted) or not _are_estimates_current(study):
        _say_older("estimates", options)
    fingerprint = _report_fingerprint(study)
    if study.fingerprint("report") == fingerprint:
        return Done("report", 0, "nothing to do")
    files = render(inputs_of(study, list(wanted.reader_rows.values())))
    study.write_report(files, fingerprint)
    return Done("report", len(files), f"{len(files)} files")
