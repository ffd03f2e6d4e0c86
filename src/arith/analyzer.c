/* The analyzer: what is known of variables, conditions that hold, and proofs. */
#include "arith/arith_impl.h"
#include "arith/int_set.h"

#include "base/alloc.h"
#include "tenon/object.h"

/* ---- comparing ---- */

static bool same_args(const tn_Call *x, const tn_Call *y) {
  if (x->op != y->op || x->args->len != y->args->len) return false;
  for (int64_t i = 0; i < x->args->len; ++i)
    if (!arith_same(arith_arg(x, i), arith_arg(y, i))) return false;
  return true;
}

static bool same_plain(tn_any x, tn_any y) {
  int r = tn_equal_any(x, y, 0);
  if (r < 0) tn_error_clear();
  return r == 1;
}

/* Expressions and arrays of them by content, text too; anything else (buffers, operators, bound
   variables) is the same only if it is one object. Structural equality would take two buffers that
   look alike for one. */
static bool same_value(tn_any x, tn_any y) {
  if (!tn_any_is_obj(&x) || !tn_any_is_obj(&y)) return same_plain(x, y);
  const tn_obj *a = x.v.obj, *b = y.v.obj;
  if (a == b) return true;
  if (a->type_index == TN_TI_String) return same_plain(x, y);
  if (tn_obj_is(a, &tn_type_PrimExpr) && tn_obj_is(b, &tn_type_PrimExpr))
    return arith_same((const tn_expr *)a, (const tn_expr *)b);
  if (a->type_index != TN_TI_Array || b->type_index != TN_TI_Array) return false;
  const tn_arr *l = (const tn_arr *)a, *r = (const tn_arr *)b;
  if (l->len != r->len) return false;
  for (int64_t i = 0; i < l->len; ++i)
    if (!same_value(l->items[i], r->items[i])) return false;
  return true;
}

static bool same_any(const tn_expr *x, const tn_expr *y) {
  const tn_type *t = x->hdr.type;
  if (arith_deep()) return false;
  for (uint16_t i = 0; i < t->nfield; ++i) {
    const tn_field *f = &t->fields[i];
    if (f->flags & TN_NOCMP) continue;
    if (!same_value(tn_field_get(&x->hdr, f), tn_field_get(&y->hdr, f))) return false;
  }
  return true;
}

bool arith_same(const tn_expr *x, const tn_expr *y) {
  if (x == y) return true;
  if (!x || !y || x->hdr.type_index != y->hdr.type_index) return false;
  if (tn_obj_is(x, &tn_type_PrimExpr) && !tn_dtype_eq(x->dtype, y->dtype)) return false;
  const tn_BinaryOp *bx = TN_AS_BINARY(x), *by = TN_AS_BINARY(y);
  if (bx) return !arith_deep() && arith_same(bx->a, by->a) && arith_same(bx->b, by->b);
  switch (x->hdr.type_index) {
  case TN_TI_IntImm: return ((const tn_IntImm *)x)->value == ((const tn_IntImm *)y)->value;
  case TN_TI_Var:
  case TN_TI_SizeVar:
  case TN_TI_Any: return false; /* two unknown extents may differ */
  case TN_TI_Cast: return arith_same(((const tn_Cast *)x)->value, ((const tn_Cast *)y)->value);
  case TN_TI_Not: return arith_same(((const tn_Not *)x)->a, ((const tn_Not *)y)->a);
  case TN_TI_Broadcast:
    return arith_same(((const tn_Broadcast *)x)->value, ((const tn_Broadcast *)y)->value);
  case TN_TI_Call: return same_args((const tn_Call *)x, (const tn_Call *)y);
  default: return same_any(x, y);
  }
}

/* ---- variables ---- */

arith_var *arith_known(const arith_analyzer *a, const tn_expr *e) {
  return a->vars.len ? tn_pmap_get(&a->vars, e) : NULL;
}

static void drop_var(arith_var *v) {
  if (!v) return;
  tn_release(v->var);
  tn_release(v->value);
  tn_release(v->lo);
  tn_release(v->hi);
  tn_free(v);
}

static arith_var *record_of(arith_analyzer *a, tn_Var *v) {
  arith_var *r = tn_pmap_get(&a->vars, v);
  if (r) return r;
  TN_GETP(r, tn_alloc_zero(1, sizeof *r));
  r->bound = arith_everything();
  r->modular = (arith_modular){1, 0};
  if (tn_pmap_put(&a->vars, v, r)) {
    tn_free(r);
    return NULL;
  }
  tn_retain(v);
  r->var = v;
  return r;
}

static void keep(tn_expr **slot, tn_expr *e) {
  tn_retain(e);
  tn_release(*slot);
  *slot = e;
}

