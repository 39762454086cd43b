// PlanOnnx: tensors get names that are unique and written once, as ONNX has it; numbers of fields are those of
// onnx.proto.
#include "inspect/plan_onnx.h"

#include "inspect/onnx_attributes.h"
#include "inspect/plan_json.h"
#include "layers/layer_table.h"
#include "plan/lookup.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

namespace tenon::inspect
{

namespace
{
constexpr char const* kDomain{"tenon"};
//! Versions of the format: the first with integers of four bits, with floats of four, and with powers of two.
constexpr int64_t kFileVersion{10};
constexpr int64_t kVersionOfFp4{11};
constexpr int64_t kVersionOfE8m0{12};
constexpr uint64_t kMaxBytes{std::numeric_limits<int32_t>::max() - (uint64_t{1} << 24)};

//! onnx.TensorProto.DataType.
int32_t onnxType(DType type)
{
    if (type == kFloat64)
        return 11;
    switch (type)
    {
    case DType::kFLOAT: return 1;
    case DType::kUINT8: return 2;
    case DType::kINT8: return 3;
    case DType::kINT32: return 6;
    case DType::kINT64: return 7;
    case DType::kBOOL: return 9;
    case DType::kHALF: return 10;
    case DType::kBF16: return 16;
    case DType::kFP8: return 17;
    case DType::kINT4: return 22;
    case DType::kFP4: return 23;
    case DType::kE8M0: return 24;
    default: return 0;
    }
}

//! Text of a user's as UTF-8, which readers of the format insist on.
std::string clean(std::string const& text)
{
    return nlohmann::json::parse(jsonString(text)).get<std::string>();
}

class Writer
{
  public:
    Writer(Plan const& plan, OnnxOptions const& options)
        : mPlan{plan},
          mProgram{plan.programs.front()},
          mOptions{options},
          mNames(mProgram.tensors.size())
    {
    }
    Result<std::string> write();

  private:
    std::string unique(std::string const& wished);
    void nameInterface();
    void countWriters();
    int32_t typeNumber(DType type);
    WireMessage typeOf(PlanTensor const& tensor);
    WireMessage extentOf(int32_t reg) const;
    void describe(std::string const& name, PlanTensor const& tensor);
    Result<std::string> operand(int32_t index, std::vector<std::string>& weights);
    Result<std::string> initializer(int32_t index);
    std::string weightText(PlanTensor const& tensor) const;
    std::string derived(int32_t index, std::vector<std::string>& weights);
    std::string written(int32_t index);
    Result<Done> addStep(PlanStep const& step);
    void addInterface();

