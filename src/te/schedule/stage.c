/* Stages and what is said of their loops: split, fuse, reorder, bind, compute_at, ...

   All steps but the first lines of te_create_schedule change lists of one stage: leaf_iter_vars,
   the loops, and relations, which say how they come from the operation's axes. */
#include <string.h>

#include "te/schedule/te_schedule_impl.h"
#include "tenon/object.h"

int64_t te_index_of(const tn_arr *a, const void *o) {
  for (int64_t i = 0; i < a->len; ++i) {
    if ((const void *)tn_arr_obj(a, i) == o) return i;
  }
  return -1;
}

int te_set(void *node, const char *field, const void *obj) {
  tn_any value = obj ? tn_any_obj(obj) : tn_any_none();
  return tn_field_set(node, tn_type_field(((tn_obj *)node)->type, field), &value);
}

int te_set_int(void *node, const char *field, int64_t k) {
  tn_any value = tn_any_int(k);
  return tn_field_set(node, tn_type_field(((tn_obj *)node)->type, field), &value);
}

/* A new list in a field; NULL: memory ran out while it was made. */
static int set_list(void *node, const char *field, const tn_arr *list) {
  return list ? te_set(node, field, list) : -1;
}

/* ---- schedules and stages ---- */

tn_arr *te_root_iter_vars(const tn_Operation *op) {
  const tn_BaseComputeOp *c = te_axes_op(op);
  const tn_ScanOp *s = TN_AS(ScanOp, op);
  TN_VEC(out);
  if (s) TN_TRYP(tn_vec_push_obj(&out, s->scan_axis));
  for (int64_t i = 0; s && i < s->spatial_axis_->len; ++i)
    TN_TRYP(tn_vec_push_obj(&out, tn_arr_obj(s->spatial_axis_, i)));
  for (int64_t i = 0; c && i < c->axis->len; ++i)
    TN_TRYP(tn_vec_push_obj(&out, tn_arr_obj(c->axis, i)));
  for (int64_t i = 0; c && i < c->reduce_axis->len; ++i)
    TN_TRYP(tn_vec_push_obj(&out, tn_arr_obj(c->reduce_axis, i)));
  return tn_arr_from(&out);
}

/* Opaque axes are not loops: somebody else runs over them. */
static tn_arr *loops_of(const tn_arr *roots) {
  TN_VEC(out);
  for (int64_t i = 0; i < roots->len; ++i) {
    if (te_iv(roots, i)->iter_type != IR_ITER_OPAQUE)
      TN_TRYP(tn_vec_push_obj(&out, tn_arr_obj(roots, i)));
  }
  return tn_arr_from(&out);
}

tn_TeStage *te_stage_new(tn_Operation *op) {
  tn_arr *roots = te_root_iter_vars(op), *none = tn_arr_of(0);
  tn_arr *leaves = roots ? loops_of(roots) : NULL;
  tn_map *attrs = tn_scope_own(tn_map_new());
  tn_str *scope = tn_str_from("");
  if (!leaves || !none || !attrs || !scope) return NULL;
  return TN_NEW(TeStage, .op = op, .origin_op = op, .all_iter_vars = roots,
                .leaf_iter_vars = leaves, .env_threads = none, .relations = none,
                .iter_var_attrs = attrs, .attach_type = TE_ATTACH_ROOT, .scope = scope,
                .layout_transforms = none, .layout_loops = none, .axis_separators = none);
}

/* Updates of scans are computed in the loop of the scan. */
static int mark_updates(const tn_arr *stages, const tn_map *map) {
  for (int64_t i = 0; i < stages->len; ++i) {
    const tn_ScanOp *scan = TN_AS(ScanOp, ((const tn_TeStage *)tn_arr_obj(stages, i))->op);
    for (int64_t j = 0; scan && j < scan->update->len; ++j) {
      const tn_Tensor *t = (const tn_Tensor *)tn_arr_obj(scan->update, j);
      tn_any st;
      if (tn_map_get(map, tn_any_obj(t->op), &st))
        TN_TRY(te_set_int(st.v.obj, "attach_type", TE_ATTACH_SCAN_UPDATE));
    }
  }
  return 0;
}

