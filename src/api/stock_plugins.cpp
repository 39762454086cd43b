// registerStockPlugins: creators by namespace, made once and kept as long as the process lives.
#include "api/stock_plugins.h"

#include "api/boundary.h"
#include "api/plugin_registry.h"
#include "plugins/builtin/stock.h"

#include <map>

namespace tenon::api
{

using nvinfer1::IPluginCreatorInterface;

namespace
{
using Creators = std::vector<std::unique_ptr<IPluginCreatorInterface>>;

struct StockCreators
{
    std::mutex mutex;
    std::map<std::string, Creators> byNamespace;
};

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
        if (stock.byNamespace.contains(name))
            return Done{};
        Creators creators;
        std::string taken;
        for (plugins::builtin::StockPlugin const& plugin : plugins::builtin::allStockPlugins())
        {
            creators.push_back(plugins::builtin::creatorOf(plugin, name));
            if (!globalRegistry().registerCreator(*creators.back(), name.c_str()))
                taken += fmt::format("{}{} version {}", taken.empty() ? "" : ", ", plugin.name, plugin.version);
        }
        stock.byNamespace.emplace(name, std::move(creators));
        if (!taken.empty())
            return badArgument("not registered, since others have the names: {}", taken);
        return Done{};
    });
}

} // namespace tenon::api
