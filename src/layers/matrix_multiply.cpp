// MatrixMultiply: rules and reference.
#include "layers/matrix_multiply.h"

#include "layers/contiguous_math.h"
#include "layers/epilogue_rules.h"
#include "layers/positions.h"
#include "layers/shape_values.h"

namespace tenon
{

using MatrixOp = nvinfer1::MatrixOperation;

Result<Done> MatrixMultiply::verify() const
{
    for (MatrixOp const op : {operation0, operation1})
        if (op < MatrixOp::kNONE || op > MatrixOp::kVECTOR)
            return badArgument("unknown matrix operation {}", static_cast<int32_t>(op));
    return verifyEpilogue(epilogue);
}

namespace
{
//! An operand as batches of matrices; vectors are one row (a) or one column (b).
struct Operand
{
    Shape batch;
    ShapeExpr rows{1};
    ShapeExpr columns{1};
};

Operand operandOf(Shape const& shape, MatrixOp op, bool isLeft)
{
    Operand operand;
    size_t const matrixAxes = op == MatrixOp::kVECTOR ? 1 : 2;
    operand.batch.assign(shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(matrixAxes));
    if (op == MatrixOp::kVECTOR)
        (isLeft ? operand.columns : operand.rows) = shape.back();
    else
    {
        operand.rows = shape[shape.size() - 2];
        operand.columns = shape.back();
        if (op == MatrixOp::kTRANSPOSE)
            std::swap(operand.rows, operand.columns);
    }
    return operand;
}
} // namespace

Result<TensorType> MatrixMultiply::infer(Inputs const& in) const
{
    Check check{in, kName};
    check.fields(verify()).count(2, kFirstExtra + epilogue.extraInputs()).floating(0).sameType(1, 0).sameType(2, 0);
    check.rank(0, operation0 == MatrixOp::kVECTOR ? 1 : 2, nvinfer1::Dims::MAX_DIMS);
    check.rank(1, operation1 == MatrixOp::kVECTOR ? 1 : 2, nvinfer1::Dims::MAX_DIMS).rank(2, 1);
    TENON_TRY(check.done());
    Operand const a = operandOf(in.type(0).shape, operation0, true);
    Operand const b = operandOf(in.type(1).shape, operation1, false);
    check.input(1, a.batch.size() == b.batch.size(), "has {} axes beside its matrix, input 0 '{}' has {}",
        b.batch.size(), in[0].name, a.batch.size());
    bool const fits = !(a.columns - b.rows).isConstant() || *(a.columns - b.rows).constant() == 0;
    check.input(1, fits, "has {} rows, input 0 '{}' has {} columns; they must be equal", b.rows.show(), in[0].name,
        a.columns.show());
    check.input(
        2, !in.has(2) || operation1 != MatrixOp::kVECTOR, "is a bias, which products with a vector do not take");
    if (in.has(2) && check)
        check.extent(2, 0, b.columns);
    TENON_TRY(check.done());
    Result<Shape> batch = broadcastShapes(a.batch, b.batch, in.symbols());
    if (!batch)
        return inputError(in, kName, 1, batch.error().message);
    TensorType type{in.type(0).dtype, *std::move(batch)};
    if (operation0 != MatrixOp::kVECTOR)
        type.shape.push_back(a.rows);
    if (operation1 != MatrixOp::kVECTOR)
        type.shape.push_back(b.columns);
    TENON_TRY(checkExtras(in, kName, epilogue, kFirstExtra, type));
    return type;
}

namespace
{
//! Where the elements of an operand stand.
struct Steps
{
    Steps(Shape const& batch, int64_t rows, int64_t columns, bool isTransposed)
        : batch{stridesOf(*staticExtents(batch))},
          row{isTransposed ? 1 : columns},
          column{isTransposed ? rows : 1}
    {
        for (size_t axis = 0; axis < batch.size(); ++axis)
            this->batch[axis] = batch[axis] == ShapeExpr{1} ? 0 : this->batch[axis] * rows * columns;
    }

