/* Conditions and bindings that do not depend on a loop move in front of it.

     for i in range(8):                         for i in range(8):
       for j in range(8):                         k = i * 4
         k = i * 4                         ->     if i == 3:
         if i == 3 and j < k:                       for j in range(8):
           A[i, j] = 0                                if j < k:
                                                        A[i, j] = 0

   Options tir.HoistExpression: which conditions (hoisted_conditionals: 1 of statements, 2 of
   choices, 4 parts of a conjunction, 8 also those with the index of a thread) and which bindings
   (hoisted_let_bindings: 1 those that a condition needs, 2 of statements, 4 in expressions). What
   stands in a sequence is not executed first, so it stays. With 8, conditions move in front of a
   launch of threads too. */
#include <string.h>

#include "arith/analyzer.h"
#include "tir/transforms/transforms.h"

enum { IF_STMT = 1, IF_EXPR = 2, BOOLEAN = 4, BLOCK_VAR = 8 };
enum { LET_FOR_CONDITION = 1, LET_STMT = 2, LET_EXPR = 4 };
enum { MAX_ROUNDS = 64 }; /* conditions hoisted from one loop */

typedef struct {
  int64_t conditions, lets;
  tn_pmap threads;      /* variables of thread axes */
  bool launched;        /* inside of a launch */
  arith_analyzer known; /* conditions that were hoisted */
} hoister;

/* ---- what may move ---- */

/* The loop may have no iteration: what may fail stays. */
static int may_fail(void *ctx, tn_obj *node) {
  int64_t d;
  (void)ctx;
  switch (node->type_index) {
  case TN_TI_Div:
  case TN_TI_Mod:
  case TN_TI_FloorDiv:
  case TN_TI_FloorMod: return !(tir_as_int((tn_obj *)TN_AS_BINARY(node)->b, &d) && d != 0);
  default: return 0;
  }
}

static int is_inside(void *ctx, tn_obj *node) { return tn_pmap_has(ctx, node); }

/* `inside`: variables that are bound in the loop. */
static bool may_move(const hoister *x, const tn_pmap *inside, const tn_expr *e) {
  if (tn_post_order(e, is_inside, (void *)(uintptr_t)inside) || !tir_is_pure(e)) return false;
  if (!(x->conditions & BLOCK_VAR) && tn_post_order(e, is_inside, (void *)(uintptr_t)&x->threads))
    return false;
  return tn_post_order(e, may_fail, NULL) == 0;
}

/* ---- finding a condition ---- */

typedef struct {
  const hoister *x;
  tn_pmap inside;
  tn_expr *found;
} finder;

static void consider(finder *f, tn_expr *cond) {
  const tn_BinaryOp *both = TN_AS(And, cond) ? TN_AS_BINARY(cond) : NULL;
  const tn_Call *likely = tir_as_call((tn_obj *)cond, TIR_OP_likely);
  int64_t known;
  if (f->found || tir_as_int((tn_obj *)cond, &known)) return;
  if (may_move(f->x, &f->inside, cond)) {
    f->found = cond;
  } else if (both && (f->x->conditions & BOOLEAN)) {
    consider(f, both->a);
    consider(f, both->b);
  } else if (likely) {
    consider(f, (tn_expr *)tn_arr_obj(likely->args, 0));
  }
}

static int look_expr(void *ctx, tn_obj *node) {
  finder *f = ctx;
  const tn_Select *s = TN_AS(Select, node);
  const tn_Call *c = tir_as_call(node, TIR_OP_if_then_else);
  if (s) consider(f, s->condition);
  if (c) consider(f, (tn_expr *)tn_arr_obj(c->args, 0));
  return f->found ? 2 : 0;
}

static int look_stmt(finder *f, const tn_stmt *s);

static int look_in(finder *f, const void *expr) {
  if (f->found || !(f->x->conditions & IF_EXPR)) return 0;
  return tn_pre_order(expr, look_expr, f) < 0 ? -1 : 0;
}

static int look_if(finder *f, const tn_IfThenElse *s) {
  if (f->x->conditions & IF_STMT) consider(f, s->condition);
  TN_TRY(look_in(f, s->condition));
  TN_TRY(look_stmt(f, s->then_case));
  return s->else_case ? look_stmt(f, s->else_case) : 0;
}

