// OperandViews: the operands of a layer as its rules see them.
#pragma once

#include "api/network/layer_base.h"

#include <list>

namespace tenon::api
{

class OperandViews
{
  public:
    explicit OperandViews(std::vector<Operand> operands);

    std::vector<Input> const& inputs() const noexcept
    {
        return mInputs;
    }
    //! By operand: differs from sample to sample, in networks with implicit batch.
    std::vector<bool> const& varying() const noexcept
    {
        return mVarying;
    }

  private:
    std::vector<Operand> mOperands; //!< Contents and names that the views refer to.
    std::list<TensorType> mTypes;   //!< Of constants made from weights.
    std::vector<Input> mInputs;
    std::vector<bool> mVarying;
};

} // namespace tenon::api
