# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Configuration of the lit suite.

Features: `ptxas` where CUDA's assembler was found, `kernel-run` where the
runtime's tool was built, `emulator` where it has that device, `nvdisasm` where it is beside ptxas, `long` when asked
for (--param long=1).
"""

import os

import lit.formats
from lit.llvm import llvm_config

config.name = "Backfuse"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.backfuse_test_dir
# Runtime/ has unit tests, lib/ test-only passes, Integration/ needs a GPU.
config.excludes = ["Inputs", "Integration", "Runtime", "lib"]

tools_dir = os.path.join(config.backfuse_build_dir, "bin")
llvm_config.with_environment("PATH", config.llvm_tools_dir, append_path=True)

# ptxas results are kept in the build tree, so that a second run is fast.
llvm_config.with_environment(
    "XDG_CACHE_HOME", os.path.join(config.backfuse_build_dir, "cache")
)
config.environment.pop("CUDA_HOME", None)

config.substitutions.append(("%examples", config.backfuse_source_dir + "/examples"))
config.substitutions.append(("%bench", config.backfuse_source_dir + "/bench"))
config.substitutions.append(("%readme", config.backfuse_source_dir + "/README.md"))
# The tools' paths, for scripts that run them.
for name in ("kernel-opt", "kernel-run", "kernel-emu"):
    config.substitutions.append(("%" + name, os.path.join(tools_dir, name)))
tools = ["kernel-opt"]
if config.backfuse_has_kernel_run:
    config.available_features.add("kernel-run")
    tools.append("kernel-run")
    if config.backfuse_has_emulator:
        config.available_features.add("emulator")
        tools.append("kernel-emu")
if config.backfuse_ptxas:
    config.available_features.add("ptxas")
    config.substitutions.append(("%ptxas", config.backfuse_ptxas))
    nvdisasm = os.path.join(os.path.dirname(config.backfuse_ptxas), "nvdisasm")
    if os.access(nvdisasm, os.X_OK):
        config.available_features.add("nvdisasm")
        config.substitutions.append(("%nvdisasm", nvdisasm))
long = bool(lit_config.params.get("long"))
if long:
    config.available_features.add("long")
config.substitutions.append(("%{random-graphs}", "20" if long else "3"))
llvm_config.add_tool_substitutions(tools, [tools_dir])
llvm_config.use_default_substitutions()
