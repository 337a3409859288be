"""Things that tests of annotation share: a configuration, a study that is declared, answers."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from contextbias.annotate.answering import Answering, Given
from contextbias.annotate.questions import question
from contextbias.annotation_tables import SET
from contextbias.people import Annotations
from contextbias.pipeline.annotation import invite_people

CODE = "from contextbias.cli.main import main; main()"

# 8 images in CF, 14 in CA-R and CA-U 16 of one role; sets of 4.
TEXT = """\
[study]
name = "People"
seed = 5
images_per_prompt = 2
[bench]
roles = ["nurse"]
[[generators]]
name = "sensitive"
backend = "simulated"
options = { size = 64 }
[[readers]]
name = "reader"
backend = "simulated"
[run]
workers = 1
[annotate]
set_size = 4
images = 5
gold = "planted"
gold_items = 1
training_items = 1
annotators_per_item = 2
repeats = 0.2
leave_out = LEFT_OUT
"""
KEPT = ("mood", "items", "age_range", "clothing_color")


def left_out(kept: Sequence[str] = KEPT) -> str:
    from contextbias.schema import DIMENSIONS

    return "[" + ", ".join(f'"{name}"' for name in DIMENSIONS if name not in kept) + "]"


TEXT = TEXT.replace("LEFT_OUT", left_out())


def rewrite(folder: Path, old: str, new: str) -> None:
    """Change study.toml."""
    path = folder / "study.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def tokens(folder: Path, number: int | Sequence[str] = 2) -> dict[str, str]:
    """Invite; pseudonym -> secret."""
    return {one.annotator: one.token for one in invite_people(folder, number)[0]}


@contextmanager
def answering(folder: Path) -> Iterator[Answering]:
    with Annotations.open(folder, writing=True) as book:
        yield Answering(book)


def given(position: int, dimension: str, **changes: Any) -> Given:
    values: dict[str, Any] = {
        "labels": ("calm",) if dimension == "mood" else (),
        "missing_reason": None if dimension == "mood" else "unknown",
        "count": 3 if dimension == "mood" else None,
        "seconds": 4.0,
        "based_on": 0,
        "key": f"{position}-{dimension}",
    }
    return Given(position=position, dimension=dimension, **(values | changes))


def answer_all(study: Answering, name: str, seconds: float = 5.0) -> int:
    """Give the first answer that each question offers; returns how many."""
    study.agree(name)
    number = 0
    for task in study.tasks(name):
        for dimension in study.questions:
            asked = question(dimension, task.item.kind)
            labels = asked.suggestions[:1] or (asked.choices[0].value,)
            study.submit(
                name,
                Given(
                    position=task.assignment.position,
                    dimension=dimension,
                    labels=labels,
                    missing_reason=None,
                    count=2 if task.item.kind == SET else None,
                    seconds=seconds,
                    based_on=0,
                    key=f"{task.assignment.position}-{dimension}",
                ),
            )
            number += 1
    return number


def item_data(page: str) -> dict[str, Any]:
    """What the script of an item's page is given."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found is not None
    return dict(json.loads(found[1]))


@contextmanager
def own_port() -> Iterator[int]:
    """A port that stays this test's own while its server is down.

    A socket that is bound to it, and does not listen, keeps every other program away, and lets a
    server in that may use an address again.
    """
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@contextmanager
def served(
    folder: Path, *options: str, port: int = 0
) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """A server in a process of its own: the process, its address, the administrator's link."""
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            CODE,
            "annotate",
            "serve",
            str(folder),
            "--port",
            str(port),
            *options,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    assert process.stdout is not None
    try:
        first, second = process.stdout.readline(), process.stdout.readline()
        assert first, process.stderr.read() if process.stderr else ""
        yield process, first.split()[1], second.split()[-1]
    finally:
        process.kill()
        process.communicate()
