// ShapeExpr: what walks over expressions: text, values, ranges, symbols and replacement.
#include "base/check.h"
#include "base/saturating.h"
#include "ir/real_expr.h"
#include "ir/shape_expr.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

namespace tenon
{

namespace
{
using Term = ShapeExpr::Term;
using Atom = ShapeExpr::Atom;
using AtomPtr = ShapeExpr::AtomPtr;

constexpr size_t kMaxCharacters{400}; // Of a text.

char const* opName(ShapeOp op)
{
    switch (op)
    {
    case ShapeOp::kSymbol: return "s";
    case ShapeOp::kFloorDiv: return "floordiv";
    case ShapeOp::kMod: return "mod";
    case ShapeOp::kMin: return "min";
    case ShapeOp::kMax: return "max";
    case ShapeOp::kEqual: return "equal";
    case ShapeOp::kLess: return "less";
    case ShapeOp::kProduct: return "product";
    case ShapeOp::kTruncate: return "truncate";
    case ShapeOp::kRealEqual: return "realequal";
    case ShapeOp::kRealLess: return "realless";
    case ShapeOp::kRealIsNan: return "isnan";
    case ShapeOp::kRealIsInfinite: return "isinf";
    case ShapeOp::kRealSymbol: return "r";
    case ShapeOp::kRealConstant: return "real";
    case ShapeOp::kReal: return "real";
    case ShapeOp::kRealSelect: return "select";
    case ShapeOp::kRealPair: return "pair";
    }
    return "?";
}

void append(std::string& text, ShapeExpr const& expr);

void append(std::string& text, Atom const& atom)
{
    if (atom.op == ShapeOp::kRealConstant)
    {
        text += fmt::format("{}", fromRealBits(*atom.a.constant()));
        return;
    }
    text += atom.op == ShapeOp::kReal ? nameOf(static_cast<RealOp>(atom.symbol)) : opName(atom.op);
    if (atom.op == ShapeOp::kSymbol || atom.op == ShapeOp::kRealSymbol)
    {
        text += std::to_string(atom.symbol);
        return;
    }
    text += "(";
    append(text, atom.a);
    text += ",";
    append(text, atom.b);
    text += ")";
}

//! Stops when the text is long: a part that is read along many paths would be written along each.
void append(std::string& text, ShapeExpr const& expr)
{
    bool first{true};
    for (Term const& term : expr.terms())
    {
        if (text.size() > kMaxCharacters)
            return;
        text += first || term.factor < 0 ? "" : "+";
        first = false;
        if (term.atoms.empty() || term.factor != 1)
            text += std::to_string(term.factor) + (term.atoms.empty() ? "" : "*");
        for (size_t i = 0; i < term.atoms.size() && text.size() <= kMaxCharacters; ++i)
        {
            text += i == 0 ? "" : "*";
            append(text, *term.atoms[i]);
        }
    }
}
} // namespace

std::string ShapeExpr::show() const
{
    std::string text;
    append(text, *this);
    if (text.size() > kMaxCharacters)
        text = text.substr(0, kMaxCharacters) + "…";
    return text;
}

namespace
{
//! Valuation; the value of an operation is computed once, along however many paths it is read.
class Valuation
{
  public:
    explicit Valuation(std::span<int64_t const> values)
        : mValues{values}
    {
    }
    int64_t of(ShapeExpr const& expr)
    {
        if (expr.isConstant())
            return *expr.constant();
        int64_t total{0};
        for (Term const& term : expr.termsView())
        {
            int64_t factor{term.factor};
            for (AtomPtr const& atom : term.atoms)
                factor = saturatingMul(factor, of(*atom));
            total = saturatingAdd(total, factor);
        }
        return total;
    }

  private:
    int64_t of(Atom const& atom)
    {
        if (atom.op == ShapeOp::kSymbol || atom.op == ShapeOp::kRealSymbol)
        {
            TENON_ENSURE(static_cast<size_t>(atom.symbol) < mValues.size(), "no value for s{}", atom.symbol);
            return mValues[static_cast<size_t>(atom.symbol)];
        }
        if (auto const known = mKnown.find(&atom); known != mKnown.end())
            return known->second;
        return mKnown[&atom] = computed(atom);
    }

    double real(ShapeExpr const& expr)
    {
        return isReal(expr) ? fromRealBits(of(expr)) : static_cast<double>(of(expr));
    }

