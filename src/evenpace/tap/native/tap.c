/* The native part of the tap: a preloaded library that records every operation of torch's process groups.
 *
 * It defines functions with the mangled names of the virtuals of c10d::ProcessGroupGloo and c10d::ProcessGroupNCCL
 * and of c10d::Work. libtorch is not linked with -Bsymbolic, so the dynamic linker puts ours into its vtables and
 * calls; each of them writes a record and calls the original. A name that some torch does not have is never called.
 * One file and long for one, so that a compiler is all that is needed to have it. Run on Gloo of torch 2.13; of NCCL the names were looked up in the CUDA build of torch 2.14.1 and the code was run
 * against a mock with the same names, never against NCCL itself.
 * Nothing of torch is included: what is used of its C++ ABI (x86-64 System V) is
 *   - intrusive_ptr<Work> is returned through a hidden first pointer;
 *   - std::vector is begin, end, capacity; at::Tensor is one pointer, so at::Tensor* is an AtenTensorHandle, and
 *     sizes come from torch's stable C functions (aoti_torch_...);
 *   - BroadcastOptions, GatherOptions and ScatterOptions begin with int64_t rootRank;
 *   - std::exception_ptr is passed by address and is one pointer, null where there is no error.
 * The layout of the ring is that of evenpace_tap/layout.py. Nothing here blocks: operations are numbered without
 * a lock; other locks are spun on a bounded number of times, then the observation (never the operation) is given up.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if !defined(__x86_64__) || !defined(__linux__)
#error "the native tap knows the x86-64 C++ ABI on Linux only"
#endif

#define EXPORT __attribute__((visibility("default")))
typedef uintptr_t word; /* one argument in one integer register or stack slot, whatever it means */

/* ---- The ring ------------------------------------------------------------------------------------------------ */

struct header {
  char magic[8];
  uint32_t header_bytes, record_bytes, capacity, tap_kind;
  _Atomic uint64_t head;
  char other[56];
  _Atomic uint64_t lost;
};

struct record {
  _Atomic uint64_t marker;
  uint64_t enter_ns, return_ns, complete_ns, wait_enter_ns, wait_ns, bytes, group;
  uint32_t sequence;
  int32_t peer;
  uint8_t kind, flags;
  uint16_t waiting;
  uint32_t thread;
};

_Static_assert(offsetof(struct header, lost) == 88, "the header differs from layout.py");
_Static_assert(sizeof(struct record) == 80, "the record differs from layout.py");

enum { POINT_TO_POINT = 1, FAILED = 2, COMPLETION_UNKNOWN = 4 };

static struct header *_Atomic ring; /* null: not recording */
static size_t ring_bytes;
EXPORT _Atomic int evenpace_tap_recording = 1; /* the overhead benchmark switches this within one process */

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static uint32_t thread_id(void) {
  static __thread uint32_t id;
  if (!id) id = (uint32_t)syscall(SYS_gettid);
  return id;
}

static struct header *recording(void) {
  return atomic_load_explicit(&evenpace_tap_recording, memory_order_relaxed) ? atomic_load(&ring) : NULL;
}

static struct record *slot(struct header *to, uint64_t index) {
  return (struct record *)((char *)to + to->header_bytes) + (index & (to->capacity - 1));
}

/* The record of that index, or null if it has been overwritten since. */
static struct record *find(struct header *in, uint64_t index) {
  struct record *record = slot(in, index);
  return atomic_load_explicit(&record->marker, memory_order_acquire) == index + 1 ? record : NULL;
}

/* The record to be written at that index: empty, and invalid until its marker is set. */
static struct record *cleared(struct header *to, uint64_t index) {
  struct record *record = slot(to, index);
  atomic_store(&record->marker, 0);
  memset((char *)record + 8, 0, sizeof *record - 8);
  return record;
}

static bool lock(atomic_flag *flag) {
  for (int tries = 0; atomic_flag_test_and_set_explicit(flag, memory_order_acquire); tries++) {
    if (tries > 4000) return false;
    if (tries > 2000) sched_yield(); /* its holder may have been preempted on this core */
  }
  return true;
}

