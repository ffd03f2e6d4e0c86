/* Entry of the TVMScript printer; frames, names, small documents.

     PrimFunc  ->  # from tvm.script import tir as T

                   @T.prim_func
                   def main(A: T.Buffer((16,), "float32")):
                       for i in range(16):
                           A[i] = T.float32(0)

   Runs anywhere in the pipeline: what a pass prints must parse back to an equal program. */
#include "tir/script/printer.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "ir/expr.h"
#include "object/path.h"
#include "tir/script/printer_impl.h"

/* ---- small documents ---- */

/* of the print that runs in this thread; owned by its scope */
static _Thread_local tn_arr *empty;
tn_arr *no_paths(void) { return empty; }

tn_ExprDoc *id_doc(const char *name) {
  return (tn_ExprDoc *)TN_DOC(IdDoc, .name = tn_str_from(name));
}
tn_ExprDoc *attr_doc(tn_ExprDoc *value, const char *name) {
  return (tn_ExprDoc *)TN_DOC(AttrAccessDoc, .value = value, .name = tn_str_from(name));
}
tn_ExprDoc *str_doc(const char *text) {
  return (tn_ExprDoc *)TN_DOC(LiteralDoc, .value = (tn_obj *)tn_str_from(text));
}
tn_ExprDoc *int_doc(int64_t value) {
  return (tn_ExprDoc *)TN_DOC(LiteralDoc, .value = (tn_obj *)tir_i64(value));
}
tn_ExprDoc *bool_doc(bool value) {
  return (tn_ExprDoc *)TN_DOC(LiteralDoc, .value = (tn_obj *)tir_bool(value));
}
tn_ExprDoc *dtype_doc(tn_dtype t) { return str_doc(TN_DT(t)); }
tn_ExprDoc *tuple_doc(const tn_vec *elements) {
  return (tn_ExprDoc *)TN_DOC(TupleDoc, .elements = tn_arr_from(elements));
}
tn_ExprDoc *list_doc(const tn_vec *elements) {
  return (tn_ExprDoc *)TN_DOC(ListDoc, .elements = tn_arr_from(elements));
}

tn_ExprDoc *call_kw_doc(tn_ExprDoc *callee, const tn_vec *args, const tn_vec *keys,
                        const tn_vec *values) {
  tn_arr *a = tn_arr_from(args), *k = tn_arr_from(keys), *v = tn_arr_from(values);
  return (tn_ExprDoc *)TN_DOC(CallDoc, .callee = callee, .args = a, .kwargs_keys = k,
                              .kwargs_values = v);
}
tn_ExprDoc *call_doc(tn_ExprDoc *callee, const tn_vec *args) {
  tn_arr *a = tn_arr_from(args);
  return (tn_ExprDoc *)TN_DOC(CallDoc, .callee = callee, .args = a, .kwargs_keys = no_paths(),
                              .kwargs_values = no_paths());
}
tn_ExprDoc *call1_doc(tn_ExprDoc *callee, const void *arg) {
  tn_arr *a = arg ? tn_arr_of(1, arg) : NULL;
  return (tn_ExprDoc *)TN_DOC(CallDoc, .callee = callee, .args = a, .kwargs_keys = no_paths(),
                              .kwargs_values = no_paths());
}

tn_ExprDoc *tir_doc(printer *p, const char *name) {
  p->uses_tir = true;
  return attr_doc(id_doc(tn_cstr(p->cfg->tir_prefix)), name);
}

/* ---- frames ---- */

frame *open_frame(printer *p, const tn_obj *node) {
  frame *f = tn_arena_alloc(&p->arena, sizeof *f);
  if (!f) return NULL;
  *f = (frame){.up = p->top, .node = node};
  return p->top = f;
}

static int release_name(printer *p, const tn_ExprDoc *doc) {
  const tn_IdDoc *id = TN_AS(IdDoc, doc);
  return id ? tn_map_set(p->names, tn_any_obj(id->name), tn_any_int(0)) : 0;
}

