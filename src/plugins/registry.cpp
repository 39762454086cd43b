// Registry: look-up, libraries, resources, and what is said when a creator is missing.
#include "plugins/registry.h"

#include "plugins/failure.h"
#include "plugins/field_bytes.h"
#include "plugins/library.h"
#include "plugins/name_limits.h"
#include "plugins/text.h"
#include "plugins/trace.h"

#include "impl/NvInferPythonPlugin.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>

namespace tenon::plugins
{

using nvinfer1::IPluginCreator;
using nvinfer1::IPluginCreatorV3One;
using nvinfer1::IPluginCreatorV3Quick;
using nvinfer1::IPluginResource;

namespace
{
constexpr size_t kMaxListed{3};      //!< Registered creators that one message names.
constexpr size_t kMaxCompared{1024}; //!< Characters of a name: a file may have any.
std::atomic<int64_t> gKept{0};       //!< Resources.

struct Names
{
    std::string type;
    std::string version;
    std::string nameSpace;
};

template <typename C>
Names namesOf(C& creator)
{
    return {stringOf(creator.getPluginName()), stringOf(creator.getPluginVersion()),
        stringOf(creator.getPluginNamespace())};
}

Result<Names> namesAsSaid(nvinfer1::IPluginCreatorInterface& creator)
{
    switch (kindOf(creator))
    {
    case CreatorKind::kV1: return namesOf(static_cast<IPluginCreator&>(creator));
    case CreatorKind::kV3One: return namesOf(static_cast<IPluginCreatorV3One&>(creator));
    case CreatorKind::kV3Quick: return namesOf(static_cast<IPluginCreatorV3Quick&>(creator));
    case CreatorKind::kUnknown: break;
    }
    return badArgument("the creator is of an unknown kind: '{}'", stringOf(creator.getInterfaceInfo().kind));
}

//! Name, version and namespace, each within its limit (A8).
Result<Names> namesOf(nvinfer1::IPluginCreatorInterface& creator)
{
    Names names = TENON_TRY(namesAsSaid(creator));
    if (names.type.empty())
        return badArgument("the creator has no name{}", because());
    TENON_TRY(checkLength("the name of the creator", names.type));
    TENON_TRY(checkLength("the version of creator '" + names.type + "'", names.version));
    TENON_TRY(checkLength("the namespace of creator '" + names.type + "'", names.nameSpace));
    return names;
}

//! Number of single-character edits between two texts.
size_t distance(std::string_view a, std::string_view b)
{
    std::vector<size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), size_t{0});
    for (size_t i = 1; i <= a.size(); ++i)
    {
        size_t diagonal = std::exchange(row[0], i);
        for (size_t j = 1; j <= b.size(); ++j)
        {
            size_t const changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
        }
    }
    return row.back();
}

std::string show(std::string const& type, std::string const& version, std::string const& nameSpace)
{
    return Identity{type, version, nameSpace}.show();
}
} // namespace

CreatorKind kindOf(nvinfer1::IPluginCreatorInterface const& creator) noexcept
{
    std::string_view const kind{creator.getInterfaceInfo().kind};
    return kind == "PLUGIN CREATOR_V1"     ? CreatorKind::kV1
        : kind == "PLUGIN CREATOR_V3ONE"   ? CreatorKind::kV3One
        : kind == "PLUGIN CREATOR_V3QUICK" ? CreatorKind::kV3Quick
                                           : CreatorKind::kUnknown;
}

Registry::Registry(std::shared_ptr<Registry const> parent)
    : mIsOfProcess{parent == nullptr},
      mParent{std::move(parent)}
{
}

Registry::~Registry()
{
    for (std::unique_ptr<Library> const& library : mLibraries)
        library->abandon(); // Objects of its creators may outlive this registry, in any order.
}

