/* Functions compiled one by one, on any thread, and the module that they make together. A part
   keeps its object file, which is what runs, and its bitcode, from which the module's text is made
   when somebody asks for it:

     target.llvm_compile(IRModule, Target) -> [names, object, bitcode]
     target.llvm_assemble([[names, object, bitcode], ...], Target) -> Module
     target.llvm_describe(Target) -> text of what code depends on besides the program
     target.llvm_host_processor() -> name of this machine's processor */
#include <llvm-c/BitReader.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/Linker.h>
#include <string.h>

#include "base/alloc.h"
#include "codegen/elf/elf.h"
#include "codegen/llvm/cg.h"

/* ---- many into one ---- */

static LLVMModuleRef parse(LLVMContextRef ctx, const tn_bytes *code) {
  LLVMModuleRef mod = NULL;
  tn_bytes_view b = tn_bytes_get(code);
  LLVMMemoryBufferRef text =
      LLVMCreateMemoryBufferWithMemoryRange((const char *)b.data, b.size, "kernel", 0);
  bool failed = LLVMParseBitcodeInContext2(ctx, text, &mod);
  LLVMDisposeMemoryBuffer(text);
  return failed ? TN_RAISEP(CodegenError, NULL, "llvm: the bitcode of a kernel cannot be read")
                : mod;
}

LLVMModuleRef cg_link_parts(LLVMContextRef ctx, const cg_part *parts, int n) {
  LLVMModuleRef all = NULL;
  for (int i = 0; i < n; ++i) {
    LLVMModuleRef mod = parse(ctx, parts[i].code);
    bool failed = mod && all && LLVMLinkModules2(all, mod); /* takes the second */
    if (mod && !failed) {
      if (!all) all = mod;
      continue;
    }
    if (all) LLVMDisposeModule(all);
    return mod ? TN_RAISEP(CodegenError, NULL, "llvm: kernels cannot be put into one module")
               : NULL;
  }
  return all;
}

LLVMMemoryBufferRef cg_merge_parts(const cg_part *parts, int n) {
  TN_BUF(out);
  TN_AUTOFREE tn_bytes_view *objects = tn_alloc_zero((size_t)n + 1, sizeof *objects);
  if (!objects) return NULL;
  for (int i = 0; i < n; ++i) objects[i] = tn_bytes_get(parts[i].object);
  TN_TRYP(elf_merge(objects, n, &out));
  return LLVMCreateMemoryBufferWithMemoryRangeCopy(out.data, out.len, "kernels");
}

/* ---- compiling a part ---- */

/* Bytes of a buffer, which is freed; NULL passes through. Scope-owned. */
static tn_obj *take_bytes(LLVMMemoryBufferRef b) {
  if (!b) return NULL;
  tn_bytes *r = tn_bytes_new(LLVMGetBufferStart(b), LLVMGetBufferSize(b));
  LLVMDisposeMemoryBuffer(b);
  return tn_scope_own(r);
}

static tn_arr *symbols(const tn_IRModule *ir) {
  TN_VEC(names);
  tn_any key, value;
  for (int64_t i = 0; tn_map_at(ir->functions, i, &key, &value); ++i) {
    const tn_PrimFunc *f = TN_AS(PrimFunc, value.v.obj);
    if (!f || !ir_attrs_str(f->attrs, "global_symbol")) continue;
    TN_TRYP(tn_vec_push_obj(&names, tn_str_from(cg_symbol((const tn_GlobalVar *)key.v.obj, f))));
  }
  return tn_arr_from(&names);
}

tn_arr *cg_code_part(cg_code *c, tn_arr *names) {
  tn_obj *code, *object;
  LLVMModuleRef mod;
  TN_GETP(mod, cg_code_module(c));
  TN_GETP(code, take_bytes(LLVMWriteBitcodeToMemoryBuffer(mod)));
  TN_GETP(object, take_bytes(cg_code_emit(c, LLVMObjectFile)));
  return tn_arr_of(3, names, object, code);
}

static tn_arr *compile_part(cg_code *c, const tn_IRModule *ir) {
  tn_arr *names;
  TN_TRYP(cg_code_generate(c, ir, true));
  TN_GETP(names, symbols(ir));
  return cg_code_part(c, names);
}

static int compile(TN_ARGS) {
  TN_SCOPE(s);
  TN_NARGS("target.llvm_compile", 2);
  TN_ARG_OBJ(IRModule, ir, 0);
  TN_ARG_OBJ(Target, t, 1);
  cg_code *c = cg_code_new(t);
  tn_arr *part = c ? compile_part(c, ir) : NULL;
  if (c) cg_code_free(c);
  return tn_ret_obj(ret, part);
}

