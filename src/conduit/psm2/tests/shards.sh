#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shards.sh NUMBER PROGRAM arg...: the tests of a GoogleTest program in so many processes, one after the other. Endpoints without a
# card stay open until their process ends, 4.3 MB each.
number=$1
shift
export GTEST_TOTAL_SHARDS="$number" PSM2_DEVICES=self,shm
shard=0
while [ "$shard" -lt "$number" ]; do
  GTEST_SHARD_INDEX=$shard "$@" || exit 1
  shard=$((shard + 1))
done
