"""From options and a profile to what every call is given; combinations without effect are errors.

Classifier-free guidance (CFG) extrapolates from a pass with the negative prompt (or an empty one)
to a pass with the prompt: noise = n + s (p - n), with s the guidance. At s = 1 the first pass is
left out, and a negative prompt has no effect.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NoReturn

from contextbias.errors import ConfigError, nearest
from contextbias.generate.diffusers.arguments import (
    OF_CFG,
    OWN_OPTION,
    SCHEDULES,
    WITH,
    WITHOUT_EFFECT,
    are_numbers,
    idle,
)
from contextbias.generate.diffusers.options import NEGATIVE_PROMPT, DiffusersOptions
from contextbias.generate.diffusers.profiles import GENERIC, Profile

RECIPE = 1
"""Raised whenever the same options begin to give other pictures."""


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
    def scale(self) -> float | None:
        """Its pixels in those of the native size; None where one of the two is not known."""
        native = self.profile.size
        if self.size is None or native is None:
            return None
        return self.size[0] * self.size[1] / (native[0] * native[1])

    @property
    def activations(self) -> float:
        """Gigabytes that an image is expected to take beside the weights."""
        return self.profile.activations * (1.0 if self.scale is None else self.scale)

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
        **checked.steps(),
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
    checked.arguments_of_cfg(guided=guided)
    checked.arguments_that_are_idle(call.get("num_inference_steps"))
    checked.watermark()
    checked.machine()
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
        **_still_open(options, profile),
    }


def _still_open(options: DiffusersOptions, profile: Profile) -> dict[str, Any]:
    """Options that become an argument only once the pipeline is there."""
    if not _is_open(profile):
        return {}
    given = {"guidance": options.guidance, "true_cfg_scale": options.true_cfg_scale}
    return {name: value for name, value in given.items() if value is not None}


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
        self._is_generic = profile.name == GENERIC

    def size(self) -> dict[str, Any]:
        """Width and height.

        Raises:
            ConfigError: The pipeline would fail, or shrink the picture unasked.
        """
        own = self._options.size
        chosen = self._profile.size if own is None else own
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

    def steps(self) -> dict[str, Any]:
        """How many steps: those of the schedule where one is given.

        Raises:
            ConfigError: They are given twice, or the schedule is none.
        """
        given = self._options.arguments
        schedules = [name for name in SCHEDULES if name in given]
        if not schedules:
            steps = self._options.steps
            return _given("num_inference_steps", self._profile.steps if steps is None else steps)
        if len(schedules) > 1:
            self._refuse("arguments.sigmas and arguments.timesteps exclude each other", "take one")
        (name,) = schedules
        if self._options.steps is not None:
            self._refuse(
                f"steps = {self._options.steps} has no effect beside arguments.{name}",
                "leave one of them out",
            )
        values = given[name]
        if not are_numbers(values):
            self._refuse(f"arguments.{name} = {values!r} is no list of numbers", "write one a step")
        takes = self._unknown or self._profile.steps is not None
        return {"num_inference_steps": len(values)} if takes else {}

    def guidance(self) -> dict[str, Any]:
        """The argument that the option `guidance` becomes."""
        options, profile = self._options, self._profile
        if options.guidance is not None and profile.guidance_kind == "none":
            self._refuse(f"guidance = {options.guidance:g} has no effect", "leave it out")
        if not self._is_generic and profile.guidance_kind == "cfg":
            self._must_be_off_or_on("guidance", options.guidance)
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
        self._must_be_off_or_on("true_cfg_scale", options.true_cfg_scale)
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
            if name in OWN_OPTION:
                self._refuse(f"arguments.{name} is set by {OWN_OPTION[name]}", "leave it out")
            if name in WITHOUT_EFFECT and not self._is_generic:
                self._refuse(f"arguments.{name}: {WITHOUT_EFFECT[name]}", "leave it out")
            if name not in known and not self._unknown:
                hint = nearest(name, [*known]) or f"known: {', '.join(known)}"
                self._refuse(f"arguments.{name} is no argument of the pipeline", hint)
            lacking = [each for each in WITH.get(name, ()) if each not in self._options.arguments]
            if lacking:
                self._refuse(
                    f"arguments.{name} has no effect without arguments.{lacking[0]}",
                    "leave it out, or give both",
                )
        return dict(self._options.arguments)

    def arguments_of_cfg(self, *, guided: bool) -> None:
        """Raise ConfigError for arguments of classifier-free guidance where there is none."""
        if self._is_generic:
            return
        for name in OF_CFG:
            given = self._options.arguments.get(name)
            if given is not None and not guided:
                self._refuse(
                    f"arguments.{name} has no effect without classifier-free guidance",
                    self._cure(),
                )

    def arguments_that_are_idle(self, steps: int | None) -> None:
        """Raise ConfigError for arguments with a value that changes nothing."""
        if self._is_generic or steps is None:
            return
        given = self._options.arguments
        for name, fix in idle(given, steps=steps, layers=self._profile.layers):
            self._refuse(f"arguments.{name} = {given[name]!r} has no effect", fix)

    def machine(self) -> None:
        """Raise ConfigError where options about the machine exclude each other."""
        options = self._options
        if options.batching == "strict" and options.batch not in ("auto", 1):
            self._refuse(
                f'batch = {options.batch} has no effect with batching = "strict", one image a call',
                "leave one of them out",
            )
        if options.device != "cpu":
            return
        if options.offload != "none":
            self._refuse(
                f'offload = "{options.offload}" has no effect with device = "cpu"',
                "leave one of them out",
            )
        if options.quantization.startswith("bnb"):
            self._refuse(
                f'quantization = "{options.quantization}" needs a GPU, and device = "cpu"',
                'take quantization = "fp8", or another device',
            )

    def watermark(self) -> None:
        """Raise ConfigError where there is no watermark to add."""
        if self._options.watermark and self._profile.family != "sdxl":
            self._refuse("watermark has no effect: only SDXL has one", "leave it out")

    def _must_be_off_or_on(self, name: str, asked: float | None) -> None:
        """Classifier-free guidance is off at 1 and below: one of these values stands for all."""
        own = self._profile.cfg
        off = own if name == "guidance" and own is not None and own <= 1 else 1.0
        if asked is not None and asked <= 1 and asked != off:
            self._refuse(
                f"{name} = {asked:g} would do the same as {off:g}: both turn it off",
                f"write {off:g}, or more than 1",
            )

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
