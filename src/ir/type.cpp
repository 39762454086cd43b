// TensorType and Constant.
#include "ir/type.h"

#include "base/cancellation.h"
#include "ir/filled_constant.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace tenon
{

bool TensorType::isStatic() const noexcept
{
    for (ShapeExpr const& extent : shape)
        if (!extent.isConstant())
            return false;
    return true;
}

ShapeExpr TensorType::volume() const
{
    ShapeExpr product{1};
    for (ShapeExpr const& extent : shape)
        product = product * extent;
    return product;
}

std::string TensorType::show() const
{
    return std::string{nameOf(dtype)} + tenon::show(shape);
}

bool isDeep(Shape const& values) noexcept
{
    return std::any_of(
        values.begin(), values.end(), [](ShapeExpr const& value) { return value.depth() > kMaxShapeDepth; });
}

std::optional<std::vector<int64_t>> staticExtents(Shape const& shape)
{
    std::vector<int64_t> extents;
    for (ShapeExpr const& extent : shape)
    {
        if (!extent.isConstant())
            return std::nullopt;
        extents.push_back(*extent.constant());
    }
    return extents;
}

Shape shapeOf(std::vector<int64_t> const& extents)
{
    return Shape(extents.begin(), extents.end());
}

std::string show(Shape const& shape)
{
    std::string text;
    for (ShapeExpr const& extent : shape)
        text += (text.empty() ? "" : ",") + extent.show();
    return "[" + text + "]";
}

int64_t volumeOf(std::vector<int64_t> const& extents) noexcept
{
    int64_t product{1};
    bool isTooLarge{false};
    for (int64_t const extent : extents)
    {
        if (extent == 0)
            return 0; // Also where the extents before it overflow.
        isTooLarge = __builtin_mul_overflow(product, extent, &product) || isTooLarge;
    }
    return isTooLarge ? std::numeric_limits<int64_t>::max() : product;
}

bool isAddressable(std::vector<int64_t> const& extents) noexcept
{
    int64_t product{1};
    for (int64_t const extent : extents)
        if (extent < 0 || __builtin_mul_overflow(product, std::max<int64_t>(extent, 1), &product)
            || product > kMaxTensorElements)
            return false;
    return true;
}

std::shared_ptr<Constant const> makeConstant(DType dtype, std::vector<int64_t> extents, void const* data)
{
    auto const bytes = static_cast<size_t>(bytesOf(dtype, volumeOf(extents)));
    return makeConstantBy(dtype, std::move(extents), [&](void* memory) {
        if (data == nullptr)
            std::memset(memory, 0, bytes);
        else
            copyCancellably(memory, data, bytes);
    });
}

std::shared_ptr<Constant const> makeConstantBy(
    DType dtype, std::vector<int64_t> extents, std::function<void(void*)> const& fill)
{
    auto constant = std::make_shared<Constant>();
    constant->dtype = dtype;
    constant->extents = std::move(extents);
    std::shared_ptr<uint8_t[]> memory{new uint8_t[static_cast<size_t>(constant->bytes()) + 1]};
    fill(memory.get());
    constant->data = memory.get();
    constant->owner = std::move(memory);
    return constant;
}

} // namespace tenon
