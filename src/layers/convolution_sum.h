// ConvolutionSum: two convolutions of single pixels whose results are added, as one product over the channels of both;
// made by passes.
#pragma once

#include "layers/convolution.h"
#include "layers/layer_table.h"

namespace tenon
{

//! Inputs: the first images; the filter [maps, channels of the first and then of the second, 1, 1]; the bias
//! (optional); the second images. Two spatial axes.
struct ConvolutionSum
{
    static constexpr std::string_view kName{"ConvolutionSum"};
    static constexpr int32_t kSecond{3}; //!< The input of the second images.
    int64_t nbOutputMaps{0};
    nvinfer1::Dims firstStride{};  //!< Empty: all 1.
    nvinfer1::Dims secondStride{}; //!< Empty: all 1.
    Epilogue epilogue;             //!< Of the sum; has no extra inputs.

    static constexpr auto fields()
    {
        return std::tuple{field(1, "NbOutputMaps", &ConvolutionSum::nbOutputMaps),
            field(2, "firstStride", &ConvolutionSum::firstStride),
            field(3, "secondStride", &ConvolutionSum::secondStride), field(4, "epilogue", &ConvolutionSum::epilogue)};
    }

    //! What each of both is by itself, without bias and epilogue.
    Convolution first() const;
    Convolution second() const;
    Result<Done> verify() const;
    Result<TensorType> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(ConvolutionSum);
