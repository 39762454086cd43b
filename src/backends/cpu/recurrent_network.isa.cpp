// Steps of recurrent networks: products of the hidden state with panels, whose sums stay in registers until the gates
// of their units are done.
#include "backends/cpu/isa_functions.h"
#include "backends/cpu/simd_math.h"

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
//! Sums of R sequences and V gates of 16 units.
template <int R, int V>
struct GateSums
{
    F16 sums[R][V];
};

//! Independent sums per gate, so that additions need not wait for each other.
#ifdef __AVX512F__
template <int R, int V>
inline constexpr int kChains{R * V >= 6 ? 1
        : R * V >= 3                    ? 2
        : R * V == 2                    ? 4
                                        : 8};
#else
template <int R, int V>
inline constexpr int kChains{R * V >= 3 ? 1
        : R * V == 2                    ? 2
                                        : 4};
#endif

//! Adds rows · panels; gates stand `stride` floats apart.
template <int R, int V>
TENON_INLINE void addProducts(
    float const* panels, int64_t stride, int64_t depth, float const* const* rows, GateSums<R, V>& gates)
{
    constexpr int kCount{kChains<R, V>};
    F16 sums[kCount][R][V];
#pragma GCC unroll 8
    for (int u = 0; u < kCount; ++u)
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
            for (int v = 0; v < V; ++v)
                sums[u][r][v] = u == 0 ? gates.sums[r][v] : zero();
    int64_t k{0};
    for (; k + kCount <= depth; k += kCount)
    {
#pragma GCC unroll 8
        for (int u = 0; u < kCount; ++u)
        {
            float const* const b = panels + (k + u) * kLanes;
            F16 column[V];
#pragma GCC unroll 8
            for (int v = 0; v < V; ++v)
                column[v] = load(b + v * stride);
#pragma GCC unroll 8
            for (int r = 0; r < R; ++r)
            {
                F16 const element = splat(rows[r][k + u]);
#pragma GCC unroll 8
                for (int v = 0; v < V; ++v)
                    sums[u][r][v] = fma(element, column[v], sums[u][r][v]);
            }
        }
    }
    for (; k < depth; ++k)
        for (int r = 0; r < R; ++r)
            for (int v = 0; v < V; ++v)
                sums[0][r][v] = fma(splat(rows[r][k]), load(panels + k * kLanes + v * stride), sums[0][r][v]);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v)
        {
            F16 sum = sums[0][r][v];
#pragma GCC unroll 8
            for (int u = 1; u < kCount; ++u)
                sum = sum + sums[u][r][v];
            gates.sums[r][v] = sum;
        }
}

TENON_INLINE F16 activate(GateActivation const& each, F16 x)
{
    switch (each.function)
    {
    case GateFunction::kSigmoid: return sigmoid(x);
    case GateFunction::kRelu: return max(zero(), x);
    case GateFunction::kLeakyRelu: return selectLess(x, zero(), x * splat(each.alpha), x);
    case GateFunction::kHardSigmoid: return max(zero(), min(splat(1.0F), fma(x, splat(each.alpha), splat(each.beta))));
    case GateFunction::kScaledTanh: return splat(each.alpha) * tanh(x * splat(each.beta));
    default: return tanh(x);
    }
}

TENON_INLINE F16 clipped(RecurrentStep const& s, F16 x)
{
    return s.clip > 0.0F ? max(splat(-s.clip), min(splat(s.clip), x)) : x;
}

//! The gate's activation `which` of what is clipped first.
TENON_INLINE F16 gateOf(RecurrentStep const& s, int which, F16 x)
{
    return activate(s.activations[which], clipped(s, x));
}

TENON_INLINE F16 peeped(RecurrentStep const& s, int which, int64_t unit, F16 cell, F16 x)
{
    return s.peepholes == nullptr ? x : fma(load(s.peepholes + which * s.units + unit), cell, x);
}

TENON_INLINE bool isInside(RecurrentStep const& s, int64_t row)
{
    return s.lengths == nullptr || s.at < s.lengths[row];
}

