// Batchless: a body's dims without their first extent, which each run brings.
#include "plugins/builtin/batchless.h"

#include "plugins/builtin/older_face.h"
#include "plugins/shape_builder.h"

#include <string_view>

#include <fmt/format.h>

namespace tenon::plugins::builtin
{

using namespace nvinfer1;

namespace
{
//! The dims with this batch in front; none where there is no room for it.
Dims withBatch(Dims const& dims, int64_t batch) noexcept
{
    if (dims.nbDims < 0 || dims.nbDims >= Dims::MAX_DIMS)
        return {-1, {}};
    Dims whole{dims.nbDims + 1, {batch}};
    std::copy_n(dims.d, dims.nbDims, whole.d + 1);
    return whole;
}

//! Without the batch; none where an extent is not known.
Dims withoutBatch(DimsExprs const& dims) noexcept
{
    Dims rest{std::max(dims.nbDims, 0) - 1, {}};
    for (int32_t i = 0; i < rest.nbDims; ++i)
    {
        if (dims.d[i + 1] == nullptr || !dims.d[i + 1]->isConstant())
            return {-1, {}};
        rest.d[i] = dims.d[i + 1]->getConstantValue();
    }
    return rest;
}

bool isSame(Dims const& a, Dims const& b) noexcept
{
    return a.nbDims >= 0 && a.nbDims == b.nbDims && std::equal(a.d, a.d + a.nbDims, b.d);
}

constexpr char const* kPorts{"configured ports"};

//! How many are inputs; then type, format, rank and extents of each.
std::vector<int64_t> numbersOf(std::vector<PluginTensorDesc> const& ports, int32_t inputs)
{
    std::vector<int64_t> numbers{inputs};
    for (PluginTensorDesc const& port : ports)
    {
        numbers.push_back(static_cast<int64_t>(port.type));
        numbers.push_back(static_cast<int64_t>(port.format));
        numbers.push_back(port.dims.nbDims);
        numbers.insert(numbers.end(), port.dims.d, port.dims.d + std::max(port.dims.nbDims, 0));
    }
    return numbers;
}

//! Empty where the numbers, which a plan may have made up, are no ports.
std::vector<PluginTensorDesc> portsOf(std::span<int64_t const> numbers)
{
    std::vector<PluginTensorDesc> ports;
    constexpr size_t kHead{3};
    while (!numbers.empty())
    {
        if (numbers.size() < kHead || numbers[2] < 0 || numbers[2] >= Dims::MAX_DIMS
            || numbers.size() - kHead < static_cast<size_t>(numbers[2]))
            return {};
        PluginTensorDesc port{};
        port.type = static_cast<DataType>(numbers[0]);
        port.format = static_cast<TensorFormat>(numbers[1]);
        port.dims.nbDims = static_cast<int32_t>(numbers[2]);
        std::copy_n(numbers.begin() + kHead, numbers[2], port.dims.d);
        ports.push_back(port);
        numbers = numbers.subspan(kHead + static_cast<size_t>(numbers[2]));
    }
    return ports;
}

class Batchless final : public OlderFace<IPluginV2IOExt>
{
  public:
    using OlderFace::OlderFace;

    Batchless* clone() const noexcept override
    {
        return new Batchless{*this};
    }
    Dims getOutputDimensions(int32_t index, Dims const* inputs, int32_t count) noexcept override
    {
        if (!body().takes(count))
            return {-1, {}};
        ShapeBuilder builder{body().outputs(), {}};
        std::vector<DimsExprs> whole;
        for (int32_t i = 0; i < count; ++i)
        {
            Dims const dims = withBatch(inputs[i], 1);
            DimsExprs& exprs = whole.emplace_back(DimsExprs{dims.nbDims, {}});
            for (int32_t j = 0; j < dims.nbDims; ++j)
                exprs.d[j] = builder.constant(dims.d[j]);
        }
        return withoutBatch(body().outputDims(index, whole, builder.asked()));
    }
    size_t getWorkspaceSize(int32_t) const noexcept override
    {
        return 0; // The setting has its own.
    }
    int32_t enqueue(
        int32_t batchSize, void const* const* inputs, void* const* outputs, void*, cudaStream_t) noexcept override
    {
        if (batchSize != mBatch)
            setBatch(batchSize);
        return setting().run(body(), inputs, outputs);
    }
    bool isOutputBroadcastAcrossBatch(int32_t, bool const*, int32_t) const noexcept override
    {
        return false;
    }
    bool canBroadcastInputAcrossBatch(int32_t) const noexcept override
    {
        return false; // Then such an input comes with a copy for each sample.
    }
    void configurePlugin(
        PluginTensorDesc const* in, int32_t nbInput, PluginTensorDesc const* out, int32_t nbOutput) noexcept override
    {
        std::vector<PluginTensorDesc> ports(in, in + nbInput);
        ports.insert(ports.end(), out, out + nbOutput);
        configure(std::move(ports), nbInput);
    }
    bool supportsFormatCombination(
        int32_t pos, PluginTensorDesc const* inOut, int32_t nbInputs, int32_t nbOutputs) const noexcept override
    {
        return supports(pos, inOut, nbInputs + nbOutputs);
    }

