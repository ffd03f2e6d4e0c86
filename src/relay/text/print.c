/* The printer: which expressions get names, in which order, in which block.

   An expression's operands are printed before it, with a stack of our own, so chains may be as long
   as they like. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/scope.h"
#include "base/stack.h"
#include "ir/functor.h"
#include "object/functions.h"
#include "relay/text/print_impl.h"
#include "tenon/object.h"

/* ---- names ---- */

void rp_newline(const rp *p, tn_buf *out) {
  tn_buf_putc(out, '\n');
  tn_buf_pad(out, ' ', (size_t)p->indent);
}

static const char *keep(rp *p, const char *text) {
  return tn_arena_strndup(&p->arena, text, strlen(text));
}

static int set_text(rp *p, const void *node, const char *text) {
  if (!text) return -1;
  TN_TRY(tn_vec_push_obj(&p->block->named, node));
  return tn_pmap_put(&p->memo, node, text);
}

/* A name not in use: x, x1, x2, ... Letters that a name cannot have become '_'. */
static int unique_name(rp *p, const char *hint, tn_buf *out) {
  TN_BUF(name);
  tn_buf_putc(&name, '%');
  bool letter = (*hint >= 'a' && *hint <= 'z') || (*hint >= 'A' && *hint <= 'Z') || *hint == '_';
  if (!letter) tn_buf_putc(&name, 'v');
  for (const char *c = hint; *c; ++c) {
    bool ok = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
              *c == '_';
    tn_buf_putc(&name, ok ? *c : '_');
  }
  TN_TRY(tn_buf_ok(&name));
  size_t base = name.len;
  tn_any used, key = tn_any_cstr(tn_buf_cstr(&name));
  int64_t n = tn_map_get(p->names, key, &used) ? used.v.i64 : 0;
  TN_TRY(tn_map_set(p->names, key, tn_any_int(n + 1)));
  for (; n > 0; ++n) {
    name.len = base;
    tn_buf_printf(&name, "%lld", (long long)n);
    TN_TRY(tn_buf_ok(&name));
    key = tn_any_cstr(tn_buf_cstr(&name));
    if (tn_map_get(p->names, key, &used)) continue;
    TN_TRY(tn_map_set(p->names, key, tn_any_int(1)));
    break;
  }
  tn_buf_puts(out, tn_buf_cstr(&name));
  return 0;
}

int rp_meta(rp *p, const tn_obj *o, tn_buf *out) {
  const char *key = tn_obj_key(o);
  int64_t at = tn_pmap_get_int(&p->meta_at, o, 0);
  if (!at) {
    tn_any old, item = tn_any_obj(o);
    const tn_arr *list =
        tn_map_get(p->meta, tn_any_cstr(key), &old) ? (const tn_arr *)old.v.obj : NULL;
    TN_VEC(v);
    for (int64_t i = 0; list && i < list->len; ++i) TN_TRY(tn_vec_push(&v, list->items[i]));
    TN_TRY(tn_vec_push(&v, item));
    TN_TRY(tn_map_set(p->meta, tn_any_cstr(key), tn_any_obj(tn_arr_from(&v))));
    TN_TRY(tn_pmap_put_int(&p->meta_at, o, at = v.len));
  }
  tn_buf_printf(out, "meta[%s][%lld]", key, (long long)at - 1);
  return 0;
}

/* ---- types and places behind expressions ---- */

static bool shows_type(const tn_obj *e) {
  switch (e->type_index) {
  case TN_TI_Constant:
  case TN_TI_RelayCall:
  case TN_TI_RelayVar:
  case TN_TI_RelayFunction:
  case TN_TI_RelayTuple:
  case TN_TI_TupleGetItem: return true;
  default: return false;
  }
}

static int annotation(const rp *p, const relay_expr *e, tn_buf *out) {
  tn_any arg = tn_any_obj(e), ret = tn_any_none();
  const char *text;
  TN_TRY(tn_func_call(p->opt->annotate, &arg, 1, &ret));
  int err = tn_any_to_cstr(&ret, &text);
  if (!err) tn_buf_puts(out, text);
  tn_any_release(&ret);
  return err;
}

