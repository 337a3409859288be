"""Full-size SDXL and FLUX with random weights on a GPU: our backend against a plain loop.

    python perf/gpu_generate.py --out results [--minutes 9] [--models sdxl,flux] [--compile]

Nothing is downloaded: the pipelines are built from their configurations on the GPU, and what the
weights are does not change the time. For each model a child process prints one line of JSON as soon
as it knows something, and is ended when its share of the time is over; what was printed stands in
`results/gpu_generate.json` and `.md` at every moment. Measured: images a second and GPU memory of a
plain loop (one image a call from the text, saved in line by Pillow), of a study's worker with
batches of 1 and as many as fit, and, if asked for, with a compiled denoiser; utilisation as
nvidia-smi tells it meanwhile.

`--device cpu --tiny` goes through the same steps with miniatures.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent.parent), str(Path(__file__).parent)]

import architectures  # noqa: E402

import generate  # noqa: E402

MODELS = {"sdxl": "sdxl", "flux": "flux-dev"}
SHARE = {"sdxl": 0.4, "flux": 0.6}
"""Of the time; building and 50 steps of FLUX take longer."""
TEXT = "a photo of a nurse at work"

_DONE = "done"
"""Last line of a child that has measured everything, however long it then takes to end."""

Line = dict[str, Any]


class Utilisation:
    """Mean of what nvidia-smi tells while a block runs, in per cent; None without it."""

    def __enter__(self) -> Utilisation:
        self.told: list[float] = []
        try:
            self._process: subprocess.Popen[str] | None = subprocess.Popen(
                ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits",
                 "-i", "0", "-lms", "200"],
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            )  # fmt: skip
        except OSError:
            self._process = None
            return self
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._thread.join(timeout=2)

    def _listen(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.strip().isdigit():
                self.told.append(float(line))

    @property
    def mean(self) -> float | None:
        """Per cent of the time in which something ran on the GPU."""
        return round(sum(self.told) / len(self.told), 1) if self.told else None


def run_model(
    name: str, *, device: str, tiny: bool, until: float, compiled: bool
) -> Iterator[Line]:
    """Measure one model.

    Args:
        name: ``sdxl`` or ``flux``.
        device: ``cuda`` or ``cpu``.
        tiny: A miniature, 64 x 64 pixels, 2 steps.
        until: When to be done, as `time.time` tells it. Each way of drawing gets a share of what is
            left when it begins; it draws two batches at least.
        compiled: Whether to measure a compiled denoiser as well.

    Yields:
        What is known so far, one line a stage.
    """
    from contextbias.generate.diffusers.loading import quiet

    quiet()
    warnings.filterwarnings("ignore")  # the plain loop's; ours says what matters by errors
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as saved:
        bench = Bench(name, Path(saved), device=device, tiny=tiny)
        yield {
            "stage": "built",
            "seconds": round(time.perf_counter() - began, 1),
            **bench.weights(),
        }
        ways = [
            ("plain loop", bench.plain),
            ("worker, 1 image a call", partial(bench.worker, "strict")),
            ("worker", partial(bench.worker, "prompt")),
            *([("worker, compiled", bench.compiled)] if compiled else []),
        ]
        for at, (stage, way) in enumerate(ways):
            # The last batch is finished, and another is under way when the time is over.
            share = 0.6 * (until - time.time()) / (len(ways) - at)
            yield {"stage": stage, **bench.timed(way(), share)}


class Bench:
    """One pipeline, and the ways to draw with it.

    Args:
        name: ``sdxl`` or ``flux``.
        folder: Where its tokenizers are saved.
        device: ``cuda`` or ``cpu``.
        tiny: A miniature.
    """

    def __init__(self, name: str, folder: Path, *, device: str, tiny: bool) -> None:
        from contextbias.generate.diffusers.facts import facts
        from contextbias.generate.diffusers.loading import Loaded, complete
        from contextbias.generate.diffusers.options import DiffusersOptions
        from contextbias.generate.diffusers.profiles import profile_for

        small = {"size": 64, "steps": 2, "dtype": "float32"} if tiny else {}
        self._options = {"model": str(folder), "profile": MODELS[name], "style": "",
                         "device": device, **small}  # fmt: skip
        profile = profile_for(str(folder), MODELS[name])
        options = DiffusersOptions.parse(self._options, backend="diffusers")
        dtype = options.dtype or profile.dtype
        pipeline = architectures.pipeline(name, device=device, dtype=dtype, tiny=tiny)
        architectures.save_tokenizers(pipeline, folder)
        recipe = complete(options, profile, folder)
        pipeline.set_progress_bar_config(disable=True)
        if device == "cuda":
            pipeline.vae.enable_slicing()  # as the backend does; the plain loop draws one at a time
        shared = {"model": name, **facts(pipeline, recipe, options, device)}
        self._loaded = Loaded(pipeline, recipe, device, folder, shared)
        self._cuda = device == "cuda"

    def weights(self) -> Line:
        """Parameters in thousand millions, gigabytes that they take, and what is drawn."""
        parts = [p for p in self._loaded.pipeline.components.values() if hasattr(p, "parameters")]
        tensors = [tensor for part in parts for tensor in part.parameters()]
        told = {
            "parameters": round(sum(t.numel() for t in tensors) / 1e9, 3),
            "weights_gb": round(sum(t.nbytes for t in tensors) / 1e9, 3),
        }
        facts = self._loaded.facts
        asked = {"pixels": list(self._loaded.recipe.size or ()), "steps": facts["steps"]}
        return {**told, **asked, **{n: facts[n] for n in ("dtype", "device", "versions")}}

    def compiled(self) -> Callable[[Path], Iterator[Line]]:
        """The worker with a compiled denoiser; the first batch takes minutes."""
        self._loaded.denoiser.compile()
        return self.worker("prompt")

    def plain(self) -> Callable[[Path], Iterator[Line]]:
        """One image a call, from the text, saved in line."""
        import torch

        def draw(folder: Path) -> Iterator[Line]:
            recipe = self._loaded.recipe
            for seed in count():
                output = self._loaded.pipeline(
                    TEXT,
                    negative_prompt=recipe.negative,
                    generator=torch.Generator().manual_seed(seed),
                    **recipe.call,
                )
                path = folder / f"{seed}.png"
                output.images[0].save(path)
                yield {"batch": 1, "last": True, "bytes": path.stat().st_size}

        return draw

    def worker(self, batching: str) -> Callable[[Path], Iterator[Line]]:
        """A study's worker: batches, and files made while the next images are drawn."""
        from contextbias.files import StudyFiles
        from contextbias.generate.diffusers import DiffusersGenerator
        from contextbias.generate.diffusers.drawing import Drawing
        from contextbias.generate.diffusers.options import DiffusersOptions
        from contextbias.generate.work import GenerateTask, Order

        given = {**self._options, "batching": batching}
        backend = DiffusersGenerator(given)
        backend._drawing = Drawing(self._loaded, DiffusersOptions.parse(given, backend="diffusers"))

        class Built(GenerateTask):
            """Its model is built here, and not loaded from files."""

            __slots__ = ()

            def _load(self) -> Any:
                return backend

        def draw(folder: Path) -> Iterator[Line]:
            task = Built("built", "diffusers", given, "fingerprint", StudyFiles(folder))
            (first,) = (o for o in generate.orders(Order, texts=[TEXT], seeds=range(1)))
            images = 40 * backend.together  # more than the time allows
            orders = [_seeded(first, seed) for seed in range(images)]
            for (kept,) in task.stream(orders):
                row = kept.row
                if row.path is None:
                    raise RuntimeError(row.reason)
                batch = row.provenance["batch"]
                yield {
                    "batch": batch["size"],
                    "last": batch["index"] == batch["size"] - 1,
                    "status": row.status,
                    "bytes": (folder / row.path).stat().st_size,
                }

        return draw

    def timed(self, way: Callable[[Path], Iterator[Line]], seconds: float) -> Line:
        """Draw until the time is over, whole batches only; the first batch warms up."""
        with tempfile.TemporaryDirectory() as folder, Utilisation() as busy:
            self._reset_peak()
            images = way(Path(folder))
            end = time.perf_counter() + seconds
            began, done, found = None, 0, []
            for image in images:
                found.append(image)
                if not image["last"]:
                    continue
                now = time.perf_counter()
                if began is None:
                    began, done, first = now, 0, len(found)
                    busy.told.clear()
                else:
                    done = len(found) - first
                    rate = done / (now - began)
                if now > end and done:
                    break
            told = {"images": done, "images_per_second": round(rate, 4) if done else None}
            images.close()
        blank = sum(image.get("status") == "blank" for image in found)
        size = sum(image["bytes"] for image in found) / len(found)
        return {
            **told,
            "batch": max(image["batch"] for image in found),
            "blank": blank,
            "kilobytes": round(size / 1000),
            "utilisation": busy.mean,
            **self._peak(),
        }

    def _reset_peak(self) -> None:
        if self._cuda:
            import torch

            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()

    def _peak(self) -> Line:
        if not self._cuda:
            return {"peak_gb": None}
        import torch

        return {
            "peak_gb": round(torch.cuda.max_memory_allocated() / 1e9, 2),
            "reserved_gb": round(torch.cuda.max_memory_reserved() / 1e9, 2),
        }


