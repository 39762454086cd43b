// ReverseSequence: rules and plain loops.
#include "layers/reverse_sequence.h"

#include "layers/check.h"
#include "layers/positions.h"
#include "layers/shape_values.h"

#include <algorithm>

namespace tenon
{

WithBatch ReverseSequence::withBatch(SampleInputs const&) const
{
    return {makeLayer(ReverseSequence{batchAxis + 1, sequenceAxis + 1}), {BatchUse::kBroadcast, BatchUse::kShared}, {}};
}

Result<TensorType> ReverseSequence::infer(Inputs const& in) const
{
    Check check{in, kName};
    check.count(2).axis(0, batchAxis).axis(0, sequenceAxis).index(1).rank(1, 1);
    check.that(batchAxis != sequenceAxis, "batch and sequence axis are both {}", batchAxis);
    if (check)
        check.extent(1, 0, in.type(0).shape[static_cast<size_t>(batchAxis)]);
    return check.sameAs(0);
}

Result<std::vector<HostTensor>> ReverseSequence::reference(HostTensors const& in) const
{
    HostTensor out = TENON_TRY(outputOf(*this, in));
    std::vector<int64_t> const strides = stridesOf(out.extents);
    auto const batch = static_cast<size_t>(batchAxis);
    auto const sequence = static_cast<size_t>(sequenceAxis);
    forEachPosition(out.extents, [&](int64_t linear, std::vector<int64_t> at) {
        int64_t const length =
            std::clamp<int64_t>(in[1]->integers[static_cast<size_t>(at[batch])], 0, out.extents[sequence]);
        if (at[sequence] < length)
            at[sequence] = length - 1 - at[sequence];
        copyElement(out, linear, *in[0], linearOf(at, strides));
    });
    return oneOutput(std::move(out));
}

} // namespace tenon
