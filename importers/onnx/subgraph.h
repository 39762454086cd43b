// Graphs inside of nodes: their values, and what they read of the graphs around them.
#pragma once

#include "node.h"

#include <functional>
#include <unordered_map>

namespace tenon::onnx
{

//! How a value of an outer graph comes in. Constants need not.
using Capture = std::function<Value(Value const& outside)>;

//! Imports the graphs that nodes carry; the import of the model implements it.
class Subgraphs
{
  public:
    virtual ~Subgraphs() = default;
    //! The graph's outputs for these inputs, in the graph's order; absent ones leave their names to outer graphs.
    virtual std::vector<Value> importGraph(
        ::onnx::GraphProto const& graph, std::vector<Value> const& inputs, Capture const& capture) = 0;
};

//! The values of one graph inside of another, or of one call of a function.
struct GraphScope
{
    std::string title; //!< For messages: "graph 'body'".
    Capture const& capture;
    std::unordered_map<std::string, Value> values;
    std::string function;                                 //!< Its id, where this is a call; nothing around it is seen.
    std::unordered_map<std::string, std::string> renamed; //!< What the caller calls the function's outputs.

    bool isFunction() const noexcept
    {
        return !function.empty();
    }
};

//! The innermost scope of an import for as long as it lives.
class Entered
{
  public:
    Entered(std::vector<GraphScope*>& scopes, GraphScope& scope)
        : mScopes{scopes}
    {
        mScopes.push_back(&scope);
    }
    ~Entered()
    {
        mScopes.pop_back();
    }
    Entered(Entered const&) = delete;
    Entered& operator=(Entered const&) = delete;

  private:
    std::vector<GraphScope*>& mScopes;
};

//! Whether a node of the graph, or of one inside it, reads the name.
bool isRead(::onnx::GraphProto const& graph, std::string const& name);

} // namespace tenon::onnx
