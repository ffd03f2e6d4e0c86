/* Schedules made ready for bounds: inlined operations are put into their users, places given as
   loops that were split or fused later are followed to what these have become, and axes that are
   loops get a loop that starts at 0, so that where they start is an expression of outer loops. */
#include "ir/functor.h"
#include "te/schedule/te_schedule_impl.h"

/* ---- copies ---- */

/* A stage at the root of a group is where the group is. */
static tn_TeStage *copy_stage(const tn_TeStage *st) {
  tn_TeStage *copy = tn_node_copy(&tn_type_TeStage, st);
  const tn_TeStage *group = st->group;
  while (group && group->attach_type == TE_ATTACH_ROOT) group = group->group;
  if (!copy || !group || st->attach_type != TE_ATTACH_ROOT) return copy;
  copy->attach_type = group->attach_type;
  TN_TRYP(te_set(copy, "attach_stage", group->attach_stage));
  TN_TRYP(te_set(copy, "attach_ivar", group->attach_ivar));
  return copy;
}

static int copy_map(const tn_TeSchedule *s, const tn_vec *stages, tn_map *out) {
  for (int64_t i = 0; i < s->stage_map->len; ++i) {
    const tn_map_entry *e = &s->stage_map->entries[i];
    int64_t at = te_index_of(s->stages, e->value.v.obj);
    TN_CHECK(at >= 0, InternalError, NULL, "a stage is in no schedule");
    TN_TRY(tn_map_set(out, e->key, stages->items[at]));
  }
  return 0;
}

static tn_TeSchedule *copy_schedule(const tn_TeSchedule *s) {
  TN_VEC(stages);
  tn_map *map = tn_scope_own(tn_map_new());
  for (int64_t i = 0; i < s->stages->len; ++i)
    TN_TRYP(tn_vec_push_obj(&stages, copy_stage(te_stage_at(s, i))));
  for (int64_t i = 0; i < stages.len; ++i) {
    tn_TeStage *st = (tn_TeStage *)stages.items[i].v.obj;
    int64_t at = st->attach_stage ? te_index_of(s->stages, st->attach_stage) : -1;
    if (at >= 0) TN_TRYP(te_set(st, "attach_stage", stages.items[at].v.obj));
  }
  tn_arr *all = tn_arr_from(&stages);
  if (!map || !all || copy_map(s, &stages, map)) return NULL;
  return TN_NEW(TeSchedule, .outputs = s->outputs, .stages = all, .groups = s->groups,
                .stage_map = map);
}

/* ---- scans ---- */

static bool has_op(const tn_arr *tensors, const tn_Operation *op) {
  for (int64_t i = 0; i < tensors->len; ++i) {
    if (((const tn_Tensor *)tn_arr_obj(tensors, i))->op == op) return true;
  }
  return false;
}

const tn_ScanOp *te_scan_of(const tn_TeSchedule *s, const tn_Operation *op) {
  for (int64_t i = 0; i < s->stages->len; ++i) {
    const tn_ScanOp *scan = TN_AS(ScanOp, te_stage_at(s, i)->op);
    if (scan && (has_op(scan->init, op) || has_op(scan->update, op))) return scan;
  }
  return NULL;
}

bool te_is_scan_state(const tn_TeSchedule *s, const tn_Operation *op) {
  for (int64_t i = 0; i < s->stages->len; ++i) {
    const tn_ScanOp *scan = TN_AS(ScanOp, te_stage_at(s, i)->op);
    if (scan && has_op(scan->state_placeholder, op)) return true;
  }
  return false;
}

enum { READS_STATE = 1, IN_BODY = 2 };

/* Operations that read the state, and those of them that the update needs: stages are in the order
   of their inputs. */
