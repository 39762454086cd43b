// Functions of one and two floats where they are special: NaN, infinities, zeros of both signs, subnormal numbers and
// what lies beside them, at each instruction set against the C library in double.
#include "backends/cpu/isa_functions.h"
#include "base/isa.h"
#include "codegen/tape.h"
#include "layers/activation.h"
#include "layers/element_wise.h"
#include "layers/unary.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>

namespace tenon::test
{

namespace
{
using Exact = std::function<double(double, double)>;

std::vector<float> specialFloats()
{
    constexpr float kInf{std::numeric_limits<float>::infinity()};
    std::vector<float> grid{std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::quiet_NaN()};
    for (float const x : {0.0F, 0x1p-149F, 0x1p-140F, 1e-40F, 0x1.fffffcp-127F, 0x1p-126F, 1e-30F, 1e-10F, 1e-4F, 0.25F,
             0.3F, 0.5F, 0.7F, 0.99F, 1.0F, 1.5F, 2.0F, 2.5F, 3.0F, 3.7F, 0x1.fffffep1F, 4.0F, 5.0F, 9.9F, 10.1F, 20.0F,
             40.0F, 87.0F, 88.0F, 88.72F, 88.73F, 89.1F, 100.0F, 103.0F, 104.1F, 1e4F, 8388607.5F, 1e10F, 1e20F, 3e38F,
             0x1.fffffep127F, kInf})
    {
        grid.push_back(x);
        grid.push_back(-x);
    }
    return grid;
}

//! The expression over rows of one length, at the active instruction set.
std::vector<float> computed(Expr const& body, std::vector<std::vector<float>> const& operands)
{
    auto const count = static_cast<int64_t>(operands.front().size());
    TensorType const type{DType::kFLOAT, {ShapeExpr{count}}};
    std::vector<TensorType const*> const types(operands.size(), &type);
    Result<Tape> const tape = makeTape(body, types);
    EXPECT_TRUE(tape) << (tape ? "" : tape.error().message);
    std::vector<float> to(operands.front().size(), 12345.0F);
    if (!tape)
        return to;
    cpu::TapeRun run;
    run.steps = tape->steps.data();
    run.stepCount = static_cast<int64_t>(tape->steps.size());
    run.inputs = tape->inputs;
    run.rows = tape->rows;
    run.result = tape->result;
    run.axes = 1;
    run.extents[0] = count;
    for (size_t i = 0; i < operands.size(); ++i)
    {
        run.operands[i].data = operands[i].data();
        run.operands[i].strides[0] = 1;
    }
    run.out = to.data();
    cpu::isaFunctions().runTape(run, 0, count);
    return to;
}

//! What a function may have besides a small relative error.
struct Allowed
{
    double absolute{0x1p-126}; //!< Below the smallest normal number only the absolute error counts.
    bool isSigned{false};      //!< Zeros have the sign of the exact one.
};

bool isClose(float got, double wanted, Allowed const& allowed)
{
    if (std::isnan(wanted))
        return std::isnan(got);
    auto const rounded = static_cast<float>(wanted);
    if (rounded == 0.0F || std::isinf(rounded))
        return got == rounded && (wanted != 0.0 || !allowed.isSigned || std::signbit(got) == std::signbit(wanted));
    return std::fabs(static_cast<double>(got) - wanted) <= 1e-5 * std::fabs(wanted) + allowed.absolute;
}

void expectExact(std::string const& name, Expr const& body, std::vector<std::vector<float>> const& operands,
    Exact const& exact, double absolute = 0x1p-126)
{
    for (Isa const isa : {Isa::kAvx2, Isa::kAvx512})
    {
        if (detectedIsa() < isa)
            continue;
        capIsa(isa);
        std::vector<float> const got = computed(body, operands);
        for (size_t i = 0; i < got.size(); ++i)
        {
            double const x = static_cast<double>(operands[0][i]);
            double const y = operands.size() > 1 ? static_cast<double>(operands[1][i]) : 0.0;
            bool const isSigned = x == 0.0 || operands.size() > 1;
            EXPECT_TRUE(isClose(got[i], exact(x, y), {absolute, isSigned}))
                << name << "(" << x << ", " << y << ") is " << got[i] << " at " << nameOf(isa) << " instead of "
                << exact(x, y);
        }
    }
    capIsa(Isa::kAmxFp16);
}

void expectUnary(std::string const& name, Expr const& body, Exact const& exact, double absolute = 0x1p-126)
{
    expectExact(name, body, {specialFloats()}, exact, absolute);
}

double sigmoidOf(double x)
{
    return 1.0 / (1.0 + std::exp(-x));
}
} // namespace

TEST(CpuSpecialValues, unary)
{
    using Operation = nvinfer1::UnaryOperation;
    std::vector<std::tuple<Operation, std::string, double (*)(double)>> const functions{
        {Operation::kEXP, "exp", [](double x) { return std::exp(x); }},
        {Operation::kLOG, "log", [](double x) { return std::log(x); }},
        {Operation::kSQRT, "sqrt", [](double x) { return std::sqrt(x); }},
        {Operation::kRECIP, "recip", [](double x) { return 1.0 / x; }},
        {Operation::kABS, "abs", [](double x) { return std::fabs(x); }},
        {Operation::kNEG, "neg", [](double x) { return -x; }},
        {Operation::kSINH, "sinh", [](double x) { return std::sinh(x); }},
        {Operation::kCOSH, "cosh", [](double x) { return std::cosh(x); }},
        {Operation::kASIN, "asin", [](double x) { return std::asin(x); }},
        {Operation::kACOS, "acos", [](double x) { return std::acos(x); }},
        {Operation::kATAN, "atan", [](double x) { return std::atan(x); }},
        {Operation::kASINH, "asinh", [](double x) { return std::asinh(x); }},
        {Operation::kACOSH, "acosh", [](double x) { return std::acosh(x); }},
        {Operation::kATANH, "atanh", [](double x) { return std::atanh(x); }},
        {Operation::kCEIL, "ceil", [](double x) { return std::ceil(x); }},
        {Operation::kFLOOR, "floor", [](double x) { return std::floor(x); }},
        {Operation::kERF, "erf", [](double x) { return std::erf(x); }},
        {Operation::kROUND, "round", [](double x) { return std::nearbyint(x); }},
        {Operation::kSIN, "sin", [](double x) { return std::sin(x); }},
        {Operation::kCOS, "cos", [](double x) { return std::cos(x); }},
        {Operation::kTAN, "tan", [](double x) { return std::tan(x); }},
        {Operation::kSIGN, "sign", [](double x) { return x > 0.0 ? 1.0
                                                      : x < 0.0  ? -1.0
                                                                 : x; }},
    };
    for (auto const& [operation, name, exact] : functions)
        expectUnary(name, Unary{operation}.body(Expr::input(0)), [f = exact](double x, double) { return f(x); });
}

TEST(CpuSpecialValues, activations)
{
    using Type = nvinfer1::ActivationType;
    constexpr float kAlpha{0.3F};
    constexpr float kBeta{0.7F};
    auto const a = static_cast<double>(kAlpha);
    auto const b = static_cast<double>(kBeta);
    std::vector<std::tuple<Type, std::string, std::function<double(double)>>> const functions{
        {Type::kRELU, "relu", [](double x) { return x <= 0.0 ? 0.0 : x; }},
        {Type::kSIGMOID, "sigmoid", sigmoidOf},
        {Type::kTANH, "tanh", [](double x) { return std::tanh(x); }},
        {Type::kLEAKY_RELU, "leaky relu", [a](double x) { return x > 0.0 ? x : a * x; }},
        {Type::kSOFTPLUS, "softplus",
            [a, b](double x) {
                return a * (std::isnan(x) ? x : std::fmax(b * x, 0.0) + std::log1p(std::exp(-std::fabs(b * x))));
            }},
        {Type::kSCALED_TANH, "scaled tanh", [a, b](double x) { return a * std::tanh(b * x); }},
        {Type::kHARD_SIGMOID, "hard sigmoid",
            [a, b](double x) { return std::isnan(x) ? x : std::fmax(std::fmin(a * x + b, 1.0), 0.0); }},
        {Type::kGELU_ERF, "gelu",
            [](double x) {
                return 0.5 * x * (std::isinf(x) ? 1.0 + std::copysign(1.0, x) : std::erfc(-x / std::sqrt(2.0)));
            }},
        {Type::kGELU_TANH, "gelu by tanh",
            [](double x) {
                double const inner = 0.79788456080286535588 * (x + 0.044715 * x * x * x);
                return std::isinf(x) ? 0.5 * x * (1.0 + std::copysign(1.0, x)) : x * sigmoidOf(2.0 * inner);
            }},
    };
    for (auto const& [type, name, exact] : functions)
    {
        // 1 + erf(x), 1 + tanh(x) and log(1 + exp(x)) lose what lies below the last place of 1.
        bool const cancels = type == Type::kGELU_ERF || type == Type::kGELU_TANH || type == Type::kSOFTPLUS;
        expectUnary(
            name, Activation{type, kAlpha, kBeta}.body(Expr::input(0)), [f = exact](double x, double) { return f(x); },
            cancels ? 1e-6 : 0x1p-126);
    }
}

TEST(CpuSpecialValues, binary)
{
    std::vector<float> const grid = specialFloats();
    std::vector<std::vector<float>> pairs(2);
    for (float const x : grid)
        for (float const y : grid)
        {
            pairs[0].push_back(x);
            pairs[1].push_back(y);
        }
    Expr const x = Expr::input(0);
    Expr const y = Expr::input(1);
    auto const either = [](double a, double b, double otherwise) {
        return std::isnan(a) ? a : std::isnan(b) ? b : otherwise;
    };
    expectExact("add", x + y, pairs, [](double a, double b) { return a + b; });
    expectExact("sub", x - y, pairs, [](double a, double b) { return a - b; });
    expectExact("mul", x * y, pairs, [](double a, double b) { return a * b; });
    expectExact("div", x / y, pairs, [](double a, double b) { return a / b; });
    expectExact("pow", pow(x, y), pairs, [](double a, double b) { return std::pow(a, b); });
    // Of two zeros either is the smaller one.
    expectExact(
        "min", min(x, y) + Expr{1.0}, pairs, [&](double a, double b) { return either(a, b, std::fmin(a, b)) + 1.0; });
    expectExact(
        "max", max(x, y) + Expr{1.0}, pairs, [&](double a, double b) { return either(a, b, std::fmax(a, b)) + 1.0; });
}

} // namespace tenon::test
