"""Reads what studies and analyses left on disk, by the standard library alone: no engine is started."""
