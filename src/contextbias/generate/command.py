"""The command backend: any program that turns JSON jobs into files is a generator.

The program reads one job a line from its standard input and writes one answer a line to its
standard output::

    {"id": "3f…", "prompt": "a photo of a nurse in a bakery", "seed": 71, "file": "/tmp/…/3f….png",
     "parameters": {"steps": 30}}

    {"id": "3f…"}                                  the picture is in `file` of the job
    {"id": "3f…", "file": "elsewhere.png"}         it is in another one, in any format of Pillow
    {"id": "3f…", "blocked": "the model declined"} a refusal: a row with these words, and final
    {"id": "3f…", "error": "out of memory"}        a failure: tried again by a later run
    {"id": "3f…", "info": {"model": "…"}}          beside any of them: kept with the image

Other lines, and the standard error, are the program's own; their end is shown when it fails. The
program is started once and given one job after the other until its input ends. Options are in
study.toml::

    [[generators]]
    name = "mine"
    backend = "command"
    options = { command = ["python3", "draw.py"] }
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from contextbias.errors import ConfigError, MissingPart
from contextbias.files import passing_folder
from contextbias.forecast import Forecast, Requirement
from contextbias.generate.copies import Setup
from contextbias.generate.origin import TRAINED
from contextbias.generate.programs import Programs
from contextbias.generate.protocol import Job, Made
from contextbias.options import Options

_SCRIPTS = (".py", ".sh", ".rb", ".pl", ".js", ".mjs", ".jl", ".r", ".lua", ".php")
_HASH_LENGTH = 20
_DRAWN = "contextbias-drawn-"
_PASSED = (
    "PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ", "LD_LIBRARY_PATH",
    "VIRTUAL_ENV", "CUDA_VISIBLE_DEVICES", "XDG_CACHE_HOME", "XDG_CONFIG_HOME",
)  # fmt: skip


class CommandOptions(Options):
    """Options of the command backend."""

    command: tuple[str, ...] = Field(min_length=1)
    """The program and its arguments, as a list: ``["python3", "draw.py"]``. No shell looks at
    it."""
    cwd: str = "."
    """Folder that the program runs in, relative to the study folder."""
    version: str | None = Field(default=None, min_length=1)
    """Which version of the program: another one makes other images. Left out: the content of the
    scripts that the command names, and of `files`, decides."""
    files: tuple[str, ...] = ()
    """Further files whose content decides the pixels, relative to `cwd`."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """Passed with every job, as they are."""
    model: str | None = None
    """Name of the model, for the label inside every image."""
    revision: str | None = None
    """Version of the model, likewise."""
    source_type: Literal[
        "trainedAlgorithmicMedia", "algorithmicMedia", "compositeWithTrainedAlgorithmicMedia"
    ] = "trainedAlgorithmicMedia"
    """What kind of thing makes the pictures, in IPTC's words: a trained model, an algorithm that
    learnt from no data, or a composition with parts of a trained model."""
    env: tuple[str, ...] = ()
    """Names of environment variables that the program is given, beside the usual ones (PATH, HOME,
    language, CUDA_VISIBLE_DEVICES). A key stays out of study.toml this way."""
    processes: int = Field(default=1, ge=1, le=64)
    """How many copies of the program run at the same time. Each finds its number, from 0, in
    CONTEXTBIAS_PROCESS, to choose a GPU by."""
    batch_size: int = Field(default=1, ge=1, le=256)
    """How many jobs one copy is given before its answers are waited for."""
    keep_running: bool = True
    """``false``: the program is started anew for every batch, and its input ends after it."""
    timeout: float = Field(default=1800.0, gt=0)
    """Seconds without an answer after which the program is stopped, loading included."""
    restarts: int = Field(default=3, ge=0, le=100)
    """How often in a row the program is started again when it ends without an answer."""


class CommandGenerator:
    """A generator (see protocol.py) that runs a program.

    Args:
        options: The options of study.toml; see `CommandOptions`.
        folder: The study's folder; None: the present one.

    Raises:
        ConfigError: An option is unknown or has a wrong value.
    """

    batch_size = 1
    parallel = "stream"
    in_folder = True

    def __init__(self, options: dict[str, Any], *, folder: Path | None = None) -> None:
        self._options = CommandOptions.parse(options, backend="command")
        self._folder = Path(folder or Path.cwd(), self._options.cwd)
        self.source_type: str = self._options.source_type

    @property
    def concurrency(self) -> int:
        """How many jobs are under way at a time, for a plan: one in each copy of the program."""
        return self._options.processes

    def settings(self) -> dict[str, Any]:
        """The command, what is passed with every job, and which version of the program it is.

        Raises:
            MissingPart: A script or file that the command names is not there, and no version is
                declared.
        """
        options = self._options
        settings = options.model_dump(
            mode="json", include={"command", "parameters", "model", "revision", "version"}
        )
        if options.source_type != TRAINED:
            settings["source_type"] = options.source_type
        if options.version is None:
            settings["content"] = {name: self._content(name) for name in self._named_files()}
        return settings

    def generate(self, jobs: Sequence[Job]) -> Iterator[Made]:
        """Have every job's picture made; see `programs.Programs`.

        Raises:
            MissingPart: The program, or a variable of `env`, is not there.
            Incomplete: The program keeps ending without an answer.
            KeyboardInterrupt: After what was under way was finished and yielded.
        """
        options = self._options
        program = self._program()
        folder = passing_folder(_DRAWN)
        try:
            setup = Setup(
                command=(program, *options.command[1:]),
                cwd=self._folder,
                env=self._environment(),
                out=folder,
                parameters=options.parameters,
                processes=options.processes,
                batch_size=options.batch_size,
                keep_running=options.keep_running,
                timeout=options.timeout,
                restarts=options.restarts,
            )
            yield from Programs(setup).make(jobs)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def plan(self, jobs: Sequence[Job]) -> Forecast:
        """Nothing is known of a program until it has made some; says what will run, and where."""
        if not jobs:
            return Forecast(seconds=0.0, size=0)
        shown = " ".join(self._options.command)
        notes = [f"runs `{shown}` in {self._folder}"]
        notes += [f"{what}: {fix}" for what, ok, _, fix in self.requirements() if not ok]
        return Forecast(basis="not known before it has made some", notes=tuple(notes))

    def requirements(self) -> list[Requirement]:
        """What has to be there: (what, whether it is, what was found, what to do)."""
        found: list[Requirement] = []
        for what, look in (
            (f"program {self._options.command[0]}", self._program),
            ("files that the command names", self._look_at_files),
            ("environment variables", self._environment),
        ):
            try:
                seen: Any = look()
            except (ConfigError, MissingPart) as error:
                found.append((what, False, error.problem, error.fix))
            else:
                found.append((what, True, seen if isinstance(seen, str) else "there", ""))
        return found

    def _look_at_files(self) -> None:
        for name in self._named_files():
            self._content(name)

    def _named_files(self) -> list[str]:
        """Scripts among the words of the command, and the files that were named besides."""
        first, *arguments = self._options.command
        # A program with a path of its own belongs to the study; python3 of the path does not.
        own = [first] if "/" in first and not Path(first).is_absolute() else []
        scripts = [word for word in (first, *arguments) if word.lower().endswith(_SCRIPTS)]
        return sorted({*own, *scripts, *self._options.files})

    def _content(self, name: str) -> str:
        path = self._folder / name
        try:
            with path.open("rb") as stream:
                return hashlib.file_digest(stream, "sha256").hexdigest()[:_HASH_LENGTH]
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise MissingPart(
                f"the command backend cannot read {path}: {reason}",
                "put it there, correct the command, or declare a version in its options",
            ) from None

    def _program(self) -> str:
        """The program's path.

        Raises:
            ConfigError: The folder to run in is not there.
            MissingPart: The program is not there, or may not be executed.
        """
        if not self._folder.is_dir():
            raise ConfigError(f"cwd = {self._options.cwd!r}: no such folder {self._folder}", "")
        name = self._options.command[0]
        path = str(self._folder / name) if "/" in name else shutil.which(name)
        if path is None or not os.access(path, os.X_OK) or Path(path).is_dir():
            where = path or "the search path"
            raise MissingPart(
                f"the command backend finds no program {name!r} (looked at {where})",
                "install it, make it executable, or correct the command",
            )
        return path

    def _environment(self) -> dict[str, str]:
        """The variables that the program is given.

        Raises:
            MissingPart: One that was asked for is not set.
        """
        missing = [name for name in self._options.env if name not in os.environ]
        if missing:
            raise MissingPart(
                f"the program needs the environment variable {missing[0]}, which is not set",
                f"export {missing[0]}=…, or take it out of env",
            )
        names = (*_PASSED, *self._options.env)
        given = {name: os.environ[name] for name in names if name in os.environ}
        # An answer that stays in a buffer is waited for in vain.
        return {"PYTHONUNBUFFERED": "1", **given}
