"""What built models say about their kernels."""


def kernels_of(lib):
    """The tensor programs of the kernels by name."""
    infos = {str(name): info for name, info in lib.function_metadata.items()}
    return {
        name: next(iter(info.tir_primfuncs.values()))
        for name, info in infos.items()
        if name != "__tvm_main__"
    }
