/* Executables of the virtual machine: functions in bytecode, constants, and the names of compiled
   functions ("primitives") that the library beside them holds.

   Code from a file is checked as a whole before anything runs (verify.c): instructions are
   complete, jumps lead forward to the begin of an instruction, registers, functions, constants and
   primitives exist, calls have as many arguments as the function has parameters. What depends on
   values (is this register a tensor?) is checked when it happens.

   An executable never changes once it is in a module, except that late-bound constants get their
   values; machines on many threads share it. */
#ifndef TN_RUNTIME_VM_EXECUTABLE_H_
#define TN_RUNTIME_VM_EXECUTABLE_H_

#include "base/arena.h"
#include "object/functions.h"
#include "runtime/vm/bytecode.def"
#include "tenon/runtime.h"

#define TN_VM_AS_OPCODE(NAME, text, operands, doc) TN_VM_##NAME,
typedef enum { TN_VM_BYTECODE(TN_VM_AS_OPCODE) TN_VM_NOPCODE } tn_vm_opcode;

enum {
  TN_VM_MAX_REGISTERS = 1 << 20, /* of a function */
  TN_VM_MAX_NDIM = 64,
};
#define TN_VM_MAGIC   UINT64_C(0xD225DE2F4214151D)
#define TN_VM_VERSION "tenon-3"

/* What a parameter or result is: a tensor, or of these a sequence, which may be missing. */
enum {
  TN_VM_SEQUENCE = 1, /* of tensors, an ADT */
  TN_VM_OPTIONAL = 2, /* or None */
  TN_VM_ANY_RANK = 4, /* ndim and shape say nothing */
  TN_VM_FORMS = 7,
  TN_VM_UNREAD = 8 /* of a parameter that nothing reads: any shape will do */
};
typedef struct {
  tn_dtype dtype; /* of elements of the tensors; no bits: it is something else */
  int32_t ndim;
  uint32_t form;
  const int64_t *shape; /* -1: known at run time */
} tn_vm_type;

typedef struct {
  const char *name;
  int32_t nparam, nreg; /* parameters are the first registers */
  const char **params;
  int64_t *param_devices;
  const tn_vm_type *types; /* of the parameters, then of the results; NULL: not known */
  int32_t nresult;         /* a tuple counts its fields */
  int64_t *code;           /* instructions, one after another; jumps count words */
  int64_t ncode;           /* words */
  int64_t ninst;
} tn_vm_function;

/* Once the executable is in a module, read with tn_vm_const_now. */
typedef struct {
  tn_tensor *value; /* owned; NULL: late-bound, not there yet */
  const char *name; /* of a late-bound one, else NULL */
  int64_t device;
} tn_vm_constant;

typedef struct {
  tn_device dev;
  const char *scope;
} tn_vm_device;

typedef struct {
  tn_arena arena; /* names and code */
  tn_vm_device *devices;
  int64_t ndevice, device_cap, host; /* host: index of the device of shapes and conditions */
  tn_vm_function *funcs;
  int64_t nfunc, func_cap;
  tn_map *func_index; /* name to number */
  tn_vm_constant *consts;
  int64_t nconst, const_cap;
  const char **prims;
  int64_t nprim, prim_cap;
  tn_map *prim_attrs; /* number to a map of its attributes */
} tn_vm_exe;

/** One without content. Owned (tn_vm_exe_free), or NULL (MemoryError). */
TN_API TN_OWNED tn_vm_exe *tn_vm_exe_new(void);
TN_API void tn_vm_exe_free(tn_vm_exe *x);

/* Adding. All return the index, or -1; texts are copied. */
TN_API int64_t tn_vm_add_device(tn_vm_exe *x, tn_device dev, const char *scope);
TN_API int64_t tn_vm_add_const(tn_vm_exe *x, tn_tensor *value, const char *late_name,
                               int64_t device);
TN_API int64_t tn_vm_add_primitive(tn_vm_exe *x, const char *name);
/** A function without code; ValueError when there is one of that name. */
TN_API int64_t tn_vm_add_function(tn_vm_exe *x, const char *name, int32_t nparam,
                                  const char *const *params);
/** Its code: `words` with jumps that count instructions; they are checked for being complete. */
TN_API int tn_vm_set_code(tn_vm_exe *x, int64_t func, int32_t nreg, const int64_t *words,
                          int64_t n);
