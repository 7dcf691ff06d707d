"""Run one module of CPython's regression tests and write the outcome of each test as a line of JSON.

Usage: one_module.py MODULE FILE. A script for the interpreter under test: it imports nothing of this project, so that
plain runs are not affected, and prepares the process like CPython's own runner (``python -m test``).
"""

import faulthandler
import importlib
import json
import os
import sys
import unittest

# Tests replace functions of `os`.
_open, _write, _close = os.open, os.write, os.close


class Lines:
    """A file that is open only while writing a line: tests count descriptors."""

    def __init__(self, path):
        self.path = path

    def add(self, **fields):
        file = _open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            _write(file, json.dumps(fields).encode() + b"\n")
        finally:
            _close(file)


def text_of(error):
    try:
        return f"{error[0].__name__}: {error[1]}".partition("\n")[0][:300]
    except Exception:
        return error[0].__name__


class Outcomes(unittest.TextTestResult):
    lines = None

    def startTest(self, test):
        self.lines.add(test=test.id(), outcome="not finished")
        super().startTest(test)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.lines.add(test=test.id(), outcome="ok")

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.lines.add(test=test.id(), outcome="failed", why=text_of(error))

    def addError(self, test, error):
        super().addError(test, error)
        self.lines.add(test=test.id(), outcome="error", why=text_of(error))

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self.lines.add(test=test.id(), outcome="failed", why=text_of(error))

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.lines.add(test=test.id(), outcome="skipped", why=str(reason))

    def addExpectedFailure(self, test, error):
        super().addExpectedFailure(test, error)
        self.lines.add(test=test.id(), outcome="expected failure")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.lines.add(test=test.id(), outcome="unexpected success")


def recorder():
    """The recorder of this process, if any."""
    module = sys.modules.get("fastdispatch.record.callgraph")
    return module.current() if module is not None else None


def prepare():
    faulthandler.enable()
    sys.addaudithook(lambda event, arguments: None)
    from test import support

    support.use_resources = ["subprocess"]  # without large, slow and network tests


def below(frames, function):
    """Call the function below additional frames: some tests rely on the frames of CPython's own runner."""
    return below(frames - 1, function) if frames else function()


def tests_of(name):
    loader = unittest.TestLoader()
    tests = loader.loadTestsFromModule(importlib.import_module(name))
    if loader.errors:
        sys.exit("\n".join(loader.errors))
    return tests


def main():
    name, path = sys.argv[1:]
    del sys.argv[1:]
    del sys.path[0]  # the folder of this file
    Outcomes.lines = Lines(path)
    graph = recorder()
    Outcomes.lines.add(recorder=graph is not None)
    prepare()
    try:
        tests = tests_of(f"test.{name}")
    except unittest.SkipTest as reason:
        Outcomes.lines.add(test=name, outcome="skipped", why=str(reason))
        return 0
    runner = unittest.TextTestRunner(verbosity=2, resultclass=Outcomes)
    result = below(10, lambda: runner.run(tests))
    if graph is not None:
        Outcomes.lines.add(stats=graph.stats())
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
