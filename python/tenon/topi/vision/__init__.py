"""Operators on boxes as functions of te tensors."""

from ... import relay as _relay
from .. import _calls
from . import rcnn, ssd
from .rcnn import proposal, roi_align_nchw, roi_pool_nchw
from .ssd import multibox_detection, multibox_prior, multibox_transform_loc


def reorg(data, stride):
    """Blocks of images as channels, in the order of YOLO."""
    return _calls.apply(_relay.vision.yolo_reorg, data, stride)


_fetch = _calls.attach(__name__, "vision.", ())


def __getattr__(name):
    return _fetch(name)