void close_frame(printer *p, frame *f) {
  for (int64_t i = 0; i < f->defined.len; ++i) {
    const tn_obj *o = f->defined.items[i].v.obj;
    release_name(p, tn_pmap_get(&p->docs, o));
    tn_pmap_put(&p->docs, o, NULL);
    tn_pmap_put(&p->declared, o, NULL);
  }
  p->top = f->up;
  tn_vec_fini(&f->stmts);
  tn_vec_fini(&f->defined);
}

tn_arr *frame_stmts(frame *f) { return tn_arr_from(&f->stmts); }

int emit(printer *p, const void *doc) { return doc ? tn_vec_push_obj(&p->top->stmts, doc) : -1; }

bool is_defined(const printer *p, const void *obj) { return tn_pmap_get(&p->docs, obj) != NULL; }

int define_doc(printer *p, frame *f, const void *obj, const tn_ExprDoc *doc) {
  if (!doc || tn_pmap_put(&p->docs, obj, doc)) return -1;
  return tn_vec_push_obj(&f->defined, obj);
}

/* Names that mean something else where the text is read. */
static bool is_reserved(const printer *p, const char *name) {
  static const char *const words[] = {
      "False", "None",   "True", "and",   "as",     "assert", "break",    "class",   "continue",
      "def",   "del",    "elif", "else",  "except", "for",    "finally",  "from",    "global",
      "if",    "import", "in",   "is",    "lambda", "not",    "nonlocal", "or",      "pass",
      "raise", "return", "try",  "while", "with",   "yield",  "range",    "metadata"};
  for (int i = 0; i < TN_COUNT(words); ++i) {
    if (strcmp(name, words[i]) == 0) return true;
  }
  return strcmp(name, tn_cstr(p->cfg->tir_prefix)) == 0 ||
         strcmp(name, tn_cstr(p->cfg->ir_prefix)) == 0 ||
         strcmp(name, tn_cstr(p->cfg->module_alias)) == 0;
}

static bool is_taken(const printer *p, const char *name) {
  tn_any out;
  if (is_reserved(p, name)) return true;
  return tn_map_get(p->names, tn_any_cstr(name), &out) && out.v.i64;
}

/* A valid identifier from any text: letters, digits and _ stay. */
static void sanitize(tn_buf *b, const char *hint) {
  if (*hint >= '0' && *hint <= '9') tn_buf_putc(b, '_');
  for (; *hint; ++hint) {
    bool ok = (*hint >= 'a' && *hint <= 'z') || (*hint >= 'A' && *hint <= 'Z') ||
              (*hint >= '0' && *hint <= '9') || *hint == '_';
    tn_buf_putc(b, ok ? *hint : '_');
  }
  if (b->len == 0) tn_buf_puts(b, "v");
}

tn_ExprDoc *define_name(printer *p, frame *f, const void *obj, const char *hint) {
  TN_BUF(b);
  sanitize(&b, hint);
  size_t stem = b.len;
  if (p->cfg->show_object_address) tn_buf_printf(&b, "_%p", obj);
  for (int i = 1; b.data && is_taken(p, b.data); ++i) {
    b.len = stem;
    tn_buf_printf(&b, "_%d", i);
  }
  const char *name = tn_buf_cstr(&b);
  if (!name || tn_map_set(p->names, tn_any_cstr(name), tn_any_int(1))) return NULL;
  tn_ExprDoc *doc = id_doc(name);
  if (!doc || define_doc(p, f, obj, doc)) return NULL;
  return (tn_ExprDoc *)noted(p, obj, doc);
}

int note_declared(printer *p, const void *obj) { return tn_pmap_put_int(&p->declared, obj, 1); }

int64_t count_binders(const printer *p, const void *obj) {
  return tn_pmap_get_int(&p->binders, obj, 0);
}

tn_ExprDoc *bound_name(printer *p, frame *f, const void *obj, const char *hint) {
  bool is_var = TN_IS(Var, obj);
  tn_ExprDoc *known = tn_pmap_get(&p->docs, obj);
  if (is_var && !known && count_binders(p, obj) > 1) known = print_var(p, obj);
  if (is_var && !known && tn_error_pending()) return NULL;
  if (tn_pmap_get_int(&p->declared, obj, 0)) return (tn_ExprDoc *)noted(p, obj, known);
  return define_name(p, f, obj, hint);
}

