/* Sets of values that are on one device (union-find), see devices.h. A function is the domains of
   its parameters and of its result; two of them become one by pairs. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/scope.h"
#include "base/stack.h"
#include "relay/devices/devices.h"
#include "ir/imm.h"
#include "tenon/object.h"

void device_plan_fini(device_plan *p) {
  tn_free(p->domains);
  tn_free(p->members);
  tn_pmap_fini(&p->of);
  for (int64_t i = 0; i < p->known.len; ++i) tn_release(p->known.items[i].v.obj);
  tn_vec_fini(&p->known);
  tn_vec_fini(&p->conds);
}

/* ---- devices ---- */

static tn_Target *target_for(const device_plan *p, int type) {
  const tn_arr *all = p->config->primitive_targets;
  for (int64_t i = 0; i < all->len; ++i) {
    tn_Target *t = (tn_Target *)tn_arr_obj(all, i);
    if (target_device_type(t) == type) return t;
  }
  tn_Target *host = p->config->host_target;
  return target_device_type(host) == type ? host : NULL;
}

static tn_VirtualDevice *known_place(const device_plan *p, int64_t type, int64_t id,
                                     const tn_str *scope) {
  for (int64_t i = 0; i < p->known.len; ++i) {
    tn_VirtualDevice *d = (tn_VirtualDevice *)p->known.items[i].v.obj;
    if (d->device_type_int == type && d->virtual_device_id == id &&
        tn_str_eq(d->memory_scope, tn_cstr(scope)))
      return d;
  }
  return NULL;
}

/* Nothing is known of it: NULL without an error. */
tn_VirtualDevice *device_canonical(device_plan *p, const tn_obj *device, const tn_Span *at) {
  const tn_VirtualDevice *d = TN_AS(VirtualDevice, device);
  TN_CHECKP(d, TypeError, (tn_Span *)(uintptr_t)at, "expected a VirtualDevice, got %s",
            device ? tn_obj_key(device) : "None");
  if (d->device_type_int < 0) return NULL;
  int type = (int)d->device_type_int;
  int64_t id = d->virtual_device_id < 0 ? 0 : d->virtual_device_id;
  tn_VirtualDevice *r = known_place(p, type, id, d->memory_scope);
  if (r) return r;
  tn_Target *t = target_for(p, type);
  TN_CHECKP(t, ValueError, (tn_Span *)(uintptr_t)at,
            "a value is to be on device type %d, which has no target: build for a "
            "dictionary or list of targets with one for it",
            type);
  TN_GETP(r, target_virtual_device(type, id, t, tn_cstr(d->memory_scope)));
  TN_TRYP(tn_vec_push_obj(&p->known, r));
  tn_retain(r); /* a pass may ask in a scope that ends before the plan */
  return r;
}

/* ---- domains ---- */

static bool is_large(const tn_Type *t) {
  const tn_TensorType *tensor = TN_AS(TensorType, t);
  return t && !(tensor && tensor->shape->len == 0);
}

int32_t device_leaf(device_plan *p, const tn_Type *t, tn_VirtualDevice *device) {
  TN_GROW(p->domains, p->domains_cap, p->ndomains + 1, return -1);
  int32_t i = (int32_t)p->ndomains++;
  p->domains[i] = (device_domain){.parent = i, .device = device, .large = is_large(t)};
  return i;
}

int32_t device_function(device_plan *p, const int32_t *members, int32_t n) {
  int32_t d = device_leaf(p, NULL, NULL);
  if (d < 0) return -1;
  TN_GROW(p->members, p->members_cap, p->nmembers + n, return -1);
  p->domains[d].first = (int32_t)p->nmembers;
  p->domains[d].n = n;
  for (int32_t i = 0; i < n; ++i) p->members[p->nmembers++] = members[i];
  return d;
}

