/* Modules of kind "llvm": the optimised code, compiled into this process when a function of it is
   first asked for; its text and object files. The plug-in's start is here too. */
#include <llvm-c/BitWriter.h>
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "runtime/library/legacy_abi.h"
#include "runtime/library/library.h"
#include "runtime/module/module_blob.h"
#include "codegen/llvm/cg.h"
#include "codegen/llvm/example_type.h"

struct cg_code {
  pthread_mutex_t lock; /* LLVM's objects are used by one thread at a time */
  LLVMContextRef ctx;
  LLVMModuleRef mod;
  LLVMTargetMachineRef machine;
  LLVMOrcLLJITRef jit; /* NULL until code is needed */
  tn_library lib;      /* the context in which the code looks functions up */
  tn_module *self[1];  /* lib.modules */
  tn_target *target;   /* retained */
  tn_str *prefix;      /* owned: of the system library's symbols, NULL when it is none of it */
  cg_part *parts;      /* compiled one by one: `mod` is put together when its text is asked for */
  int nparts;
  tn_map *names; /* owned: function -> number of its part */
  bool lost;     /* LLVM gave up in the middle of something */
  bool no_room;  /* the JIT found no memory for code */
};
typedef cg_code code;

static code *code_of(const tn_module *m) { return tn_module_self(m); }

static bool is_no_memory(const char *text) { return strstr(text, strerror(ENOMEM)) != NULL; }

static int raise_error(const code *c, const char *what, LLVMErrorRef err) {
  char *text = LLVMGetErrorMessage(err);
  if (c->no_room || is_no_memory(text))
    TN_RAISE(MemoryError, NULL, "llvm: %s: out of memory", what);
  else TN_RAISE(CodegenError, NULL, "llvm: %s: %s", what, text);
  LLVMDisposeErrorMessage(text);
  return -1;
}

/* ---- one thread at a time ---- */

typedef struct {
  code *c;
  const char *name; /* of a function, or a format */
  void *found;
  LLVMMemoryBufferRef bytes;
  tn_str *text;
} job;

/* What LLVM had is left as it is: freeing it may be as bad as using it. */
static void lose(code *c) {
  c->lost = true;
  c->jit = NULL;
  c->machine = NULL;
  c->mod = NULL;
  c->ctx = NULL;
}

static int do_alone(job *j, int (*work)(void *job)) {
  bool gave_up = false;
  code *c = j->c;
  pthread_mutex_lock(&c->lock);
  int err = c->lost ? TN_RAISE(CodegenError, NULL,
                               "llvm: the module was lost when memory ran out: build it again")
                    : cg_guard(work, j, &gave_up);
  if (gave_up) lose(c);
  pthread_mutex_unlock(&c->lock);
  return err;
}

/* ---- code in this process ---- */

LLVMModuleRef cg_code_module(code *c) {
  if (!c->mod) TN_GETP(c->mod, cg_link_parts(c->ctx, c->parts, c->nparts));
  return c->mod;
}

LLVMTargetMachineRef cg_code_machine(cg_code *c) { return c->machine; }

/* Generating changes what it works on, so that is a copy. */
LLVMMemoryBufferRef cg_code_emit(code *c, LLVMCodeGenFileType type) {
  char *message = NULL;
  LLVMMemoryBufferRef out = NULL;
  LLVMModuleRef mod;
  TN_GETP(mod, cg_code_module(c));
  LLVMModuleRef copy = LLVMCloneModule(mod);
  if (LLVMTargetMachineEmitToMemoryBuffer(c->machine, copy, type, &message, &out)) {
    cg_raise("code generation failed", message);
    out = NULL;
  }
  LLVMDisposeModule(copy);
  return out;
}

