# The front door. On a fresh Debian 12 machine `make demo` and `make test` install what they need and do their job.
BUILD ?= build
PYTHON := .venv/bin/python
IMAGE ?=
JOBS ?= $(shell nproc)

# Sources are compiled in batches, each of which reads the headers once (docs/decisions/0011): UNITY=OFF for one by one.
UNITY ?= ON
# Printed before each step of a build: steps done and to do, seconds so far.
export NINJA_STATUS := [%f of %t, %es] 
NINJA := ninja -j $(JOBS)
CONFIGURE = @echo "$(1): configuring (log: $(1).configure.log)"; \
    cmake -S . -B $(1) -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=$(UNITY) \
    -DPython_EXECUTABLE=$(abspath $(PYTHON)) $(2) > $(1).configure.log 2>&1 || (cat $(1).configure.log; exit 1)

# SHORT=1 gives the long runs a short form.
FUZZ := $(if $(SHORT),3000,100000)
ROUNDS := $(if $(SHORT),400,8000)

# All checks of undefined behaviour in the long form only: they make the build half as long again, and what a null or
# misaligned address would do shows under AddressSanitizer, too. Not `vptr`: cmake/TenonToolchain.cmake says why.
# Kernels are the same sources at every instruction set: the short form looks at the narrowest, which all machines have.
CHECKS := address,return,bounds,shift,signed-integer-overflow,integer-divide-by-zero,float-cast-overflow,bool,enum
SANITIZED_ISAS := avx2
ifndef SHORT
CHECKS := address,undefined,float-cast-overflow
SANITIZED_ISAS := avx2;avx512
endif
# The longest first: they run side by side.
SANITIZED := test_fuzz test_api test_backends test_plugins test_runtime test_contract test_device test_base test_plan test_hostrt
ifndef SHORT
SANITIZED += test_layers test_passes test_planner test_onnx test_soak test_verification test_headers
# Not tests/install: what it builds and installs is another build, without sanitizers.
SANITIZED_PYTHON := tests/python tests/onnx tests/hostrt tests/hostcuda tests/cli tests/models
endif

# What the tests of servers need: SHORT=1 leaves out Ray and the example's, and runs the faults of callers only.
SERVING := $(addprefix python/serving_distribution/requirements-test,.txt $(if $(SHORT),,-ray.txt))
SERVING_RELEASES := python/serving_distribution/constraints-test.txt
SERVING_TESTS := "tests/serving --ignore tests/serving/on_ray" tests/serving/on_ray
ifdef SHORT
SERVING_TESTS := "$(addprefix tests/serving/,$(addprefix server/test_,faults.py held.py hostile.py hostile_folders.py) \
    test_extents.py test_unhurried.py)"
endif

.PHONY: help setup configure libraries program build demo docs models clean format
.PHONY: test serving-test serving-environment onnx-report cuda-test check fuzz random sanitize sanitize-threads soak
.PHONY: bench bench-overhead bench-plugins bench-serving

help: ## List the commands.
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

setup: ## Install Debian packages and the Python environment.
	@tools/setup

# The demo is content with the kernels that this machine can run; whatever else is made completes them.
demo: NARROW := -DTENON_WHOLE=OFF

configure: $(BUILD)/build.ninja
	@if [ -z "$(NARROW)" ] && grep -q '^TENON_WHOLE:BOOL=OFF' $(BUILD)/CMakeCache.txt; then \
	    echo "$(BUILD): configuring for all machines, as make demo has left out what this one cannot run"; \
	    cmake -S . -B $(BUILD) -DTENON_WHOLE=ON > $(BUILD).configure.log 2>&1 || (cat $(BUILD).configure.log; exit 1); fi

$(BUILD)/build.ninja: | setup
	$(call CONFIGURE,$(BUILD),$(NARROW))

libraries: configure ## Build what an installation holds, and the Python packages.
	@echo "$(BUILD): building libraries and Python packages"
	@$(NINJA) -C $(BUILD) tenon_package tenon_native
	@tools/link_python $(BUILD)

program: libraries ## Build all of that and the command line programs, tenon and trtexec.
	@$(NINJA) -C $(BUILD) tenon_cli tenon_trtexec

