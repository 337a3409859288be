"""A repository of the hub, as its cache holds it: the options of the README and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from contextbias.generate.diffusers.loading import quiet
from contextbias.generate.diffusers.profiles import profiles

DRAW = """
import json, sys
from contextbias.generate.diffusers import DiffusersGenerator
from contextbias.generate.protocol import Job
options = json.loads(sys.argv[1])
job = Job(image_id="i", role="nurse", condition="CF", text="a nurse", location=None, activity=None,
          prompt_id="p", seed=1)
generator = DiffusersGenerator(options)
there = {what: ok for what, ok, *_ in generator.requirements()}
plan = generator.plan([job])
generator.check([job])
(made,) = generator.generate([job])
print(json.dumps([made.status, made.reason, made.provenance, there, plan.notes]))
"""


def cached(home: Path, repository: str, commit: str, *, variant: str | None) -> None:
    """A miniature SDXL in the hub's cache, as a download leaves it."""
    import torch
    from tests.generate.diffusers import tiny

    quiet()
    root = home / "hub" / f"models--{repository.replace('/', '--')}"
    (root / "refs").mkdir(parents=True)
    (root / "refs" / "main").write_text(commit)
    pipeline = tiny.sdxl()
    pipeline.to(torch.float16) if variant else None
    pipeline.save_pretrained(root / "snapshots" / commit, variant=variant)


def drawn(home: Path, **options: Any) -> Any:
    given = {"size": 64, "steps": 2, "style": "", **options}
    done = subprocess.run(
        [sys.executable, "-c", DRAW, json.dumps(given)],
        env={**os.environ, "HF_HOME": str(home), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_a_model_by_its_name_is_the_pinned_commit_in_its_own_precision(tmp_path: Path) -> None:
    sdxl = profiles()["sdxl"]
    cached(tmp_path, str(sdxl.repository), str(sdxl.revision), variant="fp16")
    status, reason, told, there, notes = drawn(tmp_path, model="sdxl")
    assert (status, reason) == ("ok", None)
    assert told["model"] == sdxl.repository
    assert told["revision"] == sdxl.revision
    assert told["dtype"] == "float16"
    assert there[f"weights {sdxl.repository}"]
    assert not [note for note in notes if "tokens" in note]  # they were counted


@pytest.mark.slow
def test_a_branch_is_the_commit_that_was_loaded(tmp_path: Path) -> None:
    commit = "0123456789abcdef" * 2 + "01234567"
    cached(tmp_path, "someone/tuned", commit, variant=None)
    status, _, told, there, notes = drawn(
        tmp_path, model="someone/tuned", profile="sdxl", dtype="float32"
    )
    assert status == "ok"
    assert (told["model"], told["revision"]) == ("someone/tuned", commit)
    assert there["revision"] is False
    assert any("not pinned" in note for note in notes)
