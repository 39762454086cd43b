// Windows of images as rows behind others, with a table added: by the library and by our tiles.
#include "backends/cuda_cases.h"
#include "layers/patch_embedding.h"

namespace tenon::test
{

namespace
{
class PatchEmbeddings : public CudaKernels
{
};

constexpr int64_t kFirstEarly{64};
constexpr int64_t kFirstLarge{128};
constexpr int64_t kAllLarge{4};

struct EmbeddingCase
{
    std::vector<int64_t> image;
    nvinfer1::Dims2 patch;
    int64_t leading;
    int64_t maps;
    bool isConstant{true};
};

void expectEmbeddings(EmbeddingCase const& of, DType from, DType type, std::vector<int64_t> const& tactics)
{
    SCOPED_TRACE(fmt::format("{} from {}, {} images", nameOf(type), nameOf(from), of.image[0]));
    int64_t const windows = of.image[2] / of.patch.d[0] * (of.image[3] / of.patch.d[1]);
    auto const term = [&](HostTensor tensor) {
        return of.isConstant ? weight(std::move(tensor)) : input(std::move(tensor));
    };
    std::vector<Operand> operands{input(randomTensor(of.image, -1.0, 1.0, from)),
        term(randomTensor({of.maps, of.image[1], of.patch.d[0], of.patch.d[1]}, -0.5, 0.5, type)),
        term(randomTensor({1, of.leading + windows, of.maps}, -2.0, 2.0, type))};
    std::vector<Offer> offers;
    for (int64_t const tactic : tactics)
    {
        Offer offer;
        offer.candidate = "patches";
        offer.inputs.assign(operands.size(), Layout::kLinear);
        offer.outputs = {Layout::kLinear};
        offer.tactic = tactic;
        offers.push_back(std::move(offer));
    }
    Tolerance const tolerance = type == DType::kHALF ? Tolerance{2e-2, 2e-3} : Tolerance{1.5e-1, 1.6e-2};
    expectOffers(makeLayer(PatchEmbedding{of.patch}), operands, offers, tolerance);
}

std::vector<int64_t> allLarge()
{
    std::vector<int64_t> tactics;
    for (int64_t i = 0; i < kAllLarge; ++i)
        tactics.push_back(kFirstLarge + i);
    return tactics;
}
} // namespace

TEST_F(PatchEmbeddings, byTheLibrary)
{
    expectEmbeddings({{2, 3, 32, 48}, {16, 16}, 1, 24}, DType::kFLOAT, DType::kHALF, {0, 7});
    expectEmbeddings({{1, 2, 9, 26}, {4, 8}, 0, 10}, DType::kBF16, DType::kBF16, {0}); // Columns that are in no window.
    expectEmbeddings({{3, 1, 8, 16}, {8, 8}, 3, 7, false}, DType::kHALF, DType::kHALF, {0});
}

//! Tiles of rows of several images, each with the whole table, of which the first rows stand alone.
TEST_F(PatchEmbeddings, byEarlyTiles)
{
    std::vector<int64_t> const some{kFirstEarly, kFirstEarly + 9, kFirstEarly + 12};
    expectEmbeddings({{5, 3, 32, 48}, {16, 16}, 1, 72}, DType::kFLOAT, DType::kHALF, some);
    expectEmbeddings({{1, 4, 64, 40}, {8, 8}, 2, 40}, DType::kBF16, DType::kBF16, some);
    expectEmbeddings({{20, 1, 16, 24}, {8, 8}, 0, 16}, DType::kHALF, DType::kHALF, {kFirstEarly + 3});
    expectEmbeddings({{3, 1, 8, 16}, {8, 8}, 3, 16, false}, DType::kHALF, DType::kHALF, {kFirstEarly});
}

//! Pieces of 16 rows that begin anywhere in the table, and have rows of it several times where it is short.
TEST_F(PatchEmbeddings, byLargeTiles)
{
    expectEmbeddings({{7, 3, 32, 96}, {16, 16}, 1, 136}, DType::kFLOAT, DType::kHALF, allLarge());
    expectEmbeddings({{33, 1, 16, 16}, {8, 8}, 1, 72}, DType::kHALF, DType::kHALF, {kFirstLarge, kFirstLarge + 2});
    expectEmbeddings({{1, 4, 96, 48}, {8, 8}, 1, 64}, DType::kBF16, DType::kBF16, {kFirstLarge + 3});
    expectEmbeddings({{9, 1, 8, 16}, {8, 8}, 3, 64, false}, DType::kHALF, DType::kHALF, {kFirstLarge});
}

} // namespace tenon::test
