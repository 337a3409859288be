"""Batches that get lost on the way: killed runs, forgetful providers, queues that others fill."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.provider import Batches, FakeProvider
from tests.providers.test_batch import (
    PRICE,
    Killed,
    close_the_lid,
    collect_by,
    killed,
    killed_at_confirming,
    nothing_left,
    once_each,
)

from contextbias.errors import Incomplete
from contextbias.files import BATCHES
from contextbias.providers import Budget, Reply, batch_service, outstanding
from contextbias.providers.batch_records import Records


def lid_closed(provider: FakeProvider, folder: Path, **given: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        dict(collect_by(provider, folder, on_state=close_the_lid, **given))


@pytest.mark.parametrize("what", ["batch", "answers"])
def test_what_the_provider_forgot_is_not_paid_again_without_a_word(
    tmp_path: Path, what: str
) -> None:
    with FakeProvider(batches=Batches(polls=3)).running() as provider:
        lid_closed(provider, tmp_path, batch_requests=20)
        assert len(provider.batches.made) == 3
        if what == "batch":
            del provider.batches.made["batch_1"]
        else:
            download = provider.batches.handle

            def gone(request: Any) -> Any:
                provider.batches.files.pop("batch_1-output_file_id", None)
                return download(request)

            provider.batches.handle = gone  # type: ignore[method-assign]
        found: dict[int, Reply] = {}
        said = "batch_1 at .*, with 20 requests of .*, cannot be collected"
        with pytest.raises(Incomplete, match=said) as error:
            found.update(collect_by(provider, tmp_path))
        assert len(found) == 30  # the others' answers
        assert outstanding(tmp_path) == 20
        # What the message says to do does it.
        Path(error.value.fix.rsplit("delete ", 1)[1]).unlink()
        found.update(collect_by(provider, tmp_path))
        assert sorted(found) == list(range(50))
        assert outstanding(tmp_path) == 0


def test_a_batch_is_found_behind_hundreds_of_others(tmp_path: Path) -> None:
    """The key is used by others, too, and the provider lists a hundred at a time."""
    with FakeProvider().running() as provider:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Records, "keep", killed_at_confirming)
            with pytest.raises(Killed):
                dict(collect_by(provider, tmp_path, 5))
        (mine,) = provider.batches.made.values()
        for number in range(1, 250):
            name = f"batch_{number}"
            provider.batches.made[name] = {**mine, "id": name, "metadata": None}
        assert len(dict(collect_by(provider, tmp_path, 5))) == 5
        assert len(provider.batches.made) == 250
        assert once_each(provider)


def test_an_upload_that_was_not_confirmed_is_deleted(tmp_path: Path) -> None:
    with FakeProvider().running() as provider:
        with pytest.MonkeyPatch.context() as patch:
            upload = batch_service.Service.upload

            def unconfirmed(self: Any, path: Path) -> str:
                upload(self, path)
                raise Killed

            patch.setattr(batch_service.Service, "upload", unconfirmed)
            with pytest.raises(Killed):
                dict(collect_by(provider, tmp_path, 5))
        assert list(provider.batches.files) == ["file-0"]
        assert len(dict(collect_by(provider, tmp_path, 5))) == 5
        assert nothing_left(provider, tmp_path)
        assert once_each(provider)


@pytest.mark.parametrize("moment", ["download", "keep", "delete"])
def test_a_kill_while_a_batch_is_taken_in_loses_and_leaves_nothing(
    tmp_path: Path, moment: str
) -> None:
    where = {
        "download": (batch_service.Service, "download"),
        "keep": (Records, "keep_answers"),
        "delete": (batch_service.Service, "delete"),
    }
    with FakeProvider().running() as provider:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(*where[moment], killed)
            with pytest.raises(Killed):
                dict(collect_by(provider, tmp_path))
        assert outstanding(tmp_path) == 50
        assert len(dict(collect_by(provider, tmp_path))) == 50
        assert once_each(provider)
        assert nothing_left(provider, tmp_path)


def test_a_queue_that_another_study_fills_is_said(tmp_path: Path) -> None:
    """Two studies with one key: the limit of enqueued tokens is the account's."""
    with FakeProvider(batches=Batches(polls=10**6)).running() as provider:
        lid_closed(provider, tmp_path / "a")
        provider.batches.most_tokens = provider.batches.made["batch_0"]["tokens"]
        with pytest.raises(Incomplete, match="not even one request") as error:
            dict(collect_by(provider, tmp_path / "b", 3))
        assert "another study's" in error.value.fix
        provider.batches.polls = 0
        assert len(dict(collect_by(provider, tmp_path / "a"))) == 50
        assert len(dict(collect_by(provider, tmp_path / "b", 3))) == 3
        assert list((tmp_path / "b" / BATCHES).iterdir()) == []


def test_answers_with_the_same_id_and_another_text_count_once(tmp_path: Path) -> None:
    """The first is kept; ids that are not ours are passed over."""
    with FakeProvider().running() as provider:
        download = batch_service.Service.download

        def odd(self: Any, file_id: str) -> bytes | None:
            data = download(self, file_id) or b""
            other = data.replace(b"calm", b"odd!").replace(b"tense", b"odd!")
            stranger = data.splitlines()[0].replace(b'"custom_id": "', b'"custom_id": "x')
            return stranger + b"\n" + data + other + b"\nno json\n[1]\n"

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(batch_service.Service, "download", odd)
            found = dict(collect_by(provider, tmp_path))
    assert len(found) == 50
    assert not any("odd!" in str(reply.text) for reply in found.values())


def test_a_service_without_batches_says_what_to_leave_out(tmp_path: Path) -> None:
    provider = FakeProvider()
    provider.batches.handle = lambda _request: None  # type: ignore[method-assign]
    with provider.running(), pytest.raises(Incomplete) as error:
        dict(collect_by(provider, tmp_path))
    assert error.value.fix.startswith("leave batches out if this service has none")


def test_batches_of_other_items_hold_up_no_pause(tmp_path: Path) -> None:
    """Nor do those that are lost: what this run asks for is not in them."""
    with FakeProvider(batches=Batches(polls=10**6)).running() as provider:
        lid_closed(provider, tmp_path, batch_requests=25)
        del provider.batches.made["batch_0"]
        price = PRICE.batch_cost
        budget = Budget(0.01, price, spent=0.01, expected=0.001)
        with pytest.raises(Incomplete, match="has no room for another request"):
            dict(collect_by(provider, tmp_path, key=lambda item: f"other {item}", budget=budget))
        provider.batches.polls = 0
        found = dict(collect_by(provider, tmp_path, 3, key=lambda item: f"other {item}"))
        assert len(found) == 3


def test_a_lost_batch_of_other_items_takes_no_room(tmp_path: Path) -> None:
    with FakeProvider(batches=Batches(polls=10**6)).running() as provider:
        lid_closed(provider, tmp_path)
        limit = provider.batches.made.pop("batch_0")["tokens"]
        provider.batches.polls = 0
        found = dict(
            collect_by(provider, tmp_path, 3, key=lambda i: f"other {i}", batch_tokens=limit)
        )
        assert len(found) == 3
