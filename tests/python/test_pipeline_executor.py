"""Models of stages that run at the same time."""

import threading

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.contrib import pipeline_executor, pipeline_executor_build
from tenon.target.codegen import llvm_version_major

pytestmark = pytest.mark.skipif(not llvm_version_major(allow_none=True), reason="without LLVM")


def var(name, shape=(3, 3)):
    return relay.var(name, shape=shape)


def number(value):
    return relay.const(np.full((1,), value, "float32"))


def modules():
    """x + 1, x - 2 | a + b * 2 | c * d: the first stage feeds both others."""
    x, a, b, c, d = (var(n) for n in "xabcd")
    first = relay.Function([x], relay.Tuple([x + number(1), x - number(2)]))
    second = relay.Function([a, b], a + b * number(2))
    third = relay.Function([c, d], c * d)
    return [tenon.IRModule.from_expr(f) for f in (first, second, third)]


def connected(mods):
    first, second, third = mods
    config = pipeline_executor_build.PipelineConfig()
    # named in another order than they run in
    for mod in (third, first, second):
        config[mod].target, config[mod].dev = "llvm", tenon.cpu(0)
    config["input"]["data"].connect(config[first]["input"]["x"])
    config["input"]["more"].connect(config[second]["input"]["b"])
    config[first]["output"][0].connect(config[second]["input"]["a"])
    config[first]["output"][1].connect(config[third]["input"]["d"])
    config[second]["output"][0].connect(config[third]["input"]["c"])
    config[third]["output"][0].connect(config["output"]["0"])
    return config


def expected(x, b):
    return (x + 1 + b * 2) * (x - 2)


def test_runs_follow_each_other(tmp_path):
    factory = pipeline_executor_build.build(connected(modules()))
    path = factory.export_library(str(tmp_path))
    for module in (
        pipeline_executor.PipelineModule(factory),
        pipeline_executor.PipelineModule.load_library(path),
    ):
        assert (module.num_inputs, module.num_outputs) == (2, 1)
        assert module.get_input_pipeline_map("more") == ["1", "b"]
        pairs = [np.random.rand(2, 3, 3).astype("float32") for _ in range(20)]
        for x, b in pairs:
            module.set_input("data", tenon.nd.array(x))
            module.set_input("more", b)
            module.run()
            np.testing.assert_array_equal(module.get_input("data").numpy(), x)
        assert module.num_executing_pipeline == 20
        for x, b in pairs:
            (out,) = module.get_output()
            np.testing.assert_allclose(out.numpy(), expected(x, b), rtol=1e-5)
        assert module.get_output(synchronize=False) == []
        with pytest.raises(RuntimeError, match="no run is under way"):
            module.get_output()


def test_stages_work_at_the_same_time():
    """Each of two stages waits for the other's run before its own: one after the other they would
    never end."""
    meet = threading.Barrier(2, timeout=20)

    class Model:
        def __init__(self, stage):
            self.stage, self.runs = stage, 0

        def set_input(self, name, value):
            self.value = value

        def run(self):
            self.runs += 1
            if self.runs + self.stage > 1:  # the second run of the first, the first of the second
                meet.wait()

        def get_output(self, index):
            return self.value

    factory = pipeline_executor_build.build(two_stages())
    module = pipeline_executor.PipelineModule(factory)
    for i, worker in enumerate(module._workers):
        worker.executor = Model(i)
    for _ in range(3):
        module.set_input("data", np.ones((3, 3), "float32"))
        module.run()
    for _ in range(2):
        assert module.get_output()[0].shape == (3, 3)


def two_stages():
    x, y = var("x"), var("y")
    mods = [tenon.IRModule.from_expr(relay.Function([v], relay.exp(v))) for v in (x, y)]
    config = pipeline_executor_build.PipelineConfig()
    for mod in mods:
        config[mod].target = "llvm"
        config[mod].cpu_affinity = "0"
    config["input"]["data"].connect(config[mods[0]]["input"]["x"])
    config[mods[0]]["output"][0].connect(config[mods[1]]["input"]["y"])
    config[mods[1]]["output"][0].connect(config["output"][0])
    return config


