"""The images API: what is sent, what its answers become, pace and budget; on a loopback server."""

from __future__ import annotations

import base64
import http.client
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from PIL import Image
from tests.conftest import CHECKOUT
from tests.images_server import ImagesServer

from contextbias.errors import ConfigError, Incomplete, MissingPart
from contextbias.generate.openai_images import OpenAIImages
from contextbias.generate.openai_images.answers import Asked, as_block, download
from contextbias.generate.openai_images.models import check_size, image_model
from contextbias.generate.protocol import Job, Made
from contextbias.ids import content_hash
from contextbias.providers.outcomes import Reply, Usage
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


def read(**answer: Any) -> Reply:
    return Asked(jobs("a")[0]).read(json.dumps({"created": 1, **answer}).encode())


STOPPED: list[dict[str, Any]] = [
    {"data": [{"finish_reason": "CONTENT_FILTERED", "b64_json": None}]},
    {"data": [{"b64_json": "", "has_nsfw_concepts": [True]}]},
    {"data": [{"url": "", "respect_moderation": False}]},
    {"data": [{"raiFilteredReason": "Unable to show generated images."}]},
    {"data": [{"content_filter_results": {"violence": {"filtered": True}}}]},
    {"data": [], "moderation": {"flagged": True}},
    {"data": [{"b64_json": None}], "has_nsfw_concepts": [True]},
    {"data": [{"error": "The model refused."}]},
    {"error": {"message": "stopped", "code": "moderation_blocked"}},
    {"error": {"message": "rejected by our safety system"}},
]
WITHOUT: list[dict[str, Any]] = [
    {"data": [{"revised_prompt": "a refuse collector before a safety system"}]},
    {"data": [{"content_filter_results": {"violence": {"filtered": False}}, "url": None}]},
    {"data": [{"respect_moderation": True, "nsfw": False}]},
    {"data": None},
    {"data": [None, 3]},
    {"error": "overloaded"},
]


@pytest.mark.parametrize("answer", STOPPED, ids=str)
def test_a_200_may_say_that_a_filter_stopped_it(answer: dict[str, Any]) -> None:
    reply = as_block(read(**answer))
    assert reply.status == "blocked", reply
    assert reply.usage.images == 0


@pytest.mark.parametrize("answer", WITHOUT, ids=str)
def test_a_200_without_a_picture_is_no_block_for_words_of_the_prompt(
    answer: dict[str, Any],
) -> None:
    reply = as_block(read(**answer))
    assert reply.status == "error", reply
    assert "the answer has no picture" in str(reply.reason)


def test_an_error_in_the_clothes_of_a_200_is_what_its_code_says() -> None:
    slower = read(error={"message": "wait", "code": 429})
    ended = read(error={"message": "no", "code": "insufficient_quota"})
    assert slower.failure is not None
    assert ended.failure is not None
    assert (slower.failure.kind, ended.failure.kind) == ("slower", "fatal")


def test_the_first_picture_counts_and_each_is_charged() -> None:
    encoded = base64.b64encode(b"a picture").decode()
    found = [None, {"b64_json": None}, {"b64_json": encoded}, {"url": "http://127.0.0.1/b.png"}]
    asked = Asked(jobs("a")[0])
    reply = asked.read(json.dumps({"data": found, "model": "m-2026-01-01"}).encode())
    assert (reply.status, reply.model, reply.usage.images) == ("ok", "m-2026-01-01", 2)
    assert (asked.data, asked.url) == (b"a picture", None)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"input_tokens": 7, "output_tokens": 9.0}, {"input": 7, "output": 9, "images": 1}),
        ({"input_tokens": True, "output_tokens": -3}, {"images": 1, "unknown": 1}),
        ({"input_tokens": 4}, {"input": 4, "images": 1, "unknown": 1}),
        ("many", {"images": 1, "unknown": 1}),
        (
            {"input_tokens": 4, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 6}},
            {"input": 4, "cached": 4, "output": 5, "images": 1},
        ),
    ],
)
def test_a_usage_that_makes_no_sense_is_not_known(usage: Any, expected: dict[str, int]) -> None:
    asked = Asked(jobs("a")[0], has_token_price=True)
    body = {"data": [{"url": "http://127.0.0.1/a.png"}], "usage": usage}
    assert asked.read(json.dumps(body).encode()).usage.as_json() == expected


