"""study.toml of small simulated studies, for tests that run one."""

from __future__ import annotations


def two_roles(more: str = "", *, workers: int = 1) -> str:
    """A nurse and a welder, one picture a prompt; `more` are sections that a test needs."""
    return f"""
[study]
seed = 3
images_per_prompt = 1
[bench]
roles = ["nurse", "welder"]
[[generators]]
name = "drawn"
backend = "simulated"
options = {{ size = 64 }}
[[readers]]
name = "vlm"
backend = "simulated"
{more}
[measure]
bootstrap = 10
[run]
workers = {workers}
"""


def one_role(compliance: float = 1.0) -> str:
    """A nurse, one picture a prompt, and a reader without errors."""
    return f"""
[study]
images_per_prompt = 1
[bench]
roles = ["nurse"]
[measure]
bootstrap = 20
[run]
workers = 1
[[generators]]
name = "g"
backend = "simulated"
options = {{ size = 64, compliance = {compliance} }}
[[readers]]
name = "r"
backend = "simulated"
options = {{ preset = "noiseless" }}
"""
