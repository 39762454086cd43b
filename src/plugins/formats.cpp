// Formats: one table of names, layouts, ranks and types.
#include "plugins/formats.h"

#include <algorithm>
#include <array>
#include <span>

namespace tenon::plugins
{

namespace
{
using nvinfer1::TensorFormat;

constexpr std::array kFloat{DType::kFLOAT};
constexpr std::array kHalves{DType::kHALF, DType::kBF16};
constexpr std::array kHalf{DType::kHALF};
constexpr std::array kHalfOrByte{DType::kHALF, DType::kINT8};
constexpr std::array kFloatHalfOrByte{DType::kFLOAT, DType::kHALF, DType::kINT8};

struct FormatRow
{
    TensorFormat format;
    std::string_view name;
    Layout layout;
    int32_t rank;                 //!< 0: any.
    std::span<DType const> types; //!< Empty: any.
};

constexpr std::array kTable{
    FormatRow{TensorFormat::kLINEAR, "LINEAR", Layout::kLinear, 0, {}},
    FormatRow{TensorFormat::kHWC, "HWC", Layout::kChannelsLast, 4, kFloat},
    FormatRow{TensorFormat::kDHWC, "DHWC", Layout::kChannelsLast, 5, kFloat},
    FormatRow{TensorFormat::kCHW2, "CHW2", Layout::kBlocked2, 4, kHalves},
    FormatRow{TensorFormat::kHWC8, "HWC8", Layout::kChannelsLast8, 4, kHalves},
    FormatRow{TensorFormat::kDHWC8, "DHWC8", Layout::kChannelsLast8, 5, kHalves},
    FormatRow{TensorFormat::kCHW4, "CHW4", Layout::kBlocked4, 4, kHalfOrByte},
    FormatRow{TensorFormat::kCHW16, "CHW16", Layout::kBlocked16, 4, kHalf},
    FormatRow{TensorFormat::kHWC16, "HWC16", Layout::kChannelsLast16, 4, kHalfOrByte},
    FormatRow{TensorFormat::kCHW32, "CHW32", Layout::kBlocked32, 4, kFloatHalfOrByte},
    FormatRow{TensorFormat::kCDHW32, "CDHW32", Layout::kBlocked32, 5, kHalfOrByte},
};

FormatRow const* rowOf(TensorFormat format) noexcept
{
    auto const found = std::ranges::find(kTable, format, &FormatRow::format);
    return found == kTable.end() ? nullptr : &*found;
}
} // namespace

std::string_view nameOf(TensorFormat format) noexcept
{
    FormatRow const* const row = rowOf(format);
    return row == nullptr ? "another format" : row->name;
}

Result<Layout> layoutOf(TensorFormat format)
{
    if (FormatRow const* const row = rowOf(format))
        return row->layout;
    return badArgument("a plugin's tensor has the format {}", static_cast<int32_t>(format));
}

std::vector<TensorFormat> formatsOf(Generation generation, DType type, int32_t rank)
{
    constexpr std::array kOldest{TensorFormat::kLINEAR, TensorFormat::kCHW2, TensorFormat::kHWC8};
    std::vector<TensorFormat> formats;
    for (FormatRow const& row : kTable)
        if ((generation > Generation::kV2Ext || std::ranges::find(kOldest, row.format) != kOldest.end())
            && (row.rank == 0 || row.rank == rank)
            && (row.types.empty() || std::ranges::find(row.types, type) != row.types.end()))
            formats.push_back(row.format);
    return formats;
}

} // namespace tenon::plugins
