#!/usr/bin/env bash
# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Brings what a build needs, and does nothing where it is there. On Debian 12 it
# installs packages (as root or through sudo); elsewhere it says what is missing.
# A ptxas or cuda.h that is not there comes from NVIDIA's Python packages, into
# .cache/cuda.
#
# Run it, or source it for what it exports:
#   BACKFUSE_PTXAS         CUDA's assembler, 13.0 or newer
#   BACKFUSE_CUDA_INCLUDE  the folder of cuda.h
#   BACKFUSE_PYTHON        a Python with numpy
#   BACKFUSE_CMAKE_ARGS    an array: what to configure with (not exported)
# Set before it, BACKFUSE_PTXAS, CUDA_HOME and MLIR_DIR are used as they are.

backfuse_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
backfuse_cache=$backfuse_root/.cache

# What Debian packages the build and its tests need.
backfuse_packages=(
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools clang-22 libclang-rt-22-dev lld-22
  ninja-build cmake ccache
  flatbuffers-compiler libflatbuffers-dev libeigen3-dev nlohmann-json3-dev
  libxxhash-dev libcli11-dev libdlpack-dev libgtest-dev libgmock-dev
  python3 python3-psutil python3-numpy
)

backfuse_fail() {
  echo "setup: $*" >&2
  return 1
}

# Runs a command quietly; shows its output only if it fails.
backfuse_quietly() {
  mkdir -p "$backfuse_cache"
  local log=$backfuse_cache/setup.log
  if ! "$@" >"$log" 2>&1; then
    tail -n 30 "$log" >&2
    backfuse_fail "failed: $*"
  fi
}

backfuse_as_root() {
  if [ "$(id -u)" = 0 ]; then
    env DEBIAN_FRONTEND=noninteractive "$@"
  else
    sudo -n env DEBIAN_FRONTEND=noninteractive "$@"
  fi
}

