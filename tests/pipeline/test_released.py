"""What was read elsewhere, in a study: taken in once, counted as it came, told apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from PIL import Image
from tests.released import RECORD, prompt_folder, put_counts, put_study

from contextbias import pipeline
from contextbias.errors import ConfigError, InputError
from contextbias.pipeline import (
    Options,
    import_records,
    import_reference,
    read_reference,
    read_source,
    status,
)
from contextbias.pipeline.selection import Wanted
from contextbias.schema import empty_record
from contextbias.store import Study

CALM = [("scene_appearance", "mood", "calm", 7)]
STAGES = ("generate", "extract", "canonicalise", "measure", "report")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return put_study(tmp_path / "files")


def made(tmp_path: Path, text: str = '[measure]\npreset = "reference"\nbootstrap = 20\n') -> Study:
    return Study.create(tmp_path / "study", text)


def put_record(folder: Path, name: str = "1", **changes: Any) -> Path:
    path = folder / "descriptions" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    image = {**RECORD["image"], "image_id": f"image_{name}_seed_{name}"}  # type: ignore[dict-item]
    path.write_text(json.dumps({**RECORD, "image": image, **changes}))
    return path


# ---- counts


def test_taking_in_twice_adds_nothing(tmp_path: Path, source: Path) -> None:
    with made(tmp_path) as study:
        assert import_reference(study, read_reference(source), reader="r").frequencies == 36
        assert import_reference(study, read_reference(source), reader="r").frequencies == 0
        assert study.counts()["frequencies"] == 36
        assert study.counts()["images"] == 0
        assert study.counts()["prompts"] == 18  # those of both generators


def test_a_changed_file_is_the_next_attempt(tmp_path: Path) -> None:
    folder = prompt_folder(tmp_path / "files", "Flux", "CF", "nurse", "p")
    put_counts(folder, CALM)
    with made(tmp_path) as study:
        import_reference(study, read_reference(tmp_path / "files"), reader="r")
        put_counts(folder, [("scene_appearance", "mood", "calm", 8)])
        found = read_reference(tmp_path / "files")
        assert import_reference(study, found, reader="r").frequencies == 1
        (row,) = study.frequencies()
        assert (row.attempt, row.counts[0][3]) == (2, 8)
        assert study.counts()["frequencies"] == 2


def test_the_folder_may_have_moved(tmp_path: Path, source: Path) -> None:
    with made(tmp_path) as study:
        import_reference(study, read_reference(source), reader="r")
        moved = source.rename(tmp_path / "elsewhere")
        assert import_reference(study, read_reference(moved), reader="r").frequencies == 0


def test_a_part_after_the_other_is_the_whole(tmp_path: Path, source: Path) -> None:
    frames = []
    for name, parts in (
        ("whole", [source]),
        ("parts", [source / "study_SDXL", source / "study_Flux"]),
        ("turned", [source / "study_Flux", source / "study_SDXL"]),
    ):
        with made(tmp_path / name) as study:
            for part in parts:
                import_reference(study, read_reference(part), reader="r")
            pipeline.run(study, ("canonicalise", "measure"), Options())
            frames.append(study.estimates())
    assert all(frame is not None and frame.equals(frames[0]) for frame in frames)


def test_two_folders_of_one_generator_are_refused(tmp_path: Path) -> None:
    root = tmp_path / "files"
    for prefix in ("a", "b"):
        folder = root / f"{prefix}_Flux" / "Context-free_CF" / "nurse" / "p"
        put_counts(folder, CALM)
    with pytest.raises(InputError, match=r"'a_Flux' and 'b_Flux' are both of a generator 'Flux'"):
        read_reference(root)
    with made(tmp_path) as study:
        import_reference(study, read_reference(root / "a_Flux"), reader="r")
        with pytest.raises(InputError, match="'a_Flux' and 'b_Flux'"):
            import_reference(study, read_reference(root / "b_Flux"), reader="r")


def test_names_with_a_meaning_of_their_own(tmp_path: Path, source: Path) -> None:
    put_counts(prompt_folder(tmp_path / "bad", "mean", "CF", "nurse", "p"), CALM)
    with pytest.raises(InputError, match="'study_mean'"):
        read_reference(tmp_path / "bad")
    text = '[[readers]]\nname = "me"\nbackend = "simulated"\n'
    with made(tmp_path, text) as study:
        for name in ("planted", "me"):
            with pytest.raises(ConfigError, match="--reader"):
                import_reference(study, read_reference(source), reader=name)
        assert study.counts()["frequencies"] == 0


def test_nothing_of_the_layout(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no frequency/frequencies\.csv"):
        read_reference(tmp_path)


def test_all_stages_run_and_the_second_time_do_nothing(tmp_path: Path, source: Path) -> None:
    with made(tmp_path) as study:
        import_reference(study, read_reference(source), reader="r")
        done = {each.stage: each for each in pipeline.run(study, STAGES, Options())}
        assert done["extract"].note == "nothing to read: what the study has came read"
        assert done["canonicalise"].note.startswith("0 facts, ")
        assert done["measure"].new > 0
        assert "<html" in study.report_path.read_text()
        again = pipeline.run(study, STAGES, Options())
        assert [each.new for each in again] == [0] * len(STAGES)
        state = status(study)
        assert (state["counted_prompts"], state["stale"]) == (36, [])


def test_new_counts_make_what_is_derived_stale(tmp_path: Path, source: Path) -> None:
    with made(tmp_path) as study:
        import_reference(study, read_reference(source / "study_Flux"), reader="r")
        pipeline.run(study, STAGES, Options())
        import_reference(study, read_reference(source / "study_SDXL"), reader="r")
        assert status(study)["stale"] == ["attributes", "estimates", "report"]
        (made_again,) = pipeline.run(study, ("canonicalise",), Options())
        assert made_again.note.endswith("counted answers")
        pipeline.run(study, ("measure",), Options())
        estimates = study.estimates()
        assert estimates is not None
        assert {"SDXL", "Flux", "mean"} <= set(estimates["generator"])


@pytest.mark.parametrize("preset", ["paper", "strict", "reference"])
def test_a_preset_for_one_run(tmp_path: Path, source: Path, preset: str) -> None:
    with made(tmp_path) as study:
        import_reference(study, read_reference(source), reader="r")
        pipeline.run(study, ("canonicalise", "measure", "report"), Options(preset=preset))
        estimates = study.estimates()
        assert estimates is not None
        assert set(estimates["preset"]) == {preset}
        assert study.report_path.is_file()


# ---- records


def test_records_in_the_layout_become_images_without_files(tmp_path: Path) -> None:
    root = tmp_path / "files"
    for condition in ("CF", "CA-U"):
        folder = prompt_folder(root, "Flux", condition, "nurse", "p")
        put_record(folder, "1")
        put_record(folder, "2")
    with made(tmp_path, "[measure]\nbootstrap = 0\n") as study:
        done = import_reference(study, read_reference(root), reader="r")
        assert (done.frequencies, done.readings, done.invalid) == (0, 4, 0)
        assert import_reference(study, read_reference(root), reader="r").readings == 0
        images = Wanted(study).images()
        assert {(i.generator, i.condition, i.path, i.seed) for i in images} == {
            ("Flux", c, None, s) for c in ("CF", "CA-U") for s in (1, 2)
        }
        pipeline.run(study, STAGES, Options())
        assert pipeline.failures(study) == []
        state = status(study)
        assert state["images"] == {"wanted": 4, "ok": 4}
        assert state["readings"] == {"wanted": 4, "ok": 4}
        estimates = study.estimates()
        assert estimates is not None
        row = estimates.filter(estimand="prevalence", label="calm", condition="CA-U")
        assert row.select("reader", "n", "point").row(0) == ("r-records", 2, 1.0)


def test_counts_and_records_of_the_same_images_are_two_readers(tmp_path: Path) -> None:
    folder = prompt_folder(tmp_path / "files", "Flux", "CF", "nurse", "p")
    put_counts(folder, CALM)
    put_record(folder)
    with made(tmp_path, "[measure]\nbootstrap = 0\n") as study:
        import_reference(study, read_reference(tmp_path / "files"), reader="r")
        pipeline.run(study, ("canonicalise", "measure"), Options())
        attributes, estimates = study.attributes(), study.estimates()
        assert attributes is not None
        assert estimates is not None
        assert set(attributes["reader"]) == {"r-records"}
        rows = estimates.filter(estimand="prevalence", label="calm", condition="CF")
        assert sorted(rows.select("reader", "n").rows()) == [("r", 7), ("r-records", 1)]


def test_a_record_that_changed_is_read_again(tmp_path: Path) -> None:
    folder = prompt_folder(tmp_path / "files", "Flux", "CF", "nurse", "p")
    put_record(folder)
    with made(tmp_path) as study:
        import_records(study, read_source(tmp_path / "files"), reader="r")
        cohorts = {**RECORD["cohorts"], "camera": {"framing": "square"}}  # type: ignore[dict-item]
        put_record(folder, cohorts=cohorts)
        done = import_records(study, read_source(tmp_path / "files"), reader="r")
        assert (done.readings, done.invalid) == (1, 1)
        assert "'square'" in done.example
        (reading,) = study.readings()
        assert (reading.attempt, reading.status, reading.record) == (2, "invalid", None)


def test_pictures_beside_records_are_found(tmp_path: Path) -> None:
    folder = prompt_folder(tmp_path / "files", "Flux", "CF", "nurse", "p")
    put_record(folder)
    with made(tmp_path) as study:
        import_records(study, read_source(tmp_path / "files"), reader="r")
        Image.new("RGB", (8, 8)).save(folder / "image_0_seed_7.jpg")
        assert import_records(study, read_source(tmp_path / "files"), reader="r").readings == 1
        (image,) = study.images()
        assert (image.attempt, Path(str(image.path)).name) == (2, "image_0_seed_7.jpg")
        assert len(Wanted(study).readings(Wanted(study).images())) == 1


def test_our_own_form_reads_images_that_the_study_has(tmp_path: Path) -> None:
    text = '[[generators]]\nname = "mine"\nbackend = "folder"\noptions = { source = "../in" }\n'
    (tmp_path / "in").mkdir()
    Image.linear_gradient("L").save(tmp_path / "in" / "1.png")
    with made(tmp_path, text) as study:
        pipeline.run(study, ("generate",), Options())
        (image,) = study.images()
        lines = [{"image_id": image.image_id, "record": empty_record()}]
        (tmp_path / "r.jsonl").write_text("\n".join(map(json.dumps, lines)))
        assert import_records(study, read_source(tmp_path / "r.jsonl"), reader="r").readings == 1
        assert study.images() == [image]
        pipeline.run(study, ("extract", "canonicalise"), Options())
        attributes = study.attributes()
        assert attributes is not None
        assert set(attributes.select("reader", "generator").rows()) == {("r", "mine")}


def test_two_records_of_one_image_are_refused(tmp_path: Path) -> None:
    line = json.dumps({"image_id": "x", "record": empty_record()})
    (tmp_path / "r.jsonl").write_text(f"{line}\n{line}\n")
    with (
        made(tmp_path) as study,
        pytest.raises(InputError, match=r"line 2 is about the same image"),
    ):
        import_records(study, read_source(tmp_path / "r.jsonl"), reader="r")


def test_order_of_records_does_not_matter(tmp_path: Path) -> None:
    for number in range(4):
        put_record(prompt_folder(tmp_path / "files", "Flux", "CF", "nurse", "p"), str(number))
    records = read_source(tmp_path / "files")
    frames = []
    for name, ordered in (("a", records), ("b", records[::-1])):
        with made(tmp_path / name) as study:
            import_records(study, ordered, reader="r")
            pipeline.run(study, ("canonicalise",), Options())
            frames.append(study.attributes())
    assert isinstance(frames[0], pl.DataFrame)
    assert frames[0].equals(frames[1])
