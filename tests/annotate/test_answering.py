"""What is stored, and when: versions, windows that disagree, removal."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.annotate.made import answer_all, answering, given, rewrite, tokens

from contextbias.annotate.answering import InvalidAnswer
from contextbias.annotate.invitation import invite, new_link, revoke
from contextbias.annotation_tables import IMAGE, SAMPLE, SET
from contextbias.errors import InputError, StudyError
from contextbias.people import Annotations
from contextbias.pipeline import Options, run
from contextbias.pipeline.annotation import invite_people
from contextbias.store import Study


def test_every_version_of_an_answer_is_kept(folder: Path) -> None:
    tokens(folder)
    with answering(folder) as study:
        study.agree("a1")
        task = study.tasks("a1")[1]
        place = task.assignment.position
        first = study.submit("a1", given(place, "mood"))
        second = study.submit(
            "a1", given(place, "mood", labels=("tense",), based_on=1, key="other")
        )
        assert (first.version, second.version) == (1, 2)
        (latest,) = study.book.answers("a1")
        assert latest.labels == ("tense",)
        assert [row.labels for row in study.book.audit_trail()] == [("calm",), ("tense",)]
        (label,) = study.book.labels()
        assert (label.labels, label.version, label.kind) == (("tense",), 2, SET)
        assert label.weight == pytest.approx(1 / label.probability)  # type: ignore[operator]


def test_two_windows_that_disagree_are_both_kept(folder: Path) -> None:
    tokens(folder)
    with answering(folder) as study:
        study.agree("a1")
        place = study.tasks("a1")[1].assignment.position
        study.submit("a1", given(place, "mood", key="one"))
        late = study.submit("a1", given(place, "mood", labels=("tense",), based_on=0, key="two"))
        assert (late.version, late.based_on) == (2, 0)
        assert len(study.book.audit_trail()) == 2


def test_an_answer_that_is_sent_twice_is_stored_once(folder: Path) -> None:
    tokens(folder)
    with answering(folder) as study:
        study.agree("a1")
        place = study.tasks("a1")[1].assignment.position
        once = study.submit("a1", given(place, "mood"))
        study.submit("a1", given(place, "mood", labels=("tense",), based_on=1, key="later"))
        assert study.submit("a1", given(place, "mood")) == once
        assert len(study.book.audit_trail()) == 2


def test_the_answer_that_was_given_last_counts_not_the_one_that_came_last(folder: Path) -> None:
    """A laptop without a network answers first, a phone second; the laptop is back third."""
    tokens(folder)
    with answering(folder) as study:
        study.agree("a1")
        place = study.tasks("a1")[1].assignment.position
        study.submit("a1", given(place, "mood", labels=("tense",), key="phone"))
        laptop = given(place, "mood", key="laptop", age=60.0)
        waited = study.submit("a1", laptop)
        assert (waited.labels, waited.version) == (("calm",), 2)
        (latest,) = study.book.answers("a1")
        assert (latest.labels, latest.key) == (("tense",), "phone")
        assert [row.labels for row in study.book.audit_trail()] == [
            ("tense",), ("calm",), ("tense",),
        ]  # fmt: skip
        # Sent again, and then one that was given between the two: nothing changes hands.
        assert study.submit("a1", laptop) == waited
        study.submit("a1", given(place, "mood", labels=("joyful",), key="tablet", age=30.0))
        assert study.book.answers("a1")[0].key == "phone"
        # Whoever has seen the latest one and answers, counts, however long it waited.
        seen = study.book.answers("a1")[0].version
        study.submit("a1", given(place, "mood", key="late", based_on=seen, age=1e12))
        assert study.book.answers("a1")[0].key == "late"


def test_two_that_waited_and_come_in_the_wrong_order(folder: Path) -> None:
    tokens(folder)
    with answering(folder) as study:
        study.agree("a1")
        place = study.tasks("a1")[1].assignment.position
        study.submit("a1", given(place, "mood", labels=("tense",), key="later", age=100.0))
        study.submit("a1", given(place, "mood", key="earlier", age=200.0))
        assert study.book.answers("a1")[0].key == "later"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"count": None}, "number of pictures is missing"),
        ({"count": 5}, "5 of 4"),
        ({"count": -1}, "-1 of 4"),
        ({"labels": (), "missing_reason": "unknown"}, "no number of pictures is asked"),
        ({"labels": ("merry",)}, "'merry' is no answer"),
        ({"position": 99}, "no such question"),
        ({"dimension": "pose"}, "no such question"),  # left out by the configuration
        ({"key": ""}, "key"),
        ({"based_on": -1}, "version"),
    ],
)
def test_what_is_no_answer_is_refused(folder: Path, changes: dict[str, object], says: str) -> None:
    tokens(folder)
    with answering(folder) as study:
        study.agree("a1")
        place = next(t for t in study.tasks("a1") if t.item.kind == SET).assignment.position
        with pytest.raises(InvalidAnswer, match=says):
            study.submit("a1", replace(given(place, "mood"), **changes))
        assert study.book.audit_trail() == []


def test_a_single_picture_takes_no_count_and_lists(folder: Path) -> None:
    tokens(folder)
    with answering(folder) as study:
        study.agree("a1")
        place = next(t for t in study.tasks("a1") if t.item.kind == IMAGE).assignment.position
        with pytest.raises(InvalidAnswer, match="no number"):
            study.submit("a1", given(place, "mood"))
        row = study.submit(
            "a1",
            given(place, "items", labels=("  a  cup ", "tree", "tree"), missing_reason=None),
        )
        assert row.labels == ("a cup", "tree")


def test_consent_comes_before_the_first_answer(folder: Path) -> None:
    tokens(folder)
    with answering(folder) as study:
        with pytest.raises(InvalidAnswer, match="consent"):
            study.submit("a1", given(0, "mood"))
        study.agree("a1")
        assert study.annotators["a1"].consented_at is not None
        assert [event.what for event in study.book.events()].count("consented") == 1
        study.agree("a1")
        assert study.annotators["a1"].version == 2


def test_secrets_are_not_stored(folder: Path) -> None:
    links = tokens(folder)
    stored = b"".join(path.read_bytes() for path in folder.glob("study.sqlite*"))
    for token in links.values():
        assert token.encode() not in stored
    with answering(folder) as study:
        for name, token in links.items():
            row = study.sign_in(token)
            assert row is not None
            assert row.annotator == name
        assert study.sign_in("") is None
        assert study.sign_in(str(study.annotators["a1"].token_sha256)) is None


def test_links_can_be_revoked_and_renewed(folder: Path) -> None:
    links = tokens(folder)
    with answering(folder) as study:
        revoke(study.book, "a1")
        study.refresh()
        assert study.sign_in(links["a1"]) is None
        again = new_link(study.book, "a1")
        study.refresh()
        row = study.sign_in(again.token)
        assert row is not None
        assert row.annotator == "a1"
        assert study.sign_in(links["a1"]) is None


def test_progress_and_what_comes_next(folder: Path) -> None:
    tokens(folder)
    with answering(folder) as study:
        total = study.progress("a1").total
        assert total == len(study.tasks("a1")) * 4
        assert study.next_position("a1") == 0
        study.agree("a1")
        for dimension in study.questions:
            study.submit("a1", given(0, dimension))
        assert study.next_position("a1") == 1
        last = study.tasks("a1")[-1].assignment.position
        assert study.next_position("a1", after=last) == 1  # back to what was skipped
        assert study.progress("a1").done == 4
        answer_all(study, "a2")
        assert study.next_position("a2") is None
        assert study.progress("a2").minutes_left == 0


def test_a_removed_annotator_is_gone_from_the_file(folder: Path) -> None:
    tokens(folder, ["margarete", "a2"])
    with answering(folder) as study:
        number = answer_all(study, "margarete")
        answer_all(study, "a2")
        assert study.remove("margarete") == number
        assert set(study.annotators) == {"a2"}
        assert {row.annotator for row in study.book.audit_trail()} == {"a2"}
        # What is kept is that somebody went, and how many answers that was.
        assert [(e.what, e.annotator, e.rows) for e in study.book.events()][-1] == (
            "removed", None, number,
        )  # fmt: skip
        # Nothing in the files, while the server still has them open.
        stored = b"".join(path.read_bytes() for path in folder.glob("study.sqlite*"))
        assert b"margarete" not in stored
        with pytest.raises(InputError, match="no annotator 'margarete'"):
            study.remove("margarete")


def test_bytes_of_who_left_that_a_reader_holds_up_go_with_the_last_writer(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contextbias.database._READERS_TAKE", 1)

    def stored() -> bytes:
        return b"".join(path.read_bytes() for path in folder.glob("study.sqlite*"))

    tokens(folder, ["margarete", "a2"])
    with answering(folder) as study:
        reader = sqlite3.connect(folder / "study.sqlite")
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM annotators").fetchone()
        study.remove("margarete")
        assert study.book.has_remains
        assert set(study.annotators) == {"a2"}
        reader.close()
        assert b"margarete" in stored()
        study.remove("a2")
        assert not study.book.has_remains
        assert b"margarete" not in stored()


def test_the_items_of_who_left_go_to_others(folder: Path) -> None:
    tokens(folder, 2)
    with answering(folder) as study:
        invite(study.book, 1)
        study.refresh()
        assert study.tasks("a3") == []
        study.remove("a1")
        assert {t.item.item for t in study.tasks("a3")} >= {
            t.item.item for t in study.tasks("a2") if t.item.purpose == "sample"
        }
        # A name is not given a second time.
        assert invite(study.book, 1)[0].annotator == "a4"


def test_a_declaration_that_was_killed_leaves_nothing_in_the_sample(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Annotations, "append_plan", killed)
        with pytest.raises(KeyboardInterrupt):
            tokens(folder)
    rewrite(folder, "images = 5", "images = 4")
    tokens(folder)
    with answering(folder) as study:
        assert {item.plan for item in study.items.values()} == {study.plan.plan}
        assert sum((i.kind, i.purpose) == (IMAGE, SAMPLE) for i in study.items.values()) == 4


def test_what_was_declared_stays_in_force(folder: Path) -> None:
    tokens(folder)
    rewrite(folder, "images = 5", "images = 3\nexclude_unknown_above = 0.9")
    _, changed = invite_people(folder, 1)
    assert changed == ["exclude_unknown_above", "images"]
    with answering(folder) as study:
        assert study.section.images == 5
        assert study.section.exclude_unknown_above == 0.5


@pytest.mark.parametrize("name", ["a b", "", "x" * 41, "a/b", "<b>"])
def test_a_pseudonym_is_a_plain_word(folder: Path, name: str) -> None:
    with pytest.raises(InputError, match="no pseudonym"):
        invite_people(folder, [name])


def test_invitations_that_cannot_be(folder: Path, tmp_path: Path) -> None:
    tokens(folder, ["ann"])
    with pytest.raises(InputError, match="'ann' already"):
        invite_people(folder, ["ann"])
    with pytest.raises(InputError, match="Invite 1 to 200"):
        invite_people(folder, 201)
    empty = tmp_path / "empty"
    Study.create(empty, "").close()
    with pytest.raises(InputError, match="no images"):
        invite_people(empty, 1)
    (empty / "study.sqlite").unlink()
    with pytest.raises(StudyError, match="no images yet"):
        Annotations.open(empty, writing=True)


def test_answers_come_in_while_a_study_runs(folder: Path) -> None:
    """One writer of answers; `run` and readers are not kept out."""
    tokens(folder)
    with answering(folder) as study:
        with (
            pytest.raises(StudyError, match="annotate serve"),
            Annotations.open(folder, writing=True),
        ):
            pass
        with Study.open(folder, writing=True) as opened:
            run(opened, ("bench", "generate", "extract", "canonicalise"), Options())
            study.agree("a1")
            study.submit("a1", given(study.tasks("a1")[1].assignment.position, "mood"))
        with Annotations.open(folder) as reading:
            assert len(reading.labels()) == 1


def test_a_study_of_an_older_version_reads_as_one_without_answers(folder: Path) -> None:
    connection = sqlite3.connect(folder / "study.sqlite")
    for name in ("plans", "items", "events"):
        connection.execute(f"DROP TABLE annotation_{name}")
    for name in ("annotators", "assignments", "answers"):
        connection.execute(f"DROP TABLE {name}")
    connection.execute("PRAGMA user_version = 2")
    connection.close()
    with Annotations.open(folder) as book:
        assert book.labels() == []
        assert book.plan() is None
    tokens(folder)


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.annotate.made import answering, given
with answering(Path(sys.argv[1])) as study:
    study.agree("a1")
    for n, task in enumerate(study.tasks("a1")[1:4]):
        place = task.assignment.position
        row = study.submit("a1", given(place, "mood", key=f"k{n}"))
        print(row.key, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_was_acknowledged_survives_a_kill(folder: Path) -> None:
    tokens(folder)
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(folder)],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parent.parent.parent,
        env=os.environ,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    with answering(folder) as study:
        assert {row.key for row in study.book.answers("a1")} == set(done.stdout.split())
        assert len(done.stdout.split()) == 3
