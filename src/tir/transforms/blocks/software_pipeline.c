/* Software pipelines: statements of a loop work on different iterations in the same turn, so that
   what fills a buffer for the next iteration runs beside what uses it in this one.

     for i in T.serial(16, annotations={          with T.block(""):
         "software_pipeline_stage": [0, 1],         B = T.alloc_buffer((2, 8))
         "software_pipeline_order": [0, 1]}):       fill(B[0], 0)
       with T.block(""):                     ->     for i in range(15):
         B = T.alloc_buffer((8,))                     fill(B[(i + 1) % 2], i + 1)
         fill(B, i)                                   use(B[i % 2], i)
         use(B, i)                                  use(B[1], 15)

   A statement in stage s does iteration t - s in turn t; order is its place in a turn. The turns in
   which not all stages work stand before and after the loop, written out or with conditions.
   Buffers that the body allocates get as many copies as iterations use them at a time. The
   annotation software_pipeline_async_stages asks for copies that run on their own; they are done at
   once here, which computes the same. After ConvertBlocksToOpaque and LowerMatchBuffer. */
#include "tir/transforms/blocks/software_pipeline.h"

#include <string.h>

typedef struct {
  tn_arena arena;
  arith_analyzer known; /* ranges of the loops around */
  tn_map *pointers;     /* Var -> Buffer; NULL before it is needed */
  const tn_PrimFunc *func;
  bool any;
} pipeliner;

/* State while the accesses of parts are brought to their copies. */
typedef struct {
  const pipe_plan *plan;
  tn_pmap buffers; /* Buffer -> Buffer with copies */
  tn_pmap data;    /* Var -> the buffer of one copy */
} copier;

/* ---- copies ---- */

static int64_t copies_of(const copier *x, const tn_Buffer *b) {
  return tn_pmap_get_int(&x->plan->copies, b, 1);
}

/* The number of the copy that the iteration of the loop uses. */
static tn_expr *copy_number(const copier *x, const tn_Buffer *b) {
  tn_expr *i = (tn_expr *)x->plan->loop->loop_var;
  return tir_floormod(tir_sub(i, x->plan->loop->min), tir_const_int(i->dtype, copies_of(x, b)));
}

static tn_arr *prepended(const void *first, const tn_arr *rest) {
  TN_VEC(v);
  if (!first || tn_vec_push_obj(&v, first)) return NULL;
  for (int64_t i = 0; i < rest->len; ++i) TN_TRYP(tn_vec_push(&v, rest->items[i]));
  return tn_arr_from(&v);
}

static tn_expr *elements_of(const tn_Buffer *b) {
  if (b->strides->len > 0)
    return tir_mul((tn_expr *)tn_arr_obj(b->strides, 0), (tn_expr *)tn_arr_obj(b->shape, 0));
  tn_expr *n = tir_one(b->shape->len ? ((tn_expr *)tn_arr_obj(b->shape, 0))->dtype : TN_I32);
  for (int64_t i = 0; n && i < b->shape->len; ++i)
    n = tir_mul(n, (tn_expr *)tn_arr_obj(b->shape, i));
  return n;
}

static int add_copies(copier *x, tn_Buffer *b) {
  tn_Buffer copy = *b, *r;
  tn_dtype t = b->shape->len ? ((tn_expr *)tn_arr_obj(b->shape, 0))->dtype : TN_I32;
  TN_GET(copy.shape, prepended(tir_const_int(t, copies_of(x, b)), b->shape));
  if (b->strides->len > 0) TN_GET(copy.strides, prepended(elements_of(b), b->strides));
  TN_GET(r, tn_node_copy(&tn_type_Buffer, &copy));
  TN_TRY(tn_pmap_put(&x->buffers, b, r));
  return tn_pmap_put(&x->data, b->data, b);
}

static tn_obj *copy_load(tn_mut *m, tn_BufferLoad *op) {
  copier *x = m->ctx;
  tn_Buffer *b = tn_pmap_get(&x->buffers, op->buffer);
  tn_arr *indices = tn_mut_visit(m, op->indices);
  if (!indices) return NULL;
  if (!b) return indices == op->indices ? (tn_obj *)op : (tn_obj *)tir_load(op->buffer, indices);
  return (tn_obj *)tir_load(b, prepended(copy_number(x, op->buffer), indices));
}

