// Samples of stock plugins: for each one sound fields, and inputs that it takes with them.
#pragma once

#include "plugins/builtin/stock.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tenon::test
{

using SampleValues = std::variant<std::vector<int32_t>, std::vector<float>, std::string>;

struct SampleField
{
    char const* name;
    SampleValues values;
};

//! All versions of one plugin, or some.
struct StockSample
{
    char const* name;
    std::vector<SampleField> fields;
    std::vector<std::vector<int64_t>> inputs; //!< Extents.
    std::string_view versions{};              //!< A digit each; empty: all.

    std::vector<nvinfer1::PluginField> pluginFields() const;
};

//! Null when the table below has none, which a test says.
StockSample const* sampleOf(plugins::builtin::StockPlugin const& plugin);

} // namespace tenon::test
