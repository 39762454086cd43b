// FusionLimits: what rules that make one step out of several layers must know of the device that runs the step.
#pragma once

#include "base/type_set.h"

#include <cstddef>
#include <cstdint>

namespace tenon
{

//! Default-made: nothing is fused that a device must have a kernel for.
struct FusionLimits
{
    size_t epilogueSteps{0};  //!< That one convolution or matrix product applies to what it writes.
    TypeSet epilogueTypes;    //!< Of what it writes.
    TypeSet attentionTypes;   //!< Of q, k and v.
    TypeSet gateTypes;        //!< Of images whose channels are multiplied by a gate.
    int64_t gateChannels{0};  //!< Of which one kernel makes a gate at most; 0: the device has no such kernels.
    TypeSet imageTypes;       //!< That first convolutions, of images with few channels, give with what is around them.
    int64_t imageChannels{0}; //!< At most of these images,
    int64_t imageWindow{0};   //!< of a window's extents,
    int64_t imageStride{0};   //!< of strides, whose last one is even,
    int64_t imagePool{0};     //!< and of extents and strides of a pooling behind.
    int64_t imagePatch{0};    //!< Or windows side by side, as wide as a multiple of this; 0: the device has no kernels.
    TypeSet embeddingTypes;   //!< Of sums of embeddings that one kernel picks, adds and normalizes.
    int64_t embeddingWidth{0};  //!< It takes rows of so many elements at most,
    size_t embeddingTerms{0};   //!< of so many terms; 0: the device has no such kernel.
    TypeSet normalizedTypes;    //!< Of rows whose norm is part of the product that reads them.
    int64_t normalizedRows{0};  //!< Of which one kernel does both at most; 0: the device has no such kernels.
    int64_t measuredRows{0};    //!< The same where a product before has measured them,
    int64_t measuredColumns{0}; //!< and so many columns of either at most.
    int64_t leastNormalizedRows{1};
    int64_t normalizedDepth{1};    //!< It takes depths that are multiples of this,
    int64_t normalizedColumns{1};  //!< and so many columns.
    TypeSet summedTypes;           //!< Of convolutions of single pixels that one kernel makes two of, and adds them.
    int64_t summedChannels{1};     //!< It takes multiples of so many channels of the first one,
    int64_t summedColumns{1};      //!< and so many of the second one, and of maps,
    int64_t summedStride{0};       //!< strides of so much,
    int64_t summedElements{0};     //!< and images and results of so many elements.
    TypeSet projectionTypes;       //!< Of weights that are joined, so that q, k and v are parts of one product.
    size_t int8Steps{0};           //!< In the epilogue of an int8 product; 0: the device has none of these.
    TypeSet quantizedTypes;        //!< Of the operands of such products: int8, fp8.
    TypeSet quantizedResults;      //!< Of real numbers that they give.
    int64_t quantizedGrain{0};     //!< They take depths of so many alone, and no groups; 0: all that there are.
    TypeSet weightOnlyTypes;       //!< Of constant weights that products with float32 read as they are, with scales.
    size_t pointwiseInputs{0};     //!< Tensors that one pointwise step reads.
    size_t pointwiseOperations{0}; //!< Operations and operands in its expression.
};

} // namespace tenon
