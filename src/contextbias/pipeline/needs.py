"""What a study needs on this machine, and whether it is there: the second half of the doctor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from contextbias import engines
from contextbias.config import BackendSection
from contextbias.engines.devices import seats_of
from contextbias.errors import ContextBiasError
from contextbias.pipeline.options import Options
from contextbias.pipeline.selection import Wanted
from contextbias.pipeline.workload import workload
from contextbias.places import place_at
from contextbias.providers.connection import OPENAI_KEY, Connection
from contextbias.registry import load_reader
from contextbias.schema import DIMENSIONS
from contextbias.store import Study

_KNOCK = 3.0  # seconds that a server has to answer
_WANTS_A_KEY = (401, 403)


class Need(NamedTuple):
    """Something that has to be there; what a backend's ``requirements()`` lists."""

    what: str
    """What it is."""
    ok: bool
    """Whether it is there, and as it should be."""
    found: str
    """What was seen."""
    fix: str = ""
    """What to do, when it is not ok."""


def needs(study: Study) -> Iterator[Need]:
    """Look at everything that a run of the study will ask for, and start nothing.

    The network is used only for servers that study.toml names by ``base_url``: one short request
    each.

    Args:
        study: The study.
    """
    wanted, config = Wanted(study), study.config
    yield from _of_the_engine(study)
    for section in wanted.drawn:
        yield from _of_backend("generator", section, partial(wanted.backend_of, section))
    for section in config.readers:
        yield from _of_backend(
            "reader", section, partial(load_reader, section.backend, dict(section.options))
        )
    yield from _of_the_labels(study)
    yield from _of_servers(study)
    yield from _of_the_work(wanted)


def _of_the_engine(study: Study) -> Iterator[Need]:
    run = study.config.run
    chosen = Options().engine_of(run)
    if chosen.kind == "ray":
        yield _tried("engine ray", f"cluster: {chosen.address}", lambda: engines.check(chosen))
    elif chosen.devices is not None:
        devices = chosen.devices
        yield _tried("GPUs", ", ".join(devices) or "none wanted", lambda: seats_of(devices))
    if (place := run.images) is not None:
        yield _tried("place of images", place, lambda: place_at(place, study.root))


def _of_backend(kind: str, section: BackendSection, load: Callable[[], Any]) -> Iterator[Need]:
    what = f"{kind} {section.name}"
    try:
        backend = load()
        listed = backend.requirements() if hasattr(backend, "requirements") else []
        found = f"backend {section.backend}"
        if kind == "reader":
            found += f"; reads {len(backend.readable())} of {len(DIMENSIONS)} dimensions"
    except ContextBiasError as error:
        yield Need(what, False, error.problem, error.fix)
        return
    yield Need(what, True, found)
    for each in listed:
        need = Need(*each)
        yield need._replace(what=f"  {need.what}", fix="" if need.ok else need.fix)


def _of_the_labels(study: Study) -> Iterator[Need]:
    """The encoder that groups terms, and the language model that names the groups."""
    section = study.config.canonicalise
    method = section.groups if section.mapping == "model" else section.mapping
    if method == "cluster":
        from contextbias.canonicalise.encoder import WEIGHTS
        from contextbias.weights.cache import require

        yield _tried("labels: encoder", "its weights are there", partial(require, WEIGHTS))
    if section.mapping == "model":
        yield from _of_the_naming_model(section.model)


def _of_the_naming_model(options: dict[str, Any]) -> Iterator[Need]:
    from contextbias.llm.served import ServedModel

    what = "labels: model"
    try:
        served = ServedModel(options, where="[canonicalise] model")
    except ContextBiasError as error:
        yield Need(what, False, error.problem, error.fix)
        return
    name, ending = served.options.model, served.profile.ending()
    found = name if ending is None else f"{name}, which {ending}"
    soon = served.profile.ends_soon()
    yield Need(what, not soon, found, "name the labels before, or take another" if soon else "")
    for each in served.requirements():
        need = Need(*each)
        yield need._replace(what=f"  {need.what}")


def _of_servers(study: Study) -> Iterator[Need]:
    config = study.config
    listed = [section.options for section in (*config.generators, *config.readers)]
    named = [
        (options["base_url"], options.get("api_key_env", OPENAI_KEY) or None)
        for options in (*listed, config.canonicalise.model)
        if isinstance(options.get("base_url"), str)
    ]
    for url, variable in dict.fromkeys(named):
        yield _answered(Connection(url, variable))


def _answered(connection: Connection) -> Need:
    """Whether anything answers at an address, and a key is there where one is wanted.

    No key is sent: whether it is the right one, and what other statuses mean, is not asked.
    """
    import http.client
    import urllib.error
    import urllib.request

    url = connection.base_url
    what = f"server {url}"
    try:
        request = urllib.request.Request(f"{url.rstrip('/')}/models")
        with urllib.request.urlopen(request, timeout=_KNOCK):
            return Need(what, True, "answers")
    except urllib.error.HTTPError as error:
        error.close()
        if error.code not in _WANTS_A_KEY:
            return Need(what, True, f"answers (status {error.code})")
        said = f"answers, and wants a key (status {error.code}; none was sent)"
        if connection.has_key():
            return Need(what, True, f"{said}; {connection.api_key_env} is set")
        return Need(what, False, said, connection.key_advice())
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = str(getattr(error, "reason", error)) or type(error).__name__
        return Need(what, False, f"no answer: {reason}", "start it, or correct base_url")


def _of_the_work(wanted: Wanted) -> Iterator[Need]:
    """Money and room for what is still to be made, as far as the backends can tell."""
    try:
        work = workload(wanted)
    except ContextBiasError as error:
        yield Need("plan", False, error.problem, error.fix)
        return
    pending = [section for section in work["sections"] if section["pending"]]
    yield from map(_of_the_budget, (s for s in pending if s["budget_words"]))
    disk = work["disk"]
    expected, free = disk["expected"], disk["free"]
    unknown = [section["name"] for section in pending if section["size"] is None]
    said = f"{_size(expected)} expected" if expected or not unknown else "not known yet"
    if expected and unknown:
        said += f" (of {', '.join(unknown)} not known yet)"
    fits = expected <= free
    yield Need("disk", fits, f"{said}, {_size(free)} free", "" if fits else "make room")


def _of_the_budget(section: dict[str, Any]) -> Need:
    enough = section["affordable"] in (None, section["pending"])
    fix = "" if enough else "raise budget, or let the run pause there; what was made is kept"
    return Need(f"budget of {section['name']}", enough, section["budget_words"], fix)


def _size(size: int) -> str:
    """Bytes in words; what is small is not 0.0 of what is large."""
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.1f} MB"


def _tried(what: str, found: str, attempt: Callable[[], object]) -> Need:
    try:
        attempt()
    except ContextBiasError as error:
        return Need(what, False, error.problem, error.fix)
    return Need(what, True, found)
