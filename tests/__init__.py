"""A package, so that no module `tests` of an installed distribution is found first."""
