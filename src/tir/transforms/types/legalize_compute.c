/* Computations with bfloat16 and 8-bit floats become computations with wider ones.

     D[i] = T.exp(A[i] + B[i])             ->   D[i] = bf16(T.exp(f32(A[i]) + f32(B[i])))

   Here f32 and bf16 stand for operations on bits. Values are rounded where they are stored to what
   the caller sees; arrays of the function itself become arrays of the wider type, unless their
   pointers are given away. Argument of FP8ComputeLegalize: the wider type. */
#include <string.h>

#include "tir/transforms/types/legalize_impl.h"

typedef struct {
  tir_low_float which;
  tn_dtype wide;
  tn_pmap vars;   /* tn_Var -> its wider replacement */
  tn_pmap opaque; /* pointers that are given away */
} legalizer;

static bool is_low(const legalizer *x, tn_dtype t) { return tir_is_low_float(x->which, t); }
static tn_dtype widened(const legalizer *x, tn_dtype t) { return ir_with_lanes(x->wide, t.lanes); }

/* A visited value in the wider type, where it is of a low one. */
static tn_expr *wide(tn_mut *m, const void *node) {
  const legalizer *x = m->ctx;
  tn_expr *e = tn_mut_visit(m, node);
  return e && is_low(x, e->dtype) ? tir_low_float_to(e, x->wide) : e;
}

/* A value as what a place of type `t` holds. */
static tn_expr *stored(const legalizer *x, tn_expr *e, tn_dtype t) {
  if (!e) return NULL;
  t = ir_with_lanes(t, e->dtype.lanes);
  if (tn_dtype_eq(e->dtype, t)) return e;
  if (is_low(x, t)) return tir_low_float_from(e, t);
  return is_low(x, e->dtype) ? tir_low_float_to(e, t) : tir_cast(t, e, NULL);
}

/* ---- expressions ---- */

static tn_obj *wide_binary(tn_mut *m, tn_expr *e) {
  const tn_BinaryOp *op = TN_AS_BINARY(e);
  tn_expr *a = wide(m, op->a), *b = wide(m, op->b);
  if (!a || !b) return NULL;
  if (a == op->a && b == op->b) return (tn_obj *)e;
  return (tn_obj *)tir_binary(e->hdr.type_index, a, b, op->span);
}

static tn_obj *wide_cast(tn_mut *m, tn_Cast *op) {
  const legalizer *x = m->ctx;
  tn_expr *v = wide(m, op->value);
  if (!v) return NULL;
  if (is_low(x, op->dtype)) return (tn_obj *)tir_cast(widened(x, op->dtype), v, op->span);
  return v == op->value ? (tn_obj *)op : (tn_obj *)tir_cast(op->dtype, v, op->span);
}

static tn_obj *wide_select(tn_mut *m, tn_Select *op) {
  tn_expr *c = tn_mut_visit(m, op->condition), *t = wide(m, op->true_value),
          *f = wide(m, op->false_value);
  if (!c || !t || !f) return NULL;
  if (c == op->condition && t == op->true_value && f == op->false_value) return (tn_obj *)op;
  return (tn_obj *)tir_select(c, t, f, op->span);
}

static tn_obj *wide_broadcast(tn_mut *m, tn_Broadcast *op) {
  tn_expr *v = wide(m, op->value);
  return v == op->value ? (tn_obj *)op : (tn_obj *)tir_broadcast(v, (int)op->lanes, op->span);
}

static tn_obj *wide_const(tn_mut *m, tn_FloatImm *op) {
  const legalizer *x = m->ctx;
  return is_low(x, op->dtype) ? (tn_obj *)tir_float(x->wide, op->value) : (tn_obj *)op;
}

static tn_obj *wide_shuffle(tn_mut *m, tn_Shuffle *op) {
  tn_Shuffle copy = *op;
  TN_VEC(v);
  bool same = true;
  for (int64_t i = 0; i < op->vectors->len; ++i) {
    tn_expr *e = wide(m, tn_arr_obj(op->vectors, i));
    if (!e || tn_vec_push_obj(&v, e)) return NULL;
    same &= (tn_obj *)e == tn_arr_obj(op->vectors, i);
    copy.dtype = ir_with_lanes(e->dtype, op->dtype.lanes);
  }
  if (same) return (tn_obj *)op;
  TN_GETP(copy.vectors, tn_arr_from(&v));
  return tn_node_copy(&tn_type_Shuffle, &copy);
}

