/* Generic text of objects, from their field tables. Nesting and length are bounded, so that
   printing any graph, shared or deep, ends soon and needs little stack.

   With a marked place only what surrounds it is printed:

     [..., tir.Add(a=x, b=1), tir.Add(a=x, b=2), ...]
                                             ^ */
#include "object/repr.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "object/dtype.h"
#include "object/functions.h"
#include "object/structure_impl.h"

enum {
  MAX_DEPTH = 40,       /* levels of nesting */
  MAX_TEXT = 1 << 16,   /* bytes, after which what is left is cut */
  MARKED_ABOVE = 6,     /* levels printed above a marked place, */
  MARKED_DEPTH = 3,     /* of values beside it, */
  MARKED_ITEMS = 3,     /* elements on either side, */
  MARKED_COLUMNS = 150, /* and columns of the line */
};

struct tn_repr {
  tn_buf *out;
  int depth;
  /* steps from the printed value to the marked place, last first; NULL when nothing is marked */
  const tn_ObjectPath **steps;
  int64_t nstep; /* steps still to follow from the value being printed; -1: it is not on the way */
  size_t from, to; /* of the marked text */
};

static _Atomic(tn_repr_fn) printers[TN_TYPE_MAX];

int tn_repr_set(const tn_type *type, tn_repr_fn fn) {
  TN_CHECK(type->index < TN_TYPE_MAX, ValueError, NULL, "type %s is not registered", type->key);
  atomic_store(&printers[type->index], fn);
  return 0;
}

tn_repr_fn tn_repr_get(const tn_type *type) {
  return type->index < TN_TYPE_MAX ? atomic_load(&printers[type->index]) : NULL;
}

tn_buf *tn_repr_out(tn_repr *r) { return r->out; }

/* ---- leaves ---- */

static void float_text(tn_buf *out, double x) {
  size_t before = out->len;
  tn_buf_double(out, x);
  if (out->failed) return;
  for (size_t i = before; i < out->len; ++i) {
    if (strchr(".einf", out->data[i])) return; /* 1.5, 1e+20, inf, nan */
  }
  tn_buf_puts(out, ".0");
}

static void plain_text(tn_buf *out, const tn_any *a) {
  switch (a->type_index) {
  case TN_NONE: tn_buf_puts(out, "None"); break;
  case TN_INT: tn_buf_printf(out, "%lld", (long long)a->v.i64); break;
  case TN_BOOL: tn_buf_puts(out, a->v.i64 ? "True" : "False"); break;
  case TN_FLOAT: float_text(out, a->v.f64); break;
  case TN_DTYPE: tn_buf_puts(out, TN_DT(a->v.dtype)); break;
  case TN_DEVICE:
    tn_buf_printf(out, "device(type=%d, id=%d)", (int)a->v.device.device_type,
                  (int)a->v.device.device_id);
    break;
  case TN_CSTR: tn_buf_quote(out, a->v.cstr, strlen(a->v.cstr)); break;
  default: tn_buf_printf(out, "%s(%p)", tn_type_key((uint32_t)a->type_index), a->v.ptr);
  }
}

static void string_text(tn_buf *out, const tn_str *s) {
  size_t n = s->len;
  if (n > MAX_TEXT) { /* not inside a character of UTF-8 */
    for (n = MAX_TEXT; n > 0 && (s->data[n] & 0xc0) == 0x80;) --n;
  }
  tn_buf_quote(out, s->data, n);
  if (n < s->len) tn_buf_puts(out, "...");
}

static void bytes_text(tn_buf *out, const tn_bytes *b) {
  tn_buf_puts(out, "b\"");
  for (size_t i = 0; i < b->len && i < MAX_TEXT; ++i) {
    uint8_t c = b->data[i];
    if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\') tn_buf_putc(out, (char)c);
    else tn_buf_printf(out, "\\x%02x", c);
  }
  tn_buf_puts(out, "\"");
}

static void shape_text(tn_buf *out, const tn_shape *s) {
  tn_buf_putc(out, '(');
  for (int64_t i = 0; i < s->len && out->len < MAX_TEXT; ++i)
    tn_buf_printf(out, "%s%lld", i ? ", " : "", (long long)s->dims[i]);
  tn_buf_puts(out, s->len == 1 ? ",)" : ")");
}

/* ---- nesting ---- */

/* Prints a child. `step`: it is the one the next step of the marked path leads to. */
static int child(tn_repr *r, tn_any value, bool step) {
  int64_t nstep = r->nstep;
  int depth = r->depth;
  r->nstep = step ? nstep - 1 : -1;
  if (r->steps)
    r->depth = step ? 0 : depth < MAX_DEPTH - MARKED_DEPTH ? MAX_DEPTH - MARKED_DEPTH : depth;
  int err = tn_repr_any(r, value);
  r->depth = depth;
  r->nstep = nstep;
  return err;
}

/* The step the path takes from the value being printed, or NULL. */
static const tn_ObjectPath *next_step(const tn_repr *r) {
  return r->nstep > 0 ? r->steps[r->nstep - 1] : NULL;
}

