//! \file
//! Building a plan: network, layers, builder and its configuration.

#ifndef NV_INFER_H
#define NV_INFER_H

#include "NvInferLegacyDims.h"
#include "NvInferRuntime.h"

#if defined(__GNUC__)
// Deprecated calls refer to one another here; only their use elsewhere is worth a warning.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

namespace nvinfer1
{

namespace impl
{
//! Set by callers that were compiled with TRT_COMPAT_MAJOR=8: without kEXPLICIT_BATCH they mean an implicit batch.
constexpr uint32_t kCOMPAT_8_NETWORK{1U << 31U};

//! The first two extents, for the calls that take or give a DimsHW.
inline DimsHW firstTwo(Dims const& dims) noexcept
{
    return DimsHW(dims.d[0], dims.d[1]);
}
} // namespace impl

//! A set of TensorFormat, one bit each.
using TensorFormats = uint32_t;

//! What a layer does; ILayer::getType() tells to which class the layer may be cast.
enum class LayerType : int32_t
{
    //! IConvolutionLayer.
    kCONVOLUTION = 0,
    //! ICastLayer.
    kCAST = 1,
    //! IActivationLayer.
    kACTIVATION = 2,
    //! IPoolingLayer.
    kPOOLING = 3,
    //! ILRNLayer.
    kLRN = 4,
    //! IScaleLayer.
    kSCALE = 5,
    //! ISoftMaxLayer.
    kSOFTMAX = 6,
    //! IDeconvolutionLayer.
    kDECONVOLUTION = 7,
    //! IConcatenationLayer.
    kCONCATENATION = 8,
    //! IElementWiseLayer.
    kELEMENTWISE = 9,
    //! A plugin of the generation before IPluginV2; no layer has it.
    kPLUGIN = 10,
    //! IUnaryLayer.
    kUNARY = 11,
    //! IPaddingLayer.
    kPADDING = 12,
    //! IShuffleLayer.
    kSHUFFLE = 13,
    //! IReduceLayer.
    kREDUCE = 14,
    //! ITopKLayer.
    kTOPK = 15,
    //! IGatherLayer.
    kGATHER = 16,
    //! IMatrixMultiplyLayer.
    kMATRIX_MULTIPLY = 17,
    //! IRaggedSoftMaxLayer.
    kRAGGED_SOFTMAX = 18,
    //! IConstantLayer.
    kCONSTANT = 19,
    //! IIdentityLayer.
    kIDENTITY = 20,
    //! IPluginV2Layer.
    kPLUGIN_V2 = 21,
    //! ISliceLayer.
    kSLICE = 22,
    //! IShapeLayer.
    kSHAPE = 23,
    //! IParametricReLULayer.
    kPARAMETRIC_RELU = 24,
    //! IResizeLayer.
    kRESIZE = 25,
    //! ITripLimitLayer.
    kTRIP_LIMIT = 26,
    //! IRecurrenceLayer.
    kRECURRENCE = 27,
    //! IIteratorLayer.
    kITERATOR = 28,
    //! ILoopOutputLayer.
    kLOOP_OUTPUT = 29,
    //! ISelectLayer.
    kSELECT = 30,
    //! IFillLayer.
    kFILL = 31,
    //! IQuantizeLayer.
    kQUANTIZE = 32,
    //! IDequantizeLayer.
    kDEQUANTIZE = 33,
    //! IConditionLayer.
    kCONDITION = 34,
    //! IIfConditionalInputLayer.
    kCONDITIONAL_INPUT = 35,
    //! IIfConditionalOutputLayer.
    kCONDITIONAL_OUTPUT = 36,
    //! IScatterLayer.
    kSCATTER = 37,
    //! IEinsumLayer.
    kEINSUM = 38,
    //! IAssertionLayer.
    kASSERTION = 39,
    //! IOneHotLayer.
    kONE_HOT = 40,
    //! INonZeroLayer.
    kNON_ZERO = 41,
    //! IGridSampleLayer.
    kGRID_SAMPLE = 42,
    //! INMSLayer.
    kNMS = 43,
    //! IReverseSequenceLayer.
    kREVERSE_SEQUENCE = 44,
    //! INormalizationLayer.
    kNORMALIZATION = 45,
    //! IPluginV3Layer.
    kPLUGIN_V3 = 46,
    //! ISqueezeLayer.
    kSQUEEZE = 47,
    //! IUnsqueezeLayer.
    kUNSQUEEZE = 48,
    //! ICumulativeLayer.
    kCUMULATIVE = 49,
    //! IDynamicQuantizeLayer.
    kDYNAMIC_QUANTIZE = 50,
    //! IAttentionInputLayer.
    kATTENTION_INPUT = 51,
    //! IAttentionOutputLayer.
    kATTENTION_OUTPUT = 52,
    //! IRotaryEmbeddingLayer.
    kROTARY_EMBEDDING = 53,
    //! IKVCacheUpdateLayer.
    kKVCACHE_UPDATE = 54,
    //! IMoELayer.
    kMOE = 55,
    //! IDistCollectiveLayer.
    kDIST_COLLECTIVE = 56,
    //! IFullyConnectedLayer (8.x); a number of its own, since 10.x gave the old one away.
    kFULLY_CONNECTED TRT_DEPRECATED_ENUM = 1000,
    //! IRNNv2Layer (8.x); likewise.
    kRNN_V2 TRT_DEPRECATED_ENUM = 1001,
};

namespace impl
{
template <>
struct EnumMaxImpl<LayerType>
{
    static constexpr int32_t kVALUE{57};
};
} // namespace impl

//! A tensor of a network: an input, or an output of a layer. It belongs to the network.
class ITensor : public INoCopy
{
  public:
    //! Sets the tensor's name, at most 4095 bytes; it is copied. Inputs and outputs of a network need names that no
    //! other of them has.
    void setName(char const* name) noexcept
    {
        mImpl->setName(name);
    }

    //! \return the name: what was set, else the layer's name with the output's index.
    char const* getName() const noexcept
    {
        return mImpl->getName();
    }

    //! Sets a network input's extents; everything derived from it follows. An error is reported for other tensors.
    //! \param dimensions the extents, -1 where only the run knows.
    void setDimensions(Dims const& dimensions) noexcept
    {
        mImpl->setDimensions(dimensions);
    }

    //! \return the extents, -1 where only the run knows; nbDims -1 if they cannot be derived, for instance while a
    //! layer lacks an input.
    Dims getDimensions() const noexcept
    {
        return mImpl->getDimensions();
    }

    //! Sets the element type of a network input, or in a weakly typed network of a network output.
    TRT_DEPRECATED void setType(DataType type) noexcept
    {
        mImpl->setType(type);
    }

    //! \return the element type.
    DataType getType() const noexcept
    {
        return mImpl->getType();
    }

    //! Sets the range that quantization maps to 8 bits, in a weakly typed network.
    //! \return false unless min is -max.
    TRT_DEPRECATED bool setDynamicRange(float min, float max) noexcept
    {
        return mImpl->setDynamicRange(min, max);
    }

    //! Whether the tensor is an input of the network.
    bool isNetworkInput() const noexcept
    {
        return mImpl->isNetworkInput();
    }

    //! Whether the tensor is an output of the network.
    bool isNetworkOutput() const noexcept
    {
        return mImpl->isNetworkOutput();
    }

    //! Sets whether an input is one copy for the whole batch; only for implicit-batch networks.
    TRT_DEPRECATED void setBroadcastAcrossBatch(bool broadcastAcrossBatch) noexcept
    {
        mImpl->setBroadcastAcrossBatch(broadcastAcrossBatch);
    }

    //! \return whether an input is one copy for the whole batch.
    TRT_DEPRECATED bool getBroadcastAcrossBatch() const noexcept
    {
        return mImpl->getBroadcastAcrossBatch();
    }

    //! \return where the tensor lies.
    TensorLocation getLocation() const noexcept
    {
        return mImpl->getLocation();
    }

    //! Sets where an input or output lies; without effect, since the library finds this out itself.
    TRT_DEPRECATED void setLocation(TensorLocation location) noexcept
    {
        mImpl->setLocation(location);
    }

    //! Whether a range was set.
    TRT_DEPRECATED bool dynamicRangeIsSet() const noexcept
    {
        return mImpl->dynamicRangeIsSet();
    }

    //! Takes the range back.
    void resetDynamicRange() noexcept
    {
        mImpl->resetDynamicRange();
    }

    //! \return the lower end of the range, NaN if none is set.
    float getDynamicRangeMin() const noexcept
    {
        return mImpl->getDynamicRangeMin();
    }

    //! \return the upper end of the range, NaN if none is set.
    float getDynamicRangeMax() const noexcept
    {
        return mImpl->getDynamicRangeMax();
    }

    //! Sets the memory formats that a network input or output may have.
    //! \param formats a set of TensorFormat; all of them are allowed at first. Shape tensors can only be linear.
    void setAllowedFormats(TensorFormats formats) noexcept
    {
        mImpl->setAllowedFormats(formats);
    }

    //! \return the set of allowed formats.
    TensorFormats getAllowedFormats() const noexcept
    {
        return mImpl->getAllowedFormats();
    }

    //! Whether shapes are computed from the tensor's values; reliable once the network is complete.
    bool isShapeTensor() const noexcept
    {
        return mImpl->isShapeTensor();
    }

    //! Whether a run computes the tensor's values; reliable once the network is complete.
    bool isExecutionTensor() const noexcept
    {
        return mImpl->isExecutionTensor();
    }

    //! Names one extent of a network input; extents of the same name must be equal in a run. Null takes the name back.
    void setDimensionName(int32_t index, char const* name) noexcept
    {
        mImpl->setDimensionName(index, name);
    }

    //! \return the name of an extent, or null.
    char const* getDimensionName(int32_t index) const noexcept
    {
        return mImpl->getDimensionName(index);
    }

  protected:
    virtual ~ITensor() noexcept = default;

    apiv::VTensor* mImpl{nullptr};
};

//! A layer of a network, with inputs and outputs. It belongs to the network; the pointer stays valid as long as that.
class ILayer : public INoCopy
{
  public:
    //! \return what the layer does.
    LayerType getType() const noexcept
    {
        return mLayer->getType();
    }

    //! Sets the layer's name, at most 4095 bytes; it is copied. Messages, profilers and the inspector use it.
    void setName(char const* name) noexcept
    {
        mLayer->setName(name);
    }

    //! \return the name, one made from kind and number at first.
    char const* getName() const noexcept
    {
        return mLayer->getName();
    }

    //! How many inputs the layer has.
    int32_t getNbInputs() const noexcept
    {
        return mLayer->getNbInputs();
    }

    //! \return input index; null out of range and where an optional input is absent.
    ITensor* getInput(int32_t index) const noexcept
    {
        return mLayer->getInput(index);
    }

    //! How many outputs the layer has.
    int32_t getNbOutputs() const noexcept
    {
        return mLayer->getNbOutputs();
    }

    //! \return output index; null out of range.
    ITensor* getOutput(int32_t index) const noexcept
    {
        return mLayer->getOutput(index);
    }

    //! Replaces an input. Some layers take further inputs this way, as their class says; what lies between stays
    //! absent.
    //! \param index the input.
    //! \param tensor belongs to the same network.
    void setInput(int32_t index, ITensor& tensor) noexcept
    {
        mLayer->setInput(index, tensor);
    }

    //! Asks, in a weakly typed network, for a computation in that type; the builder flags say how binding that is.
    TRT_DEPRECATED void setPrecision(DataType dataType) noexcept
    {
        mLayer->setPrecision(dataType);
    }

    //! \return the type asked for, kFLOAT if none was.
    DataType getPrecision() const noexcept
    {
        return mLayer->getPrecision();
    }

    //! Whether a type was asked for.
    TRT_DEPRECATED bool precisionIsSet() const noexcept
    {
        return mLayer->precisionIsSet();
    }

    //! Takes the wish back.
    TRT_DEPRECATED void resetPrecision() noexcept
    {
        mLayer->resetPrecision();
    }

    //! Asks, in a weakly typed network, for an output in that type.
    TRT_DEPRECATED void setOutputType(int32_t index, DataType dataType) noexcept
    {
        mLayer->setOutputType(index, dataType);
    }

    //! \return the type of an output, asked for or derived; kFLOAT for an index out of range.
    DataType getOutputType(int32_t index) const noexcept
    {
        return mLayer->getOutputType(index);
    }

    //! Whether a type was asked for.
    TRT_DEPRECATED bool outputTypeIsSet(int32_t index) const noexcept
    {
        return mLayer->outputTypeIsSet(index);
    }

    //! Takes the wish back.
    TRT_DEPRECATED void resetOutputType(int32_t index) noexcept
    {
        mLayer->resetOutputType(index);
    }

    //! Sets a text that the inspector shows with the layer when the engine is built with kDETAILED; it is copied.
    void setMetadata(char const* metadata) noexcept
    {
        mLayer->setMetadata(metadata);
    }

    //! \return that text, "" at first.
    char const* getMetadata() const noexcept
    {
        return mLayer->getMetadata();
    }

    //! Sets over how many devices the layer spreads.
    //! \return false for more than one, except for layers that can.
    bool setNbRanks(int32_t nbRanks) noexcept
    {
        return mLayer->setNbRanks(nbRanks);
    }

    //! \return over how many devices the layer spreads, 1 at first.
    int32_t getNbRanks() const noexcept
    {
        return mLayer->getNbRanks();
    }

  protected:
    virtual ~ILayer() noexcept = default;

    apiv::VLayer* mLayer{nullptr};
};

//! How a convolution, deconvolution or pooling finds its padding and rounds its output's extents. With input extent I,
//! padded window W = (kernel - 1) * dilation + 1, stride S and paddings P (before) and Q (after):
enum class PaddingMode : int32_t
{
    //! Paddings as set; output floor((I + P + Q - W) / S) + 1.
    kEXPLICIT_ROUND_DOWN = 0,
    //! Paddings as set; output ceil((I + P + Q - W) / S) + 1.
    kEXPLICIT_ROUND_UP = 1,
    //! Output ceil(I / S); the padding needed for that is split evenly, an odd one goes behind.
    kSAME_UPPER = 2,
    //! Output ceil(I / S); the padding needed for that is split evenly, an odd one goes in front.
    kSAME_LOWER = 3,
    //! As kEXPLICIT_ROUND_DOWN with equal paddings on both sides (8.x).
    kCAFFE_ROUND_DOWN TRT_DEPRECATED_ENUM = 4,
    //! As kEXPLICIT_ROUND_UP with equal paddings on both sides, where the last window must begin inside (8.x).
    kCAFFE_ROUND_UP TRT_DEPRECATED_ENUM = 5,
};

namespace impl
{
template <>
struct EnumMaxImpl<PaddingMode>
{
    static constexpr int32_t kVALUE{4};
};
} // namespace impl

//! A correlation of the input with learned kernels. Input [N, C, spatial...], output [N, output maps, spatial...] with
//! two or three spatial axes. Input 1 may supply the kernels and input 2 the bias as tensors; the respective weights
//! must then be empty.
class IConvolutionLayer : public ILayer
{
  public:
    //! Sets the number of output channels.
    void setNbOutputMaps(int64_t nbOutputMaps) noexcept
    {
        mImpl->setNbOutputMaps(nbOutputMaps);
    }

    //! Returns the number of output channels.
    int64_t getNbOutputMaps() const noexcept
    {
        return mImpl->getNbOutputMaps();
    }

    //! Sets the number of groups that channels are split into. It divides input and output channels; 1 at first.
    void setNbGroups(int64_t nbGroups) noexcept
    {
        mImpl->setNbGroups(nbGroups);
    }

    //! Returns the number of groups that channels are split into.
    int64_t getNbGroups() const noexcept
    {
        return mImpl->getNbGroups();
    }

    //! Sets the kernels: output maps x (channels / groups) x kernel, row-major. The values are kept by reference until
    //! the build ends.
    void setKernelWeights(Weights weights) noexcept
    {
        mImpl->setKernelWeights(weights);
    }

    //! Returns the kernels: output maps x (channels / groups) x kernel, row-major.
    Weights getKernelWeights() const noexcept
    {
        return mImpl->getKernelWeights();
    }

    //! Sets the bias, one value per output map. A count of 0 means none.
    void setBiasWeights(Weights weights) noexcept
    {
        mImpl->setBiasWeights(weights);
    }

    //! Returns the bias, one value per output map.
    Weights getBiasWeights() const noexcept
    {
        return mImpl->getBiasWeights();
    }

    //! Sets the padding before each spatial axis. All 0 at first.
    void setPrePadding(Dims const& padding) noexcept
    {
        mImpl->setPrePadding(padding);
    }

    //! Returns the padding before each spatial axis.
    Dims getPrePadding() const noexcept
    {
        return mImpl->getPrePadding();
    }

    //! Sets the padding behind each spatial axis. All 0 at first.
    void setPostPadding(Dims const& padding) noexcept
    {
        mImpl->setPostPadding(padding);
    }

    //! Returns the padding behind each spatial axis.
    Dims getPostPadding() const noexcept
    {
        return mImpl->getPostPadding();
    }

    //! Sets how padding and output extents are found. kEXPLICIT_ROUND_DOWN at first; a mode that computes the padding
    //! wins over paddings that were set.
    void setPaddingMode(PaddingMode paddingMode) noexcept
    {
        mImpl->setPaddingMode(paddingMode);
    }

    //! Returns how padding and output extents are found.
    PaddingMode getPaddingMode() const noexcept
    {
        return mImpl->getPaddingMode();
    }

    //! Sets the kernel's extents, one per spatial axis.
    void setKernelSizeNd(Dims const& kernelSize) noexcept
    {
        mImpl->setKernelSizeNd(kernelSize);
    }

    //! Returns the kernel's extents, one per spatial axis.
    Dims getKernelSizeNd() const noexcept
    {
        return mImpl->getKernelSizeNd();
    }

    //! Sets the step of the kernel along each spatial axis. All 1 at first.
    void setStrideNd(Dims const& stride) noexcept
    {
        mImpl->setStrideNd(stride);
    }

    //! Returns the step of the kernel along each spatial axis.
    Dims getStrideNd() const noexcept
    {
        return mImpl->getStrideNd();
    }

    //! Sets the padding of each spatial axis, the same before and behind. The getter answers with nbDims -1 if they
    //! differ.
    void setPaddingNd(Dims const& padding) noexcept
    {
        mImpl->setPaddingNd(padding);
    }

    //! Returns the padding of each spatial axis, the same before and behind.
    Dims getPaddingNd() const noexcept
    {
        return mImpl->getPaddingNd();
    }

    //! Sets the distance of neighbouring kernel elements along each spatial axis. All 1 at first.
    void setDilationNd(Dims const& dilation) noexcept
    {
        mImpl->setDilationNd(dilation);
    }

    //! Returns the distance of neighbouring kernel elements along each spatial axis.
    Dims getDilationNd() const noexcept
    {
        return mImpl->getDilationNd();
    }

    using ILayer::setInput;

    //! Sets the kernel's height and width (8.x; use the Nd call).
    TRT_DEPRECATED void setKernelSize(DimsHW kernelSize) noexcept
    {
        setKernelSizeNd(kernelSize);
    }

    //! Returns the kernel's height and width (8.x; use the Nd call).
    TRT_DEPRECATED DimsHW getKernelSize() const noexcept
    {
        return impl::firstTwo(getKernelSizeNd());
    }

    //! Sets the vertical and horizontal step (8.x; use the Nd call).
    TRT_DEPRECATED void setStride(DimsHW stride) noexcept
    {
        setStrideNd(stride);
    }

    //! Returns the vertical and horizontal step (8.x; use the Nd call).
    TRT_DEPRECATED DimsHW getStride() const noexcept
    {
        return impl::firstTwo(getStrideNd());
    }

    //! Sets the vertical and horizontal padding (8.x; use the Nd call).
    TRT_DEPRECATED void setPadding(DimsHW padding) noexcept
    {
        setPaddingNd(padding);
    }

    //! Returns the vertical and horizontal padding (8.x; use the Nd call).
    TRT_DEPRECATED DimsHW getPadding() const noexcept
    {
        return impl::firstTwo(getPaddingNd());
    }

    //! Sets the vertical and horizontal dilation (8.x; use the Nd call).
    TRT_DEPRECATED void setDilation(DimsHW dilation) noexcept
    {
        setDilationNd(dilation);
    }

    //! Returns the vertical and horizontal dilation (8.x; use the Nd call).
    TRT_DEPRECATED DimsHW getDilation() const noexcept
    {
        return impl::firstTwo(getDilationNd());
    }

  protected:
    virtual ~IConvolutionLayer() noexcept = default;

    apiv::VConvolutionLayer* mImpl{nullptr};
};

//! Multiplies each sample, seen as one vector, by a matrix and adds a bias (8.x). The last three axes of the input are
//! one vector; the output has the extents [..., outputs, 1, 1].
class TRT_DEPRECATED IFullyConnectedLayer : public ILayer
{
  public:
    //! Sets how many values each sample has afterwards.
    void setNbOutputChannels(int32_t nbOutputs) noexcept
    {
        mImpl->setNbOutputChannels(nbOutputs);
    }

    //! How many values each sample has afterwards.
    int32_t getNbOutputChannels() const noexcept
    {
        return mImpl->getNbOutputChannels();
    }

    //! Sets the matrix: outputs x inputs values, row-major; kept by reference.
    void setKernelWeights(Weights weights) noexcept
    {
        mImpl->setKernelWeights(weights);
    }

    //! The matrix.
    Weights getKernelWeights() const noexcept
    {
        return mImpl->getKernelWeights();
    }

    //! Sets the bias, one value per output; count 0 means none.
    void setBiasWeights(Weights weights) noexcept
    {
        mImpl->setBiasWeights(weights);
    }

    //! The bias.
    Weights getBiasWeights() const noexcept
    {
        return mImpl->getBiasWeights();
    }

    using ILayer::setInput;

  protected:
    virtual ~IFullyConnectedLayer() noexcept = default;

    apiv::VFullyConnectedLayer* mImpl{nullptr};
};

//! A function applied to each element.
enum class ActivationType : int32_t
{
    //! max(0, x); the only one for integers.
    kRELU = 0,
    //! 1 / (1 + exp(-x)).
    kSIGMOID = 1,
    //! tanh(x).
    kTANH = 2,
    //! x for x >= 0, else alpha * x.
    kLEAKY_RELU = 3,
    //! x for x >= 0, else alpha * (exp(x) - 1).
    kELU = 4,
    //! beta * x for x > 0, else beta * (alpha * exp(x) - alpha).
    kSELU = 5,
    //! x / (1 + |x|).
    kSOFTSIGN = 6,
    //! alpha * log(exp(beta * x) + 1).
    kSOFTPLUS = 7,
    //! max(alpha, min(beta, x)).
    kCLIP = 8,
    //! max(0, min(1, alpha * x + beta)).
    kHARD_SIGMOID = 9,
    //! alpha * tanh(beta * x).
    kSCALED_TANH = 10,
    //! x for x > alpha, else 0.
    kTHRESHOLDED_RELU = 11,
    //! 0.5 * x * (1 + erf(x / sqrt(2))).
    kGELU_ERF = 12,
    //! 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))).
    kGELU_TANH = 13,
};

namespace impl
{
template <>
struct EnumMaxImpl<ActivationType>
{
    static constexpr int32_t kVALUE{14};
};
} // namespace impl

//! Applies a function to each element; the output has the input's shape.
class IActivationLayer : public ILayer
{
  public:
    //! Sets the function.
    void setActivationType(ActivationType type) noexcept
    {
        mImpl->setActivationType(type);
    }

    //! Returns the function.
    ActivationType getActivationType() const noexcept
    {
        return mImpl->getActivationType();
    }

    //! Sets the first parameter, where the function has one.
    void setAlpha(float alpha) noexcept
    {
        mImpl->setAlpha(alpha);
    }

    //! Sets the second parameter, where the function has one.
    void setBeta(float beta) noexcept
    {
        mImpl->setBeta(beta);
    }

    //! Returns the first parameter, where the function has one.
    float getAlpha() const noexcept
    {
        return mImpl->getAlpha();
    }

