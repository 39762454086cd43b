// RaggedAttention: rules and plain loops.
#include "layers/ragged_attention.h"

#include "layers/check.h"
#include "layers/positions.h"
#include "layers/quantization.h"
#include "layers/shape_values.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tenon
{

using nvinfer1::AttentionIOForm;
using nvinfer1::AttentionNormalizationOp;

Result<Done> RaggedAttention::verify() const
{
    for (AttentionIOForm const form : {queryForm, keyValueForm})
        if (form != AttentionIOForm::kPADDED_BHND && form != AttentionIOForm::kPACKED_NHD)
            return badArgument("unknown form {}", static_cast<int32_t>(form));
    if (normalization != AttentionNormalizationOp::kNONE && normalization != AttentionNormalizationOp::kSOFTMAX)
        return badArgument("unknown normalization {}", static_cast<int32_t>(normalization));
    if (causal > AttentionCausal::kLowerRight)
        return badArgument("unknown causal mask {}", static_cast<int32_t>(causal));
    if (quantizedTo != DType::kFLOAT && quantizedTo != DType::kFP8 && quantizedTo != DType::kINT8)
        return badArgument("quantizes to {}; it can to fp8 and int8", nameOf(quantizedTo));
    return Done{};
}

namespace
{
//! Extents of batch and rows that an operand says; those of a packed one its lengths say.
struct Sequences
{
    ShapeExpr batch;
    ShapeExpr rows;
};

Sequences sequencesOf(Inputs const& in, int32_t operand, int32_t lengths, AttentionIOForm form)
{
    Shape const& shape = in.type(operand).shape;
    if (RaggedAttention::isPacked(form))
        return {in.type(lengths).shape[0] - ShapeExpr{1}, shape[0]};
    return {shape[0], shape[2]};
}

Result<Done> checkLengths(Inputs const& in, RaggedAttention const& layer)
{
    using Layer = RaggedAttention;
    Check check{in, Layer::kName};
    bool const isQueryPacked = Layer::isPacked(layer.queryForm);
    bool const isKeyPacked = Layer::isPacked(layer.keyValueForm);
    check.index(Layer::kQueryLengths).rank(Layer::kQueryLengths, 1);
    check.index(Layer::kKeyValueLengths).rank(Layer::kKeyValueLengths, 1);
    check.that(in.has(Layer::kQueryLengths) == isQueryPacked, "{}",
        isQueryPacked ? "has no lengths of its packed query" : "has lengths of a query that is not packed");
    check.that(in.has(Layer::kKeyValueLengths) || !isKeyPacked, "has no lengths of its packed keys and values");
    check.that(!in.has(Layer::kMask) || !(isQueryPacked || isKeyPacked), "takes no mask for packed sequences");
    return check.done();
}
} // namespace

Result<TensorType> RaggedAttention::infer(Inputs const& in) const
{
    Check check{in, kName};
    check.fields(verify()).count(3, kOperands).floating(kQuery);
    check.rank(kQuery, isPacked(queryForm) ? 3 : 4);
    for (int32_t const i : {kKey, kValue})
        check.rank(i, isPacked(keyValueForm) ? 3 : 4).sameType(i, kQuery);
    check.floating(kScale).rank(kScale, 0);
    check.that(in.has(kScale) == (quantizedTo != DType::kFLOAT), "{}",
        in.has(kScale) ? "has a scale for the normalized products, and no type to quantize them to"
                       : "quantizes the normalized products, and has no scale for them");
    TENON_TRY(check.done());
    TENON_TRY(checkLengths(in, *this));
    Shape const& q = in.type(kQuery).shape;
    Shape const& k = in.type(kKey).shape;
    Shape const& v = in.type(kValue).shape;
    auto const [batch, rows] = sequencesOf(in, kQuery, kQueryLengths, queryForm);
    auto const [keyBatch, keyRows] = sequencesOf(in, kKey, kKeyValueLengths, keyValueForm);
    check.input(kQuery, q[1].isConstant(), "has {} heads, which must be known while building", q[1].show());
    check.input(kKey, k[1].isConstant(), "has {} heads, which must be known while building", k[1].show());
    TENON_TRY(check.done());
    int64_t const heads = *q[1].constant();
    int64_t const keyHeads = *k[1].constant();
    check.that(keyHeads > 0 && heads % std::max<int64_t>(keyHeads, 1) == 0,
        "{} heads of the query and {} of the keys do not fit", heads, keyHeads);
    check.extent(kKey, static_cast<int32_t>(k.size()) - 1, q.back()).extent(kValue, 1, k[1]);
    check.extent(kValue, 0, k[0]).extent(kValue, static_cast<int32_t>(v.size()) - 2, k[k.size() - 2]);
    ShapeExpr const apart = batch - keyBatch;
    check.that(!apart.isConstant() || *apart.constant() == 0, "queries come in {} sequences, keys in {}", batch.show(),
        keyBatch.show());
    if (in.has(kKeyValueLengths) && !isPacked(keyValueForm))
        check.extent(kKeyValueLengths, 0, k[0]);
    if (in.has(kMask))
        check.types(kMask, {DType::kBOOL, in.type(kQuery).dtype}).broadcastsTo(kMask, {batch, q[1], rows, keyRows});
    TENON_TRY(check.done());
    TensorType type = in.type(kQuery);
    type.shape.back() = v.back();
    return type;
}

namespace
{
//! Where the rows of each sequence stand in a tensor of either form.
class Rows
{
  public:
    Rows(HostTensor const& tensor, HostTensor const* lengths, AttentionIOForm form)
        : mLengths{lengths},
          mIsPacked{RaggedAttention::isPacked(form)},
          mHeads{tensor.extents[1]},
          mRoom{mIsPacked ? tensor.extents[0] : tensor.extents[2]},
          mColumns{tensor.extents.back()}
    {
    }
    int64_t begin(int64_t batch) const
    {
        return mIsPacked ? std::clamp<int64_t>(mLengths->integer(batch), 0, mRoom) : 0;
    }
    int64_t count(int64_t batch) const
    {
        if (mIsPacked)
            return std::max<int64_t>(std::clamp<int64_t>(mLengths->integer(batch + 1), 0, mRoom) - begin(batch), 0);
        return mLengths == nullptr ? mRoom : std::clamp<int64_t>(mLengths->integer(batch), 0, mRoom);
    }
    int64_t at(int64_t batch, int64_t head, int64_t row) const
    {
        if (mIsPacked)
            return ((begin(batch) + row) * mHeads + head) * mColumns;
        return ((batch * mHeads + head) * mRoom + row) * mColumns;
    }

  private:
    HostTensor const* mLengths;
    bool mIsPacked;
    int64_t mHeads;
    int64_t mRoom;
    int64_t mColumns;
};

//! One sequence of one head.
class Sequence
{
  public:
    Sequence(RaggedAttention const& layer, HostTensors const& in)
        : mLayer{layer},
          mIn{in},
          mQueries{*in[RaggedAttention::kQuery], optional(RaggedAttention::kQueryLengths), layer.queryForm},
          mKeys{*in[RaggedAttention::kKey], optional(RaggedAttention::kKeyValueLengths), layer.keyValueForm},
          mValues{*in[RaggedAttention::kValue], optional(RaggedAttention::kKeyValueLengths), layer.keyValueForm},
          mShare{in[RaggedAttention::kQuery]->extents[1] / in[RaggedAttention::kKey]->extents[1]},
          mWidth{in[RaggedAttention::kValue]->extents.back()},
          mMask{optional(RaggedAttention::kMask)}
    {
        if (mMask != nullptr)
            mMaskStrides = broadcastStrides(mMask->extents);
    }
    void run(int64_t batch, int64_t head, HostTensor& out)
    {
        Rows const results{out, optional(RaggedAttention::kQueryLengths), mLayer.queryForm};
        for (int64_t row = 0; row < mQueries.count(batch); ++row)
        {
            score(batch, head, row);
            normalize();
            int64_t const to = results.at(batch, head, row);
            for (int64_t c = 0; c < mWidth; ++c)
            {
                double sum{0.0};
                for (size_t j = 0; j < mScores.size(); ++j)
                    sum += mScores[j]
                        * mIn[RaggedAttention::kValue]->real(
                            mValues.at(batch, head / mShare, static_cast<int64_t>(j)) + c);
                out.set(to + c, sum);
            }
        }
    }

  private:
    static constexpr double kHidden{-std::numeric_limits<double>::infinity()};

    HostTensor const* optional(int32_t input) const
    {
        return static_cast<size_t>(input) < mIn.size() ? mIn[static_cast<size_t>(input)] : nullptr;
    }
    double masked(int64_t batch, int64_t head, int64_t row, int64_t column) const
    {
        if (mMask == nullptr)
            return 0.0;
        int64_t const at = linearOf({batch, head, row, column}, mMaskStrides);
        if (mMask->isReal())
            return mMask->real(at);
        return mMask->integer(at) != 0 ? 0.0 : kHidden;
    }
    void score(int64_t batch, int64_t head, int64_t row)
    {
        int64_t const keys = mKeys.count(batch);
        int64_t const reach = mLayer.causal == AttentionCausal::kNone ? keys
            : mLayer.causal == AttentionCausal::kUpperLeft            ? row
                                                                      : row + keys - mQueries.count(batch);
        int64_t const columns = mIn[RaggedAttention::kQuery]->extents.back();
        int64_t const query = mQueries.at(batch, head, row);
        mScores.assign(static_cast<size_t>(std::max<int64_t>(std::min(keys, reach + 1), 0)), 0.0);
        for (size_t j = 0; j < mScores.size(); ++j)
        {
            int64_t const key = mKeys.at(batch, head / mShare, static_cast<int64_t>(j));
            for (int64_t c = 0; c < columns; ++c)
                mScores[j] += mIn[RaggedAttention::kQuery]->real(query + c) * mIn[RaggedAttention::kKey]->real(key + c);
            mScores[j] += masked(batch, head, row, static_cast<int64_t>(j));
        }
    }
    void normalize()
    {
        if (mLayer.normalization == AttentionNormalizationOp::kSOFTMAX)
        {
            double const peak = mScores.empty() ? kHidden : *std::ranges::max_element(mScores);
            double sum{0.0};
            for (double& each : mScores)
                sum += each = peak == kHidden ? 0.0 : std::exp(each - peak);
            for (double& each : mScores)
                each = sum == 0.0 ? 0.0 : each / sum;
        }
        if (mLayer.quantizedTo == DType::kFLOAT)
            return;
        double const scale = mIn[RaggedAttention::kScale]->real(0);
        for (double& each : mScores)
            each = dequantized(quantized(each, scale, mLayer.quantizedTo), scale);
    }

    RaggedAttention const& mLayer;
    HostTensors const& mIn;
    Rows mQueries;
    Rows mKeys;
    Rows mValues;
    int64_t mShare; //!< Heads of the query per head of the keys.
    int64_t mWidth;
    HostTensor const* mMask;
    std::vector<int64_t> mMaskStrides;
    std::vector<double> mScores;
};
} // namespace

Result<std::vector<HostTensor>> RaggedAttention::reference(HostTensors const& in) const
{
    HostTensor out = TENON_TRY(outputOf(*this, in));
    int64_t const batches = isPacked(queryForm) ? in[kQueryLengths]->count() - 1 : out.extents[0];
    Sequence sequence{*this, in};
    for (int64_t batch = 0; batch < batches; ++batch)
        for (int64_t head = 0; head < out.extents[1]; ++head)
            sequence.run(batch, head, out);
    return oneOutput(std::move(out));
}

} // namespace tenon