static int add_process_symbols(const code *c) {
  LLVMOrcLLJITRef jit = c->jit;
  LLVMOrcDefinitionGeneratorRef symbols;
  LLVMErrorRef err = LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(
      &symbols, LLVMOrcLLJITGetGlobalPrefix(jit), NULL, NULL);
  if (err) return raise_error(c, "symbols of the process", err);
  LLVMOrcJITDylibAddGenerator(LLVMOrcLLJITGetMainJITDylib(jit), symbols);
  cg_add_examples(LLVMOrcLLJITGetMainJITDylib(jit));
  return 0;
}

/* Address of a symbol; NULL without an error when there is none. */
static void *find(code *c, const char *name) {
  LLVMOrcExecutorAddress address = 0;
  LLVMErrorRef err = LLVMOrcLLJITLookup(c->jit, &address, name);
  if (err) {
    LLVMConsumeError(err);
    return NULL;
  }
  return (void *)(uintptr_t)address;
}

/* Gives an object to the JIT, which takes it. */
static int add_object(code *c, LLVMMemoryBufferRef object) {
  LLVMErrorRef err = LLVMOrcLLJITAddObjectFile(c->jit, LLVMOrcLLJITGetMainJITDylib(c->jit), object);
  return err ? raise_error(c, "the compiled code cannot be loaded", err) : 0;
}

/* Parts are linked one by one, when a function of theirs is looked up. */
static int add_objects(code *c) {
  LLVMMemoryBufferRef object;
  for (int i = 0; i < c->nparts; ++i) {
    tn_bytes_view b = tn_bytes_get(c->parts[i].object);
    TN_TRY(add_object(
        c, LLVMCreateMemoryBufferWithMemoryRange((const char *)b.data, b.size, "kernel", 0)));
  }
  if (c->nparts) return 0;
  TN_GET(object, cg_code_emit(c, LLVMObjectFile));
  return add_object(c, object);
}

/* What goes wrong while symbols are looked up; the error of the lookup names the symbols only. */
static void note_error(void *ctx, LLVMErrorRef err) {
  code *c = ctx;
  char *text = LLVMGetErrorMessage(err);
  if (is_no_memory(text)) c->no_room = true;
  else TN_LOG(WARNING, "llvm: %s", text);
  LLVMDisposeErrorMessage(text);
}

static int load(code *c) {
  TN_CHECK(cg_runs_here(c->machine), CodegenError, NULL,
           "llvm: the code is for another processor than this machine's: export it instead of "
           "calling it");
  LLVMErrorRef err = LLVMOrcCreateLLJIT(&c->jit, NULL);
  if (err) {
    c->jit = NULL;
    return raise_error(c, "the compiled code cannot be loaded", err);
  }
  LLVMOrcExecutionSessionSetErrorReporter(LLVMOrcLLJITGetExecutionSession(c->jit), note_error, c);
  TN_TRY(add_process_symbols(c));
  return add_objects(c);
}

/* The code's symbols, and the context that its packed calls go through. */
static int start(code *c) {
  void *at = NULL;
  LLVMErrorRef err;
  LLVMOrcExecutorAddress address = 0;
  if (c->jit) return 0;
  if (load(c)) goto failed;
  err = LLVMOrcLLJITLookup(c->jit, &address, TN_SYMBOL_MODULE_CTX);
  if (err) {
    raise_error(c, "the compiled code cannot be loaded", err);
    goto failed;
  }
  at = (void *)(uintptr_t)address;
  memcpy(at, &(void *){&c->lib}, sizeof(void *));
  return 0;
failed:
  if (c->jit) LLVMConsumeError(LLVMOrcDisposeLLJIT(c->jit));
  c->jit = NULL;
  return -1;
}

/* Is it a function that the module defines for others? */
static bool defines(const code *c, const char *name) {
  tn_any part;
  if (c->names) return tn_map_get(c->names, tn_any_cstr(name), &part);
  LLVMValueRef fn = LLVMGetNamedFunction(c->mod, name);
  return fn && !LLVMIsDeclaration(fn) && LLVMGetLinkage(fn) == LLVMExternalLinkage;
}

