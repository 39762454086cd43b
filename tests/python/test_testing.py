"""tenon.testing: plugins written in Python under the checking host."""

import os
import pathlib
import subprocess
import sys
import threading
from collections.abc import Callable

import numpy as np
import pytest
import scaled_plugin
import small
import tenon
import tensorrt as trt
from scaled_plugin import ScaledDynamic, ScaledDynamicCreator, ScaledV3, ScaledV3Creator, view
from tenon import testing
from tenon.plugin_check import _numbers

SHAPES = [((1, 3, 4), (2, 3, 4), (5, 3, 4))]
BOTH = pytest.mark.parametrize("creator", [ScaledV3Creator, ScaledDynamicCreator])


def creator_of(base: type, **methods: object) -> object:
    """A creator of a class that differs from the sound one by these methods."""
    made_by = ScaledV3Creator if base is ScaledV3 else ScaledDynamicCreator
    plugin = type("Faulty" + base.__name__, (base,), methods)
    return type("FaultyCreator", (made_by,), {"make": plugin})()


@BOTH
def test_a_sound_plugin_passes(creator: type) -> None:
    report = testing.check_plugin(
        creator(), shapes=SHAPES, fields={"factor": np.float32(3.5)}, reference=lambda x: x * np.float32(3.5)
    )
    assert report, report
    assert report.combinations == 1 and report.runs > 20
    assert report.plugin["generation"] == ("V3" if creator is ScaledV3Creator else "V2DynamicExt")
    assert str(report) == "no findings"


@pytest.mark.parametrize("plugin", [ScaledV3, ScaledDynamic])
def test_objects_and_classes_are_checked_too(plugin: type) -> None:
    creator = ScaledV3Creator() if plugin is ScaledV3 else ScaledDynamicCreator()
    mine = plugin(1.25)
    assert testing.check_plugin(mine, shapes=SHAPES, creator=creator, reference=lambda x: x * np.float32(1.25))
    assert mine.factor == 1.25
    alone = testing.check_plugin(plugin, shapes=SHAPES)
    assert alone and any("not read again" in note for note in alone.notes)


@pytest.mark.parametrize("base, rule", [(ScaledV3, "L6"), (ScaledDynamic, "K10")])
def test_K10_L6_a_clone_that_forgets_a_member(base: type, rule: str) -> None:
    creator = creator_of(base, clone=lambda self: type(self)())
    report = testing.check_plugin(creator, shapes=SHAPES, fields={"factor": np.float32(3.0)})
    assert [(each.check, each.rule, each.callback) for each in report.findings] == [("clone-carries", rule, "clone")]


@pytest.mark.parametrize("base", [ScaledV3, ScaledDynamic])
def test_an_unwritten_tail(base: type) -> None:
    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        x, y = view(inputs[0], input_desc[0]), view(outputs[0], output_desc[0])
        y.reshape(-1)[:-1] = x.reshape(-1)[:-1] * np.float32(self.factor)

    report = testing.check_plugin(creator_of(base, enqueue=enqueue), shapes=SHAPES)
    assert [(each.check, each.callback) for each in report.findings] == [("output-written", "enqueue")]


@pytest.mark.parametrize("base, rule", [(ScaledV3, "L17"), (ScaledDynamic, "J10")])
def test_J10_L17_an_answer_that_depends_on_later_positions(base: type, rule: str) -> None:
    def looks_ahead(self, pos, in_out, num_inputs):
        ports = [port.desc for port in in_out] if base is ScaledV3 else in_out
        return scaled_plugin.is_fitting(ports[pos]) and ports[-1].type != trt.int8

    report = testing.check_plugin(creator_of(base, supports_format_combination=looks_ahead), shapes=SHAPES)
    assert [(each.check, each.rule, each.callback) for each in report.findings] == [
        ("looks-ahead", rule, "supports_format_combination")
    ]


