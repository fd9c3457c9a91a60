# gamut: what GPU programs do with memory. `make help` lists the targets.

BUILD   ?= build
Q       := $(if $(V),,@)# make V=1 shows the commands
CC      ?= gcc
OBJCOPY ?= objcopy
OPT     ?= -O2 -g
# The folder that `make install` installs below; packagers set DESTDIR, which is put in front of it.
PREFIX  ?= /usr/local
CUDA_PATH ?= /usr/local/cuda
# release, debug (allocators check themselves after every operation), sanitize (debug with ASan and UBSan) or thread (debug with TSan)
FLAVOUR ?= release

# Builds take every processor, unless make was told how many. A make that is told hears of it here, or by a flag that wins over this one.
ifeq ($(filter -j%,$(MAKEFLAGS) $(shell echo "$$MAKEFLAGS")),)
MAKEFLAGS += -j$(shell nproc)
endif
# Of several goals each is made after the one before it, by a make of its own: what `setup` installs is there when the next one looks for it.
ifneq ($(and $(word 2,$(MAKECMDGOALS)),$(strip $(foreach g,$(MAKECMDGOALS),$(if $(findstring /,$(g)),,$(g))))),)
.NOTPARALLEL:
.PHONY: $(MAKECMDGOALS)
$(MAKECMDGOALS):
	@$(MAKE) --no-print-directory $@
else

VERSION   := 0.2.0
# git writes the revision and its time into .revision when it archives a tree: an archive knows what it is of, but not whether it was
# changed since. "": not known.
REVISION  := $(or $(shell grep -sv Format .revision),$(shell git log -1 --format='%H %ct' 2>/dev/null))
GIT_REV   := $(shell echo $(word 1,$(REVISION)) | cut -c 1-12)
GIT_DIRTY := $(if $(shell grep -s Format .revision),$(if $(REVISION),$(if $(shell git status --porcelain --untracked-files=no),1,0)))
# The manual's date: that of the revision, or of SOURCE_DATE_EPOCH where a packager sets it. "": neither is known.
SOURCE_EPOCH := $(or $(SOURCE_DATE_EPOCH),$(word 2,$(REVISION)))
SOURCE_DATE := $(if $(SOURCE_EPOCH),$(shell date -u -d @$(SOURCE_EPOCH) +%Y-%m-%d))
WORKLOADS := $(sort $(foreach w,$(wildcard workloads/*/*.c),$(notdir $(patsubst %/,%,$(dir $(w))))))

SUITES    := $(sort $(wildcard suites/*.json))
TRACE_SUITES := $(patsubst %/,%,$(sort $(dir $(wildcard suites/*/*.trace))))
# Kernels written by hand: NAME becomes kernel_text_NAME, of the files KERNEL_NAME.
KERNEL_TEXTS := device_heap isosurface report report_hash page_style view view_hash view_how view_style new_allocator completion_bash completion_zsh help man
KERNEL_device_heap := bench/experiment/heap/heap_layout.h bench/experiment/heap/index.kernel bench/experiment/heap/heap.kernel bench/experiment/heap/walk.kernel
KERNEL_isosurface := bench/experiment/heap/heap_layout.h bench/experiment/isosurface.kernel
# Scripts and style sheets of pages are embedded in the same way.
KERNEL_report := bench/pages/report.js
KERNEL_page_style := bench/pages/page.css
KERNEL_view := bench/pages/view.js
KERNEL_view_style := bench/pages/view.css
KERNEL_view_how := bench/pages/view_how.html
# By these a browser knows the script of a page. The text of a file ends with one newline more.
KERNEL_report_hash := $(BUILD)/embedded/report.hash
KERNEL_view_hash := $(BUILD)/embedded/view.hash
# What `gamut new allocator` begins with.
KERNEL_new_allocator := strategies/alloc/raw.c bench/cli/new_exported.txt
KERNEL_help := bench/cli/help.txt
KERNEL_man := bench/cli/man.roff
KERNEL_completion_bash := scripts/completion/gamut.bash
KERNEL_completion_zsh := scripts/completion/gamut.zsh

# The build leaves out the APIs whose headers are missing; `gamut list devices` names them and what to install.
# Versions of make differ in what a # after a backslash is inside of a call.
HASH := \#
have_header = $(shell echo '$(HASH)include <$(1)>' | $(CC) $(CPPFLAGS) $(2) -E -x c - >/dev/null 2>&1 && echo yes)
WITH_CUDA   ?= $(call have_header,cuda.h,-I$(CUDA_PATH)/include)
WITH_OPENCL ?= $(call have_header,CL/cl.h)
WITH_OPENMP ?= $(shell echo 'int main(void){return 0;}' | $(CC) -fopenmp -x c - -o /dev/null 2>/dev/null && echo yes)
# Linked statically where there is an archive, so that the binary can be carried to a GPU machine.
archive_or = $(shell echo 'int main(void){return 0;}' | $(CC) $(LDFLAGS) -x c - -l:lib$(1).a -o /dev/null 2>/dev/null && echo -l:lib$(1).a || echo -l$(1))
JANSSON     ?= $(call archive_or,jansson)
ZLIB        ?= $(call archive_or,z)
ZSTD        ?= $(call archive_or,zstd)
# Asked once, not in every recipe that links.
$(foreach library,JANSSON ZLIB ZSTD,$(eval $(library) := $($(library))))

