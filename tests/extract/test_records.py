"""Records that another program made: both forms, and what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.released import RECORD, prompt_folder

from contextbias.errors import InputError
from contextbias.extract.records import read_descriptions, read_records
from contextbias.generate.folder import condition_of
from contextbias.schema import empty_record


def put(path: Path, content: Any = RECORD) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_in_the_layout_the_folders_say_what_it_is(tmp_path: Path) -> None:
    folder = prompt_folder(tmp_path, "SDXL", "CA-R", "train_driver", "type/a_photo")
    put(folder / "descriptions" / "1.json")
    (folder / "image_0_seed_7.jpg").write_bytes(b"picture")
    (found,) = read_descriptions(tmp_path, condition_of)
    assert (found.generator, found.condition, found.role) == ("SDXL", "CA-R", "train driver")
    assert (found.prompt, found.seed, found.status) == ("type/a_photo", 7, "ok")
    assert found.path == folder / "image_0_seed_7.jpg"
    assert found.record is not None
    assert found.raw == {"released": RECORD}
    (again,) = read_records(tmp_path, condition_of)
    assert again == found


def test_elsewhere_the_record_says_it(tmp_path: Path) -> None:
    path = put(tmp_path / "1.json")
    (found,) = read_records(path, condition_of)
    assert (found.generator, found.condition, found.role) == ("Some-Model", "CA-U", "train driver")
    assert (found.prompt, found.path) == ("a_photo", None)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{\n'a'", ("line 2", "not JSON")),
        ("[]", ("list", "object")),
        ('{"image": {}}', ("no object 'cohorts'",)),
        ('{"cohorts": {}}', ("no object 'image'",)),
        ({**RECORD, "image": {"file_path": "x.jpg"}}, ("does not say", "'x.jpg'")),
    ],
)
def test_a_file_that_is_no_record_is_named(
    tmp_path: Path, content: Any, words: tuple[str, ...]
) -> None:
    path = put(tmp_path / "1.json", content)
    with pytest.raises(InputError) as caught:
        read_records(tmp_path, condition_of)
    for word in (str(path), *words):
        assert word in str(caught.value)


def test_a_record_off_schema_is_a_reading_that_is_invalid(tmp_path: Path) -> None:
    cohorts = {**RECORD["cohorts"], "camera": {"framing": "square"}}  # type: ignore[dict-item]
    put(tmp_path / "1.json", {**RECORD, "cohorts": cohorts})
    (found,) = read_records(tmp_path, condition_of)
    assert (found.status, found.record) == ("invalid", None)
    assert "'square'" in (found.reason or "")


def lines(*objects: Any) -> str:
    return "\n".join(json.dumps(each) for each in objects) + "\n"


def test_our_own_form(tmp_path: Path) -> None:
    (tmp_path / "1.png").write_bytes(b"picture")
    first = {
        "generator": "g", "role": "Nurse", "condition": "ca-u", "prompt": "a nurse", "seed": 3,
        "path": "1.png", "record": empty_record(), "note": "kept",
    }  # fmt: skip
    text = lines(first, {"status": "refused", "reason": "no"}, {"record": {"scene": {}}})
    path = put(tmp_path / "r.jsonl", text)
    one, two, three = read_records(path, condition_of)
    assert (one.generator, one.role, one.condition, one.seed) == ("g", "nurse", "CA-U", 3)
    assert (one.path, one.status, one.record) == (tmp_path / "1.png", "ok", empty_record())
    assert one.raw == {"line": first}
    assert (two.status, two.reason, two.record) == ("refused", "no", None)
    assert (two.generator, two.role, two.condition) == ("images", "all", "CF")
    assert three.status == "invalid"
    assert "record lacks people" in (three.reason or "") or "record lacks" in (three.reason or "")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", ("line 1", "not JSON")),
        ("[]", ("line 1", "not an object")),
        ('{"role": "nurse"}', ("line 1", "no record")),
        ('{"records": {}}', ("'record'", "'records'")),
        ('{"status": "refusd"}', ("'refusd'", "'refused'")),
        ('{"record": {}, "condition": "CAR"}', ("'CAR'", "CA-R")),
        ('{"record": {}, "seed": -1}', ("seed -1",)),
        ('{"record": {}, "seed": "7"}', ("seed '7'",)),
        ('{"record": {}, "schema_version": "2"}', ("schema version '2'",)),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, line: str, words: tuple[str, ...]) -> None:
    path = put(tmp_path / "r.jsonl", line + "\n")
    with pytest.raises(InputError) as caught:
        read_records(path, condition_of)
    for word in (str(path), *words):
        assert word in str(caught.value)


def test_nothing_there(tmp_path: Path) -> None:
    put(tmp_path / "notes.txt", "")
    with pytest.raises(InputError, match="has no record"):
        read_records(tmp_path, condition_of)
    (tmp_path / "1.json").write_bytes(b"\xff")
    with pytest.raises(InputError, match="not UTF-8"):
        read_records(tmp_path, condition_of)
