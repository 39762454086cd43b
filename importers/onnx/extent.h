// Arithmetic on extents: numbers where the model says them, one-element tensors of the network elsewhere.
#pragma once

#include "node.h"

namespace tenon::onnx
{

struct Extent
{
    std::optional<int64_t> known;
    Value tensor; //!< int64 [1], when the extent is not known.

    Extent() = default;
    Extent(int64_t known) // NOLINT: a number is an extent.
        : known{known}
    {
    }
    explicit Extent(Value tensor)
        : tensor{std::move(tensor)}
    {
    }

    bool is(int64_t number) const noexcept
    {
        return known == number;
    }
};

using Extents = Checked<Extent>;

//! Extents of x, and one of them.
Extents extentsOf(Node& node, Value const& x);
Extent extentOf(Node& node, Value const& x, int32_t axis);
//! The elements of a tensor of integers of rank 0 or 1 and known length.
Extents elementsOf(Node& node, Value const& integers);
//! Shape(x) as a tensor of int64.
Value shapeTensor(Node& node, Value const& x);

Extent add(Node& node, Extent const& a, Extent const& b);
Extent subtract(Node& node, Extent const& a, Extent const& b);
Extent multiply(Node& node, Extent const& a, Extent const& b);
//! Rounds to minus infinity; b is not zero.
Extent floorDivide(Node& node, Extent const& a, Extent const& b);
Extent ceilDivide(Node& node, Extent const& a, Extent const& b);
Extent smaller(Node& node, Extent const& a, Extent const& b);
Extent larger(Node& node, Extent const& a, Extent const& b);
Extent product(Node& node, Extents const& extents);

bool areKnown(Extents const& extents);
Shape knownOf(Extents const& extents);
//! int64 [n].
Value tensorOf(Node& node, Extents const& extents);
//! The same as a tensor of one element and rank 0.
Value scalarOf(Node& node, Extent const& extent);

//! Reshape to extents that may be known or not.
Value reshapeTo(Node& node, Value const& x, Extents const& extents);

struct Cut
{
    Extents start;
    Extents size;
    Extents stride;
    nvinfer1::SampleMode mode{nvinfer1::SampleMode::kSTRICT_BOUNDS};
    Value fill; //!< For kFILL; absent: 0.
};
Value slice(Node& node, Value const& x, Cut const& cut, std::string_view role = "slice");
//! [begin, begin + size) of one axis.
Value sliceAxis(Node& node, Value const& x, int32_t axis, Extent const& begin, Extent const& size);
//! x repeated along extents of 1 up to the given shape, which has at least x's rank.
Value expandTo(Node& node, Value const& x, Extents const& shape);
//! Zeros of x's type and shape: a constant where x is one.
Value zerosLike(Node& node, Value const& x);
//! start, start + step, … as int64 [count].
Value range(Node& node, Extent const& count, Extent const& start, Extent const& step);
Value iota(Node& node, Extent const& count, int64_t start = 0, int64_t step = 1);

} // namespace tenon::onnx
