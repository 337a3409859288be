"""What the pages about generators tell people to write is valid."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.conftest import CHECKOUT

from contextbias.config import parse_config
from contextbias.generate.command import CommandGenerator
from contextbias.generate.openai_images import OpenAIImages
from contextbias.generate.protocol import Job
from contextbias.registry import load_generator

PAGES = [CHECKOUT / "docs" / name for name in ("any-model.md", "image-apis.md")]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text("utf-8"), re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_studies_on_the_page_are_valid(page: Path, tmp_path: Path) -> None:
    studies = [text for text in blocks(page, "toml") if "[study]" in text]
    assert studies
    for text in studies:
        for section in parse_config(text).generators:
            options = dict(section.options)
            assert load_generator(section.backend, options, folder=tmp_path)


def test_options_of_a_compatible_server_are_valid() -> None:
    (text,) = [t for t in blocks(PAGES[1], "toml") if "[study]" not in t]
    config = parse_config(f'[[generators]]\nname = "a"\nbackend = "openai_images"\n{text}')
    assert OpenAIImages(dict(config.generators[0].options)).settings()["send_seed"] is True


def test_the_program_on_the_page_works(tmp_path: Path) -> None:
    (program,) = blocks(PAGES[0], "python")
    (tmp_path / "draw.py").write_text(program)
    (tmp_path / "my_model.py").write_text(
        "from PIL import Image\n"
        "def paint(prompt, seed):\n"
        "    return Image.linear_gradient('L').rotate(seed)\n"
    )
    backend = CommandGenerator({"command": [sys.executable, "draw.py"]}, folder=tmp_path)
    fields: dict[str, Any] = {"location": None, "activity": None, "prompt_id": "p", "seed": 90}
    job = Job(image_id="i", role="nurse", condition="CF", text="a nurse", **fields)
    (made,) = backend.generate([job])
    assert made.status == "ok", made.reason
    assert made.data is not None
    (tmp_path / "a.png").write_bytes(made.data)
    with Image.open(tmp_path / "a.png") as picture:
        assert picture.size == (256, 256)


def test_the_page_names_every_field_of_a_job() -> None:
    page = PAGES[0].read_text("utf-8")
    source = (CHECKOUT / "src/contextbias/generate/programs.py").read_text("utf-8")
    order = source.split("order = {")[1].split("}")[0]
    for name in re.findall(r'"(\w+)":', order):
        assert f"| `{name}` |" in page
