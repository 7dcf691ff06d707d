"""A second interpreter, created on another thread, runs Python code and ends."""

import sys
import threading

if sys.version_info >= (3, 13):
    import _interpreters

    def run(text: str) -> None:
        other = _interpreters.create("legacy" if "legacy" in sys.argv else "isolated")
        error = _interpreters.exec(other, text)
        _interpreters.destroy(other)
        assert error is None, error

else:
    import _xxsubinterpreters

    def run(text: str) -> None:
        other = _xxsubinterpreters.create(isolated="legacy" not in sys.argv)
        _xxsubinterpreters.run_string(other, text)
        _xxsubinterpreters.destroy(other)


PROGRAM = """
def leaf():
    return 1

assert sum(leaf() for _ in range(100)) == 100
try:
    import fastdispatch
except ImportError as error:
    assert "subinterpreters" in str(error)
else:
    raise AssertionError("loaded in another interpreter")
"""


def in_the_program() -> None:
    run(PROGRAM)


if __name__ == "__main__":
    thread = threading.Thread(target=in_the_program)
    thread.start()
    thread.join()
    in_the_program()
    print("end")
