"""Intrinsics of fixed parameters, one row each: a function of the same name calls ``tir.NAME``.

A parameter called ``dtype`` is the type of the result, not an argument; the other rows name the
type, or the parameter whose type it is. A parameter with a number after ``=`` has it as default.
"""

import inspect

from .expr import Call, convert

_ROWS = (
    # name, type of the result, parameters, what it does
    ("tvm_access_ptr", "handle", "ptype data offset extent rw_mask", "Pointer into a buffer."),
    ("tvm_tuple", "handle", "*value", "Several values."),
    ("tvm_struct_get", "dtype", "arr index field dtype", "Field of a structure of the run time."),
    ("tvm_struct_set", "int32", "arr index field value", "Sets a field of such a structure."),
    ("tvm_throw_last_error", "handle", "", "Passes the pending error on."),
    ("tvm_stack_alloca", "handle", "dtype_str num", "Structures on the stack."),
    ("tvm_stack_make_shape", "handle", "*args", "Shape on the stack."),
    (
        "tvm_stack_make_array",
        "handle",
        "data shape strides ndim arr_dtype elem_offset",
        "Tensor on the stack.",
    ),
    ("tvm_check_return", "int32", "expected return_unexpected nested_call", "Checks a result."),
    ("tvm_thread_allreduce", "handle", "*freduce_args", "Reduction over threads."),
    ("tvm_thread_invariant", "dtype", "cond", "Marks what is the same in all threads."),
    ("tvm_storage_sync", "int32", "storage_scope", "Barrier for a memory."),
    ("tvm_warp_shuffle", "value", "mask value warp_id width warp_size", "Value of another lane."),
    (
        "tvm_warp_shuffle_up",
        "value",
        "mask value offset width warp_size",
        "Value of a lower lane.",
    ),
    (
        "tvm_warp_shuffle_down",
        "value",
        "mask value offset width warp_size",
        "Value of a higher lane.",
    ),
    ("tvm_warp_activemask", "uint32", "", "Active lanes."),
    ("address_of", "handle", "buffer_load span=", "Pointer to the element of a BufferLoad."),
    ("lookup_param", "handle", "param_name span=", "Parameter of the model by name."),
    ("isnullptr", "bool", "x span=", "Is the pointer null?"),
    ("assume", "bool", "cond", "Lets the compiler take a condition for true here."),
    ("undef", "int32", "", "Any value."),
    ("type_annotation", "dtype", "dtype", "Carries a type."),
    ("vscale", "int32", "", "Multiple of scalable vectors."),
    ("clz", "int32", "x", "Number of leading zero bits."),
    (
        "q_multiply_shift",
        "int32",
        "x y q s",
        "``round(x * y * 2 ** -s)`` in fixed point of q bits.",
    ),
    (
        "q_multiply_shift_per_axis",
        "int32",
        "x y ls rs q is_lshift_required is_rshift_required",
        "The same with shifts by channel.",
    ),
    ("fma", "dtype", "x y z", "``x * y + z`` rounded once."),
    ("prefetch", "handle", "address rw locality cache_type", "Brings memory closer."),
    ("atomic_add", "dtype", "ptr value", "Adds in one step; the old value."),
    ("start_profile_intrinsic", "handle", "id", "Begins a measured part."),
    ("end_profile_intrinsic", "handle", "id", "Ends it."),
    ("ignore_loop_partition", "dtype", "predicate", "Leaves a condition out of loop partitioning."),
    (
        "TVMBackendAllocWorkspace",
        "handle",
        "device_type device_id nbytes dtype_code_hint dtype_bits_hint",
        "Temporary memory.",
    ),
    ("TVMBackendFreeWorkspace", "int32", "device_type device_id ptr", "Gives it back."),
    ("vectorlow", "dtype", "dtype vec", "Lower half of a vector."),
    ("vectorhigh", "dtype", "dtype vec", "Upper half of a vector."),
    ("vectorcombine", "dtype", "dtype vec1 vec2", "Two halves as one vector."),
    ("dp4a", "int32", "vec1 vec2 acc=0", "Dot product of four bytes, accumulated."),
    (
        "tvm_load_matrix_sync",
        "handle",
        "fragment m n k index buffer_ptr stride layout",
        "Loads a fragment.",
    ),
    (
        "tvm_store_matrix_sync",
        "handle",
        "fragment m n k index buffer_ptr stride layout",
        "Stores a fragment.",
    ),
    ("tvm_fill_fragment", "handle", "fragment m n k index value", "Fills a fragment."),
    (
        "tvm_mma_sync",
        "handle",
        "fragment_d index_d fragment_a index_a fragment_b index_b fragment_c index_c",
        "Multiplies fragments.",
    ),
    (
        "tvm_bmma_sync",
        "handle",
        "fragment_d index_d fragment_a index_a fragment_b index_b fragment_c index_c",
        "Multiplies fragments of bits.",
    ),
    (
        "ptx_mma",
        "dtype",
        "dtype shape A_layout B_layout A_dtype B_dtype C_dtype multiplicand_a a_index "
        "multiplicand_b b_index accumulator c_index saturate operator=",
        "PTX ``mma``.",
    ),
    (
        "ptx_mma_sp",
        "dtype",
        "dtype shape A_layout B_layout A_dtype B_dtype C_dtype multiplicand_a a_index "
        "multiplicand_b b_index accumulator c_index metadata meta_index sparse_selector saturate",
        "PTX ``mma.sp``.",
    ),
    (
        "ptx_ldmatrix",
        "dtype",
        "dtype trans num type local_ptr local_offset smem_ptr smem_offset",
        "PTX ``ldmatrix``.",
    ),
    (
        "ptx_cp_async",
        "dtype",
        "dtype shared_ptr shared_offset global_ptr global_offset bytes",
        "PTX ``cp.async``.",
    ),
    (
        "ptx_cp_async_bulk",
        "dtype",
        "dtype shared_ptr shared_offset global_ptr global_offset bytes barrier_id",
        "PTX ``cp.async.bulk``.",
    ),
    ("ptx_cp_async_barrier", "void", "barrier_id", "PTX ``cp.async.mbarrier.arrive``."),
    ("ptx_commit_group", "void", "", "PTX ``cp.async.commit_group``."),
    ("ptx_wait_group", "void", "num", "PTX ``cp.async.wait_group``."),
    ("ptx_init_barrier_thread_count", "void", "barrier_id thread_count", "PTX ``mbarrier.init``."),
    ("ptx_arrive_barrier", "void", "barrier_id", "PTX ``mbarrier.arrive``."),
    (
        "ptx_arrive_barrier_expect_tx",
        "void",
        "barrier_id byte_count",
        "PTX ``mbarrier.arrive.expect_tx``.",
    ),
    ("ptx_wait_barrier", "void", "barrier_id", "PTX ``mbarrier.try_wait``."),
    ("create_barriers", "void", "barrier_count", "Barriers in shared memory."),
    (
        "mma_store",
        "dtype",
        "dtype m n dst_ptr src_ptr src_offset dst_stride",
        "Stores an mma result.",
    ),
    ("mma_fill", "dtype", "dtype local_size local_ptr offset", "Fills an mma accumulator."),
)


