"""Readings of two schema versions and attributes of two codebooks are never counted together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from tests.pipeline.test_changes import STUDY, change, run

from contextbias.canonicalise import LabelMapping, pass_through, to_attributes
from contextbias.errors import ConfigError, InputError
from contextbias.pipeline import derived, selection
from contextbias.schema import CODEBOOK_VERSION
from contextbias.store import MAPPING_FILE, Study


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "study"
    Study.create(folder, STUDY).close()
    run(folder)
    return folder


def test_readings_of_another_schema_version_are_not_read(root: Path) -> None:
    with Study.open(root) as study:
        images, readings, readers = study.images(), study.readings(), study.readers()
    old = [replace(row, schema_version="0") for row in readings[:4]]
    mixed = to_attributes(images, [*old, *readings[4:]], readers, pass_through(readings))
    lost = mixed.filter(pl.col("missing_reason") == "not_read")
    assert set(lost["image_id"]) == {row.image_id for row in old}
    assert lost.filter(pl.col("label").is_not_null()).height == 0


def test_readings_of_another_schema_version_are_made_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Study.open(root) as study:
        wanted = selection.Wanted(study)
        images = wanted.images()
        assert len(wanted.readings(images)) == len(images)
        monkeypatch.setattr("contextbias.extract.work.CODEBOOK_VERSION", "next")
        assert wanted.readings(images) == []


def test_attributes_of_another_codebook_are_not_measured(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(root, "bootstrap = 10", "bootstrap = 11")
    monkeypatch.setattr(derived, "CODEBOOK_VERSION", "next")
    with pytest.raises(InputError, match=f"codebook '{CODEBOOK_VERSION}'.*has 'next'"):
        run(root, "measure")


def test_a_mapping_of_another_codebook_is_not_used(root: Path) -> None:
    mapping = LabelMapping.from_json((root / MAPPING_FILE).read_bytes())
    (root / "old.json").write_bytes(replace(mapping, codebook="0").to_json())
    with (root / "study.toml").open("a") as file:
        file.write('[canonicalise]\nmapping = "old.json"\n')
    with pytest.raises(ConfigError, match=r"old\.json is of codebook '0'"):
        run(root, "canonicalise")


def test_every_estimate_names_reader_codebook_and_preset(root: Path) -> None:
    rows = pl.read_parquet(root / "derived" / "estimates.parquet")
    assert rows.select("reader", "codebook", "preset").null_count().row(0) == (0, 0, 0)
    assert set(rows["codebook"]) == {CODEBOOK_VERSION}
