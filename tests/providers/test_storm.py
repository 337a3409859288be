"""2,000 pictures through everything that can go wrong, held against the server's own log."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import CHECKOUT
from tests.provider import FakeProvider, Fault, Storm
from tests.providers.prepared import PRICE, prepare, read_pending

from contextbias.errors import Incomplete
from contextbias.providers import sum_usage
from contextbias.store import Study

RATES = {
    "429": 0.01, "500": 0.02, "503": 0.01, "cut_before": 0.02, "cut_after": 0.02, "truncate": 0.02,
    "refuse": 0.02, "content_filter": 0.02, "empty": 0.02, "invalid_json": 0.02, "off_schema": 0.02,
}  # fmt: skip
FINAL = {"ok", "refused", "blocked", "truncated", "invalid"}


def storm(seed: int) -> Storm:
    return Storm(seed=seed, rates=RATES, burst_every=500, burst_length=15, delay=0.004)


def answered(study: Study) -> int:
    """Replies behind the stored rows."""
    return sum(row.raw["answered"] for row in study.readings())


def held_against_the_log(study: Study, provider: FakeProvider, count: int) -> None:
    """Every picture one final state; every charge a stored reply, or a cut one."""
    rows = study.readings()
    assert len(rows) == count
    assert {row.status for row in rows} <= FINAL
    whole = [entry for entry in provider.billed() if entry.whole]
    cut = [entry for entry in provider.billed() if not entry.whole]
    assert Counter(entry.fault for entry in cut).keys() <= {"cut_after"}
    assert len(whole) == answered(study)
    # A second turn is the only reason for which a picture is paid for twice.
    turns = Counter(entry.key for entry in whole)
    assert sorted(turns.values()) == sorted(row.raw["answered"] for row in rows)
    usage, _ = sum_usage(study.usage("readings", "prepared"))
    lost = sum(entry.usage["output"] for entry in cut if entry.usage)
    assert usage.output + lost == provider.total("output")
    assert usage.input + sum(e.usage["input"] for e in cut if e.usage) == provider.total("input")


def test_two_thousand_pictures_through_a_storm(tmp_path: Path) -> None:
    with FakeProvider(plan=storm(1)).running() as provider:
        with prepare(tmp_path / "study", 2000) as study:
            read_pending(study, provider.base_url)
            while any(row.status == "error" for row in study.readings()):
                read_pending(study, provider.base_url)
            held_against_the_log(study, provider, 2000)
        kinds = Counter(entry.fault for entry in provider.log)
    assert set(kinds) == {"", *RATES}


def test_interrupted_out_of_quota_and_over_budget_on_the_way(tmp_path: Path) -> None:
    behind = storm(2)
    stops: dict[int, Any] = {150: "interrupt", 400: "quota"}

    def plan(number: int, question: Any) -> Fault | None:
        match stops.get(number):
            case "interrupt":
                os.kill(os.getpid(), signal.SIGINT)
            case "quota":
                return Fault("quota")
        return behind(number, question)

    with FakeProvider(plan=plan).running() as provider:  # noqa: SIM117
        with prepare(tmp_path / "study", 600) as study:
            with pytest.raises(KeyboardInterrupt):
                read_pending(study, provider.base_url)
            assert 100 < len(study.readings()) < 400
            with pytest.raises(Incomplete, match="insufficient_quota"):
                read_pending(study, provider.base_url)
            usage, _ = sum_usage(study.usage("readings", "prepared"))
            limit = PRICE.of(usage) * 1.2
            with pytest.raises(Incomplete, match="has no room for another request"):
                read_pending(study, provider.base_url, budget=limit)
            usage, _ = sum_usage(study.usage("readings", "prepared"))
            assert PRICE.of(usage) <= limit
            while len(study.readings()) < 600 or any(r.status == "error" for r in study.readings()):
                read_pending(study, provider.base_url)
            held_against_the_log(study, provider, 600)


def test_killed_on_the_way(tmp_path: Path) -> None:
    """What was under way when the process was killed is all that is paid for again."""
    with FakeProvider(plan=storm(3)).running() as provider:
        folder = tmp_path / "study"
        prepare(folder, 600).close()
        for arrivals in (100, 300, 500):
            kill_after(provider, folder, arrivals)
        with Study.open(folder, writing=True) as study:
            while len(study.readings()) < 600 or any(r.status == "error" for r in study.readings()):
                read_pending(study, provider.base_url)
            rows = study.readings()
            assert len(rows) == 600
            assert {row.status for row in rows} <= FINAL
            whole = sum(entry.whole for entry in provider.billed())
            # Three times at most: 16 in flight, 16 waiting to be stored, one being stored.
            assert 0 <= whole - answered(study) <= 3 * 33


def kill_after(provider: FakeProvider, folder: Path, arrivals: int) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.providers.prepared", str(folder), provider.base_url],
        cwd=CHECKOUT,
        env={**os.environ, "PYTHONPATH": f"{CHECKOUT / 'src'}:{CHECKOUT}"},
    )
    while provider.arrivals < arrivals:
        assert process.poll() is None
        time.sleep(0.005)
    process.kill()
    process.wait()
