"""One call an image against a two-step flow: requests, tokens and processor time, on one server.

    python perf/read_flow.py [IMAGES] [--latency SECONDS]

The two-step flow is the form of many pipelines: a vision model describes the picture in prose, and
a second model turns the prose into the record. Both flows go through the same transport, with the
same pictures, and against the same fake provider on loopback (a process of its own), which counts
4 characters a token and 1,000 tokens a picture. So requests and tokens are those of the flows as
they are written here, and no forecast of a real model's: its prose may be longer or shorter.
Last line: `read_flow IMAGES` and of each flow the CPU milliseconds an image.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from contextbias.extract.openai import OpenAIReader
from contextbias.extract.openai.asking import Asked, Asking
from contextbias.extract.openai.options import OpenAIReaderOptions
from contextbias.extract.protocol import Picture
from contextbias.extract.vision.answers import parse_answer
from contextbias.extract.vision.instructions import instructions
from contextbias.providers import Connection, Line, Pacing, Reply, Usage, exchange
from contextbias.providers.chat import Params, encode, request_fields, send
from contextbias.providers.profiles import profile
from contextbias.schema import empty_person, empty_record

PROSE = "A person stands in a bright room beside a table with a lamp on it. " * 36
"""2,412 characters: what a model needs to say in prose about 31 questions."""
MODEL = "gpt-5-mini"


def main() -> None:
    """Print a table of both flows."""
    parser = argparse.ArgumentParser()
    parser.add_argument("images", type=int, nargs="?", default=400)
    parser.add_argument("--latency", type=float, default=0.0)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        serve(args.latency)
        return
    os.environ["OPENAI_API_KEY"] = "test-key"
    with tempfile.TemporaryDirectory() as folder, served(args.latency) as url:
        pictures = drawn(Path(folder), args.images)
        one_call(url, pictures[:20])  # connections, imports
        flows = {"one call": one_call(url, pictures), "two steps": two_steps(url, pictures)}
    print(
        f"{'':<12}{'requests':>9}{'tokens in':>11}{'out':>7}{'CPU ms':>8}{'wall ms':>9}  an image"
    )
    for name, found in flows.items():
        print(f"{name:<12}{found.line(args.images)}")
    cpu = " ".join(f"{1000 * found.cpu / args.images:.1f}" for found in flows.values())
    print(f"read_flow {args.images} {cpu}")


@dataclass
class Flow:
    """What all pictures took."""

    requests: int
    usage: Usage
    cpu: float
    wall: float

    def line(self, images: int) -> str:
        """The numbers of one image."""
        values = (
            f"{self.requests / images:9.2f}{self.usage.input / images:11,.0f}"
            f"{self.usage.output / images:7,.0f}"
        )
        return f"{values}{1000 * self.cpu / images:8.1f}{1000 * self.wall / images:9.1f}"


def one_call(url: str, pictures: list[Picture]) -> Flow:
    """The reader as it ships."""
    reader = OpenAIReader({"model": MODEL, "base_url": url, "self_test": False})
    began, cpu = time.perf_counter(), time.process_time()
    usage, requests = Usage(), 0
    for _, reading in reader.read_many(pictures):
        assert reading.status == "ok", reading.reason
        usage += Usage.from_json(reading.raw["usage"])
        requests += len(reading.raw["turns"])
    return Flow(requests, usage, time.process_time() - cpu, time.perf_counter() - began)


def two_steps(url: str, pictures: list[Picture]) -> Flow:
    """A vision model that describes, then a model that structures."""
    options = OpenAIReaderOptions.parse({"model": MODEL, "base_url": url}, backend="openai")
    found, words = profile(MODEL), instructions()
    seeing = Asking(words, request_fields(None, found, Params(max_tokens=4096)), options.size,
                    options.encoding, options.quality, None, False, 0.0)  # fmt: skip
    structuring = request_fields(words.schema, found, Params(max_tokens=4096))

    async def call(line: Line, asked: Asked) -> Reply:
        # The questions have to be put in both steps: whatever is not described is lost.
        _, body = await line.thread(seeing._prepared, asked)
        prose = await send(line, body)
        messages = [
            {"role": "system", "content": words.text},
            {"role": "user", "content": f"Make the record of this description:\n{prose.text}"},
        ]
        record = await send(line, encode(messages, structuring))
        assert parse_answer(record.text or "").record is not None, record.text
        return Reply(status=record.status, usage=prose.usage + record.usage)

    began, cpu = time.perf_counter(), time.process_time()
    usage = Usage()
    asked = [Asked(picture) for picture in pictures]
    for _, reply in exchange(asked, call, connection=Connection.of(options),
                             pacing=Pacing.of(options)):  # fmt: skip
        assert reply.status == "ok", reply.reason
        usage += reply.usage
    taken = time.process_time() - cpu
    return Flow(2 * len(pictures), usage, taken, time.perf_counter() - began)


def drawn(folder: Path, count: int) -> list[Picture]:
    """PNG files of 1024 pixels, none like another."""
    base = Image.effect_noise((256, 256), 60).resize((1024, 1024))
    found = []
    for number in range(count):
        path = folder / f"{number}.png"
        shifted = base.point(lambda level, by=number: (level + by) % 256)
        Image.merge("RGB", (shifted, base, base)).save(path, compress_level=1)
        found.append(Picture(image_id=str(number), path=path))
    return found


def answer(question: Any) -> dict[str, Any] | str:
    """Prose where no schema is sent, else a record about one person."""
    if question.schema is None:
        return PROSE
    record = empty_record()
    record["scene"] |= {"aesthetic_qualities": ["realistic"], "dominant_colors": ["blue", "white"]}
    record["objects"]["items"] = ["table", "lamp", "window", "chair", "cup"]
    person = empty_person() | {"age_range": "young_adult", "gender_presentation": "female"}
    person |= {"accessories": ["watch"], "activities": ["standing"], "clothing_color": ["blue"]}
    record["people"] = [person | {"clothing_garment": ["shirt", "trousers"]}]
    return record


def serve(latency: float) -> None:
    """Serve until the input is closed; prints the address."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from tests.provider import FakeProvider

    with FakeProvider(answer=answer, latency=latency, keep_log=False).running() as provider:
        print(json.dumps(provider.base_url), flush=True)
        sys.stdin.read()


@contextmanager
def served(latency: float) -> Iterator[str]:
    """The provider in a process of its own."""
    command = [sys.executable, __file__, "--serve", "--latency", str(latency)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdin is not None
        assert run.stdout is not None
        yield json.loads(run.stdout.readline())
        run.stdin.close()


if __name__ == "__main__":
    main()