/* Name that the module gives for its entry. */
static const char *entry_of(const code *c) {
  size_t n;
  LLVMValueRef g = c->nparts ? NULL : LLVMGetNamedGlobal(c->mod, TN_MODULE_MAIN);
  return g ? LLVMGetAsString(LLVMGetInitializer(g), &n) : NULL;
}

static int target_string(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  TN_SCOPE(s);
  (void)args, (void)n;
  return tn_ret_obj(ret, target_text(((const code *)self)->target));
}
static int is_system(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  (void)args, (void)n;
  *ret = tn_any_bool(((const code *)self)->prefix != NULL);
  return 0;
}
static int system_prefix(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  (void)args, (void)n;
  return tn_ret_obj(ret, ((const code *)self)->prefix);
}
static int function_names(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  TN_SCOPE(s);
  TN_VEC(names);
  const code *c = self;
  (void)args, (void)n;
  for (int64_t i = 0; i < tn_map_len(c->names); ++i)
    TN_TRY(tn_vec_push(&names, c->names->entries[i].key));
  LLVMValueRef first = c->nparts ? NULL : LLVMGetFirstFunction(c->mod);
  for (LLVMValueRef fn = first; fn; fn = LLVMGetNextFunction(fn)) {
    size_t len;
    if (LLVMIsDeclaration(fn) || LLVMGetLinkage(fn) != LLVMExternalLinkage) continue;
    TN_TRY(tn_vec_push_obj(&names, tn_str_from(LLVMGetValueName2(fn, &len))));
  }
  return tn_ret_obj(ret, tn_arr_from(&names));
}

/* Functions that tell something about the module itself. */
static tn_call about_module(const code *c, const char *name) {
  static const struct {
    const char *name;
    tn_call call;
  } table[] = {{"_get_target_string", target_string},
               {"__tvm_is_system_module", is_system},
               {"get_func_names", function_names}};
  if (strcmp(name, "__tvm_get_system_lib_prefix") == 0 && c->prefix) return system_prefix;
  for (int i = 0; i < TN_COUNT(table); ++i)
    if (strcmp(table[i].name, name) == 0) return table[i].call;
  return NULL;
}

/* The address of a function, NULL where the module has none of that name. */
static int look_up(void *ctx) {
  job *j = ctx;
  code *c = j->c;
  const char *name = j->name;
  if (strcmp(name, TN_MODULE_MAIN) == 0 && entry_of(c)) name = entry_of(c);
  if (!defines(c, name)) return 0;
  TN_TRY(start(c));
  if ((j->found = find(c, name))) return 0;
  TN_CHECK(!c->no_room, MemoryError, NULL, "llvm: %s cannot be loaded: out of memory", name);
  return TN_RAISE(CodegenError, NULL,
                  "llvm: %s cannot be loaded: it, or something it calls, has no definition in this "
                  "process",
                  name);
}

static int get_function(tn_module *m, const char *name, tn_func **out) {
  code *c = code_of(m);
  tn_call about = about_module(c, name);
  if (about) return (*out = tn_module_bind(m, about, c)) ? 0 : -1;
  job j = {.c = c, .name = name};
  TN_TRY(do_alone(&j, look_up));
  if (!j.found) return 0;
  *out = tn_module_bind(m, tn_legacy_compiled_call, j.found);
  return *out ? 0 : -1;
}

/* ---- text and files ---- */

static bool any_of(const char *format, const char *a, const char *b) {
  return strcmp(format, a) == 0 || strcmp(format, b) == 0;
}

