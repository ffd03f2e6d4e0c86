/* What compiled code calls: memory for a call, in the order of a stack, and the last error. */
#include "micro/graph_impl.h"
#include "tvm/runtime/c_backend_api.h"

enum { HEAD = TN_MICRO_ALIGN }; /* before each piece: where the one below begins */

static uint8_t *base;
static size_t capacity, top, last;
static size_t missing;
static const char *last_error = "";

void micro_workspace_set(uint8_t *memory, size_t bytes) {
  base = memory;
  capacity = bytes;
  top = last = missing = 0;
}

tn_micro_status tn_micro_workspace_init(void *memory, size_t bytes) {
  if ((uintptr_t)memory % TN_MICRO_ALIGN) return TN_MICRO_UNALIGNED;
  micro_workspace_set(memory, bytes);
  return TN_MICRO_OK;
}

size_t tn_micro_workspace_missing(void) { return missing; }

void TVMAPISetLastError(const char *msg) { last_error = msg; }
const char *TVMGetLastError(void) { return last_error; }

void *TVMBackendAllocWorkspace(int device_type, int device_id, uint64_t nbytes, int dtype_code_hint,
                               int dtype_bits_hint) {
  (void)device_type, (void)device_id, (void)dtype_code_hint, (void)dtype_bits_hint;
  size_t left = capacity - top;
  if (nbytes > left || left - (size_t)nbytes < HEAD + TN_MICRO_ALIGN) {
    missing = (size_t)nbytes + HEAD + TN_MICRO_ALIGN - left;
    last_error = "the memory is too small for what a kernel needs for itself";
    return NULL;
  }
  *(size_t *)(void *)(base + top) = last;
  last = top;
  top += HEAD + ((size_t)nbytes + TN_MICRO_ALIGN - 1) / TN_MICRO_ALIGN * TN_MICRO_ALIGN;
  return base + last + HEAD;
}

int TVMBackendFreeWorkspace(int device_type, int device_id, void *ptr) {
  (void)device_type, (void)device_id;
  if (top == 0 || (uint8_t *)ptr != base + last + HEAD) {
    last_error = "memory of a kernel is not given back in the order of a stack";
    return -1;
  }
  top = last;
  last = *(size_t *)(void *)(base + top);
  return 0;
}