    //! Returns the second parameter, where the function has one.
    float getBeta() const noexcept
    {
        return mImpl->getBeta();
    }

  protected:
    virtual ~IActivationLayer() noexcept = default;

    apiv::VActivationLayer* mImpl{nullptr};
};

//! What becomes of the elements under a window.
enum class PoolingType : int32_t
{
    //! The largest one.
    kMAX = 0,
    //! Their mean.
    kAVERAGE = 1,
    //! (1 - blend factor) * largest + blend factor * mean.
    kMAX_AVERAGE_BLEND = 2,
};

namespace impl
{
template <>
struct EnumMaxImpl<PoolingType>
{
    static constexpr int32_t kVALUE{3};
};
} // namespace impl

//! Reduces a window that moves over two or three spatial axes. Input [N, C, spatial...], output [N, C, spatial...].
class IPoolingLayer : public ILayer
{
  public:
    //! Sets how a window is reduced.
    void setPoolingType(PoolingType type) noexcept
    {
        mImpl->setPoolingType(type);
    }

    //! Returns how a window is reduced.
    PoolingType getPoolingType() const noexcept
    {
        return mImpl->getPoolingType();
    }

    //! Sets the share of the mean in kMAX_AVERAGE_BLEND, from 0 to 1. 0 at first.
    void setBlendFactor(float blendFactor) noexcept
    {
        mImpl->setBlendFactor(blendFactor);
    }

    //! Returns the share of the mean in kMAX_AVERAGE_BLEND, from 0 to 1.
    float getBlendFactor() const noexcept
    {
        return mImpl->getBlendFactor();
    }

    //! Sets whether a mean counts the elements of the input only, not the padding. It does at first.
    void setAverageCountExcludesPadding(bool exclusive) noexcept
    {
        mImpl->setAverageCountExcludesPadding(exclusive);
    }

    //! Says whether a mean counts the elements of the input only, not the padding.
    bool getAverageCountExcludesPadding() const noexcept
    {
        return mImpl->getAverageCountExcludesPadding();
    }

    //! Sets the padding before each spatial axis. All 0 at first.
    void setPrePadding(Dims const& padding) noexcept
    {
        mImpl->setPrePadding(padding);
    }

    //! Returns the padding before each spatial axis.
    Dims getPrePadding() const noexcept
    {
        return mImpl->getPrePadding();
    }

    //! Sets the padding behind each spatial axis. All 0 at first.
    void setPostPadding(Dims const& padding) noexcept
    {
        mImpl->setPostPadding(padding);
    }

    //! Returns the padding behind each spatial axis.
    Dims getPostPadding() const noexcept
    {
        return mImpl->getPostPadding();
    }

    //! Sets how padding and output extents are found. kEXPLICIT_ROUND_DOWN at first.
    void setPaddingMode(PaddingMode paddingMode) noexcept
    {
        mImpl->setPaddingMode(paddingMode);
    }

    //! Returns how padding and output extents are found.
    PaddingMode getPaddingMode() const noexcept
    {
        return mImpl->getPaddingMode();
    }

    //! Sets the window's extents, one per spatial axis.
    void setWindowSizeNd(Dims const& windowSize) noexcept
    {
        mImpl->setWindowSizeNd(windowSize);
    }

    //! Returns the window's extents, one per spatial axis.
    Dims getWindowSizeNd() const noexcept
    {
        return mImpl->getWindowSizeNd();
    }

    //! Sets the step of the window along each spatial axis. All 1 at first.
    void setStrideNd(Dims const& stride) noexcept
    {
        mImpl->setStrideNd(stride);
    }

    //! Returns the step of the window along each spatial axis.
    Dims getStrideNd() const noexcept
    {
        return mImpl->getStrideNd();
    }

    //! Sets the padding of each spatial axis, the same before and behind. The getter answers with nbDims -1 if they
    //! differ.
    void setPaddingNd(Dims const& padding) noexcept
    {
        mImpl->setPaddingNd(padding);
    }

    //! Returns the padding of each spatial axis, the same before and behind.
    Dims getPaddingNd() const noexcept
    {
        return mImpl->getPaddingNd();
    }

    //! Sets the window's height and width (8.x; use the Nd call).
    TRT_DEPRECATED void setWindowSize(DimsHW windowSize) noexcept
    {
        setWindowSizeNd(windowSize);
    }

    //! Returns the window's height and width (8.x; use the Nd call).
    TRT_DEPRECATED DimsHW getWindowSize() const noexcept
    {
        return impl::firstTwo(getWindowSizeNd());
    }

    //! Sets the vertical and horizontal step (8.x; use the Nd call).
    TRT_DEPRECATED void setStride(DimsHW stride) noexcept
    {
        setStrideNd(stride);
    }

    //! Returns the vertical and horizontal step (8.x; use the Nd call).
    TRT_DEPRECATED DimsHW getStride() const noexcept
    {
        return impl::firstTwo(getStrideNd());
    }

    //! Sets the vertical and horizontal padding (8.x; use the Nd call).
    TRT_DEPRECATED void setPadding(DimsHW padding) noexcept
    {
        setPaddingNd(padding);
    }

    //! Returns the vertical and horizontal padding (8.x; use the Nd call).
    TRT_DEPRECATED DimsHW getPadding() const noexcept
    {
        return impl::firstTwo(getPaddingNd());
    }

  protected:
    virtual ~IPoolingLayer() noexcept = default;

    apiv::VPoolingLayer* mImpl{nullptr};
};

//! Divides each element by a power of the squares around it, across channels: x / (k + alpha / window * sum of
//! x^2)^beta. The output has the input's shape.
class ILRNLayer : public ILayer
{
  public:
    //! Sets the number of channels that are summed, odd, from 1 to 15.
    void setWindowSize(int64_t windowSize) noexcept
    {
        mImpl->setWindowSize(windowSize);
    }

    //! Returns the number of channels that are summed, odd, from 1 to 15.
    int64_t getWindowSize() const noexcept
    {
        return mImpl->getWindowSize();
    }

    //! Sets the factor of the sum.
    void setAlpha(float alpha) noexcept
    {
        mImpl->setAlpha(alpha);
    }

    //! Returns the factor of the sum.
    float getAlpha() const noexcept
    {
        return mImpl->getAlpha();
    }

    //! Sets the exponent.
    void setBeta(float beta) noexcept
    {
        mImpl->setBeta(beta);
    }

    //! Returns the exponent.
    float getBeta() const noexcept
    {
        return mImpl->getBeta();
    }

    //! Sets the constant added to the sum.
    void setK(float k) noexcept
    {
        mImpl->setK(k);
    }

    //! Returns the constant added to the sum.
    float getK() const noexcept
    {
        return mImpl->getK();
    }

  protected:
    virtual ~ILRNLayer() noexcept = default;

    apiv::VLRNLayer* mImpl{nullptr};
};

//! Which elements share a shift, scale and power.
enum class ScaleMode : int32_t
{
    //! All of them.
    kUNIFORM = 0,
    //! Those of one channel.
    kCHANNEL = 1,
    //! None: each has its own.
    kELEMENTWISE = 2,
};

namespace impl
{
template <>
struct EnumMaxImpl<ScaleMode>
{
    static constexpr int32_t kVALUE{3};
};
} // namespace impl

//! Computes (x * scale + shift)^power. Empty weights stand for scale 1, shift 0, power 1. The output has the input's
//! shape.
class IScaleLayer : public ILayer
{
  public:
    //! Sets which elements share their parameters.
    void setMode(ScaleMode mode) noexcept
    {
        mImpl->setMode(mode);
    }

    //! Returns which elements share their parameters.
    ScaleMode getMode() const noexcept
    {
        return mImpl->getMode();
    }

    //! Sets the values to add.
    void setShift(Weights shift) noexcept
    {
        mImpl->setShift(shift);
    }

    //! Returns the values to add.
    Weights getShift() const noexcept
    {
        return mImpl->getShift();
    }

    //! Sets the factors.
    void setScale(Weights scale) noexcept
    {
        mImpl->setScale(scale);
    }

    //! Returns the factors.
    Weights getScale() const noexcept
    {
        return mImpl->getScale();
    }

    //! Sets the exponents.
    void setPower(Weights power) noexcept
    {
        mImpl->setPower(power);
    }

    //! Returns the exponents.
    Weights getPower() const noexcept
    {
        return mImpl->getPower();
    }

    //! \return the axis of the channels.
    int32_t getChannelAxis() const noexcept
    {
        return mImpl->getChannelAxis();
    }

    //! Sets the axis of the channels; 1 at first.
    void setChannelAxis(int32_t channelAxis) noexcept
    {
        mImpl->setChannelAxis(channelAxis);
    }

  protected:
    virtual ~IScaleLayer() noexcept = default;

    apiv::VScaleLayer* mImpl{nullptr};
};

//! exp(x - max) along one axis, divided by its sum there; the output has the input's shape.
class ISoftMaxLayer : public ILayer
{
  public:
    //! Sets the axis, as a set of axes with one bit. At first the third last axis, or axis 0 of a tensor of rank 3 or
    //! less.
    void setAxes(uint32_t axes) noexcept
    {
        mImpl->setAxes(axes);
    }

    //! Returns the axis, as a set of axes with one bit.
    uint32_t getAxes() const noexcept
    {
        return mImpl->getAxes();
    }

  protected:
    virtual ~ISoftMaxLayer() noexcept = default;

    apiv::VSoftMaxLayer* mImpl{nullptr};
};

//! Joins tensors along one axis; all other extents must be equal.
class IConcatenationLayer : public ILayer
{
  public:
    //! Sets the axis. At first the third last axis, or axis 0 of tensors of rank 3 or less.
    void setAxis(int32_t axis) noexcept
    {
        mImpl->setAxis(axis);
    }

    //! Returns the axis.
    int32_t getAxis() const noexcept
    {
        return mImpl->getAxis();
    }

  protected:
    virtual ~IConcatenationLayer() noexcept = default;

    apiv::VConcatenationLayer* mImpl{nullptr};
};

//! A transposed convolution: the gradient of a convolution with respect to its input. Input [N, C, spatial...], output
//! [N, output maps, spatial...]; per axis (I - 1) * S + W - P - Q with the letters of PaddingMode. Input 1 may supply
//! the kernels and input 2 the bias as tensors; the respective weights must then be empty.
class IDeconvolutionLayer : public ILayer
{
  public:
    //! Sets the number of output channels.
    void setNbOutputMaps(int64_t nbOutputMaps) noexcept
    {
        mImpl->setNbOutputMaps(nbOutputMaps);
    }

    //! Returns the number of output channels.
    int64_t getNbOutputMaps() const noexcept
    {
        return mImpl->getNbOutputMaps();
    }

    //! Sets the number of groups that channels are split into. 1 at first.
    void setNbGroups(int64_t nbGroups) noexcept
    {
        mImpl->setNbGroups(nbGroups);
    }

    //! Returns the number of groups that channels are split into.
    int64_t getNbGroups() const noexcept
    {
        return mImpl->getNbGroups();
    }

    //! Sets the kernels: channels x (output maps / groups) x kernel, row-major. The values are kept by reference until
    //! the build ends.
    void setKernelWeights(Weights weights) noexcept
    {
        mImpl->setKernelWeights(weights);
    }

    //! Returns the kernels: channels x (output maps / groups) x kernel, row-major.
    Weights getKernelWeights() const noexcept
    {
        return mImpl->getKernelWeights();
    }

    //! Sets the bias, one value per output map. A count of 0 means none.
    void setBiasWeights(Weights weights) noexcept
    {
        mImpl->setBiasWeights(weights);
    }

    //! Returns the bias, one value per output map.
    Weights getBiasWeights() const noexcept
    {
        return mImpl->getBiasWeights();
    }

    //! Sets how much is cut off before each spatial axis. All 0 at first.
    void setPrePadding(Dims const& padding) noexcept
    {
        mImpl->setPrePadding(padding);
    }

    //! Returns how much is cut off before each spatial axis.
    Dims getPrePadding() const noexcept
    {
        return mImpl->getPrePadding();
    }

    //! Sets how much is cut off behind each spatial axis. All 0 at first.
    void setPostPadding(Dims const& padding) noexcept
    {
        mImpl->setPostPadding(padding);
    }

    //! Returns how much is cut off behind each spatial axis.
    Dims getPostPadding() const noexcept
    {
        return mImpl->getPostPadding();
    }

    //! Sets how padding and output extents are found. kEXPLICIT_ROUND_DOWN at first.
    void setPaddingMode(PaddingMode paddingMode) noexcept
    {
        mImpl->setPaddingMode(paddingMode);
    }

    //! Returns how padding and output extents are found.
    PaddingMode getPaddingMode() const noexcept
    {
        return mImpl->getPaddingMode();
    }

    //! Sets the kernel's extents, one per spatial axis.
    void setKernelSizeNd(Dims const& kernelSize) noexcept
    {
        mImpl->setKernelSizeNd(kernelSize);
    }

    //! Returns the kernel's extents, one per spatial axis.
    Dims getKernelSizeNd() const noexcept
    {
        return mImpl->getKernelSizeNd();
    }

    //! Sets the distance of neighbouring input elements in the output. All 1 at first.
    void setStrideNd(Dims const& stride) noexcept
    {
        mImpl->setStrideNd(stride);
    }

    //! Returns the distance of neighbouring input elements in the output.
    Dims getStrideNd() const noexcept
    {
        return mImpl->getStrideNd();
    }

    //! Sets how much is cut off each spatial axis, the same before and behind. The getter answers with nbDims -1 if
    //! they differ.
    void setPaddingNd(Dims const& padding) noexcept
    {
        mImpl->setPaddingNd(padding);
    }

    //! Returns how much is cut off each spatial axis, the same before and behind.
    Dims getPaddingNd() const noexcept
    {
        return mImpl->getPaddingNd();
    }

    //! Sets the distance of neighbouring kernel elements along each spatial axis. All 1 at first.
    void setDilationNd(Dims const& dilation) noexcept
    {
        mImpl->setDilationNd(dilation);
    }

    //! Returns the distance of neighbouring kernel elements along each spatial axis.
    Dims getDilationNd() const noexcept
    {
        return mImpl->getDilationNd();
    }

    using ILayer::setInput;

    //! Sets the kernel's height and width (8.x; use the Nd call).
    TRT_DEPRECATED void setKernelSize(DimsHW kernelSize) noexcept
    {
        setKernelSizeNd(kernelSize);
    }

    //! Returns the kernel's height and width (8.x; use the Nd call).
    TRT_DEPRECATED DimsHW getKernelSize() const noexcept
    {
        return impl::firstTwo(getKernelSizeNd());
    }

    //! Sets the vertical and horizontal stride (8.x; use the Nd call).
    TRT_DEPRECATED void setStride(DimsHW stride) noexcept
    {
        setStrideNd(stride);
    }

    //! Returns the vertical and horizontal stride (8.x; use the Nd call).
    TRT_DEPRECATED DimsHW getStride() const noexcept
    {
        return impl::firstTwo(getStrideNd());
    }

    //! Sets the vertical and horizontal padding (8.x; use the Nd call).
    TRT_DEPRECATED void setPadding(DimsHW padding) noexcept
    {
        setPaddingNd(padding);
    }

    //! Returns the vertical and horizontal padding (8.x; use the Nd call).
    TRT_DEPRECATED DimsHW getPadding() const noexcept
    {
        return impl::firstTwo(getPaddingNd());
    }

  protected:
    virtual ~IDeconvolutionLayer() noexcept = default;

    apiv::VDeconvolutionLayer* mImpl{nullptr};
};

//! A function of two elements.
enum class ElementWiseOperation : int32_t
{
    //! x + y.
    kSUM = 0,
    //! x * y.
    kPROD = 1,
    //! The larger one.
    kMAX = 2,
    //! The smaller one.
    kMIN = 3,
    //! x - y.
    kSUB = 4,
    //! x / y.
    kDIV = 5,
    //! x to the power of y.
    kPOW = 6,
    //! x / y, rounded down.
    kFLOOR_DIV = 7,
    //! Both are true.
    kAND = 8,
    //! One or both are true.
    kOR = 9,
    //! Exactly one is true.
    kXOR = 10,
    //! Both are equal; the result is a kBOOL.
    kEQUAL = 11,
    //! x > y; the result is a kBOOL.
    kGREATER = 12,
    //! x < y; the result is a kBOOL.
    kLESS = 13,
};

namespace impl
{
template <>
struct EnumMaxImpl<ElementWiseOperation>
{
    static constexpr int32_t kVALUE{14};
};
} // namespace impl

//! Combines two tensors of equal rank element by element. Along each axis the extents must be equal, or one of them is
//! 1 and that tensor repeats.
class IElementWiseLayer : public ILayer
{
  public:
    //! Sets the function.
    void setOperation(ElementWiseOperation op) noexcept
    {
        mImpl->setOperation(op);
    }

    //! Returns the function.
    ElementWiseOperation getOperation() const noexcept
    {
        return mImpl->getOperation();
    }

  protected:
    virtual ~IElementWiseLayer() noexcept = default;

    apiv::VElementWiseLayer* mImpl{nullptr};
};

//! What an index picks.
enum class GatherMode : int32_t
{
    //! A slice of the data along one axis.
    kDEFAULT = 0,
    //! A single element; indices and output have one shape.
    kELEMENT = 1,
    //! The slice at a tuple of indices along the first axes.
    kND = 2,
};

namespace impl
{
template <>
struct EnumMaxImpl<GatherMode>
{
    static constexpr int32_t kVALUE{3};
};
} // namespace impl

//! Picks parts of the first input by indices in the second one, which is of type kINT32 or kINT64. An index out of
//! range gives zeros; negative indices count from the end.
class IGatherLayer : public ILayer
{
  public:
    //! Sets the axis that indices count along, in kDEFAULT and kELEMENT.
    void setGatherAxis(int32_t axis) noexcept
    {
        mImpl->setGatherAxis(axis);
    }

    //! Returns the axis that indices count along, in kDEFAULT and kELEMENT.
    int32_t getGatherAxis() const noexcept
    {
        return mImpl->getGatherAxis();
    }

    //! Sets the number of leading axes that both inputs share. At most 1 in kDEFAULT, 0 in kELEMENT; 0 at first.
    void setNbElementWiseDims(int32_t elementWiseDims) noexcept
    {
        mImpl->setNbElementWiseDims(elementWiseDims);
    }

    //! Returns the number of leading axes that both inputs share.
    int32_t getNbElementWiseDims() const noexcept
    {
        return mImpl->getNbElementWiseDims();
    }

    //! Sets what an index picks.
    void setMode(GatherMode mode) noexcept
    {
        mImpl->setMode(mode);
    }

    //! Returns what an index picks.
    GatherMode getMode() const noexcept
    {
        return mImpl->getMode();
    }

  protected:
    virtual ~IGatherLayer() noexcept = default;

    apiv::VGatherLayer* mImpl{nullptr};
};

//! What a recurrent cell computes.
enum class RNNOperation : int32_t
{
    kRELU = 0, //!< One gate with ReLU.
    kTANH = 1, //!< One gate with the hyperbolic tangent.
    kLSTM = 2, //!< Four gates and a cell state.
    kGRU = 3,  //!< Three gates.
};

namespace impl
{
template <>
struct EnumMaxImpl<RNNOperation>
{
    static constexpr int32_t kVALUE{4};
};
} // namespace impl

//! In which directions a recurrent layer walks along the sequence.
enum class RNNDirection : int32_t
{
    kUNIDIRECTION = 0, //!< From the first step to the last.
    kBIDIRECTION = 1,  //!< Both ways; the two results are concatenated.
};

namespace impl
{
template <>
struct EnumMaxImpl<RNNDirection>
{
    static constexpr int32_t kVALUE{2};
};
} // namespace impl

//! How the input enters a recurrent layer's first cell.
enum class RNNInputMode : int32_t
{
    kLINEAR = 0, //!< Through the input weights.
    kSKIP = 1,   //!< As it is; its length must equal the hidden size.
};

namespace impl
{
template <>
struct EnumMaxImpl<RNNInputMode>
{
    static constexpr int32_t kVALUE{2};
};
} // namespace impl

//! A gate of a recurrent cell.
enum class RNNGateType : int32_t
{
    kINPUT = 0,  //!< Input gate, also the only one of kRELU and kTANH.
    kOUTPUT = 1, //!< Output gate of an LSTM.
    kFORGET = 2, //!< Forget gate of an LSTM.
    kUPDATE = 3, //!< Update gate of a GRU.
    kRESET = 4,  //!< Reset gate of a GRU.
    kCELL = 5,   //!< Cell gate of an LSTM.
    kHIDDEN = 6, //!< Hidden gate of a GRU.
};

namespace impl
{
template <>
struct EnumMaxImpl<RNNGateType>
{
    static constexpr int32_t kVALUE{7};
};
} // namespace impl

//! A stack of recurrent cells over sequences (8.x). Input [N, steps, length], output [N, steps, hidden size]; both ways
//! give twice that. Output 1 is the last hidden state of each layer, [N, layers, hidden size]; output 2, of an LSTM,
//! the last cell state. N may be several extents, or none. Behind the end of a sequence the output is 0. A GRU's reset
//! gate multiplies what the hidden state gives, its bias included.
class TRT_DEPRECATED IRNNv2Layer : public ILayer
{
  public:
    //! How many cells are stacked, each way.
    int32_t getLayerCount() const noexcept
    {
        return mImpl->getLayerCount();
    }

    //! The length of the hidden state.
    int32_t getHiddenSize() const noexcept
    {
        return mImpl->getHiddenSize();
    }

    //! The longest sequence, in steps.
    int32_t getMaxSeqLength() const noexcept
    {
        return mImpl->getMaxSeqLength();
    }

    //! The length of one step of the input.
    int32_t getDataLength() const noexcept
    {
        return mImpl->getDataLength();
    }

    //! Sets the tensor that holds each sequence's own length, int32 [N].
    void setSequenceLengths(ITensor& seqLengths) noexcept
    {
        mImpl->setSequenceLengths(seqLengths);
    }

    //! The tensor of sequence lengths, or null.
    ITensor* getSequenceLengths() const noexcept
    {
        return mImpl->getSequenceLengths();
    }

    //! Sets what each cell computes.
    void setOperation(RNNOperation op) noexcept
    {
        mImpl->setOperation(op);
    }

    //! What each cell computes.
    RNNOperation getOperation() const noexcept
    {
        return mImpl->getOperation();
    }

    //! Sets how the input enters the first cell.
    void setInputMode(RNNInputMode op) noexcept
    {
        mImpl->setInputMode(op);
    }

    //! How the input enters the first cell.
    RNNInputMode getInputMode() const noexcept
    {
        return mImpl->getInputMode();
    }

    //! Sets the directions in which the sequence is walked.
    void setDirection(RNNDirection op) noexcept
    {
        mImpl->setDirection(op);
    }

    //! The directions in which the sequence is walked.
    RNNDirection getDirection() const noexcept
    {
        return mImpl->getDirection();
    }

    //! Sets one gate's matrix: of the input where isW is true, else of the hidden state. With kBIDIRECTION layer 2n
    //! walks forwards and 2n+1 backwards.
    void setWeightsForGate(int32_t layerIndex, RNNGateType gate, bool isW, Weights weights) noexcept
    {
        mImpl->setWeightsForGate(layerIndex, gate, isW, weights);
    }

    //! One gate's matrix.
    Weights getWeightsForGate(int32_t layerIndex, RNNGateType gate, bool isW) const noexcept
    {
        return mImpl->getWeightsForGate(layerIndex, gate, isW);
    }

    //! Sets one gate's bias: of the input where isW is true, else of the hidden state.
    void setBiasForGate(int32_t layerIndex, RNNGateType gate, bool isW, Weights bias) noexcept
    {
        mImpl->setBiasForGate(layerIndex, gate, isW, bias);
    }

    //! One gate's bias.
    Weights getBiasForGate(int32_t layerIndex, RNNGateType gate, bool isW) const noexcept
    {
        return mImpl->getBiasForGate(layerIndex, gate, isW);
    }

    //! Sets the tensor that the hidden state starts from; zeros without it, else [N, layers, hidden size].
    void setHiddenState(ITensor& hidden) noexcept
    {
        mImpl->setHiddenState(hidden);
    }

