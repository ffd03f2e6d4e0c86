/* Steps that change what is computed: cache_read, cache_write, rfactor.

     cache_write(C, "local"):   C[i] = f(i)     ->     C.local[i.c] = f(i.c);  C[i] = C.local[i]

   Operations are immutable, so a stage gets a new one, and every later operation that read the old
   results is made anew to read the new ones. The axes of an operation stay when it is made anew. */
#include "ir/functor.h"
#include "te/schedule/te_schedule_impl.h"
#include "tenon/object.h"

void te_tensor_map_fini(te_tensor_map *m) {
  tn_vec_fini(&m->from);
  tn_vec_fini(&m->to);
}

int te_tensor_map_put(te_tensor_map *m, const tn_Tensor *from, const tn_Tensor *to) {
  return !to || tn_vec_push_obj(&m->from, from) || tn_vec_push_obj(&m->to, to) ? -1 : 0;
}

/* What took the place of a tensor may have been replaced later itself. */
tn_Tensor *te_tensor_map_get(const te_tensor_map *m, const tn_Tensor *t) {
  tn_Tensor *found = NULL;
  for (int64_t i = 0; t && i < m->from.len; ++i) {
    if (te_same_tensor((const tn_Tensor *)m->from.items[i].v.obj, found ? found : t))
      found = (tn_Tensor *)m->to.items[i].v.obj;
  }
  return found;
}

/* ---- other inputs ---- */

static tn_obj *new_load(void *ctx, tn_ProducerLoad *pre, tn_ProducerLoad *post) {
  (void)pre;
  tn_Tensor *to = te_tensor_map_get(ctx, TN_AS(Tensor, post->producer));
  tn_ProducerLoad copy = *post;
  copy.producer = (tn_DataProducer *)to;
  return to ? tn_node_copy(&tn_type_ProducerLoad, &copy) : (tn_obj *)post;
}

/* The tensors with those of the map replaced; the array itself when there are none. */
static tn_arr *tensors_with(tn_arr *tensors, const te_tensor_map *m) {
  TN_VEC(out);
  bool changed = false;
  for (int64_t i = 0; i < tensors->len; ++i) {
    const tn_Tensor *t = (const tn_Tensor *)tn_arr_obj(tensors, i), *to = te_tensor_map_get(m, t);
    changed = changed || to;
    TN_TRYP(tn_vec_push_obj(&out, to ? to : t));
  }
  return changed ? tn_arr_from(&out) : tensors;
}

static tn_Operation *extern_with(const tn_ExternOp *op, const te_tensor_map *m) {
  tn_ExternOp copy = *op;
  TN_GETP(copy.inputs, tensors_with(op->inputs, m));
  if (copy.inputs == op->inputs) return (tn_Operation *)(uintptr_t)op;
  return tn_node_copy(&tn_type_ExternOp, &copy);
}

static tn_Operation *scan_with(const tn_ScanOp *op, const te_tensor_map *m) {
  tn_ScanOp copy = *op;
  TN_GETP(copy.init, tensors_with(op->init, m));
  TN_GETP(copy.update, tensors_with(op->update, m));
  if (copy.init == op->init && copy.update == op->update) return (tn_Operation *)(uintptr_t)op;
  return tn_node_copy(&tn_type_ScanOp, &copy);
}

/* Expressions that load the tensors of the map from others; the array itself when none does. */
static tn_arr *loads_with(const tn_arr *exprs, const te_tensor_map *m) {
  static const tn_rewrite_case cases[] = {TN_REWRITE(ProducerLoad, new_load)};
  return tn_rewrite(exprs, cases, TN_COUNT(cases), (void *)(uintptr_t)m);
}

static tn_Operation *region_with(const tn_TensorComputeOp *op, const te_tensor_map *m) {
  tn_TensorComputeOp copy = *op;
  TN_GETP(copy.inputs, tensors_with(op->inputs, m));
  TN_GETP(copy.input_regions, loads_with(op->input_regions, m));
  TN_GETP(copy.scalar_inputs, loads_with(op->scalar_inputs, m));
  if (copy.inputs == op->inputs && copy.input_regions == op->input_regions &&
      copy.scalar_inputs == op->scalar_inputs)
    return (tn_Operation *)(uintptr_t)op;
  return tn_node_copy(&tn_type_TensorComputeOp, &copy);
}

