"""Texts, JSON, equality."""

from growth.common import (
    family,
    inputs,
    module,
)

# ---- texts ----


@family(500)
def relay_text(n):
    from tenon import relay

    (x,) = inputs(1)
    y = x
    for _ in range(n):
        y = relay.add(relay.tanh(y), y)
    mod = module([x], y)

    def run():
        import tenon

        return tenon.relay.fromtext(mod.astext(show_meta_data=True))

    return run


@family(500)
def json_text(n):
    from tenon import relay

    (x,) = inputs(1)
    y = x
    for _ in range(n):
        y = relay.add(relay.tanh(y), y)
    mod = module([x], y)

    def run():
        import tenon

        return tenon.ir.load_json(tenon.ir.save_json(mod))

    return run


@family(500)
def equality(n):
    import tenon
    from tenon import relay

    def one():
        (x,) = inputs(1)
        y = x
        for _ in range(n):
            y = relay.add(relay.tanh(y), y)
        return module([x], y)

    a, b = one(), one()
    return lambda: (tenon.ir.structural_equal(a, b), tenon.ir.structural_hash(a))
