// Known: a running error analysis. What is known of an operand's error goes through each layer by a rule of its kind.
//
//   moves      each element of the result is one of the operand's, and so is its error
//   elements   functions of single elements: values at the ends of the intervals that operands lie in
//   sums       sums of products: the sum of the magnitudes bounds what rounding does in any order of summation
//   smooth     all others that are continuous: operands moved by their errors, up and down at random
//
// What is not continuous (comparisons, rounding, indices) must come out the same in the whole interval, or the graph is
// none for this test; of int8 numbers a few may be one step off where the operand lies at the edge of two of them.
#include "random/known.h"

#include "layers/activation.h"
#include "layers/cast.h"
#include "layers/convolution.h"
#include "layers/element_wise.h"
#include "layers/matrix_multiply.h"
#include "layers/pooling.h"
#include "layers/positions.h"
#include "layers/reduce.h"
#include "layers/resize.h"
#include "layers/top_k.h"
#include "layers/unary.h"
#include "support/layer_text.h"

#include <cmath>
#include <functional>
#include <map>
#include <random>

namespace tenon::test
{

namespace
{
constexpr double kUnit{1.0 / (1 << 23)}; //!< Of the last place of float32, relative.
constexpr double kInfinity{std::numeric_limits<double>::infinity()};

using Hosts = std::vector<HostTensor>;

//! A step of the type at a value: how far two that round it from either side of an edge can be apart.
double stepAt(DType type, double value)
{
    switch (type)
    {
    case DType::kHALF: return std::max(std::abs(value) / 1024.0, 0x1p-24);
    case DType::kBF16: return std::abs(value) / 128.0;
    case DType::kFP8: return std::max(std::abs(value) / 8.0, 0x1p-9);
    case DType::kFLOAT: return std::abs(value) * kUnit;
    default: return 0.0;
    }
}

bool isNarrow(DType type)
{
    return type == DType::kHALF || type == DType::kBF16;
}

double distance(double a, double b)
{
    if (a == b || (std::isnan(a) && std::isnan(b)))
        return 0.0;
    double const apart = std::abs(a - b);
    return std::isnan(apart) ? kInfinity : apart;
}

double largestOf(HostTensor const& tensor)
{
    double largest{0.0};
    for (int64_t i = 0; i < tensor.count(); ++i)
        if (std::isfinite(tensor.real(i)))
            largest = std::max(largest, std::abs(tensor.real(i)));
    return largest;
}

//! In float32, so that references round as little as they can.
HostTensor widened(HostTensor tensor)
{
    if (isNarrow(tensor.dtype))
        tensor.dtype = DType::kFLOAT;
    return tensor;
}

class NodeErrors
{
  public:
    NodeErrors(Layer const& layer, Knowns const& in)
        : mLayer{layer},
          mIn{in}
    {
    }

