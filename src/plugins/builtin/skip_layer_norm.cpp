// CustomSkipLayerNormPluginDynamic: x = input + skip (+ bias), then over the hidden extent
// y = (x − mean) / sqrt(variance + epsilon) · gamma + beta. Versions 1 and 5 take [S, B, E, 1, 1], versions 2 and 6
// rows of E elements in any shape; `type_id` names the type of all tensors: 0 is float32, 1 float16, 2 int8. Versions
// 3, 4, 7 and 8 take int8 tensors [1, E, S, 1] in kCHW32; 4 and 8 give x, too. An int8 counts times its tensor's scale.
#include "plugins/builtin/bert.h"
#include "plugins/builtin/stock_table.h"

#include <array>
#include <cmath>
#include <limits>

namespace tenon::plugins::builtin
{

namespace
{
enum class Form
{
    kRank5,
    kRows,
    kInterleaved,
    kInterleavedWithSum
};

constexpr std::array kTypes{DataType::kFLOAT, DataType::kHALF, DataType::kINT8}; // By type_id.
constexpr int32_t kInt8Id{2};

//! Where the elements of one row lie: in vectors of `size` elements, each `stride` elements behind the one before.
struct Row
{
    int64_t count;
    int64_t first;
    int64_t size;
    int64_t stride;

    //! Calls `visit(number, offset)` for each element.
    template <typename Visit>
    void forEach(Visit&& visit) const
    {
        int64_t i{0};
        for (int64_t vector = first; i < count; vector += stride)
            for (int64_t j = 0; j < size && i < count; ++j, ++i)
                visit(static_cast<size_t>(i), vector + j);
    }
};

class SkipLayerNorm final : public Body
{
  public:
    explicit SkipLayerNorm(Form form)
        : mForm{form}
    {
    }
    template <Form form>
    static Result<BodyPtr> make(FieldReader const& fields)
    {
        constexpr char const* kPerElement{"have a number for each element of a row"};
        auto body = std::make_shared<SkipLayerNorm>(form);
        body->mBeta = TENON_TRY(fields.requiredList<float>("beta", kPerElement));
        body->mGamma = TENON_TRY(fields.requiredList<float>("gamma", kPerElement));
        TENON_TRY(fields.sameCount("gamma", body->mGamma.size(), "beta", body->mBeta.size()));
        body->mHidden = static_cast<int32_t>(body->mBeta.size());
        if (!body->isInterleaved())
            TENON_TRY(body->readMore(fields));
        return body;
    }
    int32_t inputs() const noexcept override
    {
        return 2;
    }
    int32_t outputs() const noexcept override
    {
        return mForm == Form::kInterleavedWithSum ? 2 : 1;
    }
    DimsExprs outputDims(int32_t, std::span<DimsExprs const> inputs, IExprBuilder&) const override
    {
        bool const isSound = inputs[0].nbDims == inputs[1].nbDims && isRank(inputs[0].nbDims);
        return isSound ? inputs[0] : DimsExprs{-1, {}};
    }
    nvinfer1::TensorFormat formatOf(int32_t) const noexcept override
    {
        return isInterleaved() ? nvinfer1::TensorFormat::kCHW32 : nvinfer1::TensorFormat::kLINEAR;
    }
    bool acceptsType(int32_t position, std::span<PluginTensorDesc const> ports) const override
    {
        DataType const wanted = kTypes[static_cast<size_t>(mType)];
        DataType const type = ports[static_cast<size_t>(position)].type;
        return wanted == DataType::kINT8 ? isInt8(type) : type == wanted;
    }
    char const* wants() const noexcept override
    {
        return isInterleaved() ? "two tensors of one shape [1, E, S, 1], E the number of gammas"
                               : "two tensors of one shape, whose rows have ld elements";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        Dims const& dims = in[0].dims;
        return rowsFit(dims) && sameExtents(dims, in[1].dims)
            && std::ranges::all_of(out, [&](PluginTensorDesc const& each) { return sameExtents(dims, each.dims); });
    }
    //! One row of x.
    size_t workspace(std::span<PluginTensorDesc const>, std::span<PluginTensorDesc const>) const override
    {
        return static_cast<size_t>(mHidden) * sizeof(double);
    }
    int32_t run(StockRun const& run) const override
    {
        auto const isSound = [](PluginTensorDesc const& desc) {
            return scaleOf(desc) > 0.0 && std::isfinite(scaleOf(desc));
        };
        if (!std::ranges::all_of(run.in, isSound) || !std::ranges::all_of(run.out, isSound))
            return failed("the scale of an int8 tensor is no finite number above 0");
        if (run.in[0].type == DataType::kINT8)
            return runAll<int8_t>(run);
        return forFloatOrHalf(run.in[0].type, [&](auto element) { return runAll<decltype(element)>(run); });
    }
    SketchedLayers layers(LayerSketch& sketch, SketchedPorts const& ports) const override
    {
        using Id = LayerSketch::Id;
        Id const x = ports.values[0];
        DataType const type = ports.in[0].type;
        int32_t const rank = ports.in[0].dims.nbDims;
        for (int32_t axis = 0; axis < rank; ++axis)
            sketch.requireSame(ports.values[1], axis, x, axis);
        if (mForm == Form::kRank5)
            requireRows(sketch, x, mHidden);
        // Sums as networks write them, which products in front take in; rows are the last axis.
        bool const areRows = rank > 0 && ports.in[0].dims.d[rank - 1] == mHidden;
        auto const rows = [&](Id value) {
            return mForm == Form::kRank5 ? sketch.reshape(value, {0, 0, mHidden})
                : areRows                ? value
                                         : sketch.reshape(value, {-1, mHidden});
        };
        Id sum = sketch.sum(rows(x), rows(sketch.reshapeLike(ports.values[1], x)));
        int32_t const last = mForm == Form::kRank5 ? 2 : areRows ? rank - 1 : 1;
        std::vector<int64_t> extents(static_cast<size_t>(last), 1);
        extents.push_back(mHidden);
        if (!mBias.empty())
            sum = sketch.sum(sum, sketch.numbers("bias", extents, mBias, type));
        Id const y = sketch.normalize(sum, sketch.numbers("gamma", extents, mGamma, type),
            sketch.numbers("beta", extents, mBeta, type), 1U << static_cast<uint32_t>(last),
            static_cast<float>(kEpsilon), 1);
        if (mForm == Form::kRank5)
            return {{sketch.reshape(y, {0, 0, mHidden, 1, 1})}, {}};
        return {{areRows ? y : sketch.reshapeLike(y, x)}, {}};
    }
    std::vector<PluginField> fields() const override
    {
        std::vector<PluginField> all{{"beta", mBeta.data(), PluginFieldType::kFLOAT32, mHidden},
            {"gamma", mGamma.data(), PluginFieldType::kFLOAT32, mHidden}};
        if (!isInterleaved())
            all.push_back({"type_id", &mType, PluginFieldType::kINT32, 1});
        if (mForm == Form::kRank5)
            all.push_back({"ld", &mHidden, PluginFieldType::kINT32, 1});
        if (!mBias.empty())
            all.push_back({"bias", mBias.data(), PluginFieldType::kFLOAT32, mHidden});
        return all;
    }

