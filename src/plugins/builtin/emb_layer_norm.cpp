// CustomEmbLayerNormPluginDynamic: the sum of the embeddings of token, segment and position, normalized. Versions 1 and
// 6 take [S, B], and say how many tokens stand in front of the first that a mask leaves out. The others take the tokens
// of all sequences one behind the other, and where each begins: 2 and 4 with room for a mask of upstream's kernels, 3
// and 5 with the sum before it is normalized.
#include "plugins/builtin/bert.h"
#include "plugins/builtin/field_table.h"
#include "plugins/builtin/stock_table.h"

#include <cmath>

namespace tenon::plugins::builtin
{

namespace
{
constexpr double kLayerNormEpsilon{0x1p-23};

enum class Embedding
{
    kDense,
    kPacked,
    kPackedWithSum
};

template <Embedding form>
class EmbLayerNorm final : public TableBody<EmbLayerNorm<form>, form == Embedding::kDense ? 3 : 4, 2>
{
  public:
    static auto table()
    {
        using B = EmbLayerNorm;
        auto const half = optionalField("output_fp16", &B::mIsHalf, kSwitch);
        auto const lists = std::tuple{requiredField("bert_embeddings_layernorm_beta", &B::mBeta),
            requiredField("bert_embeddings_layernorm_gamma", &B::mGamma),
            requiredField("bert_embeddings_word_embeddings", &B::mTokens),
            requiredField("bert_embeddings_token_type_embeddings", &B::mSegments),
            requiredField("bert_embeddings_position_embeddings", &B::mPositions)};
        if constexpr (form == Embedding::kDense)
        {
            constexpr Allowed<int32_t> kNo{[](int32_t value) { return value == 0; }, "0"};
            return std::tuple_cat(std::tuple{half, optionalField("full_mask", &B::mFullMask, kNo),
                                      optionalField("mha_type_id", &B::mMhaType)},
                lists);
        }
        else
            return std::tuple_cat(lists, std::tuple{half});
    }
    Result<Done> check(FieldReader const& fields)
    {
        TENON_TRY(fields.sameCount(
            "bert_embeddings_layernorm_gamma", mGamma.size(), "bert_embeddings_layernorm_beta", mBeta.size()));
        for (auto const& [name, table] : {std::pair{"bert_embeddings_word_embeddings", &mTokens},
                 std::pair{"bert_embeddings_token_type_embeddings", &mSegments},
                 std::pair{"bert_embeddings_position_embeddings", &mPositions}})
            if (table->size() % mBeta.size() != 0)
                return fields.refused(name, fmt::format("has {} numbers", table->size()),
                    "have rows of as many numbers as 'bert_embeddings_layernorm_beta' has");
        return Done{};
    }
    DataType outputType(int32_t output, std::span<DataType const>) const override
    {
        if (output == 0 || form == Embedding::kPackedWithSum)
            return typeOf(mIsHalf);
        return form == Embedding::kDense ? DataType::kINT32 : DataType::kHALF;
    }
    bool acceptsType(int32_t position, std::span<PluginTensorDesc const> ports) const override
    {
        DataType const type = ports[static_cast<size_t>(position)].type;
        if (form != Embedding::kDense && position == 3)
            return isForKernels(type);
        return type == (position < this->inputs() ? DataType::kINT32 : outputType(position - this->inputs(), {}));
    }
    DimsExprs outputDims(int32_t output, std::span<DimsExprs const> inputs, IExprBuilder& builder) const override
    {
        using nvinfer1::DimensionOperation;
        DimsExprs const& ids = inputs[0];
        auto const* const one = builder.constant(1);
        auto const* const elements = builder.constant(hidden());
        if (form == Embedding::kDense)
        {
            if (ids.nbDims != 2)
                return {-1, {}};
            return output == 1 ? DimsExprs{1, {ids.d[1]}} : DimsExprs{5, {ids.d[0], ids.d[1], elements, one, one}};
        }
        if (ids.nbDims != 1 || inputs[2].nbDims != 1)
            return {-1, {}};
        if (output == 0 || form == Embedding::kPackedWithSum)
            return {4, {ids.d[0], elements, one, one}};
        auto const* const sequences = builder.operation(DimensionOperation::kMAX, *builder.constant(0),
            *builder.operation(DimensionOperation::kSUB, *inputs[2].d[0], *one));
        return {2, {sequences, builder.constant(kMaskSize)}};
    }
    char const* wants() const noexcept override
    {
        return form == Embedding::kDense
            ? "tokens, segments and mask, each [S, B], S at most the number of position embeddings"
            : "tokens [T], segments [T], starts [B + 1] and a tensor of the longest length";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        Dims const& ids = in[0].dims;
        if (!sameExtents(ids, in[1].dims))
            return false;
        if (form == Embedding::kDense)
            return ids.nbDims == 2 && sameExtents(ids, in[2].dims) && ids.d[0] <= rowsOf(mPositions)
                && isRows(out[0].dims, ids.d[0], ids.d[1], hidden()) && hasExtents(out[1].dims, {ids.d[1]});
        if (ids.nbDims != 1 || in[2].dims.nbDims != 1 || in[3].dims.nbDims != 1
            || !hasExtents(out[0].dims, {ids.d[0], hidden(), 1, 1}))
            return false;
        return form == Embedding::kPackedWithSum
            ? sameExtents(out[0].dims, out[1].dims)
            : hasExtents(out[1].dims, {std::max<int64_t>(in[2].dims.d[0] - 1, 0), kMaskSize});
    }
    //! One row.
    size_t workspace(std::span<PluginTensorDesc const>, std::span<PluginTensorDesc const>) const override
    {
        return static_cast<size_t>(hidden()) * sizeof(double);
    }
    int32_t run(StockRun const& run) const override
    {
        return forFloatOrHalf(run.out[0].type, [&](auto element) {
            using T = decltype(element);
            return form == Embedding::kDense ? runDense<T>(run) : runPacked<T>(run);
        });
    }

