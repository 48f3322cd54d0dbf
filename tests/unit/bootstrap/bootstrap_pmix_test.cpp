// SPDX-License-Identifier: BSD-3-Clause
// The PMIx client against a libpmix and servers that misbehave; with real ones: launcher_openmpi*, slurm.
#include "bootstrap/pmix.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

#include "bootstrap/pmix_library.hpp"
#include "mock_pmix.hpp"
#include "util/status.hpp"

namespace ompl::bootstrap {
namespace {

using namespace std::chrono_literals;

class PmixClient : public testing::Test {
 protected:
  PmixClient() {
    void* handle = dlopen(OMPL_MOCK_PMIX, RTLD_NOW | RTLD_LOCAL);
    mock_ = handle == nullptr ? nullptr : static_cast<MockPmix*>(dlsym(handle, "mock"));
  }
  void SetUp() override {
    ASSERT_NE(mock_, nullptr) << dlerror();
    mock_->behave();
  }

  int open(std::unique_ptr<Bootstrap>* out) {
    return open_pmix({"job", 0, OMPL_MOCK_PMIX, limit_}, out);
  }
  std::unique_ptr<Bootstrap> opened() {
    std::unique_ptr<Bootstrap> bootstrap;
    EXPECT_EQ(open(&bootstrap), OMPL_OK) << error_detail();
    return bootstrap;
  }
  // What open_pmix() says, which must fail.
  std::string refusal() {
    std::unique_ptr<Bootstrap> bootstrap;
    EXPECT_EQ(open(&bootstrap), OMPL_ERR_LAUNCH);
    EXPECT_EQ(bootstrap, nullptr);
    return said();
  }
  static std::string said() {
    const std::string text = error_detail();
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    return text;
  }

