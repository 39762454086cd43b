// Whole networks on the GPU: what the backend has no kernels for runs on the host, and results are the CPU's.
#include "api/build/plan_again.h"
#include "backends/rows.h"
#include "planner/plan_outputs.h"
#include "support/cpu_networks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <dlfcn.h>

namespace tenon::test
{

namespace
{
BackendEntry const& entryOf(std::string_view backend)
{
    auto const all = allBackends();
    return *std::ranges::find(all, backend, &BackendEntry::name);
}
BackendEntry const& cudaEntry()
{
    return entryOf("cuda");
}

//! For another device than that of its program, stored and read again.
std::shared_ptr<Plan const> plannedFor(Plan const& plan, std::string_view backend, Device& device)
{
    Result<Plan> again = api::planAgain(plan, {&entryOf(backend), 0, &device, "the test says so"}, nullptr, Log{});
    EXPECT_TRUE(again) << again.error().message;
    Result<Bytes> written = again ? writePlan(*again) : Result<Bytes>{again.error()};
    EXPECT_TRUE(written) << written.error().message;
    return written ? readBack(*std::move(written)) : nullptr;
}

//! What has been asked of the driver so far that allocates, where the driver is the fake one, which counts calls.
int64_t allocations()
{
    auto const count = reinterpret_cast<int64_t (*)(char const*)>(
        dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), "tenonFakeCallsOf"));
    int64_t all{0};
    if (count != nullptr)
        for (char const* const name : {"cuMemAlloc_v2", "cuMemHostAlloc", "cuModuleLoadDataEx"})
            all += count(name);
    return all;
}

class CudaNetworks : public testing::TestWithParam<std::tuple<CpuCase, DType>>
{
};
} // namespace

TEST_P(CudaNetworks, computeWhatTheCpuDoes)
{
    auto const [network, type] = GetParam();
    std::shared_ptr<Plan const> const plan = readBack(planOf(network, type));
    Device& device = cudaWithKernels(0);
    std::shared_ptr<Plan const> const onDevice = plannedFor(*plan, "cuda", device);
    ASSERT_NE(onDevice, nullptr);
    auto const& steps = onDevice->programs.front().steps;
    EXPECT_TRUE(std::ranges::any_of(steps, [](PlanStep const& step) { return step.place == Place::kDevice; }));
    std::vector<HostTensor> const once = outputsOf(onDevice, device);
    std::vector<HostTensor> const expected = outputsOf(plan, cpuWithKernels());
    expectSame(once, expected, toleranceOf(type));
    std::shared_ptr<Plan const> const back = plannedFor(*onDevice, "cpu", cpuWithKernels());
    ASSERT_NE(back, nullptr);
    expectSame(outputsOf(back, cpuWithKernels()), expected, toleranceOf(type));
    constexpr int32_t kUntilGraphs{4};
    std::vector<int64_t> allocated;
    expectSame(outputsOf(onDevice, device, kUntilGraphs, [&] { allocated.push_back(allocations()); }), once, 0.0);
    ASSERT_EQ(allocated.size(), static_cast<size_t>(kUntilGraphs));
    EXPECT_EQ(allocated.back(), allocated.front()) << "runs behind the first have allocated";
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