static bool is_body_of(const frame *f, const tn_obj *node) {
  for (int i = 0; i < f->nloops; ++i) {
    if ((const tn_obj *)f->loops[i] == node) return true;
  }
  return f->node == node;
}

frame *frame_for(printer *p, const void *obj) {
  const tn_obj *node = tn_pmap_get(&p->lowest, obj);
  frame *f = p->top, *outermost_program = p->top;
  for (; f; f = f->up) {
    if (node && is_body_of(f, node)) return f;
    bool program = f->node ? f->node->type_index != TN_TI_IRModule : p->fragment;
    if (program) outermost_program = f;
  }
  return outermost_program;
}

/* ---- where free variables are declared ---- */

/* A node that opens a frame, each time it is come to: a statement may be part of a program more
   than once. */
typedef struct {
  const tn_obj *node;
  int32_t up, level; /* the visit of the node around it, -1: none; its place on the path */
} visit;

enum { MAX_PATH = 512 };

typedef struct {
  printer *p;
  visit *visits;
  int64_t nvisits, cap_visits;
  int32_t path[MAX_PATH]; /* visits on the way from the root to the node that is looked at */
  int n;
  tn_pmap home;       /* variable or buffer -> 1 + the lowest visit around all its uses, 0: none */
  tn_pmap bound_in;   /* variable or buffer -> function that was the last to bind it */
  const tn_obj *func; /* that is walked */
  const tn_obj *body; /* left out: of the `with` whose head is looked at */
} finder;

/* Steps into a node. *opened: whether it has to be left again. */
static int step_in(finder *f, const tn_obj *o, bool *opened) {
  *opened = f->n < MAX_PATH;
  if (!*opened) return 0;
  TN_GROW(f->visits, f->cap_visits, f->nvisits + 1, return -1);
  f->visits[f->nvisits] = (visit){o, f->n ? f->path[f->n - 1] : -1, f->n};
  f->path[f->n++] = (int32_t)f->nvisits++;
  return 0;
}

static bool opens_frame(const tn_obj *o) {
  switch (o->type_index) {
  case TN_TI_PrimFunc:
  case TN_TI_For:
  case TN_TI_BlockRealize:
  case TN_TI_While: return true;
  default: return false;
  }
}

static int note_use(finder *f, const tn_obj *o) {
  int32_t home = f->n ? f->path[f->n - 1] : -1;
  if (tn_pmap_has(&f->home, o)) {
    home = (int32_t)tn_pmap_get_int(&f->home, o, 0) - 1;
    while (home >= 0 && (f->visits[home].level >= f->n || f->path[f->visits[home].level] != home))
      home = f->visits[home].up;
  }
  TN_TRY(tn_pmap_put(&f->p->lowest, o, home < 0 ? NULL : f->visits[home].node));
  return tn_pmap_put_int(&f->home, o, home + 1);
}

static int find_uses(void *ctx, tn_obj *o);

static int note_binder(finder *f, const void *o) {
  bool here = tn_pmap_get(&f->bound_in, o) == (void *)(uintptr_t)f->func;
  int64_t before = count_binders(f->p, o);
  TN_TRY(note_use(f, (const tn_obj *)o)); /* a declaration would stand in front of the statement */
  TN_TRY(tn_pmap_put(&f->bound_in, o, f->func));
  return tn_pmap_put_int(&f->p->binders, o, before == 0 || (before == 1 && !here) ? 1 : 2);
}

static int note_block(finder *f, const tn_Block *b) {
  for (int64_t i = 0; i < b->iter_vars->len; ++i)
    TN_TRY(note_binder(f, ((const tn_IterVar *)tn_arr_obj(b->iter_vars, i))->var));
  for (int64_t i = 0; i < b->alloc_buffers->len; ++i)
    TN_TRY(note_binder(f, tn_arr_obj(b->alloc_buffers, i)));
  for (int64_t i = 0; i < b->match_buffers->len; ++i)
    TN_TRY(note_binder(f, ((const tn_MatchBufferRegion *)tn_arr_obj(b->match_buffers, i))->buffer));
  return 0;
}

