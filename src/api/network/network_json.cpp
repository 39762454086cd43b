// Networks as JSON: tensors and layers in the order of the user's calls.
#include "api/network/network_json.h"

#include "api/network/network.h"

#include <nlohmann/json.hpp>

namespace tenon::api
{

std::string networkJson(Network& network)
{
    network.infer();
    using Json = nlohmann::ordered_json;
    auto const tensorJson = [](Tensor const& tensor) -> Json {
        bool const valid = tensor.inferred.valid;
        return {{"name", tensor.name()}, {"type", valid ? Json(nameOf(tensor.inferred.type.dtype)) : Json()},
            {"shape", valid ? Json(extentsOf(dimsOf(tensor.inferred.type.shape))) : Json()}};
    };
    Json json;
    json["name"] = network.name();
    json["io"] = Json::array();
    for (auto const* list : {&network.inputs(), &network.outputs()})
        for (Tensor const* tensor : *list)
        {
            Json io = tensorJson(*tensor);
            io["mode"] = list == &network.inputs() ? "input" : "output";
            json["io"].push_back(std::move(io));
        }
    json["layers"] = Json::array();
    for (LayerBase const* layer : network.order())
    {
        LayerPtr const fields = layer->fieldsAsLayer();
        Json one{{"name", layer->name()}, {"kind", layer->kind()}, {"fields", fields == nullptr ? "" : fields->show()}};
        one["inputs"] = Json::array();
        for (Tensor const* input : layer->inputs())
            one["inputs"].push_back(input == nullptr ? Json() : Json(input->name()));
        one["outputs"] = Json::array();
        for (int32_t i = 0; i < layer->outputCount(); ++i)
            one["outputs"].push_back(tensorJson(layer->output(i)));
        json["layers"].push_back(std::move(one));
    }
    return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

} // namespace tenon::api
