// Tensor: an edge of a network that the user is building.
#pragma once

#include "api/convert.h"
#include "api/not_implemented.h"
#include "api/reporting.h"

#include <array>
#include <optional>

namespace tenon::api
{

class Network;
class LayerBase;

class Tensor final : public nvinfer1::ITensor, public missing::Tensor
{
  public:
    //! What inference found out; `valid` is false while the producer's rules refuse its inputs.
    struct Inferred
    {
        bool valid{false};
        TensorType type;
        std::optional<Shape> contents;
        std::shared_ptr<Constant const> constant;
        bool isShared{false};       //!< All samples of an implicit batch have the same.
        bool standsForReals{false}; //!< Of int8 with a dynamic range: layers read the real numbers that it says.
    };

    Tensor(Network& network, LayerBase* producer, int32_t index);

    static Tensor& of(nvinfer1::ITensor const& tensor) noexcept
    {
        return const_cast<Tensor&>(static_cast<Tensor const&>(tensor));
    }
    Network& network() const noexcept
    {
        return mNetwork;
    }
    //! Null: a network input.
    LayerBase* producer() const noexcept
    {
        return mProducer;
    }
    int32_t index() const noexcept
    {
        return mIndex;
    }
    std::string const& name() const;
    //! As the user declared it; inputs only.
    Dims const& declared() const noexcept
    {
        return mDeclared;
    }
    void declare(std::string name, nvinfer1::DataType type, Dims const& dims);
    std::array<std::string, Dims::MAX_DIMS> const& dimensionNames() const noexcept
    {
        return mDimensionNames;
    }
    nvinfer1::DataType declaredType() const noexcept
    {
        return mType;
    }

    Inferred inferred;
    //! Whether it has a dynamic range and the types of its network may be changed, so that int8 can stand for reals.
    bool isQuantizable() const;
    //! The real number that one step of int8 is worth, by the dynamic range; none: there is no range.
    std::optional<float> scale() const noexcept;
    //! setAllowedFormats() has been called.
    bool hasOwnFormats() const noexcept
    {
        return mHasOwnFormats;
    }
    bool isMarkedOutput{false};
    bool isMarkedForShapes{false};
    bool isRemoved{false};   //!< An input that was taken out of the network.
    bool isBroadcast{false}; //!< An input that all samples of an implicit batch share.

    void setName(char const* name) noexcept override;
    char const* getName() const noexcept override;
    void setDimensions(Dims const& dimensions) noexcept override;
    Dims getDimensions() const noexcept override;
    void setType(nvinfer1::DataType type) noexcept override;
    nvinfer1::DataType getType() const noexcept override;
    bool setDynamicRange(float min, float max) noexcept override;
    bool isNetworkInput() const noexcept override;
    bool isNetworkOutput() const noexcept override;
    void setBroadcastAcrossBatch(bool broadcastAcrossBatch) noexcept override;
    bool getBroadcastAcrossBatch() const noexcept override;
    nvinfer1::TensorLocation getLocation() const noexcept override;
    void setLocation(nvinfer1::TensorLocation location) noexcept override;
    bool dynamicRangeIsSet() const noexcept override;
    void resetDynamicRange() noexcept override;
    float getDynamicRangeMin() const noexcept override;
    float getDynamicRangeMax() const noexcept override;
    void setAllowedFormats(uint32_t formats) noexcept override;
    uint32_t getAllowedFormats() const noexcept override;
    bool isShapeTensor() const noexcept override;
    bool isExecutionTensor() const noexcept override;
    void setDimensionName(int32_t index, char const* name) noexcept override;
    char const* getDimensionName(int32_t index) const noexcept override;

  protected:
    void notImplemented(char const* call) const noexcept override;

  private:
    Log const& log() const noexcept;

    Network& mNetwork;
    LayerBase* mProducer;
    int32_t mIndex;
    mutable std::string mName; //!< Of an unnamed output: made from its layer's name when asked for.
    bool mIsNamed{false};
    Dims mDeclared{kInvalidDims};
    nvinfer1::DataType mType{nvinfer1::DataType::kFLOAT};
    std::array<std::string, Dims::MAX_DIMS> mDimensionNames;
    uint32_t mFormats;
    bool mHasOwnFormats{false};
    std::optional<std::pair<float, float>> mRange;
};

} // namespace tenon::api
