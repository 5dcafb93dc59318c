#!/bin/sh
# Runs a command, sends it SIGTERM when ptxas-slow.sh has begun, and prints its
# status.
"$@" &
tries=600
until [ -s "$FAKE_PIDS" ] || [ $tries = 0 ]; do
  sleep 0.1
  tries=$((tries - 1))
done
kill -s TERM $!
wait $!
echo "status $?"
