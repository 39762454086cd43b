// registerStockPlugins: creators by namespace, made once and kept as long as the process lives.
#include "api/plugins/stock_plugins.h"

#include "api/boundary.h"
#include "api/global_logger.h"
#include "api/plugins/plugin_registry.h"
#include "plugins/builtin/stock.h"

#include <map>

namespace tenon::api
{

using nvinfer1::IPluginCreatorInterface;

namespace
{
//! A creator of a stock plugin, and whether the global registry has taken it.
struct StockCreator
{
    plugins::builtin::StockPlugin const* plugin;
    std::unique_ptr<IPluginCreatorInterface> creator;
    bool isRegistered{false};
};
using Creators = std::vector<StockCreator>;

struct StockCreators
{
    std::mutex mutex;
    std::map<std::string, Creators> byNamespace;
};

//! To the logger of whoever works now: that of the call which registered the creators may have ended.
void reportRefusal(Error const& error) noexcept
{
    detail::reportFailure(Log{&globalLogger()}, "createPlugin", error.code, error.message.c_str());
}

StockCreators& stockCreators()
{
    static auto& all = *new StockCreators; // The registry refers to them.
    return all;
}
} // namespace

bool registerStockPlugins(nvinfer1::ILogger& logger, char const* nameSpace) noexcept
{
    Log const log{&logger};
    return fencedDone(log, "initLibNvInferPlugins", [&]() -> Result<Done> {
        std::string const name = nameSpace == nullptr ? "" : nameSpace;
        StockCreators& stock = stockCreators();
        std::scoped_lock const lock{stock.mutex};
        Creators& creators = stock.byNamespace[name];
        if (creators.empty())
            for (plugins::builtin::StockPlugin const& plugin : plugins::builtin::allStockPlugins())
                creators.push_back({&plugin, plugins::builtin::creatorOf(plugin, name, &reportRefusal)});
        std::string taken;
        for (StockCreator& each : creators) // Those that another one kept out before are tried again (I12).
        {
            each.isRegistered = each.isRegistered || globalRegistry().registerCreator(*each.creator, name.c_str());
            if (!each.isRegistered)
                taken +=
                    fmt::format("{}{} version {}", taken.empty() ? "" : ", ", each.plugin->name, each.plugin->version);
        }
        if (!taken.empty())
            return badArgument("not registered, since others have the names: {}", taken);
        return Done{};
    });
}

} // namespace tenon::api
