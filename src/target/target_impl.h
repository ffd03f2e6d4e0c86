/* The table of kinds, for the files of this folder. */
#ifndef TN_TARGET_TARGET_IMPL_H_
#define TN_TARGET_TARGET_IMPL_H_

#include "target/target.h"

typedef enum {
  TARGET_STR,
  TARGET_INT,
  TARGET_BOOL,
  TARGET_STRS, /* list of texts */
  TARGET_INTS,
  TARGET_TARGETS, /* list of targets */
} target_option_type;

typedef struct {
  const char *name;
  target_option_type type;
} target_option;

/** Value of an option that is not given. */
typedef struct {
  const char *name;
  int64_t value;
} target_default;

typedef struct {
  const char *name;
  int device_type;
  const char *keys;               /* separated by commas */
  const target_option *options;   /* ended by a NULL name; besides those of all kinds */
  const target_default *defaults; /* ended by a NULL name; NULL: none */
  uint32_t code;                  /* TARGET_MACHINE_CODE, ...: what is known of its code */
  int (*complete)(tn_map *attrs); /* sets options that a device of this machine tells; NULL: none */
} target_kind_row;

typedef struct {
  const char *name, *target;
} target_tag_row;

extern const tn_type_hooks target_kind_hooks;

/** NULL when there is no such kind. */
const target_kind_row *target_kind_find(const char *name);
/** Target text of a tag, or NULL. */
const char *target_tag_find(const char *name);
/** The target that a program registered under a tag, or NULL; scope-owned. */
tn_target *target_tag_registered(const char *name);
/** Adds all of them to a map from tag to Target. */
int target_tags_add(tn_map *to);
/** Is a target with these options a processor by Arm? */
bool target_is_arm(const tn_map *attrs);
/** The option of a kind, or NULL with ValueError naming near ones. */
const target_option *target_option_find(const target_kind_row *kind, const char *name);
/** The node of a kind; scope-owned for good. ValueError naming near ones. */
tn_TargetKind *target_kind_get(const char *name);
tn_arr *target_kind_names(void);
tn_map *target_tags(void);
tn_map *target_kind_options(const target_kind_row *kind);
/** Texts separated by commas as an array. */
tn_arr *target_split(const char *text);

/** Option `arch` of target cuda: that of the first device, else one that all devices can run. */
int target_cuda_complete(tn_map *attrs);

/** Functions "target.*"; part of target_init. */
int target_api_init(void);
/** Functions of target_tag.c and target_arm.c; part of target_init. */
int target_tag_init(void);
int target_arm_init(void);
/** Functions of machine.c; part of target_init. */
int target_machine_init(void);
/** Functions of virtual_device.c; part of target_init. */
int target_virtual_device_init(void);
/** Functions of generic_func.c; part of target_init. */
int target_generic_func_init(void);
#endif /* TN_TARGET_TARGET_IMPL_H_ */
