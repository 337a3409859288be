"""Files and batches of the fake provider, with everything that real ones do to their results."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any

from tests.provider.http import Request, Response, error

Ask = Callable[[dict[str, Any], str], tuple[int, dict[str, Any]]]


@dataclass
class Batches:
    """Limits, and what goes wrong.

    Args:
        most_requests: Of one file.
        most_bytes: Of one file.
        most_tokens: Enqueued over all unfinished batches; more makes a batch fail, later.
        polls: How often a batch has to be looked at until it is done.
        duplicate: Share of results that come twice.
        shuffle: Results come in another order.
        expire: Share of requests of a batch that are not answered in time; of the first
            `expire_first` batches only.
        fail_first: So many batches fail as a whole.
        fail_lines: So many requests of a batch are answered with a 500 in the error file.
    """

    most_requests: int = 50_000
    most_bytes: int = 200_000_000
    most_tokens: int | None = None
    polls: int = 1
    duplicate: float = 0.0
    shuffle: bool = True
    expire: float = 0.0
    expire_first: int = 1
    fail_first: int = 0
    fail_lines: int = 0
    seed: int = 0

    files: dict[str, bytes] = field(default_factory=dict)
    made: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.ask: Ask = lambda _body, _batch: (500, {})
        self.uploads: list[int] = []
        """Requests of each file that was uploaded as input."""
        self.names: dict[str, str] = {}
        """Name of each file that was uploaded."""
        self.looks: dict[str, int] = {}
        """How often each batch was looked at."""
        self._random = random.Random(self.seed)

    def handle(self, request: Request) -> Response | None:
        """Answer a request below /v1/files or /v1/batches; None for any other."""
        parts = request.path.removeprefix("/v1/").split("/")
        match request.method, parts:
            case "POST", ["files"]:
                return self._upload(request)
            case "GET", ["files"]:
                data = [self._file(name) for name in self.files]
                return Response.of({"object": "list", "data": data, "has_more": False})
            case "GET", ["files", name, "content"] if name in self.files:
                return Response(200, self.files[name], {"content-type": "application/jsonl"})
            case "GET", ["files", name] if name in self.files:
                return Response.of(self._file(name))
            case "DELETE", ["files", name] if name in self.files:
                del self.files[name]
                return Response.of({"id": name, "object": "file", "deleted": True})
            case "POST", ["batches"]:
                return self._create(request.json())
            case "GET", ["batches"]:
                return self._page(request, list(reversed(self.made.values())))
            case "GET", ["batches", name] if name in self.made:
                return Response.of(self._look(name))
            case "POST", ["batches", name, "cancel"] if name in self.made:
                self.made[name]["status"] = "cancelled"
                return Response.of(self.made[name])
        if parts[0] in ("files", "batches"):
            return error(404, f"No such object: {request.path}")
        return None

    def _page(self, request: Request, data: list[dict[str, Any]]) -> Response:
        """A page of a list, of at most a hundred."""
        ids = [each["id"] for each in data]
        start = ids.index(request.query["after"]) + 1 if "after" in request.query else 0
        size = min(100, int(request.query.get("limit", 20)))
        page = data[start : start + size]
        return Response.of({"object": "list", "data": page, "has_more": start + size < len(data)})

    def _file(self, name: str) -> dict[str, Any]:
        return {
            "id": name, "object": "file", "bytes": len(self.files[name]),
            "created_at": int(time.time()), "filename": self.names.get(name, "output.jsonl"),
            "purpose": "batch", "status": "processed",
        }  # fmt: skip

    def _upload(self, request: Request) -> Response:
        head = f"content-type: {request.headers['content-type']}\r\n\r\n".encode()
        form = BytesParser(policy=HTTP).parsebytes(head + request.body)
        parts, filename = {}, "input.jsonl"
        for part in form.iter_parts():
            name = str(part.get_param("name", header="content-disposition"))
            parts[name] = part.get_payload(decode=True)
            filename = part.get_filename(filename)
        if parts.get("purpose") != b"batch":
            return error(400, "purpose must be batch", param="purpose")
        data = parts["file"]
        if not isinstance(data, bytes) or len(data) > self.most_bytes:
            return error(400, "File is too large")
        name = f"file-{len(self.uploads)}"
        self.uploads.append(data.count(b"\n"))
        self.files[name], self.names[name] = data, filename
        return Response.of(self._file(name))

    def _create(self, body: dict[str, Any]) -> Response:
        source = body.get("input_file_id")
        if body.get("endpoint") != "/v1/chat/completions" or source not in self.files:
            return error(400, "Invalid batch", param="input_file_id")
        if body.get("completion_window") != "24h":
            return error(400, "Invalid value: completion_window")
        name = f"batch_{len(self.made)}"
        lines = [json.loads(line) for line in self.files[source].splitlines()]
        self.made[name] = {
            "id": name, "object": "batch", "endpoint": body["endpoint"], "input_file_id": source,
            "completion_window": "24h", "status": "validating", "errors": None,
            "created_at": int(time.time()),
            "output_file_id": None, "error_file_id": None, "metadata": body.get("metadata"),
            "request_counts": {"total": len(lines), "completed": 0, "failed": 0},
        }  # fmt: skip
        fault = self._fault(name, lines)
        if fault is not None:
            # As with the real ones, a batch fails after it was accepted.
            self.made[name]["then"] = fault
        return Response.of(self.made[name])

    def _fault(self, name: str, lines: list[dict[str, Any]]) -> tuple[str, str] | None:
        if len(lines) > self.most_requests:
            return "too_many_tasks", "The batch file has too many requests"
        ids = [line["custom_id"] for line in lines]
        if len(set(ids)) != len(ids):
            return "duplicate_custom_id", "The custom_id of a request is not unique"
        if len(self.made) <= self.fail_first:
            return "server_error", "The batch could not be processed"
        mine = self._tokens(lines)
        if self.most_tokens is not None:
            others = sum(
                each.get("tokens", 0)
                for each in self.made.values()
                if each["status"] in ("validating", "in_progress")
            )
            if others + mine > self.most_tokens:
                said = f"Enqueued token limit reached. Limit: {self.most_tokens:,} enqueued tokens"
                return "token_limit_exceeded", said
        self.made[name]["tokens"] = mine
        return None

    def _tokens(self, lines: list[dict[str, Any]]) -> int:
        return sum(len(json.dumps(line["body"])) // 4 for line in lines)

    def _look(self, name: str) -> dict[str, Any]:
        batch = self.made[name]
        if batch["status"] not in ("validating", "in_progress"):
            return batch
        if "then" in batch:
            code, message = batch.pop("then")
            batch["status"] = "failed"
            batch["errors"] = {"object": "list", "data": [{"code": code, "message": message}]}
            return batch
        self.looks[name] = self.looks.get(name, 0) + 1
        batch["status"] = "in_progress"
        if self.looks[name] > self.polls:
            self._finish(batch)
        return batch

    def _finish(self, batch: dict[str, Any]) -> None:
        lines = [json.loads(line) for line in self.files[batch["input_file_id"]].splitlines()]
        output, errors = [], []
        expires = self.expire if int(batch["id"].partition("_")[2]) < self.expire_first else 0.0
        for index, line in enumerate(lines):
            if self._random.random() < expires:
                fault = {"code": "batch_expired", "message": "not executed before it expired"}
                errors.append({"custom_id": line["custom_id"], "response": None, "error": fault})
                continue
            if index < self.fail_lines:
                status, body = 500, {"error": {"message": "The server had an error"}}
            else:
                status, body = self.ask(line["body"], batch["id"])
            response = {"status_code": status, "request_id": f"req_{index}", "body": body}
            found = {"custom_id": line["custom_id"], "response": response, "error": None}
            (output if status == 200 else errors).append(found)
        output += [each for each in output if self._random.random() < self.duplicate]
        if self.shuffle:
            self._random.shuffle(output)
        batch["status"] = "expired" if expires else "completed"
        for key, found_lines in (("output_file_id", output), ("error_file_id", errors)):
            if found_lines:
                file = f"{batch['id']}-{key}"
                self.files[file] = "".join(json.dumps(each) + "\n" for each in found_lines).encode()
                batch[key] = file
        counts = {"completed": len(output), "failed": len(errors), "total": len(lines)}
        batch["request_counts"] = counts
