/* Modules of kernels in files, for the files of this folder. */
#ifndef TN_RUNTIME_MODULE_DEVICE_MODULE_IMPL_H_
#define TN_RUNTIME_MODULE_DEVICE_MODULE_IMPL_H_

#include "runtime/module/device_module.h"

const char *tn_launch_tag_name(tn_launch_tag t);
/** -1 with ValueError for an unknown name. */
int tn_launch_tag_find(const char *name);
/** A kernel with room for its types and tags; NULL: MemoryError. */
tn_kernel *tn_device_code_kernel(tn_device_code *c, const char *name, int32_t ntype, int32_t ntag);

/** The module's content: format, kernels, code. Owned, or NULL. */
tn_bytes *tn_device_code_save(tn_module *m);
/** Its code as a file, and beside it what the kernels take. @param format "cu" for the source of
 * code that was compiled */
int tn_device_code_save_file(tn_module *m, const char *path, const char *format);

/** Loaders of such files; part of tn_device_module_init. */
int tn_device_file_init(void);

#endif /* TN_RUNTIME_MODULE_DEVICE_MODULE_IMPL_H_ */
