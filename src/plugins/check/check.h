// The checking host: one plugin run through everything that an engine would ask of it, without any network.
#pragma once

#include "plugins/plugin.h"

#include <functional>
#include <optional>

namespace tenon
{
class CudaDevice;
} // namespace tenon

namespace tenon::plugins::check
{

class Watch;

//! One input of the plugin.
struct InputSpec
{
    nvinfer1::Dims64 min{};
    nvinfer1::Dims64 opt{};
    nvinfer1::Dims64 max{};      //!< Extents that differ from min to max are dynamic.
    std::vector<int64_t> values; //!< A shape input has these values, and no dims.
    bool isValues{false};
};

//! A tensor as a reference function sees it: row-major; float32 for every floating type, else the type itself.
struct RealTensor
{
    DType type{DType::kFLOAT};
    std::vector<int64_t> extents;
    Bytes data;
};

//! Fills the outputs, whose extents and types stand already.
using Reference = std::function<Result<Done>(std::vector<RealTensor> const& inputs, std::vector<RealTensor>& outputs)>;

//! Changes the random contents of an input.
using FillInput = std::function<Result<Done>(size_t input, RealTensor& contents)>;

struct Options
{
    std::vector<InputSpec> inputs;
    std::vector<DType> types; //!< Offered at inputs; empty: all that plugins are offered.
    FillInput fill;           //!< Empty: random contents as they are.
    Reference reference;
    double absolute{0.0}; //!< Tolerance |a − b| ≤ absolute + relative · |b|; both 0: those of the element type.
    double relative{0.0};
    uint32_t seed{1};
    bool isolated{false}; //!< Each group in a child process: a crash is a finding.
    bool empties{true};   //!< Try tensors without elements, too.
    int32_t seconds{60};  //!< Of a group in a child process.
    int32_t (*fork)(){nullptr};
    //! The GPU on which enqueue() itself runs beside the plugin's body for the CPU; null: on none. Asked in the process
    //! that uses it, as children cannot have their parent's. Empty: on none.
    std::function<Result<CudaDevice*>()> gpu;
    std::function<void(char const* group, size_t done, size_t groups)> onGroup; //!< Before each group; may be empty.
};

//! What is checked. `make` gives an object that the host may use up, each time it is called.
struct Subject
{
    std::function<Result<PluginPtr>(Watch&)> make;
    char const* maker{"createPlugin"};                   //!< The callback behind `make`.
    Generation expected{Generation::kV3};                //!< Until the first object says: one of its family.
    nvinfer1::IPluginCreatorInterface* creator{nullptr}; //!< Null: what is stored cannot be read again.
    std::optional<std::string> nameSpace; //!< The creator is registered under; unset: the one that it says itself.
    void const* object{nullptr};          //!< The user's own; null: `make` makes new ones.
    nvinfer1::PluginFieldCollection const* fields{nullptr}; //!< That the creator gets; may be null.
};

//! Where plans look for the creator.
std::string registeredUnder(Subject const& subject);

//! One thing that the plugin does wrong.
struct Finding
{
    std::string check;    //!< Name of the check.
    std::string rule;     //!< Rule of the life of plugins, as docs/PLUGINS lists them.
    std::string callback; //!< The plugin's or creator's.
    std::string what;
    std::string change;
};

struct Report
{
    Identity identity;
    std::vector<Finding> findings;
    std::vector<std::string> notes; //!< What could not be checked, and why.
    int64_t combinations{0};
    int64_t runs{0};
};

//! An error: the check itself could not begin.
Result<Report> checkPlugin(Subject const& subject, Options const& options);

//! Subjects: what a creator makes from fields, or an object that stays the user's but is used.
Subject subjectOf(nvinfer1::IPluginCreatorInterface& creator, std::optional<std::string> nameSpace,
    nvinfer1::PluginFieldCollection const* fields);
Subject subjectOf(nvinfer1::IPluginV2& plugin);
Subject subjectOf(nvinfer1::IPluginV3& plugin);

} // namespace tenon::plugins::check

namespace tenon::plugins
{
//! The user's object itself, given back as it is: neither a copy nor destroyed.
Result<PluginPtr> borrow(nvinfer1::IPluginV2& plugin);
} // namespace tenon::plugins
