// _BufferOfArray: the buffer protocol of classes written in Python, which have none of their own before 3.12; and
// capsules of DLPack for types and flags that NumPy does not export.
#include "lent_memory.h"

#include "tenon/plugin.h"

#include <memory>
#include <optional>
#include <vector>

namespace tenon::python
{

namespace
{
//! The memory of the array that the object's method `_buffer_array` gives.
int exportBuffer(PyObject* self, Py_buffer* view, int flags)
{
    view->obj = nullptr;
    PyObject* const array = PyObject_CallMethod(self, "_buffer_array", nullptr);
    if (array == nullptr)
        return -1;
    int const code = PyObject_GetBuffer(array, view, flags);
    Py_DECREF(array); // The view holds it now.
    if (code != 0 && PyErr_ExceptionMatches(PyExc_ValueError) != 0)
    {
        PyErr_Clear();
        PyErr_SetString(PyExc_BufferError, "the tensor's memory is read-only, or not in the order that is asked for");
    }
    return code;
}

// ---- DLPack, as https://dmlc.github.io/dlpack/latest/c_api.html lays it out

struct DlDevice
{
    int32_t type;
    int32_t id;
};

struct DlType
{
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
};

struct DlTensor
{
    void* data;
    DlDevice device;
    int32_t rank;
    DlType type;
    int64_t* extents;
    int64_t* strides; //!< In elements.
    uint64_t offset;
};

struct Unversioned
{
    static constexpr char const* kName{"dltensor"};
    DlTensor tensor;
    void* owner;
    void (*end)(Unversioned*);
};

struct Versioned
{
    static constexpr char const* kName{"dltensor_versioned"};
    uint32_t major;
    uint32_t minor;
    void* owner;
    void (*end)(Versioned*);
    uint64_t flags;
    DlTensor tensor;
};

constexpr DlDevice kHost{1, 0};
constexpr uint64_t kReadOnly{1};
constexpr uint64_t kCopied{2};

struct Lent
{
    PyObject* object{nullptr}; //!< Kept alive as long as somebody looks at its memory.
    uintptr_t address{0};
    DlType type{};
    std::vector<int64_t> extents;
    std::vector<int64_t> strides;
    uint64_t flags{0};
    DlDevice device{kHost};
};

//! What a capsule points to, and what that points to.
template <typename Managed>
struct Exported
{
    Managed managed{};
    Lent lent;
};

template <typename Managed>
void endExported(Managed* managed)
{
    std::unique_ptr<Exported<Managed>> const kept{static_cast<Exported<Managed>*>(managed->owner)};
    if (Py_IsInitialized() == 0)
        return;
    WithGil const gil;
    Py_DECREF(kept->lent.object);
}

//! Of a capsule that nobody took: its takers give it another name.
template <typename Managed>
void endCapsule(PyObject* capsule)
{
    if (PyCapsule_IsValid(capsule, Managed::kName) == 0)
        return;
    auto* const managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, Managed::kName));
    managed->end(managed);
}

template <typename Managed>
py::object capsuleOf(Lent lent)
{
    auto kept = std::make_unique<Exported<Managed>>();
    kept->lent = std::move(lent);
    kept->managed.owner = kept.get();
    kept->managed.end = &endExported<Managed>;
    kept->managed.tensor = {reinterpret_cast<void*>(kept->lent.address), kept->lent.device,
        static_cast<int32_t>(kept->lent.extents.size()), kept->lent.type, kept->lent.extents.data(),
        kept->lent.strides.data(), 0};
    if constexpr (std::is_same_v<Managed, Versioned>)
    {
        kept->managed.major = 1;
        kept->managed.flags = kept->lent.flags;
    }
    auto capsule =
        py::reinterpret_steal<py::object>(PyCapsule_New(&kept->managed, Managed::kName, &endCapsule<Managed>));
    if (!capsule)
        throw py::error_already_set();
    Py_INCREF(kept->lent.object);
    kept.release(); // The capsule's, or its taker's.
    return capsule;
}

//! `type`: DLPack's code and the bits of an element; `device` its kind and number.
py::object lendAsDlpack(py::object const& owner, uintptr_t address, std::pair<uint8_t, uint8_t> type,
    std::vector<int64_t> extents, std::vector<int64_t> strides, bool isReadOnly, bool isCopied, bool isVersioned,
    std::pair<int32_t, int32_t> device)
{
    Lent lent{owner.ptr(), address, {type.first, type.second, 1}, std::move(extents), std::move(strides),
        (isReadOnly ? kReadOnly : 0) | (isCopied ? kCopied : 0), {device.first, device.second}};
    return isVersioned ? capsuleOf<Versioned>(std::move(lent)) : capsuleOf<Unversioned>(std::move(lent));
}
} // namespace

void bindLentMemory(py::module_& m)
{
    static char const* const kDoc{"Lends the memory of the array that _buffer_array() of the derived class answers."};
    static PyType_Slot slots[]{
        {Py_bf_getbuffer, reinterpret_cast<void*>(&exportBuffer)}, {Py_tp_doc, const_cast<char*>(kDoc)}, {0, nullptr}};
    static PyType_Spec spec{
        "tenon._native._BufferOfArray", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
    auto type = py::reinterpret_steal<py::object>(PyType_FromSpec(&spec));
    if (!type)
        throw py::error_already_set();
    m.attr("_BufferOfArray") = type;
    m.def("_lend_as_dlpack", &lendAsDlpack);
    m.def("_plugin_gpu", []() -> std::optional<int32_t> {
        int32_t index{0};
        return tenonPluginGpu(&index) ? std::optional{index} : std::nullopt;
    });
    m.def("_order_streams", [](uintptr_t earlier, uintptr_t later) {
        if (!tenonOrderStreams(reinterpret_cast<void*>(earlier), reinterpret_cast<void*>(later)))
            throw std::runtime_error("the GPU refuses that one stream waits for the other");
    });
}

} // namespace tenon::python
