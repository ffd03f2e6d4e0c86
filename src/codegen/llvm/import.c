/* LLVM code given with a program: the attribute pragma_import_llvm holds IR text, or the path of a
   file of text (.ll) or bitcode (.bc). Its functions become part of the module, to be inlined where
   they are called. */
#include <llvm-c/IRReader.h>
#include <llvm-c/Linker.h>
#include <string.h>

#include "ir/functor.h"
#include "codegen/llvm/cg.h"

static bool has_ending(const char *s, const char *ending) {
  size_t n = strlen(s), k = strlen(ending);
  return n > k && strcmp(s + n - k, ending) == 0;
}

static LLVMModuleRef parse(cg_module *m, const char *code) {
  char *message = NULL;
  LLVMMemoryBufferRef text = NULL;
  LLVMModuleRef out = NULL;
  bool is_path = has_ending(code, ".ll") || has_ending(code, ".bc");
  if (!is_path) {
    text = LLVMCreateMemoryBufferWithMemoryRangeCopy(code, strlen(code), "pragma_import_llvm");
  } else if (LLVMCreateMemoryBufferWithContentsOfFile(code, &text, &message)) {
    return cg_raise(code, message), NULL;
  }
  if (LLVMParseIRInContext(m->ctx, text, &out, &message)) /* takes the text */
    return cg_raise("pragma_import_llvm", message), NULL;
  return out;
}

/* What the generator set up for this machine counts, not what the code was compiled for. */
static void adapt(cg_module *m, LLVMModuleRef other) {
  static const char *const names[] = {"target-cpu", "target-features", "tune-cpu",
                                      "prefer-vector-width", "min-legal-vector-width"};
  LLVMSetTarget(other, LLVMGetTarget(m->mod));
  LLVMSetDataLayout(other, LLVMGetDataLayoutStr(m->mod));
  for (LLVMValueRef fn = LLVMGetFirstFunction(other); fn; fn = LLVMGetNextFunction(fn)) {
    if (LLVMIsDeclaration(fn)) continue;
    LLVMSetLinkage(fn, LLVMWeakODRLinkage);
    LLVMSetVisibility(fn, LLVMHiddenVisibility);
    for (int i = 0; i < TN_COUNT(names); ++i)
      LLVMRemoveStringAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, names[i],
                                       (unsigned)strlen(names[i]));
  }
}

static int import(cg_module *m, const char *code) {
  LLVMModuleRef other;
  TN_GET(other, parse(m, code));
  adapt(m, other);
  TN_CHECK(!LLVMLinkModules2(m->mod, other), CodegenError, NULL,
           "llvm: the code of pragma_import_llvm cannot be linked to the generated one");
  return 0;
}

static int find(void *ctx, tn_obj *node) {
  const tn_AttrStmt *a = TN_AS(AttrStmt, node);
  if (!a || strcmp(tn_cstr(a->attr_key), "pragma_import_llvm") != 0) return 0;
  const tn_StringImm *code = TN_AS(StringImm, a->value);
  TN_CHECK(code, CodegenError, a->span, "llvm: pragma_import_llvm: expected text of LLVM, got %s",
           tn_obj_key(a->value));
  return import(ctx, tn_cstr(code->value));
}

int cg_import_llvm(cg_module *m, const tn_PrimFunc *func) {
  return tn_post_order(func->body, find, m);
}
