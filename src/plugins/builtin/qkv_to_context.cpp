// CustomQKVToContextPluginDynamic: attention of rows that hold query, key and value of each head side by side; keys
// beyond a sequence's number of tokens count for nothing.
#include "plugins/builtin/bert.h"
#include "plugins/builtin/stock_table.h"

#include <cmath>

namespace tenon::plugins::builtin
{

namespace
{
class QkvToContext final : public Body
{
  public:
    static Result<BodyPtr> make(FieldReader const& fields)
    {
        auto body = std::make_shared<QkvToContext>();
        body->mType = TENON_TRY(fields.required("type_id", kSwitch));
        body->mHidden = TENON_TRY(fields.required("hidden_size", kPositive));
        body->mHeads = TENON_TRY(fields.required("num_heads", kPositive));
        body->mHasMask = TENON_TRY(fields.required("has_mask", kSwitch));
        body->mProbabilities = TENON_TRY(fields.optional<float>("dq_probs", 1.0F / 127.0F));
        if (body->mHidden % body->mHeads != 0)
            return fields.refused("hidden_size", fmt::format("is {}", body->mHidden),
                fmt::format("be a multiple of num_heads, which is {}", body->mHeads));
        return body;
    }
    int32_t inputs() const noexcept override
    {
        return mHasMask == 1 ? 2 : 1;
    }
    int32_t outputs() const noexcept override
    {
        return 1;
    }
    bool acceptsType(int32_t position, std::span<PluginTensorDesc const> ports) const override
    {
        bool const isMask = mHasMask == 1 && position == 1;
        return ports[static_cast<size_t>(position)].type == (isMask ? DataType::kINT32 : typeOf(mType));
    }
    DimsExprs outputDims(int32_t, std::span<DimsExprs const> inputs, IExprBuilder& builder) const override
    {
        if (inputs[0].nbDims != 5)
            return {-1, {}};
        return {
            5, {inputs[0].d[0], inputs[0].d[1], builder.constant(mHidden), builder.constant(1), builder.constant(1)}};
    }
    char const* wants() const noexcept override
    {
        return "rows [S, B, 3 * hidden_size, 1, 1], and with has_mask [B] numbers of tokens";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        Dims const& x = in[0].dims;
        return x.nbDims == 5 && isRows(x, x.d[0], x.d[1], int64_t{3} * mHidden)
            && isRows(out[0].dims, x.d[0], x.d[1], mHidden) && (mHasMask == 0 || hasExtents(in[1].dims, {x.d[1]}));
    }
    //! Scores of one query, and its context.
    size_t workspace(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const>) const override
    {
        return static_cast<size_t>(in[0].dims.d[0] + mHidden / mHeads) * sizeof(double);
    }
    int32_t run(StockRun const& run) const override
    {
        return forFloatOrHalf(run.in[0].type, [&](auto element) {
            Dims const& x = run.in[0].dims;
            for (int64_t b = 0; b < x.d[1]; ++b)
            {
                int64_t const tokens = mHasMask == 1 ? run.input<int32_t>(1)[b] : x.d[0];
                if (tokens < 0 || tokens > x.d[0])
                    return failed("a number of tokens is beyond the sequence");
                for (int64_t query = 0; query < x.d[0]; ++query)
                    for (int32_t head = 0; head < mHeads; ++head)
                        attend<decltype(element)>(run, {query, b, head, tokens});
            }
            return 0;
        });
    }
    std::vector<PluginField> fields() const override
    {
        return {{"type_id", &mType, PluginFieldType::kINT32, 1}, {"hidden_size", &mHidden, PluginFieldType::kINT32, 1},
            {"num_heads", &mHeads, PluginFieldType::kINT32, 1}, {"has_mask", &mHasMask, PluginFieldType::kINT32, 1},
            {"dq_probs", &mProbabilities, PluginFieldType::kFLOAT32, 1}};
    }

  private:
    struct Place
    {
        int64_t query;
        int64_t sample;
        int32_t head;
        int64_t tokens;
    };
    template <typename T>
    void attend(StockRun const& run, Place const& at) const
    {
        Dims const& x = run.in[0].dims;
        int64_t const size = mHidden / mHeads;
        auto const part = [&](int64_t token, int64_t which) { // 0: query, 1: key, 2: value.
            return run.input<T>(0) + (token * x.d[1] + at.sample) * 3 * mHidden + (at.head * 3 + which) * size;
        };
        auto* const scores = static_cast<double*>(run.workspace);
        double* const context = scores + x.d[0];
        double const scale = 1.0 / std::sqrt(static_cast<double>(size));
        double most{-INFINITY};
        for (int64_t key = 0; key < at.tokens; ++key)
        {
            double sum{0.0};
            for (int64_t i = 0; i < size; ++i)
                sum += number(part(at.query, 0)[i]) * number(part(key, 1)[i]);
            scores[key] = sum * scale;
            most = std::max(most, scores[key]);
        }
        double total{0.0};
        std::fill_n(context, size, 0.0);
        for (int64_t key = 0; key < at.tokens; ++key)
        {
            double const weight = std::exp(scores[key] - most);
            total += weight;
            for (int64_t i = 0; i < size; ++i)
                context[i] += weight * number(part(key, 2)[i]);
        }
        T* const y = run.output<T>(0) + (at.query * x.d[1] + at.sample) * mHidden + at.head * size;
        for (int64_t i = 0; i < size; ++i)
            put(y[i], total > 0.0 ? static_cast<float>(context[i] / total) : 0.0F);
    }
    template <typename T>
    static double number(T value) noexcept
    {
        return static_cast<double>(asFloat(value));
    }

    int32_t mType{0};
    int32_t mHidden{1};
    int32_t mHeads{1};
    int32_t mHasMask{0};
    float mProbabilities{1.0F / 127.0F}; //!< Of upstream's int8 kernels.
};
} // namespace

std::vector<StockPlugin> stockQkvToContext()
{
    return {{"CustomQKVToContextPluginDynamic", "1", false,
        {{"type_id", nullptr, PluginFieldType::kINT32, 1}, {"hidden_size", nullptr, PluginFieldType::kINT32, 1},
            {"num_heads", nullptr, PluginFieldType::kINT32, 1}, {"has_mask", nullptr, PluginFieldType::kINT32, 1},
            {"dq_probs", nullptr, PluginFieldType::kFLOAT32, 1}},
        &QkvToContext::make}};
}

} // namespace tenon::plugins::builtin
