"""Random numbers in programs (`tenon.relay.op.random`)."""

from .op.random import *  # noqa: F403
from .op.random import __all__  # noqa: F401
