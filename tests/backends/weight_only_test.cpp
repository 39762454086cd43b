// Products with weights of few bits on the CPU against the reference.
#include "backends/kernel_case.h"
#include "layers/weight_only_product.h"

#include <cmath>

namespace tenon::test
{

namespace
{
struct WeightOnlyCase
{
    int64_t rows;
    int64_t depth;
    int64_t columns;
    int64_t block;
};

HostTensor numbersOfType(DType type, std::vector<int64_t> extents)
{
    HostTensor const random =
        randomTensor(extents, type == DType::kINT4 ? -8.0 : -128.0, type == DType::kINT4 ? 8.0 : 128.0);
    HostTensor numbers{type, std::move(extents)};
    for (int64_t i = 0; i < numbers.count(); ++i)
        numbers.setInteger(i, static_cast<int64_t>(std::floor(random.real(i))));
    return numbers;
}

void expectWeightOnly(WeightOnlyCase const& one, DType type, bool isTransposed)
{
    SCOPED_TRACE(fmt::format(
        "{} x {} x {}, blocks of {}, {}, {}", one.rows, one.depth, one.columns, one.block, nameOf(type), isTransposed));
    int64_t const blocks = one.depth / one.block;
    auto const matrix = [&](int64_t depth) {
        return isTransposed ? std::vector<int64_t>{one.columns, depth} : std::vector<int64_t>{depth, one.columns};
    };
    double const most = type == DType::kINT4 ? 0.1 : 0.01;
    expectKernels(WeightOnlyProduct{.isTransposed = isTransposed, .alpha = 0.5F},
        {input(randomTensor({1, one.rows, one.depth})), weight(numbersOfType(type, matrix(one.depth))),
            weight(randomTensor(matrix(blocks), most / 2, most)), weight(randomTensor({one.columns}))},
        "few-bits", {1e-4, 1e-4}, Types::kFloatOnly);
}
} // namespace

TEST(CpuWeightOnly, everyTile)
{
    for (DType const type : {DType::kINT4, DType::kINT8})
        for (bool const isTransposed : {false, true})
            for (int64_t const rows : {1, 2, 3, 4, 7, 8, 9, 30})
                for (int64_t const columns : {1, 16, 33, 64, 200})
                    expectWeightOnly({rows, 64, columns, 32}, type, isTransposed);
}

TEST(CpuWeightOnly, blocksAndDepths)
{
    for (DType const type : {DType::kINT4, DType::kINT8})
        for (int64_t const rows : {1, 5, 17})
        {
            expectWeightOnly({rows, 8, 40, 8}, type, false);
            expectWeightOnly({rows, 24, 40, 8}, type, true);
            expectWeightOnly({rows, 4096, 40, 128}, type, true); // Panels by ones and twos become floats.
            expectWeightOnly({rows, 10240, 35, 10240}, type, false);
        }
}

TEST(CpuWeightOnly, epiloguesAndBatches)
{
    for (int64_t const rows : {1, 3, 20})
        for (std::vector<int64_t> const& extra :
            std::vector<std::vector<int64_t>>{{2, rows, 40}, {1, 1, 40}, {2, rows, 1}, {1, 1, 1}})
        {
            SCOPED_TRACE(fmt::format("{} rows", rows));
            WeightOnlyProduct layer;
            layer.epilogue.steps = {{EpilogueKind::kMultiply}, {EpilogueKind::kGeluErf}, {EpilogueKind::kAdd}};
            expectKernels(layer,
                {input(randomTensor({2, rows, 32})), weight(numbersOfType(DType::kINT4, {32, 40})),
                    weight(randomTensor({1, 40}, 0.01, 0.1)), absent(), input(randomTensor(extra)),
                    input(randomTensor({2, rows, 40}))},
                "few-bits", {1e-4, 1e-4}, Types::kFloatOnly);
            layer.epilogue.steps = {{EpilogueKind::kAdd}, {EpilogueKind::kRelu}};
            expectKernels(layer,
                {input(randomTensor({2, rows, 32})), weight(numbersOfType(DType::kINT8, {32, 40})),
                    weight(randomTensor({4, 40}, 0.001, 0.01)), absent(), input(randomTensor({2, rows, 40}))},
                "few-bits", {1e-4, 1e-4}, Types::kFloatOnly);
        }
}

} // namespace tenon::test
