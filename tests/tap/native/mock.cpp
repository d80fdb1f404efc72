// A stand-in for libtorch_cuda.so: the names and virtual signatures of c10d that tap.c interposes, with no NCCL.
#include <chrono>
#include <cstdint>
#include <exception>
#include <list>
#include <new>
#include <stdexcept>
#include <vector>

namespace c10 {
// Only its shape matters: one pointer, not trivially copyable, hence returned through a hidden pointer.
template <class T>
struct intrusive_ptr {
  T* target = nullptr;
  intrusive_ptr(T* to) : target(to) {}
  intrusive_ptr(const intrusive_ptr& other) : target(other.target) {}
  ~intrusive_ptr() {}
};
}  // namespace c10

namespace at {
struct Tensor {
  int64_t* numel;
};
}  // namespace at

extern "C" int aoti_torch_get_numel(void* tensor, int64_t* numel) {
  *numel = *static_cast<at::Tensor*>(tensor)->numel;
  return 0;
}
extern "C" int aoti_torch_get_dtype(void*, int32_t* dtype) {
  *dtype = 6;
  return 0;
}
extern "C" size_t aoti_torch_dtype_element_size(int32_t dtype) { return dtype == 6 ? 4 : 0; }

namespace c10d {

using Tensors = std::vector<at::Tensor>;
struct AllreduceOptions {};
struct AllgatherOptions {};
struct ReduceScatterOptions {};
struct AllToAllOptions {};
struct BarrierOptions {};
struct BroadcastOptions {
  int64_t rootRank;
};

struct Work {
  virtual ~Work();
  virtual bool isCompleted();
  virtual bool wait(std::chrono::milliseconds timeout);
  void finish(std::exception_ptr error);
};
Work::~Work() {}
bool Work::isCompleted() { return true; }
bool Work::wait(std::chrono::milliseconds) { return true; }
void Work::finish(std::exception_ptr) {}

static bool gpu_done, peer_died;
extern "C" {
void (*mock_while_waiting)() = nullptr;
}

struct ProcessGroupNCCL {
  struct WorkNCCL : Work {
    WorkNCCL() {}
    WorkNCCL(const WorkNCCL& other);
    bool isCompleted() override;
    bool wait(std::chrono::milliseconds timeout) override;
    void setException(std::exception_ptr error);
  };
  using Issued = c10::intrusive_ptr<Work>;

  virtual ~ProcessGroupNCCL();
  virtual void startCoalescing();
  virtual Issued endCoalescing();
  virtual Issued broadcast(Tensors& tensors, const BroadcastOptions& options);
  virtual Issued allreduce(Tensors& tensors, const AllreduceOptions& options);
  virtual Issued _allgather_base(at::Tensor& output, at::Tensor& input, const AllgatherOptions& options);
  virtual Issued all_gather_single(at::Tensor& output, at::Tensor& input, const AllgatherOptions& options);
  virtual Issued reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs, const ReduceScatterOptions& options);
  virtual Issued alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<int64_t>& to,
                               std::vector<int64_t>& from, const AllToAllOptions& options);
  virtual Issued send(Tensors& tensors, int to, int tag);
  virtual Issued recv(Tensors& tensors, int from, int tag);
  virtual Issued barrier(const BarrierOptions& options);

  Issued enqueue();
  bool coalescing = false;
  std::list<WorkNCCL> watched;
};

ProcessGroupNCCL::WorkNCCL::WorkNCCL(const WorkNCCL&) : Work() {}
bool ProcessGroupNCCL::WorkNCCL::isCompleted() { return gpu_done; }
void ProcessGroupNCCL::WorkNCCL::setException(std::exception_ptr) {}
bool ProcessGroupNCCL::WorkNCCL::wait(std::chrono::milliseconds) {
  if (mock_while_waiting) mock_while_waiting();
  if (peer_died) throw std::runtime_error("the peer died");
  return true;
}

