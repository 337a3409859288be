from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from contextbias.cli.init import template_text
from contextbias.config import RESERVED_NAMES, StudyConfig, load_config, parse_config
from contextbias.errors import ConfigError
from contextbias.registry import names
from contextbias.tables import CONDITIONS
from tests.conftest import CHECKOUT

TEMPLATES = sorted(p.stem for p in CHECKOUT.glob("src/contextbias/cli/templates/*.toml"))
GENERATOR = '[[generators]]\nname = "{}"\nbackend = "simulated"\n'


def fault(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_config(text)
    assert "\n" not in str(caught.value)
    return caught.value.problem


def test_defaults_are_those_of_the_reference() -> None:
    config = parse_config("")
    assert config == StudyConfig()
    assert (config.study.images_per_prompt, config.study.seeds) == (10, "paired")
    assert (config.bench.bank, config.bench.roles) == ("contextbench", "all")
    assert (config.measure.preset, config.measure.people) == ("paper", "primary")
    assert (config.measure.bootstrap, config.measure.margin_pp) == (1000, 5.0)


@pytest.mark.parametrize("name", ["demo", "quick", "paper"])
def test_every_template_is_a_valid_study(name: str) -> None:
    config = parse_config(template_text(name))
    assert config.generators
    assert config.readers
    assert {g.backend for g in config.generators} <= set(names("generator"))
    assert {r.backend for r in config.readers} <= set(names("reader"))


def test_no_template_is_left_out_of_these_tests() -> None:
    assert set(TEMPLATES) == {"demo", "quick", "paper"}


@pytest.mark.parametrize("name", ["quick", "paper"])
def test_what_a_template_shows_commented_out_is_valid_too(name: str) -> None:
    lines = template_text(name).splitlines()
    keys = [line.removeprefix("# ") for line in lines if line.startswith(("# [", "# "))]
    shown = [key for key in keys if key.startswith("[") or (" = " in key and key[0].islower())]
    assert shown
    text = "\n".join(line.removeprefix("# ") if line[2:] in shown else line for line in lines)
    assert parse_config(text)


def test_the_demo_is_what_the_readme_says() -> None:
    config = parse_config(template_text("demo"))
    assert len(config.generators) == 2
    assert len(config.bench.roles) == 12
    assert config.study.images_per_prompt == 5


@pytest.mark.parametrize(
    ("text", "key", "hint"),
    [
        ("[stduy]", "'stduy'", "did you mean 'study'"),
        ("[study]\nsede = 1", "'study.sede'", "did you mean 'seed'"),
        ("[measure]\npresets = 1", "'measure.presets'", "did you mean 'preset'"),
        ('[[readers]]\nname="a"\nbackend="b"\noption={}', "'readers.0.option'", "'options'"),
        ("[study]\nzzz = 1", "'study.zzz'", "known here: name, seed, images_per_prompt, seeds"),
    ],
)
def test_an_unknown_key_names_the_nearest_known_one(text: str, key: str, hint: str) -> None:
    problem = fault(text)
    assert f"unknown key {key}" in problem
    assert hint in problem


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("[study]\nseed = -1", ("study.seed = -1", "greater than or equal to 0")),
        ("[study]\nimages_per_prompt = 0", ("study.images_per_prompt = 0",)),
        ('[study]\nseeds = "both"', ("study.seeds = 'both'", "'paired' or 'independent'")),
        ("[bench]\nroles = []", ("bench.roles", "name at least one role")),
        ('[measure]\npreset = "papr"', ("measure.preset = 'papr'", "'paper'", "'strict'")),
        (
            '[bench]\nphrasings = "a photo of"',
            ("phrasings = 'a photo of' is no list", '["a photo of"]'),
        ),
        ("[measure]\nintervals = 3", ("measure.intervals = 3 is no list",)),
        ("version = 2", ("version = 2",)),
        ("a =", ("not valid TOML",)),
        ('[[generators]]\nname = "a"', ("generators.0.backend", "required")),
        (GENERATOR.format("../a"), ("generators.0.name = '../a'",)),
        (GENERATOR.format("a") * 2, ("generators: the name 'a' is used twice",)),
    ],
)
def test_a_wrong_value_is_shown_with_what_is_wanted(text: str, parts: tuple[str, ...]) -> None:
    problem = fault(text)
    assert all(part in problem for part in parts)


def test_all_faults_in_one_line() -> None:
    problem = fault("[study]\nseed = -1\nfoo = 2\n[run]\nworkers = -3")
    assert all(part in problem for part in ("study.seed", "study.foo", "run.workers"))


@pytest.mark.parametrize("name", sorted(RESERVED_NAMES))
def test_names_of_the_tables_are_reserved(name: str) -> None:
    assert "meaning of its own" in fault(GENERATOR.format(name))
    assert "meaning of its own" in fault(GENERATOR.format(name.upper()))


def test_a_reader_and_a_generator_may_share_a_name() -> None:
    config = parse_config(GENERATOR.format("a") + GENERATOR.format("a").replace("gener", "re", 1)
                          .replace("reators", "readers"))  # fmt: skip
    assert config.generators[0].name == config.readers[0].name


def test_a_file_is_named_in_the_message(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text("[stduy]")
    with pytest.raises(ConfigError, match=r"^study\.toml: unknown key"):
        load_config(path)
    path.write_bytes(b"# caf\xe9")
    with pytest.raises(ConfigError, match=r"not UTF-8 text \(byte 5\)"):
        load_config(path)


def test_a_configuration_cannot_be_changed() -> None:
    config = parse_config("")
    with pytest.raises(ValidationError):
        config.study.seed = 3  # type: ignore[misc]


@given(st.text())
def test_any_text_is_a_configuration_or_a_clear_error(text: str) -> None:
    with contextlib.suppress(ConfigError):
        assert isinstance(parse_config(text), StudyConfig)


def test_conditions_keep_their_order() -> None:
    assert CONDITIONS == ("CF", "CA-R", "CA-U")


def test_what_windows_editors_write_is_read(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_bytes(b'\xef\xbb\xbf[study]\r\nname = "x"\r\n')
    assert load_config(path).study.name == "x"
