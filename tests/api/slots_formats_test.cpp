// Formats of inputs and outputs, and precisions of layers, by a program that never saw a header of ours.
#include "raw_features.h"

namespace raw
{
namespace
{
// Numbers of TensorFormat and of DataType in 10.x.
constexpr int32_t kCHW32{5};
constexpr int32_t kHWC{8};
constexpr int32_t kHALF{1};
constexpr int32_t kBOOL{4};

using SlotsOfFormats = SlotsOfFeatures;

void setFormat(Object tensor, int32_t format)
{
    Object const own = inner(tensor, slots::kITensor_mImpl);
    call<void>(own, slots::kVTensor_setAllowedFormats, uint32_t{1} << format);
    EXPECT_EQ(call<uint32_t>(own, slots::kVTensor_getAllowedFormats), uint32_t{1} << format);
}
} // namespace

TEST_F(SlotsOfFormats, inputsAndOutputsHaveTheirChannelsLastWithoutAStepThatMovesThem)
{
    prepare = [&](Object net, Object config) {
        call<void>(config, slots::kVBuilderConfig_setFlag, kDIRECT_IO);
        setFormat(call<Object>(net, slots::kVNetworkDefinition_getInput, int32_t{0}), kHWC);
        setFormat(call<Object>(net, slots::kVNetworkDefinition_getOutput, int32_t{0}), kHWC);
    };
    Object const engine = load(builtPlan());
    ASSERT_NE(engine, nullptr) << errors;
    Object const queries = inner(engine, slots::kICudaEngine_mImpl);
    for (char const* const name : {"x", "y"})
    {
        EXPECT_EQ(call<int32_t>(queries, slots::kVCudaEngine_getTensorFormat, name), kHWC);
        EXPECT_EQ(call<int32_t>(queries, slots::kVCudaEngine_getTensorVectorizedDim, name), -1);
        EXPECT_EQ(call<int32_t>(queries, slots::kVCudaEngine_getTensorComponentsPerElement, name), -1);
    }
    expectRuns(engine, {}, true);
    destroy(engine);
    EXPECT_EQ(errors, "");
}

TEST_F(SlotsOfFormats, aFormatThatNoKernelTakesIsRefusedWhereNothingMayMoveIt)
{
    prepare = [&](Object net, Object) {
        setFormat(call<Object>(net, slots::kVNetworkDefinition_getInput, int32_t{0}), kCHW32);
    };
    Object const engine = load(builtPlan());
    ASSERT_NE(engine, nullptr) << errors;
    Object const queries = inner(engine, slots::kICudaEngine_mImpl);
    EXPECT_EQ(call<int32_t>(queries, slots::kVCudaEngine_getTensorFormat, "x"), kCHW32);
    EXPECT_EQ(call<int32_t>(queries, slots::kVCudaEngine_getTensorVectorizedDim, "x"), 1);
    EXPECT_EQ(call<int32_t>(queries, slots::kVCudaEngine_getTensorComponentsPerElement, "x"), 32);
    destroy(engine);
    EXPECT_EQ(errors, "");
    prepare = [moved = prepare](Object net, Object config) {
        moved(net, config);
        call<void>(config, slots::kVBuilderConfig_setFlag, kDIRECT_IO);
    };
    EXPECT_EQ(buildPlan(), nullptr);
    EXPECT_NE(errors.find("BuilderFlag::kDIRECT_IO: tensor 'x' is blocked32"), std::string::npos) << errors;
}

TEST_F(SlotsOfFormats, precisionsOfLayersAreObeyedOrRefused)
{
    int32_t wish{kHALF};
    prepare = [&](Object net, Object config) {
        Object const layer = call<Object>(net, slots::kVNetworkDefinition_getLayer, int32_t{1});
        Object const relu = inner(layer, slots::kILayer_mLayer);
        EXPECT_FALSE(call<bool>(relu, slots::kVLayer_precisionIsSet));
        call<void>(relu, slots::kVLayer_setPrecision, wish);
        EXPECT_TRUE(call<bool>(relu, slots::kVLayer_precisionIsSet));
        EXPECT_EQ(call<int32_t>(relu, slots::kVLayer_getPrecision), wish);
        if (wish == kHALF) // A wish that is taken back is none.
            call<void>(relu, slots::kVLayer_resetPrecision);
        EXPECT_EQ(call<bool>(relu, slots::kVLayer_precisionIsSet), wish != kHALF);
        call<void>(config, slots::kVBuilderConfig_setFlag, kOBEY_PRECISION_CONSTRAINTS);
    };
    Object const engine = load(builtPlan());
    ASSERT_NE(engine, nullptr) << errors;
    expectRuns(engine);
    destroy(engine);
    EXPECT_EQ(errors, "");
    wish = kBOOL;
    EXPECT_EQ(buildPlan(), nullptr);
    EXPECT_NE(errors.find("asks for precision bool"), std::string::npos) << errors;
}

} // namespace raw
