"""Regions of feature maps as functions of te tensors."""

from ... import relay as _relay
from .. import _calls


def roi_pool_nchw(data, rois, pooled_size, spatial_scale):
    """Maxima of the parts of boxes, on a grid of one size."""
    return _calls.apply(_relay.vision.roi_pool, data, rois, pooled_size, spatial_scale)


def roi_align_nchw(data, rois, pooled_size, spatial_scale, mode="avg", sample_ratio=-1):
    """Means (or maxima) of points in the cells of boxes, interpolated."""
    mode = mode.decode() if isinstance(mode, bytes) else {0: "avg", 1: "max"}.get(mode, mode)
    return _calls.apply(
        _relay.vision.roi_align, data, rois, pooled_size, spatial_scale, sample_ratio, "NCHW", mode
    )


def proposal(
    cls_prob,
    bbox_pred,
    im_info,
    scales,
    ratios,
    feature_stride,
    threshold,
    rpn_pre_nms_top_n,
    rpn_post_nms_top_n,
    rpn_min_size,
    iou_loss,
):
    """Regions of images that show something, the best first."""
    return _calls.apply(
        _relay.vision.proposal,
        cls_prob,
        bbox_pred,
        im_info,
        scales,
        ratios,
        feature_stride,
        threshold,
        rpn_pre_nms_top_n,
        rpn_post_nms_top_n,
        rpn_min_size,
        iou_loss,
    )


__all__ = ["proposal", "roi_align_nchw", "roi_pool_nchw"]