    //! The tensor that the hidden state starts from, or null.
    ITensor* getHiddenState() const noexcept
    {
        return mImpl->getHiddenState();
    }

    //! Sets the tensor that an LSTM's cell state starts from; zeros without it.
    void setCellState(ITensor& cell) noexcept
    {
        mImpl->setCellState(cell);
    }

    //! The tensor that the cell state starts from, or null.
    ITensor* getCellState() const noexcept
    {
        return mImpl->getCellState();
    }

  protected:
    virtual ~IRNNv2Layer() noexcept = default;

    apiv::VRNNv2Layer* mImpl{nullptr};
};

//! A layer that a V2 plugin implements.
class TRT_DEPRECATED IPluginV2Layer : public ILayer
{
  public:
    //! \return the plugin, a clone of the one that was added; it belongs to the layer.
    IPluginV2& getPlugin() noexcept
    {
        return mImpl->getPlugin();
    }

  protected:
    virtual ~IPluginV2Layer() noexcept = default;

    apiv::VPluginV2Layer* mImpl{nullptr};
};

//! A layer that a V3 plugin implements.
class IPluginV3Layer : public ILayer
{
  public:
    //! \return the plugin, a clone of the one that was added; it belongs to the layer.
    IPluginV3& getPlugin() noexcept
    {
        return mImpl->getPlugin();
    }

  protected:
    virtual ~IPluginV3Layer() noexcept = default;

    apiv::VPluginV3Layer* mImpl{nullptr};
};

//! A function of one element; x is floating point unless another type is named.
enum class UnaryOperation : int32_t
{
    //! Exponential.
    kEXP = 0,
    //! Natural logarithm.
    kLOG = 1,
    //! Square root.
    kSQRT = 2,
    //! 1 / x.
    kRECIP = 3,
    //! Absolute value; also of kINT8, kINT32 and kINT64.
    kABS = 4,
    //! -x; also of kINT8, kINT32 and kINT64.
    kNEG = 5,
    //! Sine.
    kSIN = 6,
    //! Cosine.
    kCOS = 7,
    //! Tangent.
    kTAN = 8,
    //! Hyperbolic sine.
    kSINH = 9,
    //! Hyperbolic cosine.
    kCOSH = 10,
    //! Inverse sine.
    kASIN = 11,
    //! Inverse cosine.
    kACOS = 12,
    //! Inverse tangent.
    kATAN = 13,
    //! Inverse hyperbolic sine.
    kASINH = 14,
    //! Inverse hyperbolic cosine.
    kACOSH = 15,
    //! Inverse hyperbolic tangent.
    kATANH = 16,
    //! Rounded up.
    kCEIL = 17,
    //! Rounded down.
    kFLOOR = 18,
    //! Gauss error function.
    kERF = 19,
    //! Negation of a kBOOL; only of those.
    kNOT = 20,
    //! -1, 0 or 1; also of kINT8, kINT32 and kINT64.
    kSIGN = 21,
    //! Rounded to the nearest whole number, to the even one in the middle.
    kROUND = 22,
    //! Whether x is infinite; the result is a kBOOL.
    kISINF = 23,
    //! Whether x is not a number; the result is a kBOOL.
    kISNAN = 24,
};

namespace impl
{
template <>
struct EnumMaxImpl<UnaryOperation>
{
    static constexpr int32_t kVALUE{25};
};
} // namespace impl

//! Applies a function to each element; the output has the input's shape.
class IUnaryLayer : public ILayer
{
  public:
    //! Sets the function.
    void setOperation(UnaryOperation op) noexcept
    {
        mImpl->setOperation(op);
    }

    //! Returns the function.
    UnaryOperation getOperation() const noexcept
    {
        return mImpl->getOperation();
    }

  protected:
    virtual ~IUnaryLayer() noexcept = default;

    apiv::VUnaryLayer* mImpl{nullptr};
};

//! How elements become one. Over nothing the result is as given in brackets.
enum class ReduceOperation : int32_t
{
    //! The sum (0).
    kSUM = 0,
    //! The product (1).
    kPROD = 1,
    //! The largest (minus infinity, or the type's smallest number).
    kMAX = 2,
    //! The smallest (infinity, or the type's largest number).
    kMIN = 3,
    //! The mean (not a number; 0 for kINT32).
    kAVG = 4,
    //! No reduction, for collective layers.
    kNONE = 5,
};

namespace impl
{
template <>
struct EnumMaxImpl<ReduceOperation>
{
    static constexpr int32_t kVALUE{6};
};
} // namespace impl

//! Reduces a tensor along some of its axes.
class IReduceLayer : public ILayer
{
  public:
    //! Sets how elements become one.
    void setOperation(ReduceOperation op) noexcept
    {
        mImpl->setOperation(op);
    }

    //! Returns how elements become one.
    ReduceOperation getOperation() const noexcept
    {
        return mImpl->getOperation();
    }

    //! Sets the axes, as a set with bit i for axis i.
    void setReduceAxes(uint32_t reduceAxes) noexcept
    {
        mImpl->setReduceAxes(reduceAxes);
    }

    //! Returns the axes, as a set with bit i for axis i.
    uint32_t getReduceAxes() const noexcept
    {
        return mImpl->getReduceAxes();
    }

    //! Sets whether reduced axes stay, with extent 1.
    void setKeepDimensions(bool keepDimensions) noexcept
    {
        mImpl->setKeepDimensions(keepDimensions);
    }

    //! Says whether reduced axes stay, with extent 1.
    bool getKeepDimensions() const noexcept
    {
        return mImpl->getKeepDimensions();
    }

  protected:
    virtual ~IReduceLayer() noexcept = default;

    apiv::VReduceLayer* mImpl{nullptr};
};

//! Adds zeros around the last two axes; negative numbers cut off.
class IPaddingLayer : public ILayer
{
  public:
    //! Sets the padding before the last two axes.
    void setPrePaddingNd(Dims const& padding) noexcept
    {
        mImpl->setPrePaddingNd(padding);
    }

    //! Returns the padding before the last two axes.
    Dims getPrePaddingNd() const noexcept
    {
        return mImpl->getPrePaddingNd();
    }

    //! Sets the padding behind the last two axes.
    void setPostPaddingNd(Dims const& padding) noexcept
    {
        mImpl->setPostPaddingNd(padding);
    }

    //! Returns the padding behind the last two axes.
    Dims getPostPaddingNd() const noexcept
    {
        return mImpl->getPostPaddingNd();
    }

    //! Sets the padding before the last two axes (8.x; use the Nd call).
    TRT_DEPRECATED void setPrePadding(DimsHW prePadding) noexcept
    {
        setPrePaddingNd(prePadding);
    }

    //! Returns the padding before the last two axes (8.x; use the Nd call).
    TRT_DEPRECATED DimsHW getPrePadding() const noexcept
    {
        return impl::firstTwo(getPrePaddingNd());
    }

    //! Sets the padding behind the last two axes (8.x; use the Nd call).
    TRT_DEPRECATED void setPostPadding(DimsHW postPadding) noexcept
    {
        setPostPaddingNd(postPadding);
    }

    //! Returns the padding behind the last two axes (8.x; use the Nd call).
    TRT_DEPRECATED DimsHW getPostPadding() const noexcept
    {
        return impl::firstTwo(getPostPaddingNd());
    }

  protected:
    virtual ~IPaddingLayer() noexcept = default;

    apiv::VPaddingLayer* mImpl{nullptr};
};

//! An order of axes.
struct Permutation
{
    //! Axis i of the result is axis order[i] of the input.
    int32_t order[Dims::MAX_DIMS];
};

//! Transposes, reshapes and transposes again; each step may be left out. Input 1, an int32 or int64 shape tensor, may
//! supply the shape; then getReshapeDimensions() answers with nbDims -1.
class IShuffleLayer : public ILayer
{
  public:
    //! Sets the order of axes before the reshape. The identity at first.
    void setFirstTranspose(Permutation permutation) noexcept
    {
        mImpl->setFirstTranspose(permutation);
    }

    //! Returns the order of axes before the reshape.
    Permutation getFirstTranspose() const noexcept
    {
        return mImpl->getFirstTranspose();
    }

    //! Sets the shape between both transposes. 0 copies the extent of the same axis (see setZeroIsPlaceholder()), one
    //! -1 takes what is left. Takes input 1 away.
    void setReshapeDimensions(Dims const& dimensions) noexcept
    {
        mImpl->setReshapeDimensions(dimensions);
    }

    //! Returns the shape between both transposes.
    Dims getReshapeDimensions() const noexcept
    {
        return mImpl->getReshapeDimensions();
    }

    //! Sets the order of axes after the reshape. The identity at first.
    void setSecondTranspose(Permutation permutation) noexcept
    {
        mImpl->setSecondTranspose(permutation);
    }

    //! Returns the order of axes after the reshape.
    Permutation getSecondTranspose() const noexcept
    {
        return mImpl->getSecondTranspose();
    }

    //! Sets whether 0 in a shape copies the input's extent instead of meaning an empty axis. It does at first.
    void setZeroIsPlaceholder(bool zeroIsPlaceholder) noexcept
    {
        mImpl->setZeroIsPlaceholder(zeroIsPlaceholder);
    }

    //! Says whether 0 in a shape copies the input's extent instead of meaning an empty axis.
    bool getZeroIsPlaceholder() const noexcept
    {
        return mImpl->getZeroIsPlaceholder();
    }

    using ILayer::setInput;

  protected:
    virtual ~IShuffleLayer() noexcept = default;

    apiv::VShuffleLayer* mImpl{nullptr};
};

//! What stands outside a tensor's border.
enum class SampleMode : int32_t
{
    //! Nothing: such an access is an error.
    kSTRICT_BOUNDS = 0,
    //! The tensor again, from its other end.
    kWRAP = 1,
    //! The element at the border.
    kCLAMP = 2,
    //! A constant.
    kFILL = 3,
    //! The tensor mirrored at its border element.
    kREFLECT = 4,
    //! Older name of kSTRICT_BOUNDS.
    kDEFAULT TRT_DEPRECATED_ENUM = kSTRICT_BOUNDS,
};

namespace impl
{
template <>
struct EnumMaxImpl<SampleMode>
{
    static constexpr int32_t kVALUE{5};
};
} // namespace impl

//! The name that 8.x gave to SampleMode.
using SliceMode TRT_DEPRECATED = SampleMode;

//! Element i of the output is element start + i * stride of the input, for each axis. Inputs 1 to 5, all optional,
//! supply start, size, stride, the fill value (kFILL only) and the axes; a getter then answers with nbDims -1.
class ISliceLayer : public ILayer
{
  public:
    //! Sets the first element of each axis. Takes input 1 away.
    void setStart(Dims const& start) noexcept
    {
        mImpl->setStart(start);
    }

    //! Returns the first element of each axis.
    Dims getStart() const noexcept
    {
        return mImpl->getStart();
    }

    //! Sets the output's extents. Takes input 2 away.
    void setSize(Dims const& size) noexcept
    {
        mImpl->setSize(size);
    }

    //! Returns the output's extents.
    Dims getSize() const noexcept
    {
        return mImpl->getSize();
    }

    //! Sets the step along each axis, also 0 or negative. Takes input 3 away.
    void setStride(Dims const& stride) noexcept
    {
        mImpl->setStride(stride);
    }

    //! Returns the step along each axis, also 0 or negative.
    Dims getStride() const noexcept
    {
        return mImpl->getStride();
    }

    //! Sets what stands outside the input. kSTRICT_BOUNDS at first.
    void setMode(SampleMode mode) noexcept
    {
        mImpl->setMode(mode);
    }

    //! Returns what stands outside the input.
    SampleMode getMode() const noexcept
    {
        return mImpl->getMode();
    }

    //! Sets the axes that start, size and stride speak about. All, in order, at first; other axes are kept whole.
    void setAxes(Dims const& axes) noexcept
    {
        mImpl->setAxes(axes);
    }

    //! Returns the axes that start, size and stride speak about.
    Dims getAxes() const noexcept
    {
        return mImpl->getAxes();
    }

    using ILayer::setInput;

  protected:
    virtual ~ISliceLayer() noexcept = default;

    apiv::VSliceLayer* mImpl{nullptr};
};

//! Gives the input's extents as a 1-D int64 tensor.
class IShapeLayer : public ILayer
{
  protected:
    virtual ~IShapeLayer() noexcept = default;

    apiv::VShapeLayer* mImpl{nullptr};
};

//! Which elements are picked.
enum class TopKOperation : int32_t
{
    //! The largest ones.
    kMAX = 0,
    //! The smallest ones.
    kMIN = 1,
};

namespace impl
{
template <>
struct EnumMaxImpl<TopKOperation>
{
    static constexpr int32_t kVALUE{2};
};
} // namespace impl

//! Picks the k largest or smallest elements along one axis. Output 0 holds them in order, output 1 their indices.
//! Input 1, a 0-D int32 tensor, may supply k.
class ITopKLayer : public ILayer
{
  public:
    //! Sets which elements are picked.
    void setOperation(TopKOperation op) noexcept
    {
        mImpl->setOperation(op);
    }

    //! Returns which elements are picked.
    TopKOperation getOperation() const noexcept
    {
        return mImpl->getOperation();
    }

    //! Sets how many elements are picked. Takes input 1 away; with input 1 the getter answers -1.
    void setK(int32_t k) noexcept
    {
        mImpl->setK(k);
    }

    //! Returns how many elements are picked.
    int32_t getK() const noexcept
    {
        return mImpl->getK();
    }

    //! Sets the axis, as a set of axes with one bit.
    void setReduceAxes(uint32_t reduceAxes) noexcept
    {
        mImpl->setReduceAxes(reduceAxes);
    }

    //! Returns the axis, as a set of axes with one bit.
    uint32_t getReduceAxes() const noexcept
    {
        return mImpl->getReduceAxes();
    }

    //! Sets the type of output 1, kINT32 or kINT64; kINT32 at first.
    //! \return false for another type.
    bool setIndicesType(DataType type) noexcept
    {
        return mImpl->setIndicesType(type);
    }

    //! \return the type of output 1.
    DataType getIndicesType() const noexcept
    {
        return mImpl->getIndicesType();
    }

    using ILayer::setInput;

  protected:
    virtual ~ITopKLayer() noexcept = default;

    apiv::VTopKLayer* mImpl{nullptr};
};

//! How a matrix product reads an operand.
enum class MatrixOperation : int32_t
{
    //! As a matrix in the last two axes.
    kNONE = 0,
    //! As a matrix in the last two axes, transposed.
    kTRANSPOSE = 1,
    //! As a vector in the last axis.
    kVECTOR = 2,
};

namespace impl
{
template <>
struct EnumMaxImpl<MatrixOperation>
{
    static constexpr int32_t kVALUE{3};
};
} // namespace impl

//! Multiplies matrices, or vectors, in the last axes of two tensors. The axes before them must be as many in both and
//! are combined as in IElementWiseLayer.
class IMatrixMultiplyLayer : public ILayer
{
  public:
    //! Sets how operand index, 0 or 1, is read.
    void setOperation(int32_t index, MatrixOperation op) noexcept
    {
        mImpl->setOperation(index, op);
    }

    //! \return how operand index, 0 or 1, is read.
    MatrixOperation getOperation(int32_t index) const noexcept
    {
        return mImpl->getOperation(index);
    }

  protected:
    virtual ~IMatrixMultiplyLayer() noexcept = default;

    apiv::VMatrixMultiplyLayer* mImpl{nullptr};
};

//! Gives the indices of the elements that are not zero, as a tensor [rank, count] in the order of the elements. How
//! many there are only the run knows: the output needs an address with room for all elements, or an IOutputAllocator.
class INonZeroLayer : public ILayer
{
  public:
    //! Sets the type of the output, kINT32 or kINT64; kINT32 at first.
    //! \return false for another type.
    bool setIndicesType(DataType type) noexcept
    {
        return mImpl->setIndicesType(type);
    }

    //! \return the type of the output.
    DataType getIndicesType() const noexcept
    {
        return mImpl->getIndicesType();
    }

  protected:
    virtual ~INonZeroLayer() noexcept = default;

    apiv::VNonZeroLayer* mImpl{nullptr};
};

//! A softmax over sequences of different lengths. Input 0 is [N, sequences, longest], input 1 the int32 lengths [N,
//! sequences, 1]; elements behind a sequence's end become 0.
class IRaggedSoftMaxLayer : public ILayer
{
  protected:
    virtual ~IRaggedSoftMaxLayer() noexcept = default;

    apiv::VRaggedSoftMaxLayer* mImpl{nullptr};
};

//! Passes its input on, in a weakly typed network also in another type.
class IIdentityLayer : public ILayer
{
  protected:
    virtual ~IIdentityLayer() noexcept = default;

    apiv::VIdentityLayer* mImpl{nullptr};
};

//! Converts each element to another type. From floating point to integers it rounds toward zero; to kBOOL everything
//! but 0 becomes true.
class ICastLayer : public ILayer
{
  public:
    //! Sets the type of the output.
    void setToType(DataType toType) noexcept
    {
        mImpl->setToType(toType);
    }

    //! Returns the type of the output.
    DataType getToType() const noexcept
    {
        return mImpl->getToType();
    }

  protected:
    virtual ~ICastLayer() noexcept = default;

    apiv::VCastLayer* mImpl{nullptr};
};

//! Holds constant values; it has no input.
class IConstantLayer : public ILayer
{
  public:
    //! Sets the values, row-major. They are kept by reference until the build ends.
    void setWeights(Weights weights) noexcept
    {
        mImpl->setWeights(weights);
    }

    //! Returns the values, row-major.
    Weights getWeights() const noexcept
    {
        return mImpl->getWeights();
    }

    //! Sets the extents; their product is the count of the values.
    void setDimensions(Dims const& dimensions) noexcept
    {
        mImpl->setDimensions(dimensions);
    }

    //! Returns the extents; their product is the count of the values.
    Dims getDimensions() const noexcept
    {
        return mImpl->getDimensions();
    }

  protected:
    virtual ~IConstantLayer() noexcept = default;

    apiv::VConstantLayer* mImpl{nullptr};
};

//! x for x >= 0, else x times the slope in input 1, whose extents are the input's or 1.
class IParametricReLULayer : public ILayer
{
  protected:
    virtual ~IParametricReLULayer() noexcept = default;

    apiv::VParametricReLULayer* mImpl{nullptr};
};

//! How a value between elements is found.
enum class InterpolationMode : int32_t
{
    //! The nearest element.
    kNEAREST = 0,
    //! A linear mean of the two neighbours along each axis.
    kLINEAR = 1,
    //! A cubic mean of the four neighbours along each axis.
    kCUBIC = 2,
};

namespace impl
{
template <>
struct EnumMaxImpl<InterpolationMode>
{
    static constexpr int32_t kVALUE{3};
};
} // namespace impl

//! The name that 8.x gave to InterpolationMode.
using ResizeMode TRT_DEPRECATED = InterpolationMode;

//! Where element o of the output lies in the input, along one axis with extents I and O.
enum class ResizeCoordinateTransformation : int32_t
{
    //! o * (I - 1) / (O - 1): the first and last elements of both coincide.
    kALIGN_CORNERS = 0,
    //! o * I / O.
    kASYMMETRIC = 1,
    //! (o + 0.5) * I / O - 0.5.
    kHALF_PIXEL = 2,
};

namespace impl
{
template <>
struct EnumMaxImpl<ResizeCoordinateTransformation>
{
    static constexpr int32_t kVALUE{3};
};
} // namespace impl

//! How kNEAREST rounds a position.
enum class ResizeRoundMode : int32_t
{
    //! To the nearest, the middle up.
    kHALF_UP = 0,
    //! To the nearest, the middle down.
    kHALF_DOWN = 1,
    //! Down.
    kFLOOR = 2,
    //! Up.
    kCEIL = 3,
};

namespace impl
{
template <>
struct EnumMaxImpl<ResizeRoundMode>
{
    static constexpr int32_t kVALUE{4};
};
} // namespace impl

//! Where the one element of an output axis with extent 1 lies.
enum class ResizeSelector : int32_t
{
    //! Where the coordinate transformation says.
    kFORMULA = 0,
    //! At the input's first element.
    kUPPER = 1,
};

namespace impl
{
template <>
struct EnumMaxImpl<ResizeSelector>
{
    static constexpr int32_t kVALUE{2};
};
} // namespace impl

//! Changes the extents of a tensor by interpolation, given either the output's extents or factors. Input 1, a shape
//! tensor, may supply the extents.
class IResizeLayer : public ILayer
{
  public:
    //! Sets the output's extents. Takes input 1 and the factors away; the getter answers with nbDims -1 when input 1
    //! supplies them.
    void setOutputDimensions(Dims const& dimensions) noexcept
    {
        mImpl->setOutputDimensions(dimensions);
    }

    //! Returns the output's extents.
    Dims getOutputDimensions() const noexcept
    {
        return mImpl->getOutputDimensions();
    }

    //! Sets the factors, one per axis; each output extent is floor(input extent * factor).
    //! \param scales the factors.
    //! \param nbScales the rank.
    void setScales(float const* scales, int32_t nbScales) noexcept
    {
        mImpl->setScales(scales, nbScales);
    }

    //! \return how many factors are set, -1 if none; up to size of them are copied to scales.
    int32_t getScales(int32_t size, float* scales) const noexcept
    {
        return mImpl->getScales(size, scales);
    }

    //! Sets the interpolation. kNEAREST at first.
    void setResizeMode(InterpolationMode interpolationMode) noexcept
    {
        mImpl->setResizeMode(interpolationMode);
    }

    //! Returns the interpolation.
    InterpolationMode getResizeMode() const noexcept
    {
        return mImpl->getResizeMode();
    }

    //! Sets how positions are mapped. kASYMMETRIC at first.
    void setCoordinateTransformation(ResizeCoordinateTransformation coordTransform) noexcept
    {
        mImpl->setCoordinateTransformation(coordTransform);
    }

    //! Returns how positions are mapped.
    ResizeCoordinateTransformation getCoordinateTransformation() const noexcept
    {
        return mImpl->getCoordinateTransformation();
    }

    //! Sets what an output axis of extent 1 takes. kFORMULA at first.
    void setSelectorForSinglePixel(ResizeSelector selector) noexcept
    {
        mImpl->setSelectorForSinglePixel(selector);
    }

    //! Returns what an output axis of extent 1 takes.
    ResizeSelector getSelectorForSinglePixel() const noexcept
    {
        return mImpl->getSelectorForSinglePixel();
    }

    //! Sets how kNEAREST rounds. kFLOOR at first.
    void setNearestRounding(ResizeRoundMode value) noexcept
    {
        mImpl->setNearestRounding(value);
    }

    //! Returns how kNEAREST rounds.
    ResizeRoundMode getNearestRounding() const noexcept
    {
        return mImpl->getNearestRounding();
    }

    //! Sets the coefficient of kCUBIC. -0.75 at first.
    void setCubicCoeff(float A) noexcept
    {
        mImpl->setCubicCoeff(A);
    }

    //! Returns the coefficient of kCUBIC.
    float getCubicCoeff() const noexcept
    {
        return mImpl->getCubicCoeff();
    }

    //! Sets whether elements outside the input have no weight in kCUBIC, the others being scaled up.
    void setExcludeOutside(bool excludeFlag) noexcept
    {
        mImpl->setExcludeOutside(excludeFlag);
    }

    //! Says whether elements outside the input have no weight in kCUBIC, the others being scaled up.
    bool getExcludeOutside() const noexcept
    {
        return mImpl->getExcludeOutside();
    }

    using ILayer::setInput;

    //! Sets whether positions are mapped by kALIGN_CORNERS (8.x; use setCoordinateTransformation()).
    TRT_DEPRECATED void setAlignCorners(bool alignCorners) noexcept
    {
        setCoordinateTransformation(alignCorners ? ResizeCoordinateTransformation::kALIGN_CORNERS
                                                 : ResizeCoordinateTransformation::kASYMMETRIC);
    }

    //! Says whether positions are mapped by kALIGN_CORNERS (8.x; use setCoordinateTransformation()).
    TRT_DEPRECATED bool getAlignCorners() const noexcept
    {
        return getCoordinateTransformation() == ResizeCoordinateTransformation::kALIGN_CORNERS;
    }

