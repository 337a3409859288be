from __future__ import annotations

import json
from typing import Any

from tests.report.made_study import MakeStudy, StudyMaker

from contextbias.report import associations, explorer
from contextbias.report.select import of_reader


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


def table_of(study: StudyMaker) -> tuple[dict[str, Any], dict[str, Any]]:
    vocabulary = explorer.Vocabulary()
    frame = of_reader(study.inputs().estimates, "viewer")
    table = associations.associations(frame, vocabulary)
    return table, vocabulary.as_json()


def test_every_association_has_its_numbers(make_study: MakeStudy) -> None:
    table, names = table_of(make_study())

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
    table, _ = table_of(make_study())

    size = len(table["g"])
    assert size == 2 * 3 * 11  # generators, roles, labels of five dimensions
    columns = [value for name, value in table.items() if isinstance(value, list) and len(name) < 2]
    assert {len(column) for column in columns} == {size}
    columns = [column for p in table["prevalence"] for column in p.values()]
    assert {len(column) for column in columns if column is not None} == {size}
    # Of what the study has no numbers, there is no column.
    assert table["clustered"] is None
    assert table["prevalence"][0]["least"] is None
    json.dumps(table, allow_nan=False)


def test_a_huge_table_keeps_supported_rows_and_says_how_many_there_are(
    make_study: MakeStudy, monkeypatch: Any
) -> None:
    monkeypatch.setattr(associations, "MOST_ROWS", 10)

    table, _ = table_of(make_study())

    assert table["all"] == 66
    assert len(table["g"]) == 10  # the third garment is unsupported for every role and generator
    assert set(table["supported"]) == {1}
    seen = [sum(of["p"][k] * of["n"][k] for of in table["prevalence"][:3]) for k in range(10)]
    assert min(seen) == 9  # 0.75 of 4 images in each of three conditions: the most there is
