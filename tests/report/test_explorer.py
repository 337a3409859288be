from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import polars as pl
from tests import rows
from tests.report.made_study import MakeStudy, frame_of

from contextbias.report import explorer
from contextbias.report.thumbnails import embed
from contextbias.tables import AttributeRow


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