@pytest.mark.parametrize("shape", [lambda text: text.rstrip("="), lambda text: f" {text}\n"])
def test_base64_of_either_alphabet_with_padding_or_without(shape: Callable[[str], str]) -> None:
    data = b"\xfb\xff\xfe\x00" * 5
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        asked = Asked(jobs("a")[0])
        body = {"data": [{"b64_json": shape(encode(data).decode())}]}
        assert asked.read(json.dumps(body).encode()).status == "ok"
        assert asked.data == data


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

    def opened(_: str, timeout: float) -> Dripping:
        asked.append(timeout)
        return Dripping()

    monkeypatch.setattr("contextbias.generate.openai_images.answers._open", opened)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with pytest.raises(OSError, match="fetching the picture: it took too long"):
        download("http://127.0.0.1/a.png", timeout=30, tries=3)
    assert asked == [30]
    assert 30 <= now[0] < 35


def test_an_address_is_taken_as_it_comes_and_without_a_proxy(
    server: ImagesServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")  # where nobody listens
    address = f"http://127.0.0.1:{server.port}/pictures/a b — ü%20c.png?sig=a%2Bb"
    data = download(address, timeout=30, tries=2, pause=0.01)
    assert Image.open(io.BytesIO(data)).size == (32, 32)


@pytest.mark.parametrize(
    "fault", [http.client.IncompleteRead(b""), http.client.BadStatusLine("no\r\n"), OSError()]
)
def test_whatever_happens_to_a_download_is_told_in_words(
    fault: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anything else would end the item without its usage, and the budget would miss it."""

    def fails(*_: object) -> None:
        raise fault

    monkeypatch.setattr("contextbias.generate.openai_images.answers._open", fails)
    with pytest.raises(OSError, match=r"fetching the picture: [^\r\n]+$"):
        download("http://127.0.0.1/a.png", timeout=1, tries=1)


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


def test_a_budget_is_not_spent_unseen_where_no_charge_is_told(
    server: ImagesServer, tmp_path: Path
) -> None:
    server.edit = lambda answer: answer.pop("usage")
    told = "does not say what a picture was charged. Give price_image"
    with pytest.raises(ConfigError, match=told):
        list(generator(server, budget=5.0).generate(jobs(*"abcdef")))
    assert len(server.billed) == 1
    backend = generator(server, budget=5.0)
    used = Usage(images=1, unknown=1)
    backend.begin(Session(folder=tmp_path, name="g", usage=used, items=5))
    with pytest.raises(ConfigError, match=told):
        list(backend.generate(jobs("a")))
    assert len(server.billed) == 1
    with pytest.raises(Incomplete, match="2 answers came without usage"):
        list(generator(server, budget=2.5, price_image=1.0).generate(jobs(*"abcdef")))
    assert len(server.billed) == 3


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
    assert "size" not in OpenAIImages({"model": "m", "size": ""}).settings()["request"]
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


def test_a_plan_says_what_the_budget_is_enough_for(tmp_path: Path) -> None:
    backend = OpenAIImages({"model": "gpt-image-1-mini", "quality": "low", "budget": 0.02})
    assert backend.plan(jobs(*"abcdef")).affordable(6) == 4  # at 0.005
    # Two pictures took 1,000 tokens of output each, at 8 USD a million.
    used = Usage(output=2000, images=2)
    backend.begin(Session(folder=tmp_path, name="g", usage=used, items=6))
    found = backend.plan(jobs(*"abcdef"))
    assert found.money == pytest.approx(6 * 0.008)
    assert found.spent == pytest.approx(0.016)
    assert found.affordable(6) == 0
    assert "price of 2 finished pictures" in found.basis


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
