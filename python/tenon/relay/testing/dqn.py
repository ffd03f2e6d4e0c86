"""The network of deep Q-learning (doi:10.1038/nature14236): values of actions from four frames."""

from ... import relay
from . import layers
from .init import create_workload


def get_net(batch_size, num_actions=18, image_shape=(4, 84, 84), dtype="float32", layout="NCHW"):
    """The network.

    Parameters
    ----------
    batch_size : int
        Number of states.
    num_actions : int
        Number of actions.
    image_shape : tuple of int
        Shape of a state; its channels where `layout` has them.
    dtype : str
        Data type.
    layout : str
        "NCHW" or "NHWC".

    Returns
    -------
    Function
    """
    net = relay.var("data", shape=(batch_size, *image_shape), dtype=dtype)
    for number, (channels, size, stride) in enumerate([(32, 8, 4), (64, 4, 2), (64, 3, 1)], 1):
        net = layers.conv2d(
            net,
            kernel_size=(size, size),
            strides=(stride, stride),
            padding=(0, 0),
            channels=channels,
            name=f"conv{number}",
            data_layout=layout,
            kernel_layout=layers.conv_kernel_layout(layout),
        )
        net = relay.nn.bias_add(net, relay.var(f"conv{number}_bias"), axis=layout.index("C"))
        net = relay.nn.relu(net)
    net = relay.nn.relu(
        layers.dense_add_bias(relay.nn.batch_flatten(net), units=512, name="dense1")
    )
    net = layers.dense_add_bias(net, units=num_actions, name="dense2")
    return relay.Function(relay.analysis.free_vars(net), net)


def get_workload(
    batch_size, num_actions=18, image_shape=(4, 84, 84), dtype="float32", layout="NCHW"
):
    """The network with parameters; see `get_net` and `create_workload`."""
    return create_workload(get_net(batch_size, num_actions, image_shape, dtype, layout))
