/* What binds or encloses: with T.allocate(...) as A, A = T.allocate(...), T.attr, T.launch_thread,
 * T.realize. */
#include <string.h>

#include "tenon/object.h"
#include "tir/script/build_impl.h"
#include "tir/script/const_data.h"

/* A statement with an empty body; `bound` is what `as` or the target names, if anything. */
typedef struct {
  tn_stmt *stmt;
  tn_obj *bound;
} wrap;

static const char *target_name(const ast *target, const char *other) {
  return target && target->kind == AST_NAME ? target->text : other;
}

/* A dictionary of notes, empty when n is NULL; NULL on failure. */
static tn_map *annotations_of(builder *b, const ast *n) {
  val notes;
  if (!n) return tn_scope_own(tn_map_new());
  if (eval(b, n, &notes)) return NULL;
  if (notes.kind == VAL_PLAIN && notes.v.type_index == TN_TI_Map) return (tn_map *)notes.v.v.obj;
  return (void)ast_error(b->src, n, "annotations: expected a dictionary"), NULL;
}

static int allocate(builder *b, const ast *call, const ast *target, wrap *out) {
  const ast *extents = arg_of(call, 0, "extents"), *type = arg_of(call, 1, "dtype"),
            *scope = arg_of(call, 2, "scope");
  const ast *cond = arg_of(call, 3, "condition"), *ann = arg_of(call, 4, "annotations");
  tn_dtype t;
  if (!extents || !type)
    return ast_error(b->src, call, "T.allocate: expected extents and a data type");
  tn_arr *shape = eval_exprs(b, extents);
  if (!shape || eval_dtype(b, type, &t)) return -1;
  const char *where = eval_memory_scope(b, scope);
  tn_expr *when = where && cond ? eval_expr(b, cond) : tir_bool(true);
  if (!where || !when) return -1;
  tn_map *map = annotations_of(b, ann);
  if (!map) return -1;
  tn_Var *v = bound_pointer(b, target, "buffer", t, where);
  out->bound = (tn_obj *)v;
  out->stmt = (tn_stmt *)TN_MAKE(Allocate, .buffer_var = v, .dtype = t, .extents = shape,
                                 .condition = when, .body = tir_nop(), .annotations = map);
  return out->stmt ? 0 : -1;
}

static int allocate_const(builder *b, const ast *call, const ast *target, wrap *out) {
  const ast *data = arg_of(call, 0, "data"), *type = arg_of(call, 1, "dtype"),
            *extents = arg_of(call, 2, "extents"), *index = arg_of(call, -1, "irmod_storage_idx");
  tn_dtype t;
  val v;
  if (!data || !type || !extents)
    return ast_error(b->src, call, "T.allocate_const: expected data, a data type and extents");
  TN_TRY(eval(b, data, &v));
  TN_TRY(eval_dtype(b, type, &t));
  tn_arr *shape = eval_exprs(b, extents);
  if (!shape) return -1;
  bool elsewhere = index && v.kind == VAL_PLAIN && v.v.type_index == TN_NONE;
  tn_obj *content = elsewhere ? NULL : (tn_obj *)tir_const_data(v.v, t, shape);
  if (!content && !elsewhere) return place_error(b, data);
  tn_expr *at = index ? eval_expr(b, index) : NULL;
  if (index && !TN_AS(IntImm, at))
    return at ? ast_error(b->src, index, "irmod_storage_idx: expected a number") : -1;
  tn_map *notes = annotations_of(b, arg_of(call, -1, "annotations"));
  tn_Var *p = notes ? bound_pointer(b, target, "data", t, "global") : NULL;
  out->bound = (tn_obj *)p;
  if (!p) return -1;
  out->stmt = (tn_stmt *)TN_MAKE(AllocateConst, .buffer_var = p, .data = (tn_NDArray *)content,
                                 .irmod_storage_idx = (tn_obj *)at, .dtype = t, .extents = shape,
                                 .body = tir_nop(), .annotations = notes);
  return out->stmt ? 0 : -1;
}

