// Times of a few kernels on the GPU at hand, one line of JSON each, for tools/cuda_test.
#include "backend/layer_args.h"
#include "backends/rows.h"
#include "device/measure.h"
#include "layers/activation.h"
#include "layers/convolution.h"
#include "layers/matrix_multiply.h"
#include "layers/normalization.h"
#include "layers/soft_max.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

namespace tenon::test
{

namespace
{
struct Timed
{
    std::string name;
    LayerPtr layer;
    std::vector<std::vector<int64_t>> inputs;
    DType type{DType::kHALF};
};

//! Channels in and out, window, extent, batch.
std::vector<std::array<int64_t, 5>> convolutionsOfResnet50()
{
    std::vector<std::array<int64_t, 5>> all;
    for (int64_t const batch : {1, 8})
        for (auto const& [from, to, window, extent] : std::vector<std::array<int64_t, 4>>{
                 {64, 64, 3, 56}, {64, 256, 1, 56}, {512, 128, 1, 28}, {256, 256, 3, 14}, {512, 2048, 1, 7}})
            all.push_back({from, to, window, extent, batch});
    return all;
}

std::vector<Timed> timedKernels()
{
    std::vector<Timed> all;
    Activation gelu;
    gelu.activationType = nvinfer1::ActivationType::kGELU_ERF;
    all.push_back({"gelu 12288x1024 f16", makeLayer(gelu), {{12288, 1024}}});
    SoftMax softMax;
    softMax.axes = 2;
    all.push_back({"softmax 12288x1024 f16", makeLayer(softMax), {{12288, 1024}}});
    Normalization norm;
    norm.axes = 2;
    all.push_back({"layer norm 12288x1024 f16", makeLayer(norm), {{12288, 1024}, {1, 1024}, {1, 1024}}});
    softMax.axes = 4;
    all.push_back({"softmax 32x12x128x128 f16", makeLayer(softMax), {{384, 128, 128}}});
    for (auto const& [rows, columns, depth] : std::vector<std::array<int64_t, 3>>{
             {128, 768, 768}, {128, 3072, 768}, {1024, 1024, 1024}, {4096, 768, 3072}, {12288, 3072, 1024}})
        all.push_back({fmt::format("product {}x{}x{} f16", rows, columns, depth), makeLayer(MatrixMultiply{}),
            {{rows, depth}, {depth, columns}}});
    all.push_back({"product 4096x768x3072 bias f16", makeLayer(MatrixMultiply{}), {{4096, 3072}, {3072, 768}, {768}}});
    all.push_back({"products 384 x 128x128x64 f16", makeLayer(MatrixMultiply{}), {{384, 128, 64}, {384, 64, 128}}});
    all.push_back(
        {"product 1024x1024x1024 f32", makeLayer(MatrixMultiply{}), {{1024, 1024}, {1024, 1024}}, DType::kFLOAT});
    for (auto const& [from, to, window, extent, batch] : convolutionsOfResnet50())
    {
        Convolution convolution;
        convolution.nbOutputMaps = to;
        convolution.kernelSize = {2, {window, window}};
        convolution.prePadding = {2, {window / 2, window / 2}};
        convolution.postPadding = convolution.prePadding;
        all.push_back({fmt::format("convolution {}-{} {}x{} {} b{} f16", from, to, window, window, extent, batch),
            makeLayer(convolution), {{batch, from, extent, extent}, {to, from, window, window}, {to}}});
    }
    return all;
}

//! Microseconds of the best offer that runs on the device.
Result<double> timeOf(BackendEntry const& entry, Timed const& timed)
{
    Device& device = entry.device(0);
    Graph graph;
    std::vector<ValueId> inputs;
    for (std::vector<int64_t> const& extents : timed.inputs)
        inputs.push_back(graph.addInput("input" + std::to_string(inputs.size()), {timed.type, shapeOf(extents)}));
    NodeId const node = TENON_TRY(graph.addNode(timed.layer, "layer", inputs));
    Backend const backend = entry.backend();
    Target const target = entry.target(0);
    Problem const problem{&graph, &graph.node(node), {}, &target};
    double best{-1.0};
    for (Offer const& offer : backend.offers(problem).accepted)
    {
        if (offer.place == Place::kHost)
            continue;
        KernelSpec const spec = TENON_TRY(backend.build(problem, offer));
        std::unique_ptr<Kernel> const kernel = TENON_TRY(device.load({.kernel = spec.kernel,
            .args = spec.args,
            .weights = std::vector<WeightArg>(inputs.size()),
            .layer = "layer"}));
        TrialOperands operands{device};
        std::vector<TensorArg> in;
        for (size_t i = 0; i < inputs.size(); ++i)
        {
            in.push_back({timed.type, offer.inputs[i], timed.inputs[i]});
            TENON_TRY(operands.addInput(in.back()));
        }
        TensorArg const out{problem.output().dtype, offer.outputs[0], problem.typicalExtents(problem.output())};
        TENON_TRY(operands.addOutput(out));
        auto const prepared = TENON_TRY(kernel->prepare(in, {&out, 1}, 1));
        Launch const launch = TENON_TRY(operands.launch(*prepared));
        double const microseconds = TENON_TRY(measure(device, {&launch, 1}, {.warmUps = 5, .rounds = 3, .runs = 40}));
        best = best < 0.0 ? microseconds : std::min(best, microseconds);
    }
    return best;
}
} // namespace

TEST(CudaBenchmark, kernels)
{
    auto const all = allBackends();
    BackendEntry const& entry = *std::ranges::find(all, std::string_view{"cuda"}, &BackendEntry::name);
    auto const count = entry.probe();
    for (Timed const& timed : count ? timedKernels() : std::vector<Timed>{})
    {
        Result<double> const time = timeOf(entry, timed);
        ASSERT_TRUE(time) << timed.name << ": " << time.error().message;
        EXPECT_GT(*time, 0.0) << timed.name;
        std::printf("BENCHMARK {\"name\": \"%s\", \"us\": %.2f}\n", timed.name.c_str(), *time);
    }
}

} // namespace tenon::test
