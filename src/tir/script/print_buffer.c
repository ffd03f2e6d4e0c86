/* Buffers in TVMScript: declarations, parameters, reads, writes, regions. */
#include <string.h>

#include "ir/expr.h"
#include "tir/script/printer_impl.h"

static bool is_new_var(const printer *p, const tn_obj *e) {
  return (TN_AS(Var, e) || TN_AS(SizeVar, e)) && !is_defined(p, e);
}

/* How often `var` is used in what describes the buffer. */
static int uses_in(const tn_obj *e, const tn_obj *var);
typedef struct {
  const tn_obj *var;
  int n;
} use_count;
static int count_child(void *ctx, tn_obj *child) {
  use_count *c = ctx;
  c->n += uses_in(child, c->var);
  return 0;
}
static int uses_in(const tn_obj *e, const tn_obj *var) {
  use_count c = {var, 0};
  if (!e) return 0;
  if (e == var) return 1;
  tn_visit_children(e, count_child, &c);
  return c.n;
}

static int uses_in_buffer(const tn_Buffer *b, const tn_obj *var) {
  return uses_in((const tn_obj *)b->elem_offset, var) + uses_in((const tn_obj *)b->data, var) +
         uses_in((const tn_obj *)b->strides, var) + uses_in((const tn_obj *)b->shape, var);
}

/* `n = T.int32()` before the declaration */
static int declare_var(printer *p, frame *f, const tn_Var *v) {
  tn_ExprDoc *lhs = define_name(p, f, v, tn_cstr(v->name)), *rhs = var_creation(p, v);
  return tn_vec_push_obj(&f->stmts, TN_DOC(AssignDoc, .lhs = lhs, .rhs = rhs)) ||
         note_declared(p, v) || tn_error_pending();
}

/* A variable that only the buffer uses prints as B.data, B.strides[0], B.elem_offset.
   @param usual it is of the type that such a variable is given where nothing is said of it
   @return 1 when so, 0 when it got its own statement, -1 */
static int define_inline(printer *p, frame *f, const tn_Buffer *b, const tn_obj *var, bool usual,
                         const tn_ExprDoc *doc) {
  if (uses_in_buffer(b, var) != 1 || count_binders(p, var) || !usual)
    return declare_var(p, f, (const tn_Var *)var) ? -1 : 0;
  return doc && define_doc(p, f, var, doc) == 0 ? 1 : -1;
}

typedef struct {
  tn_vec keys, values;
} kwargs;

static void kwargs_fini(kwargs *k) {
  tn_vec_fini(&k->keys);
  tn_vec_fini(&k->values);
}

static int keyword(kwargs *k, const char *key, const void *value) {
  tn_str *name = tn_str_from(key);
  if (!name || !value) return -1;
  return tn_vec_push_obj(&k->keys, name) || tn_vec_push_obj(&k->values, value);
}

static tn_ExprDoc *shape_doc(printer *p, frame *f, const tn_Buffer *b) {
  TN_VEC(dims);
  for (int64_t i = 0; i < b->shape->len; ++i) {
    const tn_obj *e = tn_arr_obj(b->shape, i);
    if (is_new_var(p, e)) TN_TRYP(declare_var(p, f, (const tn_Var *)e));
    TN_TRYP(tn_vec_push_obj(&dims, print_expr(p, e)));
  }
  return tuple_doc(&dims);
}

static int add_strides(printer *p, frame *f, const tn_Buffer *b, tn_ExprDoc *name, kwargs *k) {
  TN_VEC(dims);
  if (b->strides->len == 0) return 0;
  for (int64_t i = 0; i < b->strides->len; ++i) {
    const tn_obj *e = tn_arr_obj(b->strides, i);
    if (is_new_var(p, e)) {
      tn_arr *index = tn_arr_of(1, int_doc(i));
      tn_ExprDoc *strides = attr_doc(name, "strides");
      int inlined = define_inline(
          p, f, b, e, TN_AS(Var, e) && tn_dtype_eq(((const tn_Var *)e)->dtype, TN_I32),
          (tn_ExprDoc *)TN_DOC(IndexDoc, .value = strides, .indices = index));
      if (inlined < 0) return -1;
      if (inlined) {
        TN_TRY(tn_vec_push_obj(&dims, str_doc(tn_cstr(((const tn_Var *)e)->name))));
        continue;
      }
    }
    TN_TRY(tn_vec_push_obj(&dims, print_expr(p, e)));
  }
  return keyword(k, "strides", tuple_doc(&dims));
}

/* The type of an offset of which nothing is said. */
static tn_dtype offset_dtype(const tn_Buffer *b) {
  const tn_expr *first = b->shape->len ? (const tn_expr *)tn_arr_obj(b->shape, 0) : NULL;
  return first ? first->dtype : TN_I32;
}

