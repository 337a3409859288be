"""What each measure of the diffusers backend brings over a plain loop, on a miniature pipeline.

    python perf/generate.py [--families sdxl,flux] [--size 64] [--steps 2] [--rounds 5] [--check]

The plain loop is what anybody would write: one image a call from the text, saved in line by Pillow.
Each further row adds one measure; the last is a study's worker as it is, which moreover looks for
blank pictures, hashes, labels and writes receipts. All draw the same pictures with the same seeds.
With miniatures, Python's and the library's overhead is what takes the time, as it does on a fast
GPU with few steps. Rounds take turns; of each row the least counts, of processor time (all threads)
and of wall clock. `--check` fails where the worker is not 1.5 times as fast as the plain loop.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))  # for the miniatures of the tests

AIM = 1.5
PROFILES = {"sdxl": "sdxl", "sd3": "sd3.5-medium", "flux": "flux-dev", "qwen": "qwen-image"}
TEXTS = ("a photo of a nurse", "a photo of a baker", "a photo of a judge", "a photo of a farmer")
SEEDS = range(10)

Way = Callable[[Path], object]
"""Draws all pictures and keeps them in a folder."""
Took = tuple[float, float]
"""Seconds of processor and of wall clock."""


class Ways:
    """The plain loop, the measures one by one, and all of them, with one saved pipeline.

    Args:
        folder: The pipeline.
        profile: Whose rules hold.
        size: Width and height in pixels.
        steps: Denoising steps.
    """

    def __init__(self, folder: Path, profile: str, *, size: int, steps: int) -> None:
        from contextbias.generate.diffusers import DiffusersGenerator
        from contextbias.generate.diffusers.embeddings import Embeddings

        self._options = {
            "model": str(folder), "profile": profile, "size": size, "steps": steps,
            "dtype": "float32", "style": "",
        }  # fmt: skip
        ours = DiffusersGenerator(self._options)
        self._loaded: Any = ours.drawing._loaded
        self._embeddings: Callable[[], Embeddings] = lambda: Embeddings(
            self._loaded.pipeline, self._loaded.recipe
        )
        self._batch = ours.together
        self._work = _worker(self._options)

    def all(self) -> dict[str, Way]:
        """Name -> way, each with one measure more than the one before."""
        return {
            "plain loop": self.plain,
            "prompts encoded once": self.encoded,
            f"{self._batch} images a call": self.batches,
            "PNG without a search for filters": self.quick_files,
            "files while the next are drawn": self.ahead,
            "a worker of a study": self.worker,
        }

    def plain(self, folder: Path) -> None:
        """One image a call, from the text, saved in line."""
        import torch

        recipe = self._loaded.recipe
        for text in TEXTS:
            for seed in SEEDS:
                output = self._loaded.pipeline(
                    text,
                    negative_prompt=recipe.negative,
                    generator=torch.Generator().manual_seed(seed),
                    **recipe.call,
                )
                output.images[0].save(folder / f"{text}-{seed}.png")

    def encoded(self, folder: Path) -> None:
        """Each prompt is encoded once."""
        for name, image in self._drawn(1, "pil"):
            image.save(folder / f"{name}.png")

    def batches(self, folder: Path) -> None:
        """Several images of one prompt a call."""
        for name, image in self._drawn(self._batch, "pil"):
            image.save(folder / f"{name}.png")

    def quick_files(self, folder: Path) -> None:
        """Our encoder of PNG."""
        for name, image in self._drawn(self._batch, "np"):
            _keep(folder, name, image)

    def ahead(self, folder: Path) -> None:
        """Files are made and written in the other thread."""
        from contextbias.generate.diffusers.ahead import ahead

        for name, image in ahead(lambda: self._drawn(self._batch, "np"), depth=8):
            _keep(folder, name, image)

    def worker(self, folder: Path) -> None:
        """What `contextbias run` does in the worker of a GPU."""
        self._work(folder)

    def _drawn(self, together: int, output: str) -> Iterator[tuple[str, Any]]:
        import torch

        embeddings = self._embeddings()
        for text in TEXTS:
            for start in range(0, len(SEEDS), together):
                seeds = SEEDS[start : start + together]
                found = self._loaded.pipeline(
                    **self._loaded.recipe.call,
                    **embeddings.arguments([text] * len(seeds)),
                    generator=[torch.Generator().manual_seed(seed) for seed in seeds],
                    output_type=output,
                )
                yield from ((f"{text}-{s}", i) for s, i in zip(seeds, found.images, strict=True))


def _keep(folder: Path, name: str, image: Any) -> None:
    from contextbias.generate.masters import encode, picture_of

    (folder / f"{name}.png").write_bytes(encode(picture_of(image).image, None))


def _worker(options: dict[str, Any]) -> Callable[[Path], object]:
    """A study's worker with the model loaded; given a folder, it makes all images there."""
    from contextbias.files import StudyFiles
    from contextbias.generate.work import GenerateTask, Order
    from contextbias.registry import load_generator

    backend = load_generator("diffusers", options)

    class Loaded(GenerateTask):
        """Its model is loaded before the clock runs."""

        __slots__ = ()

        def _load(self) -> Any:
            return backend

    def work(folder: Path) -> object:
        # Prompts are encoded anew in every round, as they are in the other ways.
        backend.drawing._embeddings = type(backend.drawing._embeddings)(
            backend.drawing._loaded.pipeline, backend.drawing._loaded.recipe
        )
        task = Loaded("mini", "diffusers", options, "fingerprint", StudyFiles(folder))
        given = list(orders(Order))
        size = backend.batch_size
        return [task.build()(given[at : at + size]) for at in range(0, len(given), size)]

    return work