/* Goes down the statement while its parts are executed alone. */
static int look_stmt(finder *f, const tn_stmt *s) {
  while (!f->found) {
    switch (s->hdr.type_index) {
    case TN_TI_For: {
      const tn_For *op = (const tn_For *)s;
      TN_TRY(tn_pmap_put_int(&f->inside, op->loop_var, 1));
      s = op->body;
      break;
    }
    case TN_TI_LetStmt: {
      const tn_LetStmt *op = (const tn_LetStmt *)s;
      TN_TRY(look_in(f, op->value));
      TN_TRY(tn_pmap_put_int(&f->inside, op->var, 1));
      s = op->body;
      break;
    }
    case TN_TI_AttrStmt: {
      const tn_IterVar *axis = TN_AS(IterVar, ((const tn_AttrStmt *)s)->node);
      if (axis) TN_TRY(tn_pmap_put_int(&f->inside, axis->var, 1));
      s = ((const tn_AttrStmt *)s)->body;
      break;
    }
    case TN_TI_IfThenElse: return look_if(f, (const tn_IfThenElse *)s);
    case TN_TI_Allocate: s = ((const tn_Allocate *)s)->body; break;
    case TN_TI_DeclBuffer: s = ((const tn_DeclBuffer *)s)->body; break;
    case TN_TI_BufferStore: return look_in(f, ((const tn_BufferStore *)s)->value);
    case TN_TI_Evaluate: return look_in(f, ((const tn_Evaluate *)s)->value);
    default: return 0;
    }
  }
  return 0;
}

/* ---- deciding it ---- */

typedef struct {
  const tn_expr *cond;
  bool value;
} decision;

static tn_obj *decide(tn_mut *m, tn_expr *e) {
  const decision *d = m->ctx;
  if (arith_same(e, d->cond)) return (tn_obj *)tir_bool(d->value);
  return TN_AS_BINARY(e) ? tir_refold_binary(m, (tn_obj *)e) : tn_mut_children(m, e);
}
static tn_obj *decide_not(tn_mut *m, tn_Not *e) {
  const decision *d = m->ctx;
  if (arith_same((tn_expr *)e, d->cond)) return (tn_obj *)tir_bool(d->value);
  tn_expr *a = tn_mut_visit(m, e->a);
  return a == e->a ? (tn_obj *)e : (tn_obj *)tir_not(a, e->span);
}
static tn_obj *decide_call(tn_mut *m, tn_Call *e) {
  const decision *d = m->ctx;
  int64_t c;
  if (arith_same((tn_expr *)e, d->cond)) return (tn_obj *)tir_bool(d->value);
  tn_Call *r = tn_mut_children(m, e);
  bool likely = r && tir_as_call((tn_obj *)r, TIR_OP_likely);
  if (!r || (!likely && !tir_as_call((tn_obj *)r, TIR_OP_if_then_else))) return (tn_obj *)r;
  if (!tir_as_int(tn_arr_obj(r->args, 0), &c)) return (tn_obj *)r;
  return tn_arr_obj(r->args, likely ? 0 : c ? 1 : 2);
}
static tn_obj *decide_select(tn_mut *m, tn_Select *e) {
  tn_Select *r = tn_mut_children(m, e);
  int64_t c;
  if (!r || !tir_as_int((tn_obj *)r->condition, &c)) return (tn_obj *)r;
  return (tn_obj *)(c ? r->true_value : r->false_value);
}
static tn_obj *decide_if(tn_mut *m, tn_IfThenElse *s) {
  tn_IfThenElse *r = tn_mut_children(m, s);
  int64_t c;
  if (!r) return NULL;
  if (tir_as_int((tn_obj *)r->condition, &c))
    return (tn_obj *)(c ? r->then_case : r->else_case ? r->else_case : tir_nop());
  if (tir_is_nop(r->then_case) && (!r->else_case || tir_is_nop(r->else_case)))
    return (tn_obj *)tir_nop();
  return (tn_obj *)r;
}
/* Loops and bindings around nothing are nothing. */
static tn_obj *decide_for(tn_mut *m, tn_For *s) {
  tn_For *r = tn_mut_children(m, s);
  return r && tir_is_nop(r->body) ? (tn_obj *)tir_nop() : (tn_obj *)r;
}
static tn_obj *decide_let(tn_mut *m, tn_LetStmt *s) {
  tn_LetStmt *r = tn_mut_children(m, s);
  bool nothing = r && tir_is_nop(r->body) && tir_is_pure(r->value);
  return nothing ? (tn_obj *)tir_nop() : (tn_obj *)r;
}

#define DECIDE_CASE(T) TN_CASE(T, decide)

static tn_stmt *decided(tn_stmt *s, const tn_expr *cond, bool value) {
  static const tn_mut_case cases[] = {DECIDE_CASE(EQ),
                                      DECIDE_CASE(NE),
                                      DECIDE_CASE(LT),
                                      DECIDE_CASE(LE),
                                      DECIDE_CASE(GT),
                                      DECIDE_CASE(GE),
                                      DECIDE_CASE(And),
                                      DECIDE_CASE(Or),
                                      DECIDE_CASE(Var),
                                      DECIDE_CASE(Cast),
                                      TN_CASE(Not, decide_not),
                                      TN_CASE(Call, decide_call),
                                      TN_CASE(For, decide_for),
                                      TN_CASE(LetStmt, decide_let),
                                      TN_CASE(Select, decide_select),
                                      TN_CASE(IfThenElse, decide_if)};
  decision d = {cond, value};
  TN_MUT(m, cases, &d);
  return tn_mut_visit(&m, s);
}

