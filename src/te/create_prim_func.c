/* Tensor expressions as a tensor program.

     X = te.placeholder((n, n))                     for i, j, k in T.grid(n, n, n):
     Y = te.compute((n, n), lambda i, j:      ->      with T.block("compute"):
           te.sum(X[i, k], axis=k))                     v_i, v_j, v_k = T.axis.remap("SSR", ...)
                                                        with T.init(): Y[v_i, v_j] = 0
                                                        Y[v_i, v_j] = Y[v_i, v_j] + X[v_i, v_k]

   One block for each operation (for each result of one without reduction), in the order of their
   definitions. Results that are not parameters are allocated by the root block. */
#include "base/pmap.h"
#include "ir/expr.h"
#include "ir/module.h"
#include "object/functions.h"
#include "te/te_impl.h"
#include "tir/analysis.h"

typedef struct {
  const tn_arr *args;
  tn_vec tensors, buffers; /* of equal length: the buffer of each tensor */
  tn_vec allocs;           /* buffers of results that are not parameters */
  tn_vec stmts;
  tn_map *block_names; /* name -> times used */
  tn_pmap vars;        /* variable of an axis -> variable of the block */
  tn_pmap free_layout; /* parameters (Tensor) that blocks take in any layout */
} maker;

static tn_Buffer *find_buffer(const maker *m, const tn_Tensor *t) {
  for (int64_t i = 0; i < m->tensors.len; ++i) {
    if (te_same_tensor((const tn_Tensor *)m->tensors.items[i].v.obj, t))
      return (tn_Buffer *)m->buffers.items[i].v.obj;
  }
  return NULL;
}

static int set_buffer(maker *m, const tn_Tensor *t, const tn_Buffer *b) {
  return tn_vec_push_obj(&m->tensors, t) || tn_vec_push_obj(&m->buffers, b) ? -1 : 0;
}

static int64_t arg_index(const maker *m, const tn_Tensor *t) {
  for (int64_t i = 0; i < m->args->len; ++i) {
    if (te_same_tensor(TN_AS(Tensor, tn_arr_obj(m->args, i)), t)) return i;
  }
  return -1;
}
static bool is_arg(const maker *m, const tn_Tensor *t) { return arg_index(m, t) >= 0; }

/* ---- bodies: reads of tensors become reads of buffers, axes the block's variables ---- */

static tn_obj *replace(void *ctx, tn_obj *o) {
  maker *m = ctx;
  tn_obj *var = tn_pmap_get(&m->vars, o);
  const tn_ProducerLoad *load = TN_AS(ProducerLoad, o);
  if (var) return var;
  if (load) {
    const tn_Tensor *t = TN_AS(Tensor, load->producer);
    tn_Buffer *b = t ? find_buffer(m, t) : NULL;
    TN_CHECKP(b, ValueError, load->span,
              "create_prim_func: tensor %s is used but nothing computes it",
              t ? tn_cstr(t->op->name) : "?");
    return (tn_obj *)tir_load(b, (tn_arr *)replace(ctx, (tn_obj *)load->indices));
  }
  if (o->type_index == TN_TI_Buffer || o->type_index == TN_TI_Op) return o;
  return tn_map_children(o, replace, ctx);
}

/* ---- blocks ---- */

static tn_str *unique_name(maker *m, const char *name) {
  tn_any n;
  tn_str *out = tn_str_from(name);
  for (int i = 1; out && tn_map_get(m->block_names, tn_any_obj(out), &n); ++i)
    out = tn_str_fmt("%s_%d", name, i);
  return out && tn_map_set(m->block_names, tn_any_obj(out), tn_any_int(1)) == 0 ? out : NULL;
}

typedef struct {
  tn_vec loops;  /* loop variables */
  tn_vec iters;  /* IterVar of the block */
  tn_vec values; /* of the iterators */
  tn_vec at;     /* indices of the result */
} nest;

static void nest_fini(nest *n) {
  tn_vec *all[] = {&n->loops, &n->iters, &n->values, &n->at};
  for (int i = 0; i < TN_COUNT(all); ++i) tn_vec_fini(all[i]);
}

/* The values of an axis, its beginning in the type of its extent: (0, T.int64(4)) is of int64. */
static tn_Range *axis_range(maker *m, const tn_IterVar *axis) {
  tn_Range *dom = (tn_Range *)replace(m, (tn_obj *)axis->dom);
  tn_expr *min = dom ? tir_cast(dom->extent->dtype, dom->min, NULL) : NULL;
  if (!min) return NULL;
  return min == dom->min ? dom : tir_range(min, dom->extent);
}

