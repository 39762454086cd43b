// RowOrder: rules, and a sort that compares element by element.
#include "layers/row_order.h"

#include "base/cancellation.h"
#include "layers/check.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tenon
{

Result<std::vector<TensorType>> RowOrder::infer(Inputs const& in) const
{
    TENON_TRY(Check(in, kName)
                  .count(1)
                  .rank(0, 2)
                  .types(0,
                      {DType::kFLOAT, DType::kHALF, DType::kBF16, kFloat64, DType::kINT8, DType::kUINT8, DType::kINT32,
                          DType::kINT64, DType::kBOOL})
                  .done());
    Shape const rows{in.type(0).shape[0]};
    return std::vector<TensorType>{{DType::kINT64, rows}, {DType::kBOOL, rows}};
}

namespace
{
//! Less than 0: the element stands in front of the other one; 0: beside it.
int32_t compared(HostTensor const& x, int64_t a, int64_t b)
{
    if (!x.isReal())
        return x.integer(a) < x.integer(b) ? -1 : x.integer(b) < x.integer(a);
    if (std::isnan(x.real(a)) || std::isnan(x.real(b)))
        return std::isnan(x.real(a)) - std::isnan(x.real(b));
    return x.real(a) < x.real(b) ? -1 : x.real(b) < x.real(a);
}
} // namespace

Result<std::vector<HostTensor>> RowOrder::reference(HostTensors const& in) const
{
    HostTensor const& x = *in[0];
    int64_t const rows = x.extents[0];
    int64_t const columns = x.extents[1];
    std::vector<int64_t> order(static_cast<size_t>(rows));
    std::iota(order.begin(), order.end(), 0);
    CancellationCounter counter;
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        counter.next();
        int32_t result{0};
        for (int64_t i = 0; result == 0 && i < columns; ++i)
            result = compared(x, a * columns + i, b * columns + i);
        return result < 0;
    });
    HostTensor places{DType::kINT64, {rows}};
    HostTensor isNew{DType::kBOOL, {rows}};
    for (int64_t at = 0; at < rows; ++at)
    {
        int64_t const row = order[static_cast<size_t>(at)];
        int64_t const before = order[static_cast<size_t>(std::max<int64_t>(at - 1, 0))];
        bool differs = at == 0;
        for (int64_t i = 0; !differs && i < columns; ++i)
            differs = x.isReal() ? x.real(row * columns + i) != x.real(before * columns + i)
                                 : x.integer(row * columns + i) != x.integer(before * columns + i);
        places.setInteger(at, row);
        isNew.setInteger(at, differs ? 1 : 0);
    }
    std::vector<HostTensor> outputs;
    outputs.push_back(std::move(places));
    outputs.push_back(std::move(isNew));
    return outputs;
}

} // namespace tenon