/** Types of a function's parameters, then of its results, kept: memory of the executable's arena.
 */
TN_API int tn_vm_set_types(tn_vm_exe *x, int64_t func, const tn_vm_type *types, int32_t n);
/** Checks everything; ValueError that names function and instruction. */
TN_API int tn_vm_verify(const tn_vm_exe *x);

/** Number of a function, -1 when there is none. */
TN_API int64_t tn_vm_find(const tn_vm_exe *x, const char *name);

/** Text of an instruction's operands, as in the table. */
const char *tn_vm_operands(int64_t opcode);
const char *tn_vm_opcode_text(int64_t opcode);
/** Words of the instruction at `w`, of which `left` are there; -1 with ValueError when it is cut
 * off or unknown. */
TN_API int64_t tn_vm_length(const int64_t *w, int64_t left);
/** Calls fn for each operand: its letter of the table (small letters for the elements of lists) and
 * its word. Stops when fn returns non-zero, and returns that. */
TN_API int tn_vm_each_operand(int64_t *w, int (*fn)(void *ctx, char kind, int64_t *word),
                              void *ctx);

/* ---- files ---- */

TN_API TN_OWNED tn_bytes *tn_vm_save(const tn_vm_exe *x);
/** Owned, or NULL: ValueError "Invalid VM file format in the ... section". */
TN_API TN_OWNED tn_vm_exe *tn_vm_load(const void *data, size_t n);

/** The section of types (types.c). */
void tn_vm_put_types(const tn_vm_exe *x, tn_buf *out);
int tn_vm_read_types(tn_vm_exe *x, tn_reader *r);

/* ---- types ---- */

/** Has an argument (a tensor, ADT, closure or None) the type of its parameter? An error that names
 * both where it has not: TypeError where it is not a tensor, DTypeError or ShapeError for others.
 * */
int tn_vm_check_argument(const tn_vm_function *f, int32_t i, const tn_any *a);
/** "float32 of shape (?, 4)", "None or a sequence of int64 of any shape" */
TN_API void tn_vm_put_type(tn_buf *out, const tn_vm_type *t);
/** [shape, type of elements, form] of each parameter (or result): form 0 is a tensor, else
 * TN_VM_SEQUENCE ... of such; the shape is None for tensors of any rank. None for anything else. Of
 * a function whose types are known. Scope-owned. */
tn_arr *tn_vm_list_types(const tn_vm_function *f, bool results);

/* ---- late-bound constants ---- */

/** Constant i as of now, while others may load values. @param name of a late-bound one, else NULL
 *  @return owned; NULL where it is late-bound and has no value yet */
TN_OWNED tn_tensor *tn_vm_const_now(const tn_vm_exe *x, int64_t i, const char **name);
/** Map from the names of constants of more than byte_limit bytes to them. Owned. */
TN_OWNED tn_map *tn_vm_large_consts(const tn_vm_exe *x, int64_t byte_limit);
/** Writes them to a file; they are not part of the executable any more. */
int tn_vm_move_consts(tn_vm_exe *x, const char *path, int64_t byte_limit);
/** Gives late-bound constants their values; ValueError naming one that is missing. */
int tn_vm_bind_consts(tn_vm_exe *x, const tn_map *values);

/* ---- text ---- */

TN_API TN_OWNED tn_str *tn_vm_text_bytecode(const tn_vm_exe *x);
TN_API TN_OWNED tn_str *tn_vm_text_constants(const tn_vm_exe *x);
TN_API TN_OWNED tn_str *tn_vm_text_devices(const tn_vm_exe *x);
TN_API TN_OWNED tn_str *tn_vm_text_primitives(const tn_vm_exe *x);
TN_API TN_OWNED tn_str *tn_vm_text_stats(const tn_vm_exe *x);

/* ---- modules ---- */

/** A module of type "VMExecutable", which imports the library of the primitives.
 *  @param x given up to it, also on failure @param lib may be NULL
 *  @return owned, or NULL */
TN_API TN_OWNED tn_module *tn_vm_module_new(tn_vm_exe *x, tn_module *lib);
/** The executable of a module of that kind, or NULL. */
TN_API tn_vm_exe *tn_vm_exe_of(const tn_module *m);

/** Registers types and functions; parts of tn_runtime_init. */
int tn_vm_exe_init(void);
int tn_vm_init(void);

#endif /* TN_RUNTIME_VM_EXECUTABLE_H_ */