static int add_axis(maker *m, nest *n, const tn_IterVar *axis, bool spatial) {
  const char *name = tn_cstr(axis->var->name);
  tn_Var *loop = tir_var(name, axis->var->dtype),
         *v = tir_var(tn_cstr(tn_str_fmt("v_%s", name)), axis->var->dtype);
  tn_Range *dom = axis_range(m, axis);
  tn_IterVar *iter =
      v && dom ? tir_iter_var(dom, v, spatial ? IR_ITER_DATA_PAR : IR_ITER_COMM_REDUCE, "") : NULL;
  if (!iter || tn_pmap_put(&m->vars, axis->var, v)) return -1;
  if (tn_vec_push_obj(&n->loops, loop) || tn_vec_push_obj(&n->iters, iter) ||
      tn_vec_push_obj(&n->values, loop))
    return -1;
  return spatial ? tn_vec_push_obj(&n->at, v) : 0;
}

static int make_nest(maker *m, const tn_ComputeOp *op, bool reduces, nest *n) {
  for (int64_t i = 0; i < op->axis->len; ++i)
    TN_TRY(add_axis(m, n, (tn_IterVar *)tn_arr_obj(op->axis, i), true));
  for (int64_t i = 0; reduces && i < op->reduce_axis->len; ++i)
    TN_TRY(add_axis(m, n, (tn_IterVar *)tn_arr_obj(op->reduce_axis, i), false));
  if (n->iters.len) return 0;
  /* a single element still needs an iterator: vi = T.axis.spatial(1, 0) */
  tn_IterVar *one =
      tir_iter_var(tir_range(tir_i32(0), tir_i32(1)), tir_var("vi", TN_I32), IR_ITER_DATA_PAR, "");
  return !one || tn_vec_push_obj(&n->iters, one) || tn_vec_push_obj(&n->values, tir_i32(0)) ? -1
                                                                                            : 0;
}

static tn_stmt *wrap_loops(const nest *n, tn_stmt *s) {
  tn_map *none = tn_scope_own(tn_map_new());
  for (int64_t i = n->loops.len; i-- > 0 && s;) {
    const tn_Range *dom = ((const tn_IterVar *)n->iters.items[i].v.obj)->dom;
    s = (tn_stmt *)TN_MAKE(For, .loop_var = (tn_Var *)n->loops.items[i].v.obj, .min = dom->min,
                           .extent = dom->extent, .kind = TIR_FOR_SERIAL, .body = s,
                           .annotations = none);
  }
  return s;
}

/* Tensors that an operation takes in any layout: those that are parameters are named by the
   function (free_layouts), the others by their buffers in the block. */
static tn_arr *inner_free_layouts(maker *m, const tn_ComputeOp *op, const tn_arr *tensors) {
  TN_VEC(buffers);
  for (int64_t i = 0; i < tensors->len; ++i) {
    const tn_Tensor *t = TN_AS(Tensor, tn_arr_obj(tensors, i));
    TN_CHECKP(t, TypeError, NULL,
              "create_prim_func: layout_free_placeholders of %s: expected tensors, got %s",
              tn_cstr(op->name), tn_arr_obj(tensors, i) ? tn_obj_key(tn_arr_obj(tensors, i)) : "?");
    int64_t at = arg_index(m, t);
    const tn_Buffer *b = find_buffer(m, t);
    TN_CHECKP(at >= 0 || b, ValueError, NULL,
              "create_prim_func: layout_free_placeholders of %s: nothing reads or computes %s",
              tn_cstr(op->name), tn_cstr(t->op->name));
    if (at >= 0) TN_TRYP(tn_pmap_put_int(&m->free_layout, tn_arr_obj(m->args, at), 1));
    else TN_TRYP(tn_vec_push_obj(&buffers, b));
  }
  return tn_arr_from(&buffers);
}

