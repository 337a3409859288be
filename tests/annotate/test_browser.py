"""The pages in a browser, as annotators use them: keyboard, mouse, phone, and what goes wrong."""

from __future__ import annotations

import os
import shutil
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
expect = playwright.expect
PATIENCE_MS = 20_000
expect.set_options(timeout=PATIENCE_MS)
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
        self.context.set_default_timeout(PATIENCE_MS)
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
            expect(page.locator("#shown")).to_have_text("3")
        getattr(page.locator("#save"), act)()
        number += 1
        person.changed(before)
        if not person.done() and page.locator("#feedback").is_visible():
            before = person.state()
            getattr(page.locator("#save"), act)()
            person.changed(before)
    return number


@pytest.mark.slow
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
        expect(page.locator("#number")).to_have_text("2")
        keys.press("Escape")  # out of the field for words
        keys.press("b")
        expect(page.get_by_label("tense")).to_be_checked()
        expect(page.locator("#shown")).to_have_text("3")
        keys.press("s")  # skips what was answered already, on to the open one
        expect(page.locator("#number")).to_have_text("2")
        phone = Person(browser, url, link, **PHONE)
        assert "1 of 20 questions" in phone.page.inner_text("main")
        phone.page.get_by_role("link", name="Go on").tap()
        phone.ready()
        expect(phone.page.locator("#number")).to_have_text("2")
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
        expect(page.locator("#number")).to_have_text("4")
        keys.press("2")
        keys.press("1")
        keys.press("Enter")  # the item is done; the page waits for the server
        page.get_by_text("3 answers are kept on this device").wait_for()
        with served(small, port=int(url.rpartition(":")[2])):
            page.wait_for_url("**/item/2")
            person.ready()
            expect(page.locator("#number")).to_have_text("1")
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
        other.get_by_text("answered in another window or on another device, too").wait_for()
        expect(person.page.locator("#message")).to_have_text("")
        person.page.reload()
        person.ready()
        person.page.get_by_role("button", name="Back").click()
        expect(person.page.get_by_label("joyful")).to_be_checked()
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
        expect(page.locator("#message")).to_contain_text("Choose an answer first")
        keys.press("2")
        keys.press("Enter")
        expect(page.locator("#message")).to_contain_text("In how many of the 4 pictures?")
        keys.press("t")
        expect(page.locator("#shown")).to_have_text("4")
        keys.press("ArrowLeft")
        expect(page.locator("#shown")).to_have_text("3")
        keys.press("Escape")  # back to the answers: a digit is an answer again
        keys.press("1")
        expect(page.get_by_label("calm")).to_be_checked()
        keys.press("u")
        expect(page.get_by_label("unknown")).to_be_checked()
        expect(page.locator("#count")).to_be_hidden()
        keys.press("z")
        zoom = page.locator("#zoom")
        expect(zoom).to_contain_text("Picture 1 of 4")
        keys.press("ArrowLeft")
        expect(zoom).to_contain_text("Picture 4 of 4")
        assert page.locator("#zoom-picture").evaluate(
            "image => image.decode().then(() => image.naturalWidth)"
        )
        keys.press("Escape")
        keys.press("?")
        expect(page.locator("#help")).to_be_visible()
        keys.press("Escape")
        expect(page.locator("#help")).to_be_hidden()
        expect(page.get_by_label("unknown")).to_be_checked()  # none of it has changed the answer
        # Letters and digits can be switched off, here and for the next page.
        keys.press("?")
        page.get_by_label("Letters and digits do nothing").check()
        keys.press("Escape")
        for again in (False, True):
            if again:
                page.reload()
                person.ready()
            number = page.locator("#number").inner_text()
            for key in "1s?z":
                keys.press(key)
            expect(page.locator("#number")).to_have_text(number)
            expect(page.locator("dialog[open]")).to_have_count(0)
        page.get_by_label("unknown").check()
        keys.press("Enter")
        expect(page.locator("#number")).to_have_text(str(int(number) + 1))
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
        keys.type("Unknown")
        keys.press("Enter")
        keys.press("Enter")
        expect(page.locator("#message")).to_contain_text('"Unknown" is in the list below')
        page.get_by_role("button", name="Take away Unknown").click()
        page.get_by_label("A few words").focus()
        keys.type("cup, red  tree, Cup")
        keys.press("Enter")
        expect(page.locator("#chips button")).to_have_count(2)
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


