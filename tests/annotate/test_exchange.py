from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from PIL import Image
from tests.annotate.made import answering, given, tokens

from contextbias.annotate.administration import overview
from contextbias.annotate.answering import LONGEST_SECONDS
from contextbias.annotate.exchange import (
    label_studio_config,
    to_csv,
    to_label_studio,
    write_pictures,
)
from contextbias.annotate.intake import from_label_studio
from contextbias.annotate.questions import question
from contextbias.annotation_tables import IMAGE, SET, AnswerRow, LabelRow
from contextbias.errors import InputError
from contextbias.people import Annotations
from contextbias.pipeline.annotation import picture_finder, simulate_people


@pytest.fixture
def answered(folder: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A study with answers, and the same study as it was declared, without any."""
    from contextbias.pipeline.annotation import invite_people

    invite_people(folder, ["someone"])
    bare = tmp_path / "bare"
    shutil.copytree(folder, bare)
    simulate_people(folder, 2)
    return folder, bare


def facts(folder: Path) -> set[tuple[Any, ...]]:
    with Annotations.open(folder) as book:
        return {
            (r.annotator, r.item, r.repeat, r.dimension, r.labels, r.missing_reason, r.count)
            for r in book.labels()
        }


def test_out_to_label_studio_and_back(answered: tuple[Path, Path]) -> None:
    folder, bare = answered
    with answering(folder) as study:
        text = json.dumps(to_label_studio(study.book))
    with answering(bare) as study:
        made = from_label_studio(study, text, "export.json")
        assert set(made) == {"simulated-1", "simulated-2"}
        assert sum(made.values()) == len(facts(folder))
        assert from_label_studio(study, text, "export.json") == dict.fromkeys(made, 0)
        assert {row.kind for row in study.annotators.values()} == {"person", "imported"}
    assert facts(bare) == facts(folder)


def test_what_label_studio_itself_writes(answered: tuple[Path, Path]) -> None:
    """Whole users, ids, a changed answer, a cancelled one, a control of the project's own."""
    _, bare = answered
    with answering(bare) as study:
        item = next(i for i in study.items.values() if i.kind == SET and i.purpose == "sample")
        result = [
            {"from_name": "mood", "type": "choices", "value": {"choices": ["calm"]}},
            {"from_name": "mood__count", "type": "number", "value": {"number": 3}},
            {"from_name": "items", "type": "textarea", "value": {"text": ["cup"]}},
            {"from_name": "items__count", "type": "number", "value": {"number": 2}},
            {"from_name": "age_range", "type": "choices", "value": {"choices": ["unknown"]}},
            {"from_name": "age_range__count", "type": "number", "value": {"number": 0}},
            {"from_name": "remark", "type": "textarea", "value": {"text": "nice"}},
        ]
        task = {
            "id": 7,
            "data": {"item": item.item},
            "annotations": [
                {"id": 1, "completed_by": 10, "lead_time": 30.0, "result": result},
                {"id": 2, "completed_by": 11, "was_cancelled": True, "result": result},
            ],
        }
        assert from_label_studio(study, json.dumps([task]), "x") == {"ls-10": 3}
        result[0]["value"] = {"choices": ["tense"]}
        assert from_label_studio(study, json.dumps([task]), "x") == {"ls-10": 1}
        rows = {row.dimension: row for row in study.book.answers("ls-10")}
        assert (rows["mood"].labels, rows["mood"].version) == (("tense",), 2)
        assert rows["age_range"].missing_reason == "unknown"
        assert rows["age_range"].count is None
        assert rows["items"].labels == ("cup",)
        assert rows["items"].seconds == 10.0  # a third of 30


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not JSON"),
        ("{}", "no list of tasks"),
        ('[{"data": {"item": "nowhere"}}]', "'nowhere', which is not in this study"),
        ('[{"data": 3}]', "not in this study"),
        ('[{"data": {"item": ["ITEM"]}}]', "not in this study"),
        ("[" * 200_000, "nested too deeply"),
        ('{"a":' * 200_000, "nested too deeply"),
        ("[" + "9" * 5000 + "]", "not JSON"),
        ("[null]", "no list of tasks"),
        ('[{"data": {"item": "ITEM"}, "annotations": 5}]', "as Label Studio"),
        ('[{"data": {"item": "ITEM"}, "annotations": {"a": 1}}]', "as Label Studio"),
        ('[{"data": {"item": "ITEM"}, "annotations": [5]}]', "as Label Studio"),
    ],
)
def test_what_is_no_such_export(answered: tuple[Path, Path], text: str, says: str) -> None:
    with answering(answered[1]) as study:
        sent = text.replace("ITEM", min(study.items))
        with pytest.raises(InputError, match=says):
            from_label_studio(study, sent, "export.json")


