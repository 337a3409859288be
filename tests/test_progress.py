from __future__ import annotations

import io
import sys

import pytest

from contextbias import progress
from contextbias.progress import Lines, Live, Silent, for_terminal, shown


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time that progress sees: change its only element."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_a_line_now_and_then_and_one_at_the_end(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    lines = Lines()
    with shown(lines, "generate", 1000, "images"):
        for _ in range(5):
            clock[0] += 4.0
            lines.advance(100, 1)
    out, err = capsys.readouterr()
    assert out == ""
    # Ten seconds have passed after the third batch; the last line comes at the end.
    assert err.splitlines() == [
        "generate: 300 of 1,000 images, 3 failed, 25.0 a second",
        "generate: 500 of 1,000 images, 5 failed, 25.0 a second",
    ]


def test_stages_are_counted_on_their_own(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    lines = Lines()
    for stage in ("generate", "extract"):
        with shown(lines, stage, 10, "items"):
            clock[0] += 5.0
            lines.advance(10, 0)
    assert capsys.readouterr().err.splitlines() == [
        "generate: 10 of 10 items, 2.0 a second",
        "extract: 10 of 10 items, 2.0 a second",
    ]


def test_the_line_ends_even_after_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError), shown(Lines(), "generate", 1, "images"):
        raise ValueError
    assert "generate: 0 of 1 images" in capsys.readouterr().err


def test_a_terminal_has_a_live_bar_on_stderr(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    live = for_terminal()
    assert isinstance(live, Live)
    with shown(live, "generate", 10, "images"):
        live.advance(10, 2)
        live.note("16 in flight, 0.42 USD spent")
        live.say("[brackets] are no markup")
    assert "10/10" in stream.getvalue()
    assert "16 in flight, 0.42 USD spent" in stream.getvalue()
    assert "2 failed" in stream.getvalue()
    assert "[brackets] are no markup" in stream.getvalue()
    assert capsys.readouterr().out == ""


def test_elsewhere_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert isinstance(for_terminal(), Lines)


def test_silence(capsys: pytest.CaptureFixture[str]) -> None:
    with shown(Silent(), "generate", 1, "images") as silent:
        silent.advance(1, 0)
        silent.say("nothing")
    assert capsys.readouterr() == ("", "")


def test_words_beside_the_counts(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines()
    with shown(lines, "extract", 100, "readings"):
        clock[0] += 11.0
        lines.note("16 in flight, 0.42 USD spent, 1.90 projected")
        lines.advance(40, 1)
        clock[0] += 9.0
        lines.note("0 in flight, 0.90 USD spent")
    with shown(lines, "measure", 1, "sections"):
        pass
    assert capsys.readouterr().err.splitlines() == [
        "extract: 0 of 100 readings, 0.0 a second, 16 in flight, 0.42 USD spent, 1.90 projected",
        "extract: 40 of 100 readings, 1 failed, 2.0 a second, 0 in flight, 0.90 USD spent",
        "measure: 0 of 1 sections, 0.0 a second",
    ]
