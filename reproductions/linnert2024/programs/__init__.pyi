from .execution import execute as execute
from .leak import execute_leaking as execute_leaking
from .program import Operation as Operation, PackedProgram as PackedProgram, Program as Program
from .program_set import linnert_program as linnert_program, program_of as program_of
from .rules import ExecutionRules as ExecutionRules, LeakRules as LeakRules
from .solvers import ReservationLeak as ReservationLeak, StaticExecution as StaticExecution
