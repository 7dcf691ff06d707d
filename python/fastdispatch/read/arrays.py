"""Types of numpy arrays."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Unsigned = NDArray[np.uint64]
#: With named columns.
Rows = NDArray[Any]
