"""The Batch API against the fake provider, with everything that happens to results."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.provider import Batches, FakeProvider, always, first
from tests.providers.conftest import asking

from contextbias.errors import Incomplete, MissingPart, StudyError
from contextbias.files import BATCHES
from contextbias.providers import (
    BatchOptions,
    Budget,
    Connection,
    Reply,
    Session,
    State,
    batch_sending,
    batch_service,
    batches,
    outstanding,
    price,
    refuse_twice,
)
from contextbias.providers.batch import request_id
from contextbias.providers.batch_records import Records

PRICE = price("gpt-5-mini")
assert PRICE is not None


class Killed(BaseException):
    """Nothing is cleaned up after it, as after kill -9."""


def killed(*_: Any, **__: Any) -> None:
    raise Killed


_keep = Records.keep


def killed_at_confirming(self: Records, record: Any) -> None:
    """In the place of `Records.keep`: dies once the provider has the batch."""
    if record.state == batch_sending.SENT:
        raise Killed
    _keep(self, record)


class Closed(KeyboardInterrupt):
    """The laptop's lid."""


def collect_by(
    provider: FakeProvider, folder: Path, count: int = 50, **given: Any
) -> Iterator[tuple[int, Reply]]:
    call, budget = given.pop("call", None) or asking(), given.pop("budget", None)
    on_state = given.pop("on_state", None)
    return batches(
        range(count),
        call,
        key=given.pop("key", str),
        connection=Connection(provider.base_url),
        options=BatchOptions(**{"batch_poll": 0.002, **given}),
        session=Session(folder=folder, name="reader"),
        budget=budget,
        on_state=on_state,
    )


def nothing_left(provider: FakeProvider, folder: Path) -> bool:
    return list((folder / BATCHES).iterdir()) == [] and provider.batches.files == {}


def once_each(provider: FakeProvider) -> bool:
    return set(Counter(entry.key for entry in provider.billed()).values()) == {1}


def test_everything_comes_back_once_and_is_cleaned_up(tmp_path: Path) -> None:
    told: list[State] = []
    budget = Budget(None, PRICE.batch_cost)
    with FakeProvider().running() as provider:
        replies = collect_by(provider, tmp_path, budget=budget, on_state=told.append)
        found = dict(replies)
        assert sorted(found) == list(range(50))
        assert {reply.status for reply in found.values()} == {"ok"}
        assert json.loads(found[3].text or "")["mood"] in ("calm", "tense")
        assert found[3].model == "gpt-5-mini-2025-08-07"
        assert len(provider.billed()) == 50
        assert {entry.batch for entry in provider.billed()} == {"batch_0"}
        assert nothing_left(provider, tmp_path)
        whole = sum(PRICE.of(reply.usage) for reply in found.values())
        assert budget.spent == pytest.approx(whole / 2)
    assert told[0].words() == "50 in 1 batch (Ctrl-C: collect them later)"


def test_results_that_are_shuffled_and_doubled_are_matched_by_their_id(tmp_path: Path) -> None:
    def answer(question: Any) -> str:
        return f'{{"mood": "{question.text}"}}'

    odd = Batches(duplicate=0.5, shuffle=True)
    with FakeProvider(answer=answer, batches=odd).running() as provider:
        found = dict(collect_by(provider, tmp_path))
    assert {item: json.loads(reply.text or "")["mood"] for item, reply in found.items()} == {
        item: f"about {item}" for item in range(50)
    }
    assert once_each(provider)


def test_files_are_split_by_count_and_by_bytes(tmp_path: Path) -> None:
    with FakeProvider().running() as provider:
        dict(collect_by(provider, tmp_path / "count", batch_requests=20))
        assert provider.batches.uploads == [20, 20, 10]
        provider.batches.uploads.clear()
        dict(collect_by(provider, tmp_path / "bytes", batch_megabytes=0.005))
        assert sum(provider.batches.uploads) == 50
        assert len(provider.batches.uploads) > 3
        assert once_each(provider) is False  # two studies: each paid for its own


