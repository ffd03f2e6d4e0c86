/* What types show as outside of programs: TensorType([2, ?], float32). */
#include "object/repr.h"
#include "relay/relay_impl.h"

static int show(tn_repr *r, const void *o) { return tn_repr_any(r, tn_any_obj(o)); }

static int extent(tn_repr *r, const tn_obj *e) {
  const tn_IntImm *i = TN_AS(IntImm, e);
  if (TN_AS(Any, e)) tn_buf_puts(tn_repr_out(r), "?");
  else if (i) tn_buf_printf(tn_repr_out(r), "%lld", (long long)i->value);
  else return show(r, e);
  return 0;
}

static int tensor_repr(tn_repr *r, const tn_obj *o) {
  const tn_TensorType *t = (const tn_TensorType *)o;
  tn_buf_puts(tn_repr_out(r), "TensorType([");
  for (int64_t i = 0; i < t->shape->len; ++i) {
    if (i) tn_buf_puts(tn_repr_out(r), ", ");
    TN_TRY(extent(r, tn_arr_obj(t->shape, i)));
  }
  tn_buf_printf(tn_repr_out(r), "], %s)", TN_DT(t->dtype));
  return 0;
}

/* NAME(part, part, ...) */
static int parts(tn_repr *r, const char *name, const void *const *all, int n) {
  tn_buf_printf(tn_repr_out(r), "%s(", name);
  for (int i = 0; i < n; ++i) {
    if (i) tn_buf_puts(tn_repr_out(r), ", ");
    TN_TRY(show(r, all[i]));
  }
  tn_buf_puts(tn_repr_out(r), ")");
  return 0;
}

static int tuple_repr(tn_repr *r, const tn_obj *o) {
  const void *all[] = {((const tn_TupleType *)o)->fields};
  return parts(r, "TupleTypeNode", all, 1);
}

static int func_repr(tn_repr *r, const tn_obj *o) {
  const tn_FuncType *f = (const tn_FuncType *)o;
  const void *all[] = {f->type_params, f->arg_types, f->ret_type, f->type_constraints};
  return parts(r, "FuncType", all, TN_COUNT(all));
}

static int ref_repr(tn_repr *r, const tn_obj *o) {
  const void *all[] = {((const tn_RefType *)o)->value};
  return parts(r, "RelayRefTypeNode", all, 1);
}

static int call_repr(tn_repr *r, const tn_obj *o) {
  const void *all[] = {((const tn_TypeCall *)o)->func, ((const tn_TypeCall *)o)->args};
  return parts(r, "TypeCallNode", all, TN_COUNT(all));
}

static int var_repr(tn_repr *r, const tn_obj *o) {
  const tn_TypeVar *v = (const tn_TypeVar *)o;
  tn_buf_printf(tn_repr_out(r), "TypeVar(%s, %d)", tn_cstr(v->name_hint), (int)v->kind);
  return 0;
}

static int global_repr(tn_repr *r, const tn_obj *o) {
  tn_buf_printf(tn_repr_out(r), "GlobalVar(%s)", tn_cstr(((const tn_GlobalVar *)o)->name_hint));
  return 0;
}

static int global_type_var_repr(tn_repr *r, const tn_obj *o) {
  const tn_GlobalTypeVar *v = (const tn_GlobalTypeVar *)o;
  tn_buf_printf(tn_repr_out(r), "GlobalTypeVar(%s, %d)", tn_cstr(v->name_hint), (int)v->kind);
  return 0;
}

int relay_type_repr_init(void) {
  static const struct {
    const tn_type *type;
    tn_repr_fn repr;
  } all[] = {
      {&tn_type_TensorType, tensor_repr},
      {&tn_type_TupleType, tuple_repr},
      {&tn_type_FuncType, func_repr},
      {&tn_type_RefType, ref_repr},
      {&tn_type_TypeCall, call_repr},
      {&tn_type_TypeVar, var_repr},
      {&tn_type_GlobalTypeVar, global_type_var_repr},
      {&tn_type_GlobalVar, global_repr},
  };
  for (int i = 0; i < TN_COUNT(all); ++i) TN_TRY(tn_repr_set(all[i].type, all[i].repr));
  return 0;
}
