/**
 * Objects in C++: references that count (ObjectRef, ObjectPtr), and classes of one's own.
 *
 *     class CounterObj : public Object {
 *      public:
 *       int count = 0;
 *       static constexpr const char *_type_key = "my.Counter";
 *       TVM_DECLARE_FINAL_OBJECT_INFO(CounterObj, Object);
 *     };
 *     class Counter : public ObjectRef {
 *      public:
 *       TVM_DEFINE_OBJECT_REF_METHODS(Counter, ObjectRef, CounterObj);
 *     };
 *     TVM_REGISTER_OBJECT_TYPE(CounterObj);
 *     ... Counter c(make_object<CounterObj>());  c->count
 *
 * The library knows an object of such a class as an opaque object of its type key, which owns the
 * C++ object; everything else (arrays, strings, tensors) belongs to the library, and a
 * `const Object *` to it is only good for the methods of class Object.
 */
#ifndef TVM_RUNTIME_OBJECT_H_
#define TVM_RUNTIME_OBJECT_H_

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "tenon/ffi.h"
#include "tenon/runtime.h"
#include "tvm/runtime/logging.h"

namespace tvm {
namespace runtime {

class Object;
class ObjectRef;
template <typename T> class ObjectPtr;

/** Numbers of types; those of a program's own classes are given when the program runs. */
struct TypeIndex {
  enum { kRoot = 0, kDynamic = 8 };
};

namespace detail {

/** Throws the pending error of the library. */
[[noreturn]] inline void ThrowPending() {
  std::string text = tn_error_message();
  std::string name = tn_error_class();
  tn_error_clear();
  throw Error(name.empty() ? text : name + ": " + text);
}

/** Throws unless a call of tenon/ffi.h was successful. */
inline void CheckCall(int err) {
  if (err) ThrowPending();
}
template <typename T> T *CheckNew(T *obj) {
  if (!obj) ThrowPending();
  return obj;
}

/** Types of C++ classes: index to index of the base class. One table for each library. */
struct TypeTable {
  std::mutex lock;
  std::unordered_map<uint32_t, uint32_t> base;
  static TypeTable &Global() {
    static TypeTable *table = new TypeTable(); /* outlives static destructors */
    return *table;
  }
  bool Has(uint32_t index) {
    std::lock_guard<std::mutex> guard(lock);
    return base.count(index) != 0;
  }
  /** Index of the base class, 0 for a type of the library. */
  uint32_t BaseOf(uint32_t index) {
    std::lock_guard<std::mutex> guard(lock);
    auto it = base.find(index);
    return it == base.end() ? 0 : it->second;
  }
};

inline uint32_t NativeTypeIndex(const char *key) {
  CheckCall(tn_runtime_init());
  return tn_type_find(key);
}

/** Registers a C++ class under its type key. */
inline uint32_t RegisterType(const char *key, uint32_t base) {
  CheckCall(tn_runtime_init());
  tn_obj *probe = CheckNew(tn_opaque_new(key, nullptr, nullptr));
  uint32_t index = probe->type_index;
  tn_release(probe);
  std::lock_guard<std::mutex> guard(TypeTable::Global().lock);
  TypeTable::Global().base[index] = base;
  return index;
}

/** Is the type of index `i` the wanted one, or derived from it? */
inline bool TypeIs(uint32_t i, uint32_t wanted) {
  for (uint32_t next = i; next; next = TypeTable::Global().BaseOf(i)) {
    i = next;
    if (i == wanted) return true;
  }
  const tn_type *t = tn_type_get(i), *base = tn_type_get(wanted);
  return t && base && tn_type_is(t, base);
}

} // namespace detail

/** Base of all object classes. */
class Object {
public:
  static constexpr const char *_type_key = "Object";
  static uint32_t RuntimeTypeIndex() { return detail::NativeTypeIndex(_type_key); }
  static uint32_t _GetOrAllocRuntimeTypeIndex() { return RuntimeTypeIndex(); }

  Object() : header_(), handle_(nullptr) {}
  Object(const Object &) : header_(), handle_(nullptr) {} /* a copy is a separate object */
  Object &operator=(const Object &) { return *this; }

