// Trials: an offer of a node as a kernel that is ready to run, on tensors of the typical shapes.
#pragma once

#include "base/timed_tactics.h"
#include "device/device.h"
#include "planner/build_kernels.h"

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace tenon::planner
{

struct TimingRequest
{
    KernelRequest kernels;
    Device& device;
    int32_t rounds{1};      //!< Of which the fastest counts.
    int32_t runs{1};        //!< Per round.
    int32_t hostThreads{1}; //!< For kernels that run on the host.
    KnownTimes known;       //!< What it holds is not measured, and it gets what is.
};

//! Called on the thread that asked.
struct TrialListener
{
    std::function<void(size_t trials)> start;
    std::function<bool()> afterTrial; //!< False cancels.
};

//! What two problems must have in common to take the same time, as a text.
class KeyWriter
{
  public:
    void add(std::string_view text);
    void add(int64_t number);
    void add(DType dtype, Layout layout, std::vector<int64_t> const& extents);
    std::string take()
    {
        return std::move(mKey);
    }

  private:
    std::string mKey;
};

//! A kernel that is ready to run, with what it reads as long as it lives.
struct LoadedTrial
{
    KernelSpec spec;
    Bytes fields;
    CodeArg made;
    KernelSource source;
    std::vector<TensorArg> inputs;
    std::vector<TensorArg> outputs;
    std::unique_ptr<Kernel> kernel;
    std::shared_ptr<Prepared const> prepared;
};

//! Makes trials of a graph's nodes.
class Trials
{
  public:
    explicit Trials(TimingRequest const& request);

    //! Whether only running tells what comes out.
    bool isDataDependent(Node const& node) const;
    //! Trials with the same key take the same time.
    std::string keyOf(Node const& node, Offer const& offer) const;
    //! As a step of a program gets it: of an operand that it does not read, it sees the values as extents.
    TensorArg inputArg(Node const& node, Offer const& offer, size_t input) const;
    TensorArg outputArg(Node const& node, Offer const& offer, size_t output) const;
    Result<std::unique_ptr<LoadedTrial>> load(Node const& node, Offer const& offer, KernelSpec spec) const;

  private:
    TensorArg tensorArg(ValueId value, Layout layout, Place place) const;
    WeightArg weightArg(Node const& node, KernelSpec const& spec, size_t input) const;

    TimingRequest const& mRequest;
    Graph const& mGraph;
    std::set<ValueId> mDataDependent; //!< First outputs of such nodes.
};

//! What stands behind all others is by plain loops, which take minutes for large layers: nobody would choose them.
bool isTried(Offer const& offer) noexcept;

//! The error of a device that a kernel has lost: whatever ran behind that one has failed, and says nothing of its own.
Result<Done> stillThere(Device& device);

} // namespace tenon::planner
