"""The store: all records of a study in one SQLite file that only grows."""

from __future__ import annotations

import os
import sqlite3
import warnings
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from allocsolve.bench.library.design import with_library
from allocsolve.bench.runs.rows import (
    FIELDS,
    KEY_FIELDS,
    ROW_FIELDS,
    BadCellError,
    check_place,
    decoded,
    decoded_facts,
    decoded_key,
    encoded,
    open_base,
    packed,
    read_catalogue,
    selection_of,
    unpacked,
    write_catalogue,
)
from allocsolve.bench.runs.tasks import Claims, task_text
from allocsolve.errors import FormatError
from allocsolve.instances import digest, parse_problem, parse_solution, problem_document, solution_document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, KeysView, Mapping, Sequence

    from allocsolve.bench.runs.records import Record, RecordKey
    from allocsolve.bench.scores.catalogue import Catalogue
    from allocsolve.model import Answer, Problem

_MACHINE: Final = FIELDS.index("machine")
_COLUMNS: Final = ", ".join(f'"{name}"' for name in ROW_FIELDS)
_INSERT: Final = (
    f"INSERT OR IGNORE INTO records ({_COLUMNS}, answer, certificate) "  # noqa: S608 - names of fields
    f"VALUES ({', '.join('?' * (len(ROW_FIELDS) + 2))})"
)


