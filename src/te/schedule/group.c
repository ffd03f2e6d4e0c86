/* Groups of stages: what lies between some inputs and outputs, placed together.

     g = s.create_group(outputs=C, inputs=A, include_inputs=True)
     g.compute_at(s[D], D.op.axis[0])

   te_normalize puts every stage at the root of a group where the group is. */
#include "te/schedule/te_schedule_impl.h"

typedef struct {
  const tn_TeSchedule *s;
  const tn_arr *inputs;
  bool include_inputs;
  tn_pmap member; /* Operation -> BETWEEN: it depends on an input */
} selection;

enum { BETWEEN = 1 };

static bool is_input(const selection *sel, const tn_Operation *op) {
  return te_index_of(sel->inputs, op) >= 0;
}

/* Stages come after their inputs, so one walk tells who depends on the inputs, another, backwards,
   who of them the outputs need. */
static int mark_dependent(selection *sel) {
  for (int64_t i = 0; i < sel->s->stages->len; ++i) {
    const tn_Operation *op = te_stage_at(sel->s, i)->op;
    bool depends = is_input(sel, op);
    const tn_arr *reads;
    TN_GET(reads, te_inputs(op));
    for (int64_t j = 0; j < reads->len && !depends; ++j)
      depends = tn_pmap_get_int(&sel->member, ((const tn_Tensor *)tn_arr_obj(reads, j))->op, 0) ==
                BETWEEN;
    if (depends) TN_TRY(tn_pmap_put_int(&sel->member, op, BETWEEN));
  }
  return 0;
}

/* Without inputs everything that the outputs need belongs to the group, but for placeholders. */
static int collect(selection *sel, const tn_arr *outputs, tn_vec *out) {
  TN_PMAP(needed);
  for (int64_t i = 0; i < outputs->len; ++i)
    TN_TRY(tn_pmap_put_int(&needed, tn_arr_obj(outputs, i), 1));
  for (int64_t i = sel->s->stages->len; i-- > 0;) {
    tn_TeStage *st = te_stage_at(sel->s, i);
    const tn_arr *reads;
    bool between = tn_pmap_get_int(&sel->member, st->op, 0) == BETWEEN || sel->inputs->len == 0;
    if (!tn_pmap_has(&needed, st->op) || !between) continue;
    if ((!is_input(sel, st->op) || sel->include_inputs) && !TN_AS(PlaceholderOp, st->op))
      TN_TRY(tn_vec_push_obj(out, st));
    if (is_input(sel, st->op)) continue;
    TN_GET(reads, te_inputs(st->op));
    for (int64_t j = 0; j < reads->len; ++j)
      TN_TRY(tn_pmap_put_int(&needed, ((const tn_Tensor *)tn_arr_obj(reads, j))->op, 1));
  }
  return 0;
}

int te_join_group(tn_TeStage *st, tn_TeStage *group) {
  tn_TeStage *old = st->group;
  if (old && te_set_int(old, "num_child_stages", old->num_child_stages - 1)) return -1;
  TN_TRY(te_set_int(group, "num_child_stages", group->num_child_stages + 1));
  return te_set(st, "group", group);
}

static bool lies_in(const tn_TeStage *st, const tn_TeStage *group) {
  while (st && st->group != group) st = st->group;
  return st != NULL;
}

/* The innermost group that all members lie in, NULL: the schedule. */
static tn_TeStage *around(const tn_vec *members) {
  tn_TeStage *group = ((tn_TeStage *)members->items[0].v.obj)->group;
  for (int64_t i = 1; i < members->len; ++i)
    while (group && !lies_in((tn_TeStage *)members->items[i].v.obj, group)) group = group->group;
  return group;
}

/* What of `group` the stage is or lies in: the stage itself or a group. */
static tn_TeStage *part_of(tn_TeStage *st, const tn_TeStage *group) {
  while (st->group != group) st = st->group;
  return st;
}

/* Groups lie in each other or apart: those that members lie in have members only. */
static int check_whole(const tn_TeSchedule *s, const tn_vec *members, const tn_TeStage *group) {
  TN_PMAP(chosen);
  TN_PMAP(parts);
  for (int64_t i = 0; i < members->len; ++i) {
    tn_TeStage *st = (tn_TeStage *)members->items[i].v.obj;
    TN_TRY(tn_pmap_put_int(&chosen, st, 1));
    TN_TRY(tn_pmap_put_int(&parts, part_of(st, group), 1));
  }
  for (int64_t i = 0; i < s->stages->len; ++i) {
    tn_TeStage *st = te_stage_at(s, i);
    bool apart = !lies_in(st, group) || !tn_pmap_get_int(&parts, part_of(st, group), 0);
    TN_CHECK(apart || tn_pmap_get_int(&chosen, st, 0), TenonError, NULL,
             "create_group: %s lies in a group of which other stages are chosen: choose it too, or "
             "none of that group",
             tn_cstr(st->op->name));
  }
  return 0;
}

static tn_TeStage *group_of(const tn_TeSchedule *s, const tn_vec *members) {
  tn_TeStage *outer = around(members), *group;
  tn_arr *none = tn_arr_of(0);
  tn_map *attrs = tn_scope_own(tn_map_new());
  tn_str *scope = tn_str_from("");
  TN_TRYP(check_whole(s, members, outer));
  if (!none || !attrs || !scope) return NULL;
  TN_GETP(group, TN_NEW(TeStage, .all_iter_vars = none, .leaf_iter_vars = none, .env_threads = none,
                        .relations = none, .layout_transforms = none, .layout_loops = none,
                        .axis_separators = none, .iter_var_attrs = attrs,
                        .attach_type = TE_ATTACH_ROOT, .scope = scope));
  for (int64_t i = 0; i < members->len; ++i) {
    tn_TeStage *part = part_of((tn_TeStage *)members->items[i].v.obj, outer);
    if (part != group) TN_TRYP(te_join_group(part, group));
    if (i == 0 && outer) TN_TRYP(te_join_group(group, outer));
  }
  return group;
}

/* A group of the members, listed in the schedule. */
static tn_TeStage *add_group(tn_TeSchedule *s, const tn_vec *members) {
  TN_VEC(groups);
  tn_TeStage *group;
  TN_GETP(group, group_of(s, members));
  for (int64_t i = 0; i < s->groups->len; ++i) TN_TRYP(tn_vec_push(&groups, s->groups->items[i]));
  TN_TRYP(tn_vec_push_obj(&groups, group));
  tn_arr *all = tn_arr_from(&groups);
  return all && te_set(s, "groups", all) == 0 ? group : NULL;
}

tn_TeStage *te_create_group(tn_TeSchedule *s, const tn_arr *outputs, const tn_arr *inputs,
                            bool include_inputs) {
  TN_VEC(members);
  selection sel = {.s = s, .inputs = inputs, .include_inputs = include_inputs};
  int err = mark_dependent(&sel) || collect(&sel, outputs, &members);
  tn_pmap_fini(&sel.member);
  if (err) return NULL;
  TN_CHECKP(members.len, TenonError, NULL,
            "create_group: no stage lies between the inputs and the outputs");
  return add_group(s, &members);
}

int te_group_scans(tn_TeSchedule *s) {
  for (int64_t i = s->stages->len; i-- > 0;) { /* a scan in another one comes before it */
    const tn_ScanOp *scan = TN_AS(ScanOp, te_stage_at(s, i)->op);
    TN_VEC(body);
    if (!scan) continue;
    TN_TRY(te_scan_body(s, scan, &body));
    if (body.len && !add_group(s, &body)) return -1;
  }
  return 0;
}
