/** NDArray: a tensor as a counted reference. `x->data`, `x->shape` and so on are its DLTensor. */
#ifndef TVM_RUNTIME_NDARRAY_H_
#define TVM_RUNTIME_NDARRAY_H_

#include <utility>
#include <vector>

#include "tvm/runtime/container/optional.h"
#include "tvm/runtime/container/shape_tuple.h"
#include "tvm/runtime/container/string.h"
#include "tvm/runtime/data_type.h"

namespace tvm {

using Device = DLDevice;

namespace runtime {

using Device = DLDevice;

class NDArray : public ObjectRef {
public:
  /** Content of an array. A class derived from it sets type_index_ in its constructor and calls
   * SetDeleter on each object; its memory is what it puts into dl_tensor. The library knows such
   * an object as an opaque one: what needs memory of the library's throws TypeError. */
  class Container : public Object {
  public:
    using FDeleter = void (*)(Object *obj);
    static constexpr const char *_type_key = "runtime.NDArray";
    TVM_SHIM_NATIVE_OBJECT_INFO(Container)

    void SetDeleter(FDeleter deleter) {
      deleter_ = deleter;
      if (!detail::TypeTable::Global().Has(type_index_))
        throw Error("InternalError: NDArray::Container: set type_index_ to RuntimeTypeIndex() of "
                    "the class");
      Give(tn_type_key(type_index_), [](void *p) {
        Container *self = static_cast<Container *>(static_cast<Object *>(p));
        self->deleter_(self);
      });
    }
    DLTensor dl_tensor = {};
    void *manager_ctx = nullptr;

  protected:
    uint32_t type_index_ = 0;

  private:
    FDeleter deleter_ = nullptr;
  };
  using ContainerBase = DLTensor;

  NDArray() = default;
  TVM_SHIM_REF_BASE(NDArray, ObjectRef, Container)

  const DLTensor *operator->() const { return dl(); }
  DLTensor *dl() const {
    if (!defined()) return nullptr;
    return IsNative() ? tn_tensor_dl(tensor())
                      : &static_cast<Container *>(get_mutable())->dl_tensor;
  }
  bool IsContiguous() const { return tn_tensor_is_contiguous(dl()); }
  ShapeTuple Shape() const { return ShapeTuple(dl()->shape, dl()->shape + dl()->ndim); }
  runtime::DataType DataType() const { return runtime::DataType(dl()->dtype); }

  /** A tensor with uninitialised content. */
  static NDArray Empty(const ShapeTuple &shape, DLDataType dtype, Device dev,
                       const Optional<String> &mem_scope = NullOpt) {
    detail::CheckCall(tn_runtime_init());
    return Take(tn_tensor_new(shape.data(), static_cast<int32_t>(shape.size()), dtype, dev,
                              mem_scope.defined() ? mem_scope.value().c_str() : nullptr));
  }
  /** Takes over the tensor of a producer. */
  static NDArray FromDLPack(DLManagedTensor *tensor) {
    detail::CheckCall(tn_runtime_init());
    return Take(tn_tensor_from_dlpack(tensor));
  }
  /** Over memory of the caller, who keeps it as long as the result lives. */
  static NDArray FromExternalDLTensor(const DLTensor &tensor) {
    detail::CheckCall(tn_runtime_init());
    return Take(tn_tensor_from_dltensor(&tensor, nullptr));
  }
  static NDArray NewFromDLTensor(DLTensor *tensor, const Device &dev) {
    return Take(tn_tensor_clone(tensor, dev, nullptr));
  }
  /** The consumer calls the deleter; the memory is shared. */
  DLManagedTensor *ToDLPack() const { return detail::CheckNew(tn_tensor_to_dlpack(tensor())); }

  void CopyFrom(const DLTensor *other) { detail::CheckCall(tn_tensor_copy(other, dl())); }
  void CopyFrom(const NDArray &other) { CopyFrom(other.operator->()); }
  void CopyFromBytes(const void *data, size_t nbytes) {
    detail::CheckCall(tn_tensor_copy_from_bytes(dl(), data, nbytes));
  }
  void CopyTo(DLTensor *other) const { detail::CheckCall(tn_tensor_copy(dl(), other)); }
  void CopyTo(const NDArray &other) const { CopyTo(other.dl()); }
  void CopyToBytes(void *data, size_t nbytes) const {
    detail::CheckCall(tn_tensor_copy_to_bytes(dl(), data, nbytes));
  }
  NDArray CopyTo(const Device &dev, const Optional<String> &mem_scope = NullOpt) const {
    return Take(
        tn_tensor_clone(dl(), dev, mem_scope.defined() ? mem_scope.value().c_str() : nullptr));
  }
  static void CopyFromTo(const DLTensor *from, DLTensor *to, TVMStreamHandle = nullptr) {
    detail::CheckCall(tn_tensor_copy(from, to));
  }
  /** The same memory under another shape and type, which may not be larger. */
  NDArray CreateView(const ShapeTuple &shape, DLDataType dtype, uint64_t byte_offset = 0) const {
    return Take(tn_tensor_view(tensor(), shape.data(), static_cast<int32_t>(shape.size()), dtype,
                               static_cast<int64_t>(byte_offset)));
  }

private:
  bool IsNative() const { return handle()->type_index == Container::RuntimeTypeIndex(); }
  tn_tensor *tensor() const {
    if (defined() && !IsNative())
      throw Error(std::string("TypeError: ") + tn_obj_key(handle()) +
                  " is a class of C++: the library has no memory of it to share");
    return reinterpret_cast<tn_tensor *>(handle());
  }
  static NDArray Take(tn_tensor *t) {
    return detail::AdoptRef<NDArray>(reinterpret_cast<tn_obj *>(detail::CheckNew(t)));
  }
};

/** Bytes of the elements of a tensor. */
inline size_t GetDataSize(const DLTensor &t) { return static_cast<size_t>(tn_tensor_nbytes(&t)); }
inline bool IsContiguous(const DLTensor &t) { return tn_tensor_is_contiguous(&t); }

} // namespace runtime

using runtime::NDArray;

} // namespace tvm

#endif // TVM_RUNTIME_NDARRAY_H_
