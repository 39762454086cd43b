// The binary contract without any header of ours: slots by number and offsets from the table of the layout, a logger
// laid out by hand. What a program compiled elsewhere for 10.x does.
#include "api_test/slots.h"
#include "support/device.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace
{
struct RawDims
{
    int32_t rank;
    int64_t extents[8];
};

struct RawWeights
{
    int32_t type;
    void const* values;
    int64_t count;
};

//! An object with a virtual table: [offset to top, type information, slots…], of which it points at the slots.
struct RawLogger
{
    void const* const* table;
    std::string* errors;
};

void takeMessage(RawLogger* self, int32_t severity, char const* message)
{
    if (severity <= 1)
        *self->errors += std::string{message} + "\n";
}

void neverDestroyed(RawLogger*)
{
    FAIL() << "the library destroyed the user's logger";
}

using Object = void*;

//! Calls slot `slot` of the object's virtual table.
template <typename R, typename... Args>
R call(Object object, int32_t slot, Args... args)
{
    using Function = R (*)(Object, Args...);
    auto* const table = *static_cast<void***>(object);
    return reinterpret_cast<Function>(table[slot])(object, args...);
}

//! The pointer that a public object holds at this offset.
Object inner(Object object, int32_t offset)
{
    return *reinterpret_cast<Object*>(static_cast<char*>(object) + offset);
}

void destroy(Object object)
{
    call<void>(object, slots::kIHostMemory_destroyAndFree); // The same slot in every shell.
}

constexpr int32_t kFloat{0};
constexpr int32_t kRelu{0};

class Slots : public ::testing::Test
{
  protected:
    void SetUp() override
    {
        library = ::dlopen("libnvinfer.so.10", RTLD_NOW | RTLD_LOCAL);
        ASSERT_NE(library, nullptr) << ::dlerror();
    }
    Object create(char const* function)
    {
        auto* const make = reinterpret_cast<Object (*)(void*, int32_t)>(::dlsym(library, function));
        EXPECT_NE(make, nullptr);
        return make == nullptr ? nullptr : make(&logger, 101600);
    }
    //! y = relu(conv(x)) with a 1×1 kernel, x [n, 2, 3, 3].
    Object buildPlan()
    {
        Object const builder = create("createInferBuilder_INTERNAL");
        Object const slotsOfBuilder = inner(builder, slots::kIBuilder_mImpl);
        Object const network = call<Object>(slotsOfBuilder, slots::kVBuilder_createNetworkV2, uint32_t{0});
        Object const net = inner(network, slots::kINetworkDefinition_mImpl);
        RawDims const shape{4, {-1, 2, 3, 3}};
        Object const x = call<Object>(net, slots::kVNetworkDefinition_addInput, "x", kFloat, &shape);
        RawDims const size{2, {1, 1}};
        Object const conv = call<Object>(net, slots::kVNetworkDefinition_addConvolutionNd, x, int64_t{2}, &size,
            RawWeights{kFloat, kernel.data(), 4}, RawWeights{kFloat, bias.data(), 2});
        Object const convLayer = inner(conv, slots::kILayer_mLayer);
        RawDims const stride{2, {1, 1}};
        call<void>(inner(conv, slots::kIConvolutionLayer_mImpl), slots::kVConvolutionLayer_setStrideNd, &stride);
        Object const between = call<Object>(convLayer, slots::kVLayer_getOutput, int32_t{0});
        Object const relu = call<Object>(net, slots::kVNetworkDefinition_addActivation, between, kRelu);
        Object const y = call<Object>(inner(relu, slots::kILayer_mLayer), slots::kVLayer_getOutput, int32_t{0});
        call<void>(inner(y, slots::kITensor_mImpl), slots::kVTensor_setName, "y");
        call<void>(net, slots::kVNetworkDefinition_markOutput, y);
        RawDims const known = call<RawDims>(inner(y, slots::kITensor_mImpl), slots::kVTensor_getDimensions);
        EXPECT_EQ(known.rank, 4);
        EXPECT_EQ(known.extents[0], -1);
        EXPECT_EQ(known.extents[1], 2);
        Object const config = call<Object>(slotsOfBuilder, slots::kVBuilder_createBuilderConfig);
        addProfile(slotsOfBuilder, config);
        Object const plan = call<Object>(slotsOfBuilder, slots::kVBuilder_buildSerializedNetwork, network, config);
        for (Object const object : {builder, network, config}) // Parents first, as nobody should.
            destroy(object);
        return plan;
    }
    void addProfile(Object slotsOfBuilder, Object config)
    {
        Object const profile = call<Object>(slotsOfBuilder, slots::kVBuilder_createOptimizationProfile);
        Object const set = inner(profile, slots::kIOptimizationProfile_mImpl);
        for (int32_t select = 0; select < 3; ++select)
        {
            RawDims const shape{4, {select + 1, 2, 3, 3}};
            EXPECT_TRUE(call<bool>(set, slots::kVOptimizationProfile_setDimensions, "x", select, &shape));
        }
        EXPECT_EQ(call<int32_t>(inner(config, slots::kIBuilderConfig_mImpl),
                      slots::kVBuilderConfig_addOptimizationProfile, profile),
            0);
    }

    void* library{nullptr};
    std::string errors;
    std::array<void const*, 5> table{nullptr, nullptr, reinterpret_cast<void const*>(&takeMessage),
        reinterpret_cast<void const*>(&neverDestroyed), reinterpret_cast<void const*>(&neverDestroyed)};
    RawLogger logger{table.data() + 2, &errors};
    std::vector<float> kernel{0.5F, -1.25F, 2.0F, 0.75F};
    std::vector<float> bias{0.1F, -0.3F};
};

TEST_F(Slots, aProgramWithoutOurHeadersBuildsSerializesReloadsAndRuns)
{
    Object const memory = buildPlan();
    ASSERT_NE(memory, nullptr) << errors;
    Object const held = inner(memory, slots::kIHostMemory_mImpl);
    void* const blob = call<void*>(held, slots::kVHostMemory_data);
    auto const bytes = call<size_t>(held, slots::kVHostMemory_size);
    Object const runtime = create("createInferRuntime_INTERNAL");
    Object const engine =
        call<Object>(inner(runtime, slots::kIRuntime_mImpl), slots::kVRuntime_deserializeCudaEngine, blob, bytes);
    ASSERT_NE(engine, nullptr) << errors;
    destroy(memory);
    destroy(runtime);
    Object const queries = inner(engine, slots::kICudaEngine_mImpl);
    EXPECT_EQ(call<int32_t>(queries, slots::kVCudaEngine_getNbIOTensors), 2);
    Object const context = call<Object>(queries, slots::kVCudaEngine_createExecutionContext, int32_t{0});
    ASSERT_NE(context, nullptr) << errors;
    destroy(engine);

    Object const run = inner(context, slots::kIExecutionContext_mImpl);
    std::vector<float> const x = tenon::test::randomFloats(2 * 2 * 9, 17);
    tenon::test::DeviceArray<float> const in{x};
    tenon::test::DeviceArray<float> const out{x.size()};
    RawDims const shape{4, {2, 2, 3, 3}};
    ASSERT_TRUE(call<bool>(run, slots::kVExecutionContext_setInputShape, "x", &shape)) << errors;
    ASSERT_TRUE(call<bool>(run, slots::kVExecutionContext_setTensorAddress, "x", static_cast<void*>(in.data())));
    ASSERT_TRUE(call<bool>(run, slots::kVExecutionContext_setTensorAddress, "y", static_cast<void*>(out.data())));
    ASSERT_TRUE(call<bool>(run, slots::kVExecutionContext_enqueueV3, tenon::test::deviceUnderTest().stream()))
        << errors;
    std::vector<float> const y = out.read();
    for (size_t n = 0; n < 2; ++n)
        for (size_t m = 0; m < 2; ++m)
            for (size_t i = 0; i < 9; ++i)
            {
                float const sum = bias[m] + kernel[2 * m] * x[n * 18 + i] + kernel[2 * m + 1] * x[n * 18 + 9 + i];
                EXPECT_NEAR(y[(n * 2 + m) * 9 + i], std::max(sum, 0.0F), 1e-5F);
            }
    destroy(context);
    EXPECT_EQ(errors, "");
}
} // namespace
