"""The contract of a family of problems: one value with everything that the rest of the package asks about it.

A family is added by one `Family` and the functions that it names. Commands, files, judge, bench, reports,
gate and the contract tests take it from there; none of them knows a family by name. How a family shows its
problems and answers is a part of it, see `View`.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from allocsolve.errors import UnknownName
from allocsolve.model import Solver, Value, parse_objective, shown_values

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from allocsolve.model import FloatArray

P = TypeVar("P")
A = TypeVar("A")


class Picture(Protocol):
    """A drawing, such as `allocsolve.pictures.Drawing`; its text is a whole SVG file."""

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in pixels."""
        ...

    def inline(self) -> str:
        """Return the SVG element, for a page that has the style rules of all drawings."""
        ...


#: A line of a terminal: texts side by side, each with the name of its style (as ``rich`` has them) or "".
Line: TypeAlias = tuple[tuple[str, str], ...]


class Exhibit(NamedTuple):
    """A drawing or a table with which a page shows a problem and several answers to it."""

    title: str
    #: The text beside it.
    note: str
    drawing: Picture | None = None
    heads: tuple[str, ...] = ()
    #: For each cell the shown text, and the number or text by which it is sorted.
    rows: tuple[tuple[tuple[str, float | str], ...], ...] = ()


class GanttRow(NamedTuple):
    """A job, or an application, over time."""

    name: str
    #: Seconds: from when on it may start.
    ready: float
    #: In order of time: from which to which second how many nodes are held, and whether longer than asked.
    pieces: tuple[tuple[float, float, int, bool], ...]


class Timeline(NamedTuple):
    """An answer over time."""

    rows: tuple[GanttRow, ...]
    num_nodes: int
    #: From which to which second how many nodes are closed.
    closed: tuple[tuple[float, float, int], ...] = ()
    #: Of counted resources: name, how much there is, and in which seconds how much more of it is used.
    resources: tuple[tuple[str, int, FloatArray, FloatArray], ...] = ()
    #: In which seconds on how many nodes more there is somebody, where jobs share nodes; None: by the rows.
    in_use: tuple[FloatArray, FloatArray] | None = None


def nothing(problem: object) -> str:
    """Return nothing: most problems have nothing that files and certificates do not know."""
    del problem
    return ""


class Export(NamedTuple):
    """A file that another program reads, made of a problem, an answer and a window of time."""

    #: For which program it is, in a few words; its name is a format of `convert`.
    summary: str
    #: The text of the file; the window is its first and last instant in seconds, None for all there is.
    #: Raises `InvalidOption` where that is more than the other program can take.
    text: Callable[[Any, Any, tuple[float, float] | None], str]
    #: Whether a window makes a difference.
    windowed: bool = True
    #: What a problem has that such a file cannot hold, so that none is written; nothing by default.
    cannot_hold: Callable[[Any], str] = nothing


def _no_terminal_picture(problem: object, answer: object, width: int) -> list[Line]:
    """Return nothing: the pictures of many families have too many points for a terminal."""
    del problem, answer, width
    return []


@dataclass(frozen=True, slots=True)
class View(Generic[P, A]):
    """What is shown of the problems, answers and metrics of a family.

    All functions are pure: they return what is to be shown and print nothing.
    """

    #: A problem in a few words.
    describe: Callable[[P], str]
    #: Why no answer to a problem can be drawn, such as its size; nothing if it can.
    undrawable: Callable[[P], str]
    #: The drawing of an answer to a problem that is not `undrawable`.
    plot: Callable[[P, A], Picture]
    #: The metrics of an answer, as names and texts.
    metric_fields: Callable[[P, Any], list[tuple[str, str]]]
    #: The lines that show an answer in a terminal of a given width; none if it does not fit.
    terminal_picture: Callable[[P, A, int], Sequence[Line]] = _no_terminal_picture
    #: What a problem leaves out of what it is made of, such that figures may mislead; nothing by default.
    caution: Callable[[P], str] = nothing
    #: What is shown of a problem, its answers by the names of their solvers (the best first), the
    #: certificates of its bounds (the tightest first), and the names of answers that no solver has made; left
    #: out where the pictures of answers show it all.
    exhibits: (
        Callable[[P, Mapping[str, A], Sequence[Mapping[str, Any]], Collection[str]], Sequence[Exhibit]] | None
    ) = None
    #: Files for other programs, by the names of their formats in `convert`.
    exports: Mapping[str, Export] = field(default_factory=dict)
    #: The drawings of several answers on one scale; left out where the scale of `plot` is always the same.
    plot_together: Callable[[P, Sequence[A]], Sequence[Picture]] | None = None
    #: An answer over time, of which `allocsolve.figures` makes Gantt charts; left out where answers have no
    #: time.
    timeline: Callable[[P, A], Timeline] | None = None

    def about(self, problem: P) -> str:
        """Return a problem in a few words, and what it leaves out of what it is made of."""
        caution = self.caution(problem)
        return f"{self.describe(problem)}. {caution}" if caution else self.describe(problem)

    def plots(self, problem: P, answers: Sequence[A]) -> Sequence[Picture]:
        """Return the drawings of several answers, to be compared side by side."""
        if self.plot_together is not None:
            return self.plot_together(problem, answers)
        return [self.plot(problem, answer) for answer in answers]


