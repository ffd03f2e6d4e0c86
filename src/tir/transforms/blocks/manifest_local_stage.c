/* What marked blocks copy to shared memory goes through registers: all loads of a thread are under
   way before the first of its stores waits for one.

     for i in range(4):                              A_shared_local = T.alloc_buffer((4,), "local")
       with T.block("A_shared"):                     for i in range(4):
         T.block_attr({MARK: 1})                       with T.block("A_shared_local"):
         A_shared[i, tx] = A[k + i, tx]       ->         A_shared_local[i] = A[k + i, tx]
                                                     for i in range(4):
                                                       with T.block("A_shared"):
                                                         A_shared[i, tx] = A_shared_local[i]

   MARK is "tir.manifest_shared_memory_local_stage". The stage takes the loops of constant extent
   that hold nothing but the block, as far as a loop that is pipelined; loops over threads give the
   registers no axis. After ConvertBlocksToOpaque. */
#include <string.h>

#include "tir/transforms/blocks/copy_nest.h"
#include "tir/device.h"
#include "tir/transforms/transforms.h"

#define MARK "tir.manifest_shared_memory_local_stage"

typedef struct {
  tn_vec made; /* buffers for the block around, in order */
} stager;

static bool is_marked(const tn_BlockRealize *r) {
  const tn_obj *v = r ? tn_map_find(r->block->annotations, MARK) : NULL;
  return v && !tir_is_zero((const tn_expr *)v);
}

/* May the stage hold what all iterations of the loop copy? */
static bool is_inside(const tn_For *f) {
  int64_t n;
  if (!tir_as_int((tn_obj *)f->extent, &n) || n <= 0 || !tir_is_zero(f->min)) return false;
  if (f->thread_binding && !tir_is_thread_axis(tn_cstr(f->thread_binding->thread_tag)))
    return false;
  return f->kind != TIR_FOR_PARALLEL && !tn_map_find(f->annotations, "software_pipeline_stage");
}

static int reads_it(void *buffer, tn_obj *o) {
  const tn_BufferLoad *l = TN_AS(BufferLoad, o);
  return l && (const void *)l->buffer == buffer;
}

static int check_copy(const copy_nest *n) {
  const tn_Block *b = n->real->block;
  TN_CHECK(b->iter_vars->len == 0 && !b->init, ValueError, b->span,
           "tir.ManifestSharedMemoryLocalStage: block %s has iterators; run ConvertBlocksToOpaque "
           "first",
           tn_cstr(b->name_hint));
  const char *scope = tir_buffer_scope(n->store->buffer);
  TN_CHECK(tir_memory_of(scope) == TIR_MEMORY_SHARED, ValueError, b->span,
           "tir.ManifestSharedMemoryLocalStage: block %s writes to %s in memory \"%s\", expected "
           "\"shared\"",
           tn_cstr(b->name_hint), tn_cstr(n->store->buffer->name), scope);
  int reads = tn_post_order(n->store->value, reads_it, n->store->buffer);
  TN_CHECK(
      !reads, ValueError, b->span,
      "tir.ManifestSharedMemoryLocalStage: block %s reads %s, which it writes: its loads cannot "
      "all come first",
      tn_cstr(b->name_hint), tn_cstr(n->store->buffer->name));
  return 0;
}

/* The registers, and their index in terms of the loops. */
static tn_Buffer *registers(const copy_nest *n, tn_arr **index) {
  TN_VEC(shape);
  TN_VEC(at);
  for (int64_t i = 0; i < n->loops.len; ++i) {
    const tn_For *f = tir_copy_loop(n, i);
    if (f->kind == TIR_FOR_THREAD_BINDING) continue;
    if (tn_vec_push_obj(&shape, f->extent) || tn_vec_push_obj(&at, f->loop_var)) return NULL;
  }
  if (!shape.len && (tn_vec_push_obj(&shape, tir_i32(1)) || tn_vec_push_obj(&at, tir_i32(0))))
    return NULL;
  const tn_Buffer *b = n->store->buffer;
  tn_str *name;
  TN_GETP(name, tn_str_fmt("%s_local", tn_cstr(b->name)));
  TN_GETP(*index, tn_arr_from(&at));
  return tir_buffer(tn_arr_from(&shape), b->dtype, tn_cstr(name), "local");
}

static tn_arr *point_of(const tn_Buffer *b, const tn_arr *index) {
  TN_VEC(v);
  for (int64_t i = 0; i < index->len; ++i) {
    tn_Range *r = tir_range((tn_expr *)tn_arr_obj(index, i), tir_i32(1));
    if (!r || tn_vec_push_obj(&v, r)) return NULL;
  }
  tn_BufferRegion *r =
      TN_NEW(BufferRegion, .buffer = (tn_Buffer *)(uintptr_t)b, .region = tn_arr_from(&v));
  return r ? tn_arr_of(1, r) : NULL;
}

