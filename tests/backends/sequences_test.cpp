// Kernels of attention over sequences of unlike lengths, and of mixtures of experts, against the reference.
#include "backends/kernel_case.h"
#include "layers/moe.h"
#include "layers/ragged_attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace tenon::test
{
namespace
{
using nvinfer1::AttentionIOForm;

//! Whole numbers as they are.
Operand numbers(std::vector<int64_t> const& values, std::vector<int64_t> extents, DType type)
{
    HostTensor tensor{type, std::move(extents)};
    for (size_t i = 0; i < values.size(); ++i)
        tensor.setInteger(static_cast<int64_t>(i), values[i]);
    return input(std::move(tensor));
}

//! Where sequences of these lengths begin.
Operand begins(std::vector<int64_t> const& lengths, DType type)
{
    std::vector<int64_t> all{0};
    std::partial_sum(lengths.begin(), lengths.end(), std::back_inserter(all));
    auto const count = static_cast<int64_t>(all.size());
    return numbers(all, {count}, type);
}

bool isOnCpu()
{
    return backendUnderTest().name == "cpu";
}

//! Queries have 4 heads, keys 2; columns that fill no vector; a sequence without keys, one without queries.
TEST(RaggedAttentions, packedSequences)
{
    if (!isOnCpu())
        GTEST_SKIP() << "of the CPU's kernel";
    std::vector<int64_t> const rows{5, 0, 70, 1};
    std::vector<int64_t> const keys{7, 3, 70, 0};
    for (AttentionCausal const causal :
        {AttentionCausal::kNone, AttentionCausal::kUpperLeft, AttentionCausal::kLowerRight})
        for (DType const index : {DType::kINT32, DType::kINT64})
        {
            SCOPED_TRACE(fmt::format("{} {}", static_cast<int>(causal), nameOf(index)));
            RaggedAttention layer;
            layer.causal = causal;
            layer.queryForm = layer.keyValueForm = AttentionIOForm::kPACKED_NHD;
            // Tokens behind the last sequence give 0.
            expectKernels(layer,
                {input(randomTensor({78, 4, 19}, -1.0, 1.0)), input(randomTensor({81, 2, 19}, -1.0, 1.0)),
                    input(randomTensor({81, 2, 13})), absent(), absent(), begins(rows, index), begins(keys, index)},
                "blocks", {1e-5, 1e-4});
        }
}

TEST(RaggedAttentions, oneFormPackedAndTheOtherPadded)
{
    if (!isOnCpu())
        GTEST_SKIP() << "of the CPU's kernel";
    RaggedAttention queries;
    queries.queryForm = AttentionIOForm::kPACKED_NHD;
    expectKernels(queries,
        {input(randomTensor({9, 2, 16}, -1.0, 1.0)), input(randomTensor({3, 2, 20, 16}, -1.0, 1.0)),
            input(randomTensor({3, 2, 20, 8})), absent(), absent(), begins({4, 2, 3}, DType::kINT32),
            numbers({20, 0, 11}, {3}, DType::kINT32)},
        "blocks", {1e-5, 1e-4});
    RaggedAttention keys;
    keys.keyValueForm = AttentionIOForm::kPACKED_NHD;
    keys.causal = AttentionCausal::kLowerRight;
    expectKernels(keys,
        {input(randomTensor({2, 4, 3, 16}, -1.0, 1.0)), input(randomTensor({24, 1, 16}, -1.0, 1.0)),
            input(randomTensor({24, 1, 8})), absent(), absent(), absent(), begins({17, 7}, DType::kINT64)},
        "blocks", {1e-5, 1e-4});
}

TEST(RaggedAttentions, masksOfPaddedSequences)
{
    if (!isOnCpu())
        GTEST_SKIP() << "of the CPU's kernel";
    RaggedAttention layer;
    for (bool const isKeep : {true, false})
        for (std::vector<int64_t> const& extents :
            std::vector<std::vector<int64_t>>{{2, 3, 6, 21}, {1, 3, 1, 21}, {2, 1, 6, 1}})
            expectKernels(layer,
                {input(randomTensor({2, 3, 6, 8}, -1.0, 1.0)), input(randomTensor({2, 3, 21, 8}, -1.0, 1.0)),
                    input(randomTensor({2, 3, 21, 8})),
                    input(isKeep ? randomTensor(extents, 0.0, 2.0, DType::kBOOL) : randomTensor(extents)), absent(),
                    absent(), numbers({21, 9}, {2}, DType::kINT32)},
                "blocks", {1e-5, 1e-4});
}

struct MoECase
{
    int64_t tokens;
    int64_t each;
    int64_t experts;
    int64_t hidden;
    int64_t inner;
};

class MixturesOfExperts : public ::testing::TestWithParam<MoECase>
{
};

//! Some experts do not exist; weights are small, so that sums of them are about 1.
TEST_P(MixturesOfExperts, gatesBiasesAndLimits)
{
    MoECase const& c = GetParam();
    for (bool const hasBias : {false, true})
        for (DType const index : {DType::kINT32, DType::kINT64})
        {
            SCOPED_TRACE(fmt::format("{} {}", hasBias, nameOf(index)));
            MoE layer;
            if (hasBias)
            {
                layer.swigluParamLimit = 0.4F;
                layer.swigluParamAlpha = 1.7F;
                layer.swigluParamBeta = 0.3F;
            }
            else if (index == DType::kINT64)
                layer.activationType = nvinfer1::MoEActType::kNONE;
            HostTensor chosen{index, {1, c.tokens, c.each}};
            for (int64_t i = 0; i < chosen.count(); ++i)
                chosen.setInteger(i, (i * 7 + i / 3) % (c.experts + 2) - 1);
            double const most = 1.5 / std::sqrt(static_cast<double>(c.hidden));
            std::vector<Operand> operands{input(randomTensor({1, c.tokens, c.hidden}, -1.0, 1.0)), input(chosen),
                input(randomTensor({1, c.tokens, c.each}, 0.0, 1.0)),
                input(randomTensor({c.experts, c.hidden, c.inner}, -most, most)),
                input(randomTensor({c.experts, c.hidden, c.inner}, -most, most)),
                input(randomTensor({c.experts, c.inner, c.hidden}, -most, most))};
            if (hasBias)
                for (int64_t const columns : {c.inner, c.inner, c.hidden})
                    operands.push_back(input(randomTensor({c.experts, columns}, -0.5, 0.5)));
            expectKernels(layer, operands, "by-expert", {1e-5, 1e-4});
        }
}

INSTANTIATE_TEST_SUITE_P(Sizes, MixturesOfExperts,
    ::testing::Values(MoECase{1, 2, 4, 40, 24}, MoECase{30, 2, 3, 33, 17}, MoECase{7, 1, 12, 128, 300},
        MoECase{3, 4, 2, 700, 260}, MoECase{5, 1, 1, 8, 8}));

} // namespace
} // namespace tenon::test