    //! As stored; ports that cannot be are found when it runs.
    void configure(ConfiguredPorts numbers)
    {
        std::vector<PluginTensorDesc> ports = portsOf(numbers.subspan(1));
        if (numbers[0] >= 0 && static_cast<size_t>(numbers[0]) <= ports.size())
            configure(std::move(ports), static_cast<int32_t>(numbers[0]));
    }

    //! As the function of this name.
    std::string differsFrom(std::span<PluginTensorDesc const> ports, int32_t inputs, int32_t batch) const
    {
        if (mInputs != inputs || mPorts.size() != ports.size())
            return fmt::format("it was configured for {} inputs and {} outputs, and has {} and {}", mInputs,
                mPorts.size() - static_cast<size_t>(mInputs), inputs, ports.size() - static_cast<size_t>(inputs));
        for (size_t i = 0; i < ports.size(); ++i)
        {
            PluginTensorDesc const& mine = mPorts[i];
            Dims const dims = withBatch(mine.dims, batch);
            if (mine.type != ports[i].type || mine.format != ports[i].format || !isSame(dims, ports[i].dims))
                return fmt::format("port {} is not of the type, format or extents that it was configured for", i);
        }
        return {};
    }

  protected:
    std::vector<PluginField> storedFields() const override
    {
        std::vector<PluginField> fields = OlderFace::storedFields();
        if (!mNumbers.empty())
            fields.emplace_back(
                kPorts, mNumbers.data(), PluginFieldType::kINT64, static_cast<int32_t>(mNumbers.size()));
        return fields;
    }

  private:
    void configure(std::vector<PluginTensorDesc> ports, int32_t inputs) noexcept
    {
        mPorts = std::move(ports);
        mInputs = inputs;
        mNumbers = mPorts.empty() ? std::vector<int64_t>{} : numbersOf(mPorts, mInputs);
        setBatch(1);
    }
    void setBatch(int32_t batch) noexcept
    {
        mWhole = mPorts;
        for (PluginTensorDesc& port : mWhole)
            port.dims = withBatch(port.dims, batch);
        mBatch = batch;
        setting().set(
            body(), mWhole.data(), mInputs, mWhole.data() + mInputs, static_cast<int32_t>(mWhole.size()) - mInputs);
    }

    std::vector<PluginTensorDesc> mPorts; //!< Of one sample.
    std::vector<PluginTensorDesc> mWhole; //!< Of the batch.
    std::vector<int64_t> mNumbers;        //!< mPorts as they are stored.
    int32_t mInputs{0};
    int32_t mBatch{0};
};
} // namespace

ConfiguredPorts takePorts(std::vector<PluginField>& fields)
{
    auto const found = std::ranges::find_if(fields, [](PluginField const& field) {
        return field.name != nullptr && std::string_view{field.name} == kPorts && field.type == PluginFieldType::kINT64
            && field.data != nullptr && field.length > 0;
    });
    if (found == fields.end())
        return {};
    ConfiguredPorts const ports{static_cast<int64_t const*>(found->data), static_cast<size_t>(found->length)};
    fields.erase(found);
    return ports;
}

IPluginV2* makeBatchless(StockPlugin const& kind, BodyPtr body, std::string nameSpace, ConfiguredPorts ports)
{
    auto plugin = std::make_unique<Batchless>(kind, std::move(body), std::move(nameSpace));
    if (!ports.empty())
        plugin->configure(ports);
    return plugin.release();
}

BodyPtr bodyOfBatchless(nvinfer1::IPluginV2 const& plugin) noexcept
{
    return static_cast<Batchless const&>(plugin).sharedBody();
}

std::string differsFrom(
    nvinfer1::IPluginV2 const& plugin, std::span<PluginTensorDesc const> ports, int32_t inputs, int32_t batch)
{
    if (!isStock(&plugin, nullptr)) // Users' objects may have no RTTI to ask.
        return {};
    return static_cast<Batchless const&>(plugin).differsFrom(ports, inputs, batch);
}

} // namespace tenon::plugins::builtin
