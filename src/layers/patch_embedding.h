// PatchEmbedding: windows of an image, side by side, as rows of numbers behind rows that are none, with a table added:
// the entry of vision transformers as one step; made by passes.
#pragma once

#include "ir/layer.h"
#include "layers/convolution.h"
#include "layers/layer_table.h"

namespace tenon
{

//! Inputs: images [n, c, h, w] in the kernel's type or in float32, kernel [maps, c, patch], table [1, rows, maps].
//! Result [n, rows, maps]: the last rows are the table's plus what the kernel makes of the windows, row by row of an
//! image; the rows before them are the table's.
struct PatchEmbedding
{
    static constexpr std::string_view kName{"PatchEmbedding"};
    static constexpr int32_t kTable{2};
    nvinfer1::Dims patch{}; //!< Height and width of a window.

    static constexpr auto fields()
    {
        return std::tuple{field(1, "patch", &PatchEmbedding::patch)};
    }

    Result<Done> verify() const;
    //! What makes maps of the windows.
    Convolution convolution(int64_t maps) const;
    Result<TensorType> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(PatchEmbedding);
