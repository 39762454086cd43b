// Layers whose meaning is an expression with reductions: softmax, norms, reductions. One block of threads per row,
// which is all elements that share their reductions. Rows that lie in one piece and are short enough are held in
// registers; others are read once for each reduction and once for the result.
#include "backends/cuda/kernel_text.h"
#include "backends/cuda/layer_kernel.h"
#include "ir/evaluate.h"
#include "layers/reduce.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
TENON_DEVICE_STRUCT(RowOperand, void const* data; long long kept[8]; long long reduced[8];);
TENON_DEVICE_STRUCT(RowParams, unsigned const* stop; unsigned long long rows; unsigned long long length;
                    unsigned long long written; unsigned long long keptExtents[8]; unsigned long long reducedExtents[8];
                    int keptAxes; int reducedAxes; unsigned isSmall; RowOperand in[8]; void* out; RowOperand to;);
constexpr size_t kMaxRowOperands{8};

//! An expression cut where it reduces: what each reduction goes over, and what comes of all of them. Results of
//! reductions are inputs behind the layer's own.
struct RowExpr
{
    std::vector<ExprNode> reductions; //!< Operation and axes.
    std::vector<Expr> stages;         //!< Operand of each.
    Expr result;
    uint32_t axes{0};
};

//! The expression that ends in `node`, with reductions as inputs.
Expr upTo(Expr const& whole, int32_t node, int32_t inputs)
{
    Expr part;
    int32_t reductions{0};
    for (int32_t i = 0; i <= node; ++i)
    {
        ExprNode each = whole.nodes[static_cast<size_t>(i)];
        if (isReduction(each.op))
            each = {.op = ExprOp::kInput, .index = inputs + reductions++};
        part.nodes.push_back(each);
    }
    return part;
}

Result<RowExpr> cut(Expr const& whole, int32_t inputs)
{
    RowExpr rows;
    for (size_t i = 0; i < whole.nodes.size(); ++i)
    {
        ExprNode const& node = whole.nodes[i];
        if (!isReduction(node.op))
            continue;
        if (!rows.reductions.empty() && node.axes != rows.axes)
            return badArgument("it reduces along different axes");
        rows.axes = node.axes;
        rows.reductions.push_back(node);
        rows.stages.push_back(upTo(whole, node.a, inputs));
    }
    if (rows.reductions.empty())
        return badArgument("it has no reduction");
    rows.result = upTo(whole, static_cast<int32_t>(whole.nodes.size()) - 1, inputs);
    return rows;
}

//! The body of a layer, of reductions that drop axes, too.
std::optional<Expr> bodyOf(Layer const& layer, size_t inputs)
{
    if (Reduce const* reduce = as<Reduce>(layer))
    {
        Reduce kept = *reduce;
        kept.keepDimensions = true;
        return makeLayer(kept)->body(1);
    }
    return layer.body(static_cast<int32_t>(inputs));
}

struct RowText
{
    std::string functions;
    std::vector<std::string> types; //!< Stored, one per operand; empty: absent.
    std::vector<TapeKind> kinds;    //!< Of operands, then of reductions.
    std::vector<DType> reducedTypes;
};

