/* Primitives in pieces of rows: parts of the arguments go to primitives for 64 rows, 32 and so on;
   the last rows are computed in a smaller one, or in one that is padded, which costs less.

   What the attributes of a primitive say ("rows": "64,32,16", "row_costs": "67,35,19", "row_args":
   "rsr") comes from a file: tensors are looked at before they are cut. With "panel_rows": "4",
   "panel_sizes", "panel_costs" and "panel_shape": "16,512,32" calls of four rows and more are made
   of other pieces, which read the argument of the letter p in panels. Arguments of the letter x
   have rows but are not cut: the pieces are for calls of just so many. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "runtime/module/module.h"
#include "runtime/tensor/tensor.h"
#include "runtime/vm/machine.h"

/* ---- finding them ---- */

static const char *attr(const tn_map *attrs, const char *key) {
  tn_any found;
  const char *text;
  if (!tn_map_get(attrs, tn_any_cstr(key), &found) || tn_any_to_cstr(&found, &text)) return NULL;
  return text;
}

/* A function beside a primitive, for some of its rows; without code where there is none. */
static int find_code(const tn_vm_machine *m, const char *name, const char *what, tn_vm_piece *out) {
  char full[512];
  tn_module *owner;
  void *code;
  int len = snprintf(full, sizeof full, "%s_%s", name, what);
  if (len < 0 || (size_t)len >= sizeof full) return 0;
  TN_TRY(tn_module_get_function(m->module, full, true, &out->func));
  if (!out->func) return 0;
  if (tn_func_is_bound(out->func, tn_legacy_compiled_call, &owner, &code)) {
    memcpy(&out->code, &code, sizeof code);
    return 0;
  }
  tn_release(out->func);
  out->func = NULL;
  return 0;
}

enum { MAX = 1 << 20 }; /* rows, cost, extents of panels */

/* The next number of a list, between 1 and MAX; 0: the list has ended. */
static int64_t next_number(const char **list) {
  char *end = NULL;
  int64_t n = *list ? strtoll(*list, &end, 10) : 0;
  if (!end || end == *list || n <= 0 || n > MAX) return 0;
  *list = *end == ',' ? end + 1 : end;
  return n;
}

static int find_panels(const tn_vm_machine *m, const char *name, const tn_map *attrs,
                       tn_vm_primitive *p) {
  const char *shape = attr(attrs, "panel_shape"), *cost = attr(attrs, "panel_cost");
  p->panels.cost = next_number(&cost);
  for (int64_t n; p->panel_ndim < TN_VM_PANEL_NDIM && (n = next_number(&shape)) > 0;)
    p->panel_shape[p->panel_ndim++] = n;
  return p->panel_ndim ? find_code(m, name, "panels", &p->panels) : 0;
}

/* Pieces that follow those there are. A list ends where it is not one of smaller and smaller ones.
 */
static int find_list(const tn_vm_machine *m, const char *name, const char *what, const char *sizes,
                     const char *costs, tn_vm_primitive *p) {
  for (int64_t before = MAX + 1; p->npiece < TN_VM_MAX_PIECES;) {
    tn_vm_piece *piece = &p->pieces[p->npiece];
    char full[40];
    piece->rows = next_number(&sizes);
    piece->cost = next_number(&costs);
    if (piece->rows == 0 || piece->rows >= before) break;
    before = piece->rows;
    snprintf(full, sizeof full, "%s%lld", what, (long long)before);
    TN_TRY(find_code(m, name, full, piece));
    p->npiece += piece->code != NULL;
  }
  return 0;
}

int tn_vm_find_pieces(tn_vm_machine *m, int64_t primitive) {
  tn_vm_primitive *p = &m->prims[primitive];
  const char *name = m->x->prims[primitive];
  tn_any found;
  if (!p->code || !tn_map_get(m->x->prim_attrs, tn_any_int(primitive), &found)) return 0;
  const tn_map *attrs = (const tn_map *)found.v.obj;
  p->mask = attr(attrs, "row_args");
  if (!p->mask) return 0;
  if (strchr(p->mask, 'p')) {
    TN_TRY(find_panels(m, name, attrs, p));
    if (p->panels.code)
      TN_TRY(find_list(m, name, "panel_rows", attr(attrs, "panel_sizes"),
                       attr(attrs, "panel_costs"), p));
    p->npanel = p->npiece;
  }
  return find_list(m, name, "rows", attr(attrs, "rows"), attr(attrs, "row_costs"), p);
}

