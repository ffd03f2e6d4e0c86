/* The records that ship with the library: src/tune/shipped/, which is part of its code,
   so that they are found wherever it lies. */
#ifndef TN_TUNE_SHIPPED_H_
#define TN_TUNE_SHIPPED_H_

#include "object/containers.h"

typedef struct {
  const char *name;
  tn_bytes_view text;
} shipped_file;

/* What cmake/embed.cmake makes. */
extern const shipped_file shipped_files[];
extern const int shipped_nfile;

/* Of all files; borrowed, for good. NULL: MemoryError. */
const char *records_shipped_text(void);
/* A source of them (records.h); borrowed, for good. NULL with an error. */
tn_func *records_shipped(void);

#endif /* TN_TUNE_SHIPPED_H_ */
