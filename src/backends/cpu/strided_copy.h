// StridedCopy: elements moved from one arrangement of memory to another: slices, transposes, joins, repeats, reorders.
#pragma once

#include "base/layout.h"
#include "device/host/host_kernel.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tenon::cpu
{

//! One loop of a copy; strides in elements, 0 to repeat, negative to go backwards.
struct CopyAxis
{
    int64_t extent{1};
    int64_t from{0};
    int64_t to{0};
};

class StridedCopy
{
  public:
    StridedCopy() = default;
    //! `elementBytes` is 1, 2, 4 or 8. Axes may stand in any order; those that belong together are merged.
    StridedCopy(int32_t elementBytes, std::vector<CopyAxis> axes, int64_t fromOffset = 0, int64_t toOffset = 0);

    //! This lane's part of the copy.
    void run(void const* from, void* to, Lane const& lane) const;
    int64_t elements() const noexcept
    {
        return mElements;
    }

  private:
    template <typename T>
    void runAs(T const* from, T* to, Lane const& lane) const;
    template <typename T>
    void copyRow(T const* from, T* to, int64_t count) const;
    template <typename T>
    void copyTile(T const* from, T* to, int64_t across, int64_t inner) const;

    int32_t mElementBytes{1};
    std::vector<CopyAxis> mOuter; //!< Loops around the innermost part, slowest first.
    CopyAxis mInner;              //!< Consecutive in the destination.
    CopyAxis mAcross;             //!< Consecutive in the source; extent 1 when no tile is transposed.
    int64_t mFromOffset{0};
    int64_t mToOffset{0};
    int64_t mElements{0};
};

} // namespace tenon::cpu
