"""The runtime for microcontrollers (src/micro), on this machine and with sanitizers."""

import pathlib
import shutil
import subprocess
import tarfile

import numpy as np
import pytest
from tenon import micro
from test_cli import call

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits"
RUNTIME = sorted((ROOT / "src" / "micro").glob("*.c"))
STRICT = "-std=c99 -Os -Wall -Wextra -Wpedantic -Wconversion -Werror".split()
INCLUDE = [f"-I{d}" for d in (*micro.get_include_dirs(), micro.get_standalone_crt_dir())]


@pytest.mark.parametrize("compiler", ["cc", "arm-none-eabi-gcc"])
def test_runtime_compiles_without_warnings(compiler, tmp_path):
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    assert len(RUNTIME) == 4
    for source in RUNTIME:
        command = [compiler, *STRICT, *INCLUDE, "-c", str(source), "-o", str(tmp_path / "x.o")]
        done = subprocess.run(command, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """tests/micro/host.c with the digits model; a function that runs it."""
    if not shutil.which("cc"):
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("micro")
    archive = folder / "cnn.tar"
    command = ("compile", str(DIGITS / "digits_cnn.onnx"), "-f", "mlf", "-o", str(archive))
    assert call(*command)[0] == 0
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    sources = [*RUNTIME, ROOT / "tests/micro/host.c", *folder.glob("codegen/host/src/*.c")]
    program = folder / "host"
    flags = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    subprocess.run(["cc", *flags, *INCLUDE, *map(str, sources), "-lm", "-o", program], check=True)
    texts = (folder / "runtime-config/graph/graph.json", folder / "parameters/default.params")

    def run(word, *args, **kwargs):
        words = [program, word, *texts, *map(str, args)]
        return subprocess.run(words, capture_output=True, timeout=120, **kwargs)

    return run


def test_digits_are_read_as_on_the_host(host):
    test = np.load(DIGITS / "digits_test.npz")
    images = (test["images"].reshape(-1, 1, 1, 8, 8) / 255).astype("float32")
    done = host("run", 16384, input=images.tobytes())
    assert (done.returncode, done.stderr) == (0, b"")
    scores = np.frombuffer(done.stdout, "float32").reshape(-1, 10)
    np.testing.assert_allclose(scores, test["logits_cnn"], rtol=1e-4, atol=1e-4)


def test_memory_that_is_too_small_is_told(host):
    done = host("need")
    assert done.returncode == 0, done.stderr
    least = int(done.stdout)
    values = 256 + 2048 + 512 + 128  # what lives in the graph's storages, but for constants
    assert values < least < values + 8192
    small = host("run", least - 4096, input=b"")
    assert small.returncode == 1 and b"init: -3, missing " in small.stderr
    assert host("run", least, input=b"").returncode == 0


def test_damaged_models_are_refused(host):
    done = host("damage", 2000)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    assert 200 < int(done.stdout) <= 2000