tn_TeSchedule *te_create_schedule(const tn_arr *outputs) {
  TN_VEC(tensors);
  TN_VEC(stages);
  tn_map *map = tn_scope_own(tn_map_new());
  for (int64_t i = 0; i < outputs->len; ++i) {
    tn_obj *op = tn_arr_obj(outputs, i);
    TN_CHECKP(op && TN_IS(Operation, op), TypeError, NULL,
              "create_schedule: expected operations, got %s", op ? tn_obj_key(op) : "None");
    tn_Tensor *t = te_output((tn_Operation *)op, 0);
    if (!t || tn_vec_push_obj(&tensors, t)) return NULL;
  }
  tn_arr *wanted = tn_arr_from(&tensors), *ops = wanted ? te_post_order(wanted) : NULL;
  for (int64_t i = 0; map && ops && i < ops->len; ++i) {
    tn_TeStage *st = te_stage_new((tn_Operation *)tn_arr_obj(ops, i));
    if (!st || tn_vec_push_obj(&stages, st)) return NULL;
    st->is_output = te_index_of(outputs, st->op) >= 0;
    TN_TRYP(tn_map_set(map, tn_any_obj(st->op), tn_any_obj(st)));
  }
  tn_arr *all = map && ops ? tn_arr_from(&stages) : NULL;
  if (all && mark_updates(all, map)) return NULL;
  if (!all) return NULL;
  tn_TeSchedule *s;
  TN_GETP(s, TN_NEW(TeSchedule, .outputs = (tn_arr *)(uintptr_t)outputs, .stages = all,
                    .groups = tn_arr_of(0), .stage_map = map));
  return te_group_scans(s) ? NULL : s;
}

tn_TeStage *te_stage_of(const tn_TeSchedule *s, const tn_Operation *op) {
  tn_any st;
  TN_CHECKP(tn_map_get(s->stage_map, tn_any_obj(op), &st), KeyError, NULL,
            "Cannot find the operation %s in the schedule", tn_cstr(op->name));
  return (tn_TeStage *)st.v.obj;
}

static const char *stage_name(const tn_TeStage *st) {
  return st->op ? tn_cstr(st->op->name) : "the group";
}

/* ---- loops ---- */

static int64_t leaf(const tn_TeStage *st, const tn_IterVar *iv) {
  int64_t at = te_index_of(st->leaf_iter_vars, iv);
  if (at >= 0) return at;
  const char *name = tn_cstr(iv->var->name);
  if (te_index_of(st->all_iter_vars, iv) >= 0)
    return TN_RAISE(TenonError, NULL,
                    "Operate on iter var %s that has already been split or fused (stage %s)", name,
                    stage_name(st));
  return TN_RAISE(TenonError, NULL, "Operate on iter var %s that is not part of the schedule (%s)",
                  name, stage_name(st));
}

/* `n` loops from `at` on become those given. */
static int splice(tn_TeStage *st, int64_t at, int64_t n, tn_IterVar *const *with, int nwith) {
  TN_VEC(leaves);
  TN_VEC(all);
  for (int64_t i = 0; i < st->all_iter_vars->len; ++i)
    TN_TRY(tn_vec_push_obj(&all, tn_arr_obj(st->all_iter_vars, i)));
  for (int64_t i = 0; i <= st->leaf_iter_vars->len; ++i) {
    for (int j = 0; i == at && j < nwith; ++j)
      TN_TRY(tn_vec_push_obj(&leaves, with[j]) || tn_vec_push_obj(&all, with[j]));
    if (i < st->leaf_iter_vars->len && (i < at || i >= at + n))
      TN_TRY(tn_vec_push_obj(&leaves, tn_arr_obj(st->leaf_iter_vars, i)));
  }
  TN_TRY(set_list(st, "all_iter_vars", tn_arr_from(&all)));
  return set_list(st, "leaf_iter_vars", tn_arr_from(&leaves));
}