@pytest.mark.parametrize("base", [ScaledV3, ScaledDynamic])
def test_M3_exceptions_become_findings_with_their_traceback(base: type, capfd: pytest.CaptureFixture[str]) -> None:
    def enqueue(self, *arguments):
        raise ValueError("an illegal value")

    report = testing.check_plugin(creator_of(base, enqueue=enqueue), shapes=SHAPES)
    assert [(each.check, each.rule, each.callback) for each in report.findings] == [("raises", "M3", "enqueue")]
    assert "ValueError: an illegal value" in report.findings[0].what and "test_testing.py" in report.findings[0].what
    assert "Traceback" not in capfd.readouterr().err


def test_M3_exceptions_that_no_code_tells_are_findings() -> None:
    def configure(self, inputs, outputs):
        raise KeyError("forgotten")

    report = testing.check_plugin(creator_of(ScaledDynamic, configure_plugin=configure), shapes=SHAPES)
    assert report.has("raises", "configure_plugin"), report
    assert "KeyError: 'forgotten'" in str(report)


def test_the_reference_is_compared_and_may_raise() -> None:
    report = testing.check_plugin(ScaledV3Creator(), shapes=SHAPES, reference=lambda x: x * 2.0 + 1.0)
    assert [(each.check, each.callback) for each in report.findings] == [("reference", "enqueue")]
    with pytest.raises(ValueError, match="the shape"):
        testing.check_plugin(ScaledV3Creator(), shapes=SHAPES, reference=lambda x: x[0])

    def raising(x: np.ndarray) -> np.ndarray:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        testing.check_plugin(ScaledV3Creator(), shapes=SHAPES, reference=raising)


def test_a_crash_is_a_finding_in_a_child_process() -> None:
    program = (
        "import ctypes, sys; sys.path.insert(0, sys.argv[1])\n"
        "import scaled_plugin\n"
        "from tenon import testing\n"
        "class Crashing(scaled_plugin.ScaledV3):\n"
        "    def enqueue(self, *arguments):\n"
        "        ctypes.string_at(0)\n"
        "class Creator(scaled_plugin.ScaledV3Creator):\n"
        "    make = Crashing\n"
        "report = testing.check_plugin(Creator(), shapes=[(2, 3)], isolated=True)\n"
        "print([(each.check, each.callback) for each in report.findings])\n"
    )
    folder = str(pathlib.Path(__file__).parent)
    command = [sys.executable, "-c", program, folder]
    done = subprocess.run(command, capture_output=True, text=True, timeout=small.PATIENCE)
    assert done.stdout.strip() == "[('crashes', 'enqueue')]", done.stdout + done.stderr


@pytest.mark.parametrize("leave", [lambda: os._exit(0), lambda: sys.exit(0)])
def test_a_callback_that_ends_the_process_is_a_finding(leave: Callable[[], None]) -> None:
    enqueue = lambda self, *arguments: leave()  # noqa: E731
    report = testing.check_plugin(creator_of(ScaledV3, enqueue=enqueue), shapes=SHAPES)
    assert [(each.check, each.callback) for each in report.findings] == [("ends-process", "enqueue")], report
    assert "test_testing.py" in report.findings[0].what


def test_exit_out_of_c_code_is_no_success() -> None:
    program = (
        "import ctypes, sys; sys.path.insert(0, sys.argv[1])\n"
        "import scaled_plugin\n"
        "from tenon import testing\n"
        "class Creator(scaled_plugin.ScaledV3Creator):\n"
        "    class make(scaled_plugin.ScaledV3):\n"
        "        def enqueue(self, *arguments):\n"
        "            getattr(ctypes.CDLL(None), sys.argv[2])(0)\n"
        "report = testing.check_plugin(Creator(), shapes=[(2, 3)], isolated=len(sys.argv) > 3)\n"
        "print([(each.check, each.callback) for each in report.findings])\n"
    )
    command = [sys.executable, "-c", program, str(pathlib.Path(__file__).parent)]
    done = subprocess.run([*command, "exit"], capture_output=True, text=True, timeout=small.PATIENCE)
    assert done.returncode == 1 and "ended the process by exit() in enqueue()" in done.stderr, done.stderr
    for how in ("exit", "_exit"):
        done = subprocess.run([*command, how, "isolated"], capture_output=True, text=True, timeout=small.PATIENCE)
        assert done.stdout.strip() == "[('ends-process', 'enqueue')]", done.stdout + done.stderr


