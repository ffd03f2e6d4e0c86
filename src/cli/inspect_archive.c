/* tenon inspect: what the models of an archive in Model Library Format need. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/scope.h"
#include "cli/inspect.h"
#include "export/archive.h"
#include "object/containers.h"

static int64_t number(const tn_json *j, tn_json_at object, const char *name) {
  tn_json_at x = object ? tn_json_member(j, object, name) : 0;
  int64_t value;
  return x && tn_json_int(j, x, &value) ? value : -1;
}

static tn_json_at object(const tn_json *j, tn_json_at x, const char *name) {
  tn_json_at found = tn_json_member(j, x, name);
  return tn_json_is(j, found, TN_JSON_OBJECT) ? found : 0;
}

static void put_bytes(tn_buf *b, const char *what, int64_t bytes, const char *more) {
  if (bytes >= 0) tn_buf_printf(b, "  %-10s %" PRId64 " bytes%s\n", what, bytes, more);
}

static void put_raw(tn_buf *b, const tn_json *j, tn_json_at x) {
  tn_bytes_view text = tn_json_raw(j, x);
  tn_buf_put(b, text.data, text.size);
}

/* {"x": {"dtype": "float32", "size": 16}} */
static void put_tensors(tn_buf *b, const tn_json *j, tn_json_at main, const char *what) {
  tn_json_at all = main ? object(j, main, what) : 0;
  for (tn_json_at x = all ? tn_json_first(j, all) : 0; x; x = tn_json_after(j, all, x)) {
    if (!tn_json_is(j, x + 1, TN_JSON_OBJECT)) continue;
    tn_buf_printf(b, "  %.*s ", (int)strlen(what) - 1, what);
    put_raw(b, j, x);
    tn_json_at type = tn_json_member(j, x + 1, "dtype");
    if (type) {
      tn_buf_puts(b, ": ");
      put_raw(b, j, type);
    }
    tn_buf_printf(b, ", %" PRId64 " bytes\n", number(j, x + 1, "size"));
  }
}

static void put_pools(tn_buf *b, const tn_json *j, tn_json_at own, const char *which) {
  tn_json_at pools = own ? tn_json_member(j, own, which) : 0;
  if (!tn_json_is(j, pools, TN_JSON_ARRAY)) return;
  for (tn_json_at x = tn_json_first(j, pools); x; x = tn_json_after(j, pools, x)) {
    tn_json_at name = tn_json_is(j, x, TN_JSON_OBJECT) ? tn_json_member(j, x, "name") : 0;
    if (!tn_json_is(j, name, TN_JSON_STRING)) continue;
    int64_t limit = number(j, x, "size_hint_bytes");
    tn_buf_puts(b, "  pool ");
    put_raw(b, j, name);
    tn_buf_printf(b, "  %" PRId64 " bytes", number(j, x, "size_bytes"));
    if (limit >= 0) tn_buf_printf(b, " of %" PRId64, limit);
    tn_buf_putc(b, '\n');
  }
}

/* Storages of a graph, before version 2 the memory itself. */
static int64_t storage_bytes(const tn_json *j, tn_json_at list) {
  int64_t sum = 0;
  if (!tn_json_is(j, list, TN_JSON_ARRAY)) return -1;
  for (tn_json_at x = tn_json_first(j, list); x; x = tn_json_after(j, list, x)) {
    int64_t bytes = tn_json_is(j, x, TN_JSON_OBJECT) ? number(j, x, "size_bytes") : 0;
    if (bytes > 0 && __builtin_add_overflow(sum, bytes, &sum)) return -1;
  }
  return sum;
}

static void put_figures(tn_buf *b, int64_t flash, int64_t memory, int64_t stack) {
  put_bytes(b, "  flash", flash, " of code and constants");
  put_bytes(b, "  memory", memory, " of static variables");
  put_bytes(b, "  stack", stack, " of frames, along the deepest calls");
}

/* As they were when the archive was written. */
static void put_measured(tn_buf *b, const tn_json *j, tn_json_at x) {
  tn_json_at compiler = x ? tn_json_member(j, x, "compiler") : 0;
  if (!tn_json_is(j, compiler, TN_JSON_STRING)) return;
  tn_buf_puts(b, "  by ");
  put_raw(b, j, compiler);
  tn_buf_putc(b, '\n');
  put_figures(b, number(j, x, "flash_bytes"), number(j, x, "memory_bytes"),
              number(j, x, "stack_bytes"));
}