static int add_relation(tn_TeStage *st, const void *relation) {
  TN_VEC(v);
  if (!relation) return -1;
  for (int64_t i = 0; i < st->relations->len; ++i)
    TN_TRY(tn_vec_push_obj(&v, tn_arr_obj(st->relations, i)));
  TN_TRY(tn_vec_push_obj(&v, relation));
  return set_list(st, "relations", tn_arr_from(&v));
}

static tn_IterVar *derived(const tn_IterVar *of, tn_str *name) {
  tn_Var *v = name ? tir_var(name->data, of->var->dtype) : NULL;
  return v ? tir_iter_var(NULL, v, (ir_iter_type)of->iter_type, "") : NULL;
}

static int check_kind(const tn_IterVar *iv, const char *what) {
  int t = iv->iter_type;
  TN_CHECK(t == IR_ITER_DATA_PAR || t == IR_ITER_COMM_REDUCE || t == IR_ITER_ORDERED, TenonError,
           NULL, "Cannot %s on %s: it is a thread axis or opaque", what, tn_cstr(iv->var->name));
  return 0;
}

static int check_factor(const tn_expr *e, const char *name) {
  int64_t k;
  TN_CHECK(!e || !tir_as_int((const tn_obj *)e, &k) || k > 0, TenonError, NULL,
           "split: expected a positive %s, got %lld", name, (long long)k);
  return 0;
}

tn_arr *te_split(tn_TeStage *st, tn_IterVar *parent, tn_expr *factor, tn_expr *nparts,
                 bool no_predicate) {
  const char *name = tn_cstr(parent->var->name);
  TN_CHECKP(!factor != !nparts, ValueError, NULL, "split: expected either factor or nparts, got %s",
            factor ? "both" : "neither");
  TN_TRYP(check_kind(parent, "split"));
  TN_TRYP(check_factor(factor, "factor"));
  TN_TRYP(check_factor(nparts, "nparts"));
  int64_t at = leaf(st, parent);
  if (at < 0) return NULL;
  if (factor) TN_GETP(factor, tir_cast(parent->var->dtype, factor, NULL));
  if (nparts) TN_GETP(nparts, tir_cast(parent->var->dtype, nparts, NULL));
  tn_IterVar *both[] = {derived(parent, tn_str_fmt("%s.outer", name)),
                        derived(parent, tn_str_fmt("%s.inner", name))};
  if (!both[0] || !both[1]) return NULL;
  TN_TRYP(add_relation(st, TN_NEW(TeSplit, .parent = parent, .outer = both[0], .inner = both[1],
                                  .factor = factor, .nparts = nparts,
                                  .disable_predication = no_predicate)));
  return splice(st, at, 1, both, 2) ? NULL : tn_arr_of(2, both[0], both[1]);
}

static tn_IterVar *fuse_two(tn_TeStage *st, tn_IterVar *outer, tn_IterVar *inner) {
  TN_TRYP(check_kind(outer, "fuse"));
  TN_TRYP(check_kind(inner, "fuse"));
  int64_t i = leaf(st, outer), j = i < 0 ? -1 : leaf(st, inner);
  if (j < 0) return NULL;
  if (i == j + 1) { /* given the other way round */
    tn_IterVar *t = outer;
    outer = inner;
    inner = t;
    --i, ++j;
  }
  TN_CHECKP(j == i + 1, TenonError, NULL,
            "Can only fuse iterations that are consecutive between each other, got %s and %s",
            tn_cstr(outer->var->name), tn_cstr(inner->var->name));
  tn_str *name = tn_str_fmt("%s.%s.fused", tn_cstr(outer->var->name), tn_cstr(inner->var->name));
  bool reduces = outer->iter_type == IR_ITER_COMM_REDUCE || inner->iter_type == IR_ITER_COMM_REDUCE;
  tn_IterVar like = *outer;
  if (reduces) like.iter_type = IR_ITER_COMM_REDUCE;
  tn_IterVar *fused = derived(&like, name);
  if (!fused) return NULL;
  TN_TRYP(add_relation(st, TN_NEW(TeFuse, .outer = outer, .inner = inner, .fused = fused)));
  return splice(st, i, 2, &fused, 1) ? NULL : fused;
}

