"""The version of the package; its metadata have it from here (pyproject.toml)."""

__version__ = "0.1.0"
