/* C source of a module, and modules of kind "c", which hold it. */
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "ir/functor.h"
#include "runtime/module/module.h"
#include "codegen/c/gen.h"
#include "tir/analysis.h"

/* ---- the language ---- */

static const char *scalar_type(tn_dtype t) {
  static const char *const ints[] = {"int8_t", "int16_t", "int32_t", "int64_t"};
  static const char *const uints[] = {"uint8_t", "uint16_t", "uint32_t", "uint64_t"};
  int i = t.bits == 8 ? 0 : t.bits == 16 ? 1 : t.bits == 32 ? 2 : t.bits == 64 ? 3 : -1;
  if (ir_is_bool(t)) return "bool";
  if (t.code == kDLOpaqueHandle) return t.bits ? "void*" : "void";
  if (t.code == kDLInt && i >= 0) return ints[i];
  if (t.code == kDLUInt && i >= 0) return uints[i];
  if (t.code == kDLFloat && t.bits == 32) return "float";
  if (t.code == kDLFloat && t.bits == 64) return "double";
  return c_is_small_float(t) ? "float" : NULL;
}

static const char *stored_type(tn_dtype t) {
  return ir_is_bool(t) ? "uint8_t" : c_is_small_float(t) ? "uint16_t" : NULL;
}

static const c_dialect c99 = {
    .name = "c",
    .language = "C99",
    .type = scalar_type,
    .stored = stored_type,
    .long_suffix = "LL",
    .float_suffix = "f",
    .to_int_nearest = "nearbyint",
    .f16_text = c_f16_text,
    .bf16_text = c_bf16_text,
    .bits_text = c_bits_text,
    .power_text = "static inline uint64_t power_(uint64_t x, uint64_t n) {\n  uint64_t r = 1;\n",
};

const char *c_symbol(const tn_GlobalVar *v, const tn_PrimFunc *func) {
  const char *s = ir_attrs_str(func->attrs, "global_symbol");
  return s ? s : tn_cstr(v->name_hint);
}

/* ---- functions ---- */

static int find_return(void *ctx, tn_obj *node) {
  const tn_Call *call = tir_as_call(node, TIR_OP_ret);
  if (!call || call->args->len < 1) return 0;
  *(tn_dtype *)ctx = ((const tn_expr *)tn_arr_obj(call->args, 0))->dtype;
  return 2;
}

/* Functions without a result return int32_t: 0, or -1 when they fail. */
static const char *return_type(c_gen *g, const tn_PrimFunc *f) {
  tn_dtype t = TN_I32;
  const tn_PrimType *declared = TN_AS(PrimType, f->ret_type);
  if (declared && !(declared->dtype.code == kDLOpaqueHandle && declared->dtype.bits == 0))
    return c_type(g, declared->dtype);
  return tn_pre_order(f->body, find_return, &t) < 0 ? NULL : c_type(g, t);
}

/* Does the function promise that no other pointer leads to what this one does? Those of packed
   arguments lead to no tensor. */
static bool lies_apart(const tn_PrimFunc *f, const tn_Var *v) {
  const tn_obj *packed = tir_func_attr(f, "calling_conv");
  if (packed && tir_is_const(packed, 1)) return false;
  const tn_PointerType *p = TN_AS(PointerType, v->type_annotation);
  const tn_PrimType *to = p ? TN_AS(PrimType, p->element_type) : NULL;
  return to && to->dtype.code != kDLOpaqueHandle && ir_attrs_flag(f->attrs, "tir.noalias");
}

static int write_head(c_gen *g, tn_buf *out, const tn_PrimFunc *f, bool name_params) {
  const char *ret, *name;
  bool visible = ir_attrs_str(f->attrs, "global_symbol") != NULL;
  TN_GET(ret, return_type(g, f));
  TN_GET(name, c_identifier(g->name));
  tn_buf_printf(out, "%s %s %s(", visible && !g->alone ? "TVM_DLL" : "static", ret, name);
  for (int64_t i = 0; i < f->params->len; ++i) {
    const tn_Var *v = (const tn_Var *)tn_arr_obj(f->params, i);
    tn_str *type, *param;
    TN_GET(type, c_var_type(g, v));
    TN_GET(param, name_params ? c_name(g, v) : v->name);
    bool alone = lies_apart(f, v);
    tn_buf_printf(out, "%s%s %s%s", i ? ", " : "", tn_cstr(type), alone ? "restrict " : "",
                  tn_cstr(param));
  }
  tn_buf_puts(out, f->params->len ? ")" : "void)");
  return 0;
}