    Result<std::vector<Known>> find()
    {
        Hosts made = TENON_TRY(run([](Known const& known) { return known.value; }));
        for (HostTensor& tensor : made)
            mOut.emplace_back(std::move(tensor));
        using Rule = Result<Done> (NodeErrors::*)();
        static std::map<std::string_view, Rule> const rules{
            {"Activation", &NodeErrors::elements},
            {"Attention", &NodeErrors::smooth},
            {"BitCast", &NodeErrors::bits},
            {"BoxSelection", &NodeErrors::exact},
            {"ByteScale", &NodeErrors::exact},
            {"Cast", &NodeErrors::elements},
            {"Concatenation", &NodeErrors::moves},
            {"Convolution", &NodeErrors::sums},
            {"Cumulative", &NodeErrors::sums},
            {"Deconvolution", &NodeErrors::sums},
            {"DeformableAttention", &NodeErrors::smooth},
            {"Dequantize", &NodeErrors::elements},
            {"Determinant", &NodeErrors::smooth},
            {"Einsum", &NodeErrors::sums},
            {"ElementWise", &NodeErrors::elements},
            {"Fill", &NodeErrors::smooth},
            {"FullyConnected", &NodeErrors::sums},
            {"Gather", &NodeErrors::moves},
            {"GridSample", &NodeErrors::smooth},
            {"Identity", &NodeErrors::moves},
            {"KVCacheUpdate", &NodeErrors::moves},
            {"LRN", &NodeErrors::smooth},
            {"MatrixMultiply", &NodeErrors::sums},
            {"MoE", &NodeErrors::smooth},
            {"NMS", &NodeErrors::exact},
            {"NonZero", &NodeErrors::nonZero},
            {"Normalization", &NodeErrors::smooth},
            {"OneHot", &NodeErrors::moves},
            {"Padding", &NodeErrors::moves},
            {"ParametricReLU", &NodeErrors::elements},
            {"Pooling", &NodeErrors::pooling},
            {"Quantize", &NodeErrors::elements},
            {"RaggedAttention", &NodeErrors::smooth},
            {"RaggedSoftMax", &NodeErrors::smooth},
            {"RecurrentNetwork", &NodeErrors::smooth},
            {"Reduce", &NodeErrors::reduce},
            {"Remainder", &NodeErrors::exact},
            {"Resize", &NodeErrors::resize},
            {"ReverseSequence", &NodeErrors::moves},
            {"RotaryEmbedding", &NodeErrors::smooth},
            {"RowOrder", &NodeErrors::exact},
            {"Scale", &NodeErrors::elements},
            {"Scatter", &NodeErrors::moves},
            {"Select", &NodeErrors::elements},
            {"Shape", &NodeErrors::nothing},
            {"Shuffle", &NodeErrors::moves},
            {"Slice", &NodeErrors::moves},
            {"SoftMax", &NodeErrors::smooth},
            {"Squeeze", &NodeErrors::moves},
            {"StackedRecurrence", &NodeErrors::smooth},
            {"TopK", &NodeErrors::topK},
            {"Unary", &NodeErrors::elements},
            {"Unsqueeze", &NodeErrors::moves},
        };
        auto const rule = rules.find(mLayer.name());
        if (rule == rules.end())
            return badArgument("there is no rule for errors of {}", mLayer.name());
        TENON_TRY((this->*rule->second)());
        return std::move(mOut);
    }

  private:
    // ---- running the reference on other operands

    template <typename Make>
    Result<Hosts> runBy(Layer const& layer, Make&& make) const
    {
        Hosts made(mIn.size());
        HostTensors operands;
        for (size_t i = 0; i < mIn.size(); ++i)
        {
            if (mIn[i] != nullptr)
                made[i] = make(*mIn[i]);
            operands.push_back(mIn[i] == nullptr ? nullptr : &made[i]);
        }
        return layer.reference(operands);
    }
    template <typename Make>
    Result<Hosts> run(Make&& make) const
    {
        return runBy(mLayer, make);
    }
    //! Errors in place of the numbers, which all are real then.
    static HostTensor errorsOf(Known const& known)
    {
        if (!known.value.isReal() && known.isExact() && known.value.dtype != DType::kINT8)
            return known.value; // Indices, extents and the like.
        HostTensor errors{DType::kFLOAT, known.value.extents};
        errors.reals = known.error;
        return errors;
    }
    //! Magnitudes, with the errors on top or not.
    static HostTensor magnitudesOf(Known const& known, bool withErrors)
    {
        HostTensor tensor = widened(known.value);
        for (size_t i = 0; i < tensor.reals.size(); ++i)
            tensor.reals[i] = std::abs(tensor.reals[i]) + (withErrors ? known.error[i] : 0.0);
        return tensor;
    }

    // ---- what is known of the operands