def _seeded(order: Any, seed: int) -> Any:
    job = replace(order.job, seed=seed, image_id=f"{seed:08d}")
    return replace(order, job=job, replicate=seed)


def table(results: dict[str, list[Line]]) -> str:
    """The results as Markdown."""
    rows = ["| model | | images/s | to the plain loop | images a call | GPU busy | peak GB |",
            "|---|---|---|---|---|---|---|"]  # fmt: skip
    for model, lines in results.items():
        rates = {line["stage"]: line.get("images_per_second") for line in lines}
        plain = rates.get("plain loop")
        for line in lines:
            rate = line.get("images_per_second")
            if rate is None:
                left_out = "stage", "versions"
                told = ", ".join(f"{k} {v}" for k, v in line.items() if k not in left_out)
                rows.append(f"| {model} | {line['stage']}: {told} | | | | | |")
                continue
            ratio = f"{rate / plain:.2f}" if plain else ""
            busy = "" if line["utilisation"] is None else f"{line['utilisation']:.0f}%"
            peak = "" if line["peak_gb"] is None else f"{line['peak_gb']:.1f}"
            rows.append(f"| {model} | {line['stage']} | {rate:.3f} | {ratio} | {line['batch']} |"
                        f" {busy} | {peak} |")  # fmt: skip
    return "\n".join(rows) + "\n"


