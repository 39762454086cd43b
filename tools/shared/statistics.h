// Statistics: of measured times, and how many of them a figure takes.
#pragma once

#include <cstddef>
#include <vector>

namespace tenon::cli
{

//! Times in ascending order.
class Sorted
{
  public:
    //! At least one.
    explicit Sorted(std::vector<double> times);
    size_t count() const
    {
        return mTimes.size();
    }
    double least() const
    {
        return mTimes.front();
    }
    double most() const
    {
        return mTimes.back();
    }
    double sum() const;
    double mean() const;
    //! With an even count the mean of the middle two.
    double median() const;
    //! The smallest time that at least this part of all, 0 to 1, does not exceed.
    double quantile(double part) const;
    //! Standard deviation over mean.
    double variation() const;

  private:
    std::vector<double> mTimes;
};

//! Whether so many times say anything about this quantile: some of them must lie behind it.
inline bool isBorne(double part, size_t count)
{
    return static_cast<double>(count) * (1.0 - part) >= 1.0 - 1e-9; // 0.01 has no exact form.
}

} // namespace tenon::cli
