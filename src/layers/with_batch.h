// WithBatch: how a layer works on all samples of a batch at once, for networks whose dims leave the batch out.
//
// A layer struct says so in one of two ways; one that says nothing cannot stand in such a network:
//   static constexpr bool kKeepsFrontAxes{true}                              one more extent in front changes nothing
//   WithBatch withBatch(SampleInputs const&) const  (or a Result of it)      the layer that takes its place
// It may have:
//   bool frontIsBatch() const noexcept         its rules take the first axis for a batch
//   bool lacksBatch(Inputs const& in) const    the inputs have the rank of one sample
#pragma once

#include "ir/layer.h"

namespace tenon
{

//! How the form for a whole batch reads an input.
enum class BatchUse : uint8_t
{
    kBroadcast,  //!< With one more extent in front: the batch, or 1 where all samples share the input.
    kReplicated, //!< The same, but what all samples share is copied for each where other inputs differ.
    kShared,     //!< As it is: all samples share it.
    kDropped,    //!< Not at all: its values are known and stand in a field.
};

//! The layer for tensors with the batch in front; it does for each sample what the layer does for one.
struct WithBatch
{
    LayerPtr layer;
    std::vector<BatchUse> uses;                  //!< By input; those left out are broadcast.
    std::optional<std::vector<int64_t>> extents; //!< Input 1 is a shape tensor: the batch, then these.

    BatchUse use(size_t input) const noexcept
    {
        return input < uses.size() ? uses[input] : BatchUse::kBroadcast;
    }
};

//! The inputs of a layer as one sample has them.
struct SampleInputs
{
    Inputs const& in;
    std::vector<bool> varying; //!< By input: differs from sample to sample.

    bool varies(int32_t i) const
    {
        return i >= 0 && i < static_cast<int32_t>(varying.size()) && varying[static_cast<size_t>(i)];
    }
};

//! The error names the layer.
Result<WithBatch> withBatch(Layer const& layer, SampleInputs const& samples);
bool frontIsBatch(Layer const& layer);
bool lacksBatch(Layer const& layer, Inputs const& in);

//! Dims with one more entry in front.
nvinfer1::Dims64 inFront(int64_t extent, nvinfer1::Dims64 const& dims);
//! Extents of output 0 for one sample, all of them known; the error names the layer.
Result<std::vector<int64_t>> sampleExtents(Layer const& layer, Inputs const& in);

} // namespace tenon
