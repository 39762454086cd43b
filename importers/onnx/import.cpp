// Turns the graph of a model into layers of a network, node by node.
#include "import.h"

#include "held.h"
#include "old_opsets.h"
#include "own_calls.h"
#include "plugin.h"
#include "signature.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>

namespace tenon::onnx
{
namespace
{

using nvinfer1::ILogger;
using nvinfer1::ITensor;

//! Only such names of extents say that two extents are equal; exporters also write '?' or leave them empty.
bool isIdentifier(std::string const& name)
{
    auto const isWord = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
    return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0
        && std::all_of(name.begin(), name.end(), isWord);
}

} // namespace

Import::Import(nvinfer1::INetworkDefinition& network, Model& model, Log& log, ErrorList& errors)
    : mModel{model},
      mErrors{errors},
      mNetwork{network, model, log},
      mGraph{model.proto().graph()},
      mStates(static_cast<size_t>(mGraph.node_size()), NodeState::kSkipped)
{
    mNetwork.subgraphs = this;
}

//! Runs a step; what it throws becomes an error about the node (−1: about the model).
template <typename Step>
bool Import::guarded(int node, Step const& step)
{
    auto const list = [this, node](Failure const& failure) {
        ::onnx::NodeProto const& proto = node >= 0 ? mGraph.node(node) : ::onnx::NodeProto::default_instance();
        mErrors.emplace_back(failure, node, proto.name(), proto.op_type());
    };
    try
    {
        step();
        return true;
    }
    catch (Failure const& failure)
    {
        list(failure);
    }
    catch (std::bad_alloc const&)
    {
        list({ErrorCode::kMEM_ALLOC_FAILED, "out of memory", std::source_location::current()});
    }
    catch (std::exception const& exception)
    {
        list({ErrorCode::kINTERNAL_ERROR, exception.what(), std::source_location::current()});
    }
    return false;
}

bool Import::run()
{
    Reasons::Listening const listening{mNetwork.reasons, mNetwork.api};
    size_t const errorsBefore = mErrors.size();
    if (guarded(-1, [this] {
            checkFormat();
            readOpsets();
        }))
    {
        importGraph();
    }
    for (std::string const& text : textsOf(mErrors, errorsBefore, mModel.path()))
    {
        mNetwork.log(ILogger::Severity::kERROR, text);
    }
    return mErrors.size() == errorsBefore;
}

void Import::importGraph()
{
    ::onnx::ModelProto const& proto = mModel.proto();
    mNetwork.log(ILogger::Severity::kINFO,
        fmt::format("graph '{}' from {} {}, IR {}, opset {}: {} nodes", mGraph.name(), proto.producer_name(),
            proto.producer_version(), proto.ir_version(), mOpset, mGraph.node_size()));
    addInitializers();
    addInputs();
    guarded(-1, [this] { sortNodes(); });
    for (int const index : mOrder)
    {
        importNode(index);
    }
    markOutputs();
}

//! Newer formats may mean something else by the same fields, as ONNX Runtime has it, too.
void Import::checkFormat() const
{
    constexpr int64_t kNewest{14}; // Of the releases up to the one that brought opset 28.
    ::onnx::ModelProto const& proto = mModel.proto();
    if (!proto.has_ir_version())
    {
        fail(ErrorCode::kINVALID_GRAPH, "the model does not say which version of the format (IR) it has");
    }
    if (proto.ir_version() > kNewest)
    {
        fail(ErrorCode::kUNSUPPORTED_GRAPH,
            fmt::format("version {} of the format (IR); {} is the newest that is known", proto.ir_version(), kNewest));
    }
}

void Import::readOpsets()
{
    for (auto const& opset : mModel.proto().opset_import())
    {
        if (isStandard(opset.domain()))
        {
            if (opset.version() < 1)
            {
                fail(
                    ErrorCode::kINVALID_GRAPH, fmt::format("opset {} does not exist; the first is 1", opset.version()));
            }
            mOpset = std::max(mOpset, opset.version());
        }
    }
    if (mOpset == 0)
    {
        if (mModel.proto().opset_import_size() > 0)
        {
            mOpset = kNewestOpset; // Only nodes of other domains; those are refused by name.
            return;
        }
        fail(ErrorCode::kINVALID_GRAPH, "the model does not say which opset it uses");
    }
    if (mOpset > kNewestOpset || mOpset < 1)
    {
        fail(ErrorCode::kUNSUPPORTED_GRAPH,
            fmt::format("opset {}; {} to {} are supported", mOpset, kOldestOpset, kNewestOpset));
    }
    if (mOpset < kOldestOpset)
    {
        mNetwork.log.warnOnce(
            fmt::format("opset {} is older than {}, the oldest that is supported: operators that meant something else "
                        "are refused",
                mOpset, kOldestOpset));
    }
}

//! Kahn's algorithm that keeps the file's order wherever it is one already.
void Import::sortNodes()
{
    std::unordered_map<std::string, int> makers;
    for (int i = 0; i < mGraph.node_size(); ++i)
    {
        for (std::string const& output : mGraph.node(i).output())
        {
            if (!output.empty() && !makers.emplace(output, i).second)
            {
                guarded(i, [&] { fail(ErrorCode::kINVALID_GRAPH, fmt::format("two nodes make '{}'", output)); });
            }
        }
    }
    std::vector<int> missing(static_cast<size_t>(mGraph.node_size()), 0);
    std::vector<std::vector<int>> readers(missing.size());
    for (int i = 0; i < mGraph.node_size(); ++i)
    {
        for (std::string const& input : mGraph.node(i).input())
        {
            auto const maker = makers.find(input);
            if (!input.empty() && maker != makers.end())
            {
                ++missing[static_cast<size_t>(i)];
                readers[static_cast<size_t>(maker->second)].push_back(i);
            }
        }
    }
    // A min-heap of nodes that are ready, by index.
    std::vector<int> ready;
    auto const later = [](int a, int b) { return a > b; };
    auto const offer = [&](int node) {
        ready.push_back(node);
        std::push_heap(ready.begin(), ready.end(), later);
    };
    for (int i = 0; i < mGraph.node_size(); ++i)
    {
        if (missing[static_cast<size_t>(i)] == 0)
        {
            offer(i);
        }
    }
    while (!ready.empty())
    {
        std::pop_heap(ready.begin(), ready.end(), later);
        int const node = ready.back();
        ready.pop_back();
        mOrder.push_back(node);
        for (int const reader : readers[static_cast<size_t>(node)])
        {
            if (--missing[static_cast<size_t>(reader)] == 0)
            {
                offer(reader);
            }
        }
    }
    if (mOrder.size() != missing.size())
    {
        auto const first = std::find_if(missing.begin(), missing.end(), [](int count) { return count > 0; });
        auto const node = static_cast<int>(first - missing.begin());
        fail(ErrorCode::kINVALID_GRAPH,
            fmt::format("{} nodes lie on a cycle or behind one; the first is node {} '{}' ({})",
                missing.size() - mOrder.size(), node, mGraph.node(node).name(), mGraph.node(node).op_type()));
    }
}

void Import::addInitializers()
{
    for (int i = 0; i < mGraph.initializer_size(); ++i)
    {
        mInitializers.emplace(mGraph.initializer(i).name(), i);
    }
    for (auto const& sparse : mGraph.sparse_initializer())
    {
        guarded(-1, [&] {
            mBroken.insert(sparse.values().name());
            fail(ErrorCode::kUNSUPPORTED_GRAPH,
                fmt::format("the sparse initializer '{}' is not supported", sparse.values().name()));
        });
    }
}

void Import::addInputs()
{
    for (::onnx::ValueInfoProto const& info : mGraph.input())
    {
        mInputNames.insert(info.name());
        if (mInitializers.count(info.name()) == 0 // An initializer that is also an input is only a default for it.
            && !guarded(-1, [&] { addInput(info); }))
        {
            mBroken.insert(info.name());
        }
    }
}

void Import::addInput(::onnx::ValueInfoProto const& info)
{
    bool const isOptional = info.type().has_optional_type();
    ::onnx::TypeProto const& whole = isOptional ? info.type().optional_type().elem_type() : info.type();
    if (!whole.has_tensor_type())
    {
        fail(ErrorCode::kUNSUPPORTED_GRAPH, fmt::format("input '{}' is no tensor", info.name()));
    }
    if (isOptional)
    {
        mNetwork.log.warnOnce("inputs that are optional are always there: the engine has no others");
    }
    auto const& type = whole.tensor_type();
    if (!type.has_shape())
    {
        fail(ErrorCode::kUNSUPPORTED_GRAPH, fmt::format("the rank of input '{}' is not known", info.name()));
    }
    if (type.elem_type() == ::onnx::TensorProto::DOUBLE)
    {
        mNetwork.log.warnOnce(noteOfDouble());
    }
    if (heldBy(type.elem_type()) != nullptr)
    {
        mNetwork.log.warnOnce(fmt::format(
            "inputs of type {} become {}", nameOfOnnx(type.elem_type()), nameOf(typeOfOnnx(type.elem_type()))));
    }
    Shape shape;
    for (auto const& dim : type.shape().dim())
    {
        if (dim.dim_value() < -1) // Exporters write -1 for what is not known; anything else is no number of elements.
        {
            fail(ErrorCode::kINVALID_GRAPH,
                fmt::format("input '{}' has the extent {} on axis {}", info.name(), dim.dim_value(), shape.size()));
        }
        shape.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
    }
    mNetwork.reasons.forget();
    ITensor* const input = mNetwork.api.addInput(info.name().c_str(), typeOfOnnx(type.elem_type()), dimsOf(shape));
    if (input == nullptr)
    {
        fail(ErrorCode::kINVALID_GRAPH,
            fmt::format("the network refuses the input '{}'{}", info.name(), mNetwork.reasons.text()));
    }
    for (int i = 0; i < type.shape().dim_size(); ++i)
    {
        if (isIdentifier(type.shape().dim(i).dim_param()))
        {
            input->setDimensionName(i, type.shape().dim(i).dim_param().c_str());
        }
    }
    mNamed.insert(input);
    mValues[info.name()] = heldBy(type.elem_type()) != nullptr ? Value{input}.marked(type.elem_type()) : Value{input};
}

//! What imports the node: the operator, or the plugin that stands for it (W2, W3).
Import::Importer Import::importerOf(::onnx::NodeProto const& proto)
{
    ImportFunction const known = findOperator(proto.domain(), proto.op_type());
    nvinfer1::IPluginCreatorInterface* const creator =
        known == nullptr || overridesOperator(mNetwork, proto) ? creatorFor(mNetwork, proto) : nullptr;
    if (creator != nullptr || known != nullptr)
    {
        return {creator == nullptr ? known : nullptr, creator};
    }
    if (::onnx::FunctionProto const* const local = functionOf(proto))
    {
        return {nullptr, nullptr, local};
    }
    fail(ErrorCode::kUNSUPPORTED_NODE,
        fmt::format("operator '{}' of domain '{}' is not supported{}, and {}", proto.op_type(),
            isStandard(proto.domain()) ? "ai.onnx" : proto.domain(),
            isStandard(proto.domain()) ? fmt::format(" at opset {}", mOpset) : "", missingCreator(mNetwork, proto)));
}

//! False when an input comes from a node that failed.
bool Import::collectInputs(::onnx::NodeProto const& proto, std::vector<Value>& inputs)
{
    for (std::string const& name : proto.input())
    {
        if (mBroken.count(name) != 0)
        {
            return false;
        }
        if (name.empty())
        {
            inputs.emplace_back();
            continue;
        }
        if (auto const found = mValues.find(name); found != mValues.end())
        {
            inputs.push_back(found->second);
            continue;
        }
        auto const initializer = mInitializers.find(name);
        if (initializer == mInitializers.end())
        {
            fail(ErrorCode::kINVALID_GRAPH, fmt::format("nothing makes the input '{}'", name));
        }
        inputs.push_back(mValues[name] = Value{mModel.initializer(initializer->second), name});
    }
    return true;
}

//! Whether an input is one; what knows no sequences would take it for a tensor.
bool Import::readsSequences(Node const& node, ::onnx::NodeProto const& proto)
{
    constexpr std::string_view kPassingOn[]{"Identity", "If", "Loop"};
    bool const mayBe =
        isStandard(proto.domain()) && std::ranges::find(kPassingOn, proto.op_type()) != std::end(kPassingOn);
    for (int i = 0; i < node.nbInputs(); ++i)
    {
        if (node.has(i) && (node.in(i).isSequence() || node.in(i).isNothing()))
        {
            if (mayBe)
            {
                return true;
            }
            fail(ErrorCode::kUNSUPPORTED_NODE,
                fmt::format("its input '{}' is {}, and {} takes tensors", proto.input(i),
                    node.in(i).isSequence() ? "a sequence" : "an empty optional", proto.op_type()));
        }
    }
    return false;
}

Outputs Import::outputsOf(Importer const& importer, Node& node, ::onnx::NodeProto const& proto)
{
    if (importer.local != nullptr)
    {
        return importFunction(node, proto, *importer.local);
    }
    bool const isOfThem = importer.function != nullptr && isStandard(proto.domain()) && isOfSequences(proto.op_type());
    if (isOfThem || readsSequences(node, proto))
    {
        return importer.function(node);
    }
    if (importer.creator != nullptr)
    {
        return importPlugin(node, proto, *importer.creator);
    }
    if (isStandard(proto.domain()))
    {
        checkSignature(node, proto);
        refuseOldMeaning(node);
        std::optional<Outputs> folded = fold(node);
        Outputs outputs = folded ? *std::move(folded) : importer.function(node);
        keepHeld(node, outputs);
        return outputs;
    }
    return importer.function(node);
}

void Import::importNode(int index)
{
    ::onnx::NodeProto const& proto = mGraph.node(index);
    NodeState& state = mStates[static_cast<size_t>(index)];
    bool const fine = guarded(index, [&] {
        Importer const importer = importerOf(proto); // First: so that each unknown operator is listed.
        std::vector<Value> inputs;
        if (!collectInputs(proto, inputs))
        {
            return;
        }
        Node node{mNetwork, proto, index, mOpset, std::move(inputs)};
        bindOutputs(node, proto, outputsOf(importer, node, proto));
        state = NodeState::kImported;
    });
    if (!fine)
    {
        state = NodeState::kFailed;
    }
    if (state != NodeState::kImported)
    {
        mBroken.insert(proto.output().begin(), proto.output().end());
        mBroken.erase(std::string{});
    }
}

void Import::bindOutputs(Node& node, ::onnx::NodeProto const& proto, Outputs const& outputs)
{
    std::vector<ITensor const*> tensors;
    for (int i = 0; i < proto.output_size(); ++i)
    {
        std::string const& name = proto.output(i);
        if (static_cast<size_t>(i) >= outputs.size())
        {
            if (!name.empty())
            {
                fail(ErrorCode::kUNSUPPORTED_NODE, fmt::format("output {} of {} is not supported", i, proto.op_type()));
            }
            continue;
        }
        Value const& value = outputs[static_cast<size_t>(i)];
        if (!value.exists())
        {
            tensors.push_back(nullptr); // Nobody reads it: the importer has asked.
            continue;
        }
        if (value.tensor() != nullptr && value.tensor()->getDimensions().nbDims < 0)
        {
            fail(ErrorCode::kINVALID_NODE,
                fmt::format("{} does not fit its inputs{}", proto.op_type(), mNetwork.reasons.text()));
        }
        tensors.push_back(value.tensor());
        if (name.empty())
        {
            continue;
        }
        if (mInitializers.count(name) != 0 || !mValues.emplace(name, value).second)
        {
            fail(ErrorCode::kINVALID_GRAPH, fmt::format("the output '{}' has a name that is taken", name));
        }
        if (value.tensor() != nullptr && mNamed.insert(value.tensor()).second)
        {
            value.tensor()->setName(name.c_str());
        }
    }
    mNodeOutputs.emplace(proto.name().empty() ? node.name() : proto.name(), std::move(tensors));
    node.nameMainLayer(outputs);
}

void Import::markOutputs()
{
    for (::onnx::ValueInfoProto const& info : mGraph.output())
    {
        guarded(-1, [&] { markOutput(info); });
    }
}

void Import::markOutput(::onnx::ValueInfoProto const& info)
{
    if (mBroken.count(info.name()) != 0)
    {
        return; // The failed node is listed already.
    }
    auto found = mValues.find(info.name());
    if (found == mValues.end())
    {
        auto const initializer = mInitializers.find(info.name());
        if (initializer == mInitializers.end())
        {
            fail(ErrorCode::kINVALID_GRAPH, fmt::format("nothing makes the output '{}'", info.name()));
        }
        found = mValues.emplace(info.name(), Value{mModel.initializer(initializer->second), info.name()}).first;
    }
    if (found->second.isSequence() || found->second.isNothing())
    {
        fail(ErrorCode::kUNSUPPORTED_GRAPH,
            fmt::format("output '{}' is {}: the engine gives out tensors", info.name(),
                found->second.isSequence() ? "a sequence" : "an empty optional"));
    }
    ITensor* tensor = &mNetwork.tensor(found->second);
    bool const isInput = mInputNames.count(info.name()) != 0;
    std::string const name = isInput ? "__" + info.name() : info.name();
    bool const isTaken = mNamed.count(tensor) != 0 && tensor->getName() != name;
    if (tensor->isNetworkInput() || tensor->isNetworkOutput() || isTaken)
    {
        nvinfer1::ILayer* const copy = mNetwork.api.addIdentity(*tensor);
        if (copy == nullptr)
        {
            fail(ErrorCode::kINTERNAL_ERROR, fmt::format("the network refuses a copy for output '{}'", info.name()));
        }
        copy->setName(mNetwork.uniqueName(name + "/output").c_str());
        tensor = copy->getOutput(0);
    }
    tensor->setName(name.c_str());
    mNamed.insert(tensor);
    mNetwork.api.markOutput(*tensor);
}

ITensor const* Import::outputOf(std::string const& node, int64_t i) const
{
    auto const found = mNodeOutputs.find(node);
    if (found == mNodeOutputs.end() || i < 0 || i >= static_cast<int64_t>(found->second.size()))
    {
        return nullptr;
    }
    return found->second[static_cast<size_t>(i)];
}

} // namespace tenon::onnx
