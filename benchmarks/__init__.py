"""What recording costs: time, memory, files. ``python -m benchmarks``, or ``make bench``."""
