// Formats of inputs and outputs: one table of names, layouts, ranks and types. Channels are the second axis.
#include "api/tensor_formats.h"

#include <algorithm>
#include <array>
#include <span>

namespace tenon::api
{

namespace
{
using nvinfer1::TensorFormat;

constexpr std::array kFloatOrUint8{DType::kFLOAT, DType::kUINT8};
constexpr std::array kFloatOnly{DType::kFLOAT};
constexpr std::array kHalfOrBF16{DType::kHALF, DType::kBF16};
constexpr std::array kHalfOnly{DType::kHALF};
constexpr std::array kHalfOrInt8{DType::kHALF, DType::kINT8};
constexpr std::array kHalfOrFP8{DType::kHALF, DType::kINT8, DType::kFP8};
constexpr std::array kFloatHalfOrInt8{DType::kFLOAT, DType::kHALF, DType::kINT8};

struct FormatFacts
{
    TensorFormat format;
    char const* name;
    char const* text;
    Layout layout;
    int32_t rank; //!< 0: any.
    std::span<DType const> types;
};

//! In the order in which they are taken.
constexpr std::array kFormats{
    FormatFacts{TensorFormat::kHWC, "kHWC", "channels last", Layout::kChannelsLast, 4, kFloatOrUint8},
    FormatFacts{TensorFormat::kDHWC, "kDHWC", "channels last", Layout::kChannelsLast, 5, kFloatOnly},
    FormatFacts{TensorFormat::kHWC8, "kHWC8", "channels last, padded to a multiple of 8", Layout::kChannelsLast8, 4,
        kHalfOrBF16},
    FormatFacts{TensorFormat::kDHWC8, "kDHWC8", "channels last, padded to a multiple of 8", Layout::kChannelsLast8, 5,
        kHalfOrBF16},
    FormatFacts{TensorFormat::kHWC16, "kHWC16", "channels last, padded to a multiple of 16", Layout::kChannelsLast16, 4,
        kHalfOrFP8},
    FormatFacts{
        TensorFormat::kCHW32, "kCHW32", "row-major vectors of 32 channels", Layout::kBlocked32, 4, kFloatHalfOrInt8},
    FormatFacts{
        TensorFormat::kCDHW32, "kCDHW32", "row-major vectors of 32 channels", Layout::kBlocked32, 5, kHalfOrInt8},
    FormatFacts{TensorFormat::kCHW16, "kCHW16", "row-major vectors of 16 channels", Layout::kBlocked16, 4, kHalfOnly},
    FormatFacts{TensorFormat::kCHW4, "kCHW4", "row-major vectors of 4 channels", Layout::kBlocked4, 4, kHalfOrInt8},
    FormatFacts{TensorFormat::kCHW2, "kCHW2", "row-major vectors of 2 channels", Layout::kBlocked2, 4, kHalfOrBF16},
};

bool isAllowed(uint32_t allowed, TensorFormat format) noexcept
{
    return (allowed >> static_cast<uint32_t>(format) & 1U) != 0;
}

//! Names, types and rank of what is allowed.
std::string listed(uint32_t allowed)
{
    std::string text;
    for (FormatFacts const& each : kFormats)
    {
        if (!isAllowed(allowed, each.format))
            continue;
        text += fmt::format("{}{} (rank {}:", text.empty() ? "" : ", ", each.name, each.rank);
        for (DType const type : each.types)
            text += fmt::format(" {}", nameOf(type));
        text += ")";
    }
    for (auto const& [format, name] :
        {std::pair{TensorFormat::kDLA_LINEAR, "kDLA_LINEAR"}, {TensorFormat::kDLA_HWC4, "kDLA_HWC4"}})
        if (isAllowed(allowed, format))
            text += fmt::format("{}{} (of DLA, which this device has not)", text.empty() ? "" : ", ", name);
    return text.empty() ? fmt::format("{:#x}", allowed) : text;
}
} // namespace

Result<Layout> chooseLayout(uint32_t allowed, DType type, int32_t rank, bool isShape, std::string const& tensor)
{
    if (isAllowed(allowed, TensorFormat::kLINEAR))
        return Layout::kLinear;
    if (isShape)
        return badConfig("tensor '{}' allows the formats {}, and shape tensors are row-major linear: allow kLINEAR",
            tensor, listed(allowed));
    for (FormatFacts const& each : kFormats)
        if (isAllowed(allowed, each.format) && each.rank == rank
            && std::ranges::find(each.types, type) != each.types.end())
            return each.layout;
    return badConfig("tensor '{}' allows the formats {}, none of which is for {} at rank {}: allow kLINEAR", tensor,
        listed(allowed), nameOf(type), rank);
}

TensorFormat formatOf(Layout layout, int32_t rank) noexcept
{
    for (FormatFacts const& each : kFormats)
        if (each.layout == layout && each.rank == rank)
            return each.format;
    return TensorFormat::kLINEAR;
}

char const* describe(TensorFormat format) noexcept
{
    auto const found = std::ranges::find(kFormats, format, &FormatFacts::format);
    return found == kFormats.end() ? "row-major linear" : found->text;
}

} // namespace tenon::api
