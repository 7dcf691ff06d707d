"""Reports: models of what a recording says, and their text in a terminal."""
