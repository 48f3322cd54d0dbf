#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# job.sh EMULATOR OMPLRUN RANKS PROGRAM arg...: a job whose ranks are nodes of one emulated machine. EMULATOR is the folder
# of libtofucom.so.
emulator=$1 omplrun=$2 ranks=$3
shift 3
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
export UTOFU_EMULATOR_FABRIC="$folder/fabric" LD_LIBRARY_PATH="$emulator" OMPL_CONDUITS=self,utofu
"$omplrun" -n "$ranks" "$@"
