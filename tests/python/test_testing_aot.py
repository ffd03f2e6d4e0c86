"""tenon.testing.aot: models as C, compiled and run here."""

import pathlib
import shutil

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.micro.testing.aot_test_utils import (
    AOT_CORSTONE300_RUNNER,
    AOT_DEFAULT_RUNNER,
    parametrize_aot_options,
)
from tenon.micro.testing.utils import get_conv2d_relay_module
from tenon.target.codegen import llvm_version_major
from tenon.testing import aot

pytestmark = pytest.mark.skipif(
    not shutil.which("cc") or llvm_version_major(allow_none=True) is None,
    reason="no C compiler, or no LLVM to compare with",
)


def model(name="default"):
    program = get_conv2d_relay_module()
    rng = np.random.default_rng(0)
    low, high = aot.get_dtype_range("int8")
    shapes = {"data": (1, 3, 64, 64), "weight": (8, 3, 5, 5)}
    inputs = {n: rng.integers(low, high, s, "int8") for n, s in shapes.items()}
    return aot.AOTTestModel(program, inputs, aot.generate_ref_data(program, inputs), name=name)


@parametrize_aot_options
def test_a_convolution(interface_api, use_unpacked_api, test_runner):
    assert aot.compile_and_run(model(), test_runner, interface_api, use_unpacked_api)


def test_two_models_planned_as_a_whole(tmp_path):
    config = {"tir.usmp.enable": True}
    models = [model("one"), model("two")]
    built = aot.compile_models(models, "c", True, pass_config=config, enable_op_fusion=False)
    assert aot.run_and_check(built, AOT_DEFAULT_RUNNER, "c", test_dir=str(tmp_path))
    assert (tmp_path / "models.tar").exists()


def test_the_code_is_checked():
    """What a checker says of the archive's files counts; inputs and outputs may lie in pools."""
    config = {"tir.usmp.enable": True, "tir.usmp.use_workspace_io": True}
    built = aot.compile_models(model(), "c", True, pass_config=config)
    seen = []

    def checker(folder):
        seen.append((pathlib.Path(folder) / "codegen/host/include/tvmgen_default.h").read_text())
        return len(seen) == 1

    linkage = aot.AOTDataLinkage(section="ethosu_scratch", alignment=16)
    options = {"use_workspace_io": True, "data_linkage": linkage, "checker": checker}
    assert aot.run_and_check(built, AOT_DEFAULT_RUNNER, "c", **options)
    assert "tvmgen_default_map_inputs(void)" in seen[0]
    assert not aot.run_and_check(built, AOT_DEFAULT_RUNNER, "c", **options)


def test_options_of_both_steps():
    runtime = relay.backend.Runtime("crt")
    options = {"runtime": runtime, "print_output_on_mismatch": True}
    assert aot.compile_and_run(model(), AOT_DEFAULT_RUNNER, "c", True, **options)
    program = get_conv2d_relay_module()
    assert program["main"].params[0].checked_type.concrete_shape == (1, 3, 64, 64)


def test_wrong_results_are_told():
    right = model()
    wrong = right._replace(outputs={"output": right.outputs["output"] + 1})
    with pytest.raises(AssertionError, match="default: output"):
        aot.compile_and_run(wrong, AOT_DEFAULT_RUNNER, "c", True)
    assert aot.compile_and_run(
        wrong._replace(output_tolerance=1), AOT_DEFAULT_RUNNER, "c", use_unpacked_api=True
    )


def test_names_of_results():
    x = relay.var("x", shape=(2,))
    func = relay.Function([x], relay.Tuple([relay.exp(x), relay.negative(x)]))
    data = {"x": np.array([0, 1], "float32")}
    assert list(aot.generate_ref_data(func, data)) == ["output0", "output1"]
    named = tenon.IRModule.from_expr(func.with_attr("output_tensor_names", ["e", "n"]))
    assert list(aot.generate_ref_data(named, data)) == ["e", "n"]


def test_what_is_not_there():
    with pytest.raises(NotImplementedError, match="runner corstone300"):
        aot.run_and_check([], AOT_CORSTONE300_RUNNER, "c")
    with pytest.raises(NotImplementedError, match="schedules by name"):
        aot.compile_models(model(), "c", True, schedule_name="fast")
    with pytest.raises(ValueError, match="expected the runtime crt, got cpp"):
        aot.compile_models(model(), "c", True, runtime=relay.backend.Runtime("cpp"))
    with pytest.raises(NotImplementedError, match="read it by relay.frontend.from_onnx"):
        aot.create_relay_module_and_inputs_from_tflite_file("model.tflite")
