"""A generator whose weights are replaced on the way: refused, and named where it has happened."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from contextbias import registry
from contextbias.cli.main import main
from contextbias.generate.protocol import Job, Made
from contextbias.generate.revisions import mixed, revisions
from contextbias.store import Study

STUDY = """
[study]
images_per_prompt = {images}
[bench]
roles = ["nurse"]
[[generators]]
name = "mine"
backend = "moving"
options = {{ model = "{model}" }}
[[readers]]
name = "none"
backend = "simulated"
"""


class Moving:
    """Says what the file of its model says; its settings do not."""

    batch_size = 4
    parallel = "none"

    def __init__(self, options: dict[str, Any]) -> None:
        self.model = Path(options["model"])

    def settings(self) -> dict[str, Any]:
        return {}

    def generate(self, jobs: Sequence[Job]) -> Iterator[Made]:
        revision = self.model.read_text()
        for job in jobs:
            picture = Image.effect_noise((16, 16), 40).convert("RGB")
            yield Made(image_id=job.image_id, image=picture, provenance={"revision": revision})


def generate(study: Path, images: int) -> int:
    model = study / "model"
    (study / "study.toml").write_text(STUDY.format(images=images, model=model))
    try:
        main(["generate", str(study)])
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_replaced_weights_are_refused_and_mixed_ones_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = registry.Entry(f"{__name__}:Moving")
    monkeypatch.setitem(registry.GENERATORS, "moving", entry)
    (tmp_path / "model").write_text("files a")
    assert generate(tmp_path, 1) == 0
    with Study.open(tmp_path) as study:
        first = study.images()
    (tmp_path / "model").write_text("files b")
    capsys.readouterr()
    assert generate(tmp_path, 2) == 2
    said = capsys.readouterr().err
    assert "is 'files b' now" in said
    assert "were made by files a" in said
    assert "set revision in its options" in said
    assert "Traceback" not in said
    with Study.open(tmp_path) as study:
        assert study.images() == first
    (tmp_path / "model").write_text("files a")
    assert generate(tmp_path, 2) == 0

    # As an earlier version, or two machines at a time, have left it.
    monkeypatch.setattr("contextbias.pipeline.paid.revisions", lambda *_: ())
    (tmp_path / "model").write_text("files b")
    assert generate(tmp_path, 3) == 0
    capsys.readouterr()
    main_status(tmp_path)
    each = len(first)
    assert f"mine is more than one model: {2 * each} by files a, {each} by files b" in (
        " ".join(capsys.readouterr().out.split())
    )
    main_status(tmp_path, "--json")
    state = json.loads(capsys.readouterr().out)
    assert state["mixed_revisions"] == {"mine": {"files a": 2 * each, "files b": each}}


def main_status(study: Path, *options: str) -> None:
    with pytest.raises(SystemExit) as end:
        main(["status", str(study), *options])
    assert not end.value.code


def test_rows_without_a_picture_or_of_other_settings_say_nothing(tmp_path: Path) -> None:
    from tests.rows import image

    row = replace(image(), path="images/a.png", provenance={"revision": "a"})
    lost = replace(row, path=None, provenance={"revision": "b"})
    silent = replace(row, provenance={})
    other = replace(row, generator_fingerprint="other", provenance={"revision": "c"})
    odd = replace(row, provenance={"revision": 5})
    assert revisions([row, lost, silent, other, odd], row.generator_fingerprint) == ("a",)
    assert mixed([row, lost, silent, other, odd]) == {}
    assert revisions([], "f") == ()
