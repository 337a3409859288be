"""The web application: routes, sessions and what each page shows.

Annotators and administrators hold a secret in a cookie, which their personal link sets. Everything
that touches the store runs in the event loop's thread, one request after the other; only decoding
pictures goes to threads.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import (
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Route

from contextbias.annotate.admin_pages import AdminPages
from contextbias.annotate.answering import Answering, Task
from contextbias.annotate.forms import form_of, given_of, script_data, whole_number
from contextbias.annotate.gate import Gate
from contextbias.annotate.pictures import SIZES, FindPicture, Pictures
from contextbias.annotate.questions import question
from contextbias.annotation_tables import AnswerRow
from contextbias.errors import ContextBiasError
from contextbias.ids import content_hash
from contextbias.schema import dimensions_of

_STATIC = {
    "answer.js": "text/javascript",
    "waiting.js": "text/javascript",
    "home.js": "text/javascript",
    "left.js": "text/javascript",
    "onward.js": "text/javascript",
    "page.css": "text/css",
    "icon.svg": "image/svg+xml",
}
_COHORTS = {
    "scene": "The scene",
    "camera": "The camera",
    "objects": "Objects",
    "people": "The main person (the most prominent figure)",
}


class Site(AdminPages):
    """The pages of one study.

    Args:
        answering: The study.
        find: Image id -> file.
        hosts: Host names under which the server is known; empty for any.
        public_url: Address of the server as annotators see it, without a slash at the end.
    """

    def __init__(
        self,
        answering: Answering,
        find: FindPicture,
        *,
        hosts: tuple[str, ...] = (),
        public_url: str = "",
    ) -> None:
        super().__init__(answering, public_url)
        self._pictures = Pictures(find)
        # Cookies know no ports, and browsers keep what waits for a server: two studies that are
        # served under one name must not take each other's.
        self._study = answering.plan.plan
        self.cookie = f"annotator-{self._study[:8]}"
        self.app = Starlette(
            routes=self._routes(),
            middleware=[Middleware(Gate, hosts=hosts, public_url=public_url)],
            exception_handlers={
                HTTPException: self._refused,
                ContextBiasError: self._refused_by_us,
            },
        )

    def _routes(self) -> list[Route]:
        get: list[tuple[str, Callable[[Request], Awaitable[Response]]]] = [
            ("/", self.home),
            ("/a/{token}", self.enter),
            ("/guidelines", self.guidelines),
            ("/next", self.next_item),
            ("/item/{position}", self.item),
            ("/item/{position}/answers", self.item_answers),
            ("/picture/{position}/{place}/{size}", self.picture),
            ("/admin", self.admin),
            ("/admin/do", self.back_to_admin),
            ("/admin/{token}", self.enter_admin),
            ("/static/{name}", self.static),
            ("/health", self.health),
        ]
        post = [
            ("/consent", self.consent),
            ("/answers", self.answer),
            ("/out", self.sign_out),
            ("/leave", self.leave),
            ("/admin/do", self.administer),
        ]
        return [Route(path, view) for path, view in get] + [
            Route(path, view, methods=["POST"]) for path, view in post
        ]

    # ---- who is there

    def _annotator(self, request: Request) -> str:
        row = self.answering.sign_in(request.cookies.get(self.cookie, ""))
        if row is None:
            raise HTTPException(403, "Open your personal link first. If it does not work any more, "
                                "ask whoever gave it to you for a new one.")  # fmt: skip
        return row.annotator

    async def enter(self, request: Request) -> Response:
        """A personal link: set the cookie, and take the secret out of the address."""
        token = request.path_params["token"]
        if self.answering.sign_in(token) is None:
            raise HTTPException(403, "This link does not work, or not any more. Ask whoever gave "
                                "it to you for a new one.")  # fmt: skip
        return self._with_cookie("/", self.cookie, token)

    # ---- pages of annotators

    async def home(self, request: Request) -> Response:
        """Consent first; then progress and where to go on."""
        name = self._annotator(request)
        plan = self.answering.plan
        progress = self.answering.progress(name)
        if not self.answering.has_agreed(name):
            text = str(plan.settings["consent"])
            paragraphs = [part.strip() for part in text.split("\n\n") if part.strip()]
            return self._page("consent.html.j2", name, progress=progress, paragraphs=paragraphs)
        training = sum(t.item.purpose == "training" for t in self.answering.tasks(name))
        return self._page(
            "home.html.j2", name, progress=progress, training=training, study=self._study
        )

    async def consent(self, request: Request) -> Response:
        """The text was agreed to."""
        name = self._annotator(request)
        if (await form_of(request)).get("agree") != "yes":
            raise HTTPException(400, "Nothing was agreed to.")
        self.answering.agree(name)
        return RedirectResponse("/guidelines", 303)

    async def guidelines(self, request: Request) -> Response:
        """What the questions mean."""
        name = self._annotator(request)
        asked = self.answering.questions
        cohorts = [
            (title, [question(d.name, "image") for d in dimensions_of(cohort) if d.name in asked])
            for cohort, title in _COHORTS.items()
        ]
        return self._page(
            "guidelines.html.j2",
            name,
            cohorts=[(title, found) for title, found in cohorts if found],
            section=self.answering.section,
        )

    async def next_item(self, request: Request) -> Response:
        """On to the next item with an open question."""
        name = self._annotator(request)
        after = whole_number(request.query_params.get("after", ""))
        position = self.answering.next_position(name, -1 if after is None else after)
        if position is None:
            return RedirectResponse("/", 303)
        return RedirectResponse(f"/item/{position}", 303)

    async def item(self, request: Request) -> Response:
        """One item with its questions; the script shows them one by one."""
        name = self._annotator(request)
        if not self.answering.has_agreed(name):
            return RedirectResponse("/", 303)
        task = self._task(request, name)
        tasks = self.answering.tasks(name)
        place = next(i for i, t in enumerate(tasks) if t is task)
        asked = [self.answering.question(d, task).as_json() for d in self.answering.questions]
        data = {
            "study": self._study,
            "annotator": name,
            "position": task.assignment.position,
            "kind": task.item.kind,
            "training": task.item.purpose == "training",
            "pictures": len(task.item.image_ids),
            "seal": self._seal(task),
            "seals": (seals := [self._seal(task, place) for place in range(len(task.images))]),
            "questions": asked,
            "answers": self._answers(name, task),
            "before": tasks[place - 1].assignment.position if place else None,
        }
        return self._page(
            "item.html.j2",
            name,
            progress=self.answering.progress(name),
            task=task,
            number=place + 1,
            numbers=len(tasks),
            number_of_questions=len(asked),
            seals=seals,
            data=script_data(data),
        )

    async def item_answers(self, request: Request) -> Response:
        """The newest answers about an item, for a window that was away."""
        name = self._annotator(request)
        task = self._task(request, name)
        if request.query_params.get("i") != self._seal(task):
            # Another link was opened in this browser: the window shows another annotator's item.
            return JSONResponse({"error": "other_annotator"}, 409)
        return JSONResponse(self._answers(name, task))

    async def picture(self, request: Request) -> Response:
        """One picture of an item of this annotator; others cannot be asked for.

        The address holds a seal of study, annotator, item and picture. Browsers keep pictures by
        their address: without it, the next person at the same browser would be shown these.
        """
        name = self._annotator(request)
        task = self._task(request, name)
        place, size = whole_number(request.path_params["place"]), request.path_params["size"]
        if place is None or place >= len(task.images) or size not in SIZES:
            raise HTTPException(404, "There is no such picture.")
        if request.query_params.get("i") != self._seal(task, place):
            raise HTTPException(404, "This address is of another item.")
        data = await run_in_threadpool(self._pictures.get, task.images[place], size)
        if data is None:
            raise HTTPException(404, "The picture cannot be read.")
        keep = {"cache-control": "private, max-age=3600"}
        return Response(data, media_type="image/webp", headers=keep)

    async def answer(self, request: Request) -> Response:
        """Take in one answer; it is on disk before this returns."""
        name = self._annotator(request)
        try:
            given, who = given_of(await request.json())
            if who != (self._study, name):
                # Another link was opened in this browser: the answer is not this annotator's.
                return JSONResponse({"error": "other_annotator"}, 409)
            task = self.answering.task(name, given.position)
            stored = self.answering.submit(name, given)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            return JSONResponse({"error": str(error)[:200]}, 422)
        except RecursionError:
            return JSONResponse({"error": "it is nested too deeply"}, 422)
        assert task is not None  # `submit` has refused what has no task
        counts = self.answering.answers(name, task)[given.dimension]
        return JSONResponse(
            {
                "version": counts.version,
                "conflict": stored.based_on != stored.version - 1,
                "feedback": self.answering.feedback(task, stored),
                # The answer of another window or device that was given later, and so counts.
                "instead": None if counts.key == stored.key else self._answer(task, counts),
            }
        )

    async def sign_out(self, request: Request) -> Response:
        """Forget in this browser who answers here; the link opens it again."""
        self._annotator(request)
        response = self._page("out.html.j2", None)
        response.delete_cookie(self.cookie)
        response.headers["clear-site-data"] = '"cache"'
        return response

    async def leave(self, request: Request) -> Response:
        """The annotator wants to be removed, with all answers.

        The page that says so deletes what the browser keeps of this annotator. The header alone
        would take what waits there of others, and works over https only.
        """
        name = self._annotator(request)
        if (await form_of(request)).get("sure") != "yes":
            raise HTTPException(400, "Tick the box to confirm; nothing was removed.")
        number = self.answering.remove(name)
        response = self._page("left.html.j2", None, number=number, gone=f"{self._study}:{name}")
        response.delete_cookie(self.cookie)
        response.headers["clear-site-data"] = '"cache"'
        return response

    # ---- the rest

    async def static(self, request: Request) -> Response:
        """Script, style and icon."""
        name = request.path_params["name"]
        if name not in _STATIC:
            raise HTTPException(404, "There is no such file.")
        data = files("contextbias.annotate").joinpath(f"static/{name}").read_bytes()
        keep = {"cache-control": "private, max-age=300"}
        return Response(data, media_type=_STATIC[name], headers=keep)

    async def health(self, _: Request) -> Response:
        """Whether the server answers; says nothing else."""
        return PlainTextResponse("ok")

    def _task(self, request: Request, name: str) -> Task:
        if not self.answering.has_agreed(name):
            raise HTTPException(403, "Open your personal link and agree to take part first.")
        position = whole_number(request.path_params["position"])
        task = None if position is None else self.answering.task(name, position)
        if task is None:
            raise HTTPException(404, "There is no such page.")
        return task

    def _seal(self, task: Task, place: int | None = None) -> str:
        """Which item, or picture of it, of which annotator and study; it says nothing else."""
        row = task.assignment
        image = None if place is None else task.images[place]
        return content_hash([self._study, row.annotator, row.item, row.repeat, image])[:12]

    def _answers(self, name: str, task: Task) -> dict[str, Any]:
        found = self.answering.answers(name, task)
        return {dimension: self._answer(task, row) for dimension, row in found.items()}

    def _answer(self, task: Task, row: AnswerRow) -> dict[str, Any]:
        return {
            "labels": row.labels,
            "reason": row.missing_reason,
            "count": row.count,
            "version": row.version,
            "feedback": self.answering.feedback(task, row),
        }

    async def _refused(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if request.headers.get("accept", "").startswith("application/json"):
            return JSONResponse({"error": error.detail}, error.status_code)
        return self._page("refused.html.j2", None, status=error.status_code, text=str(error.detail))

    async def _refused_by_us(self, request: Request, error: Exception) -> Response:
        """The store cannot be written, for example: the page keeps the answer and tries again."""
        if "text/html" in request.headers.get("accept", ""):
            text = "The answers' file cannot be written now. Nothing was changed; try again later."
            return self._page("refused.html.j2", None, status=503, text=text)
        return JSONResponse({"error": str(error)}, 503)
