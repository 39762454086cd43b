// The table of ONNX operators, put together from the families.
#include "operators.h"

#include <unordered_map>

namespace tenon::onnx
{

ImportFunction findOperator(std::string_view name)
{
    static auto const kTable = [] {
        std::unordered_map<std::string_view, ImportFunction> table;
        for (std::span<Operator const> const family : {kDirectOperators, kElementwiseOperators, kActivationOperators,
                 kConvolutionOperators, kPoolingOperators, kMatmulOperators, kReduceOperators, kShapeOperators,
                 kGenerateOperators, kMoveOperators, kSliceOperators, kGatherOperators, kResizeOperators,
                 kNormalizationOperators, kSearchOperators, kQuantizeOperators, kVisionOperators})
        {
            for (Operator const& one : family)
            {
                table.emplace(one.name, one.import);
            }
        }
        return table;
    }();
    auto const found = kTable.find(name);
    return found == kTable.end() ? nullptr : found->second;
}

} // namespace tenon::onnx