static tn_obj *copy_store(tn_mut *m, tn_BufferStore *op) {
  copier *x = m->ctx;
  tn_Buffer *b = tn_pmap_get(&x->buffers, op->buffer);
  tn_arr *indices = tn_mut_visit(m, op->indices);
  tn_expr *value = tn_mut_visit(m, op->value);
  if (!indices || !value) return NULL;
  if (b) return (tn_obj *)tir_store(b, value, prepended(copy_number(x, op->buffer), indices));
  if (indices == op->indices && value == op->value) return (tn_obj *)op;
  return (tn_obj *)tir_store(op->buffer, value, indices);
}

static tn_obj *copy_region(tn_mut *m, tn_BufferRegion *op) {
  copier *x = m->ctx;
  tn_Buffer *b = tn_pmap_get(&x->buffers, op->buffer);
  if (!b) return (tn_obj *)op;
  tn_expr *at = copy_number(x, op->buffer);
  tn_Range *one = at ? tir_range(at, tir_one(at->dtype)) : NULL;
  return (tn_obj *)TN_NEW(BufferRegion, .buffer = b, .region = prepended(one, op->region));
}

/* A pointer into the buffer moves to its copy. */
static tn_obj *copy_call(tn_mut *m, tn_Call *op) {
  copier *x = m->ctx;
  bool access = tir_as_call((tn_obj *)op, TIR_OP_tvm_access_ptr) && op->args->len == 5;
  const tn_Buffer *b = access ? tn_pmap_get(&x->data, tn_arr_obj(op->args, 1)) : NULL;
  if (!b) return tn_mut_children(m, op);
  tn_expr *offset = tn_mut_visit(m, tn_arr_obj(op->args, 2));
  tn_expr *at = copy_number(x, b), *size = elements_of(b);
  if (!offset || !at || !size) return NULL;
  offset =
      tir_add(offset, tir_cast(offset->dtype, tir_mul(at, tir_cast(at->dtype, size, NULL)), NULL));
  tn_arr *args = tn_arr_of(5, tn_arr_obj(op->args, 0), tn_arr_obj(op->args, 1), offset,
                           tn_arr_obj(op->args, 3), tn_arr_obj(op->args, 4));
  return (tn_obj *)tir_call_args(op->dtype, TIR_OP_tvm_access_ptr, args, op->span);
}

static tn_obj *check_var(tn_mut *m, tn_Var *v) {
  const tn_Buffer *b = tn_pmap_get(&((copier *)m->ctx)->data, v);
  TN_CHECKP(!b, ValueError, v->span,
            "InjectSoftwarePipeline: %s is used through its pointer: which of its copies is meant "
            "cannot be told; use tvm_access_ptr or the buffer",
            b ? tn_cstr(b->name) : "");
  return (tn_obj *)v;
}

static tn_obj *keep(tn_mut *m, tn_obj *o) {
  (void)m;
  return o;
}

static void copier_fini(copier *x) {
  tn_pmap_fini(&x->buffers);
  tn_pmap_fini(&x->data);
}

/* Every part accesses the copies of its iteration; *allocs is what the new block allocates. */
static int use_copies(pipe_plan *p, tn_vec *allocs) {
  static const tn_mut_case cases[] = {TN_CASE(BufferLoad, copy_load),
                                      TN_CASE(BufferStore, copy_store),
                                      TN_CASE(BufferRegion, copy_region),
                                      TN_CASE(Call, copy_call),
                                      TN_CASE(Var, check_var),
                                      TN_CASE(Buffer, keep)};
  __attribute__((cleanup(copier_fini))) copier x = {.plan = p};
  TN_MUT(m, cases, &x);
  for (int64_t i = 0; i < p->allocs.len; ++i) {
    tn_Buffer *b = (tn_Buffer *)p->allocs.items[i].v.obj;
    if (tn_pmap_has(&p->copies, b)) TN_TRY(add_copies(&x, b));
    tn_Buffer *r = tn_pmap_get(&x.buffers, b);
    TN_TRY(tn_vec_push_obj(allocs, r ? r : b));
  }
  for (int64_t i = 0; i < p->n; ++i) TN_GET(p->parts[i].block, tn_mut_visit(&m, p->parts[i].block));
  return 0;
}

