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

enum class LayerType : int32_t
{
    kCONVOLUTION = 0,
    kCAST = 1,
    kACTIVATION = 2,
    kPOOLING = 3,
    kLRN = 4,
    kSCALE = 5,
    kSOFTMAX = 6,
    kDECONVOLUTION = 7,
    kCONCATENATION = 8,
    kELEMENTWISE = 9,
    kPLUGIN = 10,
    kUNARY = 11,
    kPADDING = 12,
    kSHUFFLE = 13,
    kREDUCE = 14,
    kTOPK = 15,
    kGATHER = 16,
    kMATRIX_MULTIPLY = 17,
    kRAGGED_SOFTMAX = 18,
    kCONSTANT = 19,
    kIDENTITY = 20,
    kPLUGIN_V2 = 21,
    kSLICE = 22,
    kSHAPE = 23,
    kPARAMETRIC_RELU = 24,
    kRESIZE = 25,
    kTRIP_LIMIT = 26,
    kRECURRENCE = 27,
    kITERATOR = 28,
    kLOOP_OUTPUT = 29,
    kSELECT = 30,
    kFILL = 31,
    kQUANTIZE = 32,
    kDEQUANTIZE = 33,
    kCONDITION = 34,
    kCONDITIONAL_INPUT = 35,
    kCONDITIONAL_OUTPUT = 36,
    kSCATTER = 37,
    kEINSUM = 38,
    kASSERTION = 39,
    kONE_HOT = 40,
    kNON_ZERO = 41,
    kGRID_SAMPLE = 42,
    kNMS = 43,
    kREVERSE_SEQUENCE = 44,
    kNORMALIZATION = 45,
    kPLUGIN_V3 = 46,
    kSQUEEZE = 47,
    kUNSQUEEZE = 48,
    kCUMULATIVE = 49,
    kDYNAMIC_QUANTIZE = 50,
    kATTENTION_INPUT = 51,
    kATTENTION_OUTPUT = 52,
    kROTARY_EMBEDDING = 53,
    kKVCACHE_UPDATE = 54,
    kMOE = 55,
    kDIST_COLLECTIVE = 56,
    kFULLY_CONNECTED TRT_DEPRECATED_ENUM = 1000,
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

class ITensor : public INoCopy
{
  public:
    void setName(char const* name) noexcept
    {
        mImpl->setName(name);
    }

    char const* getName() const noexcept
    {
        return mImpl->getName();
    }

    void setDimensions(Dims const& dimensions) noexcept
    {
        mImpl->setDimensions(dimensions);
    }

    Dims getDimensions() const noexcept
    {
        return mImpl->getDimensions();
    }

    TRT_DEPRECATED void setType(DataType type) noexcept
    {
        mImpl->setType(type);
    }

    DataType getType() const noexcept
    {
        return mImpl->getType();
    }

    TRT_DEPRECATED bool setDynamicRange(float min, float max) noexcept
    {
        return mImpl->setDynamicRange(min, max);
    }

    bool isNetworkInput() const noexcept
    {
        return mImpl->isNetworkInput();
    }

    bool isNetworkOutput() const noexcept
    {
        return mImpl->isNetworkOutput();
    }

    TRT_DEPRECATED void setBroadcastAcrossBatch(bool broadcastAcrossBatch) noexcept
    {
        mImpl->setBroadcastAcrossBatch(broadcastAcrossBatch);
    }

    TRT_DEPRECATED bool getBroadcastAcrossBatch() const noexcept
    {
        return mImpl->getBroadcastAcrossBatch();
    }

    TensorLocation getLocation() const noexcept
    {
        return mImpl->getLocation();
    }

    TRT_DEPRECATED void setLocation(TensorLocation location) noexcept
    {
        mImpl->setLocation(location);
    }

    TRT_DEPRECATED bool dynamicRangeIsSet() const noexcept
    {
        return mImpl->dynamicRangeIsSet();
    }

    void resetDynamicRange() noexcept
    {
        mImpl->resetDynamicRange();
    }

    float getDynamicRangeMin() const noexcept
    {
        return mImpl->getDynamicRangeMin();
    }

    float getDynamicRangeMax() const noexcept
    {
        return mImpl->getDynamicRangeMax();
    }

    void setAllowedFormats(TensorFormats formats) noexcept
    {
        mImpl->setAllowedFormats(formats);
    }

    TensorFormats getAllowedFormats() const noexcept
    {
        return mImpl->getAllowedFormats();
    }

    bool isShapeTensor() const noexcept
    {
        return mImpl->isShapeTensor();
    }

    bool isExecutionTensor() const noexcept
    {
        return mImpl->isExecutionTensor();
    }

    void setDimensionName(int32_t index, char const* name) noexcept
    {
        mImpl->setDimensionName(index, name);
    }

    char const* getDimensionName(int32_t index) const noexcept
    {
        return mImpl->getDimensionName(index);
    }

  protected:
    virtual ~ITensor() noexcept = default;

    apiv::VTensor* mImpl{nullptr};
};

class ILayer : public INoCopy
{
  public:
    LayerType getType() const noexcept
    {
        return mLayer->getType();
    }

    void setName(char const* name) noexcept
    {
        mLayer->setName(name);
    }

    char const* getName() const noexcept
    {
        return mLayer->getName();
    }

    int32_t getNbInputs() const noexcept
    {
        return mLayer->getNbInputs();
    }

    ITensor* getInput(int32_t index) const noexcept
    {
        return mLayer->getInput(index);
    }

    int32_t getNbOutputs() const noexcept
    {
        return mLayer->getNbOutputs();
    }

    ITensor* getOutput(int32_t index) const noexcept
    {
        return mLayer->getOutput(index);
    }

    void setInput(int32_t index, ITensor& tensor) noexcept
    {
        mLayer->setInput(index, tensor);
    }

    TRT_DEPRECATED void setPrecision(DataType dataType) noexcept
    {
        mLayer->setPrecision(dataType);
    }

    DataType getPrecision() const noexcept
    {
        return mLayer->getPrecision();
    }

    TRT_DEPRECATED bool precisionIsSet() const noexcept
    {
        return mLayer->precisionIsSet();
    }

    TRT_DEPRECATED void resetPrecision() noexcept
    {
        mLayer->resetPrecision();
    }

    TRT_DEPRECATED void setOutputType(int32_t index, DataType dataType) noexcept
    {
        mLayer->setOutputType(index, dataType);
    }

    DataType getOutputType(int32_t index) const noexcept
    {
        return mLayer->getOutputType(index);
    }

    TRT_DEPRECATED bool outputTypeIsSet(int32_t index) const noexcept
    {
        return mLayer->outputTypeIsSet(index);
    }

    TRT_DEPRECATED void resetOutputType(int32_t index) noexcept
    {
        mLayer->resetOutputType(index);
    }

    void setMetadata(char const* metadata) noexcept
    {
        mLayer->setMetadata(metadata);
    }

    char const* getMetadata() const noexcept
    {
        return mLayer->getMetadata();
    }

    bool setNbRanks(int32_t nbRanks) noexcept
    {
        return mLayer->setNbRanks(nbRanks);
    }

    int32_t getNbRanks() const noexcept
    {
        return mLayer->getNbRanks();
    }

  protected:
    virtual ~ILayer() noexcept = default;

    apiv::VLayer* mLayer{nullptr};
};

enum class PaddingMode : int32_t
{
    kEXPLICIT_ROUND_DOWN = 0,
    kEXPLICIT_ROUND_UP = 1,
    kSAME_UPPER = 2,
    kSAME_LOWER = 3,
    kCAFFE_ROUND_DOWN TRT_DEPRECATED_ENUM = 4,
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

class IConvolutionLayer : public ILayer
{
  public:
    void setNbOutputMaps(int64_t nbOutputMaps) noexcept
    {
        mImpl->setNbOutputMaps(nbOutputMaps);
    }

    int64_t getNbOutputMaps() const noexcept
    {
        return mImpl->getNbOutputMaps();
    }

    void setNbGroups(int64_t nbGroups) noexcept
    {
        mImpl->setNbGroups(nbGroups);
    }

    int64_t getNbGroups() const noexcept
    {
        return mImpl->getNbGroups();
    }

    void setKernelWeights(Weights weights) noexcept
    {
        mImpl->setKernelWeights(weights);
    }

    Weights getKernelWeights() const noexcept
    {
        return mImpl->getKernelWeights();
    }

    void setBiasWeights(Weights weights) noexcept
    {
        mImpl->setBiasWeights(weights);
    }

    Weights getBiasWeights() const noexcept
    {
        return mImpl->getBiasWeights();
    }

    void setPrePadding(Dims const& padding) noexcept
    {
        mImpl->setPrePadding(padding);
    }

    Dims getPrePadding() const noexcept
    {
        return mImpl->getPrePadding();
    }

    void setPostPadding(Dims const& padding) noexcept
    {
        mImpl->setPostPadding(padding);
    }

    Dims getPostPadding() const noexcept
    {
        return mImpl->getPostPadding();
    }

    void setPaddingMode(PaddingMode paddingMode) noexcept
    {
        mImpl->setPaddingMode(paddingMode);
    }

    PaddingMode getPaddingMode() const noexcept
    {
        return mImpl->getPaddingMode();
    }

    void setKernelSizeNd(Dims const& kernelSize) noexcept
    {
        mImpl->setKernelSizeNd(kernelSize);
    }

    Dims getKernelSizeNd() const noexcept
    {
        return mImpl->getKernelSizeNd();
    }

    void setStrideNd(Dims const& stride) noexcept
    {
        mImpl->setStrideNd(stride);
    }

    Dims getStrideNd() const noexcept
    {
        return mImpl->getStrideNd();
    }

    void setPaddingNd(Dims const& padding) noexcept
    {
        mImpl->setPaddingNd(padding);
    }

    Dims getPaddingNd() const noexcept
    {
        return mImpl->getPaddingNd();
    }

    void setDilationNd(Dims const& dilation) noexcept
    {
        mImpl->setDilationNd(dilation);
    }

    Dims getDilationNd() const noexcept
    {
        return mImpl->getDilationNd();
    }

    using ILayer::setInput;

    TRT_DEPRECATED void setKernelSize(DimsHW kernelSize) noexcept
    {
        setKernelSizeNd(kernelSize);
    }

    TRT_DEPRECATED DimsHW getKernelSize() const noexcept
    {
        return impl::firstTwo(getKernelSizeNd());
    }

    TRT_DEPRECATED void setStride(DimsHW stride) noexcept
    {
        setStrideNd(stride);
    }

    TRT_DEPRECATED DimsHW getStride() const noexcept
    {
        return impl::firstTwo(getStrideNd());
    }

    TRT_DEPRECATED void setPadding(DimsHW padding) noexcept
    {
        setPaddingNd(padding);
    }

    TRT_DEPRECATED DimsHW getPadding() const noexcept
    {
        return impl::firstTwo(getPaddingNd());
    }

    TRT_DEPRECATED void setDilation(DimsHW dilation) noexcept
    {
        setDilationNd(dilation);
    }

    TRT_DEPRECATED DimsHW getDilation() const noexcept
    {
        return impl::firstTwo(getDilationNd());
    }

  protected:
    virtual ~IConvolutionLayer() noexcept = default;

    apiv::VConvolutionLayer* mImpl{nullptr};
};

//! Multiplies each sample, seen as one vector, by a matrix and adds a bias (8.x). The last three axes of the input are one
//! vector; the output has the extents [..., outputs, 1, 1].
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

    //! Sets the matrix: outputs x inputs values, row-major; kept by reference until the build ends.
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

enum class ActivationType : int32_t
{
    kRELU = 0,
    kSIGMOID = 1,
    kTANH = 2,
    kLEAKY_RELU = 3,
    kELU = 4,
    kSELU = 5,
    kSOFTSIGN = 6,
    kSOFTPLUS = 7,
    kCLIP = 8,
    kHARD_SIGMOID = 9,
    kSCALED_TANH = 10,
    kTHRESHOLDED_RELU = 11,
    kGELU_ERF = 12,
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

class IActivationLayer : public ILayer
{
  public:
    void setActivationType(ActivationType type) noexcept
    {
        mImpl->setActivationType(type);
    }

    ActivationType getActivationType() const noexcept
    {
        return mImpl->getActivationType();
    }

    void setAlpha(float alpha) noexcept
    {
        mImpl->setAlpha(alpha);
    }

    void setBeta(float beta) noexcept
    {
        mImpl->setBeta(beta);
    }

    float getAlpha() const noexcept
    {
        return mImpl->getAlpha();
    }

    float getBeta() const noexcept
    {
        return mImpl->getBeta();
    }

  protected:
    virtual ~IActivationLayer() noexcept = default;

    apiv::VActivationLayer* mImpl{nullptr};
};

enum class PoolingType : int32_t
{
    kMAX = 0,
    kAVERAGE = 1,
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

class IPoolingLayer : public ILayer
{
  public:
    void setPoolingType(PoolingType type) noexcept
    {
        mImpl->setPoolingType(type);
    }

    PoolingType getPoolingType() const noexcept
    {
        return mImpl->getPoolingType();
    }

    void setBlendFactor(float blendFactor) noexcept
    {
        mImpl->setBlendFactor(blendFactor);
    }

