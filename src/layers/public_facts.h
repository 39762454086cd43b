// PublicFacts: what users of networks see of a kind of layer beside its fields, which say themselves what input a field
// gives way to (`orInput`). A layer that no user can add has none.
#pragma once

#include "NvInfer.h"

#include <cstdint>

namespace tenon
{

//! What a layer needs of its inputs when shapes follow from its output, and when nothing but data does.
enum class InputReads : uint8_t
{
    kSame,    //!< Values for shapes from values for shapes, data from data.
    kData,    //!< Elements in any case: the values of its output are known after running only.
    kExtents, //!< Never an element.
};

//! `static constexpr PublicFacts kPublic{…}` of a layer's struct.
struct PublicFacts
{
    nvinfer1::LayerType type;
    int32_t maxInputs{1}; //!< That setInput() may fill (rule C8); more where a layer starts with more.
    int32_t outputs{1};
    uint32_t shapeInputs{0}; //!< Inputs whose values decide shapes: bit i is input i.
    InputReads reads{InputReads::kSame};
};

} // namespace tenon
