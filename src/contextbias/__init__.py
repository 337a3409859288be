"""contextbias: audit whether a text-to-image model's picture of a role adapts to its scene."""

__version__ = "0.1.0"

__all__ = ["__version__"]
