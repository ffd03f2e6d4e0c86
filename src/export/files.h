/* What archives of all versions have in common: their files, their date, indented JSON. */
#ifndef TN_EXPORT_FILES_H_
#define TN_EXPORT_FILES_H_

#include "base/buf.h"
#include "export/tar.h"
#include "object/containers.h"

/** Files of an archive; names and data are kept by the scope. To be ended with mlf_files_fini. */
typedef struct {
  tar_file *files;
  int64_t n, cap;
} mlf_files;

int mlf_add_file(mlf_files *l, const char *name, tn_bytes_view data);
int mlf_add_text(mlf_files *l, const char *name, const tn_str *text);
/** The same of what is in a buffer, which is copied. */
int mlf_add_buf(mlf_files *l, const char *name, const tn_buf *text);
void mlf_files_fini(mlf_files *l);

/** The date of an archive: that of SOURCE_DATE_EPOCH, or now.
 *  @param fixed was it given from outside? @return 0, or -1 (ValueError) */
int mlf_date(int64_t *seconds, bool *fixed);
/** Appends a date as a JSON string: local time unless `utc`. @return 0, or -1 (ValueError) */
int mlf_put_date(int64_t seconds, bool utc, tn_buf *out);

/** Appends JSON, which is well-formed, with a line for each value, two blanks for each level. */
void mlf_put_indented(const char *json, size_t n, tn_buf *out);

/** Is that a name for files? ValueError. */
int mlf_check_name(const tn_str *name);

#endif /* TN_EXPORT_FILES_H_ */