    bool isExact() const
    {
        return std::ranges::all_of(mIn, [](Known const* each) { return each == nullptr || each->isExact(); });
    }
    //! All real numbers are multiples of a sixteenth below 2^7, and there are no errors.
    bool isOnGrid() const
    {
        for (Known const* each : mIn)
            if (each != nullptr && each->value.isReal())
                for (double const x : each->value.reals)
                    if (!(std::abs(x) <= 128.0) || x * 16.0 != std::nearbyint(x * 16.0))
                        return false;
        return isExact();
    }
    //! Below this sums of numbers on the grid are of the type.
    static double gridEnd(DType type)
    {
        return type == DType::kFLOAT ? 0x1p16 : type == DType::kHALF ? 64.0 : type == DType::kBF16 ? 8.0 : 0.0;
    }

    // ---- rules

    Result<Done> nothing()
    {
        return Done{};
    }
    Result<Done> exact()
    {
        if (!isExact())
            return badArgument("what it picks depends on numbers that are not exact");
        return Done{};
    }
    Result<Done> bits()
    {
        if (mIn[0]->value.isReal() && std::ranges::find(mIn[0]->value.reals, 0.0) != mIn[0]->value.reals.end())
            return badArgument("a zero may have either sign");
        return exact();
    }
    Result<Done> nonZero()
    {
        for (size_t i = 0; i < mIn[0]->error.size(); ++i)
            if (mIn[0]->error[i] > 0.0 && !(std::abs(mIn[0]->value.real(static_cast<int64_t>(i))) > mIn[0]->error[i]))
                return badArgument("an element may be 0 or not");
        return Done{};
    }

    Result<Done> movesOf(Layer const& layer)
    {
        if (isExact())
            return Done{};
        Hosts const errors = TENON_TRY(runBy(layer, errorsOf));
        for (size_t o = 0; o < mOut.size(); ++o)
            for (int64_t i = 0; i < errors[o].count(); ++i)
                mOut[o].error[static_cast<size_t>(i)] = std::abs(errors[o].real(i));
        return Done{};
    }
    Result<Done> moves()
    {
        return movesOf(mLayer);
    }

    //! Whether the layer's arithmetic in float32 is right to the last bit, so that nothing comes on top of the errors
    //! of operands that are exact.
    bool isRounded() const
    {
        using Op = nvinfer1::ElementWiseOperation;
        using Un = nvinfer1::UnaryOperation;
        if (auto const* binary = as<ElementWise>(mLayer))
        {
            bool const isSum = binary->operation == Op::kSUM || binary->operation == Op::kSUB;
            bool const isProduct = binary->operation == Op::kPROD;
            if (!isSum && !isProduct)
                return binary->operation != Op::kDIV && binary->operation != Op::kPOW
                    && binary->operation != Op::kFLOOR_DIV;
            // What follows may be computed with it in one go, without the rounding between.
            return isOnGrid() && (isSum || mOut[0].value.dtype == DType::kFLOAT)
                && largestOf(mOut[0].value) < gridEnd(mOut[0].value.dtype);
        }
        if (auto const* unary = as<Unary>(mLayer))
            return unary->operation == Un::kABS || unary->operation == Un::kNEG || unary->operation == Un::kCEIL
                || unary->operation == Un::kFLOOR || unary->operation == Un::kROUND || unary->operation == Un::kSIGN
                || unary->operation == Un::kISINF || unary->operation == Un::kISNAN;
        if (auto const* activation = as<Activation>(mLayer))
            return activation->activationType == nvinfer1::ActivationType::kRELU;
        if (mLayer.name() == "Quantize" || mLayer.name() == "Dequantize")
            return std::ranges::all_of(mIn[1]->value.reals, [](double scale) {
                int exponent{0};
                return std::frexp(scale, &exponent) == 0.5;
            });
        return mLayer.name() == "Select" || mLayer.name() == "Cast";
    }

