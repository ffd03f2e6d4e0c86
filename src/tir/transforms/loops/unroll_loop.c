/* Unrolls loops that ask for it, and small ones on their own where the options or a pragma allow
   it.

     for i in T.unroll(2):                      B[0] = A[0]
       B[i] = A[i]                         ->   B[1] = A[1]

   Options: tir.UnrollLoop. Attributes "pragma_auto_unroll_max_step" and "pragma_unroll_explicit"
   set them for a part of the program. Late in lowering, after vectorization. Each copy of a body
   has its own variables and buffers. */
#include <string.h>

#include "tir/device.h"
#include "tir/transforms/transforms.h"

typedef struct {
  int64_t max_step, max_depth, max_extent;
  bool explicit_unroll;
  int64_t steps, depth, serial_depth; /* of what was just visited */
  tn_pmap local;                      /* variables in indices of local memory */
  bool copied;                        /* a body was written out */
} unroller;

static int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }

static tn_stmt *unroll(unroller *x, const tn_For *op, int64_t n) {
  TN_VEC(v);
  x->copied |= n > 1;
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

enum { MAX_STEPS = 1 << 20 };

/* Iterations of a loop, -1 where they are not constant or the extent is negative, -2 with an
   error. */
static int64_t iterations(const tn_For *op) {
  TN_ARITH(a);
  int64_t n;
  tn_expr *e = tir_as_int((tn_obj *)op->extent, &n) ? op->extent : arith_simplify(&a, op->extent);
  if (!e) return -2;
  return tir_as_int((tn_obj *)e, &n) && n >= 0 ? n : -1;
}

/* Does the loop go whatever its size? Those of at most one iteration with auto_max_extent 1. */
static bool always_goes(const unroller *x, const tn_For *op, int64_t n) {
  return op->kind == TIR_FOR_SERIAL && n >= 0 && n <= 1 && x->max_extent == 1;
}

static tn_stmt *unroll_for(tn_mut *m, tn_For *op) {
  unroller *x = m->ctx;
  tn_For *r = tn_mut_children(m, op);
  int64_t n = r ? iterations(r) : -2;
  if (n == -2) return NULL;
  bool wanted = r->kind == TIR_FOR_UNROLLED;
  TN_CHECKP(!wanted || n >= 0, ValueError, r->span,
            "Cannot unroll non-constant loop over %s: give it a constant extent",
            tn_cstr(r->loop_var->name));
  bool fits = r->kind == TIR_FOR_SERIAL && n >= 0 && x->serial_depth == 0 &&
              x->depth <= x->max_depth &&
              (n <= x->max_step / max64(x->steps, 1) || n <= x->max_extent);
  fits |= r->kind == TIR_FOR_SERIAL && n >= 0 && tn_pmap_has(&x->local, r->loop_var);
  if (!wanted && !fits && always_goes(x, r, n)) return unroll(x, r, n);
  if (!wanted && !fits) {
    x->serial_depth += 1;
    return (tn_stmt *)r;
  }
  x->steps = x->steps > INT32_MAX ? x->steps : x->steps * n;
  x->depth += 1;
  TN_CHECKP(
      !x->explicit_unroll || x->steps <= MAX_STEPS, ValueError, r->span,
      "the loop over %s is unrolled %lld times, with the loops around it: more than %d copies "
      "of its body are not made; split it, and unroll the inner loop",
      tn_cstr(r->loop_var->name), (long long)n, MAX_STEPS);
  if (x->explicit_unroll || always_goes(x, r, n)) return unroll(x, r, n);
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

/* ---- local memory ---- */

static int add_var(void *ctx, tn_obj *node) {
  return TN_IS(Var, node) ? tn_pmap_put_int(ctx, node, 1) : 0;
}

static int see_access(void *ctx, tn_obj *node) {
  const tn_BufferLoad *l = TN_AS(BufferLoad, node);
  const tn_BufferStore *s = TN_AS(BufferStore, node);
  const tn_Buffer *b = l ? l->buffer : s ? s->buffer : NULL;
  if (!b || strcmp(tir_var_scope(b->data), "local") != 0) return 0;
  return tn_post_order(l ? l->indices : s->indices, add_var, ctx);
}

static bool defines(const tn_stmt *s, const void *arg) {
  (void)arg;
  return TN_IS(LetStmt, s) || TN_IS(Allocate, s) || TN_IS(AllocateConst, s) ||
         TN_IS(DeclBuffer, s) || TN_IS(For, s);
}

tn_PrimFunc *tir_unroll_loop(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(For, unroll_for), TN_CASE(BufferStore, count_store),
                                      TN_CASE(Evaluate, count_evaluate),
                                      TN_CASE(SeqStmt, count_sequence),
                                      TN_CASE(AttrStmt, read_pragma)};
  const tn_UnrollLoopConfig *o =
      ir_config_node(c->node, "tir.UnrollLoop", &tn_type_UnrollLoopConfig);
  if (!o) return NULL;
  unroller x = {.max_step = o->auto_max_step,
                .max_depth = o->auto_max_depth,
                .max_extent = o->auto_max_extent,
                .explicit_unroll = o->explicit_unroll != 0};
  int rc = o->unroll_local_access ? tn_post_order(f->body, see_access, &x.local) : 0;
  TN_MUT(m, cases, &x);
  tn_stmt *body = rc ? NULL : tn_mut_visit(&m, f->body);
  tn_pmap_fini(&x.local);
  TN_GETP(f, tir_with_body(f, body));
  return x.copied && tir_has_stmt(body, defines, NULL) ? tir_convert_ssa(f, c) : f;
}