static int mark_body(const tn_TeSchedule *s, const tn_ScanOp *scan, tn_pmap *marks) {
  for (int64_t i = 0; i < s->stages->len; ++i) {
    const tn_TeStage *st = te_stage_at(s, i);
    const tn_arr *inputs;
    TN_GET(inputs, te_inputs(st->op));
    for (int64_t j = 0; st->op != (const tn_Operation *)scan && j < inputs->len; ++j) {
      const tn_Operation *in = ((const tn_Tensor *)tn_arr_obj(inputs, j))->op;
      if (has_op(scan->state_placeholder, in) || tn_pmap_get_int(marks, in, 0))
        TN_TRY(tn_pmap_put_int(marks, st->op, READS_STATE));
    }
  }
  for (int64_t i = s->stages->len; i-- > 0;) {
    const tn_TeStage *st = te_stage_at(s, i);
    bool wanted = has_op(scan->update, st->op) || tn_pmap_get_int(marks, st->op, 0) == IN_BODY;
    const tn_arr *inputs;
    if (!wanted) continue;
    TN_TRY(tn_pmap_put_int(marks, st->op, IN_BODY));
    TN_GET(inputs, te_inputs(st->op));
    for (int64_t j = 0; j < inputs->len; ++j) {
      const tn_Operation *in = ((const tn_Tensor *)tn_arr_obj(inputs, j))->op;
      if (tn_pmap_get_int(marks, in, 0)) TN_TRY(tn_pmap_put_int(marks, in, IN_BODY));
    }
  }
  return 0;
}

int te_scan_body(const tn_TeSchedule *s, const tn_ScanOp *scan, tn_vec *out) {
  TN_PMAP(marks);
  TN_TRY(mark_body(s, scan, &marks));
  for (int64_t i = 0; i < s->stages->len; ++i) {
    tn_TeStage *st = te_stage_at(s, i);
    if (tn_pmap_get_int(&marks, st->op, 0) == IN_BODY) TN_TRY(tn_vec_push_obj(out, st));
  }
  return 0;
}

/* What depends on the state is computed in the loop of the scan. */
static int place_body(const tn_TeSchedule *s, tn_TeStage *at, const tn_ScanOp *scan) {
  TN_VEC(body);
  const tn_IterVar *loop = te_iv(at->leaf_iter_vars, at->leaf_iter_vars->len - 1);
  TN_TRY(te_scan_body(s, scan, &body));
  for (int64_t i = 0; i < s->stages->len; ++i) {
    const tn_TeStage *st = te_stage_at(s, i);
    TN_CHECK(!has_op(scan->init, st->op) || st->attach_type == TE_ATTACH_ROOT, TenonError, NULL,
             "scan %s: its first values %s must be computed at the root", tn_cstr(scan->name),
             tn_cstr(st->op->name));
  }
  for (int64_t i = 0; i < body.len; ++i) {
    tn_TeStage *st = (tn_TeStage *)body.items[i].v.obj;
    if (st->attach_type != TE_ATTACH_ROOT && st->attach_type != TE_ATTACH_SCAN_UPDATE) continue;
    st->attach_type = TE_ATTACH_SCOPE;
    TN_TRY(te_set(st, "attach_stage", at));
    TN_TRY(te_set(st, "attach_ivar", loop));
  }
  return 0;
}

/* ---- inlining ---- */

typedef struct {
  const tn_ComputeOp *op;
} inliner;

static tn_obj *inline_load(void *ctx, tn_ProducerLoad *pre, tn_ProducerLoad *post) {
  const inliner *in = ctx;
  const tn_Tensor *t = TN_AS(Tensor, post->producer);
  TN_PMAP(vars);
  (void)pre;
  if (!t || (const void *)t->op != in->op) return (tn_obj *)post;
  for (int64_t i = 0; i < post->indices->len; ++i) {
    const tn_Var *v = te_iv(in->op->axis, i)->var;
    const tn_expr *at = tir_cast(v->dtype, (tn_expr *)tn_arr_obj(post->indices, i), NULL);
    if (!at || tn_pmap_put(&vars, v, at)) return NULL;
  }
  return tir_substitute(tn_arr_obj(in->op->body, t->value_index), &vars);
}

static int inline_into(tn_TeSchedule *s, tn_TeStage *st, const tn_ComputeOp *op) {
  static const tn_rewrite_case cases[] = {TN_REWRITE(ProducerLoad, inline_load)};
  const tn_ComputeOp *c = TN_AS(ComputeOp, st->op);
  inliner in = {op};
  if (!c) return 0;
  tn_ComputeOp copy = *c;
  TN_GET(copy.body, tn_rewrite(c->body, cases, TN_COUNT(cases), &in));
  if (copy.body == c->body) return 0;
  const tn_Reduce *r = TN_AS(Reduce, tn_arr_obj(copy.body, 0));
  if (r) copy.reduce_axis = r->axis;
  tn_Operation *now;
  TN_GET(now, tn_node_copy(&tn_type_ComputeOp, &copy));
  return te_replace_op(s, st, now);
}

