"""Computations to test schedules with, as lists of inputs and outputs for `te.create_prim_func`."""

from ... import te, tir
from ..._later import placeholder as _placeholder


def matmul(n, m, k, in_dtype="float32", out_dtype="float32"):
    """The product of an (n, k) and a (k, m) matrix.

    Parameters
    ----------
    n, m, k : int or PrimExpr
        The extents.
    in_dtype, out_dtype : str
        Types of the operands, and of the sums.

    Returns
    -------
    tensors : tuple of te.Tensor
        Left operand, right operand, product.
    """
    a = te.placeholder((n, k), name="A", dtype=in_dtype)
    b = te.placeholder((k, m), name="B", dtype=in_dtype)
    j = te.reduce_axis((0, k), name="k")
    c = te.compute(
        (n, m),
        lambda y, x: te.sum(a[y, j].astype(out_dtype) * b[j, x].astype(out_dtype), axis=[j]),
        name="C",
    )
    return a, b, c


def matmul_relu(n, m, k, in_dtype="float32", out_dtype="float32"):
    """As `matmul`, with negative sums set to 0: (left operand, right operand, result)."""
    from ... import topi

    a, b, c = matmul(n, m, k, in_dtype, out_dtype)
    return a, b, topi.nn.relu(c)


def batch_matmul_nkkm(b, n, m, k, in_dtype="float32", out_dtype="float32"):
    """The products of `b` pairs of an (n, k) and a (k, m) matrix.

    Parameters
    ----------
    b, n, m, k : int or PrimExpr
        The extents.
    in_dtype, out_dtype : str
        Types of the operands, and of the sums.

    Returns
    -------
    tensors : tuple of te.Tensor
        Left operands, right operands, products.
    """
    left = te.placeholder((b, n, k), name="X", dtype=in_dtype)
    right = te.placeholder((b, k, m), name="Y", dtype=in_dtype)
    j = te.reduce_axis((0, k), name="k")
    products = te.compute(
        (b, n, m),
        lambda i, y, x: te.sum(
            left[i, y, j].astype(out_dtype) * right[i, j, x].astype(out_dtype), axis=[j]
        ),
        name="Z",
    )
    return left, right, products


def _convolved(data, kernel, stride, padding, dilation, groups, out_dtype):
    """The convolution of (batch, *space, channels) by (*window, channels of a group, filters)."""
    from ... import topi

    batch, *space, _ = data.shape
    *window, depth, filters = kernel.shape
    sides = [0] + [padding] * len(space) + [0]
    padded = topi.nn.pad(data, sides, sides)
    inner = [te.reduce_axis((0, w), name=f"r{i}") for i, w in enumerate(window)]
    rc = te.reduce_axis((0, depth), name="rc")
    extents = [
        (s + 2 * padding - dilation * (w - 1) - 1) // stride + 1
        for s, w in zip(space, window, strict=True)
    ]

    def element(n, *rest):
        *place, f = rest
        at = [p * stride + r * dilation for p, r in zip(place, inner, strict=True)]
        channel = f // (filters // groups) * depth + rc if groups > 1 else rc
        value = padded(n, *at, channel).astype(out_dtype)
        return te.sum(value * kernel(*inner, rc, f).astype(out_dtype), axis=[*inner, rc])

    layout = ("nlc", "nhwc", "ndhwc")[len(space) - 1]
    name = f"conv{len(space)}d_{layout}"
    return te.compute((batch, *extents, filters), element, name=name)


