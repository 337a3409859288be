"""CSV tables that people edit, and that other programs write: one way to read all of them.

The header tells what parts the cells: comma, semicolon (table editors, where the comma is the
decimal point) or tab. A byte order mark and a first line ``sep=;`` are passed over. What a cell
means is up to the caller.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from contextbias.errors import InputError, nearest
from contextbias.files import unreadable

_SEPARATORS = ",;\t"
_SHOWN = 200  # characters of a header that an error repeats


def read_text(path: Path) -> str:
    """The text of a file.

    Raises:
        InputError: It cannot be read, or is not UTF-8.
    """
    try:
        data = path.read_bytes()
    except IsADirectoryError:
        raise InputError(f"{path} is a folder, not a file", "give a CSV file") from None
    except OSError as error:
        raise unreadable(path, error) from None
    return text_of(data, str(path))


def text_of(data: bytes, name: str) -> str:
    """The text of the bytes of a file called `name`.

    Raises:
        InputError: They are not UTF-8; it names the line.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{name}, line {line}: not UTF-8",
            "save it as UTF-8: table editors ask for the character set of a CSV",
        ) from None


class Sheet:
    """A table with a header, read from its top.

    Args:
        text: The file's content.
        name: Its name, for messages.
        needed: Columns that the header must have.
        known: Others that it may have; they help to tell what parts the cells.
        others: Whether columns of other names may stand beside these; they are read all the same.

    Raises:
        InputError: There is no header, a column is missing, there twice, or of another name.
    """

    def __init__(
        self,
        text: str,
        name: str,
        needed: Sequence[str],
        known: Sequence[str] = (),
        *,
        others: bool = True,
    ) -> None:
        self._name = name
        self._before = 0
        if text[:4].lower() == "sep=":  # a hint for one editor
            text = "".join(re.split(r"\r\n|\r|\n", text, maxsplit=1)[1:])
            self._before = 1
        columns = list(dict.fromkeys([*needed, *known]))
        self.separator = _separator(text, columns)
        self._reader = csv.reader(
            io.StringIO(text, newline=""), delimiter=self.separator, strict=True
        )
        self.header = self._header(needed)
        self._check_header(needed, columns, others=others)
        # The cells of columns that nobody needs may be left out at the end of a row.
        self._least = max((self.header.index(name) + 1 for name in needed), default=0)

    def _header(self, needed: Sequence[str]) -> list[str]:
        names = [cell.strip() for cell in next(self._records(), (0, []))[1]]
        while names and not names[-1]:  # separators without a name at the end
            names.pop()
        if not names:
            columns = f"its header is {','.join(needed)}" if needed else "begin it with a header"
            raise InputError(f"{self._name} is empty", columns)
        return names

    def _check_header(self, needed: Sequence[str], columns: list[str], *, others: bool) -> None:
        unknown = [name for name in self.header if name not in columns]
        if unknown and not others:
            hint = nearest(unknown[0], columns) or f"columns are {', '.join(columns)}"
            raise InputError(f"{self._name} has a column {unknown[0]!r}", hint)
        for name in needed:
            if name not in self.header:
                seen = self.separator.join(self.header)
                seen = repr(seen if len(seen) <= _SHOWN else seen[: _SHOWN - 1] + "…")
                raise InputError(
                    f"{self._name} has no column {name!r}; its header is {seen}",
                    nearest(name, unknown)
                    or f"begin it with a line of names, parted by commas: {','.join(needed)}",
                )
        for name in self.header:
            if name in columns and self.header.count(name) > 1:
                raise InputError(f"{self._name} has the column {name!r} twice", "keep one of them")

    def rows(self) -> Iterator[tuple[int, dict[str, str]]]:
        """The rows that are not blank.

        Yields:
            The line that the row ends on, from 1, and its cells by column, as they stand there;
            those left out at the end of a row are empty.

        Raises:
            InputError: A row is no CSV, does not reach the last column that is needed, or has cells
                beyond the header.
        """
        width = len(self.header)
        for line, record in self._records():
            if len(record) < self._least or any(cell.strip() for cell in record[width:]):
                point = ", and write decimals with a point" if self.separator == "," else ""
                raise self._wrong(
                    line,
                    f"{len(record)} fields where the header has {width}",
                    f"put texts with a {self.separator!r} into double quotes{point}",
                )
            cells = record[:width] + [""] * (width - len(record))
            yield line, dict(zip(self.header, cells, strict=True))

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        while True:
            try:
                record = next(self._reader)
            except StopIteration:
                return
            except csv.Error as error:
                line = self._reader.line_num + self._before
                raise self._wrong(line, f"not CSV ({error})", "correct the line") from None
            if any(cell.strip() for cell in record):
                yield self._reader.line_num + self._before, record

    def _wrong(self, line: int, problem: str, fix: str) -> InputError:
        return InputError(f"{self._name}, line {line}: {problem}", fix)


def _separator(text: str, columns: Collection[str]) -> str:
    """The one that sets most of the columns apart in the header; a comma if none does."""
    head = re.split(r"[\r\n]", text.lstrip(f"\r\n {_SEPARATORS}"), maxsplit=1)[0]

    def apart(separator: str) -> int:
        cells = (cell.strip().strip('"').strip() for cell in head.split(separator))
        return sum(cell in columns for cell in cells)

    return max(_SEPARATORS, key=apart)