static void unlock(atomic_flag *flag) { atomic_flag_clear_explicit(flag, memory_order_release); }

/* ---- Sequence numbers, per stream of operations that match each other across ranks ------------------------------ */

/* Lock-free, so that nothing can keep an operation from being numbered: a stream lies within WINDOW slots from where
 * its hash points, the whole window is looked at, and so a slot can be freed and taken again at any time. (Two threads
 * that issue the very first operation of a stream at once, while a group is destroyed, could take two slots for it.) */
#define STREAMS 16384
#define WINDOW 128
static struct { _Atomic uint64_t key; _Atomic uint32_t next; } streams[STREAMS]; /* key 0: free */
static _Atomic bool streams_full; /* a stream that found no room has lost its count: no new one begins after that */

enum { STREAM_BITS = 20 };

/* All collectives of a group are one stream; sends and receives are one a peer. */
static uint32_t stream_of(uint32_t direction, int32_t peer) {
  return direction ? ((uint32_t)(peer + 1) << 2) | direction : 0;
}

/* Group and stream in one word, 0 where they do not fit: the address has 47 bits, and a vtable pointer aligns it to 8. */
static uint64_t stream_key(uint64_t group, uint32_t stream) {
  return group >> 47 || stream >> STREAM_BITS ? 0 : (group >> 3) << STREAM_BITS | stream;
}

static bool next_in_stream(uint64_t group, uint32_t stream, uint32_t *sequence) {
  uint64_t key = stream_key(group, stream), hash = key * 0x9e3779b97f4a7c15u >> 32;
  for (uint32_t taking = 0; taking < 2; taking++) { /* look for it first, then for a free slot */
    if (!key || (taking && atomic_load(&streams_full))) return false;
    for (uint32_t step = 0; step < WINDOW; step++) {
      uint32_t i = (uint32_t)(hash + step) % STREAMS;
      uint64_t found = atomic_load_explicit(&streams[i].key, memory_order_acquire);
      if (!found && taking && atomic_compare_exchange_strong(&streams[i].key, &found, key)) found = key;
      if (found != key) continue;
      *sequence = atomic_fetch_add_explicit(&streams[i].next, 1, memory_order_relaxed);
      return true;
    }
  }
  atomic_store(&streams_full, true);
  return false;
}

/* A group was destroyed: its slots are free, and another one that comes to live at its address counts from 0. */
static void forget_group(uint64_t group) {
  if (!atomic_load(&ring)) return;
  for (int i = 0; i < STREAMS; i++)
    if (atomic_load_explicit(&streams[i].key, memory_order_relaxed) >> STREAM_BITS == group >> 3) {
      atomic_store(&streams[i].next, 0);
      atomic_store_explicit(&streams[i].key, 0, memory_order_release);
    }
}

/* ---- Which records a Work completes --------------------------------------------------------------------------- */

struct range { /* count records from first; more than one where operations were coalesced */
  uint64_t first;
  uint32_t count;
};

#define BUCKETS 1024
#define WAYS 16
struct work { /* count 0: it finished at done_ns, before the issuing call returned */
  void *object;
  struct range records;
  uint64_t done_ns;
  bool failed, done;
};
static struct { atomic_flag lock; unsigned victim; struct work ways[WAYS]; } works[BUCKETS];

static unsigned bucket_of(void *object) {
  return (unsigned)((((uintptr_t)object >> 4) * 0x9e3779b97f4a7c15u) >> 54);
}

static void completion_unknown(struct header *in, struct range records) {
  for (uint64_t i = records.first; in && i < records.first + records.count; i++) {
    struct record *record = find(in, i);
    if (record) record->flags |= COMPLETION_UNKNOWN;
  }
}

/* The entry of that Work; a new one if `make`. The bucket is locked by the caller. */
static struct work *entry(unsigned bucket, void *object, bool make) {
  struct work *ways = works[bucket].ways, *free = NULL;
  for (int i = 0; i < WAYS; i++) {
    if (ways[i].object == object) return &ways[i];
    if (!ways[i].object) free = &ways[i];
  }
  if (!make) return NULL;
  if (!free) {
    free = &ways[works[bucket].victim++ % WAYS];
    if (!free->done) completion_unknown(atomic_load(&ring), free->records);
  }
  *free = (struct work){.object = object};
  return free;
}