build: configure ## Build all of that and the tests.
	@echo "$(BUILD): building everything"
	@$(NINJA) -C $(BUILD)
	@tools/link_python $(BUILD)

# What is tried and measured here is the CPU; `make cuda-test` tries the GPU.
test soak sanitize sanitize-threads random fuzz serving-test onnx-report bench bench-%: export TENON_DEVICE := $(or $(TENON_DEVICE),cpu)

docs: program ## Make the documentation a folder of pages (build/docs/site/index.html).
	@$(PYTHON) tools/docs_site $(BUILD)

models: setup ## Fill the model graphs with seeded weights (into build/models).
	@$(PYTHON) tests/models/materialize.py $(BUILD)/models

demo: libraries ## Read a scanned page: IMAGE=… for one of your own.
	@$(PYTHON) examples/ocr/read_page.py $(if $(IMAGE),--image "$(IMAGE)")

test: build models ## Run all tests: what fails by chance runs once more and is named (STRICT=1: fails).
	@tools/once_more ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)
	@tools/once_more $(PYTHON) -m pytest -q -n $(JOBS) --maxprocesses 4 --dist loadfile tests

serving-environment: program # With KServe, Ray and Triton's client: build/serving-env.
	@cat $(SERVING) $(SERVING_RELEASES) | cmp -s - $(BUILD)/serving-env/ready || { \
	    $(PYTHON) -m venv $(BUILD)/serving-env && \
	    $(BUILD)/serving-env/bin/pip install -q --no-compile $(addprefix -r ,$(SERVING)) -c $(SERVING_RELEASES) && \
	    cat $(SERVING) $(SERVING_RELEASES) > $(BUILD)/serving-env/ready; }

serving-test: serving-environment ## The tests of servers, Ray and KServe, in an environment of their own: SHORT=1 for faults.
	@export PYTHONPATH=$(abspath $(BUILD))/python; for part in $(SERVING_TESTS); do \
	    timeout $(if $(SHORT),2700,5400) tools/once_more $(BUILD)/serving-env/bin/python -m pytest -q $$part || exit 1; done

onnx-report: program ## Which ONNX operators pass the onnx package's tests, into docs/ONNX.md.
	@PYTHONPATH=$(BUILD)/python $(PYTHON) tests/onnx/report.py

cuda-test: build ## Try the CUDA backend on this machine's GPU: the conformance suite, a line per part.
	@tools/cuda_test --build $(BUILD) --skip-build

check: program ## Format, include arrows, headers, API tables, exports, seeds, lint and types of Python.
	@tools/check $(BUILD)

bench: program models ## Speed beside ONNX Runtime and OpenVINO.
	@$(PYTHON) benchmarks/models.py $(BENCH)

bench-plugins: program ## What a call of a custom layer costs.
	@$(NINJA) -C $(BUILD) tenon_idle_library
	@$(PYTHON) benchmarks/plugins.py

bench-overhead: build models ## What an execution context costs beside its layers, on one thread.
	@TENON_THREADS=1 TENON_FUSION=off $(BUILD)/bin/tenon_bench_overhead
	@TENON_THREADS=1 TENON_FUSION=on $(BUILD)/bin/tenon_bench_overhead $(BUILD)/models/bert_base.onnx

bench-serving: serving-environment models ## Servers under load, beside ONNX Runtime's, and pictures by one and two workers of Ray: 20 minutes.
	@export PYTHONPATH=$(abspath $(BUILD))/python; $(BUILD)/serving-env/bin/python benchmarks/serving.py --seconds 4 && \
	    $(BUILD)/serving-env/bin/python benchmarks/ray_batches.py

