"""The wheels: built for each Python, inspected, installed in an environment without anything else."""