tn_Operation *te_replace_inputs(tn_Operation *op, const te_tensor_map *m) {
  const tn_ComputeOp *c = TN_AS(ComputeOp, op);
  if (TN_AS(ExternOp, op)) return extern_with((const tn_ExternOp *)op, m);
  if (TN_AS(ScanOp, op)) return scan_with((const tn_ScanOp *)op, m);
  if (TN_AS(TensorComputeOp, op)) return region_with((const tn_TensorComputeOp *)op, m);
  if (!c) return op;
  tn_ComputeOp copy = *c;
  copy.body = loads_with(c->body, m);
  if (!copy.body || copy.body == c->body) return copy.body ? op : NULL;
  return tn_node_copy(&tn_type_ComputeOp, &copy);
}

/* ---- stages ---- */

static int map_outputs(te_tensor_map *m, tn_Operation *from, tn_Operation *to) {
  for (int64_t i = 0; i < te_num_outputs(from); ++i)
    TN_TRY(te_tensor_map_put(m, te_output(from, i), te_output(to, i)));
  return 0;
}

static tn_arr *with_item(const tn_arr *list, int64_t at, const void *item) {
  TN_VEC(v);
  for (int64_t i = 0; i < list->len; ++i)
    TN_TRYP(tn_vec_push_obj(&v, i == at ? item : tn_arr_obj(list, i)));
  return tn_arr_from(&v);
}

/* The stage computes another operation; the outputs of the schedule follow. */
static int take_op(tn_TeSchedule *s, tn_TeStage *st, tn_Operation *op) {
  int64_t at = te_index_of(s->outputs, st->op);
  tn_map *map = tn_map_with(s->stage_map, tn_any_obj(op), tn_any_obj(st));
  tn_arr *outputs = at < 0 ? s->outputs : with_item(s->outputs, at, op);
  if (!map || !outputs || te_set(s, "stage_map", map) || te_set(s, "outputs", outputs)) return -1;
  return te_set(st, "op", op);
}

/* Every operation that reads mapped tensors is made anew, users after what they use. */
static int propagate(tn_TeSchedule *s, te_tensor_map *m) {
  for (int64_t i = 0; i < s->stages->len; ++i) {
    tn_TeStage *st = te_stage_at(s, i);
    tn_Operation *old = st->op, *now = te_replace_inputs(old, m);
    if (!now) return -1;
    if (now != old && (map_outputs(m, old, now) || take_op(s, st, now))) return -1;
  }
  return 0;
}

int te_replace_op(tn_TeSchedule *s, tn_TeStage *st, tn_Operation *op) {
  TE_TENSOR_MAP(m);
  if (map_outputs(&m, st->op, op) || take_op(s, st, op)) return -1;
  return propagate(s, &m);
}

tn_TeStage *te_insert_stage(tn_TeSchedule *s, tn_Operation *op, const tn_TeStage *at, bool after) {
  TN_VEC(stages);
  tn_TeStage *st;
  TN_GETP(st, te_stage_new(op));
  if (at->group && te_join_group(st, at->group)) return NULL;
  for (int64_t i = 0; i < s->stages->len; ++i) {
    const tn_TeStage *old = te_stage_at(s, i);
    if (old == at && !after) TN_TRYP(tn_vec_push_obj(&stages, st));
    TN_TRYP(tn_vec_push_obj(&stages, old));
    if (old == at && after) TN_TRYP(tn_vec_push_obj(&stages, st));
  }
  tn_arr *all = tn_arr_from(&stages);
  tn_map *map = tn_map_with(s->stage_map, tn_any_obj(op), tn_any_obj(st));
  return all && map && te_set(s, "stages", all) == 0 && te_set(s, "stage_map", map) == 0 ? st
                                                                                         : NULL;
}

static int set_scope(tn_TeStage *st, const char *scope) {
  const tn_str *text = tn_str_from(scope);
  return text ? te_set(st, "scope", text) : -1;
}

/* ---- copies of tensors ---- */