static bool too_long(const tn_repr *r) { return !r->steps && r->out->len > MAX_TEXT; }

/* Only the neighbours of a marked element are printed, and the first ones of other containers. */
static bool skips(const tn_repr *r, int64_t i, int64_t marked) {
  if (!r->steps) return false;
  return marked < 0 ? i > 2 * MARKED_ITEMS : llabs(i - marked) > MARKED_ITEMS;
}

static int items_text(tn_repr *r, const tn_any *items, int64_t n) {
  const tn_ObjectPath *step = next_step(r);
  const tn_ArrayIndexPath *at = TN_AS(ArrayIndexPath, step);
  int64_t marked = at ? at->index : TN_AS(MissingArrayElementPath, step) ? n : -1;
  bool dots = false;
  for (int64_t i = 0; i < n; ++i) {
    bool cut = too_long(r);
    if (cut || skips(r, i, marked)) {
      if (!dots) tn_buf_printf(r->out, "%s...", i ? ", " : "");
      dots = true;
      if (cut || i > marked) break;
      continue;
    }
    dots = false;
    if (i) tn_buf_puts(r->out, ", ");
    TN_TRY(child(r, items[i], at && at->index == i));
  }
  return 0;
}

static int map_text(tn_repr *r, const tn_map *m) {
  const tn_MapValuePath *at = TN_AS(MapValuePath, next_step(r));
  int64_t marked = -1;
  for (int64_t i = 0; at && i < m->len; ++i) {
    if (tn_key_equal(&m->entries[i].key, &at->key)) marked = i;
  }
  bool dots = false;
  for (int64_t i = 0; i < m->len; ++i) {
    if (too_long(r) || skips(r, i, marked)) {
      if (!dots) tn_buf_printf(r->out, "%s...", i ? ", " : "");
      dots = true;
      continue;
    }
    dots = false;
    if (i) tn_buf_puts(r->out, ", ");
    TN_TRY(child(r, m->entries[i].key, false));
    tn_buf_puts(r->out, ": ");
    TN_TRY(child(r, m->entries[i].value, i == marked));
  }
  return 0;
}

static int node_text(tn_repr *r, const tn_obj *o) {
  const tn_type *t = o->type;
  const tn_AttributeAccessPath *at = TN_AS(AttributeAccessPath, next_step(r));
  bool first = true;
  tn_buf_printf(r->out, "%s(", t->key);
  for (uint16_t i = 0; i < t->nfield; ++i) {
    const tn_field *f = &t->fields[i];
    tn_any value = tn_field_get(o, f);
    bool step = at && tn_str_eq(at->attr_key, f->name);
    if (value.type_index == TN_NONE && f->flags & TN_OPT && !step) continue;
    tn_buf_printf(r->out, "%s%s=", first ? "" : ", ", f->name);
    first = false;
    TN_TRY(child(r, value, step));
  }
  tn_buf_putc(r->out, ')');
  return 0;
}

static int object_text(tn_repr *r, const tn_obj *o) {
  const tn_type *t = o->type;
  tn_any a = tn_any_obj(o), plain = tn_unboxed(a);
  tn_repr_fn print = t->index < TN_TYPE_MAX ? atomic_load(&printers[t->index]) : NULL;
  /* a printer does not know the path: on the way to the marked place the generic text is used */
  if (print && r->nstep <= 0) return print(r, o);
  if (!tn_any_is_obj(&plain)) return plain_text(r->out, &plain), 0;
  switch ((tn_type_kind)t->kind) {
  case TN_KIND_STR: string_text(r->out, (const tn_str *)o); return 0;
  case TN_KIND_BYTES: bytes_text(r->out, (const tn_bytes *)o); return 0;
  case TN_KIND_SHAPE: shape_text(r->out, (const tn_shape *)o); return 0;
  case TN_KIND_ARRAY:
    tn_buf_putc(r->out, '[');
    TN_TRY(items_text(r, ((const tn_arr *)o)->items, ((const tn_arr *)o)->len));
    tn_buf_putc(r->out, ']');
    return 0;
  case TN_KIND_TUPLE:
    tn_buf_printf(r->out, "ADT(tag=%u, fields=[", ((const tn_tuple *)o)->tag);
    TN_TRY(items_text(r, ((const tn_tuple *)o)->fields, ((const tn_tuple *)o)->len));
    tn_buf_puts(r->out, "])");
    return 0;
  case TN_KIND_MAP:
    tn_buf_putc(r->out, '{');
    TN_TRY(map_text(r, (const tn_map *)o));
    tn_buf_putc(r->out, '}');
    return 0;
  case TN_KIND_NODE:
    if (!t->hooks->global_name) return node_text(r, o);
    tn_buf_printf(r->out, "%s(", t->key);
    const char *name = t->hooks->global_name(o);
    if (name) tn_buf_quote(r->out, name, strlen(name));
    tn_buf_putc(r->out, ')');
    return 0;
  case TN_KIND_ABSTRACT:
  case TN_KIND_FUNC:
  case TN_KIND_OPAQUE: break;
  }
  tn_buf_printf(r->out, "%s(%p)", t->key, (const void *)o);
  return 0;
}

