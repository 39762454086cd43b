// Options of the build: shapes of profiles, and those of the calibration.
#include "option_parts.h"
#include "options.h"

#include <algorithm>
#include <stdexcept>

namespace tenon::trtexec
{

namespace
{
void insert(ProfileShapes& shapes, std::string const& flag, std::string const& value, Extents ExtentsRange::*bound)
{
    for (auto& [name, extents] : shapesOf(flag, value))
    {
        auto at = std::find_if(shapes.begin(), shapes.end(), [&](auto const& each) { return each.first == name; });
        if (at == shapes.end())
            at = shapes.insert(shapes.end(), {name, {}});
        at->second.*bound = extents;
    }
}

struct GivenBounds
{
    bool min{false};
    bool opt{false};
    bool max{false};

    bool any() const
    {
        return min || opt || max;
    }
};

//! Bounds that are not given are those next to them.
void completeBounds(ProfileShapes& shapes, GivenBounds const& given)
{
    for (auto& [name, range] : shapes)
    {
        if (!given.opt)
            range.opt = given.max ? range.max : range.min;
        if (!given.min)
            range.min = range.opt;
        if (!given.max)
            range.max = range.opt;
    }
}
} // namespace

std::vector<ProfileShapes> profilesOf(Arguments const& arguments)
{
    std::map<int64_t, std::pair<ProfileShapes, GivenBounds>> found;
    int64_t present{0};
    bool const isNumbered = arguments.has("--profile");
    bool hasBegun{!isNumbered};
    for (auto const& [flag, value] : arguments.inOrder())
    {
        if (flag == "--profile")
        {
            present = integerOf(flag, value);
            hasBegun = true;
            if (present < 0 || !found.emplace(present, std::pair<ProfileShapes, GivenBounds>{}).second)
                throw std::invalid_argument("--profile=" + value + ": profiles are numbered from 0, each once");
            continue;
        }
        auto const bound = flag == "--minShapes" ? &GivenBounds::min
            : flag == "--optShapes"              ? &GivenBounds::opt
            : flag == "--maxShapes"              ? &GivenBounds::max
                                                 : nullptr;
        if (bound == nullptr)
            continue;
        auto& [shapes, given] = found[present];
        if (!hasBegun || given.*bound)
            throw std::invalid_argument(flag + " stands outside of a profile; put --profile=N before its shapes");
        given.*bound = true;
        insert(shapes, flag, value,
            flag == "--minShapes"       ? &ExtentsRange::min
                : flag == "--optShapes" ? &ExtentsRange::opt
                                        : &ExtentsRange::max);
    }
    std::vector<ProfileShapes> profiles;
    for (auto& [index, profile] : found)
    {
        if (index != static_cast<int64_t>(profiles.size()) || (isNumbered && profile.first.empty()))
            throw std::invalid_argument("--profile: profile " + std::to_string(profiles.size()) + " has no shapes");
        completeBounds(profile.first, profile.second);
        profiles.push_back(std::move(profile.first));
    }
    return profiles.empty() ? std::vector<ProfileShapes>(1) : profiles;
}

void readCalibration(Arguments const& arguments, BuildOptions& build, std::vector<std::string>& warnings)
{
    build.calibrationCache = arguments.text("--calib");
    int64_t const profile = arguments.integer("--calibProfile", 0, 0, static_cast<int64_t>(build.profiles.size()) - 1);
    GivenBounds const given{
        arguments.has("--minShapesCalib"), arguments.has("--optShapesCalib"), arguments.has("--maxShapesCalib")};
    if (given.any() && !(given.opt && given.min == given.max))
        throw std::invalid_argument("--optShapesCalib stands alone, or with --minShapesCalib and --maxShapesCalib");
    for (auto const& [flag, bound] : {std::pair{"--minShapesCalib", &ExtentsRange::min},
             std::pair{"--optShapesCalib", &ExtentsRange::opt}, std::pair{"--maxShapesCalib", &ExtentsRange::max}})
        insert(build.calibrationShapes, flag, arguments.text(flag), bound);
    completeBounds(build.calibrationShapes, given);
    if (given.any() && arguments.has("--calibProfile"))
        warnings.emplace_back("--calibProfile has no effect beside --optShapesCalib");
    else if (!given.any())
        build.calibrationShapes = build.profiles[static_cast<size_t>(profile)];
    if (build.calibrationCache.empty() && (given.any() || arguments.has("--calibProfile")))
        warnings.emplace_back("Shapes for calibration have no effect without --calib");
    if (!build.calibrationCache.empty() && !arguments.has("--int8") && !arguments.has("--best"))
        warnings.emplace_back("--calib has no effect without --int8");
}

} // namespace tenon::trtexec
