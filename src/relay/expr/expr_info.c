/* What is known of an expression: type, extents, values of constants, readers, see expr_info.h. */
#include "relay/expr/expr_info.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/scope.h"
#include "ir/functor.h"
#include "ir/module.h"
#include "relay/analysis/analysis.h"
#include "relay/expr/call_builder.h"
#include "relay/expr/replace.h"
#include "relay/infer.h"
#include "tenon/object.h"
#include "tenon/runtime.h"

tn_TensorType *relay_known_type(const void *e) {
  if (!e || relay_type_of(e)) return e ? relay_tensor_type_of_expr(e) : NULL;
  tn_Type *t = relay_infer_type(e, NULL);
  if (!t) tn_error_clear();
  return TN_AS(TensorType, t);
}

bool relay_is_kernel(const void *e) {
  const tn_RelayFunction *f = TN_AS(RelayFunction, e);
  tn_any found;
  return f && (ir_attrs_flag(f->attrs, "Primitive") || ir_attrs_get(f->attrs, "Compiler", &found));
}

bool relay_same_type(const void *a, const void *b) {
  const tn_TensorType *x = relay_known_type(a), *y = relay_known_type(b);
  return x && y && relay_is_static((const tn_Type *)x) && tn_equal(x, y, 0) == 1;
}

int relay_static_shape(const tn_TensorType *t, int64_t *dims, int max) {
  return t ? relay_known_ints(t->shape, dims, max) : -1;
}

int64_t relay_count_elements(const tn_TensorType *t) {
  int64_t dims[32], n = 1;
  int ndim = relay_static_shape(t, dims, 32);
  for (int i = 0; i < ndim; ++i)
    if (__builtin_mul_overflow(n, dims[i], &n)) return -1;
  return ndim < 0 ? -1 : n;
}

/* Elements of a constant on the host as numbers, one after another, while `fn` says so. */
static bool all_elements(const void *e, bool (*fn)(double x, double *state), double *state) {
  TN_AUTOFREE double *x = NULL;
  int64_t n = 0, i = 0;
  int r = relay_const_numbers(e, &x, &n);
  if (r < 0) tn_error_clear();
  if (r <= 0) return false;
  while (i < n && fn(x[i], state)) ++i;
  return n > 0 && i == n;
}

/* Bits are compared: integers that one double stands for are different numbers, and the first
   difference ends it. */
bool relay_uniform(const void *e, double *value) {
  const tn_Constant *c = TN_AS(Constant, e);
  const DLTensor *t = c ? tn_tensor_dl(c->data) : NULL;
  if (relay_as_scalar(e, value)) return true;
  if (!t || t->device.device_type != kDLCPU || t->dtype.lanes != 1 || t->dtype.bits % 8)
    return false;
  int64_t n = tn_tensor_count(t);
  size_t size = t->dtype.bits / 8;
  char *first = (char *)t->data + t->byte_offset;
  if (n < 1 || memcmp(first, first + size, (size_t)(n - 1) * size) != 0) return false;
  DLTensor x = {.data = first, .device = t->device, .dtype = t->dtype},
           y = {.data = value, .device = t->device, .dtype = TN_F64};
  if (tn_tensor_convert(&x, &y)) return tn_error_clear(), false;
  return *value == *value;
}

static bool is_positive(double x, double *state) {
  (void)state;
  return x > 0;
}

bool relay_all_positive(const void *e) { return all_elements(e, is_positive, NULL); }

void *relay_rename_bound(const void *expr) {
  TN_PMAP(fresh);
  tn_arr *bound;
  TN_GETP(bound, relay_vars_of(expr, RELAY_VARS_BOUND));
  for (int64_t i = 0; i < bound->len; ++i) {
    const tn_RelayVar *v = (const tn_RelayVar *)tn_arr_obj(bound, i);
    tn_RelayVar *copy;
    TN_GETP(copy, relay_var(tn_cstr(v->vid->name_hint), v->type_annotation));
    TN_TRYP(tn_pmap_put(&fresh, v->vid, relay_stands_for(copy, v)));
  }
  return relay_substitute(expr, &fresh);
}

static int count_operands(void *ctx, tn_obj *node) {
  const relay_expr *e;
  if (!TN_IS(RelayExpr, node)) return 0;
  for (int64_t i = 0; (e = relay_operand(node, i)) != NULL; ++i) {
    tn_pmap_slot *slot = tn_pmap_slot_of(ctx, e);
    if (!slot) return -1;
    ++slot->v.i64;
  }
  return 0;
}

int relay_count_readers(const void *root, tn_pmap *readers) {
  return tn_post_order(root, count_operands, readers);
}
