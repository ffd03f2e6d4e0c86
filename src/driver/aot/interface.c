#include "driver/aot/interface.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/scope.h"
#include "driver/function_table.h"
#include "ir/imm.h"
#include "ir/pools.h"
#include "object/functions.h"

static const char *const words[] = {
    "auto",   "break",  "case",     "char",   "const",    "continue", "default",  "do",
    "double", "else",   "enum",     "extern", "float",    "for",      "goto",     "if",
    "inline", "int",    "long",     "class",  "register", "restrict", "return",   "short",
    "signed", "sizeof", "static",   "struct", "switch",   "typedef",  "union",    "unsigned",
    "void",   "while",  "volatile", "new",    "delete",   "this",     "template", "bool"};

void aot_put_identifier(tn_buf *out, const char *name) {
  bool word = false;
  for (int i = 0; i < TN_COUNT(words); ++i) word = word || strcmp(words[i], name) == 0;
  if (!*name || isdigit((unsigned char)*name)) tn_buf_putc(out, '_');
  driver_put_identifier(out, name);
  if (word) tn_buf_putc(out, '_');
}

static const char *text_at(const tn_arr *a, int64_t i) {
  const tn_obj *o = tn_arr_obj(a, i);
  return o && o->type_index == TN_TI_String ? tn_cstr((const tn_str *)o) : "";
}

static int64_t int_at(const tn_arr *a, int64_t i) {
  int64_t v = 0;
  if (i >= a->len) return 0;
  if (tn_any_is_obj(&a->items[i])) tir_as_int(a->items[i].v.obj, &v);
  else v = a->items[i].v.i64;
  return v;
}

static const tn_PoolInfo *pool_at(const aot_interface *x, int64_t i, int64_t *bytes) {
  const tn_AllocatedPoolInfo *a = (const tn_AllocatedPoolInfo *)tn_arr_obj(x->pools, i);
  tir_as_int((const tn_obj *)a->allocated_size, bytes);
  return a->pool_info;
}

bool aot_has_pools(const aot_interface *x) {
  int64_t bytes;
  for (int64_t i = 0; i < x->pools->len; ++i)
    if (!pool_at(x, i, &bytes)->is_internal) return true;
  return false;
}

/* ---- names ---- */

static void put_prefix(const aot_interface *x, tn_buf *out) {
  tn_buf_puts(out, "tvmgen_");
  driver_put_identifier(out, x->name);
}

/* TVMGEN_NAME_PART..., in capitals. */
static void put_macro(const aot_interface *x, const char *name, const char *end, tn_buf *out) {
  size_t begin = out->len;
  put_prefix(x, out);
  tn_buf_putc(out, '_');
  driver_put_identifier(out, name);
  for (size_t i = begin; i < out->len; ++i)
    out->data[i] = (char)toupper((unsigned char)out->data[i]);
  tn_buf_puts(out, end);
}

/* ---- structs ---- */

static int put_members(const tn_arr *names, const char *what, tn_buf *out) {
  tn_map *seen;
  TN_GET(seen, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < names->len; ++i) {
    TN_BUF(name);
    tn_any other;
    aot_put_identifier(&name, text_at(names, i));
    TN_TRY(tn_buf_ok(&name));
    tn_any key = tn_any_cstr(tn_buf_cstr(&name));
    TN_CHECK(!tn_map_get(seen, key, &other), CodegenError, NULL,
             "Sanitized %s tensor name clash: %s and another one are %s in C", what,
             text_at(names, i), tn_buf_cstr(&name));
    TN_TRY(tn_map_set(seen, key, tn_any_int(1)));
    tn_buf_printf(out, "  void* %s;\n", tn_buf_cstr(&name));
  }
  if (!names->len) tn_buf_puts(out, "  void* nothing_;\n"); /* C has no empty structs */
  return 0;
}

static int put_struct(const aot_interface *x, const tn_arr *names, const char *what,
                      const char *suffix, tn_buf *out) {
  tn_buf_puts(out, "struct ");
  put_prefix(x, out);
  tn_buf_printf(out, "_%s {\n", suffix);
  TN_TRY(put_members(names, what, out));
  tn_buf_puts(out, "};\n");
  return 0;
}

static tn_arr *pool_names(const aot_interface *x) {
  TN_VEC(v);
  int64_t bytes;
  for (int64_t i = 0; i < x->pools->len; ++i) {
    const tn_PoolInfo *p = pool_at(x, i, &bytes);
    if (!p->is_internal) TN_TRYP(tn_vec_push_obj(&v, p->pool_name));
  }
  return tn_arr_from(&v);
}

int aot_put_structs(const aot_interface *x, tn_buf *out) {
  tn_arr *pools;
  TN_TRY(put_struct(x, x->inputs, "input", "inputs", out));
  TN_TRY(put_struct(x, x->outputs, "output", "outputs", out));
  if (x->devices->len) TN_TRY(put_struct(x, x->devices, "device", "devices", out));
  if (!aot_has_pools(x)) return 0;
  TN_GET(pools, pool_names(x));
  return put_struct(x, pools, "pool", "workspace_pools", out);
}

