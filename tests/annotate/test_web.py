"""The application over HTTP: who may see what, and what every answer of it carries."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import httpx
import pytest
from tests.annotate.made import answering, item_data, tokens

from contextbias.annotate.answering import Answering
from contextbias.annotate.web import Site
from contextbias.errors import StudyError
from contextbias.pipeline.annotation import picture_finder

BASE = "http://localhost:8765"


def nothing(_: str) -> None:
    """There is no picture."""


class Client:
    """A browser without scripts: keeps cookies, sends an origin with what it posts."""

    def __init__(self, site: Site) -> None:
        self._transport = httpx.ASGITransport(app=site.app)
        self.cookies = httpx.Cookies()
        self.study = site.answering.plan.plan

    def _send(self, method: str, path: str, **options: Any) -> httpx.Response:
        async def one() -> httpx.Response:
            async with httpx.AsyncClient(
                transport=self._transport, base_url=BASE, cookies=self.cookies
            ) as client:
                response = await client.request(method, path, **options)
                self.cookies = client.cookies
                return response

        return anyio.run(one)

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self._send("GET", path, **options)

    def post(self, path: str, **options: Any) -> httpx.Response:
        options["headers"] = {"origin": BASE, **options.get("headers", {})}
        if "json" in options:
            options["json"] = {"study": self.study, **options["json"]}
        return self._send("POST", path, **options)


@pytest.fixture
def links(folder: Path) -> dict[str, str]:
    return tokens(folder, 2)


@pytest.fixture
def study(folder: Path, links: dict[str, str]) -> Iterator[Answering]:
    with answering(folder) as opened:
        yield opened


@pytest.fixture
def site(study: Answering, folder: Path) -> Site:
    return Site(study, picture_finder(folder), hosts=("localhost", "127.0.0.1"))


def signed_in(site: Site, token: str, agreed: bool = True) -> Client:
    client = Client(site)
    assert client.get(f"/a/{token}").headers["location"] == "/"
    if agreed:
        assert client.post("/consent", data={"agree": "yes"}).status_code == 303
    return client


def sent(position: int = 1, **changes: Any) -> dict[str, Any]:
    values = {
        "annotator": "a1",
        "position": position,
        "dimension": "mood",
        "labels": ["calm"],
        "reason": None,
        "count": 3,
        "seconds": 2.5,
        "based_on": 0,
        "key": "k1",
    }
    return values | changes


PAGES = ["/", "/guidelines", "/next", "/item/0", "/item/0/answers", "/picture/0/0/small"]


@pytest.mark.parametrize("path", PAGES)
def test_nothing_without_a_link(site: Site, path: str) -> None:
    assert Client(site).get(path).status_code == 403


def test_a_wrong_link_is_refused_in_words(site: Site) -> None:
    response = Client(site).get("/a/guessed")
    assert response.status_code == 403
    assert "does not work" in response.text
    assert "set-cookie" not in response.headers


def test_the_secret_leaves_the_address_and_the_cookie_is_closed(
    site: Site, links: dict[str, str]
) -> None:
    response = Client(site).get(f"/a/{links['a1']}")
    assert response.status_code == 303
    cookie = response.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie


def test_the_cookie_is_secure_where_the_address_is(study: Answering, links: dict[str, str]) -> None:
    site = Site(study, nothing, hosts=("localhost",), public_url="https://study.example.org")
    assert "secure" in Client(site).get(f"/a/{links['a1']}").headers["set-cookie"].lower()


def test_consent_and_a_time_come_first(site: Site, links: dict[str, str]) -> None:
    client = signed_in(site, links["a1"], agreed=False)
    page = client.get("/").text
    assert "made by computer programs" in page
    assert re.search(r"about\s+\d+ minutes", page)
    assert client.get("/item/0").headers["location"] == "/"
    assert client.post("/answers", json=sent()).status_code == 422
    assert client.post("/consent", data={}).status_code == 400
    assert client.post("/consent", data={"agree": "yes"}).headers["location"] == "/guidelines"
    assert client.get("/item/0").status_code == 200


def seal_of(client: Client, position: int) -> str:
    return str(item_data(client.get(f"/item/{position}").text)["seal"])


def pictures_of(client: Client, position: int, size: str = "small") -> list[str]:
    """Addresses of the pictures of an item."""
    seals = item_data(client.get(f"/item/{position}").text)["seals"]
    return [f"/picture/{position}/{place}/{size}?i={seal}" for place, seal in enumerate(seals)]


def test_a_page_tells_nothing_of_role_condition_and_generator(
    site: Site, study: Answering, links: dict[str, str]
) -> None:
    client = signed_in(site, links["a1"])
    for task in study.tasks("a1"):
        page = client.get(f"/item/{task.assignment.position}").text
        for word in ("nurse", "sensitive", "CA-R", "CA-U", ".png", task.item.item):
            assert word not in page
        assert not any(image in page for image in task.item.image_ids)
        questions = item_data(page)["questions"]
        assert [q["dimension"] for q in questions] == list(study.questions)


def test_the_role_is_shown_where_the_configuration_says_so(folder: Path, tmp_path: Path) -> None:
    from tests.annotate.made import rewrite

    rewrite(folder, "images = 5", 'images = 5\nrole_shown_for = ["items"]')
    link = tokens(folder, 1)["a1"]
    with answering(folder) as study:
        client = signed_in(Site(study, nothing), link)
        questions = {q["dimension"]: q for q in item_data(client.get("/item/0").text)["questions"]}
    assert questions["items"]["text"].startswith("Role: nurse. ")
    assert "nurse" not in questions["mood"]["text"]


def test_pictures_are_pixels_and_only_one_s_own(
    site: Site, study: Answering, links: dict[str, str]
) -> None:
    client = signed_in(site, links["a1"])
    task = study.tasks("a1")[0]
    assert len(task.images) > 1
    good = pictures_of(client, 0)
    response = client.get(good[1])
    assert response.headers["content-type"] == "image/webp"
    assert response.content[:4] == b"RIFF"
    assert b"EXIF" not in response.content
    assert "private" in response.headers["cache-control"]
    for path in (
        good[0].replace("/0/0/", "/0/99/"),
        good[0].replace("/0/0/", "/99/0/"),
        good[0].replace("small", "original"),
        good[0].replace("/0/0/", "/0/1/"),
        good[0].partition("?")[0],
    ):
        assert client.get(path).status_code == 404
    for path in ("/picture/0/-1/small", "/images/x.png", "/static/../web.py", "/static/web.py"):
        assert client.get(path).status_code == 404


def test_a_picture_that_is_gone_is_404(site: Site, study: Answering, links: dict[str, str]) -> None:
    client = signed_in(site, links["a1"])
    path = picture_finder(study.book.root)(study.tasks("a1")[0].images[0])
    assert path is not None
    path.unlink()
    assert client.get(pictures_of(client, 0)[0]).status_code == 404


def test_no_picture_has_the_address_of_another(
    site: Site, study: Answering, links: dict[str, str]
) -> None:
    """A browser keeps pictures by their address, whoever sits before it."""
    owner: dict[str, tuple[str, str]] = {}
    clients = {name: signed_in(site, link) for name, link in links.items()}
    for name, client in clients.items():
        for task in study.tasks(name):
            addresses = pictures_of(client, task.assignment.position)
            for address, image in zip(addresses, task.images, strict=True):
                assert owner.setdefault(address, (name, image)) == (name, image)
    assert len(owner) == sum(len(t.images) for name in links for t in study.tasks(name))
    other = pictures_of(clients["a1"], 0)[0]
    assert clients["a1"].get(other).status_code == 200
    assert clients["a2"].get(other).status_code == 404
    # The same place in another study, which is served under the same address later.
    site._study = "another"
    assert clients["a1"].get(other).status_code == 404


def test_a_window_of_another_annotator_hears_no_answers(site: Site, links: dict[str, str]) -> None:
    first, second = (signed_in(site, links[name]) for name in ("a1", "a2"))
    seal = seal_of(first, 1)
    assert first.get(f"/item/1/answers?i={seal}").status_code == 200
    assert second.get(f"/item/1/answers?i={seal}").status_code == 409


def test_pictures_and_answers_come_after_consent(site: Site, links: dict[str, str]) -> None:
    seals = pictures_of(signed_in(site, links["a1"]), 0)
    client = signed_in(site, links["a2"], agreed=False)
    for path in (*seals, "/item/0/answers"):
        assert client.get(path).status_code == 403


def test_an_answer_is_stored_before_it_is_acknowledged(
    site: Site, study: Answering, links: dict[str, str]
) -> None:
    client = signed_in(site, links["a1"])
    response = client.post("/answers", json=sent())
    assert response.json() == {
        "version": 1,
        "conflict": False,
        "feedback": None,
        "instead": None,
    }
    assert [row.labels for row in study.book.audit_trail()] == [("calm",)]
    # Sent again, since the page did not hear back.
    assert client.post("/answers", json=sent()).json()["version"] == 1
    # Another window, which had not seen it.
    second = client.post("/answers", json=sent(key="k2", labels=["tense"])).json()
    assert (second["version"], second["conflict"]) == (2, True)
    shown = client.get(f"/item/1/answers?i={seal_of(client, 1)}").json()["mood"]
    assert (shown["labels"], shown["version"]) == (["tense"], 2)


def test_training_says_what_is_known(site: Site, study: Answering, links: dict[str, str]) -> None:
    client = signed_in(site, links["a1"])
    task = study.tasks("a1")[0]
    assert task.item.purpose == "training"
    known = (task.item.gold or {})["mood"]
    wrong = next(m for m in ("calm", "tense", "joyful") if m not in known["labels"])
    said = client.post("/answers", json=sent(0, labels=[wrong])).json()["feedback"]
    assert said == {
        "known": True,
        "right": False,
        "labels": known["labels"],
        "count": known["count"],
    }
    # Nothing of the kind about gold items.
    gold = next(t for t in study.tasks("a1") if t.item.purpose == "gold")
    count = len(gold.images) if gold.item.kind == "set" else None
    answer = sent(gold.assignment.position, count=count)
    assert client.post("/answers", json=answer).json()["feedback"] is None
    # Its page is like any other.
    shown = next(t for t in study.tasks("a1") if t.item.purpose == "sample")
    pages = [item_data(client.get(f"/item/{t.assignment.position}").text) for t in (gold, shown)]
    assert pages[0].keys() == pages[1].keys()
    assert not any(page["training"] for page in pages)


WRONG = [
    {"study": None},
    {"labels": "calm"},
    {"labels": [1]},
    {"count": 2.5},
    {"count": True},
    {"position": "1"},
    {"position": 10**6},
    {"dimension": "nothing"},
    {"dimension": None},
    {"reason": 3},
    {"seconds": "long"},
    {"seconds": None},
    {"key": ""},
    {"key": "x" * 99},
    {"based_on": None},
    {"labels": ["merry"]},
]


@pytest.mark.parametrize("changes", WRONG)
def test_what_is_no_answer_is_refused_and_not_stored(
    site: Site, study: Answering, links: dict[str, str], changes: dict[str, Any]
) -> None:
    client = signed_in(site, links["a1"])
    assert client.post("/answers", json=sent(**changes)).status_code == 422
    assert study.book.audit_trail() == []


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'{"annotator": "a1"}', b"\xff"])
def test_what_is_no_json_is_refused(site: Site, links: dict[str, str], body: bytes) -> None:
    client = signed_in(site, links["a1"])
    headers = {"content-type": "application/json"}
    assert client.post("/answers", content=body, headers=headers).status_code == 422


def test_not_a_number_of_seconds(site: Site, links: dict[str, str]) -> None:
    client = signed_in(site, links["a1"])
    body = json.dumps(sent(seconds=float("nan"), study=client.study))
    assert client.post("/answers", content=body).status_code == 422
    assert client.post("/answers", json=sent(seconds=1e9)).status_code == 200


def test_answers_of_another_person_s_window_are_not_mixed_up(
    site: Site, study: Answering, links: dict[str, str]
) -> None:
    client = signed_in(site, links["a1"])
    client.get(f"/a/{links['a2']}")  # in the same browser
    assert client.post("/answers", json=sent()).status_code == 409
    # Nor are those that another study on the same address has left in the browser.
    assert client.post("/answers", json=sent(annotator="a2", study="other")).status_code == 409
    assert study.book.audit_trail() == []
    assert client.post("/answers", json=sent(annotator="a2")).status_code == 422  # no consent yet


def test_a_store_that_cannot_be_written_is_a_fault_to_try_again(
    site: Site, study: Answering, links: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    client = signed_in(site, links["a1"])

    def full(*_: object) -> None:
        raise StudyError("the disk is full", "make room")

    monkeypatch.setattr(study, "submit", full)
    response = client.post("/answers", json=sent())
    assert response.status_code == 503


ORIGINS = [
    None,
    "http://evil.example",
    "null",
    "http://localhost:1",
    "http://localhost.evil.example",
]


@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize("path", ["/answers", "/consent", "/leave", "/admin/do"])
def test_only_pages_of_this_server_change_anything(
    site: Site, study: Answering, links: dict[str, str], path: str, origin: str | None
) -> None:
    client = signed_in(site, links["a1"])
    headers = {} if origin is None else {"origin": origin}
    response = client._send("POST", path, headers=headers, json=sent())
    assert response.status_code == 403
    assert set(study.annotators) == {"a1", "a2"}
    assert study.book.audit_trail() == []


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:8765", ""])
def test_a_foreign_name_for_this_server_is_refused(site: Site, host: str) -> None:
    assert Client(site).get("/health", headers={"host": host}).status_code == 403


@pytest.mark.parametrize("host", ["localhost:8765", "127.0.0.1:80", "LOCALHOST"])
def test_its_own_names_are_known(site: Site, host: str) -> None:
    assert Client(site).get("/health", headers={"host": host}).text == "ok"


def test_a_large_request_is_refused(site: Site, links: dict[str, str]) -> None:
    client = signed_in(site, links["a1"])
    assert client.post("/answers", json=sent(labels=["x" * 200_000])).status_code == 403


@pytest.mark.parametrize("path", ["/", "/nothing", "/static/page.css", "/picture/0/0/small"])
def test_every_answer_has_its_headers(site: Site, links: dict[str, str], path: str) -> None:
    headers = signed_in(site, links["a1"]).get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cache-control"] in ("no-store",) or "private" in headers["cache-control"]


def test_who_wants_to_go_is_removed(site: Site, study: Answering, links: dict[str, str]) -> None:
    client = signed_in(site, links["a1"])
    client.post("/answers", json=sent())
    assert client.post("/leave", data={}).status_code == 400
    assert "a1" in study.annotators
    page = client.post("/leave", data={"sure": "yes"})
    assert "1 stored answer and" in page.text
    # The browser forgets, too: pictures, and what waits there.
    assert page.headers["clear-site-data"] == '"cache"'
    assert f'src="/static/left.js" data-gone="{study.plan.plan}:a1"' in page.text
    assert set(study.annotators) == {"a2"}
    assert client.get("/").status_code == 403


def test_signing_out_leaves_the_answers(
    site: Site, study: Answering, links: dict[str, str]
) -> None:
    client = signed_in(site, links["a1"])
    client.post("/answers", json=sent())
    assert "Sign out" in client.get("/").text
    assert "Signed out" in client.post("/out").text
    assert client.get("/").status_code == 403
    assert len(study.book.audit_trail()) == 1
    assert signed_in(site, links["a1"], agreed=False).get("/item/0").status_code == 200


NUMBERS = ["\u00b2", "9" * 5000, "-1", "1e3", "\u0663", " 1", "0x1", ""]


@pytest.mark.parametrize("number", NUMBERS)
def test_what_is_no_number_is_no_fault_of_the_server(
    site: Site, links: dict[str, str], number: str
) -> None:
    client = signed_in(site, links["a1"])
    quoted = quote(number)
    assert client.get(f"/next?after={quoted}").status_code == 303
    for path in (
        f"/item/{quoted}",
        f"/item/{quoted}/answers",
        f"/picture/{quoted}/0/small",
        f"/picture/0/{quoted}/small",
    ):
        assert client.get(path).status_code == 404
    admin = administrator(site)
    form = {"what": "invite", "number": number}
    assert admin.post("/admin/do", data=form).status_code == 400


BODIES = [
    "",
    "x",
    "[]",
    "null",
    "7",
    "[" * 90_000,
    '{"a":' * 15_000,
    "9" * 5000,
    '{"seconds": NaN}',
    "\ud800".encode("utf-8", "surrogatepass"),
]
FIELDS = {
    "position": [-1, 10**30, True, "1", None, 1.5],
    "dimension": ["", "\ud800", None, ["mood"], "__class__"],
    "labels": [None, "calm", [None], ["\ud800"], [""], ["calm"] * 20_000, {}],
    "reason": [1, "\ud800", ["unknown"]],
    "count": [-1, 99, 10**30, True, "3", 1.0],
    "seconds": [10**400, True, "1", None, [], float("nan"), float("inf")],
    "age": [10**400, True, "1", None, [], float("nan"), float("inf")],
    "based_on": [-1, 10**30, None, True],
    "key": ["", "k" * 81, None, 1],
    "study": [None, 1],
    "annotator": [None, ["a1"]],
}


@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
def test_what_is_no_answer_at_all_is_refused(
    site: Site, study: Answering, links: dict[str, str], body: str | bytes
) -> None:
    response = signed_in(site, links["a1"]).post("/answers", content=body)
    assert response.status_code == 422
    assert response.json()["error"]


@pytest.mark.parametrize("field", FIELDS)
def test_a_wrong_field_is_refused(
    site: Site, study: Answering, links: dict[str, str], field: str
) -> None:
    client = signed_in(site, links["a1"])
    for value in FIELDS[field]:
        body = json.dumps({"study": client.study, **sent(), field: value})
        response = client.post("/answers", content=body)
        assert response.status_code in (422, 403 if len(body) > 100_000 else 422), value
    assert study.book.audit_trail() == []


@pytest.mark.parametrize("bad", ["[", "http://[", "[::1", "a:b:c", "localhost:port", "\xff"])
def test_an_address_that_is_none_is_refused(site: Site, links: dict[str, str], bad: str) -> None:
    client = signed_in(site, links["a1"])
    raw = bad.encode("latin-1")
    assert client.post("/answers", json=sent(), headers={"origin": raw}).status_code == 403
    hosts = [site] if "localhost" in bad else [site, Site(site.answering, nothing)]
    for known in hosts:
        response = Client(known).get("/", headers={"host": raw})
        assert response.status_code == 403


@pytest.mark.parametrize("host", ["127.0.0.1:8801", "study.example.org"])
def test_behind_a_proxy_whatever_host_it_sends(
    study: Answering, links: dict[str, str], host: str
) -> None:
    public = "https://study.example.org"
    site = Site(study, nothing, hosts=("127.0.0.1", "study.example.org"), public_url=public)
    client = Client(site)

    def agree(origin: str) -> int:
        headers = {"host": host, "origin": origin}
        headers["cookie"] = f"{site.cookie}={links['a1']}"
        return client.post("/consent", data={"agree": "yes"}, headers=headers).status_code

    for foreign in (
        "https://evil.example",
        "http://study.example.org:81",
        "https://study.example.org.evil.example",
        "null",
    ):
        assert agree(foreign) == 403
    assert agree(public) == 303
    assert agree(f"{public}:443") == 303


def test_a_form_that_cannot_be_stored_answers_with_a_page(
    site: Site, study: Answering, links: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StudyError("the disk is full", "make room")

    monkeypatch.setattr(study, "agree", full)
    client = signed_in(site, links["a1"], agreed=False)
    headers = {"accept": "text/html,*/*"}
    response = client.post("/consent", data={"agree": "yes"}, headers=headers)
    assert response.status_code == 503
    assert "<h1>Not possible</h1>" in response.text
    assert "disk" not in response.text


# ---- the administrator


def done(admin: Client, form: dict[str, str]) -> str:
    """Post a form and follow to the page that says what came of it."""
    response = admin.post("/admin/do", data=form)
    assert response.status_code == 303
    return admin.get(response.headers["location"]).text


def test_a_reload_does_nothing_again(site: Site, study: Answering, links: dict[str, str]) -> None:
    admin = administrator(site)
    response = admin.post("/admin/do", data={"what": "link", "annotator": "a1"})
    where = response.headers["location"]
    (link,) = re.findall(r"/a/([\w-]+)", admin.get(where).text)
    assert "/a/" not in admin.get(where).text
    assert Client(site).get(f"/a/{link}").status_code == 303
    assert admin.get("/admin/do").headers["location"] == "/admin"
    # Not shown to whoever else guesses or is sent the address.
    where = admin.post("/admin/do", data={"what": "link", "annotator": "a1"}).headers["location"]
    assert Client(site).get(where).status_code == 403


def test_who_is_invited_and_gets_nothing_is_named(site: Site, links: dict[str, str]) -> None:
    admin = administrator(site)
    page = done(admin, {"what": "invite", "number": "2"})
    assert "a3, a4: no items are left for them" in page


def administrator(site: Site) -> Client:
    client = Client(site)
    assert client.get(f"/admin/{site.admin_token}").headers["location"] == "/admin"
    return client


def test_the_administrator_needs_a_link_of_their_own(site: Site, links: dict[str, str]) -> None:
    assert Client(site).get("/admin").status_code == 403
    assert Client(site).get("/admin/guessed").status_code == 403
    assert signed_in(site, links["a1"]).get("/admin").status_code == 403
    assert Client(site).post("/admin/do", data={"what": "invite"}).status_code == 403
    # And it opens no annotator's page.
    assert administrator(site).get("/item/0").status_code == 403


def test_progress_and_quality_are_shown(
    site: Site, study: Answering, links: dict[str, str]
) -> None:
    signed_in(site, links["a1"]).post("/answers", json=sent())
    page = administrator(site).get("/admin").text
    assert "8 items of the sample" in page
    assert f"1 of {study.progress('a1').total}" in re.sub(r"\s+", " ", page)
    assert "not yet used" in page  # a2
    assert links["a1"] not in page
    assert "below 1.0 s" in page


def test_the_administrator_invites_renews_revokes_and_removes(
    site: Site, study: Answering, links: dict[str, str]
) -> None:
    admin = administrator(site)
    page = done(admin, {"what": "invite", "number": "2"})
    found = re.findall(rf"{re.escape(BASE)}/a/([\w-]+)", page)
    assert len(found) == 2
    assert signed_in(site, found[0]).get("/").status_code == 200
    page = done(admin, {"what": "link", "annotator": "a1"})
    (again,) = re.findall(r"/a/([\w-]+)", page)
    assert Client(site).get(f"/a/{links['a1']}").status_code == 403
    assert Client(site).get(f"/a/{again}").status_code == 303
    admin.post("/admin/do", data={"what": "revoke", "annotator": "a1"})
    assert Client(site).get(f"/a/{again}").status_code == 403
    assert "a1" in study.annotators
    wrong = admin.post("/admin/do", data={"what": "remove", "annotator": "a1", "sure": "a2"})
    assert wrong.status_code == 400
    assert "a1" in study.annotators
    admin.post("/admin/do", data={"what": "remove", "annotator": "a1", "sure": "a1"})
    assert "a1" not in study.annotators


@pytest.mark.parametrize(
    "form",
    [
        {"what": "invite", "number": "0"},
        {"what": "invite", "number": "many"},
        {"what": "invite", "number": "9999"},
        {"what": "revoke", "annotator": "nobody"},
        {"what": "link", "annotator": ""},
        {"what": "dance"},
        {},
    ],
)
def test_what_an_administrator_cannot_do(
    site: Site, study: Answering, form: dict[str, str]
) -> None:
    assert administrator(site).post("/admin/do", data=form).status_code == 400
    assert set(study.annotators) == {"a1", "a2"}


def test_a_pseudonym_is_shown_as_text(folder: Path) -> None:
    """Names cannot hold markup; contact and consent are the study's own words, and are escaped."""
    from tests.annotate.made import rewrite

    rewrite(folder, "images = 5", 'images = 5\ncontact = "<b>ann</b>"\nconsent = "consent.txt"')
    (folder / "consent.txt").write_text("First <script>alert(1)</script>.\n\nSecond & last.")
    link = tokens(folder, 1)["a1"]
    with answering(folder) as study:
        page = signed_in(Site(study, nothing), link, agreed=False).get("/").text
    assert "<p>First &lt;script&gt;" in page
    assert "<p>Second &amp; last.</p>" in page
    assert "&lt;b&gt;ann" in page
