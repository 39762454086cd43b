// CustomEmbLayerNormPluginDynamic: the sum of the embeddings of token, segment and position, normalized; and how many
// tokens stand in front of the first that a mask leaves out.
#include "plugins/builtin/bert.h"
#include "plugins/builtin/stock_table.h"

#include <cmath>

namespace tenon::plugins::builtin
{

namespace
{
constexpr double kLayerNormEpsilon{0x1p-23};

class EmbLayerNorm final : public Body
{
  public:
    static Result<BodyPtr> make(FieldReader const& fields)
    {
        constexpr char const* kTable{"have rows of as many numbers as beta has"};
        constexpr Allowed<int32_t> kNo{[](int32_t value) { return value == 0; }, "0"};
        auto body = std::make_shared<EmbLayerNorm>();
        body->mIsHalf = TENON_TRY(fields.optional("output_fp16", 0, kSwitch));
        body->mFullMask = TENON_TRY(fields.optional("full_mask", 0, kNo));
        body->mMhaType = TENON_TRY(fields.optional<int32_t>("mha_type_id", 0));
        body->mBeta =
            TENON_TRY(fields.requiredList<float>("bert_embeddings_layernorm_beta", "have a number per element"));
        body->mGamma =
            TENON_TRY(fields.requiredList<float>("bert_embeddings_layernorm_gamma", "have a number per element"));
        TENON_TRY(fields.sameCount("bert_embeddings_layernorm_gamma", body->mGamma.size(),
            "bert_embeddings_layernorm_beta", body->mBeta.size()));
        for (auto const& [name, table] : body->tables())
        {
            *table = TENON_TRY(fields.requiredList<float>(name, kTable));
            if (body->mBeta.empty() || table->empty() || table->size() % body->mBeta.size() != 0)
                return fields.refused(name, fmt::format("has {} numbers", table->size()), kTable);
        }
        return body;
    }
    int32_t inputs() const noexcept override
    {
        return 3;
    }
    int32_t outputs() const noexcept override
    {
        return 2;
    }
    DataType outputType(int32_t output, std::span<DataType const>) const override
    {
        return output == 0 ? typeOf(mIsHalf) : DataType::kINT32;
    }
    bool acceptsType(int32_t position, std::span<PluginTensorDesc const> ports) const override
    {
        return ports[static_cast<size_t>(position)].type == (position == 3 ? typeOf(mIsHalf) : DataType::kINT32);
    }
    DimsExprs outputDims(int32_t output, std::span<DimsExprs const> inputs, IExprBuilder& builder) const override
    {
        if (inputs[0].nbDims != 2)
            return {-1, {}};
        if (output == 1)
            return {1, {inputs[0].d[1]}};
        return {
            5, {inputs[0].d[0], inputs[0].d[1], builder.constant(hidden()), builder.constant(1), builder.constant(1)}};
    }
    char const* wants() const noexcept override
    {
        return "tokens, segments and mask, each [S, B], S at most the number of position embeddings";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        Dims const& ids = in[0].dims;
        return ids.nbDims == 2 && sameExtents(ids, in[1].dims) && sameExtents(ids, in[2].dims)
            && ids.d[0] <= rowsOf(mPositions) && isRows(out[0].dims, ids.d[0], ids.d[1], hidden())
            && hasExtents(out[1].dims, {ids.d[1]});
    }
    //! One row.
    size_t workspace(std::span<PluginTensorDesc const>, std::span<PluginTensorDesc const>) const override
    {
        return static_cast<size_t>(hidden()) * sizeof(double);
    }
    int32_t run(StockRun const& run) const override
    {
        countTokens(run);
        return forFloatOrHalf(run.out[0].type, [&](auto element) { return embed<decltype(element)>(run); });
    }
    std::vector<PluginField> fields() const override
    {
        auto const list = [](char const* name, std::vector<float> const& values) {
            return PluginField{name, values.data(), PluginFieldType::kFLOAT32, static_cast<int32_t>(values.size())};
        };
        return {{"output_fp16", &mIsHalf, PluginFieldType::kINT32, 1},
            {"full_mask", &mFullMask, PluginFieldType::kINT32, 1},
            {"mha_type_id", &mMhaType, PluginFieldType::kINT32, 1}, list("bert_embeddings_layernorm_beta", mBeta),
            list("bert_embeddings_layernorm_gamma", mGamma), list("bert_embeddings_word_embeddings", mTokens),
            list("bert_embeddings_token_type_embeddings", mSegments),
            list("bert_embeddings_position_embeddings", mPositions)};
    }

  private:
    std::vector<std::pair<char const*, std::vector<float>*>> tables()
    {
        return {{"bert_embeddings_word_embeddings", &mTokens}, {"bert_embeddings_token_type_embeddings", &mSegments},
            {"bert_embeddings_position_embeddings", &mPositions}};
    }
    int64_t hidden() const noexcept
    {
        return static_cast<int64_t>(mBeta.size());
    }
    int64_t rowsOf(std::vector<float> const& table) const noexcept
    {
        return static_cast<int64_t>(table.size() / mBeta.size());
    }
    static void countTokens(StockRun const& run) noexcept
    {
        int64_t const length = run.in[2].dims.d[0];
        int64_t const batch = run.in[2].dims.d[1];
        for (int64_t b = 0; b < batch; ++b)
        {
            int64_t count{0};
            while (count < length && run.input<int32_t>(2)[count * batch + b] != 0)
                ++count;
            run.output<int32_t>(1)[b] = static_cast<int32_t>(count);
        }
    }
    template <typename T>
    int32_t embed(StockRun const& run) const
    {
        int64_t const batch = run.in[0].dims.d[1];
        int64_t const rows = run.in[0].dims.d[0] * batch;
        for (int64_t row = 0; row < rows; ++row)
        {
            int64_t const token = run.input<int32_t>(0)[row];
            int64_t const segment = run.input<int32_t>(1)[row];
            if (token < 0 || token >= rowsOf(mTokens))
                return failed("a token lies outside the word embeddings");
            if (segment < 0 || segment >= rowsOf(mSegments))
                return failed("a segment lies outside the token type embeddings");
            auto* const sum = static_cast<double*>(run.workspace);
            for (int64_t i = 0; i < hidden(); ++i)
                sum[i] = at(mTokens, token, i) + at(mSegments, segment, i) + at(mPositions, row / batch, i);
            normalize(sum, run.output<T>(0) + row * hidden());
        }
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
    auto const list = [](char const* name) { return PluginField{name, nullptr, PluginFieldType::kFLOAT32, 1}; };
    return {{"CustomEmbLayerNormPluginDynamic", "1", false,
        {{"output_fp16", nullptr, PluginFieldType::kINT32, 1}, {"full_mask", nullptr, PluginFieldType::kINT32, 1},
            {"mha_type_id", nullptr, PluginFieldType::kINT32, 1}, list("bert_embeddings_layernorm_beta"),
            list("bert_embeddings_layernorm_gamma"), list("bert_embeddings_word_embeddings"),
            list("bert_embeddings_token_type_embeddings"), list("bert_embeddings_position_embeddings")},
        &EmbLayerNorm::make}};
}

} // namespace tenon::plugins::builtin