    int64_t computed(Atom const& atom)
    {
        switch (atom.op)
        {
        case ShapeOp::kTruncate: return truncated(real(atom.a));
        case ShapeOp::kRealEqual: return real(atom.a) == real(atom.b) ? 1 : 0;
        case ShapeOp::kRealLess: return real(atom.a) < real(atom.b) ? 1 : 0;
        case ShapeOp::kRealIsNan: return std::isnan(real(atom.a)) ? 1 : 0;
        case ShapeOp::kRealIsInfinite: return std::isinf(real(atom.a)) ? 1 : 0;
        case ShapeOp::kRealConstant: return *atom.a.constant();
        case ShapeOp::kReal:
        {
            double const a = real(atom.a);
            return realBits(apply(static_cast<RealOp>(atom.symbol), a, real(atom.b)));
        }
        case ShapeOp::kRealSelect:
        {
            Atom const& pair = *atom.b.termsView().front().atoms.front();
            return realBits(real(of(atom.a) != 0 ? pair.a : pair.b));
        }
        default: break;
        }
        std::optional<IntegerOp> const op = integerOp(atom.op);
        TENON_ENSURE(op.has_value(), "a pair has no value");
        int64_t const a = of(atom.a);
        return apply(*op, a, of(atom.b));
    }

    std::span<int64_t const> mValues;
    std::unordered_map<Atom const*, int64_t> mKnown;
};

//! The range that an operation has by its arithmetic.
Range rangeOf(IntegerOp op, Range const& a, Range const& b)
{
    WholeSpan const span = apply(op, WholeSpan{a.min, a.max}, WholeSpan{b.min, b.max});
    return {span.lo, span.hi};
}

//! Ranges; that of an operation is computed once.
class Ranges
{
  public:
    explicit Ranges(SymbolTable const& symbols)
        : mSymbols{symbols}
    {
    }
    Range of(ShapeExpr const& expr)
    {
        if (expr.isConstant())
            return {*expr.constant(), *expr.constant()};
        Range total{0, 0};
        for (Term const& term : expr.termsView())
        {
            Range part{term.factor, term.factor};
            for (AtomPtr const& atom : term.atoms)
                part = rangeOf(IntegerOp::kMul, part, of(*atom));
            total = rangeOf(IntegerOp::kAdd, total, part);
        }
        return total;
    }

  private:
    Range of(Atom const& atom)
    {
        switch (atom.op)
        {
        case ShapeOp::kSymbol: return mSymbols.at(atom.symbol).range;
        case ShapeOp::kRealEqual:
        case ShapeOp::kRealLess:
        case ShapeOp::kRealIsNan:
        case ShapeOp::kRealIsInfinite: return {0, 1};
        default: break;
        }
        if (isRealOp(atom.op))
            return {INT64_MIN, INT64_MAX}; // No integer at all.
        if (auto const known = mKnown.find(&atom); known != mKnown.end())
            return known->second;
        if (atom.op == ShapeOp::kTruncate)
        {
            WholeSpan const whole = truncated(real(atom.a));
            return mKnown[&atom] = {whole.lo, whole.hi};
        }
        Range const a = of(atom.a);
        return mKnown[&atom] = rangeOf(*integerOp(atom.op), a, of(atom.b));
    }

    RealSpan real(ShapeExpr const& expr)
    {
        if (isReal(expr))
            return real(*expr.termsView().front().atoms.front());
        Range const range = of(expr);
        return realSpan({range.min, range.max});
    }

    RealSpan real(Atom const& atom)
    {
        if (auto const known = mKnownReals.find(&atom); known != mKnownReals.end())
            return known->second;
        return mKnownReals[&atom] = computed(atom);
    }

    RealSpan computed(Atom const& atom)
    {
        switch (atom.op)
        {
        case ShapeOp::kRealSymbol:
        {
            Range const range = mSymbols.at(atom.symbol).range;
            return realSpan({range.min, range.max});
        }
        case ShapeOp::kRealConstant:
        {
            double const value = fromRealBits(*atom.a.constant());
            return {value, value};
        }
        case ShapeOp::kReal:
        {
            RealSpan const a = real(atom.a);
            return apply(static_cast<RealOp>(atom.symbol), a, real(atom.b));
        }
        default: break;
        }
        Atom const& pair = *atom.b.termsView().front().atoms.front();
        Range const condition = of(atom.a);
        RealSpan const a = real(pair.a);
        return select({condition.min, condition.max}, a, real(pair.b));
    }

    SymbolTable const& mSymbols;
    std::unordered_map<Atom const*, Range> mKnown;
    std::unordered_map<Atom const*, RealSpan> mKnownReals;
};

//! The symbols below an expression; each operation is visited once.
class SymbolSearch
{
  public:
    void visit(ShapeExpr const& expr)
    {
        for (Term const& term : expr.termsView())
            for (AtomPtr const& atom : term.atoms)
                if (atom->op == ShapeOp::kSymbol || atom->op == ShapeOp::kRealSymbol)
                    found.push_back(atom->symbol);
                else if (mSeen.insert(atom.get()).second)
                {
                    visit(atom->a);
                    visit(atom->b);
                }
    }

