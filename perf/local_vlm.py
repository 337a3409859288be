"""What holding a local model to the schema costs, and what a batch gains, on a miniature.

    python perf/local_vlm.py [PICTURES] [--model FOLDER] [--device auto]

Without --model a LLaVA with random weights is made on the spot; see
tests/extract/transformers/tiny.py. Its layers cost next to nothing, so what is left is the overhead
of the loop, beside the same ``generate`` without a grammar. A mask grows with the vocabulary, and
the miniature's is small: so masks of 151,936 tokens, as Qwen's models have, are timed on their own.
One thread; processor time, which other work on the machine hardly touches; wall time beside it.
With --model, and best on a GPU, the same tables are about that model.
Last line: `local_vlm PICTURES` and CPU milliseconds a token, free, held and drawn.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch
from PIL import Image
from transformers import LogitsProcessorList

from contextbias.extract.protocol import Picture
from contextbias.extract.transformers import TransformersReader
from contextbias.extract.transformers.constraint import Constraint, Grammar
from contextbias.extract.transformers.loading import quiet
from contextbias.extract.vision.instructions import instructions

WIDE = 151_936
"""Tokens of a large vocabulary."""


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("pictures", type=int, nargs="?", default=16)
    parser.add_argument("--model")
    parser.add_argument("--device", default="auto")
    args = parser.parse_args()
    torch.set_num_threads(1)
    quiet()
    with tempfile.TemporaryDirectory() as folder:
        model = args.model or str(made(Path(folder) / "tiny"))
        options = {"model": model, "device": args.device, "people": 1, "max_tokens": 1500}
        if not args.model:
            options |= {"dtype": "float32", "size": 64}
        told = by_token(options)
        by_batch(options, drawn(Path(folder), args.pictures))
    print(f"local_vlm {args.pictures} " + " ".join(f"{each:.3f}" for each in told))


def made(folder: Path) -> Path:
    tiny = importlib.import_module("tests.extract.transformers.tiny")
    return Path(tiny.save(folder))


def drawn(folder: Path, count: int) -> list[Picture]:
    pictures = []
    for number in range(count):
        path = folder / f"{number}.png"
        Image.effect_noise((256, 256), 20 + number).convert("RGB").save(path)
        pictures.append(Picture(image_id=str(number), path=path))
    return pictures


def by_token(options: dict[str, Any]) -> list[float]:
    """CPU milliseconds a token of the loop: no grammar, held, held and drawn."""
    answering = TransformersReader(options).answering
    loaded, grammar = answering._loaded, answering._grammar
    print(f"grammar: {compiling(options, loaded):.1f} ms once, {len(grammar.text):,} characters")
    text = answering._wording.text([])
    side = int(options.get("size") or 1024)
    tensors = answering._tensors([text], [Image.new("RGB", (side, side), "gray")])
    tensors = tensors.to(device=loaded.device, dtype=loaded.dtype)
    length = tensors["input_ids"].shape[1]
    print(f"question: {length:,} tokens\n\nLOOP           TOKENS  CPU MS/TOKEN  WALL MS/TOKEN")
    found = []
    for name in ("free", "held", "drawn"):
        best = min(once(loaded, tensors, grammar, name, length) for _ in range(3))
        cpu, wall, tokens = best
        print(f"{name:<12}  {tokens:>7,}  {cpu:>12.3f}  {wall:>13.3f}")
        found.append(cpu)
    for name, temperature in (("held", 0.0), ("drawn", 1.0)):
        each = [wide(loaded, batch, temperature) for batch in (1, 8)]
        print(f"{name}, {WIDE:,} tokens: {each[0]:.1f} ms a step alone, {each[1]:.1f} ms for 8")
    return found


def compiling(options: dict[str, Any], loaded: Any) -> float:
    schema = instructions(people=int(options["people"])).schema
    began = time.process_time()
    Grammar(
        schema, loaded.processor.tokenizer, vocabulary=loaded.vocabulary, ends=loaded.ends
    ).matcher()
    return 1e3 * (time.process_time() - began)


def wide(loaded: Any, batch: int, temperature: float) -> float:
    """CPU milliseconds of one step of a batch with a vocabulary of `WIDE` tokens."""
    schema = instructions(people=1).schema
    grammar = Grammar(schema, loaded.processor.tokenizer, vocabulary=WIDE, ends=loaded.ends)
    constraint = Constraint(grammar, list(range(batch)), temperature)
    scores = torch.randn((batch, WIDE))
    said = torch.zeros((batch, 1), dtype=torch.long)
    began, steps = time.process_time(), 50
    for _ in range(steps):
        said = constraint(said, scores).argmax(dim=-1, keepdim=True)
    return 1e3 * (time.process_time() - began) / steps


def once(loaded: Any, tensors: Any, grammar: Any, name: str, length: int) -> tuple[float, ...]:
    processors = LogitsProcessorList()
    if name != "free":
        processors.append(Constraint(grammar, [0], 1.0 if name == "drawn" else 0.0))
    # A free answer may end at once or never: as long as one on schema usually is.
    given = {"min_new_tokens": 300, "max_new_tokens": 300} if name == "free" else {}
    began, wall = time.process_time(), time.perf_counter()
    with torch.inference_mode():
        out = loaded.model.generate(**tensors, logits_processor=processors, **given)
    cpu, wall = time.process_time() - began, time.perf_counter() - wall
    tokens = out.shape[1] - length
    return 1e3 * cpu / tokens, 1e3 * wall / tokens, tokens


def by_batch(options: dict[str, Any], pictures: list[Picture]) -> None:
    """Seconds a picture with more and fewer at a time."""
    print("\nBATCH  CPU S/PICTURE  WALL S/PICTURE  TOKENS/PICTURE  FINISHED")
    for batch in (1, 4, 16):
        reader = TransformersReader({**options, "batch": batch})
        _ = reader.answering
        began, wall = time.process_time(), time.perf_counter()
        read = [reading for _, reading in reader.read_many(pictures)]
        cpu, wall = time.process_time() - began, time.perf_counter() - wall
        tokens = sum(each.raw["usage"]["output"] for each in read) / len(read)
        ok = sum(each.status in ("ok", "invalid") for each in read)
        each = f"{cpu / len(read):>13.3f}  {wall / len(read):>14.3f}"
        print(f"{batch:>5}  {each}  {tokens:>14,.0f}  {ok:>8}")


if __name__ == "__main__":
    main()
