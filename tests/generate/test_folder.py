"""Folders of existing images: patterns, manifests, and files that are broken."""

import io
import os
import struct
import unicodedata
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from contextbias.errors import InputError
from contextbias.generate.folder import (
    Found,
    Skipped,
    compile_pattern,
    condition_of,
    scan,
    survey,
)
from contextbias.ids import bytes_sha256

FULL = "{generator}/{condition}/{role}/{prompt}/{seed}.png"


def picture(format_: str = "PNG", size: tuple[int, int] = (12, 9)) -> bytes:
    buffer = io.BytesIO()
    Image.effect_noise(size, 80).convert("RGB").save(buffer, format_)
    return buffer.getvalue()


def put(root: Path, relative: str, data: bytes | None = None) -> Path:
    path = root / relative
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(picture() if data is None else data)
    return path


def bomb() -> bytes:
    """A PNG whose header claims 30,000 x 30,000 pixels."""

    def chunk(name: bytes, data: bytes) -> bytes:
        crc = struct.pack(">I", zlib.crc32(name + data))
        return struct.pack(">I", len(data)) + name + data + crc

    header = struct.pack(">IIBBBBB", 30_000, 30_000, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")


def test_a_plain_folder(tmp_path: Path) -> None:
    data = picture("JPEG", (20, 10))
    second = put(tmp_path, "b/deep/Second.JPG", data)
    third = put(tmp_path, "b/third.jfif", data)
    first = put(tmp_path, "a.png")
    put(tmp_path, ".hidden.png")
    put(tmp_path, ".cache/thumb.png")
    notes = put(tmp_path, "notes.txt", b"hello")
    seen = survey(tmp_path)
    assert [found.path for found in seen.found] == [first, second, third]
    assert seen.found[1] == Found(
        path=second, generator="images", condition="CF", role="all", prompt=None, seed=None,
        status="ok", reason=None, sha256=bytes_sha256(data), width=20, height=10,
    )  # fmt: skip
    assert seen.skipped == (Skipped(notes, "no image by its extension"),)
    assert scan(tmp_path) == list(seen.found)


def test_a_full_pattern(tmp_path: Path) -> None:
    put(tmp_path, "Flux/CA-U/flight attendant/in_a_park/000123.png")
    put(tmp_path, "SD 3.5/Context-aware_Related_CA-R/nurse/ward/7.PNG")
    (first, second) = scan(tmp_path, pattern=FULL)
    assert (first.generator, first.condition, first.role) == ("Flux", "CA-U", "flight attendant")
    assert (first.prompt, first.seed) == ("in_a_park", 123)
    assert (second.generator, second.condition, second.seed) == ("SD 3.5", "CA-R", 7)


def test_parts_of_a_pattern_are_optional(tmp_path: Path) -> None:
    put(tmp_path, "nurse/x.webp", picture("WEBP"))
    put(tmp_path, "nurse/y.tiff", picture("TIFF"))
    put(tmp_path, "nurse/z.bmp", picture("BMP"))
    found = scan(tmp_path, pattern="{role}/{prompt}.*")
    assert [(f.role, f.prompt, f.condition, f.seed) for f in found] == [
        ("nurse", "x", "CF", None), ("nurse", "y", "CF", None), ("nurse", "z", "CF", None),
    ]  # fmt: skip


def test_stars_and_text_between_placeholders(tmp_path: Path) -> None:
    put(tmp_path, "run1/nurse_seed_444940.jpg", picture("JPEG"))
    (found,) = scan(tmp_path, pattern="*/{role}_seed_{seed}.*")
    assert (found.role, found.seed) == ("nurse", 444940)


def test_what_does_not_match_is_reported(tmp_path: Path) -> None:
    put(tmp_path, "g/CF/nurse/p/1.png")
    wrong = put(tmp_path, "g/CX/nurse/p/2.png")
    loose = put(tmp_path, "g/3.png")
    seen = survey(tmp_path, pattern=FULL)
    assert len(seen.found) == 1
    assert seen.skipped == (
        Skipped(loose, "does not match the pattern"),
        Skipped(wrong, "'CX' is no condition (known: CF, CA-R, CA-U)"),
    )


def test_a_placeholder_twice_must_agree(tmp_path: Path) -> None:
    put(tmp_path, "nurse/nurse_1.png")
    put(tmp_path, "nurse/judge_2.png")
    (found,) = scan(tmp_path, pattern="{role}/{role}_{seed}.png")
    assert found.seed == 1


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("{rol}/{seed}.png", "unknown placeholder {rol}. Did you mean 'role'"),
        ("{}/{seed}.png", "unknown placeholder {}"),
        ("images/*.png", "names nothing"),
    ],
)
def test_a_wrong_pattern_is_an_error(pattern: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        compile_pattern(pattern)
    assert message in str(caught.value)


WORDS = st.text("abcdefghijk 0123456789_.-éü{}()[]+", min_size=1, max_size=8)


@given(generator=WORDS, role=WORDS, prompt=WORDS, seed=st.integers(0, 2**31))
def test_a_pattern_gives_back_what_was_put_in(
    generator: str, role: str, prompt: str, seed: int
) -> None:
    match = compile_pattern(FULL).fullmatch(f"{generator}/CA-R/{role}/{prompt}/{seed}.png")
    assert match is not None
    assert match.groupdict() == {
        "generator": generator, "condition": "CA-R", "role": role, "prompt": prompt,
        "seed": str(seed),
    }  # fmt: skip


def test_conditions_have_several_names() -> None:
    names = ["CF", "ca-r", " CA-U ", "Context-free_CF", "Context-aware_Unrelated_CA-U", "CA", ""]
    assert [condition_of(n) for n in names] == ["CF", "CA-R", "CA-U", "CF", "CA-U", None, None]


def test_broken_files_are_rows_with_a_reason(tmp_path: Path) -> None:
    good = picture("PNG", (40, 40))
    put(tmp_path, "0-good.png", good)
    put(tmp_path, "1-empty.png", b"")
    put(tmp_path, "2-text.png", b"this is no picture")
    put(tmp_path, "3-truncated.png", good[:-300])
    put(tmp_path, "4-truncated.jpg", picture("JPEG", (64, 64))[:-400])
    put(tmp_path, "5-bomb.png", bomb())
    damaged = bytearray(good)
    damaged[len(good) // 2] ^= 0xFF
    put(tmp_path, "6-damaged.png", bytes(damaged))
    found = {f.path.name[0]: f for f in scan(tmp_path)}
    assert found["0"].status == "ok"
    assert {f.status for name, f in found.items() if name != "0"} == {"corrupt"}
    assert all(f.sha256 is not None for f in found.values())
    assert found["1"].reason == "the file is empty"
    assert found["2"].reason == "not an image that can be decoded"
    assert str(found["3"].reason).startswith("cannot be decoded")
    assert str(found["4"].reason).startswith("cannot be decoded")
    assert found["5"].reason == f"more than {Image.MAX_IMAGE_PIXELS:,} pixels"
    assert str(found["6"].reason).startswith("cannot be decoded")
    assert all("\n" not in str(f.reason) for f in found.values())


def test_pictures_with_nothing_to_see_are_blank(tmp_path: Path) -> None:
    """As those of a generator; 16 and 32 bits of grey are not cut off to white."""
    put(tmp_path, "0.png")
    Image.new("RGB", (8, 8), "black").save(tmp_path / "1.jpg")
    Image.new("RGB", (8, 8), (0, 0, 128)).save(tmp_path / "2.png")
    Image.new("RGBA", (8, 8), (9, 200, 9, 0)).save(tmp_path / "3.png")
    slope = np.linspace(0, 60_000, 64).reshape(8, 8)
    Image.fromarray(slope.astype(np.uint16)).save(tmp_path / "4.tiff")
    Image.fromarray(slope.astype(np.int32)).save(tmp_path / "5.tiff")
    Image.fromarray((slope / 60_000).astype(np.float32)).save(tmp_path / "6.tiff")
    seen = {each.path.name: (each.status, each.reason) for each in scan(tmp_path)}
    assert seen == {
        "0.png": ("ok", None),
        "1.jpg": ("blank", "black"),
        "2.png": ("blank", "one colour (0, 0, 128)"),
        "3.png": ("blank", "fully transparent"),
        "4.tiff": ("ok", None),
        "5.tiff": ("ok", None),
        "6.tiff": ("ok", None),
    }


def test_a_manifest(tmp_path: Path) -> None:
    put(tmp_path, "x/a.png")
    outside = put(tmp_path.parent / "elsewhere", "b.png")
    manifest = tmp_path / "m.csv"
    manifest.write_text(
        "path,role,condition,generator,prompt,seed\n"
        f"x/a.png,nurse,ca-u,Flux,in a park,5\n{outside},,,,,\nx/missing.png,nurse,,,,\n"
    )
    first, second, third = scan(tmp_path, manifest=manifest)
    assert (first.role, first.condition, first.generator) == ("nurse", "CA-U", "Flux")
    assert (first.prompt, first.seed, first.status) == ("in a park", 5, "ok")
    assert (second.path, second.role, second.condition) == (outside, "all", "CF")
    assert (second.generator, second.seed, second.status) == ("images", None, "ok")
    assert (third.status, third.reason, third.sha256) == ("corrupt", "file not found", None)
    assert survey(tmp_path, manifest=manifest).skipped == ()


def test_a_manifest_with_an_unknown_condition(tmp_path: Path) -> None:
    manifest = tmp_path / "m.csv"
    manifest.write_text("path,condition\na.png,CF\nb.png,CB\n")
    with pytest.raises(InputError, match=r"m\.csv line 3: 'CB' is no condition"):
        scan(tmp_path, manifest=manifest)


@pytest.mark.parametrize("again", ["./a.png", "x/../a.png", "{root}/a.png"])
def test_a_manifest_names_a_file_once(tmp_path: Path, again: str) -> None:
    put(tmp_path, "a.png")
    manifest = tmp_path / "m.csv"
    manifest.write_text(f"path,role\na.png,nurse\n{again.format(root=tmp_path)},welder\n")
    with pytest.raises(InputError, match=r"m\.csv lines 2 and 3 both name .*a\.png"):
        scan(tmp_path, manifest=manifest)


def test_a_manifest_of_another_system_finds_its_files(tmp_path: Path) -> None:
    """Windows writes other slashes; macOS takes accented letters of file names apart."""
    put(tmp_path, "a/x.png")
    taken_apart = put(tmp_path, unicodedata.normalize("NFD", "Bäckerin/Müller.png"))
    composed = put(tmp_path, "Köchin.png")
    manifest = tmp_path / "m.csv"
    names = ["a\\x.png", "Bäckerin\\Müller.png", unicodedata.normalize("NFD", "Köchin.png")]
    manifest.write_text("path\n" + "\n".join(names) + "\n")
    found = scan(tmp_path, manifest=manifest)
    assert {each.status for each in found} == {"ok"}
    assert [each.path for each in found[1:]] == [taken_apart, composed]


def test_two_spellings_of_one_role_are_one_role(tmp_path: Path) -> None:
    put(tmp_path, "Bäckerin/Bild/1.png")
    put(tmp_path, unicodedata.normalize("NFD", "Bäckerin/Bild/2.png"))
    pattern = unicodedata.normalize("NFD", "{role}/{prompt}/{seed}.png")
    assert {(f.role, f.prompt) for f in scan(tmp_path, pattern=pattern)} == {("Bäckerin", "Bild")}
    assert len(scan(tmp_path, pattern=unicodedata.normalize("NFD", "Bäckerin/{prompt}/*.png"))) == 2
    manifest = tmp_path / "m.csv"
    rows = ["Bäckerin/Bild/1.png", unicodedata.normalize("NFD", "Bäckerin/Bild/2.png")]
    manifest.write_text("path,role\n" + "".join(f"{n},{n.partition('/')[0]}\n" for n in rows))
    assert {f.role for f in scan(tmp_path, manifest=manifest)} == {"Bäckerin"}


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    put(tmp_path, "a.png")
    os.mkfifo(tmp_path / "b.png")
    (tmp_path / "c.png").symlink_to("c.png")
    (tmp_path / "d.png").symlink_to("nowhere.png")
    (tmp_path / "e.png").symlink_to("/dev/zero")
    seen = {each.path.name: each.reason for each in scan(tmp_path)}
    assert (seen["a.png"], seen["b.png"], seen["e.png"]) == (None, "not a file", "not a file")
    assert str(seen["c.png"]).startswith("cannot be opened")
    assert seen["d.png"] == "file not found"


def test_names_that_cannot_be_stored_are_left_out(tmp_path: Path) -> None:
    put(tmp_path, "a.png")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.png")).write_bytes(picture())
    seen = survey(tmp_path)
    assert [each.path.name for each in seen.found] == ["a.png"]
    assert [each.why for each in seen.skipped] == ["its name is not UTF-8"]


def test_studies_inside_the_folder_are_not_looked_into(tmp_path: Path) -> None:
    put(tmp_path, "a.png")
    put(tmp_path, "study/images/b.png")
    put(tmp_path, "study/study.toml", b"")
    assert [each.path.name for each in scan(tmp_path)] == ["a.png"]
    assert [each.path.name for each in scan(tmp_path / "study")] == ["b.png"]


def test_a_pattern_may_begin_with_a_dot(tmp_path: Path) -> None:
    put(tmp_path, "nurse/1.png")
    (found,) = scan(tmp_path, pattern="./{role}/{seed}.png")
    assert (found.role, found.seed) == ("nurse", 1)


def test_folders_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a folder of images: no such folder"):
        scan(tmp_path / "none")
    file = put(tmp_path, "a/file.txt", b"")
    with pytest.raises(InputError, match="is not a folder of images: it is a file"):
        scan(file)
    with pytest.raises(InputError, match=r"holds no image \(seen: 1 .txt\)"):
        scan(tmp_path)
    (tmp_path / "b").mkdir()
    with pytest.raises(InputError, match=r"holds no image \(seen: empty\)"):
        scan(tmp_path / "b")
    with pytest.raises(InputError, match=r"it is a file\. Unpack it, and give the folder"):
        scan(put(tmp_path, "pictures.ZIP", b"PK"))
    with pytest.raises(InputError, match="both a pattern and a manifest"):
        scan(tmp_path, pattern=FULL, manifest=file)


def test_nothing_that_matches_shows_an_example(tmp_path: Path) -> None:
    put(tmp_path, "nurse/1.png")
    with pytest.raises(InputError) as caught:
        scan(tmp_path, pattern=FULL)
    assert "matches the pattern" in str(caught.value)
    assert "nurse/1.png, for example, does not match the pattern" in str(caught.value)
    put(tmp_path, "g/CX/nurse/p/2.png")
    (tmp_path / "nurse" / "1.png").unlink()
    with pytest.raises(InputError, match="is left out because 'CX' is no condition"):
        scan(tmp_path, pattern=FULL)


def test_no_readable_image(tmp_path: Path) -> None:
    put(tmp_path, "a.png", b"")
    put(tmp_path, "b.png", b"x")
    with pytest.raises(InputError) as caught:
        scan(tmp_path)
    assert "no readable image (2 looked at; a.png: the file is empty)" in str(caught.value)


def test_a_folder_and_a_file_without_permission(
    public_folder: Path, as_nobody: Callable[[str], object]
) -> None:
    put(public_folder, "open.png")
    put(public_folder, "closed.png").chmod(0)
    put(public_folder, "shut/in.png")
    (public_folder / "shut").chmod(0)
    script = (
        "from pathlib import Path\n"
        "from contextbias.generate.folder import survey\n"
        f"seen = survey(Path({str(public_folder)!r}))\n"
        "print([(f.path.name, f.status, f.reason) for f in seen.found])\n"
        "print([(s.path.name, s.why) for s in seen.skipped])\n"
    )
    denied = "cannot be opened: Permission denied"
    run = as_nobody(script)
    assert run.stdout.splitlines() == [  # type: ignore[attr-defined]
        f"[('closed.png', 'corrupt', '{denied}'), ('open.png', 'ok', None)]",
        f"[('shut', '{denied}')]",
    ], run


def test_links_to_folders_are_not_followed_and_told(tmp_path: Path) -> None:
    put(tmp_path, "a/x.png")
    link = tmp_path / "a" / "loop"
    link.symlink_to(tmp_path)
    seen = survey(tmp_path)
    assert len(seen.found) == 1
    assert seen.skipped == (Skipped(link, "a link to a folder, which is not followed"),)
