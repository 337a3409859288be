"""Requests into batches, batches to the provider and back: as many as limits and budget allow."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, BinaryIO

from contextbias.errors import Incomplete
from contextbias.ids import content_hash
from contextbias.providers.batch_records import BACK, SENDING, SENT, Record, Records, lines_of
from contextbias.providers.batch_service import Remote, Service
from contextbias.providers.budget import Budget
from contextbias.providers.connection import Connection

_TOKENS = 1000
# Of a request that does not say how many it is expected to use.
_MOST_FAILURES = 2
# Batches that fail as a whole in a row: then the cause is not in them.


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Of one file of requests, and of everything that is enqueued."""

    requests: int
    """Of one file."""
    size: int
    """Bytes of one file."""
    tokens: int | None
    """Enqueued, over all batches; None: not known."""


@dataclass(slots=True)
class _Spool:
    """The file of requests that is being written."""

    name: str
    handle: BinaryIO
    endpoint: str
    ids: list[str]
    tokens: int = 0
    size: int = 0


class Sender:
    """Batches of one service.

    Args:
        records: What is on disk.
        connection: The service.
        limits: Of batches.
        budget: How much may be spent; None: as much as it takes.
    """

    def __init__(
        self, records: Records, connection: Connection, limits: Limits, budget: Budget | None
    ) -> None:
        self._records, self._limits, self._budget = records, limits, budget
        self._base_url = connection.base_url
        self._service = Service(connection)
        self._spool: _Spool | None = None
        self._most_a_batch = math.inf
        self._failures = 0
        self.over_budget = False
        """The budget has no room for another request."""
        self.is_full = False
        """Nothing more can be sent until something is back."""
        self.lost: dict[str, str] = {}
        """Names of batches that cannot be collected, and why: the provider has nothing of them."""

    def close(self) -> None:
        """Forget what was not sent yet."""
        self._discard()
        self._service.close()

    def settle(self) -> None:
        """End what a killed run had begun: batches about to be made, or just made; files that are
        still with the provider although the answers are here."""
        for record in list(self._records.open.values()):
            if record.state == BACK and record.input_id is not None:
                remote = self._service.look(str(record.batch_id))
                self._clean_up(record, remote)
            if record.state != SENDING:
                continue
            remote = self._service.find(record.name, _seconds(record.sent_at))
            if remote is not None:
                self._records.keep(replace(record, state=SENT, batch_id=remote.batch_id))
                continue
            if record.input_id is not None:
                self._service.delete(record.input_id)
            else:
                self._service.delete_upload(self._records.input_path(record.name))
            self._records.drop(record)

    def under_way(self) -> set[str]:
        """Requests that are with the provider, or about to go there."""
        return self._records.away() | set(self._spool.ids if self._spool else ())

    def waits_for(self, ids: set[str]) -> bool:
        """Whether the answer to one of these requests can still come back."""
        return any(
            record.state == SENT and name not in self.lost and not ids.isdisjoint(record.ids)
            for name, record in self._records.open.items()
        )

    def add(self, custom_id: str, path: str, body: bytes, tokens: float) -> bool:
        """Put a request into the next batch; False, and not put, where there is no room."""
        line = _line(custom_id, f"/v1{path}", body)
        count = int(tokens) or _TOKENS
        if not self._has_room(count):
            self.is_full = True
            return False
        spool = self._spool
        if spool is not None and (
            len(spool.ids) >= self._limits.requests
            or spool.size + len(line) > self._limits.size
            or spool.tokens + count > self._most_a_batch
        ):
            self.flush()
        spool = self._spool or self._begin(f"/v1{path}")
        spool.handle.write(line)
        spool.ids.append(custom_id)
        spool.tokens += count
        spool.size += len(line)
        return True

    def flush(self) -> None:
        """Send what was put in; written down before, between and after the two steps of it.

        Raises:
            Incomplete: The provider refuses it.
        """
        spool, self._spool = self._spool, None
        if spool is None:
            return
        spool.handle.close()
        path = self._records.input_path(spool.name)
        record = Record(
            name=spool.name,
            state=SENDING,
            base_url=self._base_url,
            ids=tuple(spool.ids),
            tokens=spool.tokens,
            sent_at=_now(),
        )
        self._records.keep(record)
        # Where one of these fails, the next run finds out whether a batch was made (settle).
        record = replace(record, input_id=self._service.upload(path))
        self._records.keep(record)
        remote = self._service.create(str(record.input_id), spool.endpoint, spool.name)
        self._records.keep(replace(record, state=SENT, batch_id=remote.batch_id))
        path.unlink(missing_ok=True)

    def collect(self) -> list[str]:
        """Take in the answers of batches that are over.

        Returns:
            Requests that were not taken at all, since too many tokens were enqueued.

        Raises:
            Incomplete: Batch after batch fails as a whole.
        """
        not_taken: list[str] = []
        for record in list(self._records.open.values()):
            if record.state != SENT or record.name in self.lost:
                continue
            remote = self._service.look(str(record.batch_id))
            if remote is None:
                self.lost[record.name] = "the provider does not know it"
            elif remote.is_over and self._take_in(record, remote):
                self.is_full = False
                not_taken += record.ids if remote.too_many_tokens else ()
        return not_taken

    def refuse_lost(self, ids: set[str]) -> None:
        """End a run that could only go on by paying again, which is for the user to decide.

        Args:
            ids: Requests without an answer.

        Raises:
            Incomplete: Some of them are in a batch that cannot be collected.
        """
        for name, why in self.lost.items():
            record = self._records.open[name]
            if not ids.isdisjoint(record.ids):
                raise Incomplete(
                    f"{record.batch_id} at {self._base_url}, with {len(record.ids):,} requests of "
                    f"{record.sent_at}, cannot be collected: {why}",
                    "take the key and the project that it was sent with; or give it up, and pay "
                    f"for its requests again: delete {self._records.path(name)}",
                )

    def _take_in(self, record: Record, remote: Remote) -> bool:
        """Keep the answers of a batch that is over; False where they are gone."""
        lines: list[bytes] = []
        for file in (remote.output, remote.errors):
            data = None if file is None else self._service.download(file)
            if data is None and file is not None and file == remote.output:
                self.lost[record.name] = f"its answers ({file}) are not there any more"
                return False
            lines += _answers(data or b"")
        if lines:
            back = self._records.keep_answers(record, lines, remote.reason or remote.status)
            self._failures = 0
            # Only now, with the answers on disk.
            self._clean_up(back, remote)
        else:
            self._clean_up(record, remote)
            self._records.drop(record)
            # Last, since it may end the run: the next one is not to find this batch again.
            self._failed(record, remote)
        return True

    def _clean_up(self, record: Record, remote: Remote | None) -> None:
        """Delete a batch's files at the provider; the record then says so."""
        output, errors = (None, None) if remote is None else (remote.output, remote.errors)
        for file in (output, errors, record.input_id):
            if file is not None:
                self._service.delete(file)
        self._records.keep(replace(record, input_id=None))

    def _failed(self, record: Record, remote: Remote) -> None:
        if not remote.too_many_tokens:
            self._failures += remote.status != "expired"
            if self._failures > _MOST_FAILURES:
                raise Incomplete(
                    f"batches fail at {self._base_url}: {remote.reason or remote.status}",
                    "correct the cause and run again; only what is missing will be sent",
                )
            return
        others = sum(
            each.tokens for each in self._records.open.values()
            if each.state == SENT and each.name != record.name and each.name not in self.lost
        )  # fmt: skip
        if others:
            most = others + record.tokens // 2
            self._limits = replace(self._limits, tokens=min(most, remote.token_limit or most))
        elif len(record.ids) == 1:
            raise Incomplete(
                f"{self._base_url} enqueues not even one request: {remote.reason}",
                "run again when other batches of this account are back (another study's, perhaps), "
                "or ask the provider for a higher limit of enqueued tokens",
            )
        else:
            self._most_a_batch = max(1, record.tokens // 2)
            self._limits = replace(self._limits, tokens=int(self._most_a_batch))

    def _has_room(self, tokens: int) -> bool:
        away = [each for each in self._records.open.values() if each.state == SENT]
        spooled = self._spool.ids if self._spool else []
        if self._budget is not None:
            under_way = sum(len(each.ids) for each in away) + len(spooled)
            if not self._budget.allows(under_way, on_average=True):
                self.over_budget = True
                return False
        limit = self._limits.tokens
        enqueued = self._spool.tokens if self._spool else 0
        # What is lost may have been charged, but is in no queue: nothing of it will come back.
        enqueued += sum(each.tokens for each in away if each.name not in self.lost)
        # A single request above the limit is left to the provider to refuse.
        return limit is None or not enqueued or enqueued + tokens <= limit

    def _begin(self, endpoint: str) -> _Spool:
        number = len(self._records.open)
        name = f"{datetime.now(UTC):%Y%m%d-%H%M%S-%f}-{number}"
        name = f"{name}-{content_hash([name, self._base_url], length=6)}"
        path = self._records.input_path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._spool = _Spool(name, path.open("wb"), endpoint, [])
        return self._spool

    def _discard(self) -> None:
        if self._spool is not None:
            self._spool.handle.close()
            self._records.input_path(self._spool.name).unlink(missing_ok=True)
            self._spool = None


def _line(custom_id: str, url: str, body: bytes) -> bytes:
    # The body is encoded already, and large.
    head = json.dumps({"custom_id": custom_id, "method": "POST", "url": url})
    return head[:-1].encode() + b', "body": ' + body + b"}\n"


def _answers(data: bytes) -> Iterator[bytes]:
    """The lines that are answers: not those of requests that expired, or failed for a while."""
    for line in lines_of(data):
        try:
            response: Any = json.loads(line).get("response")
        except (ValueError, AttributeError, RecursionError):
            continue
        status = response.get("status_code") if isinstance(response, dict) else None
        if isinstance(status, int) and status < 500 and status not in (408, 409, 429):
            yield line


def _seconds(moment: str) -> float:
    """Since 1970; `moment` as `_now` gives it, or nothing known."""
    return datetime.fromisoformat(moment).timestamp() if moment else 0.0


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
