/* Numbers of lists that are known: extents of types, and attributes that are lists of integers. */
#include "base/error.h"
#include "relay/op.h"

bool relay_known_product(const tn_arr *a, int64_t begin, int64_t end, int64_t *out) {
  int64_t all = 1, v;
  for (int64_t i = begin; i < end; ++i)
    if (!relay_known_int(a, i, &v) || __builtin_mul_overflow(all, v, &all)) return false;
  *out = all;
  return true;
}

int relay_known_ints(const tn_arr *a, int64_t *out, int64_t max) {
  if (!a || a->len > max) return -1;
  for (int64_t i = 0; i < a->len; ++i)
    if (!relay_known_int(a, i, &out[i])) return -1;
  return (int)a->len;
}

/* The element that is not an integer and not a list of integers, NULL where all of them are. */
static const tn_obj *not_integer(const tn_arr *list) {
  int64_t v;
  for (int64_t i = 0; i < list->len; ++i) {
    const tn_obj *e = tn_arr_obj(list, i);
    const tn_arr *inner = TN_AS(Array, e);
    for (int64_t k = 0; inner && k < inner->len; ++k)
      if (!relay_known_int(inner, k, &v)) return tn_arr_obj(inner, k) ? tn_arr_obj(inner, k) : e;
    if (!inner && !relay_known_int(list, i, &v)) return e ? e : (const tn_obj *)list;
  }
  return NULL;
}

int relay_check_attrs(const char *op, const void *attrs, tn_Span *span) {
  const relay_op_row *row = relay_op_row_of((const tn_obj *)ir_op_find(op));
  const tn_obj *o = attrs;
  TN_CHECK(!row || !row->attrs || (o && tn_obj_is(o, row->attrs)), TypeError, span,
           "%s: expected attributes %s, got %s", op, row->attrs->key, o ? tn_obj_key(o) : "None");
  for (uint16_t i = 0; o && o->type->kind == TN_KIND_NODE && i < o->type->nfield; ++i) {
    const tn_field *f = &o->type->fields[i];
    if (!(f->flags & TN_INTS)) continue;
    tn_any value = tn_field_get(o, f);
    const tn_arr *list = tn_any_is_obj(&value) ? TN_AS(Array, value.v.obj) : NULL;
    const tn_obj *bad = list ? not_integer(list) : NULL;
    TN_CHECK(!bad, TypeError, span, "%s: %s: expected integers, got a list with %s", op, f->name,
             bad == (const tn_obj *)list ? "None" : tn_obj_key(bad));
  }
  return 0;
}