/* ---- calling them ---- */

enum { MAX_ARGS = TN_LEGACY_INLINE_ARGS * 4 };

typedef struct {
  tn_vm_machine *m;
  const tn_vm_primitive *p;
  int64_t n, nout, rows, done;
  int first, end;  /* of the pieces that are taken */
  DLTensor panels; /* without data where the argument is read as it is */
} pieces_call;

/* What is known of a call: arguments with rows lie on the host without gaps and have as many rows.
 */
static bool fits(const tn_vm_machine *m, const tn_vm_primitive *p, int64_t n, int64_t *rows) {
  *rows = -1;
  if (strlen(p->mask) != (size_t)n) return false;
  for (int64_t i = 0; i < n; ++i) {
    const DLTensor *t = m->values[i].v_handle;
    if (p->mask[i] != 'r' && p->mask[i] != 'x') continue;
    if (t->ndim < 1 || t->ndim > TN_VM_MAX_NDIM || !tn_device_is_host(t->device) ||
        !tn_tensor_is_contiguous(t) || tn_dtype_item_bytes(t->dtype) <= 0)
      return false;
    if (*rows >= 0 && t->shape[0] != *rows) return false;
    *rows = t->shape[0];
  }
  return *rows > 0;
}

static size_t row_bytes(const DLTensor *t) { return (size_t)(tn_tensor_nbytes(t) / t->shape[0]); }

/* Arguments that stand for the rows of a piece; their addresses are set later. */
static void set_parts(const pieces_call *c, const tn_vm_piece *piece) {
  tn_vm_machine *m = c->m;
  for (int64_t i = 0; i < c->n; ++i) {
    const DLTensor *t = m->values[i].v_handle;
    int64_t *shape = m->part_shapes + i * TN_VM_MAX_NDIM;
    m->part[i] = c->panels.data && c->p->mask[i] == 'p' ? c->panels : *t;
    if (c->p->mask[i] != 'r') continue;
    memcpy(shape, t->shape, (size_t)t->ndim * sizeof *shape);
    shape[0] = piece->rows;
    m->part[i].shape = shape;
    m->part[i].strides = NULL;
    m->part[i].byte_offset = 0;
  }
}

static int call_piece(const pieces_call *c, const tn_vm_piece *piece) {
  TVMValue values[MAX_ARGS];
  for (int64_t i = 0; i < c->n; ++i) values[i].v_handle = &c->m->part[i];
  return tn_legacy_call_values(piece->code, values, c->m->codes, (int)c->n);
}

