#!/bin/sh
# A ptxas that sends $FAKE_SIGNAL to its caller for a kernel named "bad".
if [ "$1" = --version ]; then
  echo "Cuda compilation tools, release 13.0, V13.0.88"
  exit 0
fi
for argument; do
  case $argument in
    *bad*) kill -s "$FAKE_SIGNAL" $PPID ;;
    *.cubin) printf cubin >"$argument" ;;
  esac
done
