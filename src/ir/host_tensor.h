// HostTensor: a tensor in the reference's own form: doubles for floating types, 64-bit integers for all others.
#pragma once

#include "base/dtype.h"
#include "ir/type.h"

#include <cstdint>
#include <vector>

namespace tenon
{

struct HostTensor
{
    DType dtype{DType::kFLOAT};
    std::vector<int64_t> extents;
    std::vector<double> reals;     //!< Used when dtype is floating.
    std::vector<int64_t> integers; //!< Used for integers and kBOOL.

    HostTensor() = default;
    //! Zero-filled.
    HostTensor(DType type, std::vector<int64_t> extentsOfTensor);

    bool isReal() const noexcept
    {
        return isFloating(dtype);
    }
    int64_t count() const noexcept
    {
        return volumeOf(extents);
    }
    //! Element as a double, whatever the type.
    double real(int64_t index) const
    {
        return isReal() ? reals[static_cast<size_t>(index)] : static_cast<double>(integers[static_cast<size_t>(index)]);
    }
    int64_t integer(int64_t index) const
    {
        return isReal() ? static_cast<int64_t>(reals[static_cast<size_t>(index)])
                        : integers[static_cast<size_t>(index)];
    }
    //! Rounded into the range and precision of the type.
    void set(int64_t index, double value);
    void setInteger(int64_t index, int64_t value);

    static HostTensor fromBytes(DType type, std::vector<int64_t> extentsOfTensor, void const* data);
    static HostTensor fromConstant(Constant const& constant);
    //! Writes bytesOf(dtype, count()) bytes.
    void toBytes(void* data) const;
    std::shared_ptr<Constant const> toConstant() const;
};

//! Row-major strides in elements.
std::vector<int64_t> stridesOf(std::vector<int64_t> const& extents);
//! The same, but 0 along axes of extent 1, which repeat.
std::vector<int64_t> broadcastStrides(std::vector<int64_t> const& extents);

} // namespace tenon
