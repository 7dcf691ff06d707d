"""Differences between recordings, ranks and runs, and limits of them."""
