/* A module tree as bytes: what a compiled library carries at its symbol `__tvm_dev_mblob`, after
   the uint64 number of bytes. Little-endian, every list and text preceded by its uint64 count:

     uint64 count of entries
     entry: text type key, then
            "_lib"          nothing: stands for the library that carries the blob
            "_import_tree"  uint64 list of row starts, uint64 list of children (last entry)
            other           the module's own content, as its save_binary wrote it

   The entries but the last are modules 0, 1, ...; module i imports children[rows[i] .. rows[i+1]).
   Module 0 is the root. Without an import tree (older files) the library is the root and imports
   all others. */
#ifndef TN_RUNTIME_MODULE_MODULE_BLOB_H_
#define TN_RUNTIME_MODULE_MODULE_BLOB_H_

#include "base/reader.h"
#include "runtime/module/module.h"

/** Makes the modules of a blob; nothing in it is trusted.
 *  @param data without the leading uint64 size
 *  @param lib the library the blob is in, borrowed
 *  @param lasting the data stays where it is as long as lib lives
 *  @param root owned
 *  @return 0, or -1: ValueError for a malformed blob, TVMError for a kind without a loader, and the
 *  errors of the loaders */
TN_API int tn_module_unpack(const uint8_t *data, size_t n, tn_module *lib, bool lasting,
                            tn_module **root);

/** The symbol's content for a module tree, the leading uint64 size included. Modules that can be
 * part of a shared library (TN_MODULE_DSO) become the one "_lib" and are not saved.
 *  @return owned, or NULL: TVMError for a kind that cannot be saved, ValueError when the library
 *  would import itself through another module */
TN_API TN_OWNED tn_bytes *tn_module_pack(tn_module *root);

/** The same as C source that defines the symbol.
 *  @param system_lib also register it in the system library when the program starts
 *  @param prefix of the symbol's name; "" for none */
TN_API TN_OWNED tn_str *tn_module_pack_c(tn_module *root, bool system_lib, const char *prefix);

/** Argument 0 of a "runtime.module.loadbinary_*" function: the place in the blob that it reads
 * from, handed over as a pointer. TypeError when it is none. */
TN_API int tn_arg_reader(const tn_any *args, tn_reader **out);

/** "runtime.ModulePackImportsTo*"; part of tn_runtime_init. */
int tn_module_blob_init(void);

#endif /* TN_RUNTIME_MODULE_MODULE_BLOB_H_ */
