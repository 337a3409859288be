"""Constrained decoding with scores from a table or a random generator: no model is needed."""

from __future__ import annotations

import importlib
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, normalizers, trainers
from transformers import PreTrainedTokenizerFast

from contextbias.errors import MissingPart
from contextbias.extract.transformers.constraint import Constraint, Grammar
from contextbias.extract.transformers.loading import load_processor
from contextbias.extract.vision.answers import parse_answer
from contextbias.extract.vision.instructions import instructions
from contextbias.schema import empty_person, empty_record
from contextbias.schema.strict import strict_schema

VOCABULARY = 2100  # 52 more than the tokenizer has
END = 2
Scores = Callable[[int], Any]


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> Any:
    return load_processor(folder).tokenizer


@pytest.fixture(scope="module")
def grammar(tokenizer: Any) -> Grammar:
    return Grammar(strict_schema(people=2), tokenizer, vocabulary=VOCABULARY, ends=[END])


def answers(
    grammar: Grammar, tokenizer: Any, scores: Scores, seeds: list[int], *, temperature: float = 0.0
) -> list[str]:
    """What is said when the likeliest allowed token is taken each time, as ``generate`` does."""
    constraint = Constraint(grammar, seeds, temperature)
    said = torch.zeros((len(seeds), 1), dtype=torch.long)
    ended = torch.zeros(len(seeds), dtype=torch.bool)
    for step in range(3000):
        chosen = constraint(said, scores(step)).argmax(dim=-1)
        chosen[ended] = 0  # padding
        ended |= chosen == END
        said = torch.cat([said, chosen.unsqueeze(-1)], dim=-1)
        if ended.all():
            break
    assert constraint.faults() == [None] * len(seeds)
    texts = [tokenizer.decode(row, skip_special_tokens=True) for row in said[:, 1:]]
    return [str(text) for text in texts]


def at_random(rows: int, seed: int = 0) -> Scores:
    source = torch.Generator().manual_seed(seed)
    return lambda _: torch.randn((rows, VOCABULARY), generator=source) * 3


def only_contradictions(text: str) -> bool:
    """Whether an answer is on schema; what a schema cannot say may still be wrong."""
    known = ("is 'no' but", "is 'yes' but", "has 'none' beside")
    return all(any(each in fault for each in known) for fault in parse_answer(text).faults)


def test_answers_from_random_scores_end_and_follow_the_schema(
    grammar: Grammar, tokenizer: Any
) -> None:
    told = answers(grammar, tokenizer, at_random(8), [0] * 8)
    assert len(set(told)) == 8
    for text in told:
        assert only_contradictions(text)
        assert text == json.dumps(json.loads(text), separators=(",", ":"))


def with_blanks_in_tokens() -> PreTrainedTokenizerFast:
    """A tokenizer as Llama 2, and so the first LLaVA, has it: blanks as a letter, bytes for what
    it does not know."""
    made = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    made.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    made.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
         decoders.Strip(" ", 1, 0)]
    )  # fmt: skip
    known = ["<unk>", "<s>", "</s>", *(f"<0x{number:02X}>" for number in range(256))]
    trainer = trainers.BpeTrainer(
        vocab_size=2000, special_tokens=known, show_progress=False, max_token_length=8
    )
    answer = {**empty_record(), "people": [empty_person()]}
    made.train_from_iterator([*instructions().text.splitlines(), json.dumps(answer)], trainer)
    told = json.loads(made.to_str())
    told["added_tokens"] = [t for t in told["added_tokens"] if not t["content"].startswith("<0x")]
    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(told)), bos_token="<s>", eos_token="</s>"
    )


def test_another_kind_of_tokenizer() -> None:
    tokenizer = with_blanks_in_tokens()
    grammar = Grammar(strict_schema(people=2), tokenizer, vocabulary=VOCABULARY, ends=[END])
    for text in answers(grammar, tokenizer, at_random(4), [0] * 4):
        assert only_contradictions(text)