# Objects name files as the tree does, wherever it stands and is built: two builds of one tree are the same bytes.
PLACES   := -ffile-prefix-map=$(CURDIR)=. -ffile-prefix-map=$(BUILD)/=build/
CPPFLAGS += -D_GNU_SOURCE -I. -Ibench -Istrategies -Iworkloads
# Hooks of one type have one list of parameters, and few use all of them.
CFLAGS   += -std=c11 $(OPT) $(PLACES) -Wall -Wextra -Wno-unused-parameter -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -ffp-contract=off -fPIC -fvisibility=hidden -MMD -MP
# Kernels are generated C: products and sums must not be contracted, and nothing needs errno or traps.
KERNEL_CFLAGS = -std=gnu11 $(KERNEL_OPT) $(PLACES) -g1 -w -ffp-contract=off -fno-math-errno -fno-trapping-math -DGAMUT_ENTRY=static
KERNEL_OPT ?= -O3
# Tests have kernels of their own, which compile in a tenth of the time and compute the same.
TEST_KERNEL_OPT ?= -O1 -DGAMUT_NO_CLONES
LDLIBS   += $(JANSSON) $(ZLIB) $(ZSTD) -lm -ldl -lpthread

ifeq ($(WITH_CUDA),yes)
CPPFLAGS += -DGAMUT_WITH_CUDA -isystem $(CUDA_PATH)/include
endif
ifeq ($(WITH_OPENCL),yes)
CPPFLAGS += -DGAMUT_WITH_OPENCL -DCL_TARGET_OPENCL_VERSION=120
endif
ifeq ($(WITH_OPENMP),yes)
CFLAGS   += -fopenmp
endif
ifneq ($(FLAVOUR),release)
CPPFLAGS += -DGAMUT_DEBUG
endif
ifeq ($(FLAVOUR),sanitize)
OPT       = -O1 -g1 -fno-omit-frame-pointer
SANITIZE  = -fsanitize=address,undefined -fno-sanitize-recover=undefined
CFLAGS   += $(SANITIZE)
KERNEL_OPT = -O1 $(SANITIZE) -DGAMUT_NO_CLONES
endif
ifeq ($(FLAVOUR),thread)
OPT       = -O1 -g1 -fno-omit-frame-pointer
SANITIZE  = -fsanitize=thread -Wno-tsan
WITH_OPENMP =
CFLAGS   += $(SANITIZE)
KERNEL_OPT = -O1 $(SANITIZE) -DGAMUT_NO_CLONES
endif

LIB_SOURCES := $(filter-out bench/cli/main.c bench/program/embed.c,$(filter-out bench/inside/%,$(sort $(shell find bench strategies workloads -name '*.c'))))
LIB_OBJECTS := $(LIB_SOURCES:%.c=$(BUILD)/%.o) $(BUILD)/embedded/list.o $(BUILD)/embedded/suites.o $(KERNEL_TEXTS:%=$(BUILD)/embedded/kernel_%.o)
# Kernels of embedded programs, and those of tests: shell tests run gamut-test. In other flavours both are the same.
KERNELS := $(BUILD)/libkernels.a
TEST_KERNELS := $(BUILD)/$(if $(filter release,$(FLAVOUR)),tests/)libkernels.a
TESTED := $(BUILD)/gamut$(if $(filter release,$(FLAVOUR)),-test)
EMBED_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,bench/program/embed.c $(filter-out bench/program/embed.c,$(sort $(wildcard bench/program/*.c bench/base/*.c))))
# A test stands in the room of tests/ that has the name of the room it tests.
TEST_FILES := $(filter-out tests/inside/apps/%,$(sort $(shell find tests -name '*.c')))
# Applications that tests record.
TEST_APPS := $(if $(WITH_OPENCL),$(BUILD)/tests/inside/apps/app_opencl $(BUILD)/tests/inside/apps/waits_opencl $(BUILD)/tests/inside/apps/blocks_opencl)
TEST_SOURCES := $(foreach f,$(TEST_FILES),$(if $(filter test_%,$(notdir $(f))),$(f)))
BENCH_SOURCES := $(foreach f,$(TEST_FILES),$(if $(filter bench_%,$(notdir $(f))),$(f)))
FUZZ_SOURCES := $(foreach f,$(TEST_FILES),$(if $(filter fuzz_%,$(notdir $(f))),$(f)))
TESTS   := $(TEST_SOURCES:tests/%.c=$(BUILD)/tests/%)
# These are binaries of their own: some are linked in another way, and of some a run starts itself again as a worker.
OWN_TESTS := $(addprefix $(BUILD)/tests/,alloc/test_alloc_steps device/test_lost_device experiment/test_experiment_rounds \
             run/atlas/test_atlas_measure run/execute/test_no_malloc replay/test_pytorch run/rounds/test_measure run/rounds/test_rounds)
ROOM_TESTS := $(filter-out $(OWN_TESTS),$(TESTS))
TEST_ROOMS := $(sort $(foreach t,$(ROOM_TESTS:$(BUILD)/tests/%=%),$(firstword $(subst /, ,$(t)))))
BENCHES := $(BENCH_SOURCES:tests/%.c=$(BUILD)/tests/%)
TEST_HELPERS := $(patsubst %.c,$(BUILD)/%.o,$(filter-out tests/room.c tests/replay/requests.c $(TEST_SOURCES) $(BENCH_SOURCES) $(FUZZ_SOURCES),$(TEST_FILES)))

# The strategies for other runtimes, with what they need of bench/base: one object, in which the names of the interface alone are seen.
STRATEGY_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard strategies/library/*.c strategies/alloc/*.c strategies/alloc/*/*.c)) \
                    $(addprefix bench/base/,$(addsuffix .c,arena clock error options sort text text_bytes treap)))
