/* Diagnostics: collecting, rendering with line and marks (see diag.h). */
#include "ir/diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "ir/ir_impl.h"
#include "ir/module.h"

tn_DiagnosticContext *ir_diag_context(tn_IRModule *m, tn_DiagnosticRenderer *renderer) {
  if (!m) m = ir_module_new(NULL, NULL, NULL);
  return TN_NEW(DiagnosticContext, .module = m, .diagnostics = tn_arr_of(0), .renderer = renderer);
}

static int append(tn_DiagnosticContext *d, tn_Diagnostic *report) {
  TN_VEC(v);
  if (!report) return -1;
  TN_TRY(tn_vec_reserve(&v, d->diagnostics->len + 1));
  for (int64_t i = 0; i < d->diagnostics->len; ++i) v.items[v.len++] = d->diagnostics->items[i];
  v.items[v.len++] = tn_any_obj(report);
  tn_arr *all = tn_arr_new(v.items, v.len);
  if (!all) return -1;
  tn_release(d->diagnostics);
  d->diagnostics = all;
  return 0;
}

TN_PRINTF(1, 0) static tn_str *formatted(const char *fmt, va_list ap) {
  char fixed[512];
  va_list again;
  va_copy(again, ap);
  int n = vsnprintf(fixed, sizeof fixed, fmt, ap);
  tn_str *s = NULL;
  if (n >= 0 && n < (int)sizeof fixed) {
    s = tn_str_from(fixed);
  } else if (n >= 0) {
    TN_AUTOFREE char *text = tn_alloc((size_t)n + 1);
    if (text) vsnprintf(text, (size_t)n + 1, fmt, again);
    s = text ? tn_str_from(text) : NULL;
  }
  va_end(again);
  return s;
}

int ir_diag_emit(tn_DiagnosticContext *d, ir_diag_level level, tn_Span *span, const char *fmt,
                 ...) {
  TN_SCOPE(s);
  va_list ap;
  va_start(ap, fmt);
  tn_str *message = formatted(fmt, ap);
  va_end(ap);
  return append(d, TN_NEW(Diagnostic, .level = (int32_t)level, .span = span, .message = message));
}

/* ---- source texts ---- */

int ir_source_add(tn_IRModule *m, tn_SourceName *name, const char *text) {
  TN_SCOPE(s);
  tn_Source *source = TN_NEW(Source, .source_name = name, .source = tn_str_from(text));
  tn_map *map = source ? tn_map_with(m->source_map ? m->source_map->source_map : NULL,
                                     tn_any_obj(name), tn_any_obj(source))
                       : NULL;
  tn_SourceMap *all = TN_NEW(SourceMap, .source_map = map);
  if (!all) return -1;
  tn_retain(all);
  tn_release(m->source_map);
  m->source_map = all;
  return 0;
}

const char *ir_source_text(const tn_SourceMap *map, const tn_SourceName *name) {
  tn_any found;
  if (!map || !name || !tn_map_get(map->source_map, tn_any_obj(name), &found)) return NULL;
  const tn_Source *source = tn_any_is_obj(&found) ? TN_AS(Source, found.v.obj) : NULL;
  return source ? tn_cstr(source->source) : NULL;
}

/* Start and length of line `n` (from 1); length 0 when there is none. */
static const char *line_at(const char *text, int64_t n, int64_t *len) {
  while (text && --n > 0) {
    text = strchr(text, '\n');
    if (text) ++text;
  }
  const char *end = text ? strchr(text, '\n') : NULL;
  *len = !text ? 0 : end ? end - text : (int64_t)strlen(text);
  return text;
}

/* Marks under columns [from, to); tabs stay tabs and a letter of several bytes takes one place. */
static void mark(const char *line, int64_t len, int64_t from, int64_t to, tn_buf *out) {
  for (int64_t i = 1; i < from && i <= len; ++i) {
    if (((uint8_t)line[i - 1] & 0xC0) == 0x80) continue;
    tn_buf_putc(out, line[i - 1] == '\t' ? '\t' : ' ');
  }
  for (int64_t i = len + 1; i < from && i < len + 80; ++i) tn_buf_putc(out, ' ');
  tn_buf_putc(out, '^');
  for (int64_t i = from + 1; i < to && i <= len; ++i) {
    if (((uint8_t)line[i - 1] & 0xC0) != 0x80) tn_buf_putc(out, '^');
  }
}

