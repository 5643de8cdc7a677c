"""The commands about one problem: solve, check."""

from __future__ import annotations

import contextlib
import math
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from allocsolve import instances, judge, registry
from allocsolve.backends.checkers import (
    FOREIGN,
    PACKAGE,
    ask_checker,
    require_checker,
    require_pumpkin,
)
from allocsolve.cli import options as opt
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
from allocsolve.cli.parser import make_command
from allocsolve.errors import (
    AllocsolveError,
    FormatError,
    InvalidAnswer,
    InvalidOption,
    SolverUnavailable,
    UnsupportedProblem,
)
from allocsolve.families import families, family_of, with_settings
from allocsolve.instances import read_solution
from allocsolve.judge import proof_text
from allocsolve.model import Budget, Limit, terms
from allocsolve.pictures.chart import counted, percent, short_number, time_text
from allocsolve.report.plain import plain

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence

    from allocsolve.families import AnyFamily
    from allocsolve.instances import Proof
    from allocsolve.model import Answer, Problem, Result, Value


def check_proof_options(args: argparse.Namespace, inputs: list[str | Path]) -> None:
    """Refuse an export that cannot be written, and a program that is not there, before anything is read."""
    check_outputs(args.out, args.plot, inputs=inputs, force=args.force)
    if args.verified:
        require_checker()
    if args.cross_check is not None:
        require_pumpkin()


def confirm(
    args: argparse.Namespace, problem: Problem, proof: Proof, bound: Value, answer: Answer | None
) -> tuple[dict[str, object], list[str]]:
    """Have a bound of the judge confirmed by other programs, as the options say.

    Raises `UnsupportedProblem` if the checker has no theorem for this certificate, or the other solver cannot
    be asked; `FormatError` if a program refuses the certificate, or finds another bound than the judge. The
    bound is what the judge has recomputed from the certificate, the answer a feasible one. Returns what is
    written for programs, and the lines that say what was found. A bound that is 0 because nothing counts is
    not verified, and that is no failure.
    """
    verified, lines = _write_proof(args, problem, proof, bound, answer)
    fields, more = _cross_check(args, problem, proof, bound)
    return {**verified, **fields}, [*lines, *more]


def _write_proof(
    args: argparse.Namespace, problem: Problem, proof: Proof, bound: Value, answer: Answer | None
) -> tuple[dict[str, object], list[str]]:
    """Write what the verified checker reads, and ask it; return what it has verified, and lines on both."""
    if args.out is None and not args.verified:
        return {}, []
    term = proof.objective[0]
    text = proof_text(problem, proof.certificate, term, terms(bound)[0], answer)
    lines = []
    if text.nothing_counts:
        if args.out is not None:
            msg = f"--out: {text.nothing_counts}, so the bound is 0 and there is no proof"
            raise UnsupportedProblem(msg)
        said = f"nothing to verify: {text.nothing_counts}, so the bound is 0"
        return {"verified_bound": None, "nothing_counts": text.nothing_counts}, [said]
    if args.out is not None:
        args.out.write_text(text.problem + text.proof, encoding="ascii")
        lines.append(f"proof written to {args.out}")
    if not args.verified:
        return {}, lines
    source = str(args.certificate or args.solution)
    verified = ask_checker(source, text, term, terms(bound)[0])
    relation = "is" if verified.is_least else "is at least"
    foreign = [f"confirmed: {FOREIGN} accepts the refutation, too"] if verified.is_confirmed else []
    below = f", and no {term} is below 0" if verified.bound < 0 else ""
    least = family_of(problem).term(term).with_unit(str(verified.bound))
    said = f"verified: {term} {relation} {least}{below} (problem {verified.digest[:16]})"
    return verified.fields, [said, f"  by {verified.checker}", *foreign, *lines]


def _cross_check(
    args: argparse.Namespace, problem: Problem, proof: Proof, bound: Value
) -> tuple[dict[str, object], list[str]]:
    """Have a solver of others search for what the judge says there is not.

    The bound is what the judge has recomputed from the certificate. Returns what is written for programs, and
    the line that says what was found; nothing if it was not asked for.
    """
    if args.cross_check is None:
        return {}, []
    family, term = family_of(problem), proof.objective[0]
    if family.rules.finds_below is None:
        raise InvalidOption(f"--cross-check: bounds of {family.kind} problems are not cross-checked")
    least = terms(bound)[0]
    shown = f"{term} below {family.term(term).with_unit(str(least))}"
    is_found = family.rules.finds_below(problem, term, least, args.cross_check)
    if is_found:
        msg = f"the judge accepts it, {PACKAGE} finds an answer with a {shown}"
        raise FormatError(str(args.certificate or args.solution), [msg])
    fields: dict[str, object] = {"cross_checked": is_found is False}
    if is_found is None:
        return fields, [f"not cross-checked: {PACKAGE} has not finished within {args.cross_check:g} s"]
    return fields, [f"cross-checked: {PACKAGE} proves, too, that there is no {shown}"]


def refuse_proof(args: argparse.Namespace) -> None:
    """Refuse to export or confirm what is no certificate."""
    if args.out is not None or args.verified or args.cross_check is not None:
        msg = f"{_option(args)}: {args.solution} is not a certificate; --certificate names one"
        raise InvalidOption(msg)


def _option(args: argparse.Namespace) -> str:
    if args.out is not None:
        return "--out"
    return "--verified" if args.verified else "--cross-check"


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