    float getBlendFactor() const noexcept
    {
        return mImpl->getBlendFactor();
    }

    void setAverageCountExcludesPadding(bool exclusive) noexcept
    {
        mImpl->setAverageCountExcludesPadding(exclusive);
    }

    bool getAverageCountExcludesPadding() const noexcept
    {
        return mImpl->getAverageCountExcludesPadding();
    }

    void setPrePadding(Dims const& padding) noexcept
    {
        mImpl->setPrePadding(padding);
    }

    Dims getPrePadding() const noexcept
    {
        return mImpl->getPrePadding();
    }

    void setPostPadding(Dims const& padding) noexcept
    {
        mImpl->setPostPadding(padding);
    }

    Dims getPostPadding() const noexcept
    {
        return mImpl->getPostPadding();
    }

    void setPaddingMode(PaddingMode paddingMode) noexcept
    {
        mImpl->setPaddingMode(paddingMode);
    }

    PaddingMode getPaddingMode() const noexcept
    {
        return mImpl->getPaddingMode();
    }

    void setWindowSizeNd(Dims const& windowSize) noexcept
    {
        mImpl->setWindowSizeNd(windowSize);
    }

    Dims getWindowSizeNd() const noexcept
    {
        return mImpl->getWindowSizeNd();
    }

    void setStrideNd(Dims const& stride) noexcept
    {
        mImpl->setStrideNd(stride);
    }

    Dims getStrideNd() const noexcept
    {
        return mImpl->getStrideNd();
    }

    void setPaddingNd(Dims const& padding) noexcept
    {
        mImpl->setPaddingNd(padding);
    }

    Dims getPaddingNd() const noexcept
    {
        return mImpl->getPaddingNd();
    }

    TRT_DEPRECATED void setWindowSize(DimsHW windowSize) noexcept
    {
        setWindowSizeNd(windowSize);
    }

    TRT_DEPRECATED DimsHW getWindowSize() const noexcept
    {
        return impl::firstTwo(getWindowSizeNd());
    }

    TRT_DEPRECATED void setStride(DimsHW stride) noexcept
    {
        setStrideNd(stride);
    }

    TRT_DEPRECATED DimsHW getStride() const noexcept
    {
        return impl::firstTwo(getStrideNd());
    }

    TRT_DEPRECATED void setPadding(DimsHW padding) noexcept
    {
        setPaddingNd(padding);
    }

    TRT_DEPRECATED DimsHW getPadding() const noexcept
    {
        return impl::firstTwo(getPaddingNd());
    }

  protected:
    virtual ~IPoolingLayer() noexcept = default;

    apiv::VPoolingLayer* mImpl{nullptr};
};

class ILRNLayer : public ILayer
{
  public:
    void setWindowSize(int64_t windowSize) noexcept
    {
        mImpl->setWindowSize(windowSize);
    }

    int64_t getWindowSize() const noexcept
    {
        return mImpl->getWindowSize();
    }

    void setAlpha(float alpha) noexcept
    {
        mImpl->setAlpha(alpha);
    }

    float getAlpha() const noexcept
    {
        return mImpl->getAlpha();
    }

    void setBeta(float beta) noexcept
    {
        mImpl->setBeta(beta);
    }

    float getBeta() const noexcept
    {
        return mImpl->getBeta();
    }

    void setK(float k) noexcept
    {
        mImpl->setK(k);
    }

    float getK() const noexcept
    {
        return mImpl->getK();
    }

  protected:
    virtual ~ILRNLayer() noexcept = default;

    apiv::VLRNLayer* mImpl{nullptr};
};

enum class ScaleMode : int32_t
{
    kUNIFORM = 0,
    kCHANNEL = 1,
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

class IScaleLayer : public ILayer
{
  public:
    void setMode(ScaleMode mode) noexcept
    {
        mImpl->setMode(mode);
    }

    ScaleMode getMode() const noexcept
    {
        return mImpl->getMode();
    }

    void setShift(Weights shift) noexcept
    {
        mImpl->setShift(shift);
    }

    Weights getShift() const noexcept
    {
        return mImpl->getShift();
    }

    void setScale(Weights scale) noexcept
    {
        mImpl->setScale(scale);
    }

    Weights getScale() const noexcept
    {
        return mImpl->getScale();
    }

    void setPower(Weights power) noexcept
    {
        mImpl->setPower(power);
    }

    Weights getPower() const noexcept
    {
        return mImpl->getPower();
    }

    int32_t getChannelAxis() const noexcept
    {
        return mImpl->getChannelAxis();
    }

    void setChannelAxis(int32_t channelAxis) noexcept
    {
        mImpl->setChannelAxis(channelAxis);
    }

  protected:
    virtual ~IScaleLayer() noexcept = default;

    apiv::VScaleLayer* mImpl{nullptr};
};

class ISoftMaxLayer : public ILayer
{
  public:
    void setAxes(uint32_t axes) noexcept
    {
        mImpl->setAxes(axes);
    }

    uint32_t getAxes() const noexcept
    {
        return mImpl->getAxes();
    }

  protected:
    virtual ~ISoftMaxLayer() noexcept = default;

    apiv::VSoftMaxLayer* mImpl{nullptr};
};

class IConcatenationLayer : public ILayer
{
  public:
    void setAxis(int32_t axis) noexcept
    {
        mImpl->setAxis(axis);
    }

    int32_t getAxis() const noexcept
    {
        return mImpl->getAxis();
    }

  protected:
    virtual ~IConcatenationLayer() noexcept = default;

    apiv::VConcatenationLayer* mImpl{nullptr};
};

class IDeconvolutionLayer : public ILayer
{
  public:
    void setNbOutputMaps(int64_t nbOutputMaps) noexcept
    {
        mImpl->setNbOutputMaps(nbOutputMaps);
    }

    int64_t getNbOutputMaps() const noexcept
    {
        return mImpl->getNbOutputMaps();
    }

    void setNbGroups(int64_t nbGroups) noexcept
    {
        mImpl->setNbGroups(nbGroups);
    }

    int64_t getNbGroups() const noexcept
    {
        return mImpl->getNbGroups();
    }

    void setKernelWeights(Weights weights) noexcept
    {
        mImpl->setKernelWeights(weights);
    }

    Weights getKernelWeights() const noexcept
    {
        return mImpl->getKernelWeights();
    }

    void setBiasWeights(Weights weights) noexcept
    {
        mImpl->setBiasWeights(weights);
    }

    Weights getBiasWeights() const noexcept
    {
        return mImpl->getBiasWeights();
    }

    void setPrePadding(Dims const& padding) noexcept
    {
        mImpl->setPrePadding(padding);
    }

    Dims getPrePadding() const noexcept
    {
        return mImpl->getPrePadding();
    }

    void setPostPadding(Dims const& padding) noexcept
    {
        mImpl->setPostPadding(padding);
    }

    Dims getPostPadding() const noexcept
    {
        return mImpl->getPostPadding();
    }

    void setPaddingMode(PaddingMode paddingMode) noexcept
    {
        mImpl->setPaddingMode(paddingMode);
    }

    PaddingMode getPaddingMode() const noexcept
    {
        return mImpl->getPaddingMode();
    }

    void setKernelSizeNd(Dims const& kernelSize) noexcept
    {
        mImpl->setKernelSizeNd(kernelSize);
    }

    Dims getKernelSizeNd() const noexcept
    {
        return mImpl->getKernelSizeNd();
    }

    void setStrideNd(Dims const& stride) noexcept
    {
        mImpl->setStrideNd(stride);
    }

    Dims getStrideNd() const noexcept
    {
        return mImpl->getStrideNd();
    }

    void setPaddingNd(Dims const& padding) noexcept
    {
        mImpl->setPaddingNd(padding);
    }

    Dims getPaddingNd() const noexcept
    {
        return mImpl->getPaddingNd();
    }

    void setDilationNd(Dims const& dilation) noexcept
    {
        mImpl->setDilationNd(dilation);
    }

    Dims getDilationNd() const noexcept
    {
        return mImpl->getDilationNd();
    }

    using ILayer::setInput;

    TRT_DEPRECATED void setKernelSize(DimsHW kernelSize) noexcept
    {
        setKernelSizeNd(kernelSize);
    }

    TRT_DEPRECATED DimsHW getKernelSize() const noexcept
    {
        return impl::firstTwo(getKernelSizeNd());
    }

    TRT_DEPRECATED void setStride(DimsHW stride) noexcept
    {
        setStrideNd(stride);
    }

    TRT_DEPRECATED DimsHW getStride() const noexcept
    {
        return impl::firstTwo(getStrideNd());
    }

    TRT_DEPRECATED void setPadding(DimsHW padding) noexcept
    {
        setPaddingNd(padding);
    }

    TRT_DEPRECATED DimsHW getPadding() const noexcept
    {
        return impl::firstTwo(getPaddingNd());
    }

  protected:
    virtual ~IDeconvolutionLayer() noexcept = default;

    apiv::VDeconvolutionLayer* mImpl{nullptr};
};

enum class ElementWiseOperation : int32_t
{
    kSUM = 0,
    kPROD = 1,
    kMAX = 2,
    kMIN = 3,
    kSUB = 4,
    kDIV = 5,
    kPOW = 6,
    kFLOOR_DIV = 7,
    kAND = 8,
    kOR = 9,
    kXOR = 10,
    kEQUAL = 11,
    kGREATER = 12,
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

class IElementWiseLayer : public ILayer
{
  public:
    void setOperation(ElementWiseOperation op) noexcept
    {
        mImpl->setOperation(op);
    }

    ElementWiseOperation getOperation() const noexcept
    {
        return mImpl->getOperation();
    }

  protected:
    virtual ~IElementWiseLayer() noexcept = default;

    apiv::VElementWiseLayer* mImpl{nullptr};
};

enum class GatherMode : int32_t
{
    kDEFAULT = 0,
    kELEMENT = 1,
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

class IGatherLayer : public ILayer
{
  public:
    void setGatherAxis(int32_t axis) noexcept
    {
        mImpl->setGatherAxis(axis);
    }

    int32_t getGatherAxis() const noexcept
    {
        return mImpl->getGatherAxis();
    }

    void setNbElementWiseDims(int32_t elementWiseDims) noexcept
    {
        mImpl->setNbElementWiseDims(elementWiseDims);
    }

    int32_t getNbElementWiseDims() const noexcept
    {
        return mImpl->getNbElementWiseDims();
    }

    void setMode(GatherMode mode) noexcept
    {
        mImpl->setMode(mode);
    }

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

//! A stack of recurrent cells over sequences (8.x). Input [N, steps, length], output [N, steps, hidden size].
class TRT_DEPRECATED IRNNv2Layer : public ILayer
{
  public:
    //! How many cells are stacked.
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

    //! Sets the tensor that holds each sequence's own length, int32.
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

    //! Sets one gate's matrix: of the input where isW is true, else of the hidden state. With kBIDIRECTION layer 2n walks
    //! forwards and 2n+1 backwards.
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

    //! Sets the tensor that the hidden state starts from; zeros without it.
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

class TRT_DEPRECATED IPluginV2Layer : public ILayer
{
  public:
    IPluginV2& getPlugin() noexcept
    {
        return mImpl->getPlugin();
    }

  protected:
    virtual ~IPluginV2Layer() noexcept = default;

    apiv::VPluginV2Layer* mImpl{nullptr};
};

class IPluginV3Layer : public ILayer
{
  public:
    IPluginV3& getPlugin() noexcept
    {
        return mImpl->getPlugin();
    }

  protected:
    virtual ~IPluginV3Layer() noexcept = default;

    apiv::VPluginV3Layer* mImpl{nullptr};
};

enum class UnaryOperation : int32_t
{
    kEXP = 0,
    kLOG = 1,
    kSQRT = 2,
    kRECIP = 3,
    kABS = 4,
    kNEG = 5,
    kSIN = 6,
    kCOS = 7,
    kTAN = 8,
    kSINH = 9,
    kCOSH = 10,
    kASIN = 11,
    kACOS = 12,
    kATAN = 13,
    kASINH = 14,
    kACOSH = 15,
    kATANH = 16,
    kCEIL = 17,
    kFLOOR = 18,
    kERF = 19,
    kNOT = 20,
    kSIGN = 21,
    kROUND = 22,
    kISINF = 23,
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

class IUnaryLayer : public ILayer
{
  public:
    void setOperation(UnaryOperation op) noexcept
    {
        mImpl->setOperation(op);
    }

    UnaryOperation getOperation() const noexcept
    {
        return mImpl->getOperation();
    }

  protected:
    virtual ~IUnaryLayer() noexcept = default;

    apiv::VUnaryLayer* mImpl{nullptr};
};

enum class ReduceOperation : int32_t
{
    kSUM = 0,
    kPROD = 1,
    kMAX = 2,
    kMIN = 3,
    kAVG = 4,
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

class IReduceLayer : public ILayer
{
  public:
    void setOperation(ReduceOperation op) noexcept
    {
        mImpl->setOperation(op);
    }

    ReduceOperation getOperation() const noexcept
    {
        return mImpl->getOperation();
    }

    void setReduceAxes(uint32_t reduceAxes) noexcept
    {
        mImpl->setReduceAxes(reduceAxes);
    }

    uint32_t getReduceAxes() const noexcept
    {
        return mImpl->getReduceAxes();
    }

