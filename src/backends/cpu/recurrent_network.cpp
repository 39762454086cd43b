// RecurrentNetwork: what the inputs give as one product per stretch of steps, then step by step; directions and units
// are shared among the lanes, which meet once per step.
#include "layers/recurrent_network.h"

#include "backends/cpu/isa_functions.h"
#include "backends/cpu/packing.h"
#include "backends/cpu/recurrent_step.h"
#include "backends/cpu/step_kernel.h"

#include <algorithm>
#include <limits>

namespace tenon::cpu
{

namespace
{
Packing packingOfRecurrence(RecurrentNetwork const& layer)
{
    return {Packing::Kind::kRecurrence, layer.gates()};
}

struct LoadedRecurrentNetwork : LoadedLayer<RecurrentNetwork>
{
    PackedOperand inputWeights;
    PackedOperand hiddenWeights;

    Result<Done> load()
    {
        inputWeights = TENON_TRY(PackedOperand::load(kernel, RecurrentNetwork::kW, packingOfRecurrence(layer)));
        hiddenWeights = TENON_TRY(PackedOperand::load(kernel, RecurrentNetwork::kR, packingOfRecurrence(layer)));
        return Done{};
    }
};

RecurrentKind kindOf(RecurrentNetwork const& layer)
{
    switch (layer.cell)
    {
    case RecurrentCell::kRnn: return RecurrentKind::kRnn;
    case RecurrentCell::kGru: return layer.isResetAfter ? RecurrentKind::kGru : RecurrentKind::kGruInParts;
    default: return RecurrentKind::kLstm;
    }
}

GateActivation activationOf(RecurrentActivation const& each)
{
    using nvinfer1::ActivationType;
    switch (each.type)
    {
    case ActivationType::kSIGMOID: return {GateFunction::kSigmoid};
    case ActivationType::kRELU: return {GateFunction::kRelu};
    case ActivationType::kLEAKY_RELU: return {GateFunction::kLeakyRelu, each.alpha};
    case ActivationType::kHARD_SIGMOID: return {GateFunction::kHardSigmoid, each.alpha, each.beta};
    case ActivationType::kSCALED_TANH: return {GateFunction::kScaledTanh, each.alpha, each.beta};
    default: return {GateFunction::kTanh};
    }
}

struct RecurrentShapes
{
    int64_t steps;
    int64_t batch;
    int64_t inputs;
    int64_t hidden;
    int64_t units; //!< `hidden` in whole vectors.
    int64_t gates;
    int64_t directions;
};

//! Floats of one direction, one part behind the other.
struct RecurrentScratch
{
    int64_t sums;
    int64_t bias;
    int64_t hiddenBias;
    int64_t peepholes;
    int64_t hidden; //!< Before and after a step, in turn.
    int64_t state;
    int64_t update;
    int64_t kept;
    int64_t size;

    RecurrentScratch(RecurrentShapes const& s, int64_t stretch)
    {
        int64_t at{0};
        auto const take = [&at](int64_t count) {
            int64_t const here = at;
            at += (count + kPanel - 1) / kPanel * kPanel;
            return here;
        };
        sums = take(stretch * s.batch * s.units * s.gates);
        bias = take(s.units * s.gates);
        hiddenBias = take(s.units);
        peepholes = take(3 * s.units);
        hidden = take(2 * s.batch * s.units);
        state = take(s.batch * s.units);
        update = take(s.batch * s.units);
        kept = take(s.batch * s.units);
        size = at;
    }
};

//! The directions that a lane works on, and those who share them.
struct RecurrentGroup
{
    int64_t firstDirection;
    int64_t lastDirection;
    Lane lane; //!< Among them; it has no barrier of its own.
};

class PreparedRecurrentNetwork final : public HostPrepared
{
  public:
    PreparedRecurrentNetwork(std::shared_ptr<LoadedRecurrentNetwork const> loaded, RecurrentShapes const& shapes,
        size_t inputs, bool areLongLengths)
        : mLoaded{std::move(loaded)},
          mShapes{shapes},
          mStretch{stretchOf(shapes)},
          mScratch{shapes, mStretch},
          mInputs{inputs},
          mAreLongLengths{areLongLengths}
    {
        RecurrentNetwork const& layer = mLoaded->layer;
        mForm.kind = kindOf(layer);
        mForm.isCoupled = layer.isCoupled;
        mForm.clip = layer.clip;
        mForm.batch = shapes.batch;
        mForm.hidden = shapes.hidden;
        mForm.units = shapes.units;
    }
    bool isCollective() const noexcept override
    {
        return true;
    }
    size_t scratchBytes() const noexcept override
    {
        return static_cast<size_t>(mShapes.directions * mScratch.size) * sizeof(float)
            + static_cast<size_t>(mShapes.directions * mShapes.batch) * sizeof(int64_t);
    }
    // Directions that nobody shares need nobody else; the others have a meeting behind each step.
    bool meets(int32_t lanes) const noexcept override
    {
        return lanes > mShapes.directions;
    }
    Result<Done> run(Call const& call, Lane const& lane) const override
    {
        RecurrentGroup const group = groupOf(lane);
        bool const isShared = meets(lane.count);
        bool const isSteppedTogether = isShared && workers(lane.count / mShapes.directions + 1) > 1;
        if (group.lane.index == 0)
            begin(call, group);
        if (isShared)
            lane.barrier();
        for (int64_t first = 0; first < mShapes.steps; first += mStretch)
        {
            int64_t const last = std::min(first + mStretch, mShapes.steps);
            for (int64_t d = group.firstDirection; d < group.lastDirection; ++d)
                multiplyInputs(call, d, first, last, group.lane);
            if (isShared)
                lane.barrier();
            runSteps(call, first, last, group, isSteppedTogether ? &lane : nullptr);
            if (isShared)
                lane.barrier();
        }
        if (group.lane.index == 0)
            end(call, group);
        return Done{};
    }

