// Session: building, loading, shapes, buffers.
#include "session.h"

#include "interruption.h"
#include "texts.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <stdexcept>

namespace tenon::cli
{

using nvinfer1::Dims;

void Logger::log(Severity severity, char const* message) noexcept
{
    if (severity > mSeverity)
        return;
    if (gInterrupted && severity <= Severity::kERROR)
        return; // What fails now fails because of the interruption, which the program reports itself.
    static constexpr char const* kNames[]{"internal error", "error", "warning", "info", "verbose"};
    std::string const text = shownMessage(message); // Plugins log, too.
    ProgressBar::clearLine();
    std::fprintf(stderr, "%s: %s\n", kNames[static_cast<int32_t>(severity)], text.c_str());
}

bool isOnnx(std::string const& path)
{
    return std::filesystem::path(path).extension() == ".onnx";
}

namespace
{
//! The smallest shape of such dimensions.
Dims withOnes(Dims dims)
{
    for (int32_t i = 0; i < dims.nbDims; ++i)
        dims.d[i] = std::max<int64_t>(dims.d[i], 1);
    return dims;
}

void addProfile(nvinfer1::IBuilder& builder, nvinfer1::INetworkDefinition& network, nvinfer1::IBuilderConfig& config,
    Shapes const& shapes)
{
    nvinfer1::IOptimizationProfile& profile = *builder.createOptimizationProfile();
    std::vector<std::string> names;
    for (int32_t i = 0; i < network.getNbInputs(); ++i)
        names.emplace_back(network.getInput(i)->getName());
    checkNames(shapes, names);
    bool dynamic{false};
    for (int32_t i = 0; i < network.getNbInputs(); ++i)
    {
        nvinfer1::ITensor const& input = *network.getInput(i);
        Dims const dims = input.getDimensions();
        bool const open = isOpen(dims);
        auto const given = shapes.find(input.getName());
        if (!open && given != shapes.end() && show(given->second.opt) != show(dims))
            throw std::invalid_argument(std::string{"input '"} + input.getName() + "' has the one shape " + show(dims)
                + ", which --shapes cannot change");
        if (!open)
            continue;
        dynamic = true;
        if (given == shapes.end())
            throw std::runtime_error(std::string{"input '"} + input.getName() + "' of shape " + show(dims)
                + " has extents known only at run time: give --shapes " + input.getName()
                + "=MIN:OPT:MAX, or for one shape only --shapes " + input.getName() + "=" + show(withOnes(dims)));
        ShapeRange const& range = given->second;
        profile.setDimensions(input.getName(), nvinfer1::OptProfileSelector::kMIN, range.min);
        profile.setDimensions(input.getName(), nvinfer1::OptProfileSelector::kOPT, range.opt);
        profile.setDimensions(input.getName(), nvinfer1::OptProfileSelector::kMAX, range.max);
    }
    if (dynamic && config.addOptimizationProfile(&profile) < 0)
        throw std::runtime_error("the shapes make no optimization profile");
}
} // namespace

std::unique_ptr<nvinfer1::IHostMemory> buildPlan(std::string const& path, Shapes const& shapes, int32_t threads,
    nvinfer1::ILogger& logger, BuildProgress& progress, NetworkChange const& change)
{
    Model model{logger};
    model.read(path);
    if (change)
        change(model.network());
    nvinfer1::IBuilder& builder = model.builder();
    if (threads > 0)
        builder.setMaxThreads(threads);
    std::unique_ptr<nvinfer1::IBuilderConfig> const config{builder.createBuilderConfig()};
    addProfile(builder, model.network(), *config, shapes);
    config->setProgressMonitor(&progress);
    return std::unique_ptr<nvinfer1::IHostMemory>{builder.buildSerializedNetwork(model.network(), *config)};
}

namespace
{
//! For plans that carry host code of plugins, which was not allowed.
std::string hintOfCode(std::string const& path, nvinfer1::IHostMemory const* built, bool allowsCode)
{
    std::string const text = take(built != nullptr ? tenonInspectPlan(built->data(), built->size(), nullptr)
                                                   : tenonInspectFile(path.c_str(), nullptr));
    if (allowsCode || text.empty())
        return {};
    Json const plan = Json::parse(text);
    auto const isHostCode = [](Json const& code) { return code["form"] == "host object"; };
    if (std::none_of(plan["code"].begin(), plan["code"].end(), isHostCode))
        return {};
    return ": it carries code of plugins, which runs only with --allow-code";
}
} // namespace

Session::Session(std::string const& path, Shapes const& shapes, Common const& common, nvinfer1::ILogger& logger,
    NetworkChange const& change)
{
    std::unique_ptr<nvinfer1::IHostMemory> built;
    if (isOnnx(path))
    {
        BuildProgress bar{!common.quiet};
        built = buildPlan(path, shapes, common.threads, logger, bar, change);
        if (built == nullptr)
            throw std::runtime_error("'" + path + "' could not be built");
    }
    auto const start = std::chrono::steady_clock::now();
    addStockPlugins(logger);
    mRuntime.reset(nvinfer1::createInferRuntime(logger));
    if (mRuntime == nullptr)
        throw std::runtime_error("no runtime could be made");
    if (common.threads > 0)
        mRuntime->setMaxThreads(common.threads);
    mRuntime->setEngineHostCodeAllowed(common.allowsCode);
    mEngine.reset(built != nullptr ? mRuntime->deserializeCudaEngine(built->data(), built->size())
                                   : tenon::load(*mRuntime, path.c_str()));
    if (mEngine == nullptr)
        throw std::runtime_error(
            "'" + path + "' could not be loaded" + hintOfCode(path, built.get(), common.allowsCode));
    std::chrono::duration<double, std::milli> const spent = std::chrono::steady_clock::now() - start;
    mLoadMilliseconds = spent.count();
}

nvinfer1::IExecutionContext& Session::context()
{
    if (mContext == nullptr)
        mContext.reset(mEngine->createExecutionContext());
    if (mContext == nullptr)
        throw std::runtime_error("no execution context could be made");
    return *mContext;
}

void Session::checkShapes(Shapes const& shapes) const
{
    checkNames(shapes, namesOf(*mEngine, nvinfer1::TensorIOMode::kINPUT));
}

void Session::prepare(Shapes const& shapes, uint32_t seed, GivenInputs const& inputs)
{
    checkShapes(shapes);
    mTensors = std::make_unique<IoTensors>(*mEngine, context(), IoTensors::Options{0, seed, false});
    mTensors->prepare(shapes, inputs);
}

void Session::run()
{
    EngineStream const stream{*mEngine};
    if (!mTensors->enqueue(stream.handle()))
        throw std::runtime_error("the run failed");
    stream.await();
    if (mTensors->isOnGpu())
        mTensors->download(stream.handle());
}

} // namespace tenon::cli
