#!/bin/sh
# A ptxas of CUDA 12.4.
echo "ptxas: NVIDIA (R) Ptx optimizing assembler"
echo "Cuda compilation tools, release 12.4, V12.4.131"
