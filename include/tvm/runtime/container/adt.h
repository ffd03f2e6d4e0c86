/** ADT: a tag and fields; a tuple has tag 0. */
#ifndef TVM_RUNTIME_CONTAINER_ADT_H_
#define TVM_RUNTIME_CONTAINER_ADT_H_

#include <initializer_list>
#include <vector>

#include "tvm/runtime/container/array.h"

namespace tvm {
namespace runtime {

class ADTObj : public Object {
public:
  static constexpr const char *_type_key = "runtime.ADT";
  TVM_SHIM_NATIVE_OBJECT_INFO(ADTObj)
};

class ADT : public ObjectRef {
public:
  TVM_DEFINE_OBJECT_REF_METHODS(ADT, ObjectRef, ADTObj)

  ADT(int32_t tag, const std::vector<ObjectRef> &fields) {
    std::vector<tn_any> any;
    for (const ObjectRef &f : fields) any.push_back(tn_any_obj(f.handle()));
    data_ = ObjectPtr<Object>::Adopt(reinterpret_cast<tn_obj *>(detail::CheckNew(
        tn_tuple_new(static_cast<uint32_t>(tag), any.data(), static_cast<int64_t>(any.size())))));
  }
  ADT(int32_t tag, std::initializer_list<ObjectRef> fields)
      : ADT(tag, std::vector<ObjectRef>(fields)) {}
  template <typename... Args,
            typename = typename std::enable_if<
                (std::is_base_of<ObjectRef, typename std::decay<Args>::type>::value && ...)>::type>
  static ADT Tuple(Args &&...args) {
    return ADT(0, {std::forward<Args>(args)...});
  }
  static ADT Tuple(const std::vector<ObjectRef> &fields) { return ADT(0, fields); }

  int32_t tag() const { return static_cast<int32_t>(tn_tuple_tag(tuple())); }
  size_t size() const { return static_cast<size_t>(tn_tuple_len(tuple())); }
  ObjectRef operator[](size_t i) const {
    if (i >= size()) throw Error("IndexError: field index out of range");
    return detail::ElementAs<ObjectRef>(tn_tuple_get(tuple(), static_cast<int64_t>(i)));
  }

private:
  const tn_tuple *tuple() const { return reinterpret_cast<const tn_tuple *>(handle()); }
};

} // namespace runtime
} // namespace tvm

#endif // TVM_RUNTIME_CONTAINER_ADT_H_
