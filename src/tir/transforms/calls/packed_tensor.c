/* Tensors as parameters of packed functions: the fields of a DLTensor define the variables of the
   buffer that it has to fit; what is defined already, or constant, is checked. Part of
   tir.MakePackedAPI. */
#include <string.h>

#include "tir/transforms/calls/packed_impl.h"

typedef struct {
  packer *p;
  tn_Buffer *b;
  tn_expr *handle;
  const char *name; /* of the buffer */
} binding;

static tn_expr *field(const binding *x, tn_dtype t, tir_struct_field f) {
  return tir_struct_get(t, x->handle, 0, f);
}

/* "Argument arg.A.shape[0] has an unsatisfied constraint: 128 == ..." */
static int must_equal(const binding *x, tn_expr *what, tn_expr *value, const char *part) {
  tn_expr *cond = tir_eq(what, value);
  if (!cond) return -1;
  tn_str *text = tir_is_one(cond) ? tn_str_from("") : script_print((tn_obj *)cond, NULL);
  if (!text) return -1;
  /* the lines above the last one declare variables */
  const char *line = strrchr(tn_cstr(text), '\n');
  return packed_assert(x->p, &x->p->checks, cond,
                       tn_str_fmt("Argument arg.%s.%s has an unsatisfied constraint: %s", x->name,
                                  part, line ? line + 1 : tn_cstr(text)));
}

/* A variable without a value gets it; anything else must have it. */
static int bind(const binding *x, tn_expr *what, tn_expr *value, const char *part) {
  if (!what || !value) return -1;
  if (TN_IS(Var, what) && !tn_pmap_has(&x->p->defined, what)) {
    TN_TRY(tn_pmap_put(&x->p->defined, what, what));
    return packed_let(x->p, (tn_Var *)what, value);
  }
  return must_equal(x, what, value, part);
}

static int check_type(const binding *x) {
  tn_dtype t = x->b->dtype, u8 = tn_dtype_of(kDLUInt, 8, 1), u16 = tn_dtype_of(kDLUInt, 16, 1);
  packer *p = x->p;
  tn_expr *null = tir_call(TN_BOOL1, TIR_OP_isnullptr, 1, x->handle);
  TN_TRY(
      packed_assert(p, &p->nest, tir_not(null, NULL),
                    tn_str_fmt("arg.%s is expected to have non-NULL DLTensor* pointer", x->name)));
  int64_t ndim = x->b->shape->len;
  TN_TRY(
      packed_assert(p, &p->nest, tir_eq(tir_i32((int32_t)ndim), field(x, TN_I32, TIR_ARR_NDIM)),
                    tn_str_fmt("arg.%s.ndim is expected to equal %lld", x->name, (long long)ndim)));
  tn_expr *same = tir_and(tir_eq(field(x, u8, TIR_ARR_TYPE_CODE), tir_int(u8, t.code)),
                          tir_eq(field(x, u8, TIR_ARR_TYPE_BITS), tir_int(u8, t.bits)));
  same = tir_and(same, tir_eq(field(x, u16, TIR_ARR_TYPE_LANES), tir_int(u16, t.lanes)));
  return packed_assert(p, &p->nest, same,
                       tn_str_fmt("arg.%s.dtype is expected to be %s", x->name, TN_DT(t)));
}

static int bind_data(const binding *x) {
  packer *p = x->p;
  TN_TRY(bind(x, (tn_expr *)x->b->data, field(x, TN_HANDLE, TIR_ARR_DATA), "data"));
  tn_stmt *align = (tn_stmt *)TN_NEW(
      AttrStmt, .node = (tn_obj *)x->b->data, .attr_key = tn_str_from("storage_alignment"),
      .value = tir_i32((int32_t)x->b->data_alignment), .body = p->nop);
  return align ? tn_vec_push_obj(&p->nest, align) : -1;
}

/* A pointer to int64 numbers among the fields, as a buffer. */
static tn_Buffer *numbers(const binding *x, const char *part, tir_struct_field f) {
  tn_str *name = tn_str_fmt("arg.%s.%s", x->name, part);
  tn_arr *shape = tn_arr_of(1, tir_i32((int32_t)x->b->shape->len));
  tn_Buffer *b = name ? tir_buffer(shape, TN_I64, tn_cstr(name), "") : NULL;
  if (!b || packed_let(x->p, b->data, field(x, TN_HANDLE, f))) return NULL;
  return b;
}

static tn_expr *number(tn_Buffer *b, int64_t i, tn_dtype t) {
  return tir_cast(t, tir_load(b, tn_arr_of(1, tir_i32((int32_t)i))), NULL);
}

static int bind_shape(const binding *x) {
  tn_Buffer *shape;
  TN_GET(shape, numbers(x, "shape", TIR_ARR_SHAPE));
  for (int64_t i = 0; i < x->b->shape->len; ++i) {
    tn_expr *e = (tn_expr *)tn_arr_obj(x->b->shape, i);
    tn_str *part;
    TN_GET(part, tn_str_fmt("shape[%lld]", (long long)i));
    TN_TRY(bind(x, e, number(shape, i, e->dtype), tn_cstr(part)));
  }
  return 0;
}