/* ---- turns ---- */

/* A part in turn `turn`, or *out = NULL where it has nothing to do.
   @param first turn that is not done before; NULL: 0 */
static int do_part(pipeliner *x, const pipe_plan *p, const pipe_part *part, tn_expr *turn,
                   tn_expr *first, tn_stmt **out) {
  const tn_For *loop = p->loop;
  tn_expr *i = tir_sub(turn, tir_const_int(turn->dtype, part->stage));
  tn_expr *inside, *iteration;
  tn_Block *block;
  TN_PMAP(vars);
  TN_GET(iteration, arith_simplify(&x->known, i));
  TN_GET(inside, tir_and(tir_le(loop->min, i), tir_lt(i, tir_add(loop->min, loop->extent))));
  if (first) TN_GET(inside, tir_and(inside, tir_le(first, turn)));
  TN_GET(inside, arith_simplify(&x->known, inside));
  *out = NULL;
  if (tir_is_zero(inside) || arith_prove(&x->known, tir_not(inside, NULL))) return 0;
  if (arith_prove(&x->known, inside)) TN_GET(inside, tir_bool(true));
  TN_TRY(tn_pmap_put(&vars, loop->loop_var, iteration));
  TN_GET(block, tir_substitute_fold(part->block, &vars));
  TN_GET(*out, (tn_stmt *)TN_NEW(BlockRealize, .iter_values = tn_arr_of(0), .predicate = inside,
                                 .block = block));
  return 0;
}

static tn_stmt *realize(tn_Block *b) {
  return (tn_stmt *)TN_NEW(BlockRealize, .iter_values = tn_arr_of(0), .predicate = tir_bool(true),
                           .block = b);
}

static tn_map *without_pipeline(const tn_map *annotations) {
  static const char PREFIX[] = "software_pipeline_";
  tn_map *rest = (tn_map *)(uintptr_t)annotations;
  for (int64_t i = 0; rest && i < annotations->len; ++i) {
    tn_any key = annotations->entries[i].key;
    if (key.type_index == TN_TI_String &&
        strncmp(tn_cstr((const tn_str *)key.v.obj), PREFIX, sizeof PREFIX - 1) == 0)
      rest = tn_map_without(rest, key);
  }
  return rest;
}

/* What the parts do in the turns from begin to before end. The loop keeps its first value, so that
   turns are counted from `begin - min` on. */
static int do_turns(pipeliner *x, const pipe_plan *p, tn_expr *begin, tn_expr *end, tn_expr *first,
                    bool unroll, tn_vec *out) {
  const tn_For *loop = p->loop;
  tn_dtype t = loop->loop_var->dtype;
  tn_expr *count, *turn = begin;
  tn_stmt *body;
  tn_Var *v = NULL;
  TN_VEC(parts);
  TN_GET(count, arith_simplify(&x->known, tir_sub(end, begin)));
  if (tir_is_zero(count) || arith_prove(&x->known, tir_le(count, tir_zero(t)))) return 0;
  if (!tir_is_one(count)) {
    TN_GET(v, tir_var_like(loop->loop_var, tn_cstr(loop->loop_var->name)));
    TN_TRY(arith_bind_range(&x->known, v, tir_range(loop->min, count), true));
    TN_GET(turn, tir_add((tn_expr *)v, tir_sub(begin, loop->min)));
  }
  for (int64_t i = 0; i < p->n; ++i) {
    tn_stmt *s;
    TN_TRY(do_part(x, p, p->in_order[i], turn, first, &s));
    if (s) TN_TRY(tn_vec_push_obj(&parts, s));
  }
  if (v) arith_unbind(&x->known, v);
  TN_GET(body, tir_seq(&parts));
  if (v) {
    tn_For copy = *loop;
    copy.loop_var = v, copy.extent = count, copy.body = body;
    if (unroll) copy.kind = TIR_FOR_UNROLLED;
    TN_GET(copy.annotations, without_pipeline(loop->annotations));
    TN_GET(body, tn_node_copy(&tn_type_For, &copy));
  }
  tn_Block *b;
  TN_GET(b, pipe_block(body, x->pointers));
  return tn_vec_push_obj(out, parts.len == 1 && !v ? body : realize(b));
}