/* Counts what a node binds. */
static int note_binders(finder *f, const tn_obj *o) {
  switch (o->type_index) {
  case TN_TI_For: return note_binder(f, ((const tn_For *)o)->loop_var);
  case TN_TI_LetStmt: return note_binder(f, ((const tn_LetStmt *)o)->var);
  case TN_TI_Let: return note_binder(f, ((const tn_Let *)o)->var);
  case TN_TI_Allocate: return note_binder(f, ((const tn_Allocate *)o)->buffer_var);
  case TN_TI_AllocateConst: return note_binder(f, ((const tn_AllocateConst *)o)->buffer_var);
  case TN_TI_DeclBuffer: return note_binder(f, ((const tn_DeclBuffer *)o)->buffer);
  case TN_TI_Block: return note_block(f, (const tn_Block *)o);
  case TN_TI_AttrStmt: {
    const tn_IterVar *iv = TN_AS(IterVar, ((const tn_AttrStmt *)o)->node);
    return iv ? note_binder(f, iv->var) : 0;
  }
  default: return 0;
  }
}

/* Each branch of a condition is a separate body. */
static int find_in_branch(finder *f, tn_stmt *branch) {
  if (!branch) return 0;
  bool opens;
  TN_TRY(step_in(f, (tn_obj *)branch, &opens));
  int err = find_uses(f, (tn_obj *)branch);
  if (opens) f->n--;
  return err;
}

/* Statements that bind or mark what their body sees: `with` unless they are the last of a body. */
static bool needs_with(const tn_obj *o) {
  switch (o->type_index) {
  case TN_TI_LetStmt:
  case TN_TI_AttrStmt:
  case TN_TI_AssertStmt:
  case TN_TI_Allocate:
  case TN_TI_AllocateConst:
  case TN_TI_DeclBuffer:
  case TN_TI_BufferRealize: return true;
  default: return false;
  }
}

static int find_in_seq(finder *f, const tn_arr *stmts) {
  for (int64_t i = 0; i < stmts->len; ++i) {
    tn_obj *s = tn_arr_obj(stmts, i);
    const tn_obj *outside = f->body;
    bool with = i + 1 < stmts->len && needs_with(s);
    tn_any body = tn_any_none();
    if (with) body = tn_field_get(s, tn_type_field(s->type, "body"));
    f->body = with ? body.v.obj : outside;
    TN_TRY(find_uses(f, s));
    f->body = outside;
    if (!with) continue;
    bool opens;
    TN_TRY(step_in(f, s, &opens));
    TN_TRY(find_uses(f, body.v.obj));
    if (opens) f->n--;
  }
  return 0;
}

static int find_uses(void *ctx, tn_obj *o) {
  finder *f = ctx;
  const tn_SeqStmt *seq = TN_AS(SeqStmt, o);
  if (o == f->body) return 0;
  if (seq) return find_in_seq(f, seq->seq);
  const tn_IfThenElse *cond = TN_AS(IfThenElse, o);
  if (cond)
    return find_uses(f, (tn_obj *)cond->condition) || find_in_branch(f, cond->then_case) ||
                   find_in_branch(f, cond->else_case)
               ? -1
               : 0;
  bool named =
      o->type_index == TN_TI_Var || o->type_index == TN_TI_SizeVar || o->type_index == TN_TI_Buffer;
  if (named && note_use(f, o)) return -1;
  if (o->type_index == TN_TI_String || o->type->kind == TN_KIND_OPAQUE) return 0;
  TN_TRY(note_binders(f, o));
  if (o->type_index == TN_TI_PrimFunc) f->func = o;
  bool opens = false;
  const tn_BlockRealize *r = TN_AS(BlockRealize, o); /* its values are those outside of the block */
  if (r && find_uses(f, (tn_obj *)r->iter_values)) return -1;
  if (opens_frame(o)) TN_TRY(step_in(f, o, &opens));
  if (r) {
    int err = find_uses(f, (tn_obj *)r->predicate) || find_uses(f, (tn_obj *)r->block);
    if (opens) f->n--;
    return err ? -1 : 0;
  }
  int err = tn_visit_children(o, find_uses, f);
  if (opens) f->n--;
  return err;
}

