from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import polars as pl
import pytest
from tests.report.made_study import MakeStudy, StudyMaker

from contextbias.report import ReportInputs, formats, render

NASTY = "</script><img src=x onerror=alert(1)>\"'&"
AUDIT = {
    "generators": ("images",),
    "roles": ("all",),
    "conditions": ("CF",),
    "planted": False,
    "backend": "local",
}


class Page(HTMLParser):
    """The elements of a page, its texts outside of scripts, and its embedded data."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.data: dict[str, str] = {}
        self.words: list[str] = []
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag
        if dict(attrs).get("class") == "under":  # repeats a column where the screen is narrow
            self._inside = "under"
        if tag == "script" and (name := dict(attrs).get("id")):
            self._inside = name

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside.startswith("data-"):
            self.data[self._inside] = data
        elif self._inside not in ("script", "style", "under"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def ids(self) -> list[str]:
        return [value for _, attrs in self.tags if (value := attrs.get("id"))]


def page_of(inputs: ReportInputs) -> Page:
    return Page(render(inputs)["index.html"].decode())


def test_the_same_tables_give_the_same_page(make_study: MakeStudy) -> None:
    inputs = make_study().inputs()
    shuffled = replace(
        inputs,
        attributes=inputs.attributes.sample(fraction=1.0, shuffle=True, seed=1),
        images=inputs.images[::-1],
    )

    assert render(inputs) == render(inputs)
    assert Page(render(shuffled)["index.html"].decode()).text == page_of(inputs).text


def test_nothing_is_fetched_from_elsewhere(make_study: MakeStudy) -> None:
    page = page_of(make_study().inputs())

    links = [a.get(name) or "" for _, a in page.tags for name in ("src", "href", "action")]
    assert [link for link in links if re.match(r"(?i)([a-z]+:)?//|http", link)] == []
    assert not [tag for tag, attrs in page.tags if tag == "link" or attrs.get("srcset")]


def test_ids_are_unique_and_every_reference_leads_somewhere(make_study: MakeStudy) -> None:
    page = page_of(make_study(readers=("first", "second")).inputs())

    ids = page.ids()
    assert len(ids) == len(set(ids))
    for _, attrs in page.tags:
        href = attrs.get("href") or ""
        wanted = [href[1:]] if href.startswith("#") else []
        wanted += [
            w for name in ("aria-labelledby", "for") for w in (attrs.get(name) or "").split()
        ]
        # Headings of dialogs are made when a dialog opens.
        assert [w for w in wanted if w not in ids and w not in ("drawer-h", "viewer-h")] == []


def test_free_text_stays_text(make_study: MakeStudy) -> None:
    labels = {"items": ("objects", (NASTY, "clipboard")), "mood": ("scene", ("calm", "tense"))}
    study = make_study(labels=labels, generators=(f"g{NASTY}",), roles=("baker", NASTY))
    inputs = study.inputs()

    page = page_of(replace(inputs, title=NASTY))

    assert not [tag for tag, _ in page.tags if tag in ("img", "iframe", "object", "b")]
    assert not [name for _, attrs in page.tags for name in attrs if name.startswith("on")]
    assert NASTY in page.text
    names = json.loads(page.data["data-vocabulary"])
    assert NASTY in names["labels"]
    prompts = json.loads(page.data["data-pictures"])["prompts"]
    assert any("</script>" in text for text, _ in prompts)


def test_a_simulated_study_says_so_on_top(make_study: MakeStudy) -> None:
    simulated = page_of(make_study().inputs()).text
    real = page_of(make_study(planted=False, backend="folder").inputs()).text

    assert simulated.index("Simulated study.") < simulated.index("What was run")
    assert "Planted against recovered" in simulated
    assert "Simulated study." not in real
    assert "Planted against recovered" not in real


def test_only_the_simulated_part_of_a_study_is_called_so(make_study: MakeStudy) -> None:
    inputs = make_study().inputs()
    steady, adaptive = inputs.facts.generators
    real = replace(steady, backend="folder")

    mixed = replace(inputs.facts, generators=[real, adaptive])
    reader_only = replace(inputs.facts, generators=[real, replace(adaptive, backend="folder")])

    assert "The pictures of adaptive do not come" in page_of(replace(inputs, facts=mixed)).text
    assert "Simulated reader." in page_of(replace(inputs, facts=reader_only)).text


def test_roles_in_one_condition_are_chosen_between(make_study: MakeStudy) -> None:
    page = page_of(make_study(conditions=("CF",), planted=False, backend="folder").inputs())

    choices = [attrs["data-choice"] for _, attrs in page.tags if "data-choice" in attrs]
    assert "r0-labels" in choices
    assert "adaptive · nurse" in page.text
    assert "Most frequent label" not in page.text


def test_distinct_contexts_are_stated_by_condition(make_study: MakeStudy) -> None:
    text = page_of(make_study(prompts_each=3).inputs()).text

    # 3 roles with 3 prompts each; contexts "place 0" to "place 2" are shared by the roles.
    # Seven words without a place, eight with one.
    assert "CF the role alone, no context 9 7 0 36" in text
    assert "CA-R with a place or activity of the role 9 8 3 36" in text
    assert "Prompts of the conditions differ in length too" in text


def test_nothing_is_claimed_about_the_prompts_of_imported_pictures(make_study: MakeStudy) -> None:
    inputs = make_study().inputs()
    imported = [replace(prompt, base="imported", text="") for prompt in inputs.prompts]

    estimates = inputs.estimates.filter(pl.col("estimand") != "distinct_contexts")
    text = page_of(replace(inputs, prompts=imported, estimates=estimates)).text

    words = "not known: imported pictures not known not known not known 24"
    for condition in ("CF", "CA-R", "CA-U"):
        assert f"{condition} {words}" in text
    assert "the role alone" not in text


def test_prompts_that_are_known_are_counted_beside_imported_pictures(
    make_study: MakeStudy,
) -> None:
    inputs = make_study(prompts_each=3).inputs()
    image = next(each for each in inputs.images if each.condition == "CF")
    prompt = next(each for each in inputs.prompts if each.prompt_id == image.prompt_id)
    came = replace(prompt, prompt_id="came", base="imported", text="")
    photograph = replace(image, image_id="photo", prompt_id="came", generator="photos")

    found = replace(inputs, prompts=[*inputs.prompts, came], images=[*inputs.images, photograph])
    text = page_of(found).text

    assert "CF the role alone, no context; of imported photos: not known 9 7 0 37" in text
    assert "CA-R with a place or activity of the role 9 8 3 36" in text


def test_a_condition_that_nobody_chose_is_not_named(make_study: MakeStudy) -> None:
    page = render(make_study(**AUDIT).inputs())["index.html"].decode()

    # Neither the table of missing data, nor the images by cell, nor the list of failed images.
    assert '<th scope="col">images' in page
    assert not re.search(r"<br>CF|<td>CF</td>|>Condition</th>", page)


def test_the_level_of_intervals_follows_alpha(make_study: MakeStudy) -> None:
    inputs = make_study().inputs()

    text = page_of(replace(inputs, facts=replace(inputs.facts, alpha=0.1))).text

    assert "90% interval from resampling 12 roles" in text
    assert "lines their 90% intervals" in text
    assert "In brackets: 90% Wilson interval" in text
    assert "95%" not in text
    assert "95% interval from" not in text


def test_readers_have_sections_of_their_own(make_study: MakeStudy) -> None:
    inputs = make_study(readers=("second", "first")).inputs()
    other = pl.when(pl.col("reader") == "first").then(pl.col("point") + 0.5)
    inputs = replace(
        inputs, estimates=inputs.estimates.with_columns(point=other.otherwise(pl.col("point")))
    )

    page = page_of(inputs)

    readers = [attrs["data-reader"] for _, attrs in page.tags if "data-reader" in attrs]
    assert readers == ["r0", "r1"]
    assert "The finding · read by second" in page.text
    first, second = (json.loads(page.data[f"data-r{k}-table"]) for k in (0, 1))
    assert second["prevalence"][0]["p"][0] == pytest.approx(first["prevalence"][0]["p"][0] + 0.5)


def test_images_of_one_condition_have_no_empty_sections(make_study: MakeStudy) -> None:
    page = page_of(make_study(**AUDIT).inputs())

    for absent in ("CA-U", "CCS", "What changes", "Planted", "Distinct contexts", "paper's rule"):
        assert absent not in page.text
    for present in ("What the images show", "Bias Intensity by dimension", "Missing data"):
        assert present in page.text
    assert "Limits of the reader viewer" in page.text


def test_a_study_without_estimates_is_a_page_all_the_same(make_study: MakeStudy) -> None:
    inputs = make_study().inputs()

    page = page_of(replace(inputs, estimates=inputs.estimates.clear()))

    assert "no image has been read" in page.text


def test_undefined_numbers_are_dashes(make_study: MakeStudy) -> None:
    inputs = make_study().inputs()
    nothing = pl.lit(None, dtype=pl.Float64)

    page = page_of(
        replace(inputs, estimates=inputs.estimates.with_columns(point=nothing, low=nothing))
    )

    assert "No two conditions could be compared" in page.text
    assert {"None", "nan", "NaN"} & set(page.text.split()) == set()


def test_every_number_with_decimals_is_one_of_the_estimates(make_study: MakeStudy) -> None:
    inputs = make_study().inputs()
    text = page_of(inputs).text
    body = text[text.index("The finding") : text.index("Method in brief")]

    values = {
        value
        for column in ("point", "low", "high")
        for value in inputs.estimates[column].drop_nulls().unique()
    }
    known = {
        re.sub(r"[+−%]", "", write(value))
        for value in values
        for write in (formats.plain, formats.signed, formats.percent)
    }
    axis_ticks = {"0.0", "0.1", "0.2", "0.4", "0.6", "0.8", "1.0", "0.05", "0.10", "0.15", "0.00"}
    printed = set(re.findall(r"\d+\.\d+", body))
    assert printed - axis_ticks - known == set()
    assert len(printed & known) > 10


def test_the_script_is_allowed_by_its_hash_only(make_study: MakeStudy) -> None:
    page = render(make_study().inputs())["index.html"].decode()

    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)
    assert "default-src 'none'" in policy
    assert re.search(r"script-src 'sha256-[A-Za-z0-9+/=]+'", policy)
    assert "http" not in policy


def test_links_to_tables_match_the_files(make_study: MakeStudy) -> None:
    files = render(make_study().inputs())
    page = Page(files["index.html"].decode())

    linked = {a["href"] for _, a in page.tags if (a.get("href") or "").startswith("tables/")}
    assert linked == {name for name in files if name.startswith("tables/")}


def test_strict_leads_with_equal_support(make_study: MakeStudy) -> None:
    def headings(study: StudyMaker, preset: str) -> list[str]:
        inputs = study.inputs()
        estimates = inputs.estimates.with_columns(preset=pl.lit(preset))
        text = page_of(replace(inputs, estimates=estimates)).text
        return re.findall(r"(Pooled over roles|Within roles, then averaged) (?:labels|one)", text)

    assert headings(make_study(), "paper")[0] == "Pooled over roles"
    assert headings(make_study(), "strict")[0] == "Within roles, then averaged"


@pytest.mark.parametrize("preset", ["paper", "strict", "reference"])
def test_the_method_is_that_of_the_preset(make_study: MakeStudy, preset: str) -> None:
    inputs = make_study(sections=True).inputs()
    interval = pl.col("estimand").str.starts_with("bi_") & pl.col("low").is_not_null()
    method = "bootstrap-unpaired" if preset == "reference" else "bootstrap-percentile-expanded"
    estimates = inputs.estimates.with_columns(
        preset=pl.lit(preset),
        method=pl.when(interval).then(pl.lit(method)).otherwise("method"),
    )
    facts = replace(inputs.facts, preset=preset)
    text = page_of(replace(inputs, facts=facts, estimates=estimates)).text
    text = text[text.index("Method in brief") :]

    ours = (
        "images in which the question had an answer", "1: one label only", "Labels in effect",
        "Had all been read", "is computed for each role", "the same for every condition and",
    )  # fmt: skip
    released = (
        "all images of the prompts with any label", "where those labels are one only",
        "over the labels seen there", "Nothing is computed within roles",
        "drawn anew for each condition and generator (bootstrap-unpaired)",
    )  # fmt: skip
    said, unsaid = (released, ours) if preset == "reference" else (ours, released)
    assert [words for words in said if words not in text] == []
    assert [words for words in unsaid if words in text] == []
    assert ("In the preset strict" in text) == (preset == "strict")


def test_counts_without_pictures_have_a_page(make_study: MakeStudy) -> None:
    inputs = make_study(planted=False).inputs()
    facts = replace(inputs.facts, generators=[], readers=[], made_at="")
    prompts = [replace(prompt, base="imported") for prompt in inputs.prompts]
    counted = replace(
        inputs, images=[], attributes=inputs.attributes.head(0), facts=facts, prompts=prompts
    )

    page = page_of(counted)

    # 2 generators, 3 roles, 2 prompts of 2 images in each condition.
    assert "Images 72; counted elsewhere, no pictures here" in page.text
    assert "Generators adaptive, steady" in page.text
    assert "CF not known: imported counts 6 not known 0 24" in page.text
    assert "Choose a label to see all of its numbers." in page.text
    assert "r0-pictures" not in page.ids()
    assert "#r0-pictures" not in [attrs.get("href") for _, attrs in page.tags]


def test_a_deranged_bank_says_what_unrelated_means(make_study: MakeStudy) -> None:
    inputs = make_study().inputs()
    facts = replace(inputs.facts, bank="bank b; unrelated contexts of other roles (deranged)")

    text = page_of(replace(inputs, facts=facts)).text

    assert "CA-U with a place or activity of another role" in text
    assert "Prompts bank b; unrelated contexts of other roles (deranged)" in text


def test_of_listed_prompts_only_what_they_tell_is_said(make_study: MakeStudy) -> None:
    inputs = make_study().inputs()
    facts = replace(inputs.facts, bank="prompt list: mine 12ab; contexts as listed", listed=True)
    related = (pl.col("estimand") == "distinct_contexts") & (pl.col("condition") == "CA-R")
    estimates = inputs.estimates.with_columns(
        point=pl.when(related).then(1.0).otherwise("point"),
        n=pl.when(related).then(1).otherwise("n"),
        n_missing=pl.when(related).then(1).otherwise("n_missing"),
    )

    text = page_of(replace(inputs, facts=facts, estimates=estimates)).text

    assert "CA-R as the list has them 6 8 1 told by 1 of 2 prompts 24" in text
    assert "everyday" not in text.split("Conditions:")[0]


def test_where_no_context_is_known_prompts_stand_in_for_them(make_study: MakeStudy) -> None:
    inputs = make_study(sections=True).inputs()
    unknown = inputs.estimates.filter(pl.col("estimand") != "distinct_contexts")

    with_contexts = page_of(inputs).text
    without = page_of(replace(inputs, estimates=unknown)).text

    assert "How alike pictures of one context are" in with_contexts
    assert "How alike pictures of one prompt are" in without
    assert "each prompt stands in for one" in without
    assert "CF has one context" not in without
    assert "Images of one place and activity" not in without


def test_the_legend_names_the_conditions_of_the_study(make_study: MakeStudy) -> None:
    text = page_of(make_study(conditions=("CF", "CA-U")).inputs()).text

    assert "Conditions: CF no context, CA-U unrelated context." in text


def test_pictures_without_prompts_promise_none(make_study: MakeStudy) -> None:
    inputs = make_study(**AUDIT).inputs()
    bare = replace(inputs, prompts=[replace(prompt, text="") for prompt in inputs.prompts])

    text = page_of(bare).text

    assert "Choose a picture to see it larger, with what the reader said about it." in text
    assert "Label seen in most images" in text


def test_an_unusable_image_is_named_in_the_page_and_in_a_file(make_study: MakeStudy) -> None:
    inputs = make_study().inputs()
    broken = inputs.images[0]
    file = str(inputs.report_dir.parent / "images" / "broken.png")

    files = render(replace(inputs, images=[replace(broken, path=file), *inputs.images[1:]]))
    sound = render(make_study(broken=False).inputs())

    name = "images/broken.png"
    assert broken.status == "corrupt"
    assert f">{name}</th>" in files["index.html"].decode()
    assert name in files["tables/images_unusable.csv"].decode()
    assert "tables/images_unusable.csv" not in sound


def test_further_kinds_of_intervals_are_shown_and_described(make_study: MakeStudy) -> None:
    inputs = make_study().inputs()
    leading = inputs.estimates.filter(
        pl.col("estimand") == "bi_role",
        pl.col("contrast") == "CA-U - CF",
        pl.col("cohort") == "people",
        pl.col("dimension").is_null(),
    )
    further = leading.with_columns(low=pl.col("low") - 0.0123, method=pl.lit("bootstrap-two-level"))
    wanted = [formats.signed(value) for value in further["low"]]

    text = page_of(replace(inputs, estimates=pl.concat([inputs.estimates, further]))).text

    assert "Within roles; interval from roles, then prompts" in text
    assert all(f"[{low}, " in text for low in wanted)
    assert "Two-level intervals resample roles, and then the prompts" in text
    assert "Two-level intervals" not in page_of(inputs).text


TALL = "scroll tall"
"""Class of tables of more than 40 rows, which scroll in themselves."""


def test_small_tables_do_not_scroll_in_themselves(make_study: MakeStudy) -> None:
    page = page_of(make_study(sections=True).inputs())

    scrolled = [str(attrs["aria-label"]) for _, attrs in page.tags if attrs.get("class") == TALL]
    assert all(label.startswith("Numbers of the figure: ") for label in scrolled)
    assert "scroll" in [attrs.get("class") for _, attrs in page.tags]
