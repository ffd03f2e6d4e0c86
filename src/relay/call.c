/* Calls of operators and their attributes: from C by name, from Python in order (see op.h). */
#include <stdarg.h>
#include <string.h>

#include "relay/op.h"
#include "relay/relay_impl.h"

enum { MAX_ATTRS = 64 };

/* ---- attributes ---- */

static const relay_op_row *find_row(const char *op) {
  const tn_Op *o = ir_op_get(op);
  const relay_op_row *row = o ? relay_op_row_of((const tn_obj *)o) : NULL;
  if (!row && o) TN_RAISE(ValueError, NULL, "%s is not an operator of Relay", op);
  return row;
}

void *relay_attrs(const char *op, int n, ...) {
  const char *names[MAX_ATTRS];
  tn_any values[MAX_ATTRS];
  const relay_op_row *row = find_row(op);
  if (!row) return NULL;
  TN_CHECKP(row->attrs && n < MAX_ATTRS, ValueError, NULL, "operator %s has no attributes", op);
  bool failed = false; /* what was to be a value */
  va_list ap;
  va_start(ap, n);
  for (int i = 0; i < n; ++i) {
    names[i] = va_arg(ap, const char *);
    values[i] = va_arg(ap, tn_any);
    failed = failed || (values[i].type_index == TN_NONE && tn_error_pending());
  }
  va_end(ap);
  if (failed) return NULL;
  return tn_scope_own(tn_node_make(row->attrs, n, names, values));
}

static bool attr_value(const void *attrs, const char *name, tn_any *out) {
  const tn_obj *o = attrs;
  const tn_field *f = o ? tn_type_field(o->type, name) : NULL;
  const tn_DictAttrs *dict = TN_AS(DictAttrs, o);
  if (!f && !(dict && tn_map_get(dict->dict, tn_any_cstr(name), out))) return false;
  if (f) *out = tn_field_get(o, f);
  return out->type_index != TN_NONE;
}

int64_t relay_attr_int(const void *attrs, const char *name, int64_t absent) {
  tn_any v;
  int64_t i;
  if (!attr_value(attrs, name, &v)) return absent;
  if (tn_any_to_int(&v, &i) == 0) return i;
  tn_error_clear();
  return absent;
}

double relay_attr_float(const void *attrs, const char *name, double absent) {
  tn_any v;
  double x;
  if (!attr_value(attrs, name, &v)) return absent;
  if (tn_any_to_float(&v, &x) == 0) return x;
  tn_error_clear();
  return absent;
}

const char *relay_attr_str(const void *attrs, const char *name) {
  tn_any v;
  const tn_str *s =
      attr_value(attrs, name, &v) && tn_any_is_obj(&v) ? TN_AS(String, v.v.obj) : NULL;
  return tn_cstr(s);
}

void *relay_attr_obj(const void *attrs, const char *name) {
  tn_any v;
  return attr_value(attrs, name, &v) && tn_any_is_obj(&v) ? v.v.obj : NULL;
}

tn_arr *relay_ints(const int64_t *values, int64_t n) {
  TN_VEC(v);
  for (int64_t i = 0; i < n; ++i)
    TN_TRYP(tn_vec_push_obj(&v, values[i] == (int32_t)values[i] ? tir_i32((int32_t)values[i])
                                                                : tir_i64(values[i])));
  return tn_arr_from(&v);
}

void *relay_attrs_like(const char *op, const void *attrs) {
  const char *names[MAX_ATTRS];
  tn_any values[MAX_ATTRS];
  int n = 0;
  const tn_obj *from = attrs;
  const relay_op_row *row = find_row(op);
  if (!row || !row->attrs) return NULL;
  for (uint16_t i = 0; from && i < row->attrs->nfield && n < MAX_ATTRS; ++i) {
    const tn_field *f = tn_type_field(from->type, row->attrs->fields[i].name);
    if (!f) continue;
    names[n] = f->name;
    values[n++] = tn_field_get(from, f);
  }
  return tn_scope_own(tn_node_make(row->attrs, n, names, values));
}