    //! An operand moved by its errors and `units` of rounding, and by a rounding of its own type where `isFolded`.
    static HostTensor moved(
        Known const& known, double units, std::function<double()> const& sign, bool isFolded = false)
    {
        DType const type = known.value.dtype;
        HostTensor tensor = widened(known.value);
        for (size_t i = 0; i < known.error.size(); ++i)
        {
            double const by = known.error[i];
            if (tensor.isReal())
            {
                double const narrow = isFolded && isNarrow(type) ? stepAt(type, tensor.reals[i]) / 2.0 : 0.0;
                tensor.reals[i] += sign() * (std::min(by, 1e30) + units * kUnit * std::abs(tensor.reals[i]) + narrow);
            }
            else if (by > 0.0)
                tensor.integers[i] += static_cast<int64_t>(sign() * by);
        }
        return tensor;
    }

    Result<Done> elements()
    {
        bool const rounded = isRounded();
        if (rounded && isExact())
            return Done{};
        // Constants of narrow types that become part of the weights before them are rounded anew.
        bool const isFoldable = !rounded && (mLayer.name() == "Scale" || as<ElementWise>(mLayer) != nullptr);
        std::vector<size_t> moving;
        for (size_t i = 0; i < mIn.size(); ++i)
            if (mIn[i] != nullptr && (!mIn[i]->isExact() || (!rounded && mIn[i]->value.isReal())))
                moving.push_back(i);
        TENON_TRY(addEnds(mLayer, moving, rounded, isFoldable));
        // What is equal somewhere within the intervals differs at their ends, but is less at some and not at others.
        auto const* const compared = as<ElementWise>(mLayer);
        if (compared != nullptr && compared->operation == nvinfer1::ElementWiseOperation::kEQUAL)
        {
            ElementWise less = *compared;
            less.operation = nvinfer1::ElementWiseOperation::kLESS;
            TENON_TRY(addEnds(*makeLayer(less), moving, rounded, isFoldable));
        }
        addZeros();
        if (!rounded)
            TENON_TRY(addSignsOfZeros());
        // Formulas such as x / 2 · (1 + erf(x)) cancel: what is left is off by a unit of what was there.
        double const scale = mLayer.name() == "Activation" ? 1.0 + largestOf(mIn[0]->value) : 1.0;
        return addRounding(rounded ? 1.0 : roundingUnits(), rounded ? 0.0 : kUnit * scale);
    }

    //! As truth values all numbers but 0 are one: both ends of an interval with 0 inside are true.
    void addZeros()
    {
        auto const* const cast = as<Cast>(mLayer);
        if (cast == nullptr || cast->toType != DType::kBOOL || mIn[0]->isExact())
            return;
        for (size_t i = 0; i < mOut[0].error.size(); ++i)
            if (std::abs(mIn[0]->value.real(static_cast<int64_t>(i))) <= mIn[0]->error[i])
                mOut[0].error[i] = 1.0;
    }

    //! A sum of nothing but -0 is 0 where it begins with 0, and -0 where it begins with its first term: what is divided
    //! by it goes to one infinity or to the other.
    Result<Done> addSignsOfZeros()
    {
        Hosts const made = TENON_TRY(run([](Known const& known) {
            HostTensor tensor = widened(known.value);
            for (double& each : tensor.reals)
                each = each == 0.0 ? -each : each;
            return tensor;
        }));
        for (size_t i = 0; i < mOut[0].error.size(); ++i)
        {
            auto const k = static_cast<int64_t>(i);
            if (std::isinf(distance(made[0].real(k), mOut[0].value.real(k))))
                mOut[0].error[i] = kInfinity;
        }
        return Done{};
    }