  MockPmix* mock_ = nullptr;
  std::chrono::milliseconds limit_ = 200s;  // never reached where nothing hangs
};

TEST_F(PmixClient, PublishesAndReads) {
  const auto bootstrap = opened();
  ASSERT_NE(bootstrap, nullptr);
  EXPECT_EQ(bootstrap->name(), "pmix");
  EXPECT_EQ(bootstrap->size(), 1u);
  EXPECT_EQ(bootstrap->node_map(), std::vector<uint32_t>{0});
  for (const std::string& value : {std::string(), std::string("\0 =\n", 4), std::string(100000, 'x')}) {
    ASSERT_EQ(bootstrap->set("key", value), OMPL_OK);
    ASSERT_EQ(bootstrap->fence(), OMPL_OK);
    std::string read = "other";
    ASSERT_EQ(bootstrap->get(0, "key", &read), OMPL_OK);
    EXPECT_EQ(read, value);
  }
  std::string read = "untouched";
  EXPECT_EQ(bootstrap->get(0, "nothing", &read), OMPL_ERR_LAUNCH);
  EXPECT_EQ(bootstrap->get(1, "key", &read), OMPL_ERR_LAUNCH);
  EXPECT_EQ(bootstrap->set(std::string(PMIX_MAX_KEYLEN, 'k'), "x"), OMPL_ERR_LAUNCH);
  EXPECT_EQ(read, "untouched");
  EXPECT_EQ(bootstrap->finish(), OMPL_OK);
}

TEST_F(PmixClient, EveryCallThatHangsIsLeft) {
  limit_ = 50ms;
  for (const char* call : {"init", "size"}) {
    mock_->hanging = call;
    EXPECT_NE(refusal().find("no answer from the launcher (PMIX_NAMESPACE=job) for 50 ms"),
              std::string::npos);
    mock_->behave();
  }
}

TEST_F(PmixClient, EveryCallThatHangsLaterIsLeft) {
  limit_ = 50ms;
  const auto bootstrap = opened();
  ASSERT_NE(bootstrap, nullptr);
  std::string value = "untouched";
  mock_->hanging = "fence";
  EXPECT_EQ(bootstrap->fence(), OMPL_ERR_LAUNCH);
  EXPECT_NE(said().find("PMIx_Fence got no answer"), std::string::npos) << said();
  mock_->hanging = "commit";
  EXPECT_EQ(bootstrap->fence(), OMPL_ERR_LAUNCH);
  mock_->hanging = "put";
  EXPECT_EQ(bootstrap->set("key", "value"), OMPL_ERR_LAUNCH);
  mock_->hanging = "get";
  EXPECT_EQ(bootstrap->get(0, "key", &value), OMPL_ERR_LAUNCH);
  EXPECT_EQ(value, "untouched");
  mock_->hanging = "finalize";
  EXPECT_EQ(bootstrap->finish(), OMPL_ERR_LAUNCH);
}

TEST_F(PmixClient, EveryCallThatFailsIsNamed) {
  mock_->failing = "init";
  const auto text = refusal();
  EXPECT_NE(text.find("PMIx_Init failed: the mock's error"), std::string::npos) << text;
  EXPECT_EQ(text.find("OMPL_PMIX_LIBRARY"), std::string::npos) << text;
  setenv("PMIX_VERSION", "5.0.1", 1);
  EXPECT_NE(refusal().find("PMIX_VERSION is 5.0.1, but this process has loaded mock 1"),
            std::string::npos);
  unsetenv("PMIX_VERSION");
  mock_->failing = "size";
  EXPECT_NE(refusal().find("reading the job's size failed"), std::string::npos);
  mock_->behave();
  const auto bootstrap = opened();
  ASSERT_NE(bootstrap, nullptr);
  std::string value = "untouched";
  mock_->failing = "put";
  EXPECT_EQ(bootstrap->set("key", "value"), OMPL_ERR_LAUNCH);
  mock_->failing = "commit";
  EXPECT_EQ(bootstrap->fence(), OMPL_ERR_LAUNCH);
  mock_->failing = "fence";
  EXPECT_EQ(bootstrap->fence(), OMPL_ERR_LAUNCH);
  mock_->failing = "finalize";
  EXPECT_EQ(bootstrap->finish(), OMPL_ERR_LAUNCH);
}

TEST_F(PmixClient, AnotherIdentityThanTheEnvironmentsIsRefused) {
  mock_->name_space = "singleton";
  EXPECT_NE(refusal().find("PMIx took this process for rank 0 of \"singleton\""), std::string::npos);
  mock_->behave();
  mock_->rank = 1;
  EXPECT_NE(refusal().find("PMIX_RANK=0, but PMIx took this process for rank 1"), std::string::npos);
}

TEST_F(PmixClient, ASizeThatIsNoneIsRefused) {
  mock_->size = 0;
  EXPECT_NE(refusal().find("PMIX_RANK=0 is not below the job's size 0"), std::string::npos);
}

TEST_F(PmixClient, GarbageIsNoValue) {
  const auto bootstrap = opened();
  ASSERT_NE(bootstrap, nullptr);
  ASSERT_EQ(bootstrap->set("key", "value"), OMPL_OK);
  std::string value = "untouched";
  mock_->garbles = true;
  EXPECT_EQ(bootstrap->get(0, "key", &value), OMPL_ERR_LAUNCH);
  mock_->garbles = false;
  mock_->cuts = true;
  EXPECT_EQ(bootstrap->get(0, "key", &value), OMPL_ERR_LAUNCH);
  EXPECT_NE(said().find("garbled"), std::string::npos);
  EXPECT_EQ(value, "untouched");
}

TEST_F(PmixClient, WithoutHostNamesThereIsNoNodeMap) {
  mock_->host = nullptr;
  const auto bootstrap = opened();
  ASSERT_NE(bootstrap, nullptr);
  EXPECT_TRUE(bootstrap->node_map().empty());
}

TEST_F(PmixClient, ALibraryThatIsNoneIsNamed) {
  std::unique_ptr<Bootstrap> bootstrap;
  EXPECT_EQ(open_pmix({"job", 0, "/nowhere/libpmix.so.2", limit_}, &bootstrap), OMPL_ERR_LAUNCH);
  EXPECT_NE(said().find("/nowhere/libpmix.so.2"), std::string::npos) << said();
  EXPECT_NE(said().find("OMPL_PMIX_LIBRARY"), std::string::npos) << said();
  EXPECT_EQ(open_pmix({"job", 0, "libm.so.6", limit_}, &bootstrap), OMPL_ERR_LAUNCH);
  EXPECT_NE(said().find("libm.so.6 is not a library of PMIx"), std::string::npos) << said();
}

TEST(PmixInMaps, IsFoundByItsName) {
  EXPECT_EQ(pmix_in_maps(""), "");
  EXPECT_EQ(pmix_in_maps("7f00-7f01 r-xp 00000000 08:01 12   /usr/lib/libc.so.6\n"), "");
  EXPECT_EQ(pmix_in_maps("7f00-7f01 rw-p 00000000 00:00 0\n"
                         "7f01-7f02 r--p 00000000 08:01 12   /opt/my mpi/lib/libpmix.so.2.13\n"
                         "7f02-7f03 r-xp 00000000 08:01 12   /opt/other/libpmix.so.2"),
            "/opt/my mpi/lib/libpmix.so.2.13");
  EXPECT_EQ(pmix_in_maps("7f00-7f01 r--p 0 08:01 12 /lib/libpmix.so.2 (deleted)\n"), "");
  EXPECT_EQ(pmix_in_maps("7f00-7f01 r--p 0 08:01 12 /libpmix.so.2/pmix_component.so\n"), "");
}

}  // namespace
}  // namespace ompl::bootstrap
