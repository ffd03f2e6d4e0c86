"""Layers whose parameters are variables named after the layer."""

from ... import relay


def _param(value, name):
    return value if value is not None and value is not False else relay.var(name)


def _weighted(op):
    def layer(data, weight=None, **kwargs):
        name = kwargs.pop("name")
        return getattr(relay.nn, op)(data, _param(weight, name + "_weight"), **kwargs)

    layer.__name__ = layer.__qualname__ = op
    layer.__doc__ = f"`relay.nn.{op}`; its weight is a new variable ``NAME_weight`` unless given."
    return layer


conv1d = _weighted("conv1d")
conv2d = _weighted("conv2d")
conv3d = _weighted("conv3d")
conv2d_transpose = _weighted("conv2d_transpose")
conv3d_transpose = _weighted("conv3d_transpose")


def batch_norm_infer(data, gamma=None, beta=None, moving_mean=None, moving_var=None, **kwargs):
    """The first result of `relay.nn.batch_norm`; its parameters are new variables unless given.

    Parameters
    ----------
    data : RelayExpr
        Input.
    gamma, beta, moving_mean, moving_var : RelayExpr, optional
        Parameters; left out, the variables ``NAME_gamma`` and so on.
    kwargs
        ``name`` of the layer, and attributes.

    Returns
    -------
    RelayExpr
    """
    name = kwargs.pop("name")
    given = {"gamma": gamma, "beta": beta, "moving_mean": moving_mean, "moving_var": moving_var}
    params = [_param(value, f"{name}_{key}") for key, value in given.items()]
    return relay.nn.batch_norm(data, *params, **kwargs)[0]


def dense_add_bias(data, weight=None, bias=None, units=None, **kwargs):
    """`relay.nn.dense` and `relay.nn.bias_add`; their parameters are new variables unless given.

    Parameters
    ----------
    data : RelayExpr
        Input.
    weight, bias : RelayExpr, optional
        Parameters; left out, the variables ``NAME_weight`` and ``NAME_bias``.
    units : int, optional
        Number of results.
    kwargs
        ``name`` of the layer, and attributes.

    Returns
    -------
    RelayExpr
    """
    name = kwargs.pop("name")
    weight, bias = _param(weight, name + "_weight"), _param(bias, name + "_bias")
    data = relay.nn.dense(data, weight, units, **kwargs)
    return relay.nn.bias_add(data, bias, axis=-1)


def conv_kernel_layout(data_layout, is_depthwise=False):
    """The usual layout of weights for one of the data ("NCHW" or "NHWC")."""
    layouts = {"NCHW": "OIHW", "NHWC": "HWOI" if is_depthwise else "HWIO"}
    if data_layout not in layouts:
        raise ValueError(f"Unknown layout: {data_layout}")
    return layouts[data_layout]
