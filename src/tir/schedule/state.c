/* The program of a schedule seen by its statements: references that follow them, and dependencies
   among the blocks of a block.

     sref = sch.get_sref(block);  sref.stmt;  sref.parent
     sch.state.get_block_scope(sref).get_deps_by_src(other)

   A reference is made when it is asked for, with those of all statements around it, and is the same
   object as long as its statement lives. */
#include "ir/functor.h"
#include "tenon/object.h"
#include "tir/schedule/api.h"
#include "tir/schedule/regions.h"

static bool is_site(const tn_obj *o) {
  return o && (o->type_index == TN_TI_For || o->type_index == TN_TI_Block);
}

static int set(void *node, const tn_type *type, const char *field, const void *value) {
  tn_any v = value ? tn_any_obj(value) : tn_any_none();
  return tn_field_set(node, tn_type_field(type, field), &v);
}

/* The loop or block around a statement. */
static const tn_obj *site_above(const tn_pmap *parent, const tn_obj *o) {
  do o = tn_pmap_get(parent, o);
  while (o && !is_site(o));
  return o;
}

static tn_StmtSRef *known(const tn_TirSchedule *s, const tn_obj *stmt) {
  tn_any value;
  return tn_map_get(s->srefs, tn_any_obj(stmt), &value) ? (tn_StmtSRef *)value.v.obj : NULL;
}

/* Makes the references of a statement and of those around it, outermost first. */
static tn_StmtSRef *sref_of(tn_TirSchedule *s, const tn_pmap *parent, const tn_obj *stmt) {
  TN_VEC(missing);
  tn_StmtSRef *above = NULL;
  for (const tn_obj *o = stmt; o && !(above = known(s, o)); o = site_above(parent, o))
    TN_TRYP(tn_vec_push_obj(&missing, o));
  for (int64_t i = missing.len; i-- > 0;) {
    tn_obj *o = missing.items[i].v.obj;
    above = TN_NEW(StmtSRef, .stmt = (tn_stmt *)o, .parent = above);
    if (!above || tn_map_set(s->srefs, tn_any_obj(o), tn_any_obj(above))) return NULL;
  }
  return above;
}

int sch_move_srefs(const sch_step *e, const tn_stmt *body,
                   const tn_obj *(*moved)(const sch_step *e, const tn_pmap *there,
                                          const tn_obj *stmt)) {
  TN_PMAP(there);
  const tn_map *old = e->s->srefs;
  tn_map *now = tn_scope_own(tn_map_new());
  if (!now || sch_note_parents(&there, body)) return -1;
  for (int64_t i = 0; i < old->len; ++i) {
    tn_obj *sref = old->entries[i].value.v.obj;
    const tn_obj *stmt = moved(e, &there, old->entries[i].key.v.obj);
    TN_TRY(set(sref, &tn_type_StmtSRef, "stmt", stmt));
    if (stmt) TN_TRY(tn_map_set(now, tn_any_obj(stmt), tn_any_obj(sref)));
    else TN_TRY(set(sref, &tn_type_StmtSRef, "parent", NULL));
  }
  TN_TRY(set(e->s, &tn_type_TirSchedule, "srefs", now));
  for (int64_t i = 0; i < now->len; ++i) {
    const tn_obj *stmt = now->entries[i].key.v.obj;
    if (!tn_pmap_has(&there, stmt)) continue; /* of another function */
    const tn_obj *site = site_above(&there, stmt);
    tn_StmtSRef *above = site ? sref_of(e->s, &there, site) : NULL;
    if (site && !above) return -1;
    TN_TRY(set(now->entries[i].value.v.obj, &tn_type_StmtSRef, "parent", above));
  }
  return 0;
}

/* ---- functions ---- */

tn_StmtSRef *sch_sref(tn_TirSchedule *s, const tn_obj *stmt) {
  SCH_STEP(e, s, "get-sref");
  TN_CHECKP(is_site(stmt), TypeError, NULL, "get_sref: expected a block or loop, got %s",
            stmt ? tn_obj_key(stmt) : "None");
  tn_StmtSRef *sref = known(s, stmt);
  if (sref) return sref;
  TN_TRYP(sch_begin(&e, stmt));
  return sref_of(s, &e.parent, stmt);
}

/* (schedule, handle, block or loop) */
static int f_get_sref(TN_ARGS) {
  SCH_ARG_SCHEDULE("Schedule.get_sref", 2);
  SCH_ARG_HANDLE(Object, rv, 1);
  tn_obj *stmt = rv;
  if (!TN_IS(Stmt, rv)) TN_GET(stmt, sch_get(s, rv));
  return tn_ret_obj(ret, sch_sref(s, stmt));
}

/* The block of a reference. */
static tn_Block *block_of(sch_step *e, const tn_StmtSRef *sref) {
  const tn_obj *o = (const tn_obj *)sref->stmt;
  TN_CHECKP(o && o->type_index == TN_TI_Block, TypeError, NULL,
            "schedule: expected a reference of a block, got one of %s",
            o ? tn_obj_key(o) : "a statement that is gone");
  return sch_begin(e, o) ? NULL : (tn_Block *)sref->stmt;
}

