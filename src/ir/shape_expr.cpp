// ShapeExpr: normal form, simplification, evaluation and ranges.
#include "ir/shape_expr.h"

#include "base/check.h"

#include <algorithm>
#include <map>

namespace tenon
{

struct ShapeExpr::Sum
{
    std::vector<Term> terms; //!< Sorted by the key of their atoms; no factor is 0.
    std::string key;
};

namespace
{
using Term = ShapeExpr::Term;
using AtomPtr = ShapeExpr::AtomPtr;

std::string keyOfAtoms(std::vector<AtomPtr> const& atoms)
{
    std::string key;
    for (AtomPtr const& atom : atoms)
        key += (key.empty() ? "" : "*") + atom->key;
    return key;
}

std::string keyOfTerms(std::vector<Term> const& terms)
{
    std::string key;
    for (Term const& term : terms)
    {
        std::string const atoms = keyOfAtoms(term.atoms);
        std::string piece;
        if (atoms.empty())
            piece = std::to_string(term.factor);
        else if (term.factor == 1)
            piece = atoms;
        else
            piece = std::to_string(term.factor) + "*" + atoms;
        if (!key.empty() && piece.front() != '-')
            key += "+";
        key += piece;
    }
    return key;
}

std::vector<AtomPtr> product(std::vector<AtomPtr> const& a, std::vector<AtomPtr> const& b)
{
    std::vector<AtomPtr> all{a};
    all.insert(all.end(), b.begin(), b.end());
    std::sort(all.begin(), all.end(), [](AtomPtr const& x, AtomPtr const& y) { return x->key < y->key; });
    return all;
}

int64_t saturatingAdd(int64_t a, int64_t b) noexcept
{
    int64_t sum{0};
    if (__builtin_add_overflow(a, b, &sum))
        return a > 0 ? INT64_MAX : INT64_MIN;
    return sum;
}

int64_t saturatingMul(int64_t a, int64_t b) noexcept
{
    int64_t result{0};
    if (__builtin_mul_overflow(a, b, &result))
        return (a > 0) == (b > 0) ? INT64_MAX : INT64_MIN;
    return result;
}

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
    }
    return "?";
}
} // namespace

ShapeExpr fromTerms(std::vector<Term> terms)
{
    std::map<std::string, Term> merged; // Ordered by key: the normal form.
    for (Term& term : terms)
    {
        auto [at, isNew] = merged.try_emplace(keyOfAtoms(term.atoms), term);
        if (!isNew)
            at->second.factor = saturatingAdd(at->second.factor, term.factor);
    }
    std::vector<Term> kept;
    for (auto& [key, term] : merged)
        if (term.factor != 0)
            kept.push_back(std::move(term));
    if (kept.empty())
        return ShapeExpr{0};
    if (kept.size() == 1 && kept.front().atoms.empty())
        return ShapeExpr{kept.front().factor};
    auto sum = std::make_shared<ShapeExpr::Sum>();
    sum->key = keyOfTerms(kept);
    sum->terms = std::move(kept);
    ShapeExpr result;
    result.mTerms = std::move(sum);
    return result;
}

namespace
{
ShapeExpr fromAtom(ShapeExpr::Atom atom)
{
    return fromTerms({Term{1, {std::make_shared<ShapeExpr::Atom const>(std::move(atom))}}});
}

ShapeExpr fromOp(ShapeOp op, ShapeExpr const& a, ShapeExpr const& b)
{
    return fromAtom({op, -1, a, b, std::string{opName(op)} + "(" + a.key() + "," + b.key() + ")"});
}

//! a / b when b is one term that divides every term of a.
std::optional<ShapeExpr> exactQuotient(std::vector<Term> const& terms, Term const& divisor)
{
    std::vector<Term> quotient;
    for (Term const& term : terms)
    {
        if (divisor.factor == 0 || term.factor % divisor.factor != 0)
            return std::nullopt;
        Term left{term.factor / divisor.factor, term.atoms};
        for (AtomPtr const& atom : divisor.atoms)
        {
            auto const at = std::find_if(
                left.atoms.begin(), left.atoms.end(), [&](AtomPtr const& each) { return each->key == atom->key; });
            if (at == left.atoms.end())
                return std::nullopt;
            left.atoms.erase(at);
        }
        quotient.push_back(std::move(left));
    }
    return fromTerms(std::move(quotient));
}
} // namespace

