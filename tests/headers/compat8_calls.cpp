// The 8.x side of the tests: this file alone sees the headers under TRT_COMPAT_MAJOR=8.
#define TRT_COMPAT_MAJOR 8
#define TENON_NO_DEPRECATION_MARKS
#include "headers/compat8_calls.h"

namespace nvinfer1
{
class IGpuAllocator; // As 8.x programs declare it; an alias would not allow that.
} // namespace nvinfer1

#include "NvInfer.h"

namespace headers
{
namespace
{
class Allocator : public nvinfer1::IGpuAllocator
{
  public:
    void* allocate(uint64_t, uint64_t, uint32_t) noexcept override
    {
        return &freed;
    }

    void free(void* memory) noexcept override
    {
        freed += memory == &freed;
    }

    int freed{0};
};
} // namespace

void createNetworkAsIn8(void* builder, uint32_t flags)
{
    static_cast<nvinfer1::IBuilder*>(builder)->createNetworkV2(flags);
}

void executeV2AsIn8(void* context, void* const* bindings)
{
    static_cast<nvinfer1::IExecutionContext*>(context)->executeV2(bindings);
}

long versionOf8()
{
    return NV_TENSORRT_VERSION;
}

bool allocatorOf8FreesOnce()
{
    Allocator allocator;
    nvinfer1::IGpuAllocator& base = allocator;
    return base.deallocate(base.allocate(8, 8, 0)) && allocator.freed == 1;
}
} // namespace headers