int c_prototype(const tn_PrimFunc *f, const char *name, tn_buf *out) {
  c_gen g = {.d = &c99, .out = out, .decl = out, .name = name};
  int err = (g.used = tn_scope_own(tn_map_new())) ? write_head(&g, out, f, true) : -1;
  c_gen_fini(&g);
  tn_buf_puts(out, ";\n");
  return err;
}

static int write_function(c_gen *g, const tn_PrimFunc *f) {
  TN_GET(g->used, tn_scope_own(tn_map_new()));
  TN_TRY(write_head(g, g->out, f, true));
  tn_buf_puts(g->out, " {\n");
  for (int64_t i = 0; i < f->params->len; ++i) {
    const tn_Var *v = (const tn_Var *)tn_arr_obj(f->params, i);
    tn_str *name;
    TN_GET(name, c_var(g, v, 0));
    if (!g->alone || !c_uses(f->body, v)) tn_buf_printf(g->out, "  (void)%s;\n", tn_cstr(name));
  }
  g->indent = 1;
  g->temps = 0;
  TN_TRY(tir_find_data(f, &g->data));
  TN_TRY(c_stmt(g, f->body));
  static const char end[] = "\n  return 0;\n";
  bool ends = g->out->len >= sizeof end - 1 &&
              memcmp(g->out->data + g->out->len - (sizeof end - 1), end, sizeof end - 1) == 0;
  tn_buf_puts(g->out, ends ? "}\n\n" : "  return 0;\n}\n\n");
  return 0;
}

static int write_all(c_gen *g, bool heads) {
  tn_any key, value;
  for (int64_t i = 0; tn_map_at(g->ir->functions, i, &key, &value); ++i) {
    const tn_GlobalVar *v = (const tn_GlobalVar *)key.v.obj;
    const tn_PrimFunc *f = TN_AS(PrimFunc, value.v.obj);
    TN_CHECK(f, CodegenError, v->span, "c: %s is not a tensor program but a %s",
             tn_cstr(v->name_hint), tn_obj_key(value.v.obj));
    g->name = c_symbol(v, f);
    if (!heads) {
      TN_TRY(write_function(g, f));
      continue;
    }
    TN_GET(g->used, tn_scope_own(tn_map_new()));
    TN_TRY(write_head(g, g->decl, f, true));
    const char *name;
    TN_GET(name, c_identifier(g->name));
    bool renamed = name != g->name;
    tn_buf_printf(g->decl, renamed ? " TVM_SYMBOL(\"%s\");\n" : ";\n", g->name);
    g->renamed = g->renamed || renamed;
  }
  return 0;
}

static int register_symbol(tn_buf *out, const char *prefix, const char *name) {
  bool has = strncmp(name, prefix, strlen(prefix)) == 0;
  const char *function;
  TN_GET(function, c_identifier(name));
  tn_buf_printf(out, "  TVMBackendRegisterSystemLibSymbol(\"%s%s\", (void*)&%s);\n",
                has ? "" : prefix, name, function);
  return 0;
}

/* Code that is linked into a program names its functions at start. */
static bool is_registered(const c_gen *g, const tn_target *t) {
  return ir_attrs_str(g->ir->attrs, "system_lib_prefix") || target_int(t, "system-lib", 0);
}

static int write_startup(const c_gen *g, tn_buf *out, const tn_target *t) {
  const char *prefix = ir_attrs_str(g->ir->attrs, "system_lib_prefix");
  tn_any key, value;
  if (!is_registered(g, t)) return 0;
  tn_buf_puts(out, "__attribute__((constructor)) static void tvm_module_startup_(void) {\n");
  for (int64_t i = 0; tn_map_at(g->ir->functions, i, &key, &value); ++i) {
    const char *name = ir_attrs_str(((const tn_BaseFunc *)value.v.obj)->attrs, "global_symbol");
    if (name) TN_TRY(register_symbol(out, prefix ? prefix : "", name));
  }
  TN_TRY(register_symbol(out, prefix ? prefix : "", "__tvm_module_ctx"));
  tn_buf_puts(out, "}\n");
  return 0;
}

