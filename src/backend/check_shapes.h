// checkShapes: a plan may lie, so kernels compare the shapes that they are prepared for with what the layer infers.
#pragma once

#include "device/kernel.h"
#include "ir/layer.h"

namespace tenon
{

//! What is checked: the layer and its operands at one shape.
struct ShapeCheck
{
    Layer const& layer;
    std::span<TensorArg const> inputs;
    std::span<TensorArg const> outputs;
    std::span<WeightArg const> weights; //!< KernelSource::weights; may be empty.
    uint32_t unread{0};                 //!< LayerArgs::unread: operands whose extents are their contents.
};

//! Infers with concrete types and compares element types, ranks and extents with the outputs. Extents that only running
//! tells are compared with their bound. Integer operands whose contents are not known here may make extents unknown:
//! these are not compared, and the kernel checks what it reads of them.
Result<Done> checkShapes(ShapeCheck const& check);

//! Extents and offsets stay far from overflow (isAddressable), and the enums are known.
Result<Done> checkExtents(TensorArg const& tensor);

} // namespace tenon