tn_IterVar *te_fuse(tn_TeStage *st, const tn_arr *ivs) {
  tn_IterVar *fused = ivs->len ? te_iv(ivs, 0) : NULL;
  for (int64_t i = 1; i < ivs->len; ++i) TN_GETP(fused, fuse_two(st, fused, te_iv(ivs, i)));
  if (fused) return leaf(st, fused) < 0 ? NULL : fused;
  TN_GETP(fused, tir_iter_var(tir_range(tir_i32(0), tir_i32(1)), tir_var("singleton", TN_I32),
                              IR_ITER_DATA_PAR, ""));
  TN_TRYP(add_relation(st, TN_NEW(TeSingleton, .iter = fused)));
  return splice(st, 0, 0, &fused, 1) ? NULL : fused;
}

int te_reorder(tn_TeStage *st, const tn_arr *ivs) {
  TN_VEC(now);
  int64_t next = 0;
  for (int64_t i = 0; i < ivs->len; ++i) {
    TN_TRY(check_kind(te_iv(ivs, i), "reorder"));
    TN_TRY(leaf(st, te_iv(ivs, i)) < 0);
    TN_CHECK(te_index_of(ivs, te_iv(ivs, i)) == i, TenonError, NULL,
             "Same axis can not appear more than once in reorder: %s",
             tn_cstr(te_iv(ivs, i)->var->name));
  }
  for (int64_t i = 0; i < st->leaf_iter_vars->len; ++i) {
    const tn_obj *iv = tn_arr_obj(st->leaf_iter_vars, i);
    TN_TRY(tn_vec_push_obj(&now, te_index_of(ivs, iv) < 0 ? iv : tn_arr_obj(ivs, next++)));
  }
  return set_list(st, "leaf_iter_vars", tn_arr_from(&now));
}

/* ---- layouts ---- */

static int check_layout(const tn_TeStage *st, const tn_IndexMap *map) {
  const tn_ComputeOp *c = TN_AS(ComputeOp, st->op);
  bool given = st->op && TN_AS(PlaceholderOp, st->op);
  TN_CHECK(given || (c && c->body->len == 1), TenonError, NULL,
           "transform_layout: %s is neither a placeholder nor a compute operation with one result",
           stage_name(st));
  int64_t ndim = te_output(st->op, 0)->shape->len;
  TN_CHECK(map->initial_indices->len == ndim, TenonError, NULL,
           "transform_layout: expected a map of the %lld axes of %s, got one of %lld indices",
           (long long)ndim, stage_name(st), (long long)map->initial_indices->len);
  TN_CHECK(!st->layout_transforms->len, TenonError, NULL,
           "transform_layout: %s has a layout already", stage_name(st));
  for (int64_t i = 0; c && i < c->axis->len; ++i)
    TN_CHECK(te_index_of(st->leaf_iter_vars, tn_arr_obj(c->axis, i)) == i, TenonError, NULL,
             "transform_layout: axis %s of %s was split, fused or moved already: choose the layout "
             "first",
             tn_cstr(te_iv(c->axis, i)->var->name), stage_name(st));
  return 0;
}