    void setKeepDimensions(bool keepDimensions) noexcept
    {
        mImpl->setKeepDimensions(keepDimensions);
    }

    bool getKeepDimensions() const noexcept
    {
        return mImpl->getKeepDimensions();
    }

  protected:
    virtual ~IReduceLayer() noexcept = default;

    apiv::VReduceLayer* mImpl{nullptr};
};

class IPaddingLayer : public ILayer
{
  public:
    void setPrePaddingNd(Dims const& padding) noexcept
    {
        mImpl->setPrePaddingNd(padding);
    }

    Dims getPrePaddingNd() const noexcept
    {
        return mImpl->getPrePaddingNd();
    }

    void setPostPaddingNd(Dims const& padding) noexcept
    {
        mImpl->setPostPaddingNd(padding);
    }

    Dims getPostPaddingNd() const noexcept
    {
        return mImpl->getPostPaddingNd();
    }

    TRT_DEPRECATED void setPrePadding(DimsHW prePadding) noexcept
    {
        setPrePaddingNd(prePadding);
    }

    TRT_DEPRECATED DimsHW getPrePadding() const noexcept
    {
        return impl::firstTwo(getPrePaddingNd());
    }

    TRT_DEPRECATED void setPostPadding(DimsHW postPadding) noexcept
    {
        setPostPaddingNd(postPadding);
    }

    TRT_DEPRECATED DimsHW getPostPadding() const noexcept
    {
        return impl::firstTwo(getPostPaddingNd());
    }

  protected:
    virtual ~IPaddingLayer() noexcept = default;

    apiv::VPaddingLayer* mImpl{nullptr};
};

struct Permutation
{
    //! Axis i of the result is axis order[i] of the input.
    int32_t order[Dims::MAX_DIMS];
};

class IShuffleLayer : public ILayer
{
  public:
    void setFirstTranspose(Permutation permutation) noexcept
    {
        mImpl->setFirstTranspose(permutation);
    }

    Permutation getFirstTranspose() const noexcept
    {
        return mImpl->getFirstTranspose();
    }

    void setReshapeDimensions(Dims const& dimensions) noexcept
    {
        mImpl->setReshapeDimensions(dimensions);
    }

    Dims getReshapeDimensions() const noexcept
    {
        return mImpl->getReshapeDimensions();
    }

    void setSecondTranspose(Permutation permutation) noexcept
    {
        mImpl->setSecondTranspose(permutation);
    }

    Permutation getSecondTranspose() const noexcept
    {
        return mImpl->getSecondTranspose();
    }

    void setZeroIsPlaceholder(bool zeroIsPlaceholder) noexcept
    {
        mImpl->setZeroIsPlaceholder(zeroIsPlaceholder);
    }

    bool getZeroIsPlaceholder() const noexcept
    {
        return mImpl->getZeroIsPlaceholder();
    }

    using ILayer::setInput;

  protected:
    virtual ~IShuffleLayer() noexcept = default;

    apiv::VShuffleLayer* mImpl{nullptr};
};

enum class SampleMode : int32_t
{
    kSTRICT_BOUNDS = 0,
    kWRAP = 1,
    kCLAMP = 2,
    kFILL = 3,
    kREFLECT = 4,
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

class ISliceLayer : public ILayer
{
  public:
    void setStart(Dims const& start) noexcept
    {
        mImpl->setStart(start);
    }

    Dims getStart() const noexcept
    {
        return mImpl->getStart();
    }

    void setSize(Dims const& size) noexcept
    {
        mImpl->setSize(size);
    }

    Dims getSize() const noexcept
    {
        return mImpl->getSize();
    }

    void setStride(Dims const& stride) noexcept
    {
        mImpl->setStride(stride);
    }

    Dims getStride() const noexcept
    {
        return mImpl->getStride();
    }

    void setMode(SampleMode mode) noexcept
    {
        mImpl->setMode(mode);
    }

    SampleMode getMode() const noexcept
    {
        return mImpl->getMode();
    }

    void setAxes(Dims const& axes) noexcept
    {
        mImpl->setAxes(axes);
    }

    Dims getAxes() const noexcept
    {
        return mImpl->getAxes();
    }

    using ILayer::setInput;

  protected:
    virtual ~ISliceLayer() noexcept = default;

    apiv::VSliceLayer* mImpl{nullptr};
};

class IShapeLayer : public ILayer
{
  protected:
    virtual ~IShapeLayer() noexcept = default;

    apiv::VShapeLayer* mImpl{nullptr};
};

enum class TopKOperation : int32_t
{
    kMAX = 0,
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

class ITopKLayer : public ILayer
{
  public:
    void setOperation(TopKOperation op) noexcept
    {
        mImpl->setOperation(op);
    }

    TopKOperation getOperation() const noexcept
    {
        return mImpl->getOperation();
    }

    void setK(int32_t k) noexcept
    {
        mImpl->setK(k);
    }

    int32_t getK() const noexcept
    {
        return mImpl->getK();
    }

    void setReduceAxes(uint32_t reduceAxes) noexcept
    {
        mImpl->setReduceAxes(reduceAxes);
    }

    uint32_t getReduceAxes() const noexcept
    {
        return mImpl->getReduceAxes();
    }

    bool setIndicesType(DataType type) noexcept
    {
        return mImpl->setIndicesType(type);
    }

    DataType getIndicesType() const noexcept
    {
        return mImpl->getIndicesType();
    }

    using ILayer::setInput;

  protected:
    virtual ~ITopKLayer() noexcept = default;

    apiv::VTopKLayer* mImpl{nullptr};
};

enum class MatrixOperation : int32_t
{
    kNONE = 0,
    kTRANSPOSE = 1,
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

class IMatrixMultiplyLayer : public ILayer
{
  public:
    void setOperation(int32_t index, MatrixOperation op) noexcept
    {
        mImpl->setOperation(index, op);
    }

    MatrixOperation getOperation(int32_t index) const noexcept
    {
        return mImpl->getOperation(index);
    }

  protected:
    virtual ~IMatrixMultiplyLayer() noexcept = default;

    apiv::VMatrixMultiplyLayer* mImpl{nullptr};
};

class INonZeroLayer : public ILayer
{
  public:
    bool setIndicesType(DataType type) noexcept
    {
        return mImpl->setIndicesType(type);
    }

    DataType getIndicesType() const noexcept
    {
        return mImpl->getIndicesType();
    }

  protected:
    virtual ~INonZeroLayer() noexcept = default;

    apiv::VNonZeroLayer* mImpl{nullptr};
};

class IRaggedSoftMaxLayer : public ILayer
{
  protected:
    virtual ~IRaggedSoftMaxLayer() noexcept = default;

    apiv::VRaggedSoftMaxLayer* mImpl{nullptr};
};

class IIdentityLayer : public ILayer
{
  protected:
    virtual ~IIdentityLayer() noexcept = default;

    apiv::VIdentityLayer* mImpl{nullptr};
};

class ICastLayer : public ILayer
{
  public:
    void setToType(DataType toType) noexcept
    {
        mImpl->setToType(toType);
    }

    DataType getToType() const noexcept
    {
        return mImpl->getToType();
    }

  protected:
    virtual ~ICastLayer() noexcept = default;

    apiv::VCastLayer* mImpl{nullptr};
};

class IConstantLayer : public ILayer
{
  public:
    void setWeights(Weights weights) noexcept
    {
        mImpl->setWeights(weights);
    }

    Weights getWeights() const noexcept
    {
        return mImpl->getWeights();
    }

    void setDimensions(Dims const& dimensions) noexcept
    {
        mImpl->setDimensions(dimensions);
    }

    Dims getDimensions() const noexcept
    {
        return mImpl->getDimensions();
    }

  protected:
    virtual ~IConstantLayer() noexcept = default;

    apiv::VConstantLayer* mImpl{nullptr};
};

class IParametricReLULayer : public ILayer
{
  protected:
    virtual ~IParametricReLULayer() noexcept = default;

    apiv::VParametricReLULayer* mImpl{nullptr};
};

enum class InterpolationMode : int32_t
{
    kNEAREST = 0,
    kLINEAR = 1,
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

enum class ResizeCoordinateTransformation : int32_t
{
    kALIGN_CORNERS = 0,
    kASYMMETRIC = 1,
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

enum class ResizeRoundMode : int32_t
{
    kHALF_UP = 0,
    kHALF_DOWN = 1,
    kFLOOR = 2,
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

enum class ResizeSelector : int32_t
{
    kFORMULA = 0,
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

class IResizeLayer : public ILayer
{
  public:
    void setOutputDimensions(Dims const& dimensions) noexcept
    {
        mImpl->setOutputDimensions(dimensions);
    }

    Dims getOutputDimensions() const noexcept
    {
        return mImpl->getOutputDimensions();
    }

    void setScales(float const* scales, int32_t nbScales) noexcept
    {
        mImpl->setScales(scales, nbScales);
    }

    int32_t getScales(int32_t size, float* scales) const noexcept
    {
        return mImpl->getScales(size, scales);
    }

    void setResizeMode(InterpolationMode interpolationMode) noexcept
    {
        mImpl->setResizeMode(interpolationMode);
    }

    InterpolationMode getResizeMode() const noexcept
    {
        return mImpl->getResizeMode();
    }

    void setCoordinateTransformation(ResizeCoordinateTransformation coordTransform) noexcept
    {
        mImpl->setCoordinateTransformation(coordTransform);
    }

    ResizeCoordinateTransformation getCoordinateTransformation() const noexcept
    {
        return mImpl->getCoordinateTransformation();
    }

    void setSelectorForSinglePixel(ResizeSelector selector) noexcept
    {
        mImpl->setSelectorForSinglePixel(selector);
    }

    ResizeSelector getSelectorForSinglePixel() const noexcept
    {
        return mImpl->getSelectorForSinglePixel();
    }

    void setNearestRounding(ResizeRoundMode value) noexcept
    {
        mImpl->setNearestRounding(value);
    }

    ResizeRoundMode getNearestRounding() const noexcept
    {
        return mImpl->getNearestRounding();
    }

    void setCubicCoeff(float A) noexcept
    {
        mImpl->setCubicCoeff(A);
    }

    float getCubicCoeff() const noexcept
    {
        return mImpl->getCubicCoeff();
    }

    void setExcludeOutside(bool excludeFlag) noexcept
    {
        mImpl->setExcludeOutside(excludeFlag);
    }

    bool getExcludeOutside() const noexcept
    {
        return mImpl->getExcludeOutside();
    }

    using ILayer::setInput;

    TRT_DEPRECATED void setAlignCorners(bool alignCorners) noexcept
    {
        setCoordinateTransformation(alignCorners ? ResizeCoordinateTransformation::kALIGN_CORNERS
                                                 : ResizeCoordinateTransformation::kASYMMETRIC);
    }

    TRT_DEPRECATED bool getAlignCorners() const noexcept
    {
        return getCoordinateTransformation() == ResizeCoordinateTransformation::kALIGN_CORNERS;
    }

  protected:
    virtual ~IResizeLayer() noexcept = default;

    apiv::VResizeLayer* mImpl{nullptr};
};

class ILoopBoundaryLayer : public ILayer
{
  public:
    ILoop* getLoop() const noexcept
    {
        return mBoundary->getLoop();
    }

  protected:
    virtual ~ILoopBoundaryLayer() noexcept = default;

    apiv::VLoopBoundaryLayer* mBoundary{nullptr};
};

class IIfConditionalBoundaryLayer : public ILayer
{
  public:
    IIfConditional* getConditional() const noexcept
    {
        return mBoundary->getConditional();
    }

  protected:
    virtual ~IIfConditionalBoundaryLayer() noexcept = default;

    apiv::VConditionalBoundaryLayer* mBoundary{nullptr};
};

class IConditionLayer : public IIfConditionalBoundaryLayer
{
  protected:
    virtual ~IConditionLayer() noexcept = default;

    apiv::VConditionLayer* mImpl{nullptr};
};

class IIfConditionalOutputLayer : public IIfConditionalBoundaryLayer
{
  protected:
    virtual ~IIfConditionalOutputLayer() noexcept = default;

    apiv::VConditionalOutputLayer* mImpl{nullptr};
};

class IIfConditionalInputLayer : public IIfConditionalBoundaryLayer
{
  protected:
    virtual ~IIfConditionalInputLayer() noexcept = default;

    apiv::VConditionalInputLayer* mImpl{nullptr};
};

class IIfConditional : public INoCopy
{
  public:
    IConditionLayer* setCondition(ITensor& condition) noexcept
    {
        return mImpl->setCondition(condition);
    }

    IIfConditionalOutputLayer* addOutput(ITensor& trueSubgraphOutput, ITensor& falseSubgraphOutput) noexcept
    {
        return mImpl->addOutput(trueSubgraphOutput, falseSubgraphOutput);
    }

    IIfConditionalInputLayer* addInput(ITensor& input) noexcept
    {
        return mImpl->addInput(input);
    }

    void setName(char const* name) noexcept
    {
        mImpl->setName(name);
    }

    char const* getName() const noexcept
    {
        return mImpl->getName();
    }

  protected:
    virtual ~IIfConditional() noexcept = default;

    apiv::VIfConditional* mImpl{nullptr};
};

class IRecurrenceLayer : public ILoopBoundaryLayer
{
  public:
    using ILayer::setInput;

