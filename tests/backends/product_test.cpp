// Matrix products on the CPU against the reference.
#include "backends/kernel_case.h"
#include "layers/matrix_multiply.h"

namespace tenon::test
{

using nvinfer1::MatrixOperation;

namespace
{
HostTensor operand(std::vector<int64_t> batch, int64_t rows, int64_t columns, MatrixOperation operation)
{
    if (operation == MatrixOperation::kTRANSPOSE)
        std::swap(rows, columns);
    batch.push_back(rows);
    batch.push_back(columns);
    return randomTensor(batch);
}
} // namespace

TEST(CpuProduct, sizesAndTransposes)
{
    for (auto const& [m, k, n] : std::vector<std::array<int64_t, 3>>{
             {1, 7, 5}, {1, 64, 200}, {49, 33, 65}, {6, 1, 16}, {30, 100, 17}, {13, 16, 96}})
        for (MatrixOperation const a : {MatrixOperation::kNONE, MatrixOperation::kTRANSPOSE})
            for (MatrixOperation const b : {MatrixOperation::kNONE, MatrixOperation::kTRANSPOSE})
            {
                SCOPED_TRACE(
                    fmt::format("{} x {} x {}, {}, {}", m, k, n, static_cast<int32_t>(a), static_cast<int32_t>(b)));
                MatrixMultiply layer;
                layer.operation0 = a;
                layer.operation1 = b;
                expectKernels(layer, {input(operand({}, m, k, a)), input(operand({}, k, n, b))}, "panels");
                expectKernels(layer,
                    {input(operand({}, m, k, a)), weight(operand({}, k, n, b)), weight(randomTensor({n}))}, "panels");
            }
}

TEST(CpuProduct, batches)
{
    MatrixMultiply layer;
    layer.alpha = 0.25F;
    expectKernels(layer, {input(randomTensor({2, 3, 10, 20})), input(randomTensor({2, 3, 20, 30}))}, "panels");
    expectKernels(layer, {input(randomTensor({2, 1, 10, 20})), input(randomTensor({1, 3, 20, 30}))}, "panels");
    expectKernels(layer, {input(randomTensor({2, 5, 20})), weight(randomTensor({1, 20, 30}))}, "panels");
    expectKernels(layer, {input(randomTensor({1, 5, 20})), weight(randomTensor({4, 20, 30}))}, "panels");
    layer.operation0 = MatrixOperation::kTRANSPOSE;
    expectKernels(layer, {input(randomTensor({3, 20, 5})), weight(randomTensor({1, 20, 30}))}, "panels");
}

TEST(CpuProduct, vectors)
{
    MatrixMultiply layer;
    layer.operation0 = MatrixOperation::kVECTOR;
    expectKernels(layer, {input(randomTensor({3, 20})), input(randomTensor({3, 20, 30}))}, "panels");
    layer.operation0 = MatrixOperation::kNONE;
    layer.operation1 = MatrixOperation::kVECTOR;
    expectKernels(layer, {input(randomTensor({3, 7, 20})), weight(randomTensor({3, 20}))}, "panels");
}

//! As float16 and bfloat16 become floats: rows in several passes, the depth in parts, more columns than sums.
TEST(CpuProduct, manyRowsAndDeepOnes)
{
    for (auto const& [m, k, n] : std::vector<std::array<int64_t, 3>>{{251, 1030, 37}, {300, 70, 64}, {110, 520, 330}})
        for (bool const isBiased : {false, true})
        {
            SCOPED_TRACE(fmt::format("{} x {} x {}, {}", m, k, n, isBiased));
            MatrixMultiply layer;
            layer.alpha = isBiased ? 1.0F : 0.5F;
            layer.epilogue.steps = {{EpilogueKind::kAdd}, {EpilogueKind::kRelu}};
            expectKernels(layer,
                {input(randomTensor({m, k})), weight(randomTensor({k, n})),
                    isBiased ? weight(randomTensor({n})) : absent(), input(randomTensor({m, n}))},
                "panels", toleranceOfSums(k));
        }
}

//! Depths of several parts, of even and other length; rows and columns that groups do not divide.
TEST(CpuProduct, partsOfTheDepth)
{
    std::array<Epilogue, 3> const epilogues{
        Epilogue{}, Epilogue{{{EpilogueKind::kGeluErf}}}, Epilogue{{{EpilogueKind::kAdd}, {EpilogueKind::kRelu}}}};
    for (auto const& [m, k, n] : std::vector<std::array<int64_t, 3>>{
             {24, 384, 24}, {50, 385, 16}, {151, 900, 140}, {295, 641, 7}, {67, 2304, 300}})
        for (Epilogue const& epilogue : epilogues)
        {
            SCOPED_TRACE(fmt::format("{} x {} x {}, {} steps", m, k, n, epilogue.steps.size()));
            MatrixMultiply layer;
            layer.alpha = n == 140 ? 0.25F : 1.0F;
            layer.epilogue = epilogue;
            std::vector<Operand> operands{
                input(randomTensor({m, k})), weight(randomTensor({k, n})), weight(randomTensor({n}))};
            if (epilogue.extraInputs() > 0)
                operands.push_back(input(randomTensor({m, n})));
            expectKernels(layer, std::move(operands), "panels", toleranceOfSums(k), Types::kFloatOnly);
        }
}

TEST(CpuProduct, epilogues)
{
    for (EpilogueKind const kind : {EpilogueKind::kAdd, EpilogueKind::kMultiply})
        for (std::vector<int64_t> const& extra :
            std::vector<std::vector<int64_t>>{{2, 9, 40}, {1, 1, 40}, {2, 1, 40}, {2, 9, 1}, {1, 9, 40}, {1, 1, 1}})
        {
            MatrixMultiply layer;
            layer.epilogue.steps = {{kind}, {EpilogueKind::kGeluErf}, {EpilogueKind::kAdd}};
            expectKernels(layer,
                {input(randomTensor({2, 9, 20})), weight(randomTensor({1, 20, 40})), weight(randomTensor({40})),
                    input(randomTensor(extra)), input(randomTensor({2, 9, 40}))},
                "panels");
            expectKernels(layer,
                {input(randomTensor({2, 9, 20})), input(randomTensor({2, 20, 40})), absent(),
                    input(randomTensor(extra)), input(randomTensor({2, 9, 40}))},
                "panels");
        }
}

//! Sizes that no tile divides, depths that several blocks share out, rows and columns off the width of an access.
//! --gtest_shuffle with --gtest_repeat draws others each time.
TEST(CpuProduct, randomSizes)
{
    std::mt19937 random{static_cast<unsigned>(testing::UnitTest::GetInstance()->random_seed())};
    auto const upTo = [&](int64_t most) { return std::uniform_int_distribution<int64_t>{1, most}(random); };
    std::array<Epilogue, 5> const epilogues{Epilogue{}, Epilogue{{{EpilogueKind::kRelu}}},
        Epilogue{{{EpilogueKind::kGeluErf}}}, Epilogue{{{EpilogueKind::kSilu}}},
        Epilogue{{{EpilogueKind::kAdd}, {EpilogueKind::kRelu}}}};
    for (int i = 0; i < 24; ++i)
    {
        int64_t const grain = upTo(3) == 1 ? 1 : 8;
        int64_t const m = upTo(3) == 1 ? upTo(16) : upTo(150);
        int64_t const k = upTo(i % 4 == 0 ? 160 : 40) * grain;
        int64_t const n = upTo(24) * grain;
        int64_t const batch = upTo(3) == 1 ? 2 : 1;
        MatrixMultiply layer;
        layer.operation1 = upTo(2) == 1 ? MatrixOperation::kTRANSPOSE : MatrixOperation::kNONE;
        layer.epilogue = epilogues[static_cast<size_t>(i) % epilogues.size()];
        std::vector<Operand> operands{input(randomTensor({batch, m, k})),
            weight(operand({upTo(2) == 1 ? batch : 1}, k, n, layer.operation1)),
            upTo(2) == 1 ? absent() : weight(randomTensor({n}))};
        if (layer.epilogue.extraInputs() > 0)
            operands.push_back(input(randomTensor({batch, m, n})));
        SCOPED_TRACE(fmt::format("case {}: {} of {} x {} x {}, {}", i, batch, m, k, n, layer.epilogue.steps.size()));
        expectKernels(layer, std::move(operands), "panels", {.absolute = 2e-4});
    }
}

//! Several tiles of one height, then what they leave; whole and half vectors of columns at the end.
TEST(CpuProduct, tilesBelowEachOther)
{
    std::array<Epilogue, 4> const epilogues{Epilogue{}, Epilogue{{{EpilogueKind::kRelu}}},
        Epilogue{{{EpilogueKind::kHardSwish, 0.2F, 0.5F}}}, Epilogue{{{EpilogueKind::kAdd}, {EpilogueKind::kRelu}}}};
    for (auto const& [m, k, n] :
        std::vector<std::array<int64_t, 3>>{{97, 16, 24}, {200, 24, 71}, {130, 33, 8}, {75, 64, 300}, {53, 5, 40}})
        for (Epilogue const& epilogue : epilogues)
        {
            MatrixMultiply layer;
            layer.alpha = k == 33 ? 0.25F : 1.0F;
            layer.epilogue = epilogue;
            std::vector<Operand> operands{
                input(randomTensor({m, k})), weight(randomTensor({k, n})), weight(randomTensor({n}))};
            if (epilogue.extraInputs() > 0)
                operands.push_back(input(randomTensor({m, n})));
            SCOPED_TRACE(fmt::format("{} x {} x {}, {} steps", m, k, n, epilogue.steps.size()));
            expectKernels(layer, std::move(operands), "panels");
        }
}

TEST(CpuProduct, manyTiles)
{
    MatrixMultiply layer;
    layer.epilogue.steps = {{EpilogueKind::kAdd}};
    expectKernels(layer,
        {input(randomTensor({1, 2300, 8})), weight(randomTensor({1, 8, 520})), weight(randomTensor({520})),
            input(randomTensor({1, 2300, 520}))},
        "panels");
}

} // namespace tenon::test
