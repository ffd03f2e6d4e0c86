/* On which device each value of a Relay program is: found out from what is annotated (on_device,
   device_copy, virtual devices of parameters), the rules of the language and a default for the
   rest.

   Files: domains.c (what has to be on one device), constraints.c (the rules), plan.c (the pass
   PlanDevices, which writes down what was found). */
#ifndef TN_RELAY_DEVICES_DEVICES_H_
#define TN_RELAY_DEVICES_DEVICES_H_

#include "base/pmap.h"
#include "ir/pass.h"
#include "relay/relay.h"
#include "target/target.h"

/** Values that are on one device (a leaf), or what a function takes and gives. */
typedef struct {
  int32_t parent;           /* of a set of leaves, itself at its representative */
  int32_t first, n;         /* of a function: its parameters, then its result; n 0: a leaf */
  tn_VirtualDevice *device; /* NULL: free */
  bool large;               /* holds more than scalars */
} device_domain;

/** A plan; what it refers to belongs to the scope in which it was made. */
typedef struct {
  const tn_CompilationConfig *config;
  tn_IRModule *mod;
  bool loose; /* constants are wherever they are read, each use apart */
  device_domain *domains;
  int64_t ndomains, domains_cap;
  int32_t *members; /* of functions */
  int64_t nmembers, members_cap;
  tn_pmap of;   /* expression, or id of a variable -> domain + 1 */
  tn_vec known; /* the virtual devices in use, each once; owned */
  tn_vec conds; /* conditions of If, in order */
} device_plan;

/** Plans a module whose types are known. @param loose see device_plan
 *  @return 0; -1 with ValueError where a value would have to be on two devices, or there is no
 *  target for a device. The caller ends it, also after an error. */
int device_plan_make(device_plan *p, tn_IRModule *m, const tn_CompilationConfig *config,
                     bool loose);
void device_plan_fini(device_plan *p);
/** Where the value of an expression is (of a function: its result); NULL: it was not seen, or is a
 * constant of a loose plan. */
tn_VirtualDevice *device_of(const device_plan *p, const void *expr);

/** Are the operands of an expression best where its value is (operators, tuples)? Those that are
 * not must be copied. */
bool device_joins_operands(const tn_obj *e);

/** Does a program say anything about devices? */
bool device_names_any(const tn_IRModule *m);
/** Does it have conditions, which the host has to know? */
bool device_has_conditions(const tn_IRModule *m);

/** What a build for the targets knows of its devices: option relay.fallback_device_type says where
 * computations are that say nothing. ValueError: no target for that. */
tn_CompilationConfig *device_config_of(tn_arr *targets);

/* ---- for the files of this folder ---- */

int32_t device_leaf(device_plan *p, const tn_Type *t, tn_VirtualDevice *device);
/** A domain as a type wants it: functions in functions. */
int32_t device_domain_of_type(device_plan *p, const tn_Type *t);
int32_t device_function(device_plan *p, const int32_t *members, int32_t n);
/** The representative. */
int32_t device_find(device_plan *p, int32_t d);
/** All of one is where all of the other is; negative ones are not looked at. */
int device_unify(device_plan *p, int32_t a, int32_t b, const tn_Span *at);
/** All of a domain is on a device. */
int device_constrain(device_plan *p, int32_t d, const tn_obj *device, const tn_Span *at);
/** The virtual device with its free fields filled in; the same object for the same place. */
tn_VirtualDevice *device_canonical(device_plan *p, const tn_obj *device, const tn_Span *at);

#endif /* TN_RELAY_DEVICES_DEVICES_H_ */
