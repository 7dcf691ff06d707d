"""Selection of the back end that records PyTorch's operators."""

from typing import Literal

from fastdispatch._core import Error, Session
from fastdispatch.record import models, probe
from fastdispatch.record.dispatch import DispatchMode, limits
from fastdispatch.record.environment import torch_version


class Operators:
    """The back end of a running session: ``source`` is its name, ``reason`` the reason for its choice."""

    def __init__(self, session: Session, wanted: str, operands: bool = False, measured: bool = False) -> None:
        self._mode: DispatchMode | None = None
        self.source: Literal["record", "dispatch"] = "dispatch"
        self.reason = "requested"
        wanted = "record" if operands or measured else wanted
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
                if operands or measured:
                    probe.attach_operands(session, models.teller(session) if operands else None)
                return
        self.reason = "; ".join(filter(None, [self.reason, limits()]))
        self._mode = DispatchMode()
        self._mode.push()

    def facts(self) -> dict[str, object]:
        """Return facts of the recording."""
        return {"ops": self.source, "ops_reason": self.reason, "torch": torch_version()}

    def detach(self) -> None:
        """Remove a dispatch mode; record functions end with the session."""
        if self._mode is not None:
            self._mode.remove()
            self._mode = None
