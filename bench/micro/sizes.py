"""What models take on a Cortex-M4: code, constants, memory and stack, as gcc -Os makes them.

    python bench/micro/sizes.py [MODEL.onnx ...]

Code is .text, constants are .rodata, RAM is what the program has in .data and .bss and the inputs
and outputs beside it; the stack is the deepest chain run -> main -> operator, from -fstack-usage
(calls of the C library are not in it). Where scikit-learn and emlearn are installed, the digits MLP
is also made into C by emlearn. Needs arm-none-eabi-gcc.
"""

import argparse
import contextlib
import importlib.util
import pathlib
import subprocess
import tempfile

import numpy as np
import onnx
import tenon
from onnx import numpy_helper
from speed import DIGITS, OPTIONS, shapes_of
from tenon import micro, relay
from tenon.relay.backend import Executor, Runtime

CC = "arm-none-eabi-gcc"
FLAGS = "-std=c99 -Os -w -mcpu=cortex-m4 -mthumb -ffunction-sections -fdata-sections".split()
FLAGS += ["-fstack-usage", *(f"-I{path}" for path in micro.get_include_dirs())]
CRT = pathlib.Path(micro.get_standalone_crt_dir())
MODELS = ["digits_mlp", "digits_cnn", "digits_cnn_qdq"]


def compiled(source, folder, *flags):
    """Sizes of an object file by kind of section, and the stack of its functions."""
    obj = folder / (source.stem + ".o")
    subprocess.run([CC, *FLAGS, *flags, "-c", str(source), "-o", str(obj)], check=True)
    listing = subprocess.run(["arm-none-eabi-size", "-A", str(obj)], capture_output=True, text=True)
    sizes = dict.fromkeys(("text", "rodata", "data", "bss"), 0)
    for line in listing.stdout.splitlines():
        words = line.split()
        kind = words[0].split(".")[1] if words and words[0].startswith(".") else ""
        if kind in sizes:
            sizes[kind] += int(words[1])
    stack = {}
    for line in obj.with_suffix(".su").read_text().splitlines():
        place, size, _ = line.split("\t")
        stack[place.rsplit(":", 1)[1]] = int(size)
    return sizes, stack


def total(parts):
    return {kind: sum(part[kind] for part in parts) for kind in parts[0]}


def runtime_sizes(folder):
    runtimes = {"ahead of time": "backend", "graph": "backend graph params scan"}
    for name, files in runtimes.items():
        sources = [CRT / "micro" / f"{file}.c" for file in files.split()]
        sizes = total([compiled(source, folder, f"-I{CRT}")[0] for source in sources])
        print(f"runtime, {name:14} {sizes['text'] + sizes['rodata']:6} bytes of code")


def build(path):
    model = onnx.load(path)
    program, params = relay.frontend.from_onnx(model, shapes_of(model))
    config = {"tir.usmp.enable": True, "tir.disable_vectorize": True}
    with tenon.transform.PassContext(opt_level=3, config=config):
        executor, runtime = Executor("aot", OPTIONS), Runtime("crt")
        return relay.build(program, "c", executor=executor, runtime=runtime, params=params)


def model_sizes(path, folder):
    built = build(path)
    metadata = built.executor_codegen_metadata
    parts, stack = [], {}
    for i, module in enumerate([built.lib, *built.lib.imported_modules]):
        source = folder / f"lib{i}.c"
        source.write_text(module.get_source())
        sizes, frames = compiled(source, folder)
        parts.append(sizes)
        stack.update(frames)
    sizes = total(parts)
    outer = [stack.pop(f"tvmgen_default_{name}", 0) for name in ("run", "__tvm_main__")]
    deepest = sum(outer) + max(stack.values())
    ram = sizes["data"] + sizes["bss"] + metadata.io_bytes
    flash = sizes["text"] + sizes["rodata"] + sizes["data"]
    ratio = metadata.workspace_bytes / max(1, metadata.live_bytes)
    print(
        f"{pathlib.Path(path).stem:20} code {sizes['text']:6} constants {sizes['rodata']:6} "
        f"(weights {metadata.constant_bytes:6}) flash {flash:6} RAM {ram:6} "
        f"(plan {ratio:.2f} of the largest live set) stack {deepest:5}"
    )


def emlearn_sizes(path, folder):
    """The MLP as emlearn's C (float32), from the same weights."""
    import emlearn
    from sklearn.neural_network import MLPClassifier

    weights = [numpy_helper.to_array(w) for w in onnx.load(path).graph.initializer]
    matrices = [w for w in weights if w.ndim == 2]
    biases = [w for w in weights if w.ndim == 1 and w.dtype == np.float32]
    model = MLPClassifier(tuple(len(b) for b in biases[:-1]), max_iter=1)
    inside = (
        matrices[0].shape[1] if matrices[0].shape[0] == len(biases[0]) else matrices[0].shape[0]
    )
    classes = np.arange(len(biases[-1]))
    model.fit(np.zeros((len(classes), inside)), classes)
    model.coefs_ = [
        m.T if m.shape[0] == len(b) else m for m, b in zip(matrices, biases, strict=True)
    ]
    model.intercepts_ = biases
    header = folder / "model.h"
    with contextlib.chdir(folder):  # it compiles in a folder tmp below the current one
        made = emlearn.convert(model, method="inline", dtype="float")
    made.save(file=str(header), name="digits")
    source = folder / "emlearn.c"
    source.write_text(
        '#include "model.h"\nint classify(const float *x, int n) { return digits_predict(x, n); }\n'
    )
    include = f"-I{pathlib.Path(emlearn.__file__).parent}"
    sizes, stack = compiled(source, folder, include, "-std=c11")
    flash = sizes["text"] + sizes["rodata"] + sizes["data"]
    print(
        f"{'emlearn, digits_mlp':20} code {sizes['text']:6} constants {sizes['rodata']:6} "
        f"{'':17} flash {flash:6} RAM {sizes['data'] + sizes['bss'] + 4 * inside:6} "
        f"{'':37} stack {sum(stack.values()):5}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*")
    args = parser.parse_args()
    models = args.models or [DIGITS / f"{name}.onnx" for name in MODELS]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        runtime_sizes(folder)
        for path in models:
            model_sizes(path, folder)
        if importlib.util.find_spec("emlearn") and importlib.util.find_spec("sklearn"):
            emlearn_sizes(DIGITS / "digits_mlp.onnx", folder)
        else:
            print("emlearn or scikit-learn is not installed")


if __name__ == "__main__":
    main()