  protected:
    virtual ~IRecurrenceLayer() noexcept = default;

    apiv::VRecurrenceLayer* mImpl{nullptr};
};

enum class LoopOutput : int32_t
{
    kLAST_VALUE = 0,
    kCONCATENATE = 1,
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

class ILoopOutputLayer : public ILoopBoundaryLayer
{
  public:
    LoopOutput getLoopOutput() const noexcept
    {
        return mImpl->getLoopOutput();
    }

    void setAxis(int32_t axis) noexcept
    {
        mImpl->setAxis(axis);
    }

    int32_t getAxis() const noexcept
    {
        return mImpl->getAxis();
    }

    using ILayer::setInput;

  protected:
    virtual ~ILoopOutputLayer() noexcept = default;

    apiv::VLoopOutputLayer* mImpl{nullptr};
};

enum class TripLimit : int32_t
{
    kCOUNT = 0,
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

class ITripLimitLayer : public ILoopBoundaryLayer
{
  public:
    TripLimit getTripLimit() const noexcept
    {
        return mImpl->getTripLimit();
    }

  protected:
    virtual ~ITripLimitLayer() noexcept = default;

    apiv::VTripLimitLayer* mImpl{nullptr};
};

class IIteratorLayer : public ILoopBoundaryLayer
{
  public:
    void setAxis(int32_t axis) noexcept
    {
        mImpl->setAxis(axis);
    }

    int32_t getAxis() const noexcept
    {
        return mImpl->getAxis();
    }

    void setReverse(bool reverse) noexcept
    {
        mImpl->setReverse(reverse);
    }

    bool getReverse() const noexcept
    {
        return mImpl->getReverse();
    }

  protected:
    virtual ~IIteratorLayer() noexcept = default;

    apiv::VIteratorLayer* mImpl{nullptr};
};

class ILoop : public INoCopy
{
  public:
    IRecurrenceLayer* addRecurrence(ITensor& initialValue) noexcept
    {
        return mImpl->addRecurrence(initialValue);
    }

    ITripLimitLayer* addTripLimit(ITensor& tensor, TripLimit limit) noexcept
    {
        return mImpl->addTripLimit(tensor, limit);
    }

    IIteratorLayer* addIterator(ITensor& tensor, int32_t axis = 0, bool reverse = false) noexcept
    {
        return mImpl->addIterator(tensor, axis, reverse);
    }

    ILoopOutputLayer* addLoopOutput(ITensor& tensor, LoopOutput outputKind, int32_t axis = 0) noexcept
    {
        return mImpl->addLoopOutput(tensor, outputKind, axis);
    }

    void setName(char const* name) noexcept
    {
        mImpl->setName(name);
    }

    char const* getName() const noexcept
    {
        return mImpl->getName();
    }

  protected:
    virtual ~ILoop() noexcept = default;

    apiv::VLoop* mImpl{nullptr};
};

class ISelectLayer : public ILayer
{
  protected:
    virtual ~ISelectLayer() noexcept = default;

    apiv::VSelectLayer* mImpl{nullptr};
};

class IAssertionLayer : public ILayer
{
  public:
    void setMessage(char const* message) noexcept
    {
        mImpl->setMessage(message);
    }

    char const* getMessage() const noexcept
    {
        return mImpl->getMessage();
    }

  protected:
    virtual ~IAssertionLayer() noexcept = default;

    apiv::VAssertionLayer* mImpl{nullptr};
};

enum class FillOperation : int32_t
{
    kLINSPACE = 0,
    kRANDOM_UNIFORM = 1,
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

class IFillLayer : public ILayer
{
  public:
    void setDimensions(Dims const& dimensions) noexcept
    {
        mImpl->setDimensions(dimensions);
    }

    Dims getDimensions() const noexcept
    {
        return mImpl->getDimensions();
    }

    void setOperation(FillOperation op) noexcept
    {
        mImpl->setOperation(op);
    }

    FillOperation getOperation() const noexcept
    {
        return mImpl->getOperation();
    }

    void setAlpha(double alpha) noexcept
    {
        mImpl->setAlpha(alpha);
    }

    double getAlpha() const noexcept
    {
        return mImpl->getAlpha();
    }

    void setBeta(double beta) noexcept
    {
        mImpl->setBeta(beta);
    }

    double getBeta() const noexcept
    {
        return mImpl->getBeta();
    }

    void setAlphaInt64(int64_t alpha) noexcept
    {
        mImpl->setAlphaInt64(alpha);
    }

    int64_t getAlphaInt64() const noexcept
    {
        return mImpl->getAlphaInt64();
    }

    void setBetaInt64(int64_t beta) noexcept
    {
        mImpl->setBetaInt64(beta);
    }

    int64_t getBetaInt64() const noexcept
    {
        return mImpl->getBetaInt64();
    }

    bool isAlphaBetaInt64() const noexcept
    {
        return mImpl->isAlphaBetaInt64();
    }

    void setToType(DataType toType) noexcept
    {
        mImpl->setToType(toType);
    }

    DataType getToType() const noexcept
    {
        return mImpl->getToType();
    }

    using ILayer::setInput;

  protected:
    virtual ~IFillLayer() noexcept = default;

    apiv::VFillLayer* mImpl{nullptr};
};

class IQuantizeLayer : public ILayer
{
  public:
    int32_t getAxis() const noexcept
    {
        return mImpl->getAxis();
    }

    void setAxis(int32_t axis) noexcept
    {
        mImpl->setAxis(axis);
    }

    bool setBlockShape(Dims const& blockShape) noexcept
    {
        return mImpl->setBlockShape(blockShape);
    }

    TRT_NODISCARD Dims getBlockShape() const noexcept
    {
        return mImpl->getBlockShape();
    }

    void setToType(DataType toType) noexcept
    {
        mImpl->setToType(toType);
    }

    DataType getToType() const noexcept
    {
        return mImpl->getToType();
    }

  protected:
    virtual ~IQuantizeLayer() noexcept = default;

    apiv::VQuantizeLayer* mImpl{nullptr};
};

class IDequantizeLayer : public ILayer
{
  public:
    int32_t getAxis() const noexcept
    {
        return mImpl->getAxis();
    }

    void setAxis(int32_t axis) noexcept
    {
        mImpl->setAxis(axis);
    }

    bool setBlockShape(Dims const& blockShape) noexcept
    {
        return mImpl->setBlockShape(blockShape);
    }

    TRT_NODISCARD Dims getBlockShape() const noexcept
    {
        return mImpl->getBlockShape();
    }

    void setToType(DataType toType) noexcept
    {
        mImpl->setToType(toType);
    }

    DataType getToType() const noexcept
    {
        return mImpl->getToType();
    }

  protected:
    virtual ~IDequantizeLayer() noexcept = default;

    apiv::VDequantizeLayer* mImpl{nullptr};
};

class IDynamicQuantizeLayer : public ILayer
{
  public:
    void setToType(DataType toType) noexcept
    {
        mImpl->setToType(toType);
    }

    DataType getToType() const noexcept
    {
        return mImpl->getToType();
    }

    void setScaleType(DataType scaleType) noexcept
    {
        mImpl->setScaleType(scaleType);
    }

    DataType getScaleType() const noexcept
    {
        return mImpl->getScaleType();
    }

    TRT_DEPRECATED void setAxis(int32_t axis) noexcept
    {
        mImpl->setAxis(axis);
    }

    TRT_DEPRECATED int32_t getAxis() const noexcept
    {
        return mImpl->getAxis();
    }

    TRT_DEPRECATED void setBlockSize(int32_t size) noexcept
    {
        mImpl->setBlockSize(size);
    }

    TRT_DEPRECATED int32_t getBlockSize() const noexcept
    {
        return mImpl->getBlockSize();
    }

    void setBlockShape(Dims const& blockShape) noexcept
    {
        mImpl->setBlockShape(blockShape);
    }

    Dims getBlockShape() const noexcept
    {
        return mImpl->getBlockShape();
    }

    using ILayer::setInput;

  protected:
    virtual ~IDynamicQuantizeLayer() noexcept = default;

    apiv::VDynamicQuantizeLayer* mImpl{nullptr};
};

class IEinsumLayer : public ILayer
{
  public:
    bool setEquation(char const* equation) noexcept
    {
        return mImpl->setEquation(equation);
    }

    char const* getEquation() const noexcept
    {
        return mImpl->getEquation();
    }

  protected:
    virtual ~IEinsumLayer() noexcept = default;

    apiv::VEinsumLayer* mImpl{nullptr};
};

enum class ScatterMode : int32_t
{
    kELEMENT = 0,
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

class IScatterLayer : public ILayer
{
  public:
    void setMode(ScatterMode mode) noexcept
    {
        mImpl->setMode(mode);
    }

    ScatterMode getMode() const noexcept
    {
        return mImpl->getMode();
    }

    void setAxis(int32_t axis) noexcept
    {
        mImpl->setAxis(axis);
    }

    int32_t getAxis() const noexcept
    {
        return mImpl->getAxis();
    }

  protected:
    virtual ~IScatterLayer() noexcept = default;

    apiv::VScatterLayer* mImpl{nullptr};
};

class IOneHotLayer : public ILayer
{
  public:
    virtual ~IOneHotLayer() noexcept = default;

    void setAxis(int32_t axis) noexcept
    {
        mImpl->setAxis(axis);
    }

    int32_t getAxis() const noexcept
    {
        return mImpl->getAxis();
    }

  protected:
    apiv::VOneHotLayer* mImpl{nullptr};
};

class IGridSampleLayer : public ILayer
{
  public:
    void setInterpolationMode(InterpolationMode mode) noexcept
    {
        mImpl->setInterpolationMode(mode);
    }

    InterpolationMode getInterpolationMode() const noexcept
    {
        return mImpl->getInterpolationMode();
    }

    void setAlignCorners(bool alignCorners) noexcept
    {
        mImpl->setAlignCorners(alignCorners);
    }

    bool getAlignCorners() const noexcept
    {
        return mImpl->getAlignCorners();
    }

    bool setSampleMode(SampleMode mode) noexcept
    {
        return mImpl->setSampleMode(mode);
    }

    SampleMode getSampleMode() const noexcept
    {
        return mImpl->getSampleMode();
    }

  protected:
    virtual ~IGridSampleLayer() noexcept = default;

    apiv::VGridSampleLayer* mImpl{nullptr};
};

enum class BoundingBoxFormat : int32_t
{
    kCORNER_PAIRS = 0,
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

class INMSLayer : public ILayer
{
  public:
    void setBoundingBoxFormat(BoundingBoxFormat fmt) noexcept
    {
        mImpl->setBoundingBoxFormat(fmt);
    }

    BoundingBoxFormat getBoundingBoxFormat() const noexcept
    {
        return mImpl->getBoundingBoxFormat();
    }

    void setTopKBoxLimit(int32_t limit) noexcept
    {
        mImpl->setTopKBoxLimit(limit);
    }

    int32_t getTopKBoxLimit() const noexcept
    {
        return mImpl->getTopKBoxLimit();
    }

    bool setIndicesType(DataType type) noexcept
    {
        return mImpl->setIndicesType(type);
    }

    DataType getIndicesType() const noexcept
    {
        return mImpl->getIndicesType();
    }

    using ILayer::setInput;

  protected:
    virtual ~INMSLayer() noexcept = default;

    apiv::VNMSLayer* mImpl{nullptr};
};

class IReverseSequenceLayer : public ILayer
{
  public:
    void setBatchAxis(int32_t batchAxis) noexcept
    {
        mImpl->setBatchAxis(batchAxis);
    }

    int32_t getBatchAxis() const noexcept
    {
        return mImpl->getBatchAxis();
    }

    void setSequenceAxis(int32_t sequenceAxis) noexcept
    {
        mImpl->setSequenceAxis(sequenceAxis);
    }

    int32_t getSequenceAxis() const noexcept
    {
        return mImpl->getSequenceAxis();
    }

  protected:
    virtual ~IReverseSequenceLayer() noexcept = default;

    apiv::VReverseSequenceLayer* mImpl{nullptr};
};

class INormalizationLayer : public ILayer
{
  public:
    void setEpsilon(float eps) noexcept
    {
        mImpl->setEpsilon(eps);
    }

    float getEpsilon() const noexcept
    {
        return mImpl->getEpsilon();
    }

    void setAxes(uint32_t axesMask) noexcept
    {
        mImpl->setAxes(axesMask);
    }

    uint32_t getAxes() const noexcept
    {
        return mImpl->getAxes();
    }

    void setNbGroups(int64_t nbGroups) noexcept
    {
        mImpl->setNbGroups(nbGroups);
    }

    int64_t getNbGroups() const noexcept
    {
        return mImpl->getNbGroups();
    }

    TRT_DEPRECATED void setComputePrecision(DataType type) noexcept
    {
        mImpl->setComputePrecision(type);
    }

    TRT_DEPRECATED DataType getComputePrecision() const noexcept
    {
        return mImpl->getComputePrecision();
    }

    TRT_NODISCARD bool isV2() const noexcept
    {
        return mImpl->isV2();
    }

  protected:
    virtual ~INormalizationLayer() noexcept = default;

    apiv::VNormalizationLayer* mImpl{nullptr};
};

class ISqueezeLayer : public ILayer
{
  public:
    using ILayer::setInput;