def test_parameters_of_a_stage():
    x = var("x")
    weight = tenon.nd.array(np.full((3, 3), 5, "float32"))
    mod = tenon.IRModule.from_expr(relay.Function([x, w := var("w")], x + w))
    config = pipeline_executor_build.PipelineConfig()
    config[mod].target, config[mod].params = "llvm", {"w": weight}
    config["param_group"]["group"].connect(config[mod]["param"])
    config["input"]["x"].connect(config[mod]["input"]["x"])
    config[mod]["output"][0].connect(config["output"][0])
    with tenon.transform.PassContext(opt_level=1):
        module = pipeline_executor.PipelineModule(pipeline_executor_build.build(config))
    (name,) = module._workers[0].stage["lib"].get_params()
    module.set_input("x", np.zeros((3, 3), "float32"))
    module.run()
    assert module.get_output()[0].numpy().max() == 5
    assert module.get_params_group_pipeline_map("group") == 0
    module.set_params("group", {name: tenon.nd.array(np.full((3, 3), 7, "float32"))})
    module.run()
    assert module.get_output()[0].numpy().max() == 7
    with pytest.raises(RuntimeError, match="no parameters are given"):
        module.set_params("group", None)
    with pytest.raises(RuntimeError, match="no group of parameters 'other'"):
        module.set_params("other", {name: weight})


def test_the_configuration_as_data():
    mods = modules()
    config = connected(mods)
    table = config.get_config()
    assert [mods.index(m) for m in table["module_connection"]] == [0, 1, 2]
    assert table["module_connection"][mods[0]]["pipeline"] == {
        "mod_idx": 0,
        "cpu_affinity": "",
        "output": [
            {"output_idx": 0, "dependencies": [{"mod_idx": 1, "input_name": "a"}]},
            {"output_idx": 1, "dependencies": [{"mod_idx": 2, "input_name": "d"}]},
        ],
    }
    assert table["input_connection"][1] == {
        "global_interface_name": "more",
        "mod_idx": 1,
        "module_interface_name": "b",
    }
    text = str(config)
    assert "Inputs\n  |data: mod0:x\n  |more: mod1:b" in text
    assert "output\n  |output(0) : mod2.output(0)" in text
    assert "  |mod0.output(0)-> mod1.a" in text


def test_ends_that_do_not_go_together():
    first, second, third = modules()
    config = pipeline_executor_build.PipelineConfig()
    wide = tenon.IRModule.from_expr(relay.Function([v := var("v", (4, 4))], v))
    out, into = config[first]["output"][0], config[second]["input"]["a"]
    cases = [
        (lambda: config[first]["output"][9], "has 2 outputs, no 9"),
        (lambda: config[first]["input"]["y"], "has no input 'y'"),
        (lambda: config[first]["weights"], "has input, output and param"),
        (lambda: config["weights"], "a pipeline has input, output"),
        (lambda: out.connect(config[first]["input"]["x"]), "belong to one stage"),
        (lambda: into.connect(config[third]["input"]["c"]), "gives nothing to"),
        (lambda: out.connect(config["input"]["x"]), "gives nothing to"),
        (lambda: config["output"]["0"].connect(out), "gives nothing to"),
        (lambda: config["input"]["x"].connect(out), "gives nothing to"),
        (lambda: out.connect(config[wide]["input"]["v"]), "types are"),
    ]
    for call, message in cases:
        with pytest.raises(RuntimeError, match=message):
            call()
    out.connect(into)
    with pytest.raises(RuntimeError, match="would wait for each other"):
        config[second]["output"][0].connect(config[first]["input"]["x"])
    with pytest.raises(RuntimeError, match="connected to it already"):
        config[first]["output"][1].connect(into)
    alone = pipeline_executor_build.PipelineConfig()
    alone[third].target = "llvm"
    with pytest.raises(RuntimeError, match="the pipeline has no output"):
        pipeline_executor_build.build(alone)


def test_an_error_of_a_stage_reaches_the_caller():
    module = pipeline_executor.PipelineModule(pipeline_executor_build.build(two_stages()))
    with pytest.raises(RuntimeError, match="no value"):
        module.run()
    module.set_input("data", np.ones((5,), "float32"))
    module.run()
    with pytest.raises(Exception, match="shape"):
        module.get_output()
    module.set_input("data", np.zeros((3, 3), "float32"))
    module.run()
    np.testing.assert_allclose(module.get_output()[0].numpy(), np.e * np.ones((3, 3)), rtol=1e-6)