  uint32_t type_index() const { return header_.type_index; }
  std::string GetTypeKey() const { return tn_type_key(type_index()); }
  static std::string TypeIndex2Key(uint32_t index) { return tn_type_key(index); }
  template <typename T> bool IsInstance() const {
    return std::is_same<T, Object>::value ||
           detail::TypeIs(type_index(), T::_GetOrAllocRuntimeTypeIndex());
  }
  int use_count() const { return static_cast<int>(tn_use_count(handle())); }
  bool unique() const { return use_count() == 1; }

  /** The library's object: this one itself, or the opaque object that owns this one. */
  tn_obj *handle() const {
    /* A live object of the library has references; the header of a C++ object says it has none. */
    const uint32_t *rc = reinterpret_cast<const uint32_t *>(&header_); /* first member */
    bool native = __atomic_load_n(rc, __ATOMIC_RELAXED) != 0;
    return native ? const_cast<tn_obj *>(&header_) : handle_;
  }
  /** The C++ view of an object of the library. */
  static Object *View(tn_obj *obj) {
    if (!obj || !detail::TypeTable::Global().Has(obj->type_index))
      return reinterpret_cast<Object *>(obj);
    return static_cast<Object *>(tn_opaque_get(obj, tn_obj_key(obj)));
  }

  /** A reference to it that the caller owns: the first one is that of a new C++ object. */
  tn_obj *Retained() const {
    tn_obj *obj = handle();
    if (!obj) throw Error("InternalError: the object is not the library's yet: call SetDeleter");
    if (header_.type) tn_retain(obj);
    else const_cast<Object *>(this)->header_.type = obj->type;
    return obj;
  }

protected:
  template <typename T, typename... Args> friend ObjectPtr<T> make_object(Args &&...args);

  /** Gives a C++ object to the library, which owns it from the first reference on.
   *  @param destroy  gets this object, as an Object */
  void Give(const char *key, void (*destroy)(void *)) {
    handle_ = detail::CheckNew(tn_opaque_new(key, this, destroy));
    header_.type_index = handle_->type_index;
  }

private:
  tn_obj header_;  /* of the library's objects, the object itself; here only type and index */
  tn_obj *handle_; /* exists in C++ objects only: their owner */
};

/** A counted pointer to an object. */
template <typename T> class ObjectPtr {
public:
  ObjectPtr() = default;
  ObjectPtr(std::nullptr_t) {}
  ObjectPtr(const ObjectPtr &other) : ObjectPtr(Borrow(other.handle_)) {}
  ObjectPtr(ObjectPtr &&other) noexcept : handle_(other.handle_), ptr_(other.ptr_) {
    other.handle_ = nullptr;
    other.ptr_ = nullptr;
  }
  template <typename U, typename = typename std::enable_if<std::is_base_of<T, U>::value>::type>
  ObjectPtr(const ObjectPtr<U> &other) : ObjectPtr(Borrow(other.handle())) {}
  ~ObjectPtr() { tn_release(handle_); }
  ObjectPtr &operator=(ObjectPtr other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(ptr_, other.ptr_);
    return *this;
  }

  /** Takes a reference over. */
  static ObjectPtr Adopt(tn_obj *owned) {
    ObjectPtr p;
    p.handle_ = owned;
    p.ptr_ = static_cast<T *>(Object::View(owned));
    return p;
  }
  /** A reference of its own. */
  static ObjectPtr Borrow(tn_obj *obj) {
    tn_retain(obj);
    return Adopt(obj);
  }

  T *get() const { return ptr_; }
  T *operator->() const { return ptr_; }
  T &operator*() const { return *ptr_; }
  tn_obj *handle() const { return handle_; }
  /** Gives the reference up to the caller. */
  tn_obj *Detach() {
    tn_obj *obj = handle_;
    handle_ = nullptr;
    ptr_ = nullptr;
    return obj;
  }
  void reset() { *this = ObjectPtr(); }
  int use_count() const { return static_cast<int>(tn_use_count(handle_)); }
  bool unique() const { return use_count() == 1; }
  explicit operator bool() const { return handle_ != nullptr; }
  bool operator==(const ObjectPtr &other) const { return handle_ == other.handle_; }
  bool operator!=(const ObjectPtr &other) const { return handle_ != other.handle_; }
  bool operator==(std::nullptr_t) const { return !handle_; }
  bool operator!=(std::nullptr_t) const { return handle_ != nullptr; }

private:
  tn_obj *handle_ = nullptr; /* owned */
  T *ptr_ = nullptr;         /* its C++ view */
};

/** A new object of a C++ class. */
template <typename T, typename... Args> ObjectPtr<T> make_object(Args &&...args) {
  static_assert(std::is_base_of<Object, T>::value, "make_object makes objects");
  T::_GetOrAllocRuntimeTypeIndex();
  T *ptr = new T(std::forward<Args>(args)...);
  auto destroy = [](void *p) { delete static_cast<T *>(static_cast<Object *>(p)); };
  try {
    static_cast<Object *>(ptr)->Give(T::_type_key, destroy);
  } catch (...) {
    delete ptr;
    throw;
  }
  return ObjectPtr<T>::Adopt(ptr->Retained());
}

/** A reference to an object, or to none. Base of all typed references. */
class ObjectRef {
public:
  using ContainerType = Object;
  static constexpr bool _type_is_nullable = true;

