"""A study whose reader uses the Batch API, or has a budget: through the program and the store."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.extract.openai.truthful import TruthfulModel
from tests.provider import Batches, FakeProvider

from contextbias import pipeline
from contextbias.errors import Incomplete
from contextbias.pipeline import Options
from contextbias.pipeline.selection import Wanted
from contextbias.pipeline.workload import workload
from contextbias.progress import Silent
from contextbias.providers import Usage, outstanding, price, sum_usage
from contextbias.store import Study

TEXT = """
[study]
images_per_prompt = 1
[bench]
roles = ["nurse"]
[[generators]]
name = "g"
backend = "simulated"
options = {{ size = 128 }}
[[readers]]
name = "seer"
backend = "openai"
options = {{ model = "gpt-5-mini", base_url = "{url}", size = 128, batch_poll = 0.05{more} }}
[run]
workers = 1
"""

IMAGES = 18
PRICE = price("gpt-5-mini")
assert PRICE is not None


class Told(Silent):
    """A progress that remembers words and lines."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def note(self, words: str) -> None:
        self.words.append(words)

    def say(self, message: str) -> None:
        self.words.append(message)


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[FakeProvider]:
    answer = TruthfulModel(tmp_path / "s/images", 128)
    odd = Batches(duplicate=0.2, expire=0.5)
    with FakeProvider(answer=answer, batches=odd).running() as running:
        yield running


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with its pictures, not read yet; copied for each test."""
    root = tmp_path_factory.mktemp("drawn") / "s"
    text = TEXT.format(url="http://127.0.0.1:9/v1", more="")
    with Study.create(root, text) as made:
        pipeline.run(made, ("bench", "generate"), Options())
    return root


@pytest.fixture
def make(tmp_path: Path, provider: FakeProvider, drawn: Path) -> Callable[..., Path]:
    """Makes the study of a test, or changes its options."""

    def study(more: str = "") -> Path:
        root = tmp_path / "s"
        if not root.exists():
            shutil.copytree(drawn, root)
        (root / "study.toml").write_text(TEXT.format(url=provider.base_url, more=more))
        return root

    return study


def read(root: Path, **options: Any) -> None:
    with Study.open(root, writing=True) as study:
        pipeline.run(study, ("extract",), Options(**options))


def readings(root: Path) -> list[Any]:
    with Study.open(root) as study:
        return study.readings()


def paid_once(provider: FakeProvider) -> bool:
    """Every picture once; the self-test, which has no picture, once."""
    return set(Counter(entry.key for entry in provider.billed()).values()) == {1}


def test_a_study_is_read_by_batches(make: Callable[..., Path], provider: FakeProvider) -> None:
    root, told = make(), Told()
    read(root, batch=True, progress=told)
    rows = readings(root)
    assert len(rows) == IMAGES
    assert {row.status for row in rows} == {"ok"}
    assert all(row.raw["usage"]["batch"] for row in rows)
    assert len(provider.batches.made) == 2  # the second for what expired
    assert paid_once(provider)
    assert outstanding(root) == 0
    assert provider.batches.files == {}
    assert any("18 in 1 batch" in words for words in told.words)


def test_the_option_does_what_the_word_does(
    make: Callable[..., Path], provider: FakeProvider
) -> None:
    root = make(", batch = true")
    read(root)
    assert len(readings(root)) == IMAGES
    assert provider.batches.made


def test_batches_are_left_with_the_provider_and_collected_later(
    make: Callable[..., Path], provider: FakeProvider
) -> None:
    root = make()
    provider.batches.polls = 10**6
    code = "from contextbias.cli.main import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "extract", str(root), "--batch"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENAI_API_KEY": "test-key"},
    )
    while not provider.batches.looks:
        assert process.poll() is None
        time.sleep(0.01)
    assert outstanding(root) == IMAGES
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130, said
    assert "run the same command again to go on" in said
    assert "18 in 1 batch (Ctrl-C: collect them later)" in said
    assert readings(root) == []
    # Without --batch they would be paid for twice.
    with pytest.raises(Incomplete, match=r"18 of what 'seer' is to be asked is in batches"):
        read(root)
    with Study.open(root) as study:
        assert pipeline.status(study)["requests_in_batches"] == IMAGES
        planned = workload(Wanted(study))["sections"]
        (reader,) = [each for each in planned if each["stage"] == "extract"]
        assert "18 requests of this study are in batches: --batch collects them" in reader["notes"]
    assert "18 requests are in batches" in "\n".join(_lines(root))
    provider.batches.polls = 0
    read(root, batch=True)
    assert len(readings(root)) == IMAGES
    assert paid_once(provider)


def test_batches_of_other_settings_are_not_forgotten(
    make: Callable[..., Path], provider: FakeProvider
) -> None:
    root = make()
    with pytest.raises(_LidClosed):
        read(root, batch=True, progress=_Lid())
    asked = len(provider.billed())
    make(', revision = "2"')
    with Study.open(root, writing=True) as study:
        (summary,) = pipeline.run(study, ("extract",), Options())
    assert "18 requests of other settings or pictures are in batches" in summary.note
    make()
    read(root, batch=True)
    assert outstanding(root) == 0
    assert len(readings(root)) == 2 * IMAGES
    assert len(provider.billed()) > asked


def test_two_readers_of_one_service_do_not_take_each_others_batches(
    make: Callable[..., Path], provider: FakeProvider
) -> None:
    root = make()
    text = (root / "study.toml").read_text()
    start = text.index("[[readers]]")
    second = text[start : text.index("[run]")].replace('"seer"', '"other"')
    second = second.replace("gpt-5-mini", "gpt-6-luna")
    with pytest.raises(_LidClosed):
        read(root, batch=True, progress=_Lid())
    (root / "study.toml").write_text(text[:start] + second + text[text.index("[run]") :])
    with pytest.raises(_LidClosed):
        read(root, batch=True, progress=_Lid())
    assert outstanding(root) == 2 * IMAGES
    (root / "study.toml").write_text(text.replace("[run]", f"{second}[run]"))
    read(root, batch=True, repeat=1, sample=4)
    found = Counter((row.reader, row.status) for row in readings(root))
    assert found == {("seer", "ok"): IMAGES + 4, ("other", "ok"): IMAGES + 4}
    assert outstanding(root) == 0
    assert list((root / "batches").iterdir()) == []
    assert provider.batches.files == {}
    counted = Counter(entry.key for entry in provider.billed() if entry.batch)
    assert sum(counted.values()) == 2 * (IMAGES + 4)
    models = {row.reader: row.raw["model"] for row in readings(root)}
    assert models == {"seer": "gpt-5-mini-2025-08-07", "other": "gpt-6-luna-2026-10-14"}


class _LidClosed(KeyboardInterrupt):
    pass


class _Lid(Silent):
    def note(self, words: str) -> None:
        if "batch" in words:
            raise _LidClosed


def _lines(root: Path) -> list[str]:
    from contextbias.cli import status

    with Study.open(root) as study:
        return status._lines(pipeline.status(study))


def test_a_reader_without_batches_says_so(tmp_path: Path) -> None:
    text = TEXT.format(url="http://127.0.0.1:9/v1", more="")
    start, end = text.index("[[readers]]"), text.index("[run]")
    simulated = '[[readers]]\nname = "seer"\nbackend = "simulated"\n'
    told = Told()
    with Study.create(tmp_path / "s", text[:start] + simulated + text[end:]) as study:
        pipeline.run(
            study, ("bench", "generate", "extract"), Options(limit=1, batch=True, progress=told)
        )
        assert len(study.readings()) == 1
    assert told.words == ["seer has no Batch API: it reads one by one"]


def test_a_budget_holds_over_all_runs(make: Callable[..., Path], provider: FakeProvider) -> None:
    root = make()
    read(root, limit=3)
    each = spent(root) / 3
    make(f", budget = {8.5 * each:.6f}")
    for _ in range(2):
        with pytest.raises(Incomplete, match="has no room for another request"):
            read(root)
    stored = len(readings(root))
    assert 3 < stored < IMAGES
    assert spent(root) <= 8.5 * each
    make(", budget = 100")
    read(root, batch=True)
    assert len(readings(root)) == IMAGES
    assert paid_once(provider)
    with Study.open(root) as study:
        usage, batch_usage = sum_usage(study.usage("readings", "seer"))
    assert usage.output + batch_usage.output == provider.total("output")
    assert batch_usage.output == sum(
        entry.usage["output"] for entry in provider.billed() if entry.usage and entry.batch
    )


def spent(root: Path) -> float:
    with Study.open(root) as study:
        usage, batch_usage = sum_usage(study.usage("readings", "seer"))
    assert batch_usage == Usage()
    assert PRICE is not None
    return PRICE.of(usage)


def test_a_picture_that_is_replaced_while_a_batch_is_out_is_asked_about_anew(
    tmp_path: Path,
) -> None:
    """The answer that comes back is about the picture that was sent, not about its successor."""
    root, pictures = tmp_path / "s", tmp_path / "pictures/nurse"
    pictures.mkdir(parents=True)
    for number in range(3):
        Image.linear_gradient("L").rotate(90 * number).save(pictures / f"{number}.png")
    folder = f'''[[generators]]
name = "g"
backend = "folder"
options = {{ source = "{tmp_path}/pictures", pattern = "{{role}}/{{seed}}.png" }}
'''
    with FakeProvider().running() as provider:
        text = TEXT.format(url=provider.base_url, more=", self_test = false, repair = false")
        start, end = text.index("[[generators]]"), text.index("[[readers]]")
        Study.create(root, text[:start] + folder + text[end:]).close()
        options = Options(batch=True, progress=_Lid())
        with Study.open(root, writing=True) as study, pytest.raises(_LidClosed):
            pipeline.run(study, ("bench", "generate", "extract"), options)
        Image.radial_gradient("L").save(pictures / "1.png")
        with Study.open(root, writing=True) as study:
            pipeline.run(study, ("generate", "extract"), Options(batch=True))
        asked = Counter(entry.key for entry in provider.billed())
        assert list(asked.values()) == [1] * 4
        assert len(readings(root)) == 3
    assert outstanding(root) == 1  # the old picture's answer: paid for, and nobody's