/* A loop for each axis of the new layout. */
static tn_arr *layout_loops(const tn_IndexMap *map, const tn_arr *shape) {
  TN_VEC(out);
  for (int64_t i = 0; i < map->final_indices->len; ++i) {
    tn_str *name = tn_str_fmt("axis%lld", (long long)i);
    tn_expr *e = (tn_expr *)tn_arr_obj(map->final_indices, i);
    tn_Var *v = name ? tir_var(name->data, e->dtype) : NULL;
    tn_expr *extent = v ? tir_cast(e->dtype, (tn_expr *)tn_arr_obj(shape, i), NULL) : NULL;
    tn_Range *dom = extent ? tir_range(tir_zero(e->dtype), extent) : NULL;
    tn_IterVar *iv = dom ? tir_iter_var(dom, v, IR_ITER_DATA_PAR, "") : NULL;
    if (!iv || tn_vec_push_obj(&out, iv)) return NULL;
  }
  return tn_arr_from(&out);
}

static int put_loops(tn_TeStage *st, const tn_arr *loops, int64_t naxes) {
  TN_VEC(leaves);
  TN_VEC(all);
  for (int64_t i = 0; i < st->all_iter_vars->len; ++i)
    TN_TRY(tn_vec_push_obj(&all, tn_arr_obj(st->all_iter_vars, i)));
  for (int64_t i = 0; i < loops->len; ++i)
    TN_TRY(tn_vec_push_obj(&all, tn_arr_obj(loops, i)) ||
           tn_vec_push_obj(&leaves, tn_arr_obj(loops, i)));
  for (int64_t i = naxes; i < st->leaf_iter_vars->len; ++i)
    TN_TRY(tn_vec_push_obj(&leaves, tn_arr_obj(st->leaf_iter_vars, i)));
  TN_TRY(set_list(st, "all_iter_vars", tn_arr_from(&all)));
  return set_list(st, "leaf_iter_vars", tn_arr_from(&leaves));
}

tn_arr *te_transform_layout(tn_TeStage *st, const tn_IndexMap *map, tn_arr *separators) {
  TN_ARITH(a);
  tn_expr *padding = NULL;
  tn_IndexMap *back;
  tn_arr *loops, *shape;
  if (check_layout(st, map)) return NULL;
  const tn_ComputeOp *c = TN_AS(ComputeOp, st->op);
  TN_GETP(shape, te_output(st->op, 0)->shape);
  TN_GETP(back, tir_index_map_inverse(&a, map, shape, &padding));
  TN_GETP(shape, tir_index_map_shape(&a, map, shape));
  TN_GETP(loops, c ? layout_loops(map, shape) : tn_arr_of(0)); /* a placeholder has no loops */
  TN_TRYP(te_set(st, "layout_inverse", back));
  TN_TRYP(set_list(st, "layout_loops", loops));
  if (c) TN_TRYP(put_loops(st, loops, c->axis->len));
  TN_TRYP(set_list(st, "layout_transforms", tn_arr_of(1, map)));
  return set_list(st, "axis_separators", separators) ? NULL : loops;
}

/* ---- how loops run ---- */

tn_IterVarAttr *te_attr(const tn_TeStage *st, const tn_IterVar *iv) {
  tn_any a;
  return tn_map_get(st->iter_var_attrs, tn_any_obj(iv), &a) ? (tn_IterVarAttr *)a.v.obj : NULL;
}
tn_IterVar *te_thread(const tn_TeStage *st, const tn_IterVar *iv) {
  const tn_IterVarAttr *a = te_attr(st, iv);
  return a ? a->bind_thread : NULL;
}

static tn_IterVarAttr current(const tn_TeStage *st, const tn_IterVar *iv) {
  const tn_IterVarAttr *old = te_attr(st, iv);
  if (old) return *old;
  tn_arr *none = tn_arr_of(0);
  return (tn_IterVarAttr){
      .pragma_keys = none, .pragma_values = none, .prefetch_data = none, .prefetch_offset = none};
}

static int set_attr(tn_TeStage *st, const tn_IterVar *iv, const tn_IterVarAttr *attr) {
  if (!attr->pragma_keys || !attr->pragma_values) return -1;
  tn_obj *now = tn_node_copy(&tn_type_IterVarAttr, attr);
  return now ? te_set(st, "iter_var_attrs",
                      tn_map_with(st->iter_var_attrs, tn_any_obj(iv), tn_any_obj(now)))
             : -1;
}