/* The buffer that was declared under this name, when it is the one described. */
static tn_Buffer *declared_buffer(const builder *b, const ast *target, tn_Buffer *made,
                                  bool same_data) {
  tn_Buffer *known = TN_AS(Buffer, declared_as(b, target));
  if (!known || !made || (same_data && known->data != made->data)) return made;
  bool same = tn_dtype_eq(known->dtype, made->dtype) &&
              tn_equal(known->shape, made->shape, 0) == 1 &&
              tn_equal(known->strides, made->strides, TN_MAP_FREE_VARS) == 1;
  return same ? known : made;
}

static int decl_buffer(builder *b, const ast *call, const ast *target, wrap *out) {
  tn_Buffer *buf = eval_buffer(b, call, 0, target_name(target, "buffer"));
  bool has_data = arg_of(call, 2, "data") != NULL;
  buf = declared_buffer(b, target, buf, has_data);
  if (!buf) return -1;
  out->bound = (tn_obj *)buf;
  if (has_data) {
    out->stmt = (tn_stmt *)TN_NEW(DeclBuffer, .buffer = buf, .body = tir_nop());
    return out->stmt ? 0 : -1;
  }
  /* without data it allocates too */
  tn_stmt *decl = (tn_stmt *)TN_NEW(DeclBuffer, .buffer = buf, .body = tir_nop());
  tn_stmt *alloc = (tn_stmt *)TN_MAKE(Allocate, .buffer_var = buf->data, .dtype = buf->dtype,
                                      .extents = buf->shape, .condition = tir_bool(true),
                                      .body = tir_nop(), .annotations = tn_scope_own(tn_map_new()));
  if (add_wrap(b, alloc)) return -1;
  out->stmt = decl;
  return decl ? 0 : -1;
}

static int attr(builder *b, const ast *call, wrap *out) {
  const ast *node = arg_of(call, 0, "node"), *key = arg_of(call, 1, "attr_key"),
            *value = arg_of(call, 2, "value");
  val v;
  if (!node || !key || !value)
    return ast_error(b->src, call, "T.attr: expected node, key and value");
  TN_TRY(eval(b, node, &v));
  tn_obj *o = v.kind == VAL_PLAIN && v.v.type_index == TN_NONE ? NULL : to_obj(b, node, &v);
  const char *text = eval_text(b, key);
  tn_expr *e = text ? eval_expr(b, value) : NULL;
  if (!e) return -1;
  out->stmt = (tn_stmt *)TN_NEW(AttrStmt, .node = o, .attr_key = tn_str_from(text), .value = e,
                                .body = tir_nop());
  return out->stmt ? 0 : -1;
}

/* A thread that T.env_thread declared gets its extent where it is launched. */
static int set_domain(tn_IterVar *iv, tn_expr *extent) {
  tn_any dom = tn_any_obj(tir_range(tir_zero(extent->dtype), extent));
  return dom.v.obj ? tn_field_set((tn_obj *)iv, tn_type_field(&tn_type_IterVar, "dom"), &dom) : -1;
}

/* T.launch_thread("threadIdx.x", n) or T.launch_thread(env_thread_var, n) */
static int launch_thread(builder *b, const ast *call, const ast *target, wrap *out) {
  const ast *thread = arg_of(call, 0, "thread"), *extent = arg_of(call, 1, "extent");
  val v;
  if (!thread || !extent)
    return ast_error(b->src, call, "T.launch_thread: expected a thread axis and an extent");
  TN_TRY(eval(b, thread, &v));
  tn_expr *n = eval_expr(b, extent);
  tn_IterVar *iv = TN_AS(IterVar, val_obj(&v));
  if (!n) return -1;
  if (!ir_is_integral(n->dtype) || n->dtype.lanes != 1)
    return ast_error(b->src, extent, "T.launch_thread: expected an integer, got %s",
                     TN_DT(n->dtype));
  if (iv && !(n = tir_cast(iv->var->dtype, n, NULL))) return place_error(b, extent);
  if (!iv) {
    const char *tag = eval_text(b, thread);
    if (!tag) return -1;
    tn_Var *var = tir_var(target_name(target, tag), n->dtype);
    iv = TN_NEW(IterVar, .dom = tir_range(tir_zero(n->dtype), n), .var = var,
                .iter_type = IR_ITER_THREAD_INDEX, .thread_tag = tn_str_from(tag));
  }
  if (!iv || (!iv->dom && set_domain(iv, n))) return -1;
  out->bound = (tn_obj *)iv->var;
  bool virtual_ = strncmp(tn_cstr(iv->thread_tag), "vthread", 7) == 0;
  out->stmt =
      (tn_stmt *)TN_NEW(AttrStmt, .node = (tn_obj *)iv,
                        .attr_key = tn_str_from(virtual_ ? "virtual_thread" : "thread_extent"),
                        .value = n, .body = tir_nop());
  return out->stmt ? 0 : -1;
}

