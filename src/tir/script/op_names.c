#include "tir/script/op_names.h"

#include <stdio.h>
#include <string.h>

#include "ir/expr.h"
#include "object/functions.h"

static const char *const dtype_first[] = {
    "reinterpret",
    "call_extern",
    "call_pure_extern",
    "call_llvm_intrin",
    "call_llvm_pure_intrin",
    "call_intrin",
    "large_uint_imm",
    "infinity",
    "type_annotation",
    "vectorlow",
    "vectorhigh",
    "vectorcombine",
    "mma_store",
    "mma_fill",
    "call_spirv_pure_glsl450",
    "ptx_mma",
    "ptx_mma_sp",
    "ptx_ldmatrix",
    "ptx_cp_async",
    "ptx_cp_async_bulk",
    "atomic_add",
    "get_active_lane_mask",
    "vectorpermute",
    "vectorshuffle",
};

static const struct {
  const char *op, *script;
} renamed[] = {
    {"tir.tvm_call_packed", "call_packed"},
    {"tir.tvm_call_cpacked", "call_cpacked"},
    {"tir.tvm_call_packed_lowered", "call_packed_lowered"},
    {"tir.tvm_call_cpacked_lowered", "call_cpacked_lowered"},
};

static const char *bare_name(const tn_Op *op) {
  const char *name = tn_cstr(op->name);
  return strncmp(name, "tir.", 4) == 0 ? name + 4 : name;
}

tir_dtype_place tir_op_dtype_place(const tn_Op *op) {
  const char *name = bare_name(op);
  if (strcmp(name, "tvm_struct_get") == 0) return TIR_DTYPE_LAST;
  for (size_t i = 0; i < sizeof dtype_first / sizeof *dtype_first; ++i) {
    if (strcmp(name, dtype_first[i]) == 0) return TIR_DTYPE_FIRST;
  }
  return TIR_DTYPE_NONE;
}

/* Types of results that do not follow from the first argument. */
static const struct {
  const char *name;
  enum { AS_I32, AS_U32, AS_HANDLE, AS_BOOL, AS_COUNT, AS_VOID, AS_SECOND } type;
} result_types[] = {
    {"call_packed", AS_I32},
    {"call_cpacked", AS_I32},
    {"call_packed_lowered", AS_I32},
    {"call_cpacked_lowered", AS_I32},
    {"tvm_call_trace_packed", AS_I32},
    {"tvm_call_trace_packed_lowered", AS_I32},
    {"tvm_stack_make_array", AS_HANDLE},
    {"tvm_stack_make_shape", AS_HANDLE},
    {"tvm_stack_alloca", AS_HANDLE},
    {"tvm_access_ptr", AS_HANDLE},
    {"address_of", AS_HANDLE},
    {"tvm_tuple", AS_HANDLE},
    {"lookup_param", AS_HANDLE},
    {"tvm_static_handle", AS_HANDLE},
    {"tvm_context_id", AS_HANDLE},
    {"TVMBackendAllocWorkspace", AS_HANDLE},
    {"nd_mem_alloc_with_scope", AS_HANDLE},
    {"handle_add_byte_offset", AS_HANDLE},
    {"tvm_load_matrix_sync", AS_HANDLE},
    {"tvm_mma_sync", AS_HANDLE},
    {"tvm_bmma_sync", AS_HANDLE},
    {"tvm_fill_fragment", AS_HANDLE},
    {"tvm_store_matrix_sync", AS_HANDLE},
    {"tvm_thread_allreduce", AS_HANDLE},
    {"isnan", AS_BOOL},
    {"isinf", AS_BOOL},
    {"isfinite", AS_BOOL},
    {"isnullptr", AS_BOOL},
    {"assume", AS_BOOL},
    {"clz", AS_COUNT},
    {"tvm_struct_set", AS_I32},
    {"tvm_storage_sync", AS_I32},
    {"tvm_throw_last_error", AS_I32},
    {"TVMBackendFreeWorkspace", AS_I32},
    {"tvm_check_return", AS_I32},
    {"undef", AS_I32},
    {"start_profile_intrinsic", AS_HANDLE},
    {"end_profile_intrinsic", AS_HANDLE},
    {"tvm_warp_activemask", AS_U32},
    {"if_then_else", AS_SECOND},
    {"tvm_warp_shuffle", AS_SECOND},
    {"tvm_warp_shuffle_up", AS_SECOND},
    {"tvm_warp_shuffle_down", AS_SECOND},
    {"vscale", AS_I32},
    {"prefetch", AS_VOID},
    {"ret", AS_I32},
    {"ptx_commit_group", AS_VOID},
    {"ptx_wait_group", AS_VOID},
    {"ptx_cp_async_barrier", AS_VOID},
    {"create_barriers", AS_VOID},
    {"ptx_init_barrier_thread_count", AS_VOID},
    {"ptx_arrive_barrier", AS_VOID},
    {"ptx_wait_barrier", AS_VOID},
    {"tvm_global_barrier_kinit", AS_I32},
    {"dma_wait", AS_I32},
    {"dma_start_group", AS_I32},
    {"dma_end_group", AS_I32},
    {"mem_copy", AS_I32},
};

tn_dtype tir_op_script_dtype(const char *name, const tn_any *args, int64_t n) {
  const tn_obj *first = n ? args[0].v.obj : NULL;
  int lanes = TN_IS(PrimExpr, first) ? ((const tn_expr *)first)->dtype.lanes : 1;
  for (int i = 0; i < TN_COUNT(result_types); ++i) {
    if (strcmp(result_types[i].name, name) != 0) continue;
    switch (result_types[i].type) {
    case AS_I32: return TN_I32;
    case AS_U32: return tn_dtype_of(kDLUInt, 32, 1);
    case AS_HANDLE: return TN_HANDLE;
    case AS_BOOL: return tn_dtype_of(kDLUInt, 1, lanes);
    case AS_COUNT: return tn_dtype_of(kDLInt, 32, lanes);
    case AS_VOID: return TN_VOID;
    case AS_SECOND: first = n > 1 ? args[1].v.obj : NULL; break;
    }
  }
  return TN_IS(PrimExpr, first) ? ((const tn_expr *)first)->dtype : TN_I32;
}

const char *tir_op_script_name(const tn_Op *op) {
  for (size_t i = 0; i < sizeof renamed / sizeof *renamed; ++i) {
    if (tn_str_eq(op->name, renamed[i].op)) return renamed[i].script;
  }
  return bare_name(op);
}

tn_Op *tir_op_by_script_name(const char *name) {
  char full[128];
  for (size_t i = 0; i < sizeof renamed / sizeof *renamed; ++i) {
    if (strcmp(name, renamed[i].script) == 0) return ir_op_find(renamed[i].op);
  }
  snprintf(full, sizeof full, "tir.%s", name);
  return ir_op_find(full);
}
