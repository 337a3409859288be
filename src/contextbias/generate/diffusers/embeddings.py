"""Prompts encoded once each, and reused over all their seeds.

Bitwise the same pictures come out as if the pipeline had been given the text; a test holds that for
each family. Pipelines of no known family are given the text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from contextbias.generate.diffusers.recipe import Recipe

_KEPT_BYTES = 2 << 30
"""Encoded prompts that are kept: all of the bank's for SDXL and Qwen-Image, some hundred of a model
with T5-XXL, whose encoding is under a hundredth of the work of an image."""

Rows = dict[str, Any]
"""Argument of the call -> tensor, first dimension: images."""


class Embeddings:
    """The encoded prompts of one loaded pipeline.

    Args:
        pipeline: With its text encoders.
        recipe: Whether there is a negative prompt.
    """

    def __init__(self, pipeline: Any, recipe: Recipe) -> None:
        self._pipeline = pipeline
        self._recipe = recipe
        self._encode = _FAMILIES.get(recipe.profile.family)
        self._kept: dict[str, Rows] = {}
        self._bytes = 0
        self._last: tuple[str, Rows] | None = None
        self._negative: Rows | None = None
        self.encoded = 0
        """Prompts that were encoded so far."""

    def arguments(self, texts: Sequence[str]) -> Rows:
        """What a call for images of `texts`, one each, is given instead of the texts."""
        if self._encode is None:
            given: Rows = {"prompt": list(texts)}
            if self._recipe.negative is not None:
                given["negative_prompt"] = [self._recipe.negative] * len(texts)
            return given
        rows = [self._once(text) for text in texts]
        call = {name: _stacked([row[name] for row in rows]) for name in rows[0]}
        if self._recipe.guided:
            for name, row in self._negatives().items():
                call[f"negative_{name}"] = _stacked([row] * len(texts))
        return call

    def _once(self, text: str) -> Rows:
        if self._last is not None and self._last[0] == text:
            return self._last[1]
        device = self._pipeline._execution_device
        kept = self._kept.get(text)
        if kept is None:
            kept = self._encoded(text, False)
            size = sum(value.nbytes for value in kept.values())
            if self._bytes + size <= _KEPT_BYTES:
                self._kept[text] = {name: value.cpu() for name, value in kept.items()}
                self._bytes += size
        rows = {name: value.to(device) for name, value in kept.items()}
        self._last = (text, rows)
        return rows

    def _negatives(self) -> Rows:
        if self._negative is None:
            self._negative = self._encoded(self._recipe.negative, True)
        return self._negative

    def _encoded(self, text: str | None, negative: bool) -> Rows:
        import torch

        assert self._encode is not None
        self.encoded += not negative
        with torch.no_grad():
            return self._encode(self._pipeline, self._recipe, text, negative)


def _sdxl(pipeline: Any, recipe: Recipe, text: str | None, negative: bool) -> Rows:
    # None is not the empty text: it becomes zeros where the model was trained so.
    given = {"prompt": "", "negative_prompt": text} if negative else {"prompt": text}
    skip = None if negative else recipe.call.get("clip_skip")
    found = pipeline.encode_prompt(**given, do_classifier_free_guidance=negative, clip_skip=skip)
    return {"prompt_embeds": found[int(negative)], "pooled_prompt_embeds": found[2 + int(negative)]}


def _sd3(pipeline: Any, recipe: Recipe, text: str | None, negative: bool) -> Rows:
    found = pipeline.encode_prompt(
        prompt=text or "",
        prompt_2=None,
        prompt_3=None,
        do_classifier_free_guidance=False,
        clip_skip=None if negative else recipe.call.get("clip_skip"),
        max_sequence_length=recipe.longest,
    )
    return {"prompt_embeds": found[0], "pooled_prompt_embeds": found[2]}


def _flux(pipeline: Any, recipe: Recipe, text: str | None, _: bool) -> Rows:
    found = pipeline.encode_prompt(text or "", max_sequence_length=recipe.longest)
    return {"prompt_embeds": found[0], "pooled_prompt_embeds": found[1]}


def _qwen(pipeline: Any, recipe: Recipe, text: str | None, _: bool) -> Rows:
    import torch

    embeds, mask = pipeline.encode_prompt(text or "", max_sequence_length=recipe.longest)
    # Nothing is padded in a prompt alone; the pipeline warns where no mask is given.
    mask = torch.ones(embeds.shape[:2], dtype=torch.long, device=embeds.device)
    return {"prompt_embeds": embeds, "prompt_embeds_mask": mask}


_FAMILIES: dict[str, Callable[[Any, Recipe, str | None, bool], Rows]] = {
    "sdxl": _sdxl,
    "sd3": _sd3,
    "flux": _flux,
    "qwen": _qwen,
}


def _stacked(rows: Sequence[Any]) -> Any:
    """One tensor of all rows; shorter ones (of Qwen-Image, with their masks) are padded by 0."""
    import torch

    longest = max(row.shape[1] for row in rows)
    padded = [
        row
        if row.shape[1] == longest
        else torch.cat([row, row.new_zeros(1, longest - row.shape[1], *row.shape[2:])], dim=1)
        for row in rows
    ]
    return torch.cat(padded)
