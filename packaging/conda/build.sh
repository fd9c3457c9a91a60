#!/bin/bash
# conda-build sets PREFIX, CC and CPU_COUNT, and the flags of compiler and linker.
set -euo pipefail
settings=(PREFIX="$PREFIX" CUDA_PATH="${CUDA_PATH:-$PREFIX/targets/x86_64-linux}")
make -j"${CPU_COUNT:-1}" "${settings[@]}" all
make "${settings[@]}" install
