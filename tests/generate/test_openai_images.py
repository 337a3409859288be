"""The images API: what is sent, what its answers become, pace and budget; on a loopback server."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from PIL import Image
from tests.conftest import CHECKOUT
from tests.images_server import ImagesServer

from contextbias.errors import ConfigError, Incomplete, MissingPart
from contextbias.generate.openai_images import OpenAIImages
from contextbias.generate.openai_images.answers import download
from contextbias.generate.openai_images.models import check_size, image_model
from contextbias.generate.protocol import Job, Made
from contextbias.ids import content_hash
from contextbias.providers.session import Session

pytest.importorskip("openai")

BASE = {"model": "gpt-image-test", "retries": 2, "price_input": 5.0, "price_output": 30.0}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ImagesServer]:
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    with ImagesServer(side=32).running() as running:
        yield running


def generator(server: ImagesServer, **options: Any) -> OpenAIImages:
    backend = OpenAIImages({**BASE, "base_url": server.base_url, **options})
    backend._pacing = replace(backend._pacing, back_off=0.01)  # nobody waits for a test
    return backend


def jobs(*prompts: str) -> list[Job]:
    return [
        Job(
            image_id=f"i{number}", role="nurse", condition="CF", text=prompt, location=None,
            activity=None, prompt_id="p", seed=number,
        )
        for number, prompt in enumerate(prompts)
    ]  # fmt: skip


def made(server: ImagesServer, *prompts: str, **options: Any) -> list[Made]:
    found = {m.image_id: m for m in generator(server, **options).generate(jobs(*prompts))}
    assert set(found) == {f"i{number}" for number in range(len(prompts))}
    return [found[f"i{number}"] for number in range(len(prompts))]


def until_it_ends(backend: OpenAIImages, *prompts: str) -> tuple[list[str], Incomplete]:
    """Ids of what came before the generator stopped, and why it did."""
    images, found = backend.generate(jobs(*prompts)), []
    while True:
        try:
            found.append(next(images).image_id)
        except Incomplete as end:
            return found, end


# ---- what is sent


def test_one_request_a_picture_with_nothing_but_the_prompt_and_the_options(
    server: ImagesServer,
) -> None:
    found = made(
        server, "a photo of a nurse", "a photo of a baker", quality="low", moderation="low"
    )
    assert {each.status for each in found} == {"ok"}
    assert all(Image.open(io.BytesIO(each.data or b"")).size == (32, 32) for each in found)
    assert sorted(server.asked, key=lambda body: body["prompt"]) == [
        {"model": "gpt-image-test", "n": 1, "size": "1024x1024", "quality": "low",
         "moderation": "low", "prompt": prompt}
        for prompt in ("a photo of a baker", "a photo of a nurse")
    ]  # fmt: skip


def test_what_came_back_is_kept_with_the_image(server: ImagesServer) -> None:
    (one,) = made(server, "a nurse", quality="medium")
    assert one.provenance["revised_prompt"] == "a nurse, in detail"
    assert one.provenance["usage"] == {"input": 20, "output": 1056, "images": 1}
    assert one.provenance["request_id"] == "req_1"
    assert one.provenance["answered"]["quality"] == "medium"
    assert one.provenance["seed_sent"] is False
    assert one.seconds is not None


def test_a_seed_is_sent_to_servers_that_know_one(server: ImagesServer) -> None:
    with pytest.raises(ConfigError, match="Unknown parameter: 'seed'"):
        made(server, "a nurse", send_seed=True)
    server.extra = ("seed", "steps")
    made(server, "a nurse", "a baker", send_seed=True, extra={"steps": 4})
    assert sorted(body["seed"] for body in server.asked) == [0, 1]
    assert {body["steps"] for body in server.asked} == {4}


# ---- what answers become


@pytest.mark.parametrize(
    ("prompt", "status", "reason"),
    [
        ("moderated", "blocked", "rejected by the safety system"),
        ("policy", "blocked", "violates our content policy"),
        ("refused", "blocked", "refused by content_filter"),
        ("no picture", "error", "the answer has no picture"),
        ("no JSON", "error", "the answer is no JSON"),
        ("bad base64", "error", "no base64"),
        ("list answer", "error", "the answer has no picture: [1, 2]"),
        ("object data", "error", "the answer has no picture"),
        ("always 500", "error", "500"),
        ("always cut", "error", "cut"),
        ("broken url", "error", "fetching the picture: HTTP 404"),
    ],
)
def test_no_picture_is_a_row_with_its_reason(
    server: ImagesServer, prompt: str, status: str, reason: str
) -> None:
    bad, good = made(server, prompt, "a nurse")
    assert good.status == "ok"
    assert bad.status == status
    assert reason in str(bad.reason)
    assert bad.data is None


@pytest.mark.parametrize("prompt", ["429 once", "500 once", "cut once"])
def test_what_passes_is_sent_again(server: ImagesServer, prompt: str) -> None:
    (one,) = made(server, prompt)
    assert one.status == "ok"
    assert one.provenance["sendings"] == 2
    # A connection that was cut may have been charged; nothing else is paid twice.
    assert len(server.billed) == (2 if "cut" in prompt else 1)


def test_a_slow_answer_is_given_up_and_asked_for_again(server: ImagesServer) -> None:
    (one,) = made(server, "slow once", timeout=0.5)
    assert one.status == "ok"
    assert one.provenance["tries"] == ["timeout"]


def test_a_picture_at_an_address_is_fetched_without_the_key(server: ImagesServer) -> None:
    one, two = made(server, "url one", "url two")
    assert (one.status, two.status) == ("ok", "ok")
    assert len(server.fetched) == 3  # the first fetch is answered with 503
    assert not any("authorization" in headers for headers in server.fetched)
    assert len(server.billed) == 2


@pytest.mark.parametrize("prompt", ["wrapped base64", "data: base64", "data: url"])
def test_base64_in_every_form_is_taken(server: ImagesServer, prompt: str) -> None:
    (one,) = made(server, prompt)
    assert (one.status, one.reason) == ("ok", None)
    assert Image.open(io.BytesIO(one.data or b"")).size == (32, 32)
    assert len(server.billed) == 1
    assert server.fetched == []


def test_an_address_that_drips_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte at a time, none of which is late; the clock is turned on by each."""
    now = [0.0]
    asked: list[float] = []

    class Dripping:
        headers: ClassVar = {"content-length": "1000000"}

        def __enter__(self) -> Dripping:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def read1(self, _: int) -> bytes:
            now[0] += 1.0
            return b"x"

    def opened(_: object, timeout: float) -> Dripping:
        asked.append(timeout)
        return Dripping()

    monkeypatch.setattr("contextbias.generate.openai_images.answers.urlopen", opened)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with pytest.raises(OSError, match="fetching the picture: it took too long"):
        download("http://127.0.0.1/a.png", timeout=30, tries=3)
    assert asked == [30]
    assert 30 <= now[0] < 35


