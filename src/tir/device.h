/* What the passes over device code share: thread axes, memories and whose they are. */
#ifndef TN_TIR_DEVICE_H_
#define TN_TIR_DEVICE_H_

#include "tir/tir.h"

/** Memories from the one all threads share to the one of a single thread. */
typedef enum {
  TIR_MEMORY_GLOBAL,
  TIR_MEMORY_SHARED, /**< of a block of threads; "shared.dyn" too */
  TIR_MEMORY_WARP,
  TIR_MEMORY_LOCAL, /**< and all others: registers, fragments */
} tir_memory;

/** Kind of a memory scope by name. */
tir_memory tir_memory_of(const char *scope);
/** The memory that a pointer variable points to, "global" when it names none. Borrowed. */
const char *tir_var_scope(const tn_Var *v);
bool tir_is_dynamic_shared(const char *scope);
/** What the program's function tvm.info.mem.SCOPE says of a memory; *out stays as it is without
 * one.
 * @param at place for errors. TypeError unless it returns MemoryInfo or None. */
int tir_memory_info(const char *scope, const tn_Span *at, tn_MemoryInfo **out);

/** The thread axis whose variable an attribute "thread_extent" binds, or NULL. */
const tn_IterVar *tir_launched_axis(const tn_AttrStmt *s);
static inline bool tir_is_block_axis(const char *tag) { return tag[0] == 'b'; }
static inline bool tir_is_thread_axis(const char *tag) { return tag[0] == 't'; }
static inline bool tir_is_virtual_axis(const char *tag) { return tag[0] == 'v'; }
/** 0, 1 or 2 for .x, .y and .z; -1 for other names. */
int tir_axis_dim(const char *tag);

/** Does memory of that kind keep one copy for all values of the thread axis? A copy then has to
 * hold what all of them access. "warp" memory belongs to the threads along threadIdx.x. */
bool tir_is_shared_along(tir_memory memory, const char *tag);
/** The same of a memory scope while virtual threads are loops: they are threads of a block. */
bool tir_is_shared_by(const char *scope, const char *tag);

/** Device type of a target, a processor for NULL. In all of these, what is not a target is NULL. */
int tir_target_device_type(const tn_obj *target);
/** Its kind's name, "llvm"; "" for NULL. Borrowed. */
const char *tir_target_kind_name(const tn_obj *target);
/** The target of the host, NULL when there is none. Borrowed. */
tn_obj *tir_target_host(const tn_obj *target);
/** The target with another host. NULL with an error. */
tn_obj *tir_target_with_host(tn_obj *target, tn_obj *host);
/** The target without a host. NULL with an error. */
tn_obj *tir_target_without_host(tn_obj *target);
/** The text of a target: equal for equal ones. */
tn_str *tir_target_text(const tn_obj *target);
/** An integer option of a target. */
int64_t tir_target_option(const tn_obj *target, const char *name, int64_t absent);
/** Has the processor of a target what Target.features tells: "has_sve"? */
bool tir_target_feature(const tn_obj *target, const char *name);
/** Does code of such a device run in its own memory, launched as kernels? */
bool tir_is_gpu(int device_type);

/** Buffer over the n elements of a fresh variable of a scope. */
tn_Buffer *tir_scratch(const char *name, tn_dtype t, int64_t n, const char *scope);
/** Body with the storage of a buffer allocated and declared around it. NULL passes through. */
tn_stmt *tir_with_allocation(tn_Buffer *b, tn_stmt *body);
/** T.tvm_storage_sync(scope) as a statement. */
tn_stmt *tir_sync(const char *scope);

#endif /* TN_TIR_DEVICE_H_ */
