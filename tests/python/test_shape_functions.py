"""Shape functions of all operators against the types of programs with static shapes.

Some extents of the arguments are made open; what the shape function says of the real ones must be
the static result.
"""

import numpy as np
import pytest
import tenon
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tenon import relay
from tenon.ir.op import Op
from tenon.relay.op import _rows  # noqa: F401  makes the native functions known

_api = tenon.get_global_func

# extents depend on values (test_vm_values.py, test_onnx_dynamic_shape.py), or there are none
BY_VALUES = {"arange", "argwhere", "dyn.broadcast_to", "dyn.full", "dyn.nn.pad", "dyn.one_hot"}
BY_VALUES |= {"dyn.expand_dims", "dyn.sparse_to_dense", "dyn.squeeze"}
BY_VALUES |= {"dyn.image.resize2d", "dyn.nn.upsampling", "dyn.nn.upsampling3d"}
BY_VALUES |= {"dyn.ones", "dyn.reshape", "dyn.strided_slice", "dyn.tile", "dyn.topk", "dyn.zeros"}
BY_VALUES |= {
    "sparse_fill_empty_rows",
    "call_lowered",
    "full",
    "on_device",
    "device_copy",
    "ones",
    "zeros",
}
# instructions of the virtual machine are in no kernel
BY_VALUES |= {name for name in Op.list_op_names() if name.startswith(("memory.", "vm."))}

F, I32, B = "float32", "int32", "bool"
op = relay.op


def x(*shape, dtype=F):
    return relay.TensorType(shape, dtype)


def native(name, *attrs):
    return lambda *args: _api(_rows.maker_name(name))(*args, *attrs)