def test_another_size_than_was_asked_for_is_marked(server: ImagesServer) -> None:
    server.side = 1024
    one, two = made(server, "a nurse", "wrong size")
    assert "marks" not in one.provenance
    assert two.provenance["marks"] == ["size 512x1024 in the place of 1024x1024"]
    assert two.status == "ok"


@pytest.mark.parametrize("address", ["file:///etc/passwd", "ftp://a/b.png", "/etc/passwd", ""])
def test_only_web_addresses_are_fetched(address: str) -> None:
    with pytest.raises(OSError, match="no web address"):
        download(address, timeout=1, tries=1)


# ---- what ends a run


def test_a_wrong_parameter_ends_the_run_before_it_costs(
    server: ImagesServer,
) -> None:
    with pytest.raises(ConfigError, match=r"refuses a parameter: .*Invalid value: '70x70'"):
        made(server, *"abcdefghijklmnopqrst", model="gpt-image-test", size="70x70", quality="low")
    assert server.billed == []
    with pytest.raises(ConfigError, match="Unknown parameter: 'stepz'"):
        made(server, "a", extra={"stepz": 3})


def test_a_wrong_key_or_model_ends_the_run(
    server: ImagesServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Incomplete, match="model 'gpt-image-9' does not exist"):
        made(server, "a", model="gpt-image-9")
    monkeypatch.setenv("OPENAI_API_KEY", "wrong-key")
    with pytest.raises(MissingPart, match="Incorrect API key") as caught:
        made(server, "a")
    assert "wrong-key" not in str(caught.value)


