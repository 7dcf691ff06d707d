"""Compare CPython's own regression tests with and without the recorder."""