def keep(out: Path, results: dict[str, list[Line]]) -> None:
    """Write what is known so far."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "gpu_generate.json").write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    (out / "gpu_generate.md").write_text(table(results), "utf-8")


def child(name: str, given: argparse.Namespace, seconds: float) -> Iterator[Line]:
    """Measure a model in a process of its own; a fault is a line, and so is the end of the time."""
    command = [sys.executable, __file__, "--child", name, "--device", given.device,
               "--until", f"{time.time() + seconds:.1f}"]  # fmt: skip
    command += ["--tiny"] * given.tiny + ["--compile"] * given.compile
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    is_over = threading.Event()

    def end() -> None:
        is_over.set()
        process.kill()

    timer = threading.Timer(seconds, end)
    timer.start()
    assert process.stdout is not None
    is_whole = False
    with process.stdout:
        for text in process.stdout:
            is_whole = text.strip() == _DONE
            if text.startswith("{"):
                yield json.loads(text)
    if process.wait() and not is_whole:
        reason = "out of time" if is_over.is_set() else f"exit {process.returncode}"
        yield {"stage": "stopped", "reason": reason}
    timer.cancel()


def main() -> None:
    """Measure all models, one after the other."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("gpu-results"))
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--until", type=float, default=0.0, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        for line in run_model(given.child, device=given.device, tiny=given.tiny,
                              until=given.until, compiled=given.compile):  # fmt: skip
            print(json.dumps(line), flush=True)
        print(_DONE, flush=True)
        return
    results: dict[str, list[Line]] = {}
    names = given.models.split(",")
    whole = sum(SHARE[name] for name in names)
    for name in names:
        results[name] = []
        for line in child(name, given, 60 * given.minutes * SHARE[name] / whole):
            results[name].append(line)
            keep(given.out, results)
            print(name, json.dumps(line), flush=True)
    print(table(results))


if __name__ == "__main__":
    main()
