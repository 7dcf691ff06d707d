"""Recording: the part of the package that runs inside the recorded program."""