/* Functions are taken to exist for the wider type. Bits are those of the original value. */
static tn_obj *wide_call(tn_mut *m, tn_Call *op) {
  const legalizer *x = m->ctx;
  TN_VEC(v);
  tn_Call copy = *op;
  bool bits =
      tir_as_call((tn_obj *)op, TIR_OP_reinterpret) || tir_as_call((tn_obj *)op, TIR_OP_address_of);
  bool same = true;
  for (int64_t i = 0; i < op->args->len; ++i) {
    tn_obj *old = tn_arr_obj(op->args, i), *now = old;
    if (old && TN_IS(PrimExpr, old))
      now = bits ? (tn_obj *)stored(x, tn_mut_visit(m, old), ((tn_expr *)old)->dtype)
                 : (tn_obj *)wide(m, old);
    if (old && !now) return NULL;
    TN_TRYP(tn_vec_push_obj(&v, now));
    same &= now == old;
  }
  if (!bits && is_low(x, op->dtype)) copy.dtype = widened(x, op->dtype), same = false;
  if (same) return (tn_obj *)op;
  TN_GETP(copy.args, tn_arr_from(&v));
  return tn_node_copy(&tn_type_Call, &copy);
}

/* ---- variables and arrays ---- */

static tn_obj *wide_var(tn_mut *m, tn_obj *v) {
  tn_obj *r = tn_pmap_get(&((legalizer *)m->ctx)->vars, v);
  return r ? r : v;
}

/* A variable of the wider type for a binding of a low one. */
static tn_Var *bind(legalizer *x, tn_Var *v) {
  tn_Var *r;
  if (!is_low(x, v->dtype)) return v;
  TN_GETP(r, tir_var(tn_cstr(v->name), widened(x, v->dtype)));
  TN_TRYP(tn_pmap_put(&x->vars, v, r));
  return r;
}

static tn_obj *wide_let(tn_mut *m, tn_LetStmt *op) {
  tn_LetStmt copy = *op;
  TN_GETP(copy.value, wide(m, op->value));
  TN_GETP(copy.var, bind(m->ctx, op->var));
  TN_GETP(copy.body, tn_mut_visit(m, op->body));
  bool same = copy.value == op->value && copy.var == op->var && copy.body == op->body;
  return same ? (tn_obj *)op : tn_node_copy(&tn_type_LetStmt, &copy);
}
static tn_obj *wide_let_expr(tn_mut *m, tn_Let *op) {
  tn_expr *value = wide(m, op->value);
  tn_Var *v = value ? bind(m->ctx, op->var) : NULL;
  tn_expr *body = v ? wide(m, op->body) : NULL;
  if (!body) return NULL;
  if (value == op->value && v == op->var && body == op->body) return (tn_obj *)op;
  return (tn_obj *)TN_MAKE(Let, .var = v, .value = value, .body = body);
}

static tn_obj *wide_allocate(tn_mut *m, tn_Allocate *op) {
  legalizer *x = m->ctx;
  bool mine = is_low(x, op->dtype) && !tn_pmap_has(&x->opaque, op->buffer_var);
  if (mine) {
    const tn_PointerType *t = TN_AS(PointerType, op->buffer_var->type_annotation);
    tn_Var *v = tir_pointer_var(tn_cstr(op->buffer_var->name), widened(x, op->dtype),
                                t ? tn_cstr(t->storage_scope) : "");
    if (!v || tn_pmap_put(&x->vars, op->buffer_var, v)) return NULL;
  }
  tn_Allocate *r = tn_mut_children(m, op);
  if (!r || !mine) return (tn_obj *)r;
  tn_Allocate copy = *r;
  TN_GETP(copy.buffer_var, tn_pmap_get(&x->vars, op->buffer_var));
  copy.dtype = widened(x, op->dtype);
  return tn_node_copy(&tn_type_Allocate, &copy);
}

static tn_obj *wide_buffer(tn_mut *m, tn_Buffer *b) {
  const legalizer *x = m->ctx;
  tn_Var *v = tn_pmap_get(&x->vars, b->data);
  if (!v) return (tn_obj *)b;
  tn_Buffer copy = *b;
  copy.data = v;
  if (is_low(x, b->dtype)) copy.dtype = widened(x, b->dtype);
  return tn_node_copy(&tn_type_Buffer, &copy);
}

static tn_obj *wide_load(tn_mut *m, tn_BufferLoad *op) {
  tn_Buffer *b = tn_mut_visit(m, op->buffer);
  tn_arr *indices = tn_mut_visit(m, op->indices);
  if (!b || !indices) return NULL;
  return b == op->buffer && indices == op->indices ? (tn_obj *)op : (tn_obj *)tir_load(b, indices);
}

