/** ShapeTuple: an immutable sequence of extents. */
#ifndef TVM_RUNTIME_CONTAINER_SHAPE_TUPLE_H_
#define TVM_RUNTIME_CONTAINER_SHAPE_TUPLE_H_

#include <initializer_list>
#include <iterator>
#include <ostream>
#include <vector>

#include "tvm/runtime/object.h"

namespace tvm {
namespace runtime {

class ShapeTupleObj : public Object {
public:
  static constexpr const char *_type_key = "runtime.ShapeTuple";
  TVM_SHIM_NATIVE_OBJECT_INFO(ShapeTupleObj)
};

class ShapeTuple : public ObjectRef {
public:
  using index_type = int64_t;
  TVM_SHIM_REF_BASE(ShapeTuple, ObjectRef, ShapeTupleObj)

  ShapeTuple() : ShapeTuple(nullptr, 0) {}
  ShapeTuple(std::initializer_list<int64_t> dims) : ShapeTuple(dims.begin(), dims.size()) {}
  ShapeTuple(const std::vector<int64_t> &dims) : ShapeTuple(dims.data(), dims.size()) {}
  template <typename It, typename = typename std::iterator_traits<It>::iterator_category>
  ShapeTuple(It begin, It end) : ShapeTuple(std::vector<int64_t>(begin, end)) {}

  const int64_t *data() const {
    int64_t n;
    return tn_shape_get(shape(), &n);
  }
  size_t size() const {
    int64_t n = 0;
    tn_shape_get(shape(), &n);
    return static_cast<size_t>(n);
  }
  bool empty() const { return size() == 0; }
  int64_t operator[](size_t i) const { return data()[i]; }
  int64_t at(size_t i) const {
    if (i >= size()) throw Error("IndexError: shape index out of range");
    return data()[i];
  }
  int64_t front() const { return at(0); }
  int64_t back() const { return at(size() - 1); }
  const int64_t *begin() const { return data(); }
  const int64_t *end() const { return data() + size(); }

private:
  ShapeTuple(const int64_t *dims, size_t n)
      : ObjectRef(ObjectPtr<Object>::Adopt(reinterpret_cast<tn_obj *>(
            detail::CheckNew(tn_shape_new(dims, static_cast<int64_t>(n)))))) {}
  const tn_shape *shape() const { return reinterpret_cast<const tn_shape *>(handle()); }
};

inline std::ostream &operator<<(std::ostream &os, const ShapeTuple &s) {
  os << '[';
  for (size_t i = 0; i < s.size(); ++i) os << (i ? ", " : "") << s[i];
  return os << ']';
}

} // namespace runtime

using runtime::ShapeTuple;

} // namespace tvm

#endif // TVM_RUNTIME_CONTAINER_SHAPE_TUPLE_H_
