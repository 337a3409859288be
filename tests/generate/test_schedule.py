"""Orders as a backend wants them, and looked at before anything is spent."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import rows

from contextbias.errors import ConfigError
from contextbias.generate.protocol import Job
from contextbias.generate.schedule import checked, ordered
from contextbias.generate.work import Order, orders_for


def wanted(prompts: int, images: int) -> list[Order]:
    asked = [rows.prompt(f"p{number}") for number in range(prompts)]
    return list(
        orders_for(
            asked,
            generator="g",
            fingerprint="f",
            images_per_prompt=images,
            study_seed=1,
            paired=True,
        )
    )


def prompts_and_replicates(orders: list[Order]) -> list[tuple[str, int]]:
    return [(order.job.prompt_id, order.replicate) for order in orders]


def test_images_of_a_prompt_follow_each_other_and_no_prompt_is_left_for_last() -> None:
    found = ordered(SimpleNamespace(together=2), wanted(2, 3))
    assert prompts_and_replicates(found) == [
        ("p0", 0), ("p0", 1), ("p1", 0), ("p1", 1), ("p0", 2), ("p1", 2),
    ]  # fmt: skip


def test_a_backend_that_does_not_ask_gets_them_as_they_are() -> None:
    orders = wanted(3, 2)
    assert ordered(SimpleNamespace(), orders) == orders
    assert ordered(SimpleNamespace(together=1), orders) == orders


@given(prompts=st.integers(1, 6), images=st.integers(1, 7), together=st.integers(2, 9))
def test_all_orders_are_there_once_and_cells_fill_evenly(
    prompts: int, images: int, together: int
) -> None:
    orders = wanted(prompts, images)
    found = ordered(SimpleNamespace(together=together), orders)
    assert sorted(o.job.image_id for o in found) == sorted(o.job.image_id for o in orders)
    for cut in range(len(found)):
        so_far = [order.job.prompt_id for order in found[:cut]]
        counts = [so_far.count(f"p{number}") for number in range(prompts)]
        assert max(counts) - min(counts) <= together


def test_a_backend_sees_every_job_before_the_first_is_made() -> None:
    seen: list[Job] = []
    checked(SimpleNamespace(check=seen.extend), wanted(2, 2))
    assert len(seen) == 4
    checked(SimpleNamespace(), wanted(2, 2))  # one that does not look

    def refuse(jobs: list[Job]) -> None:
        raise ConfigError("no", "never")

    checked(SimpleNamespace(check=refuse), [])
    with pytest.raises(ConfigError):
        checked(SimpleNamespace(check=refuse), wanted(1, 1))
