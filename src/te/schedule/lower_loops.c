/* Expressions and loops of a stage as they are in the program: variables with the meaning they have at
   the place, reads of tensors as reads of buffers. */
#include <string.h>

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

/* Where each thread has its own part of a tensor, the thread that it is at the place. */
tn_expr *te_lower_begin(te_lowerer *l, const tn_arr *begins, int64_t i) {
  return (tn_expr *)replace(l, tn_arr_obj(begins, i));
}

tn_arr *te_lower_indices(te_lowerer *l, int64_t place, const tn_arr *indices) {
  const tn_arr *begins = (const tn_arr *)l->begins.items[place].v.obj;
  TN_VEC(out);
  for (int64_t i = 0; i < indices->len; ++i) {
    tn_expr *at = (tn_expr *)replace(l, tn_arr_obj(indices, i));
    if (begins->len) at = tir_sub(at, te_lower_begin(l, begins, i));
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

/* How many values of a loop are needed: a factor may be more than all there are to split. */
static tn_expr *needed(te_lowerer *l, const tn_TeStage *st, const tn_IterVar *iv, tn_expr *extent) {
  for (int64_t i = 0; i < st->relations->len; ++i) {
    const tn_TeSplit *s = TN_AS(TeSplit, tn_arr_obj(st->relations, i));
    if (!s || (s->factor ? s->inner : s->outer) != iv) continue;
    tn_expr *all = te_lower_expr(l, te_range(&l->b, s->parent)->extent);
    return !all || arith_prove(&l->arith, tir_le(all, extent)) ? all : extent;
  }
  return extent;
}

/* Loops over threads of a device are one launch, so that memory of a thread lasts from one to the
   next. Virtual threads outside of a launch are plain loops: one is over before the next begins. */
static int check_launch(const te_lowerer *l, const tn_TeStage *st, const te_loop *f) {
  if (!f->var || strncmp(tn_cstr(f->thread->thread_tag), "vthread", 7) != 0) return 0;
  for (size_t i = 0; i < l->threads.cap; ++i)
    if (l->threads.slots[i].key && l->threads.slots[i].v.ptr &&
        l->threads.slots[i].v.ptr != (void *)f->var)
      return 0;
  return TN_RAISE(TenonError, NULL,
                  "lower: %s is in memory of each virtual thread, but not computed inside their "
                  "loop: compute it there, at the loop that is bound to %s",
                  tn_cstr(st->op->name), tn_cstr(f->thread->var->name));
}

/* Threads that have their own results each compute all of them: a loop inside that of the threads.
   It takes the values that the threads would share otherwise. */
static int enter_own_loop(te_lowerer *l, const tn_TeStage *st, const tn_IterVar *iv, bool init,
                          te_loop *out) {
  tn_expr *min, *value;
  tn_str *name;
  TN_GET(min, te_lower_expr(l, te_range(&l->b, iv)->min));
  TN_GET(out->own_extent, needed(l, st, iv, out->extent));
  value = min;
  if (!tir_is_one(out->own_extent)) {
    TN_GET(name, te_loop_name(iv->var, init));
    TN_GET(out->own, tir_var_like(iv->var, name->data));
    TN_TRY(arith_bind_range(&l->arith, out->own,
                            tir_range(tir_zero(out->own_extent->dtype), out->own_extent), true));
    TN_GET(value, tir_add(min, (tn_expr *)out->own));
  }
  return tn_pmap_put(&l->vars, iv->var, value);
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
  TN_TRY(tn_pmap_put(&l->vars, out->thread->var, value));
  bool own = iv->iter_type != IR_ITER_COMM_REDUCE && te_is_private(&l->b, st, out->thread);
  if (!own) return 0;
  TN_TRY(check_launch(l, st, out));
  return enter_own_loop(l, st, iv, init, out);
}

tn_stmt *te_leave_loop(te_lowerer *l, const te_loop *f, tn_stmt *body) {
  if (body && f->own)
    body = (tn_stmt *)TN_MAKE(For, .loop_var = f->own, .min = tir_zero(f->own_extent->dtype),
                              .extent = f->own_extent, .kind = TIR_FOR_SERIAL, .body = body,
                              .annotations = l->no_hints);
  if (!body || !f->var) return body;
  tn_IterVar *binding = NULL;
  if (f->thread) {
    TN_TRYP(tn_pmap_put(&l->threads, f->thread, NULL));
    TN_TRYP(tn_pmap_put(&l->vars, f->thread->var, NULL));
    TN_GETP(binding, tir_iter_var(NULL, tir_var("iter", f->extent->dtype), IR_ITER_THREAD_INDEX,
                                  tn_cstr(f->thread->thread_tag)));
  }
  return (tn_stmt *)TN_MAKE(For, .loop_var = f->var, .min = tir_zero(f->extent->dtype),
                            .extent = f->extent, .kind = loop_kind(f->attr), .body = body,
                            .thread_binding = binding, .annotations = pragmas(l, f->attr));
}
