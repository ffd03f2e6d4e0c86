/* Copies that a pragma marks become calls that a function of the caller makes.

     with T.attr(0, "pragma_memcpy", 1):
       for i in range(16):                 ->   what the function returns for (src, dst, pad_before,
         B[i] = A[i]                            pad_after, pad_value)

   Arguments: the name behind "pragma_", and the function. src and dst are buffers with an axis for
   each loop, strides and offset; where the copy fills up with a value outside a range, pad_before
   and pad_after are the numbers of these elements along each axis, from 0 to all of them, else they
   are empty and pad_value is None. After buffers are flat. */
#include <string.h>

#include "arith/region.h"
#include "tir/transforms/transforms.h"

typedef struct {
  const char *key;
  tn_func *make;
  arith_analyzer known; /* ranges of the loops around */
} injector;

/* A copy taken apart. */
typedef struct {
  tn_vec loops; /* tn_For, outermost first */
  const tn_BufferStore *store;
  const tn_BufferLoad *load;
  tn_expr *cond, *pad; /* of a copy that fills up, or NULL */
} copy;

static tn_For *loop_at(const copy *c, int64_t i) { return (tn_For *)c->loops.items[i].v.obj; }

static int match(copy *c, tn_stmt *s) {
  for (const tn_For *op; (op = TN_AS(For, s)); s = op->body) TN_TRY(tn_vec_push_obj(&c->loops, op));
  TN_GET(c->store, TN_AS(BufferStore, s));
  tn_expr *value = c->store->value;
  const tn_Select *select = TN_AS(Select, value);
  const tn_Call *choice = tir_as_call((tn_obj *)value, TIR_OP_if_then_else);
  if (select) {
    c->cond = select->condition, c->pad = select->false_value, value = select->true_value;
  } else if (choice) {
    c->cond = (tn_expr *)tn_arr_obj(choice->args, 0);
    c->pad = (tn_expr *)tn_arr_obj(choice->args, 2);
    value = (tn_expr *)tn_arr_obj(choice->args, 1);
  }
  const tn_Cast *cast = TN_AS(Cast, value);
  if (cast) value = cast->value;
  TN_GET(c->load, TN_AS(BufferLoad, value));
  bool flat = c->store->indices->len == 1 && c->load->indices->len == 1;
  bool padded = c->pad && !TN_IS(FloatImm, c->pad) && !TN_IS(IntImm, c->pad);
  return flat && !padded ? 0 : -1;
}

static tn_Buffer *side(const tn_Buffer *b, const char *name, tn_arr *shape, const tn_vec *strides,
                       tn_expr *offset) {
  tn_arr *s = tn_arr_from(strides);
  return TN_NEW(Buffer, .data = b->data, .dtype = b->dtype, .shape = shape, .strides = s,
                .axis_separators = tn_arr_of(0), .elem_offset = offset, .name = tn_str_from(name),
                .data_alignment = TIR_ALIGNMENT, .offset_factor = 1,
                .buffer_type = TIR_BUFFER_DEFAULT);
}

/* Factors of the loops in an index, as strides; *offset: where the loops begin. */
static int strides_of(const copy *c, tn_expr *index, const tn_arr *vars, tn_vec *strides,
                      tn_expr **offset) {
  tn_arr *l;
  TN_GET(l, arith_linear(index, vars));
  if (l->len != vars->len + 1) return -1;
  for (int64_t i = 0; i < vars->len; ++i) TN_TRY(tn_vec_push(strides, l->items[i]));
  if (vars->len == 0) TN_TRY(tn_vec_push_obj(strides, tir_one(index->dtype)));
  *offset = (tn_expr *)tn_arr_obj(l, vars->len);
  for (int64_t i = 0; i < vars->len; ++i) {
    tn_expr *min = loop_at(c, i)->min;
    if (!tir_is_zero(min))
      TN_GET(*offset, tir_add(*offset, tir_mul(min, (tn_expr *)tn_arr_obj(l, i))));
  }
  return 0;
}

/* The number itself, but at least 0 and at most n. */
static tn_expr *between(arith_analyzer *a, tn_expr *e, tn_expr *n) {
  return arith_simplify(a, tir_min(tir_max(e, tir_zero(n->dtype)), n));
}

/* Elements that are filled up before and behind the range along each axis; the source begins and
 * ends within. In the iterations of loops around there may be none, or nothing else. */
static int find_padding(arith_analyzer *a, const copy *c, const tn_arr *vars, const tn_vec *strides,
                        tn_expr **offset, tn_vec *shape, tn_vec *before, tn_vec *after) {
  tn_arr *clip;
  TN_GET(clip, arith_clip_bound(a, c->cond, vars));
  if (clip->len != 2 * vars->len) return -1;
  for (int64_t i = 0; i < vars->len; ++i) {
    tn_expr *lo = (tn_expr *)tn_arr_obj(clip, 2 * i), *hi = (tn_expr *)tn_arr_obj(clip, 2 * i + 1);
    tn_expr *min = loop_at(c, i)->min, *n = loop_at(c, i)->extent, *zero = tir_zero(n->dtype),
            *skip = zero, *rest = zero, *left;
    if (lo) TN_GET(skip, between(a, tir_sub(lo, min), n));
    TN_GET(left, tir_sub(n, skip));
    if (hi)
      TN_GET(rest, between(a, tir_sub(tir_sub(tir_add(min, n), hi), tir_one(n->dtype)), left));
    TN_GET(*offset, tir_add(*offset, tir_mul(skip, (tn_expr *)strides->items[i].v.obj)));
    tn_expr *size = arith_simplify(a, tir_sub(left, rest));
    if (!size || tn_vec_push_obj(shape, size)) return -1;
    TN_TRY(tn_vec_push_obj(before, skip));
    TN_TRY(tn_vec_push_obj(after, rest));
  }
  TN_GET(*offset, arith_simplify(a, *offset));
  return 0;
}