int32_t device_domain_of_type(device_plan *p, const tn_Type *t) {
  const tn_FuncType *f = TN_AS(FuncType, t);
  if (tn_stack_check("a type")) return -1;
  if (!f) return device_leaf(p, t, NULL);
  int32_t n = (int32_t)f->arg_types->len + 1;
  TN_AUTOFREE int32_t *members = tn_alloc_array(n, sizeof *members);
  if (!members) return -1;
  for (int32_t i = 0; i < n; ++i) {
    const void *one = i + 1 < n ? tn_arr_obj(f->arg_types, i) : (const tn_obj *)f->ret_type;
    if ((members[i] = device_domain_of_type(p, one)) < 0) return -1;
  }
  return device_function(p, members, n);
}

int32_t device_find(device_plan *p, int32_t d) {
  while (p->domains[d].parent != d) {
    int32_t above = p->domains[p->domains[d].parent].parent;
    d = p->domains[d].parent = above; /* halves the way */
  }
  return d;
}

static int contradiction(const tn_Span *at, const tn_VirtualDevice *a, const tn_VirtualDevice *b) {
  return TN_RAISE(ValueError, (tn_Span *)(uintptr_t)at,
                  "PlanDevices: a value would have to be on device type %lld (id %lld) and on "
                  "device type %lld (id %lld): annotate it by on_device without "
                  "constrain_result, or copy it by device_copy",
                  (long long)a->device_type_int, (long long)a->virtual_device_id,
                  (long long)b->device_type_int, (long long)b->virtual_device_id);
}

static int unify_leaves(device_plan *p, int32_t a, int32_t b, const tn_Span *at) {
  device_domain *x = &p->domains[a], *y = &p->domains[b];
  if (a == b) return 0;
  if (x->device && y->device && x->device != y->device)
    return contradiction(at, x->device, y->device);
  y->parent = a;
  if (!x->device) x->device = y->device;
  x->large |= y->large;
  return 0;
}

int device_unify(device_plan *p, int32_t a, int32_t b, const tn_Span *at) {
  if (a < 0 || b < 0) return 0;
  TN_TRY(tn_stack_check("the type of a function"));
  a = device_find(p, a);
  b = device_find(p, b);
  if (a == b) return 0;
  device_domain x = p->domains[a], y = p->domains[b];
  if (!x.n && !y.n) return unify_leaves(p, a, b, at);
  if (x.n && y.n) {
    TN_CHECK(x.n == y.n, InternalError, (tn_Span *)(uintptr_t)at,
             "PlanDevices: functions of %d and %d parameters", x.n - 1, y.n - 1);
    p->domains[b].parent = a; /* before its parts, which may hold it */
    for (int32_t i = 0; i < x.n; ++i)
      TN_TRY(device_unify(p, p->members[x.first + i], p->members[y.first + i], at));
    return 0;
  }
  int32_t leaf = x.n ? b : a;
  if (!x.n) x = y;
  for (int32_t i = 0; i < x.n; ++i) TN_TRY(device_unify(p, p->members[x.first + i], leaf, at));
  return 0;
}

int device_constrain(device_plan *p, int32_t d, const tn_obj *device, const tn_Span *at) {
  tn_VirtualDevice *v = device_canonical(p, device, at);
  if (!v) return tn_error_pending() ? -1 : 0;
  int32_t leaf = device_leaf(p, NULL, v);
  return leaf < 0 ? -1 : device_unify(p, d, leaf, at);
}

tn_VirtualDevice *device_of(const device_plan *p, const void *expr) {
  const tn_RelayVar *v = TN_AS(RelayVar, expr);
  int64_t d = tn_pmap_get_int(&p->of, v ? (const void *)v->vid : expr, 0) - 1;
  if (d < 0) return NULL;
  device_plan *own = (device_plan *)(uintptr_t)p; /* finding shortens ways only */
  d = device_find(own, (int32_t)d);
  while (p->domains[d].n) /* of a function: its result */
    d = device_find(own, p->members[p->domains[d].first + p->domains[d].n - 1]);
  return p->domains[d].device;
}
