"""Functions whose arguments have another form than those of the operators."""

from functools import partial

from ... import relay, te
from .._calls import apply
from ..utils import equal_const_int, get_const_int
from .utils import spread


def _conv(name, data_layout, kernel_layout):
    n = int(name[4])

    def conv(data, weight, strides, padding, dilation, groups=1, out_dtype=None):
        kernel = [weight.shape[kernel_layout.index(c)] for c in "DHW"[3 - n :]]
        return apply(
            getattr(relay.nn, name),
            data,
            weight,
            strides,
            spread(padding, kernel, dilation, strides),
            dilation,
            groups,
            data_layout=data_layout,
            kernel_layout=kernel_layout,
            out_dtype=out_dtype or "",
        )

    return conv


def conv1d_ncw(data, kernel, strides=1, padding="VALID", dilation=1, out_dtype=None):
    """Convolution of rows."""
    return _conv("conv1d", "NCW", "OIW")(data, kernel, strides, padding, dilation, 1, out_dtype)


def conv1d_nwc(data, kernel, strides=1, padding="VALID", dilation=1, out_dtype=None):
    """Convolution of rows, channels last."""
    return _conv("conv1d", "NWC", "WIO")(data, kernel, strides, padding, dilation, 1, out_dtype)


def conv2d_nchw(Input, Filter, stride, padding, dilation, out_dtype=None):
    """Convolution of images."""
    return _conv("conv2d", "NCHW", "OIHW")(Input, Filter, stride, padding, dilation, 1, out_dtype)


def conv2d_nhwc(Input, Filter, stride, padding, dilation, out_dtype="float32"):
    """Convolution of images, channels last."""
    return _conv("conv2d", "NHWC", "HWIO")(Input, Filter, stride, padding, dilation, 1, out_dtype)


def conv2d_hwcn(Input, Filter, stride, padding, dilation, out_dtype=None):
    """Convolution of images, images last."""
    return _conv("conv2d", "HWCN", "HWIO")(Input, Filter, stride, padding, dilation, 1, out_dtype)


def conv3d_ncdhw(Input, Filter, stride, padding, dilation, groups, out_dtype=None):
    """Convolution of volumes."""
    conv = _conv("conv3d", "NCDHW", "OIDHW")
    return conv(Input, Filter, stride, padding, dilation, groups, out_dtype)


def conv3d_ndhwc(Input, Filter, stride, padding, dilation, groups, out_dtype="float32"):
    """Convolution of volumes, channels last."""
    conv = _conv("conv3d", "NDHWC", "DHWIO")
    return conv(Input, Filter, stride, padding, dilation, groups, out_dtype)


def group_conv2d_nchw(Input, Filter, stride, padding, dilation, groups, out_dtype=None):
    """Convolution of images in groups of channels."""
    conv = _conv("conv2d", "NCHW", "OIHW")
    return conv(Input, Filter, stride, padding, dilation, groups, out_dtype)


def depthwise_conv2d_nchw(Input, Filter, stride, padding, dilation, out_dtype=None):
    """Convolution of each channel with its own kernels."""
    groups = get_const_int(Input.shape[1])
    conv = _conv("conv2d", "NCHW", "OIHW")
    return conv(Input, Filter, stride, padding, dilation, groups, out_dtype)


def depthwise_conv2d_nhwc(
    Input, Filter, stride, padding, dilation, kernel_layout="HWOI", out_dtype=None
):
    """Convolution of each channel with its own kernels, channels last."""
    groups = get_const_int(Input.shape[3])
    conv = _conv("conv2d", "NHWC", kernel_layout)
    return conv(Input, Filter, stride, padding, dilation, groups, out_dtype)


def group_conv1d_ncw(
    data, kernel, strides=1, padding="VALID", dilation=1, groups=1, out_dtype=None
):
    """Convolution of rows in groups of channels."""
    conv = _conv("conv1d", "NCW", "OIW")
    return conv(data, kernel, strides, padding, dilation, groups, out_dtype)