def test_L4_field_names_that_the_creator_does_not_know_are_findings() -> None:
    report = testing.check_plugin(ScaledV3Creator(), shapes=SHAPES, fields={"facter": np.float32(3.0)})
    assert [(each.check, each.rule, each.callback) for each in report.findings] == [
        ("unknown-field", "L4", "field_names")
    ]
    assert "'facter', and the creator advertises 'factor'" in report.findings[0].what
    with pytest.raises(ValueError, match="give the creator in place of the plugin"):
        testing.check_plugin(ScaledV3(), shapes=SHAPES, fields={"factor": np.float32(3.0)})


@BOTH
def test_K9_workspaces_that_grow_with_smaller_shapes(creator: type) -> None:
    def get_workspace_size(self, inputs, outputs):
        rows = (inputs[0].max if creator is ScaledV3Creator else inputs[0].dims)[0]
        return 64 * (6 - rows)

    report = testing.check_plugin(creator_of(creator.make, get_workspace_size=get_workspace_size), shapes=SHAPES)
    assert [(each.check, each.rule, each.callback) for each in report.findings] == [
        ("workspace-largest", "K9", "get_workspace_size")
    ]


def test_a_module_is_checked_with_all_its_creators() -> None:
    reports = testing.check_module(scaled_plugin, shapes=SHAPES, fields={"factor": np.float32(0.5)})
    assert sorted(report.plugin["name"] for report in reports) == ["ScaledDynamic", "ScaledV3"]
    assert all(reports), reports


def plugin_check(*arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "tenon.plugin_check", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=small.PATIENCE)


def test_the_command_for_modules(tmp_path: pathlib.Path) -> None:
    path = scaled_plugin.__file__
    done = plugin_check(path, "--creator", "ScaledV3:1", "--fields", "factor=1.5", "--shapes", "1x4:2x4:3x4")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "'ScaledV3' version '1'" in done.stdout and "nothing found" in done.stdout
    faulty = tmp_path / "faulty.py"
    text = pathlib.Path(path).read_text()
    faulty.write_text(text.replace("copy.__dict__.update(self.__dict__)", "pass", 1))
    done = plugin_check(str(faulty), "--fields", "factor=1.5", "--shapes", "2x4")
    assert done.returncode == 1
    assert "clone: clone-carries, rule L6" in done.stdout, done.stdout + done.stderr
    for number in ("2.7", "3000000000"):
        with pytest.raises(ValueError, match=number):
            _numbers(number, "int32")
    assert _numbers(f"{2**53 + 1}", "int64").tolist() == [2**53 + 1] and _numbers("1e3:2", "float32").tolist() == [
        1e3,
        2,
    ]
    done = plugin_check(path, "--creator", "Nothing")
    assert done.returncode == 1 and "has no creator 'Nothing'" in done.stderr
    done = plugin_check(path, "--fields", "scale=1")
    assert done.returncode == 1 and "has the fields factor" in done.stderr


def test_what_cannot_begin_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="goes from 3 over 2"):
        testing.check_plugin(ScaledV3Creator(), shapes=[((3, 4), (2, 4), (5, 4))])
    with pytest.raises(ValueError, match="three of them"):
        testing.check_plugin(ScaledV3Creator(), shapes=[((3, 4), (2, 4))])
    assert tenon.IPluginV3 is trt.IPluginV3


