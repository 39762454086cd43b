// Allocators that users implement: memory of engines and contexts, and outputs whose size depends on data.
#include "members.h"
#include "overrides.h"

namespace tenon::python
{

namespace
{
using namespace nvinfer1;

//! The asynchronous calls go to their own overrides where there are any, else to the plain ones.
class PyAllocator : public IGpuAllocator
{
  public:
    void* allocate(uint64_t size, uint64_t alignment, AllocatorFlags flags) noexcept override
    {
        WithGil const gil;
        return addressOf<IGpuAllocator>(callOverride(self(), "allocate", true, size, alignment, flags), "allocate");
    }
    void* reallocate(void* address, uint64_t alignment, uint64_t size) noexcept override
    {
        WithGil const gil;
        return addressOf<IGpuAllocator>(
            callOverride(self(), "reallocate", false, handleOf(address), alignment, size), "reallocate");
    }
    bool deallocate(void* memory) noexcept override
    {
        WithGil const gil;
        // Classes written for TensorRT 8 may have `free` alone.
        if (!hasOverride(self(), "deallocate") && hasOverride(self(), "free"))
        {
            callOverride(self(), "free", true, handleOf(memory));
            return true;
        }
        return valueOr(callOverride(self(), "deallocate", true, handleOf(memory)), false, "deallocate");
    }
    void* allocateAsync(uint64_t size, uint64_t alignment, AllocatorFlags flags, cudaStream_t stream) noexcept override
    {
        {
            WithGil const gil;
            if (hasOverride(self(), "allocate_async"))
                return addressOf<IGpuAllocator>(
                    callOverride(self(), "allocate_async", true, size, alignment, flags, handleOf(stream)),
                    "allocate_async");
        }
        return allocate(size, alignment, flags);
    }
    bool deallocateAsync(void* memory, cudaStream_t stream) noexcept override
    {
        {
            WithGil const gil;
            if (hasOverride(self(), "deallocate_async"))
                return valueOr(callOverride(self(), "deallocate_async", true, handleOf(memory), handleOf(stream)),
                    false, "deallocate_async");
        }
        return deallocate(memory);
    }

  private:
    IGpuAllocator const* self() const
    {
        return this;
    }
};

class PyAsyncAllocator : public IGpuAsyncAllocator
{
  public:
    void* allocateAsync(uint64_t size, uint64_t alignment, AllocatorFlags flags, cudaStream_t stream) noexcept override
    {
        WithGil const gil;
        return addressOf<IGpuAllocator>(
            callOverride(self(), "allocate_async", true, size, alignment, flags, handleOf(stream)), "allocate_async");
    }
    bool deallocateAsync(void* memory, cudaStream_t stream) noexcept override
    {
        WithGil const gil;
        return valueOr(callOverride(self(), "deallocate_async", true, handleOf(memory), handleOf(stream)), false,
            "deallocate_async");
    }
    void* reallocate(void* address, uint64_t alignment, uint64_t size) noexcept override
    {
        WithGil const gil;
        return addressOf<IGpuAllocator>(
            callOverride(self(), "reallocate", false, handleOf(address), alignment, size), "reallocate");
    }

  private:
    IGpuAsyncAllocator const* self() const
    {
        return this;
    }
};

class PyOutputAllocator : public IOutputAllocator
{
  public:
    void* reallocateOutput(char const* name, void* current, uint64_t size, uint64_t alignment) noexcept override
    {
        WithGil const gil;
        return addressOf<IOutputAllocator>(
            callOverride(base(), "reallocate_output", true, name, handleOf(current), size, alignment),
            "reallocate_output");
    }
    void* reallocateOutputAsync(
        char const* name, void* current, uint64_t size, uint64_t alignment, cudaStream_t stream) override
    {
        {
            WithGil const gil;
            if (hasOverride(base(), "reallocate_output_async"))
                return addressOf<IOutputAllocator>(callOverride(base(), "reallocate_output_async", true, name,
                                                       handleOf(current), size, alignment, handleOf(stream)),
                    "reallocate_output_async");
        }
        return reallocateOutput(name, current, size, alignment);
    }
    void notifyShape(char const* name, Dims const& shape) noexcept override
    {
        WithGil const gil;
        callOverride(base(), "notify_shape", true, name, Dims{shape});
    }

