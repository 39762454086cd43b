// calibrate: the network in float32 with its tensors in view, run on what the calibrator supplies.
#include "api/build/calibration.h"

#include "api/build/tensor_statistics.h"
#include "api/lowering/quantize_graph.h"
#include "api/run/cuda_engine.h"
#include "api/run/execution_context.h"

#include "base/cancellation.h"
#include "ir/host_tensor.h"
#include "passes/runner.h"
#include "plan/format.h"
#include "planner/planner.h"
#include "runtime/device_memory.h"

#include <cstring>

namespace tenon::api
{

using nvinfer1::CalibrationAlgoType;

namespace
{
constexpr double kStepsOfInt8{127.0};

//! Collects the tensors of runs.
class StatisticsListener final : public nvinfer1::IDebugListener
{
  public:
    explicit StatisticsListener(Device& device)
        : mDevice{device}
    {
    }
    bool processDebugTensor(void const* address, nvinfer1::TensorLocation, nvinfer1::DataType type, Dims const& shape,
        char const* name, cudaStream_t) noexcept override
    {
        try
        {
            std::vector<int64_t> const extents{shape.d, shape.d + shape.nbDims};
            int64_t const count = volumeOf(extents);
            Bytes bytes(static_cast<size_t>(bytesOf(type, count)));
            if (!mDevice.copyToHost(bytes.data(), address, bytes.size(), kApartStream))
                return false;
            std::vector<float> values(static_cast<size_t>(count));
            if (type == DType::kFLOAT)
                std::memcpy(values.data(), bytes.data(), bytes.size());
            else
            {
                HostTensor const tensor = HostTensor::fromBytes(type, extents, bytes.data());
                for (int64_t i = 0; i < count; ++i)
                    values[static_cast<size_t>(i)] = static_cast<float>(tensor.real(i));
            }
            if (int64_t const strange = mStatistics[name].add(values); strange > 0)
                note(name, strange);
            return true;
        }
        catch (std::exception const&)
        {
            return false;
        }
    }
    std::map<std::string, TensorStatistics>& all() noexcept
    {
        return mStatistics;
    }
    //! Empty: all values were finite.
    std::string const& problem() const noexcept
    {
        return mProblem;
    }

  private:
    //! The first tensor of the first run is where it comes from, or next to it.
    void note(char const* name, int64_t strange)
    {
        if (mProblem.empty())
            mProblem =
                fmt::format("[tensor '{}'] it has {} values that are not finite, which count for nothing, as do those "
                            "of tensors behind it: look at what the calibrator gives",
                    name, strange);
    }

    Device& mDevice;
    std::string mProblem;
    std::map<std::string, TensorStatistics> mStatistics;
};

//! Room for an output, as large as the run says.
class OutputRoom final : public nvinfer1::IOutputAllocator
{
  public:
    explicit OutputRoom(Device& device)
        : mDevice{device}
    {
    }
    void* reallocateOutput(char const*, void*, uint64_t size, uint64_t) noexcept override
    {
        if (static_cast<int64_t>(size) <= mMemory.bytes())
            return mMemory.data();
        auto made = DeviceMemory::allocate({&mDevice}, static_cast<int64_t>(size), "an output");
        if (!made)
            return nullptr; // The run says that there is no memory.
        mMemory = std::move(*made);
        return mMemory.data();
    }
    void notifyShape(char const*, Dims const&) noexcept override {}

  private:
    Device& mDevice;
    DeviceMemory mMemory;
};

//! The float32 network with its debug tensors, as an engine.
Result<std::unique_ptr<nvinfer1::ICudaEngine>> observedEngine(CalibrationRequest const& request)
{
    NetworkGraph written = TENON_TRY(request.makeGraph());
    TENON_TRY(observe(written.graph, request.values));
    Target const target = request.device.target();
    OptimizeOptions optimizing;
    optimizing.limits = target.fusion;
    TENON_TRY(optimize(written.graph, optimizing));
    PlanOptions planning;
    planning.io = std::move(written.io);
    planning.profiles = std::move(written.profiles);
    planning.batch = request.network.batch();
    planning.threads = request.device.device->hostThreads();
    planning.plugins = std::move(written.plugins);
    planning.code = std::move(written.code);
    Plan const plan =
        TENON_TRY(makePlan(written.graph, request.device.backend->backend(), target, std::move(planning)));
    auto const blob = std::make_shared<Bytes const>(TENON_TRY(writePlan(plan)));
    LoadRequest load{*blob, blob, request.network.reporting(), request.device};
    load.plugins = request.plugins;
    load.allowsHostCode = true; // It comes from this very build.
    return std::unique_ptr<nvinfer1::ICudaEngine>{TENON_TRY(deserializeEngine(load))};
}

//! Runs of the engine on the calibrator's batches.
class BatchRuns
{
  public:
    BatchRuns(CalibrationRequest const& request, nvinfer1::ICudaEngine& engine)
        : mCalibrator{request.calibrator},
          mDevice{*request.device.device},
          mEngine{engine},
          mIsImplicit{engine.hasImplicitBatchDimension()}
    {
    }

