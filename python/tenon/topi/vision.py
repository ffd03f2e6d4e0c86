"""Operators on boxes as functions of te tensors."""

from .. import relay as _relay
from . import _calls


def _roi(name):
    def pool(data, rois, pooled_size, spatial_scale, *args, **kwargs):
        """Features of boxes of images, on a grid of one size."""
        function = getattr(_relay.vision, name)
        return _calls.apply(function, data, rois, pooled_size, spatial_scale, *args, **kwargs)

    pool.__name__ = pool.__qualname__ = f"{name}_nchw"
    return pool


roi_pool_nchw = _roi("roi_pool")


def roi_align_nchw(data, rois, pooled_size, spatial_scale, mode="avg", sample_ratio=-1):
    """Means (or maxima) of points in the cells of boxes, interpolated."""
    mode = mode.decode() if isinstance(mode, bytes) else {0: "avg", 1: "max"}.get(mode, mode)
    return _calls.apply(
        _relay.vision.roi_align, data, rois, pooled_size, spatial_scale, sample_ratio, "NCHW", mode
    )


_fetch = _calls.attach(__name__, "vision.", ())


def __getattr__(name):
    return _fetch(name)