  protected:
    virtual ~IResizeLayer() noexcept = default;

    apiv::VResizeLayer* mImpl{nullptr};
};

//! Base of the layers at a loop's border.
class ILoopBoundaryLayer : public ILayer
{
  public:
    //! \return the loop.
    ILoop* getLoop() const noexcept
    {
        return mBoundary->getLoop();
    }

  protected:
    virtual ~ILoopBoundaryLayer() noexcept = default;

    apiv::VLoopBoundaryLayer* mBoundary{nullptr};
};

//! Base of the layers at a conditional's border.
class IIfConditionalBoundaryLayer : public ILayer
{
  public:
    //! \return the conditional.
    IIfConditional* getConditional() const noexcept
    {
        return mBoundary->getConditional();
    }

  protected:
    virtual ~IIfConditionalBoundaryLayer() noexcept = default;

    apiv::VConditionalBoundaryLayer* mBoundary{nullptr};
};

//! The condition of a conditional: a 0-D kBOOL.
class IConditionLayer : public IIfConditionalBoundaryLayer
{
  protected:
    virtual ~IConditionLayer() noexcept = default;

    apiv::VConditionLayer* mImpl{nullptr};
};

//! An output of a conditional: the first input where the condition is true, else the second one. Both have one type
//! and one rank.
class IIfConditionalOutputLayer : public IIfConditionalBoundaryLayer
{
  protected:
    virtual ~IIfConditionalOutputLayer() noexcept = default;

    apiv::VConditionalOutputLayer* mImpl{nullptr};
};

//! An input of a conditional: what both branches read from outside.
class IIfConditionalInputLayer : public IIfConditionalBoundaryLayer
{
  protected:
    virtual ~IIfConditionalInputLayer() noexcept = default;

    apiv::VConditionalInputLayer* mImpl{nullptr};
};

//! Runs one of two parts of the network. A layer belongs to a branch when it depends on an input of the conditional
//! and an output depends on it. It belongs to the network.
class IIfConditional : public INoCopy
{
  public:
    //! Sets the condition.
    //! \param condition a 0-D kBOOL tensor.
    //! \return the condition's layer.
    IConditionLayer* setCondition(ITensor& condition) noexcept
    {
        return mImpl->setCondition(condition);
    }

    //! Adds an output.
    //! \param trueSubgraphOutput its value where the condition is true.
    //! \param falseSubgraphOutput its value where the condition is false.
    //! \return the output's layer.
    IIfConditionalOutputLayer* addOutput(ITensor& trueSubgraphOutput, ITensor& falseSubgraphOutput) noexcept
    {
        return mImpl->addOutput(trueSubgraphOutput, falseSubgraphOutput);
    }

    //! Adds an input.
    //! \return the input's layer, whose output the branches use.
    IIfConditionalInputLayer* addInput(ITensor& input) noexcept
    {
        return mImpl->addInput(input);
    }

    //! Sets a name for messages; it is copied.
    void setName(char const* name) noexcept
    {
        mImpl->setName(name);
    }

    //! \return the name.
    char const* getName() const noexcept
    {
        return mImpl->getName();
    }

  protected:
    virtual ~IIfConditional() noexcept = default;

    apiv::VIfConditional* mImpl{nullptr};
};

//! A value that changes from one round of a loop to the next. Input 0 is its first value, from outside; input 1, which
//! must be set before building, its next one, from inside.
class IRecurrenceLayer : public ILoopBoundaryLayer
{
  public:
    using ILayer::setInput;

  protected:
    virtual ~IRecurrenceLayer() noexcept = default;

    apiv::VRecurrenceLayer* mImpl{nullptr};
};

//! What a loop gives out.
enum class LoopOutput : int32_t
{
    //! The value after the last round.
    kLAST_VALUE = 0,
    //! The values of all rounds, joined along a new axis.
    kCONCATENATE = 1,
    //! The same, in reverse order.
    kREVERSE = 2,
};

namespace impl
{
template <>
struct EnumMaxImpl<LoopOutput>
{
    static constexpr int32_t kVALUE{3};
};
} // namespace impl

//! An output of a loop. Input 1, a 0-D int32 or int64 shape tensor from outside, is the number of rounds to keep where
//! rounds are joined.
class ILoopOutputLayer : public ILoopBoundaryLayer
{
  public:
    //! \return what the loop gives out.
    LoopOutput getLoopOutput() const noexcept
    {
        return mImpl->getLoopOutput();
    }

    //! Sets the new axis along which rounds are joined.
    void setAxis(int32_t axis) noexcept
    {
        mImpl->setAxis(axis);
    }

    //! Returns the new axis along which rounds are joined.
    int32_t getAxis() const noexcept
    {
        return mImpl->getAxis();
    }

    using ILayer::setInput;

  protected:
    virtual ~ILoopOutputLayer() noexcept = default;

    apiv::VLoopOutputLayer* mImpl{nullptr};
};

//! What ends a loop.
enum class TripLimit : int32_t
{
    //! A number of rounds, known before the first one.
    kCOUNT = 0,
    //! A condition that is read before each round.
    kWHILE = 1,
};

namespace impl
{
template <>
struct EnumMaxImpl<TripLimit>
{
    static constexpr int32_t kVALUE{2};
};
} // namespace impl

//! Ends a loop. A loop has at least one of these and at most one of each kind; the first to fire ends it.
class ITripLimitLayer : public ILoopBoundaryLayer
{
  public:
    //! \return what ends the loop.
    TripLimit getTripLimit() const noexcept
    {
        return mImpl->getTripLimit();
    }

  protected:
    virtual ~ITripLimitLayer() noexcept = default;

    apiv::VTripLimitLayer* mImpl{nullptr};
};

//! Walks along a tensor: in round i it gives slice i.
class IIteratorLayer : public ILoopBoundaryLayer
{
  public:
    //! Sets the axis along which slices are taken.
    void setAxis(int32_t axis) noexcept
    {
        mImpl->setAxis(axis);
    }

    //! Returns the axis along which slices are taken.
    int32_t getAxis() const noexcept
    {
        return mImpl->getAxis();
    }

    //! Sets whether the walk begins at the last slice.
    void setReverse(bool reverse) noexcept
    {
        mImpl->setReverse(reverse);
    }

    //! Says whether the walk begins at the last slice.
    bool getReverse() const noexcept
    {
        return mImpl->getReverse();
    }

  protected:
    virtual ~IIteratorLayer() noexcept = default;

    apiv::VIteratorLayer* mImpl{nullptr};
};

//! Repeats a part of the network. A layer belongs to the loop when it depends on a recurrence or iterator and a
//! recurrence or output depends on it. It belongs to the network.
class ILoop : public INoCopy
{
  public:
    //! Adds a value that changes from round to round.
    //! \param initialValue its first value, from outside.
    //! \return its layer.
    IRecurrenceLayer* addRecurrence(ITensor& initialValue) noexcept
    {
        return mImpl->addRecurrence(initialValue);
    }

    //! Adds what ends the loop.
    //! \param tensor 0-D: an int32 or int64 count from outside, or a kBOOL from inside.
    //! \param limit which of the two.
    //! \return its layer.
    ITripLimitLayer* addTripLimit(ITensor& tensor, TripLimit limit) noexcept
    {
        return mImpl->addTripLimit(tensor, limit);
    }

    //! Adds a walk along a tensor.
    //! \param tensor from outside.
    //! \param axis the axis whose slices are taken.
    //! \param reverse whether to begin at the last slice.
    //! \return its layer.
    IIteratorLayer* addIterator(ITensor& tensor, int32_t axis = 0, bool reverse = false) noexcept
    {
        return mImpl->addIterator(tensor, axis, reverse);
    }

    //! Adds an output.
    //! \param tensor the value: of a recurrence for kLAST_VALUE, else any of the loop.
    //! \param outputKind what is given out.
    //! \param axis the new axis along which rounds are joined.
    //! \return its layer.
    ILoopOutputLayer* addLoopOutput(ITensor& tensor, LoopOutput outputKind, int32_t axis = 0) noexcept
    {
        return mImpl->addLoopOutput(tensor, outputKind, axis);
    }

    //! Sets a name for messages; it is copied.
    void setName(char const* name) noexcept
    {
        mImpl->setName(name);
    }

    //! \return the name.
    char const* getName() const noexcept
    {
        return mImpl->getName();
    }

  protected:
    virtual ~ILoop() noexcept = default;

    apiv::VLoop* mImpl{nullptr};
};

//! Picks from input 1 where input 0, a kBOOL, is true, else from input 2. All ranks are equal; extents are equal or 1,
//! as in IElementWiseLayer.
class ISelectLayer : public ILayer
{
  protected:
    virtual ~ISelectLayer() noexcept = default;

    apiv::VSelectLayer* mImpl{nullptr};
};

//! Demands that all elements of a kBOOL shape tensor are true. If that can be refuted while building, the build fails;
//! otherwise a run or inferShapes() fails.
class IAssertionLayer : public ILayer
{
  public:
    //! Sets the text reported when the demand is not met, at most 4095 bytes.
    void setMessage(char const* message) noexcept
    {
        mImpl->setMessage(message);
    }

    //! Returns the text reported when the demand is not met, at most 4095 bytes.
    char const* getMessage() const noexcept
    {
        return mImpl->getMessage();
    }

  protected:
    virtual ~IAssertionLayer() noexcept = default;

    apiv::VAssertionLayer* mImpl{nullptr};
};

//! How a tensor is filled.
enum class FillOperation : int32_t
{
    //! alpha + sum over axes of beta[axis] * index[axis].
    kLINSPACE = 0,
    //! Evenly distributed random numbers from alpha to beta.
    kRANDOM_UNIFORM = 1,
    //! Normally distributed random numbers with mean alpha and standard deviation beta.
    kRANDOM_NORMAL = 2,
};

namespace impl
{
template <>
struct EnumMaxImpl<FillOperation>
{
    static constexpr int32_t kVALUE{3};
};
} // namespace impl

//! Makes a tensor from a rule. Inputs 0 to 2, all optional, supply the extents, alpha and beta; alpha and beta are
//! either both tensors or both fixed.
class IFillLayer : public ILayer
{
  public:
    //! Sets the extents. Takes input 0 away; the getter answers with nbDims -1 when input 0 supplies them.
    void setDimensions(Dims const& dimensions) noexcept
    {
        mImpl->setDimensions(dimensions);
    }

    //! Returns the extents.
    Dims getDimensions() const noexcept
    {
        return mImpl->getDimensions();
    }

    //! Sets the rule.
    void setOperation(FillOperation op) noexcept
    {
        mImpl->setOperation(op);
    }

    //! Returns the rule.
    FillOperation getOperation() const noexcept
    {
        return mImpl->getOperation();
    }

    //! Sets the start, the lower bound or the mean. Takes input 1 away.
    void setAlpha(double alpha) noexcept
    {
        mImpl->setAlpha(alpha);
    }

    //! Returns the start, the lower bound or the mean.
    double getAlpha() const noexcept
    {
        return mImpl->getAlpha();
    }

    //! Sets the step, the upper bound or the standard deviation. Takes input 2 away.
    void setBeta(double beta) noexcept
    {
        mImpl->setBeta(beta);
    }

    //! Returns the step, the upper bound or the standard deviation.
    double getBeta() const noexcept
    {
        return mImpl->getBeta();
    }

    //! Sets the start, the lower bound or the mean, as an integer. Takes input 1 away.
    void setAlphaInt64(int64_t alpha) noexcept
    {
        mImpl->setAlphaInt64(alpha);
    }

    //! Returns the start, the lower bound or the mean, as an integer.
    int64_t getAlphaInt64() const noexcept
    {
        return mImpl->getAlphaInt64();
    }

    //! Sets the step, the upper bound or the standard deviation, as an integer. Takes input 2 away.
    void setBetaInt64(int64_t beta) noexcept
    {
        mImpl->setBetaInt64(beta);
    }

    //! Returns the step, the upper bound or the standard deviation, as an integer.
    int64_t getBetaInt64() const noexcept
    {
        return mImpl->getBetaInt64();
    }

    //! Whether alpha and beta were set as integers.
    bool isAlphaBetaInt64() const noexcept
    {
        return mImpl->isAlphaBetaInt64();
    }

    //! Sets the type of the output.
    void setToType(DataType toType) noexcept
    {
        mImpl->setToType(toType);
    }

    //! Returns the type of the output.
    DataType getToType() const noexcept
    {
        return mImpl->getToType();
    }

    using ILayer::setInput;

  protected:
    virtual ~IFillLayer() noexcept = default;

    apiv::VFillLayer* mImpl{nullptr};
};

//! Divides by a scale and rounds to a narrow type: clamp(round(x / scale) + zero point), to the even number in the
//! middle. Input 1 is the scale, 0-D, one value per channel or one per block; input 2, optional, the zero point, which
//! must be 0.
class IQuantizeLayer : public ILayer
{
  public:
    //! \return the axis of the channels, -1 for none.
    int32_t getAxis() const noexcept
    {
        return mImpl->getAxis();
    }

    //! Sets the axis of the channels, where the scale has one value for each.
    void setAxis(int32_t axis) noexcept
    {
        mImpl->setAxis(axis);
    }

    //! Sets the extents of the blocks that have a scale each.
    //! \return whether the shape was taken.
    bool setBlockShape(Dims const& blockShape) noexcept
    {
        return mImpl->setBlockShape(blockShape);
    }

    //! \return the extents of the blocks, nbDims -1 without blocks.
    TRT_NODISCARD Dims getBlockShape() const noexcept
    {
        return mImpl->getBlockShape();
    }

    //! Sets the type of the output: kINT8, kFP8, kINT4 or kFP4.
    void setToType(DataType toType) noexcept
    {
        mImpl->setToType(toType);
    }

    //! Returns the type of the output: kINT8, kFP8, kINT4 or kFP4.
    DataType getToType() const noexcept
    {
        return mImpl->getToType();
    }

  protected:
    virtual ~IQuantizeLayer() noexcept = default;

    apiv::VQuantizeLayer* mImpl{nullptr};
};

//! Multiplies a narrow type by a scale: (x - zero point) * scale. Input 1 is the scale, 0-D, one value per channel or
//! one per block; input 2, optional, the zero point, which must be 0.
class IDequantizeLayer : public ILayer
{
  public:
    //! \return the axis of the channels, -1 for none.
    int32_t getAxis() const noexcept
    {
        return mImpl->getAxis();
    }

    //! Sets the axis of the channels, where the scale has one value for each.
    void setAxis(int32_t axis) noexcept
    {
        mImpl->setAxis(axis);
    }

    //! Sets the extents of the blocks that have a scale each.
    //! \return whether the shape was taken.
    bool setBlockShape(Dims const& blockShape) noexcept
    {
        return mImpl->setBlockShape(blockShape);
    }

    //! \return the extents of the blocks, nbDims -1 without blocks.
    TRT_NODISCARD Dims getBlockShape() const noexcept
    {
        return mImpl->getBlockShape();
    }

    //! Sets the type of the output. kFLOAT at first.
    void setToType(DataType toType) noexcept
    {
        mImpl->setToType(toType);
    }

    //! Returns the type of the output.
    DataType getToType() const noexcept
    {
        return mImpl->getToType();
    }

  protected:
    virtual ~IDequantizeLayer() noexcept = default;

    apiv::VDequantizeLayer* mImpl{nullptr};
};

//! Quantizes blocks with scales found in the run. Output 0 holds the values, output 1 the scales; input 1, optional,
//! is a scale for the scales.
class IDynamicQuantizeLayer : public ILayer
{
  public:
    //! Sets the type of the values. kFP4 at first.
    void setToType(DataType toType) noexcept
    {
        mImpl->setToType(toType);
    }

    //! Returns the type of the values.
    DataType getToType() const noexcept
    {
        return mImpl->getToType();
    }

    //! Sets the type of the scales. kFP8 at first.
    void setScaleType(DataType scaleType) noexcept
    {
        mImpl->setScaleType(scaleType);
    }

    //! Returns the type of the scales.
    DataType getScaleType() const noexcept
    {
        return mImpl->getScaleType();
    }

    //! Sets the axis that is cut into blocks. Use setBlockShape().
    TRT_DEPRECATED void setAxis(int32_t axis) noexcept
    {
        mImpl->setAxis(axis);
    }

    //! \return the axis that is cut into blocks. Use getBlockShape().
    TRT_DEPRECATED int32_t getAxis() const noexcept
    {
        return mImpl->getAxis();
    }

    //! Sets a block's length along the axis. Use setBlockShape().
    TRT_DEPRECATED void setBlockSize(int32_t size) noexcept
    {
        mImpl->setBlockSize(size);
    }

    //! \return a block's length along the axis. Use getBlockShape().
    TRT_DEPRECATED int32_t getBlockSize() const noexcept
    {
        return mImpl->getBlockSize();
    }

    //! Sets the extents of the blocks.
    void setBlockShape(Dims const& blockShape) noexcept
    {
        mImpl->setBlockShape(blockShape);
    }

    //! Returns the extents of the blocks.
    Dims getBlockShape() const noexcept
    {
        return mImpl->getBlockShape();
    }

    using ILayer::setInput;

  protected:
    virtual ~IDynamicQuantizeLayer() noexcept = default;

    apiv::VDynamicQuantizeLayer* mImpl{nullptr};
};

//! Sums products of elements, as Einstein's notation says.
class IEinsumLayer : public ILayer
{
  public:
    //! Sets the equation: for each input its axes as lower-case letters, separated by commas, then perhaps -> and the
    //! output's letters. Without them the output has the letters that occur once, in order.
    //! \return false when the equation cannot be read.
    bool setEquation(char const* equation) noexcept
    {
        return mImpl->setEquation(equation);
    }

    //! \return the equation.
    char const* getEquation() const noexcept
    {
        return mImpl->getEquation();
    }

  protected:
    virtual ~IEinsumLayer() noexcept = default;

    apiv::VEinsumLayer* mImpl{nullptr};
};

//! What an index says.
enum class ScatterMode : int32_t
{
    //! The place of one element along an axis.
    kELEMENT = 0,
    //! The place of a slice as a tuple of indices.
    kND = 1,
};

namespace impl
{
template <>
struct EnumMaxImpl<ScatterMode>
{
    static constexpr int32_t kVALUE{2};
};
} // namespace impl

//! A copy of input 0 in which the places named by input 1, of type kINT32 or kINT64, take the values of input 2. Which
//! value wins where a place is named twice is not said.
class IScatterLayer : public ILayer
{
  public:
    //! Sets what an index says.
    void setMode(ScatterMode mode) noexcept
    {
        mImpl->setMode(mode);
    }

    //! Returns what an index says.
    ScatterMode getMode() const noexcept
    {
        return mImpl->getMode();
    }

    //! Sets the axis along which kELEMENT places elements.
    void setAxis(int32_t axis) noexcept
    {
        mImpl->setAxis(axis);
    }

    //! Returns the axis along which kELEMENT places elements.
    int32_t getAxis() const noexcept
    {
        return mImpl->getAxis();
    }

  protected:
    virtual ~IScatterLayer() noexcept = default;

    apiv::VScatterLayer* mImpl{nullptr};
};

//! Turns indices (input 0) into vectors that hold values[1] at the index and values[0] elsewhere (input 1), of a
//! constant length (input 2, 0-D).
class IOneHotLayer : public ILayer
{
  public:
    virtual ~IOneHotLayer() noexcept = default;

    //! Sets the new axis, from -rank - 1 to rank. -1 at first.
    void setAxis(int32_t axis) noexcept
    {
        mImpl->setAxis(axis);
    }

    //! Returns the new axis, from -rank - 1 to rank.
    int32_t getAxis() const noexcept
    {
        return mImpl->getAxis();
    }

  protected:
    apiv::VOneHotLayer* mImpl{nullptr};
};

//! Reads input 0, [N, C, H, W], at positions from input 1, [N, H out, W out, 2], which run from -1 to 1 across the
//! input.
class IGridSampleLayer : public ILayer
{
  public:
    //! Sets the interpolation. kLINEAR at first.
    void setInterpolationMode(InterpolationMode mode) noexcept
    {
        mImpl->setInterpolationMode(mode);
    }

    //! Returns the interpolation.
    InterpolationMode getInterpolationMode() const noexcept
    {
        return mImpl->getInterpolationMode();
    }

    //! Sets whether -1 and 1 mean middles of elements, not outer edges (as at first).
    void setAlignCorners(bool alignCorners) noexcept
    {
        mImpl->setAlignCorners(alignCorners);
    }

    //! Says whether -1 and 1 mean middles of elements, not outer edges.
    bool getAlignCorners() const noexcept
    {
        return mImpl->getAlignCorners();
    }

    //! Sets what stands outside the input; kFILL with 0 at first.
    //! \return false for a mode that the layer lacks.
    bool setSampleMode(SampleMode mode) noexcept
    {
        return mImpl->setSampleMode(mode);
    }

    //! \return what stands outside the input.
    SampleMode getSampleMode() const noexcept
    {
        return mImpl->getSampleMode();
    }

  protected:
    virtual ~IGridSampleLayer() noexcept = default;

    apiv::VGridSampleLayer* mImpl{nullptr};
};

//! How four numbers describe a box.
enum class BoundingBoxFormat : int32_t
{
    //! x1, y1, x2, y2: two opposite corners.
    kCORNER_PAIRS = 0,
    //! centre x, centre y, width, height.
    kCENTER_SIZES = 1,
};

namespace impl
{
template <>
struct EnumMaxImpl<BoundingBoxFormat>
{
    static constexpr int32_t kVALUE{2};
};
} // namespace impl

//! Picks boxes that do not overlap much, best score first, per batch entry and class. Inputs: boxes [N, boxes, 4] or
//! [N, boxes, classes, 4], scores [N, boxes, classes], the number of boxes per class (0-D int32), and optionally the
//! highest overlap (0.0) and the lowest score (0.0), 0-D. Output 0 holds [picked, 3]: batch entry, class, box; output
//! 1 how many there are, which only the run knows.
class INMSLayer : public ILayer
{
  public:
    //! Sets how a box is described. kCORNER_PAIRS at first.
    void setBoundingBoxFormat(BoundingBoxFormat fmt) noexcept
    {
        mImpl->setBoundingBoxFormat(fmt);
    }

    //! Returns how a box is described.
    BoundingBoxFormat getBoundingBoxFormat() const noexcept
    {
        return mImpl->getBoundingBoxFormat();
    }

    //! Sets how many best boxes per class are looked at. 5000 at first.
    void setTopKBoxLimit(int32_t limit) noexcept
    {
        mImpl->setTopKBoxLimit(limit);
    }

    //! Returns how many best boxes per class are looked at.
    int32_t getTopKBoxLimit() const noexcept
    {
        return mImpl->getTopKBoxLimit();
    }

    //! Sets the type of output 0, kINT32 or kINT64; kINT32 at first.
    //! \return false for another type.
    bool setIndicesType(DataType type) noexcept
    {
        return mImpl->setIndicesType(type);
    }

    //! \return the type of output 0.
    DataType getIndicesType() const noexcept
    {
        return mImpl->getIndicesType();
    }

    using ILayer::setInput;

  protected:
    virtual ~INMSLayer() noexcept = default;

    apiv::VNMSLayer* mImpl{nullptr};
};

//! Reverses the first elements of each sequence, as many as input 1, int32 [N], says.
class IReverseSequenceLayer : public ILayer
{
  public:
    //! Sets the axis of the batch. 1 at first.
    void setBatchAxis(int32_t batchAxis) noexcept
    {
        mImpl->setBatchAxis(batchAxis);
    }

    //! Returns the axis of the batch.
    int32_t getBatchAxis() const noexcept
    {
        return mImpl->getBatchAxis();
    }

    //! Sets the axis of the steps. 0 at first.
    void setSequenceAxis(int32_t sequenceAxis) noexcept
    {
        mImpl->setSequenceAxis(sequenceAxis);
    }

    //! Returns the axis of the steps.
    int32_t getSequenceAxis() const noexcept
    {
        return mImpl->getSequenceAxis();
    }

  protected:
    virtual ~IReverseSequenceLayer() noexcept = default;

