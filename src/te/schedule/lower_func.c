/* Buffers and the function of a lowered schedule; its statements are those of lower.c. */
#include "base/log.h"
#include "ir/module.h"
#include "te/schedule/lower_impl.h"
#include "tir/analysis.h"
#include "tir/transforms/transforms.h"

static void lowerer_fini(te_lowerer *l) {
  te_bounds_fini(&l->b);
  arith_fini(&l->arith);
  tn_vec *all[] = {&l->tensors, &l->buffers, &l->begins};
  for (int i = 0; i < TN_COUNT(all); ++i) tn_vec_fini(all[i]);
  tn_pmap_fini(&l->vars);
  tn_pmap_fini(&l->threads);
  tn_pmap_fini(&l->windows);
}

/* @param begins first index of each axis that the buffer holds; empty: 0 */
static int set_buffer(te_lowerer *l, const tn_Tensor *t, const tn_Buffer *b, const tn_arr *begins) {
  return !t || !b || !begins || tn_vec_push_obj(&l->tensors, t) ||
                 tn_vec_push_obj(&l->buffers, b) || tn_vec_push_obj(&l->begins, begins)
             ? -1
             : 0;
}

/* ---- buffers ---- */

/* Strides where an axis asks for one that is `offset` above a multiple of `factor`. */
static int align_strides(const tn_TeStage *st, const tn_BaseComputeOp *c, tn_Buffer **b) {
  TN_VEC(strides);
  bool aligned = false;
  tn_expr *stride = tir_i32(1);
  for (int64_t i = c->axis->len; i-- > 0 && stride;) {
    const tn_IterVarAttr *a = te_attr(st, te_iv(c->axis, i));
    if (a && a->dim_align_factor) {
      tn_expr *factor = tir_const_int(stride->dtype, a->dim_align_factor),
              *off = tir_const_int(stride->dtype, a->dim_align_offset);
      tn_expr *up =
          tir_floormod(tir_sub(tir_add(factor, off), tir_floormod(stride, factor)), factor);
      stride = tir_add(stride, up);
      aligned = true;
    }
    if (!stride || tn_vec_push_obj(&strides, stride)) return -1;
    stride = tir_mul(stride, (tn_expr *)tn_arr_obj((*b)->shape, i));
  }
  if (!aligned) return stride ? 0 : -1;
  for (int64_t i = 0, j = strides.len - 1; i < j; ++i, --j) {
    tn_any t = strides.items[i];
    strides.items[i] = strides.items[j];
    strides.items[j] = t;
  }
  tn_Buffer copy = **b;
  copy.strides = tn_arr_from(&strides);
  TN_GET(*b, copy.strides ? tn_node_copy(&tn_type_Buffer, &copy) : NULL);
  return 0;
}

static tn_str *result_name(const tn_Operation *op, int64_t i) {
  const char *name = tn_cstr(op->name);
  return te_num_outputs(op) == 1 ? tn_str_from(name) : tn_str_fmt("%s.v%lld", name, (long long)i);
}

/* A dynamic extent such as n // 2 has the bound of its type, which is far too large to allocate. */
enum { MAX_DYNAMIC_EXTENT = 1 << 16 };

/* An extent that changes from iteration to iteration is allocated at its largest. */
static tn_expr *largest(te_lowerer *l, tn_expr *extent) {
  arith_bound b = extent ? arith_const_bound(&l->arith, extent) : (arith_bound){0};
  if (!extent || b.max <= 0 || b.max >= INT32_MAX) return extent;
  if (b.max > MAX_DYNAMIC_EXTENT && arith_is_open(&l->arith, extent)) return extent;
  return tir_const_int(extent->dtype, b.max);
}

/* Updates of a scan are in its buffers, which are whole; so are the operation's other results. */
static int rest_of_update(te_lowerer *l, const tn_TeStage *st, tn_vec *allocs) {
  for (int64_t i = 0; i < te_num_outputs(st->op); ++i) {
    const tn_Tensor *t = te_output(st->op, i);
    if (t && te_lower_buffer(l, t)) continue;
    tn_str *name = result_name(st->op, i);
    tn_Buffer *b = t && name ? tir_buffer(t->shape, t->dtype, name->data, "global") : NULL;
    TN_TRY(set_buffer(l, t, b, tn_arr_of(0)) || tn_vec_push_obj(allocs, b));
  }
  return 0;
}

