"""The commands about one problem: solve, check."""

from __future__ import annotations

import contextlib
import math
import traceback
from typing import TYPE_CHECKING, Any, NamedTuple

from allocsolve import instances, judge, registry
from allocsolve.cli import options as opt
from allocsolve.cli.claims import check_claims
from allocsolve.cli.convert import certified, earlier_of
from allocsolve.cli.files import check_outputs, problem_from, source_name
from allocsolve.cli.output import (
    compile_bar,
    remark,
    say,
    show_fields,
    show_lines,
    terminal_width,
    time_bar,
    write_json,
)
from allocsolve.cli.verified import check_proof_options, confirm, refuse_proof
from allocsolve.errors import AllocsolveError, FormatError, InvalidAnswer, InvalidOption, SolverUnavailable
from allocsolve.families import family_of, with_settings
from allocsolve.model import Budget, Limit, terms
from allocsolve.pictures.chart import counted, percent, short_number, time_text
from allocsolve.report.plain import plain

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence

    from allocsolve.families import AnyFamily
    from allocsolve.instances import Proof
    from allocsolve.model import Answer, Problem, Result, Value

#: How many violations are printed for people; the rest is counted. Machines get all.
VIOLATIONS_SHOWN = 20

_STOPPED = {
    Limit.TIME: "stopped by the time limit",
    Limit.ITERATIONS: "stopped by the iteration limit",
    Limit.SIZE: "the problem is too large for this solver",
    Limit.ROUNDING: "this solver rounds numbers of the problem, so its bound is never met",
    Limit.INTERRUPTED: "interrupted",
}


def solve(args: argparse.Namespace) -> int:
    """Solve one problem, have the judge confirm the answer, show and write it."""
    source = source_name(args.file)
    inputs = [args.file, *args.start]
    check_outputs(args.out, args.certificate, args.plot, inputs=inputs, force=args.force)
    stored = problem_from(args.file)
    problem = with_settings(stored, opt.settings_of(args), source, tighten=True)
    family = family_of(problem)
    args.objective = family.parse_objective(args.objective)
    _check_plot(args, problem)
    budget = {"seconds": args.seconds, "workers": args.workers, "seed": args.seed}
    args.solver = registry.canonical_name(args.solver)
    solver = registry.make_solver(args.solver, problem, args.objective)
    solver = registry.resumed(args.solver, solver, *earlier_of(args, stored, problem))
    with compile_bar():
        registry.ready(solver, problem, announce=remark)
    try:
        with time_bar(f"{args.solver} on {source}", args.seconds):
            verdict = registry.solve_and_assess(problem, solver, args.objective, Budget(**budget))
    except AllocsolveError:
        raise
    except (Exception, SystemExit) as error:  # whatever else a solver raises is its failure, as in `score`
        if args.verbose:
            for line in "".join(traceback.format_exception(error)).splitlines():
                remark(line)
        hint = "" if args.verbose else "; -v shows the traceback"
        raise SolverUnavailable(f"{args.solver} failed: {type(error).__name__}: {error}{hint}") from error
    result, measures, certified_bound = verdict
    claims = {**_claims(args, result), "certified_bound": certified_bound}
    answer = result.answer
    meta = plain({**claims, **family.features(problem), **budget})
    _write(args, stored, problem, result, meta)
    if args.json:
        solution = None if answer is None else instances.solution_document(stored, answer, meta)
        write_json({**claims, "metrics": measures, "solution": solution})
    else:
        _show(args, problem, result, certified_bound, measures)
    if result.limit is Limit.INTERRUPTED:
        place = "above" if args.out is None else f"in {args.out}"
        standing = "there was no answer yet" if answer is None else f"the best answer so far is {place}"
        raise KeyboardInterrupt(standing)
    return 0


def _write(
    args: argparse.Namespace,
    stored: Problem,
    problem: Problem,
    result: Result[Any],
    meta: Mapping[str, object],
) -> None:
    """Write the files that were asked for: they are of the problem as it is stored, pictures as it is set."""
    if args.certificate is not None and result.certificate is not None:
        instances.write_certificate(args.certificate, stored, args.objective, result.certificate, meta)
    if result.answer is None:
        return
    if args.out is not None:
        instances.write_solution(args.out, stored, result.answer, meta)
    if args.plot is not None:
        _plot(args, problem, result.answer)


def _check_plot(args: argparse.Namespace, problem: Problem) -> None:
    if args.plot is not None and (reason := family_of(problem).view.undrawable(problem)):
        raise InvalidOption(f"--plot: {reason}")