/* " / * ty=... span=... * /", once for each expression */
static int type_of(rp *p, const relay_expr *e, tn_buf *out) {
  if (tn_pmap_has(&p->typed, e)) return 0;
  TN_TRY(tn_pmap_put_int(&p->typed, e, 1));
  if (p->opt->annotate) return annotation(p, e, out);
  const tn_Span *span = e->span;
  if (!shows_type((const tn_obj *)e) || (!e->_checked_type_ && !span)) return 0;
  tn_buf_puts(out, " /*");
  if (e->_checked_type_) {
    tn_buf_puts(out, " ty=");
    TN_TRY(rp_type(p, e->_checked_type_, out));
  }
  if (span) {
    tn_buf_printf(out, " span=%s:%lld:%lld", tn_cstr(span->source_name->name),
                  (long long)span->line, (long long)span->column);
  }
  tn_buf_puts(out, " */");
  return 0;
}

/* Where it is computed. */
static int put_device(rp *p, const relay_expr *e, tn_buf *out) {
  tn_any device = tn_any_obj(e->virtual_device_);
  tn_buf_puts(out, RT_DEVICE "=");
  return rp_value(p, &device, out);
}

int rp_bind(rp *p, const tn_RelayVar *v, tn_buf *out) {
  TN_BUF(name);
  TN_TRY(unique_name(p, tn_cstr(v->vid->name_hint), &name));
  TN_TRY(tn_buf_ok(&name));
  TN_TRY(set_text(p, v->vid, keep(p, tn_buf_cstr(&name))));
  tn_buf_puts(out, tn_buf_cstr(&name));
  if (v->virtual_device_) {
    tn_buf_puts(out, " {");
    TN_TRY(put_device(p, (const relay_expr *)v, out));
    tn_buf_putc(out, '}');
  }
  if (v->type_annotation) {
    tn_buf_puts(out, ": ");
    TN_TRY(rp_type(p, v->type_annotation, out));
  }
  return type_of(p, (const relay_expr *)v, out);
}

/* ---- expressions ---- */

/* Variables of one identity are one variable. */
static const void *key_of(const relay_expr *e) {
  const tn_RelayVar *v = TN_AS(RelayVar, e);
  return v ? (const void *)v->vid : e;
}

static const char *text_of(const rp *p, const relay_expr *e) {
  return tn_pmap_get(&p->memo, key_of(e));
}

/* The i-th operand that is printed before the expression; NULL after the last. */
static const relay_expr *operand(const relay_expr *e, int64_t i) {
  switch (((const tn_obj *)e)->type_index) {
  case TN_TI_RelayCall: {
    const tn_RelayCall *c = (const tn_RelayCall *)e;
    if (i < c->args->len) return (const relay_expr *)tn_arr_obj(c->args, i);
    return i == c->args->len && !TN_AS(Constructor, c->op) ? c->op : NULL;
  }
  case TN_TI_RelayTuple: {
    const tn_arr *fields = ((const tn_RelayTuple *)e)->fields;
    return i < fields->len ? (const relay_expr *)tn_arr_obj(fields, i) : NULL;
  }
  case TN_TI_TupleGetItem: return i == 0 ? ((const tn_TupleGetItem *)e)->tuple_value : NULL;
  case TN_TI_RefCreate: return i == 0 ? ((const tn_RefCreate *)e)->value : NULL;
  case TN_TI_RefRead: return i == 0 ? ((const tn_RefRead *)e)->ref : NULL;
  case TN_TI_RefWrite: {
    const tn_RefWrite *w = (const tn_RefWrite *)e;
    return i == 0 ? w->ref : i == 1 ? w->value : NULL;
  }
  default: return NULL;
  }
}

