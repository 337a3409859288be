"""What a reading through a service costs this machine: processor time, rate, memory.

    python perf/readings.py payloads [--count 3000]     requests that are encoded already
    python perf/readings.py files [--count 300]         1024-pixel PNG files to stored readings
    python perf/readings.py memory [--count 100000]     high mark of memory along the way
    python perf/readings.py agent [--count 300]         three requests a picture, the stock client

All against the fake provider (tests/provider) in a process of its own on the same machine, which
answers at once. Processor milliseconds a reading are the figures to compare: they hold on a
machine that does other things besides; readings a second do not.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from contextbias import registry  # noqa: E402
from contextbias.extract.openai import OpenAIReader  # noqa: E402
from contextbias.extract.work import ExtractTask, Question, reading_id  # noqa: E402
from contextbias.progress import Silent  # noqa: E402
from contextbias.providers import (  # noqa: E402
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
)
from contextbias.providers.line import Line  # noqa: E402
from contextbias.schema import empty_person, empty_record  # noqa: E402
from contextbias.schema.strict import strict_schema  # noqa: E402
from contextbias.store import Study, drop_receipts  # noqa: E402
from contextbias.worklist import Outcome, Worklist, work_off  # noqa: E402

MODEL = "gpt-5-mini"
SIDE = 1024
RECORD = {**empty_record(), "people": [empty_person()]}
WORDS = "Describe what can be seen. " * 240  # as long as a codebook


@contextmanager
def served() -> Iterator[str]:
    """Base address of a fake provider in a process of its own."""
    os.environ["OPENAI_API_KEY"] = "test-key"
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.provider", "--no-log", "--answer", json.dumps(RECORD)],
        cwd=CHECKOUT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        process.wait()
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"the server took {used.ru_utime + used.ru_stime:.1f} s of processor time")


def photo(seed: int, side: int = SIDE) -> Image.Image:
    """Something that compresses like a photograph: soft shapes, and grain."""
    random = np.random.default_rng(seed)
    coarse = Image.fromarray(random.integers(0, 255, (12, 12, 3), dtype=np.uint8), "RGB")
    soft = np.asarray(coarse.resize((side, side), Image.Resampling.BICUBIC), dtype=np.int16)
    grain = random.normal(0, 4, soft.shape).astype(np.int16)
    return Image.fromarray(np.clip(soft + grain, 0, 255).astype(np.uint8), "RGB")


def data_url(seed: int) -> str:
    buffer = BytesIO()
    photo(seed).save(buffer, "JPEG", quality=90)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()


def conversation(url: str) -> list[dict[str, Any]]:
    part = {"type": "image_url", "image_url": {"url": url}}
    return [{"role": "system", "content": WORDS}, {"role": "user", "content": [part]}]


def measured(name: str, count: int, work: Callable[[], object]) -> None:
    """Print the rate and the processor time of some readings."""
    wall, own = time.perf_counter(), time.process_time()
    work()
    wall, own = time.perf_counter() - wall, time.process_time() - own
    print(
        f"{name}: {count:,} readings, {own / count * 1e3:.2f} ms of processor time each, "
        f"{count / wall:,.0f} a second (wall clock)"
    )


def payloads(count: int) -> None:
    fields = chat.request_fields(strict_schema(), profile(MODEL), Params(max_tokens=4096))
    bodies = [chat.encode(conversation(data_url(seed)), fields) for seed in range(8)]
    print(f"requests of {len(bodies[0]) / 1000:,.0f} kB")

    async def call(line: Line, number: int) -> Reply:
        return await chat.send(line, bodies[number % len(bodies)], tokens=4000)

    def work() -> None:
        table = price(MODEL)
        assert table is not None
        replies = exchange(
            range(count),
            call,
            connection=Connection(base_url),
            pacing=Pacing(),
            budget=Budget(None, table.cost),
            total=count,
            on_state=lambda _: None,
        )
        assert all(reply.status == "ok" for _, reply in replies)

    with served() as base_url:
        measured("payloads", count, work)


def files(count: int) -> None:
    with tempfile.TemporaryDirectory() as name, served() as base_url:
        root = Path(name)
        (root / "pictures").mkdir()
        for seed in range(min(count, 40)):
            photo(seed).save(root / "pictures" / f"{seed}.png", compress_level=1)
        size = sum(path.stat().st_size for path in (root / "pictures").iterdir())
        print(f"files of {size / min(count, 40) / 1e6:.1f} MB")
        measured("files", count, lambda: stored(root, base_url, count))


def stored(
    root: Path,
    base_url: str,
    count: int,
    watch: Callable[[int], None] = lambda _: None,
    size: int = SIDE,
) -> None:
    """Read `count` pictures (the files over and over) into the store of a new study."""
    paths = sorted((root / "pictures").iterdir())
    options = {"model": MODEL, "base_url": base_url, "self_test": False, "size": size}
    questions = [
        Question(reading_id("r", "f", f"i{n}", ""), f"i{n}", str(paths[n % len(paths)]))
        for n in range(count)
    ]
    with Study.create(root / "study", '[study]\nname = "perf"\n') as study:
        session = Session(folder=study.root, name="r", items=count)
        task = ExtractTask("r", "openai", options, "f", study.files, session)
        worklist = Worklist(
            stage="extract", unit="readings", task=task, items=questions, batch_size=1,
            parallel="stream", workers=1,
        )  # fmt: skip
        done = 0

        def append(rows: list[Any]) -> int:
            nonlocal done
            done += len(rows)
            watch(done)
            return study.append_readings(rows)

        outcome: Outcome = work_off(worklist, append, drop_receipts, Silent())
        assert (outcome.done, outcome.failed) == (count, 0), study.readings()[0].reason


def memory(count: int) -> None:
    def watch(done: int) -> None:
        if done % (count // 10) == 0:
            print(f"  {done:>8,} readings: {resident():,.0f} MB", flush=True)

    with tempfile.TemporaryDirectory() as name, served() as base_url:
        root = Path(name)
        (root / "pictures").mkdir()
        for seed in range(40):
            # Small ones: it is their number that counts here.
            photo(seed, 64).save(root / "pictures" / f"{seed}.png")
        measured("memory", count, lambda: stored(root, base_url, count, watch, 64))
        high = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
        print(f"high mark {high:,.0f} MB")


def resident() -> float:
    """Megabytes of this process in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def agent(count: int) -> None:
    """A picture, a tool's answer, and a second model that brings it into form: the history is sent
    again each time, as agent frameworks do, by openai's client as it comes."""
    import openai

    urls = [data_url(seed) for seed in range(8)]
    fields = chat.request_fields(strict_schema(), profile(MODEL), Params(max_tokens=4096))

    async def one(client: openai.AsyncOpenAI, number: int) -> None:
        messages: list[Any] = conversation(urls[number % len(urls)])
        for turn in range(3):
            asked = fields if turn == 2 else {"model": MODEL, "max_completion_tokens": 4096}
            found = await client.chat.completions.create(messages=messages, **asked)
            text = found.choices[0].message.content
            messages += [{"role": "assistant", "content": text}, {"role": "user", "content": "on"}]

    async def everything() -> None:
        numbers = iter(range(count))
        async with openai.AsyncOpenAI(base_url=base_url) as client:

            async def work() -> None:
                for number in numbers:
                    await one(client, number)

            await asyncio.gather(*(work() for _ in range(16)))

    with served() as base_url:
        measured("agent", count, lambda: asyncio.run(everything()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    modes = {"payloads": (payloads, 3000), "files": (files, 300), "memory": (memory, 100_000),
             "agent": (agent, 300)}  # fmt: skip
    parser.add_argument("mode", choices=modes)
    parser.add_argument("--count", type=int)
    args = parser.parse_args()
    assert registry.READERS["openai"].target.endswith(OpenAIReader.__name__)
    work, usual = modes[args.mode]
    work(args.count or usual)


if __name__ == "__main__":
    main()