ShapeExpr ShapeExpr::symbol(int32_t id)
{
    return fromAtom({ShapeOp::kSymbol, id, {}, {}, "s" + std::to_string(id)});
}

std::optional<int32_t> ShapeExpr::asSymbol() const noexcept
{
    if (mTerms == nullptr || mTerms->terms.size() != 1)
        return std::nullopt;
    Term const& term = mTerms->terms.front();
    if (term.factor != 1 || term.atoms.size() != 1 || term.atoms.front()->op != ShapeOp::kSymbol)
        return std::nullopt;
    return term.atoms.front()->symbol;
}

std::vector<ShapeExpr::Term> ShapeExpr::terms() const
{
    if (mTerms != nullptr)
        return mTerms->terms;
    return {Term{mConstant, {}}};
}

std::string ShapeExpr::key() const
{
    return mTerms == nullptr ? std::to_string(mConstant) : mTerms->key;
}

bool operator==(ShapeExpr const& a, ShapeExpr const& b)
{
    if (a.isConstant() || b.isConstant())
        return a.isConstant() && b.isConstant() && a.mConstant == b.mConstant;
    return a.mTerms == b.mTerms || a.mTerms->key == b.mTerms->key;
}

ShapeExpr operator+(ShapeExpr const& a, ShapeExpr const& b)
{
    if (a.isConstant() && b.isConstant())
        return saturatingAdd(a.mConstant, b.mConstant);
    std::vector<Term> terms = a.terms();
    std::vector<Term> const more = b.terms();
    terms.insert(terms.end(), more.begin(), more.end());
    return fromTerms(std::move(terms));
}

ShapeExpr operator-(ShapeExpr const& a, ShapeExpr const& b)
{
    return a + b * ShapeExpr{-1};
}

ShapeExpr operator*(ShapeExpr const& a, ShapeExpr const& b)
{
    if (a.isConstant() && b.isConstant())
        return saturatingMul(a.mConstant, b.mConstant);
    std::vector<Term> terms;
    for (Term const& x : a.terms())
        for (Term const& y : b.terms())
            terms.push_back({saturatingMul(x.factor, y.factor), product(x.atoms, y.atoms)});
    return fromTerms(std::move(terms));
}

int64_t apply(ShapeOp op, int64_t a, int64_t b) noexcept
{
    switch (op)
    {
    case ShapeOp::kSymbol: return 0;
    case ShapeOp::kFloorDiv:
    case ShapeOp::kMod:
    {
        if (b == 0 || (a == INT64_MIN && b == -1))
            return 0;
        int64_t const rest = a % b;
        bool const adjust = rest != 0 && (rest < 0) != (b < 0);
        return op == ShapeOp::kMod ? rest + (adjust ? b : 0) : a / b - (adjust ? 1 : 0);
    }
    case ShapeOp::kMin: return std::min(a, b);
    case ShapeOp::kMax: return std::max(a, b);
    case ShapeOp::kEqual: return a == b ? 1 : 0;
    case ShapeOp::kLess: return a < b ? 1 : 0;
    }
    return 0;
}

