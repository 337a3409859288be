"""The pages in a browser, as annotators use them: keyboard, mouse, phone, and what goes wrong."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.annotate.made import answering, rewrite, served, tokens

from contextbias.annotation_tables import IMAGE, SET
from contextbias.people import Annotations

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright (extra: dev)")
pytestmark = pytest.mark.browser

DESKTOP = {"viewport": {"width": 1366, "height": 768}}
PHONE = {
    "viewport": {"width": 390, "height": 844},
    "device_scale_factor": 2,
    "has_touch": True,
    "is_mobile": True,
}


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=chromium)
        yield opened
        opened.close()


@pytest.fixture
def small(folder: Path) -> Path:
    """2 sets, 1 single picture, 2 items of training; 4 questions each: 20 answers a person."""
    rewrite(folder, "images = 5", "images = 1\nsets = 2")
    rewrite(folder, "gold_items = 1", "gold_items = 0")
    rewrite(folder, "repeats = 0.2", "repeats = 0")
    rewrite(folder, "annotators_per_item = 2", "annotators_per_item = 3")
    return folder


class Person:
    """One annotator at one device; what went wrong in the page is kept."""

    def __init__(self, browser: Any, url: str, token: str, **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.context.set_default_timeout(20_000)
        self.url = url
        self.faults: list[str] = []
        self.page = self.window()
        self.page.goto(f"{url}/a/{token}")

    def window(self) -> Any:
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", self._note)
        return page

    def _note(self, message: Any) -> None:
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.faults.append(message.text)

    def agree(self) -> None:
        self.page.get_by_label("I take part").check()
        self.page.get_by_role("button", name="Go on").click()
        self.page.get_by_role("link", name="To the questions").click()
        self.ready()

    def ready(self) -> None:
        self.page.wait_for_selector("html[data-ready]", state="attached")

    def state(self) -> str:
        return str(self.page.evaluate(STATE))

    def changed(self, before: str) -> None:
        self.page.wait_for_function(f"before => ({STATE}) !== before", arg=before)
        self.page.wait_for_load_state()

    def done(self) -> bool:
        return urlsplit(self.page.url).path == "/"

    def close(self) -> None:
        self.context.close()
        assert self.faults == []


# Which question is shown, and whether its feedback is.
STATE = """location.pathname + (document.getElementById('number')?.textContent ?? '')
  + (document.getElementById('feedback')?.hidden ?? '')"""


def by_keyboard(person: Person) -> int:
    """Answer everything with keys alone; returns how many answers."""
    number = 0
    keys = person.page.keyboard
    while not person.done():
        person.ready()
        before = person.state()
        if person.page.locator("#typed").is_visible():
            keys.type("cup")
            keys.press("Enter")  # adds it, or goes on to the slider
        else:
            keys.press("2")
        if person.page.locator("#count").is_visible():
            keys.press("3")
        keys.press("Enter")
        number += 1
        person.changed(before)
        if not person.done() and person.page.locator("#feedback").is_visible():
            before = person.state()
            keys.press("Enter")
            person.changed(before)
    return number


def by_pointer(person: Person, act: str) -> int:
    """Answer everything with clicks or taps; returns how many answers."""
    number = 0
    while not person.done():
        person.ready()
        before = person.state()
        page = person.page
        if page.locator("#typed").is_visible():
            page.get_by_label("A few words").fill("cup")
        else:
            getattr(page.locator(".choice").nth(1), act)()
        if page.locator("#count").is_visible():
            box = page.locator("#slider").bounding_box()
            place = {"x": box["width"] * 0.74, "y": box["height"] / 2}
            getattr(page.locator("#slider"), act)(position=place)
            assert page.locator("#shown").inner_text() == "3"
        getattr(page.locator("#save"), act)()
        number += 1
        person.changed(before)
        if not person.done() and page.locator("#feedback").is_visible():
            before = person.state()
            getattr(page.locator("#save"), act)()
            person.changed(before)
    return number


def test_three_annotators_finish_a_study(browser: Any, small: Path) -> None:
    links = tokens(small, 3)
    with served(small) as (_, url, admin):
        ways = {
            "a1": (DESKTOP, by_keyboard, ()),
            "a2": (DESKTOP, by_pointer, ("click",)),
            "a3": (PHONE, by_pointer, ("tap",)),
        }
        for name, (device, way, how) in ways.items():
            person = Person(browser, url, links[name], **device)
            person.agree()
            assert way(person, *how) == 20
            assert "All done" in person.page.inner_text("h1")
            person.close()
        boss = browser.new_page()
        boss.goto(admin)
        assert "Answered in full: 3 by 3" in boss.inner_text("main")
        boss.close()
    with Annotations.open(small) as book:
        rows = book.labels()
    assert len(rows) == 60
    for row in rows:
        assert (
            row.labels
            == {
                "mood": ("tense",),
                "age_range": ("teen",),
                "clothing_color": ("black",),
                "items": ("cup",),
            }[row.dimension]
        )
        assert row.count == (3 if row.kind == SET else None)
        assert row.version == 1
        assert row.seconds > 0
    assert {row.kind for row in rows} == {SET, IMAGE}


def test_a_reload_in_the_middle_and_another_device(browser: Any, small: Path) -> None:
    link = tokens(small, 1)["a1"]
    with served(small) as (_, url, _):
        person = Person(browser, url, link, **DESKTOP)
        person.agree()
        page, keys = person.page, person.page.keyboard
        keys.press("2")
        keys.press("3")
        keys.press("Enter")
        page.locator("#feedback").wait_for()
        keys.press("Enter")
        page.wait_for_function("document.getElementById('number').textContent === '2'")
        page.reload()
        person.ready()
        assert page.locator("#number").inner_text() == "2"
        keys.press("Escape")  # out of the field for words
        keys.press("b")
        assert page.get_by_label("tense").is_checked()
        assert page.locator("#shown").inner_text() == "3"
        keys.press("s")  # skips what was answered already, on to the open one
        assert page.locator("#number").inner_text() == "2"
        phone = Person(browser, url, link, **PHONE)
        assert "1 of 20 questions" in phone.page.inner_text("main")
        phone.page.get_by_role("link", name="Go on").tap()
        phone.ready()
        assert phone.page.locator("#number").inner_text() == "2"
        phone.close()
        person.close()


def test_a_server_that_is_killed_in_the_middle(browser: Any, small: Path) -> None:
    link = tokens(small, 1)["a1"]
    with served(small) as (process, url, _):
        person = Person(browser, url, link, **DESKTOP)
        person.agree()
        page, keys = person.page, person.page.keyboard
        # Past the training set: its last question, then the next item.
        page.goto(f"{url}/item/1")
        person.ready()
        keys.press("2")
        keys.press("3")
        keys.press("Enter")
        page.get_by_text("stored", exact=True).wait_for()
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        keys.type("cup")
        keys.press("Enter")
        keys.press("4")
        keys.press("Enter")
        page.get_by_text("1 answer is kept on this device").wait_for()
        keys.press("2")
        keys.press("1")
        keys.press("Enter")
        page.get_by_text("2 answers are kept on this device").wait_for()
        assert page.locator("#number").inner_text() == "4"
        keys.press("2")
        keys.press("1")
        keys.press("Enter")  # the item is done; the page waits for the server
        page.get_by_text("3 answers are kept on this device").wait_for()
        with served(small, port=int(url.rpartition(":")[2])):
            page.wait_for_url("**/item/2")
            person.ready()
            assert page.locator("#number").inner_text() == "1"
            person.close()
    with answering(small) as study:
        rows = study.book.audit_trail()
    assert sorted((row.dimension, row.count) for row in rows) == [
        ("age_range", 1), ("clothing_color", 1), ("items", 4), ("mood", 3),
    ]  # fmt: skip
    assert {row.version for row in rows} == {1}


def test_answers_that_wait_survive_the_window(browser: Any, small: Path) -> None:
    link = tokens(small, 1)["a1"]
    with served(small) as (process, url, _):
        person = Person(browser, url, link, **DESKTOP)
        person.agree()
        person.page.goto(f"{url}/item/1")
        person.ready()
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        person.page.keyboard.press("2")
        person.page.keyboard.press("3")
        person.page.keyboard.press("Enter")
        person.page.get_by_text("1 answer is kept").wait_for()
        person.page.close()
        with served(small, port=int(url.rpartition(":")[2])):
            person.page = person.window()
            person.page.goto(f"{url}/item/2")
            person.page.get_by_text("stored", exact=True).wait_for()
            person.close()
    with answering(small) as study:
        assert [row.labels for row in study.book.audit_trail()] == [("tense",)]


def test_two_windows_disagree(browser: Any, small: Path) -> None:
    link = tokens(small, 1)["a1"]
    with served(small) as (_, url, _):
        person = Person(browser, url, link, **DESKTOP)
        person.agree()
        other = person.window()
        for page in (person.page, other):
            page.goto(f"{url}/item/1")
            page.wait_for_selector("html[data-ready]", state="attached")
        for page, key in ((person.page, "2"), (other, "3")):
            page.keyboard.press(key)
            page.keyboard.press("3")
            page.keyboard.press("Enter")
            page.get_by_text("stored", exact=True).wait_for()
        other.get_by_text("answered in another window, too").wait_for()
        assert person.page.locator("#message").inner_text() == ""
        person.page.reload()
        person.ready()
        person.page.get_by_role("button", name="Back").click()
        assert person.page.get_by_label("joyful").is_checked()
        person.close()
    with answering(small) as study:
        rows = study.book.audit_trail()
    assert [(row.labels, row.version, row.based_on) for row in rows] == [
        (("tense",), 1, 0), (("joyful",), 2, 0),
    ]  # fmt: skip


def test_keys_zoom_help_and_what_is_missing(browser: Any, small: Path) -> None:
    link = tokens(small, 1)["a1"]
    with served(small) as (_, url, _):
        person = Person(browser, url, link, **DESKTOP)
        person.agree()
        page, keys = person.page, person.page.keyboard
        page.goto(f"{url}/item/1")
        person.ready()
        keys.press("Enter")
        assert "Choose an answer first" in page.locator("#message").inner_text()
        keys.press("2")
        keys.press("Enter")
        assert "In how many of the 4 pictures?" in page.locator("#message").inner_text()
        keys.press("t")
        assert page.locator("#shown").inner_text() == "4"
        keys.press("ArrowLeft")
        assert page.locator("#shown").inner_text() == "3"
        keys.press("Escape")  # back to the answers: a digit is an answer again
        keys.press("1")
        assert page.get_by_label("calm").is_checked()
        keys.press("u")
        assert page.get_by_label("unknown").is_checked()
        assert page.locator("#count").is_hidden()
        keys.press("z")
        zoom = page.locator("#zoom")
        assert "Picture 1 of 4" in zoom.inner_text()
        keys.press("ArrowLeft")
        assert "Picture 4 of 4" in zoom.inner_text()
        assert page.locator("#zoom-picture").evaluate(
            "image => image.decode().then(() => image.naturalWidth)"
        )
        keys.press("Escape")
        keys.press("?")
        assert page.locator("#help").is_visible()
        keys.press("Escape")
        assert page.locator("#help").is_hidden()
        assert page.get_by_label("unknown").is_checked()  # none of it has changed the answer
        person.close()


def test_lists_of_a_single_picture(browser: Any, small: Path) -> None:
    link = tokens(small, 1)["a1"]
    with answering(small) as study:
        place = next(
            t.assignment.position
            for t in study.tasks("a1")
            if t.item.kind == IMAGE and t.item.purpose == "sample"
        )
    with served(small) as (_, url, _):
        person = Person(browser, url, link, **DESKTOP)
        person.agree()
        page, keys = person.page, person.page.keyboard
        page.goto(f"{url}/item/{place}")
        person.ready()
        keys.press("u")
        keys.press("Enter")
        keys.type("cup, red  tree")
        keys.press("Enter")
        assert page.locator("#chips button").count() == 2
        page.get_by_role("button", name="Take away cup").click()
        page.get_by_label("A few words").fill("bench")  # not added, and stored all the same
        page.get_by_role("button", name="Store, next").click()
        page.wait_for_function("document.getElementById('number').textContent === '3'")
        keys.press("1")
        keys.press("Enter")
        for key in "123":
            keys.press(key)
        keys.press("2")  # away again
        keys.press("Enter")
        page.wait_for_url(lambda now: not now.endswith(f"/item/{place}"))
        person.close()
    with answering(small) as study:
        rows = {row.dimension: row for row in study.book.answers("a1")}
    assert rows["mood"].missing_reason == "unknown"
    assert rows["items"].labels == ("red tree", "bench")
    assert rows["clothing_color"].labels == ("white", "gray")


VIEWS = ("consent", "guidelines", "home", "set", "image", "feedback", "zoom", "help", "admin")


def test_axe_finds_nothing_and_a_phone_never_scrolls_sideways(browser: Any, small: Path) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe")
    links = tokens(small, 2)
    with answering(small) as study:
        image = next(t for t in study.tasks("a1") if t.item.kind == IMAGE).assignment.position
    found: list[Any] = []
    with served(small) as (_, url, admin):
        for name, scheme, device in (("a1", "light", DESKTOP), ("a2", "dark", PHONE)):
            person = Person(browser, url, links[name], color_scheme=scheme, **device)
            page = person.page
            for view in VIEWS:
                _show(person, view, image, admin)
                results = axe.Axe().run(page)
                found += [
                    (view, scheme, v["id"], v["nodes"][0]["html"][:160])
                    for v in results.response["violations"]
                ]
                wide = page.evaluate("document.documentElement.scrollWidth")
                assert wide <= device["viewport"]["width"], view
            person.close()
    assert found == []


def _show(person: Person, view: str, image: int, admin: str) -> None:
    page, url = person.page, person.url
    if view == "guidelines":
        person.agree()
    where = {"guidelines": "/guidelines", "home": "/", "set": "/item/0", "image": f"/item/{image}"}
    if view in where:
        page.goto(url + where[view])
    if view == "feedback":
        page.goto(f"{url}/item/0")
        person.ready()
        page.keyboard.press("2")
        page.keyboard.press("1")
        page.keyboard.press("Enter")
        page.locator("#feedback").wait_for()
    if view in ("zoom", "help"):
        page.keyboard.press("Escape")
        page.keyboard.press("z" if view == "zoom" else "?")
        page.locator(f"#{view}").wait_for()
    if view == "admin":
        page.goto(admin)
        for summary in page.locator("summary").all():
            summary.click()
