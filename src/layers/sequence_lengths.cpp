// SequenceLengths: which operands of which layers they are.
#include "layers/sequence_lengths.h"

#include "layers/kv_cache_update.h"
#include "layers/ragged_attention.h"
#include "layers/ragged_soft_max.h"
#include "layers/recurrent_network.h"
#include "layers/reverse_sequence.h"

namespace tenon
{

std::optional<int64_t> SequenceLengths::firstOutside(HostTensor const& values, int64_t rowCount) const
{
    int64_t least{0};
    for (int64_t i = 0; i < values.count(); ++i)
    {
        int64_t const value = values.integer(i);
        if (value < least || value > rowCount)
            return i;
        least = areStarts ? value : 0;
    }
    return std::nullopt;
}

std::vector<SequenceLengths> sequenceLengthsOf(Layer const& layer)
{
    if (auto const* attention = as<RaggedAttention>(layer))
    {
        bool const arePacked = RaggedAttention::isPacked(attention->keyValueForm);
        return {{RaggedAttention::kQueryLengths, RaggedAttention::kQuery, 0, true},
            {RaggedAttention::kKeyValueLengths, RaggedAttention::kKey, arePacked ? 0 : 2, arePacked}};
    }
    if (auto const* update = as<KVCacheUpdate>(layer); update != nullptr && update->isPacked())
        return {{KVCacheUpdate::kLengths, 1, 0, true}};
    if (as<RaggedSoftMax>(layer) != nullptr)
        return {{1, 0, -1, false}};
    if (auto const* reverse = as<ReverseSequence>(layer))
        return {{1, 0, reverse->sequenceAxis, false}};
    if (as<RecurrentNetwork>(layer) != nullptr)
        return {{RecurrentNetwork::kLengths, RecurrentNetwork::kX, 0, false}};
    return {};
}

} // namespace tenon
