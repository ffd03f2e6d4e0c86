/* Loading compiled models for the commands. */
#include "cli/model.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/scope.h"
#include "export/archive.h"
#include "object/containers.h"
#include "object/dtype.h"

/* A function of the library called without arguments or with a device; scope-owned result. */
static tn_obj *call(tn_module *m, const char *name, const tn_any *args, int32_t n) {
  tn_func *f;
  tn_any ret = tn_any_none();
  TN_GETP(f, tn_module_require(m, name, false));
  int err = tn_func_call(f, args, n, &ret);
  tn_release(f);
  TN_TRYP(err);
  TN_CHECKP(tn_any_is_obj(&ret), TypeError, NULL, "%s gives no object", name);
  return tn_scope_own(ret.v.obj);
}

static bool has_model(tn_module *m) {
  tn_func *f = NULL;
  bool found = tn_module_get_function(m, "get_graph_params", false, &f) == 0 && f;
  tn_release(f);
  tn_error_clear();
  return found;
}

/* By its name, and by what is in it: archives of object files are libraries too. */
bool cli_is_archive(const char *path) {
  TN_BUF(data);
  tn_bytes_view found;
  tar_file *files = NULL;
  int64_t n = 0;
  size_t length = strlen(path);
  if (length < 4 || strcmp(path + length - 4, ".tar") != 0) return false;
  bool is = tn_file_read(path, &data) == 0 && tar_read(data.data, data.len, &files, &n) == 0 &&
            tar_find(files, n, "metadata.json", &found);
  tn_free(files);
  tn_error_clear();
  return is;
}

int cli_model_open(cli_model *m, const char *path, const char *model) {
  tn_any cpu = tn_any_device((tn_device){kDLCPU, 0});
  tn_module *made;
  if (cli_is_archive(path)) TN_GET(m->library, mlf_load(path, model));
  else TN_GET(m->library, tn_scope_own(tn_module_load(path, "")));
  TN_CHECK(has_model(m->library), ValueError, NULL,
           "%s: a library without a model: expected one that `tenon compile` or export_library of "
           "relay.build's result wrote",
           path);
  TN_GET(made, (tn_module *)call(m->library, "default", &cpu, 1));
  TN_GET(m->weights, (tn_map *)call(m->library, "get_graph_params", NULL, 0));
  TN_GET(m->x, tn_graph_executor_of(made));
  return 0;
}

static const tn_graph_entry *entry_of(const cli_model *m, int32_t node) {
  return &m->x->g.entries[m->x->g.nodes[node].first_entry];
}

const char *cli_model_input(const cli_model *m, int32_t i, const tn_graph_entry **entry) {
  int32_t node = m->x->g.args[i];
  *entry = entry_of(m, node);
  return m->x->g.nodes[node].name;
}

const char *cli_model_output(const cli_model *m, int32_t i, const tn_graph_entry **entry) {
  const tn_graph *g = &m->x->g;
  int32_t k = 0;
  *entry = &g->entries[g->heads[i]];
  while (k + 1 < g->nnode && g->nodes[k + 1].first_entry <= g->heads[i]) ++k;
  return g->nodes[k].name;
}

bool cli_model_is_given(const cli_model *m, int32_t i) {
  tn_any found;
  return !tn_map_get(m->weights, tn_any_cstr(m->x->g.nodes[m->x->g.args[i]].name), &found);
}

void cli_put_type(tn_buf *out, const tn_graph_entry *e) {
  tn_buf_printf(out, "%s[", TN_DT(e->dtype));
  for (int32_t d = 0; d < e->ndim; ++d)
    tn_buf_printf(out, "%s%lld", d ? ", " : "", (long long)e->shape[d]);
  tn_buf_putc(out, ']');
}
