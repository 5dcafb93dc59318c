#!/bin/sh
# A ptxas that says what $FAKE_SAYS holds, exits with $FAKE_STATUS and writes
# "cubin" as its output.
if [ "$1" = --version ]; then
  echo "Cuda compilation tools, release 13.0, V13.0.88"
  exit 0
fi
printf '%b\n' "${FAKE_SAYS:-ptxas info    : Used 8 registers, used 0 barriers}" >&2
while [ $# -gt 0 ]; do
  if [ "$1" = -o ]; then
    printf cubin >"$2"
  fi
  shift
done
exit "${FAKE_STATUS:-0}"
