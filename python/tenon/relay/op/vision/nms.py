"""Operators on boxes of detectors: functions whose limits may be plain numbers."""

from ...expr import Expr, TupleWrapper, const
from .. import _rows


def _limit(dtype):
    return lambda value: value if isinstance(value, Expr) else const(value, dtype)


get_valid_counts = _rows.wrapper(
    "vision.get_valid_counts",
    forms={"score_threshold": _limit("float32")},
    finish=lambda call: TupleWrapper(call, 3),
)
all_class_non_max_suppression = _rows.wrapper(
    "vision.all_class_non_max_suppression",
    defaults={
        "max_output_boxes_per_class": -1,
        "iou_threshold": -1.0,
        "score_threshold": -1.0,
    },
    forms={
        "max_output_boxes_per_class": _limit("int32"),
        "iou_threshold": _limit("float32"),
        "score_threshold": _limit("float32"),
    },
    finish=lambda call: TupleWrapper(call, 2),
)
non_max_suppression = _rows.wrapper(
    "vision.non_max_suppression",
    defaults={"max_output_size": -1, "iou_threshold": 0.5},
    forms={"max_output_size": _limit("int32"), "iou_threshold": _limit("float32")},
    finish=lambda call: TupleWrapper(call, 2) if call.attrs.return_indices else call,
)

__all__ = ["all_class_non_max_suppression", "get_valid_counts", "non_max_suppression"]
