/* See known_values.h. A fact is an array
     [buffer, indices, value, when, variables, ranges, whether from a store]:
   for all values of the variables in their ranges where `when` holds, the element has the value. */
#include "tir/transforms/simplify/known_values.h"

enum { BUFFER, INDICES, VALUE, WHEN, VARS, RANGES, STORED, NFIELDS };
enum { MAX_VALUE = 64 }; /* nodes of a value that is remembered */
enum { MAX_LANES = 16 }; /* of a store of which each element is remembered */

static tn_expr *expr_of(const tn_arr *fact, int field) {
  return (tn_expr *)tn_arr_obj(fact, field);
}
static tn_arr *list_of(const tn_arr *fact, int field) { return (tn_arr *)tn_arr_obj(fact, field); }
static tn_arr *fact_at(const tn_vec *facts, int64_t i) { return (tn_arr *)facts->items[i].v.obj; }
static const tn_Buffer *buffer_of(const tn_arr *fact) {
  return (const tn_Buffer *)tn_arr_obj(fact, BUFFER);
}

int tir_known_copy(const tn_vec *facts, tn_vec *out) {
  out->len = 0;
  for (int64_t i = 0; i < facts->len; ++i) TN_TRY(tn_vec_push(out, facts->items[i]));
  return 0;
}

static int add_fact(tir_known *x, const void *buffer, const void *indices, tn_expr *value,
                    tn_expr *when, tn_arr *vars, tn_arr *ranges, bool stored) {
  tn_arr *fact = tn_arr_of(NFIELDS, buffer, indices, value, when, vars, ranges, tir_bool(stored));
  return tn_vec_push_obj(&x->facts, fact);
}

/* ---- forgetting ---- */

static void forget_buffer(tir_known *x, const tn_Var *data) {
  int64_t n = 0;
  for (int64_t i = 0; i < x->facts.len; ++i)
    if (buffer_of(fact_at(&x->facts, i))->data != data) x->facts.items[n++] = x->facts.items[i];
  x->facts.len = n;
}

/* Is an axis of the fact's element another than the store's? Elements of views with
   their own strides may share memory. */
static bool is_elsewhere(tir_known *x, const tn_arr *fact, const tn_BufferStore *s) {
  const tn_arr *own = list_of(fact, INDICES);
  if (buffer_of(fact) != s->buffer || s->buffer->strides->len || list_of(fact, VARS)->len)
    return false;
  for (int64_t i = 0; i < own->len && i < s->indices->len; ++i) {
    tn_expr *a = (tn_expr *)tn_arr_obj(own, i), *b = (tn_expr *)tn_arr_obj(s->indices, i);
    if (a->dtype.lanes == 1 && b->dtype.lanes == 1 && arith_prove(x->a, tir_ne(a, b))) return true;
  }
  return false;
}

static void forget_stored(tir_known *x, const tn_BufferStore *s) {
  int64_t n = 0;
  for (int64_t i = 0; i < x->facts.len; ++i) {
    const tn_arr *f = fact_at(&x->facts, i);
    if (buffer_of(f)->data != s->buffer->data || is_elsewhere(x, f, s))
      x->facts.items[n++] = x->facts.items[i];
  }
  x->facts.len = n;
}

/* A variable that goes out of scope. */
static void forget_var(tir_known *x, const tn_Var *v) {
  int64_t n = 0;
  for (int64_t i = 0; i < x->facts.len; ++i)
    if (!tir_uses_var(fact_at(&x->facts, i), v)) x->facts.items[n++] = x->facts.items[i];
  x->facts.len = n;
}

static int forget_written(void *ctx, tn_obj *o) {
  const tn_BufferStore *s = TN_AS(BufferStore, o);
  const tn_Call *c = TN_AS(Call, o);
  if (s) forget_buffer(ctx, s->buffer->data);
  /* what is called may write through any pointer that it is given */
  if (!c || tir_call_effect((tn_obj *)c->op) <= TIR_EFFECT_READ) return 0;
  for (int64_t i = 0; i < c->args->len; ++i) {
    const tn_obj *a = tn_arr_obj(c->args, i);
    const tn_BufferLoad *l = TN_AS(BufferLoad, a);
    if (l) forget_buffer(ctx, l->buffer->data);
    if (TN_IS(Var, a)) forget_buffer(ctx, (const tn_Var *)a);
    TN_TRY(tn_post_order(a, forget_written, ctx));
  }
  return 0;
}

