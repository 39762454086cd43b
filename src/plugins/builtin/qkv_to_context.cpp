// CustomQKVToContextPluginDynamic: attention of rows that hold query, key and value of each head side by side. Versions
// 1 and 4 take [S, B, 3 * E, 1, 1]; keys beyond a sequence's number of tokens count for nothing. With var_seqlen
// versions 2 and 5 take the tokens of all sequences one behind the other, and where each begins; so do 3 and 6, of int8
// in kCHW32.
#include "plugins/builtin/bert.h"
#include "plugins/builtin/field_table.h"
#include "plugins/builtin/stock_table.h"

#include <cmath>

namespace tenon::plugins::builtin
{

namespace
{
enum class Attention
{
    kDense,
    kEither,     //!< Dense, or packed where var_seqlen is 1.
    kInterleaved //!< Packed, [1, 3 * E, T, 1] in vectors of 32 channels.
};

//! Rows of one sequence.
struct Sequence
{
    int64_t first;
    int64_t step;   //!< From one token's row to the next.
    int64_t length; //!< Queries.
    int64_t tokens; //!< Keys.
};

//! Where the elements of rows lie.
struct Rows
{
    int64_t count;
    int64_t width;
    bool isInterleaved;

    int64_t at(int64_t row, int64_t channel) const noexcept
    {
        constexpr int64_t kVector{32};
        return isInterleaved ? (channel / kVector * count + row) * kVector + channel % kVector : row * width + channel;
    }
};

template <Attention form>
class QkvToContext final : public TableBody<QkvToContext<form>, 1, 1>
{
  public:
    static auto table()
    {
        using B = QkvToContext;
        auto const hidden = requiredField("hidden_size", &B::mHidden, kPositive);
        auto const heads = requiredField("num_heads", &B::mHeads, kPositive);
        auto const probabilities = optionalField("dq_probs", &B::mProbabilities);
        auto const scale = optionalField("use_int8_scale_max", &B::mUsesScale, kSwitch);
        if constexpr (form == Attention::kInterleaved)
            return std::tuple{hidden, heads, probabilities, scale};
        else
        {
            constexpr Allowed<int32_t> kType{[](int32_t value) { return value == 0 || value == 1; },
                "0 (float32) or 1 (float16); int8 has versions 3 and 6"};
            auto const dense = std::tuple{requiredField("type_id", &B::mType, kType), hidden, heads,
                requiredField("has_mask", &B::mHasMask, kSwitch), probabilities};
            if constexpr (form == Attention::kDense)
                return dense;
            else
                return std::tuple_cat(dense, std::tuple{optionalField("var_seqlen", &B::mIsPacked, kSwitch), scale});
        }
    }
    Result<Done> check(FieldReader const& fields)
    {
        if (mHidden % mHeads != 0)
            return fields.refused("hidden_size", fmt::format("is {}", mHidden),
                fmt::format("be a multiple of num_heads, which is {}", mHeads));
        if (form != Attention::kInterleaved && isPacked() && mHasMask == 0)
            return fields.refused("has_mask", "is 0", "be 1 with var_seqlen: there is an input for it");
        return Done{};
    }
    int32_t inputs() const noexcept override
    {
        if (form == Attention::kInterleaved)
            return 3;
        return isPacked() ? 4 : mHasMask == 1 ? 2 : 1;
    }
    nvinfer1::TensorFormat formatOf(int32_t position) const noexcept override
    {
        bool const isVectors = form == Attention::kInterleaved && (position == 0 || position == inputs());
        return isVectors ? nvinfer1::TensorFormat::kCHW32 : nvinfer1::TensorFormat::kLINEAR;
    }
    bool acceptsType(int32_t position, std::span<PluginTensorDesc const> ports) const override
    {
        DataType const type = ports[static_cast<size_t>(position)].type;
        if (position == 0 || position == inputs())
            return form == Attention::kInterleaved ? isInt8(type) : type == typeOf(mType);
        if (isPacked() && position != startsAt())
            return isForKernels(type);
        return type == DataType::kINT32;
    }
    DimsExprs outputDims(int32_t, std::span<DimsExprs const> inputs, IExprBuilder& builder) const override
    {
        DimsExprs out = inputs[0];
        if (out.nbDims != (isPacked() ? 4 : 5))
            return {-1, {}};
        out.d[channelAxis()] = builder.constant(mHidden);
        return out;
    }
    char const* wants() const noexcept override
    {
        return form == Attention::kInterleaved
            ? "rows [1, 3 * hidden_size, T, 1], starts [B + 1] and a tensor of the longest length"
            : isPacked() ? "rows [T, 3 * hidden_size, 1, 1], a mask, starts [B + 1] and a tensor of the longest length"
                         : "rows [S, B, 3 * hidden_size, 1, 1], and with has_mask [B] numbers of tokens";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        Dims const& x = in[0].dims;
        int64_t const width = int64_t{3} * mHidden;
        if (!isPacked())
            return x.nbDims == 5 && isRows(x, x.d[0], x.d[1], width) && isRows(out[0].dims, x.d[0], x.d[1], mHidden)
                && (mHasMask == 0 || hasExtents(in[1].dims, {x.d[1]}));
        Dims const& starts = in[static_cast<size_t>(startsAt())].dims;
        if (x.nbDims != 4 || starts.nbDims != 1 || in.back().dims.nbDims != 1)
            return false;
        if (form == Attention::kInterleaved)
            return hasExtents(x, {std::min<int64_t>(x.d[0], 1), width, x.d[2], 1}) // 0: nothing to do.
                && hasExtents(out[0].dims, {x.d[0], mHidden, x.d[2], 1});
        return hasExtents(x, {x.d[0], width, 1, 1}) && hasExtents(out[0].dims, {x.d[0], mHidden, 1, 1});
    }
    //! Scores of one query, and its context.
    size_t workspace(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const>) const override
    {
        return static_cast<size_t>(rowsOf(in) + mHidden / mHeads) * sizeof(double);
    }
    int32_t run(StockRun const& run) const override
    {
        if (form == Attention::kInterleaved)
        {
            auto const isSound = [](float scale) { return scale > 0.0F && std::isfinite(scale); };
            if (!isSound(run.in[0].scale) || !isSound(run.out[0].scale))
                return failed("the scale of an int8 tensor is no finite number above 0");
            return runPacked<int8_t>(run);
        }
        return forFloatOrHalf(run.in[0].type, [&](auto element) {
            using T = decltype(element);
            return isPacked() ? runPacked<T>(run) : runDense<T>(run);
        });
    }

