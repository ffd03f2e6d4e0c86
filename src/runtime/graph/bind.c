/* Where the values of a graph executor lie: its own memory, parameters, and arrays of callers in
   place of inputs and outputs. See executor.h for the terms. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "object/dtype.h"
#include "object/functions.h"
#include "runtime/graph/executor.h"
#include "runtime/tensor/tensor.h"

int32_t tn_graph_input_entry(const tn_graph_executor *x, int32_t i) {
  return x->g.nodes[x->g.args[i]].first_entry;
}

static int32_t index_in(const tn_map *names, const char *name) {
  tn_any found;
  return tn_map_get(names, tn_any_cstr(name), &found) ? (int32_t)found.v.i64 : -1;
}
int32_t tn_graph_input_index(const tn_graph_executor *x, const char *name) {
  return index_in(x->input_names, name);
}
int32_t tn_graph_output_index(const tn_graph_executor *x, const char *name) {
  return index_in(x->output_names, name);
}

static const char *input_name(const tn_graph_executor *x, int32_t i) {
  return x->g.nodes[x->g.args[i]].name;
}

/* ---- checks ---- */

static int check_tensor(const char *name, const tn_graph_entry *e, const DLTensor *t) {
  tn_dtype dtype = tn_dtype_canonical(t->dtype);
  TN_CHECK(tn_dtype_eq(dtype, e->dtype), ValueError, NULL, "%s: expected dtype %s, got %s", name,
           TN_DT(e->dtype), TN_DT(dtype));
  bool same = t->ndim == e->ndim;
  for (int32_t i = 0; same && i < e->ndim; ++i) same = t->shape[i] == e->shape[i];
  return same ? 0 : tn_wrong_shape(name, e->shape, e->ndim, t);
}

static int check_device(const char *name, tn_device expected, tn_device got) {
  char a[TN_DEVICE_TEXT], b[TN_DEVICE_TEXT];
  TN_CHECK(expected.device_type == got.device_type && expected.device_id == got.device_id,
           ValueError, NULL, "%s: expected an array on %s, got one on %s", name,
           tn_device_text(expected, a), tn_device_text(got, b));
  return 0;
}

static tn_device device_of(const tn_graph_executor *x, int32_t entry) {
  return x->storages[x->g.entries[entry].storage].dev;
}

/* ---- where values are ---- */

/* The caller's array whose memory a root's value is in, or NULL. */
static tn_tensor *stand_in(const tn_graph_executor *x, int32_t root) {
  int32_t input = x->values[root].input;
  if (!x->any_bound) return NULL;
  if (input >= 0) return x->inputs[input].direct ? x->inputs[input].tensor : NULL;
  for (int32_t i = 0; i < x->g.nhead; ++i) {
    const tn_graph_binding *b = &x->outputs[i];
    if (b->direct && x->values[x->g.heads[i]].root == root) return b->tensor;
  }
  return NULL;
}

/* A function that is not compiled code may keep its arguments: they hold on to the memory. Where
   there is no memory for such a tensor it gets the description alone. */
static void set_arg(tn_any *arg, DLTensor *dl, tn_tensor *owner) {
  tn_error pending;
  bool any = tn_error_pending();
  tn_any old = *arg;
  if (any) tn_error_take(&pending);
  tn_tensor *t = owner ? tn_tensor_from_dltensor(dl, &owner->hdr) : NULL;
  *arg = t ? tn_any_obj(t) : (tn_any){.type_index = TN_DLTENSOR, .v.dltensor = dl};
  if (tn_any_is_obj(&old)) tn_release(old.v.obj);
  if (any) tn_error_restore(&pending);
  else tn_error_clear();
}

void tn_graph_locate(tn_graph_executor *x, int32_t root) {
  tn_graph_value *v = &x->values[root];
  if (v->root != root) return;
  tn_tensor *t = stand_in(x, root);
  if (!t) t = v->home;
  if (!t) t = x->storages[x->g.entries[root].storage].block;
  v->data = t ? t->dl.data : NULL;
  v->offset = t ? t->dl.byte_offset : 0;
  for (int32_t i = 0; i < v->nslot; ++i) {
    int32_t slot = v->first_slot + i;
    x->slots[slot]->data = v->data;
    x->slots[slot]->byte_offset = v->offset;
    if (x->slot_args[slot]) set_arg(x->slot_args[slot], x->slots[slot], t);
  }
}

/* Can functions use the array's memory as it lies? */
static bool usable(const tn_tensor *t, uint32_t align) {
  return tn_tensor_is_contiguous(&t->dl) && tn_tensor_is_aligned(&t->dl, align);
}

