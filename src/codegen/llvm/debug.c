/* Debug information: which line of the program's script each instruction comes from. With the
   target option -debug-info=FILE the script of the lowered programs is written to FILE, and
   debuggers, profilers and addr2line show its lines.

     llvm -debug-info=/tmp/main.py   ->   !DILocation(line: 12, scope: ...) on the code of line 12
 */
#include <llvm-c/DebugInfo.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "ir/functor.h"
#include "codegen/llvm/cg.h"
#include "tir/script/printer.h"

struct cg_debug {
  LLVMDIBuilderRef b;
  LLVMMetadataRef file, type;
  tn_pmap lines; /* statements and functions -> line */
};

static int note(void *ctx, tn_obj *node) {
  bool wanted = TN_IS(PrimFunc, node) || tn_type_is(node->type, &tn_type_Stmt);
  return wanted ? tn_vec_push_obj(ctx, node) : 0;
}

static int write_script(tn_pmap *lines, const tn_IRModule *ir, const char *path) {
  TN_VEC(nodes);
  tn_any key, value;
  tn_arr *list;
  tn_str *text;
  for (int64_t i = 0; tn_map_at(ir->functions, i, &key, &value); ++i)
    TN_TRY(tn_post_order(value.v.obj, note, &nodes));
  TN_GET(list, tn_arr_from(&nodes));
  TN_GET(text, script_print_lines((tn_obj *)(uintptr_t)ir, list, lines));
  return tn_file_write(path, text->data, text->len);
}

static void add_flag(cg_module *m, const char *name, unsigned value) {
  LLVMMetadataRef v = LLVMValueAsMetadata(LLVMConstInt(m->i32, value, 0));
  LLVMAddModuleFlag(m->mod, LLVMModuleFlagBehaviorWarning, name, strlen(name), v);
}

static void open_unit(cg_module *m, cg_debug *d, const char *path) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  size_t folder = slash ? (size_t)(slash - path) : 0;
  d->b = LLVMCreateDIBuilder(m->mod);
  d->file = LLVMDIBuilderCreateFile(d->b, name, strlen(name), path, folder);
  LLVMDIBuilderCreateCompileUnit(d->b, LLVMDWARFSourceLanguageC, d->file, "tenon", 5, 1, "", 0, 0,
                                 "", 0, LLVMDWARFEmissionFull, 0, 0, 0, "", 0, "", 0);
  d->type = LLVMDIBuilderCreateSubroutineType(d->b, d->file, NULL, 0, (LLVMDIFlags)LLVMDIFlagZero);
  add_flag(m, "Debug Info Version", LLVMDebugMetadataVersion());
  add_flag(m, "Dwarf Version", 4);
}

int cg_debug_open(cg_module *m, const char *path) {
  char full[4096];
  cg_debug *d;
  TN_GET(d, tn_alloc_zero(1, sizeof *d));
  m->debug = d;
  TN_TRY(write_script(&d->lines, m->ir, path));
  open_unit(m, d, realpath(path, full) ? full : path);
  return 0;
}

void cg_debug_close(cg_module *m) {
  if (!m->debug) return;
  if (m->debug->b) {
    LLVMDIBuilderFinalize(m->debug->b);
    LLVMDisposeDIBuilder(m->debug->b);
  }
  tn_pmap_fini(&m->debug->lines);
  tn_free(m->debug);
  m->debug = NULL;
}

static void set_line(cg_fn *f, int64_t line) {
  LLVMMetadataRef at =
      LLVMDIBuilderCreateDebugLocation(f->m->ctx, (unsigned)line, 0, f->scope, NULL);
  LLVMSetCurrentDebugLocation2(f->b, at);
}

void cg_debug_function(cg_fn *f, const void *origin) {
  cg_debug *d = f->m->debug;
  size_t n;
  if (!d) return;
  const char *name = LLVMGetValueName2(f->fn, &n);
  int64_t line = tn_pmap_get_int(&d->lines, origin, 1);
  f->scope = LLVMDIBuilderCreateFunction(d->b, d->file, name, n, name, n, d->file, (unsigned)line,
                                         d->type, LLVMGetLinkage(f->fn) != LLVMExternalLinkage, 1,
                                         (unsigned)line, (LLVMDIFlags)LLVMDIFlagZero, 1);
  LLVMSetSubprogram(f->fn, f->scope);
  set_line(f, line);
}

void cg_debug_stmt(cg_fn *f, const tn_stmt *s) {
  if (!f->scope) return;
  int64_t line = tn_pmap_get_int(&f->m->debug->lines, s, 0);
  if (line) set_line(f, line);
}
