"""Targets: text, dictionaries, options, scopes, errors."""

import pathlib
import re

import pytest
import tenon
from tenon.target import Target


def test_text_is_canonical():
    assert str(Target("llvm")) == "llvm -keys=cpu"
    t = Target("llvm -mtriple=aarch64-linux-gnu -mattr=+b,+a --mcpu cortex-a72")
    assert str(t) == (
        "llvm -keys=arm_cpu,cpu -mattr=+b,+a -mcpu=cortex-a72 -mtriple=aarch64-linux-gnu"
    )
    assert str(Target(str(t))) == str(t)
    assert t.mcpu == "cortex-a72" and t.mattr == ["+b", "+a"]
    assert t.kind.name == "llvm" and list(t.keys) == ["arm_cpu", "cpu"]
    assert repr(t) == str(t)


def test_quoted_values():
    t = Target("llvm -model='a model' -keys=x,y")
    assert t.model == "a model" and list(t.keys) == ["x", "y"]
    assert str(t) == 'llvm -keys=x,y -model="a model"'
    assert Target(str(t)).model == "a model"


def test_dictionary():
    t = Target({"kind": "llvm", "mcpu": "znver4", "mattr": ["+fma"], "opt-level": 2})
    assert str(t) == "llvm -keys=cpu -mattr=+fma -mcpu=znver4 -opt-level=2"
    assert t.attrs["opt-level"] == 2
    exported = t.export()
    assert exported["kind"] == "llvm" and str(Target(dict(exported))) == str(t)
    assert str(Target('{"kind": "c", "march": "armv7e-m"}')) == "c -keys=cpu -march=armv7e-m"


def test_host():
    t = Target("cuda -arch=sm_80", host="llvm")
    assert t.host.kind.name == "llvm" and t.arch == "sm_80"
    assert t.with_host().host is None
    assert Target({"kind": "cuda", "host": {"kind": "llvm"}}).host.kind.name == "llvm"
    target, host = Target.canon_target_and_host("cuda", "llvm -mcpu=core2")
    assert host.mcpu == "core2" and target.host.same_as(host)


def test_device_and_tags():
    assert list(Target("llvm -device=arm_cpu").keys) == ["arm_cpu", "cpu"]
    assert list(Target("opencl -device=mali").keys) == ["mali", "opencl", "gpu"]
    t = Target("nvidia/geforce-rtx-3090")
    assert t.kind.name == "cuda" and t.arch == "sm_86" and t.tag == "nvidia/geforce-rtx-3090"
    assert "nvidia/jetson-nano" in tenon.target.list_tags()
    assert Target("cuda").get_target_device_type() == 2
    assert tenon.target.arm_cpu("rasp4b64").mcpu == "cortex-a72"


def test_scopes_nest():
    assert Target.current() is None
    with pytest.raises(ValueError, match="Target context required"):
        Target.current(allow_none=False)
    with Target("llvm") as outer:
        with Target("c"):
            assert Target.current().kind.name == "c"
        assert Target.current().same_as(outer)
    assert Target.current() is None


def test_kinds():
    assert {"llvm", "c", "cuda", "opencl", "stackvm", "ext_dev"} <= set(Target.list_kinds())
    options = tenon.target.TargetKind.options_from_name("llvm")
    assert options["mattr"] == "Array<runtime.String>" and "mcpu" in options
    assert Target("llvm").kind.options == options


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("llvmm", 'Target kind "llvmm" is not defined; did you mean llvm'),
        ("llvm -mcpuu=x", "target llvm: unknown option 'mcpuu'; did you mean mcpu"),
        ("llvm -opt-level=high", "option 'opt-level': expected an integer, got \"high\""),
        ("llvm -mcpu", "target llvm: option 'mcpu' needs a value"),
        ("llvm mcpu=x", 'expected an option such as -mcpu=NAME, got "mcpu=x"'),
        ("", "target: the text is empty"),
    ],
)
def test_errors(text, message):
    with pytest.raises(ValueError, match=message.replace("[", r"\[")):
        Target(text)


def test_wrong_types():
    with pytest.raises(ValueError, match="target has to be a string or dictionary"):
        Target(3)
    with pytest.raises(ValueError, match="target host has to be a string or dictionary"):
        Target("llvm", host=3)
    with pytest.raises(ValueError, match="neither"):
        Target({"mcpu": "x"})


def test_json():
    t = Target("llvm -mcpu=x -mattr=+y", host="c")
    loaded = tenon.ir.load_json(tenon.ir.save_json(t))
    assert str(loaded) == str(t) and loaded.kind.same_as(t.kind)
    assert str(loaded.host) == "c -keys=cpu"


def test_defaults_of_devices():
    assert str(Target("cuda -arch=sm_80")) == (
        "cuda -keys=cuda,gpu -arch=sm_80 -max_num_threads=1024 -thread_warp_size=32"
    )
    assert Target("cuda").arch.startswith("sm_")
    opencl = Target("opencl -max_num_threads=64")
    assert opencl.max_num_threads == 64 and opencl.thread_warp_size == 1
    assert opencl.max_shared_memory_per_block == 16384
    assert str(Target(str(opencl))) == str(opencl)


def test_target_or_current():
    assert tenon.target.Target.target_or_current("c").kind.name == "c"
    with tenon.target.Target("llvm") as current:
        assert tenon.target.Target.target_or_current(None).same_as(current)
    with pytest.raises(ValueError, match="not set in env or passed"):
        tenon.target.Target.target_or_current(None)