/* (schedule, reference of a block) -> BlockScope */
static int f_block_scope(TN_ARGS) {
  SCH_ARG_SCHEDULE("ScheduleState.get_block_scope", 2);
  SCH_ARG_HANDLE(StmtSRef, sref, 1);
  SCH_STEP(e, s, "get-block-scope");
  SCH_SCOPE_INFO(info);
  TN_VEC(deps);
  const tn_Block *b;
  TN_GET(b, block_of(&e, sref));
  TN_TRY(sch_scope_info_of(b, &info));
  for (int64_t i = 0; i < info.ndeps; ++i) {
    const sch_dep *d = &info.deps[i];
    tn_StmtSRef *src, *dst;
    TN_GET(src, sch_sref(s, (const tn_obj *)d->src));
    TN_GET(dst, sch_sref(s, (const tn_obj *)d->dst));
    tn_Dependency *dep = TN_NEW(Dependency, .src = src, .dst = dst, .kind = d->kind);
    if (!dep || tn_vec_push_obj(&deps, dep)) return -1;
  }
  tn_arr *all = tn_arr_from(&deps);
  return all ? tn_ret_obj(ret, TN_NEW(BlockScope, .deps = all)) : -1;
}

/* (schedule, reference of a block) -> [affine_binding, region_cover, stage_pipeline] */
static int f_flags(TN_ARGS) {
  SCH_ARG_SCHEDULE("ScheduleState.get_cached_flags", 2);
  SCH_ARG_HANDLE(StmtSRef, sref, 1);
  SCH_STEP(e, s, "get-cached-flags");
  SCH_SCOPE_INFO(info);
  bool affine = true, cover = true, pipeline = true;
  tn_Block *b;
  TN_GET(b, block_of(&e, sref));
  TN_TRY(sch_bind_shapes(&e));
  const tn_Block *scope = sch_scope_block(&e, sch_parent(&e, b));
  if (scope) {
    affine = sch_affine_binding(&e, b);
    TN_TRY(sch_scope_info_of(scope, &info));
    TN_TRY(sch_region_cover(&e, &info, b, &cover));
  }
  TN_TRY(sch_stage_pipeline(&e, b, &pipeline));
  return tn_ret_obj(ret, tn_arr_of(3, tir_bool(affine), tir_bool(cover), tir_bool(pipeline)));
}

/* (schedule, reference, statement, blocks that are to keep their references: old to new) */
static int f_replace(TN_ARGS) {
  SCH_ARG_SCHEDULE("ScheduleState.replace", 4);
  SCH_ARG_HANDLE(StmtSRef, sref, 1);
  SCH_ARG_HANDLE(Stmt, with, 2);
  SCH_ARG_HANDLE(Map, reuse, 3);
  SCH_STEP(e, s, "replace");
  const tn_obj *old = (const tn_obj *)sref->stmt;
  TN_CHECK(old, ValueError, NULL, "replace: the reference stands for nothing any more");
  e.given = true;
  TN_TRY(sch_begin(&e, old));
  const tn_BlockRealize *realize = TN_AS(BlockRealize, with);
  const tn_obj *now = realize ? (const tn_obj *)realize->block : (const tn_obj *)with;
  if (is_site(now) && now->type_index == old->type_index) TN_TRY(sch_moved(&e, old, now));
  for (int64_t i = 0; i < reuse->len; ++i)
    TN_TRY(sch_moved(&e, reuse->entries[i].key.v.obj, reuse->entries[i].value.v.obj));
  const tn_obj *place = realize && old->type_index == TN_TI_Block ? sch_parent(&e, old) : old;
  TN_TRY(sch_replace(&e, (const tn_stmt *)place, (const tn_stmt *)with));
  return sch_commit(&e);
}

/* (schedule, block) -> does it make a result of the block around it? */
static int f_is_output(TN_ARGS) {
  SCH_ARG_SCHEDULE("is_output_block", 2);
  SCH_ARG_HANDLE(BlockRV, block, 1);
  SCH_STEP(e, s, "is-output-block");
  const tn_Block *b, *scope;
  TN_GET(b, sch_block_of(&e, block));
  TN_GET(scope, sch_scope_root(&e, b, false));
  *ret = tn_any_bool(sch_is_output(b, scope));
  return 0;
}

typedef struct {
  const char *name;
} by_name;
static int has_name(void *ctx, tn_obj *o) {
  const tn_Block *b = TN_AS(Block, o);
  if (b && tn_str_eq(b->name_hint, ((const by_name *)ctx)->name)) return 2;
  return TN_IS(PrimExpr, o) ? 1 : 0;
}

/* (schedule, name) -> has any function of the program a block of the name? */
static int f_has_block(TN_ARGS) {
  by_name want;
  SCH_ARG_SCHEDULE("has_block", 2);
  TN_TRY(tn_any_to_cstr(&args[1], &want.name));
  const tn_map *functions = s->mod->functions;
  bool found = false;
  for (int64_t i = 0; i < functions->len && !found; ++i) {
    const tn_PrimFunc *f = TN_AS(PrimFunc, functions->entries[i].value.v.obj);
    int r = f ? tn_pre_order(f->body, has_name, &want) : 0;
    if (r < 0) return -1;
    found = r == 2;
  }
  *ret = tn_any_bool(found);
  return 0;
}

static const tn_func_row functions[] = {
    {"tir.schedule.IsOutputBlock", f_is_output}, {"tir.schedule.HasBlock", f_has_block},
    {"tir.schedule.GetSRef", f_get_sref},        {"tir.schedule.GetBlockScope", f_block_scope},
    {"tir.schedule.GetCachedFlags", f_flags},    {"tir.schedule.Replace", f_replace},
};

int schedule_state_init(void) { return tn_func_register_rows(functions, TN_COUNT(functions)); }
