// Names of 8.x and 9.x that later versions took away: layers over two axes, and calls that got other names.
#include "names_of_8.h"
#include "members.h"

#include "interruptible.h"

#include "NvInferLegacyDims.h"
#include "NvInferVersion.h"

namespace tenon::python
{

namespace
{
using namespace nvinfer1;
template <typename Layer>
using LayerClassOf8 = py::class_<Layer, ILayer, Borrowed<Layer>>;

//! Height and width; RuntimeError for a layer over other axes than two.
DimsHW heightAndWidth(Dims const& dims, std::string const& name)
{
    if (dims.nbDims != 2)
        throw std::runtime_error(name + " is of layers over two axes; this one has " + std::to_string(dims.nbDims)
            + ": use " + name + "_nd");
    return DimsHW{dims.d[0], dims.d[1]};
}

//! The property that the one for any number of axes has taken the place of.
template <typename Layer>
void bindPair(LayerClassOf8<Layer>& c, std::string const& type, std::string const& name,
    Dims (Layer::*get)() const noexcept, void (Layer::*set)(Dims const&) noexcept)
{
    c.def_property(
        name.c_str(), [get, name](Layer const& self) { return heightAndWidth((self.*get)(), name); },
        [set](Layer& self, DimsHW const& pair) { (self.*set)(pair); }, docOf((type + "." + name).c_str()));
}

void bindPairs(py::module_& m)
{
    using Convolution = IConvolutionLayer;
    auto convolution = classOf<LayerClassOf8<Convolution>>(m, "IConvolutionLayer");
    auto const ofConvolution = [&](char const* name, auto get, auto set) {
        bindPair<Convolution>(convolution, "IConvolutionLayer", name, get, set);
    };
    ofConvolution("kernel_size", &Convolution::getKernelSizeNd, &Convolution::setKernelSizeNd);
    ofConvolution("stride", &Convolution::getStrideNd, &Convolution::setStrideNd);
    ofConvolution("padding", &Convolution::getPaddingNd, &Convolution::setPaddingNd);
    ofConvolution("dilation", &Convolution::getDilationNd, &Convolution::setDilationNd);

    using Deconvolution = IDeconvolutionLayer;
    auto deconvolution = classOf<LayerClassOf8<Deconvolution>>(m, "IDeconvolutionLayer");
    auto const ofDeconvolution = [&](char const* name, auto get, auto set) {
        bindPair<Deconvolution>(deconvolution, "IDeconvolutionLayer", name, get, set);
    };
    ofDeconvolution("kernel_size", &Deconvolution::getKernelSizeNd, &Deconvolution::setKernelSizeNd);
    ofDeconvolution("stride", &Deconvolution::getStrideNd, &Deconvolution::setStrideNd);
    ofDeconvolution("padding", &Deconvolution::getPaddingNd, &Deconvolution::setPaddingNd);

    auto pooling = classOf<LayerClassOf8<IPoolingLayer>>(m, "IPoolingLayer");
    auto const ofPooling = [&](char const* name, auto get, auto set) {
        bindPair<IPoolingLayer>(pooling, "IPoolingLayer", name, get, set);
    };
    ofPooling("window_size", &IPoolingLayer::getWindowSizeNd, &IPoolingLayer::setWindowSizeNd);
    ofPooling("stride", &IPoolingLayer::getStrideNd, &IPoolingLayer::setStrideNd);
    ofPooling("padding", &IPoolingLayer::getPaddingNd, &IPoolingLayer::setPaddingNd);

    auto padding = classOf<LayerClassOf8<IPaddingLayer>>(m, "IPaddingLayer");
    auto const ofPadding = [&](char const* name, auto get, auto set) {
        bindPair<IPaddingLayer>(padding, "IPaddingLayer", name, get, set);
    };
    ofPadding("pre_padding", &IPaddingLayer::getPrePaddingNd, &IPaddingLayer::setPrePaddingNd);
    ofPadding("post_padding", &IPaddingLayer::getPostPaddingNd, &IPaddingLayer::setPostPaddingNd);
}

void bindLayersOverTwoAxes(py::class_<INetworkDefinition, Owned<INetworkDefinition>>& c)
{
    using T = INetworkDefinition;
    auto const policy = py::return_value_policy::reference_internal;
    method(
        c, "add_convolution",
        [](T& self, ITensor& input, int64_t maps, DimsHW const& shape, py::object const& kernel,
            py::object const& bias) {
            return self.addConvolutionNd(present(input), maps, shape, toWeights(self, kernel), toWeights(self, bias));
        },
        py::arg("input"), py::arg("num_output_maps"), py::arg("kernel_shape"), py::arg("kernel"),
        py::arg("bias") = py::none(), docOf("INetworkDefinition.add_convolution"), policy);
    method(
        c, "add_deconvolution",
        [](T& self, ITensor& input, int64_t maps, DimsHW const& shape, py::object const& kernel,
            py::object const& bias) {
            return self.addDeconvolutionNd(present(input), maps, shape, toWeights(self, kernel), toWeights(self, bias));
        },
        py::arg("input"), py::arg("num_output_maps"), py::arg("kernel_shape"), py::arg("kernel"),
        py::arg("bias") = py::none(), docOf("INetworkDefinition.add_deconvolution"), policy);
    method(
        c, "add_pooling",
        [](T& self, ITensor& input, PoolingType type, DimsHW const& window) {
            return self.addPoolingNd(present(input), type, window);
        },
        py::arg("input"), py::arg("type"), py::arg("window_size"), docOf("INetworkDefinition.add_pooling"), policy);
    method(
        c, "add_padding",
        [](T& self, ITensor& input, DimsHW const& before, DimsHW const& behind) {
            return self.addPaddingNd(present(input), before, behind);
        },
        py::arg("input"), py::arg("pre_padding"), py::arg("post_padding"), docOf("INetworkDefinition.add_padding"),
        policy);
}

void bindBuildCalls(py::module_& m)
{
    classOf<py::class_<IBuilder, Owned<IBuilder>>>(m, "Builder")
        .def(
            "build_engine",
            [](py::object const& self, INetworkDefinition& network, IBuilderConfig& config) {
                return buildEngine(self, network, config);
            },
            py::arg("network"), py::arg("config"), docOf("Builder.build_engine"));
    classOf<py::class_<IBuilderConfig, Owned<IBuilderConfig>>>(m, "IBuilderConfig")
        .def_property(
            "min_timing_iterations", [](IBuilderConfig const& self) { return self.getMinTimingIterations(); },
            [](IBuilderConfig& self, int32_t least) { self.setMinTimingIterations(least); },
            docOf("IBuilderConfig.min_timing_iterations"));
}

//! What the classes have that Python programs derive from. The library itself calls deallocate() where there is one,
//! else free().
void bindInterfacesOf8(py::module_& m)
{
    classOf<py::class_<IGpuAllocator, IVersionedInterface>>(m, "IGpuAllocator")
        .def(
            "free", [](IGpuAllocator& self, Handle memory) { self.deallocate(memory.as<void*>()); }, py::arg("memory"),
            docOf("IGpuAllocator.free"), py::call_guard<WithoutGil>());
    classOf<py::class_<IOutputAllocator>>(m, "IOutputAllocator")
        .def_property_readonly(
            "tensorrt_version", [](IOutputAllocator const& self) { return self.getInterfaceInfo().major; },
            docOf("IOutputAllocator.tensorrt_version"));
    classOf<py::class_<IPluginCreator, IPluginCreatorInterface>>(m, "IPluginCreator")
        .def_property_readonly(
            "tensorrt_version", [](IPluginCreator const&) { return NV_TENSORRT_VERSION; },
            docOf("IPluginCreator.tensorrt_version"));
}
} // namespace

void bindNamesOf8(py::module_& m)
{
    py::implicitly_convertible<py::tuple, DimsHW>();
    py::implicitly_convertible<py::list, DimsHW>();
    bindPairs(m);
    auto network = classOf<py::class_<INetworkDefinition, Owned<INetworkDefinition>>>(m, "INetworkDefinition");
    bindLayersOverTwoAxes(network);
    network.def_property_readonly(
        "has_explicit_precision", [](INetworkDefinition const& self) { return self.hasExplicitPrecision(); },
        docOf("INetworkDefinition.has_explicit_precision"));
    bindBuildCalls(m);
    bindInterfacesOf8(m);
    m.attr("ResizeMode") = m.attr("InterpolationMode");
    m.attr("SliceMode") = m.attr("SampleMode");
}

} // namespace tenon::python
