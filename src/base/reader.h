/* Reading a binary format: little-endian numbers and counted bytes from memory that nobody vouches
   for. Every size is compared with what is left before anything is done with it, so a count of
   2^60 is an error and not an allocation. Errors are ValueErrors that name the offset.

     tn_reader r = {data, size, 0};
     uint64_t n;
     TN_TRY(tn_read_count(&r, sizeof(int64_t), &n));      n items of 8 bytes are really there */
#ifndef TN_BASE_READER_H_
#define TN_BASE_READER_H_

#include "tenon/runtime.h"

static inline size_t tn_read_left(const tn_reader *r) { return r->size - r->pos; }

/** The next n bytes, borrowed from the reader's memory. */
TN_API int tn_read_bytes(tn_reader *r, uint64_t n, const uint8_t **out);
TN_API int tn_read_u8(tn_reader *r, uint8_t *out);
TN_API int tn_read_u16(tn_reader *r, uint16_t *out);
TN_API int tn_read_u32(tn_reader *r, uint32_t *out);
TN_API int tn_read_u64(tn_reader *r, uint64_t *out);
int tn_read_i64(tn_reader *r, int64_t *out);
/** A uint64 number of items that take at least `item_size` bytes each in what follows. */
TN_API int tn_read_count(tn_reader *r, size_t item_size, uint64_t *out);
/** uint64 length and that many bytes; the view is borrowed and not NUL-terminated. */
TN_API int tn_read_text(tn_reader *r, tn_bytes_view *out);

#endif /* TN_BASE_READER_H_ */