/* Pointers deeper within a call's arguments: address_of, tvm_access_ptr. */
static int forget_pointers(void *ctx, tn_obj *o) {
  const tn_BufferLoad *l = TN_AS(BufferLoad, o);
  if (l) forget_buffer(ctx, l->buffer->data);
  if (TN_IS(Var, o)) forget_buffer(ctx, (const tn_Var *)o);
  return 0;
}
static int forget_calls(void *ctx, tn_obj *o) {
  const tn_Call *c = TN_AS(Call, o);
  if (!c || tir_call_effect((tn_obj *)c->op) <= TIR_EFFECT_READ) return 0;
  return tn_post_order(c->args, forget_pointers, ctx);
}
static int forget_in(tir_known *x, const void *program) {
  TN_TRY(tn_post_order(program, forget_written, x));
  return tn_post_order(program, forget_calls, x);
}

/* ---- asking ---- */

/* The number of a fact's variable, or -1. */
static int64_t var_number(const tn_arr *vars, const tn_obj *v) {
  for (int64_t i = 0; i < vars->len; ++i)
    if (tn_arr_obj(vars, i) == v) return i;
  return -1;
}

static bool binds_any(const tn_arr *vars, const tn_expr *e) {
  for (int64_t i = 0; i < vars->len; ++i)
    if (tir_uses_var(e, (const tn_Var *)tn_arr_obj(vars, i))) return true;
  return false;
}

static bool is_inside(tir_known *x, tn_expr *e, const tn_Range *r) {
  return arith_prove(x->a, tir_ge(e, r->min)) &&
         arith_prove(x->a, tir_lt(e, tir_add(r->min, r->extent)));
}

/* The values of the fact's variables at which it is about these indices. 1, or 0 when there are
   none. */
static int match(tir_known *x, const tn_arr *fact, const tn_arr *indices, tn_pmap *at) {
  const tn_arr *own = list_of(fact, INDICES), *vars = list_of(fact, VARS);
  if (own->len != indices->len) return 0;
  for (int64_t i = 0; i < own->len; ++i) {
    tn_expr *want = (tn_expr *)tn_arr_obj(own, i), *e = (tn_expr *)tn_arr_obj(indices, i);
    int64_t k = var_number(vars, (tn_obj *)want);
    if (e->dtype.lanes != 1) return 0;
    if (k >= 0 && !tn_pmap_has(at, want)) {
      if (!is_inside(x, e, (const tn_Range *)tn_arr_obj(list_of(fact, RANGES), k))) return 0;
      TN_TRY(tn_pmap_put(at, want, e));
    } else if (k >= 0 || binds_any(vars, want) || !arith_prove_equal(x->a, want, e)) {
      return 0;
    }
  }
  for (int64_t i = 0; i < vars->len; ++i)
    if (!tn_pmap_has(at, tn_arr_obj(vars, i))) return 0;
  return 1;
}

/* What a fact says of an element: *out stays NULL when it says nothing. */
static int ask(tir_known *x, const tn_arr *fact, const tn_arr *indices, tn_expr **out) {
  tn_pmap at = {0};
  int good = match(x, fact, indices, &at);
  tn_expr *when = good > 0 ? tir_substitute(expr_of(fact, WHEN), &at) : NULL;
  if (when && arith_prove(x->a, when)) *out = tir_substitute(expr_of(fact, VALUE), &at);
  tn_pmap_fini(&at);
  return good < 0 || (good > 0 && !when) ? -1 : 0;
}

static int value_of(tir_known *x, const tn_Buffer *b, const tn_arr *indices, tn_expr **out) {
  *out = NULL;
  for (int64_t i = x->facts.len; i-- > 0 && !*out;)
    if (buffer_of(fact_at(&x->facts, i)) == b) TN_TRY(ask(x, fact_at(&x->facts, i), indices, out));
  return 0;
}