def test_what_expired_is_sent_again_and_nothing_else(tmp_path: Path) -> None:
    odd = Batches(expire=0.4)
    with FakeProvider(batches=odd).running() as provider:
        found = dict(collect_by(provider, tmp_path))
        assert len(found) == 50
        assert once_each(provider)
        made = list(provider.batches.made.values())
        assert [batch["status"] for batch in made] == ["expired", "completed"]
        assert made[1]["request_counts"]["total"] < 50
        assert nothing_left(provider, tmp_path)


def test_a_batch_that_fails_as_a_whole_is_made_again(tmp_path: Path) -> None:
    with FakeProvider(batches=Batches(fail_first=2)).running() as provider:
        assert len(dict(collect_by(provider, tmp_path))) == 50
        assert once_each(provider)


def test_batches_that_always_fail_end_it(tmp_path: Path) -> None:
    with FakeProvider(batches=Batches(fail_first=99)).running() as provider:
        with pytest.raises(Incomplete, match="server_error: The batch could not be processed"):
            dict(collect_by(provider, tmp_path))
        assert len(provider.batches.made) == 3
        assert provider.billed() == []


def test_a_request_that_never_comes_back_is_an_error_of_its_item(tmp_path: Path) -> None:
    with FakeProvider(batches=Batches(fail_lines=1)).running() as provider:
        found = dict(collect_by(provider, tmp_path, 5))
    # The first line of each batch fails: one item after the other, then the last one for good.
    assert Counter(reply.status for reply in found.values())["error"] >= 1
    reasons = {reply.reason for reply in found.values() if reply.status == "error"}
    assert reasons == {"3 batches came back without an answer to it"}


def test_enqueued_tokens_are_kept_below_a_limit_that_is_given(tmp_path: Path) -> None:
    told: list[State] = []
    with FakeProvider().running() as provider:
        replies = collect_by(
            provider, tmp_path, batch_requests=10, batch_tokens=2000, on_state=told.append
        )
        assert len(dict(replies)) == 50
        assert once_each(provider)
    # 100 tokens a request: 20 at a time.
    assert max(state.in_flight for state in told) == 20


@pytest.mark.parametrize("together", [True, False])
def test_and_below_one_that_is_found_out(tmp_path: Path, together: bool) -> None:
    # The provider counts 90 to 100 tokens a line here.
    odd = Batches(most_tokens=2500)
    with FakeProvider(batches=odd).running() as provider:
        size = 10 if together else 50
        assert len(dict(collect_by(provider, tmp_path, batch_requests=size))) == 50
        assert once_each(provider)
        failed = [b for b in provider.batches.made.values() if b["status"] == "failed"]
        assert failed
        assert nothing_left(provider, tmp_path)


def test_not_even_one_request_fits(tmp_path: Path) -> None:
    with FakeProvider(batches=Batches(most_tokens=10)).running() as provider:
        with pytest.raises(Incomplete, match="enqueues not even one request"):
            dict(collect_by(provider, tmp_path, 2))
        assert provider.billed() == []


def test_a_second_turn_is_a_request_of_the_next_batch(tmp_path: Path) -> None:
    budget = Budget(None, PRICE.batch_cost)
    with FakeProvider(plan=first(20, "empty")).running() as provider:
        replies = collect_by(provider, tmp_path, call=asking(repair=True), budget=budget)
        found = dict(replies)
        assert {reply.status for reply in found.values()} == {"ok"}
        assert sum(bool(reply.earlier) for reply in found.values()) == 20
        assert len(provider.batches.made) == 2
        assert len(provider.billed()) == 70
        total = sum(reply.total_usage().output for reply in found.values())
        assert total == provider.total("output")
        assert nothing_left(provider, tmp_path)
    assert budget.spent == pytest.approx(
        sum(PRICE.of(reply.total_usage(), batch=True) for reply in found.values())
    )


@pytest.mark.parametrize("kind", ["refuse", "content_filter", "truncate", "empty"])
def test_answers_that_are_none(tmp_path: Path, kind: str) -> None:
    status = {"refuse": "refused", "content_filter": "blocked", "truncate": "truncated"}
    with FakeProvider(plan=always(kind)).running() as provider:
        found = dict(collect_by(provider, tmp_path, 3))
    assert {reply.status for reply in found.values()} == {status.get(kind, "invalid")}
    assert once_each(provider)