STRATEGY_NAMES   := allocator_* source_* error_* clock_* gamut_strategies_*
STRATEGY_API      = $(shell sed -n 's/^.define GAMUT_STRATEGIES_API //p' strategies/library/gamut_strategies.h)
STRATEGY_HEADERS  = $(filter %.h,$(shell $(CC) $(CPPFLAGS) -MM -x c strategies/library/gamut_strategies.h))

# What serves an application is a shared object too, which has all that it needs of gamut inside: the core, and the doors of an API.
SERVE_CORE := $(addprefix $(BUILD)/bench/inside/,served_recorder.o server.o serve_process.o serve_record.o)
SERVE_CUDA := $(addprefix $(BUILD)/bench/inside/,serve_doors.o cuda_servers.o)
SERVE_PRELOAD := $(addprefix $(BUILD)/bench/inside/,preload.o preload_names.o cuda_servers.o)
OPENCL_LAYER := $(addprefix $(BUILD)/bench/inside/,opencl_entries.o opencl_loader.o)
SERVE_OPENCL := $(addprefix $(BUILD)/bench/inside/,serve_opencl.o serve_opencl_state.o serve_opencl_driver.o) $(OPENCL_LAYER)
ifeq ($(WITH_CUDA),yes)
CAPTURE_LIBRARIES += $(BUILD)/libgamut_alloc.so
TEST_APPS += $(BUILD)/tests/inside/apps/app_serve
# How the preload steps aside for other callers of dlsym is written for one machine.
ifneq ($(findstring x86_64,$(shell $(CC) -dumpmachine)),)
CAPTURE_LIBRARIES += $(BUILD)/libgamut_serve_cuda.so
TEST_APPS += $(BUILD)/tests/inside/apps/app_preload $(BUILD)/tests/inside/apps/app_linked
endif
endif

# What stands inside a recorded application: shared objects of their own, without the libraries that gamut is linked to.
CAPTURE_OPENCL := recorder record_opencl opencl_entries opencl_loader
CAPTURE_CUDA := recorder record_cuda record_nvtx
WITH_CUPTI ?= $(call have_header,cupti.h,-I$(CUDA_PATH)/include)
ifeq ($(WITH_CUPTI),yes)
CAPTURE_LIBRARIES += $(BUILD)/libgamut_record_cuda.so
TEST_APPS += $(BUILD)/tests/inside/apps/app_cuda
endif
ifeq ($(WITH_OPENCL),yes)
CAPTURE_LIBRARIES += $(BUILD)/libgamut_record_opencl.so $(BUILD)/libgamut_serve_opencl.so
endif

CAPTURE_LIBRARIES += $(BUILD)/libgamut_estimate.so

.DELETE_ON_ERROR:
.PRECIOUS: $(BUILD)/%.o
.PHONY: FORCE all setup setup-dev setup-apps setup-fleet test test-apps test-fleet tests check bench bench-self smoke regress plots fuzz sanitize thread dist archive wheel check-release install uninstall clean help
all: $(BUILD)/gamut $(CAPTURE_LIBRARIES) $(BUILD)/libgamut_strategies.a ## build gamut (build/gamut)

$(BUILD)/gamut $(BUILD)/gamut-test $(BUILD)/wheel/gamut: $(BUILD)/bench/cli/main.o $(BUILD)/libgamut.a
	@mkdir -p $(@D)
	$(Q)$(STEP)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)
$(BUILD)/gamut $(BUILD)/wheel/gamut: $(KERNELS)
$(BUILD)/gamut-test: $(TEST_KERNELS)

# Applications are not sanitized, and have no OpenMP: neither are these.
$(CAPTURE_OPENCL:%=$(BUILD)/bench/inside/%.o) $(CAPTURE_CUDA:%=$(BUILD)/bench/inside/%.o): CFLAGS := $(filter-out -fopenmp $(SANITIZE),$(CFLAGS))
$(BUILD)/libgamut_record_%.so: CFLAGS := $(filter-out -fopenmp $(SANITIZE),$(CFLAGS))
$(BUILD)/bench/inside/record_opencl.o $(SERVE_OPENCL): CPPFLAGS += -UCL_TARGET_OPENCL_VERSION -DCL_TARGET_OPENCL_VERSION=300 -DCL_USE_DEPRECATED_OPENCL_1_2_APIS
$(BUILD)/libgamut_record_opencl.so: $(CAPTURE_OPENCL:%=$(BUILD)/bench/inside/%.o)
$(BUILD)/libgamut_record_cuda.so: $(CAPTURE_CUDA:%=$(BUILD)/bench/inside/%.o)
$(BUILD)/libgamut_record_%.so:
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-z,nodelete -o $@ $^ -ldl -lpthread

