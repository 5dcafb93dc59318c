#!/bin/sh
# A ptxas that does not end soon; it writes its process id to $FAKE_PIDS.
if [ "$1" = --version ]; then
  echo "Cuda compilation tools, release 13.0, V13.0.88"
  exit 0
fi
echo $$ >>"$FAKE_PIDS"
exec sleep 300