/* T.LetStmt(value, type, var=v), or T.let(v, value) as older scripts have it */
static int let(builder *b, const ast *call, const char *name, const ast *target, wrap *out) {
  const ast *value = arg_of(call, 0, "value"), *type = arg_of(call, 1, "type_annotation"),
            *var = arg_of(call, 2, "var");
  if (strcmp(name, "let") == 0 && count_args(call) == 2 && !var && declared_as(b, value))
    var = value, value = type, type = NULL;
  if (!value) return ast_error(b->src, call, "T.LetStmt: expected a value");
  tn_expr *e = eval_expr(b, value);
  tn_obj *known = e && var ? eval_obj(b, var) : NULL;
  tn_Type *t = e && type ? eval_type(b, type) : NULL;
  if (!e || (var && !known) || (type && !t)) return -1;
  tn_Var *v = (tn_Var *)known;
  if (!v && TN_AS(PointerType, t))
    v = TN_NEW(Var, .dtype = TN_HANDLE, .name = tn_str_from(target_name(target, "v")),
               .type_annotation = t);
  if (!v) v = tir_var(target_name(target, "v"), e->dtype);
  out->bound = (tn_obj *)v;
  out->stmt = (tn_stmt *)TN_MAKE_CHECKED(LetStmt, .var = v, .value = e, .body = tir_nop());
  return out->stmt ? 0 : -1;
}

static int assert_(builder *b, const ast *call, wrap *out) {
  const ast *cond = arg_of(call, 0, "condition"), *msg = arg_of(call, 1, "message");
  if (!cond || !msg) return ast_error(b->src, call, "T.Assert: expected a condition and a message");
  tn_expr *c = eval_expr(b, cond), *m = c ? eval_expr(b, msg) : NULL;
  out->stmt =
      m ? (tn_stmt *)TN_MAKE(AssertStmt, .condition = c, .message = m, .body = tir_nop()) : NULL;
  return out->stmt ? 0 : -1;
}

/* A memory that is not the buffer's is an attribute around. */
static int realize(builder *b, const ast *call, wrap *out) {
  const ast *where = arg_of(call, 0, "buffer_slice"), *scope = arg_of(call, 1, "storage_scope"),
            *cond = arg_of(call, 2, "condition");
  val v;
  if (!where || !scope) return ast_error(b->src, call, "T.realize: expected a region and a scope");
  TN_TRY(eval(b, where, &v));
  const tn_Buffer *whole = TN_AS(Buffer, val_obj(&v));
  if (whole)
    return ast_error(b->src, where, "T.realize: expected a region such as %s[0:16], got a buffer",
                     tn_cstr(whole->name));
  const char *memory = eval_text(b, scope);
  tn_BufferRegion *r = memory ? to_region(b, where, &v) : NULL;
  tn_expr *c = r && cond ? eval_expr(b, cond) : tir_bool(true);
  if (r && *memory && strcmp(memory, tir_buffer_scope(r->buffer)) != 0) {
    tn_expr *text = (tn_expr *)TN_MAKE(StringImm, .value = tn_str_from(memory));
    tn_stmt *attr = (tn_stmt *)TN_NEW(AttrStmt, .node = (tn_obj *)r->buffer,
                                      .attr_key = tn_str_from("realize_scope"), .value = text,
                                      .body = tir_nop());
    if (!text || !attr || add_wrap(b, attr)) return -1;
  }
  out->stmt = r && c ? (tn_stmt *)TN_MAKE(BufferRealize, .buffer = r->buffer, .bounds = r->region,
                                          .condition = c, .body = tir_nop())
                     : NULL;
  return out->stmt ? 0 : -1;
}

