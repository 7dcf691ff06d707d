"""Formats of numbers and tables."""
