/* SPDX-License-Identifier: BSD-3-Clause */
/* XMP/C: post and wait with tags of all sizes, without tags and nodes, in any order, and what they promise of puts. */
#include <stdio.h>
#include <xmp.h>

#define TAGS 300
#define ROUNDS 400
#define LARGE 65536

#pragma xmp nodes p[*]
int mail[LARGE]:[*];
int data[LARGE];
int bad = 0;

void many_tags(int me) {
  for (int tag = 0; tag < TAGS; tag++)
    if (me == 0) {
#pragma xmp post (p[1], tag)
#pragma xmp post (p[1], tag)
    }
  for (int twice = 0; twice < 2; twice++)
    for (int tag = TAGS - 1; tag >= 0; tag--)
      if (me == 1) {
#pragma xmp wait (p[0], tag)
      }
}

/* There and back, with data and a tag that is small and large in turn. */
void with_data(int me) {
  for (int round = 0; round < ROUNDS; round++) {
    int tag = round % 2 == 0 ? 5 : 100000 + round;
    int size = round % 10 == 0 ? LARGE : 7;
    if (me == 0) {
      for (int i = 0; i < size; i++) data[i] = round + i;
      mail[0:size]:[1] = data[0:size];
#pragma xmp post (p[1], tag)
#pragma xmp wait (p[1], tag)
    }
    if (me == 1) {
#pragma xmp wait (p[0], tag)
      for (int i = 0; i < size; i++) bad += mail[i] != round + i;
#pragma xmp post (p[0], tag)
    }
  }
}

/* 0 puts to 2 and posts to 1, which posts to 2. */
void by_way_of_another(int me) {
  for (int round = 0; round < ROUNDS; round++) {
    if (me == 0) {
      data[0] = 7 * round;
      mail[3]:[2] = data[0];
#pragma xmp post (p[1], 9)
#pragma xmp wait (p[2], 1)
    }
    if (me == 1) {
#pragma xmp wait (p[0], 9)
#pragma xmp post (p[2], 9)
    }
    if (me == 2) {
#pragma xmp wait (p[1], 9)
      bad += mail[3] != 7 * round;
#pragma xmp post (p[0], 1)
    }
  }
}

void any_tag_any_node(int me, int size) {
  int ahead = (me + 1) % size, behind = (me + size - 1) % size;
  for (int round = 0; round < ROUNDS; round++) {
#pragma xmp post (p[ahead], 1000 + round)
#pragma xmp post (p[ahead], 2)
#pragma xmp post (p[me], 63)
#pragma xmp wait (p[behind])
#pragma xmp wait (p[behind])
  }
  for (int round = 0; round < ROUNDS; round++) { /* those to itself are left */
#pragma xmp wait
  }
}

int main() {
  int me = xmpc_this_image(), size = xmp_num_images();
  many_tags(me);
  xmp_sync_all(NULL);
  with_data(me);
  xmp_sync_all(NULL);
  if (size > 2) by_way_of_another(me);
  xmp_sync_all(NULL);
  any_tag_any_node(me, size);
#pragma xmp reduction(+:bad)
  if (me == 0) printf(bad == 0 ? "PASS\n" : "FAIL\n");
  return bad != 0;
}
