// Plugin: texts and conversions that all generations share.
#include "plugins/plugin.h"

#include <atomic>

namespace tenon::plugins
{

namespace
{
std::atomic<int64_t> gAlive{0};
}

Plugin::Plugin() noexcept
{
    ++gAlive;
}

Plugin::~Plugin()
{
    --gAlive;
}

int64_t Plugin::alive() noexcept
{
    return gAlive;
}

std::string_view nameOf(Generation generation) noexcept
{
    switch (generation)
    {
    case Generation::kV2: return "V2";
    case Generation::kV2Ext: return "V2Ext";
    case Generation::kV2IOExt: return "V2IOExt";
    case Generation::kV2DynamicExt: return "V2DynamicExt";
    case Generation::kV3: return "V3";
    }
    return "?";
}

std::string Identity::show() const
{
    return fmt::format("'{}' version '{}' namespace '{}'", type, version, nameSpace);
}

nvinfer1::Dims64 dimsOf(Shape const& shape) noexcept
{
    nvinfer1::Dims64 dims{};
    dims.nbDims = static_cast<int32_t>(shape.size());
    for (int32_t i = 0; i < dims.nbDims && i < nvinfer1::Dims64::MAX_DIMS; ++i)
        dims.d[i] = shape[static_cast<size_t>(i)].constant().value_or(-1);
    return dims;
}

} // namespace tenon::plugins
