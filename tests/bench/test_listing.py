"""CSV and JSON lines hold the same list."""

from __future__ import annotations

import csv
import io
import json

from contextbias.bench import Bank, build_prompts, to_csv, to_jsonl
from contextbias.bench.listing import COLUMNS


def test_csv_by_hand(bank: Bank) -> None:
    lines = to_csv(build_prompts(bank, ["doctor"])).split("\n")
    assert lines[0] == "id,role,condition,base,variant,location,activity,text,prompted"
    assert lines[1].endswith(",doctor,CF,cf,phrasing-1,,,a photo of a doctor,")
    assert lines[8].endswith(
        ",doctor,CA-R,rel-activity,phrasing-1,health clinic,reviewing an X-ray,"
        "a photo of a doctor reviewing an X-ray in a health clinic,activities;items"
    )
    assert lines[-1] == ""
    assert len(lines) == 1 + 18 + 1


def test_both_forms_hold_the_same(bank: Bank) -> None:
    prompts = build_prompts(bank)
    rows = list(csv.DictReader(io.StringIO(to_csv(prompts))))
    objects = [json.loads(line) for line in to_jsonl(prompts).splitlines()]
    assert all(tuple(row) == COLUMNS for row in (*rows, *objects))
    for row, entry in zip(rows, objects, strict=True):
        as_text = {key: value or "" for key, value in entry.items() if key != "prompted"}
        assert row == {**as_text, "prompted": ";".join(entry["prompted"])}


def test_nothing_is_an_empty_field_in_csv_and_null_in_json(bank: Bank) -> None:
    first = build_prompts(bank)[:1]
    entry = json.loads(to_jsonl(first))
    assert entry["location"] is None
    assert entry["activity"] is None
    assert entry["prompted"] == []
    assert next(csv.DictReader(io.StringIO(to_csv(first))))["location"] == ""


def test_no_prompt_is_a_header_alone() -> None:
    assert to_csv([]) == ",".join(COLUMNS) + "\n"
    assert to_jsonl([]) == ""
