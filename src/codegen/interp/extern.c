/* Calls of C functions by name. There is no way to call just any function, so a name means one of
   <math.h>, or a function that is registered under it. */
#include <string.h>

#include "base/alloc.h"
#include "codegen/interp/interp.h"

/* expf, exp: the intrinsic of that name, or TIR_OP_END. */
static tir_op_id math_by_name(const char *name) {
  size_t n = strlen(name);
  for (int i = 0; i < TIR_OP_END; ++i) {
    const char *own = tn_cstr(tir_op((tir_op_id)i)->name);
    if (strncmp(own, "tir.", 4) != 0) continue;
    size_t len = strlen(own += 4);
    bool same = strncmp(own, name, len) == 0 && (n == len || (n == len + 1 && name[len] == 'f'));
    if (same && in_is_math((tir_op_id)i)) return (tir_op_id)i;
  }
  return TIR_OP_END;
}

static int as_argument(in_frame *f, const tn_expr *e, int lane, tn_any *out) {
  in_value v;
  const tn_StringImm *text = TN_AS(StringImm, e);
  if (text) {
    *out = tn_any_cstr(tn_cstr(text->value));
    return 0;
  }
  TN_TRY(in_eval(f, e, lane, &v));
  if (e->dtype.code == kDLFloat || e->dtype.code == kDLBfloat) {
    *out = tn_any_float(v.f);
  } else {
    *out = e->dtype.code == kDLOpaqueHandle ? tn_any_ptr(v.p) : tn_any_int(v.i);
  }
  return 0;
}

static int as_result(tn_dtype t, const tn_any *r, in_value *out) {
  bool has_bits = t.code != kDLOpaqueHandle || t.bits != 0;
  if (!has_bits) return 0;
  if (t.code == kDLFloat || t.code == kDLBfloat) {
    TN_TRY(tn_any_to_float(r, &out->f));
    out->f = in_round(t, out->f);
  } else if (t.code == kDLOpaqueHandle) {
    return tn_any_to_ptr(r, &out->p);
  } else {
    TN_TRY(tn_any_to_int(r, &out->i));
    out->i = in_wrap(t, (uint64_t)out->i);
  }
  return 0;
}

static int call_registered(in_frame *f, const tn_Call *call, tn_func *func, int lane,
                           in_value *out) {
  int64_t n = call->args->len - 1;
  tn_any ret = tn_any_none();
  TN_AUTOFREE tn_any *args = tn_alloc_zero((size_t)n + 1, sizeof *args);
  if (!args) return -1;
  for (int64_t i = 0; i < n; ++i)
    TN_TRY(as_argument(f, (const tn_expr *)tn_arr_obj(call->args, i + 1), lane, &args[i]));
  TN_TRY(tn_func_call(func, args, (int32_t)n, &ret));
  int err = as_result(call->dtype, &ret, out);
  tn_any_release(&ret);
  return err;
}

int in_call_extern(in_frame *f, const tn_Call *call, int lane, in_value *out) {
  bool found;
  const tn_StringImm *text = call->args->len ? TN_AS(StringImm, tn_arr_obj(call->args, 0)) : NULL;
  TN_CHECK(text, CodegenError, call->span,
           "stackvm: %s: call_extern: expected the name of a function", f->name);
  const char *name = tn_cstr(text->value);
  tn_func *func = tn_func_find(name);
  if (func) {
    int err = call_registered(f, call, func, lane, out);
    tn_release(func);
    return err;
  }
  tir_op_id op = math_by_name(name);
  TN_CHECK(op != TIR_OP_END, CodegenError, call->span,
           "stackvm: %s: call_extern: %s is neither a function of <math.h> nor registered: the "
           "interpreter can call no other",
           f->name, name);
  return in_math(f, op, call, 1, lane, out, &found);
}
