/* Primitives in pieces of rows: parts of the arguments go to primitives for 64 rows, 32 and so on;
   the last rows are computed in a smaller one, or in one that is padded, which costs less.

   What the attributes of a primitive say ("rows": "64,32,16", "row_costs": "67,35,19", "row_args":
   "rsr") comes from a file: tensors are looked at before they are cut. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "runtime/module.h"
#include "runtime/tensor.h"
#include "runtime/vm/machine.h"

/* ---- finding them ---- */

static const char *attr(const tn_map *attrs, const char *key) {
  tn_any found;
  const char *text;
  if (!tn_map_get(attrs, tn_any_cstr(key), &found) || tn_any_to_cstr(&found, &text)) return NULL;
  return text;
}

static int add_piece(tn_vm_machine *m, tn_vm_primitive *p, const char *name, int64_t rows,
                     int64_t cost) {
  tn_vm_piece *piece = &p->pieces[p->npiece];
  char full[512];
  tn_module *owner;
  void *code;
  int len = snprintf(full, sizeof full, "%s_rows%lld", name, (long long)rows);
  if (len < 0 || (size_t)len >= sizeof full) return 0;
  TN_TRY(tn_module_get_function(m->module, full, true, &piece->func));
  if (!piece->func) return 0;
  piece->rows = rows;
  piece->cost = cost;
  if (tn_func_is_bound(piece->func, tn_legacy_compiled_call, &owner, &code)) {
    memcpy(&piece->code, &code, sizeof code);
    ++p->npiece;
    return 0;
  }
  tn_release(piece->func);
  piece->func = NULL;
  return 0;
}

enum { MOST = 1 << 20 }; /* rows, cost */

/* The next number of a list, between 1 and MOST; 0: there is none. */
static int64_t next_number(const char **list) {
  char *end = NULL;
  int64_t n = *list ? strtoll(*list, &end, 10) : 0;
  if (!end || end == *list || n <= 0 || n > MOST) return 0;
  *list = *end == ',' ? end + 1 : end;
  return n;
}

int tn_vm_find_pieces(tn_vm_machine *m, int64_t primitive) {
  tn_vm_primitive *p = &m->prims[primitive];
  tn_any found;
  if (!p->code || !tn_map_get(m->x->prim_attrs, tn_any_int(primitive), &found)) return 0;
  const char *sizes = attr((const tn_map *)found.v.obj, "rows"),
             *costs = attr((const tn_map *)found.v.obj, "row_costs");
  p->mask = attr((const tn_map *)found.v.obj, "row_args");
  int64_t before = MOST + 1;
  while (p->mask && p->npiece < TN_VM_MAX_PIECES) {
    int64_t rows = next_number(&sizes), cost = next_number(&costs);
    if (rows == 0 || rows >= before) break;
    TN_TRY(add_piece(m, p, m->x->prims[primitive], rows, cost ? cost : rows));
    before = rows;
  }
  return 0;
}

/* ---- calling them ---- */

/* What is known of a call: arguments with rows lie on the host without gaps and have as many rows.
 */
static bool fits(const tn_vm_machine *m, const tn_vm_primitive *p, int64_t n, int64_t *rows) {
  *rows = -1;
  if (strlen(p->mask) != (size_t)n) return false;
  for (int64_t i = 0; i < n; ++i) {
    const DLTensor *t = m->values[i].v_handle;
    if (p->mask[i] != 'r') continue;
    if (t->ndim < 1 || t->ndim > TN_VM_MAX_NDIM || !tn_device_is_host(t->device) ||
        !tn_tensor_is_contiguous(t) || tn_dtype_item_bytes(t->dtype) <= 0)
      return false;
    if (*rows >= 0 && t->shape[0] != *rows) return false;
    *rows = t->shape[0];
  }
  return *rows > 0;
}

static size_t row_bytes(const DLTensor *t) { return (size_t)(tn_tensor_nbytes(t) / t->shape[0]); }

/* Arguments that stand for `rows` rows; their addresses are set later. */
static void set_parts(tn_vm_machine *m, const char *mask, int64_t n, int64_t rows) {
  for (int64_t i = 0; i < n; ++i) {
    const DLTensor *t = m->values[i].v_handle;
    int64_t *shape = m->part_shapes + i * TN_VM_MAX_NDIM;
    m->part[i] = *t;
    if (mask[i] != 'r') continue;
    memcpy(shape, t->shape, (size_t)t->ndim * sizeof *shape);
    shape[0] = rows;
    m->part[i].shape = shape;
    m->part[i].strides = NULL;
    m->part[i].byte_offset = 0;
  }
}

static int call_piece(tn_vm_machine *m, const tn_vm_piece *piece, int64_t n) {
  TVMValue values[TN_LEGACY_INLINE_ARGS * 4];
  if (n > TN_COUNT(values)) return TN_RAISE(InternalError, NULL, "too many arguments of a piece");
  for (int64_t i = 0; i < n; ++i) values[i].v_handle = &m->part[i];
  return tn_legacy_call_values(piece->code, values, m->codes, (int)n);
}