    //! The furthest that a layer's results at the ends of the operands' intervals are from those in the middle.
    Result<Done> addEnds(Layer const& layer, std::vector<size_t> const& moving, bool rounded, bool isFoldable)
    {
        Hosts const middle = TENON_TRY(runBy(layer, [](Known const& known) { return widened(known.value); }));
        for (uint32_t ends = 0; ends < 1U << moving.size(); ++ends)
        {
            size_t at{0};
            Hosts const made = TENON_TRY(runBy(layer, [&](Known const& known) {
                while (at < moving.size() && mIn[moving[at]] == nullptr)
                    ++at;
                bool const moves = at < moving.size() && mIn[moving[at]] == &known;
                double const sign = (ends >> at & 1U) != 0 ? 1.0 : -1.0;
                if (!moves)
                    return widened(known.value);
                ++at;
                return moved(
                    known, rounded ? 0.0 : 1.0, [sign] { return sign; }, isFoldable);
            }));
            for (size_t i = 0; i < mOut[0].error.size(); ++i)
            {
                auto const k = static_cast<int64_t>(i);
                mOut[0].error[i] = std::max(mOut[0].error[i], distance(made[0].real(k), middle[0].real(k)));
            }
        }
        return Done{};
    }

    double roundingUnits() const
    {
        auto const* binary = as<ElementWise>(mLayer);
        return binary != nullptr && binary->operation == nvinfer1::ElementWiseOperation::kPOW ? 64.0 : 4.0;
    }

    //! `units` of the last place of float32 and an absolute share, and the step of a narrower type. Whole numbers do
    //! not round.
    Result<Done> addRounding(double units, double absolute)
    {
        for (Known& out : mOut)
        {
            DType const type = out.value.dtype;
            if (!isFloating(type))
            {
                TENON_TRY(checkWhole(out));
                continue;
            }
            for (size_t i = 0; i < out.error.size(); ++i)
            {
                double const y = out.value.reals[i];
                if (!std::isfinite(y))
                    continue;
                out.error[i] += units * kUnit * std::abs(y) + absolute + (isNarrow(type) ? stepAt(type, y) : 0.0);
            }
        }
        return Done{};
    }

    //! Numbers of int8 may be a step off, a few of them; all others must be certain.
    Result<Done> checkWhole(Known const& out) const
    {
        auto const off = std::ranges::count_if(out.error, [](double each) { return each > 0.0; });
        if (off == 0)
            return Done{};
        bool const isStep =
            out.value.dtype == DType::kINT8 && std::ranges::all_of(out.error, [](double each) { return each <= 1.0; });
        if (!isStep || off * 8 > static_cast<int64_t>(out.error.size()) + 8)
            return badArgument("{} elements may be another number", off);
        return Done{};
    }

    //! Terms that are added for one element, at most.
    double terms() const
    {
        if (as<Convolution>(mLayer) != nullptr || mLayer.name() == "Deconvolution")
            return static_cast<double>(mIn[1]->value.count()) / static_cast<double>(mIn[1]->value.extents[0]);
        double count{1.0};
        for (Known const* each : mIn)
            if (each != nullptr)
                count = std::max(count, static_cast<double>(each->value.count()));
        return std::min(count, 4096.0);
    }

    Result<Done> sums()
    {
        if (!mOut[0].value.isReal())
            return exact();
        Hosts const plain = TENON_TRY(run([](Known const& known) { return magnitudesOf(known, false); }));
        Hosts const most = TENON_TRY(run([](Known const& known) { return magnitudesOf(known, true); }));
        bool const isPlainSum = mLayer.name() == "Reduce" || mLayer.name() == "Cumulative";
        bool const isSame = isPlainSum && isOnGrid() && largestOf(plain[0]) < gridEnd(mOut[0].value.dtype)
            && largestOf(plain[0]) * 16.0 == std::nearbyint(largestOf(plain[0]) * 16.0) && !isAverage();
        if (isSame)
            return Done{};
        // Transformed windows (Winograd) mix what lies beside an element into it.
        double const beside = as<Convolution>(mLayer) != nullptr ? 64.0 * kUnit * largestOf(plain[0]) : 0.0;
        // Weights of narrow types that take a factor of what follows are rounded anew.
        double const folded = isPlainSum ? 0.0 : stepAt(mOut[0].value.dtype, 1.0) / 2.0;
        double const share = (terms() / 2.0 + 8.0) * kUnit + (isNarrow(mOut[0].value.dtype) ? folded : 0.0);
        for (size_t i = 0; i < mOut[0].error.size(); ++i)
        {
            auto const k = static_cast<int64_t>(i);
            if (std::isfinite(mOut[0].value.real(k)))
                mOut[0].error[i] = distance(most[0].real(k), plain[0].real(k)) + share * most[0].real(k) + beside;
        }
        return addRounding(1.0, 0.0);
    }
    bool isAverage() const
    {
        auto const* reduce = as<Reduce>(mLayer);
        return reduce != nullptr && reduce->operation == nvinfer1::ReduceOperation::kAVG;
    }

