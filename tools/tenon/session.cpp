// Session: building, loading, shapes, buffers.
#include "session.h"

#include "interruption.h"
#include "texts.h"

#include "NvInferPlugin.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <stdexcept>

namespace tenon::cli
{

using nvinfer1::DataType;
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
                + " has extents known only at run time: give --shapes " + input.getName() + "=MIN:OPT:MAX");
        ShapeRange const& range = given->second;
        profile.setDimensions(input.getName(), nvinfer1::OptProfileSelector::kMIN, range.min);
        profile.setDimensions(input.getName(), nvinfer1::OptProfileSelector::kOPT, range.opt);
        profile.setDimensions(input.getName(), nvinfer1::OptProfileSelector::kMAX, range.max);
    }
    if (dynamic && config.addOptimizationProfile(&profile) < 0)
        throw std::runtime_error("the shapes make no optimization profile");
}

//! Models and plans may name stock plugins; names that a library of the user has taken stay that library's.
void addStockPlugins(nvinfer1::ILogger& logger)
{
    initLibNvInferPlugins(&logger, "");
}

nvinfer1::IBuilder* builderWithPlugins(nvinfer1::ILogger& logger)
{
    addStockPlugins(logger);
    return nvinfer1::createInferBuilder(logger);
}
} // namespace

Model::Model(std::string const& path, nvinfer1::ILogger& logger)
    : mBuilder{builderWithPlugins(logger)}
{
    if (mBuilder == nullptr)
        throw std::runtime_error("no builder could be made");
    mNetwork.reset(mBuilder->createNetworkV2(
        1U << static_cast<uint32_t>(nvinfer1::NetworkDefinitionCreationFlag::kEXPLICIT_BATCH))); // Models have it.
    mParser.reset(nvonnxparser::createParser(*mNetwork, logger));
    if (mParser->parseFromFile(path.c_str(), 0))
        return;
    int32_t const errors = mParser->getNbErrors();
    throw std::runtime_error(
        "'" + path + "' could not be read: " + std::to_string(errors) + (errors == 1 ? " error" : " errors"));
}

std::unique_ptr<nvinfer1::IHostMemory> buildPlan(
    std::string const& path, Shapes const& shapes, int32_t threads, nvinfer1::ILogger& logger, BuildProgress& progress)
{
    Model const model{path, logger};
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

Session::Session(std::string const& path, Shapes const& shapes, Common const& common, nvinfer1::ILogger& logger)
{
    std::unique_ptr<nvinfer1::IHostMemory> built;
    if (isOnnx(path))
    {
        BuildProgress bar{!common.quiet};
        built = buildPlan(path, shapes, common.threads, logger, bar);
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
    mContext.reset(mEngine->createExecutionContext());
    if (mContext == nullptr)
        throw std::runtime_error("no execution context could be made");
}

void Session::checkShapes(Shapes const& shapes) const
{
    std::vector<std::string> names;
    for (int32_t i = 0; i < mEngine->getNbIOTensors(); ++i)
        if (mEngine->getTensorIOMode(mEngine->getIOTensorName(i)) == nvinfer1::TensorIOMode::kINPUT)
            names.emplace_back(mEngine->getIOTensorName(i));
    checkNames(shapes, names);
}

int32_t Session::batch() const
{
    return mEngine->hasImplicitBatchDimension() ? mEngine->getMaxBatchSize() : 1;
}

void Session::prepareInput(char const* name, Shapes const& shapes, uint32_t seed, GivenInputs const& inputs)
{
    auto const contents = inputs.find(name);
    auto const shape = shapes.find(name);
    Dims const dims = contents != inputs.end() ? contents->second.dims
        : shape != shapes.end()                ? shape->second.opt
                                               : mEngine->getProfileShape(name, 0, nvinfer1::OptProfileSelector::kOPT);
    bool const isImplicit = mEngine->hasImplicitBatchDimension();
    if (isImplicit && (contents != inputs.end() || shape != shapes.end()))
        throw std::runtime_error(std::string{"input '"} + name
            + "' is one of a plan with an implicit batch, which runs with random samples of its own shape only");
    if (!isImplicit && !mContext->setInputShape(name, dims))
        throw std::runtime_error(std::string{"input '"} + name + "' refused the shape " + show(dims));
    Buffer& buffer = makeRoom("input", name, dims);
    if (contents != inputs.end())
        std::copy(contents->second.data.begin(), contents->second.data.end(), buffer.data());
    else if (mEngine->isShapeInferenceIO(name))
        fillFromProfile(buffer.bytes(), *mEngine, name);
    else
        fillRandom(buffer.bytes(), mEngine->getTensorDataType(name), seed);
}

void Session::prepareOutput(char const* name)
{
    Dims const dims = mContext->getTensorShape(name);
    if (isOpen(dims))
        mContext->setOutputAllocator(name, &mGrowing[name]);
    else
        makeRoom("output", name, dims);
}

Buffer& Session::makeRoom(char const* what, char const* name, Dims const& dims)
{
    std::optional<size_t> bytes = bytesOf(mEngine->getTensorDataType(name), dims);
    if (bytes && __builtin_mul_overflow(*bytes, static_cast<size_t>(batch()), &*bytes))
        bytes.reset();
    Buffer& buffer = mBuffers[name];
    buffer = Buffer{std::string{what} + " '" + name + "' of shape " + show(dims), bytes};
    mContext->setTensorAddress(name, buffer.data());
    return buffer;
}

void Session::prepare(Shapes const& shapes, uint32_t seed, GivenInputs const& inputs)
{
    checkShapes(shapes);
    for (auto const mode : {nvinfer1::TensorIOMode::kINPUT, nvinfer1::TensorIOMode::kOUTPUT})
        for (int32_t i = 0; i < mEngine->getNbIOTensors(); ++i)
        {
            char const* name = mEngine->getIOTensorName(i);
            if (mEngine->getTensorIOMode(name) != mode)
                continue;
            if (mode == nvinfer1::TensorIOMode::kINPUT)
                prepareInput(name, shapes, seed + static_cast<uint32_t>(i), inputs);
            else
                prepareOutput(name); // Once the shapes of all inputs are known.
        }
}

Dims Session::outputDims(std::string const& name) const
{
    auto const growing = mGrowing.find(name);
    return growing == mGrowing.end() ? mContext->getTensorShape(name.c_str()) : growing->second.dims();
}

char const* Session::outputData(std::string const& name) const
{
    auto const growing = mGrowing.find(name);
    return growing == mGrowing.end() ? mBuffers.at(name).data() : growing->second.data();
}

void Session::run()
{
    std::vector<void*> bindings;
    for (int32_t i = 0; mEngine->hasImplicitBatchDimension() && i < mEngine->getNbIOTensors(); ++i)
        bindings.push_back(mBuffers[mEngine->getIOTensorName(i)].data());
    bool const done = bindings.empty() ? mContext->enqueueV3(nullptr) : mContext->execute(batch(), bindings.data());
    if (!done)
        throw std::runtime_error("the run failed");
}

} // namespace tenon::cli
