#!/usr/bin/env bash
# Runs an executable of tests, as cargo's runner: `run-tests.sh EXECUTABLE ARGUMENT..`. Each test's time is told, which the test harness does for
# compilers in the making only, if this variable does not say otherwise; cargo itself must not see it, or it compiles everything anew.
set -euo pipefail
case "$1" in
*/deps/*) RUSTC_BOOTSTRAP=1 exec "$@" -Z unstable-options --report-time ;;
*) exec "$@" ;;
esac