static void complete(struct header *in, struct range records, uint64_t time, bool failed) {
  uint32_t thread = 0;
  uint64_t group = 0;
  for (uint64_t i = records.first; i < records.first + records.count; i++) {
    struct record *record = find(in, i);
    if (!record) continue;
    if (i == records.first) thread = record->thread, group = record->group;
    if (record->thread != thread || record->group != group) continue; /* another thread's, in between */
    if (failed) record->flags |= FAILED;
    record->complete_ns = time; /* of several Works below one operation, the last */
  }
}

static void work_issued(struct header *in, void *object, struct range records) {
  unsigned bucket = bucket_of(object);
  if (!lock(&works[bucket].lock)) { completion_unknown(in, records); return; }
  struct work *work = entry(bucket, object, true);
  struct record *record = find(in, records.first);
  bool early = work->done && !work->records.count && record && work->done_ns >= record->enter_ns;
  if (early) complete(in, records, work->done_ns, work->failed);
  *work = (struct work){.object = object, .records = records, .done = early};
  unlock(&works[bucket].lock);
}

static void work_done(void *object, bool failed) {
  struct header *in = recording();
  unsigned bucket = bucket_of(object);
  if (!in) return;
  uint64_t time = now();
  if (!lock(&works[bucket].lock)) { atomic_fetch_add(&in->lost, 1); return; }
  struct work *work = entry(bucket, object, true);
  if (work->records.count) complete(in, work->records, time, failed);
  else if (!work->done) work->done_ns = time, work->failed = failed;
  work->done = true;
  unlock(&works[bucket].lock);
}

static struct range work_records(void *object) {
  unsigned bucket = bucket_of(object);
  struct range records = {0, 0};
  if (!lock(&works[bucket].lock)) return records;
  struct work *work = entry(bucket, object, false);
  if (work) records = work->records;
  unlock(&works[bucket].lock);
  return records;
}

static bool work_is_open(void *object) {
  unsigned bucket = bucket_of(object);
  if (!lock(&works[bucket].lock)) return false;
  struct work *work = entry(bucket, object, false);
  bool open = work && !work->done;
  unlock(&works[bucket].lock);
  return open;
}

static void work_destroyed(void *object) {
  unsigned bucket = bucket_of(object);
  if (!atomic_load(&ring) || !lock(&works[bucket].lock)) return;
  struct work *work = entry(bucket, object, false);
  if (work) *work = (struct work){0};
  unlock(&works[bucket].lock);
}

/* ---- Calling the original --------------------------------------------------------------------------------------- */

/* The same in a loaded library, by its name; null where it is not loaded or has no such function. */
static void *in_library(const char *name, const char *symbol) {
  void *library = dlopen(name, RTLD_NOLOAD | RTLD_LAZY);
  void *function = library ? dlsym(library, symbol) : NULL;
  if (library) dlclose(library);
  return function;
}

/* Where torch's functions are: libtorch is usually loaded RTLD_LOCAL, out of sight of RTLD_NEXT. */
static void *in_torch(const char *symbol) {
  void *function = dlsym(RTLD_NEXT, symbol);
  if (!function) function = in_library("libtorch_cpu.so", symbol);
  return function ? function : in_library("libtorch_cuda.so", symbol);
}

static bool ours(void *function) {
  Dl_info here, there;
  return dladdr((void *)ours, &here) && dladdr(function, &there) && here.dli_fbase == there.dli_fbase;
}

static void *in_any_library(const char *symbol) {
  struct link_map *library = NULL;
  void *program = dlopen(NULL, RTLD_LAZY);
  if (!program || dlinfo(program, RTLD_DI_LINKMAP, &library)) return NULL;
  for (; library; library = library->l_next) {
    void *function = *library->l_name ? in_library(library->l_name, symbol) : NULL;
    if (function && !ours(function)) return function;
  }
  return NULL;
}

