// Places: what the device has no kernels for runs on the host, with copies across the border where they are needed and
// nowhere else.
#include "api/build/plan_again.h"
#include "backends/cpu/cpu.h"
#include "backends/ref/ref.h"
#include "backends/rows.h"
#include "base/step_role.h"
#include "devices/guarded/guarded_device.h"
#include "planner/graph_options.h"
#include "planner/plan_outputs.h"
#include "support/cpu_networks.h"

#include <gmock/gmock.h>

namespace tenon::test
{

namespace
{
using testing::ElementsAre;
using testing::HasSubstr;

//! Kernels of the CPU for some kinds of layers, on memory that the host cannot touch; the reference has the others, on
//! the host.
Backend partly(bool (*takes)(std::string_view layer))
{
    std::vector<Candidate> kept;
    Backend const whole = cpuBackend();
    for (Candidate const& candidate : whole.candidates())
        if (takes(candidate.layer))
            kept.push_back(candidate);
    Backend backend{"part", std::move(kept)};
    backend.append(refCandidates(), Place::kHost);
    return backend;
}

template <uint32_t seed>
bool isDrawn(std::string_view layer)
{
    uint32_t hash{seed};
    for (char const letter : layer)
        hash = hash * 31U + static_cast<unsigned char>(letter);
    return (hash >> 4 & 1U) != 0;
}

Device& guarded()
{
    static GuardedDevice device{cpuWithKernels()};
    return device;
}

Target targetWithMemory()
{
    Target target = cpuTarget();
    target.hasOwnMemory = true;
    target.transfer = {.startMicroseconds = 10.0, .bytesPerMicrosecond = 1e4};
    return target;
}

BackendEntry entryWith(Backend (*backend)())
{
    return {.name = "cpu",
        .probe = []() -> Result<int32_t> { return 1; },
        .backend = backend,
        .target = [](int32_t) { return targetWithMemory(); },
        .device = [](int32_t) -> Device& { return guarded(); },
        .unpack = unpackCpuWeight};
}

std::vector<std::string> stepsOf(Plan const& plan)
{
    std::vector<std::string> steps;
    for (PlanStep const& step : plan.programs.front().steps)
        steps.push_back(fmt::format("{} {}", nameOf(step.place), step.kernel));
    return steps;
}

bool takesConvolutions(std::string_view layer)
{
    return layer == "Convolution";
}

Result<Plan> planned(std::string_view text, bool (*takes)(std::string_view))
{
    return planOfText(text, partly(takes), targetWithMemory());
}

TEST(Places, aStepOfTheHostGetsCopiesAroundIt)
{
    Result<Plan> const plan = planned(R"(
input %x : float32[1,16,8,8]
const %w : float32[16,16,1,1] = random(1)
%a = Convolution(%x, %w) {NbOutputMaps=16, KernelSizeNd=(1,1)}
%b = Unary(%a) {Operation=2}
%c = Unary(%b) {Operation=2}
%d = Convolution(%c, %w) {NbOutputMaps=16, KernelSizeNd=(1,1)}
output %d
)",
        takesConvolutions);
    ASSERT_TRUE(plan) << plan.error().message;
    Result<Done> const sound = checkPlan(*plan);
    EXPECT_TRUE(sound) << sound.error().message;
    EXPECT_THAT(stepsOf(*plan),
        ElementsAre("device reorder", "device convolution", "device reorder", "device transfer", "host reference",
            "host reference", "device transfer", "device reorder", "device convolution", "device reorder"));
}

TEST(Places, aValueCrossesOnceForAllItsReaders)
{
    Result<Plan> const plan = planned(R"(
input %x : float32[4,8]
%a = Unary(%x) {Operation=2}
%b = Unary(%x) {Operation=0}
%c = ElementWise(%a, %b) {Operation=0}
output %c
)",
        takesConvolutions);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_THAT(stepsOf(*plan),
        ElementsAre("device transfer", "host reference", "host reference", "host reference", "device transfer"));
    for (PlanTensor const& tensor : plan->programs.front().tensors)
        EXPECT_EQ(tensor.place == Place::kDevice, tensor.kind == PlanTensorKind::kIO) << tensor.name;
}

