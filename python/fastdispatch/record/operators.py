"""Selection of the back end that records PyTorch's operators."""

from __future__ import annotations

from fastdispatch._core import Error, Session
from fastdispatch.record import models, probe
from fastdispatch.record.dispatch import DispatchMode


class Operators:
    """The back end of a running session: ``source`` is its name, ``reason`` the reason for its choice."""

    def __init__(self, session: Session, wanted: str, operands: bool = False) -> None:
        self._mode: DispatchMode | None = None
        self.source = "dispatch"
        self.reason = "asked for"
        if wanted != "dispatch":
            try:
                layout = session.attach_records(probe.run)
            except Error as error:
                if wanted == "record":
                    raise Error(f"ops='record': {error}: use ops='dispatch'") from None
                self.reason = f"record refused: {error}"
            else:
                self.source = "record"
                self.reason = f"self-test passed: {layout}"
                if operands:
                    probe.attach_operands(session, models.teller(session))
                return
        self._mode = DispatchMode()
        self._mode.push()

    def detach(self) -> None:
        """Remove a dispatch mode; record functions end with the session."""
        if self._mode is not None:
            self._mode.remove()
            self._mode = None
