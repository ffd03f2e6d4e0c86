"""Digits models as C: flash, memory and instructions on emulated boards.

    python bench/micro/digits.py [--models NAMES] [--boards NAMES] [--images N]

Flash is text and data of NAME.c (gcc -Os), linked, without the C library, start-up code and the
caller's images; memory is its bss and the frames of the deepest chain of calls, as CModel.measure
tells. `over` is by how much flash exceeds the constants, `plan` the memory between operators beside
the least that any plan needs. Instructions are those of one run, counted by the emulator (-icount);
they are not clock cycles; `stack` is what of a painted stack was written to in that run. `right`
counts images that are recognised, and `same` says whether the board's digits are those of this
machine.
"""

import argparse
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "python"))
import micro_boards as boards

MODELS = "digits_cnn_qdq digits_cnn_qlinear digits_cnn_uint8 digits_cnn digits_mlp"


def report(name, board, count):
    with tempfile.TemporaryDirectory() as folder:
        model = boards.export(name, folder, boards.BOARDS[board][1])
        flash, static, stack = boards.sizes(board, model)
        told = boards.emulate(board, boards.compile_for(board, model, folder, count))
        here = boards.scores(model)
        seen = "".join(str(here(image).argmax()) for image in boards.images(count)[0])
    over = 100 * (flash / model.constant_bytes - 1)
    plan = f"{model.workspace_bytes}/{model.live_bytes}"
    same = "yes" if told["seen"] == seen else "NO"
    print(
        f"{name:20}{board:12}{flash:8}{over:7.1f}%{static + stack:8}{plan:>12}"
        f"{int(told['instructions']):12}{told['stack']:>7}{told['right']:>5}/{count} {same:>5}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=MODELS)
    parser.add_argument("--boards", default=" ".join(boards.BOARDS))
    parser.add_argument("--images", type=int, default=40)
    args = parser.parse_args()
    print(
        f"{'model':20}{'board':12}{'flash':>8}{'over':>8}{'memory':>8}{'plan':>12}"
        f"{'instructions':>12}{'stack':>7}{'right':>8} {'same':>5}"
    )
    for name in args.models.replace(",", " ").split():
        for board in args.boards.replace(",", " ").split():
            report(name, board, args.images)


if __name__ == "__main__":
    main()
