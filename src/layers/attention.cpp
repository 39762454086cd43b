// Attention: rules and reference.
#include "layers/attention.h"

#include "layers/check.h"
#include "layers/contiguous_math.h"
#include "layers/positions.h"
#include "layers/shape_values.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tenon
{

namespace
{
bool isOrder(std::array<int32_t, 4> const& axes)
{
    uint32_t seen{0};
    for (int32_t const axis : axes)
        seen |= axis >= 0 && axis < 4 ? 1U << axis : 0U;
    return seen == 0xFU;
}
} // namespace

Shape viewExtents(AttentionView const& view, Shape const& tensor)
{
    Shape extents;
    for (int32_t const axis : view.axes)
        extents.push_back(tensor.at(static_cast<size_t>(axis)));
    if (view.heads > 0)
        extents[1] = view.heads;
    return extents;
}

Result<Done> Attention::verify() const
{
    for (AttentionView const* view : {&q, &k, &v})
        if (!isOrder(view->axes) || view->firstHead < 0 || view->heads < 0)
            return badArgument("an operand's view {} is not valid", tenon::show(*view));
    if (!isOrder(outputAxes) || causal > AttentionCausal::kLowerRight)
        return badArgument("the order of the output's axes or the causal mask is not valid");
    return Done{};
}

Result<TensorType> Attention::infer(Inputs const& in) const
{
    Check check{in, kName};
    check.fields(verify()).count(3, 4).floating(0);
    for (int32_t i = 0; i < 3; ++i)
        check.rank(i, 4).sameType(i, 0);
    TENON_TRY(check.done());
    AttentionView const* views[]{&q, &k, &v};
    Shape extents[3];
    for (int32_t i = 0; i < 3; ++i)
    {
        AttentionView const& view = *views[i];
        extents[i] = viewExtents(view, in.type(i).shape);
        ShapeExpr const& all = in.type(i).shape[static_cast<size_t>(view.axes[1])];
        check.input(i, extents[i][1].isConstant(), "has {} heads, which must be known while building", all.show());
        check.input(i, !all.isConstant() || int64_t{view.firstHead} + std::max(view.heads, 1) <= *all.constant(),
            "has {} heads, the layer reads {} from {}", all.show(), view.heads, view.firstHead);
        check.input(i, view.heads > 0 || view.firstHead == 0, "a first head without a number of heads");
    }
    TENON_TRY(check.done());
    auto const differ = [](ShapeExpr const& a, ShapeExpr const& b) {
        return (a - b).isConstant() && *(a - b).constant() != 0;
    };
    int64_t const heads = *extents[0][1].constant();
    int64_t const keyHeads = *extents[1][1].constant();
    check.that(keyHeads > 0 && heads % std::max<int64_t>(keyHeads, 1) == 0 && extents[2][1] == extents[1][1],
        "{} heads of q, {} of k and {} of v do not fit", heads, keyHeads, extents[2][1].show());
    check.that(!differ(extents[0][0], extents[1][0]) && !differ(extents[0][0], extents[2][0]), "batches differ");
    check.that(!differ(extents[0][3], extents[1][3]), "columns of q ({}) and k ({}) differ", extents[0][3].show(),
        extents[1][3].show());
    check.that(!differ(extents[1][2], extents[2][2]), "rows of k ({}) and v ({}) differ", extents[1][2].show(),
        extents[2][2].show());
    if (in.has(3))
        check.types(3, {DType::kBOOL, in.type(0).dtype})
            .broadcastsTo(3, {extents[0][0], extents[0][1], extents[0][2], extents[1][2]});
    TENON_TRY(check.done());
    Shape const result{extents[0][0], extents[0][1], extents[0][2], extents[2][3]};
    TensorType type{in.type(0).dtype, Shape(4)};
    for (size_t i = 0; i < 4; ++i)
        type.shape[static_cast<size_t>(outputAxes[i])] = result[i];
    return type;
}

namespace
{
//! One matrix [rows, columns] of an operand, copied out dense.
class Matrices
{
  public:
    Matrices(AttentionView const& view, HostTensor const& tensor)
        : mTensor{tensor},
          mFirstHead{view.firstHead}
    {
        std::vector<int64_t> const strides = stridesOf(tensor.extents);
        Shape const extents = viewExtents(view, shapeOf(tensor.extents));
        for (size_t i = 0; i < 4; ++i)
        {
            mStrides[i] = strides[static_cast<size_t>(view.axes[i])];
            this->extents[i] = *extents[i].constant();
        }
    }
    void copy(std::vector<double>& to, int64_t batch, int64_t head, bool transposed) const
    {
        int64_t const base = batch * mStrides[0] + (mFirstHead + head) * mStrides[1];
        to.resize(static_cast<size_t>(extents[2] * extents[3]));
        for (int64_t row = 0; row < extents[2]; ++row)
            for (int64_t column = 0; column < extents[3]; ++column)
                to[static_cast<size_t>(transposed ? column * extents[2] + row : row * extents[3] + column)] =
                    mTensor.reals[static_cast<size_t>(base + row * mStrides[2] + column * mStrides[3])];
    }

    std::array<int64_t, 4> extents{};

  private:
    HostTensor const& mTensor;
    std::array<int64_t, 4> mStrides{};
    int64_t mFirstHead;
};

//! The mask's part of one score, −∞ where nothing may be seen.
class Mask
{
  public:
    Mask(Attention const& layer, HostTensor const* tensor, int64_t rows, int64_t columns)
        : mTensor{tensor}
    {
        constexpr int64_t kAll{INT64_MAX / 2};
        mReach = layer.causal == AttentionCausal::kNone   ? kAll
            : layer.causal == AttentionCausal::kUpperLeft ? 0
                                                          : columns - rows;
        if (tensor != nullptr)
            mStrides = broadcastStrides(tensor->extents);
    }
    double at(int64_t batch, int64_t head, int64_t row, int64_t column) const
    {
        constexpr double kHidden{-std::numeric_limits<double>::infinity()};
        if (column > row + mReach)
            return kHidden;
        if (mTensor == nullptr)
            return 0.0;
        int64_t const position = linearOf({batch, head, row, column}, mStrides);
        if (mTensor->isReal())
            return mTensor->real(position);
        return mTensor->integer(position) != 0 ? 0.0 : kHidden;
    }

  private:
    HostTensor const* mTensor;
    int64_t mReach;
    std::vector<int64_t> mStrides;
};

void softMaxRow(double* row, int64_t count, bool maskedIsZero)
{
    double const peak = count == 0 ? 0.0 : *std::max_element(row, row + count);
    if (peak == -std::numeric_limits<double>::infinity() && maskedIsZero)
        return std::fill(row, row + count, 0.0);
    double sum{0.0};
    for (int64_t j = 0; j < count; ++j)
        sum += row[j] = std::exp(row[j] - peak);
    for (int64_t j = 0; j < count; ++j)
        row[j] /= sum;
}
} // namespace

Result<std::vector<HostTensor>> Attention::reference(HostTensors const& in) const
{
    HostTensor out = TENON_TRY(outputOf(*this, in));
    Matrices const queries{q, *in[0]};
    Matrices const keys{k, *in[1]};
    Matrices const values{v, *in[2]};
    auto const [batches, heads, rows, depth] = queries.extents;
    int64_t const columns = keys.extents[2];
    int64_t const width = values.extents[3];
    int64_t const share = heads / keys.extents[1];
    Mask const mask{*this, in.size() > 3 ? in[3] : nullptr, rows, columns};
    std::vector<int64_t> const strides = stridesOf(out.extents);
    std::vector<double> left, right, scores, result;
    for (int64_t b = 0; b < batches; ++b)
        for (int64_t h = 0; h < heads; ++h)
        {
            queries.copy(left, b, h, false);
            keys.copy(right, b, h / share, true);
            scores.assign(static_cast<size_t>(rows * columns), 0.0);
            multiplyAdd(scores.data(), left.data(), right.data(), rows, depth, columns);
            for (int64_t i = 0; i < rows; ++i)
            {
                double* row = scores.data() + i * columns;
                for (int64_t j = 0; j < columns; ++j)
                    row[j] = row[j] * static_cast<double>(scale) + mask.at(b, h, i, j);
                softMaxRow(row, columns, maskedRowsAreZero);
            }
            values.copy(right, b, h / share, false);
            result.assign(static_cast<size_t>(rows * width), 0.0);
            multiplyAdd(result.data(), scores.data(), right.data(), rows, columns, width);
            std::array<int64_t, 4> step{};
            for (size_t i = 0; i < 4; ++i)
                step[i] = strides[static_cast<size_t>(outputAxes[i])];
            for (int64_t i = 0; i < rows; ++i)
                for (int64_t j = 0; j < width; ++j)
                    out.set(b * step[0] + h * step[1] + i * step[2] + j * step[3],
                        result[static_cast<size_t>(i * width + j)]);
        }
    return oneOutput(std::move(out));
}

} // namespace tenon
