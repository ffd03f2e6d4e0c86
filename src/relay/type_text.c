/* Types as text (see type_text.h). */
#include "relay/type_text.h"

#include "object/repr.h"

static void print_list(tn_buf *out, const tn_arr *a, const char *open, const char *close) {
  tn_buf_puts(out, open);
  for (int64_t i = 0; i < a->len; ++i) {
    if (i) tn_buf_puts(out, ", ");
    relay_type_print(out, (const tn_Type *)tn_arr_obj(a, i));
  }
  tn_buf_puts(out, close);
}

static void print_shape(tn_buf *out, const tn_arr *shape) {
  tn_buf_puts(out, "(");
  for (int64_t i = 0; i < shape->len; ++i) {
    const tn_obj *e = tn_arr_obj(shape, i);
    if (i) tn_buf_puts(out, ", ");
    if (TN_AS(Any, e)) tn_buf_puts(out, "?");
    else if (TN_AS(IntImm, e)) tn_buf_printf(out, "%lld", (long long)((const tn_IntImm *)e)->value);
    else tn_repr_print(out, shape->items[i]);
  }
  tn_buf_puts(out, shape->len == 1 ? ",)" : ")");
}

static void print_tensor(tn_buf *out, const tn_TensorType *t) {
  if (t->shape->len == 0) {
    tn_buf_puts(out, TN_DT(t->dtype));
    return;
  }
  tn_buf_puts(out, "Tensor[");
  print_shape(out, t->shape);
  tn_buf_printf(out, ", %s]", TN_DT(t->dtype));
}

static void print_func(tn_buf *out, const tn_FuncType *f) {
  tn_buf_puts(out, "fn ");
  if (f->type_params->len) print_list(out, f->type_params, "[", "] ");
  print_list(out, f->arg_types, "(", ") -> ");
  relay_type_print(out, f->ret_type);
}

static void print_call(tn_buf *out, const tn_TypeCall *c) {
  relay_type_print(out, c->func);
  print_list(out, c->args, "[", "]");
}

void relay_type_print(tn_buf *out, const tn_Type *t) {
  switch (t ? t->hdr.type_index : 0) {
  case 0:
  case TN_TI_IncompleteType: tn_buf_puts(out, "_"); return;
  case TN_TI_TensorType: print_tensor(out, (const tn_TensorType *)t); return;
  case TN_TI_TupleType: {
    const tn_arr *fields = ((const tn_TupleType *)t)->fields;
    print_list(out, fields, "(", fields->len == 1 ? ",)" : ")");
    return;
  }
  case TN_TI_FuncType: print_func(out, (const tn_FuncType *)t); return;
  case TN_TI_RefType:
    tn_buf_puts(out, "ref(");
    relay_type_print(out, ((const tn_RefType *)t)->value);
    tn_buf_puts(out, ")");
    return;
  case TN_TI_TypeCall: print_call(out, (const tn_TypeCall *)t); return;
  case TN_TI_TypeVar: tn_buf_puts(out, tn_cstr(((const tn_TypeVar *)t)->name_hint)); return;
  case TN_TI_GlobalTypeVar:
    tn_buf_puts(out, tn_cstr(((const tn_GlobalTypeVar *)t)->name_hint));
    return;
  default: tn_repr_print(out, tn_any_obj(t)); return;
  }
}

const char *relay_type_text(const void *type) {
  TN_BUF(out);
  relay_type_print(&out, type);
  tn_str *s = tn_buf_ok(&out) ? NULL : tn_str_from(tn_buf_cstr(&out));
  if (!s) tn_error_clear();
  return tn_cstr(s);
}
