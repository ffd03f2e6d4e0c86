/* Blocks in TVMScript: iterators, predicate, regions, attributes, buffers, init, body. */
#include "ir/expr.h"
#include "tir/script/printer_impl.h"

static const char *axis_kind(const tn_IterVar *iv) {
  switch (iv->iter_type) {
  case IR_ITER_DATA_PAR: return "spatial";
  case IR_ITER_COMM_REDUCE: return "reduce";
  case IR_ITER_ORDERED: return "scan";
  case IR_ITER_OPAQUE: return "opaque";
  default: return NULL;
  }
}

static tn_ExprDoc *axis_doc(printer *p, const char *name) {
  return attr_doc(tir_doc(p, "axis"), name);
}

/* v = T.axis.spatial(extent, value), or a pair of bounds where the first is not 0 */
static int print_axis(printer *p, frame *f, const tn_IterVar *iv, const tn_obj *value) {
  TN_VEC(args);
  const char *kind = axis_kind(iv);
  TN_CHECK(kind, ValueError, iv->span, "block iterator %s: type %d cannot be printed",
           tn_cstr(iv->var->name), iv->iter_type);
  tn_ExprDoc *dom = print_expr(p, iv->dom->extent);
  if (!tir_is_zero(iv->dom->min)) {
    TN_VEC(bounds);
    tn_ExprDoc *min = print_expr(p, iv->dom->min),
               *end = print_expr(p, tir_add(iv->dom->min, iv->dom->extent));
    if (!min || !end || tn_vec_push_obj(&bounds, min) || tn_vec_push_obj(&bounds, end)) return -1;
    dom = tuple_doc(&bounds);
  }
  if (!dom || tn_vec_push_obj(&args, dom)) return -1;
  if (value) {
    tn_ExprDoc *binding = print_expr(p, value);
    if (!binding || tn_vec_push_obj(&args, binding)) return -1;
  }
  tn_ExprDoc *rhs = call_doc(axis_doc(p, kind), &args);
  return emit(
      p, TN_DOC(AssignDoc, .lhs = bound_name(p, f, iv->var, tn_cstr(iv->var->name)), .rhs = rhs));
}

/* Constants of equal value and variables: what bounds are made of; anything else must be the same
 * object. */
static bool same_bound(const tn_expr *a, const tn_expr *b) {
  int64_t x, y;
  if (a == b) return true;
  return tir_as_int((const tn_obj *)a, &x) && tir_as_int((const tn_obj *)b, &y) && x == y &&
         tn_dtype_eq(a->dtype, b->dtype);
}

/* Is the iterator just the variable of a surrounding loop with the same bounds? */
static bool is_remap(printer *p, const tn_IterVar *iv, const tn_obj *value) {
  const tn_For *l = value && TN_AS(Var, value) ? tn_pmap_get(&p->loops, value) : NULL;
  bool kind = iv->iter_type == IR_ITER_DATA_PAR || iv->iter_type == IR_ITER_COMM_REDUCE;
  return l && kind && p->cfg->syntax_sugar && same_bound(l->min, iv->dom->min) &&
         same_bound(l->extent, iv->dom->extent);
}

/* vi, vk = T.axis.remap("SR", [i, k]) */
static int print_remap(printer *p, frame *f, const tn_Block *b, const tn_BlockRealize *r,
                       int64_t from, int64_t to) {
  TN_VEC(names);
  TN_VEC(vars);
  TN_VEC(args);
  TN_BUF(kinds);
  if (to - from == 0) return 0;
  if (to - from == 1)
    return print_axis(p, f, (const tn_IterVar *)tn_arr_obj(b->iter_vars, from),
                      tn_arr_obj(r->iter_values, from));
  for (int64_t i = from; i < to; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(b->iter_vars, i);
    tn_buf_putc(&kinds, iv->iter_type == IR_ITER_DATA_PAR ? 'S' : 'R');
    TN_TRY(tn_vec_push_obj(&vars, print_expr(p, tn_arr_obj(r->iter_values, i))));
    TN_TRY(tn_vec_push_obj(&names, bound_name(p, f, iv->var, tn_cstr(iv->var->name))));
  }
  const char *text = tn_buf_cstr(&kinds);
  if (!text || tn_vec_push_obj(&args, str_doc(text)) || tn_vec_push_obj(&args, list_doc(&vars)))
    return -1;
  return emit(
      p, TN_DOC(AssignDoc, .lhs = tuple_doc(&names), .rhs = call_doc(axis_doc(p, "remap"), &args)));
}

static int print_iter_vars(printer *p, frame *f, const tn_Block *b, const tn_BlockRealize *r) {
  int64_t from = 0;
  for (int64_t i = 0; i < b->iter_vars->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(b->iter_vars, i);
    const tn_obj *value = r ? tn_arr_obj(r->iter_values, i) : NULL;
    if (is_remap(p, iv, value)) continue;
    TN_TRY(print_remap(p, f, b, r, from, i));
    TN_TRY(print_axis(p, f, iv, value));
    from = i + 1;
  }
  return r ? print_remap(p, f, b, r, from, b->iter_vars->len) : 0;
}