  ObjectRef() = default;
  explicit ObjectRef(ObjectPtr<Object> data) : data_(std::move(data)) {}

  bool defined() const { return data_ != nullptr; }
  bool same_as(const ObjectRef &other) const { return data_ == other.data_; }
  bool operator==(const ObjectRef &other) const { return data_ == other.data_; }
  bool operator!=(const ObjectRef &other) const { return data_ != other.data_; }
  bool operator<(const ObjectRef &other) const {
    return std::less<const tn_obj *>()(data_.handle(), other.data_.handle());
  }
  bool operator==(std::nullptr_t) const { return !defined(); }
  bool operator!=(std::nullptr_t) const { return defined(); }
  bool unique() const { return data_.unique(); }
  int use_count() const { return data_.use_count(); }
  const Object *get() const { return data_.get(); }
  const Object *operator->() const { return get(); }
  /** The object as a T, or nullptr. */
  template <typename T> const T *as() const {
    return defined() && get()->IsInstance<T>() ? static_cast<const T *>(get()) : nullptr;
  }

  /** The library's object, borrowed. */
  tn_obj *handle() const { return data_.handle(); }
  const ObjectPtr<Object> &ptr() const { return data_; }

protected:
  Object *get_mutable() const { return data_.get(); }
  ObjectPtr<Object> data_;
};

namespace detail {
/** A typed reference that takes an owned object over; the type has been checked. */
template <typename T> T AdoptRef(tn_obj *owned) { return T(ObjectPtr<Object>::Adopt(owned)); }
template <typename T> T BorrowRef(tn_obj *obj) { return T(ObjectPtr<Object>::Borrow(obj)); }
/** May the object stand behind a reference of class T? */
template <typename T> bool IsRef(const tn_obj *obj) {
  if (!obj) return T::_type_is_nullable;
  return std::is_same<typename T::ContainerType, Object>::value ||
         TypeIs(obj->type_index, T::ContainerType::_GetOrAllocRuntimeTypeIndex());
}
} // namespace detail

/** A reference from a pointer to the object's content. */
template <typename RefType, typename ObjType> RefType GetRef(const ObjType *ptr) {
  return detail::AdoptRef<RefType>(ptr ? ptr->Retained() : nullptr);
}
template <typename BaseType, typename ObjType> ObjectPtr<BaseType> GetObjectPtr(ObjType *ptr) {
  return ObjectPtr<BaseType>::Adopt(ptr ? ptr->Retained() : nullptr);
}

/** The same object as another class. Throws InternalError when it is of none. */
template <typename SubRef> SubRef Downcast(const ObjectRef &ref) {
  ICHECK(detail::IsRef<SubRef>(ref.handle()))
      << "Downcast from " << tn_obj_key(ref.handle()) << " to " << SubRef::ContainerType::_type_key
      << " failed.";
  return detail::BorrowRef<SubRef>(ref.handle());
}

struct ObjectPtrHash {
  size_t operator()(const ObjectRef &a) const { return std::hash<const void *>()(a.handle()); }
};
struct ObjectPtrEqual {
  bool operator()(const ObjectRef &a, const ObjectRef &b) const { return a.same_as(b); }
};

} // namespace runtime

using runtime::GetRef;
using runtime::make_object;
using runtime::Object;
using runtime::ObjectPtr;
using runtime::ObjectPtrEqual;
using runtime::ObjectPtrHash;
using runtime::ObjectRef;

} // namespace tvm

