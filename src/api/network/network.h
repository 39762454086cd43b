// Network: the layers and tensors that the user adds; inference follows edits when somebody asks.
#pragma once

#include "api/handle.h"
#include "api/network/layer_base.h"
#include "api/network/tensor.h"
#include "api/not_implemented.h"
#include "api/reporting.h"
#include "base/timed_tactics.h"
#include "ir/decision.h"
#include "ir/graph.h"
#include "plan/plan.h"
#include "planner/source_graph.h"
#include "plugins/registry.h"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace tenon
{
class Device;
struct RecurrentNetwork;
struct SampleInputs;
} // namespace tenon

namespace tenon::api
{

class Builder;
class OptimizationProfile;

//! A network as the passes and the planner take it.
struct NetworkGraph
{
    Graph graph;
    std::vector<PlanIO> io;
    std::vector<PlanProfile> profiles;
    std::vector<PlanPlugin> plugins;
    std::vector<PlanCode> code;         //!< Of custom layers that are compiled into the plan.
    Decisions decisions;                //!< What was agreed with custom layers.
    std::vector<SourceWeights> weights; //!< That a refit will be able to replace.
};

//! Which weights a refit will be able to replace.
enum class RefitMode : uint8_t
{
    kNone,
    kAll,
    kMarked, //!< Those that the user has marked by name.
};

//! What becomes of the precisions that layers of a weakly typed network ask for (rule C17).
enum class PrecisionUse : uint8_t
{
    kHint,   //!< Nothing.
    kPrefer, //!< They are given where the layer can have them.
    kObey,   //!< Likewise; else the build fails.
};

//! What a configuration says that matters for the graph.
struct GraphRequest
{
    std::vector<OptimizationProfile const*> profiles;
    bool mayUseHalf{false};
    bool mayUseBF16{false};
    PrecisionUse precisions{PrecisionUse::kHint};
    bool isDirect{false};           //!< Inputs and outputs whose formats are said are used as they lie.
    bool mayAlias{false};           //!< Custom layers may take over the memory of an input.
    std::string_view device{"cpu"}; //!< For which custom layers supply code.
    std::string architecture;       //!< Of the target of the plan.
    Device* timedOn{nullptr};       //!< Custom layers choose tactics by time; null: by estimate.
    int32_t averageRuns{1};
    int32_t minRuns{1};
    KnownTimes knownTimes;
    RefitMode refit{RefitMode::kNone};          //!< Else a Replaceable lives.
    int64_t maxWorkspace{INT64_MAX};            //!< Of a custom layer.
    plugins::Registry const* registry{nullptr}; //!< Knows which libraries creators came from.
    bool keepsAddresses{false};                 //!< Who asks calls alignConstants.
};

class Network final : public missing::NetworkDefinition, public Fronted<nvinfer1::INetworkDefinition, Network>
{
  public:
    using ITensor = nvinfer1::ITensor;
    using Weights = nvinfer1::Weights;

    Network(std::shared_ptr<Builder> builder, uint32_t flags);
    ~Network() override;

    // ---- for tensors, layers and the builder
    Reporting const& reporting() const noexcept
    {
        return mReporting;
    }
    //! A property of a layer (null: of an input) changed: it and what comes after it is inferred when asked for.
    void edited(LayerBase const* layer) noexcept;
    //! An operand of a layer changed, so that the order may have to.
    void rewired(LayerBase& layer);
    //! Brings types and shapes up to date; what is wrong is reported once and leaves its tensors invalid.
    void infer() noexcept;
    Result<Done> checkUnique(std::string const& name, Tensor const* except);
    //! Names of inputs and outputs change with a tensor's name, or with that of a layer whose outputs have none.
    void renamed() noexcept
    {
        mNamesStale = true;
    }
    void renamed(std::string const& from, std::string const& to);
    bool isReadForShapes(Tensor const& tensor);
    bool isReadAsData(Tensor const& tensor);
    std::string const& name() const noexcept
    {
        return mName;
    }
    std::vector<Tensor*> const& inputs() const noexcept
    {
        return mInputs;
    }
    //! Layers so that producers stand before readers.
    std::vector<LayerBase*> const& order() const noexcept
    {
        return mOrder;
    }
    //! Whether its own Quantize and Dequantize layers say where int8 is: dynamic ranges then mean nothing.
    bool quantizesItself() const noexcept
    {
        return mQuantizesItself;
    }
    std::vector<Tensor*> const& outputs() const noexcept
    {
        return mOutputs;
    }
    //! Tensors that the user wants to see while the engine runs, as they were marked.
    std::vector<Tensor const*> const& debugTensors() const noexcept
    {
        return mDebugTensors;
    }
    bool debugsUnfused() const noexcept
    {
        return mDebugsUnfused;
    }
    //! Metadata of the layers that have some.
    std::vector<PlanNote> notes() const;
    //! Made with kEXPLICIT_BATCH.
    bool isMadeExplicit() const noexcept
    {
        return mIsMadeExplicit;
    }
    //! Dims leave the batch out. May change until the build: the builder's max batch size decides.
    bool isImplicit() const noexcept;
    PlanBatch batch() const noexcept;
    std::vector<std::unique_ptr<LoopFront>> const& loops() const noexcept
    {
        return mLoops;
    }
    std::vector<std::unique_ptr<ConditionalFront>> const& conditionals() const noexcept
    {
        return mConditionals;
    }
    //! A layer at the border of a loop or conditional, as `add` makes others.
    template <typename L, typename Front, typename SetUp>
    L* addBorder(char const* call, std::vector<ITensor const*> inputs, Front& front, SetUp&& setUp) noexcept;
    bool isStronglyTyped() const noexcept
    {
        return (mFlags >> static_cast<uint32_t>(nvinfer1::NetworkDefinitionCreationFlag::kSTRONGLY_TYPED) & 1U) != 0;
    }
    //! Whether the layer has floating operands, and its rules take them in the type.
    bool computesIn(LayerBase& layer, DType type);
    //! For the builder: checks the network against the profiles and writes it as a graph.
    Result<NetworkGraph> toGraph(GraphRequest const& request);