def test_inputs_can_be_filled() -> None:
    seen: list[tuple[int, tuple[int, ...]]] = []

    def fill(number: int, contents: np.ndarray) -> np.ndarray:
        seen.append((number, contents.shape))
        return np.full(contents.shape, 3.0)

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        x = view(inputs[0], input_desc[0])
        assert (x == 3.0).all()
        view(outputs[0], output_desc[0])[...] = x

    creator = creator_of(ScaledV3, enqueue=enqueue)
    assert testing.check_plugin(creator, shapes=SHAPES, fill=fill)
    assert (0, (2, 3, 4)) in seen and (0, (0, 3, 4)) in seen
    assert not testing.check_plugin(creator, shapes=SHAPES)
    with pytest.raises(ValueError):
        testing.check_plugin(creator, shapes=SHAPES, fill=lambda number, contents: np.zeros((9, 9)))


def test_fields_have_the_types_that_the_creator_advertises() -> None:
    report = testing.check_plugin(ScaledV3Creator(), shapes=SHAPES, fields={"factor": 3}, reference=lambda x: 3 * x)
    assert report, report


def test_functions_are_checked_through_their_creators() -> None:
    import tensorrt.plugin as trtp

    @trtp.register("checked::scale")
    def scale(x: trtp.TensorDesc, factor: float) -> trtp.TensorDesc:
        return x.like()

    @trtp.impl("checked::scale")
    def scale_impl(x: trtp.Tensor, factor: float, outputs: tuple[trtp.Tensor], stream: int) -> None:
        np.multiply(np.asarray(x), np.float32(factor), out=np.asarray(outputs[0]))

    @trtp.register("checked::compiled")
    def compiled(x: trtp.TensorDesc) -> trtp.TensorDesc:
        return x.like()

    @trtp.aot_impl("checked::compiled")
    def compiled_aot(
        x: trtp.TensorDesc, outputs: tuple[trtp.TensorDesc], tactic: int
    ) -> tuple[str | bytes, str | bytes, trtp.KernelLaunchParams, trtp.SymIntExprs]:
        return "compiled", "", trtp.KernelLaunchParams(), trtp.SymIntExprs(0)

    registry = trt.get_plugin_registry()
    creator = registry.get_creator("scale", "1", "checked")
    given = {"shapes": SHAPES, "namespace": "checked"}
    report = testing.check_plugin(creator, fields={"factor": 2.0}, reference=lambda x: 2 * x, **given)
    assert report and report.runs > 20, report
    report = testing.check_plugin(registry.get_creator("compiled", "1", "checked"), **given)
    assert [each.check for each in report.findings] == ["compiled-ahead"], report


def test_libraries_are_checked_from_python() -> None:
    library = pathlib.Path(tenon.__file__).parents[2] / "lib" / "libtenon_pad_library.so"
    if not library.exists():
        pytest.skip("the library of the C++ tests is not built here")
    done = plugin_check(str(library), "--creator", "CircPadV3", "--fields", "before=1:2,after=0:3")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "'CircPadV3' version '1' namespace '' (V3)" in done.stdout and "nothing found" in done.stdout
    done = plugin_check("/no/such/library.so")
    assert done.returncode == 1 and "cannot be loaded as a library of plugins" in done.stderr


def forked(program: str, *arguments: str) -> subprocess.CompletedProcess:
    """A program of its own: what goes wrong makes processes."""
    begin = (
        "import multiprocessing, os, sys, threading; sys.path.insert(0, sys.argv[1])\n"
        "import scaled_plugin\n"
        "from tenon import testing\n"
        "fork, mine, alone = multiprocessing.get_context('fork'), os.getpid(), threading.Lock()\n"
        "def child(end=None):\n"
        "    with alone:  # Starting a process collects those of other threads: their join() has no code to tell.\n"
        "        process = fork.Process(target=end or (lambda: None)); process.start(); process.join()\n"
        "        assert process.exitcode == (0 if end is None else 3), process.exitcode\n"
        "def with_enqueue(function):\n"
        "    def enqueue(self, *arguments):\n"
        "        function()\n"
        "        scaled_plugin.ScaledV3.enqueue(self, *arguments)\n"
        "    made = type('Forking', (scaled_plugin.ScaledV3,), {'enqueue': enqueue})\n"
        "    return type('Creator', (scaled_plugin.ScaledV3Creator,), {'make': made})()\n"
        "def show(report):\n"
        "    print(os.getpid() == mine, [(each.check, each.callback) for each in report.findings], flush=True)\n"
    )
    command = [sys.executable, "-c", begin + program, str(pathlib.Path(__file__).parent), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=small.PATIENCE)