//! Writes the hidden state of units [unit, unit + 16) of a sequence; behind its end the state stays.
TENON_INLINE void putHidden(RecurrentStep const& s, int64_t row, int64_t unit, F16 value)
{
    bool const inside = isInside(s, row);
    F16 const next = inside ? value : load(s.before + row * s.units + unit);
    store(s.after + row * s.units + unit, next);
    int64_t const left = s.hidden - unit;
    F16 const shown = inside ? value : zero();
    if (left >= kLanes)
        store(s.out + row * s.hidden + unit, shown);
    else
        store(s.out + row * s.hidden + unit, shown, firstLanes(left));
}

// i, o, f = f(…), c = g(…); C = f · C + i · c; H = o · h(C)
TENON_INLINE void finishLstm(RecurrentStep const& s, int64_t row, int64_t unit, F16 const (&sums)[4])
{
    float* const state = s.state + row * s.units + unit;
    F16 const before = load(state);
    F16 const input = gateOf(s, 0, peeped(s, 0, unit, before, sums[0]));
    F16 const forget = s.isCoupled ? splat(1.0F) - input : gateOf(s, 0, peeped(s, 2, unit, before, sums[2]));
    F16 const candidate = gateOf(s, 1, sums[3]);
    F16 const after = fma(forget, before, input * candidate);
    F16 const output = gateOf(s, 0, peeped(s, 1, unit, after, sums[1]));
    if (isInside(s, row))
        store(state, after);
    putHidden(s, row, unit, output * activate(s.activations[2], after));
}

TENON_INLINE void finishGru(RecurrentStep const& s, int64_t row, int64_t unit, F16 update, F16 candidate)
{
    F16 const before = load(s.before + row * s.units + unit);
    putHidden(s, row, unit, fma(update, before - candidate, candidate));
}

//! Where the sums of R sequences begin: with what the inputs give; the last gate of a GRU apart.
template <int R, int V>
TENON_INLINE void beginSums(
    RecurrentStep const& s, int64_t row, int64_t unit, int64_t gates, int first, GateSums<R, V>& to)
{
    for (int r = 0; r < R; ++r)
        for (int v = 0; v < V; ++v)
            to.sums[r][v] = load(s.sums + (row + r) * s.units * gates + unit * gates + (first + v) * kLanes);
}

template <int R>
__attribute__((noinline)) void lstmTile(RecurrentStep const& s, int64_t row, int64_t unit)
{
    float const* rows[R];
    for (int r = 0; r < R; ++r)
        rows[r] = s.before + (row + r) * s.units;
    GateSums<R, 4> gates;
    beginSums(s, row, unit, 4, 0, gates);
    addProducts(s.panels + unit * 4 * s.hidden, s.hidden * kLanes, s.hidden, rows, gates);
    for (int r = 0; r < R; ++r)
        finishLstm(s, row + r, unit, gates.sums[r]);
}

template <int R>
__attribute__((noinline)) void gruTile(RecurrentStep const& s, int64_t row, int64_t unit)
{
    float const* rows[R];
    for (int r = 0; r < R; ++r)
        rows[r] = s.before + (row + r) * s.units;
    GateSums<R, 3> gates;
    beginSums(s, row, unit, 3, 0, gates);
    F16 given[R];
    for (int r = 0; r < R; ++r)
    {
        given[r] = gates.sums[r][2];
        gates.sums[r][2] = load(s.hiddenBias + unit);
    }
    addProducts(s.panels + unit * 3 * s.hidden, s.hidden * kLanes, s.hidden, rows, gates);
    for (int r = 0; r < R; ++r)
    {
        F16 const update = gateOf(s, 0, gates.sums[r][0]);
        F16 const reset = gateOf(s, 0, gates.sums[r][1]);
        finishGru(s, row + r, unit, update, gateOf(s, 1, fma(reset, gates.sums[r][2], given[r])));
    }
}

//! The first part of a GRU that resets before the product: its gates, and what of the state the second part multiplies.
template <int R>
__attribute__((noinline)) void gruGatesTile(RecurrentStep const& s, int64_t row, int64_t unit)
{
    float const* rows[R];
    for (int r = 0; r < R; ++r)
        rows[r] = s.before + (row + r) * s.units;
    GateSums<R, 2> gates;
    beginSums(s, row, unit, 3, 0, gates);
    addProducts(s.panels + unit * 3 * s.hidden, s.hidden * kLanes, s.hidden, rows, gates);
    for (int r = 0; r < R; ++r)
    {
        int64_t const at = (row + r) * s.units + unit;
        store(s.update + at, gateOf(s, 0, gates.sums[r][0]));
        store(s.kept + at, gateOf(s, 0, gates.sums[r][1]) * load(s.before + at));
    }
}

