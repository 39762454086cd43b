// ShapeExpr: normal form and simplification.
#include "ir/shape_expr.h"

#include "base/saturating.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <unordered_map>

#include <pthread.h>

namespace tenon
{

struct ShapeExpr::Sum
{
    std::vector<Term> terms; //!< Sorted by their atoms; no factor is 0.
    int32_t depth{1};
};

namespace
{
using Term = ShapeExpr::Term;
using Atom = ShapeExpr::Atom;
using AtomPtr = ShapeExpr::AtomPtr;
using Sum = ShapeExpr::Sum;

constexpr size_t kMaxTerms{1024};  // Longer products are not multiplied out,
constexpr size_t kMaxFactors{64};  // nor are powers beyond this one.
constexpr int32_t kMaxDepth{3000}; // Then operations throw: walks over expressions, and destroying them, go as deep.

// ---- one object for equal parts

size_t mixed(size_t seed, size_t value) noexcept
{
    uint64_t const both = (static_cast<uint64_t>(seed) ^ static_cast<uint64_t>(value)) * 0x9E3779B97F4A7C15U;
    return static_cast<size_t>(both ^ (both >> 29));
}

size_t hashOf(Atom const& atom) noexcept
{
    size_t const seed = mixed(static_cast<size_t>(atom.op), static_cast<size_t>(static_cast<uint32_t>(atom.symbol)));
    return mixed(mixed(seed, atom.a.hash()), atom.b.hash() + 1);
}

size_t hashOf(Sum const& sum) noexcept
{
    size_t hash{sum.terms.size()};
    for (Term const& term : sum.terms)
    {
        hash = mixed(hash, static_cast<size_t>(term.factor));
        for (AtomPtr const& atom : term.atoms)
            hash = mixed(hash, reinterpret_cast<size_t>(atom.get()));
    }
    return hash;
}

bool isSame(Atom const& x, Atom const& y) noexcept
{
    return x.op == y.op && x.symbol == y.symbol && x.a == y.a && x.b == y.b;
}

bool isSame(Sum const& x, Sum const& y) noexcept
{
    return std::equal(x.terms.begin(), x.terms.end(), y.terms.begin(), y.terms.end(),
        [](Term const& a, Term const& b) { return a.factor == b.factor && a.atoms == b.atoms; });
}

//! The living objects of one kind, by what they are.
template <typename T>
class Interned
{
  public:
    //! The object that is the same as the candidate: an older one where there is one.
    std::shared_ptr<T const> unique(std::unique_ptr<T const> candidate)
    {
        // All that may be destroyed here is destroyed outside of the lock: destroying comes back here.
        std::shared_ptr<T const> known;
        std::shared_ptr<T const> const fresh{candidate.release(), Forget{}};
        std::lock_guard const lock{mMutex};
        auto at = mAlive.find(fresh.get());
        if (at != mAlive.end())
        {
            // Not by converting a weak pointer: that holds what it points to for a moment, and then destroys it.
            known = at->second.lock();
            if (known != nullptr)
                return known;
            mAlive.erase(at); // Its last owner has left; it forgets itself soon.
        }
        mAlive.emplace(fresh.get(), fresh);
        std::get_deleter<Forget>(fresh)->table = this;
        return fresh;
    }

    //! A child of fork() must find the table whole and its lock free.
    void lockForFork()
    {
        mMutex.lock();
    }
    void unlockInParent()
    {
        mMutex.unlock();
    }
    void unlockInChild()
    {
        std::construct_at(&mMutex); // The thread that had it is the parent's.
    }

  private:
    struct Hash
    {
        size_t operator()(T const* object) const noexcept
        {
            return hashOf(*object);
        }
    };
    struct Same
    {
        bool operator()(T const* a, T const* b) const noexcept
        {
            return isSame(*a, *b);
        }
    };

    struct Forget
    {
        Interned* table{nullptr}; //!< Set once the table has the object.

        void operator()(T const* gone) const
        {
            if (table != nullptr)
                table->forget(gone);
            delete gone;
        }
    };