# The pictures that a page shows, as hashes of their bytes, from wherever the browser has them.
SEEN = """() => Promise.all([...document.querySelectorAll('.picture img')].map(async (image) => {
  const bytes = await (await fetch(image.src)).arrayBuffer();
  return [...new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))].join('.');
}))"""


def seen(person: Person, position: int) -> list[str]:
    person.page.goto(f"{person.url}/item/{position}")
    person.ready()
    person.page.wait_for_load_state("networkidle")
    return list(person.page.evaluate(SEEN))


def become(person: Person, url: str, token: str) -> None:
    """Open another link in the same browser."""
    person.url = url
    person.page.goto(f"{url}/a/{token}")
    if person.page.get_by_label("I take part").count():
        person.agree()


def test_one_browser_two_people_and_two_studies(browser: Any, small: Path, tmp_path: Path) -> None:
    """A shared computer, and a pilot before the study: everybody sees their own pictures."""
    second = tmp_path / "second"
    shutil.copytree(small, second)
    rewrite(second, "sets = 2", "sets = 3")
    links, others = tokens(small, 2), tokens(second, 1)
    with served(small) as (process, url, _):
        shared = Person(browser, url, links["a1"], **DESKTOP)
        shared.agree()
        first = [seen(shared, place) for place in range(2)]
        become(shared, url, links["a2"])
        fresh = Person(browser, url, links["a2"], **DESKTOP)
        own = [seen(fresh, place) for place in range(2)]
        assert [seen(shared, place) for place in range(2)] == own
        assert own != first
        fresh.close()
        process.kill()
        process.wait()
        with served(second, port=int(url.rpartition(":")[2])) as (_, url, _):
            become(shared, url, others["a1"])
            fresh = Person(browser, url, others["a1"], **DESKTOP)
            own = [seen(fresh, place) for place in range(2)]
            assert [seen(shared, place) for place in range(2)] == own
            assert own != first
            fresh.close()
    shared.close()