def _parameter(text):
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    if text.startswith("*"):
        return inspect.Parameter(text[1:], inspect.Parameter.VAR_POSITIONAL)
    name, has_default, default = text.partition("=")
    if not has_default:
        return inspect.Parameter(name, kind)
    return inspect.Parameter(name, kind, default=int(default) if default else None)


def _function(name, dtype, params, doc):
    signature = inspect.Signature([_parameter(p) for p in params.split()])

    def intrinsic(*args, **kwargs):
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as err:
            raise TypeError(f"{name}: {err}") from None
        bound.apply_defaults()
        values, result, span = [], dtype, bound.arguments.pop("span", None)
        for key, value in bound.arguments.items():
            if key == "dtype":
                result = value
            elif isinstance(value, tuple):
                values += value
            elif value is not None:
                values.append(convert(value))
        if result in bound.arguments:
            result = convert(bound.arguments[result]).dtype
        if result == "dtype":  # no such parameter: the type of the last operand
            result = values[-1].dtype
        return Call(result, f"tir.{name}", values, span)

    intrinsic.__name__ = intrinsic.__qualname__ = name
    intrinsic.__signature__ = signature
    intrinsic.__doc__ = doc
    return intrinsic


globals().update({row[0]: _function(*row) for row in _ROWS})


def ret(val):
    """Returns a value from the function."""
    val = convert(val)
    return Call(val.dtype, "tir.ret", [val])


def fmod(x, y):
    """Remainder of floats, with the sign of `x`."""
    from . import _ffi_api

    return _ffi_api._OpFMod(x, y, None)


__all__ = [*(row[0] for row in _ROWS), "fmod", "ret"]
