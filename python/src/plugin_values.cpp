// Fields, tensor descriptions, extent expressions and resources of plugins.
#include "plugin_values.h"
#include "members.h"

#include "overrides.h"

#include <array>
#include <cstring>

namespace tenon::python
{

using namespace nvinfer1;

namespace
{
struct FieldForm
{
    PluginFieldType type;
    int32_t bits;
    char const* numpy; //!< Null: bytes.
};

constexpr std::array<FieldForm, 14> kForms{{
    {PluginFieldType::kFLOAT16, 16, "float16"},
    {PluginFieldType::kFLOAT32, 32, "float32"},
    {PluginFieldType::kFLOAT64, 64, "float64"},
    {PluginFieldType::kINT8, 8, "int8"},
    {PluginFieldType::kINT16, 16, "int16"},
    {PluginFieldType::kINT32, 32, "int32"},
    {PluginFieldType::kCHAR, 8, nullptr},
    {PluginFieldType::kDIMS, 8 * static_cast<int32_t>(sizeof(Dims)), nullptr},
    {PluginFieldType::kUNKNOWN, 8, nullptr},
    {PluginFieldType::kBF16, 16, nullptr},
    {PluginFieldType::kINT64, 64, "int64"},
    {PluginFieldType::kFP8, 8, nullptr},
    {PluginFieldType::kINT4, 4, nullptr},
    {PluginFieldType::kFP4, 4, nullptr},
}};

FieldForm const& formOf(PluginFieldType type)
{
    for (FieldForm const& form : kForms)
        if (form.type == type)
            return form;
    throw py::value_error("PluginFieldType " + std::to_string(static_cast<int32_t>(type)) + " does not exist");
}

size_t bytesOf(PluginFieldType type, int32_t length)
{
    return (static_cast<size_t>(formOf(type).bits) * static_cast<size_t>(std::max(length, 0)) + 7) / 8;
}
} // namespace

namespace
{
bool isText(PluginFieldType type) noexcept
{
    return type == PluginFieldType::kCHAR || type == PluginFieldType::kUNKNOWN;
}

[[noreturn]] void refuseType(std::string const& name, std::string const& what)
{
    throw py::type_error("PluginField '" + name + "': " + what
        + "; a field has the numbers of an array, bytes, or a str (as CHAR or UNKNOWN)");
}

[[noreturn]] void refuseValues(std::string const& name, py::object const& kind)
{
    throw py::value_error("PluginField '" + name + "': its type cannot hold the values of a "
        + py::str(kind).cast<std::string>() + " array");
}

//! Arrays whose memory says nothing to a plugin are refused; one text is that text; bytes are in this machine's order.
py::object readable(py::object array, FieldForm const& form, std::string const& name)
{
    py::object const kind = array.attr("dtype");
    auto const letter = kind.attr("kind").cast<std::string>();
    bool const isOneText = (letter == "U" || letter == "S") && array.attr("size").cast<size_t>() == 1;
    if (isOneText && isText(form.type))
        return letter == "U" ? array.attr("item")().attr("encode")() : array.attr("item")();
    auto const bits = 8 * kind.attr("itemsize").cast<int32_t>();
    if (letter == "f" && bits == 16 && form.type != PluginFieldType::kFLOAT16 && form.type != PluginFieldType::kUNKNOWN)
        refuseValues(name, kind); // M14
    // NumPy knows types of other packages (bfloat16, float8) as void.
    bool const isForeign = letter == "V" && kind.attr("names").is_none() && form.numpy == nullptr && bits == form.bits;
    bool const isNumber = letter == "b" || letter == "i" || letter == "u" || letter == "f";
    // What NumPy has no type for comes as bytes or bits; whatever else would be read as them.
    bool const isBits = letter == "u" && (bits == 8 || bits == form.bits);
    bool const isCharacter = form.type == PluginFieldType::kCHAR && bits == 8;
    bool const isEmpty = array.attr("size").cast<size_t>() == 0;
    bool const isReadable =
        form.numpy != nullptr || form.type == PluginFieldType::kUNKNOWN || isBits || isCharacter || isEmpty;
    if (!isForeign && !(isNumber && isReadable))
        refuseType(name, "it cannot hold an array of dtype " + py::str(kind).cast<std::string>());
    if (!kind.attr("isnative").cast<bool>())
        return array.attr("astype")(kind.attr("newbyteorder")("="));
    return array;
}

//! The array with elements as wide as the field's: NumPy's own integers and floats are wider than most fields want.
//! Bytes (uint8) stay bytes, whatever the type.
py::object fitted(py::object const& array, FieldForm const& form, std::string const& name)
{
    py::object const kind = array.attr("dtype");
    auto const letter = kind.attr("kind").cast<std::string>();
    auto const bits = 8 * kind.attr("itemsize").cast<int32_t>();
    bool const isBytes = letter == "u" && bits == 8;
    if (isBytes || form.numpy == nullptr || array.attr("size").cast<size_t>() == 0)
        return array;
    if (bits == form.bits && letter.front() == form.numpy[0])
        return array; // Integers with a sign, or floats.
    py::module_ const numpy = py::module_::import("numpy");
    if (!numpy.attr("can_cast")(kind, form.numpy, "same_kind").cast<bool>())
        refuseValues(name, kind);
    py::object const quiet = numpy.attr("errstate")(py::arg("over") = "ignore", py::arg("invalid") = "ignore");
    py::object const made = quiet(array.attr("astype"))(form.numpy);
    auto const isSame = [&](py::object const& a, py::object const& b) {
        return numpy.attr("array_equal")(a, b).cast<bool>();
    };
    // Floats are rounded, but none becomes infinite. Integers stay what they are, there and back: NumPy compares those
    // of 64 bits as floats.
    bool const isKept = letter == "f" ? isSame(numpy.attr("isfinite")(made), numpy.attr("isfinite")(array))
                                      : isSame(made, array) && isSame(quiet(made.attr("astype"))(kind), array);
    if (!isKept)
        refuseValues(name, kind);
    return made;
}

int32_t wholeElements(size_t bytes, PluginFieldType type, std::string const& name)
{
    auto const bits = static_cast<size_t>(formOf(type).bits);
    if (bytes * 8 % bits != 0)
        throw py::value_error("PluginField '" + name + "': " + std::to_string(bytes)
            + " bytes are no whole number of elements of its type");
    if (bytes * 8 / bits > INT32_MAX)
        throw py::value_error("PluginField '" + name + "': " + std::to_string(bytes) + " bytes are too many");
    return static_cast<int32_t>(bytes * 8 / bits);
}
} // namespace

FieldValue::FieldValue(std::string fieldName)
    : name{std::move(fieldName)}
{
}

FieldValue::FieldValue(std::string fieldName, py::object const& data, PluginFieldType kind)
    : name{std::move(fieldName)},
      mType{kind}
{
    setData(data);
}

FieldValue::FieldValue(PluginField const& field)
    : name{field.name == nullptr ? "" : field.name},
      mType{field.type}
{
    if (field.data != nullptr)
        setData(py::bytes(static_cast<char const*>(field.data), bytesOf(field.type, field.length)));
    mLength = field.length;
}

void FieldValue::setData(py::object const& object)
{
    mOwner = py::object{};
    mData = nullptr;
    mBytes = 0;
    if (object.is_none())
        return;
    FieldForm const& form = formOf(mType);
    py::object held = object;
    if (py::isinstance<py::str>(object))
    {
        if (!isText(mType))
            refuseType(name, "it is of " + py::repr(py::cast(mType)).cast<std::string>() + " and cannot hold a str");
        held = object.attr("encode")();
    }
    else if (!py::isinstance<py::bytes>(object))
    {
        held = readable(py::module_::import("numpy").attr("ascontiguousarray")(object), form, name);
        if (!py::isinstance<py::bytes>(held))
            held = fitted(held, form, name);
    }
    py::buffer_info const info = py::reinterpret_borrow<py::buffer>(held).request();
    auto const bytes = static_cast<size_t>(info.size * info.itemsize);
    mLength = wholeElements(bytes, mType, name);
    mData = info.ptr;
    mBytes = bytes;
    mOwner = std::move(held);
}

void FieldValue::setType(PluginFieldType type)
{
    if (mData != nullptr)
        mLength = wholeElements(bytesOf(mType, mLength), type, name);
    mType = type;
}

void FieldValue::setLength(int32_t length)
{
    size_t const bytes = bytesOf(mType, length);
    if (length < 0 || (mData != nullptr && bytes > mBytes))
        throw py::value_error("PluginField '" + name + "': " + std::to_string(length) + " elements would take "
            + std::to_string(bytes) + " bytes; its data have " + std::to_string(mBytes));
    mLength = length;
}

bool FieldValue::isSameAs(FieldValue const& other) const
{
    if (name != other.name || mType != other.mType || mLength != other.mLength)
        return false;
    if (mData == nullptr || other.mData == nullptr)
        return mData == other.mData;
    return std::memcmp(mData, other.mData, bytesOf(mType, mLength)) == 0;
}

PluginField FieldValue::field() const
{
    return PluginField{name.c_str(), mData, mType, mLength};
}

py::object FieldValue::data() const
{
    if (mData == nullptr)
        return py::none();
    FieldForm const& form = formOf(mType);
    auto const* const first = static_cast<char const*>(mData);
    if (form.numpy == nullptr)
        return py::bytes(first, bytesOf(mType, mLength));
    py::object const owner = mOwner; // The array is a view, and keeps what it views.
    return py::array(py::dtype(form.numpy), {static_cast<py::ssize_t>(mLength)}, {}, mData, owner);
}

FieldView::FieldView(FieldList list)
    : mList{std::move(list)}
{
    for (FieldValue const& each : mList)
        mFields.push_back(each.field());
    mCollection = {static_cast<int32_t>(mFields.size()), mFields.data()};
}

bool FieldView::hasSameAs(FieldList const& list) const
{
    return std::ranges::equal(mList, list, [](FieldValue const& a, FieldValue const& b) { return a.isSameAs(b); });
}

FieldList fieldsOf(PluginFieldCollection const* collection)
{
    FieldList list;
    for (int32_t i = 0; collection != nullptr && i < collection->nbFields; ++i)
        list.emplace_back(collection->fields[i]);
    return list;
}

namespace
{
//! What a C++ creator hands out as its field names: read only.
struct FieldNames
{
    FieldList list;
};

void bindFields(py::module_& m)
{
    py::class_<FieldValue>(m, "PluginField", docOf("PluginField"))
        .def(py::init<std::string>(), py::arg("name") = "")
        .def(py::init<std::string, py::object const&, PluginFieldType>(), py::arg("name"), py::arg("data"),
            py::arg("type") = PluginFieldType::kUNKNOWN)
        .def_readwrite("name", &FieldValue::name, docOf("PluginField.name"))
        .def_property("data", &FieldValue::data, &FieldValue::setData, docOf("PluginField.data"))
        .def_property("type", &FieldValue::type, &FieldValue::setType, docOf("PluginField.type"))
        .def_property("size", &FieldValue::length, &FieldValue::setLength, docOf("PluginField.size"));
    py::bind_vector<FieldList>(m, "PluginFieldCollection", docOf("PluginFieldCollection"));
    py::implicitly_convertible<py::list, FieldList>();
    py::class_<FieldNames>(m, "PluginFieldCollection_", docOf("PluginFieldCollection_"))
        .def(py::init([](FieldList const& list) { return FieldNames{list}; }))
        .def("__len__", [](FieldNames const& self) { return self.list.size(); })
        .def("__getitem__", [](FieldNames const& self, size_t index) {
            if (index >= self.list.size())
                throw py::index_error();
            return self.list[index];
        });
}

void bindDescriptions(py::module_& m)
{
    py::class_<PluginTensorDesc>(m, "PluginTensorDesc", docOf("PluginTensorDesc"))
        .def(py::init([] { return PluginTensorDesc{}; }))
        .def_readwrite("dims", &PluginTensorDesc::dims, docOf("PluginTensorDesc.dims"))
        .def_readwrite("type", &PluginTensorDesc::type, docOf("PluginTensorDesc.type"))
        .def_readwrite("format", &PluginTensorDesc::format, docOf("PluginTensorDesc.format"))
        .def_readwrite("scale", &PluginTensorDesc::scale, docOf("PluginTensorDesc.scale"));
    py::class_<DynamicPluginTensorDesc>(m, "DynamicPluginTensorDesc", docOf("DynamicPluginTensorDesc"))
        .def(py::init([] { return DynamicPluginTensorDesc{}; }))
        .def_readwrite("desc", &DynamicPluginTensorDesc::desc, docOf("DynamicPluginTensorDesc.desc"))
        .def_readwrite("min", &DynamicPluginTensorDesc::min, docOf("DynamicPluginTensorDesc.min"))
        .def_readwrite("opt", &DynamicPluginTensorDesc::opt, docOf("DynamicPluginTensorDesc.opt"))
        .def_readwrite("max", &DynamicPluginTensorDesc::max, docOf("DynamicPluginTensorDesc.max"));
}

//! The smallest int32 of a value that is not known, as Python code of this API expects.
int64_t constantValue(IDimensionExpr const& self)
{
    return self.isConstant() ? self.getConstantValue() : int64_t{INT32_MIN};
}

DimsExprs exprsOf(std::vector<IDimensionExpr const*> const& list)
{
    if (list.size() > static_cast<size_t>(Dims::MAX_DIMS))
        throw py::value_error("DimsExprs: " + std::to_string(list.size()) + " extents, at most 8 are possible");
    DimsExprs made{};
    made.nbDims = static_cast<int32_t>(list.size());
    std::copy(list.begin(), list.end(), made.d);
    return made;
}

int32_t extentIndex(DimsExprs const& self, int64_t index)
{
    int64_t const at = index < 0 ? index + self.nbDims : index;
    if (at < 0 || at >= self.nbDims)
        throw py::index_error();
    return static_cast<int32_t>(at);
}

void bindExpressions(py::module_& m)
{
    using Expr = IDimensionExpr;
    py::class_<Expr, Borrowed<Expr>> expr(m, "IDimensionExpr", docOf("IDimensionExpr"));
    method(expr, "is_constant", &Expr::isConstant, docOf("IDimensionExpr.is_constant"));
    method(expr, "get_constant_value", &constantValue, docOf("IDimensionExpr.get_constant_value"));
    method(expr, "is_size_tensor", &Expr::isSizeTensor, docOf("IDimensionExpr.is_size_tensor"));
    method(expr, "isConstant", &Expr::isConstant, docOf("IDimensionExpr.is_constant")); // The names of 9.x (K15).
    method(expr, "getConstantValue", &constantValue, docOf("IDimensionExpr.get_constant_value"));
    auto const reference = py::return_value_policy::reference;
    py::class_<DimsExprs>(m, "DimsExprs", docOf("DimsExprs"))
        .def(py::init([] { return DimsExprs{}; }))
        .def(py::init(&exprsOf))
        .def(py::init([](int32_t count) {
            DimsExprs made{};
            made.nbDims = std::clamp(count, 0, Dims::MAX_DIMS);
            return made;
        }))
        .def("__len__", [](DimsExprs const& self) { return self.nbDims; })
        .def(
            "__getitem__", [](DimsExprs const& self, int64_t i) { return self.d[extentIndex(self, i)]; }, reference)
        .def("__setitem__",
            [](DimsExprs& self, int64_t i, Expr const& value) { self.d[extentIndex(self, i)] = &value; });
    py::implicitly_convertible<py::list, DimsExprs>();
    py::implicitly_convertible<py::tuple, DimsExprs>();
    using Builder = IExprBuilder;
    py::class_<Builder, Borrowed<Builder>>(m, "IExprBuilder", docOf("IExprBuilder"))
        .def("constant", &Builder::constant, py::arg("value"), reference, docOf("IExprBuilder.constant"))
        .def(
            "operation",
            [](Builder& self, int32_t op, Expr const& first, Expr const& second) {
                return self.operation(static_cast<DimensionOperation>(op), first, second);
            },
            py::arg("op"), py::arg("first"), py::arg("second"), reference, docOf("IExprBuilder.operation"))
        .def("declare_size_tensor", &Builder::declareSizeTensor, reference, docOf("IExprBuilder.declare_size_tensor"));
}

class PyResource : public IPluginResource
{
  public:
    int32_t release() noexcept override
    {
        WithGil const gil;
        return callOverride(static_cast<IPluginResource const*>(this), "release", true).has_value() ? 0 : -1;
    }
    IPluginResource* clone() noexcept override;
};

//! A Python resource that the registry owns.
class HeldResource final : public IPluginResource
{
  public:
    explicit HeldResource(py::object object)
        : mObject{std::move(object)},
          mTarget{mObject.cast<IPluginResource*>()}
    {
    }
    ~HeldResource() override
    {
        WithGil const gil;
        mObject = py::object{};
    }
    int32_t release() noexcept override
    {
        return mTarget->release();
    }
    IPluginResource* clone() noexcept override
    {
        return mTarget->clone();
    }
    py::object const& object() const noexcept
    {
        return mObject;
    }
    APILanguage getAPILanguage() const noexcept override
    {
        return APILanguage::kPYTHON;
    }