@pytest.mark.parametrize(
    "leaves", ["", "lambda: os._exit(3)", "lambda: sys.exit(3)"], ids=["returns", "by os._exit", "by sys.exit"]
)
def test_children_that_callbacks_fork_end_as_they_like(leaves: str) -> None:
    done = forked(
        f"show(testing.check_plugin(with_enqueue(lambda: child({leaves})), shapes=[(2, 3)]))\n"
        f"twice = lambda x: (child({leaves}), 2 * x)[1]\n"
        "show(testing.check_plugin(scaled_plugin.ScaledV3Creator(), shapes=[(2, 3)], reference=twice))\n"
    )
    assert done.stdout == "True []\nTrue []\n" and done.returncode == 0, done.stdout + done.stderr


def test_a_child_of_a_bare_fork_ends_by_sys_exit() -> None:
    done = forked(
        "def bare():\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        sys.exit(5)\n"
        "    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5\n"
        "show(testing.check_plugin(with_enqueue(bare), shapes=[(2, 3)]))\n"
    )
    assert done.stdout == "True []\n" and done.returncode == 0, done.stdout + done.stderr


def test_ending_the_process_out_of_the_librarys_thread_is_a_finding() -> None:
    def enqueue(self, *arguments):
        if threading.current_thread() is not threading.main_thread():  # Which makes Python know the thread.
            os._exit(5)
        ScaledV3.enqueue(self, *arguments)

    report = testing.check_plugin(creator_of(ScaledV3, enqueue=enqueue), shapes=SHAPES)
    assert report.has("ends-process", "enqueue"), report


def test_what_destructors_raise_is_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[BaseException] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: raised.append(unraisable.exc_value))

    class Bad:
        def __del__(self) -> None:
            raise OSError("of the test's own")

    def reference(x: np.ndarray) -> np.ndarray:
        Bad()
        return 2 * x

    report = testing.check_plugin(ScaledV3Creator(), shapes=SHAPES, reference=reference)
    assert report, report
    assert raised and all(isinstance(each, OSError) for each in raised)


def test_an_exception_that_comes_of_a_system_exit_does_not_end_the_process() -> None:
    def configure(self, inputs, outputs):
        try:
            sys.exit("the tool said no")
        except SystemExit as end:
            raise ValueError("the tool failed") from end

    report = testing.check_plugin(creator_of(ScaledV3, configure_plugin=configure), shapes=SHAPES)
    assert [(each.check, each.callback) for each in report.findings] == [("raises", "configure_plugin")], report


@pytest.mark.parametrize(
    "reference", [lambda x: None, lambda x: x[0], lambda x: (x, x), lambda x: "abc", lambda x: nonsense(x)]
)
def test_a_reference_that_fails_in_a_child_process_is_no_success(reference: Callable[..., object]) -> None:
    report = testing.check_plugin(ScaledV3Creator(), shapes=SHAPES, reference=reference, isolated=True)
    assert [(each.check, each.callback) for each in report.findings] == [("reference", "enqueue")], report
    assert "the reference function failed" in str(report)


def nonsense(*arguments: object) -> None:
    raise NameError("a typo of mine")


def test_what_a_function_raised_in_a_child_process_is_told() -> None:
    for key, check in (("reference", "reference"), ("fill", "fill")):
        report = testing.check_plugin(ScaledV3Creator(), shapes=SHAPES, isolated=True, **{key: nonsense})
        assert [each.check for each in report.findings] == [check] and "NameError: a typo of mine" in str(report)


