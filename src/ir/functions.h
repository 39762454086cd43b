// Functions of one real number, a row each. What lists them is written from the rows: the operations of expressions and
// their names, the reference, and the vector code of the CPU, which has a function of the row's name.
//
// A row: its number among the operations (ExprOp: plans store it, so that new ones take the next free one), the name of
// the enumerator, the name of the function, roughly its work in multiplications, and its value in double. The work
// decides no more than which kernel is tried first.
//
// Read by files that are compiled once per instruction set: no header of the C library may be included here.
#pragma once

#define TENON_FUNCTIONS(ROW)                                                                                           \
    ROW(3, Neg, neg, 4.0, -x)                                                                                          \
    ROW(4, Abs, abs, 4.0, std::abs(x))                                                                                 \
    ROW(5, Exp, exp, 24.0, std::exp(x))                                                                                \
    ROW(6, Log, log, 24.0, std::log(x))                                                                                \
    ROW(7, Sqrt, sqrt, 12.0, std::sqrt(x))                                                                             \
    ROW(8, Reciprocal, reciprocal, 4.0, 1.0 / x)                                                                       \
    ROW(9, Sin, sin, 400.0, std::sin(x))                                                                               \
    ROW(10, Cos, cos, 400.0, std::cos(x))                                                                              \
    ROW(11, Tan, tan, 400.0, std::tan(x))                                                                              \
    ROW(12, Sinh, sinh, 400.0, std::sinh(x))                                                                           \
    ROW(13, Cosh, cosh, 400.0, std::cosh(x))                                                                           \
    ROW(14, Asin, asin, 400.0, std::asin(x))                                                                           \
    ROW(15, Acos, acos, 400.0, std::acos(x))                                                                           \
    ROW(16, Atan, atan, 400.0, std::atan(x))                                                                           \
    ROW(17, Asinh, asinh, 400.0, std::asinh(x))                                                                        \
    ROW(18, Acosh, acosh, 400.0, std::acosh(x))                                                                        \
    ROW(19, Atanh, atanh, 400.0, std::atanh(x))                                                                        \
    ROW(20, Tanh, tanh, 24.0, std::tanh(x))                                                                            \
    ROW(21, Erf, erf, 24.0, std::erf(x))                                                                               \
    ROW(22, Sigmoid, sigmoid, 24.0, 1.0 / (1.0 + std::exp(-x)))                                                        \
    ROW(23, Ceil, ceil, 4.0, std::ceil(x))                                                                             \
    ROW(24, Floor, floor, 4.0, std::floor(x))                                                                          \
    ROW(25, Round, round, 4.0, std::nearbyint(x)) /* Half to even. */                                                  \
    ROW(26, Sign, sign, 4.0, std::isnan(x) ? x : static_cast<double>((x > 0) - (x < 0)))
