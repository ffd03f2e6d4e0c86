/* Reports of profiles as tables for people and as CSV. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/number.h"
#include "base/pmap.h"
#include "object/functions.h"
#include "runtime/profiling/profiling.h"

static const char duration_key[] = "Duration (us)";
/* what comes first in a table */
static const char *const usual[] = {"Name",   duration_key, "Percent",
                                    "Device", "Count",      "Argument Shapes"};

/* ---- metrics ---- */

tn_obj *tn_metric_add(tn_obj *a, tn_obj *b) {
  if (TN_AS(Duration, a) && TN_AS(Duration, b))
    return tn_duration(TN_AS(Duration, a)->microseconds + TN_AS(Duration, b)->microseconds);
  if (TN_AS(Percent, a) && TN_AS(Percent, b))
    return tn_percent(TN_AS(Percent, a)->percent + TN_AS(Percent, b)->percent);
  if (TN_AS(Count, a) && TN_AS(Count, b))
    return tn_count(TN_AS(Count, a)->value + TN_AS(Count, b)->value);
  if (TN_AS(Ratio, a) && TN_AS(Ratio, b)) return a;
  tn_any x = tn_any_obj(a), y = tn_any_obj(b);
  return tn_key_equal(&x, &y) ? a : (tn_obj *)tn_str_from("");
}

double tn_call_duration(const tn_map *call) {
  const tn_Duration *d = TN_AS(Duration, tn_map_find(call, duration_key));
  return d ? d->microseconds : -1;
}

/* Two digits after a point in every locale. */
static void put_fixed(tn_buf *b, double x) {
  if (!isfinite(x) || fabs(x) > 1e15) {
    tn_buf_double(b, x);
    return;
  }
  long long hundredths = llround(fabs(x) * 100);
  tn_buf_printf(b, "%s%lld.%02lld", x < 0 && hundredths ? "-" : "", hundredths / 100,
                hundredths % 100);
}

/* @param exact all digits of a number; otherwise two after the point */
static void put_metric(tn_buf *b, const tn_obj *metric, bool exact) {
  void (*number)(tn_buf *, double) = exact ? tn_buf_double : put_fixed;
  switch (metric ? metric->type_index : 0) {
  case TN_TI_Duration: number(b, TN_AS(Duration, metric)->microseconds); break;
  case TN_TI_Percent: number(b, TN_AS(Percent, metric)->percent); break;
  case TN_TI_Ratio: number(b, TN_AS(Ratio, metric)->ratio); break;
  case TN_TI_Count: tn_buf_printf(b, "%lld", (long long)TN_AS(Count, metric)->value); break;
  case TN_TI_String: {
    const tn_str *s = (const tn_str *)metric;
    tn_buf_put(b, s->data, s->len);
    break;
  }
  default: break;
  }
}

/* ---- names of metrics ---- */

static bool is_usual(const char *name) {
  for (int i = 0; i < TN_COUNT(usual); ++i) {
    if (strcmp(usual[i], name) == 0) return true;
  }
  return false;
}

static int by_text(const void *a, const void *b) {
  const tn_any *x = a, *y = b;
  return strcmp(((const tn_str *)x->v.obj)->data, ((const tn_str *)y->v.obj)->data);
}

tn_arr *tn_metric_names(const tn_vec *calls) {
  TN_VEC(names);
  tn_map *seen = tn_scope_own(tn_map_new());
  tn_any key, value, known;
  if (!seen) return NULL;
  for (int i = 0; i < TN_COUNT(usual); ++i) {
    tn_str *name = tn_str_from(usual[i]);
    if (!name) return NULL;
    TN_TRYP(tn_vec_push_obj(&names, name));
  }
  for (int64_t i = 0; i < calls->len; ++i) {
    const tn_map *call = (const tn_map *)calls->items[i].v.obj;
    for (int64_t k = 0; tn_map_at(call, k, &key, &value); ++k) {
      if (is_usual(((const tn_str *)key.v.obj)->data) || tn_map_get(seen, key, &known)) continue;
      TN_TRYP(tn_map_set(seen, key, value));
      TN_TRYP(tn_vec_push(&names, key));
    }
  }
  int64_t first = TN_COUNT(usual);
  qsort(names.items + first, (size_t)(names.len - first), sizeof *names.items, by_text);
  return tn_arr_from(&names);
}

/* ---- rows of a table ---- */

static void add_text(tn_buf *b, const tn_map *call, const char *name) {
  put_metric(b, tn_map_find(call, name), true);
  tn_buf_putc(b, '\n');
}

/* What calls that become one row have in common. Owned by the scope. */
static tn_str *row_key(const tn_map *call) {
  TN_BUF(b);
  add_text(&b, call, tn_map_find(call, "Hash") ? "Hash" : "Name");
  add_text(&b, call, "Argument Shapes");
  add_text(&b, call, "Device");
  return tn_scope_own(tn_buf_str(&b));
}

