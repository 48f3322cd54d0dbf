// SPDX-License-Identifier: BSD-3-Clause
// Accessors as gfortran 15 makes them, written by hand, so that they are tested whatever compiler there is: on two or more images.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "gfortran/abi.hpp"

using gfortran::Descriptor;

extern "C" {
void _gfortran_caf_init(int*, char***);
void _gfortran_caf_finalize();
int _gfortran_caf_this_image(int);
int _gfortran_caf_num_images(int, int);
void _gfortran_caf_sync_all(int*, char*, std::size_t);
void _gfortran_caf_register(std::size_t, int, void**, Descriptor*, int*, char*, std::size_t);
void _gfortran_caf_register_accessor(int, void (*)());
void _gfortran_caf_register_accessors_finish();
int _gfortran_caf_get_remote_function_index(int);
void _gfortran_caf_get_from_remote(void*, const Descriptor*, const std::size_t*, int, std::size_t,
                                   void**, std::size_t*, Descriptor*, bool, int, void*, std::size_t,
                                   int*, void**, int*);
void _gfortran_caf_send_to_remote(void*, Descriptor*, const std::size_t*, int, std::size_t, const void*,
                                  const std::size_t*, const Descriptor*, int, void*, std::size_t, int*,
                                  void**, int*);
void _gfortran_caf_transfer_between_remotes(void*, Descriptor*, std::size_t*, int, int, void*,
                                            std::size_t, void*, const Descriptor*, const std::size_t*,
                                            int, int, void*, std::size_t, std::size_t, bool, int*,
                                            void**, int*, int*);
int32_t _gfortran_caf_is_present_on_remote(void*, int, int, void*, std::size_t);
}

namespace {

struct Object {  // of a derived type: its accessors run at the owner
  int number;
  int* component;  // in memory of malloc(), of any length
  int length;
};
enum : int { kNumber = 7001, kSetNumber, kAll, kPresent, kPicked, kSubscripts, kNobody };
constexpr int kLong = 30000;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "image %d: %s\n", _gfortran_caf_this_image(0), what);
  std::_Exit(99);
}

Descriptor array_of(void* base, std::ptrdiff_t count) {
  Descriptor array{};
  array.base = base;
  array.elem_len = sizeof(int);
  array.rank = 1;
  array.type = gfortran::kInteger;
  array.span = sizeof(int);
  array.dim[0] = {1, 0, count - 1};
  return array;
}

void fill(Descriptor* into, const int* from, int count) {
  *into = array_of(std::malloc(sizeof(int) * static_cast<std::size_t>(count)), count);
  std::copy_n(from, count, static_cast<int*>(into->base));
}

void number(void*, const int*, void* into, int32_t* owned, void* from) {
  *static_cast<void**>(into) = &static_cast<Object*>(from)->number;
  *owned = 0;
}

void set_number(void*, const int*, void* into, const void* from) {
  static_cast<Object*>(into)->number = *static_cast<const int*>(from);
}

void all(void*, const int*, void* into, int32_t* owned, void* from) {
  const auto* const object = static_cast<Object*>(from);
  fill(static_cast<Descriptor*>(into), object->component, object->length);
  *owned = 1;
}

void present(void*, const int*, int32_t* result, void* of) {
  *result = static_cast<Object*>(of)->component != nullptr ? 1 : 0;
}

// What the caller gave holds an address of its own: the subscripts are got from there.
void subscripts(void*, const int*, void* into, int32_t* owned, void* from) {
  const auto* const given = static_cast<Descriptor*>(from);
  fill(static_cast<Descriptor*>(into), static_cast<int*>(given->base),
       static_cast<int>(given->dim[0].extent()));
  *owned = 1;
}

void picked(void*, const int* image, void* into, int32_t* owned, void* from, void* token) {
  Descriptor places = array_of(nullptr, 0);
  void* data = nullptr;
  _gfortran_caf_get_from_remote(token, nullptr, nullptr, *image, 0, &data, nullptr, &places, true,
                                kSubscripts, nullptr, 0, nullptr, nullptr, nullptr);
  auto* const made = static_cast<Descriptor*>(into);
  fill(made, static_cast<int*>(places.base), static_cast<int>(places.dim[0].extent()));
  for (std::size_t i = 0; i < places.dim[0].extent(); ++i) {
    int& each = static_cast<int*>(made->base)[i];
    each = static_cast<Object*>(from)->component[each];
  }
  std::free(places.base);
  *owned = 1;
}

