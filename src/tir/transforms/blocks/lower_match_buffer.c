/* Accesses of matched regions become accesses of their sources.

     C = T.match_buffer(A[i * 4:i * 4 + 4, 0:8], (4, 8))    ->    ... A[i * 4 + k, l] ...
     ... C[k, l] ...

   Variables that the match defines (strides, element offset, data pointer) get their values. */
#include "tir/transforms/transforms.h"

typedef struct {
  tn_pmap sources;    /* matched buffer -> BufferRegion of a buffer that is not matched itself */
  tn_pmap values;     /* variable -> expression */
  tn_vec vars, reads; /* what the block's body reads first */
} matcher;

static tn_expr *expr_at(const tn_arr *a, int64_t i) { return (tn_expr *)tn_arr_obj(a, i); }

static tn_obj *replace_var(tn_mut *m, tn_obj *v) {
  tn_obj *value = tn_pmap_get(&((matcher *)m->ctx)->values, v);
  return value ? value : v;
}

/* Indices into the matched buffer as indices into its source: leading axes are fixed. */
static tn_arr *source_indices(const tn_BufferRegion *src, const tn_arr *indices) {
  TN_VEC(v);
  int64_t extra = src->region->len - indices->len;
  for (int64_t i = 0; i < src->region->len; ++i) {
    const tn_Range *r = (const tn_Range *)tn_arr_obj(src->region, i);
    tn_expr *e = i < extra ? r->min : tir_index_add(r->min, expr_at(indices, i - extra));
    if (!e || tn_vec_push_obj(&v, e)) return NULL;
  }
  return tn_arr_from(&v);
}

static tn_obj *lower_load(tn_mut *m, tn_BufferLoad *op) {
  const tn_BufferRegion *src = tn_pmap_get(&((matcher *)m->ctx)->sources, op->buffer);
  if (!src) return tn_mut_children(m, op);
  tn_arr *indices = tn_mut_visit(m, op->indices);
  return indices ? (tn_obj *)tir_load(src->buffer, source_indices(src, indices)) : NULL;
}

static tn_obj *lower_store(tn_mut *m, tn_BufferStore *op) {
  const tn_BufferRegion *src = tn_pmap_get(&((matcher *)m->ctx)->sources, op->buffer);
  if (!src) return tn_mut_children(m, op);
  tn_arr *indices = tn_mut_visit(m, op->indices);
  tn_expr *value = tn_mut_visit(m, op->value);
  if (!indices || !value) return NULL;
  return (tn_obj *)tir_store(src->buffer, value, source_indices(src, indices));
}

static tn_obj *lower_region(tn_mut *m, tn_BufferRegion *op) {
  const tn_BufferRegion *src = tn_pmap_get(&((matcher *)m->ctx)->sources, op->buffer);
  tn_BufferRegion *r = tn_mut_children(m, op);
  if (!src || !r) return (tn_obj *)r;
  TN_VEC(v);
  int64_t extra = src->region->len - r->region->len;
  for (int64_t i = 0; i < src->region->len; ++i) {
    const tn_Range *s = (const tn_Range *)tn_arr_obj(src->region, i);
    const tn_Range *t = i < extra ? NULL : (const tn_Range *)tn_arr_obj(r->region, i - extra);
    const tn_Range *x = t ? tir_range(tir_add(s->min, t->min), t->extent) : s;
    if (!x || tn_vec_push_obj(&v, x)) return NULL;
  }
  return (tn_obj *)TN_NEW(BufferRegion, .buffer = src->buffer, .region = tn_arr_from(&v));
}

/* `what` of the matched buffer has the value: a variable is defined by it, anything else must agree
 * where that can be told. */
static int bind(matcher *x, const tn_Buffer *b, tn_expr *what, tn_expr *value) {
  int64_t p, q;
  if (!value) return -1;
  TN_CHECK(ir_is_integral(what->dtype), TenonError, b->span,
           "match_buffer %s: expected an integer as extent, stride or offset, got %s of type %s",
           tn_cstr(b->name), tn_obj_key(what), TN_DT(what->dtype));
  tn_expr *known = TN_IS(Var, what) ? tn_pmap_get(&x->values, what) : what;
  if (!known) {
    tn_expr *v = tir_cast(what->dtype, value, NULL);
    return v ? tn_pmap_put(&x->values, what, v) : -1;
  }
  bool differ = tir_as_int((tn_obj *)known, &p) && tir_as_int((tn_obj *)value, &q) && p != q;
  TN_CHECK(!differ, TenonError, b->span,
           "The buffer match constraint for %s unmet: expected %lld, the region has %lld",
           tn_cstr(b->name), (long long)p, (long long)q);
  return 0;
}

static tn_expr *stride_of(const tn_Buffer *b, int64_t axis) {
  if (b->strides->len) return expr_at(b->strides, axis);
  tn_expr *s = tir_one(b->shape->len ? expr_at(b->shape, 0)->dtype : TN_I32);
  for (int64_t i = b->shape->len; s && --i > axis;) s = tir_mul(s, expr_at(b->shape, i));
  return s;
}

/* Offset of the first element of the region from the data pointer. */
static tn_expr *start_of(const tn_BufferRegion *src) {
  const tn_Buffer *b = src->buffer;
  tn_expr *at = b->elem_offset ? b->elem_offset : tir_i32(0);
  for (int64_t i = 0; at && i < src->region->len; ++i)
    at = tir_add(at, tir_mul(((const tn_Range *)tn_arr_obj(src->region, i))->min, stride_of(b, i)));
  return at;
}

