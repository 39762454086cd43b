// The checking host on a GPU, or on the fake driver: enqueue() itself beside the plugin's body for the CPU. Where the
// engine does not run on CUDA the tests are skipped.
#include "plugins/one_to_one.h"

#include "support/device.h"

#include "tenon/plugin.h"
#include "tenon/testing.h"

#include <cstring>
#include <dlfcn.h>
#include <gmock/gmock.h>

namespace plugintest
{
namespace
{

using testing::HasSubstr;
using testing::Not;

//! y = x, by two copies through its workspace in its stream.
class Both final : public OneToOne<Both>
{
  public:
    static constexpr char const* kType{"Both"};
    inline static int onGpu{0};    //!< Calls of enqueue().
    inline static int32_t gpu{-1}; //!< In which it was.
    inline static bool fails{false};
    inline static bool forgetsTheLast{false};

    int32_t enqueue(PluginTensorDesc const* in, PluginTensorDesc const*, void const* const* inputs,
        void* const* outputs, void* workspace, cudaStream_t stream) noexcept override
    {
        ++onGpu;
        static_cast<void>(tenonPluginGpu(&gpu));
        if (fails)
        {
            tenonExplainFailure("there is nothing to copy with");
            return 5;
        }
        static void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        using Copy = int (*)(void*, void const*, size_t, void*);
        auto const copy = library == nullptr ? nullptr : reinterpret_cast<Copy>(dlsym(library, "cuMemcpyAsync"));
        size_t const all = bytesOf(in[0].dims.d, in[0].dims.nbDims, in[0].type);
        size_t const bytes = all - (forgetsTheLast ? bytesOf(nullptr, 0, in[0].type) : 0);
        return copy == nullptr || copy(workspace, inputs[0], bytes, stream) != 0
                || copy(outputs[0], workspace, bytes, stream) != 0
            ? 6
            : 0;
    }
    size_t getWorkspaceSize(
        DynamicPluginTensorDesc const* in, int32_t, DynamicPluginTensorDesc const*, int32_t) const noexcept override
    {
        return bytesOf(in[0].max.d, in[0].max.nbDims, in[0].desc.type);
    }
    bool supportsFormatCombination(
        int32_t pos, DynamicPluginTensorDesc const* ports, int32_t, int32_t) noexcept override
    {
        bool const isReal = ports[0].desc.type == DataType::kFLOAT || ports[0].desc.type == DataType::kHALF;
        return isReal && ports[pos].desc.format == TensorFormat::kLINEAR && ports[pos].desc.type == ports[0].desc.type;
    }
    static size_t bytesOf(int64_t const* extents, int32_t rank, DataType type)
    {
        size_t bytes = type == DataType::kHALF ? 2 : 4;
        for (int32_t i = 0; i < rank; ++i)
            bytes *= static_cast<size_t>(extents[i]);
        return bytes;
    }
    //! What a host has to do, right.
    static int32_t copied(tenon::PluginRun const& run)
    {
        nvinfer1::Dims const& dims = run.inputDesc[0].dims;
        std::memcpy(run.outputs[0], run.inputs[0], bytesOf(dims.d, dims.nbDims, run.inputDesc[0].type));
        return 0;
    }
    //! The same, but for the first element.
    static int32_t wrong(tenon::PluginRun const& run)
    {
        int32_t const code = copied(run);
        if (run.inputDesc[0].dims.d[0] > 0)
            std::memset(run.outputs[0], 0, bytesOf(nullptr, 0, run.inputDesc[0].type));
        return code;
    }
};

class CudaCheck : public testing::Test
{
  protected:
    OneToOneCreator<Both> creator;

    void SetUp() override
    {
        if (!tenon::test::isUnderTest("cuda"))
            GTEST_SKIP() << "TENON_DEVICE and TENON_TEST_DEVICE are not cuda";
        Both::onGpu = 0;
        Both::gpu = -1;
        Both::fails = Both::forgetsTheLast = false;
    }
    void TearDown() override
    {
        EXPECT_TRUE(tenonSetCpuBody(Both::kType, "1", "", nullptr));
    }
    tenon::testing::Report checked(tenon::CpuBody body)
    {
        EXPECT_TRUE(tenonSetCpuBody(Both::kType, "1", "", body));
        tenon::testing::Options options;
        options.inputs = {tenon::testing::range({1, 5}, {3, 5}, {9, 5})};
        return tenon::testing::check(creator, options);
    }
    static void expectOnly(tenon::testing::Report const& report, std::string const& check, std::string const& what)
    {
        ASSERT_EQ(report.findings().size(), 1U) << report.message();
        EXPECT_EQ(report.findings().front().check, check) << report.message();
        EXPECT_EQ(report.findings().front().callback, "enqueue") << report.message();
        EXPECT_THAT(report.findings().front().what, HasSubstr(what));
    }
};

TEST_F(CudaCheck, bodiesThatAgreeAreSound)
{
    tenon::testing::Report const report = checked(&Both::copied);
    EXPECT_TRUE(report.ok()) << report.message();
    EXPECT_EQ(Both::onGpu, 4) << "two types at the best extents, one at the least and the largest, too";
    EXPECT_EQ(Both::gpu, 0);
    EXPECT_THAT(report.json(), Not(HasSubstr("not called on the GPU")));
}

TEST_F(CudaCheck, bodiesThatDifferAreFound)
{
    expectOnly(checked(&Both::wrong), "gpu-body", "on the GPU output 0, element 0: ");
}

TEST_F(CudaCheck, elementsThatTheGpuDoesNotWriteAreFound)
{
    Both::forgetsTheLast = true;
    expectOnly(checked(&Both::copied), "gpu-body", "nan, not ");
}

TEST_F(CudaCheck, anEnqueueThatFailsIsFound)
{
    Both::fails = true;
    expectOnly(checked(&Both::copied), "call-fails", "there is nothing to copy with");
}
} // namespace
} // namespace plugintest
