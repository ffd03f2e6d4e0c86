"""Small networks of fire modules (arXiv:1602.07360)."""

from ... import relay
from .init import create_workload
from .layers import conv2d


def _conv(net, channels, size, padding, name, strides=(1, 1)):
    net = conv2d(
        net,
        channels=channels,
        kernel_size=(size, size),
        strides=strides,
        padding=(padding, padding),
        name=name,
    )
    return relay.nn.relu(relay.nn.bias_add(net, relay.var(name + "_bias")))


def _fire(net, squeeze, expand, prefix):
    net = _conv(net, squeeze, 1, 0, prefix + "_input")
    left = _conv(net, expand, 1, 0, prefix + "_left")
    right = _conv(net, expand, 3, 1, prefix + "_right")
    return relay.concatenate((left, right), axis=1)


# squeezed and expanded channels of the fire modules; None is a pooling
_VERSIONS = {
    "1.0": [(16, 64), (16, 64), (32, 128), None, (32, 128), (48, 192), (48, 192), (64, 256), None,
            (64, 256)],
    "1.1": [(16, 64), (16, 64), None, (32, 128), (32, 128), None, (48, 192), (48, 192), (64, 256),
            (64, 256)],
}  # fmt: skip


def get_net(batch_size, image_shape, num_classes, version, dtype):
    """The network.

    Parameters
    ----------
    batch_size : int
        Number of images.
    image_shape : tuple of int
        Shape of an image.
    num_classes : int
        Number of results.
    version : str
        "1.0" or "1.1".
    dtype : str
        Data type.

    Returns
    -------
    Function
    """
    if version not in _VERSIONS:
        raise AssertionError(f"Unsupported SqueezeNet version {version}: 1.0 or 1.1 expected")
    net = relay.var("data", shape=(batch_size, *image_shape), dtype=dtype)
    channels, size = (96, 7) if version == "1.0" else (64, 3)
    net = _conv(net, channels, size, size // 2, "conv1", strides=(2, 2))
    net = relay.nn.max_pool2d(net, pool_size=(3, 3), strides=(2, 2))
    number = 0
    for step in _VERSIONS[version]:
        if step is None:
            net = relay.nn.max_pool2d(net, pool_size=(3, 3), strides=(2, 2))
            continue
        net = _fire(net, *step, f"fire{number}")
        number += 1
    net = relay.nn.dropout(net, rate=0.5)
    net = _conv(net, num_classes, 1, 0, "conv_final")
    net = relay.nn.softmax(relay.nn.batch_flatten(relay.nn.global_avg_pool2d(net)))
    return relay.Function(relay.analysis.free_vars(net), net)


def get_workload(
    batch_size=1, num_classes=1000, version="1.0", image_shape=(3, 224, 224), dtype="float32"
):
    """The network with parameters; see `get_net` and `create_workload`."""
    return create_workload(get_net(batch_size, image_shape, num_classes, version, dtype))