static bool overlap(const tn_tensor *a, const tn_tensor *b) {
  if (!a || !b) return false;
  uintptr_t x = (uintptr_t)a->dl.data, y = (uintptr_t)b->dl.data;
  return x < y + (uint64_t)tn_tensor_nbytes(&b->dl) && y < x + (uint64_t)tn_tensor_nbytes(&a->dl);
}

static bool overlaps_pool(const tn_graph_executor *x, const tn_tensor *t, bool all) {
  for (int32_t i = 0; i < x->g.nstorage; ++i) {
    if ((all || x->storages[i].written) && overlap(t, x->storages[i].block)) return true;
  }
  return false;
}

/* An output that a function may not write to while the others run. */
static bool in_the_way(const tn_graph_executor *x, int32_t output) {
  const tn_tensor *t = x->outputs[output].tensor;
  for (int32_t i = 0; i < x->g.narg; ++i) {
    if (x->inputs[i].direct && overlap(t, x->inputs[i].tensor)) return true;
    if (overlap(t, x->values[tn_graph_input_entry(x, i)].home)) return true;
  }
  for (int32_t i = 0; i < output; ++i) {
    const tn_graph_binding *b = &x->outputs[i];
    bool same = x->values[x->g.heads[i]].root == x->values[x->g.heads[output]].root;
    if (b->direct && (same || overlap(t, b->tensor))) return true;
  }
  return overlaps_pool(x, t, true);
}

/* Decides which arrays of callers the functions use themselves. */
static void decide(tn_graph_executor *x) {
  x->any_bound = false;
  for (int32_t i = 0; i < x->g.narg; ++i) {
    tn_graph_binding *b = &x->inputs[i];
    int32_t e = tn_graph_input_entry(x, i);
    b->direct =
        b->tensor && usable(b->tensor, x->values[e].align) && !overlaps_pool(x, b->tensor, false);
    x->any_bound |= b->tensor != NULL;
  }
  for (int32_t i = 0; i < x->g.nhead; ++i) {
    tn_graph_binding *b = &x->outputs[i];
    const tn_graph_value *root = &x->values[x->values[x->g.heads[i]].root];
    b->direct = b->tensor && root->input < 0 && usable(b->tensor, root->align) && !in_the_way(x, i);
    x->any_bound |= b->tensor != NULL;
  }
}

/* Gives a root a home of its own in place of an array that others use. */
static int make_own(tn_graph_executor *x, int32_t root, bool keep_content) {
  tn_graph_value *v = &x->values[root];
  tn_tensor *old = v->home;
  if (!v->borrowed) return tn_graph_need_home(x, root);
  v->home = NULL;
  if (tn_graph_need_home(x, root) || (keep_content && tn_tensor_copy(&old->dl, &v->home->dl))) {
    tn_release(v->home);
    v->home = old;
    return -1;
  }
  v->borrowed = false;
  tn_release(old);
  return 0;
}

/* After arrays of callers came or went, or the home of an input moved. */
static int settle(tn_graph_executor *x) {
  decide(x);
  x->ready = false;
  for (int32_t i = 0; i < x->g.narg; ++i) {
    int32_t e = tn_graph_input_entry(x, i);
    if (x->inputs[i].tensor && !x->inputs[i].direct) TN_TRY(make_own(x, e, true));
    tn_graph_locate(x, e);
  }
  for (int32_t i = 0; i < x->g.nhead; ++i) tn_graph_locate(x, x->values[x->g.heads[i]].root);
  for (int32_t i = 0; i < x->g.nhead; ++i) {
    tn_graph_binding *b = &x->outputs[i];
    tn_release(b->from);
    b->from = NULL;
    if (b->tensor && !b->direct) TN_GET(b->from, tn_graph_entry_tensor(x, x->g.heads[i]));
  }
  return 0;
}

/* ---- arrays of callers ---- */

/* The array to keep for an argument. Owned. */
static tn_tensor *keep(const tn_any *a) {
  const DLTensor *dl;
  if (a->type_index == TN_DLTENSOR) {
    TN_TRYP(tn_any_to_dltensor(a, &dl));
    return tn_tensor_from_dltensor(dl, NULL);
  }
  tn_tensor *t;
  TN_TRYP(tn_any_to_tensor(a, &t));
  tn_retain(t);
  return t;
}

/* Puts t (given up; NULL takes out) into a binding; the binding stays as it was when that fails. */
static int bind(tn_graph_executor *x, tn_graph_binding *b, tn_tensor *t) {
  tn_error pending;
  tn_tensor *old = b->tensor;
  b->tensor = t;
  if (settle(x) == 0) {
    tn_release(old);
    return 0;
  }
  tn_error_take(&pending);
  b->tensor = old;
  if (settle(x)) tn_error_clear();
  tn_error_restore(&pending);
  tn_release(t);
  return -1;
}

