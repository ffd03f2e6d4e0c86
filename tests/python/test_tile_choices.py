"""Which tiles kernels choose, for problems of well-known networks on processors of every kind.

The table in tests/golden/tiles is what the cost model (src/target/machine_cost.h) decides: a change
of rates or rules shows here which problems it moves. `--update-golden` writes it anew; measure what
has moved.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden" / "tiles"
TARGETS = [
    ("haswell", 1),
    ("znver3", 4),
    ("skylake-avx512", 8),
    ("sapphirerapids", 4),
    ("cortex-a72", 4),
]

# channels, height = width, channels of the result, kernel, stride, groups
CONVOLUTIONS = [
    (3, 224, 64, 7, 2, 1),
    (64, 56, 64, 3, 1, 1),
    (64, 56, 256, 1, 1, 1),
    (128, 28, 128, 3, 1, 1),
    (256, 56, 512, 1, 2, 1),
    (256, 14, 256, 3, 1, 1),
    (512, 7, 512, 3, 1, 1),
    (512, 7, 2048, 1, 1, 1),
    (32, 112, 32, 3, 1, 32),
    (192, 28, 192, 3, 2, 192),
    (240, 14, 40, 1, 1, 1),
    (64, 28, 128, 3, 1, 2),
]
# channels, height = width, expanded channels, stride, channels of the result
BLOCKS = [(16, 112, 96, 2, 24), (24, 56, 144, 1, 24), (32, 28, 192, 2, 64), (64, 14, 384, 1, 64)]
# rows, depth, columns
PRODUCTS = [(1, 1024, 1000), (8, 512, 512), (128, 768, 768), (128, 768, 3072), (512, 64, 512)]


def problems(relay):
    """Yields (name, function)."""
    for c, s, o, k, stride, groups in CONVOLUTIONS:
        for dtype in ("float32", "int8"):
            x = relay.var("x", shape=(1, c, s, s), dtype=dtype)
            w = relay.const(_numbers((o, c // groups, k, k), dtype))
            out = "int32" if dtype == "int8" else dtype
            y = relay.nn.conv2d(
                x, w, strides=stride, padding=k // 2, groups=groups, channels=o,
                kernel_size=(k, k), out_dtype=out,
            )  # fmt: skip
            yield f"conv2d {c}x{s}x{s} {o} {k}x{k}/{stride} g{groups} {dtype}", [x], y
    for c, s, mid, stride, o in BLOCKS:
        x = relay.var("x", shape=(1, c, s, s))
        y = relay.nn.conv2d(
            x, relay.const(_numbers((mid, c, 1, 1))), kernel_size=(1, 1), channels=mid
        )
        y = relay.nn.conv2d(
            relay.clip(y, 0, 6), relay.const(_numbers((mid, 1, 3, 3))), strides=stride, padding=1,
            groups=mid, kernel_size=(3, 3), channels=mid,
        )  # fmt: skip
        y = relay.nn.conv2d(
            relay.clip(y, 0, 6),
            relay.const(_numbers((o, mid, 1, 1))),
            kernel_size=(1, 1),
            channels=o,
        )
        yield f"block {c}x{s}x{s} {mid}/{stride} {o}", [x], y
    for m, k, n in PRODUCTS:
        for dtype in ("float32", "int8"):
            x = relay.var("x", shape=(m, k), dtype=dtype)
            w = relay.const(_numbers((n, k), dtype))
            out = "int32" if dtype == "int8" else dtype
            yield f"dense {m}x{k}x{n} {dtype}", [x], relay.nn.dense(x, w, out_dtype=out)
    x, y = relay.var("x", shape=(12, 128, 64)), relay.var("y", shape=(12, 128, 64))
    yield "batch_matmul 12x128x64x128 float32", [x, y], relay.nn.batch_matmul(x, y)


def _numbers(shape, dtype="float32"):
    import numpy as np

    rows = np.arange(int(np.prod(shape)), dtype="int64").reshape(shape)
    return (rows % 7 - 3).astype(dtype)


def choices(cpu):
    """Lines of the table for this processor, with as many threads as this process has."""
    import tenon
    from tenon import relay

    lines = []
    triple = " -mtriple=aarch64-linux-gnu" if cpu.startswith("cortex") else ""
    target = tenon.target.Target(f"llvm -mcpu={cpu}{triple}")

    def note(_, workload, knobs):
        chosen = {name: value for name, (value, _) in json.loads(knobs).items()}
        lines.append(f"    {json.loads(workload)[0]} {json.dumps(chosen)}")

    tenon.get_global_func("tune.records_enter")(note, None)
    try:
        for name, args, body in problems(relay):
            module = tenon.IRModule.from_expr(relay.Function(args, body))
            lines.append(name)
            tenon.get_global_func("driver.relay_schedule")(module, target)
            text = tenon.get_global_func("driver.relay_optimize")(module, target).astext()
            rows = re.findall(r"contrib_clear_border\(.*?rows=(\d+)", text)
            lines += [f"    bands of {n} rows" for n in rows]
    finally:
        tenon.get_global_func("tune.records_exit")()
    return lines


@pytest.mark.unsanitized
@pytest.mark.parametrize("cpu, threads", TARGETS)
def test_choices(request, cpu, threads):
    env = {**os.environ, "TVM_NUM_THREADS": str(threads)}
    code = f"import test_tile_choices as t; print(*t.choices({cpu!r}), sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, cwd=pathlib.Path(__file__).parent,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    path = GOLDEN / f"{cpu}-{threads}.txt"
    if request.config.getoption("--update-golden"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(done.stdout)
    assert done.stdout == path.read_text()
