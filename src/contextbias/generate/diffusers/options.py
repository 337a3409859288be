"""The options of the diffusers backend in study.toml."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from contextbias.options import Options

STYLE = "photorealistic"
"""The paper applies one photographic style descriptor to all models, and does not print it."""

NEGATIVE_PROMPT = "watermark, text, distorted anatomy, duplicated limbs"
"""The paper's negative prompt is about these four; its words are not printed."""

DType = Literal["float32", "bfloat16", "float16"]
Quantization = Literal["none", "fp8", "bnb-8bit", "bnb-4bit"]


class DiffusersOptions(Options):
    """Options of the diffusers backend."""

    model: str = Field(min_length=1)
    """``sdxl``, ``sd3.5-medium``, ``sd3.5-large``, ``sd3.5-large-turbo``, ``flux-dev``,
    ``flux-schnell`` or ``qwen-image``; or a repository (``owner/name``), or the folder of a saved
    pipeline (a path from where the command is run; better a whole one)."""
    profile: str | None = None
    """Whose defaults and rules hold for a repository or folder that is a relative of a known
    model, such as a fine-tuned one. Left out: the repository's own, or by the kind of pipeline that
    the folder holds, or ``generic``."""
    revision: str | None = Field(default=None, min_length=1)
    """Branch, tag or commit of the repository. Left out: the commit that the profile pins; ``main``
    for a repository without a profile, which may change under your hands, and `plan` says so. The
    commit that was loaded is stored with every image. For a folder: your own name of the
    weights' version, which makes it another generator."""
    size: int | tuple[int, int] | None = None
    """Width and height in pixels, one number for a square; left out: the model's native size."""
    steps: int | None = Field(default=None, ge=1, le=500)
    """Denoising steps; left out: the model's own number."""
    guidance: float | None = Field(default=None, ge=0, le=50)
    """How closely the prompt is followed; becomes the argument that the model has for it. Left out:
    the value that its makers use."""
    true_cfg_scale: float | None = Field(default=None, ge=0, le=50)
    """FLUX only: classifier-free guidance beside the built-in one. Above 1 a negative prompt
    takes effect, and an image takes twice the time."""
    negative_prompt: str | None = None
    """What pictures should not show. Left out: the same for every model where it takes effect
    (watermark, text, distorted anatomy, duplicated limbs). An empty text turns it off."""
    style: str = STYLE
    """Appended to every prompt after a comma, the same for every model; an empty text turns it
    off."""
    max_sequence_length: int | None = Field(default=None, ge=16)
    """Tokens that the long text encoder takes; padding counts, so it changes the picture (not
    Qwen-Image's, which pads nothing)."""
    dtype: DType | None = None
    """What the model is computed in; left out: as its makers do (float16 for SDXL, else
    bfloat16)."""
    quantization: Quantization = "none"
    """Weights in fewer bits: another generator. ``fp8`` needs nothing more; ``bnb-8bit`` and
    ``bnb-4bit`` need the package bitsandbytes and a GPU."""
    compile: bool = False
    """Compile the denoiser (torch.compile): minutes at the start, then faster."""
    watermark: bool = False
    """SDXL only: the invisible watermark, which needs the package invisible-watermark. It is never
    added unasked."""
    arguments: dict[str, Any] = Field(default_factory=dict)
    """Further arguments of the pipeline's call, such as ``{ guidance_rescale = 0.7 }``."""
    batching: Literal["prompt", "mixed", "strict"] = "prompt"
    """``prompt``: images of one prompt at a time, so that no image can depend on another prompt.
    ``mixed``: any images. ``strict``: one image a call, the same bits on the same machine whatever
    else is made."""
    batch: Annotated[int, Field(ge=1, le=256)] | Literal["auto"] = "auto"
    """Images a call. ``auto``: by the memory that is free, less where that does not do."""
    offload: Literal["none", "model", "sequential"] = "none"
    """Parts that are not at work wait in the computer's memory. ``model``: part by part, somewhat
    slower. ``sequential``: layer by layer, very slow, least memory. Changes no picture."""
    device: Literal["auto", "cuda", "mps", "cpu"] = "auto"
    """Where it runs; ``auto``: the first of these that there is."""
    overlong: Literal["refuse", "truncate"] = "refuse"
    """Prompts with more tokens than an encoder takes. ``refuse``: nothing is made until they are
    shorter. ``truncate``: cut, and the images say so."""
