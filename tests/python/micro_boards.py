"""Digits models as C on emulated boards, for tests and for bench/micro."""

import os
import pathlib
import re
import subprocess

import numpy as np
import onnx
from tenon import micro, relay

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits"
FOLDER = ROOT / "tests" / "micro"

ARM = "arm-none-eabi-gcc -mthumb -nostartfiles --specs=nosys.specs -T {folder}/mps2.ld"
HARD = "-mfloat-abi=hard -mfpu="
# board: emulator, -mcpu of the target, compiler with its options, picoseconds of a clock
BOARDS = {
    "mps2-an385": ("qemu-system-arm", "cortex-m3", f"{ARM} -mcpu=cortex-m3", 40000),
    "mps2-an386": (
        "qemu-system-arm",
        "cortex-m4",
        f"{ARM} -mcpu=cortex-m4 {HARD}fpv4-sp-d16",
        40000,
    ),
    "mps2-an500": (
        "qemu-system-arm",
        "cortex-m7",
        f"{ARM} -mcpu=cortex-m7 {HARD}fpv5-sp-d16",
        40000,
    ),
    "mps3-an547": ("qemu-system-arm", "cortex-m55", f"{ARM} -mcpu=cortex-m55 {HARD}auto", 31250),
    "virt": (
        "qemu-system-riscv32",
        "generic-rv32",
        "riscv64-unknown-elf-gcc -march=rv32imac -mabi=ilp32 -ffreestanding -nostdlib "
        "-T {folder}/virt.ld -msave-restore -fno-move-loop-invariants -fno-tree-loop-im",
        0,
    ),
}
STRICT = "-std=gnu11 -Os -ffunction-sections -fdata-sections -Wl,--gc-sections".split()


def images(count=None):
    """Images (uint8 8x8) and labels of the test set."""
    test = np.load(DIGITS / "digits_test.npz")
    return test["images"][:count], test["labels"][:count]


def as_input(model, image):
    dtype = model.inputs[0][2]
    value = image.reshape(1, 1, 8, 8)
    return value if dtype == "uint8" else (value / np.float32(255)).astype("float32")


def export(name, folder, cpu="cortex-m4", tests=2, layout="plain"):
    """The model as C, with a self test of `tests` images: results are those of this machine."""
    module, params = relay.frontend.from_onnx(onnx.load(str(DIGITS / f"{name}.onnx")))
    target = f"c -keys=cpu -mcpu={cpu}"
    model = micro.export_c(module, str(folder), name, params, target, layout)
    if not tests:
        return model
    some = [{model.inputs[0][0]: as_input(model, image)} for image in images(tests)[0]]
    # floats may differ by how a compiler contracts them
    return micro.export_c(
        module, str(folder), name, params, target, layout, tests=some, tolerance=1e-4
    )


def scores(model):
    """The first output for an image, by the same C on this machine."""
    twin = model.host()

    def run(image):
        result = twin(as_input(model, image))
        return result[0] if isinstance(result, list) else result

    return run


def write_data(model, folder, count):
    pixels, labels = images(count)
    member = model.name
    floats = model.inputs[0][2] != "uint8"
    rows = ",\n".join("{" + ", ".join(map(str, p.reshape(-1))) + "}" for p in pixels)
    text = f"""#include "{member}.h"
#define COUNT {count}
#define MODEL_RUN {member}_run
#define MODEL_SELFTEST {member}_selftest
#define MODEL_INPUTS {member}_inputs
#define MODEL_OUTPUTS {member}_outputs
#define INPUT_TYPE {"float" if floats else "uint8_t"}
#define INPUT_OF(x) {"((float)(x) / 255.0f)" if floats else "(x)"}
#define REST {", digit" if len(model.outputs) > 1 else ""}
static const uint8_t images[COUNT][64] = {{
{rows}}};
static const uint8_t labels[COUNT] = {{{", ".join(map(str, labels))}}};
"""
    pathlib.Path(folder, "digits_data.h").write_text(text)


def compile_for(board, model, folder, count, *options):
    """The program for a board; its path."""
    _, _, compiler, period = BOARDS[board]
    write_data(model, folder, count)
    program = pathlib.Path(folder, f"{board}.elf")
    port = "port_riscv.c" if board == "virt" else "port_arm.c"
    sources = [FOLDER / "digits.c", FOLDER / port]
    sources += [pathlib.Path(model.folder, f"{model.name}{end}.c") for end in ("", "_selftest")]
    command = compiler.format(folder=FOLDER).split()
    command += [*STRICT, *options, f"-DCLOCK_PERIOD_PS={period}", f"-I{folder}", f"-I{FOLDER}"]
    command += [f"-I{model.folder}", *map(str, sources), "-o", str(program)]
    command += ["-lgcc"] if board == "virt" else ["-lm"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return program


def sizes(board, model, *options):
    """Flash (code and constants), static memory and stack of NAME.c on a board, in bytes."""
    compiler = re.sub(r"-T \S+|-nostartfiles|-nostdlib|--specs=\S+", "", BOARDS[board][2])
    made = model.measure(" ".join([compiler, "-std=c99 -Os", *options]))
    return made["flash_bytes"], made["memory_bytes"], made["stack_bytes"]


def emulate(board, program):
    """What the program prints: a dict of words."""
    emulator = BOARDS[board][0]
    command = [emulator, "-M", board, "-nographic", "-semihosting", "-icount", "shift=0"]
    command += ["-bios", "none"] if board == "virt" else []
    # the emulator switches stacks, which a sanitizer below it takes for errors
    env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    done = subprocess.run(
        [*command, "-kernel", str(program)], capture_output=True, text=True, timeout=240, env=env
    )
    lines = (done.stdout + done.stderr).splitlines()
    told = dict(line.split() for line in lines if len(line.split()) == 2)
    assert done.returncode == 0 and "seen" in told, lines
    return told
