// Norms of embeddings: rows picked from tables, their sum and its layer norm in one kernel, which holds a row in the
// registers of a warp or a few: all loads of a row are on their way at once, and its result is written once.
#include "layers/embedding_norm.h"
#include "backends/cuda/kernel_text.h"
#include "backends/cuda/layer_kernel.h"

#include <algorithm>
#include <array>

namespace tenon::cuda
{

namespace
{
constexpr size_t kEmbeddingTerms{4};
constexpr int64_t kEmbeddingPack{16};

TENON_DEVICE_STRUCT(EmbeddingTerm, void const* table; void const* indices; long long rows; long long strides[8];);
TENON_DEVICE_STRUCT(EmbeddingParams, unsigned const* stop; unsigned long long rows; unsigned long long extents[8];
                    float epsilon; unsigned isSmall; void const* scale; void const* shift; void* out;
                    EmbeddingTerm terms[4];);

//! How a row is shared out: each of its threads has so many packs of so many elements.
struct EmbeddingShares
{
    int64_t width{1};
    int64_t packs{1};
    int64_t threads{32};
    int64_t together{1}; //!< Rows of a block, which are a warp's each.
};

//! None: registers do not hold such a row.
std::optional<EmbeddingShares> embeddingShares(int64_t length, int64_t width, int64_t rows)
{
    constexpr int64_t kWarp{32};
    constexpr int64_t kWarpPacks{4};       //!< A warp alone meets no barrier.
    constexpr int64_t kRowsForGroups{512}; //!< From here on all multiprocessors have blocks of several.
    int64_t const packs = (length + width - 1) / width;
    if (packs <= kWarp * kWarpPacks)
        return EmbeddingShares{width, (packs + kWarp - 1) / kWarp, kWarp, rows >= kRowsForGroups ? 4 : 1};
    constexpr std::pair<int64_t, int64_t> kForms[]{{1, 256}, {2, 256}, {4, 256}, {4, 1024}, {8, 1024}};
    for (auto const& [each, most] : kForms)
        if (int64_t const threads = (packs + each - 1) / each; threads <= most)
            return EmbeddingShares{width, each, (threads + kWarp - 1) / kWarp * kWarp, 1};
    return std::nullopt;
}

//! What the text of a kernel follows from.
struct EmbeddingForm
{
    struct Term
    {
        std::string type;
        std::string index; //!< Empty: it has rows of its own.
    };
    std::string type;
    int64_t length{0}; //!< Of a row.
    std::vector<Term> terms;
    bool hasShift{false};
    bool areTermsConstant{false}; //!< Scale and shift: no kernel writes them.
    int axes{1};                  //!< That rows are counted over.
};

constexpr char kPickedRow[]{R"(
//! -1: out of bounds.
static __device__ __forceinline__ i64 pickedRow(i64 index, i64 rows)
{
    i64 const at = index < 0 ? index + rows : index;
    return at >= 0 && at < rows ? at : -1;
}
)"};

//! The text of a kernel for one way of sharing rows out.
class EmbeddingText
{
  public:
    EmbeddingText(EmbeddingForm const& form, EmbeddingShares const& shares)
        : mForm{form},
          mShares{shares}
    {
    }
    std::string kernel(std::string const& name) const
    {
        std::string own = fmt::format("TENON_EARLY_KERNEL(__launch_bounds__({}), {}, EmbeddingParams)\n{{\n",
            mShares.threads * mShares.together, name);
        own += fmt::format("    unsigned const thread = threadIdx.x % {0}u;\n"
                           "    u64 const step = (u64)gridDim.x * {1}u;\n"
                           "    float const share = 1.0f / {5}.0f;\n"
                           "    Pack<{2}, {3}> scale[{4}] = {{}};\n",
            mShares.threads, mShares.together, mForm.type, mShares.width, mShares.packs, mForm.length);
        if (mForm.hasShift)
            own += fmt::format("    Pack<{}, {}> shift[{}] = {{}};\n", mForm.type, mShares.width, mShares.packs);
        // Constants are on their way while the kernels in front end.
        own += mForm.areTermsConstant ? terms() + "    awaitFormer();\n" : "    awaitFormer();\n" + terms();
        own += fmt::format("    for (u64 row = (u64)blockIdx.x * {}u + threadIdx.x / {}u; row < p.rows; row += step)\n"
                           "    {{\n",
            mShares.together, mShares.threads);
        return own + rows() + sums() + moments() + results() + "    }\n}\n";
    }

