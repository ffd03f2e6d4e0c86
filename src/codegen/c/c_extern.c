/* Declarations of the C functions that call_extern names. The types are those of the first call,
   since a program knows no others; what the included headers declare is left to them. */
#include <string.h>

#include "codegen/c/gen.h"

/* What the included headers declare, and builtins of compilers that take any number of arguments.
 */
static bool in_headers(const char *name) {
  static const char *const output[] = {"printf", "puts"};
  for (int i = 0; i < TN_COUNT(output); ++i)
    if (strcmp(name, output[i]) == 0) return true;
  return c_is_taken(name) || strncmp(name, "TVM", 3) == 0 || strncmp(name, "__builtin_", 10) == 0;
}

bool c_in_module(const c_gen *g, const char *name) {
  tn_any key, value;
  for (int64_t i = 0; tn_map_at(g->ir->functions, i, &key, &value); ++i) {
    const tn_PrimFunc *f = TN_AS(PrimFunc, value.v.obj);
    if (f && strcmp(c_symbol((const tn_GlobalVar *)key.v.obj, f), name) == 0) return true;
  }
  return false;
}

static bool is_name(const char *s) {
  for (const char *p = s; *p; ++p) {
    bool letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_';
    if (!letter && !(p > s && *p >= '0' && *p <= '9')) return false;
  }
  return *s != '\0';
}

int c_declare_extern(c_gen *g, const tn_Call *call, const char *name) {
  const char *type;
  tn_any found;
  if (g->d->kernels || !g->externs || !is_name(name) || in_headers(name) || c_in_module(g, name))
    return 0;
  if (tn_map_get(g->externs, tn_any_cstr(name), &found)) return 0;
  TN_TRY(tn_map_set(g->externs, tn_any_cstr(name), tn_any_int(1)));
  TN_GET(type, c_type(g, ir_with_lanes(call->dtype, 1)));
  tn_buf_printf(g->decl, "extern %s %s(", type, name);
  for (int64_t i = 1; i < call->args->len; ++i) {
    const tn_expr *e = (const tn_expr *)tn_arr_obj(call->args, i);
    type = "const char*";
    if (!TN_IS(StringImm, e)) TN_GET(type, c_type(g, ir_with_lanes(e->dtype, 1)));
    tn_buf_printf(g->decl, "%s%s", i > 1 ? ", " : "", type);
  }
  tn_buf_puts(g->decl, call->args->len > 1 ? ");\n" : "void);\n");
  return 0;
}
