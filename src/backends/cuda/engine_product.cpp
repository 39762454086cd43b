// EngineProduct: descriptions of matrices, and what of a layer goes into a kernel that takes them.
#include "backends/cuda/engine_product.h"

#include <algorithm>
#include <array>

namespace tenon::cuda
{

Result<Done> describeMatrix(CudaCall const& at, unsigned long long (&to)[16], void const* address, TensorMapType type,
    EngineMatrix const& matrix)
{
    std::array const extents{static_cast<uint64_t>(matrix.columns), static_cast<uint64_t>(matrix.rows)};
    uint64_t const stride = extents[0] * static_cast<uint64_t>(matrix.row.elementBytes);
    std::array const box{static_cast<unsigned>(matrix.row.elements()), static_cast<unsigned>(matrix.boxRows)};
    std::array const steps{1U, 1U};
    TensorMap map{};
    Code const code =
        at.api.cuTensorMapEncodeTiled(&map, type, 2, const_cast<void*>(address), extents.data(), &stride, box.data(),
            steps.data(), kTensorMapNotInterleaved, matrix.row.swizzle(), kTensorMapPromotion256, kTensorMapZeros);
    if (code != kSuccess)
        return at.device.noted(code, "cuTensorMapEncodeTiled");
    std::ranges::copy(map.words, to);
    return Done{};
}

Epilogue stepsOfKernel(Epilogue const& whole, std::span<TensorArg const> inputs, TensorArg const& out)
{
    Epilogue own;
    for (EpilogueStep const& step : whole.steps)
    {
        bool const takesOne = step.kind == EpilogueKind::kAdd || step.kind == EpilogueKind::kMultiply;
        bool const isLikeOut = inputs.size() > kFirstExtra && inputs[kFirstExtra].present
            && inputs[kFirstExtra].extents == out.extents && inputs[kFirstExtra].layout == out.layout
            && inputs[kFirstExtra].dtype == out.dtype;
        if (takesOne && (own.extraInputs() > 0 || !isLikeOut))
            break;
        own.steps.push_back(step);
    }
    return own;
}

bool isForEngine(CudaModel const& model, LtShape const& shape, DType type)
{
    constexpr int64_t kLeastTile{64};
    ProductShape const& matrices = shape.matrices;
    int64_t const largest = std::max({matrices.rows, matrices.columns, matrices.depth,
        blocksOf(matrices.rows, kLeastTile) * blocksOf(matrices.columns, kLeastTile)});
    return model.major == kEngineMajor && (type == DType::kHALF || type == DType::kBF16) && shape.batch == 1
        && shape.calls.size() == 1 && !matrices.isTurnedA && matrices.depth > 0 && matrices.depth % kEngineGrain == 0
        && matrices.columns % kEngineGrain == 0 && isSmall(largest);
}

} // namespace tenon::cuda
