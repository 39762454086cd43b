// ProgramWriter: writes the tensors and steps of a program from the chosen offers.
#pragma once

#include "ir/decision.h"
#include "planner/build_kernels.h"
#include "planner/choices.h"
#include "planner/code_table.h"
#include "planner/needed.h"
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

//! What the writer reads.
struct ProgramSource
{
    Graph const& graph;
    Backend const& backend;
    Target const& target;
    Choices const& choices;
    Homes const& homes;
    SeamCosts const& seams;
    Needed const& needed;
    GraphIds const& ids;
    std::vector<PlanIO> const& io;
    std::span<int64_t const> typical;
    int32_t threads{1}; //!< That costs were measured with, where they were.
};

class ProgramWriter
{
  public:
    ProgramWriter(ProgramSource const& source, std::vector<PlanSymbol> symbols, std::vector<int32_t> registers,
        Kernels kernels, Weights& weights, CodeTable& code, Decisions& decisions);

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
    void addInputs();
    void placeOutputs();
    bool followViews(std::vector<Key>& chain) const;
    Result<Done> addNode(Choice const& choice);
    Result<Done> addOperands(Choice const& choice, KernelSpec const& spec, PlanStep& step);
    void addResults(Choice const& choice, PlanStep& step);
    void tellSymbols(Node const& node, PlanStep& step);
    void addView(Choice const& choice);
    Result<Done> finishOutputs();
    void writeOutput(GraphOutput const& output, Place home);
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
        double const threads = mSource.seams.isMeasured ? static_cast<double>(mSource.threads) : 1.0;
        return static_cast<float>(std::clamp(microseconds * threads, 0.0, 1e9));
    }
    char const* costWord() const noexcept
    {
        return mSource.seams.isMeasured ? "measured" : "about";
    }

    ProgramSource const& mSource;
    Graph const& mGraph;
    BindingIndex mBindings;
    Kernels mKernels;
    Weights& mWeights;
    CodeTable& mCode;
    Decisions& mDecisions;
    std::vector<int32_t> mRegisters;
    ShapeProgram mShapes;
    Program mProgram;
    std::map<Key, int32_t> mTensors;
    std::map<ValueId, Form> mProduced;
    std::map<ValueId, int32_t> mValues; //!< Shape operands.
    std::map<std::tuple<int32_t, std::vector<int64_t>, Place>, int32_t> mWeightTensors;
    std::set<std::string> mWritten; //!< Outputs that a step writes already.
};

} // namespace tenon::planner
