/* The parser's frame: errors, the two passes over a module's definitions, the metadata section.

   After an error of meaning (a name that is not known, a number that does not fit) the parser goes
   on with something in its place, after one of form with the next definition; at the end all errors
   are raised together. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/scope.h"
#include "base/stack.h"
#include "ir/module.h"
#include "ir/span.h"
#include "object/functions.h"
#include "relay/text/parse_impl.h"
#include "tenon/object.h"

enum { MAX_ERRORS = 20 };

/* ---- errors ---- */

static tn_Span *span_of(const rt *p, const rt_token *first, const rt_token *last) {
  return ir_span(p->source, first->line, last->end_line, first->col, last->end_col);
}

/* Definitions are read twice: is it known already? */
static bool is_noted(const rt *p, const tn_Span *span, const char *text) {
  for (int64_t i = 0; i < p->diag->diagnostics->len; ++i) {
    const tn_Diagnostic *d = (const tn_Diagnostic *)p->diag->diagnostics->items[i].v.obj;
    if (d->span->line == span->line && d->span->column == span->column &&
        strcmp(tn_cstr(d->message), text) == 0)
      return true;
  }
  return false;
}

int rt_fail(rt *p, const rt_token *at, const char *fmt, ...) {
  char line[512];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(line, sizeof line, fmt, ap);
  va_end(ap);
  tn_error_clear();
  tn_Span *span;
  TN_GET(span, span_of(p, at, at));
  if (!is_noted(p, span, line)) TN_TRY(ir_diag_emit(p->diag, IR_DIAG_ERROR, span, "%s", line));
  return TN_RAISE(DiagnosticError, NULL, "%s", line);
}

bool rt_goes_on(rt *p) {
  if (tn_error_get_kind() != TN_DiagnosticError || p->diag->diagnostics->len >= MAX_ERRORS)
    return false;
  tn_error_clear();
  return true;
}

/* An error of a builder gets the place of the text it came from. */
static void adopt_error(rt *p) {
  if (!tn_error_pending() || tn_error_get_kind() == TN_DiagnosticError ||
      tn_error_get_kind() == TN_MemoryError)
    return;
  TN_BUF(text);
  tn_buf_puts(&text, tn_error_message());
  if (tn_buf_ok(&text) == 0) (void)rt_fail(p, &p->last, "%s", tn_buf_cstr(&text));
}

/* ---- small steps ---- */

bool rt_is(const rt *p, const char *op) {
  return p->tok.kind == RT_OP && strcmp(p->tok.op, op) == 0;
}

bool rt_is_name(const rt *p, const char *name) {
  size_t n = strlen(name);
  return p->tok.kind == RT_NAME && (size_t)p->tok.len == n && memcmp(p->tok.text, name, n) == 0;
}

const char *rt_text(rt *p, const rt_token *t) {
  return tn_arena_strndup(&p->arena, t->text, (size_t)t->len);
}

const char *rt_describe(rt *p, const rt_token *t) {
  if (t->kind == RT_END) return "the end of the text";
  TN_BUF(b);
  const char *sigil = t->kind == RT_LOCAL || t->kind == RT_GRAPH ? "%"
                      : t->kind == RT_GLOBAL                     ? "@"
                                                                 : "";
  tn_buf_printf(&b, "`%s%.*s`", sigil, t->len < 60 ? t->len : 60, t->text);
  const char *text = tn_buf_ok(&b) ? NULL : tn_arena_strndup(&p->arena, tn_buf_cstr(&b), b.len);
  return text ? text : "this";
}

int rt_accept(rt *p, const char *op, bool *yes) {
  *yes = rt_is(p, op);
  return *yes ? rt_next(p) : 0;
}

int rt_expect(rt *p, const char *op) {
  if (rt_is(p, op)) return rt_next(p);
  return rt_fail(p, &p->tok, "expected `%s`, got %s", op, rt_describe(p, &p->tok));
}

tn_Span *rt_span_from(rt *p, const rt_token *first) { return span_of(p, first, &p->last); }