    //! The name that the user has given the weights; empty: none.
    std::string nameOf(Weights const& weights) const;
    //! Whether weights of that name were marked as refittable.
    bool isMarkedRefittable(std::string const& name) const;

    // ---- slots
    ITensor* addInput(char const* name, nvinfer1::DataType type, Dims const& dimensions) noexcept override;
    void markOutput(ITensor& tensor) noexcept override;
    void unmarkOutput(ITensor& tensor) noexcept override;
    bool markOutputForShapes(ITensor& tensor) noexcept override;
    bool unmarkOutputForShapes(ITensor& tensor) noexcept override;
    void removeTensor(ITensor& tensor) noexcept override;
    int32_t getNbLayers() const noexcept override;
    nvinfer1::ILayer* getLayer(int32_t index) const noexcept override;
    int32_t getNbInputs() const noexcept override;
    ITensor* getInput(int32_t index) const noexcept override;
    int32_t getNbOutputs() const noexcept override;
    ITensor* getOutput(int32_t index) const noexcept override;
    void setName(char const* name) noexcept override;
    char const* getName() const noexcept override;
    bool hasImplicitBatchDimension() const noexcept override;
    bool hasExplicitPrecision() const noexcept override;
    void setErrorRecorder(nvinfer1::IErrorRecorder* recorder) noexcept override;
    nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override;
    nvinfer1::IBuilder& getBuilder() const noexcept override;
    uint32_t getFlags() const noexcept override;
    bool getFlag(nvinfer1::NetworkDefinitionCreationFlag flag) const noexcept override;
    bool setWeightsName(Weights weights, char const* name) noexcept override;
    bool markWeightsRefittable(char const* name) noexcept override;
    bool unmarkWeightsRefittable(char const* name) noexcept override;
    bool areWeightsMarkedRefittable(char const* name) const noexcept override;
    bool markDebug(ITensor& tensor) noexcept override;
    bool unmarkDebug(ITensor& tensor) noexcept override;
    bool isDebugTensor(ITensor const& tensor) const noexcept override;
    bool markUnfusedTensorsAsDebugTensors() noexcept override;
    bool unmarkUnfusedTensorsAsDebugTensors() noexcept override;

