"""Any program as a generator: its answers, its refusals, its crashes and its silence."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image
from tests.conftest import CHECKOUT

from contextbias.errors import ConfigError, Incomplete, MissingPart
from contextbias.generate.command import CommandGenerator
from contextbias.generate.copies import _lines_of, end
from contextbias.generate.protocol import Job, Made
from contextbias.ids import content_hash

PROGRAM = """
import json, os, sys, time
from PIL import Image

print("loading the model")
print("a warning", file=sys.stderr)
open(f"starts-{os.getpid()}", "w").close()
if os.path.exists("broken"):
    sys.exit("ImportError: no module named torch")
for line in sys.stdin:
    job = json.loads(line)
    with open("asked", "a") as log:
        log.write(line)
    prompt, answer = job["prompt"], {"id": job["id"]}
    if "refuse" in prompt:
        answer["blocked"] = "I will not draw that"
    elif "fail" in prompt:
        answer["error"] = "out of memory"
    elif "kill" in prompt or ("once" in prompt and not os.path.exists("once")):
        open("once", "w").close()
        print("Segmentation fault in kernel 7", file=sys.stderr, flush=True)
        os._exit(11)
    elif "hang" in prompt:
        open("hanging", "w").close()
        time.sleep(60)
    elif "nothing" in prompt:
        pass
    elif "elsewhere" in prompt:
        Image.new("RGB", (9, 9), "red").save("elsewhere.jpg")
        answer["file"] = "elsewhere.jpg"
    else:
        time.sleep(job["parameters"].get("seconds", 0))
        color = (job["seed"] % 256, 7, int(os.environ["CONTEXTBIAS_PROCESS"]))
        Image.new("RGB", (8, 8), color).save(job["file"])
        answer["info"] = {"steps": job["parameters"].get("steps")}
    print("not JSON {")
    print(json.dumps(answer), flush=True)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "draw.py").write_text(PROGRAM)
    return tmp_path


def generator(folder: Path, **options: Any) -> CommandGenerator:
    return CommandGenerator({"command": [sys.executable, "draw.py"], **options}, folder=folder)


def jobs(*prompts: str) -> list[Job]:
    return [
        Job(
            image_id=f"i{number}", role="nurse", condition="CF", text=prompt, location=None,
            activity=None, prompt_id="p", seed=number,
        )
        for number, prompt in enumerate(prompts)
    ]  # fmt: skip


def made(backend: CommandGenerator, *prompts: str) -> dict[str, Made]:
    found = {each.image_id: each for each in backend.generate(jobs(*prompts))}
    assert set(found) == {f"i{number}" for number in range(len(prompts))}
    return found


def starts(folder: Path) -> int:
    return len(list(folder.glob("starts-*")))


def pixel(one: Made) -> Any:
    assert one.data is not None
    return Image.open(io.BytesIO(one.data)).convert("RGB").getpixel((0, 0))


# ---- what it is told and answers


def test_a_program_turns_jobs_into_files(folder: Path) -> None:
    found = made(generator(folder, parameters={"steps": 30}), "one", "two — ü", "three")
    assert [pixel(found[f"i{n}"]) for n in range(3)] == [(0, 7, 0), (1, 7, 0), (2, 7, 0)]
    assert {each.status for each in found.values()} == {"ok"}
    assert found["i0"].provenance == {"program": {"steps": 30}}
    assert starts(folder) == 1
    asked = [json.loads(line) for line in (folder / "asked").read_text().splitlines()]
    assert [each["prompt"] for each in asked] == ["one", "two — ü", "three"]
    # Nothing is told that an image model should not know, and the files are cleared away.
    assert set(asked[0]) == {"id", "prompt", "seed", "file", "parameters"}
    assert not any(Path(each["file"]).parent.exists() for each in asked)