T = TypeVar("T")

#: A solver of some family, whose types are known at run time only.
AnySolver: TypeAlias = Solver[Any, Any]

#: A feature of a problem, as JSON holds it.
Feature: TypeAlias = str | int | float | bool | None

#: A JSON object.
Document: TypeAlias = dict[str, Any]


def relative_gap(value: float, reference: float, *, is_lost_share: bool = False) -> float:
    """Return how far a value is above a reference, relative to it.

    For lost shares it is what the value loses of all that the reference keeps. 0 if both are equal, infinite
    above a reference of 0, except for lost shares.
    """
    if value == reference:
        return 0.0
    whole = 1 - reference if is_lost_share else reference
    return (value - reference) / whole if whole else math.inf


def object_at(place: str) -> Any:  # noqa: ANN401 - whatever is there
    """Import the object at a place, ``package.module:name``."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def imported(place: str) -> Callable[..., Any]:
    """Return the function at a place, see `object_at`, imported when it is called."""

    def call(*args: object) -> object:
        return object_at(place)(*args)

    return call


def _no_bound(problem: object) -> float:
    """Return 0: no term is below it."""
    del problem
    return 0.0


@dataclass(frozen=True, slots=True)
class Term(Generic[P]):
    """What can be minimised of the answers of a family, a term of an objective; it is at least 0."""

    #: What objectives call it.
    name: str
    #: What it measures, in a few words.
    title: str
    #: The unit of its values, empty for plain numbers.
    unit: str
    #: Its value from the metrics of a feasible answer, see `Rules.metrics`.
    value: Callable[[Any], float]
    #: A cheap lower bound on it, so that there is a gap without an exact solver.
    bound: Callable[[P], float] = _no_bound
    #: Whether it is the share of a whole that an answer loses, 0 to 1: gaps are relative to what is kept.
    is_lost_share: bool = False

    def gap(self, value: float, reference: float) -> float:
        """Return how far a value is from a reference, see `relative_gap`."""
        return relative_gap(value, reference, is_lost_share=self.is_lost_share)

    def with_unit(self, number: str) -> str:
        """Return a number with the unit."""
        return f"{number} {self.unit}".rstrip()


def value_of(terms: Iterable[Term[Any]], metrics: object, objective: Sequence[str]) -> Value:
    """Return the value of an answer with these metrics, a tuple for an objective of several terms.

    `UnknownName` or `InvalidOption` if the objective is none of these terms.
    """
    named = {term.name: term for term in terms}
    values = (named[name].value(metrics) for name in parse_objective(objective, tuple(named)))
    return shown_values(tuple(values))


class ProofText(NamedTuple):
    """A problem and what proves a bound on its answers, as the text that the verified checker reads."""

    #: The lines of the problem, which anybody can write from its data and compare.
    problem: str
    #: The certificate, and an answer where the checker has rules for answers.
    proof: str
    #: Whether the judge rounds times of the problem, so that its bound may be below that of the checker.
    is_rounded_by_judge: bool = False
    #: Why the bound is 0 whatever the answer: what would count is not there. Then nothing is to be verified.
    nothing_counts: str = ""

    @property
    def digest(self) -> str:
        """The SHA-256 of the lines of the problem; the checker prints that of what it has read."""
        return hashlib.sha256(self.problem.encode("ascii")).hexdigest()


@dataclass(frozen=True, slots=True)
class CertificateKind(Generic[P, A]):
    """A kind of certificates: data from anybody, from which the judge recomputes a bound on a term."""

    #: What the field ``kind`` says; empty for certificates without that field.
    name: str
    #: The terms that it bounds.
    terms: tuple[str, ...]
    #: What it consists of, in a few words.
    title: str
    #: The bound on a term, recomputed from the certificate alone. Raises `InvalidAnswer` for anything that is
    #: not a certificate of the problem.
    check: Callable[[P, Mapping[str, Any], str], float]
    #: Its fields as a JSON Schema: what that refuses `check` refuses, too, and says so by
    #: `InvalidAnswer.breaks_schema`. None: any.
    schema: Callable[[], Document] | None = None
    #: Whether the field ``term`` says which term it bounds.
    names_term: bool = True
    #: What a problem has of which such certificates know nothing; empty if they apply to it.
    beyond: Callable[[P], str] = nothing
    #: What the verified checker reads, from the certificate, a term, the bound as the judge has recomputed
    #: it, and a feasible answer or None. Raises `UnsupportedProblem` where the checker has no theorem; None:
    #: it has none for any.
    proof_text: Callable[[P, Mapping[str, Any], str, Any, A | None], ProofText] | None = None
    #: The problems for which the verified checker has a theorem, in words; empty for none.
    verified_for: str = ""


@dataclass(frozen=True, slots=True)
class Rules(Generic[P, A]):
    """What the judge knows of a family; shares no code with its solvers."""

    #: The faults of an answer, one line each; empty if it answers the problem.
    violations: Callable[[P, A], tuple[str, ...]]
    #: All metrics of a feasible answer, as a frozen dataclass of numbers.
    metrics: Callable[[P, A], Any]
    #: What may prove lower bounds; at most one kind has no name.
    certificates: tuple[CertificateKind[P, A], ...] = ()
    #: The share of a value by which claims of solvers may differ from the judged value: 0 where values are
    #: exact.
    tolerance: float = 0.0
    #: The faults of an answer whose times may be off by so many seconds, such as one that was rounded; None
    #: for a family whose answers have no rounded times.
    violations_within: Callable[[P, A, float], tuple[str, ...]] | None = None
    #: The answer that was meant, where times may be off by so many seconds and the problem says to which they
    #: belong; else the answer itself. None: always the answer itself.
    rounded: Callable[[P, A, float], A] | None = None
    #: Whether a solver of others finds an answer below a bound on a term within so many seconds, None if it
    #: does not finish. Raises `UnsupportedProblem` where it cannot be asked; None for a family without one.
    finds_below: Callable[[P, str, Any, float], bool | None] | None = None


@dataclass(frozen=True, slots=True)
class Breach:
    """Where an answer does not keep a claim; families add what JSON is to show besides."""

    claim: str
    #: When; of several breaches the first one is drawn.
    at: float
    #: A line for people.
    message: str


@dataclass(frozen=True, slots=True)
class Claims(Generic[P, A]):
    """What answers may be said to keep, feasible or not, such as the rules of a policy."""

    #: What each claim means, by its name.
    meanings: Mapping[str, str]
    #: Called with a problem, an answer, names of claims, and by how many seconds times may be off, as
    #: `tolerance`: the first breach of each claim that the answer does not keep. Raises `UnknownName`, and
    #: `InvalidOption` or `InvalidAnswer` where a claim says nothing about such an answer.
    breaches: Callable[..., Sequence[Breach]]
    #: The drawing of a breach.
    picture: Callable[[P, A, Any], Picture]
    #: What else is to be known of an answer that may be infeasible: fields of JSON, and a line, empty if all
    #: is as it should be.
    left_out: Callable[[P, A], tuple[Document, str]] = field(default=lambda *_: ({}, ""))


@dataclass(frozen=True, slots=True)
class TableFormat:
    """How problems or answers are written as a table, as CSV files and data frames are."""

    #: Columns that every table has; they differ from those of other families.
    required: tuple[str, ...]
    optional: tuple[str, ...]
    #: Columns of text: a 7 in them is the text 7.
    texts: tuple[str, ...]
    #: Returns the fields of the JSON format, without the envelope, from the rows of a table (see
    #: `allocsolve.instances.formats`); for an answer, from the rows and the problem.
    fields: Callable[..., Document]
    #: The columns of a problem, or of a problem and its answer: arrays of equal length.
    columns: Callable[..., Mapping[str, Any]]
    #: Whether columns with other names are ignored.
    is_open: bool = False
    #: A line that readers of such a table should know.
    caution: str = ""
    #: Beginnings of the names of further columns, of which there may be any number.
    beginnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of a kind of file, as JSON Schema (2020-12) describes them, without those of the envelope.

    The reader walks them; what else it refuses are faults between fields.
    """

    #: What such a file holds, in a sentence.
    title: str
    #: The schema of each field by its name, with a ``description``. Integers are at most 2^53.
    properties: Mapping[str, Document]
    #: The fields that must be there.
    required: tuple[str, ...]
    #: What the reader asks besides, one clause each: sums, references, what no schema can say.
    besides: tuple[str, ...] = ()
    #: Schemas that others refer to as ``#/$defs/NAME``.
    definitions: Mapping[str, Document] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FileKind(Generic[T]):
    """A kind of file: the schema of its fields, and the way from fields to what they stand for and back."""

    fields: Callable[[], Fields]
    #: Called with a `allocsolve.instances.formats.Checker`, of an answer with its problem, and with each
    #: field by its name: returns the thing. Faults between fields are noted by the checker (then it may
    #: return None), or raised as `InvalidProblem`.
    make: Callable[..., T | None]
    #: Called with the thing, of an answer with its problem before it: returns its fields without those of the
    #: envelope, in the order in which they are written.
    values: Callable[..., Document]
    #: By the names of fields that take long to read value by value: called with the field, of an answer with
    #: its problem, too; returns what `make` gets in its place, or None unless it is sure of no fault.
    glances: Mapping[str, Callable[..., Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Codec(Generic[P, A]):
    """The kinds of files of a family; the envelope is the same for all."""

    #: The kind of answer files, such as ``evolution-schedule``; that of problem files is `Family.kind`.
    answer_kind: str
    problem: FileKind[P]
    answer: FileKind[A]
    #: None: there are no tables of them.
    problem_table: TableFormat | None = None
    answer_table: TableFormat | None = None
    #: Tables in which other programs write answers; they are read only.
    foreign_tables: tuple[TableFormat, ...] = ()


@dataclass(frozen=True, slots=True)
class Setting(Generic[P]):
    """A field of problems that commands and studies may set instead of what a file says."""

    #: The allowed values, in words for people.
    values: str
    #: The value of a text or of a value in a TOML file; raises ValueError for anything else.
    read: Callable[[object], Any]
    #: The problem with another value.
    apply: Callable[[P, Any], P]
    #: Whether every answer under the new value also answers the problem as it is.
    tightens: Callable[[P, Any], bool]
    #: What a JSON Schema says of a value in a TOML file; None: nothing. What `read` refuses it refuses, too,
    #: but for texts, inf and nan. Null stands for these numbers, which JSON has not.
    schema: Document | None = None


@dataclass(frozen=True, slots=True)
class SolverRow:
    """One row of the table of solvers."""

    #: Without parentheses and colons, which separate options and modules from it.
    name: str
    method: Literal["heuristic", "exact"]
    summary: str
    #: Where its class is, ``package.module:Class``, or a function that makes it. The fields of a dataclass
    #: are the options that names may give: ``name(option=value)``.
    place: str
    #: Packages that it imports when it is called and that a light installation leaves out.
    needs: tuple[str, ...] = ()
    #: Whether a heuristic searches on until its budget is spent; others are done when they are done.
    searches: bool = False

    def load(self) -> AnySolver:
        """Import the solver and make it with its default options."""
        solver: AnySolver = object_at(self.place)()
        return solver


@dataclass(frozen=True, slots=True)
class Alias:
    """A short name of a solver with options, or one pattern of such names.

    Examples
    --------
    >>> dict(Alias("{end}-first", "search(from={end})", {"end": ("left", "right")}).expanded())
    {'left-first': 'search(from=left)', 'right-first': 'search(from=right)'}
    """

    #: Words in braces stand for each of their values.
    name: str
    #: A registered name with options.
    stands_for: str
    #: The values of the words in braces.
    words: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def expanded(self) -> Iterator[tuple[str, str]]:
        """Yield each short name with what it stands for."""
        for values in itertools.product(*self.words.values()):
            chosen = dict(zip(self.words, values, strict=True))
            yield self.name.format_map(chosen), self.stands_for.format_map(chosen)


@dataclass(frozen=True, slots=True, eq=False)
class Family(Generic[P, A]):
    """A family of problems; all functions take its problems and answers only."""

    #: What files, records and messages call it: letters and hyphens.
    kind: str
    problem: type[P]
    answer: type[A]
    #: The terms of its objectives, the default first.
    objectives: tuple[Term[P], ...]
    rules: Rules[P, A]
    codec: Codec[P, A]
    view: View[P, A]
    #: One for each class of solvers.
    solvers: tuple[SolverRow, ...]
    #: Name of the solver that gives bounds and optima unless another is named.
    baseline: str
    #: Features that distinguish the problems of a study, by name.
    features: Callable[[P], Mapping[str, Feature]]
    #: Given a problem, tiny problems on which a solver compiles and loads all that it may need for that
    #: problem: no bound and no greedy rule solves them, and each path through a solver is taken on one of
    #: them.
    warm_up: Callable[[P], tuple[P, ...]]
    #: Problems at the edges of what the model allows, each with a name that says why. An exact solver proves
    #: each within a second, unless its model grows with the time or times are real. They are made anew at
    #: every call.
    examples: Callable[[], Iterable[P]]
    #: A problem that no solver is expected to solve to the end in a second.
    large_example: Callable[[], P]
    #: Problems on which the gate times solvers, from small to large. Baselines have their names, so a changed
    #: problem needs a new name. Empty: solvers are not timed.
    timing_problems: Mapping[str, Callable[[], P]] = field(default_factory=dict)
    #: The fields of problems that commands and studies may set, by name.
    settings: Mapping[str, Setting[P]] = field(default_factory=dict)
    #: What answers may be said to keep besides being feasible; None: nothing.
    claims: Claims[P, A] | None = None
    #: Short names of solvers with options; none is the name of a solver.
    aliases: tuple[Alias, ...] = ()
    #: Given a problem and an objective, heuristics that do not search: the baseline is no worse than any of
    #: them, see `allocsolve.families.quick_answers`. Left out are those whose answers others give, too.
    quick_solvers: Callable[[P, tuple[str, ...]], Iterable[Solver[P, A]]] = field(default=lambda *_: ())
    #: A solver from what is not called like one but can be run on a problem, such as a policy; None if it
    #: is nothing that the family knows.
    adapted: Callable[[Any], Solver[P, A] | None] | None = None

    @property
    def term_names(self) -> tuple[str, ...]:
        """The names of the terms of its objectives, the default first."""
        return tuple(term.name for term in self.objectives)

    def term(self, name: str) -> Term[P]:
        """Return the term of this name.

        Examples
        --------
        >>> from allocsolve.families import family_named
        >>> rejected = family_named("reservation").term("rejected")
        >>> round(rejected.gap(0.4, 0.2), 12)  # of 100 jobs 60 are accepted, 80 could be
        0.25
        """
        for term in self.objectives:
            if term.name == name:
                return term
        raise UnknownName("objective", name, self.term_names)

    def parse_objective(self, objective: str | Sequence[str] | None) -> tuple[str, ...]:
        """Return the names of the terms of an objective, a text or several texts; the default for None."""
        return self.term_names[:1] if objective is None else parse_objective(objective, self.term_names)

    def value(self, metrics: object, objective: Sequence[str]) -> Value:
        """Return the value of an answer with these metrics, see `value_of`."""
        return value_of(self.objectives, metrics, objective)

    def bound(self, problem: P, term: str) -> float:
        """Return a cheap lower bound on a term, see `Term.bound`."""
        return self.term(term).bound(problem)

    def gap(self, term: str, value: float, reference: float) -> float:
        """Return how far a value of a term is from a reference, see `relative_gap`."""
        return self.term(term).gap(value, reference)


#: A family whose types are known at run time only.
AnyFamily: TypeAlias = Family[Any, Any]
