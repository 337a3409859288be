"""What study.toml asks for: options of the bench, prompt lists; and what then has to be paid."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from contextbias import pipeline
from contextbias.bench import distinct_contexts
from contextbias.cli.imports import prompts as import_command
from contextbias.config import parse_config
from contextbias.errors import BankError, ConfigError, InputError
from contextbias.ids import image_seed
from contextbias.pipeline import Done, Options, import_prompts
from contextbias.pipeline.prompt_lists import with_bank
from contextbias.pipeline.selection import Wanted
from contextbias.progress import Silent
from contextbias.store import Study
from contextbias.tables import CONDITIONS, ImageRow

LIST = [
    {
        "role": "nurse",
        "context": "CF",
        "prompt": "a photo of a nurse",
        "seeds_by_model": {"SDXL": [11, 12], "Flux": [21, 22]},
    },
    {"role": "nurse", "context": "CA-R", "prompt": "a photo of a nurse in a ward"},
    {"role": "welder", "context": "CA-U", "prompt": "a photo of a welder in a park"},
]

DRAWS = """
[[generators]]
name = "sdxl"
backend = "simulated"
options = { size = 64 }
[[readers]]
name = "r"
backend = "simulated"
[run]
workers = 1
"""


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    path = tmp_path / "paper.json"
    path.write_text(json.dumps(LIST), "utf-8")
    return path


def study_of(tmp_path: Path, text: str) -> Path:
    root = tmp_path / "study"
    Study.create(root, text).close()
    return root


def run(root: Path, *stages: str) -> dict[str, Done]:
    with Study.open(root, writing=True) as study:
        done = pipeline.run(study, stages, Options(progress=Silent()))
    return {each.stage: each for each in done}


def images(root: Path) -> list[ImageRow]:
    with Study.open(root) as study:
        return Wanted(study).images()


# ---- options


def test_options_of_the_bench_reach_the_prompts(tmp_path: Path) -> None:
    text = """
