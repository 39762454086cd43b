"""Every flag of trtexec works, says why it has no effect, or fails and says why; none is ignored in silence."""

import pathlib
import re

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from test_cli import ROOT, save
from trtexec import SHORT, all_text, trtexec

# What stands behind "--onnx=…" or "--loadEngine=…"; the status; what is said. "": nothing but what is always said.
BUILD = [
    (["--onnx=/nowhere.onnx"], 1, "/nowhere.onnx"),
    (["--minShapes=x:1x8", "--optShapes=x:2x8", "--maxShapes=x:4x8"], 0, "x=1x8+2x8+4x8"),
    (["--profile=0", "--optShapes=x:2x8"], 0, "Input build shape (profile 0): x=2x8+2x8+2x8"),
    (["--int8", "--calib=CACHE", "--optShapesCalib=x:2x8"], 0, ""),
    (["--calib=/nowhere", "--int8"], 1, "cannot read '/nowhere'"),
    (["--calib=CACHE"], 0, "--calib has no effect without --int8"),
    (["--minShapesCalib=x:2x8"], 1, "--optShapesCalib stands alone, or with"),
    (["--maxShapesCalib=x:2x8"], 1, "--optShapesCalib stands alone, or with"),
    (["--calibProfile=0"], 0, "Shapes for calibration have no effect without --calib"),
    (["--calibProfile=1"], 1, "--calibProfile=1 is not within 0 to 0"),
    (["--inputIOFormats=fp32:chw"], 0, ""),
    (["--inputIOFormats=fp32:chw,fp32:chw"], 1, "has 2 formats; the model has 1 inputs"),
    (["--inputIOFormats=fp33:chw"], 1, "'fp33' is not a type; there are fp32, fp16"),
    (["--inputIOFormats=fp32:whc"], 1, "'whc' is not a format; there are chw, chw2"),
    (["--outputIOFormats=fp32:chw"], 0, ""),
    (["--inputIOFormats=int8:chw"], 0, "Tensor 'x' is int8, and the model does not say for which real numbers"),
    (["--outputIOFormats=int8:chw"], 0, "taken for those from -4 to 4. Times are right, results are not"),
    (["--inputIOFormats=int8:chw", "--stronglyTyped"], 1, "has type int8"),
    (["--memPoolSize=workspace:64"], 0, "workspace: 64 MiB"),
    (["--memPoolSize=workspace:0.5GiB,dlaSRAM:1"], 0, "workspace: 512 MiB, dlaSRAM: 1 MiB"),
    (["--memPoolSize=cellar:64"], 1, "'cellar' is none of workspace, dlaSRAM"),
    (["--memPoolSize=workspace:64X"], 1, "a unit that is none of B, K, M, G"),
    (["--profilingVerbosity=detailed"], 0, ""),
    (["--profilingVerbosity=loud"], 1, "'loud' is none of layer_names_only, detailed"),
    (["--avgTiming=2"], 0, "--avgTiming has no effect below --builderOptimizationLevel=4"),
    (["--uint8AsymmetricQuantizationDLA"], 1, "there is no DLA here"),
    (["--useRuntime=full"], 0, ""),
    (["--useRuntime=lean"], 1, "--useRuntime=lean builds no engines"),
    (["--pluginInstanceNorm"], 0, "--pluginInstanceNorm has no effect: InstanceNormalization is read as layers"),
    (["--pi"], 0, "--pi has no effect"),
    (["--pi", "--vc"], 1, "exclude each other"),
    (["--excludeLeanRuntime"], 0, "--excludeLeanRuntime has no effect: plans are data"),
    (["--monitorMemory"], None, "kMONITOR_MEMORY"),
    (["--sparsity=disable"], 0, "Sparsity: Disabled"),
    (["--sparsity=enable"], 0, "--sparsity=enable has no effect"),
    (["--sparsity=force"], 1, "--sparsity=force cannot be honoured"),
    (["--noTF32"], 0, "--noTF32 has no effect on a CPU: products of floats are never shortened"),
    (["--fp16"], 0, "Precision: FP32+FP16"),
    (["--bf16"], 0, "Precision: FP32+BF16"),
    (["--int8"], 0, "Precision: FP32+INT8"),
    (["--fp8"], 0, "Precision: FP32+FP8"),
    (["--int4"], 0, "Precision: FP32+INT4"),
    (["--best"], 0, "Precision: FP32+FP16+BF16+INT8"),
    (["--fp8", "--int8"], 1, "--fp8 and --int8 exclude each other"),
    (["--stronglyTyped"], 0, "Precision: Strongly Typed"),
    (["--stronglyTyped", "--fp16"], 0, "--fp16 has no effect beside --stronglyTyped"),
    (["--stronglyTyped", "--best"], 1, "--best and --stronglyTyped exclude each other"),
    (["--directIO"], 0, "PASSED"),
    (["--directIO", "--inputIOFormats=fp32:chw4"], 1, "kCHW4"),
    (["--precisionConstraints=obey", "--layerPrecisions=*:fp32"], 0, "(obey precision constraints)"),
    (["--precisionConstraints=prefer"], 0, "no effect without --layerPrecisions"),
    (["--precisionConstraints=maybe"], 1, "'maybe' is none of none, prefer, obey"),
    (["--precisionConstraints=obey", "--layerPrecisions=z*:fp32"], 0, "the network has no layer 'z*'"),
    (["--precisionConstraints=obey", "--layerOutputTypes=relu*:fp32"], 0, ""),
    (["--precisionConstraints=obey", "--layerOutputTypes=relu0:fp32+fp32"], 1, "'relu0' has 1 outputs, not 2"),
    (["--layerPrecisions=*:fp32"], 0, "no effect with --precisionConstraints=none"),
    (["--layerDeviceTypes=*:GPU"], 0, ""),
    (["--layerDeviceTypes=*:DLA"], 1, "this device has no DLA"),
    (["--layerDeviceTypes=*:DLA", "--allowGPUFallback"], 0, "its layers run as all others"),
    (["--allowGPUFallback"], 0, "--allowGPUFallback has no effect without --useDLACore"),
    (["--useDLACore=0"], 1, "there is no DLA core 0"),
    (["--decomposableAttentions=a"], 0, "--decomposableAttentions has no effect"),
    (["--safe"], 1, "there is no builder or runtime for safety"),
    (["--dumpKernelText"], 1, "there is no builder or runtime for safety"),
    (["--safetyPlugins=a.so"], 1, "there is no builder or runtime for safety"),
    (["--remoteAutoTuningConfig=ssh://host"], 1, "there is no builder or runtime for safety"),
    (["--cpuOnly"], 1, "there is no builder or runtime for safety"),
    (["--consistency"], 0, "--consistency has no effect: there is no builder or runtime for safety"),
    (["--restricted"], 1, "nothing checks a network against the restrictions of safety"),
    (["--buildDLAStandalone"], 1, "there is no DLA here"),
    (["--saveEngine=/nowhere/a.plan"], 1, "/nowhere/a.plan"),
    (["--asyncFileReader"], 0, "--asyncFileReader has no effect without --loadEngine"),
    (["--getPlanVersionOnly"], 1, "--getPlanVersionOnly needs --loadEngine"),
    (["--tacticSources=-CUDNN,+cublas_lt"], 0, "--tacticSources has no effect on a CPU: the libraries are a GPU's"),
    (["--tacticSources=CUDNN"], 1, "needs a + or a - before its name"),
    (["--tacticSources=+NONE"], 1, "'NONE' is none of CUBLAS"),
    (["--noBuilderCache"], 0, "timingCacheMode: disable"),
    (["--noBuilderCache", "--timingCacheFile=a"], 0, "--timingCacheFile has no effect beside --noBuilderCache"),
    (["--noCompilationCache"], 0, "--noCompilationCache has no effect: no compiled code is cached"),
    (["--preview=+aliasedPluginIO1003"], 0, ""),
    (["--preview=-runtimeActivationResize"], 0, "--preview: runtimeActivationResize has no effect"),
    (["--preview=+none"], 1, "'none' is none of fasterDynamicShapes0805"),
    (["--builderOptimizationLevel=5"], 0, "BuilderOptimizationLevel: 5"),
    (["--builderOptimizationLevel=6"], 1, "--builderOptimizationLevel=6 is not within 0 to 5"),
    (["--maxTactics=2"], 0, "--maxTactics has no effect"),
    (["--hardwareCompatibilityLevel=Ampere+"], 0, "the levels are about GPUs"),
    (["--hardwareCompatibilityLevel=hopper"], 1, "'hopper' is none of none, ampere+"),
    (["--runtimePlatform=SameAsBuild"], 0, ""),
    (["--runtimePlatform=WindowsAMD64"], 1, "plans can be built for this platform only"),
    (["--tempdir=/tmp"], 0, ""),
    (["--tempfileControls=in_memory:allow,temporary:deny"], 0, ""),
    (["--tempfileControls=in_memory:perhaps"], 1, "'perhaps' is none of allow, deny"),
    (["--maxAuxStreams=1"], 0, "MaxAuxStreams: 1"),
    (["--markDebug=y"], 0, ""),
    (["--markUnfusedTensorsAsDebugTensors"], 0, ""),
    (["--tilingOptimizationLevel=2"], 0, "--tilingOptimizationLevel has no effect: kernels choose their own tiles"),
    (["--l2LimitForTiling=1024"], 0, "--l2LimitForTiling has no effect"),
    (["--skipInference"], 0, "Skipped inference phase since --skipInference is added."),
    (["--buildOnly"], 0, "--buildOnly is the old name of --skipInference"),
    (["--device=0"], 0, "Selected Device ID: 0"),
    (["--device=1"], 1, "there is one device of kind 'cpu', from 0"),
    (["--staticPlugins=/nowhere.so"], 1, "'/nowhere.so' cannot be loaded as a library of plugins"),
    (["--plugins=/nowhere.so"], 1, "--plugins is the old name of --staticPlugins"),
    (["--dynamicPlugins=/nowhere.so"], 1, "'/nowhere.so' cannot be opened"),
    (["--setPluginsToSerialize=/nowhere.so"], 1, "there is no library '/nowhere.so'"),
    (["--ignoreParsedPluginLibs"], 0, "--ignoreParsedPluginLibs has no effect without --versionCompatible"),
    (["--weightStreamingBudget=1"], 1, "--weightStreamingBudget needs --allowWeightStreaming"),
    (["--weightStreamingBudget=101%", "--allowWeightStreaming"], 1, "is not within 0% to 100%"),
    (["--verbose"], 0, "[V] [TRT] "),
    (["--reportCapabilityDLA"], 1, "there is no DLA here"),
    (["--adjustForDLA"], 0, "--adjustForDLA has no effect: there is no DLA here"),
    (["--enablePluginOverride"], 0, ""),
    # Flags of releases before 10, and words that are no flags.
    (["--workspace=64"], 0, "workspace: 64 MiB"),
    (["--workspace=64"], 0, "--workspace is the old name of --memPoolSize=workspace:<MiB>"),
    (["--workspace=64", "--memPoolSize=workspace:32"], 0, "workspace: 32 MiB"),
    (["--workspace=-1"], 1, "--workspace: '-1' is not the size of a pool"),
    (["--nvtxMode=verbose"], 0, "--nvtxMode is the old name of --profilingVerbosity"),
    (["--nvtxMode=loud"], 1, "--nvtxMode: 'loud' is none of"),
    (["--minTiming=2"], 0, "--minTiming has no effect: --avgTiming says"),
    (["--heuristic"], 0, "--heuristic has no effect: they are below --builderOptimizationLevel=4"),
    (["--explicitBatch"], 0, "--explicitBatch has no effect: it always is"),
    (["--explicitPrecision"], 0, "--explicitPrecision has no effect: use --stronglyTyped"),
    (["--nativeInstanceNorm"], 0, "--nativeInstanceNorm has no effect: it always does"),
    (["--preview=+fasterDynamicShapes0805,-profileSharing0806"], 0, "--preview: fasterDynamicShapes0805 has no effect"),
    (["--preview=-disableExternalTacticSourcesForCore0805"], 0, "TacticSourcesForCore0805 has no effect"),
    (["--strictTypes"], 1, "it has become --precisionConstraints=obey"),
    (["--batch=8"], 1, "networks have the batch in their shapes; use --shapes"),
    (["--maxBatch=8"], 1, "networks have the batch in their shapes; use --shapes"),
    (["--uff=a.uff"], 1, "models are read from ONNX files; use --onnx"),
    (["--uffInput=x,3,2,2"], 1, "models are read from ONNX files; use --onnx"),
    (["--uffNHWC"], 1, "models are read from ONNX files; use --onnx"),
    (["--model=a.caffemodel"], 1, "models are read from ONNX files; use --onnx"),
    (["--deploy=a.prototxt"], 1, "models are read from ONNX files; use --onnx"),
    (["--output=y"], 1, "models are read from ONNX files; use --onnx"),
    (["--fp61"], 1, "Unknown option: --fp61. Did you mean '--fp16'?"),
    (["model.onnx"], 1, "A flag's value stands behind ="),
    (["--fp16=no"], 1, "--fp16 takes no value"),
    (["--fp16=1"], 0, "+FP16"),
    (["--iterations="], 1, "--iterations needs a value: --iterations=<N>"),
    (["--duration=1", "--duration=2"], 1, "--duration is given twice"),
]

