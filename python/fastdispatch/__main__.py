"""``python -m fastdispatch``."""

import sys

from fastdispatch.cli import main

sys.exit(main())
