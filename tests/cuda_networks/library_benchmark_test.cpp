// ResNet-50's convolutions and BERT's products as the libraries do them on the GPU at hand, beside our own kernels'
// results, one line of JSON each, for tools/cuda_test. Device time of calls in a CUDA graph, as PyTorch's are measured.
#include "backends/rows.h"
#include "device/cuda/cuda_device.h"
#include "device/measure.h"
#include "ir/host_tensor.h"
#include "layers/convolution.h"
#include "layers/matrix_multiply.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

namespace tenon::test
{

namespace
{
constexpr int kLibraryCalls{20};
constexpr int kLibraryReplays{12};

struct LibraryCase
{
    std::string name;
    LayerPtr layer;
    std::vector<std::vector<int64_t>> inputs; //!< Empty: absent.
};

//! Channels in and out, window, stride, extent; whether a residual is added.
struct ResnetConvolution
{
    int64_t from, to, window, stride, extent;
    bool adds;
};
constexpr ResnetConvolution kResnetConvolutions[]{{3, 64, 7, 2, 224, false}, {64, 64, 1, 1, 56, false},
    {64, 64, 3, 1, 56, false}, {64, 256, 1, 1, 56, true}, {256, 64, 1, 1, 56, false}, {256, 128, 1, 1, 56, false},
    {128, 128, 3, 2, 56, false}, {128, 512, 1, 1, 28, true}, {512, 128, 1, 1, 28, false}, {128, 128, 3, 1, 28, false},
    {256, 256, 3, 1, 14, false}, {256, 1024, 1, 1, 14, true}, {1024, 256, 1, 1, 14, false}, {512, 512, 3, 1, 7, false},
    {512, 2048, 1, 1, 7, true}, {2048, 512, 1, 1, 7, false}};

LibraryCase caseOf(ResnetConvolution const& of, int64_t batch)
{
    Convolution layer;
    layer.nbOutputMaps = of.to;
    layer.kernelSize = {2, {of.window, of.window}};
    layer.stride = {2, {of.stride, of.stride}};
    layer.prePadding = {2, {of.window / 2, of.window / 2}};
    layer.postPadding = layer.prePadding;
    int64_t const out = (of.extent + of.window / 2 * 2 - of.window) / of.stride + 1;
    std::vector<std::vector<int64_t>> inputs{
        {batch, of.from, of.extent, of.extent}, {of.to, of.from, of.window, of.window}, {of.to}};
    if (of.adds)
    {
        layer.epilogue.steps.push_back({EpilogueKind::kAdd});
        inputs.push_back({batch, of.to, out, out});
    }
    layer.epilogue.steps.push_back({EpilogueKind::kRelu});
    return {fmt::format("resnet50 b{} {}-{} {}x{} /{} {}{}", batch, of.from, of.to, of.window, of.window, of.stride,
                of.extent, of.adds ? " add" : ""),
        makeLayer(layer), std::move(inputs)};
}

std::vector<LibraryCase> productsOfBert()
{
    std::vector<LibraryCase> all;
    for (int64_t const rows : {128, 384, 4096, 12288})
        for (auto const& [columns, depth] : std::vector<std::pair<int64_t, int64_t>>{
                 {768, 768}, {2304, 768}, {3072, 768}, {768, 3072}, {1024, 1024}, {4096, 1024}, {1024, 4096}})
        {
            MatrixMultiply layer;
            bool const isWide = columns > depth && columns != 2304; // The first of a block's two, with its GELU.
            if (isWide)
                layer.epilogue.steps = {{EpilogueKind::kGeluErf}};
            all.push_back({fmt::format("bert {}x{}x{} bias{}", rows, columns, depth, isWide ? " gelu" : ""),
                makeLayer(layer), {{rows, depth}, {depth, columns}, {columns}}});
        }
    return all;
}

//! Microseconds of one call, the median of replays of a graph with several.
Result<double> libraryReplayTime(CudaDevice const& device, Launch const& launch)
{
    cuda::Current const current{device};
    cuda::DriverApi const& api = device.api();
    void* stream{nullptr};
    void* graph{nullptr};
    void* executable{nullptr};
    void* events[2]{};
    constexpr unsigned kNonBlocking{1};
    TENON_CUDA_TRY(api, cuStreamCreate, &stream, kNonBlocking);
    CudaPrepared const& prepared = cudaPrepared(*launch.prepared);
    TENON_TRY(prepared.launch({device, api, stream, launch.call})); // Warm, before anything is recorded.
    TENON_CUDA_TRY(api, cuStreamSynchronize, stream);
    TENON_CUDA_TRY(api, cuStreamBeginCapture_v2, stream, cuda::kCaptureRelaxed);
    Result<Done> done = Done{};
    for (int i = 0; i < kLibraryCalls && done; ++i)
        done = prepared.launch({device, api, stream, launch.call});
    TENON_CUDA_TRY(api, cuStreamEndCapture, stream, &graph);
    TENON_TRY(done);
    TENON_CUDA_TRY(api, cuGraphInstantiateWithFlags, &executable, graph, 0);
    for (void*& event : events)
        TENON_CUDA_TRY(api, cuEventCreate, &event, 0);
    std::vector<double> times;
    for (int replay = 0; replay < kLibraryReplays; ++replay)
    {
        TENON_CUDA_TRY(api, cuEventRecord, events[0], stream);
        TENON_CUDA_TRY(api, cuGraphLaunch, executable, stream);
        TENON_CUDA_TRY(api, cuEventRecord, events[1], stream);
        TENON_CUDA_TRY(api, cuEventSynchronize, events[1]);
        float milliseconds{0.0F};
        TENON_CUDA_TRY(api, cuEventElapsedTime, &milliseconds, events[0], events[1]);
        times.push_back(static_cast<double>(milliseconds) * 1e3 / kLibraryCalls);
    }
    for (void* const event : events)
        TENON_CUDA_TRY(api, cuEventDestroy_v2, event);
    TENON_CUDA_TRY(api, cuGraphExecDestroy, executable);
    TENON_CUDA_TRY(api, cuGraphDestroy, graph);
    TENON_CUDA_TRY(api, cuStreamDestroy_v2, stream);
    std::ranges::nth_element(times, times.begin() + kLibraryReplays / 2);
    return times[kLibraryReplays / 2];
}

struct Timing
{
    double microseconds{-1.0};
    std::vector<double> results; //!< Only where asked for.
};

class LibraryTimer
{
  public:
    explicit LibraryTimer(LibraryCase const& of)
        : mOf{of}
    {
        std::vector<ValueId> values;
        for (auto const& extents : of.inputs)
            values.push_back(mGraph.addInput(fmt::format("in{}", values.size()), {DType::kHALF, shapeOf(extents)}));
        mNode = *mGraph.addNode(of.layer, "layer", values);
    }
    std::vector<Offer> offers() const
    {
        return entry().backend().offers(problem()).accepted;
    }
    Result<Timing> time(Offer const& offer, bool wantsResults) const
    {
        auto& device = static_cast<CudaDevice&>(entry().device(0));
        KernelSpec const spec = TENON_TRY(entry().backend().build(problem(), offer));
        std::unique_ptr<Kernel> const kernel = TENON_TRY(device.load({.kernel = spec.kernel,
            .args = spec.args,
            .weights = std::vector<WeightArg>(mOf.inputs.size()),
            .layer = "layer"}));
        TrialOperands operands{device};
        std::vector<TensorArg> in;
        for (size_t i = 0; i < mOf.inputs.size(); ++i)
        {
            in.push_back({DType::kHALF, offer.inputs[i], mOf.inputs[i]});
            TENON_TRY(operands.addInput(in.back()));
        }
        TensorArg const out{DType::kHALF, offer.outputs[0], problem().typicalExtents(problem().output())};
        TENON_TRY(operands.addOutput(out));
        auto const prepared = TENON_TRY(kernel->prepare(in, {&out, 1}, 1));
        Launch const launch = TENON_TRY(operands.launch(*prepared));
        Timing timing{.microseconds = TENON_TRY(libraryReplayTime(device, launch))};
        if (!wantsResults)
            return timing;
        std::vector<uint8_t> bytes(static_cast<size_t>(out.bytes()));
        TENON_TRY(device.copyToHost(bytes.data(), launch.call.outputs[0], bytes.size(), kApartStream));
        timing.results = HostTensor::fromBytes(out.dtype, out.extents, bytes.data()).reals;
        return timing;
    }
    static BackendEntry const& entry()
    {
        static auto const all = allBackends();
        return *std::ranges::find(all, std::string_view{"cuda"}, &BackendEntry::name);
    }

