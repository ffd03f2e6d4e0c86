"""Lists, options and trees, and functions of them, for programs to begin with."""

from ..ir.module import IRModule
from .tensor_array import StaticTensorArrayOps, TensorArrayOps, static_name

_FUNCTIONS = (
    "id compose flip hd tl nth update map foldl foldr foldr1 concat filter zip rev unfoldl unfoldr "
    "map_accuml map_accumr sum length tmap size iterate"
).split()
# those whose tensor arrays are there from the beginning; others join when somebody asks
_DTYPES = "float32 float16 float64 int32 uint8 int8 int16 uint16 int64".split()


class Prelude:
    """The prelude as part of a module.

    Its functions are attributes (``prelude.map`` is a GlobalVar); its types List (Cons, Nil),
    Option (Some, None) and Tree (Rose) are got by ``prelude.mod.get_type("List")``, those of tensor
    arrays by ``prelude.mod.get_type("tensor_float32_t")``.

    Parameters
    ----------
    mod : IRModule, optional
        The module, to which the prelude is added; default: a new one.
    """

    def __init__(self, mod=None):
        self.mod = IRModule() if mod is None else mod
        self.load_prelude()

    def load_prelude(self):
        """Add the prelude to the module, unless it is there."""
        self.mod.import_from_std("prelude.rly")
        for name in _FUNCTIONS:
            setattr(self, name, self.mod.get_global_var(name))
        for dtype in _DTYPES:
            TensorArrayOps(self, dtype).register()

    def get_name(self, canonical, dtype):
        """The name of a definition for a data type, such as ``tensor_float32_t``."""
        if canonical == "tensor_t":
            return f"tensor_{dtype}_t"
        return f"{canonical}_{dtype}"

    def get_global_var(self, canonical, dtype):
        """The GlobalVar of a function for a data type."""
        self._define(canonical, dtype)
        return self.mod.get_global_var(self.get_name(canonical, dtype))

    def get_type(self, canonical, dtype):
        """The GlobalTypeVar of a type for a data type."""
        self._define(canonical, dtype)
        return self.mod.get_global_type_var(self.get_name(canonical, dtype))

    def _define(self, canonical, dtype):
        """Tensor arrays of further data types join the module when somebody asks for them."""
        if canonical.startswith("tensor"):
            TensorArrayOps(self, dtype).register()

    def get_ctor(self, ty_name, canonical, dtype):
        """A constructor of a type, both for a data type.

        Raises
        ------
        Exception
            The type has no such constructor.
        """
        self._define(canonical, dtype)
        return self._constructor(ty_name, self.get_name(canonical, dtype))

    def _constructor(self, ty_name, name):
        for constructor in self.mod.get_type(ty_name)[1:]:
            if str(constructor.name_hint) == name:
                return constructor
        raise Exception(f"could not find {name}")

    def get_tensor_ctor(self, canonical, dtype):
        """A constructor of the tensor type of a data type."""
        return self.get_ctor(self.get_name("tensor_t", dtype), canonical, dtype)

    def get_name_static(self, canonical, dtype, shape, batch_dim=None):
        """The name of a definition for a data type and a shape."""
        return static_name(canonical, dtype, shape, batch_dim)

    def get_global_var_static(self, canonical, dtype, shape, batch_dim=None):
        """The GlobalVar of a function for a data type and a shape (StaticTensorArrayOps)."""
        return self.mod.get_global_var(static_name(canonical, dtype, shape, batch_dim))

    def get_type_static(self, canonical, dtype, shape):
        """The GlobalTypeVar of a type for a data type and a shape."""
        return self.mod.get_global_type_var(static_name(canonical, dtype, shape))

    def get_ctor_static(self, ty_name, name, dtype, shape):
        """A constructor of a type, both for a data type and a shape.

        Raises
        ------
        Exception
            The type has no such constructor.
        """
        return self._constructor(
            static_name(ty_name, dtype, shape), static_name(name, dtype, shape)
        )

    def get_tensor_ctor_static(self, name, dtype, shape):
        """A constructor of the tensor type of a data type and a shape."""
        return self.get_ctor_static("tensor_t", name, dtype, shape)


__all__ = ["Prelude", "StaticTensorArrayOps", "TensorArrayOps"]
