// Norms of embeddings: rows of each length class, types of tables and indices, and indices that pick nothing.
#include "backends/cuda_cases.h"
#include "layers/embedding_norm.h"

namespace tenon::test
{

namespace
{
class EmbeddingNorms : public CudaKernels
{
};

constexpr int64_t kVocabulary{11};

//! Some of them count from the end, and some lie outside.
HostTensor indicesOf(std::vector<int64_t> extents, DType type, int64_t rows = kVocabulary)
{
    HostTensor indices{type, std::move(extents)};
    for (int64_t i = 0; i < indices.count(); ++i)
        indices.setInteger(i, i * 7 % (2 * rows + 4) - rows - 2);
    return indices;
}

Tolerance embeddingTolerance(DType type)
{
    return type == DType::kFLOAT ? Tolerance{1e-5, 1e-4}
        : type == DType::kHALF   ? Tolerance{2e-3, 2e-3}
                                 : Tolerance{1.6e-2, 1.6e-2};
}

std::vector<Operand> termsOfNorm(DType type, int64_t length, size_t rank, bool hasShift)
{
    std::vector<int64_t> extents(rank, 1);
    extents.back() = length;
    return {weight(randomTensor(extents, -2.0, 2.0, type)),
        hasShift ? weight(randomTensor(extents, -1.0, 1.0, type)) : absent()};
}

//! Words, types and positions.
void expectEntry(DType type, std::vector<int64_t> const& tokens, int64_t length, bool hasShift = true)
{
    SCOPED_TRACE(fmt::format("{} rows of {} {}", tokens[0] * tokens[1], length, nameOf(type)));
    std::vector<Operand> operands = termsOfNorm(type, length, 3, hasShift);
    operands.push_back(weight(randomTensor({kVocabulary, length}, -2.0, 2.0, type)));
    operands.push_back(input(indicesOf(tokens, DType::kINT64)));
    operands.push_back(weight(randomTensor({2, length}, -1.0, 1.0, type)));
    operands.push_back(input(indicesOf({1, tokens[1]}, DType::kINT32, 2)));
    operands.push_back(weight(randomTensor({1, tokens[1], length}, -1.0, 1.0, type)));
    operands.push_back(absent());
    expectKernels(EmbeddingNorm{}, operands, "rows", embeddingTolerance(type), Types::kFloatOnly);
}
} // namespace

TEST_F(EmbeddingNorms, ofEachLengthClass)
{
    for (int64_t const length : {1, 7, 20, 768, 771, 1024, 1032})
        expectEntry(DType::kHALF, {2, 5}, length);
    for (int64_t const length : {768, 4096, 8191, 8192})
        expectEntry(DType::kFLOAT, {1, 3}, length);
}

TEST_F(EmbeddingNorms, ofEachType)
{
    for (DType const type : {DType::kFLOAT, DType::kHALF, DType::kBF16})
    {
        expectEntry(type, {1, 6}, 64);
        expectEntry(type, {4, 150}, 40, false); // Several rows in a block, the last one not full.
    }
}

TEST_F(EmbeddingNorms, tablesOfOtherTypesAreRounded)
{
    std::vector<Operand> operands = termsOfNorm(DType::kHALF, 24, 4, true);
    operands.push_back(input(randomTensor({3, 1, 2, 24}, -1.0, 1.0, DType::kHALF)));
    operands.push_back(absent());
    operands.push_back(input(randomTensor({kVocabulary, 24}, -1.0, 1.0, DType::kFLOAT)));
    operands.push_back(weight(indicesOf({1, 5, 1}, DType::kINT32)));
    operands.push_back(weight(randomTensor({1, 1, 1, 24}, -1.0, 1.0, DType::kBF16)));
    expectKernels(EmbeddingNorm{1e-3F}, operands, "rows", embeddingTolerance(DType::kHALF), Types::kFloatOnly);
}

//! Rows whose mean is far from 0 beside their deviation; of one term.
TEST_F(EmbeddingNorms, largeMeans)
{
    std::vector<Operand> operands = termsOfNorm(DType::kFLOAT, 512, 2, true);
    operands.push_back(weight(randomTensor({kVocabulary, 512}, 999.0, 1001.0)));
    operands.push_back(input(indicesOf({9}, DType::kINT64)));
    expectKernels(EmbeddingNorm{}, operands, "rows", {2e-3, 1e-3}, Types::kFloatOnly);
}

} // namespace tenon::test
