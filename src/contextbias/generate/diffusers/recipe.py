"""From options and a profile to what every call is given; combinations without effect are errors.

Classifier-free guidance (CFG) extrapolates from a pass with the negative prompt (or an empty one)
to a pass with the prompt: noise = n + s (p - n), with s the guidance. At s = 1 the first pass is
left out, and a negative prompt has no effect.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NoReturn

from contextbias.errors import ConfigError, nearest
from contextbias.generate.diffusers.options import NEGATIVE_PROMPT, DiffusersOptions
from contextbias.generate.diffusers.profiles import GENERIC, Profile

RECIPE = 1
"""Raised whenever the same options begin to give other pictures."""

_OWN_OPTION = {
    "prompt": "the study's prompts",
    "negative_prompt": "the option negative_prompt",
    "height": "the option size",
    "width": "the option size",
    "num_inference_steps": "the option steps",
    "guidance_scale": "the option guidance",
    "true_cfg_scale": "the option true_cfg_scale, or guidance",
    "max_sequence_length": "the option max_sequence_length",
    "generator": "the study's seeds",
    "latents": "the study's seeds",
    "num_images_per_prompt": "images_per_prompt of the study",
    "output_type": "the backend",
    "return_dict": "the backend",
    "prompt_embeds": "the backend",
}
"""Arguments of a call that are set elsewhere, and where."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What decides the pixels of one generator, apart from prompt and seed."""

    profile: Profile
    """Whose rules hold."""
    call: dict[str, Any] = field(default_factory=dict)
    """Arguments of every call."""
    negative: str | None
    """The negative prompt that is passed; None: none, because it is off or has no effect."""
    style: str
    """Appended to every prompt."""
    dtype: str
    """Of the computation."""
    guided: bool
    """Whether each step takes two passes (CFG)."""

    def prompt(self, text: str) -> str:
        """The prompt as the model gets it."""
        return f"{text.rstrip().rstrip('.')}, {self.style}" if self.style else text

    @property
    def size(self) -> tuple[int, int] | None:
        """Width and height in pixels; None: the pipeline's own."""
        return (self.call["width"], self.call["height"]) if "width" in self.call else None

    @property
    def longest(self) -> int | None:
        """Tokens that the long encoder takes; None: it has no such argument."""
        length: int | None = self.call.get("max_sequence_length", self.profile.max_sequence_length)
        return length


def recipe(options: DiffusersOptions, profile: Profile) -> Recipe:
    """Check the options against the profile and put the call together.

    A generic profile is checked as far as it goes; `profiles.of_signature` completes it.

    Raises:
        ConfigError: An option or a combination would have no effect, or no picture.
    """
    checked = _Checked(options, profile)
    call = {
        **checked.size(),
        **_given("num_inference_steps", options.steps or profile.steps),
        **checked.guidance(),
        **checked.sequence(),
        **checked.arguments(),
    }
    cfg = checked.cfg()
    negative = checked.negative(cfg)
    guided = cfg is not None and cfg > 1 and (negative is not None or not _needs(profile))
    if profile.cfg_argument is not None and _needs(profile):
        # Passed as it is in effect: where guidance is off, the pipeline is told so.
        call[profile.cfg_argument] = cfg if guided else 1.0
    checked.watermark()
    return Recipe(
        profile=profile,
        call=call,
        negative=negative,
        style=options.style.strip(),
        dtype=options.dtype or profile.dtype,
        guided=guided,
    )


def settings(
    options: DiffusersOptions, made: Recipe, location: str, revision: str | None
) -> dict[str, Any]:
    """Everything that decides the pixels, as JSON; what only decides where and how fast is out.

    Args:
        options: Of study.toml.
        made: The recipe, before the pipeline is there.
        location: The model's repository or folder.
        revision: Of the repository, or the user's name of the folder's version.
    """
    profile = made.profile
    negative = made.negative
    if _is_open(profile):
        # Passed if it turns out to have an effect.
        negative = NEGATIVE_PROMPT if options.negative_prompt is None else options.negative_prompt
    return {
        "recipe": RECIPE,
        "model": location,
        "revision": revision,
        "pipeline": profile.family,
        "call": {key: _plain(value) for key, value in sorted(made.call.items())},
        "negative_prompt": negative,
        "style": made.style,
        "dtype": made.dtype,
        "quantization": options.quantization,
        "compile": options.compile,
        "watermark": options.watermark,
        "batching": options.batching,
    }


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _given(name: str, value: Any) -> dict[str, Any]:
    return {} if value is None else {name: value}


def _needs(profile: Profile) -> bool:
    return profile.cfg_needs_negative


def _is_open(profile: Profile) -> bool:
    """Whether what the pipeline takes is known only once it is there."""
    return profile.name == GENERIC and not profile.arguments