[bench]
roles = ["nurse"]
unrelated = "deranged"
balanced = true
phrasings = ["a photo of", "a portrait of"]
axes = ["lighting"]
"""
    with Study.open(study_of(tmp_path, text + DRAWS)) as study:
        built = Wanted(study).prompts
    assert Counter(p.condition for p in built) == {"CF": 10, "CA-R": 10, "CA-U": 10}
    (label,) = {p.bank for p in built}
    assert label.startswith("contextbench 1 (deranged, balanced, phrasings ")
    assert label.endswith(", lighting)")


def test_another_bank_that_ships(tmp_path: Path) -> None:
    text = '[bench]\nbank = "contextbench-de"\nroles = ["nurse (n)"]\n'
    with Study.open(study_of(tmp_path, text + DRAWS)) as study:
        assert {p.bank for p in Wanted(study).prompts} == {"contextbench-de 1"}


def test_seeds_are_paired_or_independent(tmp_path: Path) -> None:
    text = '[study]\nseed = 3\nimages_per_prompt = 2\nseeds = "{}"\n[bench]\nroles = ["nurse"]\n'
    seeds: dict[str, list[int]] = {}
    for kind in ("paired", "independent"):
        root = study_of(tmp_path / kind, text.format(kind) + DRAWS)
        with Study.open(root) as study:
            wanted = Wanted(study)
            seeds[kind] = [o.job.seed for o in wanted.orders(wanted.drawn[0])]
    # Paired: the same two for all 18 prompts. Independent: 36 different ones.
    assert set(seeds["paired"]) == {image_seed(3, "nurse", i) for i in (0, 1)}
    assert len(set(seeds["independent"])) == 36


def test_a_changed_option_pays_only_for_what_is_new(tmp_path: Path) -> None:
    text = '[study]\nimages_per_prompt = 1\n[bench]\nroles = ["nurse"]\n' + DRAWS
    root = study_of(tmp_path, text)
    assert run(root, "bench", "generate")["generate"].new == 18
    config = root / "study.toml"
    config.write_text(text.replace('["nurse"]\n', '["nurse"]\nbalanced = true\n'), "utf-8")
    assert run(root, "bench", "generate")["generate"].new == 24 - 18


def test_a_stored_image_has_the_variant_that_its_prompt_has_now(tmp_path: Path) -> None:
    both = 'phrasings = ["a photo of", "a portrait of"]'
    text = f'[study]\nimages_per_prompt = 1\n[bench]\nroles = ["nurse"]\n{both}\n' + DRAWS
    root = study_of(tmp_path, text)
    run(root, "bench", "generate", "extract", "canonicalise")
    before = {image.image_id: image.variant for image in images(root)}
    turned = 'phrasings = ["a portrait of", "a photo of"]'
    (root / "study.toml").write_text(text.replace(both, turned), "utf-8")
    after = {image.image_id: image.variant for image in images(root)}
    shared = before.keys() & after.keys()
    assert Counter(f"{before[i]} > {after[i]}" for i in shared if before[i].startswith("cf")) == {
        "cf/phrasing-1 > cf/phrasing-2": 1, "cf/phrasing-2 > cf/phrasing-1": 1,
    }  # fmt: skip
    # The derived tables follow, and the prompts that the measure stage is told of.
    assert run(root, "generate", "extract", "canonicalise")["canonicalise"].new
    with Study.open(root) as study:
        wanted = Wanted(study)
        known = {p.prompt_id: p for p in wanted.known_prompts()}
        assert all(known[p.prompt_id] == p for p in wanted.prompts)
        assert len(known) > len(wanted.prompts)  # substitutions stand in the first phrasing only


# ---- prompt lists


def test_a_list_makes_a_study_that_runs_with_its_seeds(listed: Path, tmp_path: Path) -> None:
    root = tmp_path / "study"
    done = import_prompts(listed, root)
    assert (done.new, done.is_new_study) == (3, True)
    assert done.summary() == (
        "3 prompts for 2 roles (CF 1, CA-R 1, CA-U 1), 3 new; seeds for Flux, SDXL"
    )
    config = root / "study.toml"
    text = config.read_text("utf-8").replace("[study]\n", "[study]\nimages_per_prompt = 3\n")
    config.write_text(text + DRAWS, "utf-8")
    said = run(root, "bench", "generate")
    assert said["bench"].note == ("3 prompts for 2 roles, nothing new; the list's seeds for sdxl")
    seeds = [i.seed for i in images(root) if i.condition == "CF"]
    with Study.open(root) as study:
        (prompt,) = [p for p in Wanted(study).prompts if p.condition == "CF"]
    # Two seeds of the list, then the third image's own.
    assert sorted(seeds) == sorted([11, 12, image_seed(1, "nurse", 2, prompt.prompt_id)])


def test_a_generator_that_the_list_does_not_know_is_said(listed: Path, tmp_path: Path) -> None:
    root = tmp_path / "study"
    import_prompts(listed, root)
    config = root / "study.toml"
    config.write_text(config.read_text("utf-8") + DRAWS.replace("sdxl", "mine"), "utf-8")
    said = run(root, "bench")["bench"].note
    assert said.endswith("derived seeds for mine (the list has some for Flux, SDXL)")


def test_a_list_goes_into_a_study_that_is_there(listed: Path, tmp_path: Path) -> None:
    root = study_of(tmp_path, "# mine\n[bench]\nroles = [\n  'nurse',\n]\n" + DRAWS)
    done = import_prompts(listed, root)
    assert not done.is_new_study
    text = (root / "study.toml").read_text("utf-8")
    assert text.startswith('# mine\n[bench]\nbank = "prompts-')
    with Study.open(root) as study:
        assert {p.role for p in Wanted(study).prompts} == {"nurse"}
    assert import_prompts(listed, root).new == 0
    assert (root / "study.toml").read_text("utf-8") == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[study]\nname = 'x'\n",
        "[bench]  # which\nroles = ['a']\n[measure]\nalpha = 0.1\n",
        "[bench]\nroles = ['a']\nbank = 'old.toml'  # mine\n\n[study]\nseed = 2\n",
    ],
)
def test_the_bank_is_set_and_nothing_else(text: str) -> None:
    before = parse_config(text)
    after = parse_config(with_bank(text, "p.json"))
    assert after.bench.bank == "p.json"
    assert after.model_copy(update={"bench": before.bench}) == before
    assert after.bench.roles == before.bench.roles


@pytest.mark.parametrize(
    "text", ["bench = { roles = ['a'] }\n", "[study]\nname = '''\n[bench]\n'''\n"]
)
def test_an_unusual_form_is_not_touched(text: str) -> None:
    with pytest.raises(InputError, match=r'cannot be changed here. Write bank = "p.json" in'):
        with_bank(text, "p.json")


def test_a_broken_list_changes_nothing(tmp_path: Path) -> None:
    root = study_of(tmp_path, DRAWS)
    bad = tmp_path / "bad.json"
    bad.write_text('[{"role": "nurse"}]', "utf-8")
    before = sorted(path.name for path in root.iterdir())
    with pytest.raises(InputError, match=r"bad.json entry 1 has no key 'context'"):
        import_prompts(bad, root)
    assert sorted(path.name for path in root.iterdir()) == before
    with pytest.raises(InputError, match=r"bad.json"):
        import_prompts(bad, tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("option", ["balanced = true", 'axes = ["lighting"]'])
def test_options_that_a_list_cannot_have(option: str, listed: Path, tmp_path: Path) -> None:
    root = tmp_path / "study"
    import_prompts(listed, root)
    config = root / "study.toml"
    text = config.read_text("utf-8").replace("[bench]\n", f"[bench]\n{option}\n")
    config.write_text(text + DRAWS, "utf-8")
    key = option.split()[0]
    with pytest.raises(ConfigError, match=rf"bench.{key} has no effect on the prompt list"):
        run(root, "bench")


def test_a_list_that_is_gone_and_a_role_that_it_has_not(listed: Path, tmp_path: Path) -> None:
    root = study_of(tmp_path, '[bench]\nbank = "gone.json"\n' + DRAWS)
    with pytest.raises(InputError, match=r"gone.json"):
        run(root, "bench")
    (root / "gone.json").write_bytes(listed.read_bytes())
    config = root / "study.toml"
    config.write_text(
        config.read_text("utf-8").replace("[bench]", '[bench]\nroles = ["ceo"]'), "utf-8"
    )
    with pytest.raises(BankError, match="no role 'ceo' in gone"):
        run(root, "bench")


def test_the_command(listed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import_command(listed, tmp_path / "study")
    said = capsys.readouterr()
    assert said.out == ""
    assert "3 prompts for 2 roles" in said.err
    assert "Name generators and readers in" in said.err


@pytest.mark.slow
def test_a_simulated_study_over_all_92_roles_runs_end_to_end(tmp_path: Path) -> None:
    text = "[study]\nimages_per_prompt = 1\n[measure]\nbootstrap = 20\n" + DRAWS
    root = study_of(tmp_path, text.replace("workers = 1", "workers = 0"))
    done = run(root, *pipeline.STAGES)
    assert done["bench"].note == "1,656 prompts for 92 roles, 1,656 new"
    assert done["generate"].new == 1656
    assert done["report"].new > 0
    with Study.open(root) as study:
        estimates = study.estimates()
        assert estimates is not None
        found = estimates.filter(estimates["estimand"] == "distinct_contexts")
        wanted = Wanted(study)
        contexts = {
            condition: distinct_contexts(p for p in wanted.prompts if p.condition == condition)
            for condition in CONDITIONS
        }
    assert dict(found.select("condition", "point").iter_rows()) == contexts


def test_a_list_without_a_generator_is_shown_and_the_run_says_what_is_missing(
    listed: Path, tmp_path: Path
) -> None:
    root = tmp_path / "new"
    import_prompts(listed, root)
    with Study.open(root, writing=True) as study:
        assert pipeline.status(study)["prompts"] == len(LIST)
        (prompts, images, readings) = pipeline.preview(study, pipeline.STAGES, Options())
        assert (prompts.wanted, prompts.left, images.wanted, readings.wanted) == (3, 0, 0, 0)
        with pytest.raises(ConfigError, match="names no generator and no reader"):
            pipeline.run(study, pipeline.STAGES, Options())
