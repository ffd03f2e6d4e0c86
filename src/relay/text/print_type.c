/* Types, extents and the values of attributes. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "base/stack.h"
#include "ir/imm.h"
#include "object/functions.h"
#include "relay/text/print_impl.h"
#include "tenon/object.h"

/* ---- values ---- */

static void put_float(double x, tn_buf *out) {
  char text[TN_DOUBLE_TEXT];
  if (isnan(x)) tn_buf_puts(out, "nan");
  else if (isinf(x)) tn_buf_puts(out, x < 0 ? "-inf" : "inf");
  else tn_buf_puts(out, tn_double_text(x, text));
}

static int put_list(rp *p, const tn_arr *a, tn_buf *out) {
  tn_buf_putc(out, '[');
  for (int64_t i = 0; i < a->len; ++i) {
    if (i) tn_buf_puts(out, ", ");
    TN_TRY(rp_value(p, &a->items[i], out));
  }
  tn_buf_putc(out, ']');
  return 0;
}

static int put_map(rp *p, const tn_map *m, tn_buf *out) {
  tn_buf_putc(out, '{');
  for (int64_t i = 0; i < m->len; ++i) {
    if (i) tn_buf_puts(out, ", ");
    TN_TRY(rp_value(p, &m->entries[i].key, out));
    tn_buf_puts(out, ": ");
    TN_TRY(rp_value(p, &m->entries[i].value, out));
  }
  tn_buf_putc(out, '}');
  return 0;
}

static void put_int(int64_t v, tn_dtype t, tn_buf *out) {
  if (ir_is_bool(t)) tn_buf_puts(out, v ? "True" : "False");
  else if (t.code == kDLInt && t.bits == 32) tn_buf_printf(out, "%" PRId64, v);
  else tn_buf_printf(out, "%" PRId64 "%c%d", v, t.code == kDLInt ? 'i' : 'u', t.bits);
}

static int put_object(rp *p, const tn_obj *o, tn_buf *out) {
  switch (o->type_index) {
  case TN_TI_String:
    tn_buf_quote(out, tn_cstr((const tn_str *)o), tn_str_len((const tn_str *)o));
    return 0;
  case TN_TI_Array: return put_list(p, (const tn_arr *)o, out);
  case TN_TI_Map: return put_map(p, (const tn_map *)o, out);
  case TN_TI_Any: tn_buf_putc(out, '?'); return 0;
  case TN_TI_IntImm:
    put_int(((const tn_IntImm *)o)->value, ((const tn_IntImm *)o)->dtype, out);
    return 0;
  case TN_TI_FloatImm: {
    const tn_FloatImm *f = (const tn_FloatImm *)o;
    put_float(f->value, out);
    tn_buf_puts(out, "f");
    if (f->dtype.bits != 32) tn_buf_printf(out, "%d", f->dtype.bits);
    return 0;
  }
  default: return rp_meta(p, o, out);
  }
}

int rp_value(rp *p, const tn_any *v, tn_buf *out) {
  TN_TRY(tn_stack_check("an attribute"));
  switch (v->type_index) {
  case TN_NONE: tn_buf_puts(out, "None"); return 0;
  case TN_INT: tn_buf_printf(out, "%" PRId64, v->v.i64); return 0;
  case TN_BOOL: tn_buf_puts(out, v->v.i64 ? "True" : "False"); return 0;
  case TN_FLOAT:
    put_float(v->v.f64, out);
    tn_buf_putc(out, 'f');
    return 0;
  case TN_DTYPE: {
    const char *text = TN_DT(v->v.dtype);
    tn_buf_printf(out, "\"%s\"", v->v.dtype.bits ? text : "");
    return 0;
  }
  default: break;
  }
  TN_CHECK(tn_any_is_obj(v), TypeError, NULL, "astext: an attribute of a kind that has no text");
  return put_object(p, v->v.obj, out);
}

/* ---- attributes ---- */

/* Does the field hold its default? A copy of the node is given the default, so that it is converted
 * as any value is. */
static int is_default(const tn_obj *node, const tn_field *f, bool *yes) {
  *yes = false;
  if (!f->dflt) return 0;
  TN_SCOPE(scope);
  tn_any value;
  tn_obj *copy = tn_node_copy(node->type, node);
  if (!copy) return -1;
  TN_TRY(tn_literal_parse(f->dflt, &value));
  int err = tn_field_set(copy, f, &value);
  tn_any_release(&value);
  if (err) return -1;
  *yes = tn_equal_any(tn_field_get(node, f), tn_field_get(copy, f), 0);
  return 0;
}

