/** Array<T>: an immutable array of references. Changing one makes a new array, so build large ones
 * from a std::vector. */
#ifndef TVM_RUNTIME_CONTAINER_ARRAY_H_
#define TVM_RUNTIME_CONTAINER_ARRAY_H_

#include <initializer_list>
#include <iterator>
#include <vector>

#include "tvm/runtime/container/optional.h"
#include "tvm/runtime/object.h"

namespace tvm {
namespace runtime {

class ArrayNode : public Object {
public:
  static constexpr const char *_type_key = "Array";
  TVM_SHIM_NATIVE_OBJECT_INFO(ArrayNode)
};

namespace detail {

/** An element of a container as a T. Throws TypeError. */
template <typename T> T ElementAs(const tn_any &a) {
  if (a.type_index != TN_NONE && !tn_any_is_obj(&a))
    throw Error(std::string("TypeError: expected an object in a container, got ") +
                tn_type_key(static_cast<uint32_t>(a.type_index)));
  tn_obj *obj = tn_any_is_obj(&a) ? a.v.obj : nullptr;
  if (!IsRef<T>(obj))
    throw Error(std::string("TypeError: expected ") + T::ContainerType::_type_key +
                " in a container, got " + tn_obj_key(obj));
  return BorrowRef<T>(obj);
}

/** Random access by index over a container with operator[] and size(). */
template <typename C, typename T> class IndexIterator {
public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = T;
  using difference_type = int64_t;
  using pointer = const T *;
  using reference = const T;

  IndexIterator(const C *c, int64_t i) : c_(c), i_(i) {}
  const T operator*() const { return (*c_)[i_]; }
  const T operator[](int64_t n) const { return (*c_)[i_ + n]; }
  IndexIterator &operator++() { return ++i_, *this; }
  IndexIterator &operator--() { return --i_, *this; }
  IndexIterator operator++(int) { return IndexIterator(c_, i_++); }
  IndexIterator operator--(int) { return IndexIterator(c_, i_--); }
  IndexIterator &operator+=(int64_t n) { return i_ += n, *this; }
  IndexIterator &operator-=(int64_t n) { return i_ -= n, *this; }
  IndexIterator operator+(int64_t n) const { return IndexIterator(c_, i_ + n); }
  IndexIterator operator-(int64_t n) const { return IndexIterator(c_, i_ - n); }
  int64_t operator-(const IndexIterator &o) const { return i_ - o.i_; }
  bool operator==(const IndexIterator &o) const { return i_ == o.i_; }
  bool operator!=(const IndexIterator &o) const { return i_ != o.i_; }
  bool operator<(const IndexIterator &o) const { return i_ < o.i_; }

private:
  const C *c_;
  int64_t i_;
};

} // namespace detail

template <typename T> class Array : public ObjectRef {
public:
  TVM_SHIM_REF_BASE(Array, ObjectRef, ArrayNode)
  using value_type = T;
  using iterator = detail::IndexIterator<Array<T>, T>;

  Array() : Array(std::vector<T>()) {}
  Array(std::nullptr_t) : ObjectRef(nullptr) {}
  Array(const std::vector<T> &items) : Array(items.begin(), items.end()) {}
  Array(std::initializer_list<T> items) : Array(items.begin(), items.end()) {}
  Array(size_t n, const T &value) : Array(std::vector<T>(n, value)) {}
  template <typename It> Array(It begin, It end) {
    std::vector<tn_any> any;
    std::vector<T> kept(begin, end);
    for (const T &item : kept) any.push_back(tn_any_obj(item.handle()));
    data_ = ObjectPtr<Object>::Adopt(reinterpret_cast<tn_obj *>(
        detail::CheckNew(tn_arr_new(any.data(), static_cast<int64_t>(any.size())))));
  }

  size_t size() const { return defined() ? static_cast<size_t>(tn_arr_len(arr())) : 0; }
  bool empty() const { return size() == 0; }
  const T operator[](int64_t i) const {
    if (i < 0 || static_cast<size_t>(i) >= size())
      throw Error("IndexError: array index " + std::to_string(i) + " out of range of " +
                  std::to_string(size()));
    return detail::ElementAs<T>(tn_arr_get(arr(), i));
  }
  const T front() const { return (*this)[0]; }
  const T back() const { return (*this)[static_cast<int64_t>(size()) - 1]; }
  iterator begin() const { return iterator(this, 0); }
  iterator end() const { return iterator(this, static_cast<int64_t>(size())); }

  void push_back(const T &item) {
    std::vector<T> items(begin(), end());
    items.push_back(item);
    *this = Array(items);
  }
  void Set(int64_t i, T value) {
    std::vector<T> items(begin(), end());
    items.at(static_cast<size_t>(i)) = value;
    *this = Array(items);
  }

private:
  const tn_arr *arr() const { return reinterpret_cast<const tn_arr *>(handle()); }
};

} // namespace runtime

using runtime::Array;

} // namespace tvm

#endif // TVM_RUNTIME_CONTAINER_ARRAY_H_