static int bind_checked(tn_graph_executor *x, const char *name, int32_t entry, tn_graph_binding *b,
                        const tn_any *arg) {
  tn_tensor *t;
  TN_GET(t, keep(arg));
  if (check_tensor(name, &x->g.entries[entry], &t->dl) ||
      check_device(name, device_of(x, entry), t->dl.device)) {
    tn_release(t);
    return -1;
  }
  return bind(x, b, t);
}

int tn_graph_bind_input(tn_graph_executor *x, int32_t i, const tn_any *t) {
  return bind_checked(x, input_name(x, i), tn_graph_input_entry(x, i), &x->inputs[i], t);
}

int tn_graph_bind_output(tn_graph_executor *x, int32_t i, const tn_any *t) {
  char name[32];
  DLTensor *to;
  TN_TRY(tn_any_to_writable(t, &to));
  snprintf(name, sizeof name, "output %d", i);
  return bind_checked(x, name, x->g.heads[i], &x->outputs[i], t);
}

/* ---- inputs ---- */

/* The home of an input, which may be written to. */
static int own_home(tn_graph_executor *x, int32_t i, bool keep_content) {
  int32_t e = tn_graph_input_entry(x, i);
  if (x->values[e].home && !x->values[e].borrowed) return 0;
  TN_TRY(make_own(x, e, keep_content));
  if (x->any_bound) return settle(x);
  tn_graph_locate(x, e);
  return 0;
}

int tn_graph_set_input(tn_graph_executor *x, int32_t i, const DLTensor *from) {
  int32_t e = tn_graph_input_entry(x, i);
  TN_TRY(check_tensor(input_name(x, i), &x->g.entries[e], from));
  TN_TRY(own_home(x, i, false));
  DLTensor *home = &x->values[e].home->dl;
  bool itself = from->data == home->data && from->byte_offset == home->byte_offset;
  if (!itself) TN_TRY(tn_tensor_copy(from, home));
  return x->inputs[i].tensor ? bind(x, &x->inputs[i], NULL) : 0;
}

tn_tensor *tn_graph_get_input(tn_graph_executor *x, int32_t i) {
  tn_tensor *t = x->inputs[i].tensor;
  if (!t) {
    TN_TRYP(own_home(x, i, true));
    t = x->values[tn_graph_input_entry(x, i)].home;
  }
  tn_retain(t);
  return t;
}

/* ---- outputs ---- */

/* Description of the memory at which an entry's value is, with the entry's shape. */
static DLTensor description(const tn_graph_executor *x, int32_t entry) {
  const tn_graph_entry *e = &x->g.entries[entry];
  const tn_graph_value *root = &x->values[x->values[entry].root];
  return (DLTensor){.data = root->data,
                    .device = device_of(x, entry),
                    .ndim = e->ndim,
                    .dtype = e->dtype,
                    .shape = (int64_t *)(uintptr_t)e->shape,
                    .byte_offset = root->offset};
}

tn_tensor *tn_graph_entry_tensor(tn_graph_executor *x, int32_t entry) {
  int32_t root = x->values[entry].root;
  tn_tensor *owner = stand_in(x, root);
  if (!owner) {
    TN_TRYP(tn_graph_need_home(x, root));
    tn_graph_locate(x, root);
    owner = x->values[root].home;
    if (root == entry) {
      tn_retain(owner);
      return owner;
    }
  }
  DLTensor dl = description(x, entry);
  return tn_tensor_from_dltensor(&dl, &owner->hdr);
}

/* The array of an output, which others must not write to where it is an input or parameter. */
static tn_tensor *output_array(tn_graph_executor *x, int32_t i) {
  tn_tensor *t = x->outputs[i].tensor;
  if (!t) return tn_graph_entry_tensor(x, x->g.heads[i]);
  tn_retain(t);
  return t;
}

tn_tensor *tn_graph_get_output(tn_graph_executor *x, int32_t i) {
  tn_tensor *t, *copy;
  TN_GETP(t, output_array(x, i));
  if (x->outputs[i].tensor || !x->values[x->values[x->g.heads[i]].root].given) return t;
  copy = tn_tensor_clone(&t->dl, t->dl.device, NULL);
  tn_release(t);
  return copy;
}

int tn_graph_copy_output(tn_graph_executor *x, int32_t i, DLTensor *to) {
  char name[32];
  snprintf(name, sizeof name, "output %d", i);
  TN_TRY(check_tensor(name, &x->g.entries[x->g.heads[i]], to));
  tn_tensor *t = output_array(x, i);
  int err = t ? tn_tensor_copy(&t->dl, to) : -1;
  tn_release(t);
  return err;
}

/* ---- parameters ---- */

