/* Reading records, and finding the best one. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/scope.h"
#include "tune/records.h"
#include "object/containers.h"
#include "codegen/codegen.h"
#include "target/machine.h"

typedef struct {
  tn_target *target;
  tn_str *workload, *entity; /* compact JSON */
  double cost;               /* seconds */
} record;

struct records {
  record *items;
  int64_t len, cap;
};

/* ---- pieces of JSON ---- */

/* A value as it is written, without the spaces between. The text was checked as a whole. */
static void put_compact(const tn_json *j, tn_json_at x, tn_buf *out) {
  const char *p = j->text + j->tokens[x].start;
  int64_t depth = 0;
  bool inside = false;
  do {
    char c = *p++;
    if (inside && c == '\\') {
      tn_buf_putc(out, c);
      c = *p++;
    } else if (c == '"') {
      inside = !inside;
    } else if (!inside) {
      depth += (c == '[' || c == '{') - (c == ']' || c == '}');
      if (c == ' ' || c == '\t' || c == '\r' || c == '\n') continue;
    }
    tn_buf_putc(out, c);
  } while (depth > 0);
}

static bool is_list(const tn_json *j, tn_json_at x) { return tn_json_is(j, x, TN_JSON_ARRAY); }

/* The i-th element of a list; 0: there is none. */
static tn_json_at element(const tn_json *j, tn_json_at list, int i) {
  tn_json_at x = is_list(j, list) ? tn_json_first(j, list) : 0;
  while (x && i-- > 0) x = tn_json_after(j, list, x);
  return x;
}

static bool number_of(const tn_json *j, tn_json_at x, double *out) {
  return x && tn_json_double(j, x, out);
}

/* ---- one record ---- */

/* The mean of the times; false where there are none. */
static bool cost_of(const tn_json *j, tn_json_at costs, double *out) {
  double sum = 0, one;
  if (!is_list(j, costs) || tn_json_count(j, costs) == 0) return false;
  for (tn_json_at x = tn_json_first(j, costs); x; x = tn_json_after(j, costs, x)) {
    if (!number_of(j, x, &one)) return false;
    sum += one;
  }
  *out = sum / (double)tn_json_count(j, costs);
  return true;
}

/* ["name",arguments...] */
static tn_str *workload_of(const tn_json *j, tn_json_at name, tn_json_at args) {
  TN_BUF(out);
  tn_bytes_view raw = tn_json_raw(j, name);
  tn_buf_puts(&out, "[\"");
  tn_buf_put(&out, raw.data, raw.size);
  tn_buf_putc(&out, '"');
  for (tn_json_at x = tn_json_first(j, args); x; x = tn_json_after(j, args, x)) {
    tn_buf_putc(&out, ',');
    tn_json_kind kind = tn_json_kind_of(j, x);
    if (kind == TN_JSON_ARRAY || kind == TN_JSON_OBJECT) put_compact(j, x, &out);
    else if (kind == TN_JSON_STRING) tn_buf_putc(&out, '"');
    raw = tn_json_raw(j, x);
    if (kind != TN_JSON_ARRAY && kind != TN_JSON_OBJECT) tn_buf_put(&out, raw.data, raw.size);
    if (kind == TN_JSON_STRING) tn_buf_putc(&out, '"');
  }
  tn_buf_putc(&out, ']');
  return tn_buf_ok(&out) ? NULL : tn_buf_str(&out);
}

static tn_target *target_of(const tn_json *j, tn_json_at x) {
  TN_BUF(text);
  tn_json_text(j, x, &text);
  if (tn_buf_ok(&text)) return NULL;
  return target_parse(tn_buf_cstr(&text));
}

