"""Reports: models of recordings, and their text in a terminal."""