ShapeExpr floorDiv(ShapeExpr const& a, ShapeExpr const& b)
{
    if (a.isConstant() && b.isConstant())
        return apply(ShapeOp::kFloorDiv, *a.constant(), *b.constant());
    if (b == ShapeExpr{1})
        return a;
    if (a == b)
        return 1;
    std::vector<Term> const divisor = b.terms();
    if (divisor.size() == 1)
    {
        // floor((k·x + r) / k) = x + floor(r / k): split off what divides exactly.
        std::vector<Term> divided;
        std::vector<Term> rest;
        for (Term const& term : a.terms())
            (exactQuotient({term}, divisor.front()) ? divided : rest).push_back(term);
        if (!divided.empty())
        {
            ShapeExpr const exact = *exactQuotient(divided, divisor.front());
            return rest.empty() ? exact : exact + floorDiv(fromTerms(std::move(rest)), b);
        }
    }
    std::vector<Term> const dividend = a.terms();
    if (b.isConstant() && *b.constant() > 0 && dividend.size() == 1 && dividend.front().factor == 1
        && dividend.front().atoms.size() == 1)
    {
        ShapeExpr::Atom const& inner = *dividend.front().atoms.front();
        if (inner.op == ShapeOp::kFloorDiv && inner.b.isConstant() && *inner.b.constant() > 0)
            return floorDiv(inner.a, inner.b * b);
    }
    return fromOp(ShapeOp::kFloorDiv, a, b);
}

ShapeExpr ceilDiv(ShapeExpr const& a, ShapeExpr const& b)
{
    return ShapeExpr{0} - floorDiv(ShapeExpr{0} - a, b);
}

ShapeExpr mod(ShapeExpr const& a, ShapeExpr const& b)
{
    if (a.isConstant() && b.isConstant())
        return apply(ShapeOp::kMod, *a.constant(), *b.constant());
    if (a == b || b == ShapeExpr{1})
        return 0;
    return fromOp(ShapeOp::kMod, a, b);
}

namespace
{
ShapeExpr extremum(ShapeOp op, ShapeExpr const& a, ShapeExpr const& b)
{
    ShapeExpr const difference = a - b;
    if (difference.isConstant())
    {
        bool const aIsLess = *difference.constant() < 0;
        return aIsLess == (op == ShapeOp::kMin) ? a : b;
    }
    return a.key() < b.key() ? fromOp(op, a, b) : fromOp(op, b, a); // Commutative: one order only.
}
} // namespace

ShapeExpr min(ShapeExpr const& a, ShapeExpr const& b)
{
    return extremum(ShapeOp::kMin, a, b);
}

ShapeExpr max(ShapeExpr const& a, ShapeExpr const& b)
{
    return extremum(ShapeOp::kMax, a, b);
}

ShapeExpr equal(ShapeExpr const& a, ShapeExpr const& b)
{
    ShapeExpr const difference = a - b;
    if (difference.isConstant())
        return *difference.constant() == 0 ? 1 : 0;
    return a.key() < b.key() ? fromOp(ShapeOp::kEqual, a, b) : fromOp(ShapeOp::kEqual, b, a);
}

ShapeExpr less(ShapeExpr const& a, ShapeExpr const& b)
{
    ShapeExpr const difference = a - b;
    if (difference.isConstant())
        return *difference.constant() < 0 ? 1 : 0;
    return fromOp(ShapeOp::kLess, a, b);
}

ShapeExpr select(ShapeExpr const& condition, ShapeExpr const& a, ShapeExpr const& b)
{
    if (a == b)
        return a;
    return b + condition * (a - b);
}

int64_t ShapeExpr::evaluate(std::span<int64_t const> values) const
{
    if (mTerms == nullptr)
        return mConstant;
    int64_t sum{0};
    for (Term const& term : mTerms->terms)
    {
        int64_t factor{term.factor};
        for (AtomPtr const& atom : term.atoms)
        {
            if (atom->op == ShapeOp::kSymbol)
            {
                TENON_ENSURE(static_cast<size_t>(atom->symbol) < values.size(), "no value for {}", atom->key);
                factor = saturatingMul(factor, values[static_cast<size_t>(atom->symbol)]);
            }
            else
                factor = saturatingMul(factor, apply(atom->op, atom->a.evaluate(values), atom->b.evaluate(values)));
        }
        sum = saturatingAdd(sum, factor);
    }
    return sum;
}

