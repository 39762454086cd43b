// Profiles: shapes of the command line meet the inputs of the network.
#include "builder.h"
#include "io_tensors.h"

#include <algorithm>
#include <stdexcept>

namespace tenon::trtexec
{

using namespace nvinfer1;

namespace
{
constexpr std::pair<OptProfileSelector, Extents ExtentsRange::*> kBounds[]{
    {OptProfileSelector::kMIN, &ExtentsRange::min}, {OptProfileSelector::kOPT, &ExtentsRange::opt},
    {OptProfileSelector::kMAX, &ExtentsRange::max}};

//! The name itself wins; else the last pattern that fits.
ExtentsRange const* shapesFor(ProfileShapes const& shapes, std::string const& input)
{
    ExtentsRange const* found{nullptr};
    for (auto const& [pattern, range] : shapes)
    {
        if (pattern == input)
            return &range;
        if (fits(pattern, input))
            found = &range;
    }
    return found;
}

void checkPatterns(ProfileShapes const& shapes, INetworkDefinition const& network)
{
    std::string known;
    for (int32_t i = 0; i < network.getNbInputs(); ++i)
        known += (i == 0 ? "'" : ", '") + std::string{network.getInput(i)->getName()} + "'";
    for (auto const& [pattern, range] : shapes)
    {
        bool isUsed{false};
        for (int32_t i = 0; i < network.getNbInputs(); ++i)
            isUsed = isUsed || fits(pattern, network.getInput(i)->getName());
        if (!isUsed)
            throw std::invalid_argument("the model has no input '" + pattern + "'; it has " + known);
    }
}

Dims dimsOfExtents(std::string const& input, Extents const& extents)
{
    if (extents.size() > static_cast<size_t>(Dims::MAX_DIMS))
        throw std::invalid_argument("the shape of input '" + input + "' has too many extents");
    Dims dims{};
    dims.nbDims = static_cast<int32_t>(extents.size());
    std::copy(extents.begin(), extents.end(), dims.d);
    return dims;
}

//! Without shapes extents that are not known are 1.
Dims withOnes(Dims dims)
{
    std::replace_if(
        dims.d, dims.d + dims.nbDims, [](int64_t extent) { return extent < 0; }, int64_t{1});
    return dims;
}

void setValues(IOptimizationProfile& profile, ITensor const& input, ExtentsRange const* range, Log const& log)
{
    Dims const dims = input.getDimensions();
    auto const count = static_cast<size_t>(dims.nbDims == 0 ? 1 : std::max<int64_t>(dims.d[0], 0));
    if (range == nullptr)
        log.warn(std::string{"Shape tensor '"} + input.getName() + "' is given no values: they are taken to be 1");
    for (auto const& [selector, bound] : kBounds)
    {
        Extents const values = range == nullptr ? Extents(count, 1) : range->*bound;
        if (!profile.setShapeValuesV2(input.getName(), selector, values.data(), static_cast<int32_t>(values.size())))
            throw std::invalid_argument(
                std::string{"the values for shape tensor '"} + input.getName() + "' do not fit it");
    }
}

void setShapes(IOptimizationProfile& profile, ITensor const& input, ExtentsRange const* range, Log const& log)
{
    Dims const dims = input.getDimensions();
    std::string const name = input.getName();
    if (range == nullptr)
        log.warn("Input '" + name + "' of shape " + cli::show(dims)
            + " is given no shape: extents that are known only at run time are taken to be 1");
    for (auto const& [selector, bound] : kBounds)
    {
        Dims const given = range == nullptr ? withOnes(dims) : dimsOfExtents(name, range->*bound);
        if (!profile.setDimensions(name.c_str(), selector, given))
            throw std::invalid_argument(
                "input '" + name + "' of shape " + cli::show(dims) + " cannot have the shape " + cli::show(given));
    }
}

//! Shapes that inputs have anyway may be said again.
void checkFixed(ITensor const& input, ExtentsRange const* range)
{
    for (auto const& [selector, bound] : kBounds)
        if (range != nullptr
            && cli::show(dimsOfExtents(input.getName(), range->*bound)) != cli::show(input.getDimensions()))
            throw std::invalid_argument(std::string{"input '"} + input.getName() + "' has the one shape "
                + cli::show(input.getDimensions()) + ", which no flag can change");
}

//! Null: all shapes are known.
IOptimizationProfile* makeProfile(
    IBuilder& builder, INetworkDefinition const& network, ProfileShapes const& shapes, Log const& log)
{
    IOptimizationProfile* profile{nullptr};
    checkPatterns(shapes, network);
    for (int32_t i = 0; i < network.getNbInputs(); ++i)
    {
        ITensor const& input = *network.getInput(i);
        ExtentsRange const* range = shapesFor(shapes, input.getName());
        bool const isOpen = cli::isOpen(input.getDimensions());
        if (!isOpen && !input.isShapeTensor())
        {
            checkFixed(input, range);
            continue;
        }
        if (profile == nullptr)
            profile = builder.createOptimizationProfile();
        if (input.isShapeTensor())
            setValues(*profile, input, range, log);
        else
            setShapes(*profile, input, range, log);
    }
    return profile;
}
} // namespace

void addProfiles(IBuilder& builder, INetworkDefinition const& network, IBuilderConfig& config,
    BuildOptions const& build, Log const& log)
{
    for (size_t i = 0; i < build.profiles.size(); ++i)
    {
        IOptimizationProfile* const profile = makeProfile(builder, network, build.profiles[i], log);
        if (profile != nullptr && config.addOptimizationProfile(profile) < 0)
            throw std::invalid_argument("the shapes of profile " + std::to_string(i) + " make no optimization profile");
    }
}

IOptimizationProfile* calibrationProfile(
    IBuilder& builder, INetworkDefinition const& network, BuildOptions const& build, Log const& log)
{
    return makeProfile(builder, network, build.calibrationShapes, log);
}

} // namespace tenon::trtexec
