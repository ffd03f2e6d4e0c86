"""Boxes of detectors: functions that take several numbers."""

from ...expr import TupleWrapper
from .. import _rows


def _floats(value):
    return [float(x) for x in value]


multibox_prior = _rows.wrapper(
    "vision.multibox_prior",
    forms={name: _floats for name in ("sizes", "ratios", "steps", "offsets")},
)
multibox_transform_loc = _rows.wrapper(
    "vision.multibox_transform_loc",
    forms={"variances": _floats},
    finish=lambda call: TupleWrapper(call, 2),
)

proposal = _rows.wrapper("vision.proposal", forms={name: _floats for name in ("scales", "ratios")})

__all__ = ["multibox_prior", "multibox_transform_loc", "proposal"]
