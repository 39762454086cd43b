// ScatterElements: output = data, into which each update goes at its own coordinates, the one along `axis` replaced by
// its index, joined with what stands there by `reduction`. For "mean" the sum of datum and updates is divided by the
// number of updates, as scatter_mean of pytorch_scatter does.
#include "plugins/builtin/element.h"
#include "plugins/builtin/stock_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <type_traits>

namespace tenon::plugins::builtin
{

namespace
{
enum class Reduction
{
    kAdd,
    kMul,
    kMean,
    kMin,
    kMax
};

constexpr std::array<std::string_view, 5> kReductions{"add", "mul", "mean", "min", "max"};

struct Bfloat
{
    uint16_t bits;

    friend float asFloat(Bfloat value) noexcept
    {
        return bfloatToFloat(value.bits);
    }
    friend void put(Bfloat& to, float value) noexcept
    {
        to.bits = floatToBfloat(value);
    }
};

template <typename T>
bool isNan(T value) noexcept
{
    if constexpr (std::is_floating_point_v<T>)
        return std::isnan(value);
    else
        return false;
}

//! Integers wrap around; a NaN stays one.
template <typename T>
T joined(T a, T b, Reduction reduction)
{
    switch (reduction)
    {
    case Reduction::kMin: return b < a || isNan(b) ? b : a;
    case Reduction::kMax: return b > a || isNan(b) ? b : a;
    default: break;
    }
    bool const isProduct = reduction == Reduction::kMul;
    if constexpr (std::is_floating_point_v<T>)
        return isProduct ? a * b : a + b;
    else
    {
        using Unsigned = std::make_unsigned_t<T>;
        auto const first = static_cast<Unsigned>(a);
        auto const second = static_cast<Unsigned>(b);
        return static_cast<T>(isProduct ? first * second : first + second);
    }
}

template <typename T>
void join(T& to, T value, Reduction reduction)
{
    if constexpr (std::is_arithmetic_v<T>)
        to = joined(to, value, reduction);
    else
        put(to, joined(asFloat(to), asFloat(value), reduction));
}

template <typename T>
void divide(T& value, int32_t count)
{
    if constexpr (std::is_integral_v<T>)
        value = static_cast<T>(value / count - (value % count < 0 ? 1 : 0)); // Towards minus infinity.
    else if constexpr (std::is_floating_point_v<T>)
        value /= static_cast<T>(count);
    else
        put(value, asFloat(value) / static_cast<float>(count));
}

//! Where the updates of one row go, a row being what shares all coordinates but the last.
struct Rows
{
    Dims dims{};         //!< Of indices and updates.
    Dims strides{};      //!< Of data.
    int32_t axis{0};     //!< Not negative.
    int64_t along{0};    //!< Extent of data along the axis.
    int64_t count{0};    //!< Of elements of a row.
    int64_t rowCount{0}; //!< All of them.