def group_conv1d_nwc(
    data, kernel, strides=1, padding="VALID", dilation=1, groups=1, out_dtype=None
):
    """Convolution of rows in groups of channels, channels last."""
    conv = _conv("conv1d", "NWC", "WIO")
    return conv(data, kernel, strides, padding, dilation, groups, out_dtype)


def group_conv2d_nhwc(Input, Filter, stride, padding, dilation, groups, out_dtype=None):
    """Convolution of images in groups of channels, channels last."""
    conv = _conv("conv2d", "NHWC", "HWIO")
    return conv(Input, Filter, stride, padding, dilation, groups, out_dtype)


def _blocked(data, kernel, groups, strides, padding, dilation, layout, out_layout, out_dtype):
    size = [kernel.shape[2], kernel.shape[3]]
    inner, outer = get_const_int(kernel.shape[4]), get_const_int(kernel.shape[5])
    return apply(
        relay.nn.conv2d,
        data,
        kernel,
        strides,
        spread(padding, size, dilation, strides),
        dilation,
        groups,
        channels=get_const_int(kernel.shape[0]) * outer,
        kernel_size=[get_const_int(k) for k in size],
        data_layout=layout,
        kernel_layout=f"OIHW{inner}i{outer}o",
        out_layout=out_layout,
        out_dtype=out_dtype or "",
    )


def conv2d_NCHWc(data, kernel, stride, padding, dilation, layout, out_layout, out_dtype="float32"):
    """Convolution of images in blocks of channels; `layout` is ``"NCHW8c"`` and the like."""
    return _blocked(data, kernel, 1, stride, padding, dilation, layout, out_layout, out_dtype)


def depthwise_conv2d_NCHWc(
    Input, Filter, stride, padding, dilation, layout, out_layout, out_dtype=None
):
    """Convolution of each channel, in blocks of channels."""
    groups = get_const_int(Input.shape[1]) * get_const_int(Input.shape[4])
    return _blocked(Input, Filter, groups, stride, padding, dilation, layout, out_layout, out_dtype)


def _transposed(name):
    def conv(data, kernel, stride, padding, out_dtype, output_padding, groups=1):
        """Transposed convolution; weights (in, out by groups, ...)."""
        size = [get_const_int(k) for k in kernel.shape[2:]]
        return apply(
            getattr(relay.nn, name),
            data,
            kernel,
            stride,
            spread(padding, size),
            channels=get_const_int(kernel.shape[1]) * groups,
            kernel_size=size,
            groups=groups,
            output_padding=output_padding,
            out_dtype=out_dtype or "",
        )

    return conv


conv1d_transpose_ncw = group_conv1d_transpose_ncw = _transposed("conv1d_transpose")
conv2d_transpose_nchw = group_conv2d_transpose_nchw = _transposed("conv2d_transpose")
conv3d_transpose_ncdhw = group_conv3d_transpose_ncdhw = _transposed("conv3d_transpose")


def _pool(n):
    def pool(
        data,
        kernel,
        stride,
        dilation,
        padding,
        pool_type,
        ceil_mode=False,
        layout=("NCW", "NCHW", "NCDHW")[n - 1],
        count_include_pad=True,
    ):
        """Largest element ("max") or mean ("avg") of a sliding window."""
        args = (data, kernel, stride, dilation, padding, layout, "", ceil_mode)
        if pool_type == "max":
            return apply(getattr(relay.nn, f"max_pool{n}d"), *args)
        return apply(getattr(relay.nn, f"avg_pool{n}d"), *args, count_include_pad)

    pool.__name__ = pool.__qualname__ = f"pool{n}d"
    return pool


pool1d, pool2d, pool3d = _pool(1), _pool(2), _pool(3)


def pool_grad(
    grads,
    data,
    kernel,
    stride,
    padding,
    pool_type,
    ceil_mode=False,
    count_include_pad=True,
    layout="NCHW",
):
    """What each element of `data` gets of the adjoint of its pooling."""
    args = (grads, data, kernel, stride, (1, 1), padding, layout, "", ceil_mode)
    if pool_type == "max":
        return apply(relay.nn.max_pool2d_grad, *args)
    return apply(relay.nn.avg_pool2d_grad, *args, count_include_pad)