    void forget(T const* gone)
    {
        std::lock_guard const lock{mMutex};
        auto const at = mAlive.find(gone);
        if (at != mAlive.end() && at->first == gone)
            mAlive.erase(at);
    }

    std::mutex mMutex;
    std::unordered_map<T const*, std::weak_ptr<T const>, Hash, Same> mAlive;
};

//! Never destroyed: expressions of static objects may outlive everything else.
template <typename T>
Interned<T>& interned()
{
    static auto& table = []() -> Interned<T>& {
        pthread_atfork([] { interned<T>().lockForFork(); }, [] { interned<T>().unlockInParent(); },
            [] { interned<T>().unlockInChild(); });
        return *new Interned<T>;
    }();
    return table;
}

// Made while the library is loaded: a child of a fork() in the midst of making one would wait for that for ever.
[[maybe_unused]] Interned<Atom> const& gAtoms = interned<Atom>();
[[maybe_unused]] Interned<Sum> const& gSums = interned<Sum>();

// ---- order

//! Equal parts are one object, so that only one path is followed down to the first difference.
std::strong_ordering compare(Atom const& x, Atom const& y) noexcept
{
    if (&x == &y)
        return std::strong_ordering::equal;
    if (x.op != y.op)
        return y.op <=> x.op; // Symbols behind operations.
    if (x.symbol != y.symbol)
        return x.symbol <=> y.symbol;
    std::strong_ordering const first = x.a <=> y.a;
    return first != 0 ? first : x.b <=> y.b;
}

std::strong_ordering compare(std::vector<AtomPtr> const& x, std::vector<AtomPtr> const& y) noexcept
{
    for (size_t i = 0; i < x.size() && i < y.size(); ++i)
        if (std::strong_ordering const order = compare(*x[i], *y[i]); order != 0)
            return order;
    return x.size() <=> y.size();
}

std::vector<AtomPtr> product(std::vector<AtomPtr> const& a, std::vector<AtomPtr> const& b)
{
    std::vector<AtomPtr> all;
    all.reserve(a.size() + b.size());
    std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all),
        [](AtomPtr const& x, AtomPtr const& y) { return compare(*x, *y) < 0; });
    return all;
}

} // namespace

std::strong_ordering operator<=>(ShapeExpr const& a, ShapeExpr const& b) noexcept
{
    if (a.isConstant() || b.isConstant())
    {
        std::strong_ordering const kinds = b.isConstant() <=> a.isConstant();
        return kinds != 0 ? kinds : a.mConstant <=> b.mConstant;
    }
    std::vector<Term> const& x = a.mTerms->terms;
    std::vector<Term> const& y = b.mTerms->terms;
    for (size_t i = 0; a.mTerms != b.mTerms && i < x.size() && i < y.size(); ++i)
    {
        if (std::strong_ordering const order = compare(x[i].atoms, y[i].atoms); order != 0)
            return order;
        if (x[i].factor != y[i].factor)
            return x[i].factor <=> y[i].factor;
    }
    return x.size() <=> y.size();
}

size_t ShapeExpr::hash() const noexcept
{
    return mixed(static_cast<size_t>(mConstant), reinterpret_cast<size_t>(mTerms.get()));
}

int32_t ShapeExpr::depth() const noexcept
{
    return mTerms == nullptr ? 0 : mTerms->depth;
}

ShapeExpr fromTerms(std::vector<Term> terms)
{
    std::stable_sort(
        terms.begin(), terms.end(), [](Term const& x, Term const& y) { return compare(x.atoms, y.atoms) < 0; });
    std::vector<Term> kept;
    for (Term& term : terms)
        if (!kept.empty() && kept.back().atoms == term.atoms)
            kept.back().factor = saturatingAdd(kept.back().factor, term.factor);
        else
            kept.push_back(std::move(term));
    std::erase_if(kept, [](Term const& term) { return term.factor == 0; });
    if (kept.empty())
        return ShapeExpr{0};
    if (kept.size() == 1 && kept.front().atoms.empty())
        return ShapeExpr{kept.front().factor};
    auto sum = std::make_unique<Sum>();
    for (Term const& term : kept)
        for (AtomPtr const& atom : term.atoms)
            sum->depth = std::max({sum->depth, atom->a.depth() + 1, atom->b.depth() + 1});
    sum->terms = std::move(kept);
    ShapeExpr result;
    result.mTerms = interned<Sum>().unique(std::move(sum));
    return result;
}

