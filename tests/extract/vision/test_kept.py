"""Answers are kept as they came, small, and can be looked at again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextbias.extract.vision.kept import opened, packed, readable
from contextbias.schema import empty_person, empty_record


@given(st.lists(st.text(), max_size=3))
def test_every_text_comes_back(texts: list[str]) -> None:
    raw = json.loads(json.dumps({"answers": packed(texts)}))
    assert opened(raw) == texts
    assert readable(raw) == {"answers": texts}


def test_an_answer_takes_less_room() -> None:
    text = json.dumps(empty_record() | {"people": [empty_person(), empty_person()]})
    assert len(packed([text])[0]) < len(text) / 3


def test_a_reading_without_answers_has_none() -> None:
    assert opened({"boxes": []}) == []
    assert readable({"boxes": []}) == {"boxes": []}


@pytest.mark.parametrize("stored", ["text", [3], ["no base64!"], ["aGVsbG8="]])
def test_what_is_no_packed_text_is_said(stored: Any) -> None:
    with pytest.raises(ValueError, match=r"answers|packed text"):
        opened({"answers": stored})
