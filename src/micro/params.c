/* The parameters of an archive: names, then arrays. Numbers are little-endian, at any address. */
#include <string.h>

#include "micro/graph_impl.h"

typedef struct {
  const uint8_t *p, *end;
} reader;

static int take(reader *r, size_t n, const uint8_t **out) {
  if ((size_t)(r->end - r->p) < n) return -1;
  *out = r->p;
  r->p += n;
  return 0;
}

static int take_number(reader *r, size_t bytes, uint64_t *out) {
  const uint8_t *p;
  *out = 0;
  if (take(r, bytes, &p)) return -1;
  for (size_t i = bytes; i-- > 0;) *out = *out << 8 | p[i];
  return 0;
}

static int expect(reader *r, size_t bytes, uint64_t value) {
  uint64_t found;
  return take_number(r, bytes, &found) || found != value ? -1 : 0;
}

/* The argument of that name; -1: there is none. */
static int32_t arg_named(const tn_micro_graph *g, const uint8_t *name, size_t n) {
  for (int32_t i = 0; i < g->narg; ++i) {
    micro_text t = g->nodes[g->args[i]].name;
    if (t.len == n && memcmp(t.text, name, n) == 0) return g->args[i];
  }
  return -1;
}

/* Type and extents must be those of the value. */
static int read_head(reader *r, const DLTensor *t) {
  uint64_t ignored, n;
  if (expect(r, 8, UINT64_C(0xDD5E40F096B4A13F)) || take_number(r, 8, &ignored) ||
      take_number(r, 8, &ignored) || expect(r, 4, (uint32_t)t->ndim) ||
      expect(r, 1, t->dtype.code) || expect(r, 1, t->dtype.bits) || expect(r, 2, t->dtype.lanes))
    return -1;
  for (int32_t d = 0; d < t->ndim; ++d)
    if (take_number(r, 8, &n) || n != (uint64_t)t->shape[d]) return -1;
  return expect(r, 8, (uint64_t)micro_value_bytes(t));
}

/* In place when the machine can read it there and nothing else is written over it. */
static tn_micro_status set_data(tn_micro_graph *g, int32_t entry, const uint8_t *data) {
  DLTensor *t = &g->values[entry];
  micro_storage *s = &g->storages[g->storage_of[entry]];
  size_t align = (size_t)(t->dtype.bits < 8 ? 1 : t->dtype.bits / 8);
  if (!g->copies && s->users == 1 && (uintptr_t)data % align == 0) {
    union {
      const uint8_t *from;
      void *to;
    } address = {data};
    s->data = address.to; /* nothing writes to arguments */
    return TN_MICRO_OK;
  }
  if (!s->data && !(s->data = micro_take(g, s->bytes, 1))) return TN_MICRO_NO_MEMORY;
  memcpy(s->data, data, (size_t)micro_value_bytes(t));
  return TN_MICRO_OK;
}

static tn_micro_status read_array(tn_micro_graph *g, reader *names, reader *arrays) {
  const uint8_t *name, *data;
  uint64_t n;
  if (take_number(names, 8, &n) || n > SIZE_MAX || take(names, (size_t)n, &name))
    return TN_MICRO_BAD_PARAMS;
  int32_t node = arg_named(g, name, (size_t)n);
  if (node < 0 || g->constant[node]) return TN_MICRO_BAD_PARAMS;
  int32_t entry = g->nodes[node].first_entry;
  if (read_head(arrays, &g->values[entry]) ||
      take(arrays, (size_t)micro_value_bytes(&g->values[entry]), &data))
    return TN_MICRO_BAD_PARAMS;
  g->constant[node] = 1;
  return set_data(g, entry, data);
}

tn_micro_status micro_read_params(tn_micro_graph *g, const tn_micro_model *m) {
  uint64_t ignored, n, len;
  const uint8_t *skipped;
  reader names = {m->params, (const uint8_t *)m->params + m->params_bytes};
  if (m->params_bytes == 0) return TN_MICRO_OK;
  if (expect(&names, 8, UINT64_C(0xF7E58D4F05049CB7)) || take_number(&names, 8, &ignored) ||
      take_number(&names, 8, &n))
    return TN_MICRO_BAD_PARAMS;
  reader arrays = names;
  for (uint64_t i = 0; i < n; ++i)
    if (take_number(&arrays, 8, &len) || len > SIZE_MAX || take(&arrays, (size_t)len, &skipped))
      return TN_MICRO_BAD_PARAMS;
  if (expect(&arrays, 8, n)) return TN_MICRO_BAD_PARAMS;
  for (uint64_t i = 0; i < n; ++i) {
    tn_micro_status s = read_array(g, &names, &arrays);
    if (s) return s;
  }
  return TN_MICRO_OK;
}