static tn_map *block_attrs(maker *m, const tn_ComputeOp *op) {
  static const char key[] = "layout_free_placeholders";
  tn_any found;
  if (!tn_map_get(op->attrs, tn_any_cstr(key), &found)) return op->attrs;
  const tn_arr *tensors = tn_any_is_obj(&found) ? TN_AS(Array, found.v.obj) : NULL;
  TN_CHECKP(tensors, TypeError, NULL,
            "create_prim_func: layout_free_placeholders of %s: expected an array of tensors",
            tn_cstr(op->name));
  tn_map *out = tn_scope_own(tn_map_new());
  tn_arr *inner = inner_free_layouts(m, op, tensors);
  for (int64_t i = 0; out && inner && i < op->attrs->len; ++i) {
    const tn_map_entry *e = &op->attrs->entries[i];
    bool it = tn_str_eq((const tn_str *)e->key.v.obj, key);
    if (it && !inner->len) continue;
    TN_TRYP(tn_map_set(out, e->key, it ? tn_any_obj(inner) : e->value));
  }
  return inner ? out : NULL;
}

static int add_block(maker *m, const tn_ComputeOp *op, const nest *n, const char *name,
                     tn_stmt *init, tn_stmt *body) {
  tn_arr *none = tn_arr_of(0);
  tn_Block *block =
      TN_NEW(Block, .iter_vars = tn_arr_from(&n->iters), .reads = none, .writes = none,
             .name_hint = unique_name(m, name), .alloc_buffers = none, .match_buffers = none,
             .annotations = block_attrs(m, op), .init = init, .body = body);
  block = block ? tir_block_with_regions(block, true, true) : NULL;
  tn_stmt *realize = block
                         ? (tn_stmt *)TN_MAKE(BlockRealize, .iter_values = tn_arr_from(&n->values),
                                              .predicate = tir_bool(true), .block = block)
                         : NULL;
  tn_stmt *loops = wrap_loops(n, realize);
  return loops ? tn_vec_push_obj(&m->stmts, loops) : -1;
}

/* ---- reductions ---- */

/* Is nothing reduced? A block under a loop of no iterations would store nothing. */
static bool is_empty(const tn_ComputeOp *op) {
  bool empty = false;
  for (int64_t i = 0; !empty && i < op->reduce_axis->len; ++i)
    empty = tir_is_zero(((const tn_IterVar *)tn_arr_obj(op->reduce_axis, i))->dom->extent);
  return empty;
}

/* What the results are before anything is reduced. */
static tn_stmt *store_first(maker *m, const tn_Reduce *r, const tn_vec *buffers, tn_arr *at) {
  TN_VEC(stores);
  const tn_arr *from = r->init->len ? r->init : r->combiner->identity_element;
  for (int64_t i = 0; i < r->source->len; ++i) {
    tn_expr *value = (tn_expr *)replace(m, tn_arr_obj(from, i));
    TN_TRYP(tn_vec_push_obj(&stores, tir_store((tn_Buffer *)buffers->items[i].v.obj, value, at)));
  }
  return tir_seq(&stores);
}

static int reduction(maker *m, const tn_ComputeOp *op, const nest *n, const tn_vec *buffers) {
  const tn_Reduce *r = (tn_Reduce *)tn_arr_obj(op->body, 0);
  TN_VEC(old);
  TN_VEC(incoming);
  TN_VEC(combined);
  tn_arr *at = tn_arr_from(&n->at);
  tn_stmt *init = at ? store_first(m, r, buffers, at) : NULL;
  if (!init || is_empty(op)) return init ? add_block(m, op, n, tn_cstr(op->name), NULL, init) : -1;
  for (int64_t i = 0; i < r->source->len; ++i) {
    tn_expr *in = (tn_expr *)replace(m, tn_arr_obj(r->source, i)),
            *zero = (tn_expr *)replace(m, tn_arr_obj(r->combiner->identity_element, i));
    if (in && zero && !tir_is_one(r->condition))
      in = tir_if_then_else((tn_expr *)replace(m, (tn_obj *)r->condition), in, zero, NULL);
    if (!in || !zero || tn_vec_push_obj(&old, tir_load((tn_Buffer *)buffers->items[i].v.obj, at)) ||
        tn_vec_push_obj(&incoming, in))
      return -1;
  }
  const tn_arr *result = (const tn_arr *)replace(m, (tn_obj *)r->combiner->result);
  if (te_combine(r, result, &old, &incoming, &combined)) return -1;
  tn_stmt *body = te_store_all(buffers, &combined, at);
  return body ? add_block(m, op, n, tn_cstr(op->name), init, body) : -1;
}

/* ---- operations ---- */