static tn_obj *known_load(tn_mut *m, tn_BufferLoad *op) {
  tn_BufferLoad *r = tn_mut_children(m, op);
  tn_expr *value;
  if (!r) return NULL;
  TN_TRYP(value_of(m->ctx, r->buffer, r->indices, &value));
  return value ? (tn_obj *)value : (tn_obj *)r;
}
static tn_obj *skip(tn_mut *m, tn_obj *o) {
  (void)m;
  return o;
}

/* The expression with loads replaced by what is known. */
static tn_expr *with_values(tir_known *x, tn_expr *e) {
  static const tn_mut_case cases[] = {TN_CASE(BufferLoad, known_load), TN_CASE(Buffer, skip)};
  if (!e || x->facts.len == 0) return e;
  TN_MUT(m, cases, x);
  return tn_mut_visit(&m, e);
}

/* ---- learning ---- */

/* Lane k of a vector; NULL without an error when it is none that is spelled out. */
static tn_expr *lane_of(tn_expr *e, int k) {
  const tn_Ramp *r = TN_AS(Ramp, e);
  const tn_Broadcast *b = TN_AS(Broadcast, e);
  if (e->dtype.lanes == 1) return e;
  if (b) return b->value->dtype.lanes == 1 ? b->value : NULL;
  if (!r || r->base->dtype.lanes != 1) return NULL;
  return tir_add(r->base, tir_mul(r->stride, tir_const_int(r->stride->dtype, k)));
}

/* Does every lane go to its own element? */
static bool are_distinct(const tn_arr *indices) {
  for (int64_t i = 0; i < indices->len; ++i) {
    const tn_Ramp *r = TN_AS(Ramp, tn_arr_obj(indices, i));
    if (r && TN_IS(IntImm, r->stride) && !tir_is_zero(r->stride)) return true;
  }
  return false;
}

static int note_lanes(tir_known *x, const tn_BufferStore *s, tn_expr *value) {
  tn_arr *none = tn_arr_of(0), *indices;
  int lanes = value->dtype.lanes;
  bool several = lanes > 1 && lanes <= MAX_LANES && s->buffer->dtype.lanes == 1;
  if (!several || !are_distinct(s->indices)) return 0;
  for (int k = 0; k < lanes; ++k) {
    TN_VEC(at);
    tn_expr *v = lane_of(value, k);
    bool known = v && tir_is_pure(v);
    for (int64_t i = 0; known && i < s->indices->len; ++i) {
      tn_expr *e = lane_of((tn_expr *)tn_arr_obj(s->indices, i), k);
      known = e && tir_is_pure(e);
      if (known) TN_TRY(tn_vec_push_obj(&at, e));
    }
    if (!known) return tn_error_pending() ? -1 : 0;
    TN_GET(indices, tn_arr_from(&at));
    TN_TRY(add_fact(x, s->buffer, indices, v, tir_bool(true), none, none, true));
  }
  return 0;
}

/* @param value what is stored, as far as it is known */
static int note_store(tir_known *x, const tn_BufferStore *s, tn_expr *value) {
  forget_stored(x, s);
  if (x->opaque || !tir_is_pure(value) || tir_is_larger(value, MAX_VALUE)) return 0;
  if (value->dtype.lanes != s->buffer->dtype.lanes) return note_lanes(x, s, value);
  for (int64_t i = 0; i < s->indices->len; ++i)
    if (!tir_is_pure((const tn_expr *)tn_arr_obj(s->indices, i))) return 0;
  tn_arr *none = tn_arr_of(0);
  return add_fact(x, s->buffer, s->indices, value, tir_bool(true), none, none, true);
}

