"""The digits MLP in C, of Tenon and of others that make C of networks: size and speed.

    python bench/micro/peers.py [--rounds N] [--cc COMPILER]

Flash (code and constants, linked), static memory and stack are those of gcc -Os for a Cortex-M4, of
NAME_run and all that it calls but for the C library (CModel.measure); instructions are of one run
on the emulated board mps2-an386. On this machine all are compiled with the same command and called
in turn; a time is the median over rounds of the fastest call of a round. All have the same weights
(float32); `same` counts the test images for which the digit is that of Tenon. emlearn (with
scikit-learn, from PyPI) also computes a softmax and the largest of the results, Tenon's C stops at
the logits; onnx2c is taken where its command is in PATH. What is not installed is left out.

TensorFlow Lite Micro is not run: what its authors published is printed, and is not a measurement.
"""

import argparse
import contextlib
import ctypes
import importlib.util
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import onnx
from onnx import numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "python"))
import micro_boards as boards
from tenon.micro.c_file import CModel

BOARD, NAME = "mps2-an386", "digits_mlp"
PUBLISHED = (
    "published: the core runtime of TensorFlow Lite Micro fits in 16 KB on an Arm Cortex-M3 "
    '(TensorFlow\'s page "TensorFlow Lite for Microcontrollers"), models and kernels not included'
)


class Made(CModel):
    """C of another maker, behind functions and structs like those of Tenon's."""

    def __init__(self, name, folder, include=()):
        self.name, self.folder, self.include = name, str(folder), include
        self.inputs = [("image", (1, 1, 8, 8), "float32")]
        self.outputs = [("logits", (1, 10), "float32")]


HEADER = """#include <stdint.h>
struct NAME_inputs { const float *image; };
struct NAME_outputs { float *logits; };
int NAME_run(const struct NAME_inputs *in, struct NAME_outputs *out);
int NAME_selftest(void);
"""


def wrapped(name, folder, code, include=()):
    """Files NAME.h, NAME.c with a body for NAME_run, and a self test that there is none of."""
    (folder / f"{name}.h").write_text(HEADER.replace("NAME", name))
    (folder / f"{name}.c").write_text(f'#include "{name}.h"\n{code.replace("NAME", name)}')
    test = f'#include "{name}.h"\nint {name}_selftest(void) {{ return 0; }}\n'
    (folder / f"{name}_selftest.c").write_text(test)
    return Made(name, folder, include)


def tenon(folder):
    model = boards.export(NAME, folder, "cortex-m4")
    model.include = ()
    return model


def emlearn(folder):
    """From a classifier of scikit-learn with the weights of the ONNX model."""
    if not (importlib.util.find_spec("emlearn") and importlib.util.find_spec("sklearn")):
        return None
    import emlearn as maker
    from sklearn.neural_network import MLPClassifier

    path = boards.DIGITS / f"{NAME}.onnx"
    weights = [numpy_helper.to_array(w) for w in onnx.load(path).graph.initializer]
    matrices = [w.T for w in weights if w.ndim == 2]
    biases = [w for w in weights if w.ndim == 1]
    model = MLPClassifier(tuple(len(b) for b in biases[:-1]), max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(np.zeros((len(biases[-1]), len(matrices[0]))), np.arange(len(biases[-1])))
    model.coefs_, model.intercepts_ = matrices, biases
    with contextlib.chdir(folder):  # it compiles in a folder tmp below the current one
        maker.convert(model, method="inline", dtype="float").save(file="net.h", name="net")
    code = """#include "net.h"
int NAME_run(const struct NAME_inputs *in, struct NAME_outputs *out) {
  int digit = net_predict(in->image, 64);
  for (int i = 0; i < 10; ++i) out->logits[i] = (float)(i == digit);
  return digit < 0;
}
"""
    return wrapped("emlearn", folder, code, [str(pathlib.Path(maker.__file__).parent)])


def onnx2c(folder):
    if not shutil.which("onnx2c"):
        return None
    command = ["onnx2c", str(boards.DIGITS / f"{NAME}.onnx")]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    code = """
int NAME_run(const struct NAME_inputs *in, struct NAME_outputs *out) {
  entry((const void *)in->image, (void *)out->logits);
  return 0;
}
"""
    return wrapped("onnx2c", folder, text + code)


MAKERS = (tenon, emlearn, onnx2c)


def called(model, cc, folder):
    """A function that runs the model here on an image."""
    library = folder / "model.so"
    files = [f"{model.folder}/{model.name}.c", *(f"-I{path}" for path in model.include)]
    command = [*cc.split(), "-w", "-fPIC", "-shared", *files, "-lm", "-o", str(library)]
    subprocess.run(command, check=True)
    run = getattr(ctypes.CDLL(str(library)), f"{model.name}_run")
    out = np.zeros(10, "float32")
    pointers = (ctypes.c_void_p * 1)(out.ctypes.data)

    def call(image):
        assert run((ctypes.c_void_p * 1)(image.ctypes.data), pointers) == 0
        return int(out.argmax())

    given = (ctypes.c_void_p * 1)(np.zeros(64, "float32").ctypes.data)
    return call, lambda: [run(given, pointers) for _ in range(100)]


def best(call, seconds=0.05):
    found, end = [], time.perf_counter() + seconds
    while not found or time.perf_counter() < end:
        begin = time.perf_counter()
        call()
        found.append(time.perf_counter() - begin)
    return min(found) * 1e6 / 100


def on_board(model):
    """What the emulated board tells, None without its compiler or emulator."""
    emulator, _, compiler, _ = boards.BOARDS[BOARD]
    if not (shutil.which(emulator) and shutil.which(compiler.split()[0])):
        return None
    flags = [f"-I{path}" for path in model.include]
    sizes = boards.sizes(BOARD, model, *flags)
    program = boards.compile_for(BOARD, model, model.folder, 2, *flags)
    return *sizes, int(boards.emulate(BOARD, program)["instructions"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cc", default="gcc -O3 -march=native")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        models, calls = [], []
        for make in MAKERS:
            folder = pathlib.Path(name, make.__name__)
            folder.mkdir()
            model = make(folder)
            if model is None:
                print(f"{make.__name__} is not installed")
                continue
            models.append((make.__name__, model))
            calls.append(called(model, args.cc, folder))
        images = [boards.as_input(models[0][1], image) for image in boards.images()[0]]
        digits = [[classify(image) for image in images] for classify, _ in calls]
        times = [[best(run) for _, run in calls] for _ in range(args.rounds)]
        print(f"{NAME}, {BOARD} (gcc -Os) and this machine ({args.cc})")
        for i, (maker, model) in enumerate(models):
            flash, memory, stack, instructions = on_board(model) or ["-"] * 4
            here = statistics.median(row[i] for row in times)
            same = sum(a == b for a, b in zip(digits[0], digits[i], strict=True))
            print(
                f"{maker:8} flash {flash:>6} memory {memory:>5} stack {stack:>5} instructions "
                f"{instructions:>7}   {here:7.2f} us   same {same}/{len(images)}"
            )
    print(PUBLISHED)


if __name__ == "__main__":
    main()