/* The metrics of two calls in one row. */
static tn_map *merged(tn_map *a, const tn_map *b) {
  tn_any key, value;
  for (int64_t i = 0; tn_map_at(b, i, &key, &value); ++i) {
    tn_obj *old = tn_map_find(a, ((const tn_str *)key.v.obj)->data);
    tn_obj *sum = old ? tn_metric_add(old, value.v.obj) : value.v.obj;
    if (!sum || tn_map_set(a, key, tn_any_obj(sum))) return NULL;
  }
  return a;
}

/* A map of the scope with the same entries, which may be changed. */
static tn_map *copy_of(const tn_map *m) {
  tn_map *copy = tn_scope_own(tn_map_new());
  return copy ? merged(copy, m) : NULL;
}

static int aggregate_rows(const tn_arr *calls, tn_vec *rows) {
  tn_map *row_of = tn_scope_own(tn_map_new()); /* key to the row's number */
  if (!row_of) return -1;
  for (int64_t i = 0; i < calls->len; ++i) {
    const tn_map *call = (const tn_map *)calls->items[i].v.obj;
    tn_any number;
    tn_str *key;
    tn_map *row;
    TN_GET(key, row_key(call));
    if (tn_map_get(row_of, tn_any_obj(key), &number)) {
      TN_GET(row, merged((tn_map *)rows->items[number.v.i64].v.obj, call));
      continue;
    }
    TN_GET(row, copy_of(call));
    TN_TRY(tn_map_set(row_of, tn_any_obj(key), tn_any_int(rows->len)));
    TN_TRY(tn_vec_push_obj(rows, row));
  }
  return 0;
}

typedef struct {
  double us;
  int64_t order;
  tn_any row;
} sort_item;

static int longer_first(const void *a, const void *b) {
  const sort_item *x = a, *y = b;
  if (x->us != y->us) return x->us < y->us ? 1 : -1;
  return (x->order > y->order) - (x->order < y->order);
}

static int sort_rows(tn_vec *rows) {
  TN_AUTOFREE sort_item *items = tn_alloc_zero((size_t)rows->len + 1, sizeof *items);
  if (!items) return -1;
  for (int64_t i = 0; i < rows->len; ++i) {
    double us = tn_call_duration((const tn_map *)rows->items[i].v.obj);
    items[i] = (sort_item){us, i, rows->items[i]};
  }
  qsort(items, (size_t)rows->len, sizeof *items, longer_first);
  for (int64_t i = 0; i < rows->len; ++i) rows->items[i] = items[i].row;
  return 0;
}

/* A row of nothing but a name. */
static tn_map *named_row(const char *name) {
  tn_str *text = tn_str_from(name);
  tn_map *row = text ? tn_scope_own(tn_map_new()) : NULL;
  return row && tn_map_set(row, tn_any_cstr("Name"), tn_any_obj(text)) == 0 ? row : NULL;
}

static bool is_summed(const tn_obj *metric) {
  return TN_AS(Duration, metric) || TN_AS(Percent, metric) || TN_AS(Count, metric);
}

static tn_map *sum_row(const tn_vec *rows) {
  tn_map *sums = named_row("Sum");
  tn_any key, value;
  for (int64_t i = 0; sums && i < rows->len; ++i) {
    const tn_map *row = (const tn_map *)rows->items[i].v.obj;
    for (int64_t k = 0; tn_map_at(row, k, &key, &value); ++k) {
      if (!is_summed(value.v.obj)) continue;
      tn_obj *old = tn_map_find(sums, ((const tn_str *)key.v.obj)->data);
      tn_obj *sum = old ? tn_metric_add(old, value.v.obj) : value.v.obj;
      if (!sum || tn_map_set(sums, key, tn_any_obj(sum))) return NULL;
    }
  }
  return sums;
}

/* Adds the rows below the calls: a line, the sums, and the whole time on each device. */
static int add_sums(tn_vec *rows) {
  tn_map *sums, *line;
  TN_GET(sums, sum_row(rows));
  TN_GET(line, named_row("----------"));
  TN_TRY(tn_vec_push_obj(rows, line));
  return tn_vec_push_obj(rows, sums);
}

static int add_totals(const tn_Report *r, tn_vec *rows) {
  tn_any key, value;
  for (int64_t i = 0; tn_map_at(r->device_metrics, i, &key, &value); ++i) {
    tn_map *row = named_row("Total"), *metrics = row ? copy_of((const tn_map *)value.v.obj) : NULL;
    tn_any name;
    if (!metrics || !tn_map_get(row, tn_any_cstr("Name"), &name) ||
        tn_map_set(metrics, tn_any_cstr("Name"), name))
      return -1;
    TN_TRY(tn_vec_push_obj(rows, metrics));
  }
  return 0;
}

/* ---- a table ---- */

static size_t width_of(const tn_str *s) {
  size_t n = 0;
  for (size_t i = 0; i < s->len; ++i) n += ((unsigned char)s->data[i] & 0xC0) != 0x80;
  return n; /* characters */
}

