"""Boxes of single-shot detectors as functions of te tensors."""

from ... import relay as _relay
from .. import _calls


def multibox_prior(data, sizes=(1,), ratios=(1,), steps=(-1, -1), offsets=(0.5, 0.5), clip=False):
    """Boxes around each place of a feature map."""
    return _calls.apply(
        _relay.vision.multibox_prior, data, sizes, ratios, steps, offsets, bool(clip)
    )


def multibox_transform_loc(
    cls_prob,
    loc_pred,
    anchor,
    clip=True,
    threshold=0.01,
    variances=(0.1, 0.1, 0.2, 0.2),
    keep_background=False,
):
    """Boxes that show something, moved as predicted, and how many there are."""
    return _calls.apply(
        _relay.vision.multibox_transform_loc,
        cls_prob,
        loc_pred,
        anchor,
        bool(clip),
        threshold,
        variances,
        bool(keep_background),
    )


def multibox_detection(
    cls_prob,
    loc_pred,
    anchor,
    clip=True,
    threshold=0.01,
    nms_threshold=0.5,
    force_suppress=False,
    variances=(0.1, 0.1, 0.2, 0.2),
    nms_topk=-1,
):
    """Boxes that do not overlap one with a greater score: rows of class, score and box."""

    def detected(scores, locations, anchors):
        rows, count = _relay.vision.multibox_transform_loc(
            scores, locations, anchors, bool(clip), threshold, variances
        )
        return _relay.vision.non_max_suppression(
            rows,
            count,
            rows,
            max_output_size=-1,
            iou_threshold=nms_threshold,
            force_suppress=bool(force_suppress),
            top_k=nms_topk,
            return_indices=False,
        )

    return _calls.apply(detected, cls_prob, loc_pred, anchor)


__all__ = ["multibox_detection", "multibox_prior", "multibox_transform_loc"]
