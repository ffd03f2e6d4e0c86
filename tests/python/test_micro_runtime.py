"""The runtime for microcontrollers (src/micro), on this machine and with sanitizers."""

import os
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


def archive(folder):
    """The digits model as an archive, unpacked."""
    path = folder / "cnn.tar"
    assert call("compile", str(DIGITS / "digits_cnn.onnx"), "-f", "mlf", "-o", str(path))[0] == 0
    with tarfile.open(path) as tar:
        tar.extractall(folder, filter="data")
    texts = (folder / "runtime-config/graph/graph.json", folder / "parameters/default.params")
    return texts, sorted(folder.glob("codegen/host/src/*.c"))


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """tests/micro/host.c with the digits model; a function that runs it."""
    if not shutil.which("cc"):
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("micro")
    texts, code = archive(folder)
    sources = [*RUNTIME, ROOT / "tests/micro/host.c", *code]
    program = folder / "host"
    flags = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    subprocess.run(["cc", *flags, *INCLUDE, *map(str, sources), "-lm", "-o", program], check=True)

    def run(word, *args, **kwargs):
        words = [program, word, *texts, *map(str, args)]
        return subprocess.run(words, capture_output=True, timeout=120, **kwargs)

    return run


def test_digits_are_read_as_on_the_host(host):
    test = np.load(DIGITS / "digits_test.npz")
    images = (test["images"].reshape(-1, 1, 1, 8, 8) / 255).astype("float32")
    done = host("run", 32768, input=images.tobytes())
    assert (done.returncode, done.stderr) == (0, b"")
    scores = np.frombuffer(done.stdout, "float32").reshape(-1, 10)
    np.testing.assert_allclose(scores, test["logits_cnn"], rtol=1e-4, atol=1e-4)


def test_memory_that_is_too_small_is_told(host):
    done = host("need")
    assert done.returncode == 0, done.stderr
    least = int(done.stdout)
    values = 256 + 2048 + 512 + 128  # what lives in the graph's storages, but for constants
    assert values < least < 32768
    small = host("run", least // 2, input=b"")
    assert small.returncode == 1 and b"init: -3, missing " in small.stderr
    assert host("run", least, input=b"").returncode == 0


def test_damaged_models_are_refused(host):
    done = host("damage", 2000)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    assert 200 < int(done.stdout) <= 2000


def model_data(texts, test):
    """The header that tests/micro/board.c includes."""

    def rows(values):
        return "{" + ",".join(map(str, values)) + "}"

    graph, params = (rows(path.read_bytes()) for path in texts)
    images = test["images"].reshape(-1, 64)
    return (
        "enum { MODEL_MEMORY = 32768 };\n"
        f"static const uint8_t graph_json[] = {graph};\n"
        f"static const _Alignas(16) uint8_t params[] = {params};\n"
        f"static const uint8_t images[][64] = {rows(map(rows, images))};\n"
        f"static const uint8_t labels[] = {rows(test['labels'])};\n"
    )


BOARDS = {
    "mps2-an385": ["-mcpu=cortex-m3"],
    "mps2-an386": ["-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"],
    "mps2-an500": ["-mcpu=cortex-m7", "-mfloat-abi=hard", "-mfpu=fpv5-d16"],
}


@pytest.mark.parametrize("board", BOARDS)
def test_digits_are_read_on_an_emulated_board(board, tmp_path):
    if not (shutil.which("arm-none-eabi-gcc") and shutil.which("qemu-system-arm")):
        pytest.skip("no arm-none-eabi-gcc or no qemu-system-arm")
    texts, code = archive(tmp_path)
    test = np.load(DIGITS / "digits_test.npz")
    (tmp_path / "model_data.h").write_text(model_data(texts, test))
    folder, program = ROOT / "tests" / "micro", tmp_path / "firmware.elf"
    flags = ["-std=gnu11", "-Os", "-mthumb", *BOARDS[board], *INCLUDE, f"-I{tmp_path}"]
    link = ["-nostartfiles", "--specs=nosys.specs", "-T", str(folder / "mps2.ld")]
    sources = map(str, [folder / "board.c", *RUNTIME, *code])
    command = ["arm-none-eabi-gcc", *flags, *link, *sources, "-lm", "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    emulate = ["qemu-system-arm", "-M", board, "-nographic", "-semihosting", "-kernel"]
    # the emulator switches stacks, which a sanitizer below it takes for errors
    env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    command = [*emulate, str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=env)
    told = dict(line.split() for line in (done.stdout + done.stderr).splitlines())
    assert done.returncode == 0, told
    right = int((test["logits_cnn"].argmax(1) == test["labels"]).sum())
    assert (int(told["images"]), int(told["right"])) == (len(test["labels"]), right)
    assert 0 < int(told["memory"]) < 32768
