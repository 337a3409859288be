"""What a reader is shown of an image: its pixels, under a name that says nothing."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from contextbias.errors import InputError
from contextbias.extract import work
from contextbias.extract.protocol import Picture, RawReading
from contextbias.extract.work import ExtractTask, Question
from contextbias.files import StudyFiles
from contextbias.schema import empty_record

PLACE = "images/flux/CA-U/nurse/at_a_beach"


class Curious:
    """A reader that looks at everything that it is told."""

    parallel = "none"

    def __init__(self) -> None:
        self.seen: list[Picture] = []

    def settings(self) -> dict[str, Any]:
        return {}

    def readable(self) -> dict[str, tuple[str, ...] | None]:
        return {}

    def read(self, picture: Picture) -> RawReading:
        self.seen.append(picture)
        with Image.open(picture.path) as opened:
            width = opened.width
        return RawReading(record=empty_record(), raw={"width": width})


class CuriousAboutMany(Curious):
    batch_size = 2

    def read_many(self, pictures: Iterable[Picture]) -> Iterator[tuple[str, RawReading]]:
        for picture in list(pictures):
            yield picture.image_id, self.read(picture)


@pytest.mark.parametrize("kind", [Curious, CuriousAboutMany])
@pytest.mark.parametrize("way", ["build", "stream"])
def test_no_name_tells_what_was_asked_for(
    kind: type[Curious], way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = kind()
    monkeypatch.setattr(work, "load_reader", lambda *_: reader)
    outside = tmp_path / "photos of nurses" / "a nurse at a beach.webp"
    inside = tmp_path / "study" / f"{PLACE}/7-abc.png"
    for path, width in ((outside, 5), (inside, 6)):
        path.parent.mkdir(parents=True)
        Image.new("RGB", (width, 4), "red").save(path)
    task = ExtractTask("mine", "any", {}, "f" * 20, StudyFiles(tmp_path / "study"))
    asked = [
        Question("r0", "i0", str(outside)),
        Question("r1", "i1", f"{PLACE}/7-abc.png"),
        Question("r2", "i1", f"{PLACE}/7-abc.png", repeat=1),
        Question("r3", "i3", f"{PLACE}/gone.png"),
    ]
    work_off = task.build()
    kept = work_off(asked) if way == "build" else [k for part in task.stream(asked) for k in part]
    rows = {each.row.reading_id: each.row for each in kept}
    assert [rows[f"r{n}"].status for n in range(3)] == ["ok"] * 3
    assert [rows[f"r{n}"].raw["width"] for n in range(3)] == [5, 6, 6]
    assert rows["r3"].status == "error"
    for picture in reader.seen:
        told = f"{picture.path} {picture.image_id}".removeprefix(str(tmp_path)).lower()
        assert not any(word in told for word in ("nurse", "beach", "ca-u", "flux", "photos"))
        assert not picture.path.parent.exists()


class OneByOne(CuriousAboutMany):
    """Takes a picture when it has answered about the one before; notes which can be seen."""

    parallel = "stream"

    def __init__(self) -> None:
        super().__init__()
        self.visible: list[int] = []

    def read_many(self, pictures: Iterable[Picture]) -> Iterator[tuple[str, RawReading]]:
        for picture in pictures:
            self.visible.append(len(list(picture.path.parent.iterdir())))
            yield picture.image_id, self.read(picture)


def test_a_picture_is_shown_when_it_is_asked_for_until_it_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = OneByOne()
    monkeypatch.setattr(work, "load_reader", lambda *_: reader)
    Image.new("RGB", (5, 4), "red").save(tmp_path / "a.png")
    task = ExtractTask("mine", "any", {}, "f" * 20, StudyFiles(tmp_path))
    kept = list(task.stream([Question(f"r{n}", f"i{n}", "a.png") for n in range(4)]))
    assert [part[0].row.status for part in kept] == ["ok"] * 4
    assert reader.visible == [1] * 4


def test_without_room_for_the_links_the_run_ends_and_no_reading_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = Curious()
    monkeypatch.setattr(work, "load_reader", lambda *_: reader)
    (tmp_path / "a.png").touch()
    task = ExtractTask("mine", "any", {}, "f" * 20, StudyFiles(tmp_path))

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "symlink_to", full)
    with pytest.raises(InputError, match=r"no space left on device\. Make room"):
        task.build()([Question("r0", "i0", "a.png")])
    monkeypatch.setattr(work, "passing_folder", full)
    with pytest.raises(InputError, match="no space left on device"):
        task.build()([Question("r0", "i0", "a.png")])
