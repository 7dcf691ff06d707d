"""Slow, simple reference implementations in Python."""