static tn_str *text_of(code *c, const char *format) {
  if (any_of(format, "", "ll")) {
    LLVMModuleRef mod;
    TN_GETP(mod, cg_code_module(c));
    char *text = LLVMPrintModuleToString(mod);
    tn_str *s = tn_str_new(text);
    LLVMDisposeMessage(text);
    return s;
  }
  TN_CHECKP(
      any_of(format, "s", "asm"), ValueError, NULL,
      "llvm: get_source: expected \"ll\", \"s\" or \"asm\", got \"%s\": other forms are saved "
      "to files",
      format);
  LLVMMemoryBufferRef b;
  TN_GETP(b, cg_code_emit(c, LLVMAssemblyFile));
  tn_str *s = tn_str_new_n(LLVMGetBufferStart(b), LLVMGetBufferSize(b));
  LLVMDisposeMemoryBuffer(b);
  return s;
}

static int make_text(void *ctx) {
  job *j = ctx;
  j->text = text_of(j->c, j->name);
  return j->text ? 0 : -1;
}

static tn_str *get_source(tn_module *m, const char *format) {
  job j = {.c = code_of(m), .name = format};
  return do_alone(&j, make_text) ? NULL : j.text;
}

static LLVMMemoryBufferRef object_of(code *c) {
  LLVMMemoryBufferRef b = c->nparts ? cg_merge_parts(c->parts, c->nparts) : NULL;
  if (b) return b;
  tn_error_clear(); /* what cannot be merged is generated anew */
  return cg_code_emit(c, LLVMObjectFile);
}

static LLVMMemoryBufferRef content(code *c, const char *format) {
  LLVMModuleRef mod;
  if (any_of(format, "o", "obj")) return object_of(c);
  if (any_of(format, "s", "asm")) return cg_code_emit(c, LLVMAssemblyFile);
  TN_GETP(mod, cg_code_module(c));
  if (any_of(format, "bc", "bc")) return LLVMWriteBitcodeToMemoryBuffer(mod);
  TN_CHECKP(any_of(format, "ll", "ll"), ValueError, NULL,
            "llvm: expected a file that ends in .o, .s, .ll or .bc, got \"%s\"", format);
  char *text = LLVMPrintModuleToString(mod);
  LLVMMemoryBufferRef b = LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "ll");
  LLVMDisposeMessage(text);
  return b;
}

static int make_content(void *ctx) {
  job *j = ctx;
  j->bytes = content(j->c, j->name);
  return j->bytes ? 0 : -1;
}

static int save_file(tn_module *m, const char *path, const char *format) {
  const char *dot = strrchr(path, '.');
  if (!*format && dot) format = dot + 1;
  job j = {.c = code_of(m), .name = format};
  TN_TRY(do_alone(&j, make_content));
  int err = tn_file_write(path, LLVMGetBufferStart(j.bytes), LLVMGetBufferSize(j.bytes));
  LLVMDisposeMemoryBuffer(j.bytes);
  return err;
}

void cg_code_free(code *c) {
  if (c->jit) LLVMConsumeError(LLVMOrcDisposeLLJIT(c->jit));
  tn_release(c->lib.env);
  if (c->machine) LLVMDisposeTargetMachine(c->machine);
  if (c->mod) LLVMDisposeModule(c->mod);
  if (c->ctx) LLVMContextDispose(c->ctx);
  for (int i = 0; i < c->nparts; ++i) {
    tn_release(c->parts[i].names);
    tn_release(c->parts[i].object);
    tn_release(c->parts[i].code);
  }
  tn_free(c->parts);
  tn_release(c->names);
  tn_release(c->target);
  tn_release(c->prefix);
  pthread_mutex_destroy(&c->lock);
  tn_free(c);
}
static void fini(tn_module *m) { cg_code_free(code_of(m)); }

static const tn_module_ops ops = {
    .type_key = "llvm",
    .format = "o",
    .properties = TN_MODULE_RUNNABLE | TN_MODULE_DSO,
    .get_function = get_function,
    .get_source = get_source,
    .save_file = save_file,
    .fini = fini,
};

/* ---- building ---- */

