/* Archives of operators that `tenon.build` made, version 7:

     metadata.json                 memory of each function, targets, "style": "operator"
     codegen/host/src/libN.c, ...  the code
     src/tir-1.txt                 the tensor programs for devices of that type */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/scope.h"
#include "export/model_library.h"
#include "ir/imm.h"
#include "ir/module.h"
#include "object/functions.h"
#include "runtime/module/module.h"
#include "target/target.h"
#include "tir/script/printer.h"
#include "tir/tir.h"

typedef struct {
  const tn_str *name;
  tn_module *lib;
  const tn_map *programs; /* Target -> IRModule */
} operators;

/* ---- checks ---- */

static int raise_shape(const tn_Var *param, const tn_arr *shape) {
  TN_BUF(message);
  tn_buf_printf(&message, "Parameter %s has shape with non-IntImm elements [",
                tn_cstr(param->name));
  for (int64_t i = 0; i < shape->len; ++i) {
    tn_str *dim;
    TN_GET(dim, script_print((tn_obj *)tn_arr_obj(shape, i), NULL));
    const char *line = strrchr(tn_cstr(dim), '\n');
    tn_buf_printf(&message, "%s%s", i ? ", " : "", line ? line + 1 : tn_cstr(dim));
  }
  tn_buf_puts(&message, "]");
  TN_TRY(tn_buf_ok(&message));
  return tn_raise_foreign("NonStaticShapeError", tn_buf_cstr(&message), NULL);
}

static int check_targets(const operators *o) {
  tn_any key, value;
  TN_TRY(mlf_check_name(o->name));
  for (int64_t i = 0; tn_map_at(o->programs, i, &key, &value); ++i) {
    const tn_target *t = tn_any_is_obj(&key) ? TN_AS(Target, key.v.obj) : NULL;
    tn_str *text;
    TN_BUF(message);
    TN_CHECK(t && tn_any_is_obj(&value) && TN_IS(IRModule, value.v.obj), TypeError, NULL,
             "export.ModelLibraryFormatOperator: expected a map from Target to IRModule");
    if (target_makes(t, TARGET_MACHINE_CODE | TARGET_C_SOURCE)) continue;
    TN_GET(text, target_text(t));
    tn_buf_printf(&message,
                  "Operator has non-DSO-exportable target %s, which is not yet supported in Model "
                  "Library Format",
                  tn_cstr(text));
    TN_TRY(tn_buf_ok(&message));
    return tn_raise_foreign("UnsupportedInModelLibraryFormatError", tn_buf_cstr(&message), NULL);
  }
  return 0;
}

/* ---- metadata ---- */

static int put_tensor(const tn_Var *param, const tn_Buffer *b, tn_buf *out) {
  int64_t bytes = (b->dtype.bits * b->dtype.lanes + 7) / 8, n;
  TN_BUF(shape);
  for (int64_t i = 0; i < b->shape->len; ++i) {
    if (!tir_as_int(tn_arr_obj(b->shape, i), &n)) return raise_shape(param, b->shape);
    TN_CHECK(!__builtin_mul_overflow(bytes, n, &bytes), ValueError, NULL,
             "parameter %s: more bytes than an int64 counts", tn_cstr(param->name));
    tn_buf_printf(&shape, "%s%" PRId64, i ? "," : "", n);
  }
  TN_TRY(tn_buf_ok(&shape));
  tn_buf_printf(out, "{\"dtype\":\"%s\",\"input_binding\":", TN_DT(b->dtype));
  tn_buf_quote(out, tn_cstr(b->name), tn_str_len(b->name));
  tn_buf_printf(out, ",\"shape\":[%.*s],\"size_bytes\":%" PRId64 "}", (int)shape.len, shape.data,
                bytes);
  return 0;
}

static int put_function(const tn_PrimFunc *f, tn_buf *out) {
  tn_any buffer;
  bool first = true;
  tn_buf_putc(out, '[');
  for (int64_t i = 0; i < f->params->len; ++i) {
    tn_Var *param = (tn_Var *)tn_arr_obj(f->params, i);
    if (!tn_map_get(f->buffer_map, tn_any_obj(param), &buffer)) continue;
    if (!first) tn_buf_putc(out, ',');
    first = false;
    TN_TRY(put_tensor(param, (const tn_Buffer *)buffer.v.obj, out));
  }
  tn_buf_putc(out, ']');
  return 0;
}