void *relay_attrs_with(const void *attrs, const char *name, tn_any value) {
  const tn_obj *o = attrs;
  const tn_field *f = o ? tn_type_field(o->type, name) : NULL;
  TN_CHECKP(f, AttributeError, NULL, "%s has no attribute '%s'", tn_obj_key(o), name);
  tn_obj *copy = tn_node_copy(o->type, o);
  return copy && tn_field_set(copy, f, &value) == 0 ? copy : NULL;
}

/* ---- calls ---- */

void *relay_call_args(const char *op, void *attrs, tn_arr *args) {
  const relay_op_row *row = find_row(op);
  if (!row || !args || (!attrs && tn_error_pending())) return NULL;
  if (!attrs && row->attrs) attrs = tn_scope_own(tn_node_make(row->attrs, 0, NULL, NULL));
  if (!attrs && row->attrs) return NULL;
  return relay_call_new(ir_op_find(op), args, attrs);
}

void *relay_call(const char *op, void *attrs, int n, ...) {
  TN_VEC(v);
  va_list ap;
  int err = 0;
  va_start(ap, n);
  for (int i = 0; i < n && !err; ++i) {
    const void *arg = va_arg(ap, void *);
    err = arg ? tn_vec_push_obj(&v, arg) : -1;
  }
  va_end(ap);
  if (err && !tn_error_pending()) return TN_RAISEP(TypeError, NULL, "%s: an argument is None", op);
  return err ? NULL : relay_call_args(op, attrs, tn_arr_from(&v));
}

/* ---- from outside ---- */

/* An argument: an expression; a list of expressions stands for their tuple. */
static int input_arg(const relay_op_row *row, const tn_any *arg, int i, tn_vec *out) {
  tn_obj *o = tn_any_is_obj(arg) ? arg->v.obj : NULL;
  if (TN_AS(Array, o)) o = (tn_obj *)relay_tuple((tn_arr *)o);
  if (!o && tn_error_pending()) return -1;
  TN_CHECK(o && TN_IS(RelayExpr, o), TypeError, NULL, "%s: argument %d: expected RelayExpr, got %s",
           row->name, i, tn_type_key((uint32_t)arg->type_index));
  return tn_vec_push_obj(out, o);
}

/* One number where a list is wanted stands for a list of it. */
static int as_list(const tn_field *f, tn_any *value) {
  int64_t i;
  if (f->kind != TN_F_REF || tn_class_type(f->cls) != &tn_type_Array) return 0;
  if (tn_any_is_obj(value) && !TN_AS(IntImm, value->v.obj)) return 0;
  if (value->type_index == TN_NONE) return 0;
  TN_TRY(tn_any_to_int(value, &i));
  tn_arr *one = relay_ints(&i, 1);
  *value = tn_any_obj(one);
  return one ? 0 : -1;
}

static tn_obj *attrs_arg(const relay_op_row *row, const tn_any *args, int n) {
  const char *names[MAX_ATTRS];
  tn_any values[MAX_ATTRS];
  if (n == 1 && tn_any_is_obj(args) && args->v.obj->type == row->attrs) return args->v.obj;
  TN_CHECKP(n <= row->attrs->nfield && n < MAX_ATTRS, TypeError, NULL,
            "%s: expected at most %d attributes, got %d", row->name, row->attrs->nfield, n);
  for (int i = 0; i < n; ++i) {
    names[i] = row->attrs->fields[i].name;
    values[i] = args[i];
    TN_TRYP(as_list(&row->attrs->fields[i], &values[i]));
  }
  return tn_scope_own(tn_node_make(row->attrs, n, names, values));
}

int relay_op_make(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  const relay_op_row *row = self;
  int ninputs = relay_op_ninputs(row);
  TN_VEC(v);
  TN_CHECK(n >= ninputs, TypeError, NULL, "%s: expected at least %d arguments (%s), got %d",
           row->name, ninputs, row->inputs, n);
  TN_CHECK(row->attrs || n == ninputs, TypeError, NULL, "%s: expected %d arguments (%s), got %d",
           row->name, ninputs, row->inputs, n);
  for (int i = 0; i < ninputs; ++i) TN_TRY(input_arg(row, &args[i], i, &v));
  tn_obj *attrs = NULL;
  if (row->attrs) TN_GET(attrs, attrs_arg(row, args + ninputs, n - ninputs));
  return tn_ret_obj(ret, relay_call_new(ir_op_find(row->name), tn_arr_from(&v), (tn_Attrs *)attrs));
}
