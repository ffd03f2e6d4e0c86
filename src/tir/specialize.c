/* "tir.Specialize": a program for known values of its parameters.

     def main(a: T.handle, n: T.int32):             main.specialize({a: tir.decl_buffer((16, 8))})
       A = T.match_buffer(a, (m, 8))          ->    def main(a: T.handle, n: T.int32):
                                                      A = T.match_buffer(a, (16, 8))

   A buffer says what the variables in the shape, strides and offset of a parameter's buffer are;
   the parameter stays. An expression takes the place of a parameter that is a number, which goes.
   Expressions of constants are folded on the way. */
#include "ir/expr.h"
#include "ir/functor.h"
#include "object/functions.h"
#include "tenon/object.h"
#include "tir/tir.h"
#include "tir/tir_impl.h"

typedef struct {
  tn_pmap values; /* tn_Var -> PrimExpr */
  const char *param;
} specializer;

static tn_obj *use_value(tn_mut *m, tn_obj *var) {
  const specializer *x = m->ctx;
  tn_obj *by = tn_pmap_get(&x->values, var);
  return by ? by : var;
}

static tn_obj *fold(tn_mut *m, tn_Add *op) {
  tn_Add *r = tn_mut_children(m, op);
  if (!r || r == op) return (tn_obj *)r;
  return (tn_obj *)tir_binary(r->hdr.type_index, r->a, r->b, r->span);
}

/* All of these have the fields of Add. */
#define FOLD_CASE(T) TN_CASE(T, fold)
static const tn_mut_case cases[] = {TN_CASE(Var, use_value),
                                    TN_CASE(SizeVar, use_value),
                                    FOLD_CASE(Add),
                                    FOLD_CASE(Sub),
                                    FOLD_CASE(Mul),
                                    FOLD_CASE(Div),
                                    FOLD_CASE(Mod),
                                    FOLD_CASE(FloorDiv),
                                    FOLD_CASE(FloorMod),
                                    FOLD_CASE(Min),
                                    FOLD_CASE(Max),
                                    FOLD_CASE(EQ),
                                    FOLD_CASE(NE),
                                    FOLD_CASE(LT),
                                    FOLD_CASE(LE),
                                    FOLD_CASE(GT),
                                    FOLD_CASE(GE),
                                    FOLD_CASE(And),
                                    FOLD_CASE(Or)};

static int bind(specializer *x, const tn_Var *v, tn_expr *value) {
  const tn_expr *known = tn_pmap_get(&x->values, v);
  TN_GET(value, tir_cast(v->dtype, value, NULL));
  TN_CHECK(!known || tn_equal(known, value, 0) == 1, ValueError, v->span,
           "specialize: %s of parameter %s would have two values", tn_cstr(v->name), x->param);
  return tn_pmap_put(&x->values, v, value);
}

/* An extent (stride, offset) of the parameter's buffer and that of the given one. */
static int match(specializer *x, const tn_expr *ours, tn_expr *given, const char *what) {
  if (TN_IS(Var, ours)) return bind(x, (const tn_Var *)ours, given);
  TN_MUT(m, cases, x);
  tn_expr *now;
  TN_GET(now, tn_mut_visit(&m, ours));
  bool same = tn_equal(now, given, 0) == 1;
  if (!same) TN_GET(given, tir_cast(now->dtype, given, NULL));
  same = same || tn_equal(now, given, 0) == 1;
  TN_CHECK(same, ValueError, given->span,
           "specialize: the %s of parameter %s differs from the given", what, x->param);
  return 0;
}

static int match_all(specializer *x, const tn_arr *ours, const tn_arr *given, const char *what) {
  TN_CHECK(ours->len == given->len, ValueError, NULL,
           "specialize: parameter %s has %lld numbers as %s, the given buffer %lld", x->param,
           (long long)ours->len, what, (long long)given->len);
  for (int pass = 0; pass < 2; ++pass) { /* variables first: expressions may be made of them */
    for (int64_t i = 0; i < ours->len; ++i) {
      const tn_expr *mine = (const tn_expr *)tn_arr_obj(ours, i);
      if (TN_IS(Var, mine) != (pass == 0)) continue;
      TN_TRY(match(x, mine, (tn_expr *)tn_arr_obj(given, i), what));
    }
  }
  return 0;
}