//! Types of each operand and reduction, and a function per stage.
Result<RowText> functionsOf(RowExpr const& rows, std::span<TensorArg const> inputs)
{
    RowText text;
    std::vector<TensorType> owned(inputs.size() + rows.reductions.size());
    std::vector<TensorType const*> types;
    for (size_t i = 0; i < inputs.size(); ++i)
    {
        bool const present = inputs[i].present;
        owned[i] = {inputs[i].dtype, shapeOf(inputs[i].extents)};
        types.push_back(present ? &owned[i] : nullptr);
        text.types.push_back(present ? TENON_TRY(storageOf(inputs[i].dtype)) : std::string{});
        text.kinds.push_back(present ? TENON_TRY(tapeKindOf(inputs[i].dtype)) : TapeKind::kReal);
    }
    for (size_t k = 0; k < rows.stages.size(); ++k)
    {
        Tape const tape = TENON_TRY(makeTape(rows.stages[k], types));
        text.functions += TENON_TRY(printFunction(fmt::format("stage{}", k), tape, text.kinds));
        TapeKind const kind = TENON_TRY(tapeKindOf(tape.resultType));
        if (kind == TapeKind::kTruth || (kind != TapeKind::kReal && rows.reductions[k].op == ExprOp::kMeanOver))
            return badArgument("its reduction of {} has no CUDA form", nameOf(tape.resultType));
        TensorType& result = owned[inputs.size() + k];
        result = TENON_TRY(typeOf(rows.stages[k], types));
        for (size_t axis = 0; axis < result.shape.size(); ++axis)
            if ((rows.axes >> axis & 1U) != 0)
                result.shape[axis] = 1;
        types.push_back(&result);
        text.kinds.push_back(kind);
    }
    Tape const tape = TENON_TRY(makeTape(rows.result, types));
    text.functions += TENON_TRY(printFunction("result", tape, text.kinds));
    return text;
}

char const* joinOf(ExprOp op)
{
    switch (op)
    {
    case ExprOp::kMaxOver: return "JoinMax";
    case ExprOp::kMinOver: return "JoinMin";
    case ExprOp::kProdOver: return "JoinProduct";
    default: return "JoinSum";
    }
}

std::string neutralOf(ExprOp op, TapeKind kind)
{
    bool const isReal = kind == TapeKind::kReal;
    switch (op)
    {
    case ExprOp::kMaxOver: return isReal ? "fromBits(0xFF800000u)" : "(-9223372036854775807ll - 1)";
    case ExprOp::kMinOver: return isReal ? "fromBits(0x7F800000u)" : "9223372036854775807ll";
    case ExprOp::kProdOver: return isReal ? "1.0f" : "1ll";
    default: return isReal ? "0.0f" : "0ll";
    }
}

//! Where the operands' elements are in a row, and their values; `values`: names of the reductions that are known.
std::string readElement(RowText const& text, std::string const& indent)
{
    std::string own;
    own += indent + "u64 left = i;\n";
    for (size_t n = 0; n < text.types.size(); ++n)
        if (!text.types[n].empty())
            own += fmt::format("{}i64 at{} = row{};\n", indent, n, n);
    own += indent + "for (int axis = p.reducedAxes - 1; axis >= 0; --axis)\n" + indent + "{\n" + indent
        + "    i64 const x = (i64)takeAxis(left, p.reducedExtents[axis], p.isSmall);\n";
    for (size_t n = 0; n < text.types.size(); ++n)
        if (!text.types[n].empty())
            own += fmt::format("{0}    at{1} += x * p.in[{1}].reduced[axis];\n", indent, n);
    return own + indent + "    to += x * p.to.reduced[axis];\n" + indent + "}\n";
}

std::string argumentsOf(RowText const& text, size_t reductions)
{
    std::string own;
    for (size_t n = 0; n < text.types.size(); ++n)
        own += (n == 0 ? "" : ", ")
            + (text.types[n].empty() ? std::string{"0.0f"}
                                     : fmt::format("widen((({0} const*)p.in[{1}].data)[at{1}])", text.types[n], n));
    for (size_t k = 0; k < reductions; ++k)
        own += fmt::format(", r{}", k);
    return own;
}

//! Head of a kernel up to where each operand's row begins.
std::string beginRows(RowText const& text, std::string const& name)
{
    std::string own = "TENON_KERNEL(" + name
        + ", RowParams)\n{\n"
          "    for (u64 row = blockIdx.x; row < p.rows; row += gridDim.x)\n    {\n"
          "        u64 rest = row;\n        i64 toRow = 0;\n";
    for (size_t n = 0; n < text.types.size(); ++n)
        if (!text.types[n].empty())
            own += fmt::format("        i64 row{} = 0;\n", n);
    own += "        for (int axis = p.keptAxes - 1; axis >= 0; --axis)\n        {\n"
           "            i64 const x = (i64)takeAxis(rest, p.keptExtents[axis], p.isSmall);\n"
           "            toRow += x * p.to.kept[axis];\n";
    for (size_t n = 0; n < text.types.size(); ++n)
        if (!text.types[n].empty())
            own += fmt::format("            row{0} += x * p.in[{0}].kept[axis];\n", n);
    return own + "        }\n";
}

