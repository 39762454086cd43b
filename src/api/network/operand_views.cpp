// OperandViews: from what inference found out, and from weights.
#include "api/network/operand_views.h"

namespace tenon::api
{

OperandViews::OperandViews(std::vector<Operand> operands)
    : mOperands{std::move(operands)}
{
    for (Operand const& operand : mOperands)
    {
        Input input;
        if (operand.tensor != nullptr)
        {
            Tensor::Inferred const& known = operand.tensor->inferred;
            input = {
                &known.type, known.contents ? &*known.contents : nullptr, known.constant.get(), operand.tensor->name()};
        }
        else if (operand.constant != nullptr)
        {
            mTypes.push_back({operand.constant->dtype, shapeOf(operand.constant->extents)});
            input = {&mTypes.back(), nullptr, operand.constant.get(), operand.name};
        }
        mInputs.push_back(input);
        mVarying.push_back(operand.tensor != nullptr && !operand.tensor->inferred.isShared);
    }
}

} // namespace tenon::api
