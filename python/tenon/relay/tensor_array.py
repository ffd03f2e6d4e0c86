"""Lists of tensors for the prelude: types and functions for a data type, or for a shape as well."""

from ..ir import _ffi_api
from .stdlib import import_text, template

_MOST = 6  # dimensions of a tensor in a list


def _open(rank):
    """The text of a shape whose extents are known at run time only."""
    return f"({', '.join('?' * rank)})"


def _dims(shape):
    """The extents as text."""
    return [str(int(d)) if _is_number(d) else "?" for d in shape]


def _is_number(dim):
    try:
        int(dim)
    except (TypeError, ValueError):
        return False
    return True


def static_name(canonical, dtype, shape, batch_dim=None):
    """The name of a definition for a data type and a shape, ``tensor_array_float32_2_any``."""
    dims = "_".join(d.replace("?", "any") for d in _dims(shape)) or "scalar"
    if canonical == "tensor_t":
        return f"static_tensor_{dtype}_{dims}_t"
    if batch_dim != 1 or canonical in ("tensor_constructor", "tensor_nil"):
        return f"{canonical}_{dtype}_{dims}"
    return f"{canonical}_{dtype}_batch{batch_dim}_{dims}"


class TensorArrayOps:
    """Lists of tensors of one data type, of any shapes.

    Parameters
    ----------
    prelude : Prelude
        Its module gets the definitions.
    dtype : str
        Type of the elements of the tensors.
    """

    def __init__(self, prelude, dtype):
        self.prelude = prelude
        self.dtype = dtype

    def get_name(self, canonical):
        """The name of a definition for this data type."""
        return self.prelude.get_name(canonical, self.dtype)

    def get_global_var(self, canonical):
        """The GlobalVar of a function for this data type."""
        return self.prelude.get_global_var(canonical, self.dtype)

    def get_type(self, canonical):
        """The GlobalTypeVar of a type for this data type."""
        return self.prelude.get_type(canonical, self.dtype)

    def get_ctor(self, canonical):
        """A constructor of the tensor type."""
        return self.prelude.get_tensor_ctor(canonical, self.dtype)

    def register(self):
        """Add the definitions to the module of the prelude, unless they are there."""
        name = f"tensor_array_{self.dtype}"
        if name in self.prelude.mod:
            return
        d = self.dtype
        take, expand, both, unstack = [], [], [], []
        for rank in range(1, _MOST + 1):
            one = f"tensor{rank}_{d}"
            cut = "dyn.strided_slice(%x, %begin, %end, %step)"
            take.append(f"    {one}(%x) => {one}({cut}),")
            expand.append(f"    tensor{rank - 1}_{d}(%x) => {one}(expand_dims(%x, axis=0)),")
            joined = f"match? (%b) {{ {one}(%y) => {one}(concatenate((%x, %y))), }}"
            both.append(f"    {one}(%x) => {{ {joined} }},")
            unstack.append(self._unstack(rank))
        text = template(
            "tensor_array",
            D=d,
            take="\n".join(take),
            expand="\n".join(expand),
            concatenate="\n".join(both),
            unstack="\n".join(unstack),
        )
        import_text(self.prelude.mod, f"{name}.rly", text)

    def _unstack(self, rank):
        """The function that makes a list of the rows of a tensor of `rank` dimensions."""
        d, name = self.dtype, f"tensor_array_unstack_tensor{rank}"
        tensor, result = f"Tensor[{_open(rank)}, {d}]", f"List[tensor_{d}_t[]]"
        row = f"tensor{rank - 1}_{d}(take(%x, %k, axis=0))"
        return f"""
def @{name}_helper_{d}(%k: int32, %n: int32, %x: {tensor}) -> {result} {{
  if (%k == %n) {{
    Nil
  }} else {{
    Cons({row}, @{name}_helper_{d}(%k + 1, %n, %x))
  }}
}}

def @{name}_{d}(%x: {tensor}) -> {result} {{
  @{name}_helper_{d}(0, take(shape_of(%x, dtype="int32"), 0), %x)
}}"""


class StaticTensorArrayOps:
    """Lists of tensors of one data type and shape.

    Parameters
    ----------
    prelude : Prelude
        Its module gets the definitions.
    dtype : str
        Type of the elements of the tensors.
    shape : list of int or Any
        The shape.
    batch_dim : int, optional
        Number of rows of tensors that functions cut out or put together; any number by default.
    """

    def __init__(self, prelude, dtype, shape, batch_dim=None):
        self.prelude = prelude
        self.dtype = dtype
        self.shape = list(shape)
        self.batch_dim = batch_dim

    def get_name(self, canonical):
        """The name of a definition for this data type and shape."""
        return static_name(canonical, self.dtype, self.shape, self.batch_dim)

    def get_global_var(self, canonical):
        """The GlobalVar of a function for this data type and shape."""
        return self.prelude.mod.get_global_var(self.get_name(canonical))

    def get_type(self, canonical):
        """The GlobalTypeVar of a type for this data type and shape."""
        return self.prelude.mod.get_global_type_var(self.get_name(canonical))

    def get_ctor(self, canonical):
        """A constructor of the tensor type: ``tensor_constructor`` or ``tensor_nil``."""
        return self.prelude.get_tensor_ctor_static(canonical, self.dtype, self.shape)

    def register(self):
        """Add the definitions to the module of the prelude, unless they are there."""
        mod = self.prelude.mod
        if self.get_name("tensor_array") in mod:
            return
        rows = "?" if self.batch_dim is None else str(self.batch_dim)
        own = _dims(self.shape)
        cut, more = [rows, *own[1:]], [rows, *own]
        values = {
            "D": self.dtype,
            "S": _text(own),
            "R": _text(["?", *own]),
            "X": self._define(own),
            "Y": self._define(cut) if own else "",
            "Z": self._define(more),
            "F": self.get_name("F")[2:],
        }
        of_rows = template("static_tensor_rows", **values) if own else ""
        text = template("static_tensor_array", rows=of_rows, **values)
        if f"tensor_get_data_{values['X']}" in mod:
            text = _without_get_data(text)
        import_text(mod, f"{self.get_name('tensor_array')}.rly", text)

    def _define(self, dims):
        """The type of tensors of this shape, unless it is there; the end of its name."""
        name = static_name("X", self.dtype, dims)[2:]
        if not _ffi_api.Module_ContainGlobalTypeVar(self.prelude.mod, f"static_tensor_{name}_t"):
            text = (
                '#[version = "0.0.5"]\n'
                f"type static_tensor_{name}_t {{ tensor_nil_{name}, "
                f"tensor_constructor_{name}(Tensor[{_text(dims)}, {self.dtype}]), }}"
            )
            import_text(self.prelude.mod, f"static_tensor_{name}_t.rly", text)
        return name


def _text(dims):
    return f"({', '.join(dims)})"


def _without_get_data(text):
    """The text without its first function, which does not depend on the number of rows."""
    first = text.index("def @tensor_get_data")
    return text[:first] + text[text.index("def @", first + 1) :]