/* Buffers of results that are rolled keep the tensor's indices until InjectRollingBuffer. */
static int rolled_buffers(te_lowerer *l, const tn_TeStage *st, tn_vec *allocs) {
  const tn_ComputeOp *c = TN_AS(ComputeOp, st->op);
  TN_VEC(ranges);
  const tn_arr *window;
  for (int64_t i = 0; i < c->axis->len; ++i) {
    const tn_Range *r = te_range(&l->b, te_iv(c->axis, i));
    TN_TRY(
        tn_vec_push_obj(&ranges, tir_range(te_lower_expr(l, r->min), te_lower_expr(l, r->extent))));
  }
  TN_GET(window, tn_arr_from(&ranges));
  for (int64_t i = 0; i < te_num_outputs(st->op); ++i) {
    const tn_Tensor *t;
    tn_str *name;
    tn_Buffer *b;
    TN_GET(t, te_output(st->op, i));
    TN_GET(name, result_name(st->op, i));
    TN_GET(b, tir_buffer(t->shape, t->dtype, name->data, te_stage_scope(&l->b, st)));
    TN_TRY(tn_pmap_put(&l->windows, b, window));
    TN_TRY(set_buffer(l, t, b, tn_arr_of(0)) || tn_vec_push_obj(allocs, b));
  }
  return 0;
}

int te_lower_inner_buffers(te_lowerer *l, const tn_TeStage *st, tn_vec *allocs) {
  const tn_BaseComputeOp *c = te_axes_op(st->op);
  TN_VEC(shape);
  TN_VEC(begins);
  TN_CHECK(c, TenonError, NULL, "compute_at: %s is not a compute operation", tn_cstr(st->op->name));
  for (int64_t i = 0; i < c->axis->len; ++i) {
    const tn_Range *r = te_range(&l->b, te_iv(c->axis, i));
    const tn_expr *extent = largest(l, te_lower_expr(l, r->extent)),
                  *min = te_lower_expr(l, r->min);
    if (!extent || !min || tn_vec_push_obj(&shape, extent) || tn_vec_push_obj(&begins, min))
      return -1;
  }
  tn_arr *extents = tn_arr_from(&shape), *from = tn_arr_from(&begins);
  if (te_scan_of(l->s, st->op)) return rest_of_update(l, st, allocs);
  if (st->rolling_buffer) return rolled_buffers(l, st, allocs);
  for (int64_t i = 0; i < te_num_outputs(st->op); ++i) {
    const tn_Tensor *t = te_output(st->op, i);
    if (t && te_lower_buffer(l, t)) continue; /* an argument: each part is written where it lies */
    tn_str *name = result_name(st->op, i);
    if (!t || !name || !extents || !from) return -1;
    tn_Buffer *b = tir_buffer(extents, t->dtype, name->data, te_stage_scope(&l->b, st));
    if (!b || align_strides(st, c, &b)) return -1;
    TN_TRY(set_buffer(l, t, b, from) || tn_vec_push_obj(allocs, b));
  }
  return 0;
}

/* ---- the function ---- */

typedef struct {
  tn_vec params;
  tn_map *buffers;
} signature;

tn_Tensor *te_lower_current(const te_lowerer *l, tn_Tensor *t) {
  tn_any st;
  if (!tn_map_get(l->s->stage_map, tn_any_obj(t->op), &st)) return t;
  return te_output(((const tn_TeStage *)st.v.obj)->op, t->value_index);
}

/* The buffer that an extern operation was written for: an argument binds the offset it may have. */
static tn_Buffer *extern_buffer(const te_lowerer *l, const tn_Tensor *t) {
  for (int64_t i = 0; i < l->s->stages->len; ++i) {
    const tn_ExternOp *op = TN_AS(ExternOp, te_stage_at(l->s, i)->op);
    if (op && t->op == (const tn_Operation *)op)
      return (tn_Buffer *)tn_arr_obj(op->output_placeholders, t->value_index);
    for (int64_t j = 0; op && j < op->inputs->len; ++j) {
      if (te_same_tensor(t, (const tn_Tensor *)tn_arr_obj(op->inputs, j)) &&
          TN_AS(PlaceholderOp, t->op))
        return (tn_Buffer *)tn_arr_obj(op->input_placeholders, j);
    }
  }
  return NULL;
}

static tn_Buffer *bound_buffer(const te_lowerer *l, const tn_Tensor *t) {
  for (int64_t i = 0; l->binds && i < l->binds->len; ++i) {
    const tn_any *key = &l->binds->entries[i].key, *value = &l->binds->entries[i].value;
    const tn_Tensor *k = tn_any_is_obj(key) ? TN_AS(Tensor, key->v.obj) : NULL;
    if (k &&
        (te_same_tensor(k, t) || te_same_tensor(te_lower_current(l, (tn_Tensor *)(uintptr_t)k), t)))
      return TN_AS(Buffer, value->v.obj);
  }
  return NULL;
}

