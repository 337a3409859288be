from __future__ import annotations

import errno
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest

from contextbias.errors import ConfigError, InputError, StudyError
from contextbias.files import RECEIPTS
from contextbias.store import STORE_FILE, Study, drop_receipts
from contextbias.tables import STORE_VERSION
from tests import rows

Nobody = Callable[[str], subprocess.CompletedProcess[str]]
CONFIG = '[study]\nname = "s"\n'


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    with Study.create(tmp_path / "s", CONFIG) as made:
        yield made


# ---- making and opening


def test_create_writes_the_text_and_refuses_a_second_time(tmp_path: Path) -> None:
    with Study.create(tmp_path / "s", CONFIG) as made:
        assert made.config.study.name == "s"
        assert (made.root / "study.toml").read_text() == CONFIG
    with pytest.raises(StudyError, match=r"there is a study in .* already"):
        Study.create(tmp_path / "s", CONFIG)


def test_a_wrong_text_makes_no_folder(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        Study.create(tmp_path / "s", "[stduy]\n")
    assert not (tmp_path / "s").exists()


def test_what_is_no_study_says_why(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="no such folder"):
        Study.open(tmp_path / "nowhere")
    with pytest.raises(StudyError, match=r"it has no study\.toml"):
        Study.open(tmp_path)


def test_reading_a_study_that_never_ran_creates_nothing(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(CONFIG)
    with Study.open(tmp_path) as opened:
        assert opened.images() == []
        assert set(opened.counts().values()) == {0}
        assert opened.estimates() is None
        assert opened.fingerprint("estimates") is None
    assert [path.name for path in tmp_path.iterdir()] == ["study.toml"]


# ---- paid-for rows


def test_rows_come_back_as_they_were(study: Study) -> None:
    study.append_prompts([rows.prompt(), rows.prompt("p0", location=None, prompted=())])
    study.append_generators([rows.generator()])
    study.append_readers([rows.reader()])
    study.append_images([rows.image(), rows.image("i2", status="error", path=None, sha256=None)])
    study.append_readings([rows.reading(), rows.reading("d2", status="refused", record=None)])
    assert study.prompts() == [rows.prompt("p0", location=None, prompted=()), rows.prompt()]
    assert study.generators() == [rows.generator()]
    assert study.readers() == [rows.reader()]
    assert study.images() == [
        rows.image(), rows.image("i2", status="error", path=None, sha256=None)
    ]  # fmt: skip
    assert study.readings() == [
        rows.reading(), rows.reading("d2", status="refused", record=None)
    ]  # fmt: skip


def test_appending_again_changes_nothing(study: Study) -> None:
    assert study.append_prompts([rows.prompt()]) == 1
    assert study.append_prompts([rows.prompt(text="another"), rows.prompt("p2")]) == 1
    assert [p.text for p in study.prompts()] == [rows.prompt().text] * 2
    study.append_images([rows.image(seed=5)])
    assert study.append_images([rows.image(seed=6)]) == 0
    assert study.images() == [rows.image(seed=5)]


def test_the_latest_attempt_counts_and_earlier_ones_stay(study: Study) -> None:
    study.append_images([rows.image(attempt=2), rows.image(attempt=10, seed=9)])
    study.append_images([rows.image(attempt=1, status="error")])
    assert study.images() == [rows.image(attempt=10, seed=9)]
    assert study.attempts("images") == {"i1": (10, "ok")}
    assert study.counts()["images"] == 3


def test_rows_survive_closing(tmp_path: Path) -> None:
    with Study.create(tmp_path / "s", CONFIG) as made:
        made.append_images([rows.image()])
    with Study.open(tmp_path / "s") as opened:
        assert opened.images() == [rows.image()]


# ---- derived tables


def test_derived_tables_are_rewritten_whole_and_stamped(study: Study) -> None:
    study.write_estimates(pl.DataFrame({"point": [1.0, 2.0]}), "first")
    study.write_attributes(pl.DataFrame({"label": ["a"]}), "other")
    study.write_estimates(pl.DataFrame({"point": [3.0]}), "second")
    estimates = study.estimates()
    assert estimates is not None
    assert estimates["point"].to_list() == [3.0]
    assert study.fingerprint("estimates") == "second"
    assert study.fingerprint("attributes") == "other"
    assert study.fingerprint("report") is None


def test_report_is_written_below_its_folder(study: Study) -> None:
    path = study.write_report({"index.html": b"<p>", "tables/a.csv": b"x"}, "f")
    assert path == study.report_path
    assert path.read_bytes() == b"<p>"
    assert (study.root / "report/tables/a.csv").read_bytes() == b"x"
    assert study.fingerprint("report") == "f"


# ---- after a crash


def test_receipts_of_a_killed_run_are_taken_in_once(tmp_path: Path) -> None:
    root = tmp_path / "s"
    with Study.create(root, CONFIG) as made:
        made.append_images([rows.image("i1")])
        made.files.keep_receipt("images", rows.image("i1"))
        made.files.keep_receipt("images", rows.image("i2"))
        made.files.keep_receipt("readings", rows.reading("d1"))
    with Study.open(root) as reading:
        assert [image.image_id for image in reading.images()] == ["i1"]
    with Study.open(root, writing=True) as writing:
        assert [image.image_id for image in writing.images()] == ["i1", "i2"]
        assert writing.readings() == [rows.reading("d1")]
    assert list((root / RECEIPTS).iterdir()) == []


def test_many_receipts_are_taken_in(study: Study) -> None:
    for number in range(1201):
        study.files.keep_receipt("images", rows.image(f"i{number:04}"))
    root = study.root
    study.close()
    with Study.open(root, writing=True) as writing:
        assert len(writing.images()) == 1201


def test_dropping_a_receipt_twice_is_no_error(study: Study) -> None:
    path = study.files.keep_receipt("images", rows.image())
    drop_receipts([path, path])
    assert not path.exists()


@pytest.mark.parametrize("place", ["", "{0}/shared", "file://{0}/shared"])
def test_half_written_files_of_a_killed_run_go(tmp_path: Path, place: str) -> None:
    if "://" in place:
        pytest.importorskip("fsspec")
    root, shared = tmp_path / "s", tmp_path / "shared/g"
    shared.mkdir(parents=True)
    images = f'[run]\nimages = "{place.format(tmp_path)}"\n' if place else ""
    Study.create(root, CONFIG + images).close()
    script = (
        "import os, sys; from pathlib import Path; from contextbias.store import Study\n"
        f"study = Study.open(Path({str(root)!r}), writing=True)\n"
        f"for folder in (study.root, Path({str(shared)!r})):\n"
        "    (folder / '.x.part').write_bytes(b'half')\n"
        "    (folder / 'y.png').write_bytes(b'whole')\n"
        "os._exit(9)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=False)
    assert (root / ".x.part").exists()
    assert (shared / ".x.part").exists()
    Study.open(root, writing=True).close()
    assert not (root / ".x.part").exists()
    assert (shared / ".x.part").exists() is not bool(place)
    assert (root / "y.png").exists()
    assert (shared / "y.png").exists()


# ---- who may write


def test_a_second_writer_is_refused_and_a_reader_is_not(study: Study) -> None:
    with pytest.raises(StudyError, match="another contextbias is writing in") as caught:
        Study.open(study.root, writing=True)
    assert caught.value.exit_code == 2
    with Study.open(study.root) as reading:
        assert reading.config.study.name == "s"


def test_a_file_system_without_locks_is_no_other_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Study.create(tmp_path / "s", CONFIG).close()

    def unsupported(*_: object) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr("fcntl.flock", unsupported)
    with pytest.raises(StudyError, match=r"\.lock cannot be locked: function not implemented"):
        Study.open(tmp_path / "s", writing=True)


def test_the_lock_is_free_after_closing_and_after_a_failure(tmp_path: Path) -> None:
    root = tmp_path / "s"
    Study.create(root, CONFIG).close()
    Study.open(root, writing=True).close()
    good = (root / STORE_FILE).read_bytes()
    (root / STORE_FILE).write_bytes(b"no database at all, but long enough to be read as one" * 40)
    with pytest.raises(StudyError, match="cannot be read"):
        Study.open(root, writing=True)
    (root / STORE_FILE).write_bytes(good)
    Study.open(root, writing=True).close()


def test_a_newer_store_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "s"
    Study.create(root, CONFIG).close()
    with sqlite3.connect(root / STORE_FILE) as connection:
        connection.execute(f"PRAGMA user_version = {STORE_VERSION + 1}")
    connection.close()
    for writing in (False, True):
        with pytest.raises(StudyError, match=r"newer contextbias .*Upgrade"):
            Study.open(root, writing=writing)


@pytest.mark.parametrize("damage", [b"", b"x" * 4096])
def test_a_damaged_store_is_named(tmp_path: Path, damage: bytes) -> None:
    root = tmp_path / "s"
    with Study.create(root, CONFIG) as made:
        made.append_images([rows.image()])
    path = root / STORE_FILE
    path.write_bytes(path.read_bytes()[:100] + damage)
    with pytest.raises(StudyError, match=r"study\.sqlite cannot be read"), Study.open(root) as bad:
        bad.images()


def test_a_locked_folder_is_read_and_not_written(public_folder: Path, as_nobody: Nobody) -> None:
    root = public_folder / "s"
    with Study.create(root, CONFIG) as made:
        made.append_images([rows.image(seed=77)])
    for path in [*root.rglob("*"), root]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    done = as_nobody(
        "from pathlib import Path; from contextbias.store import Study\n"
        "from contextbias.errors import InputError\n"
        f"root = Path({str(root)!r})\n"
        "with Study.open(root) as study: print(study.images()[0].seed)\n"
        "for attempt in (lambda: Study.open(root, writing=True),\n"
        "                lambda: Study.create(root / 'inner', '')):\n"
        "    try: attempt()\n"
        "    except InputError as error: print(error)\n"
    )
    seed, *refusals = done.stdout.splitlines()
    assert (seed, len(refusals)) == ("77", 2), done.stderr
    assert all("cannot write" in line and "permission denied" in line for line in refusals)


def test_writing_needs_a_folder_that_can_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InputError, match="cannot write"):
        Study.create(tmp_path / "file" / "s", CONFIG)


# ---- what somebody did to the folder


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("garbage", "not JSON"),
        ("[]", "no table and row"),
        ('{"table": "images", "row": []}', "no table and row"),
        ('{"table": "prompts", "row": {}}', "it names the table 'prompts'"),
        ('{"table": "images", "row": {"image_id": "x"}}', "missing or unknown: attempt"),
    ],
)
def test_what_is_no_receipt_is_neither_dropped_nor_passed_over(
    tmp_path: Path, text: str, why: str
) -> None:
    root = tmp_path / "s"
    Study.create(root, CONFIG).close()
    path = root / RECEIPTS / "images-x-1.json"
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(StudyError, match=r"images-x-1\.json is no receipt") as caught:
        Study.open(root, writing=True)
    assert why in str(caught.value)
    assert path.exists()
    path.unlink()
    Study.open(root, writing=True).close()


