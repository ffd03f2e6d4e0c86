/* Tasks (see task.h): their workloads as text, and asking records for the values of knobs. */
#include "tune/task.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "object/dtype.h"
#include "tune/records.h"

/* ---- workloads ---- */

/* The text ends in ']' all the time: what is added goes before it. */
static void open_end(tune_task *t) {
  if (t->workload.len > 0) --t->workload.len;
  if (t->workload.len > 1) tn_buf_putc(&t->workload, ',');
}

static void put_list(tn_buf *out, const int64_t *values, int n) {
  tn_buf_putc(out, '[');
  for (int i = 0; i < n; ++i) tn_buf_printf(out, "%s%" PRId64, i ? "," : "", values[i]);
  tn_buf_putc(out, ']');
}

void tune_task_workload(tune_task *t, const char *name) {
  tn_buf_clear(&t->workload);
  tn_buf_printf(&t->workload, "[\"%s\"]", name);
}

void tune_task_tensor(tune_task *t, const int64_t *extents, int n, tn_dtype dtype) {
  open_end(t);
  tn_buf_puts(&t->workload, "[\"TENSOR\",");
  put_list(&t->workload, extents, n);
  tn_buf_printf(&t->workload, ",\"%s\"]]", TN_DT(dtype));
}

void tune_task_list(tune_task *t, const int64_t *values, int n) {
  open_end(t);
  put_list(&t->workload, values, n);
  tn_buf_putc(&t->workload, ']');
}

void tune_task_value(tune_task *t, const char *json) {
  open_end(t);
  tn_buf_printf(&t->workload, "%s]", json);
}

void tune_task_dtype(tune_task *t, tn_dtype dtype) {
  open_end(t);
  tn_buf_printf(&t->workload, "\"%s\"]", TN_DT(dtype));
}

void tune_task_fini(tune_task *t) { tn_buf_fini(&t->workload); }

/* ---- knobs ---- */

tune_knob *tune_task_knob(tune_task *t, const char *name, int64_t chosen) {
  tune_knob *k = &t->knobs[t->n < TUNE_KNOBS ? t->n++ : TUNE_KNOBS - 1];
  *k = (tune_knob){.name = name, .value = chosen};
  return k;
}

void tune_knob_may(tune_knob *k, int64_t value) {
  if (k->n < TUNE_VALUES) k->may[k->n++] = value;
}

void tune_knob_may_divide(tune_knob *k, int64_t n, int64_t most) {
  for (int64_t d = 1; d <= n && d <= most; ++d)
    if (n % d == 0) tune_knob_may(k, d);
}

static bool may_have(const tune_knob *k) {
  for (int i = 0; i < k->n; ++i)
    if (k->may[i] == k->value) return true;
  return false;
}

/* The knob whose value is none of those that it may have; NULL. */
static const tune_knob *wrong_knob(const tune_task *t) {
  for (int i = 0; i < t->n; ++i)
    if (t->knobs[i].given && !may_have(&t->knobs[i])) return &t->knobs[i];
  return NULL;
}

static bool any_given(const tune_task *t) {
  for (int i = 0; i < t->n; ++i)
    if (t->knobs[i].given) return true;
  return false;
}

static void forget(tune_task *t, const int64_t *chosen) {
  for (int i = 0; i < t->n; ++i) t->knobs[i].value = chosen[i], t->knobs[i].given = false;
}

int tune_task_ask(tune_task *t, bool (*fits)(const tune_task *t, const void *ctx),
                  const void *ctx) {
  int64_t chosen[TUNE_KNOBS];
  TN_TRY(tn_buf_ok(&t->workload));
  for (int i = 0; i < t->n; ++i) chosen[i] = t->knobs[i].value;
  TN_TRY(records_ask(t));
  if (!any_given(t)) return 0;
  const tune_knob *wrong = wrong_knob(t);
  if (wrong) {
    TN_LOG(WARNING, "a record of %s says %s = %" PRId64 ", which its kernel cannot have: not used",
           tn_buf_cstr(&t->workload), wrong->name, wrong->value);
    forget(t, chosen);
  } else if (fits && !fits(t, ctx)) {
    TN_LOG(WARNING, "the values of a record of %s do not go together: not used",
           tn_buf_cstr(&t->workload));
    forget(t, chosen);
  }
  return 0;
}
