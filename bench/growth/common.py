"""What families of programs are made with (see ../compile_growth.py)."""

TARGET = "llvm"
FAMILIES = {}


def family(size, small=2):
    """Registers a function of n that makes a program and gives what is timed. `size` is the n."""

    def add(fn):
        FAMILIES[fn.__name__] = (fn, size, small)
        return fn

    return add


# ---- what is timed ----


def graph(mod, params=None):
    from tenon import relay

    return lambda: relay.build(mod, TARGET, params=params)


def vm(mod, params=None):
    from tenon import relay

    return lambda: relay.vm.compile(mod, TARGET, params=params)


def onnx_vm(model):
    def run():
        from tenon import relay

        mod, params = relay.frontend.from_onnx(model, freeze_params=True)
        return relay.vm.compile(mod, TARGET, params=params)

    return run


def onnx_graph(model):
    def run():
        from tenon import relay

        mod, params = relay.frontend.from_onnx(model, freeze_params=True)
        return relay.build(mod, TARGET, params=params)

    return run


def module(params, body):
    import tenon
    from tenon import relay

    return tenon.IRModule.from_expr(relay.Function(list(params), body))


def inputs(n, shape=(8,), dtype="float32"):
    from tenon import relay

    return [relay.var(f"x{i}", shape=shape, dtype=dtype) for i in range(n)]


def open_extent(rank=1):
    from tenon import relay

    return (relay.Any(),) * rank


def onnx_model(nodes, ins, outs, inits=(), opset=17):
    """ins, outs: name -> (type, shape)."""
    from onnx import TensorProto, helper, numpy_helper

    def value(name, of):
        return helper.make_tensor_value_info(name, getattr(TensorProto, of[0]), of[1])

    weights = [numpy_helper.from_array(a, name) for name, a in dict(inits).items()]
    g = helper.make_graph(
        nodes, "g", [value(*i) for i in ins.items()], [value(*o) for o in outs.items()], weights
    )
    return helper.make_model(g, opset_imports=[helper.make_opsetid("", opset)])