/* Texts of a column, the heading first. Owned by the scope. */
static tn_arr *column(const tn_str *name, const tn_vec *rows, size_t *width) {
  TN_VEC(texts);
  TN_TRYP(tn_vec_push_obj(&texts, name));
  *width = width_of(name);
  for (int64_t i = 0; i < rows->len; ++i) {
    TN_BUF(b);
    put_metric(&b, tn_map_find((const tn_map *)rows->items[i].v.obj, name->data), false);
    tn_str *text = tn_scope_own(tn_buf_str(&b));
    if (!text) return NULL;
    TN_TRYP(tn_vec_push_obj(&texts, text));
    if (width_of(text) > *width) *width = width_of(text);
  }
  return tn_arr_from(&texts);
}

static void put_cell(tn_buf *out, const tn_str *text, size_t width, bool left) {
  size_t pad = width - width_of(text);
  if (!left) tn_buf_pad(out, ' ', pad);
  tn_buf_put(out, text->data, text->len);
  tn_buf_pad(out, ' ', left ? pad + 2 : 2);
}

static int put_rows(tn_buf *out, const tn_vec *rows) {
  TN_VEC(columns);
  tn_arr *names;
  TN_GET(names, tn_metric_names(rows));
  TN_AUTOFREE size_t *widths = tn_alloc_zero((size_t)names->len, sizeof *widths);
  if (!widths) return -1;
  for (int64_t i = 0; i < names->len; ++i) {
    tn_arr *texts;
    TN_GET(texts, column((const tn_str *)names->items[i].v.obj, rows, &widths[i]));
    TN_TRY(tn_vec_push_obj(&columns, texts));
  }
  for (int64_t row = 0; row <= rows->len; ++row) {
    for (int64_t i = 0; i < columns.len; ++i) {
      const tn_arr *texts = (const tn_arr *)columns.items[i].v.obj;
      put_cell(out, (const tn_str *)texts->items[row].v.obj, widths[i], i == 0);
    }
    tn_buf_putc(out, '\n');
  }
  return 0;
}

static int put_table(tn_buf *out, const tn_Report *r, bool sort, bool aggregate, bool sums) {
  TN_VEC(rows);
  tn_any key, value;
  if (aggregate) TN_TRY(aggregate_rows(r->calls, &rows));
  for (int64_t i = 0; !aggregate && i < r->calls->len; ++i)
    TN_TRY(tn_vec_push(&rows, r->calls->items[i]));
  if (sort) TN_TRY(sort_rows(&rows));
  if (sums) TN_TRY(add_sums(&rows));
  TN_TRY(add_totals(r, &rows));
  TN_TRY(put_rows(out, &rows));
  tn_buf_puts(out, "\nConfiguration\n-------------\n");
  for (int64_t i = 0; tn_map_at(r->configuration, i, &key, &value); ++i) {
    tn_buf_printf(out, "%s: ", ((const tn_str *)key.v.obj)->data);
    put_metric(out, value.v.obj, false);
    tn_buf_putc(out, '\n');
  }
  return tn_buf_ok(out);
}

tn_str *tn_report_table(const tn_Report *r, bool sort, bool aggregate, bool sums) {
  TN_SCOPE(s);
  TN_BUF(out);
  TN_TRYP(put_table(&out, r, sort, aggregate, sums));
  return tn_buf_str(&out);
}

/* ---- CSV ---- */

/* A field; text always in quotes, so that commas in it are not separators. */
static void put_field(tn_buf *out, const tn_obj *metric) {
  const tn_str *s = TN_AS(String, metric);
  if (!s) {
    put_metric(out, metric, true);
    return;
  }
  tn_buf_putc(out, '"');
  for (size_t i = 0; i < s->len; ++i) {
    if (s->data[i] == '"') tn_buf_putc(out, '"');
    tn_buf_putc(out, s->data[i]);
  }
  tn_buf_putc(out, '"');
}

static int put_csv(tn_buf *out, const tn_Report *r) {
  const tn_vec calls = {r->calls->items, r->calls->len, 0};
  tn_arr *names;
  TN_GET(names, tn_metric_names(&calls));
  for (int64_t i = 0; i < names->len; ++i)
    tn_buf_printf(out, "%s%s", i ? "," : "", ((const tn_str *)names->items[i].v.obj)->data);
  tn_buf_putc(out, '\n');
  for (int64_t row = 0; row < calls.len; ++row) {
    for (int64_t i = 0; i < names->len; ++i) {
      const char *name = ((const tn_str *)names->items[i].v.obj)->data;
      if (i) tn_buf_putc(out, ',');
      put_field(out, tn_map_find((const tn_map *)calls.items[row].v.obj, name));
    }
    tn_buf_putc(out, '\n');
  }
  return tn_buf_ok(out);
}

tn_str *tn_report_csv(const tn_Report *r) {
  TN_SCOPE(s);
  TN_BUF(out);
  TN_TRYP(put_csv(&out, r));
  return tn_buf_str(&out);
}
