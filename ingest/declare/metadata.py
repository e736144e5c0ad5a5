"""What a trace's declaration states besides its columns: pitfalls, clocks, metrics, files."""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

from tracehouse.core.field_types import check_types

# The consequence of ignoring a caveat: users misread the result; the result covers or shows less than it
# seems to; or none, because ingest or a view handles it.
Severity = Literal["wrong result", "limited result", "background"]
Exactness = Literal["exact", "approximate", "impossible"]


@dataclass(frozen=True)
class Caveat:
    """A known pitfall. The columns and tables that it concerns name it in their `caveats`.

    `name` is the trace's name, a dot and a word. `summary` is one sentence of at most 100 characters.
    `documented_in` says who says so: publisher, third party or measured, and the document.
    `concerns` are full names of other objects: a caveat about parts of several tables is in the trace's
    `caveats`, and lists them here. A caveat about some raw files has a pattern of their names in `raw_files`.
    """

    name: str
    severity: Severity
    summary: str
    what_goes_wrong: str
    what_to_do: str
    documented_in: str
    concerns: tuple[str, ...] = ()
    raw_files: str = ""

    def __post_init__(self) -> None:
        check_types(self)

    @property
    def trace(self) -> str:
        """The name of its trace."""
        return self.name.partition(".")[0]


@dataclass(frozen=True)
class Clock:
    """How to read times: their epoch, their time zone, and which parts are true.

    One second on the clock takes `scale` real seconds. A time plus `local_offset_s`, in seconds, has the hour
    and the weekday of the cluster's local time; None if that is unknown.
    """

    name: str
    _: KW_ONLY
    epoch: str
    zone: str
    local_offset_s: float | None = None
    scale: float = 1
    resolution_s: float = 1
    true_parts: str
    fake_parts: str = "none"
    documented_in: str

    def __post_init__(self) -> None:
        check_types(self)

    @property
    def trace(self) -> str:
        """The name of its trace."""
        return self.name.partition(".")[0]


@dataclass(frozen=True)
class MetricSupport:
    """How exactly a trace supports a metric, and why. The header of a view or query says which it answers."""

    name: str
    exactness: Exactness
    reason: str

    def __post_init__(self) -> None:
        check_types(self)

    @property
    def is_possible(self) -> bool:
        """Whether the trace records the metric, exactly or not."""
        return self.exactness != "impossible"


@dataclass(frozen=True)
class PublishedFile:
    """A raw file that `traces fetch` loads to `path` below the folder of the trace.

    `backup` is another URL. ``{aa..aw}`` in it means the parts that `split` cut the file into. A ``*`` in
    `path` and `url` matches the telemetry files of one `cluster`, which the Hugging Face Hub lists.
    `bytes` is None if the size is unknown. Checksums are declared with the tables.
    """

    path: str
    url: str
    backup: str = ""
    bytes: int | None = None
    cluster: str = ""

    def __post_init__(self) -> None:
        check_types(self)


@dataclass(frozen=True)
class SkippedFile:
    """Files of the publisher that ingest leaves out on purpose.

    `file_name` is a regular expression for the whole name of an uncompressed file or of an archive. `reason`
    completes the sentence "left out, because"; ingest prints it.
    """

    file_name: str
    reason: str

    def __post_init__(self) -> None:
        check_types(self)
