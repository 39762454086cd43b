// ChannelGateText: the kernel of gates of channels: means, two products and what follows them, by a cluster per image.
#pragma once

#include "backends/cuda/kernel_text.h"
#include "base/result.h"
#include "layers/channel_gate.h"

namespace tenon::cuda
{

//! Images channels last. Parts of an image are `slices` of channels by ranges of pixels; results are shared out by all.
TENON_DEVICE_STRUCT(ChannelGateParams, unsigned const* stop; void const* x; void const* w1; void const* w2;
                    void const* b1; void const* b2; void* y; int images; int clusters; int pixels; int channels;
                    int hidden; int maps; int slices; int channelsOfSlice; int mapsOfPart; int hasBias1; int hasBias2;
                    int isWide; int isStaged; int hasConstantWeights; int meansAt; int partAt; int biasAt; int hiddenAt;
                    int weightsAt;);

struct ChannelGateForm
{
    static constexpr int kThreads{512};

    int parts;        //!< Blocks of an image: a cluster.
    std::string type; //!< Of all operands: "Half" or "Bfloat".
};

//! Kernel "channelGate".
Result<std::string> channelGateText(ChannelGateForm const& form, ChannelGate const& layer);

} // namespace tenon::cuda
