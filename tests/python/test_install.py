"""`pip install .` into a fresh environment gives a package that works by itself."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """
import pathlib, sys, tenon
package = pathlib.Path(tenon.__file__).parent
assert package.is_relative_to(sys.prefix), package
assert (package / "include/tenon/ffi.h").is_file()
assert tenon.runtime.convert(lambda x: x + 1)(41) == 42
assert "numpy" not in sys.modules
assert tenon.nd.array([1, 2]).numpy().tolist() == [1, 2]
"""


@pytest.mark.slow
def test_pip_install(tmp_path):
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([str(python), "-m", "pip", "install", "-q", str(ROOT)], check=True)
    subprocess.run([str(python), "-I", "-c", PROGRAM], check=True, cwd=tmp_path)
