"""Programs that the benchmarks record in separate processes."""
