/* Nodes of tensor programs: types, checks, small builders. */
#include "tir/tir.h"

#include <ctype.h>

#include "base/buf.h"
#include "ir/expr.h"
#include "ir/functor.h"
#include "ir/module.h"
#include "object/functions.h"
#include "tir/tir_impl.h"

/* ---- what check.c verifies after construction ---- */

#define HOOKS(T, name) static const tn_type_hooks name##_hooks = {.init = tir_check_##name};
TIR_CHECKED_NODES(HOOKS)

TN_NODES_DEFINE(TN_TIR_NODES, tir_types)

/* ---- buffers ---- */

const char *tir_buffer_scope(const tn_Buffer *b) {
  const tn_PointerType *t = TN_AS(PointerType, b->data->type_annotation);
  return t && t->storage_scope->len ? t->storage_scope->data : "global";
}

tn_Buffer *tir_buffer(tn_arr *shape, tn_dtype dtype, const char *name, const char *scope) {
  /* bool is stored as a byte, so the pointer points to int8 */
  tn_dtype storage = ir_is_bool(dtype) ? tn_dtype_of(kDLInt, 8, dtype.lanes) : dtype;
  tn_Var *data = tir_pointer_var(name, storage, scope && *scope ? scope : "global");
  const tn_expr *first = shape && shape->len ? (const tn_expr *)tn_arr_obj(shape, 0) : NULL;
  tn_arr *none = tn_arr_of(0);
  return TN_NEW(Buffer, .data = data, .dtype = dtype, .shape = shape, .axis_separators = none,
                .strides = none, .elem_offset = tir_int(first ? first->dtype : TN_I32, 0),
                .name = tn_str_from(name), .data_alignment = TIR_ALIGNMENT, .offset_factor = 1,
                .buffer_type = TIR_BUFFER_DEFAULT);
}

tn_expr *tir_load(tn_Buffer *b, tn_arr *indices) {
  return (tn_expr *)TN_MAKE(BufferLoad, .buffer = b, .indices = indices);
}
tn_stmt *tir_store(tn_Buffer *b, tn_expr *value, tn_arr *indices) {
  return (tn_stmt *)TN_MAKE(BufferStore, .buffer = b, .value = value, .indices = indices);
}

tn_expr *tir_buffer_access_ptr(tn_Buffer *b, int mask, int lanes, tn_expr *offset,
                               tn_expr *extent) {
  tn_expr *size = b->strides->len ? tir_mul((tn_expr *)tn_arr_obj(b->strides, 0),
                                            (tn_expr *)tn_arr_obj(b->shape, 0))
                                  : tir_i32(1);
  for (int64_t i = 0; b->strides->len == 0 && i < b->shape->len; ++i)
    size = tir_mul(size, (tn_expr *)tn_arr_obj(b->shape, i));
  tn_expr *at = tir_add(b->elem_offset ? b->elem_offset : tir_i32(0), offset),
          *left = extent ? extent : tir_sub(size, offset);
  if (lanes > 1 && at && left) {
    left = tir_floordiv(left, tir_const_int(left->dtype, lanes));
    at = tir_floordiv(at, tir_const_int(at->dtype, lanes));
  }
  tn_expr *type = tir_call(tn_dtype_of(b->dtype.code, b->dtype.bits, b->dtype.lanes * lanes),
                           TIR_OP_type_annotation, 0);
  return tir_call(TN_HANDLE, TIR_OP_tvm_access_ptr, 5, type, b->data, at, left, tir_i32(mask));
}

/* ---- statements ---- */

tn_stmt *tir_nop(void) { return (tn_stmt *)TN_NEW(Evaluate, .value = tir_i32(0)); }

bool tir_is_nop(const tn_stmt *s) {
  const tn_Evaluate *e = TN_AS(Evaluate, s);
  int64_t value;
  return e && tir_as_int((const tn_obj *)e->value, &value);
}

/* Evaluate(0) stands for nothing; another constant was written on purpose. */
static bool stands_for_nothing(const tn_obj *s) {
  const tn_Evaluate *e = TN_AS(Evaluate, s);
  int64_t value;
  return e && tir_as_int((const tn_obj *)e->value, &value) && value == 0;
}

static int flatten(tn_vec *out, const tn_obj *s) {
  const tn_SeqStmt *seq = TN_AS(SeqStmt, s);
  if (!s) return -1;
  if (!seq) return stands_for_nothing(s) ? 0 : tn_vec_push_obj(out, s);
  for (int64_t i = 0; i < seq->seq->len; ++i) TN_TRY(flatten(out, tn_arr_obj(seq->seq, i)));
  return 0;
}

