/* CheckDataIndices: an index that is data, read from memory, is checked before it is used.

     B[i] = A[K[i]]                        ->   assert 0 <= K[i] and K[i] < 8, "..."
                                                B[i] = A[K[i]]
     B[i] = T.if_then_else(c, A[K[i]], 0)  ->   assert not c or (0 <= K[i] and K[i] < 8), "..."

   Operators bring such indices into their range themselves; this finds one that does not. Values of
   programs' constants are computed with it (eval/evaluate.c), before they could read foreign
   memory or write to it. Runs on flat buffers, before loops are vectorized. The conditions of while
   loops are left alone. */
#include "base/error.h"
#include "base/pmap.h"
#include "tir/transforms/transforms.h"

typedef struct {
  tn_pmap data; /* tn_Var -> 1: bound to a value that comes from memory */
} checker;

static int find_data(void *ctx, tn_obj *o) {
  const checker *x = ctx;
  return TN_AS(BufferLoad, o) || tn_pmap_has(&x->data, o) ? 2 : 0;
}

static bool is_data(const checker *x, const void *e) {
  return tn_pre_order(e, find_data, (void *)(uintptr_t)x) == 2;
}

static int note_data(checker *x, const tn_Var *v, const tn_expr *value) {
  return is_data(x, value) ? tn_pmap_put_int(&x->data, v, 1) : 0;
}

/* ---- what must hold before an expression is evaluated ---- */

/* Conditions are true where NULL; *all becomes NULL with an error only. */
static int add(tn_expr **all, tn_expr *condition) {
  if (!condition) return tn_error_pending() ? -1 : 0;
  TN_GET(*all, *all ? tir_and(*all, condition) : condition);
  return 0;
}

static int conditions(checker *x, const tn_obj *e, tn_expr **all);

/* Those of `e`, which is evaluated where `when` holds. */
static int conditional(checker *x, tn_expr *when, bool holds, const tn_obj *e, tn_expr **all) {
  tn_expr *inner = NULL;
  TN_TRY(conditions(x, e, &inner));
  if (!inner) return 0;
  return add(all, tir_or(holds ? tir_not(when, NULL) : when, inner));
}

static int in_range(checker *x, const tn_Buffer *b, const tn_arr *indices, tn_expr **all) {
  for (int64_t i = 0; i < indices->len; ++i) {
    tn_expr *at = (tn_expr *)tn_arr_obj(indices, i);
    TN_TRY(conditions(x, (tn_obj *)at, all));
    if (at->dtype.lanes != 1 || i >= b->shape->len || !is_data(x, at)) continue;
    tn_expr *extent = tir_cast(at->dtype, (tn_expr *)tn_arr_obj(b->shape, i), NULL);
    TN_TRY(add(all, tir_and(tir_le(tir_zero(at->dtype), at), tir_lt(at, extent))));
  }
  return 0;
}

typedef struct {
  checker *x;
  tn_expr **all;
} gather;

static int gather_child(void *ctx, tn_obj *child) {
  const gather *g = ctx;
  return conditions(g->x, child, g->all);
}

static int choice(checker *x, const tn_expr *c, const void *yes, const void *no, tn_expr **all) {
  tn_expr *when = (tn_expr *)(uintptr_t)c;
  TN_TRY(conditions(x, (const tn_obj *)c, all));
  TN_TRY(conditional(x, when, true, yes, all));
  return no ? conditional(x, when, false, no, all) : 0;
}

static int of_let(checker *x, const tn_Let *e, tn_expr **all) {
  tn_expr *inner = NULL;
  TN_TRY(conditions(x, (tn_obj *)e->value, all));
  TN_TRY(note_data(x, e->var, e->value));
  TN_TRY(conditions(x, (tn_obj *)e->body, &inner));
  if (!inner) return 0;
  return add(all, (tn_expr *)TN_NEW(Let, .dtype = inner->dtype, .var = e->var, .value = e->value,
                                    .body = inner));
}

