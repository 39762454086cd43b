// LRN: rules and plain loops.
#include "layers/lrn.h"

#include "layers/check.h"
#include "layers/positions.h"
#include "layers/shape_values.h"

#include <algorithm>
#include <cmath>

namespace tenon
{

Result<Done> LRN::verify() const
{
    if (windowSize < 1 || windowSize % 2 == 0)
        return badArgument("a window of {} channels, must be odd and positive", windowSize);
    return Done{};
}

bool LRN::lacksBatch(Inputs const& in) const
{
    constexpr int32_t kImageRank{3};
    return in.has(0) && in.type(0).rank() == kImageRank;
}

Result<TensorType> LRN::infer(Inputs const& in) const
{
    return Check(in, kName).fields(verify()).count(1).floating(0).rank(0, 2, nvinfer1::Dims::MAX_DIMS).sameAs(0);
}

Result<std::vector<HostTensor>> LRN::reference(HostTensors const& in) const
{
    HostTensor out = TENON_TRY(outputOf(*this, in));
    HostTensor const& x = *in[0];
    Lanes const lanes{x.extents, 1};
    lanes.forEach([&](int64_t first) {
        for (int64_t c = 0; c < lanes.length; ++c)
        {
            double squares{0.0};
            int64_t const begin = std::max<int64_t>(c - windowSize / 2, 0);
            int64_t const end = std::min<int64_t>(c + windowSize / 2 + 1, lanes.length);
            for (int64_t near = begin; near < end; ++near)
                squares += x.real(first + near * lanes.inner) * x.real(first + near * lanes.inner);
            double const base =
                static_cast<double>(k) + static_cast<double>(alpha) / static_cast<double>(windowSize) * squares;
            int64_t const at = first + c * lanes.inner;
            out.set(at, x.real(at) / std::pow(base, static_cast<double>(beta)));
        }
    });
    return oneOutput(std::move(out));
}

} // namespace tenon