static int conflict(const tn_Var *v, const char *what) {
  return TN_RAISE(ValueError, v->span,
                  "variable %s: its %s is already known and differs from what is given now "
                  "(override=True replaces it)",
                  tn_cstr(v->name), what);
}

/* Are these the ends of the type rather than limits? [0, the largest number] is such a range. */
static bool is_open(tn_dtype t, arith_bound b) {
  arith_bound all = arith_dtype_bound(t);
  if (b.min > all.min && b.max < all.max) return false;
  if (b.min <= ARITH_NEG_INF || b.max == ARITH_POS_INF) return true;
  return b.max - b.min >= all.max - 1;
}

int arith_set_bound(arith_analyzer *a, tn_Var *v, arith_bound b, bool override) {
  arith_var *r;
  TN_GET(r, record_of(a, v));
  if (r->has_bound && !override && (r->bound.min != b.min || r->bound.max != b.max))
    return conflict(v, "bound");
  r->bound = b, r->has_bound = true;
  r->open = is_open(((tn_expr *)v)->dtype, b);
  return 0;
}

int arith_set_modular(arith_analyzer *a, tn_Var *v, arith_modular m, bool override) {
  arith_var *r;
  TN_GET(r, record_of(a, v));
  m = arith_modular_of(m.coeff, m.base);
  if (r->has_modular && !override && (r->modular.coeff != m.coeff || r->modular.base != m.base))
    return conflict(v, "modular set");
  r->modular = m, r->has_modular = true;
  return 0;
}

int arith_set_interval(arith_analyzer *a, tn_Var *v, tn_IntervalSet *s, bool override) {
  arith_var *r;
  TN_GET(r, record_of(a, v));
  if (r->lo && !override && !(arith_same(r->lo, s->min_value) && arith_same(r->hi, s->max_value)))
    return conflict(v, "interval");
  keep(&r->lo, s->min_value);
  keep(&r->hi, s->max_value);
  return 0;
}

static void know(arith_analyzer *a, arith_var *r, const tn_expr *value) {
  r->bound = arith_const_bound(a, value), r->has_bound = true;
  r->modular = arith_modular_set(a, value), r->has_modular = true;
  arith_value_origin(a, value, &r->data, &r->open);
}

enum { MAX_VALUE = 256 }; /* nodes of a value that takes its variable's place */

int arith_bind(arith_analyzer *a, tn_Var *v, tn_expr *value, bool override) {
  arith_var *r;
  if (!v || !value) return -1; /* an error is pending */
  TN_GET(value, arith_simplify(a, value));
  TN_GET(r, record_of(a, v));
  bool known = r->value || r->has_bound || r->lo;
  if (known && !override && !(r->value && arith_prove_equal(a, r->value, value)))
    return conflict(v, r->value ? "value" : "range");
  tir_effect effect;
  TN_TRY(tir_effect_of(value, &effect));
  know(a, r, value);
  /* another time it is another one; chains of large values would grow with every step */
  if (effect > TIR_EFFECT_PURE || tir_is_larger(value, MAX_VALUE)) value = NULL;
  keep(&r->value, value);
  keep(&r->lo, value);
  keep(&r->hi, value);
  return 0;
}

int arith_know_value(arith_analyzer *a, tn_Var *v, tn_expr *value) {
  arith_var *r;
  if (!v || !value) return -1; /* an error is pending */
  TN_GET(r, record_of(a, v));
  arith_unbind(a, v);
  know(a, r, value);
  return 0;
}

int arith_know_between(arith_analyzer *a, tn_Var *v, const tn_expr *min, const tn_expr *max) {
  const tn_expr *ends[] = {min, max};
  arith_bound b = arith_everything();
  bool open = false;
  for (int i = 0; i < 2; ++i) {
    bool end_data, end_open;
    if (arith_is_inf(ends[i])) continue;
    arith_bound end = arith_const_bound(a, ends[i]);
    arith_value_origin(a, ends[i], &end_data, &end_open);
    *(i ? &b.max : &b.min) = i ? end.max : end.min;
    open |= end_data || end_open;
  }
  TN_TRY(arith_set_bound(a, v, b, true));
  arith_var *r;
  TN_GET(r, record_of(a, v));
  r->open |= open;
  return 0;
}

static _Thread_local arith_origin origin;

arith_origin arith_set_origin(arith_origin o) {
  arith_origin before = origin;
  origin = o;
  return before;
}

bool arith_var_is_data(const tn_expr *v) {
  return origin.is_data && origin.is_data(origin.ctx, (const tn_Var *)v);
}

