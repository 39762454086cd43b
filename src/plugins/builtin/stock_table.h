// The stock plugins of this library: one function per file, each with all versions of its plugin.
#pragma once

#include "plugins/builtin/stock.h"

namespace tenon::plugins::builtin
{

std::vector<StockPlugin> stockBatchedNms();
std::vector<StockPlugin> stockCropAndResize();
std::vector<StockPlugin> stockCustomFc();
std::vector<StockPlugin> stockDisentangledAttention();
std::vector<StockPlugin> stockEfficientNms();
std::vector<StockPlugin> stockElementwise();
std::vector<StockPlugin> stockEmbLayerNorm();
std::vector<StockPlugin> stockGroupNormalization();
std::vector<StockPlugin> stockInstanceNormalization();
std::vector<StockPlugin> stockMaskRcnn();
std::vector<StockPlugin> stockModulatedDeformConv2d();
std::vector<StockPlugin> stockMultiscaleDeformableAttn();
std::vector<StockPlugin> stockNms();
std::vector<StockPlugin> stockNormalize();
std::vector<StockPlugin> stockPillarScatter();
std::vector<StockPlugin> stockPlaces();
std::vector<StockPlugin> stockPointPillars();
std::vector<StockPlugin> stockPriorBoxes();
std::vector<StockPlugin> stockProposal();
std::vector<StockPlugin> stockPyramidRoiAlign();
std::vector<StockPlugin> stockQkvToContext();
std::vector<StockPlugin> stockRegion();
std::vector<StockPlugin> stockRoiAlign();
std::vector<StockPlugin> stockScatterElements();
std::vector<StockPlugin> stockScatterNd();
std::vector<StockPlugin> stockSkipLayerNorm();
std::vector<StockPlugin> stockSlices();

} // namespace tenon::plugins::builtin