    apiv::VReverseSequenceLayer* mImpl{nullptr};
};

//! (x - mean) / sqrt(variance + epsilon) * scale + bias, with mean and variance over some axes, or per group of
//! channels. Input 1 is the scale, input 2 the bias.
class INormalizationLayer : public ILayer
{
  public:
    //! Sets what is added to the variance. 1e-5 at first.
    void setEpsilon(float eps) noexcept
    {
        mImpl->setEpsilon(eps);
    }

    //! Returns what is added to the variance.
    float getEpsilon() const noexcept
    {
        return mImpl->getEpsilon();
    }

    //! Sets the axes of mean and variance, as a set with bit i for axis i.
    void setAxes(uint32_t axesMask) noexcept
    {
        mImpl->setAxes(axesMask);
    }

    //! Returns the axes of mean and variance, as a set with bit i for axis i.
    uint32_t getAxes() const noexcept
    {
        return mImpl->getAxes();
    }

    //! Sets the number of groups that channels are split into. 1 at first; otherwise the axes must be all behind the
    //! channels.
    void setNbGroups(int64_t nbGroups) noexcept
    {
        mImpl->setNbGroups(nbGroups);
    }

    //! Returns the number of groups that channels are split into.
    int64_t getNbGroups() const noexcept
    {
        return mImpl->getNbGroups();
    }

    //! Sets, in a weakly typed network, the type of the computation, kFLOAT or kHALF.
    TRT_DEPRECATED void setComputePrecision(DataType type) noexcept
    {
        mImpl->setComputePrecision(type);
    }

    //! \return the type of the computation, kFLOAT at first.
    TRT_DEPRECATED DataType getComputePrecision() const noexcept
    {
        return mImpl->getComputePrecision();
    }

    //! Whether scale and bias of a group normalization have one value per channel, as addNormalizationV2() makes it,
    //! and not one per group.
    TRT_NODISCARD bool isV2() const noexcept
    {
        return mImpl->isV2();
    }

  protected:
    virtual ~INormalizationLayer() noexcept = default;

    apiv::VNormalizationLayer* mImpl{nullptr};
};

//! Takes axes of extent 1 away; input 1 names them, a constant 1-D tensor of int32 or int64.
class ISqueezeLayer : public ILayer
{
  public:
    using ILayer::setInput;

  protected:
    virtual ~ISqueezeLayer() noexcept = default;

    apiv::VSqueezeLayer* mImpl{nullptr};
};

//! Adds axes of extent 1; input 1 says which the output has, a constant 1-D tensor of int32 or int64.
class IUnsqueezeLayer : public ILayer
{
  public:
    using ILayer::setInput;

  protected:
    virtual ~IUnsqueezeLayer() noexcept = default;

    apiv::VUnsqueezeLayer* mImpl{nullptr};
};

//! What accumulates along an axis.
enum class CumulativeOperation : int32_t
{
    //! The sum.
    kSUM = 0,
};

namespace impl
{
template <>
struct EnumMaxImpl<CumulativeOperation>
{
    static constexpr int32_t kVALUE{1};
};
} // namespace impl

//! Accumulates along one axis, which input 1 names, a constant 0-D tensor.
class ICumulativeLayer : public ILayer
{
  public:
    //! Sets what accumulates.
    //! \return whether the operation exists.
    bool setOperation(CumulativeOperation op) noexcept
    {
        return mImpl->setOperation(op);
    }

    //! \return what accumulates.
    CumulativeOperation getOperation() const noexcept
    {
        return mImpl->getOperation();
    }

    //! Sets whether an element's own value is left out of its result.
    void setExclusive(bool exclusive) noexcept
    {
        mImpl->setExclusive(exclusive);
    }

    //! Says whether an element's own value is left out of its result.
    bool getExclusive() const noexcept
    {
        return mImpl->getExclusive();
    }

    //! Sets whether the accumulation begins at the end.
    void setReverse(bool reverse) noexcept
    {
        mImpl->setReverse(reverse);
    }

    //! Says whether the accumulation begins at the end.
    bool getReverse() const noexcept
    {
        return mImpl->getReverse();
    }

  protected:
    virtual ~ICumulativeLayer() noexcept = default;

    apiv::VCumulativeLayer* mImpl{nullptr};
};

//! Base of the layers at an attention's border.
class IAttentionBoundaryLayer : public ILayer
{
  public:
    //! \return the attention.
    IAttention* getAttention() const noexcept
    {
        return mBoundary->getAttention();
    }

  protected:
    virtual ~IAttentionBoundaryLayer() noexcept = default;

    apiv::VAttentionBoundaryLayer* mBoundary{nullptr};
};

//! The layer through which tensors enter an attention.
class IAttentionInputLayer : public IAttentionBoundaryLayer
{
  public:
    using ILayer::setInput;

  protected:
    virtual ~IAttentionInputLayer() noexcept = default;

    apiv::VAttentionInputLayer* mImpl{nullptr};
};

//! The layer through which the result leaves an attention.
class IAttentionOutputLayer : public IAttentionBoundaryLayer
{
  protected:
    virtual ~IAttentionOutputLayer() noexcept = default;

    apiv::VAttentionOutputLayer* mImpl{nullptr};
};

//! What becomes of the products of queries and keys.
enum class AttentionNormalizationOp : int32_t
{
    //! Nothing.
    kNONE = 0,
    //! A softmax over the keys.
    kSOFTMAX = 1,
};

namespace impl
{
template <>
struct EnumMaxImpl<AttentionNormalizationOp>
{
    static constexpr int32_t kVALUE{2};
};
} // namespace impl

//! Which keys a causal mask lets a query see (11.1).
enum class CausalMaskKind : int32_t
{
    //! All.
    kNONE = 0,
    //! Query i sees keys up to i.
    kUPPER_LEFT = 1,
    //! The last query sees all keys, the one before it all but one: query i sees keys up to i + keys - queries.
    kLOWER_RIGHT = 2,
};

namespace impl
{
template <>
struct EnumMaxImpl<CausalMaskKind>
{
    static constexpr int32_t kVALUE{3};
};
} // namespace impl

//! How sequences of unlike lengths lie in a tensor (11.1).
enum class AttentionIOForm : int32_t
{
    //! Each sequence has the longest one's room: [batch, heads, length, head size].
    kPADDED_BHND = 0,
    //! One behind the other, without gaps: [all tokens, heads, head size].
    kPACKED_NHD = 1,
};

namespace impl
{
template <>
struct EnumMaxImpl<AttentionIOForm>
{
    static constexpr int32_t kVALUE{2};
};
} // namespace impl

//! Computes normalize(query * transposed key, masked) * value; all are [N, heads, length, head size]. Queries may have
//! a multiple of the heads of keys and values. Any scaling is the caller's. It belongs to the network.
class IAttention : public INoCopy
{
  public:
    //! Sets what becomes of the products.
    //! \return whether it was taken.
    bool setNormalizationOperation(AttentionNormalizationOp op) noexcept
    {
        return mImpl->setNormalizationOperation(op);
    }

    //! \return what becomes of the products.
    AttentionNormalizationOp getNormalizationOperation() const noexcept
    {
        return mImpl->getNormalizationOperation();
    }

    //! Sets a mask, extents as the products' or 1: a kBOOL that is true where a query may look, or numbers that are
    //! added. It excludes setCausal(true).
    //! \return whether it was taken.
    bool setMask(ITensor& mask) noexcept
    {
        return mImpl->setMask(mask);
    }

    //! \return the mask, or null.
    ITensor* getMask() noexcept
    {
        return mImpl->getMask();
    }

    //! Sets whether query i sees only keys up to i: setCausalKind(kUPPER_LEFT), or kNONE.
    //! \return whether it was taken.
    bool setCausal(bool isCausal) noexcept
    {
        return mImpl->setCausal(isCausal);
    }

    //! \return whether query i sees only keys up to i.
    bool getCausal() const noexcept
    {
        return mImpl->getCausal();
    }

    //! Sets whether the attention may be built from single layers when there is no kernel for it as a whole; at first
    //! it may not, and the build fails.
    //! \return whether it was taken.
    bool setDecomposable(bool decomposable) noexcept
    {
        return mImpl->setDecomposable(decomposable);
    }

    //! \return whether it may be built from single layers.
    bool getDecomposable() const noexcept
    {
        return mImpl->getDecomposable();
    }

    //! Replaces an input: 0 query, 1 key, 2 value.
    //! \return whether the index exists.
    bool setInput(int32_t index, ITensor& input) noexcept
    {
        return mImpl->setInput(index, input);
    }

    //! How many inputs there are.
    int32_t getNbInputs() const noexcept
    {
        return mImpl->getNbInputs();
    }

    //! \return input index, null out of range.
    ITensor* getInput(int32_t index) const noexcept
    {
        return mImpl->getInput(index);
    }

    //! How many outputs there are: 1.
    int32_t getNbOutputs() const noexcept
    {
        return mImpl->getNbOutputs();
    }

    //! \return output index, null out of range.
    ITensor* getOutput(int32_t index) const noexcept
    {
        return mImpl->getOutput(index);
    }

    //! Sets a name for messages, at most 4095 bytes; it is copied.
    //! \return whether it was taken.
    bool setName(char const* name) noexcept
    {
        return mImpl->setName(name);
    }

    //! \return the name.
    char const* getName() const noexcept
    {
        return mImpl->getName();
    }

    //! Sets the scale by which the normalized products are quantized and dequantized again, one floating number. It
    //! needs setNormalizationQuantizeToType().
    //! \return whether it was taken.
    bool setNormalizationQuantizeScale(ITensor& tensor) noexcept
    {
        return mImpl->setNormalizationQuantizeScale(tensor);
    }

    //! \return that scale, or null.
    ITensor* getNormalizationQuantizeScale() const noexcept
    {
        return mImpl->getNormalizationQuantizeScale();
    }

    //! Sets the type to which the normalized products are quantized, kFP8 or kINT8. It needs the scale.
    //! \return whether it was taken.
    bool setNormalizationQuantizeToType(DataType type) noexcept
    {
        return mImpl->setNormalizationQuantizeToType(type);
    }

    //! \return that type, kFLOAT at first.
    DataType getNormalizationQuantizeToType() const noexcept
    {
        return mImpl->getNormalizationQuantizeToType();
    }

    //! Sets a text that the inspector shows; it is copied.
    //! \return whether it was taken.
    bool setMetadata(char const* metadata) noexcept
    {
        return mImpl->setMetadata(metadata);
    }

    //! \return that text, "" at first.
    char const* getMetadata() const noexcept
    {
        return mImpl->getMetadata();
    }

    //! Sets over how many devices the attention spreads. A build with more than one fails.
    //! \return whether it was taken: the number is 1 or more.
    bool setNbRanks(int32_t nbRanks) noexcept
    {
        return mImpl->setNbRanks(nbRanks);
    }

    //! \return over how many devices the attention spreads, 1 at first.
    int32_t getNbRanks() const noexcept
    {
        return mImpl->getNbRanks();
    }

    //! Sets which keys a query sees (11.1). It excludes a mask.
    //! \return whether it was taken.
    bool setCausalKind(CausalMaskKind kind) noexcept
    {
        return mImpl->setCausalKind(kind);
    }

    //! \return which keys a query sees.
    CausalMaskKind getCausalKind() const noexcept
    {
        return mImpl->getCausalKind();
    }

    //! Sets how query and output lie (11.1). Packed ones need setQueryLengths() and take no mask.
    //! \return whether it was taken.
    bool setQueryForm(AttentionIOForm form) noexcept
    {
        return mImpl->setQueryForm(form);
    }

    //! \return how query and output lie, kPADDED_BHND at first.
    AttentionIOForm getQueryForm() const noexcept
    {
        return mImpl->getQueryForm();
    }

    //! Sets how key and value lie (11.1). Packed ones need setKeyValueLengths().
    //! \return whether it was taken.
    bool setKeyValueForm(AttentionIOForm form) noexcept
    {
        return mImpl->setKeyValueForm(form);
    }

    //! \return how key and value lie, kPADDED_BHND at first.
    AttentionIOForm getKeyValueForm() const noexcept
    {
        return mImpl->getKeyValueForm();
    }

    //! Sets where the sequences of a packed query begin (11.1): kINT32 or kINT64 [batch + 1], from 0 to the number of
    //! all tokens.
    //! \return whether it was taken.
    bool setQueryLengths(ITensor* lengths) noexcept
    {
        return mImpl->setQueryLengths(lengths);
    }

    //! \return that tensor, or null.
    ITensor* getQueryLengths() const noexcept
    {
        return mImpl->getQueryLengths();
    }

    //! Sets the lengths of keys and values (11.1), kINT32 or kINT64: of padded ones how many of each sequence count
    //! [batch], of packed ones where the sequences begin [batch + 1].
    //! \return whether it was taken.
    bool setKeyValueLengths(ITensor* lengths) noexcept
    {
        return mImpl->setKeyValueLengths(lengths);
    }

    //! \return that tensor, or null.
    ITensor* getKeyValueLengths() const noexcept
    {
        return mImpl->getKeyValueLengths();
    }

  protected:
    virtual ~IAttention() noexcept = default;

    apiv::VAttention* mImpl{nullptr};
};

//! Rotates pairs of elements of each head by an angle that depends on the position. Inputs: values [N, heads, length,
//! head size], cosines, sines, and optionally the positions as input 3.
class IRotaryEmbeddingLayer : public ILayer
{
  public:
    //! Sets whether neighbouring elements form a pair, not those of the halves.
    void setInterleaved(bool interleaved) noexcept
    {
        mImpl->setInterleaved(interleaved);
    }

    //! Says whether neighbouring elements form a pair, not those of the halves.
    TRT_NODISCARD bool getInterleaved() const noexcept
    {
        return mImpl->getInterleaved();
    }

    //! Sets how many elements of a head are rotated, an even number; 0, all of them, at first.
    //! \return whether it was taken.
    TRT_NODISCARD bool setRotaryEmbeddingDim(int32_t rotaryEmbeddingDim) noexcept
    {
        return mImpl->setRotaryEmbeddingDim(rotaryEmbeddingDim);
    }

    //! \return how many elements of a head are rotated.
    TRT_NODISCARD int32_t getRotaryEmbeddingDim() const noexcept
    {
        return mImpl->getRotaryEmbeddingDim();
    }

    using ILayer::setInput;

  protected:
    virtual ~IRotaryEmbeddingLayer() noexcept = default;

    apiv::VRotaryEmbeddingLayer* mImpl{nullptr};
};

//! How a cache is written.
enum class KVCacheMode : int32_t
{
    //! From a given position on.
    kLINEAR = 0,
};

namespace impl
{
template <>
struct EnumMaxImpl<KVCacheMode>
{
    static constexpr int32_t kVALUE{1};
};
} // namespace impl

//! Writes new keys or values (input 1) into a cache (input 0) at a position per batch entry (input 2). The output uses
//! the cache's memory; what would lie behind its end is dropped.
class IKVCacheUpdateLayer : public ILayer
{
  public:
    //! Sets how the cache is written.
    //! \return whether the mode exists.
    bool setCacheMode(KVCacheMode cacheMode) noexcept
    {
        return mImpl->setCacheMode(cacheMode);
    }

    //! \return how the cache is written.
    KVCacheMode getCacheMode() const noexcept
    {
        return mImpl->getCacheMode();
    }

    //! Sets how the update lies (11.1). A packed one needs setUpdateLengths().
    //! \return whether the form exists.
    bool setUpdateForm(AttentionIOForm form) noexcept
    {
        return mImpl->setUpdateForm(form);
    }

    //! \return how the update lies, kPADDED_BHND at first.
    AttentionIOForm getUpdateForm() const noexcept
    {
        return mImpl->getUpdateForm();
    }

    //! Sets where the sequences of a packed update begin (11.1): kINT32 or kINT64 [batch + 1], from 0 to the number of
    //! all tokens. The same as input 3.
    //! \return whether it was taken.
    bool setUpdateLengths(ITensor* lengths) noexcept
    {
        return mImpl->setUpdateLengths(lengths);
    }

    //! \return that tensor, or null.
    ITensor* getUpdateLengths() const noexcept
    {
        return mImpl->getUpdateLengths();
    }

    using ILayer::setInput;

  protected:
    virtual ~IKVCacheUpdateLayer() noexcept = default;

    apiv::VKVCacheUpdateLayer* mImpl{nullptr};
};

//! The activation of a mixture of experts.
enum class MoEActType : int32_t
{
    //! None.
    kNONE = 0,
    //! x / (1 + exp(-x)).
    kSILU = 1,
};

namespace impl
{
template <>
struct EnumMaxImpl<MoEActType>
{
    static constexpr int32_t kVALUE{2};
};
} // namespace impl

//! A mixture of experts: for each token x the sum over its experts of score * down((up(x) + beta) * a(gate(x))), where
//! a(g) is g * sigmoid(alpha * g) with kSILU, g with kNONE; gate(x) is first held below the limit, up(x) within it. An
//! expert's number that does not exist adds nothing.
class IMoELayer : public ILayer
{
  public:
    //! Sets the experts' matrices and the activation.
    //! \param fcGateWeights the gates, [experts, hidden size, inner size].
    //! \param fcUpWeights the ways up, [experts, hidden size, inner size].
    //! \param fcDownWeights the ways down, [experts, inner size, hidden size].
    //! \param activationType the activation.
    void setGatedWeights(
        ITensor& fcGateWeights, ITensor& fcUpWeights, ITensor& fcDownWeights, MoEActType activationType) noexcept
    {
        mImpl->setGatedWeights(fcGateWeights, fcUpWeights, fcDownWeights, activationType);
    }

    //! Sets the experts' biases; all three or none: [experts, inner size] twice, [experts, hidden size].
    void setGatedBiases(ITensor& fcGateBiases, ITensor& fcUpBiases, ITensor& fcDownBiases) noexcept
    {
        mImpl->setGatedBiases(fcGateBiases, fcUpBiases, fcDownBiases);
    }

    //! Sets the activation.
    void setActivationType(MoEActType activationType) noexcept
    {
        mImpl->setActivationType(activationType);
    }

    //! Returns the activation, kSILU at first.
    MoEActType getActivationType() const noexcept
    {
        return mImpl->getActivationType();
    }

    //! Quantizes what enters the way down, by a given scale, and dequantizes it again.
    //! \param fcDownActivationScale one number, or [experts].
    //! \param dataType kFP8 or kINT8.
    void setQuantizationStatic(ITensor& fcDownActivationScale, DataType dataType) noexcept
    {
        mImpl->setQuantizationStatic(fcDownActivationScale, dataType);
    }

    //! Quantizes what enters the way down, by scales found in the run, quantized too, and dequantizes it again.
    //! \param fcDownActivationDblQScale the scale of the scales, one number.
    //! \param dataType kFP4.
    //! \param blockShape the extents of a token's blocks, [1, 1, elements]; a block has a scale.
    //! \param dynQOutputScaleType the type of the scales, kFP8.
    void setQuantizationDynamicDblQ(ITensor& fcDownActivationDblQScale, DataType dataType, Dims const& blockShape,
        DataType dynQOutputScaleType) noexcept
    {
        mImpl->setQuantizationDynamicDblQ(fcDownActivationDblQScale, dataType, blockShape, dynQOutputScaleType);
    }

    //! Sets the type to which it is quantized.
    void setQuantizationToType(DataType type) noexcept
    {
        mImpl->setQuantizationToType(type);
    }

    //! Returns the type to which it is quantized, kFLOAT while it is not.
    DataType getQuantizationToType() const noexcept
    {
        return mImpl->getQuantizationToType();
    }

    //! Sets the extents of the blocks that have a scale each.
    void setQuantizationBlockShape(Dims const& blockShape) noexcept
    {
        mImpl->setQuantizationBlockShape(blockShape);
    }

    //! Returns the extents of the blocks that have a scale each; nbDims is -1 at first.
    Dims getQuantizationBlockShape() const noexcept
    {
        return mImpl->getQuantizationBlockShape();
    }

    //! Sets the type of scales found in the run.
    void setDynQOutputScaleType(DataType type) noexcept
    {
        mImpl->setDynQOutputScaleType(type);
    }

    //! Returns the type of scales found in the run, kFLOAT while there are none.
    DataType getDynQOutputScaleType() const noexcept
    {
        return mImpl->getDynQOutputScaleType();
    }

    //! Sets the three parameters of the activation.
    void setSwigluParams(float limit, float alpha, float beta) noexcept
    {
        mImpl->setSwigluParams(limit, alpha, beta);
    }

    //! Sets the bound to which the activation's arguments are clamped, above 0.
    void setSwigluParamLimit(float limit) noexcept
    {
        mImpl->setSwigluParamLimit(limit);
    }

    //! Returns the bound to which the activation's arguments are clamped, infinity at first.
    float getSwigluParamLimit() const noexcept
    {
        return mImpl->getSwigluParamLimit();
    }

    //! Sets the factor inside the activation.
    void setSwigluParamAlpha(float alpha) noexcept
    {
        mImpl->setSwigluParamAlpha(alpha);
    }

    //! Returns the factor inside the activation, 1 at first.
    float getSwigluParamAlpha() const noexcept
    {
        return mImpl->getSwigluParamAlpha();
    }

    //! Sets the number added to the way up.
    void setSwigluParamBeta(float beta) noexcept
    {
        mImpl->setSwigluParamBeta(beta);
    }

    //! Returns the number added to the way up, 0 at first.
    float getSwigluParamBeta() const noexcept
    {
        return mImpl->getSwigluParamBeta();
    }

    //! Replaces an input: 0 hidden states, 1 chosen experts, 2 their scores; then what the calls above set.
    void setInput(int32_t index, ITensor& tensor) noexcept
    {
        mImpl->setInput(index, tensor);
    }

  protected:
    virtual ~IMoELayer() noexcept = default;

    apiv::VMoELayer* mImpl{nullptr};
};

//! What several devices do together.
enum class CollectiveOperation : int32_t
{
    //! All get the reduced tensor.
    kALL_REDUCE = 0,
    //! All get the parts of all, joined.
    kALL_GATHER = 1,
    //! All get the root's tensor.
    kBROADCAST = 2,
    //! The root gets the reduced tensor.
    kREDUCE = 3,
    //! Each gets its part of the reduced tensor.
    kREDUCE_SCATTER = 4,
    //! Each gets its part of each one's tensor, joined (11.1).
    kALL_TO_ALL = 5,
    //! The root gets the tensors of all, joined (11.1).
    kGATHER = 6,
    //! Each gets its part of the root's tensor (11.1).
    kSCATTER = 7,
};

//! An exchange between devices. Networks run on one device here: with one rank the output is the input; a build with
//! more of them, which setNbRanks() says, fails.
class IDistCollectiveLayer : public ILayer
{
  protected:
    virtual ~IDistCollectiveLayer() noexcept = default;

    apiv::VDistCollectiveLayer* mImpl{nullptr};
};

//! A property of a network, decided when it is made.
enum class NetworkDefinitionCreationFlag : int32_t
{
    //! The batch is an extent like any other. A network made without the bit is explicit, too, unless its builder is
    //! given a max batch size (8.x).
    kEXPLICIT_BATCH TRT_DEPRECATED_ENUM = 0,
    //! Types follow from the inputs and from layers that set a type; the builder never chooses another.
    kSTRONGLY_TYPED = 1,
    //! Of a Python plugin's two forms take the one that runs Python.
    kPREFER_JIT_PYTHON_PLUGINS = 2,
    //! Of a Python plugin's two forms take the one that is compiled while building.
    kPREFER_AOT_PYTHON_PLUGINS = 3,
    //! Accepted and ignored (8.x); a number of its own, since 10.x gave the old one away.
    kEXPLICIT_PRECISION TRT_DEPRECATED_ENUM = 16,
};

namespace impl
{
template <>
struct EnumMaxImpl<NetworkDefinitionCreationFlag>
{
    static constexpr int32_t kVALUE{4};
};
} // namespace impl

//! A set of NetworkDefinitionCreationFlag, one bit each.
using NetworkDefinitionCreationFlags = uint32_t;

//! A network: inputs, layers, outputs. Made by IBuilder::createNetworkV2() and destroyed with delete; layers and
//! tensors belong to it. Each add call returns null on failure, after reporting why; tensors must belong to this
//! network. One thread at a time may use it.
class INetworkDefinition : public INoCopy
{
  public:
    virtual ~INetworkDefinition() noexcept = default;

