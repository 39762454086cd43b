// Turns the graph of a model into layers of a network, node by node.
#pragma once

#include "error.h"
#include "network.h"
#include "operators.h"
#include "subgraph.h"

namespace tenon::onnx
{

constexpr int64_t kOldestOpset{9};
constexpr int64_t kNewestOpset{28};

//! Whether the domain is that of ONNX itself.
inline bool isStandard(std::string const& domain)
{
    return domain.empty() || domain == "ai.onnx";
}

enum class NodeState : uint8_t
{
    kImported,
    kFailed,
    kSkipped, //!< It reads what a failed node would have made; its operator is known.
};

class Import final : private Subgraphs
{
  public:
    Import(nvinfer1::INetworkDefinition& network, Model& model, Log& log, ErrorList& errors);

    void letPluginsOverride(bool enabled)
    {
        mNetwork.pluginsOverride = enabled;
    }
    //! Goes on behind nodes that fail, so that all of them are listed. True without errors.
    bool run();

    //! The weights that the network got, by the names that it knows them by.
    std::vector<std::pair<std::string, nvinfer1::Weights>> const& namedWeights() const noexcept
    {
        return mNetwork.namedWeights();
    }
    //! Of each node of the graph.
    std::vector<NodeState> const& states() const noexcept
    {
        return mStates;
    }
    //! Nodes in the order of their data; those of a cycle are missing.
    std::vector<int> const& order() const noexcept
    {
        return mOrder;
    }
    //! Output i of the first node of that name; null when there is none.
    nvinfer1::ITensor const* outputOf(std::string const& node, int64_t i) const;

  private:
    template <typename Step>
    bool guarded(int node, Step const& step);
    void importGraph();
    void checkFormat() const;
    void readOpsets();
    void sortNodes();
    void addInputs();
    void addInput(::onnx::ValueInfoProto const& info);
    void addInitializers();
    void importNode(int index);
    bool collectInputs(::onnx::NodeProto const& proto, std::vector<Value>& inputs);
    struct Importer
    {
        ImportFunction function{nullptr};
        nvinfer1::IPluginCreatorInterface* creator{nullptr}; //!< Goes before the function.
        ::onnx::FunctionProto const* local{nullptr};         //!< A function of the model: where nothing else is.
    };
    Importer importerOf(::onnx::NodeProto const& proto);
    static bool readsSequences(Node const& node, ::onnx::NodeProto const& proto);
    Outputs outputsOf(Importer const& importer, Node& node, ::onnx::NodeProto const& proto);
    void bindOutputs(Node& node, ::onnx::NodeProto const& proto, Outputs const& outputs);
    // ---- Graphs that nodes carry (import_subgraph.cpp).
    std::vector<Value> importGraph(
        ::onnx::GraphProto const& graph, std::vector<Value> const& inputs, Capture const& capture) override;
    void importInnerNode(::onnx::NodeProto const& proto, int index);
    void bindInner(Node& node, ::onnx::NodeProto const& proto, Outputs const& outputs);
    Value valueInScope(std::string const& name);
    Value outerValue(std::string const& name);
    std::string nameInScope(std::string const& name) const;
    // ---- Functions of the model (import_function.cpp).
    ::onnx::FunctionProto const* functionOf(::onnx::NodeProto const& proto);
    Outputs importFunction(Node& node, ::onnx::NodeProto const& proto, ::onnx::FunctionProto const& function);
    int64_t opsetOf(::onnx::FunctionProto const& function) const;
    void markOutputs();
    void markOutput(::onnx::ValueInfoProto const& info);

    Model& mModel;
    ErrorList& mErrors;
    Network mNetwork;
    ::onnx::GraphProto const& mGraph;
    int64_t mOpset{0};
    std::vector<int> mOrder;
    std::vector<NodeState> mStates;
    std::unordered_map<std::string, Value> mValues;
    std::unordered_map<std::string, int> mInitializers; //!< Read when a node asks for them.
    std::unordered_set<std::string> mBroken;            //!< Names that failed nodes would have made.
    std::unordered_set<std::string> mInputNames;
    std::unordered_map<std::string, ::onnx::FunctionProto const*> mFunctions; //!< By domain, name and overload.
    std::vector<GraphScope*> mScopes; //!< Of the graphs that are being imported, each inside the one before.
    std::unordered_set<nvinfer1::ITensor const*> mNamed; //!< Tensors that carry a name of the graph.
    std::unordered_map<std::string, std::vector<nvinfer1::ITensor const*>> mNodeOutputs;
};

} // namespace tenon::onnx