$(BUILD)/libgamut_estimate.so: bench/inside/estimate.c $(BUILD)/flags
	$(Q)$(STEP)$(CC) $(CPPFLAGS) $(filter-out -fopenmp $(SANITIZE),$(CFLAGS)) $(LDFLAGS) -shared -o $@ $<

# A server shares no symbol with its application, whatever libraries that one has. It has one recorder, sanitized as it is itself.
$(BUILD)/bench/inside/served_recorder.o: bench/inside/recorder.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(Q)$(STEP)$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
# An archive of jansson that is made for programs addresses stdin as a shared object cannot. json_loadf alone does so, and nothing calls it: any
# symbol of the library takes its place.
SERVE_LINK = $(CC) $(filter-out -fopenmp,$(CFLAGS)) $(LDFLAGS) -shared -Wl,-soname,$(@F),-z,nodelete,-z,defs,--exclude-libs,ALL,--gc-sections,--defsym=stdin=_DYNAMIC -o $@ $^ $(LDLIBS)
$(BUILD)/libgamut_alloc.so: $(SERVE_CUDA) $(SERVE_CORE) $(BUILD)/libgamut.a
	$(Q)$(SERVE_LINK)
# It stands in place of dlsym: its own calls go past it.
$(BUILD)/libgamut_serve_cuda.so: $(SERVE_PRELOAD) $(SERVE_CORE) $(BUILD)/libgamut.a
	$(Q)$(SERVE_LINK) -Wl,--wrap=dlsym
$(BUILD)/libgamut_serve_opencl.so: $(SERVE_OPENCL) $(SERVE_CORE) $(BUILD)/libgamut.a
	$(Q)$(SERVE_LINK)

$(BUILD)/libgamut_strategies.a: $(STRATEGY_OBJECTS)
	@rm -f $@
	$(Q)$(CC) -r -nostdlib -o $(BUILD)/gamut_strategies.o $^
	$(Q)$(OBJCOPY) --wildcard $(STRATEGY_NAMES:%='--keep-global-symbol=%') $(BUILD)/gamut_strategies.o
	$(Q)$(AR) qcsD $@ $(BUILD)/gamut_strategies.o

# On a terminal each step says how many there are: "[412/520] bench/base/text.c". They are counted by a make that makes nothing.
STEPS_LEFT = $(shell $(MAKE) -n $(MAKEOVERRIDES) COUNTS=1 $(MAKECMDGOALS) 2>/dev/null | grep -c '^: a step')
STEP_NAME = $(words $(STEPS))/$(STEPS_ALL)] $(firstword $(filter %.c,$^) $@)
define SHOW_STEP
$(eval STEPS += x)$(if $(STEPS_ALL),,$(eval STEPS_ALL := $(STEPS_LEFT)))printf '\r\033[K[%s$(if $(filter $(STEPS_ALL),$(words $(STEPS))),\n,\r)' '$(STEP_NAME)';
endef
STEP = $(if $(COUNTS),: a step;,$(if $(Q),$(if $(MAKE_TERMOUT),$(SHOW_STEP))))

# A file that changes only when its text does. While steps are counted, none does.
FORCED := $(if $(COUNTS),,FORCE)
define stamp
@mkdir -p $(@D)
@echo '$(subst ','\'',$(1))' | cmp -s - $@ || echo '$(subst ','\'',$(1))' > $@
endef

# The names of all sources, workloads and suites. What is made of the names is made again when one of
# them is gone, which no time of a file says.
$(BUILD)/sources: $(FORCED)
	$(call stamp,$(LIB_SOURCES) $(WORKLOADS) $(SUITES))

$(BUILD)/libgamut.a: $(LIB_OBJECTS) $(BUILD)/sources
	@rm -f $@
	$(Q)$(AR) qcsD $@ $(LIB_OBJECTS)

$(BUILD)/libkernels.a: $(WORKLOADS:%=$(BUILD)/embedded/%.o)
$(BUILD)/tests/libkernels.a: $(WORKLOADS:%=$(BUILD)/tests/embedded/%.o)
$(BUILD)/libkernels.a $(BUILD)/tests/libkernels.a: $(BUILD)/sources
	@rm -f $@
	$(Q)$(AR) qcsD $@ $(filter %.o,$^)

# Objects are made again when the flags are others.
FLAGS := $(CC) $(CPPFLAGS) $(CFLAGS) $(KERNEL_CFLAGS) $(TEST_KERNEL_OPT)
$(BUILD)/flags: $(FORCED)
	$(call stamp,$(FLAGS))

# The revision is part of the objects that print it.
$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(Q)$(STEP)$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