    SketchedLayers layers(LayerSketch& sketch, SketchedPorts const& ports) const override
    {
        using Id = LayerSketch::Id;
        if (form != Embedding::kDense)
            return {{}, "its sequences stand one behind the other"};
        Id const ids = ports.values[0];
        Id const mask = ports.values[2];
        for (Id const other : {ports.values[1], mask})
            for (int32_t const axis : {0, 1})
                sketch.requireSame(other, axis, ids, axis);
        auto const rows = [&](char const* name, std::vector<float> const& table, bool hasBatch) {
            std::vector<int64_t> extents{rowsOf(table), hidden()};
            if (hasBatch)
                extents.insert(extents.begin() + 1, 1);
            return sketch.numbers(name, extents, table, DataType::kFLOAT);
        };
        auto const row = [&](char const* name, std::vector<float> const& list) {
            return sketch.numbers(name, {1, 1, hidden()}, list, DataType::kFLOAT);
        };
        sketch.requireValues(ids, 0, rowsOf(mTokens) - 1, kTokenOutside);
        sketch.requireValues(ports.values[1], 0, rowsOf(mSegments) - 1, kSegmentOutside);
        Id const segments = sketch.reshapeLike(ports.values[1], ids);
        Id const positions = sketch.first(rows("position embeddings", mPositions, true), 0, ids, 0);
        Expr const sum = Expr::input(0) + Expr::input(1) + Expr::input(2);
        Id const embedded = sketch.elements(sum,
            {sketch.gather(rows("word embeddings", mTokens, false), ids, 0),
                sketch.gather(rows("token type embeddings", mSegments, false), segments, 0), positions});
        Id const y = sketch.normalize(
            embedded, row("gamma", mGamma), row("beta", mBeta), 0b100, static_cast<float>(kLayerNormEpsilon), 1);
        Id const out = sketch.reshape(sketch.cast(y, typeOf(mIsHalf)), {0, 0, hidden(), 1, 1});
        return {{out, tokensInFront(sketch, sketch.reshapeLike(mask, ids))}, {}};
    }

  private:
    static constexpr char const* kTokenOutside{"a token lies outside the word embeddings"};
    static constexpr char const* kSegmentOutside{"a segment lies outside the token type embeddings"};

    //! How many of each column stand in front of its first 0.
    static LayerSketch::Id tokensInFront(LayerSketch& sketch, LayerSketch::Id mask)
    {
        Expr const isZero = apply(ExprOp::kEqual, {Expr::input(0), Expr::constant(0.0, DataType::kINT32)});
        LayerSketch::Id const zeros = sketch.elements(tenon::cast(isZero, DataType::kINT32), {mask});
        LayerSketch::Id const before = sketch.runningTotal(zeros, 0);
        return sketch.total(sketch.elements(tenon::cast(isZero, DataType::kINT32), {before}), 0);
    }
    static constexpr int64_t kMaskSize{12288}; //!< Of a sequence: for upstream's longest, 384.