# name: from four extents, the types of the arguments and what makes the call
CASES = {
    "argmax": lambda a, b, c, d: ([x(a, b, c)], lambda v: relay.argmax(v, axis=1)),
    "argmin": lambda a, b, c, d: ([x(a, b)], lambda v: relay.argmin(v, axis=0, keepdims=True)),
    "argsort": lambda a, b, c, d: ([x(a, b)], relay.argsort),
    "broadcast_to": lambda a, b, c, d: ([x(1, b)], lambda v: relay.broadcast_to(v, (a, b))),
    "broadcast_to_like": lambda a, b, c, d: ([x(b), x(a, b)], op.broadcast_to_like),
    "cast": lambda a, b, c, d: ([x(a, b)], lambda v: relay.cast(v, "int8")),
    "clip": lambda a, b, c, d: ([x(a, b)], lambda v: relay.clip(v, 0.0, 1.0)),
    "concatenate": lambda a, b, c, d: (
        [x(a, b), x(c, b), x(d, b)],
        lambda *v: relay.concatenate(v, 0),
    ),
    "cumprod": lambda a, b, c, d: ([x(a, b)], lambda v: op.cumprod(v, axis=1)),
    "cumsum": lambda a, b, c, d: ([x(a, b)], lambda v: op.cumsum(v, axis=0)),
    "einsum": lambda a, b, c, d: (
        [x(a, b), x(b, c)],
        lambda v, w: op.einsum([v, w], "ij,jk->ik"),
    ),
    "expand_dims": lambda a, b, c, d: ([x(a, b)], lambda v: relay.expand_dims(v, 1, 2)),
    "full_like": lambda a, b, c, d: ([x(a, b), x()], op.full_like),
    "gather": lambda a, b, c, d: (
        [x(a, b), x(a, c, dtype=I32)],
        lambda v, i: relay.gather(v, 1, i),
    ),
    "image.resize1d": lambda a, b, c, d: ([x(a, b, 4)], lambda v: op.image.resize1d(v, (c,))),
    "nn.global_avg_pool2d": lambda a, b, c, d: ([x(a, b, c, d)], op.nn.global_avg_pool2d),
    "nn.global_max_pool2d": lambda a, b, c, d: ([x(a, b, c, d)], op.nn.global_max_pool2d),
    "nn.instance_norm": lambda a, b, c, d: ([x(a, b, c), x(b), x(b)], op.nn.instance_norm),
    "nn.l2_normalize": lambda a, b, c, d: (
        [x(a, b, c)],
        lambda v: op.nn.l2_normalize(v, 1e-5, [1]),
    ),
    "nn.max_pool3d": lambda a, b, c, d: (
        [x(a, b, c + 2, d + 2, 4)],
        lambda v: op.nn.max_pool3d(v, (2, 2, 2), strides=(2, 1, 2)),
    ),
    "reverse_sequence": lambda a, b, c, d: ([x(a, b), x(a, dtype=I32)], op.reverse_sequence),
    "scatter_nd": lambda a, b, c, d: (
        [x(a, b, c), x(2, d, dtype=I32), x(d, c)],
        native("scatter_nd", "add"),
    ),
    "gather_nd": lambda a, b, c, d: ([x(a, b, c), x(2, d, dtype=I32)], op.gather_nd),
    "image.grid_sample": lambda a, b, c, d: ([x(a, b, 4, 5), x(a, 2, c, d)], op.image.grid_sample),
    "image.resize2d": lambda a, b, c, d: (
        [x(a, b, 4, 5)],
        lambda v: op.image.resize2d(v, (c, d)),
    ),
    "mean": lambda a, b, c, d: ([x(a, b, c)], lambda v: relay.mean(v, axis=[0, 2])),
    "nn.avg_pool2d": lambda a, b, c, d: (
        [x(a, b, c + 3, d + 3)],
        lambda v: op.nn.avg_pool2d(v, (2, 3), strides=(2, 1), padding=(1, 1), ceil_mode=True),
    ),
    "nn.batch_flatten": lambda a, b, c, d: ([x(a, b, c, d)], op.nn.batch_flatten),
    "nn.batch_matmul": lambda a, b, c, d: ([x(a, b, c), x(a, d, c)], op.nn.batch_matmul),
    "nn.batch_norm": lambda a, b, c, d: (
        [x(a, b, c), *[x(b)] * 4],
        lambda *v: op.nn.batch_norm(*v).astuple(),
    ),
    "nn.bias_add": lambda a, b, c, d: ([x(a, b, c), x(b)], op.nn.bias_add),
    "nn.contrib_clear_border": lambda a, b, c, d: (
        [x(a, b, c + 2, d + 2)],
        lambda v: op.nn.contrib_clear_border(v, padding=(1, 1, 1, 1), rows=1),
    ),
    "nn.conv1d": lambda a, b, c, d: (
        [x(a, b, c + 3), x(d, b, 3)],
        lambda v, w: op.nn.conv1d(v, w, padding=1, strides=2, kernel_size=3),
    ),
    "nn.conv2d": lambda a, b, c, d: (
        [x(a, b, c + 3, d + 3), x(5, b, 3, 2)],
        lambda v, w: op.nn.conv2d(v, w, padding=(1, 0), strides=(2, 1), dilation=(1, 2)),
    ),
    "nn.conv2d_transpose": lambda a, b, c, d: (
        [x(a, b, c, d), x(b, 5, 3, 3)],
        lambda v, w: op.nn.conv2d_transpose(v, w, strides=(2, 2), channels=5, kernel_size=(3, 3)),
    ),
    "nn.conv3d": lambda a, b, c, d: (
        [x(a, b, c + 2, d + 2, 4), x(3, b, 2, 2, 2)],
        lambda v, w: op.nn.conv3d(v, w, kernel_size=(2, 2, 2), channels=3),
    ),
    "nn.dense": lambda a, b, c, d: ([x(a, b), x(c, b)], op.nn.dense),
    "nn.bitpack": lambda a, b, c, d: (
        [x(a, b * 8, c, dtype="int32")],
        lambda v: op.nn.bitpack(v, 2, 1, 2, "uint8"),
    ),
    "nn.bitserial_dense": lambda a, b, c, d: (
        [x(a, b, dtype="int32"), x(c, b, dtype="int32")],
        op.nn.bitserial_dense,
    ),
    "nn.bitserial_conv2d": lambda a, b, c, d: (
        [x(a, b, c + 2, d + 2, dtype="int32"), x(4, b, 3, 3, dtype="int32")],
        op.nn.bitserial_conv2d,
    ),
    "nn.depth_to_space": lambda a, b, c, d: (
        [x(a, 4 * b, c, d)],
        lambda v: op.nn.depth_to_space(v, 2),
    ),
    "nn.dilate": lambda a, b, c, d: ([x(a, b)], lambda v: op.nn.dilate(v, (2, 3))),
    "nn.layer_norm": lambda a, b, c, d: ([x(a, b), x(b), x(b)], op.nn.layer_norm),
    "nn.lrn": lambda a, b, c, d: ([x(a, b, c, d)], lambda v: op.nn.lrn(v, 3)),
    "nn.matmul": lambda a, b, c, d: (
        [x(a, b), x(c, a)],
        lambda v, w: op.nn.matmul(v, w, transpose_a=True, transpose_b=True),
    ),
    "nn.max_pool1d": lambda a, b, c, d: (
        [x(a, b, c + 2)],
        lambda v: op.nn.max_pool1d(v, 2, strides=2),
    ),
    "nn.max_pool2d": lambda a, b, c, d: (
        [x(a, b, c + 2, d + 2)],
        lambda v: op.nn.max_pool2d(v, (2, 2), dilation=(1, 2), padding=(1, 1)),
    ),
    "nn.mirror_pad": lambda a, b, c, d: (
        [x(a + 1, b + 1)],
        lambda v: op.nn.mirror_pad(v, ((1, 0), (1, 1))),
    ),
    "nn.pad": lambda a, b, c, d: ([x(a, b)], lambda v: op.nn.pad(v, ((c, 1), (0, d)))),
    "nn.prelu": lambda a, b, c, d: ([x(a, b, c), x(b)], op.nn.prelu),
    "nn.space_to_depth": lambda a, b, c, d: (
        [x(a, b, 2 * c, 2 * d)],
        lambda v: op.nn.space_to_depth(v, 2),
    ),
    "nn.upsampling": lambda a, b, c, d: (
        [x(a, b, c, d)],
        lambda v: op.nn.upsampling(v, scale_h=2, scale_w=3),
    ),
    "one_hot": lambda a, b, c, d: (
        [x(a, b, dtype=I32)],
        lambda i: relay.one_hot(i, relay.const(1.0), relay.const(0.0), c, -1, F),
    ),
    "repeat": lambda a, b, c, d: ([x(a, b)], lambda v: relay.repeat(v, c, 1)),
    "reshape": lambda a, b, c, d: ([x(a, b, c)], lambda v: relay.reshape(v, (0, -1))),
    "reverse": lambda a, b, c, d: ([x(a, b)], lambda v: relay.reverse(v, 0)),
    "scatter_elements": lambda a, b, c, d: (
        [x(a, b), x(a, b, dtype=I32), x(a, b)],
        native("scatter_elements", 0, "update"),
    ),
    "shape_of": lambda a, b, c, d: ([x(a, b, c)], relay.shape_of),
    "slice_like": lambda a, b, c, d: ([x(a + c, b + d), x(a, b)], op.slice_like),
    "split": lambda a, b, c, d: ([x(3 * a, b)], lambda v: relay.split(v, 3).astuple()),
    "squeeze": lambda a, b, c, d: ([x(a, 1, b)], lambda v: relay.squeeze(v, [1])),
    "stack": lambda a, b, c, d: ([x(a, b), x(a, b)], lambda *v: relay.stack(v, 1)),
    "strided_slice": lambda a, b, c, d: (
        [x(a, b)],
        lambda v: relay.strided_slice(v, [c - 1, -d], [a, 99], [2, 1]),
    ),
    "sum": lambda a, b, c, d: ([x(a, b, c)], lambda v: relay.sum(v, axis=1, keepdims=True)),
    "take": lambda a, b, c, d: (
        [x(a, b), x(c, d, dtype=I32)],
        lambda v, i: relay.take(v, i, axis=1),
    ),
    "tile": lambda a, b, c, d: ([x(a, b)], lambda v: relay.tile(v, (c, d, 2))),
    "topk": lambda a, b, c, d: ([x(a, b + 2)], lambda v: relay.topk(v, 2).astuple()),
    "transpose": lambda a, b, c, d: ([x(a, b, c)], lambda v: relay.transpose(v, (2, 0, 1))),
    "unique": lambda a, b, c, d: ([x(a)], lambda v: relay.unique(v).astuple()),
    "where": lambda a, b, c, d: ([x(a, 1, dtype=B), x(a, b), x(1, b)], relay.where),
}
CASES |= {
    "fixed_point_multiply": lambda a, b, c, d: (
        [x(a, b, dtype=I32)],
        lambda v: relay.fixed_point_multiply(v, 1 << 30, 2),
    ),
    "float_scale": lambda a, b, c, d: (
        [x(a, b, dtype=I32), x(1, b)],
        native("float_scale"),
    ),
    "image.resize3d": lambda a, b, c, d: (
        [x(a, b, 3, 4, 5)],
        lambda v: op.image.resize3d(v, (c, d, 2)),
    ),
    "layout_transform": lambda a, b, c, d: (
        [x(a, 4 * b, c, d)],
        lambda v: relay.layout_transform(v, "NCHW", "NHWC4c"),
    ),
    "nn.avg_pool1d": lambda a, b, c, d: (
        [x(a, b, c + 3)],
        lambda v: op.nn.avg_pool1d(v, 2, strides=2, padding=1, count_include_pad=True),
    ),
    "nn.avg_pool3d": lambda a, b, c, d: (
        [x(a, b, c + 2, d + 2, 4)],
        lambda v: op.nn.avg_pool3d(v, (2, 2, 2), strides=(1, 2, 2)),
    ),
    "nn.contrib_conv2d_NCHWc": lambda a, b, c, d: (
        [x(a, b, c + 3, d + 3, 4), x(2, b, 3, 3, 4, 8)],
        lambda v, w: op.nn.contrib_conv2d_NCHWc(
            v,
            w,
            kernel_size=(3, 3),
            channels=16,
            data_layout="NCHW4c",
            kernel_layout="OIHW4i8o",
            out_layout="NCHW8c",
            padding=(1, 0),
        ),
    ),
    "nn.contrib_depthwise_conv2d_NCHWc": lambda a, b, c, d: (
        [x(a, b, c + 3, d + 3, 4), x(b, 1, 3, 3, 1, 4)],
        lambda v, w: op.nn.contrib_depthwise_conv2d_NCHWc(
            v,
            w,
            kernel_size=(3, 3),
            channels=4 * b,
            groups=4 * b,
            data_layout="NCHW4c",
            kernel_layout="OIHW1i4o",
            out_layout="NCHW4c",
        ),
    ),
    "nn.contrib_conv2d_winograd_weight_transform": lambda a, b, c, d: (
        [x(a, b, 3, 3)],
        lambda v: op.nn.contrib_conv2d_winograd_weight_transform(v, tile_size=4),
    ),
    "nn.contrib_conv2d_winograd_NCHWc": lambda a, b, c, d: (
        [x(a, b, c + 3, d + 3, 4), x(6, 6, 2, 4 * b, 8)],
        lambda v, w: op.nn.contrib_conv2d_winograd_NCHWc(
            v,
            w,
            tile_size=4,
            kernel_size=(3, 3),
            channels=16,
            padding=(1, 1),
            data_layout="NCHW4c",
            kernel_layout="OIHW",
            out_layout="NCHW8c",
        ),
    ),
    "nn.conv1d_transpose": lambda a, b, c, d: (
        [x(a, b, c + 1), x(b, 3, 3)],
        lambda v, w: op.nn.conv1d_transpose(v, w, strides=(2,), channels=3, kernel_size=(3,)),
    ),
    "nn.conv3d_transpose": lambda a, b, c, d: (
        [x(a, b, c, d, 2), x(b, 3, 2, 2, 2)],
        lambda v, w: op.nn.conv3d_transpose(
            v, w, strides=(2, 1, 2), channels=3, kernel_size=(2, 2, 2)
        ),
    ),
    "nn.group_norm": lambda a, b, c, d: (
        [x(a, 2 * b, c), x(2 * b), x(2 * b)],
        lambda v, g, h: op.nn.group_norm(v, g, h, 2),
    ),
    "nn.nll_loss": lambda a, b, c, d: (
        [x(a, b, c), x(a, c, dtype=I32), x(b)],
        lambda v, t, w: op.nn.nll_loss(v, t, w, "none"),
    ),
    "nn.upsampling3d": lambda a, b, c, d: (
        [x(a, b, c, d, 2)],
        lambda v: op.nn.upsampling3d(v, 2, 1, 3),
    ),
    "vision.roi_align": lambda a, b, c, d: (
        [x(a, b, c + 3, d + 3), x(c, 5)],
        lambda v, r: op.vision.roi_align(v, r, (2, 3), 0.5, 2),
    ),
    "vision.roi_pool": lambda a, b, c, d: (
        [x(a, b, c + 3, d + 3), x(c, 5)],
        lambda v, r: op.vision.roi_pool(v, r, (2, 3), 0.5),
    ),
    "vision.yolo_reorg": lambda a, b, c, d: (
        [x(a, b * 4, c * 2, d * 2)],
        lambda v: op.vision.yolo_reorg(v, 2),
    ),
    "vision.multibox_prior": lambda a, b, c, d: (
        [x(a, b, c, d)],
        lambda v: op.vision.multibox_prior(v, (0.5, 0.25), (1.0, 2.0)),
    ),
    "vision.multibox_transform_loc": lambda a, b, c, d: (
        [x(a, b, c), x(a, c * 4), x(1, c, 4)],
        lambda *v: op.vision.multibox_transform_loc(*v).tuple_value,
    ),
    "vision.proposal": lambda a, b, c, d: (
        [x(a, 4, c, d), x(a, 8, c, d), x(a, 3)],
        lambda *v: op.vision.proposal(*v, (4,), (1, 2), rpn_post_nms_top_n=3),
    ),
    "vision.all_class_non_max_suppression": lambda a, b, c, d: (
        [x(a, b, 4), x(a, c, b)],
        lambda v, s: op.vision.all_class_non_max_suppression(
            v, s, relay.const(2, "int64"), relay.const(0.5), relay.const(0.1)
        ).astuple(),
    ),
    "vision.get_valid_counts": lambda a, b, c, d: (
        [x(a, b, c + 1)],
        lambda v: op.vision.get_valid_counts(v, 0.5).astuple(),
    ),
    "vision.non_max_suppression": lambda a, b, c, d: (
        [x(a, b, c + 5), x(a, dtype=I32), x(a, b, dtype=I32)],
        lambda v, n, i: op.vision.non_max_suppression(v, n, i).astuple(),
    ),
}
CASES |= {
    "image.crop_and_resize": lambda a, b, c, d: (
        [x(a, b, c, d), x(5, 4), x(5, dtype=I32)],
        lambda v, w, i: op.image.crop_and_resize(v, w, i, (2, 3)),
    ),
    "image.dilation2d": lambda a, b, c, d: (
        [x(a, b, c + 2, d + 2), x(b, 2, 2)],
        op.image.dilation2d,
    ),
    "matrix_set_diag": lambda a, b, c, d: (
        [x(a, b + 1, b + 1), x(a, b + 1)],
        relay.matrix_set_diag,
    ),
    "nn.correlation": lambda a, b, c, d: (
        [x(a, b, c + 4, d + 4), x(a, b, c + 4, d + 4)],
        lambda v, w: op.nn.correlation(v, w, 1, 1, 1, 1, 0, True, "NCHW"),
    ),
    "nn.deformable_conv2d": lambda a, b, c, d: (
        [x(a, b, c + 2, d + 2), x(a, 8, c + 1, d + 1), x(3, b, 2, 2)],
        lambda v, o, w: op.nn.deformable_conv2d(v, o, w, kernel_size=(2, 2), channels=3),
    ),
    "reinterpret": lambda a, b, c, d: ([x(a, b, c)], lambda v: relay.reinterpret(v, "int32")),
    "sliding_window": lambda a, b, c, d: (
        [x(a, b + 3, c + 3)],
        lambda v: relay.sliding_window(v, 1, [2, 3], [1, 2]),
    ),
    "stft": lambda a, b, c, d: (
        [x(a, b + 16), x(8)],
        lambda v, w: relay.op.stft(v, 8, 3, 8, w),
    ),
    "random.threefry_generate": lambda a, b, c, d: (
        [x(10, dtype="uint64")],
        lambda k: relay.random.threefry_generate(k, (a, b)).tuple_value,
    ),
    "random.threefry_split": lambda a, b, c, d: (
        [x(10, dtype="uint64")],
        lambda k: relay.random.threefry_split(k).tuple_value,
    ),
    "random.uniform": lambda a, b, c, d: (
        [x(10, dtype="uint64"), x(), x()],
        lambda k, v, w: relay.random.uniform(k, (a, b), "float32", v, w).tuple_value,
    ),
    "random.normal": lambda a, b, c, d: (
        [x(10, dtype="uint64"), x(), x()],
        lambda k, v, w: relay.random.normal(k, (a, b), "float32", v, w).tuple_value,
    ),
    "random.multinomial": lambda a, b, c, d: (
        [x(10, dtype="uint64"), x(a, b, c)],
        lambda k, v: relay.random.multinomial(k, v, d).tuple_value,
    ),
    "sparse_reshape": lambda a, b, c, d: (
        [x(a, 2, dtype="int64"), x(2, dtype="int64"), x(3, dtype="int64")],
        lambda *parts: relay.sparse_reshape(*parts).tuple_value,
    ),
    "sparse_to_dense": lambda a, b, c, d: (
        [x(a, dtype=I32), x(a)],
        lambda i, v: relay.sparse_to_dense(i, [40], v, 0.0),
    ),
    "nn.sparse_dense": lambda a, b, c, d: (
        [x(a, b), x(c), x(c, dtype=I32), x(d + 1, dtype=I32)],
        lambda v, *w: op.nn.sparse_dense(v, w),
    ),
    "nn.sparse_transpose": lambda a, b, c, d: (
        [x(c), x(c, dtype=I32), x(d + 1, dtype=I32)],
        lambda *w: op.nn.sparse_transpose(w).astuple(),
    ),
    "nn.sparse_add": lambda a, b, c, d: (
        [x(a, b), x(c), x(c, dtype=I32), x(a + 1, dtype=I32)],
        lambda v, *w: op.nn.sparse_add(v, w),
    ),
}
CASES |= {
    "adv_index": lambda a, b, c, d: (
        [x(a, b, c), x(d, 1, dtype=I32), x(c, dtype=I32)],
        lambda *v: relay.adv_index(v),
    ),
    "collapse_sum_to": lambda a, b, c, d: ([x(a, b)], lambda v: relay.collapse_sum_to(v, (b,))),
    "contrib_reverse_reshape": lambda a, b, c, d: (
        [x(a, b, c)],
        lambda v: relay.reverse_reshape(v, (-3, 0)),
    ),
    "image.affine_grid": lambda a, b, c, d: (
        [x(a, 2, 3)],
        lambda v: op.image.affine_grid(v, (c, d)),
    ),
    "meshgrid": lambda a, b, c, d: ([x(a), x(b)], lambda *v: relay.meshgrid(v)),
    "nn.avg_pool2d_grad": lambda a, b, c, d: (
        [x(a, b, c, d), x(a, b, c + 1, d + 1)],
        lambda g, v: op.nn.avg_pool2d_grad(g, v, pool_size=(2, 2)),
    ),
    "nn.max_pool2d_grad": lambda a, b, c, d: (
        [x(a, b, c, d), x(a, b, c + 1, d + 1)],
        lambda g, v: op.nn.max_pool2d_grad(g, v, pool_size=(2, 2)),
    ),
    "nn.batch_to_space_nd": lambda a, b, c, d: (
        [x(4 * a, b, c, d)],
        lambda v: op.nn.batch_to_space_nd(v, (2, 2), ((0, 1), (1, 0))),
    ),
    "nn.space_to_batch_nd": lambda a, b, c, d: (
        [x(a, 2 * b, 2 * c)],
        lambda v: op.nn.space_to_batch_nd(v, (2, 2), ((2, 0), (1, 1))),
    ),
    "sequence_mask": lambda a, b, c, d: ([x(a, b, c), x(b, dtype=I32)], relay.sequence_mask),
    "strided_set": lambda a, b, c, d: (
        [x(a, b), x(a, 1)],
        lambda v, w: relay.strided_set(v, w, [0, 0], [9, 1]),
    ),
    "trilu": lambda a, b, c, d: ([x(a, b, c)], lambda v: relay.trilu(v, 1)),
    "unravel_index": lambda a, b, c, d: ([x(a, b, dtype=I32), x(2, dtype=I32)], op.unravel_index),
}
for _rank, _name in ((1, "1d"), (2, "2d"), (3, "3d")):
    for _kind in ("avg", "max"):
        CASES[f"nn.adaptive_{_kind}_pool{_name}"] = lambda a, b, c, d, n=_rank, k=_kind, e=_name: (
            [x(a, b, *(c + 4, d + 4, 5)[:n])],
            lambda v: getattr(op.nn, f"adaptive_{k}_pool{e}")(v, (2, 3, 1)[:n]),
        )


