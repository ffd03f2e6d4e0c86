"""Random numbers in programs (`tenon.relay.op.random`)."""

from .op.random import (
    multinomial,
    normal,
    threefry_generate,
    threefry_key,
    threefry_split,
    uniform,
)

__all__ = [
    "multinomial",
    "normal",
    "threefry_generate",
    "threefry_key",
    "threefry_split",
    "uniform",
]
