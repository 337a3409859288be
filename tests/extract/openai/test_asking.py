"""One picture's exchange: what is sent, what comes of every kind of answer, and what is kept."""

from __future__ import annotations

import asyncio
import base64
import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.extract.openai.stub import StubLine, completion, good

from contextbias.extract.openai.asking import Asked, Asking
from contextbias.extract.openai.options import OpenAIReaderOptions, without_schema
from contextbias.extract.openai.readings import Common
from contextbias.extract.protocol import Picture, RawReading
from contextbias.extract.vision.kept import opened
from contextbias.providers.outcomes import Failure, Reply, Usage
from contextbias.providers.profiles import profile
from contextbias.schema import check_record

BUSY = Reply(
    status="error",
    reason="500: busy",
    attempt=6,
    tries=("500",) * 5,
    failure=Failure(kind="again", code="500"),
)
CONTRADICTION = good(eyewear_present="no", eyewear_type="sunglasses")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "CA-U" / "nurse"
    folder.mkdir(parents=True)
    picture = Image.linear_gradient("L").resize((60, 40)).convert("RGB")
    picture.save(folder / "a nurse in a subway station.png")
    return folder / "a nurse in a subway station.png"


def ask(path: Path, script: list[Any], **options: Any) -> tuple[RawReading, StubLine]:
    """Read one picture with scripted replies."""
    chosen = OpenAIReaderOptions.parse({"model": "seer-1", **options}, backend="openai")
    found = profile("seer-1", structured=chosen.structured_mode())
    words, fields = chosen.instructions(found), chosen.request(found)
    asking = Asking(
        words, fields, chosen.size, chosen.encoding, chosen.quality, chosen.detail,
        chosen.repair, 1000.0,
    )  # fmt: skip
    line = StubLine(
        [each if isinstance(each, (bytes, Reply)) else completion(each) for each in script]
    )
    asked = Asked(Picture(image_id="i1", path=path))
    reply = asyncio.run(asking(line, asked))  # type: ignore[arg-type]
    common = Common("localhost:1", found.structured, without_schema(fields), words.hash)
    assert not line.script
    return common.reading(asked, reply), line


# ---- what is sent


def test_a_request_is_a_fixed_beginning_and_then_the_picture(path: Path) -> None:
    _, line = ask(path, [good()], size=30, detail="high", temperature=0, seed=7, max_tokens=999)
    (request,) = line.requests
    assert list(request) == ["model", "max_tokens", "temperature", "seed", "response_format",
                             "messages"]  # fmt: skip
    assert (request["max_tokens"], request["temperature"], request["seed"]) == (999, 0, 7)
    form = request["response_format"]["json_schema"]
    assert form["strict"] is True
    assert form["schema"]["additionalProperties"] is False
    system, user = request["messages"]
    assert system["role"] == "system"
    assert [part["type"] for part in user["content"]] == ["text", "image_url"]
    image = user["content"][1]["image_url"]
    assert image["detail"] == "high"
    head, _, data = image["url"].partition(",")
    assert head == "data:image/jpeg;base64"
    with Image.open(BytesIO(base64.b64decode(data))) as sent:
        assert sent.size == (30, 20)


@pytest.mark.parametrize("script", [[good()], [CONTRADICTION, good()]])
def test_nothing_but_the_picture_differs_and_nothing_tells_its_prompt(
    path: Path, tmp_path: Path, script: list[Any]
) -> None:
    other = tmp_path / "zebra.png"
    Image.new("RGB", (60, 40), "red").save(other)
    sent = [json.dumps(ask(each, list(script))[1].requests) for each in (path, other)]
    bare = []
    for text in sent:
        for word in ("nurse", "subway", "CA-U", "zebra", str(tmp_path)):
            assert word not in text
        url = text[text.index("data:image") : text.index('"', text.index("data:image"))]
        bare.append(text.replace(url, ""))
    assert bare[0] == bare[1]
    assert sent[0] != sent[1]


@pytest.mark.parametrize(
    ("mode", "form", "in_words"),
    [
        ("json_schema", "json_schema", False),
        ("json_object_schema", "json_object", False),
        ("json_object", "json_object", True),
        ("none", None, True),
    ],
)
def test_where_no_schema_is_sent_it_stands_in_the_words(
    path: Path, mode: str, form: str | None, in_words: bool
) -> None:
    reading, line = ask(path, [good()], structured=mode)
    request = line.requests[0]
    assert (request.get("response_format") or {}).get("type") == form
    assert ('"additionalProperties":false' in request["messages"][0]["content"]) == in_words
    assert reading.raw["structured"] == mode
    if mode == "json_object_schema":
        assert request["response_format"]["schema"]["type"] == "object"


# ---- what comes of it