static tn_Buffer *whole_buffer(te_lowerer *l, tn_Tensor *t, const char *scope, bool is_arg) {
  tn_str *name = result_name(t->op, t->value_index);
  tn_Buffer *b = te_lower_buffer(l, t);
  if (b) return b;
  b = bound_buffer(l, t);
  if (!b && is_arg) b = extern_buffer(l, t);
  if (!b && is_arg && name) TN_TRYP(te_lower_broadcast(l, t, name->data, &b));
  if (!b && name) b = tir_buffer(t->shape, t->dtype, name->data, scope);
  return b && set_buffer(l, t, b, tn_arr_of(0)) == 0 ? b : NULL;
}

static int add_buffer(signature *sig, const tn_Buffer *b) {
  tn_str *name = tn_str_fmt("var_%s", tn_cstr(b->name));
  const tn_Var *param = name ? tir_var(name->data, TN_HANDLE) : NULL;
  if (!param || tn_vec_push_obj(&sig->params, param)) return -1;
  return tn_map_set(sig->buffers, tn_any_obj(param), tn_any_obj(b));
}

/* What is computed inline is written nowhere; programs print such functions, so it is not an error.
   */
static void warn_if_unwritten(const te_lowerer *l, const tn_Tensor *t, int64_t arg) {
  tn_any st;
  if (!tn_map_get(l->s->stage_map, tn_any_obj(t->op), &st)) return;
  int64_t how = ((const tn_TeStage *)st.v.obj)->attach_type;
  if (how == TE_ATTACH_INLINE || how == TE_ATTACH_INLINED)
    TN_LOG(WARNING,
           "lower: argument %lld is tensor %s, which is computed inline: nothing writes it; leave "
           "compute_inline out, or do not make it an argument",
           (long long)arg, tn_cstr(t->op->name));
}

static int add_args(te_lowerer *l, const tn_arr *args, signature *sig) {
  for (int64_t i = 0; i < args->len; ++i) {
    tn_obj *o = tn_arr_obj(args, i);
    tn_Tensor *t = TN_AS(Tensor, o);
    tn_Buffer *b = TN_AS(Buffer, o);
    bool scalar = o && TN_IS(Var, o);
    TN_CHECK(t || b || scalar, ValueError, NULL,
             "lower: argument %lld: args must be Tensor, Buffer or Var, got %s", (long long)i,
             o ? tn_obj_key(o) : "None");
    if (t) warn_if_unwritten(l, t, i);
    if (t) TN_GET(t, te_lower_current(l, t));
    if (t) TN_GET(b, whole_buffer(l, t, "", true));
    TN_TRY(b ? add_buffer(sig, b) : tn_vec_push_obj(&sig->params, o));
  }
  for (int64_t i = 0; l->binds && i < l->binds->len; ++i) {
    tn_Tensor *t = TN_AS(Tensor, l->binds->entries[i].key.v.obj);
    TN_CHECK(t && TN_AS(Buffer, l->binds->entries[i].value.v.obj), TypeError, NULL,
             "lower: binds maps tensors to buffers");
    if (!whole_buffer(l, te_lower_current(l, t), "", true)) return -1;
  }
  return 0;
}

/* First values, update and state of a scan are in the buffer of its result. */
static int share_buffer(te_lowerer *l, const tn_ScanOp *scan, int64_t i, const tn_Buffer *b) {
  const tn_arr *same[] = {scan->init, scan->update, scan->state_placeholder};
  for (int k = 0; k < TN_COUNT(same); ++k) {
    const tn_Tensor *t = (const tn_Tensor *)tn_arr_obj(same[k], i);
    TN_CHECK(!te_lower_buffer(l, t), ValueError, NULL,
             "lower: %s shares the memory of the scan %s: it cannot be an argument, nor part of "
             "another scan",
             tn_cstr(t->op->name), tn_cstr(scan->name));
    TN_TRY(set_buffer(l, t, b, tn_arr_of(0)));
  }
  return 0;
}

static int add_scans(te_lowerer *l, tn_vec *allocs) {
  for (int64_t i = 0; i < l->s->stages->len; ++i) {
    const tn_TeStage *st = te_stage_at(l->s, i);
    const tn_ScanOp *scan = TN_AS(ScanOp, st->op);
    for (int64_t j = 0; scan && j < te_num_outputs(st->op); ++j) {
      tn_Tensor *t = te_output(st->op, j);
      const tn_Buffer *b = t ? te_lower_buffer(l, t) : NULL;
      if (t && !b) {
        TN_GET(b, whole_buffer(l, t, te_stage_scope(&l->b, st), false));
        TN_TRY(tn_vec_push_obj(allocs, b));
      }
      if (!t || share_buffer(l, scan, j, b)) return -1;
    }
  }
  return 0;
}

