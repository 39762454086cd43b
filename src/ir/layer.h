// Layer: one operation of a graph with its fields; a type-erased holder for the structs of layers/.
//
// A layer struct L has: static kName, static fields(), and infer(Inputs const&) const giving Result<TensorType> or
// Result<std::vector<TensorType>>. It may have:
//   Expr body(Expr x) const  or  Expr body(std::vector<Expr> const& x) const      its meaning as an expression
//   Result<std::vector<HostTensor>> reference(HostTensors const& in) const         its meaning as plain loops
//   std::optional<Shape> contents(Inputs const&) const                             symbolic contents of output 0;
//                                                                                  long ones with real values are data
//   static constexpr bool kHasSideEffects{true}                                    is kept even when nothing reads it
//   std::vector<BodyPtr> bodies                                                    graphs that it runs (see control.h)
//   LoopForm const& form() const                                                   what it repeats its body with
// One that users can add has static kPublic besides (layers/public_facts.h).
#pragma once

#include "base/fields.h"
#include "ir/control.h"
#include "ir/expr.h"
#include "ir/host_tensor.h"
#include "ir/real_expr.h"
#include "ir/type.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tenon
{

//! Longest tensor whose values are tracked: shape tensors are short.
inline constexpr int64_t kMaxShapeValues{4096};
//! The same where values are real numbers: their arithmetic is never simplified.
inline constexpr int64_t kMaxRealValues{64};

//! What a layer's rules may know of one input.
struct Input
{
    TensorType const* type{nullptr};   //!< Null: optional input that is absent.
    Shape const* contents{nullptr};    //!< Row-major symbolic values, when known; of floating tensors, see real_expr.h.
    Constant const* constant{nullptr}; //!< Contents, when the tensor is a constant.
    std::string_view name{"?"};
};

//! The inputs of one node, as its rules see them.
class Inputs
{
  public:
    Inputs(std::vector<Input> inputs, std::string layerName, SymbolTable* symbols = nullptr, int32_t firstOutput = -1,
        int32_t scope = 0)
        : mInputs{std::move(inputs)},
          mLayerName{std::move(layerName)},
          mSymbols{symbols},
          mFirstOutput{firstOutput},
          mScope{scope}
    {
    }

    int32_t size() const noexcept
    {
        return static_cast<int32_t>(mInputs.size());
    }
    bool has(int32_t i) const noexcept
    {
        return i >= 0 && i < size() && mInputs[static_cast<size_t>(i)].type != nullptr;
    }
    Input const& operator[](int32_t i) const
    {
        return mInputs.at(static_cast<size_t>(i));
    }
    TensorType const& type(int32_t i) const
    {
        return *mInputs.at(static_cast<size_t>(i)).type;
    }
    //! Name of the layer, for messages.
    std::string const& layerName() const noexcept
    {
        return mLayerName;
    }
    //! Symbolic values of integer input i, from its contents or its constant; none when unknown.
    std::optional<Shape> values(int32_t i) const;
    //! An extent that only running the layer tells: symbol `index` of this node, at most `upper`. The same one each
    //! time that inference repeats.
    ShapeExpr dataExtent(int32_t index, ShapeExpr const& upper) const;
    SymbolTable const* symbols() const noexcept
    {
        return mSymbols;
    }
    //! Others in the same place: what a layer hands to the rules of one that it is made of.
    Inputs with(std::vector<Input> inputs) const
    {
        return Inputs{std::move(inputs), mLayerName, mSymbols, mFirstOutput, mScope};
    }

  private:
    std::vector<Input> mInputs;
    std::string mLayerName;
    SymbolTable* mSymbols;
    int32_t mFirstOutput;
    int32_t mScope;
};

//! Inputs of the reference; null: optional input that is absent.
using HostTensors = std::vector<HostTensor const*>;

class Layer
{
  public:
    virtual ~Layer() = default;
    virtual std::string_view name() const noexcept = 0;
    virtual std::string show() const = 0;
    virtual Bytes stored() const = 0;
    virtual Result<std::vector<TensorType>> infer(Inputs const& in) const = 0;
    virtual std::optional<Shape> contents(Inputs const& in) const = 0;
    //! The meaning as an expression over `count` inputs; none when the layer has its own algorithm.
    virtual std::optional<Expr> body(int32_t count) const = 0;
    //! Runs the plain loops, or the body; an error when the layer has neither.
    virtual Result<std::vector<HostTensor>> reference(HostTensors const& in) const = 0;
    virtual bool hasSideEffects() const noexcept = 0;
    //! The graphs that it runs: a loop has one, a conditional has two.
    virtual std::span<BodyPtr const> bodies() const noexcept = 0;
    //! The same layer with other bodies; null: it has none.
    virtual std::shared_ptr<Layer const> withBodies(std::vector<BodyPtr> bodies) const = 0;
    //! Null: not a loop.
    virtual LoopForm const* loopForm() const noexcept = 0;
};

using LayerPtr = std::shared_ptr<Layer const>;

//! Value of an expression on tensors, with broadcasting; in double and exact integers.
Result<HostTensor> evaluate(Expr const& expr, HostTensors const& in);

// What the classes below have in common is compiled once: there is one of them for each kind of layer.

//! The one output of a layer that has no more.
Result<std::vector<TensorType>> onlyOutput(Result<TensorType> type);
//! None for contents of which there are too many to compute with.
std::optional<Shape> contentsWithin(std::optional<Shape> known);
std::vector<Expr> inputExprs(int32_t count);
Result<std::vector<HostTensor>> evaluateBody(
    std::optional<Expr> const& body, HostTensors const& in, std::string_view kind);

template <typename L>
class LayerOf final : public Layer
{
  public:
    explicit LayerOf(L fields)
        : mFields{std::move(fields)}
    {
    }
    L const& get() const noexcept
    {
        return mFields;
    }
    std::string_view name() const noexcept override
    {
        return L::kName;
    }
    std::string show() const override
    {
        return showFields(mFields);
    }
    Bytes stored() const override
    {
        return tenon::stored(mFields);
    }
    Result<std::vector<TensorType>> infer(Inputs const& in) const override
    {
        if constexpr (std::is_same_v<decltype(mFields.infer(in)), Result<TensorType>>)
            return onlyOutput(mFields.infer(in));
        else
            return mFields.infer(in);
    }
    std::optional<Shape> contents(Inputs const& in) const override
    {
        if constexpr (requires { mFields.contents(in); })
            return contentsWithin(mFields.contents(in));
        else
            return std::nullopt;
    }
    std::optional<Expr> body([[maybe_unused]] int32_t count) const override
    {
        if constexpr (requires { mFields.body(Expr{}); })
            return mFields.body(Expr::input(0));
        else if constexpr (requires { mFields.body(std::vector<Expr>{}); })
            return mFields.body(inputExprs(count));
        else
            return std::nullopt;
    }
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const override
    {
        if constexpr (requires { mFields.reference(in); })
            return mFields.reference(in);
        else
            return evaluateBody(body(static_cast<int32_t>(in.size())), in, L::kName);
    }
    bool hasSideEffects() const noexcept override
    {
        if constexpr (requires { L::kHasSideEffects; })
            return L::kHasSideEffects;
        else
            return false;
    }
    std::span<BodyPtr const> bodies() const noexcept override
    {
        if constexpr (requires { mFields.bodies; })
            return mFields.bodies;
        else
            return {};
    }
    std::shared_ptr<Layer const> withBodies([[maybe_unused]] std::vector<BodyPtr> bodies) const override
    {
        if constexpr (requires { mFields.bodies; })
        {
            L copy = mFields;
            copy.bodies = std::move(bodies);
            return std::make_shared<LayerOf<L> const>(std::move(copy));
        }
        else
            return nullptr;
    }
    LoopForm const* loopForm() const noexcept override
    {
        if constexpr (requires { mFields.form(); })
            return &mFields.form();
        else
            return nullptr;
    }

  private:
    L mFields;
};

template <typename L>
LayerPtr makeLayer(L fields)
{
    return std::make_shared<LayerOf<L> const>(std::move(fields));
}

//! The fields when the layer is an L, else null.
template <typename L>
L const* as(Layer const& layer) noexcept
{
    return layer.name() == L::kName ? &static_cast<LayerOf<L> const&>(layer).get() : nullptr;
}

} // namespace tenon
