// GraphWriter: makes the graph of one network.
#pragma once

#include "api/build/optimization_profile.h"
#include "api/lowering/batch_axis.h"
#include "api/lowering/control_scopes.h"
#include "api/lowering/refit_weights.h"
#include "api/network/network.h"

#include <map>
#include <optional>
#include <set>

namespace tenon::api
{

class GraphWriter
{
  public:
    GraphWriter(Network& network, GraphRequest const& request)
        : mNetwork{network},
          mRequest{request},
          mProfiles{request.profiles},
          mRefit{network, request.refit}
    {
        if (network.isImplicit())
            mBatch.emplace(mResult.graph, network.batch().most);
    }

    Result<NetworkGraph> write()
    {
        TENON_TRY(checkNames());
        TENON_TRY(checkBatch());
        TENON_TRY(findScopes());
        for (size_t i = 0; i < mNetwork.inputs().size(); ++i)
            TENON_TRY(addInput(static_cast<int32_t>(i)));
        TENON_TRY(addProfiles());
        for (LayerBase* layer : mNetwork.order())
            TENON_TRY(checkAverage(*layer));
        for (LayerBase* layer : mNetwork.order())
            if (mScopes.of(*layer).empty())
                TENON_TRY(ensure(*layer));
        TENON_TRY(addDebugTensors());
        for (Tensor const* output : mNetwork.outputs())
            TENON_TRY(addOutput(*output));
        mResult.weights = mRefit.take();
        return std::move(mResult);
    }

  private:
    Result<Done> checkNames();
    //! The network is what its layers are made for.
    Result<Done> checkBatch() const;
    Result<Done> addInput(int32_t position);
    Result<Done> addSampleInput(int32_t position);
    //! Operands are named after what they are to their layer.
    void noteWeights(LayerBase const& layer, Operand const& operand);
    std::string nameOfConstant(Operand const& operand) const;
    Result<std::vector<ValueId>> operandsOf(LayerBase const& layer, std::vector<Operand> const& operands);
    //! The layer as it stands in the graph; in a network with implicit batch, for all samples.
    Result<BatchAxis::Form> formOf(LayerBase& layer);
    Result<Done> checkForm(LayerBase const& layer, int32_t output, ValueId value) const;
    Result<Done> checkProfileOf(
        Tensor const& input, OptimizationProfile::Bounds const* bounds, size_t profile, bool isShape) const;
    Result<ShapeExpr> extentOf(Tensor const& input, int32_t position, int32_t axis);
    void addContents(Tensor const& input, int32_t position, ValueId value);
    Result<Done> addProfiles();
    Result<Done> checkAverage(LayerBase& layer) const;
    Result<Done> addLayer(LayerBase& layer);
    //! Names, types and casts of what a layer gives.
    Result<Done> takeOutput(LayerBase const& layer, int32_t output, ValueId value);

    // ---- Types of weakly typed networks (converted_types.cpp).
    //! The type that the layer reads its floating operands in; none: as they are.
    std::optional<DType> readType(LayerBase& layer) const;
    //! The operands in that type.
    Result<Done> convertOperands(LayerBase const& layer, DType type, std::vector<ValueId>& operands);
    //! The value in another type, with the batch that it has.
    Result<ValueId> converted(ValueId value, DType type, std::string const& name);
    //! Real numbers in steps of int8, or the other way round, as the tensor's range says.
    Result<ValueId> quantized(Tensor const& tensor, ValueId value);
    Result<ValueId> dequantized(Tensor const& tensor, ValueId value);
    Result<ValueId> scaled(LayerPtr layer, Tensor const& tensor, ValueId value, std::string const& name);

    // ---- Loops and conditionals (control_graph.cpp).
    //! A graph in the making: the network's, or a body inside the one that `outer` makes.
    struct Level
    {
        Graph graph;
        std::map<Tensor const*, ValueId> values;
        Level* outer{nullptr};
        void const* control{nullptr};      //!< The loop or conditional whose body it is.
        std::vector<ValueId> captured;     //!< Of the outer graph: operands behind the others.
        std::vector<Tensor const*> inputs; //!< Tensors that they are.
    };
    //! The graph at hand becomes that of the level, and back again.
    void exchange(Level& level);
    Level makeLevel(void const* control);
    //! Writes what the exits are made of, marks them as the body's outputs and goes back to the outer graph.
    Result<Done> leave(Level& level, std::vector<Tensor const*> const& exits);
    Result<Done> findScopes();
    Result<Done> checkLoop(LoopFront const& loop) const;
    Result<Done> checkConditional(ConditionalFront const& conditional) const;
    //! Adds the layer, or the loop or conditional that it is the border of, unless it stands already.
    Result<Done> ensure(LayerBase& layer);
    Result<Done> addWhole(LayerBase& layer); //!< For ensure() alone, which refuses a circle.
    Result<ValueId> valueOf(Tensor const& tensor);
    Result<ValueId> capture(Tensor const& tensor);
    //! What the tensors are made of inside the control at hand, in order.
    std::vector<LayerBase*> layersFor(std::vector<Tensor const*> const& tensors, void const* control) const;
    Result<Done> addLoop(LoopFront const& loop);
    Result<std::vector<ValueId>> loopOperands(LoopFront const& loop, LoopForm const& form);
    Result<Level> loopBody(LoopFront const& loop, LoopForm const& form, std::vector<ValueId> const& operands);
    Result<LoopForm> formOf(LoopFront const& loop) const;
    Result<Done> addConditional(ConditionalFront const& conditional);
    Result<Level> branch(ConditionalFront const& conditional, size_t input);
    //! With this axis in front, or, `back`, with the one in front there.
    Result<ValueId> turned(ValueId value, int32_t axis, bool back, std::string const& name);
    Result<Done> addDebugTensors();
    Result<Done> addOutput(Tensor const& output);
    //! Formats and layout of an input or output; whether it must be used as it lies.
    Result<Done> addFormats(Tensor const& tensor, PlanIO& io) const;
    bool hasValues(Tensor const& input) const;
    bool isDynamic(Tensor const& input) const;

    Network& mNetwork;
    GraphRequest const& mRequest;
    std::vector<OptimizationProfile const*> const& mProfiles;
    NetworkGraph mResult;
    RefitWeights mRefit;
    std::map<Tensor const*, ValueId> mValues;
    std::map<Tensor const*, ValueId> mQuantized;    //!< Of tensors that stand for reals: the int8 values.
    std::map<std::string, ShapeExpr> mNamedExtents; //!< By dimension name (rule C11).
    std::optional<BatchAxis> mBatch;                //!< Of a network with implicit batch.
    ControlScopes mScopes;
    std::set<LayerBase const*> mOpen; //!< Being added, each for the operands of the one before.
    Level* mLevel{nullptr};           //!< Null: the network's own graph.
};

} // namespace tenon::api
