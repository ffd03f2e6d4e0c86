/* Blocks that bring weights into the layout that a schedule chose are dropped: whoever calls the
   function passes weights that have it.

     for i, j in T.grid(16, 16):
       with T.block(): ... meta_schedule.layout_rewrite_preproc: 1
         W_1[j, i] = W[i, j]                 ->   W_1 takes the place of the parameter W;
     ... W_1[j, i]                                the block does nothing

   Blocks that rearrange anything but a parameter stay. Before blocks are lowered. */
#include "tir/transforms/transforms.h"

typedef struct {
  const tn_PrimFunc *f;
  tn_pmap rewritten; /* parameter's buffer to the one with the new layout */
  tn_pmap dropped;   /* buffers with the new layout, which are allocated no more */
} remover;

static bool is_parameter(const tn_PrimFunc *f, const tn_Buffer *b) {
  tn_any key, value;
  for (int64_t i = 0; tn_map_at(f->buffer_map, i, &key, &value); ++i)
    if (value.v.obj == (const tn_obj *)b) return true;
  return false;
}

static bool is_rewrite(const tn_Block *b) {
  const tn_obj *mark = tn_map_find(b->annotations, "meta_schedule.layout_rewrite_preproc");
  int64_t n;
  return mark && tir_as_int(mark, &n) && n == 1;
}

/* The block without its body. */
static tn_obj *drop_rewrite(remover *x, tn_Block *op) {
  const tn_BufferStore *store = TN_AS(BufferStore, op->body);
  const tn_BufferLoad *load = store ? TN_AS(BufferLoad, store->value) : NULL;
  TN_CHECKP(load && op->alloc_buffers->len == 0 && op->match_buffers->len == 0, ValueError,
            op->span,
            "RemoveWeightLayoutRewriteBlock: block %s: expected one store of one element of the "
            "weights, and no buffers of its own",
            tn_cstr(op->name_hint));
  if (!is_parameter(x->f, load->buffer)) return (tn_obj *)op;
  TN_TRYP(tn_pmap_put(&x->rewritten, load->buffer, store->buffer));
  TN_TRYP(tn_pmap_put_int(&x->dropped, store->buffer, 1));
  tn_Block copy = *op;
  TN_GETP(copy.reads, tn_arr_of(0));
  TN_GETP(copy.writes, tn_arr_of(0));
  TN_GETP(copy.body, tir_nop());
  return tn_node_copy(&tn_type_Block, &copy);
}

static tn_obj *remove_block(tn_mut *m, tn_Block *op) {
  remover *x = m->ctx;
  if (is_rewrite(op)) return drop_rewrite(x, op);
  tn_Block *r = tn_mut_children(m, op);
  TN_VEC(kept);
  if (!r || r == op) return (tn_obj *)r;
  for (int64_t i = 0; i < r->alloc_buffers->len; ++i)
    if (!tn_pmap_has(&x->dropped, tn_arr_obj(r->alloc_buffers, i)))
      TN_TRYP(tn_vec_push(&kept, r->alloc_buffers->items[i]));
  if (kept.len == r->alloc_buffers->len) return (tn_obj *)r;
  tn_Block copy = *r;
  TN_GETP(copy.alloc_buffers, tn_arr_from(&kept));
  return tn_node_copy(&tn_type_Block, &copy);
}

/* The function with the new layout in its parameters. */
static tn_PrimFunc *with_parameters(remover *x, tn_PrimFunc *f) {
  tn_any key, value;
  tn_map *map = f->buffer_map;
  for (int64_t i = 0; tn_map_at(f->buffer_map, i, &key, &value); ++i) {
    tn_Buffer *b = tn_pmap_get(&x->rewritten, value.v.obj);
    if (b) TN_GETP(map, tn_map_with(map, key, tn_any_obj(b)));
  }
  if (map == f->buffer_map) return f;
  tn_PrimFunc copy = *f;
  copy.buffer_map = map;
  return tn_node_copy(&tn_type_PrimFunc, &copy);
}

tn_PrimFunc *tir_remove_weight_layout(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(Block, remove_block)};
  (void)c;
  remover x = {.f = f};
  TN_MUT(m, cases, &x);
  tn_PrimFunc *r = tir_with_body(f, tn_mut_visit(&m, f->body));
  if (r) r = with_parameters(&x, r);
  tn_pmap_fini(&x.rewritten);
  tn_pmap_fini(&x.dropped);
  return r;
}
