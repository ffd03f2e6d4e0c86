"""rpc.LocalSession: files and libraries on this machine, as in a session with another."""

import ctypes

import numpy as np
import pytest
import tenon
from tenon import rpc, te
from tenon.rpc.client import LocalSession


@pytest.fixture
def library(tmp_path):
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1, name="B")
    built = tenon.build(te.create_schedule(B.op), [A, B], "llvm", name="increase")
    path = tmp_path / "lib.tar"
    built.export_library(str(path))
    return path


def test_a_library_runs_in_the_session(library):
    remote = rpc.LocalSession()
    assert isinstance(remote, LocalSession)
    remote.upload(str(library))
    assert remote.load_module(str(library)).implements_function("increase")
    function = remote.load_module("lib.tar")
    a = tenon.nd.array(np.arange(8, dtype="float32"), remote.cpu())
    b = tenon.nd.empty((8,), device=remote.device("cpu", 0))
    function(a, b)
    np.testing.assert_array_equal(b.numpy(), a.numpy() + 1)
    timed = function.time_evaluator(function.entry_name, remote.cpu(), number=3)
    assert timed(a, b).mean > 0


def test_linked_libraries_come_back(library, tmp_path):
    remote = rpc.LocalSession()
    remote.upload(str(library), "other/name.tar")
    (tmp_path / "linked.so").write_bytes(remote.download_linked_module("other/name.tar"))
    assert ctypes.CDLL(str(tmp_path / "linked.so")).increase


def test_files_of_the_session():
    remote = rpc.LocalSession()
    remote.upload(b"\x00\xff", "bytes")
    assert remote.download("bytes") == bytearray(b"\x00\xff")
    remote.remove("bytes")
    remote.remove("bytes")
    with pytest.raises(FileNotFoundError):
        remote.download("bytes")
    with pytest.raises(ValueError, match="bytes need a target"):
        remote.upload(b"x")
    assert rpc.LocalSession().get_function("runtime.GetDeviceAttr")


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "a/../../b", ".", ""])
def test_no_file_outside_of_the_session(name):
    remote = rpc.LocalSession()
    calls = [remote.download, remote.remove]
    if not name.startswith("/"):
        calls.append(remote.load_module)
    for call in calls:
        with pytest.raises(ValueError, match="is not the name of a file of the session"):
            call(name)


def test_a_whole_path_stands_for_the_file_that_was_uploaded():
    with pytest.raises(Exception, match="passwd"):
        rpc.LocalSession().load_module("/etc/passwd")