/* Wide vectors where this machine has them: LLVM would use half of them. */
static int vector_width(LLVMTargetMachineRef machine, const tn_target *t) {
  char *features = LLVMGetTargetMachineFeatureString(machine);
  bool wide = strstr(features, "+avx512f") != NULL;
  LLVMDisposeMessage(features);
  return (int)target_int(t, "vector-width", wide ? 512 : 0);
}

int cg_code_open(code *c, const char *name, cg_module *out) {
  TN_GET(c->machine, cg_machine(c->target));
  c->mod = LLVMModuleCreateWithNameInContext(name, c->ctx);
  char *triple = LLVMGetTargetMachineTriple(c->machine);
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(c->machine);
  LLVMSetTarget(c->mod, triple);
  LLVMSetModuleDataLayout(c->mod, layout);
  LLVMDisposeTargetData(layout);
  LLVMDisposeMessage(triple);
  *out = (cg_module){
      .ctx = c->ctx, .mod = c->mod, .vector_width = vector_width(c->machine, c->target)};
  return 0;
}

int cg_code_generate(code *c, const tn_IRModule *ir, bool part) {
  cg_module m;
  tn_target *t = c->target;
  const char *prefix = cg_system_prefix(ir, t);
  if (prefix) TN_GET(c->prefix, tn_str_new(prefix));
  TN_TRY(cg_code_open(c, "tenon", &m));
  m.part = part;
  char *cpu = LLVMGetTargetMachineCPU(c->machine);
  char *features = LLVMGetTargetMachineFeatureString(c->machine);
  m.cpu = cpu;
  m.features = features;
  int err = cg_generate(&m, ir, t);
  LLVMDisposeMessage(cpu);
  LLVMDisposeMessage(features);
  if (err) return -1;
  return cg_optimize(&m, c->machine, cg_opt_level(t));
}

code *cg_code_new(tn_target *t) {
  code *c = tn_alloc_zero(1, sizeof *c);
  if (!c) return NULL;
  pthread_mutex_init(&c->lock, NULL);
  c->ctx = LLVMContextCreate();
  tn_retain(c->target = t);
  return c;
}

tn_module *cg_code_finish(code *c, int err) {
  tn_module *m = err ? NULL : tn_module_new(&ops, c);
  if (!m) {
    cg_code_free(c);
    return NULL;
  }
  c->self[0] = m;
  c->lib.modules = c->self;
  c->lib.nmodule = c->lib.cap = 1;
  return m;
}

int cg_code_set_parts(code *c, const cg_part *parts, int n) {
  TN_GET(c->machine, cg_machine(c->target));
  TN_GET(c->names, tn_map_new());
  TN_GET(c->parts, tn_alloc_zero((size_t)n + 1, sizeof *c->parts));
  for (int i = 0; i < n; ++i) {
    c->parts[c->nparts++] = parts[i];
    tn_retain(parts[i].names);
    tn_retain(parts[i].object);
    tn_retain(parts[i].code);
    for (int64_t k = 0; k < parts[i].names->len; ++k)
      TN_TRY(tn_map_set(c->names, parts[i].names->items[k], tn_any_int(i)));
  }
  return 0;
}

static tn_module *build(const tn_IRModule *ir, tn_target *t) {
  code *c = cg_code_new(t);
  return c ? cg_code_finish(c, cg_code_generate(c, ir, false)) : NULL;
}

/* ---- imported modules ---- */

static int generate_blob(code *c, tn_bytes_view blob, const char *prefix) {
  cg_module m;
  TN_TRY(cg_code_open(c, "devc", &m));
  m.ir = NULL;
  cg_find_types(&m);
  TN_TRY(cg_add_blob(&m, blob));
  return prefix ? cg_register_symbols(&m, prefix) : 0;
}