def test_a_second_enter_while_practice_is_stored(browser: Any, small: Path) -> None:
    link = tokens(small, 1)["a1"]
    with served(small) as (_, url, _):
        person = Person(browser, url, link, **DESKTOP)
        person.agree()
        page, keys = person.page, person.page.keyboard
        held: list[Any] = []
        page.route("**/answers", lambda route: held.append(route))

        def sent() -> Any:
            """The answer that is on its way, as soon as the browser has sent it."""
            for _ in range(PATIENCE_MS // 10):
                if held:
                    break
                page.wait_for_timeout(10)
            return held.pop()

        keys.press("2")
        keys.press("3")
        for _ in range(3):
            keys.press("Enter")
        expect(page.locator("#number")).to_have_text("1")
        sent().continue_()
        page.locator("#feedback").wait_for()
        expect(page.locator("#number")).to_have_text("1")
        keys.press("Enter")
        expect(page.locator("#number")).to_have_text("2")
        expect(page.locator("#feedback")).to_be_hidden()
        # Gone back while an answer is on its way: its feedback is not shown under another question.
        keys.type("cup")
        keys.press("Enter")
        keys.press("2")
        keys.press("Enter")
        keys.press("Escape")
        keys.press("b")
        expect(page.locator("#number")).to_have_text("1")
        shown = page.locator("#feedback").inner_text()
        late = sent()
        with page.expect_response("**/answers"):
            late.continue_()
        page.get_by_text("stored", exact=True).wait_for()
        expect(page.locator("#feedback")).to_have_text(shown)
        expect(page.locator("#save-text")).to_have_text("Store, next")
        page.unroute("**/answers")
        person.close()


def test_an_older_answer_that_waited_does_not_count(browser: Any, small: Path) -> None:
    link = tokens(small, 1)["a1"]
    with served(small) as (_, url, _):
        laptop = Person(browser, url, link, **DESKTOP)
        laptop.agree()
        phone = Person(browser, url, link, **PHONE)
        for person in (laptop, phone):
            person.page.goto(f"{url}/item/1")
            person.ready()
        laptop.context.set_offline(True)
        for person, key in ((laptop, "1"), (phone, "2")):
            person.page.keyboard.press(key)
            person.page.keyboard.press("3")
            person.page.keyboard.press("Enter")
        laptop.page.get_by_text("1 answer is kept on this device").wait_for()
        phone.page.get_by_text("stored", exact=True).wait_for()
        laptop.context.set_offline(False)
        laptop.page.get_by_text("the one that was given last counts: the other one").wait_for()
        laptop.page.get_by_role("button", name="Back").click()
        expect(laptop.page.get_by_label("tense")).to_be_checked()
        laptop.close()
        phone.close()
    with answering(small) as study:
        assert [row.labels for row in study.book.audit_trail()] == [
            ("tense",), ("calm",), ("tense",),
        ]  # fmt: skip


def test_what_is_chosen_is_kept_however_the_page_is_left(browser: Any, small: Path) -> None:
    link = tokens(small, 1)["a1"]
    with served(small) as (_, url, _):
        person = Person(browser, url, link, **DESKTOP)
        person.agree()
        page, keys = person.page, person.page.keyboard

        def choose(item: int, number: int = 1) -> None:
            page.goto(f"{url}/item/{item}")
            person.ready()
            while page.locator("#number").inner_text() != str(number):
                keys.press("Escape")
                keys.press("s")
            keys.press("2")
            if page.locator("#count").is_visible():
                keys.press("3")
            keys.press("Escape")

        choose(1)
        keys.press("s")
        page.get_by_text("stored", exact=True).wait_for()
        choose(1, 3)
        page.get_by_role("link", name="Start").click()
        page.wait_for_url(f"{url}/")
        assert "2 of 20 questions" in page.inner_text("main")
        choose(1, 4)
        page.goto(f"{url}/guidelines")
        choose(2)
        page.get_by_role("link", name="Guidelines").click()
        page.wait_for_url("**/guidelines")
        choose(2, 3)
        keys.press("1")  # changed
        page.close()
        person.page = person.window()
        person.page.goto(f"{url}/")
        person.page.get_by_text("5 of 20 questions").wait_for()
        person.close()
    with answering(small) as study:
        assert len(study.book.answers("a1")) == 5


# What a browser keeps of answers.
KEPT = "Object.keys(localStorage).filter((name) => name.startsWith('contextbias:'))"


def test_who_goes_leaves_nothing_in_the_browser(browser: Any, small: Path) -> None:
    links = tokens(small, 2)
    with served(small) as (_, url, _):
        person = Person(browser, url, links["a1"], **DESKTOP)
        person.agree()
        page, keys = person.page, person.page.keyboard
        page.goto(f"{url}/item/1")
        person.ready()
        person.context.route("**/answers", lambda route: route.abort())
        for key in ("2", "3", "Enter"):
            keys.press(key)
        page.get_by_text("1 answer is kept on this device").wait_for()
        assert len(page.evaluate(KEPT)) == 1
        # What waits is sent first, or nobody is signed out.
        other = person.window()
        other.goto(url)
        other.get_by_role("button", name="Sign out").click()
        other.get_by_text("1 answer is kept on this device").wait_for()
        assert urlsplit(other.url).path == "/"
        other.get_by_text("Remove me and all my answers").click()
        other.get_by_label("Yes, delete everything").check()
        other.get_by_role("button", name="Remove me").click()
        other.get_by_role("heading", name="Removed").wait_for()
        page.get_by_role("heading", name="Not possible").wait_for()  # the other window has gone
        assert other.evaluate(KEPT) == page.evaluate(KEPT) == []
        person.context.unroute("**/answers")
        # Another device of somebody who was removed on this one.
        become(person, url, links["a2"])
        away = Person(browser, url, links["a2"], **PHONE)
        away.page.goto(f"{url}/item/1")
        away.ready()
        page.goto(url)
        page.get_by_text("Remove me and all my answers").click()
        page.get_by_label("Yes, delete everything").check()
        page.get_by_role("button", name="Remove me").click()
        page.get_by_role("heading", name="Removed").wait_for()
        for key in ("2", "3", "Enter"):
            away.page.keyboard.press(key)
        away.page.get_by_text("Your link does not work any more").wait_for()
        assert len(away.page.evaluate(KEPT)) == 1
        away.page.get_by_role("button", name="Delete what is kept").tap()
        away.page.get_by_role("heading", name="Not possible").wait_for()
        assert away.page.evaluate(KEPT) == []
        away.close()
        person.close()


def test_signing_out_sends_what_waits(browser: Any, small: Path) -> None:
    link = tokens(small, 1)["a1"]
    with served(small) as (_, url, _):
        person = Person(browser, url, link, **DESKTOP)
        person.agree()
        page, keys = person.page, person.page.keyboard
        page.goto(f"{url}/item/1")
        person.ready()
        page.route("**/answers", lambda route: route.abort())
        for key in ("2", "3", "Enter"):
            keys.press(key)
        page.get_by_text("1 answer is kept on this device").wait_for()
        page.close()
        person.page = page = person.window()
        page.goto(url)
        page.get_by_role("button", name="Sign out").click()
        page.get_by_role("heading", name="Signed out").wait_for()
        assert page.evaluate(KEPT) == []
        page.goto(f"{url}/item/1")
        assert "Open your personal link first" in page.inner_text("main")
        person.close()
    with answering(small) as study:
        assert [row.labels for row in study.book.audit_trail()] == [("tense",)]


# Top and bottom of each in the window, and its height.
PLACES = """() => {
  const place = (id) => {
    const box = document.getElementById(id).getBoundingClientRect();
    return [box.top, box.bottom];
  };
  return [innerHeight, ...['pictures', 'slider', 'save', 'question'].map(place)];
}"""
SCREENS = {
    "desktop": DESKTOP,
    "phone": {**PHONE, "viewport": {"width": 360, "height": 640}},
    "desktop at 200%": {"viewport": {"width": 640, "height": 384}},
    "small phone": {**PHONE, "viewport": {"width": 320, "height": 512}},
}


def test_pictures_question_and_slider_are_on_one_screen(browser: Any, small: Path) -> None:
    link = tokens(small, 1)["a1"]
    with served(small) as (_, url, _):
        for name, screen in SCREENS.items():
            person = Person(browser, url, link, **screen)
            if person.page.get_by_label("I take part").count():
                person.agree()
            page, keys = person.page, person.page.keyboard
            page.goto(f"{url}/item/1")
            person.ready()
            page.wait_for_load_state("networkidle")
            while page.locator("#number").inner_text() != "4":  # the colors: the most answers
                keys.press("Escape")
                keys.press("s")
            for last in (False, True):
                if last:
                    page.locator(".choice:not(.reason)").last.click()
                height, pictures, slider, save, question = page.evaluate(PLACES)
                assert save[1] <= height, name
                if name == "desktop":
                    assert 0 <= pictures[0] <= height / 2, name
                else:
                    assert 0 <= pictures[0] < pictures[1] <= height * 0.45, name
                if not last or name == "desktop":
                    assert question[0] >= (0 if name == "desktop" else pictures[1]), name
                    assert question[1] <= save[0], name
                if last:
                    assert slider[1] <= height, name
                    assert name == "desktop" or pictures[1] <= slider[0], name
            person.close()


VIEWS = ("consent", "guidelines", "home", "set", "image", "feedback", "zoom", "help", "admin")


@pytest.mark.slow
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
