"""`contextbias annotate` as somebody calls it: output, refusals, a server that is killed."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import socket
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.annotate.made import answering, item_data, rewrite, served, tokens

from contextbias.cli.main import main
from contextbias.people import Annotations
from contextbias.pipeline import Options, run
from contextbias.store import STORE_FILE, Study


def call(capsys: pytest.CaptureFixture[str], *args: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        main(["annotate", *map(str, args)])
    out, err = capsys.readouterr()
    return int(end.value.code or 0), out, err


def test_invitations_are_a_table_of_links(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(
        capsys, "invite", folder, "--names", "ann, ben", "--public-url", "https://x.org/"
    )
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["annotator"] for row in rows] == ["ann", "ben"]
    assert rows[0]["link"].startswith("https://x.org/a/")
    assert "annotate serve" in err


def test_a_removal_that_a_reader_holds_up_says_so(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contextbias.database._READERS_TAKE", 1)
    tokens(folder, 1)
    reader = sqlite3.connect(folder / STORE_FILE)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM annotators").fetchone()
    code, _, err = call(capsys, "remove", folder, "a1", "--yes")
    reader.close()
    assert code == 0
    assert f"Another program is reading {folder / STORE_FILE}" in err


def test_a_whole_study_of_simulated_people(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = call(capsys, "simulate", folder, "--annotators", "2")
    assert code == 0
    assert "simulated-2:" in out
    _, out, _ = call(capsys, "progress", folder)
    assert "8 items for 2 annotators each; answered whole: 8 by 2" in out
    _, out, _ = call(capsys, "progress", folder, "--json")
    assert {p["annotator"] for p in json.loads(out)["annotators"]} == {"simulated-1", "simulated-2"}
    _, out, _ = call(capsys, "export", folder)
    rows = list(csv.DictReader(io.StringIO(out)))
    assert {row["kind"] for row in rows} == {"set", "image"}
    file = folder / "tasks.json"
    call(
        capsys, "export", folder, "--to", "label-studio", "--out", file, "--pictures", folder / "p"
    )
    assert len(json.loads(file.read_text())) == 12
    assert list((folder / "p").glob("*.webp"))
    _, out, _ = call(capsys, "export", folder, "--to", "label-studio", "--interface", "set")
    assert out.startswith("<View>")
    code, _, err = call(capsys, "import", folder, file)
    assert code == 2
    assert "own pages" in err
    code, _, err = call(capsys, "remove", folder, "simulated-1", "--yes")
    assert code == 0
    assert "Deleted" in err
    code, _, err = call(capsys, "remove", folder, "simulated-1", "--yes")
    assert code == 2
    assert "no annotator" in err


def test_who_gets_nothing_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, _, err = call(capsys, "invite", folder, "--annotators", "2")
    assert "no items are left" not in err
    _, _, err = call(capsys, "invite", folder, "--names", "a-name-of-many-letters")
    assert "a-name-of-many-letters: no items are left for this annotator" in err
    assert "its 2 annotators" in err
    _, out, err = call(capsys, "simulate", folder, "--annotators", "1")
    assert "simulated-1: 0 new answers" in out
    assert "simulated-1: no items are left" in err
    assert "simulated ones" not in err
    _, out, _ = call(capsys, "progress", folder)
    assert "a-name-of-many-letters  0 of 0" in out


def test_a_trial_in_the_study_itself_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call(capsys, "simulate", folder, "--annotators", "2")
    _, _, err = call(capsys, "invite", folder, "--names", "ann")
    assert "ann: no items are left" in err
    assert "2 simulated ones count" in err


def test_progress_names_images_that_came_later(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(sqlite3.connect(folder / STORE_FILE)) as store, store:  # times are to the second
        store.execute("UPDATE images SET created_at = '2026-01-01T00:00:00+00:00'")
    call(capsys, "invite", folder)
    _, out, _ = call(capsys, "progress", folder)
    assert out.startswith("8 items for 2 annotators each; answered whole: 8 by nobody\n")
    assert "came after" not in out
    rewrite(folder, 'roles = ["nurse"]', 'roles = ["nurse", "welder"]')
    with Study.open(folder, writing=True) as study:
        run(study, ("bench", "generate"), Options())
        images = study.images()
        number = sum(image.role == "welder" for image in images)
    with closing(sqlite3.connect(folder / STORE_FILE)) as store, store:
        store.execute("UPDATE images SET created_at = '2999-01-01T00:00:00' WHERE role = 'welder'")
    _, out, _ = call(capsys, "progress", folder)
    assert f"\n{number} images came after the sample was drawn, about which nobody is" in out
    _, out, _ = call(capsys, "progress", folder, "--json")
    assert json.loads(out)["images_after_sample"] == number


def test_links_by_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = tokens(folder, 1)["a1"]
    _, out, _ = call(capsys, "link", folder, "a1")
    with answering(folder) as study:
        assert study.sign_in(old) is None
        assert study.sign_in(out.strip()) is not None
    call(capsys, "revoke", folder, "a1")
    assert "link revoked" in call(capsys, "progress", folder)[1]
    with answering(folder) as study:
        assert study.sign_in(out.strip()) is None


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--host", "0.0.0.0"], "can be reached from other machines. Listen on 127.0.0.1, or add"),
        (["--host", "::"], "other machines"),
        (["--public-url", "study.example.org"], "write scheme and host"),
        (["--public-url", "https://x.org/below"], "write scheme and host"),
        (["--host", "127.0.0.1", "--port", "TAKEN"], "cannot listen on 127.0.0.1"),
    ],
)
def test_where_it_does_not_listen(
    folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], says: str
) -> None:
    tokens(folder)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        words = [port if word == "TAKEN" else word for word in options]
        code, _, err = call(capsys, "serve", folder, *words)
    assert code == 2
    assert says.lower() in err.lower()


@pytest.mark.parametrize("command", ["serve", "progress", "export"])
def test_nobody_was_invited_yet(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    code, _, err = call(capsys, command, folder)
    assert code == 2
    assert "annotate invite" in err


def sent(folder: Path, **changes: Any) -> dict[str, Any]:
    with Annotations.open(folder) as book:
        plan = book.plan()
    assert plan is not None
    values = {
        "study": plan.plan, "annotator": "a1", "position": 1, "dimension": "mood",
        "labels": ["calm"], "reason": None, "count": 3, "seconds": 2.5, "based_on": 0, "key": "k1",
    }  # fmt: skip
    return values | changes


@contextmanager
def client_of(url: str, token: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url, headers={"origin": url}) as client:
        assert client.get(f"/a/{token}").status_code == 303
        assert client.post("/consent", data={"agree": "yes"}).status_code == 303
        yield client


def test_a_server_that_is_killed_has_lost_nothing(folder: Path) -> None:
    token = tokens(folder, 1)["a1"]
    with served(folder) as (process, url, _), client_of(url, token) as client:
        for number in range(5):
            answer = sent(folder, key=f"k{number}", based_on=number, seconds=number + 1)
            assert client.post("/answers", json=answer).status_code == 200
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    with served(folder) as (_, url, admin), client_of(url, token) as client:
        assert item_data(client.get("/item/1").text)["answers"]["mood"]["version"] == 5
        # One writer at a time, and the administrator's link is a new one.
        with httpx.Client(base_url=url) as other:
            assert other.get(httpx.URL(admin).path).status_code == 303
    with answering(folder) as study:
        assert [row.version for row in study.book.audit_trail()] == [1, 2, 3, 4, 5]


def test_while_it_serves_others_read_and_do_not_write(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tokens(folder, 1)
    with served(folder) as (process, _, _):
        code, _, err = call(capsys, "invite", folder, "--annotators", 1)
        assert code == 2
        assert "administrator's page" in err
        assert call(capsys, "progress", folder)[0] == 0
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=20)
    assert "All answers are in the study" in said
    assert process.returncode == 0
    assert call(capsys, "invite", folder, "--annotators", 1)[0] == 0


def test_behind_another_server(folder: Path) -> None:
    token = tokens(folder, 1)["a1"]
    with served(folder, "--public-url", "https://study.example.org") as (process, url, admin):
        assert url == "https://study.example.org"
        assert admin.startswith("https://study.example.org/admin/")
        ports = Path(f"/proc/{process.pid}/net/tcp").read_text()
        listening = [line.split()[1] for line in ports.splitlines() if " 0A " in line]
        # Only the loopback address is listened on by it.
        assert any(place.startswith("0100007F") for place in listening)
    assert token


def test_other_machines_are_let_in_when_asked(folder: Path) -> None:
    token = tokens(folder, 1)["a1"]
    with served(folder, "--host", "0.0.0.0", "--allow-remote") as (_, url, _):
        local = url.replace("0.0.0.0", "127.0.0.1")
        with client_of(local, token) as client:
            assert client.get("/").status_code == 200
        assert httpx.get(f"{local}/health", headers={"host": "any.example"}).text == "ok"


def test_the_page_needs_its_extra_and_nothing_else_does(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert call(capsys, "simulate", folder, "--annotators", 1)[0] == 0
    code, _, err = call(capsys, "serve", folder)
    assert code == 2
    assert err.endswith(" install 'contextbias[annotate]'\n")
