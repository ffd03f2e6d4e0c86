"""The third Inception network (arXiv:1512.00567): branches of factorised convolutions."""

from ... import relay
from . import layers
from .init import create_workload


def Conv(data, num_filter, kernel=(1, 1), stride=(1, 1), pad=(0, 0), name=None, suffix=""):
    """Convolution, normalisation, rectifier.

    Parameters
    ----------
    data : RelayExpr
        Input.
    num_filter : int
        Channels of the result.
    kernel, stride, pad : tuple of int
        Height and width each.
    name, suffix : str
        Parts of the names of the layers.

    Returns
    -------
    RelayExpr
    """
    net = layers.conv2d(
        data,
        channels=int(num_filter),
        kernel_size=kernel,
        strides=stride,
        padding=pad,
        name=f"{name}{suffix}_conv1",
    )
    net = layers.batch_norm_infer(net, epsilon=2e-5, scale=False, name=f"{name}{suffix}_bn")
    return relay.nn.relu(net)


def Pooling(data, kernel, stride, pad, pool_type, name):
    """Pooling, "max" or "avg" (padding counts in the mean)."""
    if pool_type == "max":
        return relay.nn.max_pool2d(data, pool_size=kernel, strides=stride, padding=pad)
    if pool_type == "avg":
        return relay.nn.avg_pool2d(
            data, pool_size=kernel, strides=stride, padding=pad, count_include_pad=True
        )
    raise ValueError(f"Invalid pooling type: {pool_type}; expected max or avg")


def _chain(net, name, *steps):
    """Convolutions (channels, height, width) that keep the size, one after the other."""
    for i, (channels, height, width) in enumerate(steps):
        pad = (height // 2, width // 2)
        net = Conv(net, channels, (height, width), pad=pad, name=name, suffix=f"_{i}")
    return net


def _pooled(net, channels, name, kind="avg"):
    net = Pooling(net, (3, 3), (1, 1), (1, 1), kind, f"{name}_pool")
    return Conv(net, channels, name=name, suffix="_pool")


def _same_size(net, pooled, name):
    """35 x 35: one, a 5 x 5 and two 3 x 3 convolutions side by side."""
    branches = (
        _chain(net, f"{name}_a", (64, 1, 1)),
        _chain(net, f"{name}_b", (48, 1, 1), (64, 5, 5)),
        _chain(net, f"{name}_c", (64, 1, 1), (96, 3, 3), (96, 3, 3)),
        _pooled(net, pooled, name),
    )
    return relay.concatenate(branches, axis=1)


def _to_half(net, name):
    """35 x 35 to 17 x 17."""
    inner = _chain(net, f"{name}_b", (64, 1, 1), (96, 3, 3))
    branches = (
        Conv(net, 384, (3, 3), (2, 2), name=f"{name}_a"),
        Conv(inner, 96, (3, 3), (2, 2), name=f"{name}_c"),
        Pooling(net, (3, 3), (2, 2), (0, 0), "max", f"{name}_pool"),
    )
    return relay.concatenate(branches, axis=1)


def _factorised(net, inner, name):
    """17 x 17: convolutions of 7 x 7 as rows and columns."""
    branches = (
        _chain(net, f"{name}_a", (192, 1, 1)),
        _chain(net, f"{name}_b", (inner, 1, 1), (inner, 1, 7), (192, 7, 1)),
        _chain(
            net,
            f"{name}_c",
            (inner, 1, 1),
            (inner, 7, 1),
            (inner, 1, 7),
            (inner, 7, 1),
            (192, 1, 7),
        ),
        _pooled(net, 192, name),
    )
    return relay.concatenate(branches, axis=1)


def _to_quarter(net, name):
    """17 x 17 to 8 x 8."""
    left = _chain(net, f"{name}_a", (192, 1, 1))
    right = _chain(net, f"{name}_b", (192, 1, 1), (192, 1, 7), (192, 7, 1))
    branches = (
        Conv(left, 320, (3, 3), (2, 2), name=f"{name}_c"),
        Conv(right, 192, (3, 3), (2, 2), name=f"{name}_d"),
        Pooling(net, (3, 3), (2, 2), (0, 0), "max", f"{name}_pool"),
    )
    return relay.concatenate(branches, axis=1)


def _wide(net, pool, name):
    """8 x 8: rows and columns side by side."""
    left = _chain(net, f"{name}_b", (384, 1, 1))
    right = _chain(net, f"{name}_c", (448, 1, 1), (384, 3, 3))
    branches = (
        _chain(net, f"{name}_a", (320, 1, 1)),
        _chain(left, f"{name}_b_row", (384, 1, 3)),
        _chain(left, f"{name}_b_column", (384, 3, 1)),
        _chain(right, f"{name}_c_row", (384, 1, 3)),
        _chain(right, f"{name}_c_column", (384, 3, 1)),
        _pooled(net, 192, name, pool),
    )
    return relay.concatenate(branches, axis=1)


def get_net(batch_size, num_classes, image_shape, dtype):
    """The network.

    Parameters
    ----------
    batch_size : int
        Number of images.
    num_classes : int
        Number of results.
    image_shape : tuple of int
        Shape of an image, (3, 299, 299).
    dtype : str
        Data type.

    Returns
    -------
    Function
    """
    net = relay.var("data", shape=(batch_size, *image_shape), dtype=dtype)
    net = Conv(net, 32, (3, 3), (2, 2), name="conv")
    net = Conv(net, 32, (3, 3), name="conv_1")
    net = Conv(net, 64, (3, 3), pad=(1, 1), name="conv_2")
    net = Pooling(net, (3, 3), (2, 2), (0, 0), "max", "pool")
    net = Conv(net, 80, name="conv_3")
    net = Conv(net, 192, (3, 3), name="conv_4")
    net = Pooling(net, (3, 3), (2, 2), (0, 0), "max", "pool1")
    for number, pooled in enumerate((32, 64, 64)):
        net = _same_size(net, pooled, f"mixed_{number}")
    net = _to_half(net, "mixed_3")
    for number, inner in enumerate((128, 160, 160, 192), 4):
        net = _factorised(net, inner, f"mixed_{number}")
    net = _to_quarter(net, "mixed_8")
    net = _wide(net, "avg", "mixed_9")
    net = _wide(net, "max", "mixed_10")
    net = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(net))
    net = relay.nn.dense(net, relay.var("fc1_weight"), units=num_classes)
    net = relay.nn.bias_add(net, relay.var("fc1_bias"), axis=-1)
    net = relay.nn.softmax(net)
    return relay.Function(relay.analysis.free_vars(net), net)


def get_workload(batch_size=1, num_classes=1000, image_shape=(3, 299, 299), dtype="float32"):
    """The network with parameters; see `get_net` and `create_workload`."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype))
