"""Networks of depthwise separable convolutions (arXiv:1704.04861)."""

from ... import relay
from . import layers
from .init import create_workload


def conv_block(
    data,
    name,
    channels,
    kernel_size=(3, 3),
    strides=(1, 1),
    padding=(1, 1),
    epsilon=1e-5,
    layout="NCHW",
):
    """Convolution, normalisation, relu."""
    body = layers.conv2d(
        data,
        channels=channels,
        kernel_size=kernel_size,
        strides=strides,
        padding=padding,
        data_layout=layout,
        kernel_layout=layers.conv_kernel_layout(layout),
        name=name + "_conv",
    )
    axis = layout.index("C")
    return relay.nn.relu(
        layers.batch_norm_infer(body, epsilon=epsilon, axis=axis, name=name + "_bn")
    )


def separable_conv_block(
    data,
    name,
    depthwise_channels,
    pointwise_channels,
    kernel_size=(3, 3),
    downsample=False,
    padding=(1, 1),
    epsilon=1e-5,
    layout="NCHW",
    dtype="float32",
):
    """A convolution of each channel by itself, then one across channels.

    Parameters
    ----------
    data : RelayExpr
        Input.
    name : str
        Name of the block.
    depthwise_channels, pointwise_channels : int
        Channels of the input and of the result.
    kernel_size, padding : tuple of int
        Of the first convolution.
    downsample : bool
        Has the first convolution stride 2?
    epsilon : float
        Of the normalisations.
    layout : str
        Layout of the data.
    dtype : str
        Data type.

    Returns
    -------
    RelayExpr
    """
    axis = layout.index("C")
    kernel = (depthwise_channels, 1)
    shape = (*kernel, *kernel_size) if layout == "NCHW" else (*kernel_size, *kernel)
    body = layers.conv2d(
        data,
        relay.var(name + "_weight", shape=shape, dtype=dtype),
        channels=depthwise_channels,
        groups=depthwise_channels,
        kernel_size=kernel_size,
        strides=(2, 2) if downsample else (1, 1),
        padding=padding,
        data_layout=layout,
        kernel_layout=layers.conv_kernel_layout(layout, True),
        name=name + "_depthwise_conv1",
    )
    body = layers.batch_norm_infer(body, epsilon=epsilon, axis=axis, name=name + "_bn1")
    body = layers.conv2d(
        relay.nn.relu(body),
        channels=pointwise_channels,
        kernel_size=(1, 1),
        strides=(1, 1),
        padding=(0, 0),
        data_layout=layout,
        kernel_layout=layers.conv_kernel_layout(layout),
        name=name + "_conv2",
    )
    body = layers.batch_norm_infer(body, epsilon=epsilon, axis=axis, name=name + "_bn2")
    return relay.nn.relu(body)


# channels of the result in 32nds, and whether the block halves the image
_BLOCKS = [(2, False), (4, True), (4, False), (8, True), (8, False), (16, True)]
_MIDDLE = [(16, False)] * 5
_LAST = [(32, True), (32, False)]


def mobile_net(
    num_classes=1000,
    data_shape=(1, 3, 224, 224),
    dtype="float32",
    alpha=1.0,
    is_shallow=False,
    layout="NCHW",
):
    """The network.

    Parameters
    ----------
    num_classes : int
        Number of results.
    data_shape : tuple of int
        Shape of the input.
    dtype : str
        Data type.
    alpha : float
        Factor of the numbers of channels.
    is_shallow : bool
        Leave the middle blocks out.
    layout : str
        Layout of the data.

    Returns
    -------
    Function
    """
    data = relay.var("data", shape=data_shape, dtype=dtype)
    body = conv_block(data, "conv_block_1", int(32 * alpha), strides=(2, 2), layout=layout)
    before = 1
    for i, (after, halves) in enumerate(_BLOCKS + ([] if is_shallow else _MIDDLE) + _LAST, 1):
        channels = int(32 * before * alpha), int(32 * after * alpha)
        name = f"separable_conv_block_{i}"
        body = separable_conv_block(
            body, name, *channels, downsample=halves, layout=layout, dtype=dtype
        )
        before = after
    body = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(body, layout=layout))
    weight, bias = relay.var("fc_weight"), relay.var("fc_bias")
    body = relay.nn.bias_add(relay.nn.dense(body, weight, units=num_classes), bias)
    body = relay.nn.softmax(body)
    return relay.Function(relay.analysis.free_vars(body), body)


def get_workload(
    batch_size=1, num_classes=1000, image_shape=(3, 224, 224), dtype="float32", layout="NCHW"
):
    """The network with parameters; see `mobile_net` and `create_workload`."""
    net = mobile_net(
        num_classes=num_classes,
        data_shape=(batch_size, *image_shape),
        dtype=dtype,
        alpha=1.0,
        is_shallow=False,
        layout=layout,
    )
    return create_workload(net)
