/* Entry of the script builder; environment and bodies.

     @T.prim_func                                PrimFunc(params=[a], buffer_map={a: A},
     def main(A: T.Buffer((16,), "float32")):      body=For(i, 0, 16, BufferStore(A, 0, [i])))
         for i in range(16):              ->
             A[i] = T.float32(0)

   The tree comes from ast.h; what is printed by printer.c reads back to an equal program. */
#include "tir/script/build.h"

#include <string.h>

#include "base/alloc.h"
#include "ir/module.h"
#include "ir/span.h"
#include "tir/script/build_impl.h"

/* ---- environment ---- */

static int newest_of(const builder *b, const char *name) {
  tn_any out;
  return tn_map_get(b->newest, tn_any_cstr(name), &out) ? (int)out.v.i64 : -1;
}

int bind_name(builder *b, const char *name, val value) {
  if (b->nbindings == b->cap_bindings) {
    int cap = b->cap_bindings ? b->cap_bindings * 2 : 64;
    binding *all = tn_realloc_array(b->bindings, cap, sizeof *all);
    if (!all) return -1;
    b->bindings = all;
    b->cap_bindings = cap;
  }
  b->bindings[b->nbindings] = (binding){name, value, newest_of(b, name)};
  return tn_map_set(b->newest, tn_any_cstr(name), tn_any_int(b->nbindings++));
}

bool find_name(const builder *b, const char *name, val *out) {
  int i = newest_of(b, name);
  if (i < 0) return false;
  *out = b->bindings[i].value;
  return true;
}

int forget_bindings(builder *b, int height) {
  while (b->nbindings > height) {
    const binding *last = &b->bindings[--b->nbindings];
    TN_TRY(tn_map_set(b->newest, tn_any_cstr(last->name), tn_any_int(last->shadowed)));
  }
  return 0;
}

/* ---- bodies ---- */

body *open_body(builder *b) {
  body *inner = tn_arena_alloc(&b->arena, sizeof *inner);
  if (!inner) return NULL;
  inner->up = b->body;
  inner->bindings = b->nbindings;
  return b->body = inner;
}

tn_Span *span_at(builder *b, const ast *n) {
  const ast_source *src = b->src;
  if (!b->source) {
    tn_str *file = tn_str_from(src->file),
           *text = tn_scope_own(tn_str_new_n(src->text, (size_t)src->len));
    b->source = TN_NEW(SourceName, .name = file, .text = text, .first_line = src->first_line,
                       .first_column = src->first_col);
  }
  int line = src->first_line - 1, col = src->first_col;
  return b->source ? ir_span(b->source, n->line + line, n->end_line + line, n->col + col,
                             n->end_col + col)
                   : NULL;
}

int place_stmt(builder *b, tn_stmt *s) {
  const tn_field *f = tn_type_field(s->hdr.type, "span");
  tn_any span = tn_field_get((const tn_obj *)s, f);
  if (!b->stmt || span.type_index != TN_NONE) return 0;
  span = tn_any_obj(span_at(b, b->stmt));
  return span.v.obj ? tn_field_set((tn_obj *)s, f, &span) : -1;
}

int one_step(builder *b, const ast *n) {
  if (b->left-- > 0) return 0;
  return ast_error(
      b->src, n,
      "the program is too large for its text: loops over lists, macros and lists in lists come to "
      "more than %d expressions, statements and elements",
      BUILD_FREE_STEPS);
}

static int add_item(builder *b, tn_stmt *s, bool wraps) {
  body *o = b->body;
  if (!s || place_stmt(b, s)) return -1;
  if (o->n == o->cap) {
    int cap = o->cap ? o->cap * 2 : 8;
    body_item *items = tn_arena_array(&b->arena, cap, sizeof *items);
    if (!items) return -1;
    if (o->n) memcpy(items, o->items, (size_t)o->n * sizeof *items);
    o->items = items;
    o->cap = cap;
  }
  o->items[o->n++] = (body_item){s, wraps};
  return 0;
}

int add_stmt(builder *b, tn_stmt *s) { return add_item(b, s, false); }
int add_wrap(builder *b, tn_stmt *s) { return add_item(b, s, true); }

tn_stmt *with_stmt_body(tn_stmt *s, tn_stmt *inner) {
  const tn_field *f = tn_type_field(s->hdr.type, "body");
  tn_stmt *copy = inner ? tn_node_copy(s->hdr.type, s) : NULL;
  tn_any value = tn_any_obj(inner);
  return copy && tn_field_set((tn_obj *)copy, f, &value) == 0 ? copy : NULL;
}

