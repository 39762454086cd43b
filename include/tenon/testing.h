//! \file
//! The checking host: runs one plugin through everything that an engine would ask of it, without any network, and says
//! what is wrong, with the callback, the rule and what to change. In a test:
//!
//!     tenon::testing::Options options;
//!     options.inputs = {tenon::testing::shape({2, 3, 8, 8})};
//!     EXPECT_TRUE(tenon::testing::check(creator, options, &fields));
#ifndef TENON_TESTING_H
#define TENON_TESTING_H

#include "tenon/base.h"

#ifdef __cplusplus
extern "C"
{
#endif

    //! What is checked: an object of the user's, or what a creator makes.
    typedef struct TenonCheckSubject
    {
        void* pluginV2;        //!< An nvinfer1::IPluginV2, or null. It stays the user's, but is configured and run.
        void* pluginV3;        //!< An nvinfer1::IPluginV3, or null. Likewise.
        void* creator;         //!< An nvinfer1::IPluginCreatorInterface. Null: what is stored is not read again.
        char const* nameSpace; //!< The creator is registered under; null: the one that it says itself.
        void const* fields;    //!< An nvinfer1::PluginFieldCollection for the creator; may be null.
    } TenonCheckSubject;

    typedef struct TenonCheckInput
    {
        int32_t rank;
        int64_t const* min; //!< Null: as opt.
        int64_t const* opt;
        int64_t const* max; //!< Null: as opt. Extents that differ from min to max are dynamic.
        int32_t isValues;   //!< Not 0: a shape input; opt has its values.
    } TenonCheckInput;

    //! A row-major tensor in host memory. Floating types are float32 here, whatever the plugin works on.
    typedef struct TenonCheckTensor
    {
        int32_t type; //!< An nvinfer1::DataType.
        int32_t rank;
        int64_t const* shape;
        void* data;
    } TenonCheckTensor;

    //! Fills the outputs from the inputs. \return 0; another value: it could not.
    typedef int32_t (*TenonCheckReference)(void* user, TenonCheckTensor const* inputs, int32_t nbInputs,
        TenonCheckTensor const* outputs, int32_t nbOutputs);

    //! Changes the random contents of an input, counted without shape inputs. \return 0; another value: it could not.
    typedef int32_t (*TenonCheckFill)(void* user, int32_t input, TenonCheckTensor const* contents);

    typedef struct TenonFinding
    {
        char const* check;    //!< Name of the check.
        char const* rule;     //!< Rule of the life of plugins (docs/PLUGINS).
        char const* callback; //!< The callback that is wrong.
        char const* what;
        char const* change; //!< What to change.
    } TenonFinding;

    typedef struct TenonCheckOptions
    {
        TenonCheckInput const* inputs;
        int32_t nbInputs;
        int32_t const* types; //!< nvinfer1::DataType values that inputs are offered.
        int32_t nbTypes;      //!< 0: all that plugins are offered.
        TenonCheckFill fill;  //!< May be null: floats within ±2, int8 within ±100, wider integers 0 to 3.
        void* fillUser;
        TenonCheckReference reference;
        void* referenceUser;
        double absolute; //!< Tolerance |a − b| ≤ absolute + relative · |b|; both 0: those of the element type.
        double relative;
        uint32_t seed;
        int32_t isIsolated;       //!< Not 0: in child processes. A crash is a finding then.
        int32_t isWithoutEmpties; //!< Not 0: no tensors without elements.
        int32_t seconds;          //!< Of a child process; 0: 60.
        int32_t (*fork)(void);    //!< In place of fork(); may be null.
        void (*onFinding)(void* user, TenonFinding const* finding); //!< Called for each, before the end; may be null.
        void* findingUser;
        //! Called before each group of checks, `done` of `groups` being over; may be null.
        void (*onGroup)(void* user, char const* group, int32_t done, int32_t groups);
        void* groupUser;
    } TenonCheckOptions;

    //! Checks a plugin. Without isolation a plugin that crashes takes the process with it.
    //! \return null with `problem` when the check could not begin, else
    //!   {"ok": bool, "plugin": {"name", "version", "namespace", "generation"}, "combinations", "runs",
    //!    "findings": [{"check", "rule", "callback", "what", "change"}], "notes": [text]}
    TENON_CALL TenonText tenonCheckPlugin(
        TenonCheckSubject const* subject, TenonCheckOptions const* options, TenonText* problem) TENON_NOEXCEPT;

#ifdef __cplusplus
}