static tn_Buffer *result_buffer(maker *m, tn_Operation *op, int64_t i, const char *name) {
  tn_Tensor *t = te_output(op, i);
  tn_arr *shape = t ? (tn_arr *)replace(m, (tn_obj *)t->shape) : NULL;
  tn_Buffer *b = shape ? tir_buffer(shape, t->dtype, name, "") : NULL;
  if (!b || set_buffer(m, t, b)) return NULL;
  return is_arg(m, t) || tn_vec_push_obj(&m->allocs, b) == 0 ? b : NULL;
}

static int compute_one(maker *m, const tn_ComputeOp *op, int64_t i, tn_Buffer *b,
                       const char *name) {
  nest n __attribute__((cleanup(nest_fini))) = {0};
  if (make_nest(m, op, false, &n)) return -1;
  tn_expr *value = (tn_expr *)replace(m, tn_arr_obj(op->body, i));
  tn_stmt *body = value ? tir_store(b, value, tn_arr_from(&n.at)) : NULL;
  return body ? add_block(m, op, &n, name, NULL, body) : -1;
}

static int compute(maker *m, tn_ComputeOp *op) {
  TN_VEC(buffers);
  bool reduces = TN_AS(Reduce, tn_arr_obj(op->body, 0)) != NULL;
  for (int64_t i = 0; i < op->body->len; ++i) {
    const char *name = op->body->len == 1
                           ? tn_cstr(op->name)
                           : tn_cstr(tn_str_fmt("%s_v%lld", tn_cstr(op->name), (long long)i));
    tn_Buffer *b = result_buffer(m, (tn_Operation *)op, i, name);
    if (!b || tn_vec_push_obj(&buffers, b)) return -1;
    if (!reduces && compute_one(m, op, i, b, name)) return -1;
  }
  if (!reduces) return 0;
  nest n __attribute__((cleanup(nest_fini))) = {0};
  return make_nest(m, op, !is_empty(op), &n) ? -1 : reduction(m, op, &n, &buffers);
}

/* Buffers of extern operations are the ones the user gave: their inputs' too. */
static int take_extern_buffers(maker *m, const tn_arr *ops) {
  for (int64_t i = 0; i < ops->len; ++i) {
    const tn_ExternOp *op = TN_AS(ExternOp, tn_arr_obj(ops, i));
    for (int64_t j = 0; op && j < op->inputs->len; ++j) {
      const tn_Tensor *t = (tn_Tensor *)tn_arr_obj(op->inputs, j);
      if (TN_AS(PlaceholderOp, t->op) && !find_buffer(m, t))
        TN_TRY(set_buffer(m, t, (tn_Buffer *)tn_arr_obj(op->input_placeholders, j)));
    }
  }
  return 0;
}

static tn_Buffer *input_buffer(void *ctx, const tn_Tensor *t) { return find_buffer(ctx, t); }

static int extern_(maker *m, tn_ExternOp *op) {
  for (int64_t i = 0; i < op->output_placeholders->len; ++i) {
    tn_Buffer *b = (tn_Buffer *)tn_arr_obj(op->output_placeholders, i);
    tn_Tensor *t = te_output((tn_Operation *)op, i);
    if (t && !is_arg(m, t)) { /* nobody binds the offset that its own buffer may have */
      TN_GET(b, tir_buffer(b->shape, b->dtype, tn_cstr(b->name), tir_buffer_scope(b)));
      TN_TRY(tn_vec_push_obj(&m->allocs, b));
    }
    if (!t || set_buffer(m, t, b)) return -1;
  }
  tn_arr *none = tn_arr_of(0);
  tn_stmt *body = te_extern_body(op, input_buffer, m);
  tn_Block *block =
      body ? TN_NEW(Block, .iter_vars = none, .reads = none, .writes = none,
                    .name_hint = unique_name(m, tn_cstr(op->name)), .alloc_buffers = none,
                    .match_buffers = none, .annotations = op->attrs, .body = body)
           : NULL;
  void *realize =
      TN_MAKE(BlockRealize, .iter_values = none, .predicate = tir_bool(true), .block = block);
  return realize ? tn_vec_push_obj(&m->stmts, realize) : -1;
}

static int placeholder(maker *m, tn_PlaceholderOp *op) {
  tn_Tensor *t = te_output((tn_Operation *)op, 0);
  if (!t || find_buffer(m, t)) return t ? 0 : -1;
  TN_CHECK(is_arg(m, t), ValueError, NULL,
           "create_prim_func: the placeholder %s is used but is not among the arguments",
           tn_cstr(op->name));
  tn_Buffer *b = tir_buffer(op->shape, op->dtype, tn_cstr(op->name), "");
  return b ? set_buffer(m, t, b) : -1;
}

