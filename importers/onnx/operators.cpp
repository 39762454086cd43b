// The table of ONNX operators, put together from the families.
#include "operators.h"

#include <algorithm>
#include <unordered_map>

namespace tenon::onnx
{

namespace
{

using Table = std::unordered_map<std::string_view, ImportFunction>;

Table tableOf(std::initializer_list<std::span<Operator const>> families)
{
    Table table;
    for (std::span<Operator const> const family : families)
    {
        for (Operator const& one : family)
        {
            table.emplace(one.name, one.import);
        }
    }
    return table;
}

ImportFunction find(Table const& table, std::string_view name)
{
    auto const found = table.find(name);
    return found == table.end() ? nullptr : found->second;
}

} // namespace

ImportFunction findOperator(std::string_view domain, std::string_view name)
{
    static Table const kStandard = tableOf({kDirectOperators, kElementwiseOperators, kActivationOperators,
        kConvolutionOperators, kPoolingOperators, kMatmulOperators, kReduceOperators, kShapeOperators,
        kGenerateOperators, kMoveOperators, kSliceOperators, kGatherOperators, kResizeOperators,
        kNormalizationOperators, kSearchOperators, kQuantizeOperators, kVisionOperators, kLossOperators, kBitOperators,
        kSignalOperators, kIntegerOperators, kImageOperators, kChoiceOperators, kControlOperators, kSequenceOperators,
        kRecurrentOperators, kAttentionOperators, kDeformOperators});
    static Table const kContrib = tableOf({kContribOperators, kContribAttentionOperators, kContribIntegerOperators,
        kContribQuantizedOperators, kContribRecurrentOperators, kFewBitsOperators, kQuantizeOperators});
    static Table const kPreview = tableOf({kPreviewOperators});
    static Table const kMl = tableOf({kMlOperators});
    if (domain == "ai.onnx.preview")
    {
        return find(kPreview, name);
    }
    if (domain == "ai.onnx.ml")
    {
        return find(kMl, name);
    }
    if (domain == "com.microsoft")
    {
        return find(kContrib, name);
    }
    return domain.empty() || domain == "ai.onnx" ? find(kStandard, name) : nullptr;
}

bool isOfSequences(std::string_view name)
{
    return std::ranges::any_of(kSequenceOperators, [&](Operator const& one) { return one.name == name; });
}

} // namespace tenon::onnx
