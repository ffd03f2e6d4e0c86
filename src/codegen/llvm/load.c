/* Files of LLVM's text (.ll) and bitcode (.bc) as modules, as Module.save writes them. They are
   programs: whoever loads one trusts it. */
#include <llvm-c/Analysis.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Linker.h>
#include <string.h>

#include "codegen/llvm/cg.h"
#include "runtime/library/library.h"

static LLVMModuleRef parse_file(LLVMContextRef ctx, const char *path) {
  char *message = NULL;
  LLVMMemoryBufferRef text = NULL;
  LLVMModuleRef out = NULL;
  if (LLVMCreateMemoryBufferWithContentsOfFile(path, &text, &message) ||
      LLVMParseIRInContext(ctx, text, &out, &message)) /* takes the text */
    return cg_raise(path, message), NULL;
  if (LLVMVerifyModule(out, LLVMReturnStatusAction, &message)) {
    LLVMDisposeModule(out);
    return cg_raise(path, message), NULL;
  }
  LLVMDisposeMessage(message);
  return out;
}

/* Addresses and structs must be laid out as on this machine. */
static int check_machine(const cg_module *m, LLVMModuleRef other, const char *path) {
  const char *given = LLVMGetDataLayoutStr(other);
  TN_CHECK(!*given || strcmp(given, LLVMGetDataLayoutStr(m->mod)) == 0, ValueError, NULL,
           "%s: the code is for %s, this machine is %s", path, LLVMGetTarget(other),
           LLVMGetTarget(m->mod));
  LLVMSetTarget(other, LLVMGetTarget(m->mod));
  LLVMSetDataLayout(other, LLVMGetDataLayoutStr(m->mod));
  return 0;
}

/* What the loader of modules relies on: a variable for the context, and a text for the entry. An
   empty file is text without functions. */
static int complete(cg_module *m, const char *path) {
  LLVMValueRef fn = LLVMGetFirstFunction(m->mod);
  while (fn && LLVMIsDeclaration(fn)) fn = LLVMGetNextFunction(fn);
  TN_CHECK(fn, ValueError, NULL, "%s: the file defines no function", path);
  LLVMValueRef entry = LLVMGetNamedGlobal(m->mod, TN_MODULE_MAIN);
  LLVMValueRef name = entry ? LLVMGetInitializer(entry) : NULL;
  TN_CHECK(!entry || (name && LLVMIsConstantString(name)), ValueError, NULL,
           "%s: " TN_MODULE_MAIN " is not the name of a function", path);
  if (!LLVMGetNamedGlobal(m->mod, TN_SYMBOL_MODULE_CTX)) cg_add_context(m);
  return 0;
}

static int read_file(cg_code *c, const char *path) {
  cg_module m;
  LLVMModuleRef other;
  TN_TRY(cg_code_open(c, path, &m));
  m.ir = NULL;
  cg_find_types(&m);
  TN_GET(other, parse_file(m.ctx, path));
  if (check_machine(&m, other, path)) {
    LLVMDisposeModule(other);
    return -1;
  }
  TN_CHECK(!LLVMLinkModules2(m.mod, other), CodegenError, NULL, "%s: the code cannot be linked",
           path); /* takes the other one */
  return complete(&m, path);
}

/* (path) -> Module */
static int load_file(TN_ARGS) {
  TN_SCOPE(s);
  const char *path;
  tn_target *t;
  TN_NARGS("target.llvm_load_file", 1);
  TN_TRY(tn_any_to_cstr(&args[0], &path));
  tn_any host = tn_any_cstr("llvm");
  TN_GET(t, target_from(&host));
  cg_code *c = cg_code_new(t);
  return c ? tn_ret_owned(ret, cg_code_finish(c, read_file(c, path))) : -1;
}
CG_GUARDED(load_file)

static const tn_func_row rows[] = {{"target.llvm_load_file", load_file_guarded}};

int cg_load_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