class _Checked:
    """The options of one profile, each checked when it is asked for."""

    def __init__(self, options: DiffusersOptions, profile: Profile) -> None:
        self._options = options
        self._profile = profile
        self._unknown = _is_open(profile)

    def size(self) -> dict[str, Any]:
        """Width and height.

        Raises:
            ConfigError: The pipeline would fail, or shrink the picture unasked.
        """
        chosen = self._options.size or self._profile.size
        if chosen is None:
            return {}
        width, height = (chosen, chosen) if isinstance(chosen, int) else chosen
        step = self._profile.multiple
        for side in (width, height):
            if side < step or side % step:
                near = max(step, round(side / step) * step)
                self._refuse(
                    f"size = {side} is no multiple of {step}, and the pipeline would fail or shrink"
                    " the picture",
                    f"take {near}",
                )
        return {"width": width, "height": height}

    def guidance(self) -> dict[str, Any]:
        """The argument that the option `guidance` becomes."""
        options, profile = self._options, self._profile
        if options.guidance is not None and profile.guidance_kind == "none":
            self._refuse(f"guidance = {options.guidance:g} has no effect", "leave it out")
        if profile.guidance_argument is None:
            return {}
        value = profile.guidance if options.guidance is None else options.guidance
        return _given(profile.guidance_argument, value)

    def cfg(self) -> float | None:
        """The scale of classifier-free guidance; None: not known, or there is none."""
        options, profile = self._options, self._profile
        beside = profile.cfg_argument == "true_cfg_scale" != profile.guidance_argument
        if options.true_cfg_scale is not None and not beside and not self._unknown:
            fix = "write guidance instead" if profile.guidance_kind == "cfg" else "leave it out"
            self._refuse("true_cfg_scale is FLUX's, and no option here", fix)
        given = options.true_cfg_scale if beside or self._unknown else options.guidance
        return profile.cfg if given is None else given

    def negative(self, cfg: float | None) -> str | None:
        """The negative prompt that is passed.

        Raises:
            ConfigError: It was asked for and would have no effect; or guidance was, which has none
                without it.
        """
        options, profile = self._options, self._profile
        effective = self._unknown or (cfg is not None and cfg > 1)
        asked = options.negative_prompt
        if asked and not effective:
            self._refuse(f"negative_prompt has no effect {self._why_not(cfg)}", self._cure())
        if asked == "" and _needs(profile) and effective and self._asked_for_cfg():
            name = "guidance" if profile.guidance_kind == "cfg" else "true_cfg_scale"
            self._refuse(
                f"{name} = {cfg:g} has no effect without a negative prompt",
                'leave it out, or write negative_prompt = " "',
            )
        if not effective or asked == "" or (self._unknown and asked is None):
            return None
        return NEGATIVE_PROMPT if asked is None else asked

    def sequence(self) -> dict[str, Any]:
        """Tokens of the long encoder."""
        options, profile = self._options, self._profile
        asked = options.max_sequence_length
        if asked is None or self._unknown:
            return _given("max_sequence_length", asked or profile.max_sequence_length)
        if profile.max_sequence_length is None:
            self._refuse(
                "max_sequence_length has no effect: all encoders are fixed", "leave it out"
            )
        if profile.longest_sequence is not None and asked > profile.longest_sequence:
            most = profile.longest_sequence
            self._refuse(f"max_sequence_length = {asked} is too long", f"take {most} at most")
        return {"max_sequence_length": asked}

    def arguments(self) -> dict[str, Any]:
        """Further arguments of the call: some pipelines swallow unknown ones without a word."""
        known = self._profile.arguments
        for name in self._options.arguments:
            if name in _OWN_OPTION:
                self._refuse(f"arguments.{name} is set by {_OWN_OPTION[name]}", "leave it out")
            if name not in known and not self._unknown:
                hint = nearest(name, [*known]) or f"known: {', '.join(known)}"
                self._refuse(f"arguments.{name} is no argument of the pipeline", hint)
        return dict(self._options.arguments)

    def watermark(self) -> None:
        """Raise ConfigError where there is no watermark to add."""
        if self._options.watermark and self._profile.family != "sdxl":
            self._refuse("watermark has no effect: only SDXL has one", "leave it out")

    def _asked_for_cfg(self) -> bool:
        options = self._options
        of_cfg = options.guidance if self._profile.guidance_kind == "cfg" else None
        return any(value is not None and value > 1 for value in (of_cfg, options.true_cfg_scale))

    def _why_not(self, cfg: float | None) -> str:
        if self._profile.cfg_argument is None:
            return "(the pipeline takes none)"
        return f"while {self._profile.cfg_argument} is {cfg:g}" if cfg is not None else "here"

    def _cure(self) -> str:
        if self._profile.cfg_argument is None:
            return "leave it out"
        above = "guidance" if self._profile.guidance_kind == "cfg" else "true_cfg_scale"
        return f"leave it out, or set {above} above 1"

    def _refuse(self, problem: str, fix: str) -> NoReturn:
        title = self._profile.title
        raise ConfigError(f"options of the diffusers backend ({title}): {problem}", fix)
