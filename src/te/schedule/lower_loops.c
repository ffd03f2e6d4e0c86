/* Expressions and loops of a stage as they are in the program: variables with the meaning they have at
   the place, reads of tensors as reads of buffers. */
#include "te/schedule/lower_impl.h"
#include "tenon/object.h"

/* ---- where tensors are ---- */

int64_t te_lower_place(const te_lowerer *l, const tn_Tensor *t) {
  for (int64_t i = l->tensors.len; i-- > 0;) {
    if (te_same_tensor((const tn_Tensor *)l->tensors.items[i].v.obj, t)) return i;
  }
  return -1;
}
tn_Buffer *te_lower_buffer(const te_lowerer *l, const tn_Tensor *t) {
  int64_t at = te_lower_place(l, t);
  return at < 0 ? NULL : (tn_Buffer *)l->buffers.items[at].v.obj;
}
/* ---- expressions ---- */

static tn_obj *replace(void *ctx, tn_obj *o);

tn_obj *te_lower_node(te_lowerer *l, const void *node) {
  return replace(l, (tn_obj *)(uintptr_t)node);
}

tn_expr *te_lower_expr(te_lowerer *l, const void *e) {
  tn_expr *r = (tn_expr *)replace(l, (tn_obj *)(uintptr_t)e);
  return r ? arith_simplify(&l->arith, r) : NULL;
}

tn_arr *te_lower_indices(te_lowerer *l, int64_t place, const tn_arr *indices) {
  const tn_arr *begins = (const tn_arr *)l->begins.items[place].v.obj;
  TN_VEC(out);
  for (int64_t i = 0; i < indices->len; ++i) {
    tn_expr *at = (tn_expr *)replace(l, tn_arr_obj(indices, i));
    if (begins->len) at = tir_sub(at, (tn_expr *)tn_arr_obj(begins, i));
    at = at ? arith_simplify(&l->arith, at) : NULL;
    if (!at || tn_vec_push_obj(&out, at)) return NULL;
  }
  return tn_arr_from(&out);
}

/* Variables as they are here, reads of tensors as reads of their buffers. */
static tn_obj *replace(void *ctx, tn_obj *o) {
  te_lowerer *l = ctx;
  tn_obj *with = tn_pmap_get(&l->vars, o);
  if (with) return with;
  const tn_ProducerLoad *load = TN_AS(ProducerLoad, o);
  if (load) {
    const tn_Tensor *t = TN_AS(Tensor, load->producer);
    int64_t at = t ? te_lower_place(l, t) : -1;
    TN_CHECKP(at >= 0, ValueError, load->span,
              "lower: tensor %s is used but neither an argument nor computed before",
              t ? tn_cstr(t->op->name) : "?");
    tn_arr *indices = te_lower_indices(l, at, load->indices);
    return indices ? (tn_obj *)tir_load((tn_Buffer *)l->buffers.items[at].v.obj, indices) : NULL;
  }
  if (o->type_index == TN_TI_Buffer || o->type_index == TN_TI_Op) return o;
  return tn_map_children(o, replace, l);
}

/* ---- loops ---- */

static int loop_kind(const tn_IterVarAttr *a) {
  if (!a) return TIR_FOR_SERIAL;
  if (a->bind_thread) return TIR_FOR_THREAD_BINDING;
  switch (a->iter_type) {
  case IR_ITER_UNROLLED: return TIR_FOR_UNROLLED;
  case IR_ITER_VECTORIZED: return TIR_FOR_VECTORIZED;
  case IR_ITER_PARALLELIZED: return TIR_FOR_PARALLEL;
  default: return TIR_FOR_SERIAL;
  }
}

static tn_map *pragmas(const te_lowerer *l, const tn_IterVarAttr *a) {
  tn_map *m = l->no_hints;
  for (int64_t i = 0; a && m && i < a->pragma_keys->len; ++i) {
    const tn_StringImm *name = (const tn_StringImm *)tn_arr_obj(a->pragma_keys, i);
    tn_str *key = tn_str_fmt("pragma_%s", tn_cstr(name->value));
    tn_obj *value = tn_arr_obj(a->pragma_values, i);
    m = key ? tn_map_with(m, tn_any_obj(key), tn_any_obj(value ? value : (tn_obj *)tir_i32(1)))
            : NULL;
  }
  return m;
}

tn_str *te_loop_name(const tn_Var *v, bool init) {
  return tn_str_fmt(init ? "%s.init" : "%s", tn_cstr(v->name));
}

int te_enter_loop(te_lowerer *l, const tn_TeStage *st, const tn_IterVar *iv, bool init,
                  te_loop *out) {
  const tn_Range *r = te_range(&l->b, iv);
  tn_expr *min, *value;
  *out = (te_loop){.attr = te_attr(st, iv), .thread = te_thread(st, iv)};
  TN_GET(min, te_lower_expr(l, r->min));
  TN_GET(out->extent, te_lower_expr(l, r->extent));
  bool plain = !out->thread && !(out->attr && out->attr->pragma_keys->len);
  tn_Var *outer = out->thread ? tn_pmap_get(&l->threads, out->thread) : NULL;
  value = min;
  if (outer) {
    value = (tn_expr *)outer;
  } else if (!plain || !tir_is_one(out->extent)) {
    tn_str *name = te_loop_name(iv->var, init);
    TN_GET(out->var, name ? tir_var_like(iv->var, name->data) : NULL);
    TN_TRY(arith_bind_range(&l->arith, out->var,
                            tir_range(tir_zero(out->extent->dtype), out->extent), true));
    value = tir_is_zero(min) ? (tn_expr *)out->var : tir_add(min, (tn_expr *)out->var);
  }
  if (!value || tn_pmap_put(&l->vars, iv->var, value)) return -1;
  if (!out->thread) return 0;
  if (out->var) TN_TRY(tn_pmap_put(&l->threads, out->thread, out->var));
  return tn_pmap_put(&l->vars, out->thread->var, value);
}

tn_stmt *te_leave_loop(te_lowerer *l, const te_loop *f, tn_stmt *body) {
  if (!body || !f->var) return body;
  tn_IterVar *binding = NULL;
  if (f->thread) {
    TN_TRYP(tn_pmap_put(&l->threads, f->thread, NULL));
    TN_GETP(binding, tir_iter_var(NULL, tir_var("iter", f->extent->dtype), IR_ITER_THREAD_INDEX,
                                  tn_cstr(f->thread->thread_tag)));
  }
  return (tn_stmt *)TN_MAKE(For, .loop_var = f->var, .min = tir_zero(f->extent->dtype),
                            .extent = f->extent, .kind = loop_kind(f->attr), .body = body,
                            .thread_binding = binding, .annotations = pragmas(l, f->attr));
}
