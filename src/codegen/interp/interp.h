/* Interpretation of lowered tensor programs: the meaning of the intermediate representation, in the
   plainest form, to compare generated code with and to run where no compiler is. Expressions are
   evaluated for one lane at a time, as the C generator writes them; loops run serially.

     module.c  modules of kind "stackvm"   stmt.c  statements
     expr.c    expressions                 value.c numbers and memory
     call.c    calls of intrinsics         math.c  functions of <math.h>
     memory.c  pointers and bits           extern.c  C functions by name
     file.c    saving and loading

   Functions return 0, or -1 with an error pending. */
#ifndef TN_CODEGEN_INTERP_INTERP_H_
#define TN_CODEGEN_INTERP_INTERP_H_

#include "base/pmap.h"
#include "ir/expr.h"
#include "ir/module.h"
#include "object/functions.h"
#include "runtime/library/legacy_abi.h"
#include "runtime/library/library.h"
#include "runtime/module/module.h"
#include "tir/tir.h"

/** One lane. Integers are extended to 64 bits as their type says, floats hold a value of their
 * type, strings point to their characters. */
typedef union {
  int64_t i;
  double f;
  void *p;
} in_value;

typedef struct {
  tn_IRModule *ir;    /* retained */
  tn_library lib;     /* the context in which packed functions are looked up */
  tn_module *self[1]; /* lib.modules */
} in_module;

/** One call of a function. */
typedef struct {
  in_module *m;
  const char *name;
  tn_pmap vars;  /* tn_Var -> in_value *, one for each lane */
  tn_pmap stack; /* tvm_stack_alloca call -> its memory */
  in_value result;
  bool returned;
} in_frame;

enum { IN_FEW = 16 };
/** All lanes of an expression. */
typedef struct {
  in_value few[IN_FEW];
  in_value *v; /* few, or memory of its own */
} in_lanes;

/* value.c */
int64_t in_wrap(tn_dtype t, uint64_t v);
/** The nearest value of a floating-point type. */
double in_round(tn_dtype t, double v);
/** Bytes of a scalar in memory; 0 with CodegenError when there is no such scalar. */
size_t in_size(const in_frame *f, tn_dtype t);
int in_read(const in_frame *f, tn_dtype t, const void *at, in_value *out);
int in_write(const in_frame *f, tn_dtype t, void *at, in_value v);
in_value in_cast(tn_dtype from, tn_dtype to, in_value v);

/* expr.c */
int in_eval(in_frame *f, const void *e, int lane, in_value *out);
/** @param out to be given back with in_lanes_fini, after a failure too */
int in_eval_lanes(in_frame *f, const tn_expr *e, in_lanes *out);
void in_lanes_fini(in_lanes *l);
/** Address of an element; not checked. */
int in_element(in_frame *f, const tn_Buffer *b, const tn_arr *indices, int lane, char **out);
int in_load(in_frame *f, const tn_Buffer *b, const tn_arr *indices, int lane, in_value *out);

/* call.c, math.c, extern.c, memory.c */
int in_call(in_frame *f, const tn_Call *call, int lane, in_value *out);
/** *found tells whether the intrinsic is a function of <math.h>; its arguments are those of the
 * call from the `first` on. */
int in_math(in_frame *f, tir_op_id op, const tn_Call *call, int64_t first, int lane, in_value *out,
            bool *found);
bool in_is_math(tir_op_id op);
/** call_extern(name, arguments...) */
int in_call_extern(in_frame *f, const tn_Call *call, int lane, in_value *out);
/** Pointers, copies, parts of vectors, counts of bits; *found is false when it is none of them. */
int in_memory_call(in_frame *f, tir_op_id op, const tn_Call *call, int lane, in_value *out,
                   bool *found);

/* stmt.c */
int in_exec(in_frame *f, const void *s);

/* module.c */
/** Runs a function. @param result 0 when it returns nothing */
int in_run(in_module *m, const tn_PrimFunc *func, const char *name, in_value *args, int64_t n,
           in_value *result);
/** Runs a function of the packed form. */
int in_run_packed(in_module *m, const tn_PrimFunc *func, const char *name, TVMValue *values,
                  int *codes, int n, TVMValue *ret, int *ret_code);
/** Function of a symbol that others see, or NULL. */
const tn_PrimFunc *in_find(const in_module *m, const char *symbol);

/** A module of the functions of `ir`. Owned, or NULL (CodegenError, MemoryError). */
tn_module *in_module_new(tn_IRModule *ir);

/* file.c */
/** The programs as JSON. */
int in_save_file(tn_module *m, const char *path, const char *format);
tn_bytes *in_save_binary(tn_module *m);
/** The loaders of what they write; part of interp_init. */
int in_file_init(void);

/** "target.build.stackvm"; part of codegen_init. */
int interp_init(void);

#endif /* TN_CODEGEN_INTERP_INTERP_H_ */
