// TensorStatistics: what calibration keeps of a tensor's values, and the ranges that follow from it.
#pragma once

#include "base/bytes.h"
#include "base/result.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tenon::api
{

//! A histogram of magnitudes whose range doubles when a larger one comes: its memory does not grow. Zeros are counted
//! apart, since every scale has them exactly.
class TensorStatistics
{
  public:
    static constexpr size_t kBins{4096};

    //! Numbers that are not finite count for nothing. The answer is how many of them there are.
    int64_t add(std::span<float const> values);

    //! The largest magnitude.
    double largest() const noexcept
    {
        return mLargest;
    }
    //! The magnitude at which a cut loses the least information: the distribution in 128 steps diverges the least from
    //! the distribution itself, whose tail counts for the last bin (Kullback and Leibler's divergence).
    double leastDivergence() const;
    //! The magnitude that `share` of all values do not exceed, and at least `cutoff` times the largest one.
    double quantile(double share, double cutoff) const;

    //! As bytes, for histogram caches.
    Bytes stored() const;
    static Result<TensorStatistics> restored(ByteView bytes);

  private:
    void widen(double magnitude);
    double binWidth() const noexcept
    {
        return mRange / static_cast<double>(kBins);
    }
    //! Of the distribution cut behind the bin.
    double divergenceAt(size_t bins, double tail) const;

    double mLargest{0.0};
    double mRange{0.0}; //!< Of all bins.
    double mZeros{0.0};
    std::vector<double> mBins;
};

} // namespace tenon::api