/* Axes of the given extents, named ax0, ax1, ... or like others. */
static int make_axes(const tn_arr *shape, const tn_arr *like, tn_vec *axes, tn_vec *vars) {
  for (int64_t i = 0; i < shape->len; ++i) {
    tn_expr *extent = (tn_expr *)tn_arr_obj(shape, i);
    const tn_IterVar *old = like ? te_iv(like, i) : NULL;
    tn_str *name =
        old ? tn_str_fmt("%s.c", tn_cstr(old->var->name)) : tn_str_fmt("ax%lld", (long long)i);
    tn_Var *v = name ? tir_var(name->data, extent->dtype) : NULL;
    tn_IterVar *iv =
        v ? tir_iter_var(tir_range(tir_zero(extent->dtype), extent), v, IR_ITER_DATA_PAR, "")
          : NULL;
    if (!iv || tn_vec_push_obj(axes, iv) || tn_vec_push_obj(vars, v)) return -1;
  }
  return 0;
}

static tn_expr *element(tn_Tensor *t, const tn_vec *indices) {
  return (tn_expr *)TN_NEW(ProducerLoad, .dtype = t->dtype, .producer = (tn_DataProducer *)t,
                           .indices = tn_arr_from(indices));
}

static tn_Operation *compute_op(const char *name, const tn_BaseComputeOp *like, const tn_vec *axes,
                                const tn_vec *body) {
  tn_arr *none = tn_arr_of(0), *elements = tn_arr_from(body);
  tn_str *tag = like ? like->tag : tn_str_from("");
  tn_map *attrs = like ? like->attrs : tn_scope_own(tn_map_new());
  const tn_Reduce *r = elements ? TN_AS(Reduce, tn_arr_obj(elements, 0)) : NULL;
  return elements ? (tn_Operation *)TN_NEW(ComputeOp, .name = tn_str_from(name), .tag = tag,
                                           .attrs = attrs, .axis = tn_arr_from(axes),
                                           .reduce_axis = r ? r->axis : none, .body = elements)
                  : NULL;
}

static tn_Operation *copy_of(tn_Tensor *t, const char *scope) {
  TN_VEC(axes);
  TN_VEC(vars);
  TN_VEC(body);
  const char *name = tn_cstr(t->op->name);
  tn_str *full = te_num_outputs(t->op) == 1
                     ? tn_str_fmt("%s.%s", name, scope)
                     : tn_str_fmt("%s.v%lld.%s", name, (long long)t->value_index, scope);
  if (!full || make_axes(t->shape, NULL, &axes, &vars)) return NULL;
  return tn_vec_push_obj(&body, element(t, &vars)) ? NULL
                                                   : compute_op(full->data, NULL, &axes, &body);
}

/* The operations of the readers that read the mapped tensor from elsewhere; each once. */
static int find_readers(tn_TeSchedule *s, const tn_arr *readers, const te_tensor_map *direct,
                        tn_vec *stages, tn_vec *ops) {
  for (int64_t i = 0; i < readers->len; ++i) {
    tn_TeStage *reader;
    tn_Operation *with;
    bool seen = false;
    TN_GET(reader, te_stage_of(s, (tn_Operation *)tn_arr_obj(readers, i)));
    for (int64_t k = 0; k < stages->len; ++k)
      seen = seen || stages->items[k].v.obj == (tn_obj *)reader;
    if (seen) continue;
    TN_GET(with, te_replace_inputs(reader->op, direct));
    const tn_Tensor *t = (const tn_Tensor *)direct->from.items[0].v.obj;
    TN_CHECK(with != reader->op, TenonError, NULL, "Cannot find tensor %s in the inputs to %s",
             tn_cstr(t->op->name), tn_cstr(reader->op->name));
    TN_TRY(tn_vec_push_obj(stages, reader));
    TN_TRY(tn_vec_push_obj(ops, with));
  }
  return 0;
}

tn_Tensor *te_cache_read(tn_TeSchedule *s, tn_Tensor *t, const char *scope, const tn_arr *readers) {
  TE_TENSOR_MAP(direct);
  TE_TENSOR_MAP(later);
  TN_VEC(stages);
  TN_VEC(ops);
  tn_TeStage *st = te_stage_of(s, t->op);
  tn_Tensor *now = st ? te_output(st->op, t->value_index) : NULL;
  tn_Operation *copy = now ? copy_of(now, scope) : NULL;
  tn_Tensor *cache = copy ? te_output(copy, 0) : NULL;
  if (!cache || te_tensor_map_put(&direct, now, cache)) return NULL;
  /* all that may be refused comes before the first change: a step that fails changes nothing */
  TN_TRYP(find_readers(s, readers, &direct, &stages, &ops));
  for (int64_t i = 0; i < stages.len; ++i) {
    tn_TeStage *reader = (tn_TeStage *)stages.items[i].v.obj;
    tn_Operation *with = (tn_Operation *)ops.items[i].v.obj;
    if (map_outputs(&later, reader->op, with) || take_op(s, reader, with)) return NULL;
  }
  if (propagate(s, &later)) return NULL;
  tn_TeStage *at = te_insert_stage(s, copy, st, true);
  return at && set_scope(at, scope) == 0 ? cache : NULL;
}

