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
            if (known.standsForReals)
                retype(input, DType::kFLOAT);
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

OperandViews::OperandViews(std::vector<Operand> operands, DType read, uint32_t values)
    : OperandViews{std::move(operands)}
{
    for (size_t i = 0; i < mInputs.size(); ++i)
    {
        Input& input = mInputs[i];
        if (input.type != nullptr && input.type->dtype != read && isConvertedOperand(input.type->dtype, i, values))
            retype(input, read);
    }
}

void OperandViews::retype(Input& input, DType type)
{
    mTypes.push_back({type, input.type->shape});
    input.type = &mTypes.back();
    input.constant = nullptr; // Its bytes are of the other type.
}

} // namespace tenon::api
