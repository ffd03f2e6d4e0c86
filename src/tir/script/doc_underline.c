/* Marks places in the text of a document: ^^^ below what came from given paths, line numbers where
   they are asked for, and only the lines around the marks.

     1 A[0] = 1
       ^^^^
     (... 7 lines skipped ...) */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "object/path.h"
#include "tir/script/doc_impl.h"

static int add_span(struct underline *u, span s) {
  if (u->n == u->cap) {
    int cap = u->cap ? u->cap * 2 : 4;
    span *spans = tn_realloc_array(u->spans, cap, sizeof *spans);
    if (!spans) return -1;
    u->spans = spans;
    u->cap = cap;
  }
  u->spans[u->n++] = s;
  return 0;
}

/* Of all documents on the way to a path, those that come closest to it are underlined. */
int mark_span(writer *w, const tn_Doc *d, size_t start) {
  const tn_arr *wanted = w->opt->underline, *paths = d ? d->source_paths : NULL;
  for (int64_t j = 0; w->opt->starts && paths && j < paths->len; ++j)
    TN_TRY(tn_pmap_put_int(w->opt->starts, tn_arr_obj(paths, j), (int64_t)start));
  for (int64_t i = 0; wanted && paths && i < wanted->len; ++i) {
    const tn_ObjectPath *target = (const tn_ObjectPath *)tn_arr_obj(wanted, i);
    for (int64_t j = 0; j < paths->len; ++j) {
      const tn_ObjectPath *path = (const tn_ObjectPath *)tn_arr_obj(paths, j);
      struct underline *u = &w->marks[i];
      if (!path || !tn_path_is_prefix(path, target) || path->length < u->best) continue;
      if (path->length > u->best) u->n = 0;
      u->best = path->length;
      TN_TRY(add_span(u, (span){start, w->out.len}));
    }
  }
  return 0;
}

typedef struct {
  const writer *w;
  const char *text;
  size_t len;
  int nlines, digits;
  char *under; /* one byte for each of the text: '^' where it is underlined */
  char *shown; /* one byte for each line */
} layout;

static void mark_bytes(layout *l) {
  int n = l->w->opt->underline ? (int)l->w->opt->underline->len : 0;
  for (int i = 0; i < n; ++i) {
    const struct underline *u = &l->w->marks[i];
    for (int j = 0; j < u->n; ++j) {
      for (size_t k = u->spans[j].start; k < u->spans[j].end && k < l->len; ++k) l->under[k] = '^';
    }
  }
}

static size_t line_length(const layout *l, size_t at) {
  const char *end = memchr(l->text + at, '\n', l->len - at);
  return end ? (size_t)(end - (l->text + at)) : l->len - at;
}

static bool is_marked(const layout *l, size_t at, size_t n) {
  return memchr(l->under + at, '^', n) != NULL;
}

/* A mark that runs over several lines starts at the indentation of each. */
static void write_marks(const layout *l, tn_buf *out, size_t at, size_t n) {
  size_t last = n, first = 0;
  while (last > 0 && l->under[at + last - 1] != '^') --last;
  while (first < last && l->text[at + first] == ' ') ++first;
  tn_buf_putc(out, '\n');
  if (l->digits) tn_buf_pad(out, ' ', (size_t)l->digits + 1);
  for (size_t i = 0; i < last; ++i)
    tn_buf_putc(out, i >= first && l->under[at + i] == '^' ? '^' : ' ');
}

static void choose_lines(layout *l) {
  int context = l->w->opt->num_context_lines, line = 0;
  memset(l->shown, context < 0 || !memchr(l->under, '^', l->len), (size_t)l->nlines);
  for (size_t at = 0; at <= l->len && context >= 0; ++line) {
    size_t n = line_length(l, at);
    if (is_marked(l, at, n)) {
      int from = line - context < 0 ? 0 : line - context;
      int to = line + context >= l->nlines ? l->nlines - 1 : line + context;
      memset(l->shown + from, 1, (size_t)(to - from + 1));
    }
    at += n + 1;
  }
}

/* The note on what is skipped takes a line too: a line alone is shown instead. */
static void show_single_lines(layout *l) {
  for (int i = 0; i < l->nlines; ++i) {
    bool before = i == 0 || l->shown[i - 1], after = i + 1 == l->nlines || l->shown[i + 1];
    if (before && after) l->shown[i] = 1;
  }
}

static void write_lines(const layout *l, tn_buf *out) {
  int line = 0, skipped = 0;
  bool first = true;
  for (size_t at = 0; at <= l->len; ++line) {
    size_t n = line_length(l, at);
    bool last = line + 1 == l->nlines;
    if (!l->shown[line]) skipped++;
    if ((l->shown[line] || last) && skipped) {
      if (!first) tn_buf_putc(out, '\n');
      tn_buf_printf(out, "(... %d lines skipped ...)", skipped);
      skipped = 0;
      first = false;
    }
    if (l->shown[line]) {
      if (!first) tn_buf_putc(out, '\n');
      if (l->digits) tn_buf_printf(out, "%*d ", l->digits, line + 1);
      tn_buf_put(out, l->text + at, n);
      if (is_marked(l, at, n)) write_marks(l, out, at, n);
      first = false;
    }
    at += n + 1;
  }
}

/* `shown` has a byte for each line, `under` for each byte of the text and one more: an empty text
 * is fine. */
static int decorate(const writer *w, tn_buf *out) {
  layout l = {.w = w, .text = w->out.data ? w->out.data : "", .len = w->out.len, .nlines = 1};
  for (size_t i = 0; i < l.len; ++i) l.nlines += l.text[i] == '\n';
  if (w->opt->print_line_numbers) l.digits = snprintf(NULL, 0, "%d", l.nlines);
  TN_AUTOFREE char *under = tn_alloc_zero(l.len + 1, 1);
  TN_AUTOFREE char *shown = under ? tn_alloc_zero((size_t)l.nlines, 1) : NULL;
  if (!shown) return -1;
  l.under = under;
  l.shown = shown;
  mark_bytes(&l);
  choose_lines(&l);
  show_single_lines(&l);
  write_lines(&l, out);
  return tn_buf_ok(out);
}

int doc_text(const tn_Doc *doc, const doc_options *opt, tn_buf *out) {
  writer w = {.opt = opt};
  int64_t n = opt->underline ? opt->underline->len : 0;
  int err = 0;
  if (n && !(w.marks = tn_alloc_zero((size_t)n, sizeof *w.marks))) return -1;
  err = doc_write(&w, doc) || tn_buf_ok(&w.out);
  while (w.out.len && (w.out.data[w.out.len - 1] == '\n' || w.out.data[w.out.len - 1] == ' '))
    w.out.len--;
  bool plain = !n && !opt->print_line_numbers && opt->num_context_lines < 0;
  if (!err && plain) tn_buf_put(out, w.out.data, w.out.len);
  if (!err && !plain) err = decorate(&w, out);
  for (int64_t i = 0; i < n; ++i) tn_free(w.marks[i].spans);
  tn_free(w.marks);
  tn_buf_fini(&w.out);
  return err || tn_buf_ok(out) ? -1 : 0;
}