def _convolution(batch, space, channels, filters, size, settings, in_dtype, out_dtype):
    groups = settings[-1]
    data = te.placeholder((batch, *space, channels), name="inputs", dtype=in_dtype)
    shape = [size] * len(space) + [channels // groups, filters]
    kernel = te.placeholder(shape, name="weight", dtype=in_dtype)
    return data, kernel, _convolved(data, kernel, *settings, out_dtype)


def conv1d_nlc(
    N, L, CI, CO, kernel_size, stride=1, padding=0, dilation=1, groups=1,
    in_dtype="float32", out_dtype="float32",
):  # fmt: skip
    """A convolution over lengths: (data, kernel, result), channels last."""
    settings = (stride, padding, dilation, groups)
    return _convolution(N, [L], CI, CO, kernel_size, settings, in_dtype, out_dtype)


def conv2d_nhwc(
    N, H, W, CI, CO, kernel_size, stride=1, padding=0, dilation=1, groups=1,
    in_dtype="float32", out_dtype="float32",
):  # fmt: skip
    """A convolution over images: (data, kernel, result), channels last."""
    settings = (stride, padding, dilation, groups)
    return _convolution(N, [H, W], CI, CO, kernel_size, settings, in_dtype, out_dtype)


def conv3d_ndhwc(
    N, D, H, W, CI, CO, kernel_size, stride=1, padding=0, dilation=1, groups=1,
    in_dtype="float32", out_dtype="float32",
):  # fmt: skip
    """A convolution over volumes: (data, kernel, result), channels last."""
    settings = (stride, padding, dilation, groups)
    return _convolution(N, [D, H, W], CI, CO, kernel_size, settings, in_dtype, out_dtype)


def depthwise_conv2d_nhwc(
    N, H, W, C, kernel_size, stride=1, padding=0, dilation=1, factor=1,
    in_dtype="float32", out_dtype="float32",
):  # fmt: skip
    """A convolution of each channel by `factor` filters of (factor, size, size, channels):
    (data, kernel, result)."""
    from ... import topi

    data = te.placeholder((N, H, W, C), name="inputs", dtype=in_dtype)
    kernel = te.placeholder((factor, kernel_size, kernel_size, C), name="weight", dtype=in_dtype)
    sides = [0, padding, padding, 0]
    padded = topi.nn.pad(data, sides, sides)
    rh, rw = (te.reduce_axis((0, kernel_size), name=n) for n in ("rh", "rw"))
    reach = dilation * (kernel_size - 1) + 1
    shape = (N, *((x + 2 * padding - reach) // stride + 1 for x in (H, W)), C * factor)

    def element(n, h, w, c):
        y, x = h * stride + rh * dilation, w * stride + rw * dilation
        value = padded[n, y, x, c // factor].astype(out_dtype)
        weight = kernel[c % factor, rh, rw, c // factor].astype(out_dtype)
        return te.sum(value * weight, axis=[rh, rw])

    return data, kernel, te.compute(shape, element, name="depth_conv2d")


def conv2d_transpose_nhwc(
    N, H, W, CI, CO, kernel_size, stride=1, padding=0, in_dtype="float32", out_dtype="float32"
):
    """The transposed convolution by (size, size, channels, filters): (data, kernel, result)."""
    data = te.placeholder((N, H, W, CI), name="inputs", dtype=in_dtype)
    kernel = te.placeholder((kernel_size, kernel_size, CI, CO), name="weight", dtype=in_dtype)
    rh, rw = (te.reduce_axis((0, kernel_size), name=n) for n in ("rh", "rw"))
    rc = te.reduce_axis((0, CI), name="rc")
    shape = (N, *((x - 1) * stride - 2 * padding + kernel_size for x in (H, W)), CO)

    def element(n, h, w, f):
        # an input reaches the output `stride` apart from its place, by the place in the window
        y, x = h + padding - rh, w + padding - rw
        inside = tir.all(
            y >= 0, y < H * stride, y % stride == 0, x >= 0, x < W * stride, x % stride == 0
        )
        value = data[n, y // stride, x // stride, rc].astype(out_dtype)
        value = tir.if_then_else(inside, value, tir.const(0, out_dtype))
        return te.sum(value * kernel[rh, rw, rc, f].astype(out_dtype), axis=[rh, rw, rc])

    return data, kernel, te.compute(shape, element, name="conv2d_transpose_nhwc")


def conv2d_capsule_nhwijc(
    N, H, W, CI, CO, kernel_size, stride=1, padding=0, capsule_size=4,
    in_dtype="float32", out_dtype="float32",
):  # fmt: skip
    """A convolution whose elements are square matrices: (data, kernel, result)."""
    from ... import topi

    k = capsule_size
    data = te.placeholder((N, H, W, k, k, CI), name="inputs", dtype=in_dtype)
    kernel_shape = (kernel_size, kernel_size, k, k, CI, CO)
    kernel = te.placeholder(kernel_shape, name="weight", dtype=in_dtype)
    sides = [0, padding, padding, 0, 0, 0]
    padded = topi.nn.pad(data, sides, sides)
    rh, rw = (te.reduce_axis((0, kernel_size), name=n) for n in ("rh", "rw"))
    rk, rc = te.reduce_axis((0, k), name="rk"), te.reduce_axis((0, CI), name="rc")
    shape = (N, *((x + 2 * padding - kernel_size) // stride + 1 for x in (H, W)), k, k, CO)

    def element(n, h, w, i, j, f):
        value = padded[n, h * stride + rh, w * stride + rw, i, rk, rc].astype(out_dtype)
        weight = kernel[rh, rw, rk, j, rc, f].astype(out_dtype)
        return te.sum(value * weight, axis=[rh, rw, rk, rc])

    return data, kernel, te.compute(shape, element, name="conv2d_capsule_nhwijc")


def norm_bmn(B, M, N):
    """The Frobenius norm of each of `B` matrices: (matrices, norms)."""
    a = te.placeholder((B, M, N), name="A")
    i, j = te.reduce_axis((0, M), name="i"), te.reduce_axis((0, N), name="j")
    squares = te.compute((B,), lambda b: te.sum(a[b, i, j] * a[b, i, j], axis=[i, j]), name="C")
    return a, te.compute((B,), lambda b: te.sqrt(squares[b]), name="D")


def conv2d_nhwc_bn_relu(
    N, H, W, CI, CO, kernel_size, strides, padding, dilation=1,
    in_dtype="float32", out_dtype="float32",
):  # fmt: skip
    """A convolution, a bias, a factor and an offset for each filter, negative values set to 0:
    (data, kernel, bias, offset, factor, result)."""
    from ... import topi

    settings = (strides, padding, dilation, 1)
    data, kernel, out = _convolution(N, [H, W], CI, CO, kernel_size, settings, in_dtype, out_dtype)
    bias, factor, offset = (te.placeholder((CO,), name=n) for n in ("bias", "scale", "offset"))
    shape = out.shape

    def elementwise(tensor, function, name):
        return te.compute(shape, lambda *at: function(tensor(*at), at[-1]), name=name)

    out = elementwise(out, lambda x, f: x + bias[f], "bias_add")
    out = elementwise(out, lambda x, f: x * factor[f], "bn_mul")
    out = elementwise(out, lambda x, f: x + offset[f], "bn_add")
    return data, kernel, bias, offset, factor, topi.nn.relu(out)


def transpose_batch_matmul(batch, seq_len, n_head, n_dim, in_dtype="float32", out_dtype="float32"):
    """Products of each head's rows of two (batch, length, head, n) tensors, which are transposed
    first: (left, right, products)."""
    shape = (batch, seq_len, n_head, n_dim)
    left = te.placeholder(shape, name="query", dtype=in_dtype)
    right = te.placeholder(shape, name="value", dtype=in_dtype)
    left_shape, right_shape = (
        (batch, n_head, seq_len, n_dim),
        (batch, n_head, n_dim, seq_len),
    )
    rows = te.compute(left_shape, lambda b, h, y, d: left[b, y, h, d], name="query_T")
    columns = te.compute(right_shape, lambda b, h, d, x: right[b, x, h, d], name="value_T")
    k = te.reduce_axis((0, n_dim), name="k")
    products = te.compute(
        (batch, n_head, seq_len, seq_len),
        lambda b, h, y, x: te.sum(
            rows[b, h, y, k].astype(out_dtype) * columns[b, h, k, x].astype(out_dtype), axis=[k]
        ),
        name="C",
    )
    return left, right, products


def softmax_mn(m, n):
    """The softmax of the rows of an (m, n) matrix: (matrix, result)."""
    from ... import topi

    a = te.placeholder((m, n), name="A")
    return a, topi.nn.softmax(a, axis=1)


conv2d_winograd_nhwc = _placeholder(
    f"{__name__}.conv2d_winograd_nhwc", "topi.nn.conv2d computes convolutions"
)

# layers of ResNet-18: (batch, *space, channels, filters, size, stride, padding)
_IMAGES = [
    (1, 224, 224, 3, 64, 7, 2, 3),
    (1, 56, 56, 64, 64, 1, 1, 0),
    (1, 14, 14, 256, 256, 3, 1, 1),
    (1, 7, 7, 512, 512, 3, 1, 1),
]
_GROUPED = [(1, 56, 56, 64, 128, 3, 2, 1), *_IMAGES[1:]]
_SIZES = {
    "C1D": (
        conv1d_nlc,
        [
            (1, 256, 64, 128, 3, 2, 1),
            (1, 128, 128, 256, 1, 2, 0),
            (1, 64, 256, 256, 5, 1, 2),
            (1, 32, 512, 512, 3, 1, 1),
        ],
    ),
    "C2D": (conv2d_nhwc, _IMAGES),
    "C3D": (conv3d_ndhwc, [(n, 16, *rest) for n, *rest in _IMAGES]),
    "GMM": (
        batch_matmul_nkkm,
        [(1, 128, 128, 128), (1, 512, 32, 512), (1, 512, 512, 512), (1, 1024, 1024, 1024)],
    ),
    "GRP": (conv2d_nhwc, [(*sizes, 1, 4) for sizes in _GROUPED]),
    "DIL": (conv2d_nhwc, [(*sizes, 2) for sizes in _IMAGES]),
    "DEP": (
        depthwise_conv2d_nhwc,
        [
            (1, 112, 112, 32, 3, 1, 1),
            (1, 112, 112, 64, 3, 2, 1),
            (1, 14, 14, 512, 3, 2, 1),
            (1, 7, 7, 1024, 3, 1, 1),
        ],
    ),
    "T2D": (
        conv2d_transpose_nhwc,
        [
            (1, 4, 4, 512, 256, 4, 2, 1),
            (1, 8, 8, 256, 128, 4, 2, 1),
            (1, 16, 16, 128, 64, 4, 2, 1),
            (1, 32, 32, 64, 3, 4, 2, 1),
        ],
    ),
    "CAP": (
        conv2d_capsule_nhwijc,
        [
            (1, 16, 16, 32, 32, 3, 2, 1),
            (1, 8, 8, 32, 32, 3, 1, 1),
            (1, 16, 16, 8, 16, 3, 2, 1),
            (1, 8, 8, 16, 16, 3, 1, 1),
        ],
    ),
    "NRM": (norm_bmn, [(1, 256, 256), (1, 512, 512), (1, 1024, 1024), (1, 4096, 1024)]),
    "SFM": (softmax_mn, [(256, 256), (512, 512), (1024, 1024), (2048, 2048)]),
    "CBR": (
        conv2d_nhwc_bn_relu,
        [
            (1, 224, 224, 3, 64, 7, 2, 3),
            (1, 56, 56, 64, 128, 3, 2, 1),
            (1, 28, 28, 128, 256, 1, 2, 0),
            (1, 7, 7, 512, 512, 3, 1, 1),
        ],
    ),
    "TBG": (
        transpose_batch_matmul,
        [(1, 128, 12, 64), (1, 128, 16, 64), (1, 64, 12, 128), (1, 128, 12, 128)],
    ),
}


def create_te_workload(name, idx):
    """The tensor program of a named workload.

    Parameters
    ----------
    name : str
        The workload, such as "GMM" for `batch_matmul_nkkm` and "C2D" for `conv2d_nhwc`.
    idx : int
        Which of its sizes: 0 is the smallest.

    Returns
    -------
    PrimFunc

    Raises
    ------
    NotImplementedError
        Tenon does not have a workload of that name yet.
    """
    if name not in _SIZES:
        raise NotImplementedError(
            f"create_te_workload: {name} is not there yet; there are {', '.join(_SIZES)}"
        )
    make, sizes = _SIZES[name]
    return te.create_prim_func(list(make(*sizes[idx])))