/* ---- computing in another memory ---- */

static const tn_BaseComputeOp *check_cached(const tn_TeStage *st) {
  const tn_BaseComputeOp *c = te_axes_op(st->op);
  TN_CHECKP(c, TenonError, NULL,
            "cache_write: expected the result of a compute operation, got that of %s",
            tn_cstr(st->op->name));
  TN_CHECKP(!st->layout_transforms->len, TenonError, NULL,
            "Create cache_write before transform_layout (stage %s)", tn_cstr(st->op->name));
  return c;
}

/* A computation over regions with other axes. */
static tn_Operation *moved_region(const tn_TensorComputeOp *op, tn_str *name, const tn_vec *axes,
                                  const tn_pmap *renamed) {
  tn_TensorComputeOp copy = *op;
  copy.name = name;
  TN_GETP(copy.axis, tn_arr_from(axes));
  TN_GETP(copy.input_regions, tir_substitute(op->input_regions, renamed));
  TN_GETP(copy.scalar_inputs, tir_substitute(op->scalar_inputs, renamed));
  return tn_node_copy(&tn_type_TensorComputeOp, &copy);
}

/* The same computation over new axes. */
static tn_Operation *moved(const tn_BaseComputeOp *c, const char *scope) {
  TN_VEC(axes);
  TN_VEC(vars);
  TN_PMAP(renamed);
  tn_arr *shape = te_output_shape((const tn_Operation *)c, 0);
  tn_str *name = tn_str_fmt("%s.%s", tn_cstr(c->name), scope);
  if (!shape || !name || make_axes(shape, c->axis, &axes, &vars)) return NULL;
  for (int64_t i = 0; i < axes.len; ++i)
    TN_TRYP(tn_pmap_put(&renamed, te_iv(c->axis, i)->var, vars.items[i].v.obj));
  const tn_TensorComputeOp *region = TN_AS(TensorComputeOp, c);
  if (region) return moved_region(region, name, &axes, &renamed);
  tn_ComputeOp copy = *(const tn_ComputeOp *)c;
  copy.name = name;
  copy.axis = tn_arr_from(&axes);
  copy.body = tir_substitute(copy.body, &renamed);
  /* what is reduced over may depend on the axes */
  const tn_Reduce *r = copy.body ? TN_AS(Reduce, tn_arr_obj(copy.body, 0)) : NULL;
  if (r) copy.reduce_axis = r->axis;
  return copy.axis && copy.body ? tn_node_copy(&tn_type_ComputeOp, &copy) : NULL;
}

/* What is left: copies over the old axes. @param at where the elements are */
static tn_Operation *copies(const tn_BaseComputeOp *c, tn_Operation *from, const tn_vec *at) {
  TN_VEC(axes);
  TN_VEC(body);
  for (int64_t i = 0; i < c->axis->len; ++i) TN_TRYP(tn_vec_push_obj(&axes, te_iv(c->axis, i)));
  for (int64_t i = 0; i < te_num_outputs(from); ++i) {
    tn_Tensor *t = te_output(from, i);
    if (!t || tn_vec_push_obj(&body, element(t, at))) return NULL;
  }
  return compute_op(tn_cstr(c->name), c, &axes, &body);
}

static tn_arr *outputs_of(tn_Operation *op) {
  TN_VEC(v);
  for (int64_t i = 0; i < te_num_outputs(op); ++i) TN_TRYP(tn_vec_push_obj(&v, te_output(op, i)));
  return tn_arr_from(&v);
}

/* Loops of the stage from scratch. */
static int reset_loops(tn_TeStage *st) {
  tn_arr *roots = te_root_iter_vars(st->op), *none = tn_arr_of(0);
  tn_map *attrs = tn_scope_own(tn_map_new());
  if (!roots || !none || !attrs) return -1;
  return te_set(st, "all_iter_vars", roots) || te_set(st, "leaf_iter_vars", roots) ||
                 te_set(st, "relations", none) || te_set(st, "iter_var_attrs", attrs)
             ? -1
             : 0;
}