def _plot(args: argparse.Namespace, problem: Problem, answer: Answer) -> None:
    picture = str(family_of(problem).view.plot(problem, answer))
    args.plot.write_text(picture, encoding="utf-8")


def _claims(args: argparse.Namespace, result: Result[Any]) -> dict[str, object]:
    return {
        "solver": args.solver,
        "objective_name": ",".join(args.objective),
        "objective": result.objective,
        "bound": result.bound,
        "status": str(result.status),
        "limit": None if result.limit is None else str(result.limit),
        "runtime_s": result.runtime,
    }


def _show(
    args: argparse.Namespace,
    problem: Problem,
    result: Result[Any],
    certified_bound: Value,
    measures: object | None,
) -> None:
    family = family_of(problem)
    view = family.view
    stopped = "" if result.limit is None else f", {_STOPPED[result.limit]}"
    show_fields(
        [
            ("problem", f"{source_name(args.file)} ({view.describe(problem)})"),
            ("solver", args.solver),
            ("status", f"{result.status}{stopped}"),
            *_values(args.objective, family, result, certified_bound),
            ("time", time_text(result.runtime)),
        ]
    )
    if result.answer is not None:
        say("")
        show_fields(view.metric_fields(problem, measures))
        show_lines(view.terminal_picture(problem, result.answer, terminal_width()))
    asked = {"solution": args.out, "plot": args.plot}
    written = [(what, path, "solution" if measures is None else "") for what, path in asked.items() if path]
    if args.certificate is not None:
        written.append(("certificate", args.certificate, "" if result.certificate else "certificate"))
    say(
        *([""] if written else []),
        *(
            f"no {missing}, so {path} was not written" if missing else f"{what} written to {path}"
            for what, path, missing in written
        ),
    )


def _values(
    names: tuple[str, ...], family: AnyFamily, result: Result[Any], certified_bound: Value
) -> list[tuple[str, str]]:
    """Return value, bound (certified or claimed) and gap of each term of the objective."""
    none = (-math.inf,) * len(names)
    values = (None,) * len(names) if result.objective is None else terms(result.objective)
    bounds, certified = (terms(bound) + none for bound in (result.bound, certified_bound))
    rows = []
    for name, reached, lower, sure in zip(names, values, bounds, certified, strict=False):
        term = family.term(name)
        parts = ["no answer" if reached is None else term.with_unit(short_number(reached))]
        if math.isfinite(lower):
            source = "certified" if sure >= lower else "claimed"
            also = f" ({short_number(sure)} certified)" if -math.inf < sure < lower else ""
            parts.append(f"{source} bound {term.with_unit(short_number(lower))}{also}")
        else:
            parts.append("no bound")
        has_gap = lower > 0 or term.is_lost_share
        if reached is not None and -math.inf < lower <= reached and has_gap:
            parts.append(f"gap {percent(term.gap(reached, lower))}")
        rows.append((name, ", ".join(parts)))
    return rows


def check(args: argparse.Namespace) -> int:
    """Judge a solution; the exit status says whether it is feasible, and optimal if a proof is given."""
    if args.claims:
        return check_claims(args)
    inputs = [args.file, args.solution, *([args.certificate] if args.certificate else [])]
    check_proof_options(args, inputs)
    problem = problem_from(args.file)
    _check_plot(args, problem)
    answer, proof = instances.read_outcome(args.solution, problem, tell=remark)
    beside = None if args.certificate is None else instances.read_certificate(args.certificate, problem)
    problem = with_settings(problem, opt.settings_of(args), source_name(args.file))
    if proof is not None:
        if beside is not None or args.plot is not None:
            option = "--plot" if beside is None else "--certificate"
            raise InvalidOption(f"{option}: {args.solution} is a certificate, not a solution")
        return _check_certificate(args, problem, proof)
    if beside is None:
        refuse_proof(args)
    measures = None
    faults: tuple[str, ...] = ()
    try:
        faults = judge.violations(problem, answer, tolerance=args.tolerance)
        answer = judge.rounded(problem, answer, tolerance=args.tolerance)
        measures = judge.metrics(problem, answer)
    except InvalidAnswer as error:  # numbers too large to be added up, or no metrics of such an answer
        faults = faults or (str(error),)
    standing = None if beside is None else _standing(args, problem, beside, None if faults else answer)
    if args.plot is not None:
        _plot(args, problem, answer)
    status = 1 if faults or (standing is not None and not standing.proven) else 0
    if args.json:
        features = family_of(problem).features(problem)
        proven = {} if standing is None else standing.fields
        judged = {"feasible": not faults, "tolerance_s": args.tolerance}
        write_json({**judged, **features, "violations": faults, "metrics": measures, **proven})
    else:
        say(*_verdict(args, problem, answer, faults), *(standing.lines if standing is not None else ()))
        if measures is not None:
            say("")
            show_fields(family_of(problem).view.metric_fields(problem, measures))
        say(*([f"plot written to {args.plot}"] if args.plot else []))
    return status


