// Layers with calls that no field stands behind: weights that become operands, tensors in place of static operands.
#pragma once

#include "api/network/layer_base.h"

#include "api/layer_accessors.inc"

namespace tenon::api
{

//! Kernel and bias of a convolution or deconvolution: weights, or the tensors at inputs 1 and 2 in their place.
class KernelOperands
{
  public:
    nvinfer1::Weights kernel{nvinfer1::DataType::kFLOAT, nullptr, 0};
    nvinfer1::Weights bias{nvinfer1::DataType::kFLOAT, nullptr, 0};

    //! Operands x, kernel, bias. `maps` and `kernelSize` give the kernel's extents; the remaining one is `inner`:
    //! channels per group in position 1 (convolution) or channels in position 0 (deconvolution).
    Result<std::vector<Operand>> operands(
        LayerBase const& layer, int64_t first, Dims const& kernelSize, bool isDeconvolution) const;
};

//! A layer with a kernel and a bias.
template <typename Accessors>
class KernelLayer : public Accessors
{
  public:
    using Accessors::Accessors;
    KernelOperands weights;

    void setKernelWeights(nvinfer1::Weights value) noexcept override
    {
        weights.kernel = value;
        this->dropInput(1);
        this->edited();
    }
    nvinfer1::Weights getKernelWeights() const noexcept override
    {
        return weights.kernel;
    }
    void setBiasWeights(nvinfer1::Weights value) noexcept override
    {
        weights.bias = value;
        this->dropInput(2);
        this->edited();
    }
    nvinfer1::Weights getBiasWeights() const noexcept override
    {
        return weights.bias;
    }
};

class ConvolutionLayer final : public KernelLayer<ConvolutionAccessors>
{
  public:
    using KernelLayer::KernelLayer;

    Result<std::vector<Operand>> operands() const override
    {
        return weights.operands(*this, mFields.nbOutputMaps, mFields.kernelSize, false);
    }
};

class DeconvolutionLayer final : public KernelLayer<DeconvolutionAccessors>
{
  public:
    using KernelLayer::KernelLayer;

    Result<std::vector<Operand>> operands() const override;
};

class FullyConnectedLayer final : public KernelLayer<FullyConnectedAccessors>
{
  public:
    using KernelLayer::KernelLayer;

    Result<std::vector<Operand>> operands() const override;
};

class ScaleLayer final : public ScaleAccessors
{
  public:
    using ScaleAccessors::ScaleAccessors;
    nvinfer1::Weights shift{nvinfer1::DataType::kFLOAT, nullptr, 0};
    nvinfer1::Weights scale{nvinfer1::DataType::kFLOAT, nullptr, 0};
    nvinfer1::Weights power{nvinfer1::DataType::kFLOAT, nullptr, 0};

    LayerPtr fieldsAsLayer() const override;
    Result<std::vector<Operand>> operands() const override;
    void setShift(nvinfer1::Weights value) noexcept override;
    nvinfer1::Weights getShift() const noexcept override;
    void setScale(nvinfer1::Weights value) noexcept override;
    nvinfer1::Weights getScale() const noexcept override;
    void setPower(nvinfer1::Weights value) noexcept override;
    nvinfer1::Weights getPower() const noexcept override;

  private:
    //! That many factors are those of one sample's elements.
    bool isPerSample(int64_t count) const;
    //! The extents that weights of the mode have, broadcast to the input; an error when `count` does not fit.
    Result<std::vector<int64_t>> extentsFor(int64_t count, std::string_view what) const;
};

//! A tensor whose contents the user gave. No node of the graph: its output is a constant.
class ConstantLayer final : public nvinfer1::IConstantLayer, public missing::ConstantLayer, public LayerBase
{
  public:
    ConstantLayer(Network& network, Dims const& dimensions, nvinfer1::Weights weights);
    nvinfer1::ILayer* layerFront() noexcept override
    {
        return this;
    }
    LayerPtr fieldsAsLayer() const override
    {
        return nullptr;
    }
    Result<std::shared_ptr<Constant const>> constantContents() const override;
    void setWeights(nvinfer1::Weights weights) noexcept override;
    nvinfer1::Weights getWeights() const noexcept override;
    void setDimensions(Dims const& dimensions) noexcept override;
    Dims getDimensions() const noexcept override;

  protected:
    void notImplemented(char const* call) const noexcept override
    {
        LayerBase::notImplemented(call);
    }

  private:
    Dims mDimensions;
    nvinfer1::Weights mWeights;
};

class ShuffleLayer final : public ShuffleAccessors
{
  public:
    using ShuffleAccessors::ShuffleAccessors;

