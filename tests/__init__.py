"""Tests; a package, so that a `tests` which an installed distribution left behind is not found first."""