/* @return 1 when T.name is not a construct with a body */
static int make_wrap(builder *b, const ast *call, const char *name, const ast *target, wrap *out) {
  if (!strcmp(name, "allocate")) return allocate(b, call, target, out);
  if (!strcmp(name, "allocate_const")) return allocate_const(b, call, target, out);
  if (!strcmp(name, "decl_buffer")) return decl_buffer(b, call, target, out);
  if (!strcmp(name, "attr")) return attr(b, call, out);
  if (!strcmp(name, "launch_thread")) return launch_thread(b, call, target, out);
  if (!strcmp(name, "LetStmt") || !strcmp(name, "let")) return let(b, call, name, target, out);
  if (!strcmp(name, "Assert")) return assert_(b, call, out);
  if (!strcmp(name, "realize")) return realize(b, call, out);
  return 1;
}

static int bind_bound(builder *b, const ast *target, const wrap *w) {
  if (!target) return 0;
  return w->bound ? bind_target(b, target, PLAIN_OBJ(w->bound))
                  : ast_error(b->src, target, "there is nothing to bind here");
}

/* ---- x = T.name(...) ---- */

/* The last dimensions of the region are those of the buffer, and all before them have one element.
   Only what is known to differ is an error: extents may be equal at run time. */
static int check_match(builder *b, const ast *call, const tn_Buffer *buf,
                       const tn_BufferRegion *r) {
  int64_t have = r->region->len, want = buf->shape->len, n, m = 1;
  if (want > have)
    return ast_error(b->src, call,
                     "T.match_buffer: expected at most %lld dimensions, those of the region, got "
                     "%lld",
                     (long long)have, (long long)want);
  for (int64_t i = 0; i < have; ++i) {
    const tn_Range *range = (const tn_Range *)tn_arr_obj(r->region, i);
    int64_t axis = i - (have - want);
    if (axis >= 0 && !tir_as_int(tn_arr_obj(buf->shape, axis), &m)) continue;
    if (tir_as_int((const tn_obj *)range->extent, &n) && n != m)
      return ast_error(b->src, call,
                       "T.match_buffer: expected extent %lld for dimension %lld of the region of "
                       "%s, got %lld",
                       (long long)m, (long long)i, tn_cstr(r->buffer->name), (long long)n);
  }
  return 0;
}

static int match_buffer(builder *b, const ast *target, const ast *call) {
  const ast *param = arg_of(call, 0, "param");
  val v;
  if (!param) return ast_error(b->src, call, "T.match_buffer: expected a parameter or a region");
  TN_TRY(eval(b, param, &v));
  tn_Var *var = TN_IS(Var, val_obj(&v)) ? (tn_Var *)val_obj(&v) : NULL;
  if (var && !tn_dtype_eq(var->dtype, TN_HANDLE))
    return ast_error(b->src, param, "T.match_buffer: expected a handle or a region, got %s of %s",
                     tn_cstr(var->name), TN_DT(var->dtype));
  if (!var && !b->block)
    return ast_error(b->src, call, "T.match_buffer of a region belongs inside a block");
  tn_BufferRegion *r = var ? NULL : to_region(b, param, &v);
  if (!var && !r) return -1;
  tn_Buffer *buf = eval_buffer_of(b, call, 1, target_name(target, "buffer"), r);
  buf = declared_buffer(b, target, buf, false);
  if (!buf || bind_target(b, target, PLAIN_OBJ(buf))) return -1;
  if (var && b->func) {
    b->func->buffer_map = tn_map_with(b->func->buffer_map, tn_any_obj(var), tn_any_obj(buf));
    return b->func->buffer_map ? 0 : -1;
  }
  if (!r) return ast_error(b->src, param, "T.match_buffer of a handle belongs into a function");
  if (check_match(b, call, buf, r)) return -1;
  tn_MatchBufferRegion *m = TN_NEW(MatchBufferRegion, .buffer = buf, .source = r);
  return m ? tn_vec_push_obj(&b->block->match_buffers, m) : -1;
}

