"""Digits models as C on emulated boards: Cortex-M3, M4, M7, M55 and RISC-V."""

import shutil

import micro_boards as boards
import pytest

COUNT = 540  # all images of the test set
MODELS = (
    "digits_cnn_qdq",
    "digits_cnn_qlinear",
    "digits_cnn_uint8",
    "digits_mlp_uint8",
    "digits_cnn",
    "digits_mlp",
)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A function that gives a model as C, made once."""
    made = {}

    def get(name):
        if name not in made:
            made[name] = boards.export(name, tmp_path_factory.mktemp(name))
        return made[name]

    return get


@pytest.mark.parametrize("board", boards.BOARDS)
@pytest.mark.parametrize("name", MODELS)
def test_digits(name, board, exported, tmp_path):
    emulator, _, compiler, _ = boards.BOARDS[board]
    if not (shutil.which(compiler.split()[0]) and shutil.which(emulator)):
        pytest.skip(f"no {compiler.split()[0]} or no {emulator}")
    model = exported(name)
    told = boards.emulate(board, boards.compile_for(board, model, tmp_path, COUNT))
    here = boards.scores(model)
    pixels, labels = boards.images(COUNT)
    seen = [int(here(image).argmax()) for image in pixels]
    assert told["seen"] == "".join(map(str, seen))
    assert int(told["right"]) == sum(a == b for a, b in zip(seen, labels, strict=True)) >= 520
    assert int(told["selftest"]) == 0
    # functions outside have frames, too, and not all that is there need be written to
    assert abs(boards.sizes(board, model)[2] - int(told["stack"])) <= 48
    assert 10_000 < int(told["instructions"]) < 20_000_000
    print(f"{name} on {board}: {told['instructions']} instructions")


STRICT = "-Wall -Wextra -Wpedantic -Wconversion -Werror".split()


@pytest.mark.parametrize("board", boards.BOARDS)
@pytest.mark.parametrize("name", MODELS)
def test_size(name, board, exported):
    """No warning, and the code of an integer model takes no more than a quarter of its weights."""
    if not shutil.which(boards.BOARDS[board][2].split()[0]):
        pytest.skip("no compiler")
    model = exported(name)
    flash, memory, stack = boards.sizes(board, model, *STRICT)
    assert model.constant_bytes < flash and model.workspace_bytes == memory
    assert model.stack_bytes < stack < model.stack_bytes + 512
    if name in MODELS[:2]:
        assert flash <= 1.25 * model.constant_bytes, flash
        assert stack < 128
        assert model.workspace_bytes <= 1.1 * model.live_bytes


def test_instructions_for_signals_halve_the_time(exported, tmp_path):
    if not (shutil.which("arm-none-eabi-gcc") and shutil.which("qemu-system-arm")):
        pytest.skip("no arm-none-eabi-gcc or no qemu-system-arm")
    model = exported("digits_cnn_qdq")
    counts = {}
    for board in ("mps2-an385", "mps2-an386"):
        told = boards.emulate(board, boards.compile_for(board, model, tmp_path, 2))
        counts[board] = int(told["instructions"])
    assert counts["mps2-an386"] * 1.5 < counts["mps2-an385"], counts