namespace
{
ShapeExpr fromOp(ShapeOp op, ShapeExpr const& a, ShapeExpr const& b)
{
    return ShapeExpr::ofAtom({op, -1, a, b});
}

//! Of operations that do not ask for an order: one order only.
ShapeExpr fromCommutative(ShapeOp op, ShapeExpr const& a, ShapeExpr const& b)
{
    return a < b ? fromOp(op, a, b) : fromOp(op, b, a);
}

//! a / b when b is one term that divides every term of a.
std::optional<ShapeExpr> exactQuotient(std::vector<Term> const& terms, Term const& divisor)
{
    std::vector<Term> quotient;
    for (Term const& term : terms)
    {
        bool const overflows = term.factor == INT64_MIN && divisor.factor == -1;
        if (divisor.factor == 0 || overflows || term.factor % divisor.factor != 0)
            return std::nullopt;
        Term left{term.factor / divisor.factor, term.atoms};
        for (AtomPtr const& atom : divisor.atoms)
        {
            auto const at = std::find(left.atoms.begin(), left.atoms.end(), atom);
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
    return ofAtom({ShapeOp::kSymbol, id, {}, {}});
}

ShapeExpr ShapeExpr::ofAtom(Atom const& atom)
{
    if (std::max(atom.a.depth(), atom.b.depth()) >= kMaxDepth)
        throw std::length_error{
            fmt::format("an extent takes more than {} operations, one upon the other, to compute", kMaxDepth)};
    return fromTerms({Term{1, {interned<Atom>().unique(std::make_unique<Atom>(atom))}}});
}

std::optional<int32_t> ShapeExpr::asSymbol() const noexcept
{
    if (mTerms == nullptr || mTerms->terms.size() != 1)
        return std::nullopt;
    Term const& term = mTerms->terms.front();
    if (term.factor != 1 || term.atoms.size() != 1)
        return std::nullopt;
    ShapeOp const op = term.atoms.front()->op;
    bool const isSymbol = op == ShapeOp::kSymbol || op == ShapeOp::kRealSymbol;
    return isSymbol ? std::optional{term.atoms.front()->symbol} : std::nullopt;
}

std::span<ShapeExpr::Term const> ShapeExpr::termsView() const noexcept
{
    return mTerms != nullptr ? std::span<Term const>{mTerms->terms} : std::span<Term const>{};
}

std::vector<ShapeExpr::Term> ShapeExpr::terms() const
{
    if (mTerms != nullptr)
        return mTerms->terms;
    return {Term{mConstant, {}}};
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
    std::vector<Term> const left = a.terms();
    std::vector<Term> const right = b.terms();
    auto const longest = [](std::vector<Term> const& terms) {
        size_t most{0};
        for (Term const& term : terms)
            most = std::max(most, term.atoms.size());
        return most;
    };
    bool const isShort = left.size() * right.size() <= kMaxTerms && longest(left) + longest(right) <= kMaxFactors;
    if (!isShort && !a.isConstant() && !b.isConstant())
        return fromCommutative(ShapeOp::kProduct, a, b);
    std::vector<Term> terms;
    for (Term const& x : left)
        for (Term const& y : right)
            terms.push_back({saturatingMul(x.factor, y.factor), product(x.atoms, y.atoms)});
    return fromTerms(std::move(terms));
}

ShapeExpr floorDiv(ShapeExpr const& a, ShapeExpr const& b)
{
    if (a.isConstant() && b.isConstant())
        return apply(IntegerOp::kFloorDiv, *a.constant(), *b.constant());
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
        return apply(IntegerOp::kMod, *a.constant(), *b.constant());
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
    return fromCommutative(op, a, b);
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
    return fromCommutative(ShapeOp::kEqual, a, b);
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

} // namespace tenon