/* The steps of a scan follow each other. */
static int check_unordered(const tn_IterVar *iv, const char *what) {
  TN_CHECK(iv->iter_type != IR_ITER_ORDERED, TenonError, NULL,
           "Cannot %s %s: it is the axis of a scan, whose steps need the ones before", what,
           tn_cstr(iv->var->name));
  return 0;
}

int te_bind(tn_TeStage *st, tn_IterVar *iv, tn_IterVar *thread) {
  TN_CHECK(thread->iter_type == IR_ITER_THREAD_INDEX, TenonError, NULL,
           "Cannot rebase by %s, only thread iterators can be bound: make it with te.thread_axis",
           tn_cstr(thread->var->name));
  TN_TRY(leaf(st, iv) < 0);
  TN_TRY(check_unordered(iv, "bind"));
  tn_IterVarAttr attr = current(st, iv);
  TN_CHECK(!attr.bind_thread || attr.bind_thread == thread, TenonError, NULL,
           "Axis %s is already bound to another thread %s", tn_cstr(iv->var->name),
           tn_cstr(attr.bind_thread->var->name));
  attr.bind_thread = thread;
  return set_attr(st, iv, &attr);
}

int te_set_kind(tn_TeStage *st, tn_IterVar *iv, ir_iter_type kind) {
  TN_TRY(leaf(st, iv) < 0);
  tn_IterVarAttr attr = current(st, iv);
  TN_CHECK(iv->iter_type != IR_ITER_COMM_REDUCE || kind == IR_ITER_UNROLLED, TenonError, NULL,
           "Cannot vectorize or parallelize on %s: it is reduced over; use rfactor",
           tn_cstr(iv->var->name));
  if (kind != IR_ITER_UNROLLED) TN_TRY(check_unordered(iv, "vectorize or parallelize"));
  attr.iter_type = kind;
  return set_attr(st, iv, &attr);
}

static tn_arr *with(const tn_arr *list, const void *item) {
  TN_VEC(v);
  for (int64_t i = 0; i < list->len; ++i) TN_TRYP(tn_vec_push(&v, list->items[i]));
  return tn_vec_push_obj(&v, item) ? NULL : tn_arr_from(&v);
}

int te_pragma(tn_TeStage *st, tn_IterVar *iv, const char *key, tn_obj *value) {
  if (strcmp(key, "unroll") == 0) return te_set_kind(st, iv, IR_ITER_UNROLLED);
  if (strcmp(key, "vectorize") == 0) return te_set_kind(st, iv, IR_ITER_VECTORIZED);
  TN_TRY(leaf(st, iv) < 0);
  tn_IterVarAttr attr = current(st, iv);
  if (!attr.pragma_keys) return -1;
  attr.pragma_keys = with(attr.pragma_keys, tir_str(key));
  attr.pragma_values = with(attr.pragma_values, value);
  return set_attr(st, iv, &attr);
}

int te_prefetch(tn_TeStage *st, const tn_Tensor *t, tn_IterVar *iv, tn_expr *offset) {
  TN_TRY(leaf(st, iv) < 0);
  tn_IterVarAttr attr = current(st, iv);
  if (!attr.prefetch_data || !offset) return -1;
  attr.prefetch_data = with(attr.prefetch_data, t);
  attr.prefetch_offset = with(attr.prefetch_offset, offset);
  return attr.prefetch_data && attr.prefetch_offset ? set_attr(st, iv, &attr) : -1;
}

