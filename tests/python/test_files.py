"""Files that the package and the command write: whole, or as they were."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon._ffi import get_global_func
from tenon._ffi.files import append_line, write_file, written_aside
from tenon.contrib import cc, tar, utils

fail_step = get_global_func("testing.fail_file_step")


@pytest.fixture(autouse=True)
def no_fault():
    yield
    fail_step(-1)


@pytest.fixture(scope="module")
def library():
    x = relay.var("x", shape=(3, 4))
    mod = tenon.IRModule.from_expr(relay.Function([x], relay.exp(x + relay.const(1.0))))
    return relay.build(mod, target="llvm")


@pytest.fixture(scope="module")
def c_library():
    x = relay.var("x", shape=(3, 4))
    mod = tenon.IRModule.from_expr(relay.Function([x], relay.exp(x)))
    with tenon.transform.PassContext(config={"tir.disable_vectorize": True}):
        return relay.build(mod, target="c", executor=relay.backend.Executor("graph"))


PARAMS = {"w": np.arange(6, dtype="float32")}


def writers(library, c_library):
    """Name -> what writes a file of that name."""
    compiled = tenon.compile(_exp(), target="llvm")
    return {
        "params": lambda p: tenon.runtime.save_param_dict_to_file(PARAMS, p),
        "a.so": lambda p: library.export_library(p, fcompile=cc.link_objects),
        "b.so": lambda p: library.export_library(p),
        "a.tar": lambda p: library.export_library(p),
        "a.o": lambda p: library.get_lib().save(p),
        "a.ll": lambda p: library.get_lib().save(p),
        "c.so": compiled.save,
        "mlf.tar": lambda p: tenon.micro.export_model_library_format(c_library, p),
        "text": lambda p: write_file(p, "text"),
    }


def _exp():
    x = relay.var("x", shape=(2,))
    return tenon.IRModule.from_expr(relay.Function([x], relay.exp(x)))


NAMES = ["params", "a.so", "b.so", "a.tar", "a.o", "a.ll", "c.so", "mlf.tar", "text"]


@pytest.mark.parametrize("name", NAMES)
def test_each_step_of_each_writer_fails(name, library, c_library, tmp_path):
    write = writers(library, c_library)[name]
    path = tmp_path / name
    write(str(path))
    fail_step(1 << 40)
    write(str(path))
    steps = fail_step(-1)
    assert steps >= 5
    for n in range(steps):
        path.write_bytes(b"old")
        fail_step(n)
        try:
            write(str(path))
        except OSError as err:
            assert "No space left on device" in str(err)
            assert path.read_bytes() == b"old"
        else:  # for a file without a name there is another way
            assert path.read_bytes() != b"old"
        finally:
            fail_step(-1)
        assert os.listdir(tmp_path) == [name]


def test_mode_of_the_file_stays(library, tmp_path):
    path = tmp_path / "a.so"
    library.export_library(str(path), fcompile=cc.link_objects)
    assert path.stat().st_mode & 0o777 == 0o777 & ~_umask()
    path.chmod(0o640)
    library.export_library(str(path), fcompile=cc.link_objects)
    assert path.stat().st_mode & 0o777 == 0o750
    library.export_library(str(path))
    assert path.stat().st_mode & 0o777 == 0o750


def _umask():
    mask = os.umask(0o22)
    os.umask(mask)
    return mask


def test_compiler_that_fails_leaves_the_old_library(tmp_path):
    source, output = tmp_path / "a.c", tmp_path / "a.so"
    source.write_text("int f(void) { return 1; }")
    cc.create_shared(str(output), [str(source)])
    old = output.read_bytes()
    source.write_text("int f(void) { return 1 }")
    with pytest.raises(RuntimeError, match="Compilation error"):
        cc.create_shared(str(output), [str(source)])
    assert output.read_bytes() == old


def test_block_that_fails_writes_nothing(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(RuntimeError, match="stop"), written_aside(path, str(tmp_path)) as aside:
        with open(aside, "w") as out:
            out.write("new")
        raise RuntimeError("stop")
    assert path.read_text() == "old"


def test_archive_with_equal_names_leaves_the_old_one(tmp_path):
    path = tmp_path / "a.tar"
    path.write_text("old")
    (tmp_path / "x").mkdir()
    for name in ("a.o", "x/a.o"):
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(ValueError, match="two files are called a.o"):
        tar.tar(str(path), [str(tmp_path / "a.o"), str(tmp_path / "x/a.o")])
    assert path.read_text() == "old"


# ---- processes that are killed ----


def _in_child(body, *args):
    process = multiprocessing.get_context("fork").Process(target=body, args=args)
    process.start()
    return process


def _save_for_ever(path):
    for i in range(1 << 30):
        tenon.runtime.save_param_dict_to_file({"w": np.full(5000, i, "int32")}, path)


def test_killed_while_saving(tmp_path):
    path = tmp_path / "params"
    for i in range(12):
        process = _in_child(_save_for_ever, str(path))
        while not path.exists():
            time.sleep(0.001)
        time.sleep(0.003 * i)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        values = tenon.runtime.load_param_dict_from_file(str(path))["w"].numpy()
        assert (values == values[0]).all()
        assert len(os.listdir(tmp_path)) <= 2
    tenon.runtime.save_param_dict_to_file(PARAMS, str(path))
    assert os.listdir(tmp_path) == ["params"]


TEMPORARY = """
import os, signal, sys
from tenon.contrib import utils
folder = utils.tempdir()
if sys.argv[1] == "die":
    os.kill(os.getpid(), signal.SIGKILL)
