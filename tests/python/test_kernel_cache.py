"""Compiled kernels kept between builds: what is found again, what is not, and what happens to a
cache that is damaged, full, shared or not to be trusted."""

import os
import pathlib
import subprocess
import sys
import time

import numpy as np
import pytest
import tenon
from built import kernels_of
from tenon import relay
from tenon.contrib import graph_executor
from tenon.driver import kernel_cache_clear, kernel_cache_info

pytestmark = pytest.mark.skipif(
    not tenon.runtime.enabled("llvm"), reason="only code of target llvm is kept"
)

DATA = np.arange(12, dtype="float32").reshape(3, 4)


def program(times=1.0):
    x = relay.var("x", shape=(3, 4))
    return tenon.IRModule.from_expr(relay.Function([x], relay.exp(x * relay.const(times))))


def build(mod=None, target="llvm", **config):
    with tenon.transform.PassContext(opt_level=3, config=config):
        return relay.build(mod or program(), target=target)


def run(lib, data=DATA):
    module = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    module.run(x=data)
    return module.get_output(0).numpy()


def counts():
    info = kernel_cache_info()
    return np.array([info["hits"], info["misses"], info["stored"]])


def entries(folder):
    return sorted(p for p in pathlib.Path(folder).glob("kernels/*/*") if p.is_file())


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("TENON_CACHE", str(folder))
    monkeypatch.delenv("TENON_CACHE_LIMIT", raising=False)
    return folder


def test_second_build_compiles_nothing(cache):
    before = counts()
    first = run(build())
    assert (counts() - before).tolist() == [0, 1, 1]
    second = run(build())
    assert (counts() - before).tolist() == [1, 1, 1]
    np.testing.assert_allclose(first, np.exp(DATA), rtol=1e-6)
    np.testing.assert_array_equal(first, second)
    info = kernel_cache_info()
    assert info["folder"] == str(cache) and info["reason"] == ""
    assert info["entries"] == 1 and info["bytes"] == entries(cache)[0].stat().st_size


def test_clear(cache):
    build()
    assert kernel_cache_clear() == 1
    assert entries(cache) == [] and kernel_cache_info()["entries"] == 0
    assert kernel_cache_clear() == 0


@pytest.mark.parametrize(
    "other",
    [
        lambda: build(program(2.0)),
        lambda: build(target="llvm -opt-level=1"),
        lambda: build(target="llvm -mcpu=x86-64-v3 -mtriple=x86_64-linux-gnu"),
        lambda: build(**{"tir.disable_vectorize": True}),
        lambda: relay.build(program(), target="llvm", mod_name="other"),
    ],
    ids=["program", "level", "processor", "option", "name"],
)
def test_what_the_code_depends_on_is_part_of_the_key(cache, other):
    build()
    before = counts()
    other()
    assert (counts() - before).tolist() == [0, 1, 1]


def test_library_of_kept_kernels_has_text_and_files(cache, tmp_path):
    fresh = build()
    kept = build()
    (name,) = kernels_of(fresh)
    for form in ("ll", "asm"):
        assert str(name) in kept.lib.get_source(form)
    assert fresh.lib.get_source("ll").count("define") == kept.lib.get_source("ll").count("define")
    for name in ("lib.so", "lib.tar"):
        path = str(tmp_path / name)
        kept.export_library(path)
        loaded = tenon.runtime.load_module(path)
        np.testing.assert_allclose(run(loaded), np.exp(DATA), rtol=1e-6)


def test_object_file_of_several_kernels_links(tmp_path):
    x = relay.var("x", shape=(3, 4))
    body = relay.nn.softmax(relay.nn.softmax(relay.exp(x)) + relay.sum(x, axis=1, keepdims=True))
    lib = build(tenon.IRModule.from_expr(relay.Function([x], body)))
    path = str(tmp_path / "kernels.o")
    lib.lib.save(path)
    for link in (tenon.contrib.cc.create_shared, tenon.contrib.cc.link_objects):
        shared = str(tmp_path / f"{link.__name__}.so")
        link(shared, [path])
        loaded = tenon.runtime.load_module(shared)
        assert len(kernels_of(lib)) > 1
        for name in kernels_of(lib):
            assert loaded.implements_function(name)
        module = graph_executor.create(lib.get_graph_json(), loaded, tenon.cpu())
        module.set_input(**lib.get_params())
        module.run(x=DATA)
        np.testing.assert_allclose(module.get_output(0).numpy(), run(lib), rtol=1e-6)


