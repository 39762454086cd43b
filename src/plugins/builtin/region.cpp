// Region_TRT: the output layer of YOLOv2 (arXiv:1612.08242). Of each predicted box, centre and objectness go through a
// sigmoid and the scores of its classes through a softmax; width and height stay.
#include "plugins/builtin/element.h"
#include "plugins/builtin/field_table.h"
#include "plugins/builtin/stock_table.h"

#include <cmath>

namespace tenon::plugins::builtin
{

namespace
{
class Region final : public TableBody<Region, 1, 1>
{
  public:
    static auto table()
    {
        constexpr Allowed<int32_t> kFour{[](int32_t value) { return value == kCoordinates; }, "4"};
        return std::tuple{requiredField("num", &Region::mBoxes, kPositive),
            optionalField("coords", &Region::mCoordinates, kFour),
            requiredField("classes", &Region::mClasses, kPositive), optionalField("smTree", &Region::mTree, {}, 1)};
    }
    Result<Done> check(FieldReader const& fields)
    {
        if (!mTree.empty())
            return fields.refused("smTree", "is there", "be left out: trees of classes (YOLO9000) are not supported");
        return Done{};
    }
    DimsExprs outputDims(int32_t, std::span<DimsExprs const> inputs, IExprBuilder&) const override
    {
        return inputs[0];
    }
    char const* wants() const noexcept override
    {
        return "x [N, num * (5 + classes), H, W]";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        Dims const& x = in[0].dims;
        return x.nbDims == 4 && x.d[1] == int64_t{mBoxes} * channels() && sameExtents(x, out[0].dims);
    }
    int32_t run(StockRun const& run) const override
    {
        Dims const& x = run.in[0].dims;
        int64_t const plane = x.d[2] * x.d[3];
        float const* from = run.input<float>(0);
        float* to = run.output<float>(0);
        for (int64_t box = 0; box < x.d[0] * mBoxes; ++box)
            for (int64_t pixel = 0; pixel < plane; ++pixel)
                activate(from + box * channels() * plane + pixel, to + box * channels() * plane + pixel, plane);
        return 0;
    }

  private:
    static constexpr int32_t kCoordinates{4};

    int64_t channels() const noexcept
    {
        return int64_t{kCoordinates} + 1 + mClasses;
    }
    //! One box at one pixel; its channels are `plane` elements apart.
    void activate(float const* x, float* y, int64_t plane) const noexcept
    {
        for (int64_t channel = 0; channel <= kCoordinates; ++channel)
        {
            float const value = x[channel * plane];
            bool const isSize = channel == 2 || channel == 3;
            y[channel * plane] = isSize ? value : 1.0F / (1.0F + std::exp(-value));
        }
        float const* const scores = x + (kCoordinates + 1) * plane;
        float* const shares = y + (kCoordinates + 1) * plane;
        float most = scores[0];
        for (int64_t label = 1; label < mClasses; ++label)
            most = std::max(most, scores[label * plane]);
        double total{0.0};
        for (int64_t label = 0; label < mClasses; ++label)
        {
            shares[label * plane] = std::exp(scores[label * plane] - most);
            total += static_cast<double>(shares[label * plane]);
        }
        for (int64_t label = 0; label < mClasses; ++label)
            shares[label * plane] = static_cast<float>(static_cast<double>(shares[label * plane]) / total);
    }

    int32_t mBoxes{1};
    int32_t mCoordinates{kCoordinates};
    int32_t mClasses{1};
    std::vector<int32_t> mTree; //!< Always empty.
};
} // namespace

std::vector<StockPlugin> stockRegion()
{
    return {batchlessVersion<Region>("Region_TRT", "1")};
}

} // namespace tenon::plugins::builtin
