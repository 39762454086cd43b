// The devices of this machine under the contract: those of the build, and the guarded one over them.
#include "contract/device_case.h"

#include "device/host/graphs.h"
#include "device/host/streams.h"
#include "devices/guarded/guarded_device.h"
#include "layers/assertion.h"
#include "layers/element_wise.h"

#include <algorithm>
#include <iterator>

namespace tenon::test
{

namespace
{
Result<Done> holdHost(void* stream, std::function<void()> pass)
{
    return host::submit(stream, [pass = std::move(pass)]() -> Result<Done> {
        pass();
        return Done{};
    });
}

Result<Done> beginHostCapture(void* stream)
{
    return host::beginCapture(stream, host::CaptureMode::kGlobal);
}

Result<void*> endHostCapture(void* stream)
{
    void* const graph = TENON_TRY(host::endCapture(stream));
    auto executable = host::instantiateGraph(graph);
    TENON_TRY(host::destroyGraph(graph));
    return executable;
}

BackendEntry const& entryOf(std::string_view name)
{
    return *std::ranges::find(allBackends(), name, &BackendEntry::name);
}

Device& cpu()
{
    return entryOf("cpu").device(0);
}

Device& ref()
{
    return entryOf("ref").device(0);
}

template <Device& (*plain)()>
Device& guarded()
{
    static GuardedDevice device{plain()};
    return device;
}

DeviceCase hostCase(std::string name, BackendEntry const* backend, Device& (*device)())
{
    return {std::move(name), backend, device, holdHost, beginHostCapture, endHostCapture, host::launchGraph,
        host::destroyExecutable};
}
} // namespace

std::vector<DeviceCase> const& deviceCases()
{
    static std::vector<DeviceCase> const cases = [] {
        std::vector<DeviceCase> list;
        list.push_back(hostCase("cpu", &entryOf("cpu"), cpu));
        list.push_back(hostCase("ref", &entryOf("ref"), ref));
        list.push_back(hostCase("guarded_cpu", &entryOf("cpu"), guarded<cpu>));
        list.push_back(hostCase("guarded_ref", &entryOf("ref"), guarded<ref>));
        std::ranges::move(cudaCases(), std::back_inserter(list));
        return list;
    }();
    return cases;
}

Result<Done> Contract::awaitStream()
{
    void* const event = TENON_TRY(mDevice.createEvent());
    auto recorded = mDevice.recordEvent(event, mStream);
    auto over = recorded ? mDevice.awaitEvent(event, nullptr) : Result<bool>{recorded.error()};
    mDevice.destroyEvent(event);
    if (!over)
        return std::move(over).error();
    return Done{};
}

DeviceMemoryOf::DeviceMemoryOf(Device& device, size_t bytes)
    : mDevice{device},
      mData{device.allocate(bytes)}
{
    EXPECT_NE(mData, nullptr);
}

DeviceMemoryOf::DeviceMemoryOf(Device& device, std::vector<float> const& values)
    : DeviceMemoryOf{device, values.size() * sizeof(float)}
{
    EXPECT_OK(device.copyFromHost(mData, values.data(), values.size() * sizeof(float), kApartStream));
}

DeviceMemoryOf::~DeviceMemoryOf()
{
    mDevice.release(mData);
}

std::vector<float> DeviceMemoryOf::read(size_t count) const
{
    std::vector<float> values(count);
    EXPECT_OK(mDevice.copyToHost(values.data(), mData, count * sizeof(float), kApartStream));
    return values;
}

Step::Step(DeviceCase const& device, LayerPtr layer, std::vector<TensorType> const& types)
    : mDevice{device.device()}
{
    Graph graph;
    std::vector<ValueId> inputs;
    std::vector<TensorArg> given;
    for (TensorType const& type : types)
    {
        inputs.push_back(graph.addInput("input" + std::to_string(inputs.size()), type));
    }
    Result<NodeId> const node = graph.addNode(layer, "layer", inputs);
    EXPECT_OK(node);
    Backend const backend = device.backend->backend();
    Target const target = device.backend->target(0);
    Problem const problem{&graph, &graph.node(*node), {}, &target};
    Offers const offers = backend.offers(problem);
    EXPECT_FALSE(offers.accepted.empty());
    Offer const& offer = offers.accepted.front();
    mPlace = offer.place;
    for (size_t i = 0; i < types.size(); ++i)
        given.push_back({types[i].dtype, offer.inputs[i], problem.typicalExtents(types[i])});
    std::vector<TensorArg> made;
    for (size_t i = 0; i < problem.node->outputs.size(); ++i)
        made.push_back({problem.output(i).dtype, offer.outputs[i], problem.typicalExtents(problem.output(i))});
    auto const spec = backend.build(problem, offer);
    EXPECT_OK(spec);
    auto kernel = mDevice.load({.kernel = spec->kernel,
        .args = spec->args,
        .weights = std::vector<WeightArg>(types.size()),
        .outputs = made.size(),
        .layer = "layer",
        .place = offer.place});
    EXPECT_OK(kernel);
    mKernel = *std::move(kernel);
    auto prepared = mKernel->prepare(given, made, 1);
    EXPECT_OK(prepared);
    mPrepared = *std::move(prepared);
    size_t const scratch = std::max<size_t>(mPrepared->scratchBytes(), 1);
    if (mPlace == Place::kHost)
        mHostScratch.resize(scratch);
    else
        mScratch = std::make_unique<DeviceMemoryOf>(mDevice, scratch);
}

Launch Step::launch(std::vector<void const*> inputs, std::vector<void*> outputs, int32_t step)
{
    auto& in = *mInputs.emplace_back(std::make_unique<std::vector<void const*>>(std::move(inputs)));
    auto& out = *mOutputs.emplace_back(std::make_unique<std::vector<void*>>(std::move(outputs)));
    void* const scratch = mPlace == Place::kHost ? mHostScratch.data() : mScratch->data();
    return {mPrepared.get(), {in.data(), out.data(), scratch, mProduced}, step, in.size(), out.size(), false, mPlace};
}

Step sumOf(DeviceCase const& device, int64_t count)
{
    TensorType const type{DType::kFLOAT, shapeOf({count})};
    return {device, makeLayer(ElementWise{}), {type, type}};
}

Step assertionOf(DeviceCase const& device, int64_t count)
{
    return {device, makeLayer(Assertion{"it is false"}), {{DType::kBOOL, shapeOf({count})}}};
}

Held::Held(DeviceCase const& device, void* stream)
    : mState{std::make_shared<State>()}
{
    EXPECT_OK(device.hold(stream, [state = mState] {
        std::unique_lock lock{state->mutex};
        state->changed.wait(lock, [&] { return state->isOpen; });
    }));
}

Held::~Held()
{
    open();
}

void Held::open()
{
    std::scoped_lock const lock{mState->mutex};
    mState->isOpen = true;
    mState->changed.notify_all();
}

Error Listener::failed(RunFailure const& failure)
{
    std::scoped_lock const lock{mMutex};
    mSteps.push_back(failure.step);
    return failure.error;
}

std::vector<int32_t> Listener::steps() const
{
    std::scoped_lock const lock{mMutex};
    return mSteps;
}

} // namespace tenon::test