def global_pool(data, pool_type, layout="NCHW"):
    """Largest element or mean of each channel."""
    return apply(getattr(relay.nn, f"global_{pool_type}_pool2d"), data, layout)


def adaptive_pool(data, output_size, pool_type, layout="NCHW"):
    """Pooling to a given number of results."""
    return apply(getattr(relay.nn, f"adaptive_{pool_type}_pool2d"), data, output_size, layout)


def adaptive_pool1d(data, output_size, pool_type, layout="NCW"):
    """Pooling of rows to a given number of results."""
    return apply(getattr(relay.nn, f"adaptive_{pool_type}_pool1d"), data, output_size, layout)


def adaptive_pool3d(data, output_size, pool_type, layout="NCDHW"):
    """Pooling of volumes to a given number of results."""
    return apply(getattr(relay.nn, f"adaptive_{pool_type}_pool3d"), data, output_size, layout)


def pad(data, pad_before, pad_after=None, pad_value=0.0, name="PadInput", attrs=None):
    """Data with a border of a number."""
    del name, attrs
    before = [get_const_int(x) for x in pad_before]
    after = before if pad_after is None else [get_const_int(x) for x in pad_after]
    return apply(relay.nn.pad, data, list(zip(before, after, strict=True)), pad_value)


def dense(data, weight, bias=None, out_dtype=None):
    """Data times the transpose of weight, plus bias."""
    return _biased(apply(relay.nn.dense, data, weight, None, out_dtype or ""), bias)


def matmul(tensor_a, tensor_b, bias=None, out_dtype=None, transpose_a=False, transpose_b=False):
    """Matrix product, plus bias. Axes before the last two broadcast; each pair of matrices is
    multiplied separately."""
    matrices = max(len(tensor_a.shape), len(tensor_b.shape)) <= 2
    make = partial(apply, relay.nn.matmul) if matrices else _products
    product = make(tensor_a, tensor_b, None, out_dtype or "", transpose_a, transpose_b)
    return _biased(product, bias)


def _products(a, b, units, out_dtype, transpose_a, transpose_b):
    """Matrix products of tensors with more axes: all matrices in one list, as far as possible."""
    del units
    if min(len(a.shape), len(b.shape)) < 2:
        raise ValueError(f"nn.matmul: expected at least 2 axes, got {a.shape} and {b.shape}")
    summed = a.shape[-2 if transpose_a else -1], b.shape[-1 if transpose_b else -2]
    if not equal_const_int(summed[0] - summed[1], 0):
        raise ValueError(
            f"nn.matmul: tensor_a has {summed[0]} elements to sum over, tensor_b {summed[1]}"
        )
    shapes = [list(a.shape[:-2]), list(b.shape[:-2])]
    outer = apply(relay.add, *(te.placeholder(shape, name="outer") for shape in shapes)).shape
    k = te.reduce_axis((0, summed[0]), "k")
    rows, columns = a.shape[-1 if transpose_a else -2], b.shape[-2 if transpose_b else -1]
    dtype = out_dtype or a.dtype

    def read(tensor, lead, i, j):
        own = tensor.shape[:-2]
        lead = lead[len(lead) - len(own) :]
        at = [0 if equal_const_int(n, 1) else x for x, n in zip(lead, own, strict=True)]
        return tensor(*at, i, j).astype(dtype)

    def element(*at):
        *lead, i, j = at
        x = read(a, lead, *((k, i) if transpose_a else (i, k)))
        y = read(b, lead, *((j, k) if transpose_b else (k, j)))
        return te.sum(x * y, k)

    return te.compute([*outer, rows, columns], element, "T_matmul", "matmul")


def _biased(product, bias):
    return product if bias is None else apply(relay.nn.bias_add, product, bias, -1)


def batch_matmul(
    tensor_a, tensor_b, oshape=None, out_dtype=None, transpose_a=False, transpose_b=True
):
    """Matrix products of two lists of matrices."""
    del oshape
    return apply(
        relay.nn.batch_matmul, tensor_a, tensor_b, out_dtype or "", transpose_a, transpose_b
    )