    //! Adds an input.
    //! \param name at most 4095 bytes, different from that of every other input; copied.
    //! \param type the element type.
    //! \param dimensions the extents, -1 where only the run knows; at most Dims::MAX_DIMS.
    //! \return the tensor, or null when the name is taken or the extents are wrong.
    ITensor* addInput(char const* name, DataType type, Dims const& dimensions) noexcept
    {
        return mImpl->addInput(name, type, dimensions);
    }

    //! Makes a tensor an output of the network. Inputs and tensors inside loops and conditionals cannot be.
    void markOutput(ITensor& tensor) noexcept
    {
        mImpl->markOutput(tensor);
    }

    //! Marks a tensor so that an IDebugListener can receive it, whatever is fused or folded around it.
    //! \return whether it is marked; false for a tensor of another network.
    bool markDebug(ITensor& tensor) noexcept
    {
        return mImpl->markDebug(tensor);
    }

    //! Takes the mark back, where there is one.
    //! \return whether that was possible.
    bool unmarkDebug(ITensor& tensor) noexcept
    {
        return mImpl->unmarkDebug(tensor);
    }

    //! Whether markDebug() was called for the tensor, and not taken back.
    bool isDebugTensor(ITensor const& tensor) const noexcept
    {
        return mImpl->isDebugTensor(tensor);
    }

    //! Lets an IDebugListener receive all tensors that fusion leaves over, under the names that inspectors show.
    //! \return whether that was possible.
    bool markUnfusedTensorsAsDebugTensors() noexcept
    {
        return mImpl->markUnfusedTensorsAsDebugTensors();
    }

    //! Takes that back.
    //! \return whether that was possible.
    bool unmarkUnfusedTensorsAsDebugTensors() noexcept
    {
        return mImpl->unmarkUnfusedTensorsAsDebugTensors();
    }

    //! Adds a function of each element.
    //! \param input the tensor.
    //! \param type the function; its parameters are set on the layer.
    IActivationLayer* addActivation(ITensor& input, ActivationType type) noexcept
    {
        return mImpl->addActivation(input, type);
    }

    //! Adds a normalization across channels.
    //! \param input [N, C, H, W].
    //! \param window the number of channels, odd, from 1 to 15.
    //! \param alpha the factor of the sum.
    //! \param beta the exponent.
    //! \param k the constant.
    ILRNLayer* addLRN(ITensor& input, int64_t window, float alpha, float beta, float k) noexcept
    {
        return mImpl->addLRN(input, window, alpha, beta, k);
    }

    //! Adds (x * scale + shift)^power.
    //! \param input at least three axes, axis 1 the channels.
    //! \param mode which elements share their parameters.
    //! \param shift the values to add; empty for 0.
    //! \param scale the factors; empty for 1.
    //! \param power the exponents; empty for 1.
    IScaleLayer* addScale(ITensor& input, ScaleMode mode, Weights shift, Weights scale, Weights power) noexcept
    {
        return mImpl->addScale(input, mode, shift, scale, power);
    }

    //! Adds a softmax; its axis is set on the layer.
    ISoftMaxLayer* addSoftMax(ITensor& input) noexcept
    {
        return mImpl->addSoftMax(input);
    }

    //! Joins tensors along an axis that is set on the layer.
    //! \param inputs the tensors, all of one rank and type.
    //! \param nbInputs their number, at least 1.
    IConcatenationLayer* addConcatenation(ITensor* const* inputs, int32_t nbInputs) noexcept
    {
        return mImpl->addConcatenation(inputs, nbInputs);
    }

    //! Combines two tensors of equal rank element by element; extents are equal or 1.
    IElementWiseLayer* addElementWise(ITensor& input1, ITensor& input2, ElementWiseOperation op) noexcept
    {
        return mImpl->addElementWise(input1, input2, op);
    }

    //! Adds a function of each element.
    IUnaryLayer* addUnary(ITensor& input, UnaryOperation operation) noexcept
    {
        return mImpl->addUnary(input, operation);
    }

    //! Adds transposes and a reshape; they are set on the layer.
    IShuffleLayer* addShuffle(ITensor& input) noexcept
    {
        return mImpl->addShuffle(input);
    }

    //! Turns indices into vectors.
    //! \param indices the indices, kINT32 or kINT64.
    //! \param values [2]: the value elsewhere and at the index.
    //! \param depth 0-D, constant: the vectors' length.
    //! \param axis the new axis, from -rank - 1 to rank.
    IOneHotLayer* addOneHot(ITensor& indices, ITensor& values, ITensor& depth, int32_t axis) noexcept
    {
        return mImpl->addOneHot(indices, values, depth, axis);
    }

    //! How many layers there are.
    int32_t getNbLayers() const noexcept
    {
        return mImpl->getNbLayers();
    }

    //! \return layer index in the order of adding; null out of range.
    ILayer* getLayer(int32_t index) const noexcept
    {
        return mImpl->getLayer(index);
    }

    //! How many inputs there are.
    int32_t getNbInputs() const noexcept
    {
        return mImpl->getNbInputs();
    }

    //! \return input index; null out of range.
    ITensor* getInput(int32_t index) const noexcept
    {
        return mImpl->getInput(index);
    }

    //! How many outputs there are.
    int32_t getNbOutputs() const noexcept
    {
        return mImpl->getNbOutputs();
    }

    //! \return output index; null out of range.
    ITensor* getOutput(int32_t index) const noexcept
    {
        return mImpl->getOutput(index);
    }

    //! Reduces along axes.
    //! \param reduceAxes a set with bit i for axis i.
    //! \param keepDimensions whether reduced axes stay, with extent 1.
    IReduceLayer* addReduce(
        ITensor& input, ReduceOperation operation, uint32_t reduceAxes, bool keepDimensions) noexcept
    {
        return mImpl->addReduce(input, operation, reduceAxes, keepDimensions);
    }

    //! As the other form, with indices of type kINT32.
    TRT_DEPRECATED ITopKLayer* addTopK(ITensor& input, TopKOperation op, int32_t k, uint32_t reduceAxes) noexcept
    {
        return mImpl->addTopK(input, op, k, reduceAxes);
    }

    //! Picks the k largest or smallest elements along one axis.
    //! \param k how many: any number up to the axis's extent, where 10.16 stops at 3840.
    //! \param reduceAxes the axis, as a set with one bit.
    //! \param indicesType kINT32 or kINT64.
    ITopKLayer* addTopK(ITensor& input, TopKOperation op, int32_t k, uint32_t reduceAxes, DataType indicesType) noexcept
    {
        return mImpl->addTopKV2(input, op, k, reduceAxes, indicesType);
    }

    //! Picks slices by index.
    //! \param data the tensor to pick from.
    //! \param indices kINT32 or kINT64.
    //! \param axis the axis that indices count along.
    IGatherLayer* addGather(ITensor& data, ITensor& indices, int32_t axis) noexcept
    {
        return mImpl->addGather(data, indices, axis);
    }

    //! Picks by index, in one of three ways; the axis is set on the layer.
    IGatherLayer* addGatherV2(ITensor& data, ITensor& indices, GatherMode mode) noexcept
    {
        return mImpl->addGatherV2(data, indices, mode);
    }

    //! Adds a softmax over sequences of different lengths.
    //! \param bounds the lengths, int32.
    IRaggedSoftMaxLayer* addRaggedSoftMax(ITensor& input, ITensor& bounds) noexcept
    {
        return mImpl->addRaggedSoftMax(input, bounds);
    }

    //! Multiplies matrices or vectors.
    //! \param op0 how input0 is read.
    //! \param op1 how input1 is read.
    IMatrixMultiplyLayer* addMatrixMultiply(
        ITensor& input0, MatrixOperation op0, ITensor& input1, MatrixOperation op1) noexcept
    {
        return mImpl->addMatrixMultiply(input0, op0, input1, op1);
    }

    //! As the other form, with indices of type kINT32.
    TRT_DEPRECATED INonZeroLayer* addNonZero(ITensor& input) noexcept
    {
        return mImpl->addNonZero(input);
    }

    //! Finds the elements that are not zero.
    //! \param indicesType kINT32 or kINT64.
    INonZeroLayer* addNonZero(ITensor& input, DataType indicesType) noexcept
    {
        return mImpl->addNonZeroV2(input, indicesType);
    }

    //! Adds constant values.
    //! \param dimensions the extents.
    //! \param weights the values, row-major, kept by reference until the build ends.
    IConstantLayer* addConstant(Dims const& dimensions, Weights weights) noexcept
    {
        return mImpl->addConstant(dimensions, weights);
    }

    //! Passes a tensor on.
    IIdentityLayer* addIdentity(ITensor& input) noexcept
    {
        return mImpl->addIdentity(input);
    }

    //! Converts each element.
    //! \param toType the new type.
    ICastLayer* addCast(ITensor& input, DataType toType) noexcept
    {
        return mImpl->addCast(input, toType);
    }

    //! Removes a tensor that no layer uses; otherwise only a warning is given.
    void removeTensor(ITensor& tensor) noexcept
    {
        mImpl->removeTensor(tensor);
    }

    //! Makes an output an ordinary tensor again.
    void unmarkOutput(ITensor& tensor) noexcept
    {
        mImpl->unmarkOutput(tensor);
    }

    //! Adds a layer of a V2 plugin. Use addPluginV3().
    //! \param inputs the tensors.
    //! \param nbInputs their number.
    //! \param plugin is cloned; the caller still owns it.
    TRT_DEPRECATED IPluginV2Layer* addPluginV2(ITensor* const* inputs, int32_t nbInputs, IPluginV2& plugin) noexcept
    {
        return mImpl->addPluginV2(inputs, nbInputs, plugin);
    }

    //! Adds a layer of a V3 plugin.
    //! \param inputs the tensors.
    //! \param nbInputs their number.
    //! \param shapeInputs tensors whose values the plugin's shapes depend on.
    //! \param nbShapeInputs their number.
    //! \param plugin is cloned; the caller still owns it. It must have all three faces.
    IPluginV3Layer* addPluginV3(ITensor* const* inputs, int32_t nbInputs, ITensor* const* shapeInputs,
        int32_t nbShapeInputs, IPluginV3& plugin) noexcept
    {
        return mImpl->addPluginV3(inputs, nbInputs, shapeInputs, nbShapeInputs, plugin);
    }

    //! Takes a regular part of a tensor.
    //! \param start the first element of each axis.
    //! \param size the output's extents.
    //! \param stride the step along each axis.
    ISliceLayer* addSlice(ITensor& input, Dims const& start, Dims const& size, Dims const& stride) noexcept
    {
        return mImpl->addSlice(input, start, size, stride);
    }

    //! Sets the network's name, at most 4095 bytes; it is copied, and the engine has it too.
    void setName(char const* name) noexcept
    {
        mImpl->setName(name);
    }

    //! \return the name, "Unnamed Network 0" or the like at first.
    char const* getName() const noexcept
    {
        return mImpl->getName();
    }

    //! Gives a tensor's extents as a tensor of kINT64.
    IShapeLayer* addShape(ITensor& input) noexcept
    {
        return mImpl->addShape(input);
    }

    //! Whether the batch is outside the shapes (8.x).
    TRT_DEPRECATED bool hasImplicitBatchDimension() const noexcept
    {
        return mImpl->hasImplicitBatchDimension();
    }

    //! \return the flags that the network was made with.
    NetworkDefinitionCreationFlags getFlags() const noexcept
    {
        return mImpl->getFlags();
    }

    //! \return whether the network was made with a flag.
    bool getFlag(NetworkDefinitionCreationFlag networkDefinitionCreationFlag) const noexcept
    {
        return mImpl->getFlag(networkDefinitionCreationFlag);
    }

    //! Makes the values of a shape tensor an output.
    //! \return false when it cannot be one.
    bool markOutputForShapes(ITensor& tensor) noexcept
    {
        return mImpl->markOutputForShapes(tensor);
    }

    //! Takes that back.
    //! \return whether it was one.
    bool unmarkOutputForShapes(ITensor& tensor) noexcept
    {
        return mImpl->unmarkOutputForShapes(tensor);
    }

    //! Adds a leaky ReLU with slopes from a tensor.
    //! \param slope extents as the input's, or 1.
    IParametricReLULayer* addParametricReLU(ITensor& input, ITensor& slope) noexcept
    {
        return mImpl->addParametricReLU(input, slope);
    }

    //! Adds a convolution; stride, padding, dilation and groups are set on the layer.
    //! \param input [N, C, spatial...], with two or three spatial axes.
    //! \param nbOutputMaps the number of output channels.
    //! \param kernelSize the kernel's spatial extents.
    //! \param kernelWeights the kernels; empty when input 1 of the layer is going to supply them.
    //! \param biasWeights the bias; empty for none.
    IConvolutionLayer* addConvolutionNd(ITensor& input, int64_t nbOutputMaps, Dims const& kernelSize,
        Weights kernelWeights, Weights biasWeights) noexcept
    {
        return mImpl->addConvolutionNd(input, nbOutputMaps, kernelSize, kernelWeights, biasWeights);
    }

    //! Adds a pooling; stride and padding are set on the layer.
    //! \param input [N, C, spatial...], with two or three spatial axes.
    //! \param type how a window is reduced.
    //! \param windowSize the window's spatial extents.
    IPoolingLayer* addPoolingNd(ITensor& input, PoolingType type, Dims const& windowSize) noexcept
    {
        return mImpl->addPoolingNd(input, type, windowSize);
    }

    //! Adds a transposed convolution; stride, padding, dilation and groups are set on the layer.
    //! \param input [N, C, spatial...], with two or three spatial axes.
    //! \param nbOutputMaps the number of output channels.
    //! \param kernelSize the kernel's spatial extents.
    //! \param kernelWeights the kernels; empty when input 1 of the layer is going to supply them.
    //! \param biasWeights the bias; empty for none.
    IDeconvolutionLayer* addDeconvolutionNd(
        ITensor& input, int64_t nbOutputMaps, Dims kernelSize, Weights kernelWeights, Weights biasWeights) noexcept
    {
        return mImpl->addDeconvolutionNd(input, nbOutputMaps, kernelSize, kernelWeights, biasWeights);
    }

    //! As addScale(), with the channels along a given axis.
    IScaleLayer* addScaleNd(
        ITensor& input, ScaleMode mode, Weights shift, Weights scale, Weights power, int32_t channelAxis) noexcept
    {
        return mImpl->addScaleNd(input, mode, shift, scale, power, channelAxis);
    }

    //! Adds a resize; extents or factors are set on the layer.
    IResizeLayer* addResize(ITensor& input) noexcept
    {
        return mImpl->addResize(input);
    }

    //! Adds a loop, at first without anything in it.
    ILoop* addLoop() noexcept
    {
        return mImpl->addLoop();
    }

    //! Adds a conditional, at first without anything in it.
    IIfConditional* addIfConditional() noexcept
    {
        return mImpl->addIfConditional();
    }

    //! Picks from two tensors by a kBOOL tensor.
    ISelectLayer* addSelect(ITensor& condition, ITensor& thenInput, ITensor& elseInput) noexcept
    {
        return mImpl->addSelect(condition, thenInput, elseInput);
    }

    //! Demands that a kBOOL shape tensor is true throughout.
    //! \param message the text reported otherwise, at most 4095 bytes; copied.
    IAssertionLayer* addAssertion(ITensor& condition, char const* message) noexcept
    {
        return mImpl->addAssertion(condition, message);
    }

    //! As the other form, with an output of type kFLOAT.
    TRT_DEPRECATED IFillLayer* addFill(Dims const& dimensions, FillOperation op) noexcept
    {
        return mImpl->addFill(dimensions, op);
    }

    //! Makes a tensor from a rule; alpha and beta are set on the layer.
    //! \param dimensions the extents; without meaning when input 0 of the layer is going to supply them.
    //! \param op the rule.
    //! \param outputType kFLOAT, kHALF, kINT32 or kINT64.
    IFillLayer* addFill(Dims const& dimensions, FillOperation op, DataType outputType) noexcept
    {
        return mImpl->addFillV2(dimensions, op, outputType);
    }

    //! Adds zeros around the last two axes.
    //! \param prePadding two numbers, negative ones cut off.
    //! \param postPadding likewise.
    IPaddingLayer* addPaddingNd(ITensor& input, Dims const& prePadding, Dims const& postPadding) noexcept
    {
        return mImpl->addPaddingNd(input, prePadding, postPadding);
    }

    //! Names weights so that a refit can address them; equal type, pointer and count mean the same weights.
    //! \param name at most 4095 bytes; copied; null takes the name back.
    //! \return false when the address has a name for another type or count, or the name is taken.
    bool setWeightsName(Weights weights, char const* name) noexcept
    {
        return mImpl->setWeightsName(weights, name);
    }

    //! Sets where errors go; null lets the recorder go.
    void setErrorRecorder(IErrorRecorder* recorder) noexcept
    {
        mImpl->setErrorRecorder(recorder);
    }

    //! \return the recorder, or null.
    IErrorRecorder* getErrorRecorder() const noexcept
    {
        return mImpl->getErrorRecorder();
    }

    //! As the other form, with an output of type kFLOAT.
    TRT_DEPRECATED IDequantizeLayer* addDequantize(ITensor& input, ITensor& scale) noexcept
    {
        return mImpl->addDequantize(input, scale);
    }

    //! Multiplies a narrow type by a scale.
    //! \param scale 0-D, one value per channel or one per block.
    //! \param outputType the type of the output.
    IDequantizeLayer* addDequantize(ITensor& input, ITensor& scale, DataType outputType) noexcept
    {
        return mImpl->addDequantizeV2(input, scale, outputType);
    }

    //! Puts updates into a copy of the data.
    IScatterLayer* addScatter(ITensor& data, ITensor& indices, ITensor& updates, ScatterMode mode) noexcept
    {
        return mImpl->addScatter(data, indices, updates, mode);
    }

    //! As the other form, with an output of type kINT8.
    TRT_DEPRECATED IQuantizeLayer* addQuantize(ITensor& input, ITensor& scale) noexcept
    {
        return mImpl->addQuantize(input, scale);
    }

    //! Divides by a scale and rounds to a narrow type.
    //! \param scale 0-D, one value per channel or one per block.
    //! \param outputType the type of the output.
    IQuantizeLayer* addQuantize(ITensor& input, ITensor& scale, DataType outputType) noexcept
    {
        return mImpl->addQuantizeV2(input, scale, outputType);
    }

    //! Quantizes blocks along one axis. Use addDynamicQuantizeV2().
    TRT_DEPRECATED IDynamicQuantizeLayer* addDynamicQuantize(
        ITensor& input, int32_t axis, int32_t blockSize, DataType outputType, DataType scaleType) noexcept
    {
        return mImpl->addDynamicQuantize(input, axis, blockSize, outputType, scaleType);
    }

    //! Quantizes blocks with scales found in the run.
    //! \param blockShape the extents of a block.
    //! \param outputType the type of the values.
    //! \param scaleType the type of the scales.
    IDynamicQuantizeLayer* addDynamicQuantizeV2(
        ITensor& input, Dims const& blockShape, DataType outputType, DataType scaleType) noexcept
    {
        return mImpl->addDynamicQuantizeV2(input, blockShape, outputType, scaleType);
    }

    //! Sums products of elements.
    //! \param equation as IEinsumLayer::setEquation() describes it.
    IEinsumLayer* addEinsum(ITensor* const* inputs, int32_t nbInputs, char const* equation) noexcept
    {
        return mImpl->addEinsum(inputs, nbInputs, equation);
    }

    //! Reads a tensor at positions from another.
    IGridSampleLayer* addGridSample(ITensor& input, ITensor& grid) noexcept
    {
        return mImpl->addGridSample(input, grid);
    }

    //! As the other form, with indices of type kINT32.
    TRT_DEPRECATED INMSLayer* addNMS(ITensor& boxes, ITensor& scores, ITensor& maxOutputBoxesPerClass) noexcept
    {
        return mImpl->addNMS(boxes, scores, maxOutputBoxesPerClass);
    }

    //! Picks boxes that do not overlap much.
    INMSLayer* addNMS(ITensor& boxes, ITensor& scores, ITensor& maxOutputBoxesPerClass, DataType indicesType) noexcept
    {
        return mImpl->addNMSV2(boxes, scores, maxOutputBoxesPerClass, indicesType);
    }

    //! Reverses the first elements of each sequence.
    IReverseSequenceLayer* addReverseSequence(ITensor& input, ITensor& sequenceLens) noexcept
    {
        return mImpl->addReverseSequence(input, sequenceLens);
    }

    //! As addNormalizationV2(), but for groups scale and bias have one value per group.
    TRT_DEPRECATED INormalizationLayer* addNormalization(
        ITensor& input, ITensor& scale, ITensor& bias, uint32_t axesMask) noexcept
    {
        return mImpl->addNormalization(input, scale, bias, axesMask);
    }

    //! Accumulates along an axis.
    //! \param axis 0-D, constant.
    //! \param operation what accumulates.
    //! \param exclusive whether an element's own value is left out.
    //! \param reverse whether to begin at the end.
    ICumulativeLayer* addCumulative(
        ITensor& input, ITensor& axis, CumulativeOperation operation, bool exclusive, bool reverse) noexcept
    {
        return mImpl->addCumulative(input, axis, operation, exclusive, reverse);
    }

    //! Adds an attention.
    //! \param query [N, heads, length, head size].
    //! \param key likewise, with its own heads and length.
    //! \param value likewise.
    //! \param normOp what becomes of the products.
    //! \param causal whether query i sees only keys up to i.
    IAttention* addAttention(
        ITensor& query, ITensor& key, ITensor& value, AttentionNormalizationOp normOp, bool causal) noexcept
    {
        return mImpl->addAttention(query, key, value, normOp, causal);
    }

    //! Adds an attention (11.1).
    //! \param causalKind which keys a query sees. The rest as with addAttention().
    IAttention* addAttentionV2(ITensor& query, ITensor& key, ITensor& value, AttentionNormalizationOp normOp,
        CausalMaskKind causalKind) noexcept
    {
        return mImpl->addAttentionV2(query, key, value, normOp, causalKind);
    }

    //! Rotates pairs of elements by position.
    IRotaryEmbeddingLayer* addRotaryEmbedding(
        ITensor& input, ITensor& cosCache, ITensor& sinCache, bool interleaved, int32_t rotaryEmbeddingDim) noexcept
    {
        return mImpl->addRotaryEmbedding(input, cosCache, sinCache, interleaved, rotaryEmbeddingDim);
    }

    //! Writes into a cache of keys or values.
    IKVCacheUpdateLayer* addKVCacheUpdate(
        ITensor& cache, ITensor& update, ITensor& writeIndices, KVCacheMode cacheMode) noexcept
    {
        return mImpl->addKVCacheUpdate(cache, update, writeIndices, cacheMode);
    }

    //! Adds a mixture of experts. It needs setGatedWeights().
    //! \param hiddenStates [batch, length, hidden size].
    //! \param selectedExpertsForTokens the numbers of the experts of each token, kINT32 [batch, length, top k].
    //! \param scoresForSelectedExperts what each of them counts, [batch, length, top k].
    IMoELayer* addMoE(
        ITensor& hiddenStates, ITensor& selectedExpertsForTokens, ITensor& scoresForSelectedExperts) noexcept
    {
        return mImpl->addMoE(hiddenStates, selectedExpertsForTokens, scoresForSelectedExperts);
    }

    //! Adds an exchange between devices.
    //! \param reduceOp how tensors are reduced; kNONE where none are.
    //! \param root the device that sends or receives, where one does; else it means nothing.
    //! \param groups the devices that take part, in order; copied.
    //! \param groupSize their number; 0 for all.
    //! \return the layer, null after an error.
    TRT_NODISCARD IDistCollectiveLayer* addDistCollective(ITensor& input, CollectiveOperation distCollectiveOp,
        ReduceOperation reduceOp, int64_t root, int64_t* groups, int64_t groupSize) noexcept
    {
        return mImpl->addDistCollective(input, distCollectiveOp, reduceOp, root, groups, groupSize);
    }

