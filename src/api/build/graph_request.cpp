// What a configuration asks of the graph that a network becomes.
#include "api/build/graph_request.h"

#include "api/build/build_options.h"
#include "api/lowering/precision.h"

#include <algorithm>

namespace tenon::api
{

using namespace nvinfer1;

RefitMode refitMode(BuilderConfig const& config)
{
    if (config.has(BuilderFlag::kREFIT_INDIVIDUAL))
        return RefitMode::kMarked;
    bool const isAll = config.has(BuilderFlag::kREFIT) || config.has(BuilderFlag::kREFIT_IDENTICAL)
        || config.has(BuilderFlag::kSTRIP_PLAN); // Which implies that (rule G13).
    return isAll ? RefitMode::kAll : RefitMode::kNone;
}

GraphRequest graphRequest(BuilderConfig const& config, Device* device, bool isTimed)
{
    auto const has = [](uint32_t set, auto flag) { return ((set >> static_cast<uint32_t>(flag)) & 1U) != 0; };
    BuilderConfig::Settings const& settings = config.settings();
    GraphRequest request;
    request.profiles = settings.profiles;
    request.mayUseHalf = has(settings.flags, BuilderFlag::kFP16);
    request.mayUseBF16 = has(settings.flags, BuilderFlag::kBF16);
    request.precisions = precisionUse(config);
    request.isDirect = config.has(BuilderFlag::kDIRECT_IO) || config.isStrict();
    request.mayAlias = has(settings.previewFeatures, PreviewFeature::kALIASED_PLUGIN_IO_10_03);
    request.timedOn = isTimed ? device : nullptr;
    if (device != nullptr)
        request.device = device->name();
    request.averageRuns = settings.avgTimingIterations;
    request.minRuns = settings.minTimingIterations;
    auto const limit = settings.poolLimits.find(static_cast<int32_t>(MemoryPoolType::kWORKSPACE));
    if (limit != settings.poolLimits.end())
        request.maxWorkspace = static_cast<int64_t>(std::min<size_t>(limit->second, INT64_MAX));
    return request;
}

} // namespace tenon::api