REV_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(shell grep -rl GAMUT_GIT_REV bench --include=*.c 2>/dev/null))
$(REV_OBJECTS): CPPFLAGS += -DGAMUT_VERSION='"$(VERSION)"' -DGAMUT_GIT_REV='"$(GIT_REV)"' $(if $(GIT_DIRTY),-DGAMUT_GIT_DIRTY=$(GIT_DIRTY)) -DGAMUT_BUILD='"$(FLAVOUR)"' -DGAMUT_CFLAGS='"$(OPT)"'
$(REV_OBJECTS): $(BUILD)/revision
$(BUILD)/bench/cli/cmd_man.o: CPPFLAGS += -DGAMUT_SOURCE_DATE='"$(SOURCE_DATE)"'
$(BUILD)/bench/cli/cmd_man.o: $(BUILD)/revision
$(BUILD)/revision: $(FORCED)
	$(call stamp,$(VERSION) $(GIT_REV) $(GIT_DIRTY) $(SOURCE_DATE) $(FLAVOUR) $(OPT))
FORCE:

$(BUILD)/embed: $(EMBED_OBJECTS)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/embedded/%.c: $(BUILD)/embed
	@mkdir -p $(@D)
	$(Q)$(BUILD)/embed program $* workloads/$*/$*.mem > $@
$(foreach w,$(WORKLOADS),$(eval $(BUILD)/embedded/$(w).c: workloads/$(w)/$(w).mem))
$(BUILD)/embedded/list.c: $(BUILD)/embed $(BUILD)/sources
	@mkdir -p $(@D)
	$(Q)$(BUILD)/embed list $(WORKLOADS) > $@
$(BUILD)/embedded/suites.c: $(BUILD)/embed $(SUITES) $(BUILD)/sources
	@mkdir -p $(@D)
	$(Q)$(BUILD)/embed suites $(SUITES) > $@
$(BUILD)/embedded/%.hash: bench/pages/%.js Makefile
	@mkdir -p $(@D)
	$(Q)env printf "sha256-$$(env printf "$$({ cat $<; echo; } | sha256sum | sed 's/ .*//; s/../\\x&/g')" | base64)" > $@
define kernel_text
$(BUILD)/embedded/kernel_$(1).c: $(BUILD)/embed $(KERNEL_$(1))
	@mkdir -p $$(@D)
	$(Q)$(BUILD)/embed text $(1) $(KERNEL_$(1)) > $$@
endef
$(foreach t,$(KERNEL_TEXTS),$(eval $(call kernel_text,$(t))))
$(BUILD)/embedded/%.o: $(BUILD)/embedded/%.c $(BUILD)/flags
	$(Q)$(STEP)$(CC) $(CPPFLAGS) $(KERNEL_CFLAGS) -c -o $@ $<
$(BUILD)/tests/embedded/%.o: KERNEL_OPT = $(TEST_KERNEL_OPT)
$(BUILD)/tests/embedded/%.o: $(BUILD)/embedded/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(Q)$(STEP)$(CC) $(CPPFLAGS) $(KERNEL_CFLAGS) -c -o $@ $<

# Tests compile faster so, and measure nothing themselves.
$(filter-out $(BENCH_SOURCES:%.c=$(BUILD)/%.o),$(TEST_FILES:%.c=$(BUILD)/%.o)): private OPT := $(patsubst -g,-g1,$(patsubst -O2,-O1,$(OPT)))
$(BUILD)/tests/%.o: CPPFLAGS += -DGAMUT_ROOT='"$(CURDIR)"'
TEST_LINK = $(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o %.a,$^) $(LDLIBS) -lcmocka
# A room's tests are one binary, build/tests/ROOM/tests, in which each file's main has the file's name. Each test is a link to the binary,
# which runs the file by whose name it is called.
define room
$(BUILD)/tests/$(1)/names: $(FORCED)
	$$(call stamp,$(notdir $(filter $(BUILD)/tests/$(1)/%,$(ROOM_TESTS))))
$(BUILD)/tests/$(1)/tests.o: tests/room.c $(BUILD)/tests/$(1)/names $(BUILD)/flags
	$$(Q)$$(STEP)$$(CC) $$(CPPFLAGS) $$(CFLAGS) -DTESTS='$(patsubst %,TEST(%),$(notdir $(filter $(BUILD)/tests/$(1)/%,$(ROOM_TESTS))))' -c -o $$@ $$<
$(BUILD)/tests/$(1)/tests: $(BUILD)/tests/$(1)/tests.o $(patsubst %,%.o,$(filter $(BUILD)/tests/$(1)/%,$(ROOM_TESTS))) $(TEST_HELPERS) $(BUILD)/libgamut.a $(TEST_KERNELS)
	$$(Q)$$(STEP)$$(TEST_LINK)
$(filter $(BUILD)/tests/$(1)/%,$(ROOM_TESTS)): $(BUILD)/tests/$(1)/tests
	@mkdir -p $$(@D)
	@ln -sfr $$< $$@