    Result<Done> reduce()
    {
        using Op = nvinfer1::ReduceOperation;
        Reduce layer = *as<Reduce>(mLayer);
        if (layer.operation == Op::kSUM || layer.operation == Op::kAVG)
            return sums();
        if (layer.operation == Op::kPROD)
            return product();
        layer.operation = Op::kMAX;
        return movesOf(*makeLayer(layer));
    }

    //! Products of some of the factors must not overflow, in whatever order they are taken.
    Result<Done> product()
    {
        if (!mOut[0].value.isReal())
            return exact();
        Hosts const most = TENON_TRY(run([](Known const& known) {
            HostTensor factors = magnitudesOf(known, true);
            for (double& each : factors.reals)
                each = std::max(each, 1.0);
            return factors;
        }));
        if (std::ranges::any_of(most[0].reals, [](double each) { return !(each < 1e30); }))
            return badArgument("a part of the product may overflow");
        return smooth();
    }

    Result<Done> pooling()
    {
        Pooling const& layer = *as<Pooling>(mLayer);
        if (layer.poolingType == nvinfer1::PoolingType::kMAX)
            return moves();
        return sums();
    }

    Result<Done> resize()
    {
        using Mode = nvinfer1::InterpolationMode;
        Mode const mode = as<Resize>(mLayer)->resizeMode;
        return mode == Mode::kNEAREST ? moves() : mode == Mode::kLINEAR ? sums() : smooth();
    }

    Result<Done> topK()
    {
        TopK const& layer = *as<TopK>(mLayer);
        Known const& x = *mIn[0];
        Lanes const lanes{x.value.extents, static_cast<size_t>(layer.axis())};
        bool isCertain{true};
        lanes.forEach([&](int64_t first) {
            for (int64_t a = 0; a < lanes.length; ++a)
                for (int64_t b = 0; b < a; ++b)
                {
                    int64_t const i = first + a * lanes.inner;
                    int64_t const j = first + b * lanes.inner;
                    double const room = x.error[static_cast<size_t>(i)] + x.error[static_cast<size_t>(j)];
                    isCertain = isCertain && (room == 0.0 || distance(x.value.real(i), x.value.real(j)) > room);
                }
        });
        if (!isCertain)
            return badArgument("two elements may stand in another order");
        if (x.isExact())
            return Done{};
        Known const& indices = mOut[1];
        Lanes const to{indices.value.extents, static_cast<size_t>(layer.axis())};
        to.forEach([&](int64_t first) {
            int64_t const outer = first / (to.length * to.inner);
            for (int64_t k = 0; k < to.length; ++k)
            {
                int64_t const at = first + k * to.inner;
                int64_t const from =
                    (outer * lanes.length + indices.value.integer(at)) * lanes.inner + first % to.inner;
                mOut[0].error[static_cast<size_t>(at)] = x.error[static_cast<size_t>(from)];
            }
        });
        return Done{};
    }