struct real { /* one of torch's own functions; they lie in one section, so that all can be found at once */
  const char *symbol;
  void *_Atomic function;
};
#define REALS __attribute__((section("evenpace_reals"), used, aligned(8)))
extern struct real __start_evenpace_reals[] __attribute__((visibility("hidden")));
extern struct real __stop_evenpace_reals[] __attribute__((visibility("hidden")));

/* The function that would have been called without us. There is one: we are called by a vtable or a call that names
 * the symbol, and a program that names what no loaded library defines would not have been linked without us either. */
static void *resolve(struct real *real, void *object) {
  void *function = atomic_load_explicit(&real->function, memory_order_relaxed);
  if (function) return function;
  Dl_info info;
  function = in_torch(real->symbol);
  if (!function && dladdr(*(void **)object, &info)) function = in_library(info.dli_fname, real->symbol);
  if (!function || ours(function)) function = in_any_library(real->symbol);
  atomic_store(&real->function, function);
  return function;
}

/* ---- Sizes and peers ------------------------------------------------------------------------------------------ */

static int (*tensor_numel)(void *, int64_t *);
static int (*tensor_dtype)(void *, int32_t *);
static size_t (*dtype_bytes)(int32_t);

static uint64_t bytes_of_tensor(void *tensor) {
  int64_t numel = 0;
  int32_t dtype = 0;
  if (!tensor_numel || !tensor_dtype || !dtype_bytes) return 0;
  if (tensor_numel(tensor, &numel) || numel <= 0 || tensor_dtype(tensor, &dtype)) return 0;
  return (uint64_t)numel * dtype_bytes(dtype);
}

static uint64_t bytes_of_list(void *list) {
  uint64_t sum = 0;
  for (char **bounds = list, *tensor = bounds[0]; tensor < bounds[1]; tensor += sizeof(void *))
    sum += bytes_of_tensor(tensor);
  return sum;
}

static uint64_t bytes_of_lists(void *lists) {
  uint64_t sum = 0;
  for (char **bounds = lists, *list = bounds[0]; list < bounds[1]; list += 3 * sizeof(void *)) sum += bytes_of_list(list);
  return sum;
}

enum size { NOTHING, TENSOR_1, TENSOR_2, LIST_1, LIST_2, LISTS_1, LISTS_2 }; /* the argument that is the message */
enum peer { NOBODY, ROOT_2, ROOT_3, SEND_TO_2, RECV_FROM_2, RECV_FROM_ANY };

static uint64_t message_bytes(enum size size, word first, word second) {
  switch (size) {
    case TENSOR_1: return bytes_of_tensor((void *)first);
    case TENSOR_2: return bytes_of_tensor((void *)second);
    case LIST_1: return bytes_of_list((void *)first);
    case LIST_2: return bytes_of_list((void *)second);
    case LISTS_1: return bytes_of_lists((void *)first);
    case LISTS_2: return bytes_of_lists((void *)second);
    default: return 0;
  }
}

static int32_t peer_of(enum peer peer, word second, word third) {
  switch (peer) {
    case ROOT_2: return (int32_t) * (int64_t *)second;
    case ROOT_3: return (int32_t) * (int64_t *)third;
    case SEND_TO_2:
    case RECV_FROM_2: return (int32_t)second;
    default: return -1;
  }
}

/* ---- Issuing an operation ------------------------------------------------------------------------------------- */

struct operation {
  struct real *real;
  uint8_t kind; /* index into KINDS of layout.py */
  enum size size;
  enum peer peer;
};

struct call { /* one issuing call under way on this thread */
  struct header *in;
  struct range records;
  bool returned;
};

static __thread struct call *current;    /* the outermost: an operation that is built on another is one record */
static __thread struct range coalescing; /* what was issued since startCoalescing */
static __thread void *coalescing_group;

