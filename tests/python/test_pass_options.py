"""Options of a PassContext: each has an effect, or a warning says that it has none."""

import json
import pathlib

import numpy as np
import pytest
import tenon
from tenon import relay

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPTIONS = {str(k): v for k, v in tenon.transform.PassContext.list_configs().items()}
WITHOUT = sorted(k for k, v in OPTIONS.items() if "no_effect" in v)


def network():
    x = relay.var("x", shape=(1, 8))
    y = x
    for _ in range(4):
        y = relay.nn.softmax(relay.nn.dense(y, relay.const(np.eye(8, dtype="float32"))))
    return tenon.IRModule.from_expr(relay.Function([x], y))


def test_each_other_option_is_read():
    text = "".join(
        p.read_text()
        for p in (ROOT / "src").rglob("*.[ch]")
        if p.name not in ("pass_config.c", "config.def")
    )
    unread = [k for k in OPTIONS if k not in WITHOUT and f'"{k}"' not in text]
    assert not unread


@pytest.mark.parametrize("option", WITHOUT)
def test_an_option_without_effect_says_so(option, caplog):
    kind = str(OPTIONS[option]["type"])
    value = {"IntImm": 1, "runtime.String": "x", "Map": {}, "Array": ["x"]}[kind]
    with tenon.transform.PassContext(config={option: value}):
        pass
    assert f"option {option} has no effect: " in caplog.text


def test_an_option_at_zero_says_nothing(caplog):
    with tenon.transform.PassContext(config={"relay.backend.use_auto_scheduler": False}):
        pass
    assert caplog.text == ""


def storages(mod, **config):
    with tenon.transform.PassContext(opt_level=3, config=config):
        built = relay.build(mod, "llvm")
    graph = json.loads(built.get_graph_json())
    x = np.random.default_rng(0).random((1, 8), "float32")
    run = tenon.contrib.graph_executor.GraphModule(built["default"](tenon.cpu()))
    run.run(x=x)
    return graph["attrs"]["storage_id"][1], run.get_output(0).numpy()


def test_without_a_memory_plan_each_tensor_has_a_storage():
    planned, a = storages(network())
    apart, b = storages(network(), **{"relay.backend.disable_memory_plan": True})
    assert len(set(apart)) == len(apart) > len(set(planned))
    np.testing.assert_array_equal(a, b)


def test_without_the_cache_kernels_are_compiled_again():
    info = tenon.get_global_func("driver.kernel_cache_info")
    config = {"relay.backend.disable_compile_engine_cache": True}
    storages(network())
    before = info()
    storages(network(), **config)
    after = info()
    assert [before[k] for k in ("hits", "misses", "stored")] == [
        after[k] for k in ("hits", "misses", "stored")
    ]