  protected:
    virtual ~ISqueezeLayer() noexcept = default;

    apiv::VSqueezeLayer* mImpl{nullptr};
};

class IUnsqueezeLayer : public ILayer
{
  public:
    using ILayer::setInput;

  protected:
    virtual ~IUnsqueezeLayer() noexcept = default;

    apiv::VUnsqueezeLayer* mImpl{nullptr};
};

enum class CumulativeOperation : int32_t
{
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

class ICumulativeLayer : public ILayer
{
  public:
    bool setOperation(CumulativeOperation op) noexcept
    {
        return mImpl->setOperation(op);
    }

    CumulativeOperation getOperation() const noexcept
    {
        return mImpl->getOperation();
    }

    void setExclusive(bool exclusive) noexcept
    {
        mImpl->setExclusive(exclusive);
    }

    bool getExclusive() const noexcept
    {
        return mImpl->getExclusive();
    }

    void setReverse(bool reverse) noexcept
    {
        mImpl->setReverse(reverse);
    }

    bool getReverse() const noexcept
    {
        return mImpl->getReverse();
    }

  protected:
    virtual ~ICumulativeLayer() noexcept = default;

    apiv::VCumulativeLayer* mImpl{nullptr};
};

class IAttentionBoundaryLayer : public ILayer
{
  public:
    IAttention* getAttention() const noexcept
    {
        return mBoundary->getAttention();
    }

  protected:
    virtual ~IAttentionBoundaryLayer() noexcept = default;

    apiv::VAttentionBoundaryLayer* mBoundary{nullptr};
};

class IAttentionInputLayer : public IAttentionBoundaryLayer
{
  public:
    using ILayer::setInput;

  protected:
    virtual ~IAttentionInputLayer() noexcept = default;

    apiv::VAttentionInputLayer* mImpl{nullptr};
};

class IAttentionOutputLayer : public IAttentionBoundaryLayer
{
  protected:
    virtual ~IAttentionOutputLayer() noexcept = default;

    apiv::VAttentionOutputLayer* mImpl{nullptr};
};

enum class AttentionNormalizationOp : int32_t
{
    kNONE = 0,
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

class IAttention : public INoCopy
{
  public:
    bool setNormalizationOperation(AttentionNormalizationOp op) noexcept
    {
        return mImpl->setNormalizationOperation(op);
    }

    AttentionNormalizationOp getNormalizationOperation() const noexcept
    {
        return mImpl->getNormalizationOperation();
    }

    bool setMask(ITensor& mask) noexcept
    {
        return mImpl->setMask(mask);
    }

    ITensor* getMask() noexcept
    {
        return mImpl->getMask();
    }

    bool setCausal(bool isCausal) noexcept
    {
        return mImpl->setCausal(isCausal);
    }

    bool getCausal() const noexcept
    {
        return mImpl->getCausal();
    }

    bool setDecomposable(bool decomposable) noexcept
    {
        return mImpl->setDecomposable(decomposable);
    }

    bool getDecomposable() const noexcept
    {
        return mImpl->getDecomposable();
    }

    bool setInput(int32_t index, ITensor& input) noexcept
    {
        return mImpl->setInput(index, input);
    }

    int32_t getNbInputs() const noexcept
    {
        return mImpl->getNbInputs();
    }

    ITensor* getInput(int32_t index) const noexcept
    {
        return mImpl->getInput(index);
    }

    int32_t getNbOutputs() const noexcept
    {
        return mImpl->getNbOutputs();
    }

    ITensor* getOutput(int32_t index) const noexcept
    {
        return mImpl->getOutput(index);
    }

    bool setName(char const* name) noexcept
    {
        return mImpl->setName(name);
    }

    char const* getName() const noexcept
    {
        return mImpl->getName();
    }

    bool setNormalizationQuantizeScale(ITensor& tensor) noexcept
    {
        return mImpl->setNormalizationQuantizeScale(tensor);
    }

    ITensor* getNormalizationQuantizeScale() const noexcept
    {
        return mImpl->getNormalizationQuantizeScale();
    }

    bool setNormalizationQuantizeToType(DataType type) noexcept
    {
        return mImpl->setNormalizationQuantizeToType(type);
    }

    DataType getNormalizationQuantizeToType() const noexcept
    {
        return mImpl->getNormalizationQuantizeToType();
    }

    bool setMetadata(char const* metadata) noexcept
    {
        return mImpl->setMetadata(metadata);
    }

    char const* getMetadata() const noexcept
    {
        return mImpl->getMetadata();
    }

    bool setNbRanks(int32_t nbRanks) noexcept
    {
        return mImpl->setNbRanks(nbRanks);
    }

    int32_t getNbRanks() const noexcept
    {
        return mImpl->getNbRanks();
    }

  protected:
    virtual ~IAttention() noexcept = default;

    apiv::VAttention* mImpl{nullptr};
};

class IRotaryEmbeddingLayer : public ILayer
{
  public:
    void setInterleaved(bool interleaved) noexcept
    {
        mImpl->setInterleaved(interleaved);
    }

    TRT_NODISCARD bool getInterleaved() const noexcept
    {
        return mImpl->getInterleaved();
    }

    TRT_NODISCARD bool setRotaryEmbeddingDim(int32_t rotaryEmbeddingDim) noexcept
    {
        return mImpl->setRotaryEmbeddingDim(rotaryEmbeddingDim);
    }

    TRT_NODISCARD int32_t getRotaryEmbeddingDim() const noexcept
    {
        return mImpl->getRotaryEmbeddingDim();
    }

    using ILayer::setInput;

  protected:
    virtual ~IRotaryEmbeddingLayer() noexcept = default;

    apiv::VRotaryEmbeddingLayer* mImpl{nullptr};
};

enum class KVCacheMode : int32_t
{
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

class IKVCacheUpdateLayer : public ILayer
{
  public:
    bool setCacheMode(KVCacheMode cacheMode) noexcept
    {
        return mImpl->setCacheMode(cacheMode);
    }

    KVCacheMode getCacheMode() const noexcept
    {
        return mImpl->getCacheMode();
    }

    using ILayer::setInput;

  protected:
    virtual ~IKVCacheUpdateLayer() noexcept = default;

    apiv::VKVCacheUpdateLayer* mImpl{nullptr};
};

enum class MoEActType : int32_t
{
    kNONE = 0,
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

class IMoELayer : public ILayer
{
  public:
    void setGatedWeights(
        ITensor& fcGateWeights, ITensor& fcUpWeights, ITensor& fcDownWeights, MoEActType activationType) noexcept
    {
        mImpl->setGatedWeights(fcGateWeights, fcUpWeights, fcDownWeights, activationType);
    }

    void setGatedBiases(ITensor& fcGateBiases, ITensor& fcUpBiases, ITensor& fcDownBiases) noexcept
    {
        mImpl->setGatedBiases(fcGateBiases, fcUpBiases, fcDownBiases);
    }

    void setActivationType(MoEActType activationType) noexcept
    {
        mImpl->setActivationType(activationType);
    }

    MoEActType getActivationType() const noexcept
    {
        return mImpl->getActivationType();
    }

    void setQuantizationStatic(ITensor& fcDownActivationScale, DataType dataType) noexcept
    {
        mImpl->setQuantizationStatic(fcDownActivationScale, dataType);
    }

    void setQuantizationDynamicDblQ(
        ITensor& fcDownActivationDblQScale, DataType dataType, Dims const& blockShape,
        DataType dynQOutputScaleType) noexcept
    {
        mImpl->setQuantizationDynamicDblQ(fcDownActivationDblQScale, dataType, blockShape, dynQOutputScaleType);
    }

    void setQuantizationToType(DataType type) noexcept
    {
        mImpl->setQuantizationToType(type);
    }

    DataType getQuantizationToType() const noexcept
    {
        return mImpl->getQuantizationToType();
    }

    void setQuantizationBlockShape(Dims const& blockShape) noexcept
    {
        mImpl->setQuantizationBlockShape(blockShape);
    }

    Dims getQuantizationBlockShape() const noexcept
    {
        return mImpl->getQuantizationBlockShape();
    }

    void setDynQOutputScaleType(DataType type) noexcept
    {
        mImpl->setDynQOutputScaleType(type);
    }

    DataType getDynQOutputScaleType() const noexcept
    {
        return mImpl->getDynQOutputScaleType();
    }

    void setSwigluParams(float limit, float alpha, float beta) noexcept
    {
        mImpl->setSwigluParams(limit, alpha, beta);
    }

    void setSwigluParamLimit(float limit) noexcept
    {
        mImpl->setSwigluParamLimit(limit);
    }

    float getSwigluParamLimit() const noexcept
    {
        return mImpl->getSwigluParamLimit();
    }

    void setSwigluParamAlpha(float alpha) noexcept
    {
        mImpl->setSwigluParamAlpha(alpha);
    }

    float getSwigluParamAlpha() const noexcept
    {
        return mImpl->getSwigluParamAlpha();
    }

    void setSwigluParamBeta(float beta) noexcept
    {
        mImpl->setSwigluParamBeta(beta);
    }

    float getSwigluParamBeta() const noexcept
    {
        return mImpl->getSwigluParamBeta();
    }

    void setInput(int32_t index, ITensor& tensor) noexcept
    {
        mImpl->setInput(index, tensor);
    }

  protected:
    virtual ~IMoELayer() noexcept = default;

    apiv::VMoELayer* mImpl{nullptr};
};

enum class CollectiveOperation : int32_t
{
    kALL_REDUCE = 0,
    kALL_GATHER = 1,
    kBROADCAST = 2,
    kREDUCE = 3,
    kREDUCE_SCATTER = 4,
};

class IDistCollectiveLayer : public ILayer
{
  protected:
    virtual ~IDistCollectiveLayer() noexcept = default;

    apiv::VDistCollectiveLayer* mImpl{nullptr};
};

enum class NetworkDefinitionCreationFlag : int32_t
{
    kEXPLICIT_BATCH TRT_DEPRECATED_ENUM = 0,
    kSTRONGLY_TYPED = 1,
    kPREFER_JIT_PYTHON_PLUGINS = 2,
    kPREFER_AOT_PYTHON_PLUGINS = 3,
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

class INetworkDefinition : public INoCopy
{
  public:
    virtual ~INetworkDefinition() noexcept = default;

    ITensor* addInput(char const* name, DataType type, Dims const& dimensions) noexcept
    {
        return mImpl->addInput(name, type, dimensions);
    }

    void markOutput(ITensor& tensor) noexcept
    {
        mImpl->markOutput(tensor);
    }

    bool markDebug(ITensor& tensor) noexcept
    {
        return mImpl->markDebug(tensor);
    }

    bool unmarkDebug(ITensor& tensor) noexcept
    {
        return mImpl->unmarkDebug(tensor);
    }

    bool isDebugTensor(ITensor const& tensor) const noexcept
    {
        return mImpl->isDebugTensor(tensor);
    }

    bool markUnfusedTensorsAsDebugTensors() noexcept
    {
        return mImpl->markUnfusedTensorsAsDebugTensors();
    }

    bool unmarkUnfusedTensorsAsDebugTensors() noexcept
    {
        return mImpl->unmarkUnfusedTensorsAsDebugTensors();
    }

    IActivationLayer* addActivation(ITensor& input, ActivationType type) noexcept
    {
        return mImpl->addActivation(input, type);
    }

    ILRNLayer* addLRN(ITensor& input, int64_t window, float alpha, float beta, float k) noexcept
    {
        return mImpl->addLRN(input, window, alpha, beta, k);
    }

    IScaleLayer* addScale(ITensor& input, ScaleMode mode, Weights shift, Weights scale, Weights power) noexcept
    {
        return mImpl->addScale(input, mode, shift, scale, power);
    }

    ISoftMaxLayer* addSoftMax(ITensor& input) noexcept
    {
        return mImpl->addSoftMax(input);
    }

    IConcatenationLayer* addConcatenation(ITensor* const* inputs, int32_t nbInputs) noexcept
    {
        return mImpl->addConcatenation(inputs, nbInputs);
    }

    IElementWiseLayer* addElementWise(ITensor& input1, ITensor& input2, ElementWiseOperation op) noexcept
    {
        return mImpl->addElementWise(input1, input2, op);
    }

    IUnaryLayer* addUnary(ITensor& input, UnaryOperation operation) noexcept
    {
        return mImpl->addUnary(input, operation);
    }

    IShuffleLayer* addShuffle(ITensor& input) noexcept
    {
        return mImpl->addShuffle(input);
    }

    IOneHotLayer* addOneHot(ITensor& indices, ITensor& values, ITensor& depth, int32_t axis) noexcept
    {
        return mImpl->addOneHot(indices, values, depth, axis);
    }

    int32_t getNbLayers() const noexcept
    {
        return mImpl->getNbLayers();
    }

    ILayer* getLayer(int32_t index) const noexcept
    {
        return mImpl->getLayer(index);
    }

    int32_t getNbInputs() const noexcept
    {
        return mImpl->getNbInputs();
    }

    ITensor* getInput(int32_t index) const noexcept
    {
        return mImpl->getInput(index);
    }

    int32_t getNbOutputs() const noexcept
    {
        return mImpl->getNbOutputs();
    }