static int emit_call(printer *p, const char *name, const tn_vec *args) {
  return emit(p, TN_DOC(ExprStmtDoc, .expr = call_doc(tir_doc(p, name), args)));
}

static int print_regions(printer *p, const char *name, const tn_arr *regions) {
  TN_VEC(args);
  return print_exprs(p, regions, &args) || emit_call(p, name, &args) ? -1 : 0;
}

int print_match(printer *p, frame *f, const tn_MatchBufferRegion *m) {
  tn_ExprDoc *source = print_region(p, m->source),
             *lhs = source ? bound_buffer(p, f, m->buffer) : NULL;
  tn_ExprDoc *rhs = lhs ? buffer_decl(p, f, m->buffer, "match_buffer", source) : NULL;
  return emit(p, noted(p, m, TN_DOC(AssignDoc, .lhs = lhs, .rhs = rhs)));
}

static int print_buffers(printer *p, frame *f, const tn_Block *b) {
  for (int64_t i = 0; i < b->alloc_buffers->len; ++i) {
    const tn_Buffer *buffer = (const tn_Buffer *)tn_arr_obj(b->alloc_buffers, i);
    tn_ExprDoc *lhs = bound_buffer(p, f, buffer),
               *rhs = lhs ? buffer_decl(p, f, buffer, "alloc_buffer", NULL) : NULL;
    TN_TRY(emit(p, noted(p, buffer, TN_DOC(AssignDoc, .lhs = lhs, .rhs = rhs))));
  }
  for (int64_t i = 0; i < b->match_buffers->len; ++i) {
    const tn_obj *m = tn_arr_obj(b->match_buffers, i);
    TN_TRY(print_match(p, f, (const tn_MatchBufferRegion *)m));
  }
  return 0;
}

static int print_init(printer *p, const tn_Block *b) {
  frame *f;
  TN_VEC(none);
  if (!b->init) return 0;
  tn_ExprDoc *rhs = call_doc(tir_doc(p, "init"), &none);
  if (!rhs || !(f = open_frame(p, (const tn_obj *)b->init))) return -1;
  tn_arr *stmts = print_body(p, f, (const tn_obj *)b->init) ? NULL : frame_stmts(f);
  close_frame(p, f);
  return emit(p, TN_DOC(ScopeDoc, .rhs = rhs, .body = stmts));
}

static int print_attrs(printer *p, const tn_map *annotations) {
  TN_VEC(args);
  if (annotations->len == 0) return 0;
  tn_ExprDoc *doc = print_expr(p, annotations);
  return !doc || tn_vec_push_obj(&args, doc) || emit_call(p, "block_attr", &args) ? -1 : 0;
}

static int print_where(printer *p, const tn_BlockRealize *r) {
  TN_VEC(args);
  if (!r || tir_is_one(r->predicate)) return 0;
  tn_ExprDoc *doc = print_expr(p, r->predicate);
  return !doc || tn_vec_push_obj(&args, doc) || emit_call(p, "where", &args) ? -1 : 0;
}

static int print_block_body(printer *p, frame *f, const tn_Block *b, const tn_BlockRealize *r) {
  TN_TRY(print_iter_vars(p, f, b, r));
  TN_TRY(print_where(p, r));
  TN_TRY(print_regions(p, "reads", b->reads));
  TN_TRY(print_regions(p, "writes", b->writes));
  TN_TRY(print_attrs(p, b->annotations));
  TN_TRY(print_buffers(p, f, b));
  TN_TRY(print_init(p, b));
  return print_body(p, f, (const tn_obj *)b->body);
}

int print_block(printer *p, const tn_Block *b, const tn_BlockRealize *r) {
  TN_VEC(args);
  TN_VEC(keys);
  TN_VEC(values);
  frame *f;
  TN_TRY(tn_vec_push_obj(&args, str_doc(tn_cstr(b->name_hint))));
  if (!r) { /* a block that nobody executes yet */
    TN_TRY(tn_vec_push_obj(&keys, tn_str_from("no_realize")));
    TN_TRY(tn_vec_push_obj(&values, bool_doc(true)));
  }
  tn_ExprDoc *rhs = call_kw_doc(tir_doc(p, "block"), &args, &keys, &values);
  if (!rhs || !(f = open_frame(p, r ? (const tn_obj *)r : (const tn_obj *)b))) return -1;
  tn_arr *stmts = print_block_body(p, f, b, r) ? NULL : frame_stmts(f);
  close_frame(p, f);
  tn_Doc *doc = noted(p, b, TN_DOC(ScopeDoc, .rhs = rhs, .body = stmts));
  return emit(p, r ? noted(p, r, doc) : doc);
}

int print_block_realize(printer *p, const tn_BlockRealize *r) {
  return print_block(p, r->block, r);
}