  private:
    //! Over packs, of those of the row alone.
    std::string eachPack(std::string const& indent, std::string const& body) const
    {
        std::string own = fmt::format("#pragma unroll\n{0}for (int c = 0; c < {1}; ++c)\n{0}{{\n"
                                      "{0}    unsigned const at = (c * {2}u + thread) * {3}u;\n",
            indent, mShares.packs, mShares.threads, mShares.width);
        bool const isFull = mShares.packs * mShares.threads * mShares.width == mForm.length;
        own += isFull ? "" : fmt::format("{}    if (at < {}u)\n", indent, mForm.length);
        return own + fmt::format("{0}    {{\n{1}{0}    }}\n{0}}}\n", indent, body);
    }
    std::string eachElement(std::string const& body) const
    {
        return fmt::format("#pragma unroll\n                for (int k = 0; k < {}; ++k)\n{}", mShares.width, body);
    }
    std::string load(std::string const& to, std::string const& type, std::string const& from) const
    {
        return fmt::format(
            "                {0}[c] = *(Pack<{1}, {2}> const*)(({1} const*){3});\n", to, type, mShares.width, from);
    }
    std::string terms() const
    {
        return eachPack("    ",
            load("scale", mForm.type, "p.scale + at")
                + (mForm.hasShift ? load("shift", mForm.type, "p.shift + at") : ""));
    }
    //! Where the row's terms lie, and their packs.
    std::string rows() const
    {
        std::string own = "        u64 rest = row;\n";
        std::string steps;
        std::string picks;
        std::string packs;
        std::string loads;
        for (size_t n = 0; n < mForm.terms.size(); ++n)
        {
            EmbeddingForm::Term const& term = mForm.terms[n];
            own += fmt::format("        i64 row{} = 0;\n", n);
            steps += fmt::format("            row{0} += x * p.terms[{0}].strides[axis];\n", n);
            packs +=
                fmt::format("        Pack<{0}, {1}> x{2}[{3}] = {{}};\n", term.type, mShares.width, n, mShares.packs);
            bool const isPicked = !term.index.empty();
            if (isPicked)
                picks += fmt::format("        row{0} = pickedRow((i64)(({1} const*)p.terms[{0}].indices)[row{0}],"
                                     " p.terms[{0}].rows);\n",
                    n, term.index);
            loads += isPicked ? fmt::format("                if (row{} >= 0)\n    ", n) : "";
            loads += load(fmt::format("x{}", n), term.type,
                fmt::format("p.terms[{0}].table + row{0} * {1} + at", n, mForm.length));
        }
        own += fmt::format("#pragma unroll\n        for (int axis = {}; axis >= 0; --axis)\n        {{\n"
                           "            i64 const x = (i64)(axis == 0 ? rest : takeAxis(rest, p.extents[axis],"
                           " p.isSmall));\n",
            mForm.axes - 1);
        return own + steps + "        }\n" + picks + packs + eachPack("        ", loads);
    }
    //! In float32, not rounded between terms. Behind the row's end they are 0.
    std::string sums() const
    {
        std::string sum;
        for (size_t n = 0; n < mForm.terms.size(); ++n)
        {
            bool const isOther = mForm.terms[n].type != mForm.type;
            std::string const own = fmt::format("widen(x{}[c].v[k])", n);
            sum += (n == 0 ? "" : " + ") + (isOther ? fmt::format("roundAs<{}>({})", mForm.type, own) : own);
        }
        return fmt::format("        float v[{}][{}] = {{}};\n", mShares.packs, mShares.width)
            + eachPack("        ", eachElement("                    v[c][k] = " + sum + ";\n"));
    }
    //! The mean, then the mean square of what is off it. Two parts beside each other, as one sum would wait for itself.
    std::string moments() const
    {
        char const* const join = mShares.threads == 32 ? "warpJoin" : "blockJoin";
        std::string const add = "                    parts[k % 2] += ";
        return "        float parts[2] = {};\n" + eachPack("        ", eachElement(add + "v[c][k];\n"))
            + fmt::format("        float const mean = {}<JoinSum>(parts[0] + parts[1]) * share;\n", join)
            + "        parts[0] = parts[1] = 0.0f;\n"
            + eachPack("        ", eachElement(add + "(v[c][k] - mean) * (v[c][k] - mean);\n"))
            + fmt::format("        float const factor = 1.0f / sqrtf({}<JoinSum>(parts[0] + parts[1]) * share"
                          " + p.epsilon);\n",
                join);
    }
    std::string results() const
    {
        std::string const value = std::string{"(v[c][k] - mean) * factor * widen(scale[c].v[k])"}
            + (mForm.hasShift ? " + widen(shift[c].v[k])" : "");
        std::string const pack = fmt::format("Pack<{}, {}>", mForm.type, mShares.width);
        return eachPack("        ",
            fmt::format("                {0} y;\n{1}                *({0}*)(({2}*)p.out + row * {3} + at) = y;\n", pack,
                eachElement("                    put(y.v[k], " + value + ");\n"), mForm.type, mForm.length));
    }

