// Layers whose meaning is a pointwise expression: one kernel per expression and types, whatever the extents. Several
// elements per access where all operands lie so.
#include "backends/cuda/pointwise.h"
#include "backends/cuda/kernel_text.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
constexpr int64_t kWidest{16}; //!< Bytes of one access.

TENON_DEVICE_STRUCT(PointwiseOperand, void const* data; long long strides[8]; int step;);
TENON_DEVICE_STRUCT(PointwiseParams, unsigned const* stop; void* out; unsigned long long chunks;
                    unsigned long long extents[8]; int axes; unsigned isSmall; PointwiseOperand in[12];);

struct PointwisePlan
{
    PointwiseParams params{};
    std::vector<int64_t> widths; //!< Bytes that each operand is read by at once, 0 where it is not there or repeats.
    int64_t outWidth{0};
    int64_t items{0};
};

class PointwiseStep final : public CudaPrepared
{
  public:
    PointwiseStep(PointwisePlan wide, PointwisePlan narrow, void* wideCode, void* narrowCode)
        : mWide{std::move(wide)},
          mNarrow{std::move(narrow)},
          mWideCode{wideCode},
          mNarrowCode{narrowCode}
    {
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        bool const isWide = mWideCode != nullptr && isAligned(at.call);
        PointwisePlan const& plan = isWide ? mWide : mNarrow;
        PointwiseParams params = plan.params;
        for (size_t i = 0; i < plan.widths.size(); ++i)
            params.in[i].data = at.call.inputs[i];
        params.out = at.call.outputs[0];
        return launchKernel(at, isWide ? mWideCode : mNarrowCode, gridFor(at.device, plan.items), params);
    }

  private:
    //! Users may bring memory that is aligned to its elements alone.
    bool isAligned(Call const& call) const
    {
        bool aligned = reinterpret_cast<uintptr_t>(call.outputs[0]) % static_cast<uintptr_t>(mWide.outWidth) == 0;
        for (size_t i = 0; i < mWide.widths.size(); ++i)
            if (int64_t const width = mWide.widths[i]; width > 0)
                aligned = aligned && reinterpret_cast<uintptr_t>(call.inputs[i]) % static_cast<uintptr_t>(width) == 0;
        return aligned;
    }

    PointwisePlan mWide;
    PointwisePlan mNarrow;
    void* mWideCode;
    void* mNarrowCode;
};

//! The kernel at one width.
std::string pointwiseKernel(std::string const& name, int64_t width, std::vector<std::string> const& types,
    std::vector<TapeKind> const& kinds, std::vector<bool> const& present, std::string const& outType)
{
    std::string text = fmt::format("TENON_KERNEL({}, PointwiseParams)\n{{\n", name);
    text += "    for (u64 item = firstItem(); item < p.chunks; item += itemStride())\n    {\n"
            "        u64 left = item;\n";
    for (size_t i = 0; i < types.size(); ++i)
        if (present[i])
            text += fmt::format("        i64 at{} = 0;\n", i);
    text += "        for (int axis = p.axes - 1; axis >= 0; --axis)\n        {\n"
            "            i64 const x = (i64)takeAxis(left, p.extents[axis], p.isSmall);\n";
    for (size_t i = 0; i < types.size(); ++i)
        if (present[i])
            text += fmt::format("            at{0} += x * p.in[{0}].strides[axis];\n", i);
    text += "        }\n";
    for (size_t i = 0; i < types.size(); ++i)
        if (present[i])
            text += fmt::format("        Pack<{1}, {2}> x{0};\n"
                                "        if ({2} > 1 && p.in[{0}].step == 1)\n"
                                "            x{0} = *(Pack<{1}, {2}> const*)(({1} const*)p.in[{0}].data + at{0});\n"
                                "        else\n            for (int k = 0; k < {2}; ++k)\n"
                                "                x{0}.v[k] = (({1} const*)p.in[{0}].data)[at{0}];\n",
                i, types[i], width);
    std::string arguments;
    for (size_t i = 0; i < types.size(); ++i)
    {
        arguments += i == 0 ? "" : ", ";
        arguments += present[i] ? fmt::format("widen(x{}.v[k])", i) : fmt::format("({})0", wordOf(kinds[i]));
    }
    text += fmt::format("        Pack<{0}, {1}> y;\n        for (int k = 0; k < {1}; ++k)\n"
                        "            put(y.v[k], body({2}));\n"
                        "        *(Pack<{0}, {1}>*)(({0}*)p.out + item * {1}) = y;\n    }}\n}}\n",
        outType, width, arguments);
    return text;
}

