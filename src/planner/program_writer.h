// ProgramWriter: writes the tensors and steps of a program from the chosen offers.
#pragma once

#include "ir/decision.h"
#include "planner/build_kernels.h"
#include "planner/choices.h"
#include "planner/code_table.h"
#include "planner/planned_graph.h"
#include "planner/portable_graph.h"
#include "planner/shape_program.h"
#include "planner/symbols.h"
#include "planner/weights.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace tenon::planner
{

//! What all writers of a program read.
struct ProgramSource
{
    Backend const& backend;
    Target const& target;
    AllGraphIds const& ids;
    std::vector<PlanIO> const& io;
    std::span<int64_t const> typical;
    int32_t threads{1}; //!< That costs were measured with, where they were.
};

//! By graph and node: the registers of what a control is told.
using ToldRegisters = std::map<std::tuple<Graph const*, NodeId, Told>, int32_t>;

//! What all writers of a program write.
struct ProgramParts
{
    ProgramParts(ProgramSource const& from, std::vector<PlanSymbol> symbols, std::vector<int32_t> registersOfSymbols,
        ToldRegisters toldRegisters, Weights& weightTable, CodeTable& codeTable, Decisions& decisionLog)
        : source{from},
          registers{std::move(registersOfSymbols)},
          told{std::move(toldRegisters)},
          shapes{registers, static_cast<int32_t>(symbols.size())},
          weights{weightTable},
          code{codeTable},
          decisions{decisionLog}
    {
        program.device = from.target.device;
        if (from.target.bindsPrograms)
            program.architecture = from.target.architecture;
        program.symbols = std::move(symbols);
    }
    ProgramSource const& source;
    std::vector<int32_t> registers; //!< By symbol of the graphs.
    ToldRegisters told;
    ShapeProgram shapes;
    Weights& weights;
    CodeTable& code;
    Decisions& decisions;
    Program program;
    std::map<std::tuple<int32_t, std::vector<int64_t>, Place>, int32_t> weightTensors;
};

//! The steps of one graph. Those of a body are written by one of its own, and put where the layer stands that runs it.
class ProgramWriter
{
  public:
    ProgramWriter(ProgramParts& parts, PlannedGraph& planned);

    //! Of the network's graph.
    Result<Program> write();

  private:
    //! In which form a value has a tensor.
    struct Form
    {
        Layout layout{Layout::kLinear};
        Place place{Place::kDevice};
        auto operator<=>(Form const&) const = default;
    };
    using Key = std::pair<ValueId, Form>;

    std::vector<Choice const*> inRunningOrder() const;
    Result<Done> addNodes(std::vector<Choice const*> const& order);
    void addInputs();
    void placeOutputs();
    bool placeIn(int32_t target, ValueId value, Form form);
    bool followViews(std::vector<Key>& chain) const;
    Result<Done> addNode(Choice const& choice);
    Layout layoutOfOperand(Offer const& offer, ValueId input, size_t operand) const;
    Result<Done> addOperands(Choice const& choice, KernelSpec const& spec, PlanStep& step);
    void addResults(Choice const& choice, PlanStep& step);
    void tellSymbols(Node const& node, PlanStep& step);
    void addView(Choice const& choice);
    Result<Done> finishOutputs();
    void writeOutput(GraphOutput const& output, Home const& home);
    void copyIntoOutput(GraphOutput const& output, Form form, PlanStep& step);

    //! What the value's own tensor has: the network's where it is an input, else its producer's choice.
    Form producedAs(ValueId value) const;
    //! The value in this form; what it takes to bring it there is added.
    int32_t tensorOf(ValueId value, Form form);
    int32_t reordered(ValueId value, Layout layout);
    int32_t transferred(ValueId value, Form form);
    void addTransfer(int32_t source, int32_t target, std::string name);
    int32_t materialised(ValueId value, Place place);
    int32_t valuesTensor(ValueId value, Shape const& contents);
    int32_t weightTensor(ValueId value, int32_t weight, Place place);
    int32_t addTensor(PlanTensor tensor);
    PlanTensor describe(ValueId value, PlanTensorKind kind, Form form);
    void note(std::string kind, std::string layer, std::string text);
    //! Of one thread. What was measured on several is taken for their share of it.
    float storedCost(double microseconds) const noexcept
    {
        double const threads = mPlanned.seams.isMeasured ? static_cast<double>(mSource.threads) : 1.0;
        return static_cast<float>(std::clamp(microseconds * threads, 0.0, 1e9));
    }
    char const* costWord() const noexcept
    {
        return mPlanned.seams.isMeasured ? "measured" : "about";
    }

    // ---- Loops and conditionals (control_writer.cpp).
    //! The writer of body `position` of a node, for which this one makes what it captures.
    ProgramWriter inside(Node const& node, size_t position);
    Result<Done> addControl(Choice const& choice);
    Result<Done> addLoop(Node const& node);
    Result<Done> addConditional(Node const& node);
    //! Register of a value that decides how the run goes on: known before, or told by a step.
    int32_t decisionOf(Node const& control, Told kind, ValueId value);
    void addCarried(Node const& node, LoopForm const& form, ProgramWriter& body);
    void addWalked(Node const& node, LoopForm const& form, ProgramWriter& body, PlanControl& control);
    //! Tensors of joined values inside, one per output.
    std::vector<int32_t> addJoined(Node const& node, LoopForm const& form, ProgramWriter& body, PlanControl& control);
    void leaveLoop(Node const& node, LoopForm const& form, ProgramWriter const& body);
    Result<Done> writeRound(
        Node const& node, LoopForm const& form, std::vector<int32_t> const& joined, PlanControl& control);
    void carryOver(LoopForm const& form);
    std::vector<Choice const*> madeFor(ValueId value) const;
    //! Where the branches of a conditional put an output; `isTold`: they tell some of its extents.
    int32_t outputOfBranches(ValueId output, bool isTold);
    Result<Done> writeBranch(std::vector<int32_t> const& targets);
    void copyInto(int32_t target, ValueId value, std::string name);
    void append(ProgramWriter& body, PlanControl& control);

    ProgramParts& mParts;
    PlannedGraph& mPlanned;
    ProgramSource const& mSource;
    Graph const& mGraph;
    GraphIds const& mIds;
    BindingIndex mBindings;
    std::vector<PlanStep> mSteps;
    std::vector<PlanControl> mControls;             //!< Steps count from the first of mSteps.
    std::vector<std::pair<int32_t, int32_t>> mTold; //!< Registers of kData symbols, and the steps that tell them.
    std::map<Key, int32_t> mTensors;
    std::map<ValueId, Form> mProduced;
    std::map<ValueId, int32_t> mValues; //!< Shape operands.
    std::set<std::string> mWritten;     //!< Outputs that a step writes already.
    ProgramWriter* mOuter{nullptr};
    std::map<ValueId, ValueId> mCaptured; //!< Inputs of a body that are the outer graph's values.
};

} // namespace tenon::planner
