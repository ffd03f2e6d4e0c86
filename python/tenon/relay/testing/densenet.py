"""Densely connected networks (arXiv:1608.06993): layers read what all before them made."""

from ... import relay
from . import layers
from .init import create_workload

# channels of the first layer, channels a layer adds, layers of each block
_SPECS = {
    121: (64, 32, [6, 12, 24, 16]),
    161: (96, 48, [6, 12, 36, 24]),
    169: (64, 32, [6, 12, 32, 32]),
    201: (64, 32, [6, 12, 48, 32]),
}
_BOTTLENECK = 4  # channels of the inner convolution for each added one


def _norm_relu(net, name):
    return relay.nn.relu(layers.batch_norm_infer(net, epsilon=1e-5, name=name))


def _conv(net, channels, size, name, stride=1):
    return layers.conv2d(
        net,
        channels=channels,
        kernel_size=(size, size),
        strides=(stride, stride),
        padding=(size // 2, size // 2),
        name=name,
    )


def _block(net, count, growth, name):
    for i in range(count):
        layer = f"{name}_layer{i + 1}"
        added = _conv(_norm_relu(net, f"{layer}_bn1"), _BOTTLENECK * growth, 1, f"{layer}_conv1")
        added = _conv(_norm_relu(added, f"{layer}_bn2"), growth, 3, f"{layer}_conv2")
        net = relay.concatenate((net, added), axis=1)
    return net


def get_net(densenet_size, classes, batch_size, image_shape, dtype):
    """The network.

    Parameters
    ----------
    densenet_size : int
        121, 161, 169 or 201.
    classes : int
        Number of results.
    batch_size : int
        Number of images.
    image_shape : tuple of int
        Shape of an image, (channels, height, width).
    dtype : str
        Data type.

    Returns
    -------
    Function
    """
    if densenet_size not in _SPECS:
        raise ValueError(f"densenet_size {densenet_size}: expected one of {sorted(_SPECS)}")
    channels, growth, blocks = _SPECS[densenet_size]
    net = relay.var("data", shape=(batch_size, *image_shape), dtype=dtype)
    net = _norm_relu(_conv(net, channels, 7, "conv1", stride=2), "bn1")
    net = relay.nn.max_pool2d(net, pool_size=(3, 3), strides=(2, 2), padding=(1, 1))
    for number, count in enumerate(blocks, 1):
        net = _block(net, count, growth, f"block{number}")
        channels += count * growth
        if number == len(blocks):
            break
        channels //= 2
        name = f"transition{number}"
        net = _conv(_norm_relu(net, f"{name}_bn"), channels, 1, f"{name}_conv")
        net = relay.nn.avg_pool2d(net, pool_size=(2, 2), strides=(2, 2))
    net = relay.nn.global_avg_pool2d(_norm_relu(net, "bn2"))
    net = layers.dense_add_bias(relay.nn.batch_flatten(net), units=classes, name="dense")
    return relay.Function(relay.analysis.free_vars(net), net)


def get_workload(
    densenet_size=121, classes=1000, batch_size=4, image_shape=(3, 224, 224), dtype="float32"
):
    """The network with parameters; see `get_net` and `create_workload`."""
    return create_workload(get_net(densenet_size, classes, batch_size, image_shape, dtype))
