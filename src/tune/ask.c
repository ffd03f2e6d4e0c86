/* Asking for records: the sources of a thread, and what kernels do with an answer. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/scope.h"
#include "tune/records.h"
#include "tune/shipped.h"
#include "ir/pass.h"
#include "tune/task.h"
#include "object/containers.h"
#include "object/functions.h"
#include "tenon/compiler.h"

/* [function, key or None, ...], the innermost first; owned. A thread that ends inside of a source
   keeps it. */
static _Thread_local tn_arr *sources;

tn_arr *records_current(void) { return sources; }

tn_arr *records_use(tn_arr *next) {
  tn_arr *before = sources;
  tn_retain(next);
  sources = next;
  return before;
}

int records_enter(tn_func *f, tn_str *key) {
  TN_VEC(list);
  tn_arr *all;
  TN_TRY(tn_vec_push_obj(&list, f));
  TN_TRY(tn_vec_push(&list, key ? tn_any_obj(key) : tn_any_none()));
  for (int64_t i = 0; sources && i < sources->len; ++i)
    TN_TRY(tn_vec_push(&list, sources->items[i]));
  TN_GET(all, tn_arr_from(&list));
  tn_release(records_use(all));
  return 0;
}

int records_exit(void) {
  TN_CHECK(sources, ValueError, NULL, "records: no source to leave");
  tn_arr *rest = NULL;
  if (sources->len > 2)
    TN_GET(rest, tn_scope_own(tn_arr_new(sources->items + 2, sources->len - 2)));
  tn_release(records_use(rest));
  return 0;
}

bool records_key(tn_buf *out) {
  for (int64_t i = 0; sources && i < sources->len; i += 2) {
    const tn_str *key = TN_AS(String, sources->items[i + 1].v.obj);
    if (sources->items[i + 1].type_index == TN_NONE || !key) return false;
    tn_buf_puts(out, "\nrecords ");
    tn_buf_put(out, tn_cstr(key), tn_str_len(key));
  }
  return true;
}

/* ---- a table as a source ---- */

static void fini(void *self) { records_free(self); }

/* (target, workload, knobs) -> entity or None */
static int answer(TN_ARGS) {
  TN_NARGS("records", 3);
  TN_ARG_OPT(Target, t, 0);
  const char *workload;
  TN_TRY(tn_any_to_cstr(&args[1], &workload));
  const char *entity = t ? records_best(self, t, workload) : NULL;
  return entity ? tn_ret_obj(ret, tn_str_from(entity)) : 0;
}

tn_func *records_source(const char *text, size_t n, const char *name) {
  records *r = records_read(text, n, name);
  if (!r) return NULL;
  tn_func *f = tn_func_new(answer, r, fini);
  if (!f) records_free(r);
  return tn_scope_own(f);
}

int tn_records_enter(const char *path) {
  TN_SCOPE(s);
  TN_BUF(text);
  tn_func *f;
  tn_str *key;
  TN_TRY(tn_file_read(path, &text));
  TN_GET(f, records_source(tn_buf_cstr(&text), text.len, path));
  TN_GET(key, tn_scope_own(tn_buf_str(&text)));
  return records_enter(f, key);
}

int tn_records_exit(void) {
  TN_SCOPE(s);
  return records_exit();
}

/* ---- a kernel asks ---- */

static tn_str *knobs_of(const tune_task *t) {
  TN_BUF(out);
  for (int i = 0; i < t->n; ++i) {
    const tune_knob *k = &t->knobs[i];
    tn_buf_printf(&out, "%s\"%s\":[%" PRId64 ",[", i ? "," : "{", k->name, k->value);
    for (int v = 0; v < k->n; ++v) tn_buf_printf(&out, "%s%" PRId64, v ? "," : "", k->may[v]);
    tn_buf_puts(&out, "]]");
  }
  tn_buf_putc(&out, '}');
  return tn_buf_ok(&out) ? NULL : tn_scope_own(tn_buf_str(&out));
}

/* [name, kind, value]: the value of the knob of that name. Those of other kernels are left out. */
static void set_knob(tune_task *t, const tn_json *j, tn_json_at entry) {
  tn_json_at name = tn_json_kind_of(j, entry) == TN_JSON_ARRAY ? tn_json_first(j, entry) : 0;
  tn_json_at kind = name ? tn_json_after(j, entry, name) : 0;
  tn_json_at value = kind ? tn_json_after(j, entry, kind) : 0;
  if (!value || !tn_json_is(j, name, TN_JSON_STRING)) return;
  tn_bytes_view text = tn_json_raw(j, name);
  for (int i = 0; i < t->n; ++i) {
    tune_knob *k = &t->knobs[i];
    if (strlen(k->name) != text.size || memcmp(k->name, text.data, text.size) != 0) continue;
    k->given = true;
    if (!tn_json_int(j, value, &k->value)) k->value = INT64_MIN; /* which none may have */
  }
}

