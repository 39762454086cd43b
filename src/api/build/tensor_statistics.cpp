// TensorStatistics: one pass for the largest magnitude, one for the bins.
#include "api/build/tensor_statistics.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace tenon::api
{

namespace
{
constexpr size_t kSteps{128}; //!< Magnitudes of int8.
constexpr size_t kStride{8};  //!< Between bins at which a cut is tried.
constexpr double kNothing{1e-12};
} // namespace

void TensorStatistics::widen(double magnitude)
{
    if (mRange == 0.0)
    {
        mRange = magnitude;
        mBins.assign(kBins, 0.0);
    }
    while (mRange < magnitude)
    {
        mRange *= 2.0;
        for (size_t i = 0; i < kBins / 2; ++i)
            mBins[i] = mBins[2 * i] + mBins[2 * i + 1];
        std::fill(mBins.begin() + kBins / 2, mBins.end(), 0.0);
    }
}

int64_t TensorStatistics::add(std::span<float const> values)
{
    float most{0.0F};
    for (float const value : values)
    {
        float const magnitude = std::abs(value);
        most = magnitude > most && magnitude <= 3.4028235e38F ? magnitude : most;
    }
    mLargest = std::max(mLargest, static_cast<double>(most));
    if (most > 0.0F)
        widen(most);
    double const perUnit = mRange > 0.0 ? static_cast<double>(kBins) / mRange : 0.0;
    int64_t zeros{0};
    int64_t strange{0};
    for (float const value : values)
    {
        float const magnitude = std::abs(value);
        if (magnitude == 0.0F)
            ++zeros;
        else if (magnitude <= most) // Neither infinite nor NaN.
            mBins[std::min(static_cast<size_t>(static_cast<double>(magnitude) * perUnit), kBins - 1)] += 1.0;
        else
            ++strange;
    }
    mZeros += static_cast<double>(zeros);
    return strange;
}

double TensorStatistics::divergenceAt(size_t bins, double tail) const
{
    double const inside = std::accumulate(mBins.begin(), mBins.begin() + static_cast<std::ptrdiff_t>(bins), 0.0);
    double const all = inside + tail;
    if (inside == 0.0 || all == 0.0)
        return HUGE_VAL;
    double divergence{0.0};
    for (size_t step = 0; step < kSteps; ++step)
    {
        size_t const first = step * bins / kSteps;
        size_t const last = (step + 1) * bins / kSteps;
        double sum{0.0};
        double filled{0.0};
        for (size_t i = first; i < last; ++i)
        {
            sum += mBins[i];
            filled += mBins[i] > 0.0 ? 1.0 : 0.0;
        }
        double const share = filled > 0.0 ? sum / filled / inside : 0.0; // Of each bin that is not empty.
        for (size_t i = first; i < last; ++i)
        {
            double const own = (mBins[i] + (i + 1 == bins ? tail : 0.0)) / all;
            if (own > 0.0)
                divergence += own * std::log(own / std::max(mBins[i] > 0.0 ? share : 0.0, kNothing));
        }
    }
    return divergence;
}

double TensorStatistics::leastDivergence() const
{
    if (mBins.empty())
        return mLargest;
    size_t used{kBins};
    while (used > 0 && mBins[used - 1] == 0.0)
        --used;
    if (used <= kSteps)
        return mLargest;
    double const all = std::accumulate(mBins.begin(), mBins.end(), 0.0);
    double inside = std::accumulate(mBins.begin(), mBins.begin() + kSteps, 0.0);
    double least = HUGE_VAL;
    double best = mLargest;
    for (size_t bins = kSteps; bins <= used; bins += kStride)
    {
        double const divergence = divergenceAt(bins, all - inside);
        if (divergence < least)
        {
            least = divergence;
            best = std::min(static_cast<double>(bins) * binWidth(), mLargest);
        }
        for (size_t i = bins; i < std::min(bins + kStride, used); ++i)
            inside += mBins[i];
    }
    // The cut at the end, where nothing is lost but resolution.
    return divergenceAt(used, 0.0) < least ? mLargest : best;
}

double TensorStatistics::quantile(double share, double cutoff) const
{
    double const all = std::accumulate(mBins.begin(), mBins.end(), mZeros);
    double inside = mZeros;
    double found = mLargest;
    for (size_t i = 0; i < mBins.size(); ++i)
    {
        inside += mBins[i];
        if (inside >= share * all)
        {
            found = std::min(static_cast<double>(i + 1) * binWidth(), mLargest);
            break;
        }
    }
    return std::max(found, cutoff * mLargest);
}

Bytes TensorStatistics::stored() const
{
    std::vector<double> numbers{mLargest, mRange, mZeros};
    numbers.insert(numbers.end(), mBins.begin(), mBins.end());
    Bytes bytes(numbers.size() * sizeof(double));
    std::memcpy(bytes.data(), numbers.data(), bytes.size());
    return bytes;
}

Result<TensorStatistics> TensorStatistics::restored(ByteView bytes)
{
    constexpr size_t kHead{3};
    std::vector<double> numbers(bytes.size() / sizeof(double));
    std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(double));
    bool const isWhole = bytes.size() % sizeof(double) == 0
        && (numbers.size() == kHead || numbers.size() == kHead + kBins)
        && std::ranges::all_of(numbers, [](double number) { return std::isfinite(number) && number >= 0.0; });
    if (!isWhole)
        return badArgument("{} bytes are no histogram", bytes.size());
    TensorStatistics made;
    made.mLargest = numbers[0];
    made.mRange = numbers[1];
    made.mZeros = numbers[2];
    made.mBins.assign(numbers.begin() + kHead, numbers.end());
    return made;
}

} // namespace tenon::api
