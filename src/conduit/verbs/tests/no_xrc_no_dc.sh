#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# no_xrc_no_dc.sh OMPLRUN OMPL_INFO: on Soft-RoCE, which has neither, each is an error that says so, and `auto` falls
# back to RC with the reasons.
set -u
why() { # NAME=VALUE...
  timeout 200 env OMPL_CONDUITS=self,verbs "$@" "$omplrun" -n 2 --no-prefix "$info" --why 2>&1
}
expect() { # TEXT, in $said
  case $said in *"$1"*) ;; *) echo "not said: $1"; echo "$said"; exit 1 ;; esac
}
omplrun=$1 info=$2
for transport in xrc dc; do
  said=$(why OMPL_VERBS_TRANSPORT=$transport) && { echo "$transport works here: $said"; exit 1; }
  expect "OMPL_VERBS_TRANSPORT=rc does without"
  case $transport in xrc) expect "rxe0 has no XRC" ;; *) expect "rxe0 has no DC" ;; esac
done
said=$(why OMPL_VERBS_TRANSPORT=auto OMPL_ENDPOINT_MEMORY=1K) || { echo "auto fails: $said"; exit 1; }
expect "RoCE, RC; no DC: rxe0 has no DC"
expect "; no XRC: rxe0 has no XRC"