/* Buffers of stages at the root; results that are not arguments are allocated. */
static int add_stages(te_lowerer *l, tn_vec *allocs) {
  for (int64_t i = 0; i < l->s->stages->len; ++i) {
    const tn_TeStage *st = te_stage_at(l->s, i);
    const tn_BaseComputeOp *c = te_axes_op(st->op);
    for (int64_t j = 0; st->attach_type == TE_ATTACH_ROOT && j < te_num_outputs(st->op); ++j) {
      tn_Tensor *t = te_output(st->op, j);
      if (!t || te_lower_buffer(l, t)) continue;
      TN_CHECK(!TN_AS(PlaceholderOp, st->op), ValueError, NULL,
               "lower: the placeholder %s is used but is not among the arguments",
               tn_cstr(st->op->name));
      tn_Buffer *b = whole_buffer(l, t, te_stage_scope(&l->b, st), false), *given = b;
      if (!b || (c && align_strides(st, c, &b))) return -1;
      if (b != given) TN_TRY(set_buffer(l, t, b, tn_arr_of(0)));
      TN_TRY(tn_vec_push_obj(allocs, b));
    }
  }
  return 0;
}

static tn_stmt *root_stmts(te_lowerer *l) {
  TN_VEC(stmts);
  for (int64_t i = 0; i < l->s->stages->len; ++i) {
    const tn_TeStage *st = te_stage_at(l->s, i);
    if (st->attach_type != TE_ATTACH_ROOT || TN_AS(PlaceholderOp, st->op) ||
        te_is_inside_scan(l, st->op))
      continue;
    tn_stmt *s = te_lower_stage(l, st);
    if (!s || tn_vec_push_obj(&stmts, s)) return NULL;
  }
  return tir_seq(&stmts);
}

static tn_PrimFunc *make_func(te_lowerer *l, const tn_arr *args, signature *sig) {
  TN_VEC(allocs);
  tn_map *attrs = tn_scope_own(tn_map_new());
  if (!attrs || !sig->buffers || add_args(l, args, sig) || add_scans(l, &allocs) ||
      add_stages(l, &allocs))
    return NULL;
  tn_stmt *body = root_stmts(l);
  body = body ? tir_with_root_block(body, &allocs) : NULL;
  if (!body || tn_map_set(attrs, tn_any_cstr("global_symbol"), tn_any_cstr("main")) ||
      tn_map_set(attrs, tn_any_cstr("tir.noalias"), tn_any_obj(tir_bool(true))))
    return NULL;
  return TN_MAKE(PrimFunc, .params = tn_arr_from(&sig->params), .buffer_map = sig->buffers,
                 .body = body, .attrs = ir_attrs_new(attrs));
}

/* The layouts that stages ask for, applied at once: what follows sees plain buffers. */
static tn_PrimFunc *with_layouts(const te_lowerer *l, tn_PrimFunc *f) {
  tn_map *maps = tn_scope_own(tn_map_new()), *separators = tn_scope_own(tn_map_new());
  for (int64_t i = 0; i < l->s->stages->len; ++i) {
    const tn_TeStage *st = te_stage_at(l->s, i);
    if (!st->layout_transforms->len) continue;
    const tn_Buffer *b = te_lower_buffer(l, te_output(st->op, 0));
    TN_CHECKP(!te_is_scan_state(l->s, st->op), TenonError, NULL,
              "transform_layout: %s stands for what a scan computed before: it has the scan's "
              "layout",
              tn_cstr(st->op->name));
    TN_CHECKP(b, TenonError, NULL, "transform_layout: %s is inlined, it has no layout",
              tn_cstr(st->op->name));
    TN_TRYP(tn_map_set(maps, tn_any_obj(b), tn_any_obj(st->layout_transforms)) ||
            tn_map_set(separators, tn_any_obj(b), tn_any_obj(st->axis_separators)));
  }
  if (!maps || !separators || !maps->len) return maps && separators ? f : NULL;
  TN_GETP(f, tir_with_attr(f, "layout_transform_map", (tn_obj *)maps));
  TN_GETP(f, tir_with_attr(f, "layout_axis_separators", (tn_obj *)separators));
  return tir_apply_layout_transforms(f, NULL);
}

tn_PrimFunc *te_schedule_to_func(const tn_TeSchedule *s, const tn_arr *args, const tn_map *binds) {
  te_lowerer l __attribute__((cleanup(lowerer_fini))) = {.binds = binds};
  signature sig = {.buffers = tn_scope_own(tn_map_new())};
  l.s = te_normalize(s);
  l.no_hints = tn_scope_own(tn_map_new());
  bool ready = l.s && l.no_hints && te_bounds_of(&l.b, l.s) == 0;
  tn_PrimFunc *f = ready ? make_func(&l, args, &sig) : NULL;
  if (f && l.windows.len) f = tir_inject_rolling_buffer(f, NULL);
  if (f && l.windows.len) f = tir_allocate_realized(f);
  f = f ? with_layouts(&l, f) : NULL;
  tn_vec_fini(&sig.params);
  return f;
}
