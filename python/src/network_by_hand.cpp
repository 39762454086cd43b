// Members of network, tensors and layers whose form in Python differs from that in C++.
#include "members.h"

#include <string_view>
#include <unordered_set>

namespace tenon::python
{

using nvinfer1::ITensor;

namespace
{
using namespace nvinfer1;

//! Addresses of tensors that were removed from a network that is still there: no other tensor can have them.
std::unordered_set<void const*>& removedTensors()
{
    static auto* const addresses = new std::unordered_set<void const*>;
    return *addresses;
}

//! The library keeps a removed tensor as long as its network; for Python it is gone at once.
void removeTensor(py::object const& network, ITensor& tensor)
{
    auto& self = network.cast<INetworkDefinition&>();
    int32_t const before = self.getNbInputs();
    self.removeTensor(tensor);
    if (self.getNbInputs() == before)
        return;
    void const* const address = &tensor;
    removedTensors().insert(address);
    py::weakref(network, py::cpp_function([address](py::handle reference) {
        removedTensors().erase(address);
        reference.dec_ref();
    })).release();
}

//! The public class of layers of that type; null: there is none beside ILayer.
std::type_info const* classOfType(LayerType type)
{
    switch (type)
    {
    case LayerType::kCONVOLUTION: return &typeid(IConvolutionLayer);
    case LayerType::kCAST: return &typeid(ICastLayer);
    case LayerType::kPLUGIN_V2: return &typeid(IPluginV2Layer);
    case LayerType::kPLUGIN_V3: return &typeid(IPluginV3Layer);
    case LayerType::kACTIVATION: return &typeid(IActivationLayer);
    case LayerType::kPOOLING: return &typeid(IPoolingLayer);
    case LayerType::kLRN: return &typeid(ILRNLayer);
    case LayerType::kSCALE: return &typeid(IScaleLayer);
    case LayerType::kSOFTMAX: return &typeid(ISoftMaxLayer);
    case LayerType::kDECONVOLUTION: return &typeid(IDeconvolutionLayer);
    case LayerType::kFULLY_CONNECTED: return &typeid(IFullyConnectedLayer);
    case LayerType::kCONCATENATION: return &typeid(IConcatenationLayer);
    case LayerType::kELEMENTWISE: return &typeid(IElementWiseLayer);
    case LayerType::kUNARY: return &typeid(IUnaryLayer);
    case LayerType::kPADDING: return &typeid(IPaddingLayer);
    case LayerType::kSHUFFLE: return &typeid(IShuffleLayer);
    case LayerType::kREDUCE: return &typeid(IReduceLayer);
    case LayerType::kTOPK: return &typeid(ITopKLayer);
    case LayerType::kGATHER: return &typeid(IGatherLayer);
    case LayerType::kMATRIX_MULTIPLY: return &typeid(IMatrixMultiplyLayer);
    case LayerType::kCONSTANT: return &typeid(IConstantLayer);
    case LayerType::kIDENTITY: return &typeid(IIdentityLayer);
    case LayerType::kSLICE: return &typeid(ISliceLayer);
    case LayerType::kSHAPE: return &typeid(IShapeLayer);
    case LayerType::kPARAMETRIC_RELU: return &typeid(IParametricReLULayer);
    case LayerType::kRESIZE: return &typeid(IResizeLayer);
    case LayerType::kSELECT: return &typeid(ISelectLayer);
    case LayerType::kFILL: return &typeid(IFillLayer);
    case LayerType::kQUANTIZE: return &typeid(IQuantizeLayer);
    case LayerType::kDEQUANTIZE: return &typeid(IDequantizeLayer);
    case LayerType::kSCATTER: return &typeid(IScatterLayer);
    case LayerType::kEINSUM: return &typeid(IEinsumLayer);
    case LayerType::kASSERTION: return &typeid(IAssertionLayer);
    case LayerType::kONE_HOT: return &typeid(IOneHotLayer);
    case LayerType::kNON_ZERO: return &typeid(INonZeroLayer);
    case LayerType::kGRID_SAMPLE: return &typeid(IGridSampleLayer);
    case LayerType::kNMS: return &typeid(INMSLayer);
    case LayerType::kREVERSE_SEQUENCE: return &typeid(IReverseSequenceLayer);
    case LayerType::kNORMALIZATION: return &typeid(INormalizationLayer);
    case LayerType::kSQUEEZE: return &typeid(ISqueezeLayer);
    case LayerType::kUNSQUEEZE: return &typeid(IUnsqueezeLayer);
    case LayerType::kCUMULATIVE: return &typeid(ICumulativeLayer);
    case LayerType::kTRIP_LIMIT: return &typeid(ITripLimitLayer);
    case LayerType::kRECURRENCE: return &typeid(IRecurrenceLayer);
    case LayerType::kITERATOR: return &typeid(IIteratorLayer);
    case LayerType::kLOOP_OUTPUT: return &typeid(ILoopOutputLayer);
    case LayerType::kCONDITION: return &typeid(IConditionLayer);
    case LayerType::kCONDITIONAL_INPUT: return &typeid(IIfConditionalInputLayer);
    case LayerType::kCONDITIONAL_OUTPUT: return &typeid(IIfConditionalOutputLayer);
    case LayerType::kRNN_V2: return &typeid(IRNNv2Layer);
    case LayerType::kRAGGED_SOFTMAX: return &typeid(IRaggedSoftMaxLayer);
    case LayerType::kDYNAMIC_QUANTIZE: return &typeid(IDynamicQuantizeLayer);
    case LayerType::kATTENTION_INPUT: return &typeid(IAttentionInputLayer);
    case LayerType::kATTENTION_OUTPUT: return &typeid(IAttentionOutputLayer);
    case LayerType::kROTARY_EMBEDDING: return &typeid(IRotaryEmbeddingLayer);
    case LayerType::kKVCACHE_UPDATE: return &typeid(IKVCacheUpdateLayer);
    case LayerType::kMOE: return &typeid(IMoELayer);
    case LayerType::kDIST_COLLECTIVE: return &typeid(IDistCollectiveLayer);
    default: return nullptr;
    }
}

//! A layer may become an object of its own class, as tools have it that get an ILayer and ask for its type; of another
//! one it would read what is not there.
void setAttribute(py::object const& self, py::str const& name, py::object const& value)
{
    if (std::string_view{name.cast<std::string>()} == "__class__")
    {
        auto const& layer = self.cast<ILayer const&>();
        std::type_info const* const kind = classOfType(layer.getType());
        py::handle const common = py::type::of<ILayer>();
        py::handle const own = kind == nullptr ? common : py::detail::get_type_handle(*kind, true);
        bool const isClass = PyType_Check(value.ptr()) != 0;
        auto* const wanted = reinterpret_cast<PyTypeObject*>(value.ptr());
        if (!isClass || PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(own.ptr()), wanted) == 0
            || PyType_IsSubtype(wanted, reinterpret_cast<PyTypeObject*>(common.ptr())) == 0)
            throw py::type_error(std::string{"layer '"} + layer.getName() + "' is an "
                + own.attr("__name__").cast<std::string>() + " and cannot become "
                + (isClass ? withArticle(value) : std::string{"what is no class"}));
    }
    if (PyObject_GenericSetAttr(self.ptr(), name.ptr(), value.ptr()) != 0)
        throw py::error_already_set();
}

void bindLayer(py::module_& m)
{
    classOf<py::class_<ILayer, Borrowed<ILayer>>>(m, "ILayer").def("__setattr__", &setAttribute);
}

template <typename Layer>
using LayerClass = py::class_<Layer, ILayer, Borrowed<Layer>>;

void bindTensor(py::module_& m)
{
    auto c = classOf<py::class_<ITensor, Borrowed<ITensor>>>(m, "ITensor");
    method(
        c, "set_dynamic_range",
        [](ITensor& self, float min, float max) { return present(self).setDynamicRange(min, max); }, py::arg("min"),
        py::arg("max"), docOf("ITensor.set_dynamic_range"));
    c.def_property(
        "dynamic_range",
        [](ITensor const& self) -> py::object {
            if (!present(self).dynamicRangeIsSet())
                return py::none();
            return py::make_tuple(self.getDynamicRangeMin(), self.getDynamicRangeMax());
        },
        [](ITensor& self, std::pair<float, float> range) {
            checked("ITensor.dynamic_range", [&] { return present(self).setDynamicRange(range.first, range.second); });
        },
        docOf("ITensor.dynamic_range"));
    method(c, "__hash__", [](ITensor const& self) { return reinterpret_cast<size_t>(&self); });
}

void bindLayerExtras(py::module_& m)
{
    auto matmul = classOf<LayerClass<IMatrixMultiplyLayer>>(m, "IMatrixMultiplyLayer");
    matmul.def_property(
        "op0", [](IMatrixMultiplyLayer const& self) { return self.getOperation(0); },
        [](IMatrixMultiplyLayer& self, MatrixOperation op) { self.setOperation(0, op); },
        docOf("IMatrixMultiplyLayer.op0"));
    matmul.def_property(
        "op1", [](IMatrixMultiplyLayer const& self) { return self.getOperation(1); },
        [](IMatrixMultiplyLayer& self, MatrixOperation op) { self.setOperation(1, op); },
        docOf("IMatrixMultiplyLayer.op1"));
    auto resize = classOf<LayerClass<IResizeLayer>>(m, "IResizeLayer");
    resize.def_property(
        "scales",
        [](IResizeLayer const& self) {
            int32_t const count = self.getScales(0, nullptr);
            std::vector<float> scales(static_cast<size_t>(std::max(count, 0)));
            self.getScales(static_cast<int32_t>(scales.size()), scales.data());
            return scales;
        },
        [](IResizeLayer& self, std::vector<float> const& scales) {
            self.setScales(scales.data(), static_cast<int32_t>(scales.size()));
        },
        docOf("IResizeLayer.scales"));
}

//! What 11.1 has besides.
void bindCacheExtras(py::module_& m)
{
    py::native_enum<AttentionIOForm>(m, "AttentionIOForm", "enum.Enum")
        .value("PADDED_BHND", AttentionIOForm::kPADDED_BHND)
        .value("PACKED_NHD", AttentionIOForm::kPACKED_NHD)
        .finalize();
    py::native_enum<CausalMaskKind>(m, "CausalMaskKind", "enum.Enum")
        .value("NONE", CausalMaskKind::kNONE)
        .value("UPPER_LEFT", CausalMaskKind::kUPPER_LEFT)
        .value("LOWER_RIGHT", CausalMaskKind::kLOWER_RIGHT)
        .finalize();
    using T = IKVCacheUpdateLayer;
    auto c = classOf<LayerClass<T>>(m, "IKVCacheUpdateLayer");
    c.def_property(
        "update_form", &T::getUpdateForm,
        [](T& self, AttentionIOForm form) {
            checked("IKVCacheUpdateLayer.update_form", [&] { return self.setUpdateForm(form); });
        },
        docOf("IKVCacheUpdateLayer.update_form"));
    c.def_property("update_lengths",
        py::cpp_function(
            [](T const& self) { return self.getUpdateLengths(); }, py::return_value_policy::reference_internal),
        py::cpp_function([](T& self, ITensor& lengths) {
            checked("IKVCacheUpdateLayer.update_lengths", [&] { return self.setUpdateLengths(&present(lengths)); });
        }),
        docOf("IKVCacheUpdateLayer.update_lengths"));
}

//! What 11.1 has besides.
void bindAttentionExtras(py::module_& m)
{
    using T = IAttention;
    auto c = classOf<py::class_<T, Borrowed<T>>>(m, "IAttention");
    auto const form = [&c](char const* name, AttentionIOForm (T::*get)() const, bool (T::*set)(AttentionIOForm)) {
        std::string const whole = std::string{"IAttention."} + name;
        c.def_property(
            name, [get](T const& self) { return (self.*get)(); },
            [set, whole](
                T& self, AttentionIOForm value) { checked(whole.c_str(), [&] { return (self.*set)(value); }); },
            docOf(whole.c_str()));
    };
    auto const lengths = [&c](char const* name, ITensor* (T::*get)() const, bool (T::*set)(ITensor*)) {
        std::string const whole = std::string{"IAttention."} + name;
        c.def_property(name,
            py::cpp_function(
                [get](T const& self) { return (self.*get)(); }, py::return_value_policy::reference_internal),
            py::cpp_function([set, whole](T& self, ITensor& tensor) {
                checked(whole.c_str(), [&] { return (self.*set)(&present(tensor)); });
            }),
            docOf(whole.c_str()));
    };
    c.def_property(
        "causal_kind", &T::getCausalKind,
        [](T& self, CausalMaskKind kind) {
            checked("IAttention.causal_kind", [&] { return self.setCausalKind(kind); });
        },
        docOf("IAttention.causal_kind"));
    form("query_form", &T::getQueryForm, &T::setQueryForm);
    form("key_value_form", &T::getKeyValueForm, &T::setKeyValueForm);
    lengths("query_lengths", &T::getQueryLengths, &T::setQueryLengths);
    lengths("key_value_lengths", &T::getKeyValueLengths, &T::setKeyValueLengths);
}

void bindNetworkExtras(py::module_& m)
{
    using T = INetworkDefinition;
    auto c = classOf<py::class_<T, Owned<T>>>(m, "INetworkDefinition");
    method(
        c, "add_concatenation",
        [](T& self, std::vector<ITensor*> const& inputs) {
            return self.addConcatenation(inputs.data(), static_cast<int32_t>(inputs.size()));
        },
        py::arg("inputs"), docOf("INetworkDefinition.add_concatenation"), py::return_value_policy::reference_internal);
    method(
        c, "add_einsum",
        [](T& self, std::vector<ITensor*> const& inputs, char const* equation) {
            return self.addEinsum(inputs.data(), static_cast<int32_t>(inputs.size()), equation);
        },
        py::arg("inputs"), py::arg("equation"), docOf("INetworkDefinition.add_einsum"),
        py::return_value_policy::reference_internal);
    method(
        c, "add_attention_v2",
        [](T& self, ITensor& query, ITensor& key, ITensor& value, AttentionNormalizationOp op, CausalMaskKind kind) {
            return self.addAttentionV2(present(query), present(key), present(value), op, kind);
        },
        py::arg("query"), py::arg("key"), py::arg("value"), py::arg("norm_op"), py::arg("causal_kind"),
        docOf("INetworkDefinition.add_attention_v2"), py::return_value_policy::reference_internal);
    method(
        c, "add_dist_collective",
        [](T& self, ITensor& input, CollectiveOperation operation, std::optional<ReduceOperation> reduction,
            std::optional<int64_t> root, std::optional<std::vector<int64_t>> groups) {
            std::vector<int64_t> members = groups.value_or(std::vector<int64_t>{});
            return self.addDistCollective(present(input), operation, reduction.value_or(ReduceOperation::kNONE),
                root.value_or(0), members.data(), static_cast<int64_t>(members.size()));
        },
        py::arg("input"), py::arg("dist_collective_op"), py::arg("reduce_op") = py::none(),
        py::arg("root") = py::none(), py::arg("groups") = py::none(), docOf("INetworkDefinition.add_dist_collective"),
        py::return_value_policy::reference_internal);
    method(c, "remove_tensor", &removeTensor, py::arg("tensor"), docOf("INetworkDefinition.remove_tensor"));
    method(c, "__len__", &T::getNbLayers);
    method(
        c, "__getitem__",
        [](T const& self, int32_t index) {
            int32_t const count = self.getNbLayers();
            int32_t const at = index < 0 ? index + count : index;
            if (at < 0 || at >= count)
                throw py::index_error("layer " + std::to_string(index) + " of " + std::to_string(count));
            return self.getLayer(at);
        },
        py::return_value_policy::reference_internal);
}
} // namespace

ITensor& present(ITensor& tensor)
{
    if (removedTensors().contains(&tensor))
        throw std::runtime_error("the tensor was removed from its network");
    return tensor;
}

ITensor const& present(ITensor const& tensor)
{
    return present(const_cast<ITensor&>(tensor));
}

void bindNetworkByHand(py::module_& m)
{
    bindTensor(m);
    bindLayer(m);
    bindLayerExtras(m);
    bindCacheExtras(m);
    bindAttentionExtras(m);
    bindNetworkExtras(m);
}

} // namespace tenon::python
