/* Each value of --inputs is FILE or NAME:FILE; what the file holds is told from its first bytes. */
#include "cli/inputs.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/scope.h"
#include "base/text.h"
#include "cli/file.h"
#include "cli/npz.h"
#include "cli/image.h"
#include "cli/png.h"
#include "object/containers.h"
#include "object/dtype.h"

typedef struct {
  cli_model *m;
  cli_image_options images;
  int64_t *given; /* for each input: how many images of its batch, or WHOLE */
} setter;

static const int64_t WHOLE = INT64_MAX;

static int unknown_input(const cli_model *m, const char *path, const char *name) {
  const tn_graph_entry *e;
  tn_near near = {.name = name};
  for (int32_t k = 0; k < cli_model_ninput(m); ++k)
    if (cli_model_is_given(m, k)) tn_near_offer(&near, cli_model_input(m, k, &e));
  return TN_RAISE(ValueError, NULL, "%s: the model has no input %s%s", path, name,
                  tn_near_text(&near));
}

/* The number of an input, which the caller gives, by name; -1 when there is none. */
static int32_t find_input(const cli_model *m, const char *name) {
  const tn_graph_entry *e;
  int32_t at = cli_model_ninput(m) - 1;
  while (at >= 0 && strcmp(cli_model_input(m, at, &e), name)) --at;
  return at >= 0 && cli_model_is_given(m, at) ? at : -1;
}

/* ---- arrays ---- */

static bool has_type(const tn_graph_entry *e, const DLTensor *t) {
  bool same = e->ndim == t->ndim && tn_dtype_eq(e->dtype, t->dtype);
  for (int32_t d = 0; same && d < e->ndim; ++d)
    same = e->shape[d] < 0 || e->shape[d] == t->shape[d];
  return same;
}

/* Array and input must be of one type: the message names the file too. */
static int check_type(const char *path, const char *name, const tn_graph_entry *e,
                      const DLTensor *t) {
  tn_graph_entry given = {.dtype = t->dtype, .ndim = t->ndim, .shape = t->shape};
  TN_BUF(want);
  TN_BUF(got);
  cli_put_type(&want, e);
  cli_put_type(&got, &given);
  TN_TRY(tn_buf_ok(&want) || tn_buf_ok(&got));
  TN_CHECK(has_type(e, t), ValueError, NULL, "%s: %s: expected %s, got %s", path, name,
           tn_buf_cstr(&want), tn_buf_cstr(&got));
  return 0;
}

static int set_array(const setter *s, int32_t at, const char *path, const tn_tensor *t) {
  const tn_graph_entry *e;
  const char *name = cli_model_input(s->m, at, &e);
  TN_CHECK(!s->given[at], ValueError, NULL, "%s: the input %s is given twice", path, name);
  TN_TRY(cli_model_check_input(s->m, at));
  TN_TRY(check_type(path, name, e, tn_tensor_dl(t)));
  s->given[at] = WHOLE;
  return cli_model_set_input(s->m, at, t);
}

static int set_archive(const setter *s, const char *path, const tn_buf *file) {
  tn_map *arrays;
  TN_GET(arrays, cli_npz_parse(path, (const uint8_t *)file->data, file->len));
  for (int64_t i = 0; i < arrays->len; ++i) {
    const char *name = tn_cstr((const tn_str *)arrays->entries[i].key.v.obj);
    int32_t at = find_input(s->m, name);
    if (at < 0) return unknown_input(s->m, path, name);
    TN_TRY(set_array(s, at, path, (tn_tensor *)arrays->entries[i].value.v.obj));
  }
  return 0;
}

/* ---- one input ---- */

/* The input that a file without a name is for: there must be one only. */
static int32_t only_input(const cli_model *m, const char *path) {
  int32_t found = -1, n = 0;
  for (int32_t k = 0; k < cli_model_ninput(m); ++k)
    if (cli_model_is_given(m, k)) found = k, ++n;
  TN_CHECK(n == 1, ValueError, NULL, "%s: the model has %d inputs: say which it is for, as NAME:%s",
           path, n, path);
  return found;
}