  private:
    py::object mObject;
    IPluginResource* mTarget;
};

IPluginResource* PyResource::clone() noexcept
{
    WithGil const gil;
    std::optional<py::object> const copy = callOverride(static_cast<IPluginResource const*>(this), "clone", true);
    if (!copy || !py::isinstance<IPluginResource>(*copy))
        return nullptr;
    return guarded<IPluginResource>(
        "clone", static_cast<IPluginResource*>(nullptr), [&] { return new HeldResource{*copy}; });
}

//! A copy that Python owns.
py::object cloned(IPluginResource& resource)
{
    std::unique_ptr<IPluginResource> copy;
    {
        WithoutGil const released;
        copy.reset(resource.clone());
    }
    if (copy != nullptr && copy->getAPILanguage() == APILanguage::kPYTHON)
        return heldObject(copy.get());
    return py::cast(copy.release(), py::return_value_policy::take_ownership);
}

void bindResources(py::module_& m)
{
    using Resource = IPluginResource;
    py::class_<Resource, IVersionedInterface, PyResource, Plain<Resource>>(
        m, "IPluginResource", docOf("IPluginResource"))
        .def(py::init<>())
        .def("release", &Resource::release, py::call_guard<WithoutGil>(), docOf("IPluginResource.release"))
        .def("clone", &cloned, docOf("IPluginResource.clone"));
    using Context = IPluginResourceContext;
    py::class_<Context, Borrowed<Context>>(m, "IPluginResourceContext", docOf("IPluginResourceContext"))
        .def_property_readonly("gpu_allocator",
            py::cpp_function(&Context::getGpuAllocator, py::return_value_policy::reference),
            docOf("IPluginResourceContext.gpu_allocator"))
        .def_property_readonly("error_recorder",
            py::cpp_function(&Context::getErrorRecorder, py::return_value_policy::reference),
            docOf("IPluginResourceContext.error_recorder"));
}
} // namespace

py::object heldObject(IPluginResource* resource)
{
    if (resource == nullptr)
        return py::none();
    if (resource->getAPILanguage() == APILanguage::kPYTHON)
        return static_cast<HeldResource*>(resource)->object();
    return py::cast(resource, py::return_value_policy::reference);
}

void bindPluginValues(py::module_& m)
{
    py::class_<IPluginCreatorInterface, IVersionedInterface, Plain<IPluginCreatorInterface>>(
        m, "IPluginCreatorInterface", docOf("IPluginCreatorInterface"));
    bindFields(m);
    bindDescriptions(m);
    bindExpressions(m);
    bindResources(m);
}

} // namespace tenon::python