    SketchedLayers layers(LayerSketch& sketch, SketchedPorts const& ports) const override
    {
        using Id = LayerSketch::Id;
        if (isPacked())
            return {{}, "its sequences stand one behind the other"};
        Id const x = ports.values[0];
        requireRows(sketch, x, int64_t{3} * mHidden);
        int64_t const size = mHidden / mHeads;
        // A head of a sample is a sample of one head, whose query, key and value lie side by side: no copy is needed.
        Id const heads = sketch.reshape(x, {0, -1, 3, size});
        auto const part = [&](int64_t which) {
            return sketch.transpose(sketch.slice(heads, 2, which, 1), {1, 2, 0, 3});
        };
        auto const scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(size)));
        Id const scores = sketch.product(part(0), part(1), true, scale);
        Id const weights = mHasMask == 1 ? sketch.softMaxOrZero(sketch.sum(scores, maskOf(sketch, ports)), 3)
                                         : sketch.softMax(scores, 3);
        Id const context = sketch.transpose(sketch.product(weights, part(2), false, 1.0F), {2, 0, 1, 3});
        return {{sketch.reshape(context, {0, -1, mHidden, 1, 1})}, {}};
    }

  private:
    static constexpr char const* kTooMany{"a number of tokens is beyond the sequence"};