static int alloc_buffer(builder *b, const ast *target, const ast *call) {
  const tn_vec *all = b->block ? &b->block->alloc_buffers : b->func ? &b->func->root_alloc : NULL;
  for (int64_t i = 0; all && i < all->len; ++i) {
    const tn_Buffer *other = (const tn_Buffer *)all->items[i].v.obj;
    if (tn_str_eq(other->name, target_name(target, "buffer")) && target)
      return ast_error(b->src, target, "a buffer %s is allocated here already", other->name->data);
  }
  tn_Buffer *buf = eval_buffer(b, call, 0, target_name(target, "buffer"));
  buf = declared_buffer(b, target, buf, false);
  if (!buf || bind_target(b, target, PLAIN_OBJ(buf))) return -1;
  if (b->block) return tn_vec_push_obj(&b->block->alloc_buffers, buf);
  return b->func ? tn_vec_push_obj(&b->func->root_alloc, buf)
                 : ast_error(b->src, call, "T.alloc_buffer belongs inside a function");
}

static int env_thread(builder *b, const ast *target, const ast *call) {
  const ast *a = arg_of(call, 0, "thread_tag");
  const char *tag = a ? eval_text(b, a) : NULL;
  if (!tag) return a ? -1 : ast_error(b->src, call, "T.env_thread: expected a thread tag");
  tn_Var *v = tir_var(target_name(target, "thread"), TN_I32);
  tn_IterVar *iv = TN_NEW(IterVar, .dom = NULL, .var = v, .iter_type = IR_ITER_THREAD_INDEX,
                          .thread_tag = tn_str_from(tag));
  return iv ? bind_target(b, target, PLAIN_OBJ(iv)) : -1;
}

static int buffer_of_data(builder *b, const ast *target, const ast *call) {
  tn_Buffer *buf = eval_buffer(b, call, 0, target_name(target, "buffer"));
  if (buf && tn_pmap_put_int(&b->declared, buf, 1)) return -1;
  return buf ? bind_target(b, target, PLAIN_OBJ(buf)) : -1;
}

int build_binding(builder *b, const ast *target, const ast *call, const char *name) {
  wrap w = {0};
  if (!strncmp(name, "axis.", 5)) return build_axis(b, target, call, name + 5);
  if (!strcmp(name, "match_buffer")) return match_buffer(b, target, call);
  if (!strcmp(name, "alloc_buffer")) return alloc_buffer(b, target, call);
  if (!strcmp(name, "env_thread")) return env_thread(b, target, call);
  if (!strcmp(name, "Buffer") || !strcmp(name, "buffer_decl"))
    return buffer_of_data(b, target, call);
  int r = make_wrap(b, call, name, target, &w);
  if (r) return r;
  return bind_bound(b, target, &w) ? -1 : add_wrap(b, w.stmt);
}

/* ---- with ---- */

static int enter(builder *b, const ast *item) {
  const char *name = item->a->kind == AST_CALL ? t_name(b, item->a) : NULL;
  wrap w = {0};
  int r = name ? make_wrap(b, item->a, name, item->b, &w) : 1;
  if (r == 1)
    return ast_error(b->src, item->a,
                     "expected T.block, T.init, T.allocate, T.attr, T.launch_thread, T.LetStmt, "
                     "T.decl_buffer, T.realize or T.Assert");
  return r || bind_bound(b, item->b, &w) ? -1 : add_wrap(b, w.stmt);
}

static int build_init(builder *b, const ast *n) {
  if (!b->block) return ast_error(b->src, n, "T.init belongs inside a block");
  if (b->block->init) return ast_error(b->src, n, "the block has an init already");
  if (!open_body(b) || build_stmts(b, n->body)) return -1;
  return (b->block->init = close_body(b)) ? 0 : -1;
}

/* with T.Then(): and with T.Else(): inside with T.If(condition): */
static const ast *branch(builder *b, const ast *n, const char *want) {
  for (int i = 0; i < n->body.n; ++i) {
    const ast *inner = n->body.items[i];
    const ast *call = inner->kind == AST_WITH ? inner->items.items[0]->a : NULL;
    const char *name = call && call->kind == AST_CALL ? t_name(b, call) : NULL;
    if (name && !strcmp(name, want)) return inner;
  }
  return NULL;
}

static tn_stmt *body_stmt(builder *b, const ast *n) {
  return !open_body(b) || build_stmts(b, n->body) ? NULL : close_body(b);
}

