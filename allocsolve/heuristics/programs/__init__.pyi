from .execution import execute as execute
from .program_set import linnert_program as linnert_program, program_of as program_of
from .rules import ExecutionRules as ExecutionRules, LeakRules as LeakRules