int arith_bind_range(arith_analyzer *a, tn_Var *v, const tn_Range *range, bool override) {
  if (!v || !range) return -1; /* an error is pending */
  if (tir_is_one(range->extent)) return arith_bind(a, v, range->min, override);
  arith_var *r;
  tn_expr *min, *extent, *max;
  TN_GET(min, arith_simplify(a, range->min));
  TN_GET(extent, arith_simplify(a, range->extent));
  TN_GET(max, tir_add(min, tir_sub(extent, tir_one(extent->dtype))));
  TN_GET(max, arith_simplify(a, max));
  TN_GET(r, record_of(a, v));
  bool same = r->lo && !r->value && arith_same(r->lo, min) && arith_same(r->hi, max);
  if ((r->value || r->has_bound || r->lo) && !override && !same) return conflict(v, "range");
  int64_t top = arith_sat_add(arith_const_bound(a, min).max,
                              arith_sat_add(arith_const_bound(a, extent).max, -1));
  arith_bound whole = {arith_const_bound(a, min).min, top};
  int64_t direct = arith_const_bound(a, max).max;
  if (direct < whole.max) whole.max = direct;
  bool data[2], open[2];
  arith_value_origin(a, min, &data[0], &open[0]);
  arith_value_origin(a, extent, &data[1], &open[1]);
  r->open = data[0] || data[1] || open[0] || open[1];
  tir_effect effects[2];
  TN_TRY(tir_effect_of(min, &effects[0]));
  TN_TRY(tir_effect_of(max, &effects[1]));
  bool stays = effects[0] <= TIR_EFFECT_PURE && effects[1] <= TIR_EFFECT_PURE;
  keep(&r->value, NULL);
  keep(&r->lo, stays ? min : NULL);
  keep(&r->hi, stays ? max : NULL);
  r->bound = whole, r->has_bound = true;
  r->has_modular = false;
  return 0;
}

void arith_unbind(arith_analyzer *a, const tn_Var *v) {
  tn_pmap_slot *s = tn_pmap_has(&a->vars, v) ? tn_pmap_slot_of(&a->vars, v) : NULL;
  arith_var *r = s ? s->v.ptr : NULL;
  if (!r) return;
  /* the slot stays, its key alive, and says that nothing is known */
  keep(&r->value, NULL);
  keep(&r->lo, NULL);
  keep(&r->hi, NULL);
  r->has_bound = r->has_modular = r->data = r->open = false;
  r->bound = arith_everything();
  r->modular = (arith_modular){1, 0};
}

void arith_fini(arith_analyzer *a) {
  arith_leave(a, 0);
  tn_free(a->facts);
  for (size_t i = 0; i < a->vars.cap; ++i)
    if (a->vars.slots[i].key) drop_var(a->vars.slots[i].v.ptr);
  tn_pmap_fini(&a->vars);
  *a = (arith_analyzer){0};
}

/* ---- conditions that hold ---- */

static int add_fact(arith_analyzer *a, tn_expr *cond, tn_expr *e, arith_bound b, arith_modular m) {
  TN_GROW(a->facts, a->cap, a->nfacts + 1, return -1);
  tn_retain(cond);
  tn_retain(e);
  a->facts[a->nfacts++] = (arith_fact){.cond = cond, .expr = e, .bound = b, .modular = m};
  return 0;
}

static int add_bound(arith_analyzer *a, tn_expr *e, int64_t min, int64_t max) {
  if ((min <= ARITH_NEG_INF && max == ARITH_POS_INF) || !ir_is_integral(e->dtype) ||
      e->hdr.type_index == TN_TI_IntImm)
    return 0;
  return add_fact(a, NULL, e, (arith_bound){min, max}, (arith_modular){1, 0});
}

/* x < y (gap 1) or x <= y (gap 0) */
static int add_order(arith_analyzer *a, tn_expr *x, tn_expr *y, int64_t gap) {
  if (!ir_is_integral(x->dtype)) return 0;
  arith_bound bx = arith_const_bound(a, x), by = arith_const_bound(a, y);
  TN_TRY(add_bound(a, x, ARITH_NEG_INF, arith_sat_add(by.max, -gap)));
  return add_bound(a, y, arith_sat_add(bx.min, gap), ARITH_POS_INF);
}

static int add_equality(arith_analyzer *a, tn_expr *x, tn_expr *y) {
  if (!ir_is_integral(x->dtype)) return 0;
  arith_bound b = arith_intersect(arith_const_bound(a, x), arith_const_bound(a, y));
  const tn_BinaryOp *mod = TN_IS(FloorMod, x) || TN_IS(Mod, x) ? TN_AS_BINARY(x) : NULL;
  int64_t c, r;
  TN_TRY(add_bound(a, x, b.min, b.max));
  TN_TRY(add_bound(a, y, b.min, b.max));
  if (mod && tir_as_int((tn_obj *)mod->b, &c) && c > 0 && tir_as_int((tn_obj *)y, &r))
    return add_fact(a, NULL, mod->a, arith_everything(), arith_modular_of(c, r));
  return 0;
}

