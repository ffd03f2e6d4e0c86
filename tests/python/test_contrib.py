"""Compilers, archives, temporary directories, downloads, memoized results."""

import ctypes
import http.server
import os
import shutil
import subprocess
import sys
import tarfile
import threading

import pytest
import tenon
from tenon.contrib import (
    cc,
    clang,
    cudnn,
    dlpack,
    download,
    ndk,
    nvcc,
    pickle_memoize,
    utils,
    xcode,
)
from tenon.contrib import tar as tar_module

needs_cc = pytest.mark.skipif(cc.get_cc() is None, reason="no C compiler")


def write(path, text):
    path.write_text(text)
    return str(path)


# ---- temporary directories


def test_tempdir_is_removed():
    temp = utils.tempdir()
    path = temp.relpath("file")
    with open(path, "w") as out:
        out.write("x")
    assert temp.listdir() == ["file"] and os.path.dirname(path) == temp.path
    assert str(temp / "file") == path
    folder = temp.path
    temp.remove()
    assert not os.path.exists(folder)
    with utils.tempdir() as inner:
        folder = inner.path
        assert os.path.isdir(folder)
    assert not os.path.exists(folder)
    temp = utils.tempdir()
    folder = temp.path
    del temp
    assert not os.path.exists(folder)


def test_tempdir_of_a_given_path(tmp_path):
    temp = utils.tempdir(custom_path=str(tmp_path / "here" / "deep"))
    assert os.path.isdir(temp.path)
    temp.remove()
    assert not (tmp_path / "here" / "deep").exists()


