// ShapeExpr: an extent that may depend on what is known only at run time; always in a normal form, so that equal
// extents compare equal. Equal parts are one object in the whole process: comparing takes no time, and an expression
// that reads one part along many paths stays as small as its parts are many.
#pragma once

#include "base/integer_op.h"
#include "base/result.h"

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace tenon
{

//! Closed interval of the values that an extent can take.
struct Range
{
    int64_t min{0};
    int64_t max{INT64_MAX};
};

enum class ShapeOp : uint8_t
{
    kSymbol,
    kFloorDiv,
    kMod,
    kMin,
    kMax,
    kEqual,   //!< 1 or 0.
    kLess,    //!< 1 or 0.
    kProduct, //!< A product that would be too long when multiplied out.
    // With operands of either kind, integers of real ones (see real_expr.h).
    kTruncate,
    kRealEqual,
    kRealLess,
    kRealIsNan,
    kRealIsInfinite,
    // Real ones.
    kRealSymbol,
    kRealConstant, //!< a: its bits.
    kReal,         //!< `symbol`: the RealOp.
    kRealSelect,   //!< a: the condition, b: a kRealPair.
    kRealPair,     //!< Has no value of its own.
};

constexpr bool isRealOp(ShapeOp op) noexcept
{
    return op >= ShapeOp::kRealSymbol;
}

//! The arithmetic of an operation on integers; none of others.
constexpr std::optional<IntegerOp> integerOp(ShapeOp op) noexcept
{
    switch (op)
    {
    case ShapeOp::kFloorDiv: return IntegerOp::kFloorDiv;
    case ShapeOp::kMod: return IntegerOp::kMod;
    case ShapeOp::kMin: return IntegerOp::kMin;
    case ShapeOp::kMax: return IntegerOp::kMax;
    case ShapeOp::kEqual: return IntegerOp::kEqual;
    case ShapeOp::kLess: return IntegerOp::kLess;
    case ShapeOp::kProduct: return IntegerOp::kMul;
    default: return std::nullopt;
    }
}

class SymbolTable;

//! A sum of products of atoms with integer coefficients; an atom is a symbol or an operation of ShapeOp on two
//! expressions. Values are immutable and cheap to copy.
class ShapeExpr
{
  public:
    struct Atom;
    struct Sum;
    using AtomPtr = std::shared_ptr<Atom const>;
    struct Term
    {
        int64_t factor{0};
        std::vector<AtomPtr> atoms; //!< Sorted; repeated for powers. Empty: the constant term.
    };

    ShapeExpr(int64_t constant = 0)
        : mConstant{constant}
    {
    }
    static ShapeExpr symbol(int32_t id);
    //! Exactly one atom, as it stands.
    static ShapeExpr ofAtom(Atom const& atom);

    bool isConstant() const noexcept
    {
        return mTerms == nullptr;
    }
    std::optional<int64_t> constant() const noexcept
    {
        return isConstant() ? std::optional{mConstant} : std::nullopt;
    }
    //! The symbol when the expression is exactly one, also a real one.
    std::optional<int32_t> asSymbol() const noexcept;
    //! Terms of the sum, the constant one included.
    std::vector<Term> terms() const;
    //! The same without a copy; empty for constants.
    std::span<Term const> termsView() const noexcept;

    //! With symbol i replaced by values[i]: for real symbols, as realBits(). Of a real expression, as realBits().
    int64_t evaluate(std::span<int64_t const> values) const;
    //! Of integer expressions.
    Range range(SymbolTable const& symbols) const;
    //! Symbols that the value depends on, ascending, each once.
    std::vector<int32_t> symbols() const;
    ShapeExpr replace(int32_t symbol, ShapeExpr const& with) const;

    //! Operations inside each other; 0: a constant, 1: symbols.
    int32_t depth() const noexcept;
    //! Text of the normal form, cut off where it grows long.
    std::string show() const;
    //! Equal for equal expressions while one of them lives.
    size_t hash() const noexcept;

    friend bool operator==(ShapeExpr const& a, ShapeExpr const& b) noexcept
    {
        return a.mConstant == b.mConstant && a.mTerms == b.mTerms;
    }
    //! An order that depends on what the expressions are, not on when they were made: plans come out the same again.
    friend std::strong_ordering operator<=>(ShapeExpr const& a, ShapeExpr const& b) noexcept;
    friend ShapeExpr operator+(ShapeExpr const& a, ShapeExpr const& b);
    friend ShapeExpr operator-(ShapeExpr const& a, ShapeExpr const& b);
    friend ShapeExpr operator*(ShapeExpr const& a, ShapeExpr const& b);

  private:
    friend ShapeExpr fromTerms(std::vector<Term> terms);
    int64_t mConstant{0};              //!< 0 when not constant.
    std::shared_ptr<Sum const> mTerms; //!< Null when constant.
};

struct ShapeExpr::Atom
{
    ShapeOp op{ShapeOp::kSymbol};
    int32_t symbol{-1};
    ShapeExpr a;
    ShapeExpr b;
};

//! Division rounds towards minus infinity; by zero it gives 0 (a plan must not crash on it).
ShapeExpr floorDiv(ShapeExpr const& a, ShapeExpr const& b);
ShapeExpr ceilDiv(ShapeExpr const& a, ShapeExpr const& b);
ShapeExpr mod(ShapeExpr const& a, ShapeExpr const& b);
ShapeExpr min(ShapeExpr const& a, ShapeExpr const& b);
ShapeExpr max(ShapeExpr const& a, ShapeExpr const& b);
ShapeExpr equal(ShapeExpr const& a, ShapeExpr const& b);
ShapeExpr less(ShapeExpr const& a, ShapeExpr const& b);
//! a where condition (0 or 1) is 1, else b.
ShapeExpr select(ShapeExpr const& condition, ShapeExpr const& a, ShapeExpr const& b);

//! What a symbol stands for.
enum class SymbolKind : uint8_t
{
    kInputExtent, //!< Extent `index` of network input `source`.
    kInputValue,  //!< Element `index` of network input `source`, a shape tensor.
    kData,        //!< Known after a kernel has run: extent or size `index` of value `source`.
};

struct Symbol
{
    SymbolKind kind{SymbolKind::kInputExtent};
    int32_t source{0};
    int32_t index{0};
    std::string name; //!< Dimension name of the user, or one that we made.
    Range range;
    ShapeExpr upper;    //!< kData: bound in terms of earlier symbols.
    bool isReal{false}; //!< kInputValue: a floating number.
    int32_t scope{0};   //!< kData: the graph whose value `source` is; 0: the network's, others: bodies.
};

//! The symbols of one graph and of the bodies in it: their extents are expressions in the same ones.
class SymbolTable
{
  public:
    //! The symbol of (kind, source, index) in a scope, made when it is new.
    int32_t find(
        SymbolKind kind, int32_t source, int32_t index, std::string name = {}, Range range = {}, int32_t scope = 0);
    //! For one more body.
    int32_t newScope() noexcept
    {
        return ++mScopes;
    }
    Symbol& at(int32_t id)
    {
        return mSymbols.at(static_cast<size_t>(id));
    }
    Symbol const& at(int32_t id) const
    {
        return mSymbols.at(static_cast<size_t>(id));
    }
    int32_t size() const noexcept
    {
        return static_cast<int32_t>(mSymbols.size());
    }
    //! The symbols of a source, by their index.
    std::vector<int32_t> ofSource(SymbolKind kind, int32_t source, int32_t scope = 0) const;
    //! Forgets all but the first symbols.
    void truncate(int32_t size);

  private:
    std::vector<Symbol> mSymbols;
    std::map<std::tuple<SymbolKind, int32_t, int32_t, int32_t>, int32_t> mIds; //!< By kind, scope, source and index.
    int32_t mScopes{0};
};

} // namespace tenon
