# SPDX-License-Identifier: BSD-3-Clause
"""A pytest plugin: if every test was skipped, ends with the reason and the status that ctest knows."""

import pytest

SKIPPED = 77


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    stats = terminalreporter.stats
    if stats.get("skipped") and not any(stats.get(kind) for kind in ("passed", "failed", "error")):
        _, _, reason = stats["skipped"][-1].longrepr
        terminalreporter.config.stash[reason_key] = reason.removeprefix("Skipped: ")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if (
        reporter
        and reporter.stats.get("skipped")
        and not reporter.stats.get("passed")
        and not session.testsfailed
    ):
        session.exitstatus = SKIPPED


reason_key = pytest.StashKey[str]()


def pytest_unconfigure(config: pytest.Config) -> None:
    if reason := config.stash.get(reason_key, None):
        print(f"skipped: {reason}")