def plain(name):
    """The call of an operator with arguments of one shape, where that is all it needs."""
    found = Op.get(name)
    n = len(found.arguments)
    for dtype in (F, I32, B):

        def case(a, b, c, d, dtype=dtype):
            return [x(a, b, dtype=dtype)] * n, _rows.wrapper(name)

        try:
            result_of(*case(2, 3, 1, 1)[::-1])
        except Exception:  # noqa: BLE001  another case, or none
            continue
        return case
    return None


def result_of(make, types):
    call = make(*[relay.var("x", t) for t in types])
    call = call.astuple() if isinstance(call, relay.TupleWrapper) else call
    return relay.testing.run_infer_type(relay.Function(relay.analysis.free_vars(call), call))


ALL = [n for n in Op.list_op_names() if not n.startswith(("tir.", "qnn.", "annotation."))]
ALL = [n for n in ALL if not n.startswith(("sequence.", "optional.", "value."))]  # no kernels
TRIED = {n: CASES.get(n) or plain(n) for n in ALL if n not in BY_VALUES}
LEFT_OUT = sorted(n for n, case in TRIED.items() if case is None)
TRIED = {n: case for n, case in TRIED.items() if case is not None}


def tensors(kind):
    fields = kind.fields if isinstance(kind, relay.TupleType) else [kind]
    return [[int(d) for d in t.shape] for t in fields]


