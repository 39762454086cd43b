// Members of builder, config, optimization profile and parser whose form in Python differs from that in C++.
#include "interruptible.h"
#include "members.h"

#include "tenon/profile.h"

#include <algorithm>
#include <limits>
#include <pybind11/stl_bind.h>

namespace tenon::python
{

namespace
{
using namespace nvinfer1;

py::list shapeList(std::array<Dims, 3> const& shapes)
{
    py::list list;
    for (Dims const& shape : shapes)
        list.append(shape);
    return list;
}

TenonNumbers numbersOf(Dims const& dims)
{
    return {dims.nbDims, dims.d};
}

TenonNumbers numbersOf(std::vector<int64_t> const& values)
{
    constexpr size_t kLimit{std::numeric_limits<int32_t>::max()};
    return {static_cast<int32_t>(std::min(values.size(), kLimit)), values.data()};
}

void bindProfile(py::module_& m)
{
    using T = IOptimizationProfile;
    auto c = classOf<py::class_<T, Borrowed<T>>>(m, "IOptimizationProfile");
    method(
        c, "set_shape",
        [](T& self, char const* input, Dims const& min, Dims const& opt, Dims const& max) {
            std::array const bounds{numbersOf(min), numbersOf(opt), numbersOf(max)};
            if (tenonSetProfileShapes(&self, input, bounds.data()) == 0)
                throw std::runtime_error(std::string{"the shapes of input '"} + input + "' do not fit each other");
        },
        py::arg("input"), py::arg("min"), py::arg("opt"), py::arg("max"), docOf("IOptimizationProfile.set_shape"));
    method(
        c, "get_shape",
        [](T const& self, char const* input) -> py::object {
            std::array const shapes{self.getDimensions(input, OptProfileSelector::kMIN),
                self.getDimensions(input, OptProfileSelector::kOPT),
                self.getDimensions(input, OptProfileSelector::kMAX)};
            for (Dims const& shape : shapes)
                if (shape.nbDims < 0)
                    return py::list();
            return shapeList(shapes);
        },
        py::arg("input"), docOf("IOptimizationProfile.get_shape"));
    method(
        c, "set_shape_input",
        [](T& self, char const* input, std::vector<int64_t> const& min, std::vector<int64_t> const& opt,
            std::vector<int64_t> const& max) {
            std::array const bounds{numbersOf(min), numbersOf(opt), numbersOf(max)};
            if (tenonSetProfileValues(&self, input, bounds.data()) == 0)
                throw std::runtime_error(std::string{"the values of input '"} + input + "' do not fit each other");
        },
        py::arg("input"), py::arg("min"), py::arg("opt"), py::arg("max"),
        docOf("IOptimizationProfile.set_shape_input"));
    method(
        c, "get_shape_input",
        [](T const& self, char const* input) {
            py::list list;
            int32_t const count = self.getNbShapeValues(input);
            for (OptProfileSelector const which :
                {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX})
                if (int64_t const* values = self.getShapeValuesV2(input, which); values != nullptr && count >= 0)
                    list.append(std::vector<int64_t>(values, values + count));
            return list;
        },
        py::arg("input"), docOf("IOptimizationProfile.get_shape_input"));
    method(c, "__bool__", &T::isValid);
    method(c, "__nonzero__", &T::isValid);
}

//! The object of the user's class, whichever of the public ones that is derived from.
py::object calibratorObject(IInt8Calibrator* calibrator)
{
    if (calibrator == nullptr)
        return py::none();
    for (std::type_info const* const type : {&typeid(IInt8EntropyCalibrator), &typeid(IInt8EntropyCalibrator2),
             &typeid(IInt8MinMaxCalibrator), &typeid(IInt8LegacyCalibrator), &typeid(IInt8Calibrator)})
        if (py::handle const known = py::detail::get_object_handle(calibrator, py::detail::get_type_info(*type)))
            return py::reinterpret_borrow<py::object>(known);
    return py::cast(calibrator, py::return_value_policy::reference);
}

void bindBuilder(py::module_& m)
{
    using T = IBuilder;
    auto c = classOf<py::class_<T, Owned<T>>>(m, "Builder");
    c.def(py::init([](ILogger& logger) {
        IBuilder* builder = createInferBuilder(logger);
        if (builder == nullptr)
            throw std::runtime_error("no builder could be made; the logger has the reason");
        return Owned<IBuilder>{builder};
    }),
        py::arg("logger"), KeepAlive<1, 2>());
    method(
        c, "create_network",
        [](T& self, uint32_t flags) {
            return self.createNetworkV2(meantMask(renumbered<NetworkDefinitionCreationFlag>(), flags));
        },
        py::arg("flags") = 0U, KeepAlive<0, 1>(), py::return_value_policy::take_ownership,
        docOf("Builder.create_network"));
    method(
        c, "build_serialized_network",
        [](T& self, INetworkDefinition& network, IBuilderConfig& config) {
            return interruptible(config, [&] { return self.buildSerializedNetwork(network, config); });
        },
        py::arg("network"), py::arg("config"), py::return_value_policy::take_ownership,
        docOf("Builder.build_serialized_network"));
    method(
        c, "build_serialized_network",
        [](T& self, INetworkDefinition& network, IBuilderConfig& config, py::list kernelText) {
            IHostMemory* text{nullptr};
            IHostMemory* const plan =
                interruptible(config, [&] { return self.buildSerializedNetwork(network, config, text); });
            if (text != nullptr)
                kernelText.append(py::cast(text, py::return_value_policy::take_ownership));
            return plan;
        },
        py::arg("network"), py::arg("config"), py::arg("kernel_text"), py::return_value_policy::take_ownership,
        "Builds as the call without kernel_text does, and appends the kernels' text, where there is any, to that "
        "list.");
    method(
        c, "build_engine_with_config",
        [](py::object const& self, INetworkDefinition& network, IBuilderConfig& config) {
            return buildEngine(self, network, config);
        },
        py::arg("network"), py::arg("config"), docOf("Builder.build_engine_with_config"));
}

void bindConfig(py::module_& m)
{
    auto config = classOf<py::class_<IBuilderConfig, Owned<IBuilderConfig>>>(m, "IBuilderConfig");
    config.def_property(
        "max_workspace_size", // The name of 8.x, which programs set beside calls of 10.x.
        [](IBuilderConfig const& self) { return self.getMemoryPoolLimit(MemoryPoolType::kWORKSPACE); },
        [](IBuilderConfig& self, size_t bytes) { self.setMemoryPoolLimit(MemoryPoolType::kWORKSPACE, bytes); },
        docOf("IBuilderConfig.max_workspace_size"));
    config.def_property(
        "int8_calibrator", [](IBuilderConfig const& self) { return calibratorObject(self.getInt8Calibrator()); },
        py::cpp_function([](IBuilderConfig& self, IInt8Calibrator* calibrator) { self.setInt8Calibrator(calibrator); },
            KeepAlive<1, 2>()),
        docOf("IBuilderConfig.int8_calibrator"));
    method(
        config, "create_timing_cache",
        [](IBuilderConfig& self, py::buffer const& blob) {
            py::buffer_info const info = blob.request();
            return self.createTimingCache(info.ptr, static_cast<size_t>(info.size * info.itemsize));
        },
        py::arg("serialized_timing_cache"), py::return_value_policy::take_ownership,
        docOf("IBuilderConfig.create_timing_cache"));
    config.def_property(
        "plugins_to_serialize",
        [](IBuilderConfig const& self) {
            std::vector<std::string> paths;
            for (int32_t i = 0; i < self.getNbPluginsToSerialize(); ++i)
                paths.emplace_back(self.getPluginToSerialize(i));
            return paths;
        },
        [](IBuilderConfig& self, std::vector<std::string> const& paths) {
            std::vector<char const*> pointers;
            for (std::string const& path : paths)
                pointers.push_back(path.c_str());
            self.setPluginsToSerialize(pointers.data(), static_cast<int32_t>(pointers.size()));
        },
        docOf("IBuilderConfig.plugins_to_serialize"));
    config.def_property(
        "build_route", [](IBuilderConfig const& self) { return self.getBuildRoute(); },
        [](IBuilderConfig& self, std::string const& route) {
            checked("IBuilderConfig.build_route", [&] { return self.setBuildRoute(route.c_str()); });
        },
        docOf("IBuilderConfig.build_route"));
    config.def_property_readonly(
        "all_build_routes", [](IBuilderConfig const& self) { return self.getAllBuildRoutes(); },
        docOf("IBuilderConfig.all_build_routes"));
}

//! Lists of the API's own: types apart from std::vector, which becomes a list of Python's.
struct NodeIndices : std::vector<size_t>
{
    using std::vector<size_t>::vector;
};
using Part = std::pair<NodeIndices, bool>;
struct SubGraphs : std::vector<Part>
{
    using std::vector<Part>::vector;
};

SubGraphs partsOf(SubGraphCollection_t const& given)
{
    SubGraphs parts;
    for (auto const& [nodes, isSupported] : given)
        parts.emplace_back(NodeIndices(nodes.begin(), nodes.end()), isSupported);
    return parts;
}

void bindParts(py::module_& m)
{
    py::bind_vector<NodeIndices>(m, "NodeIndices", docOf("NodeIndices"));
    py::bind_vector<SubGraphs>(m, "SubGraphCollection", docOf("SubGraphCollection"));
    py::implicitly_convertible<py::list, NodeIndices>(); // So that they compare with lists.
    py::implicitly_convertible<py::list, SubGraphs>();
}

//! A text that programs of 10.x make of bytes; Python's own serves for all texts that are handed out.
struct FallbackString
{
    explicit FallbackString(std::string given)
        : text{std::move(given)}
    {
    }
    std::string text;
};

void bindParser(py::module_& m)
{
    py::class_<FallbackString>(m, "FallbackString", docOf("FallbackString"))
        .def(py::init<std::string>())
        .def(py::init<py::str>())
        .def("__str__", [](FallbackString const& self) { return self.text; });
    bindParts(m);
    using T = nvonnxparser::IParser;
    auto c = classOf<py::class_<T, std::shared_ptr<T>>>(m, "OnnxParser");
    c.def(py::init([](INetworkDefinition& network, ILogger& logger) {
        std::shared_ptr<T> parser{nvonnxparser::createParser(network, logger), DeleteReleased{}};
        if (parser == nullptr)
            throw std::runtime_error("no parser could be made; the logger has the reason");
        // The network uses weights that the parser owns, and lives no shorter than the parser's Python
        // object.
        auto* const shared = new std::shared_ptr<T>{parser};
        py::capsule const owner{shared, [](void* pointer) { delete static_cast<std::shared_ptr<T>*>(pointer); }};
        py::detail::keep_alive_impl(py::cast(&network, py::return_value_policy::reference), owner);
        return parser;
    }),
        py::arg("network"), py::arg("logger"), KeepAlive<1, 2>(), KeepAlive<1, 3>());
    auto const bytesCall = [](auto method) {
        return [method](T& self, py::buffer const& model, char const* path) {
            py::buffer_info const info = model.request();
            WithoutGil const released;
            return method(self, info.ptr, static_cast<size_t>(info.size * info.itemsize), path);
        };
    };
    method(c, "parse", bytesCall([](T& self, void const* data, size_t size, char const* path) {
        return self.parse(data, size, path);
    }),
        py::arg("model"), py::arg("path") = py::none(), docOf("OnnxParser.parse"));
    method(c, "supports_model_v2", bytesCall([](T& self, void const* data, size_t size, char const* path) {
        return self.supportsModelV2(data, size, path);
    }),
        py::arg("model"), py::arg("path") = py::none(), docOf("OnnxParser.supports_model_v2"));
    method(c, "load_model_proto", bytesCall([](T& self, void const* data, size_t size, char const* path) {
        return self.loadModelProto(data, size, path);
    }),
        py::arg("model"), py::arg("path") = py::none(), docOf("OnnxParser.load_model_proto"));
    method(
        c, "supports_model",
        [](T& self, py::buffer const& model, char const* path) {
            py::buffer_info const info = model.request();
            SubGraphCollection_t parts;
            bool all{false};
            {
                WithoutGil const released;
                all = self.supportsModel(info.ptr, static_cast<size_t>(info.size * info.itemsize), parts, path);
            }
            return py::make_tuple(all, partsOf(parts));
        },
        py::arg("model"), py::arg("path") = py::none(), docOf("OnnxParser.supports_model"));
    method(
        c, "parse_with_weight_descriptors",
        [](T& self, py::buffer const& model) {
            py::buffer_info const info = model.request();
            WithoutGil const released;
            return self.parseWithWeightDescriptors(info.ptr, static_cast<size_t>(info.size * info.itemsize));
        },
        py::arg("model"), docOf("OnnxParser.parse_with_weight_descriptors"));
    method(
        c, "parse_from_file", [](T& self, std::string const& model) { return self.parseFromFile(model.c_str(), 0); },
        py::arg("model"), py::call_guard<WithoutGil>(), docOf("OnnxParser.parse_from_file"));
    method(
        c, "get_subgraph_nodes",
        [](T& self, int64_t index) {
            int64_t count{0};
            int64_t const* nodes = self.getSubgraphNodes(index, count);
            return nodes == nullptr ? std::vector<int64_t>{} : std::vector<int64_t>(nodes, nodes + count);
        },
        py::arg("index"), docOf("OnnxParser.get_subgraph_nodes"));
    method(
        c, "get_used_vc_plugin_libraries",
        [](T& self) {
            int64_t count{0};
            char const* const* names = self.getUsedVCPluginLibraries(count);
            return names == nullptr || count < 0 ? std::vector<std::string>{}
                                                 : std::vector<std::string>(names, names + count);
        },
        docOf("OnnxParser.get_used_vc_plugin_libraries"));
}

void bindParserError(py::module_& m)
{
    using E = nvonnxparser::IParserError;
    auto error = classOf<py::class_<E, Borrowed<E>>>(m, "ParserError");
    method(
        error, "local_function_stack",
        [](E const& self) {
            std::vector<std::string> names;
            for (int32_t i = 0; i < self.localFunctionStackSize(); ++i)
                names.emplace_back(self.localFunctionStack()[i]);
            return names;
        },
        docOf("ParserError.local_function_stack"));
    auto const show = [](E const& self) {
        auto const text = [](char const* value) { return std::string{value == nullptr ? "" : value}; };
        return "In node " + std::to_string(self.node()) + " with name: " + text(self.nodeName())
            + " and operator: " + text(self.nodeOperator()) + " (" + text(self.func()) + "): " + text(self.desc());
    };
    method(error, "__str__", show);
    method(error, "__repr__", show);
}
} // namespace

void bindBuildByHand(py::module_& m)
{
    bindProfile(m);
    bindBuilder(m);
    bindConfig(m);
    bindParser(m);
    bindParserError(m);
}

} // namespace tenon::python
