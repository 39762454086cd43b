// Int8Epilogue: the epilogue of an int8 product arranged for its kernels.
#pragma once

#include "backends/cpu/int8_gemm.h"
#include "backends/cpu/layer_kernel.h"
#include "device/kernel.h"
#include "layers/quantized_product.h"

namespace tenon::cpu
{

//! What a product ends with: a scale, 0 for real numbers, and a zero point.
struct Int8Result
{
    float scale;
    int32_t zeroPoint;
};
template <typename L>
Int8Result resultOf(L const& layer) noexcept
{
    return {layer.outputScale, layer.outputZero};
}

//! What an input's zero point adds to sums that were taken of the numbers as they are; `shift`: as Int8Gemm has it.
inline double zeroSum(int32_t zeroPoint, int32_t shift) noexcept
{
    constexpr double kShifted{128.0};
    return static_cast<double>(zeroPoint) * (static_cast<double>(shift) / kShifted);
}

//! Numbers per output channel that sums are made real with.
struct Int8Scaling
{
    std::vector<float> factors;
    //! The bias in terms of the factors, with what zero points add; empty: it is none, or cannot be said so.
    std::vector<float> offsets;
    std::vector<float> biases; //!< A known bias that cannot be an offset.
};

class Int8Epilogue
{
  public:
    //! Extra operands lie as the output does, whose rows have `columns` elements.
    static Result<Int8Epilogue> make(Epilogue const& epilogue, Int8Result result, LayerKernel const& kernel,
        std::span<TensorArg const> inputs, TensorArg const& output, int64_t columns);
    //! `factors` for what this epilogue expects; a constant bias becomes offsets, and is not read again. `zeroSums` are
    //! to be added to the sums, none or one per factor.
    Result<Int8Scaling> scalingOf(
        LayerKernel const& kernel, std::vector<float> factors, std::vector<double> const& zeroSums);
    //! From row `row` and column `column` of the output on.
    Int8Finish bind(Call const& call, Int8Scaling const& scaling, int64_t row, int64_t column) const noexcept;

  private:
    void divideSegments(float outputScale, bool isBiasKnown);

    std::array<Int8Step, kMaxInt8Steps> mSteps;
    std::array<size_t, kMaxInt8Steps> mInputs{};
    int64_t mStepCount{0};
    float mDivisor{1.0F}; //!< Of the first factors: the scale that the sums are rounded to first.
    float mInverse{0.0F};
    int32_t mZeroPoint{0};
    int64_t mColumns{0};
    bool mHasBias{false};
    bool mReadsReals{false}; //!< An operand of a step.
};

//! Why no kernel can serve an epilogue.
std::optional<std::string> whyNoEpilogue(Problem const& problem, Epilogue const& epilogue);
//! (output 0, input i) where an extra operand may become the output: each element is read before it is written.
std::vector<std::pair<int32_t, int32_t>> int8InPlaceOf(Problem const& problem, Epilogue const& epilogue);
//! Estimated microseconds of so many products of int8 numbers, with the bytes of the node.
double int8CostOf(Problem const& problem, double multiplications);

} // namespace tenon::cpu