    ITensor* getOutput(int32_t index) const noexcept
    {
        return mImpl->getOutput(index);
    }

    IReduceLayer* addReduce(
        ITensor& input, ReduceOperation operation, uint32_t reduceAxes, bool keepDimensions) noexcept
    {
        return mImpl->addReduce(input, operation, reduceAxes, keepDimensions);
    }

    TRT_DEPRECATED ITopKLayer* addTopK(ITensor& input, TopKOperation op, int32_t k, uint32_t reduceAxes) noexcept
    {
        return mImpl->addTopK(input, op, k, reduceAxes);
    }

    ITopKLayer* addTopK(ITensor& input, TopKOperation op, int32_t k, uint32_t reduceAxes, DataType indicesType) noexcept
    {
        return mImpl->addTopKV2(input, op, k, reduceAxes, indicesType);
    }

    IGatherLayer* addGather(ITensor& data, ITensor& indices, int32_t axis) noexcept
    {
        return mImpl->addGather(data, indices, axis);
    }

    IGatherLayer* addGatherV2(ITensor& data, ITensor& indices, GatherMode mode) noexcept
    {
        return mImpl->addGatherV2(data, indices, mode);
    }

    IRaggedSoftMaxLayer* addRaggedSoftMax(ITensor& input, ITensor& bounds) noexcept
    {
        return mImpl->addRaggedSoftMax(input, bounds);
    }

    IMatrixMultiplyLayer* addMatrixMultiply(
        ITensor& input0, MatrixOperation op0, ITensor& input1, MatrixOperation op1) noexcept
    {
        return mImpl->addMatrixMultiply(input0, op0, input1, op1);
    }

    TRT_DEPRECATED INonZeroLayer* addNonZero(ITensor& input) noexcept
    {
        return mImpl->addNonZero(input);
    }

    INonZeroLayer* addNonZero(ITensor& input, DataType indicesType) noexcept
    {
        return mImpl->addNonZeroV2(input, indicesType);
    }

    IConstantLayer* addConstant(Dims const& dimensions, Weights weights) noexcept
    {
        return mImpl->addConstant(dimensions, weights);
    }

    IIdentityLayer* addIdentity(ITensor& input) noexcept
    {
        return mImpl->addIdentity(input);
    }

    ICastLayer* addCast(ITensor& input, DataType toType) noexcept
    {
        return mImpl->addCast(input, toType);
    }

    void removeTensor(ITensor& tensor) noexcept
    {
        mImpl->removeTensor(tensor);
    }

    void unmarkOutput(ITensor& tensor) noexcept
    {
        mImpl->unmarkOutput(tensor);
    }

    TRT_DEPRECATED IPluginV2Layer* addPluginV2(ITensor* const* inputs, int32_t nbInputs, IPluginV2& plugin) noexcept
    {
        return mImpl->addPluginV2(inputs, nbInputs, plugin);
    }

    IPluginV3Layer* addPluginV3(
        ITensor* const* inputs, int32_t nbInputs, ITensor* const* shapeInputs, int32_t nbShapeInputs,
        IPluginV3& plugin) noexcept
    {
        return mImpl->addPluginV3(inputs, nbInputs, shapeInputs, nbShapeInputs, plugin);
    }

    ISliceLayer* addSlice(ITensor& input, Dims const& start, Dims const& size, Dims const& stride) noexcept
    {
        return mImpl->addSlice(input, start, size, stride);
    }

    void setName(char const* name) noexcept
    {
        mImpl->setName(name);
    }

    char const* getName() const noexcept
    {
        return mImpl->getName();
    }

    IShapeLayer* addShape(ITensor& input) noexcept
    {
        return mImpl->addShape(input);
    }

    TRT_DEPRECATED bool hasImplicitBatchDimension() const noexcept
    {
        return mImpl->hasImplicitBatchDimension();
    }

    NetworkDefinitionCreationFlags getFlags() const noexcept
    {
        return mImpl->getFlags();
    }

    bool getFlag(NetworkDefinitionCreationFlag networkDefinitionCreationFlag) const noexcept
    {
        return mImpl->getFlag(networkDefinitionCreationFlag);
    }

    bool markOutputForShapes(ITensor& tensor) noexcept
    {
        return mImpl->markOutputForShapes(tensor);
    }

    bool unmarkOutputForShapes(ITensor& tensor) noexcept
    {
        return mImpl->unmarkOutputForShapes(tensor);
    }

    IParametricReLULayer* addParametricReLU(ITensor& input, ITensor& slope) noexcept
    {
        return mImpl->addParametricReLU(input, slope);
    }

    IConvolutionLayer* addConvolutionNd(
        ITensor& input, int64_t nbOutputMaps, Dims const& kernelSize, Weights kernelWeights,
        Weights biasWeights) noexcept
    {
        return mImpl->addConvolutionNd(input, nbOutputMaps, kernelSize, kernelWeights, biasWeights);
    }

    IPoolingLayer* addPoolingNd(ITensor& input, PoolingType type, Dims const& windowSize) noexcept
    {
        return mImpl->addPoolingNd(input, type, windowSize);
    }

    IDeconvolutionLayer* addDeconvolutionNd(
        ITensor& input, int64_t nbOutputMaps, Dims kernelSize, Weights kernelWeights, Weights biasWeights) noexcept
    {
        return mImpl->addDeconvolutionNd(input, nbOutputMaps, kernelSize, kernelWeights, biasWeights);
    }

    IScaleLayer* addScaleNd(
        ITensor& input, ScaleMode mode, Weights shift, Weights scale, Weights power, int32_t channelAxis) noexcept
    {
        return mImpl->addScaleNd(input, mode, shift, scale, power, channelAxis);
    }

    IResizeLayer* addResize(ITensor& input) noexcept
    {
        return mImpl->addResize(input);
    }

    ILoop* addLoop() noexcept
    {
        return mImpl->addLoop();
    }

    IIfConditional* addIfConditional() noexcept
    {
        return mImpl->addIfConditional();
    }

    ISelectLayer* addSelect(ITensor& condition, ITensor& thenInput, ITensor& elseInput) noexcept
    {
        return mImpl->addSelect(condition, thenInput, elseInput);
    }

    IAssertionLayer* addAssertion(ITensor& condition, char const* message) noexcept
    {
        return mImpl->addAssertion(condition, message);
    }

    TRT_DEPRECATED IFillLayer* addFill(Dims const& dimensions, FillOperation op) noexcept
    {
        return mImpl->addFill(dimensions, op);
    }

    IFillLayer* addFill(Dims const& dimensions, FillOperation op, DataType outputType) noexcept
    {
        return mImpl->addFillV2(dimensions, op, outputType);
    }

    IPaddingLayer* addPaddingNd(ITensor& input, Dims const& prePadding, Dims const& postPadding) noexcept
    {
        return mImpl->addPaddingNd(input, prePadding, postPadding);
    }

    bool setWeightsName(Weights weights, char const* name) noexcept
    {
        return mImpl->setWeightsName(weights, name);
    }

    void setErrorRecorder(IErrorRecorder* recorder) noexcept
    {
        mImpl->setErrorRecorder(recorder);
    }

    IErrorRecorder* getErrorRecorder() const noexcept
    {
        return mImpl->getErrorRecorder();
    }

    TRT_DEPRECATED IDequantizeLayer* addDequantize(ITensor& input, ITensor& scale) noexcept
    {
        return mImpl->addDequantize(input, scale);
    }

    IDequantizeLayer* addDequantize(ITensor& input, ITensor& scale, DataType outputType) noexcept
    {
        return mImpl->addDequantizeV2(input, scale, outputType);
    }

    IScatterLayer* addScatter(ITensor& data, ITensor& indices, ITensor& updates, ScatterMode mode) noexcept
    {
        return mImpl->addScatter(data, indices, updates, mode);
    }

    TRT_DEPRECATED IQuantizeLayer* addQuantize(ITensor& input, ITensor& scale) noexcept
    {
        return mImpl->addQuantize(input, scale);
    }

    IQuantizeLayer* addQuantize(ITensor& input, ITensor& scale, DataType outputType) noexcept
    {
        return mImpl->addQuantizeV2(input, scale, outputType);
    }

    TRT_DEPRECATED IDynamicQuantizeLayer* addDynamicQuantize(
        ITensor& input, int32_t axis, int32_t blockSize, DataType outputType, DataType scaleType) noexcept
    {
        return mImpl->addDynamicQuantize(input, axis, blockSize, outputType, scaleType);
    }

    IDynamicQuantizeLayer* addDynamicQuantizeV2(
        ITensor& input, Dims const& blockShape, DataType outputType, DataType scaleType) noexcept
    {
        return mImpl->addDynamicQuantizeV2(input, blockShape, outputType, scaleType);
    }

    IEinsumLayer* addEinsum(ITensor* const* inputs, int32_t nbInputs, char const* equation) noexcept
    {
        return mImpl->addEinsum(inputs, nbInputs, equation);
    }

    IGridSampleLayer* addGridSample(ITensor& input, ITensor& grid) noexcept
    {
        return mImpl->addGridSample(input, grid);
    }

    TRT_DEPRECATED INMSLayer* addNMS(ITensor& boxes, ITensor& scores, ITensor& maxOutputBoxesPerClass) noexcept
    {
        return mImpl->addNMS(boxes, scores, maxOutputBoxesPerClass);
    }

    INMSLayer* addNMS(ITensor& boxes, ITensor& scores, ITensor& maxOutputBoxesPerClass, DataType indicesType) noexcept
    {
        return mImpl->addNMSV2(boxes, scores, maxOutputBoxesPerClass, indicesType);
    }

    IReverseSequenceLayer* addReverseSequence(ITensor& input, ITensor& sequenceLens) noexcept
    {
        return mImpl->addReverseSequence(input, sequenceLens);
    }

    TRT_DEPRECATED INormalizationLayer* addNormalization(
        ITensor& input, ITensor& scale, ITensor& bias, uint32_t axesMask) noexcept
    {
        return mImpl->addNormalization(input, scale, bias, axesMask);
    }

    ICumulativeLayer* addCumulative(
        ITensor& input, ITensor& axis, CumulativeOperation operation, bool exclusive, bool reverse) noexcept
    {
        return mImpl->addCumulative(input, axis, operation, exclusive, reverse);
    }

    IAttention* addAttention(
        ITensor& query, ITensor& key, ITensor& value, AttentionNormalizationOp normOp, bool causal) noexcept
    {
        return mImpl->addAttention(query, key, value, normOp, causal);
    }

    IRotaryEmbeddingLayer* addRotaryEmbedding(
        ITensor& input, ITensor& cosCache, ITensor& sinCache, bool interleaved, int32_t rotaryEmbeddingDim) noexcept
    {
        return mImpl->addRotaryEmbedding(input, cosCache, sinCache, interleaved, rotaryEmbeddingDim);
    }

    IKVCacheUpdateLayer* addKVCacheUpdate(
        ITensor& cache, ITensor& update, ITensor& writeIndices, KVCacheMode cacheMode) noexcept
    {
        return mImpl->addKVCacheUpdate(cache, update, writeIndices, cacheMode);
    }

    IMoELayer* addMoE(
        ITensor& hiddenStates, ITensor& selectedExpertsForTokens, ITensor& scoresForSelectedExperts) noexcept
    {
        return mImpl->addMoE(hiddenStates, selectedExpertsForTokens, scoresForSelectedExperts);
    }

    TRT_NODISCARD IDistCollectiveLayer* addDistCollective(
        ITensor& input, CollectiveOperation distCollectiveOp, ReduceOperation reduceOp, int64_t root, int64_t* groups,
        int64_t groupSize) noexcept
    {
        return mImpl->addDistCollective(input, distCollectiveOp, reduceOp, root, groups, groupSize);
    }

    virtual IBuilder& getBuilder() const noexcept
    {
        return mImpl->getBuilder();
    }

    bool markWeightsRefittable(char const* name) noexcept
    {
        return mImpl->markWeightsRefittable(name);
    }

    bool unmarkWeightsRefittable(char const* name) noexcept
    {
        return mImpl->unmarkWeightsRefittable(name);
    }

    bool areWeightsMarkedRefittable(char const* name) const noexcept
    {
        return mImpl->areWeightsMarkedRefittable(name);
    }

    ISqueezeLayer* addSqueeze(ITensor& input, ITensor& axes) noexcept
    {
        return mImpl->addSqueeze(input, axes);
    }

    IUnsqueezeLayer* addUnsqueeze(ITensor& input, ITensor& axes) noexcept
    {
        return mImpl->addUnsqueeze(input, axes);
    }

    TRT_NODISCARD INormalizationLayer* addNormalizationV2(
        ITensor& input, ITensor& scale, ITensor& bias, uint32_t axesMask) noexcept
    {
        return mImpl->addNormalizationV2(input, scale, bias, axesMask);
    }

    TRT_DEPRECATED IConvolutionLayer* addConvolution(ITensor& input, int32_t nbOutputMaps, DimsHW kernelSize,
        Weights kernelWeights, Weights biasWeights) noexcept
    {
        return addConvolutionNd(input, nbOutputMaps, kernelSize, kernelWeights, biasWeights);
    }

    TRT_DEPRECATED IFullyConnectedLayer* addFullyConnected(
        ITensor& input, int32_t nbOutputs, Weights kernelWeights, Weights biasWeights) noexcept
    {
        return mImpl->addFullyConnected(input, nbOutputs, kernelWeights, biasWeights);
    }