static bool has_usual_offset(const tn_Buffer *b) {
  return !b->elem_offset ||
         (tir_is_zero(b->elem_offset) && tn_dtype_eq(b->elem_offset->dtype, offset_dtype(b)));
}

/* @return 1 when the factor has to be printed */
static int add_offset(printer *p, frame *f, const tn_Buffer *b, tn_ExprDoc *name, kwargs *k) {
  const tn_obj *e = (const tn_obj *)b->elem_offset;
  if (!e) return 0;
  if (has_usual_offset(b) && b->offset_factor == 1) return 0;
  if (is_new_var(p, e)) {
    bool usual = TN_AS(Var, e) && tn_dtype_eq(b->elem_offset->dtype, offset_dtype(b));
    int inlined = define_inline(p, f, b, e, usual, attr_doc(name, "elem_offset"));
    if (inlined) return inlined;
  }
  return keyword(k, "elem_offset", print_expr(p, e));
}

static bool has_usual_data(const tn_Buffer *b) {
  const tn_PointerType *t = TN_AS(PointerType, b->data->type_annotation);
  const tn_PrimType *of = t ? TN_AS(PrimType, t->element_type) : NULL;
  tn_dtype usual = ir_is_bool(b->dtype) ? tn_dtype_of(kDLInt, 8, b->dtype.lanes) : b->dtype;
  return TN_AS(Var, b->data) && of && t->storage_scope->len && tn_dtype_eq(of->dtype, usual);
}

/* Everything but shape and dtype, in the order of the constructor's parameters. */
static int add_keywords(printer *p, frame *f, const tn_Buffer *b, tn_ExprDoc *name, bool with_data,
                        kwargs *k) {
  const tn_obj *data = (const tn_obj *)b->data;
  int inlined = 0;
  if (is_new_var(p, data)) {
    inlined =
        define_inline(p, f, b, data, p->fragment || has_usual_data(b), attr_doc(name, "data"));
    if (inlined < 0) return -1;
  }
  if (!inlined && with_data) TN_TRY(keyword(k, "data", print_expr(p, data)));
  TN_TRY(add_strides(p, f, b, name, k));
  int factor = add_offset(p, f, b, name, k);
  if (factor < 0) return -1;
  const char *scope = tir_buffer_scope(b);
  if (strcmp(scope, "global") != 0) TN_TRY(keyword(k, "scope", str_doc(scope)));
  if (b->data_alignment != TIR_ALIGNMENT) TN_TRY(keyword(k, "align", int_doc(b->data_alignment)));
  if (factor || b->offset_factor != 1)
    TN_TRY(keyword(k, "offset_factor", int_doc(b->offset_factor)));
  if (b->buffer_type != TIR_BUFFER_DEFAULT) TN_TRY(keyword(k, "buffer_type", str_doc("auto")));
  if (b->axis_separators->len)
    TN_TRY(keyword(k, "axis_separators", print_array(p, b->axis_separators, false)));
  return 0;
}

static tn_ExprDoc *decl_with(printer *p, frame *f, const tn_Buffer *b, const char *method,
                             const void *first_arg, bool with_data) {
  TN_VEC(args);
  kwargs k __attribute__((cleanup(kwargs_fini))) = {0};
  tn_ExprDoc *name = (tn_ExprDoc *)tn_pmap_get(&p->docs, b);
  if (first_arg) TN_TRYP(tn_vec_push_obj(&args, first_arg));
  TN_TRYP(tn_vec_push_obj(&args, shape_doc(p, f, b)));
  if (!tn_dtype_eq(b->dtype, p->cfg->buffer_dtype))
    TN_TRYP(tn_vec_push_obj(&args, dtype_doc(b->dtype)));
  TN_TRYP(add_keywords(p, f, b, name, with_data, &k));
  return call_kw_doc(tir_doc(p, method), &args, &k.keys, &k.values);
}

tn_ExprDoc *buffer_decl(printer *p, frame *f, const tn_Buffer *b, const char *method,
                        const void *first_arg) {
  return decl_with(p, f, b, method, first_arg, true);
}

bool owns_data(const tn_Buffer *b) {
  return has_usual_data(b) && uses_in_buffer(b, (const tn_obj *)b->data) == 1;
}

tn_ExprDoc *whole_buffer_decl(printer *p, frame *f, const tn_Buffer *b) {
  const tn_ExprDoc *name = tn_pmap_get(&p->docs, b);
  if (!name || define_doc(p, f, b->data, attr_doc((tn_ExprDoc *)(uintptr_t)name, "data")))
    return NULL;
  return decl_with(p, f, b, "decl_buffer", NULL, false);
}

