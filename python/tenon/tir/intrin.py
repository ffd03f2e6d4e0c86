"""Functions that are a call of the intrinsic of their name, of the type of their first argument."""

from .expr import Call, convert


def exp(x):
    """Exponential."""
    x = convert(x)
    return Call(x.dtype, "tir.exp", [x])


def exp2(x):
    """``2 ** x``."""
    x = convert(x)
    return Call(x.dtype, "tir.exp2", [x])


def exp10(x):
    """``10 ** x``."""
    x = convert(x)
    return Call(x.dtype, "tir.exp10", [x])


def erf(x):
    """Error function."""
    x = convert(x)
    return Call(x.dtype, "tir.erf", [x])


def tanh(x):
    """Hyperbolic tangent."""
    x = convert(x)
    return Call(x.dtype, "tir.tanh", [x])


def sigmoid(x):
    """``1 / (1 + exp(-x))``."""
    x = convert(x)
    return Call(x.dtype, "tir.sigmoid", [x])


def log(x):
    """Natural logarithm."""
    x = convert(x)
    return Call(x.dtype, "tir.log", [x])


def log2(x):
    """Logarithm to base 2."""
    x = convert(x)
    return Call(x.dtype, "tir.log2", [x])


def log10(x):
    """Logarithm to base 10."""
    x = convert(x)
    return Call(x.dtype, "tir.log10", [x])


def log1p(x):
    """``log(1 + x)``."""
    x = convert(x)
    return Call(x.dtype, "tir.log1p", [x])


def tan(x):
    """Tangent."""
    x = convert(x)
    return Call(x.dtype, "tir.tan", [x])


def cos(x):
    """Cosine."""
    x = convert(x)
    return Call(x.dtype, "tir.cos", [x])


def cosh(x):
    """Hyperbolic cosine."""
    x = convert(x)
    return Call(x.dtype, "tir.cosh", [x])


def acos(x):
    """Inverse cosine."""
    x = convert(x)
    return Call(x.dtype, "tir.acos", [x])


def acosh(x):
    """Inverse hyperbolic cosine."""
    x = convert(x)
    return Call(x.dtype, "tir.acosh", [x])


def sin(x):
    """Sine."""
    x = convert(x)
    return Call(x.dtype, "tir.sin", [x])


def sinh(x):
    """Hyperbolic sine."""
    x = convert(x)
    return Call(x.dtype, "tir.sinh", [x])


def asin(x):
    """Inverse sine."""
    x = convert(x)
    return Call(x.dtype, "tir.asin", [x])


def asinh(x):
    """Inverse hyperbolic sine."""
    x = convert(x)
    return Call(x.dtype, "tir.asinh", [x])


def atan(x):
    """Inverse tangent."""
    x = convert(x)
    return Call(x.dtype, "tir.atan", [x])


def atanh(x):
    """Inverse hyperbolic tangent."""
    x = convert(x)
    return Call(x.dtype, "tir.atanh", [x])


def sqrt(x):
    """Square root."""
    x = convert(x)
    return Call(x.dtype, "tir.sqrt", [x])


def rsqrt(x):
    """``1 / sqrt(x)``."""
    x = convert(x)
    return Call(x.dtype, "tir.rsqrt", [x])


def popcount(x):
    """Number of bits set."""
    x = convert(x)
    return Call(x.dtype, "tir.popcount", [x])


def atan2(x1, x2):
    """Angle of the point ``(x2, x1)``."""
    x1 = convert(x1)
    return Call(x1.dtype, "tir.atan2", [x1, convert(x2)])


def nextafter(x1, x2):
    """The float after `x1` toward `x2`."""
    x1 = convert(x1)
    return Call(x1.dtype, "tir.nextafter", [x1, convert(x2)])


def hypot(x1, x2):
    """``sqrt(x1 * x1 + x2 * x2)``."""
    x1 = convert(x1)
    return Call(x1.dtype, "tir.hypot", [x1, convert(x2)])


def copysign(x1, x2):
    """`x1` with the sign of `x2`."""
    x1 = convert(x1)
    return Call(x1.dtype, "tir.copysign", [x1, convert(x2)])


def ldexp(x1, x2):
    """``x1 * 2 ** x2``."""
    x1 = convert(x1)
    return Call(x1.dtype, "tir.ldexp", [x1, convert(x2)])
