/* What the files of standalone_c.h share. */
#ifndef TN_EXPORT_STANDALONE_C_IMPL_H_
#define TN_EXPORT_STANDALONE_C_IMPL_H_

#include "export/standalone_c.h"

const tn_TensorType *c_file_type(const tn_arr *types, int64_t i);
/* Elements of a tensor. */
int64_t c_file_count(const tn_TensorType *t);
/* Name i as an identifier, in a buffer of the caller's that is empty. */
const char *c_file_name(const tn_arr *names, int64_t i, tn_buf *out);
int c_file_put(const char *folder, const char *name, const tn_buf *text);

#endif /* TN_EXPORT_STANDALONE_C_IMPL_H_ */
