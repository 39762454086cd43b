// Quantization, rotation and cache updates on the CPU against the reference.
#include "backends/cpu/byte_quantization.h"
#include "backends/kernel_case.h"
#include "layers/byte_scale.h"
#include "layers/dequantize.h"
#include "layers/dynamic_quantize.h"
#include "layers/kv_cache_update.h"
#include "layers/pointwise.h"
#include "layers/quantize.h"
#include "layers/rotary_embedding.h"

#include <cmath>

namespace tenon::test
{

namespace
{
HostTensor whole(std::vector<int64_t> extents, std::vector<int64_t> const& values, DType type)
{
    HostTensor tensor{type, std::move(extents)};
    for (size_t i = 0; i < values.size(); ++i)
        tensor.setInteger(static_cast<int64_t>(i), values[i]);
    return tensor;
}
} // namespace

TEST(CpuQuantize, tensorChannelsAndBlocks)
{
    HostTensor const x = randomTensor({3, 20, 6, 5}, -30.0, 30.0);
    expectKernels(Quantize{}, {input(x), input(randomTensor({}, 0.1, 0.2))}, "tape");
    for (int32_t axis = 0; axis < 4; ++axis)
        expectKernels(Quantize{.axis = axis},
            {input(x), weight(randomTensor({x.extents[static_cast<size_t>(axis)]}, 0.1, 0.3))}, "tape");
    expectKernels(Quantize{}, {input(x), input(randomTensor({3, 5, 2, 1}, 0.1, 0.3))}, "tape");
    expectKernels(
        Quantize{.blockShape = {4, {1, 4, 3, 5}}}, {input(x), input(randomTensor({3, 5, 2, 1}, 0.1, 0.3))}, "tape");
    expectKernels(
        Quantize{}, {input(x), input(randomTensor({}, 0.1, 0.2)), weight(whole({}, {0}, DType::kINT8))}, "tape");
}

//! By one scale: numbers beyond int8 and half-way between two, what is no number, and lengths that end in a part.
TEST(CpuQuantize, oneScale)
{
    for (int64_t const count : {1, 15, 64, 2053})
    {
        HostTensor x = randomTensor({1, count}, -40.0, 40.0);
        for (int64_t i = 0; i < count; i += 7)
            x.set(i, 0.25 * static_cast<double>(i % 41 - 20)); // Halves of the scale.
        double const special[]{1e30, -1e30, INFINITY, -INFINITY, NAN, -0.0};
        for (int64_t i = 0; i < std::min<int64_t>(6, count); ++i)
            x.set(count - 1 - i, special[i]);
        HostTensor scale{DType::kFLOAT, {}};
        scale.set(0, 0.5);
        expectKernels(Quantize{}, {input(x), input(scale)}, "tape", {}, Types::kFloatOnly);
    }
}

//! Scales whose reciprocals are no ordinary floats, and quotients next to halves.
TEST(CpuQuantize, scalesOfAllSizes)
{
    for (float const scale : {3e-39F, 1e-25F, 0.0371F, 1.0F / 3.0F, 7e20F, 1e30F})
    {
        HostTensor x{DType::kFLOAT, {2, 1000}};
        for (int64_t i = 0; i < 2000; ++i)
            x.set(i,
                static_cast<double>(std::nextafter(
                    scale * (0.5F * static_cast<float>(i % 600 - 300)), i < 1000 ? INFINITY : -INFINITY)));
        HostTensor one{DType::kFLOAT, {}};
        one.set(0, static_cast<double>(scale));
        for (int32_t const zeroPoint : {0, 17, -128})
            expectKernels(Quantize{.zeroPoint = zeroPoint}, {input(x), input(one)}, "tape", {}, Types::kFloatOnly);
    }
}

//! Numbers next to halves among others that are far from them, so that both ways are taken within one tensor, and what
//! is far beyond bytes on both sides, up to infinities.
TEST(CpuQuantize, halvesAmongOthers)
{
    for (float const scale : {0.0371F, 1.0F / 3.0F, 0x1p-59F, 0x1p59F})
    {
        HostTensor x =
            randomTensor({1, 20011}, -150.0 * static_cast<double>(scale), 150.0 * static_cast<double>(scale));
        for (int64_t i = 0; i < 20011; i += 501)
            x.set(i,
                static_cast<double>(std::nextafter(
                    scale * (0.5F + static_cast<float>(i % 200 - 100)), i % 2 == 0 ? INFINITY : -INFINITY)));
        int64_t at{1000};
        for (float far = 100.0F * scale; at < 1290; far *= 1.7F, at += 2)
        {
            x.set(at, static_cast<double>(far));
            x.set(at + 1, static_cast<double>(-far));
        }
        x.set(3000, NAN);
        HostTensor one{DType::kFLOAT, {}};
        one.set(0, static_cast<double>(scale));
        for (int32_t const zeroPoint : {0, 17, -128, 127})
            expectKernels(Quantize{.zeroPoint = zeroPoint}, {input(x), input(one)}, "tape", {}, Types::kFloatOnly);
    }
}

namespace
{
Expr quotient()
{
    return cast(Expr::input(0) / Expr::input(1), DType::kFLOAT);
}
Expr limited(Expr const& x, double least, double most)
{
    return min(max(x, Expr{least}), Expr{most});
}
Expr rounded()
{
    return apply(ExprOp::kRound, {quotient()});
}
Expr whole(double number)
{
    return Expr::constant(number, DType::kINT32);
}

struct ByteCase
{
    Expr expr;
    DType type;
    bool isFast;
};

//! Whether the kernel for bytes takes the expression, and that its results are right either way.
void expectBytes(ByteCase const& one, std::vector<HostTensor> const& operands)
{
    std::vector<TensorArg> args;
    std::vector<Operand> all;
    for (HostTensor const& operand : operands)
    {
        args.push_back({.dtype = operand.dtype, .extents = operand.extents});
        all.push_back(input(operand));
    }
    TensorArg const out{.dtype = one.type, .extents = operands[0].extents};
    EXPECT_EQ(cpu::byteQuantizationStep(one.expr, args, out).has_value(), one.isFast) << one.expr.show();
    expectKernels(Pointwise{one.expr}, all, "tape", {}, Types::kFloatOnly);
}
} // namespace

TEST(CpuBytes, expressionsThatQuantize)
{
    HostTensor x = randomTensor({3, 701}, -90.0, 90.0);
    double const special[]{1e30, -1e30, INFINITY, -INFINITY, NAN, -0.0, 0.25, 0.75, -0.25};
    for (int64_t i = 0; i < 9; ++i)
        x.set(700 + i, special[i]);
    HostTensor scale{DType::kFLOAT, {1, 1}};
    scale.set(0, 0.5);
    auto const signedOf = [](Expr const& e) { return cast(limited(e, -128.0, 127.0), DType::kINT8); };
    auto const moved = [&](Expr const& e, double by) {
        return cast(cast(signedOf(e), DType::kINT32) + whole(by), DType::kUINT8);
    };
    DType const u8 = DType::kUINT8;
    DType const s8 = DType::kINT8;
    for (ByteCase const& one : {ByteCase{signedOf(rounded()), s8, true}, {signedOf(rounded() + Expr{11.0}), s8, true},
             {moved(rounded() + Expr{-11.0}, 128.0), u8, true}, {moved(rounded() + Expr{11.0}, 100.0), u8, false},
             {cast(limited(rounded() + Expr{-128.0}, -128.0, 127.0) + Expr{128.0}, u8), u8, true},
             {cast(limited(rounded() + Expr{5.0}, 0.0, 255.0), u8), u8, true},
             {cast(limited(rounded() + Expr{5.5}, 0.0, 255.0), u8), u8, false},
             {cast(limited(rounded(), 0.0, 200.0), u8), u8, false}})
        expectBytes(one, {x, scale});
    ByteCase const ofTheRun{cast(limited(rounded() + Expr::input(2), 0.0, 255.0), u8), u8, true};
    for (double const number : {0.0, 7.0, 255.0, 300.0, 3.5, -2.25})
    {
        HostTensor zeroPoint{DType::kFLOAT, {1, 1}};
        zeroPoint.set(0, number);
        expectBytes(ofTheRun, {x, scale, zeroPoint});
    }
    ByteCase const ofBytes{cast(limited(rounded() + cast(Expr::input(2), DType::kFLOAT), 0.0, 255.0), u8), u8, true};
    expectBytes(ofBytes, {x, scale, whole({1, 1}, {200}, DType::kUINT8)});
}

//! Quantized and dequantized in one go: as in two, also where clamps end between whole numbers or beside 0.
TEST(CpuBytes, roundTripsOfWhatIsNoNumber)
{
    HostTensor x = randomTensor({3, 701}, -90.0, 90.0);
    double const special[]{1e30, -1e30, INFINITY, -INFINITY, NAN, -0.0, 0.25, 0.75, -0.25};
    for (int64_t i = 0; i < 9; ++i)
        for (int64_t const first : {0, 700, 2094})
            x.set(first + i, special[i]);
    HostTensor scale{DType::kFLOAT, {}};
    scale.set(0, 0.5);
    auto const roundTrip = [](double least, double most) {
        Expr const number = cast(limited(rounded(), least, most), DType::kINT8);
        return cast(number, DType::kFLOAT) * cast(Expr::input(1), DType::kFLOAT);
    };
    for (auto const& [least, most] :
        {std::pair{-128.0, 127.0}, {-127.0, 127.0}, {0.0, 127.0}, {3.0, 9.0}, {-20.0, -10.0}, {-3.5, 3.5}, {9.0, 3.0}})
        expectKernels(Pointwise{roundTrip(least, most)}, {input(x), input(scale)}, "tape");
    for (int32_t const zeroPoint : {0, 17})
    {
        Expr const number = quantizedExpr(Expr::input(0), Expr::input(1), DType::kINT8, zeroPoint);
        expectKernels(Pointwise{dequantizedExpr(number, Expr::input(1), DType::kFLOAT, zeroPoint)},
            {input(x), input(scale)}, "tape");
    }
}

TEST(CpuBytes, expressionsThatDequantize)
{
    HostTensor scale{DType::kFLOAT, {1, 1}};
    scale.set(0, 0.37);
    DType const real = DType::kFLOAT;
    auto const movedBy = [](double by) { return cast(cast(Expr::input(0), DType::kINT32) + whole(by), DType::kINT8); };
    for (DType const type : {DType::kUINT8, DType::kINT8})
    {
        bool const isUnsigned = type == DType::kUINT8;
        HostTensor const x = randomTensor({3, 701}, isUnsigned ? 0.0 : -128.0, isUnsigned ? 255.0 : 127.0, type);
        for (ByteCase const& one : {ByteCase{cast(Expr::input(0), real) * Expr::input(1), real, true},
                 {(cast(Expr::input(0), real) - Expr{117.0}) * Expr::input(1), real, true},
                 {Expr::input(1) * (cast(movedBy(-128.0), real) - Expr{-11.0}), real, isUnsigned},
                 {(cast(movedBy(-100.0), real) - Expr{3.0}) * Expr::input(1), real, false}})
            expectBytes(one, {x, scale});
        ByteCase const ofBytes{(cast(Expr::input(0), real) - cast(Expr::input(2), real)) * Expr::input(1), real, true};
        expectBytes(ofBytes, {x, scale, whole({1, 1}, {100}, type)});
    }
}

TEST(CpuDequantize, tensorChannelsAndBlocks)
{
    HostTensor const x = randomTensor({3, 20, 6, 5}, -128.0, 127.0, DType::kINT8);
    expectKernels(Dequantize{}, {input(x), input(randomTensor({}, 0.1, 0.2))}, "tape", {}, Types::kFloatOnly);
    for (DType const type : {DType::kFLOAT, DType::kHALF, DType::kBF16})
        for (int32_t axis = 0; axis < 4; ++axis)
            expectKernels(Dequantize{.axis = axis, .toType = type},
                {input(x), weight(randomTensor({x.extents[static_cast<size_t>(axis)]}, 0.1, 0.3))}, "tape",
                {1e-5, 1e-2}, Types::kFloatOnly);
    expectKernels(Dequantize{}, {input(x), input(randomTensor({3, 5, 2, 1}, 0.1, 0.3))}, "tape", {}, Types::kFloatOnly);
}

//! Scales per block along an axis, of shaped blocks, of rows and of the whole; an odd number of elements; a block of
//! zeros, one with an infinity and one with what is no number.
TEST(DynamicQuantizations, typesAndBlocks)
{
    HostTensor x = randomTensor({6, 5, 32}, -9.0, 9.0);
    std::fill_n(x.reals.begin(), 16, 0.0);
    x.reals[40] = INFINITY;
    x.reals[80] = NAN;
    for (DType const type : {DType::kFP4, DType::kFP8, DType::kINT8})
        for (DType const scale : {DType::kFLOAT, DType::kHALF, DType::kBF16, DType::kFP8, DType::kE8M0})
            for (bool const hasFactor : {false, true})
            {
                SCOPED_TRACE(fmt::format("{} {} {}", nameOf(type), nameOf(scale), hasFactor));
                std::vector<Operand> operands{input(x)};
                if (hasFactor)
                    operands.push_back(input(randomTensor({}, 0.25, 0.5)));
                expectKernels(DynamicQuantize{2, 16, type, scale}, operands, "reference", {0.0, 0.0});
                expectKernels(DynamicQuantize{0, 3, type, scale}, operands, "reference", {0.0, 0.0});
                for (nvinfer1::Dims const& blocks :
                    {nvinfer1::Dims{3, {2, 5, 8}}, nvinfer1::Dims{3, {1, 1, -1}}, nvinfer1::Dims{3, {-1, -1, -1}}})
                    expectKernels(DynamicQuantize{.toType = type, .scaleType = scale, .blockShape = blocks}, operands,
                        "reference", {0.0, 0.0});
            }
    expectKernels(DynamicQuantize{.blockShape = {2, {1, -1}}}, {input(randomTensor({3, 5}))}, "reference", {0.0, 0.0});
    expectKernels(DynamicQuantize{.blockShape = {1, {-1}}}, {input(randomTensor({3001}))}, "reference", {0.0, 0.0});
}

TEST(CpuRotaryEmbedding, pairsPartsAndPositions)
{
    for (bool const neighbours : {false, true})
        for (int32_t const turned : {0, 6})
        {
            int64_t const pairs = turned == 0 ? 9 : 3;
            RotaryEmbedding const layer{neighbours, turned};
            HostTensor const x = randomTensor({2, 3, 5, 18});
            expectKernels(
                layer, {input(x), input(randomTensor({2, 5, pairs})), input(randomTensor({2, 5, pairs}))}, "rows");
            for (DType const type : {DType::kINT32, DType::kINT64})
                expectKernels(layer,
                    {input(x), weight(randomTensor({7, pairs})), weight(randomTensor({7, pairs})),
                        input(whole({2, 5}, {0, 6, 3, 3, 1, 5, 4, 2, 0, 6}, type))},
                    "rows");
        }
    for (bool const neighbours : {false, true})
        for (int32_t const turned : {0, 32}) // Whole packs of pairs, and columns behind them.
        {
            int64_t const pairs = turned == 0 ? 24 : 16;
            expectKernels(RotaryEmbedding{neighbours, turned},
                {input(randomTensor({2, 3, 5, 48})), input(randomTensor({2, 5, pairs})),
                    input(randomTensor({2, 5, pairs}))},
                "rows");
            expectKernels(RotaryEmbedding{neighbours, turned}, // Every sample's.
                {input(randomTensor({2, 3, 5, 48})), input(randomTensor({1, 5, pairs})),
                    input(randomTensor({1, 5, pairs}))},
                "rows");
        }
}

//! Few elements and many, by one lane and by all; ends of stretches, above, below and on both sides of 0.
TEST(ByteScale, lengthsAndSigns)
{
    char const* const candidate = backendUnderTest().name == "cuda" ? "extremes" : "stretches";
    for (int64_t const count : {0, 1, 15, 16, 63, 768, 4096, 4097, 50000, 300001})
        for (auto const& [low, high] : {std::pair{-1.0, 5.0}, {2.0, 9.0}, {-9.0, -2.0}})
        {
            expectKernels(ByteScale{}, {input(randomTensor({1, count}, low, high))}, candidate, {0.0, 0.0});
            if (count == 0)
                continue;
            for (int64_t const at : {int64_t{0}, count / 2, count - 1}) // The ends, wherever they stand.
                for (double const far : {-100.0, 100.0})
                {
                    HostTensor x = randomTensor({1, count}, low, high);
                    x.set(at, far);
                    expectKernels(ByteScale{}, {input(x)}, candidate, {0.0, 0.0}, Types::kFloatOnly);
                }
        }
    expectKernels(ByteScale{}, {input(randomTensor({}, -3.0, -2.0))}, candidate, {0.0, 0.0});
    expectKernels(ByteScale{}, {input(randomTensor({2, 19, 6, 5}, -3.0, 2.0))}, candidate, {0.0, 0.0});
}

TEST(ByteScale, zerosAndWhatIsNoNumber)
{
    char const* const candidate = backendUnderTest().name == "cuda" ? "extremes" : "stretches";
    for (int64_t const count : {3, 40, 70000})
    {
        HostTensor x{DType::kFLOAT, {count}};
        expectKernels(ByteScale{}, {input(x)}, candidate, {0.0, 0.0});
        x.set(count / 3, -0.0);
        expectKernels(ByteScale{}, {input(x)}, candidate, {0.0, 0.0});
        for (double const special : {static_cast<double>(NAN), static_cast<double>(INFINITY),
                 -static_cast<double>(INFINITY), 3e38, -3e38, 1e-44, -1e-44})
        {
            x.set(count - 1, special);
            expectKernels(ByteScale{}, {input(x)}, candidate, {0.0, 0.0}, Types::kFloatOnly);
            x.set(0, -special);
            expectKernels(ByteScale{}, {input(x)}, candidate, {0.0, 0.0}, Types::kFloatOnly);
            x.set(0, 0.0);
        }
    }
}

TEST(CpuKVCacheUpdate, insideAndPastBothEnds)
{
    for (DType const type : {DType::kINT32, DType::kINT64})
        for (std::vector<int64_t> const& starts : {std::vector<int64_t>{0, 3}, {5, -2}, {99, -99}})
            for (int64_t const columns : {5, 16})
                expectKernels(KVCacheUpdate{},
                    {input(randomTensor({2, 3, 7, columns})), input(randomTensor({2, 3, 4, columns})),
                        input(whole({2}, starts, type))},
                    "rows");
    if (backendUnderTest().name != "cuda") // The CPU leaves packed updates to the reference.
        return;
    KVCacheUpdate packed;
    packed.updateForm = nvinfer1::AttentionIOForm::kPACKED_NHD;
    for (std::vector<int64_t> const& starts : {std::vector<int64_t>{0, 3}, {6, -1}})
        for (std::vector<int64_t> const& lengths : {std::vector<int64_t>{0, 2, 6}, {0, 0, 5}, {-3, 4, 99}})
            expectKernels(packed,
                {input(randomTensor({2, 3, 7, 16})), input(randomTensor({6, 3, 16})),
                    input(whole({2}, starts, DType::kINT32)), input(whole({3}, lengths, DType::kINT32))},
                "packs");
}

} // namespace tenon::test
