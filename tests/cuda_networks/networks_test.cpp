// Whole networks on the GPU: what the backend has no kernels for runs on the host, and results are the CPU's.
#include "api/build/plan_again.h"
#include "backends/rows.h"
#include "planner/plan_outputs.h"
#include "support/cpu_networks.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tenon::test
{

namespace
{
BackendEntry const& cudaEntry()
{
    auto const all = allBackends();
    return *std::ranges::find(all, std::string_view{"cuda"}, &BackendEntry::name);
}

class CudaNetworks : public testing::TestWithParam<std::tuple<CpuCase, DType>>
{
};
} // namespace

TEST_P(CudaNetworks, computeWhatTheCpuDoes)
{
    auto const [network, type] = GetParam();
    auto const blob = std::make_shared<Bytes const>(planOf(network, type));
    Result<Plan> stored = readPlan(*blob, blob);
    ASSERT_TRUE(stored) << stored.error().message;
    auto const plan = std::make_shared<Plan const>(*std::move(stored));
    Device& device = cudaWithKernels(0);
    Result<Plan> again = api::planAgain(*plan, {&cudaEntry(), 0, &device, "the test says so"}, nullptr, Log{});
    ASSERT_TRUE(again) << again.error().message;
    Result<Bytes> const written = writePlan(*again);
    ASSERT_TRUE(written) << written.error().message;
    auto const kept = std::make_shared<Bytes const>(*written);
    Result<Plan> read = readPlan(*kept, kept);
    ASSERT_TRUE(read) << read.error().message;
    auto const steps = read->programs.front().steps;
    EXPECT_TRUE(std::ranges::any_of(steps, [](PlanStep const& step) { return step.place == Place::kDevice; }));
    auto const onDevice = std::make_shared<Plan const>(*std::move(read));
    std::vector<HostTensor> const once = outputsOf(onDevice, device);
    expectSame(once, outputsOf(plan, cpuWithKernels()), toleranceOf(type));
    constexpr int32_t kUntilGraphs{4};
    expectSame(outputsOf(onDevice, device, kUntilGraphs), once, 0.0);
}

namespace
{
//! None where there is no driver.
std::vector<CpuCase> cases()
{
    if (!cudaEntry().probe())
        return {};
    return {cpuCases().begin(), cpuCases().end()};
}
} // namespace

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CudaNetworks);
INSTANTIATE_TEST_SUITE_P(OfTheCpu, CudaNetworks,
    testing::Combine(testing::ValuesIn(cases()), testing::Values(DType::kFLOAT, DType::kHALF)),
    [](testing::TestParamInfo<std::tuple<CpuCase, DType>> const& info) {
        return fmt::format("{}_{}", std::get<0>(info.param).name, nameOf(std::get<1>(info.param)));
    });

} // namespace tenon::test
