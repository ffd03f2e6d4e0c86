/* Results that nobody else can see: tensors whose memory constants, arguments or earlier results
   have too are copied, so that who gets a result may write to it. Counts of references tell which.
 */
#include <stdatomic.h>

#include "base/pmap.h"
#include "base/vec.h"
#include "runtime/tensor/tensor.h"

/* Values in tuples, which may be nested deeply, wait in a list. What others hold is copied once,
   so a result that holds a value twice still does; `kept` makes sure that no address is used
   again meanwhile. */
typedef struct {
  tn_vec todo, kept;
  tn_pmap copies;
} walk;

static bool has_others(const tn_obj *o) {
  return atomic_load_explicit(&o->rc, memory_order_acquire) > 1;
}

static bool is_shared(const tn_obj *o) {
  const tn_tensor *t = o->type_index == TN_TI_NDArray ? (const tn_tensor *)o : NULL;
  return has_others(o) || (t && t->owner && has_others(t->owner));
}

/* Of a tuple the fields are still those of the first, and so are shared. Owned. */
static tn_obj *copy_of(const tn_obj *o) {
  const tn_tuple *t = (const tn_tuple *)o;
  if (o->type_index == TN_TI_ADT) return (tn_obj *)tn_tuple_new(t->tag, t->fields, t->len);
  const DLTensor *dl = tn_tensor_dl((const tn_tensor *)o);
  return (tn_obj *)tn_tensor_clone(dl, dl->device, NULL);
}

static int push_fields(walk *w, const tn_obj *o) {
  tn_tuple *t = (tn_tuple *)(uintptr_t)o;
  for (int64_t i = 0; o->type_index == TN_TI_ADT && i < t->len; ++i)
    TN_TRY(tn_vec_push(&w->todo, tn_any_ptr(&t->fields[i])));
  return 0;
}

/* Puts a copy in the slot; its fields are new to the walk unless it was made before. */
static int replace(walk *w, tn_any *slot) {
  tn_obj *old = slot->v.obj, *copy = tn_pmap_get(&w->copies, old);
  if (!copy) {
    TN_GET(copy, copy_of(old));
    if (tn_vec_push_obj(&w->kept, copy)) return tn_release(copy), -1;
    TN_TRY(tn_vec_push_obj(&w->kept, old));
    tn_retain(old);
    TN_TRY(tn_pmap_put(&w->copies, old, copy));
    TN_TRY(push_fields(w, copy));
  }
  tn_retain(slot->v.obj = copy);
  tn_release(old);
  return 0;
}

static int visit(walk *w, tn_any *slot) {
  bool data = slot->type_index == TN_TI_NDArray || slot->type_index == TN_TI_ADT;
  if (!data) return 0;
  if (is_shared(slot->v.obj) || tn_pmap_has(&w->copies, slot->v.obj)) return replace(w, slot);
  return push_fields(w, slot->v.obj);
}

int tn_unshare(tn_any *value) {
  walk w = {0};
  if (value->type_index == TN_TI_NDArray && !is_shared(value->v.obj)) return 0;
  int err = visit(&w, value);
  while (w.todo.len > 0 && !err) err = visit(&w, w.todo.items[--w.todo.len].v.ptr);
  while (w.kept.len > 0) tn_release(w.kept.items[--w.kept.len].v.obj);
  tn_vec_fini(&w.kept);
  tn_vec_fini(&w.todo);
  tn_pmap_fini(&w.copies);
  return err;
}
