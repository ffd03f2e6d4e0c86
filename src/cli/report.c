#include "cli/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "cli/progress.h"
#include "object/dtype.h"

/* Before a member of the JSON object. */
static void member(cli_report *r, const char *name) {
  tn_buf_printf(&r->out, "%s\"%s\": ", r->out.len ? ", " : "{", name);
}

/* ---- the largest values ---- */

typedef struct {
  double value;
  int64_t index;
} ranked;

static int largest_first(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  if (x->value != y->value) return x->value > y->value ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

static int value_at(const DLTensor *t, int64_t i, double *out) {
  const char *p = (const char *)t->data + t->byte_offset;
  bool whole = t->dtype.code == kDLInt, real = t->dtype.code == kDLFloat;
  if (real && t->dtype.bits == 32) *out = (double)((const float *)(const void *)p)[i];
  else if (real && t->dtype.bits == 64) *out = ((const double *)(const void *)p)[i];
  else if (whole && t->dtype.bits == 32) *out = ((const int32_t *)(const void *)p)[i];
  else if (whole && t->dtype.bits == 64) *out = (double)((const int64_t *)(const void *)p)[i];
  else return TN_RAISE(TypeError, NULL, "--top: not for outputs of type %s", TN_DT(t->dtype));
  return 0;
}

static void put_row(cli_report *r, const ranked *list, int64_t k, bool first) {
  if (r->json) tn_buf_puts(&r->out, first ? "[" : ", [");
  for (int64_t i = 0; i < k; ++i)
    tn_buf_printf(&r->out, r->json ? "%s[%lld, %.9g]" : "%s%lld: %.6g",
                  !i        ? ""
                  : r->json ? ", "
                            : "  ",
                  (long long)list[i].index, list[i].value);
  tn_buf_puts(&r->out, r->json ? "]" : "\n");
}

int cli_report_top(cli_report *r, const tn_tensor *tensor, int64_t k) {
  const DLTensor *t = tn_tensor_dl(tensor);
  int64_t count = tn_tensor_count(t), width = t->ndim ? t->shape[t->ndim - 1] : 1;
  if (k > width) k = width;
  TN_AUTOFREE ranked *row = tn_alloc_zero((size_t)width + 1, sizeof *row);
  if (!row) return -1;
  if (r->json) member(r, "top");
  if (r->json) tn_buf_putc(&r->out, '[');
  for (int64_t at = 0; width && at < count; at += width) {
    for (int64_t i = 0; i < width; ++i) {
      row[i].index = i;
      TN_TRY(value_at(t, at + i, &row[i].value));
    }
    qsort(row, (size_t)width, sizeof *row, largest_first);
    put_row(r, row, k, at == 0);
  }
  if (r->json) tn_buf_putc(&r->out, ']');
  return 0;
}

/* ---- times ---- */

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int cli_report_times(cli_report *r, cli_model *m, int64_t n) {
  TN_AUTOFREE double *times = tn_alloc_zero((size_t)n, sizeof *times);
  cli_count count = {.args = r->args, .total = n};
  if (!times) return -1;
  for (int64_t i = 0; i < n; ++i) {
    int64_t start = tn_now_ns();
    TN_TRY(cli_model_run(m));
    times[i] = (double)(tn_now_ns() - start) * 1e-9;
    cli_count_run(&count, i + 1);
  }
  cli_count_end(&count);
  qsort(times, (size_t)n, sizeof *times, ascending);
  if (r->json) {
    member(r, "runs");
    tn_buf_printf(&r->out, "%lld, \"median\": %.9f, \"min\": %.9f", (long long)n, times[n / 2],
                  times[0]);
  } else {
    tn_buf_printf(&r->out, "%lld runs: median %.3f ms, fastest %.3f ms\n", (long long)n,
                  times[n / 2] * 1e3, times[0] * 1e3);
  }
  return 0;
}

/* ---- profile ---- */

typedef struct {
  const char *name;
  double seconds;
} cost;

static int slowest_first(const void *a, const void *b) {
  const cost *x = a, *y = b;
  if (x->seconds != y->seconds) return x->seconds > y->seconds ? -1 : 1;
  return strcmp(x->name, y->name);
}

static int run_once(tn_graph_executor *x, cost *costs) {
  TN_TRY(tn_graph_run_begin(x));
  for (int32_t i = 0; i < x->nop; ++i) {
    int64_t start = tn_now_ns();
    TN_TRY(tn_graph_run_op(&x->ops[i]));
    costs[i].seconds += (double)(tn_now_ns() - start) * 1e-9;
  }
  return tn_graph_run_end(x);
}

static void put_costs(cli_report *r, const cost *costs, int32_t n) {
  double all = 0;
  for (int32_t i = 0; i < n; ++i) all += costs[i].seconds;
  if (r->json) {
    member(r, "profile");
    tn_buf_putc(&r->out, '[');
  } else tn_buf_printf(&r->out, "%12s %7s  kernel\n", "us", "share");
  for (int32_t i = 0; i < n; ++i) {
    double share = all > 0 ? costs[i].seconds / all : 0;
    if (!r->json) {
      tn_buf_printf(&r->out, "%12.2f %6.1f%%  %s\n", costs[i].seconds * 1e6, share * 100,
                    costs[i].name);
      continue;
    }
    tn_buf_puts(&r->out, i ? ", {\"kernel\": " : "{\"kernel\": ");
    tn_buf_quote(&r->out, costs[i].name, strlen(costs[i].name));
    tn_buf_printf(&r->out, ", \"seconds\": %.9f, \"share\": %.6f}", costs[i].seconds, share);
  }
  if (r->json) tn_buf_putc(&r->out, ']');
}

/* Time of each kernel of the machine; those of one name together. */
typedef struct {
  cost *costs;
  int64_t start;
} vm_watch;

static int watch(void *observer, tn_vm_machine *m, const int64_t *w, bool begin) {
  vm_watch *v = observer;
  (void)m;
  if (w[0] != TN_VM_INVOKE_PACKED) return 0;
  if (begin) v->start = tn_now_ns();
  else v->costs[w[1]].seconds += (double)(tn_now_ns() - v->start) * 1e-9;
  return 0;
}

static int profile_machine(cli_model *m, cost *costs, int64_t n) {
  vm_watch v = {costs, 0};
  m->vm->observer = &v;
  m->vm->observe = watch;
  int err = 0;
  for (int64_t i = 0; i < n && !err; ++i) err = cli_model_run(m);
  m->vm->observe = NULL;
  return err;
}

int cli_report_profile(cli_report *r, cli_model *m, int64_t n) {
  tn_graph_executor *x = m->x;
  int32_t count = x ? x->nop : (int32_t)m->vm->x->nprim;
  TN_AUTOFREE cost *costs = tn_alloc_zero((size_t)count + 1, sizeof *costs);
  if (!costs) return -1;
  for (int32_t i = 0; i < count; ++i)
    costs[i].name = x ? x->g.nodes[x->ops[i].node].name : m->vm->x->prims[i];
  if (!x) TN_TRY(profile_machine(m, costs, n));
  for (int64_t i = 0; x && i < n; ++i) TN_TRY(run_once(x, costs));
  for (int32_t i = 0; i < count; ++i) costs[i].seconds /= (double)n;
  if (count) qsort(costs, (size_t)count, sizeof *costs, slowest_first);
  put_costs(r, costs, count);
  return 0;
}

int cli_report_end(cli_report *r) {
  if (r->json && r->out.len) tn_buf_puts(&r->out, "}\n");
  TN_TRY(tn_buf_ok(&r->out));
  fputs(tn_buf_cstr(&r->out), stdout);
  return 0;
}