@pytest.mark.parametrize("damage", ["empty", "short", "flipped", "text", "long"])
def test_damaged_entry_is_replaced(cache, damage, caplog):
    build()
    (path,) = entries(cache)
    good = path.read_bytes()
    path.write_bytes(
        {
            "empty": b"",
            "short": good[: len(good) // 2],
            "flipped": good[:-100] + bytes([good[-100] ^ 1]) + good[-99:],
            "text": b"not an entry",
            "long": good + b"more",
        }[damage]
    )
    before = counts()
    np.testing.assert_allclose(run(build()), np.exp(DATA), rtol=1e-6)
    assert (counts() - before).tolist() == [0, 1, 1]
    assert path.read_bytes() == good
    if damage != "empty":
        assert "is damaged and was removed" in caplog.text


def test_entry_of_another_key_under_the_same_hash_is_not_used(cache):
    build()
    (first,) = entries(cache)
    build(program(2.0))
    (second,) = [p for p in entries(cache) if p != first]
    first.write_bytes(second.read_bytes())
    np.testing.assert_allclose(run(build()), np.exp(DATA), rtol=1e-6)


def test_off(cache, monkeypatch):
    for value in ("off", "0", ""):
        monkeypatch.setenv("TENON_CACHE", value)
        np.testing.assert_allclose(run(build()), np.exp(DATA), rtol=1e-6)
        assert "turns it off" in kernel_cache_info()["reason"]
    assert not cache.exists()


def test_folder_from_the_environment(cache, monkeypatch, tmp_path):
    monkeypatch.delenv("TENON_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert kernel_cache_info()["folder"] == str(tmp_path / "xdg" / "tenon")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert kernel_cache_info()["folder"] == str(tmp_path / "home" / ".cache" / "tenon")
    build()
    assert len(entries(tmp_path / "home" / ".cache" / "tenon")) == 1
    monkeypatch.delenv("HOME")
    assert "full path" in kernel_cache_info()["reason"]


def test_folder_that_cannot_be_made(cache, monkeypatch):
    cache.write_text("a file")
    np.testing.assert_allclose(run(build()), np.exp(DATA), rtol=1e-6)
    assert cache.read_text() == "a file"
    monkeypatch.setenv("TENON_CACHE", "/proc/none")
    np.testing.assert_allclose(run(build()), np.exp(DATA), rtol=1e-6)


def test_folder_that_others_may_write_to_is_not_used(cache):
    build()
    (cache / "kernels").chmod(0o777)
    assert "nobody else may write" in kernel_cache_info()["reason"]
    before = counts()
    build()
    assert (counts() - before).tolist() == [0, 0, 0]
    with pytest.raises(OSError, match="nobody else may write"):
        kernel_cache_clear()


CHILD = """
import os, resource, signal, sys
import numpy as np
import tenon
from tenon import relay
from tenon.contrib import graph_executor
if sys.argv[1] == "full":  # writes beyond this fail, as on a full disk
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
x = relay.var("x", shape=(3, 4))
for k in range(int(sys.argv[2])):
    body = relay.exp(x * relay.const(float(k)))
    lib = relay.build(tenon.IRModule.from_expr(relay.Function([x], body)), target="llvm")
    module = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    data = np.arange(12, dtype="float32").reshape(3, 4) / 12
    module.run(x=data)
    np.testing.assert_allclose(module.get_output(0).numpy(), np.exp(data * k), rtol=1e-5)
print("done")
"""


def child(cache, how, times, limit=64):
    env = {**os.environ, "TENON_CACHE": str(cache), "TENON_CACHE_LIMIT": str(limit)}
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, how, str(times)], env=env, stdout=subprocess.PIPE, text=True
    )


