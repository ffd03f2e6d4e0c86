/* What an exported library holds besides its functions: the imported modules as one constant, and,
   for code that is linked into a program, a constructor that names its symbols to the runtime:

     TVMBackendRegisterSystemLibSymbol("PREFIXname", &name)   for every visible function

   and the table of functions that the C runtime reads (tvm/runtime/crt/module.h). */
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "codegen/llvm/cg.h"

static LLVMValueRef text_constant(cg_module *m, const char *s) {
  return cg_constant(m, LLVMConstStringInContext2(m->ctx, s, strlen(s), 0), "");
}

/* A list that is not dropped though nothing refers to it. */
static void add_list(cg_module *m, const char *name, LLVMTypeRef type, LLVMValueRef item) {
  LLVMValueRef g = LLVMAddGlobal(m->mod, LLVMArrayType2(type, 1), name);
  LLVMSetInitializer(g, LLVMConstArray2(type, &item, 1));
  LLVMSetLinkage(g, LLVMAppendingLinkage);
  if (strcmp(name, "llvm.used") == 0) LLVMSetSection(g, "llvm.metadata");
}

/* Makes fn run when the code is loaded. On ELF its address is put into .init_array by name: LLVM's
   own way for that is the older .ctors, which not every linker knows. */
static void add_constructor(cg_module *m, LLVMValueRef fn) {
  if (strstr(LLVMGetTarget(m->mod), "linux")) {
    LLVMValueRef g = LLVMAddGlobal(m->mod, m->ptr, "__tvm_module_init");
    LLVMSetInitializer(g, fn);
    LLVMSetLinkage(g, LLVMInternalLinkage);
    LLVMSetSection(g, ".init_array");
    LLVMSetAlignment(g, 8);
    add_list(m, "llvm.used", m->ptr, g);
    return;
  }
  LLVMTypeRef fields[3] = {m->i32, m->ptr, m->ptr};
  LLVMTypeRef type = LLVMStructTypeInContext(m->ctx, fields, 3, 0);
  LLVMValueRef values[3] = {LLVMConstInt(m->i32, 65535, 0), fn, LLVMConstNull(m->ptr)};
  add_list(m, "llvm.global_ctors", type, LLVMConstNamedStruct(type, values, 3));
}

static int register_symbol(cg_module *m, LLVMBuilderRef b, const char *prefix, const char *name,
                           LLVMValueRef value) {
  const tn_str *full;
  bool has = strncmp(name, prefix, strlen(prefix)) == 0;
  TN_GET(full, tn_str_fmt("%s%s", has ? "" : prefix, name));
  LLVMTypeRef params[2] = {m->ptr, m->ptr};
  LLVMTypeRef type = LLVMFunctionType(m->i32, params, 2, 0);
  LLVMValueRef fn = LLVMGetNamedFunction(m->mod, "TVMBackendRegisterSystemLibSymbol");
  if (!fn) fn = LLVMAddFunction(m->mod, "TVMBackendRegisterSystemLibSymbol", type);
  LLVMValueRef args[2] = {text_constant(m, tn_cstr(full)), value};
  LLVMBuildCall2(b, type, fn, args, 2, "");
  return 0;
}

static int register_all(cg_module *m, LLVMBuilderRef b, const char *prefix) {
  static const char *const data[] = {"__tvm_module_ctx", "__tvm_dev_mblob"};
  for (LLVMValueRef fn = LLVMGetFirstFunction(m->mod); fn; fn = LLVMGetNextFunction(fn)) {
    size_t n;
    bool visible = !LLVMIsDeclaration(fn) && LLVMGetLinkage(fn) == LLVMExternalLinkage;
    if (visible) TN_TRY(register_symbol(m, b, prefix, LLVMGetValueName2(fn, &n), fn));
  }
  for (int i = 0; i < TN_COUNT(data); ++i) {
    LLVMValueRef g = LLVMGetNamedGlobal(m->mod, data[i]);
    if (g) TN_TRY(register_symbol(m, b, prefix, data[i], g));
  }
  return 0;
}

int cg_register_symbols(cg_module *m, const char *prefix) {
  LLVMTypeRef type = LLVMFunctionType(m->none, NULL, 0, 0);
  LLVMBuilderRef b = LLVMCreateBuilderInContext(m->ctx);
  LLVMValueRef fn = LLVMAddFunction(m->mod, "__tvm_module_startup", type);
  LLVMSetLinkage(fn, LLVMInternalLinkage);
  LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(m->ctx, fn, "entry"));
  int err = register_all(m, b, prefix);
  LLVMBuildRetVoid(b);
  LLVMDisposeBuilder(b);
  add_constructor(m, fn);
  return err;
}

int cg_add_blob(cg_module *m, tn_bytes_view blob) {
  LLVMValueRef data =
      LLVMConstStringInContext2(m->ctx, (const char *)blob.data, (size_t)blob.size, 1);
  LLVMValueRef g = LLVMAddGlobal(m->mod, LLVMTypeOf(data), "__tvm_dev_mblob");
  LLVMSetInitializer(g, data);
  LLVMSetGlobalConstant(g, 1);
  LLVMSetAlignment(g, 64);
  return 0;
}

/* Two bytes with the count, the names with a 0 behind each, and the addresses beside them. */
static int table_parts(cg_module *m, const tn_arr *names, LLVMValueRef *text, LLVMValueRef *calls) {
  TN_BUF(all);
  TN_AUTOFREE LLVMValueRef *items = tn_alloc_zero((size_t)names->len + 1, sizeof *items);
  LLVMTypeRef type = LLVMFunctionType(m->i32, NULL, 0, 0); /* only its address is taken */
  if (!items) return -1;
  tn_buf_putc(&all, (char)(names->len & 255));
  tn_buf_putc(&all, (char)(names->len >> 8 & 255));
  for (int64_t i = 0; i < names->len; ++i) {
    const char *name = tn_cstr((const tn_str *)names->items[i].v.obj);
    tn_buf_puts(&all, name);
    tn_buf_putc(&all, '\0');
    items[i] = LLVMAddFunction(m->mod, name, type);
  }
  TN_TRY(tn_buf_ok(&all));
  *text = cg_constant(m, LLVMConstStringInContext2(m->ctx, all.data, all.len, 1), "");
  *calls = cg_constant(m, LLVMConstArray2(m->ptr, items, (uint64_t)names->len), "");
  return 0;
}

int cg_add_function_table(cg_module *m, const tn_arr *names) {
  LLVMValueRef parts[2];
  TN_CHECK(names->len <= UINT16_MAX, ValueError, NULL,
           "a table for the C runtime has at most %d functions, got %lld", UINT16_MAX,
           (long long)names->len);
  TN_TRY(table_parts(m, names, &parts[0], &parts[1]));
  LLVMValueRef registry = cg_constant(m, LLVMConstStructInContext(m->ctx, parts, 2, 0), "");
  LLVMValueRef module = cg_constant(m, LLVMConstStructInContext(m->ctx, &registry, 1, 0), "");
  LLVMValueRef fn =
      LLVMAddFunction(m->mod, "TVMSystemLibEntryPoint", LLVMFunctionType(m->ptr, NULL, 0, 0));
  LLVMBuilderRef b = LLVMCreateBuilderInContext(m->ctx);
  LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(m->ctx, fn, "entry"));
  LLVMBuildRet(b, module);
  LLVMDisposeBuilder(b);
  return 0;
}
