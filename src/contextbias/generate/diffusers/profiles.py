"""What is known of each model: profiles.toml, read and typed.

A profile says how a pipeline is called so that every option has the effect that its name promises,
what the model costs, and on which conditions it can be had.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from inspect import Parameter
from pathlib import Path
from typing import Any, Literal

from contextbias.errors import ConfigError, nearest
from contextbias.weights.hub import is_folder

GENERIC = "generic"
"""The profile of a pipeline that has none of its own: its signature is asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One model, as far as it is known; a key of profiles.toml each."""

    name: str
    """How study.toml calls it."""
    title: str
    """How people call it."""
    family: str
    """``sdxl``, ``sd3``, ``flux``, ``qwen``: how prompts are encoded; ``generic``: by the call."""
    pipeline: str
    """Class of diffusers."""
    repository: str | None = None
    """Where its makers publish it, on huggingface.co."""
    revision: str | None = None
    """The commit that is used unless study.toml names another."""
    licence: str = ""
    """Name of the licence of the weights."""
    gated: bool = False
    """Whether the licence has to be accepted on the repository's page, with an account."""
    size: tuple[int, int] | None = None
    """Native width and height in pixels; None: the pipeline's own."""
    multiple: int = 8
    """Width and height must be divisible by it: other sizes fail or shrink unasked."""
    dtype: str = "bfloat16"
    """What it is run in."""
    variant: str | None = None
    """Suffix of the weight files of that dtype, where the repository has some."""
    steps: int | None = None
    """Denoising steps; None: the pipeline's own."""
    guidance: float | None = None
    """The value of the option `guidance` that its makers use."""
    guidance_argument: str | None = None
    """The argument that the option `guidance` becomes."""
    guidance_kind: Literal["cfg", "embedded", "none"] = "cfg"
    """``cfg``: classifier-free guidance, two passes a step. ``embedded``: distilled, a number that
    the model is told. ``none``: the argument has no effect."""
    cfg_argument: str | None = None
    """The argument of classifier-free guidance, what a negative prompt needs; None: it has none."""
    cfg: float | None = None
    """Its value by default; it takes effect above 1."""
    cfg_needs_negative: bool = False
    """Whether classifier-free guidance is off where no negative prompt is passed."""
    max_sequence_length: int | None = None
    """Tokens of the long encoder by default; None: it has no such argument."""
    longest_sequence: int | None = None
    """The most that `max_sequence_length` may be."""
    arguments: tuple[str, ...] = ()
    """Further arguments of the call that the option `arguments` may set."""
    layers: int | None = None
    """Blocks of the transformer, where an argument names them by number; None: none does."""
    told_by: Mapping[str, Any] = field(default_factory=dict)
    """Values in the transformer's configuration by which a folder is told from its relatives."""
    denoiser: float | None = None
    """Parameters of the UNet or transformer, in thousand millions."""
    encoders: tuple[float, ...] = ()
    """Parameters of the text encoders, likewise."""
    vae: float = 0.0
    """Parameters of the VAE, likewise."""
    teraflops: float | None = None
    """10^12 operations of one pass of the denoiser for one image of native size."""
    decoding: float = 0.0
    """Those of decoding it."""
    activations: float = 3.0
    """Gigabytes that an image of native size takes beside the weights: a guess."""
    batch: int = 4
    """The most images at a time that `batch = "auto"` tries: beyond, nothing is gained."""

    @property
    def page(self) -> str | None:
        """Where the model is described, and its licence accepted."""
        return f"https://huggingface.co/{self.repository}" if self.repository else None

    def is_published_as(self, model: str) -> bool:
        """Whether `model` is its repository; huggingface.co does not tell upper from lower case."""
        return self.repository is not None and self.repository.lower() == model.lower()

    @property
    def parameters(self) -> float | None:
        """Parameters of all parts, in thousand millions; None where they are not known."""
        return None if self.denoiser is None else self.denoiser + sum(self.encoders) + self.vae


@cache
def profiles() -> Mapping[str, Profile]:
    """Name -> profile, in the file's order."""
    text = (resources.files(__package__) / "profiles.toml").read_text("utf-8")
    raw: dict[str, dict[str, Any]] = {}
    for name, entry in tomllib.loads(text).items():
        own: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()}
        raw[name] = {**raw.get(own.pop("inherits", ""), {}), **own, "name": name}
    return {name: Profile(**entry) for name, entry in raw.items()}


