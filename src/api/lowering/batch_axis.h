// BatchAxis: the batch of a network whose dims leave it out, as an extent in front of the tensors of its graph.
#pragma once

#include "ir/graph.h"
#include "layers/with_batch.h"

#include <map>
#include <set>

namespace tenon::api
{

//! Dimension name of the batch in plans: equal names are equal extents.
inline constexpr std::string_view kBatchName{"(batch size)"};

//! A value either has the batch in front (as the symbol of the batch, or as 1 where all samples share it), or has no
//! such extent at all: constants, and what follows from constants alone.
class BatchAxis
{
  public:
    BatchAxis(Graph& graph, int32_t most)
        : mGraph{graph},
          mMost{most}
    {
    }

    //! Adds network input `position` with the batch, or with 1 where all samples share it, in front.
    ValueId addInput(std::string name, TensorType sample, int32_t position, bool isShared);
    //! Says that a value has the extent in front.
    void mark(ValueId value)
    {
        mLed.insert(value);
    }
    //! The second value is made of the first, element by element.
    void follow(ValueId from, ValueId to)
    {
        if (isLed(from))
            mark(to);
    }
    //! The value with the extent in front; made when it has none.
    Result<ValueId> led(ValueId value, std::string const& layer);

    //! What takes the place of a layer.
    struct Form
    {
        LayerPtr layer;
        std::vector<ValueId> inputs;
        bool isLed{true}; //!< Its outputs have the extent in front.
    };
    //! `samples`: what the layer reads, as one sample has it; `inputs`: the same in the graph.
    Result<Form> formOf(LayerPtr layer, Inputs const& samples, std::vector<ValueId> inputs);

  private:
    //! Without the extent, which is 1.
    Result<ValueId> plain(ValueId value);
    Result<ValueId> replicated(ValueId value, std::string const& layer);
    //! A 1-D tensor of one element: the batch.
    Result<ValueId> size();
    Result<ValueId> sizeAnd(std::vector<int64_t> const& extents, std::string const& layer);
    Result<ValueId> add(LayerPtr layer, std::string name, std::vector<ValueId> inputs);
    ValueId numbers(std::string name, std::vector<int64_t> const& values);
    bool isLed(ValueId value) const
    {
        return mLed.contains(value);
    }
    //! Has one entry for all samples.
    bool isOne(ValueId value) const;

    Graph& mGraph;
    int32_t mMost;
    ValueId mSource{kNone}; //!< A network input that has the batch.
    ShapeExpr mBatch{1};
    ValueId mSize{kNone};
    std::set<ValueId> mLed;
    std::map<ValueId, ValueId> mWithOne; //!< Values without the extent, and the same with 1 in front.
    std::map<ValueId, ValueId> mReplicated;
};

} // namespace tenon::api
