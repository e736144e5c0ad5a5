"""Plans of downloads, and the command, against a server on loopback that has the files of all traces."""

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import command_line
import publisher
import pytest
import suites
from few_files import quiet, zipped
from filelock import FileLock
from publisher import Publisher
from typer.testing import CliRunner

from tracehouse import cli
from tracehouse.core.errors import UserError
from tracehouse.ingest.declare.trace import all_traces
from tracehouse.ingest.dump.find import find
from tracehouse.ingest.dump.identify import identify
from tracehouse.ingest.dump.raw_files import MARKER_NAME, form_of
from tracehouse.ingest.fetch import plan
from tracehouse.ingest.fetch.client import open_client
from tracehouse.ingest.fetch.download import DownloadResult, fetch_files
from tracehouse.ingest.fetch.plan import Download, plan_downloads, read_downloads

DOCS = Path(__file__).parents[3] / "docs"
TRACES = all_traces()
DOWNLOADS = {name: read_downloads(trace) for name, trace in TRACES.items()}
HOSTS = (
    "github.com",
    "huggingface.co",
    "aliopentrace.oss-cn-beijing.aliyuncs.com",
    "tre-clusterdata.oss-cn-hangzhou.aliyuncs.com",
)
LISTING = "/huggingface.co/api/datasets/Qinghao/AcmeTrace/tree/main/data/utilization/"
JOBS = {"data/cluster_summary.csv", "data/job_trace/trace_kalos.csv", "data/job_trace/trace_seren.csv"}


@pytest.fixture
def site() -> Iterator[Publisher]:
    with publisher.publishing() as running:
        yield running


def mirrors(site: Publisher) -> dict[str, str]:
    return {host: f"{site.url}/{host}" for host in HOSTS}


def options(site: Publisher) -> list[str]:
    return [f"--mirror={host}={url}" for host, url in mirrors(site).items()]


def path_of(url: str) -> str:
    """Return the path of a publisher's file on the local server."""
    return "/" + url.removeprefix("https://")


def run(site: Publisher, out: Path, *traces: str, **options: list[str]) -> tuple[DownloadResult, list[str]]:
    lines: list[str] = []
    with open_client(mirrors(site), 3, 0.001) as client:
        plans = plan_downloads(client, out, traces, **options)
        return fetch_files(plans, out, client, quiet, lines.append), lines


