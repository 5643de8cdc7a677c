"""The command for those who search for policies: evaluate, on hidden windows of logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve import bench
from allocsolve.cli import options as opt
from allocsolve.cli.files import refuse_suite
from allocsolve.cli.output import count_bar, say, show_table, write_json
from allocsolve.cli.parser import make_command
from allocsolve.pictures.chart import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from allocsolve.bench import PolicyEvaluator
    from allocsolve.bench.evaluation.evaluator import Evaluation

_HEADS = ("policy", "score", "worst window", "gap", "finished")
#: From this share of jobs without a limit on, it is said what a policy sees of them.
_MANY = 0.01


def add_evaluate(parser: argparse.ArgumentParser) -> None:
    """Add the options of `evaluate`."""
    make_command(parser, evaluate)
    help_text = "policies: package.module:object, file.py (its `policy`), file.py:object, or registered names"
    parser.add_argument("policies", nargs="+", metavar="POLICY", help=help_text)
    help_text = "logs or workloads: files, or directories with nothing else in them"
    parser.add_argument(
        "--log", type=opt.paths, required=True, dest="logs", metavar="DIR,...", help=help_text
    )
    windows = parser.add_argument_group("windows")
    help_text = "how many windows are drawn, in turns from the logs (default: %(default)s)"
    windows.add_argument(
        "--count", type=opt.integer(1), dest="windows", default=10, metavar="N", help=help_text
    )
    help_text = "number of successive jobs in each window (default: %(default)s)"
    windows.add_argument(
        "--num-jobs", type=opt.integer(1), dest="jobs", default=500, metavar="N", help=help_text
    )
    help_text = "windows of the first three quarters of each log, or of the last (default: %(default)s)"
    windows.add_argument("--split", choices=("train", "test"), default="train", help=help_text)
    help_text = "seed by which windows are drawn; a policy does not know it (default: %(default)s)"
    windows.add_argument("--seed", type=opt.integer(0, 2**31 - 1), default=0, metavar="S", help=help_text)
    limits = parser.add_argument_group("limits")
    help_text = "time limit for all decisions on a window, in seconds (default: %(default)g)"
    limits.add_argument("--seconds", type=opt.seconds, default=60.0, metavar="T", help=help_text)
    help_text = "most memory that a policy may allocate, in MB (default: %(default)g)"
    limits.add_argument("--memory-mb", type=opt.seconds, default=500.0, metavar="MB", help=help_text)
    parser.epilog = (
        "Score: certified bound / mean turnaround, from 0 to 1, mean over the windows; 0 where it fails. "
        "Each policy runs in a sealed process of its own, without the engine, the logs and the seed."
    )


def evaluate(args: argparse.Namespace) -> int:
    """Show what policies are worth on hidden windows, or why they are worth nothing."""
    from allocsolve.bench.evaluation.sealed import PolicyUnusable  # noqa: PLC0415 - when the command runs

    for log in args.logs:
        refuse_suite(str(log))
    with count_bar("bounds") as progress:
        evaluator = bench.PolicyEvaluator(
            args.logs,
            windows=args.windows,
            jobs=args.jobs,
            split=args.split,
            seed=args.seed,
            seconds=args.seconds,
            memory_mb=args.memory_mb,
        )
        made: dict[str, Evaluation] = {}
        for name in dict.fromkeys(args.policies):
            progress(len(made), len(args.policies), name)
            made[name] = evaluator.evaluate(name)
            if fault := made[name]["artifacts"].get("policy"):
                raise PolicyUnusable(fault)
    if args.json:
        names = ("windows", "jobs", "split", "seed")
        write_json({**{name: getattr(args, name) for name in names}, "policies": made})
    else:
        show_table(_HEADS, (_row(name, one) for name, one in made.items()))
        say("", *_failures(made), *_remarks(args, evaluator, made))
    return 1 if any(one["metrics"]["finished"] < 1 for one in made.values()) else 0


def _row(name: str, one: Evaluation) -> tuple[str, ...]:
    metrics = one["metrics"]
    scores = [score for name, score in metrics.items() if name.startswith("window_")]
    finished = sum(score > 0 for score in scores)
    gap = "-"
    if finished == len(scores):
        gap = f"{100 * sum(1 / score - 1 for score in scores) / len(scores):.1f} %"
    numbers = (f"{metrics['combined_score']:.4f}", f"{metrics['worst_window']:.4f}")
    return name, *numbers, gap, f"{finished} of {len(scores)}"


def _failures(made: Mapping[str, Evaluation]) -> Iterator[str]:
    """Yield why windows failed; the same reason once."""
    for name, one in made.items():
        reasons: dict[str, list[str]] = {}
        for window, reason in one["artifacts"].items():
            if window.startswith("window_"):
                reasons.setdefault(reason, []).append(window.removeprefix("window_"))
        for reason, windows in reasons.items():
            yield f"{name}, window {', '.join(windows)}: {reason}"


def _remarks(
    args: argparse.Namespace, evaluator: PolicyEvaluator, made: Mapping[str, Evaluation]
) -> Iterator[str]:
    """Yield what must be known to read the table."""
    what = f"{counted(args.windows, 'window')} of {counted(args.jobs, 'job')}"
    yield f"{what}, {args.split}. Score: bound / mean turnaround; gap: mean turnaround / bound - 1."
    open_share = evaluator.without_limit
    if open_share >= _MANY:
        yield f"{open_share:.0%} of the jobs have no limit: a policy sees 1.25 times their run times."
    yield from {one["artifacts"]["sealing"]: None for one in made.values() if "sealing" in one["artifacts"]}
