// RowOrder: one lane sorts, all look where an unlike row begins.
#include "layers/row_order.h"

#include "backends/cpu/row_sort.h"
#include "backends/cpu/step_kernel.h"

namespace tenon::cpu
{

namespace
{
std::variant<std::vector<Offer>, Refusal> offersOfRowOrder(Problem const& problem)
{
    if (movableBytes(problem.input(0).dtype) == 0)
        return refuse("words", "elements are smaller than a byte");
    constexpr double kSort{60.0};
    auto const rows = static_cast<double>(problem.typicalExtents(problem.input(0)).front());
    return std::vector<Offer>{{.candidate = "words",
        .inputs = {Layout::kLinear},
        .outputs = {Layout::kLinear, Layout::kLinear},
        .cost = costOf(problem, rows * kSort, bytesOf(problem))}};
}

template <typename Bits, ElementOrder order>
Step rowOrderStep(SortedRows<Bits, order> const& form)
{
    constexpr int32_t kStages{2};
    constexpr int64_t kGrain{64};
    auto const run = [form](Call const& call, Lane const& lane) {
        auto const* x = static_cast<Bits const*>(call.inputs[0]);
        RowSortMemory const memory = RowSortMemory::at(call.scratch, form.rows);
        if (lane.stage == 0)
        {
            if (lane.index == 0)
                sortRows(form, x, memory);
            return;
        }
        auto* places = static_cast<int64_t*>(call.outputs[0]);
        auto* isNew = static_cast<uint8_t*>(call.outputs[1]);
        auto const [first, last] = lane.part(form.rows, kGrain);
        for (int64_t at = first; at < last; ++at)
        {
            int64_t const row = memory.rows[at].row;
            places[at] = row;
            isNew[at] = at == 0 || form.areUnlike(x + row * form.columns, x + memory.rows[at - 1].row * form.columns);
        }
    };
    return teamStep(run, RowSortMemory::bytes(form.rows), kStages);
}

template <typename Bits>
Step rowOrderStep(DType type, int64_t rows, int64_t columns)
{
    if (isFloating(type))
    {
        // The exponent of nothing but ones.
        int32_t const fraction = type == DType::kHALF ? 10 : type == DType::kBF16 ? 7 : type == DType::kFLOAT ? 23 : 52;
        constexpr auto kMagnitudes = static_cast<Bits>(std::numeric_limits<Bits>::max() >> 1);
        auto const infinite = static_cast<Bits>(kMagnitudes >> fraction << fraction);
        return rowOrderStep(SortedRows<Bits, ElementOrder::kFloating>{rows, columns, infinite});
    }
    if (type == DType::kUINT8 || type == DType::kBOOL)
        return rowOrderStep(SortedRows<Bits, ElementOrder::kUnsigned>{rows, columns});
    return rowOrderStep(SortedRows<Bits, ElementOrder::kSigned>{rows, columns});
}

Step stepOfRowOrder(StepOf<RowOrder> const& from)
{
    TensorArg const& x = from.inputs[0];
    if (!from.areAllIn(Layout::kLinear) || movableBytes(x.dtype) == 0)
        return badArgument("the kernel of RowOrder takes row-major elements of whole bytes");
    return withBits(
        x.dtype, [&]<typename Bits>(Bits) { return rowOrderStep<Bits>(x.dtype, x.extents[0], x.extents[1]); });
}

using RowOrderFile = StepFile<"row_order", "words", offersOfRowOrder, stepOfRowOrder>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(RowOrder, RowOrderFile::kCandidates, RowOrderFile::kKernels);