static bool begin(struct header *to, const struct operation *operation, void *group, word first, word second, word third,
                  struct range *records) {
  int32_t peer = peer_of(operation->peer, second, third);
  uint32_t direction = operation->peer == SEND_TO_2 ? 1 : operation->peer >= RECV_FROM_2 ? 2 : 0, sequence;
  uint64_t bytes = message_bytes(operation->size, first, second), time = now();
  if (!next_in_stream((uint64_t)group, stream_of(direction, peer), &sequence)) {
    atomic_fetch_add(&to->lost, 1);
    return false;
  }
  uint64_t index = atomic_fetch_add(&to->head, 1);
  struct record *record = cleared(to, index);
  record->enter_ns = time;
  record->bytes = bytes;
  record->group = (uint64_t)group;
  record->sequence = sequence;
  record->peer = peer;
  record->kind = operation->kind;
  record->flags = direction ? POINT_TO_POINT : 0;
  record->thread = thread_id();
  atomic_store_explicit(&record->marker, index + 1, memory_order_release);
  *records = (struct range){index, 1};
  return true;
}

/* Runs at the end of the call, also when a C++ exception passes through it (-fexceptions). */
static void end_call(struct call *call) {
  current = NULL;
  struct record *record = find(call->in, call->records.first);
  if (!record) return;
  record->return_ns = now();
  if (!call->returned) complete(call->in, call->records, record->return_ns, true);
}

/* Every virtual has at most seven words: in six registers and one on the stack. To pass on more than it takes is
 * harmless (the caller cleans up), so one function serves them all. */
#define WORDS word result, word self, word a, word b, word c, word d, word e
#define PASSED result, self, a, b, c, d, e
typedef void *original(WORDS);

static void *issue(const struct operation *operation, WORDS) {
  original *real = (original *)resolve(operation->real, (void *)self);
  if (current) { /* built on another: Gloo's reduce_scatter completes when the all_reduce below it does */
    void *nested = real(PASSED);
    if (*(void **)result) work_issued(current->in, *(void **)result, current->records);
    return nested;
  }
  struct header *to = recording();
  struct range records;
  if (!to || !begin(to, operation, (void *)self, a, b, c, &records)) return real(PASSED);
  __attribute__((cleanup(end_call))) struct call call = {to, records, false};
  current = &call;
  void *returned = real(PASSED);
  call.returned = true;
  if (*(void **)result) work_issued(to, *(void **)result, records);
  else if (coalescing_group != (void *)self) completion_unknown(to, records);
  if (coalescing_group == (void *)self) {
    if (!coalescing.count) coalescing.first = records.first;
    coalescing.count = (uint32_t)(records.first - coalescing.first) + 1;
  }
  return returned;
}

#define GLOO "_ZN4c10d16ProcessGroupGloo"
#define NCCL "_ZN4c10d16ProcessGroupNCCL"
#define OPERATION_OF(backend, prefix, name, kind, size, peer, suffix)                                 \
  static struct real backend##_##name##_real REALS = {prefix suffix, NULL};                           \
  static const struct operation backend##_##name = {&backend##_##name##_real, kind, size, peer};      \
  EXPORT void *backend##_##name##_tap(WORDS) __asm__(prefix suffix);                                  \
  void *backend##_##name##_tap(WORDS) { return issue(&backend##_##name, PASSED); }
#define OPERATION(...)                   \
  OPERATION_OF(gloo, GLOO, __VA_ARGS__)  \
  OPERATION_OF(nccl, NCCL, __VA_ARGS__)

#define LIST "ERSt6vectorIN2at6TensorESaIS3_EE" /* the mangled parameters that recur */
#define LISTS_LIST "ERSt6vectorIS1_IN2at6TensorESaIS3_EESaIS5_EERS5_"
#define LIST_LISTS LIST "RS1_IS5_SaIS5_EE"
#define TENSOR_TENSOR "ERN2at6TensorES3_"
#define OPTIONS(name) "RKNS_" name "OptionsE"