def test_refusals_and_failures_are_rows_with_the_programs_words(folder: Path) -> None:
    found = made(generator(folder), "refuse", "fail", "nothing", "elsewhere")
    assert (found["i0"].status, found["i0"].reason) == ("blocked", "I will not draw that")
    assert (found["i1"].status, found["i1"].reason) == ("error", "out of memory")
    assert found["i2"].status == "error"
    assert "cannot be read: there is no such file" in str(found["i2"].reason)
    assert pixel(found["i3"])[0] > 250
    assert (folder / "elsewhere.jpg").exists()  # not ours to remove
    assert starts(folder) == 1


@pytest.mark.parametrize("keep_running", [True, False])
def test_batches_are_given_ahead(folder: Path, keep_running: bool) -> None:
    backend = generator(folder, batch_size=4, keep_running=keep_running)
    assert len(made(backend, *"abcdefghij")) == 10
    assert starts(folder) == (1 if keep_running else 3)


def test_copies_share_the_work(folder: Path) -> None:
    found = made(generator(folder, processes=2, parameters={"seconds": 0.05}), *"abcdefgh")
    assert {pixel(each)[2] for each in found.values()} == {0, 1}
    assert starts(folder) == 2


def test_only_named_variables_are_passed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_MINE", "s")
    monkeypatch.setenv("TOKEN_OF_MINE", "t")
    (folder / "draw.py").write_text(
        "import json, os, sys\n"
        "for line in sys.stdin:\n"
        "    seen = [name for name in os.environ if name.endswith('_OF_MINE')]\n"
        "    print(json.dumps({'id': json.loads(line)['id'], 'error': str(seen)}))\n"
    )
    found = made(generator(folder, env=["TOKEN_OF_MINE"]), "a")
    assert found["i0"].reason == "['TOKEN_OF_MINE']"
    with pytest.raises(MissingPart, match="variable NO_SUCH_THING, which is not set"):
        made(generator(folder, env=["NO_SUCH_THING"]), "a")


# ---- crashes and silence


def test_a_crash_is_no_end(folder: Path) -> None:
    found = made(generator(folder), "a", "once", "b")
    assert {each.status for each in found.values()} == {"ok"}
    assert starts(folder) == 2


@pytest.mark.parametrize("batch_size", [1, 3])
def test_a_job_that_kills_is_a_row_and_the_others_are_made(folder: Path, batch_size: int) -> None:
    found = made(generator(folder, batch_size=batch_size), "a", "kill", "b", "c", "d")
    assert {key for key, each in found.items() if each.status == "ok"} == {"i0", "i2", "i3", "i4"}
    assert found["i1"].status == "error"
    assert "ended with code 11; its last lines: " in str(found["i1"].reason)
    assert str(found["i1"].reason).endswith("Segmentation fault in kernel 7")


def test_a_job_that_kills_first_does_not_stop_the_others(folder: Path) -> None:
    found = made(generator(folder), "kill", "a", "b")
    assert [found[f"i{n}"].status for n in range(3)] == ["error", "ok", "ok"]


@pytest.mark.parametrize(("restarts", "expected"), [(0, 1), (2, 3)])
def test_a_program_that_never_answers_ends_the_run(
    folder: Path, restarts: int, expected: int
) -> None:
    (folder / "broken").touch()
    with pytest.raises(Incomplete, match=r"code 1; its last lines: .*ImportError: no module"):
        made(generator(folder, restarts=restarts), "a", "b", "c", "d")
    assert starts(folder) == expected