def opened(kind, bits):
    """The type with some of its extents dynamic."""
    shape = [relay.Any() if bits >> i & 1 else d for i, d in enumerate(kind.shape)]
    return relay.TensorType(shape, kind.dtype)


@pytest.mark.parametrize("name", sorted(TRIED))
@given(extents=st.tuples(*[st.integers(1, 5)] * 4), bits=st.integers(1, 2**15 - 1))
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
def test_against_the_static_type(name, extents, bits):
    types, make = TRIED[name](*extents)
    wanted = tensors(result_of(make, types).body.checked_type)
    params = [relay.var("x", opened(t, bits >> 4 * i)) for i, t in enumerate(types)]
    call = make(*params)
    call = call.astuple() if isinstance(call, relay.TupleWrapper) else call
    while isinstance(call, relay.Tuple | relay.TupleGetItem):
        call = call.fields[0] if isinstance(call, relay.Tuple) else call.tuple_value
    try:
        body = relay.testing.run_infer_type(relay.Function(params, call)).body
    except tenon.TVMError:
        return  # it wants this extent to be known
    given_types = [a.checked_type for a in body.args]
    flat = [list(t.shape) for t in types]
    if len(body.args) > len(types):  # constants among the arguments
        flat += [[] for _ in body.args[len(types) :]]
    values = [None] * len(body.args)
    said = _api("relay.op.Shapes")(
        body.op, body.attrs, given_types, flat, values, body.checked_type
    )
    assert [[int(d) for d in shape] for shape in said] == wanted


