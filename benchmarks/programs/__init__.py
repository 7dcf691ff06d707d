"""Programs that the benchmarks record in a process of their own."""