    nvinfer1::IActivationLayer* addActivation(ITensor& input, nvinfer1::ActivationType type) noexcept override;
    nvinfer1::ILRNLayer* addLRN(ITensor& input, int64_t window, float alpha, float beta, float k) noexcept override;
    nvinfer1::IScaleLayer* addScale(
        ITensor& input, nvinfer1::ScaleMode mode, Weights shift, Weights scale, Weights power) noexcept override;
    nvinfer1::IScaleLayer* addScaleNd(ITensor& input, nvinfer1::ScaleMode mode, Weights shift, Weights scale,
        Weights power, int32_t channelAxis) noexcept override;
    nvinfer1::ISoftMaxLayer* addSoftMax(ITensor& input) noexcept override;
    nvinfer1::IConcatenationLayer* addConcatenation(ITensor* const* inputs, int32_t nbInputs) noexcept override;
    nvinfer1::IElementWiseLayer* addElementWise(
        ITensor& input1, ITensor& input2, nvinfer1::ElementWiseOperation op) noexcept override;
    nvinfer1::IUnaryLayer* addUnary(ITensor& input, nvinfer1::UnaryOperation operation) noexcept override;
    nvinfer1::IShuffleLayer* addShuffle(ITensor& input) noexcept override;
    nvinfer1::IReduceLayer* addReduce(ITensor& input, nvinfer1::ReduceOperation operation, uint32_t reduceAxes,
        bool keepDimensions) noexcept override;
    nvinfer1::ITopKLayer* addTopK(
        ITensor& input, nvinfer1::TopKOperation op, int32_t k, uint32_t reduceAxes) noexcept override;
    nvinfer1::ITopKLayer* addTopKV2(ITensor& input, nvinfer1::TopKOperation op, int32_t k, uint32_t reduceAxes,
        nvinfer1::DataType indicesType) noexcept override;
    nvinfer1::IGatherLayer* addGather(ITensor& data, ITensor& indices, int32_t axis) noexcept override;
    nvinfer1::IGatherLayer* addGatherV2(ITensor& data, ITensor& indices, nvinfer1::GatherMode mode) noexcept override;
    nvinfer1::IMatrixMultiplyLayer* addMatrixMultiply(ITensor& input0, nvinfer1::MatrixOperation op0, ITensor& input1,
        nvinfer1::MatrixOperation op1) noexcept override;
    nvinfer1::IConstantLayer* addConstant(Dims const& dimensions, Weights weights) noexcept override;
    nvinfer1::IIdentityLayer* addIdentity(ITensor& input) noexcept override;
    nvinfer1::ISliceLayer* addSlice(
        ITensor& input, Dims const& start, Dims const& size, Dims const& stride) noexcept override;
    nvinfer1::IShapeLayer* addShape(ITensor& input) noexcept override;
    nvinfer1::IParametricReLULayer* addParametricReLU(ITensor& input, ITensor& slope) noexcept override;
    nvinfer1::IConvolutionLayer* addConvolutionNd(ITensor& input, int64_t nbOutputMaps, Dims const& kernelSize,
        Weights kernelWeights, Weights biasWeights) noexcept override;
    nvinfer1::IPoolingLayer* addPoolingNd(
        ITensor& input, nvinfer1::PoolingType type, Dims const& windowSize) noexcept override;
    nvinfer1::IDeconvolutionLayer* addDeconvolutionNd(ITensor& input, int64_t nbOutputMaps, Dims const& kernelSize,
        Weights kernelWeights, Weights biasWeights) noexcept override;
    nvinfer1::IFullyConnectedLayer* addFullyConnected(
        ITensor& input, int32_t nbOutputs, Weights kernelWeights, Weights biasWeights) noexcept override;
    nvinfer1::IResizeLayer* addResize(ITensor& input) noexcept override;
    nvinfer1::ISelectLayer* addSelect(ITensor& condition, ITensor& thenInput, ITensor& elseInput) noexcept override;
    nvinfer1::IFillLayer* addFill(Dims const& dimensions, nvinfer1::FillOperation op) noexcept override;
    nvinfer1::IFillLayer* addFillV2(
        Dims const& dimensions, nvinfer1::FillOperation op, nvinfer1::DataType outputType) noexcept override;
    nvinfer1::IPaddingLayer* addPaddingNd(
        ITensor& input, Dims const& prePadding, Dims const& postPadding) noexcept override;
    nvinfer1::IScatterLayer* addScatter(
        ITensor& data, ITensor& indices, ITensor& updates, nvinfer1::ScatterMode mode) noexcept override;
    nvinfer1::IAssertionLayer* addAssertion(ITensor& condition, char const* message) noexcept override;
    nvinfer1::IOneHotLayer* addOneHot(
        ITensor& indices, ITensor& values, ITensor& depth, int32_t axis) noexcept override;
    nvinfer1::INonZeroLayer* addNonZero(ITensor& input) noexcept override;
    nvinfer1::INonZeroLayer* addNonZeroV2(ITensor& input, nvinfer1::DataType indicesType) noexcept override;
    nvinfer1::IReverseSequenceLayer* addReverseSequence(ITensor& input, ITensor& sequenceLens) noexcept override;
    nvinfer1::INormalizationLayer* addNormalization(
        ITensor& input, ITensor& scale, ITensor& bias, uint32_t axesMask) noexcept override;
    nvinfer1::INormalizationLayer* addNormalizationV2(
        ITensor& input, ITensor& scale, ITensor& bias, uint32_t axesMask) noexcept override;
    nvinfer1::ICastLayer* addCast(ITensor& input, nvinfer1::DataType toType) noexcept override;
    nvinfer1::ISqueezeLayer* addSqueeze(ITensor& input, ITensor& axes) noexcept override;
    nvinfer1::IUnsqueezeLayer* addUnsqueeze(ITensor& input, ITensor& axes) noexcept override;
    nvinfer1::IPluginV2Layer* addPluginV2(
        ITensor* const* inputs, int32_t nbInputs, nvinfer1::IPluginV2& plugin) noexcept override;
    nvinfer1::IPluginV3Layer* addPluginV3(ITensor* const* inputs, int32_t nbInputs, ITensor* const* shapeInputs,
        int32_t nbShapeInputs, nvinfer1::IPluginV3& plugin) noexcept override;
    nvinfer1::ILoop* addLoop() noexcept override;
    nvinfer1::IIfConditional* addIfConditional() noexcept override;
    nvinfer1::ICumulativeLayer* addCumulative(ITensor& input, ITensor& axis, nvinfer1::CumulativeOperation operation,
        bool exclusive, bool reverse) noexcept override;
    nvinfer1::IGridSampleLayer* addGridSample(ITensor& input, ITensor& grid) noexcept override;
    //! Null inputs are absent. For tenonAddRecurrentNetwork.
    nvinfer1::ILayer* addRecurrentNetwork(RecurrentNetwork fields, std::vector<ITensor const*> const& inputs) noexcept;
    //! For the call of that name.
    nvinfer1::ILayer* addOwnLayer(
        char const* call, LayerPtr fields, int32_t outputs, std::vector<ITensor const*> const& inputs) noexcept;
    nvinfer1::IEinsumLayer* addEinsum(ITensor* const* inputs, int32_t nbInputs, char const* equation) noexcept override;
    nvinfer1::INMSLayer* addNMS(ITensor& boxes, ITensor& scores, ITensor& maxOutputBoxesPerClass) noexcept override;
    nvinfer1::INMSLayer* addNMSV2(ITensor& boxes, ITensor& scores, ITensor& maxOutputBoxesPerClass,
        nvinfer1::DataType indicesType) noexcept override;
    nvinfer1::IRaggedSoftMaxLayer* addRaggedSoftMax(ITensor& input, ITensor& bounds) noexcept override;
    nvinfer1::IQuantizeLayer* addQuantize(ITensor& input, ITensor& scale) noexcept override;
    nvinfer1::IQuantizeLayer* addQuantizeV2(
        ITensor& input, ITensor& scale, nvinfer1::DataType outputType) noexcept override;
    nvinfer1::IDequantizeLayer* addDequantize(ITensor& input, ITensor& scale) noexcept override;
    nvinfer1::IDequantizeLayer* addDequantizeV2(
        ITensor& input, ITensor& scale, nvinfer1::DataType outputType) noexcept override;
    nvinfer1::IDynamicQuantizeLayer* addDynamicQuantize(ITensor& input, int32_t axis, int32_t blockSize,
        nvinfer1::DataType outputType, nvinfer1::DataType scaleType) noexcept override;
    nvinfer1::IDynamicQuantizeLayer* addDynamicQuantizeV2(ITensor& input, Dims const& blockShape,
        nvinfer1::DataType outputType, nvinfer1::DataType scaleType) noexcept override;
    nvinfer1::IRotaryEmbeddingLayer* addRotaryEmbedding(ITensor& input, ITensor& cosCache, ITensor& sinCache,
        bool interleaved, int32_t rotaryEmbeddingDim) noexcept override;
    nvinfer1::IAttention* addAttention(ITensor& query, ITensor& key, ITensor& value,
        nvinfer1::AttentionNormalizationOp normOp, bool causal) noexcept override;
    nvinfer1::IAttention* addAttentionV2(ITensor& query, ITensor& key, ITensor& value,
        nvinfer1::AttentionNormalizationOp normOp, nvinfer1::CausalMaskKind causalKind) noexcept override;
    nvinfer1::IKVCacheUpdateLayer* addKVCacheUpdate(
        ITensor& cache, ITensor& update, ITensor& writeIndices, nvinfer1::KVCacheMode cacheMode) noexcept override;
    nvinfer1::IMoELayer* addMoE(
        ITensor& hiddenStates, ITensor& selectedExpertsForTokens, ITensor& scoresForSelectedExperts) noexcept override;
    nvinfer1::IDistCollectiveLayer* addDistCollective(ITensor& input, nvinfer1::CollectiveOperation distCollectiveOp,
        nvinfer1::ReduceOperation reduceOp, int64_t root, int64_t* groups, int64_t groupSize) noexcept override;
    nvinfer1::IRNNv2Layer* addRNNv2(ITensor& input, int32_t layerCount, int32_t hiddenSize, int32_t maxSeqLen,
        nvinfer1::RNNOperation op) noexcept override;