static int add_inequality(arith_analyzer *a, tn_expr *x, tn_expr *y) {
  int64_t c;
  if (!ir_is_integral(x->dtype) || !tir_as_int((tn_obj *)y, &c)) return 0;
  arith_bound b = arith_const_bound(a, x);
  if (b.min == c) return add_bound(a, x, arith_sat_add(c, 1), b.max);
  if (b.max == c) return add_bound(a, x, b.min, arith_sat_add(c, -1));
  return 0;
}

/* @param most of what evaluating the condition may do */
static int add_condition(arith_analyzer *a, tn_expr *cond, tir_effect most) {
  const tn_BinaryOp *e = TN_AS_BINARY(cond);
  tn_Call *likely = tir_as_call((tn_obj *)cond, TIR_OP_likely);
  if (likely) return add_condition(a, arith_arg(likely, 0), most);
  if (e && e->hdr.type_index == TN_TI_And) {
    TN_TRY(add_condition(a, e->a, most));
    return add_condition(a, e->b, most);
  }
  tir_effect effect;
  TN_TRY(tir_effect_of(cond, &effect));
  if (effect > most) return 0;
  TN_TRY(add_fact(a, cond, NULL, arith_everything(), (arith_modular){1, 0}));
  if (!e) return 0;
  switch (e->hdr.type_index) {
  case TN_TI_LT: return add_order(a, e->a, e->b, 1);
  case TN_TI_LE: return add_order(a, e->a, e->b, 0);
  case TN_TI_GT: return add_order(a, e->b, e->a, 1);
  case TN_TI_GE: return add_order(a, e->b, e->a, 0);
  case TN_TI_EQ: return add_equality(a, e->a, e->b);
  case TN_TI_NE: return add_inequality(a, e->a, e->b);
  default: return 0;
  }
}

/* @param cond simplified */
static int64_t enter(arith_analyzer *a, tn_expr *cond, tir_effect most) {
  int64_t mark = a->nfacts;
  if (cond && add_condition(a, cond, most) == 0) return mark;
  arith_leave(a, mark);
  return tn_trace(__FILE__, __LINE__, __func__);
}

int64_t arith_enter(arith_analyzer *a, tn_expr *cond) {
  return cond ? enter(a, arith_rewrite_simplify(a, cond), TIR_EFFECT_PURE) : -1;
}

int64_t arith_enter_for(arith_analyzer *a, tn_expr *cond, const tn_expr *within) {
  if (!cond || !within) return -1; /* an error is pending */
  tir_effect effect;
  TN_TRY(tir_effect_of(within, &effect));
  return enter(a, cond, effect <= TIR_EFFECT_READ ? TIR_EFFECT_READ : TIR_EFFECT_PURE);
}

void arith_leave(arith_analyzer *a, int64_t mark) {
  while (a->nfacts > mark) {
    arith_fact *f = &a->facts[--a->nfacts];
    tn_release(f->cond);
    tn_release(f->expr);
  }
}

/* ---- simplification and proofs ---- */

tn_expr *arith_simplify_steps(arith_analyzer *a, tn_expr *e, int steps) {
  for (int i = 0; i < steps && e && e->hdr.type_index != TN_TI_IntImm; ++i)
    e = i % 2 == 0 ? arith_rewrite_simplify(a, e) : arith_canonical_simplify(a, e);
  return e;
}

tn_expr *arith_simplify(arith_analyzer *a, tn_expr *e) { return arith_simplify_steps(a, e, 2); }

bool arith_prove(arith_analyzer *a, tn_expr *cond) {
  TN_SCOPE(s);
  if (!cond) return tn_error_clear(), false;
  if (tir_is_one(cond)) return true;
  tn_expr *r = arith_rewrite_simplify(a, cond);
  if (r && !TN_AS(IntImm, r)) r = arith_canonical_simplify(a, r);
  if (!r) tn_error_clear();
  return r && tir_is_one(r);
}

/* Bounds are found through variables' bounds, so both strengths do the same so far as constants go.
 */
bool arith_prove_with(arith_analyzer *a, tn_expr *cond, arith_strength strength) {
  (void)strength;
  return arith_prove(a, cond);
}

bool arith_prove_equal(arith_analyzer *a, tn_expr *x, tn_expr *y) {
  TN_SCOPE(s);
  if (!x || !y) return tn_error_clear(), false;
  if (arith_same(x, y)) return true;
  if (TN_AS(IntImm, x) && TN_AS(IntImm, y))
    return ((tn_IntImm *)x)->value == ((tn_IntImm *)y)->value;
  if (!ir_is_integral(x->dtype) || !ir_is_integral(y->dtype)) return false;
  tn_expr *d = tir_sub(x, y);
  if (d) d = arith_simplify(a, d);
  if (!d) tn_error_clear();
  return d && tir_is_zero(d);
}