Result<Done> Registry::addAll(std::vector<Entry> entries)
{
    std::scoped_lock const lock{mMutex};
    //! A library that has registered the same creator here while it was opened gets that entry.
    auto const isItsOwn = [&](Entry const& known, Entry const& added) {
        return known.creator == added.creator && added.library != nullptr
            && added.library->hasBrought(*this, *added.creator);
    };
    for (auto each = entries.begin(); each != entries.end(); ++each)
    {
        auto const isSame = [&](Entry const& other) {
            return other.type == each->type && other.version == each->version && other.nameSpace == each->nameSpace;
        };
        auto const isTaken = [&](Entry const& known) { return isSame(known) && !isItsOwn(known, *each); };
        auto const taken = std::ranges::find_if(mEntries, isTaken);
        if (taken == mEntries.end() && std::none_of(entries.begin(), each, isSame))
            continue;
        bool const isByItself =
            taken != mEntries.end() && each->library != nullptr && each->library->hasBrought(*this, *taken->creator);
        return badArgument("plugin {} is registered already{}", show(each->type, each->version, each->nameSpace),
            isByItself ? ": the library registers one creator itself while it is opened (REGISTER_TENSORRT_PLUGIN) and "
                         "exports another of that name; leave one of the two out"
                       : "");
    }
    for (Entry& each : entries)
    {
        auto const known = std::ranges::find_if(mEntries, [&](Entry const& entry) { return isItsOwn(entry, each); });
        if (known != mEntries.end())
            *known = std::move(each);
        else
            mEntries.push_back(std::move(each));
    }
    return Done{};
}

Result<Done> Registry::add(Creator& creator, std::string nameSpace)
{
    Names names = TENON_TRY(namesOf(creator));
    TENON_TRY(checkLength("the namespace for creator '" + names.type + "'", nameSpace));
    TENON_TRY(addAll({{&creator, std::move(names.type), std::move(names.version), nameSpace, nullptr}}));
    if (mIsOfProcess)
        Library::noteRegistered({this, &creator, std::move(nameSpace)});
    return Done{};
}

bool Registry::remove(Creator const& creator)
{
    std::scoped_lock const lock{mMutex};
    return std::erase_if(mEntries, [&](Entry const& each) { return each.creator == &creator; }) != 0;
}

Registry::Creator* Registry::find(std::string_view type, std::string_view version, std::string_view nameSpace) const
{
    std::shared_ptr<Registry const> next;
    {
        std::scoped_lock const lock{mMutex};
        for (Entry const& each : mEntries)
            if (each.type == type && each.version == version && each.nameSpace == nameSpace)
                return each.creator;
        if (!mSearchesParent || mParent == nullptr)
            return nullptr;
        next = mParent;
    }
    return next->find(type, version, nameSpace);
}

std::vector<Registry::Creator*> Registry::all() const
{
    std::scoped_lock const lock{mMutex};
    std::vector<Creator*> creators;
    for (Entry const& each : mEntries)
        creators.push_back(each.creator);
    return creators;
}

void Registry::collect(std::vector<Entry>& entries) const
{
    std::shared_ptr<Registry const> next;
    {
        std::scoped_lock const lock{mMutex};
        entries.insert(entries.end(), mEntries.begin(), mEntries.end());
        if (!mSearchesParent || mParent == nullptr)
            return;
        next = mParent;
    }
    next->collect(entries);
}

std::vector<Registry::Creator*> Registry::allRecursive() const
{
    std::vector<Entry> entries;
    collect(entries);
    std::vector<Creator*> creators;
    for (Entry const& each : entries)
        creators.push_back(each.creator);
    return creators;
}

std::vector<Registry::Listed> Registry::listed() const
{
    std::vector<Listed> found;
    std::shared_ptr<Registry const> next;
    {
        std::scoped_lock const lock{mMutex};
        for (Entry const& each : mEntries)
            found.push_back({each.creator, each.type, each.version, each.nameSpace,
                each.library == nullptr ? std::string{} : each.library->path()});
        if (!mSearchesParent || mParent == nullptr)
            return found;
        next = mParent;
    }
    std::ranges::move(next->listed(), std::back_inserter(found));
    return found;
}

std::string Registry::libraryOf(std::string_view type, std::string_view version, std::string_view nameSpace) const
{
    for (Listed const& each : listed())
        if (each.type == type && each.version == version && each.nameSpace == nameSpace)
            return each.library;
    return {};
}

bool Registry::searchesParent() const
{
    std::scoped_lock const lock{mMutex};
    return mSearchesParent;
}

void Registry::setSearchesParent(bool enabled)
{
    std::scoped_lock const lock{mMutex};
    mSearchesParent = enabled;
}

std::shared_ptr<Registry const> Registry::parent() const
{
    std::scoped_lock const lock{mMutex};
    return mParent;
}

