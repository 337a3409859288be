from __future__ import annotations

from pathlib import Path

import pytest
from tests.annotate.made import answering, rewrite, tokens

from contextbias.annotate.gold import KnownAnswers, answers_in, known_about, read_answers
from contextbias.annotation_tables import GOLD, IMAGE, SAMPLE, SET, TRAINING
from contextbias.errors import InputError
from contextbias.schema import empty_person, empty_record
from contextbias.store import Study
from contextbias.tables import ImageRow


def known(*ages: str) -> KnownAnswers:
    return KnownAnswers({f"i{n}": {"age_range": (age,)} for n, age in enumerate(ages)})


def test_what_most_pictures_of_a_set_show_is_right() -> None:
    answers = known("teen", "child", "teen", "unknown", "teen")
    about = known_about([f"i{n}" for n in range(5)], answers, SET)
    assert about == {"age_range": {"labels": ["teen"], "count": 3}}


def test_ties_are_all_right_and_reasons_have_no_count() -> None:
    about = known_about(["i0", "i1"], known("teen", "child"), SET)
    assert about["age_range"] == {"labels": ["child", "teen"], "count": 1}
    about = known_about(["i0", "i1"], known("unknown", "unknown"), SET)
    assert about["age_range"] == {"labels": ["unknown"], "count": None}


def test_of_a_set_all_pictures_must_be_known() -> None:
    answers = KnownAnswers({"i0": {"age_range": ("teen",)}, "i1": {"mood": ("calm",)}})
    assert known_about(["i0", "i1"], answers, SET) == {}
    assert known_about(["i1"], answers, IMAGE) == {"mood": {"labels": ["calm"], "count": None}}


def test_records_become_answers() -> None:
    record = empty_record()
    record["objects"]["items"] = []
    record["scene"]["weather"] = "not_applicable"
    assert answers_in(record)["items"] == ("empty",)
    assert answers_in(record)["weather"] == ("not_applicable",)
    assert answers_in(record)["age_range"] == ("no_person",)
    bald = empty_person() | {"hair_present": "no", "accessories": [], "clothing_color": ["red"]}
    record["people"] = [bald, empty_person() | {"hair_color": "red"}]
    found = answers_in(record)
    assert found["hair_color"] == ("not_applicable",)
    assert found["accessories"] == ("none",)  # its vocabulary has a word for it
    assert found["clothing_color"] == ("red",)
    assert found["mood"] == ("unknown",)


def test_gold_and_training_are_not_of_the_sample(folder: Path) -> None:
    tokens(folder)
    with answering(folder) as study:
        items = list(study.items.values())
    by = {p: [i for i in items if i.purpose == p] for p in (SAMPLE, GOLD, TRAINING)}
    # 3 sets and 5 images; one gold and one training item of each kind.
    assert [len(by[p]) for p in (SAMPLE, GOLD, TRAINING)] == [8, 2, 2]
    shown = {image for item in by[SAMPLE] for image in item.image_ids}
    assert not shown & {image for item in by[GOLD] + by[TRAINING] for image in item.image_ids}
    assert all(item.gold and item.probability is None for item in by[GOLD] + by[TRAINING])
    assert all(item.gold is None for item in by[SAMPLE])


TABLE = "image,dimension,label,use\n"


def images(number: int = 2) -> list[ImageRow]:
    from tests.rows import image

    return [image(image_id=f"i{n}", path=f"images/{n}.png") for n in range(number)]


def test_a_table_of_known_answers(tmp_path: Path) -> None:
    path = tmp_path / "gold.csv"
    path.write_text(
        TABLE
        + "images/0.png,clothing_color,red,gold\ni0,clothing_color,blue,gold\n"
        + "i0,clothing_color,red,gold\n"
        + "i1,mood,unknown,training\ni1,items,anything at all,\n"
    )
    answers = read_answers(path, images())
    assert answers.by_image["i0"] == {"clothing_color": ("red", "blue")}
    assert answers.by_image["i1"]["items"] == ("anything at all",)
    assert answers.images("gold") == {"i0", "i1"}
    assert answers.images("training") == {"i1"}


def test_a_table_of_another_countrys_editor(tmp_path: Path) -> None:
    path = tmp_path / "gold.csv"
    path.write_text("sep=;\nimage;dimension;label\ni0;items;hat, red\n")
    assert read_answers(path, images()).by_image == {"i0": {"items": ("hat, red",)}}


def test_columns_in_any_order_and_others_beside_them(tmp_path: Path) -> None:
    path = tmp_path / "gold.csv"
    lines = ["\ufefflabel, note,dimension,image", ' calm ,"sure, quite",mood, i0', "",
             "tense,,mood,i1, ", ""]  # fmt: skip
    path.write_bytes("\r\n".join(lines).encode())
    answers = read_answers(path, images())
    assert answers.by_image == {"i0": {"mood": ("calm",)}, "i1": {"mood": ("tense",)}}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "gold.csv is empty. Its header is image,dimension,label"),
        (
            "image,dimension,labels\ni0,mood,calm\n",
            "no column 'label'; its header is 'image,dimension,",
        ),
        ('image,dimension,label\ni0,mood,"calm\n', "gold.csv, line 2: not CSV"),
        (f"image,dimension,label\ni0,mood,{'x' * 200_000}\n", "line 2: not CSV"),
    ],
)
def test_what_is_no_table_of_known_answers(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "gold.csv"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_answers(path, images())
    assert says in str(caught.value)


def test_nothing_is_known_in_the_word_that_people_are_offered(tmp_path: Path) -> None:
    path = tmp_path / "gold.csv"
    path.write_text(TABLE + "i0,accessories,empty,\ni0,clothing_color,empty,\ni1,items,empty,\n")
    answers = read_answers(path, images()).by_image
    assert answers["i0"] == {"accessories": ("none",), "clothing_color": ("empty",)}
    assert answers["i1"] == {"items": ("empty",)}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("i9,mood,calm,", "line 2: no image 'i9'. Give an image's id or path as the study has it, "
         "such as i0 or images/1.png"),
        ("i0,moood,calm,", "no dimension 'moood'. Did you mean 'mood'"),
        ("i0,mood,clam,", "mood has no label 'clam'. Did you mean 'calm'"),
        ("i0,mood,calm,test", "use 'test'"),
        ("i0,mood,,", "line 2: no label"),
        ("i0,mood,empty,", "mood: 'empty' is no reason here. Reasons here are unknown"),
        ("i0,mood,no_person,", "mood: 'no_person' is no reason here"),
        ("i0,items,none,", "'none' is typed; choose it from the list instead. Reasons here are "
         "unknown, empty"),
        ("", "no known answer"),
    ],
)  # fmt: skip
def test_a_wrong_table_says_where(tmp_path: Path, line: str, says: str) -> None:
    path = tmp_path / "gold.csv"
    path.write_text(TABLE + line + "\n")
    with pytest.raises(InputError) as caught:
        read_answers(path, images())
    assert says in str(caught.value)


def test_a_table_that_is_not_there(folder: Path) -> None:
    rewrite(folder, 'gold = "planted"', 'gold = "gold.csv"')
    with pytest.raises(InputError, match=r"gold\.csv"):
        tokens(folder)


def test_nothing_is_planted_in_real_images(folder: Path) -> None:
    for truth in folder.rglob("*.truth.json"):
        truth.unlink()
    with pytest.raises(InputError, match="nothing is planted"):
        tokens(folder)
    with Study.open(folder) as study:
        assert study.images()  # and nothing else was touched