# The engine says in its own words whether it can: a release may learn what the one before refused.
ENGINE_DECIDES = [
    ["--refit"],
    ["--stripWeights"],
    ["--stripAllWeights"],
    ["--weightless"],
    ["--versionCompatible"],
    ["--vc"],
    ["--allowWeightStreaming", "--stronglyTyped"],
    ["--errorOnTimingCacheMiss"],
    ["--distributiveIndependence"],
]

RUN = [
    (["--shapes=x:2x8"], 0, "Input binding for x with dimensions 2x8 is created."),
    (["--shapes=x:2y8"], 1, "'2y8' is not an extent"),
    (["--loadInputs=x:/nowhere"], 1, "cannot read '/nowhere'"),
    (["--iterations=12"], 0, "Iterations: 12"),
    (["--iterations=many"], 1, "--iterations: 'many' is not a whole number"),
    (["--sleepTime=20"], 0, "Sleep time: 20ms"),
    (["--idleTime=2"], 0, "Idle time: 2ms"),
    (["--infStreams=2"], 0, "Created 2 execution contexts"),
    (["--infStreams=0"], 1, "--infStreams=0 is not within 1 to 1024"),
    (["--streams=2"], 0, "--streams is the old name of --infStreams"),
    (["--exposeDMA"], 0, "ExposeDMA: Enabled"),
    (["--noDataTransfers"], 0, "Data transfers: Disabled"),
    (["--useManagedMemory"], 0, "Throughput"),
    (["--useSpinWait"], 0, "Spin-wait: Enabled"),
    (["--threads"], 0, "--threads has no effect with one stream"),
    (["--useCudaGraph"], 0, "CUDA Graph: Enabled"),
    (["--useCudaGraph", "--dumpProfile"], 0, "--useCudaGraph has no effect with a profile"),
    (["--timeDeserialize"], 0, "Total deserialization time"),
    (["--timeDeserialize", "--dumpOutput"], 0, "Nothing is run: times, profiles, outputs"),
    (["--separateProfileRun"], 0, "--separateProfileRun has no effect without --dumpProfile"),
    (["--dumpProfile", "--exportTimes=t"], 0, "--exportTimes writes nothing beside a profile"),
    (["--persistentCacheRatio=0.5"], 0, "--persistentCacheRatio has no effect: no part of a CPU's cache"),
    (["--persistentCacheRatio=2"], 1, "--persistentCacheRatio=2 is not within 0 to 1"),
    (["--useProfile=0"], 0, "Optimization Profile Index: 0"),
    (["--allocationStrategy=static"], 0, "Throughput"),
    (["--allocationStrategy=free"], 1, "'free' is none of static, profile, runtime"),
    (["--saveDebugTensors=x:a"], 1, "the engine has no debug tensor 'x'"),
    (["--saveAllDebugTensors=summary"], 0, "0 debug tensors are summed up"),
    (["--saveAllDebugTensors=jpeg"], 1, "'jpeg' is none of summary, numpy"),
    (["--avgRuns=3"], 0, "Trace averages of 3 runs:"),
    (["--percentile=101"], 1, "--percentile: 101 is not within 0 to 100"),
    (["--dumpOutput"], 0, "Output Tensors:"),
    (["--dumpRawBindingsToFile"], 0, "Writing output y to y.output.2.8.fp32.raw"),
    (["--dumpProfile"], 0, "=== Profile ("),
    (["--dumpLayerInfo"], 0, "Layer Information:"),
    (["--dumpOptimizationProfile"], 0, "Optimization Profile 0: input x: min=1x8, opt=2x8, max=16x8"),
    (["--exportTimes=/nowhere/a"], 1, "/nowhere/a"),
    (["--exportOutput=/nowhere/a"], 1, "/nowhere/a"),
    (["--exportProfile=/nowhere/a"], 1, "/nowhere/a"),
    (["--exportLayerInfo=/nowhere/a"], 1, "/nowhere/a"),
    (["--verbose"], 0, "What the figures mean"),
    (["--fp16"], 0, "--fp16 has no effect beside --loadEngine: nothing is built"),
    (["--memPoolSize=workspace:1"], 0, "--memPoolSize has no effect beside --loadEngine"),
    (["--onnx=/nowhere.onnx"], 0, "--onnx has no effect beside --loadEngine"),
    (["--setPluginsToSerialize=/nowhere.so"], 0, "--setPluginsToSerialize has no effect beside --loadEngine"),
    (["--saveEngine=a"], 1, "--loadEngine and --saveEngine exclude each other"),
    (["--exportTimes=a.json", "--exportOutput=a.json"], 1, "is the file of --exportTimes, which it would replace"),
    (["--leanDLLPath=/nowhere.so"], 1, "--leanDLLPath"),
    (["--leanDLLPath=libnvinfer_lean.so.10"], 0, "Throughput"),
    (["--useRuntime=lean"], 0, "Throughput"),
    (["--useRuntime=dispatch"], 0, "Throughput"),
    (["--getPlanVersionOnly"], 0, "10.16.0.72"),
    (["--dumpRefit"], None, ""),
    (["--timeRefit"], 1, "There is no model to take weights from"),
    (["--refitFromOnnx=/nowhere.onnx"], 1, ""),
    (["--duration=-0.5"], 1, "only -1, without end, is"),
    (["--warmUp=-1"], 1, "--warmUp=-1 is not within 0"),
]