/* The i-th parameter as an input: its number, or -1 when the graph has none of that name. */
static int param_at(const tn_graph_executor *x, const tn_map *params, int64_t i, int32_t *input,
                    tn_tensor **t) {
  tn_any key, value;
  const char *name;
  if (!tn_map_at(params, i, &key, &value)) return -1;
  TN_TRY(tn_any_to_cstr(&key, &name));
  TN_TRY(tn_any_to_tensor(&value, t));
  *input = tn_graph_input_index(x, name);
  TN_CHECK(*input != TN_GRAPH_SEVERAL, ValueError, NULL,
           "parameters: several inputs are called \"%s\": set them by number", name);
  return 0;
}

/* Can the array be an input's home, without a copy? */
static bool can_be_home(const tn_graph_executor *x, int32_t entry, const tn_tensor *t) {
  tn_device dev = device_of(x, entry);
  return t->dl.device.device_type == dev.device_type && t->dl.device.device_id == dev.device_id &&
         !x->storages[x->g.entries[entry].storage].scope && usable(t, x->values[entry].align) &&
         tn_tensor_is_aligned(&t->dl, 64);
}

static void replace_home(tn_graph_executor *x, int32_t entry, tn_tensor *t, bool borrowed) {
  tn_graph_value *v = &x->values[entry];
  tn_retain(t);
  tn_release(v->home);
  v->home = t;
  v->borrowed = borrowed;
  tn_graph_locate(x, entry);
}

static int set_param(tn_graph_executor *x, int32_t i, tn_tensor *t, tn_params_mode mode) {
  int32_t e = tn_graph_input_entry(x, i);
  const tn_graph_value *v = &x->values[e];
  bool untouched = (!v->home || v->borrowed) && !x->any_bound;
  if (!untouched || !can_be_home(x, e, t)) return tn_graph_set_input(x, i, &t->dl);
  replace_home(x, e, t, mode == TN_PARAMS_SHARE);
  return 0;
}

int tn_graph_set_params(tn_graph_executor *x, const tn_map *params, tn_params_mode mode) {
  int32_t input;
  tn_tensor *t;
  int64_t n = tn_map_len(params);
  for (int64_t i = 0; i < n; ++i) {
    TN_TRY(param_at(x, params, i, &input, &t));
    if (input < 0) continue;
    int32_t e = tn_graph_input_entry(x, input);
    TN_TRY(check_tensor(input_name(x, input), &x->g.entries[e], &t->dl));
  }
  for (int64_t i = 0; i < n; ++i) {
    TN_TRY(param_at(x, params, i, &input, &t));
    if (input >= 0) TN_TRY(set_param(x, input, t, mode));
  }
  return 0;
}

int tn_graph_mark_loaded(tn_graph_executor *x, const tn_map *params) {
  tn_any key, value;
  if (!x->loaded) TN_GET(x->loaded, tn_map_new());
  for (int64_t i = 0; tn_map_at(params, i, &key, &value); ++i)
    TN_TRY(tn_map_set(x->loaded, key, tn_any_bool(true)));
  return 0;
}

/* One input in the memory of another executor's. */
static int share_one(tn_graph_executor *x, int32_t i, tn_graph_executor *other, int32_t j) {
  int32_t to = tn_graph_input_entry(x, i), from = tn_graph_input_entry(other, j);
  const tn_graph_entry *e = &other->g.entries[from];
  const char *name = input_name(x, i);
  DLTensor like = {.ndim = e->ndim, .dtype = e->dtype, .shape = (int64_t *)(uintptr_t)e->shape};
  TN_TRY(check_tensor(name, &x->g.entries[to], &like));
  TN_TRY(check_device(name, device_of(x, to), device_of(other, from)));
  TN_TRY(tn_graph_need_home(other, from));
  tn_graph_locate(other, from);
  replace_home(x, to, other->values[from].home, other->values[from].borrowed);
  if (x->inputs[i].tensor) return bind(x, &x->inputs[i], NULL);
  return x->any_bound ? settle(x) : 0;
}

int tn_graph_share_params(tn_graph_executor *x, tn_graph_executor *other, const tn_map *params) {
  int32_t i;
  tn_tensor *t;
  for (int64_t k = 0; k < tn_map_len(params); ++k) {
    tn_any key, value;
    TN_TRY(param_at(x, params, k, &i, &t));
    tn_map_at(params, k, &key, &value);
    const char *name = ((const tn_str *)key.v.obj)->data;
    int32_t j = tn_graph_input_index(other, name);
    if (i < 0) continue;
    TN_CHECK(j >= 0, ValueError, NULL,
             "share_params: the other executor has no input \"%s\", or several", name);
    TN_TRY(share_one(x, i, other, j));
  }
  return 0;
}
