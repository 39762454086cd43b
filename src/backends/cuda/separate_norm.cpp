// SeparateNorm: the kernels one after the other.
#include "backends/cuda/separate_norm.h"

#include <algorithm>
#include <array>

namespace tenon::cuda
{

namespace
{
constexpr size_t kGrainOfScratch{256};

class SeparateSteps final : public CudaPrepared
{
  public:
    explicit SeparateSteps(SeparateKernels kernels)
        : mKernels{std::move(kernels)},
          mBytes{(mKernels.normalizedBytes + kGrainOfScratch - 1) / kGrainOfScratch * kGrainOfScratch}
    {
    }
    size_t scratchBytes() const noexcept override
    {
        return mBytes + mKernels.product->scratchBytes();
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        Call const& call = at.call;
        std::array<void const*, kSeparateOperands> operands{};
        std::copy_n(call.inputs, mKernels.operands, operands.begin());
        if (mKernels.norm != nullptr)
        {
            std::array<void const*, kSeparateOperands> read{};
            std::ranges::transform(mKernels.ofNorm, read.begin(), [&](size_t input) { return call.inputs[input]; });
            void* normalized = call.scratch;
            Call const norm{.inputs = read.data(), .outputs = &normalized};
            TENON_TRY(cudaPrepared(*mKernels.norm).launch(at.with(norm)));
            operands[mKernels.ofNorm.front()] = normalized;
        }
        Call const product{
            .inputs = operands.data(), .outputs = call.outputs, .scratch = static_cast<char*>(call.scratch) + mBytes};
        TENON_TRY(cudaPrepared(*mKernels.product).launch(at.with(product)));
        return mKernels.moments == nullptr ? Result<Done>{Done{}} : cudaPrepared(*mKernels.moments).launch(at);
    }

  private:
    SeparateKernels mKernels;
    size_t mBytes;
};
} // namespace

std::shared_ptr<Prepared const> separateSteps(SeparateKernels kernels)
{
    return std::make_shared<SeparateSteps>(std::move(kernels));
}

std::variant<std::vector<Offer>, Refusal> offersAroundNorms(
    Problem const& problem, std::string_view candidate, NormOffers const& of)
{
    if (!kRealTypes.has(problem.output().dtype))
        return refuse(candidate, fmt::format("has no kernel for {}", nameOf(problem.output().dtype)));
    Result<ProductShape> const product = typicalProduct(problem, of.product);
    if (!product)
        return refuse(candidate, product.error().message);
    LtShape const shape = ltShapeOf(*product);
    ProductShape const& matrices = shape.matrices;
    bool const isForTiles =
        engineRefusal(problem).empty() && engineRefusal(shape).empty() && problem.constant(1) != nullptr;
    auto const products = static_cast<double>(matrices.rows * matrices.columns) * static_cast<double>(matrices.depth);
    constexpr double kFaster{50.0}; // Than a tenth of the plain peak.
    double const alone = costOf(problem, products / kFaster, bytesOf(problem));
    std::vector<Offer> offers;
    auto const add = [&](int32_t tactic, double cost) {
        Offer offer;
        offer.inputs.assign(problem.node->inputs.size(), Layout::kLinear);
        offer.outputs.assign(of.outputs, Layout::kLinear);
        offer.cost = cost + 0.01 * tactic; // Unless timed.
        offer.tactic = tactic;
        offers.push_back(std::move(offer));
    };
    for (int32_t const tactic : isForTiles ? of.tiles(matrices) : std::vector<int32_t>{})
        add(tactic, alone);
    for (int32_t i = 0; i < kLtTactics; ++i)
        add(of.firstOther + i, alone + of.others * costOf(problem, 0.0, bytesOf(problem)));
    return offers;
}

} // namespace tenon::cuda
