// The table of stock plugins.
#include "plugins/builtin/stock_table.h"

#include <array>

namespace tenon::plugins::builtin
{

std::span<StockPlugin const> allStockPlugins()
{
    static auto const& all = *[] {
        constexpr std::array kFiles{&stockBatchedNms, &stockCropAndResize, &stockCustomFc, &stockDisentangledAttention,
            &stockEfficientNms, &stockElementwise, &stockEmbLayerNorm, &stockGroupNormalization,
            &stockInstanceNormalization, &stockMaskRcnn, &stockModulatedDeformConv2d, &stockMultiscaleDeformableAttn,
            &stockNms, &stockNormalize, &stockPillarScatter, &stockPlaces, &stockPointPillars, &stockPriorBoxes,
            &stockProposal, &stockPyramidRoiAlign, &stockQkvToContext, &stockRegion, &stockRoiAlign,
            &stockScatterElements, &stockScatterNd, &stockSkipLayerNorm, &stockSlices};
        auto* const list = new std::vector<StockPlugin>; // Creators refer to it as long as the process lives.
        for (auto const file : kFiles)
            for (StockPlugin& plugin : file())
                list->push_back(std::move(plugin));
        return list;
    }();
    return all;
}

} // namespace tenon::plugins::builtin
