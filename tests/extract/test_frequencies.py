"""Frequency files of the released layout: where they stand, and every fault with its line."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.released import HEADER, prompt_folder, put_counts, put_study

from contextbias.errors import InputError
from contextbias.extract.frequencies import (
    Place,
    find_files,
    place_in_layout,
    read_file,
    read_frequencies,
)
from contextbias.generate.folder import condition_of

PLACE = Place(source="s_SDXL", generator="SDXL", condition="CF", role="nurse", prompt="p")


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_rows_as_they_stand(tmp_path: Path) -> None:
    text = HEADER + "people,items, Hat ,3.0\n\ntotals,images,images,10\n" + 'a,b,"x,y",0\n'
    found = read_file(write(tmp_path / "f.csv", text), PLACE)
    assert found.images == 10
    assert found.counts == (("people", "items", " Hat ", 3), ("a", "b", "x,y", 0))


def test_columns_in_any_order_a_byte_order_mark_and_no_totals(tmp_path: Path) -> None:
    text = "\ufeffcount, label,dimension,cohort,more\n2,calm,mood,scene_appearance,x\n"
    found = read_file(write(tmp_path / "f.csv", text), PLACE)
    assert found.images is None
    assert found.counts == (("scene_appearance", "mood", "calm", 2),)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ("is empty", "cohort,dimension")),
        ("cohort,dimension,labels,count\n", ("no column 'label'", "'labels'")),
        ("cohort,dimension,label,count,count\n", ("the column 'count' twice",)),
        (HEADER + "people,items,hat\n", ("line 2", "3 fields")),
        (HEADER + "people,items,hat,1\npeople,,hat,1\n", ("line 3", "dimension is empty")),
        (HEADER + "people,items,hat,-1\n", ("line 2", "'-1'", "whole number")),
        (HEADER + "people,items,hat,1.5\n", ("line 2", "'1.5'")),
        (HEADER + "people,items,hat,\n", ("line 2", "''")),
        (HEADER + "people,items,hat,99999999999\n", ("line 2", "too large")),
        (HEADER + 'people,items,"hat,1\n', ("not CSV",)),
    ],
)
def test_a_broken_file_is_named_with_its_line(
    tmp_path: Path, text: str, words: tuple[str, ...]
) -> None:
    path = write(tmp_path / "broken.csv", text)
    with pytest.raises(InputError) as caught:
        read_file(path, PLACE)
    assert str(path) in str(caught.value)
    assert caught.value.fix
    for word in words:
        assert word in str(caught.value)


def test_not_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_bytes(HEADER.encode() + b"people,items,\xff,1\n")
    with pytest.raises(InputError, match="line 2: not UTF-8"):
        read_file(path, PLACE)


@pytest.mark.parametrize("below", ["", "study_SDXL", "study_SDXL/Context-free_CF"])
def test_any_folder_of_the_layout_will_do(tmp_path: Path, below: str) -> None:
    folder = prompt_folder(tmp_path, "SDXL", "CF", "train_driver", "type/a_photo")
    put_counts(folder, [("camera", "framing", "wide", 4)])
    (found,) = read_frequencies(tmp_path / below, condition_of)
    assert found.place == Place(
        source="study_SDXL", generator="SDXL", condition="CF", role="train driver",
        prompt="type/a_photo",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("s_SDXL/Context/nurse/p", "condition folder"),
        ("Context-free_CF/nurse/p", "condition folder"),
        ("s_SDXL/Context-free_CF/p", "1 folders below"),
        ("s_SDXL/Context-free_CF/nurse/a/b/p", "4 folders below"),
        ("s_/Context-free_CF/nurse/p", "not a prompt's folder"),
    ],
)
def test_a_misplaced_file_is_named(tmp_path: Path, path: str, word: str) -> None:
    # The root is at the file system's top here, so that no folder above counts.
    with pytest.raises(InputError, match=word):
        place_in_layout(Path("/"), Path("/") / path, condition_of)


def test_no_such_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        find_files(tmp_path / "nothing", lambda _: True)
    with pytest.raises(InputError, match="it is a file"):
        find_files(write(tmp_path / "file", ""), lambda _: True)


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    put_counts(prompt_folder(tmp_path, "SDXL", "CF", "nurse", "p"), [])
    (tmp_path / "study_SDXL" / "again").symlink_to(tmp_path)
    assert len(read_frequencies(tmp_path, condition_of)) == 1


def test_the_order_of_making_files_does_not_matter(tmp_path: Path) -> None:
    first = put_study(tmp_path / "a")
    files = [path.relative_to(first) for path in first.rglob("*.csv")]
    random.Random(1).shuffle(files)
    for name in files:
        write(tmp_path / "b" / name, (first / name).read_text())
    one, two = (read_frequencies(tmp_path / name, condition_of) for name in ("a", "b"))
    assert [(f.place, f.counts) for f in one] == [(f.place, f.counts) for f in two]
    assert len(one) == 36