def check_claims(args: argparse.Namespace) -> int:
    """Name the first breach of each claim; the exit status says whether all hold."""
    for option in ("certificate", "verified", "cross_check", "out"):
        if getattr(args, option):
            raise InvalidOption(f"--{option.replace('_', '-')} is about bounds: it does not go with --claims")
    check_outputs(args.plot, inputs=[args.file, args.solution], force=args.force)
    problem = with_settings(problem_from(args.file), opt.settings_of(args), source_name(args.file))
    family = family_of(problem)
    claims = family.claims
    if claims is None:
        having = ", ".join(each.kind for each in families() if each.claims is not None)
        msg = f"only answers of the family {having} have claims, this is of the family {family.kind}"
        raise InvalidOption(f"{source_name(args.file)}: {msg}")
    answer = read_solution(args.solution, problem, tell=remark)
    fields, missing = claims.left_out(problem, answer)
    found = claims.breaches(problem, answer, args.claims, tolerance=args.tolerance)
    breaches = {breach.claim: breach for breach in found}
    first = min(breaches.values(), key=lambda breach: breach.at, default=None)
    drawn = args.plot is not None and first is not None
    if drawn:
        args.plot.write_text(str(claims.picture(problem, answer, first)), encoding="utf-8")
    if args.json:
        rows = {claim: plain(breaches.get(claim)) for claim in args.claims}
        document = {"holds": not breaches, "tolerance_s": args.tolerance, **fields, "breaches": rows}
        write_json(document)
        return 1 if breaches else 0
    within = f" within {args.tolerance:g} s" if args.tolerance else ""
    show_fields(
        (claim, f"broken: {breaches[claim].message}" if claim in breaches else "holds")
        for claim in args.claims
    )
    say("")
    if missing:
        say(missing)
    if breaches:
        verb = "does" if len(breaches) == 1 else "do"
        say(f"{len(breaches)} of {counted(len(args.claims), 'claim')} {verb} not hold{within}")
    else:
        say(f"all hold{within} ({family.view.describe(problem)})")
    if args.plot is not None:
        say(f"plot written to {args.plot}" if drawn else f"no breach, so {args.plot} was not written")
    return 1 if breaches else 0


def add_solve(parser: argparse.ArgumentParser) -> None:
    """Add the options of `solve`."""
    make_command(parser, solve)
    parser.add_argument("file", metavar="FILE", help="a problem; - for stdin")
    search = parser.add_argument_group("search")
    help_text = "a solver of `allocsolve solvers`, or file.py:object; options follow: NAME(option=value)"
    search.add_argument("--solver", type=opt.solver, required=True, metavar="NAME", help=help_text)
    opt.add_objective(parser, search)
    opt.add_settings(search, "solve the problem with this tighter value")
    opt.add_budget(search, "time limit in seconds (default: %(default)s)", 60.0)
    opt.add_seed(search)
    help_text = "results of earlier runs to go on from: a solution, a certificate, or both"
    search.add_argument(
        "--start", type=opt.paths, action="extend", default=[], metavar="FILE,...", help=help_text
    )
    output = parser.add_argument_group("output")
    output.add_argument("--out", type=Path, metavar="SOLUTION", help="write the solution to this file")
    help_text = "write what proves the bound to this file (compressed if its name ends in .gz)"
    output.add_argument("--certificate", type=Path, metavar="FILE", help=help_text)
    help_text = "draw the solution into this file"
    output.add_argument("--plot", type=opt.picture, metavar="FILE.svg", help=help_text)
    opt.add_force(output)


def add_check(parser: argparse.ArgumentParser) -> None:
    """Add the options of `check`."""
    make_command(parser, check)
    parser.add_argument("file", metavar="FILE", help="a problem; - for stdin")
    help_text = "a solution of it, a CSV table of Batsim, evalys or ElastiSim, or a certificate of a bound"
    parser.add_argument("solution", metavar="SOLUTION", help=help_text)
    judged = parser.add_argument_group("what is judged")
    help_text = "claims about a schedule, of those below: print whether each holds, in place of the metrics"
    judged.add_argument("--claims", type=opt.claims, metavar="A,B,...", help=help_text)
    opt.add_settings(judged, "judge under this value")
    opt.add_tolerance(judged)
    proofs = parser.add_argument_group("proofs")
    help_text = "certificate of the bound; reports whether it proves SOLUTION optimal"
    proofs.add_argument("--certificate", type=Path, metavar="FILE", help=help_text)
    help_text = "confirm the bound by the verified checker, too; `make verify` builds it in a checkout"
    proofs.add_argument("--verified", action="store_true", help=help_text)
    help_text = "let an independent solver search SECONDS for a solution below the bound"
    proofs.add_argument("--cross-check", type=opt.seconds, metavar="SECONDS", help=help_text)
    output = parser.add_argument_group("output")
    help_text = "write problem and certificate as the text that the verified checker reads (docs/trust.md)"
    output.add_argument("--out", type=Path, metavar="FILE", help=help_text)
    help_text = "draw the solution into this file; with --claims its first breach, the job marked"
    output.add_argument("--plot", type=opt.picture, metavar="FILE.svg", help=help_text)
    opt.add_force(output)
    opt.add_notes(parser, "claims, as docs/easy.md defines them", opt.known_claims())
