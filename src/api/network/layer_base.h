// LayerBase: what every layer of a network has: name, inputs, outputs; and LayerOfKind, which joins it with its fields.
#pragma once

#include "api/convert.h"
#include "api/network/tensor.h"
#include "api/not_implemented.h"
#include "ir/layer.h"
#include "layers/public_facts.h"

#include <vector>

namespace tenon::api
{

//! One operand of the graph's node: a tensor of the network, a constant from weights, or nothing.
struct Operand
{
    Tensor const* tensor{nullptr};
    std::shared_ptr<Constant const> constant;
    std::string name;
};

class LoopFront;
class ConditionalFront;

//! The loop or conditional at whose border a layer is; none for others.
struct Border
{
    LoopFront* loop{nullptr};
    ConditionalFront* conditional{nullptr};
};

class LayerBase : public missing::Layer
{
  public:
    LayerBase(Network& network, std::string_view kind, PublicFacts const& facts);

    //! The public object.
    virtual nvinfer1::ILayer* layerFront() noexcept = 0;
    //! The fields as a layer of the graph; not asked of a constant.
    virtual LayerPtr fieldsAsLayer() const = 0;
    //! Contents, when the layer is a constant.
    virtual Result<std::shared_ptr<Constant const>> constantContents() const
    {
        return std::shared_ptr<Constant const>{};
    }
    //! It stands at the border of others and is no node of the graph; it has no outputs.
    virtual bool isBoundary() const noexcept
    {
        return false;
    }
    //! Operands of the graph's node; from the inputs unless weights join them.
    virtual Result<std::vector<Operand>> operands() const;
    //! Inputs whose values decide shapes: bit i is input i.
    virtual uint32_t shapeOperands() const noexcept
    {
        return mFacts.shapeInputs;
    }

    PublicFacts const& facts() const noexcept
    {
        return mFacts;
    }
    virtual Border border() const noexcept
    {
        return {};
    }
    //! An input that a loop computes from the layer's output: it counts for neither order nor types.
    virtual bool isFromLater(size_t input) const noexcept
    {
        static_cast<void>(input);
        return false;
    }

    std::string const& name() const noexcept
    {
        return mName;
    }
    std::string const& metadata() const noexcept
    {
        return mMetadata;
    }
    std::string_view kind() const noexcept
    {
        return mKind;
    }
    Network& network() const noexcept
    {
        return mNetwork;
    }
    std::vector<Tensor*> const& inputs() const noexcept
    {
        return mInputs;
    }
    Tensor& output(int32_t i) const
    {
        return *mOutputs.at(static_cast<size_t>(i));
    }
    int32_t outputCount() const noexcept
    {
        return static_cast<int32_t>(mOutputs.size());
    }
    std::optional<nvinfer1::DataType> outputType(int32_t i) const
    {
        return mOutputTypes.at(static_cast<size_t>(i));
    }
    Result<Done> requestOutputType(int32_t index, nvinfer1::DataType type);
    bool hasInput(int32_t i) const noexcept
    {
        return i < static_cast<int32_t>(mInputs.size()) && mInputs[static_cast<size_t>(i)] != nullptr;
    }
    //! For the network's add… calls: the inputs that the layer starts with.
    void start(std::vector<Tensor*> inputs);
    int32_t ordinal{0};     //!< Position among the layers.
    size_t place{0};        //!< In the network's order.
    bool lacksBatch{false}; //!< Its inputs have no batch extent: it stands in networks with implicit batch only.
    //! Found by inference: floating operands are of unlike types, and are read in this one.
    std::optional<nvinfer1::DataType> readType;
    int32_t firstValue{0}; //!< Number of output 0 among all values of the network: keys of its data-dependent extents.

    nvinfer1::LayerType getType() const noexcept override;
    void setName(char const* name) noexcept override;
    char const* getName() const noexcept override;
    int32_t getNbInputs() const noexcept override;
    nvinfer1::ITensor* getInput(int32_t index) const noexcept override;
    int32_t getNbOutputs() const noexcept override;
    nvinfer1::ITensor* getOutput(int32_t index) const noexcept override;
    void setInput(int32_t index, nvinfer1::ITensor& tensor) noexcept override;
    void setPrecision(nvinfer1::DataType dataType) noexcept override;
    nvinfer1::DataType getPrecision() const noexcept override;
    bool precisionIsSet() const noexcept override;
    void resetPrecision() noexcept override;
    void setOutputType(int32_t index, nvinfer1::DataType dataType) noexcept override;
    nvinfer1::DataType getOutputType(int32_t index) const noexcept override;
    bool outputTypeIsSet(int32_t index) const noexcept override;
    void resetOutputType(int32_t index) noexcept override;
    void setMetadata(char const* metadata) noexcept override;
    char const* getMetadata() const noexcept override;
    bool setNbRanks(int32_t nbRanks) noexcept override;
    int32_t getNbRanks() const noexcept override;

  protected:
    void notImplemented(char const* call) const noexcept override;
    Log const& log() const noexcept;
    //! Whether a setter may take these dimensions: their rank is in [least, 8]. Reported when not.
    bool takesDims(char const* call, Dims const& dims, int32_t minRank) const noexcept;
    //! A property changed: what follows from it is inferred anew when somebody asks.
    void edited() noexcept;
    //! Setting a static operand resets the tensor in its place (rule E7).
    void dropInput(int32_t i) noexcept;

  private:
    Network& mNetwork;
    std::string_view mKind;
    PublicFacts mFacts;
    std::string mName;
    std::string mMetadata;
    std::vector<Tensor*> mInputs;
    std::vector<std::unique_ptr<Tensor>> mOutputs;
    std::vector<std::optional<nvinfer1::DataType>> mOutputTypes;
    std::optional<nvinfer1::DataType> mPrecision;
};

//! Whether the inputs that the fields and the facts of a layer name are inputs that it may have.
template <typename Fields>
consteval bool inputsExist()
{
    bool exist = (Fields::kPublic.shapeInputs >> static_cast<uint32_t>(Fields::kPublic.maxInputs)) == 0;
    forEachField<Fields>([&](auto const& each) { exist = exist && each.input < Fields::kPublic.maxInputs; });
    return exist;
}

//! I: the public class; V: its slots; Fields: the struct of layers/.
template <typename I, typename V, typename Fields>
class LayerOfKind : public I, public V, public LayerBase
{
  public:
    static_assert(inputsExist<Fields>());

    explicit LayerOfKind(Network& network)
        : LayerBase{network, Fields::kName, Fields::kPublic}
    {
        this->mLayer = static_cast<LayerBase*>(this);
        this->mImpl = static_cast<V*>(this);
    }
    nvinfer1::ILayer* layerFront() noexcept override
    {
        return this;
    }
    LayerPtr fieldsAsLayer() const override
    {
        return makeLayer(mFields);
    }
    Fields& fields() noexcept
    {
        return mFields;
    }

  protected:
    void notImplemented(char const* call) const noexcept override
    {
        LayerBase::notImplemented(call);
    }

    Fields mFields;
};

} // namespace tenon::api
