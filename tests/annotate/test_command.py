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
from tests.annotate.made import answering, given, item_data, rewrite, served, tokens
from tests.released import put_study

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
    code, _, err = call(capsys, "import", folder, exported_tasks(folder, capsys))
    assert code == 2
    assert "own pages" in err
    code, _, err = call(capsys, "remove", folder, "simulated-1", "--yes")
    assert code == 0
    assert "Deleted" in err
    code, _, err = call(capsys, "remove", folder, "simulated-1", "--yes")
    assert code == 2
    assert "no annotator" in err


def exported_tasks(folder: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Export 12 items in each way for Label Studio; returns the file of the sets."""
    label_studio = ("export", folder, "--to", "label-studio")
    file = folder / "tasks.json"
    _, out, err = call(capsys, *label_studio, "--out", file, "--pictures", folder / "p")
    assert out == ""
    assert f"pictures in {folder / 'p'}\n" in err
    assert not file.exists()
    written = {kind: folder / f"tasks-{kind}.json" for kind in ("set", "image")}
    said = err
    for kind, path in written.items():
        tasks = json.loads(path.read_text())
        assert {task["data"]["kind"] for task in tasks} == {kind}
        assert f"{len(tasks)} tasks for --interface {kind} in {path}\n" in said
        names = {Path(name) for task in tasks for name in task["data"]["images"]}
        assert all((folder / "p" / name).exists() for name in names)
        _, out, err = call(capsys, *label_studio, "--kind", kind)
        assert json.loads(out) == tasks
        assert err == ""
        _, out, err = call(capsys, *label_studio, "--interface", kind)
        assert out.startswith("<View>")
        assert f"Its tasks: contextbias annotate export {folder} --to label-studio --kind" in err
    _, out, err = call(capsys, *label_studio)
    assert len(json.loads(out)) == 12
    assert "takes one: --kind set or --kind image" in err
    call(capsys, *label_studio, "--out", file, "--kind", "image", "--pictures", folder / "few")
    assert json.loads(file.read_text()) == json.loads(written["image"].read_text())
    assert len(list((folder / "few").glob("*.webp"))) < len(list((folder / "p").glob("*.webp")))
    return written["set"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--kind", "set"], "--kind without Label Studio. Add --to label-studio"),
        (["--interface", "set"], "--interface without"),
        (["--to", "label-studio", "--versions"], "Versions are in the csv alone"),
        (["--to", "label-studio", "--kind", "image"], "--kind image: there is none. It has set"),
    ],
)
def test_what_is_not_exported(
    folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], says: str
) -> None:
    rewrite(folder, "images = 5", "images = 0")
    rewrite(folder, "gold_items = 1", "gold_items = 0")
    rewrite(folder, 'gold = "planted"', "")
    tokens(folder, 1)
    code, _, err = call(capsys, "export", folder, *options)
    assert code == 2
    assert says in " ".join(err.split())


def test_answers_in_a_file_are_counted_on_stderr(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tokens(folder, 1)
    _, out, err = call(capsys, "export", folder, "--out", folder / "answers.csv")
    assert (out, err) == ("", f"0 answers in {folder / 'answers.csv'}\n")


def test_a_run_without_writing_says_what_an_invitation_then_does(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Annotations.open(folder) as book:
        assert book.plan() is None
    code, out, err = call(capsys, "invite", folder, "--annotators", "2", "--dry-run")
    assert code == 0
    assert "Nothing was written" in err
    # 3 sets of 4 from 38 images, and 5 single pictures; 4 questions about each
    sample, each = out.splitlines()
    assert sample == ("Sample: 3 sets and 5 single pictures; 4 questions and 2 annotators for each")
    with Annotations.open(folder) as book:
        assert book.plan() is None
        assert not book.annotators()
    _, out, err = call(capsys, "invite", folder, "--annotators", "2")
    assert [sample, each] == err.splitlines()[:2]
    with answering(folder) as study:
        questions = {study.progress(name).total for name in ("a1", "a2")}
    assert f"{max(questions)} questions, about {-(-max(questions) * 8 // 60)} minutes" in each
    # Who comes later is told of what would be theirs.
    _, out, _ = call(capsys, "invite", folder, "--names", "late", "--dry-run")
    assert out.splitlines() == [sample, "Nothing is left for those invited"]
    code, _, err = call(capsys, "invite", folder, "--names", "a1", "--dry-run")
    assert code == 2
    assert "an annotator 'a1' already" in err


def test_much_for_one_person_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rewrite(folder, "[annotate]", "[annotate]\nseconds_per_answer = 200")
    _, out, err = call(capsys, "invite", folder, "--annotators", "2", "--dry-run")
    assert "hours\nThat is much for one person (at 200 s an answer" in out
    assert "annotators_per_item" in out
    _, _, err = call(capsys, "invite", folder, "--annotators", "4")
    assert "That is much" not in err  # half as much each


def test_of_counts_nobody_can_be_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = tmp_path / "study"
    with pytest.raises(SystemExit) as end:
        main(["import", "reference", str(put_study(tmp_path / "files")), str(study)])
    assert not end.value.code
    for more in ([], ["--dry-run"]):
        code, _, err = call(capsys, "invite", study, *more)
        assert code == 2
        assert "answers that came counted, and no images. People can be asked about images" in err


def test_a_name_that_cannot_be_one_declares_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = call(capsys, "invite", folder, "--names", "ann smith")
    assert code == 2
    assert "no pseudonym" in err
    with Annotations.open(folder) as book:
        assert book.plan() is None


def test_a_declaration_is_made_anew_until_somebody_answers(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = tokens(folder, ["ann", "ben"])
    rewrite(folder, "set_size = 4", "set_size = 3")
    _, _, err = call(capsys, "invite", folder, "--names", "cleo")
    assert "changed since it was declared (set_size)" in err
    assert "--anew" in err
    # What cannot be drawn withdraws nothing.
    rewrite(folder, "set_size = 3", "set_size = 20")
    code, _, err = call(capsys, "invite", folder, "--names", "ann", "--anew")
    assert code == 2
    with answering(folder) as study:
        assert study.section.set_size == 4
        assert study.sign_in(old["ann"]) is not None
    rewrite(folder, "set_size = 20", "set_size = 3")
    _, out, _ = call(capsys, "invite", folder, "--names", "ann", "--anew", "--dry-run")
    assert "Sample: 3 sets" in out
    code, out, err = call(capsys, "invite", folder, "--names", "ann", "--anew")
    assert code == 0
    assert "changed" not in err
    link = next(csv.DictReader(io.StringIO(out)))["link"]
    with answering(folder) as study:
        assert study.section.set_size == 3
        assert {len(item.image_ids) for item in study.items.values()} == {1, 3}
        assert list(study.annotators) == ["ann"]
        assert study.sign_in(old["ann"]) is None
        assert study.sign_in(link.rpartition("/")[2]) is not None
        assert [event.what for event in study.book.events()] == ["withdrawn", "invited"]
        study.agree("ann")
        study.submit("ann", given(0, "items"))
    for more in ([], ["--dry-run"]):
        code, _, err = call(capsys, "invite", folder, "--names", "ben", "--anew", *more)
        assert code == 2
        assert "ann answered already" in err


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
    _, out, err = call(capsys, "link", folder, "a1")
    assert "earlier link of a1 works no more" in err
    assert out.startswith("http://127.0.0.1:8765/a/")
    _, out, _ = call(capsys, "link", folder, "a1", "--public-url", "https://x.org/")
    address, _, token = out.strip().rpartition("/")
    assert address == "https://x.org/a"
    with answering(folder) as study:
        assert study.sign_in(old) is None
        assert study.sign_in(token) is not None
    _, out, err = call(capsys, "revoke", folder, "a1")
    assert (out, err) == ("", "The link of a1 works no more; the answers stay.\n")
    assert "link revoked" in call(capsys, "progress", folder)[1]
    with answering(folder) as study:
        assert study.sign_in(token) is None


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