/* The rows from `done` on with one piece, while it fits. */
static int call_whole(pieces_call *c, const tn_vm_piece *piece) {
  const tn_vm_machine *m = c->m;
  if (c->rows - c->done < piece->rows) return 0;
  set_parts(c, piece);
  for (; c->rows - c->done >= piece->rows; c->done += piece->rows) {
    for (int64_t i = 0; i < c->n; ++i) {
      const DLTensor *t = m->values[i].v_handle;
      if (c->p->mask[i] == 'r')
        m->part[i].data = tn_tensor_first(t) + row_bytes(t) * (size_t)c->done;
    }
    TN_TRY(call_piece(c, piece));
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
static int call_padded(const pieces_call *c, const tn_vm_piece *piece) {
  tn_vm_machine *m = c->m;
  size_t total = 0, at = 0;
  int64_t left = c->rows - c->done;
  for (int64_t i = 0; i < c->n; ++i)
    if (c->p->mask[i] == 'r') total += piece_bytes(m->values[i].v_handle, piece);
  tn_VMStorage *s;
  TN_GET(s, tn_vm_pool_alloc(m->host_pool, (int64_t)total));
  set_parts(c, piece);
  for (int64_t i = 0; i < c->n; ++i) {
    const DLTensor *t = m->values[i].v_handle;
    if (c->p->mask[i] != 'r') continue;
    m->part[i].data = (char *)s->data + at;
    if (i < c->n - c->nout) copy_rows(t, piece, c->done, left, m->part[i].data);
    at += piece_bytes(t, piece);
  }
  int err = call_piece(c, piece);
  for (int64_t i = c->n - c->nout; i < c->n && !err; ++i) {
    const DLTensor *t = m->values[i].v_handle;
    if (c->p->mask[i] == 'r')
      memcpy(tn_tensor_first(t) + row_bytes(t) * (size_t)c->done, m->part[i].data,
             row_bytes(t) * (size_t)left);
  }
  tn_release(s);
  return err;
}

/* What `rows` cost, from piece `i` on; *pad where they are best computed in the smallest piece that
   holds them all. */
static int64_t cost_of(const pieces_call *c, int i, int64_t rows, bool *pad) {
  const tn_vm_piece *all = c->p->pieces;
  bool later;
  *pad = false;
  if (rows == 0) return 0;
  while (i + 1 < c->end && all[i + 1].rows >= rows) ++i;
  const tn_vm_piece *holds = &all[i];
  *pad = holds->rows > rows;
  if (holds->rows == rows || (*pad && i + 1 == c->end)) return holds->cost;
  const tn_vm_piece *piece = *pad ? &all[++i] : holds;
  int64_t whole, rest = rows % piece->rows;
  if (__builtin_mul_overflow(piece->cost, rows / piece->rows, &whole)) return INT64_MAX / 4;
  whole += i + 1 < c->end ? cost_of(c, i, rest, &later) : rest ? piece->cost : 0;
  *pad = *pad && holds->cost < whole;
  return *pad ? holds->cost : whole;
}

static int call_all(pieces_call *c) {
  const tn_vm_piece *all = c->p->pieces;
  int i = c->first;
  bool pad = false;
  for (; i < c->end && c->done < c->rows; ++i) {
    (void)cost_of(c, c->first, c->rows - c->done, &pad);
    if (pad) break;
    TN_TRY(call_whole(c, &all[i]));
  }
  if (c->done == c->rows) return 0;
  /* the smallest piece that holds what is left */
  for (i = c->first; i + 1 < c->end && all[i + 1].rows >= c->rows - c->done;) ++i;
  return call_padded(c, &all[i]);
}

/* The same where the pieces read an argument in panels, which live as long as the call. */
static int call_with_panels(pieces_call *c) {
  tn_vm_machine *m = c->m;
  const tn_vm_primitive *p = c->p;
  const DLTensor *t = m->values[strchr(p->mask, 'p') - p->mask].v_handle;
  tn_VMStorage *s;
  int64_t bytes = tn_shape_nbytes("panels", p->panel_shape, p->panel_ndim, t->dtype);
  if (bytes < 0) return -1;
  TN_GET(s, tn_vm_pool_alloc(m->host_pool, bytes));
  c->panels = (DLTensor){.data = s->data,
                         .device = m->host,
                         .ndim = p->panel_ndim,
                         .dtype = t->dtype,
                         .shape = (int64_t *)(uintptr_t)p->panel_shape};
  TVMValue values[2] = {{.v_handle = (void *)(uintptr_t)t}, {.v_handle = &c->panels}};
  int err = tn_legacy_call_values(p->panels.code, values, m->codes, 2);
  if (!err) err = call_all(c);
  tn_release(s);
  return err;
}

/* Takes the pieces that read panels where these and the panels cost less than the others. */
static bool choose_panels(pieces_call *c) {
  const tn_vm_primitive *p = c->p;
  bool pad;
  int64_t packed = INT64_MAX, direct = INT64_MAX;
  c->end = p->npanel;
  if (p->npanel) packed = p->panels.cost + cost_of(c, 0, c->rows, &pad);
  c->end = p->npiece;
  if (p->npanel < p->npiece) direct = cost_of(c, p->npanel, c->rows, &pad);
  bool panels = packed < direct;
  if (panels) c->end = p->npanel;
  else c->first = p->npanel;
  return panels;
}

int tn_vm_call_pieces(tn_vm_machine *m, const tn_vm_primitive *p, int64_t n, int64_t nout) {
  pieces_call c = {.m = m, .p = p, .n = n, .nout = nout, .end = p->npiece};
  if (n > MAX_ARGS || !fits(m, p, n, &c.rows)) return 0;
  c.first = p->npanel;
  while (c.first < p->npiece && p->pieces[c.first].rows != c.rows) ++c.first;
  if (c.first < p->npiece) /* the arguments are those of the piece */
    return tn_legacy_call_values(p->pieces[c.first].code, m->values, m->codes, (int)n) ? -1 : 1;
  if (strchr(p->mask, 'x')) return 0;
  c.first = 0;
  bool panels = p->npanel && choose_panels(&c);
  return (panels ? call_with_panels(&c) : call_all(&c)) ? -1 : 1;
}