ProcessGroupNCCL::~ProcessGroupNCCL() {}
ProcessGroupNCCL::Issued ProcessGroupNCCL::enqueue() {
  if (coalescing) return {nullptr};
  auto* work = new WorkNCCL;
  watched.push_back(*work);
  return {work};
}
void ProcessGroupNCCL::startCoalescing() { coalescing = true; }
ProcessGroupNCCL::Issued ProcessGroupNCCL::endCoalescing() {
  coalescing = false;
  return enqueue();
}
ProcessGroupNCCL::Issued ProcessGroupNCCL::broadcast(Tensors& tensors, const BroadcastOptions&) {
  if (tensors.empty()) throw std::invalid_argument("nothing to broadcast");
  return enqueue();
}
ProcessGroupNCCL::Issued ProcessGroupNCCL::allreduce(Tensors&, const AllreduceOptions&) { return enqueue(); }
ProcessGroupNCCL::Issued ProcessGroupNCCL::_allgather_base(at::Tensor&, at::Tensor&, const AllgatherOptions&) {
  return enqueue();
}
ProcessGroupNCCL::Issued ProcessGroupNCCL::all_gather_single(at::Tensor&, at::Tensor&, const AllgatherOptions&) {
  return enqueue();
}
ProcessGroupNCCL::Issued ProcessGroupNCCL::reduce_scatter(Tensors& outputs, std::vector<Tensors>&,
                                                          const ReduceScatterOptions&) {
  return allreduce(outputs, {});
}
ProcessGroupNCCL::Issued ProcessGroupNCCL::alltoall_base(at::Tensor&, at::Tensor&, std::vector<int64_t>& to,
                                                         std::vector<int64_t>& from, const AllToAllOptions& options) {
  if (to.size() != 2 || from.size() != 3 || !&options) throw std::invalid_argument("arguments were lost");
  return enqueue();
}
ProcessGroupNCCL::Issued ProcessGroupNCCL::send(Tensors&, int to, int tag) {
  if (to < 0 || tag != 17) throw std::invalid_argument("arguments were lost");
  return enqueue();
}
ProcessGroupNCCL::Issued ProcessGroupNCCL::recv(Tensors&, int, int) { return enqueue(); }
ProcessGroupNCCL::Issued ProcessGroupNCCL::barrier(const BarrierOptions&) {
  auto* work = new Work;  // finishes before the issuing call returns
  work->finish(nullptr);
  return {work};
}

}  // namespace c10d

using c10d::ProcessGroupNCCL;
alignas(ProcessGroupNCCL) static char place[sizeof(ProcessGroupNCCL)];
static int64_t numel = 10;
static at::Tensor tensor{&numel};
static c10d::Tensors tensors{tensor, tensor};

static ProcessGroupNCCL* group() { return reinterpret_cast<ProcessGroupNCCL*>(place); }

static void watchdog(bool done) {
  c10d::gpu_done = done;
  for (auto& work : group()->watched) work.isCompleted();
  if (done) group()->watched.clear();
}

extern "C" void* mock_group() { return new (place) ProcessGroupNCCL; }
extern "C" void mock_destroy() { group()->~ProcessGroupNCCL(); }
extern "C" void mock_barrier() { group()->barrier({}); }

extern "C" void mock_without_work() {
  group()->coalescing = true;
  group()->allreduce(tensors, {});
  group()->coalescing = false;
}

// Two barriers on each of so many groups, at addresses of their own; the last of them stay alive.
extern "C" void mock_groups(int count, int alive) {
  static std::vector<ProcessGroupNCCL> yard(count);
  for (auto& each : yard) {
    each.barrier({});
    each.barrier({});
    if (&each < &yard[count - alive]) each.~ProcessGroupNCCL();
  }
}

// One record a line, in this order.
extern "C" int mock_operations() {
  std::vector<c10d::Tensors> lists{tensors, tensors};
  std::vector<int64_t> two(2), three(3);
  int caught = 0;
  group()->allreduce(tensors, {});                             // 0
  group()->_allgather_base(tensor, tensor, {});                // 1
  group()->all_gather_single(tensor, tensor, {});              // 2
  group()->reduce_scatter(tensors, lists, {});                 // 3, with an allreduce below it
  group()->alltoall_base(tensor, tensor, two, three, {});      // 4
  group()->send(tensors, 3, 17);                               // 5
  group()->send(tensors, 3, 17);                               // 6
  group()->recv(tensors, 3, 17);                               // 7
  group()->broadcast(tensors, {1});                            // 8
  watchdog(false);
  watchdog(true);
  c10d::Tensors none;
  try {
    group()->broadcast(none, {0});                             // 9, refused
  } catch (std::invalid_argument&) {
    caught++;
  }
  group()->barrier({});                                        // 10, done at once
  group()->startCoalescing();
  group()->send(tensors, 3, 17);                               // 11
  group()->recv(tensors, 3, 17);                               // 12
  group()->endCoalescing().target->wait(std::chrono::milliseconds(0));
  watchdog(true);
  auto waited = group()->allreduce(tensors, {});               // 13, its peer dies
  c10d::peer_died = true;
  try {
    waited.target->wait(std::chrono::milliseconds(5));
  } catch (std::runtime_error&) {
    caught++;
  }
  group()->watched.front().setException(std::make_exception_ptr(std::runtime_error("timeout")));
  watchdog(true);
  group()->allreduce(tensors, {});                             // 14, never done
  return caught;
}
