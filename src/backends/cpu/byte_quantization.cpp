// ByteQuantization: which expressions quantize to bytes or back. What is taken off and added on the way between int8,
// int32 and uint8 comes to one shift, as long as no type on the way wraps.
#include "backends/cpu/byte_quantization.h"

#include "backends/cpu/int8_functions.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tenon::cpu
{

namespace
{
constexpr double kMiddle{128.0}; //!< From int8 numbers to uint8 ones.

//! A number that is known, or the one element of an input.
struct Scalar
{
    int32_t input{-1};
    double value{0.0};
};

struct Form
{
    bool quantizes{false};
    int32_t x{-1};
    Scalar scale;
    Scalar zeroPoint;
    double shift{0.0}; //!< Of numbers, behind the zero point.
    double ofNan{0.0}; //!< What is no number becomes this one.
    bool isSigned{true};
};

struct Bounds
{
    double least;
    double most;
};

std::optional<Bounds> boundsOf(DType type)
{
    switch (type)
    {
    case DType::kINT8: return Bounds{-128.0, 127.0};
    case DType::kUINT8: return Bounds{0.0, 255.0};
    case DType::kINT32: return Bounds{-0x1p31, 0x1p31 - 1.0};
    case DType::kINT64: return Bounds{-0x1p62, 0x1p62};
    default: return std::nullopt;
    }
}

bool isByte(DType type)
{
    return type == DType::kINT8 || type == DType::kUINT8;
}

//! Looks for the form from the result backwards.
class Search
{
  public:
    Search(Expr const& expr, std::span<TensorArg const> inputs, TensorArg const& out)
        : mExpr{expr},
          mInputs{inputs},
          mOut{out}
    {
    }

    std::optional<Form> quantization()
    {
        ExprNode const& root = mExpr.nodes.back();
        if (root.op != ExprOp::kCast || root.dtype != mOut.dtype || !isByte(mOut.dtype))
            return std::nullopt;
        Form form{.quantizes = true, .isSigned = mOut.dtype == DType::kINT8};
        Shifted const whole = shifted(static_cast<int32_t>(mExpr.nodes.size()) - 1);
        std::optional<Clamped> const clamped = clampedAt(whole.node);
        Bounds const own = *boundsOf(mOut.dtype);
        if (!clamped || clamped->bounds.least + whole.shift != own.least
            || clamped->bounds.most + whole.shift != own.most || !isWithin(whole, clamped->bounds))
            return std::nullopt;
        form.shift = whole.shift;
        form.ofNan = whole.behindCasts;
        int32_t at = clamped->node;
        if (std::optional<Added> const added = addedAt(at))
        {
            form.zeroPoint = added->addend;
            at = added->node;
        }
        if (node(at).op != ExprOp::kRound)
            return std::nullopt;
        at = behindFloats(node(at).a);
        if (node(at).op != ExprOp::kDiv)
            return std::nullopt;
        form.x = fullInput(behindFloats(node(at).a));
        std::optional<Scalar> const scale = scalarAt(node(at).b, false);
        if (form.x < 0 || mInputs[static_cast<size_t>(form.x)].dtype != DType::kFLOAT || !scale)
            return std::nullopt;
        form.scale = *scale;
        return form;
    }

    std::optional<Form> dequantization()
    {
        if (mOut.dtype != DType::kFLOAT)
            return std::nullopt;
        ExprNode const& product = node(behindFloats(static_cast<int32_t>(mExpr.nodes.size()) - 1));
        if (product.op != ExprOp::kMul)
            return std::nullopt;
        for (auto const& [numbers, factor] : {std::pair{product.a, product.b}, std::pair{product.b, product.a}})
        {
            std::optional<Scalar> const scale = scalarAt(factor, false);
            std::optional<Form> form = scale ? centred(behindFloats(numbers)) : std::nullopt;
            if (!form)
                continue;
            form->scale = *scale;
            return form;
        }
        return std::nullopt;
    }

  private:
    //! A number under casts and sums with known numbers.
    struct Shifted
    {
        int32_t node;
        double shift{0.0};
        double behindCasts{0.0}; //!< What of it is added to integers.
        //! Types on the way, and how much of the shift comes behind each.
        std::vector<std::pair<DType, double>> types;
    };
    struct Clamped
    {
        int32_t node;
        Bounds bounds;
    };
    struct Added
    {
        int32_t node;
        Scalar addend;
    };

    ExprNode const& node(int32_t at) const
    {
        return mExpr.nodes[static_cast<size_t>(at)];
    }
    int32_t behindFloats(int32_t at) const
    {
        while (node(at).op == ExprOp::kCast && node(at).dtype == DType::kFLOAT
            && !(node(node(at).a).op == ExprOp::kInput && isByte(typeOf(node(at).a))) && isReal(node(at).a))
            at = node(at).a;
        return at;
    }
    //! Whether the node is certainly a float: what a cast to float may be left out of.
    bool isReal(int32_t at) const
    {
        ExprNode const& n = node(at);
        switch (n.op)
        {
        case ExprOp::kInput: return typeOf(at) == DType::kFLOAT;
        case ExprOp::kConstant: return n.dtype == DType::kFLOAT;
        case ExprOp::kCast: return n.dtype == DType::kFLOAT;
        case ExprOp::kRound: return true;
        case ExprOp::kDiv:
        case ExprOp::kMul:
        case ExprOp::kAdd:
        case ExprOp::kSub: return isReal(n.a) || isReal(n.b);
        default: return false;
        }
    }
    DType typeOf(int32_t input) const
    {
        auto const i = static_cast<size_t>(node(input).index);
        return i < mInputs.size() && mInputs[i].present ? mInputs[i].dtype : DType::kBOOL;
    }
    //! Casts to wide types leave the numbers that stand here as they are.
    std::optional<double> constantAt(int32_t at) const
    {
        bool const isWidened = node(at).op == ExprOp::kCast
            && (node(at).dtype == DType::kFLOAT || node(at).dtype == DType::kINT32 || node(at).dtype == DType::kINT64);
        ExprNode const& n = node(isWidened ? node(at).a : at);
        constexpr double kFar{1 << 24};
        bool const isKept = !isWidened || node(at).dtype == DType::kFLOAT
            || (n.value == std::rint(n.value) && std::abs(n.value) < kFar);
        return n.op == ExprOp::kConstant && isKept ? std::optional{n.value} : std::nullopt;
    }

    //! The input's number where it has the shape, the order and the elements of the output; else −1.
    int32_t fullInput(int32_t at) const
    {
        if (node(at).op != ExprOp::kInput || static_cast<size_t>(node(at).index) >= mInputs.size())
            return -1;
        TensorArg const& x = mInputs[static_cast<size_t>(node(at).index)];
        bool const isAlike =
            x.present && x.extents == mOut.extents && x.layout == mOut.layout && blockOf(x.layout) == 1;
        return isAlike ? node(at).index : -1;
    }

    //! A known number, or an input of one element: a float, or where a byte may stand, too, one.
    std::optional<Scalar> scalarAt(int32_t at, bool mayBeByte) const
    {
        if (std::optional<double> const known = constantAt(at))
            return Scalar{-1, *known};
        while (node(at).op == ExprOp::kCast && node(at).dtype == DType::kFLOAT)
            at = node(at).a;
        if (node(at).op != ExprOp::kInput || static_cast<size_t>(node(at).index) >= mInputs.size())
            return std::nullopt;
        TensorArg const& x = mInputs[static_cast<size_t>(node(at).index)];
        bool const isOfType = x.dtype == DType::kFLOAT || (mayBeByte && isByte(x.dtype));
        bool const isOne = x.present && isOfType && volumeOf(x.extents) == 1 && volumeOf(mOut.extents) != 1;
        return isOne ? std::optional{Scalar{node(at).index, 0.0}} : std::nullopt;
    }

    Shifted shifted(int32_t at) const
    {
        Shifted found{.node = at, .types = {}};
        for (;;)
        {
            ExprNode const& n = node(found.node);
            if (n.op == ExprOp::kCast && boundsOf(n.dtype))
            {
                found.types.emplace_back(n.dtype, found.shift);
                found.behindCasts = found.shift;
                found.node = n.a;
                continue;
            }
            std::optional<double> const left = n.op == ExprOp::kAdd ? constantAt(n.a) : std::nullopt;
            std::optional<double> const right =
                n.op == ExprOp::kAdd || n.op == ExprOp::kSub ? constantAt(n.b) : std::nullopt;
            if (!left && !right)
                return found;
            found.shift += right ? (n.op == ExprOp::kSub ? -*right : *right) : *left;
            found.node = right ? n.a : n.b;
        }
    }

    //! Whether no type on the way wraps numbers within the bounds, to all of which the whole shift comes in the end.
    static bool isWithin(Shifted const& whole, Bounds const& bounds)
    {
        return whole.shift == std::rint(whole.shift)
            && std::ranges::all_of(whole.types, [&](std::pair<DType, double> const& one) {
                   Bounds const type = *boundsOf(one.first);
                   double const here = whole.shift - one.second;
                   return bounds.least + here >= type.least && bounds.most + here <= type.most;
               });
    }

    std::optional<Clamped> clampedAt(int32_t at) const
    {
        ExprNode const& outer = node(at);
        ExprOp const other = outer.op == ExprOp::kMin ? ExprOp::kMax : ExprOp::kMin;
        if ((outer.op != ExprOp::kMin && outer.op != ExprOp::kMax) || !constantAt(outer.b) || node(outer.a).op != other
            || !constantAt(node(outer.a).b))
            return std::nullopt;
        double const first = *constantAt(outer.b);
        double const second = *constantAt(node(outer.a).b);
        Bounds const bounds = outer.op == ExprOp::kMin ? Bounds{second, first} : Bounds{first, second};
        return Clamped{node(outer.a).a, bounds};
    }

    //! A zero point that is added to a rounded number.
    std::optional<Added> addedAt(int32_t at) const
    {
        ExprNode const& sum = node(at);
        if (sum.op != ExprOp::kAdd)
            return std::nullopt;
        std::optional<Scalar> const addend = scalarAt(sum.b, true);
        return addend ? std::optional{Added{sum.a, *addend}} : std::nullopt;
    }

    //! cast(numbers) − zero point.
    std::optional<Form> centred(int32_t at) const
    {
        Form form;
        ExprNode const& difference = node(at);
        if (difference.op == ExprOp::kSub || difference.op == ExprOp::kAdd)
        {
            double const sign = difference.op == ExprOp::kSub ? 1.0 : -1.0;
            std::optional<double> const known = constantAt(difference.b);
            std::optional<Scalar> const given = scalarAt(difference.b, true);
            if (!known && (sign < 0.0 || !given))
                return std::nullopt;
            form.zeroPoint = known ? Scalar{-1, sign * *known} : *given;
            at = difference.a;
        }
        if (node(at).op != ExprOp::kCast || node(at).dtype != DType::kFLOAT)
            return std::nullopt;
        Shifted const whole = shifted(node(at).a);
        form.x = fullInput(whole.node);
        if (form.x < 0 || !isByte(mInputs[static_cast<size_t>(form.x)].dtype))
            return std::nullopt;
        DType const type = mInputs[static_cast<size_t>(form.x)].dtype;
        form.isSigned = type == DType::kINT8;
        form.shift = -whole.shift;
        return isWithin(whole, *boundsOf(type)) ? std::optional{form} : std::nullopt;
    }
    Expr const& mExpr;
    std::span<TensorArg const> mInputs;
    TensorArg const& mOut;
};

//! The zero point as of int8 numbers.
float zeroPointOf(Form const& form, Call const& call, DType type)
{
    double given = form.zeroPoint.value;
    if (form.zeroPoint.input >= 0)
    {
        void const* const at = call.inputs[form.zeroPoint.input];
        given = type == DType::kUINT8 ? static_cast<double>(*static_cast<uint8_t const*>(at))
            : type == DType::kINT8    ? static_cast<double>(*static_cast<int8_t const*>(at))
                                      : static_cast<double>(*static_cast<float const*>(at));
    }
    return static_cast<float>(given + form.shift - (form.isSigned ? 0.0 : kMiddle));
}

bool isNumberOfInt8(double number)
{
    return number == std::rint(number) && number >= -kMiddle && number < kMiddle;
}

//! With a known zero point it can be decided; with one of the run it is, in each.
bool fits(Form const& form)
{
    double const zeroPoint = form.zeroPoint.value + form.shift - (form.isSigned ? 0.0 : kMiddle);
    constexpr double kFar{1 << 20};
    if (form.zeroPoint.input >= 0)
        return form.shift == 0.0;
    return form.quantizes ? isNumberOfInt8(zeroPoint)
                          : zeroPoint == std::rint(zeroPoint) && std::abs(zeroPoint) <= kFar;
}

//! By any zero point, as the expression says it: what is between two numbers is cut off in the end.
void quantizeOneByOne(float const* from, ByteNumbers const& form, uint8_t* to, int64_t count)
{
    float const least = form.isSigned ? -128.0F : 0.0F;
    float const zeroPoint = form.zeroPoint + (form.isSigned ? 0.0F : static_cast<float>(kMiddle));
    for (int64_t i = 0; i < count; ++i)
    {
        float const moved = std::nearbyint(from[i] / form.scale) + zeroPoint;
        int32_t const number = std::isnan(moved) ? form.ofNan + (form.isSigned ? 0 : static_cast<int32_t>(kMiddle))
                                                 : static_cast<int32_t>(std::clamp(moved, least, least + 255.0F));
        to[i] = static_cast<uint8_t>(number);
    }
}

Step stepOf(Form const& form, std::span<TensorArg const> inputs, TensorArg const& out)
{
    constexpr int64_t kCacheLine{64};
    DType const type = form.zeroPoint.input >= 0 ? inputs[static_cast<size_t>(form.zeroPoint.input)].dtype : DType{};
    return sharedStep({volumeOf(out.extents), kCacheLine}, [form, type](Call const& call, int64_t first, int64_t last) {
        ByteNumbers const numbers{.scale = form.scale.input >= 0
                ? *static_cast<float const*>(call.inputs[form.scale.input])
                : static_cast<float>(form.scale.value),
            .zeroPoint = zeroPointOf(form, call, type),
            .isSigned = form.isSigned,
            .ofNan = static_cast<int32_t>(form.ofNan - (form.isSigned ? 0.0 : kMiddle))};
        if (!form.quantizes)
            return int8Functions().dequantizeNumbers(static_cast<uint8_t const*>(call.inputs[form.x]) + first, numbers,
                static_cast<float*>(call.outputs[0]) + first, last - first);
        float const* const from = static_cast<float const*>(call.inputs[form.x]) + first;
        uint8_t* const to = static_cast<uint8_t*>(call.outputs[0]) + first;
        if (isNumberOfInt8(static_cast<double>(numbers.zeroPoint)))
            return int8Functions().quantizeNumbers(from, numbers, to, last - first);
        quantizeOneByOne(from, numbers, to, last - first);
    });
}
} // namespace

std::optional<Step> byteQuantizationStep(Expr const& expr, std::span<TensorArg const> inputs, TensorArg const& out)
{
    Search search{expr, inputs, out};
    std::optional<Form> form = search.quantization();
    form = form ? form : search.dequantization();
    if (!form || !fits(*form))
        return std::nullopt;
    return stepOf(*form, inputs, out);
}

} // namespace tenon::cpu
