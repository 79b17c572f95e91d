"""Runs in a folder: look at a table, play, keep, go on, compare."""