    //! \return the builder that made the network.
    virtual IBuilder& getBuilder() const noexcept
    {
        return mImpl->getBuilder();
    }

    //! Makes named weights replaceable in an engine built with kREFIT_INDIVIDUAL.
    //! \return whether the name exists.
    bool markWeightsRefittable(char const* name) noexcept
    {
        return mImpl->markWeightsRefittable(name);
    }

    //! Takes that back.
    //! \return whether the name exists.
    bool unmarkWeightsRefittable(char const* name) noexcept
    {
        return mImpl->unmarkWeightsRefittable(name);
    }

    //! Whether the named weights are marked.
    bool areWeightsMarkedRefittable(char const* name) const noexcept
    {
        return mImpl->areWeightsMarkedRefittable(name);
    }

    //! Takes axes of extent 1 away.
    //! \param axes 1-D, constant.
    ISqueezeLayer* addSqueeze(ITensor& input, ITensor& axes) noexcept
    {
        return mImpl->addSqueeze(input, axes);
    }

    //! Adds axes of extent 1.
    //! \param axes 1-D, constant: those of the output.
    IUnsqueezeLayer* addUnsqueeze(ITensor& input, ITensor& axes) noexcept
    {
        return mImpl->addUnsqueeze(input, axes);
    }

    //! Adds a normalization by mean and variance; groups and epsilon are set on the layer.
    //! \param scale extents as the input's or 1; for groups [1, C, 1, ...].
    //! \param bias likewise.
    //! \param axesMask the axes of mean and variance, a set with bit i for axis i.
    TRT_NODISCARD INormalizationLayer* addNormalizationV2(
        ITensor& input, ITensor& scale, ITensor& bias, uint32_t axesMask) noexcept
    {
        return mImpl->addNormalizationV2(input, scale, bias, axesMask);
    }

    //! Adds a convolution over two axes (8.x). Use addConvolutionNd().
    TRT_DEPRECATED IConvolutionLayer* addConvolution(
        ITensor& input, int32_t nbOutputMaps, DimsHW kernelSize, Weights kernelWeights, Weights biasWeights) noexcept
    {
        return addConvolutionNd(input, nbOutputMaps, kernelSize, kernelWeights, biasWeights);
    }

    //! Multiplies each sample by a matrix (8.x). Use addMatrixMultiply().
    TRT_DEPRECATED IFullyConnectedLayer* addFullyConnected(
        ITensor& input, int32_t nbOutputs, Weights kernelWeights, Weights biasWeights) noexcept
    {
        return mImpl->addFullyConnected(input, nbOutputs, kernelWeights, biasWeights);
    }

    //! Adds a pooling over two axes (8.x). Use addPoolingNd().
    TRT_DEPRECATED IPoolingLayer* addPooling(ITensor& input, PoolingType type, DimsHW windowSize) noexcept
    {
        return addPoolingNd(input, type, windowSize);
    }

    //! Adds a transposed convolution over two axes (8.x). Use addDeconvolutionNd().
    TRT_DEPRECATED IDeconvolutionLayer* addDeconvolution(
        ITensor& input, int32_t nbOutputMaps, DimsHW kernelSize, Weights kernelWeights, Weights biasWeights) noexcept
    {
        return addDeconvolutionNd(input, nbOutputMaps, kernelSize, kernelWeights, biasWeights);
    }

    //! Adds zeros around the last two axes (8.x). Use addPaddingNd().
    TRT_DEPRECATED IPaddingLayer* addPadding(ITensor& input, DimsHW prePadding, DimsHW postPadding) noexcept
    {
        return addPaddingNd(input, prePadding, postPadding);
    }

    //! Adds a stack of recurrent cells (8.x). Use addLoop().
    //! \param maxSeqLen the number of steps of the input.
    TRT_DEPRECATED IRNNv2Layer* addRNNv2(
        ITensor& input, int32_t layerCount, int32_t hiddenSize, int32_t maxSeqLen, RNNOperation op) noexcept
    {
        return mImpl->addRNNv2(input, layerCount, hiddenSize, maxSeqLen, op);
    }

    //! Whether kEXPLICIT_PRECISION was asked for (8.x).
    TRT_DEPRECATED bool hasExplicitPrecision() const noexcept
    {
        return mImpl->hasExplicitPrecision();
    }

    //! The same as delete, as 8.x wrote it.
    TRT_DEPRECATED void destroy() noexcept
    {
        delete this;
    }

  protected:
    apiv::VNetworkDefinition* mImpl{nullptr};
};

//! How quantization ranges are found.
enum class CalibrationAlgoType : int32_t
{
    //! By a quantile and a cut-off that the user gives.
    kLEGACY_CALIBRATION TRT_DEPRECATED_ENUM = 0,
    //! By the least loss of information.
    kENTROPY_CALIBRATION TRT_DEPRECATED_ENUM = 1,
    //! Likewise, with one range per tensor of activations.
    kENTROPY_CALIBRATION_2 TRT_DEPRECATED_ENUM = 2,
    //! By the smallest and the largest value.
    kMINMAX_CALIBRATION TRT_DEPRECATED_ENUM = 3,
};

namespace impl
{
template <>
struct EnumMaxImpl<CalibrationAlgoType>
{
    static constexpr int32_t kVALUE{4};
};
} // namespace impl

//! Supplies sample data from which the ranges of tensors are found; implemented by users through one of the derived
//! classes. For weakly typed networks only.
class TRT_DEPRECATED IInt8Calibrator : public IVersionedInterface
{
  public:
    ~IInt8Calibrator() noexcept override = default;

    //! How many samples one batch has.
    TRT_DEPRECATED virtual int32_t getBatchSize() const noexcept = 0;

    //! Supplies one batch.
    //! \param bindings receives an address per input.
    //! \param names the inputs.
    //! \param nbBindings their number.
    //! \return false when there are no more.
    virtual bool getBatch(void* bindings[], char const* names[], int32_t nbBindings) noexcept = 0;

    //! Supplies the result of an earlier calibration.
    //! \param length receives its bytes.
    //! \return the result, or null to calibrate anew.
    virtual void const* readCalibrationCache(size_t& length) noexcept = 0;

    //! Takes the result of a calibration.
    virtual void writeCalibrationCache(void const* ptr, size_t length) noexcept = 0;

    //! \return how ranges are found.
    virtual CalibrationAlgoType getAlgorithm() noexcept = 0;

    //! Names this interface and its version; derived classes name their own.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"IInt8Calibrator", 1, 0};
    }
};

TENON_V_1_0_BEGIN
//! A calibrator that loses the least information.
class TRT_DEPRECATED IInt8EntropyCalibrator : public IInt8Calibrator
{
  public:
    ~IInt8EntropyCalibrator() noexcept override = default;

    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"IInt8EntropyCalibrator", 1, 0};
    }

    //! \return kENTROPY_CALIBRATION.
    CalibrationAlgoType getAlgorithm() noexcept override
    {
        return CalibrationAlgoType::kENTROPY_CALIBRATION;
    }
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IInt8EntropyCalibrator)

TENON_V_1_0_BEGIN
//! A calibrator that loses the least information, with one range per tensor of activations.
class TRT_DEPRECATED IInt8EntropyCalibrator2 : public IInt8Calibrator
{
  public:
    ~IInt8EntropyCalibrator2() noexcept override = default;

    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"IInt8EntropyCalibrator2", 1, 0};
    }

    //! \return kENTROPY_CALIBRATION_2.
    CalibrationAlgoType getAlgorithm() noexcept override
    {
        return CalibrationAlgoType::kENTROPY_CALIBRATION_2;
    }
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IInt8EntropyCalibrator2)

TENON_V_1_0_BEGIN
//! A calibrator that takes the smallest and the largest value.
class TRT_DEPRECATED IInt8MinMaxCalibrator : public IInt8Calibrator
{
  public:
    ~IInt8MinMaxCalibrator() noexcept override = default;

    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"IInt8MinMaxCalibrator", 1, 0};
    }

    //! \return kMINMAX_CALIBRATION.
    CalibrationAlgoType getAlgorithm() noexcept override
    {
        return CalibrationAlgoType::kMINMAX_CALIBRATION;
    }
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IInt8MinMaxCalibrator)

TENON_V_1_0_BEGIN
//! A calibrator with a quantile and a cut-off.
class TRT_DEPRECATED IInt8LegacyCalibrator : public IInt8Calibrator
{
  public:
    ~IInt8LegacyCalibrator() noexcept override = default;

    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"IInt8Calibrator", 1, 0};
    }

    //! \return kLEGACY_CALIBRATION.
    CalibrationAlgoType getAlgorithm() noexcept override
    {
        return CalibrationAlgoType::kLEGACY_CALIBRATION;
    }

    //! \return the share of values inside the range, from 0 to 1.
    virtual double getQuantile() const noexcept = 0;

    //! \return the share of the largest value below which the range never falls, from 0 to 1.
    virtual double getRegressionCutoff() const noexcept = 0;

    //! Supplies histograms of an earlier calibration, or null.
    virtual void const* readHistogramCache(size_t& length) noexcept = 0;

    //! Takes the histograms of a calibration.
    virtual void writeHistogramCache(void const* ptr, size_t length) noexcept = 0;
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IInt8LegacyCalibrator)

//! A tensor of a layer as one algorithm sees it.
class TRT_DEPRECATED IAlgorithmIOInfo : public INoCopy
{
  public:
    //! \return the element type.
    DataType getDataType() const noexcept
    {
        return mImpl->getDataType();
    }

    //! \return the distance of neighbours along each axis, in elements.
    Dims getStrides() const noexcept
    {
        return mImpl->getStrides();
    }

    //! \return the axis that a vectorized format groups, -1 for none.
    int64_t getVectorizedDim() const noexcept
    {
        return mImpl->getVectorizedDim();
    }

    //! \return how many elements a vectorized format groups, 1 for none.
    int64_t getComponentsPerElement() const noexcept
    {
        return mImpl->getComponentsPerElement();
    }

    //! \return the memory format (8.x).
    TRT_DEPRECATED TensorFormat getTensorFormat() const noexcept
    {
        return mImpl->getTensorFormat();
    }

  protected:
    virtual ~IAlgorithmIOInfo() noexcept = default;

    apiv::VAlgorithmIOInfo* mImpl{nullptr};
};

//! Names an algorithm.
class TRT_DEPRECATED IAlgorithmVariant : public INoCopy
{
  public:
    //! \return the number of the implementation.
    int64_t getImplementation() const noexcept
    {
        return mImpl->getImplementation();
    }

    //! \return the number of the tactic within it.
    int64_t getTactic() const noexcept
    {
        return mImpl->getTactic();
    }

  protected:
    virtual ~IAlgorithmVariant() noexcept = default;

    apiv::VAlgorithmVariant* mImpl{nullptr};
};

//! The layer for which an algorithm is chosen.
class TRT_DEPRECATED IAlgorithmContext : public INoCopy
{
  public:
    //! \return the layer's name.
    char const* getName() const noexcept
    {
        return mImpl->getName();
    }

    //! \return one of the extents of a tensor, inputs first.
    Dims getDimensions(int32_t index, OptProfileSelector select) const noexcept
    {
        return mImpl->getDimensions(index, select);
    }

    //! How many inputs the layer has.
    int32_t getNbInputs() const noexcept
    {
        return mImpl->getNbInputs();
    }

    //! How many outputs the layer has.
    int32_t getNbOutputs() const noexcept
    {
        return mImpl->getNbOutputs();
    }

  protected:
    virtual ~IAlgorithmContext() noexcept = default;

    apiv::VAlgorithmContext* mImpl{nullptr};
};

//! One way to run a layer.
class TRT_DEPRECATED IAlgorithm : public INoCopy
{
  public:
    //! \return its numbers.
    IAlgorithmVariant const& getAlgorithmVariant() const noexcept
    {
        return mImpl->getAlgorithmVariant();
    }

    //! \return its time in milliseconds, where it was measured.
    float getTimingMSec() const noexcept
    {
        return mImpl->getTimingMSec();
    }

    //! \return the bytes of scratch memory that it needs.
    size_t getWorkspaceSize() const noexcept
    {
        return mImpl->getWorkspaceSize();
    }

    //! \return a tensor as the algorithm sees it, inputs first; null out of range.
    IAlgorithmIOInfo const* getAlgorithmIOInfoByIndex(int32_t index) const noexcept
    {
        return mImpl->getAlgorithmIOInfoByIndex(index);
    }

    //! As getAlgorithmIOInfoByIndex(), for an index that exists (8.x).
    TRT_DEPRECATED IAlgorithmIOInfo const& getAlgorithmIOInfo(int32_t index) const noexcept
    {
        return *mImpl->getAlgorithmIOInfoByIndex(index);
    }

  protected:
    virtual ~IAlgorithm() noexcept = default;

    apiv::VAlgorithm* mImpl{nullptr};
};

TENON_V_1_0_BEGIN
//! Takes part in the choice of algorithms; implemented by users.
class TRT_DEPRECATED IAlgorithmSelector : public IVersionedInterface
{
  public:
    ~IAlgorithmSelector() noexcept override = default;

    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"IAlgorithmSelector", 1, 0};
    }

    //! Narrows the choice for one layer.
    //! \param context the layer.
    //! \param choices the algorithms.
    //! \param nbChoices their number.
    //! \param selection receives the indices of those to choose from.
    //! \return how many were written; 0 or less: the builder chooses, but 0 fails under kREJECT_EMPTY_ALGORITHMS.
    virtual int32_t selectAlgorithms(IAlgorithmContext const& context, IAlgorithm const* const* choices,
        int32_t nbChoices, int32_t* selection) noexcept = 0;

    //! Tells what was chosen for all layers.
    virtual void reportAlgorithms(IAlgorithmContext const* const* algoContexts, IAlgorithm const* const* algoChoices,
        int32_t nbAlgorithms) noexcept = 0;
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IAlgorithmSelector)

//! A property of a calibration.
enum class QuantizationFlag : int32_t
{
    //! Find ranges before layers are fused.
    kCALIBRATE_BEFORE_FUSION TRT_DEPRECATED_ENUM = 0,
};

namespace impl
{
template <>
struct EnumMaxImpl<QuantizationFlag>
{
    static constexpr int32_t kVALUE{1};
};
} // namespace impl

//! A set of QuantizationFlag, one bit each.
using QuantizationFlags = uint32_t;

//! Where an engine is going to run.
enum class RuntimePlatform : int32_t
{
    //! On the system that builds it.
    kSAME_AS_BUILD = 0,
    //! On Windows; not available here.
    kWINDOWS_AMD64 = 1,
};

namespace impl
{
template <>
struct EnumMaxImpl<RuntimePlatform>
{
    static constexpr int32_t kVALUE{2};
};
} // namespace impl

//! A switch of a build.
enum class BuilderFlag : int32_t
{
    //! Allow kHALF in a weakly typed network.
    kFP16 TRT_DEPRECATED_ENUM = 0,
    //! Allow kINT8 in a weakly typed network.
    kINT8 TRT_DEPRECATED_ENUM = 1,
    //! Wait after each layer while building, to find the one that fails.
    kDEBUG = 2,
    //! Let layers that DLA cannot run run elsewhere.
    kGPU_FALLBACK = 3,
    //! Make all weights replaceable.
    kREFIT = 4,
    //! Measure without a timing cache.
    kDISABLE_TIMING_CACHE = 5,
    //! Allow products of kFLOAT with 10 mantissa bits on GPUs; on at first, without effect on the CPU.
    kTF32 = 6,
    //! Look for weights with two zeros in each four.
    kSPARSE_WEIGHTS = 7,
    //! Keep to what the safety run-time offers.
    kSAFETY_SCOPE TRT_DEPRECATED_ENUM = 8,
    //! Fail where a layer cannot run in the type asked for.
    kOBEY_PRECISION_CONSTRAINTS TRT_DEPRECATED_ENUM = 9,
    //! Warn where a layer cannot run in the type asked for, and take another.
    kPREFER_PRECISION_CONSTRAINTS TRT_DEPRECATED_ENUM = 10,
    //! Convert no formats at the network's border.
    kDIRECT_IO TRT_DEPRECATED_ENUM = 11,
    //! Fail where an algorithm selector leaves nothing.
    kREJECT_EMPTY_ALGORITHMS TRT_DEPRECATED_ENUM = 12,
    //! Make a plan that later versions can load.
    kVERSION_COMPATIBLE = 13,
    //! Leave the runtime out of such a plan.
    kEXCLUDE_LEAN_RUNTIME = 14,
    //! Allow kFP8 in a weakly typed network.
    kFP8 TRT_DEPRECATED_ENUM = 15,
    //! Fail where the timing cache lacks an entry.
    kERROR_ON_TIMING_CACHE_MISS = 16,
    //! Allow kBF16 in a weakly typed network.
    kBF16 TRT_DEPRECATED_ENUM = 17,
    //! Keep compiled code out of the timing cache.
    kDISABLE_COMPILATION_CACHE = 18,
    //! Leave weights that a refit can supply out of the plan.
    kSTRIP_PLAN = 19,
    //! Older name of kSTRIP_PLAN.
    kWEIGHTLESS TRT_DEPRECATED_ENUM = 19,
    //! Make weights replaceable by the same values only.
    kREFIT_IDENTICAL = 20,
    //! Let weights stay in host memory and come when needed.
    kWEIGHT_STREAMING = 21,
    //! Allow kINT4 in a weakly typed network.
    kINT4 TRT_DEPRECATED_ENUM = 22,
    //! Make only weights replaceable that the network marks.
    kREFIT_INDIVIDUAL = 23,
    //! Allow no simplification that would lose a NaN, such as x - x = 0.
    kSTRICT_NANS = 24,
    //! Report memory use while building.
    kMONITOR_MEMORY = 25,
    //! Allow kFP4 in a weakly typed network.
    kFP4 TRT_DEPRECATED_ENUM = 26,
    //! Let the timing cache be read and changed entry by entry.
    kEDITABLE_TIMING_CACHE = 27,
    //! Make a result along an axis such as the batch independent of the other entries.
    kDISTRIBUTIVE_INDEPENDENCE = 28,
    //! kPREFER_PRECISION_CONSTRAINTS, kDIRECT_IO and kREJECT_EMPTY_ALGORITHMS together (8.x); a number of its own.
    kSTRICT_TYPES TRT_DEPRECATED_ENUM = 30,
    //! Accepted and ignored (8.x); a number of its own.
    kENABLE_TACTIC_HEURISTIC TRT_DEPRECATED_ENUM = 31,
};

namespace impl
{
template <>
struct EnumMaxImpl<BuilderFlag>
{
    static constexpr int32_t kVALUE{29};
};
} // namespace impl

//! A set of BuilderFlag, one bit each.
using BuilderFlags = uint32_t;

TENON_V_1_0_BEGIN
//! Names an entry of a timing cache.
struct TimingCacheKey
{
    //! The 128 bits of the key.
    uint8_t data[16];
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(TimingCacheKey)

TENON_V_1_0_BEGIN
//! What a timing cache knows about one problem.
struct TimingCacheValue
{
    //! Stands for no tactic.
    static constexpr uint64_t kINVALID_TACTIC_HASH{UINT64_MAX};
    //! The tactic that was the fastest.
    uint64_t tacticHash;
    //! Its time in milliseconds.
    float timingMSec;
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(TimingCacheValue)

//! Keeps measurements from one build to the next; made by IBuilderConfig::createTimingCache() and destroyed with
//! delete.
class ITimingCache : public INoCopy
{
  public:
    virtual ~ITimingCache() noexcept = default;

    //! \return the cache as a block of bytes, to be destroyed with delete.
    IHostMemory* serialize() const noexcept
    {
        return mImpl->serialize();
    }

    //! Takes over the entries of another cache; where both have one, this one's stays.
    //! \param ignoreMismatch whether entries from another device are taken, too.
    //! \return false when the other cache is from another version, or another device and that is not ignored.
    bool combine(ITimingCache const& inputCache, bool ignoreMismatch) noexcept
    {
        return mImpl->combine(inputCache, ignoreMismatch);
    }

    //! Takes all entries out of the cache.
    //! \return whether that was possible.
    bool reset() noexcept
    {
        return mImpl->reset();
    }

    //! Lists the keys of all entries.
    //! \param keyBuffer receives up to capacity of them; may be null when capacity is 0.
    //! \return how many there are, -1 on failure.
    int64_t queryKeys(TimingCacheKey* keyBuffer, int64_t capacity) const noexcept
    {
        return mImpl->queryKeys(keyBuffer, capacity);
    }

    //! \return what is known about a key; with kINVALID_TACTIC_HASH for an unknown one.
    TimingCacheValue query(TimingCacheKey const& key) const noexcept
    {
        return mImpl->query(key);
    }

    //! Changes an entry; a time that is not a number removes it.
    //! \return false for an unknown key or an invalid value.
    bool update(TimingCacheKey const& key, TimingCacheValue const& value) noexcept
    {
        return mImpl->update(key, value);
    }

  protected:
    apiv::VTimingCache* mImpl{nullptr};
};

//! A kind of memory whose use can be limited.
enum class MemoryPoolType : int32_t
{
    //! Scratch memory of a layer; no limit but the device's memory at first.
    kWORKSPACE = 0,
    //! Fast memory of DLA.
    kDLA_MANAGED_SRAM = 1,
    //! Host memory of DLA for tensors.
    kDLA_LOCAL_DRAM = 2,
    //! Host memory of DLA for weights.
    kDLA_GLOBAL_DRAM = 3,
    //! Memory that a tactic may use while it is measured.
    kTACTIC_DRAM = 4,
    //! Shared memory that a GPU kernel may use.
    kTACTIC_SHARED_MEMORY = 5,
};

namespace impl
{
template <>
struct EnumMaxImpl<MemoryPoolType>
{
    static constexpr int32_t kVALUE{6};
};
} // namespace impl

//! A feature to be tried before it becomes ordinary.
enum class PreviewFeature : int32_t
{
    //! Contexts may share a profile; always on.
    kPROFILE_SHARING_0806 TRT_DEPRECATED_ENUM = 0,
    //! Plugin outputs may share an input's memory.
    kALIASED_PLUGIN_IO_10_03 = 1,
    //! IExecutionContext::updateDeviceMemorySizeForShapes() may answer with less than the profile's bound.
    kRUNTIME_ACTIVATION_RESIZE_10_10 = 2,
    //! Networks may have collective layers.
    kMULTIDEVICE_RUNTIME_10_16 = 3,
    //! Accepted and ignored (8.x); a number of its own.
    kFASTER_DYNAMIC_SHAPES_0805 TRT_DEPRECATED_ENUM = 1000,
    //! Accepted and ignored (8.x); a number of its own.
    kDISABLE_EXTERNAL_TACTIC_SOURCES_FOR_CORE_0805 TRT_DEPRECATED_ENUM = 1001,
};

namespace impl
{
template <>
struct EnumMaxImpl<PreviewFeature>
{
    static constexpr int32_t kVALUE{4};
};
} // namespace impl

//! On which GPUs an engine can run.
enum class HardwareCompatibilityLevel : int32_t
{
    //! On the kind that built it.
    kNONE = 0,
    //! On those of the Ampere generation and later.
    kAMPERE_PLUS = 1,
    //! On those of the same compute capability.
    kSAME_COMPUTE_CAPABILITY = 2,
};

namespace impl
{
template <>
struct EnumMaxImpl<HardwareCompatibilityLevel>
{
    static constexpr int32_t kVALUE{3};
};
} // namespace impl

//! How hard the builder looks for ways to keep data in the GPU's cache across layers.
enum class TilingOptimizationLevel : int32_t
{
    //! Not at all.
    kNONE = 0,
    //! A quick look.
    kFAST = 1,
    //! A longer look.
    kMODERATE = 2,
    //! As far as it goes.
    kFULL = 3,
};

namespace impl
{
template <>
struct EnumMaxImpl<TilingOptimizationLevel>
{
    static constexpr int32_t kVALUE{4};
};
} // namespace impl

TENON_V_1_0_BEGIN
//! Follows a build and can end it; implemented by users. Calls may come from several threads; phases may lie within
//! others.
class IProgressMonitor : public IVersionedInterface
{
  public:
    IProgressMonitor() = default;