tn_arr *te_cache_write(tn_TeSchedule *s, const tn_arr *tensors, const char *scope) {
  TN_CHECKP(tensors->len > 0, ValueError, NULL, "cache_write: expected at least one tensor");
  const tn_Tensor *first = (const tn_Tensor *)tn_arr_obj(tensors, 0);
  for (int64_t i = 0; i < tensors->len; ++i)
    TN_CHECKP(((const tn_Tensor *)tn_arr_obj(tensors, i))->op == first->op, TenonError, NULL,
              "cache_write: all tensors must come of one operation");
  TN_CHECKP(tensors->len == te_num_outputs(first->op), TenonError, NULL,
            "size of input tensor list must be same as number of stage outputs: %s has %d",
            tn_cstr(first->op->name), te_num_outputs(first->op));
  tn_TeStage *st = te_stage_of(s, first->op);
  const tn_BaseComputeOp *c = st ? check_cached(st) : NULL;
  TN_VEC(at_element);
  tn_Operation *cache, *copy;
  if (!c) return NULL;
  if (te_has_own_loops(st)) {
    TN_GETP(cache, te_over_loops(s, st, scope, &at_element));
  } else {
    TN_GETP(cache, moved(c, scope));
    for (int64_t i = 0; i < c->axis->len; ++i)
      TN_TRYP(tn_vec_push_obj(&at_element, te_iv(c->axis, i)->var));
  }
  copy = copies(c, cache, &at_element);
  if (!copy || te_replace_op(s, st, copy) || reset_loops(st)) return NULL;
  tn_TeStage *at = te_insert_stage(s, cache, st, false);
  return at && set_scope(at, scope) == 0 ? outputs_of(cache) : NULL;
}

/* ---- partial reductions ---- */

typedef struct {
  tn_TeStage *st;
  const tn_ComputeOp *c;
  const tn_Reduce *r;
  tn_IterVar *axis; /* the loop that becomes an axis */
  int64_t place;    /* where among the axes */
  tn_pmap touched;  /* IterVar -> 1: comes of the same axes as `axis` */
  tn_pmap dom, value;
  tn_vec conditions;
} factoring;
static void factoring_fini(factoring *f) {
  tn_pmap *maps[] = {&f->touched, &f->dom, &f->value};
  for (int i = 0; i < TN_COUNT(maps); ++i) tn_pmap_fini(maps[i]);
  tn_vec_fini(&f->conditions);
}

static int check_factoring(factoring *f, int64_t place) {
  const char *name = tn_cstr(f->axis->var->name);
  f->r = f->c ? TN_AS(Reduce, tn_arr_obj(f->c->body, 0)) : NULL;
  TN_CHECK(f->r, TenonError, NULL, "rfactor: %s is not a reduction", tn_cstr(f->st->op->name));
  TN_CHECK(te_index_of(f->st->leaf_iter_vars, f->axis) >= 0, TenonError, NULL,
           "rfactor: %s is not a loop of %s", name, tn_cstr(f->st->op->name));
  TN_CHECK(f->axis->iter_type == IR_ITER_COMM_REDUCE, TenonError, NULL,
           "Can only factor reduction axis: %s is none", name);
  int64_t n = f->c->axis->len + 1;
  f->place = place < 0 ? place + n : place;
  TN_CHECK(f->place >= 0 && f->place < n, TenonError, NULL,
           "rfactor: factor_axis: expected %lld to %lld, got %lld", (long long)-n, (long long)n - 1,
           (long long)place);
  return 0;
}

