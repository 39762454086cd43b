// The fixture of what engines can do, for programs that never saw a header of ours: flags, plans as bytes, and runs.
#pragma once

#include "raw_objects.h"

namespace raw
{
using tenon::test::DeviceArray;

// Numbers of BuilderFlag in 10.x.
constexpr int32_t kREFIT{4};
constexpr int32_t kOBEY_PRECISION_CONSTRAINTS{9};
constexpr int32_t kDIRECT_IO{11};
constexpr int32_t kVERSION_COMPATIBLE{13};
constexpr int32_t kEXCLUDE_LEAN_RUNTIME{14};
constexpr int32_t kSTRIP_PLAN{19};
constexpr int32_t kREFIT_IDENTICAL{20};
constexpr int32_t kWEIGHT_STREAMING{21};
constexpr int32_t kREFIT_INDIVIDUAL{23};
constexpr int32_t kSTRICT_NANS{24};
constexpr int32_t kEDITABLE_TIMING_CACHE{27};
constexpr int32_t kDISTRIBUTIVE_INDEPENDENCE{28};

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
    //! Beside the network out = v · matrix, [1, side] by [side, side].
    void addProduct(Object net, std::vector<float> const& matrix, int64_t side)
    {
        RawDims const row{2, {1, side}};
        RawDims const square{2, {side, side}};
        Object const v = call<Object>(net, slots::kVNetworkDefinition_addInput, "v", kFloat, &row);
        Object const constant = call<Object>(
            net, slots::kVNetworkDefinition_addConstant, &square, RawWeights{kFloat, matrix.data(), side * side});
        Object const w = call<Object>(inner(constant, slots::kILayer_mLayer), slots::kVLayer_getOutput, int32_t{0});
        Object const product =
            call<Object>(net, slots::kVNetworkDefinition_addMatrixMultiply, v, int32_t{0}, w, int32_t{0});
        Object const out = call<Object>(inner(product, slots::kILayer_mLayer), slots::kVLayer_getOutput, int32_t{0});
        call<void>(inner(out, slots::kITensor_mImpl), slots::kVTensor_setName, "out");
        call<void>(net, slots::kVNetworkDefinition_markOutput, out);
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
    //! Whether a run of x [2, 2, 3, 3] could be enqueued. `more`: addresses beside x and y.
    bool tryRun(Object engine, std::vector<float> const& x, std::vector<float>& y,
        std::vector<std::pair<char const*, void*>> const& more = {})
    {
        Object const queries = inner(engine, slots::kICudaEngine_mImpl);
        Object const context = call<Object>(queries, slots::kVCudaEngine_createExecutionContext, int32_t{0});
        EXPECT_NE(context, nullptr) << errors;
        Object const run = inner(context, slots::kIExecutionContext_mImpl);
        DeviceArray<float> const in{x};
        DeviceArray<float> const out{x.size()};
        RawDims const shape{4, {2, 2, 3, 3}};
        EXPECT_TRUE(call<bool>(run, slots::kVExecutionContext_setInputShape, "x", &shape)) << errors;
        std::vector<std::pair<char const*, void*>> addresses{{"x", in.data()}, {"y", out.data()}};
        addresses.insert(addresses.end(), more.begin(), more.end());
        for (auto const& [name, address] : addresses)
            EXPECT_TRUE(call<bool>(run, slots::kVExecutionContext_setTensorAddress, name, address)) << errors;
        bool const isDone =
            call<bool>(run, slots::kVExecutionContext_enqueueV3, tenon::test::deviceUnderTest().stream());
        y = out.read();
        destroy(context);
        return isDone;
    }
    //! Runs the network of the fixture and compares; the weights at hand count.
    void expectRuns(
        Object engine, std::vector<std::pair<char const*, void*>> const& more = {}, bool areChannelsLast = false)
    {
        std::vector<float> const x = tenon::test::randomFloats(2 * 2 * 9, 23);
        std::vector<float> y;
        ASSERT_TRUE(tryRun(engine, areChannelsLast ? transposed(x, 2, 9) : x, y, more)) << errors;
        expectResult(x, areChannelsLast ? transposed(y, 9, 2) : y);
    }
};
} // namespace raw
