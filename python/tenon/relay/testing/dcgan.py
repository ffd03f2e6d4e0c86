"""The generator of DCGAN (arXiv:1511.06434): pictures from random numbers."""

from ... import relay
from . import layers
from .init import create_workload


def deconv2d(data, ishape, oshape, kshape, layout, name, stride=(2, 2)):
    """A transposed convolution that makes each side `stride` times as large.

    Parameters
    ----------
    data : RelayExpr
        Input.
    ishape, oshape : tuple of int
        Shapes of an image before and after, channels first whatever the layout.
    kshape : tuple of int
        Height and width of the kernel.
    layout : str
        "NCHW" or "NHWC".
    name : str
        Name of the layer.
    stride : tuple of int
        Stride.

    Returns
    -------
    RelayExpr
    """
    pad = [(size - 1) // 2 for size in kshape]
    extra = [
        oshape[i + 1] - ((ishape[i + 1] - 1) * stride[i] - 2 * pad[i] + kshape[i]) for i in range(2)
    ]
    if layout not in ("NCHW", "NHWC"):
        raise ValueError(f"Invalid layout: {layout}; expected NCHW or NHWC")
    return layers.conv2d_transpose(
        data,
        kernel_size=kshape,
        strides=stride,
        channels=oshape[0],
        padding=pad,
        output_padding=extra,
        data_layout=layout,
        kernel_layout="IOHW" if layout == "NCHW" else "HWOI",
        name=name,
    )


def deconv2d_bn_relu(data, prefix, **kwargs):
    """`deconv2d`, normalised and rectified."""
    layout = kwargs["layout"]
    net = deconv2d(data, name=f"{prefix}_deconv", **kwargs)
    net = layers.batch_norm_infer(
        net, epsilon=1e-5, scale=False, axis=layout.index("C"), name=f"{prefix}_batch_norm"
    )
    return relay.nn.relu(net)


def get_net(
    batch_size,
    random_len=100,
    oshape=(3, 64, 64),
    ngf=128,
    code=None,
    layout="NCHW",
    dtype="float32",
):
    """The generator.

    Parameters
    ----------
    batch_size : int
        Number of pictures.
    random_len : int
        Random numbers for a picture.
    oshape : tuple of int
        Shape of a picture: (channels, 64, 64).
    ngf : int
        Channels of the layer before the last.
    code : RelayExpr, optional
        The random numbers; default: the variable ``data``.
    layout : str
        "NCHW" or "NHWC".
    dtype : str
        Data type.

    Returns
    -------
    Function
    """
    assert tuple(oshape[-2:]) == (64, 64), "Only support 64x64 image"
    if code is None:
        code = relay.var("data", dtype=dtype, shape=(batch_size, random_len))
    net = relay.nn.dense(code, relay.var("dense_weight"), units=4 * 4 * ngf * 8)
    net = relay.nn.relu(net)
    shape = (-1, ngf * 8, 4, 4) if layout == "NCHW" else (-1, 4, 4, ngf * 8)
    net = relay.reshape(net, newshape=shape)
    for number, (factor, size) in enumerate([(8, 4), (4, 8), (2, 16)], 2):
        net = deconv2d_bn_relu(
            net,
            f"g{number}",
            ishape=(ngf * factor, size, size),
            oshape=(ngf * factor // 2, 2 * size, 2 * size),
            kshape=(4, 4),
            layout=layout,
        )
    net = deconv2d(net, (ngf, 32, 32), oshape[-3:], (4, 4), layout, "g5_deconv")
    net = relay.tanh(net)
    return relay.Function(relay.analysis.free_vars(net), net)


def get_workload(
    batch_size, oshape=(3, 64, 64), ngf=128, random_len=100, layout="NCHW", dtype="float32"
):
    """The generator with parameters; see `get_net` and `create_workload`."""
    return create_workload(
        get_net(batch_size, random_len, oshape=oshape, ngf=ngf, layout=layout, dtype=dtype)
    )