static void put_memory(tn_buf *b, const tn_json *j, tn_json_at model) {
  tn_json_at memory = tn_json_member(j, model, "memory"), own = object(j, model, "tenon");
  bool parts = tn_json_is(j, memory, TN_JSON_OBJECT);
  tn_json_at functions = parts ? object(j, memory, "functions") : 0;
  tn_json_at list = functions ? tn_json_member(j, functions, "main") : 0;
  tn_json_at main = tn_json_is(j, list, TN_JSON_ARRAY) ? tn_json_first(j, list) : 0;
  if (main && !tn_json_is(j, main, TN_JSON_OBJECT)) main = 0;
  char least[64] = "";
  int64_t live = own ? number(j, own, "live_bytes") : -1;
  bool planned = own && tn_json_count(j, tn_json_member(j, own, "pools")) > 0;
  if (live >= 0 && planned)
    snprintf(least, sizeof least, ", at least %" PRId64 " in any plan", live);
  put_tensors(b, j, main, "inputs");
  put_tensors(b, j, main, "outputs");
  put_bytes(b, "workspace", main ? number(j, main, "workspace_size_bytes") : -1, least);
  put_pools(b, j, own, "pools");
  put_bytes(b, "storages", storage_bytes(j, parts ? tn_json_member(j, memory, "sids") : memory),
            "");
  put_bytes(b, "tensors", main ? number(j, main, "io_size_bytes") : -1, " (inputs and outputs)");
  put_bytes(b, "constants", main ? number(j, main, "constants_size_bytes") : -1, "");
  put_pools(b, j, own, "constant_pools");
  put_bytes(b, "stack", own ? number(j, own, "stack_bytes") : -1, " in arrays, frames beside them");
  put_measured(b, j, own ? object(j, own, "measured") : 0);
}

/* What the compiler that is named makes of the code now. */
static int measure(tn_buf *b, const mlf_archive *a, const mlf_stored *m, const char *compiler) {
  c_measured s;
  TN_TRY(mlf_archive_measure(a, m, compiler, &s));
  tn_buf_printf(b, "  by %s\n", compiler);
  put_figures(b, s.flash, s.memory, s.stack);
  if (*tn_cstr(s.outside)) tn_buf_printf(b, "    without %s\n", tn_cstr(s.outside));
  return 0;
}

static int put_model(tn_buf *b, const mlf_archive *a, const char *name, const char *compiler) {
  mlf_stored m;
  TN_TRY(mlf_archive_model(a, name, &m));
  tn_buf_printf(b, "model %s\n  executor   %s%s\n", tn_cstr(m.name), m.aot ? "aot" : "graph",
                !m.aot          ? ""
                : m.c_interface ? ", C interface"
                                : ", packed interface");
  put_memory(b, &a->json, m.metadata);
  return compiler ? measure(b, a, &m, compiler) : 0;
}

static int put_models(tn_buf *b, const mlf_archive *a, const char *only, const char *compiler) {
  const tn_json *j = &a->json;
  tn_json_at modules = object(j, TN_JSON_ROOT, "modules");
  tn_buf_printf(b, "Model Library Format, version %" PRId64 "\n", a->version);
  if (!modules || only) return put_model(b, a, only, compiler);
  for (tn_json_at x = tn_json_first(j, modules); x; x = tn_json_after(j, modules, x)) {
    TN_BUF(name);
    tn_json_text(j, x, &name);
    TN_TRY(tn_buf_ok(&name));
    TN_TRY(put_model(b, a, tn_buf_cstr(&name), compiler));
  }
  return 0;
}

int cli_archive_inspect(const cli_args *args) {
  TN_BUF(data);
  TN_BUF(b);
  mlf_archive a;
  tn_bytes_view text;
  TN_TRY(tn_file_read(args->operands[0], &data));
  int err = mlf_archive_read(&a, data.data, data.len);
  if (!err && cli_has(args, "json") && tar_find(a.files, a.nfile, "metadata.json", &text)) {
    tn_buf_put(&b, text.data, text.size);
    tn_buf_putc(&b, '\n');
  } else if (!err) {
    err = put_models(&b, &a, cli_get(args, "model", NULL), cli_get(args, "compiler", NULL));
  }
  mlf_archive_fini(&a);
  TN_TRY(err);
  TN_TRY(tn_buf_ok(&b));
  fputs(tn_buf_cstr(&b), stdout);
  return 0;
}
