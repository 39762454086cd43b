// LayerProfile: collecting, table, JSON.
#include "layer_profile.h"

#include "files.h"
#include "statistics.h"
#include "texts.h"

#include <algorithm>

namespace tenon::trtexec
{

void LayerProfile::reportLayerTime(char const* layerName, float milliseconds) noexcept
{
    if (mNext == mLayers.size()) // All known layers had their turn: a new run, or one more layer of the first.
    {
        if (mLayers.empty() || mLayers.front().name == layerName)
            ++mRuns;
        if (!mLayers.empty() && mLayers.front().name == layerName)
            mNext = 0;
        else
            mLayers.push_back({layerName, {}});
    }
    mLayers[mNext++].times.push_back(static_cast<double>(milliseconds));
}

double LayerProfile::total() const
{
    double sum{0.0};
    for (Layer const& layer : mLayers)
        for (double const time : layer.times)
            sum += time;
    return sum;
}

void LayerProfile::print(Log const& log) const
{
    size_t width{6};
    for (Layer const& layer : mLayers)
        width = std::max(width, layer.name.size() + 1);
    auto const column = static_cast<int>(width);
    double const all = total();
    log.info("");
    log.info(text("=== Profile (%zu iterations ) ===", mRuns));
    log.info(text("%*s   Time (ms)   Avg. Time (ms)   Median Time (ms)   Time %%", column, "Layer"));
    for (Layer const& layer : mLayers)
    {
        cli::Sorted const times{layer.times};
        if (times.sum() > 0.0)
            log.info(text("%*s%12.2f%17.4f%19.4f%9.1f", column, layer.name.c_str(), times.sum(), times.mean(),
                times.median(), times.sum() / all * 100.0));
    }
    if (mRuns > 0)
        log.info(text("%*s%12.2f%17.4f%19s%9.1f", column, "Total", all, all / static_cast<double>(mRuns), "", 100.0));
    log.info("");
}

void LayerProfile::write(std::string const& path) const
{
    cli::Json json = cli::Json::array();
    json.push_back({{"count", mRuns}});
    double const all = total();
    for (Layer const& layer : mLayers)
    {
        cli::Sorted const times{layer.times};
        json.push_back({{"name", layer.name}, {"timeMs", times.sum()}, {"averageMs", times.mean()},
            {"medianMs", times.median()}, {"percentage", all > 0.0 ? times.sum() / all * 100.0 : 0.0}});
    }
    std::string const made = json.dump(1, ' ', false, cli::Json::error_handler_t::replace) + "\n";
    cli::writeFile(path, made.data(), made.size());
}

} // namespace tenon::trtexec