/* Expressions take an operation in; a statement or an intrinsic reads it from memory. */
static int note_stored(const tn_TeSchedule *s, tn_pmap *readers) {
  for (int64_t i = 0; i < s->stages->len; ++i) {
    const tn_Operation *op = te_stage_at(s, i)->op;
    const tn_arr *inputs;
    if (TN_AS(ComputeOp, op)) continue;
    TN_GET(inputs, te_inputs(op));
    for (int64_t j = 0; j < inputs->len; ++j)
      TN_TRY(tn_pmap_put(readers, ((const tn_Tensor *)tn_arr_obj(inputs, j))->op, op));
  }
  return 0;
}

static int inline_stage(tn_TeSchedule *s, int64_t at) {
  tn_TeStage *st = te_stage_at(s, at);
  const tn_ComputeOp *op = TN_AS(ComputeOp, st->op);
  TN_CHECK(op && !op->reduce_axis->len, TenonError, NULL,
           "compute_inline: %s is a reduction, which cannot be inlined", tn_cstr(st->op->name));
  TN_CHECK(!st->is_output, TenonError, NULL, "compute_inline: %s is an output",
           tn_cstr(st->op->name));
  const tn_ScanOp *scan = te_scan_of(s, st->op);
  TN_CHECK(!scan, TenonError, NULL,
           "compute_inline: %s is the first value or the update of scan %s, which needs it stored",
           tn_cstr(st->op->name), tn_cstr(scan->name));
  TN_PMAP(readers);
  TN_TRY(note_stored(s, &readers));
  const tn_Operation *reader = tn_pmap_get(&readers, st->op);
  TN_CHECK(!reader, TenonError, NULL,
           "compute_inline: %s is read by %s, which is not an expression: it needs it stored",
           tn_cstr(st->op->name), tn_cstr(reader->name));
  st->attach_type = TE_ATTACH_INLINED;
  for (int64_t i = at + 1; i < s->stages->len; ++i) TN_TRY(inline_into(s, te_stage_at(s, i), op));
  return 0;
}

/* ---- places ---- */

static tn_IterVar *follow(const tn_TeStage *st, tn_IterVar *iv) {
  for (int64_t i = 0; i < st->relations->len; ++i) {
    const tn_TeSplit *s = TN_AS(TeSplit, tn_arr_obj(st->relations, i));
    const tn_TeFuse *f = TN_AS(TeFuse, tn_arr_obj(st->relations, i));
    if (s && s->parent == iv) iv = s->inner;
    const tn_TeRebase *b = TN_AS(TeRebase, tn_arr_obj(st->relations, i));
    if (f && (f->inner == iv || f->outer == iv)) iv = f->fused;
    if (b && b->parent == iv) iv = b->rebased;
  }
  return iv;
}

/* ---- loops from 0 on ---- */

/* What is said of an axis that is a loop goes for the loop from 0 on too. */
static int rebase(tn_TeStage *st, int64_t at, tn_vec *leaves, tn_vec *relations, tn_vec *all) {
  tn_IterVar *iv = te_iv(st->leaf_iter_vars, at);
  tn_Var *v = tir_var_like(iv->var, tn_cstr(iv->var->name));
  tn_IterVar *now =
      v ? tir_iter_var(NULL, v, (ir_iter_type)iv->iter_type, tn_cstr(iv->thread_tag)) : NULL;
  const tn_IterVarAttr *attr = te_attr(st, iv);
  if (!now || tn_vec_push_obj(leaves, now) || tn_vec_push_obj(all, now) ||
      tn_vec_push_obj(relations, TN_NEW(TeRebase, .parent = iv, .rebased = now)))
    return -1;
  tn_map *attrs = attr ? tn_map_with(st->iter_var_attrs, tn_any_obj(now), tn_any_obj(attr)) : NULL;
  return !attr ? 0 : attrs ? te_set(st, "iter_var_attrs", attrs) : -1;
}

