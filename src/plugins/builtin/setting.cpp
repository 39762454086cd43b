// Checks of a stock plugin's ports, and its memory.
#include "plugins/builtin/setting.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

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
bool hasAllExtents(PluginTensorDesc const& desc) noexcept
{
    return std::all_of(
        desc.dims.d, desc.dims.d + std::max(desc.dims.nbDims, 0), [](int64_t extent) { return extent >= 0; });
}

std::string extentsOf(Dims const& dims)
{
    std::string text;
    for (int32_t i = 0; i < dims.nbDims; ++i)
        text += fmt::format("{}{}", i == 0 ? "" : ", ", dims.d[i]);
    return "[" + text + "]";
}

bool isEmpty(PluginTensorDesc const& desc) noexcept
{
    return std::find(desc.dims.d, desc.dims.d + desc.dims.nbDims, 0) != desc.dims.d + desc.dims.nbDims;
}
} // namespace

std::string Setting::problem(Body const& body) const
{
    if (!body.takes(static_cast<int32_t>(mInputs)) || mPorts.size() != mInputs + static_cast<size_t>(body.outputs()))
        return fmt::format("{} inputs and {} outputs are not what it takes", mInputs, mPorts.size() - mInputs);
    for (size_t i = 0; i < mPorts.size(); ++i)
        if (mPorts[i].format != body.formatOf(static_cast<int32_t>(i)) || !isConcrete(mPorts[i].dims)
            || !body.acceptsType(static_cast<int32_t>(i), mPorts))
            return fmt::format("type, format or extents of {} are not what it takes", nameOf(i));
    std::span const ports{mPorts};
    if (body.fits(ports.first(mInputs), ports.subspan(mInputs)))
        return {};
    std::string given;
    for (size_t i = 0; i < mInputs; ++i)
        given += fmt::format("{}{}", i == 0 ? "" : ", ", extentsOf(mPorts[i].dims));
    return fmt::format("the inputs are {}, which do not fit; it takes {}", given, body.wants());
}

std::string Setting::nameOf(size_t port) const
{
    return port < mInputs ? fmt::format("input {}", port) : fmt::format("output {}", port - mInputs);
}

constexpr size_t kMaxWorkspace{size_t{4} << 30};

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
        mProblem = problem(body);
        mIsRefused = !mProblem.empty() && std::ranges::all_of(mPorts, hasAllExtents);
        if (!mProblem.empty())
            return;
        std::span const ports{mPorts};
        mIsEmpty = std::ranges::all_of(ports.subspan(mInputs), isEmpty);
        // Where nothing is written, other extents may be huge.
        size_t const bytes = mIsEmpty ? 0 : body.workspace(ports.first(mInputs), ports.subspan(mInputs));
        if (bytes > kMaxWorkspace) // Fields and ports of a plan may lie.
        {
            mProblem = "it needs more than 4 GiB for its intermediate results";
            return;
        }
        if (bytes > mWorkspace.size())
            mWorkspace.resize(bytes);
        mIsReady = true;
    }
    catch (std::exception const&)
    {
        mIsReady = false; // run() says so; the text is short enough to need no memory.
        mProblem = "no memory";
    }
}

template void Setting::set(Body const&, PluginTensorDesc const*, int32_t, PluginTensorDesc const*, int32_t) noexcept;
template void Setting::set(
    Body const&, DynamicPluginTensorDesc const*, int32_t, DynamicPluginTensorDesc const*, int32_t) noexcept;

int32_t Setting::refusal() const noexcept
{
    return mIsRefused ? failed(mProblem.c_str()) : 0;
}

int32_t Setting::run(Body const& body, void const* const* inputs, void* const* outputs) noexcept
{
    if (!mIsReady)
        return failed(mProblem.c_str());
    std::span const ports{mPorts};
    if (mIsEmpty)
        return 0;
    return body.run({ports.first(mInputs), ports.subspan(mInputs), inputs, outputs, mWorkspace.data()});
}

} // namespace tenon::plugins::builtin