/* The array that images of an input are written to. */
static tn_tensor *input_of(const setter *s, int32_t at) {
  if (!s->given[at] || s->m->x) return tn_scope_own(cli_model_get_input(s->m, at));
  return (tn_tensor *)s->m->args[at].v.obj;
}

static int set_image(const setter *s, int32_t at, const char *path, const tn_buf *file) {
  const tn_graph_entry *e;
  tn_tensor *t;
  const char *name = cli_model_input(s->m, at, &e);
  TN_GET(t, input_of(s, at));
  const DLTensor *dl = tn_tensor_dl(t);
  int64_t batch = cli_image_batch(dl), k = s->given[at];
  TN_CHECK(k != WHOLE, ValueError, NULL, "%s: the input %s is given twice", path, name);
  TN_CHECK(!k || k < batch, ValueError, NULL, "%s: one image too many: the input %s takes %lld",
           path, name, (long long)batch);
  TN_TRY(cli_image_put(&s->images, path, file->data, file->len, name, dl, k));
  s->given[at] = k + 1;
  return 0;
}

static int set_one(const setter *s, int32_t at, const char *path, const tn_buf *file) {
  if (cli_is_png(file->data, file->len)) return set_image(s, at, path, file);
  tn_tensor *t;
  TN_GET(t, tn_scope_own(cli_npy_parse(path, (const uint8_t *)file->data, file->len)));
  return set_array(s, at, path, t);
}

/* ---- files ---- */

/* Splits NAME:FILE. A name may hold colons itself, and so may the path of a file without a name. */
static int split_name(const cli_model *m, const char *text, int32_t *at, const char **path) {
  *at = -1;
  *path = text;
  const char *colon = strrchr(text, ':');
  if (!colon) return 0;
  tn_str *name;
  TN_GET(name, tn_str_fmt("%.*s", (int)(colon - text), text));
  *at = find_input(m, tn_cstr(name));
  if (*at >= 0) *path = colon + 1;
  return *at >= 0 || access(text, F_OK) == 0 ? 0 : unknown_input(m, text, tn_cstr(name));
}

static int set_file(const setter *s, const char *text) {
  TN_BUF(file);
  int32_t at;
  const char *path;
  TN_TRY(split_name(s->m, text, &at, &path));
  TN_TRY(cli_read_file(path, &file));
  bool one = cli_is_png(file.data, file.len) || cli_is_npy(file.data, file.len);
  TN_CHECK(one || at < 0, ValueError, NULL,
           "%s: neither an image (.png) nor an array (.npy), which one input takes", path);
  if (!one) return set_archive(s, path, &file);
  if (at < 0) at = only_input(s->m, path);
  return at < 0 ? -1 : set_one(s, at, path, &file);
}

/* Is there enough for every input? */
static int check_complete(const setter *s, const char *path) {
  for (int32_t k = 0; k < cli_model_ninput(s->m); ++k) {
    const tn_graph_entry *e;
    const char *name = cli_model_input(s->m, k, &e);
    if (!cli_model_is_given(s->m, k) || s->given[k] == WHOLE) continue;
    if (!s->given[k] && cli_model_may_miss(s->m, k)) continue;
    TN_TRY(cli_model_check_input(s->m, k));
    TN_CHECK(s->given[k], ValueError, NULL, "%s: no array for the input %s", path, name);
    TN_CHECK(s->given[k] == e->shape[0] || e->ndim < 4, ValueError, NULL,
             "%s: the input %s takes %lld images, got %lld: repeat --inputs", path, name,
             (long long)e->shape[0], (long long)s->given[k]);
  }
  return 0;
}

int cli_set_inputs(const cli_args *a, cli_model *m) {
  setter s = {.m = m};
  TN_AUTOFREE int64_t *given = tn_alloc_zero((size_t)cli_model_ninput(m) + 1, sizeof *given);
  if (!given) return -1;
  s.given = given;
  TN_TRY(cli_image_options_read(a, &s.images));
  for (int i = 0; cli_nth(a, "inputs", i); ++i) TN_TRY(set_file(&s, cli_nth(a, "inputs", i)));
  return check_complete(&s, cli_nth(a, "inputs", 0));
}