    EmbeddingForm const& mForm;
    EmbeddingShares const& mShares;
};

class EmbeddingStep final : public CudaPrepared
{
  public:
    struct Form
    {
        EmbeddingShares shares;
        void* code{nullptr};
    };
    EmbeddingStep(EmbeddingParams params, size_t operands, Form plain, std::optional<Form> wide, uintptr_t alignment)
        : mParams{params},
          mOperands{operands},
          mPlain{plain},
          mWide{wide},
          mAlignment{alignment}
    {
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        constexpr auto kScale = static_cast<size_t>(EmbeddingNorm::kScale);
        constexpr auto kShift = static_cast<size_t>(EmbeddingNorm::kShift);
        EmbeddingParams params = mParams;
        params.scale = at.call.inputs[kScale];
        params.shift = at.call.inputs[kShift];
        params.out = at.call.outputs[0];
        auto addresses = reinterpret_cast<uintptr_t>(params.out) | reinterpret_cast<uintptr_t>(params.scale)
            | reinterpret_cast<uintptr_t>(params.shift);
        for (int32_t term = 0; term < EmbeddingNorm::terms(static_cast<int32_t>(mOperands)); ++term)
        {
            EmbeddingTerm& to = params.terms[term];
            auto const indices = static_cast<size_t>(EmbeddingNorm::indicesOf(term));
            to.table = at.call.inputs[EmbeddingNorm::tableOf(term)];
            to.indices = indices < mOperands ? at.call.inputs[indices] : nullptr;
            addresses |= reinterpret_cast<uintptr_t>(to.table);
        }
        Form const& form = mWide && addresses % mAlignment == 0 ? *mWide : mPlain;
        auto const together = static_cast<uint64_t>(form.shares.together);
        constexpr uint64_t kMostBlocks{uint64_t{1} << 24U};
        uint64_t const blocks = std::min<uint64_t>((params.rows + together - 1) / together, kMostBlocks);
        Grid const grid{.x = static_cast<unsigned>(blocks),
            .block = static_cast<unsigned>(form.shares.threads * form.shares.together)};
        return launchKernel(at, form.code, grid, params);
    }