std::string rowKernel(RowExpr const& rows, RowText const& text, std::string const& outType)
{
    std::string own = beginRows(text, "rows");
    size_t const operands = text.types.size();
    for (size_t k = 0; k < rows.reductions.size(); ++k)
    {
        ExprOp const op = rows.reductions[k].op;
        TapeKind const kind = text.kinds[operands + k];
        own += fmt::format("        {} r{} = {};\n", wordOf(kind), k, neutralOf(op, kind));
        own += "        for (u64 i = threadIdx.x; i < p.length; i += blockDim.x)\n        {\n            i64 to = 0;\n"
            + readElement(text, "            ");
        own += fmt::format(
            "            r{0} = {1}{{}}(r{0}, stage{0}({2}));\n        }}\n", k, joinOf(op), argumentsOf(text, k));
        own += fmt::format("        r{0} = blockJoin<{1}>(r{0});\n", k, joinOf(op));
        if (op == ExprOp::kMeanOver)
            own += fmt::format("        r{} /= (float)p.length;\n", k);
    }
    own += "        for (u64 i = threadIdx.x; i < p.written; i += blockDim.x)\n        {\n            i64 to = toRow;\n"
        + readElement(text, "            ")
        + fmt::format("            put((({}*)p.out)[to], result({}));\n        }}\n", outType,
            argumentsOf(text, rows.reductions.size()))
        + "        __syncthreads();\n    }\n}\n";
    return own;
}

//! How a row that lies in one piece is held in registers: each thread has so many packs of so many elements.
struct RowPacks
{
    int64_t width{0};
    int64_t perThread{0};
    unsigned block{0};
};

constexpr int64_t kRowPackBytes{16};
constexpr int64_t kRowPackThreads{256}; //!< At most: more would leave each too few registers.

//! None: the row is too long, or operands do not lie so.
std::optional<RowPacks> packsOf(RowParams const& params, std::span<TensorArg const> inputs, TensorArg const& out)
{
    int64_t width = kRowPackBytes / std::max<int64_t>(tenon::bytesOf(out.dtype, 1), 1);
    for (TensorArg const& input : inputs)
        if (input.present)
            width = std::min(width, kRowPackBytes / std::max<int64_t>(tenon::bytesOf(input.dtype, 1), 1));
    auto const length = static_cast<int64_t>(params.length);
    if (params.reducedAxes != 1 || params.written != params.length || width < 2 || length % width != 0
        || params.to.reduced[0] != 1)
        return std::nullopt;
    auto const isEven = [&](RowOperand const& operand) {
        return std::all_of(
            operand.kept, operand.kept + params.keptAxes, [&](long long stride) { return stride % width == 0; });
    };
    bool isFit = isEven(params.to);
    for (size_t n = 0; n < inputs.size(); ++n)
        if (inputs[n].present)
            isFit = isFit && (params.in[n].reduced[0] == 0 || (params.in[n].reduced[0] == 1 && isEven(params.in[n])));
    for (int64_t const perThread : {1, 2, 4})
    {
        int64_t const threads = (length / width + perThread - 1) / perThread;
        if (isFit && threads <= kRowPackThreads)
            return RowPacks{width, perThread, static_cast<unsigned>((threads + 31) / 32 * 32)};
    }
    return std::nullopt;
}

