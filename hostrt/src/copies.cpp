// Copies and fills. What memory a copy is between decides whether the call waits for it, as on a device: copies to or
// from memory that the run-time does not know are done with the program's side of it when the call returns.
#include "calls.h"

#include <cstring>
#include <memory>

using namespace tenon::hostrt;

namespace
{
struct Copy
{
    TenonHostBlock to;
    TenonHostBlock from;
    TenonHostExtent extent;
    cudaMemcpyKind kind;
};

bool isEmpty(TenonHostExtent const& extent) noexcept
{
    return extent.width == 0 || extent.height == 0 || extent.depth == 0;
}

Copy rows(void* to, size_t toPitch, void const* from, size_t fromPitch, size_t width, size_t height,
    cudaMemcpyKind kind) noexcept
{
    return {{to, toPitch, 0}, {const_cast<void*>(from), fromPitch, 0}, {width, height, 1}, kind};
}

Copy line(void* to, void const* from, size_t bytes, cudaMemcpyKind kind) noexcept
{
    return rows(to, bytes, from, bytes, bytes, 1, kind);
}

TenonHostBlock blockOf(cudaPitchedPtr const& memory, cudaPos const& place) noexcept
{
    size_t const slice = memory.pitch * memory.ysize;
    char* const data = static_cast<char*>(memory.ptr) + place.z * slice + place.y * memory.pitch + place.x;
    return {memory.ptr == nullptr ? nullptr : data, memory.pitch, slice};
}

Copy blocks(cudaMemcpy3DParms const& copy) noexcept
{
    return {blockOf(copy.dstPtr, copy.dstPos), blockOf(copy.srcPtr, copy.srcPos),
        {copy.extent.width, copy.extent.height, copy.extent.depth}, copy.kind};
}

TenonHostKind kindAt(void const* address) noexcept
{
    TenonHostMemory found;
    tenonHostFind(address, &found);
    return found.kind;
}

//! Whether the extent lies within the block that it begins in; memory that the run-time does not know has no end.
bool fits(TenonHostBlock const& block, TenonHostExtent const& extent) noexcept
{
    TenonHostMemory found;
    tenonHostFind(block.data, &found);
    if (found.kind == TENON_HOST_UNKNOWN)
        return true;
    auto const offset = static_cast<uint64_t>(static_cast<char const*>(block.data) - static_cast<char*>(found.base));
    unsigned __int128 const end = static_cast<unsigned __int128>(extent.depth - 1) * block.slice
        + static_cast<unsigned __int128>(extent.height - 1) * block.pitch + extent.width + offset;
    return end <= found.bytes;
}

//! Whether the sides stand the other way round than the kind says. Addresses that the run-time does not know pass for a
//! device's, but for a copy from there to a device that is said to go to the host, and the reverse.
bool isOtherWayRound(Copy const& copy) noexcept
{
    if (copy.kind != cudaMemcpyDeviceToHost && copy.kind != cudaMemcpyHostToDevice)
        return false;
    bool const toHost = copy.kind == cudaMemcpyDeviceToHost;
    TenonHostKind const device = kindAt(toHost ? copy.from.data : copy.to.data);
    TenonHostKind const host = kindAt(toHost ? copy.to.data : copy.from.data);
    return device == TENON_HOST_UNKNOWN && host == TENON_HOST_DEVICE;
}

//! An error where the copy is none that the kind allows.
cudaError_t checkCopy(Copy const& copy) noexcept
{
    if (isEmpty(copy.extent))
        return cudaSuccess;
    if (copy.kind < cudaMemcpyHostToHost || copy.kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    if (copy.to.data == nullptr || copy.from.data == nullptr)
        return cudaErrorInvalidValue;
    bool const hasRows = copy.extent.height > 1 || copy.extent.depth > 1;
    if (copy.to.pitch < copy.extent.width || copy.from.pitch < copy.extent.width)
        return hasRows ? cudaErrorInvalidPitchValue : cudaErrorInvalidValue;
    bool const isWithin = fits(copy.to, copy.extent) && fits(copy.from, copy.extent);
    return isWithin && !isOtherWayRound(copy) ? cudaSuccess : cudaErrorInvalidValue;
}

//! Which sides are the program's own memory that the run-time does not know.
struct Pageable
{
    bool to;
    bool from;
};

Pageable pageable(Copy const& copy) noexcept
{
    bool const isGuess = copy.kind == cudaMemcpyDefault;
    bool const toHost = isGuess || copy.kind == cudaMemcpyDeviceToHost || copy.kind == cudaMemcpyHostToHost;
    bool const fromHost = isGuess || copy.kind == cudaMemcpyHostToDevice || copy.kind == cudaMemcpyHostToHost;
    return {
        toHost && kindAt(copy.to.data) == TENON_HOST_UNKNOWN, fromHost && kindAt(copy.from.data) == TENON_HOST_UNKNOWN};
}

void copyRows(TenonHostBlock const& to, TenonHostBlock const& from, TenonHostExtent const& extent) noexcept
{
    for (uint64_t slice = 0; slice < extent.depth; ++slice)
        for (uint64_t row = 0; row < extent.height; ++row)
            std::memmove(static_cast<char*>(to.data) + slice * to.slice + row * to.pitch,
                static_cast<char const*>(from.data) + slice * from.slice + row * from.pitch, extent.width);
}

//! The source without gaps, so that the program may change its own at once.
struct Staged
{
    explicit Staged(Copy const& copy)
        : bytes{new char[copy.extent.width * copy.extent.height * copy.extent.depth]},
          block{bytes.get(), copy.extent.width, copy.extent.width * copy.extent.height},
          to{copy.to},
          extent{copy.extent}
    {
        copyRows(block, copy.from, extent);
    }
    static int32_t finish(void* user) noexcept
    {
        auto const& self = *static_cast<Staged*>(user);
        copyRows(self.to, self.block, self.extent);
        return 0;
    }
    static void release(void* user) noexcept
    {
        delete static_cast<Staged*>(user);
    }

    std::unique_ptr<char[]> bytes;
    TenonHostBlock block;
    TenonHostBlock to;
    TenonHostExtent extent;
};

cudaError_t stage(Copy const& copy, cudaStream_t stream) noexcept
{
    try
    {
        return errorOf(tenonHostSubmit(stream, &Staged::finish, new Staged{copy}, &Staged::release));
    }
    catch (std::bad_alloc const&)
    {
        return cudaErrorMemoryAllocation;
    }
}

bool isLegacy(cudaStream_t stream) noexcept
{
    return stream == nullptr || stream == cudaStreamLegacy;
}

cudaError_t copyInOrder(Copy const& copy, cudaStream_t stream) noexcept
{
    return errorOf(tenonHostCopyBlock(copy.to, copy.from, copy.extent, stream));
}

cudaError_t copyAsync(Copy const& copy, cudaStream_t stream) noexcept
{
    if (cudaError_t const error = checkCopy(copy); error != cudaSuccess)
        return error;
    if (isEmpty(copy.extent) || isLegacy(stream))
        return copyInOrder(copy, stream);
    TenonHostStream properties;
    if (TenonHostStatus const status = tenonHostGetStream(stream, &properties); status != TENON_HOST_OK)
        return errorOf(status);
    Pageable const own = properties.isCapturing != 0 ? Pageable{false, false} : pageable(copy);
    if (own.from && !own.to && copy.kind == cudaMemcpyHostToDevice)
        return stage(copy, stream);
    cudaError_t const error = copyInOrder(copy, stream);
    // What the source is was not said: work that stands in the stream may be what writes it.
    return error == cudaSuccess && (own.to || own.from) ? errorOf(tenonHostSynchronizeStream(stream)) : error;
}

//! Done when it returns.
cudaError_t copySync(Copy const& copy, cudaStream_t stream) noexcept
{
    if (cudaError_t const error = checkCopy(copy); error != cudaSuccess)
        return error;
    cudaError_t const error = copyInOrder(copy, stream);
    return error == cudaSuccess && !isLegacy(stream) ? errorOf(tenonHostSynchronizeStream(stream)) : error;
}

cudaError_t checkParameters(cudaMemcpy3DParms const* copy) noexcept
{
    if (copy == nullptr)
        return cudaErrorInvalidValue;
    if (copy->srcArray != nullptr || copy->dstArray != nullptr)
        return refused("cudaMemcpy3D", "arrays need a GPU");
    return cudaSuccess;
}

cudaError_t copy3D(cudaMemcpy3DParms const* copy, cudaStream_t stream, bool isSync) noexcept
{
    if (cudaError_t const error = checkParameters(copy); error != cudaSuccess)
        return error;
    return isSync ? copySync(blocks(*copy), stream) : copyAsync(blocks(*copy), stream);
}

cudaError_t copyPeer(Copy const& copy, int toDevice, int fromDevice, cudaStream_t stream) noexcept
{
    for (int const device : {toDevice, fromDevice})
        if (cudaError_t const error = checkDevice(device); error != cudaSuccess)
            return error;
    return copyAsync(copy, stream);
}

struct Fill
{
    TenonHostBlock to;
    int value;
    TenonHostExtent extent;
};

Fill fillRows(void* memory, size_t pitch, int value, size_t width, size_t height) noexcept
{
    return {{memory, pitch, 0}, value, {width, height, 1}};
}

Fill fillBlock(cudaPitchedPtr const& memory, int value, cudaExtent const& extent) noexcept
{
    return {
        {memory.ptr, memory.pitch, memory.pitch * memory.ysize}, value, {extent.width, extent.height, extent.depth}};
}

cudaError_t fill(Fill const& own, cudaStream_t stream) noexcept
{
    if (own.to.data != nullptr && !isEmpty(own.extent) && !fits(own.to, own.extent))
        return cudaErrorInvalidValue;
    return errorOf(tenonHostFill(own.to, own.value, own.extent, stream));
}

cudaError_t fillSync(Fill const& own, cudaStream_t stream) noexcept
{
    cudaError_t const error = fill(own, stream);
    return error == cudaSuccess && !isLegacy(stream) ? errorOf(tenonHostSynchronizeStream(stream)) : error;
}
} // namespace

//! A synchronous call in the order of stream 0, and the same with a stream of each thread's own.
#define TENON_CUDA_SYNC(name, PARAMETERS, ...)                                                                         \
    extern "C" TENON_HOSTRT_CALL cudaError_t host_##name PARAMETERS                                                    \
    {                                                                                                                  \
        constexpr cudaStream_t stream{nullptr};                                                                        \
        return noted((__VA_ARGS__));                                                                                   \
    }                                                                                                                  \
    TENON_EXPORT(name, host_##name)                                                                                    \
    extern "C" TENON_HOSTRT_CALL cudaError_t host_##name##_ptds PARAMETERS                                             \
    {                                                                                                                  \
        cudaStream_t const stream = cudaStreamPerThread;                                                               \
        return noted((__VA_ARGS__));                                                                                   \
    }                                                                                                                  \
    TENON_EXPORT(name##_ptds, host_##name##_ptds)

TENON_CUDA_SYNC(cudaMemcpy, (void* to, void const* from, size_t bytes, cudaMemcpyKind kind),
    copySync(line(to, from, bytes, kind), stream))
TENON_CUDA_SYNC(cudaMemcpy2D,
    (void* to, size_t toPitch, void const* from, size_t fromPitch, size_t width, size_t height, cudaMemcpyKind kind),
    copySync(rows(to, toPitch, from, fromPitch, width, height, kind), stream))
TENON_CUDA_SYNC(cudaMemcpy3D, (cudaMemcpy3DParms const* copy), copy3D(copy, stream, true))
TENON_CUDA_SYNC(
    cudaMemset, (void* memory, int value, size_t bytes), fillSync(fillRows(memory, bytes, value, bytes, 1), stream))
TENON_CUDA_SYNC(cudaMemset2D, (void* memory, size_t pitch, int value, size_t width, size_t height),
    fillSync(fillRows(memory, pitch, value, width, height), stream))
TENON_CUDA_SYNC(cudaMemset3D, (cudaPitchedPtr memory, int value, cudaExtent extent),
    fillSync(fillBlock(memory, value, extent), stream))

TENON_CUDA(cudaMemcpyPeer, (void* to, int toDevice, void const* from, int fromDevice, size_t bytes),
    copyPeer(line(to, from, bytes, cudaMemcpyDeviceToDevice), toDevice, fromDevice, nullptr))
TENON_CUDA(cudaMemcpyPeerAsync,
    (void* to, int toDevice, void const* from, int fromDevice, size_t bytes, cudaStream_t stream),
    copyPeer(line(to, from, bytes, cudaMemcpyDeviceToDevice), toDevice, fromDevice, stream))
TENON_CUDA_STREAM(cudaMemcpyAsync, (void* to, void const* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream),
    copyAsync(line(to, from, bytes, kind), stream))
TENON_CUDA_STREAM(cudaMemcpy2DAsync,
    (void* to, size_t toPitch, void const* from, size_t fromPitch, size_t width, size_t height, cudaMemcpyKind kind,
        cudaStream_t stream),
    copyAsync(rows(to, toPitch, from, fromPitch, width, height, kind), stream))
TENON_CUDA_STREAM(cudaMemcpy3DAsync, (cudaMemcpy3DParms const* copy, cudaStream_t stream), copy3D(copy, stream, false))
TENON_CUDA_STREAM(cudaMemsetAsync, (void* memory, int value, size_t bytes, cudaStream_t stream),
    fill(fillRows(memory, bytes, value, bytes, 1), stream))
TENON_CUDA_STREAM(cudaMemset2DAsync,
    (void* memory, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream),
    fill(fillRows(memory, pitch, value, width, height), stream))
TENON_CUDA_STREAM(cudaMemset3DAsync, (cudaPitchedPtr memory, int value, cudaExtent extent, cudaStream_t stream),
    fill(fillBlock(memory, value, extent), stream))