def test_every_flag_of_the_table_has_a_case() -> None:
    text = trtexec("--help").stdout
    flags = set(re.findall(r"^  (-[-\w]+)", text, re.MULTILINE))
    words = [words for words, _, _ in BUILD + RUN] + ENGINE_DECIDES
    used = {word.split("=")[0] for each in words for word in each}
    elsewhere = {"--help", "-h", "--loadEngine", "--timingCacheFile", "--exportProfile"}
    assert flags - used - elsewhere == set()
    assert len(flags) > 130
    page = (ROOT / "docs" / "TRTEXEC.md").read_text()
    assert {flag for flag in flags if f"`{flag}`" not in page} == set()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("flags") / "m.onnx"
    save(path)
    (path.parent / "cache").write_bytes(b"TRT-101600-EntropyCalibration2\nx: 3c010a14\n")
    return path


@pytest.mark.parametrize(("words", "status", "said"), BUILD, ids=[" ".join(words) for words, _, _ in BUILD])
def test_flags_of_a_build(words: list[str], status: int | None, said: str, small: pathlib.Path) -> None:
    known = {word.split("=")[0] for word in words}
    words = [word.replace("CACHE", str(small.parent / "cache")) for word in words]
    model = [] if "--onnx" in known else [f"--onnx={small}"]
    shape = [] if any("Shapes" in flag and "Calib" not in flag for flag in known) else ["--shapes=x:2x8"]
    end = [] if known & {"--skipInference", "--buildOnly"} else ["--skipInference"]
    check([*model, *shape, *end, *words], status, said)