void rt_place(void *node, tn_Span *span) {
  relay_expr *e = node;
  if (!e || !span || e->span) return;
  tn_retain(span);
  e->span = span;
}

static tn_any key_of(const char *name, int64_t id) {
  return name ? tn_any_cstr(name) : tn_any_int(id);
}

static int64_t number_of(const rt *p, const char *name, int64_t id) {
  tn_any found;
  return tn_map_get(p->known, key_of(name, id), &found) ? found.v.i64 : -1;
}

int rt_bind(rt *p, const char *name, int64_t id, void *value) {
  TN_GROW(p->bindings, p->cap, p->nbindings + 1, return -1);
  int64_t hidden = number_of(p, name, id);
  TN_TRY(tn_map_set(p->known, key_of(name, id), tn_any_int(p->nbindings)));
  p->bindings[p->nbindings++] = (rt_binding){name, id, value, hidden};
  return 0;
}

void rt_unbind(rt *p, int64_t mark) {
  while (p->nbindings > mark) {
    const rt_binding *b = &p->bindings[--p->nbindings];
    (void)tn_map_set(p->known, key_of(b->name, b->id),
                     tn_any_int(b->hidden)); /* the key is there */
  }
}

tn_obj *rt_find(const rt *p, const char *name, int64_t id) {
  int64_t n = number_of(p, name, id);
  return n < 0 ? NULL : p->bindings[n].value;
}

tn_obj *rt_meta_object(rt *p, const rt_token *t) {
  const char *key = rt_text(p, t);
  tn_any list, item = tn_any_none();
  if (key && p->meta && tn_map_get(p->meta, tn_any_cstr(key), &list) && tn_any_is_obj(&list) &&
      list.v.obj->type_index == TN_TI_Array)
    item = tn_arr_get((const tn_arr *)list.v.obj, t->number);
  if (tn_any_is_obj(&item)) return item.v.obj;
  return (void)rt_fail(p, t, "the metadata section has no meta[%s][%lld]", key ? key : "?",
                       (long long)t->number),
         NULL;
}

tn_GlobalVar *rt_global(rt *p, const char *name) {
  tn_GlobalVar *v = (tn_GlobalVar *)tn_map_find(p->globals, name);
  if (v) return v;
  TN_GETP(v, ir_global_var(name));
  TN_TRYP(tn_map_set(p->globals, tn_any_cstr(name), tn_any_obj(v)));
  return v;
}

/* ---- the module ---- */

static int parse_version(rt *p) {
  if (!rt_is(p, "#")) return 0;
  rt_token begin = p->tok;
  TN_TRY(rt_next(p));
  TN_TRY(rt_expect(p, "["));
  if (!rt_is_name(p, "version")) return rt_fail(p, &begin, "expected #[version = \"0.0.5\"]");
  TN_TRY(rt_next(p));
  TN_TRY(rt_expect(p, "="));
  bool known = p->tok.kind == RT_STR && p->tok.len == 7 && memcmp(p->tok.text, "\"0.0.5\"", 7) == 0;
  if (!known)
    return rt_fail(p, &p->tok,
                   "invalid semantic version %s: texts of version \"0.0.5\" can be read",
                   rt_describe(p, &p->tok));
  TN_TRY(rt_next(p));
  return rt_expect(p, "]");
}

static bool at_definition(const rt *p) {
  return rt_is_name(p, "def") || rt_is_name(p, "type") || rt_is_name(p, "extern");
}

/* To the next definition; braces are counted, so one inside a body is not taken for it. */
static int skip_definition(rt *p) {
  int depth = 0;
  do {
    if (rt_is(p, "{")) ++depth;
    if (rt_is(p, "}")) --depth;
    if (rt_next(p)) {
      if (tn_error_get_kind() == TN_MemoryError) return -1;
      tn_error_clear();
    }
  } while (p->tok.kind != RT_END && (depth > 0 || !at_definition(p)));
  return 0;
}