  private:
    IOutputAllocator const* base() const
    {
        return this;
    }
};

template <typename T, typename Class>
void bindAllocatorCalls(Class& c)
{
    py::call_guard<WithoutGil> const released; // The user's allocator of the engine stands behind it.
    method(
        c, "allocate",
        [](T& self, uint64_t size, uint64_t alignment, AllocatorFlags flags) {
            return handleOf(self.allocate(size, alignment, flags));
        },
        py::arg("size"), py::arg("alignment"), py::arg("flags"), docOf("IGpuAllocator.allocate"), released);
    method(
        c, "allocate_async",
        [](T& self, uint64_t size, uint64_t alignment, AllocatorFlags flags, Handle stream) {
            return handleOf(self.allocateAsync(size, alignment, flags, stream.as<cudaStream_t>()));
        },
        py::arg("size"), py::arg("alignment"), py::arg("flags"), py::arg("stream"),
        docOf("IGpuAllocator.allocate_async"), released);
    method(
        c, "deallocate", [](T& self, Handle memory) { return self.deallocate(memory.as<void*>()); }, py::arg("memory"),
        docOf("IGpuAllocator.deallocate"), released);
    method(
        c, "deallocate_async",
        [](T& self, Handle memory, Handle stream) {
            return self.deallocateAsync(memory.as<void*>(), stream.as<cudaStream_t>());
        },
        py::arg("memory"), py::arg("stream"), docOf("IGpuAllocator.deallocate_async"), released);
    method(
        c, "reallocate",
        [](T& self, Handle address, uint64_t alignment, uint64_t size) {
            return handleOf(self.reallocate(address.as<void*>(), alignment, size));
        },
        py::arg("address"), py::arg("alignment"), py::arg("new_size"), docOf("IGpuAllocator.reallocate"), released);
}

void bindOutputAllocator(py::module_& m)
{
    using T = IOutputAllocator;
    py::call_guard<WithoutGil> const released;
    py::class_<T, PyOutputAllocator> c(m, "IOutputAllocator", docOf("IOutputAllocator"));
    c.def(py::init<>());
    method(
        c, "reallocate_output",
        [](T& self, char const* name, Handle memory, uint64_t size, uint64_t alignment) {
            return handleOf(self.reallocateOutput(name, memory.as<void*>(), size, alignment));
        },
        py::arg("tensor_name"), py::arg("memory"), py::arg("size"), py::arg("alignment"),
        docOf("IOutputAllocator.reallocate_output"), released);
    method(
        c, "reallocate_output_async",
        [](T& self, char const* name, Handle memory, uint64_t size, uint64_t alignment, Handle stream) {
            return handleOf(
                self.reallocateOutputAsync(name, memory.as<void*>(), size, alignment, stream.as<cudaStream_t>()));
        },
        py::arg("tensor_name"), py::arg("memory"), py::arg("size"), py::arg("alignment"), py::arg("stream"),
        docOf("IOutputAllocator.reallocate_output_async"), released);
    method(c, "notify_shape", &T::notifyShape, py::arg("tensor_name"), py::arg("shape"),
        docOf("IOutputAllocator.notify_shape"), released);
}
} // namespace

void bindAllocators(py::module_& m)
{
    py::class_<IGpuAllocator, PyAllocator, IVersionedInterface> plain(m, "IGpuAllocator", docOf("IGpuAllocator"));
    plain.def(py::init<>());
    bindAllocatorCalls<IGpuAllocator>(plain);
    py::class_<IGpuAsyncAllocator, PyAsyncAllocator, IGpuAllocator> async(
        m, "IGpuAsyncAllocator", docOf("IGpuAsyncAllocator"));
    async.def(py::init<>());
    bindAllocatorCalls<IGpuAsyncAllocator>(async);
    bindOutputAllocator(m);
}

} // namespace tenon::python