/* @return 1 a record, 0 it is to be left out, -1 it is none, or an error is pending */
static int read_record(const tn_json *j, record *out) {
  double version, error;
  if (tn_json_kind_of(j, TN_JSON_ROOT) != TN_JSON_OBJECT) return -1;
  if (!number_of(j, tn_json_member(j, TN_JSON_ROOT, "version"), &version) || version != 0.2)
    return 0;
  tn_json_at input = tn_json_member(j, TN_JSON_ROOT, "input"),
             config = tn_json_member(j, TN_JSON_ROOT, "config"),
             result = tn_json_member(j, TN_JSON_ROOT, "result"),
             entity = config ? tn_json_member(j, config, "entity") : 0;
  tn_json_at name = element(j, input, 1), args = element(j, input, 2);
  if (!tn_json_is(j, element(j, input, 0), TN_JSON_STRING) ||
      !tn_json_is(j, name, TN_JSON_STRING) || !is_list(j, args) || !is_list(j, entity) ||
      !number_of(j, element(j, result, 1), &error))
    return -1;
  if (error != 0) return 0;
  if (!cost_of(j, element(j, result, 0), &out->cost)) return -1;
  out->target = target_of(j, element(j, input, 0));
  if (!out->target && tn_error_get_kind() == TN_MemoryError) return -1;
  if (!out->target) return tn_error_clear(), 0;
  TN_BUF(text);
  put_compact(j, entity, &text);
  TN_TRY(tn_buf_ok(&text));
  TN_GET(out->entity, tn_scope_own(tn_buf_str(&text)));
  TN_GET(out->workload, tn_scope_own(workload_of(j, name, args)));
  return 1;
}

static int add_line(records *r, const char *line, size_t n) {
  TN_SCOPE(s);
  tn_json j;
  record one = {0};
  int known = tn_json_parse(&j, line, n);
  if (!known) known = read_record(&j, &one);
  tn_json_fini(&j);
  if (known < 0 && !tn_error_pending())
    return TN_RAISE(ValueError, NULL, "expected a record: input, config and result");
  if (known <= 0) return known;
  TN_GROW(r->items, r->cap, r->len + 1, return -1);
  tn_retain(one.target);
  tn_retain(one.workload);
  tn_retain(one.entity);
  r->items[r->len++] = one;
  return 0;
}

/* ---- all of them ---- */

static bool is_empty(const char *line, size_t n) {
  size_t i = 0;
  while (i < n && (line[i] == ' ' || line[i] == '\t' || line[i] == '\r')) ++i;
  return i == n || line[i] == '#';
}

records *records_read(const char *text, size_t n, const char *name) {
  records *r = tn_alloc_zero(1, sizeof *r);
  const char *end = text + n;
  for (int64_t number = 1; r && text < end; ++number) {
    const char *stop = memchr(text, '\n', (size_t)(end - text));
    size_t size = (size_t)((stop ? stop : end) - text);
    if (!is_empty(text, size) && add_line(r, text, size)) {
      if (tn_error_get_kind() != TN_MemoryError)
        (void)tn_error_note("in line %lld of %s", (long long)number, name);
      records_free(r);
      return NULL;
    }
    text = stop ? stop + 1 : end;
  }
  return r;
}

void records_free(records *r) {
  if (!r) return;
  for (int64_t i = 0; i < r->len; ++i) {
    tn_release(r->items[i].target);
    tn_release(r->items[i].workload);
    tn_release(r->items[i].entity);
  }
  tn_free(r->items);
  tn_free(r);
}

int64_t records_count(const records *r) { return r->len; }

/* ---- which one ---- */

const char *records_processor(const tn_target *t) {
  const char *cpu = target_str(t, "mcpu", "");
  bool here = (!*cpu || strcmp(cpu, "native") == 0) && !*target_str(t, "mtriple", "");
  if (!here) return cpu;
  /* a virtual machine may hide the name, not what instructions there are: AMX has been since */
  cpu = codegen_host_processor();
  bool rapids = strstr(cpu, "rapids") != NULL;
  return target_machine_of(t).bf16 == MACHINE_BF16_TILES && !rapids ? "sapphirerapids" : cpu;
}

int records_fit(const tn_target *of, const tn_target *t) {
  const char *cpu = target_str(of, "mcpu", ""), *model = target_str(of, "model", "");
  int64_t cores = target_int(of, "num-cores", 0);
  if (of->kind != t->kind) return -1;
  if (*cpu && strcmp(records_processor(of), records_processor(t)) != 0) return -1;
  if (*model && strcmp(model, "unknown") != 0 && strcmp(model, target_str(t, "model", "")) != 0)
    return -1;
  if (cores > 0 && cores != target_machine_of(t).threads) return -1;
  return (*cpu != 0) * 4 + (*model != 0) * 2 + (cores > 0);
}

const char *records_best(const records *r, const tn_target *t, const char *workload) {
  const record *best = NULL;
  int most = -1;
  for (int64_t i = 0; i < r->len; ++i) {
    const record *one = &r->items[i];
    if (!tn_str_eq(one->workload, workload)) continue;
    int fit = records_fit(one->target, t);
    if (fit > most || (best && fit == most && one->cost < best->cost)) best = one, most = fit;
  }
  return best ? tn_cstr(best->entity) : NULL;
}