endef
$(foreach r,$(TEST_ROOMS),$(eval $(call room,$(r))))
$(ROOM_TESTS:%=%.o): $(BUILD)/tests/%.o: tests/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(Q)$(STEP)$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
	@$(OBJCOPY) --redefine-sym main=$(*F) $@

# Other programs of tests/ are linked one by one: what they measure has gamut's own kernels.
$(BENCHES): $(BUILD)/tests/%: $(BUILD)/tests/%.o $(TEST_HELPERS) $(BUILD)/libgamut.a $(KERNELS)
	$(Q)$(STEP)$(TEST_LINK)
$(BUILD)/tests/%: $(BUILD)/tests/%.o $(TEST_HELPERS) $(BUILD)/libgamut.a $(TEST_KERNELS)
	$(Q)$(STEP)$(TEST_LINK)
# scripts/gpu_box carries it to machines that have no cmocka.
$(BUILD)/tests/replay/requests: private TEST_LINK = $(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(filter %.a,$^) $(LDLIBS)
# This test counts what the measured code allocates.
$(BUILD)/tests/run/execute/test_no_malloc: private LDFLAGS += -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc

# This test counts the steps that the strategies take: each part of a function without a branch calls the test.
STEP_OBJECTS := $(patsubst %.c,$(BUILD)/steps/%.o,$(wildcard strategies/alloc/*.c strategies/alloc/*/*.c))
$(STEP_OBJECTS): CFLAGS += -fsanitize-coverage=trace-pc
$(BUILD)/steps/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(Q)$(STEP)$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
$(BUILD)/tests/alloc/test_alloc_steps: $(BUILD)/tests/alloc/test_alloc_steps.o $(STEP_OBJECTS) $(TEST_HELPERS) $(BUILD)/libgamut.a $(TEST_KERNELS)
	$(Q)$(STEP)$(TEST_LINK)

# This test has a clock of its own.
$(BUILD)/tests/run/atlas/test_atlas_measure: private LDFLAGS += -Wl,--wrap=clock_gettime

# This test has a source that loses memory.
$(BUILD)/tests/run/rounds/test_measure: private LDFLAGS += -Wl,--wrap=source_free

# This test opens devices that get lost.
$(BUILD)/tests/device/test_lost_device: private LDFLAGS += -Wl,--wrap=device_open -Wl,--wrap=device_open_all

setup-apps: ## install the applications that test-apps records, from PyPI into build/apps
	@BUILD=$(BUILD) scripts/setup_apps

setup-fleet: ## install Slurm and munge for test-fleet (Debian, Ubuntu)
	@scripts/setup slurmctld slurmd slurm-client munge

setup: ## install what a build and its charts need (Debian, Ubuntu); without root, print the command
	@scripts/setup

setup-dev: ## install what the tests need too; `make test` does so itself
	@scripts/setup --dev
	@BUILD=$(BUILD) scripts/setup_otava
$(BUILD)/setup-dev: scripts/setup scripts/setup_otava
	@mkdir -p $(@D)
	@if scripts/setup --dev && BUILD=$(BUILD) scripts/setup_otava; then touch $@; else echo "make: without them some tests fail or are skipped" >&2; fi

$(BUILD)/tests/inside/apps/%_opencl: tests/inside/apps/%_opencl.c tests/inside/apps/opencl.h
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE -I. $(OPT) -Wall -Wextra -Wpedantic -o $@ $< -l:libOpenCL.so.1 -lpthread

$(BUILD)/tests/inside/apps/blocks_opencl: tests/inside/apps/blocks_opencl.c tests/inside/apps/opencl.h
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE -I. $(OPT) $(SANITIZE) -Wall -Wextra -Wpedantic -o $@ $< -l:libOpenCL.so.1 -lpthread

# A program of CUDA on a driver without a device, which is CUPTI too. Both are sanitized, or neither: ASan comes first in a process or not at all.
FAKE_CUDA := $(BUILD)/tests/inside/apps/fake/libcuda.so.1
$(FAKE_CUDA): $(addprefix tests/inside/apps/,fake_cuda.c fake_memory.c fake_names.c fake_driver.h fake_cuda.h)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -std=c11 $(OPT) -Wall -Wextra $(SANITIZE) -fPIC -shared -Wl,-soname,libcuda.so.1,-Bsymbolic-functions -o $@ $(filter %.c,$^) -ldl -lpthread
$(BUILD)/tests/inside/apps/app_cuda: tests/inside/apps/app_cuda.c $(FAKE_CUDA)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -std=c11 $(OPT) $(SANITIZE) -Wall -Wextra -Wpedantic -o $@ $^ -Wl,-rpath,'$$ORIGIN/fake' -ldl -lpthread

# A program on the same driver whose memory is served.
$(BUILD)/tests/inside/apps/app_serve: tests/inside/apps/app_serve.c $(FAKE_CUDA) $(BUILD)/libgamut_alloc.so
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -std=c11 $(OPT) $(SANITIZE) -Wall -Wextra -Wpedantic -o $@ $^ -Wl,-rpath,'$$ORIGIN/fake:$$ORIGIN/../../..' -lpthread

# One that knows nothing of gamut: it finds the driver as the CUDA runtime does, or is linked to it.
$(BUILD)/tests/inside/apps/app_preload: tests/inside/apps/app_preload.c $(FAKE_CUDA)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -std=c11 $(OPT) $(SANITIZE) -Wall -Wextra -Wpedantic -o $@ $< -Wl,-rpath,'$$ORIGIN/fake' -ldl -lpthread
$(BUILD)/tests/inside/apps/app_linked: tests/inside/apps/app_preload.c $(FAKE_CUDA)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -DLINKED -std=c11 $(OPT) $(SANITIZE) -Wall -Wextra -Wpedantic -o $@ $^ -Wl,-rpath,'$$ORIGIN/fake' -ldl -lpthread

tests: $(TESTED) $(TESTS) $(TEST_APPS) $(CAPTURE_LIBRARIES) $(BUILD)/libgamut_strategies.a ## build all tests

# Pages and scripts are tried with the release build alone: what their commands run is what tests/cli runs.
TEST_SCRIPTS ?= $(filter-out $(if $(filter release,$(FLAVOUR)),,tests/docs/% tests/scripts/%),$(sort $(shell find tests -name 'test_*.sh')))
test: $(if $(filter release,$(FLAVOUR)),$(BUILD)/setup-dev) ## run all tests: those in C, and TEST_SCRIPTS (all)
	$(Q)$(MAKE) --no-print-directory tests
	@BUILD=$(BUILD) GAMUT=$(TESTED) scripts/run_tests $(OWN_TESTS) $(TEST_SCRIPTS) $(ROOM_TESTS)

test-fleet: all ## divide a list into SHARDS (1000) on a Slurm of its own, see setup-fleet
	@BUILD=$(BUILD) tests/fleet/check_slurm.sh

test-apps: all ## record and serve real applications, see setup-apps
	@BUILD=$(BUILD) tests/inside/apps/check_apps.sh

sanitize: ## run all tests under ASan and UBSan
	LSAN_OPTIONS=suppressions=$(CURDIR)/tests/leaks.supp:print_suppressions=0 $(MAKE) BUILD=$(BUILD)-sanitize FLAVOUR=sanitize test

thread: $(TESTED) ## run the tests of the server under TSan
	$(MAKE) BUILD=$(BUILD)-thread FLAVOUR=thread $(addprefix $(BUILD)-thread/,tests/inside/apps/app_serve tests/inside/apps/app_preload tests/inside/apps/app_linked libgamut_serve_cuda.so)
	@printf '%s\n' tests/inside/test_serve.sh tests/inside/test_preload.sh | TSAN_OPTIONS=atexit_sleep_ms=0 GAMUT=$(abspath $(TESTED)) BUILD=$(BUILD)-thread xargs -P 2 -I{} sh -c {}

# libFuzzer comes with clang; without clang the parser is not fuzzed, and the script says so.
FUZZ_SECONDS ?= 60
fuzz: $(BUILD)/gamut $(BUILD)/tests/merge/fuzz_merge $(BUILD)/tests/experiment/heap/fuzz_heap $(BUILD)/tests/trace/fuzz_trace ## send FUZZ_COMMANDS (1000000) to each device heap, damage FUZZ_LOGS (10000) logs and their traces, merge FUZZ_PROGRAMS (10000), fuzz the parser, then the readers of files, for FUZZ_SECONDS (60)
	@BUILD=$(BUILD) FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/fuzz

regress: $(BUILD)/gamut ## fail if a counter is worse than in the committed baselines (BASE=FILE: than in a result file)
	@GAMUT=$(abspath $(BUILD))/gamut .ci/regress $(BASE)

smoke: $(BUILD)/gamut ## run every workload once on its smallest data, on the host and OpenCL
	@$(BUILD)/gamut run --smoke -D host,opencl

bench: $(BUILD)/gamut ## measure on the best device found, print the table, draw the charts
	@BUILD=$(BUILD) scripts/bench

bench-self: all $(BENCHES) ## measure what gamut itself costs
	@BUILD=$(BUILD) scripts/bench_self

plots: $(BUILD)/gamut ## draw the charts of the newest result again
	@BUILD=$(BUILD) scripts/plots

dist: archive wheel ## pack what a version consists of: archive and wheel

# Of one revision it is always the same bytes: file times are the revision's.
DIST = gamut-$(VERSION)
archive: ## pack the committed tree into build/gamut-VERSION.tar.gz, which builds and tests without git
	@[ -z "$$(git status --porcelain --untracked-files=no)" ] || { echo "dist: the tree has changes: commit or undo them, so that the archive is of a revision" >&2; exit 1; }
	@mkdir -p $(BUILD)
	$(Q)git -c tar.umask=0022 archive --prefix=$(DIST)/ -o $(BUILD)/$(DIST).tar HEAD
	$(Q)gzip -9nf $(BUILD)/$(DIST).tar
	@echo $(BUILD)/$(DIST).tar.gz

# A wheel has the library of OpenMP with it.
$(BUILD)/wheel/gamut: private LDFLAGS += -Wl,-rpath,'$$ORIGIN/../lib/gamut'
wheel: $(CAPTURE_LIBRARIES) $(BUILD)/libgamut_strategies.a $(BUILD)/wheel/gamut ## pack binary, libraries and Python module into build/gamut-VERSION-*.whl, for pip
	@rm -rf $(BUILD)/wheel/root $(BUILD)/gamut-$(VERSION)-*.whl
	$(Q)$(MAKE) -s install GAMUT=$(BUILD)/wheel/gamut DESTDIR=$(abspath $(BUILD))/wheel/root PREFIX=
	$(Q)packaging/wheel $(BUILD)/wheel/root $(VERSION) "$(SOURCE_EPOCH)" $(BUILD)

check-release: ## check what must hold of a version beyond .ci/run, which comes first
	@.ci/release

# The binary contains programs, kernels and suites, and prints the manual and the completions.
GAMUT := $(BUILD)/gamut
SHARE = $(DESTDIR)$(PREFIX)/share
INSTALLED = $(DESTDIR)$(PREFIX)/bin/gamut $(SHARE)/man/man1/gamut.1 \
            $(SHARE)/bash-completion/completions/gamut $(SHARE)/zsh/site-functions/_gamut
# Files that people or other programs read, and that the manual names.
DOCS = LICENSE $(wildcard *.md docs/*.md docs/*.png) $(shell find bench strategies suites workloads tests results plots -name README.md)
SHARED_DATA = $(wildcard results/schema/*.json results/data/atlases/*.json.gz suites/*/*.json)
# The libraries that `gamut record` puts into applications stand where it looks for them. No folder of Python's own is the same in all
# environments: PYTHONPATH names lib/gamut/python.
LIBRARIES = $(DESTDIR)$(PREFIX)/lib/gamut
# Where linkers look for the library of strategies; Debian and others have a folder for each machine.
LIBDIR ?= $(PREFIX)/lib
INCLUDES = $(DESTDIR)$(PREFIX)/include/gamut-strategies
INSTALLED += $(DESTDIR)$(LIBDIR)/libgamut_strategies.a $(DESTDIR)$(LIBDIR)/pkgconfig/gamut-strategies.pc

install: $(GAMUT) $(CAPTURE_LIBRARIES) $(BUILD)/libgamut_strategies.a ## install gamut, its libraries, manual and completions below PREFIX (/usr/local)
	$(Q)$(GAMUT) man > $(BUILD)/gamut.1
	$(Q)$(GAMUT) completion bash > $(BUILD)/gamut.bash
	$(Q)$(GAMUT) completion zsh > $(BUILD)/gamut.zsh
	$(Q)install -D -m 755 $(GAMUT) $(word 1,$(INSTALLED))
	$(Q)install -D -m 644 $(BUILD)/gamut.1 $(word 2,$(INSTALLED))
	$(Q)install -D -m 644 $(BUILD)/gamut.bash $(word 3,$(INSTALLED))
	$(Q)install -D -m 644 $(BUILD)/gamut.zsh $(word 4,$(INSTALLED))
	$(Q)install -d $(LIBRARIES) $(SHARE)/gamut/plots $(TRACE_SUITES:%=$(SHARE)/gamut/%)
	$(Q)$(if $(CAPTURE_LIBRARIES),install -m 755 $(CAPTURE_LIBRARIES) $(LIBRARIES))
	$(Q)install -D -m 644 bench/inside/gamut/*.py -t $(LIBRARIES)/python/gamut
	$(Q)install -m 644 results/data/estimate-kernels.json $(LIBRARIES)/python/gamut/kernels.json
	$(Q)install -m 644 plots/*.gp $(SHARE)/gamut/plots
	$(Q)$(foreach f,$(DOCS),install -D -m 644 $(f) $(SHARE)/doc/gamut/$(f);)
	$(Q)install -D -m 644 $(BUILD)/libgamut_strategies.a $(word 5,$(INSTALLED))
	$(Q)sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@API@|$(STRATEGY_API)|; s|@VERSION@|$(VERSION)|' strategies/library/gamut-strategies.pc.in > $(BUILD)/gamut-strategies.pc
	$(Q)install -D -m 644 $(BUILD)/gamut-strategies.pc $(word 6,$(INSTALLED))
	$(Q)install -D -m 644 strategies/library/gamut_strategies.h -t $(INCLUDES)
	$(Q)$(foreach h,$(filter-out strategies/library/%,$(STRATEGY_HEADERS)),install -D -m 644 $(h) $(INCLUDES)/$(patsubst bench/%,%,$(patsubst strategies/%,%,$(h)));)
	$(Q)$(foreach f,$(SHARED_DATA),install -D -m 644 $(f) $(SHARE)/gamut/$(f);)
	$(Q)$(foreach s,$(TRACE_SUITES),install -m 644 $(s)/*.trace $(SHARE)/gamut/$(s);)

uninstall: ## remove what install put below PREFIX
	rm -f $(INSTALLED)
	rm -rf $(SHARE)/gamut $(SHARE)/doc/gamut $(LIBRARIES) $(INCLUDES)

clean: ## remove everything that was built
	rm -rf $(BUILD) $(BUILD)-sanitize $(BUILD)-thread

help: ## print this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 15

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
endif