    Result<int32_t> run(nvinfer1::IDebugListener& listener)
    {
        mContext.reset(mEngine.createExecutionContext());
        if (mContext == nullptr)
            return errorOf(ErrorCode::kFAILED_EXECUTION, "the float32 network has no execution context");
        mContext->setDebugListener(&listener);
        mContext->setAllTensorsDebugState(true);
        TENON_TRY(prepare());
        int32_t batches{0};
        std::vector<void*> addresses(mInputs.size(), nullptr);
        while (mCalibrator.getBatch(addresses.data(), mInputs.data(), static_cast<int32_t>(mInputs.size())))
        {
            cancellationPoint();
            for (size_t i = 0; i < mInputs.size(); ++i)
                if (addresses[i] == nullptr)
                    return badArgument(
                        "the calibrator gives no address for input '{}' in batch {}", mInputs[i], batches);
            if (!(mIsImplicit ? runSamples(addresses) : runBatch(addresses)))
                return errorOf(ErrorCode::kFAILED_EXECUTION, "the float32 network did not run on batch {}", batches);
            ++batches;
        }
        return batches;
    }

  private:
    Result<Done> prepare()
    {
        if (mIsImplicit)
        {
            mBatch = mCalibrator.getBatchSize();
            if (mBatch < 1 || mBatch > mEngine.getMaxBatchSize())
                return badArgument("the calibrator's batches have {} samples, and the builder's max batch size is {}",
                    mBatch, mEngine.getMaxBatchSize());
        }
        for (int32_t i = 0; i < mEngine.getNbIOTensors(); ++i)
        {
            char const* const name = mEngine.getIOTensorName(i);
            if (mEngine.getTensorIOMode(name) == nvinfer1::TensorIOMode::kINPUT)
                TENON_TRY(prepareInput(name, i));
            else
                TENON_TRY(prepareOutput(name));
        }
        return Done{};
    }
    Result<Done> prepareInput(char const* name, int32_t io)
    {
        using Select = nvinfer1::OptProfileSelector;
        if (!mIsImplicit && !mContext->setInputShape(name, mEngine.getProfileShape(name, 0, Select::kOPT)))
            return badConfig("input '{}' has no shape in the calibration profile", name);
        if (!mEngine.isShapeInferenceIO(name))
        {
            mInputs.push_back(name);
            return Done{};
        }
        Context& context = ExecutionContext::of(*mContext).context();
        return context.setShapeValues(io, TENON_TRY(context.engine().profileValues(name, 0, Select::kOPT)));
    }
    Result<Done> prepareOutput(char const* name)
    {
        if (!mIsImplicit)
        {
            mRooms.push_back(std::make_unique<OutputRoom>(mDevice));
            mContext->setOutputAllocator(name, mRooms.back().get());
            return Done{};
        }
        Dims const dims = mEngine.getTensorShape(name);
        std::vector<int64_t> extents{dims.d, dims.d + dims.nbDims};
        extents.push_back(mBatch);
        int64_t const bytes = bytesOf(mEngine.getTensorDataType(name), volumeOf(extents));
        mOutputs.push_back(TENON_TRY(DeviceMemory::allocate({&mDevice}, bytes, "an output")));
        return Done{};
    }
    bool runBatch(std::vector<void*> const& addresses)
    {
        for (size_t i = 0; i < mInputs.size(); ++i)
            if (!mContext->setTensorAddress(mInputs[i], addresses[i]))
                return false;
        return mContext->enqueueV3(nullptr); // Behind what fills the batch on the default stream.
    }
    bool runSamples(std::vector<void*> const& addresses)
    {
        std::vector<void*> bindings{addresses};
        for (DeviceMemory const& output : mOutputs)
            bindings.push_back(output.data());
        return mContext->execute(mBatch, bindings.data());
    }

