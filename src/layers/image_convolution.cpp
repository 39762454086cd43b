// ImageConvolution: rules and reference.
#include "layers/image_convolution.h"

#include "layers/check.h"

namespace tenon
{

Result<Done> ImageConvolution::verify() const
{
    constexpr size_t kAxes{2};
    TENON_TRY(product.verify());
    if (product.window().rank() != kAxes)
        return badArgument("its convolution has {} spatial axes where images have two", product.window().rank());
    if (product.epilogue.extraInputs() != 0)
        return badArgument("its convolution's epilogue takes other tensors");
    if (!isPooled())
        return Done{};
    TENON_TRY(pooling.verify());
    bool const isMaximum = pooling.poolingType == nvinfer1::PoolingType::kMAX && pooling.window().rank() == kAxes;
    return isMaximum ? Result<Done>{Done{}} : badArgument("its pooling is none of maxima over two axes");
}

Result<TensorType> ImageConvolution::infer(Inputs const& in) const
{
    Check check{in, kName};
    TENON_TRY(check.fields(verify()).count(2, 3).done());
    TensorType image = in.type(0);
    check.that(image.dtype == DType::kFLOAT || image.dtype == in.type(1).dtype,
        "takes images in float32 or in the type of its weights");
    TENON_TRY(check.done());
    image.dtype = in.type(1).dtype;
    std::vector<Input> inner;
    for (int32_t i = 0; i < in.size(); ++i)
        inner.push_back(in[i]);
    inner[0].type = &image;
    TensorType type = TENON_TRY(product.infer(in.with(std::move(inner))));
    if (!isPooled())
        return type;
    return pooling.infer(in.with({Input{.type = &type, .name = kName}}));
}

Result<std::vector<HostTensor>> ImageConvolution::reference(HostTensors const& in) const
{
    if (in.size() < 2 || in[0] == nullptr || in[1] == nullptr)
        return badArgument("a convolution lacks its image or its kernel");
    HostTensor image{in[1]->dtype, in[0]->extents};
    for (int64_t i = 0; i < image.count(); ++i)
        image.set(i, in[0]->real(i));
    HostTensors inner = in;
    inner[0] = &image;
    std::vector<HostTensor> results = TENON_TRY(product.reference(inner));
    if (!isPooled())
        return results;
    return pooling.reference({&results.front()});
}

} // namespace tenon