def files_in(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*.csv")}


@pytest.fixture
def published(site: Publisher, sample_raw: Path, monkeypatch: pytest.MonkeyPatch) -> Publisher:
    """A server with a synthetic dump at the publishers' paths. PAI's files exist in parts only.

    The ledgers contain sizes and checksums of these files instead of the published ones.
    """
    ours: dict[str, list[Download]] = {name: [] for name in TRACES}
    for trace, downloads in DOWNLOADS.items():
        for download in downloads:
            if download.cluster:
                ours[trace].append(download)
                _add_telemetry(site, sample_raw / trace, download)
                continue
            content = joined(sample_raw / trace / download.path)
            if not content:
                continue
            sha256 = hashlib.sha256(content).hexdigest() if trace == "pai" else ""
            ours[trace].append(replace(download, bytes=len(content), sha256=sha256))
            step = -(-len(content) // (len(download.parts) or 1))
            for number, url in enumerate(download.parts or download.urls[:1]):
                site.files[path_of(url)] = content[number * step : (number + 1) * step]
    monkeypatch.setattr(plan, "read_downloads", lambda trace: tuple(ours[trace.name]))
    return site


def joined(path: Path) -> bytes:
    """Return the bytes of a file, of its joined parts, or of a zip of a folder."""
    if path.suffix == ".zip":
        members = [file for file in sorted(path.with_suffix("").rglob("*")) if file.is_file()]
        return zipped({file.relative_to(path.parent).as_posix(): file.read_bytes() for file in members})
    paths = [path] if path.is_file() else sorted(path.parent.glob(f"{path.name}.part*"))
    return b"".join(part.read_bytes() for part in paths)


def _add_telemetry(site: Publisher, folder: Path, download: Download) -> None:
    """Add the files of a folder, and a list of them as the Hub has it, with other entries."""
    in_hub = download.path.rpartition("/")[0]
    entries: list[dict[str, object]] = [
        {"type": "directory", "path": f"{in_hub}/old.csv", "size": 0, "oid": "1"},
        {"type": "file", "path": f"{in_hub}/.DS_Store", "size": 1, "oid": "2"},
    ]
    for path in sorted((folder / in_hub).glob("*.csv")):
        content = path.read_bytes()
        lfs = {"oid": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 134}
        entries.append(
            {"type": "file", "path": f"{in_hub}/{path.name}", "size": len(content), "oid": "3", "lfs": lfs}
        )
        site.files[path_of(download.urls[0].replace("*.csv", path.name))] = content
    site.files[LISTING + in_hub.rpartition("/")[2]] = json.dumps(entries).encode()


def test_ledgers_name_a_file_of_every_table() -> None:
    """Telemetry is an exception, because the server lists its files; so are traces that users download."""
    wrong = []
    for name, downloads in DOWNLOADS.items():
        trace = TRACES[name]
        if not downloads:
            assert "by hand" in trace.download
            continue
        assert len({download.path for download in downloads}) == len(downloads)
        unnamed = {table.name for table in trace.tables}
        for download in downloads:
            file = download.path.rpartition("/")[2]
            for url in (*download.urls, *download.parts):
                assert re.fullmatch(r"https://[a-z.-]+/[\w./*-]+", url)
                assert url.rpartition("/")[2].startswith(file)
            stem = re.sub(r"(\.header|\.xz|\.csv|\.tar\.gz|\.zip)+$", "", file)
            tables = {
                table.name
                for table in trace.tables
                if table.key_values(f"{stem}.csv") is not None
                or table.key_values(file.removesuffix(".xz")) is not None
                or re.fullmatch(table.archive_stem or "$", stem)
            }
            unnamed -= tables
            if not download.cluster and not (tables and (form_of(file) or file.endswith(".header"))):
                wrong.append((name, download.path))
        if unnamed and not any(download.cluster for download in downloads):
            wrong.append((name, str(unnamed)))
    assert wrong == []
    pai = DOWNLOADS["pai"]
    assert len(pai) == 14 and all(len(download.sha256) == 64 for download in pai)
    assert sum(len(download.parts) for download in pai) == 2 + 2 + 23 + 7 + 13


def test_discovery_finds_fetched_files_and_second_run_fetches_nothing(
    published: Publisher, tmp_path: Path
) -> None:
    traces = list(TRACES.values())
    first, _ = run(published, tmp_path / "raw", metrics=["all"])
    assert first.failures == ()
    found = identify(find([tmp_path / "raw"], traces, traces), traces, traces, {})
    assert (found.problems, found.unrecognised) == ((), ())
    tables = {(m.trace.name, m.table.name) for m in found.matched}
    assert tables == {(t.name, table.name) for t in traces if DOWNLOADS[t.name] for table in t.tables}
    asked = len(published.asked)
    # A run that was killed after it had renamed the complete download leaves the record of its version.
    left = next(path for path in (tmp_path / "raw").rglob("*.csv"))
    left.with_name(f".{left.name}.part.json").write_text("{}", encoding="utf-8")
    second, messages = run(published, tmp_path / "raw")
    assert not list((tmp_path / "raw").rglob("*.part.json"))
    assert second.fetched == 0 and messages == [] and len(published.asked) == asked


def test_fetches_parts_when_whole_file_is_missing(published: Publisher, tmp_path: Path) -> None:
    folder = tmp_path / "pai" / "data"
    folder.mkdir(parents=True)
    (folder / "pai_instance_table.tar.gz.part").write_bytes(b"of the whole, when it was there")
    [instance] = [d for d in DOWNLOADS["pai"] if "instance_table.tar" in d.path]
    [job] = [d for d in DOWNLOADS["pai"] if "job_table.tar" in d.path]
    published.answers[path_of(instance.parts[20])] = [publisher.status(404)]
    published.files[path_of(job.parts[1])] += b"!"
    outcome, _ = run(published, tmp_path, "pai")
    wrong, missing = sorted(outcome.failures, key=lambda failure: failure.path, reverse=True)
    assert (wrong.path, missing.path) == ("data/pai_job_table.tar.gz", "data/pai_instance_table.tar.gz")
    assert "not found (404)" in wrong.problems[0]
    assert "the joined parts do not have the published checksum and were removed" in wrong.problems[1]
    assert not list(folder.glob("pai_job_table.tar*"))
    run(published, tmp_path, "pai")
    assert len(published.asked_for(path_of(instance.parts[0]))) == 1
    assert not (folder / "pai_instance_table.tar.gz.part").exists()
    assert len(list(folder.glob("pai_instance_table.tar.gz.part*"))) == 23
    assert not (folder / "pai_instance_table.tar.gz").exists()
    assert (folder / "pai_task_table.tar.gz").is_file()


def test_renames_file_that_differs_from_published(
    published: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By size, by checksum, or because a clone without Git LFS has a pointer."""
    ours = {
        trace: [replace(d, bytes=None) if trace == "acme" else d for d in plan.read_downloads(TRACES[trace])]
        for trace in ("pai", "itp", "acme")
    }
    monkeypatch.setattr(plan, "read_downloads", lambda trace: tuple(ours[trace.name]))
    run(published, tmp_path, *ours)
    paths = ["itp/data/raw-traces.tar.gz", "pai/data/pai_job_table.header", "acme/data/cluster_summary.csv"]
    published_bytes = [(tmp_path / path).read_bytes() for path in paths]
    changed = [b"cut", b"!" + published_bytes[1][1:], b"version https://git-lfs.github.com/spec/v1\n"]
    for path, content in zip(paths, changed, strict=True):
        (tmp_path / path).write_bytes(content)
    outcome, messages = run(published, tmp_path, *ours)
    assert outcome.fetched == 3
    assert [(tmp_path / path).read_bytes() for path in paths] == published_bytes
    assert [(tmp_path / f"{path}.wrong").read_bytes() for path in paths] == changed
    assert len([line for line in messages if "is not the published file" in line]) == 3
    (tmp_path / paths[0]).write_bytes(b"cut again")
    run(published, tmp_path, *ours)
    assert (tmp_path / f"{paths[0]}.wrong").read_bytes() == changed[0]
    assert (tmp_path / f"{paths[0]}.wrong2").read_bytes() == b"cut again"


def test_replaces_no_folder_or_pipe(published: Publisher, tmp_path: Path) -> None:
    first, second = (tmp_path / "itp" / download.path for download in plan.read_downloads(TRACES["itp"]))
    first.mkdir(parents=True)
    outcome, _ = run(published, tmp_path, "itp")
    assert outcome.fetched == 1 and f"{first} is a folder, a broken link or a pipe" in str(outcome.failures)
    assert list(first.iterdir()) == [] and second.is_file()
    first.rmdir()
    os.mkfifo(first)
    run(published, tmp_path, "itp")
    assert first.is_fifo()


def test_fetches_telemetry_only_on_request(published: Publisher, tmp_path: Path) -> None:
    run(published, tmp_path / "none", "acme")
    assert files_in(tmp_path / "none" / "acme") == JOBS
    assert not [path for path, _ in published.asked if "/api/" in path]

    run(published, tmp_path / "some", "acme", metrics=["GPU_TEMP", "CPU_D_Power"])
    assert files_in(tmp_path / "some" / "acme") - JOBS == {
        "data/utilization/ipmi/CPU_D_Power.csv",
        "data/utilization/kalos/GPU_TEMP-2023-07.csv",
        "data/utilization/kalos/GPU_TEMP-2023-08.csv",
        "data/utilization/seren/GPU_TEMP.csv",
    }
    run(published, tmp_path / "kalos", "acme", metrics=["GPU_UTIL"], clusters=["kalos"])
    assert files_in(tmp_path / "kalos" / "acme") - JOBS == {"data/utilization/kalos/GPU_UTIL.csv"}


def test_invalid_list_stops_no_other_file(published: Publisher, tmp_path: Path) -> None:
    page = LISTING + "kalos"
    entries = json.loads(published.files[page])
    bodies = [b"[]", b"{}", b'["x"]', b'[{"type": "file"}]', b"<html>", b"[" * 200_000, b"[" + b"9" * 5000]
    changes: list[dict[str, object]] = [
        {"path": 5},
        {"path": "a\x00.csv"},
        {"size": -1},
        {"size": 10**18},
        {"size": "12"},
        {"size": None},
        {"lfs": {"oid": "x"}},
        {"lfs": "x"},
    ]
    bodies += [json.dumps([*entries, entries[-1]]).encode()]
    bodies += [json.dumps([*entries[:-1], entries[-1] | change]).encode() for change in changes]
    wrong = []
    for number, body in enumerate(bodies):
        published.files[page] = body
        outcome, _ = run(published, tmp_path / str(number), "acme", clusters=["kalos"])
        [failure] = outcome.failures
        pattern = rf"{published.url}{page}: it (lists no \*\.csv|is not a list of files)"
        if not re.match(pattern, failure.problems[0]) or files_in(tmp_path / str(number) / "acme") != JOBS:
            wrong.append((body[:80], str(failure)))
    assert wrong == []
    published.answers[page] = [publisher.says(json.dumps(entries).encode(), Link='</x>; rel="next"')]
    outcome, _ = run(published, tmp_path / "pages", "acme", clusters=["kalos"])
    assert "has several pages" in str(outcome.failures[0])
    assert files_in(tmp_path / "pages" / "acme") > JOBS


def test_disk_space(published: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fetch that does not fit fetches nothing. Received bytes need no more space."""

    def needed() -> int:
        with open_client(mirrors(published)) as client:
            return plan_downloads(client, tmp_path, ["itp"])[0].missing_bytes

    first, second = plan.read_downloads(TRACES["itp"])
    before = needed()
    assert before == (first.bytes or 0) + (second.bytes or 0)
    published.answers[path_of(first.urls[0])] = [publisher.cut(2000), publisher.status(404)]
    published.answers[path_of(second.urls[0])] = [publisher.status(404)]
    run(published, tmp_path, "itp")
    assert needed() == before - 2000
    usage = shutil.disk_usage(tmp_path)._replace(free=10)
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    with pytest.raises(UserError, match=r"to fetch, but .* has 10 bytes free: nothing was fetched"):
        run(published, tmp_path / "raw", "itp")
    assert not (tmp_path / "raw").exists()


def test_refuses_folder_in_use_or_of_synthetic_sample(published: Publisher, tmp_path: Path) -> None:
    with FileLock(tmp_path / ".fetch.lock"), pytest.raises(UserError, match="another `traces fetch`"):
        run(published, tmp_path, "itp")
    (tmp_path / "itp").mkdir()
    (tmp_path / "itp" / MARKER_NAME).touch()
    with pytest.raises(UserError, match="holds a synthetic sample, and every file in it is ingested as"):
        run(published, tmp_path, "itp")


@pytest.fixture
def real_site(site: Publisher, real_raw: Path) -> Publisher:
    for name in ("itp", "dlrm"):
        for download in DOWNLOADS[name]:
            site.files[path_of(download.urls[0])] = (real_raw / name / download.path).read_bytes()
    return site


def test_command_fetches_and_ingest_reads(real_site: Publisher, tmp_path: Path) -> None:
    fetched = command_line.server().run("fetch", "itp", "dlrm", *options(real_site), cwd=tmp_path)
    assert fetched.faults() == []
    lines = fetched.stdout.splitlines()
    assert "itp: ElasticFlow traces of Microsoft's ITP clusters (2021), from https://github.com/" in lines[0]
    assert {"  2 files, 4.5 MB", "  licence: MIT", "itp/data/raw-traces.tar.gz: 1.9 MB"} < set(lines)
    assert lines[-1] == "3 fetched, 0 already downloaded. Next: traces ingest --raw raw"
    again = command_line.server().run("fetch", "itp", "dlrm", *options(real_site), cwd=tmp_path)
    assert again.stdout.splitlines()[-1].startswith("0 fetched, 3 already downloaded.")
    ingested = command_line.server().run("ingest", "--raw", "raw", cwd=tmp_path)
    assert "itp.raw_job: 69,351 rows from 1 file" in ingested.stdout
    assert "dlrm.instance: 23,871 rows from 1 file" in ingested.stdout


@pytest.mark.parametrize("page", ["fetch.md", pytest.param("asi.md", marks=suites.of("docs"))])
def test_commands_of_page_work(
    page: str, published: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commands run in this process, with ledgers of the server's files."""
    monkeypatch.chdir(tmp_path)
    text = (DOCS / page).read_text(encoding="utf-8")
    for command in re.findall(r"^    traces (.*)$", text, re.M):
        name, *words = command.split()
        more = options(published) if name == "fetch" else []
        done = CliRunner().invoke(cli.app, [name, *words, *more])
        assert done.exit_code == 0, (command, done.output, done.exception)
    if page == "fetch.md":
        raw = {path.name for path in (tmp_path / "raw").iterdir() if path.is_dir()}
        assert raw == {"acme", "asi", "itp", "zeus"}
        assert (tmp_path / "warehouse" / "traces.duckdb").is_file()
    pictures = re.findall(r"!\[.*, synthetic data\]\((\w+\.svg)\)", text)
    assert len(pictures) == (3 if page == "asi.md" else 0)
    for drawn in (folder / name for folder in (tmp_path, DOCS) for name in pictures):
        assert ">synthetic data<" in drawn.read_text(encoding="utf-8")


def test_command_lists_failures(site: Publisher, tmp_path: Path) -> None:
    ended = command_line.server().run("fetch", "itp", *options(site), cwd=tmp_path)
    assert ended.code == 1
    first, second = (download.urls[0] for download in DOWNLOADS["itp"])
    assert ended.stderr.splitlines() == [
        "error: itp/data/raw-traces.tar.gz could not be fetched",
        f"    {site.url}{path_of(first)}: not found (404)",
        "error: itp/data/elasticflow-traces.tar.gz could not be fetched",
        f"    {site.url}{path_of(second)}: not found (404)",
        "error: 2 of 2 files were not fetched. Run the command again to resume, or download them by hand:",
        f"    itp: {TRACES['itp'].homepage}",
    ]


def test_dry_run(site: Publisher, tmp_path: Path) -> None:
    """It makes requests only to list telemetry, and works without a network."""
    ended = command_line.server().run("fetch", "--dry-run", *options(site), cwd=tmp_path)
    assert ended.faults([0]) == []
    assert site.asked == []
    assert "  without telemetry; select it with --metric" in ended.stdout
    for name, trace in TRACES.items():
        assert f"{name}: {trace.title}, from {trace.homepage}\n" in ended.stdout
        if not DOWNLOADS[name]:
            assert f"  not fetched: {trace.download}\n" in ended.stdout
            continue
        assert f"  licence: {trace.licence}\n  cite: {trace.citation}\n" in ended.stdout
        for download in DOWNLOADS[name]:
            assert download.cluster or download.urls[0] in ended.stdout
    with publisher.publishing() as gone:
        pass
    arguments = ("fetch", "acme", "--metric", "POWER_USAGE", "--cluster", "kalos", *options(gone))
    ended = command_line.server().run(*arguments, "--dry-run", cwd=tmp_path)
    assert ended.faults([0]) == []
    assert "data/utilization/kalos/*.csv, could not be listed: https://huggingface.co/" in ended.stdout
    assert ended.stdout.count("no connection") == 1
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_and_full_disk_keep_received_bytes(real_site: Publisher, tmp_path: Path) -> None:
    first, second = DOWNLOADS["itp"]

    def until_interrupted(handler: publisher.Handler, content: bytes) -> None:
        handler.head(200, Content_Length=len(content), ETag=publisher.etag(content))
        handler.wfile.write(content[:500_000])
        handler.publisher.closing.wait(60)

    real_site.answers[path_of(first.urls[0])] = [until_interrupted]
    arguments = ["fetch", "itp", *options(real_site)]
    part = tmp_path / "raw" / "itp" / f"{first.path}.part"
    with subprocess.Popen([command_line.TRACES, *arguments], cwd=tmp_path, stdout=subprocess.PIPE) as process:
        wait_until(lambda: part.exists() and part.stat().st_size == 500_000, process)
        process.send_signal(2)
        assert process.wait() == 130
    ended = command_line.server().run(*arguments, cwd=tmp_path, largest_file_bytes=2_000_000)
    assert real_site.ranges(path_of(first.urls[0])) == [None, "bytes=500000-"]
    part = Path("raw/itp/data/elasticflow-traces.tar.gz.part")
    assert f"the disk is full (File too large). Received bytes are kept in {part}" in ended.stderr
    assert (tmp_path / part).stat().st_size == 2_000_000
    assert command_line.server().run(*arguments, cwd=tmp_path).faults([0]) == []
    assert real_site.ranges(path_of(second.urls[0])) == [None, "bytes=2000000-"]


def wait_until(holds: Callable[[], bool], process: subprocess.Popen) -> None:
    """Wait until a condition holds, while the process runs."""
    while not holds():
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.02)