static int note_assumed(tir_known *x, tn_expr *cond, tn_expr *when) {
  const tn_BinaryOp *b = TN_AS_BINARY(cond);
  const tn_Call *likely = tir_as_call((tn_obj *)cond, TIR_OP_likely);
  if (likely) return note_assumed(x, (tn_expr *)tn_arr_obj(likely->args, 0), when);
  if (!when) return -1;
  if (TN_IS(And, cond)) {
    TN_TRY(note_assumed(x, b->a, when));
    return note_assumed(x, b->b, when);
  }
  if (TN_IS(Or, cond)) {
    if (tir_is_pure(b->b)) TN_TRY(note_assumed(x, b->a, tir_and(when, tir_not(b->b, NULL))));
    if (tir_is_pure(b->a)) TN_TRY(note_assumed(x, b->b, tir_and(when, tir_not(b->a, NULL))));
    return 0;
  }
  if (!TN_IS(EQ, cond)) return 0;
  const tn_BufferLoad *l = TN_AS(BufferLoad, b->a);
  tn_expr *value = l ? b->b : b->a;
  if (!l) l = TN_AS(BufferLoad, b->b);
  if (!l || !tir_is_pure(value)) return 0;
  for (int64_t i = 0; i < l->indices->len; ++i)
    if (!tir_is_pure((const tn_expr *)tn_arr_obj(l->indices, i))) return 0;
  tn_arr *none = tn_arr_of(0);
  return add_fact(x, l->buffer, l->indices, value, when, none, none, false);
}

/* ---- loops: what holds after one iteration, after all of them ---- */

typedef struct {
  const tn_Var *data;
  int stores;
} counter;

static int count_store(void *ctx, tn_obj *o) {
  counter *c = ctx;
  const tn_BufferStore *s = TN_AS(BufferStore, o);
  if (!s || s->buffer->data != c->data) return 0;
  /* one of several elements may be stored again by another iteration */
  c->stores += s->value->dtype.lanes == s->buffer->dtype.lanes ? 1 : 2;
  return 0;
}

/* Is the variable one of the indices, and nowhere else in them? */
static bool is_plain_index(const tn_arr *indices, const tn_Var *v) {
  int times = 0;
  for (int64_t i = 0; i < indices->len; ++i) {
    const tn_expr *e = (const tn_expr *)tn_arr_obj(indices, i);
    if (e == (const tn_expr *)v) ++times;
    else if (tir_uses_var(e, v)) return false;
  }
  return times == 1;
}

static tn_arr *appended(const tn_arr *a, void *o) {
  TN_VEC(v);
  for (int64_t i = 0; i < a->len; ++i) TN_TRYP(tn_vec_push(&v, a->items[i]));
  TN_TRYP(tn_vec_push_obj(&v, o));
  return tn_arr_from(&v);
}

/* A fact of the last iteration: kept as it is, for all iterations, or not. */
static int after_loop(tir_known *x, const tn_For *op, tn_arr *fact) {
  counter c = {.data = buffer_of(fact)->data};
  const tn_Var *v = op->loop_var;
  TN_TRY(tn_post_order(op->body, count_store, &c));
  bool stored = tir_is_const((tn_obj *)expr_of(fact, STORED), 1);
  if (c.stores > (stored ? 1 : 0)) return 0; /* another iteration may have stored there */
  if (!tir_uses_var(fact, v)) {
    if (!arith_prove_ge(x->a, op->extent, 1)) return 0;
    return tn_vec_push_obj(&x->facts, fact);
  }
  if (!is_plain_index(list_of(fact, INDICES), v)) return 0;
  tn_arr *vars, *ranges;
  TN_GET(vars, appended(list_of(fact, VARS), op->loop_var));
  TN_GET(ranges, appended(list_of(fact, RANGES), tir_range(op->min, op->extent)));
  return add_fact(x, tn_arr_obj(fact, BUFFER), list_of(fact, INDICES), expr_of(fact, VALUE),
                  expr_of(fact, WHEN), vars, ranges, stored);
}

/* Do all stores to a buffer go to elements that other iterations do not store to? */
typedef struct {
  const tn_For *loop;
  const tn_Buffer *buffer;
  int64_t axis; /* where the loop's variable is the index; -1: none or several */
  bool shared;
} own_elements;

static int look_at_access(void *ctx, tn_obj *o) {
  own_elements *w = ctx;
  const tn_BufferStore *s = TN_AS(BufferStore, o);
  const tn_Call *c = TN_AS(Call, o);
  if (c && tir_call_effect((tn_obj *)c->op) > TIR_EFFECT_READ) w->shared = true;
  if (!s || s->buffer->data != w->buffer->data) return 0;
  bool own = s->buffer == w->buffer && w->axis < s->indices->len &&
             tn_arr_obj(s->indices, w->axis) == (tn_obj *)w->loop->loop_var;
  w->shared |= !own || s->value->dtype.lanes != s->buffer->dtype.lanes;
  return 0;
}

