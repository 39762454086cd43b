// Mutations of plans.
#include "fuzz/plan_mutator.h"

#include "backend/layer_args.h"
#include "plan/format.h"

#include <cstring>

namespace tenon::test
{

int64_t PlanMutator::oddNumber()
{
    constexpr int64_t kOdd[]{-1, 0, 1, 2, 3, 5, 8, 24, 255, 65536, 1 << 30, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN,
        int64_t{1} << 40, -7};
    return kOdd[below(std::size(kOdd))];
}

void PlanMutator::changeNumber(int32_t& number)
{
    if (below(2) == 0)
        number = static_cast<int32_t>(oddNumber());
    else
        number = static_cast<int32_t>(static_cast<uint32_t>(number) + static_cast<uint32_t>(below(5)) - 2U);
}

void PlanMutator::changeNumber(int64_t& number)
{
    if (below(2) == 0)
        number = oddNumber();
    else
        number = static_cast<int64_t>(static_cast<uint64_t>(number) + below(5) - 2U);
}

void PlanMutator::changeList(std::vector<int32_t>& list)
{
    uint64_t const how = below(6);
    if (how == 0)
        list.push_back(static_cast<int32_t>(below(12)) - 1);
    else if (how == 1 && !list.empty())
        list.pop_back();
    else if (how == 2 && list.size() > 1)
        std::swap(list[below(list.size())], list[below(list.size())]);
    else if (how == 3 && !list.empty())
        *anyOf(list) = static_cast<int32_t>(below(20));
    else if (!list.empty())
        changeNumber(*anyOf(list));
}

void PlanMutator::changeBytes(Bytes& bytes)
{
    if (below(4) == 0 || bytes.empty())
        bytes.resize(below(bytes.size() + 9));
    for (uint64_t i = below(4) + 1; i > 0 && !bytes.empty(); --i)
        bytes[below(bytes.size())] = static_cast<uint8_t>(below(3) == 0 ? 0xFF : below(256));
}

//! Fields keep their sizes, so that most of what changes is read as the number that it is.
void PlanMutator::changeStored(Bytes& fields)
{
    if (below(8) == 0 || fields.size() < 24)
        return changeBytes(fields);
    // A field is its id and size, then its value; starts of values are at any multiple of 4.
    size_t const at = 16 + below((fields.size() - 16) / 4) * 4;
    if (below(2) == 0 && at + sizeof(int64_t) <= fields.size())
    {
        int64_t number{0};
        std::memcpy(&number, fields.data() + at, sizeof(number));
        changeNumber(number);
        std::memcpy(fields.data() + at, &number, sizeof(number));
        return;
    }
    if (at + sizeof(int32_t) > fields.size())
        return changeBytes(fields);
    int32_t number{0};
    std::memcpy(&number, fields.data() + at, sizeof(number));
    changeNumber(number);
    std::memcpy(fields.data() + at, &number, sizeof(number));
}

void PlanMutator::changeArgs(PlanStep& step, Plan const& plan)
{
    Result<LayerArgs> args = decodeLayerArgs(step.args);
    if (!args)
        return changeBytes(step.args);
    switch (below(10))
    {
    case 0: changeBytes(step.args); return;
    case 1: args->unread ^= 1U << below(6); break;
    case 2: args->layer = plan.graph.nodes[below(plan.graph.nodes.size())].layer; break;
    case 3:
    case 4: changeStored(args->choices); break;
    default: changeStored(args->fields); break;
    }
    step.args = encodeLayerArgs(*args);
}

void PlanMutator::changeKernel(PlanStep& step, Program const& program)
{
    constexpr std::string_view kNames[]{"scale", "nonzero", "reorder", "reference", "shape_values"};
    uint64_t const which = below(std::size(kNames) + program.steps.size());
    step.kernel =
        which < std::size(kNames) ? std::string{kNames[which]} : program.steps[which - std::size(kNames)].kernel;
}

void PlanMutator::changeStep(PlanStep& step, Program const& program)
{
    switch (below(8))
    {
    case 0: changeList(step.inputs); break;
    case 1: changeList(step.outputs); break;
    case 2: changeList(step.produces); break;
    case 3: changeNumber(step.graphNode); break;
    case 4: step.inPlace.emplace_back(static_cast<int32_t>(below(3)) - 1, static_cast<int32_t>(below(4)) - 1); break;
    case 5: changeNumber(step.tactic); break;
    case 6: changeNumber(step.code); break;
    default: changeKernel(step, program); break;
    }
}

void PlanMutator::changeTensor(PlanTensor& tensor)
{
    switch (below(6))
    {
    case 0: tensor.kind = static_cast<PlanTensorKind>(below(6)); break;
    case 1: tensor.dtype = static_cast<DType>(below(14)); break;
    case 2: tensor.layout = static_cast<Layout>(below(5)); break;
    case 3: changeNumber(tensor.index); break;
    default: changeList(tensor.extents); break;
    }
}

void PlanMutator::changeInstruction(PlanShapeInstruction& instruction)
{
    switch (below(4))
    {
    case 0: instruction.op = static_cast<PlanShapeOp>(below(20)); break;
    case 1: changeNumber(instruction.a); break;
    case 2: changeNumber(instruction.b); break;
    default: changeNumber(instruction.value); break;
    }
}

void PlanMutator::changeSymbol(PlanSymbol& symbol)
{
    switch (below(5))
    {
    case 0: symbol.kind = static_cast<PlanSymbolKind>(below(4)); break;
    case 1: changeNumber(symbol.source); break;
    case 2: changeNumber(symbol.index); break;
    case 3: changeNumber(symbol.upper); break;
    default: changeNumber(symbol.max); break;
    }
}

void PlanMutator::changeIO(Plan& plan)
{
    PlanIO* const io = anyOf(plan.io);
    if (io == nullptr)
        return;
    switch (below(7))
    {
    case 5: io->layout = static_cast<Layout>(below(kLayoutCount + 1)); break;
    case 0: io->isInput = !io->isInput; break;
    case 1: io->isShape = !io->isShape; break;
    case 2: io->dtype = static_cast<DType>(below(14)); break;
    case 3: io->dims.nbDims = static_cast<int32_t>(below(9)); break;
    case 4: changeNumber(io->graphValue); break;
    default: changeNumber(io->dims.d[below(3)]); break;
    }
}

void PlanMutator::changeProfile(PlanProfileInput& input)
{
    switch (below(4))
    {
    case 0: changeNumber(input.io); break;
    case 1: changeNumber(input.min.d[below(2)]); break;
    case 2: changeNumber(input.opt.d[below(2)]); break;
    default: changeNumber(input.max.d[below(2)]); break;
    }
}

void PlanMutator::changeWeight(Plan& plan)
{
    PlanWeight* const weight = anyOf(plan.weights);
    if (weight == nullptr)
        return;
    switch (below(6))
    {
    case 0: weight->extents.push_back(oddNumber()); break;
    case 1:
        if (!weight->extents.empty())
            changeNumber(*anyOf(weight->extents));
        break;
    case 2: weight->packing = weight->packing.empty() ? "blocked" : ""; break;
    case 3: weight->packing = anyOf(plan.weights)->packing; break;
    case 4: weight->bytes = below(weight->bytes + 1); break;
    default: weight->dtype = static_cast<DType>(below(14)); break;
    }
}

void PlanMutator::changeRest(Plan& plan)
{
    PlanNode* const node = anyOf(plan.graph.nodes);
    switch (below(4))
    {
    case 0: plan.memoryPerProfile.push_back(oddNumber()); break;
    case 1: plan.profilingVerbosity = static_cast<int32_t>(oddNumber()); break;
    case 2:
        if (node != nullptr)
            changeList(below(2) == 0 ? node->inputs : node->outputs);
        break;
    default: plan.networkName.assign(below(70000), 'n'); break;
    }
}

void PlanMutator::changeField(Plan& plan)
{
    Program& program = *anyOf(plan.programs);
    PlanStep* const step = anyOf(program.steps);
    PlanTensor* const tensor = anyOf(program.tensors);
    PlanShapeInstruction* const instruction = anyOf(program.shapes);
    PlanSymbol* const symbol = anyOf(program.symbols);
    PlanNode* const node = anyOf(plan.graph.nodes);
    uint64_t const which = below(20);
    if (which < 4 && step != nullptr)
        changeStep(*step, program);
    else if (which < 9 && step != nullptr)
        changeArgs(*step, plan);
    else if (which < 12 && tensor != nullptr)
        changeTensor(*tensor);
    else if (which < 14 && instruction != nullptr)
        changeInstruction(*instruction);
    else if (which == 14 && symbol != nullptr)
        changeSymbol(*symbol);
    else if (which == 15)
        changeWeight(plan);
    else if (which == 16)
        changeIO(plan);
    else if (which == 17)
        changeProfile(*anyOf(anyOf(plan.profiles)->inputs));
    else if (which == 18 && node != nullptr)
        changeStored(node->fields);
    else
        changeRest(plan);
}

void PlanMutator::changeFields(Plan& plan)
{
    for (uint64_t i = below(3) + 1; i > 0; --i)
        changeField(plan);
}

void PlanMutator::damage(Bytes& blob)
{
    if (below(4) == 0)
        blob.resize(below(blob.size()));
    else
        for (uint64_t i = below(4) + 1; i > 0; --i)
            blob[below(blob.size())] ^= static_cast<uint8_t>(1U << below(8));
}

void PlanMutator::rewriteWords(Bytes& blob)
{
    PlanSectionEntry entry;
    std::memcpy(&entry, blob.data() + sizeof(PlanHeader), sizeof(entry));
    for (uint64_t i = below(3) + 1; i > 0; --i)
    {
        uint8_t* const at = blob.data() + entry.offset + below(entry.size / 4) * 4;
        auto word = static_cast<int32_t>(oddNumber());
        if (below(2) == 0)
        {
            std::memcpy(&word, at, sizeof(word));
            changeNumber(word);
        }
        std::memcpy(at, &word, sizeof(word));
    }
    resealPlan(blob);
}

} // namespace tenon::test
