/* Loading compiled models for the commands. */
#include "cli/model.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/scope.h"
#include "base/text.h"
#include "cli/onnx.h"
#include "cli/progress.h"
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

static int open_graph(cli_model *m, const char *path) {
  tn_any cpu = tn_any_device((tn_device){kDLCPU, 0});
  tn_module *made;
  TN_CHECK(has_model(m->library), ValueError, NULL,
           "%s: a library without a model: expected one that `tenon compile` or export_library of "
           "relay.build's result wrote",
           path);
  TN_GET(made, (tn_module *)call(m->library, "default", &cpu, 1));
  TN_GET(m->weights, (tn_map *)call(m->library, "get_graph_params", NULL, 0));
  TN_GET(m->x, tn_graph_executor_of(made));
  return 0;
}

/* ---- on the virtual machine ---- */

static int open_machine(cli_model *m, const char *path) {
  const tn_device cpu = {kDLCPU, 0};
  const int pooled = TN_VM_POOLED;
  const tn_vm_exe *x = tn_vm_exe_of(m->library);
  int64_t main = tn_vm_find(x, "main");
  TN_CHECK(main >= 0 && x->funcs[main].types, ValueError, NULL,
           "%s: the executable has no function main", path);
  const tn_vm_function *f = m->main = &x->funcs[main];
  int32_t n = f->nparam + f->nresult;
  TN_GET(m->types, tn_alloc_zero((size_t)n + 1, sizeof *m->types));
  TN_GET(m->args, tn_alloc_zero((size_t)f->nparam + 1, sizeof *m->args));
  for (int32_t i = 0; i < f->nparam; ++i) m->args[i] = tn_any_none();
  for (int32_t i = 0; i < n; ++i)
    if (!(f->types[i].form & (TN_VM_SEQUENCE | TN_VM_ANY_RANK)))
      m->types[i] = (tn_graph_entry){
          .dtype = f->types[i].dtype, .ndim = f->types[i].ndim, .shape = f->types[i].shape};
  TN_GET(m->weights, tn_scope_own(tn_map_new()));
  TN_GET(m->vm, tn_vm_machine_new(m->library, &cpu, &pooled, 1));
  return 0;
}

void cli_model_close(cli_model *m) {
  for (int32_t i = 0; m->args && i < m->main->nparam; ++i) tn_any_release(&m->args[i]);
  tn_any_release(&m->result);
  tn_free(m->args);
  tn_free(m->types);
  tn_arena_fini(&m->arena);
  if (m->vm) tn_vm_machine_free(m->vm);
}

static bool fixes(const tn_graph_entry *e, const tn_arr *extents) {
  bool fits = e->dtype.bits && e->ndim == extents->len;
  for (int32_t d = 0; fits && d < e->ndim; ++d)
    fits = e->shape[d] < 0 || e->shape[d] == extents->items[d].v.i64;
  return fits;
}

/* An --input of a library. */
static int fix_input(cli_model *m, const char *name, const tn_arr *extents) {
  tn_near near = {.name = name};
  const tn_graph_entry *e;
  TN_BUF(type);
  for (int32_t i = 0; i < cli_model_ninput(m); ++i) {
    const char *known = cli_model_input(m, i, &e);
    if (!cli_model_is_given(m, i)) continue;
    tn_near_offer(&near, known);
    if (strcmp(known, name)) continue;
    cli_put_type(&type, e);
    TN_CHECK(fixes(e, extents), ValueError, NULL, "--input %s: the library takes %s", name,
             tn_buf_cstr(&type));
    if (m->x) return 0;
    int64_t *shape;
    TN_GET(shape, tn_arena_array(&m->arena, e->ndim + 1, sizeof *shape));
    for (int32_t d = 0; d < e->ndim; ++d) shape[d] = extents->items[d].v.i64;
    m->types[i].shape = shape;
    return 0;
  }
  return TN_RAISE(ValueError, NULL, "--input: the model has no input %s%s", name,
                  tn_near_text(&near));
}

/* What is not a compiled model by its name: what to do is said, not which loader is missing. */
static int check_name(const char *path) {
  const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
  bool text = dot && (strcmp(dot, ".relay") == 0 || strcmp(dot, ".txt") == 0);
  TN_CHECK(!text && !cli_onnx_named(path), ValueError, NULL,
           "%s is a model, not a library: compile it (tenon compile %s -o model.so), then give the "
           "library",
           path, path);
  TN_CHECK(dot, ValueError, NULL,
           "%s: expected a library (.so) or an archive (.tar), as tenon compile writes them", path);
  return 0;
}

int cli_model_open(cli_model *m, const cli_args *a) {
  const char *path = a->operands[0];
  tn_map *shapes;
  TN_TRY(check_name(path));
  bool archive = cli_is_archive(path);
  cli_stage(a, archive ? "compiling the archive" : "loading the library");
  if (archive) TN_GET(m->library, mlf_load(path, cli_get(a, "model", NULL)));
  else TN_GET(m->library, tn_scope_own(tn_module_load(path, "")));
  TN_TRY(tn_vm_exe_of(m->library) ? open_machine(m, path) : open_graph(m, path));
  TN_GET(shapes, cli_input_shapes(a));
  for (int64_t i = 0; i < shapes->len; ++i) {
    const tn_map_entry *e = &shapes->entries[i];
    TN_TRY(fix_input(m, tn_cstr((const tn_str *)e->key.v.obj), (const tn_arr *)e->value.v.obj));
  }
  cli_stage(a, "");
  return 0;
}

