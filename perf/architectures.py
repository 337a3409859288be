"""SDXL base and FLUX.1 dev from their configurations, with random weights and small tokenizers.

The numbers are the published architectures'; tests/perf counts their parameters without making
them, and compares with profiles.toml.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_IDS = {"bos_token_id": 512, "eos_token_id": 513, "pad_token_id": 513}
"""Of the small tokenizers; the vocabularies of the encoders are the real ones."""

_CLIP_L = {"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12,
           "num_attention_heads": 12, "projection_dim": 768, "vocab_size": 49408,
           **_IDS}  # fmt: skip
_CLIP_G = {"hidden_size": 1280, "intermediate_size": 5120, "num_hidden_layers": 32,
           "num_attention_heads": 20, "projection_dim": 1280, "vocab_size": 49408,
           "hidden_act": "gelu", **_IDS}  # fmt: skip
_T5_XXL = {"vocab_size": 32128, "d_model": 4096, "d_kv": 64, "d_ff": 10240, "num_layers": 24,
           "num_heads": 64, "feed_forward_proj": "gated-gelu"}  # fmt: skip
_VAE = {"block_out_channels": (128, 256, 512, 512), "layers_per_block": 2, "sample_size": 1024,
        "down_block_types": ("DownEncoderBlock2D",) * 4,
        "up_block_types": ("UpDecoderBlock2D",) * 4}  # fmt: skip


def parts(name: str) -> dict[str, Any]:
    """The networks of ``sdxl`` or ``flux``, by the names that the pipeline gives them."""
    from diffusers import AutoencoderKL, FluxTransformer2DModel, UNet2DConditionModel
    from transformers import (
        CLIPTextConfig,
        CLIPTextModel,
        CLIPTextModelWithProjection,
        T5Config,
        T5EncoderModel,
    )

    if name == "sdxl":
        return {
            "unet": UNet2DConditionModel(
                sample_size=128,
                block_out_channels=(320, 640, 1280),
                down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
                up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
                transformer_layers_per_block=(1, 2, 10),
                attention_head_dim=(5, 10, 20),
                cross_attention_dim=2048,
                use_linear_projection=True,
                addition_embed_type="text_time",
                addition_time_embed_dim=256,
                projection_class_embeddings_input_dim=2816,
            ),
            "text_encoder": CLIPTextModel(CLIPTextConfig(**_CLIP_L)),
            "text_encoder_2": CLIPTextModelWithProjection(CLIPTextConfig(**_CLIP_G)),
            "vae": AutoencoderKL(latent_channels=4, scaling_factor=0.13025, **_VAE),
        }
    return {
        "transformer": FluxTransformer2DModel(guidance_embeds=True),  # its defaults are dev's
        "text_encoder": CLIPTextModel(CLIPTextConfig(**_CLIP_L)),
        "text_encoder_2": T5EncoderModel(T5Config(**_T5_XXL)),
        "vae": AutoencoderKL(
            latent_channels=16, scaling_factor=0.3611, shift_factor=0.1159, use_quant_conv=False,
            use_post_quant_conv=False, **_VAE,
        ),
    }  # fmt: skip


def pipeline(name: str, *, device: str, dtype: str, tiny: bool) -> Any:
    """The pipeline, built on the device in its dtype; `tiny`: the miniature of the tests."""
    import torch
    from tests.generate.diffusers import tiny as miniatures

    torch.manual_seed(0)
    small = miniatures._FAMILIES[name]()
    if not tiny:
        before = torch.get_default_dtype()
        torch.set_default_dtype(getattr(torch, dtype))
        try:
            with torch.device(device):
                networks = parts(name)
        finally:
            torch.set_default_dtype(before)
        small.register_modules(**networks)
        # Both are taken from the VAE when a pipeline is put together.
        small.vae_scale_factor = 8
        small.default_sample_size = 128
    for part in small.components.values():
        if isinstance(part, torch.nn.Module):
            part.eval().requires_grad_(False)
    return small.to(device, getattr(torch, dtype))


def save_tokenizers(pipeline: Any, folder: Path) -> None:
    """What is looked at before anything is drawn: tokenizers and the table of contents."""
    index: dict[str, Any] = {"_class_name": type(pipeline).__name__}
    for name, part in pipeline.components.items():
        if name.startswith("tokenizer"):
            part.save_pretrained(folder / name)
            index[name] = ["transformers", type(part).__name__]
    (folder / "model_index.json").write_text(json.dumps(index), "utf-8")