# One annotation that would be taken in, and what is wrong with each of its parts.
NAN, INFINITE = float("nan"), float("inf")
WRONG = {
    "repeat": ["x", [1], -1, 2, 1.5, INFINITE, True, {"a": 1}],
    "completed_by": [
        None,
        "",
        {},
        [7],
        True,
        {"email": ""},
        {"email": "@annotator.invalid"},
        {"email": "a b|=x\n@annotator.invalid"},
        {"email": "x" * 41 + "@annotator.invalid"},
    ],
    "lead_time": [NAN, INFINITE, -INFINITE, -5, "3", [3], True, 10**400],
    "result": ["abc", {"a": 1}, 5, ["x"], [[]], [{"value": 3, "from_name": "mood"}]],
    "number": [2.9, NAN, INFINITE, None, "3", [3], True, -1, 5, 10**400],
}


def annotated(item: str, **changes: Any) -> str:
    number = changes.pop("number", 3)
    result = [
        {"from_name": "mood", "type": "choices", "value": {"choices": ["calm"]}},
        {"from_name": "mood__count", "type": "number", "value": {"number": number}},
    ]
    annotation = {"id": 1, "completed_by": 10, "lead_time": 30.0, "result": result} | changes
    return json.dumps([{"data": {"item": item}, "annotations": [annotation]}])


@pytest.mark.parametrize("part", WRONG)
def test_a_wrong_part_is_refused_and_nothing_is_taken_in(
    answered: tuple[Path, Path], part: str
) -> None:
    with answering(answered[1]) as study:
        item = next(i.item for i in study.items.values() if i.kind == SET)
        for value in WRONG[part]:
            with pytest.raises(InputError) as refused:
                from_label_studio(study, annotated(item, **{part: value}), "export.json")
            assert "export.json" in str(refused.value), value
        assert study.book.audit_trail() == []
        assert set(study.annotators) == {"someone"}
        assert from_label_studio(study, annotated(item, number=3.0), "x") == {"ls-10": 1}
        overview(study)


def test_a_time_is_cut_as_everywhere(answered: tuple[Path, Path]) -> None:
    with answering(answered[1]) as study:
        item = next(i.item for i in study.items.values() if i.kind == SET)
        from_label_studio(study, annotated(item, lead_time=1e12), "x")
        from_label_studio(study, annotated(item, completed_by=11, lead_time=None), "x")
        assert [row.seconds for row in study.book.audit_trail()] == [LONGEST_SECONDS, 0.0]
        people = {line.row.annotator: line.quality.median_seconds for line in overview(study).lines}
        assert people == {"ls-10": LONGEST_SECONDS, "ls-11": None, "someone": None}


def test_a_typed_reason_is_no_label_on_any_way_in(answered: tuple[Path, Path]) -> None:
    """Else what goes out to Label Studio as a word would come back as a reason."""
    _, bare = answered
    with answering(bare) as study:
        item = next(i.item for i in study.items.values() if i.kind == SET)
        for word in ("unknown", "Unknown", "no_person", "No person!", " not-applicable", "none"):
            fault = question("items", SET).fault((word,), None)
            assert fault is not None, word
            parts = [
                {"from_name": "items", "type": "textarea", "value": {"text": [word]}},
                {"from_name": "items__count", "type": "number", "value": {"number": 2}},
            ]
            if word != "unknown":  # as a whole word it is the reason, as Label Studio writes it
                with pytest.raises(InputError, match="choose it from the list"):
                    from_label_studio(study, annotated(item, result=parts), "x")
        for word in ("unknown person", "nobody's hat", "a none such"):
            assert question("items", SET).fault((word,), None) is None


def test_two_annotations_of_one_person_are_two_versions(answered: tuple[Path, Path]) -> None:
    with answering(answered[1]) as study:
        item = next(i for i in study.items.values() if i.kind == IMAGE)
        parts = [
            {"from_name": "mood", "type": "choices", "value": {"choices": [label]}}
            for label in ("calm", "tense")
        ]
        annotations = [{"completed_by": 1, "result": [part]} for part in parts]
        task = {"data": {"item": item.item}, "annotations": annotations}
        assert from_label_studio(study, json.dumps([task]), "x") == {"ls-1": 2}
        assert from_label_studio(study, json.dumps([task]), "x") == {"ls-1": 0}
        assert [row.labels for row in study.book.audit_trail()] == [("calm",), ("tense",)]
        assert len(study.tasks("ls-1")) == 1


def test_of_two_annotations_of_one_person_the_one_changed_last_counts(
    answered: tuple[Path, Path],
) -> None:
    with answering(answered[1]) as study:
        item, other, third = [i for i in study.items.values() if i.kind == IMAGE][:3]

        def made(label: str, when: str, task: str = item.item) -> dict[str, Any]:
            part = {"from_name": "mood", "type": "choices", "value": {"choices": [label]}}
            created = "2026-01-01T00:00:00.000000Z"
            one = {"completed_by": 1, "created_at": created, "updated_at": when, "result": [part]}
            return {"data": {"item": task}, "annotations": [one]}

        newest, older = made("calm", "2026-01-03T07:00:00Z"), made("tense", "2026-01-02T09:00:00Z")
        assert from_label_studio(study, json.dumps([newest, older]), "x") == {"ls-1": 2}
        assert [row.labels for row in study.book.answers("ls-1")] == [("calm",)]
        # What comes with a later file stands behind what is there.
        more = [newest, made("tense", "2026-01-04T00:00:00Z", other.item), older]
        assert from_label_studio(study, json.dumps(more), "x") == {"ls-1": 1}
        last = made("joyful", "2026-01-05T00:00:00Z", third.item)
        assert from_label_studio(study, json.dumps([last, *more]), "x") == {"ls-1": 1}
        assert [task.assignment.position for task in study.tasks("ls-1")] == [0, 1, 2]