    TRT_DEPRECATED IPoolingLayer* addPooling(ITensor& input, PoolingType type, DimsHW windowSize) noexcept
    {
        return addPoolingNd(input, type, windowSize);
    }

    TRT_DEPRECATED IDeconvolutionLayer* addDeconvolution(ITensor& input, int32_t nbOutputMaps, DimsHW kernelSize,
        Weights kernelWeights, Weights biasWeights) noexcept
    {
        return addDeconvolutionNd(input, nbOutputMaps, kernelSize, kernelWeights, biasWeights);
    }

    TRT_DEPRECATED IPaddingLayer* addPadding(ITensor& input, DimsHW prePadding, DimsHW postPadding) noexcept
    {
        return addPaddingNd(input, prePadding, postPadding);
    }

    TRT_DEPRECATED IRNNv2Layer* addRNNv2(
        ITensor& input, int32_t layerCount, int32_t hiddenSize, int32_t maxSeqLen, RNNOperation op) noexcept
    {
        return mImpl->addRNNv2(input, layerCount, hiddenSize, maxSeqLen, op);
    }

    TRT_DEPRECATED bool hasExplicitPrecision() const noexcept
    {
        return mImpl->hasExplicitPrecision();
    }

    TRT_DEPRECATED void destroy() noexcept
    {
        delete this;
    }

  protected:
    apiv::VNetworkDefinition* mImpl{nullptr};
};

enum class CalibrationAlgoType : int32_t
{
    kLEGACY_CALIBRATION TRT_DEPRECATED_ENUM = 0,
    kENTROPY_CALIBRATION TRT_DEPRECATED_ENUM = 1,
    kENTROPY_CALIBRATION_2 TRT_DEPRECATED_ENUM = 2,
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

class TRT_DEPRECATED IInt8Calibrator : public IVersionedInterface
{
  public:
    ~IInt8Calibrator() noexcept override = default;

    TRT_DEPRECATED virtual int32_t getBatchSize() const noexcept = 0;

    virtual bool getBatch(void* bindings[], char const* names[], int32_t nbBindings) noexcept = 0;

    virtual void const* readCalibrationCache(size_t& length) noexcept = 0;

    virtual void writeCalibrationCache(void const* ptr, size_t length) noexcept = 0;

    virtual CalibrationAlgoType getAlgorithm() noexcept = 0;

    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"IInt8Calibrator", 1, 0};
    }
};

TENON_V_1_0_BEGIN
class TRT_DEPRECATED IInt8EntropyCalibrator : public IInt8Calibrator
{
  public:
    ~IInt8EntropyCalibrator() noexcept override = default;

    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"IInt8EntropyCalibrator", 1, 0};
    }

    CalibrationAlgoType getAlgorithm() noexcept override
    {
        return CalibrationAlgoType::kENTROPY_CALIBRATION;
    }
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IInt8EntropyCalibrator)

TENON_V_1_0_BEGIN
class TRT_DEPRECATED IInt8EntropyCalibrator2 : public IInt8Calibrator
{
  public:
    ~IInt8EntropyCalibrator2() noexcept override = default;

    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"IInt8EntropyCalibrator2", 1, 0};
    }

    CalibrationAlgoType getAlgorithm() noexcept override
    {
        return CalibrationAlgoType::kENTROPY_CALIBRATION_2;
    }
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IInt8EntropyCalibrator2)

TENON_V_1_0_BEGIN
class TRT_DEPRECATED IInt8MinMaxCalibrator : public IInt8Calibrator
{
  public:
    ~IInt8MinMaxCalibrator() noexcept override = default;

    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"IInt8MinMaxCalibrator", 1, 0};
    }

    CalibrationAlgoType getAlgorithm() noexcept override
    {
        return CalibrationAlgoType::kMINMAX_CALIBRATION;
    }
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IInt8MinMaxCalibrator)

TENON_V_1_0_BEGIN
class TRT_DEPRECATED IInt8LegacyCalibrator : public IInt8Calibrator
{
  public:
    ~IInt8LegacyCalibrator() noexcept override = default;

    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"IInt8Calibrator", 1, 0};
    }

    CalibrationAlgoType getAlgorithm() noexcept override
    {
        return CalibrationAlgoType::kLEGACY_CALIBRATION;
    }

    virtual double getQuantile() const noexcept = 0;

    virtual double getRegressionCutoff() const noexcept = 0;

    virtual void const* readHistogramCache(size_t& length) noexcept = 0;

    virtual void writeHistogramCache(void const* ptr, size_t length) noexcept = 0;
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IInt8LegacyCalibrator)

class TRT_DEPRECATED IAlgorithmIOInfo : public INoCopy
{
  public:
    DataType getDataType() const noexcept
    {
        return mImpl->getDataType();
    }

    Dims getStrides() const noexcept
    {
        return mImpl->getStrides();
    }

    int64_t getVectorizedDim() const noexcept
    {
        return mImpl->getVectorizedDim();
    }

    int64_t getComponentsPerElement() const noexcept
    {
        return mImpl->getComponentsPerElement();
    }

    TRT_DEPRECATED TensorFormat getTensorFormat() const noexcept
    {
        return mImpl->getTensorFormat();
    }

  protected:
    virtual ~IAlgorithmIOInfo() noexcept = default;

    apiv::VAlgorithmIOInfo* mImpl{nullptr};
};

class TRT_DEPRECATED IAlgorithmVariant : public INoCopy
{
  public:
    int64_t getImplementation() const noexcept
    {
        return mImpl->getImplementation();
    }

    int64_t getTactic() const noexcept
    {
        return mImpl->getTactic();
    }

  protected:
    virtual ~IAlgorithmVariant() noexcept = default;

    apiv::VAlgorithmVariant* mImpl{nullptr};
};

class TRT_DEPRECATED IAlgorithmContext : public INoCopy
{
  public:
    char const* getName() const noexcept
    {
        return mImpl->getName();
    }

    Dims getDimensions(int32_t index, OptProfileSelector select) const noexcept
    {
        return mImpl->getDimensions(index, select);
    }

    int32_t getNbInputs() const noexcept
    {
        return mImpl->getNbInputs();
    }

    int32_t getNbOutputs() const noexcept
    {
        return mImpl->getNbOutputs();
    }

  protected:
    virtual ~IAlgorithmContext() noexcept = default;

    apiv::VAlgorithmContext* mImpl{nullptr};
};

class TRT_DEPRECATED IAlgorithm : public INoCopy
{
  public:
    IAlgorithmVariant const& getAlgorithmVariant() const noexcept
    {
        return mImpl->getAlgorithmVariant();
    }

    float getTimingMSec() const noexcept
    {
        return mImpl->getTimingMSec();
    }

    size_t getWorkspaceSize() const noexcept
    {
        return mImpl->getWorkspaceSize();
    }

    IAlgorithmIOInfo const* getAlgorithmIOInfoByIndex(int32_t index) const noexcept
    {
        return mImpl->getAlgorithmIOInfoByIndex(index);
    }

    TRT_DEPRECATED IAlgorithmIOInfo const& getAlgorithmIOInfo(int32_t index) const noexcept
    {
        return *mImpl->getAlgorithmIOInfoByIndex(index);
    }

  protected:
    virtual ~IAlgorithm() noexcept = default;

    apiv::VAlgorithm* mImpl{nullptr};
};

TENON_V_1_0_BEGIN
class TRT_DEPRECATED IAlgorithmSelector : public IVersionedInterface
{
  public:
    ~IAlgorithmSelector() noexcept override = default;

    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"IAlgorithmSelector", 1, 0};
    }

    virtual int32_t selectAlgorithms(
        IAlgorithmContext const& context, IAlgorithm const* const* choices, int32_t nbChoices,
        int32_t* selection) noexcept = 0;

    virtual void reportAlgorithms(
        IAlgorithmContext const* const* algoContexts, IAlgorithm const* const* algoChoices,
        int32_t nbAlgorithms) noexcept = 0;
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IAlgorithmSelector)

enum class QuantizationFlag : int32_t
{
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

enum class RuntimePlatform : int32_t
{
    kSAME_AS_BUILD = 0,
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

enum class BuilderFlag : int32_t
{
    kFP16 TRT_DEPRECATED_ENUM = 0,
    kINT8 TRT_DEPRECATED_ENUM = 1,
    kDEBUG = 2,
    kGPU_FALLBACK = 3,
    kREFIT = 4,
    kDISABLE_TIMING_CACHE = 5,
    kTF32 = 6,
    kSPARSE_WEIGHTS = 7,
    kSAFETY_SCOPE TRT_DEPRECATED_ENUM = 8,
    kOBEY_PRECISION_CONSTRAINTS TRT_DEPRECATED_ENUM = 9,
    kPREFER_PRECISION_CONSTRAINTS TRT_DEPRECATED_ENUM = 10,
    kDIRECT_IO TRT_DEPRECATED_ENUM = 11,
    kREJECT_EMPTY_ALGORITHMS TRT_DEPRECATED_ENUM = 12,
    kVERSION_COMPATIBLE = 13,
    kEXCLUDE_LEAN_RUNTIME = 14,
    kFP8 TRT_DEPRECATED_ENUM = 15,
    kERROR_ON_TIMING_CACHE_MISS = 16,
    kBF16 TRT_DEPRECATED_ENUM = 17,
    kDISABLE_COMPILATION_CACHE = 18,
    kSTRIP_PLAN = 19,
    kWEIGHTLESS TRT_DEPRECATED_ENUM = 19,
    kREFIT_IDENTICAL = 20,
    kWEIGHT_STREAMING = 21,
    kINT4 TRT_DEPRECATED_ENUM = 22,
    kREFIT_INDIVIDUAL = 23,
    kSTRICT_NANS = 24,
    kMONITOR_MEMORY = 25,
    kFP4 TRT_DEPRECATED_ENUM = 26,
    kEDITABLE_TIMING_CACHE = 27,
    kDISTRIBUTIVE_INDEPENDENCE = 28,
    kSTRICT_TYPES TRT_DEPRECATED_ENUM = 30,
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
struct TimingCacheKey
{
    uint8_t data[16];
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(TimingCacheKey)

TENON_V_1_0_BEGIN
struct TimingCacheValue
{
    static constexpr uint64_t kINVALID_TACTIC_HASH{UINT64_MAX};
    uint64_t tacticHash;
    float timingMSec;
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(TimingCacheValue)

class ITimingCache : public INoCopy
{
  public:
    virtual ~ITimingCache() noexcept = default;

    IHostMemory* serialize() const noexcept
    {
        return mImpl->serialize();
    }

    bool combine(ITimingCache const& inputCache, bool ignoreMismatch) noexcept
    {
        return mImpl->combine(inputCache, ignoreMismatch);
    }

    bool reset() noexcept
    {
        return mImpl->reset();
    }

    int64_t queryKeys(TimingCacheKey* keyBuffer, int64_t capacity) const noexcept
    {
        return mImpl->queryKeys(keyBuffer, capacity);
    }

    TimingCacheValue query(TimingCacheKey const& key) const noexcept
    {
        return mImpl->query(key);
    }

    bool update(TimingCacheKey const& key, TimingCacheValue const& value) noexcept
    {
        return mImpl->update(key, value);
    }

  protected:
    apiv::VTimingCache* mImpl{nullptr};
};

enum class MemoryPoolType : int32_t
{
    kWORKSPACE = 0,
    kDLA_MANAGED_SRAM = 1,
    kDLA_LOCAL_DRAM = 2,
    kDLA_GLOBAL_DRAM = 3,
    kTACTIC_DRAM = 4,
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

enum class PreviewFeature : int32_t
{
    kPROFILE_SHARING_0806 TRT_DEPRECATED_ENUM = 0,
    kALIASED_PLUGIN_IO_10_03 = 1,
    kRUNTIME_ACTIVATION_RESIZE_10_10 = 2,
    kMULTIDEVICE_RUNTIME_10_16 = 3,
    kFASTER_DYNAMIC_SHAPES_0805 TRT_DEPRECATED_ENUM = 1000,
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

enum class HardwareCompatibilityLevel : int32_t
{
    kNONE = 0,
    kAMPERE_PLUS = 1,
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

enum class TilingOptimizationLevel : int32_t
{
    kNONE = 0,
    kFAST = 1,
    kMODERATE = 2,
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

    virtual void phaseStart(char const* phaseName, char const* parentPhase, int32_t nbSteps) noexcept = 0;

    virtual bool stepComplete(char const* phaseName, int32_t step) noexcept = 0;

    virtual void phaseFinish(char const* phaseName) noexcept = 0;
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IProgressMonitor)

class IBuilderConfig : public INoCopy
{
  public:
    virtual ~IBuilderConfig() noexcept = default;

    virtual void setAvgTimingIterations(int32_t avgTiming) noexcept
    {
        mImpl->setAvgTimingIterations(avgTiming);
    }

    int32_t getAvgTimingIterations() const noexcept
    {
        return mImpl->getAvgTimingIterations();
    }

    void setEngineCapability(EngineCapability capability) noexcept
    {
        mImpl->setEngineCapability(capability);
    }

    EngineCapability getEngineCapability() const noexcept
    {
        return mImpl->getEngineCapability();
    }

