"""Slow and obvious recorders, written in Python, that the fast one must agree with."""
