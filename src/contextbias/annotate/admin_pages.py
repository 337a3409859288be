"""The administrator's page: who takes part, what came of it; and how a page is made."""

from __future__ import annotations

import hmac
import secrets
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from contextbias.annotate.administration import overview_of
from contextbias.annotate.answering import Answering
from contextbias.annotate.forms import form_of, whole_number
from contextbias.annotate.invitation import (
    Invited,
    invite,
    new_link,
    nothing_for,
    revoke,
    token_hash,
)
from contextbias.errors import InputError

_YEAR = 365 * 24 * 3600
_MOST_NOTES = 20
# What the administrator did and has not yet been shown; older ones are dropped.


class AdminPages:
    """What the administrator sees and does.

    Args:
        answering: The study.
        public_url: Address of the server as annotators see it, without a slash at the end.
    """

    def __init__(self, answering: Answering, public_url: str) -> None:
        self.answering = answering
        self.public_url = public_url
        self.admin_token = secrets.token_urlsafe(24)
        self._admin_hash = token_hash(self.admin_token)
        self._notes: dict[str, tuple[str, list[Invited]]] = {}
        self.admin_cookie = f"administrator-{answering.plan.plan[:8]}"
        self._secure = public_url.startswith("https:")
        self._pages = Environment(
            loader=PackageLoader("contextbias.annotate"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def _check_admin(self, request: Request) -> None:
        given = token_hash(request.cookies.get(self.admin_cookie, ""))
        if not hmac.compare_digest(given, self._admin_hash):
            raise HTTPException(403, "This page needs the administrator's link, which the server "
                                "prints when it starts.")  # fmt: skip

    async def enter_admin(self, request: Request) -> Response:
        """The administrator's link."""
        token = request.path_params["token"]
        if not hmac.compare_digest(token_hash(token), self._admin_hash):
            raise HTTPException(403, "This link is of an earlier start of the server.")
        return self._with_cookie("/admin", self.admin_cookie, token)

    def _with_cookie(self, where: str, name: str, token: str) -> Response:
        response = RedirectResponse(where, 303)
        response.set_cookie(
            name, token, max_age=_YEAR, httponly=True, samesite="lax", secure=self._secure
        )
        return response

    async def admin(self, request: Request) -> Response:
        """Progress and quality; and once, after something was done, what came of it."""
        self._check_admin(request)
        said, invited = self._notes.pop(request.query_params.get("note", ""), ("", []))
        return await self._admin_page(request, said=said, invited=invited)

    async def back_to_admin(self, _: Request) -> Response:
        """The address of the administrator's forms, opened by hand."""
        return RedirectResponse("/admin", 303)

    async def administer(self, request: Request) -> Response:
        """Invite, give a new link, revoke or remove.

        Answers with another address, so that a reload of the page does not do it again.
        """
        self._check_admin(request)
        form = await form_of(request)
        what, name = form.get("what", ""), form.get("annotator", "")
        book = self.answering.book
        invited: list[Invited] = []
        try:
            said = ""
            if what == "invite":
                invited = invite(book, whole_number(form.get("number", "")) or 0)
                said = nothing_for(book, [one.annotator for one in invited])
            elif what == "link":
                invited = [new_link(book, name)]
            elif what == "revoke":
                revoke(book, name)
                said = f"The link of {name} works no more; the answers stay."
            elif what == "remove":
                if form.get("sure") != name:
                    raise InputError("the name was not repeated", "nothing was removed")
                number_removed = self.answering.remove(name)
                said = f"Removed, with {_counted(number_removed, 'answer')}."
            else:
                raise InputError(f"{what!r} is nothing to do", "use the buttons")
        except InputError as error:
            return await self._admin_page(request, said=str(error), status=400)
        self.answering.refresh()
        note = secrets.token_urlsafe(12)
        self._notes[note] = (said, invited)
        while len(self._notes) > _MOST_NOTES:
            del self._notes[next(iter(self._notes))]
        return RedirectResponse(f"/admin?note={note}", 303)

    async def _admin_page(
        self,
        request: Request,
        said: str = "",
        invited: list[Invited] | None = None,
        status: int = 200,
    ) -> Response:
        base = self.public_url or str(request.base_url).rstrip("/")
        links = [(one.annotator, f"{base}/a/{one.token}") for one in invited or ()]
        return self._page(
            "admin.html.j2",
            None,
            status=status,
            view=await run_in_threadpool(overview_of, self.answering.book.root),
            said=said,
            links=links,
        )

    def _page(
        self, template: str, name: str | None, *, status: int = 200, **values: Any
    ) -> HTMLResponse:
        text = self._pages.get_template(template).render(
            annotator=name, contact=self.answering.section.contact, counted=_counted, **values
        )
        return HTMLResponse(text, status)


def _counted(number: int, word: str) -> str:
    """``1 minute``, ``2,000 answers``."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"
