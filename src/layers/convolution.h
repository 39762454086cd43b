// Convolution: correlation of [n, c, spatial…] with kernels [maps, c / groups, spatial…]; 1-D to 3-D spatial.
#pragma once

#include "NvInfer.h"
#include "ir/layer.h"
#include "layers/epilogue.h"
#include "layers/layer_table.h"
#include "layers/window.h"
#include "layers/with_batch.h"

namespace tenon
{

//! Inputs: x, kernel, bias of rank 1 (optional), then the epilogue's extra inputs from index 3 on.
struct Convolution
{
    static constexpr std::string_view kName{"Convolution"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kCONVOLUTION, .maxInputs = 3};
    static constexpr int32_t kFirstExtra{3};
    int64_t nbOutputMaps{0};
    nvinfer1::Dims kernelSize{};
    int64_t nbGroups{1};
    nvinfer1::Dims stride{};   //!< Empty: all 1.
    nvinfer1::Dims dilation{}; //!< Empty: all 1.
    nvinfer1::Dims prePadding{};
    nvinfer1::Dims postPadding{};
    nvinfer1::PaddingMode paddingMode{nvinfer1::PaddingMode::kEXPLICIT_ROUND_DOWN};
    Epilogue epilogue;
    bool isByImage{
        false}; //!< What is best for one image is done with each of them: no bit depends on how many there are.

    static constexpr auto fields()
    {
        return std::tuple{field(1, "NbOutputMaps", &Convolution::nbOutputMaps),
            field(2, "KernelSizeNd", &Convolution::kernelSize), field(3, "NbGroups", &Convolution::nbGroups),
            field(4, "StrideNd", &Convolution::stride), field(5, "DilationNd", &Convolution::dilation),
            field(6, "PrePadding", &Convolution::prePadding), field(7, "PostPadding", &Convolution::postPadding),
            field(8, "PaddingMode", &Convolution::paddingMode), field(9, "epilogue", &Convolution::epilogue),
            field(10, "isByImage", &Convolution::isByImage)};
    }

    Result<Done> verify() const;
    //! Kernel, stride, dilation and padding on the spatial axes, defaults filled in.
    Window window() const;
    WithBatch withBatch(SampleInputs const& samples) const;
    bool frontIsBatch() const noexcept
    {
        return true;
    }
    bool lacksBatch(Inputs const& in) const;
    Result<TensorType> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(Convolution);
