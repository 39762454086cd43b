// Windows of an image as rows behind constant ones, with a table added: one copy, which has zeros in place of the rows
// that are no windows, and one product whose epilogue adds the table's rows to those of each image.
#include "layers/patch_embedding.h"
#include "backends/cuda/patch_rows.h"
#include "backends/cuda/wrapped_table.h"

namespace tenon::cuda
{

namespace
{
constexpr size_t kTable{PatchEmbedding::kTable};

StepProduct productOf(PatchEmbedding const& layer, int64_t channels, std::vector<int64_t> const& out)
{
    return {.shape = {.rows = out[0] * out[1],
                .columns = out[2],
                .depth = channels * layer.patch.d[0] * layer.patch.d[1],
                .isTurnedB = true,
                .extents = {},
                .aBatch = {},
                .bBatch = {}},
        .epilogue = {{{EpilogueKind::kAdd}}}};
}

class PatchEmbeddingKernel final : public PackableKernel
{
  public:
    using PackableKernel::PackableKernel;
    static Result<bool> isPacked(KernelSource const& source, LayerArgs const&)
    {
        return isTablePacked(source, kTable);
    }

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        PatchEmbedding const layer = TENON_TRY(fieldsOf<PatchEmbedding>(args()));
        TensorArg const& x = inputs[0];
        TensorArg const& out = outputs[0];
        for (TensorArg const* const each : {&x, &inputs[1], &inputs[kTable], &out})
            if (each->layout != Layout::kLinear)
                return badArgument("rows of patches are made of row-major tensors");
        PatchWindows windows{.height = layer.patch.d[0],
            .width = layer.patch.d[1],
            .down = x.extents[2] / layer.patch.d[0],
            .across = x.extents[3] / layer.patch.d[1]};
        windows.leading = out.extents[1] - windows.down * windows.across;
        auto rows = TENON_TRY(patchRows(device(), windows, x, out.dtype));
        if (rows == nullptr)
            return badArgument("rows of patches have 16 bits, and windows are {} elements wide", kPatchPiece);
        StepProduct const product = productOf(layer, x.extents[1], out.extents);
        PatchTerms const terms{.isFilterConstant = isConstant(1),
            .areOthersConstant = isConstant(kTable),
            .repeatedRows = out.extents[0] == 1 ? 0 : out.extents[1],
            .isWrapped = hasPacked()};
        TensorArg const matrix{out.dtype, Layout::kLinear, {product.shape.rows, product.shape.depth}};
        std::vector<TensorArg> const operands{matrix, inputs[1], TensorArg{.present = false}, inputs[kTable]};
        auto whole = TENON_TRY(patchProduct(device(), product, terms, operands, out, TENON_TRY(chosenTactic())));
        auto const bytes = static_cast<size_t>(tenon::bytesOf(out.dtype, volumeOf(matrix.extents)));
        return patchStep(std::move(rows), std::move(whole), bytes, {0, 1, -1, PatchEmbedding::kTable});
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfPatchEmbedding(Problem const& problem)
{
    constexpr char kName[]{"patches"};
    PatchEmbedding const& layer = problem.fields<PatchEmbedding>();
    DType const type = problem.output().dtype;
    if (layer.patch.d[1] % kPatchPiece != 0)
        return refuse(kName, fmt::format("takes windows as wide as a multiple of {}", kPatchPiece));
    if (type != DType::kHALF && type != DType::kBF16)
        return refuse(kName, "takes weights of 16 bits");
    int64_t const channels = problem.typicalExtents(problem.input(0))[1];
    StepProduct const product = productOf(layer, channels, problem.typicalExtents(problem.output()));
    return patchOffers(problem, product.shape, Layout::kLinear);
}

Result<KernelSpec> buildPatchEmbedding(Problem const& problem, Offer const& offer)
{
    std::vector<PackedWeight> packed;
    if (Constant const* const table = problem.constant(kTable); table != nullptr && table->count() > 0)
        packed.push_back(TENON_TRY(packTable(PatchEmbedding::kTable, *table)));
    return tacticSpec(problem, offer, "patch_embedding", std::move(packed));
}

constexpr Candidate kPatchEmbeddingCandidates[]{{.layer = PatchEmbedding::kName,
    .name = "patches",
    .offers = offersOfPatchEmbedding,
    .build = buildPatchEmbedding}};
constexpr CudaKernelEntry kPatchEmbeddingKernels[]{{"patch_embedding", &loadPackableKernel<PatchEmbeddingKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(PatchEmbedding, kPatchEmbeddingCandidates, kPatchEmbeddingKernels);