@pytest.mark.parametrize("words", ENGINE_DECIDES, ids=" ".join)
def test_flags_that_the_engine_decides(words: list[str], small: pathlib.Path) -> None:
    text = check([f"--onnx={small}", "--shapes=x:2x8", "--skipInference", *words], None, "")
    if "FAILED" in text or "not implemented" in text:
        assert re.search(r"\[[EW]\] .*(k[A-Z_]{5,}|[Ww]eight|[Rr]efit|cache)", text), text


@pytest.mark.parametrize(("words", "status", "said"), RUN, ids=[" ".join(words) for words, _, _ in RUN])
def test_flags_of_a_run(
    words: list[str], status: int | None, said: str, small: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    plan = small.with_suffix(".plan")
    if not plan.exists():
        shapes = ["--minShapes=x:1x8", "--optShapes=x:2x8", "--maxShapes=x:16x8"]
        trtexec(f"--onnx={small}", *shapes, f"--saveEngine={plan}", "--skipInference")
    known = {word.split("=")[0] for word in words}
    short = [word for word in SHORT if word.split("=")[0] not in known]
    check([f"--loadEngine={plan}", *short, *words], status, said, tmp_path)


def check(words: list[str], status: int | None, said: str, cwd: pathlib.Path | None = None) -> str:
    """A run that passes or fails as `status` says; None: either, and where it fails an error says why."""
    try:
        done = trtexec(*words, status=status or 0, cwd=cwd)
    except AssertionError:
        if status is not None:
            raise
        done = trtexec(*words, status=1, cwd=cwd)
    text = all_text(done)
    assert said in text, text
    assert ("[E] " in done.stderr) == (done.returncode != 0), text
    return text


def test_streamed_weights_go_where_temporary_files_may_be(small: pathlib.Path) -> None:
    words = [f"--onnx={small}", "--shapes=x:2x8", *SHORT, "--allowWeightStreaming", "--stronglyTyped"]
    check([*words, f"--tempdir={small.parent}", "--tempfileControls=in_memory:deny"], 0, "")
    check([*words, "--tempdir=/nowhere"], 1, "a temporary file in '/nowhere'")
    check([*words, "--tempfileControls=temporary:deny"], 1, "setTempfileControlFlags does not allow one")


def test_a_cache_has_the_range_of_an_input_in_int8(small: pathlib.Path) -> None:
    words = [f"--onnx={small}", "--shapes=x:2x8", "--skipInference", "--inputIOFormats=int8:chw", "--int8"]
    assert "Tensor 'x' is int8" not in check([*words, f"--calib={small.parent / 'cache'}"], 0, "")
    other = small.parent / "other_cache"
    other.write_bytes(b"TRT-101600-EntropyCalibration2\nxx: 3c010a14\n")
    check([*words, f"--calib={other}"], 0, "Tensor 'x' is int8")


def test_whole_numbers_in_int8_get_no_range(tmp_path: pathlib.Path) -> None:
    nodes = [helper.make_node("Gather", ["table", "ids"], ["y"])]
    infos = [helper.make_tensor_value_info("ids", TensorProto.INT32, [4])]
    table = numpy_helper.from_array(np.ones((8, 3), np.float32), "table")
    graph = helper.make_graph(nodes, "g", infos, [onnx.ValueInfoProto(name="y")], [table])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "m.onnx")
    text = check([f"--onnx={tmp_path / 'm.onnx'}", "--skipInference", "--inputIOFormats=int8:chw"], 1, "has type int8")
    assert "for which real numbers" not in text