def sparse_dense(dense_data, sparse_data, sparse_indices, sparse_indptr, sparse_lhs=False):
    """Product with the transpose of a matrix in compressed rows."""
    return apply(
        _sparse("dense", sparse_lhs), dense_data, sparse_data, sparse_indices, sparse_indptr
    )


def sparse_add(dense_data, sparse_data, sparse_indices, sparse_indptr):
    """Sum with a matrix in compressed rows."""
    return apply(_sparse("add"), dense_data, sparse_data, sparse_indices, sparse_indptr)


def _sparse(name, *more):
    return lambda x, *parts: getattr(relay.nn, f"sparse_{name}")(x, parts, *more)


def sparse_transpose(sparse_data, sparse_indices, sparse_indptr):
    """The transpose of a square matrix in compressed rows, as its three parts."""
    return apply(
        lambda *parts: relay.nn.sparse_transpose(parts), sparse_data, sparse_indices, sparse_indptr
    )


def batch_to_space_nd(data, block_shape, crop_begin_list, crop_end_list):
    """Blocks of the first axis put side by side, and cut at begin and end."""
    crops = [
        [get_const_int(x) for x in pair]
        for pair in zip(crop_begin_list, crop_end_list, strict=True)
    ]
    return apply(relay.nn.batch_to_space_nd, data, block_shape, crops)


def space_to_batch_nd(data, block_shape, pad_before, pad_after, pad_value=0.0):
    """Data with a border, in blocks along the first axis."""
    pads = [[get_const_int(x) for x in pair] for pair in zip(pad_before, pad_after, strict=True)]
    return apply(relay.nn.space_to_batch_nd, data, block_shape, pads, pad_value)


def flatten(data):
    """All axes but the first made one."""
    return apply(relay.nn.batch_flatten, data)


def lrn(data, size, axis=1, alpha=0.0001, beta=0.75, bias=2):
    """Division by the size of neighbouring channels."""
    return apply(relay.nn.lrn, data, size, axis, bias, alpha, beta)


def scale_shift_nchw(Input, Scale, Shift):
    """Each channel times a number plus a number."""
    return _scale_shift(Input, Scale, Shift, (1, 2))


def scale_shift_nhwc(Input, Scale, Shift):
    """The same with channels last."""
    return _scale_shift(Input, Scale, Shift, ())


def _scale_shift(data, scale, shift, axes):
    def make(x, a, b):
        for axis in axes:
            a, b = relay.expand_dims(a, axis), relay.expand_dims(b, axis)
        return x * a + b

    return apply(make, data, scale, shift)


__all__ = [
    "adaptive_pool",
    "adaptive_pool1d",
    "adaptive_pool3d",
    "batch_matmul",
    "batch_to_space_nd",
    "conv1d_ncw",
    "conv1d_nwc",
    "conv1d_transpose_ncw",
    "conv2d_NCHWc",
    "conv2d_hwcn",
    "conv2d_nchw",
    "conv2d_nhwc",
    "conv2d_transpose_nchw",
    "conv3d_ncdhw",
    "conv3d_ndhwc",
    "conv3d_transpose_ncdhw",
    "dense",
    "depthwise_conv2d_NCHWc",
    "depthwise_conv2d_nchw",
    "depthwise_conv2d_nhwc",
    "flatten",
    "global_pool",
    "group_conv1d_ncw",
    "group_conv1d_nwc",
    "group_conv1d_transpose_ncw",
    "group_conv2d_nchw",
    "group_conv2d_nhwc",
    "group_conv2d_transpose_nchw",
    "group_conv3d_transpose_ncdhw",
    "lrn",
    "matmul",
    "pad",
    "pool1d",
    "pool2d",
    "pool3d",
    "pool_grad",
    "scale_shift_nchw",
    "scale_shift_nhwc",
    "space_to_batch_nd",
    "sparse_add",
    "sparse_dense",
    "sparse_transpose",
]