/* A fact about all elements along an axis of which each iteration stores to its own: what it says
   of the iteration's. */
static int begin_of_iteration(tir_known *x, const tn_For *op, const tn_arr *fact, tn_vec *out) {
  const tn_arr *own = list_of(fact, INDICES), *vars = list_of(fact, VARS);
  own_elements w = {.loop = op, .buffer = buffer_of(fact), .axis = -1};
  if (vars->len != 1 || op->kind != TIR_FOR_SERIAL || w.buffer->strides->len) return 0;
  for (int64_t i = 0; i < own->len; ++i)
    if (tn_arr_obj(own, i) == tn_arr_obj(vars, 0)) w.axis = i;
  if (w.axis < 0 || !is_inside(x, (tn_expr *)op->loop_var,
                               (const tn_Range *)tn_arr_obj(list_of(fact, RANGES), 0)))
    return 0;
  TN_TRY(tn_post_order(op->body, look_at_access, &w));
  if (w.shared) return 0;
  TN_PMAP(at);
  TN_TRY(tn_pmap_put(&at, tn_arr_obj(vars, 0), op->loop_var));
  tn_arr *none = tn_arr_of(0), *indices = tir_substitute(own, &at);
  tn_expr *value = tir_substitute(expr_of(fact, VALUE), &at);
  tn_expr *when = tir_substitute(expr_of(fact, WHEN), &at);
  if (!none || !indices || !value || !when) return -1;
  return tn_vec_push_obj(
      out, tn_arr_of(NFIELDS, w.buffer, indices, value, when, none, none, tir_bool(false)));
}

static bool has(const tn_vec *facts, const void *fact) {
  for (int64_t i = 0; i < facts->len; ++i)
    if (facts->items[i].v.obj == (const tn_obj *)fact) return true;
  return false;
}

static tn_obj *follow_for(tn_mut *m, tn_For *op) {
  tir_known *x = m->ctx;
  TN_VEC(before);
  TN_VEC(inside);
  tn_For copy = *op;
  if (x->use & TIR_KNOWN_VALUES) {
    TN_GETP(copy.min, with_values(x, op->min));
    TN_GETP(copy.extent, with_values(x, op->extent));
  }
  TN_VEC(all);
  TN_TRYP(tir_known_copy(&x->facts, &all));
  TN_TRYP(forget_in(x, op->body));
  TN_TRYP(tir_known_copy(&x->facts, &before));
  tn_Range *r = tir_range(copy.min, copy.extent);
  if (!r || arith_bind_range(x->a, op->loop_var, r, true)) return NULL;
  for (int64_t i = 0; i < all.len; ++i)
    if (!has(&before, fact_at(&all, i)))
      TN_TRYP(begin_of_iteration(x, op, fact_at(&all, i), &x->facts));
  bool together = op->kind != TIR_FOR_SERIAL && op->kind != TIR_FOR_UNROLLED;
  x->together += together;
  int64_t mark = x->a->nfacts;
  tn_stmt *body = tn_mut_visit(m, op->body);
  arith_leave(x->a, mark);
  x->together -= together;
  arith_unbind(x->a, op->loop_var);
  if (!body) return NULL;
  TN_TRYP(tir_known_copy(&x->facts, &inside));
  x->facts.len = 0;
  for (int64_t i = 0; i < inside.len; ++i) {
    if (has(&before, fact_at(&inside, i))) TN_TRYP(tn_vec_push(&x->facts, inside.items[i]));
    else TN_TRYP(after_loop(x, op, fact_at(&inside, i)));
  }
  return (tn_obj *)tir_for_with(op, copy.min, copy.extent, body);
}

/* ---- conditions ---- */

