"""Figures of Bias Intensity: what is told beside the dots."""

from __future__ import annotations

import polars as pl
from tests.report.made_study import MakeStudy

from contextbias.report import formats
from contextbias.report.bias_figures import dimensions_figure, levels_figure

PEOPLE = (pl.col("estimand") == "bi_pooled") & (pl.col("cohort") == "people")


def of_few(make_study: MakeStudy, read: int) -> tuple[str, str]:
    """Captions of both figures, where people were read in `read` images of twelve."""
    plain = make_study(generators=("images",), roles=("all",), conditions=("CF",), planted=False)
    n = pl.when(PEOPLE).then(read).otherwise(pl.col("n")).alias("n")
    frame = plain.inputs().estimates.with_columns(n)
    levels = levels_figure(frame, ["images"], "a", level="95%")
    dimensions = dimensions_figure(frame, ["images"], "b")
    assert levels is not None
    assert dimensions is not None
    drawn = [group.panels[0].svg.count("var(--people)") for figure in (levels, dimensions)
             for group in figure.groups]  # fmt: skip
    assert drawn == ([0, 0] if read < 5 else [2, 4])  # a dot and a line a row
    return levels.caption, dimensions.caption


def test_a_number_of_fewer_than_five_images_is_grey(make_study: MakeStudy) -> None:
    for caption in of_few(make_study, 4):
        assert caption.endswith("Grey: fewer than 5 images were read; such a number says next to "
                                "nothing.")  # fmt: skip
    assert not any("Grey" in caption for caption in of_few(make_study, 5))


def test_names_in_a_sentence() -> None:
    assert formats.listed(["CF"]) == "CF"
    assert formats.listed(["CF", "CA-R", "CA-U"]) == "CF, CA-R and CA-U"
