"""Names in generated code."""

import pytest
import tenon
from tenon.relay.backend import name_transforms as names
from tenon.relay.backend.utils import mangle_module_name
from tenon.runtime.name_transforms import sanitize_name


def test_styles():
    assert names.to_c_function_style("TVM_some_name") == "TVMSomeName"
    assert names.to_c_function_style("TVMGen_a_main") == "TVMGenAMain"
    assert names.to_c_variable_style("TVM_Some_name") == "tvm_some_name"
    assert names.to_c_constant_style("TVM_Some_name") == "TVM_SOME_NAME"
    assert names.prefix_name(["a-b", "c"]) == "TVM_a_b_c" and names.prefix_name("x") == "TVM_x"
    assert names.prefix_generated_name(["model", "run"]) == "TVMGen_model_run"
    assert sanitize_name("a+b:0 ") == "a_b_0_"


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: names.to_c_function_style("other"), "Function not TVM prefixed: 'other'"),
        (lambda: names.to_c_variable_style("other"), "Variable not TVM prefixed"),
        (lambda: names.to_c_constant_style("other"), "Constant not TVM prefixed"),
        (lambda: names.to_c_function_style(""), "Function name is empty"),
        (lambda: names.prefix_name(""), "^Name is empty"),
        (lambda: names.prefix_name([]), "Name segments empty"),
        (lambda: names.prefix_generated_name(["a", ""]), "Name segment is empty"),
        (lambda: sanitize_name(""), "Name is empty"),
    ],
)
def test_mistakes(call, message):
    with pytest.raises(tenon.TVMError, match=message):
        call()


def test_names_of_models_that_c_cannot_have():
    assert mangle_module_name("m1") == "tvmgen_m1" and mangle_module_name(None) == "tvmgen"
    with pytest.raises(ValueError, match="the name of a model: expected letters of ASCII, got 'é'"):
        mangle_module_name("é")