static void put_argument(const aot_interface *x, const char *suffix, const char *name, bool first,
                         tn_buf *out) {
  tn_buf_puts(out, first ? "struct " : ", struct ");
  put_prefix(x, out);
  tn_buf_printf(out, "_%s* %s", suffix, name);
}

bool aot_maps_io(const aot_interface *x) { return x->maps_io || (x->places && x->places->len); }

void aot_put_map_head(const aot_interface *x, const char *which, tn_buf *out) {
  tn_buf_puts(out, "struct ");
  put_prefix(x, out);
  tn_buf_printf(out, "_%s ", which);
  put_prefix(x, out);
  tn_buf_printf(out, "_map_%s(", which);
  if (aot_has_pools(x)) put_argument(x, "workspace_pools", "workspace_pools", true, out);
  else tn_buf_puts(out, "void");
  tn_buf_putc(out, ')');
}

void aot_put_run_head(const aot_interface *x, tn_buf *out) {
  bool tensors = !aot_maps_io(x), pools = aot_has_pools(x), devices = x->devices->len != 0;
  tn_buf_puts(out, "int32_t ");
  put_prefix(x, out);
  tn_buf_puts(out, "_run(");
  if (tensors) {
    put_argument(x, "inputs", "inputs", true, out);
    put_argument(x, "outputs", "outputs", false, out);
  }
  if (pools) put_argument(x, "workspace_pools", "workspace_pools", !tensors, out);
  if (devices) put_argument(x, "devices", "devices", !tensors && !pools, out);
  if (!tensors && !pools && !devices) tn_buf_puts(out, "void");
  tn_buf_putc(out, ')');
}

/* ---- the header ---- */

static void put_sizes(const aot_interface *x, const tn_arr *names, const tn_arr *sizes,
                      const char *what, tn_buf *out) {
  for (int64_t i = 0; i < names->len && i < sizes->len; ++i) {
    TN_BUF(name);
    aot_put_identifier(&name, text_at(names, i));
    tn_buf_printf(out, "/* bytes of the %s %s */\n#define ", what, tn_buf_cstr(&name));
    put_macro(x, tn_buf_cstr(&name), "_SIZE", out);
    tn_buf_printf(out, " %" PRId64 "\n", int_at(sizes, i));
  }
}

static void put_pool_sizes(const aot_interface *x, tn_buf *out) {
  for (int64_t i = 0; i < x->pools->len; ++i) {
    int64_t bytes = 0;
    const tn_PoolInfo *p = pool_at(x, i, &bytes);
    if (p->is_internal) continue;
    bool constant = TN_IS(ConstantPoolInfo, p);
    tn_buf_puts(out, "/* bytes of the pool of that name which the model uses */\n#define ");
    put_macro(x, tn_cstr(p->pool_name), constant ? "_CONSTANT_POOL_SIZE" : "_WORKSPACE_POOL_SIZE",
              out);
    tn_buf_printf(out, " %" PRId64 "\n", bytes);
  }
}

static void put_map_functions(const aot_interface *x, tn_buf *out) {
  tn_buf_puts(out,
              "\n/* Inputs and outputs lie in the pools. All inputs are to be written before each "
              "run: their memory\n   is used again. Outputs are there until the next inputs are "
              "written. */\n");
  aot_put_map_head(x, "inputs", out);
  tn_buf_puts(out, ";\n");
  aot_put_map_head(x, "outputs", out);
  tn_buf_puts(out, ";\n");
}

int aot_put_header(const aot_interface *x, tn_buf *out) {
  tn_buf_puts(out, "#ifndef ");
  put_macro(x, "H_", "\n#define ", out);
  put_macro(x, "H_", "\n\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n",
            out);
  put_sizes(x, x->inputs, x->input_sizes, "input", out);
  put_sizes(x, x->outputs, x->output_sizes, "output", out);
  put_pool_sizes(x, out);
  tn_buf_puts(out, "/* bytes that TVMBackendAllocWorkspace must be able to give at one time */\n"
                   "#define ");
  put_macro(x, "WORKSPACE_SIZE", "", out);
  tn_buf_printf(out,
                " %" PRId64 "\n\n/* where tensors lie: compact, in the order of their axes */\n",
                x->workspace);
  TN_TRY(aot_put_structs(x, out));
  if (aot_maps_io(x)) put_map_functions(x, out);
  tn_buf_puts(out, "\n/* Runs the model. Not two runs at one time. Gives 0, or less: -1 when an "
                   "operator fails,\n"
                   "   -4 when a pool does not begin at a multiple of the alignment. */\n");
  aot_put_run_head(x, out);
  tn_buf_puts(out, ";\n\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
  return tn_buf_ok(out);
}
