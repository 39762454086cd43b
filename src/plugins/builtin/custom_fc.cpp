// CustomFCPluginDynamic: rows of K elements times a matrix W [K, out_dims].
#include "plugins/builtin/bert.h"
#include "plugins/builtin/stock_table.h"

namespace tenon::plugins::builtin
{

namespace
{
class CustomFc final : public Body
{
  public:
    static Result<BodyPtr> make(FieldReader const& fields)
    {
        auto body = std::make_shared<CustomFc>();
        body->mColumns = TENON_TRY(fields.required("out_dims", kPositive));
        body->mType = TENON_TRY(fields.required("type_id", kSwitch));
        body->mWeights = TENON_TRY(fields.requiredList<float>("W", "have K rows of out_dims numbers"));
        if (body->mWeights.empty() || body->mWeights.size() % static_cast<size_t>(body->mColumns) != 0)
            return fields.refused("W", fmt::format("has {} numbers", body->mWeights.size()),
                fmt::format("have a multiple of out_dims, which is {}", body->mColumns));
        return body;
    }
    int32_t inputs() const noexcept override
    {
        return 1;
    }
    int32_t outputs() const noexcept override
    {
        return 1;
    }
    bool acceptsType(int32_t position, std::span<PluginTensorDesc const> ports) const override
    {
        return ports[static_cast<size_t>(position)].type == typeOf(mType);
    }
    DimsExprs outputDims(int32_t, std::span<DimsExprs const> inputs, IExprBuilder& builder) const override
    {
        if (inputs[0].nbDims != 5)
            return {-1, {}};
        return {
            5, {inputs[0].d[0], inputs[0].d[1], builder.constant(mColumns), builder.constant(1), builder.constant(1)}};
    }
    char const* wants() const noexcept override
    {
        return "rows [N, B, K, 1, 1] with K the number of rows of W";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        Dims const& x = in[0].dims;
        return x.nbDims == 5 && isRows(x, x.d[0], x.d[1], depth()) && isRows(out[0].dims, x.d[0], x.d[1], mColumns);
    }
    //! Sums of one row.
    size_t workspace(std::span<PluginTensorDesc const>, std::span<PluginTensorDesc const>) const override
    {
        return static_cast<size_t>(mColumns) * sizeof(double);
    }
    int32_t run(StockRun const& run) const override
    {
        return forFloatOrHalf(run.in[0].type, [&](auto element) {
            using T = decltype(element);
            int64_t const rows = run.in[0].dims.d[0] * run.in[0].dims.d[1];
            for (int64_t row = 0; row < rows; ++row)
                multiply(run.input<T>(0) + row * depth(), run.output<T>(0) + row * mColumns,
                    static_cast<double*>(run.workspace));
            return 0;
        });
    }
    SketchedLayers layers(LayerSketch& sketch, SketchedPorts const& ports) const override
    {
        LayerSketch::Id const x = ports.values[0];
        requireRows(sketch, x, depth());
        LayerSketch::Id const weights = sketch.numbers("W", {1, depth(), mColumns}, mWeights, ports.in[0].type);
        LayerSketch::Id const y = sketch.product(sketch.reshape(x, {0, 0, depth()}), weights, false, 1.0F);
        return {{sketch.reshape(y, {0, 0, mColumns, 1, 1})}, {}};
    }
    std::vector<PluginField> fields() const override
    {
        return {{"out_dims", &mColumns, PluginFieldType::kINT32, 1}, {"type_id", &mType, PluginFieldType::kINT32, 1},
            {"W", mWeights.data(), PluginFieldType::kFLOAT32, static_cast<int32_t>(mWeights.size())}};
    }

  private:
    int64_t depth() const noexcept
    {
        return static_cast<int64_t>(mWeights.size()) / mColumns;
    }
    template <typename T>
    void multiply(T const* x, T* y, double* sums) const noexcept
    {
        std::fill_n(sums, mColumns, 0.0);
        for (int64_t k = 0; k < depth(); ++k)
        {
            float const* const weights = mWeights.data() + k * mColumns;
            for (int32_t column = 0; column < mColumns; ++column)
                sums[column] += static_cast<double>(asFloat(x[k])) * static_cast<double>(weights[column]);
        }
        for (int32_t column = 0; column < mColumns; ++column)
            put(y[column], static_cast<float>(sums[column]));
    }

    int32_t mColumns{1};
    int32_t mType{0};
    std::vector<float> mWeights;
};
} // namespace

std::vector<StockPlugin> stockCustomFc()
{
    return {{"CustomFCPluginDynamic", "1", false,
        {{"out_dims", nullptr, PluginFieldType::kINT32, 1}, {"type_id", nullptr, PluginFieldType::kINT32, 1},
            {"W", nullptr, PluginFieldType::kFLOAT32, 0}},
        &CustomFc::make}};
}

} // namespace tenon::plugins::builtin