  private:
    Problem problem() const
    {
        return {&mGraph, &mGraph.node(mNode), {}, &mTarget};
    }

    LibraryCase const& mOf;
    Graph mGraph;
    NodeId mNode{kNone};
    Target mTarget{entry().target(0)};
};

double relativeDistance(std::vector<double> const& a, std::vector<double> const& b)
{
    double error{0.0};
    double norm{0.0};
    for (size_t i = 0; i < a.size(); ++i)
    {
        error += (a[i] - b[i]) * (a[i] - b[i]);
        norm += b[i] * b[i];
    }
    return a.size() == b.size() ? std::sqrt(error / norm) : HUGE_VAL;
}

bool isOurs(Offer const& offer)
{
    return offer.candidate == "direct" || offer.candidate == "tiles";
}

//! Each candidate's best, and, where it does not take long, how far all are from our plain kernel's results.
void timeCase(LibraryCase const& of, bool compares)
{
    LibraryTimer const timer{of};
    std::vector<Offer> const offers = timer.offers();
    std::map<std::string, std::pair<double, int64_t>> best;
    std::map<std::vector<Layout>, std::vector<double>> expected; // In every layout operands are the same bytes.
    auto const ours = std::ranges::find_if(offers, isOurs);
    ASSERT_NE(ours, offers.end()) << of.name << ": no kernel of our own";
    auto const expectedOf = [&](Offer const& offer) {
        auto const [at, isNew] = expected.try_emplace(offer.inputs);
        Offer plain = *ours;
        plain.inputs = offer.inputs;
        plain.outputs = offer.outputs;
        if (isNew)
            if (auto timed = timer.time(plain, true))
                at->second = std::move(timed->results);
        return at->second;
    };
    double worst{0.0};
    for (Offer const& offer : offers)
    {
        if (isOurs(offer) || offer.place == Place::kHost)
            continue;
        auto const timed = timer.time(offer, compares);
        ASSERT_TRUE(timed) << of.name << ", " << offer.candidate << " " << offer.tactic << ": "
                           << timed.error().message;
        auto& [least, tactic] = best.try_emplace(offer.candidate, HUGE_VAL, 0).first->second;
        if (timed->microseconds < least)
            std::tie(least, tactic) = std::pair{timed->microseconds, offer.tactic};
        if (compares)
            worst = std::max(worst, relativeDistance(timed->results, expectedOf(offer)));
    }
    constexpr double kRounding{2e-3}; // Of float16 between a library's kernel and what of ours stands behind it.
    EXPECT_LT(worst, kRounding) << of.name;
    ASSERT_FALSE(best.empty()) << of.name << ": no library";
    std::string line;
    for (auto const& [candidate, time] : best)
        line += fmt::format(R"(, "{}": {:.2f}, "{} tactic": {})", candidate, time.first, candidate, time.second);
    auto const fastest = std::ranges::min_element(best, {}, [](auto const& each) { return each.second.first; });
    std::printf("BENCHMARK {\"name\": \"%s\", \"us\": %.2f, \"error\": %.1e%s}\n", of.name.c_str(),
        fastest->second.first, worst, line.c_str());
    std::fflush(stdout);
}

bool isThere()
{
    return static_cast<bool>(LibraryTimer::entry().probe());
}
} // namespace

TEST(CudaLibraryBenchmark, resnet50Batch1)
{
    for (ResnetConvolution const& each : kResnetConvolutions)
        if (isThere())
            timeCase(caseOf(each, 1), true);
}

TEST(CudaLibraryBenchmark, resnet50Batch8)
{
    for (ResnetConvolution const& each : kResnetConvolutions)
        if (isThere())
            timeCase(caseOf(each, 8), false);
}

TEST(CudaLibraryBenchmark, resnet50Batch128)
{
    for (ResnetConvolution const& each : kResnetConvolutions)
        if (isThere())
            timeCase(caseOf(each, 128), false);
}

TEST(CudaLibraryBenchmark, bert)
{
    for (LibraryCase const& each : isThere() ? productsOfBert() : std::vector<LibraryCase>{})
        timeCase(each, each.inputs[0][0] == 128);
}

} // namespace tenon::test