static tn_obj *wide_store(tn_mut *m, tn_BufferStore *op) {
  tn_Buffer *b = tn_mut_visit(m, op->buffer);
  tn_arr *indices = tn_mut_visit(m, op->indices);
  tn_expr *value = tn_mut_visit(m, op->value);
  if (!b || !indices || !value) return NULL;
  value = stored(m->ctx, value, b->dtype);
  if (b == op->buffer && indices == op->indices && value == op->value) return (tn_obj *)op;
  return (tn_obj *)tir_store(b, value, indices);
}

/* ---- the program ---- */

static int find_opaque(void *ctx, tn_obj *node) {
  legalizer *x = ctx;
  const tn_Call *call = TN_AS(Call, node);
  const tn_LetStmt *let = TN_AS(LetStmt, node);
  if (let && TN_IS(Var, let->value)) return tn_pmap_put_int(&x->opaque, let->value, 1);
  for (int64_t i = 0; call && i < call->args->len; ++i) {
    const tn_obj *a = tn_arr_obj(call->args, i);
    const tn_BufferLoad *l = TN_AS(BufferLoad, a);
    if (a && TN_IS(Var, a)) TN_TRY(tn_pmap_put_int(&x->opaque, a, 1));
    if (l && tir_as_call(node, TIR_OP_address_of))
      TN_TRY(tn_pmap_put_int(&x->opaque, l->buffer->data, 1));
  }
  return 0;
}

static int is_concerned(void *ctx, tn_obj *node) {
  const legalizer *x = ctx;
  if (TN_IS(PrimExpr, node)) return is_low(x, ((tn_expr *)node)->dtype);
  const tn_Buffer *b = TN_AS(Buffer, node);
  return b && is_low(x, b->dtype);
}

#define BINARY_CASE(T) TN_CASE(T, wide_binary)

static tn_PrimFunc *legalize(tn_PrimFunc *f, tir_low_float which, tn_dtype to) {
  static const tn_mut_case cases[] = {BINARY_CASE(Add),
                                      BINARY_CASE(Sub),
                                      BINARY_CASE(Mul),
                                      BINARY_CASE(Div),
                                      BINARY_CASE(Mod),
                                      BINARY_CASE(FloorDiv),
                                      BINARY_CASE(FloorMod),
                                      BINARY_CASE(Min),
                                      BINARY_CASE(Max),
                                      BINARY_CASE(EQ),
                                      BINARY_CASE(NE),
                                      BINARY_CASE(LT),
                                      BINARY_CASE(LE),
                                      BINARY_CASE(GT),
                                      BINARY_CASE(GE),
                                      TN_CASE(Cast, wide_cast),
                                      TN_CASE(Select, wide_select),
                                      TN_CASE(Broadcast, wide_broadcast),
                                      TN_CASE(FloatImm, wide_const),
                                      TN_CASE(Shuffle, wide_shuffle),
                                      TN_CASE(Call, wide_call),
                                      TN_CASE(Var, wide_var),
                                      TN_CASE(LetStmt, wide_let),
                                      TN_CASE(Let, wide_let_expr),
                                      TN_CASE(Allocate, wide_allocate),
                                      TN_CASE(Buffer, wide_buffer),
                                      TN_CASE(BufferLoad, wide_load),
                                      TN_CASE(BufferStore, wide_store)};
  legalizer x = {.which = which, .wide = to};
  int found = tn_post_order(f->body, is_concerned, &x);
  if (found <= 0) return found ? NULL : f;
  TN_MUT(m, cases, &x);
  tn_stmt *body = tn_post_order(f->body, find_opaque, &x) ? NULL : tn_mut_visit(&m, f->body);
  tn_pmap_fini(&x.vars);
  tn_pmap_fini(&x.opaque);
  return tir_with_body(f, body);
}

tn_PrimFunc *tir_bf16_compute_legalize(tn_PrimFunc *f, const tn_pass_ctx *c) {
  (void)c;
  return legalize(f, TIR_BF16, TN_F32);
}

tn_PrimFunc *tir_fp8_compute_legalize(tn_PrimFunc *f, const tn_pass_ctx *c) {
  tn_dtype to = tn_dtype_of(kDLFloat, 16, 1);
  const char *name;
  if (c->nargs > 0 && c->args[0].type_index != TN_NONE) {
    TN_TRYP(tn_any_to_cstr(&c->args[0], &name));
    TN_TRYP(tn_dtype_parse(name, strlen(name), &to));
  }
  TN_CHECKP(to.code == kDLFloat && (to.bits == 16 || to.bits == 32), ValueError, NULL,
            "tir.FP8ComputeLegalize: expected float16 or float32, got %s", TN_DT(to));
  return legalize(f, TIR_FP8, to);
}