namespace
{
Range rangeOf(ShapeExpr::Atom const& atom, SymbolTable const& symbols)
{
    if (atom.op == ShapeOp::kSymbol)
        return symbols.at(atom.symbol).range;
    if (atom.op == ShapeOp::kEqual || atom.op == ShapeOp::kLess)
        return {0, 1};
    Range const a = atom.a.range(symbols);
    Range const b = atom.b.range(symbols);
    if (atom.op == ShapeOp::kMin)
        return {std::min(a.min, b.min), std::min(a.max, b.max)};
    if (atom.op == ShapeOp::kMax)
        return {std::max(a.min, b.min), std::max(a.max, b.max)};
    if (b.min <= 0)
        return {INT64_MIN, INT64_MAX};
    if (atom.op == ShapeOp::kMod)
        return {0, b.max == INT64_MAX ? INT64_MAX : b.max - 1};
    int64_t const corners[]{apply(ShapeOp::kFloorDiv, a.min, b.min), apply(ShapeOp::kFloorDiv, a.min, b.max),
        apply(ShapeOp::kFloorDiv, a.max, b.min), apply(ShapeOp::kFloorDiv, a.max, b.max)};
    return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
}
} // namespace

Range ShapeExpr::range(SymbolTable const& symbols) const
{
    Range total{0, 0};
    for (Term const& term : terms())
    {
        Range part{term.factor, term.factor};
        for (AtomPtr const& atom : term.atoms)
        {
            Range const r = rangeOf(*atom, symbols);
            int64_t const corners[]{saturatingMul(part.min, r.min), saturatingMul(part.min, r.max),
                saturatingMul(part.max, r.min), saturatingMul(part.max, r.max)};
            part = {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
        }
        total = {saturatingAdd(total.min, part.min), saturatingAdd(total.max, part.max)};
    }
    return total;
}

std::vector<int32_t> ShapeExpr::symbols() const
{
    std::vector<int32_t> found;
    if (mTerms == nullptr)
        return found;
    for (Term const& term : mTerms->terms)
        for (AtomPtr const& atom : term.atoms)
        {
            if (atom->op == ShapeOp::kSymbol)
            {
                found.push_back(atom->symbol);
                continue;
            }
            for (ShapeExpr const* part : {&atom->a, &atom->b})
                for (int32_t const id : part->symbols())
                    found.push_back(id);
        }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
}

namespace
{
ShapeExpr rebuilt(ShapeExpr::Atom const& atom, int32_t symbol, ShapeExpr const& with)
{
    if (atom.op == ShapeOp::kSymbol)
        return atom.symbol == symbol ? with : ShapeExpr::symbol(atom.symbol);
    ShapeExpr const a = atom.a.replace(symbol, with);
    ShapeExpr const b = atom.b.replace(symbol, with);
    switch (atom.op)
    {
    case ShapeOp::kFloorDiv: return floorDiv(a, b);
    case ShapeOp::kMod: return mod(a, b);
    case ShapeOp::kMin: return min(a, b);
    case ShapeOp::kMax: return max(a, b);
    case ShapeOp::kEqual: return equal(a, b);
    default: return less(a, b);
    }
}
} // namespace

ShapeExpr ShapeExpr::replace(int32_t symbol, ShapeExpr const& with) const
{
    ShapeExpr sum{0};
    for (Term const& term : terms())
    {
        ShapeExpr piece{term.factor};
        for (AtomPtr const& atom : term.atoms)
            piece = piece * rebuilt(*atom, symbol, with);
        sum = sum + piece;
    }
    return sum;
}

int32_t SymbolTable::find(SymbolKind kind, int32_t source, int32_t index, std::string name, Range range)
{
    for (int32_t id = 0; id < size(); ++id)
    {
        Symbol const& each = at(id);
        if (each.kind == kind && each.source == source && each.index == index)
            return id;
    }
    mSymbols.push_back({kind, source, index, std::move(name), range, {}});
    return size() - 1;
}

} // namespace tenon
