"""Programs that are run in processes of their own: they die, fork or misbehave."""