template <class Function>
void offer(int hash, Function function) {
  _gfortran_caf_register_accessor(hash, reinterpret_cast<void (*)()>(function));
}

int get_number(void* token, int image) {
  int value = 0;
  void* place = &value;
  _gfortran_caf_get_from_remote(token, nullptr, nullptr, image, sizeof value, &place, nullptr, nullptr,
                                false, _gfortran_caf_get_remote_function_index(kNumber), nullptr, 0,
                                nullptr, nullptr, nullptr);
  return *static_cast<int*>(place);
}

void arrays(void* token, int next) {
  Descriptor got = array_of(nullptr, 0);
  void* data = nullptr;
  _gfortran_caf_get_from_remote(token, nullptr, nullptr, next, 0, &data, nullptr, &got, true, kAll,
                                nullptr, 0, nullptr, nullptr, nullptr);
  expect(got.dim[0].extent() == kLong, "an array of a length that the owner alone knows");
  expect(static_cast<int*>(got.base)[kLong - 1] == 10 * next + kLong - 1, "its values");
  std::free(got.base);
  for (int round = 1; round <= 3; ++round) {  // from the second on what is wanted goes with the request
    int places[3] = {round, 2 * round, 5};
    Descriptor given = array_of(places, 3);
    int values[3] = {};
    Descriptor target = array_of(values, 3);
    _gfortran_caf_get_from_remote(token, nullptr, nullptr, next, sizeof values, &data, nullptr, &target,
                                  false, kPicked, &given, sizeof given, nullptr, nullptr, nullptr);
    expect(values[0] == 10 * next + round && values[1] == 10 * next + 2 * round &&
               values[2] == 10 * next + 5,
           "a reference of the accessor to what its caller gave");
  }
}

}  // namespace

int main(int argc, char** argv) {
  offer(kNumber, &number);
  offer(kSetNumber, &set_number);
  offer(kAll, &all);
  offer(kPresent, &present);
  offer(kPicked, &picked);
  offer(kSubscripts, &subscripts);
  _gfortran_caf_register_accessors_finish();
  void* token = nullptr;
  Descriptor scalar{};
  scalar.elem_len = sizeof(Object);
  scalar.type = gfortran::kDerived;
  _gfortran_caf_register(sizeof(Object), gfortran::kCoarrayStatic, &token, &scalar, nullptr, nullptr,
                         0);
  auto* const own = static_cast<Object*>(scalar.base);
  *own = {};
  _gfortran_caf_init(&argc, &argv);
  const int me = _gfortran_caf_this_image(0);
  const int count = _gfortran_caf_num_images(0, -1);
  const int next = me % count + 1;
  expect(_gfortran_caf_is_present_on_remote(token, next, kPresent, nullptr, 0) == 0, "not present");
  _gfortran_caf_sync_all(nullptr, nullptr, 0);
  own->component = static_cast<int*>(std::malloc(sizeof(int) * kLong));
  own->length = kLong;
  for (int i = 0; i < kLong; ++i) own->component[i] = 10 * me + i;
  own->number = 100 * me;
  _gfortran_caf_sync_all(nullptr, nullptr, 0);
  expect(_gfortran_caf_is_present_on_remote(token, next, kPresent, nullptr, 0) == 1, "present");
  expect(get_number(token, next) == 100 * next, "a reference");
  arrays(token, next);
  _gfortran_caf_sync_all(nullptr, nullptr, 0);
  const int value = 1000 + me;
  int stat = 1;
  _gfortran_caf_send_to_remote(token, nullptr, nullptr, next, sizeof value, &value, nullptr, nullptr,
                               kSetNumber, nullptr, 0, &stat, nullptr, nullptr);
  expect(stat == 0 && get_number(token, next) == value, "an assignment");
  _gfortran_caf_sync_all(nullptr, nullptr, 0);
  _gfortran_caf_transfer_between_remotes(token, nullptr, nullptr, me, kSetNumber, nullptr, 0, token,
                                         nullptr, nullptr, next, kNumber, nullptr, 0, sizeof value,
                                         true, &stat, nullptr, nullptr, nullptr);
  expect(stat == 0 && own->number >= 1001, "between two images");
  _gfortran_caf_get_from_remote(token, nullptr, nullptr, count + 1, sizeof value, nullptr, nullptr,
                                nullptr, false, kNumber, nullptr, 0, &stat, nullptr, nullptr);
  expect(stat != 0, "an image that there is not");
  _gfortran_caf_sync_all(nullptr, nullptr, 0);
  std::free(own->component);
  _gfortran_caf_finalize();
}
