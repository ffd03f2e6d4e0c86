"""Random programs compute the same in the interpreter, as C and as machine code.

For a longer run TENON_RANDOM_PROGRAMS sets how many modules there are, and TENON_RANDOM_SEED where
they start.
"""

import os

import numpy as np
import pytest
import tenon
from random_programs import Program
from tenon.script import from_source
from tenon.target.codegen import llvm_version_major

MODULES = int(os.environ.get("TENON_RANDOM_PROGRAMS", "6"))
SEED = int(os.environ.get("TENON_RANDOM_SEED", "0"))
EACH = 10  # functions of a module: a C compiler is started once for all
C_DTYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
C_DTYPES += ["float16", "float32", "float64", "bool"]


def compiled(target, mod, folder):
    built = tenon.build(mod, target=target)
    if target != "c":
        return built
    path = str(folder / "lib.so")
    built.export_library(path, options=["-O1", "-w"])
    return tenon.runtime.load_module(path)


def results(built, program):
    tensors = [tenon.nd.array(a) for a in program.arrays()]
    built[program.name](*tensors)
    return [t.numpy() for t in tensors]


def compare(program, target, got, want):
    for i, (x, y) in enumerate(zip(got, want, strict=True)):
        kind = x.dtype
        what = f"{target}: argument {i} ({kind}) of\n{program.text}"
        if kind in (np.float32, np.float64):
            rtol = 4e-6 if kind == np.float32 else 1e-13
            np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol, err_msg=what)
        else:
            np.testing.assert_array_equal(x, y, err_msg=what)


@pytest.mark.parametrize("number", range(MODULES))
def test_all_code_generators_agree(number, tmp_path):
    programs = [Program((SEED + number) * EACH + i, f"f{i}", C_DTYPES) for i in range(EACH)]
    functions = {
        p.name: from_source("from tvm.script import tir as T\n" + p.text) for p in programs
    }
    mod = tenon.IRModule(functions)
    reference = compiled("stackvm", mod, tmp_path)
    wanted = [results(reference, p) for p in programs]
    targets = ["c", "llvm", "llvm -mcpu=x86-64", "llvm -opt-level=0"]
    for target in targets if llvm_version_major(allow_none=True) else ["c"]:
        built = compiled(target, mod, tmp_path)
        for program, want in zip(programs, wanted, strict=True):
            compare(program, target, results(built, program), want)
