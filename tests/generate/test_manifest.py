"""Manifests of existing images."""

from pathlib import Path

import pytest

from contextbias.errors import InputError
from contextbias.generate.manifest import ManifestRow, read_manifest


def written(folder: Path, text: str, name: str = "m.csv") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def row(line: int, path: str, **fields: object) -> ManifestRow:
    empty = dict.fromkeys(("role", "condition", "generator", "prompt", "seed"))
    return ManifestRow(line=line, path=path, **(empty | fields))  # type: ignore[arg-type]


def test_csv_columns_in_any_order(tmp_path: Path) -> None:
    text = 'seed,role,path,caption\n7,nurse,a.png,"one, two"\n,,"b, c.png",\n'
    assert read_manifest(written(tmp_path, text)) == [
        row(2, "a.png", role="nurse", seed=7),
        row(3, "b, c.png"),
    ]


def test_csv_with_byte_order_mark_spaces_and_quoted_line_breaks(tmp_path: Path) -> None:
    text = '\ufeffpath, prompt\r\na.png,"a photo\nof a nurse"\r\nb.png, x \r\n'
    assert read_manifest(written(tmp_path, text)) == [
        row(3, "a.png", prompt="a photo\nof a nurse"),
        row(4, "b.png", prompt="x"),
    ]


@pytest.mark.parametrize("mark", [";", "\t"])
@pytest.mark.parametrize("name", ["m.csv", "M.TSV"])
def test_marks_of_other_spreadsheets(tmp_path: Path, mark: str, name: str) -> None:
    lines = [["role", '"path"', "prompt"], ["Bäckerin", f'"a{mark} b, c.png"', "one, two"]]
    text = "\ufeff" + "\r\n".join(map(mark.join, lines)) + "\r\n"
    assert read_manifest(written(tmp_path, text, name)) == [
        row(2, f"a{mark} b, c.png", role="Bäckerin", prompt="one, two")
    ]
    with pytest.raises(InputError, match=r"3 fields where the header has 2\. Put texts with a"):
        read_manifest(written(tmp_path, mark.join(["path", "role\na.png", "x", "y\n"]), name))


def test_jsonl(tmp_path: Path) -> None:
    text = '{"path": "a.png", "seed": 3, "condition": "CA-R"}\n\n{"path": "b.png", "seed": null}\n'
    for name in ("m.jsonl", "M.NDJSON"):
        assert read_manifest(written(tmp_path, text, name)) == [
            row(1, "a.png", seed=3, condition="CA-R"),
            row(3, "b.png"),
        ]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("m.csv", "role\nnurse\n", "m.csv has no column 'path'; its header is 'role'"),
        ("m.csv", "", "m.csv is empty. Its header is path"),
        ("m.csv", "path\n", "has no rows"),
        ("m.csv", "path,conditon\na,CF\n", "unknown column 'conditon'. Did you mean 'condition'"),
        ("m.csv", "path,seed\na.png,1\nb.png,x1\n", "line 3: the seed 'x1' is not a whole number"),
        ("m.csv", "path,seed\na.png,-1\n", "line 2: the seed '-1' is not a whole number"),
        ("m.csv", "path,role\n,nurse\n", "line 2 has no path"),
        ("m.csv", "path\na.png,b\n", "line 2: 2 fields where the header has 1"),
        ("m.csv", 'path\n"a.png\n', "line 2: not CSV"),
        ("m.csv", "path,seed\na.png,9223372036854775808\n", "is not a whole number from 0 to"),
        ("m.csv", "path,path\na.png,b.png\n", "m.csv has the column 'path' twice"),
        ("m.csv", "path\na\0.png\n", "line 2: path is 'a\\x00.png'"),
        ("m.jsonl", '{"path": "a", "role": "x\\ny"}\n', "line 1: role is 'x\\ny'"),
        ("m.jsonl", '{"path": ["a.png"]}\n', "line 1: path is ['a.png']"),
        ("m.jsonl", '{"path": "a", "role": "\\ud800"}\n', "line 1: role is not Unicode text"),
        ("m.jsonl", '{"path": "a", "seed": true}\n', "line 1: seed is True"),
        ("m.jsonl", '{"path": "a"}\n{"path"\n', "line 2 is not valid JSON"),
        ("m.jsonl", '["a.png"]\n', "line 1 is not an object"),
        ("m.jsonl", '{"file": "a"}\n', "line 1 has no column 'path' (seen: file)"),
        ("m.xlsx", "path\n", "is neither .csv, .tsv nor .jsonl"),
    ],
)
def test_a_fault_is_named_with_its_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_manifest(written(tmp_path, text, name))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_only_line_ends_end_a_line(tmp_path: Path) -> None:
    text = '{"path": "a.png", "prompt": "one\u2028two"}\n'
    expected = [row(1, "a.png", prompt="one\u2028two")]
    assert read_manifest(written(tmp_path, text, "m.jsonl")) == expected
    (only,) = read_manifest(written(tmp_path, "path,prompt\na.png,one\u2028two\n"))
    assert only.prompt == "one\u2028two"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*none\.csv: no such file"):
        read_manifest(tmp_path / "none.csv")
    (tmp_path / "latin.csv").write_bytes(b"path\n\xe9.png\n")
    with pytest.raises(InputError, match="line 2: not UTF-8"):
        read_manifest(tmp_path / "latin.csv")