    std::vector<int64_t> batch;
    int64_t row;
    int64_t column;
};

//! In integers where the type has all of them; else in real numbers, rounded once.
ShapeExpr product(std::vector<ShapeExpr> const& a, std::vector<ShapeExpr> const& b, float alpha, DType type,
    SymbolTable const* symbols)
{
    if (!hasReal(a) && !hasReal(b) && alpha == 1.0F)
    {
        ShapeExpr sum{0};
        for (size_t i = 0; i < a.size(); ++i)
            sum = sum + a[i] * b[i];
        if (isExactIn(type, sum, symbols))
            return sum;
    }
    ShapeExpr sum{0};
    for (size_t i = 0; i < a.size(); ++i)
        sum = i == 0 ? realOp(RealOp::kMul, a[i], b[i]) : realOp(RealOp::kAdd, sum, realOp(RealOp::kMul, a[i], b[i]));
    if (alpha != 1.0F)
        sum = realOp(RealOp::kMul, sum, realConstant(static_cast<double>(alpha)));
    return roundedTo(type, sum);
}
} // namespace

std::optional<Shape> MatrixMultiply::contents(Inputs const& in) const
{
    if (in.size() != 2 || !in.has(0) || !in.has(1) || (in[0].contents == nullptr && in[1].contents == nullptr))
        return std::nullopt;
    Result<TensorType> const type = infer(in);
    std::optional<std::vector<int64_t>> const extents = type ? staticExtents(type->shape) : std::nullopt;
    if (!extents || volumeOf(*extents) > kMaxRealValues || !epilogue.empty())
        return std::nullopt;
    std::optional<Shape> const left = knownValues(in, 0);
    std::optional<Shape> const right = knownValues(in, 1);
    Operand const a = operandOf(in.type(0).shape, operation0, true);
    Operand const b = operandOf(in.type(1).shape, operation1, false);
    if (!left || !right || !in.type(0).isStatic() || !in.type(1).isStatic())
        return std::nullopt;
    int64_t const m = *a.rows.constant();
    int64_t const k = *a.columns.constant();
    int64_t const n = *b.columns.constant();
    if (k > kMaxRealValues)
        return std::nullopt;
    Steps const stepsA{a.batch, m, k, operation0 == MatrixOp::kTRANSPOSE};
    Steps const stepsB{b.batch, k, n, operation1 == MatrixOp::kTRANSPOSE};
    std::vector<int64_t> loop(extents->begin(), extents->begin() + static_cast<std::ptrdiff_t>(a.batch.size()));
    loop.push_back(m);
    loop.push_back(n);
    Shape contents;
    forEachPosition(loop, [&](int64_t, std::vector<int64_t> const& at) {
        int64_t const row = at[at.size() - 2];
        int64_t const column = at.back();
        std::vector<int64_t> const batch(at.begin(), at.end() - 2);
        std::vector<ShapeExpr> x;
        std::vector<ShapeExpr> y;
        for (int64_t i = 0; i < k; ++i)
        {
            x.push_back(
                left->at(static_cast<size_t>(linearOf(batch, stepsA.batch) + row * stepsA.row + i * stepsA.column)));
            y.push_back(right->at(
                static_cast<size_t>(linearOf(batch, stepsB.batch) + i * stepsB.row + column * stepsB.column)));
        }
        contents.push_back(product(x, y, alpha, type->dtype, in.symbols()));
    });
    return contents;
}

Result<std::vector<HostTensor>> MatrixMultiply::reference(HostTensors const& in) const
{
    HostTensor out = TENON_TRY(outputOf(*this, in));
    Operand const a = operandOf(shapeOf(in[0]->extents), operation0, true);
    Operand const b = operandOf(shapeOf(in[1]->extents), operation1, false);
    int64_t const m = *a.rows.constant();
    int64_t const k = *a.columns.constant();
    int64_t const n = *b.columns.constant();
    std::vector<int64_t> const batch(
        out.extents.begin(), out.extents.begin() + static_cast<std::ptrdiff_t>(a.batch.size()));
    auto const stepsOf = [](Shape const& shape) {
        std::vector<int64_t> strides = stridesOf(*staticExtents(shape));
        for (size_t axis = 0; axis < shape.size(); ++axis)
            strides[axis] = shape[axis] == ShapeExpr{1} ? 0 : strides[axis];
        return strides;
    };
    std::vector<int64_t> const stepsA = stepsOf(a.batch);
    std::vector<int64_t> const stepsB = stepsOf(b.batch);
    std::vector<double> turnedA(operation0 == MatrixOp::kTRANSPOSE ? static_cast<size_t>(m * k) : 0);
    std::vector<double> turnedB(operation1 == MatrixOp::kTRANSPOSE ? static_cast<size_t>(k * n) : 0);
    int64_t turned{-1};
    forEachPosition(batch, [&](int64_t linear, std::vector<int64_t> const& at) {
        double const* left = in[0]->reals.data() + linearOf(at, stepsA) * m * k;
        double const* right = in[1]->reals.data() + linearOf(at, stepsB) * k * n;
        if (operation0 == MatrixOp::kTRANSPOSE)
            transposeInto(turnedA.data(), left, k, m);
        if (operation1 == MatrixOp::kTRANSPOSE && turned != right - in[1]->reals.data())
            transposeInto(turnedB.data(), right, n, k);
        turned = right - in[1]->reals.data();
        multiplyAdd(out.reals.data() + linear * m * n, operation0 == MatrixOp::kTRANSPOSE ? turnedA.data() : left,
            operation1 == MatrixOp::kTRANSPOSE ? turnedB.data() : right, m, k, n);
    });
    HostTensor const* bias = in.size() > 2 ? in[2] : nullptr;
    for (int64_t i = 0; i < out.count(); ++i)
    {
        double& value = out.reals[static_cast<size_t>(i)];
        value = value * static_cast<double>(alpha) + (bias != nullptr ? bias->real(i % n) : 0.0);
    }
    return oneOutput(TENON_TRY(applyEpilogue(epilogue, out.dtype, out, in, kFirstExtra)));
}

} // namespace tenon
