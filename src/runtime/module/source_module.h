/* Modules that are not code yet: C source and static libraries. They can be imported by others and
   become part of an exported library; their functions cannot be called. */
#ifndef TN_RUNTIME_MODULE_SOURCE_MODULE_H_
#define TN_RUNTIME_MODULE_SOURCE_MODULE_H_

#include "tenon/runtime.h"

/** A module of C source (n bytes) of which no function is known by name. Owned, or NULL
 * (MemoryError). */
TN_API TN_OWNED tn_module *tn_c_source_new(const char *code, size_t n);

/** Registers "runtime.CSourceModuleCreate" and "runtime.ModuleLoadStaticLibrary"; part of
 * tn_runtime_init. */
int tn_source_module_init(void);

#endif /* TN_RUNTIME_MODULE_SOURCE_MODULE_H_ */