    //! Calls `visit(update, target)` with the offsets of each update of the row, given the indices.
    template <typename Visit>
    void forEach(int64_t row, int64_t const* indices, Visit&& visit) const
    {
        int32_t const last = dims.nbDims - 1;
        int64_t base{0};
        for (int64_t rest = row, i = last - 1; i >= 0; rest /= dims.d[i], --i)
            base += i == axis ? 0 : rest % dims.d[i] * strides.d[i];
        int64_t const step = last == axis ? 0 : 1;
        for (int64_t i = 0, at = row * count; i < count; ++i, ++at)
        {
            int64_t const index = indices[at] < 0 ? indices[at] + along : indices[at];
            visit(at, base + index * strides.d[axis] + i * step);
        }
    }
};

class ScatterElements final : public Body
{
  public:
    static Result<BodyPtr> make(FieldReader const& fields)
    {
        std::string const name = TENON_TRY(fields.text("reduction"));
        auto const found = std::ranges::find(kReductions, name);
        if (found == kReductions.end())
            return fields.refused("reduction", name.empty() ? "is missing" : fmt::format("is '{}'", name),
                fmt::format("be one of {}", fmt::join(kReductions, ", ")));
        auto body = std::make_shared<ScatterElements>();
        body->mReduction = static_cast<Reduction>(found - kReductions.begin());
        body->mAxis = TENON_TRY(fields.optional<int32_t>("axis", 0));
        return body;
    }
    int32_t inputs() const noexcept override
    {
        return 3;
    }
    int32_t outputs() const noexcept override
    {
        return 1;
    }
    DimsExprs outputDims(int32_t, std::span<DimsExprs const> inputs, IExprBuilder&) const override
    {
        int32_t const rank = inputs[0].nbDims;
        bool const isSound =
            rank >= 1 && inputs[1].nbDims == rank && inputs[2].nbDims == rank && mAxis >= -rank && mAxis < rank;
        return isSound ? inputs[0] : DimsExprs{-1, {}};
    }
    bool acceptsType(int32_t position, std::span<PluginTensorDesc const> ports) const override
    {
        DataType const type = ports[static_cast<size_t>(position)].type;
        if (position == 1)
            return type == DataType::kINT64;
        return type == ports[0].type
            && (isFloatOrHalf(type) || type == DataType::kBF16 || type == DataType::kINT32 || type == DataType::kINT64);
    }
    char const* wants() const noexcept override
    {
        return "data, indices of its rank and not larger, updates of the shape of the indices, "
               "and an axis that the rank has";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        Dims const& data = in[0].dims;
        Dims const& indices = in[1].dims;
        bool isSound = data.nbDims >= 1 && mAxis >= -data.nbDims && mAxis < data.nbDims && indices.nbDims == data.nbDims
            && sameExtents(indices, in[2].dims) && sameExtents(data, out[0].dims);
        for (int32_t i = 0; isSound && i < data.nbDims; ++i)
            isSound = i == axisOf(data) || indices.d[i] <= data.d[i];
        return isSound;
    }
    size_t workspace(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const>) const override
    {
        return mReduction == Reduction::kMean ? workspaceOf({volume(in[0].dims), sizeof(int32_t)}) : 0;
    }
    int32_t run(StockRun const& run) const override
    {
        std::optional<Rows> const rows = rowsOf(run);
        if (!rows)
            return failed("an index is outside of the data");
        switch (run.in[0].type)
        {
        case DataType::kFLOAT: return scatter<float>(run, *rows);
        case DataType::kHALF: return scatter<Half>(run, *rows);
        case DataType::kBF16: return scatter<Bfloat>(run, *rows);
        case DataType::kINT32: return scatter<int32_t>(run, *rows);
        case DataType::kINT64: return scatter<int64_t>(run, *rows);
        default: return failed("this type is not among those it takes");
        }
    }
    std::vector<PluginField> fields() const override
    {
        std::string_view const name = kReductions[static_cast<size_t>(mReduction)];
        return {{"reduction", name.data(), PluginFieldType::kCHAR, static_cast<int32_t>(name.size())},
            {"axis", &mAxis, PluginFieldType::kINT32, 1}};
    }

  private:
    int32_t axisOf(Dims const& data) const noexcept
    {
        return mAxis < 0 ? mAxis + data.nbDims : mAxis;
    }

    //! None when an index is out of range: then nothing is written.
    std::optional<Rows> rowsOf(StockRun const& run) const
    {
        Dims const& data = run.in[0].dims;
        Rows rows{.dims = run.in[1].dims, .strides = {data.nbDims, {}}, .axis = axisOf(data)};
        int64_t stride{1};
        for (int32_t i = data.nbDims - 1; i >= 0; stride *= data.d[i], --i)
            rows.strides.d[i] = stride;
        rows.along = data.d[rows.axis];
        rows.count = rows.dims.d[rows.dims.nbDims - 1];
        rows.rowCount = volume(rows.dims) == 0 ? 0 : volume(rows.dims, 0, rows.dims.nbDims - 1);
        auto const* const indices = run.input<int64_t>(1);
        bool const inRange = std::all_of(indices, indices + rows.rowCount * rows.count,
            [&](int64_t index) { return index >= -rows.along && index < rows.along; });
        return inRange ? std::optional{rows} : std::nullopt;
    }

    template <typename T>
    int32_t scatter(StockRun const& run, Rows const& rows) const
    {
        int64_t const all = volume(run.in[0].dims);
        T* const y = run.output<T>(0);
        std::copy_n(run.input<T>(0), all, y);
        for (int64_t row = 0; row < rows.rowCount; ++row)
            rows.forEach(row, run.input<int64_t>(1),
                [&](int64_t from, int64_t to) { join(y[to], run.input<T>(2)[from], mReduction); });
        if (mReduction != Reduction::kMean)
            return 0;
        auto* const counts = static_cast<int32_t*>(run.workspace);
        std::fill_n(counts, all, 0);
        for (int64_t row = 0; row < rows.rowCount; ++row)
            rows.forEach(row, run.input<int64_t>(1), [&](int64_t, int64_t to) { ++counts[to]; });
        for (int64_t i = 0; i < all; ++i)
            if (counts[i] > 1)
                divide(y[i], counts[i]);
        return 0;
    }

    Reduction mReduction{Reduction::kAdd};
    int32_t mAxis{0};
};

StockPlugin scatterElementsVersion(char const* number, bool isV3)
{
    return {"ScatterElements", number, isV3,
        {{"reduction", nullptr, PluginFieldType::kCHAR, 0}, {"axis", nullptr, PluginFieldType::kINT32, 1}},
        &ScatterElements::make};
}
} // namespace

std::vector<StockPlugin> stockScatterElements()
{
    return {scatterElementsVersion("1", false), scatterElementsVersion("2", true)};
}

} // namespace tenon::plugins::builtin
