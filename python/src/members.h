// Members of classes by one dispatcher per signature. pybind11 compiles a dispatcher, a signature's text and a record's
// start for each lambda; here lambdas become functions that take their object by its address, and those that agree in
// their result and their other arguments share all the rest.
#pragma once

#include "bindings.h"

#include <array>
#include <optional>
#include <tuple>
#include <utility>

namespace tenon::python
{

//! What the dispatcher of a member knows of it beside its function; lives as long as the member.
struct MemberTraits
{
    std::type_info const* self{nullptr};
    bool isPolymorphic{false};
    bool releasesGil{false};
    char const* slot{nullptr};                    //!< As in KeepInstead; null: none.
    std::vector<std::pair<size_t, size_t>> keeps; //!< Nurse and patient, as in KeepAlive.
};

//! A function of pybind11's that is put together at run time.
class __attribute__((visibility("hidden"))) Member : public py::cpp_function
{
  public:
    //! While it is made: what pybind11 calls its record.
    struct Draft
    {
        unique_function_record record;
        MemberTraits* traits; //!< The record's own.
        py::object sibling{}; //!< Another of the same name, which the record does not hold.
    };
    struct Signature
    {
        char const* text; //!< In pybind11's form.
        std::type_info const* const* types;
        size_t count; //!< Of arguments, the object among them.
    };
    using Dispatcher = py::handle (*)(py::detail::function_call&);
    using Function = void (*)();

    static Draft begin();
    Member(Draft draft, Dispatcher dispatcher, Function function, Signature const& signature);
};

// ---- what stands behind the function in a call of `method` or `accessor`

template <typename Extra>
void apply(Extra const& extra, Member::Draft const& draft)
{
    static_assert(!py::detail::is_keep_alive<Extra>::value && !py::detail::is_call_guard<Extra>::value);
    py::detail::process_attribute<Extra>::init(extra, draft.record.get());
}
template <size_t N>
void apply(char const (&doc)[N], Member::Draft const& draft)
{
    draft.record->doc = const_cast<char*>(doc); // Copied when the member is made.
}
inline void apply(py::call_guard<WithoutGil> const&, Member::Draft const& draft)
{
    draft.traits->releasesGil = true;
}
template <size_t Nurse, size_t Patient>
void apply(KeepAlive<Nurse, Patient> const&, Member::Draft const& draft)
{
    draft.traits->keeps.emplace_back(Nurse, Patient);
}
template <Slot Name>
void apply(KeepInstead<Name> const&, Member::Draft const& draft)
{
    draft.traits->slot = Name.text;
}

// ---- dispatchers

inline MemberTraits const& traitsOf(py::detail::function_call const& call) noexcept
{
    return *static_cast<MemberTraits const*>(call.func.data[1]);
}
//! The object that the member is called on; false: it is none of the class.
bool loadSelf(py::detail::function_call& call, void*& self);
//! What callers, results and arguments keep once the member has answered.
void keepBehind(py::detail::function_call& call, py::handle result);

class __attribute__((visibility("hidden"))) PerhapsWithoutGil
{
  public:
    explicit PerhapsWithoutGil(bool isReleased)
    {
        if (isReleased)
            mReleased.emplace();
    }

  private:
    std::optional<WithoutGil> mReleased;
};

//! Stands in texts of signatures for the class of the object, which only the traits know.
struct AnyObject
{
};

template <typename Result, typename... Args>
struct Dispatch
{
    using Function = Result (*)(void*, Args...);
    using ResultCaster =
        py::detail::make_caster<std::conditional_t<std::is_void_v<Result>, py::detail::void_type, Result>>;

    static constexpr auto text()
    {
        using namespace py::detail;
        return const_name("(")
            + py::detail::concat(type_descr(const_name<AnyObject>()), type_descr(make_caster<Args>::name)...)
            + const_name(") -> ") + ResultCaster::name;
    }
    static constexpr auto kText = text();

