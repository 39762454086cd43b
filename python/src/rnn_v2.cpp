// The recurrent layer of 8.x and its enumerations.
#include "names_of_8.h"

namespace tenon::python
{

namespace
{
using namespace nvinfer1;
using Recurrent = IRNNv2Layer;
using RecurrentClass = py::class_<Recurrent, ILayer, Borrowed<Recurrent>>;

void bindEnumerations(py::module_& m)
{
    py::native_enum<RNNOperation>(m, "RNNOperation", "enum.Enum")
        .value("RELU", RNNOperation::kRELU)
        .value("TANH", RNNOperation::kTANH)
        .value("LSTM", RNNOperation::kLSTM)
        .value("GRU", RNNOperation::kGRU)
        .finalize();
    py::native_enum<RNNDirection>(m, "RNNDirection", "enum.Enum")
        .value("UNIDIRECTION", RNNDirection::kUNIDIRECTION)
        .value("BIDIRECTION", RNNDirection::kBIDIRECTION)
        .finalize();
    py::native_enum<RNNInputMode>(m, "RNNInputMode", "enum.Enum")
        .value("LINEAR", RNNInputMode::kLINEAR)
        .value("SKIP", RNNInputMode::kSKIP)
        .finalize();
    py::native_enum<RNNGateType>(m, "RNNGateType", "enum.Enum")
        .value("INPUT", RNNGateType::kINPUT)
        .value("OUTPUT", RNNGateType::kOUTPUT)
        .value("FORGET", RNNGateType::kFORGET)
        .value("UPDATE", RNNGateType::kUPDATE)
        .value("RESET", RNNGateType::kRESET)
        .value("CELL", RNNGateType::kCELL)
        .value("HIDDEN", RNNGateType::kHIDDEN)
        .finalize();
}

void bindProperties(RecurrentClass& c)
{
    c.def_property_readonly("num_layers", &Recurrent::getLayerCount, docOf("IRNNv2Layer.num_layers"))
        .def_property_readonly("hidden_size", &Recurrent::getHiddenSize, docOf("IRNNv2Layer.hidden_size"))
        .def_property_readonly("max_seq_length", &Recurrent::getMaxSeqLength, docOf("IRNNv2Layer.max_seq_length"))
        .def_property_readonly("data_length", &Recurrent::getDataLength, docOf("IRNNv2Layer.data_length"))
        .def_property("op", &Recurrent::getOperation, &Recurrent::setOperation, docOf("IRNNv2Layer.op"))
        .def_property("input_mode", &Recurrent::getInputMode, &Recurrent::setInputMode, docOf("IRNNv2Layer.input_mode"))
        .def_property("direction", &Recurrent::getDirection, &Recurrent::setDirection, docOf("IRNNv2Layer.direction"));
    auto const tensor = [&](char const* name, ITensor* (Recurrent::*get)() const noexcept,
                            void (Recurrent::*set)(ITensor&) noexcept) {
        c.def_property(name,
            py::cpp_function(
                [get](Recurrent const& self) { return (self.*get)(); }, py::return_value_policy::reference_internal),
            py::cpp_function([set](Recurrent& self, ITensor& value) { (self.*set)(present(value)); }),
            docOf((std::string{"IRNNv2Layer."} + name).c_str()));
    };
    tensor("seq_lengths", &Recurrent::getSequenceLengths, &Recurrent::setSequenceLengths);
    tensor("hidden_state", &Recurrent::getHiddenState, &Recurrent::setHiddenState);
    tensor("cell_state", &Recurrent::getCellState, &Recurrent::setCellState);
}

void bindWeights(RecurrentClass& c)
{
    using Set = void (Recurrent::*)(int32_t, RNNGateType, bool, Weights) noexcept;
    using Get = Weights (Recurrent::*)(int32_t, RNNGateType, bool) const noexcept;
    auto const pair = [&](std::string const& what, char const* value, Set set, Get get) {
        c.def(("set_" + what + "_for_gate").c_str(),
            [set](Recurrent& self, int32_t layer, RNNGateType gate, bool isW, py::object const& given) {
                (self.*set)(layer, gate, isW, toWeights(self, given));
            },
            py::arg("layer_index"), py::arg("gate"), py::arg("is_w"), py::arg(value),
            docOf(("IRNNv2Layer.set_" + what + "_for_gate").c_str()));
        c.def(("get_" + what + "_for_gate").c_str(),
            [get](Recurrent& self, int32_t layer, RNNGateType gate, bool isW) {
                return fromWeights(self, (self.*get)(layer, gate, isW));
            },
            py::arg("layer_index"), py::arg("gate"), py::arg("is_w"),
            docOf(("IRNNv2Layer.get_" + what + "_for_gate").c_str()));
    };
    pair("weights", "weights", &Recurrent::setWeightsForGate, &Recurrent::getWeightsForGate);
    pair("bias", "bias", &Recurrent::setBiasForGate, &Recurrent::getBiasForGate);
}
} // namespace

void declareRnnV2(py::module_& m)
{
    bindEnumerations(m);
    RecurrentClass(m, "IRNNv2Layer", docOf("IRNNv2Layer"));
}

void bindRnnV2(py::module_& m)
{
    auto c = classOf<RecurrentClass>(m, "IRNNv2Layer");
    bindProperties(c);
    bindWeights(c);
    classOf<py::class_<INetworkDefinition, Owned<INetworkDefinition>>>(m, "INetworkDefinition")
        .def(
            "add_rnn_v2",
            [](INetworkDefinition& self, ITensor& input, int32_t layers, int32_t hidden, int32_t steps,
                RNNOperation op) { return self.addRNNv2(present(input), layers, hidden, steps, op); },
            py::arg("input"), py::arg("layer_count"), py::arg("hidden_size"), py::arg("max_seq_length"), py::arg("op"),
            docOf("INetworkDefinition.add_rnn_v2"), py::return_value_policy::reference_internal);
}

} // namespace tenon::python
