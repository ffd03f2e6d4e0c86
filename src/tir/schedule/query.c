/* Handles of blocks and loops by name and place. */
#include "ir/functor.h"
#include "tir/schedule/schedule_impl.h"

tn_GlobalVar *sch_func_var(const tn_TirSchedule *s, const char *func) {
  const tn_map *functions = s->mod->functions;
  const char *name = func ? func : s->work_name ? tn_cstr(s->work_name) : NULL;
  tn_GlobalVar *only = NULL;
  int n = 0;
  for (int64_t i = 0; i < functions->len; ++i) {
    tn_GlobalVar *v = (tn_GlobalVar *)functions->entries[i].key.v.obj;
    if (!TN_AS(PrimFunc, functions->entries[i].value.v.obj)) continue;
    if (tn_str_eq(v->name_hint, name ? name : "main")) return v;
    only = v, ++n;
  }
  TN_CHECKP(!name, ValueError, NULL, "schedule: the module has no tensor program named %s", name);
  TN_CHECKP(n == 1, ValueError, NULL,
            "schedule: it does not know which function to be working on: the module has %d tensor "
            "programs, none named main: give func_name or call work_on",
            n);
  return only;
}

typedef struct {
  const char *name;
  tn_vec *found;
} by_name;

static int match_block(void *ctx, tn_obj *o) {
  const by_name *want = ctx;
  const tn_Block *b = TN_AS(Block, o);
  if (b && tn_str_eq(b->name_hint, want->name)) TN_TRY(tn_vec_push_obj(want->found, o));
  return TN_IS(PrimExpr, o) ? 1 : 0;
}

tn_BlockRV *sch_get_block(tn_TirSchedule *s, const char *name, const char *func) {
  SCH_STEP(e, s, "get-block");
  TN_VEC(found);
  const tn_GlobalVar *v = sch_func_var(s, func);
  const tn_PrimFunc *f = v ? (tn_PrimFunc *)ir_module_lookup(s->mod, v) : NULL;
  by_name want = {name, &found};
  if (!f || tn_pre_order(f->body, match_block, &want) < 0) return NULL;
  if (found.len == 1) return (tn_BlockRV *)sch_handle(s, found.items[0].v.obj);
  if (!found.len)
    return sch_fail(&e, "Cannot find a block with the specified name", NULL,
                    "Cannot find a block with the name: %s", name),
           NULL;
  sch_fail(&e, "Found multiple blocks with the specified name",
           SCH_PLACES(found.items[0].v.obj, found.items[1].v.obj),
           "Found %d blocks with the name: %s, among them {0} and {1}", (int)found.len, name);
  return NULL;
}

tn_arr *sch_handles(tn_TirSchedule *s, const tn_vec *stmts) {
  TN_VEC(out);
  for (int64_t i = 0; i < stmts->len; ++i) {
    const tn_obj *o = stmts->items[i].v.obj;
    const tn_BlockRealize *r = TN_AS(BlockRealize, o);
    tn_obj *rv = sch_handle(s, r ? (tn_obj *)r->block : o);
    if (!rv || tn_vec_push_obj(&out, rv)) return NULL;
  }
  return tn_arr_from(&out);
}

tn_arr *sch_get_loops(tn_TirSchedule *s, const tn_BlockRV *block) {
  SCH_STEP(e, s, "get-loops");
  TN_VEC(loops);
  const tn_Block *b = sch_block_of(&e, block);
  return b && sch_loops_above(&e, b, &loops) == 0 ? sch_handles(s, &loops) : NULL;
}

tn_arr *sch_get_child_blocks(tn_TirSchedule *s, const tn_obj *block_or_loop) {
  TN_VEC(blocks);
  const tn_obj *o = sch_get(s, block_or_loop);
  const tn_Block *b = TN_AS(Block, o);
  const tn_For *f = TN_AS(For, o);
  TN_CHECKP(!o || b || f, TypeError, NULL, "get_child_blocks: expected a block or loop, got %s",
            tn_obj_key(o));
  if (!o || sch_blocks_below((const tn_obj *)(b ? b->body : f->body), &blocks)) return NULL;
  return sch_handles(s, &blocks);
}
