/* Storage of bfloat16 and 8-bit floats becomes storage of unsigned integers.

     def main(A: T.Buffer((16,), "bfloat16"))   ->   def main(A: T.Buffer((16,), "uint16"))

   Computations must have been legalized before: what is left of the types are loads, stores and
   T.reinterpret, which becomes nothing. */
#include "tir/transforms/types/legalize_impl.h"

typedef struct {
  tir_low_float which;
  tn_pmap vars; /* tn_Var -> its replacement */
} legalizer;

static bool is_low(const legalizer *x, tn_dtype t) { return tir_is_low_float(x->which, t); }

/* The variable for one of a low type or for a pointer to such values; itself otherwise. */
static tn_obj *use_var(tn_mut *m, tn_Var *v) {
  legalizer *x = m->ctx;
  tn_Var *r = tn_pmap_get(&x->vars, v);
  const tn_PointerType *p = TN_AS(PointerType, v->type_annotation);
  const tn_PrimType *t = p ? TN_AS(PrimType, p->element_type) : NULL;
  if (r) return (tn_obj *)r;
  if (is_low(x, v->dtype)) {
    r = tir_var(tn_cstr(v->name), tir_storage_uint(v->dtype));
  } else if (t && is_low(x, t->dtype)) {
    r = tir_pointer_var(tn_cstr(v->name), tir_storage_uint(t->dtype), tn_cstr(p->storage_scope));
  } else {
    return (tn_obj *)v;
  }
  return r && !tn_pmap_put(&x->vars, v, r) ? (tn_obj *)r : NULL;
}

static tn_obj *use_buffer(tn_mut *m, tn_Buffer *b) {
  const legalizer *x = m->ctx;
  tn_Buffer *r = tn_mut_children(m, b);
  if (!r || !is_low(x, r->dtype)) return (tn_obj *)r;
  tn_Buffer copy = *r;
  copy.dtype = tir_storage_uint(r->dtype);
  return tn_node_copy(&tn_type_Buffer, &copy);
}

static tn_obj *use_load(tn_mut *m, tn_BufferLoad *op) {
  tn_Buffer *b = tn_mut_visit(m, op->buffer);
  tn_arr *indices = tn_mut_visit(m, op->indices);
  if (!b || !indices) return NULL;
  return b == op->buffer && indices == op->indices ? (tn_obj *)op : (tn_obj *)tir_load(b, indices);
}

static tn_obj *use_store(tn_mut *m, tn_BufferStore *op) {
  const legalizer *x = m->ctx;
  tn_Buffer *b = tn_mut_visit(m, op->buffer);
  tn_arr *indices = tn_mut_visit(m, op->indices);
  tn_expr *value = tn_mut_visit(m, op->value);
  if (!b || !indices || !value) return NULL;
  if (is_low(x, value->dtype))
    TN_GETP(value, tir_reinterpret(tir_storage_uint(value->dtype), value, NULL));
  if (b == op->buffer && indices == op->indices && value == op->value) return (tn_obj *)op;
  return (tn_obj *)tir_store(b, value, indices);
}

static tn_obj *use_allocate(tn_mut *m, tn_Allocate *op) {
  const legalizer *x = m->ctx;
  tn_Allocate *r = tn_mut_children(m, op);
  if (!r || !is_low(x, op->dtype)) return (tn_obj *)r;
  tn_Allocate copy = *r;
  TN_GETP(copy.buffer_var, tn_mut_visit(m, op->buffer_var));
  copy.dtype = tir_storage_uint(op->dtype);
  return tn_node_copy(&tn_type_Allocate, &copy);
}

static tn_obj *use_call(tn_mut *m, tn_Call *op) {
  const legalizer *x = m->ctx;
  if (!tir_as_call((tn_obj *)op, TIR_OP_reinterpret)) return tn_mut_children(m, op);
  tn_expr *v = tn_mut_visit(m, tn_arr_obj(op->args, 0));
  if (!v) return NULL;
  tn_dtype t = is_low(x, op->dtype) ? tir_storage_uint(op->dtype) : op->dtype;
  if (tn_dtype_eq(v->dtype, t)) return (tn_obj *)v;
  return (tn_obj *)tir_reinterpret(t, v, op->span);
}