/* (module, is the system library, target text, prefix) -> Module with the imports' content */
static int pack_imports(TN_ARGS) {
  TN_SCOPE(s);
  tn_module *root;
  tn_target *t;
  bool system_lib;
  const char *prefix = "";
  TN_CHECK(n >= 3 && n <= 4, TypeError, NULL,
           "runtime.ModulePackImportsToLLVM: expected 3 or 4 arguments, got %d", n);
  TN_TRY(tn_arg_module(args, n, 0, &root));
  TN_TRY(tn_any_to_bool(&args[1], &system_lib));
  TN_GET(t, target_from(&args[2]));
  if (n > 3) TN_TRY(tn_any_to_cstr(&args[3], &prefix));
  tn_bytes *blob = tn_scope_own(tn_module_pack(root));
  code *c = blob ? cg_code_new(t) : NULL;
  if (!c) return -1;
  int err = generate_blob(c, tn_bytes_get(blob), system_lib ? prefix : NULL);
  return tn_ret_owned(ret, cg_code_finish(c, err));
}

/* (names of functions, target) -> Module with a table of them for the C runtime */
static int function_table(TN_ARGS) {
  TN_SCOPE(s);
  cg_module m;
  TN_NARGS("target.llvm_function_table", 2);
  TN_ARG_ITEMS(Array(String), names, 0);
  TN_ARG_OBJ(Target, t, 1);
  code *c = cg_code_new(t);
  if (!c) return -1;
  int err = cg_code_open(c, "table", &m);
  if (!err) {
    m.ir = NULL;
    cg_find_types(&m);
    err = cg_add_function_table(&m, names);
  }
  return tn_ret_owned(ret, cg_code_finish(c, err));
}

static int build_llvm(TN_ARGS) {
  TN_NARGS("target.build.llvm", 2);
  TN_ARG_OBJ(IRModule, m, 0);
  TN_ARG_OBJ(Target, t, 1);
  return tn_ret_owned(ret, build(m, t));
}

static int version(TN_ARGS) {
  unsigned major, minor, patch;
  LLVMGetVersion(&major, &minor, &patch);
  *ret = tn_any_int(major);
  return 0;
}

static int host_options(TN_ARGS) { return tn_ret_obj(ret, cg_host_options()); }

static int intrinsic_id(TN_ARGS) {
  const char *name;
  TN_NARGS("target.llvm_lookup_intrinsic_id", 1);
  TN_TRY(tn_any_to_cstr(&args[0], &name));
  *ret = tn_any_int(LLVMLookupIntrinsicID(name, strlen(name)));
  return 0;
}

static int intrinsic_name(TN_ARGS) {
  int64_t id;
  size_t len = 0;
  TN_NARGS("target.llvm_get_intrinsic_name", 1);
  TN_TRY(tn_any_to_int(&args[0], &id));
  bool good = id > 0 && id <= LLVMLookupIntrinsicID("llvm.xcore.zext", 15); /* the last one */
  const char *name = good ? LLVMIntrinsicGetName((unsigned)id, &len) : "";
  return tn_ret_owned(ret, tn_str_new_n(name, len));
}

CG_GUARDED(build_llvm)
CG_GUARDED(pack_imports)
CG_GUARDED(function_table)
CG_GUARDED(host_options)
CG_GUARDED(intrinsic_id)
CG_GUARDED(intrinsic_name)

static const tn_func_row rows[] = {
    {"target.build.llvm", build_llvm_guarded},
    {"runtime.ModulePackImportsToLLVM", pack_imports_guarded},
    {"target.llvm_function_table", function_table_guarded},
    {"target.llvm_version", version},
    {"target.llvm_host", host_options_guarded},
    {"target.llvm_lookup_intrinsic_id", intrinsic_id_guarded},
    {"target.llvm_get_intrinsic_name", intrinsic_name_guarded},
};

/** Registers the code generator; called once by the compiler library when it opens the plug-in. */
TN_API int tn_llvm_init(void);
int tn_llvm_init(void) {
  TN_TRY(cg_parts_init());
  TN_TRY(cg_load_init());
  return tn_func_register_rows(rows, TN_COUNT(rows));
}