TEST(Places, constantsAreOnTheHostForStepsOfTheHost)
{
    constexpr std::string_view kSum{R"(
input %x : float32[4,8]
const %w : float32[4,8] = random(1)
%a = ElementWise(%x, %w) {Operation=0}
output %a
)"};
    Result<Plan> const plan = planned(kSum, takesConvolutions);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_THAT(stepsOf(*plan), ElementsAre("device transfer", "host reference", "device transfer"));
    Result<Plan> const whole = planOfText(kSum, cpuBackend(), cpuTarget());
    ASSERT_TRUE(whole) << whole.error().message;
    expectSame(outputsOf(std::make_shared<Plan const>(*plan), guarded()),
        outputsOf(std::make_shared<Plan const>(*whole), cpuWithKernels()), toleranceOf(DType::kFLOAT));
}

TEST(Places, plansThatMixThemAreRefused)
{
    Result<Plan> const good = planned(R"(
input %x : float32[4,8]
%a = Unary(%x) {Operation=2}
output %a
)",
        takesConvolutions);
    ASSERT_TRUE(good) << good.error().message;
    auto const problem = [&](auto const& change) {
        Plan plan = *good;
        change(plan.programs.front());
        Result<Done> const checked = checkPlan(plan);
        return checked ? std::string{} : checked.error().message;
    };
    EXPECT_EQ(problem([](Program&) {}), "");
    EXPECT_THAT(problem([](Program& program) { program.steps[1].place = Place::kDevice; }),
        HasSubstr("it runs on the device, tensor 'x' is on the host"));
    EXPECT_THAT(problem([](Program& program) { program.steps[0].place = Place::kHost; }), HasSubstr("a transfer"));
    EXPECT_THAT(
        problem([](Program& program) { program.tensors[0].place = Place::kHost; }), HasSubstr("is no shape tensor"));
    EXPECT_THAT(problem([](Program& program) { program.steps[1].kernel = "transfer"; }), HasSubstr("a transfer"));
    EXPECT_THAT(
        problem([](Program& program) { program.steps[1].place = static_cast<Place>(7); }), HasSubstr("unknown place"));
    EXPECT_THAT(
        problem([](Program& program) { program.tensors[1].place = static_cast<Place>(7); }), HasSubstr("place"));
}

//! Half of the kinds of layers on the device, half on the host, in four draws: the same results as on the CPU.
class PlacesOfNetworks : public testing::TestWithParam<std::tuple<CpuCase, DType>>
{
};

TEST_P(PlacesOfNetworks, computeTheSameWhereverTheirStepsRun)
{
    auto const [network, type] = GetParam();
    std::shared_ptr<Plan const> const plan = readBack(planOf(network, type));
    std::vector<HostTensor> const want = outputsOf(plan, cpuWithKernels());
    for (Backend (*const backend)() : {+[] { return partly(isDrawn<1>); }, +[] { return partly(isDrawn<2>); },
             +[] { return partly(isDrawn<77>); }, +[] { return partly(takesConvolutions); }})
    {
        BackendEntry const entry = entryWith(backend);
        Result<Plan> again = api::planAgain(*plan, {&entry, 0, &guarded(), "the test says so"}, nullptr, Log{});
        ASSERT_TRUE(again) << again.error().message;
        Result<Bytes> const written = writePlan(*again);
        ASSERT_TRUE(written) << written.error().message;
        expectSame(outputsOf(readBack(*written), guarded()), want, toleranceOf(type));
    }
}

INSTANTIATE_TEST_SUITE_P(OfTheCpu, PlacesOfNetworks,
    testing::Combine(
        testing::ValuesIn(cpuCases().begin(), cpuCases().end()), testing::Values(DType::kFLOAT, DType::kHALF)),
    [](testing::TestParamInfo<std::tuple<CpuCase, DType>> const& info) {
        return fmt::format("{}_{}", std::get<0>(info.param).name, nameOf(std::get<1>(info.param)));
    });
} // namespace

} // namespace tenon::test