def test_a_receipt_with_a_field_of_another_type_is_named(study: Study) -> None:
    path = study.files.keep_receipt("images", rows.image())
    path.write_text(path.read_text().replace('"seed":5', '"seed":"five"'))
    root = study.root
    study.close()
    with pytest.raises(StudyError, match=r"seed: Input should be a valid integer"):
        Study.open(root, writing=True)


@pytest.mark.parametrize("empty", [True, False])
def test_a_study_that_has_run_does_not_begin_anew_without_its_store(
    tmp_path: Path, empty: bool
) -> None:
    root = tmp_path / "s"
    with Study.create(root, CONFIG) as made:
        made.files.keep_receipt("images", rows.image())
    for path in root.glob(f"{STORE_FILE}*"):
        path.unlink()
    if empty:
        (root / STORE_FILE).touch()
    with pytest.raises(StudyError, match="is gone or empty, but this study has run"):
        Study.open(root, writing=True)


def test_damage_inside_the_store_is_named(tmp_path: Path) -> None:
    root = tmp_path / "s"
    with Study.create(root, CONFIG) as made:
        made.append_images([rows.image(f"i{n}") for n in range(500)])
    data = bytearray((root / STORE_FILE).read_bytes())
    data[8 * 4096 :] = b"\xab" * (len(data) - 8 * 4096)
    (root / STORE_FILE).write_bytes(data)
    with Study.open(root) as study:
        with pytest.raises(StudyError, match="cannot be read: database disk image is malformed"):
            study.images()
        with pytest.raises(StudyError, match="cannot be read"):
            study.attempts("images")


