/* Parts of reading an archive: headers of the C interface, which tell more than metadata.json does
   before version 7 and in archives of other compilers. */
#ifndef TN_EXPORT_ARCHIVE_IMPL_H_
#define TN_EXPORT_ARCHIVE_IMPL_H_

#include "export/archive.h"

/** The header of a model. @return false: there is none */
bool mlf_header_of(const mlf_archive *a, const mlf_stored *m, tn_bytes_view *out);
/** Does it have the text? */
bool mlf_header_has(tn_bytes_view header, const char *text);
/** Appends the members (String) of struct tvmgen_NAME_WHICH, which are pointers.
 *  @return 1, 0: there is no such struct, -1: MemoryError */
int mlf_header_names(tn_bytes_view header, const mlf_stored *m, const char *which, tn_vec *out);
/** The number of the macro TVMGEN_NAME_PART_WHAT. @return 1, 0: there is none, -1: MemoryError */
int mlf_header_size(tn_bytes_view header, const mlf_stored *m, const char *name, const char *what,
                    int64_t *out);

#endif /* TN_EXPORT_ARCHIVE_IMPL_H_ */