    void setFirstTranspose(nvinfer1::Permutation const& permutation) noexcept override;
    nvinfer1::Permutation const& getFirstTranspose() const noexcept override;
    void setSecondTranspose(nvinfer1::Permutation const& permutation) noexcept override;
    nvinfer1::Permutation const& getSecondTranspose() const noexcept override;

  private:
    nvinfer1::Permutation mFirst{{0, 1, 2, 3, 4, 5, 6, 7}};
    nvinfer1::Permutation mSecond{{0, 1, 2, 3, 4, 5, 6, 7}};
};

class FillLayer final : public FillAccessors
{
  public:
    using FillAccessors::FillAccessors;

    void setAlpha(double alpha) noexcept override;
    void setBeta(double beta) noexcept override;
    void setAlphaInt64(int64_t alpha) noexcept override;
    void setBetaInt64(int64_t beta) noexcept override;

  private:
    void setIsInt64(bool isInt64) noexcept;
};

class ResizeLayer final : public ResizeAccessors
{
  public:
    using ResizeAccessors::ResizeAccessors;

    void setScales(float const* scales, int32_t nbScales) noexcept override;
    int32_t getScales(int32_t size, float* scales) const noexcept override;
};

class MatrixMultiplyLayer final : public MatrixMultiplyAccessors
{
  public:
    using MatrixMultiplyAccessors::MatrixMultiplyAccessors;

    void setOperation(int32_t index, nvinfer1::MatrixOperation op) noexcept override;
    nvinfer1::MatrixOperation getOperation(int32_t index) const noexcept override;
};

class CumulativeLayer final : public CumulativeAccessors
{
  public:
    using CumulativeAccessors::CumulativeAccessors;

    bool setOperation(nvinfer1::CumulativeOperation op) noexcept override;
};

class GridSampleLayer final : public GridSampleAccessors
{
  public:
    using GridSampleAccessors::GridSampleAccessors;

    bool setSampleMode(nvinfer1::SampleMode mode) noexcept override;
};

class EinsumLayer final : public EinsumAccessors
{
  public:
    using EinsumAccessors::EinsumAccessors;

    bool setEquation(char const* equation) noexcept override;
};

class NMSLayer final : public NMSAccessors
{
  public:
    using NMSAccessors::NMSAccessors;

    bool setIndicesType(nvinfer1::DataType type) noexcept override;
};

class RotaryEmbeddingLayer final : public RotaryEmbeddingAccessors
{
  public:
    using RotaryEmbeddingAccessors::RotaryEmbeddingAccessors;

    bool setRotaryEmbeddingDim(int32_t rotaryEmbeddingDim) noexcept override;
    void setInput(int32_t index, nvinfer1::ITensor& input) noexcept override
    {
        LayerBase::setInput(index, input);
    }
};

class KVCacheUpdateLayer final : public KVCacheUpdateAccessors
{
  public:
    using KVCacheUpdateAccessors::KVCacheUpdateAccessors;

    bool setCacheMode(nvinfer1::KVCacheMode cacheMode) noexcept override;
    bool setUpdateForm(nvinfer1::AttentionIOForm form) noexcept override;
    bool setUpdateLengths(nvinfer1::ITensor* lengths) noexcept override;
    nvinfer1::ITensor* getUpdateLengths() const noexcept override;
};

class MoELayer final : public MoEAccessors
{
  public:
    using MoEAccessors::MoEAccessors;

    Result<std::vector<Operand>> operands() const override;
    void setGatedWeights(nvinfer1::ITensor& fcGateWeights, nvinfer1::ITensor& fcUpWeights,
        nvinfer1::ITensor& fcDownWeights, nvinfer1::MoEActType activationType) noexcept override;
    void setGatedBiases(nvinfer1::ITensor& fcGateBiases, nvinfer1::ITensor& fcUpBiases,
        nvinfer1::ITensor& fcDownBiases) noexcept override;
    void setQuantizationStatic(nvinfer1::ITensor& fcDownActivationScale, nvinfer1::DataType dataType) noexcept override;
    void setQuantizationDynamicDblQ(nvinfer1::ITensor& fcDownActivationDblQScale, nvinfer1::DataType dataType,
        Dims const& blockShape, nvinfer1::DataType dynQOutputScaleType) noexcept override;
    void setSwigluParams(float limit, float alpha, float beta) noexcept override;
    void setInput(int32_t index, nvinfer1::ITensor& tensor) noexcept override
    {
        LayerBase::setInput(index, tensor);
    }
};

} // namespace tenon::api

#include "api/layer_classes.inc"
