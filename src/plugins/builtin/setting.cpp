// Checks of a stock plugin's ports, and its memory.
#include "plugins/builtin/setting.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace tenon::plugins::builtin
{

using nvinfer1::DynamicPluginTensorDesc;

namespace
{
PluginTensorDesc const& plain(PluginTensorDesc const& desc) noexcept
{
    return desc;
}

PluginTensorDesc const& plain(DynamicPluginTensorDesc const& desc) noexcept
{
    return desc.desc;
}

//! Extents below 2^31, so that the product of two never overflows, even where a third is 0.
bool isConcrete(Dims const& dims) noexcept
{
    return dims.nbDims >= 0 && dims.nbDims <= Dims::MAX_DIMS
        && std::all_of(dims.d, dims.d + dims.nbDims,
            [](int64_t extent) { return extent >= 0 && extent <= std::numeric_limits<int32_t>::max(); });
}
bool isEmpty(PluginTensorDesc const& desc) noexcept
{
    return std::find(desc.dims.d, desc.dims.d + desc.dims.nbDims, 0) != desc.dims.d + desc.dims.nbDims;
}
} // namespace

bool Setting::isSound(Body const& body) const
{
    if (!body.takes(static_cast<int32_t>(mInputs)) || mPorts.size() != mInputs + static_cast<size_t>(body.outputs()))
        return false;
    for (size_t i = 0; i < mPorts.size(); ++i)
        if (mPorts[i].format != nvinfer1::TensorFormat::kLINEAR || !isConcrete(mPorts[i].dims)
            || !body.acceptsType(static_cast<int32_t>(i), mPorts))
            return false;
    std::span const ports{mPorts};
    return body.fits(ports.first(mInputs), ports.subspan(mInputs));
}

template <typename Desc>
void Setting::set(Body const& body, Desc const* in, int32_t inputs, Desc const* out, int32_t outputs) noexcept
{
    try
    {
        mIsReady = false;
        mPorts.clear();
        std::transform(in, in + inputs, std::back_inserter(mPorts), [](Desc const& desc) { return plain(desc); });
        std::transform(out, out + outputs, std::back_inserter(mPorts), [](Desc const& desc) { return plain(desc); });
        mInputs = static_cast<size_t>(inputs);
        if (!isSound(body))
            return;
        std::span const ports{mPorts};
        mIsEmpty = std::ranges::all_of(ports.subspan(mInputs), isEmpty);
        // Where nothing is written, other extents may be huge.
        size_t const bytes = mIsEmpty ? 0 : body.workspace(ports.first(mInputs), ports.subspan(mInputs));
        if (bytes > mWorkspace.size())
            mWorkspace.resize(bytes);
        mIsReady = true;
    }
    catch (std::exception const&)
    {
        mIsReady = false; // Too little memory: run() says so.
    }
}

template void Setting::set(Body const&, PluginTensorDesc const*, int32_t, PluginTensorDesc const*, int32_t) noexcept;
template void Setting::set(
    Body const&, DynamicPluginTensorDesc const*, int32_t, DynamicPluginTensorDesc const*, int32_t) noexcept;

int32_t Setting::run(Body const& body, void const* const* inputs, void* const* outputs) noexcept
{
    if (!mIsReady)
        return 1;
    std::span const ports{mPorts};
    if (mIsEmpty)
        return 0;
    return body.run({ports.first(mInputs), ports.subspan(mInputs), inputs, outputs, mWorkspace.data()});
}

} // namespace tenon::plugins::builtin
