/* Targets: what code is generated for. A target is a kind ("llvm", "c", "cuda", ...) with options;
   it is written as "llvm -mcpu=skylake -mattr=+avx2,+fma", as a map of the same names, or as the
   tag of a known device ("nvidia/geforce-rtx-3090").

   Options and their types belong to the kind (target_kind.c); the option `keys` is what generic
   functions dispatch on. */
#ifndef TN_TARGET_TARGET_H_
#define TN_TARGET_TARGET_H_

#include "ir/ir.h"
#include "target/target.def"

enum { TN_TI_BEGIN_TARGET = TN_TI_BEGIN_DRIVER };
TN_NODES_FORWARD(TN_TARGET_NODES)
TN_NODES_INDEX(TN_TARGET_NODES, TN_TI_BEGIN_TARGET, target)
TN_NODES_DECLARE(TN_TARGET_NODES)

typedef tn_Target tn_target;

/** A target from text. NULL with ValueError: an unknown kind or option, a value of the wrong type.
 */
TN_API tn_target *target_parse(const char *text);
/** A target from a map of options ("kind", "host" and "tag" among them). ValueError as above. */
TN_API tn_target *target_from_map(const tn_map *config);
/** A target from a value: text, map or target. ValueError for anything else. */
TN_API tn_target *target_from(const tn_any *value);
/** The text of a target, from which target_parse makes an equal one (without the host). */
TN_API tn_str *target_text(const tn_target *t);
/** The options as a map, the kind, tag and host among them. */
TN_API tn_map *target_export(const tn_target *t);
/** The same target with another host (NULL: none). */
TN_API tn_target *target_with_host(const tn_target *t, tn_target *host);
/** The same target for code that is linked into a program and found there (option system-lib), and
 * its host likewise; a kind without the option stays. Scope-owned. */
TN_API tn_target *target_with_system_lib(const tn_target *t);

/** An option; `absent` when it is not set. */
TN_API const char *target_str(const tn_target *t, const char *option, const char *absent);
TN_API int64_t target_int(const tn_target *t, const char *option, int64_t absent);
/** An option that is a list, NULL when it is not set. */
TN_API const tn_arr *target_list(const tn_target *t, const char *option);
/** Device that the target's code runs on. */
TN_API int target_device_type(const tn_target *t);
/** What is known of a kind's code, a column of its row: nothing asks for kinds by name. */
enum {
  TARGET_MACHINE_CODE = 1, /**< that of processors, made here (by LLVM): it has threads, vectors */
  TARGET_C_SOURCE = 2,     /**< C, which another compiler reads */
  TARGET_FOR_TESTS = 4     /**< of a kind that only tests look at */
};
/** Is one of these true of the target's code? */
TN_API bool target_makes(const tn_target *t, uint32_t what);

/** The targets of this thread's `with` statements. */
TN_API int target_enter(tn_target *t);
TN_API int target_exit(tn_target *t);
/** The innermost one, or NULL without an error. */
TN_API tn_target *target_current(void);
/** A feature of an Arm processor as Target.features reports it ("has_sve"). False, with *known
 * false, where nothing is known of the name. */
TN_API bool target_feature(const tn_target *t, const char *name, bool *known);

/** Where a value is. @param device_type -1: that of the target, or any @param id -1: any
 *  @param target may be NULL @param memory_scope may be empty
 *  ValueError when the target is for another kind of device. */
TN_API tn_VirtualDevice *target_virtual_device(int device_type, int64_t id, tn_Target *target,
                                               const char *memory_scope);

/** What a build for some targets knows of its devices. @param fallback device type of computations
 * that say nothing, -1: that of the only target, or the host's. ValueError: no target for it. */
TN_API tn_CompilationConfig *target_compilation_config(const tn_arr *targets, int64_t fallback);

/** Registers the types and functions of the layer. */
TN_API int target_init(void);

#endif /* TN_TARGET_TARGET_H_ */