/* Strides of axes of one element do not matter. */
static int check_compact(const binding *x, tn_Buffer *strides, tn_expr *absent) {
  tn_expr *ok = NULL, *expected = NULL;
  for (int64_t i = x->b->shape->len; i-- > 0;) {
    tn_expr *n = (tn_expr *)tn_arr_obj(x->b->shape, i);
    if (!expected) TN_GET(expected, tir_one(n->dtype));
    tn_expr *one =
        tir_or(tir_eq(n, tir_one(n->dtype)), tir_eq(expected, number(strides, i, n->dtype)));
    TN_GET(ok, ok ? tir_and(one, ok) : one);
    TN_GET(expected, tir_mul(expected, n));
  }
  if (!ok || tir_is_one(ok)) return ok ? 0 : -1;
  tn_str *text = tn_str_fmt("arg.%s.strides: expected to be compact array", x->name);
  tn_stmt *check =
      (tn_stmt *)TN_NEW(AssertStmt, .condition = ok,
                        .message = text ? tir_str(tn_cstr(text)) : NULL, .body = x->p->nop);
  tn_stmt *given =
      (tn_stmt *)TN_NEW(IfThenElse, .condition = tir_not(absent, NULL), .then_case = check);
  return given ? tn_vec_push_obj(&x->p->checks, given) : -1;
}

static int bind_strides(const binding *x) {
  tn_Buffer *strides;
  tn_expr *absent, *compact = NULL;
  if (x->b->shape->len == 0) return 0;
  TN_GET(strides, numbers(x, "strides", TIR_ARR_STRIDES));
  TN_GET(absent, tir_call(TN_BOOL1, TIR_OP_isnullptr, 1, strides->data));
  if (x->b->strides->len == 0) return check_compact(x, strides, absent);
  for (int64_t i = x->b->strides->len; i-- > 0;) {
    tn_expr *s = (tn_expr *)tn_arr_obj(x->b->strides, i),
            *n = (tn_expr *)tn_arr_obj(x->b->shape, i);
    tn_str *part;
    if (!compact) TN_GET(compact, tir_one(s->dtype));
    TN_GET(part, tn_str_fmt("strides[%lld]", (long long)i));
    tn_expr *given = number(strides, i, s->dtype);
    given = tir_if_then_else(absent, compact, given, NULL);
    if (x->b->buffer_type == TIR_BUFFER_AUTO_BROADCAST)
      given = tir_if_then_else(tir_eq(n, tir_one(n->dtype)), tir_zero(s->dtype), given, NULL);
    TN_TRY(bind(x, s, given, tn_cstr(part)));
    TN_GET(compact, tir_mul(compact, tir_cast(s->dtype, n, NULL)));
  }
  return 0;
}

static int bind_offset(const binding *x) {
  tn_dtype u64 = tn_dtype_of(kDLUInt, 64, 1);
  tn_expr *bytes = field(x, u64, TIR_ARR_BYTE_OFFSET), *at = x->b->elem_offset;
  int64_t size = tn_dtype_bytes(x->b->dtype, 1), known = 0;
  if (!at || tir_as_int((tn_obj *)at, &known))
    return bind(x, tir_int(u64, known * size), bytes, "byte_offset");
  tn_expr *elems = tir_cast(at->dtype, tir_div(bytes, tir_int(u64, size)), NULL);
  TN_TRY(bind(x, at, elems, "elem_offset"));
  if (x->b->offset_factor <= 1) return 0;
  tn_expr *factor = tir_const_int(at->dtype, x->b->offset_factor);
  return must_equal(x, tir_truncmod(at, factor, NULL), tir_zero(at->dtype), "elem_offset");
}

static int bind_device(const binding *x) {
  packer *p = x->p;
  p->has_device = true;
  TN_TRY(bind(x, tir_i32(p->device_type), field(x, TN_I32, TIR_ARR_DEVICE_TYPE), "device_type"));
  return bind(x, (tn_expr *)p->device_id, field(x, TN_I32, TIR_ARR_DEVICE_ID), "device_id");
}

int packed_bind_data(packer *p, tn_Var *handle, tn_Buffer *b) {
  binding x = {p, b, (tn_expr *)handle, tn_cstr(b->name)};
  return bind_data(&x);
}

int packed_bind_tensor(packer *p, tn_Var *handle, tn_Buffer *b) {
  binding x = {p, b, (tn_expr *)handle, tn_cstr(b->name)};
  TN_TRY(check_type(&x));
  TN_TRY(bind_data(&x));
  TN_TRY(bind_shape(&x));
  TN_TRY(bind_strides(&x));
  TN_TRY(bind_offset(&x));
  return bind_device(&x);
}