  private:
    bool isInterleaved() const noexcept
    {
        return mForm == Form::kInterleaved || mForm == Form::kInterleavedWithSum;
    }
    bool isRank(int32_t rank) const noexcept
    {
        return mForm == Form::kRows || rank == (isInterleaved() ? 4 : 5);
    }

    //! What only some versions have.
    Result<Done> readMore(FieldReader const& fields)
    {
        constexpr Allowed<int32_t> kTypeId{
            [](int32_t value) { return value >= 0 && value <= kInt8Id; }, "0 (float32), 1 (float16) or 2 (int8)"};
        mType = TENON_TRY(fields.required("type_id", kTypeId));
        mBias = TENON_TRY(fields.list<float>("bias"));
        if (!mBias.empty())
            TENON_TRY(fields.sameCount("bias", mBias.size(), "beta", mBeta.size()));
        int32_t const ld = mForm == Form::kRank5 ? TENON_TRY(fields.required("ld", kPositive)) : mHidden;
        if (ld != mHidden)
            return fields.refused(
                "ld", fmt::format("is {}", ld), fmt::format("be {}, the count of numbers of 'beta'", mHidden));
        return Done{};
    }

    bool rowsFit(Dims const& dims) const
    {
        if (isInterleaved())
            return hasExtents(dims, {std::min<int64_t>(dims.d[0], 1), mHidden, dims.d[2], 1}); // 0: nothing to do.
        if (mForm == Form::kRank5)
            return hasExtents(dims, {dims.d[0], dims.d[1], mHidden, 1, 1});
        return volume(dims) % mHidden == 0;
    }