/* The rows from `done` to `end` with one piece. */
static int call_whole(tn_vm_machine *m, const tn_vm_primitive *p, const tn_vm_piece *piece,
                      int64_t n, int64_t end, int64_t *done) {
  set_parts(m, p->mask, n, piece->rows);
  for (; end - *done >= piece->rows; *done += piece->rows) {
    for (int64_t i = 0; i < n; ++i) {
      const DLTensor *t = m->values[i].v_handle;
      if (p->mask[i] == 'r') m->part[i].data = tn_tensor_first(t) + row_bytes(t) * (size_t)*done;
    }
    TN_TRY(call_piece(m, piece, n));
  }
  return 0;
}

static size_t piece_bytes(const DLTensor *t, const tn_vm_piece *piece) {
  return (row_bytes(t) * (size_t)piece->rows + 63) / 64 * 64;
}

/* The last rows of an argument, then its last row again: whatever is computed of it can be. */
static void copy_rows(const DLTensor *t, const tn_vm_piece *piece, int64_t done, int64_t left,
                      char *to) {
  size_t row = row_bytes(t);
  const char *from = tn_tensor_first(t) + row * (size_t)done;
  memcpy(to, from, row * (size_t)left);
  for (int64_t i = left; i < piece->rows; ++i)
    memcpy(to + row * (size_t)i, from + row * (size_t)(left - 1), row);
}

/* Rows that are left, in memory for a whole piece. */
static int call_padded(tn_vm_machine *m, const tn_vm_primitive *p, const tn_vm_piece *piece,
                       int64_t n, int64_t nout, int64_t done, int64_t left) {
  size_t total = 0, at = 0;
  for (int64_t i = 0; i < n; ++i)
    if (p->mask[i] == 'r') total += piece_bytes(m->values[i].v_handle, piece);
  tn_VMStorage *s;
  TN_GET(s, tn_vm_pool_alloc(m->host_pool, (int64_t)total));
  set_parts(m, p->mask, n, piece->rows);
  for (int64_t i = 0; i < n; ++i) {
    const DLTensor *t = m->values[i].v_handle;
    if (p->mask[i] != 'r') continue;
    m->part[i].data = (char *)s->data + at;
    if (i < n - nout) copy_rows(t, piece, done, left, m->part[i].data);
    at += piece_bytes(t, piece);
  }
  int err = call_piece(m, piece, n);
  for (int64_t i = n - nout; i < n && !err; ++i) {
    const DLTensor *t = m->values[i].v_handle;
    if (p->mask[i] == 'r')
      memcpy(tn_tensor_first(t) + row_bytes(t) * (size_t)done, m->part[i].data,
             row_bytes(t) * (size_t)left);
  }
  tn_release(s);
  return err;
}

/* What `rows` cost, from piece `i` on; *pad where they are best computed in the smallest piece that
   holds them all. */
static int64_t cost_of(const tn_vm_primitive *p, int i, int64_t rows, bool *pad) {
  bool later;
  *pad = false;
  if (rows == 0) return 0;
  while (i + 1 < p->npiece && p->pieces[i + 1].rows >= rows) ++i;
  const tn_vm_piece *holds = &p->pieces[i];
  *pad = holds->rows > rows;
  if (holds->rows == rows || (*pad && i + 1 == p->npiece)) return holds->cost;
  const tn_vm_piece *piece = *pad ? &p->pieces[++i] : holds;
  int64_t whole = piece->cost * (rows / piece->rows), rest = rows % piece->rows;
  whole += i + 1 < p->npiece ? cost_of(p, i, rest, &later) : rest ? piece->cost : 0;
  *pad = *pad && holds->cost < whole;
  return *pad ? holds->cost : whole;
}

/* The smallest piece that holds all rows. */
static const tn_vm_piece *holder(const tn_vm_primitive *p, int64_t rows) {
  int i = 0;
  while (i + 1 < p->npiece && p->pieces[i + 1].rows >= rows) ++i;
  return &p->pieces[i];
}

int tn_vm_call_pieces(tn_vm_machine *m, const tn_vm_primitive *p, int64_t n, int64_t nout) {
  int64_t rows, done = 0;
  bool pad = false;
  if (n > TN_LEGACY_INLINE_ARGS * 4 || !fits(m, p, n, &rows)) return 0;
  for (int i = 0; i < p->npiece && done < rows; ++i) {
    (void)cost_of(p, 0, rows - done, &pad);
    if (pad) break;
    TN_TRY(call_whole(m, p, &p->pieces[i], n, rows, &done));
  }
  if (done < rows) {
    const tn_vm_piece *last = holder(p, rows - done);
    TN_TRY(call_padded(m, p, last, n, nout, done, rows - done));
  }
  return 1;
}
