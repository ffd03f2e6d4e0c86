"""Rules of operator_calls.py for operators of images, of blocked layouts, of losses and of
gradients."""

import numpy as np
import tenon
from operator_calls import NUMBERS, Call, call, rule, said
from operator_layers import spatial
from tenon import relay


def uniform(g, low, high, shape):
    return (g.rng.random(shape) * (high - low) + low).astype("float32")


# ---- images ----


@rule("image.affine_grid")
def affine_grid(g, name):
    target = [g.number(2, 6), g.number(2, 6)]
    return call(
        name, g.array([g.number(1, 3), 2, 3], "float32"), attrs={"target_shape": target}, loose=True
    )


@rule("image.grid_sample")
def grid_sample(g, name):
    n = g.one_of([2, 2, 3])
    size, to = spatial(g, n, 1), spatial(g, n, 1)
    attrs = {"method": g.one_of(["bilinear", "nearest", "bicubic"][: 2 if n == 3 else 3])}
    attrs |= {"layout": "NCDHW" if n == 3 else "NCHW", "align_corners": g.chance(0.5)}
    attrs["padding_mode"] = g.one_of(["zeros", "border", "reflection"])
    batch = g.number(1, 3)
    # no places where two elements are equally near
    grid = uniform(g, -1.4, 1.4, [batch, n, *to])
    return call(
        name, g.array([batch, g.number(1, 3), *size], "float32"), grid, attrs=attrs, loose=True
    )


@rule("image.crop_and_resize")
def crop_and_resize(g, name):
    layout, count = g.one_of(["NCHW", "NHWC"]), g.number(1, 4)
    shape = [g.number(1, 3), g.number(1, 3), *spatial(g, 2, 2)]
    shape = shape if layout == "NCHW" else [shape[0], *shape[2:], shape[1]]
    boxes = uniform(g, -0.2, 1.2, [count, 4])
    which = g.rng.integers(0, shape[0], count).astype("int32")
    attrs = {"crop_size": [g.number(1, 6), g.number(1, 6)], "layout": layout}
    attrs |= {"method": g.one_of(["bilinear", "nearest_neighbor"]), "extrapolation_value": 0.5}
    return call(name, g.array(shape, "float32"), boxes, which, attrs=attrs, loose=True)


@rule("image.dilation2d")
def dilation2d(g, name):
    attrs = {"strides": [g.number(1, 3)] * 2, "padding": [g.number(0, 2)] * 2}
    attrs["dilations"] = [g.number(1, 3)] * 2
    channels = g.number(1, 4)
    x = g.array([g.number(1, 3), channels, *spatial(g, 2, 6)], "float32")
    return call(
        name, x, g.array([channels, g.number(1, 4), g.number(1, 4)], "float32"), attrs=attrs
    )


@rule("vision.roi_align")
def roi_align(g, name):
    layout = g.one_of(["NCHW", "NHWC"])
    shape = [g.number(1, 3), g.number(1, 3), *spatial(g, 2, 4)]
    count = g.number(1, 4)
    corner = uniform(g, -1, 5, [count, 2])
    rois = np.concatenate(
        [g.rng.integers(0, shape[0], [count, 1]), corner, corner + uniform(g, 0, 5, [count, 2])], 1
    )
    shape = shape if layout == "NCHW" else [shape[0], *shape[2:], shape[1]]
    attrs = {"pooled_size": [g.number(1, 4), g.number(1, 4)], "spatial_scale": 0.75}
    attrs |= {"sample_ratio": g.one_of([-1, 1, 2]), "mode": g.one_of(["avg", "max"])}
    attrs |= {"layout": layout, "aligned": g.chance(0.5)}
    return call(name, g.array(shape, "float32"), rois.astype("float32"), attrs=attrs, loose=True)


@rule("nn.upsampling3d")
def upsampling3d(g, name):
    attrs = {f"scale_{c}": float(g.number(1, 3)) for c in "dhw"}
    attrs["method"] = g.one_of(["nearest_neighbor", "trilinear"])
    return call(name, g.array([1, 2, *spatial(g, 3, 1)], "float32"), attrs=attrs, loose=True)


