// RowsText: reductions as inputs of what comes behind them, and the loops around.
#include "backends/cuda/rows_text.h"

#include "ir/evaluate.h"

namespace tenon::cuda
{

namespace
{
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

//! The largest number of an integer type, as it is computed with.
char const* largestOf(DType type)
{
    switch (type)
    {
    case DType::kINT8: return "127ll";
    case DType::kUINT8: return "255ll";
    case DType::kINT32: return "2147483647ll";
    default: return "9223372036854775807ll";
    }
}

//! What a reduction of nothing gives; of integers, in the type that it is stored in.
std::string neutralOf(ExprOp op, TapeKind kind, DType type)
{
    bool const isReal = kind == TapeKind::kReal;
    switch (op)
    {
    case ExprOp::kMaxOver:
        return isReal               ? "fromBits(0xFF800000u)"
            : type == DType::kUINT8 ? "0ll"
                                    : fmt::format("(-{} - 1)", largestOf(type));
    case ExprOp::kMinOver: return isReal ? "fromBits(0x7F800000u)" : largestOf(type);
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

//! Head of a kernel up to where each operand's row begins; `rows`: of a block, 0: each thread has one of its own.
std::string beginRows(RowText const& text, std::string const& name, unsigned rows)
{
    std::string const loop = rows == 0
        ? "    unsigned const threads = 1;\n    unsigned const thread = 0;\n"
          "    for (u64 row = firstItem(); row < p.rows; row += itemStride())\n"
        : fmt::format("    unsigned const threads = blockDim.x / {0};\n"
                      "    unsigned const thread = threadIdx.x % threads;\n"
                      "    for (u64 row = (u64)blockIdx.x * {0} + threadIdx.x / threads; row < p.rows;"
                      " row += (u64)gridDim.x * {0})\n",
            rows);
    std::string own = "TENON_KERNEL(" + name + ", RowParams)\n{\n" + loop
        + "    {\n        u64 rest = row;\n        i64 toRow = 0;\n";
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
} // namespace

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
        Tape const tape = TENON_TRY(makeTape(rows.stages[k], types, true));
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
        text.reduced.push_back(result.dtype);
    }
    Tape const tape = TENON_TRY(makeTape(rows.result, types, true));
    text.functions += TENON_TRY(printFunction("result", tape, text.kinds));
    return text;
}

namespace
{
//! A block's threads share a row, or each has one of its own.
std::string loopKernel(RowExpr const& rows, RowText const& text, std::string const& outType, bool isShared)
{
    std::string own = isShared ? beginRows(text, "rows", 1) : beginRows(text, "columns", 0);
    size_t const operands = text.types.size();
    for (size_t k = 0; k < rows.reductions.size(); ++k)
    {
        ExprOp const op = rows.reductions[k].op;
        TapeKind const kind = text.kinds[operands + k];
        own += fmt::format("        {} r{} = {};\n", wordOf(kind), k, neutralOf(op, kind, text.reduced[k]));
        own += "        for (u64 i = thread; i < p.length; i += threads)\n        {\n            i64 to = 0;\n"
            + readElement(text, "            ");
        own += fmt::format(
            "            r{0} = {1}{{}}(r{0}, stage{0}({2}));\n        }}\n", k, joinOf(op), argumentsOf(text, k));
        if (isShared)
            own += fmt::format("        r{0} = blockJoin<{1}>(r{0});\n", k, joinOf(op));
        if (op == ExprOp::kMeanOver)
            own += fmt::format("        r{} /= (float)p.length;\n", k);
    }
    own += "        for (u64 i = thread; i < p.written; i += threads)\n        {\n            i64 to = toRow;\n"
        + readElement(text, "            ")
        + fmt::format("            put((({}*)p.out)[to], result({}));\n        }}\n", outType,
            argumentsOf(text, rows.reductions.size()))
        + (isShared ? "        __syncthreads();\n    }\n}\n" : "    }\n}\n");
    return own;
}
} // namespace

std::string rowKernel(RowExpr const& rows, RowText const& text, std::string const& outType)
{
    return loopKernel(rows, text, outType, true);
}

std::string columnKernel(RowExpr const& rows, RowText const& text, std::string const& outType)
{
    return loopKernel(rows, text, outType, false);
}

//! Each thread goes over every so many elements of a pack of rows; what threads of a pack have comes together in shared
//! memory, in two steps, so that no thread has many to join.
std::string sharedColumnKernel(
    RowExpr const& rows, RowText const& text, std::string const& outType, RowColumns const& columns)
{
    ExprOp const op = rows.reductions[0].op;
    std::string own =
        fmt::format("typedef {} Stored;\ntypedef {} Result;\ntypedef {} Join;\n", text.types[0], outType, joinOf(op));
    own += fmt::format("#define WIDTH {}u\n#define ROWS {}u\n#define THREADS {}u\n#define NEUTRAL {}\n", columns.width,
        columns.rows(), columns.threads, neutralOf(op, TapeKind::kReal, DType::kFLOAT));
    own += fmt::format("#define WHOLE(r) {}\n", op == ExprOp::kMeanOver ? "((r) / (float)p.length)" : "(r)");
    return own + R"(
TENON_KERNEL(sharedColumns, RowParams)
{
    __shared__ float parts[THREADS * WIDTH];
    int const last = p.keptAxes - 1;
    unsigned const all = (unsigned)p.keptExtents[last];
    unsigned const blocks = (all + ROWS - 1) / ROWS;
    unsigned const first = blockIdx.x % blocks * ROWS;
    u64 rest = blockIdx.x / blocks;
    i64 from = first;
    i64 to = first;
    for (int axis = last - 1; axis >= 0; --axis)
    {
        i64 const x = (i64)takeAxis(rest, p.keptExtents[axis], p.isSmall);
        from += x * p.in[0].kept[axis];
        to += x * p.to.kept[axis];
    }
    Join const join{};
    float r[WIDTH];
    for (unsigned k = 0; k < WIDTH; ++k)
        r[k] = NEUTRAL;
    unsigned const own = threadIdx.x % (ROWS / WIDTH) * WIDTH;
    if (first + own < all)
    {
        Stored const* const x = (Stored const*)p.in[0].data + from + own;
#pragma unroll 8
        for (u64 i = threadIdx.x / (ROWS / WIDTH); i < p.length; i += THREADS * WIDTH / ROWS)
        {
            Pack<Stored, WIDTH> const pack = *(Pack<Stored, WIDTH> const*)(x + (i64)i * p.in[0].reduced[0]);
            for (unsigned k = 0; k < WIDTH; ++k)
                r[k] = join(r[k], stage0(widen(pack.v[k])));
        }
    }
    for (unsigned k = 0; k < WIDTH; ++k)
        parts[threadIdx.x * WIDTH + k] = r[k];
    __syncthreads();
    unsigned const row = threadIdx.x % ROWS;
    float sum = NEUTRAL;
    for (unsigned i = threadIdx.x / ROWS; i < THREADS * WIDTH / ROWS; i += THREADS / ROWS)
        sum = join(sum, parts[i * ROWS + row]);
    __syncthreads();
    parts[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x >= ROWS || first + row >= all)
        return;
#pragma unroll 8
    for (unsigned i = 1; i < THREADS / ROWS; ++i)
        sum = join(sum, parts[i * ROWS + row]);
    put(((Result*)p.out)[to + row], result(0.0f, WHOLE(sum)));
}
)";
}

namespace
{
constexpr char kHoldPacked[]{R"(
template <typename T, int N, int Count>
static __device__ __forceinline__ void holdPacked(Pack<T, N> (&packs)[Count])
{
#ifndef TENON_EMULATED
    constexpr int kWords = sizeof(T) * N / 4;
#pragma unroll
    for (int c = 0; c < Count; ++c)
#pragma unroll
        for (int i = 0; i < kWords; ++i)
            asm volatile("" : "+r"(((unsigned*)packs[c].v)[i]));
#endif
}
)"};

//! The text of packedRows: what each operand is in it, and the loops over a thread's packs.
class PackedRows
{
  public:
    PackedRows(RowExpr const& rows, RowText const& text, std::string const& outType, RowPacks const& packs)
        : mRows{rows},
          mText{text},
          mOutType{outType},
          mPacks{packs}
    {
    }
    std::string kernel() const
    {
        std::string own = fmt::format("TENON_EARLY_KERNEL(__launch_bounds__({}, {}), packedRows, RowParams)\n{{\n",
            mPacks.threads * mPacks.together, mPacks.blocks());
        own.insert(0, kHoldPacked);
        own += fmt::format("    unsigned const thread = threadIdx.x % {}u;\n", mPacks.threads);
        own += declarations() + sharedLoads(RowUse::kWeights) + "    awaitFormer();\n"
            + sharedLoads(RowUse::kSharedElements);
        own += fmt::format("    float const share = 1.0f / (float)p.length;\n"
                           "    u64 const step = (u64)gridDim.x * {0}u;\n"
                           "    u64 row = (u64)blockIdx.x * {0}u + threadIdx.x / {1}u;\n",
            mPacks.together, mPacks.threads);
        own += fetch()
            + "    if (row < p.rows)\n        fetch(row);\n"
              "    for (; row < p.rows; row += step)\n    {\n        i64 const toRow = to;\n";
        own += held() + widened() + "        if (row + step < p.rows)\n            fetch(row + step);\n";
        std::string arguments = operands();
        for (size_t k = 0; k < mRows.reductions.size(); ++k)
        {
            own += reduction(k, arguments);
            arguments += fmt::format(", r{}", k);
        }
        return own + results(arguments) + "    }\n}\n";
    }

