// KernelText: what kernels are printed from: the words that all of them have in front, element types, expressions.
#pragma once

#include "codegen/tape.h"

#include <span>
#include <string>

namespace tenon::cuda
{

//! What stands before each kernel's own text.
std::string_view kernelPrelude() noexcept;
//! The prelude, a mark, and a kernel.
std::string wholeText(std::string const& own);

//! In front of a kernel's functions: cheaper forms of what rounding hides where results and all that they are made of
//! have such types; "": none.
std::string functionsFor(std::span<DType const> types);
//! How elements of a type are stored: "float", "Half", "int", …; an error for types without arithmetic here.
Result<std::string> storageOf(DType type);
//! The word for bits of elements of 1, 2, 4 or 8 bytes, which are moved and not computed with.
char const* wordOfBytes(int64_t bytes) noexcept;
//! What is computed with: "float", "i64" or "bool".
std::string_view wordOf(TapeKind kind) noexcept;

//! A function of the device: `static wordOf(result) name(word a0, word a1, …)`; `inputs`: kinds of the operands.
Result<std::string> printFunction(std::string const& name, Tape const& tape, std::vector<TapeKind> const& inputs);

//! A struct that host and device have in common. Members take types that mean the same on both.
#define TENON_DEVICE_STRUCT(Name, ...)                                                                                 \
    struct Name                                                                                                        \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    };                                                                                                                 \
    inline constexpr char k##Name##Text[] = "struct " #Name " { " #__VA_ARGS__ " };\n"

} // namespace tenon::cuda