/* The nest with another store; loops with fresh variables, so that each is bound once. */
static tn_stmt *nest_of(const copy_nest *n, tn_Block *block, tn_stmt *body, bool fresh) {
  TN_PMAP(vars);
  tn_BlockRealize real = *n->real;
  if (n->condition) {
    body = (tn_stmt *)TN_NEW(IfThenElse, .condition = n->condition, .then_case = body);
    if (!body) return NULL;
  }
  block->body = body;
  TN_GETP(real.block, tn_node_copy(&tn_type_Block, block));
  tn_stmt *s = tn_node_copy(&tn_type_BlockRealize, &real);
  for (int64_t i = n->loops.len; s && i-- > 0;) {
    tn_For copy = *tir_copy_loop(n, i);
    if (fresh) {
      TN_GETP(copy.loop_var, tir_var_like(copy.loop_var, tn_cstr(copy.loop_var->name)));
      TN_TRYP(tn_pmap_put(&vars, tir_copy_loop(n, i)->loop_var, copy.loop_var));
    }
    copy.body = s;
    s = tn_node_copy(&tn_type_For, &copy);
  }
  return s && fresh ? tir_substitute(s, &vars) : s;
}

static tn_stmt *staged(stager *x, const copy_nest *n) {
  tn_arr *index;
  tn_Buffer *b;
  tn_Block load = *n->real->block, store = load;
  tn_stmt *body, *first, *second;
  TN_TRYP(check_copy(n));
  TN_GETP(b, registers(n, &index));
  TN_TRYP(tn_vec_push_obj(&x->made, b));
  TN_GETP(load.name_hint, b->name);
  TN_GETP(load.writes, point_of(b, index));
  TN_GETP(load.annotations, tn_map_without(load.annotations, tn_any_cstr(MARK)));
  store.annotations = load.annotations;
  store.reads = load.writes;
  TN_GETP(body, tir_store(b, n->store->value, index));
  TN_GETP(first, nest_of(n, &load, body, false));
  TN_GETP(body, tir_store(n->store->buffer, tir_load(b, index), n->store->indices));
  TN_GETP(second, nest_of(n, &store, body, true));
  return tir_seq2(first, second);
}

static tn_stmt *stage(tn_mut *m, tn_stmt *s) {
  TIR_COPY_NEST(n);
  int is_nest = tir_copy_nest(s, true, &n);
  if (is_nest < 0) return NULL;
  bool all = is_nest && is_marked(n.real);
  /* an outermost loop over threads may be what makes it a kernel */
  if (n.loops.len && tir_copy_loop(&n, 0)->kind == TIR_FOR_THREAD_BINDING) all = false;
  for (int64_t i = 0; all && i < n.loops.len; ++i) all = is_inside(tir_copy_loop(&n, i));
  if (all) return staged(m->ctx, &n);
  const tn_BlockRealize *r = TN_AS(BlockRealize, s);
  TN_CHECKP(!is_marked(r), ValueError, r->span,
            "tir.ManifestSharedMemoryLocalStage: block %s does more than copy an element",
            tn_cstr(r->block->name_hint));
  return tn_mut_children(m, s);
}

/* A block has the registers that are used in it. */
static tn_obj *allocate(tn_mut *m, tn_Block *op) {
  stager *x = m->ctx;
  int64_t before = x->made.len;
  tn_Block *b;
  TN_VEC(all);
  TN_GETP(b, tn_mut_children(m, op));
  if (x->made.len == before) return (tn_obj *)b;
  tn_Block copy = *b;
  for (int64_t i = 0; i < b->alloc_buffers->len; ++i)
    TN_TRYP(tn_vec_push(&all, b->alloc_buffers->items[i]));
  for (int64_t i = before; i < x->made.len; ++i) TN_TRYP(tn_vec_push(&all, x->made.items[i]));
  x->made.len = before;
  TN_GETP(copy.alloc_buffers, tn_arr_from(&all));
  return tn_node_copy(&tn_type_Block, &copy);
}

tn_PrimFunc *tir_manifest_local_stage(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(For, stage), TN_CASE(BlockRealize, stage),
                                      TN_CASE(Block, allocate)};
  (void)c;
  if (!tir_has_block_mark(f->body, MARK)) return f;
  stager x = {0};
  TN_MUT(m, cases, &x);
  tn_stmt *body = tn_mut_visit(&m, f->body);
  tn_vec_fini(&x.made);
  return tir_with_body(f, body);
}