/* Ranges of the loops and what the axes of the reduction are in terms of them. */
static int measure(factoring *f) {
  TN_ARITH(a);
  TN_PMAP(skip);
  tn_arr *roots;
  TN_GET(roots, te_root_iter_vars((const tn_Operation *)f->c));
  TN_TRY(tn_pmap_put_int(&f->touched, f->axis, 1));
  TN_TRY(te_pass_up_flags(f->st, &f->touched));
  TN_TRY(te_pass_down_flags(f->st, &f->touched));
  for (int64_t i = 0; i < f->c->axis->len; ++i)
    TN_CHECK(!tn_pmap_get_int(&f->touched, te_iv(f->c->axis, i), 0), TenonError, NULL,
             "Can only factor reduction axis: %s is fused with %s, which is not reduced",
             tn_cstr(f->axis->var->name), tn_cstr(te_iv(f->c->axis, i)->var->name));
  for (int64_t i = 0; i < roots->len; ++i)
    TN_TRY(tn_pmap_put(&f->dom, te_iv(roots, i), te_iv(roots, i)->dom));
  TN_TRY(te_pass_down_domain(f->st, &f->dom, &a, true));
  for (int64_t i = 0; i < f->st->all_iter_vars->len; ++i) {
    const tn_IterVar *iv = te_iv(f->st->all_iter_vars, i);
    bool touched = tn_pmap_get_int(&f->touched, iv, 0) != 0;
    if (!touched) TN_TRY(tn_pmap_put_int(&skip, iv, 1));
    if (touched && te_index_of(f->st->leaf_iter_vars, iv) >= 0)
      TN_TRY(tn_pmap_put(&f->value, iv, iv->var));
  }
  TN_TRY(te_pass_up_index(f->st, &f->dom, &f->value, true));
  return te_bound_checks(f->st, &f->dom, &f->value, true, &skip, &f->conditions);
}

/* Axes of the partial reduction: what is left of the old ones. */
static int reduced_axes(const factoring *f, tn_vec *out, tn_pmap *vars) {
  for (int64_t i = 0; i < f->c->reduce_axis->len; ++i) {
    const tn_IterVar *iv = te_iv(f->c->reduce_axis, i);
    if (!tn_pmap_get_int(&f->touched, iv, 0)) TN_TRY(tn_vec_push_obj(out, iv));
    else if (tn_pmap_get(&f->value, iv) != iv->var)
      TN_TRY(tn_pmap_put(vars, iv->var, tn_pmap_get(&f->value, iv)));
  }
  for (int64_t i = 0; i < f->st->leaf_iter_vars->len; ++i) {
    const tn_IterVar *iv = te_iv(f->st->leaf_iter_vars, i);
    if (iv == f->axis || !tn_pmap_get_int(&f->touched, iv, 0)) continue;
    const tn_IterVar *copy =
        tir_iter_var(tn_pmap_get(&f->dom, iv), iv->var, IR_ITER_COMM_REDUCE, "");
    if (!copy || tn_vec_push_obj(out, copy)) return -1;
  }
  return 0;
}

/* An axis of a tensor starts at 0: one that is reduced over from elsewhere is counted from its
 * start. */
static int factored_axes(const factoring *f, tn_vec *axes, tn_pmap *vars) {
  const tn_Range *r = tn_pmap_get(&f->dom, f->axis);
  tn_Range *dom;
  TN_GET(dom, tir_range(tir_zero(r->extent->dtype), r->extent));
  tn_IterVar *iv = tir_iter_var(dom, f->axis->var, IR_ITER_DATA_PAR, "");
  if (!tir_is_zero(r->min)) {
    tn_expr *value = tir_add((tn_expr *)f->axis->var, r->min);
    TN_TRY(!value || tn_pmap_put(vars, f->axis->var, value));
  }
  for (int64_t i = 0; i <= f->c->axis->len; ++i) {
    if (i == f->place) TN_TRY(!iv || tn_vec_push_obj(axes, iv));
    if (i < f->c->axis->len) TN_TRY(tn_vec_push_obj(axes, tn_arr_obj(f->c->axis, i)));
  }
  return 0;
}

static tn_expr *condition_of(const factoring *f, const tn_pmap *vars) {
  tn_expr *all = tir_substitute(f->r->condition, vars);
  for (int64_t i = 0; i < f->conditions.len; ++i)
    all = tir_and(all, tir_likely(tir_substitute(f->conditions.items[i].v.obj, vars), NULL));
  return all;
}