/** In a class of one's own, after _type_key. */
#define TVM_DECLARE_BASE_OBJECT_INFO(TypeName, ParentType)                                         \
  static uint32_t RuntimeTypeIndex() {                                                             \
    static uint32_t index = ::tvm::runtime::detail::RegisterType(                                  \
        TypeName::_type_key, ParentType::_GetOrAllocRuntimeTypeIndex());                           \
    return index;                                                                                  \
  }                                                                                                \
  static uint32_t _GetOrAllocRuntimeTypeIndex() { return RuntimeTypeIndex(); }
#define TVM_DECLARE_FINAL_OBJECT_INFO(TypeName, ParentType)                                        \
  TVM_DECLARE_BASE_OBJECT_INFO(TypeName, ParentType)
/** In a view of one of the library's own types. */
#define TVM_SHIM_NATIVE_OBJECT_INFO(TypeName)                                                      \
  static uint32_t RuntimeTypeIndex() {                                                             \
    static uint32_t index = ::tvm::runtime::detail::NativeTypeIndex(TypeName::_type_key);          \
    return index;                                                                                  \
  }                                                                                                \
  static uint32_t _GetOrAllocRuntimeTypeIndex() { return RuntimeTypeIndex(); }

/** Makes the type known when the library is loaded, before the first object. */
#define TVM_REGISTER_OBJECT_TYPE(TypeName)                                                         \
  TVM_SHIM_STATIC(TVM_SHIM_JOIN(tvm_type_, __COUNTER__)) = TypeName::_GetOrAllocRuntimeTypeIndex()
#define TVM_SHIM_STATIC(name) static __attribute__((unused)) uint32_t name
#define TVM_SHIM_JOIN(a, b)   TVM_SHIM_JOIN_(a, b)
#define TVM_SHIM_JOIN_(a, b)  a##b

#define TVM_SHIM_REF_BASE(TypeName, ParentType, ObjectName)                                        \
  explicit TypeName(::tvm::runtime::ObjectPtr<::tvm::runtime::Object> n)                           \
      : ParentType(std::move(n)) {}                                                                \
  using ContainerType = ObjectName;

/** In a class of references. */
#define TVM_DEFINE_DEFAULT_COPY_MOVE_AND_ASSIGN(TypeName)                                          \
  TypeName(const TypeName &other) = default;                                                       \
  TypeName(TypeName &&other) = default;                                                            \
  TypeName &operator=(const TypeName &other) = default;                                            \
  TypeName &operator=(TypeName &&other) = default;
#define TVM_DEFINE_OBJECT_REF_METHODS(TypeName, ParentType, ObjectName)                            \
  TypeName() = default;                                                                            \
  TVM_SHIM_REF_BASE(TypeName, ParentType, ObjectName)                                              \
  TVM_DEFINE_DEFAULT_COPY_MOVE_AND_ASSIGN(TypeName)                                                \
  const ObjectName *operator->() const { return static_cast<const ObjectName *>(data_.get()); }    \
  const ObjectName *get() const { return operator->(); }
#define TVM_DEFINE_NOTNULLABLE_OBJECT_REF_METHODS(TypeName, ParentType, ObjectName)                \
  TVM_SHIM_REF_BASE(TypeName, ParentType, ObjectName)                                              \
  TVM_DEFINE_DEFAULT_COPY_MOVE_AND_ASSIGN(TypeName)                                                \
  const ObjectName *operator->() const { return static_cast<const ObjectName *>(data_.get()); }    \
  const ObjectName *get() const { return operator->(); }                                           \
  static constexpr bool _type_is_nullable = false;
#define TVM_DEFINE_MUTABLE_OBJECT_REF_METHODS(TypeName, ParentType, ObjectName)                    \
  TypeName() = default;                                                                            \
  TVM_SHIM_REF_BASE(TypeName, ParentType, ObjectName)                                              \
  TVM_DEFINE_DEFAULT_COPY_MOVE_AND_ASSIGN(TypeName)                                                \
  ObjectName *operator->() const { return static_cast<ObjectName *>(data_.get()); }                \
  ObjectName *get() const { return operator->(); }

#endif // TVM_RUNTIME_OBJECT_H_
