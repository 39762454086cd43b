// Determinant: rules, and the factors of a matrix in double.
#include "layers/determinant.h"

#include "NvInfer.h"
#include "layers/check.h"
#include "layers/positions.h"
#include "layers/shape_values.h"

#include <cmath>

namespace tenon
{

Result<TensorType> Determinant::infer(Inputs const& in) const
{
    Check check{in, kName};
    check.count(1).floating(0).rank(0, 2, nvinfer1::Dims::MAX_DIMS);
    if (check)
        check.extent(0, in.type(0).rank() - 1, *(in.type(0).shape.end() - 2));
    TENON_TRY(check.done());
    TensorType result = in.type(0);
    result.shape.pop_back();
    result.shape.pop_back();
    return result;
}

namespace
{
//! Of rows that are eliminated in place: the product of the pivots, each the largest of what is left of its column. One
//! that is no number counts as larger than all, so that it is not lost.
double determinantOf(std::vector<double>& matrix, size_t size)
{
    double product{1.0};
    for (size_t k = 0; k < size; ++k)
    {
        size_t pivot{k};
        for (size_t row = k + 1; row < size; ++row)
            if (!(std::abs(matrix[row * size + k]) <= std::abs(matrix[pivot * size + k]))
                && !std::isnan(matrix[pivot * size + k]))
                pivot = row;
        for (size_t column = k; pivot != k && column < size; ++column)
            std::swap(matrix[pivot * size + column], matrix[k * size + column]);
        double const head = matrix[k * size + k];
        product *= pivot != k ? -head : head;
        for (size_t row = k + 1; head != 0.0 && row < size; ++row)
        {
            double const factor = matrix[row * size + k] / head;
            for (size_t column = k + 1; column < size; ++column)
                matrix[row * size + column] -= factor * matrix[k * size + column];
        }
    }
    return product;
}
} // namespace

Result<std::vector<HostTensor>> Determinant::reference(HostTensors const& in) const
{
    HostTensor out = TENON_TRY(outputOf(*this, in));
    HostTensor const& x = *in[0];
    auto const size = static_cast<size_t>(x.extents.back());
    std::vector<double> matrix(size * size);
    CancellationCounter counter;
    for (int64_t i = 0; i < out.count(); ++i)
    {
        counter.next();
        auto const first = x.reals.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(i) * matrix.size());
        matrix.assign(first, first + static_cast<std::ptrdiff_t>(size * size));
        out.set(i, determinantOf(matrix, size));
    }
    return oneOutput(std::move(out));
}

} // namespace tenon