#include "NvInferRuntime.h"
#include "tenon/plugin.h"

#include <exception>
#include <functional>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tenon
{
namespace testing
{

//! An input of the plugin; made by shape(), range() or values().
struct Input
{
    std::vector<int64_t> min;
    std::vector<int64_t> opt;
    std::vector<int64_t> max;
    bool isValues{false};
};

//! An input whose extents are always the same.
inline Input shape(std::vector<int64_t> extents)
{
    Input input;
    input.opt = std::move(extents);
    return input;
}

//! An input whose extents lie within bounds, as in an optimization profile.
inline Input range(std::vector<int64_t> min, std::vector<int64_t> opt, std::vector<int64_t> max)
{
    Input input;
    input.min = std::move(min);
    input.opt = std::move(opt);
    input.max = std::move(max);
    return input;
}

//! A shape input with these values.
inline Input values(std::vector<int64_t> numbers)
{
    Input input;
    input.opt = std::move(numbers);
    input.isValues = true;
    return input;
}

using Tensors = std::vector<TenonCheckTensor>;

struct Options
{
    std::vector<Input> inputs;
    std::function<bool(int32_t input, TenonCheckTensor const& contents)> fill; //!< In place of random contents.
    std::vector<nvinfer1::DataType> types;                                     //!< Empty: all that plugins are offered.
    std::function<bool(Tensors const& inputs, Tensors const& outputs)> reference; //!< False: it could not.
    double absolute{0.0}; //!< Both 0: those of the element type.
    double relative{0.0};
    uint32_t seed{1};
    bool isolated{false}; //!< In child processes: a crash is a finding.
    bool empties{true};   //!< Tensors without elements, too.
    int32_t seconds{60};
    std::string nameSpace; //!< The creator is registered under; empty: the one that it says itself.
    nvinfer1::IPluginCreatorInterface* creator{nullptr}; //!< For objects: what reads them again.
    //! Called before each group of checks, `done` of `groups` being over.
    std::function<void(char const* group, int32_t done, int32_t groups)> onGroup;
};

struct Finding
{
    std::string check;
    std::string rule;
    std::string callback;
    std::string what;
    std::string change;
};

//! True when nothing is wrong. In EXPECT_TRUE() of GoogleTest the message lists all findings.
class Report
{
  public:
    Report(std::vector<Finding> findings, std::string problem, std::string json)
        : mFindings(std::move(findings)),
          mProblem(std::move(problem)),
          mJson(std::move(json))
    {
    }
    bool ok() const noexcept
    {
        return mFindings.empty() && mProblem.empty();
    }
    std::vector<Finding> const& findings() const noexcept
    {
        return mFindings;
    }
    //! Whether there is a finding of the check about the callback.
    bool has(std::string const& check, std::string const& callback) const
    {
        for (Finding const& each : mFindings)
            if (each.check == check && each.callback == callback)
                return true;
        return false;
    }
    std::string message() const
    {
        std::string text = mProblem;
        for (Finding const& each : mFindings)
            text += (text.empty() ? "" : "\n") + each.callback + ": " + each.what + " [" + each.check
                + (each.rule.empty() ? "" : ", rule " + each.rule) + "]; " + each.change;
        return text.empty() ? "no findings" : text;
    }
    //! All that is known, as tenonCheckPlugin() returns it.
    std::string const& json() const noexcept
    {
        return mJson;
    }
    explicit operator bool() const noexcept
    {
        return ok();
    }
    //! To ::testing::AssertionResult, or whatever has its calls.
    template <typename Assertion,
        typename = typename std::enable_if<std::is_convertible<
            decltype(std::declval<Assertion const&>().failure_message()), char const*>::value>::type>
    operator Assertion() const
    {
        return Assertion(ok()) << message();
    }

  private:
    std::vector<Finding> mFindings;
    std::string mProblem;
    std::string mJson;
};

inline std::ostream& operator<<(std::ostream& out, Report const& report)
{
    return out << report.message();
}

namespace detail
{
inline void keepFinding(void* user, TenonFinding const* finding)
{
    static_cast<std::vector<Finding>*>(user)->push_back(
        Finding{finding->check, finding->rule, finding->callback, finding->what, finding->change});
}

//! No exception of a user's function may go through C.
template <typename Function>
int32_t answered(Function const& function)
{
#if defined(__cpp_exceptions)
    try
    {
        return function() ? 0 : 1;
    }
    catch (std::exception const& problem)
    {
        tenonExplainFailure(problem.what());
    }
    catch (...)
    {
        tenonExplainFailure("it threw something that is no std::exception");
    }
    return 1;
#else
    return function() ? 0 : 1;
#endif
}

inline int32_t callFill(void* user, int32_t input, TenonCheckTensor const* contents)
{
    auto const& fill = *static_cast<std::function<bool(int32_t, TenonCheckTensor const&)> const*>(user);
    return answered([&] { return fill(input, *contents); });
}

inline int32_t callReference(
    void* user, TenonCheckTensor const* inputs, int32_t nbInputs, TenonCheckTensor const* outputs, int32_t nbOutputs)
{
    auto const& reference = *static_cast<std::function<bool(Tensors const&, Tensors const&)> const*>(user);
    return answered(
        [&] { return reference(Tensors(inputs, inputs + nbInputs), Tensors(outputs, outputs + nbOutputs)); });
}

inline void callOnGroup(void* user, char const* group, int32_t done, int32_t groups)
{
    auto const& tell = *static_cast<std::function<void(char const*, int32_t, int32_t)> const*>(user);
    answered([&] {
        tell(group, done, groups);
        return true;
    });
}

inline Report run(TenonCheckSubject subject, Options const& given)
{
    std::vector<TenonCheckInput> inputs;
    for (Input const& each : given.inputs)
        inputs.push_back({static_cast<int32_t>(each.opt.size()), each.min.empty() ? nullptr : each.min.data(),
            each.opt.data(), each.max.empty() ? nullptr : each.max.data(), each.isValues ? 1 : 0});
    std::vector<int32_t> types;
    for (nvinfer1::DataType const type : given.types)
        types.push_back(static_cast<int32_t>(type));
    std::vector<Finding> findings;
    TenonCheckOptions options{};
    options.inputs = inputs.data();
    options.nbInputs = static_cast<int32_t>(inputs.size());
    options.types = types.data();
    options.nbTypes = static_cast<int32_t>(types.size());
    options.fill = given.fill ? &callFill : nullptr;
    options.fillUser = const_cast<void*>(static_cast<void const*>(&given.fill));
    options.reference = given.reference ? &callReference : nullptr;
    options.referenceUser = const_cast<void*>(static_cast<void const*>(&given.reference));
    options.absolute = given.absolute;
    options.relative = given.relative;
    options.seed = given.seed;
    options.isIsolated = given.isolated ? 1 : 0;
    options.isWithoutEmpties = given.empties ? 0 : 1;
    options.seconds = given.seconds;
    options.onFinding = &keepFinding;
    options.findingUser = &findings;
    options.onGroup = given.onGroup ? &callOnGroup : nullptr;
    options.groupUser = const_cast<void*>(static_cast<void const*>(&given.onGroup));
    subject.nameSpace = given.nameSpace.empty() ? nullptr : given.nameSpace.c_str();
    TenonText problem = nullptr;
    TenonText const json = tenonCheckPlugin(&subject, &options, &problem);
    Report report(std::move(findings), problem == nullptr ? "" : problem, json == nullptr ? "" : json);
    tenonFree(problem);
    tenonFree(json);
    return report;
}
} // namespace detail

//! Checks what the creator makes from the fields. Each check has a new object.
inline Report check(nvinfer1::IPluginCreatorInterface& creator, Options const& options,
    nvinfer1::PluginFieldCollection const* fields = nullptr)
{
    TenonCheckSubject subject{};
    subject.creator = &creator;
    subject.fields = fields;
    return detail::run(subject, options);
}

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" // The older generation is checked, too.
#endif
//! Checks an object, which stays the caller's, but is configured and run.
inline Report check(nvinfer1::IPluginV2& plugin, Options const& options)
{
    TenonCheckSubject subject{};
    subject.pluginV2 = &plugin;
    subject.creator = options.creator;
    return detail::run(subject, options);
}
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

inline Report check(nvinfer1::IPluginV3& plugin, Options const& options)
{
    TenonCheckSubject subject{};
    subject.pluginV3 = &plugin;
    subject.creator = options.creator;
    return detail::run(subject, options);
}

} // namespace testing
} // namespace tenon

#endif // __cplusplus

#endif // TENON_TESTING_H
