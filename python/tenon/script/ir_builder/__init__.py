"""Building programs by running Python, with the names that scripts have.

from tenon.script.ir_builder import IRBuilder
from tenon.script.ir_builder import tir as T

with IRBuilder() as ib:
    with T.prim_func():
        T.func_name("main")
        A = T.arg("A", T.Buffer((16,), "float32"))
        with T.serial(16) as i:
            T.buffer_store(A, T.float32(0), [i])
func = ib.get()
"""

from . import ir, tir
from .base import IRBuilder, IRBuilderFrame
