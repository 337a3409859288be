"""Folders of existing images: what counts is what study.toml asks for and its folder holds now."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from contextbias import pipeline
from contextbias.errors import ConfigError, InputError
from contextbias.pipeline import Done, Options, import_images
from contextbias.pipeline.selection import Wanted
from contextbias.progress import Silent
from contextbias.store import Study

SECTION = '[[generators]]\nname = "{name}"\nbackend = "folder"\noptions = {{ {options} }}\n'


class Heard(Silent):
    """Remembers what was said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, message: str) -> None:
        self.lines.append(message)


@pytest.fixture
def pictures(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "pictures"
    for number, name in enumerate(("CF/nurse/1", "CF/judge/2", "CA-R/nurse/1")):
        put(folder / f"{name}.png", 40 * number)
    return folder


def put(path: Path, shade: int) -> None:
    """A picture in which there is something to see; another one for each shade."""
    path.parent.mkdir(parents=True, exist_ok=True)
    slope = Image.linear_gradient("L").resize((8, 8))
    Image.merge("RGB", (slope, Image.new("L", (8, 8), shade), slope)).save(path)


def configure(tmp_path: Path, *sections: str) -> Path:
    root = tmp_path / "study"
    root.mkdir(exist_ok=True)
    (root / "study.toml").write_text("\n".join(sections))
    return root


def section(name: str = "mine", **options: str) -> str:
    pairs = ", ".join(f"{key} = '{value}'" for key, value in options.items())
    return SECTION.format(name=name, options=pairs)


def take_in(root: Path, heard: Heard | None = None) -> tuple[Done, list[str]]:
    """Run generate; returns what it says, and which images now count as what."""
    with Study.open(root, writing=True) as study:
        (done,) = pipeline.run(study, ("generate",), Options(progress=heard or Silent()))
        images = Wanted(study).images()
    shown = (f"{i.generator} {i.condition} {i.role} {Path(str(i.path)).name}" for i in images)
    return done, sorted(shown)


def test_a_file_that_is_gone_no_longer_counts_and_may_come_back(
    tmp_path: Path, pictures: Path
) -> None:
    root = configure(
        tmp_path, section(source="../pictures", pattern="{condition}/{role}/{seed}.png")
    )
    _, whole = take_in(root)
    assert whole == ["mine CA-R nurse 1.png", "mine CF judge 2.png", "mine CF nurse 1.png"]
    assert take_in(root)[0].new == 0
    (pictures / "CF/judge/2.png").rename(tmp_path / "elsewhere.png")
    heard = Heard()
    done, left = take_in(root, heard)
    assert left == ["mine CA-R nurse 1.png", "mine CF nurse 1.png"]
    assert done.new == 1
    assert done.note == "2 images, nothing to do (1 more kept, and not counted)"
    assert "no longer there" in heard.lines[0]
    assert "2.png" in heard.lines[0]
    assert take_in(root)[0].new == 0
    (tmp_path / "elsewhere.png").rename(pictures / "CF/judge/2.png")
    assert take_in(root)[1] == whole


def test_a_changed_pattern_counts_every_image_once(tmp_path: Path, pictures: Path) -> None:
    source = "../pictures"
    root = configure(tmp_path, section(source=source, pattern="{condition}/{role}/{seed}.png"))
    _, whole = take_in(root)
    configure(tmp_path, section(source=source, pattern="*/{role}/{seed}.png"))
    _, pooled = take_in(root)
    assert pooled == ["mine CF judge 2.png", "mine CF nurse 1.png", "mine CF nurse 1.png"]
    configure(tmp_path, section(source=source, pattern="{condition}/{role}/{seed}.png"))
    done, again = take_in(root)
    assert again == whole
    assert done.note.endswith("(1 more kept, and not counted)")


def test_a_section_that_is_taken_out_no_longer_counts(tmp_path: Path, pictures: Path) -> None:
    put(tmp_path / "more/x.png", 90)
    both = section("a", source="../pictures"), section("b", source="../more")
    root = configure(tmp_path, *both)
    assert len(take_in(root)[1]) == 4
    configure(tmp_path, both[1])
    assert take_in(root)[1] == ["b CF all x.png"]


def test_what_was_imported_on_command_stays(tmp_path: Path, pictures: Path) -> None:
    root = configure(tmp_path, "")
    with Study.open(root, writing=True) as study:
        assert import_images(study, pictures / "CF", pattern="{role}/*.png", progress=Silent()) == 2
        (pictures / "CF/nurse/1.png").unlink()
        assert import_images(study, pictures / "CF", pattern="{role}/*.png", progress=Silent()) == 0
        assert len(Wanted(study).images()) == 2


def test_the_limit_is_of_drawn_images_only(tmp_path: Path, pictures: Path) -> None:
    drawn = '[[generators]]\nname = "d"\nbackend = "simulated"\noptions = { size = 64 }\n'
    run = "[run]\nworkers = 1\n[study]\nimages_per_prompt = 1\n"
    bench = '[bench]\nroles = ["nurse"]\n'
    root = configure(tmp_path, section(source="../pictures"), drawn, run, bench)
    with Study.open(root, writing=True) as study:
        pipeline.run(study, ("bench", "generate"), Options(limit=2))
        images = Wanted(study).images()
    assert sorted(image.generator for image in images) == ["d", "d", "mine", "mine", "mine"]


def test_two_sections_with_the_same_image_are_refused(tmp_path: Path, pictures: Path) -> None:
    put(pictures / "g/1.png", 200)
    pattern = "{generator}/{seed}.png"
    root = configure(
        tmp_path,
        section("a", source="../pictures", pattern=pattern),
        section("b", source="../pictures", pattern=pattern),
    )
    with pytest.raises(ConfigError, match=r"'a' and 'b' both take in .*1\.png"):
        take_in(root)


def test_copies_are_said_and_counted(tmp_path: Path, pictures: Path) -> None:
    put(pictures / "copy.png", 0)
    heard = Heard()
    _, images = take_in(configure(tmp_path, section(source="../pictures")), heard)
    assert len(images) == 4
    assert "same content" in heard.lines[0]


def test_each_reason_to_leave_files_out_is_told(tmp_path: Path, pictures: Path) -> None:
    root = configure(tmp_path, section(source=str(pictures)))
    names = ["a.heic", "b.HEIC", "c.heic", "Thumbs.db", "notes.txt"]
    for name in [*names, *(f"x.{number}" for number in range(9))]:
        (pictures / name).write_bytes(b"x")
    heard = Heard()
    take_in(root, heard)
    said = [line for line in heard.lines if "not taken" in line]
    assert said == [
        f"13 files in {pictures} not taken, 3 .heic, 1 .db, 1 .0, 1 .1, 1 .2, 6 others: no image "
        "by its extension"
    ]


def test_what_is_left_out_is_told_again_and_every_reason_is_named(
    tmp_path: Path, pictures: Path
) -> None:
    root = configure(
        tmp_path, section(source=str(pictures), pattern="{condition}/{role}/{seed}.png")
    )
    for number in range(7):
        put(pictures / f"X{number}/nurse/1.png", number)
    (pictures / "link").symlink_to(tmp_path)
    take_in(root)
    heard = Heard()
    assert take_in(root, heard)[0].new == 0
    assert len(heard.lines) == 6
    reasons = {f"'X{n}' is no condition" for n in range(7)} | {"which is not followed"}
    assert all(any(reason in line for line in heard.lines) for reason in reasons)
    assert heard.lines[-1].startswith(f"2 files and 1 folder in {pictures} not taken for 3")


def test_a_black_picture_is_blank_and_no_copy_counts(tmp_path: Path, pictures: Path) -> None:
    for name in ("a", "b"):
        Image.new("RGB", (8, 8)).save(pictures / f"{name}.png")
    heard = Heard()
    root = configure(tmp_path, section(source="../pictures"))
    done, _ = take_in(root, heard)
    assert done.note == "5 images, 5 new, 2 failed"
    assert heard.lines == []
    with Study.open(root) as study:
        assert pipeline.status(study)["images"] == {"wanted": 5, "blank": 2, "ok": 3}


def test_a_black_picture_of_an_earlier_version_stays_until_its_file_changes(
    tmp_path: Path, pictures: Path
) -> None:
    black = pictures / "black.png"
    Image.new("RGB", (8, 8)).save(black)
    root = configure(tmp_path, section(source="../pictures"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("contextbias.generate.quality.blemish", lambda image: None)
        take_in(root)
    assert take_in(root)[0].new == 0
    Image.new("RGB", (9, 9)).save(black)
    assert take_in(root)[0].note == "4 images, 1 new, 1 failed"


def test_failed_ones_are_counted(tmp_path: Path, pictures: Path) -> None:
    (pictures / "broken.png").write_bytes(b"x")
    done, _ = take_in(configure(tmp_path, section(source="../pictures")))
    assert done.note == "4 images, 4 new, 1 failed"


@pytest.mark.parametrize("name", ["mean", "ALL", "planted"])
def test_a_generator_with_a_reserved_name_is_refused(tmp_path: Path, name: str) -> None:
    put(tmp_path / "pictures" / name / "1.png", 0)
    root = configure(tmp_path, section(source="../pictures", pattern="{generator}/{seed}.png"))
    with pytest.raises(InputError, match=f"a generator is called '{name}'"):
        take_in(root)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ('source = "x", pattern = 5', "no text: pattern"),
        ('source = "x", manifest = true', "no text: manifest"),
        ("source = 5", "no text: source"),
        ('sauce = "x"', "unknown: sauce"),
        ("", "takes source"),
    ],
)
def test_options_of_a_folder(tmp_path: Path, options: str, words: str) -> None:
    root = configure(tmp_path, SECTION.format(name="a", options=options))
    with pytest.raises(ConfigError, match=words):
        take_in(root)