  private:
    //! Steps whose sums stay in the second cache, about: a few that are left over would read all weights once more.
    static int64_t stretchOf(RecurrentShapes const& s)
    {
        constexpr int64_t kFloats{int64_t{96} << 10};
        constexpr int64_t kLeastRows{48};
        int64_t const rows = std::max(kFloats / std::max<int64_t>(s.units * s.gates, 1), kLeastRows);
        int64_t const steps = std::max<int64_t>(s.steps, 1);
        int64_t const fitting = std::max<int64_t>(rows / std::max<int64_t>(s.batch, 1), 1);
        int64_t const stretches = std::max<int64_t>((steps + fitting / 2) / fitting, 1);
        return (steps + stretches - 1) / stretches;
    }
    //! Lanes of a group that work on steps: a barrier takes as long as some products.
    int64_t workers(int64_t lanes) const
    {
        constexpr int64_t kLeastProducts{int64_t{12} << 10};
        int64_t const products = mShapes.batch * mShapes.hidden * mShapes.hidden * mShapes.gates;
        return std::clamp<int64_t>(products / kLeastProducts, 1, std::max<int64_t>(lanes, 1));
    }
    RecurrentGroup groupOf(Lane const& lane) const
    {
        if (mShapes.directions == 1 || lane.count == 1)
            return {0, mShapes.directions, Lane{lane.index, lane.count}};
        int32_t const half = lane.count / 2;
        bool const isFirst = lane.index < half;
        return {isFirst ? 0 : 1, isFirst ? 1 : 2,
            Lane{isFirst ? lane.index : lane.index - half, isFirst ? half : lane.count - half}};
    }
    float* scratchOf(Call const& call, int64_t direction) const
    {
        return static_cast<float*>(call.scratch) + direction * mScratch.size;
    }
    //! Null where there is none.
    template <typename T = float>
    T const* optional(Call const& call, size_t input) const
    {
        return input < mInputs ? static_cast<T const*>(call.inputs[input]) : nullptr;
    }
    //! Of a direction, as 64-bit integers, behind all floats.
    int64_t* lengthsOf(Call const& call, int64_t direction) const
    {
        auto* const behind =
            reinterpret_cast<int64_t*>(static_cast<float*>(call.scratch) + mShapes.directions * mScratch.size);
        return behind + direction * mShapes.batch;
    }
    void begin(Call const& call, RecurrentGroup const& group) const
    {
        for (int64_t d = group.firstDirection; d < group.lastDirection; ++d)
        {
            float* const scratch = scratchOf(call, d);
            putLengths(call, lengthsOf(call, d));
            putBiases(call, d, scratch);
            putRows(optional(call, RecurrentNetwork::kPeepholes), d, 3, scratch + mScratch.peepholes);
            putRows(optional(call, RecurrentNetwork::kFirstHidden), d, mShapes.batch, scratch + mScratch.hidden);
            putRows(optional(call, RecurrentNetwork::kFirstCell), d, mShapes.batch, scratch + mScratch.state);
        }
    }
    void putLengths(Call const& call, int64_t* to) const
    {
        if (auto const* const wide = optional<int64_t>(call, RecurrentNetwork::kLengths);
            wide != nullptr && mAreLongLengths)
            std::copy_n(wide, mShapes.batch, to);
        else if (auto const* const narrow = optional<int32_t>(call, RecurrentNetwork::kLengths); narrow != nullptr)
            std::copy_n(narrow, mShapes.batch, to);
    }
    //! Rows of hidden floats as rows of whole vectors; zeros where there are none.
    void putRows(float const* from, int64_t direction, int64_t rows, float* to) const
    {
        std::fill_n(to, rows * mShapes.units, 0.0F);
        if (from == nullptr)
            return;
        from += direction * rows * mShapes.hidden;
        for (int64_t row = 0; row < rows; ++row)
            std::copy_n(from + row * mShapes.hidden, mShapes.hidden, to + row * mShapes.units);
    }
    //! Both biases of a gate are one, but for the last gate of a GRU whose reset multiplies the second.
    void putBiases(Call const& call, int64_t direction, float* scratch) const
    {
        float* const bias = scratch + mScratch.bias;
        float* const apart = scratch + mScratch.hiddenBias;
        std::fill_n(bias, mShapes.units * mShapes.gates, 0.0F);
        std::fill_n(apart, mShapes.units, 0.0F);
        float const* from = optional(call, RecurrentNetwork::kBias);
        if (from == nullptr)
            return;
        int64_t const width = mShapes.gates * mShapes.hidden;
        from += direction * 2 * width;
        bool const hasApart = mForm.kind == RecurrentKind::kGru;
        for (int64_t gate = 0; gate < mShapes.gates; ++gate)
            for (int64_t j = 0; j < mShapes.hidden; ++j)
            {
                int64_t const at = gate * mShapes.hidden + j;
                float& to = bias[(j / kPanel * mShapes.gates + gate) * kPanel + j % kPanel];
                to = from[at];
                if (hasApart && gate == 2)
                    apart[j] = from[width + at];
                else
                    to += from[width + at];
            }
    }
    //! The first of the steps [first, last) of a direction in the order of memory.
    int64_t firstInMemory(int64_t direction, int64_t first, int64_t last) const
    {
        return mLoaded->layer.isBackward(direction) ? mShapes.steps - last : first;
    }
    void multiplyInputs(Call const& call, int64_t direction, int64_t first, int64_t last, Lane const& lane) const
    {
        float* const scratch = scratchOf(call, direction);
        int64_t const columns = mShapes.units * mShapes.gates;
        Gemm<float> gemm;
        gemm.rows = (last - first) * mShapes.batch;
        gemm.columns = columns;
        gemm.length = mShapes.inputs;
        gemm.aStride = mShapes.inputs;
        gemm.a = static_cast<float const*>(call.inputs[RecurrentNetwork::kX])
            + firstInMemory(direction, first, last) * mShapes.batch * mShapes.inputs;
        gemm.b = mLoaded->inputWeights.data<float>() + direction * columns * mShapes.inputs;
        gemm.c = scratch + mScratch.sums;
        gemm.cStride = columns;
        gemm.bias = scratch + mScratch.bias;
        gemm.low = -std::numeric_limits<float>::infinity();
        gemm.high = std::numeric_limits<float>::infinity();
        storageFunctions<float>().runGemm(
            gemm, shareOf({gemm.rows, columns, gemm.length, gemm.length}, lane.index, lane.count), nullptr);
    }
    //! `team`: who meets after each step; null: nobody does, and one lane of the group does it all.
    void runSteps(Call const& call, int64_t first, int64_t last, RecurrentGroup const& group, Lane const* team) const
    {
        int64_t const lanes = team == nullptr ? 1 : workers(group.lane.count);
        int64_t const index = group.lane.index;
        int64_t const blocks = mShapes.units / kPanel;
        int64_t const begin = index < lanes ? blocks * index / lanes : 0;
        int64_t const end = index < lanes ? blocks * (index + 1) / lanes : 0;
        bool const hasParts = mForm.kind == RecurrentKind::kGruInParts;
        if (team == nullptr && index > 0)
            return;
        // One direction after the other: the weights of both together are more than the second cache keeps.
        for (int64_t d = group.firstDirection; d < group.lastDirection; ++d)
            for (int64_t i = first; i < last; ++i)
                for (int32_t part = 0; part < (hasParts ? 2 : 1); ++part)
                {
                    isaFunctions().runRecurrentStep(stepAt(call, d, i, first, last), part, begin, end);
                    if (team != nullptr)
                        team->barrier();
                }
    }
    RecurrentStep stepAt(Call const& call, int64_t direction, int64_t i, int64_t first, int64_t last) const
    {
        RecurrentNetwork const& layer = mLoaded->layer;
        float* const scratch = scratchOf(call, direction);
        int64_t const rowFloats = mShapes.units * mShapes.gates;
        RecurrentStep step = mForm;
        size_t const count = layer.activationCount();
        for (size_t which = 0; which < count; ++which)
            step.activations[which] = activationOf(layer.activations[static_cast<size_t>(direction) * count + which]);
        step.at = layer.isBackward(direction) ? mShapes.steps - 1 - i : i;
        step.panels = mLoaded->hiddenWeights.data<float>() + direction * rowFloats * mShapes.hidden;
        step.sums =
            scratch + mScratch.sums + (step.at - firstInMemory(direction, first, last)) * mShapes.batch * rowFloats;
        step.hiddenBias = scratch + mScratch.hiddenBias;
        step.peepholes =
            optional(call, RecurrentNetwork::kPeepholes) == nullptr ? nullptr : scratch + mScratch.peepholes;
        int64_t const states = mShapes.batch * mShapes.units;
        step.before = scratch + mScratch.hidden + i % 2 * states;
        step.after = scratch + mScratch.hidden + (i + 1) % 2 * states;
        step.state = scratch + mScratch.state;
        step.update = scratch + mScratch.update;
        step.kept = scratch + mScratch.kept;
        step.out = static_cast<float*>(call.outputs[0])
            + (step.at * mShapes.directions + direction) * mShapes.batch * mShapes.hidden;
        step.lengths = optional(call, RecurrentNetwork::kLengths) == nullptr ? nullptr : lengthsOf(call, direction);
        return step;
    }
    void end(Call const& call, RecurrentGroup const& group) const
    {
        int64_t const states = mShapes.batch * mShapes.hidden;
        for (int64_t d = group.firstDirection; d < group.lastDirection; ++d)
        {
            float const* const scratch = scratchOf(call, d);
            takeRows(scratch + mScratch.hidden + mShapes.steps % 2 * mShapes.batch * mShapes.units,
                static_cast<float*>(call.outputs[1]) + d * states);
            if (mLoaded->layer.cell == RecurrentCell::kLstm)
                takeRows(scratch + mScratch.state, static_cast<float*>(call.outputs[2]) + d * states);
        }
    }
    void takeRows(float const* from, float* to) const
    {
        for (int64_t row = 0; row < mShapes.batch; ++row)
            std::copy_n(from + row * mShapes.units, mShapes.hidden, to + row * mShapes.hidden);
    }

