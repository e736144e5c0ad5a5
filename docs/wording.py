"""Check the wording of documents, messages, comments and names.

Run `python -m tracehouse.docs.wording [PATH...]`. It prints file, line, phrase and a plain replacement.
Without a path it checks the whole repository.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
SUFFIXES = {"", ".cff", ".css", ".csv", ".ipynb", ".j2", ".md", ".py", ".sql", ".toml", ".txt"}
# The word list and its test, the licence, and a page that is generated from ledgers, which are checked.
EXCLUDED = ("docs/wording.py", "tests/docs/test_wording.py", "LICENSE", "docs/verified.md")
# Phrases that other software or a file format requires.
REQUIRED = {
    "ingest/column_types.py": {"traps"},
    "ingest/store/manifest.py": {"beside"},
    "tests/ingest/convert/test_raw_file.py": {"trap"},
}
# Regular expressions of phrases, and what to write instead. Spaces also match line breaks.
REPLACEMENTS = {
    "anew": "again",
    "beside": "next to, alongside, compared with, in addition to",
    "dear": "expensive",
    "aside(?! from)": "temporary, under a temporary name",
    "told": "printed, reported, distinguished; a name: a noun or verb",
    "said": "printed, reported; a name: message, output, text",
    "tells? .{0,30}apart": "distinguish",
    "mend(s|ed|ing)?": "fix, repair",
    "whoever": "the reader, the user, anyone who",
    "traps?": "caveat, pitfall",
    "(stands|stood)(?! for)": "is, appears, remains",
    "stand (in|at|on|there|here|above|below|behind)": "is, appears, represents",
    "rooms?": "layer; of a disk: free space",
    "house": "warehouse, project, catalog",
    "(hungry|patience|wish(es)?)": "memory-bound, retry policy, request",
    "(lent|for good)": "shared, permanently",
    "goes by": "scales with, depends on",
    "(go(es)?|went|going) on( with| where|[.,;:])": "continue, resume",
    "of (ours|theirs)": "name the owner",
    "at hand": "available",
    "but for": "except",
    "in silence": "silently",
    "alike": "in the same way",
    "who reads": "readers",
    "what (there is|is there|leaves|came|has come|comes)": "a noun: rows, files, the partial download",
    "whole or not at all": "atomically",
    "passed over": "skipped",
    "(so|as) (long|large|small|many) or (less|more)": "at most, at least",
    "whatever (it|its|they|their|the|is|becomes)": "any, regardless of",
    "takes? (it|them)? ?away": "remove",
    "in vain": "without success",
    "for want of": "without",
    "(asked for|reckon(s|ed)?)": "requested; computed",
    "(all the same|for ever|seldom|once more)": "nevertheless, without end, rarely, again",
    "asking": "a name: request, query, prompt",
    "somebody|(?<!user.)nobody": "a user, no one; name the actor",
}


def findings(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield line, phrase and replacement for each phrase of the list in a text."""
    for phrase, replacement in REPLACEMENTS.items():
        # A comment marker may follow a line break. An underscore in a name separates words, as a space does.
        spaced = phrase.replace(" ", r"(?:\s+(?:(?:#|--)\s+)?)")
        for match in re.finditer(rf"(?<![A-Za-z])(?:{spaced})(?![A-Za-z])", text, re.IGNORECASE):
            yield text.count("\n", 0, match.start()) + 1, " ".join(match[0].split()), replacement


def files(paths: list[str]) -> Iterator[Path]:
    """Yield the files of the repository to check: those below the paths, or all."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *paths]
    listed = subprocess.check_output(command, cwd=REPOSITORY, text=True)
    for name in listed.splitlines():
        path = REPOSITORY / name
        checked = path.suffix in SUFFIXES and not any(Path(name).is_relative_to(part) for part in EXCLUDED)
        if checked and path.is_file():
            yield path


def main(paths: list[str]) -> int:
    """Print the findings, and return the exit code."""
    count = 0
    for path in files(paths):
        name = str(path.relative_to(REPOSITORY))
        for line, phrase, replacement in sorted(findings(path.read_text())):
            if phrase not in REQUIRED.get(name, ()):
                print(f'{name}:{line}: "{phrase}": write {replacement}')
                count += 1
    if count:
        print(f"{count} phrases to replace", file=sys.stderr)
    return min(count, 1)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
