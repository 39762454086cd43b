// Session: building, loading, shapes, buffers.
#include "session.h"

#include "texts.h"

#include "NvInferPlugin.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <unistd.h>

namespace tenon::cli
{

using nvinfer1::DataType;
using nvinfer1::Dims;

std::atomic<bool> gInterrupted{false};

void Logger::log(Severity severity, char const* message) noexcept
{
    if (severity > mSeverity)
        return;
    if (gInterrupted && severity <= Severity::kERROR)
        return; // What fails now fails because of the interruption, which the program reports itself.
    static constexpr char const* kNames[]{"internal error", "error", "warning", "info", "verbose"};
    ProgressBar::clearLine();
    std::fprintf(stderr, "%s: %s\n", kNames[static_cast<int32_t>(severity)], message);
}

namespace
{
//! The part of the way from file to plan that a phase of the build covers: medians over the models of the tests.
//! Reading the file comes before, writing the plan behind.
struct Part
{
    std::string_view phase;
    double from;
    double to;
};
constexpr double kBuilt{0.67};
constexpr std::array kParts{
    Part{"Optimizing", 0.25, 0.28}, Part{"Choosing kernels", 0.28, 0.285}, Part{"Building kernels", 0.285, kBuilt}};

std::atomic<bool> gBarStands{false};
} // namespace

ProgressBar::ProgressBar(bool wanted)
    : mStart{std::chrono::steady_clock::now()},
      mShown{wanted && isatty(STDERR_FILENO) != 0}
{
    advance("Reading the model", 0.0);
}

ProgressBar::~ProgressBar()
{
    clearLine();
}

void ProgressBar::clearLine() noexcept
{
    if (gBarStands.exchange(false))
        std::fprintf(stderr, "\r\033[K");
}

void ProgressBar::phaseStart(char const* phase, char const*, int32_t steps) noexcept
{
    mSteps[phase] = std::max(steps, 1);
    for (Part const& part : kParts)
        if (part.phase == phase)
            advance(phase, part.from);
}

bool ProgressBar::stepComplete(char const* phase, int32_t step) noexcept
{
    for (Part const& part : kParts)
        if (part.phase == phase)
            advance(phase, part.from + (part.to - part.from) * std::min(1.0, (step + 1.0) / mSteps[phase]));
    return !gInterrupted;
}

void ProgressBar::phaseFinish(char const* phase) noexcept
{
    mSteps.erase(phase);
    if (mSteps.empty()) // The outermost phase.
        advance("Writing the plan", kBuilt);
}

void ProgressBar::advance(std::string const& label, double share)
{
    mShare = std::max(mShare, share);
    mLabel = label;
    if (!mShown)
        return;
    constexpr double kWidth{30.0};
    std::chrono::duration<double> const spent = std::chrono::steady_clock::now() - mStart;
    std::string const bar(static_cast<size_t>(mShare * kWidth), '#');
    std::fprintf(stderr, "\r\033[K%-20s [%-30s] %3.0f%%", mLabel.c_str(), bar.c_str(), mShare * 100);
    if (mShare > 0.0)
        std::fprintf(stderr, "  about %.1f s left", spent.count() * (1.0 - mShare) / mShare);
    gBarStands = true;
}

namespace
{
Dims parseDims(std::string const& text)
{
    Dims dims{};
    char const* at = text.data();
    char const* const end = at + text.size();
    while (at < end)
    {
        int64_t extent{0};
        auto const [next, problem] = std::from_chars(at, end, extent);
        if (problem != std::errc{} || dims.nbDims == Dims::MAX_DIMS || extent < 0 || (next < end && *next != 'x'))
            throw std::invalid_argument("'" + text + "' is not a shape such as 1x3x224x224");
        dims.d[dims.nbDims++] = extent;
        at = next < end ? next + 1 : next;
    }
    return dims;
}

bool isOpen(Dims const& dims)
{
    return std::any_of(dims.d, dims.d + dims.nbDims, [](int64_t extent) { return extent < 0; });
}

bool isEmpty(Dims const& dims)
{
    return std::find(dims.d, dims.d + dims.nbDims, 0) != dims.d + dims.nbDims;
}

std::vector<std::string> split(std::string const& text, char separator)
{
    std::vector<std::string> parts{""};
    for (char const c : text)
    {
        if (c == separator)
            parts.emplace_back();
        else
            parts.back() += c;
    }
    return parts;
}
} // namespace

Shapes parseShapes(std::vector<std::string> const& texts)
{
    Shapes shapes;
    for (std::string const& text : texts)
        for (std::string const& piece : split(text, ','))
        {
            size_t const equals = piece.rfind('=');
            if (equals == std::string::npos)
                throw std::invalid_argument("'" + piece + "' is not name=shape");
            std::vector<std::string> const bounds = split(piece.substr(equals + 1), ':');
            if (bounds.size() != 1 && bounds.size() != 3)
                throw std::invalid_argument("'" + piece + "' has " + std::to_string(bounds.size())
                    + " shapes; give one, or three as min:opt:max");
            ShapeRange const range{
                parseDims(bounds.front()), parseDims(bounds[bounds.size() / 2]), parseDims(bounds.back())};
            if (isEmpty(range.opt))
                throw std::invalid_argument(
                    "'" + piece + "': an extent of 0 leaves nothing to compute; only MIN may have one");
            shapes[piece.substr(0, equals)] = range;
        }
    return shapes;
}

void checkNames(Shapes const& shapes, std::vector<std::string> const& inputs)
{
    std::string known;
    for (std::string const& input : inputs)
        known += (known.empty() ? "'" : ", '") + input + "'";
    for (auto const& [name, range] : shapes)
        if (std::find(inputs.begin(), inputs.end(), name) == inputs.end())
            throw std::invalid_argument("the model has no input '" + name + "'; it has " + known);
}

std::string show(Dims const& dims)
{
    std::string text;
    for (int32_t i = 0; i < dims.nbDims; ++i)
        text += (i == 0 ? "" : "x") + std::to_string(dims.d[i]);
    return text.empty() ? "scalar" : text;
}

size_t elementsOf(Dims const& dims)
{
    size_t count{1};
    for (int32_t i = 0; i < dims.nbDims; ++i)
        count *= static_cast<size_t>(std::max<int64_t>(dims.d[i], 0));
    return count;
}

size_t bytesOf(DataType type, Dims const& dims)
{
    size_t const count = elementsOf(dims);
    switch (type)
    {
    case DataType::kINT64: return count * 8;
    case DataType::kFLOAT:
    case DataType::kINT32: return count * 4;
    case DataType::kHALF:
    case DataType::kBF16: return count * 2;
    case DataType::kINT4:
    case DataType::kFP4: return (count + 1) / 2;
    default: return count;
    }
}

bool isOnnx(std::string const& path)
{
    return std::filesystem::path(path).extension() == ".onnx";
}

std::vector<char> readFile(std::string const& path)
{
    std::ifstream file{path, std::ios::binary | std::ios::ate};
    if (!file)
        throw std::runtime_error("cannot read '" + path + "': " + std::strerror(errno));
    std::vector<char> bytes(static_cast<size_t>(file.tellg()));
    file.seekg(0);
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return bytes;
}

bool isWrittenThrough(std::string const& path)
{
    // Names of open files, too: one that is replaced is no longer the file that is open.
    if (path.starts_with("/dev/") || path.starts_with("/proc/"))
        return true;
    std::error_code problem;
    std::filesystem::file_status const status = std::filesystem::status(path, problem);
    return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
}

namespace
{
void writeTo(std::string const& path, void const* data, size_t size)
{
    std::ofstream file{path, std::ios::binary};
    file.write(static_cast<char const*>(data), static_cast<std::streamsize>(size));
    if (!file.flush())
        throw std::runtime_error("cannot write '" + path + "': " + std::strerror(errno));
}

//! The file behind links, whether it is there yet or not.
std::filesystem::path targetOf(std::filesystem::path path)
{
    constexpr int32_t kMostLinks{40}; // As many as the system follows.
    for (int32_t i = 0; i < kMostLinks && std::filesystem::is_symlink(path); ++i)
        path = path.parent_path() / std::filesystem::read_symlink(path);
    return path;
}
} // namespace

void writeFile(std::string const& path, void const* data, size_t size)
{
    if (isWrittenThrough(path))
        return writeTo(path, data, size);
    std::string const target = targetOf(path).string();
    std::string const aside = target + ".part";
    try
    {
        writeTo(aside, data, size);
    }
    catch (std::runtime_error const&)
    {
        std::error_code problem;
        std::filesystem::remove(aside, problem);
        throw;
    }
    std::filesystem::rename(aside, target);
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
    std::string const& path, Shapes const& shapes, int32_t threads, nvinfer1::ILogger& logger, ProgressBar& progress)
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

Session::Session(
    std::string const& path, Shapes const& shapes, int32_t threads, nvinfer1::ILogger& logger, bool allowsCode)
{
    std::unique_ptr<nvinfer1::IHostMemory> built;
    if (isOnnx(path))
    {
        ProgressBar bar{true};
        built = buildPlan(path, shapes, threads, logger, bar);
        if (built == nullptr)
            throw std::runtime_error("'" + path + "' could not be built");
    }
    auto const start = std::chrono::steady_clock::now();
    addStockPlugins(logger);
    mRuntime.reset(nvinfer1::createInferRuntime(logger));
    if (mRuntime == nullptr)
        throw std::runtime_error("no runtime could be made");
    if (threads > 0)
        mRuntime->setMaxThreads(threads);
    mRuntime->setEngineHostCodeAllowed(allowsCode);
    mEngine.reset(built != nullptr ? mRuntime->deserializeCudaEngine(built->data(), built->size())
                                   : tenon::load(*mRuntime, path.c_str()));
    if (mEngine == nullptr)
        throw std::runtime_error("'" + path + "' could not be loaded" + hintOfCode(path, built.get(), allowsCode));
    std::chrono::duration<double, std::milli> const spent = std::chrono::steady_clock::now() - start;
    mLoadMilliseconds = spent.count();
    mContext.reset(mEngine->createExecutionContext());
    if (mContext == nullptr)
        throw std::runtime_error("no execution context could be made");
}

namespace
{
//! Normal floats, small non-negative integers: what most models take without complaint.
void fillRandom(std::vector<char>& buffer, DataType type, uint32_t seed)
{
    std::mt19937 generator{seed};
    std::normal_distribution<float> normal;
    std::uniform_int_distribution<int32_t> small{0, 99};
    if (type == DataType::kFLOAT)
        for (size_t i = 0; i + 4 <= buffer.size(); i += 4)
        {
            float const value = normal(generator);
            std::memcpy(&buffer[i], &value, 4);
        }
    else if (type == DataType::kINT32 || type == DataType::kINT64)
    {
        size_t const size = type == DataType::kINT32 ? 4 : 8;
        for (size_t i = 0; i + size <= buffer.size(); i += size)
        {
            int64_t const value = small(generator);
            std::memcpy(&buffer[i], &value, size);
        }
    }
    else if (type == DataType::kBOOL)
        for (char& byte : buffer)
            byte = static_cast<char>(small(generator) % 2);
    else if (type == DataType::kBF16) // The upper half of a float.
        for (size_t i = 0; i + 2 <= buffer.size(); i += 2)
        {
            float const value = normal(generator);
            std::memcpy(&buffer[i], reinterpret_cast<char const*>(&value) + 2, 2);
        }
    else if (type == DataType::kHALF)
        for (size_t i = 0; i + 2 <= buffer.size(); i += 2)
        {
            auto const value = static_cast<_Float16>(normal(generator));
            std::memcpy(&buffer[i], &value, 2);
        }
    else
        for (char& byte : buffer)
            byte = static_cast<char>(small(generator) % 16);
}
} // namespace

void Session::checkShapes(Shapes const& shapes) const
{
    std::vector<std::string> names;
    for (int32_t i = 0; i < mEngine->getNbIOTensors(); ++i)
        if (mEngine->getTensorIOMode(mEngine->getIOTensorName(i)) == nvinfer1::TensorIOMode::kINPUT)
            names.emplace_back(mEngine->getIOTensorName(i));
    checkNames(shapes, names);
}

namespace
{
//! The values that profile 0 has as kOPT for a shape tensor: random ones would lie outside of its bounds.
void fillFromProfile(std::vector<char>& buffer, nvinfer1::ICudaEngine const& engine, char const* name)
{
    int64_t const* const values = engine.getProfileTensorValuesV2(name, 0, nvinfer1::OptProfileSelector::kOPT);
    if (values == nullptr)
        return;
    DataType const type = engine.getTensorDataType(name);
    size_t const size = type == DataType::kINT64 ? 8 : type == DataType::kBOOL ? 1 : 4;
    for (size_t i = 0; (i + 1) * size <= buffer.size(); ++i)
        std::memcpy(&buffer[i * size], &values[i], size); // Little-endian: the low bytes come first.
}
} // namespace

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
    DataType const type = mEngine->getTensorDataType(name);
    std::vector<char>& buffer = mBuffers[name];
    buffer.assign(bytesOf(type, dims) * static_cast<size_t>(batch()), 0);
    if (contents != inputs.end())
        buffer = contents->second.data;
    else if (mEngine->isShapeInferenceIO(name))
        fillFromProfile(buffer, *mEngine, name);
    else
        fillRandom(buffer, type, seed);
    buffer.reserve(1); // An empty tensor has an address, too.
    mContext->setTensorAddress(name, buffer.data());
}

void Session::prepareOutput(char const* name)
{
    Dims const dims = mContext->getTensorShape(name);
    if (isOpen(dims))
    {
        mContext->setOutputAllocator(name, &mGrowing[name]);
        return;
    }
    std::vector<char>& buffer = mBuffers[name];
    size_t const bytes = bytesOf(mEngine->getTensorDataType(name), dims) * static_cast<size_t>(batch());
    buffer.assign(std::max<size_t>(bytes, 1), 0);
    mContext->setTensorAddress(name, buffer.data());
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