def test_a_line_that_is_refused_is_an_error_of_its_item(tmp_path: Path) -> None:
    with FakeProvider(models={"another"}).running() as provider:
        found = dict(collect_by(provider, tmp_path, 2))
    assert {reply.status for reply in found.values()} == {"error"}
    assert "404 model_not_found: The model `gpt-5-mini` does not exist" in str(found[0].reason)


@pytest.mark.parametrize("code", [402, 429, 502, None])
def test_a_line_with_an_error_in_a_200_is_one_of_its_item(tmp_path: Path, code: Any) -> None:
    # Whatever it was when the batch was worked off, it says nothing about what is sent now.
    with FakeProvider(plan=always("in_200", code=code)).running() as provider:
        found = dict(collect_by(provider, tmp_path, 3))
    assert {reply.status for reply in found.values()} == {"error"}
    assert "Provider returned error" in str(found[0].reason)
    assert nothing_left(provider, tmp_path)


def test_odd_texts_and_numbers_in_a_batch_do_not_end_it(tmp_path: Path) -> None:
    def edit(body: dict[str, Any]) -> None:
        body["model"], body["usage"]["prompt_tokens"] = "m\ud800", float("nan")

    with FakeProvider(plan=always("edited", edit=edit)).running() as provider:
        budget = Budget(None, PRICE.batch_cost, expected=0.001)
        found = dict(collect_by(provider, tmp_path, 3, budget=budget))
    assert {reply.status for reply in found.values()} == {"ok"}
    assert found[0].model == "m\\ud800"
    assert budget.spent == pytest.approx(0.003)
    assert nothing_left(provider, tmp_path)


def test_a_key_that_comes_back_in_a_batch_is_in_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-a-key-of-nobody-123456"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with FakeProvider(key=key, plan=always("echo", code=400)).running() as provider:
        replies = collect_by(provider, tmp_path, 3)
        _, reply = next(replies)
        kept = b"".join(path.read_bytes() for path in (tmp_path / BATCHES).iterdir())
        assert b"no good" in kept
        assert key.encode() not in kept
        assert key not in str(reply)
        list(replies)


# ---- the laptop is closed


def close_the_lid(state: State) -> None:
    if state.in_flight:
        raise Closed


def test_what_is_with_the_provider_is_collected_by_a_later_run(tmp_path: Path) -> None:
    with FakeProvider(batches=Batches(polls=3)).running() as provider:
        with pytest.raises(Closed):
            dict(collect_by(provider, tmp_path, batch_requests=20, on_state=close_the_lid))
        assert outstanding(tmp_path) == 50
        assert len(provider.batches.made) == 3
        found = dict(collect_by(provider, tmp_path, batch_requests=20))
        assert sorted(found) == list(range(50))
        assert len(provider.batches.made) == 3
        assert once_each(provider)
        assert outstanding(tmp_path) == 0


def test_a_run_that_is_killed_while_it_takes_replies_loses_none(tmp_path: Path) -> None:
    with FakeProvider().running() as provider:
        replies: Any = collect_by(provider, tmp_path)
        stored = dict(next(replies) for _ in range(20))
        replies.close()
        # 20 have rows; the others' answers are on disk, and the provider's copies are gone.
        assert provider.batches.files == {}
        left = [item for item in range(50) if item not in stored]
        again = batches(
            left,
            asking(),
            key=str,
            connection=Connection(provider.base_url),
            options=BatchOptions(batch_poll=0.002),
            session=Session(folder=tmp_path, name="reader"),
        )
        found = dict(again)
        assert sorted(found) == left
        assert once_each(provider)
        assert outstanding(tmp_path) <= 1  # the reply that was being taken


def test_a_run_for_fewer_items_keeps_the_others_answers(tmp_path: Path) -> None:
    with FakeProvider().running() as provider:
        with pytest.raises(Closed):
            dict(collect_by(provider, tmp_path, on_state=close_the_lid))
        assert len(dict(collect_by(provider, tmp_path, 10))) == 10
        assert outstanding(tmp_path) == 40
        assert len(dict(collect_by(provider, tmp_path, 50))) == 50
        assert len(provider.batches.made) == 2  # 40 were there, 10 had been used
        assert outstanding(tmp_path) == 0


