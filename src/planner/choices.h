// Choices: the offers for each node that may become a step, and the one that is taken.
#pragma once

#include "backend/candidate.h"
#include "plan/plan.h"

#include <vector>

namespace tenon::planner
{

struct Choice
{
    NodeId node{kNone};
    std::vector<Offer> offers;
    std::vector<Refusal> refused;
    size_t selected{0};
    bool isTimed{false}; //!< Its offers have run; the reference is not among them where another one has.
    //! Microseconds by which the network runs faster for it, with all of its kind, than with what was fastest alone.
    double contextGain{0.0};

    Offer const& offer() const
    {
        return offers.at(selected);
    }
};

//! The choices of a graph by node.
class Choices
{
  public:
    void add(Choice choice)
    {
        if (mIndex.size() <= static_cast<size_t>(choice.node))
            mIndex.resize(static_cast<size_t>(choice.node) + 1, -1);
        mIndex[static_cast<size_t>(choice.node)] = static_cast<int32_t>(mAll.size());
        mAll.push_back(std::move(choice));
    }
    Choice const* of(NodeId node) const
    {
        if (node < 0 || static_cast<size_t>(node) >= mIndex.size() || mIndex[static_cast<size_t>(node)] < 0)
            return nullptr;
        return &mAll[static_cast<size_t>(mIndex[static_cast<size_t>(node)])];
    }
    std::vector<Choice>& all()
    {
        return mAll;
    }
    std::vector<Choice> const& all() const
    {
        return mAll;
    }

  private:
    std::vector<Choice> mAll; //!< In graph order.
    std::vector<int32_t> mIndex;
};

//! True when the contents are known before the run and a step can write them: no node runs for it.
bool hasKnownContents(Value const& value);
//! Contents of a shape operand that are known, from the value or from a short integer constant.
std::optional<Shape> knownContents(Value const& value);

//! What the selection weighs beside the costs of the offers, in the same unit. By ValueId, in microseconds.
struct SeamCosts
{
    std::vector<double> reorder;  //!< Of a copy into another layout.
    std::vector<double> transfer; //!< Of a copy to the other place.
    bool isMeasured{false};       //!< Else these and the offers' own are estimates.
};
SeamCosts estimateSeams(Graph const& graph, Target const& target, std::span<int64_t const> typical);

//! Where the network's own tensors are, and how they lie there: shape tensors on the host where places matter.
struct Home
{
    Place place{Place::kDevice};
    Layout layout{Layout::kLinear};
};
struct Homes
{
    std::vector<Home> inputs;  //!< By ValueId; what is no input has none of its own.
    std::vector<Home> outputs; //!< By position among Graph::outputs().
};
Homes homesOf(Graph const& graph, std::vector<PlanIO> const& io, Target const& target);

//! Takes for each node the offer that makes the sum of kernel, reorder and transfer costs small.
void selectOffers(
    Graph const& graph, Target const& target, Homes const& homes, SeamCosts const& seams, Choices& choices);

} // namespace tenon::planner