    ~IProgressMonitor() noexcept override = default;

    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"IProgressMonitor", 1, 0};
    }

    //! A phase begins.
    //! \param phaseName the phase; valid during the call only, as all names here.
    //! \param parentPhase the phase that it is part of, or null.
    //! \param nbSteps how many steps it has, at least 1.
    virtual void phaseStart(char const* phaseName, char const* parentPhase, int32_t nbSteps) noexcept = 0;

    //! A step is done.
    //! \param phaseName the phase.
    //! \param step the step, from 0 upwards.
    //! \return false to cancel the build, which then gives null; phases still finish.
    virtual bool stepComplete(char const* phaseName, int32_t step) noexcept = 0;

    //! A phase is over, also when steps of it did not happen.
    virtual void phaseFinish(char const* phaseName) noexcept = 0;
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IProgressMonitor)

//! How to build a plan from a network; made by IBuilder::createBuilderConfig() and destroyed with delete. One
//! configuration serves several networks.
class IBuilderConfig : public INoCopy
{
  public:
    virtual ~IBuilderConfig() noexcept = default;

    //! Sets how often a kernel runs for one measurement. 1 at first.
    virtual void setAvgTimingIterations(int32_t avgTiming) noexcept
    {
        mImpl->setAvgTimingIterations(avgTiming);
    }

    //! Returns how often a kernel runs for one measurement.
    int32_t getAvgTimingIterations() const noexcept
    {
        return mImpl->getAvgTimingIterations();
    }

    //! Sets the kind of engine. kSTANDARD at first; nothing else is available here.
    void setEngineCapability(EngineCapability capability) noexcept
    {
        mImpl->setEngineCapability(capability);
    }

    //! Returns the kind of engine.
    EngineCapability getEngineCapability() const noexcept
    {
        return mImpl->getEngineCapability();
    }

    //! Sets the calibrator of a weakly typed network; null for none.
    TRT_DEPRECATED void setInt8Calibrator(IInt8Calibrator* calibrator) noexcept
    {
        mImpl->setInt8Calibrator(calibrator);
    }

    //! \return the calibrator, or null.
    TRT_DEPRECATED IInt8Calibrator* getInt8Calibrator() const noexcept
    {
        return mImpl->getInt8Calibrator();
    }

    //! Sets the flags, a set of BuilderFlag. Replaces all of them; kTF32 alone is set at first.
    void setFlags(BuilderFlags builderFlags) noexcept
    {
        mImpl->setFlags(builderFlags);
    }

    //! Returns the flags, a set of BuilderFlag.
    BuilderFlags getFlags() const noexcept
    {
        return mImpl->getFlags();
    }

    //! Takes one flag away.
    void clearFlag(BuilderFlag builderFlag) noexcept
    {
        mImpl->clearFlag(builderFlag);
    }

    //! Adds one flag.
    void setFlag(BuilderFlag builderFlag) noexcept
    {
        mImpl->setFlag(builderFlag);
    }

    //! \return whether a flag is set.
    bool getFlag(BuilderFlag builderFlag) const noexcept
    {
        return mImpl->getFlag(builderFlag);
    }

    //! Sets the kind of device for one layer.
    void setDeviceType(ILayer const* layer, DeviceType deviceType) noexcept
    {
        mImpl->setDeviceType(layer, deviceType);
    }

    //! \return the kind of device for one layer.
    DeviceType getDeviceType(ILayer const* layer) const noexcept
    {
        return mImpl->getDeviceType(layer);
    }

    //! Whether a kind of device was set for the layer.
    bool isDeviceTypeSet(ILayer const* layer) const noexcept
    {
        return mImpl->isDeviceTypeSet(layer);
    }

    //! Lets the layer follow the default again.
    void resetDeviceType(ILayer const* layer) noexcept
    {
        mImpl->resetDeviceType(layer);
    }

    //! Whether DLA could run the layer; false here.
    bool canRunOnDLA(ILayer const* layer) const noexcept
    {
        return mImpl->canRunOnDLA(layer);
    }

    //! Sets the DLA core that the engine is for. There is none here.
    void setDLACore(int32_t dlaCore) noexcept
    {
        mImpl->setDLACore(dlaCore);
    }

    //! Returns the DLA core that the engine is for.
    int32_t getDLACore() const noexcept
    {
        return mImpl->getDLACore();
    }

    //! Sets the kind of device for layers without one of their own. kGPU at first.
    void setDefaultDeviceType(DeviceType deviceType) noexcept
    {
        mImpl->setDefaultDeviceType(deviceType);
    }

    //! Returns the kind of device for layers without one of their own.
    DeviceType getDefaultDeviceType() const noexcept
    {
        return mImpl->getDefaultDeviceType();
    }

    //! Restores every default.
    void reset() noexcept
    {
        mImpl->reset();
    }

    //! Sets the stream on which kernels are measured. The default stream at first. Builds wait for it before they
    //! return.
    void setProfileStream(cudaStream_t const stream) noexcept
    {
        mImpl->setProfileStream(stream);
    }

    //! Returns the stream on which kernels are measured.
    cudaStream_t getProfileStream() const noexcept
    {
        return mImpl->getProfileStream();
    }

    //! Adds a profile of ranges for inputs with run-time extents.
    //! \param profile stays the builder's; it must be complete.
    //! \return its index from 0 upwards, -1 when it is not complete.
    int32_t addOptimizationProfile(IOptimizationProfile const* profile) noexcept
    {
        return mImpl->addOptimizationProfile(profile);
    }

    //! How many profiles were added.
    int32_t getNbOptimizationProfiles() const noexcept
    {
        return mImpl->getNbOptimizationProfiles();
    }

    //! Sets how much the engine keeps about its layers. kLAYER_NAMES_ONLY at first.
    void setProfilingVerbosity(ProfilingVerbosity verbosity) noexcept
    {
        mImpl->setProfilingVerbosity(verbosity);
    }

    //! Returns how much the engine keeps about its layers.
    ProfilingVerbosity getProfilingVerbosity() const noexcept
    {
        return mImpl->getProfilingVerbosity();
    }

    //! Sets who takes part in the choice of algorithms; null for nobody.
    TRT_DEPRECATED void setAlgorithmSelector(IAlgorithmSelector* selector) noexcept
    {
        mImpl->setAlgorithmSelector(selector);
    }

    //! \return the selector, or null.
    TRT_DEPRECATED IAlgorithmSelector* getAlgorithmSelector() const noexcept
    {
        return mImpl->getAlgorithmSelector();
    }

    //! Sets the profile whose shapes calibration uses.
    //! \return whether it was taken.
    TRT_DEPRECATED bool setCalibrationProfile(IOptimizationProfile const* profile) noexcept
    {
        return mImpl->setCalibrationProfile(profile);
    }

    //! \return the profile for calibration, or null.
    TRT_DEPRECATED IOptimizationProfile const* getCalibrationProfile() noexcept
    {
        return mImpl->getCalibrationProfile();
    }

    //! Replaces all flags by a set of QuantizationFlag.
    TRT_DEPRECATED void setQuantizationFlags(QuantizationFlags flags) noexcept
    {
        mImpl->setQuantizationFlags(flags);
    }

    //! \return those flags.
    TRT_DEPRECATED QuantizationFlags getQuantizationFlags() const noexcept
    {
        return mImpl->getQuantizationFlags();
    }

    //! Takes one of those flags away.
    TRT_DEPRECATED void clearQuantizationFlag(QuantizationFlag flag) noexcept
    {
        mImpl->clearQuantizationFlag(flag);
    }

    //! Adds one of those flags.
    TRT_DEPRECATED void setQuantizationFlag(QuantizationFlag flag) noexcept
    {
        mImpl->setQuantizationFlag(flag);
    }

    //! \return whether one of those flags is set.
    TRT_DEPRECATED bool getQuantizationFlag(QuantizationFlag flag) const noexcept
    {
        return mImpl->getQuantizationFlag(flag);
    }

    //! Sets where kernels may come from, a set of TacticSource.
    //! \return false, with nothing changed, for a bit that is no source.
    bool setTacticSources(TacticSources tacticSources) noexcept
    {
        return mImpl->setTacticSources(tacticSources);
    }

    //! \return the sources.
    TacticSources getTacticSources() const noexcept
    {
        return mImpl->getTacticSources();
    }

    //! Makes a timing cache, which holds what builds by time have measured.
    //! \param blob what ITimingCache::serialize() gave, or null.
    //! \param size its bytes; 0 for an empty cache.
    //! \return the cache, to be destroyed with delete, also after the configuration; null when the bytes do not fit.
    ITimingCache* createTimingCache(void const* blob, size_t size) const noexcept
    {
        return mImpl->createTimingCache(blob, size);
    }

    //! Sets the cache that builds use and fill; it must outlive them.
    //! \param ignoreMismatch whether a cache from another device is taken, too.
    //! \return false when it is from another version, or from another device and that is not ignored.
    bool setTimingCache(ITimingCache const& cache, bool ignoreMismatch) noexcept
    {
        return mImpl->setTimingCache(cache, ignoreMismatch);
    }

    //! \return the cache, or null.
    ITimingCache const* getTimingCache() const noexcept
    {
        return mImpl->getTimingCache();
    }

    //! Sets how many bytes of a kind of memory may be used; reports kINVALID_ARGUMENT, with nothing changed, when that
    //! is too little for the kind, kUNSUPPORTED_STATE when it is too much.
    void setMemoryPoolLimit(MemoryPoolType pool, size_t poolSize) noexcept
    {
        mImpl->setMemoryPoolLimit(pool, poolSize);
    }

    //! \return the limit in bytes.
    size_t getMemoryPoolLimit(MemoryPoolType pool) const noexcept
    {
        return mImpl->getMemoryPoolLimit(pool);
    }

    //! Turns a feature on or off.
    void setPreviewFeature(PreviewFeature feature, bool enable) noexcept
    {
        mImpl->setPreviewFeature(feature, enable);
    }

    //! \return whether a feature is on.
    bool getPreviewFeature(PreviewFeature feature) const noexcept
    {
        return mImpl->getPreviewFeature(feature);
    }

    //! Sets how long a build may search, from 0 to 5; larger numbers count as 5. 3 at first.
    void setBuilderOptimizationLevel(int32_t level) noexcept
    {
        mImpl->setBuilderOptimizationLevel(level);
    }

    //! \return that level.
    int32_t getBuilderOptimizationLevel() noexcept
    {
        return mImpl->getBuilderOptimizationLevel();
    }

    //! Sets on which GPUs the engine can run. kNONE at first.
    void setHardwareCompatibilityLevel(HardwareCompatibilityLevel hardwareCompatibilityLevel) noexcept
    {
        mImpl->setHardwareCompatibilityLevel(hardwareCompatibilityLevel);
    }

    //! Returns on which GPUs the engine can run.
    HardwareCompatibilityLevel getHardwareCompatibilityLevel() const noexcept
    {
        return mImpl->getHardwareCompatibilityLevel();
    }

    //! Sets the plugin libraries that the plan is to carry.
    //! \param paths the files, each once; copied.
    //! \param nbPaths their number.
    void setPluginsToSerialize(char const* const* paths, int32_t nbPaths) noexcept
    {
        mImpl->setPluginsToSerialize(paths, nbPaths);
    }

    //! \return one of those files; null out of range.
    char const* getPluginToSerialize(int32_t index) const noexcept
    {
        return mImpl->getPluginToSerialize(index);
    }

    //! How many there are.
    int32_t getNbPluginsToSerialize() const noexcept
    {
        return mImpl->getNbPluginsToSerialize();
    }

#if TENON_COMPAT_11
    //! Sets how many streams beside the caller's a run may use. -1 at first: the builder decides.
    //! \return whether the number was taken; a negative one is refused with an error.
    __attribute__((abi_tag("compat11"))) bool setMaxAuxStreams(int32_t nbStreams) noexcept
    {
        mImpl->setMaxAuxStreams(nbStreams);
        return mImpl->getMaxAuxStreams() == nbStreams;
    }
#else
    //! Sets how many streams beside the caller's a run may use. -1 at first: the builder decides. A negative number is
    //! refused with an error.
    void setMaxAuxStreams(int32_t nbStreams) noexcept
    {
        mImpl->setMaxAuxStreams(nbStreams);
    }
#endif

    //! Returns how many streams beside the caller's a run may use.
    int32_t getMaxAuxStreams() const noexcept
    {
        return mImpl->getMaxAuxStreams();
    }

    //! Chooses one of the ways to build that getAllBuildRoutes() lists (11.1); null or empty: the standard one.
    //! \return whether there is such a way.
    bool setBuildRoute(char const* route) noexcept
    {
        return mImpl->setBuildRoute(route);
    }

    //! \return the way to build that is taken (11.1).
    char const* getBuildRoute() const noexcept
    {
        return mImpl->getBuildRoute();
    }

    //! \return all ways to build, separated by commas (11.1).
    char const* getAllBuildRoutes() const noexcept
    {
        return mImpl->getAllBuildRoutes();
    }

    //! Sets who follows the build; null for nobody.
    void setProgressMonitor(IProgressMonitor* monitor) noexcept
    {
        mImpl->setProgressMonitor(monitor);
    }

    //! \return the monitor, or null.
    IProgressMonitor* getProgressMonitor() const noexcept
    {
        return mImpl->getProgressMonitor();
    }

    //! Sets where the engine is going to run. kSAME_AS_BUILD at first.
    void setRuntimePlatform(RuntimePlatform runtimePlatform) noexcept
    {
        mImpl->setRuntimePlatform(runtimePlatform);
    }

    //! Returns where the engine is going to run.
    RuntimePlatform getRuntimePlatform() const noexcept
    {
        return mImpl->getRuntimePlatform();
    }

    //! Sets how many kernels are measured per layer. -1 at first: the builder decides.
    void setMaxNbTactics(int32_t maxNbTactics) noexcept
    {
        mImpl->setMaxNbTactics(maxNbTactics);
    }

    //! Returns how many kernels are measured per layer.
    int32_t getMaxNbTactics() const noexcept
    {
        return mImpl->getMaxNbTactics();
    }

    //! Sets how hard to look for tilings; kNONE at first.
    //! \return whether it was taken.
    bool setTilingOptimizationLevel(TilingOptimizationLevel level) noexcept
    {
        return mImpl->setTilingOptimizationLevel(level);
    }

    //! \return that level.
    TilingOptimizationLevel getTilingOptimizationLevel() const noexcept
    {
        return mImpl->getTilingOptimizationLevel();
    }

    //! Sets how many bytes of the GPU's cache tilings may use.
    //! \return whether it was taken.
    bool setL2LimitForTiling(int64_t size) noexcept
    {
        return mImpl->setL2LimitForTiling(size);
    }

    //! \return that number.
    int64_t getL2LimitForTiling() const noexcept
    {
        return mImpl->getL2LimitForTiling();
    }

    //! Sets where kernels are measured instead of here.
    //! \return whether it was taken; false, with an error, for all but an empty text: kernels are measured here.
    bool setRemoteAutoTuningConfig(char const* config) noexcept
    {
        return mImpl->setRemoteAutoTuningConfig(config);
    }

    //! \return that setting: an empty text.
    char const* getRemoteAutoTuningConfig() const noexcept
    {
        return mImpl->getRemoteAutoTuningConfig();
    }

    //! Sets how often a kernel runs at least (8.x).
    TRT_DEPRECATED virtual void setMinTimingIterations(int32_t minTiming) noexcept
    {
        mImpl->setMinTimingIterations(minTiming);
    }

    //! \return how often a kernel runs at least (8.x).
    TRT_DEPRECATED virtual int32_t getMinTimingIterations() const noexcept
    {
        return mImpl->getMinTimingIterations();
    }

    //! Sets the limit of kWORKSPACE (8.x). Use setMemoryPoolLimit().
    TRT_DEPRECATED void setMaxWorkspaceSize(size_t workspaceSize) noexcept
    {
        setMemoryPoolLimit(MemoryPoolType::kWORKSPACE, workspaceSize);
    }

    //! \return the limit of kWORKSPACE (8.x). Use getMemoryPoolLimit().
    TRT_DEPRECATED size_t getMaxWorkspaceSize() const noexcept
    {
        return getMemoryPoolLimit(MemoryPoolType::kWORKSPACE);
    }

    //! The same as delete, as 8.x wrote it.
    TRT_DEPRECATED void destroy() noexcept
    {
        delete this;
    }

  protected:
    apiv::VBuilderConfig* mImpl{nullptr};
};

//! Makes networks, configurations and profiles, and builds plans from them. Made by createInferBuilder() and destroyed
//! with delete; what it made keeps what it needs of it.
class IBuilder : public INoCopy
{
  public:
    virtual ~IBuilder() noexcept = default;

    //! Whether kHALF is fast on the device.
    TRT_DEPRECATED bool platformHasFastFp16() const noexcept
    {
        return mImpl->platformHasFastFp16();
    }

    //! Whether kINT8 is fast on the device.
    TRT_DEPRECATED bool platformHasFastInt8() const noexcept
    {
        return mImpl->platformHasFastInt8();
    }

    //! \return the largest batch of DLA; 0 here.
    int32_t getMaxDLABatchSize() const noexcept
    {
        return mImpl->getMaxDLABatchSize();
    }

    //! How many DLA cores there are; 0 here.
    int32_t getNbDLACores() const noexcept
    {
        return mImpl->getNbDLACores();
    }

    //! Sets where builds take device memory from; null restores the library's own allocator.
    void setGpuAllocator(IGpuAllocator* allocator) noexcept
    {
        mImpl->setGpuAllocator(allocator);
    }

    //! \return a configuration with all defaults, to be destroyed with delete; null on failure.
    IBuilderConfig* createBuilderConfig() noexcept
    {
        return mImpl->createBuilderConfig();
    }

#if TENON_COMPAT_8
    // Without kEXPLICIT_BATCH, code of 8.x means an implicit batch.
    TENON_COMPAT_8_TAG INetworkDefinition* createNetworkV2(NetworkDefinitionCreationFlags flags) noexcept
    {
        return mImpl->createNetworkV2(flags | impl::kCOMPAT_8_NETWORK);
    }
#else
    //! Makes an empty network.
    //! \param flags a set of NetworkDefinitionCreationFlag, one bit each.
    //! \return the network, to be destroyed with delete; null on failure.
    INetworkDefinition* createNetworkV2(NetworkDefinitionCreationFlags flags) noexcept
    {
        return mImpl->createNetworkV2(flags);
    }
#endif

    //! \return an empty profile, owned by the builder.
    IOptimizationProfile* createOptimizationProfile() noexcept
    {
        return mImpl->createOptimizationProfile();
    }

    //! Sets where errors of the builder and of what it makes from now on go; null lets the recorder go.
    void setErrorRecorder(IErrorRecorder* recorder) noexcept
    {
        mImpl->setErrorRecorder(recorder);
    }

    //! \return the recorder, or null.
    IErrorRecorder* getErrorRecorder() const noexcept
    {
        return mImpl->getErrorRecorder();
    }

    //! Restores every default.
    void reset() noexcept
    {
        mImpl->reset();
    }

    //! Whether the device multiplies kFLOAT with 10 mantissa bits.
    TRT_DEPRECATED bool platformHasTf32() const noexcept
    {
        return mImpl->platformHasTf32();
    }

    //! Builds a plan; the weights' values are read now.
    //! \param network has at least one output.
    //! \param config how to build; it needs a profile when inputs have run-time extents.
    //! \return the plan, to be destroyed with delete; null on failure or when a progress monitor cancels. The reason
    //! goes to recorder and logger.
    IHostMemory* buildSerializedNetwork(INetworkDefinition& network, IBuilderConfig& config) noexcept
    {
        return mImpl->buildSerializedNetwork(network, config);
    }

    //! Builds a plan and writes it piece by piece.
    //! \param writer takes the plan during the call and is never deleted.
    //! \return false on failure, also when the writer takes less than it is given.
    bool buildSerializedNetworkToStream(
        INetworkDefinition& network, IBuilderConfig& config, IStreamWriter& writer) noexcept
    {
        return mImpl->buildSerializedNetworkToStream(network, config, writer);
    }

    //! Builds a plan and, for safety engines, the text of its kernels. This library builds no safety engines.
    //! \param kernelText receives the text, to be destroyed with delete, or null: for a standard engine there is none.
    //! \return the plan, to be destroyed with delete; null on failure.
    IHostMemory* buildSerializedNetwork(
        INetworkDefinition& network, IBuilderConfig& config, IHostMemory*& kernelText) noexcept
    {
        return mImpl->buildSerializedNetworkWithKernelText(network, config, kernelText);
    }

    //! Builds an engine without writing a plan.
    //! \return the engine, to be destroyed with delete; null on failure.
    ICudaEngine* buildEngineWithConfig(INetworkDefinition& network, IBuilderConfig& config) noexcept
    {
        return mImpl->buildEngineWithConfig(network, config);
    }

    //! Whether nothing speaks against building; a build can still fail.
    bool isNetworkSupported(INetworkDefinition const& network, IBuilderConfig const& config) const noexcept
    {
        return mImpl->isNetworkSupported(network, config);
    }

    //! \return the logger that the builder was made with.
    ILogger* getLogger() const noexcept
    {
        return mImpl->getLogger();
    }

    //! Sets how many threads, the caller's included, may build.
    //! \return false, with kINVALID_ARGUMENT, for a number below 1.
    bool setMaxThreads(int32_t maxThreads) noexcept
    {
        return mImpl->setMaxThreads(maxThreads);
    }

    //! \return the number last set, 1 before.
    int32_t getMaxThreads() const noexcept
    {
        return mImpl->getMaxThreads();
    }

    //! \return the builder's own registry, searched before that of the process.
    IPluginRegistry& getPluginRegistry() noexcept
    {
        return mImpl->getPluginRegistry();
    }

    //! Sets the largest batch of implicit-batch networks (8.x). A builder that got one builds networks made without
    //! kEXPLICIT_BATCH with an implicit batch. Refused when below 1.
    TRT_DEPRECATED void setMaxBatchSize(int32_t batchSize) noexcept
    {
        mImpl->setMaxBatchSize(batchSize);
    }

    //! \return the largest batch of implicit-batch networks (8.x), 1 at first.
    TRT_DEPRECATED int32_t getMaxBatchSize() const noexcept
    {
        return mImpl->getMaxBatchSize();
    }

    //! The same as delete, as 8.x wrote it.
    TRT_DEPRECATED void destroy() noexcept
    {
        delete this;
    }

  protected:
    apiv::VBuilder* mImpl{nullptr};
};
} // namespace nvinfer1

//! Makes a builder; createInferBuilder() calls this with the version of its headers.
//! \return an IBuilder*, or null when logger is null or the version is not one that the library serves.
extern "C" TENSORRTAPI void* createInferBuilder_INTERNAL(void* logger, int32_t version) noexcept;

namespace nvinfer1
{
namespace
{
//! Makes a builder, the object that networks, configurations and plans come from.
//! \param logger receives its messages and those of all its children, and must outlive them.
//! \return the builder, to be destroyed with delete; null on failure.
inline IBuilder* createInferBuilder(ILogger& logger) noexcept
{
    return static_cast<IBuilder*>(createInferBuilder_INTERNAL(&logger, static_cast<int32_t>(NV_TENSORRT_VERSION)));
}
} // namespace

//! The registry that the builder searches for plugins.
//! \return the process's registry for kSTANDARD, null for every other capability.
extern "C" TENSORRTAPI IPluginRegistry* getBuilderPluginRegistry(EngineCapability capability) noexcept;

namespace safe
{
class IPluginRegistry;
} // namespace safe

//! The registry of the safety run-time, which does not exist here.
//! \return null.
extern "C" TRT_DEPRECATED_API safe::IPluginRegistry* getBuilderSafePluginRegistry(EngineCapability capability) noexcept;

//! Names the folder in which the library looks for parts of itself that it loads when needed.
//! \return whether the path was taken.
extern "C" TENSORRTAPI bool setInternalLibraryPath(AsciiChar const* path) noexcept;
} // namespace nvinfer1

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#endif // NV_INFER_H