/* The lines of `text` are those of the file from `first_line` on, without their first columns. */
static void show_line(const tn_Span *span, const char *text, int64_t first_line, int64_t cut,
                      tn_buf *out) {
  int64_t len;
  char number[24];
  tn_buf_printf(out, " --> %s:%lld:%lld\n", tn_cstr(span->source_name->name), (long long)span->line,
                (long long)span->column);
  const char *line =
      span->line < first_line || !text ? NULL : line_at(text, span->line - first_line + 1, &len);
  if (!line || span->line < 1 || span->column <= cut) return;
  int width = snprintf(number, sizeof number, "%lld", (long long)span->line);
  int64_t to = span->end_line > span->line ? len + 1 : span->end_column - cut;
  tn_buf_printf(out, "%*s |\n%s | %.*s\n%*s | ", width, "", number, (int)len, line, width, "");
  mark(line, len, span->column - cut, to, out);
  tn_buf_putc(out, '\n');
}

void ir_diag_place(const tn_Span *span, const char *text, tn_buf *out) {
  show_line(span, text, 1, 0, out);
}

/* Places in texts that are kept with their names are shown in full. Those without a line are what
   an imported model calls its nodes. */
static void note_place(const tn_obj *at) {
  const tn_Span *span = at->type_index == TN_TI_Span ? (const tn_Span *)at : NULL;
  const tn_SourceName *name = span ? span->source_name : NULL;
  TN_BUF(out);
  if (!name) return;
  if (span->line < 1) tn_buf_printf(&out, " --> %s\n", tn_cstr(name->name));
  else
    show_line(span, name->text ? tn_cstr(name->text) : NULL, name->first_line, name->first_column,
              &out);
  if (out.data && out.len && out.data[out.len - 1] == '\n') out.data[--out.len] = '\0';
  if (out.data) tn_error_note("%s", out.data);
}

void ir_diag_init(void) { tn_error_set_place(note_place); }

static const char *level_name(int32_t level) {
  switch (level) {
  case IR_DIAG_BUG: return "bug";
  case IR_DIAG_ERROR: return "error";
  case IR_DIAG_WARNING: return "warning";
  case IR_DIAG_NOTE: return "note";
  default: return "help";
  }
}

void ir_diag_text(const tn_DiagnosticContext *d, tn_buf *out) {
  for (int64_t i = 0; i < d->diagnostics->len; ++i) {
    const tn_Diagnostic *r = TN_AS(Diagnostic, tn_arr_obj(d->diagnostics, i));
    if (!r) continue;
    tn_buf_printf(out, "%s: %s\n", level_name(r->level), tn_cstr(r->message));
    if (r->span && r->span->source_name)
      ir_diag_place(r->span, ir_source_text(d->module->source_map, r->span->source_name), out);
  }
}

/* ---- rendering ---- */

static bool has_errors(const tn_DiagnosticContext *d) {
  for (int64_t i = 0; i < d->diagnostics->len; ++i) {
    const tn_Diagnostic *r = TN_AS(Diagnostic, tn_arr_obj(d->diagnostics, i));
    if (r && r->level <= IR_DIAG_ERROR) return true;
  }
  return false;
}

/* The context's renderer, else the one set from outside; *out is NULL when there is none. */
static int renderer_of(const tn_DiagnosticContext *d, tn_DiagnosticRenderer **out) {
  *out = d->renderer;
  if (*out) return 0;
  tn_func *make = tn_scope_own(tn_func_find("diagnostics.OverrideRenderer"));
  tn_any ret;
  if (!make) return tn_error_pending() ? -1 : 0;
  TN_TRY(tn_func_call(make, NULL, 0, &ret));
  tn_obj *r = tn_any_is_obj(&ret) ? tn_scope_own(ret.v.obj) : NULL;
  *out = TN_AS(DiagnosticRenderer, r);
  return 0;
}

int ir_diag_render(tn_DiagnosticContext *d) {
  TN_SCOPE(s);
  tn_DiagnosticRenderer *r;
  tn_any arg = tn_any_obj(d), ret;
  if (d->diagnostics->len == 0) return 0;
  TN_TRY(renderer_of(d, &r));
  if (r) {
    TN_TRY(tn_func_call(r->renderer, &arg, 1, &ret));
    tn_any_release(&ret);
    TN_CHECK(
        !has_errors(d), DiagnosticError, NULL,
        "one or more error diagnostics were emitted, please check diagnostic render for output.");
    return 0;
  }
  if (!has_errors(d)) return 0;
  TN_BUF(text);
  ir_diag_text(d, &text);
  TN_TRY(tn_buf_ok(&text));
  return TN_RAISE(DiagnosticError, NULL, "%s", tn_buf_cstr(&text));
}

int ir_diag_fail(tn_IRModule *m, tn_Span *span, const char *fmt, ...) {
  TN_SCOPE(s);
  va_list ap;
  va_start(ap, fmt);
  tn_str *message = formatted(fmt, ap);
  va_end(ap);
  tn_DiagnosticContext *d = ir_diag_context(m, NULL);
  if (!d) return -1;
  TN_TRY(append(d, TN_NEW(Diagnostic, .level = IR_DIAG_ERROR, .span = span, .message = message)));
  return ir_diag_render(d);
}