/* Sequence of v.items[from..] in reverse: the vector was filled from the end. */
static tn_stmt *seq_reversed(const tn_vec *reversed) {
  TN_VEC(forward);
  for (int64_t i = reversed->len; i-- > 0;) TN_TRYP(tn_vec_push(&forward, reversed->items[i]));
  return tir_seq(&forward);
}

tn_stmt *close_body(builder *b) {
  TN_VEC(after); /* what follows, last first */
  body *o = b->body;
  for (int i = o->n; i-- > 0;) {
    tn_stmt *s = o->items[i].stmt;
    if (o->items[i].wraps) {
      s = with_stmt_body(s, seq_reversed(&after));
      after.len = 0;
    }
    if (!s || tn_vec_push_obj(&after, s)) return NULL;
  }
  b->body = o->up;
  return forget_bindings(b, o->bindings) ? NULL : seq_reversed(&after);
}

int place_error(builder *b, const ast *at) {
  tn_error e;
  const tn_error *now = tn_error_get();
  if (!now || now->kind == TN_DiagnosticError || now->kind == TN_MemoryError) return -1;
  if (now->cause) { /* the host's own exception comes out as it is, and says where it was met */
    return now->notes
               ? -1
               : tn_error_note(" --> %s:%d:%d", b->src->file, at->line + b->src->first_line - 1,
                               at->col + b->src->first_col);
  }
  tn_error_take(&e);
  ast_error(b->src, at, "%s", e.message ? e.message : "?");
  tn_error_fini(&e);
  return -1;
}

/* ---- modules ---- */

static bool is_t_decorator(builder *b, const ast *n, const char *want) {
  const ast *f = n->kind == AST_CALL ? n->a : n;
  val v;
  if (f->kind != AST_ATTR || eval(b, f, &v)) {
    tn_error_clear();
    return false;
  }
  return (v.kind == VAL_T || v.kind == VAL_I) && strcmp(v.name, want) == 0;
}

static const ast *find_decorator(builder *b, const ast *def, const char *want) {
  for (int i = 0; i < def->decorators.n; ++i) {
    if (is_t_decorator(b, def->decorators.items[i], want)) return def->decorators.items[i];
  }
  return NULL;
}

static int declare_functions(builder *b, const ast *class_) {
  for (int i = 0; i < class_->body.n; ++i) {
    const ast *def = class_->body.items[i];
    if (def->kind != AST_DEF) continue;
    tn_Type *type = signature_of(b, def);
    tn_GlobalVar *gv =
        type || !tn_error_pending()
            ? TN_NEW(GlobalVar, .name_hint = tn_str_from(def->text), ._checked_type_ = type)
            : NULL;
    if (!gv || bind_name(b, def->text, PLAIN_OBJ(gv))) return -1;
  }
  return 0;
}

static int module_attrs(builder *b, const ast *n) {
  const char *name = n->kind == AST_EXPR && n->a->kind == AST_CALL ? "module_attrs" : NULL;
  val f, v;
  if (!name || eval(b, n->a->a, &f) || f.kind != VAL_I || strcmp(f.name, name) != 0 ||
      !arg_of(n->a, 0, "attrs")) {
    return n->kind == AST_EXPR && n->a->kind == AST_STR
               ? 0
               : ast_error(b->src, n, "expected a function or I.module_attrs in a module");
  }
  TN_TRY(eval(b, arg_of(n->a, 0, "attrs"), &v));
  if (v.v.type_index != TN_TI_Map)
    return ast_error(b->src, n, "I.module_attrs: expected a dictionary");
  tn_DictAttrs *attrs = ir_attrs_new((tn_map *)v.v.v.obj);
  tn_any value = tn_any_obj(attrs);
  return attrs
             ? tn_field_set((tn_obj *)b->module, tn_type_field(&tn_type_IRModule, "attrs"), &value)
             : -1;
}

static int module_member(builder *b, const ast *n) {
  val gv;
  if (n->kind == AST_PASS || n->kind == AST_IMPORT) return 0;
  if (n->kind != AST_DEF) return module_attrs(b, n);
  tn_PrimFunc *f = build_func(b, n);
  if (!f || !find_name(b, n->text, &gv)) return -1;
  return ir_module_add(b->module, (tn_GlobalVar *)gv.v.v.obj, (tn_BaseFunc *)f, false)
             ? place_error(b, n)
             : 0;
}

static tn_obj *build_module(builder *b, const ast *class_) {
  if (!(b->module = ir_module_new(NULL, NULL, NULL))) return NULL;
  if (bind_name(b, "cls", (val){.kind = VAL_MODULE}) ||
      bind_name(b, class_->text, (val){.kind = VAL_MODULE}))
    return NULL;
  TN_TRYP(declare_functions(b, class_));
  for (int i = 0; i < class_->body.n; ++i) {
    if (module_member(b, class_->body.items[i])) return NULL;
  }
  return (tn_obj *)b->module;
}

