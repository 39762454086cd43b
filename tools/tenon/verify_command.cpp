// tenon verify: each step of a plan against the reference, on the values that really reach it.
#include "against.h"
#include "commands.h"
#include "interruption.h"
#include "npy.h"
#include "session.h"
#include "texts.h"

#include <cstdio>
#include <limits>
#include <list>
#include <map>
#include <optional>

namespace tenon::cli
{

namespace
{
struct VerifyOptions
{
    std::string path;
    std::vector<std::string> shapes;
    std::vector<std::string> inputs;
    TenonVerifyOptions verify{};
    bool json{false};
    bool firstOnly{false};
    std::optional<uint32_t> seed;
    std::string against; //!< Empty: the reference.
    std::string python;
    bool isExact{false}; //!< A tolerance is given, be it 0.
};

//! Inputs as the library wants them, and what they point at.
struct Inputs
{
    std::list<NpyArray> arrays;
    std::list<std::string> names;
    std::vector<TenonInput> list;

    void add(std::string const& name, NpyArray array, bool hasData)
    {
        names.push_back(name);
        arrays.push_back(std::move(array));
        NpyArray const& kept = arrays.back();
        list.push_back({names.back().c_str(), hasData ? kept.data.data() : nullptr, kept.dims.nbDims, kept.dims.d});
    }
};

Inputs inputsOf(GivenInputs const& given, Shapes const& shapes)
{
    Inputs inputs;
    for (auto const& [name, array] : given)
        inputs.add(name, array, true);
    for (auto const& [name, range] : shapes)
        if (!given.contains(name))
            inputs.add(name, {nvinfer1::DataType::kFLOAT, range.opt, {}}, false);
    return inputs;
}

//! A step is named by its number in the report, or by name.
std::string stepName(Json const& report, Json const& step)
{
    return step.is_number() ? report["steps"].at(step.get<size_t>())["name"].get<std::string>()
                            : step.get<std::string>();
}

void printIndices(Json const& report)
{
    for (Json const& each : report["indices_out_of_range"])
        std::printf("%s out of range: layer '%s', tensor '%s': %s at position %s: %s\n",
            each["what"].get<std::string>().c_str(), shownName(each["layer"].get<std::string>()).c_str(),
            shownName(each["tensor"].get<std::string>()).c_str(), each["value"].dump().c_str(),
            each["index"].dump().c_str(), each["why"].get<std::string>().c_str());
}

//! What the steps of a report say together.
struct Tally
{
    explicit Tally(Json const& report)
    {
        for (Json const& step : report["steps"])
        {
            bool const isCompared = step["compared"].get<bool>();
            bool const isOk = step["ok"].get<bool>();
            compared += isCompared ? 1 : 0;
            judged += isCompared || !isOk ? 1 : 0;
            wrong += isOk ? 0 : 1;
            if (!isCompared)
                ++leftOut[step["why"].get<std::string>()];
            double const units = isCompared && step["worst"].is_number() ? step["worst"].get<double>() : 0.0;
            if (units <= worst)
                continue;
            worst = units;
            worstStep = step["name"].get<std::string>();
        }
    }
    size_t compared{0};
    size_t judged{0}; //!< With those whose layer the reference refused.
    size_t wrong{0};
    std::map<std::string, size_t> leftOut; //!< How many steps were not compared, by reason.
    double worst{0.0};
    std::string worstStep;
};

void printStep(Json const& step)
{
    bool const isCompared = step["compared"].get<bool>();
    bool const isOk = step["ok"].get<bool>();
    std::printf("%-5s %-9.2e %s\n",
        !isOk            ? "WRONG"
            : isCompared ? "ok"
                         : "-",
        isCompared && step["max_error"].is_number() ? step["max_error"].get<double>() : 0.0,
        shownName(step["name"].get<std::string>()).c_str());
}

void printDivergence(Json const& report)
{
    Json const& first = report["first_divergence"];
    if (first.is_null())
        return;
    std::string const step = shownName(stepName(report, first["step"]));
    std::string const layer = shownName(first["layer"].get<std::string>());
    std::printf("first divergence: step '%s'%s, output %s, element %s: got %s, want %s\n", step.c_str(),
        layer == step ? "" : (" (layer '" + layer + "')").c_str(), first["output"].dump().c_str(),
        first["index"].dump().c_str(), first["got"].dump().c_str(), first["want"].dump().c_str());
}

void printVerification(Json const& report, bool verbose)
{
    for (Json const& step : report["steps"])
        if (verbose || !step["ok"].get<bool>())
            printStep(step);
    Tally const tally{report};
    std::printf("%zu of %zu steps compared with the reference", tally.compared, report["steps"].size());
    if (!tally.worstStep.empty())
        std::printf("; nearest to its tolerance: '%s' at %.3f of it", shownName(tally.worstStep).c_str(), tally.worst);
    std::printf("\n");
    for (auto const& [why, count] : tally.leftOut)
        std::printf("  %zu not: %s\n", count, shownMessage(why).c_str());
    printIndices(report);
    printDivergence(report);
    std::printf("%s\n", shownVerdict(tally.judged, tally.wrong, "steps").c_str());
}

int verify(VerifyOptions const& options, Common const& common)
{
    Logger logger{common.severity()};
    Shapes const shapes = parseShapes(options.shapes);
    Session session{options.path, shapes, common, logger};
    session.checkShapes(shapes);
    GivenInputs const given = readInputs(options.inputs);
    checkInputs(given, session.engine(), options.seed.has_value());
    Inputs const inputs = inputsOf(given, shapes);
    TenonVerifyOptions verify = options.verify;
    verify.seed = options.seed.value_or(0);
    verify.firstsOnly = options.firstOnly ? 1 : 0;
    if (options.isExact && verify.absolute == 0.0 && verify.relative == 0.0)
        verify.absolute = std::numeric_limits<double>::denorm_min(); // Two zeros would stand for the standard.
    TenonText problem{nullptr};
    TenonText text{nullptr};
    {
        ProgressBar bar{!common.quiet, "Comparing steps"};
        verify.user = &bar;
        verify.progress = [](void* shown, int32_t done, int32_t steps) {
            static_cast<ProgressBar*>(shown)->advance("Comparing steps", Count{done, steps});
            return gInterrupted ? 0 : 1;
        };
        text = tenonVerify(
            &session.engine(), inputs.list.data(), static_cast<int32_t>(inputs.list.size()), &verify, &problem);
    }
    if (gInterrupted)
        return kInterruptedStatus;
    Json report = parsed(text, problem);
    report["ok"] = report["ok"].get<bool>() && Tally{report}.judged > 0; // What compares nothing proves nothing.
    if (options.json)
        std::printf("%s\n", report.dump(2).c_str());
    else
        printVerification(report, common.verbose);
    return report["ok"].get<bool>() ? 0 : 1;
}

AgainstOptions againstOptions(VerifyOptions const& options, CLI::App const& command)
{
    AgainstOptions against{options.path, options.against, options.python, options.shapes, options.inputs, {}, {},
        options.seed, options.firstOnly, options.json};
    if (command.count("--atol") > 0)
        against.absolute = options.verify.absolute;
    if (command.count("--rtol") > 0)
        against.relative = options.verify.relative;
    return against;
}
} // namespace

void addVerify(CLI::App& app, Common const& common, int& status)
{
    auto options = std::make_shared<VerifyOptions>();
    CLI::App* command = app.add_subcommand("verify", "Compare each step of a plan with the reference");
    command->add_option("plan", options->path, "A plan, or a .onnx file (built first)")
        ->required()
        ->check(CLI::ExistingFile);
    addShapes(*command, options->shapes, "Shape of each input; kOPT of profile 0 where none is given");
    command->add_option("--input", options->inputs, "name=file.npy; random data where none is given")
        ->allow_extra_args(false);
    command->add_option("--atol", options->verify.absolute, "Absolute tolerance (that of the element type)")
        ->check(CLI::NonNegativeNumber);
    command->add_option("--rtol", options->verify.relative, "Relative tolerance (that of the element type)")
        ->check(CLI::NonNegativeNumber);
    command->add_option("--seed", options->seed, "Seed of the inputs that are not given (0)");
    command->add_flag("--first", options->firstOnly, "Stop at the first step that diverges");
    command->add_flag("--json", options->json, "Print everything as JSON");
    auto* against = command->add_option(
        "--against", options->against, "Compare a model's nodes with another engine's: onnxruntime");
    command->add_option("--python", options->python, "The interpreter that has the other engine")->needs(against);
    command->footer(
        R"(Example:
  tenon verify model.plan --input input=picture.npy
  tenon verify model.onnx --against onnxruntime
The plan runs once. After each step its layer is evaluated with plain loops in double precision on the step's own
inputs, so that an error is blamed on the step that made it. The last line is the verdict. Exit status 1 and the name of
the first wrong step when an output differs by more than atol + rtol * |reference|; also where nothing could be
compared, which proves nothing. -v lists all steps. Where neither is given, a sum of products may beside that be off by
16 units of float32's last place of what it adds up: large terms that cancel leave their rounding. Indices of Gather
layers that are out of range are named and make no difference to the status, as the API gives 0 for them; likewise
lengths and starts of sequences.
With --against every tensor that the network has from the model is compared with that of the same name in ONNX Runtime,
which finds what an importer has read wrongly: a node differs where its outputs do in both a run of the whole model and
one of the node alone, on the inputs that it got here. The tolerance is atol + rtol * the largest magnitude of the
tensor there; an rtol of 1e-3 (float32) or 2e-2 (float16) where neither is given. Values within loops and branches are
not compared.)");
    command->callback([options, command, &common, &status] {
        options->isExact = command->count("--atol") + command->count("--rtol") > 0;
        if (options->against.empty())
            status = verify(*options, common);
        else
            status = verifyAgainst(againstOptions(*options, *command), common);
    });
}

} // namespace tenon::cli
