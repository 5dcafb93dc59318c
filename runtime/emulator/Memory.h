//===- Memory.h - Device memory ---------------------------------*- C++ -*-===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// Each allocation lives at a device address of its own, far from all others:
// an access beyond its end hits nothing else and is an error.
//===----------------------------------------------------------------------===//
#ifndef BACKFUSE_RUNTIME_EMULATOR_MEMORY_H
#define BACKFUSE_RUNTIME_EMULATOR_MEMORY_H

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace backfuse::emulator {

/// One bit a byte, of which threads set what they touch.
using ByteBits = std::vector<std::atomic<uint8_t>>;

struct Allocation {
  uint64_t base = 0;
  uint64_t bytes = 0;
  uint8_t *data = nullptr;
  std::string name;
  std::vector<uint8_t> owned;
  bool isLive = false;
  bool isReadOnly = false; ///< kernels may not write
  /// One bit per byte: holds a value. Empty: all do.
  ByteBits written;
  /// Per 4 bytes: the thread that wrote last and when. See Shadow.h.
  struct Free {
    void operator()(void *p) const { std::free(p); }
  };
  std::unique_ptr<std::atomic<uint64_t>[], Free> writers;
  /// The same for the last ordinary load since.
  std::unique_ptr<std::atomic<uint64_t>[], Free> readers;
};

class DeviceMemory {
public:
  /// Address bits below belong to the offset in an allocation.
  static constexpr unsigned idShift = 36;

  /// Memory of its own; `isInitialised` false: reading before writing is an
  /// error when checks are on. The bytes are 0xff then.
  uint64_t allocate(uint64_t bytes, std::string name, bool isInitialised);
  /// Memory of the caller, who keeps it alive.
  uint64_t map(void *host, uint64_t bytes, std::string name,
               bool isInitialised);
  bool release(uint64_t address);

  Allocation *find(uint64_t address) {
    uint64_t id = indexOf(address);
    return id < allocations.size() ? allocations[id].get() : nullptr;
  }
  /// The place in all() of the allocation that has this address.
  static uint64_t indexOf(uint64_t address) { return address >> idShift; }
  const Allocation *find(uint64_t address) const {
    return const_cast<DeviceMemory *>(this)->find(address);
  }
  /// The bytes at an address, or null if not all are in one allocation.
  uint8_t *at(uint64_t address, uint64_t bytes, Allocation **where = nullptr) {
    Allocation *allocation = find(address);
    if (where)
      *where = allocation;
    if (!allocation || !allocation->isLive || address < allocation->base ||
        bytes > allocation->bytes ||
        address - allocation->base > allocation->bytes - bytes)
      return nullptr;
    return allocation->data + (address - allocation->base);
  }
  /// "byte 12 of 'grad_weight' (1024 bytes)", or what else the address is.
  std::string describe(uint64_t address) const;
  std::vector<std::unique_ptr<Allocation>> &all() { return allocations; }

private:
  std::vector<std::unique_ptr<Allocation>> allocations;
  uint64_t insert(std::unique_ptr<Allocation> allocation, bool isInitialised);
};

/// Marks bytes from `offset` on, and forgets them.
void setBits(ByteBits &bits, uint64_t offset, uint64_t bytes);
void clearBits(ByteBits &bits, uint64_t offset, uint64_t bytes);
uint64_t countBits(const ByteBits &bits);

/// The first of these bytes that nobody has written, from `offset`; `bytes` if
/// all were. The allocation keeps track of it.
uint64_t firstUnwritten(const Allocation &allocation, uint64_t offset,
                        uint64_t bytes);

// Device memory is shared by the threads that run CTAs: words are moved with
// relaxed atomic operations, which are plain moves on the machines we run on.
template <class T> inline T loadShared(const uint8_t *from) {
  return __atomic_load_n(reinterpret_cast<const T *>(from), __ATOMIC_RELAXED);
}
template <class T> inline void storeShared(uint8_t *to, T value) {
  __atomic_store_n(reinterpret_cast<T *>(to), value, __ATOMIC_RELAXED);
}
/// Copies between device memory and memory of one thread.
void copyFromShared(uint8_t *to, const uint8_t *from, uint64_t bytes);
void copyToShared(uint8_t *to, const uint8_t *from, uint64_t bytes);

} // namespace backfuse::emulator

#endif // BACKFUSE_RUNTIME_EMULATOR_MEMORY_H