int find_free(printer *p, const tn_obj *root) {
  finder f = {.p = p};
  int err = find_uses(&f, (tn_obj *)(uintptr_t)root);
  tn_free(f.visits);
  tn_pmap_fini(&f.home);
  tn_pmap_fini(&f.bound_in);
  return err;
}

/* ---- places ---- */

tn_Doc *noted(printer *p, const void *obj, const void *doc) {
  tn_Doc *d = (tn_Doc *)(uintptr_t)doc;
  if (!d || !obj) return d;
  tn_str *comment = tn_pmap_get(&p->marks, obj);
  if (comment && TN_IS(StmtDoc, d)) {
    tn_any text = tn_any_obj(comment);
    if (tn_field_set((tn_obj *)d, tn_type_field(d->hdr.type, "comment"), &text)) return NULL;
  }
  tn_obj *path = tn_pmap_get(&p->underlined, obj);
  if (path) { /* a block and its realization are one statement */
    TN_VEC(all);
    for (int64_t i = 0; i < d->source_paths->len; ++i)
      TN_TRYP(tn_vec_push(&all, d->source_paths->items[i]));
    tn_arr *paths = tn_vec_push_obj(&all, path) ? NULL : tn_arr_from(&all);
    tn_any value = tn_any_obj(paths);
    if (!paths || tn_field_set((tn_obj *)d, tn_type_field(d->hdr.type, "source_paths"), &value))
      return NULL;
  }
  return d;
}

/* One step of a path from an object; None where it leads nowhere. */
static tn_any step(tn_any from, const tn_ObjectPath *path) {
  tn_obj *o = tn_any_is_obj(&from) ? from.v.obj : NULL;
  const tn_AttributeAccessPath *attr = TN_AS(AttributeAccessPath, path);
  const tn_ArrayIndexPath *index = TN_AS(ArrayIndexPath, path);
  const tn_MapValuePath *value = TN_AS(MapValuePath, path);
  tn_any out = tn_any_none();
  if (!o) return out;
  if (attr && o->type->kind == TN_KIND_NODE) {
    const tn_field *f = tn_type_field(o->type, tn_cstr(attr->attr_key));
    if (f) out = tn_field_get(o, f);
  } else if (index && o->type->kind == TN_KIND_ARRAY) {
    out = tn_arr_get((tn_arr *)o, index->index);
  } else if (value && o->type->kind == TN_KIND_MAP) {
    tn_map_get((tn_map *)o, value->key, &out);
  }
  return out;
}

static tn_any walk(tn_obj *root, const tn_ObjectPath *path) {
  return path->parent ? step(walk(root, path->parent), path) : tn_any_obj(root);
}

/* The object that a path leads to from root, or that has the field it leads to; NULL when it leads
 * nowhere. */
static tn_obj *follow(tn_obj *root, const tn_ObjectPath *path) {
  tn_any at = walk(root, path);
  if (tn_any_is_obj(&at)) return at.v.obj;
  return path->parent ? follow(root, path->parent) : NULL;
}