def test_kept_tempdirs(tmp_path, monkeypatch):
    monkeypatch.setattr(utils.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(utils.TempDirectory, "_DEBUG_PARENT_DIR", None)
    with utils.TempDirectory.set_keep_for_debug():
        kept = utils.tempdir()
        inner = utils.tempdir(keep_for_debug=False)
    folder = kept.path
    assert os.path.basename(folder) == f"{utils.TempDirectory._NUM_TEMPDIR_CREATED - 1:05d}"
    assert "tenon-debug-mode-tempdirs" in folder
    kept.remove()
    inner_folder = inner.path
    inner.remove()
    assert os.path.isdir(folder) and not os.path.exists(inner_folder)
    assert not utils.TempDirectory._KEEP_FOR_DEBUG


def test_tempdirs_end_with_their_process():
    code = (
        "import os\nfrom tenon.contrib import utils\n"
        "a = utils.tempdir()\nprint(a.path)\n"
        "pid = os.fork()\n"
        "if pid == 0:\n    os._exit(0) if os.path.isdir(a.path) else os._exit(1)\n"
        "assert os.waitpid(pid, 0)[1] == 0 and os.path.isdir(a.path)\n"
        "import atexit\n"
        "atexit._run_exitfuncs()\n"
        "try:\n    utils.tempdir()\n"
        "except utils.DirectoryCreatedPastAtExit as err:\n    print('late')\n"
    )
    done = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    path, late = done.stdout.split()
    assert late == "late" and not os.path.exists(path)


def test_file_lock(tmp_path):
    path = str(tmp_path / "lock")
    lock = utils.filelock(path)
    # a lock of fcntl belongs to the process: another one has to wait
    code = f"from tenon.contrib import utils\nutils.filelock({path!r})\nprint('got it')"
    other = subprocess.Popen([sys.executable, "-B", "-c", code], stdout=subprocess.PIPE, text=True)
    with pytest.raises(subprocess.TimeoutExpired):
        other.wait(0.5)
    lock.release()
    assert other.communicate(timeout=30)[0].strip() == "got it"
    assert utils.is_source_path("a.cc") and not utils.is_source_path("a.o")
    assert utils.which("sh") and utils.which("no-such-program-anywhere") is None


# ---- archives


def test_tar(tmp_path):
    a, b = write(tmp_path / "a.o", "A"), write(tmp_path / "b.o", "B")
    archive = str(tmp_path / "both.tar")
    tar_module.tar(archive, [a, b])
    tar_module.untar(archive, str(tmp_path / "out"))
    assert sorted(os.listdir(tmp_path / "out")) == ["a.o", "b.o"]
    temp = utils.tempdir()
    files = tar_module.normalize_file_list_by_unpacking_tars(temp, [a, archive])
    assert files[0] == a and [os.path.basename(f) for f in files] == ["a.o", "a.o", "b.o"]
    os.mkdir(tmp_path / "other")
    same = write(tmp_path / "other" / "a.o", "other")
    with pytest.raises(ValueError, match="two files are called a.o"):
        tar_module.tar(archive, [a, same])
    with pytest.raises(ValueError, match="options"):
        tar_module.tar(archive, [a], options=["-z"])
    assert tar_module.tar.output_format == "tar"


def test_untar_stays_inside(tmp_path):
    evil = tmp_path / "evil.tar"
    with tarfile.open(evil, "w") as archive:
        archive.add(write(tmp_path / "x", "x"), arcname="../escaped")
    with pytest.raises(tarfile.TarError):
        tar_module.untar(str(evil), str(tmp_path / "inside"))
    assert not (tmp_path / "escaped").exists()


# ---- compilers


@needs_cc
def test_create_shared_and_executable(tmp_path):
    source = write(tmp_path / "f.c", "int twice(int x) { return 2 * x; }\n")
    library = str(tmp_path / "libf.so")
    cc.create_shared(library, [source], options=["-O1"])
    assert ctypes.CDLL(library).twice(21) == 42
    main = write(tmp_path / "m.c", "int twice(int);\nint main(void) { return twice(4); }\n")
    program = str(tmp_path / "m")
    cc.create_executable(program, [main, source])
    assert subprocess.run([program]).returncode == 8
    with pytest.raises(RuntimeError, match="(?s)Compilation error.*f.c.*Command line: .*-DX="):
        cc.create_shared(library, source, options=["-DX=", "-Dint=1nt"])


@needs_cc
def test_static_libraries_and_tars(tmp_path):
    one = write(tmp_path / "one.c", "int one(void) { return 1; }\n")
    two = write(tmp_path / "two.c", "int two(void) { return 2; }\n")
    objects = []
    for path in (one, two):
        objects.append(path[:-2] + ".o")
        command = [shutil.which("gcc") or "clang", "-fPIC", "-c", path, "-o", objects[-1]]
        subprocess.run(command, check=True)
    lib = str(tmp_path / "lib1.a")
    cc.create_staticlib(lib, objects[:1])
    archive = str(tmp_path / "two.tar")
    tar_module.tar(archive, objects[1:])
    both = str(tmp_path / "both.a")
    cc.create_staticlib(both, [lib, archive])
    assert {"one", "two"} <= set(cc.get_global_symbol_section_map(both))
    shared = str(tmp_path / "both.so")
    cc.create_shared(shared, [archive, objects[0]])
    assert ctypes.CDLL(shared).two() == 2
    assert cc.create_staticlib.output_format == "a"


@needs_cc
def test_cross_compiler(tmp_path):
    source = write(tmp_path / "f.c", "int f(void) { return VALUE; }\n")
    extra = write(tmp_path / "g.c", "int g(void) { return 7; }\n")
    compile_it = cc.cross_compiler(cc.get_cc(), options=["-DVALUE=3"], add_files=[extra])
    assert compile_it.output_format == "so" and compile_it.get_target_triple()
    compile_it(str(tmp_path / "f.so"), source)
    library = ctypes.CDLL(str(tmp_path / "f.so"))
    assert library.f() == 3 and library.g() == 7
    calls = []
    wrapped = cc.cross_compiler(lambda *args: calls.append(args), output_format="x")
    wrapped("out", ["a"], options=["-b"])
    assert calls == [("out", ["a"], ["-b"])] and wrapped.output_format == "x"


def test_a_missing_compiler_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.delenv("CC", raising=False)
    assert cc.get_cc() is None
    with pytest.raises(RuntimeError, match="no C compiler found.*apt install gcc"):
        cc.create_shared("x.so", ["x.c"])
    with pytest.raises(RuntimeError, match="cannot run no-such-cc"):
        cc.create_shared("x.so", ["x.c"], cc="no-such-cc")
    with pytest.raises(RuntimeError, match="cannot run ar"):
        cc.create_staticlib(str(tmp_path / "x.a"), ["x.o"])
    with pytest.raises(RuntimeError, match="cannot find clang"):
        clang.find_clang()
    assert clang.find_clang(required=False) == []


def test_cxx_may_hold_options(monkeypatch):
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    monkeypatch.setenv("CXX", "gcc -O1")
    assert cc.get_cc() == "gcc -O1"
    assert cc.get_target_by_dump_machine("gcc -O1")()
    assert cc.get_target_by_dump_machine("no-such-cc")() is None


@pytest.mark.skipif(not clang.find_clang(required=False), reason="no clang")
def test_create_llvm(tmp_path):
    text = clang.create_llvm('extern "C" int add(int a, int b) { return a + b; }', options=["-O1"])
    assert "define" in text and "@add" in text
    with pytest.raises(RuntimeError, match="Compilation error"):
        clang.create_llvm("this is not a program\n")


def test_other_toolchains(monkeypatch):
    assert nvcc.parse_compute_version("8.6") == (8, 6) == nvcc.parse_compute_version("sm_86")
    with pytest.raises(RuntimeError, match="parsing error"):
        nvcc.parse_compute_version("new")
    assert nvcc.have_fp16("6.0") and nvcc.have_fp16("5.3") and not nvcc.have_fp16("5.2")
    assert nvcc.have_int8("6.1") and not nvcc.have_int8("6.0")
    assert nvcc.have_tensorcore("7.0") and nvcc.have_bf16("8.0") and nvcc.have_fp8("8.9")
    with pytest.raises(ValueError, match="target_format"):
        nvcc.compile_cuda("", target_format="exe")
    monkeypatch.delenv("TVM_NDK_CC", raising=False)
    with pytest.raises(RuntimeError, match="TVM_NDK_CC"):
        ndk.create_shared("x.so", ["x.o"])
    if shutil.which("xcrun") is None:
        with pytest.raises(RuntimeError, match="xcrun not found"):
            xcode.create_dylib("x.dylib", ["x.o"], "arm64")
    assert cudnn.exists() is False or cudnn.exists() is True


# ---- the rest


class Files(http.server.BaseHTTPRequestHandler):
    """Serves one file, counts requests, and fails where the path asks for it."""

    def do_GET(self, body=True):
        self.server.seen.append((self.command, self.path))
        if self.path == "/gone":
            self.send_error(404)
            return
        self.send_response(200)
        # cut short: the header promises more than comes
        self.send_header("Content-Length", str(5 + 5 * (self.path == "/short")))
        self.end_headers()
        if body:
            self.wfile.write(b"bytes")

    def do_HEAD(self):
        self.do_GET(body=False)

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files) as made:
        made.seen = []
        made.url = f"http://127.0.0.1:{made.server_port}"
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def test_files_are_fetched_once(server, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "TEST_DATA_ROOT_PATH", tmp_path)
    for _ in range(2):
        path = download.download_testdata(f"{server.url}/m", "model.bin", module=["a", "b"])
    assert path == str(tmp_path / "a" / "b" / "model.bin")
    assert open(path, "rb").read() == b"bytes" and server.seen == [("GET", "/m")]
    download.download(f"{server.url}/m", path, size_compare=True)
    assert server.seen[1:] == [("HEAD", "/m")]
    with open(path, "ab") as file:
        file.write(b"more")
    download.download(f"{server.url}/m", path, size_compare=True)
    assert open(path, "rb").read() == b"bytes"
    download.download(f"{server.url}/m", path, overwrite=True)
    assert server.seen[-2:] == [("GET", "/m"), ("GET", "/m")]
    with pytest.raises(ValueError, match="Unsupported module"):
        download.download_testdata("https://example.org/m", "x", module=3)