# operators, extents of their arguments that fit, and others that do not
MISFITS = {
    "nn.dense": [((3, 2), (4, 3)), ((3, 7), (4, 2))],
    "nn.bitpack": [((3, 15, 4),)],
    "nn.bitserial_dense": [((3, 2), (4, 3))],
    "nn.matmul": [((2, 2), (4, 3)), ((3, 2), (4, 4))],
    "nn.batch_matmul": [((3, 2, 4), (3, 2, 5)), ((3, 2, 4), (2, 2, 4))],
    "nn.cross_entropy_with_logits": [((3, 2), (3, 4)), ((5, 2), (3, 2))],
    "nn.group_norm": [((3, 4, 4), (3,), (4,)), ((3, 9, 4), (4,), (4,)), ((3, 5, 4), (5,), (5,))],
    "nn.nll_loss": [((3, 2, 4), (3, 4), (7,)), ((3, 2, 4), (3, 3), (2,))],
    "nn.prelu": [((3, 2, 4), (3,)), ((3, 1, 4), (2,))],
    "nn.conv2d": [((3, 3, 7, 5), (5, 2, 3, 2))],
    "reverse_sequence": [((3, 2), (2,)), ((4, 2), (3,))],
    "scatter_elements": [((3, 2), (2, 2), (3, 2)), ((3, 2), (3, 3), (3, 2))],
    "slice_like": [((7, 4), (8, 2)), ((7, 4), (3, 7))],
    "split": [((10, 2),), ((8, 2),)],
    "squeeze": [((3, 0, 2),), ((3, 6, 2),)],
    "topk": [((3, 1),)],
    "where": [((3, 1), (3, 2), (1, 4)), ((4, 1), (3, 2), (1, 2))],
    "image.grid_sample": [((3, 2, 4, 5), (3, 7, 4, 2)), ((3, 2, 4, 5), (2, 2, 4, 2))],
    "vision.all_class_non_max_suppression": [
        ((3, 2, 3), (3, 4, 2)),
        ((3, 2, 4), (3, 4, 7)),
        ((3, 2, 4), (5, 4, 2)),
    ],
    "vision.roi_align": [((3, 2, 7, 5), (4, 6))],
    "vision.roi_pool": [((3, 2, 7, 5), (4, 6)), ((0, 2, 7, 5), (4, 5))],
    "vision.yolo_reorg": [((3, 9, 8, 4),), ((3, 8, 7, 4),), ((3, 8, 8, 5),)],
    "vision.proposal": [
        ((3, 4, 4, 2), (2, 8, 4, 2), (3, 3)),
        ((3, 4, 4, 2), (3, 8, 4, 3), (3, 3)),
        ((3, 4, 4, 2), (3, 8, 4, 2), (2, 3)),
    ],
    "vision.multibox_transform_loc": [
        ((3, 2, 4), (3, 12), (1, 4, 4)),
        ((3, 2, 4), (2, 16), (1, 4, 4)),
        ((3, 2, 4), (3, 16), (1, 5, 4)),
        ((3, 2, 4), (3, 16), (0, 4, 4)),
    ],
}


@pytest.mark.parametrize("name", sorted(MISFITS))
def test_arguments_that_do_not_fit(name):
    """What the static type would refuse is refused when the program runs, whatever is dynamic."""
    types, make = TRIED[name](3, 2, 4, 2)
    params = [relay.var(f"x{i}", opened(t, -1)) for i, t in enumerate(types)]
    call = make(*params)
    call = call.astuple() if isinstance(call, relay.TupleWrapper) else call
    run = relay.create_executor("vm").evaluate(relay.Function(params, call))

    def zeros(shapes):
        return [np.zeros(s, t.dtype) for s, t in zip(shapes, types, strict=True)]

    run(*zeros([[int(d) for d in t.shape] for t in types]))
    for shapes in MISFITS[name]:
        with pytest.raises((tenon.TVMError, ValueError)):
            result_of(
                make, [relay.TensorType(s, t.dtype) for s, t in zip(shapes, types, strict=True)]
            )
        with pytest.raises(tenon.TVMError, match="do not fit"):
            run(*zeros(shapes))


def test_every_operator_is_tried():
    """A new operator that takes other arguments than some of one shape needs a case above."""
    assert LEFT_OUT == []