OPERATION(broadcast, 1, LIST_1, ROOT_2, "9broadcast" LIST OPTIONS("16Broadcast"))
OPERATION(allreduce, 2, LIST_1, NOBODY, "9allreduce" LIST OPTIONS("16Allreduce"))
OPERATION(allreduce_sparse, 2, LIST_1, NOBODY, "16allreduce_sparse" LIST OPTIONS("16Allreduce"))
OPERATION(allreduce_coalesced, 3, LIST_1, NOBODY, "19allreduce_coalesced" LIST OPTIONS("25AllreduceCoalesced"))
/* The root of ReduceOptions lies behind a ReduceOp, whose size is torch's own affair: not read. */
OPERATION(reduce, 4, LIST_1, NOBODY, "6reduce" LIST OPTIONS("13Reduce"))
OPERATION(allgather, 5, LISTS_1, NOBODY, "9allgather" LISTS_LIST OPTIONS("16Allgather"))
OPERATION(allgather_base, 6, TENSOR_1, NOBODY, "15_allgather_base" TENSOR_TENSOR OPTIONS("16Allgather"))
OPERATION(all_gather_single, 6, TENSOR_1, NOBODY, "17all_gather_single" TENSOR_TENSOR OPTIONS("16Allgather"))
OPERATION(allgather_coalesced, 7, LISTS_1, NOBODY, "19allgather_coalesced" LISTS_LIST OPTIONS("16Allgather"))
OPERATION(allgather_into_tensors, 7, LIST_1, NOBODY,
          "31allgather_into_tensor_coalesced" LIST "S6_" OPTIONS("16Allgather"))
OPERATION(all_gather_singles, 7, LIST_1, NOBODY, "27all_gather_single_coalesced" LIST "S6_" OPTIONS("16Allgather"))
OPERATION(gather, 8, LIST_2, ROOT_3, "6gather" LISTS_LIST OPTIONS("13Gather"))
OPERATION(gather_single, 8, TENSOR_2, ROOT_3, "13gather_single" TENSOR_TENSOR OPTIONS("13Gather"))
OPERATION(scatter, 9, LIST_1, ROOT_3, "7scatter" LIST_LISTS OPTIONS("14Scatter"))
OPERATION(reduce_scatter, 10, LISTS_2, NOBODY, "14reduce_scatter" LIST_LISTS OPTIONS("20ReduceScatter"))
OPERATION(reduce_scatter_base, 11, TENSOR_2, NOBODY, "20_reduce_scatter_base" TENSOR_TENSOR OPTIONS("20ReduceScatter"))
OPERATION(reduce_scatter_single, 11, TENSOR_2, NOBODY, "21reduce_scatter_single" TENSOR_TENSOR OPTIONS("20ReduceScatter"))
OPERATION(reduce_scatter_tensors, 12, LIST_2, NOBODY,
          "31reduce_scatter_tensor_coalesced" LIST "S6_" OPTIONS("20ReduceScatter"))
OPERATION(reduce_scatter_singles, 12, LIST_2, NOBODY,
          "31reduce_scatter_single_coalesced" LIST "S6_" OPTIONS("20ReduceScatter"))
OPERATION(alltoall, 13, LIST_2, NOBODY, "8alltoall" LIST "S6_" OPTIONS("15AllToAll"))
#define SPLITS "RSt6vectorIlSaIlEES7_"
OPERATION(alltoall_base, 14, TENSOR_2, NOBODY, "13alltoall_base" TENSOR_TENSOR SPLITS OPTIONS("15AllToAll"))
OPERATION(all_to_all_single, 14, TENSOR_2, NOBODY, "17all_to_all_single" TENSOR_TENSOR SPLITS OPTIONS("15AllToAll"))
OPERATION(send, 15, LIST_1, SEND_TO_2, "4send" LIST "ii")
OPERATION(recv, 16, LIST_1, RECV_FROM_2, "4recv" LIST "ii")
OPERATION(recv_any_source, 17, LIST_1, RECV_FROM_ANY, "13recvAnysource" LIST "i")
OPERATION(barrier, 18, NOTHING, NOBODY, "7barrierE" OPTIONS("14Barrier"))

/* ---- Coalescing (NCCL): one Work for all that was issued between start and end ---------------------------------- */

#define INTERPOSE(type, name, symbol, ...)             \
  static struct real name##_real REALS = {symbol, NULL}; \
  EXPORT type name##_tap(__VA_ARGS__) __asm__(symbol); \
  type name##_tap(__VA_ARGS__)
#define REAL(type, name, object) ((type)resolve(&name##_real, object))

INTERPOSE(void, start_coalescing, NCCL "15startCoalescingEv", void *self) {
  coalescing = (struct range){0, 0};
  coalescing_group = self;
  REAL(void (*)(void *), start_coalescing, self)(self);
}