# Installs the Debian packages that are not there.
backfuse_install_packages() {
  local package installed missing=()
  installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true)
  for package in "$@"; do
    grep -qxF "$package installed" <<<"$installed" || missing+=("$package")
  done
  [ ${#missing[@]} = 0 ] && return 0
  if [ "$(id -u)" != 0 ] && ! sudo -n true 2>/dev/null; then
    backfuse_fail "run as root: apt-get install ${missing[*]}" || return 1
  fi
  echo "setup: installing ${missing[*]}" >&2
  backfuse_quietly backfuse_as_root apt-get update &&
    backfuse_quietly backfuse_as_root apt-get install -y --no-install-recommends "${missing[@]}"
}

# Elsewhere than on Debian: names what is missing.
backfuse_check_tools() {
  local missing=() tool header
  for tool in cmake ninja flatc python3; do
    command -v "$tool" >/dev/null || missing+=("the program $tool")
  done
  for header in flatbuffers/flatbuffers.h Eigen/Core nlohmann/json.hpp xxhash.h CLI/CLI.hpp dlpack/dlpack.h gtest/gtest.h; do
    if ! echo "#include <$header>" | ${CXX:-c++} -std=c++17 -I/usr/include/eigen3 -fsyntax-only -x c++ - 2>/dev/null; then
      missing+=("the header <$header>")
    fi
  done
  if [ -z "${MLIR_DIR:-}" ] && ! command -v llvm-config-22 >/dev/null; then
    missing+=("LLVM and MLIR 22: set MLIR_DIR to <prefix>/lib/cmake/mlir of a build or package")
  fi
  [ ${#missing[@]} = 0 ] && return 0
  backfuse_fail "this is not Debian 12, where packages would be installed. Missing:"
  printf '  %s\n' "${missing[@]}" >&2
  return 1
}

# Whether $1 is a ptxas of CUDA 13.0 or newer.
backfuse_is_ptxas() {
  [ -n "$1" ] && [ -x "$1" ] || return 1
  local version
  version=$("$1" --version 2>/dev/null | sed -n 's/.*[ ,]V\([0-9]*\)\..*/\1/p')
  [ -n "$version" ] && [ "$version" -ge 13 ]
}

# Puts NVIDIA's packages with ptxas and cuda.h into .cache/cuda.
backfuse_install_cuda() {
  local python=python3 part=$backfuse_cache/cuda.part
  if ! "$python" -m pip --version >/dev/null 2>&1; then
    python=/usr/bin/python3
    if ! "$python" -m pip --version >/dev/null 2>&1; then
      if [ "$backfuse_is_debian" = true ]; then
        backfuse_install_packages python3-pip || return 1
      else
        backfuse_fail "ptxas and cuda.h need CUDA 13 (CUDA_HOME) or Python's pip" || return 1
      fi
    fi
  fi
  echo "setup: installing ptxas and cuda.h into .cache/cuda" >&2
  rm -rf "$part"
  backfuse_quietly "$python" -m pip install --disable-pip-version-check --no-deps --target "$part" \
    "nvidia-cuda-nvcc==13.0.*" "nvidia-cuda-runtime==13.0.*" || return 1
  rm -rf "$backfuse_cache/cuda"
  mv "$part" "$backfuse_cache/cuda"
}

# Finds ptxas and cuda.h, or installs them.
backfuse_find_cuda() {
  local wheel=$backfuse_cache/cuda/nvidia/cu13 candidate
  for candidate in "${BACKFUSE_PTXAS:-}" "${CUDA_HOME:+$CUDA_HOME/bin/ptxas}" \
    "$(command -v ptxas || true)" "$wheel/bin/ptxas"; do
    BACKFUSE_PTXAS=$candidate
    backfuse_is_ptxas "$candidate" && break
    BACKFUSE_PTXAS=
  done
  for candidate in "${BACKFUSE_CUDA_INCLUDE:-}" "${CUDA_HOME:+$CUDA_HOME/include}" \
    "${BACKFUSE_PTXAS:+$(dirname "$(dirname "$BACKFUSE_PTXAS")")/include}" "$wheel/include"; do
    BACKFUSE_CUDA_INCLUDE=$candidate
    [ -n "$candidate" ] && [ -f "$candidate/cuda.h" ] && break
    BACKFUSE_CUDA_INCLUDE=
  done
  if [ -z "$BACKFUSE_PTXAS" ] || [ -z "$BACKFUSE_CUDA_INCLUDE" ]; then
    backfuse_install_cuda || return 1
    BACKFUSE_PTXAS=${BACKFUSE_PTXAS:-$wheel/bin/ptxas}
    BACKFUSE_CUDA_INCLUDE=${BACKFUSE_CUDA_INCLUDE:-$wheel/include}
  fi
  backfuse_is_ptxas "$BACKFUSE_PTXAS" || backfuse_fail "'$BACKFUSE_PTXAS' is no ptxas of CUDA 13.0 or newer"
}

backfuse_setup() {
  backfuse_is_debian=false
  if [ -r /etc/os-release ] && (. /etc/os-release && [ "${ID:-}:${VERSION_ID:-}" = debian:12 ]); then
    backfuse_is_debian=true
    backfuse_install_packages "${backfuse_packages[@]}" || return 1
  else
    backfuse_check_tools || return 1
  fi
  backfuse_find_cuda || return 1

  # Debian's numpy belongs to Debian's Python, which need not be first on PATH.
  BACKFUSE_PYTHON=python3
  if ! python3 -c 'import numpy' 2>/dev/null && [ -x /usr/bin/python3 ]; then
    BACKFUSE_PYTHON=/usr/bin/python3
  fi

  BACKFUSE_CMAKE_ARGS=(-G Ninja "-DBACKFUSE_CUDA_INCLUDE=$BACKFUSE_CUDA_INCLUDE"
    "-DBACKFUSE_PTXAS=$BACKFUSE_PTXAS" -DBACKFUSE_QUICK_BUILD=ON)
  if command -v clang++-22 >/dev/null; then
    BACKFUSE_CMAKE_ARGS+=(-DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22)
    command -v ld.lld-22 >/dev/null && BACKFUSE_CMAKE_ARGS+=(-DLLVM_USE_LINKER=lld)
  fi
  if command -v ccache >/dev/null; then
    # Relative paths in the keys, so that worktrees share the cache. Files of the
    # precompiled header share it within one path of the build folder alone: the
    # header's bytes, which are in their keys, hold that path. The header needs
    # the sloppiness.
    local launcher="env;CCACHE_BASEDIR=$backfuse_root;CCACHE_NOHASHDIR=1"
    launcher+=";CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime;ccache"
    BACKFUSE_CMAKE_ARGS+=("-DCMAKE_C_COMPILER_LAUNCHER=$launcher" "-DCMAKE_CXX_COMPILER_LAUNCHER=$launcher")
  fi
  [ -n "${MLIR_DIR:-}" ] && BACKFUSE_CMAKE_ARGS+=("-DMLIR_DIR=$MLIR_DIR")
  export BACKFUSE_PTXAS BACKFUSE_CUDA_INCLUDE BACKFUSE_PYTHON
}

backfuse_setup