static bool always_inline(const relay_expr *e) {
  switch (((const tn_obj *)e)->type_index) {
  case TN_TI_GlobalVar:
  case TN_TI_Constant:
  case TN_TI_Op:
  case TN_TI_RelayVar:
  case TN_TI_Constructor: return true;
  default: return !tn_obj_is(e, &tn_type_RelayExpr);
  }
}

/* A variable that nothing around binds. */
static int free_variable(rp *p, const tn_RelayVar *v) {
  TN_BUF(line);
  TN_TRY(rp_bind(p, v, &line));
  TN_TRY(tn_buf_ok(&line));
  tn_buf_printf(&p->block->text, "free_var %s;", tn_buf_cstr(&line));
  rp_newline(p, &p->block->text);
  return 0;
}

/* A let inside an expression stands in parentheses. */
static int wrapped_let(rp *p, const relay_expr *e, tn_buf *out) {
  tn_buf_puts(out, "(");
  p->indent += 2;
  rp_newline(p, out);
  p->wrapped = e;
  int err = rp_scope(p, e, out);
  p->indent -= 2;
  rp_newline(p, out);
  tn_buf_puts(out, ")");
  return err;
}

/* The expression's own text, its operands having theirs; a temporary where it may not be inline. */
static int give_text(rp *p, const relay_expr *e, bool may_inline) {
  const tn_RelayVar *v = TN_AS(RelayVar, e);
  if (v) return free_variable(p, v);
  TN_BUF(text);
  bool in_place = always_inline(e) || (may_inline && tn_pmap_get_int(&p->parents, e, 0) <= 1);
  if (TN_AS(RelayLet, e)) TN_TRY(wrapped_let(p, e, &text));
  else TN_TRY(rp_node(p, e, &text));
  TN_TRY(type_of(p, e, &text));
  TN_TRY(tn_buf_ok(&text));
  if (in_place) return set_text(p, e, keep(p, tn_buf_cstr(&text)));
  TN_BUF(name);
  tn_buf_printf(&name, "%%%d", p->temps++);
  TN_TRY(tn_buf_ok(&name));
  tn_buf_printf(&p->block->text, "%s = ", tn_buf_cstr(&name));
  tn_buf_put(&p->block->text, text.data, text.len);
  tn_buf_putc(&p->block->text, ';');
  rp_newline(p, &p->block->text);
  return set_text(p, e, keep(p, tn_buf_cstr(&name)));
}

typedef struct {
  const relay_expr *e;
  int64_t next;
} frame;

static int print_all(rp *p, const relay_expr *root, bool may_inline, frame **stack, int64_t *cap) {
  int64_t n = 0;
  TN_GROW(*stack, *cap, 1, return -1);
  (*stack)[n++] = (frame){root, 0};
  while (n > 0) {
    frame *top = &(*stack)[n - 1];
    const relay_expr *e = top->e, *child = operand(e, top->next);
    if (!child) {
      if (!text_of(p, e)) TN_TRY(give_text(p, e, may_inline && n == 1));
      --n;
      continue;
    }
    ++top->next;
    if (text_of(p, child)) continue;
    TN_GROW(*stack, *cap, n + 1, return -1);
    (*stack)[n++] = (frame){child, 0};
  }
  return 0;
}

const char *rp_expr(rp *p, const relay_expr *e, bool may_inline) {
  const char *known = text_of(p, e);
  if (known) return known;
  TN_TRYP(tn_stack_check("a Relay expression"));
  frame *stack = NULL;
  int64_t cap = 0;
  int err = print_all(p, e, may_inline, &stack, &cap);
  tn_free(stack);
  if (err) return NULL;
  return text_of(p, e);
}

/* ---- blocks ---- */

static int print_let(rp *p, const tn_RelayLet *let) {
  TN_BUF(line);
  const char *value;
  tn_buf_puts(&line, "let ");
  TN_TRY(rp_bind(p, let->var, &line));
  TN_GET(value, rp_expr(p, let->value, true));
  TN_TRY(tn_buf_ok(&line));
  tn_buf *out = &p->block->text;
  tn_buf_put(out, line.data, line.len);
  tn_buf_puts(out, " = ");
  tn_buf_puts(out, value);
  tn_buf_putc(out, ';');
  rp_newline(p, out);
  return 0;
}