template <int R>
__attribute__((noinline)) void gruStateTile(RecurrentStep const& s, int64_t row, int64_t unit)
{
    float const* rows[R];
    for (int r = 0; r < R; ++r)
        rows[r] = s.kept + (row + r) * s.units;
    GateSums<R, 1> gates;
    beginSums(s, row, unit, 3, 2, gates);
    addProducts(s.panels + unit * 3 * s.hidden + 2 * s.hidden * kLanes, s.hidden * kLanes, s.hidden, rows, gates);
    for (int r = 0; r < R; ++r)
        finishGru(s, row + r, unit, load(s.update + (row + r) * s.units + unit), gateOf(s, 1, gates.sums[r][0]));
}

template <int R>
__attribute__((noinline)) void rnnTile(RecurrentStep const& s, int64_t row, int64_t unit)
{
    float const* rows[R];
    for (int r = 0; r < R; ++r)
        rows[r] = s.before + (row + r) * s.units;
    GateSums<R, 1> gates;
    beginSums(s, row, unit, 1, 0, gates);
    addProducts(s.panels + unit * s.hidden, s.hidden * kLanes, s.hidden, rows, gates);
    for (int r = 0; r < R; ++r)
        putHidden(s, row + r, unit, gateOf(s, 0, gates.sums[r][0]));
}

using RecurrentTile = void (*)(RecurrentStep const& step, int64_t row, int64_t unit);

//! Of four sequences, two and one: as many sums as fit the registers.
struct RecurrentTiles
{
    RecurrentTile functions[3];
};
#ifdef __AVX512F__
#define TENON_TILES(name)                                                                                              \
    {                                                                                                                  \
        {                                                                                                              \
            &name<4>, &name<2>, &name<1>                                                                               \
        }                                                                                                              \
    }
constexpr int kFirstTile{0};
#else
#define TENON_TILES(name)                                                                                              \
    {                                                                                                                  \
        {                                                                                                              \
            nullptr, nullptr, &name<1>                                                                                 \
        }                                                                                                              \
    }
constexpr int kFirstTile{2};
#endif
constexpr RecurrentTiles kRnnTiles TENON_TILES(rnnTile);
constexpr RecurrentTiles kGruTiles TENON_TILES(gruTile);
constexpr RecurrentTiles kGruGatesTiles TENON_TILES(gruGatesTile);
constexpr RecurrentTiles kGruStateTiles TENON_TILES(gruStateTile);
constexpr RecurrentTiles kLstmTiles TENON_TILES(lstmTile);
#undef TENON_TILES

RecurrentTiles const& recurrentTilesOf(RecurrentStep const& s, int32_t part)
{
    switch (s.kind)
    {
    case RecurrentKind::kRnn: return kRnnTiles;
    case RecurrentKind::kGru: return kGruTiles;
    case RecurrentKind::kGruInParts: return part == 0 ? kGruGatesTiles : kGruStateTiles;
    default: return kLstmTiles;
    }
}
} // namespace

void runRecurrentStep(RecurrentStep const& step, int32_t part, int64_t firstBlock, int64_t lastBlock)
{
    RecurrentTiles const& tiles = recurrentTilesOf(step, part);
    // There and back again: panels that do not all stay in the second cache are those that the last step ended with.
    bool const isForth = step.at % 2 == 0;
    for (int64_t i = firstBlock; i < lastBlock; ++i)
    {
        int64_t const block = isForth ? i : firstBlock + lastBlock - 1 - i;
        for (int64_t row = 0; row < step.batch;)
        {
            int which = kFirstTile;
            while ((int64_t{4} >> which) > step.batch - row)
                ++which;
            tiles.functions[which](step, row, block * kLanes);
            row += int64_t{4} >> which;
        }
    }
}

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
