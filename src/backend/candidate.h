// Candidate: one way of running a layer on a backend, with what it accepts, what it costs, and how it is stored.
#pragma once

#include "backend/target.h"
#include "base/code.h"
#include "base/layout.h"
#include "device/kernel.h"
#include "ir/graph.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tenon
{

//! A node that wants a kernel.
struct Problem
{
    Graph const* graph{nullptr};
    Node const* node{nullptr};
    //! Extents that estimates use for each symbol: those of the profile's kOPT.
    std::span<int64_t const> typical;
    Target const* target{nullptr}; //!< What the plan is made for.

    Layer const& layer() const
    {
        return *node->layer;
    }
    template <typename L>
    L const& fields() const
    {
        return *as<L>(*node->layer);
    }
    bool hasInput(size_t i) const
    {
        return node->input(i) != kNone;
    }
    TensorType const& input(size_t i) const
    {
        return graph->typeOf(node->inputs.at(i));
    }
    TensorType const& output(size_t i = 0) const
    {
        return graph->typeOf(node->outputs.at(i));
    }
    Constant const* constant(size_t i) const
    {
        return graph->constantOf(node->input(i));
    }
    std::vector<int64_t> typicalExtents(TensorType const& type) const
    {
        std::vector<int64_t> extents;
        for (ShapeExpr const& extent : type.shape)
            extents.push_back(extent.evaluate(typical));
        return extents;
    }
};

//! Bytes of all tensors of a node at the typical shape.
double bytesOf(Problem const& problem);
//! Estimated microseconds of so many multiplications with additions and bytes moved, on one thread of a host.
double costOf(Problem const& problem, double multiplications, double bytes);

//! Whether the bit of an input is set in a mask of unread ones. Inputs beyond the mask are read.
constexpr bool isUnreadIn(uint32_t unread, size_t input) noexcept
{
    return input < 32 && (unread >> input & 1U) != 0;
}

//! One way of arranging a candidate's operands. The planner weighs offers against the reorders they cause.
struct Offer
{
    std::string candidate;
    std::vector<Layout> inputs;  //!< One per input of the node; constants are packed by build, their entry is ignored.
    std::vector<Layout> outputs; //!< One per output.
    double cost{0.0};            //!< Estimated microseconds at the typical shape, one thread.
    std::vector<std::pair<int32_t, int32_t>> inPlace; //!< (output, input) that may share memory.
    int64_t tactic{0};
    uint32_t unread{0};          //!< Bit i: input i matters for shapes only and is not read when the step runs.
    bool isView{false};          //!< Output 0 is input 0's memory under another shape: no kernel runs.
    Place place{Place::kDevice}; //!< Of step and operands; the table says it.

    bool isUnread(size_t input) const noexcept
    {
        return isUnreadIn(unread, input);
    }
};

struct Refusal
{
    std::string candidate;
    std::string reason;
};

struct Offers
{
    std::vector<Offer> accepted;
    std::vector<Refusal> refused;
};

//! A constant operand in the form that the kernel wants; `packing` names how to undo it (empty: row-major).
struct PackedWeight
{
    int32_t input{0};
    std::string packing;
    std::shared_ptr<Constant const> data; //!< Element type and logical extents of the original; memory as packed.
    size_t bytes{0};                      //!< Size as packed.
};

//! Code that a kernel was compiled to for its step.
struct MadeCode
{
    std::string name; //!< For people, who see what a plan carries.
    CodeForm form{CodeForm::kDeviceBinary};
    std::string target; //!< Architecture that the code is for, as Target::architecture says it.
    std::shared_ptr<Bytes const> bytes;
};

//! What a step runs: the device's own kernels alone, code of the plan by its position (a custom layer brought it), or
//! code made for it.
using StepCode = std::variant<std::monostate, int32_t, MadeCode>;

//! What the plan stores for one step.
struct KernelSpec
{
    std::string kernel;
    Bytes args;
    std::vector<PackedWeight> packed; //!< Constants not named here are stored row-major.
    StepCode code{};
};

//! One row of a backend's table. `offers` answers with ways of running the node, or with one reason why not.
struct Candidate
{
    std::string_view layer; //!< Kind of layer; "*": asked last for every kind.
    std::string_view name;
    std::variant<std::vector<Offer>, Refusal> (*offers)(Problem const& problem);
    Result<KernelSpec> (*build)(Problem const& problem, Offer const& offer);
    Place place{Place::kDevice}; //!< kHost: for targets with memory of their own, a kernel that the host runs.
};

inline Refusal refuse(std::string_view candidate, std::string reason)
{
    return {std::string{candidate}, std::move(reason)};
}

//! Build-time face of a backend: a table of candidates in order of preference, reference last.
class Backend
{
  public:
    Backend(std::string_view name, std::vector<Candidate> candidates)
        : mName{name},
          mCandidates{std::move(candidates)}
    {
    }
    std::string_view name() const noexcept
    {
        return mName;
    }
    //! Candidates that are asked after those that are there, such as the reference's.
    Backend& append(std::span<Candidate const> candidates, Place place = Place::kDevice);
    std::span<Candidate const> candidates() const noexcept
    {
        return mCandidates;
    }
    //! All offers in order of the table; candidates of the layer's kind first, then those of "*".
    Offers offers(Problem const& problem) const;
    Result<KernelSpec> build(Problem const& problem, Offer const& offer) const;
    //! A reorder from one layout to another as a step of its own: kernel "reorder".
    KernelSpec reorder() const;

  private:
    std::string_view mName;
    std::vector<Candidate> mCandidates;
};

} // namespace tenon
