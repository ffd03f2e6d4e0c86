"""Golden files of passes: tests/golden/<dialect>/<Pass>/*.txt.

A file holds a program (TVMScript for ``tir``, Relay text for ``relay``), a line ``# ---`` and the
program that the pass makes of it, which is also printed and parsed back. Relay programs are
compared with types inferred. Comments above the first line of the program may say

- ``# args: ...``: arguments of the pass, or ``# target: ...``: a target as its argument (``tir``)
  or around it (``relay``);
- ``# first: [...]``: Relay passes that make the program what the pass gets;
- ``# devices: [target, ...]``: a compilation config for these targets as its argument, whose
  virtual devices are ``meta[VirtualDevice][0]`` and so on in the program;
- ``# patterns: [(name, text), ...]``: a table of dataflow patterns as its argument;
- ``# config: {...}``: options of the context;
- ``# datatypes: {name: (code, {operation: function})}``: types of the program, and the C functions
  that compute them on ``llvm``;
- ``# bind_target: ...``: the target of the functions, which is not shown;
- ``# error: ...``: a part of the message of the error that is expected instead of a program.
"""

import ast
import contextlib
import pathlib
import re

import pytest
import tenon
from tenon import _core, relay, tir
from tenon.script import from_source
from tenon.target import datatype

ROOT = pathlib.Path(__file__).resolve().parent.parent / "golden"
FILES = sorted(ROOT.glob("tir/*/*.txt"))
RELAY_FILES = sorted(ROOT.glob("relay/*/*.txt"))
HEADER = "from tenon.script import ir as I\nfrom tenon.script import tir as T\n\n"


def read(path):
    """Settings, program and expected program of a file."""
    text = path.read_text(encoding="utf-8")
    before, _, expected = text.partition("# ---\n")
    settings = {}
    for line in before.splitlines():
        key, colon, value = line.removeprefix("# ").partition(": ")
        if not line.startswith("# ") or not colon:
            break
        settings[key] = value if key == "error" else ast.literal_eval(value)
    return settings, before, expected


def run(name, settings, program):
    """The pass on a program, in a context with the options of the file."""
    call = _core.get_global_func
    args = settings.get("args", ())
    if "target" in settings:
        args = (tenon.target.Target(settings["target"]),)
    made = getattr(tir.transform, name)(*args)
    context = call("transform.PassContext")(2, [], [], [], settings.get("config", {}))
    module = program
    if isinstance(program, tir.PrimFunc):
        module = tenon.IRModule({"main": program})
    if "bind_target" in settings:
        bind = tir.transform.BindTarget(tenon.target.Target(settings["bind_target"]))
        module = call("transform.RunPass")(bind, module)
    call("transform.EnterPassContext")(context)
    try:
        module = call("transform.RunPass")(made, module)
    finally:
        call("transform.ExitPassContext")(context)
    if not isinstance(program, tir.PrimFunc):
        return module
    return module["main"].without_attr("target") if "bind_target" in settings else module["main"]


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_pass(path, request):
    settings, before, expected = read(path)
    for name, (code, functions) in settings.get("datatypes", {}).items():
        datatype.register(name, code)
        for op, function in functions.items():
            datatype.register_op(datatype.create_lower_func(function), op, "llvm", name)
    program = from_source(HEADER + before)
    if "error" in settings:
        with pytest.raises(Exception) as info:
            run(path.parent.name, settings, program)
        assert settings["error"] in str(info.value)
        return
    result = run(path.parent.name, settings, program)
    shown = result.script().split("\n\n", 1)[1] + "\n"
    again = from_source(HEADER + shown)
    tenon.ir.assert_structural_equal(again, result, map_free_vars=True)
    if request.config.getoption("--update-golden"):
        path.write_text(f"{before}# ---\n{shown}", encoding="utf-8")
    else:
        wanted = from_source(HEADER + expected)
        tenon.ir.assert_structural_equal(result, wanted, map_free_vars=True)


def virtual_devices(settings):
    targets = [tenon.target.Target(t, host="llvm") for t in settings.get("devices", [])]
    device = [tenon.device(str(t.kind.name)) for t in targets]
    return [tenon.target.VirtualDevice(*pair) for pair in zip(device, targets, strict=True)]


def parse_relay(text, settings=None):
    """The module of a Relay text without its settings."""
    lines = text.splitlines()
    while lines and lines[0].startswith("# "):
        del lines[0]
    meta = {"VirtualDevice": virtual_devices(settings or {})} if settings else None
    text = '#[version = "0.0.5"]\n' + "\n".join(lines) + "\n"
    return tenon.relay.parse(text, init_meta_table=meta)


def run_relay(name, settings, mod):
    """The pass on a module with types inferred."""
    for before in ["InferType", *settings.get("first", [])]:
        mod = getattr(relay.transform, before)()(mod)
    args = settings.get("args", ())
    if "patterns" in settings:
        table = settings["patterns"]
        args = ([(n, eval(text, vars(relay.dataflow_pattern))) for n, text in table],)
    if "devices" in settings:
        targets = [device.target for device in virtual_devices(settings)]
        with tenon.transform.PassContext(config=settings.get("config", {})) as context:
            args = (tenon.target.make_compilation_config(context, targets),)
    target = settings.get("target")
    context = tenon.transform.PassContext(opt_level=4, config=settings.get("config", {}))
    with context, tenon.target.Target(target) if target else contextlib.nullcontext():
        mod = getattr(relay.transform, name)(*args)(mod)
    return relay.transform.InferType()(mod)


@pytest.mark.parametrize("path", RELAY_FILES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_relay_pass(path, request):
    settings, before, expected = read(path)
    if "error" in settings:
        with pytest.raises(Exception) as info:
            run_relay(path.parent.name, settings, parse_relay(before, settings))
        assert settings["error"] in str(info.value)
        return
    result = run_relay(path.parent.name, settings, parse_relay(before, settings))
    shown = re.sub(r" ?/\*.*?\*/", "", result.astext().split("\n", 1)[1].lstrip("\n"))
    again = relay.transform.InferType()(parse_relay(shown))
    tenon.ir.assert_structural_equal(again, result, map_free_vars=True)
    if request.config.getoption("--update-golden"):
        path.write_text(f"{before}# ---\n{shown}", encoding="utf-8")
    else:
        wanted = relay.transform.InferType()(parse_relay(expected))
        tenon.ir.assert_structural_equal(result, wanted, map_free_vars=True)


@pytest.mark.parametrize("dialect", ["tir", "relay"])
def test_every_pass_has_a_golden_file(dialect):
    files = FILES if dialect == "tir" else RELAY_FILES
    have = {path.parent.name for path in files}
    passes = {str(name) for name in _core.get_global_func("transform.ListPasses")()}
    tir_passes = {name.split(".", 1)[1] for name in passes if name.startswith("tir.")}
    relay_passes = {name for name in passes if "." not in name}
    assert not (tir_passes if dialect == "tir" else relay_passes) - have
