"""What a model is told, in the words of its own template."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contextbias.errors import MissingPart
from contextbias.extract.transformers.loading import load_processor
from contextbias.extract.transformers.wording import Wording
from contextbias.extract.vision.instructions import REQUEST, instructions

WORDS = instructions(people=1)
SYSTEM_REFUSED = (
    "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
)
USER_ONLY = (
    "{% for m in messages if m.role == 'user' %}[{% for p in m.content %}"
    "{{ '<image>' if p.type == 'image' else p.text }}{% endfor %}]{% endfor %}"
)


@pytest.fixture
def processor(folder: Path) -> Any:
    return load_processor(folder)


def with_template(processor: Any, template: str | None) -> Any:
    processor.chat_template = processor.tokenizer.chat_template = template
    return processor


def test_the_words_stand_first_and_the_picture_after_them(processor: Any) -> None:
    text = Wording(processor, WORDS).text([])
    assert text.startswith(f"<|system|>\n{WORDS.text}</s>\n<|user|>\n<image>{REQUEST}</s>")
    assert text.endswith("<|assistant|>\n")


def test_a_faulty_answer_and_its_faults_follow(processor: Any) -> None:
    text = Wording(processor, WORDS).text([('{"scene":1}', ["scene is not an object"])])
    again = WORDS.repair(["scene is not an object"])
    assert f'<|assistant|>\n{{"scene":1}}</s>\n<|user|>\n{again}</s>' in text
    assert text.count("<image>") == 1


@pytest.mark.parametrize("refused", [True, False])
def test_a_template_without_a_system_gets_the_words_from_the_user(
    processor: Any, refused: bool
) -> None:
    before = processor.chat_template
    template = SYSTEM_REFUSED + before if refused else USER_ONLY
    text = Wording(with_template(processor, template), WORDS).text([])
    assert text.index(WORDS.text) < text.index("<image>") < text.index(REQUEST)
    assert "<|system|>" not in text


@pytest.mark.parametrize(
    ("template", "said"),
    [
        (None, "no template"),
        ("{{ raise_exception('never') }}", "does not take a text with a picture"),
        ("{% for m in messages %}{{ m.content }}{% endfor %}", "does not take"),  # lists as code
        ("hello", "does not take"),
    ],
)
def test_a_template_that_is_of_no_use(processor: Any, template: str | None, said: str) -> None:
    with pytest.raises(MissingPart, match=said):
        Wording(with_template(processor, template), WORDS)


def test_the_mark_of_the_beginning_is_not_doubled(processor: Any) -> None:
    wording = Wording(processor, WORDS)
    assert wording.starts_itself("<s>hello")
    assert not wording.starts_itself("hello")


def test_nothing_of_the_study_is_in_it(reader: Callable[..., Any]) -> None:
    # The text is made from the instructions alone: there is nothing else that it could hold.
    told = reader().answering._wording.text([])
    assert "nurse" not in told
    assert "image-0" not in told
