// Rows that are held in registers, of every length class and at addresses that are not aligned, on the fake driver.
#include "backend/layer_args.h"
#include "backends/rows.h"
#include "layers/normalization.h"
#include "layers/soft_max.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace tenon::test
{

namespace
{
constexpr int64_t kRows{3};

//! A softmax along rows of so many floats, which begin so many floats off an aligned address.
Result<std::vector<float>> softMaxOf(std::vector<float> const& x, int64_t length, size_t shift)
{
    Device& device = cudaWithKernels(0);
    SoftMax layer;
    layer.axes = 2;
    LayerArgs const args{std::string{SoftMax::kName}, makeLayer(layer)->stored(), {}, 0};
    Bytes const stored = encodeLayerArgs(args);
    std::unique_ptr<Kernel> const kernel =
        TENON_TRY(device.load({.kernel = "rows", .args = stored, .weights = std::vector<WeightArg>(1)}));
    TensorArg const arg{DType::kFLOAT, Layout::kLinear, {kRows, length}};
    auto const prepared = TENON_TRY(kernel->prepare({&arg, 1}, {&arg, 1}, 1));
    size_t const bytes = x.size() * sizeof(float);
    auto const release = [&](void* memory) { device.release(memory); };
    std::unique_ptr<void, decltype(release)> const memory{device.allocate(bytes + shift * sizeof(float)), release};
    float* const at = static_cast<float*>(memory.get()) + shift;
    TENON_TRY(device.copyFromHost(at, x.data(), bytes, kApartStream));
    void const* from{at};
    void* to{at};
    Launch launch;
    launch.prepared = prepared.get();
    launch.call = {.inputs = &from, .outputs = &to};
    launch.inputCount = 1;
    launch.outputCount = 1;
    RunFailure failure;
    TENON_TRY(device.run({&launch, 1}, {.stream = kApartStream}, failure));
    std::vector<float> got(x.size());
    TENON_TRY(device.copyToHost(got.data(), at, bytes, kApartStream));
    return got;
}
} // namespace

TEST(PackedRows, ofEachLengthClassAreRight)
{
    for (int64_t const length : {4, 1024, 2044, 4096, 4100})
        for (size_t const shift : {0, 1})
        {
            std::vector<float> x(static_cast<size_t>(kRows * length));
            for (size_t i = 0; i < x.size(); ++i)
                x[i] = static_cast<float>(i * 37 % 101) / 16.0F;
            auto const got = softMaxOf(x, length, shift);
            ASSERT_TRUE(got) << got.error().message;
            for (size_t row = 0; row < kRows; ++row)
            {
                auto const begin = x.begin() + static_cast<std::ptrdiff_t>(row) * length;
                double sum{0.0};
                for (auto each = begin; each != begin + length; ++each)
                    sum += std::exp(static_cast<double>(*each));
                for (int64_t i = 0; i < length; ++i)
                {
                    double const expected = std::exp(static_cast<double>(begin[i])) / sum;
                    float const value = (*got)[row * static_cast<size_t>(length) + static_cast<size_t>(i)];
                    ASSERT_NEAR(value, expected, 1e-5 * expected)
                        << length << ", " << shift << ", " << row << ", " << i;
                }
            }
        }
}

//! Root mean square norms, of every language model, come without one: a host's step would be each second step.
TEST(RowOffers, takeNormsWithoutABias)
{
    auto const all = allBackends();
    BackendEntry const& cuda = *std::ranges::find(all, std::string_view{"cuda"}, &BackendEntry::name);
    for (bool const isRms : {false, true})
    {
        Graph graph;
        ValueId const x = graph.addInput("x", {DType::kHALF, shapeOf({kRows, 64})});
        ValueId const scale = graph.addConstant("scale", HostTensor{DType::kHALF, {1, 64}}.toConstant());
        Normalization const norm{.axes = 2, .rms = isRms};
        Result<NodeId> const node = graph.addNode(makeLayer(norm), "norm", {x, scale, kNone});
        ASSERT_TRUE(node) << node.error().message;
        Target const target = cuda.target(0);
        Offers const offers = cuda.backend().offers({&graph, &graph.node(*node), {}, &target});
        EXPECT_TRUE(std::ranges::any_of(offers.accepted, [](Offer const& offer) { return offer.candidate == "rows"; }))
            << (offers.refused.empty() ? std::string{} : offers.refused.front().reason);
    }
}

} // namespace tenon::test
