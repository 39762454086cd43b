// Times of our own kernels in replays of CUDA graphs on random data, one line of JSON each, for tools/cuda_test: of the
// fastest offer of each candidate, beside the least time that memory and arithmetic of an H200 need.
#include "backend/layer_args.h"
#include "backends/rows.h"
#include "device/cuda/cuda_device.h"
#include "device/measure.h"
#include "layers/attention.h"
#include "layers/convolution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>

namespace tenon::test
{

namespace
{
constexpr int kCalls{20};   //!< In a graph.
constexpr int kReplays{12}; //!< Of which the first two warm up.

struct Row
{
    std::string name;
    LayerPtr layer;
    std::vector<std::vector<int64_t>> inputs;
    double flops;
    double elements; //!< Read and written at least.
};

//! What an H200 reaches with large products and large copies (benchmarks/results/2026-11-23-cuda-kernels.md).
double leastMicroseconds(Row const& row)
{
    constexpr double kFlops{790e6};
    constexpr double kBytes{4.26e6};
    return std::max(row.flops / kFlops, 2.0 * row.elements / kBytes);
}

Row convolutionRow(
    std::string const& kind, int64_t from, int64_t maps, int64_t size, int64_t window, int64_t stride, int64_t batch)
{
    int64_t const groups = kind == "depthwise" ? from : 1;
    int64_t const out = (size + stride - 1) / stride;
    Convolution layer;
    layer.nbOutputMaps = maps;
    layer.kernelSize = {2, {window, window}};
    layer.stride = {2, {stride, stride}};
    layer.nbGroups = groups;
    layer.prePadding = {2, {window / 2, window / 2}};
    layer.postPadding = layer.prePadding;
    layer.epilogue.steps = {{EpilogueKind::kRelu}};
    auto const results = static_cast<double>(batch * maps * out * out);
    auto const weights = static_cast<double>(maps * from / groups * window * window);
    return {fmt::format("{} {}-{} {} {}x{}/{} b{} f16", kind, from, maps, size, window, window, stride, batch),
        makeLayer(layer), {{batch, from, size, size}, {maps, from / groups, window, window}, {maps}},
        2.0 * results * static_cast<double>(from / groups * window * window),
        results + static_cast<double>(batch * from * size * size) + weights};
}

Row attentionRow(int64_t batch, int64_t heads, int64_t length, int64_t size)
{
    Attention layer;
    layer.scale = 0.125F;
    auto const each = static_cast<double>(batch * heads * length * size);
    std::vector<int64_t> const extents{batch, heads, length, size};
    return {fmt::format("attention {}x{}x{}x{} f16", batch, heads, length, size), makeLayer(layer),
        {extents, extents, extents}, 4.0 * each * static_cast<double>(length), 4.0 * each};
}

std::vector<Row> rows()
{
    std::vector<Row> all;
    for (int64_t const batch : {1, 128})
    {
        for (auto const& [channels, size, window, stride] :
            std::vector<std::array<int64_t, 4>>{{32, 112, 3, 1}, {96, 112, 3, 2}, {144, 56, 3, 1}, {192, 28, 3, 1},
                {384, 14, 3, 1}, {576, 14, 3, 1}, {960, 7, 3, 1}, {480, 14, 5, 1}, {1152, 7, 5, 1}})
            all.push_back(convolutionRow("depthwise", channels, channels, size, window, stride, batch));
        all.push_back(convolutionRow("first convolution", 3, 64, 224, 7, 2, batch));
        all.push_back(convolutionRow("first convolution", 3, 32, 224, 3, 2, batch));
    }
    return all;
}

std::vector<Row> attentionRows()
{
    std::vector<Row> all;
    for (auto const& [batch, heads, length, size] :
        std::vector<std::array<int64_t, 4>>{{1, 12, 128, 64}, {32, 12, 128, 64}, {1, 16, 384, 64}, {32, 16, 384, 64},
            {1, 12, 197, 64}, {64, 12, 197, 64}, {1, 32, 2048, 128}})
        all.push_back(attentionRow(batch, heads, length, size));
    return all;
}

//! A graph of so many runs of one step, replayed; the median time of one.
Result<double> replayTime(CudaDevice& device, Launch const& launch)
{
    cuda::DriverApi const& api = device.api();
    cuda::Current const current{device};
    void* const stream = TENON_TRY(device.createStream());
    std::vector<Launch> const launches(kCalls, launch);
    RunFailure failure;
    TENON_CUDA_TRY(api, cuStreamBeginCapture_v2, stream, cuda::kCaptureThreadLocal);
    Result<RunEnd> const recorded =
        device.run(launches, {.stream = stream, .keeper = std::make_shared<int>(0)}, failure);
    void* graph{nullptr};
    void* executable{nullptr};
    TENON_CUDA_TRY(api, cuStreamEndCapture, stream, &graph);
    TENON_TRY(recorded);
    TENON_CUDA_TRY(api, cuGraphInstantiateWithFlags, &executable, graph, 0ULL);
    void* events[2]{};
    for (void*& event : events)
        TENON_CUDA_TRY(api, cuEventCreate, &event, cuda::kEventDefault);
    std::vector<float> times;
    for (int replay = 0; replay < kReplays; ++replay)
    {
        float milliseconds{0.0F};
        TENON_CUDA_TRY(api, cuEventRecord, events[0], stream);
        TENON_CUDA_TRY(api, cuGraphLaunch, executable, stream);
        TENON_CUDA_TRY(api, cuEventRecord, events[1], stream);
        TENON_CUDA_TRY(api, cuEventSynchronize, events[1]);
        TENON_CUDA_TRY(api, cuEventElapsedTime, &milliseconds, events[0], events[1]);
        if (replay >= 2)
            times.push_back(milliseconds * 1e3F / kCalls);
    }
    for (void* const event : events)
        static_cast<void>(api.cuEventDestroy_v2(event));
    static_cast<void>(api.cuGraphExecDestroy(executable));
    static_cast<void>(api.cuGraphDestroy(graph));
    device.destroyStream(stream);
    std::ranges::nth_element(times, times.begin() + kReplays / 2 - 1);
    return static_cast<double>(times[kReplays / 2 - 1]);
}

//! Of each candidate that takes the row, by name.
Result<std::map<std::string, double>> timesOf(BackendEntry const& entry, Row const& row)
{
    auto& device = static_cast<CudaDevice&>(entry.device(0));
    Graph graph;
    std::vector<ValueId> inputs;
    for (std::vector<int64_t> const& extents : row.inputs)
        inputs.push_back(graph.addInput("input" + std::to_string(inputs.size()), {DType::kHALF, shapeOf(extents)}));
    NodeId const node = TENON_TRY(graph.addNode(row.layer, "layer", inputs));
    Backend const backend = entry.backend();
    Target const target = entry.target(0);
    Problem const problem{&graph, &graph.node(node), {}, &target};
    std::map<std::string, double> times;
    for (Offer const& offer : backend.offers(problem).accepted)
    {
        if (offer.place == Place::kHost || offer.candidate == "direct")
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
            in.push_back({DType::kHALF, offer.inputs[i], row.inputs[i]});
            TENON_TRY(operands.addInput(in.back()));
        }
        TensorArg const out{DType::kHALF, offer.outputs[0], problem.typicalExtents(problem.output())};
        TENON_TRY(operands.addOutput(out));
        auto const prepared = TENON_TRY(kernel->prepare(in, {&out, 1}, 1));
        double const time = TENON_TRY(replayTime(device, TENON_TRY(operands.launch(*prepared))));
        std::string const name = fmt::format("{} {}", offer.candidate, offer.tactic);
        times[name] = times.contains(name) ? std::min(times[name], time) : time;
    }
    return times;
}

//! A line for each.
void measure(std::vector<Row> const& rows)
{
    auto const all = allBackends();
    BackendEntry const& entry = *std::ranges::find(all, std::string_view{"cuda"}, &BackendEntry::name);
    for (Row const& row : entry.probe() ? rows : std::vector<Row>{})
    {
        auto const times = timesOf(entry, row);
        ASSERT_TRUE(times) << row.name << ": " << times.error().message;
        ASSERT_FALSE(times->empty()) << row.name;
        auto const best = std::ranges::min_element(*times, {}, [](auto const& each) { return each.second; });
        std::string list;
        for (auto const& [name, time] : *times)
            list += fmt::format("{}{}: {:.2f}", list.empty() ? "" : ", ", name, time);
        std::printf("BENCHMARK {\"name\": \"%s\", \"us\": %.2f, \"limit\": %.2f, \"how\": \"%s\", \"all\": \"%s\"}\n",
            row.name.c_str(), best->second, leastMicroseconds(row), best->first.c_str(), list.c_str());
    }
}
} // namespace

TEST(CudaBenchmark, ownKernelsInGraphs)
{
    measure(rows());
}

TEST(CudaBenchmark, attentionInGraphs)
{
    measure(attentionRows());
}

} // namespace tenon::test