tn_ExprDoc *buffer_annotation(printer *p, frame *f, const tn_Buffer *b) {
  TN_VEC(args);
  kwargs k __attribute__((cleanup(kwargs_fini))) = {0};
  tn_ExprDoc *name = (tn_ExprDoc *)tn_pmap_get(&p->docs, b);
  TN_TRYP(tn_vec_push_obj(&args, shape_doc(p, f, b)));
  TN_TRYP(tn_vec_push_obj(&args, dtype_doc(b->dtype)));
  TN_TRYP(add_keywords(p, f, b, name, false, &k));
  return call_doc(tir_doc(p, "Buffer"), &args);
}

static bool is_constant(const tn_obj *e) {
  int64_t value;
  return tir_as_int(e, &value);
}

bool is_simple_buffer(const tn_Buffer *b) {
  for (int64_t i = 0; i < b->shape->len; ++i) {
    if (!is_constant(tn_arr_obj(b->shape, i))) return false;
  }
  return b->strides->len == 0 && has_usual_offset(b) && has_usual_data(b) &&
         strcmp(tir_buffer_scope(b), "global") == 0 && b->data_alignment == TIR_ALIGNMENT &&
         b->offset_factor == 1 && b->buffer_type == TIR_BUFFER_DEFAULT &&
         b->axis_separators->len == 0;
}

tn_ExprDoc *define_buffer(printer *p, frame *f, const tn_Buffer *b) {
  return define_name(p, f, b, b->name->len ? b->name->data : "buffer");
}

tn_ExprDoc *bound_buffer(printer *p, frame *f, const tn_Buffer *b) {
  if (!is_defined(p, b) && count_binders(p, b) > 1 && !print_buffer(p, b)) return NULL;
  return bound_name(p, f, b, b->name->len ? b->name->data : "buffer");
}

/* A buffer nobody declared is declared where it is first visible to all its uses. */
tn_ExprDoc *print_buffer(printer *p, const tn_Buffer *b) {
  if (!is_defined(p, b)) {
    frame *f = frame_for(p, b);
    tn_ExprDoc *lhs = define_buffer(p, f, b);
    tn_ExprDoc *rhs = lhs ? buffer_decl(p, f, b, "Buffer", NULL) : NULL;
    tn_AssignDoc *decl = TN_DOC(AssignDoc, .lhs = lhs, .rhs = rhs);
    if (!decl || tn_vec_push_obj(&f->stmts, decl) || note_declared(p, b)) return NULL;
  }
  return (tn_ExprDoc *)noted(p, b, tn_pmap_get(&p->docs, b));
}

/* base:base + lanes * stride[:stride] */
static tn_Doc *ramp_slice(printer *p, const tn_Ramp *r) {
  tn_expr *lanes = tir_lanes(r->stride->dtype, r->lanes, 0);
  tn_ExprDoc *start = print_expr(p, r->base),
             *stop = print_expr(p, tir_add(r->base, tir_mul(lanes, r->stride)));
  tn_ExprDoc *step = tir_is_one(r->stride) ? NULL : print_expr(p, r->stride);
  if (!start || !stop) return NULL;
  return (tn_Doc *)TN_DOC(SliceDoc, .start = start, .stop = stop, .step = step);
}

/* A slice with a step has a constant length. The end of one in a small type may not fit it. */
static bool is_slice(const tn_Ramp *r) {
  if (r->base->dtype.bits < 32) return false;
  return tir_is_one(r->stride) || (r->lanes > 0 && TN_AS(IntImm, r->stride));
}

tn_ExprDoc *print_indexed(printer *p, const tn_Buffer *b, const tn_arr *indices) {
  TN_VEC(docs);
  tn_ExprDoc *base = print_buffer(p, b);
  for (int64_t i = 0; base && i < indices->len; ++i) {
    const tn_obj *e = tn_arr_obj(indices, i);
    const tn_Ramp *r = TN_AS(Ramp, e);
    const void *doc = r && is_slice(r) ? (void *)ramp_slice(p, r) : (void *)print_expr(p, e);
    if (!doc || tn_vec_push_obj(&docs, doc)) return NULL;
  }
  return (tn_ExprDoc *)TN_DOC(IndexDoc, .value = base, .indices = tn_arr_from(&docs));
}

tn_ExprDoc *print_region(printer *p, const tn_BufferRegion *r) {
  TN_VEC(docs);
  tn_ExprDoc *base = print_buffer(p, r->buffer);
  for (int64_t i = 0; base && i < r->region->len; ++i) {
    const tn_Range *range = (const tn_Range *)tn_arr_obj(r->region, i);
    tn_ExprDoc *min = print_expr(p, range->min);
    const void *doc = min;
    if (min && !tir_is_one(range->extent)) {
      tn_ExprDoc *stop = print_expr(p, tir_add(range->min, range->extent));
      doc = TN_DOC(SliceDoc, .start = min, .stop = stop);
      if (!stop) return NULL;
    }
    if (!doc || tn_vec_push_obj(&docs, doc)) return NULL;
  }
  return (tn_ExprDoc *)TN_DOC(IndexDoc, .value = base, .indices = tn_arr_from(&docs));
}
