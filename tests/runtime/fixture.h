// What runtime tests start from: engines of toy networks, and an output allocator.
#pragma once

#include "devices/guarded/guarded_device.h"
#include "runtime/context.h"
#include "support/device.h"
#include "support/toy_device.h"
#include "support/toy_networks.h"

#include <gtest/gtest.h>

namespace tenon::test
{

inline ToyDevice& toyDevice()
{
    static ToyDevice device;
    return device;
}

//! The toy device, or its kernels on guarded memory.
inline Device& deviceOfEngines()
{
    static GuardedDevice guarded{toyDevice()};
    return isGuarded() ? static_cast<Device&>(guarded) : toyDevice();
}

inline std::shared_ptr<Engine> engineWith(EngineOptions options, std::shared_ptr<Plan const> plan)
{
    options.device = &deviceOfEngines();
    auto engine = Engine::create(std::move(plan), options);
    EXPECT_TRUE(engine) << (engine ? "" : engine.error().message);
    return engine ? *engine : nullptr;
}

inline std::shared_ptr<Engine> engineOf(std::shared_ptr<Plan const> plan, nvinfer1::IGpuAllocator* allocator = nullptr)
{
    EngineOptions options;
    options.allocator = allocator;
    return engineWith(std::move(options), std::move(plan));
}

inline std::unique_ptr<Context> contextOf(
    std::shared_ptr<Engine> const& engine, MemoryStrategy strategy = MemoryStrategy::kSTATIC)
{
    auto context = Context::create(engine, strategy);
    EXPECT_TRUE(context) << (context ? "" : context.error().message);
    return context ? *std::move(context) : nullptr;
}

inline nvinfer1::Dims64 dimsOf(std::initializer_list<int64_t> extents)
{
    nvinfer1::Dims64 dims{};
    for (int64_t const extent : extents)
        dims.d[dims.nbDims++] = extent;
    return dims;
}

inline bool operator==(nvinfer1::Dims64 const& dims, std::vector<int64_t> const& extents)
{
    return std::vector<int64_t>(dims.d, dims.d + std::max(dims.nbDims, 0)) == extents;
}

#define EXPECT_OK(expression)                                                                                          \
    do                                                                                                                 \
    {                                                                                                                  \
        auto const okResult = (expression);                                                                            \
        EXPECT_TRUE(okResult) << (okResult ? std::string{} : okResult.error().message);                                \
    } while (false)

//! Keeps what it is asked for.
class GrowingOutput final : public nvinfer1::IOutputAllocator
{
  public:
    void* reallocateOutputAsync(
        char const* name, void* current, uint64_t size, uint64_t alignment, cudaStream_t stream) override
    {
        calls.push_back("reallocate " + std::string{name});
        lastStream = stream;
        lastCurrent = current;
        lastSize = size;
        lastAlignment = alignment;
        if (refuse)
            return nullptr;
        memory = std::make_unique<DeviceArray<char>>(size);
        return memory->data();
    }
    void notifyShape(char const* name, nvinfer1::Dims const& dims) noexcept override
    {
        calls.push_back("notify " + std::string{name});
        shape = dims;
    }
    template <typename T>
    std::vector<T> read() const
    {
        std::vector<char> const bytes = memory->read();
        std::vector<T> values(static_cast<size_t>(shape.d[0]));
        std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
        return values;
    }

    bool refuse{false};
    std::vector<std::string> calls;
    void* lastCurrent{nullptr};
    uint64_t lastSize{0};
    uint64_t lastAlignment{0};
    void* lastStream{nullptr};
    nvinfer1::Dims64 shape{};
    std::unique_ptr<DeviceArray<char>> memory;
};

//! Values of random sign and size of which about half are zero.
inline std::vector<float> halfZeros(size_t count, uint32_t seed)
{
    std::vector<float> values = randomFloats(count, seed);
    for (float& value : values)
        if (value < 0.0F)
            value = 0.0F;
    return values;
}

inline std::vector<int32_t> positionsOf(std::vector<float> const& values)
{
    std::vector<int32_t> positions;
    for (size_t i = 0; i < values.size(); ++i)
        if (values[i] != 0.0F)
            positions.push_back(static_cast<int32_t>(i));
    return positions;
}

} // namespace tenon::test
