"""A small network with a convolution, for tests."""

from ... import relay
from . import layers
from .init import create_workload


def get_net(input_shape=(1, 3, 24, 12), dtype="float32", wtype=None):
    """The network.

    Parameters
    ----------
    input_shape : tuple of int
        Shape of the input.
    dtype : str
        Its data type.
    wtype : str, optional
        Data type of the weights; default: `dtype`.

    Returns
    -------
    Function
    """
    wtype = wtype or dtype
    data = relay.var("data", shape=input_shape, dtype=dtype)
    dense_shape = (input_shape[-1], input_shape[-1])
    conv_shape = (input_shape[1], input_shape[1], 3, 3)
    body = relay.nn.dense(data, relay.var("dense_weight", shape=dense_shape, dtype=wtype))
    weight = relay.var("conv_weight", shape=conv_shape, dtype=wtype)
    body = layers.conv2d(
        body,
        weight,
        channels=input_shape[1],
        kernel_size=(3, 3),
        padding=(1, 1),
        name="conv",
    )
    return relay.Function(relay.analysis.free_vars(body), body)


def get_workload(input_shape=(1, 3, 24, 12), dtype="float32", wtype=None):
    """The network with parameters; see `get_net` and `create_workload`."""
    return create_workload(get_net(input_shape=input_shape, dtype=dtype, wtype=wtype))
