/* Loops over a thread axis that several statements of a kernel repeat move to the innermost place
   that holds them all.

     for bx in T.thread_binding(4, "blockIdx.x"):      for bx in T.thread_binding(4, "blockIdx.x"):
       for j in T.thread_binding(8, "threadIdx.x"):      for tx in T.thread_binding(8, ...):
         A[bx, j] = ...                            ->      A[bx, tx] = ...
       for k in T.thread_binding(8, "threadIdx.x"):        B[bx, tx] = ...
         B[bx, k] = ...

   Only loops of one constant extent. */
#include <string.h>

#include "tir/device.h"
#include "tir/transforms/transforms.h"

typedef struct {
  const char *tag;
  tn_expr *extent;
  tn_For *first;
  int64_t count;
} axis_use;

enum { MAX_AXES = 16 };

typedef struct {
  axis_use axes[MAX_AXES];
  int n;
} uses;

typedef struct {
  tn_pmap values; /* variable of a loop that went -> variable of the lifted one */
  tn_map *lifted; /* thread tag -> For in force */
  int depth;      /* loops over thread axes around: 0 outside of kernels */
} lifter;

static bool can_lift(const tn_For *f) {
  return f->kind == TIR_FOR_THREAD_BINDING && f->annotations->len == 0 && tir_is_zero(f->min) &&
         tir_is_thread_axis(tn_cstr(f->thread_binding->thread_tag));
}

static int note_loop(void *ctx, tn_obj *o) {
  uses *u = ctx;
  tn_For *f = TN_AS(For, o);
  int64_t n;
  if (!f || !can_lift(f) || !tir_as_int((tn_obj *)f->extent, &n)) return 0;
  const char *tag = tn_cstr(f->thread_binding->thread_tag);
  for (int i = 0; i < u->n; ++i) {
    if (strcmp(u->axes[i].tag, tag) != 0) continue;
    int64_t have;
    if (!tir_as_int((tn_obj *)u->axes[i].extent, &have) || have != n) u->axes[i].count = INT64_MIN;
    u->axes[i].count++;
    return 0;
  }
  if (u->n < MAX_AXES) u->axes[u->n++] = (axis_use){tag, f->extent, f, 1};
  return 0;
}

/* Axes that at least two of the statements launch. */
static int shared_axes(const tn_arr *stmts, uses *out) {
  uses per[2] = {{.n = 0}, {.n = 0}};
  for (int64_t i = 0; i < stmts->len; ++i) {
    per[1].n = 0;
    if (tn_pre_order(tn_arr_obj(stmts, i), note_loop, &per[1]) < 0) return -1;
    for (int k = 0; k < per[1].n; ++k)
      if (per[1].axes[k].count > 0) TN_TRY(note_loop(&per[0], (tn_obj *)per[1].axes[k].first));
  }
  for (int k = 0; k < per[0].n; ++k)
    if (per[0].axes[k].count > 1) out->axes[out->n++] = per[0].axes[k];
  return 0;
}

static tn_obj *replace_var(tn_mut *m, tn_obj *v) {
  tn_obj *value = tn_pmap_get(&((lifter *)m->ctx)->values, v);
  return value ? value : v;
}

static tn_For *loop_in_force(const lifter *l, const tn_For *f) {
  tn_any found;
  const char *tag = tn_cstr(f->thread_binding->thread_tag);
  if (!l->lifted || !tn_map_get(l->lifted, tn_any_cstr(tag), &found)) return NULL;
  return (tn_For *)found.v.obj;
}

static tn_stmt *lift_for(tn_mut *m, tn_For *op) {
  lifter *l = m->ctx;
  tn_For *outer = can_lift(op) ? loop_in_force(l, op) : NULL;
  if (!outer) {
    int bound = op->kind == TIR_FOR_THREAD_BINDING;
    l->depth += bound;
    tn_stmt *s = tn_mut_children(m, op);
    l->depth -= bound;
    return s;
  }
  tn_expr *v = tir_cast(op->loop_var->dtype, (tn_expr *)outer->loop_var, NULL);
  if (!v || tn_pmap_put(&l->values, op->loop_var, v)) return NULL;
  return tn_mut_visit(m, op->body);
}

/* A loop for the axis, around what the sequence becomes. */
static tn_For *lifted_loop(const axis_use *a) {
  tn_For copy = *a->first;
  TN_GETP(copy.loop_var, tir_var(a->tag, a->extent->dtype));
  TN_GETP(copy.body, tir_nop());
  return tn_node_copy(&tn_type_For, &copy);
}

static tn_stmt *lift_sequence(tn_mut *m, tn_SeqStmt *op) {
  lifter *l = m->ctx;
  tn_map *outer = l->lifted;
  uses shared = {.n = 0};
  tn_For *loops[MAX_AXES];
  int n = 0;
  if (l->depth > 0) TN_TRYP(shared_axes(op->seq, &shared));
  for (int i = 0; i < shared.n; ++i) {
    if (loop_in_force(l, shared.axes[i].first)) continue;
    TN_GETP(loops[n], lifted_loop(&shared.axes[i]));
    TN_GETP(l->lifted,
            tn_map_with(l->lifted, tn_any_cstr(shared.axes[i].tag), tn_any_obj(loops[n])));
    ++n;
  }
  tn_stmt *s = tn_mut_children(m, op);
  l->lifted = outer;
  while (s && n-- > 0) s = tir_for_with(loops[n], loops[n]->min, loops[n]->extent, s);
  return s;
}

tn_PrimFunc *tir_lift_thread_binding(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(SeqStmt, lift_sequence), TN_CASE(For, lift_for),
                                      TN_CASE(Var, replace_var), TN_CASE(SizeVar, replace_var)};
  (void)c;
  if (tir_is_legacy(f)) return f;
  lifter l = {.lifted = NULL};
  TN_MUT(m, cases, &l);
  tn_stmt *body = tn_mut_visit(&m, f->body);
  tn_pmap_fini(&l.values);
  return tir_with_body(f, body);
}