/* ---- entry ---- */

int bind_script_modules(builder *b) {
  static const struct {
    const char *name;
    val_kind kind;
  } known[] = {{"T", VAL_T}, {"tir", VAL_T}, {"I", VAL_I}};
  for (int i = 0; i < TN_COUNT(known); ++i) {
    TN_TRY(bind_name(b, known[i].name, (val){.kind = known[i].kind, .name = ""}));
  }
  return 0;
}

static int start(builder *b) {
  b->left =
      BUILD_FREE_STEPS + 8 * (int64_t)b->src->len; /* twice the most that reading it once takes */
  if (!(b->newest = tn_scope_own(tn_map_new()))) return -1;
  return bind_script_modules(b);
}

static void finish(builder *b) {
  for (block_info *i = b->block; i; i = i->up) {
    tn_vec *all[] = {&i->iter_vars, &i->iter_values,   &i->reads,
                     &i->writes,    &i->alloc_buffers, &i->match_buffers};
    for (int j = 0; j < TN_COUNT(all); ++j) tn_vec_fini(all[j]);
  }
  if (b->func) {
    tn_vec_fini(&b->func->params);
    tn_vec_fini(&b->func->root_alloc);
  }
  tn_pmap_fini(&b->loops);
  tn_pmap_fini(&b->declared);
  tn_free(b->bindings);
  tn_arena_fini(&b->arena);
}

/* metadata = tvm.ir.load_json("..."): what the text refers to as metadata["type"][0] */
static int read_metadata(builder *b, const ast *n) {
  bool named = n->kind == AST_ASSIGN && n->items.n == 1 && n->items.items[0]->kind == AST_NAME &&
               strcmp(n->items.items[0]->text, "metadata") == 0;
  if (!named) return 0;
  const ast *text = n->a->kind == AST_CALL ? arg_of(n->a, 0, "json_str") : NULL;
  if (!text || text->kind != AST_STR)
    return ast_error(b->src, n, "metadata: expected tvm.ir.load_json of a text");
  tn_func *load = tn_scope_own(tn_func_find("node.LoadJSON"));
  tn_any ret, arg = tn_any_obj(tn_scope_own(tn_str_new_n(text->text, (size_t)text->ntext)));
  if (!load || !arg.v.obj || tn_func_call(load, &arg, 1, &ret)) return place_error(b, text);
  if (tn_any_is_obj(&ret) && !tn_scope_own(ret.v.obj)) return -1;
  return bind_name(b, "metadata", PLAIN(ret));
}

static tn_obj *build_program(builder *b, ast_list stmts) {
  const ast *found = NULL;
  for (int i = 0; i < stmts.n; ++i) {
    const ast *n = stmts.items[i];
    TN_TRYP(read_metadata(b, n));
    if (n->kind != AST_DEF && n->kind != AST_CLASS) continue;
    if (found)
      return (void)ast_error(b->src, n,
                             "expected one function or class; put several functions into an "
                             "@I.ir_module class"),
             NULL;
    found = n;
  }
  if (!found)
    return TN_RAISEP(DiagnosticError, NULL, "%s: no function or class is defined", b->src->file);
  if (found->kind == AST_CLASS) return build_module(b, found);
  if (find_decorator(b, found, "prim_func") || found->decorators.n == 0)
    return (tn_obj *)build_func(b, found);
  return (void)ast_error(b->src, found->decorators.items[0], "expected the decorator T.prim_func"),
         NULL;
}

tn_obj *script_parse(const ast_source *src, const script_options *opt) {
  TN_SCOPE(s);
  builder b = {.src = src, .opt = opt};
  ast_list stmts = {0};
  tn_obj *program = NULL;
  if (ast_parse(src, &b.arena, &stmts) == 0 && start(&b) == 0) program = build_program(&b, stmts);
  finish(&b);
  return tn_scope_return(s, program);
}

tn_obj *script_parse_expr(const ast_source *src, const tn_map *locals, const script_options *opt) {
  TN_SCOPE(s);
  builder b = {.src = src, .opt = opt};
  tn_obj *result = NULL;
  const ast *n = ast_parse_expr(src, &b.arena);
  bool ok = n && start(&b) == 0;
  for (int64_t i = 0; ok && locals && i < locals->len; ++i) {
    const tn_any *k = &locals->entries[i].key;
    ok = k->type_index == TN_TI_String &&
         bind_name(&b, ((const tn_str *)k->v.obj)->data, PLAIN(locals->entries[i].value)) == 0;
  }
  if (ok) result = eval_obj(&b, n);
  finish(&b);
  return tn_scope_return(s, result);
}