static tn_Operation *factored(const factoring *f) {
  TN_VEC(axes);
  TN_VEC(reduced);
  TN_VEC(body);
  TN_PMAP(vars);
  if (factored_axes(f, &axes, &vars) || reduced_axes(f, &reduced, &vars)) return NULL;
  tn_expr *condition = condition_of(f, &vars);
  tn_arr *source = condition ? tir_substitute(f->r->source, &vars) : NULL,
         *left = tn_arr_from(&reduced), *none = tn_arr_of(0);
  for (int64_t i = 0; source && left && i < source->len; ++i) {
    tn_expr *e = (tn_expr *)tn_arr_obj(source, i);
    if (left->len)
      e = (tn_expr *)TN_NEW(Reduce, .dtype = e->dtype, .combiner = f->r->combiner, .source = source,
                            .axis = left, .condition = condition, .value_index = i, .init = none);
    else if (!tir_is_one(condition))
      e = tir_if_then_else(condition, e, (tn_expr *)tn_arr_obj(f->r->combiner->identity_element, i),
                           NULL);
    if (!e || tn_vec_push_obj(&body, e)) return NULL;
  }
  tn_str *name = tn_str_fmt("%s.rf", tn_cstr(f->c->name));
  return name && body.len ? compute_op(name->data, (const tn_BaseComputeOp *)f->c, &axes, &body)
                          : NULL;
}

/* What the whole reduction begins with, over new axes; the partial ones begin with the identity. */
static tn_arr *init_of(const factoring *f, const tn_vec *axes) {
  TN_PMAP(vars);
  for (int64_t i = 0; i < f->c->axis->len; ++i)
    TN_TRYP(tn_pmap_put(&vars, te_iv(f->c->axis, i)->var, axes->items[i].v.obj));
  return tir_substitute(f->r->init, &vars);
}

/* The reduction of the partial results, over new axes. */
static tn_Operation *rest(const factoring *f, tn_Operation *partial) {
  TN_VEC(axes);
  TN_VEC(vars);
  TN_VEC(at);
  TN_VEC(sources);
  TN_VEC(body);
  const tn_Range *r = tn_pmap_get(&f->dom, f->axis);
  tn_arr *shape = te_output_shape((const tn_Operation *)f->c, 0);
  tn_str *name = tn_str_fmt("%s.v", tn_cstr(f->axis->var->name));
  tn_IterVar *k = name
                      ? tir_iter_var(tir_range(tir_zero(r->extent->dtype), r->extent),
                                     tir_var(name->data, r->extent->dtype), IR_ITER_COMM_REDUCE, "")
                      : NULL;
  if (!k || !shape || make_axes(shape, NULL, &axes, &vars)) return NULL;
  for (int64_t i = 0; i <= vars.len; ++i) {
    if (i == f->place) TN_TRYP(tn_vec_push_obj(&at, k->var));
    if (i < vars.len) TN_TRYP(tn_vec_push(&at, vars.items[i]));
  }
  for (int64_t i = 0; i < te_num_outputs(partial); ++i) {
    tn_Tensor *t = te_output(partial, i);
    if (!t || tn_vec_push_obj(&sources, element(t, &at))) return NULL;
  }
  tn_arr *source = tn_arr_from(&sources), *over = tn_arr_of(1, k), *init = init_of(f, &vars);
  for (int64_t i = 0; source && over && init && i < source->len; ++i)
    TN_TRYP(tn_vec_push_obj(&body,
                            TN_NEW(Reduce, .dtype = ((tn_expr *)tn_arr_obj(source, i))->dtype,
                                   .combiner = f->r->combiner, .source = source, .axis = over,
                                   .condition = tir_bool(true), .value_index = i, .init = init)));
  tn_str *full = tn_str_fmt("%s.repl", tn_cstr(f->c->name));
  return full && body.len ? compute_op(full->data, (const tn_BaseComputeOp *)f->c, &axes, &body)
                          : NULL;
}

tn_arr *te_rfactor(tn_TeSchedule *s, tn_Tensor *t, tn_IterVar *axis, int64_t factor_axis) {
  factoring f __attribute__((cleanup(factoring_fini))) = {.axis = axis};
  f.st = te_stage_of(s, t->op);
  if (!f.st) return NULL;
  f.c = TN_AS(ComputeOp, f.st->op);
  TN_CHECKP(!f.st->layout_transforms->len, TenonError, NULL,
            "rfactor: %s has its own layout, which is chosen after rfactor",
            tn_cstr(f.st->op->name));
  if (check_factoring(&f, factor_axis) || measure(&f)) return NULL;
  tn_Operation *partial = factored(&f), *whole = partial ? rest(&f, partial) : NULL;
  if (!whole || te_replace_op(s, f.st, whole) || reset_loops(f.st)) return NULL;
  return te_insert_stage(s, partial, f.st, false) ? outputs_of(partial) : NULL;
}