    template <size_t... Is>
    static py::handle callWith(py::detail::function_call& call, std::index_sequence<Is...>)
    {
        void* self{nullptr};
        [[maybe_unused]] std::tuple<py::detail::make_caster<Args>...> casters;
        if (!loadSelf(call, self) || !(std::get<Is>(casters).load(call.args[Is + 1], call.args_convert[Is + 1]) && ...))
            return PYBIND11_TRY_NEXT_OVERLOAD;
        auto const answer = [&]() -> Result {
            PerhapsWithoutGil const released{traitsOf(call).releasesGil};
            return reinterpret_cast<Function>(call.func.data[0])(
                self, py::detail::cast_op<Args>(std::move(std::get<Is>(casters)))...);
        };
        if constexpr (std::is_void_v<Result>)
        {
            answer();
            return py::none().release();
        }
        else
            return ResultCaster::cast(
                answer(), py::detail::return_value_policy_override<Result>::policy(call.func.policy), call.parent);
    }
    static py::handle dispatch(py::detail::function_call& call)
    {
        py::handle const result = callWith(call, std::index_sequence_for<Args...>{});
        keepBehind(call, result);
        return result;
    }
    static Member make(Member::Draft draft, Function function)
    {
        auto types = kText.types();
        types[0] = draft.traits->self;
        return Member{std::move(draft), &dispatch, reinterpret_cast<Member::Function>(function),
            {kText.text, types.data(), sizeof...(Args) + 1}};
    }
};

//! A lambda that captures nothing as a function that takes its object by address.
template <typename F, typename Signature = void>
struct ByAddress
{
    static constexpr bool kExists{false};
};
template <typename F, typename Result, typename T, typename... Args>
struct ByAddress<F, Result (F::*)(T&, Args...) const>
{
    //! Not for those that capture something, nor for those that take the Python object itself.
    static constexpr bool kExists{std::is_empty_v<F> && !std::is_base_of_v<py::handle, std::remove_const_t<T>>};
    //! Whether as many arguments have names as there are, or none: pybind11 asks this of what it binds itself.
    template <typename... Extra>
    static constexpr bool kFits{py::detail::expected_num_args<Extra...>(sizeof...(Args), false, false)};
    static_assert(((!std::is_same_v<Args, py::args> && !std::is_same_v<Args, py::kwargs>)&&...),
        "arguments without names of their own are pybind11's to bind");

    static Result call(void* self, Args... args)
    {
        return F{}(*static_cast<T*>(self), std::forward<Args>(args)...);
    }
    static Member make(Member::Draft draft)
    {
        draft.traits->self = &typeid(T);
        draft.traits->isPolymorphic = std::is_polymorphic_v<T>;
        return Dispatch<Result, Args...>::make(std::move(draft), &call);
    }
};
template <typename F>
struct CallOf
{
    using Type = void;
};
template <typename F>
requires requires
{
    &F::operator();
}
struct CallOf<F>
{
    using Type = decltype(&F::operator());
};
template <typename F>
using Addressed = ByAddress<F, typename CallOf<F>::Type>;

// ---- binding

//! The start of a method: what pybind11's own `def` says of one.
Member::Draft beginMethod(py::handle cls, char const* name);
void finishMethod(py::handle cls, char const* name, Member const& method);
//! As `def_property` with accessors; none for one of them.
void property(py::handle cls, char const* name, py::handle getter, py::handle setter, char const* doc);

//! As `cls.def(name, function, extra...)`.
template <typename Class, typename F, typename... Extra>
void method(Class& cls, char const* name, F&& function, Extra const&... extra)
{
    using Plain = std::remove_cvref_t<F>;
    if constexpr (Addressed<Plain>::kExists)
    {
        static_assert(Addressed<Plain>::template kFits<Extra...>, "all arguments have names, or none");
        Member::Draft draft = beginMethod(cls, name);
        (apply(extra, draft), ...);
        finishMethod(cls, name, Addressed<Plain>::make(std::move(draft)));
    }
    else
        cls.def(name, std::forward<F>(function), extra...);
}

//! A getter or setter for `property`.
template <typename F, typename... Extra>
Member accessor(F const&, Extra const&... extra)
{
    Member::Draft draft = Member::begin();
    (apply(extra, draft), ...);
    return Addressed<F>::make(std::move(draft));
}

} // namespace tenon::python
