// ConcreteInputs: the views and what they point at.
#include "ir/concrete_inputs.h"

namespace tenon
{

ConcreteInputs::ConcreteInputs(size_t count, std::string_view layerName)
    : mLayerName{layerName},
      mParts(count),
      mViews(count)
{
}

ConcreteInputs::ConcreteInputs(HostTensors const& in)
    : ConcreteInputs{in.size()}
{
    for (size_t i = 0; i < in.size(); ++i)
    {
        if (in[i] == nullptr)
            continue;
        HostTensor const& tensor = *in[i];
        set(i, {tensor.dtype, shapeOf(tensor.extents)});
        if (!tensor.isReal() && tensor.extents.size() <= 1 && tensor.count() <= kMaxShapeValues)
            setContents(i, shapeOf(tensor.integers));
    }
}

void ConcreteInputs::set(size_t i, TensorType type, std::string_view name)
{
    mParts.at(i).type = std::move(type);
    mViews[i].type = &mParts[i].type;
    mViews[i].name = name;
}

void ConcreteInputs::setContents(size_t i, Shape contents)
{
    mParts.at(i).contents = std::move(contents);
    mViews[i].contents = &mParts[i].contents;
}

void ConcreteInputs::setConstant(size_t i, Constant constant)
{
    mParts.at(i).constant = std::move(constant);
    mViews[i].constant = &mParts[i].constant;
}

} // namespace tenon