static void end_coalescing_call(struct call *call) {
  current = call->records.count ? NULL : current;
  coalescing_group = NULL;
}

INTERPOSE(void *, end_coalescing, NCCL "13endCoalescingEv", void **result, void *self) {
  void *(*real)(void **, void *) = REAL(void *(*)(void **, void *), end_coalescing, self);
  struct header *in = recording();
  if (!in || current || coalescing_group != self || !coalescing.count) return real(result, self);
  __attribute__((cleanup(end_coalescing_call))) struct call call = {in, coalescing, false};
  current = &call; /* for the copy of its Work that is made within */
  void *returned = real(result, self);
  if (*result) work_issued(in, *result, call.records);
  else completion_unknown(in, call.records);
  return returned;
}

/* ---- Completion ----------------------------------------------------------------------------------------------- */

#define FINISH(name, symbol)                                          \
  INTERPOSE(void, name, symbol, void *work, void **exception) {       \
    work_done(work, *exception != NULL);                              \
    REAL(void (*)(void *, void **), name, work)(work, exception);     \
  }
FINISH(finish, "_ZN4c10d4Work6finishENSt15__exception_ptr13exception_ptrE")
FINISH(finish_and_throw, "_ZN4c10d4Work14finishAndThrowENSt15__exception_ptr13exception_ptrE")

/* A WorkNCCL never "finishes": NCCL's watchdog asks its own copies of them again and again whether they have. */
#define WORK_NCCL NCCL "8WorkNCCL"
FINISH(nccl_set_exception, WORK_NCCL "12setExceptionENSt15__exception_ptr13exception_ptrE")

INTERPOSE(bool, nccl_is_completed, WORK_NCCL "11isCompletedEv", void *work) {
  bool done = REAL(bool (*)(void *), nccl_is_completed, work)(work);
  if (done && recording() && work_is_open(work)) work_done(work, false);
  return done;
}

INTERPOSE(void, nccl_copy, WORK_NCCL "C1ERKS1_", void *copy, void *work) {
  REAL(void (*)(void *, void *), nccl_copy, work)(copy, work);
  struct header *in = recording();
  struct range records = current ? current->records : work_records(work);
  if (in && records.count) work_issued(in, copy, records);
}

INTERPOSE(void, work_destructor, "_ZN4c10d4WorkD2Ev", void *work) {
  work_destroyed(work);
  REAL(void (*)(void *), work_destructor, work)(work);
}

#define GROUP_DESTRUCTOR(name, symbol)                         \
  INTERPOSE(void, name, symbol, void *group) {                 \
    forget_group((uint64_t)group);                             \
    REAL(void (*)(void *), name, group)(group);                \
  }
GROUP_DESTRUCTOR(gloo_destructor, GLOO "D1Ev")
GROUP_DESTRUCTOR(nccl_destructor, NCCL "D1Ev")

/* ---- Waiting: the host blocked on an operation ------------------------------------------------------------------ */

/* DDP's reducer waits on a Work's Future instead, by a function that is inlined in torch: that is not seen. */
struct wait {
  struct header *in;
  struct range records;
  uint64_t enter_ns;
};
static __thread bool waiting; /* a wait that is built on another counts once */

static void note_wait(struct wait *wait, bool ended) {
  for (uint64_t i = wait->records.first; i < wait->records.first + wait->records.count; i++) {
    struct record *record = find(wait->in, i);
    if (!record) continue;
    if (ended) record->wait_ns += now() - wait->enter_ns;
    else record->wait_enter_ns = wait->enter_ns;
    record->waiting = !ended;
  }
}

static void end_wait(struct wait *wait) {
  waiting = false;
  note_wait(wait, true);
}

typedef bool wait_function(void *work, int64_t milliseconds);

static bool waited(wait_function *real, void *work, int64_t milliseconds) {
  struct header *in = waiting ? NULL : recording();
  struct range records = in ? work_records(work) : (struct range){0, 0};
  if (!records.count) return real(work, milliseconds);
  __attribute__((cleanup(end_wait))) struct wait wait = {in, records, now()};
  waiting = true;
  note_wait(&wait, false);
  return real(work, milliseconds);
}

