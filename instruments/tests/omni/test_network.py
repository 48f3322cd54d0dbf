# SPDX-License-Identifier: BSD-3-Clause
"""Transports, and two hosts that are network namespaces."""

import json
import os
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from commands import run
from omnipgas_tools.libraries import catalog
from omnipgas_tools.libraries.catalog import Hosts, MissingError
from omnipgas_tools.measure import endpoints, network
from omnipgas_tools.measure.rounds import Progress
from omnipgas_tools.measure.runner import Contender
from omnipgas_tools.measure.worker import Worker
from omnipgas_tools.targets import targets
from omnipgas_tools.targets.measurement import Bench

from .common import SCHEMA, built, mock, need_hosts, omni, result

HOSTS = Hosts(launch=("outside",), enter=("inside", "{braces}"), interface="net7", hub_interface="hub7")
LIMIT_S = 300.0  # of what takes a second


def test_the_launcher_runs_outside_and_the_worker_on_its_host() -> None:
    found = mock("good")
    library = replace(found.library, launch=["launch", "-n", "2", "{worker}"], over=["tcp;ofi_rxm", "ucx", "ucx-shm"])
    found = replace(found, library=library)
    (rxm,) = network.contenders(found, ["tcp;ofi_rxm"], HOSTS)
    line = rxm.command(["--control", "x"])
    assert line == ["outside", "launch", "-n", "2", "inside", "{braces}", str(found.worker), "--control", "x"]
    variables = rxm.environment(4)
    assert variables["OMPL_OFI_PROVIDER"] == "tcp;ofi_rxm"
    assert variables["OMPL_NET_INTERFACE"] == "net7"
    assert variables["OMPL_ENDPOINTS"] == "4"  # as many as threads
    assert (rxm.name, rxm.baseline) == ("good tcp;ofi_rxm", "ofi tcp;ofi_rxm")
    few = network.over(found, "ucx", HOSTS, endpoints=3)
    assert (few.name, few.environment(4)["OMPL_ENDPOINTS"]) == ("good ucx 3 ep", "3")
    with pytest.raises(MissingError, match="goes over none of net, ucx-shm between hosts"):
        network.contenders(found, ["net", "ucx-shm"], HOSTS)


def test_a_library_that_would_use_memory_is_not_measured_between_hosts() -> None:
    with pytest.raises(MissingError, match="shared memory"):
        network.contenders(mock("good"), ["tcp"], HOSTS)


def test_a_job_on_hosts_has_memory_within_each_and_a_network_between() -> None:
    layer = mock("good")
    mpi = replace(layer, library=replace(layer.library, compiler="mpicxx"))
    for conduit, variable in (("ofi", "OMPL_NET_INTERFACE"), ("ucx", "UCX_NET_DEVICES")):
        there = network.spread(layer, HOSTS, conduit)
        variables = there.environment(1)
        assert (variables["OMPL_CONDUITS"], variables[variable]) == (f"self,shm,{conduit}", "net7")
        assert there.command([])[0] == "outside"
    with pytest.raises(MissingError, match="shared memory"):
        network.spread(mpi, HOSTS)


def test_each_rank_is_on_its_host_with_its_cores_and_link() -> None:
    need_hosts()
    look = 'echo $OMPL_NODE_ID $OMNI_OWN_CORES; taskset -pc $$; tc qdisc show dev net0'
    cores = catalog.affinity()
    with network.some_hosts(3, 6, 20) as hosts:
        for rank in range(6):
            variables = os.environ | {"PMI_RANK": str(rank)}
            done = run(*hosts.launch, *hosts.enter, "sh", "-c", look, env=variables, check=True)
            host = rank // 2
            where, bound, link = done.stdout.splitlines()
            assert where == f"host{host} 1"
            own = cores[len(cores) * host // 3 : len(cores) * (host + 1) // 3] or cores
            assert numbers_of(bound.rpartition(": ")[2]) == own
            assert "tbf" in link and "rate 20Mbit" in link


def numbers_of(ranges: str) -> list[int]:
    """0-2,5 as taskset writes it."""
    ends = [tuple(map(int, part.split("-"))) for part in ranges.split(",")]
    return [number for pair in ends for number in range(pair[0], pair[-1] + 1)]


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_settings_for_hosts_stand_only_there(name: str) -> None:
    library = catalog.read_table(Path(__file__).parents[2] / "bench" / "peers.toml")[name]
    alone = catalog.Found(library, Path("w"), None, None)
    there = network.on_hosts(alone, HOSTS)
    assert "net7" in there.environment(1).values()
    assert "UCX_TLS" in there.environment(1) and "UCX_TLS" not in alone.environment(1)


def test_without_root_the_reason_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(MissingError, match="root"), network.two_hosts():
        pass
    bench = Bench(catalog.build_dir(), Progress())
    found = list(targets.measure(bench, ["tcp", "ofi", "sleeper"]))
    assert all(not target.met and "root" in target.note for target in found)


def test_sixteen_cores_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "cores", lambda: 4)
    found = list(targets.measure(Bench(catalog.build_dir(), Progress()), ["cores16"]))
    assert [target.note for target in found] == ["needs 16 cores, 4 here"] * 2
    assert not any(target.met for target in found)