/* ---- putting parts together ---- */

static int part_of(const tn_any *a, cg_part *out) {
  tn_obj *o = NULL;
  tn_obj *fields[3];
  TN_TRY(tn_any_to_obj(a, "Array", &o));
  const tn_arr *list = (const tn_arr *)o;
  TN_CHECK(list && list->len == 3, ValueError, NULL,
           "target.llvm_assemble: expected names, object and bitcode");
  TN_TRY(tn_any_to_obj(&list->items[0], "Array", &fields[0]));
  for (int i = 1; i < 3; ++i) TN_TRY(tn_any_to_obj(&list->items[i], "runtime.Bytes", &fields[i]));
  TN_CHECK(fields[0] && fields[1] && fields[2], TypeError, NULL,
           "target.llvm_assemble: a part with nothing in it");
  *out = (cg_part){(tn_arr *)fields[0], (tn_bytes *)fields[1], (tn_bytes *)fields[2]};
  return 0;
}

static int parts_of(const tn_arr *list, cg_part *out) {
  for (int64_t i = 0; i < list->len; ++i) TN_TRY(part_of(&list->items[i], &out[i]));
  return 0;
}

static int assemble(TN_ARGS) {
  TN_SCOPE(s);
  TN_NARGS("target.llvm_assemble", 2);
  TN_ARG_OBJ(Array, list, 0);
  TN_ARG_OBJ(Target, t, 1);
  TN_CHECK(list && t && list->len && list->len < INT32_MAX, TypeError, NULL,
           "target.llvm_assemble: expected parts and a target");
  TN_AUTOFREE cg_part *parts = tn_alloc_zero((size_t)list->len + 1, sizeof *parts);
  if (!parts) return -1;
  TN_TRY(parts_of(list, parts));
  tn_any checks = tn_any_obj(cg_check_part(t));
  if (!checks.v.obj || part_of(&checks, &parts[list->len])) return -1;
  cg_code *c = cg_code_new(t);
  if (!c) return -1;
  return tn_ret_owned(ret, cg_code_finish(c, cg_code_set_parts(c, parts, (int)list->len + 1)));
}

/* (target) -> what code depends on besides the program: LLVM, processor, its features */
static int describe(TN_ARGS) {
  TN_NARGS("target.llvm_describe", 1);
  TN_ARG_OBJ(Target, t, 0);
  TN_BUF(out);
  unsigned major, minor, patch;
  LLVMTargetMachineRef machine;
  TN_GET(machine, cg_machine(t));
  char *texts[] = {LLVMGetTargetMachineTriple(machine), LLVMGetTargetMachineCPU(machine),
                   LLVMGetTargetMachineFeatureString(machine)};
  LLVMGetVersion(&major, &minor, &patch);
  tn_buf_printf(&out, "LLVM %u.%u.%u", major, minor, patch);
  for (int i = 0; i < TN_COUNT(texts); ++i) {
    tn_buf_printf(&out, " %s", texts[i]);
    LLVMDisposeMessage(texts[i]);
  }
  LLVMDisposeTargetMachine(machine);
  return tn_ret_owned(ret, tn_buf_str(&out));
}

static int host_processor(TN_ARGS) {
  TN_NARGS("target.llvm_host_processor", 0);
  char *name = LLVMGetHostCPUName();
  int err = tn_ret_obj(ret, tn_str_from(name ? name : ""));
  LLVMDisposeMessage(name);
  return err;
}

/* (target) -> the processors that its option -mcpu may name */
static int processors(TN_ARGS) {
  TN_SCOPE(s);
  TN_NARGS("target.llvm_get_cpu_archlist", 1);
  const char *triple;
  LLVMTargetRef target;
  tn_target *t;
  TN_GET(t, target_from(&args[0]));
  TN_TRY(cg_triple(t, &triple, &target));
  return tn_ret_obj(ret, cg_processors(target, triple));
}

CG_GUARDED(compile)
CG_GUARDED(host_processor)
CG_GUARDED(assemble)
CG_GUARDED(describe)
CG_GUARDED(processors)

static const tn_func_row rows[] = {{"target.llvm_compile", compile_guarded},
                                   {"target.llvm_host_processor", host_processor_guarded},
                                   {"target.llvm_assemble", assemble_guarded},
                                   {"target.llvm_describe", describe_guarded},
                                   {"target.llvm_get_cpu_archlist", processors_guarded}};

int cg_parts_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
