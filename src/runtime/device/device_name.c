/* Names of device types, and devices as text: "cuda", "cuda:3", "remote[1]:cuda(0)". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/device/device.h"

typedef struct {
  const char *name;
  uint8_t type;
  uint8_t host, address; /* see tn_device_is_host, tn_device_is_address */
} device_row;

/* The first row of a type is its name; the others are targets and older names for it. */
static const device_row devices[] = {
    {"cpu", kDLCPU, 1, 1},
    {"llvm", kDLCPU, 1, 1},
    {"c", kDLCPU, 1, 1},
    {"stackvm", kDLCPU, 1, 1},
    {"hybrid", kDLCPU, 1, 1},
    {"composite", kDLCPU, 1, 1},
    {"test", kDLCPU, 1, 1},
    {"cuda", kDLCUDA, 0, 1},
    {"gpu", kDLCUDA, 0, 1},
    {"nvptx", kDLCUDA, 0, 1},
    {"cuda_host", kDLCUDAHost, 1, 1},
    {"opencl", kDLOpenCL, 0, 0},
    {"cl", kDLOpenCL, 0, 0},
    {"aocl", 5, 0, 0},
    {"aocl_sw_emu", 5, 0, 0},
    {"sdaccel", 6, 0, 0},
    {"vulkan", kDLVulkan, 0, 0},
    {"metal", kDLMetal, 0, 0},
    {"vpi", kDLVPI, 0, 0},
    {"rocm", kDLROCM, 0, 1},
    {"rocm_host", kDLROCMHost, 1, 1},
    {"ext_dev", kDLExtDev, 0, 0},
    {"cuda_managed", kDLCUDAManaged, 0, 1},
    {"micro_dev", 13, 0, 0},
    {"oneapi", kDLOneAPI, 0, 1},
    {"webgpu", kDLWebGPU, 0, 0},
    {"hexagon", kDLHexagon, 0, 0},
};

static const device_row *row_of(int device_type) {
  for (int i = 0; i < TN_COUNT(devices); ++i) {
    if (devices[i].type == device_type) return &devices[i];
  }
  return NULL;
}

const char *tn_device_type_name(int device_type) {
  const device_row *row = row_of(device_type % TN_DEVICE_REMOTE);
  return row ? row->name : NULL;
}

bool tn_device_is_host(tn_device dev) {
  const device_row *row = row_of((int)dev.device_type);
  return row && row->host;
}

bool tn_device_is_address(tn_device dev) {
  const device_row *row = row_of((int)dev.device_type);
  return row && row->address;
}

static int type_of(const char *name, size_t n) {
  for (int i = 0; i < TN_COUNT(devices); ++i) {
    if (strlen(devices[i].name) == n && memcmp(devices[i].name, name, n) == 0)
      return devices[i].type;
  }
  return -1;
}

int tn_device_type_find(const char *name) { return type_of(name, strlen(name)); }

static int unknown_name(const char *name, size_t n) {
  char text[24]; /* longer than the names of the table */
  snprintf(text, sizeof text, "%.*s", (int)(n < sizeof text ? n : 0), name);
  tn_near near = {.name = text};
  for (int i = 0; i < TN_COUNT(devices); ++i) tn_near_offer(&near, devices[i].name);
  return TN_RAISE(ValueError, NULL, "unknown device \"%.*s\"%s", (int)(n < 60 ? n : 60), name,
                  near.n ? tn_near_text(&near)
                         : ": expected a name such as cpu, llvm, cuda or opencl:1");
}

/* "cuda", "cuda:3", or a target, whose first word names the device: "llvm -mcpu=native". */
int tn_device_parse(const char *text, int id, tn_device *out) {
  const char *s = text + strspn(text, " ");
  size_t n = strcspn(s, " :");
  int type = type_of(s, n);
  if (type < 0) return unknown_name(s, n);
  s += n;
  if (*s == ':') {
    size_t digits = strspn(s + 1, "0123456789"), rest = 1 + digits;
    TN_CHECK(digits > 0 && digits <= 9 && s[rest + strspn(s + rest, " ")] == '\0', ValueError, NULL,
             "device \"%.60s\": expected a number behind the colon, as in cuda:3", text);
    id = atoi(s + 1); /* at most nine digits */
  }
  *out = (tn_device){(DLDeviceType)type, id};
  return 0;
}

const char *tn_device_text(tn_device dev, char out[TN_DEVICE_TEXT]) {
  int type = (int)dev.device_type, session = type / TN_DEVICE_REMOTE - 1;
  const char *name = type > 0 ? tn_device_type_name(type) : NULL;
  char remote[24] = "", number[24];
  if (session >= 0) snprintf(remote, sizeof remote, "remote[%d]:", session);
  snprintf(number, sizeof number, "device_type_%d", type);
  snprintf(out, TN_DEVICE_TEXT, "%s%s(%d)", remote, name ? name : number, dev.device_id);
  return out;
}
