"""``contextbias plan`` as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from contextbias.cli.main import main
from contextbias.cli.plan_text import plan_lines

QUICK = ["--role-count", "5"]


def _run(*args: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["plan", *args])
    return int(ended.value.code or 0)


def test_without_a_study(capfd: pytest.CaptureFixture[str]) -> None:
    assert _run(*QUICK) == 0
    out, err = capfd.readouterr()
    assert err == ""
    assert "820 images of the role in each condition" in " ".join(out.split())
    assert "172 images a prompt (516 in CF, 1,204 in CA-R, 1,376 in CA-U)" in " ".join(out.split())
    assert "Below 52 images a condition" in out
    assert "What is to be done" not in out
    assert "never count for more than 20" in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 100


def test_a_study_before_anything_is_paid(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["init", "study"])
    capfd.readouterr()
    kept = [Path("study/study.toml"), Path("study/study.sqlite")]
    before = [path.read_bytes() for path in kept]
    assert _run("study") == 0
    out, _ = capfd.readouterr()
    assert "generate" in out
    assert "tried on 4 of them" in out
    lines = out.splitlines()
    work, power = (
        lines.index(title) for title in ("What is to be done", "What the images can find")
    )
    assert work < next(k for k, line in enumerate(lines) if line.startswith("STAGE")) < power
    assert (
        work < next(k for k, line in enumerate(lines) if "`contextbias validate`" in line) < power
    )
    assert power < next(k for k, line in enumerate(lines) if line.startswith("PREVALENCE"))
    assert lines[power + 1] == "=" * len(lines[power])
    assert [path.read_bytes() for path in kept] == before


def test_json_is_all_of_it(capfd: pytest.CaptureFixture[str]) -> None:
    assert _run(*QUICK, "--json", "--target", "shift", "--range-pp", "20") == 0
    out, err = capfd.readouterr()
    assert err == ""
    found = json.loads(out)
    assert found["aims"]["target"] == "shift"
    assert found["design"]["roles"] == 5
    assert found["comparisons"]["answer"]["independent"]["images_per_prompt"] > 0


def test_a_shift_in_words(capfd: pytest.CaptureFixture[str]) -> None:
    assert _run(*QUICK, "--target", "shift", "--range-pp", "4") == 0
    out, _ = capfd.readouterr()
    assert "no number of images up to a million is enough: the verdict" in " ".join(out.split())
    assert _run(*QUICK, "--target", "shift", "--design-effect", "2", "--alpha", "0.01") == 0
    out, _ = capfd.readouterr()
    assert "shifts by 10 points" in " ".join(out.split())
    assert "With the design effect 2, as given, it takes" in " ".join(out.split())


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--power", "80"], "--power 80"),
        (["--power", "0.01"], "--power 0.01"),
        (["--alpha", "0"], "--alpha 0"),
        (["--margin-pp", "0"], "--margin-pp 0"),
        (["--prevalence", "101"], "--prevalence 101"),
        (["--prevalence", "nan"], "--prevalence nan"),
        (["--range-pp", "95"], "at most 90"),
        (["--shifted-share", "0"], "--shifted-share 0"),
        (["--icc", "1.5"], "--icc 1.5"),
        (["--design-effect", "0.5"], "--design-effect 0.5"),
        (["--role-sd", "0"], "--role-sd 0"),
        (["--icc", "0.1", "--design-effect", "2"], "give one of them"),
        (["nowhere"], "not a study"),
        (["--pilot", "nowhere"], "not a study"),
    ],
)
def test_bad_input_is_one_line(
    args: list[str], said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert _run(*args) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert said.lower() in err.lower()
    assert len(err.splitlines()) == 1


def test_what_a_paid_backend_says() -> None:
    section = {
        "stage": "extract", "name": "vlm", "backend": "x", "wanted": 2000, "done": 0,
        "pending": 2000, "workers": 8, "wall_seconds": 90_000.0, "seconds": 720_000.0,
        "accelerator_seconds": 7300.0, "size": 3 * 10**9, "pixels": None, "calls": 2000,
        "tokens_in": 5_000_000, "tokens_out": 10_000, "money": 12.5, "currency": "USD",
        "basis": "from 10 finished readings", "notes": ("a limit of 50,000 a day",),
        "budget_words": "budget 2 USD: enough for about 320 of 2,000",
    }  # fmt: skip
    plan = {
        "study": {"name": "s", "folder": "f"},
        "aims": {"power": 0.8},
        "design": {"roles": 3},
        "work": {"sections": [section], "disk": {"expected": 3 * 10**9, "free": 10**9}},
        "comparisons": {},
        "bias_intensity": [],
    }
    text = " ".join(" ".join(plan_lines(plan)).split())
    for words in (
        "25 h", "3.0 GB", "8 workers", "2 h of GPU time", "2,000 calls", "5,000,000 tokens sent",
        "12.50 USD; budget 2 USD: enough for about 320 of 2,000", "a limit of 50,000 a day",
        "The disk is too small", "fewer than two",
    ):  # fmt: skip
        assert words in text


def test_a_share_in_the_place_of_a_percentage_is_said(capfd: pytest.CaptureFixture[str]) -> None:
    assert _run(*QUICK, "--prevalence", "0.9") == 0
    assert "0.9% of the images; for 90%, give 90" in capfd.readouterr().err
    assert _run(*QUICK, "--prevalence", "90") == 0
    assert capfd.readouterr().err == ""