  protected:
    void notImplemented(char const* call) const noexcept override
    {
        mReporting.notImplemented(call);
    }

  private:
    //! Owns the layer from here on; it starts with these inputs.
    template <typename L>
    L* take(std::unique_ptr<L> layer, std::vector<Tensor*> inputs);
    void noteQuantization(LayerBase const& layer) noexcept;
    //! Makes a layer, checks its inputs, and lets `setUp` fill in its fields; null after a report.
    template <typename L, typename SetUp>
    L* add(char const* call, std::vector<ITensor const*> inputs, SetUp&& setUp) noexcept;
    Result<std::vector<Tensor*>> ownTensors(std::vector<ITensor const*> const& inputs) const;
    //! Whether all have a rank in [minRank, 8]; reported when not.
    bool takeDims(char const* call, std::vector<Dims const*> const& list, int32_t minRank = 0) const noexcept;
    int32_t rankOf(ITensor const& tensor);
    //! A layer of class L over the object; its inputs are data first and shape inputs then.
    template <typename L>
    L* addCustom(char const* call, plugins::PluginPtr object, std::vector<ITensor const*> inputs, int32_t shapeInputs);
    nvinfer1::INormalizationLayer* addNorm(
        char const* call, std::vector<ITensor const*> inputs, uint32_t axesMask, bool v2) noexcept;
    Result<Done> sortLayers();

