"""50 people answer at once: how long the server takes, and whether every answer is there.

They open their links within 20 seconds. Each one opens an item, gets its pictures, answers its
questions with a pause before each, shorter than people need, and goes on to the next item. Printed:
latencies of answers, pages and pictures, processor time of the server, and how many acknowledged
answers are not in the store (0, or the exit code is 1). The server is killed, not stopped.

    .venv/bin/python perf/annotate.py [--annotators 50] [--items 2] [--pause 2] [--arrive 20]

The clients run on the same cores as the server, so that latencies are too high rather than too low.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from contextbias.people import Annotations
from contextbias.pipeline import Options, run
from contextbias.pipeline.annotation import invite_people
from contextbias.store import Study

TEXT = """\
[study]
seed = 3
images_per_prompt = 5
[bench]
roles = ["nurse", "welder"]
[[generators]]
name = "sensitive"
backend = "simulated"
[annotate]
annotators_per_item = {annotators}
repeats = 0
"""
DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.S)


class Person:
    """One annotator with a connection of their own."""

    def __init__(self, name: str, token: str, url: str, took: dict[str, list[float]]) -> None:
        self.name, self.token, self.url = name, token, url
        self.took = took
        self.acknowledged: list[str] = []
        self.client = httpx.AsyncClient(base_url=url, headers={"origin": url}, timeout=60)

    async def ask(self, what: str, method: str, path: str, **options: Any) -> httpx.Response:
        start = time.perf_counter()
        response = await self.client.request(method, path, **options)
        self.took[what].append(time.perf_counter() - start)
        assert response.status_code < 400, (path, response.status_code, response.text[:200])
        return response

    async def work(self, items: int, pause: float, arrive: float) -> None:
        luck = random.Random(self.name)
        await asyncio.sleep(luck.uniform(0, arrive))
        await self.ask("page", "GET", f"/a/{self.token}")
        await self.ask("page", "POST", "/consent", data={"agree": "yes"})
        for _ in range(items):
            where = (await self.ask("page", "GET", "/next")).headers["location"]
            page = await self.ask("page", "GET", where)
            found = DATA.search(page.text)
            assert found is not None
            data = json.loads(found[1])
            where = f"/picture/{data['position']}"
            await asyncio.gather(
                *(
                    self.ask("picture", "GET", f"{where}/{place}/small?i={seal}")
                    for place, seal in enumerate(data["seals"])
                )
            )
            for question in data["questions"]:
                await asyncio.sleep(luck.uniform(0.5, 1.5) * pause)
                key = f"{self.name}-{data['position']}-{question['dimension']}"
                await self.ask("answer", "POST", "/answers", json=self.answer(data, question, key))
                self.acknowledged.append(key)
        await self.client.aclose()

    def answer(self, data: dict[str, Any], question: dict[str, Any], key: str) -> dict[str, Any]:
        label = "cup" if question["is_open"] else question["choices"][0]["value"]
        return {
            "study": data["study"],
            "annotator": self.name,
            "position": data["position"],
            "dimension": question["dimension"],
            "labels": [label],
            "reason": None,
            "count": 4,
            "seconds": 1.0,
            "based_on": 0,
            "key": key,
        }


async def everybody(people: list[Person], asked: argparse.Namespace) -> None:
    await asyncio.gather(
        *(person.work(asked.items, asked.pause, asked.arrive) for person in people)
    )


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--annotators", type=int, default=50)
    parser.add_argument("--items", type=int, default=2)
    parser.add_argument("--pause", type=float, default=2.0, help="seconds before an answer")
    parser.add_argument("--arrive", type=float, default=20.0, help="seconds until all are there")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        sys.exit(measure(Path(place) / "study", asked))


def measure(folder: Path, asked: argparse.Namespace) -> int:
    with Study.create(folder, TEXT.format(annotators=min(asked.annotators, 50))) as study:
        run(study, ("bench", "generate"), Options())
    invited, _ = invite_people(folder, asked.annotators)
    code = "from contextbias.cli.main import main; main()"
    server = subprocess.Popen(
        [sys.executable, "-c", code, "annotate", "serve", str(folder), "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    url = server.stdout.readline().split()[1]
    took: dict[str, list[float]] = defaultdict(list)
    people = [Person(one.annotator, one.token, url, took) for one in invited]
    start = time.perf_counter()
    asyncio.run(everybody(people, asked))
    wall, used = time.perf_counter() - start, processor_seconds(server.pid)
    server.kill()  # not stopped: what was acknowledged has to be there all the same
    server.wait()
    return say(folder, people, took, wall, used)


def say(
    folder: Path, people: list[Person], took: dict[str, list[float]], wall: float, used: float
) -> int:
    took["all"] = [second for seconds in took.values() for second in seconds]
    for what in ("answer", "page", "picture", "all"):
        p50, p95, p99 = np.quantile(took[what], (0.5, 0.95, 0.99)) * 1000
        worst = max(took[what]) * 1000
        print(
            f"{what:8} {len(took[what]):6,} requests   p50 {p50:6.1f} ms   p95 {p95:6.1f} ms   "
            f"p99 {p99:6.1f} ms   worst {worst:6.1f} ms"
        )
    acknowledged = {key for person in people for key in person.acknowledged}
    with Annotations.open(folder) as book:
        stored = {row.key for row in book.audit_trail()}
    lost = len(acknowledged - stored)
    print(
        f"{len(people)} annotators, {len(acknowledged):,} answers in {wall:.0f} s; server "
        f"{used:.1f} s of processor time; {lost} answers lost"
    )
    return 1 if lost else 0


if __name__ == "__main__":
    main()
