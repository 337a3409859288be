"""A generator and a reader for contextbias, to copy and change."""
