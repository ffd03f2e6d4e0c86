"""Quantization whose integer type is an argument of the program: the numbers stay floats."""

from ... import te, tir

SQNN_DISABLE = 0
SQNN_INT8 = 1
SQNN_UINT8 = 2
SQNN_INT32 = 3

#: The number that stands for a type in `simulated_quantize` and `simulated_dequantize`.
SQNN_DTYPE_TO_CODE = {
    "disable": SQNN_DISABLE,
    "int8": SQNN_INT8,
    "uint8": SQNN_UINT8,
    "int32": SQNN_INT32,
}
_INTEGERS = tuple(name for name in SQNN_DTYPE_TO_CODE if name != "disable")


def _axis(name, data, axis):
    if not -len(data.shape) <= axis < len(data.shape):
        raise ValueError(f"{name}: data has {len(data.shape)} axes, got axis={axis}")
    return axis % len(data.shape)


def _reader(values, axis):
    """The value for an element: of its channel, or the only one there is."""
    if not values.shape:
        return lambda at: values()
    count = values.shape[0]
    return lambda at: values(tir.indexmod(at[axis], count))


def simulated_quantize(data, out_dtype, output_scale=None, output_zero_point=None, axis=-1):
    """What `relay.qnn.quantize` gives, as elements of the type of `data`.

    Parameters
    ----------
    data : Tensor
        Floats.
    out_dtype : Tensor
        The type as a scalar of `SQNN_DTYPE_TO_CODE`; any other number leaves `data` as it is.
    output_scale, output_zero_point : Tensor
        Scalars, or one value for each channel, or one for all of them.
    axis : int
        Axis of channels.

    Returns
    -------
    Tensor
        As `data`.
    """
    axis = _axis("simulated_quantize", data, axis)
    scale, zero = _reader(output_scale, axis), _reader(output_zero_point, axis)

    def element(*at):
        whole = te.round(data(*at) / scale(at)) + zero(at).astype(data.dtype)
        value = data(*at)
        for name in _INTEGERS:
            low, high = (f(name).astype(data.dtype) for f in (tir.min_value, tir.max_value))
            clipped = tir.max(tir.min(whole, high), low)
            value = tir.Select(out_dtype() == SQNN_DTYPE_TO_CODE[name], clipped, value)
        return value

    return te.compute(data.shape, element, "simulated_quantize", "injective")


def simulated_dequantize(data, in_dtype, input_scale=None, input_zero_point=None, axis=-1):
    """What `relay.qnn.dequantize` gives of integers that are held as floats.

    Parameters
    ----------
    data : Tensor
        Whole numbers, as floats.
    in_dtype : Tensor
        The type as a scalar of `SQNN_DTYPE_TO_CODE`; any other number leaves `data` as it is.
    input_scale, input_zero_point : Tensor
        Scalars, or one value for each channel, or one for all of them.
    axis : int
        Axis of channels.

    Returns
    -------
    Tensor
        As `data`.
    """
    axis = _axis("simulated_dequantize", data, axis)
    scale, zero = _reader(input_scale, axis), _reader(input_zero_point, axis)

    def element(*at):
        real = (data(*at) - zero(at).astype(data.dtype)) * scale(at)
        known = tir.any(*(in_dtype() == SQNN_DTYPE_TO_CODE[name] for name in _INTEGERS))
        return tir.Select(known, real, data(*at))

    return te.compute(data.shape, element, "simulated_dequantize", "injective")


__all__ = [
    "SQNN_DISABLE",
    "SQNN_DTYPE_TO_CODE",
    "SQNN_INT32",
    "SQNN_INT8",
    "SQNN_UINT8",
    "simulated_dequantize",
    "simulated_quantize",
]