def profile_for(model: str, named: str | None) -> Profile:
    """The profile of what study.toml calls `model`.

    Args:
        model: A profile's name, a repository, or a folder with a pipeline.
        named: The option `profile`, which decides if it is given.

    Raises:
        ConfigError: There is no such profile, or it is a folder that is not there and no profile is
            named.
    """
    known = profiles()
    if named is not None:
        if model in known and named in known and named != model:
            raise ConfigError(
                f"profile = {named!r} beside model = {model!r}, which has a profile of its own",
                "leave it out, or name the repository or folder that you mean",
            )
        return _named(named)
    if model in known:
        if model == GENERIC:
            raise ConfigError("model = 'generic' names no model", "name a repository or a folder")
        return known[model]
    for profile in known.values():
        if profile.is_published_as(model):
            return profile
    if is_folder(model):
        return _of_folder(Path(model).expanduser())
    if "/" not in model:
        hint = nearest(model, [*known]) or f"known: {', '.join(n for n in known if n != GENERIC)}"
        raise ConfigError(f"there is no model {model!r}", f"{hint}; or owner/name, or a folder")
    return known[GENERIC]


def pipeline_class(folder: Path) -> str:
    """The class that a saved pipeline names in its model_index.json.

    Raises:
        ConfigError: The folder holds no pipeline.
    """
    index = folder / "model_index.json"
    try:
        return str(json.loads(index.read_text("utf-8"))["_class_name"])
    except FileNotFoundError:
        problem = "has no model_index.json" if folder.is_dir() else "is no folder of this machine"
        raise ConfigError(
            f"model = {str(folder)!r} {problem}",
            "name the folder of a saved pipeline; for one that has gone, add the option `profile`",
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{index} cannot be read ({error})", "save the pipeline anew") from None


def of_signature(profile: Profile, parameters: Mapping[str, Parameter]) -> Profile:
    """The generic profile, completed by what a pipeline's call takes and its defaults.

    Args:
        profile: The generic one.
        parameters: Of the pipeline's ``__call__``.
    """
    two = {"guidance_scale", "true_cfg_scale"} <= set(parameters)
    cfg = "true_cfg_scale" if "true_cfg_scale" in parameters else "guidance_scale"
    has_negative = "negative_prompt" in parameters and cfg in parameters
    argument = next((n for n in ("guidance_scale", "true_cfg_scale") if n in parameters), None)
    named = {n for n, p in parameters.items() if p.kind is not Parameter.VAR_KEYWORD}
    length = _default(parameters, "max_sequence_length")
    return replace(
        profile,
        steps=_default(parameters, "num_inference_steps"),
        guidance=_default(parameters, argument),
        guidance_argument=argument,
        guidance_kind="none" if argument is None else "embedded" if two else "cfg",
        cfg_argument=cfg if has_negative else None,
        cfg=_default(parameters, cfg) if has_negative else None,
        cfg_needs_negative=cfg == "true_cfg_scale",
        max_sequence_length=length,
        longest_sequence=length,
        arguments=tuple(sorted(named)),
    )


def _default(parameters: Mapping[str, Parameter], name: str | None) -> Any:
    value = parameters[name].default if name is not None and name in parameters else None
    return None if value is Parameter.empty else value


def _named(name: str) -> Profile:
    known = profiles()
    if name not in known:
        hint = nearest(name, [*known]) or f"known: {', '.join(known)}"
        raise ConfigError(f"there is no profile {name!r}", hint)
    return known[name]


def _of_folder(folder: Path) -> Profile:
    """The profile of the folder's pipeline that its configuration tells, or the first one."""
    pipeline = pipeline_class(folder)
    kin = [profile for profile in profiles().values() if profile.pipeline == pipeline]
    if not kin:
        return profiles()[GENERIC]
    try:
        config = json.loads((folder / "transformer" / "config.json").read_text("utf-8"))
    except (OSError, ValueError):
        config = None
    if not isinstance(config, dict):
        return kin[0]
    told = [p for p in kin if p.told_by and p.told_by.items() <= config.items()]
    return told[0] if told else kin[0]