static const char *const computing[] = {[TIR_BF16] = "BF16ComputeLegalize",
                                        [TIR_FP8] = "FP8ComputeLegalize",
                                        [TIR_CUSTOM] = "LowerCustomDatatypes"};

static tn_obj *refuse(tn_mut *m, tn_expr *e) {
  const legalizer *x = m->ctx;
  TN_CHECKP(!is_low(x, e->dtype), ValueError, e->span,
            "storage of %s cannot be legalized: %s computes with it; run %s first", TN_DT(e->dtype),
            tn_obj_key(e), computing[x->which]);
  return tn_mut_children(m, e);
}

/* The names that bind take their replacements. */
static tn_obj *use_let(tn_mut *m, tn_LetStmt *op) {
  tn_LetStmt copy = *op;
  TN_GETP(copy.value, tn_mut_visit(m, op->value));
  TN_GETP(copy.var, tn_mut_visit(m, op->var));
  TN_GETP(copy.body, tn_mut_visit(m, op->body));
  bool same = copy.value == op->value && copy.var == op->var && copy.body == op->body;
  return same ? (tn_obj *)op : tn_node_copy(&tn_type_LetStmt, &copy);
}

static tn_map *use_buffers(tn_mut *m, tn_map *old) {
  tn_map *r = tn_scope_own(tn_map_new());
  tn_any k, v;
  for (int64_t i = 0; r && tn_map_at(old, i, &k, &v); ++i) {
    tn_obj *var = tn_mut_visit(m, k.v.obj), *b = tn_mut_visit(m, v.v.obj);
    r = var && b ? tn_map_with(r, tn_any_obj(var), tn_any_obj(b)) : NULL;
  }
  return r;
}

#define REFUSE_CASE(T) TN_CASE(T, refuse)

tn_PrimFunc *tir_storage_legalize(tn_PrimFunc *f, tir_low_float which) {
  static const tn_mut_case cases[] = {REFUSE_CASE(Add),
                                      REFUSE_CASE(Sub),
                                      REFUSE_CASE(Mul),
                                      REFUSE_CASE(Div),
                                      REFUSE_CASE(Min),
                                      REFUSE_CASE(Max),
                                      REFUSE_CASE(Cast),
                                      REFUSE_CASE(FloatImm),
                                      TN_CASE(Var, use_var),
                                      TN_CASE(Buffer, use_buffer),
                                      TN_CASE(BufferLoad, use_load),
                                      TN_CASE(BufferStore, use_store),
                                      TN_CASE(Allocate, use_allocate),
                                      TN_CASE(Call, use_call),
                                      TN_CASE(LetStmt, use_let)};
  legalizer x = {.which = which};
  TN_MUT(m, cases, &x);
  tn_PrimFunc copy = *f;
  copy.params = tn_mut_visit(&m, f->params);
  copy.buffer_map = copy.params ? use_buffers(&m, f->buffer_map) : NULL;
  copy.body = copy.buffer_map ? tn_mut_visit(&m, f->body) : NULL;
  tn_pmap_fini(&x.vars);
  if (!copy.body) return NULL;
  return tn_node_copy(&tn_type_PrimFunc, &copy);
}

tn_PrimFunc *tir_bf16_storage_legalize(tn_PrimFunc *f, const tn_pass_ctx *c) {
  (void)c;
  return tir_storage_legalize(f, TIR_BF16);
}

tn_PrimFunc *tir_fp8_storage_legalize(tn_PrimFunc *f, const tn_pass_ctx *c) {
  (void)c;
  return tir_storage_legalize(f, TIR_FP8);
}

tn_PrimFunc *tir_bf16_legalize(tn_PrimFunc *f, const tn_pass_ctx *c) {
  TN_GETP(f, tir_bf16_compute_legalize(f, c));
  return tir_storage_legalize(f, TIR_BF16);
}
