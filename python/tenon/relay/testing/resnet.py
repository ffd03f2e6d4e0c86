"""Residual networks, the second version (arXiv:1603.05027): normalisation before convolution."""

from ... import relay
from . import layers
from .init import create_workload

_DEEP = {
    18: [2, 2, 2, 2],
    34: [3, 4, 6, 3],
    50: [3, 4, 6, 3],
    101: [3, 4, 23, 3],
    152: [3, 8, 36, 3],
    200: [3, 24, 36, 3],
    269: [3, 30, 48, 8],
}


class _Net:
    """What all layers of a network share."""

    def __init__(self, layout):
        self.layout = layout
        self.axis = layout.index("C")
        self.kernel_layout = layers.conv_kernel_layout(layout)

    def conv(self, data, channels, size, stride, padding, name):
        return layers.conv2d(
            data,
            channels=channels,
            kernel_size=(size, size),
            strides=stride,
            padding=(padding, padding),
            name=name,
            data_layout=self.layout,
            kernel_layout=self.kernel_layout,
        )

    def norm(self, data, name, **kwargs):
        return layers.batch_norm_infer(data, epsilon=2e-5, axis=self.axis, name=name, **kwargs)


def residual_unit(
    data,
    num_filter,
    stride,
    dim_match,
    name,
    bottle_neck=True,
    data_layout="NCHW",
    kernel_layout="IOHW",
):
    """One unit: convolutions and what is added to their result.

    Parameters
    ----------
    data : RelayExpr
        Input.
    num_filter : int
        Channels of the result.
    stride : tuple of int
        Stride of the unit.
    dim_match : bool
        Has the result the input's shape?
    name : str
        Name of the unit.
    bottle_neck : bool
        Three convolutions, the middle one with a quarter of the channels; otherwise two.
    data_layout, kernel_layout : str
        Layouts; the second one follows from the first.

    Returns
    -------
    RelayExpr
    """
    net, one = _Net(data_layout), (1, 1)
    first = relay.nn.relu(net.norm(data, name + "_bn1"))
    if bottle_neck:
        inner = int(num_filter * 0.25)
        steps = [(inner, 1, stride, 0), (inner, 3, one, 1), (num_filter, 1, one, 0)]
    else:
        steps = [(num_filter, 3, stride, 1), (num_filter, 3, one, 1)]
    body = first
    for i, (channels, size, step, padding) in enumerate(steps, 1):
        if i > 1:
            body = relay.nn.relu(net.norm(body, f"{name}_bn{i}"))
        body = net.conv(body, channels, size, step, padding, f"{name}_conv{i}")
    if not dim_match:
        data = net.conv(first, num_filter, 1, stride, 0, name + "_sc")
    return relay.add(body, data)


def resnet(
    units,
    num_stages,
    filter_list,
    num_classes,
    data_shape,
    bottle_neck=True,
    layout="NCHW",
    dtype="float32",
):
    """A residual network.

    Parameters
    ----------
    units : list of int
        Number of units of each stage.
    num_stages : int
        Number of stages.
    filter_list : list of int
        Channels of the first layer and of each stage.
    num_classes : int
        Number of results.
    data_shape : tuple of int
        Shape of the input.
    bottle_neck : bool
        Kind of units; see `residual_unit`.
    layout : str
        Layout of the data.
    dtype : str
        Data type.

    Returns
    -------
    Function
    """
    net = _Net(layout)
    data = relay.var("data", shape=data_shape, dtype=dtype)
    body = net.norm(data, "bn_data", scale=False)
    if data_shape[layout.index("H")] <= 32:
        body = net.conv(body, filter_list[0], 3, (1, 1), 1, "conv0")
    else:
        body = net.conv(body, filter_list[0], 7, (2, 2), 3, "conv0")
        body = relay.nn.relu(net.norm(body, "bn0"))
        body = relay.nn.max_pool2d(
            body, pool_size=(3, 3), strides=(2, 2), padding=(1, 1), layout=layout
        )
    for i in range(num_stages):
        for j in range(units[i]):
            stride = (2, 2) if i > 0 and j == 0 else (1, 1)
            name = f"stage{i + 1}_unit{j + 1}"
            body = residual_unit(body, filter_list[i + 1], stride, j > 0, name, bottle_neck, layout)
    body = relay.nn.relu(net.norm(body, "bn1"))
    body = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(body, layout=layout))
    body = relay.nn.softmax(layers.dense_add_bias(body, units=num_classes, name="fc1"))
    return relay.Function(relay.analysis.free_vars(body), body)


def _small(num_layers):
    """Units and channels for images of up to 28 pixels."""
    if (num_layers - 2) % 9 == 0 and num_layers >= 164:
        return [(num_layers - 2) // 9] * 3, [16, 64, 128, 256], True
    if (num_layers - 2) % 6 == 0 and num_layers < 164:
        return [(num_layers - 2) // 6] * 3, [16, 16, 32, 64], False
    raise ValueError(f"no experiments done on num_layers {num_layers}")


def get_net(
    batch_size,
    num_classes,
    num_layers=50,
    image_shape=(3, 224, 224),
    layout="NCHW",
    dtype="float32",
    **kwargs,
):
    """A residual network by its number of layers.

    Parameters
    ----------
    batch_size : int
        Number of images.
    num_classes : int
        Number of results.
    num_layers : int
        Number of layers: 18, 34, 50, 101, 152, 200 or 269; others for small images.
    image_shape : tuple of int
        Shape of an image.
    layout : str
        Layout of the data.
    dtype : str
        Data type.

    Returns
    -------
    Function
    """
    height = image_shape[layout.index("H") - 1]
    if height <= 28:
        units, filters, bottle_neck = _small(num_layers)
    elif num_layers in _DEEP:
        units, bottle_neck = _DEEP[num_layers], num_layers >= 50
        filters = [64, 256, 512, 1024, 2048] if bottle_neck else [64, 64, 128, 256, 512]
    else:
        raise ValueError(f"no experiments done on num_layers {num_layers}")
    shape = (batch_size, *image_shape)
    return resnet(units, len(units), filters, num_classes, shape, bottle_neck, layout, dtype)


def get_workload(
    batch_size=1,
    num_classes=1000,
    num_layers=18,
    image_shape=(3, 224, 224),
    layout="NCHW",
    dtype="float32",
    **kwargs,
):
    """A residual network with parameters; see `get_net` and `create_workload`."""
    return create_workload(
        get_net(
            batch_size=batch_size,
            num_classes=num_classes,
            num_layers=num_layers,
            image_shape=image_shape,
            dtype=dtype,
            layout=layout,
            **kwargs,
        )
    )