    int64_t hidden() const noexcept
    {
        return static_cast<int64_t>(mBeta.size());
    }
    int64_t rowsOf(std::vector<float> const& table) const noexcept
    {
        return static_cast<int64_t>(table.size() / mBeta.size());
    }
    template <typename T>
    int32_t runDense(StockRun const& run) const
    {
        int64_t const length = run.in[0].dims.d[0];
        int64_t const batch = run.in[0].dims.d[1];
        for (int64_t b = 0; b < batch; ++b)
        {
            int64_t count{0};
            while (count < length && run.input<int32_t>(2)[count * batch + b] != 0)
                ++count;
            run.output<int32_t>(1)[b] = static_cast<int32_t>(count);
        }
        for (int64_t row = 0; row < length * batch; ++row)
            if (int32_t const code = embed<T>(run, row, row / batch); code != 0)
                return code;
        return 0;
    }
    template <typename T>
    int32_t runPacked(StockRun const& run) const
    {
        std::span const starts = startsOf(run, 2, run.in[0].dims.d[0]);
        if (!areStarts(starts, run.in[0].dims.d[0]))
            return failed(kStartsWanted);
        std::fill_n(run.output<T>(0), volume(run.out[0].dims), T{});
        if (form == Embedding::kPackedWithSum)
            std::fill_n(run.output<T>(1), volume(run.out[1].dims), T{});
        else
            std::fill_n(run.output<Half>(1), volume(run.out[1].dims), Half{});
        for (size_t sequence = 0; sequence + 1 < starts.size(); ++sequence)
        {
            int64_t const length = starts[sequence + 1] - starts[sequence];
            if (length > rowsOf(mPositions))
                return failed("a sequence is longer than there are position embeddings");
            for (int64_t position = 0; position < length; ++position)
                if (int32_t const code = embed<T>(run, starts[sequence] + position, position); code != 0)
                    return code;
        }
        return 0;
    }
    template <typename T>
    int32_t embed(StockRun const& run, int64_t row, int64_t position) const
    {
        int64_t const token = run.input<int32_t>(0)[row];
        int64_t const segment = run.input<int32_t>(1)[row];
        if (token < 0 || token >= rowsOf(mTokens))
            return failed(kTokenOutside);
        if (segment < 0 || segment >= rowsOf(mSegments))
            return failed(kSegmentOutside);
        auto* const sum = static_cast<double*>(run.workspace);
        for (int64_t i = 0; i < hidden(); ++i)
        {
            sum[i] = at(mTokens, token, i) + at(mSegments, segment, i) + at(mPositions, position, i);
            if (form == Embedding::kPackedWithSum)
                put(run.output<T>(1)[row * hidden() + i], static_cast<float>(sum[i]));
        }
        normalize(sum, run.output<T>(0) + row * hidden());
        return 0;
    }
    double at(std::vector<float> const& table, int64_t row, int64_t i) const noexcept
    {
        return static_cast<double>(table[static_cast<size_t>(row * hidden() + i)]);
    }
    template <typename T>
    void normalize(double const* x, T* y) const noexcept
    {
        double sum{0.0};
        for (int64_t i = 0; i < hidden(); ++i)
            sum += x[i];
        double const mean = sum / static_cast<double>(hidden());
        double squares{0.0};
        for (int64_t i = 0; i < hidden(); ++i)
            squares += (x[i] - mean) * (x[i] - mean);
        double const factor = 1.0 / std::sqrt(squares / static_cast<double>(hidden()) + kLayerNormEpsilon);
        for (int64_t i = 0; i < hidden(); ++i)
            put(y[i], static_cast<float>((x[i] - mean) * factor * at(mGamma, 0, i) + at(mBeta, 0, i)));
    }

    int32_t mIsHalf{0};
    int32_t mFullMask{0};
    int32_t mMhaType{0}; //!< Which of upstream's attention kernels the mask is for.
    std::vector<float> mBeta;
    std::vector<float> mGamma;
    std::vector<float> mTokens;
    std::vector<float> mSegments;
    std::vector<float> mPositions;
};
} // namespace

std::vector<StockPlugin> stockEmbLayerNorm()
{
    constexpr char const* kName{"CustomEmbLayerNormPluginDynamic"};
    return {dynamicVersion<EmbLayerNorm<Embedding::kDense>>(kName, "1"),
        dynamicVersion<EmbLayerNorm<Embedding::kPacked>>(kName, "2"),
        dynamicVersion<EmbLayerNorm<Embedding::kPackedWithSum>>(kName, "3"),
        newerVersion<EmbLayerNorm<Embedding::kPacked>>(kName, "4"),
        newerVersion<EmbLayerNorm<Embedding::kPackedWithSum>>(kName, "5"),
        newerVersion<EmbLayerNorm<Embedding::kDense>>(kName, "6")};
}

} // namespace tenon::plugins::builtin
