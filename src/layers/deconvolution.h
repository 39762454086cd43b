// Deconvolution: the transpose of a convolution; [n, c, spatial…] with kernels [c, maps / groups, spatial…].
#pragma once

#include "NvInfer.h"
#include "ir/layer.h"
#include "layers/epilogue.h"
#include "layers/layer_table.h"
#include "layers/window.h"
#include "layers/with_batch.h"

namespace tenon
{

//! Inputs: x, kernel, bias of rank 1 (optional), then the epilogue's extra inputs from index 3 on. The paddings are
//! cut off the output; a negative post-padding adds to it (ONNX output_padding).
struct Deconvolution
{
    static constexpr std::string_view kName{"Deconvolution"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kDECONVOLUTION, .maxInputs = 3};
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

    static constexpr auto fields()
    {
        return std::tuple{field(1, "NbOutputMaps", &Deconvolution::nbOutputMaps),
            field(2, "KernelSizeNd", &Deconvolution::kernelSize), field(3, "NbGroups", &Deconvolution::nbGroups),
            field(4, "StrideNd", &Deconvolution::stride), field(5, "DilationNd", &Deconvolution::dilation),
            field(6, "PrePadding", &Deconvolution::prePadding), field(7, "PostPadding", &Deconvolution::postPadding),
            field(8, "PaddingMode", &Deconvolution::paddingMode), field(9, "epilogue", &Deconvolution::epilogue)};
    }

    Result<Done> verify() const;
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

TENON_LAYER(Deconvolution);