static int push_all(tn_vec *v, const tn_arr *a) {
  for (int64_t i = 0; i < a->len; ++i) TN_TRY(tn_vec_push(v, a->items[i]));
  return 0;
}

static int rebase_stage(tn_TeStage *st) {
  TN_VEC(leaves);
  TN_VEC(relations);
  TN_VEC(all);
  tn_arr *roots;
  TN_GET(roots, te_root_iter_vars(st->op));
  TN_TRY(push_all(&relations, st->relations));
  TN_TRY(push_all(&all, st->all_iter_vars));
  for (int64_t i = 0; i < st->leaf_iter_vars->len; ++i) {
    const tn_obj *iv = tn_arr_obj(st->leaf_iter_vars, i);
    if (te_index_of(roots, iv) >= 0) TN_TRY(rebase(st, i, &leaves, &relations, &all));
    else TN_TRY(tn_vec_push_obj(&leaves, iv));
  }
  tn_arr *lists[] = {tn_arr_from(&leaves), tn_arr_from(&relations), tn_arr_from(&all)};
  if (!lists[0] || !lists[1] || !lists[2]) return -1;
  TN_TRY(te_set(st, "leaf_iter_vars", lists[0]));
  TN_TRY(te_set(st, "relations", lists[1]));
  return te_set(st, "all_iter_vars", lists[2]);
}

tn_TeSchedule *te_normalize(const tn_TeSchedule *s) {
  tn_TeSchedule *out;
  TN_GETP(out, copy_schedule(s));
  for (int64_t i = 0; i < out->stages->len; ++i) TN_TRYP(rebase_stage(te_stage_at(out, i)));
  for (int64_t i = out->stages->len; i-- > 0;) {
    tn_TeStage *st = te_stage_at(out, i);
    if (st->attach_type == TE_ATTACH_INLINE && inline_stage(out, i)) return NULL;
    if (st->attach_type == TE_ATTACH_SCOPE &&
        te_set(st, "attach_ivar", follow(st->attach_stage, st->attach_ivar)))
      return NULL;
  }
  for (int64_t i = 0; i < out->stages->len; ++i) {
    tn_TeStage *st = te_stage_at(out, i);
    if (TN_AS(ScanOp, st->op) && place_body(out, st, (const tn_ScanOp *)st->op)) return NULL;
  }
  return out;
}

/* ---- inlining without being asked stage by stage ---- */

typedef struct {
  const tn_arr *axis;
  bool same; /* all reads are at the axes, in their order */
} element_walk;

static int check_load(void *ctx, tn_obj *o) {
  element_walk *w = ctx;
  const tn_ProducerLoad *load = TN_AS(ProducerLoad, o);
  if (load && load->indices->len != w->axis->len) w->same = false;
  for (int64_t i = 0; load && w->same && i < load->indices->len; ++i)
    w->same = (const void *)tn_arr_obj(load->indices, i) == te_iv(w->axis, i)->var;
  return o->type_index == TN_TI_Tensor ? 1 : 0;
}

static bool is_wanted(const tn_ComputeOp *c, int which) {
  if (!c || c->reduce_axis->len) return false;
  if (which == 2) return true;
  if (which == 1 && tn_str_eq(c->tag, "broadcast")) return true;
  element_walk w = {c->axis, true};
  return tn_pre_order(c->body, check_load, &w) >= 0 && w.same;
}

int te_auto_inline(tn_TeSchedule *s, int which) {
  TN_PMAP(stored);
  TN_TRY(note_stored(s, &stored));
  for (int64_t i = 0; i < s->stages->len; ++i) {
    tn_TeStage *st = te_stage_at(s, i);
    bool untouched = !st->relations->len && !st->layout_transforms->len &&
                     st->attach_type == TE_ATTACH_ROOT && !st->iter_var_attrs->len &&
                     !st->is_output && !tn_pmap_has(&stored, st->op);
    if (untouched && !te_scan_of(s, st->op) && is_wanted(TN_AS(ComputeOp, st->op), which))
      TN_TRY(te_set_attach(st, TE_ATTACH_INLINE));
  }
  return 0;
}