print(len(os.listdir(os.environ["TMPDIR"])))
"""


def test_temporary_folders_of_killed_processes_go(tmp_path):
    def run(how):
        command = [sys.executable, "-c", TEMPORARY, how]
        env = {**os.environ, "TMPDIR": str(tmp_path)}
        return subprocess.run(command, env=env, capture_output=True, text=True)

    assert run("die").returncode == -signal.SIGKILL
    assert len(os.listdir(tmp_path)) == 1
    assert run("end").stdout == "1\n"  # its own
    assert os.listdir(tmp_path) == []


def test_temporary_folders_in_a_child(tmp_path):
    folder = utils.tempdir()

    def body():
        inner = utils.tempdir()
        assert os.path.dirname(inner.path) != os.path.dirname(folder.path)
        inner.remove()

    process = _in_child(body)
    process.join()
    assert process.exitcode == 0 and os.path.isdir(folder.path)


# ---- records ----


def test_lines_are_added_whole(tmp_path):
    path = tmp_path / "log"
    append_line(path, '{"a": 1}')
    append_line(path, '{"b": 2}')
    assert path.read_text() == '{"a": 1}\n{"b": 2}\n'
    path.write_text('{"a": 1}\n{"b": 2')  # cut off
    append_line(path, '{"c": 3}')
    assert path.read_text() == '{"a": 1}\n{"c": 3}\n'
    path.write_text('{"a": 1}\n{"b": 2}')  # whole, but for its end
    append_line(path, '{"c": 3}')
    assert path.read_text() == '{"a": 1}\n{"b": 2}\n{"c": 3}\n'
    path.write_text('{"a": "' + "x" * 10000)
    append_line(path, '{"c": 3}')
    assert path.read_text() == '{"c": 3}\n'


def test_lines_of_several_processes(tmp_path):
    path = tmp_path / "log"

    def body(i):
        for _ in range(50):
            append_line(path, '"' + str(i) * 500 + '"')

    processes = [_in_child(body, i) for i in range(3)]
    for process in processes:
        process.join()
    lines = path.read_text().splitlines()
    assert sorted(lines) == sorted(['"' + str(i) * 500 + '"' for i in range(3)] * 50)


def _add_for_ever(path):
    for i in range(1 << 30):
        append_line(path, json.dumps({"i": i, "text": "x" * (i * 977 % 20000)}))


def test_killed_while_adding_lines(tmp_path):
    path = tmp_path / "log"
    for i in range(12):
        process = _in_child(_add_for_ever, str(path))
        while not path.exists():
            time.sleep(0.001)
        time.sleep(0.003 * i)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        append_line(path, json.dumps({"end": i}))
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        assert [line["end"] for line in lines if "end" in line] == list(range(i + 1))
        assert os.listdir(tmp_path) == ["log"]
