"""What a backend says and makes is kept, whatever it says, and also when the disk is full."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.images_server import ImagesServer

from contextbias.errors import InputError
from contextbias.files import StudyFiles, row_of
from contextbias.generate import work as work_module
from contextbias.generate.protocol import Job, Made
from contextbias.generate.work import GenerateTask, Order
from contextbias.interrupts import Interrupts, hurry
from contextbias.progress import Silent
from contextbias.tables import ImageRow, Prompt
from contextbias.worklist import Worklist, work_off

ODD_INFO = {"loss": float("nan"), "best": float("inf"), "m": "\ud800", "\udfff": [1, "\ud801"]}

PROGRAM = """
import json, sys
from PIL import Image
deep = "[" * 100_000
for line in sys.stdin:
    job = json.loads(line)
    number = job["seed"]
    Image.effect_noise((16, 16), 40 + number).convert("RGB").save(job["file"])
    answer = {"id": job["id"], "info": {"loss": float("nan"), "m": "\\ud800"}}
    if number == 1:
        answer["file"] = "a\\ud800b"
    if number == 2:
        answer["error"] = "half \\ud800"
    if number == 3:
        nested = []
        for _ in range(200):
            nested = [nested]
        answer["info"] = {"nested": nested, "steps": 4}
    if number == 4:
        print(deep, flush=True)
    print(json.dumps(answer), flush=True)
"""


def orders(*texts: str) -> list[Order]:
    found = []
    for number, text in enumerate(texts):
        prompt = Prompt(
            prompt_id=f"p{number}", role="nurse", condition="CF", base="b", variant="v",
            location=None, activity=None, text=text, prompted=(), bank="b",
        )  # fmt: skip
        job = Job(
            image_id=f"i{number}", role="nurse", condition="CF", text=text, location=None,
            activity=None, prompt_id=f"p{number}", seed=number,
        )  # fmt: skip
        found.append(Order(job, prompt, 0))
    return found


def task(folder: Path, backend: str = "any", **options: Any) -> GenerateTask:
    return GenerateTask("mine", backend, options, "f" * 20, StudyFiles(folder))


def rows(found: GenerateTask, given: Sequence[Order]) -> dict[str, ImageRow]:
    """The rows of a stream, each as its receipt brings it back."""
    kept = [each for part in found.stream(given) for each in part]
    for each in kept:
        receipt = found.files.receipt("images", each.row.image_id, each.row.attempt)
        assert receipt is not None
        assert row_of(receipt, ImageRow) == each.row
    return {each.row.image_id: each.row for each in kept}


# ---- what is odd in what a backend says


def test_whatever_a_program_says_is_a_row(tmp_path: Path) -> None:
    (tmp_path / "draw.py").write_text(PROGRAM)
    found = rows(task(tmp_path, "command", command=[sys.executable, "draw.py"]), orders(*"abcdef"))
    assert [found[f"i{n}"].status for n in range(6)] == ["ok", "error", "error", "ok", "ok", "ok"]
    assert found["i0"].provenance["program"] == {"loss": "nan", "m": "\\ud800"}
    assert "a\\ud800b" in str(found["i1"].reason)
    assert found["i2"].reason == "half \\ud800"
    assert found["i3"].provenance["program"] == "left out: it is nested too deeply"


def test_whatever_a_service_says_is_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai")
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    with ImagesServer(side=32).running() as server:
        found = rows(
            task(
                tmp_path, "openai_images", model="gpt-image-test", base_url=server.base_url,
                price_image=0.01, retries=0,
            ),
            orders("odd", "odd refusal", "plain"),
        )  # fmt: skip
        assert len(server.billed) == 2
    assert [found[f"i{n}"].status for n in range(3)] == ["ok", "error", "ok"]
    assert found["i0"].provenance["revised_prompt"] == "x \\ud800"
    assert found["i0"].provenance["answered"]["background"] == "nan"
    assert "ud800" in str(found["i1"].reason)


class Painter:
    """A stream that has `ahead` pictures under way, and pays for each when it begins it."""

    batch_size = 1
    parallel = "stream"

    def __init__(self, ahead: int = 4, **provenance: Any) -> None:
        self.ahead, self.provenance = ahead, provenance
        self.paid: list[str] = []

    def settings(self) -> dict[str, Any]:
        return {}

    def generate(self, jobs: Sequence[Job]) -> Iterator[Made]:
        todo, under_way = list(jobs), []
        with Interrupts() as interrupts:
            while under_way or (todo and not interrupts.noted):
                while todo and len(under_way) < self.ahead and not interrupts.noted:
                    under_way.append(todo.pop(0))
                    self.paid.append(under_way[-1].image_id)
                job = under_way.pop(0)
                picture = Image.effect_noise((16, 16), 40 + job.seed).convert("RGB")
                yield Made(image_id=job.image_id, image=picture, provenance=self.provenance)
        if interrupts.noted:
            raise KeyboardInterrupt


@pytest.fixture
def painted(monkeypatch: pytest.MonkeyPatch) -> Callable[[Painter], Painter]:
    def use(backend: Painter) -> Painter:
        monkeypatch.setattr(work_module, "load_generator", lambda *_, **__: backend)
        return backend

    return use


@pytest.mark.parametrize(
    "said",
    [
        ODD_INFO,
        {"revision": "\ud800", "model": "\udcff"},
        {"path": Path("x"), "several": {1, 2}},
        {"tuple": (float("-inf"), b"bytes")},
    ],
)
def test_any_backend_may_say_anything(said: dict[str, Any], painted, tmp_path: Path) -> None:
    painted(Painter(**said))
    (row,) = rows(task(tmp_path), orders("a")).values()
    assert row.status == "ok"
    json.dumps(row.provenance, allow_nan=False).encode()


# ---- a full disk


class FullDisk:
    """Takes `room` pictures, and nothing from then on until there is `again` room."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, room: int, *, again: bool, rows: bool):
        keep, keep_receipt = StudyFiles.keep, StudyFiles.keep_receipt
        self.room, self.failed = room, 0

        def full(files: StudyFiles, relative: str, data: bytes) -> None:
            if self.room <= 0 and not (again and self.failed >= 4):
                self.failed += 1
                raise InputError("cannot write x: no space left on device", "make room")
            self.room -= 1
            keep(files, relative, data)

        def receipt(files: StudyFiles, table: str, row: Any) -> Any:
            if self.room <= 0 and not rows and not again:
                raise InputError("cannot write y: no space left on device", "make room")
            return keep_receipt(files, table, row)

        monkeypatch.setattr(StudyFiles, "keep", full)
        monkeypatch.setattr(StudyFiles, "keep_receipt", receipt)