static int conditions(checker *x, const tn_obj *e, tn_expr **all) {
  const tn_BufferLoad *load = TN_AS(BufferLoad, e);
  const tn_Select *s = TN_AS(Select, e);
  const tn_And *both = TN_AS(And, e);
  const tn_Or *either = TN_AS(Or, e);
  const tn_Call *c = tir_as_call(e, TIR_OP_if_then_else);
  gather g = {x, all};
  if (load) return in_range(x, load->buffer, load->indices, all);
  if (s) return choice(x, s->condition, s->true_value, s->false_value, all);
  if (c)
    return choice(x, (tn_expr *)tn_arr_obj(c->args, 0), tn_arr_obj(c->args, 1),
                  tn_arr_obj(c->args, 2), all);
  if (both) return choice(x, both->a, both->b, NULL, all);
  if (TN_IS(Let, e)) return of_let(x, (const tn_Let *)e, all);
  if (either) {
    TN_TRY(conditions(x, (tn_obj *)either->a, all));
    return conditional(x, either->a, false, (tn_obj *)either->b, all);
  }
  if (!TN_IS(PrimExpr, e) && e->type_index != TN_TI_Array) return 0;
  return tn_visit_children(e, gather_child, &g);
}

/* ---- statements ---- */

/* `now` behind the check of what it evaluates. */
static tn_obj *behind(tn_expr *condition, tn_obj *now) {
  if (!condition || !now) return now;
  return (tn_obj *)TN_MAKE(AssertStmt, .condition = condition,
                           .message = tir_str("an index that is data is outside of its buffer"),
                           .body = (tn_stmt *)now);
}

static tn_obj *check_store(tn_mut *m, tn_BufferStore *op) {
  tn_expr *all = NULL;
  TN_TRYP(in_range(m->ctx, op->buffer, op->indices, &all));
  TN_TRYP(conditions(m->ctx, (tn_obj *)op->value, &all));
  return behind(all, (tn_obj *)op);
}

static tn_obj *check_evaluate(tn_mut *m, tn_Evaluate *op) {
  tn_expr *all = NULL;
  TN_TRYP(conditions(m->ctx, (tn_obj *)op->value, &all));
  return behind(all, (tn_obj *)op);
}

static tn_obj *check_let(tn_mut *m, tn_LetStmt *op) {
  tn_expr *all = NULL;
  TN_TRYP(conditions(m->ctx, (tn_obj *)op->value, &all));
  TN_TRYP(note_data(m->ctx, op->var, op->value));
  return behind(all, tn_mut_children(m, op));
}

static tn_obj *check_if(tn_mut *m, tn_IfThenElse *op) {
  tn_expr *all = NULL;
  TN_TRYP(conditions(m->ctx, (tn_obj *)op->condition, &all));
  return behind(all, tn_mut_children(m, op));
}

static tn_obj *check_for(tn_mut *m, tn_For *op) {
  tn_expr *all = NULL;
  checker *x = m->ctx;
  TN_TRYP(conditions(x, (tn_obj *)op->min, &all));
  TN_TRYP(conditions(x, (tn_obj *)op->extent, &all));
  if (is_data(x, op->min) || is_data(x, op->extent))
    TN_TRYP(tn_pmap_put_int(&x->data, op->loop_var, 1));
  return behind(all, tn_mut_children(m, op));
}

static tn_obj *skip(tn_mut *m, tn_obj *o) {
  (void)m;
  return o;
}

tn_PrimFunc *tir_check_data_indices(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {
      TN_CASE(BufferStore, check_store), TN_CASE(Evaluate, check_evaluate),
      TN_CASE(LetStmt, check_let),       TN_CASE(IfThenElse, check_if),
      TN_CASE(For, check_for),           TN_CASE(Buffer, skip)};
  (void)c;
  checker x = {{0}};
  TN_MUT(m, cases, &x);
  tn_stmt *body = tn_mut_visit(&m, f->body);
  tn_pmap_fini(&x.data);
  return tir_with_body(f, body);
}
