/* tenon run: a compiled model on arrays or images from files. */

#include "base/error.h"
#include "base/scope.h"
#include "cli/cli.h"
#include "cli/inputs.h"
#include "cli/npz.h"
#include "cli/report.h"
#include "object/containers.h"

const cli_option cli_run_options[] = {
    {"inputs", 'i', "FILE",
     "arrays (.npz); NAME:FILE: one array (.npy) or image (.png); repeatable", NULL},
    {"outputs", 'o', "FILE", "archive to write: output_0, output_1, ...", NULL},
    {"repeat", 'n', "N", "run so many times (default 1) and tell the median time", NULL},
    {"top", 'k', "N", "print the N largest values of each row of the first output", NULL},
    {"profile", 'p', NULL, "print how long each kernel takes, the slowest first", NULL},
    {"scale", 0, "S", "factor for samples of images (1/255 for floating point, else 1)", NULL},
    {"mean", 0, "M", "taken off scaled samples: a number, or one a channel: 0.5,0.4,0.4", NULL},
    {"std", 0, "D", "what they are divided by then: a number, or one a channel", NULL},
    {"resize", 0, NULL, "images of other extents are made to fit", NULL},
    {"model", 'm', "NAME",
     "which model of an archive in Model Library Format (default: the only one)", NULL},
    {"input", 0, "NAME:SHAPE", "extents of an input that the model leaves open, for images", NULL},
    {"json", 0, NULL, "what is printed as JSON", NULL},
    {0},
};

static tn_map *outputs(const cli_model *m) {
  tn_map *out;
  TN_GETP(out, tn_scope_own(tn_map_new()));
  for (int32_t i = 0; i < cli_model_noutput(m); ++i) {
    tn_str *name;
    tn_tensor *t;
    TN_GETP(name, tn_str_fmt("output_%d", i));
    TN_GETP(t, tn_scope_own(cli_model_get_output(m, i)));
    TN_TRYP(tn_map_set(out, tn_any_obj(name), tn_any_obj(t)));
  }
  return out;
}

int cli_run(const cli_args *a) {
  CLI_MODEL(m);
  tn_map *made;
  cli_report r = {.args = a, .json = cli_has(a, "json")};
  int64_t repeat, top;
  const char *to = cli_get(a, "outputs", NULL);
  if (!cli_has(a, "inputs")) return cli_usage("tenon run: expected --inputs FILE");
  TN_TRY(cli_int(a, "repeat", 0, 1, 1000000, &repeat));
  TN_TRY(cli_int(a, "top", 0, 1, 1000000, &top));
  if (!to && !repeat && !top && !cli_has(a, "profile"))
    return cli_usage("tenon run: expected --outputs FILE, --repeat, --top or --profile");
  TN_TRY(cli_model_open(&m, a));
  TN_TRY(cli_set_inputs(a, &m));
  TN_TRY(cli_model_run(&m));
  TN_GET(made, outputs(&m));
  if (to) TN_TRY(cli_npz_write(to, made));
  int err = 0;
  if (top) err = cli_report_top(&r, (const tn_tensor *)made->entries[0].value.v.obj, top);
  if (!err && repeat) err = cli_report_times(&r, &m, repeat);
  if (!err && cli_has(a, "profile")) err = cli_report_profile(&r, &m, repeat ? repeat : 10);
  if (!err) err = cli_report_end(&r);
  tn_buf_fini(&r.out);
  return err;
}
