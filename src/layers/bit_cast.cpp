// BitCast: rules, and bytes that are read as another type.
#include "layers/bit_cast.h"

#include "layers/check.h"
#include "layers/shape_values.h"

#include <algorithm>

namespace tenon
{

Result<TensorType> BitCast::infer(Inputs const& in) const
{
    constexpr DType kTypes[]{
        DType::kFLOAT, DType::kHALF, DType::kBF16, kFloat64, DType::kINT8, DType::kUINT8, DType::kINT32, DType::kINT64};
    Check check{in, kName};
    check.count(1).that(
        std::ranges::find(kTypes, toType) != std::end(kTypes), "no bits are read as {}", nameOf(toType));
    if (check)
        check
            .input(0, std::ranges::find(kTypes, in.type(0).dtype) != std::end(kTypes), "is {}, whose bits are not read",
                nameOf(in.type(0).dtype))
            .input(0, bitsOf(in.type(0).dtype) == bitsOf(toType), "is {}, of {} bits, and {} has {}",
                nameOf(in.type(0).dtype), bitsOf(in.type(0).dtype), nameOf(toType), bitsOf(toType));
    TENON_TRY(check.done());
    return TensorType{toType, in.type(0).shape};
}

Result<std::vector<HostTensor>> BitCast::reference(HostTensors const& in) const
{
    HostTensor const& x = *in[0];
    std::vector<uint8_t> bytes(static_cast<size_t>(bytesOf(x.dtype, x.count())));
    x.toBytes(bytes.data());
    return oneOutput(HostTensor::fromBytes(toType, x.extents, bytes.data()));
}

} // namespace tenon
