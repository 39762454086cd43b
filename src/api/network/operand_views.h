// OperandViews: the operands of a layer as its rules see them.
#pragma once

#include "api/network/layer_base.h"

#include <list>

namespace tenon::api
{

//! The types between which weakly typed networks convert by themselves.
inline constexpr bool isConverted(DType type) noexcept
{
    return type == DType::kFLOAT || type == DType::kHALF || type == DType::kBF16;
}
//! Whether operand `i` is one that its reader may have in another type than it comes in.
inline bool isConvertedOperand(DType type, size_t i, uint32_t values) noexcept
{
    return isConverted(type) && (i >= 32 || (values >> i & 1U) == 0);
}

class OperandViews
{
  public:
    explicit OperandViews(std::vector<Operand> operands);
    //! Floating operands are read in type `read`; those of bit mask `values`, whose values decide shapes, as they are.
    OperandViews(std::vector<Operand> operands, DType read, uint32_t values);

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
    void retype(Input& input, DType type);

    std::vector<Operand> mOperands; //!< Contents and names that the views refer to.
    std::list<TensorType> mTypes;   //!< Of constants made from weights, and of what is read in another type.
    std::vector<Input> mInputs;
    std::vector<bool> mVarying;
};

} // namespace tenon::api
