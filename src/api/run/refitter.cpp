// Refitter: weights by name, or by layer and role; what hangs together must be supplied together.
#include "api/run/refitter.h"

#include "api/boundary.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace tenon::api
{

using namespace nvinfer1;

namespace
{
constexpr Weights kNoWeights{DataType::kFLOAT, nullptr, 0};
} // namespace

Refitter::Refitter(std::shared_ptr<CudaEngine> engine, ILogger& logger)
    : mEngine{std::move(engine)},
      mReporting{&logger, mEngine->reporting().log().recorder()}
{
}

Refitter::~Refitter()
{
    mReporting.setRecorder(nullptr);
}

PlanRefit const& Refitter::refit() const noexcept
{
    return *mEngine->engine().plan().refit;
}

IRefitter* Refitter::getPImpl() noexcept
{
    return &front();
}

Result<int32_t> Refitter::named(char const* name) const
{
    if (name == nullptr)
        return badArgument("the name is null");
    std::vector<PlanRefitWeights> const& weights = refit().weights;
    for (size_t i = 0; i < weights.size(); ++i)
        if (!weights[i].name.empty() && weights[i].name == name)
            return static_cast<int32_t>(i);
    return badArgument("no weights of the engine that can be replaced have the name '{}'", name);
}

Result<int32_t> Refitter::used(char const* layer, Role role) const
{
    if (layer == nullptr)
        return badArgument("the layer's name is null");
    std::vector<PlanRefitWeights> const& weights = refit().weights;
    for (size_t i = 0; i < weights.size(); ++i)
        for (PlanWeightsUse const& use : weights[i].uses)
            if (use.layer == layer && use.role == static_cast<int32_t>(role))
                return static_cast<int32_t>(i);
    return badArgument("layer '{}' has no weights of role {} that can be replaced", layer, static_cast<int32_t>(role));
}

Result<Done> Refitter::supply(int32_t number, Weights const& weights, Location location)
{
    PlanRefitWeights const& wanted = refit().weights[static_cast<size_t>(number)];
    if (weights.type != wanted.dtype || weights.count != wanted.count)
        return badArgument("weights {} are {} of type {}, and {} of type {} are given", labelOf(wanted), wanted.count,
            tenon::nameOf(wanted.dtype), weights.count, tenon::nameOf(weights.type));
    if (weights.values == nullptr)
        return badArgument("weights {}: the address is null", labelOf(wanted));
    mSupplied[number] = {weights, location};
    return Done{};
}

bool Refitter::setWeights(char const* layerName, Role role, Weights weights) noexcept
{
    return fencedDone(mReporting.log(), "IRefitter::setWeights",
        [&]() -> Result<Done> { return supply(TENON_TRY(used(layerName, role)), weights, Location::kHOST); });
}

bool Refitter::setNamedWeights(char const* name, Weights weights) noexcept
{
    return setNamedWeightsWithLocation(name, weights, Location::kHOST);
}

bool Refitter::setNamedWeightsWithLocation(char const* name, Weights weights, Location location) noexcept
{
    return fencedDone(mReporting.log(), "IRefitter::setNamedWeights",
        [&]() -> Result<Done> { return supply(TENON_TRY(named(name)), weights, location); });
}

Result<GivenWeights> Refitter::given() const
{
    Device& device = *mEngine->device().device;
    GivenWeights values;
    for (auto const& [number, supplied] : mSupplied)
    {
        auto const bytes = static_cast<size_t>(bytesOf(supplied.weights.type, supplied.weights.count));
        std::shared_ptr<uint8_t[]> const copy{new uint8_t[bytes]};
        if (supplied.location == Location::kHOST || device.usesHostMemory())
            std::memcpy(copy.get(), supplied.weights.values, bytes);
        else
            TENON_TRY(device.copyToHost(copy.get(), supplied.weights.values, bytes, kApartStream));
        values.emplace(number, copy);
    }
    return values;
}

std::vector<int32_t> Refitter::missing() const
{
    GivenWeights numbers;
    for (auto const& [number, supplied] : mSupplied)
        numbers.emplace(number, nullptr);
    return missingWeights(mEngine->engine().plan(), mEngine->engine().weights(), numbers);
}

Result<Done> Refitter::refitNow()
{
    std::vector<int32_t> const lacking = missing();
    std::string names;
    for (size_t i = 0; i < lacking.size() && i < 5; ++i)
        names += (i == 0 ? "" : ", ") + labelOf(refit().weights[static_cast<size_t>(lacking[i])]);
    if (!lacking.empty())
        return errorOf(ErrorCode::kINVALID_STATE, "{} weights are missing beside those that are given: {}{}",
            lacking.size(), names, lacking.size() > 5 ? ", …" : "");
    if (mSupplied.empty())
        return Done{};
    Engine& engine = mEngine->engine();
    std::vector<PlanWeight> const now = engine.weights();
    int32_t const threads = mMaxThreads > 0 ? mMaxThreads : mEngine->device().device->hostThreads();
    return engine.replaceWeights(TENON_TRY(refittedWeights(
        {engine.plan(), now, mEngine->device(), engine.plugins(), threads, mValidates, mReporting.log()},
        TENON_TRY(given()))));
}

bool Refitter::refitCudaEngine() noexcept
{
    return fencedDone(mReporting.log(), "IRefitter::refitCudaEngine", [&] { return refitNow(); });
}

//! What stands in the stream before may write the weights that are read; what comes behind runs with the new ones.
bool Refitter::refitCudaEngineAsync(cudaStream_t stream) noexcept
{
    return fencedDone(mReporting.log(), "IRefitter::refitCudaEngineAsync", [&]() -> Result<Done> {
        Device& device = *mEngine->device().device;
        TENON_TRY(device.checkStream(stream));
        RunFailure failure;
        auto const over = device.run({}, {.stream = stream}, failure);
        if (!over)
            return Error{over.error()};
        return refitNow();
    });
}

int32_t Refitter::listUses(
    std::vector<int32_t> const& numbers, int32_t size, char const** layerNames, Role* roles) const
{
    int32_t count{0};
    for (int32_t const number : numbers)
        for (PlanWeightsUse const& use : refit().weights[static_cast<size_t>(number)].uses)
        {
            if (count < size && layerNames != nullptr)
                layerNames[count] = use.layer.c_str();
            if (count < size && roles != nullptr)
                roles[count] = static_cast<Role>(use.role);
            ++count;
        }
    return count;
}

int32_t Refitter::listNames(std::vector<int32_t> const& numbers, int32_t size, char const** names) const
{
    int32_t count{0};
    for (int32_t const number : numbers)
    {
        std::string const& name = refit().weights[static_cast<size_t>(number)].name;
        if (count < size && names != nullptr)
            names[count] = name.empty() ? nullptr : name.c_str();
        ++count;
    }
    return count;
}

std::vector<int32_t> Refitter::all() const
{
    std::vector<int32_t> numbers(refit().weights.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
}

int32_t Refitter::getMissing(int32_t size, char const** layerNames, Role* roles) noexcept
{
    return fenced(mReporting.log(), "IRefitter::getMissing", int32_t{-1},
        [&] { return listUses(missing(), size, layerNames, roles); });
}

int32_t Refitter::getAll(int32_t size, char const** layerNames, Role* roles) noexcept
{
    return fenced(
        mReporting.log(), "IRefitter::getAll", int32_t{-1}, [&] { return listUses(all(), size, layerNames, roles); });
}

int32_t Refitter::getMissingWeights(int32_t size, char const** weightsNames) noexcept
{
    return fenced(mReporting.log(), "IRefitter::getMissingWeights", int32_t{-1},
        [&] { return listNames(missing(), size, weightsNames); });
}

int32_t Refitter::getAllWeights(int32_t size, char const** weightsNames) noexcept
{
    return fenced(mReporting.log(), "IRefitter::getAllWeights", int32_t{-1},
        [&] { return listNames(all(), size, weightsNames); });
}

bool Refitter::setDynamicRange(char const* tensorName, float, float) noexcept
{
    return mReporting.fail(badArgument("IRefitter::setDynamicRange: tensor '{}' has no dynamic range in the engine",
        tensorName == nullptr ? "(null)" : tensorName));
}

float Refitter::getDynamicRangeMin(char const*) const noexcept
{
    return 0.0F;
}

float Refitter::getDynamicRangeMax(char const*) const noexcept
{
    return 0.0F;
}

int32_t Refitter::getTensorsWithDynamicRange(int32_t, char const**) const noexcept
{
    return 0;
}

void Refitter::setErrorRecorder(IErrorRecorder* recorder) noexcept
{
    mReporting.setRecorder(recorder);
}

IErrorRecorder* Refitter::getErrorRecorder() const noexcept
{
    return mReporting.recorder();
}

ILogger* Refitter::getLogger() const noexcept
{
    return mReporting.log().logger();
}

bool Refitter::setMaxThreads(int32_t maxThreads) noexcept
{
    if (maxThreads < 1)
        return mReporting.fail(badArgument("IRefitter::setMaxThreads: {} is below 1", maxThreads));
    mMaxThreads = maxThreads;
    return true;
}

int32_t Refitter::getMaxThreads() const noexcept
{
    return std::max(mMaxThreads, 1);
}

Weights Refitter::getNamedWeights(char const* weightsName) const noexcept
{
    return fenced(mReporting.log(), "IRefitter::getNamedWeights", kNoWeights, [&]() -> Result<Weights> {
        auto const found = mSupplied.find(TENON_TRY(named(weightsName)));
        if (found == mSupplied.end())
            return badArgument("weights '{}' have not been supplied", weightsName);
        return found->second.weights;
    });
}

TensorLocation Refitter::getWeightsLocation(char const* weightsName) const noexcept
{
    return fenced(mReporting.log(), "IRefitter::getWeightsLocation", Location::kHOST, [&]() -> Result<Location> {
        auto const found = mSupplied.find(TENON_TRY(named(weightsName)));
        if (found == mSupplied.end())
            return badArgument("weights '{}' have not been supplied", weightsName);
        return found->second.location;
    });
}

bool Refitter::unsetNamedWeights(char const* weightsName) noexcept
{
    return fencedDone(mReporting.log(), "IRefitter::unsetNamedWeights", [&]() -> Result<Done> {
        if (mSupplied.erase(TENON_TRY(named(weightsName))) == 0)
            return badArgument("weights '{}' have not been supplied", weightsName);
        return Done{};
    });
}

void Refitter::setWeightsValidation(bool weightsValidation) noexcept
{
    mValidates = weightsValidation;
}

bool Refitter::getWeightsValidation() const noexcept
{
    return mValidates;
}

Weights Refitter::getWeightsPrototype(char const* weightsName) const noexcept
{
    Result<int32_t> const number = named(weightsName);
    if (!number)
        return {DataType::kFLOAT, nullptr, -1};
    PlanRefitWeights const& weights = refit().weights[static_cast<size_t>(*number)];
    return {weights.dtype, nullptr, weights.count};
}

IRefitter* makeRefitter(ICudaEngine* engine, ILogger& logger) noexcept
{
    using Made = IRefitter*;
    return fenced(Log{&logger}, "createInferRefitter", Made{nullptr}, [&]() -> Result<Made> {
        if (engine == nullptr)
            return badArgument("the engine is null");
        CudaEngine& own = CudaEngine::of(*engine);
        if (!own.isRefittable())
            return badConfig("engine '{}' was built without kREFIT, kREFIT_IDENTICAL, kREFIT_INDIVIDUAL and "
                             "kSTRIP_PLAN: its weights stay as they are",
                own.getName());
        return makeHandle<IRefitter, Refitter>(own.shared_from_this(), logger);
    });
}

} // namespace tenon::api