    //! 0 for keys that count, −∞ for others: [B * heads, 1, 1, S].
    LayerSketch::Id maskOf(LayerSketch& sketch, SketchedPorts const& ports) const
    {
        LayerSketch::Id const x = ports.values[0];
        LayerSketch::Id const tokens = ports.values[1];
        DataType const type = ports.in[0].type;
        sketch.requireSame(tokens, 0, x, 1);
        sketch.requireValues(tokens, 0, 0, kTooMany, x, 0);
        std::vector<float> const none(static_cast<size_t>(mHeads), 0.0F);
        Expr const counts = Expr::input(0) < Expr::input(1);
        Expr const hidden = Expr::constant(-INFINITY, type);
        Expr const mask = select(counts, Expr::input(2), Expr::input(2) + hidden);
        LayerSketch::Id const all = sketch.elements(mask,
            {sketch.count(x, 0, 4, 3), sketch.reshape(tokens, {-1, 1, 1, 1}),
                sketch.numbers("heads", {1, mHeads, 1, 1}, none, type)});
        return sketch.reshape(all, {-1, 1, 1, 0});
    }
    bool isPacked() const noexcept
    {
        return form == Attention::kInterleaved || mIsPacked == 1;
    }
    int32_t startsAt() const noexcept
    {
        return form == Attention::kInterleaved ? 1 : 2;
    }
    int32_t channelAxis() const noexcept
    {
        return isPacked() ? 1 : 2;
    }
    //! Of which one sequence has as many at most.
    int64_t rowsOf(std::span<PluginTensorDesc const> in) const noexcept
    {
        return in[0].dims.d[form == Attention::kInterleaved ? 2 : 0];
    }
    template <typename T>
    int32_t runDense(StockRun const& run) const
    {
        Dims const& x = run.in[0].dims;
        for (int64_t b = 0; b < x.d[1]; ++b)
        {
            int64_t const tokens = mHasMask == 1 ? run.input<int32_t>(1)[b] : x.d[0];
            if (tokens < 0 || tokens > x.d[0])
                return failed(kTooMany);
            attendAll<T>(run, x.d[0] * x.d[1], {b, x.d[1], x.d[0], tokens});
        }
        return 0;
    }
    template <typename T>
    int32_t runPacked(StockRun const& run) const
    {
        int64_t const rows = rowsOf(run.in);
        std::span const starts = startsOf(run, startsAt(), rows);
        if (!areStarts(starts, rows))
            return failed(kStartsWanted);
        Rows const out{rows, mHidden, form == Attention::kInterleaved};
        for (int64_t row = starts.empty() ? 0 : starts.back(); row < rows; ++row) // Tokens of no sequence.
            for (int64_t channel = 0; channel < mHidden; ++channel)
                run.output<T>(0)[out.at(row, channel)] = T{};
        for (size_t i = 0; i + 1 < starts.size(); ++i)
        {
            int64_t const length = starts[i + 1] - starts[i];
            attendAll<T>(run, rows, {starts[i], 1, length, length});
        }
        return 0;
    }
    template <typename T>
    void attendAll(StockRun const& run, int64_t rows, Sequence const& sequence) const
    {
        for (int64_t query = 0; query < sequence.length; ++query)
            for (int32_t head = 0; head < mHeads; ++head)
                attend<T>(run, rows, sequence, query, head);
    }
    template <typename T>
    void attend(StockRun const& run, int64_t rows, Sequence const& sequence, int64_t query, int64_t head) const
    {
        int64_t const size = mHidden / mHeads;
        Rows const in{rows, int64_t{3} * mHidden, form == Attention::kInterleaved};
        auto const number = [&](int64_t token, int64_t which, int64_t i) { // 0: query, 1: key, 2: value.
            int64_t const at = in.at(sequence.first + token * sequence.step, (head * 3 + which) * size + i);
            return static_cast<double>(asFloat(run.input<T>(0)[at])) * scaleOf(run.in[0]);
        };
        auto* const scores = static_cast<double*>(run.workspace);
        double* const context = scores + rowsOf(run.in);
        double const scale = 1.0 / std::sqrt(static_cast<double>(size));
        double most{-INFINITY};
        for (int64_t key = 0; key < sequence.tokens; ++key)
        {
            double sum{0.0};
            for (int64_t i = 0; i < size; ++i)
                sum += number(query, 0, i) * number(key, 1, i);
            scores[key] = sum * scale;
            most = std::max(most, scores[key]);
        }
        double total{0.0};
        std::fill_n(context, size, 0.0);
        for (int64_t key = 0; key < sequence.tokens; ++key)
        {
            double const weight = std::exp(scores[key] - most);
            total += weight;
            for (int64_t i = 0; i < size; ++i)
                context[i] += weight * number(key, 2, i);
        }
        Rows const out{rows, mHidden, form == Attention::kInterleaved};
        for (int64_t i = 0; i < size; ++i)
            putScaled(run.output<T>(0)[out.at(sequence.first + query * sequence.step, head * size + i)],
                total > 0.0 ? context[i] / total : 0.0, scaleOf(run.out[0]));
    }

    int32_t mType{0};
    int32_t mHidden{1};
    int32_t mHeads{1};
    int32_t mHasMask{0};
    float mProbabilities{1.0F / 127.0F}; //!< Of upstream's int8 kernels.
    int32_t mIsPacked{0};
    int32_t mUsesScale{1}; //!< How upstream's int8 kernels find the largest score.
};
} // namespace

std::vector<StockPlugin> stockQkvToContext()
{
    constexpr char const* kName{"CustomQKVToContextPluginDynamic"};
    return {dynamicVersion<QkvToContext<Attention::kDense>>(kName, "1"),
        dynamicVersion<QkvToContext<Attention::kEither>>(kName, "2"),
        dynamicVersion<QkvToContext<Attention::kInterleaved>>(kName, "3"),
        newerVersion<QkvToContext<Attention::kDense>>(kName, "4"),
        newerVersion<QkvToContext<Attention::kEither>>(kName, "5"),
        newerVersion<QkvToContext<Attention::kInterleaved>>(kName, "6")};
}

} // namespace tenon::plugins::builtin
