"""Miniature pipelines of every family: random weights, tokenizers made here, saved as real ones.

They keep what matters for behaviour: the VAE's factor of 8, each family's sizes, guidance, token
limits and defaults. They are deterministic: the same call writes the same weights.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from diffusers import (
    AutoencoderKL,
    AutoencoderKLQwenImage,
    EulerDiscreteScheduler,
    FlowMatchEulerDiscreteScheduler,
    FluxPipeline,
    FluxTransformer2DModel,
    PNDMScheduler,
    QwenImagePipeline,
    QwenImageTransformer2DModel,
    SD3Transformer2DModel,
    StableDiffusion3Pipeline,
    StableDiffusionPipeline,
    StableDiffusionXLPipeline,
    UNet2DConditionModel,
)
from tokenizers import AddedToken, Regex, Tokenizer, pre_tokenizers, trainers
from tokenizers import models as token_models
from transformers import (
    CLIPTextConfig,
    CLIPTextModel,
    CLIPTextModelWithProjection,
    CLIPTokenizer,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2Tokenizer,
    T5Config,
    T5EncoderModel,
    T5Tokenizer,
)

_CLIP = {
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "projection_dim": 16,
    "vocab_size": 514,
    "max_position_embeddings": 77,
    "bos_token_id": 512,
    "eos_token_id": 513,
    "pad_token_id": 513,
}
_T5 = {
    "vocab_size": 98,
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 32,
    "num_layers": 2,
    "num_heads": 2,
    "feed_forward_proj": "gated-gelu",
}
_QWEN = {"hidden_size": 16, "intermediate_size": 16}
_NO_QUANT = {"use_quant_conv": False, "use_post_quant_conv": False}
_BLOCKS = {
    "num_layers": 1,
    "attention_head_dim": 16,
    "num_attention_heads": 2,
    "axes_dims_rope": (4, 4, 8),
}


def save(family: str, folder: Path, *, seed: int = 0, **changes: Any) -> Path:
    """Build the family's pipeline and save it.

    Args:
        family: ``sdxl``, ``sd3``, ``flux``, ``schnell``, ``qwen`` or ``sd1`` (no profile knows it).
        folder: Where to.
        seed: Of the weights.
        changes: For the family's builder.
    """
    torch.manual_seed(seed)
    pipeline = _FAMILIES[family](**changes)
    for part in pipeline.components.values():
        if isinstance(part, torch.nn.Module):
            part.eval()
    pipeline.save_pretrained(folder)
    return folder


def sdxl(*, overflowing: bool = False) -> Any:
    """Stable Diffusion XL; `overflowing`: a VAE that leaves float16, and does not say so."""
    vae = _vae(4, 0.13025, force_upcast=not overflowing)
    if overflowing:
        with torch.no_grad():
            # Inside: too large for float16, and divided by as much again before it gets out.
            vae.decoder.conv_in.weight.mul_(2.0e4)
            vae.decoder.conv_in.bias.mul_(2.0e4)
    unet = _unet(
        sample_size=16,
        attention_head_dim=(1, 2),
        use_linear_projection=True,
        transformer_layers_per_block=(1, 1),
        cross_attention_dim=32,
        addition_embed_type="text_time",
        addition_time_embed_dim=8,
        projection_class_embeddings_input_dim=64,
    )
    return StableDiffusionXLPipeline(
        vae=vae,
        text_encoder=CLIPTextModel(CLIPTextConfig(**_CLIP)),
        text_encoder_2=CLIPTextModelWithProjection(CLIPTextConfig(**_CLIP)),
        tokenizer=_clip_tokenizer(),
        tokenizer_2=_clip_tokenizer(),
        unet=unet,
        scheduler=_euler(),
        add_watermarker=False,
    )


def sd3() -> Any:
    """Stable Diffusion 3."""
    return StableDiffusion3Pipeline(
        vae=_vae(16, 1.5305, shift_factor=0.0609, **_NO_QUANT),
        text_encoder=CLIPTextModelWithProjection(CLIPTextConfig(**_CLIP)),
        text_encoder_2=CLIPTextModelWithProjection(CLIPTextConfig(**_CLIP)),
        text_encoder_3=T5EncoderModel(T5Config(**_T5)),
        tokenizer=_clip_tokenizer(),
        tokenizer_2=_clip_tokenizer(),
        tokenizer_3=_t5_tokenizer(),
        scheduler=FlowMatchEulerDiscreteScheduler(shift=3.0),
        transformer=SD3Transformer2DModel(
            sample_size=16,
            patch_size=2,
            in_channels=16,
            out_channels=16,
            num_layers=2,
            attention_head_dim=8,
            num_attention_heads=2,
            joint_attention_dim=32,
            caption_projection_dim=16,
            pooled_projection_dim=32,
            pos_embed_max_size=32,
        ),
    )


def flux(*, guidance_embeds: bool = True) -> Any:
    """FLUX.1; without `guidance_embeds` as schnell."""
    return FluxPipeline(
        vae=_vae(16, 0.3611, shift_factor=0.1159, **_NO_QUANT),
        text_encoder=CLIPTextModel(CLIPTextConfig(**_CLIP)),
        text_encoder_2=T5EncoderModel(T5Config(**_T5)),
        tokenizer=_clip_tokenizer(),
        tokenizer_2=_t5_tokenizer(),
        scheduler=FlowMatchEulerDiscreteScheduler(shift=3.0, use_dynamic_shifting=True),
        transformer=FluxTransformer2DModel(
            patch_size=1,
            in_channels=64,
            num_single_layers=1,
            joint_attention_dim=32,
            pooled_projection_dim=16,
            guidance_embeds=guidance_embeds,
            **_BLOCKS,
        ),
    )


def schnell() -> Any:
    """FLUX.1 without guidance."""
    return flux(guidance_embeds=False)


def qwen() -> Any:
    """Qwen-Image."""
    config = Qwen2_5_VLConfig(
        text_config={
            **_QWEN,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "num_key_value_heads": 2,
            "vocab_size": 364,
            "max_position_embeddings": 2048,
            "bos_token_id": 0,
            "eos_token_id": 0,
            "pad_token_id": 0,
            "rope_parameters": {
                "rope_type": "default",
                "mrope_section": [1, 1, 2],
                "rope_theta": 1e6,
            },
        },
        vision_config={
            **_QWEN,
            "depth": 1,
            "num_heads": 2,
            "out_hidden_size": 16,
            "fullatt_block_indexes": [0],
        },
    )
    return QwenImagePipeline(
        scheduler=FlowMatchEulerDiscreteScheduler(
            shift=1.0,
            use_dynamic_shifting=True,
            base_shift=0.5,
            max_shift=0.9,
            base_image_seq_len=256,
            max_image_seq_len=8192,
            shift_terminal=0.02,
            time_shift_type="exponential",
        ),
        vae=AutoencoderKLQwenImage(
            base_dim=8,
            z_dim=16,
            dim_mult=[1, 1, 1, 1],
            num_res_blocks=1,
            temperal_downsample=[False, True, True],
        ),
        text_encoder=Qwen2_5_VLForConditionalGeneration(config),
        tokenizer=_qwen_tokenizer(),
        transformer=QwenImageTransformer2DModel(
            patch_size=2,
            in_channels=64,
            out_channels=16,
            joint_attention_dim=16,
            guidance_embeds=False,
            **_BLOCKS,
        ),
    )


def sd1() -> Any:
    """Stable Diffusion 1, for which there is no profile."""
    return StableDiffusionPipeline(
        vae=_vae(4, 0.18215),
        text_encoder=CLIPTextModel(CLIPTextConfig(**_CLIP)),
        tokenizer=_clip_tokenizer(),
        unet=_unet(sample_size=8, attention_head_dim=2, cross_attention_dim=16),
        scheduler=PNDMScheduler(skip_prk_steps=True, steps_offset=1),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )


_FAMILIES: dict[str, Callable[..., Any]] = {
    "sdxl": sdxl,
    "sd3": sd3,
    "flux": flux,
    "schnell": schnell,
    "qwen": qwen,
    "sd1": sd1,
}


def _unet(**further: Any) -> UNet2DConditionModel:
    return UNet2DConditionModel(
        in_channels=4,
        out_channels=4,
        block_out_channels=(8, 16),
        layers_per_block=1,
        norm_num_groups=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        **further,
    )


def _vae(channels: int, scaling: float, **further: Any) -> AutoencoderKL:
    return AutoencoderKL(
        block_out_channels=(8, 8, 8, 8),
        norm_num_groups=4,
        down_block_types=("DownEncoderBlock2D",) * 4,
        up_block_types=("UpDecoderBlock2D",) * 4,
        layers_per_block=1,
        latent_channels=channels,
        sample_size=64,
        scaling_factor=scaling,
        **further,
    )


def _euler() -> EulerDiscreteScheduler:
    return EulerDiscreteScheduler(
        beta_schedule="scaled_linear",
        beta_start=0.00085,
        beta_end=0.012,
        timestep_spacing="leading",
        steps_offset=1,
    )


def _clip_tokenizer() -> CLIPTokenizer:
    """One token a byte, so 75 characters without the spaces fill it."""
    bytes_ = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = [*bytes_, *(f"{byte}</w>" for byte in bytes_), "<|startoftext|>", "<|endoftext|>"]
    vocabulary = {word: number for number, word in enumerate(words)}
    return CLIPTokenizer(vocab=vocabulary, merges=[], model_max_length=77)


def _t5_tokenizer() -> T5Tokenizer:
    """One token a character."""
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -2.0)]
    pieces += [(chr(code), -3.0) for code in range(33, 127)]
    return T5Tokenizer(vocab=pieces, extra_ids=0, model_max_length=512)


def _qwen_tokenizer() -> Qwen2Tokenizer:
    """Trained on the pipeline's own template, which then has the 34 tokens that are dropped."""
    from transformers.models.qwen2.tokenization_qwen2 import PRETOKENIZE_REGEX

    template = QwenImagePipeline(None, None, None, None, None).prompt_template_encode
    tokenizer = Tokenizer(token_models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PRETOKENIZE_REGEX), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    marks = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    words = template.format("")
    for mark in marks:
        words = words.replace(mark, " ")
    trainer = trainers.BpeTrainer(
        min_frequency=1,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([words], trainer)
    model = json.loads(tokenizer.to_str())["model"]
    vocabulary = dict(model["vocab"])
    for mark in marks:
        vocabulary.setdefault(mark, len(vocabulary))
    merges = [tuple(m) if isinstance(m, list) else tuple(m.split(" ")) for m in model["merges"]]
    return Qwen2Tokenizer(
        vocab=vocabulary,
        merges=merges,
        additional_special_tokens=[AddedToken(mark, special=True) for mark in marks[1:]],
    )
