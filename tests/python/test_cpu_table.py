"""The rows of src/target/cpus.def against LLVM's list of processors and a C compiler's features."""

import functools
import shutil
import subprocess

import pytest
import tenon
from tenon.script import tir as T
from tenon.target.codegen import llvm_get_cpu_archlist, llvm_version_major

cpu_has = tenon.get_global_func("target.cpu_has")
ROWS = [str(name) for name in tenon.get_global_func("target.cpu_rows")()]
FEATURES = [str(name) for name in tenon.get_global_func("target.cpu_features")()]
TRIPLES = ("x86_64-linux-gnu", "aarch64-linux-gnu")

needs_llvm = pytest.mark.skipif(
    not llvm_version_major(allow_none=True), reason="built without LLVM"
)


@T.prim_func
def copy(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
    for i in range(4):
        b[i] = a[i]


@functools.cache
def known_to_llvm():
    lists = (llvm_get_cpu_archlist(f"llvm -mtriple={triple}") for triple in TRIPLES)
    return {name for one in lists for name in one}


def macros(cpu):
    """Names of the macros of a processor, without "_"; None where the compiler does not know it."""
    clang = shutil.which("clang")
    command = [clang, "--target=x86_64-linux-gnu"] if clang else ["gcc"]
    command += [f"-march={cpu}", "-dM", "-E", "-x", "c", "/dev/null"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return None
    return {line.split()[1].replace("_", "") for line in done.stdout.splitlines()}


@needs_llvm
def test_each_row_names_a_processor_of_llvm():
    lost = [row for row in ROWS if not any(name.startswith(row) for name in known_to_llvm())]
    assert not lost


def test_no_row_is_hidden_by_one_before_it():
    for i, row in enumerate(ROWS):
        assert not any(row.startswith(before) for before in ROWS[:i]), row
    assert ROWS[-1] == ""


def differences(cpu):
    defined = macros(cpu) or set()
    for feature in FEATURES if defined else []:
        macro = feature.upper().replace("-", "")  # older compilers write __AMXINT8__
        if bool(cpu_has(cpu, feature)) != (macro in defined):
            yield cpu, feature, macro in defined


@needs_llvm
def test_features_are_those_of_the_compiler():
    names = llvm_get_cpu_archlist(f"llvm -mtriple={TRIPLES[0]}")
    first = [next((name for name in names if name.startswith(row)), None) for row in ROWS[:-1]]
    assert not [d for cpu in first if cpu for d in differences(cpu)]


@pytest.mark.slow
@needs_llvm
def test_features_of_all_processors():
    names = llvm_get_cpu_archlist(f"llvm -mtriple={TRIPLES[0]}")
    assert sum(macros(cpu) is not None for cpu in names) > 50
    assert not [d for cpu in names for d in differences(cpu)]


@pytest.mark.parametrize("name", ["plus", "d", "goldmont-", "znver44"])
@needs_llvm
def test_other_names_are_refused(name):
    with pytest.raises(ValueError, match=f"unknown -mcpu '{name}' for x86_64.*known: native"):
        tenon.build(copy, target=f"llvm -mtriple=x86_64-linux-gnu -mcpu={name}")


@pytest.mark.parametrize("name", ["goldmont-plus", "graniterapids-d", "goldmont_plus"])
@needs_llvm
def test_names_with_hyphens_are_known(name):
    assert name in llvm_get_cpu_archlist("llvm -mtriple=x86_64-linux-gnu")