/* The function that is meant where none is named, as text for the loader. Weak, as in other code:
   libraries may be linked of several modules. */
static void write_entry(const c_gen *g, tn_buf *out) {
  tn_any key, value;
  for (int64_t i = 0; tn_map_at(g->ir->functions, i, &key, &value); ++i) {
    const tn_BaseFunc *f = (const tn_BaseFunc *)value.v.obj;
    const char *name = ir_attrs_str(f->attrs, "global_symbol");
    if (!name || !ir_attrs_flag(f->attrs, "tir.is_entry_func")) continue;
    tn_buf_printf(out,
                  "#if defined(__GNUC__)\n__attribute__((weak))\n#endif\n"
                  "TVM_DLL const char %s[] = \"%s\";\n",
                  TN_MODULE_MAIN, name);
    return;
  }
}

const char c_constant_macro[] =
    "#ifndef TENON_CONST /* may be defined as an attribute of constants: a section, say */\n"
    "#define TENON_CONST\n"
    "#endif\n";

/* C code given with a program: attributes pragma_import_c hold it. Each text is written once. */
static int find_import(void *ctx, tn_obj *node) {
  c_gen *g = ctx;
  tn_any found;
  const tn_AttrStmt *a = TN_AS(AttrStmt, node);
  if (!a || !tn_str_eq(a->attr_key, "pragma_import_c")) return 0;
  const tn_StringImm *code = TN_AS(StringImm, a->value);
  TN_CHECK(code, CodegenError, a->span, "c: pragma_import_c: expected text of C, got %s",
           tn_obj_key(a->value));
  tn_any text = tn_any_obj(code->value);
  if (!tn_map_get(g->imports, text, &found)) TN_TRY(tn_map_set(g->imports, text, text));
  return 0;
}

static int write_imports(c_gen *g, tn_buf *all) {
  tn_any key, value;
  TN_GET(g->imports, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; tn_map_at(g->ir->functions, i, &key, &value); ++i) {
    const tn_PrimFunc *f = TN_AS(PrimFunc, value.v.obj);
    if (f) TN_TRY(tn_post_order(f->body, find_import, g));
  }
  for (int64_t i = 0; tn_map_at(g->imports, i, &key, &value); ++i)
    tn_buf_printf(all, "%s\n", tn_cstr((const tn_str *)key.v.obj));
  return 0;
}

static const char need_gnu[] =
    "#if !defined(__GNUC__)\n"
    "#error made for -mcpu=native, with vectors of GNU C: take gcc or clang, or target c alone\n"
    "#endif\n"
    "#if defined(__SSE__)\n#include <immintrin.h>\n#endif\n";

static int take_vectors(c_gen *g, const tn_target *t) {
  g->vectors_of_gnu = strcmp(target_str(t, "mcpu", ""), "native") == 0;
  TN_GET(g->vector_types, tn_scope_own(tn_map_new()));
  return 0;
}

static void put_types(const c_gen *g, tn_buf *all) {
  if (g->types.len) tn_buf_printf(all, "%s%.*s", need_gnu, (int)g->types.len, g->types.data);
}

static int write_source(c_gen *g, tn_buf *all, const tn_target *t) {
  tn_str *target;
  const char *decl, *code;
  TN_GET(target, target_text(t));
  TN_GET(g->packed, tn_scope_own(tn_map_new()));
  TN_GET(g->externs, tn_scope_own(tn_map_new()));
  TN_TRY(write_all(g, true));
  TN_TRY(write_all(g, false));
  TN_GET(decl, tn_buf_cstr(g->decl));
  TN_GET(code, tn_buf_cstr(g->out));
  tn_buf_printf(all, "// tvm target: %s\n#define TVM_EXPORTS\n", tn_cstr(target));
  tn_buf_puts(all, "#include \"tvm/runtime/c_runtime_api.h\"\n"
                   "#include \"tvm/runtime/c_backend_api.h\"\n"
                   "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n"
                   "#include <string.h>\n\n");
  /* weak: a program may be linked of several models */
  if (strstr(code, "__tvm_module_ctx") || is_registered(g, t))
    tn_buf_puts(all, "#if defined(__GNUC__)\n__attribute__((weak))\n#endif\n"
                     "void* __tvm_module_ctx = NULL;\n");
  put_types(g, all);
  if (strstr(decl, "TENON_CONST ")) tn_buf_puts(all, c_constant_macro);
  if (g->renamed) tn_buf_puts(all, c_symbol_macro);
  c_write_helpers(g, all);
  TN_TRY(write_imports(g, all));
  tn_buf_printf(all, "%s\n%s", decl, code);
  write_entry(g, all);
  TN_TRY(write_startup(g, all, t));
  return tn_buf_ok(all);
}

