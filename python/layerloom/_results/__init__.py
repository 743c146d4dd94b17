"""Reads results of studies and analyses from disk with the standard library alone, without an engine."""
