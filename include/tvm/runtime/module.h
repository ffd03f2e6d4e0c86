/** Module: functions that were compiled or loaded together. */
#ifndef TVM_RUNTIME_MODULE_H_
#define TVM_RUNTIME_MODULE_H_

#include <string>
#include <vector>

#include "tvm/runtime/container/string.h"
#include "tvm/runtime/object.h"

namespace tvm {
namespace runtime {

class Module;
class PackedFunc;

/** What a Module points to. A kind of module of one's own is made in C: tn_module_ops. */
class ModuleNode : public Object {
public:
  static constexpr const char *_type_key = "runtime.Module";
  TVM_SHIM_NATIVE_OBJECT_INFO(ModuleNode)

  const char *type_key() const { return tn_module_type_key(module()); }
  /** Throws when the kind of module has no source. */
  std::string GetSource(const std::string &format = "") const {
    return detail::AdoptRef<String>(
        reinterpret_cast<tn_obj *>(detail::CheckNew(tn_module_source(module(), format.c_str()))));
  }
  std::string GetFormat() const { return tn_module_format(module()); }
  int GetPropertyMask() const { return static_cast<int>(tn_module_properties(module())); }
  void SaveToFile(const std::string &path, const std::string &format = "") const {
    detail::CheckCall(tn_module_save(module(), path.c_str(), format.c_str()));
  }
  inline void Import(Module other);
  void ClearImports() { tn_module_clear_imports(module()); }
  inline std::vector<Module> imports() const;
  inline PackedFunc GetFunction(const std::string &name, bool query_imports = false) const;

private:
  tn_module *module() const { return reinterpret_cast<tn_module *>(handle()); }
};

class Module : public ObjectRef {
public:
  TVM_DEFINE_MUTABLE_OBJECT_REF_METHODS(Module, ObjectRef, ModuleNode)

  /** Loads a file. @param format "" to go by its ending */
  static Module LoadFromFile(const std::string &path, const std::string &format = "") {
    detail::CheckCall(tn_runtime_init());
    return detail::AdoptRef<Module>(
        reinterpret_cast<tn_obj *>(detail::CheckNew(tn_module_load(path.c_str(), format.c_str()))));
  }
  /** A null function when there is none of that name. */
  inline PackedFunc GetFunction(const std::string &name, bool query_imports = false) const;
  void Import(Module other) { get()->Import(other); }
};

inline void ModuleNode::Import(Module other) {
  detail::CheckCall(tn_module_import(module(), reinterpret_cast<tn_module *>(other.handle())));
}

inline std::vector<Module> ModuleNode::imports() const {
  std::vector<Module> out;
  tn_arr *list = detail::CheckNew(tn_module_imports(module()));
  for (int64_t i = 0; i < tn_arr_len(list); ++i)
    out.push_back(detail::BorrowRef<Module>(tn_arr_get(list, i).v.obj));
  tn_release(list);
  return out;
}

/** Can code of this target or device run here? */
inline bool RuntimeEnabled(const std::string &target);

namespace symbol {
/** Symbols of compiled libraries. */
constexpr const char *tvm_module_ctx = "__tvm_module_ctx";
constexpr const char *tvm_dev_mblob = "__tvm_dev_mblob";
constexpr const char *tvm_module_main = "__tvm_main__";
} // namespace symbol

} // namespace runtime
} // namespace tvm

#include "tvm/runtime/packed_func.h" // defines GetFunction

#endif // TVM_RUNTIME_MODULE_H_
