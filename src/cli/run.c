/* tenon run: a compiled model on arrays from a file. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/scope.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/model.h"
#include "cli/npz.h"
#include "cli/report.h"
#include "object/containers.h"

const cli_option cli_run_options[] = {
    {"inputs", 'i', "FILE", "archive with an array for each input (numpy.savez, savez_compressed)",
     NULL},
    {"outputs", 'o', "FILE", "archive to write: output_0, output_1, ...", NULL},
    {"repeat", 'n', "N", "run so many times (default 1) and tell the median time", NULL},
    {"top", 'k', "N", "print the N largest values of each row of the first output", NULL},
    {"profile", 'p', NULL, "print how long each kernel takes, the slowest first", NULL},
    {"json", 0, NULL, "what is printed as JSON", NULL},
    {0},
};

/* Array and input must be of one type: the message names the file too. */
static int check_type(const char *path, const char *name, const tn_graph_entry *e,
                      const DLTensor *t) {
  tn_graph_entry given = {.dtype = t->dtype, .ndim = t->ndim, .shape = t->shape};
  TN_BUF(want);
  TN_BUF(got);
  cli_put_type(&want, e);
  cli_put_type(&got, &given);
  TN_TRY(tn_buf_ok(&want) || tn_buf_ok(&got));
  TN_CHECK(strcmp(tn_buf_cstr(&want), tn_buf_cstr(&got)) == 0, ValueError, NULL,
           "%s: %s: expected %s, got %s", path, name, tn_buf_cstr(&want), tn_buf_cstr(&got));
  return 0;
}

static int set_inputs(const cli_model *m, const tn_map *given, const char *path) {
  for (int64_t i = 0; i < given->len; ++i) {
    const char *name = tn_cstr((const tn_str *)given->entries[i].key.v.obj);
    const tn_graph_entry *e;
    tn_near near = {.name = name};
    for (int32_t k = 0; k < m->x->g.narg; ++k)
      if (cli_model_is_given(m, k)) tn_near_offer(&near, cli_model_input(m, k, &e));
    int32_t at = tn_graph_input_index(m->x, name);
    TN_CHECK(at >= 0 && cli_model_is_given(m, at), ValueError, NULL,
             "%s: the model has no input %s%s", path, name, tn_near_text(&near));
    const DLTensor *t = tn_tensor_dl((tn_tensor *)given->entries[i].value.v.obj);
    cli_model_input(m, at, &e);
    TN_TRY(check_type(path, name, e, t));
    TN_TRY(tn_graph_set_input(m->x, at, t));
  }
  for (int32_t k = 0; k < m->x->g.narg; ++k) {
    const tn_graph_entry *e;
    const char *name = cli_model_input(m, k, &e);
    tn_any found;
    TN_CHECK(!cli_model_is_given(m, k) || tn_map_get(given, tn_any_cstr(name), &found), ValueError,
             NULL, "%s: there is no array for the input %s", path, name);
  }
  return 0;
}

static tn_map *outputs(const cli_model *m) {
  tn_map *out;
  TN_GETP(out, tn_scope_own(tn_map_new()));
  for (int32_t i = 0; i < m->x->g.nhead; ++i) {
    tn_str *name;
    tn_tensor *t;
    TN_GETP(name, tn_str_fmt("output_%d", i));
    TN_GETP(t, tn_scope_own(tn_graph_get_output(m->x, i)));
    TN_TRYP(tn_map_set(out, tn_any_obj(name), tn_any_obj(t)));
  }
  return out;
}

int cli_run(const cli_args *a) {
  cli_model m;
  tn_map *given, *made;
  cli_report r = {.json = cli_has(a, "json")};
  int64_t repeat, top;
  const char *in = cli_get(a, "inputs", NULL), *to = cli_get(a, "outputs", NULL);
  TN_CHECK(in, ValueError, NULL, "tenon run: expected --inputs FILE");
  TN_TRY(cli_int(a, "repeat", 0, 1, 1000000, &repeat));
  TN_TRY(cli_int(a, "top", 0, 1, 1000000, &top));
  TN_CHECK(to || repeat || top || cli_has(a, "profile"), ValueError, NULL,
           "tenon run: expected --outputs FILE, --repeat, --top or --profile");
  TN_GET(given, cli_npz_read(in));
  TN_TRY(cli_model_open(&m, a->operands[0]));
  TN_TRY(set_inputs(&m, given, in));
  TN_TRY(tn_graph_run(m.x));
  TN_GET(made, outputs(&m));
  if (to) TN_TRY(cli_npz_write(to, made));
  int err = 0;
  if (top) err = cli_report_top(&r, (const tn_tensor *)made->entries[0].value.v.obj, top);
  if (!err && repeat) err = cli_report_times(&r, m.x, repeat);
  if (!err && cli_has(a, "profile")) err = cli_report_profile(&r, m.x, repeat ? repeat : 10);
  if (!err) err = cli_report_end(&r);
  tn_buf_fini(&r.out);
  return err;
}
