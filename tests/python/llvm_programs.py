"""Packed functions as they are after lowering, compiled by LLVM and run."""

import tenon
from tenon.script import from_source
from tenon.target.codegen import build_module

HEAD = """
from tvm.script import tir as T
@T.prim_func
def main(args: T.handle, arg_type_ids: T.handle("int32"), num_args: T.int32,
         out_ret_value: T.handle("void"), out_ret_tcode: T.handle("int32"),
         resource_handle: T.handle) -> T.int32:
    T.func_attr({"calling_conv": 1, "global_symbol": "main", "tir.noalias": T.bool(True)})
"""


def packed(body, *buffers):
    """A packed function: a header that binds buffers (name, size, dtype), then the body."""
    text = HEAD
    for i, (name, size, dtype) in enumerate(buffers):
        text += f'    {name}_arg: T.handle = T.tvm_struct_get(args, {i}, 12, "handle")\n'
        text += f'    {name}_data: T.handle("{dtype}", "global") = '
        text += f'T.tvm_struct_get({name}_arg, 0, 1, "handle")\n'
        text += f'    {name} = T.decl_buffer(({size},), "{dtype}", data={name}_data)\n'
    for line in body.strip("\n").split("\n"):
        text += "    " + line + "\n"
    return from_source(text + "    return 0\n")


def build(func, target="llvm"):
    func = func if isinstance(func, tenon.ir.IRModule) else tenon.ir.IRModule({"main": func})
    return build_module(func, target)


def run(body, out, *inputs, target="llvm"):
    """Run a body over A, B, ... (the inputs) and O (the output); returns the output."""
    names = [*"ABCDEF"[: len(inputs)], "O"]
    arrays = [*inputs, out]
    buffers = [(n, a.size, str(a.dtype)) for n, a in zip(names, arrays, strict=True)]
    module = build(packed(body, *buffers), target)
    tensors = [tenon.nd.array(a) for a in arrays]
    module["main"](*tensors)
    return tensors[-1].numpy()