class RecordStore:
    """The records of a study, with the problems and the answers that they are about.

    Rows are never changed or deleted. A run that is made again has another row, a further *attempt*: the
    newest attempt of a key is its record. Each row is in the file before `append` returns: a killed process
    loses none. Several processes may read and write one file; a row that two of them have made is kept once.
    A file of an older format is brought to this one when it is opened for writing.

    Each row is checked when it is read. One that cannot be a record is left out, as if it were not there, and
    named in a line.

    Parameters
    ----------
    path
        A SQLite file, created with the folders above it if there is none. None keeps the rows in memory.
    read_only
        Whether nothing will be added: the file must exist, and is not touched.
    tell
        Called with a line for each row, problem or answer that is left out; by default a Python warning.

    Raises
    ------
    FormatError
        If the file cannot be opened, or is not a file of records of a format that is known here.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        read_only: bool = False,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self._source = ":memory:" if path is None else os.fspath(path)
        self._read_only = read_only
        self._tell = tell or (lambda line: warnings.warn(line, stacklevel=4))
        self._claims: Claims | None = None
        #: By key: the place of the newest row that can be read, and the number of attempts.
        self._ids: dict[RecordKey, int] = {}
        self._attempts: dict[RecordKey, int] = {}
        self._bad: set[int] = set()
        self._last = 0  #: row that has been looked at
        self._problem: tuple[str, Problem] | None = None  #: that was read last: the rows of one come together
        if path is not None:
            check_place(Path(path), read_only=read_only)
        with self._one_line_errors(), ExitStack() as unless_read:
            self._base = open_base(self._source, read_only=read_only)
            unless_read.callback(self._base.close)
            self._selection = selection_of(self._base, self._source)
            self._digests = {row[0] for row in self._base.execute("SELECT digest FROM problems")}
            #: By number, and the numbers by what is in the file.
            self._facts: dict[object, dict[str, Any]] = {}
            self._machines: dict[object, int] = {}
            self._read_machines()
            self.refresh()
            unless_read.pop_all()

    @contextmanager
    def _one_line_errors(self) -> Iterator[None]:
        """Turn what SQLite says into one line that names the file."""
        try:
            yield
        except sqlite3.Error as error:
            raise FormatError(self._source, [str(error)]) from None

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._one_line_errors():
            self._base.execute("BEGIN IMMEDIATE")
            with self._base:
                yield

    def _names(self, fields: Sequence[str]) -> str:
        """Return what is selected for some fields, in a file of whatever format."""
        return ", ".join(self._selection.get(name, f'"{name}"') for name in fields)

    def _facts_of(self, machine: object) -> dict[str, Any]:
        """Return the facts of the machine of a row; none of one that the file lacks."""
        if machine not in self._facts:
            self._read_machines()
        if machine not in self._facts:
            self._facts[machine] = {}
            error = BadCellError("id", machine, "is no machine of the file")
            self._tell(f"{self._source}: machines: {error}; its rows are without")
        return self._facts[machine]

    def _read_machines(self) -> None:
        for idx, cell in self._base.execute("SELECT id, facts FROM machines"):
            if idx not in self._facts:
                self._machines[cell] = idx
                try:
                    self._facts[idx] = decoded_facts(cell)
                except BadCellError as error:
                    self._facts[idx] = {}
                    self._tell(f"{self._source}: machine {idx}: {error}; its rows are without")

    def refresh(self) -> None:
        """Look at the rows that other processes have added since."""
        query = f"SELECT id, {self._names(KEY_FIELDS)} FROM records WHERE id > ? ORDER BY id"  # noqa: S608 - names of fields
        with self._one_line_errors():
            for idx, *cells in self._base.execute(query, (self._last,)):
                self._last = idx
                try:
                    key, attempt = decoded_key(cells)
                except BadCellError as error:
                    self._leave_out(idx, error)
                    continue
                if attempt > self._attempts.get(key, 0):
                    self._ids[key], self._attempts[key] = idx, attempt

    def _leave_out(self, idx: int, error: BadCellError) -> None:
        if idx not in self._bad:
            self._bad.add(idx)
            self._tell(f"{self._source}: row {idx}: {error}; it is left out")

    def append(
        self,
        record: Record,
        problem: Problem,
        answer: Answer | None,
        certificate: Mapping[str, Any] | None = None,
    ) -> bool:
        """Add a row.

        Returns
        -------
        bool
            False if the file has this attempt of its key; that row stays.

        Raises
        ------
        FormatError
            If it cannot be written, as on a full disk; all rows before it are safe.
        """
        cells = [encoded(name, getattr(record, name)) for name in ROW_FIELDS]
        facts = cells[_MACHINE]
        solution = None
        if answer is not None:
            solution = packed(solution_document(problem, answer, {}, problem_digest=record.digest))
        proof = None
        with suppress(TypeError, ValueError):  # what is no JSON is not kept, as `verify_records` will say
            proof = None if certificate is None else packed(certificate)
        with self._transaction():
            if record.digest not in self._digests:
                document = record.digest, packed(problem_document(problem))
                self._base.execute("INSERT OR IGNORE INTO problems VALUES (?, ?)", document)
            cells[_MACHINE] = machine = self._machine(facts)
            insertion = self._base.execute(_INSERT, (*cells, solution, proof))
            if insertion.rowcount > 0 and record.verified_bound:
                proven = insertion.lastrowid, record.verified_bound, record.verified_digest
                self._base.execute("INSERT INTO verified VALUES (?, ?, ?)", proven)
            if self._claims is not None:
                task = task_text(record.key, record.attempt)
                self._base.execute("DELETE FROM claims WHERE task = ?", (task,))
        self._digests.add(record.digest)
        self._machines[facts] = machine
        self.refresh()
        return insertion.rowcount > 0

    def add_verified(self, key: RecordKey, bound: str, digest_of_lines: str) -> None:
        """Keep what the verified checker has proven from the certificate of a record; what is there stays.

        Parameters
        ----------
        digest_of_lines
            The SHA-256 of the lines of the problem that it has read.
        """
        with self._transaction():
            row = self._ids[key], bound, digest_of_lines
            self._base.execute("INSERT OR IGNORE INTO verified VALUES (?, ?, ?)", row)

    def _machine(self, facts: str) -> int:
        if facts not in self._machines:
            self._base.execute("INSERT OR IGNORE INTO machines (facts) VALUES (?)", (facts,))
            row = self._base.execute("SELECT id FROM machines WHERE facts = ?", (facts,)).fetchone()
            return int(row[0])
        return self._machines[facts]

    def claim(self, key: RecordKey, attempt: int) -> bool:
        """Have a run to this process; False if another one makes it, or it has been made meanwhile.

        Rows of other processes are seen afterwards. A claim is kept until its row is added, or `release`.
        """
        if self._source == ":memory:":
            return True
        if self._claims is None:
            self._claims = Claims(self._base, self._source)
        with self._transaction():
            self.refresh()
            return self.attempts(key) < attempt and self._claims.make(task_text(key, attempt))

    def holders(self, runs: Iterable[tuple[RecordKey, int]]) -> set[str]:
        """Return which other processes have claimed some attempts of keys."""
        if self._claims is None:
            return set()
        with self._one_line_errors():
            return self._claims.holders(task_text(*run) for run in runs)

    def release(self) -> None:
        """Give back all that is claimed."""
        claims, self._claims = self._claims, None
        if claims is not None:
            claims.release()

    def keys(self) -> KeysView[RecordKey]:
        """Return the keys of all rows that were there at the start or the last `refresh`."""
        return self._ids.keys()

    def row(self, key: RecordKey) -> int:
        """Return the number of the newest row of a key in the file, as messages name it."""
        return self._ids[key]

    def days(self, keys: Iterable[RecordKey]) -> tuple[str, ...]:
        """Return the first and the last day on which the records of some keys were made; empty for none."""
        rows = {self._ids[key] for key in keys}
        with self._one_line_errors():
            times = [
                str(when) for idx, when in self._base.execute('SELECT id, "when" FROM records') if idx in rows
            ]
        return (min(times)[:10], max(times)[:10]) if times else ()

    def attempts(self, key: RecordKey) -> int:
        """Return how often a run has been made, also if its row is left out."""
        return self._attempts.get(key, 0)

    def problem(self, digest_of_problem: str) -> Problem:
        """Return the problem of this digest; KeyError if no row is about it, or it is damaged."""
        if self._problem is None or self._problem[0] != digest_of_problem:
            self._problem = digest_of_problem, self._read_problem(digest_of_problem)
        return self._problem[1]

    def _read_problem(self, expected: str) -> Problem:
        with self._one_line_errors():
            row = self._base.execute("SELECT document FROM problems WHERE digest = ?", (expected,)).fetchone()
        if row is None:
            raise KeyError(expected)
        try:
            problem = parse_problem(unpacked("document", row[0]), self._source)
            if digest(problem) == expected:
                return problem
            fault = "is another problem"
        except (BadCellError, FormatError) as error:
            fault = _fault(error)
        self._tell(f"{self._source}: problem {expected[:12]}: {fault}; it is left out")
        raise KeyError(expected)

    def answer(self, key: RecordKey, problem: Problem | None = None) -> Answer | None:
        """Return the answer of a record; None if it has none, or it is damaged.

        Parameters
        ----------
        problem
            That the record is about, if it is at hand; None reads it from the file.
        """
        blob = self._blob("answer", key)
        if blob is None:
            return None
        try:
            problem = self.problem(key.digest) if problem is None else problem
            document = unpacked("answer", blob)
            return parse_solution(document, self._source, problem, problem_digest=key.digest)
        except KeyError:
            return None
        except (BadCellError, FormatError) as error:
            self._tell(f"{self._source}: row {self._ids[key]}: answer: {_fault(error)}; it is left out")
            return None

    def certificate(self, key: RecordKey) -> dict[str, Any] | None:
        """Return the certificate of the bound of a record; None if it has none, or it is damaged."""
        blob = self._blob("certificate", key)
        try:
            return None if blob is None else unpacked("certificate", blob)
        except BadCellError as error:
            self._tell(f"{self._source}: row {self._ids[key]}: {error}; it is left out")
            return None

    def _blob(self, column: str, key: RecordKey) -> object:
        query = f"SELECT {self._selection.get(column, column)} FROM records WHERE id = ?"  # noqa: S608 - a column
        with self._one_line_errors():
            return self._base.execute(query, (self._ids[key],)).fetchone()[0]

    def catalogue(self) -> Catalogue:
        """Return which suites name the instances of the rows, and what they and the library state."""
        return with_library(self.kept_catalogue())

    def kept_catalogue(self) -> Catalogue:
        """Return the catalogue as the file has it, without the statements of the library."""
        with self._one_line_errors():
            return read_catalogue(self._base)

    def add_catalogue(self, catalogue: Catalogue) -> None:
        """Add suites of instances, and what is stated of these; what a suite states anew counts."""
        with self._transaction():
            write_catalogue(self._base, catalogue)

    def __getitem__(self, key: RecordKey) -> Record:
        """Return the newest record of a key; KeyError if there is none, or it is left out."""
        for record in self._select("WHERE id = ?", (self._ids[key],)):
            return record
        raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        return key in self._ids

    def __iter__(self) -> Iterator[Record]:
        """Iterate over the records, the newest of each key, in the order in which they were added."""
        self.refresh()
        return self._select("ORDER BY id")

    def __len__(self) -> int:
        return len(self._ids)

    def _select(self, where: str, parameters: tuple[int, ...] = ()) -> Iterator[Record]:
        query = f"SELECT id, {self._names(FIELDS)} FROM records {where}"  # noqa: S608 - names of fields
        with self._one_line_errors():
            for idx, *cells in self._base.execute(query, parameters):
                cells[_MACHINE] = self._facts_of(cells[_MACHINE])
                try:
                    record = decoded(cells)
                except BadCellError as error:
                    self._leave_out(idx, error)
                    older = self._before(idx)
                    if older is not None:
                        yield self[older]
                    continue
                if self._ids.get(record.key) == idx:
                    yield record

    def _before(self, idx: int) -> RecordKey | None:
        """Have the attempt before a bad row count if that is the newest; return its key, None without one."""
        key = next((key for key, newest in self._ids.items() if newest == idx), None)
        if key is None:
            return None
        del self._ids[key]
        query = f"SELECT id, {self._names(KEY_FIELDS)} FROM records WHERE digest = ? ORDER BY attempt"  # noqa: S608 - names of fields
        for older, *cells in self._base.execute(query, (key.digest,)):
            if older not in self._bad and decoded_key(cells)[0] == key:
                self._ids[key] = older
        return key if key in self._ids else None

    def close(self) -> None:
        """Leave one complete file behind; the store cannot be used any more."""
        self.release()
        with self._one_line_errors():
            if not self._read_only:
                with suppress(sqlite3.OperationalError):  # somebody is reading: the log beside it stays
                    self._base.execute("PRAGMA journal_mode = DELETE")
            self._base.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        # From Python 3.13 on, a connection warns if nobody has closed it.
        with suppress(AttributeError, sqlite3.Error):  # it was never opened, or belongs to another thread
            self._base.close()


def _fault(error: BadCellError | FormatError) -> str:
    """Return what is wrong, without the name of the file."""
    return "; ".join(error.faults)[:200] if isinstance(error, FormatError) else str(error)