Result<Done> Registry::setParent(std::shared_ptr<Registry const> parent)
{
    static std::mutex changes; // One at a time, over all registries: two that are fine alone may make a circle.
    std::scoped_lock const oneChange{changes};
    for (std::shared_ptr<Registry const> each = parent; each != nullptr; each = each->parent())
        if (each.get() == this)
            return badArgument(
                "the registry would be asked for what it lacks itself: the parent is the registry or has "
                "it as a parent");
    std::shared_ptr<Registry const> before; // Goes without the lock: it may unload libraries.
    std::scoped_lock const lock{mMutex};
    before = std::exchange(mParent, std::move(parent));
    return Done{};
}

// ---- libraries

Result<void*> Registry::load(std::string const& path, nvinfer1::ILoggerFinder& loggerFinder)
{
    std::unique_ptr<Library> library = TENON_TRY(Library::open(path, loggerFinder));
    std::vector<Entry> entries;
    for (Creator* creator : library->creators())
    {
        Names names = TENON_TRY(namesOf(*creator));
        entries.push_back(
            {creator, std::move(names.type), std::move(names.version), std::move(names.nameSpace), library.get()});
    }
    auto added = addAll(std::move(entries));
    if (!added)
        return std::move(added).error().in(fmt::format("'{}'", path));
    std::scoped_lock const lock{mMutex};
    mLibraries.push_back(std::move(library));
    return static_cast<void*>(mLibraries.back().get());
}

Result<Done> Registry::unload(void* handle)
{
    std::unique_ptr<Library> gone; // Closed without the lock: its destructors may come back here.
    std::scoped_lock const lock{mMutex};
    auto const at = std::ranges::find_if(mLibraries, [&](auto const& each) { return each.get() == handle; });
    if (at == mLibraries.end())
        return badArgument("{} is not the handle of a library that is loaded here", handle);
    std::erase_if(mEntries, [&](Entry const& each) { return each.library == at->get(); });
    gone = std::move(*at);
    mLibraries.erase(at);
    if (Plugin::alive() != 0 || Kept::alive() != 0)
        gone->keepMapped(); // Networks, engines and registries may have objects whose code it is.
    return Done{};
}

// ---- resources

Registry::Kept::Kept(IPluginResource* clone) noexcept
    : mClone{clone}
{
    ++gKept;
}

Registry::Kept::~Kept()
{
    mClone.reset();
    --gKept;
}

int64_t Registry::Kept::alive() noexcept
{
    return gKept;
}

Result<IPluginResource*> Registry::acquire(std::string const& key, IPluginResource* resource)
{
    if (resource == nullptr)
        return badArgument("the resource of key '{}' is null", key);
    if (IPluginResource* const known = addUser(key))
        return known;
    auto clone = std::make_unique<Kept>(resource->clone()); // The user's code runs without the lock.
    if (clone->get() == nullptr)
        return badArgument("clone() of the resource of key '{}' returned null", key);
    std::scoped_lock const lock{mMutex};
    Resource& entry = mResources[key];
    if (entry.clone == nullptr)
        std::swap(entry.clone, clone);
    ++entry.users; // Under the same lock: a release() between would take the resource away again.
    return entry.clone->get();
}

IPluginResource* Registry::addUser(std::string const& key)
{
    std::scoped_lock const lock{mMutex};
    auto const at = mResources.find(key);
    if (at == mResources.end())
        return nullptr;
    ++at->second.users;
    return at->second.clone->get();
}

Result<Done> Registry::release(std::string const& key)
{
    std::unique_ptr<Kept> last;
    {
        std::scoped_lock const lock{mMutex};
        auto const at = mResources.find(key);
        if (at == mResources.end())
            return badArgument("there is no resource of key '{}'", key);
        if (--at->second.users > 0)
            return Done{};
        last = std::move(at->second.clone);
        mResources.erase(at);
    }
    if (int32_t const code = last->get()->release(); code != 0)
        return errorOf(
            nvinfer1::ErrorCode::kFAILED_EXECUTION, "release() of the resource of key '{}' returned {}", key, code);
    return Done{};
}

// ---- plugins of a plan