static tn_stmt *make_loops(pipeliner *x, const pipe_plan *p, const tn_vec *allocs) {
  const tn_For *loop = p->loop;
  tn_expr *last = tir_const_int(loop->loop_var->dtype, p->last);
  tn_expr *full, *end;
  tn_Block *b;
  TN_VEC(out);
  TN_GETP(full, arith_simplify(&x->known, tir_add(loop->min, last)));
  TN_GETP(end, arith_simplify(&x->known, tir_add(loop->min, loop->extent)));
  TN_TRYP(do_turns(x, p, loop->min, full, NULL, true, &out));
  TN_TRYP(do_turns(x, p, full, end, NULL, false, &out));
  TN_TRYP(do_turns(x, p, end, tir_add(end, last), full, true, &out));
  tn_arr *none = tn_arr_of(0);
  b = TN_NEW(Block, .iter_vars = none, .reads = none, .writes = none, .name_hint = tn_str_from(""),
             .alloc_buffers = tn_arr_from(allocs), .match_buffers = none,
             .annotations = tn_scope_own(tn_map_new()), .body = tir_seq(&out));
  return b ? realize(pipe_regions(b, x->pointers)) : NULL;
}

/* ---- the walk ---- */

static int note_buffer(void *ctx, tn_obj *node) {
  pipeliner *x = ctx;
  tn_any known;
  if (!TN_AS(Buffer, node)) return 0;
  tn_any data = tn_any_obj(((const tn_Buffer *)node)->data);
  if (tn_map_get(x->pointers, data, &known)) return 0;
  return tn_map_set(x->pointers, data, tn_any_obj(node));
}

static int find_pointers(pipeliner *x) {
  if (x->pointers) return 0;
  TN_GET(x->pointers, tn_scope_own(tn_map_new()));
  return tn_post_order(x->func, note_buffer, x);
}

static tn_stmt *pipeline(pipeliner *x, const tn_For *loop) {
  __attribute__((cleanup(pipe_plan_fini))) pipe_plan p = {.arena = &x->arena};
  TN_VEC(allocs);
  TN_TRYP(arith_bind_range(&x->known, loop->loop_var, tir_range(loop->min, loop->extent), true));
  int failed = pipe_plan_of(loop, x->pointers, &x->known, &p);
  arith_unbind(&x->known, loop->loop_var);
  if (failed || use_copies(&p, &allocs)) return NULL;
  x->any = true;
  return make_loops(x, &p, &allocs);
}

static tn_obj *visit_for(tn_mut *m, tn_For *op) {
  pipeliner *x = m->ctx;
  tn_Range *r;
  TN_GETP(r, tir_range(op->min, op->extent));
  TN_TRYP(arith_bind_range(&x->known, op->loop_var, r, true));
  tn_For *inner = tn_mut_children(m, op);
  arith_unbind(&x->known, op->loop_var);
  if (!inner || !pipe_wanted(inner)) return (tn_obj *)inner;
  return (tn_obj *)pipeline(x, inner);
}

static bool is_wanted(const tn_stmt *s, const void *arg) {
  (void)arg;
  return TN_IS(For, s) && pipe_wanted((const tn_For *)s);
}

static void pipeliner_fini(pipeliner *x) {
  tn_arena_fini(&x->arena);
  arith_fini(&x->known);
}

tn_PrimFunc *tir_inject_software_pipeline(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(For, visit_for), TN_CASE(Buffer, keep)};
  if (!tir_has_stmt(f->body, is_wanted, NULL)) return f;
  __attribute__((cleanup(pipeliner_fini))) pipeliner x = {.func = f};
  TN_MUT(m, cases, &x);
  TN_TRYP(find_pointers(&x));
  TN_GETP(f, tir_with_body(f, tn_mut_visit(&m, f->body)));
  return x.any ? tir_convert_ssa(f, c) : f;
}
