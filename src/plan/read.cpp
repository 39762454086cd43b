// readPlan: from untrusted bytes to a checked plan.
#include "plan/format.h"
#include "plan/paged_memory.h"
#include "plan/plan.h"
#include "plan/plan_generated.h"
#include "plan/plan_memory.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace tenon
{

namespace
{
namespace fb = flatbuffers;

constexpr uint32_t kMaxDepth{16};
constexpr uint32_t kMaxTables{4'000'000};
constexpr uint64_t kFixedBudget{1 << 20};
constexpr uint64_t kUnfolding{16}; //!< Structs of ours per byte stored, generously.
constexpr size_t kAlignment{16};   //!< What vector loads of weights rely on; malloc gives it.

//! Unfolds the tables. FlatBuffers may share one vector among many tables, so that a small file could unfold to
//! terabytes: a budget bounds what is copied.
class Reader
{
  public:
    explicit Reader(uint64_t budget)
        : mBudget{budget}
    {
    }

    Result<Plan> read(stored::Plan const& x, PlanSections const& sections, std::shared_ptr<void const> const& owner)
    {
        Plan plan;
        plan.networkName = stringOf(x.network_name());
        plan.io = TENON_TRY(tablesOf<PlanIO>(x.io(), [&](auto const& y) { return read(y); }));
        plan.profiles = TENON_TRY(tablesOf<PlanProfile>(x.profiles(), [&](auto const& y) { return read(y); }));
        plan.weights = TENON_TRY(
            tablesOf<PlanWeight>(x.weights(), [&](auto const& y) { return readWeight(y, sections.weights, owner); }));
        plan.graph.nodes = TENON_TRY(tablesOf<PlanNode>(x.nodes(), [&](auto const& y) { return read(y); }));
        plan.graph.values = TENON_TRY(tablesOf<PlanValue>(x.values(), [&](auto const& y) -> Result<PlanValue> {
            return PlanValue{stringOf(y.name()), y.weight()};
        }));
        plan.graph.bodies = TENON_TRY(tablesOf<PlanBody>(x.bodies(), [&](auto const& y) { return read(y); }));
        plan.programs = TENON_TRY(tablesOf<Program>(x.programs(), [&](auto const& y) { return read(y); }));
        plan.decisions = TENON_TRY(tablesOf<PlanDecision>(x.decisions(), [&](auto const& y) -> Result<PlanDecision> {
            return PlanDecision{stringOf(y.kind()), stringOf(y.layer()), stringOf(y.text())};
        }));
        plan.plugins = TENON_TRY(tablesOf<PlanPlugin>(x.plugins(), [&](auto const& y) -> Result<PlanPlugin> {
            return PlanPlugin{stringOf(y.name()), stringOf(y.version()), stringOf(y.name_space()),
                stringOf(y.library()), stringOf(y.generation())};
        }));
        plan.profilingVerbosity = x.profiling_verbosity();
        plan.networkLayers = x.network_layers();
        plan.batch = {static_cast<PlanBatchMode>(x.batch_mode()), x.max_batch()};
        plan.maxAuxStreams = x.max_aux_streams();
        plan.memoryPerProfile = listOf(x.memory_per_profile());
        plan.code =
            TENON_TRY(tablesOf<PlanCode>(x.code(), [&](auto const& y) { return readCode(y, sections.code, owner); }));
        plan.notes = TENON_TRY(tablesOf<PlanNote>(x.notes(), [&](auto const& y) -> Result<PlanNote> {
            return PlanNote{stringOf(y.layer()), stringOf(y.text())};
        }));
        plan.debugsUnfused = x.debugs_unfused();
        plan.keepsEntriesApart = x.entries_apart();
        plan.compatibility = x.compatibility();
        if (x.refit() != nullptr)
            plan.refit = TENON_TRY(read(*x.refit()));
        plan.blob = owner;
        if (mSpent > mBudget)
            return badArgument("plan is damaged: its metadata would unfold to more than {} bytes", mBudget);
        return plan;
    }

  private:
    bool spend(uint64_t bytes)
    {
        mSpent += bytes;
        return mSpent <= mBudget;
    }

    std::string stringOf(fb::String const* text)
    {
        return text == nullptr || !spend(text->size()) ? std::string{} : text->str();
    }

    template <typename T>
    std::vector<T> listOf(fb::Vector<T> const* list)
    {
        if (list == nullptr || !spend(list->size() * sizeof(T)))
            return {};
        std::vector<T> values(list->size());
        if (!values.empty()) // The verifier leaves elements of 8 bytes at addresses of 4: copy, never load.
            std::memcpy(values.data(), list->Data(), values.size() * sizeof(T));
        return values;
    }

    std::vector<std::string> textsOf(fb::Vector<fb::Offset<fb::String>> const* list)
    {
        std::vector<std::string> texts;
        if (list == nullptr || !spend(list->size() * sizeof(std::string)))
            return texts;
        texts.reserve(list->size());
        for (fb::String const* text : *list)
            texts.push_back(stringOf(text));
        return texts;
    }

    //! Applies `readOne` to every table of a list that may be absent.
    template <typename T, typename Table, typename Read>
    Result<std::vector<T>> tablesOf(fb::Vector<fb::Offset<Table>> const* list, Read&& readOne)
    {
        std::vector<T> values;
        if (list == nullptr || !spend(list->size() * sizeof(T)))
            return values;
        values.reserve(list->size());
        for (Table const* table : *list)
            values.push_back(TENON_TRY(readOne(*table)));
        return values;
    }

    Result<nvinfer1::Dims64> dimsOf(fb::Vector<int64_t> const* list)
    {
        nvinfer1::Dims64 dims{};
        std::vector<int64_t> const extents = listOf(list);
        if (extents.size() > nvinfer1::Dims64::MAX_DIMS)
            return badArgument("plan has dims of rank {}", extents.size());
        dims.nbDims = static_cast<int32_t>(extents.size());
        std::ranges::copy(extents, dims.d);
        return dims;
    }

    Result<PlanIO> read(stored::IO const& x)
    {
        PlanIO io;
        io.name = stringOf(x.name());
        io.isInput = x.is_input();
        io.isShape = x.is_shape();
        io.dtype = static_cast<DType>(x.dtype());
        io.dims = TENON_TRY(dimsOf(x.dims()));
        io.graphValue = x.graph_value();
        io.formats = x.formats();
        io.dimensionNames = textsOf(x.dimension_names());
        io.layout = static_cast<Layout>(x.layout());
        return io;
    }

    Result<PlanProfileInput> read(stored::ProfileInput const& x)
    {
        PlanProfileInput input;
        input.io = x.io();
        input.min = TENON_TRY(dimsOf(x.min()));
        input.opt = TENON_TRY(dimsOf(x.opt()));
        input.max = TENON_TRY(dimsOf(x.max()));
        input.minValues = listOf(x.min_values());
        input.optValues = listOf(x.opt_values());
        input.maxValues = listOf(x.max_values());
        input.isNarrow = x.narrow_values();
        return input;
    }

    Result<PlanProfile> read(stored::Profile const& x)
    {
        return PlanProfile{TENON_TRY(tablesOf<PlanProfileInput>(x.inputs(), [&](auto const& y) { return read(y); }))};
    }

    Result<PlanRefitWeights> read(stored::RefitWeights const& x)
    {
        PlanRefitWeights weights;
        weights.name = stringOf(x.name());
        weights.dtype = static_cast<DType>(x.dtype());
        weights.count = x.count();
        weights.uses = TENON_TRY(tablesOf<PlanWeightsUse>(x.uses(), [&](auto const& y) -> Result<PlanWeightsUse> {
            return PlanWeightsUse{stringOf(y.layer()), y.role()};
        }));
        weights.fixed = x.fixed();
        return weights;
    }

    Result<PlanRefit> read(stored::Refit const& x)
    {
        PlanRefit refit;
        refit.graph.nodes = TENON_TRY(tablesOf<PlanNode>(x.nodes(), [&](auto const& y) { return read(y); }));
        refit.graph.values = TENON_TRY(tablesOf<PlanValue>(x.values(), [&](auto const& y) -> Result<PlanValue> {
            return PlanValue{stringOf(y.name()), y.weight()};
        }));
        refit.constants =
            TENON_TRY(tablesOf<PlanRefitConstant>(x.constants(), [&](auto const& y) -> Result<PlanRefitConstant> {
                return PlanRefitConstant{y.value(), y.weights(), listOf(y.extents())};
            }));
        refit.io = listOf(x.io());
        refit.weights = TENON_TRY(tablesOf<PlanRefitWeights>(x.weights(), [&](auto const& y) { return read(y); }));
        refit.graph.bodies = TENON_TRY(tablesOf<PlanBody>(x.bodies(), [&](auto const& y) { return read(y); }));
        return refit;
    }

    Result<PlanWeight> readWeight(stored::Weight const& x, ByteView section, std::shared_ptr<void const> const& owner)
    {
        PlanWeight weight;
        weight.dtype = static_cast<DType>(x.dtype());
        weight.extents = listOf(x.extents());
        weight.packing = stringOf(x.packing());
        weight.bytes = x.bytes();
        weight.name = stringOf(x.name());
        weight.owner = owner;
        weight.refit = listOf(x.refit());
        if (x.is_stripped())
            return weight;
        if (x.offset() > section.size() || weight.bytes > section.size() - x.offset())
            return badArgument("weight '{}' of {} bytes at {} lies outside the {} bytes of weights", weight.name,
                weight.bytes, x.offset(), section.size());
        if (x.offset() % kWeightAlignment != 0)
            return badArgument("weight '{}' at {} is not aligned to {}", weight.name, x.offset(), kWeightAlignment);
        weight.data = section.data() + x.offset();
        return weight;
    }

    Result<PlanCode> readCode(stored::Code const& x, ByteView section, std::shared_ptr<void const> const& owner)
    {
        PlanCode code;
        code.name = stringOf(x.name());
        code.form = static_cast<CodeForm>(x.form());
        code.target = stringOf(x.target());
        code.bytes = x.bytes();
        code.owner = owner;
        if (x.offset() > section.size() || code.bytes > section.size() - x.offset())
            return badArgument("code '{}' of {} bytes at {} lies outside the {} bytes of code", code.name, code.bytes,
                x.offset(), section.size());
        code.data = section.data() + x.offset();
        if (!spend(code.bytes)) // Entries may overlap: hashing all of them must not take forever.
            return badArgument("plan is damaged: its entries of code are longer than its code");
        std::vector<uint8_t> const digest = listOf(x.sha256());
        code.sha256 = sha256(section.subspan(x.offset(), code.bytes));
        if (!std::ranges::equal(digest, code.sha256))
            return badArgument("code '{}' is not what was stored: its SHA-256 is {}", code.name, hexOf(code.sha256));
        return code;
    }

    Result<PlanBody> read(stored::Body const& x)
    {
        return PlanBody{x.first(), x.count(), listOf(x.inputs()), listOf(x.outputs())};
    }

    Result<PlanNode> read(stored::Node const& x)
    {
        return PlanNode{stringOf(x.layer()), listOf(x.fields()), stringOf(x.name()), textsOf(x.origins()),
            listOf(x.inputs()), listOf(x.outputs()), listOf(x.bodies())};
    }

    Result<PlanSymbol> read(stored::Symbol const& x)
    {
        return PlanSymbol{static_cast<PlanSymbolKind>(x.kind()), x.source(), x.index(), x.min(), x.max(), x.upper(),
            stringOf(x.name())};
    }

    Result<PlanTensor> read(stored::Tensor const& x)
    {
        return PlanTensor{static_cast<PlanTensorKind>(x.kind()), static_cast<DType>(x.dtype()),
            static_cast<Layout>(x.layout()), x.index(), listOf(x.extents()), x.graph_value(), stringOf(x.name()),
            static_cast<Place>(x.place())};
    }

    Result<PlanStep> read(stored::Step const& x)
    {
        PlanStep step;
        step.kernel = stringOf(x.kernel());
        step.args = listOf(x.args());
        step.inputs = listOf(x.inputs());
        step.outputs = listOf(x.outputs());
        if (x.in_place() != nullptr && spend(x.in_place()->size() * sizeof(stored::Pair)))
            for (stored::Pair const* pair : *x.in_place())
                step.inPlace.emplace_back(pair->first(), pair->second());
        step.produces = listOf(x.produces());
        step.graphNode = x.graph_node();
        step.name = stringOf(x.name());
        step.candidate = stringOf(x.candidate());
        step.tactic = x.tactic();
        step.code = x.code();
        step.stream = x.stream();
        step.isFence = x.is_fence();
        step.cost = x.cost();
        step.place = static_cast<Place>(x.place());
        return step;
    }

    Result<PlanControl> read(stored::Control const& x)
    {
        PlanControl control{.kind = static_cast<PlanControlKind>(x.kind()),
            .first = x.first(),
            .middle = x.middle(),
            .last = x.last(),
            .condition = x.condition(),
            .count = x.count(),
            .parts = {},
            .joins = {},
            .name = stringOf(x.name())};
        if (x.parts() != nullptr && spend(x.parts()->size() * sizeof(PlanPart)))
            for (stored::Part const* part : *x.parts())
                control.parts.push_back({part->tensor(), part->length(), part->from_behind()});
        if (x.joins() != nullptr && spend(x.joins()->size() * sizeof(PlanJoin)))
            for (stored::Join const* join : *x.joins())
                control.joins.push_back({join->symbol(), join->when_true(), join->when_false()});
        return control;
    }

    Result<Program> read(stored::Program const& x)
    {
        Program program;
        program.device = stringOf(x.device());
        program.symbols = TENON_TRY(tablesOf<PlanSymbol>(x.symbols(), [&](auto const& y) { return read(y); }));
        if (x.shapes() != nullptr && spend(x.shapes()->size() * sizeof(PlanShapeInstruction)))
            for (uint32_t i = 0; i < x.shapes()->size(); ++i)
            {
                stored::Instruction y;
                std::memcpy(&y, x.shapes()->Data() + i * sizeof(y), sizeof(y));
                program.shapes.push_back({static_cast<PlanShapeOp>(y.op()), y.a(), y.b(), y.value()});
            }
        program.tensors = TENON_TRY(tablesOf<PlanTensor>(x.tensors(), [&](auto const& y) { return read(y); }));
        program.steps = TENON_TRY(tablesOf<PlanStep>(x.steps(), [&](auto const& y) { return read(y); }));
        program.controls = TENON_TRY(tablesOf<PlanControl>(x.controls(), [&](auto const& y) { return read(y); }));
        program.architecture = stringOf(x.architecture());
        program.libraries = stringOf(x.libraries());
        return program;
    }

    uint64_t mBudget;
    uint64_t mSpent{0};
};

Result<Plan> readSections(PlanSections const& sections, std::shared_ptr<void const> const& owner)
{
    fb::Verifier verifier{sections.metadata.data(), sections.metadata.size(), kMaxDepth, kMaxTables};
    if (!verifier.VerifyBuffer<stored::Plan>())
        return badArgument("plan is damaged: its metadata does not follow the schema");
    stored::Plan const& root = *fb::GetRoot<stored::Plan>(sections.metadata.data());
    Plan plan = TENON_TRY(Reader{kFixedBudget + kUnfolding * sections.metadata.size() + sections.code.size()}.read(
        root, sections, owner));
    TENON_TRY(checkPlan(plan));
    plan.streamsWeights = (sections.flags & kPlanStreamsWeights) != 0;
    return plan;
}
} // namespace

Result<Plan> readPlan(ByteView blob, std::shared_ptr<void const> owner)
{
    if (blob.size() >= sizeof(PlanHeader) && reinterpret_cast<uintptr_t>(blob.data()) % kAlignment != 0)
    {
        std::shared_ptr<PlanMemory> const copy = copyPlan(blob);
        if (copy == nullptr)
            return errorOf(ErrorCode::kFAILED_ALLOCATION, "no memory for the {} bytes of the plan", blob.size());
        return readPlan(copy->bytes(), copy);
    }
    return readSections(TENON_TRY(openPlan(blob)), owner);
}

Result<Plan> readPlan(std::shared_ptr<PagedMemory> const& pages)
{
    Plan plan = TENON_TRY(readSections(TENON_TRY(openPlan(pages->bytes(), pages.get())), pages));
    plan.pages = pages;
    return plan;
}

} // namespace tenon
