// Constants that are data: what a step reads beside weights has the layout that the step was planned for.
#include "planner/graph_options.h"
#include "planner/plan_outputs.h"
#include "planner/planner.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tenon::test
{

namespace
{
struct ConstantCase
{
    char const* name;
    std::string_view text;
    bool isTurned; //!< Its reader takes channels last.
};

constexpr std::string_view kHead{R"(
input %x : float32[1,16,12,12]
const %c : float32[1,16,6,6] = random(1)
const %f : float32[1,16,12,12] = random(2)
const %e : float32[1,16,25,24] = random(6)
const %w : float32[16,16,1,1] = random(3)
const %v : float32[16,16,3,3] = random(4)
const %d : float32[16,1,3,3] = random(5)
)"};

constexpr ConstantCase kCases[]{
    {"resize", R"(
%r = Resize(%c) {Scales=[1,1,2,2], ResizeMode=1}
%a = Convolution(%r, %w) {NbOutputMaps=16, KernelSizeNd=(1,1)}
%y = ElementWise(%a, %x) {Operation=0}
)",
        true},
    {"slice", R"(
%s = Slice(%e) {Start=(0,0,1,0), Size=(1,16,12,12), Stride=(1,1,2,2)}
%a = Convolution(%s, %w) {NbOutputMaps=16, KernelSizeNd=(1,1)}
%y = ElementWise(%a, %x) {Operation=0}
)",
        true},
    {"convolution", R"(
%a = Convolution(%f, %w) {NbOutputMaps=16, KernelSizeNd=(1,1)}
%y = ElementWise(%a, %x) {Operation=0}
)",
        true},
    {"window", R"(
%a = Convolution(%f, %v) {NbOutputMaps=16, KernelSizeNd=(3,3), PrePadding=(1,1), PostPadding=(1,1)}
%y = ElementWise(%a, %x) {Operation=0}
)",
        true},
    {"depthwise", R"(
%a = Convolution(%f, %d) {NbOutputMaps=16, KernelSizeNd=(3,3), NbGroups=16, PrePadding=(1,1), PostPadding=(1,1)}
%y = ElementWise(%a, %x) {Operation=0}
)",
        true},
    {"pooling", R"(
%p = Pooling(%f) {WindowSizeNd=(3,3), StrideNd=(1,1), PrePadding=(1,1), PostPadding=(1,1)}
%a = Convolution(%p, %w) {NbOutputMaps=16, KernelSizeNd=(1,1)}
%y = ElementWise(%a, %x) {Operation=0}
)",
        true},
    {"softMax", R"(
%s = SoftMax(%f) {Axes=2}
%a = Convolution(%s, %w) {NbOutputMaps=16, KernelSizeNd=(1,1)}
%y = ElementWise(%a, %x) {Operation=0}
)",
        true},
    {"twoReaders", R"(
%a = Convolution(%f, %w) {NbOutputMaps=16, KernelSizeNd=(1,1)}
%b = Convolution(%f, %v) {NbOutputMaps=16, KernelSizeNd=(3,3), PrePadding=(1,1), PostPadding=(1,1)}
%s = ElementWise(%a, %b) {Operation=0}
%t = ElementWise(%s, %f) {Operation=0}
%y = ElementWise(%t, %x) {Operation=0}
)",
        true},
    {"besideOthers", R"(
%a = Convolution(%x, %w) {NbOutputMaps=16, KernelSizeNd=(1,1)}
%p = ElementWise(%a, %f) {Operation=1}
%j = Concatenation(%p, %f) {Axis=1}
%y = Pooling(%j) {WindowSizeNd=(2,2), StrideNd=(2,2)}
)",
        false},
};

std::shared_ptr<Plan const> planOf(ConstantCase const& network, std::string_view device)
{
    BackendEntry const& entry = entryOf(device);
    std::string const text = std::string{kHead} + std::string{network.text} + "output %y\n";
    Result<Plan> plan = planOfText(text, entry.backend(), entry.target(0));
    EXPECT_TRUE(plan) << plan.error().message;
    if (!plan)
        return nullptr;
    Result<Done> const sound = checkPlan(*plan);
    EXPECT_TRUE(sound) << sound.error().message;
    return std::make_shared<Plan const>(*std::move(plan));
}
} // namespace

class Constants : public testing::TestWithParam<ConstantCase>
{
};

TEST_P(Constants, areHandedOverAsTheirReaderWasPlanned)
{
    std::shared_ptr<Plan const> const plan = planOf(GetParam(), "cpu");
    std::shared_ptr<Plan const> const reference = planOf(GetParam(), "ref");
    ASSERT_TRUE(plan && reference);
    Program const& program = plan->programs.front();
    auto const kindOf = [&](int32_t tensor) { return program.tensors.at(static_cast<size_t>(tensor)).kind; };
    bool const isTurned = std::ranges::any_of(program.steps, [&](PlanStep const& step) {
        return step.kernel == "reorder" && kindOf(step.inputs[0]) == PlanTensorKind::kWeight;
    });
    EXPECT_EQ(isTurned, GetParam().isTurned);
    expectSame(outputsOf(plan, entryOf("cpu").device(0)), outputsOf(reference, entryOf("ref").device(0)),
        toleranceOf(DType::kFLOAT));
}

INSTANTIATE_TEST_SUITE_P(AsData, Constants, testing::ValuesIn(kCases),
    [](testing::TestParamInfo<ConstantCase> const& info) { return std::string{info.param.name}; });

} // namespace tenon::test