/* Every object to be underlined gets its own path, which is compared when the text is written. */
static int mark_objects(printer *p, tn_obj *root, tn_vec *paths) {
  const tn_PrinterConfig *c = p->cfg;
  for (int64_t i = 0; c->path_to_underline && i < c->path_to_underline->len; ++i) {
    tn_obj *path = tn_arr_obj(c->path_to_underline, i),
           *o = follow(root, (const tn_ObjectPath *)path);
    if (o && tn_pmap_put(&p->underlined, o, path)) return -1;
    TN_TRY(tn_vec_push_obj(paths, path));
  }
  for (int64_t i = 0; c->obj_to_underline && i < c->obj_to_underline->len; ++i) {
    tn_ObjectPath *path = tn_path_root(tn_str_fmt("underlined %lld", (long long)i));
    if (!path || tn_pmap_put(&p->underlined, tn_arr_obj(c->obj_to_underline, i), path)) return -1;
    TN_TRY(tn_vec_push_obj(paths, path));
  }
  for (int64_t i = 0; c->obj_to_annotate && i < c->obj_to_annotate->len; ++i) {
    TN_TRY(tn_pmap_put(&p->marks, c->obj_to_annotate->entries[i].key.v.obj,
                       c->obj_to_annotate->entries[i].value.v.obj));
  }
  for (int64_t i = 0; c->path_to_annotate && i < c->path_to_annotate->len; ++i) {
    tn_obj *o = follow(root, (const tn_ObjectPath *)c->path_to_annotate->entries[i].key.v.obj);
    if (o) TN_TRY(tn_pmap_put(&p->marks, o, c->path_to_annotate->entries[i].value.v.obj));
  }
  return 0;
}

/* ---- entry ---- */

static int print_root(printer *p, frame *f, tn_obj *root) {
  p->fragment = root->type_index != TN_TI_PrimFunc && root->type_index != TN_TI_IRModule;
  if (root->type_index == TN_TI_PrimFunc)
    return emit(p, print_prim_func(p, (tn_PrimFunc *)root, NULL));
  if (root->type_index == TN_TI_IRModule) return emit(p, print_module(p, (tn_IRModule *)root));
  if (TN_AS(SeqStmt, root)) return print_body(p, f, root);
  if (TN_IS(Stmt, root)) return print_stmt(p, root); /* what it binds ends with it: `with` */
  if (TN_AS(MatchBufferRegion, root)) return print_match(p, f, (tn_MatchBufferRegion *)root);
  tn_ExprDoc *doc = print_expr(p, root);
  if (!p->cfg->verbose_expr) f->stmts.len = 0; /* the declarations of its variables */
  return emit(p, doc ? TN_DOC(ExprStmtDoc, .expr = doc) : NULL);
}

/* "# from tvm.script import tir as T" above functions and modules */
static void header(const printer *p, tn_buf *out) {
  if (p->uses_ir)
    tn_buf_printf(out, "# from tvm.script import ir as %s\n", tn_cstr(p->cfg->ir_prefix));
  if (p->uses_tir)
    tn_buf_printf(out, "# from tvm.script import tir as %s\n", tn_cstr(p->cfg->tir_prefix));
  tn_buf_puts(out, "\n");
}

static int metadata(const printer *p, tn_buf *out) {
  if (!p->meta) return 0;
  if (!p->cfg->show_meta) {
    tn_buf_puts(out, "\n# Metadata omitted. Use show_meta=True in script() method to show it.");
    return 0;
  }
  tn_func *save = tn_scope_own(tn_func_find("node.SaveJSON"));
  tn_any json, arg = tn_any_obj(p->meta);
  if (!save || tn_func_call(save, &arg, 1, &json)) return -1;
  if (!tn_any_is_obj(&json) || !tn_scope_own(json.v.obj)) return -1;
  /* a backslash stays one in the text, and three quotes do not meet */
  tn_buf_puts(out, "\nmetadata = tvm.ir.load_json(\"\"\"");
  for (const char *s = tn_cstr((tn_str *)json.v.obj), *start = s; *s; ++s) {
    if (*s == '\\' || (*s == '"' && (s[1] == '"' || !s[1] || (s > start && s[-1] == '"'))))
      tn_buf_putc(out, '\\');
    tn_buf_putc(out, *s);
  }
  tn_buf_puts(out, "\"\"\")");
  return 0;
}