//! The text at one element and at `width` of them at a time.
Result<std::string> pointwiseText(
    Expr const& body, std::span<TensorArg const> inputs, TensorArg const& out, int64_t width)
{
    std::vector<TensorType> owned;
    for (TensorArg const& input : inputs)
        owned.push_back({input.dtype, shapeOf(input.extents)});
    std::vector<TensorType const*> pointers;
    std::vector<std::string> types;
    std::vector<TapeKind> kinds;
    std::vector<bool> present;
    std::vector<DType> dtypes{out.dtype};
    for (size_t i = 0; i < inputs.size(); ++i)
    {
        if (inputs[i].present)
            dtypes.push_back(inputs[i].dtype);
        pointers.push_back(inputs[i].present ? &owned[i] : nullptr);
        types.push_back(inputs[i].present ? TENON_TRY(storageOf(inputs[i].dtype)) : std::string{"float"});
        kinds.push_back(inputs[i].present ? TENON_TRY(tapeKindOf(inputs[i].dtype)) : TapeKind::kReal);
        present.push_back(inputs[i].present);
    }
    Tape const tape = TENON_TRY(makeTape(body, pointers, true));
    std::string const outType = TENON_TRY(storageOf(out.dtype));
    std::string own = functionsFor(dtypes) + kPointwiseOperandText + kPointwiseParamsText;
    own += TENON_TRY(printFunction("body", tape, kinds));
    own += pointwiseKernel("narrow", 1, types, kinds, present, outType);
    if (width > 1)
        own += pointwiseKernel("wide", width, types, kinds, present, outType);
    return wholeText(own);
}

//! No items: the operands cannot be read so many elements at a time.
Result<PointwisePlan> arrange(std::span<TensorArg const> inputs, TensorArg const& out, int64_t width)
{
    std::vector<size_t> const axes = memoryAxes(out.layout, out.extents.size());
    std::vector<int64_t> extents;
    for (size_t const axis : axes)
        extents.push_back(out.extents[axis]);
    std::vector<std::vector<int64_t>> strides;
    for (TensorArg const& input : inputs)
    {
        if (input.present && blockOf(input.layout) != 1)
            return badArgument("an input is {}", nameOf(input.layout));
        strides.emplace_back(axes.size(), 0);
        if (!input.present || input.extents.size() != out.extents.size())
            continue;
        std::vector<int64_t> const own = stridesIn(input.layout, input.extents);
        for (size_t i = 0; i < axes.size(); ++i)
            strides.back()[i] = input.extents[axes[i]] == 1 ? 0 : own[axes[i]];
    }
    mergeAxes(extents, strides);
    if (extents.size() > kMaxAxes)
        return badArgument("its operands broadcast along {} axes", extents.size());
    if (extents.back() % width != 0)
        return PointwisePlan{};
    PointwisePlan plan;
    plan.outWidth = width * movableBytes(out.dtype);
    plan.items = volumeOf(out.extents) / width;
    plan.params.chunks = static_cast<uint64_t>(plan.items);
    plan.params.isSmall = isSmall(plan.items) ? 1 : 0;
    plan.params.axes = static_cast<int>(extents.size());
    extents.back() /= width;
    std::ranges::copy(extents, plan.params.extents);
    for (size_t i = 0; i < inputs.size(); ++i)
    {
        PointwiseOperand& operand = plan.params.in[i];
        operand.step = strides[i].back() == 1 ? 1 : 0;
        bool const isEven =
            std::all_of(strides[i].begin(), strides[i].end() - 1, [&](int64_t stride) { return stride % width == 0; });
        if (width > 1 && (strides[i].back() > 1 || (operand.step == 1 && !isEven)))
            return PointwisePlan{};
        strides[i].back() *= width;
        std::ranges::copy(strides[i], operand.strides);
        plan.widths.push_back(inputs[i].present && operand.step == 1 ? width * movableBytes(inputs[i].dtype) : 0);
    }
    return plan;
}

} // namespace

