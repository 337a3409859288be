"""The pages in a browser, as annotators use them: keyboard, mouse, phone, and what goes wrong."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.annotate.made import answering, own_port, rewrite, served, tokens

from contextbias.annotate.answering import Answering
from contextbias.annotation_tables import IMAGE, SAMPLE, SET
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
        self.url, self.token = url, token
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

    def open(self, item: int) -> None:
        self.page.goto(f"{self.url}/item/{item}")
        self.ready()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def is_at(self, question: int) -> None:
        expect(self.page.locator("#number")).to_have_text(str(question))

    def to_question(self, number: int) -> None:
        """Skip up to a question of the item."""
        while (shown := int(self.page.locator("#number").inner_text())) != number:
            assert shown < number
            self.press("Escape", "s")
            self.is_at(shown + 1)

    def hears(self, text: str, *, exact: bool = False) -> None:
        self.page.get_by_text(text, exact=exact).wait_for()

    def keeps(self, answers: int) -> None:
        """So many answers wait in this browser."""
        number = "1 answer is" if answers == 1 else f"{answers} answers are"
        self.hears(f"{number} kept on this device")

    def pictures(self) -> None:
        self.page.wait_for_function(
            # A function: the pages' policy lets no expression be evaluated a second time.
            "() => [...document.querySelectorAll('.picture img')]"
            ".every((image) => image.complete && image.naturalWidth)"
        )

    def remove(self, page: Any) -> None:
        """Be removed, from the first page in a window."""
        page.goto(self.url)
        page.get_by_text("Remove me and all my answers").click()
        page.get_by_label("Yes, delete everything").check()
        page.get_by_role("button", name="Remove me").click()
        page.get_by_role("heading", name="Removed").wait_for()

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


@contextmanager
def at_work(browser: Any, folder: Path, item: int | None = None) -> Iterator[Person]:
    """A server, and a1 at a desktop: at the first question, or at that of an item."""
    link = tokens(folder, 1)["a1"]
    with served(folder) as (_, url, _):
        person = Person(browser, url, link, **DESKTOP)
        person.agree()
        if item is not None:
            person.open(item)
        yield person
        person.close()


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
            expect(person.page.locator("h1")).to_contain_text("All done")
            person.close()
        boss = browser.new_page()
        boss.goto(admin)
        expect(boss.locator("main")).to_contain_text("Answered in full: 3 by 3")
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
        page = person.page
        person.press("2", "3", "Enter")
        page.locator("#feedback").wait_for()
        known = page.locator("#feedback").inner_text()
        page.reload()  # what is known has not been read yet
        person.ready()
        person.is_at(1)
        expect(page.locator("#feedback")).to_have_text(known)
        expect(page.locator("#save-text")).to_have_text("Next")
        person.press("Enter")
        person.is_at(2)
        page.reload()
        person.ready()
        person.is_at(2)
        person.press("Escape", "b")  # out of the field for words
        expect(page.get_by_label("tense")).to_be_checked()
        expect(page.locator("#shown")).to_have_text("3")
        person.press("s")  # skips what was answered already, on to the open one
        person.is_at(2)
        phone = Person(browser, url, link, **PHONE)
        expect(phone.page.locator("main")).to_contain_text("1 of 20 questions")
        phone.page.get_by_role("link", name="Go on").tap()
        phone.ready()
        phone.is_at(2)
        expect(phone.page.locator("#typed-help")).to_have_text("What most of them show.")
        phone.close()
        person.close()


def test_what_is_known_of_the_last_question_is_read_after_a_reload(
    browser: Any, small: Path
) -> None:
    """The item is whole then, and the answer has only just been sent."""
    with at_work(browser, small) as person:
        page = person.page
        held: list[Any] = []
        person.to_question(4)
        page.route("**/answers", lambda route: held.append(route))
        with page.expect_request("**/answers"):
            person.press("2", "3", "Enter")
        page.unroute("**/answers")
        page.reload()
        person.ready()
        person.is_at(4)
        page.locator("#feedback").wait_for()
        person.press("Enter")
        page.wait_for_url("**/item/1")
        person.ready()
        # The item is open yet, at its first question, and not at what was practised.
        person.open(0)
        person.is_at(1)


def test_enter_goes_on_from_pages_to_read(browser: Any, small: Path) -> None:
    with at_work(browser, small) as person:
        page = person.page
        for path, name in (("/guidelines", "To the questions"), ("/", "Start")):
            page.goto(person.url + path)
            expect(page.locator("main a.main")).to_have_text(name)
            expect(page.locator("main a.main")).to_be_focused()
            assert page.evaluate("() => scrollY") == 0
            person.press("Enter")
            person.ready()


def test_a_word_without_a_letter_is_no_answer(browser: Any, small: Path) -> None:
    with at_work(browser, small, item=1) as person:
        page = person.page
        person.to_question(2)
        page.keyboard.type("17")
        person.press("Enter", "3", "Enter")
        person.hears('"17" has no letter: say it in words')
        page.get_by_role("button", name="Skip").click()
        person.is_at(3)
    with answering(small) as study:
        assert study.book.audit_trail() == []


def test_a_server_that_is_killed_in_the_middle(browser: Any, small: Path) -> None:
    link = tokens(small, 1)["a1"]
    with own_port() as port, served(small, port=port) as (process, url, _):
        person = Person(browser, url, link, **DESKTOP)
        person.agree()
        # Past the training set: its last question, then the next item.
        person.open(1)
        person.press("2", "3", "Enter")
        person.hears("stored", exact=True)
        process.kill()
        process.wait()
        person.page.keyboard.type("cup")
        person.press("Enter", "4", "Enter")
        person.keeps(1)
        person.press("2", "1", "Enter")
        person.keeps(2)
        person.is_at(4)
        person.press("2", "1", "Enter")  # the item is done; the page waits for the server
        person.keeps(3)
        with served(small, port=port):
            person.page.wait_for_url("**/item/2")
            person.ready()
            person.is_at(1)
            person.close()
    with answering(small) as study:
        rows = study.book.audit_trail()
    assert sorted((row.dimension, row.count) for row in rows) == [
        ("age_range", 1), ("clothing_color", 1), ("items", 4), ("mood", 3),
    ]  # fmt: skip
    assert {row.version for row in rows} == {1}


def test_answers_that_wait_survive_the_window(browser: Any, small: Path) -> None:
    link = tokens(small, 1)["a1"]
    with own_port() as port, served(small, port=port) as (process, url, _):
        person = Person(browser, url, link, **DESKTOP)
        person.agree()
        person.open(1)
        process.kill()
        process.wait()
        person.press("2", "3", "Enter")
        person.keeps(1)
        person.page.close()
        with served(small, port=port):
            person.page = person.window()
            person.page.goto(f"{url}/item/2")
            person.hears("stored", exact=True)
            person.close()
    with answering(small) as study:
        assert [row.labels for row in study.book.audit_trail()] == [("tense",)]


def test_two_windows_disagree(browser: Any, small: Path) -> None:
    with at_work(browser, small, item=1) as person:
        first, other = person.page, person.window()
        other.goto(f"{person.url}/item/1")
        other.wait_for_selector("html[data-ready]", state="attached")
        for page, key in ((first, "2"), (other, "3")):
            for pressed in (key, "3", "Enter"):
                page.keyboard.press(pressed)
            page.get_by_text("stored", exact=True).wait_for()
        other.get_by_text("answered in another window or on another device, too").wait_for()
        expect(first.locator("#message")).to_have_text("")
        first.reload()
        person.ready()
        first.get_by_role("button", name="Back").click()
        expect(first.get_by_label("joyful")).to_be_checked()
    with answering(small) as study:
        rows = study.book.audit_trail()
    assert [(row.labels, row.version, row.based_on) for row in rows] == [
        (("tense",), 1, 0), (("joyful",), 2, 0),
    ]  # fmt: skip


def test_keys_zoom_help_and_what_is_missing(browser: Any, small: Path) -> None:
    with at_work(browser, small, item=1) as person:
        page = person.page
        person.press("Enter")
        expect(page.locator("#message")).to_contain_text("Choose an answer first")
        person.press("2", "Enter")
        expect(page.locator("#message")).to_contain_text("In how many of the 4 pictures?")
        person.press("t")
        expect(page.locator("#shown")).to_have_text("4")
        person.press("ArrowLeft")
        expect(page.locator("#shown")).to_have_text("3")
        person.press("Escape", "1")  # back to the answers: a digit is an answer again
        expect(page.get_by_label("calm")).to_be_checked()
        person.press("u")
        expect(page.get_by_label("unknown")).to_be_checked()
        expect(page.locator("#count")).to_be_hidden()
        person.press("z")
        zoom = page.locator("#zoom")
        expect(zoom).to_contain_text("Picture 1 of 4")
        person.press("ArrowLeft")
        expect(zoom).to_contain_text("Picture 4 of 4")
        assert page.locator("#zoom-picture").evaluate(
            "image => image.decode().then(() => image.naturalWidth)"
        )
        person.press("Escape", "?")
        expect(page.locator("#help")).to_be_visible()
        person.press("Escape")
        expect(page.locator("#help")).to_be_hidden()
        expect(page.get_by_label("unknown")).to_be_checked()  # none of it has changed the answer
        # Letters and digits can be switched off, here and for the next page.
        person.press("?")
        page.get_by_label("Letters and digits do nothing").check()
        person.press("Escape")
        for question in (1, 2):  # what was chosen is stored when the page is left
            if question == 2:
                page.reload()
                person.ready()
                person.press("Escape")  # out of the field for words
            person.press(*"1s?z")
            person.is_at(question)
            expect(page.locator("dialog[open]")).to_have_count(0)
        page.get_by_label("unknown").check()
        person.press("Enter")
        person.is_at(3)


def test_lists_of_a_single_picture(browser: Any, small: Path) -> None:
    with at_work(browser, small) as person:
        with Annotations.open(small) as book:
            place = next(
                t.assignment.position
                for t in Answering(book).tasks("a1")
                if t.item.kind == IMAGE and t.item.purpose == SAMPLE
            )
        person.open(place)
        page, keys = person.page, person.page.keyboard
        person.press("u", "Enter")
        person.is_at(2)
        keys.type("Unknown")
        person.press("Enter", "Enter")
        expect(page.locator("#message")).to_contain_text('"Unknown" is in the list below')
        page.get_by_role("button", name="Take away Unknown").click()
        page.get_by_label("A few words").focus()
        keys.type("cup, red  tree, Cup")
        person.press("Enter")
        expect(page.locator("#chips button")).to_have_count(2)
        page.get_by_role("button", name="Take away cup").click()
        page.get_by_label("A few words").fill("bench")  # not added, and stored all the same
        page.get_by_role("button", name="Store, next").click()
        person.is_at(3)
        person.press("1", "Enter")
        person.is_at(4)
        person.press("1", "2", "3", "2", "Enter")  # the second one is taken away again
        page.wait_for_url(lambda now: not now.endswith(f"/item/{place}"))
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
    person.open(position)
    person.pictures()
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
    with own_port() as port, served(small, port=port) as (process, url, _):
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
        with served(second, port=port):
            become(shared, url, others["a1"])
            fresh = Person(browser, url, others["a1"], **DESKTOP)
            own = [seen(fresh, place) for place in range(2)]
            assert [seen(shared, place) for place in range(2)] == own
            assert own != first
            fresh.close()
    shared.close()


def test_a_second_enter_while_practice_is_stored(browser: Any, small: Path) -> None:
    with at_work(browser, small) as person:
        page = person.page
        held: list[Any] = []
        page.route("**/answers", lambda route: held.append(route))

        def sent() -> Any:
            """The answer that is on its way, as soon as the browser has sent it."""
            for _ in range(PATIENCE_MS // 10):
                if held:
                    break
                page.wait_for_timeout(10)
            return held.pop()

        person.press("2", "3", "Enter", "Enter", "Enter")
        person.is_at(1)
        sent().continue_()
        page.locator("#feedback").wait_for()
        person.is_at(1)
        person.press("Enter")
        person.is_at(2)
        expect(page.locator("#feedback")).to_be_hidden()
        # Gone back while an answer is on its way: its feedback is not shown under another question.
        page.keyboard.type("cup")
        person.press("Enter", "2", "Enter", "Escape", "b")
        person.is_at(1)
        shown = page.locator("#feedback").inner_text()
        late = sent()
        with page.expect_response("**/answers"):
            late.continue_()
        person.hears("stored", exact=True)
        expect(page.locator("#feedback")).to_have_text(shown)
        expect(page.locator("#save-text")).to_have_text("Store, next")
        page.unroute("**/answers")


def test_an_older_answer_that_waited_does_not_count(browser: Any, small: Path) -> None:
    with at_work(browser, small, item=1) as laptop:
        laptop.page.clock.install()
        laptop.open(1)
        phone = Person(browser, laptop.url, laptop.token, **PHONE)
        phone.open(1)
        laptop.context.set_offline(True)
        laptop.press("1", "3", "Enter")
        laptop.keeps(1)
        phone.press("2", "3", "Enter")
        phone.hears("stored", exact=True)
        # Long ago by its own clock: longer than anything takes on a slow machine.
        laptop.page.clock.fast_forward(3_600_000)
        laptop.context.set_offline(False)
        laptop.hears("the one that was given last counts: the other one")
        laptop.page.get_by_role("button", name="Back").click()
        expect(laptop.page.get_by_label("tense")).to_be_checked()
        phone.close()
    with answering(small) as study:
        assert [row.labels for row in study.book.audit_trail()] == [
            ("tense",), ("calm",), ("tense",),
        ]  # fmt: skip


def test_what_the_server_does_not_take_is_open_again(browser: Any, small: Path) -> None:
    with at_work(browser, small, item=1) as person:
        page, progress = person.page, person.page.locator("#progress")
        page.route("**/answers", lambda route: route.fulfill(status=422, json={"error": "why"}))
        before = progress.evaluate("bar => bar.value")
        person.press("2", "3", "Enter")
        person.hears("The server did not take an answer: why")
        assert progress.evaluate("bar => bar.value") == before
        person.press("Escape", "b")
        expect(page.get_by_label("tense")).not_to_be_checked()
        # So is one that was answered before, which the server still has.
        page.unroute("**/answers")
        person.press("2", "3", "Enter")
        person.hears("stored", exact=True)
        stored = progress.evaluate("bar => bar.value")
        person.press("Escape", "b")
        page.route("**/answers", lambda route: route.fulfill(status=422, json={"error": "again"}))
        person.press("1", "Enter")
        person.hears("The server did not take an answer: again")
        page.unroute("**/answers")
        person.press("Escape", "b")
        # What is stored is asked for again.
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        expect(page.get_by_label("tense")).to_be_checked()
        assert progress.evaluate("bar => bar.value") == stored


def test_what_is_chosen_is_kept_however_the_page_is_left(browser: Any, small: Path) -> None:
    with at_work(browser, small) as person:
        page, url = person.page, person.url

        def choose(item: int, number: int = 1) -> None:
            person.open(item)
            person.to_question(number)
            person.press("2")
            if page.locator("#count").is_visible():
                person.press("3")
            person.press("Escape")

        choose(1)
        person.press("s")
        person.hears("stored", exact=True)
        choose(1, 3)
        page.get_by_role("link", name="Start").click()
        page.wait_for_url(f"{url}/")
        expect(page.locator("main")).to_contain_text("2 of 20 questions")
        choose(1, 4)
        page.goto(f"{url}/guidelines")
        choose(2)
        page.get_by_role("link", name="Guidelines").click()
        page.wait_for_url("**/guidelines")
        choose(2, 3)
        person.press("1")  # changed
        page.close()
        person.page = person.window()
        person.page.goto(f"{url}/")
        person.hears("5 of 20 questions")
    with answering(small) as study:
        assert len(study.book.answers("a1")) == 5


# What a browser keeps of answers.
KEPT = "Object.keys(localStorage).filter((name) => name.startsWith('contextbias:'))"


def test_who_goes_leaves_nothing_in_the_browser(browser: Any, small: Path) -> None:
    with at_work(browser, small, item=1) as person:
        page = person.page
        person.context.route("**/answers", lambda route: route.abort())
        person.press("2", "3", "Enter")
        person.keeps(1)
        assert len(page.evaluate(KEPT)) == 1
        # What waits is sent first, or nobody is signed out.
        other = person.window()
        other.goto(person.url)
        other.get_by_role("button", name="Sign out").click()
        other.get_by_text("1 answer is kept on this device").wait_for()
        assert urlsplit(other.url).path == "/"
        person.remove(other)
        page.get_by_role("heading", name="Not possible").wait_for()  # the other window has gone
        assert other.evaluate(KEPT) == page.evaluate(KEPT) == []


def test_another_device_of_who_has_gone_offers_to_delete(browser: Any, small: Path) -> None:
    with at_work(browser, small) as person:
        away = Person(browser, person.url, person.token, **PHONE)
        away.open(1)
        person.remove(person.page)
        away.press("2", "3", "Enter")
        away.hears("your link does not work any more")
        assert len(away.page.evaluate(KEPT)) == 1
        away.page.get_by_role("button", name="Delete what is kept").tap()
        away.page.get_by_role("heading", name="Not possible").wait_for()
        assert away.page.evaluate(KEPT) == []
        away.close()


def test_signing_out_sends_what_waits(browser: Any, small: Path) -> None:
    with at_work(browser, small, item=1) as person:
        person.context.route("**/answers", lambda route: route.abort())
        person.press("2", "3", "Enter")
        person.keeps(1)
        person.page.close()
        person.page = page = person.window()
        page.goto(person.url)
        person.keeps(1)
        person.context.unroute("**/answers")
        page.get_by_role("button", name="Sign out").click()
        page.get_by_role("heading", name="Signed out").wait_for()
        assert page.evaluate(KEPT) == []
        page.goto(f"{person.url}/item/1")
        expect(page.locator("main")).to_contain_text("Open your personal link first")
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
            page = person.page
            person.open(1)
            person.pictures()
            person.to_question(4)  # the colors: the most answers
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


VIEWS = ("consent", "guidelines", "home", "set", "image", "feedback", "open", "counted", "said",
         "zoom", "help", "admin", "out", "left", "refused")  # fmt: skip


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
        person.open(0)
        person.press("2", "1", "Enter")
        page.locator("#feedback").wait_for()
    if view == "open":
        person.press("Enter")
        page.locator("#typed").wait_for()
    if view in ("counted", "said"):
        person.open(1)
        person.press("2", *(["Enter"] if view == "said" else []))
        page.locator("#count").wait_for()
    if view in ("zoom", "help"):
        person.press("Escape", "z" if view == "zoom" else "?")
        page.locator(f"#{view}").wait_for()
    if view == "admin":
        page.goto(admin)
        for summary in page.locator("summary").all():
            summary.click()
    if view == "out":
        page.goto(url)
        page.get_by_role("button", name="Sign out").click()
        page.get_by_role("heading", name="Signed out").wait_for()
    if view == "left":
        page.goto(f"{url}/a/{person.token}")
        person.remove(page)
    if view == "refused":
        page.goto(url)
        page.get_by_role("heading", name="Not possible").wait_for()
