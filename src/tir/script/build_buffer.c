/* Declarations of buffers in scripts: T.Buffer, T.match_buffer, T.alloc_buffer, T.decl_buffer. */
#include <string.h>

#include "tir/script/build_impl.h"

/* Positions of the arguments behind shape. */
enum {
  DTYPE = 1,
  DATA,
  STRIDES,
  ELEM_OFFSET,
  SCOPE,
  ALIGN,
  OFFSET_FACTOR,
  BUFFER_TYPE,
  AXIS_SEPARATORS
};

static const char *const names[] = {"shape",       "dtype",          "data",  "strides",
                                    "elem_offset", "scope",          "align", "offset_factor",
                                    "buffer_type", "axis_separators"};

typedef struct {
  builder *b;
  const ast *call;
  int first;
  const tn_BufferRegion *of; /* gives shape and type where no shape is given; NULL: none */
} reader;

static const ast *given(const reader *r, int which) {
  const ast *a = arg_of(r->call, r->first + which, names[which]);
  return a && a->kind == AST_CONST && strcmp(a->text, "None") == 0 ? NULL : a;
}

static int read_int(const reader *r, int which, int64_t *out) {
  return given(r, which) ? eval_int(r->b, given(r, which), out) : 0;
}

/* The pointer may be written as text in old scripts, as A.data, or be a variable. */
static int read_data(const reader *r, tn_Buffer *buf, const char *name, const char *scope) {
  const ast *a = given(r, DATA);
  tn_obj *data = a ? eval_obj(r->b, a) : NULL;
  if (a && !data) return -1;
  if (a && !TN_IS(Var, data))
    return ast_error(r->b->src, a, "data: expected a pointer variable, got %s", tn_obj_key(data));
  bool is_bool = ir_is_bool(buf->dtype);
  buf->data =
      data ? (tn_Var *)data
           : tir_pointer_var(name, is_bool ? tn_dtype_of(kDLInt, 8, buf->dtype.lanes) : buf->dtype,
                             scope);
  return buf->data ? 0 : -1;
}

/* Strides that are not integers would print as something else. A variable prints as itself; the
   passes that use it report what is wrong with it. */
static int check_strides(const reader *r, const ast *at, const tn_arr *strides) {
  for (int64_t i = 0; strides && i < strides->len; ++i) {
    const tn_expr *e = (const tn_expr *)tn_arr_obj(strides, i);
    tn_dtype t = e->dtype;
    if (!ir_is_integral(t) && !TN_IS(Var, e))
      return ast_error(r->b->src, at, "strides: expected integers, got %s", TN_DT(t));
  }
  return strides ? 0 : -1;
}

/* strides=("s0", 1): a string is the name of a new variable */
static int read_strides(const reader *r, tn_Buffer *buf) {
  TN_VEC(out);
  const ast *a = given(r, STRIDES);
  if (a && a->kind != AST_TUPLE && a->kind != AST_LIST)
    return check_strides(r, a, buf->strides = eval_exprs(r->b, a));
  for (int i = 0; a && i < a->items.n; ++i) {
    const ast *n = a->items.items[i];
    void *e = n->kind == AST_STR ? (void *)tir_var(n->text, TN_I32) : (void *)eval_expr(r->b, n);
    if (!e || tn_vec_push_obj(&out, e)) return -1;
    if (n->kind == AST_STR && bind_name(r->b, n->text, PLAIN_OBJ(e))) return -1;
  }
  return check_strides(r, a, buf->strides = tn_arr_from(&out));
}

static int read_offset(const reader *r, tn_Buffer *buf, const char *name) {
  const ast *a = given(r, ELEM_OFFSET);
  const tn_expr *first = buf->shape->len ? (const tn_expr *)tn_arr_obj(buf->shape, 0) : NULL;
  tn_dtype t = first ? first->dtype : TN_I32;
  if (a) return (buf->elem_offset = eval_expr(r->b, a)) ? 0 : -1;
  if (given(r, OFFSET_FACTOR))
    buf->elem_offset = (tn_expr *)tir_var(tn_cstr(tn_str_fmt("%s_elem_offset", name)), t);
  else buf->elem_offset = tir_int(t, 0);
  return buf->elem_offset ? 0 : -1;
}

static int read_type(const reader *r, tn_Buffer *buf) {
  const ast *a = given(r, BUFFER_TYPE);
  const char *text = a ? eval_text(r->b, a) : "default";
  if (!text) return -1;
  bool broadcast = strcmp(text, "auto") == 0 || strcmp(text, "auto_broadcast") == 0;
  if (!broadcast && *text && strcmp(text, "default") != 0)
    return ast_error(r->b->src, a, "buffer_type: expected \"default\" or \"auto\"");
  buf->buffer_type = broadcast ? TIR_BUFFER_AUTO_BROADCAST : TIR_BUFFER_DEFAULT;
  return 0;
}

static tn_arr *extents_of(const tn_BufferRegion *region) {
  TN_VEC(out);
  for (int64_t i = 0; i < region->region->len; ++i)
    TN_TRYP(tn_vec_push_obj(&out, ((tn_Range *)tn_arr_obj(region->region, i))->extent));
  return tn_arr_from(&out);
}

static int read_shape(const reader *r, tn_Buffer *buf, const char *name) {
  const ast *shape = given(r, 0), *type = given(r, DTYPE);
  buf->dtype = TN_F32;
  if (!shape && r->of) {
    buf->dtype = r->of->buffer->dtype;
    if (!(buf->shape = extents_of(r->of))) return -1;
    return type ? eval_dtype(r->b, type, &buf->dtype) : 0;
  }
  if (!shape) return ast_error(r->b->src, r->call, "the shape of the buffer is missing");
  if (!(buf->shape = eval_exprs(r->b, shape))) return -1;
  if (tir_check_extents(buf->shape, name, NULL)) return place_error(r->b, shape);
  return type ? eval_dtype(r->b, type, &buf->dtype) : 0;
}

tn_Buffer *eval_buffer(builder *b, const ast *call, int first, const char *name) {
  return eval_buffer_of(b, call, first, name, NULL);
}

tn_Buffer *eval_buffer_of(builder *b, const ast *call, int first, const char *name,
                          const tn_BufferRegion *of) {
  reader r = {b, call, first, of};
  tn_Buffer buf = {.data_alignment = TIR_ALIGNMENT,
                   .offset_factor = 1,
                   .name = tn_str_from(name),
                   .axis_separators = tn_arr_of(0)};
  if (!buf.name || read_shape(&r, &buf, name)) return NULL;
  const char *scope = eval_memory_scope(b, given(&r, SCOPE));
  if (!scope || read_data(&r, &buf, name, scope) || read_strides(&r, &buf) ||
      read_offset(&r, &buf, name))
    return NULL;
  if (read_int(&r, ALIGN, &buf.data_alignment) || read_int(&r, OFFSET_FACTOR, &buf.offset_factor) ||
      read_type(&r, &buf))
    return NULL;
  if (buf.data_alignment <= 0) buf.data_alignment = TIR_ALIGNMENT;
  if (buf.offset_factor <= 0) buf.offset_factor = 1;
  if (given(&r, AXIS_SEPARATORS) &&
      !(buf.axis_separators = eval_exprs(b, given(&r, AXIS_SEPARATORS))))
    return NULL;
  tn_Buffer *made = ir_node_check(tn_node_copy(&tn_type_Buffer, &buf));
  return made ? made : ((void)place_error(b, call), NULL);
}