/* The region with variables for the places that are read from memory. */
static tn_BufferRegion *place_read_once(matcher *x, tn_BufferRegion *src) {
  int64_t before = x->vars.len;
  TN_VEC(region);
  for (int64_t i = 0; i < src->region->len; ++i) {
    const tn_Range *r = (const tn_Range *)tn_arr_obj(src->region, i);
    tn_expr *min = r->min;
    TN_TRYP(tir_read_once(&x->vars, &x->reads, "begin", &min));
    if (min != r->min) TN_GETP(r, tir_range(min, r->extent));
    TN_TRYP(tn_vec_push_obj(&region, r));
  }
  if (x->vars.len == before) return src;
  return TN_NEW(BufferRegion, .buffer = src->buffer, .region = tn_arr_from(&region));
}

static int is_it(void *it, tn_obj *o) { return o == it; }

static bool not_in_buffer(const tn_obj *parent, const tn_field *field, const tn_obj *child) {
  (void)parent, (void)field;
  return !TN_IS(Buffer, child);
}

/* A pointer tells its offset: 0 where the buffer has none, and the region must begin there. */
static int check_offset(const tn_Buffer *b, const tn_Block *block, tn_expr *start) {
  TN_ARITH(a);
  TN_GET(start, start ? arith_simplify(&a, start) : NULL);
  if (tir_is_zero(start)) return 0;
  int used = tn_post_order_if(block->body, not_in_buffer, is_it, b->data);
  TN_CHECK(used <= 0, TenonError, b->span,
           "match_buffer %s: its pointer is used, its offset is 0, but its region begins elsewhere "
           "(give it offset_factor=1, or a variable as elem_offset)",
           tn_cstr(b->name));
  return used;
}

static int match(tn_mut *m, const tn_MatchBufferRegion *op, const tn_Block *block) {
  matcher *x = m->ctx;
  const tn_Buffer *b = op->buffer;
  tn_BufferRegion *src;
  TN_GET(src, tn_mut_visit(m, op->source));
  TN_GET(src, place_read_once(x, src));
  int64_t extra = src->region->len - b->shape->len;
  TN_CHECK(extra >= 0, TenonError, b->span, "match_buffer %s: it has more axes than its source",
           tn_cstr(b->name));
  TN_TRY(tn_pmap_put(&x->sources, b, src));
  if (b->data != src->buffer->data) TN_TRY(tn_pmap_put(&x->values, b->data, src->buffer->data));
  if (b->elem_offset && !tir_is_zero(b->elem_offset))
    TN_TRY(bind(x, b, b->elem_offset, start_of(src)));
  else TN_TRY(check_offset(b, block, start_of(src)));
  for (int64_t i = 0; i < b->strides->len; ++i)
    TN_TRY(bind(x, b, expr_at(b->strides, i), stride_of(src->buffer, i + extra)));
  for (int64_t i = 0; i < b->shape->len; ++i) {
    const tn_Range *r = (const tn_Range *)tn_arr_obj(src->region, i + extra);
    TN_TRY(bind(x, b, expr_at(b->shape, i), r->extent));
  }
  return 0;
}

static tn_obj *open_block(tn_mut *m, tn_Block *op) {
  for (int64_t i = 0; i < op->match_buffers->len; ++i)
    TN_TRYP(match(m, (const tn_MatchBufferRegion *)tn_arr_obj(op->match_buffers, i), op));
  tn_Block open = *op;
  TN_GETP(open.match_buffers, tn_arr_of(0));
  tn_Block *b = op->match_buffers->len ? tn_node_copy(&tn_type_Block, &open) : op;
  if (b) b = tn_mut_children(m, b);
  const matcher *x = m->ctx;
  if (!b || !x->vars.len) return (tn_obj *)b;
  open = *b;
  TN_GETP(open.body, tir_bind_read(&x->vars, &x->reads, b->body));
  return tn_node_copy(&tn_type_Block, &open);
}

static tn_obj *lower_block(tn_mut *m, tn_Block *op) {
  matcher *x = m->ctx;
  const tn_vec vars = x->vars, reads = x->reads; /* of the block around */
  x->vars = x->reads = (tn_vec){0};
  tn_obj *r = open_block(m, op);
  tn_vec_fini(&x->vars);
  tn_vec_fini(&x->reads);
  x->vars = vars, x->reads = reads;
  return r;
}

static void matcher_fini(matcher *x) {
  tn_pmap_fini(&x->sources);
  tn_pmap_fini(&x->values);
}

tn_PrimFunc *tir_lower_match_buffer(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(Block, lower_block),
                                      TN_CASE(BufferLoad, lower_load),
                                      TN_CASE(BufferStore, lower_store),
                                      TN_CASE(BufferRegion, lower_region),
                                      TN_CASE(Var, replace_var),
                                      TN_CASE(SizeVar, replace_var),
                                      TIR_REFOLD};
  (void)c;
  if (tir_is_legacy(f)) return f;
  __attribute__((cleanup(matcher_fini))) matcher x = {0};
  TN_MUT(m, cases, &x);
  return tir_with_body(f, tn_mut_visit(&m, f->body));
}