static int apply(tune_task *t, const tn_str *entity) {
  tn_json j;
  int err = tn_json_parse(&j, tn_cstr(entity), tn_str_len(entity));
  if (!err && tn_json_kind_of(&j, TN_JSON_ROOT) != TN_JSON_ARRAY)
    err = TN_RAISE(ValueError, NULL, "a source of records: expected a list of [name, kind, value]");
  for (tn_json_at x = err ? 0 : tn_json_first(&j, TN_JSON_ROOT); x;
       x = tn_json_after(&j, TN_JSON_ROOT, x))
    set_knob(t, &j, x);
  tn_json_fini(&j);
  return err;
}

/* @return 1 it knew, 0 it did not, -1 */
static int ask_source(tune_task *t, tn_func *f, const tn_any *args) {
  tn_any out = tn_any_none();
  TN_TRY(tn_func_call(f, args, 3, &out));
  if (out.type_index == TN_NONE) return 0;
  const char *text;
  int err = tn_any_to_cstr(&out, &text);
  tn_str *entity = err ? NULL : tn_str_from(text);
  tn_any_release(&out);
  return entity && !apply(t, entity) ? 1 : -1;
}

/* Does an option forbid records? @return 1, 0, -1 */
static int is_off(void) {
  const tn_PassContext *ctx = ir_pass_ctx_current();
  if (!ctx) return -1;
  const tn_str *s = TN_AS(String, ir_config_get(ctx, "relay.backend.records"));
  if (!s || tn_str_eq(s, "auto")) return 0;
  TN_CHECK(tn_str_eq(s, "off"), ValueError, NULL,
           "relay.backend.records: expected \"auto\" or \"off\", got \"%s\"", tn_cstr(s));
  return 1;
}

int records_ask(tune_task *t) {
  TN_SCOPE(s);
  tn_target *target = target_current();
  tn_str *workload, *knobs;
  int off = is_off();
  if (off || !target) return off < 0 ? -1 : 0;
  TN_GET(workload, tn_scope_own(tn_buf_str(&t->workload)));
  TN_GET(knobs, knobs_of(t));
  tn_any args[] = {tn_any_obj(target), tn_any_obj(workload), tn_any_obj(knobs)};
  tn_func *shipped = NULL;
  if (!sources) TN_GET(shipped, records_shipped());
  if (shipped) return ask_source(t, shipped, args) < 0 ? -1 : 0;
  for (int64_t i = 0; i < sources->len; i += 2) {
    int r = ask_source(t, (tn_func *)sources->items[i].v.obj, args);
    if (r) return r < 0 ? -1 : 0;
  }
  return 0;
}

/* ---- functions ---- */

/* (text or path, is it a path?) -> source */
static int load(TN_ARGS) {
  TN_NARGS("tune.records_source", 2);
  TN_BUF(file);
  const char *text;
  bool path;
  TN_TRY(tn_any_to_cstr(&args[0], &text));
  TN_TRY(tn_any_to_bool(&args[1], &path));
  if (path) TN_TRY(tn_file_read(text, &file));
  return tn_ret_obj(ret, path ? records_source(tn_buf_cstr(&file), file.len, text)
                              : records_source(text, strlen(text), "the text"));
}

/* (source, key or None) */
static int enter(TN_ARGS) {
  TN_NARGS("tune.records_enter", 2);
  TN_ARG_OBJ(Function, f, 0);
  tn_str *key = NULL;
  const char *text;
  if (args[1].type_index != TN_NONE) {
    TN_TRY(tn_any_to_cstr(&args[1], &text));
    TN_GET(key, tn_str_from(text));
  }
  return records_enter(f, key);
}

static int leave(TN_ARGS) {
  TN_NARGS("tune.records_exit", 0);
  return records_exit();
}

/* (target of a record, target of a build) -> does it count? */
static int fit(TN_ARGS) {
  TN_NARGS("tune.records_fit", 2);
  TN_ARG_OBJ(Target, record, 0);
  TN_ARG_OPT(Target, t, 1);
  TN_CHECK(record && t, TypeError, NULL, "tune.records_fit: expected targets, got None");
  *ret = tn_any_bool(records_fit(record, t) >= 0);
  return 0;
}

/* target -> the name of its processor, as records have it */
static int processor(TN_ARGS) {
  TN_NARGS("tune.records_processor", 1);
  TN_ARG_OPT(Target, t, 0);
  TN_CHECK(t, TypeError, NULL, "tune.records_processor: expected a target, got None");
  return tn_ret_obj(ret, tn_str_from(records_processor(t)));
}

/* The text of what ships. */
static int shipped_text(TN_ARGS) {
  TN_NARGS("tune.records_shipped", 0);
  const char *text = records_shipped_text();
  return text ? tn_ret_obj(ret, tn_str_from(text)) : -1;
}

static const tn_func_row rows[] = {
    {"tune.records_source", load},         {"tune.records_enter", enter},
    {"tune.records_exit", leave},          {"tune.records_fit", fit},
    {"tune.records_processor", processor}, {"tune.records_shipped", shipped_text}};

int tune_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
