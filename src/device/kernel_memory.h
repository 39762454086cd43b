// KernelMemory: where kernels put what they make of constants while they are loaded or prepared.
#pragma once

#include "base/large_memory.h"
#include "base/result.h"

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace tenon
{

class KernelMemory
{
  public:
    virtual ~KernelMemory() = default;
    //! At least one byte, aligned to a cache line. Given back when the last owner goes; kernels of a device of the host
    //! read and write it.
    virtual Result<std::shared_ptr<void>> allocate(size_t bytes) const = 0;

    //! From a source, or, where there is none, from the process.
    static Result<std::shared_ptr<void>> allocate(KernelMemory const* source, size_t bytes)
    {
        if (source != nullptr)
            return source->allocate(bytes);
        void* const memory = allocateLarge(bytes);
        if (memory == nullptr)
            return errorOf(ErrorCode::kFAILED_ALLOCATION, "no {} bytes for a packed weight", bytes);
        return std::shared_ptr<void>{memory, [](void* p) { std::free(p); }};
    }
};

} // namespace tenon
