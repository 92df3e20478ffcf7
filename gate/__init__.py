"""session-gate: the session boundary answers for what a coding agent leaves behind.

This package imports nothing by itself: a green start costs what it imports. Authors of checks import from `gate.api`.
"""

__version__ = "0.1.0"