  private:
    static bool isShared(RowUse use) noexcept
    {
        return use == RowUse::kSharedElements || use == RowUse::kWeights;
    }
    //! Over packs, with what is done with each at `indent`, from where it lies in its row.
    std::string eachPack(std::string const& indent, std::string const& body) const
    {
        std::string own = fmt::format("#pragma unroll\n{0}for (int c = 0; c < {1}; ++c)\n{0}{{\n"
                                      "{0}    unsigned const at = (c * {2}u + thread) * {3}u;\n",
            indent, mPacks.perThread, mPacks.threads, mPacks.width);
        own += mPacks.isFull ? "" : indent + "    if (at < p.length)\n" + indent + "    {\n";
        return own + body + (mPacks.isFull ? "" : indent + "    }\n") + indent + "}\n";
    }
    std::string eachElement(std::string const& body) const
    {
        return fmt::format("#pragma unroll\n            for (int k = 0; k < {}; ++k)\n{}", mPacks.width, body);
    }
    std::string declarations() const
    {
        std::string own = "    i64 to = 0;\n";
        for (size_t n = 0; n < mPacks.uses.size(); ++n)
            if (mPacks.uses[n] == RowUse::kNumber)
                own += fmt::format("    {} x{} = {{}};\n", mText.types[n], n);
            else if (mPacks.uses[n] != RowUse::kAbsent)
                own += fmt::format(
                    "    Pack<{}, {}> x{}[{}] = {{}};\n", mText.types[n], mPacks.width, n, mPacks.perThread);
        return own;
    }
    std::string load(size_t n, std::string const& row) const
    {
        return fmt::format("            x{0}[c] = *(Pack<{1}, {2}> const*)(({1} const*)p.in[{0}].data + {3}at);\n", n,
            mText.types[n], mPacks.width, row);
    }
    //! Lets the compiler not widen them once for all rows, which would take twice their registers.
    std::string held() const
    {
        std::string own;
        for (size_t n = 0; n < mPacks.uses.size(); ++n)
            if (isShared(mPacks.uses[n]))
                own += fmt::format("        holdPacked(x{});\n", n);
        return own;
    }
    std::string sharedLoads(RowUse use) const
    {
        std::string loads;
        for (size_t n = 0; n < mPacks.uses.size(); ++n)
            if (mPacks.uses[n] == use)
                loads += load(n, "");
        return loads.empty() ? loads : eachPack("    ", loads);
    }
    //! A function that loads a row's operands and says where its results go.
    std::string fetch() const
    {
        std::string own = "    auto const fetch = [&](u64 rest) {\n        to = 0;\n";
        std::string steps = "            to += x * p.to.kept[axis];\n";
        std::string loads;
        std::string numbers;
        for (size_t n = 0; n < mPacks.uses.size(); ++n)
        {
            bool const isNumber = mPacks.uses[n] == RowUse::kNumber;
            if (!isNumber && mPacks.uses[n] != RowUse::kElements)
                continue;
            own += fmt::format("        i64 row{} = 0;\n", n);
            steps += fmt::format("            row{0} += x * p.in[{0}].kept[axis];\n", n);
            if (isNumber)
                numbers += fmt::format("        x{0} = (({1} const*)p.in[{0}].data)[row{0}];\n", n, mText.types[n]);
            else
                loads += load(n, fmt::format("row{} + ", n));
        }
        own +=
            fmt::format(
                "#pragma unroll\n        for (int axis = {}; axis >= 0; --axis)\n        {{\n"
                "            i64 const x = (i64)(axis == 0 ? rest : takeAxis(rest, p.keptExtents[axis], p.isSmall));\n",
                mPacks.axes - 1)
            + steps + "        }\n" + numbers;
        return own + (loads.empty() ? loads : eachPack("        ", loads)) + "    };\n";
    }
    //! Elements as what is computed with, so that the packs can take the next row's.
    std::string widened() const
    {
        std::string own;
        std::string loads;
        for (size_t n = 0; n < mPacks.uses.size(); ++n)
            if (mPacks.uses[n] == RowUse::kNumber)
                own += fmt::format("        auto const a{0} = widen(x{0});\n", n);
            else if (mPacks.uses[n] == RowUse::kElements)
            {
                own +=
                    fmt::format("        {} a{}[{}][{}];\n", wordOf(mText.kinds[n]), n, mPacks.perThread, mPacks.width);
                loads += eachElement(fmt::format("                a{0}[c][k] = widen(x{0}[c].v[k]);\n", n));
            }
        return own + (loads.empty() ? loads : eachPack("        ", loads));
    }
    std::string operands() const
    {
        std::string arguments;
        for (size_t n = 0; n < mPacks.uses.size(); ++n)
        {
            RowUse const use = mPacks.uses[n];
            arguments += n == 0 ? "" : ", ";
            arguments += use == RowUse::kAbsent ? std::string{"0.0f"}
                : use == RowUse::kNumber        ? fmt::format("a{}", n)
                : isShared(use)                 ? fmt::format("widen(x{}[c].v[k])", n)
                                                : fmt::format("a{}[c][k]", n);
        }
        return arguments;
    }
    //! Two parts beside each other, as one sum would wait for itself.
    std::string reduction(size_t k, std::string const& arguments) const
    {
        ExprOp const op = mRows.reductions[k].op;
        TapeKind const kind = mText.kinds[mText.types.size() + k];
        std::string const neutral = neutralOf(op, kind, mText.reduced[k]);
        std::string own = fmt::format("        {0} parts{1}[2] = {{{2}, {2}}};\n", wordOf(kind), k, neutral);
        own += eachPack("        ",
            eachElement(fmt::format("                parts{0}[k % 2] = {1}{{}}(parts{0}[k % 2], stage{0}({2}));\n", k,
                joinOf(op), arguments)));
        own += fmt::format("        {0} r{1} = {2}<{3}>({3}{{}}(parts{1}[0], parts{1}[1]));\n", wordOf(kind), k,
            mPacks.isWarp() ? "warpJoin" : "blockJoin", joinOf(op));
        return own + (op == ExprOp::kMeanOver ? fmt::format("        r{} *= share;\n", k) : "");
    }
    std::string results(std::string const& arguments) const
    {
        return eachPack("        ",
            fmt::format("            Pack<{0}, {1}> y;\n{2}"
                        "            *(Pack<{0}, {1}>*)(({0}*)p.out + toRow + at) = y;\n",
                mOutType, mPacks.width,
                eachElement(fmt::format("                put(y.v[k], result({}));\n", arguments))));
    }

    RowExpr const& mRows;
    RowText const& mText;
    std::string const& mOutType;
    RowPacks const& mPacks;
};
} // namespace

std::string packedRowKernel(RowExpr const& rows, RowText const& text, std::string const& outType, RowPacks const& packs)
{
    return PackedRows{rows, text, outType, packs}.kernel();
}

} // namespace tenon::cuda