/* The functions of all targets, by name. */
static int put_memory(const operators *o, tn_buf *out) {
  tn_any target, module, var, func;
  bool first = true;
  tn_buf_putc(out, '{');
  for (int64_t i = 0; tn_map_at(o->programs, i, &target, &module); ++i) {
    const tn_IRModule *m = (const tn_IRModule *)module.v.obj;
    for (int64_t k = 0; tn_map_at(m->functions, k, &var, &func); ++k) {
      const tn_PrimFunc *f = TN_AS(PrimFunc, func.v.obj);
      const tn_str *name = ((const tn_GlobalVar *)var.v.obj)->name_hint;
      if (!f) continue;
      if (!first) tn_buf_putc(out, ',');
      first = false;
      tn_buf_quote(out, tn_cstr(name), tn_str_len(name));
      tn_buf_putc(out, ':');
      TN_TRY(put_function(f, out));
    }
  }
  tn_buf_putc(out, '}');
  return 0;
}

static int put_targets(const operators *o, tn_buf *out) {
  tn_any key, value;
  for (int64_t i = 0; tn_map_at(o->programs, i, &key, &value); ++i) {
    tn_str *text;
    TN_GET(text, target_text((const tn_target *)key.v.obj));
    if (i) tn_buf_putc(out, ',');
    tn_buf_quote(out, tn_cstr(text), tn_str_len(text));
  }
  return 0;
}

static int put_metadata(const operators *o, int64_t seconds, tn_buf *out) {
  TN_BUF(json);
  tn_buf_puts(&json, "{\"executors\":[],\"export_datetime\":");
  TN_TRY(mlf_put_date(seconds, true, &json));
  tn_buf_puts(&json, ",\"memory\":");
  TN_TRY(put_memory(o, &json));
  tn_buf_puts(&json, ",\"model_name\":");
  tn_buf_quote(&json, tn_cstr(o->name), tn_str_len(o->name));
  tn_buf_puts(&json, ",\"style\":\"operator\",\"target\":[");
  TN_TRY(put_targets(o, &json));
  tn_buf_puts(&json, "],\"version\":7}");
  TN_TRY(tn_buf_ok(&json));
  mlf_put_indented(json.data, json.len, out);
  return tn_buf_ok(out);
}

/* ---- the archive ---- */

static int device_type_at(const operators *o, int64_t i) {
  tn_any key, value;
  return tn_map_at(o->programs, i, &key, &value) ? target_device_type((const tn_target *)key.v.obj)
                                                 : 0;
}

/* The programs for devices of the type of target i, where that is the first of the type. */
static int add_programs(const operators *o, int64_t i, mlf_files *l) {
  TN_BUF(text);
  tn_str *path;
  tn_any key, value;
  int type = device_type_at(o, i);
  for (int64_t k = 0; k < i; ++k)
    if (device_type_at(o, k) == type) return 0;
  TN_GET(path, tn_str_fmt("src/tir-%d.txt", type));
  for (int64_t k = i; tn_map_at(o->programs, k, &key, &value); ++k) {
    tn_str *one;
    if (device_type_at(o, k) != type) continue;
    TN_GET(one, script_print(value.v.obj, NULL));
    tn_buf_printf(&text, "%s%s", k > i ? "\n\n" : "", tn_cstr(one));
  }
  return mlf_add_buf(l, tn_cstr(path), &text);
}

static int add_all(const operators *o, const char *folder, int64_t seconds, mlf_files *l) {
  TN_BUF(metadata);
  TN_TRY(put_metadata(o, seconds, &metadata));
  TN_TRY(mlf_add_buf(l, "metadata.json", &metadata));
  TN_TRY(mlf_add_code(o->lib, "", folder, l));
  for (int64_t i = 0; i < o->programs->len; ++i) TN_TRY(add_programs(o, i, l));
  return 0;
}

static int export_operators(const operators *o, const char *path) {
  TN_SCOPE(s);
  TN_TEMP_FOLDER(folder);
  TN_BUF(archive);
  mlf_files l = {0};
  int64_t seconds;
  bool fixed;
  TN_TRY(check_targets(o));
  TN_TRY(mlf_date(&seconds, &fixed));
  TN_TRY(tn_temp_folder_make(&folder));
  int err = add_all(o, folder.path.data, seconds, &l);
  if (!err) err = tar_write(l.files, l.n, seconds, &archive);
  mlf_files_fini(&l);
  return err ? err : tn_file_write(path, archive.data, archive.len);
}

/* (path, name, module, {Target: IRModule}) */
static int f_export(TN_ARGS) {
  operators o;
  const char *path, *name;
  TN_NARGS("export.ModelLibraryFormatOperator", 4);
  TN_TRY(tn_any_to_cstr(&args[0], &path));
  TN_TRY(tn_any_to_cstr(&args[1], &name));
  TN_GET(o.name, tn_str_from(name));
  TN_TRY(tn_arg_module(args, n, 2, &o.lib));
  TN_ARG_OBJ(Map, programs, 3);
  o.programs = programs;
  (void)ret;
  return export_operators(&o, path);
}

static const tn_func_row rows[] = {{"export.ModelLibraryFormatOperator", f_export}};

int mlf_operator_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