def test_an_older_annotation_that_comes_with_a_later_file_does_not_count(
    answered: tuple[Path, Path],
) -> None:
    with answering(answered[1]) as study:
        item = next(i for i in study.items.values() if i.kind == IMAGE)

        def made(number: int, label: str) -> dict[str, Any]:
            part = {"from_name": "mood", "type": "choices", "value": {"choices": [label]}}
            when = f"2026-01-0{number}T00:00:00.000000Z"
            one = {"id": number, "completed_by": 1, "updated_at": when, "result": [part]}
            return {"data": {"item": item.item}, "annotations": [one]}

        both = json.dumps([made(3, "calm"), made(2, "tense")])
        assert from_label_studio(study, json.dumps([made(3, "calm")]), "x") == {"ls-1": 1}
        assert from_label_studio(study, both, "x") == {"ls-1": 2}
        assert [row.labels for row in study.book.answers("ls-1")] == [("calm",)]
        assert from_label_studio(study, both, "x") == {"ls-1": 0}


def test_one_wrong_answer_and_nothing_is_taken_in(answered: tuple[Path, Path]) -> None:
    folder, bare = answered
    with answering(folder) as study:
        tasks = to_label_studio(study.book)
    task = next(t for t in tasks if t["annotations"])
    part = next(p for p in task["annotations"][0]["result"] if p["from_name"] == "mood")
    part["value"] = {"choices": ["merry"]}
    with answering(bare) as study:
        with pytest.raises(InputError, match=r"mood of .*'merry' is no answer here"):
            from_label_studio(study, json.dumps(tasks), "x")
        assert study.book.audit_trail() == []
        assert set(study.annotators) == {"someone"}


def test_who_answers_here_is_not_overwritten(answered: tuple[Path, Path]) -> None:
    folder, _ = answered
    with answering(folder) as study:
        text = json.dumps(to_label_studio(study.book))
        with pytest.raises(InputError, match="own pages"):
            from_label_studio(study, text, "x")


def test_label_studio_sees_no_role_and_no_condition(answered: tuple[Path, Path]) -> None:
    folder, _ = answered
    with answering(folder) as study:
        text = json.dumps([task["data"] for task in to_label_studio(study.book, "http://x/")])
        shown = {image for item in study.items.values() for image in item.image_ids}
        assert write_pictures(study.book, picture_finder(folder), folder / "out") == len(shown)
    assert "nurse" not in text
    assert "CA-" not in text
    assert '"http://x/' in text
    for path in (folder / "out").iterdir():
        with Image.open(path) as picture:
            assert picture.format == "WEBP"
            assert set(picture.info) <= {"loop", "background", "timestamp", "duration"}


@pytest.mark.parametrize("kind", [SET, IMAGE])
def test_the_interface_has_every_control(kind: str) -> None:
    root = ElementTree.fromstring(label_studio_config(["mood", "items"], kind, 10))
    names = {node.get("name") for node in root if node.get("name")}
    counts = {"mood__count", "items__count"} if kind == SET else set()
    assert names == {"pictures", "mood", "items", "items__reason"} | counts
    moods = [n.get("value") for n in root.iterfind("Choices[@name='mood']/Choice")]
    assert moods[0] == "calm"
    assert moods[-1] == "unknown"


def test_csv_holds_answers_as_they_are(folder: Path) -> None:
    tokens(folder)
    with answering(folder) as study:
        study.agree("a1")
        images = [t for t in study.tasks("a1") if t.item.kind == IMAGE]
        place = next(t for t in images if t.item.purpose == "sample").assignment.position
        labels = ("=cmd()", 'a "cup", blue')
        study.submit("a1", given(place, "items", labels=labels, missing_reason=None))
        study.submit("a1", given(place, "items", based_on=1, key="second"))
        now, all_of_it = study.book.labels(), study.book.audit_trail()
    (row,) = csv.DictReader(io.StringIO(to_csv(now, LabelRow)))
    assert row["missing_reason"] == "unknown"
    assert row["labels"] == row["count"] == ""
    assert float(row["weight"]) == pytest.approx(1 / float(row["probability"]))
    first, second = csv.DictReader(io.StringIO(to_csv(all_of_it, AnswerRow)))
    # A spreadsheet must not take a label for a formula.
    assert first["labels"] == '\'=cmd()|a "cup", blue'
    assert (first["version"], second["version"]) == ("1", "2")