def test_nothing_to_do_is_an_error() -> None:
    assert "there is nothing to run: give --onnx or --loadEngine" in trtexec("--fp16", status=1).stderr


@pytest.mark.parametrize("constraints", ["obey", "prefer"])
def test_types_of_all_layers_are_not_those_of_shapes_and_indices(constraints: str, tmp_path: pathlib.Path) -> None:
    """`*` means layers of real numbers: half of a model's layers compute extents, which are whole numbers."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "first"], ["batch"], name="batch"),
        helper.make_node("Concat", ["batch", "rest"], ["extents"], axis=0),
        helper.make_node("Reshape", ["x", "extents"], ["rows"]),
        helper.make_node("Relu", ["rows"], ["positive"], name="relu"),
        helper.make_node("TopK", ["positive", "two"], ["best", "where"]),
    ]
    numbers = {"first": [0], "rest": [8], "two": [2]}
    weights = [numpy_helper.from_array(np.array(value, np.int64), name) for name, value in numbers.items()]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 2, 4])]
    outputs = [
        helper.make_tensor_value_info("best", TensorProto.FLOAT, None),
        helper.make_tensor_value_info("where", TensorProto.INT64, None),
    ]
    graph = helper.make_graph(nodes, "extents", inputs, outputs, weights)
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    words = [f"--onnx={path}", "--shapes=x:3x2x4", "--fp16", f"--precisionConstraints={constraints}", "--dumpLayerInfo"]
    words += ["--layerPrecisions=*:fp16", "--profilingVerbosity=detailed", "--layerOutputTypes=*:fp16"]
    text = all_text(trtexec(*words, *SHORT))
    assert "FP16" in next(line for line in text.splitlines() if "relu" in line), text
    named = trtexec(*words[:-1], "--layerOutputTypes=batch:fp16", *SHORT, status=1)
    assert "'batch'" in named.stderr, "a layer that is named gets what is asked for"