def test_a_model_that_loves_blanks_writes_none(grammar: Grammar, tokenizer: Any) -> None:
    scores = at_random(1)(0) * 0.01
    for token, number in tokenizer.get_vocab().items():
        if not tokenizer.convert_tokens_to_string([token]).strip():
            scores[0, number] = 50.0
    (text,) = answers(grammar, tokenizer, lambda _: scores, [0])
    assert only_contradictions(text)
    assert not set(text) & set("\t\n\r")
    assert '": ' not in text
    assert ", " not in text


def test_a_model_that_loves_its_unused_tokens_says_none(grammar: Grammar, tokenizer: Any) -> None:
    scores = at_random(1)(0)
    scores[0, len(tokenizer) :] = 100.0  # they stand for nothing
    scores[0, :7] = 100.0  # and these for the marks of a conversation
    (text,) = answers(grammar, tokenizer, lambda _: scores, [0])
    assert only_contradictions(text)


def test_what_is_drawn_depends_on_the_answers_own_seed(grammar: Grammar, tokenizer: Any) -> None:
    scores = at_random(1)(0)

    def drawn(seeds: list[int]) -> list[str]:
        rows = scores.expand(len(seeds), -1)
        return answers(grammar, tokenizer, lambda _: rows, seeds, temperature=1.0)

    together = drawn([5, 6, 7])
    assert len(set(together)) == 3
    assert drawn([7, 5]) == [together[2], together[0]]
    assert all(only_contradictions(text) for text in together)


def test_tokens_are_drawn_by_their_probability(grammar: Grammar, tokenizer: Any) -> None:
    # First after "{" is the key "camera" alone; so a schema with two labels, of one token each.
    schema = {"type": "string", "enum": ["a", "b"]}
    two = Grammar(schema, tokenizer, vocabulary=VOCABULARY, ends=[END])
    scores = torch.full((1, VOCABULARY), -30.0)
    vocabulary = tokenizer.get_vocab()
    scores[0, vocabulary["a"]] = torch.tensor(0.8).log() * 2  # doubled, and halved by temperature 2
    scores[0, vocabulary["b"]] = torch.tensor(0.2).log() * 2
    rows = scores.expand(400, -1)
    told = Counter(answers(two, tokenizer, lambda _: rows, list(range(400)), temperature=2.0))
    assert set(told) == {'"a"', '"b"'}
    assert 280 <= told['"a"'] <= 360  # 320 expected, standard deviation 8


def test_values_that_are_no_numbers_are_noticed(grammar: Grammar) -> None:
    constraint = Constraint(grammar, [0, 0], 0.0)
    scores = at_random(2)(0)
    scores[1, 5] = torch.nan
    constraint(torch.zeros((2, 1), dtype=torch.long), scores)
    first, second = constraint.faults()
    assert first is None
    assert second is not None
    assert "no numbers" in second


def test_a_token_against_the_grammar_is_noticed(grammar: Grammar, tokenizer: Any) -> None:
    constraint = Constraint(grammar, [0], 0.0)
    constraint(torch.zeros((1, 1), dtype=torch.long), at_random(1)(0))
    wrong = tokenizer.get_vocab()["z"]
    constraint(torch.tensor([[0, wrong]]), at_random(1)(1))
    (fault,) = constraint.faults()
    assert fault is not None


def test_a_tokenizer_that_is_of_no_use() -> None:
    class Slow:
        eos_token_id = 2

        def __len__(self) -> int:
            return 10

    with pytest.raises(MissingPart, match="fast tokenizer"):
        Grammar(strict_schema(), Slow(), vocabulary=10, ends=[2])


def test_a_schema_that_is_of_no_use(tokenizer: Any) -> None:
    with pytest.raises(MissingPart, match="cannot use the schema"):
        Grammar({"type": "string", "pattern": "("}, tokenizer, vocabulary=VOCABULARY, ends=[END])


def test_the_miniature_is_the_same_each_time(folder: Path, tmp_path: Path) -> None:
    again = importlib.import_module("tests.extract.transformers.tiny").save(tmp_path / "again")
    for name in ("model.safetensors", "tokenizer.json"):
        assert (again / name).read_bytes() == (folder / name).read_bytes()
