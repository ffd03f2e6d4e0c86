/* Functions and loops say where they begin and end, for a profile that is taken at run time.

     for i in range(8): a                  T.start_profile_intrinsic(1)
     for j in range(8): b                  for i in range(8): a
                                     ->    T.end_profile_intrinsic(1)
                                           ... the same with 2 around the loop over j

   Every function and every loop has a number, in the order of the program, whether it is measured
   or not; the numbers go on from one module to the next unless tir.reset_start_id. Which loops
   are measured: those with another loop next to them (all where tir.instr_siblings is off), that
   have at least tir.lwp_min_height levels of loops inside, are not deeper than tir.lwp_max_depth
   (0: any), and run on one thread. The whole function is, unless tir.lwp_disable_func_prof. */
#include "ir/module.h"
#include "tir/transforms/transforms.h"

typedef struct {
  int64_t max_depth, min_height;
  bool siblings;  /* only loops with others next to them */
  tn_pmap next;   /* loops with others next to them */
  int64_t depth;  /* of the loop that is visited, 1 for outermost ones */
  int64_t height; /* levels of loops in what was just visited */
  bool parallel;  /* inside a parallel loop */
} profiler;

/* The number of the next function or loop. */
static _Atomic int32_t next_id;

static tn_stmt *marked(int32_t id, tn_stmt *body) {
  TN_VEC(v);
  tn_expr *start = tir_call(TN_HANDLE, TIR_OP_start_profile_intrinsic, 1, tir_i32(id));
  tn_expr *end = tir_call(TN_HANDLE, TIR_OP_end_profile_intrinsic, 1, tir_i32(id));
  if (!body || !start || !end) return NULL;
  TN_TRYP(tn_vec_push_obj(&v, TN_NEW(Evaluate, .value = start)));
  TN_TRYP(tn_vec_push_obj(&v, body));
  TN_TRYP(tn_vec_push_obj(&v, TN_NEW(Evaluate, .value = end)));
  return tir_seq(&v);
}

static tn_obj *profile_for(tn_mut *m, tn_For *op) {
  profiler *x = m->ctx;
  int32_t id = next_id++;
  bool parallel = x->parallel;
  int64_t outer = x->height;
  x->parallel |= op->kind == TIR_FOR_PARALLEL;
  bool measured = !x->parallel && (!x->siblings || tn_pmap_has(&x->next, op));
  x->height = 0;
  ++x->depth;
  tn_stmt *r = tn_mut_children(m, op);
  measured &= x->height >= x->min_height && (!x->max_depth || x->depth <= x->max_depth);
  --x->depth;
  x->height = x->height + 1 > outer ? x->height + 1 : outer;
  x->parallel = parallel;
  return (tn_obj *)(measured ? marked(id, r) : r);
}

static tn_obj *profile_sequence(tn_mut *m, tn_SeqStmt *op) {
  profiler *x = m->ctx;
  int64_t loops = 0;
  for (int64_t i = 0; i < op->seq->len; ++i) loops += TN_IS(For, tn_arr_obj(op->seq, i));
  for (int64_t i = 0; loops > 1 && i < op->seq->len; ++i)
    if (TN_IS(For, tn_arr_obj(op->seq, i)))
      TN_TRYP(tn_pmap_put_int(&x->next, tn_arr_obj(op->seq, i), 1));
  return tn_mut_children(m, op);
}

static tn_PrimFunc *profile_function(tn_PrimFunc *f, const tn_PassContext *ctx) {
  static const tn_mut_case cases[] = {TN_CASE(For, profile_for),
                                      TN_CASE(SeqStmt, profile_sequence)};
  profiler x = {.max_depth = ir_config_int(ctx, "tir.lwp_max_depth", 0),
                .min_height = ir_config_int(ctx, "tir.lwp_min_height", 1),
                .siblings = ir_config_int(ctx, "tir.instr_siblings", 1) != 0};
  int32_t id = next_id++;
  TN_MUT(m, cases, &x);
  tn_stmt *body = tn_mut_visit(&m, f->body);
  tn_pmap_fini(&x.next);
  if (!ir_config_int(ctx, "tir.lwp_disable_func_prof", 0)) body = marked(id, body);
  return body ? tir_with_body(f, body) : NULL;
}

tn_IRModule *tir_instrument_profile(tn_IRModule *mod, const tn_pass_ctx *c) {
  tn_map *functions = mod->functions;
  if (ir_config_int(c->node, "tir.reset_start_id", 0)) next_id = 0;
  for (int64_t i = 0; i < mod->functions->len; ++i) {
    const tn_map_entry *e = &mod->functions->entries[i];
    tn_PrimFunc *f = TN_AS(PrimFunc, e->value.v.obj);
    if (!f) continue;
    tn_PrimFunc *r;
    TN_GETP(r, profile_function(f, c->node));
    TN_GETP(functions, tn_map_with(functions, e->key, tn_any_obj(r)));
  }
  return ir_module_with_functions(mod, functions);
}