def test_facts_about_devices():
    gpu = tenon.target.Target("cuda -l2_cache_size_bytes=1024")
    assert gpu.l2_cache_size_bytes == 1024 and gpu.vtcm_capacity == 0
    assert not gpu.supports_integer_dot_product and not gpu.supports_cooperative_matrix
    assert tenon.target.Target({"kind": "hexagon", "vtcm-capacity": 7}).vtcm_capacity == 7


def test_processors_by_arm():
    target = Target("llvm -mtriple=aarch64-linux-gnu -mattr=+v8.4a,+sve")
    assert list(target.keys) == ["arm_cpu", "cpu"] and target.features.is_aarch64
    assert target.features.has_dotprod and target.features.has_sve
    assert not target.features.has_matmul_i8 and target.features.has_nothing is None
    assert not Target("llvm -mtriple=armv7l-linux-gnueabihf").features.has_asimd
    assert Target("llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1").features.has_dotprod
    assert not Target("llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72").features.has_dotprod
    assert not Target(
        "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1 -mattr=-dotprod"
    ).features.has_dotprod


@pytest.mark.parametrize(
    "options, dsp, mve",
    [
        ("-mcpu=cortex-m0", False, False),
        ("-mcpu=cortex-m4", True, False),
        ("-mcpu=cortex-m55", True, True),
        ("-mcpu=cortex-m55+nomve", True, False),
        ("-mcpu=cortex-m55+nomve.fp", True, False),
        ("-mcpu=cortex-m55 -mattr=+nodsp", False, True),
    ],
)
def test_processors_for_microcontrollers(options, dsp, mve):
    target = Target("c " + options)
    assert list(target.keys) == ["arm_cpu", "cpu"]
    assert (target.features.has_dsp, target.features.has_mve) == (dsp, mve)


def test_tags_of_programs():
    tag = tenon.target.tag
    made = tag.register_tag("tests/board", {"kind": "cuda", "arch": "sm_61", "host": "llvm"})
    again = Target("tests/board")
    assert again.arch == "sm_61" and again.host.kind.name == "llvm" and again.tag == "tests/board"
    assert Target({"tag": "tests/board"}).tag == "tests/board"
    tenon.ir.assert_structural_equal(made, again)
    assert "tests/board" in tag.list_tags()
    with pytest.raises(ValueError, match="already been registered"):
        tag.register_tag("tests/board", "llvm")
    assert tag.register_tag("tests/board", "llvm", override=True).kind.name == "llvm"
    with pytest.raises(ValueError, match="already been registered"):
        tag.register_tag("nvidia/jetson-nano", "llvm", override=True)


@pytest.mark.parametrize("text", ["c -keys=", "llvm -keys=,", "cuda -keys="])
def test_no_keys_stay_none_in_the_text(text):
    target = Target(text)
    again = Target(str(target))
    assert list(target.keys) == [] and list(again.keys) == []
    assert str(again) == str(target)


def test_white_space_of_a_value_is_quoted():
    target = Target({"kind": "llvm", "model": "a\nb \\ c\t'd\""})
    assert Target(str(target)).attrs["model"] == target.attrs["model"] == "a\nb \\ c\t'd\""


def test_hosts_and_devices_in_text():
    target = Target("cuda --host 'llvm -mcpu=haswell'")
    assert target.host.kind.name == "llvm" and target.host.mcpu == "haswell"
    assert "host" not in target.attrs
    tagged = Target("cuda --host nvidia/jetson-nano").host
    assert tagged.kind.name == "cuda" and tagged.arch == "sm_53"
    both = Target("composite --host=llvm --devices=cuda,opencl")
    assert [device.kind.name for device in both.attrs["devices"]] == ["cuda", "opencl"]
    with pytest.raises(ValueError, match="nothing"):
        Target("cuda --host nothing")
    with pytest.raises(ValueError, match="nothing"):
        Target("composite --devices=cuda,nothing")


@pytest.mark.parametrize("word, value", [("True", 1), ("true", 1), ("False", 0), ("0", 0)])
def test_truth_in_text(word, value):
    assert Target(f"vulkan -supports_float16={word}").attrs["supports_float16"] == value


def test_names_of_devices():
    target = Target("vulkan -device_name='a name with spaces' -device_type=discrete")
    assert Target(str(target)).attrs["device_name"] == "a name with spaces"


def test_device_types_are_those_of_devices():
    for kind in ("aocl", "hexagon", "webgpu", "opencl", "ext_dev"):
        assert Target(kind).get_target_device_type() == tenon.runtime.Device.STR2MASK[kind]
    assert Target("test").features.is_test and not Target("test").features.other


def test_a_host_needs_a_target():
    with pytest.raises(AssertionError, match="Target host is not empty when target is empty"):
        Target.canon_target_and_host(None, "llvm")
    with pytest.raises(AssertionError, match="a host needs a target"):
        Target.canon_multi_target_and_host(None)


def test_nothing_asks_for_kinds_by_name():
    """What other code wants to know of a kind is a column of its row (target_makes)."""
    asks = re.compile(r"(strcmp|tn_str_eq|strncmp)\([^;]*kind->name[^;]*\"")
    src = pathlib.Path(__file__).resolve().parents[2] / "src"
    files = [f for f in src.rglob("*.[ch]") if "->name" in f.read_text()]
    found = [str(f.relative_to(src)) for f in files if asks.search(f.read_text())]
    assert not found, f"{found}: ask target_makes(target, ...)"