def test_asking_one_by_one_for_what_is_in_batches_is_refused(tmp_path: Path) -> None:
    session = Session(folder=tmp_path, name="reader")
    with FakeProvider(batches=Batches(polls=9)).running() as provider:
        connection = Connection(provider.base_url)
        refuse_twice(map(str, range(50)), connection, session)
        with pytest.raises(Closed):
            dict(collect_by(provider, tmp_path, on_state=close_the_lid))
        with pytest.raises(Incomplete, match="5 of what 'reader' is to be asked is in batches"):
            refuse_twice(map(str, range(45, 60)), connection, session)
        refuse_twice(["another"], connection, session)


@pytest.mark.parametrize("moment", ["upload", "create", "confirm"])
def test_a_crash_while_a_batch_is_made_pays_for_it_once(
    tmp_path: Path, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = {
        "upload": (batch_service.Service, "upload", killed),
        "create": (batch_service.Service, "create", killed),
        "confirm": (Records, "keep", killed_at_confirming),
    }
    with FakeProvider().running() as provider:
        with monkeypatch.context() as patch:
            patch.setattr(*where[moment])
            with pytest.raises(Killed):
                dict(collect_by(provider, tmp_path))
        assert outstanding(tmp_path) == 50
        found = dict(collect_by(provider, tmp_path))
        assert len(found) == 50
        assert len(provider.batches.made) == 1
        assert once_each(provider)
        assert nothing_left(provider, tmp_path)


def test_a_batch_whose_making_was_not_confirmed_is_not_made_twice(tmp_path: Path) -> None:
    """The connection is cut after the provider has made the batch."""
    provider = FakeProvider()
    handle = provider.batches.handle
    cuts = iter([True])

    def cut(request: Any) -> Any:
        response = handle(request)
        if request.path == "/v1/batches" and request.method == "POST" and next(cuts, False):
            response.cut_at = 0
        return response

    provider.batches.handle = cut  # type: ignore[method-assign]
    with provider.running():
        assert len(dict(collect_by(provider, tmp_path, 5))) == 5
        assert len(provider.batches.made) == 1


# ---- money, keys, files


def test_the_budget_holds_back_what_would_pass_it(tmp_path: Path) -> None:
    with FakeProvider().running() as provider:
        trial = Budget(None, PRICE.batch_cost)
        dict(collect_by(provider, tmp_path / "trial", 1, budget=trial))
        budget = Budget(20.5 * trial.spent, PRICE.batch_cost, expected=trial.spent)
        found: dict[int, Reply] = {}
        with pytest.raises(Incomplete, match="has no room for another request"):
            found.update(collect_by(provider, tmp_path, budget=budget))
        assert len(found) == 20
        assert budget.spent <= 20.5 * trial.spent


def test_a_wrong_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "wrong")
    with FakeProvider().running() as provider, pytest.raises(MissingPart, match="401"):
        dict(collect_by(provider, tmp_path))


def test_a_server_without_batches(tmp_path: Path) -> None:
    provider = FakeProvider()
    provider.batches.handle = lambda _request: None  # type: ignore[method-assign]
    with provider.running(), pytest.raises(Incomplete, match="404: Unknown request URL"):
        dict(collect_by(provider, tmp_path))


def test_a_record_that_cannot_be_read_stops_it(tmp_path: Path) -> None:
    (tmp_path / BATCHES).mkdir()
    (tmp_path / BATCHES / "x.json").write_text("{}")
    with pytest.raises(StudyError, match=r"x\.json is no record of a batch"):
        outstanding(tmp_path)
    with FakeProvider().running() as provider, pytest.raises(StudyError):
        dict(collect_by(provider, tmp_path))


def test_batches_with_another_service_are_left_alone(tmp_path: Path) -> None:
    with FakeProvider(batches=Batches(polls=9)).running() as other:
        with pytest.raises(Closed):
            dict(collect_by(other, tmp_path, 5, on_state=close_the_lid))
        with FakeProvider().running() as provider:
            assert len(dict(collect_by(provider, tmp_path, 5))) == 5
        assert outstanding(tmp_path) == 5


def test_ids_depend_on_the_item_and_the_turn_alone() -> None:
    assert request_id("a", 0) == request_id("a", 0)
    assert len({request_id("a", 0), request_id("a", 1), request_id("b", 0)}) == 3
