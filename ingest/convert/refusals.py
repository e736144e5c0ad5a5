"""Refuse a raw file in all tables that it feeds if one table refuses it.

Otherwise the rows of one table would be newer than those of another.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from tracehouse.core.errors import RawFileError
from tracehouse.ingest.convert.incremental import Task, TaskResult
from tracehouse.ingest.store import records
from tracehouse.ingest.store.records import Key

RunAgain = Callable[[Sequence[Task]], list[TaskResult]]


def refuse_in_all_tables(
    tasks: Sequence[Task], results: Sequence[TaskResult], run: RunAgain
) -> list[TaskResult]:
    """Return the results of tasks after each raw file that one task refused is refused by all tasks.

    A task that accepted the file runs again without it. Its other conversions are kept, unless they relied on
    the rows of the refused file.
    """
    tasks, results = list(tasks), list(results)
    while refused := _list_refused(tasks, results):
        for number, keys in refused.items():
            tasks[number] = _exclude_files(tasks[number], results[number], keys)
        again = run([tasks[number] for number in refused])
        for number, result in zip(refused, again, strict=True):
            results[number] = _merge_results(results[number], result)
    return results


def _list_refused(tasks: Sequence[Task], results: Sequence[TaskResult]) -> dict[int, dict[Key, RawFileError]]:
    """List by task number the raw files that the task accepted and another task refused."""
    problems = {
        matched.raw: result.problems[matched.key]
        for task, result in zip(tasks, results, strict=True)
        for matched in task.matched_files
        if matched.key in result.problems
    }
    refused = {
        number: {
            matched.key: problems[matched.raw]
            for matched in task.matched_files
            if matched.raw in problems and matched.key not in result.problems
        }
        for number, (task, result) in enumerate(zip(tasks, results, strict=True))
    }
    return {number: keys for number, keys in refused.items() if keys}


def _exclude_files(task: Task, result: TaskResult, refused: dict[Key, RawFileError]) -> Task:
    for key in refused.keys() & result.converted.keys():
        records.discard(task.warehouse, key)
    kept = {key: conversion for key, conversion in result.converted.items() if key not in refused}
    return replace(task, finished={**task.finished, **kept}, refused={**result.problems, **refused})


def _merge_results(first: TaskResult, again: TaskResult) -> TaskResult:
    """Combine the results of two runs of a task.

    The second run reports a file that the first run converted as unchanged. The combined result reports it as
    converted.
    """
    kept = {key: conversion for key, conversion in first.converted.items() if key in again.unchanged}
    return TaskResult(
        converted={**kept, **again.converted},
        unchanged={key: conversion for key, conversion in again.unchanged.items() if key not in kept},
        problems=again.problems,
        notes=list(dict.fromkeys([*first.notes, *again.notes])),
        incomplete=again.incomplete,
    )