tn_stmt *tir_seq(const tn_vec *stmts) {
  TN_VEC(flat);
  for (int64_t i = 0; i < stmts->len; ++i) {
    if (flatten(&flat, stmts->items[i].v.obj)) return NULL;
  }
  if (flat.len == 0 && stmts->len == 1 && !TN_AS(SeqStmt, stmts->items[0].v.obj))
    return (tn_stmt *)stmts->items[0].v.obj; /* a nothing that was given stays as it is */
  if (flat.len == 0) return tir_nop();
  if (flat.len == 1) return (tn_stmt *)flat.items[0].v.obj;
  return (tn_stmt *)TN_NEW(SeqStmt, .seq = tn_arr_from(&flat));
}

tn_Span *tir_stmt_span(const void *stmt) {
  const tn_obj *o = stmt;
  const tn_field *f = o ? tn_type_field(o->type, "span") : NULL;
  tn_any span = f ? tn_field_get(o, f) : tn_any_none();
  return tn_any_is_obj(&span) ? TN_AS(Span, span.v.obj) : NULL;
}

int tir_error_in(const void *stmt) { return tn_error_at((const tn_obj *)tir_stmt_span(stmt)); }

/* A rewriting leaves no statements that stand for nothing. */
static tn_obj *normal_sequence(tn_obj *o) {
  const tn_arr *a = ((const tn_SeqStmt *)o)->seq;
  const tn_vec items = {(tn_any *)(uintptr_t)a->items, a->len, 0};
  bool any = false;
  for (int64_t i = 0; i < a->len; ++i) any |= stands_for_nothing(tn_arr_obj(a, i));
  return any || a->len < 2 ? (tn_obj *)tir_seq(&items) : o;
}

tn_stmt *tir_seq2(tn_stmt *a, tn_stmt *b) {
  TN_VEC(both);
  if (!a || !b || tn_vec_push_obj(&both, a) || tn_vec_push_obj(&both, b)) return NULL;
  return tir_seq(&both);
}

/* ---- functions ---- */

const char *tir_constant_section(const tn_AllocateConst *s) {
  const tn_obj *pool = s->annotations ? tn_map_find(s->annotations, "pool") : NULL;
  TN_BUF(name);
  if (!pool || pool->type_index != TN_TI_String) return NULL;
  tn_buf_puts(&name, ".rodata.tvm.");
  for (const char *p = tn_cstr((const tn_str *)pool); *p; ++p)
    tn_buf_putc(&name, isalnum((unsigned char)*p) ? *p : '_');
  return tn_cstr(tn_scope_own(tn_buf_str(&name)));
}

tn_obj *tir_func_attr(const tn_PrimFunc *f, const char *key) {
  return f->attrs ? tn_map_find(f->attrs->dict, key) : NULL;
}

tn_PrimFunc *tir_with_attr(tn_PrimFunc *f, const char *key, tn_obj *value) {
  return (tn_PrimFunc *)ir_func_with_attr((const tn_BaseFunc *)f, key, tn_any_obj(value));
}

tn_PrimFunc *tir_with_body(tn_PrimFunc *f, tn_stmt *body) {
  if (!body || f->body == body) return body ? f : NULL;
  tn_PrimFunc copy = *f;
  copy.body = body;
  return tn_node_copy(&tn_type_PrimFunc, &copy);
}

/* ---- functions for Python ---- */

/* tir.BufferAccessPtr(buffer, mask, lanes, offset, extent or None) -> PrimExpr */
static int f_access_ptr(TN_ARGS) {
  int64_t mask, lanes;
  TN_NARGS("tir.BufferAccessPtr", 5);
  TN_ARG_OBJ(Buffer, b, 0);
  TN_TRY(tn_any_to_int(&args[1], &mask));
  TN_TRY(tn_any_to_int(&args[2], &lanes));
  TN_ARG_OBJ(PrimExpr, offset, 3);
  TN_ARG_OPT(PrimExpr, extent, 4);
  TN_CHECK(lanes >= 1 && lanes < 65536, ValueError, NULL, "tir.BufferAccessPtr: %lld lanes",
           (long long)lanes);
  return tn_ret_obj(ret, tir_buffer_access_ptr(b, (int)mask, (int)lanes, offset, extent));
}

/* tir.BufferStorageScope(buffer) -> str */
static int f_scope(TN_ARGS) {
  TN_NARGS("tir.BufferStorageScope", 1);
  TN_ARG_OBJ(Buffer, b, 0);
  return tn_ret_obj(ret, tn_str_from(tir_buffer_scope(b)));
}

static const tn_func_row functions[] = {
    {"tir.BufferAccessPtr", f_access_ptr},
    {"tir.BufferStorageScope", f_scope},
};

int tir_nodes_init(void) {
  TN_TRY(tn_type_register_table(tir_types, TN_COUNT(tir_types)));
  TN_TRY(tn_func_register_rows(functions, TN_COUNT(functions)));
  tn_functor_normal(&tn_type_SeqStmt, normal_sequence);
  tn_functor_placed(&tn_type_Stmt);
  return 0;
}
