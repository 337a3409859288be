"""The page in a browser: what it does, that it is accessible, and that it stays offline."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.report.made_study import StudyMaker, frame_of

from contextbias.report import render
from contextbias.tables import EstimateRow

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright (extra: dev)")
pytestmark = pytest.mark.browser

NASTY = "</script><img src=x onerror=document.title='pwned'>\"'&"
LABELS = {
    "gender_presentation": ("people", ("female", "male")),
    "clothing_garment": ("people", ("coat", "apron", "jacket")),
    "items": ("objects", (NASTY, "clipboard")),
}


def written(folder: Path, study: StudyMaker, **changes: Any) -> Path:
    files = render(replace(study.inputs(), **changes))
    for name, data in files.items():
        path = folder / "report" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder / "report" / "index.html"


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=chromium)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def study_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    return written(
        folder, StudyMaker(folder, labels=LABELS, readers=("second", "first"), sections=True)
    )


@pytest.fixture(scope="module")
def audit_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("audit")
    study = StudyMaker(
        folder, generators=("images",), roles=("all",), conditions=("CF",), planted=False
    )
    return written(folder, study)


class Visit:
    """A page in a fresh, offline window; what went wrong in it is kept."""

    def __init__(self, browser: Any, path: Path, **options: Any) -> None:
        self.context = browser.new_context(offline=True, **options)
        self.page = self.context.new_page()
        self.faults: list[str] = []
        self.requests: list[str] = []
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("console", self._note)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())

    def _note(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.faults.append(message.text)

    def texts(self, selector: str) -> list[str]:
        return [text.strip() for text in self.page.locator(selector).all_inner_texts()]

    def column(self, number: int) -> list[str]:
        return self.texts(f"#r0 .labels tbody tr > :nth-child({number})")


@pytest.fixture
def visit(browser: Any) -> Iterator[Any]:
    visits: list[Visit] = []

    def start(path: Path, **options: Any) -> Visit:
        visits.append(Visit(browser, path, **options))
        return visits[-1]

    yield start
    for one in visits:
        assert one.faults == []
        assert [url for url in one.requests if not url.startswith(("file:", "data:"))] == []
        one.context.close()


def test_the_table_sorts_by_click_and_by_key(study_page: Path, visit: Any) -> None:
    shown = visit(study_page)
    heads = shown.page.locator("#r0 .labels th[aria-sort]")
    label = heads.filter(has_text="Label")

    label.locator("button").click()
    assert label.get_attribute("aria-sort") == "ascending"
    names = shown.column(3)
    assert names == sorted(names, key=str.lower)
    label.locator("button").press("Enter")
    assert label.get_attribute("aria-sort") == "descending"
    assert shown.column(3) == sorted(shown.column(3), key=str.lower, reverse=True)
    assert heads.filter(has_text="Range").get_attribute("aria-sort") == "none"


def test_the_table_starts_with_what_changes_most(study_page: Path, visit: Any) -> None:
    shown = visit(study_page)

    ranges = [float(text.split()[0]) for text in shown.column(9)]

    assert ranges == sorted(ranges, reverse=True)
    assert ranges[0] == 25.0


def test_filters_narrow_the_table_and_say_how_far(study_page: Path, visit: Any) -> None:
    shown = visit(study_page)
    box = shown.page.locator("#r0 [data-associations]")
    box.get_by_label("Cohort").select_option("")
    assert "36 of 42 labels" in box.locator("[role=status]").inner_text()

    box.get_by_label("Search").fill("nurse coat")
    assert "2 of 42 labels" in box.locator("[role=status]").inner_text()
    assert shown.column(3) == ["coat", "coat"]
    box.get_by_label("Generator").select_option(label="steady")
    assert shown.column(4) == ["steady"]
    box.get_by_label("Search").fill("jacket")
    assert "0 of 42 labels" in box.locator("[role=status]").inner_text()
    box.get_by_label("supported only").uncheck()
    assert shown.column(1) == ["baker", "ceo", "nurse"]
    box.get_by_label("Search").fill("")
    box.get_by_label("Verdict").select_option("shifted")
    assert "0 of 42 labels" in box.locator("[role=status]").inner_text()


def test_a_row_opens_the_images_behind_its_numbers(study_page: Path, visit: Any) -> None:
    shown = visit(study_page)
    box = shown.page.locator("#r0 [data-associations]")
    box.get_by_label("Search").fill("steady baker female")
    box.locator(".open").press("Enter")
    drawer = shown.page.get_by_role("dialog", name="baker: gender presentation “female”")

    assert drawer.locator("h3").all_inner_texts() == [
        "CF, no context",
        "CA-R, related context",
        "CA-U, unrelated context",
    ]
    groups = [
        text.strip() for text in drawer.locator("section").first.locator("h4").all_inner_texts()
    ]
    # Four images of the cell: one has no file, the others take turns between two labels.
    assert groups == ["Shows it (1)", "Does not (2)", "Missing (1)"]
    assert "75.0% [65.0, 85.0] of 4 images read; 1 missing" in drawer.inner_text()
    for text in (
        "range by chance 12.5 pp",
        "range had all been read [0.0, 62.5]",
        "p, contexts 0.250",
        "p, contexts permuted 0.125",
        "had all been read: between [50.0, 95.0]; other wordings: p 0.375",
    ):
        assert text in drawer.inner_text()
    captions = drawer.locator("section").first.locator(".thumb > span:not(.sr):not(.none)")
    assert captions.all_inner_texts() == ["female", "male", "male", "corrupt"]
    sizes = drawer.locator("img").evaluate_all("list => list.map((i) => i.naturalWidth)")
    assert sizes
    assert min(sizes) > 0


def test_a_picture_opens_with_its_prompt_and_the_readers_answers(
    study_page: Path, visit: Any
) -> None:
    shown = visit(study_page)
    shown.page.locator("#r0 [data-gallery] .thumb:has(img)").first.click()
    viewer = shown.page.locator("#viewer")

    text = viewer.inner_text()
    assert 'a photo of a baker </script><b x="1">None</b>' in text
    assert "gender presentation" in text
    assert viewer.locator("h2").evaluate("e => e === document.activeElement")
    viewer.locator("img").evaluate("i => i.decode()")
    # The original file, not the thumbnail of 128 pixels.
    assert viewer.locator("img").evaluate("i => i.naturalWidth") == 160
    link = viewer.get_by_role("link", name="Open the original file").get_attribute("href")
    assert (study_page.parent / str(link)).is_file()
    shown.page.keyboard.press("Escape")
    assert not viewer.is_visible()


def test_without_the_originals_the_thumbnail_is_shown_and_says_so(
    tmp_path: Path, visit: Any
) -> None:
    study = StudyMaker(tmp_path, generators=("g",), roles=("baker",), broken=False)
    page = written(tmp_path, study)
    (tmp_path / "images").rename(tmp_path / "moved")
    shown = visit(page)
    shown.page.locator("[data-gallery] .thumb").first.click()

    shown.page.get_by_text("its thumbnail is shown").wait_for()

    assert shown.page.locator("#viewer img").get_attribute("src").startswith("data:image/webp")
    shown.faults.clear()  # the browser itself reports the missing file


def test_free_text_of_a_model_stays_text(study_page: Path, visit: Any) -> None:
    shown = visit(study_page)
    box = shown.page.locator("#r0 [data-associations]")
    box.get_by_label("Cohort").select_option("")
    box.get_by_label("Search").fill("onerror")
    assert shown.column(3)[0] == NASTY
    box.locator(".open").first.click()
    shown.page.locator("#drawer .thumb:has(img)").first.click()

    assert NASTY in shown.page.locator("#drawer h2").inner_text()
    assert shown.page.title() != "pwned"
    assert shown.page.locator("img[src=x]").count() == 0


def test_one_reader_is_shown_at_a_time(study_page: Path, visit: Any) -> None:
    shown = visit(study_page)
    assert shown.page.locator("#r0").is_visible()
    assert not shown.page.locator("#r1").is_visible()

    shown.page.get_by_label("Reader", exact=True).select_option(label="first")

    assert not shown.page.locator("#r0").is_visible()
    assert shown.page.locator("#r1 .labels tbody tr").count() == 24


def test_a_choice_shows_one_group_of_a_figure(study_page: Path, visit: Any) -> None:
    shown = visit(study_page)
    figure = shown.page.locator("#r0-dimensions")
    visible = figure.locator("[data-group]:visible")
    assert visible.count() == 1

    figure.get_by_label("Generator", exact=True).select_option(label="adaptive")

    assert visible.get_attribute("data-group") == "2"


def test_the_gallery_shows_another_role(study_page: Path, visit: Any) -> None:
    shown = visit(study_page)
    shown.page.locator("#r0-gallery-role").select_option(label="nurse")

    images = shown.page.locator("#r0 [data-gallery] .thumb img")
    names = images.evaluate_all("list => list.map((i) => i.alt)")

    assert len(names) == 24
    assert all("; asked for: a photo of a nurse" in name for name in names)


def test_imported_photographs_stand_by_themselves_in_the_gallery(
    tmp_path: Path, visit: Any
) -> None:
    study = StudyMaker(tmp_path, generators=("steady", "adaptive"), roles=("baker", "zoologist"))
    photographs = StudyMaker(
        tmp_path, generators=("photos",), roles=("all",), conditions=("CF",), planted=False
    ).inputs()
    whole = study.inputs()
    page = written(
        tmp_path,
        study,
        images=[*whole.images, *photographs.images],
        prompts=[*whole.prompts, *photographs.prompts],
    )
    shown = visit(page)
    choice = shown.page.locator("#r0-gallery-role")
    assert choice.locator("option").all_inner_texts() == ["baker", "zoologist", "all"]
    assert shown.texts("#r0 [data-gallery] h3") == ["steady", "adaptive"]
    choice.select_option(label="all")
    assert shown.texts("#r0 [data-gallery] h3") == ["photos"]
    assert shown.texts("#r0 [data-gallery] h4") == ["condition not told"]
    assert "no image" not in shown.page.locator("#r0 [data-gallery]").inner_text()


def test_alternative_text_says_what_was_asked_and_read(study_page: Path, visit: Any) -> None:
    shown = visit(study_page)
    images = shown.page.locator("#r0 [data-gallery] .thumb img")

    first, second = (images.nth(k).get_attribute("alt") for k in (0, 1))

    # Four images: the first of each of two prompts, then the second of each. The very first one
    # is broken and has no preview, so these are the cell's numbers 2 and 1 (counted from 0).
    asked = 'asked for: a photo of a baker </script><b x="1">None</b>'
    people = ("presented as female, garment jacket", "presented as male, garment apron")
    assert first == f"Picture 2 of 4; {asked}; read: {people[0]}, items {NASTY}"
    assert second == f"Picture 3 of 4; {asked}; read: {people[1]}, items clipboard"
    broken = shown.page.locator("#r0 [data-gallery] .thumb").first
    assert broken.locator(".sr").inner_text() == f"Picture 1 of 4; {asked}; not read"


def test_a_click_anywhere_in_a_row_opens_it(study_page: Path, visit: Any) -> None:
    shown = visit(study_page)
    row = shown.page.locator("#r0 .labels tbody tr").nth(1)
    row.locator("td").last.click()
    drawer = shown.page.locator("#drawer")

    assert row.locator(".open").inner_text() in drawer.locator("h2").inner_text()
    shown.page.keyboard.press("Escape")
    assert not drawer.is_visible()
    # The keyboard goes on where the click was.
    assert row.locator(".open").evaluate("e => e === document.activeElement")


def test_the_table_starts_with_people_and_shows_all_on_demand(study_page: Path, visit: Any) -> None:
    shown = visit(study_page)
    box = shown.page.locator("#r0 [data-associations]")
    status = box.locator("[role=status]")

    # 2 + 3 people labels of 3 roles and 2 generators; the third of a dimension is unsupported.
    assert "24 of 42 labels" in status.inner_text()
    assert "cohort people only" in status.inner_text()
    assert box.get_by_label("Cohort").input_value() == "people"
    every = box.get_by_role("button", name="Show all cohorts")
    every.click()
    assert "36 of 42 labels" in status.inner_text()
    assert box.get_by_label("Cohort").input_value() == ""
    assert not every.is_visible()


def test_the_larger_view_goes_through_its_group(study_page: Path, visit: Any) -> None:
    shown = visit(study_page)
    shown.page.locator("#r0 [data-gallery] .thumb").nth(1).click()
    viewer = shown.page.locator("#viewer")
    place = viewer.locator(".turns span")
    assert place.inner_text() == "2 of 4"

    viewer.get_by_role("button", name="Next").click()
    assert place.inner_text() == "3 of 4"
    shown.page.keyboard.press("ArrowRight")
    shown.page.keyboard.press("ArrowRight")
    assert place.inner_text() == "4 of 4"
    assert viewer.get_by_role("button", name="Next").is_disabled()
    for _ in range(3):
        shown.page.keyboard.press("ArrowLeft")
    assert place.inner_text() == "1 of 4"
    assert viewer.get_by_role("button", name="Previous").is_disabled()
    assert "cut off" in viewer.inner_text()


def test_another_reader_comes_up_at_the_same_section(study_page: Path, visit: Any) -> None:
    shown = visit(study_page, viewport={"width": 1000, "height": 600})
    missing = shown.page.locator("#r0-missing")
    missing.evaluate("e => e.scrollIntoView({behavior: 'instant'})")
    choice = shown.page.get_by_label("Reader", exact=True)
    assert choice.evaluate("e => e.getBoundingClientRect().top") < 100

    choice.select_option(label="first")

    top = shown.page.locator("#r1-missing").evaluate("e => e.getBoundingClientRect().top")
    assert 0 <= top < 150
    assert (
        shown.page.locator("nav:visible").get_attribute("aria-label") == "Sections · read by first"
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["study", "audit", "drawer", "viewer"])
def test_axe_finds_nothing(
    study_page: Path, audit_page: Path, visit: Any, kind: str, scheme: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe")
    shown = visit(audit_page if kind == "audit" else study_page, color_scheme=scheme)
    for summary in shown.page.locator("summary:visible").all():
        summary.click()
    if kind == "drawer":
        shown.page.locator("#r0 .labels .open").first.click()
    if kind == "viewer":
        shown.page.locator("#r0 [data-gallery] .thumb").first.click()

    # The page's policy forbids foreign scripts; axe is brought in past it.
    results = axe.Axe().run(shown.page)

    found = [(v["id"], v["nodes"][0]["html"][:160]) for v in results.response["violations"]]
    assert found == []


@pytest.mark.parametrize("kind", ["study", "audit"])
def test_a_phone_never_scrolls_sideways(
    study_page: Path, audit_page: Path, visit: Any, kind: str
) -> None:
    page = study_page if kind == "study" else audit_page
    shown = visit(page, viewport={"width": 390, "height": 844})

    assert shown.page.evaluate("document.documentElement.scrollWidth") <= 390
    conditions = shown.page.locator("[aria-label=Conditions]")
    if kind == "study":
        assert conditions.evaluate("e => e.scrollWidth - e.clientWidth") == 0
    shown.page.evaluate("scrollTo(0, document.body.scrollHeight)")
    assert shown.page.locator(".topbar").bounding_box()["y"] < 0
    shown.page.evaluate("scrollTo(0, 0)")
    under = shown.page.locator("#r0 .labels .under").all_inner_texts()
    assert under[1].startswith("CF " if kind == "study" else "Share ")
    method = shown.page.locator("nav:visible a").last.bounding_box()
    assert method["x"] + method["width"] <= 390
    shown.page.locator("#r0 .labels .open").first.click()
    assert shown.page.evaluate("document.querySelector('#drawer').scrollWidth") <= 390


def test_long_notes_widen_no_page(tmp_path: Path, visit: Any) -> None:
    study = StudyMaker(tmp_path, sections=True)
    note = "1 of 28 dimensions missing; roles left out in 2 of 28 dimensions; 1 of 28 on one role"
    estimates = study.inputs().estimates.with_columns(note=pl.lit(note))
    page = written(tmp_path, study, estimates=estimates)

    for width in (1400, 390):
        shown = visit(page, viewport={"width": width, "height": 900})

        shown.page.evaluate("document.querySelectorAll('details').forEach((d) => d.open = true)")
        assert shown.page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(
    ("kind", "section", "column"),
    [
        ("study", "shares", 5),
        ("study", "planted", 6),
        ("audit", "finding", 3),
    ],
)
def test_a_phone_shows_the_number_without_scrolling(
    study_page: Path, audit_page: Path, visit: Any, kind: str, section: str, column: int
) -> None:
    page = study_page if kind == "study" else audit_page
    shown = visit(page, viewport={"width": 390, "height": 844})
    tables = shown.page.locator(f"#r0-{section} table.plain:visible")

    assert tables.count()
    cell = tables.last.locator(f"tbody tr:first-child > :nth-child({column})")
    box = cell.bounding_box()
    assert box["x"] + box["width"] <= 390


def test_without_scripts_everything_but_the_explorer_is_there(study_page: Path, visit: Any) -> None:
    shown = visit(study_page, java_script_enabled=False)

    text = shown.page.inner_text("main")

    assert "The finding" in text
    assert "tables/associations.csv" in text
    assert shown.page.locator("svg.chart").first.is_visible()


def test_tens_of_thousands_of_rows_are_paged(tmp_path: Path, visit: Any) -> None:
    cells = itertools.product(("g1", "g2"), range(50), range(200))
    rows = [
        {
            "estimand": "prevalence", "reader": "r", "generator": g, "role": f"role {r}",
            "condition": c, "cohort": "objects", "dimension": "items", "label": f"item {i}",
            "preset": "paper", "people": "primary", "codebook": "1", "corrected": False,
            "point": ((r * i) % 97) / 97, "low": 0.0, "high": 1.0, "n": 30, "n_missing": 0,
        }
        for g, r, i in cells
        for c in ("CF", "CA-U")
    ]  # fmt: skip
    study = StudyMaker(tmp_path, generators=("g1",), roles=("role 1",), planted=False)
    shown = visit(written(tmp_path, study, estimates=frame_of(EstimateRow, rows)))
    box = shown.page.locator("[data-associations]")
    assert "20000 of 20000 labels; rows 1 to 25" in box.inner_text()

    box.get_by_role("button", name="Next").click()
    assert "rows 26 to 50" in box.inner_text()
    box.get_by_label("Role").select_option(label="role 7")
    box.get_by_label("Search").fill("item 199")
    assert "2 of 20000 labels" in box.inner_text()