def test_full_disk(cache):
    process = child(cache, "full", 2)
    assert process.communicate()[0] == "done\n"
    assert process.returncode == 0 and entries(cache) == []


def test_processes_share_a_cache(cache):
    processes = [child(cache, "normal", 4) for _ in range(3)]
    assert [p.communicate()[0] for p in processes] == ["done\n"] * 3
    assert len(entries(cache)) == 4
    assert all(".new." not in p.name for p in cache.rglob("*"))


def test_the_entries_not_used_for_longest_go(cache, monkeypatch):
    build()
    (path,) = entries(cache)
    size = path.stat().st_size
    many = (1 << 20) // size
    for i in range(many - 2):
        build(program(i + 2.0))
    others = [p for p in entries(cache) if p != path]
    for i, p in enumerate([path, *others]):
        os.utime(p, (i, i))
    build()  # the oldest is used
    monkeypatch.setenv("TENON_CACHE_LIMIT", "1")
    process = child(cache, "normal", 6, limit=1)
    assert process.communicate()[0] == "done\n"
    left = entries(cache)
    assert sum(p.stat().st_size for p in left) <= 1 << 20
    assert path in left and others[0] not in left and len(left) >= many // 2


def test_passes_that_are_watched_run(cache):
    build()
    seen = []

    @tenon.instrument.pass_instrument
    class Watch:
        def run_before_pass(self, mod, info):
            seen.append(str(info.name))

    before = counts()
    with tenon.transform.PassContext(opt_level=3, instruments=[Watch()]):
        relay.build(program(), target="llvm")
    assert "tir.FlattenBuffer" in seen
    assert (counts() - before).tolist() == [0, 0, 0]


def test_error_names_the_kernel(cache):
    @tenon.tir.transform.prim_func_pass(opt_level=0)
    def refuse(func, mod, ctx):
        raise ValueError("not this one")

    with pytest.raises(ValueError, match="not this one"):
        build(**{"tir.add_lower_pass": [(1, refuse)]})


def test_equal_kernels_are_compiled_once(cache):
    x = relay.var("x", shape=(3, 4))
    func = relay.Function([x], relay.exp(relay.exp(x)))
    with tenon.transform.PassContext(opt_level=0):  # fuses nothing
        lib = relay.build(tenon.IRModule.from_expr(func), target="llvm")
    assert kernel_cache_info()["entries"] == len(kernels_of(lib)) == 1
    np.testing.assert_allclose(run(lib, DATA / 12), np.exp(np.exp(DATA / 12)), rtol=1e-5)


BUILDER = """
import sys
import numpy as np
import tenon
from tenon import relay
from tenon.contrib import graph_executor
for n in range(int(sys.argv[1]), int(sys.argv[2])):
    x = relay.var("x", shape=(n + 1,))
    mod = tenon.IRModule.from_expr(relay.Function([x], relay.exp(x)))
    with tenon.transform.PassContext(opt_level=3):
        lib = relay.build(mod, target="llvm")
    m = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    data = np.linspace(-1, 1, n + 1, dtype="float32")
    m.run(x=data)
    np.testing.assert_allclose(m.get_output(0).numpy(), np.exp(data), rtol=1e-5)
    print(n, flush=True)
"""


def test_killed_while_it_is_filled(tmp_path):
    """A process that is killed at any moment leaves entries that are whole."""
    env = {**os.environ, "TENON_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-c", BUILDER]
    reached = 0
    for round_ in range(6):
        process = subprocess.Popen(
            [*command, str(reached), str(reached + 10000)],
            env=env,
            stdout=subprocess.PIPE,
            text=True,
        )
        first = int(process.stdout.readline())  # it builds the next now
        time.sleep(0.02 + 0.013 * round_)
        process.kill()
        left = process.communicate()[0].split()
        reached = 1 + max([first, *map(int, left)])  # a cut number is a smaller one
    assert reached >= 6
    again = subprocess.run(
        [*command, "0", str(reached + 2)], env=env, capture_output=True, text=True, timeout=120
    )
    assert again.returncode == 0, again.stderr
    assert "damaged" not in again.stderr