int rp_call_attrs(rp *p, const tn_RelayCall *call, int n, tn_buf *out) {
  const tn_obj *a = (const tn_obj *)call->attrs;
  const tn_Op *op = TN_AS(Op, call->op);
  if (!a) return 0;
  if (TN_AS(DictAttrs, a)) return rp_dict_attrs(p, (const tn_DictAttrs *)a, n, out);
  if (op && strcmp(tn_cstr(op->attrs_type_key), tn_obj_key(a)) !=
                0) { /* not what a reader would take them for */
    tn_buf_puts(out, n ? ", " : "");
    return rp_meta(p, a, out);
  }
  for (int i = 0; i < a->type->nfield; ++i) {
    const tn_field *f = &a->type->fields[i];
    bool same;
    TN_TRY(is_default(a, f, &same));
    if (same) continue;
    tn_any value = tn_field_get(a, f);
    tn_buf_printf(out, "%s%s=", n++ ? ", " : "", f->name);
    TN_TRY(rp_value(p, &value, out));
  }
  if (!op) tn_buf_printf(out, "%sattrs_type_key=\"%s\"", n ? ", " : "", tn_obj_key(a));
  return 0;
}

static bool is_name(const char *s) {
  if (!*s) return false;
  for (; *s; ++s)
    if (!((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ||
          *s == '_' || *s == '.'))
      return false;
  return true;
}

int rp_dict_attrs(rp *p, const tn_DictAttrs *a, int n, tn_buf *out) {
  for (int64_t i = 0; a && i < a->dict->len; ++i) {
    const tn_map_entry *e = &a->dict->entries[i];
    const char *key = tn_cstr((const tn_str *)e->key.v.obj);
    tn_buf_puts(out, n++ ? ", " : "");
    if (is_name(key)) tn_buf_puts(out, key);
    else tn_buf_quote(out, key, strlen(key));
    tn_buf_putc(out, '=');
    TN_TRY(rp_value(p, &e->value, out));
  }
  return 0;
}

/* ---- types ---- */

static int type_list(rp *p, const char *open, const tn_arr *types, const char *close, tn_buf *out) {
  tn_buf_puts(out, open);
  for (int64_t i = 0; i < types->len; ++i) {
    if (i) tn_buf_puts(out, ", ");
    TN_TRY(rp_type(p, (const tn_Type *)tn_arr_obj(types, i), out));
  }
  tn_buf_puts(out, close);
  return 0;
}

static int tensor_type(rp *p, const tn_TensorType *t, tn_buf *out) {
  if (t->shape->len == 0) {
    tn_buf_puts(out, TN_DT(t->dtype));
    return 0;
  }
  tn_buf_puts(out, "Tensor[(");
  for (int64_t i = 0; i < t->shape->len; ++i) {
    if (i) tn_buf_puts(out, ", ");
    TN_TRY(rp_value(p, &t->shape->items[i], out));
  }
  tn_buf_printf(out, "), %s]", TN_DT(t->dtype));
  return 0;
}

static int func_type(rp *p, const tn_FuncType *t, tn_buf *out) {
  tn_buf_puts(out, "fn ");
  if (t->type_params->len) TN_TRY(type_list(p, "[", t->type_params, "]", out));
  TN_TRY(type_list(p, "(", t->arg_types, ") -> ", out));
  return rp_type(p, t->ret_type, out);
}

int rp_type(rp *p, const tn_Type *t, tn_buf *out) {
  TN_TRY(tn_stack_check("a type"));
  const tn_obj *o = (const tn_obj *)t;
  switch (o->type_index) {
  case TN_TI_TensorType: return tensor_type(p, (const tn_TensorType *)t, out);
  case TN_TI_TupleType: {
    const tn_arr *fields = ((const tn_TupleType *)t)->fields;
    return type_list(p, "(", fields, fields->len == 1 ? ",)" : ")", out);
  }
  case TN_TI_TypeVar: tn_buf_puts(out, tn_cstr(((const tn_TypeVar *)t)->name_hint)); return 0;
  case TN_TI_GlobalTypeVar:
    tn_buf_puts(out, tn_cstr(((const tn_GlobalTypeVar *)t)->name_hint));
    return 0;
  case TN_TI_IncompleteType: tn_buf_putc(out, '_'); return 0;
  case TN_TI_RefType:
    tn_buf_puts(out, "ref(");
    TN_TRY(rp_type(p, ((const tn_RefType *)t)->value, out));
    tn_buf_putc(out, ')');
    return 0;
  case TN_TI_TypeCall:
    TN_TRY(rp_type(p, ((const tn_TypeCall *)t)->func, out));
    return type_list(p, "[", ((const tn_TypeCall *)t)->args, "]", out);
  case TN_TI_FuncType: return func_type(p, (const tn_FuncType *)t, out);
  default: return rp_meta(p, o, out);
  }
}