/* Facts of one branch that are new hold where its condition does. */
static int add_new(tir_known *x, const tn_vec *branch, const tn_vec *before, tn_expr *cond) {
  if (!cond || !tir_is_pure(cond)) return cond ? 0 : -1;
  for (int64_t i = 0; i < branch->len; ++i) {
    tn_arr *f = fact_at(branch, i);
    tn_expr *when;
    if (has(before, f) || binds_any(list_of(f, VARS), cond)) continue;
    TN_GET(when, tir_and(expr_of(f, WHEN), cond));
    TN_TRY(add_fact(x, tn_arr_obj(f, BUFFER), list_of(f, INDICES), expr_of(f, VALUE), when,
                    list_of(f, VARS), list_of(f, RANGES),
                    tir_is_const((tn_obj *)expr_of(f, STORED), 1)));
  }
  return 0;
}

/* 0.0 == -0.0: which of them is there is not known. */
static int compares_floats(void *ctx, tn_obj *o) {
  (void)ctx;
  return TN_IS(EQ, o) && !ir_is_integral(((tn_EQ *)o)->a->dtype);
}

static tn_stmt *under(tn_mut *m, tn_expr *cond, tn_stmt *s) {
  tir_known *x = m->ctx;
  if (!cond) return NULL;
  int64_t mark = x->a->nfacts;
  if (tir_is_pure(cond) && arith_enter(x->a, cond) < 0) return NULL;
  /* what was read is there until it is stored to, unless another thread does, or the condition */
  bool stays = !x->together && !x->opaque && tir_side_effect(cond) <= TIR_EFFECT_READ;
  if (stays && !tn_post_order(cond, compares_floats, NULL))
    TN_TRYP(note_assumed(x, cond, tir_bool(true)));
  tn_stmt *r = tn_mut_visit(m, s);
  arith_leave(x->a, mark);
  return r;
}

static int merge(tir_known *x, const tn_vec *before, const tn_vec *yes, const tn_vec *no,
                 tn_expr *cond) {
  x->facts.len = 0;
  for (int64_t i = 0; i < before->len; ++i)
    if (has(yes, before->items[i].v.obj) && has(no, before->items[i].v.obj))
      TN_TRY(tn_vec_push(&x->facts, before->items[i]));
  TN_TRY(add_new(x, yes, before, cond));
  return add_new(x, no, before, tir_not(cond, NULL));
}

static tn_obj *follow_if(tn_mut *m, tn_IfThenElse *op) {
  tir_known *x = m->ctx;
  TN_VEC(before);
  TN_VEC(yes);
  TN_VEC(no);
  tn_IfThenElse copy = *op;
  int64_t decided;
  tn_expr *cond, *loads;
  TN_GETP(loads, with_values(x, op->condition));
  TN_GETP(cond, arith_simplify(x->a, loads));
  if (loads == op->condition && !TN_IS(IntImm, cond)) cond = op->condition;
  if (x->use & TIR_KNOWN_CONDITIONS && tir_as_int((tn_obj *)cond, &decided)) {
    tn_stmt *taken = decided ? op->then_case : op->else_case;
    return taken ? tn_mut_visit(m, taken) : (tn_obj *)tir_nop();
  }
  if (x->use & TIR_KNOWN_VALUES) copy.condition = cond;
  TN_TRYP(forget_in(x, op->condition));
  TN_TRYP(tir_known_copy(&x->facts, &before));
  TN_GETP(copy.then_case, under(m, copy.condition, op->then_case));
  TN_TRYP(tir_known_copy(&x->facts, &yes));
  TN_TRYP(tir_known_copy(&before, &x->facts));
  if (op->else_case)
    TN_GETP(copy.else_case, under(m, tir_not(copy.condition, NULL), op->else_case));
  TN_TRYP(tir_known_copy(&x->facts, &no));
  bool same = copy.condition == op->condition && copy.then_case == op->then_case &&
              copy.else_case == op->else_case;
  tn_stmt *r = same ? (tn_stmt *)op : tn_node_copy(&tn_type_IfThenElse, &copy);
  TN_TRYP(tir_known_copy(&before, &x->facts));
  if (r && x->on_if) r = x->on_if(x, (tn_IfThenElse *)r);
  return r && !merge(x, &before, &yes, &no, copy.condition) ? (tn_obj *)r : NULL;
}

/* ---- other statements ---- */

