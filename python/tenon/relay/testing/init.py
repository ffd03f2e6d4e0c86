"""First values of parameters, and networks with them."""

import numpy as np

from ...ir.module import IRModule
from ...nd import array
from ...runtime.ndarray import cpu
from ..transform import InferType


class Initializer:
    """Fills arrays by the ends of their names: weight, bias, gamma, beta, mean, var.

    Parameters
    ----------
    kwargs
        Kept; derived classes have their own parameters.
    """

    def __init__(self, **kwargs):
        self._kwargs = kwargs

    def __call__(self, desc, arr):
        """Fill an array.

        Parameters
        ----------
        desc : str
            Name of the parameter.
        arr : numpy.ndarray
            The array.

        Raises
        ------
        ValueError
            The name ends in none of those above.
        """
        for end in ("weight", "bias", "gamma", "beta", "mean", "var"):
            if desc.endswith(end):
                getattr(self, f"_init_{end}")(desc, arr)
                return
        self._init_default(desc, arr)

    def _init_weight(self, name, arr):
        raise NotImplementedError("Must override it")

    def _init_bias(self, _, arr):
        arr[:] = 0.0

    def _init_gamma(self, _, arr):
        arr[:] = 1.0

    def _init_beta(self, _, arr):
        arr[:] = 0.0

    def _init_mean(self, _, arr):
        arr[:] = 0.0

    def _init_var(self, _, arr):
        arr[:] = 1.0

    def _init_default(self, name, _):
        raise ValueError(
            f"Unknown initialization pattern for {name}: expected a name that ends in weight, "
            "bias, gamma, beta, mean or var"
        )


class Xavier(Initializer):
    """Random weights whose size depends on how many a value is made of.

    Parameters
    ----------
    rnd_type : str
        "uniform" or "gaussian".
    factor_type : str
        What counts: "in", "out" or "avg".
    magnitude : float
        Their size.
    """

    def __init__(self, rnd_type="uniform", factor_type="avg", magnitude=3):
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        self.rnd_type = rnd_type
        self.factor_type = factor_type
        self.magnitude = float(magnitude)

    def _init_weight(self, name, arr):
        shape = arr.shape
        if len(shape) < 2:
            raise ValueError(f"Xavier: {name} has {len(shape)} dimensions, expected 2 at least")
        window = float(np.prod(shape[2:]))
        fan_in, fan_out = shape[1] * window, shape[0] * window
        factors = {"avg": (fan_in + fan_out) / 2.0, "in": fan_in, "out": fan_out}
        if self.factor_type not in factors:
            raise ValueError("Incorrect factor type")
        # a depthwise value is made of its own window alone
        factor = window if "depthwise" in name else factors[self.factor_type]
        scale = np.sqrt(self.magnitude / factor)
        if self.rnd_type == "uniform":
            arr[:] = np.random.uniform(-scale, scale, size=arr.shape)
        elif self.rnd_type == "gaussian":
            arr[:] = np.random.normal(0, scale, size=arr.shape)
        else:
            raise ValueError("Unknown random type")


class Constant(Initializer):
    """One number for all weights.

    Parameters
    ----------
    value : float
        The number.
    """

    def __init__(self, value=0.0):
        super().__init__(value=value)
        self.value = value

    def _init_weight(self, _, arr):
        arr[:] = self.value


def create_workload(net, initializer=None, seed=0):
    """A network with values for its parameters.

    Parameters
    ----------
    net : Function
        The network; its input is called ``data``.
    initializer : Initializer, optional
        How values are made; default: `Xavier`.
    seed : int
        For numpy's random numbers.

    Returns
    -------
    (IRModule, dict of str to NDArray)
        The network with its types, and its parameters.
    """
    mod = InferType()(IRModule.from_expr(net))
    np.random.seed(seed)
    initializer = initializer or Xavier()
    params = {}
    for var in mod["main"].params:
        name, typ = str(var.name_hint), var.checked_type
        if name == "data":
            continue
        value = np.zeros(tuple(int(extent) for extent in typ.shape)).astype(typ.dtype)
        initializer(name, value)
        params[name] = array(value, device=cpu(0))
    return mod, params
