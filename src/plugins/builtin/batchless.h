// The face of stock plugins whose dims leave the batch out: IPluginV2IOExt, which stands for the older ones, too.
#pragma once

#include "plugins/builtin/stock.h"

namespace tenon::plugins::builtin
{

//! The ports that such a plugin was configured for, as it stores them: engines do not configure it again.
using ConfiguredPorts = std::span<int64_t const>;

//! Takes them out of the fields that were stored; what it returns is valid as long as their data. Empty where there
//! are none.
ConfiguredPorts takePorts(std::vector<PluginField>& fields);

//! Over a body whose ports have the batch in front.
nvinfer1::IPluginV2* makeBatchless(StockPlugin const& kind, BodyPtr body, std::string nameSpace, ConfiguredPorts ports);

//! The body of what makeBatchless() has made.
BodyPtr bodyOfBatchless(nvinfer1::IPluginV2 const& plugin) noexcept;

//! Of a batchless generation. Empty where the plugin is not a stock one, or is configured for these ports of the
//! batch's size: a plan may lie about the ports that it stores. Otherwise what differs. Dims have the batch in front.
std::string differsFrom(
    nvinfer1::IPluginV2 const& plugin, std::span<PluginTensorDesc const> ports, int32_t inputs, int32_t batch);

} // namespace tenon::plugins::builtin