    //! Four times the furthest that operands moved at random take any element.
    Result<Done> smooth()
    {
        constexpr int32_t kTries{6};
        constexpr double kSafety{4.0};
        if (!mOut[0].value.isReal())
            return exact();
        std::mt19937 random{17};
        auto const sign = [&] { return (random() & 1U) != 0 ? 1.0 : -1.0; };
        std::vector<double> furthest(mOut.size(), 0.0);
        Hosts const middle = TENON_TRY(run([](Known const& known) { return widened(known.value); }));
        Known const* const positions = mLayer.name() == "GridSample" ? mIn[1] // They are computed alike.
            : mLayer.name() == "DeformableAttention"                 ? mIn[3]
                                                                     : nullptr;
        for (int32_t i = 0; i < kTries; ++i)
        {
            Hosts const made =
                TENON_TRY(run([&](Known const& known) { return moved(known, &known == positions ? 0.0 : 2.0, sign); }));
            for (size_t o = 0; o < mOut.size(); ++o)
                for (int64_t k = 0; k < made[o].count(); ++k)
                    furthest[o] = std::max(furthest[o], distance(made[o].real(k), middle[o].real(k)));
        }
        for (size_t o = 0; o < mOut.size(); ++o)
        {
            double const largest = largestOf(mOut[o].value);
            double const narrow = isNarrow(mOut[o].value.dtype) ? 3.0 * stepAt(mOut[o].value.dtype, largest) : 0.0;
            for (double& error : mOut[o].error)
                error = kSafety * furthest[o] + 32.0 * kUnit * largest + narrow;
        }
        return addRounding(4.0, kUnit);
    }