    struct NamedWeights
    {
        Weights weights;
        std::string name;
    };
    Result<std::string> knownWeights(char const* name) const;
    void inferStale();
    //! Dimensions of one name have one extent: that of the first input that has it.
    ShapeExpr dynamicExtent(int32_t position, int32_t axis);
    void inferInput(Tensor& tensor, int32_t position);
    Result<Done> inferLayer(LayerBase& layer);
    Error withRangeHint(LayerBase const& layer, Error error) const;
    struct Found
    {
        std::vector<TensorType> types;
        std::optional<Shape> contents;
    };
    //! What the layer gives when it reads its floating operands in the type; none: as they are.
    Result<Found> inferIn(LayerBase& layer, std::optional<DType> read);
    //! The widest of the unlike types of a layer's floating operands; none: they are alike, or nothing is converted.
    Result<std::optional<DType>> widestOf(LayerBase const& layer) const;
    //! Rules that take the first axis for a batch see one in front of what the samples have.
    Result<std::vector<TensorType>> inferSamples(LayerBase& layer, Layer const& fields, SampleInputs const& samples);
    void findShapeReads();
    void nameAdded(std::string const& name);
    void nameGone(std::string const& name);

    std::shared_ptr<Builder> mBuilder;
    Reporting mReporting;
    uint32_t mFlags;
    bool mIsMadeExplicit;
    bool mIsMadeImplicit; //!< By a caller of 8.x, or where the knob says so.
    bool mInferredImplicit{false};
    std::string mName;
    std::vector<std::unique_ptr<Tensor>> mInputTensors;
    std::vector<Tensor*> mInputs;
    std::vector<std::unique_ptr<LayerBase>> mLayers;
    std::vector<LayerBase*> mOrder;
    std::vector<std::unique_ptr<LoopFront>> mLoops;
    std::vector<std::unique_ptr<ConditionalFront>> mConditionals;
    std::vector<Tensor*> mOutputs;
    std::vector<Tensor const*> mDebugTensors;
    bool mDebugsUnfused{false};
    std::map<void const*, NamedWeights> mWeightsNames; //!< By address of the values.
    std::map<std::string, void const*> mWeightsByName;
    std::set<std::string> mRefittable;
    int32_t mValueCount{1 << 20}; //!< Numbers for values that layers make; inputs count from 0.
    SymbolTable mSymbols;
    size_t mFirstStale{0};
    bool mInputsStale{false};
    bool mQuantizesItself{false};
    bool mShapeReadsStale{true};
    std::unordered_set<Tensor const*> mShapeReads;
    std::unordered_set<Tensor const*> mReads;     //!< What layers read, be it for its extents.
    std::unordered_set<Tensor const*> mDataReads; //!< What layers read as data.
    bool mNamesStale{false};
    std::unordered_map<std::string, int32_t> mNames; //!< Of inputs and outputs, unless stale: how many have it.
};

} // namespace tenon::api
