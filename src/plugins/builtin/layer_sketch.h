// LayerSketch: what a body writes the layers with that stand for it in a network's graph.
#pragma once

#include "ir/expr.h"
#include "ir/type.h"

#include <array>
#include <span>
#include <string>
#include <vector>

namespace tenon::plugins::builtin
{

//! Which boxes of an image are left: the fields of layers/box_selection.h.
struct SelectedBoxes
{
    bool isByClass{false};  //!< Each class by itself, more overlap than the threshold; else as much.
    bool areCentres{false}; //!< And sizes.
    float scoreThreshold{0.0F};
    float overlapThreshold{0.0F};
    int64_t candidates{1};
    int64_t most{1};
    int64_t mostOfClass{0};
    int32_t background{-1};
    int32_t emptyClass{0};
    bool areLogits{false};
    bool isAgnostic{false};
    bool clips{false};
    bool arePixels{false};
    bool haveOneInCommon{false};
};

//! Values have numbers. A call that the graph refuses makes no value, nor do those that read what was not made: whoever
//! gave the sketch knows the error. Axes are counted from 0.
class LayerSketch
{
  public:
    using Id = int32_t;
    virtual ~LayerSketch() = default;

    //! Of a value that was not made: float32 of rank 0.
    virtual TensorType const& typeOf(Id value) const = 0;

    //! Rounded into the type, which is float32 or float16.
    virtual Id numbers(
        std::string const& name, std::vector<int64_t> const& extents, std::span<float const> values, DType type) = 0;
    virtual Id integers(
        std::string const& name, std::vector<int64_t> const& extents, std::span<int32_t const> values) = 0;
    //! 0, 1, 2 … of int32 [1, …, n, …, 1]: as many as `like` has on its `axis`; `at` is theirs among `rank` axes.
    virtual Id count(Id like, int32_t axis, int32_t rank, int32_t at) = 0;

    //! Inputs of one rank, broadcast along extents of 1.
    virtual Id elements(Expr const& expr, std::vector<Id> const& inputs) = 0;
    //! The sum of two, as networks write it.
    virtual Id sum(Id a, Id b) = 0;
    virtual Id cast(Id value, DType type) = 0;

    //! 0 keeps the extent of an axis, one −1 takes the rest.
    virtual Id reshape(Id value, std::vector<int64_t> const& extents) = 0;
    //! To the extents of another value; itself where it has them.
    virtual Id reshapeLike(Id value, Id like) = 0;
    //! Axis i of the result is axis order[i].
    virtual Id transpose(Id value, std::vector<int32_t> const& order) = 0;
    virtual Id slice(Id value, int32_t axis, int64_t start, int64_t size) = 0;
    //! The first ones along an axis: as many as `like` has on one.
    virtual Id first(Id value, int32_t axis, Id like, int32_t likeAxis) = 0;
    virtual Id concatenate(std::vector<Id> const& values, int32_t axis) = 0;

    //! Slices along an axis of the data.
    virtual Id gather(Id data, Id indices, int32_t axis) = 0;
    virtual Id scatterNd(Id data, Id indices, Id updates) = 0;

    virtual Id product(Id a, Id b, bool isTransposed, float factor) = 0;
    virtual Id softMax(Id value, int32_t axis) = 0;
    //! The same, but 0 for a row that is no numbers.
    virtual Id softMaxOrZero(Id value, int32_t axis) = 0;
    //! Mean 0 and variance 1 over axes (bits), of each of `groups` of axis 1 where they are above 1; scale and bias are
    //! broadcast.
    virtual Id normalize(Id x, Id scale, Id bias, uint32_t axes, float epsilon, int64_t groups) = 0;
    virtual Id total(Id value, int32_t axis) = 0;      //!< Sum along an axis, which goes.
    virtual Id totalOver(Id value, uint32_t axes) = 0; //!< The same of axes (bits), which stay with the extent 1.
    virtual Id runningTotal(Id value, int32_t axis) = 0;

    //! The inputs of layers/deformable_attention.h, in its order.
    virtual Id attendToPoints(std::vector<Id> const& inputs) = 0;
    //! Of boxes [n, b, 1 or c, 4], scores [n, b, c] and, where there are any, anchors, all float32: how many are left
    //! [n, 1], boxes [n, most, 4], scores and classes [n, most].
    virtual std::vector<Id> selectBoxes(SelectedBoxes const& rules, std::vector<Id> const& inputs) = 0;

    //! An extent is that of another value, or a number: what is not known to be so is looked at before each run.
    virtual void requireSame(Id value, int32_t axis, Id other, int32_t otherAxis) = 0;
    virtual void requireExtent(Id value, int32_t axis, int64_t extent) = 0;
    //! Integers within [least, most] or, with `like`, within [least, most + an extent of it].
    virtual void requireValues(
        Id value, int64_t least, int64_t most, std::string const& why, Id like = -1, int32_t axis = 0) = 0;
};

} // namespace tenon::plugins::builtin
