// Pointwise layers on the CPU against the reference.
#include "backends/kernel_case.h"
#include "layers/activation.h"
#include "layers/cast.h"
#include "layers/element_wise.h"
#include "layers/pointwise.h"
#include "layers/scale.h"
#include "layers/select.h"
#include "layers/unary.h"

#include <limits>
#include <set>

namespace tenon::test
{

TEST(CpuPointwise, unary)
{
    using Operation = nvinfer1::UnaryOperation;
    for (int32_t i = 0; i <= static_cast<int32_t>(Operation::kISNAN); ++i)
    {
        auto const operation = static_cast<Operation>(i);
        if (operation == Operation::kNOT)
            continue;
        SCOPED_TRACE(i);
        bool const isUnit =
            operation == Operation::kASIN || operation == Operation::kACOS || operation == Operation::kATANH;
        bool const isPositive =
            operation == Operation::kLOG || operation == Operation::kSQRT || operation == Operation::kACOSH;
        expectKernels(Unary{operation},
            {input(randomTensor({3, 5, 67},
                isPositive   ? 1.0
                    : isUnit ? -0.99
                             : -6.0,
                isUnit ? 0.99 : 6.0))},
            "tape");
    }
    expectKernels(Unary{Operation::kNOT}, {input(randomTensor({300}, 0.0, 2.0, DType::kBOOL))}, "tape");
    expectKernels(Unary{Operation::kEXP}, {input(randomTensor({3000}, -120.0, 88.0))}, "tape");
    expectKernels(Unary{Operation::kLOG}, {input(randomTensor({3000}, 0.0, 1e-30))}, "tape");
    expectKernels(Unary{Operation::kNEG}, {input(randomTensor({50}, -100, 100, DType::kINT32))}, "tape");
}

//! Numbers in several parts of a run: of integers they stand in rows that are filled once, and there may be more of
//! them than such rows.
TEST(CpuPointwise, numbersInEveryPart)
{
    for (DType const type : {DType::kUINT8, DType::kINT32, DType::kINT64})
    {
        Expr sum = Expr::input(0);
        for (int32_t i = 1; i < 12; ++i)
        {
            Expr const number = Expr::constant(static_cast<double>(i), type);
            Expr const isClear = apply(ExprOp::kEqual, {apply(ExprOp::kAnd, {sum, number}), Expr::constant(0.0, type)});
            sum = select(isClear, sum + number, apply(ExprOp::kXor, {sum, number}));
        }
        expectKernels(Pointwise{sum}, {input(randomTensor({3, 4001}, 0.0, 120.0, type))}, "tape");
        Expr const isSeven = apply(ExprOp::kEqual, {Expr::input(0), Expr::constant(7.0, type)});
        Expr const choice = select(isSeven, Expr::constant(7.0, type), Expr::constant(9.0, type));
        expectKernels(Pointwise{choice}, {input(randomTensor({3, 4001}, 0.0, 12.0, type))}, "tape");
    }
}

TEST(CpuPointwise, activations)
{
    using Type = nvinfer1::ActivationType;
    for (int32_t i = 0; i <= static_cast<int32_t>(Type::kGELU_TANH); ++i)
    {
        SCOPED_TRACE(i);
        expectKernels(
            Activation{static_cast<Type>(i), 0.3F, 0.7F}, {input(randomTensor({2, 7, 33, 3}, -4.0, 4.0))}, "tape");
    }
}

TEST(CpuPointwise, geluFarFromZero)
{
    expectKernels(Activation{nvinfer1::ActivationType::kGELU_ERF}, {input(randomTensor({100}, -1e6, -5.0))}, "tape",
        {.absolute = 0.0, .relative = 1e-5});
}

//! What lies between erf and 1 is told of float32 numbers, whatever the result is rounded to.
TEST(CpuPointwise, erfNearOneOfFloats)
{
    Expr const missing = (Expr{1.0} - erf(Expr::input(0))) * Expr{1e6};
    expectKernels(Pointwise{cast(missing, DType::kHALF)}, {input(randomTensor({100}, 3.31, 3.45))}, "tape",
        {.absolute = 0.3}, Types::kFloatOnly);
}

TEST(CpuPointwise, minimumAndMaximumKeepNaN)
{
    using Operation = nvinfer1::ElementWiseOperation;
    HostTensor a = randomTensor({40});
    HostTensor b = randomTensor({40});
    for (size_t i = 0; i < 40; i += 4)
    {
        a.reals[i] = NAN;
        b.reals[i + 1] = NAN;
    }
    for (Operation const operation : {Operation::kMAX, Operation::kMIN})
        expectKernels(ElementWise{operation}, {input(a), input(b)}, "tape");
}

TEST(CpuPointwise, elementWiseBroadcasts)
{
    using Operation = nvinfer1::ElementWiseOperation;
    std::vector<std::vector<int64_t>> const shapes{{2, 19, 6, 5}, {1, 19, 1, 1}, {2, 1, 6, 5}, {2, 19, 1, 1},
        {1, 1, 1, 1}, {2, 19, 6, 1}, {1, 1, 1, 5}, {2, 1, 6, 1}};
    for (auto const& a : shapes)
        for (auto const& b : shapes)
        {
            expectKernels(ElementWise{Operation::kSUM}, {input(randomTensor(a)), input(randomTensor(b))}, "tape");
            expectKernels(
                ElementWise{Operation::kDIV}, {input(randomTensor(a)), weight(randomTensor(b, 1.0, 2.0))}, "tape");
        }
    expectKernels(ElementWise{Operation::kSUM}, {input(randomTensor({70000})), input(randomTensor({70000}))}, "tape");
}

TEST(CpuPointwise, elementWiseTypes)
{
    using Operation = nvinfer1::ElementWiseOperation;
    for (DType const type : {DType::kFLOAT, DType::kINT32, DType::kINT64, DType::kHALF, DType::kBF16})
        for (Operation const operation :
            {Operation::kSUM, Operation::kPROD, Operation::kMAX, Operation::kMIN, Operation::kSUB, Operation::kDIV,
                Operation::kFLOOR_DIV, Operation::kEQUAL, Operation::kGREATER, Operation::kLESS})
        {
            SCOPED_TRACE(fmt::format("{} {}", nameOf(type), static_cast<int32_t>(operation)));
            Tolerance tolerance;
            if (type == DType::kHALF)
                tolerance = {2.5e-3, 1e-3};
            if (type == DType::kBF16)
                tolerance = {2e-2, 1e-2};
            expectKernels(ElementWise{operation},
                {input(randomTensor({4, 1, 77}, 1.0, 9.0, type)), input(randomTensor({4, 3, 77}, 1.0, 9.0, type))},
                "tape", tolerance);
        }
    for (Operation const operation : {Operation::kAND, Operation::kOR, Operation::kXOR})
        expectKernels(ElementWise{operation},
            {input(randomTensor({5, 70}, 0, 2, DType::kBOOL)), input(randomTensor({5, 1}, 0, 2, DType::kBOOL))},
            "tape");
}

//! Sums and products beyond the type wrap; rows end inside of vectors; operands repeat, or lie as the output does.
TEST(CpuPointwise, integersThatWrap)
{
    using Operation = nvinfer1::ElementWiseOperation;
    for (DType const type : {DType::kINT32, DType::kINT64})
    {
        double const large = type == DType::kINT32 ? 2.1e9 : 9.1e18;
        for (Operation const operation :
            {Operation::kSUM, Operation::kPROD, Operation::kMAX, Operation::kMIN, Operation::kSUB, Operation::kDIV,
                Operation::kFLOOR_DIV, Operation::kEQUAL, Operation::kGREATER, Operation::kLESS})
            for (std::vector<int64_t> const& other : std::vector<std::vector<int64_t>>{{3, 1031}, {1, 1031}, {3, 1}})
            {
                SCOPED_TRACE(
                    fmt::format("{} {} by {}", nameOf(type), static_cast<int32_t>(operation), fmt::join(other, "x")));
                expectKernels(ElementWise{operation},
                    {input(randomTensor({3, 1031}, -large, large, type)),
                        input(randomTensor(other, -large, large, type))},
                    "tape", Tolerance{0.0, 0.0});
            }
        for (auto const operation :
            {nvinfer1::UnaryOperation::kNEG, nvinfer1::UnaryOperation::kABS, nvinfer1::UnaryOperation::kSIGN})
            expectKernels(
                Unary{operation}, {input(randomTensor({2, 777}, -large, large, type))}, "tape", Tolerance{0.0, 0.0});
    }
}

//! Powers of two, products with them and quotients by them, which are shifts: each count of places, also those that a
//! type has not, beside numbers of either sign and the ends of the type.
TEST(CpuPointwise, shiftsOfIntegers)
{
    Expr const x = Expr::input(0);
    Expr const places = Expr::input(1);
    for (DType const type : {DType::kINT8, DType::kUINT8, DType::kINT32, DType::kINT64})
    {
        constexpr int64_t kCounts{72};
        constexpr int64_t kNumbers{517};
        double const large = type == DType::kINT64 ? 9e18 : type == DType::kINT32 ? 2.1e9 : 127.0;
        double const low = type == DType::kUINT8 ? 0.0 : -large;
        HostTensor numbers = randomTensor({kCounts, kNumbers}, low, large, type);
        HostTensor counts{type, {kCounts, kNumbers}};
        int64_t const bits = type == DType::kINT64 ? 64 : type == DType::kINT32 ? 32 : 8;
        int64_t const least = type == DType::kUINT8 ? 0 : std::numeric_limits<int64_t>::min() >> (64 - bits);
        for (int64_t i = 0; i < counts.count(); ++i)
        {
            counts.setInteger(i, i / kNumbers - (type == DType::kUINT8 ? 0 : 4));
            int64_t const special[]{least, type == DType::kUINT8 ? 255 : -1 - least, 0, 1, least + 1};
            if (i % kNumbers < 5)
                numbers.setInteger(i, special[i % kNumbers]);
        }
        Expr const power = apply(ExprOp::kPow, {Expr::constant(2.0, type), places});
        for (Expr const& body : {power, x * power, power * x, apply(ExprOp::kFloorDiv, {x, power}),
                 apply(ExprOp::kAnd, {x * power, power})})
        {
            SCOPED_TRACE(fmt::format("{} {}", nameOf(type), body.show()));
            expectKernels(Pointwise{body}, {input(numbers), input(counts)}, "tape", Tolerance{0.0, 0.0});
        }
    }
}

//! Bytes, of which two thousand are a row: all pairs of numbers, in several lines, one of which ends a row.
TEST(CpuPointwise, bytes)
{
    using Operation = nvinfer1::ElementWiseOperation;
    for (DType const type : {DType::kINT8, DType::kUINT8})
    {
        HostTensor a{type, {256, 259}};
        HostTensor b{type, {256, 259}};
        int64_t const least = type == DType::kINT8 ? -128 : 0;
        for (int64_t i = 0; i < a.count(); ++i)
        {
            a.setInteger(i, least + i / 259);
            b.setInteger(i, least + i % 259 % 256);
        }
        for (Operation const operation : {Operation::kSUM, Operation::kPROD, Operation::kMAX, Operation::kMIN,
                 Operation::kSUB, Operation::kDIV, Operation::kFLOOR_DIV, Operation::kAND, Operation::kOR,
                 Operation::kXOR, Operation::kEQUAL, Operation::kGREATER, Operation::kLESS})
        {
            SCOPED_TRACE(fmt::format("{} {}", nameOf(type), static_cast<int32_t>(operation)));
            expectKernels(ElementWise{operation}, {input(a), input(b)}, "tape", Tolerance{0.0, 0.0});
            expectKernels(ElementWise{operation},
                {input(a), input(randomTensor({256, 1}, static_cast<double>(least), 127, type))}, "tape",
                Tolerance{0.0, 0.0});
            expectKernels(ElementWise{operation},
                {input(randomTensor({1, 259}, static_cast<double>(least), 127, type)), input(a)}, "tape",
                Tolerance{0.0, 0.0});
        }
        expectKernels(Select{}, {input(randomTensor({256, 259}, 0, 2, DType::kBOOL)), input(a), input(b)}, "tape",
            Tolerance{0.0, 0.0});
    }
}

//! What is moved from int8 to uint8 and back, narrowed, compared wide, divided where a sum has left the type, quantized
//! and taken for truth: each wants rows of another width.
TEST(CpuPointwise, integersOfSeveralWidths)
{
    Expr const x = Expr::input(0);
    Expr const y = Expr::input(1);
    Expr const byte = cast(x, DType::kINT8);
    auto const in32 = [](Expr const& e) { return cast(e, DType::kINT32); };
    auto const number = [](double value, DType type) { return cast(Expr{value}, type); };
    std::vector<std::pair<Expr, DType>> const bodies{
        {cast(in32(x) + number(128, DType::kINT32), DType::kUINT8), DType::kINT8},
        {cast(in32(x) + number(-128, DType::kINT32), DType::kINT8), DType::kUINT8},
        {in32(x) * in32(y) + number(1e6, DType::kINT32), DType::kINT8},
        {cast(in32(x) + in32(y), DType::kINT8) / number(3, DType::kINT8), DType::kINT8},
        {apply(ExprOp::kLess, {in32(x) + in32(y), number(100, DType::kINT32)}), DType::kINT8},
        {select(x > y, in32(x), number(-70000, DType::kINT32)), DType::kINT8},
        {cast(min(max(apply(ExprOp::kRound, {cast(x, DType::kFLOAT) * Expr{1.7}}), Expr{-128.0}), Expr{127.0}),
             DType::kINT8),
            DType::kINT32},
        {cast(cast(x, DType::kFLOAT) / Expr{3.0} - cast(y, DType::kFLOAT), DType::kINT32), DType::kINT32},
        {cast(byte, DType::kINT64) * cast(y, DType::kINT64), DType::kINT32},
        {cast(x + y, DType::kBOOL), DType::kINT8},
        {cast(cast(x, DType::kBOOL), DType::kINT64), DType::kUINT8},
    };
    for (auto const& [body, type] : bodies)
    {
        SCOPED_TRACE(body.show());
        double const least = type == DType::kINT8 ? -128 : type == DType::kUINT8 ? 0 : -1000;
        double const most = type == DType::kINT8 ? 128 : type == DType::kUINT8 ? 256 : 1000;
        std::vector<Operand> operands{input(randomTensor({3, 2999}, least, most, type))};
        if (body.inputCount() > 1)
            operands.push_back(input(randomTensor({3, 2999}, least, most, type)));
        expectKernels(Pointwise{body}, operands, "tape", Tolerance{0.0, 0.0});
    }
}

TEST(CpuPointwise, castsAndSelects)
{
    std::vector<DType> const types{
        DType::kFLOAT, DType::kHALF, DType::kINT32, DType::kINT64, DType::kINT8, DType::kUINT8, DType::kBOOL};
    for (DType const from : types)
        for (DType const to : types)
        {
            if (std::set{from, to} == std::set{DType::kINT8, DType::kUINT8})
                continue; // A11: that cast is refused.
            SCOPED_TRACE(fmt::format("{} to {}", nameOf(from), nameOf(to)));
            expectKernels(Cast{to}, {input(randomTensor({3, 99}, 0.0, 100.0, from))}, "tape");
        }
    for (DType const type : {DType::kFLOAT, DType::kINT64, DType::kBOOL})
        expectKernels(Select{},
            {input(randomTensor({2, 1, 50}, 0, 2, DType::kBOOL)), input(randomTensor({2, 4, 50}, 0, 2, type)),
                weight(randomTensor({1, 1, 1}, 0, 2, type))},
            "tape");
}

TEST(CpuPointwise, expressions)
{
    Expr const x = Expr::input(0);
    Expr const y = Expr::input(1);
    Expr const silu = x * sigmoid(x) + y;
    Expr const gelu = x * Expr{0.5} * (erf(x / Expr{1.41421356}) + Expr{1.0});
    Expr const mixed = select(x > y, exp(min(x, y)), sqrt(abs(x * y) + Expr{1.0}) - x / (abs(y) + Expr{0.5}));
    Expr const powers = pow(x, Expr{2.0}) + pow(abs(x), Expr{1.5}) - pow(x, Expr{3.0}) * (Expr{1.0} - y);
    for (Expr const& expr : {silu, gelu, mixed, powers})
        for (std::vector<int64_t> const& other :
            std::vector<std::vector<int64_t>>{{2, 24, 9, 9}, {1, 24, 1, 1}, {2, 24, 1, 1}})
        {
            SCOPED_TRACE(expr.show());
            std::vector<Operand> operands{input(randomTensor({2, 24, 9, 9}, -3, 3))};
            if (expr.inputCount() > 1)
                operands.push_back(input(randomTensor(other, -3, 3)));
            expectKernels(Pointwise{expr}, operands, "tape");
        }
}

} // namespace tenon::test