    Layer const& mLayer;
    Knowns const& mIn;
    std::vector<Known> mOut;
};

// ---- loops and conditionals

Known sliceOfKnown(Known const& from, int64_t index)
{
    Known slice{HostTensor{from.value.dtype, {from.value.extents.begin() + 1, from.value.extents.end()}}};
    int64_t const count = slice.value.count();
    for (int64_t i = 0; i < count; ++i)
    {
        copyElement(slice.value, i, from.value, index * count + i);
        slice.error[static_cast<size_t>(i)] = from.error[static_cast<size_t>(index * count + i)];
    }
    return slice;
}

void putSliceOfKnown(Known& to, Known const& slice, int64_t index)
{
    int64_t const count = slice.value.count();
    for (int64_t i = 0; i < count; ++i)
    {
        copyElement(to.value, index * count + i, slice.value, i);
        to.error[static_cast<size_t>(index * count + i)] = slice.error[static_cast<size_t>(i)];
    }
}

Result<std::vector<Known>> evaluateConditional(Layer const& layer, Knowns const& in)
{
    auto const bodies = layer.bodies();
    auto const middle = in.begin() + 1 + static_cast<std::ptrdiff_t>(bodies[0]->inputs().size());
    if (in[0]->value.integer(0) != 0)
        return evaluateGraph(*bodies[0], {in.begin() + 1, middle});
    return evaluateGraph(*bodies[1], {middle, in.end()});
}

//! Loops with a number of rounds, and without conditions.
Result<std::vector<Known>> evaluateLoop(Layer const& layer, Knowns const& in)
{
    LoopForm const& form = *layer.loopForm();
    if (form.hasCondition || in[0] == nullptr)
        return badArgument("loops of this test count their rounds");
    Graph const& body = *layer.bodies()[0];
    int64_t const rounds = in[0]->value.integer(0);
    std::vector<Known> carried;
    for (int32_t i = 0; i < form.carried; ++i)
        carried.push_back(*in.at(form.firstValue(i)));
    std::vector<std::vector<Known>> joined(form.joined.size());
    for (int64_t round = 0; round < rounds; ++round)
    {
        std::vector<Known> slices;
        for (size_t i = 0; i < form.walked.size(); ++i)
        {
            Known const& walked = *in.at(form.walkedTensor(i));
            int64_t const at = form.walked[i] != 0 ? rounds - 1 - round : round;
            if (at >= walked.value.extents[0])
                return badArgument("a walked tensor is shorter than the loop");
            slices.push_back(sliceOfKnown(walked, at));
        }
        Knowns operands;
        for (Known const& each : carried)
            operands.push_back(&each);
        for (Known const& each : slices)
            operands.push_back(&each);
        for (size_t i = form.captured(); i < in.size(); ++i)
            operands.push_back(in[i]);
        std::vector<Known> made = TENON_TRY(evaluateGraph(body, operands));
        for (size_t i = 0; i < joined.size(); ++i)
            joined[i].push_back(made[form.joinedValue(i)]);
        made.resize(carried.size());
        carried = std::move(made);
    }
    std::vector<Known> outputs;
    for (int32_t const each : form.lasts)
        outputs.push_back(carried[static_cast<size_t>(each)]);
    for (size_t i = 0; i < joined.size(); ++i)
    {
        if (joined[i].empty() || in.at(form.length(i))->value.integer(0) != rounds)
            return badArgument("an output of a loop of this test holds all of its rounds");
        std::vector<int64_t> extents = joined[i][0].value.extents;
        extents.insert(extents.begin(), rounds);
        Known all{HostTensor{joined[i][0].value.dtype, extents}};
        for (int64_t round = 0; round < rounds; ++round)
            putSliceOfKnown(
                all, joined[i][static_cast<size_t>(round)], form.joined[i] != 0 ? rounds - 1 - round : round);
        outputs.push_back(std::move(all));
    }
    return outputs;
}
} // namespace

Result<std::vector<Known>> evaluateNode(Layer const& layer, Knowns const& in)
{
    if (layer.bodies().size() == 2)
        return evaluateConditional(layer, in);
    if (layer.loopForm() != nullptr)
        return evaluateLoop(layer, in);
    return NodeErrors{layer, in}.find();
}

Result<std::vector<Known>> evaluateGraph(Graph const& graph, Knowns const& inputs)
{
    std::map<ValueId, Known> made;
    std::map<ValueId, Known const*> values;
    for (size_t i = 0; i < graph.inputs().size(); ++i)
        values[graph.inputs()[i]] = inputs.at(i);
    auto const find = [&](ValueId id) -> Known const* {
        if (id == kNone)
            return nullptr;
        if (graph.constantOf(id) != nullptr && !values.contains(id))
            values[id] = &(made[id] = Known{HostTensor::fromConstant(*graph.constantOf(id))});
        return values.at(id);
    };
    for (NodeId const id : graph.order())
    {
        Node const& node = graph.node(id);
        Knowns operands;
        for (ValueId const input : node.inputs)
            operands.push_back(find(input));
        Result<std::vector<Known>> results = evaluateNode(*node.layer, operands);
        if (!results)
            return std::move(results).error().in(node.name);
        for (size_t i = 0; i < node.outputs.size(); ++i)
            values[node.outputs[i]] = &(made[node.outputs[i]] = std::move((*results)[i]));
    }
    std::vector<Known> outputs;
    for (GraphOutput const& output : graph.outputs())
        outputs.push_back(*find(output.value));
    return outputs;
}

std::optional<std::string> mismatchOf(HostTensor const& got, Known const& known)
{
    if (got.dtype != known.value.dtype || got.extents != known.value.extents)
        return fmt::format("{} instead of {}", TensorType{got.dtype, shapeOf(got.extents)}.show(),
            TensorType{known.value.dtype, shapeOf(known.value.extents)}.show());
    constexpr double kFlushed{1e-37}; // Numbers below may be taken for 0.
    for (int64_t i = 0; i < got.count(); ++i)
    {
        double const error = known.error[static_cast<size_t>(i)];
        double const apart = got.isReal() ? distance(got.real(i), known.value.real(i))
                                          : static_cast<double>(std::abs(got.integer(i) - known.value.integer(i)));
        if (apart > error + kFlushed)
            return fmt::format(
                "element {} is {} instead of {}, which may be off by {}", i, got.real(i), known.value.real(i), error);
    }
    return std::nullopt;
}

} // namespace tenon::test