    int64_t rowCount(Dims const& dims) const
    {
        return isInterleaved() ? dims.d[2] : volume(dims) / mHidden;
    }
    Row rowAt(Dims const& dims, int64_t row) const
    {
        constexpr int64_t kVector{32}; // Of kCHW32.
        if (isInterleaved())
            return {mHidden, row * kVector, kVector, dims.d[2] * kVector};
        return {mHidden, row * mHidden, mHidden, 0};
    }

    template <typename T>
    int32_t runAll(StockRun const& run) const
    {
        Dims const& dims = run.in[0].dims;
        for (int64_t row = 0; row < rowCount(dims); ++row)
            normalize<T>(run, rowAt(dims, row));
        return 0;
    }

    template <typename T>
    void normalize(StockRun const& run, Row const& row) const
    {
        auto* const x = static_cast<double*>(run.workspace);
        double const mean = addUp<T>(run, row, x) / mHidden;
        double squares{0.0};
        for (int32_t i = 0; i < mHidden; ++i)
            squares += (x[i] - mean) * (x[i] - mean);
        double const factor = 1.0 / std::sqrt(squares / mHidden + kEpsilon);
        double const scale = scaleOf(run.out[0]);
        T* const y = run.output<T>(0);
        row.forEach([&](size_t i, int64_t at) {
            double const normal = (x[i] - mean) * factor;
            putScaled(y[at], normal * static_cast<double>(mGamma[i]) + static_cast<double>(mBeta[i]), scale);
        });
        if (mForm != Form::kInterleavedWithSum)
            return;
        T* const sums = run.output<T>(1);
        row.forEach([&](size_t i, int64_t at) { putScaled(sums[at], x[i], scaleOf(run.out[1])); });
    }

    //! One row of x; returns its sum.
    template <typename T>
    double addUp(StockRun const& run, Row const& row, double* x) const
    {
        double const inputScale = scaleOf(run.in[0]);
        double const skipScale = scaleOf(run.in[1]);
        T const* const input = run.input<T>(0);
        T const* const skip = run.input<T>(1);
        double sum{0.0};
        row.forEach([&](size_t i, int64_t at) {
            double const bias = mBias.empty() ? 0.0 : static_cast<double>(mBias[i]);
            x[i] = inputScale * static_cast<double>(asFloat(input[at]))
                + skipScale * static_cast<double>(asFloat(skip[at])) + bias;
            sum += x[i];
        });
        return sum;
    }

    static constexpr double kEpsilon{std::numeric_limits<float>::epsilon()};

    Form mForm;
    int32_t mType{kInt8Id};
    int32_t mHidden{0};
    std::vector<float> mBeta;
    std::vector<float> mGamma;
    std::vector<float> mBias;
};

template <Form form>
StockPlugin skipLayerNormVersion(char const* number, bool isV3)
{
    constexpr bool kIsInterleaved = form == Form::kInterleaved || form == Form::kInterleavedWithSum;
    std::vector<PluginField> fields{
        {"beta", nullptr, PluginFieldType::kFLOAT32, 0}, {"gamma", nullptr, PluginFieldType::kFLOAT32, 0}};
    if (!kIsInterleaved)
        fields.insert(fields.end(),
            {{"type_id", nullptr, PluginFieldType::kINT32, 1}, {"bias", nullptr, PluginFieldType::kFLOAT32, 0}});
    if (form == Form::kRank5)
        fields.push_back({"ld", nullptr, PluginFieldType::kINT32, 1});
    return {"CustomSkipLayerNormPluginDynamic", number, isV3, std::move(fields), &SkipLayerNorm::make<form>};
}
} // namespace

std::vector<StockPlugin> stockSkipLayerNorm()
{
    return {skipLayerNormVersion<Form::kRank5>("1", false), skipLayerNormVersion<Form::kRows>("2", false),
        skipLayerNormVersion<Form::kInterleaved>("3", false),
        skipLayerNormVersion<Form::kInterleavedWithSum>("4", false), skipLayerNormVersion<Form::kRank5>("5", true),
        skipLayerNormVersion<Form::kRows>("6", true), skipLayerNormVersion<Form::kInterleaved>("7", true),
        skipLayerNormVersion<Form::kInterleavedWithSum>("8", true)};
}

} // namespace tenon::plugins::builtin
