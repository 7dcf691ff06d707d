"""Programs for separate processes: they crash, fork or misbehave."""