static int print_body(rp *p, const relay_expr *e, tn_buf *out) {
  const tn_RelayLet *let;
  const char *result;
  while ((let = TN_AS(RelayLet, e)) && !text_of(p, e) &&
         (e == p->wrapped || tn_pmap_get_int(&p->parents, e, 0) <= 1)) {
    TN_TRY(print_let(p, let));
    e = let->body;
  }
  TN_GET(result, rp_expr(p, e, true));
  TN_TRY(tn_buf_ok(&p->block->text));
  tn_buf_put(out, p->block->text.data, p->block->text.len);
  tn_buf_puts(out, result);
  return 0;
}

int rp_scope(rp *p, const relay_expr *e, tn_buf *out) {
  rp_block block = {.outer = p->block};
  p->block = &block;
  int err = print_body(p, e, out);
  p->block = block.outer;
  for (int64_t i = 0; i < block.named.len; ++i) /* to the printer they are unknown again */
    err |= tn_pmap_put(&p->memo, block.named.items[i].v.obj, NULL);
  tn_vec_fini(&block.named);
  tn_buf_fini(&block.text);
  return err ? -1 : 0;
}

int rp_braced(rp *p, const relay_expr *e, tn_buf *out) {
  tn_buf_puts(out, "{");
  p->indent += 2;
  rp_newline(p, out);
  int err = rp_scope(p, e, out);
  p->indent -= 2;
  rp_newline(p, out);
  tn_buf_puts(out, "}");
  return err;
}

static int print_head(rp *p, const tn_RelayFunction *f, tn_buf *out) {
  for (int64_t i = 0; i < f->type_params->len; ++i) {
    const tn_TypeVar *v = (const tn_TypeVar *)tn_arr_obj(f->type_params, i);
    tn_buf_printf(out, "%s%s", i ? ", " : "[", tn_cstr(v->name_hint));
  }
  tn_buf_puts(out, f->type_params->len ? "](" : "(");
  for (int64_t i = 0; i < f->params->len; ++i) {
    if (i) tn_buf_puts(out, ", ");
    TN_TRY(rp_bind(p, (const tn_RelayVar *)tn_arr_obj(f->params, i), out));
  }
  if (f->virtual_device_) {
    tn_buf_puts(out, f->params->len ? ", " : "");
    TN_TRY(put_device(p, (const relay_expr *)f, out));
  }
  TN_TRY(rp_dict_attrs(p, f->attrs, (int)f->params->len + !!f->virtual_device_, out));
  tn_buf_puts(out, ") ");
  if (!f->ret_type) return 0;
  tn_buf_puts(out, "-> ");
  TN_TRY(rp_type(p, f->ret_type, out));
  tn_buf_putc(out, ' ');
  return 0;
}

int rp_function(rp *p, const char *prefix, const tn_RelayFunction *f, tn_buf *out) {
  rp_block block = {.outer = p->block}; /* parameters are known inside only */
  p->block = &block;
  tn_buf_puts(out, prefix);
  int err = print_head(p, f, out) || rp_braced(p, f->body, out);
  p->block = block.outer;
  for (int64_t i = 0; i < block.named.len; ++i)
    err |= tn_pmap_put(&p->memo, block.named.items[i].v.obj, NULL) != 0;
  tn_vec_fini(&block.named);
  tn_buf_fini(&block.text);
  return err ? -1 : 0;
}

/* ---- whole texts ---- */

static int count_child(void *ctx, tn_obj *child) {
  tn_pmap_slot *slot = tn_pmap_slot_of(ctx, child);
  if (!slot) return -1;
  ++slot->v.i64;
  return 0;
}

