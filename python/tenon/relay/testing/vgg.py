"""Networks of stages of 3 x 3 convolutions (arXiv:1409.1556)."""

from ... import relay
from . import layers as wrapper
from .init import create_workload

_STAGES = {
    11: [1, 1, 2, 2, 2],
    13: [2, 2, 2, 2, 2],
    16: [2, 2, 3, 3, 3],
    19: [2, 2, 4, 4, 4],
}


def get_feature(internal_layer, layers, filters, batch_norm=False):
    """The convolutions: `layers` of them with `filters` channels in each stage, then pooling."""
    for i, count in enumerate(layers):
        for j in range(count):
            internal_layer = wrapper.conv2d(
                data=internal_layer,
                kernel_size=(3, 3),
                padding=(1, 1),
                channels=filters[i],
                name=f"conv{i + 1}_{j + 1}",
            )
            internal_layer = relay.nn.bias_add(
                internal_layer, relay.var(f"conv{i + 1}_{j + 1}_bias")
            )
            if batch_norm:
                internal_layer = wrapper.batch_norm_infer(
                    data=internal_layer, name=f"bn{i + 1}_{j + 1}"
                )
            internal_layer = relay.nn.relu(data=internal_layer)
        internal_layer = relay.nn.max_pool2d(data=internal_layer, pool_size=(2, 2), strides=(2, 2))
    return internal_layer


def get_classifier(input_data, num_classes):
    """The dense layers."""
    body = relay.nn.batch_flatten(data=input_data)
    for name, units in (("fc6", 4096), ("fc7", 4096)):
        body = relay.nn.relu(data=wrapper.dense_add_bias(data=body, units=units, name=name))
        body = relay.nn.dropout(data=body, rate=0.5)
    return wrapper.dense_add_bias(data=body, units=num_classes, name="fc8")


def get_net(batch_size, image_shape, num_classes, dtype, num_layers=11, batch_norm=False):
    """The network.

    Parameters
    ----------
    batch_size : int
        Number of images.
    image_shape : tuple of int
        Shape of an image.
    num_classes : int
        Number of results.
    dtype : str
        Data type.
    num_layers : int
        11, 13, 16 or 19.
    batch_norm : bool
        Normalise after convolutions.

    Returns
    -------
    Function
    """
    if num_layers not in _STAGES:
        raise ValueError(f"Invalid num_layers {num_layers}. Choices are 11,13,16,19.")
    data = relay.var("data", shape=(batch_size, *image_shape), dtype=dtype)
    body = get_feature(data, _STAGES[num_layers], [64, 128, 256, 512, 512], batch_norm)
    body = relay.nn.softmax(data=get_classifier(body, num_classes))
    return relay.Function(relay.analysis.free_vars(body), body)


def get_workload(
    batch_size,
    num_classes=1000,
    image_shape=(3, 224, 224),
    dtype="float32",
    num_layers=11,
    batch_norm=False,
):
    """The network with parameters; see `get_net` and `create_workload`."""
    return create_workload(
        get_net(batch_size, image_shape, num_classes, dtype, num_layers, batch_norm)
    )
