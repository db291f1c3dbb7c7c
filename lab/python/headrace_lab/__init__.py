"""The lab: servers to race on, the race itself, its statistics and reports.

The lab uses drivers only through their public face, headrace included.
"""

from typing import Final

INTERRUPTED: Final = 130
"""The exit code after Ctrl-C, as shells have it."""