//! Reads each row once, 16 bytes at a time.
std::string packedRowKernel(RowExpr const& rows, RowText const& text, std::string const& outType, RowPacks const& packs)
{
    std::string own = beginRows(text, "packedRows");
    std::string const loop = fmt::format("#pragma unroll\n        for (int c = 0; c < {}; ++c)\n        {{\n"
                                         "            u64 const at = ((u64)c * blockDim.x + threadIdx.x) * {};\n"
                                         "            if (at >= p.length)\n                break;\n",
        packs.perThread, packs.width);
    std::string const each = fmt::format("#pragma unroll\n            for (int k = 0; k < {}; ++k)\n", packs.width);
    std::string arguments;
    std::string loads;
    for (size_t n = 0; n < text.types.size(); ++n)
    {
        arguments += n == 0 ? "" : ", ";
        arguments += text.types[n].empty() ? "0.0f" : fmt::format("widen(x{}[c].v[k])", n);
        if (text.types[n].empty())
            continue;
        own += fmt::format("        Pack<{}, {}> x{}[{}];\n", text.types[n], packs.width, n, packs.perThread);
        loads += fmt::format(
            "            if (p.in[{0}].reduced[0] == 1)\n"
            "                x{0}[c] = *(Pack<{1}, {2}> const*)(({1} const*)p.in[{0}].data + row{0} + at);\n"
            "            else\n                for (int k = 0; k < {2}; ++k)\n"
            "                    x{0}[c].v[k] = (({1} const*)p.in[{0}].data)[row{0}];\n",
            n, text.types[n], packs.width);
    }
    own += loop + loads + "        }\n";
    for (size_t k = 0; k < rows.reductions.size(); ++k)
    {
        ExprOp const op = rows.reductions[k].op;
        TapeKind const kind = text.kinds[text.types.size() + k];
        own += fmt::format("        {} r{} = {};\n", wordOf(kind), k, neutralOf(op, kind)) + loop + each
            + fmt::format(
                "                r{0} = {1}{{}}(r{0}, stage{0}({2}));\n        }}\n", k, joinOf(op), arguments)
            + fmt::format("        r{0} = blockJoin<{1}>(r{0});\n", k, joinOf(op));
        if (op == ExprOp::kMeanOver)
            own += fmt::format("        r{} /= (float)p.length;\n", k);
        arguments += fmt::format(", r{}", k);
    }
    return own + loop + fmt::format("            Pack<{}, {}> y;\n", outType, packs.width) + each
        + fmt::format("                put(y.v[k], result({}));\n"
                      "            *(Pack<{}, {}>*)(({}*)p.out + toRow + at) = y;\n        }}\n"
                      "        __syncthreads();\n    }}\n}}\n",
            arguments, outType, packs.width, outType);
}

class RowStep final : public CudaPrepared
{
  public:
    RowStep(RowParams params, size_t operands, unsigned block, void* code)
        : mParams{params},
          mOperands{operands},
          mBlock{block},
          mCode{code}
    {
    }
    //! The kernel for addresses that are multiples of 16.
    void setPacked(void* code, unsigned block)
    {
        mPackedCode = code;
        mPackedBlock = block;
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        RowParams params = mParams;
        for (size_t i = 0; i < mOperands; ++i)
            params.in[i].data = at.call.inputs[i];
        params.out = at.call.outputs[0];
        auto addresses = reinterpret_cast<uintptr_t>(params.out);
        for (size_t i = 0; i < mOperands; ++i)
            addresses |= reinterpret_cast<uintptr_t>(params.in[i].data);
        bool const isPacked = mPackedCode != nullptr && addresses % kRowPackBytes == 0;
        constexpr unsigned long long kMaxBlocks{65536};
        Grid const grid{
            .x = static_cast<unsigned>(std::min(params.rows, kMaxBlocks)), .block = isPacked ? mPackedBlock : mBlock};
        return launchKernel(at, isPacked ? mPackedCode : mCode, grid, params);
    }

  private:
    RowParams mParams;
    size_t mOperands;
    unsigned mBlock;
    void* mCode;
    void* mPackedCode{nullptr}; //!< Null: there is none.
    unsigned mPackedBlock{0};
};

