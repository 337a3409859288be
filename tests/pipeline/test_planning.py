"""A plan: what is still to be done, and what it is good for."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.rows import image, prompt
from tests.small_study import two_roles

from contextbias import pipeline
from contextbias.cli.plan_text import plan_lines
from contextbias.errors import ConfigError, InputError, MissingPart
from contextbias.extract.simulated import SimulatedReader
from contextbias.forecast import Forecast
from contextbias.generate.simulated import SimulatedGenerator
from contextbias.pipeline import Options
from contextbias.pipeline.design import (
    INDEPENDENT,
    Arm,
    Design,
    Likeness,
    design_of_counts,
    design_of_images,
    design_of_prompts,
)
from contextbias.pipeline.planning import Assumptions, plan
from contextbias.pipeline.sizes import Aims, Spread, comparisons, intensity
from contextbias.store import Study
from contextbias.tables import FrequencyRow

STUDY = two_roles(workers=2)


CONTEXTBENCH = Design(
    roles=92,
    images_per_prompt=10,
    arms=(
        Arm(condition="CF", prompts=3, contexts=1, alike=3.0),
        Arm(condition="CA-R", prompts=7, contexts=3, alike=19 / 7),
        Arm(condition="CA-U", prompts=8, contexts=4, alike=20 / 8),
    ),
)


def alike(correlation: float) -> Likeness:
    return Likeness(correlation=correlation, source="as given")


def planned(root: Path, aims: Aims | None = None, **assumed: Any) -> dict[str, Any]:
    with Study.open(root) as study:
        return plan(study, aims or Aims(), Assumptions(**assumed))


def run(root: Path, *stages: str, **options: Any) -> None:
    with Study.open(root, writing=True) as study:
        pipeline.run(study, stages or pipeline.STAGES, Options(**options))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("finished") / "study"
    Study.create(root, STUDY).close()
    run(root, "bench", "generate", "extract", "canonicalise", "measure")
    return root


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    root = tmp_path / "study"
    Study.create(root, STUDY).close()
    return root


# ---- the design


def test_the_design_of_contextbench(fresh: Path) -> None:
    # CF: three phrasings of one context. CA-R: two contexts with three phrasings, one substitution:
    # (3 * 3 + 3 * 3 + 1) / 7 prompts in the context of a prompt. CA-U: one substitution more.
    design = planned(fresh)["design"]
    assert (design["roles"], design["images_per_prompt"]) == (2, 1)
    arms = {arm["condition"]: arm for arm in design["arms"]}
    assert [arms[c]["prompts"] for c in ("CF", "CA-R", "CA-U")] == [3, 7, 8]
    assert [arms[c]["contexts"] for c in ("CF", "CA-R", "CA-U")] == [1, 3, 4]
    assert [arms[c]["alike"] for c in ("CF", "CA-R", "CA-U")] == pytest.approx([3, 19 / 7, 20 / 8])


def test_without_a_study_it_is_contextbench() -> None:
    found = plan(None, Aims(), Assumptions())
    assert found["design"] == {**asdict(CONTEXTBENCH), "roles": found["design"]["roles"]}
    assert found["work"] is None
    assert found["likeness"]["correlation"] == 0.05


def test_the_design_of_images_that_exist() -> None:
    rows = [
        image(f"{role}{name}{k}", role=role, condition=name, variant=f"p{j}", prompt_id=f"p{j}")
        for role in ("nurse", "welder")
        for name, prompts in (("CF", 1), ("CA-U", 2))
        for j in range(prompts)
        for k in range(5)
    ]
    design = design_of_images(rows)
    assert (design.roles, design.images_per_prompt) == (2, 5)
    assert [(a.condition, a.prompts, a.contexts) for a in design.arms] == [
        ("CF", 1, 1), ("CA-U", 2, 2)
    ]  # fmt: skip
    assert design.images().tolist() == [5, 10]
    assert design_of_images([]).arms == ()


def test_the_design_of_answers_that_were_counted_elsewhere() -> None:
    rows = [
        FrequencyRow(
            frequency_id=f"{role}{name}{j}", attempt=1, reader="r", generator="g", source="s",
            role=role, condition=name, prompt_id=f"p{j}", variant=f"p{j}", images=images,
            counts=(), sha256="", created_at="",
        )
        for role in ("nurse", "welder")
        for name, prompts, images in (("CF", 3, None), ("CA-U", 8, 20))
        for j in range(prompts)
    ]  # fmt: skip
    design = design_of_counts(rows)
    assert (design.roles, design.images_per_prompt) == (2, 20)
    assert [(arm.prompts, arm.contexts) for arm in design.arms] == [(3, 3), (8, 8)]
    assert design_of_counts([replace(row, images=None) for row in rows]).images_per_prompt == 10
    assert not design.contexts_known


def test_design_effects_by_hand() -> None:
    design = design_of_prompts(
        [prompt(f"p{k}", base="b", variant=f"phrasing-{k}") for k in range(3)]
        + [prompt("q", base="b", variant="substitute-location")],
        images_per_prompt=10,
    )
    # Two contexts of 30 and 10 images: m = (900 + 100) / 40 = 25; 1 + 24 * .05 = 2.2.
    assert alike(0.05).effects(design) == pytest.approx([2.2])
    assert alike(0.05).effective(design) == pytest.approx([40 / 2.2])
    assert alike(0.05).effects(design, 100) == pytest.approx([1 + 249 * 0.05])
    assert alike(0.05).error_df(design) == 1
    given = Likeness(correlation=0.0, effect=3.0, source="")
    assert given.effective(design, 20) == pytest.approx([80 / 3])
    assert np.isinf(given.error_df(design))
    assert INDEPENDENT.effective(design) == pytest.approx([40])


# ---- what is still to be done


def test_a_study_without_an_image(fresh: Path) -> None:
    work = planned(fresh)["work"]
    made, read = work["sections"]
    assert (made["wanted"], made["done"], made["pending"]) == (36, 0, 36)
    assert (read["wanted"], read["done"], read["pending"]) == (36, 0, 36)
    assert made["basis"] == "tried on 4 of them"
    assert made["pixels"] == (64, 64)
    assert made["wall_seconds"] == pytest.approx(made["seconds"] / 2)
    assert work["disk"]["expected"] == made["size"] + read["size"] > 36 * 1000
    with Study.open(fresh) as study:
        assert not any(study.counts().values())
    assert not (fresh / "images").exists()


def test_what_is_finished_says_how_long_the_rest_takes(fresh: Path) -> None:
    run(fresh, "bench", "generate", "extract", limit=10)
    work = planned(fresh)["work"]
    made, read = work["sections"]
    assert (made["done"], made["pending"]) == (10, 26)
    assert (read["done"], read["pending"]) == (10, 26)
    assert made["basis"] == "from 10 finished images"
    assert read["basis"] == "from 10 finished readings"
    with Study.open(fresh) as study:
        images = study.images()
        seconds = np.mean([row.seconds for row in images])
        size = np.mean(
            [
                sum(
                    f.stat().st_size
                    for f in (fresh / str(i.path)).parent.glob(f"{Path(str(i.path)).stem}.*")
                )
                for i in images
            ]
        )
    assert made["seconds"] == pytest.approx(26 * seconds)
    assert made["size"] == pytest.approx(26 * size, rel=0.02)


def test_a_finished_study_has_nothing_to_do(finished: Path) -> None:
    work = planned(finished)["work"]
    assert [section["pending"] for section in work["sections"]] == [0, 0]
    assert work["disk"]["expected"] == 0


def test_a_reader_that_is_not_installed(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any) -> None:
        raise MissingPart("the reader backend 'x' needs y, which is not installed", "install it")

    monkeypatch.setattr("contextbias.pipeline.workload.load_reader", missing)
    _, read = planned(fresh)["work"]["sections"]
    assert read["pending"] == 36
    assert "not installed" in read["notes"][0]


def test_a_backend_that_says_what_it_costs(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Paid(SimulatedReader):
        def plan(self, pictures: int, pixels: tuple[int, int] | None) -> Forecast:
            assert pixels == (64, 64)
            return Forecast(
                calls=pictures, tokens_in=1000 * pictures, money=0.01 * pictures, notes=("a limit",)
            )

    monkeypatch.setattr("contextbias.pipeline.workload.load_reader", lambda _, o: Paid(o))
    _, read = planned(fresh)["work"]["sections"]
    assert (read["calls"], read["tokens_in"], read["money"]) == (36, 36_000, pytest.approx(0.36))
    assert read["wall_seconds"] is None


def test_a_backend_that_says_nothing(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent:
        parallel = "none"

        def settings(self) -> dict[str, Any]:
            return {}

    monkeypatch.setattr("contextbias.pipeline.workload.load_reader", lambda *_: Silent())
    _, read = planned(fresh)["work"]["sections"]
    assert (read["pending"], read["seconds"], read["workers"]) == (36, None, 1)


def test_simulated_generators_forecast_by_trying() -> None:
    made: list[Sequence[object]] = []

    class Counting(SimulatedGenerator):
        def _make(self, job: Any) -> Any:
            made.append(job)
            return super()._make(job)

    generator = Counting({"size": 64})
    assert generator.plan([]) == Forecast(seconds=0.0, size=0)
    assert made == []


def test_folders_and_imported_images(tmp_path: Path, finished: Path) -> None:
    root = tmp_path / "study"
    shutil.copytree(finished / "images", root / "pictures")
    Study.create(
        root,
        '[[generators]]\nname = "mine"\nbackend = "folder"\noptions = { source = "pictures", '
        'pattern = "{generator}/{condition}/{role}/{base}/{prompt}/{seed}.png" }\n'
        '[[readers]]\nname = "vlm"\nbackend = "simulated"\n',
    ).close()
    before = planned(root)
    assert before["comparisons"] == {}
    assert before["bias_intensity"] == []
    made, _ = before["work"]["sections"]
    assert (made["wanted"], made["pending"]) == (0, 0)


# ---- what it is good for


def test_the_answer_for_independent_images() -> None:
    answer = comparisons(CONTEXTBENCH, Aims(), INDEPENDENT)["answer"]
    assert answer["images_per_condition_if_equal"] == 820
    assert answer["floor"] == 52
    assert answer["independent"] == answer["clustered"]
    assert answer["independent"]["images_per_prompt"] == 172
    assert answer["independent"]["images"] == {"CF": 516, "CA-R": 1204, "CA-U": 1376}
    assert answer["independent"]["images_a_generator"] == (516 + 1204 + 1376) * 92


def test_one_context_never_counts_for_much() -> None:
    comparison = comparisons(CONTEXTBENCH, Aims(), alike(0.05))
    answer = comparison["answer"]
    assert answer["clustered"]["images_per_prompt"] is None
    assert answer["most_effective_images"] == pytest.approx(20, abs=0.01)
    # 820 images count, a context of 30 counts for 30 / (1 + 29 * .05): 66.97 contexts.
    assert answer["contexts_per_condition"] == 67
    effects = [row["design_effect"] for row in comparison["conditions"]]
    assert effects == pytest.approx([2.45, 1 + (190 / 7 - 1) * 0.05, 2.2])


def test_images_that_are_not_alike_count_without_limit() -> None:
    for likeness in (alike(0.0), Likeness(correlation=0.0, effect=2.0, source="as given")):
        answer = comparisons(CONTEXTBENCH, Aims(), likeness)["answer"]
        assert answer["most_effective_images"] is None
        assert answer["contexts_per_condition"] is None
    answer = comparisons(CONTEXTBENCH, Aims(), alike(0.0))["answer"]
    assert answer["clustered"] == answer["independent"]


def test_contexts_that_are_not_known_are_called_prompts(fresh: Path) -> None:
    found = planned(fresh, correlation=0.3)
    assert "of 1 context, never" in " ".join(" ".join(plan_lines(found)).split())
    found["design"]["contexts_known"] = False
    said = " ".join(" ".join(plan_lines(found)).split())
    assert "of 1 prompt, never" in said
    assert "each prompt stands for one" in said


def test_no_correlation_is_said() -> None:
    found = plan(None, Aims(), Assumptions(correlation=0.0))
    said = " ".join(" ".join(plan_lines(found)).split())
    assert "taken for independent (intraclass correlation 0, as given)" in said
    assert "are alike" not in said


def test_a_design_effect_multiplies_the_images() -> None:
    given = Likeness(correlation=0.0, effect=2.0, source="as given")
    found = comparisons(CONTEXTBENCH, Aims(prevalence=1.0), given)["answer"]
    assert found["independent"]["images"]["CF"] == 54
    assert found["clustered"]["images"]["CF"] == 105  # 52.5 count


def test_the_answer_for_a_shift() -> None:
    aims = Aims(target="shift", range_pp=20.0)
    answer = comparisons(CONTEXTBENCH, aims, INDEPENDENT)["answer"]
    seeds = answer["independent"]["images_per_prompt"]
    found = comparisons(replace(CONTEXTBENCH, images_per_prompt=seeds), aims, INDEPENDENT)
    (row,) = [r for r in found["prevalences"] if r["prevalence"] == 0.9]
    assert 18 < row["independent"]["shifted_pp"] <= 20
    small = Aims(target="shift", range_pp=4.0)  # within the margin
    answer = comparisons(CONTEXTBENCH, small, INDEPENDENT)["answer"]
    assert answer["independent"]["images_per_prompt"] is None


def test_rows_of_the_tables() -> None:
    found = comparisons(CONTEXTBENCH, Aims(prevalence=0.7), alike(0.05))
    rows = {row["prevalence"]: row for row in found["prevalences"]}
    assert sorted(rows) == [0.5, 0.7, 0.8, 0.9, 0.95, 0.98]
    assert rows[0.9]["independent"]["detectable_pp"] == pytest.approx(17.864, abs=1e-3)
    for row in rows.values():
        free, clustered = row["independent"], row["clustered"]
        assert free["detectable_pp"] < free["shifted_pp"] < free["shifted_hardest_pp"]
        assert free["detectable_pp"] < clustered["detectable_pp"]
        assert free["invariant_power"] == clustered["invariant_power"] == 0


def test_two_conditions_and_one() -> None:
    arms = CONTEXTBENCH.arms
    two = comparisons(Design(roles=5, images_per_prompt=10, arms=arms[:2]), Aims(), INDEPENDENT)
    assert [row["condition"] for row in two["conditions"]] == ["CF", "CA-R"]
    assert two["answer"]["images_per_condition_if_equal"] < 820
    one = comparisons(Design(roles=5, images_per_prompt=10, arms=arms[:1]), Aims(), INDEPENDENT)
    assert one == {}


def test_bias_intensity() -> None:
    design = Design(roles=12, images_per_prompt=1, arms=())
    (row,) = intensity(design, Aims(), [Spread("all", 0.05)])
    assert row["half_width"] == pytest.approx(2.200985 * 0.05 / 12**0.5, rel=1e-5)
    assert row["roles_needed"] == {"0.02": 52, "0.05": 10, "0.10": 5}
    (row,) = intensity(Design(roles=1, images_per_prompt=1, arms=()), Aims(), [Spread("all", 0.05)])
    assert row["half_width"] is None


def test_no_difference_of_bias_intensity_is_larger_than_1() -> None:
    # t(.975, 1) .2 / sqrt(2) = 1.80
    design = Design(roles=2, images_per_prompt=1, arms=())
    (row,) = intensity(design, Aims(), [Spread("one dimension", 0.2)])
    assert (row["half_width"], row["detectable"]) == (1.0, None)


# ---- where likeness and spread come from


def test_from_the_studys_own_estimates(finished: Path) -> None:
    found = planned(finished)
    with Study.open(finished) as study:
        table = study.estimates()
    assert table is not None
    rows = table.filter(pl.col("reader") == "vlm", pl.col("estimand") == "intraclass_correlation")
    mean = rows["point"].drop_nulls().mean()
    assert found["likeness"]["correlation"] == pytest.approx(mean)
    dimensions = rows.drop_nulls("point")["dimension"].n_unique()
    said = f"this study's estimates: mean over {dimensions} dimensions of 1 generator, at most"
    assert said in found["likeness"]["source"]
    assert [row["what"] for row in found["bias_intensity"]] == [
        "overall",
        "people",
        "one dimension",
    ]
    points = table.filter(
        pl.col("reader") == "vlm",
        pl.col("estimand") == "bi_role",
        pl.col("cohort") == "objects",
        pl.col("role").is_not_null(),
        pl.col("condition").is_in(["CF", "CA-U"]),
    )
    assert points.height == 4  # two roles, one dimension


def test_from_a_pilot(finished: Path, fresh: Path) -> None:
    with Study.open(fresh) as study, Study.open(finished) as pilot:
        found = plan(study, Aims(), Assumptions(), pilot)
        own = plan(pilot, Aims(), Assumptions())
        assert "the estimates of study" in found["likeness"]["source"]
        assert found["likeness"]["correlation"] == own["likeness"]["correlation"]
        assert found["bias_intensity"] == own["bias_intensity"]
        with pytest.raises(InputError, match="no estimates"):
            plan(pilot, Aims(), Assumptions(), study)


def test_assumed_where_nothing_is_known(fresh: Path) -> None:
    found = planned(fresh)
    assert found["likeness"]["correlation"] == 0.05
    assert "assumed" in found["likeness"]["source"]
    assert all("assumed" in row["what"] for row in found["bias_intensity"])
    (row,) = planned(fresh, role_sd=0.1)["bias_intensity"]
    assert row["what"] == "as given"


def test_what_is_stated_comes_first(finished: Path) -> None:
    found = planned(finished, correlation=0.3, roles=40, images_per_prompt=7)
    assert found["likeness"] == {"correlation": 0.3, "effect": None, "source": "as given"}
    assert (found["design"]["roles"], found["design"]["images_per_prompt"]) == (40, 7)


def test_everything_is_plain_json(finished: Path) -> None:
    text = json.dumps(planned(finished), allow_nan=False)
    assert json.loads(text)["study"]["name"] == "study"


def test_a_backend_that_does_not_exist(tmp_path: Path) -> None:
    root = tmp_path / "study"
    Study.create(
        root, STUDY.replace('backend = "simulated"\noptions', 'backend = "simulate"\noptions')
    ).close()
    with pytest.raises(ConfigError, match="simulate"):
        planned(root)