/* ---- values ---- */

int32_t cli_model_ninput(const cli_model *m) { return m->x ? m->x->g.narg : m->main->nparam; }
int32_t cli_model_noutput(const cli_model *m) { return m->x ? m->x->g.nhead : m->main->nresult; }

static const tn_graph_entry *entry_of(const cli_model *m, int32_t node) {
  return &m->x->g.entries[m->x->g.nodes[node].first_entry];
}

const char *cli_model_input(const cli_model *m, int32_t i, const tn_graph_entry **entry) {
  if (!m->x) {
    *entry = &m->types[i];
    return m->main->params[i];
  }
  int32_t node = m->x->g.args[i];
  *entry = entry_of(m, node);
  return m->x->g.nodes[node].name;
}

const char *cli_model_output(const cli_model *m, int32_t i, const tn_graph_entry **entry) {
  if (!m->x) {
    *entry = &m->types[m->main->nparam + i];
    return tn_cstr(tn_str_fmt("output_%d", i));
  }
  const tn_graph *g = &m->x->g;
  int32_t k = 0;
  *entry = &g->entries[g->heads[i]];
  while (k + 1 < g->nnode && g->nodes[k + 1].first_entry <= g->heads[i]) ++k;
  return g->nodes[k].name;
}

bool cli_model_is_given(const cli_model *m, int32_t i) {
  tn_any found;
  return !m->x || !tn_map_get(m->weights, tn_any_cstr(m->x->g.nodes[m->x->g.args[i]].name), &found);
}

static void *no_array(const char *what, const char *name, const tn_vm_type *type) {
  TN_BUF(text);
  if (type->dtype.bits) tn_vm_put_type(&text, type);
  else tn_buf_puts(&text, "no tensor");
  return TN_RAISEP(TypeError, NULL,
                   "%s %s is %s: the command takes and writes single arrays only; "
                   "tenon.CompiledModel.load in Python takes lists for sequences and None for what "
                   "is missing",
                   what, name, tn_buf_cstr(&text));
}

bool cli_model_may_miss(const cli_model *m, int32_t i) {
  return !m->x && m->main->types[i].form & TN_VM_OPTIONAL;
}

int cli_model_check_input(const cli_model *m, int32_t i) {
  const tn_vm_type *t = m->x ? NULL : &m->main->types[i];
  bool tensor = !t || (t->dtype.bits && (t->form & (TN_VM_SEQUENCE | TN_VM_ANY_RANK)) == 0);
  return tensor ? 0 : (no_array("input", m->main->params[i], t), -1);
}

tn_tensor *cli_model_get_input(cli_model *m, int32_t i) {
  const tn_graph_entry *e;
  TN_BUF(type);
  if (m->x) return tn_graph_get_input(m->x, i);
  const char *name = cli_model_input(m, i, &e);
  bool known = e->dtype.bits > 0;
  for (int32_t d = 0; d < e->ndim; ++d) known = known && e->shape[d] >= 0;
  cli_put_type(&type, e);
  TN_CHECKP(known, ValueError, NULL,
            "the model leaves extents of the input %s: %s open: say which, as --input %s:1x3x8x8",
            name, tn_buf_cstr(&type), name);
  tn_tensor *t;
  TN_GETP(t, tn_tensor_new(e->shape, e->ndim, e->dtype, (tn_device){kDLCPU, 0}, NULL));
  if (cli_model_set_input(m, i, t) == 0) return t;
  tn_release(t);
  return NULL;
}

int cli_model_set_input(cli_model *m, int32_t i, const tn_tensor *t) {
  if (m->x) return tn_graph_set_input(m->x, i, tn_tensor_dl(t));
  tn_any_release(&m->args[i]);
  tn_retain(t);
  m->args[i] = tn_any_obj(t);
  return 0;
}

int cli_model_run(cli_model *m) {
  if (m->x) return tn_graph_run(m->x);
  tn_any_release(&m->result);
  m->result = tn_any_none();
  return tn_vm_run(m->vm, m->main - m->vm->x->funcs, m->args, m->main->nparam, &m->result);
}

tn_tensor *cli_model_get_output(const cli_model *m, int32_t i) {
  if (m->x) return tn_graph_get_output(m->x, i);
  const tn_vm_type *type = &m->main->types[m->main->nparam + i];
  const tn_tuple *t = m->result.type_index == TN_TI_ADT ? (const tn_tuple *)m->result.v.obj : NULL;
  bool alone = m->main->nresult == 1 && type->form & TN_VM_SEQUENCE;
  const tn_any *value = t && !alone && i < t->len ? &t->fields[i] : &m->result;
  const char *name = value->type_index == TN_TI_NDArray ? "" : tn_cstr(tn_str_fmt("%d", i));
  if (value->type_index != TN_TI_NDArray) return no_array("output", name, type);
  tn_retain(value->v.obj);
  return (tn_tensor *)value->v.obj;
}

void cli_put_type(tn_buf *out, const tn_graph_entry *e) {
  if (!e->dtype.bits) {
    tn_buf_puts(out, "?");
    return;
  }
  tn_buf_printf(out, "%s[", TN_DT(e->dtype));
  for (int32_t d = 0; d < e->ndim; ++d) {
    if (d) tn_buf_puts(out, ", ");
    if (e->shape[d] < 0) tn_buf_putc(out, '?');
    else tn_buf_printf(out, "%lld", (long long)e->shape[d]);
  }
  tn_buf_putc(out, ']');
}