//! Extents with the reduced axes there, whatever the layer does with them.
std::vector<int64_t> wholeExtents(std::span<TensorArg const> inputs)
{
    std::vector<int64_t> whole;
    for (TensorArg const& input : inputs)
        if (input.present && input.extents.size() >= whole.size())
        {
            whole.resize(input.extents.size(), 1);
            for (size_t i = 0; i < whole.size(); ++i)
                whole[i] = whole[i] == 1 ? input.extents[i] : whole[i];
        }
    return whole;
}

//! Axes of one side of the cut, merged where every operand moves evenly.
struct RowSide
{
    std::vector<int64_t> extents;
    std::vector<std::vector<int64_t>> strides; //!< One per operand, then of the output.
};

class RowKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        TensorArg const& out = outputs[0];
        if (inputs.size() > kMaxRowOperands || blockOf(out.layout) != 1)
            return badArgument("{} operands, or its output is {}", inputs.size(), nameOf(out.layout));
        std::optional<Expr> const body = bodyOf(layer(), inputs.size());
        if (!body)
            return badArgument("layer kind {} is no expression", layer().name());
        RowExpr const rows = TENON_TRY(cut(*body, static_cast<int32_t>(inputs.size())));
        RowText const text = TENON_TRY(functionsOf(rows, inputs));
        std::string const outType = TENON_TRY(storageOf(out.dtype));
        RowParams const params = TENON_TRY(arrange(inputs, out, rows.axes));
        std::optional<RowPacks> const packs = packsOf(params, inputs, out);
        Module const& module = *TENON_TRY(moduleOf(device(),
            wholeText(std::string{kRowOperandText} + kRowParamsText + text.functions + rowKernel(rows, text, outType)
                + (packs ? packedRowKernel(rows, text, outType, *packs) : std::string{}))));
        unsigned const block = params.length <= 64 ? 32 : params.length <= 512 ? 128 : 256;
        auto step = std::make_shared<RowStep>(params, inputs.size(), block, TENON_TRY(module.function("rows")));
        if (packs)
            step->setPacked(TENON_TRY(module.function("packedRows")), packs->block);
        return std::shared_ptr<Prepared const>{std::move(step)};
    }

  private:
    static Result<RowParams> arrange(std::span<TensorArg const> inputs, TensorArg const& out, uint32_t axes)
    {
        std::vector<int64_t> const whole = wholeExtents(inputs);
        RowSide sides[2];
        for (RowSide& side : sides)
            side.strides.resize(inputs.size() + 1);
        std::vector<std::vector<int64_t>> all;
        for (TensorArg const& input : inputs)
        {
            if (input.present && blockOf(input.layout) != 1)
                return badArgument("an input is {}", nameOf(input.layout));
            all.push_back(input.present && input.extents.size() == whole.size()
                    ? broadcastStrides(input.layout, input.extents)
                    : std::vector<int64_t>(whole.size(), 0));
        }
        std::vector<int64_t> outExtents = out.extents;
        if (outExtents.size() < whole.size())
            for (size_t axis = 0; axis < whole.size(); ++axis)
                if ((axes >> axis & 1U) != 0)
                    outExtents.insert(outExtents.begin() + static_cast<std::ptrdiff_t>(axis), 1);
        if (outExtents.size() != whole.size() || (out.extents.size() != whole.size() && out.layout != Layout::kLinear))
            return badArgument("its output is of rank {}", out.extents.size());
        all.push_back(broadcastStrides(out.layout, outExtents));
        for (size_t const axis : memoryAxes(inputs[0].layout, whole.size()))
        {
            RowSide& side = sides[axes >> axis & 1U];
            side.extents.push_back(whole[axis]);
            for (size_t n = 0; n < all.size(); ++n)
                side.strides[n].push_back(all[n][axis]);
        }
        RowParams params{};
        params.rows = static_cast<uint64_t>(volumeOf(sides[0].extents));
        params.length = static_cast<uint64_t>(volumeOf(sides[1].extents));
        bool const isReduced = volumeOf(outExtents) < volumeOf(whole);
        params.written = isReduced ? 1 : params.length;
        params.isSmall = isSmall(volumeOf(whole)) ? 1 : 0;
        for (RowSide& side : sides)
            mergeAxes(side.extents, side.strides);
        if (std::max(sides[0].extents.size(), sides[1].extents.size()) > kMaxAxes)
            return badArgument("it goes over {} axes", whole.size());
        params.keptAxes = static_cast<int>(sides[0].extents.size());
        params.reducedAxes = static_cast<int>(sides[1].extents.size());
        std::ranges::copy(sides[0].extents, params.keptExtents);
        std::ranges::copy(sides[1].extents, params.reducedExtents);
        for (size_t n = 0; n <= inputs.size(); ++n)
        {
            RowOperand& operand = n < inputs.size() ? params.in[n] : params.to;
            std::ranges::copy(sides[0].strides[n], operand.kept);
            std::ranges::copy(sides[1].strides[n], operand.reduced);
        }
        return params;
    }

    static std::vector<int64_t> broadcastStrides(Layout layout, std::vector<int64_t> const& extents)
    {
        std::vector<int64_t> strides = stridesIn(layout, extents);
        for (size_t i = 0; i < extents.size(); ++i)
            if (extents[i] == 1)
                strides[i] = 0;
        return strides;
    }
};

