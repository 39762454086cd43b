// RotaryEmbedding: rows turned one by one, in float.
#include "layers/rotary_embedding.h"

#include "backends/cpu/step_kernel.h"
#include "backends/cpu/storage_numbers.h"

#include <cstring>

namespace tenon::cpu
{

namespace
{
std::variant<std::vector<Offer>, Refusal> offersOfRotary(Problem const& problem)
{
    if (!kRealTypes.has(problem.output().dtype))
        return refuse("rows", "takes real numbers");
    auto const elements = static_cast<double>(volumeOf(problem.typicalExtents(problem.output())));
    return std::vector<Offer>{{.candidate = "rows",
        .inputs = std::vector<Layout>(problem.node->inputs.size(), Layout::kLinear),
        .outputs = {Layout::kLinear},
        .cost = costOf(problem, elements * 8.0, bytesOf(problem))}};
}

//! Rows of `columns` elements, heads · length of them per batch.
struct RotaryRows
{
    int64_t rows{0};
    int64_t heads{1};
    int64_t length{1};
    int64_t columns{0};
    int64_t pairs{0};
    int64_t positions{0}; //!< Rows of the caches, where positions are given.
    bool isInterleaved{false};
    bool isIndexed{false};
    bool isShared{false}; //!< All samples turn by the same.
    bool isWide{false};
};

template <typename T>
class RotaryStep final : public HostPrepared
{
  public:
    explicit RotaryStep(RotaryRows rows)
        : mRows{rows}
    {
    }
    bool isCollective() const noexcept override
    {
        return true;
    }
    Result<Done> run(Call const& call, Lane const& lane) const override
    {
        auto const [first, last] = lane.part(mRows.rows);
        auto const* x = static_cast<T const*>(call.inputs[0]);
        auto const* cosines = static_cast<T const*>(call.inputs[1]);
        auto const* sines = static_cast<T const*>(call.inputs[2]);
        auto* out = static_cast<T*>(call.outputs[0]);
        for (int64_t row = first; row < last; ++row)
        {
            int64_t const batch = mRows.isShared ? 0 : row / mRows.length / mRows.heads;
            int64_t at = batch * mRows.length + row % mRows.length;
            if (mRows.isIndexed)
                at = mRows.isWide ? static_cast<int64_t const*>(call.inputs[3])[at]
                                  : static_cast<int32_t const*>(call.inputs[3])[at];
            if (mRows.isIndexed && (at < 0 || at >= mRows.positions))
                return badArgument("position {}, the caches have {}", at, mRows.positions);
            turn(x + row * mRows.columns, cosines + at * mRows.pairs, sines + at * mRows.pairs,
                out + row * mRows.columns);
        }
        return Done{};
    }

  private:
    static float floatOf(T element) noexcept
    {
        if constexpr (kIsFloat<T>)
            return element;
        else
            return static_cast<float>(numberOf(element));
    }
    static T stored(float number) noexcept
    {
        if constexpr (kIsFloat<T>)
            return number;
        else
            return storedAs<T>(static_cast<double>(number));
    }

    void turn(T const* __restrict x, T const* __restrict cosines, T const* __restrict sines, T* __restrict out) const
    {
        int64_t const step = mRows.isInterleaved ? 2 : 1;
        int64_t const other = mRows.isInterleaved ? 1 : mRows.pairs;
        for (int64_t pair = 0; pair < mRows.pairs; ++pair)
        {
            float const a = floatOf(x[pair * step]);
            float const b = floatOf(x[pair * step + other]);
            float const cosine = floatOf(cosines[pair]);
            float const sine = floatOf(sines[pair]);
            out[pair * step] = stored(a * cosine - b * sine);
            out[pair * step + other] = stored(a * sine + b * cosine);
        }
        int64_t const turned = 2 * mRows.pairs;
        if (turned < mRows.columns)
            std::memcpy(out + turned, x + turned, static_cast<size_t>(mRows.columns - turned) * sizeof(T));
    }

    RotaryRows mRows;
};

Step stepOfRotary(StepOf<RotaryEmbedding> const& from)
{
    for (TensorArg const& each : from.inputs)
        if (each.present && each.layout != Layout::kLinear)
            return badArgument("the kernel of RotaryEmbedding takes row-major operands");
    if (!isReal(from.inputs, 0, Layout::kLinear) || !isReal(from.outputs, 0, Layout::kLinear))
        return badArgument("the kernel of RotaryEmbedding takes real numbers");
    std::vector<int64_t> const& x = from.inputs[0].extents;
    RotaryRows rows{.rows = x[0] * x[1] * x[2],
        .heads = x[1],
        .length = x[2],
        .columns = x[3],
        .pairs = from.inputs[1].extents.back(),
        .positions = from.inputs[1].extents[0],
        .isInterleaved = from.layer().interleaved,
        .isIndexed = isPresent(from.inputs, 3)};
    rows.isShared = !rows.isIndexed && rows.positions == 1;
    rows.isWide = rows.isIndexed && from.inputs[3].dtype == DType::kINT64;
    return withStorage(from.inputs[0].dtype,
        [&]<typename T>(T) -> std::shared_ptr<Prepared const> { return std::make_shared<RotaryStep<T> const>(rows); });
}

using RotaryFile = StepFile<"rotary_embedding", "rows", offersOfRotary, stepOfRotary>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(RotaryEmbedding, RotaryFile::kCandidates, RotaryFile::kKernels);
