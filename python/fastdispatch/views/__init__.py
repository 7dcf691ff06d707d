"""What people look at: each view reads a finished :class:`fastdispatch.Trace` and nothing else."""
