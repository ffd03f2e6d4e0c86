"""Regions of feature maps: functions whose sizes may be one number."""

from .. import _rows


def _pair(n):
    return [n, n] if isinstance(n, int) else n


roi_align = _rows.wrapper("vision.roi_align", forms={"pooled_size": _pair})
roi_pool = _rows.wrapper("vision.roi_pool", forms={"pooled_size": _pair})

__all__ = ["roi_align", "roi_pool"]
