from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl
from tests import rows
from tests.report.made_study import MakeStudy, StudyMaker, frame_of

from contextbias.report import explorer
from contextbias.report.select import of_reader
from contextbias.report.thumbnails import embed
from contextbias.tables import AttributeRow


def cell(table: dict[str, Any], names: dict[str, Any], *key: str) -> int:
    """Place of one association in the columns."""
    found = [
        k
        for k, place in enumerate(zip(table["g"], table["r"], table["d"], table["l"], strict=True))
        if (
            names["generators"][place[0]],
            names["roles"][place[1]],
            names["dimensions"][place[2]],
            names["labels"][place[3]],
        )
        == key
    ]
    assert len(found) == 1
    return found[0]


def associations(study: StudyMaker) -> tuple[dict[str, Any], dict[str, Any]]:
    vocabulary = explorer.Vocabulary()
    frame = of_reader(study.inputs().estimates, "viewer")
    table = explorer.associations(frame, vocabulary)
    return table, vocabulary.as_json()


def test_every_association_has_its_numbers(make_study: MakeStudy) -> None:
    table, names = associations(make_study())

    k = cell(table, names, "adaptive", "nurse", "gender_presentation", "male")

    assert names["cohorts"][table["d"][k]] == "people"
    assert [names["conditions"][c] for c in table["conditions"]] == ["CF", "CA-R", "CA-U"]
    assert [column["p"][k] for column in table["prevalence"]] == [0.25, 0.25, 0.5, 0.25]
    assert [column["n"][k] for column in table["prevalence"]] == [4, 4, 4, 4]
    assert (table["range"][k], table["chi2"][k], table["q"][k]) == (25.0, 6.25, 0.012)
    assert (table["verdict"][k], table["paper"][k]) == ("shifted", "false")
    assert table["supported"][k] == 1
    jacket = cell(table, names, "adaptive", "nurse", "clothing_garment", "jacket")
    assert table["supported"][jacket] == 0
    assert table["ccs"][jacket] is None


def test_all_columns_are_equally_long_and_valid_json(make_study: MakeStudy) -> None:
    table, _ = associations(make_study())

    size = len(table["g"])
    assert size == 2 * 3 * 11  # generators, roles, labels of five dimensions
    columns = [value for name, value in table.items() if isinstance(value, list) and len(name) < 2]
    assert {len(column) for column in columns} == {size}
    assert {len(c) for p in table["prevalence"] for c in p.values()} == {size}
    json.dumps(table, allow_nan=False)


def test_a_huge_table_keeps_supported_rows_and_says_how_many_there_are(
    make_study: MakeStudy, monkeypatch: Any
) -> None:
    monkeypatch.setattr(explorer, "MOST_ROWS", 10)

    table, _ = associations(make_study())

    assert table["all"] == 66
    assert len(table["g"]) == 60  # the third garment is unsupported for every role and generator
    assert set(table["supported"]) == {1}


def test_facts_give_back_what_the_attributes_say(make_study: MakeStudy) -> None:
    inputs = make_study().inputs()
    thumbnails = embed(inputs.images, budget=10**7)
    vocabulary = explorer.Vocabulary()

    found = explorer.facts(inputs.attributes, "viewer", thumbnails, vocabulary)
    names = vocabulary.as_json()

    def text(place: int, list_name: str) -> str | None:
        return None if place < 0 else names[list_name][place]

    for image, own in zip(thumbnails.images, found["own"], strict=True):
        kinds = [found["kinds"][k] for k in (*found["common"], *own)]
        said = {
            (person, names["dimensions"][d], text(label, "labels"), text(reason, "reasons"))
            for person, d, label, reason in kinds
        }
        facts = inputs.attributes.filter(pl.col("image_id") == image.image_id)
        columns = facts.select("person", "dimension", "label", "missing_reason").iter_rows()
        assert said == {(-1 if p is None else p, d, label, why) for p, d, label, why in columns}


def test_what_holds_for_every_image_is_stored_once() -> None:
    images = [rows.image(name, path=None, status="error") for name in ("a", "b")]
    attributes = frame_of(
        AttributeRow,
        [
            {"image_id": i, "reader": "r", "dimension": d, "label": label, "missing_reason": why}
            for i, mood in (("a", "calm"), ("b", "tense"))
            for d, label, why in (("mood", mood, None), ("pose", None, "not_readable"))
        ],
    )

    found = explorer.facts(attributes, "r", embed(images, budget=0), explorer.Vocabulary())

    assert [len(own) for own in found["own"]] == [1, 1]
    assert len(found["common"]) == 1


def test_links_are_relative_to_the_page_and_escaped(make_study: MakeStudy, tmp_path: Path) -> None:
    inputs = make_study().inputs()
    strange = tmp_path / 'images/a "b" #1?.png'
    images = [rows.image("x", path=str(strange)), rows.image("y", path=None, status="blocked")]
    vocabulary = explorer.Vocabulary()

    found = explorer.pictures(embed(images, budget=0), inputs, vocabulary)

    assert found["href"][1] == ""
    assert unquote(found["href"][0]) == '../images/a "b" #1?.png'
    assert not set(found["href"][0]) & set('"#? ')


def test_pictures_carry_prompt_seed_and_the_size_of_their_cell(make_study: MakeStudy) -> None:
    inputs = make_study(broken=False).inputs()
    vocabulary = explorer.Vocabulary()

    found = explorer.pictures(embed(inputs.images, budget=0), inputs, vocabulary)

    assert not found["complete"]
    assert len(found["seed"]) == 18
    assert {count for *_, count in found["totals"]} == {4}
    texts = {prompt.text for prompt in inputs.prompts}
    assert {text for text, _ in found["prompts"]} <= texts