/* After an error: noted already; the next definition may be right. */
static int recover(rt *p) {
  adopt_error(p);
  if (tn_error_get_kind() == TN_MemoryError || p->diag->diagnostics->len >= MAX_ERRORS) return -1;
  tn_error_clear();
  return p->tok.kind == RT_END ? 0 : skip_definition(p);
}

static int parse_def(rt *p) {
  TN_TRY(rt_next(p));
  rt_token name = p->tok;
  if (name.kind != RT_GLOBAL)
    return rt_fail(p, &name, "expected a global name such as @main, got %s", rt_describe(p, &name));
  TN_TRY(rt_next(p));
  const char *text;
  tn_GlobalVar *v;
  tn_RelayFunction *f;
  TN_GET(text, rt_text(p, &name));
  TN_GET(v, rt_global(p, text));
  tn_any old;
  bool again = tn_map_get(p->mod->functions, tn_any_obj(v), &old);
  if (again && rt_fail(p, &name, "a function @%s was already defined", text) && !rt_goes_on(p))
    return -1;
  int64_t mark = p->nbindings;
  f = rt_function(p);
  rt_unbind(p, mark);
  if (!f) return -1;
  rt_place(f, span_of(p, &name, &p->last));
  return again ? 0 : ir_module_add(p->mod, v, (tn_BaseFunc *)f, false);
}

/* One definition of the kind that this pass is for; the others are passed over. */
static int parse_definition(rt *p, bool types) {
  bool external = rt_is_name(p, "extern"), is_type = external || rt_is_name(p, "type");
  if (!at_definition(p))
    return rt_fail(p, &p->tok, "expected a definition (def, type or extern type), got %s",
                   rt_describe(p, &p->tok));
  if (is_type != types) return skip_definition(p);
  if (!is_type) return parse_def(p);
  TN_TRY(rt_next(p));
  if (external) {
    if (!rt_is_name(p, "type"))
      return rt_fail(p, &p->tok, "expected `type` after `extern`, got %s", rt_describe(p, &p->tok));
    TN_TRY(rt_next(p));
  }
  return rt_type_definition(p, external);
}

static int parse_definitions(rt *p, bool types) {
  while (p->tok.kind != RT_END)
    if (parse_definition(p, types) && recover(p)) return -1;
  return 0;
}

static int restart(rt *p, const char *text, size_t n) {
  rt_lex_start(&p->lexer, text, n);
  p->tok = (rt_token){.line = 1, .col = 1, .end_line = 1, .end_col = 1};
  TN_TRY(rt_next(p));
  return parse_version(p);
}

/* The end of the program: where the metadata section begins, at the start of a line. */
static size_t program_size(const char *text, size_t n) {
  static const char mark[] = "#[metadata]";
  for (const char *at = text; (at = memmem(at, n - (size_t)(at - text), mark, sizeof mark - 1));
       ++at)
    if (at == text || at[-1] == '\n') return (size_t)(at - text);
  return n;
}

static int read_metadata(rt *p, const char *text, size_t n) {
  size_t at = program_size(text, n);
  if (at == n) return 0;
  tn_any value;
  at += strlen("#[metadata]");
  if (tn_json_load(text + at, n - at, &value)) {
    rt_token t = {.line = 1, .col = 1, .end_line = 1, .end_col = 2};
    for (const char *c = text; c < text + at; ++c) t.line += *c == '\n';
    t.end_line = t.line;
    TN_BUF(why);
    tn_buf_printf(&why, "the metadata section cannot be read: %s", tn_error_message());
    TN_TRY(tn_buf_ok(&why));
    return rt_fail(p, &t, "%s", tn_buf_cstr(&why));
  }
  if (!tn_any_is_obj(&value)) return 0;
  tn_obj *section;
  TN_GET(section, tn_scope_own(value.v.obj));
  if (section->type_index == TN_TI_Map) p->meta = (const tn_map *)section;
  return 0;
}

