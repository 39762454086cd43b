// The stock plugins of this library: one function per file, each with all versions of its plugin.
#pragma once

#include "plugins/builtin/stock.h"

namespace tenon::plugins::builtin
{

std::vector<StockPlugin> stockInstanceNormalization();

} // namespace tenon::plugins::builtin