def _verdict(
    args: argparse.Namespace, problem: Problem, answer: Answer | None, faults: Sequence[str]
) -> Iterator[str]:
    """Yield what is said of a solution and its violations."""
    within = f" within {args.tolerance:g} s" if args.tolerance else ""
    if not faults:
        yield f"feasible{within} ({family_of(problem).view.describe(problem)})"
        return
    yield f"not feasible{within}, {counted(len(faults), 'violation')}:"
    yield from (f"  {violation}" for violation in faults[:VIOLATIONS_SHOWN])
    if len(faults) > VIOLATIONS_SHOWN:
        yield f"  and {len(faults) - VIOLATIONS_SHOWN} more (all of them with --json)"
    yield from _rounded(args, problem, answer)


def _rounded(args: argparse.Namespace, problem: Problem, answer: Answer | None) -> Iterator[str]:
    """Yield a line if a schedule is feasible but for times that were rounded, to milliseconds or coarser."""
    if family_of(problem).rules.violations_within is None:
        return
    with contextlib.suppress(InvalidAnswer):  # whose numbers are too large to be added up
        for unit in (0.001, 0.01, 0.1, 1.0):
            if unit > args.tolerance and not judge.violations(problem, answer, tolerance=unit):
                yield f"  if its times were rounded: with --tolerance {unit:g} it is feasible"
                return


class _Standing(NamedTuple):
    """What a solution and the certificate of a bound prove together."""

    proven: bool  #: no solution is better
    fields: dict[str, object]
    lines: tuple[str, ...]


def _standing(args: argparse.Namespace, problem: Problem, proof: Proof, answer: Answer | None) -> _Standing:
    """Hold an answer, None if it is not feasible, to the bound that the judge recomputes."""
    family, name = family_of(problem), proof.objective[0]
    bound = terms(certified(args.certificate, problem, proof.certificate, proof.objective))[0]
    fields = {"objective_name": ",".join(proof.objective), "certified_bound": bound}
    text = f"certified: {name} is at least {family.term(name).with_unit(short_number(bound))}"
    confirmed, lines = confirm(args, problem, proof, bound, answer)
    fields |= confirmed
    if answer is None:
        none = {"objective": None, "proven": False}
        return _Standing(proven=False, fields={**fields, **none}, lines=(text, *lines))
    reached = judge.value(problem, answer, proof.objective)
    first = terms(reached)[0]
    met = abs(first - bound) <= family.rules.tolerance * abs(first)
    # Where nobody knows what was meant by times that are off, their values prove and refute nothing.
    is_off = args.tolerance > 0 and bool(judge.violations(problem, answer))
    if bound > first and not (met or is_off):
        msg = f"proves that {name} is at least {bound}, {args.solution} has {first}"
        raise FormatError(str(args.certificate), [msg])
    proven = met and len(proof.objective) == 1 and not is_off
    shown = family.term(name).with_unit(short_number(first))
    if proven:
        text = f"optimal: {name} is {shown}, the certificate proves that none is lower"
    elif is_off:
        text += f", here it is {shown} within {args.tolerance:g} s: nothing is proven"
    elif met:
        text += f", as here; nothing is proven of {' and '.join(proof.objective[1:])}"
    else:
        text += f", here it is {shown}: not proven optimal"
    return _Standing(proven, {**fields, "objective": reached, "proven": proven}, (text, *lines))


def _check_certificate(args: argparse.Namespace, problem: Problem, proof: Proof) -> int:
    """Show the bound that the judge recomputes."""
    bound = certified(args.solution, problem, proof.certificate, proof.objective)
    confirmed, lines = confirm(args, problem, proof, bound, None)
    if args.json:
        fields = {**family_of(problem).features(problem), "objective_name": ",".join(proof.objective)}
        write_json({**fields, "certified_bound": bound, **confirmed})
        return 0
    name, family = proof.objective[0], family_of(problem)
    least = family.term(name).with_unit(short_number(terms(bound)[0]))
    say(f"certified: {name} is at least {least} ({family.view.describe(problem)})", *lines)
    return 0
