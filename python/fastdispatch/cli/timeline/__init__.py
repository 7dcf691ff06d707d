"""``fastdispatch timeline``: traces over time, of all ranks."""