    TRT_DEPRECATED void setInt8Calibrator(IInt8Calibrator* calibrator) noexcept
    {
        mImpl->setInt8Calibrator(calibrator);
    }

    TRT_DEPRECATED IInt8Calibrator* getInt8Calibrator() const noexcept
    {
        return mImpl->getInt8Calibrator();
    }

    void setFlags(BuilderFlags builderFlags) noexcept
    {
        mImpl->setFlags(builderFlags);
    }

    BuilderFlags getFlags() const noexcept
    {
        return mImpl->getFlags();
    }

    void clearFlag(BuilderFlag builderFlag) noexcept
    {
        mImpl->clearFlag(builderFlag);
    }

    void setFlag(BuilderFlag builderFlag) noexcept
    {
        mImpl->setFlag(builderFlag);
    }

    bool getFlag(BuilderFlag builderFlag) const noexcept
    {
        return mImpl->getFlag(builderFlag);
    }

    void setDeviceType(ILayer const* layer, DeviceType deviceType) noexcept
    {
        mImpl->setDeviceType(layer, deviceType);
    }

    DeviceType getDeviceType(ILayer const* layer) const noexcept
    {
        return mImpl->getDeviceType(layer);
    }

    bool isDeviceTypeSet(ILayer const* layer) const noexcept
    {
        return mImpl->isDeviceTypeSet(layer);
    }

    void resetDeviceType(ILayer const* layer) noexcept
    {
        mImpl->resetDeviceType(layer);
    }

    bool canRunOnDLA(ILayer const* layer) const noexcept
    {
        return mImpl->canRunOnDLA(layer);
    }

    void setDLACore(int32_t dlaCore) noexcept
    {
        mImpl->setDLACore(dlaCore);
    }

    int32_t getDLACore() const noexcept
    {
        return mImpl->getDLACore();
    }

    void setDefaultDeviceType(DeviceType deviceType) noexcept
    {
        mImpl->setDefaultDeviceType(deviceType);
    }

    DeviceType getDefaultDeviceType() const noexcept
    {
        return mImpl->getDefaultDeviceType();
    }

    void reset() noexcept
    {
        mImpl->reset();
    }

    void setProfileStream(cudaStream_t const stream) noexcept
    {
        mImpl->setProfileStream(stream);
    }

    cudaStream_t getProfileStream() const noexcept
    {
        return mImpl->getProfileStream();
    }

    int32_t addOptimizationProfile(IOptimizationProfile const* profile) noexcept
    {
        return mImpl->addOptimizationProfile(profile);
    }

    int32_t getNbOptimizationProfiles() const noexcept
    {
        return mImpl->getNbOptimizationProfiles();
    }

    void setProfilingVerbosity(ProfilingVerbosity verbosity) noexcept
    {
        mImpl->setProfilingVerbosity(verbosity);
    }

    ProfilingVerbosity getProfilingVerbosity() const noexcept
    {
        return mImpl->getProfilingVerbosity();
    }

    TRT_DEPRECATED void setAlgorithmSelector(IAlgorithmSelector* selector) noexcept
    {
        mImpl->setAlgorithmSelector(selector);
    }

    TRT_DEPRECATED IAlgorithmSelector* getAlgorithmSelector() const noexcept
    {
        return mImpl->getAlgorithmSelector();
    }

    TRT_DEPRECATED bool setCalibrationProfile(IOptimizationProfile const* profile) noexcept
    {
        return mImpl->setCalibrationProfile(profile);
    }

    TRT_DEPRECATED IOptimizationProfile const* getCalibrationProfile() noexcept
    {
        return mImpl->getCalibrationProfile();
    }

    TRT_DEPRECATED void setQuantizationFlags(QuantizationFlags flags) noexcept
    {
        mImpl->setQuantizationFlags(flags);
    }

    TRT_DEPRECATED QuantizationFlags getQuantizationFlags() const noexcept
    {
        return mImpl->getQuantizationFlags();
    }

    TRT_DEPRECATED void clearQuantizationFlag(QuantizationFlag flag) noexcept
    {
        mImpl->clearQuantizationFlag(flag);
    }

    TRT_DEPRECATED void setQuantizationFlag(QuantizationFlag flag) noexcept
    {
        mImpl->setQuantizationFlag(flag);
    }

    TRT_DEPRECATED bool getQuantizationFlag(QuantizationFlag flag) const noexcept
    {
        return mImpl->getQuantizationFlag(flag);
    }

    bool setTacticSources(TacticSources tacticSources) noexcept
    {
        return mImpl->setTacticSources(tacticSources);
    }

    TacticSources getTacticSources() const noexcept
    {
        return mImpl->getTacticSources();
    }

    ITimingCache* createTimingCache(void const* blob, size_t size) const noexcept
    {
        return mImpl->createTimingCache(blob, size);
    }

    bool setTimingCache(ITimingCache const& cache, bool ignoreMismatch) noexcept
    {
        return mImpl->setTimingCache(cache, ignoreMismatch);
    }

    ITimingCache const* getTimingCache() const noexcept
    {
        return mImpl->getTimingCache();
    }

    void setMemoryPoolLimit(MemoryPoolType pool, size_t poolSize) noexcept
    {
        mImpl->setMemoryPoolLimit(pool, poolSize);
    }

    size_t getMemoryPoolLimit(MemoryPoolType pool) const noexcept
    {
        return mImpl->getMemoryPoolLimit(pool);
    }

    void setPreviewFeature(PreviewFeature feature, bool enable) noexcept
    {
        mImpl->setPreviewFeature(feature, enable);
    }

    bool getPreviewFeature(PreviewFeature feature) const noexcept
    {
        return mImpl->getPreviewFeature(feature);
    }

    void setBuilderOptimizationLevel(int32_t level) noexcept
    {
        mImpl->setBuilderOptimizationLevel(level);
    }

    int32_t getBuilderOptimizationLevel() noexcept
    {
        return mImpl->getBuilderOptimizationLevel();
    }

    void setHardwareCompatibilityLevel(HardwareCompatibilityLevel hardwareCompatibilityLevel) noexcept
    {
        mImpl->setHardwareCompatibilityLevel(hardwareCompatibilityLevel);
    }

    HardwareCompatibilityLevel getHardwareCompatibilityLevel() const noexcept
    {
        return mImpl->getHardwareCompatibilityLevel();
    }

    void setPluginsToSerialize(char const* const* paths, int32_t nbPaths) noexcept
    {
        mImpl->setPluginsToSerialize(paths, nbPaths);
    }

    char const* getPluginToSerialize(int32_t index) const noexcept
    {
        return mImpl->getPluginToSerialize(index);
    }

    int32_t getNbPluginsToSerialize() const noexcept
    {
        return mImpl->getNbPluginsToSerialize();
    }

    void setMaxAuxStreams(int32_t nbStreams) noexcept
    {
        mImpl->setMaxAuxStreams(nbStreams);
    }

    int32_t getMaxAuxStreams() const noexcept
    {
        return mImpl->getMaxAuxStreams();
    }

    void setProgressMonitor(IProgressMonitor* monitor) noexcept
    {
        mImpl->setProgressMonitor(monitor);
    }

    IProgressMonitor* getProgressMonitor() const noexcept
    {
        return mImpl->getProgressMonitor();
    }

    void setRuntimePlatform(RuntimePlatform runtimePlatform) noexcept
    {
        mImpl->setRuntimePlatform(runtimePlatform);
    }

    RuntimePlatform getRuntimePlatform() const noexcept
    {
        return mImpl->getRuntimePlatform();
    }

    void setMaxNbTactics(int32_t maxNbTactics) noexcept
    {
        mImpl->setMaxNbTactics(maxNbTactics);
    }

    int32_t getMaxNbTactics() const noexcept
    {
        return mImpl->getMaxNbTactics();
    }

    bool setTilingOptimizationLevel(TilingOptimizationLevel level) noexcept
    {
        return mImpl->setTilingOptimizationLevel(level);
    }

    TilingOptimizationLevel getTilingOptimizationLevel() const noexcept
    {
        return mImpl->getTilingOptimizationLevel();
    }

    bool setL2LimitForTiling(int64_t size) noexcept
    {
        return mImpl->setL2LimitForTiling(size);
    }

    int64_t getL2LimitForTiling() const noexcept
    {
        return mImpl->getL2LimitForTiling();
    }

    bool setRemoteAutoTuningConfig(char const* config) noexcept
    {
        return mImpl->setRemoteAutoTuningConfig(config);
    }

    char const* getRemoteAutoTuningConfig() const noexcept
    {
        return mImpl->getRemoteAutoTuningConfig();
    }

    TRT_DEPRECATED virtual void setMinTimingIterations(int32_t minTiming) noexcept
    {
        mImpl->setMinTimingIterations(minTiming);
    }

    TRT_DEPRECATED virtual int32_t getMinTimingIterations() const noexcept
    {
        return mImpl->getMinTimingIterations();
    }

    TRT_DEPRECATED void setMaxWorkspaceSize(size_t workspaceSize) noexcept
    {
        setMemoryPoolLimit(MemoryPoolType::kWORKSPACE, workspaceSize);
    }

    TRT_DEPRECATED size_t getMaxWorkspaceSize() const noexcept
    {
        return getMemoryPoolLimit(MemoryPoolType::kWORKSPACE);
    }

    TRT_DEPRECATED void destroy() noexcept
    {
        delete this;
    }

  protected:
    apiv::VBuilderConfig* mImpl{nullptr};
};

class IBuilder : public INoCopy
{
  public:
    virtual ~IBuilder() noexcept = default;

    TRT_DEPRECATED bool platformHasFastFp16() const noexcept
    {
        return mImpl->platformHasFastFp16();
    }

    TRT_DEPRECATED bool platformHasFastInt8() const noexcept
    {
        return mImpl->platformHasFastInt8();
    }

    int32_t getMaxDLABatchSize() const noexcept
    {
        return mImpl->getMaxDLABatchSize();
    }

    int32_t getNbDLACores() const noexcept
    {
        return mImpl->getNbDLACores();
    }

    void setGpuAllocator(IGpuAllocator* allocator) noexcept
    {
        mImpl->setGpuAllocator(allocator);
    }

    IBuilderConfig* createBuilderConfig() noexcept
    {
        return mImpl->createBuilderConfig();
    }

#if TENON_COMPAT_8
    TENON_COMPAT_8_TAG INetworkDefinition* createNetworkV2(NetworkDefinitionCreationFlags flags) noexcept
    {
        return mImpl->createNetworkV2(flags | impl::kCOMPAT_8_NETWORK);
    }
#else
    INetworkDefinition* createNetworkV2(NetworkDefinitionCreationFlags flags) noexcept
    {
        return mImpl->createNetworkV2(flags);
    }
#endif

    IOptimizationProfile* createOptimizationProfile() noexcept
    {
        return mImpl->createOptimizationProfile();
    }

    void setErrorRecorder(IErrorRecorder* recorder) noexcept
    {
        mImpl->setErrorRecorder(recorder);
    }

    IErrorRecorder* getErrorRecorder() const noexcept
    {
        return mImpl->getErrorRecorder();
    }

    void reset() noexcept
    {
        mImpl->reset();
    }

    TRT_DEPRECATED bool platformHasTf32() const noexcept
    {
        return mImpl->platformHasTf32();
    }

    IHostMemory* buildSerializedNetwork(INetworkDefinition& network, IBuilderConfig& config) noexcept
    {
        return mImpl->buildSerializedNetwork(network, config);
    }

    bool buildSerializedNetworkToStream(
        INetworkDefinition& network, IBuilderConfig& config, IStreamWriter& writer) noexcept
    {
        return mImpl->buildSerializedNetworkToStream(network, config, writer);
    }

    IHostMemory* buildSerializedNetwork(
        INetworkDefinition& network, IBuilderConfig& config, IHostMemory*& kernelText) noexcept
    {
        return mImpl->buildSerializedNetworkWithKernelText(network, config, kernelText);
    }

    ICudaEngine* buildEngineWithConfig(INetworkDefinition& network, IBuilderConfig& config) noexcept
    {
        return mImpl->buildEngineWithConfig(network, config);
    }

    bool isNetworkSupported(INetworkDefinition const& network, IBuilderConfig const& config) const noexcept
    {
        return mImpl->isNetworkSupported(network, config);
    }

    ILogger* getLogger() const noexcept
    {
        return mImpl->getLogger();
    }

    bool setMaxThreads(int32_t maxThreads) noexcept
    {
        return mImpl->setMaxThreads(maxThreads);
    }

    int32_t getMaxThreads() const noexcept
    {
        return mImpl->getMaxThreads();
    }

    IPluginRegistry& getPluginRegistry() noexcept
    {
        return mImpl->getPluginRegistry();
    }

    TRT_DEPRECATED void setMaxBatchSize(int32_t batchSize) noexcept
    {
        mImpl->setMaxBatchSize(batchSize);
    }

    TRT_DEPRECATED int32_t getMaxBatchSize() const noexcept
    {
        return mImpl->getMaxBatchSize();
    }

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
//! \return whether the path was taken: false when it is null or a builder exists already.
extern "C" TENSORRTAPI bool setInternalLibraryPath(AsciiChar const* path) noexcept;
} // namespace nvinfer1

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#endif // NV_INFER_H
