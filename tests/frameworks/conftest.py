"""These tests need the packages that ``make test-frameworks`` installs."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("lightning") is not None else ["test_*.py"]