#define WAIT(name, symbol)                                                              \
  INTERPOSE(bool, name, symbol, void *work, int64_t milliseconds) {                     \
    return waited(REAL(wait_function *, name, work), work, milliseconds);               \
  }
#define MILLISECONDS "4waitENSt6chrono8durationIlSt5ratioILl1ELl1000EEEE"
WAIT(work_wait, "_ZN4c10d4Work" MILLISECONDS)
WAIT(send_wait, GLOO "8SendWork" MILLISECONDS)
WAIT(recv_wait, GLOO "8RecvWork" MILLISECONDS)
WAIT(nccl_wait, WORK_NCCL MILLISECONDS)

/* ---- What Python calls ---------------------------------------------------------------------------------------- */

/* Find the originals now, so that no call has to look for them. False where this torch has no such c10d::Work. */
static bool resolve_all(void) {
  for (struct real *real = __start_evenpace_reals; real < __stop_evenpace_reals; real++)
    if (!atomic_load(&real->function)) atomic_store(&real->function, in_torch(real->symbol));
  return atomic_load(&finish_real.function) && atomic_load(&work_wait_real.function) &&
         atomic_load(&work_destructor_real.function);
}

static struct header *map(const char *path) {
  struct stat file;
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return NULL;
  void *memory = MAP_FAILED;
  if (!fstat(fd, &file) && file.st_size > (off_t)sizeof(struct header)) {
    ring_bytes = (size_t)file.st_size;
    memory = mmap(NULL, ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  close(fd);
  return memory == MAP_FAILED ? NULL : memory;
}

/* Begin to record into a ring that exists in full. Returns 0, or -1 where the file is not such a ring, or torch not
 * one whose functions are known. */
EXPORT int evenpace_tap_open(const char *path) {
  struct header *to = resolve_all() ? map(path) : NULL;
  if (!to) return -1;
  uint64_t needed = (uint64_t)to->header_bytes + (uint64_t)to->capacity * sizeof(struct record);
  bool fits = !memcmp(to->magic, "EVPTAP01", 8) && to->record_bytes == sizeof(struct record) && to->capacity &&
              !(to->capacity & (to->capacity - 1)) && needed <= ring_bytes;
  if (!fits) {
    munmap(to, ring_bytes);
    return -1;
  }
  tensor_numel = in_torch("aoti_torch_get_numel");
  tensor_dtype = in_torch("aoti_torch_get_dtype");
  dtype_bytes = in_torch("aoti_torch_dtype_element_size");
  atomic_store(&ring, to);
  return 0;
}

/* Record what a loop says of a step: no operation, and complete at once. See layout.py for the kinds. */
EXPORT void evenpace_tap_say(uint8_t kind, uint64_t first, uint64_t second) {
  struct header *to = recording();
  if (!to) return;
  uint64_t index = atomic_fetch_add(&to->head, 1), time = now();
  struct record *record = cleared(to, index);
  record->enter_ns = record->return_ns = record->complete_ns = time;
  record->wait_ns = second;
  record->bytes = first;
  record->peer = -1;
  record->kind = kind;
  record->thread = thread_id();
  atomic_store_explicit(&record->marker, index + 1, memory_order_release);
}

/* Stop recording. The memory stays mapped: another thread may be about to write a last completion. */
EXPORT void evenpace_tap_close(void) { atomic_store(&ring, NULL); }

/* Tell whether this backend object's vtable leads to us: 1, 0, or -1 where that cannot be seen. */
EXPORT int evenpace_tap_binds(void **backend) {
  Dl_info info;
  ElfW(Sym) *symbol = NULL;
  void **vtable = *backend;
  if (!dladdr1(vtable, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol || !info.dli_saddr) return -1;
  void **end = (void **)((char *)info.dli_saddr + symbol->st_size);
  for (void **function = vtable; function < end; function++)
    if (*function == (void *)gloo_allreduce_tap || *function == (void *)nccl_allreduce_tap) return 1;
  return 0;
}

/* A forked child (a DataLoader worker) is not the worker: it must not write into the worker's ring. */
__attribute__((constructor)) static void loaded(void) { pthread_atfork(NULL, NULL, evenpace_tap_close); }
