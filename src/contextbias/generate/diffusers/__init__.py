"""Open text-to-image models by the library diffusers; see docs/diffusers.md.

What to read first: recipe.py turns options into the arguments of a call, profiles.toml knows the
models, and backend.py is the generator. Nothing here loads torch before it is needed.
"""

from contextbias.generate.diffusers.backend import DiffusersGenerator

__all__ = ["DiffusersGenerator"]