@rule("nn.correlation")
def correlation(g, name):
    attrs = {"kernel_size": g.one_of([1, 3]), "max_displacement": g.number(0, 3)}
    attrs |= {"stride1": g.number(1, 3), "stride2": g.number(1, 3), "padding": [g.number(0, 4)]}
    attrs["is_multiply"] = g.chance(0.5)
    shape = [g.number(1, 3), g.number(1, 4), *spatial(g, 2, 8)]
    return call(name, g.array(shape, "float32"), g.array(shape, "float32"), attrs=attrs, loose=True)


@rule("nn.deformable_conv2d")
def deformable(g, name):
    size, groups = g.number(1, 4), g.one_of([1, 1, 2])
    parts = g.one_of([1, 2])
    channels, out = 2 * g.number(1, 3), groups * g.number(1, 3)
    attrs = {"strides": [g.number(1, 3)] * 2, "padding": [g.number(0, 2)] * 2}
    attrs |= {"dilation": [g.number(1, 3)] * 2, "groups": groups, "deformable_groups": parts}
    attrs |= {"channels": out, "kernel_size": [size] * 2}
    height, width = spatial(g, 2, 2 * size)
    reach = attrs["dilation"][0] * (size - 1) + 1
    to = [(d + 2 * attrs["padding"][0] - reach) // attrs["strides"][0] + 1 for d in (height, width)]
    batch = g.number(1, 3)
    offset = g.array([batch, 2 * parts * size * size, *to], "float32")
    weight = g.array([out, channels // groups, size, size], "float32")
    x = g.array([batch, channels, height, width], "float32")
    return call(name, x, offset, weight, attrs=attrs, loose=True)


# ---- batches and blocks ----


@rule("nn.space_to_batch_nd")
def space_to_batch(g, name):
    block = [g.number(1, 3) for _ in range(g.number(1, 3))]
    pads, shape = [], [g.number(1, 3)]
    for b in block:
        before, d = g.number(0, 3), g.number(1, 6)
        pads.append([before, g.number(0, 2) * b + -(d + before) % b])
        shape.append(d)
    attrs = {"block_shape": block, "paddings": pads, "pad_value": float(g.number(-2, 3))}
    x = g.array([*shape, *g.shape(0, 1)], g.dtype(["float32", "int32", "float64", "int8"]))
    return call(name, x, attrs=attrs)


@rule("nn.batch_to_space_nd")
def batch_to_space(g, name):
    block = [g.number(1, 3) for _ in range(g.number(1, 3))]
    shape = [int(np.prod(block)) * g.number(1, 3), *(g.number(2, 5) for _ in block)]
    crops = [[g.number(0, b), g.number(0, b)] for b in block]
    x = g.array([*shape, *g.shape(0, 1)], g.dtype(NUMBERS))
    return call(name, x, attrs={"block_shape": block, "crops": crops})


@rule("nn.contrib_conv2d_NCHWc", "nn.contrib_depthwise_conv2d_NCHWc")
def blocked_conv(g, name):
    size, inner, outer = g.number(1, 4), g.one_of([1, 2, 4]), g.one_of([2, 4])
    i, o = g.number(1, 3), g.number(1, 3)
    depthwise = "depthwise" in name
    if depthwise:
        outer, o = inner, i
    attrs = {"strides": [g.number(1, 3)] * 2, "padding": [g.number(0, 2)] * 2}
    attrs |= {"dilation": [g.number(1, 3)] * 2, "channels": o * outer, "kernel_size": [size] * 2}
    attrs |= {"data_layout": f"NCHW{inner}c", "out_layout": f"NCHW{outer}c"}
    attrs["kernel_layout"] = f"OIHW1i{outer}o" if depthwise else f"OIHW{inner}i{outer}o"
    attrs["groups"] = i * inner if depthwise else 1
    x = g.array([g.number(1, 3), i, *spatial(g, 2, 2 * size), inner], "float32")
    w = [o, 1, size, size, 1, outer] if depthwise else [o, i, size, size, inner, outer]
    f = relay.nn.contrib_depthwise_conv2d_nchwc if depthwise else relay.nn.contrib_conv2d_nchwc
    make = lambda x, w: f(x, w, **attrs)  # noqa: E731

    def reference(x, w):
        """The plain convolution, by a loop over the places of the kernel."""
        n, _, h, wide, _ = x.shape
        plain = x.transpose(0, 1, 4, 2, 3).reshape(n, i * inner, h, wide).astype("float64")
        rows = w.transpose(0, 5, 1, 4, 2, 3).reshape(o * outer, -1, size, size)
        p, s, d = attrs["padding"][0], attrs["strides"][0], attrs["dilation"][0]
        plain = np.pad(plain, ((0, 0), (0, 0), (p, p), (p, p)))
        to = [(e + 2 * p - d * (size - 1) - 1) // s + 1 for e in (h, wide)]
        out = 0
        for a in range(size):
            for b in range(size):
                part = plain[:, :, a * d :, b * d :][:, :, ::s, ::s][:, :, : to[0], : to[1]]
                if depthwise:
                    out = out + part * rows[:, 0, a, b][None, :, None, None]
                else:
                    out = out + np.einsum("nihw,oi->nohw", part, rows[:, :, a, b])
        out = out.reshape(n, o, outer, *to).transpose(0, 1, 3, 4, 2)
        return out.astype("float32")

    arrays = x, g.array(w, "float32")
    return Call(make, *arrays, reference=reference, loose=True, text=said(**attrs))


@rule("nn.contrib_dense_pack")
def dense_pack(g, name):
    m, k, inner, n = g.number(1, 5), g.extent(), g.one_of([2, 4, 8]), g.number(1, 4)
    w = g.array([n, k, inner], "float32")

    def make(x, w):
        return relay.nn.contrib_dense_pack(x, w, f"NC{inner}n", units=n * inner)

    def reference(x, w):
        return x @ w.transpose(0, 2, 1).reshape(n * inner, k).T

    return Call(make, g.array([m, k], "float32"), w, reference=reference, loose=True)


@rule("nn.contrib_conv2d_winograd_weight_transform")
def winograd_weight(g, name):
    w = g.array([g.number(1, 5), g.number(1, 5), 3, 3], "float32")
    return call(name, w, attrs={"tile_size": g.one_of([2, 4])}, loose=True)


# ---- normalization, losses ----


@rule("nn.batch_norm")
def batch_norm(g, name):
    shape = [max(d, 1) for d in g.shape(1)]
    axis = g.number(-len(shape), len(shape))
    attrs = {"axis": axis, "center": g.chance(0.7), "scale": g.chance(0.7), "epsilon": 1e-3}
    n = shape[axis]
    arrays = [g.array(s, "float32") for s in (shape, [n], [n], [n])]
    arrays.append(np.abs(g.array([n], "float32")))

    def reference(x, gamma, beta, mean, variance):
        at = [-1 if i == axis % x.ndim else 1 for i in range(x.ndim)]
        y = (x - mean.reshape(at)) / np.sqrt(variance.reshape(at) + 1e-3)
        y = y * gamma.reshape(at) if attrs["scale"] else y
        return (y + beta.reshape(at) if attrs["center"] else y).astype("float32")

    make = lambda *e: relay.nn.batch_norm(*e, **attrs)[0]  # noqa: E731
    static = (1, 2, 3, 4) if g.chance(0.5) else ()
    return Call(make, *arrays, reference=reference, loose=True, static=static, text=said(**attrs))


@rule("nn.cross_entropy", "nn.cross_entropy_with_logits")
def cross_entropy(g, name):
    shape = [g.number(1, 5), g.number(1, 6)]
    x = uniform(g, 0.1, 1, shape)
    y = uniform(g, 0, 1, shape)

    def reference(x, y):
        logs = np.log(x) if name == "nn.cross_entropy" else x
        return np.asarray(-(logs * y).sum() / shape[0], "float32")

    return call(name, x, y, reference=reference, loose=True)


@rule("nn.nll_loss")
def nll_loss(g, name):
    n, classes, more = g.number(1, 5), g.number(1, 5), g.shape(0, 2)
    reduction = g.one_of(["mean", "sum", "none"])
    ignore = g.one_of([-100, 0])
    x = g.array([n, classes, *more], "float32")
    y = g.rng.integers(0, classes, [n, *more]).astype("int32")
    if g.chance(0.2):
        y.flat[:1] = -100
    w = uniform(g, 0.1, 1, [classes])
    attrs = {"reduction": reduction, "ignore_index": ignore}
    return call(name, x, y, w, attrs=attrs, loose=True)


# ---- gradients ----


@rule("nn.max_pool2d_grad", "nn.avg_pool2d_grad")
def pool_grad(g, name):
    size, strides = [g.number(1, 4) for _ in range(2)], [g.number(1, 4) for _ in range(2)]
    attrs = {"pool_size": size, "strides": strides, "padding": [g.number(0, s) for s in size]}
    attrs["ceil_mode"] = g.chance(0.3)
    x = g.array([1, g.number(1, 3), *spatial(g, 2, 4)], "float32")
    to = []
    for d, s, step, p in zip(x.shape[2:], size, strides, attrs["padding"], strict=True):
        more = d + 2 * p - s
        to.append((-(-more // step) if attrs["ceil_mode"] else more // step) + 1)
    if "avg" in name:
        attrs["count_include_pad"] = g.chance(0.5)
    return call(name, g.array([1, x.shape[1], *to], "float32"), x, attrs=attrs, loose=True)


# ---- made by passes ----


def made(name, attrs, **fields):
    """A call of an operator that passes make and programs do not name."""
    fields = tenon.ir.make_node(f"relay.attrs.{attrs}", **fields)
    return lambda *e: relay.Call(relay.op.get(name), e, fields)


@rule("nn.contrib_clear_border")
def clear_border(g, name):
    pads = [g.number(0, 3) for _ in range(4)]
    height, width = g.number(1, 5), g.number(1, 5)
    shape = [1, g.number(1, 3), height + pads[0] + pads[2], width + pads[1] + pads[3]]
    x = g.array([*shape, 4] if g.chance(0.5) else shape, g.dtype(["float32", "int8", "int32"]))

    def reference(x):
        out = np.zeros_like(x)
        rows, columns = slice(pads[0], pads[0] + height), slice(pads[1], pads[1] + width)
        out[:, :, rows, columns] = x[:, :, rows, columns]
        return out

    make = made(name, "ClearBorderAttrs", padding=pads, rows=height)
    return Call(make, x, reference=reference, text=said(padding=pads))


@rule("nn.contrib_conv2d_winograd_NCHWc")
def winograd(g, name):
    i, o, block, tile = g.number(1, 3), g.number(1, 3), g.one_of([4, 8]), g.one_of([2, 4])
    pad = g.number(0, 2)
    x = g.array([g.number(1, 3), i, *spatial(g, 2, 4), block], "float32")
    w = g.array([o * block, i * block, 3, 3], "float32")
    layout, weight = f"NCHW{block}c", f"HWOI{block}o"
    fields = {"tile_size": tile, "padding": [pad] * 4, "channels": o * block}
    fields |= {"data_layout": layout, "kernel_layout": weight, "out_layout": layout}
    f = made(name, "Conv2DWinogradAttrs", out_dtype="float32", **fields)

    def make(x, w):
        u = relay.nn.contrib_conv2d_winograd_weight_transform(w, tile)
        return f(x, relay.layout_transform(u, "HWOI", weight))

    def reference(x, w):
        n, _, h, wide, _ = x.shape
        plain = x.transpose(0, 1, 4, 2, 3).reshape(n, i * block, h, wide).astype("float64")
        plain = np.pad(plain, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
        to = [h + 2 * pad - 2, wide + 2 * pad - 2]
        out = sum(
            np.einsum("nihw,oi->nohw", plain[:, :, a : a + to[0], b : b + to[1]], w[:, :, a, b])
            for a in range(3)
            for b in range(3)
        )
        return out.reshape(n, o, block, *to).transpose(0, 1, 3, 4, 2).astype("float32")

    return Call(make, x, w, reference=reference, loose=True, text=said(**fields))


@rule("vision.roi_pool")
def roi_pool(g, name):
    shape = [g.number(1, 3), g.number(1, 3), *spatial(g, 2, 4)]
    count = g.number(1, 4)
    corner = uniform(g, -3, 6, [count, 2])
    images = g.rng.integers(0, shape[0], [count, 1])
    rois = np.concatenate([images, corner, corner + uniform(g, 0, 6, [count, 2])], 1)
    attrs = {"pooled_size": [g.number(1, 4), g.number(1, 4)], "spatial_scale": g.one_of([1.0, 0.5])}
    return call(name, g.array(shape, "float32"), rois.astype("float32"), attrs=attrs)


@rule("vision.yolo_reorg")
def yolo_reorg(g, name):
    s = g.number(1, 4)
    shape = [g.extent(), g.number(1, 3) * s * s, g.number(1, 3) * s, g.number(1, 3) * s]
    kinds = ["float32", "int32", "int8", "float16", "bool"]
    return call(name, g.array(shape, g.dtype(kinds)), attrs={"stride": s})


def some(g, low, high, count):
    return [round(float(x), 2) for x in uniform(g, low, high, [count])]


@rule("vision.multibox_prior")
def multibox_prior(g, name):
    attrs = {"sizes": some(g, 0.1, 1.5, g.number(1, 4)), "ratios": some(g, 0.2, 3, g.number(1, 4))}
    if g.chance(0.5):
        attrs |= {"steps": some(g, -1, 2, 2), "offsets": some(g, 0, 1, 2)}
    attrs["clip"] = g.chance(0.5)
    x = g.array([g.extent() for _ in range(4)], g.dtype(["float32", "float64"]))
    return call(name, x, attrs=attrs, loose=True)


@rule("vision.multibox_transform_loc")
def multibox_transform_loc(g, name):
    n, classes, boxes = g.extent(), g.number(1, 5), g.extent()
    dtype = g.dtype(["float32", "float64"])
    arrays = [g.array([n, classes, boxes], dtype), g.array([n, boxes * 4], dtype)]
    arrays.append(g.array([1, boxes, 4], dtype))
    attrs = {"clip": g.chance(0.5), "threshold": g.one_of([0.01, 0.5, -2.0])}
    attrs |= {"variances": some(g, 0.05, 0.5, 4), "keep_background": g.chance(0.5)}
    f = lambda *a: relay.vision.multibox_transform_loc(*a, **attrs).tuple_value  # noqa: E731
    return Call(f, *arrays, loose=True, text=said(**attrs))


@rule("vision.proposal")
def proposal(g, name):
    n, scales, ratios = g.number(1, 3), some(g, 0.3, 2, g.number(1, 3)), some(g, 0.4, 2, 2)
    count, (h, w) = len(scales) * len(ratios), spatial(g, 2)
    dtype = g.dtype(["float32", "float64"])
    arrays = [g.array([n, 2 * count, h, w], dtype), g.array([n, 4 * count, h, w], dtype)]
    size = [[h * 16.0 - g.number(0, 3), w * 16.0, 1.0] for _ in range(n)]
    attrs = {"scales": scales, "ratios": ratios, "threshold": g.one_of([0.3, 0.7])}
    attrs |= {"rpn_pre_nms_top_n": g.one_of([-1, 5]), "rpn_post_nms_top_n": g.number(1, 9)}
    attrs |= {"rpn_min_size": g.number(0, 12), "iou_loss": g.chance(0.5)}
    f = lambda *a: relay.vision.proposal(*a, **attrs)  # noqa: E731
    return Call(f, *arrays, np.array(size, dtype), loose=True, text=said(**attrs))
