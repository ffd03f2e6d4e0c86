/* Reports of profiles as JSON and back, and their global functions. A metric is an object whose one
   member names its unit: {"microseconds": 1.5}, {"count": 3}, {"percent": 2.5}, {"ratio": 0.5},
   {"string": "text"}. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/number.h"
#include "object/functions.h"
#include "runtime/profiling/profiling.h"

/* ---- writing ---- */

/* A number that is read as one with a fraction; 0 for what JSON cannot say. */
static void put_real(tn_buf *out, double x) {
  char text[TN_DOUBLE_TEXT];
  tn_double_text(isfinite(x) ? x : 0, text);
  tn_buf_puts(out, text);
  if (!strpbrk(text, ".e")) tn_buf_puts(out, ".0");
}

static void put_number(tn_buf *out, const char *unit, double x) {
  tn_buf_printf(out, "{\"%s\":", unit);
  put_real(out, x);
  tn_buf_putc(out, '}');
}

static int put_metric(tn_buf *out, const tn_obj *m) {
  const tn_str *s = TN_AS(String, m);
  if (TN_AS(Duration, m)) put_number(out, "microseconds", TN_AS(Duration, m)->microseconds);
  else if (TN_AS(Percent, m)) put_number(out, "percent", TN_AS(Percent, m)->percent);
  else if (TN_AS(Ratio, m)) put_number(out, "ratio", TN_AS(Ratio, m)->ratio);
  else if (TN_AS(Count, m))
    tn_buf_printf(out, "{\"count\":%lld}", (long long)TN_AS(Count, m)->value);
  else if (s) {
    tn_buf_puts(out, "{\"string\":");
    tn_buf_quote(out, s->data, s->len);
    tn_buf_putc(out, '}');
  } else {
    return TN_RAISE(TypeError, NULL, "profile report: expected a metric, got %s",
                    m ? tn_obj_key(m) : "None");
  }
  return 0;
}

static int put_metrics(tn_buf *out, const tn_map *m) {
  tn_any key, value;
  tn_buf_putc(out, '{');
  for (int64_t i = 0; tn_map_at(m, i, &key, &value); ++i) {
    const tn_str *name = (const tn_str *)key.v.obj;
    if (i) tn_buf_putc(out, ',');
    tn_buf_quote(out, name->data, name->len);
    tn_buf_putc(out, ':');
    TN_TRY(put_metric(out, tn_any_is_obj(&value) ? value.v.obj : NULL));
  }
  tn_buf_putc(out, '}');
  return 0;
}

static int put_report(tn_buf *out, const tn_Report *r) {
  tn_any key, value;
  tn_buf_puts(out, "{\"configuration\":");
  TN_TRY(put_metrics(out, r->configuration));
  tn_buf_puts(out, ",\"calls\":[");
  for (int64_t i = 0; i < r->calls->len; ++i) {
    if (i) tn_buf_putc(out, ',');
    TN_TRY(put_metrics(out, (const tn_map *)r->calls->items[i].v.obj));
  }
  tn_buf_puts(out, "],\"device_metrics\":{");
  for (int64_t i = 0; tn_map_at(r->device_metrics, i, &key, &value); ++i) {
    const tn_str *name = (const tn_str *)key.v.obj;
    if (i) tn_buf_putc(out, ',');
    tn_buf_quote(out, name->data, name->len);
    tn_buf_putc(out, ':');
    TN_TRY(put_metrics(out, (const tn_map *)value.v.obj));
  }
  tn_buf_puts(out, "}}");
  return tn_buf_ok(out);
}

tn_str *tn_report_json(const tn_Report *r) {
  TN_BUF(out);
  TN_TRYP(put_report(&out, r));
  return tn_buf_str(&out);
}

/* ---- reading ---- */

static int wrong(const char *what) {
  return TN_RAISE(ValueError, NULL, "profile report: expected %s", what);
}

/* Text of a string or number; owned by the scope. */
static tn_str *text_of(const tn_json *j, tn_json_at at) {
  TN_BUF(b);
  if (tn_json_is(j, at, TN_JSON_STRING)) {
    tn_json_text(j, at, &b);
  } else {
    tn_bytes_view raw = tn_json_raw(j, at);
    tn_buf_put(&b, raw.data, raw.size);
  }
  return tn_scope_own(tn_buf_str(&b));
}

/* A metric, owned by the scope. */
static tn_obj *read_metric(const tn_json *j, tn_json_at at) {
  if (!tn_json_is(j, at, TN_JSON_OBJECT) || tn_json_count(j, at) != 1)
    return wrong("a metric as {unit: value}"), NULL;
  tn_json_at key = tn_json_first(j, at), value = key + 1;
  tn_str *unit = text_of(j, key), *text = unit ? text_of(j, value) : NULL;
  if (!text) return NULL;
  if (tn_str_eq(unit, "string")) {
    if (!tn_json_is(j, value, TN_JSON_STRING)) return wrong("text in {\"string\": ...}"), NULL;
    return (tn_obj *)text;
  }
  int64_t n;
  if (!tn_json_is(j, value, TN_JSON_NUMBER)) return wrong("a number as value of a metric"), NULL;
  if (tn_str_eq(unit, "count"))
    return tn_json_int(j, value, &n) ? tn_count(n)
                                     : (wrong("an integer in {\"count\": ...}"), NULL);
  double x = tn_strtod(text->data, NULL);
  if (tn_str_eq(unit, "microseconds")) return tn_duration(x);
  if (tn_str_eq(unit, "percent")) return tn_percent(x);
  if (tn_str_eq(unit, "ratio")) return tn_ratio(x);
  return wrong("a unit: microseconds, count, percent, ratio or string"), NULL;
}

