"""A reader that sends pictures as they lie on the disk, into a real store; killed at will.

As a program (``python prepared.py STUDY BASE_URL``) it reads what is pending, to be killed.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.providers.conftest import SCHEMA

from contextbias import registry
from contextbias.extract.protocol import Picture, RawReading
from contextbias.extract.work import ExtractTask, Question, reading_id
from contextbias.progress import Silent
from contextbias.providers import (
    USAGE,
    Budget,
    Connection,
    Pacing,
    Params,
    Reply,
    Session,
    chat,
    exchange,
    price,
    profile,
    sum_usage,
)
from contextbias.providers.line import Line
from contextbias.store import Study, drop_receipts
from contextbias.worklist import Outcome, Worklist, pending, work_off

PRICE = price("gpt-5-mini")
assert PRICE is not None
_START = b"\x89PNG\r\n\x1a\n"

CONFIG = """
[study]
name = "storm"
seed = 1
"""


class PreparedReader:
    """Asks for a mood; what is no mood is asked for once more."""

    parallel = "stream"

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        self._fields = chat.request_fields(SCHEMA, profile("gpt-5-mini"), Params(max_tokens=1000))

    def begin(self, session: Session) -> None:
        limit = self._options.get("budget")
        self._budget = Budget(limit, PRICE.cost, spent=PRICE.of(session.usage))

    def read_many(self, pictures: Iterable[Picture]) -> Iterator[tuple[str, RawReading]]:
        replies = exchange(
            pictures,
            self._ask,
            connection=Connection(self._options["base_url"]),
            pacing=Pacing(concurrency=16, back_off=0.002),
            budget=self._budget,
        )
        for picture, reply in replies:
            yield picture.image_id, _reading(reply)

    async def _ask(self, line: Line, picture: Picture) -> Reply:
        data = base64.b64encode(await line.thread(picture.path.read_bytes)).decode()
        part = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
        messages: list[dict[str, Any]] = [{"role": "user", "content": [part]}]
        first = await chat.send(line, chat.encode(messages, self._fields))
        if first.failure is not None or not _is_faulty(first):
            return first
        messages.append({"role": "user", "content": "once more"})
        second = await chat.send(line, chat.encode(messages, self._fields))
        if second.failure is not None:
            return replace(first, status="invalid")
        return replace(second, earlier=(first,))


def _is_faulty(reply: Reply) -> bool:
    if reply.status == "ok":
        return not (reply.text or "").startswith('{"mood"')
    return reply.status == "invalid"


def _reading(reply: Reply) -> RawReading:
    status = "invalid" if _is_faulty(reply) else reply.status
    turns = [*reply.earlier, reply]
    answered = sum(turn.sha256 is not None for turn in turns)
    raw = {USAGE: reply.total_usage().as_json(), "answered": answered}
    return RawReading(status=status, reason=reply.reason, raw=raw)


def prepare(folder: Path, count: int) -> Study:
    """A study, and `count` pictures that are told apart by their bytes."""
    study = Study.create(folder, CONFIG)
    (folder / "images").mkdir()
    for number in range(count):
        (folder / "images" / f"{number}.png").write_bytes(_START + b"%d" % number * 20)
    return study


def read_pending(study: Study, base_url: str, **options: Any) -> Outcome:
    """Read what has not been read."""
    registry.READERS["prepared"] = registry.Entry(f"{__name__}:PreparedReader")
    paths = sorted((study.root / "images").iterdir(), key=lambda path: int(path.stem))
    ids = [reading_id("prepared", "f", path.stem, "") for path in paths]
    todo = [
        Question(ids[position], paths[position].stem, f"images/{paths[position].name}", attempt)
        for position, attempt in pending(ids, study.attempts("readings"), attempts=9)
    ]
    usage, _ = sum_usage(study.usage("readings", "prepared"))
    task = ExtractTask(
        "prepared",
        "prepared",
        {"base_url": base_url, **options},
        "f",
        study.files,
        Session(folder=study.root, name="prepared", usage=usage, items=len(todo)),
    )
    worklist = Worklist(
        stage="extract",
        unit="readings",
        task=task,
        items=todo,
        batch_size=1,
        parallel="stream",
        workers=1,
    )
    return work_off(worklist, study.append_readings, drop_receipts, Silent())


def main() -> None:
    with Study.open(Path(sys.argv[1]), writing=True) as study:
        read_pending(study, sys.argv[2])


if __name__ == "__main__":
    main()