Result<std::shared_ptr<Prepared const>> pointwiseStep(
    CudaDevice const& device, Expr const& body, std::span<TensorArg const> inputs, TensorArg const& out)
{
    if (blockOf(out.layout) != 1 || inputs.size() > kMaxOperands)
        return badArgument("its output is {}, or it has {} operands", nameOf(out.layout), inputs.size());
    int64_t width = kWidest / movableBytes(out.dtype);
    for (TensorArg const& input : inputs)
        if (input.present)
            width = std::min<int64_t>(width, kWidest / movableBytes(input.dtype));
    std::string const source = TENON_TRY(pointwiseText(body, inputs, out, width));
    PointwisePlan narrow = TENON_TRY(arrange(inputs, out, 1));
    PointwisePlan wide = width > 1 ? TENON_TRY(arrange(inputs, out, width)) : PointwisePlan{};
    Module const& module = *TENON_TRY(moduleOf(device, source));
    void* const narrowCode = TENON_TRY(module.function("narrow"));
    void* const wideCode = wide.items > 0 ? TENON_TRY(module.function("wide")) : nullptr;
    return std::shared_ptr<Prepared const>{
        std::make_shared<PointwiseStep>(std::move(wide), std::move(narrow), wideCode, narrowCode)};
}

namespace
{
class PointwiseKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        std::optional<Expr> const body = layer().body(static_cast<int32_t>(inputs.size()));
        if (!body)
            return badArgument("layer kind {} is no expression", layer().name());
        return pointwiseStep(device(), *body, inputs, outputs[0]);
    }
};

std::variant<std::vector<Offer>, Refusal> offerPointwise(Problem const& problem)
{
    size_t const count = problem.node->inputs.size();
    std::optional<Expr> const body = problem.layer().body(static_cast<int32_t>(count));
    if (!body || count > kMaxOperands)
        return refuse("pointwise", body ? fmt::format("{} operands", count) : "no expression");
    std::vector<TensorType const*> types;
    for (size_t i = 0; i < count; ++i)
        types.push_back(problem.hasInput(i) ? &problem.input(i) : nullptr);
    Result<Tape> const tape = makeTape(*body, types, true);
    if (!tape)
        return refuse("pointwise", tape.error().message);
    if (problem.output().rank() > static_cast<int32_t>(kMaxAxes))
        return refuse("pointwise", fmt::format("rank {}", problem.output().rank()));
    auto const elements = static_cast<double>(volumeOf(problem.typicalExtents(problem.output())));
    std::vector<Offer> offers;
    for (Layout const layout : plainLayouts(problem.output().rank()))
    {
        Offer offer;
        for (size_t i = 0; i < count; ++i)
            offer.inputs.push_back(problem.hasInput(i) && problem.input(i).rank() >= 3 ? layout : Layout::kLinear);
        offer.outputs = {layout};
        offer.cost = costOf(problem, elements * 8.0 * static_cast<double>(tape->steps.size()), bytesOf(problem));
        for (size_t i = 0; i < count; ++i)
            if (problem.hasInput(i) && problem.input(i) == problem.output() && problem.constant(i) == nullptr)
                offer.inPlace.emplace_back(0, static_cast<int32_t>(i));
        offers.push_back(std::move(offer));
    }
    return offers;
}

Result<KernelSpec> buildPointwise(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "pointwise", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate pointwiseRow(std::string_view layer)
{
    return {.layer = layer, .name = "pointwise", .offers = offerPointwise, .build = buildPointwise};
}

constexpr Candidate kPointwiseCandidates[]{pointwiseRow("Pointwise"), pointwiseRow("Activation"), pointwiseRow("Unary"),
    pointwiseRow("ElementWise"), pointwiseRow("Select"), pointwiseRow("Cast"), pointwiseRow("Scale"),
    pointwiseRow("ParametricReLU"), pointwiseRow("Identity")};
constexpr CudaKernelEntry kPointwiseKernels[]{{"pointwise", &loadLayerKernel<PointwiseKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(Pointwise, kPointwiseCandidates, kPointwiseKernels);
