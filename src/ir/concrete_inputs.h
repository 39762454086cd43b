// ConcreteInputs: inputs of a layer whose shapes are numbers, to infer with while running.
#pragma once

#include "ir/layer.h"

#include <string>
#include <vector>

namespace tenon
{

//! Keeps what the views of the inputs point at.
class ConcreteInputs
{
  public:
    //! `count` inputs, all absent until they are set. Names are for messages; "?": not known.
    explicit ConcreteInputs(size_t count, std::string_view layerName = "?");
    //! Types of tensors, and the values of short integer ones.
    explicit ConcreteInputs(HostTensors const& in);
    ConcreteInputs(ConcreteInputs const&) = delete;
    ConcreteInputs& operator=(ConcreteInputs const&) = delete;

    void set(size_t i, TensorType type, std::string_view name = "?");
    void setContents(size_t i, Shape contents);
    void setConstant(size_t i, Constant constant);
    Inputs inputs()
    {
        return Inputs{mViews, mLayerName, &symbols, 0};
    }

    SymbolTable symbols; //!< Of values that are not known, and of extents that only running tells.

  private:
    struct Parts
    {
        TensorType type;
        Shape contents;
        Constant constant;
    };
    std::string mLayerName;
    std::vector<Parts> mParts;
    std::vector<Input> mViews;
};

} // namespace tenon
