"""Constrained decoding: at every token only those that can go on to an answer on schema.

The grammar is made once from the JSON schema; a `Constraint` goes through it once for each answer
of a batch, and serves one call of ``generate``. Blanks between the tokens of JSON are off: some
models never leave them.

Tokens are drawn here too, where they are, from random numbers of each answer's own, so that it does
not depend on what else is in the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import llguidance.numpy
import torch
from llguidance import LLExecutor, LLMatcher
from llguidance.hf import from_tokenizer

from contextbias.errors import MissingPart, pip_install

_BITS = 32  # of a word of the mask


class Grammar:
    """A schema, ready for a model's tokens.

    Args:
        schema: Closed objects, bounded lists and strings; see `schema.strict_schema`.
        tokenizer: The model's own.
        vocabulary: Tokens that the model knows, those without a meaning included.
        ends: Ids of the tokens that end an answer.

    Raises:
        MissingPart: The tokenizer, or the schema, is beyond llguidance.
    """

    def __init__(
        self, schema: dict[str, Any], tokenizer: Any, *, vocabulary: int, ends: Sequence[int]
    ) -> None:
        self.vocabulary = max(vocabulary, len(tokenizer))
        """Tokens of the mask."""
        try:
            # No slices: they are for open text, and answers are mostly closed.
            self.tokens = from_tokenizer(
                tokenizer, n_vocab=self.vocabulary, eos_token=list(ends), slices=[]
            )
        except Exception as error:  # of Rust, of every kind
            raise MissingPart(
                f"llguidance cannot use the model's tokenizer ({error})",
                "name a model with a fast tokenizer (tokenizer.json)",
            ) from None
        self.text = LLMatcher.grammar_from_json_schema(
            schema, overrides={"whitespace_flexible": False}
        )
        """For llguidance."""
        fault = LLMatcher.validate_grammar(self.text, self.tokens)
        if fault:
            raise MissingPart(
                f"llguidance cannot use the schema ({fault})", pip_install("-U", "llguidance")
            )
        self.executor = LLExecutor()
        """Threads that compute the masks of a batch."""

    def matcher(self) -> LLMatcher:
        """One way through the grammar, at its beginning."""
        return LLMatcher(self.tokens, self.text)


class Constraint:
    """A logits processor of transformers, for one call of ``generate``.

    Args:
        grammar: What answers have to follow.
        seeds: One for each answer of the batch.
        temperature: 0: the likeliest token; above: drawn.
    """

    def __init__(self, grammar: Grammar, seeds: Sequence[int], temperature: float) -> None:
        self._grammar = grammar
        self._matchers = [grammar.matcher() for _ in seeds]
        self._temperature = temperature
        # On the CPU: the same numbers on every device.
        self._random = [torch.Generator("cpu").manual_seed(seed) for seed in seeds]
        self._mask = llguidance.numpy.allocate_token_bitmask(len(seeds), grammar.vocabulary)
        self._began = False
        self._broken: Any = None

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Scores with minus infinity for all tokens that cannot be.

        Args:
            input_ids: Tokens so far, answers x length.
            scores: Of the next token, answers x vocabulary.
        """
        if self._began:
            self._consume(input_ids[:, -1].tolist())
        self._began = True
        lost = torch.isnan(scores).any(dim=-1)
        # Looked at in the end: a look at every token would wait for the device.
        self._broken = lost if self._broken is None else self._broken | lost
        allowed = self._allowed(scores)
        scores = scores.masked_fill(~allowed, -torch.inf)
        return self._drawn(scores) if self._temperature else scores

    def faults(self) -> list[str | None]:
        """What went wrong with each answer; None for those where nothing did."""
        lost = [False] * len(self._matchers) if self._broken is None else self._broken.tolist()
        return [
            "the model computed values that are no numbers" if is_lost else each.get_error() or None
            for each, is_lost in zip(self._matchers, lost, strict=True)
        ]

    def _consume(self, tokens: Sequence[int]) -> None:
        for matcher, token in zip(self._matchers, tokens, strict=True):
            if not matcher.is_stopped():  # what follows the end is padding
                matcher.consume_token(token)

    def _allowed(self, scores: Any) -> Any:
        """Which tokens can be, as booleans of the form of `scores`."""
        llguidance.numpy.fill_next_token_bitmask_par(
            self._grammar.executor,
            [(matcher, row) for row, matcher in enumerate(self._matchers)],
            self._mask,
        )
        words = torch.from_numpy(self._mask).to(scores.device).unsqueeze(-1)
        places = torch.arange(_BITS, dtype=torch.int32, device=scores.device)
        bits = ((words >> places) & 1).bool()
        return bits.flatten(start_dim=1)[:, : scores.shape[1]]

    def _drawn(self, scores: Any) -> Any:
        """Scores that leave one token each, drawn by its probability."""
        # In double precision, which Apple's GPUs do not have.
        exact = scores.cpu().double() if scores.device.type == "mps" else scores.double()
        sums = torch.softmax(exact / self._temperature, dim=-1).cumsum(dim=-1)
        drawn = [torch.rand((), generator=each, dtype=torch.float64) for each in self._random]
        reached = sums <= torch.stack(drawn).to(sums.device).unsqueeze(-1) * sums[:, -1:]
        chosen = reached.sum(dim=-1, keepdim=True).clamp(max=scores.shape[1] - 1)
        only = torch.full_like(scores, -torch.inf)
        return only.scatter(1, chosen.to(scores.device), 0.0)
