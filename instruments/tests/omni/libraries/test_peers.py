# SPDX-License-Identifier: BSD-3-Clause
"""The committed table of libraries, and how they are found."""

import json
import os
import string
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from omnipgas_tools.libraries import build_workers, catalog

TABLE = Path(__file__).parents[3] / "bench" / "peers.toml"


def test_the_table_has_the_libraries_in_order_and_each_setting_its_source() -> None:
    table = catalog.read_table(TABLE)
    baselines = ["sockets", "psm2", "ofi", "ucx"]
    mpis = ["mpich", "openmpi", "intel", "mpich-debian", "openmpi-debian"]
    brought = ["mvapich", "fujitsu", "mpi"]
    assert list(table)[:11] == ["raw", "ompl", *baselines, *mpis]
    assert [name for name, library in table.items() if library.is_mpi] == [*mpis, *brought]
    for library in table.values():
        assert library.title and library.ops and "{worker}" in library.launch
        for setting in library.settings:
            assert setting.why and setting.source
            assert setting.when in ("always", "root", "crowded", "hosts")
        if library.compiler:
            remedies = ("pip install", "apt-get install", f"omni libs add {library.name} PREFIX", "load Fujitsu's")
            assert any(remedy in library.get for remedy in remedies)
        if "omni libs add" in library.get:
            assert library.prefix


def test_every_adapter_has_a_file_of_its_own_under_150_lines() -> None:
    folder = TABLE.parent / "adapters"
    named = {library.adapter for library in catalog.read_table(TABLE).values() if library.compiler}
    others = {"raw", "ompl", "network"}  # which CMake builds
    assert {path.stem for path in folder.glob("*.cpp")} == named | others
    for path in folder.glob("*.[ch]pp"):
        assert len(path.read_text().splitlines()) <= 150, path


def test_a_row_like_another_takes_over_what_it_does_not_say() -> None:
    table = catalog.read_table(TABLE)
    model, delegate, shared = table["mpich"], table["mpi-delegate"], table["ucx-shared"]
    assert (delegate.launch, delegate.compiler, delegate.prefix) == (model.launch, model.compiler, model.prefix)
    assert delegate.adapter == "mpi_delegate" and not delegate.is_mpi
    found = catalog.Found(delegate, Path("w"), None, None)
    assert found.environment(4)["MPIR_CVAR_CH4_NUM_VCIS"] == "1"
    assert catalog.Found(model, Path("w"), None, None).environment(4)["MPIR_CVAR_CH4_NUM_VCIS"] == "4"
    assert shared.worker == table["ucx-workers"].worker
    assert {s.env for s in shared.settings if s.when == "always"} == {"UCX_TLS", "OMNI_ENDPOINTS"}


def test_jobs_that_run_at_once_crowd_the_cores() -> None:
    crowded = catalog.Setting("V", "1", "crowded", "why", "source")
    library = catalog.Library("p", "P", ["put"], "w", [], settings=[crowded])
    alone = catalog.Found(library, Path("w"), None, None)
    assert "V" in replace(alone, jobs=catalog.cores()).environment(1)
    assert ("V" in alone.environment(1)) == (catalog.cores() < catalog.RANKS)


def test_a_prefix_comes_from_its_variable_or_from_what_was_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("OMNI_PEER_LIBFABRIC", raising=False)
    row = catalog.read_table(TABLE)["libfabric"]
    assert catalog.find_prefix(row, tmp_path) is None  # pkg-config may know it
    file = catalog.added_file()
    file.parent.mkdir()
    file.write_text(json.dumps({"libfabric": str(tmp_path)}))
    assert catalog.find_prefix(row, tmp_path) == tmp_path
    (tmp_path / "other").mkdir()
    monkeypatch.setenv("OMNI_PEER_LIBFABRIC", str(tmp_path / "other"))
    assert catalog.find_prefix(row, tmp_path) == tmp_path / "other"
    file.write_text("{")
    monkeypatch.delenv("OMNI_PEER_LIBFABRIC")
    with pytest.raises(catalog.MissingError, match="delete it"):
        catalog.find_prefix(row, tmp_path)


def test_every_placeholder_is_known() -> None:
    for library in catalog.read_table(TABLE).values():
        texts = [*library.launch, library.get, *(s.value for s in library.settings)]
        fields = {name for text in texts for _, name, _, _ in string.Formatter().parse(text) if name}
        known = {"worker", "ranks", "launcher", "prefix", "build", "threads", "host", "interface", "hub_interface"}
        assert fields <= known


