/* Devices, for the runtime's own files: see tenon/runtime.h for what is public. */
#ifndef TN_RUNTIME_DEVICE_DEVICE_H_
#define TN_RUNTIME_DEVICE_DEVICE_H_

#include "object/functions.h"
#include "tenon/runtime.h"

/** Is the data of such a device an address, to which an offset can be added (unlike an OpenCL or
 * Metal buffer)? */
bool tn_device_is_address(tn_device dev);

/** Opens the plug-in that serves a device type, unless that was done. @return why it does not serve
 * it, "" when it does, NULL when there is none for the type */
const char *tn_device_plugin_open(int device_type);

/** API of the CPU. */
extern const tn_device_api tn_cpu_api;

/** Registers the CPU and the functions of this file. */
int tn_device_init(void);

#endif /* TN_RUNTIME_DEVICE_DEVICE_H_ */