/* ---- loops ---- */

static tn_stmt *hoist_from(tn_mut *m, const tn_For *op, int round);

/* The statement, a loop unless it has become something else, with more hoisted. */
static tn_stmt *again(tn_mut *m, tn_stmt *s, int round) {
  const tn_For *op = s ? TN_AS(For, s) : NULL;
  return op && round < MAX_ROUNDS ? hoist_from(m, op, round + 1) : s;
}

static tn_stmt *decided_loop(const tn_For *op, const tn_expr *cond, bool value) {
  return decided((tn_stmt *)(uintptr_t)op, cond, value);
}

/* The same where the condition holds. */
static tn_stmt *again_under(tn_mut *m, tn_expr *cond, tn_stmt *s, int round) {
  hoister *x = m->ctx;
  int64_t mark = cond && s ? arith_enter(&x->known, cond) : -1;
  if (mark < 0) return NULL;
  tn_stmt *r = again(m, s, round);
  arith_leave(&x->known, mark);
  return r;
}

/* A binding at the top of the body, if it may move. */
static const tn_LetStmt *movable_let(const hoister *x, const tn_For *op) {
  const tn_LetStmt *let = TN_AS(LetStmt, op->body);
  TN_PMAP(inside);
  if (!let || !(x->lets & (LET_STMT | LET_FOR_CONDITION))) return NULL;
  if (tn_pmap_put_int(&inside, op->loop_var, 1)) return NULL;
  if (!may_move(x, &inside, let->value)) return NULL;
  if (x->lets & LET_STMT) return let;
  /* only if the next condition needs it */
  finder f = {.x = x};
  bool wanted = !tn_pmap_put_int(&f.inside, op->loop_var, 1) && !look_stmt(&f, let->body) &&
                f.found && tir_uses_var(f.found, let->var);
  tn_pmap_fini(&f.inside);
  return wanted ? let : NULL;
}

static tn_stmt *hoist_from(tn_mut *m, const tn_For *op, int round) {
  hoister *x = m->ctx;
  const tn_LetStmt *let = movable_let(x, op);
  if (let) {
    tn_LetStmt copy = *let;
    TN_GETP(copy.body, again(m, tir_for_with(op, op->min, op->extent, let->body), round));
    return tn_node_copy(&tn_type_LetStmt, &copy);
  }
  finder f = {.x = x};
  int err = tn_pmap_put_int(&f.inside, op->loop_var, 1) || look_stmt(&f, op->body);
  tn_pmap_fini(&f.inside);
  if (err) return NULL;
  if (!f.found) return (tn_stmt *)(uintptr_t)op;
  if (arith_prove(&x->known, f.found)) return again(m, decided_loop(op, f.found, true), round);
  if (arith_prove(&x->known, tir_not(f.found, NULL)))
    return again(m, decided_loop(op, f.found, false), round);
  tn_IfThenElse copy = {.condition = f.found};
  tn_stmt *no = decided_loop(op, f.found, false);
  if (!no) return NULL;
  TN_GETP(copy.then_case, again_under(m, f.found, decided_loop(op, f.found, true), round));
  if (!tir_is_nop(no)) TN_GETP(copy.else_case, again_under(m, tir_not(f.found, NULL), no, round));
  return (tn_stmt *)TN_MAKE(IfThenElse, .condition = copy.condition, .then_case = copy.then_case,
                            .else_case = copy.else_case);
}

static tn_obj *visit_for(tn_mut *m, tn_For *op) {
  hoister *x = m->ctx;
  if (op->kind == TIR_FOR_THREAD_BINDING) TN_TRYP(tn_pmap_put_int(&x->threads, op->loop_var, 1));
  tn_stmt *s = hoist_from(m, op, 0);
  const tn_For *same = s ? TN_AS(For, s) : NULL;
  /* the loops that are left, inside out or under conditions */
  if (same) {
    tn_stmt *body = tn_mut_visit(m, same->body);
    return (tn_obj *)tir_for_with(same, same->min, same->extent, body);
  }
  return s ? tn_mut_visit(m, s) : NULL;
}

static tn_stmt *launch(const tn_AttrStmt *op, tn_stmt *body) {
  tn_AttrStmt copy = *op;
  if (!body || tir_is_nop(body)) return body;
  copy.body = body;
  return tn_node_copy(&tn_type_AttrStmt, &copy);
}

