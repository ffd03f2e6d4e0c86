"""What models take on a Cortex-M4: code, constants, memory and stack, as gcc -Os makes them.

    python bench/micro/sizes.py [MODEL.onnx ...]

Code is .text, constants are .rodata, RAM is what the program has in .data and .bss and the inputs
and outputs beside it; the stack is the deepest chain run -> main -> operator, from -fstack-usage
(calls of the C library are not in it). peers.py has the same of other makers of C. Needs
arm-none-eabi-gcc.
"""

import argparse
import pathlib
import subprocess
import tempfile

import onnx
import tenon
from speed import DIGITS, OPTIONS, shapes_of
from tenon import micro, relay
from tenon.relay.backend import Executor, Runtime

CC, TARGET = "arm-none-eabi-gcc", "c -mcpu=cortex-m4"
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
        return relay.build(program, TARGET, executor=executor, runtime=runtime, params=params)


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


if __name__ == "__main__":
    main()