@pytest.mark.parametrize("path", ["gone", "short"])
def test_what_cannot_be_fetched_leaves_nothing(server, tmp_path, path):
    with pytest.raises(RuntimeError, match=f"(?s)/{path}.*fetch it yourself and put it at"):
        download.download(f"{server.url}/{path}", tmp_path / "file", retries=2)
    assert len(server.seen) == 2 and not (tmp_path / "file").exists()
    with pytest.raises(RuntimeError, match="expected a URL with http"):
        download.download("ftp://example.org/x", tmp_path / "file")


def test_nothing_is_fetched_when_offline(server, tmp_path, monkeypatch):
    monkeypatch.setenv("TENON_OFFLINE", "1")
    monkeypatch.setattr(download, "TEST_DATA_ROOT_PATH", tmp_path)
    with pytest.raises(RuntimeError, match="(?s)model.bin is missing and TENON_OFFLINE forbids"):
        download.download_testdata(f"{server.url}/m", "model.bin", module="models")
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "model.bin").write_bytes(b"here")
    path = download.download_testdata(f"{server.url}/m", "model.bin", module="models")
    download.download(f"{server.url}/m", path, overwrite=True, size_compare=True)
    assert open(path, "rb").read() == b"here" and server.seen == []
    target = tmp_path / "copy.bin"
    download.download(f"file://{path}", target)
    assert target.read_bytes() == b"here"