def orders(order: Any, texts: Sequence[str] = TEXTS, seeds: Iterable[int] = SEEDS) -> Iterator[Any]:
    """What a worker is given for images of `texts`; `order` is the class of an order."""
    from contextbias.generate.protocol import Job
    from contextbias.tables import Prompt

    for text in texts:
        prompt = Prompt(
            prompt_id=text, role=text.split()[-1], condition="CF", base="cf", variant="phrasing-1",
            location=None, activity=None, text=text, prompted=(), bank="perf",
        )  # fmt: skip
        for seed in seeds:
            job = Job(
                image_id=f"{prompt.role}{seed:06d}", role=prompt.role, condition="CF", text=text,
                location=None, activity=None, prompt_id=text, seed=seed,
            )  # fmt: skip
            yield order(job, prompt, seed)


def measured(ways: dict[str, Way], rounds: int) -> dict[str, Took]:
    """Name -> the least processor and wall seconds of several rounds, after one to warm up."""
    least = dict.fromkeys(ways, (float("inf"), float("inf")))
    for turn in range(rounds + 1):
        for name, way in ways.items():
            with tempfile.TemporaryDirectory() as folder:
                began = time.process_time(), time.perf_counter()
                way(Path(folder))
                took = time.process_time() - began[0], time.perf_counter() - began[1]
            if turn:
                least[name] = min(least[name][0], took[0]), min(least[name][1], took[1])
    return least


def told(family: str, took: dict[str, Took]) -> float:
    """Print a family's table; the worker's ratio of processor time to that of the plain loop."""
    count = len(TEXTS) * len(SEEDS)
    plain = took["plain loop"]
    print(f"\n{family:34}{'ms/image':>9}{'ratio':>7}{'images/s':>10}{'ratio':>7}")
    print(f"{'':34}{'processor':>9}{'':7}{'wall':>10}")
    for name, (cpu, wall) in took.items():
        print(
            f"{name:34}{1000 * cpu / count:9.1f}{plain[0] / cpu:7.2f}{count / wall:10.1f}"
            f"{plain[1] / wall:7.2f}"
        )
    return plain[0] / took["a worker of a study"][0]


def main() -> None:
    """Measure every family that was asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--families", default=",".join(PROFILES))
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1, help="of torch; 0: as it is by itself")
    parser.add_argument("--busy", action="store_true", help="let idle threads wait busily")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    if given.threads:
        os.environ["OMP_NUM_THREADS"] = str(given.threads)  # before torch is loaded
    import warnings

    from contextbias.generate.diffusers.loading import quiet
    from contextbias.generate.diffusers.threads import wait_asleep

    if not given.busy:
        wait_asleep()  # as the backend does
    quiet()
    warnings.filterwarnings("ignore")  # the plain loop's; ours says what matters by errors
    from tests.generate.diffusers import tiny

    slow = []
    print(
        f"{given.size} x {given.size} pixels, {given.steps} steps; least of {given.rounds} rounds"
    )
    for family in given.families.split(","):
        with tempfile.TemporaryDirectory() as folder:
            saved = tiny.save(family, Path(folder))
            ways = Ways(saved, PROFILES[family], size=given.size, steps=given.steps)
            if told(family, measured(ways.all(), given.rounds)) < AIM:
                slow.append(family)
    if given.check and slow:
        sys.exit(f"less than {AIM} times as fast as the plain loop: {', '.join(slow)}")


if __name__ == "__main__":
    main()