static int build_if_frame(builder *b, const ast *n, const ast *call) {
  const ast *a = arg_of(call, 0, "condition"), *then_ = branch(b, n, "Then"),
            *else_ = branch(b, n, "Else");
  if (!a || !then_ || n->body.n != 1 + (else_ != NULL))
    return ast_error(b->src, call, "T.If: expected a condition, T.Then and perhaps T.Else");
  tn_expr *cond = eval_expr(b, a);
  tn_stmt *yes = cond ? body_stmt(b, then_) : NULL, *no = yes && else_ ? body_stmt(b, else_) : NULL;
  if (!yes || (else_ && !no)) return -1;
  tn_stmt *s = (tn_stmt *)TN_MAKE(IfThenElse, .condition = cond, .then_case = yes, .else_case = no);
  return s ? add_stmt(b, s) : place_error(b, call);
}

static int build_while_frame(builder *b, const ast *n, const ast *call) {
  const ast *a = arg_of(call, 0, "condition");
  if (!a) return ast_error(b->src, call, "T.While: expected a condition");
  tn_expr *cond = eval_expr(b, a);
  tn_stmt *inner = cond ? body_stmt(b, n) : NULL;
  if (!inner) return -1;
  tn_stmt *s = (tn_stmt *)TN_MAKE(While, .condition = cond, .body = inner);
  return s ? add_stmt(b, s) : place_error(b, call);
}

int build_with(builder *b, const ast *n) {
  const ast *first = n->items.items[0]->a;
  const char *name = first->kind == AST_CALL ? t_name(b, first) : NULL;
  if (name && !strcmp(name, "block") && n->items.n == 1) return build_block(b, n, first);
  if (name && !strcmp(name, "init") && n->items.n == 1) return build_init(b, n);
  if (name && !strcmp(name, "If") && n->items.n == 1) return build_if_frame(b, n, first);
  if (name && !strcmp(name, "While") && n->items.n == 1) return build_while_frame(b, n, first);
  if (!open_body(b)) return -1;
  for (int i = 0; i < n->items.n; ++i) TN_TRY(enter(b, n->items.items[i]));
  if (build_stmts(b, n->body)) return -1;
  tn_stmt *s = close_body(b);
  return s ? add_stmt(b, s) : -1;
}

/* ---- calls as statements ---- */

static int func_attr(builder *b, const ast *call) {
  const ast *a = arg_of(call, 0, "attrs");
  val v;
  if (!a) return ast_error(b->src, call, "T.func_attr: expected a dictionary");
  TN_TRY(eval(b, a, &v));
  if (v.kind != VAL_PLAIN || v.v.type_index != TN_TI_Map)
    return ast_error(b->src, a, "T.func_attr: expected a dictionary");
  const tn_map *m = (tn_map *)v.v.v.obj;
  for (int64_t i = 0; i < m->len; ++i) {
    if (!(b->func->attrs = tn_map_with(b->func->attrs, m->entries[i].key, m->entries[i].value)))
      return -1;
  }
  return 0;
}

static int regions(builder *b, const ast *call, tn_vec *out, bool *seen) {
  if (!b->block) return ast_error(b->src, call, "T.reads and T.writes belong inside a block");
  if (*seen) return ast_error(b->src, call, "the block says already what it accesses this way");
  *seen = true;
  for (int i = 0; i < call->items.n; ++i) {
    const ast *a = call->items.items[i];
    int n = a->kind == AST_LIST || a->kind == AST_TUPLE ? a->items.n : 1;
    for (int j = 0; j < n; ++j) {
      const ast *one = a->kind == AST_LIST || a->kind == AST_TUPLE ? a->items.items[j] : a;
      val v;
      TN_TRY(eval(b, one, &v));
      tn_BufferRegion *r = to_region(b, one, &v);
      if (!r || tn_vec_push_obj(out, r)) return -1;
    }
  }
  return 0;
}

static int where(builder *b, const ast *call) {
  const ast *a = arg_of(call, 0, "predicate");
  if (!b->block || !a)
    return ast_error(b->src, call, "T.where: expected a condition inside a block");
  if (b->block->predicate) return ast_error(b->src, call, "the block has a condition already");
  return (b->block->predicate = eval_expr(b, a)) ? 0 : -1;
}

