// The binary contract without any header of ours: what a program compiled elsewhere for 10.x does.
#include "raw_objects.h"

namespace raw
{
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
    expectResult(x, y);
    destroy(context);
    EXPECT_EQ(errors, "");
}
} // namespace raw