def test_memoize(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    calls = []

    @pickle_memoize.memoize("test.memoize")
    def slow(x, y=1):
        calls.append((x, y))
        return x + y

    assert slow(1) == slow(1) == 2 and slow(1, y=5) == 6
    assert calls == [(1, 1), (1, 5)]
    cache = pickle_memoize.Cache.cache_by_key.pop("test.memoize.slow")
    cache.save()
    again = pickle_memoize.Cache("test.memoize.slow", False)
    assert again.cache == cache.cache
    (tmp_path / ".pkl_memoize_py3" / "test.memoize.slow").write_bytes(b"broken")
    assert pickle_memoize.Cache("test.memoize.slow", False).cache == {}


def test_functions_on_tensors_of_others():
    import numpy as np

    f = tenon.runtime.convert(lambda x, k: x.numpy().sum() * k)
    wrapped = dlpack.convert_func(f, np.ndarray, lambda x: x)
    assert wrapped(np.ones(3), 2) == 6
    with pytest.raises(TypeError, match="expected a function"):
        dlpack.convert_func(3, np.ndarray, None)


def test_functions_on_torch_tensors():
    torch = pytest.importorskip("torch")

    def double(x, out):
        tenon.nd.array(x.numpy() * 2).copyto(out)

    x, out = torch.arange(4, dtype=torch.float32), torch.zeros(4)
    dlpack.to_pytorch_func(tenon.runtime.convert(double))(x, out)
    assert out.tolist() == [0, 2, 4, 6]


def test_config_program():
    def config(*options):
        command = [sys.executable, "-B", "-m", "tenon.config", *options]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert config("--version").strip() == tenon.__version__
    include = config("--includedir").strip()
    assert os.path.isfile(os.path.join(include, "tenon", "runtime.h"))
    assert config("--cflags").strip() == f"-I{include}"
    assert os.path.isfile(os.path.join(config("--libdir").strip(), "libtenon_runtime.so"))
    assert "version: " in config() and "libs: -L" in config()


@needs_cc
def test_a_c_program_links_with_the_flags(tmp_path):
    from tenon._ffi import libinfo

    source = write(
        tmp_path / "p.c",
        '#include "tenon/runtime.h"\n'
        "int main(void) { return tn_runtime_init() ? 1 : tn_num_threads() > 0 ? 5 : 2; }\n",
    )
    lib = os.path.dirname(libinfo.find_lib_path()[0])
    options = ["-I" + libinfo.find_include_path()[0], "-L" + lib, "-Wl,-rpath," + lib]
    compiler = shutil.which("gcc") or shutil.which("clang")
    cc.create_executable(str(tmp_path / "p"), [source], [*options, "-ltenon_runtime"], cc=compiler)
    assert subprocess.run([str(tmp_path / "p")]).returncode == 5


def test_libraries_are_found(tmp_path):
    from tenon._ffi import base, libinfo

    paths = libinfo.find_lib_path()
    assert "libtenon_runtime" in paths[0] and all(os.path.isfile(p) for p in paths)
    assert libinfo.find_lib_path("no-such-lib.so", optional=True) is None
    with pytest.raises(RuntimeError, match="(?s)cannot find no-such-lib.so.*looked in"):
        libinfo.find_lib_path("no-such-lib.so", search_path=str(tmp_path))
    (tmp_path / "mine.so").write_text("")
    assert libinfo.find_lib_path("mine.so", str(tmp_path)) == [str(tmp_path / "mine.so")]
    assert hasattr(base._LIB, "TVMFuncGetGlobal")
    assert base._LIB is base._LIB and base.py_str(b"x") == "x" and base.c_str("x").value == b"x"
    assert list(base.c_array(ctypes.c_int, [1, 2])) == [1, 2]
    base.check_call(0)


def test_old_c_interface_reports_errors():
    from tenon._ffi import base

    out = ctypes.c_void_p()
    load = base._LIB.TVMModLoadFromFile
    with pytest.raises(ValueError, match="cannot find file no-such.so"):
        base.check_call(load(b"no-such.so", b"so", ctypes.byref(out)))


def test_support():
    info = tenon.support.libinfo()
    assert {"USE_LLVM", "USE_RPC", "USE_PROFILER", "USE_CUDA", "USE_MICRO"} <= set(info)
    assert all(type(k) is str and type(v) is str for k, v in info.items())
    assert info["USE_THREADS"] == "ON" and info["USE_BNNS"] == "OFF"


def test_describe(capsys):
    tenon.support.describe()
    text = capsys.readouterr().out
    assert tenon.__version__ in text and "USE_LLVM" in text


def test_frontend_test_module():
    mod = tenon.support.FrontendTestModule(entry_name="double")
    mod["double"] = lambda x: 2 * x
    mod.add_function("half", lambda x: x / 2)
    assert mod["double"](4) == 8 and mod["half"](4) == 2 and mod(5) == 10
    assert isinstance(mod, tenon.runtime.Module) and mod.type_key == "ffi_testing"
    with pytest.raises(AttributeError, match="Module has no function 'third'"):
        mod["third"]


# ---- worker processes


def test_worker_returns_results_and_errors():
    from tenon.contrib.popen_pool import PopenWorker
    from tenon.testing import popen_pool as jobs

    worker = PopenWorker()
    assert not worker.is_alive()
    worker.send(jobs.fast_summation, (100,))
    assert worker.recv() == 4950 and worker.is_alive()
    worker.send(int, ("not a number",))
    with pytest.raises(ValueError, match="not a number"):
        worker.recv()
    worker.send(jobs.call_cpp_ffi, (7,))
    assert worker.recv() == 7
    worker.kill()
    assert not worker.is_alive()
    worker.send(jobs.slow_summation, (10,))
    assert worker.recv() == 45


def test_worker_is_stopped_after_its_time():
    from tenon.contrib.popen_pool import PopenWorker
    from tenon.testing import popen_pool as jobs

    worker = PopenWorker()
    worker.send(jobs.timeout_job, (60,), timeout=0.3)
    with pytest.raises(TimeoutError):
        worker.recv()
    assert not worker.is_alive()
    worker.send(jobs.fast_summation, (3,), timeout=30)
    assert worker.recv() == 3


def test_worker_that_dies():
    from tenon.contrib.popen_pool import PopenWorker
    from tenon.testing import terminate_self

    worker = PopenWorker()
    worker.send(terminate_self)
    with pytest.raises(ChildProcessError, match="Subprocess terminated"):
        worker.recv()


def test_worker_initializer_and_uses():
    from tenon.contrib.popen_pool import PopenWorker
    from tenon.testing import popen_pool as jobs

    worker = PopenWorker(jobs.initializer, (1, 2, 3), maximum_uses=2)
    pids = []
    for _ in range(3):
        worker.send(os.getpid)
        pids.append(worker.recv())
    assert pids[0] == pids[1] != pids[2]
    worker.send(jobs.after_initializer)
    assert worker.recv() == (1, 2, 3)
    with pytest.raises(TypeError, match="callable"):
        PopenWorker(initializer=3)


def test_a_pool_starts_fresh_processes():
    from tenon.contrib.popen_pool import PopenPoolExecutor

    pool = PopenPoolExecutor(max_workers=1, timeout=20, maximum_process_uses=2)
    first, second, third = (pool.submit(os.getpid).result() for _ in range(3))
    assert first == second != third


def test_pool():
    from tenon.contrib.popen_pool import PopenPoolExecutor, StatusKind
    from tenon.testing import popen_pool as jobs

    pool = PopenPoolExecutor(max_workers=2, timeout=20)
    futures = [pool.submit(jobs.fast_summation, n) for n in (1, 10, 100)]
    assert [f.result() for f in futures] == [0, 45, 4950]
    results = list(pool.map_with_error_catching(int, ["1", "x", "3"]))
    assert [r.status for r in results] == [
        StatusKind.COMPLETE,
        StatusKind.EXCEPTION,
        StatusKind.COMPLETE,
    ]
    assert results[0].value == 1 and isinstance(results[1].value, ValueError)
    threads = threading.active_count()
    del pool
    assert threading.active_count() <= threads