    nvinfer1::IInt8Calibrator& mCalibrator;
    Device& mDevice;
    nvinfer1::ICudaEngine& mEngine;
    bool mIsImplicit;
    int32_t mBatch{1};
    std::unique_ptr<nvinfer1::IExecutionContext> mContext;
    std::vector<char const*> mInputs;
    std::vector<std::unique_ptr<OutputRoom>> mRooms;
    std::vector<DeviceMemory> mOutputs;
};

//! Where int8 ends, by the algorithm.
double reachOf(TensorStatistics const& statistics, nvinfer1::IInt8Calibrator& calibrator)
{
    switch (calibrator.getAlgorithm())
    {
    case CalibrationAlgoType::kMINMAX_CALIBRATION: return statistics.largest();
    case CalibrationAlgoType::kLEGACY_CALIBRATION:
    {
        auto const& legacy = static_cast<nvinfer1::IInt8LegacyCalibrator&>(calibrator);
        return statistics.quantile(legacy.getQuantile(), legacy.getRegressionCutoff());
    }
    default: return statistics.leastDivergence();
    }
}

using AllStatistics = std::map<std::string, TensorStatistics>;

//! The legacy calibrator's own cache: length and bytes of name and histogram, one after the other.
class HistogramCache
{
  public:
    explicit HistogramCache(nvinfer1::IInt8Calibrator& calibrator)
        : mLegacy{calibrator.getAlgorithm() == CalibrationAlgoType::kLEGACY_CALIBRATION
                ? static_cast<nvinfer1::IInt8LegacyCalibrator*>(&calibrator)
                : nullptr}
    {
    }
    //! None: there is none, or it is not ours.
    std::optional<AllStatistics> read() const
    {
        size_t length{0};
        void const* const data = mLegacy == nullptr ? nullptr : mLegacy->readHistogramCache(length);
        if (data == nullptr || length == 0)
            return std::nullopt;
        ByteView left{static_cast<uint8_t const*>(data), length};
        AllStatistics all;
        while (!left.empty())
        {
            std::optional<ByteView> const name = part(left);
            std::optional<ByteView> const histogram = part(left);
            if (!name || !histogram)
                return std::nullopt;
            Result<TensorStatistics> statistics = TensorStatistics::restored(*histogram);
            if (!statistics)
                return std::nullopt;
            all[std::string{name->begin(), name->end()}] = *std::move(statistics);
        }
        return all;
    }
    void write(AllStatistics const& all) const
    {
        if (mLegacy == nullptr)
            return;
        Bytes bytes;
        auto const append = [&](auto const& data) {
            auto const size = static_cast<uint64_t>(data.size());
            auto const* const first = reinterpret_cast<uint8_t const*>(&size);
            bytes.insert(bytes.end(), first, first + sizeof size);
            bytes.insert(bytes.end(), data.begin(), data.end());
        };
        for (auto const& [name, statistics] : all)
        {
            append(name);
            append(statistics.stored());
        }
        mLegacy->writeHistogramCache(bytes.data(), bytes.size());
    }

  private:
    static std::optional<ByteView> part(ByteView& left)
    {
        uint64_t size{0};
        if (left.size() < sizeof size)
            return std::nullopt;
        std::memcpy(&size, left.data(), sizeof size);
        left = left.subspan(sizeof size);
        if (left.size() < size)
            return std::nullopt;
        ByteView const found = left.subspan(0, static_cast<size_t>(size));
        left = left.subspan(static_cast<size_t>(size));
        return found;
    }

    nvinfer1::IInt8LegacyCalibrator* mLegacy;
};

Result<AllStatistics> collect(CalibrationRequest const& request)
{
    HistogramCache const cache{request.calibrator};
    if (std::optional<AllStatistics> known = cache.read())
        return *std::move(known);
    std::unique_ptr<nvinfer1::ICudaEngine> const engine = TENON_TRY(observedEngine(request));
    StatisticsListener listener{*request.device.device};
    int32_t const batches = TENON_TRY(BatchRuns(request, *engine).run(listener));
    if (batches == 0)
        return badArgument("the calibrator has neither a cache nor a batch");
    if (!listener.problem().empty())
        request.network.reporting().log().warning("calibration: " + listener.problem());
    request.network.reporting().log().info(
        fmt::format("calibrated {} tensors on {} batches", listener.all().size(), batches));
    cache.write(listener.all());
    return std::move(listener.all());
}

std::optional<Scales> cached(CalibrationRequest const& request)
{
    size_t length{0};
    void const* const data = request.calibrator.readCalibrationCache(length);
    if (data == nullptr || length == 0)
        return std::nullopt;
    Result<Scales> scales =
        readCache(request.calibrator.getAlgorithm(), std::string_view{static_cast<char const*>(data), length});
    if (scales)
        return *std::move(scales);
    request.network.reporting().log().warning(
        fmt::format("the calibration cache is not used: {}", scales.error().message));
    return std::nullopt;
}
} // namespace

Result<Scales> calibrate(CalibrationRequest const& request)
{
    if (std::optional<Scales> known = cached(request))
        return *std::move(known);
    Result<AllStatistics> all = collect(request);
    if (!all)
        return std::move(all).error().in("calibration");
    Scales scales;
    for (auto const& [name, statistics] : *all)
        scales[name] = static_cast<float>(reachOf(statistics, request.calibrator) / kStepsOfInt8);
    std::string const text = cacheText(request.calibrator.getAlgorithm(), scales);
    request.calibrator.writeCalibrationCache(text.data(), text.size());
    return scales;
}

} // namespace tenon::api
