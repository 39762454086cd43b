// Graph: nodes and the values between them, in topological order. Only Patch edits one that has been built.
#pragma once

#include "ir/layer.h"
#include "ir/node_order.h"
#include "ir/origins.h"

#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace tenon
{

using ValueId = int32_t;

struct Value
{
    ValueId id{kNone};
    std::string name; //!< The user's tensor name, or one derived from the layer's.
    TensorType type;
    NodeId producer{kNone};                   //!< kNone: a graph input or a constant.
    int32_t outputIndex{0};                   //!< Position among the producer's outputs.
    std::shared_ptr<Constant const> constant; //!< Set when the value is a constant.
    std::optional<Shape> contents;            //!< Symbolic values of a shape tensor, when known.
};

struct Node
{
    NodeId id{kNone};
    LayerPtr layer;
    std::string name;            //!< The user's layer name; fused nodes join theirs with " + ".
    Origins origins;             //!< User-level layers that this node carries out.
    std::vector<ValueId> inputs; //!< kNone: optional input that is absent.
    std::vector<ValueId> outputs;

    ValueId input(size_t i) const noexcept
    {
        return i < inputs.size() ? inputs[i] : kNone;
    }
    ValueId output(size_t i = 0) const
    {
        return outputs.at(i);
    }
};

//! One read of a value.
struct Use
{
    NodeId node{kNone};
    int32_t operand{0};
};

struct GraphOutput
{
    std::string name; //!< Binding name; the value may carry another one.
    ValueId value{kNone};
};

class Graph
{
  public:
    Graph()
        : mSymbols{std::make_shared<SymbolTable>()}
    {
    }
    //! An empty one for a body of a layer of this graph: it has the same symbols.
    BodyPtr makeBody() const;
    //! 0: no body.
    int32_t scope() const noexcept
    {
        return mScope;
    }

    // Building, in topological order.
    ValueId addInput(std::string name, TensorType type);
    ValueId addConstant(std::string name, std::shared_ptr<Constant const> constant);
    //! Infers types; errors name the layer.
    Result<NodeId> addNode(LayerPtr layer, std::string name, std::vector<ValueId> inputs, Origins origins = {});
    void markOutput(ValueId value, std::string name);
    void rename(ValueId value, std::string name)
    {
        mValues.at(static_cast<size_t>(value)).name = std::move(name);
    }
    //! What an input of a body is to the operand of its node.
    enum class BodyInput : uint8_t
    {
        kCarried, //!< Of its type.
        kSlice,   //!< One along its first axis.
        kCaptured,
    };
    ValueId addBodyInput(std::string name, Value const& operand, BodyInput kind);
    //! The kind of the input at a position of a loop's body, or of a conditional's (null).
    static BodyInput kindOfBodyInput(LoopForm const* loop, size_t position) noexcept;
    //! Reads of an input of a body, whose operand has become a constant, go to that.
    void bindInput(size_t position, std::shared_ptr<Constant const> constant);
    //! Symbolic values of an input that is a shape tensor; before its readers are added.
    void setContents(ValueId value, Shape contents)
    {
        mValues.at(static_cast<size_t>(value)).contents = std::move(contents);
    }

    // Reading.
    NodeOrder const& order() const noexcept
    {
        return mOrder;
    }
    Node const& node(NodeId id) const
    {
        return *mNodes.at(static_cast<size_t>(id));
    }
    Value const& value(ValueId id) const
    {
        return mValues.at(static_cast<size_t>(id));
    }
    size_t valueCount() const noexcept
    {
        return mValues.size();
    }
    bool isAlive(NodeId id) const noexcept
    {
        return id >= 0 && static_cast<size_t>(id) < mNodes.size() && mNodes[static_cast<size_t>(id)] != nullptr;
    }
    //! Ids of nodes are below this one; new nodes take them from here on.
    NodeId nodeIdEnd() const noexcept
    {
        return static_cast<NodeId>(mNodes.size());
    }
    std::vector<ValueId> const& inputs() const noexcept
    {
        return mInputs;
    }
    std::vector<GraphOutput> const& outputs() const noexcept
    {
        return mOutputs;
    }
    SymbolTable& symbols() noexcept
    {
        return *mSymbols;
    }
    SymbolTable const& symbols() const noexcept
    {
        return *mSymbols;
    }
    //! Reads of a value by nodes, in no order: a node that reads it twice stands twice.
    std::span<Use const> uses(ValueId value) const
    {
        return mUses.at(static_cast<size_t>(value));
    }
    //! Nodes that read a value, each once, by id.
    std::vector<NodeId> readers(ValueId value) const;
    //! Number of reads of a value: by nodes (each operand counts) and as graph outputs.
    int32_t readerCount(ValueId value) const;
    bool isOutput(ValueId value) const noexcept;
    Node const* producerOf(ValueId value) const;
    //! The producer when it is an L, else null.
    template <typename L>
    Node const* producerOf(ValueId value) const
    {
        Node const* node = producerOf(value);
        return node != nullptr && as<L>(*node->layer) != nullptr ? node : nullptr;
    }
    Constant const* constantOf(ValueId value) const
    {
        return value == kNone ? nullptr : this->value(value).constant.get();
    }
    TensorType const& typeOf(ValueId value) const
    {
        return this->value(value).type;
    }
    //! What the rules of a layer may know of these values.
    std::vector<Input> viewsOf(std::vector<ValueId> const& values) const;
    //! The same as inputs of a layer, which may make symbols.
    Inputs inputsOf(std::vector<ValueId> const& inputs, std::string layerName, ValueId firstOutput);

  private:
    friend class Patch;
    friend class PatchApplication;
    friend class DeadNodes;
    //! Infers and inserts before the node `at`; kNone: at the end.
    Result<NodeId> insertNode(
        NodeId at, LayerPtr layer, std::string name, std::vector<ValueId> inputs, Origins origins);
    //! How much there is of all that insertNode and addConstant append, to forget what a failed edit made.
    struct Size
    {
        size_t nodes{0};
        size_t values{0};
        int32_t symbols{0};
    };
    Size size() const noexcept
    {
        return {mNodes.size(), mValues.size(), mSymbols->size()};
    }
    void truncate(Size const& size);
    void replaceReads(ValueId from, ValueId to);
    void eraseNode(NodeId id);
    void addUse(ValueId value, Use use);
    void removeUse(ValueId value, Use use) noexcept;

    std::vector<std::unique_ptr<Node>> mNodes; //!< Null: erased. Ids stay valid.
    std::vector<Value> mValues;
    std::vector<std::vector<Use>> mUses;       //!< By value.
    std::vector<std::vector<int32_t>> mPlaces; //!< By node and operand: where the read stands in mUses.
    NodeOrder mOrder;
    std::vector<ValueId> mInputs;
    std::vector<GraphOutput> mOutputs;
    std::unordered_map<ValueId, std::vector<size_t>> mOutputsOf; //!< Positions in mOutputs.
    std::shared_ptr<SymbolTable> mSymbols;
    int32_t mScope{0};
};

} // namespace tenon
