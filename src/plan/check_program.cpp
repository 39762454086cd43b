// checkProgram: registers, tensors and steps of one device's program fit each other.
#include "plan/check.h"

#include "base/cancellation.h"
#include "base/real_op.h"
#include "plan/controls.h"
#include "plan/lookup.h"
#include "plan/regions.h"
#include "plan/written.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace tenon
{

namespace
{
template <typename T>
bool isIndex(int32_t index, std::vector<T> const& list) noexcept
{
    return index >= 0 && static_cast<size_t>(index) < list.size();
}

template <typename T>
T const& at(std::vector<T> const& list, int32_t index)
{
    return list[static_cast<size_t>(index)];
}

int32_t registerCount(Program const& program)
{
    return static_cast<int32_t>(program.symbols.size() + program.shapes.size());
}

//! Largest entry of the registers that the instruction reads; −1: none.
int32_t overOperands(PlanShapeInstruction const& x, std::vector<int32_t> const& entries)
{
    if (isConstant(x.op))
        return -1;
    int32_t const most = std::max(at(entries, x.a), at(entries, x.b));
    return x.op == PlanShapeOp::kRealSelect ? std::max(most, at(entries, static_cast<int32_t>(x.value))) : most;
}

//! Whether an instruction reads registers of the kinds that it works on.
bool readsItsKinds(PlanShapeInstruction const& x, std::vector<bool> const& real)
{
    auto const isRealAt = [&](int64_t at) { return real[static_cast<size_t>(at)]; };
    switch (x.op)
    {
    case PlanShapeOp::kConstant:
    case PlanShapeOp::kRealConstant: return true;
    case PlanShapeOp::kTruncate:
    case PlanShapeOp::kRealEqual:
    case PlanShapeOp::kRealLess:
    case PlanShapeOp::kRealIsNan:
    case PlanShapeOp::kRealIsInfinite:
    case PlanShapeOp::kReal: return isRealAt(x.a) && isRealAt(x.b);
    case PlanShapeOp::kRealSelect: return !isRealAt(x.a) && isRealAt(x.b) && isRealAt(x.value);
    default: return !isRealAt(x.a) && !isRealAt(x.b);
    }
}

//! For each register the highest kData symbol that it is, or is computed from; −1: none.
std::vector<int32_t> highestData(Program const& program)
{
    std::vector<int32_t> highest;
    highest.reserve(program.symbols.size() + program.shapes.size());
    for (size_t i = 0; i < program.symbols.size(); ++i)
        highest.push_back(program.symbols[i].kind == PlanSymbolKind::kData ? static_cast<int32_t>(i) : -1);
    for (PlanShapeInstruction const& x : program.shapes)
        highest.push_back(overOperands(x, highest));
    return highest;
}

//! Symbols that conditionals join from their branches, with the last step of the conditional.
using JoinedSymbols = std::set<std::pair<int32_t, int32_t>>;

JoinedSymbols joinedSymbols(Program const& program)
{
    JoinedSymbols joined;
    for (PlanControl const& control : program.controls)
        for (PlanJoin const& join : control.joins)
            joined.emplace(join.symbol, control.last - 1);
    return joined;
}

class Checker
{
  public:
    Checker(Plan const& plan, Program const& program)
        : mPlan{plan},
          mProgram{program},
          mWritten{program}
    {
    }

    Result<Done> check()
    {
        TENON_TRY(checkSizes());
        TENON_TRY(checkSources());
        cancellationPoint();
        TENON_TRY(checkInstructions());
        TENON_TRY(checkControls(mProgram));
        TENON_TRY(checkSymbols());
        mKnownAfter = knownAfter(mProgram);
        TENON_TRY(checkTensors());
        TENON_TRY(checkDecisions());
        for (size_t i = 0; i < mProgram.steps.size(); ++i)
        {
            cancellationPoint();
            mWritten.enter(static_cast<int32_t>(i));
            auto checked = checkStep(static_cast<int32_t>(i));
            if (!checked)
                return std::move(checked).error().in("step '" + mProgram.steps[i].name + "'");
        }
        mWritten.enter(static_cast<int32_t>(mProgram.steps.size()));
        TENON_TRY(checkInPlace());
        cancellationPoint();
        TENON_TRY(checkStreams(mProgram));
        return checkOutputs();
    }

  private:
    Result<Done> checkSizes() const
    {
        constexpr size_t kMax{1 << 20}; // Far above any network.
        if (mProgram.symbols.size() > kMax || mProgram.shapes.size() > kMax || mProgram.tensors.size() > kMax
            || mProgram.steps.size() > kMax)
            return badArgument("the program is larger than any network");
        for (PlanSymbol const& symbol : mProgram.symbols)
            if (symbol.name.size() > kMaxTextBytes)
                return badArgument("a symbol's name is too long");
        cancellationPoint();
        for (PlanTensor const& tensor : mProgram.tensors)
            if (tensor.name.size() > kMaxTextBytes)
                return badArgument("a tensor's name is too long");
        for (PlanStep const& step : mProgram.steps)
            for (std::string const* text : {&step.kernel, &step.name, &step.candidate})
                if (text->size() > kMaxTextBytes)
                    return badArgument("a text of a step is too long");
        return Done{};
    }

    //! Kinds of the symbols' registers.
    Result<Done> checkSources()
    {
        for (PlanSymbol const& symbol : mProgram.symbols)
        {
            bool const isValue = symbol.kind == PlanSymbolKind::kInputValue;
            if (isValue && !isIndex(symbol.source, mPlan.io))
                return badArgument("a symbol comes from tensor {}, which is not an input", symbol.source);
            mReal.push_back(isValue && at(mPlan.io, symbol.source).dtype == DType::kFLOAT);
        }
        return Done{};
    }

    Result<Done> checkInstructions()
    {
        auto target = static_cast<int32_t>(mProgram.symbols.size());
        for (PlanShapeInstruction const& x : mProgram.shapes)
        {
            if (x.op > PlanShapeOp::kRealSelect)
                return badArgument("unknown shape operation {}", static_cast<int32_t>(x.op));
            if (x.op == PlanShapeOp::kReal && (x.value < 0 || x.value >= kRealOps))
                return badArgument("unknown operation {} on real numbers", x.value);
            bool const third = x.op != PlanShapeOp::kRealSelect || (x.value >= 0 && x.value < target);
            bool const earlier = x.a >= 0 && x.a < target && x.b >= 0 && x.b < target && third;
            if (!isConstant(x.op) && !earlier)
                return badArgument("register {} is computed from registers {} and {}", target, x.a, x.b);
            if (!readsItsKinds(x, mReal))
                return badArgument("register {} takes integers for real numbers, or the other way round", target);
            mReal.push_back(isReal(x.op));
            ++target;
        }
        return Done{};
    }

    Result<Done> checkSymbols() const
    {
        std::vector<int32_t> const highest = highestData(mProgram);
        JoinedSymbols const joined = joinedSymbols(mProgram);
        for (size_t i = 0; i < mProgram.symbols.size(); ++i)
        {
            cancellationPoint();
            PlanSymbol const& symbol = mProgram.symbols[i];
            if (symbol.kind > PlanSymbolKind::kData)
                return badArgument("unknown kind of symbol {}", i);
            if (symbol.kind == PlanSymbolKind::kData)
                TENON_TRY(checkDataSymbol(static_cast<int32_t>(i), highest, joined));
            else
                TENON_TRY(checkInputSymbol(symbol));
        }
        return Done{};
    }

    Result<Done> checkDataSymbol(int32_t index, std::vector<int32_t> const& highest, JoinedSymbols const& joined) const
    {
        PlanSymbol const& symbol = at(mProgram.symbols, index);
        if (!isIndex(symbol.source, mProgram.steps))
            return badArgument("symbol {} comes from the unknown step {}", index, symbol.source);
        auto const& produces = at(mProgram.steps, symbol.source).produces;
        bool const isJoined = joined.contains({index, symbol.source});
        if (!isJoined && (!isIndex(symbol.index, produces) || at(produces, symbol.index) != index))
            return badArgument("step {} does not produce symbol {}", symbol.source, index);
        if (symbol.upper < 0 || symbol.upper >= registerCount(mProgram) || at(highest, symbol.upper) >= index
            || isRealRegister(symbol.upper))
            return badArgument("symbol {} has no bound among what is known before it", index);
        return Done{};
    }

    Result<Done> checkInputSymbol(PlanSymbol const& symbol) const
    {
        if (!isIndex(symbol.source, mPlan.io) || !at(mPlan.io, symbol.source).isInput)
            return badArgument("a symbol comes from tensor {}, which is not an input", symbol.source);
        PlanIO const& io = at(mPlan.io, symbol.source);
        if (symbol.kind == PlanSymbolKind::kInputExtent)
        {
            if (symbol.index < 0 || symbol.index >= io.dims.nbDims)
                return badArgument("a symbol is extent {} of input '{}'", symbol.index, io.name);
            return Done{};
        }
        bool const readable = io.dtype == DType::kINT32 || io.dtype == DType::kINT64 || io.dtype == DType::kBOOL
            || io.dtype == DType::kFLOAT;
        if (!io.isShape || !readable || symbol.index < 0 || symbol.index >= static_cast<int64_t>(kMaxValues))
            return badArgument("a symbol is value {} of input '{}', which is no shape tensor", symbol.index, io.name);
        int64_t const count = io.dims.nbDims == 0 ? 1 : io.dims.d[0];
        if (count < 0 || symbol.index >= count)
            return badArgument("a symbol is value {} of input '{}', which has {}", symbol.index, io.name, count);
        for (PlanProfile const& profile : mPlan.profiles)
            if (PlanProfileInput const* const bounds = boundsOf(profile, symbol.source);
                bounds == nullptr || !isIndex(symbol.index, bounds->minValues))
                return badArgument("a profile has no bounds for value {} of input '{}'", symbol.index, io.name);
        return Done{};
    }

    Result<Done> checkTensors()
    {
        mTensorOfIO.assign(mPlan.io.size(), -1);
        for (size_t i = 0; i < mProgram.tensors.size(); ++i)
        {
            cancellationPoint();
            auto checked = checkTensor(static_cast<int32_t>(i));
            if (!checked)
                return std::move(checked).error().in("tensor '" + mProgram.tensors[i].name + "'");
        }
        mWriter.assign(mProgram.tensors.size(), -1);
        mLastRead.assign(mProgram.tensors.size(), -1);
        return Done{};
    }

    Result<Done> checkTensor(int32_t index)
    {
        PlanTensor const& tensor = at(mProgram.tensors, index);
        if (tensor.kind > PlanTensorKind::kPart || !isValid(tensor.dtype) || !isValid(tensor.layout)
            || tensor.place > Place::kHost)
            return badArgument("unknown kind, data type, layout or place");
        bool const values = tensor.kind == PlanTensorKind::kValues;
        if (tensor.extents.size() > (values ? kMaxValues : nvinfer1::Dims64::MAX_DIMS))
            return badArgument("rank {}", tensor.extents.size());
        if (tensor.layout != Layout::kLinear && (values || tensor.extents.size() < 3))
            return badArgument("layout {} at rank {}", nameOf(tensor.layout), tensor.extents.size());
        for (int32_t const reg : tensor.extents)
            if (reg < 0 || reg >= registerCount(mProgram))
                return badArgument("extent in the unknown register {}", reg);
        TENON_TRY(checkRealExtents(tensor));
        if (tensor.graphValue < -1 || tensor.graphValue >= static_cast<int64_t>(mPlan.graph.values.size()))
            return badArgument("it stands for the unknown graph value {}", tensor.graphValue);
        switch (tensor.kind)
        {
        case PlanTensorKind::kIO: return checkIOTensor(index, tensor);
        case PlanTensorKind::kWeight: return checkWeightTensor(tensor);
        case PlanTensorKind::kView:
        case PlanTensorKind::kPart: return checkView(index);
        default: return Done{};
        }
    }

    //! Values of a floating tensor may be real numbers, all of them; extents are integers.
    Result<Done> checkRealExtents(PlanTensor const& tensor) const
    {
        auto const count = std::count_if(
            tensor.extents.begin(), tensor.extents.end(), [&](int32_t reg) { return isRealRegister(reg); });
        bool const isWhole = count == static_cast<std::ptrdiff_t>(tensor.extents.size());
        bool const fits = tensor.kind == PlanTensorKind::kValues && tensor.dtype == DType::kFLOAT && isWhole;
        if (count != 0 && !fits)
            return badArgument("a real number is taken for an extent");
        return Done{};
    }

    //! Registers that controls go by are whole numbers, known in time.
    Result<Done> checkDecisions() const
    {
        auto const fits = [&](int32_t reg, int32_t before) {
            return reg >= 0 && reg < registerCount(mProgram) && !isRealRegister(reg) && at(mKnownAfter, reg) < before;
        };
        std::set<int32_t> parts;
        for (PlanControl const& control : mProgram.controls)
        {
            bool const isLoop = control.kind == PlanControlKind::kLoop;
            bool good = isLoop ? control.condition == -1 || fits(control.condition, control.middle)
                               : fits(control.condition, control.first) && control.count == -1 && control.parts.empty();
            good = good && (control.count == -1 || fits(control.count, control.first));
            good = good && (!isLoop || control.joins.empty());
            for (PlanPart const& part : control.parts)
                good = good && isIndex(part.tensor, mProgram.tensors)
                    && at(mProgram.tensors, part.tensor).kind == PlanTensorKind::kPart
                    && parts.insert(part.tensor).second && fits(part.length, control.first)
                    && (part.fromBehind == -1 || fits(part.fromBehind, control.first));
            for (PlanJoin const& join : control.joins)
                good = good && isIndex(join.symbol, mProgram.symbols)
                    && at(mProgram.symbols, join.symbol).kind == PlanSymbolKind::kData
                    && at(mProgram.symbols, join.symbol).source == control.last - 1 && fits(join.whenTrue, control.last)
                    && fits(join.whenFalse, control.last);
            if (!good)
                return badArgument("control '{}' goes by registers or tensors that do not fit it", control.name);
        }
        return Done{};
    }

    bool isRealRegister(int32_t reg) const
    {
        return mReal[static_cast<size_t>(reg)];
    }
    bool hasRealValues(PlanTensor const& tensor) const
    {
        return !tensor.extents.empty() && isRealRegister(tensor.extents.front());
    }

    Result<Done> checkIOTensor(int32_t index, PlanTensor const& tensor)
    {
        if (!isIndex(tensor.index, mPlan.io))
            return badArgument("it is the unknown I/O tensor {}", tensor.index);
        PlanIO const& io = at(mPlan.io, tensor.index);
        if (std::exchange(mTensorOfIO[static_cast<size_t>(tensor.index)], index) != -1)
            return badArgument("I/O tensor '{}' stands twice in the program", io.name);
        if (tensor.dtype != io.dtype || tensor.layout != io.layout
            || static_cast<int64_t>(tensor.extents.size()) != io.dims.nbDims)
            return badArgument("it differs in type, layout or rank from I/O tensor '{}'", io.name);
        if (tensor.place == Place::kHost && !io.isShape)
            return badArgument("I/O tensor '{}' is no shape tensor, whose place is the host", io.name);
        for (int32_t const reg : tensor.extents)
            if (io.isInput && at(mKnownAfter, reg) >= 0)
                return badArgument("an extent of input '{}' depends on data", io.name);
        return Done{};
    }

    Result<Done> checkWeightTensor(PlanTensor const& tensor) const
    {
        if (!isIndex(tensor.index, mPlan.weights))
            return badArgument("it is the unknown weight {}", tensor.index);
        PlanWeight const& weight = at(mPlan.weights, tensor.index);
        if (tensor.dtype != weight.dtype)
            return badArgument("its data type is not that of weight '{}'", weight.name);
        for (int32_t const reg : tensor.extents)
            if (at(mKnownAfter, reg) >= 0)
                return badArgument("an extent of a weight depends on data");
        return Done{};
    }

    Result<Done> checkView(int32_t index) const
    {
        int32_t const root = rootOf(mProgram, index);
        if (root < 0)
            return badArgument("it is a view of nothing, or of itself");
        PlanTensor const& of = at(mProgram.tensors, root);
        bool const packed = of.kind == PlanTensorKind::kWeight && isIndex(of.index, mPlan.weights)
            && !at(mPlan.weights, of.index).packing.empty();
        if (of.kind == PlanTensorKind::kValues || packed)
            return badArgument("it is a view of a tensor that has no plain memory");
        if (of.place != at(mProgram.tensors, index).place)
            return badArgument("it is a view of a tensor in another place");
        return Done{};
    }

    Result<Done> checkStep(int32_t index)
    {
        PlanStep const& step = at(mProgram.steps, index);
        if (step.kernel.empty())
            return badArgument("it names no kernel");
        if (step.inputs.size() > kMaxOperands || step.outputs.size() > kMaxOperands)
            return badArgument("{} inputs and {} outputs; a step of a plan has at most {} of each", step.inputs.size(),
                step.outputs.size(), kMaxOperands);
        if (step.graphNode < -1 || step.graphNode >= static_cast<int64_t>(mPlan.graph.nodes.size()))
            return badArgument("it stands for the unknown graph node {}", step.graphNode);
        if (step.code < -1 || step.code >= static_cast<int64_t>(mPlan.code.size()))
            return badArgument("it runs the unknown code {}", step.code);
        for (size_t i = 0; i < step.produces.size(); ++i)
            TENON_TRY(checkProduct(step, i, index));
        for (int32_t const input : step.inputs)
            if (input != -1)
            {
                TENON_TRY(checkInput(input, index));
                TENON_TRY(checkKinds(step, at(mProgram.tensors, input)));
            }
        for (int32_t const output : step.outputs)
            TENON_TRY(checkOutput(output, index));
        return checkPlaces(step);
    }

    //! Operands are where the step runs; values have no memory.
    Result<Done> checkPlaces(PlanStep const& step) const
    {
        if (step.place > Place::kHost)
            return badArgument("unknown place");
        if (roleOf(step) == StepRole::kTransfer)
            return checkTransfer(step);
        for (auto const* const operands : {&step.inputs, &step.outputs})
            for (int32_t const tensor : *operands)
                if (tensor >= 0 && at(mProgram.tensors, tensor).kind != PlanTensorKind::kValues
                    && at(mProgram.tensors, tensor).place != step.place)
                    return badArgument("it runs on the {}, tensor '{}' is on the {}", nameOf(step.place),
                        at(mProgram.tensors, tensor).name, nameOf(at(mProgram.tensors, tensor).place));
        return Done{};
    }

    Result<Done> checkTransfer(PlanStep const& step) const
    {
        if (step.inputs.size() != 1 || step.outputs.size() != 1 || step.inputs[0] < 0 || step.place != Place::kDevice)
            return badArgument("a transfer brings one tensor across, by the device");
        PlanTensor const& from = at(mProgram.tensors, step.inputs[0]);
        PlanTensor const& to = at(mProgram.tensors, step.outputs[0]);
        if (from.kind == PlanTensorKind::kValues || from.place == to.place || from.layout != to.layout
            || from.dtype != to.dtype)
            return badArgument(
                "a transfer from tensor '{}' to '{}' does not bring it across as it is", from.name, to.name);
        return Done{};
    }

    //! A list without values is of either kind.
    Result<Done> checkKinds(PlanStep const& step, PlanTensor const& input) const
    {
        bool const takesReals = writesReals(step);
        if (input.kind == PlanTensorKind::kValues && !input.extents.empty() && hasRealValues(input) != takesReals)
            return badArgument(
                "it takes the values of tensor '{}' for {}", input.name, takesReals ? "real numbers" : "integers");
        return Done{};
    }

    Result<Done> checkProduct(PlanStep const& step, size_t position, int32_t index) const
    {
        int32_t const symbol = step.produces[position];
        if (!isIndex(symbol, mProgram.symbols) || at(mProgram.symbols, symbol).kind != PlanSymbolKind::kData
            || at(mProgram.symbols, symbol).source != index
            || at(mProgram.symbols, symbol).index != static_cast<int64_t>(position))
            return badArgument("it produces {}, which is not a symbol of its own", symbol);
        return Done{};
    }

    Result<Done> checkInput(int32_t input, int32_t index)
    {
        if (!isIndex(input, mProgram.tensors))
            return badArgument("it reads the unknown tensor {}", input);
        PlanTensor const& tensor = at(mProgram.tensors, input);
        int32_t const root = rootOf(mProgram, input);
        PlanTensor const& memory = at(mProgram.tensors, root);
        bool const made = memory.kind == PlanTensorKind::kActivation
            || (memory.kind == PlanTensorKind::kIO && !at(mPlan.io, memory.index).isInput);
        if (made && !mWritten.isWritten(root))
            return badArgument("it reads tensor '{}' before a step has written it{}", tensor.name, onEachWay(root));
        for (int32_t const reg : tensor.extents)
            if (at(mKnownAfter, reg) >= index)
                return badArgument("an extent of tensor '{}' is not known before it", tensor.name);
        mLastRead[static_cast<size_t>(root)] = index;
        return Done{};
    }

    Result<Done> checkOutput(int32_t output, int32_t index)
    {
        if (!isIndex(output, mProgram.tensors))
            return badArgument("it writes the unknown tensor {}", output);
        PlanTensor const& tensor = at(mProgram.tensors, output);
        int32_t const root = rootOf(mProgram, output);
        PlanTensor const& memory = at(mProgram.tensors, root);
        bool const writable = memory.kind == PlanTensorKind::kActivation
            || (memory.kind == PlanTensorKind::kIO && !at(mPlan.io, memory.index).isInput);
        if (!writable)
            return badArgument("it writes tensor '{}', which is an input or a constant", tensor.name);
        bool const isAgain = mWriter[static_cast<size_t>(root)] >= 0 || mLastRead[static_cast<size_t>(root)] >= 0;
        // Rounds of a loop write again what they carry, and each branch of a conditional writes its outputs.
        if (isAgain && !mWritten.isControlled())
            return badArgument("it writes tensor '{}', which has been written or read before", tensor.name);
        for (PlanTensor const* each : {&tensor, isPartOf(output) ? &tensor : &memory})
            for (int32_t const reg : each->extents)
                if (at(mKnownAfter, reg) > index)
                    return badArgument("an extent of tensor '{}' is not known when it runs", tensor.name);
        mWriter[static_cast<size_t>(root)] = index;
        mWritten.write(root, isPartOf(output));
        return Done{};
    }

    //! The end of a sentence about memory that is not surely written.
    char const* onEachWay(int32_t root) const
    {
        return at(mWriter, root) < 0 ? "" : " on each way that loops and conditionals may go";
    }

    bool isPartOf(int32_t tensor) const
    {
        while (at(mProgram.tensors, tensor).kind == PlanTensorKind::kView)
            tensor = at(mProgram.tensors, tensor).index;
        return at(mProgram.tensors, tensor).kind == PlanTensorKind::kPart;
    }

    //! Memory is shared only with an input that nobody reads afterwards.
    Result<Done> checkInPlace() const
    {
        for (size_t i = 0; i < mProgram.steps.size(); ++i)
        {
            cancellationPoint();
            PlanStep const& step = mProgram.steps[i];
            std::set<int32_t> used;
            for (auto const& [output, input] : step.inPlace)
            {
                if (!isIndex(output, step.outputs) || !isIndex(input, step.inputs) || at(step.inputs, input) < 0)
                    return badArgument("step '{}' shares memory of unknown operands", step.name);
                int32_t const root = rootOf(mProgram, at(step.inputs, input));
                bool const fresh = used.insert(-1 - output).second && used.insert(root).second;
                if (!fresh || at(mLastRead, root) != static_cast<int64_t>(i))
                    return badArgument("step '{}' writes over input {}, which is needed still", step.name, input);
            }
        }
        return Done{};
    }

    Result<Done> checkOutputs() const
    {
        for (size_t i = 0; i < mPlan.io.size(); ++i)
        {
            if (mPlan.io[i].isInput)
                continue;
            int32_t const tensor = mTensorOfIO[i];
            if (tensor < 0 || at(mWriter, tensor) < 0)
                return badArgument("no step writes output '{}'", mPlan.io[i].name);
            if (!mWritten.isWritten(tensor))
                return badArgument("no step writes output '{}'{}", mPlan.io[i].name, onEachWay(tensor));
        }
        return Done{};
    }

    Plan const& mPlan;
    Program const& mProgram;
    std::vector<bool> mReal; //!< By register.
    std::vector<int32_t> mKnownAfter;
    std::vector<int32_t> mTensorOfIO;
    std::vector<int32_t> mWriter; //!< By root: the last step so far that writes it, on whichever way.
    WrittenTensors mWritten;
    std::vector<int32_t> mLastRead; //!< By root: the last step that reads it.
};
} // namespace

Result<Done> checkProgram(Plan const& plan, Program const& program)
{
    return Checker{plan, program}.check();
}

int32_t rootOf(Program const& program, int32_t index) noexcept
{
    constexpr int32_t kLongestChain{1024};
    for (int32_t i = 0; i < kLongestChain; ++i)
    {
        if (!isIndex(index, program.tensors))
            return -1;
        PlanTensor const& tensor = at(program.tensors, index);
        if (tensor.kind != PlanTensorKind::kView && tensor.kind != PlanTensorKind::kPart)
            return index;
        index = tensor.index;
    }
    return -1;
}

std::vector<int32_t> knownAfter(Program const& program)
{
    std::vector<int32_t> after;
    after.reserve(program.symbols.size() + program.shapes.size());
    for (PlanSymbol const& symbol : program.symbols)
        after.push_back(symbol.kind == PlanSymbolKind::kData ? symbol.source : -1);
    for (PlanShapeInstruction const& x : program.shapes)
        after.push_back(overOperands(x, after));
    return after;
}

std::vector<int32_t> evaluationOrder(Program const& program)
{
    std::vector<int32_t> const highest = highestData(program);
    std::vector<int32_t> order(highest.size());
    std::iota(order.begin(), order.end(), 0);
    // A bound uses lower kData symbols only; within one group a symbol comes first, then instructions as they stand.
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return at(highest, a) < at(highest, b); });
    return order;
}

} // namespace tenon
