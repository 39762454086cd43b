// What members of classes have in common: records, the object of a call, what a call keeps.
#include "members.h"

#include <cstdlib>
#include <cstring>

namespace tenon::python
{

Member::Draft Member::begin()
{
    unique_function_record record{new py::detail::function_record};
    auto* const traits = new MemberTraits;
    record->data[1] = traits;
    record->free_data = [](py::detail::function_record* each) { delete static_cast<MemberTraits*>(each->data[1]); };
    return {std::move(record), traits, {}};
}

Member::Member(Draft draft, Dispatcher dispatcher, Function function, Signature const& signature)
{
    py::detail::function_record& record = *draft.record;
    record.impl = dispatcher;
    record.data[0] = reinterpret_cast<void*>(function);
    record.nargs_pos = static_cast<uint16_t>(signature.count);
    initialize_generic(std::move(draft.record), signature.text, signature.types, signature.count);
}

bool loadSelf(py::detail::function_call& call, void*& self)
{
    MemberTraits const& traits = traitsOf(call);
    py::detail::type_caster_generic caster{*traits.self};
    if (traits.isPolymorphic && caster.typeinfo != nullptr)
        requireInit(call.args[0], *caster.typeinfo);
    if (!caster.load(call.args[0], call.args_convert[0]))
        return false;
    self = caster.value;
    return self != nullptr; // Null for None.
}

void keepBehind(py::detail::function_call& call, py::handle result)
{
    if (result.ptr() == PYBIND11_TRY_NEXT_OVERLOAD)
        return;
    MemberTraits const& traits = traitsOf(call);
    for (auto const& [nurse, patient] : traits.keeps)
        py::detail::keep_alive_impl(nurse, patient, call, result);
    if (traits.slot != nullptr)
        keepInstead(call.args[0], traits.slot, call.args[1]);
}

Member::Draft beginMethod(py::handle cls, char const* name)
{
    Member::Draft draft = Member::begin();
    draft.record->name = const_cast<char*>(name); // Copied when the member is made.
    draft.record->is_method = true;
    draft.record->scope = cls;
    draft.sibling = py::getattr(cls, name, py::none());
    draft.record->sibling = draft.sibling;
    return draft;
}

void finishMethod(py::handle cls, char const* name, Member const& method)
{
    cls.attr(name) = method;
    if (std::strcmp(name, "__eq__") == 0 && !cls.attr("__dict__").contains("__hash__"))
        cls.attr("__hash__") = py::none(); // Python's rule for classes that say what is equal.
}

void property(py::handle cls, char const* name, py::handle getter, py::handle setter, char const* doc)
{
    auto const type = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(&PyProperty_Type));
    cls.attr(name) = type(getter, setter, py::none(), doc);
}

} // namespace tenon::python