static int match_buffer(specializer *x, const tn_Buffer *ours, const tn_Buffer *given) {
  TN_CHECK(tn_dtype_eq(ours->dtype, given->dtype), TypeError, given->span,
           "specialize: parameter %s is a buffer of %s, the given one of %s", x->param,
           TN_DT(ours->dtype), TN_DT(given->dtype));
  TN_TRY(match_all(x, ours->shape, given->shape, "shape"));
  TN_TRY(match_all(x, ours->strides, given->strides, "strides"));
  if (!ours->elem_offset || !given->elem_offset) return 0;
  return match(x, ours->elem_offset, given->elem_offset, "offset");
}

static bool is_param(const tn_PrimFunc *f, const tn_obj *v) {
  for (int64_t i = 0; i < f->params->len; ++i)
    if (tn_arr_obj(f->params, i) == v) return true;
  return false;
}

/* One entry of the caller's map. */
static int add_entry(specializer *x, const tn_PrimFunc *f, const tn_map_entry *e) {
  tn_any found;
  const tn_Var *v =
      tn_any_is_obj(&e->key) && TN_IS(Var, e->key.v.obj) ? (const tn_Var *)e->key.v.obj : NULL;
  TN_CHECK(v && is_param(f, (const tn_obj *)v), ValueError, NULL,
           "specialize: %s is not a parameter of the function",
           v ? tn_cstr(v->name) : tn_type_key((uint32_t)e->key.type_index));
  x->param = tn_cstr(v->name);
  bool buffer = tn_map_get(f->buffer_map, e->key, &found);
  if (buffer) {
    const tn_Buffer *given = tn_any_is_obj(&e->value) ? TN_AS(Buffer, e->value.v.obj) : NULL;
    TN_CHECK(given, TypeError, NULL, "specialize: parameter %s expects a Buffer, got %s", x->param,
             tn_type_key((uint32_t)e->value.type_index));
    return match_buffer(x, TN_AS(Buffer, found.v.obj), given);
  }
  tn_expr *value = ir_expr_from(&e->value);
  if (!value && tn_error_pending()) return -1;
  TN_CHECK(value, TypeError, NULL, "specialize: parameter %s expects an expression, got %s",
           x->param, tn_type_key((uint32_t)e->value.type_index));
  return bind(x, v, value);
}

static tn_PrimFunc *specialized(specializer *x, const tn_PrimFunc *f) {
  TN_VEC(params);
  for (int64_t i = 0; i < f->params->len; ++i) {
    tn_obj *v = tn_arr_obj(f->params, i);
    if (!tn_pmap_has(&x->values, v)) TN_TRYP(tn_vec_push_obj(&params, v));
  }
  tn_PrimFunc copy = *f;
  TN_GETP(copy.params, tn_arr_from(&params));
  tn_PrimFunc *fewer;
  TN_GETP(fewer, tn_node_copy(&tn_type_PrimFunc, &copy));
  TN_MUT(m, cases, x);
  return tn_mut_visit(&m, fewer);
}

/* tir.Specialize(function, map of parameters to Buffer or PrimExpr) -> PrimFunc */
static int f_specialize(TN_ARGS) {
  specializer x = {0};
  TN_NARGS("tir.Specialize", 2);
  TN_ARG_OBJ(PrimFunc, f, 0);
  TN_ARG_ITEMS(Map(Var, Object), map, 1);
  if (!map->len) return tn_ret_obj(ret, f);
  int err = 0;
  for (int64_t i = 0; !err && i < map->len; ++i) err = add_entry(&x, f, &map->entries[i]);
  tn_PrimFunc *r = err ? NULL : specialized(&x, f);
  tn_pmap_fini(&x.values);
  return tn_ret_obj(ret, r);
}

static const tn_func_row rows[] = {{"tir.Specialize", f_specialize}};

int specialize_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
