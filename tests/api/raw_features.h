// The fixture of what engines can do, for programs that never saw a header of ours: flags, plans as bytes, and runs.
#pragma once

#include "raw_objects.h"

namespace raw
{
using tenon::test::DeviceArray;

inline std::string bytesOf(Object memory)
{
    Object const held = inner(memory, slots::kIHostMemory_mImpl);
    auto const* const data = static_cast<char const*>(call<void*>(held, slots::kVHostMemory_data));
    return {data, call<size_t>(held, slots::kVHostMemory_size)};
}

class SlotsOfFeatures : public Slots
{
  protected:
    void setFlags(std::initializer_list<int32_t> flags)
    {
        prepare = [flags = std::vector<int32_t>{flags}](Object, Object config) {
            for (int32_t const flag : flags)
                call<void>(config, slots::kVBuilderConfig_setFlag, flag);
        };
    }
    std::string builtPlan()
    {
        Object const memory = buildPlan();
        EXPECT_NE(memory, nullptr) << errors;
        std::string const bytes = memory == nullptr ? std::string{} : bytesOf(memory);
        if (memory != nullptr)
            destroy(memory);
        return bytes;
    }
    Object load(std::string const& plan, bool isCodeAllowed = false)
    {
        Object const runtime = create("createInferRuntime_INTERNAL");
        Object const own = inner(runtime, slots::kIRuntime_mImpl);
        call<void>(own, slots::kVRuntime_setEngineHostCodeAllowed, isCodeAllowed);
        EXPECT_EQ(call<bool>(own, slots::kVRuntime_getEngineHostCodeAllowed), isCodeAllowed);
        Object const engine = call<Object>(
            own, slots::kVRuntime_deserializeCudaEngine, static_cast<void const*>(plan.data()), plan.size());
        destroy(runtime);
        return engine;
    }
    //! Values [2, 2, 3, 3] with their channels last, or from there.
    static std::vector<float> transposed(std::vector<float> const& values, size_t rows, size_t columns)
    {
        std::vector<float> result(values.size());
        for (size_t i = 0; i < values.size(); ++i)
        {
            size_t const at = i % (rows * columns);
            result[i - at + at % columns * rows + at / columns] = values[i];
        }
        return result;
    }
    //! Runs the network of the fixture and compares; the weights at hand count. `more`: addresses beside x and y.
    void expectRuns(
        Object engine, std::vector<std::pair<char const*, void*>> const& more = {}, bool areChannelsLast = false)
    {
        Object const queries = inner(engine, slots::kICudaEngine_mImpl);
        Object const context = call<Object>(queries, slots::kVCudaEngine_createExecutionContext, int32_t{0});
        ASSERT_NE(context, nullptr) << errors;
        Object const run = inner(context, slots::kIExecutionContext_mImpl);
        std::vector<float> const x = tenon::test::randomFloats(2 * 2 * 9, 23);
        DeviceArray<float> const in{areChannelsLast ? transposed(x, 2, 9) : x};
        DeviceArray<float> const out{x.size()};
        RawDims const shape{4, {2, 2, 3, 3}};
        ASSERT_TRUE(call<bool>(run, slots::kVExecutionContext_setInputShape, "x", &shape)) << errors;
        ASSERT_TRUE(call<bool>(run, slots::kVExecutionContext_setTensorAddress, "x", static_cast<void*>(in.data())));
        ASSERT_TRUE(call<bool>(run, slots::kVExecutionContext_setTensorAddress, "y", static_cast<void*>(out.data())));
        for (auto const& [name, address] : more)
            ASSERT_TRUE(call<bool>(run, slots::kVExecutionContext_setTensorAddress, name, address)) << errors;
        ASSERT_TRUE(call<bool>(run, slots::kVExecutionContext_enqueueV3, tenon::test::deviceUnderTest().stream()))
            << errors;
        expectResult(x, areChannelsLast ? transposed(out.read(), 9, 2) : out.read());
        destroy(context);
    }
};
} // namespace raw