def test_without_a_key_nothing_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(MissingPart, match="variable OPENAI_API_KEY is not set"):
        OpenAIImages({"model": "gpt-image-1-mini"}).check(jobs("a"))


def test_a_quota_pauses_and_what_came_is_kept(server: ImagesServer) -> None:
    backend = generator(server, concurrency=1)
    found, end = until_it_ends(backend, "a", "b", "quota", "c")
    assert found == ["i0", "i1"]
    assert "insufficient_quota" in str(end)


def test_the_budget_pauses_over_all_runs(server: ImagesServer, tmp_path: Path) -> None:
    # One picture: 20 tokens at 5 and 1,056 at 30 a million: 0.03178 USD.
    def run(spent: Any, *prompts: str) -> list[str]:
        backend = generator(server, quality="medium", budget=0.1, concurrency=1)
        backend.begin(Session(folder=tmp_path, name="g", usage=spent, items=len(prompts)))
        found, end = until_it_ends(backend, *prompts)
        assert "the budget of 0.1 USD" in str(end)
        return found

    from contextbias.providers.outcomes import Usage

    assert len(run(Usage(), *"abcdefgh")) == 3
    assert run(Usage(input=60, output=3168, images=3), *"abc") == []
    assert len(run(Usage(input=20, output=1056, images=1), *"abcd")) == 2
    assert len(server.billed) == 5


def test_a_price_of_a_picture_is_enough_for_a_budget(server: ImagesServer, tmp_path: Path) -> None:
    options = {"model": "gpt-image-test", "base_url": server.base_url, "concurrency": 1}
    with pytest.raises(ConfigError, match="price of 'gpt-image-test' is not known"):
        OpenAIImages({**options, "budget": 1.0})
    backend = OpenAIImages({**options, "budget": 1.0, "price_image": 0.4})
    with pytest.raises(Incomplete, match="budget of 1 USD"):
        list(backend.generate(jobs(*"abcd")))
    assert len(server.billed) == 2


# ---- options and identity


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "model"),
        ({"model": "m", "qualty": "low"}, "did you mean 'quality'"),
        ({"model": "m", "size": "big"}, "size = 'big' is no size"),
        ({"model": "gpt-image-1-mini", "size": "512x512"}, "Take 1024x1024"),
        ({"model": "gpt-image-1-mini", "quality": "hgh"}, "Did you mean 'high'"),
        ({"model": "gpt-image-1-mini", "quality": "xhigh"}, "quality = 'xhigh'"),
        ({"model": "gpt-image-2", "size": "1000x1000"}, "multiples of 16"),
        ({"model": "gpt-image-2", "size": "3840x1024"}, "longer than 3:1"),
        ({"model": "gpt-image-2", "size": "3840x3840"}, "more than the 8,294,400 pixels"),
        ({"model": "m", "background": "transparent", "output_format": "jpeg"}, "no transparency"),
        ({"model": "m", "output_compression": 50}, "no effect without"),
        ({"model": "m", "extra": {"quality": "low"}}, "Set the option of that name"),
        ({"model": "m", "extra": {"prompt": "x"}}, "which is not free"),
        ({"model": "m", "base_url": "example.org"}, "not an address"),
    ],
)
def test_a_wrong_option_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        OpenAIImages(options)


def test_any_size_of_a_new_model_is_taken() -> None:
    for size in ("1024x1024", "1536x864", "3840x2160", "auto"):
        check_size("gpt-image-2.5-flare", image_model("gpt-image-2.5-flare"), size)
    OpenAIImages({"model": "gpt-image-2.5-sunburst", "quality": "max"})


def test_identity_is_what_decides_the_pixels() -> None:
    def identity(**options: Any) -> str:
        return content_hash(OpenAIImages({**BASE, **options}).settings())

    same = [{}, {"base_url": "http://localhost:9/v1"}, {"concurrency": 3}, {"price_image": 1.0},
            {"budget": 3.0}, {"response_format": "url"}, {"timeout": 9}]  # fmt: skip
    assert len({identity(**options) for options in same}) == 1
    other = [{}, {"model": "m"}, {"size": "auto"}, {"quality": "low"}, {"moderation": "low"},
             {"revision": "2"}, {"send_seed": True}, {"extra": {"steps": 2}}]  # fmt: skip
    assert len({identity(**options) for options in other}) == len(other)


