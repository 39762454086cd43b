// Plan: the artefact that a build gives: I/O, profiles, portable graph, programs per device, weights, decisions.
#pragma once

#include "plan/program.h"

#include "base/code.h"
#include "base/dtype.h" // And nvinfer1::Dims64.
#include "base/sha256.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tenon
{

class PagedMemory;

struct PlanIO
{
    std::string name;
    bool isInput{true};
    bool isShape{false}; //!< Shape tensor: lives on the host.
    DType dtype{DType::kFLOAT};
    nvinfer1::Dims64 dims{}; //!< −1: known at run time.
    int32_t graphValue{-1};
    uint32_t formats{1}; //!< That the user allows.
    std::vector<std::string> dimensionNames;
    Layout layout{Layout::kLinear}; //!< In the user's memory; one of those that the formats allow.
    bool isDirect{false};           //!< For the planner: no reorder between it and a layer, if there is another way.
};

//! Bounds of one input in one profile.
struct PlanProfileInput
{
    int32_t io{0};
    nvinfer1::Dims64 min{};
    nvinfer1::Dims64 opt{};
    nvinfer1::Dims64 max{};
    std::vector<int64_t> minValues; //!< Shape tensors only.
    std::vector<int64_t> optValues;
    std::vector<int64_t> maxValues;
    bool isNarrow{false}; //!< Values were given as 32 bits, and are asked for so (rule F3).
};

struct PlanProfile
{
    std::vector<PlanProfileInput> inputs;
};

//! Each weight stands once, in the form that the program uses.
struct PlanWeight
{
    DType dtype{DType::kFLOAT};
    std::vector<int64_t> extents; //!< Logical.
    std::string packing;          //!< Empty: row-major.
    uint64_t bytes{0};            //!< As stored.
    void const* data{nullptr};    //!< Into the blob or, while building, into memory of the builder.
    std::shared_ptr<void const> owner;
    std::string name;
    std::vector<int32_t> refit{}; //!< Entries of PlanRefit::weights that it comes from; a refit gives all of them anew.

    //! Left out of the plan: a refit must give it before anything runs.
    bool isStripped() const noexcept
    {
        return data == nullptr && bytes > 0;
    }
};

//! One node of the portable graph, the graph after all passes.
struct PlanNode
{
    std::string layer; //!< Kind.
    Bytes fields;
    std::string name;
    std::vector<std::string> origins;
    std::vector<int32_t> inputs; //!< Graph values; −1: absent.
    std::vector<int32_t> outputs;
    std::vector<int32_t> bodies; //!< Of a loop or conditional: positions among the graph's bodies.
};

//! A graph that a node runs. Its values stand in the one table of values.
struct PlanBody
{
    int32_t first{0}; //!< Node.
    int32_t count{0};
    std::vector<int32_t> inputs;
    std::vector<int32_t> outputs;
};

struct PlanValue
{
    std::string name;
    int32_t weight{-1}; //!< Weight table entry when constant.
};

struct PlanGraph
{
    std::vector<PlanNode> nodes; //!< In topological order: the network's own, then those of each body.
    std::vector<PlanValue> values;
    std::vector<PlanBody> bodies; //!< A body stands behind the node that runs it.

    size_t ownNodes() const noexcept
    {
        return bodies.empty() ? nodes.size() : static_cast<size_t>(bodies.front().first);
    }
};

//! Where a layer of the user's network uses weights.
struct PlanWeightsUse
{
    std::string layer;
    int32_t role{0}; //!< An nvinfer1::WeightsRole.
};

//! Weights of the user that a refit can replace.
struct PlanRefitWeights
{
    std::string name; //!< Empty: they have none.
    DType dtype{DType::kFLOAT};
    int64_t count{0};
    std::vector<PlanWeightsUse> uses;
    int32_t fixed{-1}; //!< Weight table entry of the values that the program is made for; −1: for any.
};

//! A value of the source graph that comes from such weights.
struct PlanRefitConstant
{
    int32_t value{0};
    int32_t weights{0};
    std::vector<int64_t> extents;
};

//! The graph before all passes: with other weights, planning it again gives the program's own in their forms.
struct PlanRefit
{
    PlanGraph graph;
    std::vector<PlanRefitConstant> constants;
    std::vector<int32_t> io; //!< By I/O tensor: the value that it is.
    std::vector<PlanRefitWeights> weights;
};

//! A fusion, refusal, tactic or reformat with its reason.
struct PlanDecision
{
    std::string kind; //!< "fuse", "refuse", "tactic", "reorder", "fold", …
    std::string layer;
    std::string text;
};

struct PlanPlugin
{
    std::string name;
    std::string version;
    std::string nameSpace;
    std::string library;    //!< Information only; never opened.
    std::string generation; //!< "V3"; information only.
};

//! Code that a plugin supplied while building, or that a kernel was compiled to. Host objects are loaded only after the
//! user has allowed code of plans.
struct PlanCode
{
    std::string name; //!< Of the plugin and its kernel.
    CodeForm form{CodeForm::kHostObject};
    std::string target; //!< Architecture that it is for: "x86-64", "sm_90".
    Sha256 sha256{};
    uint64_t bytes{0};
    void const* data{nullptr}; //!< Into the blob or, while building, into memory of the builder.
    std::shared_ptr<void const> owner;
};

//! What the user noted at a layer (its metadata).
struct PlanNote
{
    std::string layer;
    std::string text;
};

enum class PlanBatchMode : uint8_t
{
    kExplicit,   //!< The batch is an extent like any other.
    kUndeclared, //!< The same, of a network that was made without saying so.
    kImplicit, //!< Dims of the user leave out extent 0 of each I/O tensor: the batch, or 1 where all samples share it.
};

//! Values of HardwareCompatibilityLevel.
inline constexpr int32_t kCompatibilityLevels{3};

struct PlanBatch
{
    PlanBatchMode mode{PlanBatchMode::kExplicit};
    int32_t most{1}; //!< kImplicit: the largest batch.
};

struct Plan
{
    std::string networkName;
    std::vector<PlanIO> io;
    std::vector<PlanProfile> profiles;
    std::vector<PlanWeight> weights;
    PlanGraph graph;
    std::vector<Program> programs;
    std::vector<PlanDecision> decisions;
    std::vector<PlanPlugin> plugins;
    std::vector<PlanCode> code;
    std::vector<PlanNote> notes; //!< Only where the build was told to be detailed.
    bool debugsUnfused{false};   //!< Every tensor that a step writes can be debugged, under the program's name for it.
    int32_t profilingVerbosity{0};
    int64_t networkLayers{0};
    int32_t maxAuxStreams{-1}; //!< As the user has set it; −1: not at all. Programs that are planned later keep to it.
    PlanBatch batch;
    std::optional<PlanRefit> refit;           //!< None: its weights stay as they are.
    std::vector<int64_t> memoryPerProfile;    //!< Arena bytes at each profile's kMAX.
    std::shared_ptr<void const> blob;         //!< Keeps that memory alive; null while building.
    bool keepsEntriesApart{false};            //!< Of a batch, to the last bit (kDISTRIBUTIVE_INDEPENDENCE).
    bool streamsWeights{false};               //!< Weights may leave memory between the steps that read them.
    int32_t compatibility{0};                 //!< Which other GPUs the programs run on: a HardwareCompatibilityLevel.
    std::shared_ptr<PagedMemory const> pages; //!< What the blob stands in where they do; else null.
};

//! Leaves out the data of all weights that a refit can give.
void stripWeights(Plan& plan) noexcept;

//! The plan as one blob: header, checksummed sections, page-aligned weights.
Result<Bytes> writePlan(Plan const& plan);
//! Checks everything that can be checked without a device. Weights point into the blob, which `owner` keeps alive.
Result<Plan> readPlan(ByteView blob, std::shared_ptr<void const> owner);
//! The same for one whose weights are streamed.
Result<Plan> readPlan(std::shared_ptr<PagedMemory> const& pages);
//! What readPlan checks of the plain data; for plans that come from a planner in the same process.
Result<Done> checkPlan(Plan const& plan);

struct PlanFile
{
    ByteView bytes;
    std::shared_ptr<void const> owner;  //!< Frees them when the last copy goes.
    std::shared_ptr<PagedMemory> pages; //!< The owner, where the plan's weights are streamed.
};
//! A plain file of any size, in memory that nothing done to the file afterwards can change. A plan whose weights are
//! streamed goes to the folder instead, where there is one to name.
Result<PlanFile> readPlanFile(std::string const& path, std::string const* folder = nullptr);

} // namespace tenon
