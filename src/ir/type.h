// TensorType: element type and symbolic shape of a tensor; Constant: a tensor whose contents the graph holds.
#pragma once

#include "base/dtype.h"
#include "ir/shape_expr.h"

#include <memory>
#include <optional>
#include <vector>

namespace tenon
{

using Shape = std::vector<ShapeExpr>;

struct TensorType
{
    DType dtype{DType::kFLOAT};
    Shape shape;

    int32_t rank() const noexcept
    {
        return static_cast<int32_t>(shape.size());
    }
    bool isStatic() const noexcept;
    ShapeExpr volume() const;
    std::string show() const;
    friend bool operator==(TensorType const&, TensorType const&) = default;
};

//! Extents when all are constants.
std::optional<std::vector<int64_t>> staticExtents(Shape const& shape);
Shape shapeOf(std::vector<int64_t> const& extents);
std::string show(Shape const& shape);
//! Most operations of an expression in a graph, one upon the other: what walks over them calls itself.
inline constexpr int32_t kMaxShapeDepth{1000};
bool isDeep(Shape const& values) noexcept;
//! Product of extents; 1 for none, 0 when one is 0. Saturates instead of overflowing.
int64_t volumeOf(std::vector<int64_t> const& extents) noexcept;
//! Most elements of a tensor: strides and offsets in bytes then stay far from overflow.
inline constexpr int64_t kMaxTensorElements{int64_t{1} << 46};
//! True when no extent is negative and their product, zeros counted as ones, is at most kMaxTensorElements.
bool isAddressable(std::vector<int64_t> const& extents) noexcept;

//! Contents of a constant tensor, row-major; shared, never written. `owner` keeps the memory alive, or is null when the
//! user does (weights are held by reference until the build ends).
struct Constant
{
    DType dtype{DType::kFLOAT};
    std::vector<int64_t> extents;
    void const* data{nullptr};
    std::shared_ptr<void const> owner;

    int64_t count() const noexcept
    {
        return volumeOf(extents);
    }
    int64_t bytes() const noexcept
    {
        return bytesOf(dtype, count());
    }
};

//! A constant with memory of its own, filled with a copy of `data` (zeros when null).
std::shared_ptr<Constant const> makeConstant(DType dtype, std::vector<int64_t> extents, void const* data);

} // namespace tenon