sanitize: setup ## Tests and fuzzers under AddressSanitizer and UndefinedBehaviorSanitizer: SHORT=1 for some, in C++ only.
	$(call CONFIGURE,$(BUILD)-asan,-DTENON_SANITIZE=$(CHECKS) \
	    '-DTENON_SANITIZED_ISAS=$(SANITIZED_ISAS)' -DTENON_PYTHON=$(if $(SHORT),OFF,ON) -DTENON_TOOLS=$(if $(SHORT),OFF,ON))
	@$(NINJA) -C $(BUILD)-asan $(if $(SHORT),$(SANITIZED) test_onnx)
	@echo "$(BUILD)-asan: running $(SANITIZED)"
	@export $(if $(SHORT),TENON_ISA=avx2) TENON_FUZZ_PLANS=$(if $(SHORT),5000,$(FUZZ)) TENON_FUZZ_PLUGINS=$(if $(SHORT),3000,10000); \
	    printf '%s\n' $(SANITIZED) | xargs -P $(JOBS) -I{} \
	    env $(BUILD)-asan/bin/{} --gtest_brief=1
	@$(if $(SHORT),$(BUILD)-asan/bin/test_onnx --gtest_brief=1 --gtest_filter='OnnxFuzz.*')
	@$(if $(SHORT),,ctest --test-dir $(BUILD)-asan --output-on-failure -R '^guarded\.')
	@[ -z "$(SANITIZED_PYTHON)" ] || LD_PRELOAD=$$(cat $(BUILD)-asan/preloaded) ASAN_OPTIONS=detect_leaks=0 \
	    TENON_BUILD=$(abspath $(BUILD)-asan) PYTHONPATH=$(abspath $(BUILD)-asan/python) \
	    $(PYTHON) -m pytest -q $(SANITIZED_PYTHON)

sanitize-threads: setup ## Thread tests under ThreadSanitizer: the team, contexts side by side (TENON_SOAK_MODELS=… real models, too).
	$(call CONFIGURE,$(BUILD)-tsan,-DTENON_SANITIZE=thread -DTENON_PYTHON=OFF -DTENON_TOOLS=OFF)
	@$(NINJA) -C $(BUILD)-tsan test_base test_backends test_api test_runtime test_device test_contract test_hostrt test_soak test_plugins
	@export TENON_THREADS=1 TSAN_OPTIONS=halt_on_error=1 TENON_SOAK_RUNS=30000; set -f; \
	    for run in "test_base *" "test_backends TeamRun.*" "test_api Refit.* RefitOfBodies.* Threads.* StreamRules.* Lifetimes.* Profiled.* Debug.*" \
	        "test_runtime Streams.* Threads* Timed.*" "test_device *" "test_contract *" "test_hostrt *" "test_soak *" \
	        "test_plugins *Thread* *thread* *Context* *context*"; do \
	        tools/run_tests $(BUILD)-tsan/bin/$$run || exit 1; done

soak: build models ## Long runs: contexts side by side, fuzzing, changes of shape, threads, wheels: SHORT=1 for less.
	@TENON_SOAK_MODELS=$(BUILD)/models TENON_SOAK_RUNS=$(if $(SHORT),6000,30000) $(BUILD)/bin/test_soak --gtest_brief=1
	@TENON_FUZZ_PLANS=$(FUZZ) TENON_FUZZ_SEED=$(if $(SHORT),1,$$(date +%s)) $(BUILD)/bin/test_fuzz --gtest_brief=1
	@TENON_SOAK_ROUNDS=$(ROUNDS) $(PYTHON) -m pytest -q tests/soak/soak_models.py tests/soak/soak_counts.py $(if $(SHORT),,tests/soak/soak_wheels.py)

fuzz: program ## Changed ONNX models, parsed, built and run: 100,000 of them or 30 minutes (MODELS=…, MINUTES=…).
	@PYTHONPATH=$(abspath $(BUILD))/python $(PYTHON) tests/onnx/fuzz.py --models $(or $(MODELS),100000) --minutes $(or $(MINUTES),30)

random: configure ## Random networks beside the references: 5000 graphs at AVX2 and at all that the machine has (RANDOM=500: so many).
	@$(NINJA) -C $(BUILD) test_random
	@for isa in avx2 amx; do TENON_ISA=$$isa TENON_RANDOM_GRAPHS=$(or $(RANDOM),5000) $(BUILD)/bin/test_random --gtest_brief=1 || exit 1; done

format: ## Format all C++ and Python sources.
	@git ls-files '*.cpp' '*.h' | xargs clang-format -i
	@$(PYTHON) -m ruff format python tests tools benchmarks examples importers

clean: ## Remove the build folder.
	@rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-tsan
