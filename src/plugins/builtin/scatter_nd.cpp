// ScatterND: a copy of the data in which the slices that indices name are replaced by updates, as ONNX has it.
#include "plugins/builtin/element.h"
#include "plugins/builtin/stock_table.h"

#include <cstring>

namespace tenon::plugins::builtin
{

namespace
{
class ScatterNd final : public Body
{
  public:
    static Result<BodyPtr> make(FieldReader const&)
    {
        return BodyPtr{std::make_shared<ScatterNd>()};
    }
    int32_t inputs() const noexcept override
    {
        return 3;
    }
    int32_t outputs() const noexcept override
    {
        return 1;
    }
    bool acceptsType(int32_t position, std::span<PluginTensorDesc const> ports) const override
    {
        DataType const type = ports[static_cast<size_t>(position)].type;
        if (position == 1)
            return type == DataType::kINT32;
        return (isFloatOrHalf(type) || type == DataType::kINT32) && type == ports[0].type;
    }
    DimsExprs outputDims(int32_t, std::span<DimsExprs const> inputs, IExprBuilder&) const override
    {
        return inputs[0];
    }
    char const* wants() const noexcept override
    {
        return "data of rank r, indices [..., k] with k up to r, and updates of the other extents of indices and the "
               "last "
               "r - k of data";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        Dims const& data = in[0].dims;
        Dims const& indices = in[1].dims;
        Dims const& updates = in[2].dims;
        if (indices.nbDims < 1 || !sameExtents(data, out[0].dims))
            return false;
        int64_t const named = indices.d[indices.nbDims - 1];
        int32_t const slices = indices.nbDims - 1;
        if (named < 1 || named > data.nbDims || updates.nbDims != slices + data.nbDims - named)
            return false;
        return std::equal(indices.d, indices.d + slices, updates.d)
            && std::equal(data.d + named, data.d + data.nbDims, updates.d + slices);
    }
    int32_t run(StockRun const& run) const override
    {
        Dims const& data = run.in[0].dims;
        Dims const& indices = run.in[1].dims;
        auto const named = static_cast<int32_t>(indices.d[indices.nbDims - 1]);
        size_t const element = run.in[0].type == DataType::kHALF ? sizeof(Half) : sizeof(float);
        auto const slice = static_cast<size_t>(volume(data, named, data.nbDims)) * element;
        std::memcpy(run.outputs[0], run.inputs[0], static_cast<size_t>(volume(data)) * element);
        int64_t const count = volume(indices, 0, indices.nbDims - 1);
        for (int64_t i = 0; i < count; ++i)
        {
            int64_t place{0};
            for (int32_t axis = 0; axis < named; ++axis)
            {
                int64_t index = run.input<int32_t>(1)[i * named + axis];
                index += index < 0 ? data.d[axis] : 0;
                if (index < 0 || index >= data.d[axis])
                    return failed("an index lies outside the data");
                place = place * data.d[axis] + index;
            }
            std::memcpy(static_cast<char*>(run.outputs[0]) + static_cast<size_t>(place) * slice,
                static_cast<char const*>(run.inputs[2]) + static_cast<size_t>(i) * slice, slice);
        }
        return 0;
    }
    SketchedLayers layers(LayerSketch& sketch, SketchedPorts const& ports) const override
    {
        Dims const& indices = ports.in[1].dims;
        int64_t const named = indices.nbDims < 1 ? -1 : indices.d[indices.nbDims - 1];
        if (named < 1)
            return {{}, "how many axes the indices name is not known before it runs"};
        int32_t const slices = indices.nbDims - 1;
        for (int32_t axis = 0; axis < slices; ++axis)
            sketch.requireSame(ports.values[2], axis, ports.values[1], axis);
        for (auto axis = static_cast<int32_t>(named), at = slices; axis < ports.in[0].dims.nbDims; ++axis, ++at)
            sketch.requireSame(ports.values[2], at, ports.values[0], axis);
        return {{sketch.scatterNd(ports.values[0], ports.values[1], ports.values[2])}, {}};
    }
    std::vector<PluginField> fields() const override
    {
        return {};
    }
};
} // namespace

std::vector<StockPlugin> stockScatterNd()
{
    return {{"ScatterND", "1", false, {}, &ScatterNd::make}};
}

} // namespace tenon::plugins::builtin
