/* Buffers are allocated where all their uses meet: in the innermost block or loop body that holds
   them all.

     with T.block("root"):                      with T.block("root"):
       B = T.alloc_buffer((8,))                   for i in range(8):
       for i in range(8):                  ->       with T.block(""):
         ... B[i] ...                                 B = T.alloc_buffer((8,))
                                                      ... B[i] ...

   A buffer that a block accumulates into lives outside the loops of its reduction. Before
   CompactBufferAllocation, which shrinks what such a place does not need. */
#include "tir/analysis.h"
#include "tir/transforms/transforms.h"

typedef struct {
  tir_access_lca uses;
  tn_pmap open; /* block or loop -> is it around? What is placed there is known */
} placing;

static void placing_fini(placing *p) {
  tir_access_lca_fini(&p->uses);
  tn_pmap_fini(&p->open);
}

static tn_arr *allocated_at(const tir_access_lca *uses, const tn_obj *node) {
  TN_VEC(v);
  for (int64_t i = 0; i < uses->buffers.len; ++i) {
    const tn_any *b = &uses->buffers.items[i];
    if (tn_pmap_get(&uses->node, b->v.obj) == node) TN_TRYP(tn_vec_push(&v, *b));
  }
  return tn_arr_from(&v);
}

/* A block around the place of a buffer no longer tells that it uses it. */
static tn_arr *known(const placing *p, tn_arr *regions) {
  TN_VEC(v);
  for (int64_t i = 0; i < regions->len; ++i) {
    const tn_BufferRegion *r = (const tn_BufferRegion *)tn_arr_obj(regions, i);
    const void *place = tn_pmap_get(&p->uses.node, r->buffer);
    if (!place || tn_pmap_get_int(&p->open, place, 0)) TN_TRYP(tn_vec_push_obj(&v, r));
  }
  return v.len == regions->len ? regions : tn_arr_from(&v);
}

static tn_obj *children(tn_mut *m, const void *node) {
  placing *p = m->ctx;
  TN_TRYP(tn_pmap_put_int(&p->open, node, 1));
  tn_obj *r = tn_mut_children(m, node);
  return tn_pmap_put_int(&p->open, node, 0) ? NULL : r;
}

static tn_obj *keep_buffer(tn_mut *m, tn_obj *b) {
  (void)m;
  return b;
}

static tn_obj *place_in_block(tn_mut *m, tn_Block *op) {
  const placing *p = m->ctx;
  tn_arr *here;
  tn_Block *b;
  TN_GETP(here, allocated_at(&p->uses, (tn_obj *)op));
  TN_GETP(b, (tn_Block *)children(m, op));
  tn_Block copy = *b;
  TN_GETP(copy.reads, known(p, b->reads));
  TN_GETP(copy.writes, known(p, b->writes));
  bool same =
      here->len == b->alloc_buffers->len && copy.reads == b->reads && copy.writes == b->writes;
  for (int64_t i = 0; same && i < here->len; ++i)
    same = tn_arr_obj(here, i) == tn_arr_obj(b->alloc_buffers, i);
  if (same) return (tn_obj *)b;
  copy.alloc_buffers = here;
  return tn_node_copy(&tn_type_Block, &copy);
}

/* A loop body has no place for allocations: it becomes an opaque block. */
static tn_obj *place_in_loop(tn_mut *m, tn_For *op) {
  tn_arr *here;
  tn_For *r;
  TN_GETP(here, allocated_at(&((const placing *)m->ctx)->uses, (tn_obj *)op));
  TN_GETP(r, (tn_For *)children(m, op));
  if (here->len == 0) return (tn_obj *)r;
  tn_arr *none = tn_arr_of(0);
  tn_Block *b = TN_NEW(Block, .iter_vars = none, .reads = none, .writes = none,
                       .name_hint = tn_str_from(""), .alloc_buffers = here, .match_buffers = none,
                       .annotations = tn_scope_own(tn_map_new()), .body = r->body);
  b = b ? tir_block_with_regions(b, true, true) : NULL;
  tn_stmt *body =
      (tn_stmt *)TN_NEW(BlockRealize, .iter_values = none, .predicate = tir_bool(true), .block = b);
  return (tn_obj *)tir_for_with(r, r->min, r->extent, body);
}

tn_PrimFunc *tir_plan_allocation(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case move[] = {TN_CASE(For, place_in_loop), TN_CASE(Block, place_in_block),
                                     TN_CASE(Buffer, keep_buffer)};
  (void)c;
  if (tir_is_legacy(f)) return f;
  __attribute__((cleanup(placing_fini))) placing p = {0};
  TN_MUT(moving, move, &p);
  TN_TRYP(tir_access_lca_find(f, TIR_LCA_CARRIED, &p.uses));
  if (p.uses.buffers.len == 0) return f;
  return tir_with_body(f, tn_mut_visit(&moving, f->body));
}