def test_a_plan_says_calls_money_and_what_to_know(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    forecast = OpenAIImages({"model": "gpt-image-1-mini", "quality": "low"}).plan(jobs(*"abcd"))
    assert (forecast.calls, forecast.pixels) == (4, (1024, 1024))
    assert forecast.money == pytest.approx(4 * 0.005)
    notes = " ".join(forecast.notes)
    assert "no seed is sent" in notes
    assert "key OPENAI_API_KEY: not set" in notes
    open_ended = OpenAIImages({"model": "gpt-image-2"}).plan(jobs("a"))
    assert open_ended.money is None
    assert any("quality is left to the service" in note for note in open_ended.notes)
    old = OpenAIImages({"model": "dall-e-3"}).plan(jobs("a"))
    assert any("shut down on 2026-05-12" in note for note in old.notes)


def test_prompts_that_the_service_would_refuse_stop_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with pytest.raises(ConfigError, match="a prompt has 32,001 characters"):
        OpenAIImages({"model": "gpt-image-2"}).check(jobs("a", "b" * 32_001))


# ---- through the command line

STUDY = """
[study]
images_per_prompt = 1
seeds = "independent"
[bench]
bank = "prompts.csv"
[[generators]]
name = "api"
backend = "openai_images"
[generators.options]
model = "gpt-image-test"
base_url = "{url}"
quality = "low"
price_image = 0.01
retries = 1
concurrency = 2
"""


def cli(*args: str, wait: bool = True) -> Any:
    command = [sys.executable, "-c", "from contextbias.cli.main import main; main()", *args]
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT / "src"), "OPENAI_API_KEY": "test-key"}
    if not wait:
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env)
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


def study_of(folder: Path, url: str, prompts: list[str]) -> None:
    (folder / "study.toml").write_text(STUDY.format(url=url))
    lines = ["role,condition,prompt"] + [f"nurse,CF,{prompt}" for prompt in prompts]
    (folder / "prompts.csv").write_text("\n".join(lines) + "\n")


def test_a_study_through_the_command_line(tmp_path: Path, server: ImagesServer) -> None:
    prompts = ["a nurse", "a nurse moderated", "a nurse not an image", "a nurse black", "a url"]
    study_of(tmp_path, server.base_url, prompts)
    done = cli("generate", str(tmp_path))
    assert done.returncode == 3, done.stderr
    assert "blocked: api/CF/nurse/" in done.stderr
    assert "safety system" in done.stderr
    assert "it begins '<html>sorry</html>'" in done.stderr
    assert ": black" in done.stderr
    state = json.loads(cli("status", str(tmp_path), "--json").stdout)
    assert state["images"] == {"wanted": 5, "blank": 1, "blocked": 1, "error": 1, "ok": 2}
    billed = len(server.billed)
    # Only what ended in an error is asked for again.
    cli("generate", str(tmp_path))
    assert len(server.billed) == billed + 1
    for path in tmp_path.rglob("images/**/*.png"):
        data = path.read_bytes()
        assert b"trainedAlgorithmicMedia" in data
        assert b"gpt-image-test" in data
        assert b"a nurse" not in data


def test_ctrl_c_keeps_what_was_paid_for(tmp_path: Path, server: ImagesServer) -> None:
    server.latency = 0.3
    study_of(tmp_path, server.base_url, [f"nurse {n}" for n in range(40)])
    run = cli("generate", str(tmp_path), wait=False)
    deadline = time.monotonic() + 60
    while len(server.billed) < 4 and time.monotonic() < deadline:
        time.sleep(0.02)
    run.send_signal(signal.SIGINT)
    _, said = run.communicate(timeout=60)
    assert run.returncode == 130, said
    kept = len(list(tmp_path.rglob("images/**/*.png")))
    assert kept == len(server.billed) < 40
    server.latency = 0.0
    again = cli("generate", str(tmp_path))
    assert again.returncode == 0, again.stderr
    assert len(server.billed) == 40
