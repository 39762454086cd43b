// What plans compute: their outputs on inputs that are the same for all plans of a network.
#pragma once

#include "backend/backend_table.h"
#include "ir/host_tensor.h"
#include "runtime/context.h"
#include "runtime/device_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <random>

namespace tenon::test
{

inline BackendEntry const& entryOf(std::string_view name)
{
    return *std::ranges::find(allBackends(), name, &BackendEntry::name);
}

//! Memory for an output of any size, where its device or, for a shape tensor, the host has it.
class Growing final : public nvinfer1::IOutputAllocator
{
  public:
    Growing(Device& device, bool isOnHost)
        : mSource{&device, nullptr, nullptr, isOnHost ? Place::kHost : Place::kDevice}
    {
    }
    void* reallocateOutput(char const*, void*, uint64_t size, uint64_t) noexcept override
    {
        auto const bytes = static_cast<int64_t>(size) + 1;
        if (mMemory.bytes() == bytes) // Runs that come again have the same addresses.
            return mMemory.data();
        auto memory = DeviceMemory::allocate(mSource, bytes, "an output");
        if (memory)
            mMemory = *std::move(memory);
        return mMemory.data();
    }
    void notifyShape(char const*, nvinfer1::Dims const& dims) noexcept override
    {
        mShape = dims;
    }
    HostTensor value(DType type) const
    {
        std::vector<int64_t> const extents{mShape.d, mShape.d + mShape.nbDims};
        std::vector<uint8_t> bytes(static_cast<size_t>(bytesOf(type, volumeOf(extents))) + 1);
        if (mSource.place == Place::kHost)
            std::memcpy(bytes.data(), mMemory.data(), bytes.size() - 1);
        else
            EXPECT_TRUE(mSource.device->copyToHost(bytes.data(), mMemory.data(), bytes.size() - 1, kApartStream));
        return HostTensor::fromBytes(type, extents, bytes.data());
    }

  private:
    MemorySource mSource;
    DeviceMemory mMemory;
    nvinfer1::Dims mShape{};
};

inline HostTensor randomTensor(DType type, std::vector<int64_t> extents, uint32_t seed)
{
    HostTensor tensor{type, std::move(extents)};
    std::mt19937 random{seed};
    std::normal_distribution<double> normal;
    for (int64_t i = 0; i < tensor.count(); ++i)
        tensor.set(i, tensor.isReal() ? normal(random) : static_cast<double>(random() % 2));
    return tensor;
}

//! A plan as it is read from where it is stored.
inline std::shared_ptr<Plan const> readBack(Bytes bytes)
{
    auto const blob = std::make_shared<Bytes const>(std::move(bytes));
    Result<Plan> plan = readPlan(*blob, blob);
    EXPECT_TRUE(plan) << plan.error().message;
    return plan ? std::make_shared<Plan const>(*std::move(plan)) : std::make_shared<Plan const>();
}

//! At the shapes of kOPT. More runs than one: of the last one, in a stream, as runs that come again are; `behind` is
//! called after each of them.
inline std::vector<HostTensor> outputsOf(
    std::shared_ptr<Plan const> const& plan, Device& device, int32_t runs = 1, std::function<void()> const& behind = {})
{
    using nvinfer1::OptProfileSelector;
    EngineOptions options;
    options.device = &device;
    auto const engine = Engine::create(plan, options);
    EXPECT_TRUE(engine) << engine.error().message;
    auto const context = engine ? Context::create(*engine, MemoryStrategy::kSTATIC) : engine.error();
    if (!context)
        return {};
    std::deque<DeviceMemory> inputs;
    std::deque<Growing> outputs;
    for (int32_t io = 0; io < (*engine)->ioCount(); ++io)
    {
        PlanIO const& tensor = (*engine)->io(io);
        char const* const name = tensor.name.c_str();
        if (!tensor.isInput)
        {
            EXPECT_TRUE((*context)->setOutputAllocator(name, &outputs.emplace_back(device, tensor.isShape)));
            continue;
        }
        nvinfer1::Dims const shape = *(*engine)->profileShape(name, 0, OptProfileSelector::kOPT);
        HostTensor const data =
            randomTensor(tensor.dtype, {shape.d, shape.d + shape.nbDims}, static_cast<uint32_t>(io + 1));
        std::vector<uint8_t> bytes(static_cast<size_t>(bytesOf(tensor.dtype, data.count())) + 1);
        data.toBytes(bytes.data());
        MemorySource const source{&device, nullptr, nullptr, tensor.isShape ? Place::kHost : Place::kDevice};
        auto memory = DeviceMemory::allocate(source, static_cast<int64_t>(bytes.size()), "an input");
        EXPECT_TRUE(memory);
        DeviceMemory const& kept = inputs.emplace_back(*std::move(memory));
        if (tensor.isShape)
            std::memcpy(kept.data(), bytes.data(), bytes.size());
        else
            EXPECT_TRUE(device.copyFromHost(kept.data(), bytes.data(), bytes.size(), kApartStream));
        EXPECT_TRUE((*context)->setInputShape(name, shape));
        EXPECT_TRUE((*context)->setInputAddress(name, kept.data()));
    }
    Result<Done> ran{Done{}};
    if (runs == 1)
        ran = (*context)->runObserved([](ObservedStep const&) { return true; });
    for (int32_t i = 0; i < runs && runs > 1 && ran; ++i)
    {
        ran = (*context)->run({.isSynchronous = true});
        if (behind)
            behind();
    }
    EXPECT_TRUE(ran) << ran.error().message;
    std::vector<HostTensor> values;
    for (size_t i = 0; ran && i < outputs.size(); ++i)
        values.push_back(outputs[i].value((*engine)->io((*engine)->inputCount() + static_cast<int32_t>(i)).dtype));
    return values;
}

//! Another device rounds after each layer, fused steps round once.
inline double toleranceOf(DType type)
{
    return type == DType::kFLOAT ? 1e-4 : type == DType::kHALF ? 1e-2 : 8e-2;
}

inline void expectSame(std::vector<HostTensor> const& got, std::vector<HostTensor> const& want, double tolerance)
{
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i)
    {
        ASSERT_EQ(got[i].extents, want[i].extents);
        for (int64_t k = 0; k < got[i].count(); ++k)
            ASSERT_NEAR(got[i].real(k), want[i].real(k), tolerance + tolerance * std::abs(want[i].real(k)))
                << "output " << i << ", element " << k;
    }
}

} // namespace tenon::test
