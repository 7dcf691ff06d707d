"""CPython's own regression tests, plain and under the recorder: what the recorder changes shows as a difference."""
