"""Miniature models: random weights, a tokenizer made here, saved as real ones.

A LLaVA, which sees every picture in one size, and an Idefics 3, which cuts it into tiles, so that
the questions of a batch are not of one length. They are built without torchvision.

A miniature answers what the grammar lets through and its weights happen to like. The same call
writes the same weights.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    CLIPVisionConfig,
    Idefics3Config,
    Idefics3ForConditionalGeneration,
    Idefics3Processor,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    PreTrainedTokenizerFast,
)
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil

from contextbias.extract.vision.instructions import instructions
from contextbias.schema import empty_person, empty_record

SIDE = 56
"""Pixels of the side of the picture that it sees: 16 patches."""

TEMPLATE = """{% for message in messages %}<|{{ message.role }}|>
{% for part in message.content %}\
{% if part.type == 'image' %}<image>{% else %}{{ part.text }}{% endif %}{% endfor %}</s>
{% endfor %}{% if add_generation_prompt %}<|assistant|>
{% endif %}"""

_SPECIAL = ["<pad>", "<s>", "</s>", "<image>", "<|system|>", "<|user|>", "<|assistant|>"]


def save(folder: Path, *, template: str = TEMPLATE, context: int = 8192, seed: int = 1) -> Path:
    """Save the miniature.

    Args:
        folder: Where to.
        template: Of its conversations.
        context: Tokens of a conversation that it takes.
        seed: Of its weights.
    """
    tokenizer = _tokenizer(template)
    model = _model(tokenizer, context, seed)
    model.save_pretrained(folder)
    _processor(tokenizer).save_pretrained(folder)
    return folder


def save_tiling(folder: Path) -> Path:
    """Save the miniature that cuts pictures into tiles."""
    tokenizer = _tokenizer(TEMPLATE)
    marks = ["<fake_token_around_image>", "<end_of_utterance>", "<global-img>"]
    tokenizer.add_tokens(marks, special_tokens=True)
    torch.manual_seed(0)
    config = Idefics3Config(
        vision_config={
            "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1,
            "num_attention_heads": 2, "image_size": SIDE, "patch_size": 14,
        },
        text_config=_text(8192), image_token_id=3, scale_factor=2, pad_token_id=0,
    )  # fmt: skip
    model = Idefics3ForConditionalGeneration(config).eval()
    model.generation_config.eos_token_id = 2
    model.save_pretrained(folder)
    pictures = Idefics3ImageProcessorPil(
        size={"longest_edge": 2 * SIDE}, max_image_size={"longest_edge": SIDE}
    )
    Idefics3Processor(
        pictures, tokenizer, image_seq_len=4, chat_template=tokenizer.chat_template
    ).save_pretrained(folder)
    return folder


def _tokenizer(template: str) -> PreTrainedTokenizerFast:
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=2048,
        min_frequency=1,
        special_tokens=_SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    answer = {**empty_record(), "people": [empty_person()]}
    made.train_from_iterator(
        [instructions().text, json.dumps(answer, separators=(",", ":"))], trainer
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        extra_special_tokens={"image_token": "<image>"},
        chat_template=template,
    )


def _model(
    tokenizer: PreTrainedTokenizerFast, context: int, seed: int
) -> LlavaForConditionalGeneration:
    torch.manual_seed(seed)
    vision = CLIPVisionConfig(
        hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        image_size=SIDE, patch_size=14,
    )  # fmt: skip
    config = LlavaConfig(
        vision_config=vision, text_config=_text(context), image_token_id=3, vision_feature_layer=-1,
        vision_feature_select_strategy="default", image_seq_length=16,
    )  # fmt: skip
    model = LlavaForConditionalGeneration(config).eval()
    with torch.no_grad():  # so that answers depend on the picture
        for name, weights in model.named_parameters():
            if "patch_embedding" in name:
                weights.mul_(50)
            if "multi_modal_projector.linear_2" in name:
                weights.mul_(10)
    return model


def _text(context: int) -> LlamaConfig:
    return LlamaConfig(
        vocab_size=2100,  # more than the tokenizer has, as in many models
        hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        max_position_embeddings=context, bos_token_id=1, eos_token_id=2, pad_token_id=0,
        initializer_range=0.5,
    )  # fmt: skip


def _processor(tokenizer: PreTrainedTokenizerFast) -> LlavaProcessor:
    size = {"height": SIDE, "width": SIDE}
    pictures = CLIPImageProcessorPil(size={"shortest_edge": SIDE}, crop_size=size)
    return LlavaProcessor(
        pictures, tokenizer, patch_size=14, vision_feature_select_strategy="default",
        num_additional_image_tokens=1, chat_template=tokenizer.chat_template,
    )  # fmt: skip