def test_crowded_settings_apply_when_threads_exceed_cores() -> None:
    setting = catalog.Setting("V", "1", "crowded", "why", "source")
    assert not setting.applies(threads=catalog.cores() // 2)
    assert setting.applies(threads=catalog.cores())


def test_missing_libraries_say_how_to_get_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = catalog.read_table(TABLE)
    monkeypatch.delenv("OMNI_PEER_MPICH", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    for name, remedy in [("mpich", "pip install mpich"), ("mpich-debian", "apt-get install mpich")]:
        with pytest.raises(catalog.MissingError, match=remedy):
            catalog.find(table[name], tmp_path)
    with pytest.raises(catalog.MissingError, match="run make"):
        catalog.find(table["raw"], tmp_path)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "omplrun").touch()
    with pytest.raises(catalog.MissingError, match="not built: apt-get install libucx-dev, then run make"):
        catalog.find(table["ucx-workers"], tmp_path)
    with pytest.raises(catalog.MissingError, match="then omni libs add lci PREFIX; or set OMNI_PEER_LCI"):
        catalog.find(table["lci"], tmp_path)


def test_a_library_without_its_device_is_missing(tmp_path: Path) -> None:
    row = catalog.read_table(TABLE)["verbs"]
    row = replace(row, device={**row.device, "files": f"{tmp_path}/infiniband/*"})
    with pytest.raises(catalog.MissingError, match="this machine has no InfiniBand or RoCE device"):
        catalog.find(row, tmp_path)
    (tmp_path / "infiniband" / "rxe0").mkdir(parents=True)
    with pytest.raises(catalog.MissingError, match="omplrun does not exist"):
        catalog.find(row, tmp_path)


@pytest.fixture
def fake_mpi(tmp_path: Path) -> tuple[catalog.Library, build_workers.Recipe]:
    """An MPI whose compiler wrapper copies the source to the program."""
    compiler = tmp_path / "mpi" / "bin" / "mpicxx"
    compiler.parent.mkdir(parents=True)
    compiler.write_text(
        f"#!{sys.executable}\nimport shutil, sys\nshutil.copy(sys.argv[1], sys.argv[3])\n"
    )
    compiler.chmod(0o755)
    (tmp_path / "bin").mkdir()
    source = tmp_path / "mpi.cpp"  # as the row says nothing else
    source.write_text("int main() {}\n")
    prefix = {"variable": "OMNI_PEER_FAKE", "default": "mpi"}
    library = catalog.Library("fake", "Fake", ["put"], "worker", [], compiler="bin/mpicxx", prefix=prefix, get="get it")
    return library, build_workers.Recipe(tmp_path, "bench", source, [source], [])


def test_a_worker_is_compiled_when_it_is_old_and_removed_with_its_mpi(
    fake_mpi: tuple[catalog.Library, build_workers.Recipe],
) -> None:
    library, recipe = fake_mpi
    program = recipe.build / "bin" / "worker"
    assert build_workers.compile_worker(library, recipe).startswith("compiled with")
    assert program.read_text() == recipe.source.read_text()
    os.utime(program, (2e9, 2e9))
    assert build_workers.compile_worker(library, recipe) == "up to date"
    os.utime(recipe.source, (2.1e9, 2.1e9))
    assert build_workers.compile_worker(library, recipe).startswith("compiled with")
    (recipe.build / "mpi" / "bin" / "mpicxx").unlink()
    assert build_workers.compile_worker(library, recipe).startswith("skipped")
    assert not program.exists()


def test_a_compiler_that_fails_is_told(fake_mpi: tuple[catalog.Library, build_workers.Recipe]) -> None:
    library, recipe = fake_mpi
    (recipe.build / "mpi" / "bin" / "mpicxx").write_text("#!/bin/sh\necho broken header >&2\nexit 1\n")
    assert "broken header" in build_workers.compile_worker(library, recipe)


def test_the_mpi_of_the_path_is_a_row_of_installations_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "peers.toml").write_text(TABLE.read_text())
    assert "mpi" not in catalog.table(tmp_path)
    (tmp_path / "sources").mkdir()
    assert "mpi" in catalog.table(tmp_path)
    monkeypatch.delenv("OMNI_PEER_MPICH", raising=False)
    with pytest.raises(catalog.MissingError, match="set OMNI_PEER_MPICH to its folder"):
        catalog.find_prefix(catalog.table(tmp_path)["mpich"], tmp_path)