static int count_children(void *ctx, tn_obj *node);
static int count_items(void *ctx, tn_obj *child) {
  const tn_arr *a = child->type_index == TN_TI_Array ? (const tn_arr *)child : NULL;
  if (!a) return count_child(ctx, child);
  for (int64_t i = 0; i < a->len; ++i)
    if (tn_any_is_obj(&a->items[i])) TN_TRY(count_child(ctx, a->items[i].v.obj));
  return 0;
}
static int count_children(void *ctx, tn_obj *node) {
  return tn_obj_is(node, &tn_type_RelayExpr) || TN_AS(Clause, node)
             ? tn_visit_children(node, count_items, ctx)
             : 0;
}

/* Functions and type definitions of a module, with an empty line in between. */
static int print_module(rp *p, const tn_IRModule *m, tn_buf *out) {
  int count = 0;
  for (int64_t i = 0; i < m->type_definitions->len; ++i) {
    if (count++) tn_buf_putc(out, '\n');
    TN_TRY(rp_type_data(p, (const tn_TypeData *)m->type_definitions->entries[i].value.v.obj, out));
    tn_buf_putc(out, '\n');
  }
  for (int64_t i = 0; i < m->functions->len; ++i) {
    const tn_map_entry *e = &m->functions->entries[i];
    const tn_RelayFunction *f = TN_AS(RelayFunction, e->value.v.obj);
    if (!f) continue;
    TN_BUF(head);
    if (count++) tn_buf_putc(out, '\n');
    tn_buf_printf(&head, "def @%s", tn_cstr(((const tn_GlobalVar *)e->key.v.obj)->name_hint));
    TN_TRY(tn_buf_ok(&head));
    TN_TRY(tn_post_order(f, count_children, &p->parents));
    TN_TRY(rp_function(p, tn_buf_cstr(&head), f, out));
    tn_buf_putc(out, '\n');
  }
  return 0;
}

static int print_any(rp *p, const tn_obj *o, tn_buf *out) {
  if (TN_AS(IRModule, o)) return print_module(p, (const tn_IRModule *)o, out);
  if (TN_AS(TypeData, o)) return rp_type_data(p, (const tn_TypeData *)o, out);
  if (tn_obj_is(o, &tn_type_Type)) return rp_type(p, (const tn_Type *)o, out);
  if (tn_obj_is(o, &tn_type_Pattern)) return rp_pattern(p, (const tn_Pattern *)o, out);
  TN_CHECK(tn_obj_is(o, &tn_type_RelayExpr), TypeError, NULL,
           "astext: expected a Relay object, got %s", tn_obj_key(o));
  TN_TRY(tn_post_order(o, count_children, &p->parents));
  return rp_scope(p, (const relay_expr *)o, out);
}

static int print_metadata(const rp *p, tn_buf *out) {
  if (p->meta->len == 0) return 0;
  if (!p->opt->metadata) {
    tn_buf_puts(out,
                "\n/* the metadata section is left out: astext(show_meta_data=True) has it */\n");
    return 0;
  }
  tn_str *json;
  TN_GET(json, tn_scope_own(tn_json_save(tn_any_obj(p->meta))));
  tn_buf_printf(out, "\n#[metadata]\n%s", tn_cstr(json));
  return 0;
}

int relay_print(const tn_obj *node, const relay_print_options *opt, tn_buf *out) {
  TN_SCOPE(scope);
  rp_block block = {0};
  rp p = {.opt = opt,
          .block = &block,
          .names = tn_scope_own(tn_map_new()),
          .meta = tn_scope_own(tn_map_new())};
  int err = !p.names || !p.meta;
  if (opt->version) tn_buf_puts(out, "#[version = \"0.0.5\"]\n");
  err = err || print_any(&p, node, out) || print_metadata(&p, out) || tn_buf_ok(out);
  tn_vec_fini(&block.named);
  tn_buf_fini(&block.text);
  tn_pmap_fini(&p.memo);
  tn_pmap_fini(&p.parents);
  tn_pmap_fini(&p.typed);
  tn_pmap_fini(&p.meta_at);
  tn_arena_fini(&p.arena);
  return err ? -1 : 0;
}