def test_silence_is_ended(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def clock() -> float:
        """Two minutes pass at once when the program hangs, however slow this machine is."""
        hanging = folder / "hanging"
        passed = 120.0 if hanging.exists() else 0.0
        hanging.unlink(missing_ok=True)
        return time.monotonic() + passed

    with monkeypatch.context() as patch:
        patch.setattr("contextbias.generate.programs.time", SimpleNamespace(monotonic=clock))
        found = made(generator(folder, timeout=100.0), "a", "hang", "b")
    assert (found["i0"].status, found["i2"].status) == ("ok", "ok")
    assert str(found["i1"].reason).startswith("no answer in 100 s; the program `")
    with pytest.raises(Incomplete, match=r"no answer in 0\.3 s"):
        list(generator(folder, timeout=0.3, restarts=0).generate(jobs("hang", "a")))


def test_nothing_runs_on_after_the_consumer_has_gone(folder: Path) -> None:
    images = generator(folder, processes=2).generate(jobs(*"abcdefgh"))
    next(images)
    images.close()
    for path in folder.glob("starts-*"):
        with pytest.raises(ProcessLookupError):
            os.kill(int(path.name.removeprefix("starts-")), 0)


def test_what_a_program_leaves_behind_does_not_hide_its_end(folder: Path) -> None:
    (folder / "draw.py").write_text(
        "import os, subprocess, sys\n"
        "child = subprocess.Popen(['sleep', '100'])\n"
        "open(f'starts-{child.pid}', 'w').close()\n"
        "sys.stdin.readline(); os._exit(3)\n"
    )
    with pytest.raises(Incomplete, match=r"python\S* draw\.py` ended with code 3 without a word"):
        list(generator(folder, restarts=0).generate(jobs("a")))
    (left,) = folder.glob("starts-*")
    assert ended(int(left.name.removeprefix("starts-")))


def test_a_program_may_talk_while_it_ends(folder: Path) -> None:
    """More than fits into its pipe: who writes to one that nobody reads never comes to an end."""
    (folder / "draw.py").write_text(
        PROGRAM + "print('a line of a summary\\n' * 50_000)\nopen('finished', 'w').close()\n"
    )
    made(generator(folder), "a", "b")
    assert (folder / "finished").exists()


def test_copies_are_waited_for_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """64 of them that do not end by themselves must not take 64 times as long."""
    done: list[tuple[str, Any]] = []

    class Stubborn:
        def __getattr__(self, name: str) -> Any:
            return lambda *until: done.append((name, until))

    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    copies: Any = [Stubborn(), Stubborn()]
    end(copies)
    steps = ["let_go", "wait", "terminate", "wait", "kill", "leave"]
    assert [name for name, _ in done] == [step for step in steps for _ in copies]
    assert [until for name, until in done if name == "wait"] == [(110.0,)] * 2 + [(102.0,)] * 2


def ended(process: int) -> bool:
    """Whether a process is gone, or only waits for its parent to notice."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


# ---- what a program may do to us

HOSTILE = """
import json, os, sys
from pathlib import Path
from PIL import Image
for line in sys.stdin:
    job = json.loads(line)
    prompt, answer, file = job["prompt"], {"id": job["id"]}, Path(job["file"])
    Path("out").write_text(str(file.parent))
    Image.new("RGB", (8, 8), (job["seed"], 7, 0)).save(file)
    if prompt == "deep":
        print("[" * 100_000)
    elif prompt == "flood":
        for pipe in (sys.stdout, sys.stderr):
            for _ in range(40):
                pipe.write("x" * 1_000_000)
            pipe.write("\\n")
            pipe.flush()
    elif prompt == "lines":
        print("y\\n" * 100_000)
    elif prompt == "outside":
        answer["file"] = str(file.parent) + "/../" + Path("victim").read_text()
    elif prompt == "link":
        (file.parent / "l.png").symlink_to(Path("own.png").resolve())
        answer["file"] = str(file.parent / "l.png")
    elif prompt == "secret":
        Path("diary").write_text("dear diary")
        answer["file"] = "diary"
    elif prompt == "fails":
        answer["error"] = "no"
    elif prompt == "refuses":
        answer["blocked"] = "no"
    elif prompt == "nul":
        answer["file"] = "a\\0b"
    elif prompt == "other's":
        answer["file"] = str(file.parent / "i1.png")
    print(json.dumps(answer), flush=True)
    if prompt == "looks":
        Path("seen").write_text(json.dumps(sorted(os.listdir(file.parent))))
"""


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    (tmp_path / "draw.py").write_text(HOSTILE)
    Image.new("RGB", (8, 8), "blue").save(tmp_path / "own.png")
    return tmp_path


@pytest.mark.parametrize("prompt", ["deep", "flood", "lines"])
def test_output_that_is_no_answer_harms_nothing(hostile: Path, prompt: str) -> None:
    found = made(generator(hostile, batch_size=3), "a", prompt, "b", "c")
    assert {each.status for each in found.values()} == {"ok"}


def test_an_overlong_line_is_not_kept_in_memory() -> None:
    parts = [b"x" * 1_500_000, b"x" * 5_000_000 + b"\n", b"short\n", b"no end"]
    lines = list(_lines_of(io.BytesIO(b"".join(parts))))
    assert [len(line) for line in lines] == [1 << 20, 6, 6]


def test_only_files_of_the_job_s_own_folder_are_removed(hostile: Path) -> None:
    victim = Path(tempfile.gettempdir()) / f"victim-{os.getpid()}.png"
    Image.new("RGB", (8, 8), "red").save(victim)
    (hostile / "victim").write_text(victim.name)
    try:
        found = made(generator(hostile), "outside", "link")
        assert pixel(found["i0"])[0] > 250
        assert pixel(found["i1"])[2] > 250
        assert victim.exists()
        assert (hostile / "own.png").exists()
    finally:
        victim.unlink(missing_ok=True)


def test_a_file_that_is_no_picture_is_not_quoted(hostile: Path) -> None:
    """Reasons stand in reports, and a program may name any file."""
    (one,) = made(generator(hostile), "secret").values()
    assert one.status == "error"
    assert str(one.reason).endswith("diary, which is no picture that can be decoded")


def test_files_of_jobs_without_a_picture_do_not_pile_up(hostile: Path) -> None:
    made(generator(hostile), "fails", "refuses", "nul", "a", "looks")
    # The last two may not be taken yet while the program looks.
    assert set(json.loads((hostile / "seen").read_text())) <= {"i3.png", "i4.png"}
    assert not Path((hostile / "out").read_text()).exists()


def test_what_a_killed_run_left_is_removed_by_the_next(hostile: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    left = Path(tempfile.mkdtemp(prefix=f"contextbias-drawn-{gone.pid}-"))
    (left / "i0.png").write_bytes(b"x")
    made(generator(hostile), "a")
    assert not left.exists()


def test_the_picture_of_another_job_is_not_taken(hostile: Path) -> None:
    found = made(generator(hostile, batch_size=2), "other's", "a")
    assert found["i0"].status == "error"
    assert "it is the file of another job" in str(found["i0"].reason)
    assert pixel(found["i1"]) == (1, 7, 0)


# ---- bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "command = None|Field required"),
        ({"command": "python3 draw.py"}, "command = 'python3 draw.py'"),
        ({"command": []}, "command = "),
        ({"command": ["a"], "comand": 1}, "unknown option 'comand'"),
        ({"command": ["a"], "processes": 0}, "processes = 0"),
        ({"command": ["a"], "source_type": "photo"}, "source_type = 'photo'"),
    ],
)
def test_a_wrong_option_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        CommandGenerator(options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"command": ["no-such-program"]}, "finds no program 'no-such-program'"),
        ({"command": ["./draw.py"]}, "make it executable"),
        ({"command": ["./"]}, "finds no program"),
        ({"command": [sys.executable, "draw.py"], "cwd": "nowhere"}, "no such folder"),
    ],
)
def test_what_is_not_there_is_named(folder: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises((ConfigError, MissingPart), match=message):
        list(CommandGenerator(options, folder=folder).generate(jobs("a")))


def test_a_program_that_is_no_program(folder: Path) -> None:
    (folder / "tool").write_bytes(b"\x7fELF and nothing more")
    (folder / "tool").chmod(0o755)
    with pytest.raises(Incomplete, match="cannot be started"):
        list(CommandGenerator({"command": ["./tool"]}, folder=folder).generate(jobs("a")))


# ---- identity


def test_settings_follow_what_decides_the_pixels(folder: Path) -> None:
    def identity(**options: Any) -> str:
        return content_hash(generator(folder, **options).settings())

    plain = identity()
    assert identity(processes=3, batch_size=2, timeout=9, env=["HOME"], cwd="./") == plain
    assert identity(parameters={"steps": 4}) != plain
    assert identity(model="other") != plain
    declared = identity(version="2")
    (folder / "draw.py").write_text(PROGRAM + "# another version\n")
    assert identity() != plain
    assert identity(version="2") == declared != identity(version="3")
    (folder / "weights.txt").write_text("1")
    with_file = identity(files=["weights.txt"])
    (folder / "weights.txt").write_text("2")
    assert identity(files=["weights.txt"]) != with_file


def test_a_missing_script_is_named_unless_a_version_stands_for_it(folder: Path) -> None:
    (folder / "draw.py").unlink()
    with pytest.raises(MissingPart, match=r"cannot read .*draw\.py"):
        generator(folder).settings()
    assert generator(folder, version="1").settings()["version"] == "1"
    (need,) = [row for row in generator(folder).requirements() if not row[1]]
    assert need[0] == "files that the command names"
    assert "draw.py" in " ".join(generator(folder).plan(jobs("a")).notes)


def test_interpreters_of_the_path_are_not_looked_into(folder: Path) -> None:
    assert set(generator(folder).settings()["content"]) == {"draw.py"}
    (folder / "tool").write_text("#!/bin/sh\n")
    settings = CommandGenerator({"command": ["./tool", "--flag"]}, folder=folder).settings()
    assert set(settings["content"]) == {"./tool"}


# ---- through the command line

STUDY = f"""
[study]
images_per_prompt = 1
[bench]
roles = ["nurse"]
[[generators]]
name = "mine"
backend = "command"
[generators.options]
command = [{json.dumps(sys.executable)}, "draw.py"]
model = "me/my-model"
parameters = {{ seconds = 0.2 }}
[[readers]]
name = "none"
backend = "simulated"
"""

PAINTER = """
import json, sys, time
from PIL import Image
for line in sys.stdin:
    job = json.loads(line)
    time.sleep(job["parameters"]["seconds"])
    picture = Image.effect_noise((32, 32), 40 + job["seed"] % 50).convert("RGB")
    picture.save(job["file"])
    print(json.dumps({"id": job["id"]}))
"""


def cli(*args: str) -> list[str]:
    return [sys.executable, "-c", "from contextbias.cli.main import main; main()", *args]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(CHECKOUT / "src")}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_finishes_what_is_under_way_and_a_new_run_goes_on(
    tmp_path: Path, number: int
) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "draw.py").write_text(PAINTER)
    run = subprocess.Popen(
        cli("generate", str(tmp_path)), stderr=subprocess.PIPE, text=True, env=environment()
    )
    deadline = time.monotonic() + 60
    while len(list(tmp_path.rglob("images/**/*.png"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    run.send_signal(number)
    _, said = run.communicate(timeout=60)
    assert run.returncode == 130, said
    assert "interrupted; what was finished is kept" in said
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("images/**/*.png")}
    assert 2 <= len(kept) < 18
    if number == signal.SIGTERM:
        return  # the rest takes 5 s: once is enough
    again = subprocess.run(
        cli("generate", str(tmp_path)), capture_output=True, text=True, env=environment()
    )
    assert again.returncode == 0, again.stderr
    assert f"18 images, {18 - len(kept)} new, 0 failed" in again.stderr
    assert all(path.stat().st_mtime_ns == then for path, then in kept.items())
    data = next(iter(kept)).read_bytes()
    assert b"me/my-model" in data
    assert b"trainedAlgorithmicMedia" in data
