/* Arrays of numpy in files: .npy holds one, .npz is a zip archive of such.

   Nothing that is read is trusted: every length is compared with what is there. */
#ifndef TN_CLI_NPZ_H_
#define TN_CLI_NPZ_H_

#include "base/buf.h"
#include "tenon/runtime.h"

/** Reads an archive as np.savez and np.savez_compressed write it.
 *  @param path names it in messages
 *  @return map from name (without ".npy") to tensor on the CPU, scope-owned; or NULL: ValueError
 *  naming the file and the member, also for encrypted members, and for compressed ones
 *  in a build without zlib */
tn_map *cli_npz_parse(const char *path, const uint8_t *data, size_t n);
/** Writes tensors of the CPU, compact and row-major, as np.load reads them. */
int cli_npz_write(const char *path, const tn_map *arrays);

/* ---- of one array ---- */

/** Do the bytes begin as a .npy file does? */
bool cli_is_npy(const void *data, size_t n);

/** A .npy file's content as a tensor, owned. @param what names it in messages */
TN_OWNED tn_tensor *cli_npy_parse(const char *what, const uint8_t *data, size_t n);
/** Appends the .npy file of a tensor. */
int cli_npy_put(tn_buf *out, const DLTensor *t);

#endif /* TN_CLI_NPZ_H_ */