static int check_kinds(const tn_arr *ops) {
  for (int64_t i = 0; i < ops->len; ++i) {
    const tn_obj *op = tn_arr_obj(ops, i);
    TN_CHECK(TN_AS(PlaceholderOp, op) || TN_AS(ComputeOp, op) || TN_AS(ExternOp, op), TypeError,
             NULL,
             "create_prim_func: Unsupported Operation: %s. Expected a placeholder, compute or "
             "extern",
             tn_obj_key(op));
  }
  return 0;
}

static int visit(maker *m, tn_obj *op) {
  if (TN_AS(PlaceholderOp, op)) return placeholder(m, (tn_PlaceholderOp *)op);
  if (TN_AS(ComputeOp, op)) return compute(m, (tn_ComputeOp *)op);
  return extern_(m, (tn_ExternOp *)op);
}

/* ---- the function ---- */

/* Which parameters may come in any layout, as an attribute of the function. */
static int set_free_layouts(maker *m, tn_map *attrs) {
  TN_VEC(which);
  for (int64_t i = 0; i < m->args->len; ++i) {
    if (tn_pmap_has(&m->free_layout, tn_arr_obj(m->args, i)))
      TN_TRY(tn_vec_push_obj(&which, tir_i32((int32_t)i)));
  }
  return which.len ? tn_map_set(attrs, tn_any_cstr("layout_free_buffers"),
                                tn_any_obj(tn_arr_from(&which)))
                   : 0;
}

static tn_PrimFunc *finish(maker *m) {
  TN_VEC(params);
  tn_map *buffers = tn_scope_own(tn_map_new()), *attrs = tn_scope_own(tn_map_new());
  for (int64_t i = 0; buffers && i < m->args->len; ++i) {
    const tn_Tensor *t = TN_AS(Tensor, tn_arr_obj(m->args, i));
    const tn_obj *scalar = TN_AS(Var, tn_arr_obj(m->args, i)) ? tn_arr_obj(m->args, i) : NULL;
    tn_Buffer *b = t ? find_buffer(m, t) : NULL;
    TN_CHECKP(b || scalar, TypeError, NULL,
              "create_prim_func: argument %lld: expected a Tensor or Var, got %s", (long long)i,
              tn_obj_key(tn_arr_obj(m->args, i)));
    const void *param =
        b ? (void *)tir_var(tn_cstr(tn_str_fmt("var_%s", tn_cstr(b->name))), TN_HANDLE)
          : (const void *)scalar;
    if (!param || tn_vec_push_obj(&params, param)) return NULL;
    if (b && tn_map_set(buffers, tn_any_obj(param), tn_any_obj(b))) return NULL;
  }
  if (!attrs || tn_map_set(attrs, tn_any_cstr("global_symbol"), tn_any_cstr("main"))) return NULL;
  TN_TRYP(tn_map_set(attrs, tn_any_cstr("tir.noalias"), tn_any_obj(tir_bool(true))));
  TN_TRYP(set_free_layouts(m, attrs));
  tn_stmt *body = tir_seq(&m->stmts);
  body = body ? tir_with_root_block(body, &m->allocs) : NULL;
  return TN_MAKE(PrimFunc, .params = tn_arr_from(&params), .buffer_map = buffers, .body = body,
                 .attrs = ir_attrs_new(attrs));
}

static tn_PrimFunc *build(maker *m) {
  tn_arr *ops = te_post_order(m->args);
  if (!ops || !m->block_names || check_kinds(ops) || take_extern_buffers(m, ops)) return NULL;
  for (int64_t i = 0; i < ops->len; ++i) {
    if (visit(m, tn_arr_obj(ops, i))) return NULL;
  }
  return finish(m);
}

tn_PrimFunc *te_create_prim_func(const tn_arr *tensors) {
  TN_SCOPE(s);
  maker m = {.args = tensors, .block_names = tn_scope_own(tn_map_new())};
  tn_PrimFunc *f = build(&m);
  tn_vec *all[] = {&m.tensors, &m.buffers, &m.allocs, &m.stmts};
  for (int i = 0; i < TN_COUNT(all); ++i) tn_vec_fini(all[i]);
  tn_pmap_fini(&m.vars);
  tn_pmap_fini(&m.free_layout);
  return tn_scope_return(s, f);
}
