/* Unrolls loops that ask for it, and small ones on their own where the options or a pragma allow
   it.

     for i in T.unroll(2):                      B[0] = A[0]
       B[i] = A[i]                         ->   B[1] = A[1]

   Options: tir.UnrollLoop. Attributes "pragma_auto_unroll_max_step" and "pragma_unroll_explicit"
   set them for a part of the program. Late in lowering, after vectorization. */
#include "tir/transforms/transforms.h"

typedef struct {
  int64_t max_step, max_depth, max_extent;
  bool explicit_unroll;
  int64_t steps, depth, serial_depth; /* of what was just visited */
} unroller;

static int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }

static tn_stmt *unroll(const tn_For *op, int64_t n) {
  TN_VEC(v);
  for (int64_t i = 0; i < n; ++i) {
    TN_PMAP(value);
    tn_expr *at = tir_add(op->min, tir_const_int(op->min->dtype, i));
    at = at ? tir_cast(op->loop_var->dtype, at, NULL) : NULL;
    if (!at) return NULL;
    TN_TRYP(tn_pmap_put(&value, op->loop_var, at));
    tn_stmt *s = tir_substitute_fold(op->body, &value);
    if (!s || tn_vec_push_obj(&v, s)) return NULL;
  }
  return tir_seq(&v);
}

static tn_stmt *marked(const tn_For *op) {
  tn_For copy = *op;
  copy.kind = TIR_FOR_UNROLLED;
  return tn_node_copy(&tn_type_For, &copy);
}

enum { MOST_STEPS = 1 << 20 };

static tn_stmt *unroll_for(tn_mut *m, tn_For *op) {
  unroller *x = m->ctx;
  int64_t n = -1;
  tn_For *r = tn_mut_children(m, op);
  if (!r) return NULL;
  if (!tir_as_int((tn_obj *)r->extent, &n)) n = -1;
  bool wanted = r->kind == TIR_FOR_UNROLLED;
  TN_CHECKP(!wanted || n >= 0, ValueError, r->span,
            "Cannot unroll non-constant loop over %s: give it a constant extent",
            tn_cstr(r->loop_var->name));
  bool fits = r->kind == TIR_FOR_SERIAL && n >= 0 && x->serial_depth == 0 &&
              x->depth <= x->max_depth &&
              (n <= x->max_step / max64(x->steps, 1) || n <= x->max_extent);
  if (!wanted && !fits) {
    x->serial_depth += 1;
    return (tn_stmt *)r;
  }
  x->steps = x->steps > INT32_MAX ? x->steps : x->steps * n;
  x->depth += 1;
  TN_CHECKP(
      !x->explicit_unroll || x->steps <= MOST_STEPS, ValueError, r->span,
      "the loop over %s is unrolled %lld times, with the loops around it: more than %d copies "
      "of its body are not made; split it, and unroll the inner loop",
      tn_cstr(r->loop_var->name), (long long)n, MOST_STEPS);
  if (x->explicit_unroll) return unroll(r, n);
  return wanted ? (tn_stmt *)r : marked(r);
}

static tn_stmt *count_store(tn_mut *m, tn_BufferStore *op) {
  ((unroller *)m->ctx)->steps += 1;
  return tn_mut_children(m, op);
}
static tn_stmt *count_evaluate(tn_mut *m, tn_Evaluate *op) {
  ((unroller *)m->ctx)->steps += 1;
  return tn_mut_children(m, op);
}

/* The counts of statements in order add up, depths take the deepest. */
static tn_stmt *count_sequence(tn_mut *m, tn_SeqStmt *op) {
  unroller *x = m->ctx, before = *x;
  int64_t depth = 0, serial = 0, steps = before.steps;
  TN_VEC(v);
  bool changed = false;
  for (int64_t i = 0; i < op->seq->len; ++i) {
    x->steps = x->depth = x->serial_depth = 0;
    tn_obj *s = tn_mut_visit(m, tn_arr_obj(op->seq, i));
    if (!s || tn_vec_push_obj(&v, s)) return NULL;
    changed |= s != tn_arr_obj(op->seq, i);
    steps += x->steps, depth = max64(depth, x->depth), serial = max64(serial, x->serial_depth);
  }
  x->steps = steps;
  x->depth = max64(depth, before.depth), x->serial_depth = max64(serial, before.serial_depth);
  return changed ? tir_seq(&v) : (tn_stmt *)op;
}

static tn_stmt *read_pragma(tn_mut *m, tn_AttrStmt *op) {
  unroller *x = m->ctx;
  int64_t value = 0, step = x->max_step;
  bool explicit_unroll = x->explicit_unroll;
  bool is_step = tn_str_eq(op->attr_key, "pragma_auto_unroll_max_step");
  bool is_explicit = tn_str_eq(op->attr_key, "pragma_unroll_explicit");
  if (!is_step && !is_explicit) return tn_mut_children(m, op);
  TN_CHECKP(tir_as_int((tn_obj *)op->value, &value), ValueError, op->span,
            "%s: expected a constant integer", tn_cstr(op->attr_key));
  if (is_step) x->max_step = value;
  if (is_explicit) x->explicit_unroll = value != 0;
  tn_stmt *body = tn_mut_visit(m, op->body);
  x->max_step = step, x->explicit_unroll = explicit_unroll;
  return body;
}

tn_PrimFunc *tir_unroll_loop(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(For, unroll_for), TN_CASE(BufferStore, count_store),
                                      TN_CASE(Evaluate, count_evaluate),
                                      TN_CASE(SeqStmt, count_sequence),
                                      TN_CASE(AttrStmt, read_pragma)};
  const tn_UnrollLoopConfig *o =
      ir_config_node(c->node, "tir.UnrollLoop", &tn_type_UnrollLoopConfig);
  if (!o) return NULL;
  unroller x = {
      o->auto_max_step, o->auto_max_depth, o->auto_max_extent, o->explicit_unroll != 0, 0, 0, 0};
  TN_MUT(m, cases, &x);
  return tir_with_body(f, tn_mut_visit(&m, f->body));
}
