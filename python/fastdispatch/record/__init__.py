"""Recording: what runs inside the program that is recorded."""