int te_tensorize(tn_TeStage *st, tn_IterVar *iv, tn_TeTensorIntrin *intrin) {
  TN_TRY(leaf(st, iv) < 0);
  if (TN_AS(TensorComputeOp, st->op)) return 0; /* an intrinsic computes it already */
  TN_CHECK(TN_AS(ComputeOp, st->op), TenonError, NULL, "tensorize: %s is not a compute operation",
           stage_name(st));
  TN_CHECK(!intrin->scalar_params->len, ValueError, NULL,
           "tensorize: intrinsic %s has scalar parameters, for which a schedule has no values",
           tn_cstr(intrin->name));
  tn_IterVarAttr attr = current(st, iv);
  attr.iter_type = IR_ITER_TENSORIZED;
  attr.tensor_intrin = intrin;
  return set_attr(st, iv, &attr);
}

int te_storage_align(tn_TeStage *st, tn_IterVar *axis, int64_t factor, int64_t offset) {
  TN_CHECK(te_index_of(st->all_iter_vars, axis) >= 0, TenonError, NULL,
           "storage_align: %s is not an axis of %s", tn_cstr(axis->var->name), stage_name(st));
  TN_CHECK(factor > 0, ValueError, NULL, "storage_align: expected a positive factor, got %lld",
           (long long)factor);
  tn_IterVarAttr attr = current(st, axis);
  attr.dim_align_factor = factor;
  attr.dim_align_offset = offset;
  return set_attr(st, axis, &attr);
}

int te_rolling_buffer(tn_TeStage *st) {
  TN_CHECK(st->op && TN_AS(ComputeOp, st->op), TenonError, NULL,
           "rolling_buffer: %s is not a compute operation", stage_name(st));
  TN_CHECK(!st->is_output, TenonError, NULL,
           "Cannot apply rolling buffer on output stage %s: its results are wanted as a whole",
           stage_name(st));
  return te_set_int(st, "rolling_buffer", true);
}

/* ---- where a stage is computed ---- */

static int check_no_update(const tn_TeStage *st) {
  TN_CHECK(st->attach_type != TE_ATTACH_SCAN_UPDATE, TenonError, NULL,
           "Cannot specify compute_at for scan updates: %s is computed in the loop of its scan",
           stage_name(st));
  return 0;
}

/* Is `st` the stage `in`, or in a group `in`? */
static bool belongs_to(const tn_TeStage *st, const tn_TeStage *in) {
  while (st && st != in) st = st->group;
  return st != NULL;
}

int te_compute_at(tn_TeStage *st, tn_TeStage *parent, tn_IterVar *scope) {
  TN_TRY(check_no_update(st));
  TN_CHECK(parent->op, TenonError, NULL, "compute_at: %s: a group has no loops", stage_name(st));
  TN_CHECK(!st->group || belongs_to(parent, st->group), TenonError, NULL,
           "compute_at: %s belongs to a group, %s to none or another one: stages of a group are "
           "computed at one of its stages, or where the group is",
           stage_name(st), stage_name(parent));
  for (const tn_TeStage *up = parent; up; up = up->attach_stage)
    TN_CHECK(!belongs_to(up, st), TenonError, NULL,
             "compute_at: %s would be computed inside itself (by way of %s)", stage_name(st),
             stage_name(parent));
  TN_CHECK(te_index_of(parent->leaf_iter_vars, scope) >= 0, TenonError, NULL,
           "Cannot find the axis %s in parent's leaf_iter_vars (stage %s)",
           tn_cstr(scope->var->name), tn_cstr(parent->op->name));
  TN_TRY(te_set_int(st, "attach_type", TE_ATTACH_SCOPE));
  return te_set(st, "attach_stage", parent) || te_set(st, "attach_ivar", scope) ? -1 : 0;
}

int te_set_attach(tn_TeStage *st, int64_t type) {
  TN_TRY(check_no_update(st));
  TN_CHECK(type != TE_ATTACH_INLINE || TN_AS(ComputeOp, st->op), TenonError, NULL,
           "compute_inline: %s is not a compute operation", stage_name(st));
  TN_TRY(te_set_int(st, "attach_type", type));
  return te_set(st, "attach_stage", NULL) || te_set(st, "attach_ivar", NULL) ? -1 : 0;
}
