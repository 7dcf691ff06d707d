"""The start-up hook, outside of the package: a process without ``FASTDISPATCH`` must not import the package.

Python calls ``start`` through ``fastdispatch-startup.start`` (PEP 829, Python 3.15 and later) or
``fastdispatch-startup.pth``.
"""


def start() -> None:
    import os
    import sys

    value = os.environ.get("FASTDISPATCH", "0")
    if value in ("", "0") or (value == "children" and not any("multiprocessing." in each for each in sys.orig_argv)):
        return
    try:
        import fastdispatch.startup  # noqa: F401
    except ImportError as error:
        if "subinterpreters" not in str(error) and sys.stderr:
            print("fastdispatch: not recording:", error, file=sys.stderr)
