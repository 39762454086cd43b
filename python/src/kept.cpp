// References that the work of streams gives back: to a list, as a stream's thread must not wait for the interpreter.
#include "kept.h"

#include "tenon/host.h"

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <map>
#include <new>
#include <string>

namespace tenon::python
{

struct Kept::Holders
{
    PyObject* object;
    Holders* next;
};

namespace
{
constexpr char const* kHolders{"_holders"};

std::atomic<Kept::Holders*> gDone{nullptr}; // To be dropped by whoever has the GIL.
std::atomic<bool> gIsAsked{false};          // The main thread will drop them.
std::atomic<int32_t> gAsking{0};            // Threads that ask it to.
std::atomic<bool> gIsOver{false};           // The interpreter is on its way out: what is not dropped yet stays.

int dropWhenAsked(void*)
{
    dropDone();
    return 0;
}

//! The interpreter may end at any time; once it is over nobody calls it.
void askMainThread() noexcept
{
    gAsking.fetch_add(1);
    if (!gIsOver && !gIsAsked.exchange(true) && Py_AddPendingCall(&dropWhenAsked, nullptr) != 0)
        gIsAsked = false; // Too many ask for something: the next one tries again.
    gAsking.fetch_sub(1);
}

void giveBack(void* user) noexcept
{
    auto* const holders = static_cast<Kept::Holders*>(user);
    holders->next = gDone;
    while (!gDone.compare_exchange_weak(holders->next, holders))
        ;
    askMainThread();
}

int32_t nothing(void*) noexcept
{
    return 0;
}

void endAsking()
{
    gIsOver = true;
    while (gAsking != 0)
        sched_yield();
}

//! In the child of a fork nobody asks: the other threads are not there.
void forgetOthers() noexcept
{
    gAsking = 0;
    gIsAsked = false;
}

py::handle holdersName()
{
    static PyObject* const name = PyUnicode_InternFromString(kHolders);
    return name;
}
} // namespace

void dropLater(PyObject* object) noexcept
{
    if (auto* const holders = new (std::nothrow) Kept::Holders{object, nullptr}) // Else it stays.
        giveBack(holders);
}

void watchTheEnd()
{
    static bool const isWatched = [] {
        pthread_atfork(nullptr, nullptr, &forgetOthers);
        py::module_::import("atexit").attr("register")(py::cpp_function{&endAsking});
        return true;
    }();
    static_cast<void>(isWatched);
}

void dropDone()
{
    gIsAsked = false; // First: what comes after the exchange asks again.
    Kept::Holders* holders = gDone.exchange(nullptr);
    while (holders != nullptr)
    {
        Kept::Holders* const next = holders->next;
        Py_DECREF(holders->object); // May run any code, this function included.
        delete holders;
        holders = next;
    }
}

void setOwn(py::object const& object, char const* name, py::object const& value)
{
    if (PyObject_GenericSetAttr(object.ptr(), py::str(name).ptr(), value.ptr()) != 0)
        throw py::error_already_set();
}

py::dict holdersOf(py::object const& context)
{
    if (auto found = py::reinterpret_steal<py::object>(PyObject_GetAttr(context.ptr(), holdersName().ptr())))
        return found;
    if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0)
        throw py::error_already_set();
    PyErr_Clear();
    py::dict made;
    setOwn(context, kHolders, made);
    return made;
}

void setHolder(py::object const& context, py::object const& name, py::object const& holder)
{
    py::dict holders = holdersOf(context);
    if (!holder && !holders.contains(name))
        return;
    if (holders.ref_count() > 2) // Besides the context and this function runs use it: they keep it as it is.
    {
        py::dict const made = holders.attr("copy")();
        setOwn(context, kHolders, made);
        holders[py::make_tuple("later")] = made; // Those that have only begun read what is set meanwhile.
        holders = made;
    }
    if (holder)
        holders[name] = holder;
    else if (PyDict_DelItem(holders.ptr(), name.ptr()) != 0)
        throw py::error_already_set();
}

namespace
{
//! By name: a list of the object, and of the next such list where another object came while somebody watched.
using Slots = std::map<std::string, py::object, std::less<>>;

//! By owner; each owner has its slots as a patient, so that it lets go of them last: what they hold may serve until the
//! owner itself is gone.
std::map<PyObject const*, Slots*>& allSlots()
{
    static auto& all = *new std::map<PyObject const*, Slots*>;
    return all;
}

//! Called when the owner is gone; an object made since may have the same address.
void dropSlots(void* pointer)
{
    std::unique_ptr<Slots> const slots{static_cast<Slots*>(pointer)};
    std::erase_if(allSlots(), [&](auto const& each) { return each.second == slots.get(); });
}

Slots& slotsOf(py::handle owner)
{
    Slots*& slots = allSlots()[owner.ptr()];
    if (slots == nullptr)
    {
        slots = new Slots;
        py::detail::keep_alive_impl(owner, py::capsule{slots, &dropSlots});
    }
    return *slots;
}
} // namespace

void keepInstead(py::handle owner, char const* slot, py::handle object)
{
    if (py::isinstance<nvinfer1::IExecutionContext>(owner)) // Its runs keep what it has.
        return setHolder(py::reinterpret_borrow<py::object>(owner), py::make_tuple("of", slot),
            object.is_none() ? py::object{} : py::reinterpret_borrow<py::object>(object));
    py::list made;
    made.append(object);
    py::object const before = std::exchange(slotsOf(owner)[slot], made);
    if (before && before.ref_count() > 1) // Others watch it, and get what is set meanwhile.
        before.cast<py::list>().append(made);
}

WatchedSlot::WatchedSlot(py::handle owner, char const* slot)
{
    py::object& now = slotsOf(owner)[slot];
    if (!now)
    {
        py::list made;
        made.append(py::none());
        now = made;
    }
    mFirst = now.cast<py::list>();
}

void WatchedSlot::keepAllWith(py::handle object) const
{
    for (py::list each = mFirst;; each = each[1])
    {
        if (!each[0].is_none())
            py::detail::keep_alive_impl(object, each[0]);
        if (each.size() == 1)
            return;
    }
}

Kept::Kept(py::object holders)
{
    if (gDone.load(std::memory_order_relaxed) != nullptr)
        dropDone();
    if (!holders)
        return;
    watchTheEnd();
    mHolders = new Holders{holders.release().ptr(), nullptr};
}

Kept::~Kept()
{
    if (mHolders == nullptr)
        return;
    Py_DECREF(mHolders->object);
    delete mHolders;
}

void Kept::behind(void* stream) noexcept
{
    if (mHolders != nullptr && reinterpret_cast<size_t>(stream) > 1)
        tenonHostSubmit(stream, &nothing, std::exchange(mHolders, nullptr), &giveBack);
}

} // namespace tenon::python
