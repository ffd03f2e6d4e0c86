/* tenon inspect on an ONNX model: what goes in and comes out, which operators it becomes, how much
   of it is weights. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cli/onnx.h"
#include "cli/progress.h"
#include "ir/functor.h"
#include "ir/module.h"
#include "object/functions.h"
#include "relay/type_text.h"
#include "tenon/runtime.h"

bool cli_onnx_named(const char *path) {
  size_t n = strlen(path);
  return n > 5 && strcmp(path + n - 5, ".onnx") == 0;
}

typedef struct {
  tn_map *ops; /* name -> count */
  int64_t weights, bytes;
} tally;

static int count(void *ctx, tn_obj *node) {
  tally *t = ctx;
  const tn_Constant *c = TN_AS(Constant, node);
  const char *op = relay_called_op(node);
  tn_any found;
  if (c) {
    const DLTensor *dl = tn_tensor_dl(c->data);
    t->weights += tn_tensor_count(dl);
    t->bytes += tn_tensor_nbytes(dl);
  }
  if (!op) return 0;
  int64_t times = tn_map_get(t->ops, tn_any_cstr(op), &found) ? found.v.i64 : 0;
  return tn_map_set(t->ops, tn_any_cstr(op), tn_any_int(times + 1));
}

static int most_first(const void *a, const void *b) {
  const tn_map_entry *const *x = a, *const *y = b;
  int64_t m = (*x)->value.v.i64, n = (*y)->value.v.i64;
  if (m != n) return m > n ? -1 : 1;
  return strcmp(tn_cstr((const tn_str *)(*x)->key.v.obj), tn_cstr((const tn_str *)(*y)->key.v.obj));
}

static int put_ops(tn_buf *out, bool json, const tn_map *ops) {
  const tn_map_entry **rows = tn_alloc_zero((size_t)ops->len + 1, sizeof *rows);
  if (!rows) return -1;
  for (int64_t i = 0; i < ops->len; ++i) rows[i] = &ops->entries[i];
  qsort(rows, (size_t)ops->len, sizeof *rows, most_first);
  tn_buf_puts(out, json ? "\"operators\": {" : "operators\n");
  for (int64_t i = 0; i < ops->len; ++i) {
    const char *name = tn_cstr((const tn_str *)rows[i]->key.v.obj);
    tn_buf_printf(out, json ? "%s\"%s\": %" PRId64 : "%s  %-32s %6" PRId64 "\n",
                  json && i ? ", " : "", name, rows[i]->value.v.i64);
  }
  if (json) tn_buf_puts(out, "}, ");
  tn_free((void *)rows);
  return 0;
}

static void put_value(tn_buf *out, bool json, const char *name, const tn_Type *type, bool first) {
  const char *text = type ? relay_type_text(type) : "?";
  if (!json) {
    tn_buf_printf(out, "  %s: %s\n", name, text);
    return;
  }
  tn_buf_puts(out, first ? "{\"name\": " : ", {\"name\": ");
  tn_buf_quote(out, name, strlen(name));
  tn_buf_puts(out, ", \"type\": ");
  tn_buf_quote(out, text, strlen(text));
  tn_buf_putc(out, '}');
}

static void put_outputs(tn_buf *out, bool json, const tn_RelayFunction *f) {
  const tn_Type *type = relay_type_of(f->body);
  const tn_TupleType *tuple = TN_AS(TupleType, type);
  tn_buf_puts(out, json ? "\"outputs\": [" : "outputs\n");
  for (int64_t i = 0; i < (tuple ? tuple->fields->len : 1); ++i) {
    char name[32];
    snprintf(name, sizeof name, "output_%" PRId64, i);
    put_value(out, json, name, tuple ? (const tn_Type *)tn_arr_obj(tuple->fields, i) : type,
              i == 0);
  }
  tn_buf_puts(out, json ? "], " : "");
}

int cli_onnx_inspect(const cli_args *a) {
  TN_BUF(out);
  bool json = cli_has(a, "json");
  tally t = {0};
  tn_IRModule *m;
  tn_GlobalVar *v;
  tn_RelayFunction *f;
  cli_stage(a, "reading the model");
  TN_GET(m, cli_onnx_read(a));
  cli_stage(a, "");
  TN_GET(v, ir_module_var(m, "main"));
  TN_GET(f, (tn_RelayFunction *)ir_module_lookup(m, v));
  TN_GET(t.ops, tn_scope_own(tn_map_new()));
  TN_TRY(tn_post_order(f->body, count, &t));
  tn_buf_puts(&out, json ? "{\"inputs\": [" : "inputs\n");
  for (int64_t i = 0; i < f->params->len; ++i) {
    const tn_RelayVar *p = (const tn_RelayVar *)tn_arr_obj(f->params, i);
    put_value(&out, json, tn_cstr(p->vid->name_hint), p->type_annotation, i == 0);
  }
  tn_buf_puts(&out, json ? "], " : "");
  put_outputs(&out, json, f);
  TN_TRY(put_ops(&out, json, t.ops));
  tn_buf_printf(&out,
                json ? "\"weights\": %" PRId64 ", \"weights_bytes\": %" PRId64 "}\n"
                     : "weights    %" PRId64 " numbers, %" PRId64 " bytes\n",
                t.weights, t.bytes);
  TN_TRY(tn_buf_ok(&out));
  fputs(tn_buf_cstr(&out), stdout);
  return 0;
}