static tn_stmt *visited_under(tn_mut *m, tn_expr *cond, tn_stmt *s) {
  hoister *x = m->ctx;
  int64_t mark = cond && s ? arith_enter(&x->known, cond) : -1;
  if (mark < 0) return NULL;
  tn_stmt *r = tn_mut_visit(m, s);
  arith_leave(&x->known, mark);
  return r;
}

/* With a condition in front of it that every thread would ask; itself where it asks none. */
static tn_stmt *hoist_from_launch(tn_mut *m, const tn_AttrStmt *op, const tn_Var *axis) {
  hoister *x = m->ctx;
  finder f = {.x = x};
  int err = tn_pmap_put_int(&f.inside, axis, 1) || look_stmt(&f, op->body);
  tn_pmap_fini(&f.inside);
  if (err) return NULL;
  if (!f.found) return (tn_stmt *)(uintptr_t)op;
  tn_stmt *yes = launch(op, decided(op->body, f.found, true)),
          *no = launch(op, decided(op->body, f.found, false));
  if (!yes || !no) return NULL;
  if (arith_prove(&x->known, f.found)) return tn_mut_visit(m, yes);
  if (arith_prove(&x->known, tir_not(f.found, NULL))) return tn_mut_visit(m, no);
  TN_GETP(yes, visited_under(m, f.found, yes));
  TN_GETP(no, visited_under(m, tir_not(f.found, NULL), no));
  return (tn_stmt *)TN_MAKE(IfThenElse, .condition = f.found, .then_case = yes,
                            .else_case = tir_is_nop(no) ? NULL : no);
}

static tn_obj *visit_attr(tn_mut *m, tn_AttrStmt *op) {
  hoister *x = m->ctx;
  const tn_IterVar *axis = TN_AS(IterVar, op->node);
  bool launches = axis && tn_str_eq(op->attr_key, "thread_extent"), outer = x->launched;
  if (axis) TN_TRYP(tn_pmap_put_int(&x->threads, axis->var, 1));
  if (launches && !outer && (x->conditions & BLOCK_VAR)) {
    tn_stmt *s = hoist_from_launch(m, op, axis->var);
    if (s != (tn_stmt *)op) return (tn_obj *)s;
  }
  x->launched |= launches;
  tn_obj *r = tn_mut_children(m, op);
  x->launched = outer;
  return r;
}

/* A binding in an expression of a statement becomes one around it. */
static int first_let(void *ctx, tn_obj *node) {
  tn_Let **out = ctx;
  if (!TN_IS(Let, node)) return 0;
  *out = (tn_Let *)node;
  return 2;
}

static tn_obj *drop_let(tn_mut *m, tn_Let *op) {
  return op == m->ctx ? tn_mut_visit(m, op->body) : tn_mut_children(m, op);
}

static tn_obj *lift_lets(tn_mut *m, tn_BufferStore *op) {
  static const tn_mut_case cases[] = {TN_CASE(Let, drop_let)};
  const hoister *x = m->ctx;
  tn_Let *let = NULL;
  if (!(x->lets & LET_EXPR) || tn_pre_order(op->value, first_let, &let) != 2) return (tn_obj *)op;
  if (!tir_is_pure(let->value)) return (tn_obj *)op;
  TN_MUT(drop, cases, let);
  tn_BufferStore copy = *op;
  TN_GETP(copy.value, tn_mut_visit(&drop, op->value));
  tn_stmt *s = tn_node_copy(&tn_type_BufferStore, &copy);
  tn_stmt *body = s ? tn_mut_visit(m, s) : NULL;
  return (tn_obj *)TN_NEW(LetStmt, .var = let->var, .value = let->value, .body = body);
}

tn_PrimFunc *tir_hoist_expression(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case lifting[] = {TN_CASE(BufferStore, lift_lets)};
  static const tn_mut_case cases[] = {TN_CASE(For, visit_for), TN_CASE(AttrStmt, visit_attr)};
  const tn_HoistExpressionConfig *o =
      ir_config_node(c->node, "tir.HoistExpression", &tn_type_HoistExpressionConfig);
  if (!o) return NULL;
  hoister x = {.conditions = o->hoisted_conditionals, .lets = o->hoisted_let_bindings};
  TN_MUT(lift, lifting, &x);
  TN_MUT(m, cases, &x);
  tn_stmt *body = tn_mut_visit(&lift, f->body);
  body = body ? tn_mut_visit(&m, body) : NULL;
  tn_pmap_fini(&x.threads);
  arith_fini(&x.known);
  TN_GETP(f, tir_with_body(f, body));
  return tir_convert_ssa(f, c);
}