/* Does the path end at the value being printed, or at something that is missing in it? */
static bool is_marked(const tn_repr *r) {
  const tn_ObjectPath *step = next_step(r);
  return r->steps && (r->nstep == 0 || (step && (TN_AS(MissingArrayElementPath, step) ||
                                                 TN_AS(MissingMapEntryPath, step) ||
                                                 TN_AS(UnknownAttributeAccessPath, step))));
}

int tn_repr_any(tn_repr *r, tn_any value) {
  bool marked = is_marked(r);
  if (marked) r->from = r->out->len;
  r->depth++;
  int err = 0;
  if (!tn_any_is_obj(&value)) plain_text(r->out, &value);
  else if (too_long(r) || (r->depth > MAX_DEPTH && tn_child_count(value.v.obj)))
    tn_buf_puts(r->out, "...");
  else err = object_text(r, value.v.obj);
  r->depth--;
  if (marked) r->to = r->out->len;
  return err || tn_buf_ok(r->out) ? -1 : 0;
}

int tn_repr_print(tn_buf *out, tn_any value) {
  tn_repr r = {.out = out, .nstep = -1};
  return tn_repr_any(&r, value);
}

/* ---- a marked place ---- */

/* The child of `value` that a step leads to. */
static bool follow(tn_any *value, const tn_ObjectPath *step) {
  if (!tn_any_is_obj(value)) return false;
  const tn_obj *o = value->v.obj;
  const tn_AttributeAccessPath *attr = TN_AS(AttributeAccessPath, step);
  const tn_ArrayIndexPath *index = TN_AS(ArrayIndexPath, step);
  const tn_MapValuePath *entry = TN_AS(MapValuePath, step);
  if (attr) {
    const tn_field *f = tn_type_field(o->type, tn_cstr(attr->attr_key));
    if (f) *value = tn_field_get(o, f);
    return f;
  }
  if (index && (o->type->kind == TN_KIND_ARRAY || o->type->kind == TN_KIND_TUPLE)) {
    if (index->index < 0 || index->index >= tn_child_count(o)) return false;
    *value = tn_child_at(o, index->index);
    return true;
  }
  return entry && o->type_index == TN_TI_Map && tn_map_get((const tn_map *)o, entry->key, value);
}

/* Writes the line of `text` that holds [from, to), cut to MARKED_COLUMNS, and ^^^ below it. */
static int underlined(tn_buf *out, const tn_buf *text, size_t from, size_t to, bool above) {
  size_t start = from, end = from;
  while (start > 0 && text->data[start - 1] != '\n' && from - start < MARKED_COLUMNS / 2) --start;
  while (end < text->len && text->data[end] != '\n' && end - start < MARKED_COLUMNS) ++end;
  /* not inside a character of UTF-8 */
  while (start < from && (text->data[start] & 0xc0) == 0x80) ++start;
  while (end > from && end < text->len && (text->data[end] & 0xc0) == 0x80) --end;
  bool cut = above || (start > 0 && text->data[start - 1] != '\n');
  bool more = end < text->len && text->data[end] != '\n';
  tn_buf_printf(out, "%s%.*s%s\n", cut ? "... " : "", (int)(end - start), text->data + start,
                more ? " ..." : "");
  if (to > end) to = end;
  tn_buf_pad(out, ' ', cut ? 4 : 0);
  for (size_t i = start; i < to; ++i) {
    if ((text->data[i] & 0xc0) != 0x80) tn_buf_putc(out, i < from ? ' ' : '^');
  }
  if (to <= from) tn_buf_putc(out, '^');
  return tn_buf_ok(out);
}

int tn_repr_print_marked(tn_buf *out, tn_any value, const tn_ObjectPath *path) {
  int64_t n = path->length - 1; /* the root is not a step */
  TN_AUTOFREE const tn_ObjectPath **steps = tn_alloc_array(n + 1, sizeof *steps);
  if (!steps) return -1;
  for (int64_t i = 0; i < n; ++i, path = path->parent) steps[i] = path;
  bool above = n > MARKED_ABOVE;
  for (; n > MARKED_ABOVE; --n) {
    if (!follow(&value, steps[n - 1])) return tn_repr_print(out, value);
  }
  TN_BUF(text);
  tn_repr r = {.out = &text, .steps = steps, .nstep = n};
  TN_TRY(tn_repr_any(&r, value));
  return underlined(out, &text, r.from, r.to, above);
}

static int as_repr(TN_ARGS) {
  TN_BUF(text);
  TN_NARGS("node.AsRepr", 1);
  TN_TRY(tn_repr_print(&text, args[0]));
  return tn_ret_owned(ret, tn_buf_str(&text));
}

int tn_repr_init(void) {
  static const tn_func_row rows[] = {{"node.AsRepr", as_repr}};
  return tn_func_register_rows(rows, TN_COUNT(rows));
}