/* A map from name to what `read` makes of the values, owned by the scope. */
static tn_obj *read_map(const tn_json *j, tn_json_at at,
                        tn_obj *(*read)(const tn_json *, tn_json_at)) {
  if (!tn_json_is(j, at, TN_JSON_OBJECT)) return wrong("an object with names of metrics"), NULL;
  tn_map *m = tn_scope_own(tn_map_new());
  if (!m) return NULL;
  for (tn_json_at k = tn_json_first(j, at); k; k = tn_json_after(j, at, k)) {
    tn_str *name = text_of(j, k);
    tn_obj *value = name ? read(j, k + 1) : NULL;
    if (!value || tn_map_set(m, tn_any_obj(name), tn_any_obj(value))) return NULL;
  }
  return (tn_obj *)m;
}

static tn_obj *read_metrics(const tn_json *j, tn_json_at at) {
  return read_map(j, at, read_metric);
}

static tn_arr *read_calls(const tn_json *j, tn_json_at at) {
  TN_VEC(calls);
  if (!tn_json_is(j, at, TN_JSON_ARRAY)) return wrong("a list \"calls\""), NULL;
  for (tn_json_at x = tn_json_first(j, at); x; x = tn_json_after(j, at, x)) {
    tn_obj *call = read_metrics(j, x);
    if (!call) return NULL;
    TN_TRYP(tn_vec_push_obj(&calls, call));
  }
  return tn_arr_from(&calls);
}

static tn_Report *read_report(const tn_json *j) {
  if (tn_json_kind_of(j, TN_JSON_ROOT) != TN_JSON_OBJECT)
    return wrong("an object with calls, device_metrics and configuration"), NULL;
  tn_arr *calls = read_calls(j, tn_json_member(j, TN_JSON_ROOT, "calls"));
  tn_obj *devices =
      calls ? read_map(j, tn_json_member(j, TN_JSON_ROOT, "device_metrics"), read_metrics) : NULL;
  /* reports of early releases have none */
  tn_json_at at = tn_json_member(j, TN_JSON_ROOT, "configuration");
  tn_obj *configuration = !devices ? NULL
                          : at     ? read_metrics(j, at)
                                   : (tn_obj *)tn_scope_own(tn_map_new());
  if (!configuration) return NULL;
  return TN_NEW(Report, .calls = calls, .device_metrics = (tn_map *)devices,
                .configuration = (tn_map *)configuration);
}

tn_Report *tn_report_from_json(const char *text, size_t n) {
  TN_SCOPE(s);
  tn_json j;
  tn_Report *r = tn_json_parse(&j, text, n) ? NULL : read_report(&j);
  tn_json_fini(&j);
  tn_retain(r);
  return r;
}

/* ---- functions ---- */

#define ARG_REPORT(who)                                                                            \
  TN_ARG_OBJ(Report, r, 0);                                                                        \
  TN_CHECK(r, TypeError, NULL, "%s: expected a report, got None", who)

static int as_table(TN_ARGS) {
  bool flags[3] = {true, true, true};
  ARG_REPORT("AsTable");
  for (int32_t i = 1; i < n && i < 4; ++i) TN_TRY(tn_any_to_bool(&args[i], &flags[i - 1]));
  return tn_ret_owned(ret, tn_report_table(r, flags[0], flags[1], flags[2]));
}

static int as_csv(TN_ARGS) {
  ARG_REPORT("AsCSV");
  return tn_ret_owned(ret, tn_report_csv(r));
}

static int as_json(TN_ARGS) {
  ARG_REPORT("AsJSON");
  return tn_ret_owned(ret, tn_report_json(r));
}

static int from_json(TN_ARGS) {
  tn_bytes_view text;
  TN_NARGS("runtime.profiling.FromJSON", 1);
  TN_TRY(tn_any_to_bytes(&args[0], &text));
  return tn_ret_owned(ret, tn_report_from_json((const char *)text.data, text.size));
}

/* Is it a map from strings to what `check` accepts? */
static bool is_map(const tn_obj *o, bool (*check)(const tn_obj *)) {
  tn_any key, value;
  if (!TN_AS(Map, o)) return false;
  for (int64_t i = 0; tn_map_at((const tn_map *)o, i, &key, &value); ++i) {
    if (key.type_index != TN_TI_String || !tn_any_is_obj(&value) || !check(value.v.obj))
      return false;
  }
  return true;
}
static bool is_object(const tn_obj *o) { return o != NULL; }
static bool is_metrics(const tn_obj *o) { return is_map(o, is_object); }

/* (calls, device metrics, configuration) */
static int report(TN_ARGS) {
  TN_NARGS("runtime.profiling.Report", 3);
  TN_ARG_ITEMS(Array(Map), calls, 0);
  TN_ARG_OBJ(Map, devices, 1);
  TN_ARG_OBJ(Map, configuration, 2);
  bool ok = calls && is_map((const tn_obj *)devices, is_metrics) &&
            is_metrics((const tn_obj *)configuration);
  for (int64_t i = 0; ok && i < calls->len; ++i) ok = is_metrics(tn_arr_obj(calls, i));
  TN_CHECK(ok, TypeError, NULL,
           "Report: expected a list of maps from name to metric, a map from device to such a map, "
           "and one such map");
  return tn_ret_obj(ret, TN_NEW(Report, .calls = calls, .device_metrics = devices,
                                .configuration = configuration));
}

static const tn_func_row rows[] = {
    {"runtime.profiling.AsTable", as_table}, {"runtime.profiling.AsCSV", as_csv},
    {"runtime.profiling.AsJSON", as_json},   {"runtime.profiling.FromJSON", from_json},
    {"runtime.profiling.Report", report},
};

int tn_report_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