  private:
    EmbeddingParams mParams;
    size_t mOperands;
    Form mPlain;
    std::optional<Form> mWide; //!< For addresses of whole packs.
    uintptr_t mAlignment;
};

//! How many elements packs may have that rows consist of, and that no type is too large for.
int64_t embeddingWidth(std::span<TensorArg const> inputs, int64_t length)
{
    int64_t width = kEmbeddingPack / tenon::bytesOf(inputs[EmbeddingNorm::kScale].dtype, 1);
    for (int32_t term = 0; term < EmbeddingNorm::terms(static_cast<int32_t>(inputs.size())); ++term)
    {
        TensorArg const& table = inputs[static_cast<size_t>(EmbeddingNorm::tableOf(term))];
        width = std::min(width, kEmbeddingPack / tenon::bytesOf(table.dtype, 1));
    }
    while (length % width != 0)
        width /= 2;
    return width;
}

TensorArg const* embeddingIndices(std::span<TensorArg const> inputs, int32_t term)
{
    auto const i = static_cast<size_t>(EmbeddingNorm::indicesOf(term));
    return i < inputs.size() && inputs[i].present ? &inputs[i] : nullptr;
}

//! Parameters without addresses; axes over which all terms move evenly are one.
EmbeddingParams embeddingParams(std::span<TensorArg const> inputs, TensorArg const& out, float epsilon, int& axes)
{
    EmbeddingParams params{};
    int32_t const terms = EmbeddingNorm::terms(static_cast<int32_t>(inputs.size()));
    std::vector<int64_t> extents{out.extents.begin(), out.extents.end() - 1};
    std::vector<std::vector<int64_t>> strides;
    for (int32_t term = 0; term < terms; ++term)
    {
        TensorArg const& table = inputs[static_cast<size_t>(EmbeddingNorm::tableOf(term))];
        TensorArg const* const indices = embeddingIndices(inputs, term);
        std::vector<int64_t> const own = indices != nullptr
            ? indices->extents
            : std::vector<int64_t>{table.extents.begin(), table.extents.end() - 1};
        strides.push_back(tenon::broadcastStrides(own));
        params.terms[term].rows = table.extents[0];
    }
    mergeAxes(extents, strides);
    axes = static_cast<int>(extents.size());
    std::ranges::copy(extents, params.extents);
    for (size_t term = 0; term < strides.size(); ++term)
        std::ranges::copy(strides[term], params.terms[term].strides);
    params.rows = static_cast<uint64_t>(volumeOf(extents));
    params.isSmall = isSmall(volumeOf(extents)) ? 1 : 0;
    params.epsilon = epsilon;
    return params;
}

class EmbeddingKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        EmbeddingNorm const layer = TENON_TRY(fieldsOf<EmbeddingNorm>(args()));
        TensorArg const& out = outputs[0];
        bool areLinear = out.layout == Layout::kLinear;
        for (TensorArg const& input : inputs)
            areLinear = areLinear && (!input.present || input.layout == Layout::kLinear);
        int32_t const terms = EmbeddingNorm::terms(static_cast<int32_t>(inputs.size()));
        int64_t const length = out.extents.back();
        auto const rows = static_cast<int64_t>(volumeOf(out.extents) / length);
        std::optional<EmbeddingShares> const plain = embeddingShares(length, 1, rows);
        if (!areLinear || static_cast<size_t>(terms) > kEmbeddingTerms || out.extents.size() > kMaxAxes || !plain)
            return badArgument(
                "norms of embeddings are of up to {} row-major terms, whose rows registers hold", kEmbeddingTerms);
        EmbeddingForm form{.type = TENON_TRY(storageOf(out.dtype)),
            .length = length,
            .terms = {},
            .hasShift = inputs[EmbeddingNorm::kShift].present,
            .areTermsConstant = isConstant(EmbeddingNorm::kScale)
                && (!inputs[EmbeddingNorm::kShift].present || isConstant(EmbeddingNorm::kShift))};
        for (int32_t term = 0; term < terms; ++term)
        {
            TensorArg const* const indices = embeddingIndices(inputs, term);
            form.terms.push_back({TENON_TRY(storageOf(inputs[static_cast<size_t>(EmbeddingNorm::tableOf(term))].dtype)),
                indices == nullptr ? std::string{} : TENON_TRY(storageOf(indices->dtype))});
        }
        EmbeddingParams const params = embeddingParams(inputs, out, layer.epsilon, form.axes);
        int64_t const width = embeddingWidth(inputs, length);
        std::optional<EmbeddingShares> const wide = width == 1 ? std::nullopt : embeddingShares(length, width, rows);
        std::string own = std::string{kEmbeddingTermText} + kEmbeddingParamsText + kPickedRow;
        own += EmbeddingText{form, *plain}.kernel("embeddingElements");
        own += wide ? EmbeddingText{form, *wide}.kernel("embeddingPacks") : "";
        Module const& module = *TENON_TRY(moduleOf(device(), wholeText(own)));
        EmbeddingStep::Form const elements{*plain, TENON_TRY(module.function("embeddingElements"))};
        std::optional<EmbeddingStep::Form> packs;
        if (wide)
            packs = {*wide, TENON_TRY(module.function("embeddingPacks"))};
        return std::make_shared<EmbeddingStep>(
            params, inputs.size(), elements, packs, static_cast<uintptr_t>(kEmbeddingPack));
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfEmbeddingNorm(Problem const& problem)
{
    constexpr char kName[]{"rows"};
    size_t const inputs = problem.node->inputs.size();
    if (static_cast<size_t>(EmbeddingNorm::terms(static_cast<int32_t>(inputs))) > kEmbeddingTerms)
        return refuse(kName, fmt::format("adds up to {} terms", kEmbeddingTerms));
    std::optional<int64_t> const length = problem.output().shape.back().constant();
    if (!length || !embeddingShares(*length, 1, 1))
        return refuse(kName, "takes rows of known extent that registers hold");
    std::vector<int64_t> const out = problem.typicalExtents(problem.output());
    auto const bytes = static_cast<double>(tenon::bytesOf(problem.output().dtype, volumeOf(out)));
    Offer offer;
    offer.inputs.assign(inputs, Layout::kLinear);
    offer.outputs = {Layout::kLinear};
    offer.cost = costOf(problem, 0.0, 2.0 * bytes);
    return std::vector<Offer>{std::move(offer)};
}

Result<KernelSpec> buildEmbeddingNorm(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "embedding_norm", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kEmbeddingCandidates[]{
    {.layer = EmbeddingNorm::kName, .name = "rows", .offers = offersOfEmbeddingNorm, .build = buildEmbeddingNorm}};
constexpr CudaKernelEntry kEmbeddingKernels[]{{"embedding_norm", &loadLayerKernel<EmbeddingKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(EmbeddingNorm, kEmbeddingCandidates, kEmbeddingKernels);
