"""A prompt list made elsewhere, brought into a study so that it is what the study asks for."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from contextbias.bench import PromptList, parse_prompt_list
from contextbias.config import parse_config
from contextbias.errors import ConfigError, InputError
from contextbias.files import unreadable, write_atomic
from contextbias.ids import bytes_sha256
from contextbias.progress import counted
from contextbias.store import CONFIG_FILE, Study
from contextbias.tables import CONDITIONS

_NEW_STUDY = """# Made by `contextbias import prompts`.

[study]
name = {name}
seeds = "independent"         # where the list gives no seeds: other ones for every prompt

[bench]
bank = {bank}

# Who draws. Seeds of the list are used for a generator that is called as the list calls it.
# [[generators]]
# name = "SDXL"
# backend = "…"

# [[readers]]
# name = "…"
# backend = "…"
"""


@dataclass(frozen=True, slots=True)
class ImportedPrompts:
    """What came of it."""

    listed: PromptList
    """The list."""
    new: int
    """Prompts that the study did not know."""
    is_new_study: bool
    """Whether its folder was made."""

    def summary(self) -> str:
        """One line: how many prompts of what, which seeds, what was there twice."""
        prompts = self.listed.prompts
        conditions = Counter(prompt.condition for prompt in prompts)
        shares = ", ".join(f"{c} {conditions[c]:,}" for c in CONDITIONS if conditions[c])
        parts = [
            f"{counted(len(prompts), 'prompt')} for {counted(len(self.listed.role_names), 'role')} "
            f"({shares}), {self.new:,} new"
        ]
        if self.listed.seeds:
            parts.append(f"seeds for {', '.join(sorted(self.listed.seeds))}")
        if self.listed.repeated:
            parts.append(f"{self.listed.repeated:,} more say what an earlier entry says")
        return "; ".join(parts)


def import_prompts(source: Path, root: Path) -> ImportedPrompts:
    """Copy a prompt list into a study and make it the study's bank.

    The copy is called after its content, so a study.toml that names it names just these prompts.

    Args:
        source: JSON, JSON lines or CSV; see bench/entries.py.
        root: The study folder; made, with a study.toml, if there is none.

    Raises:
        InputError: The list cannot be read or an entry is wrong; or study.toml has a form that
            cannot be changed here.
    """
    try:
        data = source.read_bytes()
    except OSError as error:
        raise unreadable(source, error) from None
    listed = parse_prompt_list(data, source.name)
    suffix = source.suffix.lower() if source.suffix.lower() in (".json", ".csv") else ".jsonl"
    name = f"prompts-{bytes_sha256(data)[:8]}{suffix}"
    is_new = not (root / CONFIG_FILE).exists()
    if is_new:
        title = json.dumps(f"Prompts of {source.name}", ensure_ascii=False)
        text = _NEW_STUDY.format(name=title, bank=json.dumps(name))
        Study.create(root, text).close()
    with Study.open(root, writing=True) as study:
        config = study.root / CONFIG_FILE
        if not is_new:
            changed = with_bank(config.read_text("utf-8"), name)
            write_atomic(config, changed.encode())
        write_atomic(study.root / name, data)
        return ImportedPrompts(listed, study.append_prompts(listed.prompts), is_new)


def with_bank(text: str, bank: str) -> str:
    """The text of a study.toml with another bank, all else as it was.

    Raises:
        ConfigError: The text is no valid study.toml.
        InputError: Its form is too unusual to be changed line by line.
    """
    before = parse_config(text)
    line = f"bank = {json.dumps(bank)}"
    rows = text.splitlines()
    header = next((i for i, r in enumerate(rows) if re.match(r"\s*\[bench\]\s*(#|$)", r)), None)
    if header is None:
        rows += ["", "[bench]", line]
    else:
        body = range(header + 1, len(rows))
        end = next((i for i in body if re.match(r"\s*\[", rows[i])), len(rows))
        keys = (i for i in range(header + 1, end) if re.match(r"\s*bank\s*=", rows[i]))
        key = next(keys, None)
        rows[header + 1 if key is None else key : header + 1 if key is None else key + 1] = [line]
    changed = "\n".join(rows) + "\n"
    wanted = before.model_copy(update={"bench": before.bench.model_copy(update={"bank": bank})})
    try:
        if parse_config(changed) == wanted:
            return changed
    except ConfigError:
        pass
    raise InputError(
        "study.toml has a form that cannot be changed here", f"write {line} in [bench]"
    )
