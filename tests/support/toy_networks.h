// Small networks on the toy device.
#pragma once

#include "support/program_builder.h"

namespace tenon::test
{

//! out[4n] = (3 x + y) / 2 for x, y of [n, 4], n in [1, 16]: an in-place step, a view, two inputs of one dimension.
inline std::shared_ptr<Plan> pointwiseNetwork()
{
    ProgramBuilder builder;
    int32_t const x = builder.input("x", {-1, 4});
    int32_t const y = builder.input("y", {-1, 4});
    for (PlanIO& io : builder.plan().io)
        io.dimensionNames = {"n", ""};
    auto const extents = builder.extentsOf(x);
    builder.setExtents(y, extents);
    Reg const count = builder.compute(PlanShapeOp::kMul, extents[0], extents[1]);
    int32_t const out = builder.output("out", {count});
    int32_t const tripled = builder.activation(extents);
    int32_t const sum = builder.activation(extents);
    builder.step("scale", {x}, {tripled}).args = ProgramBuilder::args(3.0F);
    builder.step("add", {tripled, y}, {sum}).inPlace = {{0, 0}};
    builder.step("scale", {builder.view(sum, {count})}, {out}).args = ProgramBuilder::args(0.5F);
    return builder.finish();
}

//! indices = positions of x[n] that are not zero; negated = −indices; doubled = 2 x.
inline std::shared_ptr<Plan> nonZeroNetwork()
{
    ProgramBuilder builder;
    int32_t const x = builder.input("x", {-1});
    Reg const n = builder.extentsOf(x)[0];
    int32_t const kept = builder.activation({n});
    builder.step("scale", {x}, {kept}).args = ProgramBuilder::args(2.0F);
    Reg const found = builder.dataSymbol(n);
    int32_t const indices = builder.output("indices", {found}, DType::kINT32);
    int32_t const negated = builder.output("negated", {found}, DType::kINT32);
    int32_t const doubled = builder.output("doubled", {n});
    builder.step("nonzero", {x}, {indices}).produces = {found.index};
    int32_t const between = builder.activation({found}, DType::kINT32);
    builder.step("negate", {indices}, {between});
    int32_t const back = builder.activation({found}, DType::kINT32);
    builder.step("negate", {between}, {back}).inPlace = {{0, 0}};
    builder.step("negate", {back}, {negated});
    builder.step("scale", {kept}, {doubled});
    return builder.finish();
}

//! sizes = {s0 · s1, s0 + s1} of the shape tensor s; out = 2 x for x of [s0 · s1].
inline std::shared_ptr<Plan> shapeNetwork()
{
    ProgramBuilder builder;
    auto const s = builder.shapeInput("s", 2, 1, 5);
    int32_t const x = builder.input("x", {-1}, 1, 25);
    Reg const product = builder.compute(PlanShapeOp::kMul, s[0], s[1]);
    Reg const sum = builder.compute(PlanShapeOp::kAdd, s[0], s[1]);
    builder.setExtents(x, {product});
    int32_t const sizes = builder.output("sizes", {builder.constant(2)}, DType::kINT64);
    builder.plan().io.back().isShape = true;
    builder.plan().io.back().dims.d[0] = 2;
    int32_t const out = builder.output("out", {product});
    builder.step("shape_values", {builder.values({product, sum})}, {sizes});
    builder.step("scale", {x}, {out}).args = ProgramBuilder::args(2.0F);
    return builder.finish();
}

//! out = x + x + weight, then 2 · that, for a static x of [3, 2].
inline std::shared_ptr<Plan> staticNetwork()
{
    ProgramBuilder builder;
    int32_t const x = builder.input("x", {3, 2});
    auto const extents = builder.extentsOf(x);
    int32_t const out = builder.output("out", extents);
    builder.plan().io.back().dims = builder.plan().io.front().dims;
    int32_t const weight = builder.weight({1.5F, -2.0F, 3.25F, 4.0F, 5.5F, -6.0F}, {3, 2});
    int32_t const first = builder.activation(extents);
    int32_t const second = builder.activation(extents);
    builder.step("add", {x, x}, {first});
    builder.step("add", {first, weight}, {second}).inPlace = {{0, 0}};
    builder.step("scale", {second}, {out}).args = ProgramBuilder::args(2.0F);
    return builder.finish();
}

} // namespace tenon::test