static tn_str *generate(const tn_IRModule *ir, const tn_target *t) {
  TN_BUF(out);
  TN_BUF(decl);
  TN_BUF(all);
  c_gen g = {.d = &c99, .out = &out, .decl = &decl, .ir = ir, .name = ""};
  g.constant = "TENON_CONST ";
  int err = take_vectors(&g, t) < 0 ? -1 : write_source(&g, &all, t);
  c_gen_fini(&g);
  return err ? NULL : tn_buf_str(&all);
}

/* ---- a file that stands alone ---- */

static int write_alone(c_gen *g, tn_buf *all) {
  const char *decl, *code;
  TN_GET(g->packed, tn_scope_own(tn_map_new()));
  TN_GET(g->externs, tn_scope_own(tn_map_new()));
  TN_TRY(write_all(g, false)); /* functions come before those that call them */
  TN_GET(decl, tn_buf_cstr(g->decl));
  TN_GET(code, tn_buf_cstr(g->out));
  TN_CHECK(
      !strstr(code, "TVM") && g->externs->len == 0, CodegenError, NULL,
      "c: a file that stands alone cannot hold %s, which calls functions of a runtime: make an "
      "archive (format mlf) instead",
      g->name);
  TN_BUF(helpers);
  c_write_helpers(g, &helpers);
  TN_TRY(tn_buf_ok(&helpers));
  bool memory = strstr(code, "memcpy(") || g->needs & (C_NEEDS_F16 | C_NEEDS_BF16);
  tn_buf_printf(all, "%s#include <stdbool.h>\n#include <stdint.h>\n%s\n%s",
                g->needs & (C_NEEDS_MATH | C_NEEDS_F16 | C_NEEDS_BF16) ? "#include <math.h>\n" : "",
                memory ? "#include <string.h>\n" : "", tn_buf_cstr(&helpers));
  put_types(g, all);
  tn_buf_printf(all, "%s\n%s", decl, code);
  return tn_buf_ok(all);
}

int c_standalone_source(const tn_IRModule *ir, const tn_target *t, const char *constant,
                        tn_buf *all) {
  TN_BUF(out);
  TN_BUF(decl);
  c_gen g = {.d = &c99, .out = &out, .decl = &decl, .ir = ir, .name = "", .alone = true};
  g.constant = constant;
  int err = take_vectors(&g, t) < 0 ? -1 : write_alone(&g, all);
  c_gen_fini(&g);
  return err;
}

const char *c_standard_type(tn_dtype t) {
  const char *stored = stored_type(t);
  return stored ? stored : scalar_type(t);
}

/* ---- the kind of module: self is the text ---- */

static tn_str *get_source(tn_module *m, const char *format) {
  TN_CHECKP(!*format || strcmp(format, "c") == 0, ValueError, NULL,
            "c: get_source: expected \"c\", got \"%s\"", format);
  tn_retain(tn_module_self(m));
  return tn_module_self(m);
}

static int save_file(tn_module *m, const char *path, const char *format) {
  const tn_str *s = tn_module_self(m);
  (void)format;
  return tn_file_write(path, s->data, s->len);
}

static void fini(tn_module *m) { tn_release(tn_module_self(m)); }

static const tn_module_ops ops = {
    .type_key = "c",
    .format = "c",
    .properties = TN_MODULE_DSO,
    .get_source = get_source,
    .save_file = save_file,
    .fini = fini,
};

static int build_c(TN_ARGS) {
  TN_NARGS("target.build.c", 2);
  TN_ARG_OBJ(IRModule, m, 0);
  TN_ARG_OBJ(Target, t, 1);
  tn_str *source;
  TN_GET(source, generate(m, t));
  tn_module *out = tn_module_new(&ops, source);
  if (!out) tn_release(source);
  return tn_ret_owned(ret, out);
}

static const tn_func_row rows[] = {{"target.build.c", build_c}};

int c_build_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