    std::vector<int32_t> found;

  private:
    std::unordered_set<Atom const*> mSeen;
};

ShapeExpr rebuilt(Atom const& atom, ShapeExpr const& a, ShapeExpr const& b)
{
    switch (atom.op)
    {
    case ShapeOp::kTruncate: return truncate(a);
    case ShapeOp::kRealEqual: return realEqual(a, b);
    case ShapeOp::kRealLess: return realLess(a, b);
    case ShapeOp::kRealIsNan: return realIsNan(a);
    case ShapeOp::kRealIsInfinite: return realIsInfinite(a);
    case ShapeOp::kRealConstant: return ShapeExpr::ofAtom(atom);
    case ShapeOp::kReal: return realOp(static_cast<RealOp>(atom.symbol), a, b);
    case ShapeOp::kRealPair: return ShapeExpr::ofAtom({atom.op, -1, a, b});
    case ShapeOp::kRealSelect:
    {
        Atom const& pair = *b.termsView().front().atoms.front();
        return realSelect(a, pair.a, pair.b);
    }
    case ShapeOp::kFloorDiv: return floorDiv(a, b);
    case ShapeOp::kMod: return mod(a, b);
    case ShapeOp::kMin: return min(a, b);
    case ShapeOp::kMax: return max(a, b);
    case ShapeOp::kEqual: return equal(a, b);
    case ShapeOp::kProduct: return a * b;
    default: return less(a, b);
    }
}

//! One symbol replaced; each operation is rebuilt once.
class Replacement
{
  public:
    Replacement(int32_t symbol, ShapeExpr const& with)
        : mSymbol{symbol},
          mWith{with}
    {
    }
    ShapeExpr of(ShapeExpr const& expr)
    {
        ShapeExpr sum{0};
        for (Term const& term : expr.terms())
        {
            ShapeExpr piece{term.factor};
            for (AtomPtr const& atom : term.atoms)
                piece = piece * of(*atom);
            sum = sum + piece;
        }
        return sum;
    }

  private:
    ShapeExpr of(Atom const& atom)
    {
        if (atom.op == ShapeOp::kSymbol)
            return atom.symbol == mSymbol ? mWith : ShapeExpr::symbol(atom.symbol);
        if (atom.op == ShapeOp::kRealSymbol)
            return atom.symbol == mSymbol ? mWith : realSymbol(atom.symbol);
        if (auto const known = mKnown.find(&atom); known != mKnown.end())
            return known->second;
        ShapeExpr const a = of(atom.a);
        return mKnown[&atom] = rebuilt(atom, a, of(atom.b));
    }

    int32_t mSymbol;
    ShapeExpr const& mWith;
    std::unordered_map<Atom const*, ShapeExpr> mKnown;
};
} // namespace

int64_t ShapeExpr::evaluate(std::span<int64_t const> values) const
{
    return Valuation{values}.of(*this);
}

Range ShapeExpr::range(SymbolTable const& symbols) const
{
    return Ranges{symbols}.of(*this);
}

std::vector<int32_t> ShapeExpr::symbols() const
{
    SymbolSearch search;
    search.visit(*this);
    std::sort(search.found.begin(), search.found.end());
    search.found.erase(std::unique(search.found.begin(), search.found.end()), search.found.end());
    return std::move(search.found);
}

ShapeExpr ShapeExpr::replace(int32_t symbol, ShapeExpr const& with) const
{
    return Replacement{symbol, with}.of(*this);
}

int32_t SymbolTable::find(SymbolKind kind, int32_t source, int32_t index, std::string name, Range range, int32_t scope)
{
    auto const [known, isNew] = mIds.try_emplace({kind, scope, source, index}, size());
    if (isNew)
        mSymbols.push_back({kind, source, index, std::move(name), range, {}, false, scope});
    return known->second;
}

std::vector<int32_t> SymbolTable::ofSource(SymbolKind kind, int32_t source, int32_t scope) const
{
    std::vector<int32_t> found;
    auto const isOne = [&](auto const& key) {
        return std::get<0>(key) == kind && std::get<1>(key) == scope && std::get<2>(key) == source;
    };
    for (auto at = mIds.lower_bound({kind, scope, source, INT32_MIN}); at != mIds.end() && isOne(at->first); ++at)
        found.push_back(at->second);
    return found;
}

void SymbolTable::truncate(int32_t size)
{
    for (; this->size() > size; mSymbols.pop_back())
        mIds.erase({mSymbols.back().kind, mSymbols.back().scope, mSymbols.back().source, mSymbols.back().index});
}

} // namespace tenon
