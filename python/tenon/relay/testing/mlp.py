"""A network of three dense layers, for digits."""

from ... import relay
from .init import create_workload


def get_net(batch_size, num_classes=10, image_shape=(1, 28, 28), dtype="float32"):
    """The network.

    Parameters
    ----------
    batch_size : int
        Number of images.
    num_classes : int
        Number of results.
    image_shape : tuple of int
        Shape of an image.
    dtype : str
        Data type.

    Returns
    -------
    Function
    """
    data = relay.var("data", shape=(batch_size, *image_shape), dtype=dtype)
    body = relay.nn.batch_flatten(data)
    for i, units in enumerate((128, 64, num_classes), 1):
        body = relay.nn.dense(body, relay.var(f"fc{i}_weight"), units=units)
        body = relay.nn.bias_add(body, relay.var(f"fc{i}_bias"), axis=-1)
        body = relay.nn.relu(body) if i < 3 else relay.nn.softmax(data=body)
    return relay.Function(relay.analysis.free_vars(body), body)


def get_workload(batch_size, num_classes=10, image_shape=(1, 28, 28), dtype="float32"):
    """The network with parameters; see `get_net` and `create_workload`."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype))
