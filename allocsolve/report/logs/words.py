"""The words of a what-if page: names of schedules, what each word means, and sentences that lead there."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from allocsolve.pictures.chart import duration

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

#: What people call the schedules, by the names of their solvers.
NAMES: Final = {
    "recorded": "as it was",
    "fcfs": "strict order",
    "first-fit": "first fit",
    "easy": "EASY backfilling",
    "conservative": "conservative backfilling",
    "prices": "best known with hindsight",
}
#: The policies that are compared where nobody asks for others.
POLICIES: Final = ("fcfs", "first-fit", "easy", "conservative")
IMPOSSIBLE: Final = "certainly impossible"


#: On which nodes jobs start, by the names of rules of choice.
RULES: Final = {"best-fit": "packed", "least-loaded": "spread"}
_WITH_RULE: Final = re.compile(rf"(.+)\(choice=({'|'.join(RULES)})\)")


def without_rule(key: str) -> tuple[str, str]:
    """Return the name of a solver without a rule of choice that it has alone, and the word for the rule."""
    found = _WITH_RULE.fullmatch(key)
    return (found[1], RULES[found[2]]) if found else (key, "")


def schedule_name(key: str) -> str:
    """Return what people call a schedule, by the name of its solver; that name if there is no word for it."""
    base, rule = without_rule(key)
    if base not in NAMES:
        return key
    return f"{NAMES[base]}, {rule}" if rule else NAMES[base]


ELASTIC_NAMES: Final = {
    "malleable-min": "shrink for the waiting",
    "static-price": "share out anew",
    "prices": NAMES["prices"],
}

EXACT_LIMITS: Final = "exact limits"

_FITTED: Final = (
    "A formula of the asked run time, the size and the time of submission tells who comes first. It was "
    "fitted to simulated queues (Carastan-Santos and de Camargo, 2017)."
)
_AGEING: Final = "The longer a job has waited, for the run time that was asked, the earlier it is"
#: The orders of the queue: what people call each, and what it means.
_ORDERS: Final = {
    "submission": ("first come, first served", "The job that was submitted first comes first."),
    "shortest-estimate": ("shortest estimate first", "The job whose user asked for least time comes first."),
    "smallest-area": (
        "smallest work first",
        "The job with the least product of {unit} and asked run time comes first.",
    ),
    "largest": ("largest first", "The job with the most {unit} comes first."),
    "smallest": ("smallest first", "The job with the fewest {unit} comes first."),
    "f1": ("F1", _FITTED),
    "f2": ("F2", _FITTED),
    "f3": ("F3", _FITTED),
    "f4": ("F4", _FITTED),
    "wfp3": ("WFP3", f"{_AGEING}; large jobs come earlier than small ones."),
    "unicef": ("UNICEF", f"{_AGEING}; small jobs come earlier than large ones."),
}
ORDER_NAMES: Final = {order: name for order, (name, _) in _ORDERS.items()}

#: Each word with its meaning; {unit} is what sizes of jobs count.
_MEANINGS: Final = {
    "wait": "The time from the submission of a job to its start.",
    "mean wait": "The sum of the waits of all jobs, divided by the number of jobs. A few jobs that wait for "
    "days can make it long although most jobs do not wait at all.",
    "half waited at most": "The median: one half of the jobs waited so long or less, the other half so long "
    "or longer.",
    "95 % waited at most": "Of 100 jobs, 95 waited so long or less, and 5 so long or longer.",
    "longest wait": "The wait of the job that waited longest.",
    "busy": "How much of the machine was in use: the {unit} that jobs held, times how long they held them, "
    "divided by all {unit} times the span from the first submission to the last end. If a schedule ends "
    "later, its span is longer and its share smaller, although the work is the same.",
    "time to result": "The time from the submission of a job to its end: its wait and its run together, as a "
    "mean over all jobs. It is the better measure where jobs can change their size, since a job may "
    "start early on few {unit} and take longer.",
    "as it was": "The starts and ends that the log records, whatever made them.",
    "strict order": "First come, first served. The job that was submitted first starts first; nobody goes "
    "past it, even if {unit} stand idle meanwhile.",
    "first fit": "Whenever {unit} are free, the waiting jobs are looked at in the order of submission, "
    "and each that fits is started. Large jobs may wait for long, since small ones keep going past them.",
    "EASY backfilling": "The most common policy. A job may go past others if it does not delay the first of "
    "the queue, as far as the run times that users asked for tell.",
    "conservative backfilling": "As EASY backfilling, but every waiting job has a planned start, and nobody "
    "may go past if that delays any of them.",
    "best known with hindsight": "The best schedule that this program found knowing all jobs and their run "
    "times before the first one was submitted. No real scheduler knows that, so none can be expected to "
    "reach it. It shows what was possible.",
    "certainly impossible": "A mean below this figure cannot be reached by any scheduler, however clever, "
    "not even by one that knows the future. That is proved, not estimated: whatever the schedule, the jobs "
    "need their {unit} for their run times, and there are only so many. A second, independent part of the "
    "program has recomputed the proof. Between this figure and the best known schedule nothing is known.",
    "change": "How much longer (+) or shorter (-) the mean wait is than in the first row, where all is as it "
    "is. All rows have the same jobs.",
    "what if": "What is otherwise. Where nothing else is said, EASY backfilling runs the jobs in the order "
    "of submission, and plans with the run times that users asked for.",
    EXACT_LIMITS: "Users know to the second how long their jobs will run, and say so. The run times stay.",
    **{name: f"An order of the queue. {meaning}" for name, meaning in _ORDERS.values()},
    "ran for": "The time from the start of a job to its end.",
    "size": "How many {unit} a job held.",
    "submitted in": "The day or the week in which a job was submitted. Of weeks the first day is shown, a "
    "Monday.",
    "can change size": "A job that can go on with fewer or more {unit} while it runs, if the scheduler tells "
    "it to (a malleable job). Few programs can do that today.",
    "shrink for the waiting": "Running jobs that can change their size give {unit} back so that a waiting "
    "job can start, and grow again when {unit} are free. The scheduler knows no run times.",
    "share out anew": "Whenever a job comes or ends, all {unit} are shared out anew among the jobs that can "
    "change their size, such that those get most that make the best use of them. The scheduler knows no "
    "run times.",
}


class Linked(NamedTuple):
    """A figure or a name in a sentence, and the word that tells what it means."""

    shown: str
    word: str


def linked_name(key: str) -> str | Linked:
    """Return the name of a schedule, which leads to its definition if it has one."""
    base, _ = without_rule(key)
    return Linked(schedule_name(key), NAMES[base]) if base in NAMES else key


#: A sentence made of texts, and of what leads to a definition.
Sentence = tuple[str | Linked, ...]


def plain(sentence: Iterable[str | Linked]) -> str:
    """Return a sentence as a text."""
    return "".join(part if isinstance(part, str) else part.shown for part in sentence)


def anchor(word: str) -> str:
    """Return where on the page a word is defined.

    Raises `KeyError` if it is not.
    """
    if word not in _MEANINGS:
        raise KeyError(word)
    return "means-" + "".join(letter if letter.isalnum() else "-" for letter in word.lower())


def definitions(unit: str, *, elastic: bool, asked: Collection[str] = ()) -> dict[str, str]:
    """Return the words of a page with their meanings.

    Sizes count the unit, ``nodes`` or ``processors``; `elastic` pages tell about jobs that can change their
    size; `asked` are the words of what was asked for.
    """
    left_out = {"change", "what if", EXACT_LIMITS, *ORDER_NAMES.values()} - {*asked}
    if not elastic:
        left_out |= {"can change size", *ELASTIC_NAMES.values()} - {*NAMES.values()}
    return {word: meaning.format(unit=unit) for word, meaning in _MEANINGS.items() if word not in left_out}


_TENTH: Final = 10


def at_least(seconds: float) -> str:
    """Return a duration that is not above another: of a bound, that nothing is promised that is not proved.

    >>> at_least(839.9), at_least(59.99), at_least(0.04)
    ('13.9 min', '59.9 s', '0 s')
    """
    size = next((size for size in (86400, 3600, 60) if seconds >= size), 1)
    return duration(math.floor(_TENTH * seconds / size) / _TENTH * size)