def test_a_good_answer_is_a_record_with_everything_kept(path: Path) -> None:
    reading, _ = ask(path, [good(age_range="teen")], size=30)
    assert (reading.status, reading.reason) == ("ok", None)
    assert check_record(reading.record) == []
    assert reading.record is not None
    assert reading.record["people"][0]["age_range"] == "teen"
    raw = json.loads(json.dumps(reading.raw))
    assert opened(raw) == [json.dumps(good(age_range="teen"))]
    assert raw["model"] == "seer-1-2026-01-01"
    assert raw["usage"] == {"input": 2000, "output": 300}
    assert raw["template"]["version"] == "1"
    assert raw["request"] == {"model": "seer-1", "max_tokens": 4096}
    assert (raw["picture"]["width"], raw["picture"]["height"]) == (30, 20)
    assert len(raw["picture"]["sha256"]) == 64
    (turn,) = raw["turns"]
    assert (turn["stop_reason"], turn["attempt"], turn["seconds"]) == ("stop", 1, 1.5)
    assert (turn["request_id"], len(turn["response_sha256"])) == ("r1", 64)
    assert reading.seconds == 1.5


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (completion(None, refusal="I cannot help."), "refused", "I cannot help."),
        (completion('{"cam', stop="length"), "truncated", "cut at the token limit"),
        (completion(None, stop="length"), "truncated", "lower reasoning_effort or raise"),
        (completion("{" + "\n" * 900, stop="length"), "truncated", "blanks without end"),
        (completion("{", stop="content_filter"), "filtered", "content filter"),
        (BUSY, "error", "500: busy"),
        (Reply(status="blocked", reason="400 content_filter: no"), "filtered", "no"),
    ],
)
def test_the_stop_reason_is_looked_at_before_the_text(
    path: Path, body: Any, status: str, said: str
) -> None:
    reading, line = ask(path, [body])
    assert reading.status == status
    assert said in (reading.reason or "")
    assert reading.record is None
    assert len(line.requests) == 1
    if isinstance(body, bytes):
        text = json.loads(body)["choices"][0]["message"]
        assert opened(reading.raw) == [text["content"] or text["refusal"] or ""]


@pytest.mark.parametrize(
    "first", ["{ no JSON", {"people": []}, CONTRADICTION, good() | {"more": 1}]
)
def test_a_faulty_answer_is_asked_for_once_more_and_both_are_kept(path: Path, first: Any) -> None:
    reading, line = ask(path, [first, good()])
    assert reading.status == "ok"
    *_, told, order = line.requests[1]["messages"]
    assert line.requests[1]["messages"][:2] == line.requests[0]["messages"]
    text = first if isinstance(first, str) else json.dumps(first)
    assert (told["role"], told["content"]) == ("assistant", text)
    assert order["content"].startswith("That answer cannot be used:\n- ")
    assert opened(reading.raw) == [text, json.dumps(good())]
    assert reading.raw["usage"] == {"input": 4000, "output": 600}
    assert len(reading.raw["turns"]) == 2
    assert reading.seconds == 3.0


def test_an_empty_answer_is_asked_for_once_more_in_the_same_words(path: Path) -> None:
    reading, line = ask(path, [completion("  "), good()])
    assert reading.status == "ok"
    assert line.requests[0] == line.requests[1]


def test_what_stays_faulty_is_invalid_and_says_why(path: Path) -> None:
    reading, _ = ask(path, [{"people": []}, CONTRADICTION])
    assert reading.status == "invalid"
    assert reading.reason == ("people[0]: eyewear_present is 'no' but eyewear_type is 'sunglasses'")
    assert len(opened(reading.raw)) == 2
    many, _ = ask(path, [{"scene": {}, "camera": {}}], repair=False)
    assert many.reason is not None
    assert many.reason.endswith("more")


def test_without_repair_the_first_answer_counts(path: Path) -> None:
    reading, line = ask(path, [CONTRADICTION], repair=False)
    assert reading.status == "invalid"
    assert len(line.requests) == 1


@pytest.mark.parametrize(
    ("second", "status"),
    [
        (completion(None, refusal="no"), "refused"),
        (completion("{", stop="length"), "truncated"),
    ],
)
def test_a_second_turn_can_end_in_its_own_way(path: Path, second: bytes, status: str) -> None:
    reading, _ = ask(path, [CONTRADICTION, second])
    assert reading.status == status
    assert len(opened(reading.raw)) == 2
    assert reading.raw["usage"]["input"] == 4000


@pytest.mark.parametrize(
    "second",
    [
        BUSY,
        Reply(status="error", reason="not sent", failure=Failure(kind="stopped", code="stopped")),
    ],
)
def test_an_answer_that_was_paid_for_is_kept_where_the_second_turn_fails(
    path: Path, second: Reply
) -> None:
    reading, _ = ask(path, [CONTRADICTION, second])
    assert reading.status == "invalid"
    assert f"asking once more failed: {second.reason}" in (reading.reason or "")
    assert reading.raw["not_repaired"] == second.reason
    assert opened(reading.raw) == [json.dumps(CONTRADICTION)]
    assert reading.raw["usage"] == {"input": 2000, "output": 300}


def test_a_failure_keeps_how_often_it_was_tried(path: Path) -> None:
    reading, _ = ask(path, [BUSY])
    assert reading.raw["turns"] == [
        {"status": "error", "reason": "500: busy", "seconds": 0.0, "attempt": 6,
         "tries": ["500"] * 5}
    ]  # fmt: skip
    assert reading.raw["usage"] == {}


def test_a_picture_that_cannot_be_decoded_is_not_sent(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"not a picture")
    reading, line = ask(tmp_path / "a.png", [])
    assert reading.status == "corrupt"
    assert "decoded" in (reading.reason or "")
    assert line.requests == []


def test_the_self_test_is_paid_for_by_the_first_reading(path: Path) -> None:
    common = Common("s", "json_schema", {}, "h")
    asked = Asked(Picture(image_id="i1", path=path))
    reply = Reply(status="refused", usage=Usage(input=10), sha256="0")
    raw = common.reading(asked, reply, Usage(input=5, output=2)).raw
    assert raw["usage"] == {"input": 15, "output": 2}
    assert raw["self_test_usage"] == {"input": 5, "output": 2}