@pytest.mark.parametrize(
    ("again", "has_rows", "expected"),
    [
        (True, True, ["ok"] * 6),  # room was made meanwhile: nothing is lost
        (False, True, ["ok"] * 2 + ["error"] * 4),  # rows at least, for what was spent
        (False, False, ["ok"]),
    ],
)
def test_a_full_disk_lets_what_is_under_way_come(
    again: bool, has_rows: bool, expected: list[str], painted, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    backend = painted(Painter())
    FullDisk(monkeypatch, 2, again=again, rows=has_rows)
    found: list[ImageRow] = []
    images = task(tmp_path).stream(orders(*"abcdefghijklmnop"))
    with pytest.raises(InputError, match="no space left on device"):
        found.extend(each.row for part in images for each in part)
    assert [row.status for row in found] == expected
    # Nothing more was begun, and of what was begun each has its row where rows can be written.
    assert len(backend.paid) == (6 if has_rows else 5)
    lost = [row for row in found if row.status == "error"]
    assert all("came, and could not be kept" in str(row.reason) for row in lost)


def test_a_stream_that_cannot_be_told_is_left_at_once(
    painted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Simple(Painter):
        def generate(self, jobs: Sequence[Job]) -> Iterator[Made]:
            for job in jobs:
                self.paid.append(job.image_id)
                picture = Image.effect_noise((16, 16), 40).convert("RGB")
                yield Made(image_id=job.image_id, image=picture)

    backend = painted(Simple())
    FullDisk(monkeypatch, 2, again=False, rows=True)
    images = task(tmp_path).stream(orders(*"abcdefgh"))
    found: list[ImageRow] = []
    with pytest.raises(InputError, match="no space left on device"):
        found.extend(each.row for part in images for each in part)
    assert [row.status for row in found] == ["ok", "ok", "error"]
    assert len(backend.paid) == 3


def test_a_store_that_takes_no_more_leaves_receipts(painted, tmp_path: Path) -> None:
    backend = painted(Painter())
    stored: list[Any] = []

    def append(rows: list[Any]) -> int:
        if len(stored) == 2:
            raise InputError("cannot write the store: no space left on device", "make room")
        stored.extend(rows)
        return len(rows)

    files = task(tmp_path).files
    worklist = Worklist(
        stage="generate", unit="images", task=task(tmp_path), items=orders(*"abcdefghij"),
        batch_size=1, parallel="stream", workers=1,
    )  # fmt: skip
    with pytest.raises(InputError, match="cannot write the store"):
        work_off(worklist, append, lambda receipts: None, Silent())
    assert len(backend.paid) == 6
    assert {receipt.row["image_id"] for receipt in files.receipts()} == set(backend.paid)


# ---- other weights, and an early end


def test_pictures_by_other_weights_are_not_mixed_in(painted, tmp_path: Path) -> None:
    painted(Painter(revision="files b"))
    same = replace(task(tmp_path), revisions=("files a", "files b"))
    assert len(rows(same, orders("a", "b"))) == 2
    other = replace(task(tmp_path), revisions=("files a",))
    told = "'mine' is not what it was: it is 'files b' now, and .* by files a. Bring back"
    with pytest.raises(InputError, match=told):
        rows(other, orders("c"))
    with pytest.raises(InputError, match=told):
        other.build()(orders("c"))


def test_a_worker_in_a_hurry_leaves_the_rest_for_the_next_run(painted, tmp_path: Path) -> None:
    class Hurried(Painter):
        def generate(self, jobs: Sequence[Job]) -> Iterator[Made]:
            for made in super().generate(jobs):
                yield made
                hurry.set()
                return

    painted(Hurried())
    try:
        kept = task(tmp_path).build()(orders("a", "b", "c"))
    finally:
        hurry.clear()
    assert [(each.row.image_id, each.row.status) for each in kept] == [("i0", "ok")]