def test_L3_creators_are_registered_under_their_own_namespace_unless_another_is_given() -> None:
    def spaced(self, factor: float = 2.0) -> None:
        ScaledV3.__init__(self, factor)
        self.plugin_namespace = "x"

    creator = creator_of(ScaledV3, __init__=spaced)
    creator.plugin_namespace = "x"
    assert testing.check_plugin(creator, shapes=SHAPES)
    assert testing.check_plugin(creator, shapes=SHAPES, namespace="x")
    report = testing.check_plugin(creator, shapes=SHAPES, namespace="")
    assert [(each.check, each.rule, each.callback) for each in report.findings] == [("names", "L3", "plugin_namespace")]
    report = testing.check_plugin(ScaledV3Creator(), shapes=SHAPES, namespace="x")
    assert report.has("names", "plugin_namespace"), "no plan would find it"


@pytest.mark.parametrize("isolated", [False, True])
def test_what_a_creator_raised_stands_in_the_report(isolated: bool) -> None:
    class Refusing(ScaledV3Creator):
        def create_plugin(self, name, field_collection, phase):
            raise ValueError("no row 7")

    report = testing.check_plugin(Refusing(), shapes=SHAPES, isolated=isolated)
    assert "ValueError: no row 7" in str(report) and report.plugin["name"] == "ScaledV3", report


def test_what_is_neither_plugin_nor_creator_is_a_type_error() -> None:
    for other in (None, 5, object(), int):
        with pytest.raises(TypeError, match="neither a plugin nor a creator"):
            testing.check_plugin(other, shapes=SHAPES)


def test_modules_may_be_checked_again(tmp_path: pathlib.Path) -> None:
    here = pathlib.Path(__file__).parent
    registering = tmp_path / "registering.py"
    registering.write_text(
        f"import sys; sys.path.insert(0, {str(here)!r})\n"
        "import scaled_plugin, tenon\n"
        "class Plugin(scaled_plugin.ScaledV3):\n"
        "    def __init__(self, factor=2.0):\n"
        "        super().__init__(factor); self.plugin_name = 'Registered'\n"
        "class Creator(scaled_plugin.ScaledV3Creator):\n"
        "    make = Plugin\n"
        "    def __init__(self, name):\n"
        "        super().__init__(); self.name = name\n"
        "tenon.get_plugin_registry().register_creator(Creator('Registered'), '')\n"
    )
    decorated = tmp_path / "decorated.py"
    decorated.write_text(
        "import numpy as np, tensorrt.plugin as trtp\n"
        "@trtp.register('again::dup')\n"
        "def dup(x: trtp.TensorDesc) -> trtp.TensorDesc: return x.like()\n"
        "@trtp.impl('again::dup')\n"
        "def dup_impl(x: trtp.Tensor, outputs: tuple[trtp.Tensor], stream: int) -> None:\n"
        "    np.asarray(outputs[0])[...] = np.asarray(x)\n"
    )
    for path, name in ((registering, "Registered"), (decorated, "dup")):
        for _ in range(2):
            reports = testing.check_module(path, shapes=[(2, 3)])
            assert [report.plugin["name"] for report in reports] == [name] and all(reports), reports
    library = pathlib.Path(tenon.__file__).parents[2] / "lib" / "libtenon_own_library.so"
    if library.exists():
        counts = [len(testing.check_module(library, shapes=[(1, 3, 8, 8)])) for _ in range(2)]
        assert counts == [3, 3]


def test_a_module_that_ends_itself_is_an_import_error(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import sys; sys.exit(0)\n")
    with pytest.raises(ImportError, match="ends the process .*when it is imported"):
        testing.check_module(script, shapes=SHAPES)
    done = plugin_check(str(script))
    assert done.returncode == 1 and "tenon.plugin_check: " in done.stderr and "__main__" in done.stderr
    script.write_text("1 / 0\n")
    done = plugin_check(str(script))
    assert done.returncode == 1 and f"tenon.plugin_check: {script}: ZeroDivisionError" in done.stderr
