"""Prompts that an encoder would cut are refused before anything is made."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from contextbias.errors import ConfigError, MissingPart
from contextbias.generate.diffusers.tokens import counts, encoders

# The miniatures' CLIP has a token a character, and 77 with both marks.
JUST = "a" * 75
OVER = "a" * 76


@pytest.mark.parametrize("name", ["sdxl", "sd3", "flux", "sd1"])
def test_a_prompt_that_just_fits_is_drawn_and_a_longer_one_refused(name, generator, job) -> None:
    ours = generator(name, negative_prompt="" if name != "flux" else None)
    ours.check([job(0, JUST)])
    with pytest.raises(ConfigError, match=r"78 tokens, tokenizer takes 77") as caught:
        ours.check([job(0, JUST), job(0, OVER)])
    assert repr(OVER) in str(caught.value)
    assert "1 of 2 texts" in str(caught.value)
    with pytest.raises(ConfigError, match="78 tokens"):
        list(ours.generate([job(0, OVER)]))


def test_nothing_is_loaded_but_tokenizers(generator, job, monkeypatch) -> None:
    from diffusers import DiffusionPipeline

    def loading(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("the model was loaded")

    monkeypatch.setattr(DiffusionPipeline, "from_pretrained", loading)
    for name in ("sdxl", "sd3", "flux", "qwen"):
        generator(name).check([job(0)])


def test_the_long_encoder_takes_what_the_option_says(generator, job) -> None:
    text = " ".join(["ab"] * 20)  # 60 pieces for T5, with its mark of a beginning: word by word
    generator("sd3").check([job(0, text)])
    with pytest.raises(ConfigError, match=r"tokenizer_3 takes 32"):
        generator("sd3", max_sequence_length=32, negative_prompt="").check([job(0, text)])


def test_qwens_template_is_not_counted_and_its_end_is(generator, job) -> None:
    ours = generator("qwen", negative_prompt="", max_sequence_length=64)
    # 5 tokens end the conversation: they count for the pipeline too.
    (encoder,) = encoders(ours.drawing._loaded.folder, ours.drawing._loaded.recipe)
    empty = encoder.count("")
    made = next(iter(ours.generate([job(0, "zzzz")])))
    assert made.provenance["tokens"] == {"tokenizer": empty + 4}
    with pytest.raises(ConfigError, match="tokenizer takes 64"):
        ours.check([job(0, "z q " * 64)])


def test_qwen_is_cut_without_a_word_where_nobody_counts(generator, job) -> None:
    """The pipeline says nothing: what is past the limit changes no pixel."""
    ours = generator("qwen", negative_prompt="", max_sequence_length=64, overlong="truncate")
    start = "z q " * 64
    one, two = ours.generate([job(0, start + "a nurse"), job(0, start + "a welder")])
    assert (one.image == two.image).all()
    assert one.provenance["truncated"] == ["tokenizer"]


def test_the_negative_prompt_and_the_style_are_counted(generator, job) -> None:
    with pytest.raises(ConfigError, match="tokens"):
        generator("sdxl", negative_prompt=OVER).check([job(0)])
    with pytest.raises(ConfigError, match="Shorten them or the option style"):
        generator("sdxl", style=JUST).check([job(0)])


def test_cutting_can_be_accepted_and_is_told(generator, job) -> None:
    ours = generator("sdxl", overlong="truncate")
    ours.check([job(0, OVER)])
    made = list(ours.generate([job(0, OVER), job(0, JUST)]))
    assert made[0].provenance["truncated"] == ["tokenizer", "tokenizer_2"]
    assert "truncated" not in made[1].provenance
    assert np.asarray(made[0].image).std() > 0


def test_many_long_prompts_are_listed_in_part(generator, job) -> None:
    jobs = [job(0, f"{number} {OVER}") for number in range(9)]
    with pytest.raises(ConfigError, match=r"9 of 10 texts .* and 6 more"):
        generator("sdxl").check(jobs)


def test_a_very_long_prompt_is_quoted_by_both_ends(generator, job) -> None:
    words = " ".join(f"word{number}" for number in range(400))
    with pytest.raises(ConfigError, match=r"'🚒 word0 [^']{40,60}' … '[^']{40,60} word399' \(\d+"):
        generator("sdxl").check([job(0, f"🚒 {words}")])


def test_counts_are_by_encoder(generator) -> None:
    drawing = generator("flux").drawing
    found = encoders(drawing._loaded.folder, drawing._loaded.recipe)
    # CLIP: 8 characters and 2 marks. T5: beginnings of 3 words, 8 characters, one mark.
    assert counts(found, "ab cde fgh") == {"tokenizer": 10, "tokenizer_2": 12}
    assert [e.limit for e in found] == [77, 512]


def test_a_broken_tokenizer_is_told(generator, folder, tmp_path, job) -> None:
    shutil.copytree(folder("sdxl"), tmp_path / "model")
    for file in (tmp_path / "model" / "tokenizer_2").iterdir():
        file.write_text("{")
    with pytest.raises(MissingPart, match=r"tokenizer_2 cannot be loaded"):
        generator("sdxl", model=str(tmp_path / "model")).check([job(0)])


def test_a_tokenizer_that_is_not_there_is_told(generator, folder, tmp_path, job) -> None:
    shutil.copytree(folder("sdxl"), tmp_path / "model")
    shutil.rmtree(tmp_path / "model" / "tokenizer_2")
    with pytest.raises(MissingPart, match=r"is not there: .*tokenizer_2"):
        generator("sdxl", model=str(tmp_path / "model")).check([job(0)])


def test_looking_at_prompts_loads_neither_torch_nor_diffusers(folder) -> None:
    """The driver does it before it gives anything out: it should be quick."""
    code = f"""
import sys
from contextbias.generate.diffusers import DiffusersGenerator
from contextbias.generate.protocol import Job
job = Job(image_id="", role="", condition="CF", text="a nurse", location=None, activity=None,
          prompt_id="", seed=0)
DiffusersGenerator({{"model": {str(folder("flux"))!r}, "style": ""}}).check([job])
assert not {{"torch", "diffusers"}} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