@pytest.mark.parametrize(
    "transport", [pytest.param(name, marks=[] if name == "tcp" else pytest.mark.long) for name in network.TRANSPORTS]
)
def test_the_twin_delivers_over_every_transport(transport: str) -> None:
    baseline = network.over(built(network.TRANSPORTS[transport][0]), transport, None)
    with Worker(baseline, threads=2, size=100_000) as worker:
        for op in baseline.library.ops:
            for size in (4, 5_000, 100_000):  # copied, and in place; the harness looks at every byte
                assert worker.pingpong(op, size, 5, LIMIT_S, LIMIT_S).count == 10
                assert worker.flow(op, size, 20, 0.01, 20).rate > 0
        variables = baseline.environment(2)
        expected = variables.get("OMPL_OFI_PROVIDER") or variables.get("UCX_TLS") or baseline.library.name
        assert worker.hello[0]["transport"] == expected


def test_pingpong_and_rate_between_hosts() -> None:
    built("ofi")
    need_hosts()
    for bench in ("pingpong", "rate"):
        content, done = result(bench, "--hosts", "2", "--over", "tcp,tcp;ofi_rxm", "--libs", "ofi,ompl,raw",
                               "--op", "put,putsignal", "--quick", "--repeat", "1", "--threads", "2",
                               *(["--sizes", "8"] if bench == "pingpong" else []))  # fmt: skip
        good = {(r["library"], r["op"]) for r in content["results"] if r["status"] == "ok"}
        assert good == {
            (f"{library} {transport}", op)
            for library in ("ofi", "ompl") for transport in ("tcp", "tcp;ofi_rxm") for op in ("put", "putsignal")
        }  # fmt: skip
        assert "raw skipped: no settings" in " ".join(done.stderr.split())


@pytest.mark.long
def test_endpoints_in_one_table(tmp_path: Path) -> None:
    built("ofi")
    need_hosts()
    plot = tmp_path / "endpoints.svg"
    content, done = result("endpoints", "--quick", "--repeat", "1", "--threads", "2", "--pools", "1,2", "--libs", "",
                           "--plot", str(plot))  # fmt: skip
    pools = [r for r in content["results"] if r["library"].startswith("ompl")]
    assert [(r["bench"], r["endpoints"]) for r in pools] == [(b, e) for b in ("pingpong", "flow") for e in (1, 2)]
    assert all(r["failed_claims"] is not None and r["memory_per_peer_KiB"] is not None for r in pools)
    assert plot.stat().st_size > 0
    assert "per peer" in done.stderr


def test_every_endpoint_costs_connections() -> None:
    built("ompl")
    pools = endpoints.pools(built("ompl"), "tcp", None, [1, 2])
    costs = [endpoints.peer_cost(catalog.build_dir(), pool) for pool in pools]
    assert 1 <= costs[0].descriptors < costs[1].descriptors


def test_endpoints_of_others_are_swept_where_they_can_be_chosen() -> None:
    table = catalog.read_table(Path(__file__).parents[2] / "bench" / "peers.toml")
    here = {name: catalog.Found(table[name], Path("w"), None, None) for name in ("ucx-workers", "mpich", "openmpi")}
    chosen = [Contender(found, "put") for found in here.values()]
    names = [one.library for one in endpoints.swept(chosen, [1, 2])]
    assert names == ["ucx-workers 1 ep", "ucx-workers 2 ep", "mpich 1 ep", "mpich 2 ep", "openmpi"]
    two = catalog.with_endpoints(here["mpich"], 2)
    assert two.environment(4)["MPIR_CVAR_CH4_NUM_VCIS"] == "2"
    assert [Contender(two, "put").fits(threads) for threads in (1, 2)] == [False, True]
    between = [Contender(network.on_hosts(one.found, HOSTS), "put") for one in chosen]
    names = [one.library for one in endpoints.swept(between, [1, 2])]
    assert names == ["ucx-workers 1 ep", "ucx-workers 2 ep", "mpich", "openmpi"]  # MPICH has one there


@pytest.mark.long
def test_endpoints_of_libraries_in_one_table(tmp_path: Path) -> None:
    for library in ("ucx", "ucx-workers", "libfabric", "ompl"):
        built(library)
    out, plot = tmp_path / "out.json", tmp_path / "endpoints.svg"
    done = omni("endpoints", "--hosts", "1", "--quick", "--repeat", "1", "--threads", "2", "--pools", "1,2,4",
                "--libs", "ucx-workers,libfabric", "--json", str(out), "--plot", str(plot), check=True)  # fmt: skip
    content = json.loads(out.read_text())
    jsonschema.validate(content, SCHEMA)
    rows = content["results"]
    assert all(row["status"] == "ok" for row in rows), done.stdout
    for library, sizes in (("ompl ucx-shm", [1, 2, 4]), ("ucx-workers", [1, 2]), ("libfabric", [1, 2])):
        found = [row for row in rows if row["library"].startswith(f"{library} ")]
        assert [(r["bench"], r["endpoints"]) for r in found] == [(b, e) for b in ("pingpong", "flow") for e in sizes]
        assert all(row["memory_per_peer_KiB"] is not None for row in found)
    assert plot.stat().st_size > 0
    assert "within a host" in done.stdout