    Plan const& mPlan;
    Program const& mProgram;
    OnnxOptions const& mOptions;
    WireMessage mGraph;
    std::vector<std::string> mNames; //!< By tensor: that of its latest contents; empty: none yet.
    std::map<int32_t, int32_t> mWritersLeft;
    std::map<int32_t, std::string> mInitializers; //!< By weight: several tensors may read one.
    int64_t mVersion{kFileVersion};
    std::set<std::string> mUsed;
    std::set<std::string> mNodes;
};

//! The name, or the first with a number behind it that nothing has.
std::string Writer::unique(std::string const& wished)
{
    std::string const base = wished.empty() ? "tensor" : clean(wished);
    std::string name = base;
    for (int32_t i = 2; !mUsed.insert(name).second; ++i)
        name = fmt::format("{}#{}", base, i);
    return name;
}

//! Inputs and outputs keep the names that users know them by: nothing else gets these.
void Writer::nameInterface()
{
    for (PlanIO const& io : mPlan.io)
        mUsed.insert(clean(io.name));
}

void Writer::countWriters()
{
    for (PlanStep const& step : mProgram.steps)
        for (int32_t const output : step.outputs)
            if (output >= 0)
                ++mWritersLeft[output];
}

WireMessage Writer::extentOf(int32_t reg) const
{
    auto const symbols = static_cast<int32_t>(mProgram.symbols.size());
    WireMessage extent;
    if (reg < symbols)
        return extent.text(2, clean(mProgram.symbols.at(static_cast<size_t>(reg)).name));
    PlanShapeInstruction const& made = mProgram.shapes.at(static_cast<size_t>(reg - symbols));
    if (made.op == PlanShapeOp::kConstant)
        return extent.number(1, made.value);
    return extent.text(2, fmt::format("extent{}", reg)); // Equal names are equal extents.
}

int32_t Writer::typeNumber(DType type)
{
    int64_t const needed = type == DType::kE8M0 ? kVersionOfE8m0 : type == DType::kFP4 ? kVersionOfFp4 : kFileVersion;
    mVersion = std::max(mVersion, needed);
    return onnxType(type);
}

WireMessage Writer::typeOf(PlanTensor const& tensor)
{
    WireMessage shape;
    if (tensor.kind == PlanTensorKind::kValues) // Its extents stand for its elements.
        shape.message(1, WireMessage{}.number(1, static_cast<int64_t>(tensor.extents.size())));
    else
        for (int32_t const reg : tensor.extents)
            shape.message(1, extentOf(reg));
    return WireMessage{}.message(1, WireMessage{}.number(1, typeNumber(tensor.dtype)).message(2, shape));
}

void Writer::describe(std::string const& name, PlanTensor const& tensor)
{
    mGraph.message(13, WireMessage{}.text(1, name).message(2, typeOf(tensor)));
}

std::string Writer::weightText(PlanTensor const& tensor) const
{
    PlanWeight const& weight = mPlan.weights.at(static_cast<size_t>(tensor.index));
    return fmt::format("{}: {} [{}], {} bytes{}", clean(weight.name), nameOf(weight.dtype),
        fmt::join(weight.extents, "x"), weight.bytes,
        weight.packing.empty() ? "" : fmt::format(", packed as {}", weight.packing));
}

Result<std::string> Writer::initializer(int32_t index)
{
    PlanTensor const& tensor = mProgram.tensors.at(static_cast<size_t>(index));
    if (auto const known = mInitializers.find(tensor.index); known != mInitializers.end())
        return known->second;
    PlanWeight const& weight = mPlan.weights.at(static_cast<size_t>(tensor.index));
    std::string_view data{static_cast<char const*>(weight.data), weight.bytes};
    std::shared_ptr<Constant const> plain;
    if (!weight.packing.empty())
    {
        if (mOptions.unpack == nullptr)
            return badArgument(
                "weight '{}' is packed as {}, which this build cannot read", weight.name, weight.packing);
        plain = TENON_TRY(mOptions.unpack(weight.packing, weight.dtype, weight.extents, weight.data, weight.bytes));
        data = {static_cast<char const*>(plain->data), static_cast<size_t>(plain->bytes())};
    }
    std::string const name = unique(weight.name);
    WireMessage proto;
    for (int64_t const extent : weight.extents)
        proto.number(1, extent);
    proto.number(2, typeNumber(weight.dtype)).text(8, name).text(9, data);
    mGraph.message(5, proto);
    mInitializers.emplace(tensor.index, name);
    return name;
}

//! A tensor that no step writes: a view of another, a part of one, or values that are known before the run.
std::string Writer::derived(int32_t index, std::vector<std::string>& weights)
{
    PlanTensor const& tensor = mProgram.tensors.at(static_cast<size_t>(index));
    bool const isShared = tensor.kind == PlanTensorKind::kView || tensor.kind == PlanTensorKind::kPart;
    WireMessage node;
    if (isShared)
        if (Result<std::string> const from = operand(tensor.index, weights); from)
            node.text(1, *from);
    std::string const name = unique(tensor.name);
    char const* const kind = !isShared ? "Values" : tensor.kind == PlanTensorKind::kView ? "View" : "Part";
    node.text(2, name).text(3, unique(fmt::format("{} of {}", kind, tensor.name))).text(4, kind).text(7, kDomain);
    mGraph.message(1, node);
    describe(name, tensor);
    return name;
}

//! What a node reads; empty: nothing, or a weight that a text tells of.
Result<std::string> Writer::operand(int32_t index, std::vector<std::string>& weights)
{
    if (index < 0)
        return std::string{};
    PlanTensor const& tensor = mProgram.tensors.at(static_cast<size_t>(index));
    std::string& name = mNames[static_cast<size_t>(index)];
    if (tensor.kind == PlanTensorKind::kWeight)
    {
        bool const isThere = mOptions.hasWeights && !mPlan.weights.at(static_cast<size_t>(tensor.index)).isStripped();
        weights.push_back(weightText(tensor));
        if (isThere && name.empty())
            name = TENON_TRY(initializer(index));
        return name;
    }
    if (tensor.kind == PlanTensorKind::kIO && name.empty())
        name = clean(mPlan.io.at(static_cast<size_t>(tensor.index)).name);
    if (name.empty())
        name = derived(index, weights);
    return name;
}

//! The name of what a step writes: each writer of a tensor gets one of its own, and the last of an output the user's.
std::string Writer::written(int32_t index)
{
    PlanTensor const& tensor = mProgram.tensors.at(static_cast<size_t>(index));
    bool const isLast = --mWritersLeft[index] == 0;
    std::string& name = mNames[static_cast<size_t>(index)];
    bool const isInterface = tensor.kind == PlanTensorKind::kIO && isLast;
    name = isInterface ? clean(mPlan.io.at(static_cast<size_t>(tensor.index)).name) : unique(tensor.name);
    if (!isInterface)
        describe(name, tensor);
    return name;
}

Result<Done> Writer::addStep(PlanStep const& step)
{
    WireMessage node;
    std::vector<std::string> weights;
    for (int32_t const input : step.inputs)
        node.text(1, TENON_TRY(operand(input, weights)));
    for (int32_t const output : step.outputs)
        node.text(2, output < 0 ? std::string{} : written(output));
    std::string name = clean(step.name);
    for (int32_t i = 2; !mNodes.insert(name).second; ++i)
        name = fmt::format("{}#{}", clean(step.name), i);
    PlanNode const* const stored =
        step.graphNode < 0 ? nullptr : &mPlan.graph.nodes.at(static_cast<size_t>(step.graphNode));
    node.text(3, name).text(4, stored == nullptr ? step.kernel : stored->layer).text(7, kDomain);
    if (auto const layer = stored == nullptr ? Result<LayerPtr>{LayerPtr{}} : loadLayer(stored->layer, stored->fields);
        layer && *layer != nullptr)
        addFieldAttributes(node, clean((*layer)->show()));
    addAttribute(node, "kernel", step.kernel + "/" + step.candidate);
    addAttribute(node, "estimated_us", step.cost);
    if (stored != nullptr)
        addAttribute(node, "origins", stored->origins);
    if (!weights.empty())
        addAttribute(node, "weights", weights);
    mGraph.message(1, node);
    return Done{};
}

void Writer::addInterface()
{
    for (PlanIO const& io : mPlan.io)
    {
        std::string const name = clean(io.name);
        WireMessage shape;
        for (int32_t k = 0; k < io.dims.nbDims; ++k)
        {
            std::string const named = static_cast<size_t>(k) < io.dimensionNames.size()
                ? clean(io.dimensionNames[static_cast<size_t>(k)])
                : "";
            WireMessage extent;
            if (io.dims.d[k] >= 0)
                extent.number(1, io.dims.d[k]);
            else
                extent.text(2, named.empty() ? fmt::format("{}.{}", name, k) : named);
            shape.message(1, extent);
        }
        WireMessage const type =
            WireMessage{}.message(1, WireMessage{}.number(1, typeNumber(io.dtype)).message(2, shape));
        mGraph.message(io.isInput ? 11 : 12, WireMessage{}.text(1, name).message(2, type));
    }
}

Result<std::string> Writer::write()
{
    std::set<int32_t> read; // Each once, and of the program that is written: a plan may have several.
    for (PlanTensor const& tensor : mProgram.tensors)
        if (tensor.kind == PlanTensorKind::kWeight)
            read.insert(tensor.index);
    uint64_t bytes{0};
    for (int32_t const weight : read)
        bytes += mPlan.weights.at(static_cast<size_t>(weight)).bytes;
    if (mOptions.hasWeights && bytes > kMaxBytes)
        return badArgument("the weights have {} bytes, and a file of this format at most 2 GiB: leave them out", bytes);
    nameInterface();
    countWriters();
    for (PlanStep const& step : mProgram.steps)
        TENON_TRY(addStep(step));
    addInterface();
    mGraph.text(2, mPlan.networkName.empty() ? "plan" : clean(mPlan.networkName));
    WireMessage model;
    model.number(1, mVersion).text(2, kDomain).message(7, mGraph);
    model.message(8, WireMessage{}.text(1, kDomain).number(2, 1));
    model.message(14, WireMessage{}.text(1, "device").text(2, mProgram.device));
    return model.take();
}
} // namespace

Result<std::string> planOnnx(Plan const& plan, OnnxOptions const& options)
{
    if (plan.programs.empty())
        return badArgument("the plan has no program: build it for a device first");
    return Writer{plan, options}.write();
}

} // namespace tenon::inspect
