"""Readings: images in, attribute records out, one file a backend."""