//! Whether the kernel can be printed for these types.
Result<Done> canPrint(Problem const& problem, Expr const& body)
{
    size_t const count = problem.node->inputs.size();
    RowExpr const rows = TENON_TRY(cut(body, static_cast<int32_t>(count)));
    std::vector<TensorArg> args;
    for (size_t i = 0; i < count; ++i)
        args.push_back(problem.hasInput(i)
                ? TensorArg{problem.input(i).dtype, Layout::kLinear, problem.typicalExtents(problem.input(i))}
                : TensorArg{.present = false});
    static_cast<void>(TENON_TRY(functionsOf(rows, args)));
    static_cast<void>(TENON_TRY(storageOf(problem.output().dtype)));
    return Done{};
}

std::variant<std::vector<Offer>, Refusal> offerRows(Problem const& problem)
{
    size_t const count = problem.node->inputs.size();
    std::optional<Expr> const body = bodyOf(problem.layer(), count);
    if (!body || count > kMaxRowOperands || problem.input(0).rank() > static_cast<int32_t>(kMaxAxes))
        return refuse("rows", body ? "more operands or axes than its kernels take" : "no expression");
    if (Result<Done> const printed = canPrint(problem, *body); !printed)
        return refuse("rows", printed.error().message);
    int32_t const rank = problem.input(0).rank();
    std::vector<Offer> offers;
    for (Layout const layout : plainLayouts(rank))
    {
        bool const isKept = problem.output().rank() == rank;
        if (!isKept && layout != Layout::kLinear)
            continue;
        Offer offer;
        for (size_t i = 0; i < count; ++i)
            offer.inputs.push_back(problem.hasInput(i) && problem.input(i).rank() >= 3 ? layout : Layout::kLinear);
        offer.outputs = {layout};
        offer.cost = costOf(problem, 0.0, 2.0 * bytesOf(problem));
        if (problem.input(0) == problem.output() && problem.constant(0) == nullptr)
            offer.inPlace = {{0, 0}};
        offers.push_back(std::move(offer));
    }
    return offers;
}

Result<KernelSpec> buildRows(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "rows", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate rowsRow(std::string_view layer)
{
    return {.layer = layer, .name = "rows", .offers = offerRows, .build = buildRows};
}

constexpr Candidate kRowCandidates[]{rowsRow("SoftMax"), rowsRow("Normalization"), rowsRow("Reduce")};
constexpr CudaKernelEntry kRowKernels[]{{"rows", &loadLayerKernel<RowKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(Rows, kRowCandidates, kRowKernels);