def test_a_field_that_is_no_json_is_named(study: Study) -> None:
    study.append_images([rows.image()])
    with sqlite3.connect(study.root / STORE_FILE) as connection:
        connection.execute("UPDATE images SET provenance = '{'")
    connection.close()
    with pytest.raises(StudyError, match="cannot be read"):
        study.images()


def test_a_table_that_was_cut_short_is_named_and_counts_as_not_made(study: Study) -> None:
    study.write_estimates(pl.DataFrame({"point": [1.0, 2.0]}), "first")
    path = study.root / "derived/estimates.parquet"
    path.write_bytes(path.read_bytes()[:50])
    assert study.fingerprint("estimates") is None
    with pytest.raises(StudyError, match=r"estimates\.parquet cannot be read"):
        study.estimates()


def test_a_full_disk_is_not_called_damage(study: Study) -> None:
    pages = study._database.select("PRAGMA page_count")[0][0]
    study._database.select(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(InputError, match=r"cannot write .*full") as caught:
        study.append_images([rows.image(f"i{n}") for n in range(500)])
    assert caught.value.fix.startswith("make room")
    assert study.images() == []


def test_a_file_and_a_name_that_is_no_text_are_no_study(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StudyError, match="is not a study: it is a file"):
        Study.open(tmp_path / "file")
    with pytest.raises(StudyError, match="is not UTF-8"):
        Study.open(tmp_path / "\udcff")


def test_folders_that_may_not_be_looked_into(public_folder: Path, as_nobody: Nobody) -> None:
    root = public_folder / "s"
    Study.create(root, CONFIG).close()
    (root / "study.toml").chmod(0)
    script = (
        "from pathlib import Path; from contextbias.store import Study\n"
        "from contextbias.errors import InputError\n"
        f"try: Study.open(Path({str(root)!r})).config\n"
        "except InputError as error: print(error)\n"
    )
    assert "study.toml: permission denied. Check its permissions." in as_nobody(script).stdout
    root.chmod(0)
    assert "cannot read" in as_nobody(script).stdout


def test_receipts_that_may_not_be_looked_at_are_not_passed_over(
    public_folder: Path, as_nobody: Nobody
) -> None:
    root = public_folder / "s"
    with Study.create(root, CONFIG) as made:
        made.files.keep_receipt("images", rows.image())
    for path in [*root.rglob("*"), root]:
        path.chmod(0o777)
    (root / RECEIPTS).chmod(0)
    done = as_nobody(
        "from pathlib import Path; from contextbias.store import Study\n"
        "from contextbias.errors import InputError\n"
        f"try: Study.open(Path({str(root)!r}), writing=True)\n"
        "except InputError as error: print(error)\n"
    )
    assert "receipts: permission denied" in done.stdout, done.stderr
