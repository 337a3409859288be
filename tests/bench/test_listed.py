"""Prompt lists made elsewhere: shapes, seeds, what is derived, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextbias.bench import build_prompts, load_bank, load_prompt_list, to_jsonl
from contextbias.bench.entries import condition_of
from contextbias.bench.listed import PromptList, parse_prompt_list
from contextbias.errors import BankError, InputError

BANK = load_bank()


def entry(condition: str, text: str, role: str = "nurse", **more: object) -> dict[str, object]:
    return {"role": role, "context": condition, "prompt": text, **more}


def parsed(value: Any) -> PromptList:
    return parse_prompt_list(json.dumps(value).encode(), "list.json")


def variants(found: PromptList) -> dict[str, str]:
    return {prompt.text: f"{prompt.base}/{prompt.variant}" for prompt in found.prompts}


# ---- shapes

FLAT = [
    entry("CF", "a photo of a nurse"),
    entry("CA-R", "a photo of a nurse in a ward"),
    entry("CA-U", "a photo of a nurse in a park"),
]


@pytest.mark.parametrize(
    "value",
    [
        FLAT,
        {"prompts": FLAT},
        {"version": 3, "prompts": FLAT, "seed": 1},
        {"nurse": [{k: v for k, v in row.items() if k != "role"} for row in FLAT]},
        {"nurse": {row["context"]: [row["prompt"]] for row in FLAT}},
        {"nurse": {row["context"]: [{"prompt": row["prompt"]}] for row in FLAT}},
        {row["context"]: [{"role": "nurse", "text": row["prompt"]}] for row in FLAT},
        [{"job": "Nurse", "condition": r["context"], "text": r["prompt"]} for r in FLAT],
    ],
)
def test_shapes(value: Any) -> None:
    found = parsed(value)
    assert [(p.role, p.condition, p.text) for p in found.prompts] == [
        ("nurse", row["context"], row["prompt"]) for row in FLAT
    ]


def test_json_lines() -> None:
    data = "".join(json.dumps(row) + "\n" for row in FLAT).encode()
    assert len(parse_prompt_list(data, "list.jsonl").prompts) == 3


@pytest.mark.parametrize(
    ("word", "condition"),
    [
        ("CF", "CF"), ("context-free", "CF"), ("Context-free_CF", "CF"), ("CA-R", "CA-R"),
        ("ca_r", "CA-R"), ("related", "CA-R"), ("Context-aware_Related_CA-R", "CA-R"),
        ("Context-aware_Unrelated_CA-U", "CA-U"), ("unrelated", "CA-U"), ("park", None),
    ],
)  # fmt: skip
def test_spellings_of_conditions(word: str, condition: str | None) -> None:
    assert condition_of(word) == condition


def test_roles_come_in_the_order_of_the_list_and_conditions_in_theirs() -> None:
    found = parsed([entry("CA-U", "a welder in a park", "Welder"), *reversed(FLAT)])
    assert [(p.role, p.condition) for p in found.prompts] == [
        ("welder", "CA-U"), ("nurse", "CF"), ("nurse", "CA-R"), ("nurse", "CA-U"),
    ]  # fmt: skip


# ---- variants


def test_bases_and_variants_by_hand() -> None:
    # Two phrasings throughout; the paper's own prompts have such marks as "changed" in them.
    found = parsed(
        [
            entry("CF", "a photo of a nurse"),
            entry("CF", "a picture of a nurse"),
            entry("CA-R", "a photo of a nurse in a hospital"),
            entry("CA-R", "a picture of a nurse in a hospital"),
            entry("CA-R", "a photo of a nurse in a clinic"),
            entry("CA-R", "a photo of a nurse taking notes in a hospital"),
            entry("CA-U", "a photo of a nurse in a subway station changed"),
            entry("CA-U", "a photo of a nurse waiting in a subway station changed"),
            entry("CA-U", "a picture of a nurse waiting in a subway station changed"),
            entry("CA-U", "a photo of a nurse reading in a subway station changed"),
            entry("CA-U", "somebody in a subway station"),
        ]
    )
    assert list(variants(found).values()) == [
        "cf/phrasing-1",
        "cf/phrasing-2",
        "rel-place/phrasing-1",
        "rel-place/phrasing-2",
        "rel-place/substitute-location",
        "rel-activity/phrasing-1",
        "unrel-place/phrasing-1",
        "unrel-activity/phrasing-1",
        "unrel-activity/phrasing-2",
        "unrel-activity/substitute-activity",
        "listed/prompt",
    ]
    notes = next(p for p in found.prompts if p.activity == "taking notes")
    assert (notes.location, notes.prompted) == ("hospital", ("activities",))


def test_a_list_of_our_own_sentences_gets_the_variants_that_they_have() -> None:
    built = build_prompts(BANK)
    stripped = [entry(p.condition, p.text, p.role) for p in built]
    found = {p.prompt_id: p for p in parsed(stripped).prompts}
    same = sum((found[p.prompt_id].base, found[p.prompt_id].variant) == (p.base, p.variant)
               for p in built)  # fmt: skip
    assert len(found) == len(built)
    # Not every context can be told apart by its words: an activity without its place alone.
    assert same / len(built) > 0.95


def test_what_the_entry_says_itself_is_kept() -> None:
    built = build_prompts(BANK, ["nurse", "ceo"])
    found = parse_prompt_list(to_jsonl(built).encode(), "ours.jsonl")
    assert {p.prompt_id: (p.base, p.variant, p.location, p.activity, p.prompted, p.text)
            for p in found.prompts} == {
        p.prompt_id: (p.base, p.variant, p.location, p.activity, p.prompted, p.text) for p in built
    }  # fmt: skip


WORDS = st.sampled_from(["in a park", "in a ward", "reading in a park", "running", "", "by a tree"])


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), WORDS, st.sampled_from(["CF", "CA-R", "CA-U"]))))
def test_no_two_prompts_of_a_cell_have_the_same_variant(
    rows: list[tuple[str, str, str]],
) -> None:
    if not rows:
        return
    found = parsed([entry(c, f"{start} photo of a nurse {rest}") for start, rest, c in rows])
    keys = [(p.role, p.condition, p.base, p.variant) for p in found.prompts]
    assert len(keys) == len(set(keys))


# ---- seeds


def test_seeds_are_those_of_the_generator_whatever_its_spelling() -> None:
    seeds = {"SDXL": [5, 7], "Stable Diffusion 3.5": [9]}
    found = parsed([entry("CF", "a photo of a nurse", seeds_by_model=seeds)])
    (prompt,) = found.prompts
    assert found.seeds_of("sdxl") == {prompt.prompt_id: (5, 7)}
    assert found.seeds_of("stable-diffusion_3.5") == {prompt.prompt_id: (9,)}
    assert found.seeds_of("Flux") == {}


def test_a_plain_list_of_seeds_is_for_every_model() -> None:
    found = parsed([entry("CF", "a photo of a nurse", seeds=[1, 2])])
    assert list(found.seeds_of("anything").values()) == [(1, 2)]


def test_a_repeated_entry_adds_its_seeds() -> None:
    first, second = ({"SDXL": [1]}, {"SDXL": [1, 2], "Flux": [3]})
    found = parsed(
        [
            entry("CF", "a photo of a nurse", seeds_by_model=first),
            entry("CF", "a photo of a nurse", seeds_by_model=second),
        ]
    )
    (prompt,) = found.prompts
    assert found.repeated == 1
    assert found.seeds == {"SDXL": {prompt.prompt_id: (1, 2)}, "Flux": {prompt.prompt_id: (3,)}}


# ---- refusals


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([{"role": "nurse", "context": "CF"}], "list.json entry 1 has no key 'prompt'"),
        ([FLAT[0], {"role": "nurse", "context": "CF", "promt": "x"}], "entry 2 .*did you mean"),
        ([{"context": "CF", "prompt": "x"}], "entry 1 has no key 'role'"),
        ([{"role": "nurse", "prompt": "x"}], "entry 1 has no key 'context'"),
        ([entry("outdoors", "x")], "entry 1: context is 'outdoors'. Conditions are CF"),
        ([entry("CF", " ")], "entry 1: prompt is ' '"),
        ([entry("CF", "x", "all")], "the role 'all' has a comma or a meaning"),
        ([entry("CF", "x", seeds_by_model={"SDXL": [-1]})], "entry 1: seeds_by_model has -1"),
        ([entry("CF", "x", seeds_by_model={"SDXL": ["7"]})], "seeds_by_model has '7'"),
        ([entry("CF", "x", seeds_by_model={"SDXL": [7, 7]})], "has the seed 7 twice"),
        ([entry("CF", "x", prompted=["moood"])], "'moood', which is no dimension. Did you mean"),
        ([3], "entry 1 is 3"),
        ([], "has no prompt"),
        ({"nurse": {"outdoors": ["x"]}}, "'nurse', 'outdoors' is no condition"),
    ],
)
def test_what_is_wrong_is_named_with_its_entry_and_key(value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parsed(value)


def test_broken_json_and_other_bytes() -> None:
    with pytest.raises(InputError, match=r"list.json is not valid JSON"):
        parse_prompt_list(b"[{]", "list.json")
    with pytest.raises(InputError, match=r"list.jsonl line 2 is not valid JSON"):
        parse_prompt_list(b'{"role": "x"}\n{"role"\n', "list.jsonl")
    with pytest.raises(InputError, match=r"not UTF-8 text \(byte 1\)"):
        parse_prompt_list(b'"\xff"', "list.json")


CSV = """role,condition,text,seeds,prompted,location
nurse,CF,a photo of a nurse,7;8,,
nurse,CA-R,"a photo of a nurse, in a ward",,activities;items,ward
"""


def test_a_csv() -> None:
    found = parse_prompt_list(CSV.encode(), "list.csv")
    free, related = found.prompts
    assert (free.role, free.condition, free.text) == ("nurse", "CF", "a photo of a nurse")
    assert (related.prompted, related.location) == (("activities", "items"), "ward")
    assert found.seeds == {"*": {free.prompt_id: (7, 8)}}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '"a photo of a nurse, in a ward"',
            "a photo of a nurse, in a ward",
            "line 3: 7 fields where the header has",
        ),
        ("7;8", "7;x", "seeds has 'x'"),
        ("text", "txet", "entry 1 has no key 'prompt'. 'txet': did you mean 'text'"),
        ("nurse,CF", "nurse,CX", "entry 1: context is 'CX'"),
        (CSV, "role,condition,text\n", "list.csv has no prompt"),
        (CSV, "", "list.csv is empty"),
        ('"a photo of a nurse, in a ward"', '"a photo of a nurse', "list.csv, line 3: not CSV"),
    ],
)
def test_what_is_wrong_in_a_csv(old: str, new: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_prompt_list(CSV.replace(old, new).encode(), "list.csv")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*Check the path"):
        load_prompt_list(tmp_path / "none.json")


def test_roles_of_a_list() -> None:
    found = parsed([*FLAT, entry("CF", "a photo of a welder", "welder")])
    assert {p.role for p in found.of_roles(["Welder"])} == {"welder"}
    assert found.of_roles(None) == found.prompts
    with pytest.raises(BankError, match=r"no role 'welde'.*[Dd]id you mean 'welder'"):
        found.of_roles(["welde"])
    with pytest.raises(BankError, match="no role is asked for"):
        found.of_roles([])
