/* Which blocks use what others make; loops around blocks; where buffers live. */
#include "ir/functor.h"
#include "tir/schedule/buffer_change.h"
#include "tir/schedule/cache.h"

tn_arr *sch_get_neighbours(tn_TirSchedule *s, const tn_BlockRV *block, bool producers) {
  SCH_STEP(e, s, producers ? "get-producers" : "get-consumers");
  SCH_SCOPE_INFO(info);
  TN_VEC(blocks);
  const tn_Block *b = sch_block_of(&e, block), *scope = b ? sch_scope_root(&e, b, false) : NULL;
  if (!scope || sch_scope_info_of(scope, &info)) return NULL;
  TN_TRYP(producers ? sch_producers(&info, b, &blocks) : sch_consumers(&info, b, &blocks));
  return sch_handles(s, &blocks);
}

typedef struct {
  tn_vec blocks; /* below the scope, nested ones too */
  tn_pmap local; /* buffers that the scope or one of them allocates */
} below;

static int meet_block(void *ctx, tn_obj *o) {
  below *w = ctx;
  const tn_Block *b = TN_AS(Block, o);
  if (b) TN_TRY(tn_vec_push_obj(&w->blocks, b));
  for (int64_t i = 0; b && i < b->alloc_buffers->len; ++i)
    TN_TRY(tn_pmap_put(&w->local, tn_arr_obj(b->alloc_buffers, i), o));
  return TN_IS(PrimExpr, o) ? 1 : 0;
}

static int keep_outputs(const below *w, const tn_Block *scope, tn_vec *out) {
  for (int64_t i = 0; i < w->blocks.len; ++i) {
    const tn_Block *b = (const tn_Block *)w->blocks.items[i].v.obj;
    bool writes = false;
    for (int64_t j = 0; b != scope && j < b->writes->len; ++j)
      writes =
          writes || !tn_pmap_has(&w->local, ((tn_BufferRegion *)tn_arr_obj(b->writes, j))->buffer);
    if (writes) TN_TRY(tn_vec_push_obj(out, b));
  }
  return 0;
}

tn_arr *sch_get_output_blocks(tn_TirSchedule *s, const tn_BlockRV *scope_rv) {
  SCH_STEP(e, s, "get-output-blocks");
  TN_VEC(out);
  below w = {0};
  const tn_Block *scope = sch_block_of(&e, scope_rv);
  int err = scope && tn_pre_order(scope, meet_block, &w) >= 0 ? keep_outputs(&w, scope, &out) : -1;
  tn_vec_fini(&w.blocks);
  tn_pmap_fini(&w.local);
  return err ? NULL : sch_handles(s, &out);
}

tn_LoopRV *sch_add_unit_loop(tn_TirSchedule *s, const tn_obj *rv) {
  SCH_STEP(e, s, "add-unit-loop");
  tn_obj *o = sch_get(s, rv);
  if (!o || sch_begin(&e, o)) return NULL;
  tn_obj *body = o->type_index == TN_TI_Block ? sch_parent(&e, o) : o;
  TN_CHECKP(body && (o->type_index == TN_TI_Block || o->type_index == TN_TI_For), TypeError, NULL,
            "add_unit_loop: expected a block or loop, got %s", tn_obj_key(o));
  tn_map *none = tn_scope_own(tn_map_new());
  tn_For *loop =
      none ? TN_MAKE(For, .loop_var = tir_var("u", TN_I32), .min = tir_i32(0), .extent = tir_i32(1),
                     .kind = TIR_FOR_SERIAL, .body = (tn_stmt *)body, .annotations = none)
           : NULL;
  if (!loop || sch_replace(&e, (tn_stmt *)body, (tn_stmt *)loop) || sch_commit(&e)) return NULL;
  return (tn_LoopRV *)sch_handle(s, (tn_obj *)loop);
}

int sch_set_scope(tn_TirSchedule *s, const tn_BlockRV *block, int64_t index, const char *scope) {
  SCH_STEP(e, s, "set-scope");
  tn_Block *b = sch_block_of(&e, block);
  if (!b) return -1;
  if (index < 0 || index >= b->writes->len)
    return sch_fail(&e, "The buffer index is out of range", SCH_PLACES(b),
                    "The block {0} writes %lld buffers: number %lld is out of range",
                    (long long)b->writes->len, (long long)index);
  tn_Buffer *old = ((tn_BufferRegion *)tn_arr_obj(b->writes, index))->buffer;
  const tn_Block *site = sch_scope_block(&e, sch_parent(&e, b));
  if (!site || !sch_allocates(site, old))
    return sch_fail(&e, "The buffer is not allocated by the block around", SCH_PLACES(b),
                    "Buffer %s, which block {0} writes, is not allocated by the block around it",
                    tn_cstr(old->name));
  TN_TRY(sch_check_memory(&e, *scope ? scope : "global"));
  sch_buffer_change c = {.old = old, .now = sch_buffer_stored(old, old->dtype, scope)};
  int err = sch_change_buffer(&e, &c) || sch_commit(&e);
  sch_buffer_change_fini(&c);
  return err ? -1 : 0;
}
