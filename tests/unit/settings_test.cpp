// SPDX-License-Identifier: BSD-3-Clause
#include "util/settings.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "util/status.hpp"

namespace ompl {
namespace {

using Values = std::map<std::string, std::string>;

Settings::Lookup from(const Values& values) {
  return [&values](const char* name) -> const char* {
    const auto found = values.find(name);
    return found == values.end() ? nullptr : found->second.c_str();
  };
}

TEST(Settings, NothingSetGivesTheDefaults) {
  Settings settings;
  settings.endpoints = 9;
  ASSERT_EQ(Settings::read(&settings, from({})), OMPL_OK);
  EXPECT_EQ(settings.segment_size, std::size_t{16} << 30);
  EXPECT_EQ(settings.endpoints, 0u);
  EXPECT_EQ(settings.launcher, "auto");
  EXPECT_EQ(settings.log_level, log::Level::warn);
}

TEST(Settings, EveryKindIsRead) {
  const Values values{{"OMPL_SEGMENT_SIZE", "64M"},
                      {"OMPL_ENDPOINTS", "3"},
                      {"OMPL_ENDPOINT_MEMORY", "1G"},
                      {"OMPL_CONDUITS", "self,shm"},
                      {"OMPL_NODE_ID", "n 1"},
                      {"OMPL_LAUNCHER", "pmi1"},
                      {"OMPL_PMIX_LIBRARY", "/opt/libpmix.so.2"},
                      {"OMPL_CREDITS", "17"},
                      {"OMPL_CALL_MEMORY", "3M"},
                      {"OMPL_COLL_CHECK", "1"},
                      {"OMPL_COLL_MEMORY", "2M"},
                      {"OMPL_COLL_PROGRESS", "shared"},
                      {"OMPL_COLL_SCHEDULER", "locked-queue"},
                      {"OMPL_TUNER", "1"},
                      {"OMPL_TUNER_EXPLAIN", "1"},
                      {"OMPL_TUNER_TABLE", "/tmp/table.json"},
                      {"OMPL_SPIN", "0"},
                      {"OMPL_YIELDS", "-1"},
                      {"OMPL_ON_PEER_DEATH", "ignore"},
                      {"OMPL_HANG_REPORT", "2.5"},
                      {"OMPL_HUGE_PAGES", "never"},
                      {"OMPL_VERBS_DEVICE", "mlx5_0:1"},
                      {"OMPL_VERBS_GID", "3"},
                      {"OMPL_VERBS_TRANSPORT", "dc"},
                      {"OMPL_VERBS_SEGMENT", "64K"},
                      {"OMPL_VERBS_STRIPE", "2"},
                      {"OMPL_UTOFU_SEGMENT", "1M"},
                      {"OMPL_UTOFU_STRIPE", "3"},
                      {"OMPL_OFI_PROVIDER", "tcp;ofi_rxm"},
                      {"OMPL_NET_INTERFACE", "eth1,192.0.2.0/24"},
                      {"OMPL_OFI_INTERFACE", "eth0"},
                      {"OMPL_CONNECT_TIMEOUT", "2.5"},
                      {"OMPL_GPU", "refuse"},
                      {"OMPL_GPU_CHUNK", "256K"},
                      {"OMPL_PROGRESS", "thread"},
                      {"OMPL_PACK", "never"},
                      {"OMPL_STATISTICS", "1"},
                      {"OMPL_LOG", "debug"}};
  Settings settings;
  ASSERT_EQ(Settings::read(&settings, from(values)), OMPL_OK);
  EXPECT_EQ(settings.segment_size, std::size_t{64} << 20);
  EXPECT_EQ(settings.endpoints, 3u);
  EXPECT_EQ(settings.endpoint_memory, std::size_t{1} << 30);
  EXPECT_EQ(settings.conduits, "self,shm");
  EXPECT_EQ(settings.node_id, "n 1");
  EXPECT_EQ(settings.launcher, "pmi1");
  EXPECT_EQ(settings.pmix_library, "/opt/libpmix.so.2");
  EXPECT_EQ(settings.credits, 17u);
  EXPECT_EQ(settings.call_memory, std::size_t{3} << 20);
  EXPECT_EQ(settings.coll_check, "1");
  EXPECT_EQ(settings.coll_memory, std::size_t{2} << 20);
  EXPECT_EQ(settings.coll_progress, "shared");
  EXPECT_EQ(settings.coll_scheduler, "locked-queue");
  EXPECT_EQ(settings.tuner, "1");
  EXPECT_EQ(settings.tuner_explain, "1");
  EXPECT_EQ(settings.tuner_table, "/tmp/table.json");
  EXPECT_EQ(settings.spin, 0);
  EXPECT_EQ(settings.yields, -1);
  EXPECT_EQ(settings.on_peer_death, "ignore");
  EXPECT_DOUBLE_EQ(settings.hang_report, 2.5);
  EXPECT_EQ(settings.huge_pages, "never");
  EXPECT_EQ(settings.verbs_device, "mlx5_0:1");
  EXPECT_EQ(settings.verbs_gid, 3);
  EXPECT_EQ(settings.verbs_transport, "dc");
  EXPECT_EQ(settings.verbs_segment, std::size_t{64} << 10);
  EXPECT_EQ(settings.verbs_stripe, 2u);
  EXPECT_EQ(settings.utofu_segment, std::size_t{1} << 20);
  EXPECT_EQ(settings.utofu_stripe, 3u);
  EXPECT_EQ(settings.ofi_provider, "tcp;ofi_rxm");
  EXPECT_EQ(settings.net_interface, "eth1,192.0.2.0/24");
  EXPECT_EQ(settings.ofi_interface, "eth0");
  EXPECT_EQ(settings.connect_timeout_ms(), 2500);
  EXPECT_EQ(settings.gpu, "refuse");
  EXPECT_EQ(settings.gpu_chunk, std::size_t{256} << 10);
  EXPECT_EQ(settings.progress, "thread");
  EXPECT_EQ(settings.pack, "never");
  EXPECT_EQ(settings.statistics, "1");
  EXPECT_EQ(settings.log_level, log::Level::debug);
  // The table is complete: every variable was given, and each shows what it was given.
  const auto rows = settings.describe(from(values));
  ASSERT_EQ(rows.size(), values.size());
  for (const auto& row : rows) EXPECT_EQ(row.value, values.at(row.name)) << row.name;
}

TEST(Settings, TheFormerNameOfANetworkCountsWithoutTheNewOne) {
  Settings settings;
  ASSERT_EQ(Settings::read(&settings, from({{"OMPL_OFI_INTERFACE", "eth0"}})), OMPL_OK);
  EXPECT_EQ(settings.interfaces(), "eth0");
  ASSERT_EQ(
      Settings::read(&settings, from({{"OMPL_OFI_INTERFACE", "eth0"}, {"OMPL_NET_INTERFACE", "ib0"}})),
      OMPL_OK);
  EXPECT_EQ(settings.interfaces(), "ib0");
}

TEST(Settings, ProgressMayBeLeftToTheTuner) {
  Settings settings;
  ASSERT_EQ(Settings::read(&settings, from({{"OMPL_COLL_PROGRESS", "auto"}})), OMPL_OK);
  EXPECT_EQ(settings.coll_progress, "auto");
}

TEST(Settings, TheCacheFolderIsTheUsers) {
  const std::map<Values, std::string> folders{
      {{}, ""},
      {{{"HOME", "/home/me"}}, "/home/me/.cache"},
      {{{"HOME", "/home/me"}, {"XDG_CACHE_HOME", "/cache"}}, "/cache"},
      {{{"HOME", "/home/me"}, {"XDG_CACHE_HOME", "relative"}}, "/home/me/.cache"},
      {{{"HOME", ""}, {"XDG_CACHE_HOME", ""}}, ""}};
  for (const auto& [values, folder] : folders) {
    Settings settings;
    ASSERT_EQ(Settings::read(&settings, from(values)), OMPL_OK);
    EXPECT_EQ(settings.cache_folder, folder);
  }
}

TEST(Settings, SizesTakeUnits) {
  const std::map<std::string, std::size_t> sizes{{"1", 1},
                                                 {"4096", 4096},
                                                 {"2k", 2048},
                                                 {"1G", std::size_t{1} << 30},
                                                 {"3T", std::size_t{3} << 40}};
  for (const auto& [text, bytes] : sizes) {
    const Values values{{"OMPL_SEGMENT_SIZE", text}};
    Settings settings;
    ASSERT_EQ(Settings::read(&settings, from(values)), OMPL_OK) << text;
    EXPECT_EQ(settings.segment_size, bytes) << text;
  }
}

TEST(Settings, UnusableValuesAreNamedAndChangeNothing) {
  const std::multimap<std::string, std::string> bad{{"OMPL_SEGMENT_SIZE", ""},
                                                    {"OMPL_SEGMENT_SIZE", "0"},
                                                    {"OMPL_SEGMENT_SIZE", "64MB"},
                                                    {"OMPL_SEGMENT_SIZE", "-1"},
                                                    {"OMPL_SEGMENT_SIZE", "M"},
                                                    {"OMPL_SEGMENT_SIZE", "99999999T"},
                                                    {"OMPL_SEGMENT_SIZE", "65T"},
                                                    {"OMPL_ENDPOINTS", "65"},
                                                    {"OMPL_CREDITS", "1000001"},
                                                    {"OMPL_YIELDS", "2000000000"},
                                                    {"OMPL_HANG_REPORT", "1e10"},
                                                    {"OMPL_VERBS_SEGMENT", "511"},
                                                    {"OMPL_VERBS_STRIPE", "65"},
                                                    {"OMPL_VERBS_GID", "256"},
                                                    {"OMPL_ENDPOINTS", "-1"},
                                                    {"OMPL_ENDPOINTS", "two"},
                                                    {"OMPL_ENDPOINTS", "5000000000"},
                                                    {"OMPL_LAUNCHER", "slurm"},
                                                    {"OMPL_LAUNCHER", ""},
                                                    {"OMPL_LAUNCHER", "pmi1|mpi"},
                                                    {"OMPL_CREDITS", "0"},
                                                    {"OMPL_SPIN", "-2"},
                                                    {"OMPL_SPIN", "1.5"},
                                                    {"OMPL_HANG_REPORT", "-1"},
                                                    {"OMPL_HANG_REPORT", "inf"},
                                                    {"OMPL_HANG_REPORT", "nan"},
                                                    {"OMPL_HANG_REPORT", "5s"},
                                                    {"OMPL_ON_PEER_DEATH", "Abort"},
                                                    {"OMPL_CONDUITS", ""},
                                                    {"OMPL_CONDUITS", ","},
                                                    {"OMPL_CONDUITS", "udp"},
                                                    {"OMPL_CONDUITS", "self,smh,ofi"},
                                                    {"OMPL_CONDUITS", "self|shm"},
                                                    {"OMPL_CONDUITS", "self, shm"},
                                                    {"OMPL_LOG", "loud"}};
  for (const auto& [name, value] : bad) {
    const Values values{{"OMPL_NODE_ID", "here"}, {name, value}};
    Settings settings;
    EXPECT_EQ(Settings::read(&settings, from(values)), OMPL_ERR_ARG) << name << "=" << value;
    EXPECT_EQ(settings.node_id, "");
    const std::string detail = error_detail();
    EXPECT_NE(detail.find(name), std::string::npos) << detail;
    EXPECT_NE(detail.find("\"" + value + "\""), std::string::npos) << detail;
    EXPECT_NE(detail.find("set it to"), std::string::npos) << detail;
    EXPECT_EQ(detail.find('\n'), std::string::npos) << detail;
  }
}

TEST(Settings, AListTakesEachOfItsNames) {
  for (const char* const list : {"self,shm,verbs,ofi,tcp,ucx,utofu,psm2,mpi", "ofi", "shm,,self,"}) {
    Settings settings;
    const Values values{{"OMPL_CONDUITS", list}};
    ASSERT_EQ(Settings::read(&settings, from(values)), OMPL_OK);
    EXPECT_EQ(settings.conduits, list);
  }
  Settings settings;
  const Values wrong{{"OMPL_CONDUITS", "self,udp"}};
  ASSERT_EQ(Settings::read(&settings, from(wrong)), OMPL_ERR_ARG);
  EXPECT_NE(std::string(error_detail()).find("self|shm|verbs|ofi|tcp|ucx|utofu|psm2|mpi"),
            std::string::npos);
}

TEST(Settings, TheLogsLevelCountsBeforeTheRestIsRead) {
  const Values values{{"OMPL_LOG", "off"}, {"OMPL_SEGMENT_SIZE", "lots"}};
  Settings::apply_log_level(from(values));
  EXPECT_FALSE(log::enabled(log::Level::error));
  Settings::apply_log_level(from({{"OMPL_LOG", "loud"}}));
  EXPECT_FALSE(log::enabled(log::Level::error)) << "what is not usable changes nothing";
  Settings::apply_log_level(from({{"OMPL_LOG", "warn"}}));
  EXPECT_TRUE(log::enabled(log::Level::warn));
  EXPECT_FALSE(log::enabled(log::Level::info));
}

TEST(Settings, DescribeTellsDefaultsAndOrigin) {
  const Values values{{"OMPL_CREDITS", "8"}};
  Settings settings;
  ASSERT_EQ(Settings::read(&settings, from(values)), OMPL_OK);
  Values shown;
  Values types;
  for (const auto& row : settings.describe(from(values))) {
    EXPECT_EQ(row.from_environment, row.name == "OMPL_CREDITS") << row.name;
    EXPECT_FALSE(row.text.empty()) << row.name;
    shown[row.name] = row.default_value + " " + row.value;
    types[row.name] = row.type;
  }
  EXPECT_EQ(shown["OMPL_SEGMENT_SIZE"], "16G 16G");
  EXPECT_EQ(types["OMPL_SEGMENT_SIZE"], "size from 1 to 64T");
  EXPECT_EQ(types["OMPL_CREDITS"], "count from 1 to 1000000");
  EXPECT_EQ(types["OMPL_VERBS_GID"], "count from 0 to 255 or -1");
  EXPECT_EQ(types["OMPL_ON_PEER_DEATH"], "error|abort|ignore");
  EXPECT_EQ(shown["OMPL_CREDITS"], "256 8");
  EXPECT_EQ(shown["OMPL_LOG"], "warn warn");
}

TEST(Settings, WhatIsUsableIsReadBesideWhatIsNot) {
  const Values values{{"OMPL_CREDITS", "0"}, {"OMPL_NODE_ID", "here"}, {"OMPL_SPIN", "1.5"}};
  Settings settings;
  const std::vector<std::string> refused = Settings::read_usable(&settings, from(values));
  ASSERT_EQ(refused.size(), 2U);
  EXPECT_TRUE(refused[0].starts_with("OMPL_CREDITS=\"0\" is not usable")) << refused[0];
  EXPECT_TRUE(refused[1].starts_with("OMPL_SPIN=\"1.5\" is not usable")) << refused[1];
  EXPECT_EQ(settings.node_id, "here");
  EXPECT_EQ(settings.credits, 256U);
}

TEST(Settings, MistypedNamesAreWarnedAbout) {
  setenv("OMPL_SEGMENT_SIEZ", "1M", 1);
  setenv("OMPL_SOMETHING_ELSE", "1", 1);
  testing::internal::CaptureStderr();
  Settings::warn_of_near_misses();
  const std::vector<Settings::Stranger> strangers = Settings::strangers();
  const std::string said = testing::internal::GetCapturedStderr();
  unsetenv("OMPL_SEGMENT_SIEZ");
  unsetenv("OMPL_SOMETHING_ELSE");
  EXPECT_NE(said.find("did you mean OMPL_SEGMENT_SIZE?"), std::string::npos) << said;
  EXPECT_EQ(said.find("OMPL_SOMETHING_ELSE"), std::string::npos) << said;
  std::map<std::string, std::string> meant;
  for (const auto& stranger : strangers) meant[stranger.name] = stranger.meant;
  EXPECT_EQ(meant["OMPL_SEGMENT_SIEZ"], "OMPL_SEGMENT_SIZE");
  EXPECT_TRUE(meant.contains("OMPL_SOMETHING_ELSE") && meant["OMPL_SOMETHING_ELSE"].empty());
}

}  // namespace
}  // namespace ompl