static int know_constructors(rt *p, const tn_IRModule *m) {
  for (int64_t i = 0; i < m->type_definitions->len; ++i) {
    const tn_TypeData *d = TN_AS(TypeData, m->type_definitions->entries[i].value.v.obj);
    for (int64_t k = 0; d && k < d->constructors->len; ++k) {
      tn_Constructor *c = (tn_Constructor *)tn_arr_obj(d->constructors, k);
      TN_TRY(tn_map_set(p->constructors, tn_any_cstr(tn_cstr(c->name_hint)), tn_any_obj(c)));
    }
  }
  for (int64_t i = 0; i < m->functions->len; ++i) {
    const tn_GlobalVar *v = (const tn_GlobalVar *)m->functions->entries[i].key.v.obj;
    TN_TRY(tn_map_set(p->globals, tn_any_cstr(tn_cstr(v->name_hint)), tn_any_obj(v)));
  }
  return 0;
}

static int start(rt *p, const char *name, const tn_str *text, const tn_IRModule *init,
                 const tn_map *meta) {
  p->meta = meta;
  TN_GET(p->source, ir_source_name(name));
  TN_GET(p->mod, init ? ir_module_copy(init) : ir_module_new(NULL, NULL, NULL));
  TN_TRY(ir_source_add(p->mod, p->source, tn_cstr(text)));
  TN_GET(p->diag, ir_diag_context(p->mod, NULL));
  TN_GET(p->known, tn_scope_own(tn_map_new()));
  TN_GET(p->globals, tn_scope_own(tn_map_new()));
  TN_GET(p->constructors, tn_scope_own(tn_map_new()));
  if (init) TN_TRY(know_constructors(p, init));
  return read_metadata(p, tn_cstr(text), tn_str_len(text));
}

static int parse_expression(rt *p, relay_expr **out) {
  TN_GET(*out, rt_body(p));
  if (p->tok.kind == RT_END) return 0;
  return rt_fail(p, &p->tok, "expected the end of the text, got %s", rt_describe(p, &p->tok));
}

/* A bare expression is the body of @main. */
static int parse_module(rt *p, const char *text, size_t n) {
  TN_TRY(restart(p, text, n));
  if (p->tok.kind != RT_END && !at_definition(p)) {
    relay_expr *e;
    tn_GlobalVar *v;
    tn_RelayFunction *f;
    TN_TRY(parse_expression(p, &e));
    f = TN_AS(RelayFunction, e);
    if (!f) TN_GET(f, relay_function(tn_arr_of(0), e, NULL, NULL));
    TN_GET(v, rt_global(p, "main"));
    return ir_module_add(p->mod, v, (tn_BaseFunc *)f, true);
  }
  TN_TRY(parse_definitions(p, true));
  TN_TRY(restart(p, text, n));
  return parse_definitions(p, false);
}

static void finish(rt *p) {
  tn_free(p->bindings);
  tn_arena_fini(&p->arena);
}

/* The diagnostics as one error, when there are any. */
static int conclude(rt *p, int err) {
  if (err) adopt_error(p);
  if (err && (!p->diag || tn_error_get_kind() == TN_MemoryError)) return -1;
  tn_error_clear();
  return ir_diag_render(p->diag);
}

tn_IRModule *relay_parse(const char *name, const tn_str *text, const tn_IRModule *init,
                         const tn_map *meta) {
  TN_SCOPE(scope);
  rt p = {0};
  int err = start(&p, name, text, init, meta) ||
            parse_module(&p, tn_cstr(text), program_size(tn_cstr(text), tn_str_len(text)));
  err = conclude(&p, err);
  finish(&p);
  return err ? NULL : tn_scope_return(scope, p.mod);
}

relay_expr *relay_parse_expr(const char *name, const tn_str *text, const tn_IRModule *init,
                             const tn_map *meta) {
  TN_SCOPE(scope);
  rt p = {0};
  relay_expr *e = NULL;
  int err = start(&p, name, text, init, meta) ||
            restart(&p, tn_cstr(text), program_size(tn_cstr(text), tn_str_len(text))) ||
            parse_expression(&p, &e);
  err = conclude(&p, err);
  finish(&p);
  return err ? NULL : tn_scope_return(scope, e);
}
