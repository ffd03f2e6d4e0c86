// Runs compiled functions from C++, as deployers of the Relay-era interface do.
//
//     bin/deploy lib/add_one.so add_one       a function of a shared library
//     bin/deploy                              a function linked into this program (the system
//     library)
#include <dlpack/dlpack.h>
#include <tvm/runtime/module.h>
#include <tvm/runtime/packed_func.h>
#include <tvm/runtime/registry.h>

#include <cstdio>
#include <string>

using tvm::runtime::Module;
using tvm::runtime::PackedFunc;
using tvm::runtime::Registry;

// f(x, y) with y = x + 1 for float32 vectors. Returns whether the result is right.
bool Verify(Module mod, const std::string &name) {
  PackedFunc f = mod.GetFunction(name);
  CHECK(f != nullptr) << "AttributeError: the library has no function " << name;

  DLTensor *x;
  DLTensor *y;
  int64_t shape[1] = {10};
  TVMArrayAlloc(shape, 1, kDLFloat, 32, 1, kDLCPU, 0, &x);
  TVMArrayAlloc(shape, 1, kDLFloat, 32, 1, kDLCPU, 0, &y);
  for (int i = 0; i < shape[0]; ++i) static_cast<float *>(x->data)[i] = static_cast<float>(i);
  f(x, y); // one call, whatever the function takes and returns
  bool right = true;
  for (int i = 0; i < shape[0]; ++i)
    right = right && static_cast<float *>(y->data)[i] == static_cast<float>(i) + 1.0f;
  TVMArrayFree(x);
  TVMArrayFree(y);
  return right;
}

int main(int argc, char **argv) {
  try {
    bool loaded = argc == 3;
    std::string name = loaded ? argv[2] : "add_one";
    Module mod = loaded ? Module::LoadFromFile(argv[1])
                        : (*Registry::Get("runtime.SystemLib"))().operator Module();
    bool right = Verify(mod, name);
    std::printf("%s of %s: %s\n", name.c_str(), loaded ? argv[1] : "the program",
                right ? "right" : "WRONG");
    return right ? 0 : 1;
  } catch (const tvm::runtime::Error &e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
}
