//===- Memory.cpp - Device memory -----------------------------------------===//
// Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "runtime/emulator/Memory.h"

#include <algorithm>

namespace backfuse::emulator {

uint64_t DeviceMemory::insert(std::unique_ptr<Allocation> allocation,
                              bool isInitialised) {
  if (allocations.empty())
    allocations.emplace_back(); // addresses near zero belong to nobody
  uint64_t id = allocations.size();
  // Aligned as the driver's allocations are, and not more.
  allocation->base =
      (id << idShift) + (uint64_t(1) << 20) + 256 * (2 * (id % 64) + 1);
  allocation->isLive = true;
  if (!isInitialised)
    allocation->written = ByteBits((allocation->bytes + 7) / 8);
  allocations.push_back(std::move(allocation));
  return allocations.back()->base;
}

uint64_t DeviceMemory::allocate(uint64_t bytes, std::string name,
                                bool isInitialised) {
  auto allocation = std::make_unique<Allocation>();
  allocation->bytes = bytes;
  allocation->name = std::move(name);
  allocation->owned.assign(bytes + 64, isInitialised ? 0 : 0xff);
  auto raw = reinterpret_cast<uintptr_t>(allocation->owned.data());
  allocation->data = allocation->owned.data() + (64 - raw % 64) % 64;
  return insert(std::move(allocation), isInitialised);
}

uint64_t DeviceMemory::map(void *host, uint64_t bytes, std::string name,
                           bool isInitialised) {
  auto allocation = std::make_unique<Allocation>();
  allocation->bytes = bytes;
  allocation->name = std::move(name);
  allocation->data = static_cast<uint8_t *>(host);
  return insert(std::move(allocation), isInitialised);
}

bool DeviceMemory::release(uint64_t address) {
  Allocation *allocation = find(address);
  if (!allocation || !allocation->isLive || allocation->base != address)
    return false;
  allocation->isLive = false;
  allocation->data = nullptr;
  std::vector<uint8_t>().swap(allocation->owned);
  ByteBits().swap(allocation->written);
  allocation->writers.reset();
  allocation->readers.reset();
  return true;
}

std::string DeviceMemory::describe(uint64_t address) const {
  const Allocation *allocation = find(address);
  if (!allocation)
    return "no allocation";
  auto offset = static_cast<int64_t>(address - allocation->base);
  std::string text = "byte " + std::to_string(offset) + " of '" +
                     allocation->name + "' (" +
                     std::to_string(allocation->bytes) + " bytes)";
  return allocation->isLive ? text : text + ", which was freed";
}

/// Calls `change(byte, its bits)` for each byte of `bits` that has some of
/// them.
template <class Change>
static void forBits(ByteBits &bits, uint64_t offset, uint64_t bytes,
                    Change &&change) {
  for (uint64_t at = offset; at < offset + bytes;) {
    auto count = static_cast<unsigned>(
        std::min<uint64_t>(8 - at % 8, offset + bytes - at));
    change(bits[at / 8], static_cast<uint8_t>(((1u << count) - 1) << (at % 8)));
    at += count;
  }
}

void setBits(ByteBits &bits, uint64_t offset, uint64_t bytes) {
  forBits(bits, offset, bytes, [](std::atomic<uint8_t> &byte, uint8_t mask) {
    if (mask == 0xff)
      byte.store(0xff, std::memory_order_relaxed);
    else if ((byte.load(std::memory_order_relaxed) & mask) != mask)
      byte.fetch_or(mask, std::memory_order_relaxed);
  });
}

void clearBits(ByteBits &bits, uint64_t offset, uint64_t bytes) {
  forBits(bits, offset, bytes, [](std::atomic<uint8_t> &byte, uint8_t mask) {
    byte.fetch_and(static_cast<uint8_t>(~mask), std::memory_order_relaxed);
  });
}

uint64_t countBits(const ByteBits &bits) {
  uint64_t count = 0;
  for (const std::atomic<uint8_t> &byte : bits)
    count += static_cast<uint64_t>(
        __builtin_popcount(byte.load(std::memory_order_relaxed)));
  return count;
}

uint64_t firstUnwritten(const Allocation &allocation, uint64_t offset,
                        uint64_t bytes) {
  for (uint64_t i = 0; i < bytes;) {
    uint64_t at = offset + i;
    uint8_t bits = allocation.written[at / 8].load(std::memory_order_relaxed);
    if (bits == 0xff) {
      i += 8 - at % 8;
      continue;
    }
    if (!((bits >> (at % 8)) & 1))
      return i;
    ++i;
  }
  return bytes;
}

void copyFromShared(uint8_t *to, const uint8_t *from, uint64_t bytes) {
  uint64_t i = 0;
  for (; i < bytes && reinterpret_cast<uintptr_t>(from + i) % 8; ++i)
    to[i] = loadShared<uint8_t>(from + i);
  for (; i + 8 <= bytes; i += 8) {
    auto word = loadShared<uint64_t>(from + i);
    std::memcpy(to + i, &word, 8);
  }
  for (; i < bytes; ++i)
    to[i] = loadShared<uint8_t>(from + i);
}

void copyToShared(uint8_t *to, const uint8_t *from, uint64_t bytes) {
  uint64_t i = 0;
  for (; i < bytes && reinterpret_cast<uintptr_t>(to + i) % 8; ++i)
    storeShared<uint8_t>(to + i, from[i]);
  for (; i + 8 <= bytes; i += 8) {
    uint64_t word;
    std::memcpy(&word, from + i, 8);
    storeShared<uint64_t>(to + i, word);
  }
  for (; i < bytes; ++i)
    storeShared<uint8_t>(to + i, from[i]);
}

} // namespace backfuse::emulator
