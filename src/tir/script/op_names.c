#include "tir/script/op_names.h"

#include <stdio.h>
#include <string.h>

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
