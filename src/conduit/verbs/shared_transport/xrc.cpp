// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/verbs/shared_transport/xrc.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "conduit/verbs/device.hpp"
#include "conduit/verbs/resources.hpp"
#include "util/status.hpp"

namespace ompl::conduit::verbs {
namespace {

// The header's ibv_create_*_ex() would need symbols of libibverbs when this is linked. A device that has a domain has
// these.
verbs_context* operations(ibv_context* context) { return verbs_get_ctx(context); }

}  // namespace

int XrcDomain::open(const Device& device, const std::string& name) {
  const std::string file = "/dev/shm/" + name;
  const int fd = ::open(file.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return fail(OMPL_ERR_SYSTEM, "cannot make {} for XRC: {}", file, error_text(errno));
  // Ranks of the node open the same file, so it may be there; nobody else can foresee its name.
  struct stat status {};
  if (::fstat(fd, &status) != 0 || status.st_uid != ::geteuid() || !S_ISREG(status.st_mode)) {
    ::close(fd);
    return fail(OMPL_ERR_SYSTEM, "{} is another user's, or no file: remove it", file);
  }
  file_ = file;
  ibv_xrcd_init_attr attributes{};
  attributes.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  attributes.fd = fd;
  attributes.oflags = O_CREAT;
  domain_ = {ibv_open_xrcd(device.context.get(), &attributes), ibv_close_xrcd};
  const int error = errno;
  ::close(fd);
  if (domain_) return OMPL_OK;
  remove_file();
  return fail(OMPL_ERR_UNSUPPORTED,
              "{} has no XRC: ibv_open_xrcd failed: {}; OMPL_VERBS_TRANSPORT=rc does without",
              device.name, error_text(error));
}

void XrcDomain::remove_file() {
  if (!file_.empty()) ::unlink(file_.c_str());
  file_.clear();
}

XrcInitiator* Xrc::initiator(const SharedState& shared, const Resources& resources, uint64_t node) {
  const auto found = std::ranges::find_if(initiators_, [=](const auto& i) { return i->node == node; });
  if (found != initiators_.end()) return found->get();
  initiators_.reserve(initiators_.size() + 1);
  auto made = std::make_unique<XrcInitiator>();
  made->node = node;
  made->pair = resources.make_pair(shared);
  if (!made->pair) return nullptr;
  made->first_packet = random_packet_number(*made->pair);
  errno = to_init(shared, made->pair.get());
  return errno == 0 ? initiators_.emplace_back(std::move(made)).get() : nullptr;
}

Owned<ibv_srq> make_xrc_queue(const SharedState& shared, ibv_cq* completions) {
  ibv_srq_init_attr_ex attributes{};
  attributes.attr.max_wr = kReceives;
  attributes.attr.max_sge = 1;
  attributes.comp_mask =
      IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  attributes.srq_type = IBV_SRQT_XRC;
  attributes.pd = shared.device->domain.get();
  attributes.xrcd = shared.xrc_domain->get();
  attributes.cq = completions;
  ibv_context* const context = shared.device->context.get();
  return {operations(context)->create_srq_ex(context, &attributes), shared.library->destroy_srq};
}

Owned<ibv_qp> make_xrc_target(const SharedState& shared, const Route& route) {
  ibv_qp_init_attr_ex attributes{};
  attributes.qp_type = IBV_QPT_XRC_RECV;
  attributes.comp_mask = IBV_QP_INIT_ATTR_XRCD;
  attributes.xrcd = shared.xrc_domain->get();
  ibv_context* const context = shared.device->context.get();
  Owned<ibv_qp> target(operations(context)->create_qp_ex(context, &attributes),
                       shared.library->destroy_qp);
  if (!target) return target;
  int error = to_init(shared, target.get());
  if (error == 0) error = to_receive(shared, target.get(), route);
  if (error != 0) target.reset();
  errno = error;
  return target;
}

Owned<ibv_qp> open_xrc_target(const SharedState& shared, uint32_t number) {
  ibv_qp_open_attr attributes{};
  attributes.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  attributes.qp_num = number;
  attributes.xrcd = shared.xrc_domain->get();
  attributes.qp_type = IBV_QPT_XRC_RECV;
  return {ibv_open_qp(shared.device->context.get(), &attributes), shared.library->destroy_qp};
}

}  // namespace ompl::conduit::verbs