typedef struct {
  tn_vec vars, dst_shape, src_shape, src_strides, dst_strides, before, after;
} parts;

static void parts_fini(parts *p) {
  tn_vec *const all[] = {&p->vars,        &p->dst_shape, &p->src_shape, &p->src_strides,
                         &p->dst_strides, &p->before,    &p->after};
  for (int i = 0; i < TN_COUNT(all); ++i) tn_vec_fini(all[i]);
}

static tn_stmt *call_maker(injector *x, const copy *c, parts *p) {
  tn_expr *from, *to;
  for (int64_t i = 0; i < c->loops.len; ++i) {
    TN_TRYP(tn_vec_push_obj(&p->vars, loop_at(c, i)->loop_var));
    TN_TRYP(tn_vec_push_obj(&p->dst_shape, loop_at(c, i)->extent));
  }
  if (c->loops.len == 0) TN_TRYP(tn_vec_push_obj(&p->dst_shape, tir_i32(1)));
  tn_arr *vars = tn_arr_from(&p->vars);
  if (strides_of(c, (tn_expr *)tn_arr_obj(c->load->indices, 0), vars, &p->src_strides, &from) ||
      strides_of(c, (tn_expr *)tn_arr_obj(c->store->indices, 0), vars, &p->dst_strides, &to))
    return NULL;
  if (c->cond && find_padding(&x->known, c, vars, &p->src_strides, &from, &p->src_shape, &p->before,
                              &p->after))
    return NULL;
  tn_arr *dst_shape = tn_arr_from(&p->dst_shape);
  tn_arr *src_shape = c->cond ? tn_arr_from(&p->src_shape) : dst_shape;
  tn_obj *given[] = {(tn_obj *)side(c->load->buffer, "src", src_shape, &p->src_strides, from),
                     (tn_obj *)side(c->store->buffer, "dst", dst_shape, &p->dst_strides, to),
                     (tn_obj *)tn_arr_from(&p->before), (tn_obj *)tn_arr_from(&p->after),
                     (tn_obj *)c->pad};
  tn_any args[5], ret;
  for (int i = 0; i < 5; ++i) {
    if (!given[i] && i < 4) return NULL;
    args[i] = given[i] ? tn_any_obj(given[i]) : tn_any_none();
  }
  if (tn_func_call(x->make, args, 5, &ret)) return NULL;
  if (tn_any_is_obj(&ret) && TN_IS(Stmt, ret.v.obj)) return tn_scope_own(ret.v.obj);
  bool expr = tn_any_is_obj(&ret) && TN_IS(PrimExpr, ret.v.obj);
  tn_expr *e = expr ? tn_scope_own(ret.v.obj) : NULL;
  if (!expr) tn_any_release(&ret);
  TN_CHECKP(expr, TypeError, NULL, "InjectCopyIntrin: expected the function to return a statement");
  return (tn_stmt *)TN_NEW(Evaluate, .value = e);
}

static tn_obj *inject(tn_mut *m, tn_AttrStmt *op) {
  injector *x = m->ctx;
  const char *key = tn_cstr(op->attr_key);
  if (strncmp(key, "pragma_", 7) != 0 || strcmp(key + 7, x->key) != 0)
    return tn_mut_children(m, op);
  copy c = {0};
  parts p = {0};
  tn_stmt *r = match(&c, op->body) ? NULL : call_maker(x, &c, &p);
  tn_vec_fini(&c.loops);
  parts_fini(&p);
  if (!r && !tn_error_pending())
    return TN_RAISEP(ValueError, op->span, "Cannot match copy pattern of the pragma %s", x->key);
  return (tn_obj *)r;
}

static tn_obj *inject_in_loop(tn_mut *m, tn_For *op) {
  injector *x = m->ctx;
  tn_Range *r = tir_range(op->min, op->extent);
  if (!r || arith_bind_range(&x->known, op->loop_var, r, true)) return NULL;
  tn_obj *s = tn_mut_children(m, op);
  arith_unbind(&x->known, op->loop_var);
  return s;
}

tn_PrimFunc *tir_inject_copy_intrin(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(AttrStmt, inject), TN_CASE(For, inject_in_loop)};
  injector x = {0};
  TN_CHECKP(c->nargs == 2 && tn_any_is_obj(&c->args[1]) && TN_IS(Function, c->args[1].v.obj),
            TypeError, NULL, "tir.InjectCopyIntrin: expected the key of a pragma and a function");
  TN_TRYP(tn_any_to_cstr(&c->args[0], &x.key));
  x.make = (tn_func *)c->args[1].v.obj;
  TN_MUT(m, cases, &x);
  tn_stmt *body = tn_mut_visit(&m, f->body);
  arith_fini(&x.known);
  return tir_with_body(f, body);
}
