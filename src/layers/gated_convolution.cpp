// GatedConvolution: rules and reference.
#include "layers/gated_convolution.h"

#include "layers/check.h"

#include <algorithm>

namespace tenon
{

bool areSinglePixels(Convolution const& conv)
{
    Window const window = conv.window();
    auto const is = [](int64_t value) { return [value](int64_t each) { return each == value; }; };
    return conv.nbGroups == 1 && std::ranges::all_of(window.size, is(1)) && std::ranges::all_of(window.stride, is(1))
        && std::ranges::all_of(window.pre, is(0)) && std::ranges::all_of(window.post, is(0));
}

Result<Done> GatedConvolution::verify() const
{
    TENON_TRY(product.verify());
    return areSinglePixels(product) ? Result<Done>{Done{}}
                                    : badArgument("its convolution is none of single pixels of all channels");
}

Result<TensorType> GatedConvolution::infer(Inputs const& in) const
{
    int32_t const gate = gateInput();
    Check check{in, kName};
    check.fields(verify()).count(2, gate + 1).that(in.has(gate), "lacks its gate");
    TENON_TRY(check.sameType(gate, 0).sameRank(gate, 0).done());
    std::vector<Input> inner;
    for (int32_t i = 0; i < gate; ++i)
        inner.push_back(in[i]);
    TensorType type = TENON_TRY(product.infer(in.with(std::move(inner))));
    Shape const& x = in.type(0).shape;
    if (in.type(gate).shape[0] != ShapeExpr{1})
        check.extent(gate, 0, x[0]);
    check.extent(gate, 1, x[1]);
    for (size_t axis = 2; axis < x.size(); ++axis)
        check.extent(gate, static_cast<int32_t>(axis), ShapeExpr{1});
    TENON_TRY(check.done());
    return type;
}

Result<std::vector<HostTensor>> GatedConvolution::reference(HostTensors const& in) const
{
    auto const at = static_cast<size_t>(gateInput());
    if (at >= in.size() || in[0] == nullptr || in[at] == nullptr)
        return badArgument("a convolution lacks its image or its gate");
    HostTensor x = *in[0];
    HostTensor const& gate = *in[at];
    int64_t const channels = x.extents[1];
    int64_t const pixels = volumeOf({x.extents.begin() + 2, x.extents.end()});
    for (int64_t i = 0; i < x.count(); ++i)
    {
        int64_t const row = i / pixels;
        x.set(i, x.real(i) * gate.real(gate.extents[0] == 1 ? row % channels : row));
    }
    HostTensors inner{in.begin(), in.begin() + static_cast<std::ptrdiff_t>(at)};
    inner[0] = &x;
    return product.reference(inner);
}

} // namespace tenon