namespace
{
struct Near
{
    size_t distance;
    std::string name;
};

//! Creators with types like the wanted one, at most kMaxListed; the closest first.
template <typename Entries>
std::vector<Near> nearest(Entries const& entries, PluginName const& name)
{
    std::string_view const wanted = std::string_view{name.type}.substr(0, kMaxCompared);
    size_t const farthest = std::max<size_t>(wanted.size() / 2, 2); // In characters to change.
    std::vector<Near> near;
    for (auto const& each : entries)
        if (size_t const changes = distance(each.type, wanted); changes <= farthest)
            near.push_back(
                {changes * 4 + (each.version == name.version ? 0U : 1U) + (each.nameSpace == name.nameSpace ? 0U : 1U),
                    show(each.type, each.version, each.nameSpace)});
    std::ranges::stable_sort(near, {}, &Near::distance);
    near.resize(std::min(near.size(), kMaxListed));
    return near;
}
} // namespace

std::string Registry::whatIsMissing(PluginName const& name) const
{
    if (find(name.type, name.version, name.nameSpace) != nullptr)
        return {};
    std::string text = "no creator of plugin " + show(name.type, name.version, name.nameSpace) + " is registered";
    if (!name.library.empty())
        text += fmt::format(" (the plan's builder had it from '{}')", name.library);
    std::vector<Entry> entries;
    collect(entries);
    if (entries.empty())
        return text + "; no plugins are registered at all: load the library that has it, or register its creator";
    std::vector<Near> const near = nearest(entries, name);
    if (near.empty())
        return text + fmt::format("; none of the {} that are has a name like it", entries.size());
    for (size_t i = 0; i < near.size(); ++i)
        text += fmt::format("{}{}",
            i == 0       ? "; the closest is "
                : i == 1 ? "; registered besides: "
                         : ", ",
            near[i].name);
    if (near.size() == entries.size())
        return text;
    size_t const more = entries.size() - near.size();
    return text + (near.size() > 1 ? fmt::format(" and {} more", more) : fmt::format("; {} more are registered", more));
}

Result<PluginPtr> Registry::restore(Identity const& identity, std::string const& layerName, ByteView stored) const
{
    forgetExplanation();
    Creator* const creator = find(identity.type, identity.version, identity.nameSpace);
    if (creator == nullptr)
        return badConfig("{}", whatIsMissing({identity.type, identity.version, identity.nameSpace, {}}));
    bool const isV3 = identity.generation == Generation::kV3;
    CreatorKind const kind = kindOf(*creator);
    bool const isOfKind =
        isV3 ? kind == CreatorKind::kV3One || kind == CreatorKind::kV3Quick : kind == CreatorKind::kV1;
    if (!isOfKind)
        return badConfig("plugin {} was stored by generation {}, but the creator registered for it is of kind '{}'",
            identity.show(), nameOf(identity.generation), creator->getInterfaceInfo().kind);
    if (isV3)
    {
        DecodedFields const fields = TENON_TRY(DecodedFields::decode(stored));
        nvinfer1::PluginFieldCollection const collection = fields.collection();
        auto const phase = nvinfer1::TensorRTPhase::kRUNTIME;
        auto* const made = toldOf("the creator of ", identity, "createPlugin(kRUNTIME)", "a plan is loaded", [&] {
            return kind == CreatorKind::kV3One
                ? static_cast<IPluginCreatorV3One*>(creator)->createPlugin(layerName.c_str(), &collection, phase)
                : static_cast<IPluginCreatorV3Quick*>(creator)->createPlugin(identity.type.c_str(), // Not the layer's.
                    identity.nameSpace.c_str(), &collection, phase, nvinfer1::QuickPluginCreationRequest::kSTRICT_JIT);
        });
        if (made == nullptr)
            return badConfig("createPlugin() of the creator of plugin {} returned null for its {} stored fields{}",
                identity.show(), collection.nbFields, because());
        return traced(TENON_TRY(take(made, nvinfer1::TensorRTPhase::kRUNTIME)), "createPlugin(kRUNTIME)");
    }
    auto* const made = toldOf("the creator of ", identity, "deserializePlugin", "a plan is loaded", [&] {
        return static_cast<IPluginCreator*>(creator)->deserializePlugin(
            layerName.c_str(), stored.data(), stored.size());
    });
    if (made == nullptr)
        return badConfig("deserializePlugin() of the creator of plugin {} returned null for {} bytes{}",
            identity.show(), stored.size(), because());
    toldOf("the new plugin ", identity, "setPluginNamespace", "the plan says so",
        [&] { made->setPluginNamespace(identity.nameSpace.c_str()); });
    return traced(TENON_TRY(take(made)), "deserializePlugin()");
}

} // namespace tenon::plugins