static int block_attr(builder *b, const ast *call) {
  const ast *a = arg_of(call, 0, "attrs");
  val v;
  if (!b->block || !a)
    return ast_error(b->src, call, "T.block_attr: expected a dictionary inside a block");
  if (b->block->annotations) return ast_error(b->src, call, "the block has attributes already");
  TN_TRY(eval(b, a, &v));
  if (v.kind != VAL_PLAIN || v.v.type_index != TN_TI_Map)
    return ast_error(b->src, a, "T.block_attr: expected a dictionary");
  b->block->annotations = (tn_map *)v.v.v.obj;
  return 0;
}

static int evaluate(builder *b, const ast *call) {
  const ast *a = arg_of(call, 0, "value");
  tn_expr *e = a ? eval_expr(b, a) : NULL;
  if (!e) return a ? -1 : ast_error(b->src, call, "T.evaluate: expected a value");
  return add_stmt(b, (tn_stmt *)TN_NEW(Evaluate, .value = e));
}

/* T.buffer_store(A, value, [i, j]) */
static int buffer_store(builder *b, const ast *call) {
  const ast *buffer = arg_of(call, 0, "buffer"), *value = arg_of(call, 1, "value"),
            *indices = arg_of(call, 2, "indices");
  if (!buffer || !value || !indices)
    return ast_error(b->src, call, "T.buffer_store: expected a buffer, a value and indices");
  ast item = *indices, target = *call;
  target.kind = AST_INDEX;
  target.a = (ast *)(uintptr_t)buffer;
  target.items = item.kind == AST_LIST || item.kind == AST_TUPLE ? item.items
                                                                 : (ast_list){(ast *[]){&item}, 1};
  tn_expr *e = eval_expr(b, value);
  return e ? build_store(b, call, &target, e) : -1;
}

/* T.prefetch(A, [T.Range(0, 4)]); with four arguments it is the intrinsic. */
static int prefetch(builder *b, const ast *call) {
  if (call->items.n == 4) return 1;
  const ast *buffer = arg_of(call, 0, "buffer"), *bounds = arg_of(call, 1, "bounds");
  if (!buffer || !bounds)
    return ast_error(b->src, call, "T.prefetch: expected a buffer and its ranges");
  tn_obj *buf = eval_obj(b, buffer), *ranges = buf ? eval_obj(b, bounds) : NULL;
  if (!ranges) return -1;
  if (!TN_AS(Buffer, buf) || ranges->type_index != TN_TI_Array)
    return ast_error(b->src, call, "T.prefetch: expected a buffer and a list of ranges");
  const tn_arr *a = (const tn_arr *)ranges;
  for (int64_t i = 0; i < a->len; ++i) {
    if (!TN_AS(Range, tn_arr_obj(a, i)))
      return ast_error(b->src, bounds, "T.prefetch: expected a list of ranges");
  }
  return add_stmt(
      b, (tn_stmt *)TN_NEW(Prefetch, .buffer = (tn_Buffer *)buf, .bounds = (tn_arr *)ranges));
}

int build_call_stmt(builder *b, const ast *call, const char *name) {
  wrap w = {0};
  if (!strcmp(name, "func_attr")) return func_attr(b, call);
  if (!strcmp(name, "reads"))
    return b->block ? regions(b, call, &b->block->reads, &b->block->has_reads)
                    : regions(b, call, NULL, NULL);
  if (!strcmp(name, "writes"))
    return b->block ? regions(b, call, &b->block->writes, &b->block->has_writes)
                    : regions(b, call, NULL, NULL);
  if (!strcmp(name, "where")) return where(b, call);
  if (!strcmp(name, "block_attr")) return block_attr(b, call);
  if (!strcmp(name, "evaluate")) return evaluate(b, call);
  if (!strcmp(name, "buffer_store")) return buffer_store(b, call);
  if (!strcmp(name, "prefetch")) return prefetch(b, call);
  if (!strcmp(name, "func_name")) {
    const char *text = arg_of(call, 0, "name") ? eval_text(b, arg_of(call, 0, "name")) : NULL;
    return text && (b->func->name = tn_str_from(text)) ? 0 : -1;
  }
  if (!strcmp(name, "func_ret"))
    return (b->func->ret_type = eval_type(b, arg_of(call, 0, "ret_type"))) ? 0 : -1;
  int r = make_wrap(b, call, name, NULL, &w);
  return r ? r : add_wrap(b, w.stmt);
}