static tn_str *print_text(printer *p, tn_obj *root, frame *f, const doc_options *opt) {
  TN_BUF(out);
  if (find_free(p, root) || print_root(p, f, root)) return NULL;
  tn_StmtBlockDoc *all = TN_DOC(StmtBlockDoc, .stmts = frame_stmts(f));
  if (!all) return NULL;
  if (root->type_index == TN_TI_PrimFunc || root->type_index == TN_TI_IRModule) header(p, &out);
  p->head = out.len;
  if (doc_text((tn_Doc *)all, opt, &out) || metadata(p, &out)) return NULL;
  return tn_scope_own(tn_buf_str(&out));
}

static const tn_PrinterConfig *default_config(void) {
  return tn_scope_own(tn_node_make(&tn_type_PrinterConfig, 0, NULL, NULL));
}

/* After an error inner frames are still open. */
static void finish(printer *p) {
  while (p->top) close_frame(p, p->top);
  tn_pmap *tables[] = {&p->declared, &p->binders, &p->docs,      &p->lowest,
                       &p->loops,    &p->marks,   &p->underlined};
  for (int i = 0; i < TN_COUNT(tables); ++i) tn_pmap_fini(tables[i]);
  tn_arena_fini(&p->arena);
  empty = NULL;
}

/* Prints with the paths of what is marked underlined, or (starts not NULL) only found. */
static tn_str *print_with(printer *p, tn_obj *root, tn_pmap *starts) {
  TN_VEC(paths);
  p->names = tn_scope_own(tn_map_new());
  empty = tn_scope_own(tn_arr_new(NULL, 0));
  frame *f = p->cfg && p->names && empty ? open_frame(p, NULL) : NULL;
  if (!f || mark_objects(p, root, &paths)) return NULL;
  tn_arr *underline = paths.len && !starts ? tn_arr_from(&paths) : NULL;
  doc_options opt = {(int)p->cfg->indent_spaces, p->cfg->print_line_numbers,
                     (int)p->cfg->num_context_lines, underline, starts};
  return print_text(p, root, f, &opt);
}

tn_str *script_print(tn_obj *root, const tn_PrinterConfig *cfg) {
  TN_SCOPE(s);
  printer p = {.cfg = cfg ? cfg : default_config()};
  tn_str *text = print_with(&p, root, NULL);
  finish(&p);
  return tn_scope_return(s, text);
}

/* Line of a byte of the text that follows the head of `head` bytes. */
static int64_t line_of(const tn_str *text, size_t head, int64_t byte) {
  int64_t line = 1;
  for (size_t i = 0; i < text->len && i < head + (size_t)byte; ++i) line += text->data[i] == '\n';
  return line;
}

static int put_lines(printer *p, const tn_arr *objects, const tn_pmap *starts, const tn_str *text,
                     tn_pmap *lines) {
  int64_t line = 1;
  size_t at = 0, head = p->head;
  for (int64_t i = 0; i < objects->len; ++i) {
    const tn_obj *o = tn_arr_obj(objects, i), *path = tn_pmap_get(&p->underlined, o);
    int64_t byte = path ? tn_pmap_get_int(starts, path, -1) : -1;
    if (byte < 0) continue;
    size_t to = head + (size_t)byte; /* objects come mostly in the order of the text */
    if (to < at) line = line_of(text, head, byte), at = to;
    for (; at < to && at < text->len; ++at) line += text->data[at] == '\n';
    TN_TRY(tn_pmap_put_int(lines, o, line));
  }
  return 0;
}

tn_str *script_print_lines(tn_obj *root, const tn_arr *objects, tn_pmap *lines) {
  TN_SCOPE(s);
  tn_pmap starts = {0};
  tn_PrinterConfig *cfg;
  TN_GETP(cfg, (tn_PrinterConfig *)(uintptr_t)default_config());
  tn_any value = tn_any_obj((tn_obj *)(uintptr_t)objects);
  TN_TRYP(tn_field_set((tn_obj *)cfg, tn_type_field(cfg->hdr.type, "obj_to_underline"), &value));
  printer p = {.cfg = cfg};
  tn_str *text = print_with(&p, root, &starts);
  if (text && put_lines(&p, objects, &starts, text, lines)) text = NULL;
  finish(&p);
  tn_pmap_fini(&starts);
  return tn_scope_return(s, text);
}