static tn_obj *follow_store(tn_mut *m, tn_BufferStore *op) {
  tir_known *x = m->ctx;
  tn_BufferStore copy = *op;
  tn_expr *there;
  if (x->use & TIR_KNOWN_VALUES) {
    TN_VEC(v);
    for (int64_t i = 0; i < op->indices->len; ++i)
      TN_TRYP(tn_vec_push_obj(&v, with_values(x, (tn_expr *)tn_arr_obj(op->indices, i))));
    TN_GETP(copy.indices, tn_arr_from(&v));
    TN_GETP(copy.value, with_values(x, op->value));
  }
  if (x->use & TIR_KNOWN_STORES && op->value->dtype.lanes == op->buffer->dtype.lanes) {
    TN_TRYP(value_of(x, op->buffer, copy.indices, &there));
    if (there && arith_same(there, copy.value)) return (tn_obj *)tir_nop();
  }
  tn_expr *value;
  TN_GETP(value, with_values(x, copy.value));
  if (value != copy.value) TN_GETP(value, arith_simplify(x->a, value));
  TN_TRYP(forget_in(x, op->value));
  TN_TRYP(note_store(x, &copy, value));
  if (copy.value == op->value && !(x->use & TIR_KNOWN_VALUES)) return (tn_obj *)op;
  return (tn_obj *)tir_store(op->buffer, copy.value, copy.indices);
}

static tn_obj *follow_evaluate(tn_mut *m, tn_Evaluate *op) {
  tir_known *x = m->ctx;
  const tn_Call *assume = tir_as_call((tn_obj *)op->value, TIR_OP_assume);
  if (assume && !x->opaque) {
    tn_expr *cond = (tn_expr *)tn_arr_obj(assume->args, 0);
    TN_TRYP(note_assumed(x, cond, tir_bool(true)));
    /* holds until the statement around ends, which leaves its conditions */
    if (tir_is_pure(cond) && arith_enter(x->a, cond) < 0) return NULL;
  }
  if (assume) return (tn_obj *)op;
  TN_TRYP(forget_in(x, op->value));
  return (tn_obj *)op;
}

static tn_obj *follow_let(tn_mut *m, tn_LetStmt *op) {
  tir_known *x = m->ctx;
  tn_LetStmt copy = *op;
  TN_TRYP(forget_in(x, op->value));
  if (x->use & TIR_KNOWN_VALUES) TN_GETP(copy.value, with_values(x, op->value));
  int64_t mark = x->a->nfacts;
  TN_GETP(copy.body, tn_mut_visit(m, op->body));
  arith_leave(x->a, mark);
  forget_var(x, op->var);
  if (copy.value == op->value && copy.body == op->body) return (tn_obj *)op;
  return tn_node_copy(&tn_type_LetStmt, &copy);
}

/* A thread axis: the variable goes out of scope, and threads run at the same time. */
static tn_obj *follow_attr(tn_mut *m, tn_AttrStmt *op) {
  tir_known *x = m->ctx;
  const tn_IterVar *axis = TN_AS(IterVar, op->node);
  if (axis) TN_TRYP(forget_in(x, op->body));
  x->together += axis != NULL;
  int64_t mark = x->a->nfacts;
  tn_obj *r = tn_mut_children(m, op);
  arith_leave(x->a, mark);
  x->together -= axis != NULL;
  if (axis) forget_var(x, axis->var);
  return r;
}

/* What is not followed: nothing is learned in it, and what it may write is forgotten. */
static tn_obj *pass_by(tn_mut *m, tn_obj *o) {
  tir_known *x = m->ctx;
  TN_TRYP(forget_in(x, o));
  ++x->opaque;
  tn_obj *r = tn_mut_children(m, o);
  --x->opaque;
  return r;
}

tn_stmt *tir_known_follow(tir_known *x, tn_stmt *s) {
  static const tn_mut_case cases[] = {TN_CASE(For, follow_for),
                                      TN_CASE(IfThenElse, follow_if),
                                      TN_CASE(BufferStore, follow_store),
                                      TN_CASE(Evaluate, follow_evaluate),
                                      TN_CASE(LetStmt, follow_let),
                                      TN_CASE(AttrStmt, follow_attr),
                                      TN_CASE(While, pass_by),
                                      TN_CASE(BlockRealize, pass_by),
                                      TN_CASE(Buffer, skip)};
  TN_MUT(m, cases, x);
  return tn_mut_visit(&m, s);
}
