// Statistics: sums over sorted times.
#include "statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tenon::cli
{

Sorted::Sorted(std::vector<double> times)
    : mTimes{std::move(times)}
{
    std::sort(mTimes.begin(), mTimes.end());
}

double Sorted::sum() const
{
    return std::accumulate(mTimes.begin(), mTimes.end(), 0.0);
}

double Sorted::mean() const
{
    return sum() / static_cast<double>(mTimes.size());
}

double Sorted::median() const
{
    size_t const middle = mTimes.size() / 2;
    return mTimes.size() % 2 == 1 ? mTimes[middle] : (mTimes[middle - 1] + mTimes[middle]) / 2;
}

double Sorted::quantile(double part) const
{
    auto const rank = static_cast<int64_t>(std::ceil(part * static_cast<double>(mTimes.size()) - 1e-9));
    auto const last = static_cast<int64_t>(mTimes.size()) - 1;
    return mTimes[static_cast<size_t>(std::clamp<int64_t>(rank - 1, 0, last))];
}

double Sorted::variation() const
{
    double const middle = mean();
    double squares{0.0};
    for (double const time : mTimes)
        squares += (time - middle) * (time - middle);
    return middle > 0.0 ? std::sqrt(squares / static_cast<double>(mTimes.size())) / middle : 0.0;
}

} // namespace tenon::cli