    std::shared_ptr<LoadedRecurrentNetwork const> mLoaded;
    RecurrentShapes mShapes;
    int64_t mStretch;
    RecurrentScratch mScratch;
    size_t mInputs;
    bool mAreLongLengths;
    RecurrentStep mForm; //!< What all steps have in common.
};

Step stepOfRecurrence(StepSource<LoadedRecurrentNetwork> const& from)
{
    if (!from.areAllIn(Layout::kLinear) || from.inputs[0].dtype != DType::kFLOAT)
        return badArgument("the kernel of RecurrentNetwork takes row-major float32");
    RecurrentNetwork const& layer = from.layer();
    std::vector<int64_t> const& x = from.inputs[RecurrentNetwork::kX].extents;
    int64_t const hidden = from.inputs[RecurrentNetwork::kR].extents[2];
    RecurrentShapes const shapes{
        x[0], x[1], x[2], hidden, panelsOf(hidden) * kPanel, layer.gates(), layer.directions()};
    bool const areLong = isPresent(from.inputs, RecurrentNetwork::kLengths)
        && from.inputs[RecurrentNetwork::kLengths].dtype == DType::kINT64;
    return std::make_shared<PreparedRecurrentNetwork const>(from.loaded, shapes, from.inputs.size(), areLong);
}

std::variant<std::vector<Offer>, Refusal> offerRecurrentNetwork(Problem const& problem)
{
    if (problem.input(0).dtype != DType::kFLOAT)
        return refuse("steps", "only float32");
    if (problem.constant(RecurrentNetwork::kW) == nullptr || problem.constant(RecurrentNetwork::kR) == nullptr)
        return refuse("steps", "the weights are no constants");
    Offer offer;
    offer.inputs.assign(problem.node->inputs.size(), Layout::kLinear);
    offer.outputs.assign(problem.node->outputs.size(), Layout::kLinear);
    std::vector<int64_t> const x = problem.typicalExtents(problem.input(0));
    auto const weights = volumeOf(problem.constant(RecurrentNetwork::kW)->extents)
        + volumeOf(problem.constant(RecurrentNetwork::kR)->extents);
    offer.cost = costOf(problem, static_cast<double>(x[0] * x[1]) * static_cast<double>(weights), bytesOf(problem));
    return std::vector<Offer>{offer};
}

Result<KernelSpec> buildRecurrence(Problem const& problem, Offer const& offer)
{
    KernelSpec spec{.kernel = "recurrent_network", .args = encodeLayerArgs(problem, offer), .packed = {}};
    for (int32_t const i : {RecurrentNetwork::kW, RecurrentNetwork::kR})
        spec.packed.push_back(
            TENON_TRY(packWeight(i, *problem.constant(i), packingOfRecurrence(problem.fields<RecurrentNetwork>()))));
    return spec;
}

using RecurrenceFile = StepFile<"recurrent_network", "steps", offerRecurrentNetwork, stepOfRecurrence, buildRecurrence>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(RecurrentNetwork, RecurrenceFile::kCandidates, RecurrenceFile::kKernels);
