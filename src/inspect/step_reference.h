// StepReference: what a step of a program should have computed, by the plain loops of its layer in the portable graph.
#pragma once

#include "backend/backend_table.h"
#include "ir/host_tensor.h"
#include "plan/plan.h"
#include "runtime/context.h"

#include <map>

namespace tenon
{
struct Gather;
}

namespace tenon::inspect
{

//! A tensor in any layout as a row-major host tensor.
Result<HostTensor> linearTensor(Device& device, TensorArg const& arg, void const* data);

//! An index of a gather, perhaps of embeddings, that picks nothing, for which the API gives 0 (rule E4), or a length or
//! start of sequences that no rows have, which counts as the nearest one that some have.
struct ValueOutOfRange
{
    int32_t step{-1};
    std::string layer;
    std::string tensor;  //!< That holds the value.
    int64_t position{0}; //!< Of the value in it.
    int64_t value{0};
    int64_t extent{0}; //!< Of the axis that it should lie on.
    std::string what;  //!< "index", "sequence length", "sequence start".
    std::string why;

    //! "[layer 'x', tensor 'ids'] the index 100 at position 3 …".
    std::string show() const;
};

class StepReference
{
  public:
    //! `weights`: those of the plan, as they are now.
    StepReference(Plan const& plan, std::vector<PlanWeight> weights, BackendEntry const& backend, Device& device)
        : mPlan{plan},
          mStored{std::move(weights)},
          mBackend{backend},
          mDevice{device}
    {
    }
    //! True for steps that stand for no layer: they copy into another layout, or write values of a shape tensor.
    static bool isCopy(ObservedStep const& step) noexcept
    {
        return step.step->graphNode < 0;
    }
    //! User-level names of the step's node; the step's own name for a copy.
    std::string layerOf(ObservedStep const& step) const;
    //! The layer's reference on what the step read, or what a copy had to copy. Fields and weights come from the
    //! portable graph.
    Result<std::vector<HostTensor>> evaluate(ObservedStep const& step);
    //! A fill with random numbers, which nothing can be compared with.
    bool isRandom(ObservedStep const& step) const;
    //! For layers that sum products: the sums of the products' magnitudes, as far as they reach the output. No sum is
    //! rounded better than in proportion to these, however small it is itself. None for other layers.
    std::optional<HostTensor> magnitudes(ObservedStep const& step);
    //! By how much the result of an int8 product may differ where a sum lies on the edge between two numbers that it
    //! can be rounded to; 0 for other layers.
    double roundingStep(ObservedStep const& step) const;
    //! The first one among what the step reads.
    std::optional<ValueOutOfRange> valueOutOfRange(ObservedStep const& step);

  private:
    Result<std::vector<HostTensor>> evaluate(ObservedStep const& step, Layer const& layer, bool magnitudes);
    Result<std::vector<HostTensor>> copied(ObservedStep const& step);
    //! Operand i of the node; none when it is absent. `flat` says how a short operand of known values is shaped.
    Result<std::optional<HostTensor>> operand(PlanNode const& node, ObservedStep const& step, size_t i, bool flat);
    //! Extents of operand i; none when it is absent.
    std::optional<std::vector<int64_t>> extentsOf(PlanNode const& node, ObservedStep const& step, size_t i) const;
    //! Of indices that stand behind operand `first`, their data.
    std::optional<ValueOutOfRange> indexOutOfRange(
        PlanNode const& node, ObservedStep const& step, Gather const& gather, size_t first);
    std::optional<ValueOutOfRange> lengthOutOfRange(PlanNode const& node, ObservedStep const& step, Layer const& layer);
    Result<HostTensor> weight(int32_t index);

    Plan const& mPlan;
    std::vector<PlanWeight> mStored;
    BackendEntry const& mBackend;
    Device& mDevice;
    std::map<int32_t, HostTensor> mWeights;
};

} // namespace tenon::inspect
